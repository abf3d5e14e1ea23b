/* ---- constraints: making the arrays of a sampler ----
   The builder (sampi_builder) has all arrays of a sampler while a constructor runs: patterns, lists, nodes. From
   patterns of tokens or of texts it makes the automaton, and the list of tokens at each node; a banned text becomes the
   tokens that contain it, and the tokens that complete it after other tokens have begun it. The builder owns all its
   memory, and frees it (constraints/sampler.h). */

typedef struct sampi_pattern {
    const samp_token *tokens; /* [n] the pattern's tokens, or NULL if it is a text */
    const char *text;         /* [n] the pattern's bytes */
    size_t n;
    uint32_t label; /* the label of the pattern's last node */
    /* node: the pattern's root, and when the automaton is made its last node; before: the node before that */
    uint32_t node, before;
    float bias;
} sampi_pattern;

typedef struct sampi_builder {
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
} sampi_builder;

/* Allocates zeroed memory. Returns NULL and sets builder->no_memory if there is none. */
static SAMPI_COLD void *sampi_builder_alloc(sampi_builder *builder, size_t n, size_t size)
{
    void *p = builder->no_memory || builder->t.status ? NULL : SAMP_MALLOC(n * size + 1);
    if (p) memset(p, 0, n * size + 1);
    if (!p && !builder->t.status) builder->no_memory = true;
    return p;
}

static int32_t sampi_constraint_symbol(const sampi_builder *builder, const sampi_pattern *p, size_t i)
{
    return p->tokens ? p->tokens[i]
                     : sampi_constraint_fold(p->text[i], builder->t.u.constraint.flags & SAMP_BAN_ANY_CASE);
}

/* Moves a pattern from its node to the child by symbol i. All patterns grow in step. */
static SAMPI_COLD void sampi_builder_grow(sampi_builder *builder, sampi_pattern *p, size_t i)
{
    p->before = p->node;
    p->node = sampi_match_grow(builder->nodes, builder->edges, builder->n_edges - 1, &builder->n_nodes, p->node,
                               sampi_constraint_symbol(builder, p, i));
    if (i + 1 == p->n && !builder->nodes[p->node].label) builder->nodes[p->node].label = p->label;
}

/* Makes the automaton of all patterns, with n_roots roots. */
static SAMPI_COLD void sampi_builder_patterns(sampi_builder *builder, uint32_t n_roots)
{
    size_t total = 0, longest = 0;
    for (size_t i = 0; i < builder->n_patterns; i++) {
        total += builder->pattern[i].n;
        if (longest < builder->pattern[i].n) longest = builder->pattern[i].n;
    }
    builder->n_edges = builder->n_patterns ? 2 : 0;
    while (builder->n_edges && builder->n_edges < 2 * total + 2) builder->n_edges *= 2;
    builder->nodes = (sampi_match_node *)sampi_builder_alloc(builder, n_roots + total, sizeof *builder->nodes);
    builder->edges = (sampi_match_edge *)sampi_builder_alloc(builder, builder->n_edges, sizeof *builder->edges);
    if (!builder->nodes || !builder->edges) return;
    builder->n_nodes = n_roots;
    for (uint32_t r = 0; r < n_roots; r++) builder->nodes[r].fail = r;
    for (size_t depth = 0; depth < longest; depth++)
        for (size_t i = 0; i < builder->n_patterns; i++)
            if (depth < builder->pattern[i].n) sampi_builder_grow(builder, &builder->pattern[i], depth);
    for (uint32_t k = n_roots; k < builder->n_nodes; k++)
        if (!builder->nodes[k].label) builder->nodes[k].label = builder->nodes[builder->nodes[k].fail].label;
}

/* ---- the lists of the automaton's nodes, which are counted first, then written ---- */

/* Adds an entry to a node's list. Its bias is stored as bits in the member `count`. */
static void sampi_builder_put(sampi_builder *builder, uint32_t node, samp_token token, float bias)
{
    sampi_match_node *here = &builder->nodes[node];
    if (builder->entry) {
        sampi_count *e = &builder->entry[here->first + here->n];
        e->token = token;
        memcpy(&e->count, &bias, 4);
    } else {
        builder->n_entries++;
        builder->weighs |= !sampi_masked(bias);
    }
    here->n++;
}

