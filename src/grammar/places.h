/* ---- regular expressions: what depends on a place ----
   ^, $, \b, \B and lookahead look at what is before or behind a place of the text. The reader (regex.h) makes GROUP
   nodes of them. sampi_grammar_resolve resolves them, from the front of the expression to its end: a lookahead
   becomes the intersection of what it demands and what follows it, up to the end; ^ and $ become nothing or NEVER.
   Behind a repetition of such a part the rest becomes a PLACED node, which derivatives resolve when a text reaches it.

   In the nodes that the reader makes, SAMPI_FACT_CALLS says that a part looks at its place, and SAMPI_FACT_AND that it
   looks at what is before it, or has characters that are known to be of words or not (SAMPI_GROUP_WORD and _OTHER). */

/* What is before a place, as bits. FRESH: the present repetition has matched nothing yet, so it must not end here. */
enum { SAMPI_PLACE_BEGIN = 1, SAMPI_PLACE_WORD = 2, SAMPI_PLACE_FRESH = 4 };

/* How many parts of an expression are visited while it is read; the others are visited while texts are. */
enum { SAMPI_PLACE_PATIENCE = 4096 };

/* The work on one expression: how many parts may still be visited, and how deep the present call is. Beyond these
   numbers the rest stays PLACED. */
typedef struct sampi_resolving {
    sampi_tree *tree;
    int32_t patience, depth;
} sampi_resolving;

/* Returns whether n matches the empty text if the text ends at this place. */
static bool sampi_grammar_resolve_ends(const sampi_tree *t, sampi_node n, int32_t place)
{
    for (;;) {
        const sampi_expr *whole = sampi_grammar_at(t, n),
                         *e = whole->kind == SAMPI_NODE_SEQ ? sampi_grammar_at(t, whole->a) : whole;
        bool is = e->facts & SAMPI_FACT_EMPTY;
        if (e->kind == SAMPI_NODE_SEQ) is = sampi_grammar_resolve_ends(t, whole->a, place);
        if (e->kind == SAMPI_NODE_REPEAT) is = e->b == 0 || sampi_grammar_resolve_ends(t, e->a, place);
        for (const sampi_expr *way = e; way->kind == SAMPI_NODE_ALT && !is; way = sampi_grammar_at(t, way->b))
            is = sampi_grammar_resolve_ends(t, way->a, place) ||
                 (sampi_grammar_at(t, way->b)->kind != SAMPI_NODE_ALT &&
                  sampi_grammar_resolve_ends(t, way->b, place));
        if (e->kind == SAMPI_NODE_GROUP) switch (e->b) {
                case SAMPI_GROUP_BEGIN: is = place & SAMPI_PLACE_BEGIN; break;
                case SAMPI_GROUP_END: is = true; break;
                case SAMPI_GROUP_AHEAD: is = sampi_grammar_resolve_ends(t, e->a, place); break;
                case SAMPI_GROUP_NOT_AHEAD: is = !sampi_grammar_resolve_ends(t, e->a, place); break;
                case SAMPI_GROUP_EDGE: is = place & SAMPI_PLACE_WORD; break;
                case SAMPI_GROUP_NO_EDGE: is = !(place & SAMPI_PLACE_WORD); break;
                case SAMPI_GROUP_AGAIN:
                    is = place & SAMPI_PLACE_FRESH ? !(e->c & 1) : sampi_grammar_resolve_ends(t, e->a, place);
                    if (!(e->c & SAMPI_PLACE_FRESH)) place &= ~SAMPI_PLACE_FRESH;
                    break;
                default: is = false; break;
            }
        if (!is || e == whole) return is;
        n = whole->b;
    }
}

/* Returns the node for what n matches from a place on, up to the text's end, which stays to be resolved. */
static sampi_node sampi_tree_placed(sampi_tree *t, sampi_node n, int32_t place)
{
    if (n < 0) return n;
    if (!(sampi_grammar_at(t, n)->facts & SAMPI_FACT_AND)) place = 0;
    return sampi_tree_node(t, SAMPI_NODE_PLACED, n, place, sampi_grammar_resolve_ends(t, n, place));
}

/* Returns the node for the texts of n that are not empty. */
static sampi_node sampi_tree_some(sampi_tree *t, sampi_node n)
{
    if (n < 0 || !(sampi_grammar_at(t, n)->facts & SAMPI_FACT_EMPTY)) return n;
    const sampi_expr e = *sampi_grammar_at(t, n);
    if (e.kind == SAMPI_NODE_REPEAT && !(sampi_grammar_at(t, e.a)->facts & SAMPI_FACT_EMPTY))
        return sampi_tree_repeat(t, e.a, 1, e.c);
    return sampi_tree_and(t, n, sampi_tree_not(t, SAMPI_EMPTY));
}

