/* ---- grammars: what a new cache takes over from the old one ----
   A cache keeps the nodes, states and entries that were computed for a grammar. A cache that replaces another one takes
   over its data: all if there is room, else what was used last, up to a share of the room. Nodes, states and entries
   get new numbers in the order of the old ones, so alternatives stay sorted. The old cache does not change here, but
   other calls may add to it meanwhile. This is safe, because a published element is complete, and everything that it
   refers to was published before it. So entries are listed first, then states, then the nodes that these need, and all
   of them exist. Elements that are published too late to be listed are computed again.

   A sampler's position gets the same new numbers, if all its states and nodes were taken over
   (sampi_grammar_renumber_position). */

/* Sets the time of an element's last use. An equal time is not written, so that calls which share an element seldom
   write. */
static inline void sampi_grammar_mark_used(int32_t *used, int32_t now)
{
    if (SAMPI_INT_GET(used) != now) SAMPI_INT_PUT(used, now);
}

enum { SAMPI_AGES = 124 };
typedef struct sampi_move {
    const sampi_cache *from;
    sampi_cache *to;
    int32_t own, n_classes;          /* own: how many nodes the grammar itself has; they keep their numbers */
    int32_t states_of
        [SAMPI_AGES]; /* for each class of ages (sampi_grammar_age_class): how many states have such an age */
    int32_t entries_of[SAMPI_AGES];  /* for each class of ages: how many entries have such an age */
    int32_t first;                   /* the first entry that may be chosen */
    int32_t now;                     /* the time of the old cache's clock, to which ages refer */
    sampi_cache_plan room;           /* at most this much is taken over; most: the bytes of lists and sets of bits */
    size_t most;                     /* the largest size in bytes of a cache with exactly this room */
    int32_t *nodes, *states;         /* the new number of each node and state of the old cache; 0: not taken over */
    int32_t *entries;                /* the new number of each entry of the old cache, + 1; 0: not taken over */
    int32_t *states_in, *entries_in; /* 1 if the state or entry existed when the lists were made */
    size_t n_bytes;                  /* the bytes of these arrays */
    sampi_cache_plan chosen;         /* how many elements were chosen; most: as in `room` */
} sampi_move;

/* Returns the age of the time of a last use, by the cache's clock; 0 is the newest. */
static uint32_t sampi_move_age(const sampi_move *v, const int32_t *used)
{
    const uint32_t age = (uint32_t)v->now - (uint32_t)SAMPI_INT_GET(used);
    return age > UINT32_MAX / 2 ? 0 : age;
}

/* Returns the class of an age: four classes for each power of two, 0 for the newest. */
static int32_t sampi_grammar_age_class(uint32_t age)
{
    int32_t k = 0;
    for (int32_t step = 16; step > 0; step /= 2) {
        if (age >> step < 4) continue;
        age >>= step;
        k += step;
    }
    return (int32_t)age + 4 * k;
}

/* Returns the largest age of a class. */
static uint32_t sampi_grammar_age_of_class(int32_t class_of_age)
{
    if (class_of_age < 8) return (uint32_t)class_of_age;
    const int32_t k = class_of_age / 4 - 1;
    return ((uint32_t)(class_of_age - 4 * k + 1) << k) - 1;
}
/* Returns whether member a of a node of this kind is a node; sampi_grammar_has_b does the same for b. */
static bool sampi_grammar_has_a(int kind)
{
    return kind == SAMPI_NODE_SEQ || kind == SAMPI_NODE_ALT || kind == SAMPI_NODE_AND || kind == SAMPI_NODE_REPEAT ||
           kind == SAMPI_NODE_NOT || kind == SAMPI_NODE_GROUP || kind == SAMPI_NODE_PLACED;
}

static bool sampi_grammar_has_b(int kind)
{
    return kind == SAMPI_NODE_SEQ || kind == SAMPI_NODE_ALT || kind == SAMPI_NODE_AND || kind == SAMPI_NODE_MEMBERS;
}