/* Do these bytes begin with the rest of a pattern, from its symbol d on? */
static bool sampi_constraint_begins(const sampi_builder *builder, const char *bytes, size_t n, const sampi_pattern *p,
                                    size_t d)
{
    bool any_case = builder->t.u.constraint.flags & SAMP_BAN_ANY_CASE;
    if (n < p->n - d) return false;
    for (size_t i = d; i < p->n; i++)
        if (sampi_constraint_fold(bytes[i - d], any_case) != sampi_constraint_symbol(builder, p, i)) return false;
    return true;
}

/* Returns the first two bytes of a text as a number; missing bytes count as zeros. */
static uint32_t sampi_constraint_pair(const char *bytes, size_t n, bool any_case)
{
    uint32_t pair = n > 0 ? (uint32_t)sampi_constraint_fold(bytes[0], any_case) << 8 : 0;
    return n > 1 ? pair | (uint32_t)sampi_constraint_fold(bytes[1], any_case) : pair;
}

/* Sorts all tokens that have bytes by their first two bytes (counting sort). */
static SAMPI_COLD void sampi_builder_sort_tokens(sampi_builder *builder)
{
    const samp_vocab *v = builder->t.u.constraint.vocab;
    const bool any_case = builder->t.u.constraint.flags & SAMP_BAN_ANY_CASE;
    builder->start = (uint32_t *)sampi_builder_alloc(builder, 65536 + 2, sizeof *builder->start);
    builder->by_bytes = (samp_token *)sampi_builder_alloc(builder, builder->t.status ? 0 : (size_t)v->n_vocab,
                                                          sizeof(samp_token));
    for (int pass = 0; pass < 2 && builder->by_bytes; pass++) {
        for (samp_token token = 0; token < v->n_vocab; token++) {
            size_t n;
            const char *bytes = sampi_bytes_of(v, token, &n);
            if (n == 0) continue;
            /* two above its own index: the comment below says why */
            uint32_t *at = &builder->start[sampi_constraint_pair(bytes, n, any_case) + 2];
            if (pass == 0) ++*at;
            if (pass == 1) builder->by_bytes[at[-1]++] = token;
        }
        for (uint32_t pair = 2; pass == 0 && pair < 65536 + 2; pair++)
            builder->start[pair] += builder->start[pair - 1];
    }
    /* The counts were stored two above their index, so their sums are beginnings, stored one above. Filling turns these
       into ends, which are the beginnings of the next pairs. */
}

/* Adds to the first node the tokens that contain a banned string, and to each other node of a string the tokens that
   begin with the string's rest. */
static SAMPI_COLD void sampi_builder_texts(sampi_builder *builder)
{
    const samp_vocab *v = builder->t.u.constraint.vocab;
    const bool any_case = builder->t.u.constraint.flags & SAMP_BAN_ANY_CASE;
    const uint32_t mask = builder->n_edges - 1;
    size_t n;
    for (samp_token token = 0; token < v->n_vocab; token++) {
        const char *bytes = sampi_bytes_of(v, token, &n);
        uint32_t node = 0, label = 0;
        for (size_t i = 0; i < n && !label; i++) {
            node = sampi_match_next(builder->nodes, builder->edges, mask, node,
                                    sampi_constraint_fold(bytes[i], any_case));
            label = builder->nodes[node].label;
        }
        if (label) sampi_builder_put(builder, 0, token, -INFINITY);
    }
    for (size_t i = 0; i < builder->n_patterns; i++) {
        const sampi_pattern *p = &builder->pattern[i];
        uint32_t node = 0;
        for (size_t d = 1; d < p->n; d++) {
            const int32_t last = sampi_constraint_symbol(builder, p, d - 1);
            node = builder->edges[sampi_match_slot(builder->edges, mask, node, last)].to;
            uint32_t pair = sampi_constraint_pair(p->text + d, p->n - d, any_case),
                     end = pair + (p->n - d > 1 ? 1 : 256);
            for (uint32_t k = builder->start[pair]; k < builder->start[end]; k++) {
                const char *bytes = sampi_bytes_of(v, builder->by_bytes[k], &n);
                if (sampi_constraint_begins(builder, bytes, n, p, d))
                    sampi_builder_put(builder, node, builder->by_bytes[k], -INFINITY);
            }
        }
    }
}

