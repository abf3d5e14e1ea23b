/* ---- grammars: entries ----
   An entry keeps what an item of a state allows within its frame: the allowed tokens (a list while they are few), and
   the entry's exits, the nodes of the trie where the frame ends and from which the caller continues. Plain tokens are
   found first: those of the state's run (any text of certain characters is allowed) without a walk, the others by a
   walk over the trie. */

enum {
    SAMPI_NEAR_PATIENCE = 128, /* how many nodes are visited for a node with counts that are far from bounds */
    SAMPI_SHORT = 24           /* tokens of at most so many bytes are short (sampi_grammar_short_entry) */
};

/* Adds to `bits`, which has no bit set, the tokens of at most `reach` characters that are all of these kinds. */
static void sampi_grammar_take_run(sampi_matcher *m, uint32_t kinds, int32_t reach, uint32_t *bits)
{
    const samp_vocab_index *index = m->index;
    const uint32_t *group = index->groups, *listed = index->listed;
    const uint32_t most = reach < 255               ? (uint32_t)reach
                          : reach < SAMPI_MAX_PIECE ? 254
                                                    : 255; /* 255 in the index's list means 255 characters or more */
    sampi_grammar_charge(&m->d, (int32_t)(index->n_listed / 16));
    const bool rather_clear = sampi_grammar_tokens_of_kinds(index, kinds) > index->n_listed / 2;
    if (rather_clear) memcpy(bits, index->plain, index->n_mask * (size_t)4);
    for (uint32_t g = 0; g < index->n_groups; g++) {
        uint32_t i = group[2 * g + 1], end = group[2 * g + 3];
        const bool in = !(group[2 * g] & ~kinds);
        if (rather_clear) {
            for (; end > i && !(in && listed[end - 1] >> 24 <= most); end--) {
                const uint32_t token = listed[end - 1] & SAMPI_NO_TOKEN;
                bits[token / 32] &= ~(1u << token % 32);
            }
        } else if (in) {
            for (; i < end && listed[i] >> 24 <= most; i++) sampi_grammar_set_bit(bits, listed[i] & SAMPI_NO_TOKEN);
        }
    }
}

/* Returns the state to which most printable ASCII characters lead, or 0. *n_live: how many of them are allowed. */
static int32_t sampi_grammar_usual_next(sampi_matcher *m, int32_t state, int32_t *n_live)
{
    int32_t usual = 0, lead = 0, n = 0;
    *n_live = 0;
    /* Boyer and Moore's majority vote: only the candidate that remains can have more than half of the characters. */
    for (int32_t b = 0x20; b < 0x7f; b++) {
        const int32_t next = sampi_grammar_next(m, state, (uint8_t)b);
        *n_live += next != 0;
        if (lead == 0) usual = next;
        lead += next == usual ? 1 : -1;
    }
    for (int32_t b = 0x20; b < 0x7f && usual; b++) n += sampi_grammar_next(m, state, (uint8_t)b) == usual;
    return n > 64 ? usual : 0;
}

/* Returns the run with which the walk for a state begins. It is usually the state's own run. But if most characters
   lead to another state that allows all characters of some kinds (as at the beginning of a name that is not listed), it
   is the run of that state, unless it leaves out many tokens that the state's own run has. */
static sampi_first_run sampi_grammar_find_first_run(sampi_matcher *m, int32_t state, bool keep, sampi_entry *entry)
{
    enum { FEW = 6, LONG = 12 };
    int32_t n_live;
    sampi_first_run start = { 0, 0, 0, true, false };
    const int32_t usual = sampi_grammar_usual_next(m, state, &n_live);
    const sampi_run_condition leads_there = { SAMPI_STATE_CALLS | (keep ? SAMPI_STATE_ENDS : 0), 0, usual };
    sampi_free_run run = { 0, 0, false, false };
    if (usual && usual != state) run = sampi_grammar_run_of(m, usual, keep, false);
    start.sure = run.reach < INT32_MAX || run.kinds == 0;
    if (n_live < FEW || m->d.status) return start;
    if (!start.sure) {
        const sampi_free_run own = sampi_grammar_most_tokens(m->index, run.kinds)
                                       ? run
                                       : sampi_grammar_run_of(m, state, keep, true);
        start.sure = own.reach >= LONG && sampi_grammar_tokens_of_kinds(m->index, own.kinds) >
                                              sampi_grammar_tokens_of_kinds(m->index, run.kinds);
    }
    if (!start.sure) start.to_usual = sampi_grammar_kinds_only(m, state, leads_there);
    if (start.sure) run = sampi_grammar_run_of(m, state, keep, true);
    start.kinds = run.kinds;
    start.reach = run.reach;
    start.stops = start.sure && run.stops;
    if (start.kinds && start.reach && !m->d.status) sampi_grammar_entry_widen(m, entry);
    if (!entry->bits) start.kinds = 0;
    if (entry->bits) sampi_grammar_take_run(m, start.kinds, start.reach, entry->bits);
    return start;
}

