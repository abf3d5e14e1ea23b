/* ---- schemas: goals ----
   A goal is a set of literals (conditions, see head.h) that one value must satisfy. Equal goals have the same number. A
   goal becomes a set of scalars, or a rule whose body is made later (whole.h); so schemas may be recursive. */

static sampi_goal *sampi_goal_at(const sampi_schema *x, int32_t goal) { return (sampi_goal *)x->goals.data + goal; }
static sampi_literal sampi_schema_literal_of(int32_t node, int meant) { return (sampi_literal)(node * 4 + meant); }

/* Returns how many keywords of a schema put a condition on a value: 0, 1, or 2 for two or more. */
static SAMPI_COLD int32_t sampi_schema_n_conditions(sampi_schema *x, int32_t schema)
{
    int32_t n = 0;
    if (sampi_schema_doc(x, schema)->kind != SAMPI_JSON_OBJECT) return 1;
    if (x->n_conditions[schema]) return x->n_conditions[schema] - 1;
    for (int32_t i = sampi_schema_doc(x, schema)->first; i >= 0; i = sampi_schema_doc(x, i)->next) {
        int key = x->key_of[sampi_schema_doc(x, i)->name] - 1;
        n += key >= 0 && key < SAMPI_KEY_ID && sampi_schema_keyword(x, schema, (sampi_schema_key)key) >= 0;
    }
    if (n > 2) n = 2;
    x->n_conditions[schema] = (uint8_t)(n + 1);
    return n;
}

/* Adds a literal (a condition) to the goal on the stack, which begins at index `first`. The literals have no
   duplicates, and are sorted, or, with "ordered", in the order in which they were added; a literal that every value
   satisfies is left out. Returns false if no value satisfies the literal. */
static SAMPI_COLD bool sampi_goal_add(sampi_schema *x, int32_t first, sampi_literal literal)
{
    int32_t node = literal >> 2, meant = literal & 3, at = first, ref;
    if (meant < SAMPI_EQUALS) {
        for (int hops = 0; hops < 32 && sampi_schema_n_conditions(x, node) == 1; hops++) {
            if ((ref = sampi_schema_keyword(x, node, SAMPI_KEY_REF)) < 0) break;
            if ((node = sampi_schema_target(x, ref)) < 0) return true; /* there was an error */
        }
        int kind = sampi_schema_doc(x, node)->kind;
        if (kind == (meant == SAMPI_IS ? SAMPI_JSON_FALSE : SAMPI_JSON_TRUE)) return false;
        if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE) return true;
        if (!sampi_schema_n_conditions(x, node)) return meant == SAMPI_IS;
        literal = sampi_schema_literal_of(node, meant);
    }
    while (x->in_order && at < x->stack.n && *sampi_schema_ints(&x->stack, at) != literal) at++;
    /* finds the first literal that is not less than the new one, by bisection */
    for (int32_t end = x->stack.n; at < end && !x->in_order;) {
        const int32_t middle = at + (end - at) / 2;
        const bool below = *sampi_schema_ints(&x->stack, middle) < literal;
        *(below ? &at : &end) = middle + below;
    }
    if (at < x->stack.n && *sampi_schema_ints(&x->stack, at) == literal) return true;
    sampi_schema_push(x, &x->stack, literal);
    if (x->status) return true;
    int32_t *place = sampi_schema_ints(&x->stack, at);
    memmove(place + 1, place, (size_t)(x->stack.n - 1 - at) * sizeof *place);
    *place = literal;
    return true;
}

/* Returns the hash table's slot of the goal with these literals (conditions), or the free slot for it. */
static SAMPI_COLD int32_t *sampi_goal_slot(const sampi_schema *x, const int32_t *literals, int32_t n)
{
    uint32_t mask = (uint32_t)x->slots.n - 1, h = sampi_place_of(literals, (size_t)n * sizeof *literals);
    for (;; h++) {
        int32_t *slot = sampi_schema_ints(&x->slots, (int32_t)(h & mask));
        if (*slot < 0) return slot;
        const sampi_goal *g = sampi_goal_at(x, *slot);
        if (g->n == n &&
            (n == 0 || !memcmp(sampi_schema_ints(&x->arena, g->first), literals, (size_t)n * sizeof *literals)))
            return slot;
    }
}

static SAMPI_COLD bool sampi_schema_goals_rehash(sampi_schema *x)
{
    if (!sampi_grammar_table_renew(&x->slots)) return false;
    for (int32_t i = 0; i < x->goals.n; i++) {
        const sampi_goal *g = sampi_goal_at(x, i);
        *sampi_goal_slot(x, sampi_schema_ints(&x->arena, g->first), g->n) = i;
    }
    return true;
}

/* Returns the goal, made if new, whose literals (conditions) are on the stack from index `first` on, and removes them
   from the stack. */
