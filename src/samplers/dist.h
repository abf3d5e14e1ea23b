/* ---- dist ----
   dist draws each token with its probability, and does nothing else. In llama.cpp's arithmetic dist draws one double u
   from std::mt19937, and selects the first candidate in array order at which the running sum of e^(l - max) reaches the
   share u of the total. */
#ifndef SAMPI_PLANS

/* Applies dist. adaptive_p calls this function too, if its target is below 0. */
static int sampi_dist_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_select(s, cur);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
static int sampi_llama_dist(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_choose(cur, sampi_mt_double(sampi_mt_of(s)), !s->at_end);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_dist(uint64_t seed) { return sampi_init_plain(SAMPI_DIST, seed); }

#define SAMPI_DIST_ROW \
    "dist", 1, 0, "", SAMPI_SELECTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED, SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, \
        sampi_dist_apply, sampi_fast_dist, SAMPI_BY_LLAMA_CPP(sampi_llama_dist)

#else /* the plan */

static int SAMPI_ON(plan_dist)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data token;
    const int known = SAMPI_ON(draw)(row, s, &token);
    return known == SAMPI_KNOWN ? SAMPI_ON(choose)(row, s, &token, 0.0f) : known;
}

#endif
