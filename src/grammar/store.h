/* ---- grammars: what all samplers of a grammar share ----
   One sampi_shared for each grammar and index, in the grammar's list: it has the store, where everything is that can be
   learnt (nodes, states, entries), and the workspaces, which calls borrow. A sampler has only its place: items, frames,
   history. All of it works in any number of threads at once, and no one waits for anyone.

     A store's arrays have the room that they were made with and never move. Something new takes a number (or a piece
     of a chunk) that nobody else gets, is written, and then published: its number is put into a slot of a table or of
     a row, by one atomic operation, if the slot is still free. What has been published never changes, but for facts
     that are found out later, each one word, and the same whoever finds it. So a hit is a load; a miss is worked out
     by whoever comes, and where two come at once, by both, and the second one to publish takes the first one's.

     Full: a call that finds no room in a store makes another one, empty but for the grammar's own nodes, with more
     room or, at the limit, as much, publishes it in place of the old one, and does its work again; where others fill
     that one, too, it does so in a store of its own, which goes with it. Other calls go on in the old one until they
     end. An old store is freed when no call looks into it: a call says which one it does in
     its workspace, and looks once more whether that still is the one to look into, before it does (hazard pointers).

     A sampler's place has numbers of states of one store. When another one has come, it reads its text again there;
     an idle sampler holds no memory but its own, however many stores come and go.

   How many steps a call takes depends on what others have learnt; what it answers does not: it is the grammar's mask,
   or SAMP_E_FULL. */

/* The store has no room for something new. */
static void sampi_store_is_full(sampi_matcher *m)
{
    m->d.held.full = true;
    sampi_fault(&m->d, SAMP_E_NOMEM);
}

/* A piece of the store, for what is to be published. NULL and the fault is told: no room. */
static void *sampi_store_room(sampi_matcher *m, size_t bytes)
{
    sampi_store *store = m->store;
    bytes = (bytes + 7) & ~(size_t)7;
    sampi_chunk *chunk = (sampi_chunk *)SAMPI_PTR_GET(&store->chunks);
    if (chunk && bytes <= chunk->size && SAMPI_SIZE_GET(&chunk->used) <= chunk->size - bytes) {
        const size_t at = SAMPI_SIZE_ADD(&chunk->used, bytes);
        if (at <= chunk->size - bytes) return (char *)(chunk + 1) + at;
    }
    const size_t size = bytes > store->chunk ? bytes : store->chunk, whole = sizeof *chunk + size;
    const size_t before = SAMPI_SIZE_ADD(&store->bytes, whole);
    sampi_held *all = &m->shared->held;
    const size_t others = SAMPI_SIZE_GET(&all->bytes), most = SAMPI_SIZE_GET(&all->most) + m->d.held.beside;
    sampi_chunk *made = NULL;
    if (before + whole > store->most || others > most || before + whole > most - others)
        m->d.held.full = true;
    else
        made = (sampi_chunk *)SAMP_MALLOC(whole);
    if (!made) {
        (void)SAMPI_SIZE_ADD(&store->bytes, (size_t)0 - whole);
        sampi_fault(&m->d, SAMP_E_NOMEM);
        return NULL;
    }
    (void)SAMPI_SIZE_ADD(&all->apart, whole);
    made->size = size;
    made->used = bytes;
    do made->behind = (sampi_chunk *)SAMPI_PTR_GET(&store->chunks);
    while (!SAMPI_PTR_CAS(&store->chunks, made->behind, made));
    return made + 1;
}

static void sampi_store_free(sampi_shared *h, sampi_store *store)
{
    const size_t bytes = store->bytes;
    for (sampi_chunk *chunk = store->chunks, *behind; chunk; chunk = behind) {
        behind = chunk->behind;
        SAMP_FREE(chunk);
    }
    SAMP_FREE(store);
    (void)SAMPI_SIZE_ADD(&h->held.apart, (size_t)0 - bytes);
}

/* What a store is to have room for. */
typedef struct sampi_store_plan {
    int32_t nodes, pool, states, entries; /* beside the grammar's own */
    size_t most;
    bool alone; /* there is no room for two of them: the old one goes first */
} sampi_store_plan;

static int32_t sampi_power(int32_t least)
{
    int32_t n = 64;
    while (n < least) n *= 2;
    return n;
}

