/* ---- the members of a chain ----
   samp_chain_init, _add, _insert, _get, _remove: the functions that make a chain and change its list of members. A
   chain owns its members. Each member points to its chain (`owner`): the pointer is set when a member joins the chain,
   and becomes NULL when it leaves. No sampler is in two chains or in itself, so every walk ends, down to the members
   and up to the owners (sampi_edited). */

/* An empty chain takes two allocations: the list of accepted tokens, prev, is one of its own, because samp_set_n_prev
   may replace it. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_init(void)
{
    sampi_sampler t = sampi_blank(SAMPI_CHAIN);
    samp_sampler *chain = sampi_new(&t);
    if (chain && samp_set_n_prev(chain, 64) != SAMP_OK) {
        samp_free(chain);
        return NULL;
    }
    return chain;
}

/* Appends s to the chain's list, and does not change s otherwise: the caller handles random source and errors. Frees s
   if there is no memory, because a chain owns what it is given. samp_chain_insert calls this function, and so does
   samp_clone, which must not change a member's state. */
static SAMPI_COLD int sampi_chain_push(sampi_sampler *c, sampi_sampler *s)
{
    if (c->u.chain.n == c->u.chain.cap) {
        int32_t cap = c->u.chain.cap ? 2 * c->u.chain.cap : 16;
        sampi_sampler **item = (sampi_sampler **)SAMP_MALLOC((size_t)cap * sizeof *item);
        if (!item) {
            samp_free(&s->base);
            return sampi_chain_error(c, SAMP_E_NOMEM, "sampler");
        }
        if (c->u.chain.n) memcpy(item, c->u.chain.item, (size_t)c->u.chain.n * sizeof *item);
        SAMP_FREE(c->u.chain.item);
        c->u.chain.item = item;
        c->u.chain.cap = cap;
    }
    c->u.chain.item[c->u.chain.n++] = s;
    s->owner = c;
    return SAMP_OK;
}

/* Returns the effect on a selection of the samplers that run before index i of the chain c; members of the chains
   around c are included. */
static SAMPI_COLD sampi_effect sampi_life_effect_before(const sampi_sampler *c, int32_t i)
{
    sampi_effect effect = SAMPI_NO_EFFECT;
    for (; c; c = c->owner) {
        while (!effect && i-- > 0) effect = sampi_effect_on_selection(c->u.chain.item[i], c->rng);
        if (effect || !c->owner) return effect;
        for (i = 0; c->owner->u.chain.item[i] != c;) i++;
    }
    return effect;
}

/* The caller gives the sampler to the chain, so it is freed if it cannot be inserted. There are two exceptions: a
   sampler that has an owner already, and one that contains this chain, stay as they are. The random source is set only
   if it differs, because samp_set_rng sets the position back to 0. */
SAMP_API SAMPI_COLD int samp_chain_insert(samp_sampler *chain, int32_t i, samp_sampler *sampler)
{
    sampi_sampler *c = (sampi_sampler *)chain, *s = (sampi_sampler *)sampler;
    for (const sampi_sampler *o = c; s && o; o = o->owner)
        if (o == s || s->owner) return SAMP_E_RANGE; /* the sampler would be in itself, or have two owners */
    if (!c || !sampi_is_chain(c)) {
        if (s && !s->owner) samp_free(sampler);
        return c ? SAMP_E_RANGE : SAMP_E_NULL;
    }
    sampi_edited(c);
    if (!s) return sampi_chain_error(c, SAMP_E_NULL, "sampler");
    bool outside = i < 0 || i > c->u.chain.n;
    if (outside ||
        (sampi_effect_on_selection(s, c->rng) == SAMPI_UNDOES && sampi_life_effect_before(c, i) == SAMPI_CHOOSES)) {
        samp_free(sampler);
        return sampi_chain_error(c, outside ? SAMP_E_RANGE : SAMP_E_UNSUPPORTED, outside ? "i" : "place");
    }
    sampi_edited(s);
    int status = sampi_chain_push(c, s);
    if (status) return status;
    sampi_sampler **item = c->u.chain.item + i;
    memmove(item + 1, item, (size_t)(c->u.chain.n - 1 - i) * sizeof *item);
    *item = s;
    if (sampi_rng_differs(s, c)) samp_set_rng(sampler, c->rng);
    return samp_status(sampler, NULL);
}

SAMP_API SAMPI_COLD int samp_chain_add(samp_sampler *chain, samp_sampler *s)
{
    return samp_chain_insert(chain, samp_chain_n(chain), s);
}

/* The chain still owns the returned member. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_get(const samp_sampler *chain, int32_t i)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    return c && sampi_is_chain(c) && i >= 0 && i < c->u.chain.n ? &c->u.chain.item[i]->base : NULL;
}

SAMP_API int32_t samp_chain_n(const samp_sampler *chain)
{
    const sampi_sampler *c = (const sampi_sampler *)chain;
    return c && sampi_is_chain(c) ? c->u.chain.n : 0;
}

/* The other members keep their order. The edit is counted in the member and in its chain, so it is counted before
   `owner` becomes NULL. */
SAMP_API SAMPI_COLD samp_sampler *samp_chain_remove(samp_sampler *chain, int32_t i)
{
    sampi_sampler *c = (sampi_sampler *)chain;
    samp_sampler *s = samp_chain_get(chain, i);
    if (!s) return NULL;
    sampi_edited((sampi_sampler *)s);
    ((sampi_sampler *)s)->owner = NULL;
    if (((sampi_sampler *)s)->made_by == SAMPI_AS_GRAMMAR) ((sampi_sampler *)s)->made_by = SAMPI_BY_HAND;
    c->u.chain.n--;
    memmove(&c->u.chain.item[i], &c->u.chain.item[i + 1], (size_t)(c->u.chain.n - i) * sizeof *c->u.chain.item);
    return s;
}