/* Lists all published entries and states. Entries come first, because their states are then published too. */
static void sampi_move_list(sampi_move *v)
{
    const sampi_cache *from = v->from;
    for (int32_t i = 0; i < from->n_slots; i++) {
        const int32_t at = SAMPI_INT_GET(&from->entry_slots[i]);
        if (at < 0) continue;
        v->entries_in[at] = 1;
        v->entries_of[sampi_grammar_age_class(sampi_move_age(v, &from->entries[at].used))]++;
    }
    const int32_t n = SAMPI_INT_GET(&from->growth.n_nodes);
    for (int32_t i = 0; i < n; i++) {
        const int32_t state = SAMPI_INT_GET(&from->state_of[i]);
        if (!state) continue;
        v->states_in[state] = 1;
        v->states_of[sampi_grammar_age_class(sampi_move_age(v, &from->states[state].used))]++;
    }
}

/* Returns whether an entry's mask must be copied: it is not the mask of its slot that was met last. Masks are shared by
   entries. Choosing the entries and copying them go through the same entries in the same order, so both count the same
   copies. met [SAMPI_MASKS]: the masks of the old cache that were met last, by their slots. */
static bool sampi_move_meets(const uint32_t **met, const sampi_entry *e)
{
    if (!e->bits || met[e->slot] == e->bits) return false;
    met[e->slot] = e->bits;
    return true;
}

/* Chooses the entries (token sets) that are neither older than `oldest` nor before `first`, and marks their states as
   needed. */
static void sampi_move_choose_entries(sampi_move *v, uint32_t oldest, size_t n_mask)
{
    const uint32_t *met[SAMPI_MASKS] = { NULL };
    v->chosen.entries = 0;
    for (int32_t i = 0; i < v->from->cap_entries; i++) {
        v->entries[i] = 0;
        if (!v->entries_in[i]) continue;
        const sampi_entry *e = v->from->entries + i;
        if (i < v->first || !v->states_in[e->state] || sampi_move_age(v, &e->used) > oldest) continue;
        if (e->parent >= 2 && !v->entries[e->parent / 2 - 1]) continue;
        v->entries[i] = ++v->chosen.entries;
        v->states[e->state] = 1;
        v->chosen.most += sampi_grammar_padded(sampi_move_meets(met, e) ? n_mask * 4 : 0) +
                          sampi_grammar_padded((size_t)e->n_tokens * 4) +
                          sampi_grammar_padded((size_t)e->n_exits * 4);
    }
}

/* Chooses the states that entries need and, if all entries may be chosen, those that are not older than `oldest`. Marks
   their nodes as needed. */
static void sampi_move_choose_states(sampi_move *v, uint32_t oldest)
{
    v->chosen.states = 0;
    for (int32_t i = 1; i < v->from->cap_states; i++) {
        const sampi_dfa_state *s = v->from->states + i;
        if (!v->states_in[i] || (!v->states[i] && (v->first > 0 || sampi_move_age(v, &s->used) > oldest))) {
            v->states[i] = 0;
            continue;
        }
        v->states[i] = ++v->chosen.states;
        v->chosen.most += sampi_grammar_padded((size_t)s->n_calls * sizeof(sampi_call)) + 2 * 8 * sizeof(uint32_t);
        v->nodes[s->node] = 1;
        for (int32_t c = 0; c < s->n_calls; c++) v->nodes[s->calls[c].then] = 1;
    }
}

/* Chooses the needed nodes and all nodes that are parts of them. Parts have smaller numbers than the node that contains
   them. */
static void sampi_move_choose_nodes(sampi_move *v)
{
    const sampi_tree *t = &v->from->tree;
    v->chosen.nodes = v->chosen.pool = 0;
    for (int32_t i = t->nodes.cap; i-- > v->own;) {
        if (!v->nodes[i]) continue;
        const sampi_expr *e = sampi_grammar_at(t, i);
        v->chosen.nodes++;
        if (sampi_grammar_in_pool(e->kind) && e->a >= t->pool.n) v->chosen.pool += e->b;
        if (sampi_grammar_has_a(e->kind)) v->nodes[e->a] = 1;
        if (sampi_grammar_has_b(e->kind)) v->nodes[e->b] = 1;
    }
    for (int32_t i = 0; i < v->own; i++) v->nodes[i] = i;
    for (int32_t i = v->own, n = v->own; i < t->nodes.cap; i++)
        if (v->nodes[i]) v->nodes[i] = n++;
}

