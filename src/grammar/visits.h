/* ---- grammars: a call uses a cache ----
   A cache keeps the data that was computed for a grammar. A call borrows a workspace and notes in it which cache it
   reads, so that no other call frees this cache (cache.h). This room also replaces an old cache by a new one, and frees
   old caches. */

/* Frees the replaced caches of states that no call reads. */
static void sampi_grammar_sweep_caches(sampi_shared *h)
{
    sampi_cache *cache = (sampi_cache *)SAMPI_PTR_GET(&h->gone), *behind;
    while (cache && !SAMPI_PTR_CAS(&h->gone, cache, NULL)) cache = (sampi_cache *)SAMPI_PTR_GET(&h->gone);
    for (; cache; cache = behind) {
        bool read = false;
        behind = cache->behind;
        sampi_workspace *space = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
        for (; space && !read; space = space->behind) read = SAMPI_PTR_GET(&space->reads) == cache;
        if (!read) {
            sampi_cache_free(h, cache);
            continue;
        }
        do cache->behind = (sampi_cache *)SAMPI_PTR_GET(&h->gone);
        while (!SAMPI_PTR_CAS(&h->gone, cache->behind, cache));
    }
}

/* Replaces the cache `old` by `made`, which may be NULL. Returns false if another thread has replaced it already. */
static bool sampi_grammar_replace_cache(sampi_shared *h, sampi_cache *old, sampi_cache *made)
{
    if (!SAMPI_PTR_CAS(&h->now, old, made)) return false;
    if (!old) return true;
    (void)SAMPI_SIZE_ADD(&h->renewals, 1);
    /* from now on the replaced cache does not count in the limit: a call that still reads it must not take room from
       others */
    old->bytes_gone = SAMPI_SIZE_GET(&old->bytes);
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, (size_t)0 - old->bytes_gone);
    (void)SAMPI_SIZE_ADD(&h->bytes_gone, old->bytes_gone);
    do old->behind = (sampi_cache *)SAMPI_PTR_GET(&h->gone);
    while (!SAMPI_PTR_CAS(&h->gone, old->behind, old));
    return true;
}

/* Empties the memo (the cache of derivatives) if its nodes are of another cache than the call's. */
static void sampi_grammar_memo_fits(sampi_matcher *m)
{
    if (m->space->memo_of == m->cache->serial) return;
    if (m->d.memo) memset(m->d.memo, 0xff, (size_t)m->d.n_memo * sizeof *m->d.memo);
    m->space->memo_of = m->cache->serial;
}

/* Prepares the call for its cache: sets the tree, checks the memo, and counts the call. */
static void sampi_grammar_open_cache(sampi_matcher *m)
{
    sampi_grammar_memo_fits(m);
    if (!m->warming) (void)SAMPI_INT_ADD(&m->cache->n_calls, 1);
    m->now = sampi_cache_time(m->cache);
    if (m->tree_of == m->cache->serial) return;
    m->d.tree = m->cache->tree;
    m->d.tree.nodes.account = m->d.tree.pool.account = &m->d.account;
    m->tree_of = m->cache->serial;
}

/* Lets this call read the current cache of states. If there is no current cache, one is made, with the
   sizes `plan` and the data of the cache `kept` if these are not NULL. Returns false if an error was recorded. */
static bool sampi_grammar_use_cache(sampi_matcher *m, const sampi_cache_plan *plan, sampi_cache *kept)
{
    sampi_shared *h = m->shared;
    for (;;) {
        sampi_cache *cache = (sampi_cache *)SAMPI_PTR_GET(&h->now);
        SAMPI_PTR_PUT(&m->space->reads, cache);
        m->cache = cache;
        if (cache && SAMPI_PTR_GET(&h->now) != cache) continue;
        if (cache) break;
        const sampi_cache_plan first = plan ? *plan
                                            : sampi_cache_planned(h, NULL, m->d.account.allowance, SAMPI_CACHE_USUAL);
        sampi_cache *made = sampi_cache_make(h, &first, &m->d.account);
        if (!made) {
            sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
            return false;
        }
        if (kept) {
            sampi_move_into(h, made, &first, kept, 1);
            sampi_move_through(h, made, kept);
        }
        kept = NULL; /* its table of new numbers is now that of `made`, even if another thread was first to publish */
        if (!sampi_grammar_replace_cache(h, NULL, made)) sampi_cache_free(h, made);
    }
    sampi_grammar_open_cache(m);
    return true;
}

/* Replaces the old cache where the memory limit has no room for both: copies the elements to keep into a small cache,
   frees the old cache, and then makes the new one. The small cache must fit beside the old one, and beside the new one
   with a copy of what it contains and the tables for this. Meanwhile the limit may be exceeded by a thirty-second. */