/* Returns n, which does not look at its place, without the groups that distinguish characters of words from others. */
static sampi_node sampi_grammar_untold(sampi_tree *t, sampi_node n)
{
    const sampi_expr e = *sampi_grammar_at(t, n);
    if (!(e.facts & SAMPI_FACT_AND)) return n;
    if (e.kind == SAMPI_NODE_GROUP) return e.a;
    sampi_node all = sampi_grammar_untold(t, e.a);
    if (e.kind == SAMPI_NODE_REPEAT) return sampi_tree_repeat(t, all, e.b, e.c);
    for (n = e.b; all >= 0; n = sampi_grammar_at(t, n)->b) {
        const bool last = sampi_grammar_at(t, n)->kind != e.kind;
        const sampi_node part = sampi_grammar_untold(t, last ? n : sampi_grammar_at(t, n)->a);
        all = e.kind == SAMPI_NODE_SEQ ? sampi_tree_seq(t, all, part) : sampi_tree_alt(t, all, part);
        if (last) break;
    }
    return all;
}

static sampi_node sampi_grammar_resolve(sampi_resolving *p, sampi_node n, int32_t place);

/* Does the work of sampi_grammar_resolve for alternatives h that are followed by k. Those that do not look at their
   places stay together. */
static sampi_node sampi_grammar_resolve_ways(sampi_resolving *p, sampi_node h, sampi_node k, int32_t place)
{
    sampi_tree *t = p->tree;
    const bool plain = !(sampi_grammar_at(t, h)->facts & SAMPI_FACT_CALLS);
    sampi_node all = SAMPI_NEVER, rest = SAMPI_NEVER;
    for (bool last = false; !last && all >= 0 && rest >= 0; h = sampi_grammar_at(t, h)->b) {
        last = sampi_grammar_at(t, h)->kind != SAMPI_NODE_ALT;
        const sampi_node way = last ? h : sampi_grammar_at(t, h)->a;
        if (!plain && !(sampi_grammar_at(t, way)->facts & SAMPI_FACT_CALLS))
            rest = sampi_tree_alt(t, rest, way);
        else
            all = sampi_tree_alt(t, all, sampi_grammar_resolve(p, sampi_tree_seq(t, way, k), place));
    }
    return rest == SAMPI_NEVER ? all
                               : sampi_tree_alt(t, all, sampi_grammar_resolve(p, sampi_tree_seq(t, rest, k), place));
}

/* Does the work of sampi_grammar_resolve for a part h that is followed by k. */
static sampi_node sampi_grammar_resolve_part(sampi_resolving *p, sampi_node h, sampi_node k, int32_t place)
{
    sampi_tree *t = p->tree;
    const sampi_expr e = *sampi_grammar_at(t, h);
    if (!(e.facts & SAMPI_FACT_CALLS)) {
        const sampi_node after = sampi_grammar_resolve(p, k, 0),
                         other = e.facts & SAMPI_FACT_AND ? sampi_grammar_resolve(p, k, SAMPI_PLACE_WORD) : after;
        if (after < 0 || other < 0) return after < 0 ? after : other;
        const sampi_node here = e.facts & SAMPI_FACT_EMPTY ? sampi_grammar_resolve(p, k, place) : SAMPI_NEVER;
        if (here == after && here == other) return sampi_tree_seq(t, sampi_grammar_untold(t, h), after);
        if (other == after)
            return sampi_tree_alt(t, here, sampi_tree_seq(t, sampi_tree_some(t, sampi_grammar_untold(t, h)), after));
    }
    if (e.kind == SAMPI_NODE_ALT) return sampi_grammar_resolve_ways(p, h, k, place);
    if (e.kind == SAMPI_NODE_REPEAT) {
        const int32_t fresh = place & SAMPI_PLACE_FRESH, least = e.b ? e.b - 1 : 0;
        sampi_node rest = SAMPI_EMPTY;
        if (e.c != 1) rest = sampi_tree_node(t, SAMPI_NODE_REPEAT, e.a, least, e.c < 0 ? -1 : e.c - 1);
        if (rest >= 0) rest = sampi_tree_node(t, SAMPI_NODE_GROUP, rest, SAMPI_GROUP_AGAIN, fresh + (e.b == 0));
        rest = sampi_grammar_resolve(p, sampi_tree_seq(t, e.a, sampi_tree_seq(t, rest, k)),
                                     place | SAMPI_PLACE_FRESH);
        return e.b ? rest : sampi_tree_alt(t, sampi_grammar_resolve(p, k, place), rest);
    }
    if (e.b == SAMPI_GROUP_END) return sampi_grammar_resolve_ends(t, k, place) ? SAMPI_EMPTY : SAMPI_NEVER;
    if (e.b == SAMPI_GROUP_WORD || e.b == SAMPI_GROUP_OTHER)
        return sampi_tree_seq(t, e.a, sampi_grammar_resolve(p, k, e.b == SAMPI_GROUP_WORD ? SAMPI_PLACE_WORD : 0));
    sampi_node ahead = e.a;
    if (e.b == SAMPI_GROUP_EDGE || e.b == SAMPI_GROUP_NO_EDGE) {
        const sampi_expr pair = *sampi_grammar_at(t, e.a);
        ahead = (e.b == SAMPI_GROUP_EDGE) == !(place & SAMPI_PLACE_WORD) ? pair.a : pair.b;
    } else {
        ahead = sampi_grammar_resolve(p, e.a, place & ~SAMPI_PLACE_FRESH);
        if (e.b == SAMPI_GROUP_NOT_AHEAD) ahead = sampi_tree_not(t, ahead);
    }
    const sampi_node rest = ahead == SAMPI_NEVER ? ahead : sampi_grammar_resolve(p, k, place);
    if (rest != SAMPI_EMPTY || ahead < 0) return sampi_tree_and(t, ahead, rest);
    return sampi_grammar_at(t, ahead)->facts & SAMPI_FACT_EMPTY ? SAMPI_EMPTY : SAMPI_NEVER;
}

