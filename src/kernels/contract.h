/* ================================================================================================= >>kernels
   A kernel is a loop over a row of logits. It computes maxima, sums or counts, or selects elements. This room has each
   kernel's contract, and the struct of one set of kernels (sampi_kernels). Each kernel is written twice: in plain C, as
   the reference (kernels/scalar.h), and in vectors (kernels/passes.h), which is compiled once for each instruction set.
   All sets give the same result to the last bit, except the sums of sweep and moments, which are estimates with a
   bound. kernels/dispatch.h chooses the machine's best set at run time. Kernels work with floats and masks, and use no
   samplers.

   A row is x [n] floats, n >= 1, at any alignment; nothing beyond x [n - 1] is read. A line is 16 elements, a tile 256;
   the last one may be shorter. The logit is l = x * r rounded to f32; with r = 1 it is x. "Slack 16": up to 16 elements
   beyond the result are overwritten. Masked elements (-infinity) are allowed everywhere. A floor is above -infinity.

     fetch     out [n] = elements at .. at + n of a row of any dtype as f32 (f64 rounded); -infinity where the mask's
               bit is 0 (mask NULL: no mask). at is a multiple of 16. Returns n.
     maxima    line [16 * ceil(n / 256)] = the maximum of each line of such a row (-infinity beyond the last line).
               Returns the row's maximum; NaN if the row has a NaN.
     sweep     estimates of z = sum e^(l - max) and s = sum e^(l - max) (max - l) over the unmasked elements; max is at
               least the largest l. The errors are below SAMPI_SWEEP_ROUNDING and SAMPI_SWEEP_SLOPE.
     moments   moment [0] = the number of unmasked elements (exact); estimates of [1] = their sum of x - pivot, [2] =
               the sum of its squares.
     fold      out [j] = the maximum of all line [i] with i mod m = j, j < m; m is a multiple of 16, n of m.
     collect   x_out, id_out (slack 16) = the elements with floor <= x < below, in order; returns their number. Ids are
               id [i], or base + i if id is NULL. x_out may be x, and id_out then id.
     pick      the same with x >= floor, from m lines of x only, whose numbers line [m] ascend; ids are indices in x.
     count     returns the number of elements >= floor.
     weights   w [n] (slack 16) = sampi_weight(max, x); e [n] (slack 16) = e^(x - max), for probs. Each may be NULL.
               Returns the sum of the weights.
     probs     p [n] (slack 16) = (float)(2^40 e / z) with e of x, not rounded before the division; masked: 0. p may be
               e.
     mass      returns the sum of w [n] over x [i] >= floor. w has slack 16, of which up to 15 elements are read.
     sums      adds z, s and n of l = x * r to a sampi_sums, and the weights of x >= floor to `above`. Without with_s, s
               is undefined.
     envelope  tile [ceil(n / 256)] = the sum of sampi_envelope(max, l) over x >= floor of each tile.
     scale     out [n] = sampi_finite(x * r), or of x / r if divided; masked elements stay. out may be x.
     adapt     e [n] (slack 16) = sampi_adaptive_p_logit(e / sum, aim).
     survey    line [16 * ceil(n / 256)] and *top = what maxima gives for the logits of candidates; x [n] = these logits
               (x may be NULL). Returns whether all ids are >= 0 and ascend.
     put       the logits of candidates = l [n], and their p = p [n] / sum, in doubles (p NULL: they stay).
     race      hit [n] = all i < n, in order, with ~h <= most; h is the upper half of Philox' first 64 bits at counter
               [3] and id [i], or base + i if id is NULL. Returns their number. (SAMPLING_GUMBEL)
     marks     hit [n] = all i < n, in order, whose word is at least `least`: word i % 4 of Philox at from + i / 4 and
               counter [3]. Returns their number. (SAMPLING_WATERMARK)
     tint      x [n] = sampi_green_logit(x, delta) if the token from + i is green (watermark/colours.h); masked elements
               stay. from is a multiple of 4. (SAMPLING_WATERMARK) */