/* Returns whether n characters of these kinds are within a run: its kinds, and its largest number of characters. */
static bool sampi_grammar_within(uint32_t kinds, uint32_t n, uint32_t run_kinds, int32_t run_reach)
{
    return !(kinds & ~run_kinds) && n <= (uint32_t)run_reach;
}

/* Finds the plain tokens (of ordinary characters) that an item allows. First the tokens of a run (any text of certain
   characters) are added. Then the walk visits the nodes of the trie that may differ from the run: other tokens are
   added, and if the run is not sure to hold for this state, some of its tokens are removed. If a rule is called or a
   frame (the place to which a called rule returns) ends at a node, sampi_grammar_walk is called for this node and all
   nodes below it. at->node has the meaning of *node in sampi_grammar_walk: the node at which the walk begins, or
   where it must continue after an error. usual: as in sampi_grammar_walk; the entry then needs no run. */
static void sampi_grammar_walk_plain(sampi_matcher *m, sampi_item item, int32_t usual, bool keep, sampi_entry *entry,
                             sampi_progress *at)
{
    const uint32_t *nodes = m->index->nodes;
    const uint32_t first = at->node;
    if (!at->begun && !m->like) at->start = sampi_grammar_find_first_run(m, item.state, keep, entry);
    const sampi_first_run start = at->start;
    at->begun = !m->d.status;
    sampi_plain_level *level = m->plain;
    memset(level, 0, sizeof *level);
    level[0].state = item.state;
    level[0].usual = usual;
    for (uint32_t i = 1; i < m->index->n_plain && !m->d.status;) {
        const uint32_t head = nodes[2 * (size_t)i], size = nodes[2 * (size_t)i + 1] >> 10;
        if (i + size <= first) {
            i += size;
            continue;
        }
        at->node = i < first ? first : i;
        m->d.budget += i < first;
        if (!sampi_grammar_step(&m->d)) break;
        const uint32_t depth = nodes[2 * (size_t)i + 1] & 1023, below = m->index->below[i];
        const uint8_t byte = (uint8_t)head;
        const sampi_plain_level *before = &level[depth - 1];
        const uint32_t kind = 1u << m->index->kind_of[byte], all_kinds = kind | (below & SAMPI_ALL_KINDS),
                       n = (byte & 0xc0) != 0x80, all_n = n + (below >> 16);
        const bool started = sampi_grammar_within(before->kinds | kind, before->length + n, start.kinds, start.reach),
                   inside = started &&
                            sampi_grammar_within(all_kinds, before->length + all_n, start.kinds, start.reach),
                   beyond = start.stops && !((before->kinds | all_kinds) & ~start.kinds);
        if (m->far && depth + ((below >> 16) << (below >> SAMPI_KIND_WIDE & 1 ? 2 : 0)) <= m->far) {
            i += size;
            continue;
        }
        if ((inside && start.sure) || beyond) {
            i += size;
            continue;
        }
        if (before->expects == 0 && (sampi_grammar_within_run(all_kinds, all_n, before->run) ||
                                     (depth == 1 && inside && (start.to_usual & kind)))) {
            if (!entry->bits) sampi_grammar_entry_widen(m, entry);
            if (!inside && entry->bits) sampi_grammar_set_below(m, i, entry->bits, true);
            sampi_grammar_take_exits(m, i, true);
            sampi_grammar_take_exits(m, i + size, false);
            i += size;
            continue;
        }
        const int32_t next = sampi_grammar_next(m, before->state, byte),
                      flags = sampi_grammar_dfa_state_at(m, next)->flags;
        usual = before->usual ? sampi_grammar_next(m, before->usual, byte) : 0;
        if (m->d.status) break;
        if (usual && usual == next) {
            i += size;
            continue;
        }
        if (usual) usual = sampi_grammar_leave_usual(m, entry, i, next, usual);
        if (m->far && (depth == m->far + 1 || (flags & (SAMPI_STATE_CALLS | SAMPI_STATE_ENDS))))
            sampi_grammar_leave_below(m, entry, i);
        if (!next || (flags & SAMPI_STATE_CALLS) || (keep && (flags & SAMPI_STATE_ENDS))) {
            if (started && !start.sure) sampi_grammar_set_below(m, i, entry->bits, false);
            if (next) {
                const sampi_level mark = sampi_grammar_mark(m);
                const int32_t n_tokens = m->tokens.n, n_exits = m->exits.n;
                uint32_t node = 0;
                sampi_grammar_push_item(m, before->state, item.frame);
                sampi_grammar_walk(m, i, i + size, m->items.n - 1, m->items.n, 0, entry, &node);
                sampi_grammar_drop(m, mark);
                if (m->d.status) { /* the walk visits this part of the trie again later */
                    m->tokens.n = m->tokens.n < n_tokens ? m->tokens.n : n_tokens;
                    m->exits.n = n_exits;
                }
            }
            i += size;
            continue;
        }
        sampi_plain_level *here = &level[depth];
        here->state = next;
        here->usual = usual;
        here->expects = sampi_grammar_plain_next(before->expects, byte);
        here->kinds = before->kinds | kind;
        here->length = before->length + n;
        here->run = here->expects == 0 && size > 1 ? sampi_grammar_run_word(m, next, keep) : 0;
        if (here->run == 0 && here->expects == 0 && size > 8) {
            sampi_grammar_run_of(m, next, keep, false);
            here->run = sampi_grammar_run_word(m, next, keep);
        }
        if (i >= first && !m->d.status) sampi_grammar_entry_take(m, entry, head);
        i++;
    }
    if (!m->d.status) at->node = 0;
}