static SAMPI_COLD int32_t sampi_goal_from_stack(sampi_schema *x, int32_t first)
{
    int32_t n = x->stack.n - first;
    x->stack.n = first;
    if (x->status) return 0;
    if (x->goals.n >= SAMPI_SCHEMA_GOALS)
        return sampi_schema_fail(x, SAMPI_HERE, SAMP_E_RANGE, "too many combinations of schemas"), 0;
    bool room = 2 * (x->goals.n + 1) <= x->slots.n || sampi_schema_goals_rehash(x);
    int32_t *slot = room ? sampi_goal_slot(x, sampi_schema_ints(&x->stack, first), n) : NULL;
    if (slot && *slot >= 0) return *slot;
    sampi_goal *g = slot ? (sampi_goal *)sampi_grammar_vec_add(&x->goals, sizeof *g, 1) : NULL;
    if (!g) return sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory"), 0;
    *slot = x->goals.n - 1;
    g->first = x->arena.n;
    g->n = n;
    for (int i = 0; i < SAMPI_GOAL_RULES; i++) g->rule[i] = -1;
    g->possible = SAMPI_UNKNOWN;
    for (int32_t i = 0; i < n; i++) sampi_schema_push(x, &x->arena, *sampi_schema_ints(&x->stack, first + i));
    return x->goals.n - 1;
}

static sampi_literal sampi_goal_literal(const sampi_schema *x, int32_t goal, int32_t i)
{
    return *sampi_schema_ints(&x->arena, sampi_goal_at(x, goal)->first + i);
}

/* Makes the first schema of a goal the place of errors. Returns the place before. */
static SAMPI_COLD int32_t sampi_goal_enter(sampi_schema *x, int32_t goal)
{
    const int32_t before = x->here;
    if (sampi_goal_at(x, goal)->n) x->here = sampi_goal_literal(x, goal, 0) >> 2;
    return before;
}

/* Returns the scalars that satisfy all literals (conditions) of a goal. */
static SAMPI_COLD sampi_scalars sampi_goal_scalars(sampi_schema *x, int32_t goal)
{
    const int32_t before = sampi_goal_enter(x, goal);
    sampi_scalars all = sampi_scalars_of(SAMPI_T_ALL);
    for (int32_t i = 0; i < sampi_goal_at(x, goal)->n; i++) {
        sampi_literal literal = sampi_goal_literal(x, goal, i);
        int meant = literal & 3;
        sampi_scalars s = meant >= SAMPI_EQUALS ? sampi_schema_values(x, literal >> 2, true)
                                                : sampi_schema_scalars(x, literal >> 2, meant == SAMPI_ISNT);
        all = sampi_scalars_and(x, all, meant == SAMPI_IS || meant == SAMPI_EQUALS ? s : sampi_scalars_not(x, s));
    }
    x->here = before;
    return all;
}

/* Returns which of arrays and objects a literal (a condition) may allow, as a set of types. It may have a type too
   many, but never one too few. */
static SAMPI_COLD unsigned sampi_schema_literal_structures(sampi_schema *x, sampi_literal literal, int depth)
{
    int32_t node = literal >> 2, meant = literal & 3, at;
    unsigned types = SAMPI_T_STRUCTURED, any = 0;
    bool whole;
    if (meant >= SAMPI_EQUALS)
        return meant == SAMPI_EQUALS ? sampi_schema_type_of(x, node) & SAMPI_T_STRUCTURED : types;
    int kind = sampi_schema_doc(x, node)->kind;
    if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE)
        return (kind == SAMPI_JSON_TRUE) == (meant == SAMPI_IS) ? types : 0;
    int32_t type = sampi_schema_keyword(x, node, SAMPI_KEY_TYPE);
    if (meant == SAMPI_ISNT) {
        if (type < 0 || sampi_schema_n_conditions(x, node) != 1) return types;
        return SAMPI_T_STRUCTURED & ~sampi_schema_types(x, type, &whole);
    }
    if (type >= 0) types &= sampi_schema_types(x, type, &whole);
    if ((at = sampi_schema_keyword(x, node, SAMPI_KEY_CONST)) >= 0) types &= sampi_schema_type_of(x, at);
    if ((at = sampi_schema_keyword(x, node, SAMPI_KEY_ENUM)) >= 0) {
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            any |= sampi_schema_type_of(x, i);
        types &= any;
    }
    if (types == 0 || depth == 16) return types;
    if ((at = sampi_schema_keyword(x, node, SAMPI_KEY_REF)) >= 0 && (at = sampi_schema_target(x, at)) >= 0)
        types &= sampi_schema_literal_structures(x, sampi_schema_literal_of(at, SAMPI_IS), depth + 1);
    if ((at = sampi_schema_keyword(x, node, SAMPI_KEY_NOT)) >= 0)
        types &= sampi_schema_literal_structures(x, sampi_schema_literal_of(at, SAMPI_ISNT), depth + 1);
    if ((at = sampi_schema_keyword(x, node, SAMPI_KEY_ALL_OF)) >= 0)
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            types &= sampi_schema_literal_structures(x, sampi_schema_literal_of(i, SAMPI_IS), depth + 1);
    for (int one = 0; one < 2; one++) {
        if ((at = sampi_schema_keyword(x, node, one ? SAMPI_KEY_ONE_OF : SAMPI_KEY_ANY_OF)) < 0) continue;
        any = 0;
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            any |= sampi_schema_literal_structures(x, sampi_schema_literal_of(i, SAMPI_IS), depth + 1);
        types &= any;
    }
    return types;
}

