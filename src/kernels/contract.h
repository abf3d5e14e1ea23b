/* ================================================================================================= >>kernels
   A kernel is a loop over a row of logits. It computes maxima, sums or counts, or selects elements. This file has each
   kernel's contract, and the struct of one set of kernels (sampi_kernels). Each kernel is written twice: in plain C, as
   the reference (kernels/scalar.h), and in vectors (kernels/passes.h). The second text is compiled once for each
   instruction set. All sets give the same result to the last bit, except the sums of sweep and moments, which are
   estimates with a bound on their error. kernels/dispatch.h chooses the machine's best set at run time. Kernels read
   floats and masks, and no samplers.

   A row is x [n] floats, n >= 1, at any alignment; nothing beyond x [n - 1] is read. A line is 16 elements, a tile 256;
   the last line or tile of a row may be shorter. The logit is l = x * r rounded to f32; with r = 1 it is x. "Slack 16"
   says that the kernel may overwrite up to 16 elements beyond its result. Masked elements (-infinity) are allowed
   everywhere. A floor is above -infinity.

     fetch:    writes to out [n] the elements from `at` on of a row of any dtype, as f32 (f64 is rounded), and -infinity
               where the mask's bit is 0 (there is no mask if `mask` is NULL). `at` is a multiple of 16. Returns n.
     maxima:   writes to line [16 * ceil(n / 256)] the maximum of each line of such a row (-infinity beyond the last
               line). Returns the row's maximum; NaN if the row has a NaN.
     sweep:    estimates z = sum e^(l - max) and s = sum e^(l - max) (max - l) over the unmasked elements; max is at
               least the largest l. SAMPI_SWEEP_ROUNDING and SAMPI_SWEEP_SLOPE (below) bound the errors.
     moments:  writes to moment [0] the exact number of unmasked elements, and estimates of two sums over these
               elements: to moment [1] of x - pivot, to moment [2] of (x - pivot)^2.
     fold:     writes to out [j], j < m, the maximum of all line [i] with i mod m = j. m is a multiple of 16, and n a
               multiple of m.
     collect:  copies the elements with floor <= x < below, in order, to x_out and their ids to id_out (both with slack
               16). Returns their number. The id of element i is id [i], or base + i if id is NULL. x_out may be x; then
               id_out may be id.
     pick:     copies, as collect does, the elements with x >= floor, but only those of m lines of x. The lines'
               numbers, line [m], ascend. Ids are indices in x.
     count:    returns the number of elements >= floor.
     weights:  writes the weights sampi_weight(max, x) to w [n] (slack 16), and e^(x - max) to e [n] (slack 16), for
               probs. w or e may be NULL. Returns the sum of the weights.
     probs:    writes p [n] (slack 16) = (float)(2^40 e / z), where e = e^(x - max) is not rounded before the division;
               p of a masked element is 0. p and e may be the same memory.
     mass:     returns the sum of w [i] over all i with x [i] >= floor. Up to 15 elements beyond w [n - 1] are read.
     sums:     adds z, s and n of the logits l = x * r to a sampi_sums, and the weights of those with x >= floor to its
               member `above`. If with_s is false, s is undefined.
     envelope: writes to tile [ceil(n / 256)], for each tile, the sum of sampi_envelope(max, l) over the elements with x
               >= floor.
     scale:    writes out [n] = sampi_finite(x * r), or sampi_finite(x / r) if `divided`; masked elements do not change.
               out may be x.
     adapt:    replaces each e of e [n] (slack 16) by sampi_adaptive_p_logit(e / sum, aim).
     survey:   does what maxima does for the logits of candidates: writes the maxima to line [16 * ceil(n / 256)] and
               *top. Copies the logits to x [n] unless x is NULL. Returns whether all ids are >= 0 and ascend.
     put:      sets the logits of n candidates to l [n], and their p to p [n] / sum, divided as doubles (not if p is
               NULL).
     race:     writes to hit [n] all i < n, in order, with ~h <= most. h is the upper half of the first 64 bits that
               Philox gives for counter [3] and the id, which is id [i], or base + i if id is NULL. Returns the number
               of hits. (SAMPLING_GUMBEL)
     marks:    writes to hit [n] all i < n, in order, whose random word is at least `least`: word i % 4 of what Philox
               gives for from + i / 4 and counter [3]. Returns the number of hits. (SAMPLING_WATERMARK)
     tint:     replaces x [i] by sampi_green_logit(x [i], delta) if the token from + i is green (watermark/colours.h);
               masked elements do not change. from is a multiple of 4. (SAMPLING_WATERMARK) */

/* The sums of a row. All are integers and exact, so they do not depend on the order of the tokens. */
typedef struct sampi_sums {
    float max;
    size_t n;       /* the number of unmasked tokens */
    uint64_t z;     /* the sum of the weights w; the sum of exp(l - max) is Z = z / 2^40 */
    uint64_t s;     /* the sum of round(w * (max - l)); s / z is the mean of max - l under p */
    uint64_t above; /* the sum of the weights of the tokens above a threshold */
} sampi_sums;

/* Returns round(w * (max - l)), the term of a token in the sum s. */
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

/* SAMPI_LLAMA_CPP is 1 if llama.cpp's arithmetic is compiled. Only that arithmetic needs the quotients of the kernels
   scale, adapt and put. */
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
    void (*expf)(const float *x, size_t n, float max, float *e);
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
#define SAMPI_AHEAD   1024     /* how many bytes ahead of their reads kernels prefetch */
#define SAMPI_LEAST_D (-86.0f) /* sweep clamps l - max to this value, for which e^(l - max) is still a normal float */

/* The coefficients of the polynomial with which sweep approximates 2^f for f in [-1/2, 1/2] in float. Its relative
   error is below 1e-7. */
#define SAMPI_F1 0.693146978f
#define SAMPI_F2 0.24022242f
#define SAMPI_F3 0.0555073381f
#define SAMPI_F4 0.00967152081f
#define SAMPI_F5 0.00132647295f

/* The bounds of sweep's errors. ROUNDING bounds the relative error of z, and the error of s relative to sum e^(l - ref)
   |ref - l|. SLOPE is added to both for each nat of the mean of |ref - l| under e^(l - ref). */
#define SAMPI_SWEEP_ROUNDING 2e-6
#define SAMPI_SWEEP_SLOPE    1.5e-7