/* Copies bytes into the cache. Returns the copy; NULL if there is nothing to copy, or no room. */
static void *sampi_grammar_keep_bytes(sampi_matcher *m, const void *bytes, size_t n)
{
    void *room = n && !m->d.status ? sampi_cache_allocate(m, n) : NULL;
    if (room) memcpy(room, bytes, n);
    return room;
}

/* Returns a mask in the cache of states that is equal to the mask `bits`: that of another entry, if it is found, else a
   copy; NULL if there is no room. Many states often allow the same tokens, and a mask is the largest part of an entry.
   *slot becomes the mask's slot in the cache's table of masks, which depends on its bits only. */
static uint32_t *sampi_grammar_keep_mask(sampi_matcher *m, const uint32_t *bits, int32_t *slot)
{
    enum { STRIDE = 8 };
    const size_t n = m->index->n_mask;
    uint64_t hash = 0;
    for (size_t i = 0; i < n; i += STRIDE) hash = ((hash << 5 | hash >> 59) ^ bits[i]) * 0x9E3779B97F4A7C15u;
    *slot = (int32_t)(hash >> 32 & (SAMPI_MASKS - 1));
    uint32_t *mask = (uint32_t *)SAMPI_PTR_GET(&m->cache->masks[*slot]);
    if (mask && memcmp(mask, bits, n * 4) == 0) return mask;
    mask = (uint32_t *)sampi_grammar_keep_bytes(m, bits, n * 4);
    if (mask) SAMPI_PTR_PUT(&m->cache->masks[*slot], mask);
    return mask;
}

/* Publishes an entry (the allowed tokens of a state) that was computed. Returns its number, or the number of an equal
   entry that another thread has published meanwhile; -1 with an error recorded. */
static int32_t sampi_grammar_entry_keep(sampi_matcher *m, const sampi_entry *found)
{
    sampi_entry entry = *found;
    entry.used = m->now;
    entry.bits = found->bits ? sampi_grammar_keep_mask(m, found->bits, &entry.slot) : NULL;
    entry.tokens = (const int32_t *)sampi_grammar_keep_bytes(m, m->tokens.data, (size_t)entry.n_tokens * 4);
    entry.exits = (const uint32_t *)sampi_grammar_keep_bytes(m, m->exits.data, (size_t)entry.n_exits * 4);
    const int32_t at = m->d.status ? -1
                                   : sampi_grammar_reserve_elements(&m->cache->n_entries, 1, m->cache->cap_entries);
    if (at < 0) {
        if (!m->d.status) sampi_cache_is_full(m);
        return -1;
    }
    m->cache->entries[at] = entry;
    for (;;) {
        int32_t *slot;
        const int32_t other = sampi_grammar_find_entry(m->cache, entry.parent, entry.state, &slot);
        if (other >= 0) return other;
        if (SAMPI_INT_CAS(slot, -1, at)) return at;
    }
}

/* Computes an entry (the allowed tokens of a state) by walks over the tries, from the progress `at` on. For an entry
   from the roots of the tries only the state's own bytes count, because the rules that it calls are items of their own
   there. For an entry from exits (nodes where another entry's frame ended), the state's calls must be made here. like:
   the number of an entry that has nearly the same tokens, that of the usual state or a short one, or -1. */