/* The sizes of a store's arrays, in the order in which they lie behind its record. */
enum { SAMPI_STORE_PARTS = 8 };
static size_t sampi_store_sizes(const samp_grammar *g, const sampi_store_plan *plan, size_t size[SAMPI_STORE_PARTS])
{
    const size_t nodes = (size_t)g->tree.nodes.n + (size_t)plan->nodes, states = (size_t)plan->states;
    size_t all = 0;
    size[0] = sizeof(sampi_store);
    size[1] = states * sizeof(sampi_lex);
    size[2] = (size_t)plan->entries * sizeof(sampi_entry);
    size[3] = nodes * sizeof(sampi_expr);
    size[4] = nodes * 2 * sizeof(int32_t);
    size[5] = states * (size_t)g->bytes.n_classes * sizeof(int32_t);
    size[6] = ((size_t)sampi_power((int32_t)(nodes + nodes / 3)) + (size_t)sampi_power(2 * plan->entries)) *
              sizeof(int32_t);
    size[7] = (size_t)g->tree.pool.n + (size_t)plan->pool;
    for (int i = 0; i < SAMPI_STORE_PARTS; i++) all += size[i] = (size[i] + 7) & ~(size_t)7;
    return all;
}

/* Four times the room where more than a half was in use. */
static int32_t sampi_store_more(int32_t room, int32_t used)
{
    return used > room / 2 && room < 1 << 22 ? 4 * room : room;
}

/* Arrays that would be too large together: whichever has the most room that the old store had no use for gets half of
   it, but not less than a little. */
static void sampi_store_shrink(const sampi_shared *h, sampi_store_plan *plan, const int32_t used[4], size_t most)
{
    static const int32_t least[4] = { 32, 64, 16, 16 };
    const samp_grammar *g = h->grammar;
    const size_t width[4] = { 40, 1, sizeof(sampi_lex) + (size_t)g->bytes.n_classes * 4, sizeof(sampi_entry) + 16 };
    int32_t *room[4] = { &plan->nodes, &plan->pool, &plan->states, &plan->entries };
    size_t size[SAMPI_STORE_PARTS];
    while (sampi_store_sizes(g, plan, size) > most) {
        int worst = -1;
        double idle = 0.0;
        for (int i = 0; i < 4; i++) {
            const double unused = ((double)*room[i] - 0.75 * used[i]) * (double)width[i];
            if (*room[i] / 2 < least[i] || (worst >= 0 && unused <= idle)) continue;
            worst = i;
            idle = unused;
        }
        if (worst < 0) break;
        *room[worst] /= 2;
    }
}

/* Room for nodes, texts, states and entries: what most grammars need at all, and what hardly any needs more than. What
   a store has learnt goes with it, so growth by small steps would cost more than room. */
static const sampi_store_plan SAMPI_FIRST_STORE = { 2048, 4096, 512, 256, 0, false };
static const sampi_store_plan SAMPI_SECOND_STORE = { 16384, 32768, 4096, 1024, 0, false };

/* What the store behind `old` (NULL: the first one) is to have. A quarter of what samplers and workspaces leave is one
   store's: the new one is made while the old one is in use, and a third may wait for somebody who looks into it. Where
   that would be too little, nearly all is. beside: what may be held beside the limit. */
static sampi_store_plan sampi_store_planned(sampi_shared *h, const sampi_store *old, size_t beside)
{
    const samp_grammar *g = h->grammar;
    sampi_store_plan plan = SAMPI_FIRST_STORE;
    const size_t most = SAMPI_SIZE_GET(&h->held.most) + beside, others = SAMPI_SIZE_GET(&h->held.bytes),
                 left = most > others ? most - others : 0;
    size_t size[SAMPI_STORE_PARTS], in_chunks = 0;
    int32_t used[4] = { 0, 0, 0, 0 };
    if (old) {
        used[0] = SAMPI_INT_GET(&old->growth.n_nodes) - g->tree.nodes.n;
        used[1] = SAMPI_INT_GET(&old->growth.n_pool) - g->tree.pool.n;
        used[2] = SAMPI_INT_GET(&old->n_states);
        used[3] = SAMPI_INT_GET(&old->n_entries);
        const bool first = old->cap_states == plan.states;
        plan.nodes = sampi_store_more(old->tree.nodes.cap - g->tree.nodes.n, used[0]);
        plan.pool = sampi_store_more(old->tree.pool.cap - g->tree.pool.n, used[1]);
        plan.states = sampi_store_more(old->cap_states, used[2]);
        plan.entries = sampi_store_more(old->cap_entries, used[3]);
        if (first) plan = SAMPI_SECOND_STORE;
        in_chunks = SAMPI_SIZE_GET(&old->bytes) - old->fixed;
    }
    plan.most = left / 4;
    plan.alone = sampi_store_sizes(g, &plan, size) > left / 8;
    if (plan.alone) plan.most = left - left / 4;
    sampi_store_shrink(h, &plan, used, plan.most - (in_chunks > plan.most / 4 ? plan.most / 2 : plan.most / 4));
    return plan;
}

