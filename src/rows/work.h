/* ---- the workspace ----
   The memory of a draw. It belongs to the sampler that samp_sample was called on; rows/reserve.h allocates it. */

/* A changed element of a dense row (>>fast): token `id` has x in place of the caller's element. */
typedef struct sampi_change {
    samp_token id;
    float x;
} sampi_change;

/* The workspace of samp_sample: one heap block, which samp_reserve allocates. >>fast says which function may write
   which array. */
typedef struct sampi_work {
    void *block;                /* the address to free */
    size_t n;                   /* the largest vocabulary for which there is memory */
    samp_token_data *candidate; /* [n] the array of candidates, if one is needed; in memory of its own or that of w */
    uint64_t *w;                /* [n] weights of tokens */
    float *x;                   /* [n] logits of a compact row; x, id and own are adjacent, and the steps sort in
                                   their memory */
    int32_t *id;                /* [n] ids of a compact row */
    float *line, *scratch;      /* maxima of lines; folded maxima of lines */
    uint64_t *sum;              /* sums of tiles */
    sampi_change *change;       /* changed logits of a dense row, sorted by id */
    uint32_t *bits;             /* [n / 32] the mask that a constraint with a long list makes of a row */
    float *own;                 /* [n] a copy of the logits of samp_apply's array, or of a dense row */
} sampi_work;

/* Returns memory in which work->n candidates can be sorted. It is free once a row has become an array. */
static samp_token_data *sampi_row_memory_of(const sampi_work *work)
{
    return (samp_token_data *)(void *)work->x; /* of x, id and own */
}
