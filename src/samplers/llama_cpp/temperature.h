/* ---- temperature, in llama.cpp's arithmetic ----
   temp and temp_ext. Both scale in one place, which divides (the canonical ones multiply by 1 / T) and writes logits
   only; temp_ext sorts and sets p as well, since llama.cpp's does to find the entropy. */

/* A division, not a product, and no look at ties: `sorted` stays what it was. What overflows becomes +-FLT_MAX, as
   in the canonical samplers. */
static void sampi_llama_scale(samp_token_data_array *cur, float t)
{
    if (!(t > 0.0f)) {
        sampi_mask_but(cur, sampi_llama_argmax(cur));
        return;
    }
    for (size_t i = 0; i < cur->size; i++)
        if (!sampi_masked(cur->data[i].logit)) cur->data[i].logit = sampi_finite(cur->data[i].logit / t);
}

/* Without a range there is no entropy to find, hence no p and no order. */
static int sampi_llama_temp(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_scale(cur, s->u.temp.t);
    return SAMP_OK;
}

/* The temperature that belongs to an entropy. The largest possible one is that of all n candidates, masked ones too. */
static float sampi_llama_temp_of(const sampi_sampler *s, float entropy, size_t n)
{
    float t = s->u.temp.t, delta = s->u.temp.delta, lo = t > delta ? t - delta : 0.0f, hi = t + delta;
    float power = powf(entropy / -logf(1.0f / (float)n), s->u.temp.exponent);
    return lo + sampi_roundf((hi - lo) * power);
}

/* Dynamic temperature sorts, and leaves p of the new logits. */
static SAMPI_COLD int sampi_llama_temp_ext(sampi_sampler *s, samp_token_data_array *cur)
{
    if (!(s->u.temp.delta > 0.0f)) {
        sampi_llama_scale(cur, s->u.temp.t);
        return SAMP_OK;
    }
    if (cur->size < 2) return SAMP_OK;
    sampi_llama_softmax(cur, true);
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
