/* ---- smoothing, log_softmax ----
   Two samplers that change every logit. smoothing sets l to max - factor d^2 (1 - c + c d), with d = max - l and c =
   (curve - 1) / 2: with factor 0.2 and curve 1 a logit that is 2 below the maximum comes to be 0.8 below it.
   log_softmax sets l to ln p, so that penalties after it do not depend on a constant added to all logits. */
#ifndef SAMPI_PLANS

static double sampi_bend_of(float curve) { return 0.5 * ((double)curve - 1.0); }

/* Returns a logit after smoothing, computed in doubles, with each product rounded before it is added; c is the result
   of sampi_bend_of. For c in [0, 1] the order (ties aside) and the maximum do not change, because each step is
   monotone. */
static float sampi_smoothed(double top, double factor, double c, float l)
{
    double d = top - (double)l, square = sampi_round(sampi_round(d * d) * factor);
    double bent = sampi_round(square * sampi_add_to_product64(sampi_round(c * d), 1.0 - c));
    return sampi_finite((float)sampi_add_to_product64(-bent, top));
}

/* Returns the logit as ln p. `all` is the maximum plus ln Z. */
static float sampi_log_softmaxed(double all, float l) { return sampi_finite((float)((double)l - all)); }

/* Returns the maximum plus ln Z, the logarithm of the sum of e^l. z is the sum of weights. */
static double sampi_log_sum(float max, uint64_t z)
{
    return (double)max + sampi_ln((double)z / (double)SAMPI_MAX_WEIGHT);
}

/* Does what sampi_log_softmaxed does, for a tile, in the compiler's vectors. No result can overflow; |all| must be
   below 2^100. */
static SAMPI_HOT void sampi_log_softmax_tile(double all, float *x)
{
    for (size_t i = 0; i < SAMPI_TILE; i++) x[i] = (float)((double)x[i] - all);
}

/* Applies either sampler to the n logits at l, which are `stride` bytes apart: in candidates, or in a row on the fast
   path. z is the sum of weights, for log_softmax; 0 for smoothing. A maximum of -0 counts as +0, because which of the
   two zeros is found depends on the instruction set. */
static SAMPI_COLD void sampi_smooth(const sampi_sampler *s, float max, uint64_t z, void *l, size_t stride, size_t n)
{
    double c = sampi_bend_of(s->u.smoothing.curve), top = (double)max + 0.0;
    double factor = (double)s->u.smoothing.factor, all = z ? sampi_log_sum(max, z) : 0.0;
    char *at = (char *)l;
    bool direct = z && stride == sizeof(float) && all < 1e30;
    for (; direct && n >= SAMPI_TILE; n -= SAMPI_TILE, at += SAMPI_TILE * sizeof(float))
        sampi_log_softmax_tile(all, (float *)(void *)at);
    for (; n > 0; n--, at += stride) {
        float *x = (float *)(void *)at;
        if (!sampi_masked(*x)) *x = z ? sampi_log_softmaxed(all, *x) : sampi_smoothed(top, factor, c, *x);
    }
}

static SAMPI_COLD int sampi_smoothing_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t z = s->kind == SAMPI_LOG_SOFTMAX ? sampi_sum(cur).z : 0;
    sampi_smooth(s, cur->data[sampi_argmax(cur)].logit, z, &cur->data->logit, sizeof *cur->data, cur->size);
    sampi_recheck_order(cur);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_smoothing(float factor, float curve)
{
    sampi_sampler t = sampi_blank(SAMPI_SMOOTHING);
    t.u.smoothing.factor = factor;
    t.u.smoothing.curve = curve;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_log_softmax(void) { return sampi_init_plain(SAMPI_LOG_SOFTMAX, 0); }

static const sampi_field SAMPI_SMOOTHING_FIELDS[] = {
    SAMPI_FIELD(FLOAT, smoothing_factor, smoothing.factor, 0, 0, 1000, 0, "factor"),
    SAMPI_FIELD(FLOAT, smoothing_curve, smoothing.curve, 1, 1, 10, 0, "curve"),
};

static SAMPI_COLD bool sampi_smoothing_is_off(const sampi_sampler *s) { return s->u.smoothing.factor == 0.0f; }

#define SAMPI_SMOOTHING_ROW \
    "smoothing", 0, 'q', "smoothing_factor;smoothing", SAMPI_KEEPS_P | SAMPI_IF_ON | SAMPI_MASKS_NONE, \
        SAMPI_FIELDS_OF(SAMPI_SMOOTHING_FIELDS), sampi_smoothing_is_off, &SAMPI_NO_HOOKS, sampi_smoothing_apply, \
        sampi_fast_smoothing, SAMPI_BY_LLAMA_CPP(sampi_smoothing_apply)

#define SAMPI_LOG_SOFTMAX_ROW \
    "log-softmax", 0, 'n', "log_softmax;log-softmax", SAMPI_KEEPS_P | SAMPI_IF_NAMED | SAMPI_MASKS_NONE, \
        SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, sampi_smoothing_apply, sampi_fast_smoothing, \
        SAMPI_BY_LLAMA_CPP(sampi_smoothing_apply)

#else /* the plan */

static int SAMPI_ON(plan_smoothing)(SAMPI_ON(row) * row, SAMPI_ON(step) * s) { return SAMPI_ON(bend)(row, s); }

static int SAMPI_ON(plan_log_softmax)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
    return known == SAMPI_KNOWN ? SAMPI_ON(shift)(row, sampi_log_sum(sums.max, sums.z)) : known;
}

#endif
