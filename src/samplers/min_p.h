/* ---- min_p (Nguyen et al. 2024) ----
   It keeps p_i >= p * p_max, which needs no sum: l >= max + ln p. p = 0.5, 0.3, 0.15, 0.05: min_p 0.2 keeps three. */

/* p_i >= p * p_max without a sum: l >= max + ln p. */
static int sampi_min_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    double max = cur->data[sampi_argmax(cur)].logit;
    size_t n = sampi_unmasked(cur), min_keep = s->u.cut.min_keep;
    sampi_keep_above(cur, max + sampi_ln(s->u.cut.p), min_keep < n ? min_keep : n);
    return SAMP_OK;
}
