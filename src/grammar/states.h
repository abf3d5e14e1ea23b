/* ---- grammars: states ----
   A state is a node of the tree with what can follow: whether the text may end there, which rules the state may call,
   and the next state for each class of bytes, which is made from the node's derivative when it is first needed. State 0
   is the dead state, which matches no text. Together the states are a lazy DFA. */

/* Returns the token of a TOKEN node. In a cache's tree, a token's text has the token's number. */
static samp_token sampi_grammar_token_of(const sampi_tree *t, const sampi_expr *e)
{
    return e->b & 2 ? sampi_grammar_at(t, e->a)->c : e->a;
}

/* Returns which tokens from 32 * word on a call of "any other token" excludes, as bits. */
static uint32_t sampi_grammar_call_excludes(const sampi_tree *t, const sampi_call *call, uint32_t word)
{
    samp_token token = call->token;
    uint32_t bits = 0;
    for (sampi_node also = call->also;; also = sampi_grammar_at(t, also)->c) {
        if (token >= 0 && (uint32_t)token / 32 == word) bits |= 1u << token % 32;
        if (!also) return bits;
        token = sampi_grammar_token_of(t, sampi_grammar_at(t, also));
    }
}

/* Adds a call to the list of a state's calls, unless it is among the last 16. A call that is in the list twice does no
   harm. */
static void sampi_grammar_add_call(sampi_matcher *m, sampi_call call)
{
    int32_t first = m->calls.n > 16 ? m->calls.n - 16 : 0;
    for (int32_t i = first; i < m->calls.n && sampi_grammar_step(&m->d); i++) {
        const sampi_call *c = (const sampi_call *)m->calls.data + i;
        if (c->rule == call.rule && c->token == call.token && c->negated == call.negated && c->also == call.also &&
            c->then == call.then && c->member == call.member)
            return;
    }
    if (!sampi_grammar_matches_any(&m->d, call.then)) return;
    sampi_call *room = (sampi_call *)sampi_grammar_append(&m->d, &m->calls, sizeof call, 1);
    if (room) *room = call;
}

/* Adds the calls of the members that may come next in a list. `then` is the node that follows the list. */
static void sampi_grammar_find_members(sampi_matcher *m, sampi_node n, sampi_node then)
{
    const sampi_expr e = *sampi_grammar_at(&m->d.tree, n);
    then = sampi_grammar_join_sequence(&m->d, n, then);
    if (!sampi_grammar_matches_any(&m->d, then)) return;
    const sampi_list_progress p = sampi_grammar_list_progress_of(&m->d.tree, &e);
    sampi_grammar_charge(&m->d, p.list.n / 4);
    for (int32_t i = 0; i <= p.list.n && sampi_grammar_step(&m->d); i++) {
        sampi_node one = sampi_grammar_list_takes(&m->d.tree, &p, i);
        if (one == SAMPI_NEVER) continue;
        sampi_call call = { sampi_grammar_at(&m->d.tree, one)->a, -1, false, 0, then, i }, *room;
        room = (sampi_call *)sampi_grammar_append(&m->d, &m->calls, sizeof call, 1);
        if (room) *room = call;
    }
}

/* Finds all calls with which a text of n may begin. The stack has pairs: a node, and the node that follows it. */
static void sampi_grammar_find_calls(sampi_matcher *m, sampi_node n)
{
    const int32_t bottom = m->d.work.n;
    sampi_grammar_work_push_pair(&m->d, n, SAMPI_EMPTY);
    while (m->d.work.n > bottom && sampi_grammar_step(&m->d)) {
        sampi_node then = sampi_grammar_work_pop(&m->d);
        n = sampi_grammar_inlined(&m->d, sampi_grammar_work_pop(&m->d));
        const sampi_expr e = *sampi_grammar_at(&m->d.tree, n);
        sampi_call call = { -1, -1, false, 0, then, -1 };
        sampi_node next = -1; /* the node to visit next; the node `then` follows it */
        if (!(e.facts & SAMPI_FACT_CALLS)) continue;
        switch (e.kind) {
            case SAMPI_NODE_REF:
                call.rule = e.a;
                sampi_grammar_add_call(m, call);
                break;
            case SAMPI_NODE_TOKEN:
                call.token = sampi_grammar_token_of(&m->d.tree, &e);
                call.negated = e.b & 1;
                call.also = e.c;
                sampi_grammar_add_call(m, call);
                break;
            case SAMPI_NODE_SEQ:
                next = sampi_grammar_inlined(&m->d, e.a);
                if (sampi_grammar_at(&m->d.tree, next)->kind == SAMPI_NODE_SEQ) {
                    next = sampi_grammar_join_sequence(&m->d, next, e.b);
                    break;
                }
                if (sampi_grammar_at(&m->d.tree, next)->facts & SAMPI_FACT_EMPTY)
                    sampi_grammar_work_push_pair(&m->d, e.b, then);
                then = sampi_grammar_join_sequence(&m->d, e.b, then);
                break;
            case SAMPI_NODE_ALT:
                sampi_grammar_work_push_pair(&m->d, e.b, then);
                next = e.a;
                break;
            case SAMPI_NODE_REPEAT:
                then = sampi_grammar_join_sequence(&m->d, sampi_grammar_repeat_rest(&m->d, &e), then);
                next = e.a;
                break;
            case SAMPI_NODE_MEMBERS:
                if (e.c == 0 || (e.c & 1))
                    sampi_grammar_find_members(m, n, then);
                else
                    next = sampi_grammar_list_more(&m->d, n);
                break;
            default: break;
        }
        if (next < 0) continue;
        sampi_grammar_work_push_pair(&m->d, next, then);
    }
    m->d.work.n = bottom;
}