/* Returns the node for what n matches from a place on, up to the text's end. */
static sampi_node sampi_grammar_resolve(sampi_resolving *p, sampi_node n, int32_t place)
{
    enum { DEEP = 64 };
    sampi_tree *t = p->tree;
    sampi_node front = SAMPI_EMPTY; /* what comes before n */
    while (n >= 0 && front >= 0) {
        const sampi_expr whole = *sampi_grammar_at(t, n);
        const bool seq = whole.kind == SAMPI_NODE_SEQ;
        const sampi_node h = seq ? whole.a : n, k = seq ? whole.b : (sampi_node)SAMPI_EMPTY;
        const sampi_expr e = *sampi_grammar_at(t, h);
        const bool fresh = place & SAMPI_PLACE_FRESH, depends = sampi_grammar_at(t, k)->facts & SAMPI_FACT_AND;
        if (!(whole.facts & SAMPI_FACT_CALLS)) return sampi_tree_seq(t, front, sampi_grammar_untold(t, n));
        if (--p->patience < 0 || p->depth > DEEP) return sampi_tree_seq(t, front, sampi_tree_placed(t, n, place));
        if (e.kind == SAMPI_NODE_SEQ) {
            n = sampi_tree_seq(t, e.a, sampi_tree_seq(t, e.b, k));
        } else if (!(e.facts & SAMPI_FACT_CALLS) && (!depends || !(e.facts & (SAMPI_FACT_AND | SAMPI_FACT_EMPTY)))) {
            front = sampi_tree_seq(t, front, sampi_grammar_untold(t, h));
            if (!(e.facts & SAMPI_FACT_EMPTY)) place = 0;
            n = k;
        } else if (e.kind == SAMPI_NODE_GROUP && e.b == SAMPI_GROUP_BEGIN) {
            if (!(place & SAMPI_PLACE_BEGIN)) return SAMPI_NEVER;
            n = k;
        } else if (e.kind == SAMPI_NODE_GROUP && e.b == SAMPI_GROUP_AGAIN) {
            /* if one repetition may be empty here, so may all others that must follow */
            const sampi_expr again = *sampi_grammar_at(t, e.a);
            if (fresh && (e.c & 1)) return SAMPI_NEVER;
            n = fresh && e.a != SAMPI_EMPTY ? sampi_tree_repeat(t, again.a, 0, again.c) : e.a;
            n = sampi_tree_seq(t, n, k);
            if (fresh && !(e.c & SAMPI_PLACE_FRESH)) place &= ~SAMPI_PLACE_FRESH;
            if (!fresh && e.a != SAMPI_EMPTY) return sampi_tree_seq(t, front, sampi_tree_placed(t, n, place));
        } else {
            p->depth++;
            n = sampi_tree_seq(t, front, sampi_grammar_resolve_part(p, h, k, place));
            p->depth--;
            return n;
        }
    }
    return front < 0 ? front : n;
}