static SAMPI_COLD unsigned sampi_goal_structures(sampi_schema *x, int32_t goal)
{
    unsigned types = SAMPI_T_STRUCTURED;
    for (int32_t i = 0; i < sampi_goal_at(x, goal)->n && types; i++)
        types &= sampi_schema_literal_structures(x, sampi_goal_literal(x, goal, i), 0);
    return types;
}

static SAMPI_COLD bool sampi_goal_has_shape(sampi_schema *x, int32_t goal, unsigned type);

/* Returns whether a set of texts has any. False is exact; true may also mean that the search would take too long. */
static SAMPI_COLD bool sampi_texts_possible(sampi_schema *x, sampi_texts a)
{
    return a.n == SAMPI_SOME ? sampi_schema_alive(x, a.node, SAMPI_SCHEMA_GLANCE) : a.n != 0;
}

/* Returns whether any value satisfies a goal (a set of conditions). False is exact; true may also mean that an exact
   answer would take too long. */
static SAMPI_COLD bool sampi_goal_possible(sampi_schema *x, int32_t goal)
{
    uint8_t known = sampi_goal_at(x, goal)->possible;
    if (x->status || known != SAMPI_UNKNOWN) return x->status || known != SAMPI_NO;
    /* the answer if this function is called again for the same goal meanwhile */
    sampi_goal_at(x, goal)->possible = SAMPI_YES;
    sampi_scalars s = sampi_goal_scalars(x, goal);
    bool possible = s.types || sampi_texts_possible(x, s.number) || sampi_texts_possible(x, s.string);
    unsigned deep = possible ? 0 : sampi_goal_structures(x, goal);
    if (deep & SAMPI_T_ARRAY) possible = sampi_goal_has_shape(x, goal, SAMPI_T_ARRAY);
    if (!possible && (deep & SAMPI_T_OBJECT)) possible = sampi_goal_has_shape(x, goal, SAMPI_T_OBJECT);
    sampi_goal_at(x, goal)->possible = possible ? SAMPI_YES : SAMPI_NO;
    return possible;
}

/* Returns the node of the texts of scalars. */
static SAMPI_COLD sampi_node sampi_scalars_node(sampi_schema *x, sampi_scalars s)
{
    sampi_tree *t = x->tree;
    sampi_node node = sampi_tree_alt(t, sampi_schema_style_strings(x, s.string),
                                     sampi_texts_node(x, s.number, false));
    if (s.types & SAMPI_T_NULL) node = sampi_tree_alt(t, sampi_tree_text(t, "null", 4), node);
    if (s.types & SAMPI_T_FALSE) node = sampi_tree_alt(t, sampi_tree_text(t, "false", 5), node);
    return s.types & SAMPI_T_TRUE ? sampi_tree_alt(t, sampi_tree_text(t, "true", 4), node) : node;
}

/* Returns the node of the texts of all scalars that a goal (a set of conditions) allows. */
static SAMPI_COLD sampi_node sampi_goal_scalars_node(sampi_schema *x, int32_t goal)
{
    return sampi_scalars_node(x, sampi_goal_scalars(x, goal));
}

/* Returns a reference to one of the rules of a goal (a set of conditions), whose body is made later. */
static SAMPI_COLD sampi_node sampi_goal_ref(sampi_schema *x, int32_t goal, sampi_goal_rule which)
{
    if (sampi_goal_at(x, goal)->rule[which] < 0) {
        int32_t rule = sampi_tree_rule(x->tree, "", 0);
        sampi_goal_at(x, goal)->rule[which] = rule;
        sampi_schema_push(x, &x->queue, SAMPI_GOAL_RULES * goal + (int32_t)which);
    }
    return sampi_tree_ref(x->tree, sampi_goal_at(x, goal)->rule[which]);
}

/* Returns the array of the schemas of the first items: prefixItems, or in drafts 4 to 2019 an array in items. Returns
   -1 if there is no such array. */
