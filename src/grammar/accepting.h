/* ---- grammars: a token comes in ----
   From the items where the text is to those behind a token: by its bytes, or by its name where the grammar calls it so
   (<think>). Here the frames that no item can get back to any more are collected, so that a long text does not grow. */

/* Keep the items from `first` on as where the text is. */
static void sampi_settle_items(sampi_matcher *m, int32_t first)
{
    m->n_now = m->items.n - first;
    memmove(m->items.data, sampi_item_at(m, first), (size_t)m->n_now * sizeof(sampi_item));
    m->items.n = m->n_now;
}

/* Behind a token that is called by name. listed: it has a text, and so counts as one that is not another. */
static void sampi_accept_named(sampi_matcher *m, samp_token token, bool listed)
{
    int32_t first = m->items.n;
    sampi_begin_step(m);
    for (int32_t i = 0; i < m->n_now; i++) {
        sampi_item item = *sampi_item_at(m, i);
        sampi_lex s = *sampi_lex_at(m, item.state);
        for (int32_t c = 0; c < s.n_calls && (s.flags & SAMPI_STATE_TOKENS); c++) {
            sampi_call call = ((const sampi_call *)m->calls.data)[s.calls + c];
            if (call.rule < 0 && (call.negated ? call.token != token && listed : call.token == token))
                sampi_add_item(m, sampi_state_of(m, call.then), item.frame);
        }
    }
    sampi_close(m, first);
}

/* Bytes [n] behind the items [0, n_now): the first of the items there; the others before them are done with. */
static int32_t sampi_accept_bytes(sampi_matcher *m, const uint8_t *bytes, size_t n)
{
    int32_t from = 0, to = m->n_now;
    for (size_t i = 0; i < n && to > from; i++) {
        int32_t first = m->items.n;
        sampi_advance(m, from, to, bytes[i]);
        from = first;
        to = m->items.n;
    }
    return from;
}

/* Item i of all that must stay good: first those of the text's place, then those of the places that are kept. */
static int32_t sampi_n_held(const sampi_matcher *m) { return m->n_now + m->past.n; }
static sampi_item *sampi_held_at(const sampi_matcher *m, int32_t i)
{
    return i < m->n_now ? sampi_item_at(m, i) : (sampi_item *)m->past.data + (i - m->n_now);
}

/* Mark the frames that an item can get back to: their rule is ~rule then. False: no room for that. */
static bool sampi_mark_frames(sampi_matcher *m)
{
    m->d.work.n = 0; /* first a stack of frames whose edges are to be followed, then as long as the frames */
    if (!sampi_vec_add(&m->d.work, sizeof(int32_t), m->frames.n)) return false;
    int32_t *todo = (int32_t *)m->d.work.data, n = 0;
    for (int32_t i = 0; i < sampi_n_held(m); i++) {
        sampi_frame *frame = sampi_frame_at(m, sampi_held_at(m, i)->frame);
        if (sampi_held_at(m, i)->frame == 0 || frame->rule < 0) continue;
        frame->rule = ~frame->rule;
        todo[n++] = sampi_held_at(m, i)->frame;
    }
    while (n > 0)
        for (int32_t e = sampi_frame_at(m, todo[--n])->edge; e >= 0; e = sampi_edge_at(m, e)->next) {
            const int32_t f = sampi_edge_at(m, e)->frame;
            if (f == 0 || sampi_frame_at(m, f)->rule < 0) continue;
            sampi_frame_at(m, f)->rule = ~sampi_frame_at(m, f)->rule;
            todo[n++] = f;
        }
    return true;
}

/* The edges of a frame that stays, which is now number `frame`: in place of the next one each gets -2 - its frame. The
   next one of this kind has number n_edges. */
static void sampi_claim_edges(sampi_matcher *m, int32_t frame, int32_t first)
{
    for (int32_t e = first; e >= 0;) {
        const int32_t next = sampi_edge_at(m, e)->next;
        sampi_edge_at(m, e)->next = -2 - frame;
        e = next;
    }
}

/* Frames that an item can get back to stay, in order; the others go, and so do edges. All that is in place. Only
   between two steps: no frame is looked up by its rule then. Without memory all stay. */
