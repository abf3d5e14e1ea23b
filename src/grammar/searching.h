/* ---- derivatives: whether any text is left ----
   An expression with an AND may match no text at all; a search for a text finds out. This room also finds expressions
   that answer for many others, because their counts are far from their bounds. */

enum {
    SAMPI_DISTANCE_INFINITE = 1 << 20, /* an infinite distance, as no text is possible */
    /* distances are kept in the memo like derivatives, as those by the bytes 256 and 257, which do not exist */
    SAMPI_MEMO_DISTANCE = 256
};

/* Estimates how many more bytes a text needs until n matches it (in: true), or until n does not match it (in: false).
   The estimate only decides the order of a search. Where several parts must match, it is the sum of theirs, so that
   progress in any part counts. The distance from a text that "all but x" does not match is the distance from a text of
   x. *patience is the number of nodes that may still be visited. */
static int32_t sampi_grammar_distance(sampi_deriver *d, sampi_node n, bool in, int32_t *patience);

/* Returns the estimate of sampi_grammar_distance for a SEQ, an ALT or an AND node. */
static int32_t sampi_grammar_distance_of_parts(sampi_deriver *d, sampi_expr e, bool in, int32_t *patience)
{
    const sampi_tree *t = &d->tree;
    const int kind = e.kind;
    const bool all = kind == SAMPI_NODE_SEQ || in == (kind == SAMPI_NODE_AND);
    int32_t far = all ? 0 : SAMPI_DISTANCE_INFINITE;
    if (kind == SAMPI_NODE_AND && !in && sampi_grammar_at(t, e.a)->kind == SAMPI_NODE_NOT)
        return sampi_grammar_distance(d, e.a, in, patience);
    if (kind == SAMPI_NODE_AND && !in && sampi_grammar_at(t, e.b)->kind == SAMPI_NODE_NOT)
        return sampi_grammar_distance(d, e.b, in, patience);
    for (bool last = false; !last && *patience > 0;) {
        const sampi_expr rest = *sampi_grammar_at(t, e.b);
        last = kind == SAMPI_NODE_AND || rest.kind != kind;
        for (int i = 0; i < (last ? 2 : 1); i++) {
            const int32_t part = sampi_grammar_distance(d, i ? e.b : e.a, in, patience);
            far = all ? far + part : part < far ? part : far;
        }
        if (far > SAMPI_DISTANCE_INFINITE) far = SAMPI_DISTANCE_INFINITE;
        e = rest;
    }
    return far;
}

/* Returns the estimate of sampi_grammar_distance for a MULTIPLE node: the least number of digits after which the
   number can be a multiple. */
static int32_t sampi_grammar_multiple_distance(const sampi_expr *e)
{
    int64_t rest = e->b, room = 1; /* `room`: the digits to come can be any number below this */
    int32_t far = -(e->c / SAMPI_MULTIPLE_PLACE);
    while (room < e->a && (e->a - rest) % e->a >= room) {
        rest = rest * 10 % e->a;
        room *= 10;
        far++;
    }
    return far < 1 ? 1 : far;
}

static int32_t sampi_grammar_distance(sampi_deriver *d, sampi_node n, bool in, int32_t *patience)
{
    if (sampi_grammar_at(&d->tree, n)->kind != SAMPI_NODE_PLACED)
        n = sampi_grammar_inlined(d, n); /* it may be a part of itself */
    const sampi_expr e = *sampi_grammar_at(&d->tree, n);
    int32_t far = in != ((e.facts & SAMPI_FACT_EMPTY) != 0);
    if (--*patience < 0) return 0;
    switch (e.kind) {
        case SAMPI_NODE_MULTIPLE: return in && far ? sampi_grammar_multiple_distance(&e) : far;
        case SAMPI_NODE_NEVER: return in ? SAMPI_DISTANCE_INFINITE : 0;
        case SAMPI_NODE_TEXT: return in ? e.b : 0;
        case SAMPI_NODE_NOT: return sampi_grammar_distance(d, e.a, !in, patience);
        case SAMPI_NODE_REPEAT:
            if (!in || e.b == 0) return far;
            far = sampi_grammar_distance(d, e.a, in, patience);
            return far < SAMPI_DISTANCE_INFINITE / e.b ? far * e.b : SAMPI_DISTANCE_INFINITE;
        case SAMPI_NODE_SEQ:
            if (!in) return far;
            break;
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND: break;
        default: return far;
    }
    sampi_memo *memo = sampi_grammar_memo_of(d, n, SAMPI_MEMO_DISTANCE + in);
    if (memo->node == n && memo->byte == SAMPI_MEMO_DISTANCE + in) return memo->result;
    far = sampi_grammar_distance_of_parts(d, e, in, patience);
    if (*patience < 0) return far;
    memo->node = n;
    memo->byte = SAMPI_MEMO_DISTANCE + in;
    memo->result = far;
    return far;
}

