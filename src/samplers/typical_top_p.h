/* ---- typical (Meister et al. 2022) and top_p (Holtzman et al. 2019) ----
   Both keep the shortest beginning of an order that holds a mass. typical's order is by |surprise - entropy|, and the
   mass exceeds p; top_p's is by logit, and the mass reaches p. p = 0.5, 0.3, 0.15, 0.05: the entropy is 1.14 and the
   surprises 0.69, 1.20, 1.90, 3.00, so typical 0.25 keeps the second alone; top_p 0.7 keeps two. */

/* |surprise - entropy| without ln Z, which is in both: order->max = the row's maximum, order->mean = the mean of max
   - l under p. The fast path sorts by it too. */
static double sampi_typical_score(const sampi_order *order, const samp_token_data *d)
{
    return sampi_abs((order->max - (double)d->logit) - order->mean);
}

/* More than p, so one unit of mass above the share rounded down. */
static SAMPI_COLD int sampi_typical_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_order by_score;
    by_score.score = sampi_typical_score;
    by_score.max = sums.max;
    by_score.mean = (double)sums.s / (double)sums.z;
    uint64_t exceeded = sampi_mulhi(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &by_score, &sums, exceeded + 1, s->u.cut.min_keep);
    return SAMP_OK;
}

/* p at least, so the share rounded up. */
static int sampi_top_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    uint64_t required = sampi_mass_of(sampi_share(s->u.cut.p), sums.z);
    sampi_keep_mass(cur, &SAMPI_BY_LOGIT, &sums, required, s->u.cut.min_keep);
    return SAMP_OK;
}

static const sampi_field SAMPI_TYPICAL_FIELDS[] = {
    SAMPI_FIELD(FLOAT, typ_p, cut.p, 1, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(cut.min_keep),
};

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_TYPICAL_ROW                                                                                            \
    "typical", 0, 'y', "typ_p;typical;typical_p;typ-p",                                                              \
        SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_DROPPED | SAMPI_LLAMA_BY_ORDER | SAMPI_LLAMA_SORTS,                   \
        SAMPI_FIELDS_OF(SAMPI_TYPICAL_FIELDS), sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_typical_apply,                 \
        sampi_fast_typical, SAMPI_BY_LLAMA_CPP(sampi_llama_typical, sampi_fast_llama_typical)

static const sampi_field SAMPI_TOP_P_FIELDS[] = {
    SAMPI_FIELD(FLOAT, top_p, cut.p, 0.95, 0, 1, SAMPI_OPEN, "p"),
    SAMPI_MIN_KEEP(cut.min_keep),
};

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_TOP_P_ROW                                                                                              \
    "top-p", 0, 'p', "top_p;top-p;nucleus",                                                                          \
        SAMPI_DROPS | SAMPI_SORTS | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | SAMPI_LLAMA_BY_ORDER,                  \
        SAMPI_FIELDS_OF(SAMPI_TOP_P_FIELDS), sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_top_p_apply, sampi_fast_top_p,   \
        SAMPI_BY_LLAMA_CPP(sampi_llama_top_p, sampi_fast_llama_top_p)
