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
/* Computes mean and deviation in two passes of float sums. Each square is added in double and the sum is rounded to
   float, as in C++ with std::pow, which returns a double. */
static SAMPI_COLD int sampi_llama_top_n_sigma(sampi_sampler *s, samp_token_data_array *cur)
{
    float max = -INFINITY, sum = 0.0f, squares = 0.0f, count = 0.0f;
    if (cur->size < 2) return SAMP_OK;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (sampi_masked(l)) continue;
        if (l > max) max = l;
        sum += l;
        count += 1.0f;
    }
    float mean = sum / count;
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit)) continue;
        double x = (double)(cur->data[i].logit - mean);
        squares = (float)((double)squares + sampi_round(x * x));
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
        sampi_top_n_sigma_apply, sampi_fast_top_n_sigma, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_top_n_sigma, sampi_fast_llama_top_n_sigma)

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