/* ---- counts that are far from their bounds ----
   While more repetitions may come than the next bytes can contain, it does not matter how many: a node with other
   numbers, which many nodes share, answers for it. */

/* How sampi_grammar_near changes a node. far: a number above this is far from a bound. wide: such a bound is left out,
   and the result has all texts of the node; else the bound becomes `far`, and the result has no other texts than the
   node. exact: a lower bound may be changed too, which is right only for the next `far` bytes of a node without AND.
   rigid: becomes true if a lower bound is far, and was not changed. patience: how many nodes may still be visited.
   n_changed: how many bounds were changed. */
typedef struct sampi_nearness {
    int32_t far;
    bool wide, exact, rigid;
    int32_t patience, n_changed;
} sampi_nearness;

/* Returns a node that is the same for all counts that are far from their bounds; n itself if there is none. */
static sampi_node sampi_grammar_near(sampi_deriver *d, sampi_node n, sampi_nearness *is)
{
    sampi_tree *t = &d->tree;
    if (!(sampi_grammar_at(t, n)->facts & SAMPI_FACT_COUNT) || --is->patience < 0) return n;
    const sampi_expr e = *sampi_grammar_at(t, sampi_grammar_inlined(d, n));
    int32_t least = e.b, most = e.c, far = is->far;
    const int32_t bottom = d->work.n, n_changed = is->n_changed;
    switch (e.kind) {
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_AND: {
            const sampi_node a = sampi_grammar_near(d, e.a, is), b = sampi_grammar_near(d, e.b, is);
            if (is->n_changed == n_changed) return n;
            return e.kind == SAMPI_NODE_SEQ ? sampi_grammar_join_sequence(d, a, b)
                                            : sampi_grammar_checked_node(d, sampi_tree_and(t, a, b));
        }
        case SAMPI_NODE_ALT: {
            sampi_node rest = sampi_grammar_inlined(d, n);
            for (; sampi_grammar_at(t, rest)->kind == SAMPI_NODE_ALT; rest = sampi_grammar_at(t, rest)->b)
                sampi_grammar_push_alternatives(d, sampi_grammar_near(d, sampi_grammar_at(t, rest)->a, is));
            sampi_grammar_push_alternatives(d, sampi_grammar_near(d, rest, is));
            if (is->n_changed != n_changed) return sampi_grammar_join_alternatives(d, bottom);
            d->work.n = bottom;
            return n;
        }
        case SAMPI_NODE_REPEAT:
            if (least > far && is->exact) least = far + 1;
            is->rigid |= least > far && !is->exact;
            if (most > far && !is->rigid) most = is->wide ? -1 : far;
            if (least == e.b && most == e.c) return n;
            is->n_changed++;
            return sampi_grammar_checked_node(d, sampi_tree_repeat(t, e.a, least, most));
        default: return n;
    }
}

/* Returns a node that allows the same as n within the next `far` bytes, and that all numbers share which are far from
   their bounds; n itself if there is none, or it is not known. n is an AND of a number of units and another part, or
   begins with such nodes. */
