/* ---- runs: texts of certain characters are allowed, whatever they are ----
   A run of a state is a set of kinds of characters and a number of characters, its reach: no text of at most this
   length, with characters of these kinds only, leads from the state to a dead state, to a call or (with `keep`) to the
   end of the state's frame. So all tokens that are such texts are allowed, and no walk over the trie is needed to find
   them. The state inside a string has such a run, and most patterns have one. A pattern that counts its characters has
   one as long as the count is far from its bound. */

/* The conditions on states behind bytes. never: the flags that the state behind each byte must not have. behind: the
   flags that the state behind a whole character must have. only: the state that must be behind a whole character, or 0
   for any. */
typedef struct sampi_run_condition {
    int32_t never, behind, only;
} sampi_run_condition;

/* The states behind a part of a character's bytes that a search has visited, with what UTF-8 expects there. Such bytes
   mostly lead to a few states. Each is visited once, unless another state has taken its slot of this table. */
enum { SAMPI_INNER = 64 };
typedef struct sampi_inner {
    int32_t state[SAMPI_INNER], expects[SAMPI_INNER]; /* expects: what UTF-8 expects there; 0: the slot is free */
} sampi_inner;

/* Returns those of `kinds` (of characters) of which the state allows every character, under the conditions `is`. The
   states behind these characters are pushed on the stack d.work, some more than once; those behind a state of `inner`
   are not pushed again. `expects` is as in sampi_grammar_plain_next. */
static uint32_t sampi_grammar_kinds_allowed(sampi_matcher *m, int32_t state, int32_t expects, uint32_t kinds,
                                    sampi_run_condition is, sampi_inner *inner)
{
    const int32_t end = expects ? 0xc0 : kinds >> 15 ? 0xf5 : 0x7f;
    int32_t last = -1, last_to = -1;
    uint32_t last_kind = 16;
    for (int32_t b = expects ? 0x80 : 0x20; b < end && !m->d.status; b++) {
        const int32_t to = sampi_grammar_plain_next(expects, b), c = m->grammar->bytes.class_of[b];
        const uint32_t kind = m->index->kind_of[b];
        if (to < 0 || !(kinds >> kind & 1) || (c == last && to == last_to && kind == last_kind)) continue;
        if (!sampi_grammar_step(&m->d)) break;
        last = c;
        last_to = to;
        last_kind = kind;
        const int32_t next = sampi_grammar_next(m, state, (uint8_t)b),
                      flags = sampi_grammar_dfa_state_at(m, next)->flags;
        bool taken = next && !(flags & is.never);
        if (taken && to == 0) taken = !(is.behind & ~flags) && (!is.only || is.only == next);
        if (taken && to != 0) {
            const int32_t i = (8 * next + to) % SAMPI_INNER;
            if (inner->state[i] == next && inner->expects[i] == to) continue;
            inner->state[i] = next;
            inner->expects[i] = to;
            taken = sampi_grammar_kinds_allowed(m, next, to, 1u << kind, is, inner) != 0;
        }
        if (!taken) kinds &= ~(1u << kind);
        const int32_t n = m->d.work.n;
        if (taken && to == 0 && (n == 0 || ((const sampi_node *)m->d.work.data)[n - 1] != next))
            sampi_grammar_work_push(&m->d, next);
    }
    return m->d.status ? 0 : kinds;
}

/* Does the same as sampi_grammar_kinds_allowed for the beginning of a character, but pushes no states. */
static uint32_t sampi_grammar_kinds_only(sampi_matcher *m, int32_t state, sampi_run_condition is)
{
    const int32_t bottom = m->d.work.n;
    sampi_inner inner;
    memset(&inner, 0, sizeof inner);
    const uint32_t kinds = sampi_grammar_kinds_allowed(m, state, 0, SAMPI_ALL_KINDS, is, &inner);
    m->d.work.n = bottom;
    return kinds;
}

/* Returns the kinds of characters of which any single one completes the state's node, and nothing can follow it. */
static uint32_t sampi_grammar_single_kinds_of(sampi_matcher *m, int32_t state)
{
    const sampi_run_condition done = { SAMPI_STATE_CALLS, SAMPI_STATE_ENDS, sampi_grammar_state_of(m, SAMPI_EMPTY) };
    int32_t one = SAMPI_INT_GET(&sampi_grammar_dfa_state_at(m, state)->single_kinds);
    if (one < 0) {
        one = (int32_t)sampi_grammar_kinds_only(m, state, done);
        if (!m->d.status) SAMPI_INT_PUT(&sampi_grammar_dfa_state_at(m, state)->single_kinds, one);
    }
    return (uint32_t)one;
}

