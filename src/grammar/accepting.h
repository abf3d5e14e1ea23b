/* ---- accepting ---- */

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

/* Frames that an item can get back to stay, in order; the others go. Only between two steps: no frame is looked up by
   its rule then. Without memory all stay. */
static void sampi_sweep_frames(sampi_matcher *m)
{
    int32_t n = m->frames.n, kept = 1, n_edges = 0;
    int32_t *to = (int32_t *)SAMP_MALLOC((size_t)n * sizeof *to); /* first: 1 if it stays; then its new number */
    sampi_edge *edges = (sampi_edge *)SAMP_MALLOC(((size_t)m->edges.n + 1) * sizeof *edges);
    if (to && edges) {
        memset(to, 0, (size_t)n * sizeof *to);
        for (int32_t i = 0; i < sampi_n_held(m); i++) to[sampi_held_at(m, i)->frame] = 1;
        m->work.n = 0; /* frames whose edges are to be followed */
        for (int32_t i = 1; i < n; i++)
            if (to[i]) sampi_work_push(m, i);
        while (m->work.n > 0 && !m->status)
            for (int32_t e = sampi_frame_at(m, sampi_work_pop(m))->edge; e >= 0; e = sampi_edge_at(m, e)->next) {
                int32_t f = sampi_edge_at(m, e)->frame;
                if (f > 0 && !to[f]) {
                    to[f] = 1;
                    sampi_work_push(m, f);
                }
            }
        for (int32_t i = 1; i < n && !m->status; i++)
            if (to[i]) to[i] = kept++;
    }
    if (to && edges && !m->status) {
        to[0] = 0;
        for (int32_t i = 1; i < n; i++) {
            if (!to[i]) continue;
            sampi_frame frame = *sampi_frame_at(m, i);
            int32_t first = n_edges;
            for (int32_t e = frame.edge; e >= 0; e = sampi_edge_at(m, e)->next) {
                edges[n_edges] = *sampi_edge_at(m, e);
                edges[n_edges].frame = to[edges[n_edges].frame];
                edges[n_edges].next = sampi_edge_at(m, e)->next < 0 ? -1 : n_edges + 1;
                n_edges++;
            }
            frame.edge = n_edges > first ? first : -1;
            *sampi_frame_at(m, to[i]) = frame;
        }
        for (int32_t i = 0; i < sampi_n_held(m); i++) sampi_held_at(m, i)->frame = to[sampi_held_at(m, i)->frame];
        if (n_edges) memcpy(m->edges.data, edges, (size_t)n_edges * sizeof *edges);
        m->edges.n = n_edges;
        m->frames.n = m->live = kept;
    }
    SAMP_FREE(to);
    SAMP_FREE(edges);
}

/* A copy of the array; an empty one if there is no memory, and the fault is told. */
static sampi_vec sampi_copy_vec(sampi_matcher *m, const sampi_vec *from, size_t width)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    void *room = from->n ? sampi_more(m, &vec, width, from->n) : NULL;
    if (room) memcpy(room, from->data, (size_t)from->n * width);
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
    return t;
}

/* Forget the entries. */
static void sampi_drop_entries(sampi_matcher *m)
{
    for (int32_t i = 0; i < m->entries.n; i++) SAMP_FREE(sampi_entry_at(m, i)->bits);
    m->entries.n = m->tokens.n = m->places.n = 0;
    sampi_vec_free(&m->entry_slots);
    m->n_bits = 0;
}

/* States, of which there are none: the dead one. */
static void sampi_begin_states(sampi_matcher *m)
{
    memset(m->memo, 0xff, SAMPI_MEMO * sizeof *m->memo);
    sampi_lex *dead = (sampi_lex *)sampi_more(m, &m->states, sizeof *dead, 1);
    int32_t *next = (int32_t *)sampi_more(m, &m->next, sizeof *next, m->grammar->n_classes);
    if (dead) memset(dead, 0, sizeof *dead);
    if (next) memset(next, 0, (size_t)m->grammar->n_classes * sizeof *next);
}

/* Which of a derived node's parts are nodes? Bit 0: a, bit 1: b. */
static int sampi_node_parts(int kind)
{
    if (kind == SAMPI_NODE_SEQ || kind == SAMPI_NODE_ALT || kind == SAMPI_NODE_AND) return 3;
    if (kind == SAMPI_NODE_REPEAT || kind == SAMPI_NODE_NOT) return 1;
    return kind == SAMPI_NODE_MEMBERS ? 2 : 0;
}

/* The nodes of `to` [n] that are kept (1) into `fresh`, in order, so that parts come before what they are part of; then
   to [i] is the new number of node i. Those of the grammar are there. */
static void sampi_move_nodes(sampi_matcher *m, sampi_tree *fresh, int32_t *to, int32_t n)
{
    const int32_t own = m->grammar->tree.nodes.n;
    for (int32_t i = n - 1; i >= own; i--) {
        const sampi_expr *e = sampi_at(&m->tree, i);
        if (to[i] && (sampi_node_parts(e->kind) & 1)) to[e->a] = 1;
        if (to[i] && (sampi_node_parts(e->kind) & 2)) to[e->b] = 1;
    }
    for (int32_t i = 0; i < n; i++) {
        sampi_expr e = *sampi_at(&m->tree, i);
        if (i < own) to[i] = i;
        if (i < own || !to[i]) continue;
        if (sampi_node_parts(e.kind) & 1) e.a = to[e.a];
        if (sampi_node_parts(e.kind) & 2) e.b = to[e.b];
        to[i] = sampi_sound(m, e.kind == SAMPI_NODE_SEEN
                                   ? sampi_tree_pooled(fresh, e.kind, sampi_bytes_at(&m->tree, e.a), (size_t)e.b)
                                   : sampi_tree_node(fresh, e.kind, e.a, e.b, e.c));
    }
}