static bool sampi_grammar_swap_cache(sampi_matcher *m, sampi_cache *old, const sampi_cache_plan *plan, int32_t share)
{
    sampi_shared *h = m->shared;
    size_t size[SAMPI_CACHE_PARTS];
    const size_t limit = SAMPI_SIZE_GET(&h->account.most), others = SAMPI_SIZE_GET(&h->account.bytes),
                 most = limit + limit / 32 + m->d.account.allowance,
                 now = others + SAMPI_SIZE_GET(&h->account.cache_bytes),
                 later = others + sampi_cache_sizes(h->grammar, plan, size), left = most > now ? most - now : 0,
                 left_later = most > later ? (most - later) / 9 * 4 : 0;
    sampi_cache *kept = share ? sampi_move_between(h, old, plan, share, left < left_later ? left : left_later) : NULL;
    (void)sampi_grammar_replace_cache(h, old, NULL);
    SAMPI_PTR_PUT(&m->space->reads, (sampi_cache *)NULL);
    m->cache = NULL;
    sampi_grammar_sweep_caches(h);
    const bool looks = sampi_grammar_use_cache(m, plan, kept);
    if (kept) sampi_cache_free(h, kept);
    return looks;
}

/* Replaces the call's cache, which is full, if it is still the current one. The new cache takes over the elements of
   the old one that were used last, up to 1 / share of its room; none if share is 0. Returns false if an error was
   recorded. */
static bool sampi_grammar_renew_cache(sampi_matcher *m, int32_t share, sampi_cache_size wanted)
{
    sampi_shared *h = m->shared;
    sampi_cache *old = m->cache;
    if (!old || SAMPI_PTR_GET(&h->now) != old) return sampi_grammar_use_cache(m, NULL, NULL);
    const sampi_cache_plan plan = sampi_cache_planned(h, old, m->d.account.allowance, wanted);
    size_t size[SAMPI_CACHE_PARTS];
    /* the old cache is kept, as it may serve other calls */
    if (sampi_cache_sizes(h->grammar, &plan, size) > plan.most) {
        sampi_cache_is_full(m);
        return false;
    }
    if (plan.alone) return sampi_grammar_swap_cache(m, old, &plan, share);
    sampi_cache *made = sampi_cache_make(h, &plan, &m->d.account);
    if (!made) {
        sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
        return false;
    }
    if (share) sampi_move_into(h, made, &plan, old, share);
    if (!sampi_grammar_replace_cache(h, old, made)) sampi_cache_free(h, made);
    SAMPI_PTR_PUT(&m->space->reads, (sampi_cache *)NULL);
    m->cache = NULL;
    sampi_grammar_sweep_caches(h);
    return sampi_grammar_use_cache(m, NULL, NULL);
}

/* Makes a cache for this call alone, because other calls have filled the new one before this call could end. It is
   freed at the end of the call. Returns false if an error was recorded. */
static bool sampi_grammar_use_private_cache(sampi_matcher *m)
{
    const sampi_cache_plan plan = sampi_cache_planned(m->shared, m->cache, m->d.account.allowance, SAMPI_CACHE_WIDE);
    if (m->own) {
        sampi_cache_free(m->shared, m->own);
        m->own = m->cache = NULL;
    }
    sampi_cache *made = sampi_cache_make(m->shared, &plan, &m->d.account);
    if (!made) {
        sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
        return false;
    }
    SAMPI_PTR_PUT(&m->space->reads, (sampi_cache *)NULL);
    m->cache = m->own = made;
    sampi_grammar_open_cache(m);
    return true;
}

/* ---- workspaces ---- */

static void sampi_grammar_workspace_free(sampi_shared *h, sampi_workspace *space)
{
    sampi_account *account = &h->account;
    const size_t deepest = h->deepest + 1, n_rules = (size_t)h->grammar->tree.rules.n + 1;
    sampi_vec *vecs[] = { &space->work,       &space->calls,        &space->tokens,      &space->exits,
                          &space->seen.slots, &space->joined.slots, &space->queued.slots };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        vecs[i]->account = account;
        sampi_grammar_vec_free(vecs[i]);
    }
    sampi_grammar_account_free(account, space->memo, (size_t)space->n_memo * sizeof *space->memo);
    sampi_grammar_account_free(account, space->rule_frame, n_rules * sizeof *space->rule_frame);
    sampi_grammar_account_free(account, space->level, deepest * sizeof *space->level);
    sampi_grammar_account_free(account, space->plain, deepest * sizeof *space->plain);
    sampi_grammar_account_free(account, space->bits, h->n_mask * 4 + 4);
    sampi_grammar_account_free(account, space, sizeof *space);
}