static void sampi_grammar_entry_fill(sampi_matcher *m, sampi_entry *entry, int32_t like, bool is_usual,
                                     sampi_progress *at)
{
    sampi_level level = sampi_grammar_mark(m);
    const bool keep = entry->parent & 1;
    m->like = NULL;
    m->far = 0;
    if (!at->begun) m->tokens.n = m->exits.n = 0;
    if (like >= 0) {
        m->like = sampi_grammar_entry_at(m, like);
        m->n_like = 0;
        m->far = is_usual ? 0 : SAMPI_SHORT;
        entry->bits = m->found;
        memcpy(entry->bits, m->like->bits, m->index->n_mask * (size_t)4);
    }
    const int32_t usual = m->like && is_usual ? m->like->state : 0;
    sampi_grammar_begin_step(m);
    sampi_grammar_add_item(m, entry->state, 0);
    if (entry->parent >= 2) sampi_grammar_close(m, level.items);
    int32_t to = m->items.n;
    if (entry->parent < 2) {
        const sampi_item item = { entry->state, 0, sampi_grammar_dfa_state_at(m, entry->state)->flags };
        if (at->walk == 0) sampi_grammar_walk_plain(m, item, usual, keep, entry, at);
        if (!m->d.status) at->walk = 1;
        if (m->far) { /* the other tokens are found anew */
            for (uint32_t k = 0; k < m->index->n_mask; k++) entry->bits[k] &= m->index->plain[k];
            sampi_grammar_take_exits(m, m->index->n_plain, true);
            sampi_grammar_take_exits(m, m->index->n_nodes, false);
        }
        if (!m->d.status)
            sampi_grammar_walk(m, m->index->n_plain + 1, m->index->n_nodes, level.items, to, usual, entry, &at->node);
        if (!m->d.status) sampi_grammar_take_exits(m, m->index->n_nodes, true);
        if (m->d.status && m->like) memset(at, 0, sizeof *at); /* such an entry is quickly begun again */
    } else {
        const sampi_entry *parent = sampi_grammar_entry_at(m, entry->parent / 2 - 1);
        at->begun = at->begun || !m->d.status;
        while (at->walk < parent->n_exits && !m->d.status) {
            const uint32_t exit_node = parent->exits[at->walk];
            sampi_grammar_walk(m, exit_node + 1, exit_node + (m->index->nodes[2 * (size_t)exit_node + 1] >> 10),
                               level.items, to, 0, entry, &at->node);
            at->walk += !m->d.status;
        }
    }
    sampi_grammar_drop(m, level);
    entry->n_exits = m->exits.n;
    entry->n_tokens = m->tokens.n;
}

/* Frees the entry (a state's allowed tokens) that samp_grammar_prepare has begun. */
static void sampi_grammar_drop_unfinished(sampi_matcher *m)
{
    m->begun.cache = 0;
    sampi_grammar_vec_free(&m->begun.tokens);
    sampi_grammar_vec_free(&m->begun.exits);
    sampi_grammar_vec_free(&m->begun.bits);
}

/* Copies n elements into an empty array. Returns false if there is no memory. */
static bool sampi_grammar_fill_vec(sampi_vec *vec, const void *from, size_t width, size_t n)
{
    void *room = n ? sampi_grammar_vec_add(vec, width, (int32_t)n) : NULL;
    if (room) memcpy(room, from, n * width);
    return room || n == 0;
}

/* Keeps the part of an entry (a state's allowed tokens) that was computed before the steps ran out. Without memory the
   entry begins again later. */
static void sampi_grammar_keep_unfinished(sampi_matcher *m, const sampi_entry *entry, const sampi_progress *at)
{
    sampi_unfinished *begun = &m->begun;
    if (!at->begun) return;
    begun->cache = m->cache->serial;
    begun->parent = entry->parent;
    begun->state = entry->state;
    begun->at = *at;
    const bool kept = sampi_grammar_fill_vec(&begun->tokens, m->tokens.data, 4, (size_t)m->tokens.n) &&
                      sampi_grammar_fill_vec(&begun->exits, m->exits.data, 4, (size_t)m->exits.n) &&
                      sampi_grammar_fill_vec(&begun->bits, entry->bits, 4, entry->bits ? m->index->n_mask : 0);
    m->d.account.full = false;
    if (!kept) sampi_grammar_drop_unfinished(m);
}

/* Returns the progress of an entry (a state's allowed tokens), and its tokens and exits, if samp_grammar_prepare has
   begun it; else an empty progress. */