static sampi_node sampi_grammar_near_counts(sampi_deriver *d, sampi_node n, int32_t far)
{
    enum { PATIENCE = 64, SEARCHES = 16 };
    sampi_tree *t = &d->tree;
    const sampi_expr e = *sampi_grammar_at(t, n);
    sampi_conjuncts all;
    sampi_extent extent[2];
    bool known[2];
    if (e.kind == SAMPI_NODE_SEQ) {
        const sampi_node a = sampi_grammar_near_counts(d, e.a, far);
        return a == e.a ? n : sampi_grammar_join_sequence(d, a, e.b);
    }
    if (!(e.facts & SAMPI_FACT_COUNT) || !sampi_grammar_conjuncts_of(d, n, &all) || all.n != 2) return n;
    for (int32_t i = 0; (i = sampi_grammar_extents_of(d, &all, i, far, SEARCHES, extent, known)) >= 0; i++) {
        const sampi_extent *other = &extent[1 - i];
        sampi_counted c = sampi_grammar_counted_of(t, all.part[i]);
        sampi_node rest = all.part[1 - i];
        if (!known[1 - i] || (c.least <= far && c.most == INT32_MAX)) continue;
        /* from these numbers on, whatever is begun can be ended, or can no longer be */
        const int64_t least = far + 1 + other->short_of,
                      most = far + sampi_grammar_larger(other->left, c.least ? other->short_of : 0);
        if (c.most < INT32_MAX && c.most <= most) continue;
        sampi_nearness is = { far, true, true, false, PATIENCE, 0 };
        if (c.least > least) c.least = (int32_t)least;
        if (c.least == least) rest = sampi_grammar_near(d, rest, &is);
        const sampi_node units = sampi_tree_seq(t, sampi_tree_repeat(t, c.one, c.least, -1), c.rest);
        return sampi_grammar_checked_node(d, c.least ? sampi_tree_and(t, units, rest) : rest);
    }
    return n;
}

/* A node that sampi_grammar_search_match has reached. from: the index of the node whose derivative by `byte` it is (-1:
   the start; byte -1: it is reached by more bytes); before: the index of the node with the same distance that was
   reached before it; looked_at: whether its own derivatives were computed. The reached nodes are on the stack from
   index `first` on. */
typedef struct sampi_reached {
    sampi_node node;
    int32_t from, byte, before, looked_at;
} sampi_reached;

enum { SAMPI_DISTANCES = 1024 }; /* larger distances are cut off at SAMPI_DISTANCES - 1 */

static sampi_reached *sampi_grammar_reached_at(const sampi_deriver *d, int32_t first, int32_t i)
{
    return (sampi_reached *)sampi_grammar_vec_at(&d->work, sizeof(sampi_node), first) + i;
}

/* Adds a node that the search has reached, with index i, and returns its distance (sampi_grammar_distance). nearest
   [distance] is the index of the newest node with this distance, or -1. */
static int32_t sampi_grammar_reached_add(sampi_deriver *d, sampi_node node, int32_t from, int32_t byte, int32_t i,
                                         int32_t *nearest)
{
    enum { MANY = 512 };
    int32_t patience = MANY, far = sampi_grammar_distance(d, node, true, &patience);
    sampi_grammar_charge(d, (MANY - patience) / 4);
    if (far >= SAMPI_DISTANCES) far = SAMPI_DISTANCES - 1;
    const sampi_reached reached = { node, from, byte, nearest[far], 0 };
    void *room = sampi_grammar_append(d, &d->work, sizeof(sampi_node), sizeof reached / sizeof(sampi_node));
    if (room) memcpy(room, &reached, sizeof reached);
    nearest[far] = i;
    return far;
}

/* Returns a reached node whose derivatives are still to be computed: of those with the smallest distance to a matching
   text, the newest. Such a node must exist. *far is a lower bound of its distance on entry, and its distance on
   return. */
static int32_t sampi_grammar_reached_nearest(const sampi_deriver *d, int32_t first, int32_t *nearest, int32_t *far)
{
    for (;;) {
        const int32_t at = nearest[*far];
        if (at < 0) {
            ++*far;
            continue;
        }
        if (!sampi_grammar_reached_at(d, first, at)->looked_at) return at;
        nearest[*far] = sampi_grammar_reached_at(d, first, at)->before;
    }
}

/* Returns whether the facts about a node that the search has reached show that it matches some text. */
static bool sampi_grammar_search_ends(const sampi_deriver *d, sampi_node n)
{
    const int32_t known = sampi_grammar_facts_of(&d->tree, n);
    return !(known & SAMPI_FACT_DEAD) &&
           ((known & (SAMPI_FACT_EMPTY | SAMPI_FACT_ALIVE)) || !(known & SAMPI_FACT_AND));
}

/* Adds the nodes that the reached node `at` leads to by repetitions of a word that led to it. Returns the index of one
   that matches some text, or -1. */
