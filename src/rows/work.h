/* ---- the workspace ----
   The memory of a draw. It belongs to the sampler that samp_sample was called on; rows/reserve.h allocates it. */

/* A token's logit in place of the one in a dense row (>>fast). */
typedef struct sampi_change {
    samp_token id;
    float x;
} sampi_change;

/* The workspace of samp_sample: one heap block, made by samp_reserve. >>fast says which function may write which
   array. */
typedef struct sampi_work {
    void *block;
    size_t n;                   /* the largest vocabulary it is for */
    samp_token_data *candidate; /* [n] the array, if samp_sample needs one: separate from w, or in its memory */
    uint64_t *w;                /* [n] weights */
    float *x;                   /* [n] logits of a compact row */
    int32_t *id;                /* [n] ids of a compact row */
    float *line, *scratch;      /* maxima of lines; folded maxima */
    uint64_t *sum;              /* sums of tiles */
    sampi_change *change;       /* changed logits of a dense row */
    float *logits;              /* [n] under MT19937 e^(l - max) */
    float *own;                 /* [n] a copy of logits: of samp_apply's array, or of a dense row */
    int libm;                   /* does libm's expf equal the kernels'? 1 yes, -1 no, 0 not tested yet */
} sampi_work;
