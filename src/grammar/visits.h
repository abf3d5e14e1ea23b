/* ---- grammars: a call uses a store ----
   A store keeps the data that was computed for a grammar. A call borrows a workspace and notes in it which store it
   reads, so that no other call frees this store (store.h). This room also replaces an old store by a new one, and frees
   old stores. */

/* Frees the replaced stores (old caches of states) that no call reads. */
static void sampi_sweep_stores(sampi_shared *h)
{
    sampi_store *store = (sampi_store *)SAMPI_PTR_GET(&h->gone), *behind;
    while (store && !SAMPI_PTR_CAS(&h->gone, store, NULL)) store = (sampi_store *)SAMPI_PTR_GET(&h->gone);
    for (; store; store = behind) {
        bool read = false;
        behind = store->behind;
        sampi_workspace *space = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
        for (; space && !read; space = space->behind) read = SAMPI_PTR_GET(&space->reads) == store;
        if (!read) {
            sampi_store_free(h, store);
            continue;
        }
        do store->behind = (sampi_store *)SAMPI_PTR_GET(&h->gone);
        while (!SAMPI_PTR_CAS(&h->gone, store->behind, store));
    }
}

/* Replaces the store `old` by `made`, which may be NULL. Returns false if another thread has replaced it already. */
static bool sampi_replace_store(sampi_shared *h, sampi_store *old, sampi_store *made)
{
    if (!SAMPI_PTR_CAS(&h->now, old, made)) return false;
    if (!old) return true;
    (void)SAMPI_SIZE_ADD(&h->renewals, 1);
    /* from now on the replaced store does not count in the limit: a call that still reads it must not take room from
       others */
    old->beside = SAMPI_SIZE_GET(&old->bytes);
    (void)SAMPI_SIZE_ADD(&h->held.apart, (size_t)0 - old->beside);
    (void)SAMPI_SIZE_ADD(&h->bytes_gone, old->beside);
    do old->behind = (sampi_store *)SAMPI_PTR_GET(&h->gone);
    while (!SAMPI_PTR_CAS(&h->gone, old->behind, old));
    return true;
}

/* Empties the memo (the cache of derivatives) if its nodes are of another store than the call's. */
static void sampi_memo_fits(sampi_matcher *m)
{
    if (m->space->memo_of == m->store->serial) return;
    if (m->d.memo) memset(m->d.memo, 0xff, (size_t)m->d.n_memo * sizeof *m->d.memo);
    m->space->memo_of = m->store->serial;
}

/* Prepares the call for its store: sets the tree, checks the memo, and counts the call. */
static void sampi_open_store(sampi_matcher *m)
{
    sampi_memo_fits(m);
    (void)SAMPI_INT_ADD(&m->store->n_calls, 1);
    m->now = sampi_clock(m->store);
    if (m->tree_of == m->store->serial) return;
    m->d.tree = m->store->tree;
    m->d.tree.nodes.held = m->d.tree.pool.held = &m->d.held;
    m->tree_of = m->store->serial;
}

/* Lets this call read the current store (the cache of states). If there is no current store, one is made, with the
   sizes `plan` and the data of the store `kept` if these are not NULL. Returns false if an error was recorded. */
static bool sampi_look(sampi_matcher *m, const sampi_store_plan *plan, sampi_store *kept)
{
    sampi_shared *h = m->shared;
    for (;;) {
        sampi_store *store = (sampi_store *)SAMPI_PTR_GET(&h->now);
        SAMPI_PTR_PUT(&m->space->reads, store);
        m->store = store;
        if (store && SAMPI_PTR_GET(&h->now) != store) continue;
        if (store) break;
        const sampi_store_plan first = plan ? *plan
                                            : sampi_store_planned(h, NULL, m->d.held.beside, SAMPI_STORE_USUAL);
        sampi_store *made = sampi_store_make(h, &first, &m->d.held);
        if (!made) {
            sampi_fault(&m->d, SAMP_E_NOMEM);
            return false;
        }
        if (kept) {
            sampi_move_into(h, made, &first, kept, 1);
            sampi_move_through(h, made, kept);
        }
        if (!sampi_replace_store(h, NULL, made)) sampi_store_free(h, made);
    }
    sampi_open_store(m);
    return true;
}

/* Replaces the old store where the memory limit has no room for both: copies the elements to keep into a small store,
   frees the old store, and then makes the new one. */
