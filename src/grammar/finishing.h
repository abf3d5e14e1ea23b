/* ---- a finished grammar ----
   A finished grammar is a tree with its root and the facts that a matcher needs from the beginning: which rules are
   called (references to the others are replaced by their bodies), which nodes match the empty text, and classes of
   bytes that the grammar treats alike. */

/* Classes of bytes. The grammar never distinguishes two bytes of one class. */
typedef struct sampi_byte_classes {
    int32_t n_classes;
    uint8_t class_of[256]; /* the class of each byte */
    uint8_t byte_of[256];  /* one byte of each class, its representative */
    uint8_t firsts[32];    /* the bytes of byte_of, as a set of bits */
} sampi_byte_classes;

struct samp_grammar {
    sampi_tree tree;
    uint64_t fingerprint; /* sampi_grammar_fingerprint */
    int32_t root;         /* the number of the rule with which a text begins */
    bool unique;          /* a rule has values that must differ (unique.h) */
    bool counted;         /* a rule has a bound on its tokens (spent.h) */
    sampi_byte_classes bytes;
    /* the data that samplers share, as a list (cache.h); the other members of a grammar never change */
    struct sampi_shared *shared;
};

/* Returns child number i of a node, or -1 if it has fewer children. The child of a reference is the body of its
   rule. */
static sampi_node sampi_grammar_child(const sampi_tree *t, const sampi_expr *e, int32_t i)
{
    switch (e->kind) {
        case SAMPI_NODE_REF: return i == 0 ? sampi_grammar_rule_at(t, e->a)->body : -1;
        case SAMPI_NODE_REPEAT:
        case SAMPI_NODE_GROUP:
        case SAMPI_NODE_PLACED:
        case SAMPI_NODE_NOT: return i == 0 ? e->a : -1;
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
        case SAMPI_NODE_AND: return i == 0 ? e->a : i == 1 ? e->b : -1;
        case SAMPI_NODE_MEMBERS: {
            const sampi_list *list = (const sampi_list *)t->lists.data + e->a;
            /* how many nodes for members that are not listed follow those of the listed members */
            const int32_t table = list->slots ? SAMPI_SETS_OF_KINDS : 0;
            if (i < list->n + table) return ((const sampi_member *)t->members.data)[list->first + i].node;
            i -= list->n + table;
            return i == 0 ? list->separator : i == 1 ? list->other : -1;
        }
        default: return -1;
    }
}

/* Finishes a node whose children are finished, or lead back to it. Computes how deep functions recurse that walk into
   the bodies of rules; a rule that would be too deep is called instead. */
static int sampi_grammar_finish_node(sampi_tree *t, sampi_node n)
{
    sampi_expr *e = sampi_grammar_at(t, n);
    if (e->kind == SAMPI_NODE_REF) {
        sampi_rule *rule = sampi_grammar_rule_at(t, e->a);
        const sampi_expr *body = sampi_grammar_at(t, rule->body);
        rule->facts = body->facts;
        if (body->depth >= SAMPI_MAX_DEPTH / 2) rule->call = true;
        e->depth = rule->call ? 0 : (uint16_t)(body->depth + 1);
    } else {
        int32_t depth = sampi_grammar_node_depth(t, e->kind, e->a, e->b);
        if (depth > SAMPI_MAX_DEPTH) return SAMP_E_RANGE;
        e->depth = (uint16_t)depth;
    }
    e->facts = (uint8_t)(sampi_grammar_node_facts(t, e) | SAMPI_FACT_DONE);
    return SAMP_OK;
}

/* Handles a node that is reached from within itself, because a rule is recursive: marks the rule as called. It is n's
   rule, or, if several rules share the node n, the last rule on the path to n, which is in `todo`. */