/* Returns the kinds of the state's run, and its reach in *reach, if the run follows from the form of the state's node;
   else 0. The form is a number of characters, followed by something that begins with other characters, such as a quote.
   A longer text of these kinds is not allowed. Strings with a bounded length have this form; they have too many states
   to visit each. */
static uint32_t sampi_grammar_counted_run(sampi_matcher *m, int32_t state, int32_t *reach)
{
    const sampi_expr e = *sampi_grammar_at(&m->d.tree,
                                           sampi_grammar_inlined(&m->d, sampi_grammar_dfa_state_at(m, state)->node));
    if (e.kind != SAMPI_NODE_SEQ) return 0;
    const sampi_expr repeat = *sampi_grammar_at(&m->d.tree, sampi_grammar_inlined(&m->d, e.a)),
                     rest = *sampi_grammar_at(&m->d.tree, sampi_grammar_first_part(&m->d, e.b));
    if (repeat.kind != SAMPI_NODE_REPEAT || (repeat.facts & SAMPI_FACT_CALLS)) return 0;
    if (rest.kind != SAMPI_NODE_TEXT && rest.kind != SAMPI_NODE_SET) return 0;
    const int32_t one = sampi_grammar_state_of(m, repeat.a);
    uint32_t kinds = one ? sampi_grammar_single_kinds_of(m, one) : 0;
    const uint8_t *bytes = sampi_grammar_bytes_at(&m->d.tree, rest.a);
    for (int32_t b = 0; b < 256; b++)
        if (rest.kind == SAMPI_NODE_SET ? bytes[b / 8] >> b % 8 & 1 : b == *bytes)
            if (sampi_grammar_plain_next(0, b) >= 0) kinds &= ~(1u << m->index->kind_of[b]);
    *reach = repeat.c < 0 ? INT32_MAX : repeat.c;
    return kinds;
}

/* Searches for a state's run: visits the states to which it leads, character by character. found [n] are the visited
   states, each with its depth. If the state does not allow all characters of a kind, the kind is left out and the
   search begins again. But if that happens many characters away, or if there are too many states, the run ends there.
   Returns the kinds; *reach becomes the number of characters. */
static uint32_t sampi_grammar_search_run(sampi_matcher *m, int32_t state, bool keep, int32_t *reach)
{
    enum {
        MANY = 96,         /* the most states that a search visits */
        FAR = 12,          /* from this depth on (in characters), a kind that is not allowed ends the run */
        LONG = 32,         /* a search ends at this depth, in characters */
        PATIENCE = 1 << 17 /* the most steps of a search */
    };
    const sampi_run_condition goes_on = { SAMPI_STATE_CALLS | (keep ? SAMPI_STATE_ENDS : 0), 0, 0 };
    const int32_t bottom = m->d.work.n;
    /* steps of sampi_grammar_charge are left out, because they grow with the search */
    const int64_t before = m->d.budget + m->d.charged;
    int32_t found[MANY] = { state }, found_depth[MANY] = { 0 }, n = 1, depth = 0, level = 1;
    uint32_t kinds = SAMPI_ALL_KINDS;
    sampi_inner inner;
    *reach = INT32_MAX;
    memset(&inner, 0, sizeof inner);
    sampi_grammar_pairs_clear(&m->seen);
    sampi_grammar_pairs_add(&m->d, &m->seen, state, 0);
    for (int32_t i = 0; i < n && kinds && *reach == INT32_MAX; i++) {
        if (i == level) {
            level = n;
            depth++;
        }
        const uint32_t taken = sampi_grammar_kinds_allowed(m, found[i], 0, kinds, goes_on, &inner);
        if (depth == LONG || before - m->d.budget - m->d.charged > PATIENCE || (taken != kinds && depth >= FAR))
            *reach = depth;
        if (taken != kinds && depth < FAR) { /* the search begins again with fewer kinds of characters */
            kinds = taken;
            m->d.work.n = bottom;
            memset(&inner, 0, sizeof inner);
            sampi_grammar_pairs_clear(&m->seen);
            sampi_grammar_pairs_add(&m->d, &m->seen, state, 0);
            n = level = 1;
            depth = 0;
            i = -1;
        }
        while (m->d.work.n > bottom) {
            const int32_t to = sampi_grammar_work_pop(&m->d);
            const sampi_free_run run = sampi_grammar_run_at(m, to, keep);
            if (run.reach == INT32_MAX && !(kinds & ~run.kinds)) continue;
            if (!sampi_grammar_pairs_add(&m->d, &m->seen, to, 0)) continue;
            if (n == MANY) {
                *reach = depth;
            } else {
                found_depth[n] = depth + 1;
                found[n++] = to;
            }
        }
    }
    /* the other visited states get the rest of this run */
    for (int32_t i = 0; i < n && !m->d.status; i++) {
        sampi_free_run run = sampi_grammar_run_at(m, found[i], keep);
        const int32_t left = *reach == INT32_MAX ? INT32_MAX : *reach - found_depth[i];
        if (left <= 0 || run.stops || sampi_grammar_run_at(m, found[i], !keep).stops) continue;
        if (run.reach == INT32_MAX && (run.kinds & ~kinds)) continue;
        run.reach = left;
        run.kinds = kinds;
        sampi_grammar_run_put(m, found[i], keep, run);
    }
    return m->d.status ? 0 : kinds;
}

