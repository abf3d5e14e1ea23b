/* ---- patches ----
   Rules that change the logits of a few tokens: penalties, dry and the lists of constraints. And how the window of the
   first two goes on in a sampler with other numbers. */

/* The apply of all three: change the logits of the tokens in a list, at once if they all stand at data[id], as in an
   array that nobody has reordered, else by looking up each candidate. The list is sorted, so the last id bounds the
   others. Writes logits and `sorted`, nothing else; `change` must leave a masked logit masked. */
static void sampi_patch(sampi_sampler *s, samp_token_data_array *cur, const sampi_count *list, uint32_t n,
                        float (*change)(const sampi_sampler *, float logit, const sampi_count *))
{
    samp_token_data *d = cur->data;
    bool dense = n == 0 || ((size_t)list[n - 1].token < cur->size && d[list[n - 1].token].id == list[n - 1].token);
    for (uint32_t i = 0; i < n && dense; i++) dense = d[list[i].token].id == list[i].token;
    for (uint32_t i = 0; i < n && dense; i++) {
        samp_token token = list[i].token;
        d[token].logit = change(s, d[token].logit, &list[i]);
    }
    for (size_t k = 0; k < cur->size && !dense; k++) {
        uint32_t i = sampi_count_find(list, n, d[k].id);
        if (i < n && list[i].token == d[k].id) d[k].logit = change(s, d[k].logit, &list[i]);
    }
    cur->sorted = false;
}

/* Does the chain know tokens that have fallen out of a window, and the same of those that are in it? */
static SAMPI_COLD bool sampi_knows_more(const sampi_sampler *chain, const sampi_ring *ring, const samp_token *token)
{
    const sampi_ring *prev = &chain->u.chain.ring;
    bool more = ring->size == ring->cap && prev->size > ring->size;
    for (uint32_t back = 0; more && back < ring->size; back++)
        more = sampi_ring_at(ring, token, back) == sampi_ring_at(prev, chain->u.chain.prev, back);
    return more;
}

/* A window goes on: the old one's, the oldest token first; without an old sampler (its ring NULL), and where that has
   forgotten more, what the chain has accepted. Through accept, since the new window may have another length, and what
   is derived from it (counts) is right at once. */
static SAMPI_COLD void sampi_take_over_window(sampi_sampler *s, const sampi_sampler *old, const sampi_ring *ring,
                                              const sampi_sampler *chain)
{
    const samp_token *token = ring ? (const samp_token *)sampi_part(old, 0) : NULL;
    if (!ring || sampi_knows_more(chain, ring, token)) {
        token = chain->u.chain.prev;
        ring = &chain->u.chain.ring;
    }
    for (uint32_t back = ring->size; back-- > 0;)
        sampi_traits_of(s->kind)->hooks->accept(s, sampi_ring_at(ring, token, back));
}