/* The arrays of a store, in its one block behind the record. */
static void sampi_store_divide(const samp_grammar *g, sampi_store *store, const sampi_store_plan *plan,
                               const size_t size[SAMPI_STORE_PARTS])
{
    sampi_tree *t = &store->tree;
    char *at = (char *)store + size[0];
    store->states = (sampi_lex *)at;
    store->entries = (sampi_entry *)(at += size[1]);
    t->nodes.data = at += size[2];
    store->state_of = (int32_t *)(at += size[3]);
    store->next = (int32_t *)(at += size[4]);
    t->slots.data = at += size[5];
    t->pool.data = at + size[6];
    t->nodes.cap = g->tree.nodes.n + plan->nodes;
    t->pool.cap = g->tree.pool.n + plan->pool;
    t->slots.n = sampi_power(t->nodes.cap + t->nodes.cap / 3);
    store->growth.known = store->state_of + t->nodes.cap;
    store->n_slots = sampi_power(2 * plan->entries);
    store->entry_slots = (int32_t *)t->slots.data + t->slots.n;
    store->cap_states = plan->states;
    store->cap_entries = plan->entries;
}

/* A store that knows nothing but the grammar's own nodes. NULL: no memory, or (held->full) it would be too large. */
static sampi_store *sampi_store_make(sampi_shared *h, const sampi_store_plan *plan, sampi_held *held)
{
    const samp_grammar *g = h->grammar;
    size_t size[SAMPI_STORE_PARTS];
    const size_t all = sampi_store_sizes(g, plan, size);
    if (all < sizeof(sampi_store) || all > plan->most) {
        held->full = true;
        return NULL;
    }
    sampi_store *store = (sampi_store *)SAMP_MALLOC(all);
    if (!store) return NULL;
    (void)SAMPI_SIZE_ADD(&h->held.apart, all);
    memset(store, 0, sizeof *store);
    store->serial = sampi_next_serial();
    store->bytes = store->fixed = all;
    store->most = plan->most;
    store->chunk = plan->most / 64 < 512 ? 512 : plan->most / 64 > 1 << 16 ? (size_t)1 << 16 : plan->most / 64;
    sampi_tree *t = &store->tree;
    t->rules = g->tree.rules;
    t->lists = g->tree.lists;
    t->members = g->tree.members;
    t->spare = INT64_MAX; /* other limits count */
    t->growth = &store->growth;
    sampi_store_divide(g, store, plan, size);
    t->nodes.n = store->growth.n_nodes = g->tree.nodes.n;
    t->pool.n = store->growth.n_pool = g->tree.pool.n;
    memcpy(t->nodes.data, g->tree.nodes.data, (size_t)t->nodes.n * sizeof(sampi_expr));
    if (t->pool.n) memcpy(t->pool.data, g->tree.pool.data, (size_t)t->pool.n);
    memset(store->state_of, 0, size[4]);
    memset(t->slots.data, 0xff, size[6]);
    for (int32_t i = 0; i < h->texts.n; i++) {
        const sampi_named *text = (const sampi_named *)h->texts.data + i;
        sampi_at(t, text->text)->c = text->token;
    }
    sampi_tree_fill_slots(t);
    memset(store->states, 0, sizeof *store->states);
    memset(store->next, 0, (size_t)g->bytes.n_classes * sizeof(int32_t));
    store->n_states = 1; /* the dead one */
    return store;
}

/* Free those that have gone and that nobody looks into. */
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

