/* ---- memory for a draw ----
   samp_reserve: allocates a sampler's workspace (rows/work.h) for rows of a given size. Slices and searches lay out
   their memory in the same way. */

/* A block of memory that several arrays share. Its layout is written once and gone through twice: the first pass counts
   bytes, the second gives each array its place. */
typedef struct sampi_arrays {
    void *memory;  /* the address to free; NULL after the passes: there is not enough memory */
    uint64_t size; /* where the next array begins */
    int pass;
} sampi_arrays;

/* Begins the next pass over the layout of a block, which is { NULL, 0, 0 } before. Returns false if there is none;
   the memory is allocated before the second one. */
static bool sampi_row_next_pass(sampi_arrays *arrays)
{
    if (arrays->pass == 1 && arrays->size < SIZE_MAX / 2) arrays->memory = SAMP_MALLOC((size_t)arrays->size + 64);
    arrays->size = arrays->memory ? (64 - (uintptr_t)arrays->memory % 64) % 64 : 0;
    return arrays->pass++ == 0 || (arrays->pass == 2 && arrays->memory);
}

/* Returns memory for an array behind those before it, which begins at a cache line of 64 bytes; NULL in the first
   pass. */
static void *sampi_row_lay(sampi_arrays *arrays, uint64_t bytes)
{
    const uint64_t at = arrays->size;
    arrays->size += (bytes + 63) & ~(uint64_t)63;
    return arrays->memory ? (char *)arrays->memory + at : NULL;
}

/* Does the array of candidates have memory of its own, separate from w? Only then can it be worked on as a view. */
static bool sampi_row_has_array(const sampi_work *work)
{
    return (const void *)work->candidate != (const void *)work->w;
}

/* Allocates a workspace for rows of n tokens, or keeps the present one if it is large enough. with_array: the array of
   candidates gets memory of its own; otherwise it shares that of w. Kernels write up to 16 elements beyond a result, so
   each array is longer than its tokens need. The other sizes:
     w           12 bytes a token, for the arrays that are laid over it (sampi_scored), and for candidates
     line        a maximum for each line; for folding it is filled up to less than twice as many
     scratch     folded maxima, which are fewer than lines; or the maxima of a compact row's lines, at most as many */
static SAMPI_COLD int sampi_row_reserve(sampi_work *work, size_t n, bool with_array)
{
    sampi_arrays arrays = { NULL, 0, 0 };
    sampi_work laid = *work;
    if (n <= work->n && with_array <= sampi_row_has_array(work)) return SAMP_OK;
    if (n < work->n) n = work->n;
    const size_t lines = (2 * sampi_row_n_lines(n) + 64) * sizeof(float);
    while (sampi_row_next_pass(&arrays)) {
        laid.candidate = (samp_token_data *)sampi_row_lay(&arrays, with_array ? n * sizeof *laid.candidate : 0);
        laid.w = (uint64_t *)sampi_row_lay(&arrays, (n + 128) * sizeof(samp_token_data));
        laid.x = (float *)sampi_row_lay(&arrays, (n + 32) * sizeof *laid.x);
        laid.id = (int32_t *)sampi_row_lay(&arrays, (n + 32) * sizeof *laid.id);
        laid.own = (float *)sampi_row_lay(&arrays, (n + SAMPI_TILE) * sizeof *laid.own); /* behind x and id */
        laid.line = (float *)sampi_row_lay(&arrays, lines);
        laid.scratch = (float *)sampi_row_lay(&arrays, lines);
        laid.sum = (uint64_t *)sampi_row_lay(&arrays, sampi_row_n_tiles(n) * sizeof *laid.sum);
        laid.change = (sampi_change *)sampi_row_lay(&arrays, SAMPI_CHANGES * sizeof *laid.change);
        laid.bits = (uint32_t *)sampi_row_lay(&arrays, (n + 31) / 32 * sizeof *laid.bits);
    }
    if (!arrays.memory) return SAMP_E_NOMEM;
    SAMP_FREE(work->block);
    laid.block = arrays.memory;
    laid.n = n;
    *work = laid;
    return SAMP_OK;
}

/* Does s have a custom sampler among its members, or is s one? Then a draw needs an array. */
static SAMPI_COLD bool sampi_row_has_custom(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_row_has_custom(s->u.chain.item[i])) return true;
    return sampi_is_custom(s);
}

/* Memory for rollback's records is allocated here too, so that the next draw allocates nothing. */
SAMP_API SAMPI_COLD int samp_reserve(samp_sampler *s, size_t n_vocab)
{
    if (!s) return SAMP_E_NULL;
    if (n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (!((sampi_sampler *)s)->status && !sampi_past_ready((sampi_sampler *)s)) return SAMP_E_NOMEM;
    return sampi_row_reserve(&((sampi_sampler *)s)->work, n_vocab, sampi_row_has_custom((const sampi_sampler *)s));
}