static bool sampi_swap_store(sampi_matcher *m, sampi_store *old, const sampi_store_plan *plan, int32_t share)
{
    sampi_shared *h = m->shared;
    const size_t most = SAMPI_SIZE_GET(&h->held.most) + m->d.held.beside,
                 held = SAMPI_SIZE_GET(&h->held.bytes) + SAMPI_SIZE_GET(&h->held.apart),
                 left = most > held ? most - held : 0;
    sampi_store *kept = share ? sampi_move_between(h, old, plan, share, left - left / 4) : NULL;
    (void)sampi_replace_store(h, old, NULL);
    SAMPI_PTR_PUT(&m->space->reads, (sampi_store *)NULL);
    m->store = NULL;
    sampi_sweep_stores(h);
    const bool looks = sampi_look(m, plan, kept);
    if (kept) sampi_store_free(h, kept);
    return looks;
}

/* Replaces the call's store, which is full, if it is still the current one. The new store takes over the elements of
   the old one that were used last, up to 1 / share of its room; none if share is 0. Returns false if an error was
   recorded. */
static bool sampi_renew_store(sampi_matcher *m, int32_t share, sampi_store_size wanted)
{
    sampi_shared *h = m->shared;
    sampi_store *old = m->store;
    if (!old || SAMPI_PTR_GET(&h->now) != old) return sampi_look(m, NULL, NULL);
    const sampi_store_plan plan = sampi_store_planned(h, old, m->d.held.beside, wanted);
    size_t size[SAMPI_STORE_PARTS];
    /* the old store is kept, as it may serve other calls */
    if (sampi_store_sizes(h->grammar, &plan, size) > plan.most) {
        sampi_store_is_full(m);
        return false;
    }
    if (plan.alone) return sampi_swap_store(m, old, &plan, share);
    sampi_store *made = sampi_store_make(h, &plan, &m->d.held);
    if (!made) {
        sampi_fault(&m->d, SAMP_E_NOMEM);
        return false;
    }
    if (share) sampi_move_into(h, made, &plan, old, share);
    if (!sampi_replace_store(h, old, made)) sampi_store_free(h, made);
    SAMPI_PTR_PUT(&m->space->reads, (sampi_store *)NULL);
    m->store = NULL;
    sampi_sweep_stores(h);
    return sampi_look(m, NULL, NULL);
}

/* Makes a store for this call alone, because other calls have filled the new one before this call could end. It is
   freed at the end of the call. Returns false if an error was recorded. */
static bool sampi_own_store(sampi_matcher *m)
{
    const sampi_store_plan plan = sampi_store_planned(m->shared, m->store, m->d.held.beside, SAMPI_STORE_WIDE);
    if (m->own) {
        sampi_store_free(m->shared, m->own);
        m->own = m->store = NULL;
    }
    sampi_store *made = sampi_store_make(m->shared, &plan, &m->d.held);
    if (!made) {
        sampi_fault(&m->d, SAMP_E_NOMEM);
        return false;
    }
    SAMPI_PTR_PUT(&m->space->reads, (sampi_store *)NULL);
    m->store = m->own = made;
    sampi_open_store(m);
    return true;
}

/* ---- workspaces ---- */

static void sampi_workspace_free(sampi_shared *h, sampi_workspace *space)
{
    sampi_held *held = &h->held;
    const size_t deepest = h->deepest + 1, n_rules = (size_t)h->grammar->tree.rules.n + 1;
    sampi_vec *vecs[] = { &space->work,       &space->calls,        &space->tokens,      &space->places,
                          &space->seen.slots, &space->joined.slots, &space->queued.slots };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        vecs[i]->held = held;
        sampi_vec_free(vecs[i]);
    }
    sampi_free_block(held, space->memo, (size_t)space->n_memo * sizeof *space->memo);
    sampi_free_block(held, space->rule_frame, n_rules * sizeof *space->rule_frame);
    sampi_free_block(held, space->level, deepest * sizeof *space->level);
    sampi_free_block(held, space->plain, deepest * sizeof *space->plain);
    sampi_free_block(held, space->bits, h->n_mask * 4 + 4);
    sampi_free_block(held, space, sizeof *space);
}

