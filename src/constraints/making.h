/* ---- constraints: making the arrays of a sampler ----
   The kit (sampi_kit) has all arrays of a sampler while a constructor runs: patterns, lists, nodes. From patterns of
   tokens or of texts it makes the automaton, and the list of tokens at each node; a banned text becomes the tokens that
   contain it, and the tokens that complete it after other tokens have begun it. The kit owns all its memory, and frees
   it (constraints/sampler.h). */

typedef struct sampi_pattern {
    const samp_token *tokens; /* [n] the pattern's tokens, or NULL if it is a text */
    const char *text;         /* [n] the pattern's bytes */
    size_t n;
    uint32_t mark; /* the mark of the pattern's last node */
    /* node: the pattern's root, and when the automaton is made its last node; before: the node before that */
    uint32_t node, before;
    float bias;
} sampi_pattern;

typedef struct sampi_kit {
    sampi_sampler t;
    sampi_pattern *pattern; /* [n_patterns] the patterns */
    size_t n_patterns;
    sampi_match_node *nodes;
    sampi_match_edge *edges;
    uint32_t n_nodes, n_edges;
    const samp_token *tokens; /* [n_tokens] the list of the first node; each of these tokens has this bias */
    size_t n_tokens;
    float bias;
    /* [65537] for each pair of first bytes, the index in by_bytes of the first token that begins with it */
    uint32_t *start;
    samp_token *by_bytes;
    sampi_count *entry; /* [n_entries] the entries of all lists; NULL while they are only counted */
    size_t n_entries;
    uint32_t *table; /* [n_table] part 1 of a banned pattern; the first n_lists of its states have lists */
    size_t n_table;
    uint32_t n_lists;
    uint32_t *words; /* [n_words] part 2 of the sampler, if it is not made of lists */
    size_t n_words, n_symbols;
    bool no_memory, is_doubled, weighs; /* weighs: at least one bias is not -infinity */
} sampi_kit;

/* Allocates zeroed memory. Returns NULL and sets kit->no_memory if there is none. */
static SAMPI_COLD void *sampi_kit_alloc(sampi_kit *kit, size_t n, size_t size)
{
    void *p = kit->no_memory || kit->t.status ? NULL : SAMP_MALLOC(n * size + 1);
    if (p) memset(p, 0, n * size + 1);
    if (!p && !kit->t.status) kit->no_memory = true;
    return p;
}

static int32_t sampi_symbol(const sampi_kit *kit, const sampi_pattern *p, size_t i)
{
    return p->tokens ? p->tokens[i] : sampi_fold(p->text[i], kit->t.u.limit.flags & SAMP_BAN_ANY_CASE);
}

/* Moves a pattern from its node to the child by symbol i; the child is made if it does not exist. All patterns grow in
   step, so all shorter nodes exist already, and the longest suffix of a new node is known. */
static SAMPI_COLD void sampi_kit_grow(sampi_kit *kit, sampi_pattern *p, size_t i)
{
    int32_t symbol = sampi_symbol(kit, p, i);
    const uint32_t mask = kit->n_edges - 1, from = p->node;
    sampi_match_edge *edge = &kit->edges[sampi_match_slot(kit->edges, mask, from, symbol)];
    p->before = from;
    if (!edge->to) {
        uint32_t suffix = kit->nodes[from].fail;
        bool is_root = suffix == from;
        edge->from = from;
        edge->symbol = symbol;
        edge->to = kit->n_nodes++;
        kit->nodes[edge->to].depth = (uint32_t)i + 1;
        kit->nodes[edge->to].fail = is_root ? from : sampi_match_next(kit->nodes, kit->edges, mask, suffix, symbol);
    }
    p->node = edge->to;
    if (i + 1 == p->n && !kit->nodes[p->node].mark) kit->nodes[p->node].mark = p->mark;
}

/* Makes the automaton of all patterns, with n_roots roots. */
static SAMPI_COLD void sampi_kit_patterns(sampi_kit *kit, uint32_t n_roots)
{
    size_t total = 0, longest = 0;
    for (size_t i = 0; i < kit->n_patterns; i++) {
        total += kit->pattern[i].n;
        if (longest < kit->pattern[i].n) longest = kit->pattern[i].n;
    }
    kit->n_edges = kit->n_patterns ? 2 : 0;
    while (kit->n_edges && kit->n_edges < 2 * total + 2) kit->n_edges *= 2;
    kit->nodes = (sampi_match_node *)sampi_kit_alloc(kit, n_roots + total, sizeof *kit->nodes);
    kit->edges = (sampi_match_edge *)sampi_kit_alloc(kit, kit->n_edges, sizeof *kit->edges);
    if (!kit->nodes || !kit->edges) return;
    kit->n_nodes = n_roots;
    for (uint32_t r = 0; r < n_roots; r++) kit->nodes[r].fail = r;
    for (size_t depth = 0; depth < longest; depth++)
        for (size_t i = 0; i < kit->n_patterns; i++)
            if (depth < kit->pattern[i].n) sampi_kit_grow(kit, &kit->pattern[i], depth);
    for (uint32_t k = n_roots; k < kit->n_nodes; k++)
        if (!kit->nodes[k].mark) kit->nodes[k].mark = kit->nodes[kit->nodes[k].fail].mark;
}