/* Chooses the entries that are not older than `entries`, and the states that are not older than `states`. Returns false
   if there is not enough room for them. */
static bool sampi_move_choose(sampi_move *v, uint32_t entries, uint32_t states, const sampi_shared *h)
{
    const sampi_cache_plan *n = &v->chosen;
    size_t size[SAMPI_CACHE_PARTS];
    SAMPI_COUNT_STEPS((v->from->tree.nodes.cap + v->from->cap_states + v->from->cap_entries) / 8);
    memset(v->states, 0, (size_t)v->from->cap_states * sizeof *v->states);
    memset(v->nodes, 0, (size_t)v->from->tree.nodes.cap * sizeof *v->nodes);
    v->chosen.most = 0;
    sampi_move_choose_entries(v, entries, h->n_mask);
    if (n->entries > v->room.entries || n->most > v->room.most) return false;
    sampi_move_choose_states(v, states);
    if (n->states > v->room.states || n->most > v->room.most) return false;
    sampi_move_choose_nodes(v);
    return n->nodes <= v->room.nodes && n->pool <= v->room.pool &&
           sampi_cache_sizes(h->grammar, n, size) + n->most <= v->most;
}

/* Copies the chosen nodes. Their parts get new numbers, and their bytes get new positions in the pool. */
static void sampi_move_nodes(const sampi_move *v)
{
    const sampi_tree *t = &v->from->tree;
    sampi_tree *to = &v->to->tree;
    enum { PROBES = 64 };
    sampi_node *slots = (sampi_node *)to->slots.data;
    const uint32_t mask = (uint32_t)to->slots.n - 1;
    for (int32_t i = v->own; i < t->nodes.cap; i++) {
        if (!v->nodes[i]) continue;
        sampi_expr e = *sampi_grammar_at(t, i);
        if (sampi_grammar_in_pool(e.kind) && e.a >= t->pool.n) {
            const int32_t at = v->to->growth.n_pool;
            memcpy((uint8_t *)to->pool.data + at, sampi_grammar_bytes_at(t, e.a), (size_t)e.b);
            v->to->growth.n_pool += e.b;
            e.a = at;
        }
        if (sampi_grammar_has_a(e.kind)) e.a = v->nodes[e.a];
        if (sampi_grammar_has_b(e.kind)) e.b = v->nodes[e.b];
        *sampi_grammar_at(to, v->nodes[i]) = e;
        v->to->growth.facts[v->nodes[i]] = SAMPI_INT_GET(&v->from->growth.facts[i]);
        /* All nodes differ from each other, so no node is compared. A node for which the table has no slot is made
           again when it is next needed. */
        uint32_t slot = sampi_grammar_node_hash(to, e.kind, e.a, e.b, e.c) & mask;
        for (int32_t probes = 0; slots[slot] >= 0 && probes < PROBES; probes++) slot = (slot + 1) & mask;
        if (slots[slot] < 0) slots[slot] = v->nodes[i];
    }
    v->to->growth.n_nodes = v->own + v->chosen.nodes;
}

/* Copies n bytes into the chunk that was allocated for all copies. Returns NULL if n is 0. */
static void *sampi_move_bytes(sampi_chunk *chunk, const void *bytes, size_t n)
{
    if (!bytes || n == 0) return NULL;
    void *room = (char *)(chunk + 1) + chunk->used;
    memcpy(room, bytes, n);
    chunk->used += sampi_grammar_padded(n);
    return room;
}

