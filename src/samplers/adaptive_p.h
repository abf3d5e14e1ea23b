/* ---- adaptive_p (MrJackSpade) ----
   The sampler adaptive_p steers the probability of the chosen tokens to a target. For each draw it computes aim = 2
   target - average so far (for target 0.5 and average 0.4 the aim is 0.6). A logit becomes 5 - 10 x^2 / (1 + x) with x
   = |p - aim| / 0.3, which is largest at p = aim; then a token is drawn by these logits. The apply function notes the
   selected token (pending). If that token is accepted, the accept hook adds its p to the decaying average, sum /
   total. */
#ifndef SAMPI_PLANS

/* Sets the average as if all earlier tokens had had the target's probability, so that the first aim is the target. */
static void sampi_adaptive_p_reset(sampi_sampler *s)
{
    s->u.adaptive.sum = s->u.adaptive.target / (1.0f - s->u.adaptive.decay);
    s->u.adaptive.total = 1.0f / (1.0f - s->u.adaptive.decay);
}

/* Returns the aim of this draw: the target, corrected by the average so far. */
static float sampi_adaptive_p_aim(const sampi_adaptive_numbers *of)
{
    float aim = of->target + of->target - of->sum / of->total;
    if (aim < 0.0f) return 0.0f;
    return aim > 1.0f ? 1.0f : aim;
}

/* Returns a decaying sum after one more value x. */
static float sampi_decay(float sum, float decay, float x)
{
    return sampi_add_to_product(sampi_roundf(decay * sum), x);
}

/* Replaces the logits of a tile's unmasked candidates by the adapted ones, computed from p = e [i] / sum; overwrites e
   [SAMPI_TILE + 16]. p becomes the old logit, which is needed again when the token is known. */
static void sampi_adapt(const sampi_sampler *s, samp_token_data_array *cur, size_t at, float *e, float sum)
{
    const size_t n = sampi_tile_of(cur, at);
    samp_token_data *d = cur->data + at;
    sampi_use()->adapt(e, n, sum, sampi_adaptive_p_aim(&s->u.adaptive));
    for (size_t i = 0; i < n; i++) {
        const float l = d[i].logit;
        if (!sampi_masked(l)) d[i].logit = e[i];
        d[i].p = l;
    }
}

/* Probabilities are computed twice: from the original logits, to adapt them, and from the adapted logits, for the draw
   and for the array's p. */
static SAMPI_COLD int sampi_adaptive_p_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->u.adaptive.target < 0.0f) return sampi_dist_apply(s, cur);
    sampi_sums sums = sampi_sum(cur);
    float p[SAMPI_TILE + 16] = { 0 }; /* the slack too, which kernels may read */
    sampi_set_p(cur, &sums);
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        for (size_t i = 0; i < sampi_tile_of(cur, at); i++) p[i] = cur->data[at + i].p;
        sampi_adapt(s, cur, at, p, 1.0f);
    }
    cur->sorted = false;
    sampi_draw(s, cur);
    const samp_token_data *chosen = &cur->data[cur->selected];
    s->now.pending = chosen->id;
    s->now.pending_p = (float)(sampi_exp(sums.max, chosen->p) / (double)sums.z); /* p still is the old logit here */
    if (s->at_end) return SAMP_OK;
    sums = sampi_sum(cur);
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

/* A token other than the selected one, such as after a rejected draft, does not change the average. */
static void sampi_adaptive_p_accept(sampi_sampler *s, samp_token token)
{
    if (token == s->now.pending) {
        float decay = s->u.adaptive.decay;
        s->u.adaptive.sum = sampi_decay(s->u.adaptive.sum, decay, s->now.pending_p);
        s->u.adaptive.total = sampi_decay(s->u.adaptive.total, decay, 1.0f);
    }
    s->now.pending = -1;
}

#ifndef SAMP_NO_MT19937
/* As in llama.cpp, the second softmax trusts `sorted`, although adapting the logits changes their order. So it uses the
   first token's logit as the maximum, which shows in the last bits of p. */
static SAMPI_COLD int sampi_llama_adaptive_p(sampi_sampler *s, samp_token_data_array *cur)
{
    float e[SAMPI_TILE + 32];
    sampi_llama_sums sums = sampi_llama_sum(cur);
    if (s->u.adaptive.target < 0.0f) {
        if (!s->at_end) sampi_llama_set_p(cur, &sums);
        cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
        return SAMP_OK;
    }
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        (void)sampi_llama_exps(cur, at, sums.max, e);
        sampi_adapt(s, cur, at, e, sums.sum);
    }
    sampi_llama_sums adapted = sampi_llama_sum(cur);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &adapted);
    const samp_token_data *chosen = &cur->data[cur->selected];
    s->now.pending = chosen->id;
    s->now.pending_p = sampi_llama_p(&sums, chosen->p); /* p still is the old logit here */
    if (!s->at_end) sampi_llama_set_p(cur, &adapted);
    cur->sorted = false;
    return SAMP_OK;
}
#endif

