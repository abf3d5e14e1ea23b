/* ---- grammars: masks that are made ahead ----
   samp_grammar_warm computes entries (tokens that a state allows) before a text needs them. It has a matcher of its own
   and a queue of places: positions of this matcher behind texts that it has followed. The first place is the beginning
   of a text. A visit to a place makes the entries of its mask, as samp_grammar_prepare does, and then queues the places
   behind the tokens that may come next.

     Which tokens these are: a walk over the tries reads them, and does not go on where the place was met before. So it
     follows one token of all those that go on within a string, and each listed name as far as one token reaches.
     Which place is visited first: that of the least rank, and of equal ranks the one that was found first (breadth
     first). A place has rank 0 if the mask before it took work, because a text that comes upon new masks will meet more
     of them. Otherwise it has the rank before it and one more. If a longer token leads to another new place, the rank
     is higher by one. So a text of known masks is followed for a while, and then given up.

   All places share the matcher's frames and edges. Their items lie in the array of its earlier positions, so a new
   cache gives them new numbers (sampi_grammar_renumber_position). The work ends where the cache has no room and cannot
   become larger: nothing that is kept is dropped for it. */

enum { SAMPI_WARM_RANKS = 8, SAMPI_WARM_PLACES = 1 << 12 };

/* A place that waits for a visit; its n items follow those of the places before it. */
typedef struct sampi_warm_place {
    int32_t n, rank;
} sampi_warm_place;

/* Adds the place of the items [from, to) to those that were met: a hash of their states, and of what follows the calls
   that they are in. Returns whether it is new. */
static bool sampi_grammar_warm_meets(sampi_warming *w, int32_t from, int32_t to)
{
    sampi_matcher *m = w->m;
    uint64_t hash = 0;
    for (int32_t i = from; i < to && sampi_grammar_step(&m->d); i++) {
        const sampi_item *item = sampi_grammar_item_at(m, i);
        sampi_mix(&hash, (uint64_t)item->state);
        for (int32_t e = sampi_grammar_frame_at(m, item->frame)->edge; e >= 0; e = sampi_grammar_edge_at(m, e)->next)
            sampi_mix(&hash, (uint64_t)sampi_grammar_edge_at(m, e)->then << 32 |
                                 (uint32_t)sampi_grammar_edge_at(m, e)->member);
    }
    return to > from &&
           sampi_grammar_pairs_add(&m->d, &w->met, (int32_t)(uint32_t)(hash >> 32), (int32_t)(uint32_t)hash);
}

/* Queues the place of the items [from, to). */
static void sampi_grammar_warm_queue(sampi_warming *w, int32_t from, int32_t to, int32_t rank)
{
    sampi_matcher *m = w->m;
    if (rank >= SAMPI_WARM_RANKS || w->places.n == SAMPI_WARM_PLACES || m->d.status) return;
    sampi_warm_place *place = (sampi_warm_place *)sampi_grammar_append(&m->d, &w->places, sizeof *place, 1);
    if (!place) return;
    place->n = to - from;
    place->rank = rank;
    if (sampi_grammar_keep_items(m, sampi_grammar_item_at(m, from), place->n))
        w->n_items += place->n;
    else
        w->places.n--;
}

/* Goes to the place that is to be visited next. Returns 1; 0 if there is none; or a status. */
static int sampi_grammar_warm_next(sampi_warming *w)
{
    sampi_matcher *m = w->m;
    sampi_warm_place *places = (sampi_warm_place *)w->places.data, next = { 0, SAMPI_WARM_RANKS };
    int32_t at = 0, first = 0;
    for (int32_t i = 0, before = 0; i < w->places.n && next.rank > 0; before += places[i++].n)
        if (places[i].rank < next.rank) {
            next = places[i];
            at = i;
            first = before;
        }
    m->items.n = m->n_now = 0;
    if (next.n == 0) return 0;
    if (!sampi_grammar_vec_add(&m->items, sizeof(sampi_item), next.n))
        return m->d.account.full ? SAMP_E_FULL : SAMP_E_NOMEM;
    sampi_item *items = (sampi_item *)m->past.data + first;
    memcpy(m->items.data, items, (size_t)next.n * sizeof *items);
    m->n_now = next.n;
    m->past.n = w->n_items -= next.n;
    memmove(items, items + next.n, (size_t)(w->n_items - first) * sizeof *items);
    memmove(places + at, places + at + 1, (size_t)(--w->places.n - at) * sizeof *places);
    w->rank = next.rank;
    sampi_grammar_discard_prepared(m);
    return 1;
}