static void sampi_grammar_mark_recursive(sampi_tree *t, sampi_node n, const sampi_vec *todo)
{
    for (int32_t i = todo->n - 2; sampi_grammar_at(t, n)->kind != SAMPI_NODE_REF; i -= 2)
        n = ((const int32_t *)todo->data)[i];
    sampi_grammar_rule_at(t, sampi_grammar_at(t, n)->a)->call = true;
    sampi_grammar_at(t, n)->facts |= SAMPI_FACT_CALLS;
}

/* Visits all nodes that can be reached from the root, children first, and appends them to `order`. Recursive rules are
   marked as called. `todo` is a stack of pairs: a node, and the index of its next child. */
static int sampi_grammar_visit(sampi_tree *t, sampi_node root, sampi_vec *order, sampi_vec *todo)
{
    for (sampi_node n = root;;) {
        if (n >= 0) {
            sampi_expr *e = sampi_grammar_at(t, n);
            if (e->kind == SAMPI_NODE_REF) {
                sampi_rule *rule = sampi_grammar_rule_at(t, e->a);
                rule->n_refs++;
                if (rule->body < 0) return SAMP_E_RANGE;
            }
            if (e->facts & SAMPI_FACT_OPEN) sampi_grammar_mark_recursive(t, n, todo);
            if (!(e->facts & (SAMPI_FACT_OPEN | SAMPI_FACT_DONE))) {
                int32_t *at = (int32_t *)sampi_grammar_vec_add(todo, sizeof(int32_t), 2);
                if (!at) return SAMP_E_NOMEM;
                at[0] = n;
                at[1] = 0;
                e->facts |= SAMPI_FACT_OPEN;
            }
        }
        if (todo->n == 0) return SAMP_OK;
        int32_t *top = (int32_t *)todo->data + todo->n - 2;
        n = sampi_grammar_child(t, sampi_grammar_at(t, top[0]), top[1]++);
        if (n >= 0) continue;
        int32_t *done = (int32_t *)sampi_grammar_vec_add(order, sizeof(int32_t), 1);
        if (!done) return SAMP_E_NOMEM;
        *done = top[0];
        int status = sampi_grammar_finish_node(t, top[0]);
        if (status) return status;
        todo->n -= 2;
    }
}

/* Computes the facts (SAMPI_FACT_*) about a node again. Returns whether they have changed. */
static bool sampi_grammar_update_facts(sampi_tree *t, sampi_node n)
{
    sampi_expr *e = sampi_grammar_at(t, n);
    SAMPI_COUNT_STEPS(1);
    if (e->kind == SAMPI_NODE_REF)
        sampi_grammar_rule_at(t, e->a)->facts = sampi_grammar_at(t, sampi_grammar_rule_at(t, e->a)->body)->facts &
                                                SAMPI_FACTS_OF_PARTS;
    const uint8_t known = (uint8_t)(sampi_grammar_node_facts(t, e) | SAMPI_FACT_DONE);
    const bool changed = known != (e->facts & (uint8_t)~SAMPI_FACT_OPEN);
    e->facts = known;
    return changed;
}

/* Returns the cost of sampi_grammar_update_facts for a node, in steps. */
static int32_t sampi_grammar_update_cost(const sampi_tree *t, sampi_node n)
{
    const sampi_expr *e = sampi_grammar_at(t, n);
    return e->kind == SAMPI_NODE_MEMBERS ? 1 + ((const sampi_list *)t->lists.data + e->a)->n / 8 : 1;
}

/* Calls sampi_grammar_update_facts for all nodes until no facts change any more. When a node's facts change, its
   parents enter a queue, unless they are in it. The parents of node n are list [above [n]] to list [above [n + 1] - 1].
   `queue` has as many elements as `order`; the nodes in the queue are marked OPEN. */
