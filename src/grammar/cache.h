/* ---- grammars: what all samplers of a grammar share ----
   A grammar has a list of sampi_shared, one for each index that it is used with. It contains the cache, which keeps all
   data that can be computed once for all samplers (nodes, states, entries), and the workspaces, which calls borrow. A
   sampler has only its position: items, frames, history. All of this works in any number of threads at once, and no
   thread waits for another.

     The arrays of a cache have a fixed size and never move. To add an element, a thread reserves an index (or a piece
     of a chunk) that no other thread gets, writes the element, and then publishes it: one atomic operation puts the
     index into a slot of a table, if the slot is still free, or into a state's row, where every thread finds the same
     index. Published data never changes, with two exceptions of one word each: a fact that is found later (every thread
     finds the same fact), and the time of the last use. So data that exists costs a load. Missing data is computed by
     the thread that needs it. If two threads need it at once, both compute it, and the second one to publish uses the
     first one's result.

     A call that finds no room in a cache makes a new cache: with more room or, at the memory limit, with the same. The
     new cache takes over the data of the old one: all of it if the new cache is larger, else what was used last, up to
     half of the room (moving.h). Then it is published in place of the old one, and the call does its work again. The
     data that the call itself has computed was used last, so it is taken over first. A call that needs more than the
     other half gets a larger cache, of which a quarter is taken over; a call that needs still more gets nearly all
     memory, and nothing is taken over. If other threads fill that cache too, the call gets one of its own, which is
     freed at the end of the call.
     Other calls continue in the old cache until they end. An old cache is freed when no call reads it: a call notes in
     its workspace which cache it reads, and then checks that this cache is still the current one before it reads
     (hazard pointers).

     The items of a sampler's position have numbers of states of one cache. After a new cache was made, the position
     gets the new numbers; or, if some of its states were not taken over, the text is read again. An idle sampler holds
     only its own memory, however many caches are replaced.

   The number of steps of a call depends on the data that other samplers have computed. Its result does not: it is the
   grammar's mask, or SAMP_E_FULL. */

/* Records the error that the cache of states has no room for something new. */
static void sampi_cache_is_full(sampi_matcher *m)
{
    m->d.account.full = true;
    sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
}

/* Rounds a number of bytes up to a multiple of 8, so that the piece behind them is aligned. */
static size_t sampi_grammar_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* Returns a piece of the cache's memory, for data that will be published; NULL with an error recorded if there is no
   room. */
static void *sampi_cache_allocate(sampi_matcher *m, size_t bytes)
{
    sampi_cache *cache = m->cache;
    bytes = sampi_grammar_padded(bytes);
    sampi_chunk *chunk = (sampi_chunk *)SAMPI_PTR_GET(&cache->chunks);
    if (chunk && bytes <= chunk->size && SAMPI_SIZE_GET(&chunk->used) <= chunk->size - bytes) {
        const size_t at = SAMPI_SIZE_ADD(&chunk->used, bytes);
        if (at <= chunk->size - bytes) return (char *)(chunk + 1) + at;
    }
    const size_t size = bytes > cache->chunk ? bytes : cache->chunk, whole = sizeof *chunk + size;
    sampi_account *all = &m->shared->account;
    /* counted first, so that `cache_bytes` is never less than the bytes of all caches */
    (void)SAMPI_SIZE_ADD(&all->cache_bytes, whole);
    const size_t before = SAMPI_SIZE_ADD(&cache->bytes, whole);
    const size_t others = SAMPI_SIZE_GET(&all->bytes), most = SAMPI_SIZE_GET(&all->most) + m->d.account.allowance;
    sampi_chunk *made = NULL;
    if (before + whole > cache->most || others > most || before + whole > most - others)
        m->d.account.full = true;
    else
        made = (sampi_chunk *)SAMP_MALLOC(whole);
    if (!made) {
        (void)SAMPI_SIZE_ADD(&cache->bytes, (size_t)0 - whole);
        (void)SAMPI_SIZE_ADD(&all->cache_bytes, (size_t)0 - whole);
        sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
        return NULL;
    }
    made->size = size;
    made->used = bytes;
    do made->behind = (sampi_chunk *)SAMPI_PTR_GET(&cache->chunks);
    while (!SAMPI_PTR_CAS(&cache->chunks, made->behind, made));
    return made + 1;
}

static void sampi_cache_free(sampi_shared *h, sampi_cache *cache)
{
    const size_t bytes = cache->bytes, gone = cache->bytes_gone;
    for (sampi_chunk *chunk = cache->chunks, *behind; chunk; chunk = behind) {
        behind = chunk->behind;
        SAMP_FREE(chunk);
    }
    SAMP_FREE(cache->moved);
    SAMP_FREE(cache);
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, gone - bytes);
    (void)SAMPI_SIZE_ADD(&h->bytes_gone, (size_t)0 - gone);
}

