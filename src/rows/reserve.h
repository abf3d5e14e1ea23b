/* ---- memory for a draw ----
   samp_reserve: allocates a sampler's workspace (rows/work.h) for rows of a given size. */

/* Adds `bytes`, rounded up to cache lines of 64, to the size of a block; returns the offset at which they begin. */
static size_t sampi_add_to_block(size_t *size, size_t bytes)
{
    size_t at = *size;
    *size += (bytes + 63) & ~(size_t)63;
    return at;
}

/* Does the array of candidates have memory of its own, separate from w? Only then can it be worked on as a view. */
static bool sampi_has_array(const sampi_work *work) { return (const void *)work->candidate != (const void *)work->w; }

/* Allocates a workspace for rows of n tokens, or keeps the present one if it is large enough. with_array: the array of
   candidates gets memory of its own; otherwise it shares that of w. Kernels write up to 16 elements beyond a result, so
   each array is longer than its tokens need. The other sizes:
     w           12 bytes a token, for the arrays that are laid over it (sampi_scored), and for candidates
     line        a maximum for each line; for folding it is filled up to less than twice as many
     scratch     folded maxima, which are fewer than lines; or the maxima of a compact row's lines, at most as many */
static SAMPI_COLD int sampi_reserve(sampi_work *work, size_t n, bool with_array)
{
    size_t size = 0;
    if (n <= work->n && with_array <= sampi_has_array(work)) return SAMP_OK;
    if (n < work->n) n = work->n;
    size_t candidate = sampi_add_to_block(&size, with_array ? n * sizeof(samp_token_data) : 0);
    size_t w = sampi_add_to_block(&size, (n + 128) * sizeof(samp_token_data));
    size_t x = sampi_add_to_block(&size, (n + 32) * sizeof(float));
    size_t id = sampi_add_to_block(&size, (n + 32) * sizeof(int32_t));
    size_t own = sampi_add_to_block(&size, (n + SAMPI_TILE) * sizeof(float)); /* behind x and id */
    size_t line = sampi_add_to_block(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t scratch = sampi_add_to_block(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t sum = sampi_add_to_block(&size, sampi_n_tiles(n) * sizeof(uint64_t));
    size_t change = sampi_add_to_block(&size, SAMPI_CHANGES * sizeof(sampi_change));
    size_t bits = sampi_add_to_block(&size, (n + 31) / 32 * sizeof(uint32_t));
    char *block = (char *)SAMP_MALLOC(size + 64);
    if (!block) return SAMP_E_NOMEM;
    char *base = block + (64 - (uintptr_t)block % 64) % 64;
    SAMP_FREE(work->block);
    work->block = block;
    work->n = n;
    work->candidate = (samp_token_data *)(void *)(base + candidate);
    work->w = (uint64_t *)(void *)(base + w);
    work->x = (float *)(void *)(base + x);
    work->id = (int32_t *)(void *)(base + id);
    work->line = (float *)(void *)(base + line);
    work->scratch = (float *)(void *)(base + scratch);
    work->sum = (uint64_t *)(void *)(base + sum);
    work->change = (sampi_change *)(void *)(base + change);
    work->bits = (uint32_t *)(void *)(base + bits);
    work->own = (float *)(void *)(base + own);
    return SAMP_OK;
}

/* Does s have a custom sampler among its members, or is s one? Then a draw needs an array. */
static SAMPI_COLD bool sampi_has_custom(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_has_custom(s->u.chain.item[i])) return true;
    return sampi_is_custom(s);
}

/* Memory for rollback's records is allocated here too, so that the next draw allocates nothing. */
SAMP_API SAMPI_COLD int samp_reserve(samp_sampler *s, size_t n_vocab)
{
    if (!s) return SAMP_E_NULL;
    if (n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (!((sampi_sampler *)s)->status && !sampi_past_ready((sampi_sampler *)s)) return SAMP_E_NOMEM;
    return sampi_reserve(&((sampi_sampler *)s)->work, n_vocab, sampi_has_custom((const sampi_sampler *)s));
}
