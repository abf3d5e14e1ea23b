/* ---- copies, and small questions to a sampler ----
   samp_clone makes an equal sampler. A custom sampler is cloned by its own function, a chain member by member, and any
   other sampler by a copy of its bytes. The copy is in no chain and has no workspace; everything that decides a token
   is equal.

   The second half of the room has small public functions that read or set one value: the status, the random source, the
   seed, the position, the accepted tokens (samp_prev), the counts (samp_perf). */

/* Clones a chain member by member. Returns NULL if memory runs out; all that was made is then freed. Members are
   appended by sampi_chain_push, because samp_chain_add would set the random source, which starts it again from the
   seed. */
static samp_sampler *sampi_life_clone_chain(const sampi_sampler *s)
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

/* Clones a sampler by a copy of its bytes. The workspace, rollback's records, the owner and a running draft belong to
   the original alone, so they are cleared in the copy. */
static SAMPI_COLD samp_sampler *sampi_life_clone_bytes(const sampi_sampler *s)
{
    size_t size = s->part[3] + sampi_round_up(s->part_size[3]);
    sampi_sampler *c = (sampi_sampler *)SAMP_MALLOC(size);
    if (!c) return NULL;
    memcpy(c, s, size); /* the record finds its parts by offsets, which are the same in the copy */
    c->base.ctx = c;
    memset(&c->work, 0, sizeof c->work); /* so that its memory is not freed twice */
    memset(&c->past, 0, sizeof c->past); /* so that its memory is not freed twice */
    c->past.depth = s->past.depth;
    c->draft = NULL;
    c->beside = NULL;
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
    samp_sampler *copy = hooks->clone ? hooks->clone(s) : sampi_life_clone_bytes(s);
    if (!copy || samp_status(copy, NULL) || sampi_past_copy((sampi_sampler *)copy, s)) return copy;
    samp_free(copy);
    return NULL;
}

/* A chain's status is its own, or that of its first member with an error. It is searched at each call, so a member that
   is removed takes its error along. */
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

/* Sets the random source of the sampler and of all its members. Samplers that draw always have memory for an mt19937,
   so the function cannot fail half way. */
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
    sampi_restart_bad_mu(s);
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) samp_set_rng(&s->u.chain.item[i]->base, kind);
    return SAMP_OK;
}

/* Returns the seed of a chain's last member that draws; usually this member selects. */
SAMP_API SAMPI_COLD uint64_t samp_get_seed(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    if (!s || !sampi_life_draws(s)) return 0;
    for (int32_t i = sampi_is_chain(s) ? s->u.chain.n : 0; i-- > 0;)
        if (sampi_life_draws(s->u.chain.item[i])) return samp_get_seed(&s->u.chain.item[i]->base);
    return s->seed;
}

/* Returns the position of this sampler. Only the outermost sampler's position advances. */
SAMP_API SAMPI_COLD uint64_t samp_get_position(const samp_sampler *s)
{
    return s ? ((const sampi_sampler *)s)->position : 0;
}

/* Sets the position of this sampler; a member's own position is not used while it is in a chain. */
SAMP_API SAMPI_COLD int samp_set_position(samp_sampler *s, uint64_t position)
{
    if (!s) return SAMP_E_NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->position = position;
    return SAMP_OK;
}

/* Reads the ring of tokens that belongs to the chain itself; samp_accept fills it, whatever members the chain has. */
SAMP_API SAMPI_COLD size_t samp_prev(const samp_sampler *chain, samp_token *out, size_t n)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    if (!c || !sampi_is_chain(c) || !out) return 0;
    if (n > c->u.chain.ring.size) n = c->u.chain.ring.size;
    for (size_t i = 0; i < n; i++) out[i] = sampi_ring_at(&c->u.chain.ring, c->u.chain.prev, (uint32_t)(n - 1 - i));
    return n;
}

/* Returns SAMP_E_EMPTY also for a sampler that is not a chain, because only chains keep accepted tokens. */
SAMP_API SAMPI_COLD samp_token samp_last(const samp_sampler *chain)
{
    samp_token last;
    if (!chain) return SAMP_E_NULL;
    return samp_prev(chain, &last, 1) ? last : SAMP_E_EMPTY;
}

/* Allocates the new list of tokens (prev) before it frees the old one, so a failed allocation changes nothing. prev is
   never NULL, even if n is 0. The call counts as an edit: no draw depends on prev, but rollback's records do. */
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

/* The counts are in the record of the sampler that the user has called, so threads of a batch never share them. The
   functions that do what is counted write them: sampi_sample, samp_accept, the fast path. */
SAMP_API SAMPI_COLD samp_perf_data samp_perf(const samp_sampler *s)
{
    samp_perf_data none = { 0, 0, 0, 0, 0 };
    return s ? ((const sampi_sampler *)s)->perf : none;
}

SAMP_API SAMPI_COLD int samp_set_perf_hook(samp_sampler *s, samp_perf_hook hook, void *user)
{
    if (!s) return SAMP_E_NULL;
    ((sampi_sampler *)s)->perf_hook = hook;
    ((sampi_sampler *)s)->perf_user = user;
    return SAMP_OK;
}

/* samp_reset calls this function too, for all members. */
SAMP_API SAMPI_COLD void samp_perf_reset(samp_sampler *s)
{
    if (s) memset(&((sampi_sampler *)s)->perf, 0, sizeof(samp_perf_data));
}