/* Copies the chosen states. A next state that was not chosen is marked as not computed. */
static void sampi_move_states(const sampi_move *v, sampi_chunk *chunk)
{
    sampi_cache *to = v->to;
    for (int32_t i = 1; i < v->from->cap_states; i++) {
        if (!v->states[i]) continue;
        sampi_dfa_state *s = v->from->states + i, *made = to->states + v->states[i];
        made->node = v->nodes[s->node];
        made->flags = s->flags;
        made->n_calls = s->n_calls;
        made->used = (int32_t)(0u - sampi_move_age(v, &s->used));
        made->single_kinds = SAMPI_INT_GET(&s->single_kinds);
        for (int k = 0; k < 2; k++) made->run[k] = SAMPI_INT_GET(&s->run[k]);
        const int32_t near = SAMPI_INT_GET(&s->near), at = v->states[near >> 2];
        made->near = at || near == SAMPI_NEAR_MET ? at << 2 | (near & 3) : 0;
        sampi_call *calls = (sampi_call *)sampi_move_bytes(chunk, s->calls, (size_t)s->n_calls * sizeof *calls);
        for (int32_t c = 0; c < s->n_calls; c++) calls[c].then = v->nodes[calls[c].then];
        made->calls = calls;
        made->next_classes = (uint32_t *)sampi_move_bytes(chunk, SAMPI_PTR_GET(&s->next_classes),
                                                          8 * sizeof(uint32_t));
        made->call_classes = (uint32_t *)sampi_move_bytes(chunk, SAMPI_PTR_GET(&s->call_classes),
                                                          8 * sizeof(uint32_t));
        to->state_of[made->node] = v->states[i];
        const int32_t *row = v->from->next + (size_t)i * (size_t)v->n_classes;
        int32_t *next = to->next + (size_t)v->states[i] * (size_t)v->n_classes;
        for (int32_t c = 0; c < v->n_classes; c++) {
            const int32_t to_state = SAMPI_INT_GET(&row[c]);
            next[c] = to_state <= 0 ? to_state : v->states[to_state] ? v->states[to_state] : -1;
        }
    }
    to->n_states = 1 + v->chosen.states;
}

/* Copies the chosen entries, and enters them into the hash table. */
static void sampi_move_entries(const sampi_move *v, sampi_chunk *chunk, size_t n_mask)
{
    sampi_cache *to = v->to;
    const uint32_t *met[SAMPI_MASKS] = { NULL };
    for (int32_t i = 0; i < v->from->cap_entries; i++) {
        if (!v->entries[i]) continue;
        const sampi_entry *e = v->from->entries + i;
        sampi_entry *made = to->entries + v->entries[i] - 1;
        made->parent = e->parent < 2 ? e->parent : 2 * v->entries[e->parent / 2 - 1] + e->parent % 2;
        made->state = v->states[e->state];
        made->used = (int32_t)(0u - sampi_move_age(v, &e->used));
        made->n_tokens = e->n_tokens;
        made->n_exits = e->n_exits;
        made->slot = e->slot;
        if (sampi_move_meets(met, e)) to->masks[e->slot] = (uint32_t *)sampi_move_bytes(chunk, e->bits, n_mask * 4);
        made->bits = e->bits ? to->masks[e->slot] : NULL;
        made->tokens = (const int32_t *)sampi_move_bytes(chunk, e->tokens, (size_t)e->n_tokens * 4);
        made->exits = (const uint32_t *)sampi_move_bytes(chunk, e->exits, (size_t)e->n_exits * 4);
        int32_t *at;
        (void)sampi_grammar_find_entry(to, made->parent, made->state, &at);
        *at = v->entries[i] - 1;
    }
    to->n_entries = v->chosen.entries;
}

/* Returns the first class of ages of which there are too many elements for the room, estimated from their numbers.
   `states` is as in sampi_move_find_class. */
static int32_t sampi_move_too_old(const sampi_move *v, uint32_t states)
{
    const double nodes = (double)(SAMPI_INT_GET(&v->from->growth.n_nodes) - v->own) /
                         (double)SAMPI_INT_GET(&v->from->n_states); /* the mean number of nodes of a state */
    int32_t at = 0, n_states = 0, n_entries = 0;
    for (; at < SAMPI_AGES; at++) {
        n_entries += v->entries_of[at];
        n_states += sampi_grammar_age_of_class(at) <= states ? v->states_of[at] : v->entries_of[at];
        if (n_states > v->room.states || n_entries > v->room.entries || nodes * n_states > v->room.nodes) break;
    }
    return at;
}

/* Returns nearly the oldest class of ages up to which elements can be chosen: entries and states (`states` is
   UINT32_MAX), or entries alone if `states` is the largest age of states. `fits` is a class for which there is room, or
   -1. Few classes are tried, because each try looks at all elements. */
