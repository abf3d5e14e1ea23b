/* ---- grammars: states ----
   A state is a node of the tree with what can be done next: whether it may end, which rules it may call, the state
   behind each class of bytes, which is made by a derivative when it is first asked for. State 0 is the dead end.
   Together they are a lazy DFA. */

/* Note a call, unless it is one of the last few; first: those of this state. To have one twice is no mistake. */
static void sampi_add_call(sampi_matcher *m, int32_t first, sampi_call call)
{
    if (m->calls.n - first > 16) first = m->calls.n - 16;
    for (int32_t i = first; i < m->calls.n && sampi_step(&m->d); i++) {
        const sampi_call *c = (const sampi_call *)m->calls.data + i;
        if (c->rule == call.rule && c->token == call.token && c->negated == call.negated && c->then == call.then &&
            c->member == call.member)
            return;
    }
    if (!sampi_alive(&m->d, call.then)) return;
    sampi_call *room = (sampi_call *)sampi_more(&m->d, &m->calls, sizeof call, 1);
    if (room) *room = call;
}

/* The calls of a list's members, with `then` behind it. */
static void sampi_find_members(sampi_matcher *m, sampi_node n, sampi_node then)
{
    const sampi_expr e = *sampi_at(&m->d.tree, n);
    then = sampi_join(&m->d, n, then);
    if (!sampi_alive(&m->d, then)) return;
    const sampi_opening p = sampi_opening_of(&m->d.tree, &e);
    sampi_charge(&m->d, p.list.n / 4);
    for (int32_t i = 0; i <= p.list.n && sampi_step(&m->d); i++) {
        sampi_node one = sampi_opening_takes(&m->d.tree, &p, i);
        if (one == SAMPI_NEVER) continue;
        sampi_call call = { sampi_at(&m->d.tree, one)->a, -1, false, then, i }, *room;
        room = (sampi_call *)sampi_more(&m->d, &m->calls, sizeof call, 1);
        if (room) *room = call;
    }
}

/* All that may be called at the beginning of n. On the stack: a node, and what comes behind it. */
static void sampi_find_calls(sampi_matcher *m, int32_t first, sampi_node n)
{
    const int32_t bottom = m->d.work.n;
    sampi_work_push_pair(&m->d, n, SAMPI_EMPTY);
    while (m->d.work.n > bottom && sampi_step(&m->d)) {
        sampi_node then = sampi_work_pop(&m->d);
        n = sampi_through(&m->d, sampi_work_pop(&m->d));
        const sampi_expr e = *sampi_at(&m->d.tree, n);
        sampi_call call = { -1, -1, false, then, -1 };
        sampi_node next = -1; /* and `then` behind it */
        if (!(e.known & SAMPI_KNOWN_CALLS)) continue;
        switch (e.kind) {
            case SAMPI_NODE_REF:
                call.rule = e.a;
                sampi_add_call(m, first, call);
                break;
            case SAMPI_NODE_TOKEN:
                call.token = e.b & 2 ? sampi_at(&m->d.tree, e.a)->c : e.a;
                call.negated = e.b & 1;
                sampi_add_call(m, first, call);
                break;
            case SAMPI_NODE_SEQ:
                next = sampi_through(&m->d, e.a);
                if (sampi_at(&m->d.tree, next)->kind == SAMPI_NODE_SEQ) {
                    next = sampi_join(&m->d, next, e.b);
                    break;
                }
                if (sampi_at(&m->d.tree, next)->known & SAMPI_KNOWN_EMPTY) sampi_work_push_pair(&m->d, e.b, then);
                then = sampi_join(&m->d, e.b, then);
                break;
            case SAMPI_NODE_ALT:
                sampi_work_push_pair(&m->d, e.b, then);
                next = e.a;
                break;
            case SAMPI_NODE_REPEAT:
                then = sampi_join(&m->d, sampi_repeat_rest(&m->d, &e), then);
                next = e.a;
                break;
            case SAMPI_NODE_MEMBERS:
                if (e.c == 0 || (e.c & 1))
                    sampi_find_members(m, n, then);
                else
                    next = sampi_list_more(&m->d, n);
                break;
            default: break;
        }
        if (next < 0) continue;
        sampi_work_push_pair(&m->d, next, then);
    }
    m->d.work.n = bottom;
}