/* Returns whether one of some common characters leads from the state to itself. */
static bool sampi_grammar_may_stay(sampi_matcher *m, int32_t state)
{
    static const uint8_t usual[] = { 'e', 's', 'E', 'S', '0', ' ', '-' };
    for (size_t i = 0; i < sizeof usual; i++)
        if (sampi_grammar_next(m, state, usual[i]) == state) return true;
    return false;
}

/* Returns the number of plain tokens that consist of characters of these kinds only. */
static uint32_t sampi_grammar_tokens_of_kinds(const samp_vocab_index *index, uint32_t kinds)
{
    uint32_t n = 0;
    for (const uint32_t *group = index->groups, *end = group + 2 * (size_t)index->n_groups; group < end; group += 2)
        if (!(group[0] & ~kinds)) n += group[3] - group[1];
    return n;
}
static bool sampi_grammar_most_tokens(const samp_vocab_index *index, uint32_t kinds)
{
    return sampi_grammar_tokens_of_kinds(index, kinds) >= index->n_listed - index->n_listed / 8;
}

/* Returns a state's run, which is computed if it is not known. With `far`, it is computed even if that takes long, and
   also if the known run leaves out many tokens, as the run of a word does, which ends at a space. */
static sampi_free_run sampi_grammar_run_of(sampi_matcher *m, int32_t state, bool keep, bool far)
{
    enum { ENOUGH = 12 };
    const samp_vocab_index *index = m->index;
    const sampi_run_condition stays = { SAMPI_STATE_CALLS | (keep ? SAMPI_STATE_ENDS : 0), 0, state };
    const sampi_free_run known = sampi_grammar_run_at(m, state, keep);
    sampi_free_run run = { 0, INT32_MAX, far, false };
    if (known.reach >= 0 && (!far || known.explored || known.stops)) return known;
    if (known.reach >= ENOUGH && (known.reach < INT32_MAX || sampi_grammar_most_tokens(index, known.kinds)))
        return known;
    run.kinds = sampi_grammar_counted_run(m, state, &run.reach);
    run.stops = run.kinds != 0 && run.reach < INT32_MAX;
    if (!run.stops) {
        run.reach = INT32_MAX;
        run.kinds = far                        ? sampi_grammar_search_run(m, state, keep, &run.reach)
                    : sampi_grammar_may_stay(m, state) ? sampi_grammar_kinds_only(m, state, stays)
                                               : 0;
    }
    if (!run.kinds) run.reach = 0;
    const bool more = sampi_grammar_tokens_of_kinds(index, run.kinds) >
                      sampi_grammar_tokens_of_kinds(index, known.kinds);
    if (known.reach >= ENOUGH && (run.reach < ENOUGH || !more)) {
        run = known;
        run.explored = true;
    }
    if (!m->d.status) sampi_grammar_run_put(m, state, keep, run);
    return run;
}