static int32_t sampi_grammar_search_far(sampi_deriver *d, int32_t first, int32_t at, int32_t *n, int32_t *nearest,
                                        int32_t *far)
{
    enum { LONG = 24 };
    uint8_t word[LONG];
    sampi_node far_nodes[SAMPI_CONJUNCTS + 1];
    int32_t n_word = 0;
    for (sampi_reached to = *sampi_grammar_reached_at(d, first, at), now = to;
         n_word < LONG && now.from >= 0 && now.byte >= 0 && !d->status;) {
        word[LONG - ++n_word] = (uint8_t)now.byte;
        now = *sampi_grammar_reached_at(d, first, now.from);
        const int32_t n_far = sampi_grammar_pump(d, now.node, to.node, word + LONG - n_word, n_word, far_nodes);
        for (int32_t i = 0; i < n_far && !d->status; i++) {
            if (sampi_grammar_is_dead(&d->tree, far_nodes[i])) continue;
            if (!sampi_grammar_pairs_add(d, &d->queued, far_nodes[i], 0)) continue;
            const int32_t next_far = sampi_grammar_reached_add(d, far_nodes[i], at, -1, (*n)++, nearest);
            if (next_far < *far) *far = next_far;
            if (sampi_grammar_search_ends(d, far_nodes[i])) return *n - 1;
        }
    }
    return -1;
}

/* Returns whether n, which is regular and contains an AND, matches any text. First it tries the byte with which a text
   was found last time, because such a byte often ends a text, as a quote does. Then the search computes derivatives
   until one of them matches the empty text. Then all nodes on the path to it are marked ALIVE; if no derivative
   matches, all reached nodes are marked DEAD. The search alternates between the oldest node, so that short texts are
   found before long ones are tried, and the newest node with the smallest distance, so that a long text is found
   without trying all shorter ones. Returns SAMPI_FACT_ALIVE, SAMPI_FACT_DEAD, or 0 after so many turns or an error. */
static int32_t sampi_grammar_search_match(sampi_deriver *d, sampi_node start, int32_t turns)
{
    enum { FEW = 16 }; /* a search that is shorter looks at no word twice */
    const int32_t first = d->work.n;
    int32_t n = 1, oldest = 0, nearest[SAMPI_DISTANCES], far, found_at = -1;
    bool found = false, empty = false;
    if (d->status || (!d->memo && !sampi_grammar_memo_make(d))) return 0;
    if (sampi_grammar_search_ends(d, sampi_grammar_derive(d, start, d->bytes->byte_of[d->last])) && !d->status)
        return SAMPI_FACT_ALIVE;
    memset(nearest, 0xff, sizeof nearest);
    far = sampi_grammar_reached_add(d, start, -1, -1, 0, nearest);
    sampi_grammar_pairs_clear(&d->queued);
    sampi_grammar_pairs_add(d, &d->queued, start, 0);
    for (int32_t turn = 0; turn < turns && !found && !d->status; turn++) {
        while (oldest < n && sampi_grammar_reached_at(d, first, oldest)->looked_at) oldest++;
        empty = oldest == n;
        if (empty) break;
        const int32_t at = turn % 2 ? sampi_grammar_reached_nearest(d, first, nearest, &far) : oldest;
        const sampi_node node = sampi_grammar_reached_at(d, first, at)->node;
        sampi_grammar_reached_at(d, first, at)->looked_at = 1;
        if (turn > 0 && (sampi_grammar_at(&d->tree, node)->facts & SAMPI_FACT_COUNT)) {
            const int32_t known = sampi_grammar_compare_counts(d, node, 0);
            if (known & SAMPI_FACT_DEAD) continue;
            if (known) {
                found_at = at;
            } else if (turn > FEW) {
                found_at = sampi_grammar_search_far(d, first, at, &n, nearest, &far);
            }
            found = found_at >= 0;
            if (found) break;
        }
        uint8_t kinds[256];
        sampi_grammar_find_byte_kinds(d, node, kinds);
        for (int32_t c = 0; c < d->bytes->n_classes && !found && !d->status; c++) {
            if (kinds[c] != c) continue;
            sampi_node next = sampi_grammar_derive(d, node, d->bytes->byte_of[c]);
            if (sampi_grammar_is_dead(&d->tree, next) || !sampi_grammar_pairs_add(d, &d->queued, next, 0)) continue;
            found = sampi_grammar_search_ends(d, next);
            if (found) d->last = c;
            if (found) found_at = n;
            const int32_t next_far = sampi_grammar_reached_add(d, next, at, d->bytes->byte_of[c], n++, nearest);
            if (next_far < far) far = next_far;
        }
    }
    if (!d->status && found) /* marks the last node, and all nodes on the path to it */
        for (int32_t at = found_at; at >= 0; at = sampi_grammar_reached_at(d, first, at)->from)
            sampi_grammar_add_facts(&d->tree, sampi_grammar_reached_at(d, first, at)->node, SAMPI_FACT_ALIVE);
    for (int32_t at = 0; at < n && empty && !d->status; at++)
        sampi_grammar_add_facts(&d->tree, sampi_grammar_reached_at(d, first, at)->node, SAMPI_FACT_DEAD);
    d->work.n = first;
    return d->status ? 0 : found ? SAMPI_FACT_ALIVE : empty ? SAMPI_FACT_DEAD : 0;
}

