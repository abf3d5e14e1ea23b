/* ============================================================================================= >>temperature
   temp divides the logits by T; temp_ext first computes T in t - delta .. t + delta from the row's entropy (0 .. ln n).
   At T = 2 logits 3 and 1 become 1.5 and 0.5. No token is removed. The order does not change, except at ties that
   rounding makes. T = 0, and a T of temp_ext below 2^-20, masks all tokens but the first in order.

   The factor 1 / T is rounded to f32, and each logit is one product rounded to f32. The executor for rows keeps the
   factor instead of multiplying each logit (sampi_row's r), so it must get the same product later. */
#ifndef SAMPI_PLANS

/* Masks all candidates but the one at index `best`. */
static void sampi_mask_all_but(samp_token_data_array *cur, size_t best)
{
    for (size_t i = 0; i < cur->size; i++)
        if (i != best) cur->data[i].logit = -INFINITY;
}

/* Can this sampler (temp or temp_ext) mask tokens? */
static bool sampi_temp_masks(const sampi_sampler *s)
{
    if (s->kind == SAMPI_TEMP_EXT && s->u.temp.delta > 0.0f) return true;
    return (s->kind == SAMPI_TEMP || s->kind == SAMPI_TEMP_EXT) && s->u.temp.t < SAMPI_TEMP_MIN;
}

/* Is this sampler a temperature that does not depend on the row and masks no token? */
SAMPI_INLINE bool sampi_is_plain_temp(const sampi_sampler *s)
{
    return (s->kind == SAMPI_TEMP || s->kind == SAMPI_TEMP_EXT) && !sampi_temp_masks(s);
}

/* Multiplies all logits by r, or divides them by it. Results that overflow become +-FLT_MAX, because only masked tokens
   may be -infinity. */
static void sampi_scale_all(samp_token_data_array *cur, float r, bool divided)
{
    float x[SAMPI_TILE];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->scale(x, n, r, divided, x);
        sampi_use()->put(cur->data + at, n, x, NULL, 1.0);
    }
}

/* Multiplies all logits by 1 / t, for temp and temp_ext. */
static void sampi_scale(samp_token_data_array *cur, float t)
{
    if (t >= SAMPI_TEMP_MIN) {
        sampi_scale_all(cur, 1.0f / t, false);
    } else {
        sampi_mask_all_but(cur, sampi_argmax(cur));
    }
    sampi_recheck_order(cur);
}

static int sampi_temp_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* Returns the temperature of temp_ext (dynamic temperature, kalomaze 2023). It goes from t - delta for a row with
   entropy 0 to t + delta for the entropy ln n of n equal tokens. */
static float sampi_dynamic_temp(const sampi_temp_numbers *of, const sampi_sums *sums)
{
    float lo = of->t > of->delta ? of->t - of->delta : 0.0f, hi = of->t + of->delta;
    double power = sampi_pow(sampi_entropy(sums) / sampi_ln((double)sums->n), of->exponent);
    return (float)SAMPI_FMA((double)hi - (double)lo, power, (double)lo);
}

/* Applies temp_ext, which is temp if delta is 0. The entropy is that of the original logits. */
static SAMPI_COLD int sampi_temp_ext_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    float t = s->u.temp.t;
    if (s->u.temp.delta > 0.0f) {
        sampi_sums sums = sampi_sum(cur);
        if (sums.n == 1) return SAMP_OK; /* ln n is 0, and there is no other token */
        t = sampi_dynamic_temp(&s->u.temp, &sums);
    }
    sampi_scale(cur, t);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Divides the logits by t. llama.cpp divides, and does not check ties, so `sorted` does not change. */
static void sampi_llama_scale(samp_token_data_array *cur, float t)
{
    if (!(t > 0.0f)) {
        sampi_mask_all_but(cur, sampi_llama_argmax(cur));
        return;
    }
    sampi_scale_all(cur, t, true);
}