static void sampi_sweep_frames(sampi_matcher *m)
{
    int32_t kept = 1, n_edges = 0;
    const bool was_full = m->d.held.full, marked = sampi_mark_frames(m);
    m->d.held.full = was_full;
    int32_t *to = (int32_t *)m->d.work.data;
    m->d.work.n = 0;
    if (!marked) return;
    to[0] = 0;
    for (int32_t i = 1; i < m->frames.n; i++) {
        sampi_frame frame = *sampi_frame_at(m, i);
        if (frame.rule >= 0) continue;
        sampi_claim_edges(m, kept, frame.edge);
        frame.rule = ~frame.rule;
        frame.edge = -1;
        to[i] = kept;
        *sampi_frame_at(m, kept++) = frame;
    }
    for (int32_t e = 0; e < m->edges.n; e++) {
        sampi_edge edge = *sampi_edge_at(m, e);
        if (edge.next >= -1) continue; /* of a frame that goes */
        sampi_frame *frame = sampi_frame_at(m, -2 - edge.next);
        edge.frame = to[edge.frame];
        edge.next = frame->edge;
        frame->edge = n_edges;
        *sampi_edge_at(m, n_edges++) = edge;
    }
    for (int32_t i = 0; i < sampi_n_held(m); i++) sampi_held_at(m, i)->frame = to[sampi_held_at(m, i)->frame];
    m->edges.n = n_edges;
    m->frames.n = m->live = kept;
}

/* A copy of the array; an empty one if there is no memory, and the fault is told. */
static sampi_vec sampi_copy_vec(sampi_matcher *m, const sampi_vec *from, size_t width)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    vec.held = &m->d.held;
    if (from->n == 0) return vec;
    if (!sampi_vec_move(&vec, width, from->n)) {
        sampi_fault(&m->d, SAMP_E_NOMEM);
        return vec;
    }
    memcpy(vec.data, from->data, (size_t)from->n * width);
    vec.n = from->n;
    return vec;
}

static sampi_tree sampi_copy_tree(sampi_matcher *m, const sampi_tree *from)
{
    sampi_tree t;
    t.nodes = sampi_copy_vec(m, &from->nodes, sizeof(sampi_expr));
    t.pool = sampi_copy_vec(m, &from->pool, 1);
    t.rules = sampi_copy_vec(m, &from->rules, sizeof(sampi_rule));
    t.lists = sampi_copy_vec(m, &from->lists, sizeof(sampi_list));
    t.members = sampi_copy_vec(m, &from->members, sizeof(sampi_member));
    t.slots = sampi_copy_vec(m, &from->slots, sizeof(sampi_node));
    t.spare = INT64_MAX; /* other limits count */
    t.classes = NULL;
    return t;
}

/* Forget the entries. */
static void sampi_drop_entries(sampi_matcher *m)
{
    for (int32_t i = 0; i < m->entries.n; i++)
        sampi_free_block(&m->d.held, sampi_entry_at(m, i)->bits, m->index->n_mask * (size_t)4);
    sampi_vec_free(&m->entries);
    sampi_vec_free(&m->tokens);
    sampi_vec_free(&m->places);
    sampi_vec_free(&m->entry_slots);
}

/* States, of which there are none: the dead one. */
static void sampi_begin_states(sampi_matcher *m)
{
    if (m->d.memo) memset(m->d.memo, 0xff, (size_t)m->d.n_memo * sizeof *m->d.memo);
    sampi_lex *dead = (sampi_lex *)sampi_more(&m->d, &m->states, sizeof *dead, 1);
    int32_t *next = (int32_t *)sampi_more(&m->d, &m->next, sizeof *next, m->grammar->bytes.n_classes);
    if (dead) memset(dead, 0, sizeof *dead);
    if (next) memset(next, 0, (size_t)m->grammar->bytes.n_classes * sizeof *next);
}