/* The state of a node; 0 if it can't match. */
static int32_t sampi_state_of(sampi_matcher *m, sampi_node n)
{
    if (!sampi_alive(&m->d, n)) return 0;
    if (sampi_at(&m->d.tree, n)->state) return sampi_at(&m->d.tree, n)->state;
    int32_t first = m->calls.n, n_classes = m->grammar->bytes.n_classes;
    sampi_find_calls(m, first, n);
    if (m->d.status) return 0;
    int32_t *next = (int32_t *)sampi_more(&m->d, &m->next, sizeof *next, n_classes);
    if (!next) return 0;
    memset(next, 0xff, (size_t)n_classes * sizeof *next); /* -1 */
    sampi_lex *s = (sampi_lex *)sampi_more(&m->d, &m->states, sizeof *s, 1);
    if (!s) {
        m->next.n -= n_classes;
        return 0;
    }
    sampi_charge(&m->d, 4 + n_classes / 8);
    s->node = n;
    s->calls = first;
    s->n_calls = m->calls.n - first;
    s->live = s->first = s->one = s->reach[0] = s->reach[1] = -1;
    s->mark = 0;
    s->kinds[0] = s->kinds[1] = 0;
    s->explored[0] = s->explored[1] = s->stops = false;
    s->flags = sampi_at(&m->d.tree, n)->known & SAMPI_KNOWN_EMPTY ? SAMPI_STATE_ENDS : 0;
    if (s->n_calls) s->flags |= SAMPI_STATE_CALLS;
    for (int32_t i = first; i < m->calls.n; i++)
        if (((const sampi_call *)m->calls.data)[i].rule < 0) s->flags |= SAMPI_STATE_TOKENS;
    return sampi_at(&m->d.tree, n)->state = m->states.n - 1;
}

/* The state behind a byte, which has not been asked for yet. One derivative serves all bytes that the state's node does
   not tell apart. Which these are is found out when the state is first asked, and noted in its row: -2 - the first
   class of their kind. */
static int32_t sampi_make_next(sampi_matcher *m, int32_t state, int32_t class_of_byte)
{
    const int32_t n_classes = m->grammar->bytes.n_classes;
    const size_t row = (size_t)state * (size_t)n_classes;
    int32_t *next = (int32_t *)m->next.data + row, way = next[class_of_byte];
    const sampi_node node = sampi_lex_at(m, state)->node;
    if (way == -1) {
        uint8_t first[256];
        sampi_kinds_of(&m->d, node, first);
        if (m->d.status) return 0;
        for (int32_t c = 0; c < n_classes; c++) next[c] = -2 - first[c];
        way = next[class_of_byte];
    }
    int32_t to = sampi_state_of(m, sampi_derive(&m->d, node, m->grammar->bytes.byte_of[-2 - way]));
    if (m->d.status) return 0;
    next = (int32_t *)m->next.data + row; /* it may have moved */
    sampi_charge(&m->d, n_classes / 8);
    for (int32_t c = 0; c < n_classes; c++)
        if (next[c] == way) next[c] = to;
    return to;
}

/* The state behind a byte, 0 if there is none. */
static inline int32_t sampi_next(sampi_matcher *m, int32_t state, uint8_t byte)
{
    int32_t c = m->grammar->bytes.class_of[byte];
    int32_t next = ((const int32_t *)m->next.data)[(size_t)state * (size_t)m->grammar->bytes.n_classes + (size_t)c];
    return next >= 0 ? next : sampi_make_next(m, state, c);
}
