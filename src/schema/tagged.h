/* ---- schemas: the node of a value ----
   The node of what satisfies a goal (a set of conditions): as JSON, or from a tag's type to its end (styles.h). */

/* Returns the node of the end of a tag: the text of a type, the value with white space around it, the end. */
static SAMPI_COLD sampi_node sampi_schema_style_typed(sampi_schema *x, int type, sampi_node value)
{
    const sampi_style *s = x->words.style;
    sampi_tree *t = x->tree;
    if (value == SAMPI_NEVER) return value;
    const bool spaced = value != sampi_schema_style_strings(x, sampi_texts_any()) &&
                        (!s->item || type < SAMPI_STYLED_ARRAY);
    if (spaced) value = sampi_tree_seq(t, x->space, sampi_tree_seq(t, value, x->space));
    const sampi_node open = *s->open ? sampi_tree_seq(t, x->space, sampi_tree_text(t, s->open, strlen(s->open)))
                                     : (sampi_node)SAMPI_EMPTY,
                     close = sampi_tree_text(t, s->close, strlen(s->close));
    return sampi_tree_seq(t, sampi_tree_text(t, s->types[type], strlen(s->types[type])),
                          sampi_tree_seq(t, open, sampi_tree_seq(t, value, close)));
}

/* Returns the node of the values of a goal (a set of conditions), from the text of the type on. A text of any string
   includes every other value, if tags do not say types. In a nested style, a value without any condition is JSON. */
static SAMPI_COLD sampi_node sampi_schema_style_value(sampi_schema *x, int32_t goal)
{
    const sampi_style *style = x->words.style;
    if (style->item && !sampi_goal_at(x, goal)->n)
        return sampi_schema_style_typed(x, SAMPI_STYLED_NUMBER, sampi_goal_ref(x, goal, SAMPI_RULE_WHOLE));
    const sampi_scalars s = sampi_goal_scalars(x, goal);
    const unsigned deep = sampi_goal_structures(x, goal);
    const bool alike = !strcmp(style->types[SAMPI_STYLED_STRING], style->types[SAMPI_STYLED_OBJECT]);
    sampi_tree *t = x->tree;
    sampi_node value[SAMPI_STYLED_TYPES] = { sampi_schema_style_strings(x, s.string),     SAMPI_NEVER, SAMPI_NEVER,
                                             sampi_texts_node(x, s.number, false), SAMPI_NEVER, SAMPI_NEVER },
               all = SAMPI_NEVER;
    if (s.string.n == SAMPI_ANY && alike) return sampi_schema_style_typed(x, SAMPI_STYLED_STRING, value[0]);
    sampi_node *truth = &value[SAMPI_STYLED_BOOL];
    if (s.types & SAMPI_T_NULL) value[SAMPI_STYLED_NULL] = sampi_tree_text(t, "null", 4);
    if (s.types & SAMPI_T_FALSE) *truth = sampi_tree_text(t, "false", 5);
    if (s.types & SAMPI_T_TRUE) *truth = sampi_tree_alt(t, sampi_tree_text(t, "true", 4), *truth);
    if (deep & SAMPI_T_ARRAY) value[SAMPI_STYLED_ARRAY] = sampi_goal_ref(x, goal, SAMPI_RULE_ARRAYS);
    if (deep & SAMPI_T_OBJECT) value[SAMPI_STYLED_OBJECT] = sampi_goal_ref(x, goal, SAMPI_RULE_OBJECTS);
    for (int first = 0, i; first < SAMPI_STYLED_TYPES; first = i) {
        sampi_node one = SAMPI_NEVER;
        for (i = first; i < SAMPI_STYLED_TYPES && !strcmp(style->types[i], style->types[first]); i++)
            one = sampi_tree_alt(t, one, value[i]);
        all = sampi_tree_alt(t, all, sampi_schema_style_typed(x, first, one));
    }
    return all;
}

/* Returns the node of a member with a name (a node), whose value satisfies the goal (a set of conditions). */
static SAMPI_COLD sampi_node sampi_schema_style_member(sampi_schema *x, sampi_node name, int32_t goal)
{
    const sampi_style *s = x->words.style;
    sampi_tree *t = x->tree;
    const sampi_node value = sampi_schema_style_value(x, goal),
                     behind = sampi_tree_seq(t, sampi_tree_text(t, s->behind, strlen(s->behind)), value);
    return sampi_tree_seq(t, sampi_tree_text(t, s->before, strlen(s->before)), sampi_tree_seq(t, name, behind));
}

/* Returns the node of a goal (a set of conditions): its texts if it allows only scalars, else a reference to its rule;
   within tags, the node of an item of an array, which is a rule of its own as a member is (sampi_tree_members). */
static SAMPI_COLD sampi_node sampi_goal_node(sampi_schema *x, int32_t goal)
{
    sampi_tree *t = x->tree;
    if (x->status || !sampi_goal_possible(x, goal)) return SAMPI_NEVER;
    if (x->raw) {
        const char *item = x->words.style->item;
        return sampi_tree_call(
            t, sampi_tree_seq(t, sampi_tree_text(t, item, strlen(item)), sampi_schema_style_value(x, goal)));
    }
    return sampi_goal_structures(x, goal) ? sampi_goal_ref(x, goal, SAMPI_RULE_WHOLE)
                                          : sampi_goal_scalars_node(x, goal);
}
