/* ---- grammars: masks ----
   A mask is the set of tokens that are allowed at the text's position. It is the union of the entries of all items, and
   of the tokens that walks find behind the exits of an entry, which are the trie nodes where a called rule ends in the
   middle of a token. sampi_grammar_walk visits the trie in order. For each byte on the way down it has a level of
   items, and it skips all nodes below a byte that no item allows. */

/* Keeps a set of byte classes in the cache for all calls. Returns it; NULL if there is no room. */
static uint32_t *sampi_grammar_keep_classes(sampi_matcher *m, const uint32_t *classes, uint32_t **at)
{
    uint32_t *room = m->d.status ? NULL : (uint32_t *)sampi_cache_allocate(m, 8 * sizeof *room);
    if (!room) return NULL;
    memcpy(room, classes, 8 * sizeof *room);
    SAMPI_PTR_PUT(at, room);
    return room;
}

/* Returns the set of the byte classes that may follow in a state, as bits. */
static const uint32_t *sampi_grammar_next_classes_of(sampi_matcher *m, int32_t state)
{
    const uint32_t *known = (const uint32_t *)SAMPI_PTR_GET(&sampi_grammar_dfa_state_at(m, state)->next_classes);
    uint32_t live[8] = { 0 };
    if (known) return known;
    for (int32_t c = 0; c < m->grammar->bytes.n_classes && !m->d.status; c++)
        if (sampi_grammar_next(m, state, m->grammar->bytes.byte_of[c])) live[c / 32] |= 1u << c % 32;
    return sampi_grammar_keep_classes(m, live, &sampi_grammar_dfa_state_at(m, state)->next_classes);
}

/* Returns the set of the byte classes with which the rules may begin that a state calls. If a state calls many rules,
   as between the members of an object, most bytes begin none of them, and then no rule needs to be called. */
static const uint32_t *sampi_grammar_call_classes_of(sampi_matcher *m, int32_t state)
{
    const uint32_t *known = (const uint32_t *)SAMPI_PTR_GET(&sampi_grammar_dfa_state_at(m, state)->call_classes);
    if (known) return known;
    const int32_t bottom = m->d.work.n;
    uint32_t first[8] = { 0 };
    sampi_grammar_pairs_clear(&m->seen);
    sampi_grammar_work_push(&m->d, state);
    while (m->d.work.n > bottom && sampi_grammar_step(&m->d)) {
        const sampi_dfa_state *s = sampi_grammar_dfa_state_at(m, sampi_grammar_work_pop(&m->d));
        for (int32_t c = 0; c < s->n_calls && sampi_grammar_step(&m->d); c++) {
            const int32_t rule = s->calls[c].rule;
            const int32_t body = rule < 0 ? 0
                                          : sampi_grammar_state_of(m, sampi_grammar_rule_at(&m->d.tree, rule)->body);
            if (!body || !sampi_grammar_pairs_add(&m->d, &m->seen, body, 0)) continue;
            const uint32_t *live = sampi_grammar_next_classes_of(m, body);
            for (int32_t i = 0; i < 8 && live; i++) first[i] |= live[i];
            sampi_grammar_work_push(&m->d, body);
        }
    }
    m->d.work.n = bottom;
    return sampi_grammar_keep_classes(m, first, &sampi_grammar_dfa_state_at(m, state)->call_classes);
}

static bool sampi_grammar_may_call(sampi_matcher *m, int32_t state, uint8_t byte)
{
    if (!(sampi_grammar_dfa_state_at(m, state)->flags & SAMPI_STATE_CALLS)) return false;
    const int32_t c = m->grammar->bytes.class_of[byte];
    const uint32_t *first = sampi_grammar_call_classes_of(m, state);
    return first && (first[c / 32] >> c % 32 & 1);
}

/* Makes the calls of a level's items, if one of the called rules may begin with the byte. `before` is the number of
   items below this level. */
static void sampi_grammar_enter_level(sampi_matcher *m, sampi_level *level, int32_t before, uint8_t byte)
{
    bool may = level->state && sampi_grammar_may_call(m, level->state, byte);
    for (int32_t i = before; i < level->items && !may && !level->state; i++)
        may = sampi_grammar_may_call(m, sampi_grammar_item_at(m, i)->state, byte);
    if (!may) return;
    if (level->state) sampi_grammar_push_item(m, level->state, level->frame);
    sampi_grammar_begin_step(m);
    for (int32_t i = before; i < m->items.n; i++)
        sampi_grammar_pairs_add(&m->d, &m->seen, sampi_grammar_item_at(m, i)->state,
                                sampi_grammar_item_at(m, i)->frame);
    sampi_grammar_close_calls(m, before);
    *level = sampi_grammar_mark(m);
}

