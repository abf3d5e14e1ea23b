/* ---- xtc, "exclude top choices" (p-e-w) ----
   With probability p (the coin) the sampler xtc removes all tokens of probability >= t except the least likely of them.
   Of tokens with 0.5, 0.3, 0.15, 0.05 it leaves 0.15 and 0.05 for t = 0.1. The coin is made of 64 random bits, a
   function of the seed and the position. With exempt tokens, which are never removed, it is a kind of its own
   (SAMPI_XTC_EXCEPT), because it has no plan: no step on a device has room for their list. */
#ifndef SAMPI_PLANS

/* Is a logit's weight at least the required one? `what`: the sums of the array, with that weight in `above`. */
static bool sampi_weighs_enough(const void *what, float l)
{
    const sampi_sums *of = (const sampi_sums *)what;
    return sampi_weight(of->max, l) >= of->above;
}

/* Is a token exempt? xtc without exempt tokens has no such list. */
static bool sampi_xtc_spares(const sampi_sampler *s, samp_token token) { return sampi_list_has(s, token); }

/* Applies xtc: with probability p, removes all candidates with a probability of at least t except the last of them in
   order and exempt tokens. If fewer than min_keep candidates would be left, none is removed. The position advances in
   either case. */
static SAMPI_COLD int sampi_xtc_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2];
    if (cur->size < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    sampi_sums sums = sampi_sum(cur);
    sums.above = sampi_mass_of(sampi_share(s->u.xtc.t), sums.z); /* t <= 1/2, or the sampler is off */
    if (!sampi_weighs_enough(&sums, sums.max)) return SAMP_OK;
    /* the smallest logit that reaches t */
    const float least = sampi_least_in(sampi_weighs_enough, &sums, SAMPI_NO_KEY, sampi_key(sums.max));
    size_t above = 0, last = 0, spared = 0;
    for (size_t i = 0; i < cur->size; i++) {
        if (!(cur->data[i].logit >= least)) continue;
        if (above == 0 || sampi_before(&SAMPI_BY_LOGIT, &cur->data[last], &cur->data[i])) last = i;
        above++;
        spared += sampi_xtc_spares(s, cur->data[i].id);
    }
    spared += above > 0 && !sampi_xtc_spares(s, cur->data[last].id);
    if (above == spared || sums.n - (above - spared) < s->u.xtc.min_keep) return SAMP_OK;
    sampi_set_p(cur, &sums);
    size_t kept = 0;
    for (size_t i = 0; i < cur->size; i++)
        if (i == last || !(cur->data[i].logit >= least) || sampi_xtc_spares(s, cur->data[i].id))
            cur->data[kept++] = cur->data[i];
    cur->size = kept;
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Applies xtc as llama.cpp does. The coin is drawn first, even if p is 1: one output of the mt19937 each time there is
   more than one candidate. The removed candidates are at the beginning of the sorted array, so the rest stays sorted. */
static SAMPI_COLD int sampi_llama_xtc(sampi_sampler *s, samp_token_data_array *cur)
{
    if (cur->size < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    sampi_llama_softmax(s, cur, true);
    size_t above = 0, gone = 0, kept = 0;
    for (; above < cur->size && cur->data[above].p >= s->u.xtc.t && !sampi_masked(cur->data[above].logit); above++)
        gone += !sampi_xtc_spares(s, cur->data[above].id);
    gone -= above > 0 && !sampi_xtc_spares(s, cur->data[above - 1].id);
    if (gone == 0 || cur->size - gone < s->u.xtc.min_keep) return SAMP_OK;
    for (size_t i = 0; i < cur->size; i++)
        if (i + 1 >= above || sampi_xtc_spares(s, cur->data[i].id)) cur->data[kept++] = cur->data[i];
    cur->size = kept;
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_xtc_except(float p, float threshold, size_t min_keep, uint64_t seed,
                                                       const samp_token *exempt, size_t n)
{
    sampi_sampler t = sampi_blank(n ? SAMPI_XTC_EXCEPT : SAMPI_XTC);
    t.u.xtc.p = p;
    t.u.xtc.t = threshold;
    t.u.xtc.min_keep = min_keep;
    t.seed = seed;
    sampi_require_tokens(&t, exempt, n, "exempt");
    if (n && !t.status) {
        t.u.xtc_except.n = (int32_t)n;
        t.from = exempt;
        t.part_size[1] = n * sizeof(sampi_count);
    }
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_xtc(float p, float threshold, size_t min_keep, uint64_t seed)
{
    return samp_init_xtc_except(p, threshold, min_keep, seed, NULL, 0);
}

static const sampi_field SAMPI_XTC_FIELDS[] = {
    SAMPI_FIELD(FLOAT, xtc_probability, xtc.p, 0, 0, 1, 0, "p"),
    SAMPI_FIELD(FLOAT, xtc_threshold, xtc.t, 0.1, 0, 1, 0, "t"),
    SAMPI_MIN_KEEP(xtc.min_keep),
};
static const sampi_field SAMPI_XTC_EXCEPT_FIELDS[] = {
    SAMPI_FIXED(FLOAT, xtc_probability, xtc.p, 0, 0, 1, "p"),
    SAMPI_FIXED(FLOAT, xtc_threshold, xtc.t, 0.1, 0, 1, "t"),
    SAMPI_MIN_KEEP(xtc.min_keep),
    SAMPI_FIXED(INT32, exempt, xtc_except.n, 0, 0, SAMP_MAX_VOCAB, "exempt"),
};

static SAMPI_COLD bool sampi_xtc_is_off(const sampi_sampler *s) { return s->u.xtc.p == 0.0f || s->u.xtc.t > 0.5f; }

#define SAMPI_XTC_ROW \
    "xtc", 2, 'x', "xtc", SAMPI_MASKS_NONE | SAMPI_BY_CHANCE | SAMPI_VIEW_SORTED, SAMPI_FIELDS_OF(SAMPI_XTC_FIELDS), \
        sampi_xtc_is_off, &SAMPI_NO_HOOKS, sampi_xtc_apply, sampi_fast_xtc, SAMPI_BY_LLAMA_CPP(sampi_llama_xtc)

SAMPI_HOOKS(XTC_EXCEPT, NULL, NULL, sampi_list_build, sampi_list_settings, NULL, NULL, NULL, NULL, NULL,
            SAMPI_BYTES_ONLY);

#define SAMPI_XTC_EXCEPT_ROW \
    "xtc-except", 9, 0, "", SAMPI_MASKS_NONE | SAMPI_BY_CHANCE | SAMPI_VIEW_SORTED | SAMPI_IF_NAMED, \
        SAMPI_FIELDS_OF(SAMPI_XTC_EXCEPT_FIELDS), sampi_xtc_is_off, &SAMPI_XTC_EXCEPT_HOOKS, sampi_xtc_apply, \
        sampi_fast_xtc, SAMPI_BY_LLAMA_CPP(sampi_llama_xtc)

#else /* the plan */

/* The plan of xtc. The coin is the same in each call of the plan, because it is a function of the position. */
static int SAMPI_ON(plan_xtc)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    samp_token_data last;
    uint64_t random[2], reached;
    sampi_sums sums;
    SAMPI_ON(random)(row, s, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMPI_KNOWN;
    int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
    if (known != SAMPI_KNOWN) return known;
    known = SAMPI_ON(reach)(row, s, sampi_mass_of(sampi_share(s->u.xtc.t), sums.z), &reached, &last);
    if (known != SAMPI_KNOWN) return known;
    if (reached < 2 || sums.n - (reached - 1) < s->u.xtc.min_keep) return SAMPI_KNOWN;
    return SAMPI_ON(drop_before)(row, &last);
}

#endif
