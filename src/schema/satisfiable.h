/* ---- schemas: the node of a schema, and whether any value satisfies it ----
   A schema's node is made with the body of each rule that a goal has asked for, until all rules have one.

   It is an error if no value satisfies the document. Most of these schemas are found while goals are made
   (sampi_goal_possible). The rest are found here: values that would have to be infinitely deep, and what several levels
   of objects exclude together. The error says where the reason is, as deep in the schema as one schema explains it. */

/* Returns whether a node matches any text, if live [r] says of each rule r whether it does. *patience is the number of
   nodes that may still be visited; behind the last one the answer is true. */
static SAMPI_COLD bool sampi_schema_live(const sampi_tree *t, const uint8_t *live, sampi_node n, int32_t *patience)
{
    while (!sampi_grammar_is_dead(t, n)) {
        const sampi_expr *e = sampi_grammar_at(t, n);
        if (--*patience < 0) return true;
        switch (e->kind) {
            case SAMPI_NODE_REF: return sampi_grammar_rule_at(t, e->a)->body < 0 || live[e->a];
            case SAMPI_NODE_SEQ:
                if (!sampi_schema_live(t, live, e->a, patience)) return false;
                n = e->b;
                break;
            case SAMPI_NODE_ALT:
                if (sampi_schema_live(t, live, e->a, patience)) return true;
                n = e->b;
                break;
            case SAMPI_NODE_REPEAT:
                if (e->b == 0) return true;
                n = e->a;
                break;
            case SAMPI_NODE_MEMBERS: {
                /* required members, and as many others as the lower bound asks for; kinds of names are not compared */
                const sampi_list *list = (const sampi_list *)t->lists.data + e->a;
                const sampi_member *m = (const sampi_member *)t->members.data + list->first;
                const int32_t n_plain = list->n - list->slots * SAMPI_KINDS_OF_NAMES;
                int32_t n_live = list->slots;
                for (int32_t i = 0; i < n_plain; i++) {
                    if (!m[i].required && n_live >= list->least) continue;
                    const bool is = sampi_schema_live(t, live, m[i].node, patience);
                    if (m[i].required && !is) return false;
                    n_live += is;
                }
                if (list->slots) return true;
                return n_live >= list->least || sampi_schema_live(t, live, list->other, patience);
            }
            default: return true;
        }
    }
    return false;
}

/* Returns whether a node of the tree matches any text, as far as its rules decide this. */
static SAMPI_COLD bool sampi_schema_has_text(sampi_schema *x, sampi_node node)
{
    const sampi_tree *t = x->tree;
    const int32_t n = t->rules.n;
    int32_t patience = 1 << 20;
    bool found = false, more = true;
    uint8_t *live = x->status ? NULL : (uint8_t *)SAMP_MALLOC((size_t)n + 1);
    if (!live) {
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
        return true;
    }
    memset(live, 0, (size_t)n + 1);
    while (!found && more) { /* a rule mostly refers to rules that were made after it */
        more = false;
        for (int32_t i = n; i-- > 0;)
            if (!live[i] && sampi_grammar_rule_at(t, i)->body >= 0 &&
                sampi_schema_live(t, live, sampi_grammar_rule_at(t, i)->body, &patience))
                live[i] = more = true;
        found = sampi_schema_live(t, live, node, &patience);
    }
    SAMP_FREE(live);
    return found;
}

/* Makes the bodies of all rules. Each body may ask for more rules. */
static SAMPI_COLD void sampi_schema_rules(sampi_schema *x)
{
    while (x->queue.n > x->n_made && !x->status) {
        const int32_t next = *sampi_schema_ints(&x->queue, x->n_made++), goal = next / SAMPI_GOAL_RULES,
                      which = next % SAMPI_GOAL_RULES;
        const bool tags = which != SAMPI_RULE_WHOLE && x->words.style->item;
        unsigned deep = sampi_goal_structures(x, goal);
        sampi_node body = which == SAMPI_RULE_WHOLE ? sampi_goal_scalars_node(x, goal) : (sampi_node)SAMPI_NEVER;
        if (which == SAMPI_RULE_ARRAYS) deep &= SAMPI_T_ARRAY;
        if (which == SAMPI_RULE_OBJECTS) deep &= SAMPI_T_OBJECT;
        if (tags) sampi_schema_style_turn(x);
        if (deep & SAMPI_T_ARRAY) body = sampi_tree_alt(x->tree, sampi_goal_shapes(x, goal, SAMPI_T_ARRAY), body);
        if (deep & SAMPI_T_OBJECT) body = sampi_tree_alt(x->tree, sampi_goal_shapes(x, goal, SAMPI_T_OBJECT), body);
        if (tags) sampi_schema_style_turn(x);
        sampi_schema_check(x, sampi_tree_define(x->tree, sampi_goal_at(x, goal)->rule[which], body));
    }
}

