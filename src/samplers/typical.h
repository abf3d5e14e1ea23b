/* ---- typical (Meister et al. 2022) ----
   The sampler typical orders tokens by their score |surprise - entropy|, where the surprise of a token is -ln p_i. It
   keeps the shortest prefix of this order whose probability exceeds p. For p = 0.5, 0.3, 0.15, 0.05 the entropy is 1.14
   and the surprises are 0.69, 1.20, 1.90, 3.00, so typical 0.25 keeps only the second token. */
#ifndef SAMPI_PLANS

/* Returns the score |surprise - entropy|; ln Z is in surprise and entropy, so it cancels. order->max is the row's
   maximum, order->mean the mean of max - l under p. The fast path sorts by this function too. */
static double sampi_typical_score(const sampi_order *order, const samp_token_data *d)
{
    return sampi_abs((order->max - (double)d->logit) - order->mean);
}

/* Applies typical. The probability of the prefix must exceed p, so its weight must be at least one unit above the share
   of the sum, rounded down. */
static SAMPI_COLD int sampi_typical_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_order by_score;
    by_score.score = sampi_typical_score;
    by_score.max = sums.max;
    by_score.mean = (double)sums.s / (double)sums.z;
    uint64_t exceeded = sampi_mulhi(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &by_score, &sums, exceeded + 1, s->u.cut.min_keep, s->at_memory);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Returns the distance of the surprise -ln p from the entropy. A p of 0 comes last; in llama.cpp its distance is NaN,
   which breaks the order. */
static float sampi_llama_score(float p, float entropy) { return p > 0.0f ? fabsf(-logf(p) - entropy) : INFINITY; }

/* Returns the score, which has been stored in p, for sampi_sort. */
static double sampi_llama_typical_score(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->p;
}

/* Applies typical as llama.cpp does. The running sum of p, in the order of scores, must exceed the share. */
static SAMPI_COLD int sampi_llama_typical(sampi_sampler *s, samp_token_data_array *cur)
{
    const sampi_order by_score = { sampi_llama_typical_score, 0.0, 0.0 };
    sampi_llama_sums sums = sampi_llama_softmax(s, cur, true);
    float entropy = sampi_llama_entropy(cur);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_score(cur->data[i].p, entropy);
    sampi_llama_keep_share(s, cur, &by_score, &sums);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_typical(float p, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TYPICAL, p, min_keep);
}

SAMPI_CUT_FIELDS(TYPICAL, typ_p, 1, 0, SAMPI_OPEN, "p");

#define SAMPI_TYPICAL_ROW \
    "typical", 0, 'y', "typ_p;typical;typical_p;typ-p", \
        SAMPI_SEEKS_END | SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_DROPPED, SAMPI_FIELDS_OF(SAMPI_TYPICAL_FIELDS), \
        sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_typical_apply, sampi_fast_typical, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_typical)

#else /* the plan */

/* The plan of typical. Phase 0 makes the cut, which mostly leaves few tokens. In phase 1 the executor collects them. */
static int SAMPI_ON(plan_typical)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    if (memory->phase == 0) {
        sampi_sums sums;
        int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        const uint64_t mass = sampi_mulhi(sampi_share(s->u.cut.p), sums.z) + 1;
        const size_t min_keep = s->u.cut.min_keep < sums.n ? s->u.cut.min_keep : sums.n;
        known = SAMPI_ON(keep_nearest)(row, (double)sums.s / (double)sums.z, mass, min_keep);
        if (known != SAMPI_KNOWN) return known;
        memory->phase = 1;
    }
    return SAMPI_ON(settle)(row);
}

#endif
