/* ============================================================================================== >>truncation
   Samplers that remove tokens, as the array goes through them: top_n_sigma, top_k, tail_free, typical, top_p, min_p,
   top_a and its kin, top_h, min_k, xtc. Of each the function that its row in the table of samplers names,
   sampi_..._apply, and the arithmetic of its threshold, which the fast path and the GPU use too. sampi_run calls it
   after sampi_check, and never for a sampler that is off, so parameters are within their ranges here and the row has a
   maximum. It may change the array, nothing of the sampler.

   Each has the same two steps: what decides (an integer mass, or a double got from one logit and constants of the
   row), then a cut of >>array. top_n_sigma alone masks instead of cutting, as its authors do. At least one token is
   left, always.

   The one thing to know: a token is in or out by the token itself and sums over the row, never by where it stands in
   the array. So the fast path may find the same tokens in another way. */

/* ---- top_n_sigma (Tang et al. 2024) ---- */

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