/* The states of the held items, made anew in the fresh tree; until all are there, nothing of the old ones is gone: a
   fault on the way leaves the matcher as it was. to [n_nodes + n_held]: new numbers of nodes, and room. */
static void sampi_sweep_states(sampi_matcher *m, const sampi_tree *fresh, int32_t *to)
{
    sampi_matcher old = *m;
    sampi_vec *now[] = { &m->states, &m->next, &m->calls, &m->classes };
    sampi_vec *before[] = { &old.states, &old.next, &old.calls, &old.classes };
    int32_t *held = to + old.tree.nodes.n, n_held = sampi_n_held(m);
    m->tree = *fresh;
    for (int i = 0; i < 4; i++) memset(now[i], 0, sizeof *now[i]);
    sampi_begin_states(m);
    for (int32_t i = 0; i < n_held; i++)
        held[i] = sampi_state_of(m, to[sampi_lex_at(&old, sampi_held_at(m, i)->state)->node]);
    sampi_tree_free(m->status ? &m->tree : &old.tree);
    for (int i = 0; i < 4; i++) sampi_vec_free(m->status ? now[i] : before[i]);
    if (m->status) {
        m->tree = old.tree;
        for (int i = 0; i < 4; i++) *now[i] = *before[i];
        memset(m->memo, 0xff, SAMPI_MEMO * sizeof *m->memo);
        return;
    }
    for (int32_t i = 0; i < m->edges.n; i++) sampi_edge_at(m, i)->then = to[sampi_edge_at(m, i)->then];
    for (int32_t i = 0; i < n_held; i++) sampi_held_at(m, i)->state = held[i];
}

/* Forget all that can be made again: states, entries, and the nodes that nobody needs. */
static void sampi_sweep_nodes(sampi_matcher *m)
{
    int32_t n = m->tree.nodes.n;
    int32_t *to = (int32_t *)SAMP_MALLOC(((size_t)n + (size_t)sampi_n_held(m)) * sizeof *to);
    sampi_tree fresh = sampi_copy_tree(m, &m->grammar->tree);
    sampi_drop_entries(m);
    if (!to) sampi_fault(m, SAMP_E_NOMEM);
    if (!m->status) {
        memset(to, 0, (size_t)n * sizeof *to);
        for (int32_t i = 0; i < sampi_n_held(m); i++) to[sampi_lex_at(m, sampi_held_at(m, i)->state)->node] = 1;
        for (int32_t i = 0; i < m->edges.n; i++) to[sampi_edge_at(m, i)->then] = 1;
        for (int32_t i = 0; i < m->grammar->tree.nodes.n; i++) sampi_at(&fresh, i)->c = sampi_at(&m->tree, i)->c;
        sampi_move_nodes(m, &fresh, to, n);
    }
    if (m->status)
        sampi_tree_free(&fresh);
    else
        sampi_sweep_states(m, &fresh, to);
    SAMP_FREE(to);
}

/* What grows, in bytes, roughly. */
static size_t sampi_matcher_bytes(const sampi_matcher *m)
{
    return (size_t)m->tree.nodes.n * (sizeof(sampi_expr) + 8) + (size_t)m->states.n * sizeof(sampi_lex) +
           4 * ((size_t)m->next.n + (size_t)m->tokens.n + (size_t)m->places.n + (size_t)m->classes.n) + m->n_bits +
           (size_t)m->calls.n * sizeof(sampi_call) + (size_t)m->edges.n * (sizeof(sampi_edge) + sizeof(sampi_frame)) +
           (size_t)m->entries.n * sizeof(sampi_entry) + (size_t)m->past.n * sizeof(sampi_item) +
           (size_t)m->tree.pool.n;
}

/* Before a call does its work: room for what it will make. */
static int sampi_matcher_begin(sampi_matcher *m)
{
    m->status = SAMP_OK;
    m->budget = m->max_steps;
    m->work.n = 0;
    m->items.n = m->n_now;
    const bool is_over = sampi_matcher_bytes(m) > m->max_bytes;
    if (m->frames.n > 2 * m->live + 64 || is_over) sampi_sweep_frames(m);
    if (!is_over || sampi_matcher_bytes(m) <= m->max_bytes) return m->status;
    sampi_sweep_nodes(m);
    bool is_full = m->status == SAMP_E_FULL || (!m->status && sampi_matcher_bytes(m) > m->max_bytes);
    if (is_full && m->past_n.n) { /* rather go on than be able to go back */
        m->status = SAMP_OK;
        m->past.n = m->past_n.n = 0;
        sampi_sweep_frames(m);
        sampi_sweep_nodes(m);
    }
    if (sampi_matcher_bytes(m) > m->max_bytes) sampi_fault(m, SAMP_E_FULL);
    return m->status;
}
