/* ---- constraints: what a user asks ----
   samp_rewind_length: how many tokens to take back, the largest number that a member of the chain asks for.
   samp_thinking_left: how many tokens are left to think, for the first member with a budget. Both only read. */

static int32_t sampi_rewind_of(const sampi_sampler *s)
{
    int32_t most = s->kind == SAMPI_CONSTRAINT && s->u.limit.ban_room ? (int32_t)s->u.limit.mode : 0;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++) {
        int32_t n = sampi_rewind_of(s->u.chain.item[i]);
        if (most < n) most = n;
    }
    return most;
}

SAMP_API int32_t samp_rewind_length(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    return status ? status : sampi_rewind_of((const sampi_sampler *)s);
}

static const sampi_limit *sampi_thinking_of(const sampi_sampler *s)
{
    const sampi_limit *found = NULL;
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n && !found; i++)
        found = sampi_thinking_of(s->u.chain.item[i]);
    return s->kind == SAMPI_CONSTRAINT && s->u.limit.what == SAMPI_LIMIT_THINKING ? &s->u.limit : found;
}

SAMP_API int32_t samp_thinking_left(const samp_sampler *s)
{
    int status = samp_status(s, NULL);
    const sampi_limit *r = status ? NULL : sampi_thinking_of((const sampi_sampler *)s);
    if (!r) return status ? status : SAMP_E_UNSUPPORTED;
    if (r->mode == 0) return -1;
    return r->mode % 2 && r->count_in < (uint32_t)r->budget ? r->budget - (int32_t)r->count_in : 0;
}