/* Makes a level of the items that were added above the level `before`. Returns false if no item was added. */
static bool sampi_grammar_make_level(sampi_matcher *m, sampi_level *level, const sampi_level *before)
{
    if (m->items.n == before->items) return false;
    bool calls = false;
    for (int32_t i = before->items; i < m->items.n; i++)
        calls |= (sampi_grammar_item_at(m, i)->flags & SAMPI_STATE_CALLS) != 0;
    const sampi_item last = *sampi_grammar_item_at(m, m->items.n - 1);
    if (m->items.n == before->items + 1) m->items.n--;
    *level = sampi_grammar_mark(m);
    level->calls = calls;
    if (m->items.n == before->items) {
        level->state = last.state;
        level->frame = last.frame;
    }
    return true;
}

static void sampi_grammar_set_bit(uint32_t *bits, uint32_t i) { bits[i / 32] |= 1u << i % 32; }

/* Turns the token list of an entry that is being computed into a set of bits. */
static void sampi_grammar_entry_widen(sampi_matcher *m, sampi_entry *entry)
{
    entry->bits = m->found;
    memset(entry->bits, 0, m->index->n_mask * (size_t)4);
    for (int32_t i = 0; i < m->tokens.n; i++)
        sampi_grammar_set_bit(entry->bits, (uint32_t)((const int32_t *)m->tokens.data)[i]);
    m->tokens.n = 0;
}

/* Adds the token of a trie node, if the node has one, to the entry. The entry is a list as long as there are few
   tokens. */
static inline void sampi_grammar_entry_take(sampi_matcher *m, sampi_entry *entry, uint32_t head)
{
    const uint32_t token = head >> 8;
    if (token == SAMPI_NO_TOKEN) return;
    if (entry->bits) {
        sampi_grammar_set_bit(entry->bits, token);
        return;
    }
    int32_t *room = (int32_t *)sampi_grammar_append(&m->d, &m->tokens, sizeof *room, 1);
    if (room) *room = (int32_t)token;
    if ((size_t)m->tokens.n >= m->index->n_mask / 4 + 8) sampi_grammar_entry_widen(m, entry);
}

/* Takes over the exits of the entry m->like that are in front of a node; or leaves them out. */
static void sampi_grammar_take_exits(sampi_matcher *m, uint32_t node, bool in)
{
    for (; m->like && m->n_like < m->like->n_exits && m->like->exits[m->n_like] < node; m->n_like++) {
        int32_t *exit_node = in ? (int32_t *)sampi_grammar_append(&m->d, &m->exits, 4, 1) : NULL;
        if (exit_node) *exit_node = (int32_t)m->like->exits[m->n_like];
    }
}

/* Adds the tokens at node i of the trie and below it to `bits`; with `in` false it removes them. */
static void sampi_grammar_set_below(sampi_matcher *m, uint32_t i, uint32_t *bits, bool in)
{
    const uint32_t *nodes = m->index->nodes + 2 * (size_t)i, *end = nodes + 2 * (size_t)(nodes[1] >> 10);
    sampi_grammar_charge(&m->d, (int32_t)((nodes[1] >> 10) / 8));
    for (; nodes < end; nodes += 2) {
        const uint32_t token = nodes[0] >> 8, bit = 1u << token % 32;
        if (token == SAMPI_NO_TOKEN) continue;
        if (in)
            bits[token / 32] |= bit;
        else
            bits[token / 32] &= ~bit;
    }
}

/* Leaves out what the entry m->like has at node i of a trie and below it. */
static void sampi_grammar_leave_below(sampi_matcher *m, sampi_entry *entry, uint32_t i)
{
    sampi_grammar_set_below(m, i, entry->bits, false);
    sampi_grammar_take_exits(m, i, true);
    sampi_grammar_take_exits(m, i + (m->index->nodes[2 * (size_t)i + 1] >> 10), false);
}

/* Decides what the usual state's entry means at node i of a trie and below it, where it goes to the state `usual`, and
   the state whose entry is being computed goes to `state`, another one. If rules or frames make the tokens below
   depend on more than these states, or none is allowed, what that entry has there is left out. Returns the usual state
   from here on. */
static int32_t sampi_grammar_leave_usual(sampi_matcher *m, sampi_entry *entry, uint32_t i, int32_t state,
                                         int32_t usual)
{
    const int32_t flags = sampi_grammar_dfa_state_at(m, state)->flags | sampi_grammar_dfa_state_at(m, usual)->flags;
    if (!usual || (state && !(flags & (SAMPI_STATE_CALLS | SAMPI_STATE_ENDS)))) return usual;
    sampi_grammar_leave_below(m, entry, i);
    return 0;
}

/* Visits the nodes [i, end) of a trie: node i, its siblings, and all nodes below them. The items [from, to) are those
   of the text in front of these nodes; their own calls were made before, or must not be made. The entry gets every
   token that the items allow. If the entry's parent is odd, the entry also gets its exits: the nodes where the
   outermost frame ends and longer tokens continue. The levels keep the items of all nodes on the way down to the
   current one, so that going back costs nothing. *node is the node at which the walk begins to collect; of the nodes in
   front of it only those on the way there are visited (0: the walk begins at i). After an error, *node is where the
   walk must continue. usual: 0, or the usual state, whose tokens the entry has already; parts of the trie where that
   state and the item's become the same are not visited. */