static sampi_progress sampi_grammar_find_unfinished(sampi_matcher *m, sampi_entry *entry)
{
    sampi_unfinished *begun = &m->begun;
    sampi_progress at = begun->at;
    if (begun->cache == m->cache->serial && begun->parent == entry->parent && begun->state == entry->state) {
        m->tokens.n = m->exits.n = 0;
        void *tokens = begun->tokens.n ? sampi_grammar_append(&m->d, &m->tokens, 4, begun->tokens.n) : NULL;
        void *exits = begun->exits.n ? sampi_grammar_append(&m->d, &m->exits, 4, begun->exits.n) : NULL;
        if (tokens) memcpy(tokens, begun->tokens.data, (size_t)begun->tokens.n * 4);
        if (exits) memcpy(exits, begun->exits.data, (size_t)begun->exits.n * 4);
        if (begun->bits.n) {
            entry->bits = m->found;
            memcpy(entry->bits, begun->bits.data, m->index->n_mask * (size_t)4);
        }
    } else {
        memset(&at, 0, sizeof at);
    }
    if (begun->cache) sampi_grammar_drop_unfinished(m);
    return at;
}

static int32_t sampi_grammar_entry_of(sampi_matcher *m, int32_t parent, int32_t state);

/* Returns a state that allows the same tokens of at most `longest` bytes as `state`, and whose counts are far from their
   bounds; `state` if there is none, or it is not known. Without an AND, no token is long enough to reach a bound that is
   greater than the longest one, and whatever a token leads to is possible with any such bound. */
static int32_t sampi_grammar_near_for(sampi_matcher *m, int32_t state, int32_t longest)
{
    const sampi_node node = sampi_grammar_dfa_state_at(m, state)->node;
    sampi_nearness is = { longest, true, true, false, SAMPI_NEAR_PATIENCE, 0 };
    const sampi_node near = sampi_grammar_at(&m->d.tree, node)->facts & SAMPI_FACT_AND
                                ? sampi_grammar_near_counts(&m->d, node, longest)
                                : sampi_grammar_near(&m->d, node, &is);
    const int32_t other = near == node || m->d.status ? 0 : sampi_grammar_state_of(m, near);
    return other && !m->d.status ? other : state; /* after an error the node may be incomplete */
}

/* Returns whether two entries (tokens that a state allows) from the same nodes of the tries are equal. */
static bool sampi_grammar_same_entries(const sampi_matcher *m, int32_t first, int32_t second)
{
    if (first < 0 || second < 0) return false;
    const sampi_entry *a = sampi_grammar_entry_at(m, first), *b = sampi_grammar_entry_at(m, second);
    return a->n_tokens == b->n_tokens && a->n_exits == b->n_exits && !a->bits == !b->bits &&
           (!a->bits || a->bits == b->bits || !memcmp(a->bits, b->bits, m->index->n_mask * (size_t)4)) &&
           (!a->n_tokens || !memcmp(a->tokens, b->tokens, (size_t)a->n_tokens * 4)) &&
           (!a->n_exits || !memcmp(a->exits, b->exits, (size_t)a->n_exits * 4));
}

/* Returns a state that allows at least as much as the state `here`, if its entry is also this state's: their entries
   are compared with that of a third state, which allows at most as much. Otherwise returns `here`. The first state
   that has these two is not worth the comparison: it may be the only one. */
static int32_t sampi_grammar_near_compared(sampi_matcher *m, int32_t parent, int32_t here)
{
    const sampi_node node = sampi_grammar_dfa_state_at(m, here)->node;
    const int32_t deepest = (int32_t)m->index->deepest, far = deepest + deepest / 4 + 16;
    sampi_nearness wide = { far, true, false, false, SAMPI_NEAR_PATIENCE, 0 }, narrow = wide;
    const sampi_node more = sampi_grammar_near(&m->d, node, &wide);
    if (!wide.n_changed || wide.rigid || m->d.status) return here;
    narrow.wide = false;
    const int32_t above = sampi_grammar_state_of(m, more),
                  below = sampi_grammar_state_of(m, sampi_grammar_near(&m->d, node, &narrow));
    if (!above || !below || m->d.status) return here;
    int32_t *met = &sampi_grammar_dfa_state_at(m, above)->near;
    if (!SAMPI_INT_GET(met)) {
        SAMPI_INT_PUT(met, SAMPI_NEAR_MET);
        return here;
    }
    return sampi_grammar_same_entries(m, sampi_grammar_entry_of(m, parent, above),
                                      sampi_grammar_entry_of(m, parent, below))
               ? above
               : here;
}

/* Returns the state whose entry at a parent's exits serves for `state`, as long as counts are far from their bounds.
   Where an AND does not show what is far, entries are compared. */