/* Returns the state of a node, which is made if it does not exist; 0 if the node matches no text. If two threads make
   the state at once, both make the same, and one of the two is kept. */
static int32_t sampi_grammar_state_of(sampi_matcher *m, sampi_node n)
{
    sampi_cache *cache = m->cache;
    if (!sampi_grammar_matches_any(&m->d, n)) return 0;
    int32_t state = SAMPI_INT_GET(&cache->state_of[n]);
    if (state) return state;
    const int32_t n_classes = m->grammar->bytes.n_classes;
    m->calls.n = 0;
    sampi_grammar_find_calls(m, n);
    if (m->d.status) return 0;
    const size_t size = (size_t)m->calls.n * sizeof(sampi_call);
    sampi_call *calls = m->calls.n ? (sampi_call *)sampi_cache_allocate(m, size) : NULL;
    if (m->d.status) return 0;
    if (calls) memcpy(calls, m->calls.data, size);
    state = sampi_grammar_reserve_elements(&cache->n_states, 1, cache->cap_states);
    if (state < 0) {
        sampi_cache_is_full(m);
        return 0;
    }
    sampi_grammar_charge(&m->d, 4 + n_classes / 8);
    sampi_dfa_state *s = &cache->states[state];
    memset(s, 0, sizeof *s);
    memset(cache->next + (size_t)state * (size_t)n_classes, 0xff, (size_t)n_classes * sizeof(int32_t)); /* -1 */
    s->node = n;
    s->used = m->now;
    s->calls = calls;
    s->n_calls = m->calls.n;
    s->single_kinds = -1;
    s->flags = sampi_grammar_at(&m->d.tree, n)->facts & SAMPI_FACT_EMPTY ? SAMPI_STATE_ENDS : 0;
    if (s->n_calls) s->flags |= SAMPI_STATE_CALLS;
    for (int32_t i = 0; calls && i < s->n_calls; i++)
        if (calls[i].rule < 0) s->flags |= SAMPI_STATE_TOKENS;
    return SAMPI_INT_CAS(&cache->state_of[n], 0, state) ? state : SAMPI_INT_GET(&cache->state_of[n]);
}

/* Computes the next state for a class of bytes. One derivative serves all classes that the state's node does not
   distinguish. These groups of classes are found at the state's first use and noted in its row: each class gets -2 -
   the first class of its group. If two threads do this at once, one may write such a number over a state that the
   other has just found; the state is then found again. */
static int32_t sampi_grammar_make_next(sampi_matcher *m, int32_t state, int32_t class_of_byte)
{
    const int32_t n_classes = m->grammar->bytes.n_classes;
    int32_t *next = m->cache->next + (size_t)state * (size_t)n_classes, way = SAMPI_INT_GET(&next[class_of_byte]);
    const sampi_node node = sampi_grammar_dfa_state_at(m, state)->node;
    if (way == -1) {
        uint8_t first[256];
        sampi_grammar_find_byte_kinds(&m->d, node, first);
        if (m->d.status) return 0;
        for (int32_t c = 0; c < n_classes; c++)
            if (SAMPI_INT_GET(&next[c]) == -1) SAMPI_INT_PUT(&next[c], -2 - first[c]);
        way = SAMPI_INT_GET(&next[class_of_byte]);
    }
    if (way > -2) return way < 0 ? 0 : way;
    int32_t to = sampi_grammar_state_of(m, sampi_grammar_derive(&m->d, node, m->grammar->bytes.byte_of[-2 - way]));
    if (m->d.status) return 0;
    sampi_grammar_charge(&m->d, n_classes / 8);
    for (int32_t c = 0; c < n_classes; c++)
        if (SAMPI_INT_GET(&next[c]) == way) SAMPI_INT_PUT(&next[c], to);
    return to;
}

/* Returns the next state for a byte; 0 if no text of the grammar continues with it. */
static inline int32_t sampi_grammar_next(sampi_matcher *m, int32_t state, uint8_t byte)
{
    const int32_t c = m->grammar->bytes.class_of[byte];
    const int32_t *row = m->cache->next + (size_t)state * (size_t)m->grammar->bytes.n_classes;
    const int32_t next = SAMPI_INT_GET(&row[c]);
    return next >= 0 ? next : sampi_grammar_make_next(m, state, c);
}