/* Applies temp. It needs no entropy, so it neither sets p nor sorts. */
static int sampi_llama_temp(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* Returns the temperature of temp_ext for an entropy. The largest entropy is that of all n candidates, masked
   candidates included. */
static float sampi_llama_temp_of(const sampi_sampler *s, float entropy, size_t n)
{
    float t = s->u.temp.t, delta = s->u.temp.delta, lo = t > delta ? t - delta : 0.0f, hi = t + delta;
    float power = powf(entropy / -logf(1.0f / (float)n), s->u.temp.exponent);
    return lo + sampi_roundf((hi - lo) * power);
}

/* Applies temp_ext. As in llama.cpp it sorts, and sets p of the new logits. */
static SAMPI_COLD int sampi_llama_temp_ext(sampi_sampler *s, samp_token_data_array *cur)
{
    if (!(s->u.temp.delta > 0.0f)) {
        sampi_llama_scale(cur, s->u.temp.t);
        return SAMP_OK;
    }
    if (cur->size < 2) return SAMP_OK;
    sampi_llama_softmax(s, cur, true);
    sampi_llama_scale(cur, sampi_llama_temp_of(s, sampi_llama_entropy(cur), cur->size));
    double max = (double)cur->data[0].logit, sum = 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        double e = exp((double)cur->data[i].logit - max);
        cur->data[i].p = (float)e;
        sum += e;
    }
    sampi_llama_divide(cur, sum);
    return SAMP_OK;
}
#endif

static SAMPI_COLD samp_sampler *sampi_init_temp(sampi_kind kind, float temp, float delta, float exponent)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.temp.t = temp;
    t.u.temp.delta = delta;
    t.u.temp.exponent = exponent;
    return sampi_init(&t);
}

/* temp and temp_ext are two kinds of samplers, so that samp_describe shows which one the user has made. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_temp(float temp) { return sampi_init_temp(SAMPI_TEMP, temp, 0.0f, 1.0f); }
SAMP_API SAMPI_COLD samp_sampler *samp_init_temp_ext(float temp, float delta, float exponent)
{
    return sampi_init_temp(SAMPI_TEMP_EXT, temp, delta, exponent);
}

/* Is the sampler (temp or temp_ext) off? */
static SAMPI_COLD bool sampi_temp_is_off(const sampi_sampler *s)
{
    return s->u.temp.t == 1.0f && s->u.temp.delta == 0.0f;
}

static const sampi_field SAMPI_TEMP_FIELDS[] = {
    SAMPI_FIELD(FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIXED(FLOAT, dynatemp_range, temp.delta, 0, 0, 0, NULL),       /* temp has the members of temp_ext */
    SAMPI_FIXED(FLOAT, dynatemp_exponent, temp.exponent, 1, 1, 1, NULL), /* is in the fingerprint too */
};

#define SAMPI_TEMP_ROW \
    "temp", 0, 0, "", \
        SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED | \
            SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_TEMP_FIELDS), sampi_temp_is_off, &SAMPI_NO_HOOKS, sampi_temp_apply, sampi_fast_temp, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_temp)

static const sampi_field SAMPI_TEMP_EXT_FIELDS[] = {
    SAMPI_FIELD(FLOAT, temp, temp.t, 0.8, SAMPI_TEMP_MIN, SAMPI_TEMP_MAX, SAMPI_OR_ZERO, "t"),
    SAMPI_FIELD(FLOAT, dynatemp_range, temp.delta, 0, 0, SAMPI_TEMP_MAX, SAMPI_IF_ABOVE_0, "delta"),
    SAMPI_FIELD(FLOAT, dynatemp_exponent, temp.exponent, 1, 0, 1000, SAMPI_IF_LAST, "exponent"),
};

#define SAMPI_TEMP_EXT_ROW \
    "temp-ext", 0, 't', "temperature;temp;temp_ext;temp-ext", \
        SAMPI_KEEPS_P | SAMPI_TAKES_FLOOR | SAMPI_VIEW_DROPPED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_TEMP_EXT_FIELDS), sampi_temp_is_off, &SAMPI_NO_HOOKS, sampi_temp_ext_apply, \
        sampi_fast_temp_ext, SAMPI_BY_LLAMA_CPP(sampi_llama_temp_ext)

#else /* the plan */

/* The plan of temp and temp_ext. For temp_ext, phase 0 computes the temperature (memory->number) from the entropy of
   the original logits. Phase 1 scales the logits. */
static int SAMPI_ON(plan_temp)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (!(s->u.temp.delta > 0.0f)) return SAMPI_ON(scale)(row, s->u.temp.t);
    if (memory->phase == 0) {
        sampi_sums sums;
        const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
        if (known != SAMPI_KNOWN || sums.n <= 1) return known; /* with one token the entropy is 0 */
        memory->number = (double)sampi_dynamic_temp(&s->u.temp, &sums);
        memory->phase = 1;
    }
    return SAMPI_ON(scale)(row, (float)memory->number);
}

#endif