static int32_t sampi_grammar_near_state(sampi_matcher *m, int32_t parent, int32_t state)
{
    for (;;) {
        sampi_dfa_state *s = sampi_grammar_dfa_state_at(m, state);
        const int32_t known = SAMPI_INT_GET(&s->near), to = known >> 2, how = known & SAMPI_NEAR_MET;
        const uint8_t facts = sampi_grammar_at(&m->d.tree, s->node)->facts;
        if (!(facts & SAMPI_FACT_COUNT) || m->d.status) return state;
        if (to && how == SAMPI_NEAR_ROOTS + parent) return to;
        const int32_t near = to && how == SAMPI_NEAR_ALL
                                 ? to
                                 : sampi_grammar_near_for(m, state, (int32_t)m->index->deepest);
        if (near == state && (parent >= 2 || !(facts & SAMPI_FACT_AND) ||
                              sampi_grammar_near_for(m, state, SAMPI_SHORT) != state))
            return state;
        const bool all = near != state;
        const int32_t other = all ? near : sampi_grammar_near_compared(m, parent, state);
        if (m->d.status) return state;
        SAMPI_INT_PUT(&s->near, other << 2 | (all ? SAMPI_NEAR_ALL : SAMPI_NEAR_ROOTS + parent));
        if (!all) return other;
        state = near;
    }
}

/* Returns the number of an entry with which a state's entry from the roots of the tries is quickly made, or -1: that of
   the usual state, to which most characters lead, from this state and from the usual state itself. An example is the
   state within a listed name: characters with which no listed name goes on lead to the state within any other name. So
   both entries have the same tokens but for those that follow a listed name for a while. */
static int32_t sampi_grammar_usual_entry(sampi_matcher *m, int32_t parent, int32_t state)
{
    int32_t n_live;
    const int32_t usual = parent < 2 ? sampi_grammar_usual_next(m, state, &n_live) : 0;
    if (!usual || usual == state || sampi_grammar_usual_next(m, usual, &n_live) != usual || m->d.status) return -1;
    const int32_t at = sampi_grammar_entry_of(m, parent, usual);
    return at >= 0 && sampi_grammar_entry_at(m, at)->bits && sampi_grammar_entry_at(m, at)->state == usual ? at : -1;
}

/* Returns the number of an entry that has the same tokens of at most SAMPI_SHORT bytes as a state with an AND, or -1:
   that of a state with other counts. */
static int32_t sampi_grammar_short_entry(sampi_matcher *m, int32_t parent, int32_t state)
{
    const int32_t wanted = SAMPI_FACT_COUNT | SAMPI_FACT_AND,
                  facts = sampi_grammar_at(&m->d.tree, sampi_grammar_dfa_state_at(m, state)->node)->facts;
    if (parent >= 2 || (facts & wanted) != wanted) return -1;
    const int32_t near = sampi_grammar_near_for(m, state, SAMPI_SHORT),
                  at = near == state || m->d.status ? -1 : sampi_grammar_entry_of(m, parent, near);
    return at >= 0 && sampi_grammar_entry_at(m, at)->bits ? at : -1;
}

/* Returns the number of the entry (allowed tokens) of a state at a parent's exits, which is computed if it does not
   exist; -1 with an error recorded. */
static int32_t sampi_grammar_entry_of(sampi_matcher *m, int32_t parent, int32_t state)
{
    state = sampi_grammar_near_state(m, parent, state);
    int32_t *slot, at = sampi_grammar_find_entry(m->cache, parent, state, &slot);
    if (at >= 0) return at;
    const int32_t usual = m->d.status ? -1 : sampi_grammar_usual_entry(m, parent, state),
                  like = usual >= 0 || m->d.status ? usual : sampi_grammar_short_entry(m, parent, state);
    if (m->d.status) return -1;
    sampi_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.parent = parent;
    entry.state = state;
    m->n_computed++;
    const sampi_progress before = sampi_grammar_find_unfinished(m, &entry);
    sampi_progress now = before;
    if (!m->d.status) sampi_grammar_entry_fill(m, &entry, like, usual >= 0, &now);
    at = m->d.status ? -1 : sampi_grammar_entry_keep(m, &entry);
    m->advances += at >= 0 || now.node != before.node || now.walk != before.walk || now.begun != before.begun;
    if (at < 0 && m->preparing && m->d.status == SAMP_E_FULL && !m->d.account.full)
        sampi_grammar_keep_unfinished(m, &entry, &now);
    return at;
}

/* Pushes an entry (a state's allowed tokens) and its frame on the stack of entries that the mask must still include. */
static void sampi_grammar_mask_push(sampi_matcher *m, int32_t parent, int32_t state, int32_t frame)
{
    int32_t *room = (int32_t *)sampi_grammar_append(&m->d, &m->d.work, sizeof *room, 3);
    if (!room) return;
    room[0] = parent;
    room[1] = state;
    room[2] = frame;
}