/* ---- the lists of the automaton's nodes, which are counted first, then written ---- */

/* Adds an entry to a node's list. Its bias is stored as bits in the member `count`. */
static void sampi_kit_put(sampi_kit *kit, uint32_t node, samp_token token, float bias)
{
    sampi_match_node *here = &kit->nodes[node];
    if (kit->entry) {
        sampi_count *e = &kit->entry[here->first + here->n];
        e->token = token;
        memcpy(&e->count, &bias, 4);
    } else {
        kit->n_entries++;
        kit->weighs |= !sampi_masked(bias);
    }
    here->n++;
}

/* Do these bytes begin with the rest of a pattern, from its symbol d on? */
static bool sampi_begins(const sampi_kit *kit, const char *bytes, size_t n, const sampi_pattern *p, size_t d)
{
    bool any_case = kit->t.u.limit.flags & SAMP_BAN_ANY_CASE;
    if (n < p->n - d) return false;
    for (size_t i = d; i < p->n; i++)
        if (sampi_fold(bytes[i - d], any_case) != sampi_symbol(kit, p, i)) return false;
    return true;
}

/* Returns the first two bytes of a text as a number; missing bytes count as zeros. */
static uint32_t sampi_pair(const char *bytes, size_t n, bool any_case)
{
    uint32_t pair = n > 0 ? (uint32_t)sampi_fold(bytes[0], any_case) << 8 : 0;
    return n > 1 ? pair | (uint32_t)sampi_fold(bytes[1], any_case) : pair;
}

/* Sorts all tokens that have bytes by their first two bytes (counting sort). */
static SAMPI_COLD void sampi_kit_sort_tokens(sampi_kit *kit)
{
    const samp_vocab *v = kit->t.u.limit.vocab;
    const bool any_case = kit->t.u.limit.flags & SAMP_BAN_ANY_CASE;
    kit->start = (uint32_t *)sampi_kit_alloc(kit, 65536 + 2, sizeof *kit->start);
    kit->by_bytes = (samp_token *)sampi_kit_alloc(kit, kit->t.status ? 0 : (size_t)v->n_vocab, sizeof(samp_token));
    for (int pass = 0; pass < 2 && kit->by_bytes; pass++) {
        for (samp_token token = 0; token < v->n_vocab; token++) {
            size_t n;
            const char *bytes = sampi_bytes_of(v, token, &n);
            if (n == 0) continue;
            /* two above its own index: the comment below says why */
            uint32_t *at = &kit->start[sampi_pair(bytes, n, any_case) + 2];
            if (pass == 0) ++*at;
            if (pass == 1) kit->by_bytes[at[-1]++] = token;
        }
        for (uint32_t pair = 2; pass == 0 && pair < 65536 + 2; pair++) kit->start[pair] += kit->start[pair - 1];
    }
    /* The counts were stored two above their index, so their sums are beginnings, stored one above. Filling turns these
       into ends, which are the beginnings of the next pairs. */
}

/* Adds to the first node the tokens that contain a banned string, and to each other node of a string the tokens that
   begin with the string's rest. */