static int sampi_grammar_propagate(sampi_tree *t, const sampi_vec *order, const int32_t *above, const int32_t *list,
                                   int32_t *queue)
{
    const int32_t n = order->n;
    int64_t spare = (int64_t)SAMPI_MAX_WORK + 16 * (int64_t)n;
    memcpy(queue, order->data, (size_t)n * sizeof *queue);
    for (int32_t i = 0; i < n; i++) sampi_grammar_at(t, queue[i])->facts |= SAMPI_FACT_OPEN;
    for (int32_t first = 0, left = n; left > 0 && (spare -= sampi_grammar_update_cost(t, queue[first])) >= 0;) {
        const sampi_node now = queue[first];
        first = first + 1 < n ? first + 1 : 0;
        left--;
        if (!sampi_grammar_update_facts(t, now))
            continue; /* sampi_grammar_update_facts has removed the node's mark OPEN */
        for (int32_t i = above[now]; i < above[now + 1]; i++) {
            sampi_expr *e = sampi_grammar_at(t, list[i]);
            if (e->facts & SAMPI_FACT_OPEN) continue;
            e->facts |= SAMPI_FACT_OPEN;
            queue[(int32_t)(((int64_t)first + left++) % n)] = list[i];
        }
    }
    return spare < 0 ? (int)SAMP_E_RANGE : SAMP_OK;
}

/* Makes the lists of parents for sampi_grammar_propagate and calls it. Only grammars whose facts still change after a
   few rounds need this. */
static int sampi_grammar_propagate_all(sampi_tree *t, const sampi_vec *order)
{
    size_t n_parts = 0;
    const int32_t *nodes = (const int32_t *)order->data;
    for (int32_t i = 0; i < order->n; i++)
        for (int32_t k = 0; sampi_grammar_child(t, sampi_grammar_at(t, nodes[i]), k) >= 0; k++) n_parts++;
    if (n_parts > INT32_MAX / 2) return SAMP_E_RANGE;
    const size_t n_above = (size_t)t->nodes.n + 2;
    int32_t *above = (int32_t *)SAMP_MALLOC((n_above + n_parts + (size_t)order->n) * sizeof *above);
    if (!above) return SAMP_E_NOMEM;
    int32_t *list = above + n_above;
    memset(above, 0, n_above * sizeof *above);
    /* above [n + 2] first counts the parents of n; then above [n + 1] is the end of n's list */
    for (int32_t i = 0; i < order->n; i++)
        for (int32_t k = 0, part; (part = sampi_grammar_child(t, sampi_grammar_at(t, nodes[i]), k)) >= 0; k++)
            above[part + 2]++;
    for (size_t i = 2; i < n_above; i++) above[i] += above[i - 1];
    for (int32_t i = 0; i < order->n; i++)
        for (int32_t k = 0, part; (part = sampi_grammar_child(t, sampi_grammar_at(t, nodes[i]), k)) >= 0; k++)
            list[above[part + 1]++] = nodes[i];
    const int status = sampi_grammar_propagate(t, order, above, list, list + n_parts);
    SAMP_FREE(above);
    return status;
}

/* Marks as called the rules that are not regular and are referred to more than once. Without calls the ways to continue
   a text would become too many. Then computes the facts about all nodes, in rounds until nothing changes, because rules
   may be recursive. Returns SAMP_E_UNSUPPORTED if an AND or NOT contains a call. */
static int sampi_grammar_decide_calls(sampi_tree *t, const sampi_vec *order)
{
    enum { ROUNDS = 4 };
    bool strict = false;
    int status = SAMP_OK;
    for (int32_t i = 0; i < t->rules.n; i++) {
        sampi_rule *rule = sampi_grammar_rule_at(t, i);
        if (rule->n_refs > 1 && (rule->facts & SAMPI_FACT_CALLS)) rule->call = true;
    }
    bool changed = true;
    for (int round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        for (int32_t i = 0; i < order->n; i++)
            changed |= sampi_grammar_update_facts(t, ((const int32_t *)order->data)[i]);
    }
    if (changed) status = sampi_grammar_propagate_all(t, order);
    if (status) return status;
    /* also for nodes that the root does not reach: a node that is made later may be equal to one of them */
    for (sampi_node n = 0; n < t->nodes.n; n++) {
        sampi_expr *e = sampi_grammar_at(t, n);
        if (!(e->facts & SAMPI_FACT_DONE))
            e->facts = sampi_grammar_node_facts(t, e);
        else if (e->kind == SAMPI_NODE_AND || e->kind == SAMPI_NODE_NOT)
            strict |= (e->facts & SAMPI_FACT_CALLS) != 0;
        e->facts &= SAMPI_FACTS_OF_PARTS;
    }
    return strict ? (int)SAMP_E_UNSUPPORTED : SAMP_OK;
}

