/* ---- other parameters for a chain that is at work ----
   samp_chain_update builds a whole new chain, lets its members learn from the old ones, and swaps the members. So all
   that can fail comes before the first change of the old chain, and a new setting needs no code of its own. The
   take_over hooks write s only, a new sampler that nobody else has seen yet. */

/* The next sampler of a kind in a chain, from *at on, which moves behind it; or NULL. The order may have changed, so
   the old one and the new are paired by kind and ordinal. Members of chains in the chain are not looked at:
   parameters make none. */
static SAMPI_COLD sampi_sampler *sampi_next_of_kind(const sampi_sampler *c, sampi_kind kind, int32_t *at)
{
    while (*at < c->u.chain.n) {
        SAMPI_COUNT_STEPS(1);
        sampi_sampler *s = c->u.chain.item[(*at)++];
        if (s->kind == kind) return s;
    }
    return NULL;
}

/* A window goes on: the old one's, the oldest token first; without an old sampler (its ring NULL) what the chain has
   accepted. Through accept, since the new window may have another length, and what is derived from it (counts) is right
   at once. */
static SAMPI_COLD void sampi_take_over_window(sampi_sampler *s, const sampi_sampler *old, const sampi_ring *ring,
                                              const sampi_sampler *chain)
{
    const samp_token *token = ring ? (const samp_token *)sampi_part(old, 0) : chain->u.chain.prev;
    if (!ring) ring = &chain->u.chain.ring;
    for (uint32_t back = ring->size; back-- > 0;)
        sampi_traits_of(s->kind)->hooks->accept(s, sampi_ring_at(ring, token, back));
}

static void sampi_penalties_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.penalties.ring : NULL, chain);
}

/* The new breakers apply to the old tokens too. */
static void sampi_dry_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.dry.ring : NULL, chain);
}

/* llama.cpp's mu may overflow, ours is always a number: one that is none begins anew. */
static void sampi_mend_mu(sampi_sampler *s)
{
    bool finite = s->now.mu >= -FLT_MAX && s->now.mu <= FLT_MAX;
    if (s->rng == SAMP_RNG_PHILOX && !finite) sampi_traits_of(s->kind)->hooks->reset(s);
}

/* mu goes on from where it is, and a new tau pulls it along. Tokens alone could not tell it, so without an old
   sampler of the same version it starts anew. */
static SAMPI_COLD void sampi_mirostat_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                const sampi_sampler *chain)
{
    (void)chain;
    if (old) s->now = old->now;
    sampi_mend_mu(s);
}

/* The average, and the selection that is not accepted yet. */
static SAMPI_COLD void sampi_adaptive_p_take_over(sampi_sampler *s, const sampi_sampler *old,
                                                  const sampi_sampler *chain)
{
    (void)chain;
    if (!old || old->u.adaptive.target < 0.0f) return; /* plain dist has no average */
    s->now = old->now;
    s->u.adaptive.sum = old->u.adaptive.sum;
    s->u.adaptive.total = old->u.adaptive.total;
}

/* s goes on where `old`, the same sampler with other values, has got to; that may be NULL. What is off has not been at
   work, but it keeps its mt19937 for when it is on again. Calls the kind's hook, and hands on the mt19937 if seed and
   source are the same; samp_chain_update calls it for each new member. `old` is left as it is. */
static SAMPI_COLD void sampi_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    if (hooks->take_over && !s->off) hooks->take_over(s, old && old->off ? NULL : old, chain);
    if (!old || !sampi_has_mt(s) || s->rng != old->rng || s->seed != old->seed) return;
    *sampi_mt_of(s) = *sampi_mt_of(old);
    s->now.drawn = old->now.drawn;
}

/* After an error nothing has changed, for only `fresh` was written until the members are swapped. Position, prev,
   counts and workspace are the chain's own and stay. The old members are freed with `fresh`. */
SAMP_API SAMPI_COLD int samp_chain_update(samp_sampler *chain, const samp_params *params)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    int status = chain && params ? samp_status(chain, NULL) : SAMP_E_NULL;
    if (!status && !sampi_is_chain(c)) status = SAMP_E_RANGE;
    if (status) return status;
    int32_t at[SAMPI_N_KINDS] = { 0 }, any = 0;
    const sampi_sampler *dry = sampi_next_of_kind(c, SAMPI_DRY, &any);
    sampi_sampler *fresh = (sampi_sampler *)sampi_build_chain(params, dry, &status);
    if (!status && c->owner) samp_set_rng(&fresh->base, c->owner->rng); /* as if it were added now */
    for (int32_t i = 0; !status && i < fresh->u.chain.n; i++) {
        sampi_sampler *s = fresh->u.chain.item[i];
        sampi_take_over(s, sampi_next_of_kind(c, s->kind, &at[s->kind]), c);
    }
    if (!status) {
        sampi_chain old = c->u.chain; /* the two chains swap their members; prev stays */
        c->u.chain.item = fresh->u.chain.item;
        c->u.chain.n = fresh->u.chain.n;
        c->u.chain.cap = fresh->u.chain.cap;
        c->rng = fresh->rng;
        fresh->u.chain.item = old.item;
        fresh->u.chain.n = old.n;
        for (int32_t i = 0; i < c->u.chain.n; i++) c->u.chain.item[i]->owner = c;
        sampi_edited(c);
    }
    samp_free(fresh ? &fresh->base : NULL);
    return status;
}

/* Rows are independent: one that fails does not stop the others, and is left as it was. No chain with an error is
   put into a row. */
SAMP_API SAMPI_COLD int samp_batch_from_params(samp_sampler **rows, const samp_params *params, size_t n_rows,
                                               int *status)
{
    int first = n_rows && (!rows || !params) ? SAMP_E_NULL : SAMP_OK;
    for (size_t r = 0; r < n_rows && rows && params; r++) {
        int bad = SAMP_OK;
        if (rows[r]) {
            bad = samp_chain_update(rows[r], &params[r]);
        } else {
            samp_sampler *chain = samp_chain_from_params(&params[r], &bad);
            if (bad) samp_free(chain);
            if (!bad) rows[r] = chain;
        }
        if (status) status[r] = bad;
        if (!first) first = bad;
    }
    return first;
}