static int32_t sampi_move_find_class(sampi_move *v, int32_t fits, uint32_t states, int32_t tries,
                                     const sampi_shared *h)
{
    enum { NEAR = 3 };
    int32_t too_old = sampi_move_too_old(v, states), at = too_old - 1;
    for (int32_t n = 1; too_old - fits > 1 && (n <= tries || fits < 0); n++) {
        const uint32_t age = sampi_grammar_age_of_class(at);
        if (sampi_move_choose(v, age, states < age ? states : age, h))
            fits = at;
        else
            too_old = at;
        at = fits < 0 && n < NEAR ? too_old - 1 : fits + (too_old - fits) / 2;
    }
    return fits;
}

/* Chooses the elements that were used last, nearly as many as there is room for: entries also beyond the age at which
   states are too many, because they cost more to compute. If the elements of one call alone are too many, its last
   entries are chosen, without the states that were only needed to make them. Returns false if no state was chosen. */
static bool sampi_move_choose_all(sampi_move *v, const sampi_shared *h)
{
    const int32_t taken = SAMPI_INT_GET(&v->from->n_entries),
                  n = taken < v->from->cap_entries ? taken : v->from->cap_entries;
    sampi_move_list(v);
    const int32_t fits = sampi_move_find_class(v, -1, UINT32_MAX, 6, h);
    if (fits < 0) {
        do {
            v->first += n - v->first < 2 ? 1 : (n - v->first) / 2;
            if (v->first >= n) return false;
        } while (!sampi_move_choose(v, 0, 0, h));
        return v->chosen.states > 0;
    }
    uint32_t states = sampi_grammar_age_of_class(fits),
             entries = sampi_grammar_age_of_class(sampi_move_find_class(v, fits, states, 2, h));
    while (!sampi_move_choose(v, entries, states, h)) { /* other calls have used more elements meanwhile */
        if (entries == 0) return false;
        entries /= 2;
        if (states > entries) states = entries;
    }
    return v->chosen.states > 0;
}

/* Copies the chosen elements into `to`. Returns false if there is no memory; then nothing has changed. */
static bool sampi_move_copy(sampi_move *v, sampi_shared *h)
{
    const size_t whole = sizeof(sampi_chunk) + v->chosen.most;
    sampi_chunk *chunk = (sampi_chunk *)SAMP_MALLOC(whole);
    if (!chunk) return false;
    SAMPI_COUNT_STEPS(whole / 128 + (size_t)(v->chosen.nodes + v->chosen.states * v->n_classes / 8));
    chunk->behind = NULL;
    chunk->size = v->chosen.most;
    chunk->used = 0;
    v->to->chunks = chunk;
    v->to->bytes += whole;
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, whole);
    sampi_move_nodes(v);
    sampi_move_states(v, chunk);
    sampi_move_entries(v, chunk, h->n_mask);
    return true;
}

/* Prepares a copy of elements (nodes, states, entries) of the cache `from` into a new cache. room: how many elements of
   each kind may be copied; most: how many bytes a cache of just these may have. Returns false if there is no memory. */
static bool sampi_move_begin(sampi_move *v, sampi_shared *h, const sampi_cache *from, const sampi_cache_plan *room,
                             size_t most)
{
    const size_t nodes = (size_t)from->tree.nodes.cap, states = (size_t)from->cap_states,
                 entries = (size_t)from->cap_entries, work = states + 2 * entries;
    memset(v, 0, sizeof *v);
    v->from = from;
    v->own = h->grammar->tree.nodes.n;
    v->n_classes = h->grammar->bytes.n_classes;
    v->now = sampi_cache_time(from);
    v->room = *room;
    v->most = most;
    v->n_bytes = sampi_cache_tables(from);
    v->nodes = (int32_t *)SAMP_MALLOC((nodes + states) * sizeof(int32_t));
    v->entries = (int32_t *)SAMP_MALLOC(work * sizeof(int32_t));
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, v->n_bytes);
    if (!v->nodes || !v->entries) return false;
    v->states = v->nodes + nodes;
    v->entries_in = v->entries + entries;
    v->states_in = v->entries_in + entries;
    memset(v->entries, 0, work * sizeof(int32_t));
    return true;
}