/* Does a token complete the pattern from this state, and not from state 0, whose list always applies? */
static SAMPI_COLD bool sampi_builder_completes(const sampi_builder *builder, uint32_t state, samp_token token)
{
    size_t n;
    uint32_t at = state, base = 0;
    bool there = false;
    const char *bytes = sampi_bytes_of(builder->t.u.constraint.vocab, token, &n);
    /* when the two states are equal they stay equal */
    for (size_t i = 0; i < n && (at != base || !state || !i); i++) {
        at = sampi_table_next(builder->table, builder->t.u.constraint.n_classes, at, bytes[i]);
        base = sampi_table_next(builder->table, builder->t.u.constraint.n_classes, base, bytes[i]);
        there |= builder->nodes[at].label != 0;
        if (state && builder->nodes[base].label) return false;
    }
    return there;
}

/* Adds the tokens of each state of a pattern's table. A first byte that leads to the same state as it does from state 0
   is skipped. */
static SAMPI_COLD void sampi_builder_states(sampi_builder *builder)
{
    const uint32_t n_classes = builder->t.u.constraint.n_classes;
    for (uint32_t state = 0; state < builder->n_lists; state++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t behind = sampi_table_next(builder->table, n_classes, state, (char)byte);
            if (state && behind == sampi_table_next(builder->table, n_classes, 0, (char)byte)) continue;
            for (uint32_t k = builder->start[byte << 8]; k < builder->start[(byte + 1) << 8]; k++)
                if (sampi_builder_completes(builder, state, builder->by_bytes[k]))
                    sampi_builder_put(builder, state, builder->by_bytes[k], -INFINITY);
        }
}

/* Adds all entries of all lists. */
static SAMPI_COLD void sampi_builder_fill(sampi_builder *builder)
{
    if (builder->table) {
        sampi_builder_states(builder);
        return;
    }
    for (size_t i = 0; i < builder->n_tokens; i++) sampi_builder_put(builder, 0, builder->tokens[i], builder->bias);
    if (builder->t.u.constraint.vocab) sampi_builder_texts(builder);
    for (size_t i = 0; i < builder->n_patterns && !builder->t.u.constraint.vocab; i++) {
        const sampi_pattern *p = &builder->pattern[i];
        sampi_builder_put(builder, p->before, p->tokens[p->n - 1], p->bias);
    }
}

/* Makes the lists of all nodes, each in order of tokens, without duplicates. */
static SAMPI_COLD void sampi_builder_lists(sampi_builder *builder)
{
    if (builder->t.u.constraint.vocab) sampi_builder_sort_tokens(builder);
    if (builder->no_memory || builder->t.status) return;
    sampi_builder_fill(builder);
    sampi_require(&builder->t, builder->n_entries <= INT32_MAX, SAMP_E_RANGE, "strings");
    sampi_count *entry = (sampi_count *)sampi_builder_alloc(builder, builder->n_entries, sizeof *builder->entry);
    if (!entry) return;
    uint32_t first = 0;
    for (uint32_t k = 0; k < builder->n_nodes; k++) {
        builder->nodes[k].first = first;
        first += builder->nodes[k].n;
        builder->nodes[k].n = 0;
    }
    builder->entry = entry;
    sampi_builder_fill(builder);
    for (uint32_t k = 0; k < builder->n_nodes; k++) {
        sampi_count *list = entry + builder->nodes[k].first;
        uint32_t n = builder->nodes[k].n, kept = 0;
        sampi_count_sort(list, n);
        for (uint32_t i = 0; i < n; i++)
            if (i == 0 || list[i].token != list[i - 1].token) list[kept++] = list[i];
        builder->is_doubled |= kept < n;
        builder->nodes[k].n = kept;
    }
}