/* Queues the places of the levels `to` .. `from` of the walk, the deepest one first, if a token ends there, or if no
   longer one was queued: as the place counts as met, another token that ends there would not be followed. They keep
   their frames and edges: *kept gets the numbers that must not be dropped. In a level, `calls` means that a token ends
   at its node, and `usual` is 1 if a longer token was queued. */
static void sampi_grammar_warm_leave(sampi_warming *w, uint32_t from, uint32_t to, int32_t rank, sampi_level *kept)
{
    for (sampi_level *level = w->m->level; from >= to && from > 0; from--) {
        if (!level[from].calls && level[from].usual) continue;
        sampi_grammar_warm_queue(w, level[from - 1].items, level[from].items,
                         rank + (level[from].usual || !level[from].calls));
        if (level[from].frames > kept->frames) kept->frames = level[from].frames;
        if (level[from].edges > kept->edges) kept->edges = level[from].edges;
        for (uint32_t i = 1; i < from; i++) level[i].usual = 1;
    }
}

/* Walks over the nodes [i, end) of a trie, below its root, and queues the places behind its tokens. In the trie of
   tokens that are not plain, tokens that end within a character are not followed (plain: false). */
static void sampi_grammar_warm_walk(sampi_warming *w, uint32_t i, uint32_t end, bool plain, int32_t rank,
                                    sampi_level *kept)
{
    sampi_matcher *m = w->m;
    const uint32_t *nodes = m->index->nodes;
    sampi_level *level = m->level;
    uint32_t deepest = 0;
    level[0] = sampi_grammar_mark(m);
    while (i < end && sampi_grammar_step(&m->d)) {
        const uint32_t head = nodes[2 * (size_t)i], size = nodes[2 * (size_t)i + 1] >> 10,
                       depth = nodes[2 * (size_t)i + 1] & 1023;
        sampi_grammar_warm_leave(w, deepest, depth, rank, kept);
        deepest = depth - 1;
        sampi_level before = level[deepest];
        if (before.frames < kept->frames) before.frames = kept->frames;
        if (before.edges < kept->edges) before.edges = kept->edges;
        sampi_grammar_drop(m, before);
        const int32_t from = deepest > 0 ? level[deepest - 1].items : 0;
        if ((!plain && (uint8_t)head >= 0x80) || !sampi_grammar_advance(m, from, before.items, (uint8_t)head) ||
            !sampi_grammar_warm_meets(w, before.items, m->items.n)) {
            i += size;
            continue;
        }
        level[depth] = sampi_grammar_mark(m);
        level[depth].calls = head >> 8 != SAMPI_NO_TOKEN;
        deepest = depth;
        i++;
    }
    sampi_grammar_warm_leave(w, deepest, 1, rank, kept);
    m->items.n = level[0].items;
    m->frames.n = kept->frames;
    m->edges.n = kept->edges;
}

/* Queues the places behind the tokens that the grammar names by their numbers. */
static void sampi_grammar_warm_named(sampi_warming *w, int32_t rank)
{
    sampi_matcher *m = w->m;
    for (int32_t i = 0; i < m->n_now; i++) {
        const sampi_dfa_state *s = sampi_grammar_dfa_state_at(m, sampi_grammar_item_at(m, i)->state);
        for (int32_t c = 0; c < s->n_calls && (s->flags & SAMPI_STATE_TOKENS) && sampi_grammar_step(&m->d); c++) {
            if (s->calls[c].rule >= 0 || s->calls[c].negated) continue;
            m->items.n = m->n_now;
            sampi_grammar_accept_named(m, s->calls[c].token, false);
            if (sampi_grammar_warm_meets(w, m->n_now, m->items.n))
                sampi_grammar_warm_queue(w, m->n_now, m->items.n, rank);
        }
    }
    m->items.n = m->n_now;
}

/* Returns whether three quarters of the room in the cache are used: the rest is left to the texts, which would
   otherwise wait for a new cache soon. */
static bool sampi_grammar_warm_fills(const sampi_matcher *m)
{
    int32_t room[4], used[4];
    const sampi_cache *cache = m->cache;
    bool fills = SAMPI_SIZE_GET(&cache->bytes) > cache->most - cache->most / 4;
    sampi_cache_numbers(m->shared, cache, room, used);
    for (int i = 0; i < 4; i++) fills |= used[i] > room[i] - room[i] / 4;
    return fills;
}