/* Ends the taking over. If `moved` is true, the new cache keeps the table of new numbers. */
static void sampi_move_end(sampi_move *v, sampi_shared *h, bool moved)
{
    const size_t stays = ((size_t)v->from->tree.nodes.cap + (size_t)v->from->cap_states) * sizeof(int32_t);
    if (moved) {
        v->to->moved = v->nodes;
        v->to->moved_from = v->from->serial;
        v->to->moved_states = v->from->tree.nodes.cap;
        v->to->n_moved = v->to->moved_states + v->from->cap_states;
        v->to->bytes += stays;
        v->n_bytes -= stays;
    } else {
        SAMP_FREE(v->nodes);
    }
    SAMP_FREE(v->entries);
    (void)SAMPI_SIZE_ADD(&h->account.cache_bytes, (size_t)0 - v->n_bytes);
}

/* Returns a plan (sizes of a cache) with 1 / share of the room of another plan. */
static sampi_cache_plan sampi_move_share(const sampi_shared *h, sampi_cache_plan plan, int32_t share)
{
    size_t size[SAMPI_CACHE_PARTS];
    const size_t fixed = sampi_cache_sizes(h->grammar, &plan, size);
    plan.nodes /= share;
    plan.pool /= share;
    plan.states = plan.states / share - 1;
    plan.entries /= share;
    plan.most = plan.most > fixed ? (plan.most - fixed) / (size_t)share : 0;
    return plan;
}

/* Copies the elements that the old cache used last into a new cache, up to 1 / share of the new cache's room. No other
   thread may see the new cache yet. It stays empty if there is no memory. */
static void sampi_move_into(sampi_shared *h, sampi_cache *to, const sampi_cache_plan *plan, const sampi_cache *from,
                            int32_t share)
{
    sampi_move v;
    const sampi_cache_plan room = sampi_move_share(h, *plan, share);
    bool moved = sampi_move_begin(&v, h, from, &room, SIZE_MAX);
    v.to = to;
    moved = moved && sampi_move_choose_all(&v, h) && sampi_move_copy(&v, h);
    sampi_move_end(&v, h, moved);
}

/* Copies the elements that the old cache used last into a small cache of at most `most` bytes. It keeps them where the
   memory limit has no room for both the old and the new cache. Returns NULL if no element is kept. */
static sampi_cache *sampi_move_between(sampi_shared *h, const sampi_cache *from, const sampi_cache_plan *plan,
                                       int32_t share, size_t most)
{
    sampi_move v;
    sampi_account account = { 0, 0, 0, &h->account, false, SIZE_MAX };
    const sampi_cache_plan room = sampi_move_share(h, *plan, share);
    const size_t tables = sampi_cache_tables(from);
    if (most < tables) return NULL;
    bool moved = sampi_move_begin(&v, h, from, &room, most - tables) && sampi_move_choose_all(&v, h);
    if (moved) {
        sampi_cache_plan exact = v.chosen;
        exact.states++;
        exact.most = SIZE_MAX;
        v.to = sampi_cache_make(h, &exact, &account);
        moved = v.to && sampi_move_copy(&v, h);
    }
    if (v.to && !moved) sampi_cache_free(h, v.to);
    sampi_move_end(&v, h, moved);
    return moved ? v.to : NULL;
}

/* Joins two tables of new numbers into one: from the old cache to the small one, and from there to the new cache. */
static void sampi_move_through(const sampi_shared *h, sampi_cache *to, sampi_cache *between)
{
    const int32_t own = h->grammar->tree.nodes.n, n_moved = to->n_moved;
    int32_t *second = to->moved, *first = between->moved;
    if (to->moved_from != between->serial) return;
    for (int32_t i = own; i < between->moved_states; i++)
        first[i] = second[first[i]]; /* 0 (a node that was not copied) stays 0: node 0 is SAMPI_NEVER in all caches */
    for (int32_t i = between->moved_states; i < between->n_moved; i++)
        if (first[i]) first[i] = second[to->moved_states + first[i]];
    to->bytes += (size_t)(between->n_moved - n_moved) * sizeof(int32_t);
    between->bytes -= (size_t)(between->n_moved - n_moved) * sizeof(int32_t);
    to->moved = first;
    to->moved_from = between->moved_from;
    to->moved_states = between->moved_states;
    to->n_moved = between->n_moved;
    between->moved = second;
}