/* Which of a derived node's parts are nodes? Bit 0: a, bit 1: b. */
static int sampi_node_parts(int kind)
{
    if (kind == SAMPI_NODE_SEQ || kind == SAMPI_NODE_ALT || kind == SAMPI_NODE_AND) return 3;
    if (kind == SAMPI_NODE_REPEAT || kind == SAMPI_NODE_NOT) return 1;
    return kind == SAMPI_NODE_MEMBERS ? 2 : 0;
}

/* Mark in `to` [nodes] (1; else 0) what is needed: the nodes of held items, of edges, and their parts. The grammar's
   own stay in any case. */
static void sampi_mark_nodes(sampi_matcher *m, int32_t *to)
{
    const int32_t n = m->d.tree.nodes.n, own = m->grammar->tree.nodes.n;
    memset(to, 0, (size_t)n * sizeof *to);
    for (int32_t i = 0; i < sampi_n_held(m); i++) to[~sampi_held_at(m, i)->state] = 1;
    for (int32_t i = 0; i < m->edges.n; i++) to[sampi_edge_at(m, i)->then] = 1;
    for (int32_t i = n - 1; i >= own; i--) { /* parts come before what they are part of */
        const sampi_expr *e = sampi_at(&m->d.tree, i);
        if (to[i] && (sampi_node_parts(e->kind) & 1)) to[e->a] = 1;
        if (to[i] && (sampi_node_parts(e->kind) & 2)) to[e->b] = 1;
    }
}

/* Move the nodes that are marked to the front, in order, and the bytes that they have in the pool. to [i] is then the
   new number of node i. */
static void sampi_move_nodes(sampi_matcher *m, int32_t *to)
{
    sampi_tree *t = &m->d.tree;
    const int32_t own = m->grammar->tree.nodes.n;
    int32_t n = own, n_pool = m->grammar->tree.pool.n;
    for (int32_t i = 0; i < t->nodes.n; i++) {
        sampi_expr e = *sampi_at(t, i);
        if (i < own) sampi_at(t, to[i] = i)->state = 0;
        if (i < own || !to[i]) continue;
        if (sampi_node_parts(e.kind) & 1) e.a = to[e.a];
        if (sampi_node_parts(e.kind) & 2) e.b = to[e.b];
        if (e.kind == SAMPI_NODE_SEEN) {
            memmove((uint8_t *)t->pool.data + n_pool, sampi_bytes_at(t, e.a), (size_t)e.b);
            e.a = n_pool;
            n_pool += e.b;
        }
        e.state = 0;
        *sampi_at(t, to[i] = n++) = e;
    }
    t->nodes.n = n;
    t->pool.n = n_pool;
}

/* Forget all that can be made again: entries, states, and the nodes that nobody needs. It takes no room: the table of
   nodes serves for their new numbers, and is then filled anew. Held items have their nodes now, until sampi_find_states
   finds what they need of the states. */
static void sampi_sweep_nodes(sampi_matcher *m)
{
    sampi_tree *t = &m->d.tree;
    int32_t *to = (int32_t *)t->slots.data;
    sampi_drop_entries(m);
    for (int32_t i = 0; i < sampi_n_held(m); i++) {
        sampi_item *item = sampi_held_at(m, i);
        if (item->state >= 0) item->state = ~sampi_lex_at(m, item->state)->node;
    }
    sampi_mark_nodes(m, to);
    sampi_move_nodes(m, to);
    for (int32_t i = 0; i < sampi_n_held(m); i++) sampi_held_at(m, i)->state = ~to[~sampi_held_at(m, i)->state];
    for (int32_t i = 0; i < m->edges.n; i++) sampi_edge_at(m, i)->then = to[sampi_edge_at(m, i)->then];
    m->states.n = m->next.n = m->calls.n = m->classes.n = 0;
    sampi_begin_states(m); /* there is room for one */
    m->stateless = true;
    while (t->slots.n > m->grammar->tree.slots.n && t->slots.n > 4 * (t->nodes.n + 1)) t->slots.n /= 2;
    sampi_vec_trim(&t->slots, sizeof(sampi_node));
    memset(t->slots.data, 0xff, (size_t)t->slots.n * sizeof(sampi_node));
    sampi_tree_fill_slots(t);
}

/* Give back room that is not needed any more, and what is only a table of the step under way. What leads back never
   needs more items than there are. */