static sampi_workspace *sampi_workspace_make(sampi_shared *h)
{
    /* no limit, because each call has at most one workspace at a time */
    sampi_held held = { 0, 0, 0, &h->held, false, SIZE_MAX };
    const size_t deepest = h->deepest + 1, n_rules = (size_t)h->grammar->tree.rules.n + 1;
    sampi_workspace *space = (sampi_workspace *)sampi_hold_block(&held, sizeof *space);
    if (!space) return NULL;
    memset(space, 0, sizeof *space);
    space->busy = 1;
    space->rule_frame = (int32_t *)sampi_hold_block(&held, n_rules * sizeof *space->rule_frame);
    space->level = (sampi_level *)sampi_hold_block(&held, deepest * sizeof *space->level);
    space->plain = (sampi_plain_level *)sampi_hold_block(&held, deepest * sizeof *space->plain);
    space->bits = (uint32_t *)sampi_hold_block(&held, h->n_mask * 4 + 4);
    if (space->rule_frame && space->level && space->plain && space->bits) {
        memset(space->rule_frame, 0, n_rules * sizeof *space->rule_frame);
        return space;
    }
    sampi_workspace_free(h, space);
    return NULL;
}

static bool sampi_workspace_take(sampi_workspace *space)
{
    return SAMPI_INT_GET(&space->busy) == 0 && SAMPI_INT_CAS(&space->busy, 0, 1);
}

/* Borrows a workspace: the one that the sampler used last, or any free one, or a new one. Returns false if there is no
   memory. */
static bool sampi_workspace_find(sampi_matcher *m)
{
    sampi_shared *h = m->shared;
    if (m->space && sampi_workspace_take(m->space)) return true;
    sampi_workspace *space = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
    while (space && !sampi_workspace_take(space)) space = space->behind;
    m->space = space ? space : sampi_workspace_make(h);
    if (space || !m->space) return space != NULL;
    do m->space->behind = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
    while (!SAMPI_PTR_CAS(&h->workspaces, m->space->behind, m->space));
    return true;
}

/* sampi_borrow copies the borrowed members from the workspace into the matcher; sampi_give_back copies them back. */
static void sampi_borrow(sampi_matcher *m)
{
    const sampi_workspace *space = m->space;
    m->d.work = space->work;
    m->d.memo = space->memo;
    m->d.n_memo = space->n_memo;
    m->d.queued = space->queued;
    m->calls = space->calls;
    m->tokens = space->tokens;
    m->places = space->places;
    m->seen = space->seen;
    m->joined = space->joined;
    m->rule_frame = space->rule_frame;
    m->level = space->level;
    m->plain = space->plain;
    m->found = space->bits;
    m->d.work.held = m->d.queued.slots.held = m->calls.held = m->tokens.held = m->places.held = m->seen.slots.held =
        m->joined.slots.held = &m->d.held;
}
static void sampi_give_back(sampi_matcher *m)
{
    sampi_workspace *space = m->space;
    space->work = m->d.work;
    space->memo = m->d.memo;
    space->n_memo = m->d.n_memo;
    space->queued = m->d.queued;
    space->calls = m->calls;
    space->tokens = m->tokens;
    space->places = m->places;
    space->seen = m->seen;
    space->joined = m->joined;
    m->d.memo = NULL;
}

/* Frees the arrays of a workspace that have become large because one call needed it; with `all`, all arrays. */
static void sampi_trim_workspace(sampi_matcher *m, bool all)
{
    enum { LARGE = 1 << 17 };
    const size_t most = SAMPI_SIZE_GET(&m->shared->held.most) / 128;
    sampi_vec *vecs[] = { &m->d.work,     &m->calls,        &m->tokens,        &m->places,
                          &m->seen.slots, &m->joined.slots, &m->d.queued.slots };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++)
        if (all || vecs[i]->size > (most < LARGE ? most : (size_t)LARGE)) sampi_vec_free(vecs[i]);
    const size_t memo = (size_t)m->d.n_memo * sizeof *m->d.memo;
    if (all && m->d.memo && memo > 8 * most) sampi_memo_free(&m->d);
}

/* Begins a call: borrows a workspace. Returns false if there is no memory. */
static bool sampi_begin_call(sampi_matcher *m)
{
    m->d.status = SAMP_OK;
    m->d.held.full = false;
    m->store = NULL;
    if (!sampi_workspace_find(m)) {
        m->d.status = SAMP_E_NOMEM;
        return false;
    }
    sampi_borrow(m);
    m->d.work.n = 0;
    return true;
}

/* Ends a call: gives the workspace back, and frees stores that are no longer read. */
static void sampi_end_call(sampi_matcher *m)
{
    sampi_workspace *space = m->space;
    sampi_trim_workspace(m, false);
    sampi_give_back(m);
    if (m->own) sampi_store_free(m->shared, m->own);
    SAMPI_PTR_PUT(&space->reads, (sampi_store *)NULL);
    m->store = m->own = NULL;
    SAMPI_INT_PUT(&space->busy, 0);
    if (SAMPI_PTR_GET(&m->shared->gone)) sampi_sweep_stores(m->shared);
}
