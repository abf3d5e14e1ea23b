/* ---- patches ----
   How the logits of a few tokens are changed, each by a rule (penalties, dry, the lists of constraints), and how a new
   sampler takes over the window of penalties or dry from a sampler with other parameters. */

/* Changes the logits of the tokens in a list, by the function `change`. The apply functions of penalties, dry and some
   constraints call it. If each token is at data[id], as in an array that is not reordered, the logits are changed
   directly; otherwise each candidate is looked up in the list. The list is sorted, so its last id is the largest. Only
   logits and `sorted` are written; `change` must leave a masked logit masked. */
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

/* Returns whether a sampler's window is full, and the chain's list of accepted tokens has the same newest tokens and
   also tokens that are older than the window. `ring` and `token` are the window. */
static SAMPI_COLD bool sampi_knows_more(const sampi_sampler *chain, const sampi_ring *ring, const samp_token *token)
{
    const sampi_ring *prev = &chain->u.chain.ring;
    bool more = ring->size == ring->cap && prev->size > ring->size;
    for (uint32_t back = 0; more && back < ring->size; back++)
        more = sampi_ring_at(ring, token, back) == sampi_ring_at(prev, chain->u.chain.prev, back);
    return more;
}

/* Fills the window of a new sampler with the old sampler's tokens, oldest first. If there is no old sampler (ring
   NULL), or the chain has more tokens, it uses the chain's accepted tokens. The tokens are added by `accept`, because
   the new window may have another length; so the counts that follow from the window are right at once. */
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