static void sampi_trim(sampi_matcher *m)
{
    sampi_vec_free(&m->seen.slots);
    sampi_vec_free(&m->joined.slots);
    sampi_vec_free(&m->d.work);
    sampi_vec_trim(&m->states, sizeof(sampi_lex));
    sampi_vec_trim(&m->next, sizeof(int32_t));
    sampi_vec_trim(&m->calls, sizeof(sampi_call));
    sampi_vec_trim(&m->classes, sizeof(uint32_t));
    sampi_vec_trim(&m->d.tree.nodes, sizeof(sampi_expr));
    sampi_vec_trim(&m->d.tree.pool, 1);
    sampi_vec_trim(&m->frames, sizeof(sampi_frame));
    sampi_vec_trim(&m->edges, sizeof(sampi_edge));
    sampi_vec_trim(&m->past, sizeof(sampi_item));
    sampi_vec_trim(&m->past_n, sizeof(int32_t));
    sampi_vec_trim(&m->history, sizeof(samp_token));
    if (m->past.n == 0) sampi_vec_trim(&m->items, sizeof(sampi_item));
}

/* The items of the text's place get their states again, if they have nodes. */
static void sampi_find_states(sampi_matcher *m)
{
    for (int32_t i = 0; i < m->n_now && !m->d.status; i++) {
        const int32_t state = sampi_item_at(m, i)->state;
        if (state >= 0) continue;
        const int32_t found = sampi_state_of(m, ~state);
        if (!m->d.status) sampi_item_at(m, i)->state = found;
    }
    if (!m->d.status) m->stateless = false;
}

/* The place at the beginning of a text. */
static void sampi_begin_text(sampi_matcher *m)
{
    m->frames.n = m->live = 1;
    m->edges.n = m->items.n = 0;
    sampi_begin_step(m);
    sampi_add_item(m, sampi_state_of(m, sampi_rule_at(&m->d.tree, m->grammar->root)->body), 0);
    sampi_close(m, 0);
    m->unborn = m->d.status != SAMP_OK;
    m->n_now = m->unborn ? 0 : m->items.n;
    if (!m->unborn) return;
    m->frames.n = 1;
    m->edges.n = m->items.n = 0;
}

/* Go back to between two calls, with as much room as there can be if all of it is wanted. */
static void sampi_make_room(sampi_matcher *m, bool all)
{
    m->d.status = SAMP_OK;
    m->d.held.full = false;
    m->d.work.n = 0;
    m->items.n = m->n_now;
    if (all) {
        m->d.budget -= m->d.tree.nodes.n / 4 + m->frames.n / 4;
        sampi_drop_entries(m);
    }
    if (all || m->frames.n > 2 * m->live + 64) sampi_sweep_frames(m);
    if (all) {
        sampi_sweep_nodes(m);
        sampi_trim(m);
    }
    if (m->d.held.bytes > m->d.held.most) {
        m->d.held.full = true;
        sampi_fault(&m->d, SAMP_E_FULL);
    }
    if (m->stateless && !m->d.status) sampi_find_states(m);
    if (m->unborn && !m->d.status) sampi_begin_text(m);
}

/* Is the call to do its work (again)? It is the first time; and once more if there was no room: then all that can be
   made again is forgotten; then the places before, for it is better to go on than to be able to go back. In the end
   m->status says what came of it. All turns share the steps. */
static bool sampi_matcher_turn(sampi_matcher *m, sampi_turn *turn)
{
    if (turn->n == 0) {
        const bool all = m->d.held.bytes > m->d.held.most;
        turn->n = all ? 2 : 1;
        m->d.budget = m->max_steps;
        sampi_make_room(m, all);
        turn->before = sampi_mark(m);
        if (!m->d.status) return true;
    }
    while (m->d.status == SAMP_E_FULL && m->d.held.full && turn->n <= (m->past_n.n ? 2 : 1)) {
        if (turn->n++ == 2) m->past.n = m->past_n.n = 0;
        sampi_drop(m, turn->before);
        sampi_make_room(m, true);
        turn->before = sampi_mark(m);
        if (!m->d.status) return true;
    }
    return false;
}
