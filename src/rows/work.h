/* ---- the workspace ----
   Memory of a draw, in the record of the sampler that samp_sample was called on. rows/reserve.h makes it. */

/* The logit that a token has in place of the one in a dense row (>>fast). */
typedef struct sampi_change {
    samp_token id;
    float x;
} sampi_change;

/* What samp_sample works in: one heap block, made by samp_reserve. Who may write what, and when, is told in >>fast. */
typedef struct sampi_work {
    void *block;
    size_t n;                   /* the vocabulary it is for */
    samp_token_data *candidate; /* [n] the array, where samp_sample needs one: apart from w, or in its place */
    uint64_t *w;                /* [n] weights */
    float *x;                   /* [n] logits of a compact row */
    int32_t *id;                /* [n] and their ids */
    float *line, *scratch;      /* maxima of lines, and what is made of them */
    uint64_t *sum;              /* sums of tiles */
    sampi_change *change;       /* changed logits of a dense row */
    float *logits;              /* [n] under MT19937 e^(l - max) */
    float *own;                 /* [n] logits of the array that samp_apply was given, or of a row that is its own */
    int libm;                   /* is its expf good for the kernels'? 1: yes, -1: no, 0: not asked yet */
} sampi_work;