static sampi_workspace *sampi_grammar_workspace_make(sampi_shared *h)
{
    /* no limit, because each call has at most one workspace at a time */
    sampi_account account = { 0, 0, 0, &h->account, false, SIZE_MAX };
    const size_t deepest = h->deepest + 1, n_rules = (size_t)h->grammar->tree.rules.n + 1;
    sampi_workspace *space = (sampi_workspace *)sampi_grammar_account_allocate(&account, sizeof *space);
    if (!space) return NULL;
    memset(space, 0, sizeof *space);
    space->busy = 1;
    space->rule_frame = (int32_t *)sampi_grammar_account_allocate(&account, n_rules * sizeof *space->rule_frame);
    space->level = (sampi_level *)sampi_grammar_account_allocate(&account, deepest * sizeof *space->level);
    space->plain = (sampi_plain_level *)sampi_grammar_account_allocate(&account, deepest * sizeof *space->plain);
    space->bits = (uint32_t *)sampi_grammar_account_allocate(&account, h->n_mask * 4 + 4);
    if (space->rule_frame && space->level && space->plain && space->bits) {
        memset(space->rule_frame, 0, n_rules * sizeof *space->rule_frame);
        return space;
    }
    sampi_grammar_workspace_free(h, space);
    return NULL;
}

static bool sampi_grammar_workspace_take(sampi_workspace *space)
{
    return SAMPI_INT_GET(&space->busy) == 0 && SAMPI_INT_CAS(&space->busy, 0, 1);
}

/* Borrows a workspace: the one that the sampler used last, or any free one, or a new one. Returns false if there is no
   memory. */
static bool sampi_grammar_workspace_find(sampi_matcher *m)
{
    sampi_shared *h = m->shared;
    if (m->space && sampi_grammar_workspace_take(m->space)) return true;
    sampi_workspace *space = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
    while (space && !sampi_grammar_workspace_take(space)) space = space->behind;
    m->space = space ? space : sampi_grammar_workspace_make(h);
    if (space || !m->space) return space != NULL;
    do m->space->behind = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
    while (!SAMPI_PTR_CAS(&h->workspaces, m->space->behind, m->space));
    return true;
}

/* sampi_grammar_borrow copies the borrowed members from the workspace into the matcher; sampi_grammar_give_back
   copies them back. */
static void sampi_grammar_borrow(sampi_matcher *m)
{
    const sampi_workspace *space = m->space;
    m->d.work = space->work;
    m->d.memo = space->memo;
    m->d.n_memo = space->n_memo;
    m->d.queued = space->queued;
    m->calls = space->calls;
    m->tokens = space->tokens;
    m->exits = space->exits;
    m->seen = space->seen;
    m->joined = space->joined;
    m->rule_frame = space->rule_frame;
    m->level = space->level;
    m->plain = space->plain;
    m->found = space->bits;
    m->d.work.account = m->d.queued.slots.account = m->calls.account = m->tokens.account = m->exits.account =
        m->seen.slots.account = m->joined.slots.account = &m->d.account;
}
static void sampi_grammar_give_back(sampi_matcher *m)
{
    sampi_workspace *space = m->space;
    space->work = m->d.work;
    space->memo = m->d.memo;
    space->n_memo = m->d.n_memo;
    space->queued = m->d.queued;
    space->calls = m->calls;
    space->tokens = m->tokens;
    space->exits = m->exits;
    space->seen = m->seen;
    space->joined = m->joined;
    m->d.memo = NULL;
}

/* Frees the arrays of a workspace that have become large because one call needed it; with `all`, all arrays. */
static void sampi_grammar_trim_workspace(sampi_matcher *m, bool all)
{
    enum { LARGE = 1 << 17 };
    const size_t most = SAMPI_SIZE_GET(&m->shared->account.most) / 128;
    sampi_vec *vecs[] = { &m->d.work,     &m->calls,        &m->tokens,        &m->exits,
                          &m->seen.slots, &m->joined.slots, &m->d.queued.slots };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        if (all || vecs[i]->size > (most < LARGE ? most : (size_t)LARGE)) sampi_grammar_vec_free(vecs[i]);
    const size_t memo = (size_t)m->d.n_memo * sizeof *m->d.memo;
    if (all && m->d.memo && memo > 8 * most) sampi_grammar_memo_free(&m->d);
}

/* Begins a call: borrows a workspace. Returns false if there is no memory. */
static bool sampi_grammar_begin_call(sampi_matcher *m)
{
    m->d.status = SAMP_OK;
    m->d.account.full = false;
    m->cache = NULL;
    if (!sampi_grammar_workspace_find(m)) {
        m->d.status = SAMP_E_NOMEM;
        return false;
    }
    sampi_grammar_borrow(m);
    m->d.work.n = 0;
    return true;
}

/* Ends a call: gives the workspace back, and frees caches that are no longer read. */
static void sampi_grammar_end_call(sampi_matcher *m)
{
    sampi_workspace *space = m->space;
    sampi_grammar_trim_workspace(m, false);
    sampi_grammar_give_back(m);
    if (m->own) sampi_cache_free(m->shared, m->own);
    SAMPI_PTR_PUT(&space->reads, (sampi_cache *)NULL);
    m->cache = m->own = NULL;
    SAMPI_INT_PUT(&space->busy, 0);
    if (SAMPI_PTR_GET(&m->shared->gone)) sampi_grammar_sweep_caches(m->shared);
}