/* Sets in `bits` the bits of `more`, for eight bytes. */
static inline void sampi_grammar_join_eight(uint32_t *bits, const uint32_t *more)
{
    uint64_t a, b;
    memcpy(&a, bits, sizeof a);
    memcpy(&b, more, sizeof b);
    a |= b;
    memcpy(bits, &a, sizeof a);
}

/* Sets in `bits` the bits of `more`, for n words. */
static void sampi_grammar_join_bits(uint32_t *bits, const uint32_t *more, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        sampi_grammar_join_eight(bits + i, more + i);
        sampi_grammar_join_eight(bits + i + 2, more + i + 2);
        sampi_grammar_join_eight(bits + i + 4, more + i + 4);
        sampi_grammar_join_eight(bits + i + 6, more + i + 6);
    }
    for (; i < n; i++) bits[i] |= more[i];
}

/* Adds an entry (a state's allowed tokens) to the mask, and then the entries of all states that wait for the call
   `frame`, at the exits where it ends. With bits NULL the function only computes the entries. */
static void sampi_grammar_mask_entry(sampi_matcher *m, int32_t parent, int32_t state, int32_t frame, uint32_t *bits)
{
    const int32_t bottom = m->d.work.n;
    sampi_grammar_mask_push(m, parent, state, frame);
    while (m->d.work.n > bottom && sampi_grammar_step(&m->d)) {
        const int32_t *top = (const int32_t *)m->d.work.data + (m->d.work.n -= 3);
        frame = top[2];
        const int32_t at = sampi_grammar_entry_of(m, top[0], top[1]);
        if (at < 0 || !sampi_grammar_pairs_add(&m->d, &m->joined, at, frame)) continue;
        sampi_grammar_mark_used(&m->cache->entries[at].used, m->now);
        /* the entry is not copied as a whole, because other threads write its member `used` */
        const sampi_entry *entry = sampi_grammar_entry_at(m, at);
        const int32_t *tokens = entry->tokens, n_tokens = entry->n_tokens;
        if (bits && entry->bits) sampi_grammar_join_bits(bits, entry->bits, m->index->n_mask);
        if (bits) sampi_grammar_charge(&m->d, (entry->bits ? (int32_t)m->index->n_mask : n_tokens) / 8);
        for (int32_t i = 0; bits && i < n_tokens; i++) bits[tokens[i] / 32] |= 1u << tokens[i] % 32;
        if (entry->n_exits == 0) continue;
        sampi_level level = sampi_grammar_mark(m);
        sampi_grammar_begin_step(m);
        sampi_grammar_return(m, frame);
        sampi_grammar_close_returns(m, level.items);
        /* in reverse order, so that the first item is on top of the stack */
        for (int32_t i = m->items.n; i-- > level.items;) {
            const sampi_item item = *sampi_grammar_item_at(m, i);
            sampi_grammar_mask_push(m, 2 * at + 2 + (item.frame != 0), item.state, item.frame);
        }
        sampi_grammar_drop(m, level);
    }
    m->d.work.n = bottom;
}

/* Adds to the mask the tokens that the grammar names by their numbers at an item's state. */
static void sampi_grammar_mask_tokens(sampi_matcher *m, const sampi_dfa_state *s, uint32_t *bits)
{
    const samp_vocab_index *index = m->index;
    for (int32_t c = 0; c < s->n_calls; c++) {
        const sampi_call *call = s->calls + c;
        if (call->rule >= 0) continue;
        const uint32_t id = (uint32_t)call->token, word = id / 32, bit = 1u << id % 32;
        if (!call->negated) {
            if (id < index->n_vocab && !sampi_is_eog(index->vocab, call->token)) bits[word] |= bit;
            continue;
        }
        for (uint32_t i = 0; i < index->n_mask; i++)
            bits[i] |= index->all[i] & ~sampi_grammar_call_excludes(&m->d.tree, call, i);
    }
}

static bool sampi_matcher_ends(const sampi_matcher *m)
{
    for (int32_t i = 0; i < m->n_now; i++)
        if (sampi_grammar_item_at(m, i)->frame == 0 && (sampi_grammar_item_at(m, i)->flags & SAMPI_STATE_ENDS))
            return true;
    return false;
}

/* Makes the mask as the union of the entries (allowed tokens) of all items. With bits NULL it only computes the
   entries. */
static void sampi_grammar_mask_items(sampi_matcher *m, uint32_t *bits)
{
    sampi_grammar_pairs_clear(&m->joined);
    for (int32_t i = 0; i < m->n_now && !m->d.status; i++) {
        sampi_item item = *sampi_grammar_item_at(m, i);
        sampi_grammar_mask_entry(m, item.frame != 0, item.state, item.frame, bits);
    }
}