/* Computes the classes of bytes. Each SET node splits every class into the bytes in the set and the others; each byte
   of a TEXT node gets a class of its own. */
static void sampi_grammar_classes(samp_grammar *g)
{
    const sampi_tree *t = &g->tree;
    uint8_t alone[256] = { 0 };
    g->bytes.n_classes = 1;
    memset(g->bytes.class_of, 0, sizeof g->bytes.class_of);
    for (sampi_node n = 0; n < t->nodes.n + 256; n++) {
        const sampi_expr *e = n < t->nodes.n ? sampi_grammar_at(t, n) : NULL;
        const uint8_t *bytes = e && sampi_grammar_in_pool(e->kind) ? sampi_grammar_bytes_at(t, e->a) : NULL;
        if (e && e->kind == SAMPI_NODE_TEXT)
            for (int32_t i = 0; i < e->b; i++) alone[bytes[i]] = 1;
        if (e && e->kind == SAMPI_NODE_MULTIPLE) {
            for (int digit = '0'; digit <= '9'; digit++) alone[digit] = 1;
            alone[(int)'.'] = 1;
        }
        if (e ? e->kind != SAMPI_NODE_SET : !alone[n - t->nodes.n]) continue;
        int32_t to[256]; /* for each class before the split: the new class of its bytes that are in the set */
        memset(to, 0xff, sizeof to);
        int32_t in[256] = { 0 }, all[256] = { 0 };
        for (int32_t b = 0; b < 256; b++) {
            bool has = e ? bytes[b / 8] >> b % 8 & 1 : b == n - t->nodes.n;
            in[g->bytes.class_of[b]] += has;
            all[g->bytes.class_of[b]]++;
        }
        for (int32_t b = 0; b < 256; b++) {
            int32_t c = g->bytes.class_of[b];
            bool has = e ? bytes[b / 8] >> b % 8 & 1 : b == n - t->nodes.n;
            if (!has || in[c] == all[c]) continue;
            if (to[c] < 0) to[c] = g->bytes.n_classes++;
            g->bytes.class_of[b] = (uint8_t)to[c];
        }
    }
    for (int32_t b = 255; b >= 0; b--) g->bytes.byte_of[g->bytes.class_of[b]] = (uint8_t)b;
    memset(g->bytes.firsts, 0, sizeof g->bytes.firsts);
    for (int32_t c = 0; c < g->bytes.n_classes; c++)
        g->bytes.firsts[g->bytes.byte_of[c] / 8] |= (uint8_t)(1u << g->bytes.byte_of[c] % 8);
}