/* Queues the places behind the one that was visited. Returns how many steps this took. */
static int64_t sampi_grammar_warm_follow(sampi_warming *w, int32_t rank)
{
    enum { MOST = 1 << 16 };
    sampi_matcher *m = w->m;
    const int32_t n_places = w->places.n, n_items = w->n_items;
    int64_t steps = 0;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);) {
        if (m->past.n != n_items) continue; /* the places were lost */
        sampi_level kept = sampi_grammar_mark(m);
        if (w->met_of != m->cache->serial) sampi_grammar_pairs_clear(&w->met);
        w->met_of = m->cache->serial;
        m->d.budget = MOST;
        sampi_grammar_warm_walk(w, 1, m->index->n_plain, true, rank, &kept);
        sampi_grammar_warm_walk(w, m->index->n_plain + 1, m->index->n_nodes, false, rank, &kept);
        sampi_grammar_warm_named(w, rank);
        steps += MOST - m->d.budget;
        m->items.n = m->n_now;
        /* a walk that takes too many steps ends, and leaves the places that it has queued */
        if (m->d.status == SAMP_E_FULL && !m->d.account.full) m->d.status = SAMP_OK;
        if (!m->d.status && sampi_grammar_warm_fills(m)) sampi_cache_is_full(m);
        if (!m->d.status) continue;
        m->past.n = w->n_items = n_items; /* the frames of new places are dropped with the work */
        w->places.n = n_places;
    }
    return steps;
}

/* Makes what a grammar's first call of samp_grammar_warm needs: a matcher at the beginning of a text. Returns NULL and
   sets *status if there is no memory, or the matcher cannot be made. */
static sampi_warming *sampi_grammar_warming_make(sampi_shared *h, int *status)
{
    sampi_warming *w = (sampi_warming *)SAMP_MALLOC(sizeof *w);
    *status = SAMP_E_NOMEM;
    if (!w) return NULL;
    memset(w, 0, sizeof *w);
    w->m = sampi_matcher_blank(h);
    if (w->m) {
        enum { MOST = 1 << 20 };
        w->places.account = w->met.slots.account = &w->m->d.account;
        w->m->warming = true;
        w->m->max_steps = MOST;
        *status = sampi_matcher_make(w->m);
        (void)SAMPI_INT_ADD(&h->n_users, -1); /* it counts as a sampler only during a call */
    }
    if (!*status) return w;
    if (w->m) (void)SAMPI_INT_ADD(&h->n_users, 1);
    if (w->m) sampi_matcher_free(w->m);
    SAMP_FREE(w);
    return NULL;
}

/* Visits places until `budget` steps are done. *steps gets their number. Returns 1 if there is more to do, 0 if there
   is not, or a status. */
static int sampi_grammar_warm_visit(sampi_warming *w, int64_t budget, int64_t *steps)
{
    enum { SOME = 256 }; /* a mask that takes more steps than this is news */
    sampi_matcher *m = w->m;
    for (*steps = 0; *steps < budget;) {
        int status = w->rank < 0 ? sampi_grammar_warm_next(w) : 1;
        if (status != 1) return status;
        const int64_t before = m->spent;
        status = sampi_matcher_prepare(m, budget - *steps);
        *steps += 1 + m->spent - before;
        if (status == 1) {
            *steps += sampi_grammar_warm_follow(w, m->spent > SOME ? 0 : w->rank + 1);
            w->rank = -1;
        }
        if (m->d.status) return m->d.status;
        if (m->past.n != w->n_items) return 0; /* other calls have renewed the cache, which is full */
    }
    return 1;
}

SAMP_API int64_t samp_grammar_warm(const samp_vocab_index *index, const samp_grammar *grammar, int64_t budget)
{
    int status = SAMP_OK;
    int64_t steps = 0;
    if (!index || !grammar) return SAMP_E_NULL;
    if (budget < 1) return SAMP_E_RANGE;
    sampi_shared *h = sampi_grammar_shared_of(index, grammar);
    if (!h) return SAMP_E_NOMEM;
    if (h->status) return h->status;
    if (!SAMPI_INT_CAS(&h->is_warming, 0, 1)) return 0; /* another thread does it */
    (void)SAMPI_INT_ADD(&h->n_users, 1);
    if (!h->is_warm && !h->warming) h->warming = sampi_grammar_warming_make(h, &status);
    if (h->warming) status = sampi_grammar_warm_visit(h->warming, budget, &steps);
    if (h->warming && (status == SAMP_OK || status == SAMP_E_FULL)) {
        h->is_warm = true;
        sampi_grammar_warming_free(h);
    }
    (void)SAMPI_INT_ADD(&h->n_users, -1);
    SAMPI_INT_PUT(&h->is_warming, 0);
    return status < 0 && status != SAMP_E_FULL ? status : steps;
}