static SAMPI_COLD void sampi_kit_texts(sampi_kit *kit)
{
    const samp_vocab *v = kit->t.u.limit.vocab;
    const bool any_case = kit->t.u.limit.flags & SAMP_BAN_ANY_CASE;
    const uint32_t mask = kit->n_edges - 1;
    size_t n;
    for (samp_token token = 0; token < v->n_vocab; token++) {
        const char *bytes = sampi_bytes_of(v, token, &n);
        uint32_t node = 0, mark = 0;
        for (size_t i = 0; i < n && !mark; i++) {
            node = sampi_match_next(kit->nodes, kit->edges, mask, node, sampi_fold(bytes[i], any_case));
            mark = kit->nodes[node].mark;
        }
        if (mark) sampi_kit_put(kit, 0, token, -INFINITY);
    }
    for (size_t i = 0; i < kit->n_patterns; i++) {
        const sampi_pattern *p = &kit->pattern[i];
        uint32_t node = 0;
        for (size_t d = 1; d < p->n; d++) {
            node = kit->edges[sampi_match_slot(kit->edges, mask, node, sampi_symbol(kit, p, d - 1))].to;
            uint32_t pair = sampi_pair(p->text + d, p->n - d, any_case), end = pair + (p->n - d > 1 ? 1 : 256);
            for (uint32_t k = kit->start[pair]; k < kit->start[end]; k++) {
                const char *bytes = sampi_bytes_of(v, kit->by_bytes[k], &n);
                if (sampi_begins(kit, bytes, n, p, d)) sampi_kit_put(kit, node, kit->by_bytes[k], -INFINITY);
            }
        }
    }
}

/* Does a token complete the pattern from this state, and not from state 0, whose list always applies? */
static SAMPI_COLD bool sampi_kit_completes(const sampi_kit *kit, uint32_t state, samp_token token)
{
    size_t n;
    uint32_t at = state, base = 0;
    bool there = false;
    const char *bytes = sampi_bytes_of(kit->t.u.limit.vocab, token, &n);
    /* when the two states are equal they stay equal */
    for (size_t i = 0; i < n && (at != base || !state || !i); i++) {
        at = sampi_table_next(kit->table, kit->t.u.limit.n_classes, at, bytes[i]);
        base = sampi_table_next(kit->table, kit->t.u.limit.n_classes, base, bytes[i]);
        there |= kit->nodes[at].mark != 0;
        if (state && kit->nodes[base].mark) return false;
    }
    return there;
}

/* Adds the tokens of each state of a pattern's table. A first byte that leads to the same state as it does from state 0
   is skipped. */
static SAMPI_COLD void sampi_kit_states(sampi_kit *kit)
{
    const uint32_t n_classes = kit->t.u.limit.n_classes;
    for (uint32_t state = 0; state < kit->n_lists; state++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t behind = sampi_table_next(kit->table, n_classes, state, (char)byte);
            if (state && behind == sampi_table_next(kit->table, n_classes, 0, (char)byte)) continue;
            for (uint32_t k = kit->start[byte << 8]; k < kit->start[(byte + 1) << 8]; k++)
                if (sampi_kit_completes(kit, state, kit->by_bytes[k]))
                    sampi_kit_put(kit, state, kit->by_bytes[k], -INFINITY);
        }
}

/* Adds all entries of all lists. */
static SAMPI_COLD void sampi_kit_fill(sampi_kit *kit)
{
    if (kit->table) {
        sampi_kit_states(kit);
        return;
    }
    for (size_t i = 0; i < kit->n_tokens; i++) sampi_kit_put(kit, 0, kit->tokens[i], kit->bias);
    if (kit->t.u.limit.vocab) sampi_kit_texts(kit);
    for (size_t i = 0; i < kit->n_patterns && !kit->t.u.limit.vocab; i++) {
        const sampi_pattern *p = &kit->pattern[i];
        sampi_kit_put(kit, p->before, p->tokens[p->n - 1], p->bias);
    }
}

/* Makes the lists of all nodes, each in order of tokens, without duplicates. */
static SAMPI_COLD void sampi_kit_lists(sampi_kit *kit)
{
    if (kit->t.u.limit.vocab) sampi_kit_sort_tokens(kit);
    if (kit->no_memory || kit->t.status) return;
    sampi_kit_fill(kit);
    sampi_require(&kit->t, kit->n_entries <= INT32_MAX, SAMP_E_RANGE, "strings");
    sampi_count *entry = (sampi_count *)sampi_kit_alloc(kit, kit->n_entries, sizeof *kit->entry);
    if (!entry) return;
    uint32_t first = 0;
    for (uint32_t k = 0; k < kit->n_nodes; k++) {
        kit->nodes[k].first = first;
        first += kit->nodes[k].n;
        kit->nodes[k].n = 0;
    }
    kit->entry = entry;
    sampi_kit_fill(kit);
    for (uint32_t k = 0; k < kit->n_nodes; k++) {
        sampi_count *list = entry + kit->nodes[k].first;
        uint32_t n = kit->nodes[k].n, kept = 0;
        sampi_count_sort(list, n);
        for (uint32_t i = 0; i < n; i++)
            if (i == 0 || list[i].token != list[i - 1].token) list[kept++] = list[i];
        kit->is_doubled |= kept < n;
        kit->nodes[k].n = kept;
    }
}