/* Mixes a node's own numbers into a hash, without its children. */
static void sampi_grammar_mix(const sampi_tree *t, const sampi_expr *e, uint64_t *hash)
{
    sampi_mix(hash, (uint64_t)e->kind);
    if (sampi_grammar_in_pool(e->kind))
        sampi_mix(hash, sampi_checksum(sampi_grammar_bytes_at(t, e->a), (size_t)e->b));
    if (e->kind == SAMPI_NODE_MULTIPLE) sampi_mix(hash, (uint64_t)(uint32_t)e->a);
    if (e->kind == SAMPI_NODE_REPEAT || e->kind >= SAMPI_NODE_MULTIPLE || e->kind == SAMPI_NODE_GROUP)
        sampi_mix(hash, (uint64_t)(uint32_t)e->b << 32 | (uint32_t)e->c);
    const sampi_rule *rule = e->kind == SAMPI_NODE_REF ? sampi_grammar_rule_at(t, e->a) : NULL;
    if (rule) sampi_mix(hash, rule->unique | (uint64_t)rule->tokens << 8);
    for (; e->kind == SAMPI_NODE_TOKEN;
         e = sampi_grammar_at(t, e->c)) { /* a token, and those that are excluded with it */
        const sampi_expr *text = e->b & 2 ? sampi_grammar_at(t, e->a) : NULL;
        sampi_mix(hash, (uint64_t)(uint32_t)e->b);
        sampi_mix(hash, text ? sampi_checksum(sampi_grammar_bytes_at(t, text->a), (size_t)text->b)
                             : (uint64_t)(uint32_t)e->a);
    }
    if (e->kind != SAMPI_NODE_MEMBERS) return;
    const sampi_list *list = (const sampi_list *)t->lists.data + e->a;
    sampi_mix(hash, (uint64_t)(uint32_t)list->least << 32 | (uint32_t)list->most);
    sampi_mix(hash, (uint64_t)(uint32_t)list->slots << 32 | (uint32_t)list->n);
    for (int32_t i = 0; i < list->n; i++)
        sampi_mix(hash, ((const sampi_member *)t->members.data)[list->first + i].required);
}

/* Computes the fingerprint, a hash of 64 bits, of all nodes in `order`: what each node is, and where in `order` its
   children are. The nodes' numbers, names of rules and unreachable nodes have no influence. Returns SAMP_OK or
   SAMP_E_NOMEM. */
static int sampi_grammar_fingerprint(samp_grammar *g, const sampi_vec *order)
{
    const sampi_tree *t = &g->tree;
    int32_t *place = (int32_t *)SAMP_MALLOC((size_t)t->nodes.n * sizeof *place);
    if (!place) return SAMP_E_NOMEM;
    for (int32_t i = 0; i < order->n; i++) place[((const int32_t *)order->data)[i]] = i;
    g->fingerprint = 0;
    for (int32_t i = 0; i < order->n; i++) {
        const sampi_expr *e = sampi_grammar_at(t, ((const int32_t *)order->data)[i]);
        sampi_grammar_mix(t, e, &g->fingerprint);
        for (int32_t k = 0, child; (child = sampi_grammar_child(t, e, k)) >= 0; k++)
            sampi_mix(&g->fingerprint, (uint64_t)(uint32_t)place[child]);
    }
    SAMP_FREE(place);
    return SAMP_OK;
}

/* Makes a finished grammar from a complete tree. Returns SAMP_OK; SAMP_E_RANGE if a rule has no body, or nodes are too
   deep; SAMP_E_UNSUPPORTED if an AND or NOT contains something that is not regular; SAMP_E_NOMEM. */
static int sampi_grammar_finish(samp_grammar *g, int32_t root)
{
    sampi_vec order, todo;
    memset(&order, 0, sizeof order);
    memset(&todo, 0, sizeof todo);
    g->root = root;
    sampi_node ref = sampi_tree_ref(&g->tree, root);
    int status = ref < 0 ? ref : sampi_grammar_visit(&g->tree, ref, &order, &todo);
    if (!status) status = sampi_grammar_decide_calls(&g->tree, &order);
    for (int32_t i = 0; i < g->tree.rules.n; i++) {
        g->unique |= sampi_grammar_rule_at(&g->tree, i)->unique != 0;
        g->counted |= sampi_grammar_rule_at(&g->tree, i)->tokens != 0;
    }
    if (!status) status = sampi_grammar_fingerprint(g, &order);
    if (!status) sampi_grammar_classes(g);
    sampi_grammar_vec_free(&order);
    sampi_grammar_vec_free(&todo);
    return status;
}
