/* ---- top_p (Holtzman et al. 2019) ----
   The sampler top_p keeps the shortest prefix in order whose probability is at least p. Of tokens with p = 0.5, 0.3,
   0.15, 0.05 top_p 0.7 keeps two. */
#ifndef SAMPI_PLANS

/* Applies top_p. The prefix must have a probability of at least p, so the share of the sum of weights is rounded up. */
static int sampi_top_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    uint64_t required = sampi_mass_of(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &SAMPI_BY_LOGIT, &sums, required, s->u.cut.min_keep, s->at_memory);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Applies top_p as llama.cpp does. It computes the sum before it sorts, so p may differ from typical's in the last
   bits. */
static int sampi_llama_top_p(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_sum(cur);
    sampi_llama_keep_share(s, cur, &SAMPI_BY_LOGIT, &sums);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_p(float p, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TOP_P, p, min_keep);
}

SAMPI_CUT_FIELDS(TOP_P, top_p, 0.95, 0, SAMPI_OPEN, "p");

#define SAMPI_TOP_P_ROW \
    "top-p", 0, 'p', "top_p;top-p;nucleus", SAMPI_SEEKS_END | SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_SORTED, \
        SAMPI_FIELDS_OF(SAMPI_TOP_P_FIELDS), sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_top_p_apply, sampi_fast_top_p, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_top_p)

#else /* the plan */

static int SAMPI_ON(plan_top_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_PREFIX, &sums);
    if (known != SAMPI_KNOWN) return known;
    const uint64_t mass = sampi_mass_of(sampi_share(s->u.cut.p), sums.z);
    const size_t min_keep = s->u.cut.min_keep < sums.n ? s->u.cut.min_keep : sums.n;
    return SAMPI_ON(keep_prefix)(row, SAMPI_SHOWS_ORDER | SAMPI_SHOWS_P, mass, min_keep ? min_keep : 1);
}

#endif