/* The sizes of a cache (a cache of nodes, states and entries) that is to be made. */
typedef struct sampi_cache_plan {
    int32_t nodes, pool, states, entries; /* how many elements there is room for, besides the grammar's own */
    size_t most;
    int32_t shift; /* the shift of the cache's clock (sampi_cache_time) */
    bool alone;    /* the memory limit has no room for two caches, so the old one is freed first */
} sampi_cache_plan;

static int32_t sampi_grammar_power(int32_t least)
{
    int32_t n = 64;
    while (n < least) n *= 2;
    return n;
}

/* Computes the sizes in bytes of a cache's arrays, in the order in which they follow the cache's struct. Returns the
   sum. */
enum { SAMPI_CACHE_PARTS = 8 };
static size_t sampi_cache_sizes(const samp_grammar *g, const sampi_cache_plan *plan, size_t size[SAMPI_CACHE_PARTS])
{
    const size_t nodes = (size_t)g->tree.nodes.n + (size_t)plan->nodes, states = (size_t)plan->states;
    size_t all = 0;
    size[0] = sizeof(sampi_cache);
    size[1] = states * sizeof(sampi_dfa_state);
    size[2] = (size_t)plan->entries * sizeof(sampi_entry);
    size[3] = nodes * sizeof(sampi_expr);
    size[4] = nodes * 2 * sizeof(int32_t);
    size[5] = states * (size_t)g->bytes.n_classes * sizeof(int32_t);
    size[6] = ((size_t)sampi_grammar_power((int32_t)(nodes + nodes / 3)) +
               (size_t)sampi_grammar_power(2 * plan->entries)) *
              sizeof(int32_t);
    size[7] = (size_t)g->tree.pool.n + (size_t)plan->pool;
    for (int i = 0; i < SAMPI_CACHE_PARTS; i++) all += size[i] = sampi_grammar_padded(size[i]);
    return all;
}

/* Returns four times the room for an array of which more than half is used, else the same room. */
static int32_t sampi_cache_grown(int32_t room, int32_t used)
{
    return used > room / 2 && room < 1 << 22 ? 4 * room : room;
}

/* Gets the room and the number of used elements of the four arrays of a cache that are planned: nodes, pool, states,
   entries. */
static void sampi_cache_numbers(const sampi_shared *h, const sampi_cache *cache, int32_t room[4], int32_t used[4])
{
    const sampi_tree *own = &h->grammar->tree;
    room[0] = cache->tree.nodes.cap - own->nodes.n;
    room[1] = cache->tree.pool.cap - own->pool.n;
    room[2] = cache->cap_states;
    room[3] = cache->cap_entries;
    used[0] = SAMPI_INT_GET(&cache->growth.n_nodes) - own->nodes.n;
    used[1] = SAMPI_INT_GET(&cache->growth.n_pool) - own->pool.n;
    used[2] = SAMPI_INT_GET(&cache->n_states);
    used[3] = SAMPI_INT_GET(&cache->n_entries);
}

/* Makes the arrays of a plan smaller, so that they and the chunks have at most plan->most bytes. Each gets a share in
   proportion to what the old cache used: four times as much, and then an eighth less until all fit. An array that was
   full gets a quarter more; no array gets more than planned, and each gets a minimum. `used` and `room`
   are the old cache's numbers of elements; `chunks` is the number of bytes in its chunks. */
static void sampi_cache_shape(const sampi_shared *h, sampi_cache_plan *plan, const int32_t used[4],
                              const int32_t room[4], size_t chunks)
{
    static const int32_t least[4] = { 32, 64, 16, 16 };
    const samp_grammar *g = h->grammar;
    const size_t width[4] = { 40, 1, sizeof(sampi_dfa_state) + (size_t)g->bytes.n_classes * 4,
                              sizeof(sampi_entry) + 16 };
    const size_t mask = 5 * h->n_mask, few = mask > plan->most / 8 && mask < plan->most / 2 ? mask : plan->most / 8;
    int32_t *all[4] = { &plan->nodes, &plan->pool, &plan->states, &plan->entries };
    const int32_t most[4] = { plan->nodes, plan->pool, plan->states, plan->entries };
    size_t size[SAMPI_CACHE_PARTS], left;
    double share = 4.0;
    do {
        for (int i = 0; i < 4; i++) {
            const double need = share * used[i] * (used[i] > room[i] - room[i] / 8 ? 1.25 : 1.0),
                         some = (share < 1.0 ? share : 1.0) * (double)plan->most / (double)(32 * width[i]),
                         n = need > some ? need : some;
            *all[i] = n > most[i] ? most[i] : n < least[i] ? least[i] : (int32_t)n;
        }
        left = (size_t)(share * (double)chunks);
        if (left < few) left = few;
        share *= 0.875;
    } while (sampi_cache_sizes(g, plan, size) + left > plan->most && share > 0.01);
}