static void sampi_adaptive_p_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.adaptive.sum, 2); /* sum and total */
    sampi_record_words(r, &s->now.pending, 2);    /* pending and pending_p */
}

/* Takes over the average, and the selected token that is not accepted yet, from a sampler that this one replaces. */
static SAMPI_COLD void sampi_adaptive_p_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                  const sampi_sampler *chain)
{
    (void)chain;
    if (!old) return;
    s->now = old->now;
    s->u.adaptive.sum = old->u.adaptive.sum;
    s->u.adaptive.total = old->u.adaptive.total;
}

/* Saves or loads the average, whose total is at least 1, and the selected token that is not accepted yet. */
static SAMPI_COLD void sampi_adaptive_p_state(sampi_sampler *s, sampi_io *io)
{
    if (s->u.adaptive.target < 0.0f) return; /* with a target below 0 the sampler works as dist, which has no state */
    sampi_io_float(io, &s->u.adaptive.sum, 0.0f, FLT_MAX);
    sampi_io_float(io, &s->u.adaptive.total, 1.0f, FLT_MAX);
    sampi_io_token(io, &s->now.pending, -1);
    sampi_io_float(io, &s->now.pending_p, 0.0f, 1.0f);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_adaptive_p(float target, float decay, uint64_t seed)
{
    sampi_sampler t = sampi_blank(SAMPI_ADAPTIVE_P);
    t.u.adaptive.target = target;
    t.u.adaptive.decay = decay;
    t.seed = seed;
    return sampi_init(&t);
}

static const sampi_field SAMPI_ADAPTIVE_P_FIELDS[] = {
    SAMPI_FIELD(FLOAT, adaptive_target, adaptive.target, -1, -FLT_MAX, 1, 0, "target"),
    SAMPI_FIELD(FLOAT, adaptive_decay, adaptive.decay, 0.9, 0, 0.99f, 0, "decay"),
};

SAMPI_HOOKS(ADAPTIVE_P, NULL, NULL, NULL, NULL, sampi_adaptive_p_accept, sampi_adaptive_p_reset,
            sampi_adaptive_p_state, sampi_adaptive_p_take_over, sampi_adaptive_p_past, SAMPI_BYTES_ONLY);

#define SAMPI_ADAPTIVE_P_ROW \
    "adaptive-p", 5, 0, "", SAMPI_SELECTS | SAMPI_OWN_LOGITS | SAMPI_VIEW_DROPPED, \
        SAMPI_FIELDS_OF(SAMPI_ADAPTIVE_P_FIELDS), NULL, &SAMPI_ADAPTIVE_P_HOOKS, sampi_adaptive_p_apply, \
        sampi_fast_adaptive_p, SAMPI_BY_LLAMA_CPP(sampi_llama_adaptive_p)

#else /* the plan */

/* The plan of adaptive_p. Phase 0 adapts the logits; the original distribution's maximum and sum stay in memory->max
   and count. Phase 1 draws; the token's p follows from these two. */
static int SAMPI_ON(plan_adaptive_p)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_memory *memory = SAMPI_ON(memory)(row);
    samp_token_data token;
    int known;
    if (s->u.adaptive.target < 0.0f) return SAMPI_ON(plan_dist)(row, s);
    if (memory->phase == 0) {
        sampi_sums sums;
        known = SAMPI_ON(sums)(row, s, SAMPI_THEN_FIRST, &sums);
        if (known != SAMPI_KNOWN) return known;
        known = SAMPI_ON(adapt_all)(row, &sums, sampi_adaptive_p_aim(&s->u.adaptive));
        if (known != SAMPI_KNOWN) return known;
        memory->max = sums.max;
        memory->count = sums.z;
        memory->phase = 1;
    }
    known = SAMPI_ON(draw)(row, s, &token);
    if (known != SAMPI_KNOWN) return known;
    const float l = SAMPI_ON(before_adapt)(row, &token);
    return SAMPI_ON(choose)(row, s, &token, (float)(sampi_exp(memory->max, l) / (double)memory->count));
}

#endif
