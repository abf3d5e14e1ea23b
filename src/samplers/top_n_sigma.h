/* ---- top_n_sigma (Tang et al. 2024), top_k ----
   top_n_sigma masks l < max - n * sigma: of logits 4, 2, 1, 1 sigma is 1.22, so n = 2 keeps 4 and 2. top_k keeps the
   first k. */

/* top_n_sigma's variance comes from integers: x = max - l in units of 2^-40 of the range's power of two, sums of x
   and x^2 exact in 128 bits. */
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

/* Its cut: keep l if max - l <= the result. */
static double sampi_sigma_reach(const samp_token_data_array *cur, float n_sigma, float *max)
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

/* Mask what is farther below the maximum than n standard deviations. The array keeps its size, and p is not set. */
static SAMPI_COLD int sampi_top_n_sigma_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float max;
    double reach = sampi_sigma_reach(cur, s->u.cut.p, &max);
    for (size_t i = 0; i < cur->size; i++)
        if ((double)max - (double)cur->data[i].logit > reach) cur->data[i].logit = -INFINITY;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

/* The cheapest cut: no probability is needed, so p is not set. */
static int sampi_top_k_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k, n = sampi_unmasked(cur);
    if (k > n) k = n;
    if (s->u.top_k.ties) {
        sampi_sort(&SAMPI_BY_LOGIT, cur, k);
        sampi_keep_above(cur, (double)cur->data[k - 1].logit, k);
        k = cur->size;
    }
    sampi_cut_to_first(cur, k);
    return SAMP_OK;
}

static const sampi_field SAMPI_TOP_N_SIGMA_FIELDS[] = {
    SAMPI_FIELD(FLOAT, top_n_sigma, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "n"),
};

static SAMPI_COLD bool sampi_top_n_sigma_is_off(const sampi_sampler *s) { return s->u.cut.p <= 0.0f; }

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_TOP_N_SIGMA_ROW                                                                                        \
    "top-n-sigma", 0, 's', "top_n_sigma;top-n-sigma", SAMPI_KEEPS_P | SAMPI_VIEW_MASKED,                             \
        SAMPI_FIELDS_OF(SAMPI_TOP_N_SIGMA_FIELDS), sampi_top_n_sigma_is_off, &SAMPI_NO_HOOKS,                        \
        sampi_top_n_sigma_apply, sampi_fast_top_n_sigma,                                                             \
        SAMPI_BY_LLAMA_CPP(sampi_llama_top_n_sigma, sampi_fast_llama_top_n_sigma)

static const sampi_field SAMPI_TOP_K_FIELDS[] = {
    SAMPI_FIELD(INT32, top_k, top_k.k, 40, INT32_MIN, INT32_MAX, 0, "k"),
    SAMPI_FIELD(INT32, top_k_ties, top_k.ties, 0, 0, 1, SAMPI_LATER | SAMPI_IF_ABOVE_0, "ties"),
};

static SAMPI_COLD bool sampi_top_k_is_off(const sampi_sampler *s) { return s->u.top_k.k <= 0; }

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_TOP_K_ROW                                                                                              \
    "top-k", 0, 'k', "top_k;top-k",                                                                                  \
        SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED |    \
            SAMPI_LLAMA_BY_ORDER,                                                                                    \
        SAMPI_FIELDS_OF(SAMPI_TOP_K_FIELDS), sampi_top_k_is_off, &SAMPI_NO_HOOKS, sampi_top_k_apply,                 \
        sampi_fast_top_k, SAMPI_BY_LLAMA_CPP(sampi_llama_top_k, sampi_fast_llama_top_k)
