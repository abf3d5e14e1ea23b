/* ---- min_p (Nguyen et al. 2024) ----
   The sampler min_p keeps the tokens with p_i >= p * p_max. This needs no sum, because it is equivalent to l >= max +
   ln p. Of tokens with p = 0.5, 0.3, 0.15, 0.05 min_p 0.2 keeps three. */
#ifndef SAMPI_PLANS

static int sampi_min_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    double max = cur->data[sampi_argmax(cur)].logit;
    size_t n = sampi_unmasked(cur), min_keep = s->u.cut.min_keep;
    sampi_keep_above(cur, max + sampi_ln(s->u.cut.p), min_keep < n ? min_keep : n, s->at_memory);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Cuts by the logit, as in the library's own arithmetic, but with logf and a float sum. */
static int sampi_llama_min_p(sampi_sampler *s, samp_token_data_array *cur)
{
    float floor = cur->data[sampi_argmax(cur)].logit + logf(s->u.cut.p);
    sampi_keep_above(cur, floor, s->u.cut.min_keep, s->at_memory);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_min_p(float p, size_t min_keep)
{
    return sampi_init_cut(SAMPI_MIN_P, p, min_keep);
}

SAMPI_CUT_FIELDS(MIN_P, min_p, 0.05, 0, 0, "p");

#define SAMPI_MIN_P_ROW \
    "min-p", 0, 'm', "min_p;min-p", \
        SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_KEEPS_SOME | SAMPI_VIEW_SORTED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_MIN_P_FIELDS), sampi_off_at_0, &SAMPI_NO_HOOKS, sampi_min_p_apply, sampi_fast_min_p, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_min_p)

#else /* the plan */

static int SAMPI_ON(plan_min_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    const double down = sampi_ln(s->u.cut.p);
    float max;
    const int known = SAMPI_ON(max_for_floor)(row, s, down, &max);
    if (known != SAMPI_KNOWN) return known;
    return SAMPI_ON(keep_above)(row, (double)max + down, s->u.cut.min_keep > 1 ? s->u.cut.min_keep : 1);
}

#endif
