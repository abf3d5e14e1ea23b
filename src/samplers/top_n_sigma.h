/* ---- top_n_sigma (Tang et al. 2024) ----
   The sampler top_n_sigma masks tokens with l < max - n * sigma, where sigma is the standard deviation of the logits.
   For the logits 4, 2, 1, 1 sigma is 1.22, so n = 2 keeps 4 and 2. */
#ifndef SAMPI_PLANS

/* Returns the scale with which the variance is computed exactly: each x = max - l becomes an integer in units of 2^-40
   of the range's power of two, so that the sums of x and x^2 are exact in 128 bits. */
static double sampi_sigma_scale(double range)
{
    uint64_t exponent = sampi_bits(range) >> 52; /* range < 2^(exponent - 1022) */
    return sampi_from_bits((uint64_t)(1023 + 40 + 1022 - exponent) << 52);
}

static uint64_t sampi_sigma_x(float max, float l, double scale)
{
    return sampi_bits(SAMPI_FMA((double)max - (double)l, scale, SAMPI_INT)) - sampi_bits(SAMPI_INT);
}

static double sampi_sigma_of(uint64_t n, uint64_t sum, sampi_u128 squares, double scale)
{
    sampi_u128 by_n = sampi_mul128(squares.lo, n), square = sampi_mul128(sum, sum);
    by_n.hi += squares.hi * n;
    return sqrt(sampi_double_of_128(sampi_sub128(by_n, square))) / ((double)n * scale);
}

/* Returns the largest distance from the maximum that is kept: n_sigma standard deviations. *max gets the maximum. */
static double sampi_sigma_distance(const samp_token_data_array *cur, float n_sigma, float *max)
{
    float low = INFINITY;
    *max = -INFINITY;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (l > *max) *max = l;
        if (!sampi_masked(l) && l < low) low = l;
    }
    double range = (double)*max - (double)low, scale = sampi_sigma_scale(range);
    sampi_u128 squares = { 0, 0 };
    uint64_t sum = 0, n = 0;
    if (range == 0.0) return 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit)) continue;
        uint64_t x = sampi_sigma_x(*max, cur->data[i].logit, scale);
        sum += x;
        squares = sampi_add128(squares, sampi_mul128(x, x));
        n++;
    }
    return (double)n_sigma * sampi_sigma_of(n, sum, squares, scale);
}

/* Is a logit near enough to the maximum? `what` points to the maximum and to the largest distance. */
SAMPI_INLINE bool sampi_is_within(const void *what, float l)
{
    const double *of = (const double *)what;
    return of[0] - (double)l <= of[1];
}

/* Masks the tokens that are farther below the maximum than n_sigma deviations. The array keeps its size, and p is not
   set. */
static SAMPI_COLD int sampi_top_n_sigma_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float max;
    double reach = sampi_sigma_distance(cur, s->u.cut.p, &max);
    for (size_t i = 0; i < cur->size; i++)
        if ((double)max - (double)cur->data[i].logit > reach) cur->data[i].logit = -INFINITY;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Returns `sum` increased by the squares (x - mean)^2 of x [n]: each square is added in double and the sum is rounded
   to float, as in C++ with std::pow, which returns a double. While the sum stays between two powers of two, it grows by
   multiples of one ulp, and a square adds the same to each sum unless it ends half way between two of them. So the
   steps are computed from the first sum, and do not wait for each other: the squares take a third of the time, without
   which the sampler alone would be slower than llama.cpp's. */
static SAMPI_HOT float sampi_llama_squares(const float *x, size_t n, float mean, float sum)
{
    const double from = (double)sum, half = ((double)sampi_unkey(sampi_key(sum) + 1) - from) / 2.0;
    double moved[4] = { 0.0, 0.0, 0.0, 0.0 }, off[4] = { 0.0, 0.0, 0.0, 0.0 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) {
            const double d = (double)(x[i + k] - mean), to = from + d * d, rounded = (double)(float)to;
            const double rest = fabs(to - rounded);
            off[k] = rest > off[k] ? rest : off[k];
            moved[k] += rounded - from;
        }
    const bool tie = !(off[0] < half && off[1] < half && off[2] < half && off[3] < half);
    const float end = (float)(from + ((moved[0] + moved[1]) + (moved[2] + moved[3])));
    if (!tie && end <= FLT_MAX && sampi_key(end) >> 23 == sampi_key(sum) >> 23)
        sum = end;
    else
        i = 0;
    for (; i < n; i++) {
        double d = (double)(x[i] - mean);
        sum = (float)((double)sum + sampi_round(d * d));
    }
    return sum;
}

/* Computes mean and deviation of the unmasked logits in two passes of float sums. */
static SAMPI_COLD int sampi_llama_top_n_sigma(sampi_sampler *s, samp_token_data_array *cur)
{
    float x[SAMPI_TILE + 16], max = -INFINITY, sum = 0.0f, squares = 0.0f, count = 0.0f, mean = 0.0f;
    int32_t id[SAMPI_TILE + 16];
    if (cur->size < 2) return SAMP_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0, n; at < cur->size; at += n) {
            n = sampi_copy_logits(cur, at, x);
            const float top = sampi_max_of(x, n);
            if (top > max) max = top;
            const size_t unmasked = sampi_use()->collect(x, NULL, 0, n, -FLT_MAX, INFINITY, x, id);
            if (pass) {
                squares = sampi_llama_squares(x, unmasked, mean, squares);
                continue;
            }
            for (size_t i = 0; i < unmasked; i++) sum += x[i];
            count += (float)unmasked;
        }
        mean = sum / count;
    }
    float sigma = (float)sqrt((double)(squares / count)), floor = max - sampi_roundf(s->u.cut.p * sigma);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].logit < floor) cur->data[i].logit = -INFINITY;
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_n_sigma(float n) { return sampi_init_cut(SAMPI_TOP_N_SIGMA, n, 0); }

static const sampi_field SAMPI_TOP_N_SIGMA_FIELDS[] = {
    SAMPI_FIELD(FLOAT, top_n_sigma, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "n"),
};

static SAMPI_COLD bool sampi_top_n_sigma_is_off(const sampi_sampler *s) { return s->u.cut.p <= 0.0f; }

#define SAMPI_TOP_N_SIGMA_ROW \
    "top-n-sigma", 0, 's', "top_n_sigma;top-n-sigma", SAMPI_SEEKS_END | SAMPI_KEEPS_P | SAMPI_VIEW_MASKED, \
        SAMPI_FIELDS_OF(SAMPI_TOP_N_SIGMA_FIELDS), sampi_top_n_sigma_is_off, &SAMPI_NO_HOOKS, \
        sampi_top_n_sigma_apply, sampi_fast_top_n_sigma, SAMPI_BY_LLAMA_CPP(sampi_llama_top_n_sigma)

#else /* the plan */

static int SAMPI_ON(plan_top_n_sigma)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    float max;
    double sigma;
    const int known = SAMPI_ON(deviation)(row, &max, &sigma);
    if (known != SAMPI_KNOWN) return known;
    const double of[2] = { (double)max, (double)s->u.cut.p * sigma };
    return SAMPI_ON(keep_reaching)(row, sampi_least_in(sampi_is_within, of, SAMPI_NO_KEY, sampi_key(max)));
}

#endif