/* The sums of a row. All are exact, so they do not depend on the order. */
typedef struct sampi_sums {
    float max;
    size_t n;       /* number of unmasked tokens */
    uint64_t z;     /* sum of w: Z = z / 2^40 */
    uint64_t s;     /* sum of round(w * (max - l)): s / z is the mean of max - l under p */
    uint64_t above; /* sum of w of the tokens above a threshold */
} sampi_sums;

/* Returns round(w * (max - l)) */
SAMPI_INLINE uint64_t sampi_weighted(uint64_t w, float max, float l)
{
    return w ? sampi_bits(SAMPI_FMA((double)w, (double)max - (double)l, SAMPI_INT)) - sampi_bits(SAMPI_INT) : 0;
}

static void sampi_sum_add(sampi_sums *r, float max, float l)
{
    uint64_t w = sampi_weight(max, l);
    r->n++;
    r->z += w;
    r->s += sampi_weighted(w, max, l);
}

/* 1: llama.cpp's arithmetic is compiled. It alone needs the quotients of scale, adapt and put. */
#ifndef SAMP_NO_MT19937
#define SAMPI_LLAMA_CPP 1
#else
#define SAMPI_LLAMA_CPP 0
#endif

typedef struct sampi_kernels {
    const char *name;
    size_t (*fetch)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out);
    float (*maxima)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line);
    void (*sweep)(const float *x, size_t n, float r, float max, double *z, double *s);
    void (*moments)(const float *x, size_t n, float pivot, double *moment);
    void (*fold)(const float *line, size_t n, float *out, size_t m);
    size_t (*collect)(const float *x, const int32_t *id, int32_t base, size_t n, float floor, float below,
                      float *x_out, int32_t *id_out);
    size_t (*pick)(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                   int32_t *id_out);
    size_t (*count)(const float *x, size_t n, float floor);
    uint64_t (*weights)(const float *x, size_t n, float max, uint64_t *w, double *e);
    void (*probs)(const float *x, const double *e, size_t n, float max, double z, float *p);
    uint64_t (*mass)(const float *x, const uint64_t *w, size_t n, float floor);
    void (*sums)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums);
    void (*envelope)(const float *x, size_t n, float r, float max, float floor, uint64_t *tile);
    void (*scale)(const float *x, size_t n, float r, bool divided, float *out);
    void (*adapt)(float *e, size_t n, float sum, float aim);
    bool (*survey)(const samp_token_data *d, size_t n, float *x, float *line, float *top);
    void (*put)(samp_token_data *d, size_t n, const float *l, const float *p, double sum);
#ifndef SAMP_NO_MT19937
    double (*expf)(const float *x, size_t n, float t, float max, float *e);
    size_t (*add_terms)(const float *x, size_t n, const sampi_float_terms *c, float from, double *sum);
#endif
#ifdef SAMPLING_GUMBEL_DECLARED
    size_t (*race)(const uint32_t *counter, const uint32_t *key, const int32_t *id, int32_t base, size_t n,
                   uint32_t most, int32_t *hit);
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
    size_t (*marks)(const uint32_t *counter, const uint32_t *key, uint32_t from, size_t n, uint32_t least,
                    int32_t *hit);
    void (*tint)(const sampi_colours *c, uint32_t from, size_t n, float delta, float *x);
#endif
} sampi_kernels;

#define SAMPI_TILE    256
#define SAMPI_LINE    16
#define SAMPI_AHEAD   1024     /* how many bytes ahead kernels prefetch */
#define SAMPI_LEAST_D (-86.0f) /* sweep clamps l - max to this: e^-86 is still a normal float */

/* The coefficients of 2^f for f in [-1/2, 1/2] in float, for sweep: relative error below 1e-7. */
#define SAMPI_F1 0.693146978f
#define SAMPI_F2 0.24022242f
#define SAMPI_F3 0.0555073381f
#define SAMPI_F4 0.00967152081f
#define SAMPI_F5 0.00132647295f

/* Bounds of sweep's errors: the relative error of z, and of s relative to sum e^(l - ref) |ref - l|. */
#define SAMPI_SWEEP_ROUNDING 2e-6
#define SAMPI_SWEEP_SLOPE    1.5e-7 /* per nat of the mean of |ref - l| under e^(l - ref) */
