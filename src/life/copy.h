/* ---- copies, and what a sampler can be asked ----
   samp_clone: a sampler comes in, an equal one comes out. A custom sampler is cloned by the user's function, a chain
   member by member, any other by its bytes. The copy is in no chain and has no workspace; all that decides a token is
   the same.

   The second half are small public functions that read or set one thing: samp_status, the random source, seed,
   position, the accepted tokens (samp_prev), the counts (samp_perf). */

/* Member by member; NULL, and nothing left behind, if memory runs out. Members are pushed and not added:
   samp_chain_add would set them to the new chain's random source, which means back to the seed. */
static samp_sampler *sampi_clone_chain(const sampi_sampler *s)
{
    sampi_sampler *c = (sampi_sampler *)samp_chain_init();
    bool good = c && samp_set_n_prev(&c->base, s->u.chain.ring.cap) == SAMP_OK;
    for (int32_t i = 0; good && i < s->u.chain.n; i++) {
        sampi_sampler *item = (sampi_sampler *)samp_clone(&s->u.chain.item[i]->base);
        good = item && sampi_chain_push(c, item) == SAMP_OK;
        if (good) item->made_by = s->u.chain.item[i]->made_by;
    }
    if (!good) {
        samp_free(c ? &c->base : NULL);
        return NULL;
    }
    memcpy(c->u.chain.prev, s->u.chain.prev, s->u.chain.ring.cap * sizeof(samp_token));
    c->u.chain.ring = s->u.chain.ring;
    c->rng = s->rng;
    c->status = s->status;
    c->field = s->field;
    c->position = s->position;
    c->perf = s->perf;
    c->past.depth = s->past.depth;
    return &c->base;
}

/* What the bytes of a sampler would carry along by mistake is cleared in the copy: workspace, records, owner, a draft
   under way. */
static SAMPI_COLD samp_sampler *sampi_clone_bytes(const sampi_sampler *s)
{
    size_t size = s->part[3] + sampi_round_up(s->part_size[3]);
    sampi_sampler *c = (sampi_sampler *)SAMP_MALLOC(size);
    if (!c) return NULL;
    memcpy(c, s, size); /* parts are offsets, so they are good in the copy too */
    c->base.ctx = c;
    memset(&c->work, 0, sizeof c->work); /* it would be freed twice, */
    memset(&c->past, 0, sizeof c->past); /* and so would these */
    c->past.depth = s->past.depth;
    c->draft = NULL;
    c->owner = NULL;
    c->made_by = SAMPI_BY_HAND;
    c->serial = sampi_next_serial();
    return &c->base;
}

SAMP_API SAMPI_COLD samp_sampler *samp_clone(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s) return NULL;
    const sampi_hooks *hooks = sampi_traits_of(s->kind)->hooks;
    samp_sampler *copy = hooks->clone ? hooks->clone(s) : sampi_clone_bytes(s);
    if (!copy || samp_status(copy, NULL) || sampi_past_copy((sampi_sampler *)copy, s)) return copy;
    samp_free(copy);
    return NULL;
}

/* Members' errors are found by looking, not copied: one that is removed takes its error along. */
SAMP_API SAMPI_COLD int samp_status(const samp_sampler *sampler, const char **field)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    int status = s ? s->status : SAMP_E_NULL;
    if (field) *field = s ? s->field : NULL;
    if (!status && (status = sampi_use_status()) && field) *field = "compiler";
    for (int32_t i = 0; !status && sampi_is_chain(s) && i < s->u.chain.n; i++)
        status = samp_status(&s->u.chain.item[i]->base, field);
    return status;
}

/* All members, chains in chains too. The parts have room for an mt19937 already, so nothing can fail half way. */
SAMP_API SAMPI_COLD int samp_set_rng(samp_sampler *sampler, samp_rng_kind kind)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s) return SAMP_E_NULL;
    int status = sampi_rng_status(kind);
    if (status) return status;
    sampi_edited(s);
    s->rng = kind;
    s->position = 0;
    sampi_seed(s);
    sampi_mend_mu(s);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_set_rng(&s->u.chain.item[i]->base, kind);
    return SAMP_OK;
}

/* From the last member on, since that is usually the one that selects. */
SAMP_API SAMPI_COLD uint64_t samp_get_seed(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s || !sampi_draws(s)) return 0;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; i-- > 0;)
        if (sampi_draws(s->u.chain.item[i])) return samp_get_seed(&s->u.chain.item[i]->base);
    return s->seed;
}

/* Of the record it is given: only the outermost sampler's moves. */
SAMP_API SAMPI_COLD uint64_t samp_get_position(const samp_sampler *s)
{
    return s ? ((const sampi_sampler *)s)->position : 0;
}

/* Of this sampler: a member's own is not used while it is in a chain. */
SAMP_API SAMPI_COLD int samp_set_position(samp_sampler *s, uint64_t position)
{
    if (!s) return SAMP_E_NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->position = position;
    return SAMP_OK;
}

/* From the chain's own ring, which samp_accept fills whether a member listens or not. */
SAMP_API SAMPI_COLD size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    if (!c || !sampi_is_chain(c) || !out) return 0;
    if (n > c->u.chain.ring.size) n = c->u.chain.ring.size;
    for (size_t i = 0; i < n; i++) out[i] = sampi_ring_at(&c->u.chain.ring, c->u.chain.prev, (uint32_t)(n - 1 - i));
    return n;
}

/* SAMP_E_EMPTY also if it is no chain: such a one keeps no tokens. */
SAMP_API SAMPI_COLD samp_token samp_last(const samp_sampler *chain)
{
    samp_token last;
    if (!chain) return SAMP_E_NULL;
    return samp_prev(chain, &last, 1) ? last : SAMP_E_EMPTY;
}

/* The new array is there before the old one goes, so want of memory changes nothing. Never NULL, even for n = 0: a
   chain that has been made can rely on prev. An edit, though no draw depends on prev: records do. */
SAMP_API SAMPI_COLD int samp_set_n_prev(samp_sampler *chain, size_t n)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    if (!c) return SAMP_E_NULL;
    if (!sampi_is_chain(c) || n > (size_t)1 << 20) return SAMP_E_RANGE;
    samp_token *prev = (samp_token *)SAMP_MALLOC((n ? n : 1) * sizeof *prev);
    if (!prev) return SAMP_E_NOMEM;
    memset(prev, 0, (n ? n : 1) * sizeof *prev);
    sampi_edited(c);
    SAMP_FREE(c->u.chain.prev);
    c->u.chain.prev = prev;
    c->u.chain.ring.cap = (uint32_t)n;
    c->u.chain.ring.size = c->u.chain.ring.head = 0;
    return SAMP_OK;
}

/* The counts are written where things happen (sampi_sample, samp_accept, the fast path), by the sampler that the
   user has called, in its own record; so a batch's threads never share them. */
SAMP_API SAMPI_COLD samp_perf_data samp_perf(const samp_sampler *s)
{
    samp_perf_data none = { 0, 0, 0, 0, 0 };
    return s ? ((const sampi_sampler *)s)->perf : none;
}

/* By samp_reset too, so of all members then. */
SAMP_API SAMPI_COLD void samp_perf_reset(samp_sampler *s)
{
    if (s) memset(&((sampi_sampler *)s)->perf, 0, sizeof(samp_perf_data));
}