/* Returns whether n certainly matches a text, because a node does that has no other texts and that other counts
   share. */
static bool sampi_grammar_is_near_alive(sampi_deriver *d, sampi_node n)
{
    enum { FAR = 32, PATIENCE = 64 };
    sampi_nearness is = { FAR, false, false, false, PATIENCE, 0 };
    const sampi_node near = sampi_grammar_near(d, n, &is);
    if (near == n || d->status || !sampi_grammar_matches_any(d, near)) return false;
    sampi_grammar_add_facts(&d->tree, n, SAMPI_FACT_ALIVE);
    return true;
}

/* Returns whether n, an AND or a PLACED node without calls, matches any text. */
static bool sampi_grammar_and_matches(sampi_deriver *d, sampi_node n)
{
    enum { SHORT = 64, SEARCHES = 16 };
    int32_t shown = sampi_grammar_compare_counts(d, n, 0);
    if (!shown && sampi_grammar_is_near_alive(d, n)) return true;
    if (!shown) shown = sampi_grammar_compare_counts(d, n, 0); /* the other node may have shown what is a unit */
    if (!shown) shown = sampi_grammar_search_match(d, n, SHORT);
    if (!shown) shown = sampi_grammar_compare_counts(d, n, SEARCHES);
    if (!shown) shown = sampi_grammar_search_match(d, n, INT32_MAX);
    if (shown) sampi_grammar_add_facts(&d->tree, n, shown);
    return shown & SAMPI_FACT_ALIVE;
}

/* Returns whether n can match any text. For an AND or a PLACED node, a search finds out. The stack
   has the second parts of sequences, which must match too, and of alternatives, which are tried if the first part
   matches no text. Above each part on the stack is the kind of the node that it comes from. */
static bool sampi_grammar_matches_any(sampi_deriver *d, sampi_node n)
{
    const int32_t bottom = d->work.n;
    for (;;) {
        bool alive = false;
        const bool placed = sampi_grammar_at(&d->tree, n)->kind == SAMPI_NODE_PLACED; /* may be a part of itself */
        sampi_grammar_charge(d, 1);
        n = sampi_grammar_inlined(d, n);
        const sampi_expr e = *sampi_grammar_at(&d->tree, n);
        const int32_t known = sampi_grammar_facts_of(&d->tree, n);
        if (known & SAMPI_FACT_DEAD) {
            alive = false;
        } else if (!(known & SAMPI_FACT_AND) || (known & (SAMPI_FACT_ALIVE | SAMPI_FACT_EMPTY))) {
            alive = true;
        } else if (!placed && (e.kind == SAMPI_NODE_SEQ || e.kind == SAMPI_NODE_ALT)) {
            n = e.kind == SAMPI_NODE_SEQ ? sampi_grammar_inlined(d, e.a) : e.a;
            if (e.kind == SAMPI_NODE_SEQ && sampi_grammar_at(&d->tree, n)->kind == SAMPI_NODE_SEQ) {
                n = sampi_grammar_join_sequence(d, n, e.b);
                continue;
            }
            sampi_grammar_work_push_pair(d, e.b, e.kind);
            if (!d->status) continue;
        } else if (!placed && e.kind == SAMPI_NODE_REPEAT) {
            n = e.a;
            continue;
        } else {
            alive = (known & SAMPI_FACT_CALLS) || sampi_grammar_and_matches(d, n);
        }
        bool settled = true;
        while (d->work.n > bottom && settled && !d->status) {
            settled = (sampi_grammar_work_pop(d) == SAMPI_NODE_SEQ) != alive;
            n = sampi_grammar_work_pop(d);
        }
        if (!settled) continue;
        d->work.n = bottom;
        return alive;
    }
}