static void sampi_grammar_walk(sampi_matcher *m, uint32_t i, uint32_t end, int32_t from, int32_t to, int32_t usual,
                       sampi_entry *entry, uint32_t *node)
{
    const uint32_t first = *node;
    const uint32_t *nodes = m->index->nodes;
    const uint32_t top = i < end ? (nodes[2 * (size_t)i + 1] & 1023) - 1 : 0;
    const bool keep = entry->parent & 1;
    sampi_level *level = m->level;
    level[0] = sampi_grammar_mark(m);
    if (to - from == 1) {
        level[0].state = sampi_grammar_item_at(m, from)->state;
        level[0].frame = sampi_grammar_item_at(m, from)->frame;
        level[0].usual = usual;
    }
    for (; i < end && !m->d.status;) {
        const uint32_t head = nodes[2 * (size_t)i], size = nodes[2 * (size_t)i + 1] >> 10;
        if (i + size <= first) {
            i += size;
            continue;
        }
        *node = i < first ? first : i;
        m->d.budget += i < first;
        if (!sampi_grammar_step(&m->d)) break;
        const uint32_t depth = (nodes[2 * (size_t)i + 1] & 1023) - top;
        const uint8_t byte = (uint8_t)head;
        sampi_level *before = &level[depth - 1];
        m->ended = false;
        if (before->calls) {
            sampi_grammar_drop(m, *before);
            sampi_grammar_enter_level(m, before, level[depth - 2].items, byte);
        }
        if (before->state) { /* the usual case: one item, whose state neither calls a rule nor ends */
            const int32_t state = sampi_grammar_next(m, before->state, byte);
            usual = before->usual ? sampi_grammar_next(m, before->usual, byte) : 0;
            if (usual && usual != state && !m->d.status) usual = sampi_grammar_leave_usual(m, entry, i, state, usual);
            if (state == usual || !state) {
                i += size;
                continue;
            }
            const int32_t flags = sampi_grammar_dfa_state_at(m, state)->flags;
            if (!(flags & SAMPI_STATE_ENDS)) {
                level[depth] = *before;
                level[depth].state = state;
                level[depth].usual = usual;
                level[depth].calls = flags & SAMPI_STATE_CALLS;
                if (i >= first) sampi_grammar_entry_take(m, entry, head);
                i++;
                continue;
            }
            sampi_grammar_drop(m, *before);
            sampi_grammar_begin_step(m);
            sampi_grammar_add_item(m, state, before->frame);
        } else {
            const int32_t lo = depth == 1 ? from : level[depth - 2].items, hi = depth == 1 ? to : before->items;
            sampi_grammar_drop(m, *before);
            sampi_grammar_begin_step(m);
            for (int32_t k = lo; k < hi && sampi_grammar_step(&m->d); k++) {
                const sampi_item item = *sampi_grammar_item_at(m, k);
                sampi_grammar_add_item(m, sampi_grammar_next(m, item.state, byte), item.frame);
            }
        }
        sampi_grammar_close_returns(m, before->items);
        if (!sampi_grammar_make_level(m, &level[depth], before)) {
            i += size;
            continue;
        }
        if (i >= first && !m->d.status) {
            sampi_grammar_entry_take(m, entry, head);
            if (m->ended && keep && size > 1) sampi_grammar_take_exits(m, i, true);
            int32_t *exit_node = m->ended && keep && size > 1
                                     ? (int32_t *)sampi_grammar_append(&m->d, &m->exits, 4, 1)
                                     : NULL;
            if (exit_node) *exit_node = (int32_t)i;
        }
        i++;
    }
    if (!m->d.status) *node = 0;
    sampi_grammar_drop(m, level[0]);
}

/* Reads a byte of plain text. `expects` is what UTF-8 expects at this byte: 0, a character begins; 1 to 3, that many
   continuation bytes of any value; 4 to 7, the continuation bytes behind E0, ED, F0 or F4. Returns what UTF-8 expects
   at the next byte; -1 if this byte is not allowed. */
static int32_t sampi_grammar_plain_next(int32_t expects, int32_t b)
{
    static const uint8_t lo[8] = { 0, 0x80, 0x80, 0x80, 0xa0, 0x80, 0x90, 0x80 };
    static const uint8_t hi[8] = { 0, 0xbf, 0xbf, 0xbf, 0xbf, 0x9f, 0xbf, 0x8f };
    static const int8_t behind[8] = { 0, 0, 1, 2, 1, 1, 2, 2 };
    if (expects) return b < lo[expects] || b > hi[expects] ? -1 : behind[expects];
    if (b < 0x20 || b == '"' || b == '\\' || (b >= 0x7f && b < 0xc2) || b > 0xf4) return -1;
    if (b < 0x80) return 0;
    return b == 0xe0 ? 4 : b == 0xed ? 5 : b == 0xf0 ? 6 : b == 0xf4 ? 7 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
}