/* Put `made` (or nothing) in the place of a store. False: somebody else has put another one there. */
static bool sampi_replace_store(sampi_shared *h, sampi_store *old, sampi_store *made)
{
    if (!SAMPI_PTR_CAS(&h->now, old, made)) return false;
    if (!old) return true;
    (void)SAMPI_SIZE_ADD(&h->renewals, 1);
    do old->behind = (sampi_store *)SAMPI_PTR_GET(&h->gone);
    while (!SAMPI_PTR_CAS(&h->gone, old->behind, old));
    return true;
}

/* The memo has nodes of one store. */
static void sampi_memo_fits(sampi_matcher *m)
{
    if (m->space->memo_of == m->store->serial) return;
    if (m->d.memo) memset(m->d.memo, 0xff, (size_t)m->d.n_memo * sizeof *m->d.memo);
    m->space->memo_of = m->store->serial;
}

/* The tree and the memo are those of the store that the call looks into. */
static void sampi_open_store(sampi_matcher *m)
{
    sampi_memo_fits(m);
    (void)SAMPI_INT_ADD(&m->store->n_calls, 1);
    if (m->tree_of == m->store->serial) return;
    m->d.tree = m->store->tree;
    m->d.tree.nodes.held = m->d.tree.pool.held = &m->d.held;
    m->tree_of = m->store->serial;
}

/* Look into the store that is the one now; the first one who comes makes it. False: a fault. */
static bool sampi_look(sampi_matcher *m, const sampi_store_plan *plan)
{
    sampi_shared *h = m->shared;
    for (;;) {
        sampi_store *store = (sampi_store *)SAMPI_PTR_GET(&h->now);
        SAMPI_PTR_PUT(&m->space->reads, store);
        m->store = store;
        if (store && SAMPI_PTR_GET(&h->now) != store) continue;
        if (store) break;
        const sampi_store_plan first = plan ? *plan : sampi_store_planned(h, NULL, m->d.held.beside);
        sampi_store *made = sampi_store_make(h, &first, &m->d.held);
        if (!made) {
            sampi_fault(&m->d, SAMP_E_NOMEM);
            return false;
        }
        if (!sampi_replace_store(h, NULL, made)) sampi_store_free(h, made);
    }
    sampi_open_store(m);
    return true;
}

/* Another store in the place of the one that is full, unless there is one. False: a fault. */
static bool sampi_renew_store(sampi_matcher *m)
{
    sampi_shared *h = m->shared;
    sampi_store *old = m->store;
    if (!old || SAMPI_PTR_GET(&h->now) != old) return sampi_look(m, NULL);
    const sampi_store_plan plan = sampi_store_planned(h, old, m->d.held.beside);
    size_t size[SAMPI_STORE_PARTS];
    if (sampi_store_sizes(h->grammar, &plan, size) > plan.most) { /* the old one may serve others */
        sampi_store_is_full(m);
        return false;
    }
    if (plan.alone) {
        (void)sampi_replace_store(h, old, NULL);
        SAMPI_PTR_PUT(&m->space->reads, (sampi_store *)NULL);
    } else {
        sampi_store *made = sampi_store_make(h, &plan, &m->d.held);
        if (!made) {
            sampi_fault(&m->d, SAMP_E_NOMEM);
            return false;
        }
        if (!sampi_replace_store(h, old, made)) sampi_store_free(h, made);
        SAMPI_PTR_PUT(&m->space->reads, (sampi_store *)NULL);
    }
    m->store = NULL;
    sampi_sweep_stores(h);
    return sampi_look(m, plan.alone ? &plan : NULL);
}

/* A store of this call's own, where others have filled the new one before it could end: nobody else sees it, and it
   goes with the call. False: a fault. */
static bool sampi_own_store(sampi_matcher *m)
{
    const sampi_store_plan plan = sampi_store_planned(m->shared, m->store, m->d.held.beside);
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
    sampi_held held = { 0, 0, 0, &h->held, false, SIZE_MAX }; /* there are no more than calls at a time */
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

/* A call borrows a workspace: the one that its sampler had last, or any that is free, or a new one. */
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

/* What is lent to a matcher goes to and fro as it is. */
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

/* What is large in a workspace between two calls goes: it was one call's. `all`: whatever its size. */
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

/* A call begins. False: no memory. */
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

/* And ends. */
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