/* Makes the mask by one walk over the tries with all items at once, each in its frame. Nothing is kept. This is faster
   if a grammar is so ambiguous that it has too many ways back through its call frames for an entry each. */
static void sampi_grammar_mask_walk(sampi_matcher *m, uint32_t *bits)
{
    sampi_entry all;
    memset(&all, 0, sizeof all);
    all.bits = bits;
    uint32_t node = 0;
    m->like = NULL;
    sampi_grammar_walk(m, 1, m->index->n_plain, 0, m->n_now, 0, &all, &node);
    sampi_grammar_walk(m, m->index->n_plain + 1, m->index->n_nodes, 0, m->n_now, 0, &all, &node);
}

/* The progress of a call, which may do its work again after it got more memory (sampi_matcher_attempt). */
typedef struct sampi_attempt {
    int n;     /* how often the call did its work */
    int again; /* how often all ways to get memory were tried again */
    sampi_level before;
} sampi_attempt;
static bool sampi_matcher_attempt(sampi_matcher *m, sampi_attempt *turn);
static void sampi_grammar_mask_repeated(sampi_matcher *m, uint32_t *bits);
static void sampi_grammar_mask_spent(sampi_matcher *m, uint32_t *bits);

/* Makes the mask of the text's position from entries (cached token sets); if these take too many steps, by a walk over
   the trie. */
static void sampi_grammar_mask_position(sampi_matcher *m, uint32_t *bits)
{
    const samp_vocab *vocab = m->index->vocab;
    const sampi_level here = sampi_grammar_mark(m);
    const int64_t rest = m->d.budget / 4;
    memset(bits, 0, (size_t)m->index->n_mask * 4);
    m->n_computed = 0;
    m->d.budget -= rest;
    sampi_grammar_mask_items(m, bits);
    m->d.budget = (m->d.budget > 0 ? m->d.budget : 0) + rest;
    if (m->d.status == SAMP_E_FULL && !m->d.account.full) {
        m->d.status = SAMP_OK;
        m->d.work.n = 0;
        m->n_computed++;
        sampi_grammar_drop(m, here);
        sampi_grammar_mask_walk(m, bits);
    }
    for (int32_t i = 0; i < m->n_now; i++) {
        const sampi_item *item = sampi_grammar_item_at(m, i);
        if (item->flags & SAMPI_STATE_TOKENS)
            sampi_grammar_mask_tokens(m, sampi_grammar_dfa_state_at(m, item->state), bits);
    }
    if (m->grammar->unique) sampi_grammar_mask_repeated(m, bits);
    if (m->grammar->counted) sampi_grammar_mask_spent(m, bits);
    for (size_t i = 0; i < vocab->n_eog && sampi_matcher_ends(m); i++)
        if (vocab->eog[i] >= 0 && vocab->eog[i] < vocab->n_vocab)
            bits[vocab->eog[i] / 32] |= 1u << vocab->eog[i] % 32;
}

static int sampi_matcher_mask(sampi_matcher *m, uint32_t *bits)
{
    sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } };
    while (sampi_matcher_attempt(m, &turn)) {
        sampi_grammar_mask_position(m, bits);
        if (m->d.status) continue;
        SAMPI_SIZE_PUT(&m->space->masks, m->space->masks + 1);
        if (!m->n_computed) SAMPI_SIZE_PUT(&m->space->hits, m->space->hits + 1);
    }
    return m->d.status;
}

/* Does a part of the work for the next mask: `steps` steps, or more if the last calls made no progress with that many.
   Returns 1 if the work is done or the allowed steps are used up; 0 if work is left; or a status. */
static int sampi_matcher_prepare(sampi_matcher *m, int64_t steps)
{
    enum { MOST = 40 };
    sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } };
    bool done = true;
    if (m->lazy.waiting || m->spent >= m->max_steps) return 1;
    while (sampi_matcher_attempt(m, &turn)) {
        const sampi_level here = sampi_grammar_mark(m);
        const int64_t before = m->advances, more = m->n_idle < MOST && steps < m->max_steps >> m->n_idle
                                                       ? steps << m->n_idle
                                                       : m->max_steps;
        m->d.budget = more;
        m->preparing = true;
        sampi_grammar_mask_items(m, NULL);
        m->preparing = false;
        m->spent += more - m->d.budget;
        m->n_idle += m->advances == before ? 1 : m->n_idle > 0 ? -1 : 0;
        done = !m->d.status;
        if (m->d.status != SAMP_E_FULL || m->d.account.full) continue;
        m->d.status = SAMP_OK; /* the steps of this call are used up */
        m->d.work.n = 0;
        sampi_grammar_drop(m, here);
    }
    return m->d.status ? m->d.status : done;
}