static SAMPI_COLD int32_t sampi_schema_prefix(sampi_schema *x, int32_t schema)
{
    int32_t prefix = sampi_schema_keyword(x, schema, SAMPI_KEY_PREFIX_ITEMS),
            items = sampi_schema_keyword(x, schema, SAMPI_KEY_ITEMS);
    if (prefix >= 0) return prefix;
    return items >= 0 && sampi_schema_doc(x, items)->kind == SAMPI_JSON_ARRAY ? items : -1;
}

/* The keywords that evaluate members of an object, or items of an array, as unevaluatedProperties and unevaluatedItems
   count them; these are the last ones. */
static SAMPI_COLD sampi_schema_key sampi_schema_evaluating(bool items, int i)
{
    static const sampi_schema_key keys[2][5] = {
        { SAMPI_KEY_PROPERTIES, SAMPI_KEY_PATTERN_PROPERTIES, SAMPI_KEY_ADDITIONAL_PROPERTIES, SAMPI_KEY_DYNAMIC_REF,
          SAMPI_KEY_UNEVALUATED_PROPERTIES },
        { SAMPI_KEY_PREFIX_ITEMS, SAMPI_KEY_ITEMS, SAMPI_KEY_CONTAINS, SAMPI_KEY_DYNAMIC_REF,
          SAMPI_KEY_UNEVALUATED_ITEMS }
    };
    return keys[items][i];
}

/* Returns whether the schemas that a schema applies to the same value may evaluate members, or with `items` items. */
static SAMPI_COLD bool sampi_schema_applied_evaluate(sampi_schema *x, int32_t schema, bool items, int depth)
{
    enum { DEEP = 16 };
    static const sampi_schema_key keys[] = { SAMPI_KEY_DEPENDENT_SCHEMAS,
                                             SAMPI_KEY_REF,
                                             SAMPI_KEY_ALL_OF,
                                             SAMPI_KEY_ANY_OF,
                                             SAMPI_KEY_ONE_OF,
                                             SAMPI_KEY_IF,
                                             SAMPI_KEY_THEN,
                                             SAMPI_KEY_ELSE };
    if (depth == DEEP || !sampi_schema_step(x, schema)) return true;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        int32_t at = sampi_schema_keyword(x, schema, keys[k]);
        if (at >= 0 && keys[k] == SAMPI_KEY_REF) at = sampi_schema_target(x, at);
        const bool many = at >= 0 && (k == 0 || sampi_schema_doc(x, at)->kind == SAMPI_JSON_ARRAY);
        for (int32_t i = many ? sampi_schema_doc(x, at)->first : at; i >= 0;
             i = many ? sampi_schema_doc(x, i)->next : -1) {
            for (int e = 0; e < 5; e++)
                if (sampi_schema_keyword(x, i, sampi_schema_evaluating(items, e)) >= 0) return true;
            if (sampi_schema_applied_evaluate(x, i, items, depth + 1)) return true;
        }
    }
    return false;
}

/* Returns the schema of unevaluatedProperties, or with `items` of unevaluatedItems; -1 if there is none. It is an error
   if other schemas may evaluate something: it means what additionalProperties means only where none does. */
static SAMPI_COLD int32_t sampi_schema_unevaluated(sampi_schema *x, int32_t schema, bool items)
{
    const int32_t at = sampi_schema_keyword(x, schema, sampi_schema_evaluating(items, 4));
    if (at < 0 || sampi_schema_doc(x, at)->kind == SAMPI_JSON_TRUE) return -1;
    if (sampi_schema_applied_evaluate(x, schema, items, 0) ||
        (items && sampi_schema_keyword(x, schema, SAMPI_KEY_CONTAINS) >= 0))
        sampi_schema_refuse(x, at, "not beside schemas that evaluate something");
    return at;
}

/* Returns the schema of the members that neither properties nor patternProperties name; -1 if there is none. */
static SAMPI_COLD int32_t sampi_schema_others(sampi_schema *x, int32_t schema)
{
    const int32_t others = sampi_schema_keyword(x, schema, SAMPI_KEY_ADDITIONAL_PROPERTIES);
    return others >= 0 ? others : sampi_schema_unevaluated(x, schema, false);
}

/* Returns the schema of the items behind the first ones (sampi_schema_prefix). Returns -1 if there is none, so that any
   item is allowed. Without an array of first items, additionalItems has no effect. */
static SAMPI_COLD int32_t sampi_schema_rest(sampi_schema *x, int32_t schema)
{
    int32_t items = sampi_schema_keyword(x, schema, SAMPI_KEY_ITEMS);
    if (items >= 0 && sampi_schema_doc(x, items)->kind != SAMPI_JSON_ARRAY) return items;
    if (items >= 0) items = sampi_schema_keyword(x, schema, SAMPI_KEY_ADDITIONAL_ITEMS);
    return items >= 0 ? items : sampi_schema_unevaluated(x, schema, true);
}