/* The sizes of a grammar's first cache, which are enough for most grammars, and of its second, which are enough for
   nearly all. */
static const sampi_cache_plan SAMPI_FIRST_CACHE = { 2048, 4096, 512, 256, 0, 3, false };
static const sampi_cache_plan SAMPI_SECOND_CACHE = { 16384, 32768, 4096, 1024, 0, 3, false };

/* The size of a cache, as a share of the memory that samplers and workspaces do not use:

     USUAL  the arrays fit in an eighth    1/4: the old cache is in use meanwhile, and a call may read a third one
            they do not                    nearly 1/2, but at most 16 MiB, because a call waits while it is made
            and few calls filled the old   3/4
     WIDE   for a call that needs more     3/4
     WHOLE  for one that needs still more  nearly all */
typedef enum sampi_cache_size { SAMPI_CACHE_USUAL, SAMPI_CACHE_WIDE, SAMPI_CACHE_WHOLE } sampi_cache_size;

/* Returns how many bytes a copy of elements of a cache needs while it is made: tables of new numbers (moving.h). */
static size_t sampi_cache_tables(const sampi_cache *from)
{
    return ((size_t)from->tree.nodes.cap + 2 * (size_t)from->cap_states + 2 * (size_t)from->cap_entries) *
           sizeof(int32_t);
}

/* Plans the cache that follows `old` (NULL: the first one). `allowance` is the number of bytes by which the limit may
   be exceeded. */
static sampi_cache_plan sampi_cache_planned(sampi_shared *h, const sampi_cache *old, size_t allowance,
                                            sampi_cache_size wanted)
{
    enum { FEW = 256, QUICK = 1 << 24 };
    const bool few = old && SAMPI_INT_GET(&old->n_calls) < FEW;
    const size_t most = SAMPI_SIZE_GET(&h->account.most) + allowance, others = SAMPI_SIZE_GET(&h->account.bytes),
                 left = most > others ? most - others : 0;
    sampi_cache_plan plan = old && old->cap_states == SAMPI_FIRST_CACHE.states ? SAMPI_SECOND_CACHE
                                                                               : SAMPI_FIRST_CACHE;
    int32_t room[4] = { plan.nodes, plan.pool, plan.states, plan.entries }, used[4] = { 1, 1, 1, 1 };
    size_t size[SAMPI_CACHE_PARTS], chunks = 0;
    if (old) {
        sampi_cache_numbers(h, old, room, used);
        chunks = SAMPI_SIZE_GET(&old->bytes) - old->fixed;
        if (chunks + 2 * old->chunk > old->most - old->fixed) chunks *= 2;
    }
    if (old && plan.states == SAMPI_FIRST_CACHE.states) {
        plan.nodes = sampi_cache_grown(room[0], used[0]);
        plan.pool = sampi_cache_grown(room[1], used[1]);
        plan.states = sampi_cache_grown(room[2], used[2]);
        plan.entries = sampi_cache_grown(room[3], used[3]);
    }
    plan.most = left / 4;
    const bool tight = sampi_cache_sizes(h->grammar, &plan, size) > left / 8;
    const size_t half = left / 2 - left / 32;
    if (tight && plan.most < QUICK) plan.most = half < QUICK ? half : (size_t)QUICK;
    if (tight && few) plan.shift = 0;
    if (wanted == SAMPI_CACHE_WIDE || (tight && few)) plan.most = left - left / 4;
    if (wanted == SAMPI_CACHE_WHOLE) plan.most = left - left / 16;
    const size_t spare = left - plan.most + most / 32; /* while a cache is replaced, a little more is allowed */
    plan.alone = SAMPI_SIZE_GET(&h->account.cache_bytes) + (old ? sampi_cache_tables(old) : 0) > spare;
    if (sampi_cache_sizes(h->grammar, &plan, size) >
        plan.most - (chunks > plan.most / 4 ? plan.most / 2 : plan.most / 4))
        sampi_cache_shape(h, &plan, used, room, chunks);
    return plan;
}

