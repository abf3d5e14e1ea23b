/* ---- grammars: what all samplers of a grammar share ----
   A grammar has a list of sampi_shared, one for each index that it is used with. It contains the store, which keeps all
   data that can be computed once for all samplers (nodes, states, entries), and the workspaces, which calls borrow. A
   sampler has only its position: items, frames, history. All of this works in any number of threads at once, and no
   thread waits for another.

     The arrays of a store have a fixed size and never move. To add an element, a thread reserves an index (or a piece
     of a chunk) that no other thread gets, writes the element, and then publishes it: one atomic operation puts the
     index into a slot of a table, if the slot is still free, or into a state's row, where every thread finds the same
     index. Published data never changes, with
     two exceptions of one word each: a fact that is found later (every thread finds the same fact), and the time of the
     last use. So data that exists costs a load. Missing data is computed by the thread that needs it. If two threads
     need it at once, both compute it, and the second one to publish uses the first one's result.

     A call that finds no room in a store makes a new store: with more room or, at the memory limit, with the same. The
     new store takes over the data of the old one: all of it if the new store is larger, else what was used last, up to
     half of the room (moving.h). Then it is published in place of the old one, and the call does its work again. A call
     that needs more than the other half gets an empty store. If other threads fill that one too, the call gets a store
     of its own, which is freed at the end of the call.
     Other calls continue in the old store until they end. An old store is freed when no call reads it: a call notes in
     its workspace which store it reads, and then checks that this store is still the current one before it reads
     (hazard pointers).

     The items of a sampler's position have numbers of states of one store. After a new store was made, the position
     gets the new numbers; or, if some of its states were not taken over, the text is read again. An idle sampler holds
     only its own memory, however many stores are replaced.

   The number of steps of a call depends on the data that other samplers have computed. Its result does not: it is the
   grammar's mask, or SAMP_E_FULL. */

/* Records the error that the store (the cache of states) has no room for something new. */
static void sampi_store_is_full(sampi_matcher *m)
{
    m->d.held.full = true;
    sampi_fault(&m->d, SAMP_E_NOMEM);
}

/* Rounds a number of bytes up to a multiple of 8, so that the piece behind them is aligned. */
static size_t sampi_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* Returns a piece of the store's memory, for data that will be published; NULL with an error recorded if there is no
   room. */
static void *sampi_store_room(sampi_matcher *m, size_t bytes)
{
    sampi_store *store = m->store;
    bytes = sampi_padded(bytes);
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
    SAMP_FREE(store->moved);
    SAMP_FREE(store);
    (void)SAMPI_SIZE_ADD(&h->held.apart, (size_t)0 - bytes);
}

/* The sizes of a store (a cache of nodes, states and entries) that is to be made. */
typedef struct sampi_store_plan {
    int32_t nodes, pool, states, entries; /* how many elements there is room for, besides the grammar's own */
    size_t most;
    bool alone; /* the memory limit has no room for two stores, so the old one is freed first */
} sampi_store_plan;

static int32_t sampi_power(int32_t least)
{
    int32_t n = 64;
    while (n < least) n *= 2;
    return n;
}

/* Computes the sizes in bytes of a store's arrays, in the order in which they follow the store's struct. Returns the
   sum. */
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
    for (int i = 0; i < SAMPI_STORE_PARTS; i++) all += size[i] = sampi_padded(size[i]);
    return all;
}

/* Returns four times the room for an array of which more than half is used, else the same room. */
static int32_t sampi_store_more(int32_t room, int32_t used)
{
    return used > room / 2 && room < 1 << 22 ? 4 * room : room;
}

/* Makes the arrays of a plan smaller if they would be too large together. The array with the most bytes that were not
   used in the old store is halved, if it keeps a minimum; this is repeated until the store is small enough. */
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

/* The sizes of a grammar's first store, which are enough for most grammars, and of its second, which are enough for
   nearly all. */
static const sampi_store_plan SAMPI_FIRST_STORE = { 2048, 4096, 512, 256, 0, false };
static const sampi_store_plan SAMPI_SECOND_STORE = { 16384, 32768, 4096, 1024, 0, false };

/* Plans the store that follows `old` (NULL: the first one). A store gets a quarter of the memory that samplers and
   workspaces do not use: the new store is made while the old one is in use, and some call may still read a third one.
   If a quarter is too little, the store gets three quarters. `beside` is the number of bytes by which the limit may be
   exceeded. */
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
    if (sampi_store_sizes(g, &plan, size) > left / 8) plan.most = left - left / 4;
    plan.alone = SAMPI_SIZE_GET(&h->held.apart) > left - plan.most;
    sampi_store_shrink(h, &plan, used, plan.most - (in_chunks > plan.most / 4 ? plan.most / 2 : plan.most / 4));
    return plan;
}

/* Sets the pointers to the arrays of a store, which are in one block behind its struct. */
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

/* Makes a store with only the grammar's own nodes. Returns NULL if there is no memory, or, with held->full, if the
   store would be too large. */
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
    t->spare = INT64_MAX; /* no limit on making nodes; the steps of a call are limited instead */
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
    store->n_states = 1; /* state 0 is the dead state */
    return store;
}

/* Returns the time of a store's clock, which is the number of calls that have used the store, divided by 8. */
static int32_t sampi_clock(const sampi_store *store) { return SAMPI_INT_GET(&store->n_calls) >> 3; }

/* Returns the hash table's slot of a state's entry (token set) at a parent's places, or the free slot for it. */
static int32_t *sampi_entry_slot(const sampi_store *store, int32_t parent, int32_t state)
{
    const uint32_t mask = (uint32_t)store->n_slots - 1;
    uint32_t i = (uint32_t)parent * 0x9E3779B1u ^ (uint32_t)state * 0x85EBCA77u;
    for (i = (i ^ i >> 15) & mask;; i = (i + 1) & mask) {
        const int32_t at = SAMPI_INT_GET(&store->entry_slots[i]);
        if (at < 0 || (store->entries[at].parent == parent && store->entries[at].state == state))
            return &store->entry_slots[i];
    }
}
