/* ---- grammars: items and frames ----
   One step of the Earley parser reads a byte and makes the items of the position behind it; an item is a state in a
   frame. If a state may end, the edges that wait for its frame continue. If a state calls a rule, it opens a frame, or
   it joins the frame that another caller of this rule has opened at the same position. */

static void sampi_grammar_push_item(sampi_matcher *m, int32_t state, int32_t frame)
{
    sampi_item *item = (sampi_item *)sampi_grammar_append(&m->d, &m->items, sizeof *item, 1);
    if (!item) return;
    item->state = state;
    item->frame = frame;
    item->flags = sampi_grammar_dfa_state_at(m, state)->flags;
    sampi_grammar_mark_used(&sampi_grammar_dfa_state_at(m, state)->used, m->now);
}

/* Adds an item to the parser's current step, unless the step has it already. */
static void sampi_grammar_add_item(sampi_matcher *m, int32_t state, int32_t frame)
{
    if (state && sampi_grammar_pairs_add(&m->d, &m->seen, state, frame)) sampi_grammar_push_item(m, state, frame);
}

/* Says that token i is the first one of the calls from frame `first` on. */
static void sampi_grammar_set_first_token(sampi_matcher *m, int32_t first, int32_t i)
{
    for (int32_t f = first > 0 ? first : 1; f < m->frames.n && m->grammar->counted; f++)
        sampi_grammar_frame_at(m, f)->token = i;
}

/* Calls a rule: finds or makes the frame of the rule's call at this position, and adds an edge to it for the caller. */
static void sampi_grammar_enter(sampi_matcher *m, sampi_call call, int32_t frame)
{
    const int32_t rule = call.rule, state = sampi_grammar_state_of(m, sampi_grammar_rule_at(&m->d.tree, rule)->body);
    int32_t f = m->rule_frame[rule];
    const sampi_rule *called = sampi_grammar_rule_at(&m->d.tree, rule);
    if (call.then == SAMPI_EMPTY && !called->unique && !called->tokens) {
        sampi_grammar_add_item(m, state, frame);
        return;
    }
    if (f < m->base || f >= m->frames.n || sampi_grammar_frame_at(m, f)->rule != rule) {
        sampi_frame *made = (sampi_frame *)sampi_grammar_append(&m->d, &m->frames, sizeof *made, 1);
        if (!made) return;
        made->rule = rule;
        made->edge = -1;
        made->from = m->text.n;
        made->token = m->history.n;
        f = m->rule_frame[rule] = m->frames.n - 1;
        sampi_grammar_add_item(m, state, f);
    }
    for (int32_t e = sampi_grammar_frame_at(m, f)->edge; e >= 0 && sampi_grammar_step(&m->d);
         e = sampi_grammar_edge_at(m, e)->next)
        if (sampi_grammar_edge_at(m, e)->then == call.then && sampi_grammar_edge_at(m, e)->member == call.member &&
            sampi_grammar_edge_at(m, e)->frame == frame)
            return;
    sampi_edge *edge = (sampi_edge *)sampi_grammar_append(&m->d, &m->edges, sizeof *edge, 1);
    if (!edge) return;
    edge->then = call.then;
    edge->member = call.member;
    edge->frame = frame;
    edge->next = sampi_grammar_frame_at(m, f)->edge;
    sampi_grammar_frame_at(m, f)->edge = m->edges.n - 1;
}

/* Returns from a frame: all edges that wait for the frame continue. */
static void sampi_grammar_return(sampi_matcher *m, int32_t frame)
{
    for (int32_t e = sampi_grammar_frame_at(m, frame)->edge; e >= 0 && sampi_grammar_step(&m->d);
         e = sampi_grammar_edge_at(m, e)->next) {
        const sampi_edge edge = *sampi_grammar_edge_at(m, e);
        if (m->reading && sampi_grammar_came_before(m, frame)) continue;
        sampi_node then = edge.member < 0 ? edge.then : sampi_grammar_list_behind(&m->d, edge.then, edge.member);
        sampi_grammar_add_item(m, sampi_grammar_state_of(m, then), edge.frame);
    }
}

/* Lets the items of the current step return that may end, from index `from` on. Items in frames of this same step do
   not return: if their rule matches the empty text, the caller's state already allows what follows the call. */
static void sampi_grammar_close_returns(sampi_matcher *m, int32_t from)
{
    for (int32_t i = from; i < m->items.n && sampi_grammar_step(&m->d); i++) {
        sampi_item item = *sampi_grammar_item_at(m, i);
        if (!(item.flags & SAMPI_STATE_ENDS) || item.frame >= m->base) continue;
        if (item.frame == 0) m->ended = true;
        sampi_grammar_return(m, item.frame);
    }
}

/* Lets the items of the current step from index `from` on call rules. A call made here never returns within this step:
   if a rule matches the empty text, the state of the calling rule already allows what follows the call. */
static void sampi_grammar_close_calls(sampi_matcher *m, int32_t from)
{
    for (int32_t i = from; i < m->items.n && sampi_grammar_step(&m->d); i++) {
        sampi_item item = *sampi_grammar_item_at(m, i);
        const sampi_dfa_state *s = sampi_grammar_dfa_state_at(m, item.state);
        for (int32_t c = 0; c < s->n_calls; c++)
            if (s->calls[c].rule >= 0) sampi_grammar_enter(m, s->calls[c], item.frame);
    }
}

/* Completes the parser's current step: lets the items from index `from` on return from rules and call rules. */
static void sampi_grammar_close(sampi_matcher *m, int32_t from)
{
    sampi_grammar_close_returns(m, from);
    sampi_grammar_close_calls(m, from);
}

/* Begins a new step of the parser. */
static void sampi_grammar_begin_step(sampi_matcher *m)
{
    m->base = m->frames.n;
    m->ended = false;
    sampi_grammar_pairs_clear(&m->seen);
}

/* Reads one byte: appends the items behind it, which follow from the items [from, to). Returns the number of the
   appended items. */
static int32_t sampi_grammar_advance(sampi_matcher *m, int32_t from, int32_t to, uint8_t byte)
{
    int32_t first = m->items.n;
    sampi_grammar_begin_step(m);
    sampi_grammar_read_text(m, &byte, 1);
    m->reading = m->grammar->unique;
    for (int32_t i = from; i < to && sampi_grammar_step(&m->d); i++) {
        sampi_item item = *sampi_grammar_item_at(m, i);
        const int32_t state = sampi_grammar_next(m, item.state, byte);
        if (state && m->reading && !sampi_grammar_item_can_differ(m, state, item.frame)) continue;
        sampi_grammar_add_item(m, state, item.frame);
    }
    sampi_grammar_close(m, first);
    m->reading = false;
    return m->d.status ? 0 : m->items.n - first;
}

/* sampi_grammar_mark returns the numbers of items, call frames and edges; sampi_grammar_drop sets them back to such
   numbers. */
static sampi_level sampi_grammar_mark(const sampi_matcher *m)
{
    sampi_level level = { m->items.n, m->frames.n, m->edges.n, 0, m->text.n, false, 0 };
    return level;
}
static void sampi_grammar_drop(sampi_matcher *m, sampi_level level)
{
    m->items.n = level.items;
    m->frames.n = level.frames;
    m->edges.n = level.edges;
    if (!level.state) m->text.n = level.frame;
}