/* Sets the pointers to the arrays of a cache, which are in one block behind its struct. */
static void sampi_cache_divide(const samp_grammar *g, sampi_cache *cache, const sampi_cache_plan *plan,
                               const size_t size[SAMPI_CACHE_PARTS])
{
    sampi_tree *t = &cache->tree;
    char *at = (char *)cache + size[0];
    cache->states = (sampi_dfa_state *)at;
    cache->entries = (sampi_entry *)(at += size[1]);
    t->nodes.data = at += size[2];
    cache->state_of = (int32_t *)(at += size[3]);
    cache->next = (int32_t *)(at += size[4]);
    t->slots.data = at += size[5];
    t->pool.data = at + size[6];
    t->nodes.cap = g->tree.nodes.n + plan->nodes;
    t->pool.cap = g->tree.pool.n + plan->pool;
    t->slots.n = sampi_grammar_power(t->nodes.cap + t->nodes.cap / 3);
    cache->growth.facts = cache->state_of + t->nodes.cap;
    cache->n_slots = sampi_grammar_power(2 * plan->entries);
    cache->entry_slots = (int32_t *)t->slots.data + t->slots.n;
    cache->cap_states = plan->states;
    cache->cap_entries = plan->entries;
}

/* Makes a cache with only the grammar's own nodes. Returns NULL if there is no memory, or, with account->full, if the
   cache would be too large. */
static sampi_cache *sampi_cache_make(sampi_shared *h, const sampi_cache_plan *plan, sampi_account *account)
{
    const samp_grammar *g = h->grammar;
    size_t size[SAMPI_CACHE_PARTS];
    const size_t all = sampi_cache_sizes(g, plan, size);
    if (all < sizeof(sampi_cache) || all > plan->most) {
        account->full = true;
        return NULL;
    }
    sampi_cache *cache = (sampi_cache *)SAMP_MALLOC(all);
    if (!cache) return NULL;
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, all);
    SAMPI_COUNT_STEPS(all / 128);
    memset(cache, 0, sizeof *cache);
    cache->serial = sampi_next_serial();
    cache->bytes = cache->fixed = all;
    cache->most = plan->most;
    cache->shift = plan->shift;
    cache->chunk = plan->most / 64 < 512 ? 512 : plan->most / 64 > 1 << 16 ? (size_t)1 << 16 : plan->most / 64;
    sampi_tree *t = &cache->tree;
    t->rules = g->tree.rules;
    t->lists = g->tree.lists;
    t->members = g->tree.members;
    t->spare = INT64_MAX; /* no limit on making nodes; the steps of a call are limited instead */
    t->growth = &cache->growth;
    sampi_cache_divide(g, cache, plan, size);
    t->nodes.n = cache->growth.n_nodes = g->tree.nodes.n;
    t->pool.n = cache->growth.n_pool = g->tree.pool.n;
    memcpy(t->nodes.data, g->tree.nodes.data, (size_t)t->nodes.n * sizeof(sampi_expr));
    if (t->pool.n) memcpy(t->pool.data, g->tree.pool.data, (size_t)t->pool.n);
    memset(cache->state_of, 0, size[4]);
    memset(t->slots.data, 0xff, size[6]);
    for (int32_t i = 0; i < h->texts.n; i++) {
        const sampi_named *text = (const sampi_named *)h->texts.data + i;
        sampi_grammar_at(t, text->text)->c = text->token;
    }
    sampi_tree_fill_slots(t);
    memset(cache->states, 0, sizeof *cache->states);
    memset(cache->next, 0, (size_t)g->bytes.n_classes * sizeof(int32_t));
    cache->n_states = 1; /* state 0 is the dead state */
    return cache;
}

/* Returns the time of a cache's clock: the number of calls that have used the cache, divided by 8, so that calls seldom
   write a time of last use. If few calls fill a cache, the time is the number of calls itself. */
static int32_t sampi_cache_time(const sampi_cache *cache) { return SAMPI_INT_GET(&cache->n_calls) >> cache->shift; }

/* Returns the number of a state's entry (token set) at a parent's exits, or -1. *slot becomes the entry's slot in the
   hash table, or the free slot for it, in which another thread may put a different entry at any time. */
static int32_t sampi_grammar_find_entry(const sampi_cache *cache, int32_t parent, int32_t state, int32_t **slot)
{
    const uint32_t mask = (uint32_t)cache->n_slots - 1;
    uint32_t i = (uint32_t)parent * 0x9E3779B1u ^ (uint32_t)state * 0x85EBCA77u;
    for (i = (i ^ i >> 15) & mask;; i = (i + 1) & mask) {
        *slot = &cache->entry_slots[i];
        const int32_t at = SAMPI_INT_GET(*slot);
        if (at < 0 || (cache->entries[at].parent == parent && cache->entries[at].state == state)) return at;
    }
}
