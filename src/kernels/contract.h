/* ================================================================================================= >>kernels
   A kernel is a loop over a row: logits come in, and out come maxima, sums, counts, or the elements wanted. This room
   says what each kernel promises, and has the struct that holds one set of them (sampi_kernels). Each is written
   twice: in plain C, as the reference (kernels/scalar.h), and in vectors (kernels/passes.h), compiled once for each
   instruction set. All give the same result to the last bit, but for the sums of sweep and moments, which are
   estimates with a bound. The best set that this machine has is chosen at run time (kernels/dispatch.h). Kernels know
   floats and masks, and no samplers.

   A row is x [n] floats, n >= 1, at any alignment; nothing behind x [n - 1] is read. A line is 16 elements, a tile 256;
   the last ones may be shorter. The logit is l = x * r rounded to f32 (r = 1 leaves it). "Slack 16" says that up to 16
   elements behind the result are overwritten. Masked elements (-infinity) are allowed everywhere. A floor is above
   -infinity.

     fetch     out [n] = elements at .. at + n of a row of any dtype as f32 (f64 rounded), -infinity where mask (NULL:
               none) has no bit. at is a multiple of 16. Returns n.
     maxima    line [16 * ceil(n / 256)] = the maximum of each line of such a row (-infinity behind the last).
               Returns the row's maximum; NaN if the row has one.
     sweep     estimates of z = sum e^(l - max) and s = sum e^(l - max) (max - l) over the unmasked elements, max the
               largest l or more; their errors are below SAMPI_SWEEP_ROUNDING and SAMPI_SWEEP_SLOPE.
     moments   moment [0] = how many are unmasked (exact), and estimates of [1] = the sum of x - pivot over these, [2] =
               the sum of its squares.
     fold      out [j] = the maximum of those line [i] with i mod m = j, j < m; m a multiple of 16, n of m.
     collect   the elements with floor <= x < below in their order: x_out, id_out (slack 16), and how many. Ids are
               id [i], or base + i if id is NULL. x_out == x with id_out == id is fine.
     pick      those with x >= floor from m lines of x only, whose numbers line [m] ascend; ids are indices in x.
     count     how many elements are >= floor.
     weights   w [n] (slack 16) = sampi_weight(max, x), and e [n] (slack 16) = e^(x - max), for probs; each may be NULL.
               Returns the sum of the weights.
     probs     p [n] (slack 16) = (float)(2^40 e / z) of x's e, not rounded before the division; masked: 0. p may lie
               where e does.
     mass      the sum of w [n] (slack 16, of which up to 15 elements are read) over x [i] >= floor.
     sums      adds to sampi_sum's z, s (if with_s, else it is lost) and n for l = x * r; the weights of x >= floor also
               to above.
     envelope  tile [ceil(n / 256)] = for each tile the sum of sampi_envelope(max, l) over x >= floor.
     scale     out [n] = sampi_finite(x * r), or of x / r, masked elements as they are. out == x is fine.
     adapt     e [n] (slack 16) = sampi_adaptive_p_logit(e / sum, aim).
     survey    line [16 * ceil(n / 256)] and *top are what maxima makes of the logits of candidates, which go to x [n]
               too unless it is NULL. Returns: are all ids >= 0, each larger than the one before?
     put       the logits of candidates = l [n], and their p = p [n] / sum, as doubles (p NULL: as they are).
     race      hit [n] = those i < n, in order, with ~h <= most, h the upper half of Philox' first 64 bits at counter
               [3] and id [i], or base + i if id is NULL. Returns how many. (SAMPLING_GUMBEL)
     marks     hit [n] = those i < n, in order, whose word is at least `least`: word i % 4 of Philox at from + i / 4 and
               counter [3]. Returns how many. (SAMPLING_WATERMARK)
     tint      x [n] = sampi_green_logit(x, delta) where the token from + i is green (watermark/colours.h); masked
               elements as they are. from is a multiple of 4. (SAMPLING_WATERMARK) */

/* What a row's sums tell. All exact, so independent of order. */
typedef struct sampi_sums {
    float max;
    size_t n;       /* unmasked tokens */
    uint64_t z;     /* sum of w: Z = z / 2^40 */
    uint64_t s;     /* sum of round(w * (max - l)): s / z = the mean of max - l under p */
    uint64_t above; /* sum of w above some threshold */
} sampi_sums;

/* round(w * (max - l)) */
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

/* Quotients (scale's, adapt's and put's) are asked for in llama.cpp's arithmetic alone. */
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
    size_t (*climb)(const float *x, size_t n, const sampi_climb *c, float from, double *sum);
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
#define SAMPI_AHEAD   1024     /* bytes to prefetch ahead */
#define SAMPI_LEAST_D (-86.0f) /* sweep takes l - max below this as this: e^-86 is still a normal float */

/* 2^f for f in [-1/2, 1/2] in float, for sweep: relative error of the polynomial below 1e-7. */
#define SAMPI_F1 0.693146978f
#define SAMPI_F2 0.24022242f
#define SAMPI_F3 0.0555073381f
#define SAMPI_F4 0.00967152081f
#define SAMPI_F5 0.00132647295f

/* Row sums for the estimates: (relative) error of z, and of s relative to sum e^(l - ref) |ref - l|. */
#define SAMPI_SWEEP_ROUNDING 2e-6
#define SAMPI_SWEEP_SLOPE    1.5e-7 /* per nat of the mean of |ref - l| under e^(l - ref) */