/* Returns the node of the objects that satisfy a goal (a set of conditions), as tags. */
static SAMPI_COLD sampi_node sampi_schema_tags(sampi_schema *x, int32_t goal)
{
    if (!(sampi_goal_structures(x, goal) & SAMPI_T_OBJECT))
        return sampi_schema_refuse(x, 0, "in this style, values are objects only"), SAMPI_NEVER;
    sampi_schema_style_turn(x);
    const sampi_node node = sampi_goal_shapes(x, goal, SAMPI_T_OBJECT);
    sampi_schema_style_turn(x);
    return node;
}

/* Returns the node of the values that satisfy one schema of the document, with all its rules. The whole document's are
   in the style that the options ask for. */
static SAMPI_COLD sampi_node sampi_schema_node(sampi_schema *x, int32_t schema)
{
    const int32_t first = x->stack.n;
    const bool possible = sampi_goal_add(x, first, sampi_schema_literal_of(schema, SAMPI_IS));
    const int32_t goal = sampi_goal_from_stack(x, first);
    const bool tags = x->words.style && schema == 0;
    const sampi_node node = !possible ? (sampi_node)SAMPI_NEVER
                            : tags    ? sampi_schema_tags(x, goal)
                                      : sampi_goal_node(x, goal);
    sampi_schema_rules(x);
    sampi_schema_check(x, node);
    return node;
}

/* Returns whether no value satisfies a schema. An error of this question alone counts as "some value does". */
static SAMPI_COLD bool sampi_schema_is_dead(sampi_schema *x, int32_t schema)
{
    if (schema < 0 || x->status) return false;
    const sampi_node node = sampi_schema_node(x, schema);
    const bool dead = !x->status && !sampi_schema_has_text(x, node);
    if (x->status != SAMP_E_NOMEM) x->status = SAMP_OK;
    return dead;
}

/* Returns the part of a schema that alone explains why no value satisfies it: a schema, an empty enum, or an
   element of `required`; -1 if there is none. */
static SAMPI_COLD int32_t sampi_schema_reason(sampi_schema *x, int32_t schema)
{
    int32_t at;
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_ENUM)) >= 0 && sampi_schema_doc(x, at)->n == 0) return at;
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_REF)) >= 0 && sampi_schema_is_dead(x, x->targets[at]))
        return x->targets[at];
    at = sampi_schema_keyword(x, schema, SAMPI_KEY_ALL_OF);
    for (int32_t i = at < 0 ? -1 : sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        if (sampi_schema_is_dead(x, i)) return i;
    at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    const int32_t others = sampi_schema_others(x, schema);
    const bool closed = others >= 0 && sampi_schema_doc(x, others)->kind == SAMPI_JSON_FALSE &&
                        sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES) < 0;
    for (int32_t i = sampi_schema_required(x, schema); i >= 0; i = sampi_schema_doc(x, i)->next) {
        const int32_t member = sampi_json_member(&x->doc, at, sampi_schema_doc(x, i)->text);
        if (member < 0 ? closed : sampi_schema_is_dead(x, member)) return member < 0 ? i : member;
    }
    if (sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0) == 0) return -1;
    const int32_t prefix = sampi_schema_prefix(x, schema);
    at = prefix >= 0 && sampi_schema_doc(x, prefix)->n ? sampi_schema_doc(x, prefix)->first
                                                       : sampi_schema_rest(x, schema);
    return sampi_schema_is_dead(x, at) ? at : -1;
}

/* Makes it an error that no value satisfies the document, with the place of the reason. */
static SAMPI_COLD void sampi_schema_unsatisfiable(sampi_schema *x)
{
    int32_t at = 0;
    for (int32_t depth = 0, next; depth < SAMPI_JSON_DEPTH && sampi_schema_doc(x, at)->kind == SAMPI_JSON_OBJECT;
         depth++) {
        next = sampi_schema_reason(x, at);
        if (next < 0 || next == at || x->status) break;
        at = next;
    }
    if (x->status != SAMP_E_NOMEM) x->status = SAMP_OK;
    const int kind = sampi_schema_doc(x, at)->kind;
    sampi_schema_fail(x, at, SAMP_E_EMPTY,
                      kind == SAMPI_JSON_STRING  ? "this name is required, and no member may have it"
                      : kind == SAMPI_JSON_ARRAY ? "no value is in this list"
                                                 : "no value satisfies this schema");
}
