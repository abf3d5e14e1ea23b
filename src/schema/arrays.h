/* ---- schemas: arrays ----
   One shape of an array as a grammar: items with goals of their own, then the others; how many; of how many some schema
   holds (contains); uniqueItems, where the items are of a list. */

/* An array under construction. */
typedef struct sampi_array {
    sampi_shapes *shapes;
    int32_t last;     /* atoms from shapes->first to there */
    int32_t n_prefix; /* items with a goal of their own */
    int32_t least, most;
    int32_t some_least, some_most; /* so many items satisfy `some` */
    sampi_literal some;            /* -1: nothing */
    int32_t unique;                /* the node of uniqueItems; -1: none */
} sampi_array;

static SAMPI_COLD void sampi_array_some(sampi_schema *x, sampi_array *a, sampi_literal some, int32_t least,
                                        int32_t most)
{
    if (a->some >= 0 && a->some != some) sampi_refuse(x, some >> 2, "more than one contains at once");
    a->some = some;
    if (least > a->some_least) a->some_least = least;
    if (most < a->some_most) a->some_most = most;
}

static SAMPI_COLD void sampi_array_group(sampi_schema *x, sampi_array *a, int32_t schema)
{
    int32_t prefix = sampi_schema_prefix(x, schema), at;
    if (prefix >= 0 && sampi_doc(x, prefix)->n > a->n_prefix) a->n_prefix = sampi_doc(x, prefix)->n;
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_ITEMS, INT32_MAX);
    if (least > a->least) a->least = least;
    if (most < a->most) a->most = most;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNIQUE_ITEMS)) >= 0 && sampi_doc(x, at)->kind == SAMPI_JSON_TRUE)
        a->unique = at;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_CONTAINS)) >= 0) {
        least = sampi_keyword(x, schema, SAMPI_KEY_MIN_CONTAINS) < 0
                    ? 1
                    : sampi_schema_count(x, schema, SAMPI_KEY_MIN_CONTAINS, 0);
        most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_CONTAINS, INT32_MAX);
        sampi_array_some(x, a, sampi_literal_of(at, SAMPI_IS), least, most);
    }
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNEVALUATED_ITEMS)) >= 0 &&
        sampi_doc(x, at)->kind != SAMPI_JSON_TRUE)
        sampi_refuse(x, at, "not supported");
}

/* The goal of item i (n_prefix: of all behind those), with one literal more if `also` is not -1; -1: there can be
   none. */
static SAMPI_COLD int32_t sampi_array_goal(sampi_schema *x, const sampi_array *a, int32_t i, sampi_literal also)
{
    int32_t first = x->stack.n;
    bool possible = also < 0 || sampi_goal_add(x, first, also);
    for (int32_t k = a->shapes->first; k < a->last && possible && !x->status; k++) {
        sampi_atom atom = *sampi_atom_at(x, k);
        if (atom.kind == SAMPI_ATOM_ITEMS || (atom.kind == SAMPI_ATOM_ITEM && atom.name == i))
            possible = sampi_goal_add(x, first, atom.literal);
        if (atom.kind != SAMPI_ATOM_GROUP && atom.kind != SAMPI_ATOM_VALUE) continue;
        bool value = atom.kind == SAMPI_ATOM_VALUE;
        int32_t prefix = value ? atom.node : sampi_schema_prefix(x, atom.node),
                at = prefix < 0 ? -1 : sampi_doc_child(x, prefix, i);
        if (value)
            possible = at >= 0 && sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_EQUALS));
        else if (at >= 0 || (at = sampi_schema_rest(x, atom.node)) >= 0)
            possible = sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS));
    }
    int32_t goal = possible ? sampi_goal_taken(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

static SAMPI_COLD void sampi_array_collect(sampi_schema *x, sampi_array *a)
{
    for (int32_t i = a->shapes->first; i < a->last && !x->status; i++) {
        sampi_atom atom = *sampi_atom_at(x, i);
        if (atom.kind == SAMPI_ATOM_GROUP) sampi_array_group(x, a, atom.node);
        if (atom.kind == SAMPI_ATOM_ITEM && atom.name >= a->n_prefix) a->n_prefix = atom.name + 1;
        if (atom.kind == SAMPI_ATOM_SOME) sampi_array_some(x, a, atom.literal, atom.name, INT32_MAX);
        if (atom.kind == SAMPI_ATOM_LEAST && atom.name > a->least) a->least = atom.name;
        if (atom.kind == SAMPI_ATOM_MOST && atom.name < a->most) a->most = atom.name;
        if (atom.kind != SAMPI_ATOM_VALUE) continue;
        int32_t n = sampi_doc(x, atom.node)->n;
        if (n > a->n_prefix) a->n_prefix = n;
        if (n > a->least) a->least = n;
        if (n < a->most) a->most = n;
    }
    if (a->some_least > a->least) a->least = a->some_least;
    if (a->n_prefix > SAMPI_SCHEMA_PREFIX)
        sampi_schema_fail(x, 0, SAMP_E_RANGE, "too many items with schemas of their own");
    for (int32_t i = 0; i <= a->n_prefix && i < a->most && sampi_schema_step(x, 0); i++)
        if (sampi_array_goal(x, a, i, -1) < 0) a->most = i;
}

/* Is the node one of the members? What allows the same texts is the same node. */
static SAMPI_COLD bool sampi_is_member(sampi_schema *x, const sampi_vec *members, sampi_node node)
{
    for (int32_t i = 0; i < members->n; i++) {
        if (((const sampi_member *)members->data)[i].node == node) return true;
        if (i % 64 == 0) (void)sampi_schema_step(x, 0);
    }
    return false;
}

/* uniqueItems, where every item is one of a few values: members in any order, none twice. */
static SAMPI_COLD sampi_node sampi_array_unique(sampi_schema *x, sampi_array *a)
{
    sampi_node node = SAMPI_NEVER;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    int32_t goal = a->n_prefix || a->some >= 0 ? -1 : sampi_array_goal(x, a, 0, -1);
    sampi_scalars s = sampi_scalars_of(0);
    if (goal >= 0) s = sampi_goal_scalars(x, goal);
    if (goal < 0 || sampi_goal_deep(x, goal) || s.number.n < 0 || s.string.n < 0)
        return sampi_refuse(x, a->unique, "only where all items are of an enum"), node;
    static const char *const words[3] = { "null", "false", "true" };
    for (int32_t i = 0; i < 3 + s.number.n + s.string.n && !x->status; i++) {
        if (i < 3 && !(s.types >> i & 1)) continue;
        int32_t k = i - 3, at = k < s.number.n ? s.number.list + k : s.string.list + k - s.number.n;
        sampi_member m = { i < 3 ? sampi_tree_text(x->tree, words[i], strlen(words[i]))
                                 : sampi_schema_value_text(x, *sampi_ints(&x->arena, at)),
                           false };
        if (sampi_is_member(x, &list, m.node)) continue; /* an enum may say the same twice */
        sampi_member *room = (sampi_member *)sampi_vec_add(&list, sizeof m, 1);
        if (room)
            *room = m;
        else
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
    }
    if (a->least <= list.n)
        node = sampi_tree_members(x->tree, (const sampi_member *)list.data, (size_t)list.n, x->comma, SAMPI_NEVER,
                                  (size_t)a->least, a->most < INT32_MAX ? (size_t)a->most : SIZE_MAX);
    sampi_vec_free(&list);
    return node;
}

/* Items of which any number of others may lie around those that satisfy `some`; commas before them. */
static SAMPI_COLD sampi_node sampi_array_tail(sampi_schema *x, const sampi_array *a, int32_t found)
{
    sampi_tree *t = x->tree;
    bool bounded = a->some_most < INT32_MAX;
    int32_t with = sampi_array_goal(x, a, a->n_prefix, a->some);
    int32_t without = sampi_array_goal(x, a, a->n_prefix, bounded ? a->some ^ 1 : -1);
    int32_t least = found < a->some_least ? a->some_least - found : 0, most = bounded ? a->some_most - found : -1;
    sampi_node one = with < 0 ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(t, x->comma, sampi_goal_node(x, with));
    sampi_node other = without < 0 ? (sampi_node)SAMPI_NEVER
                                   : sampi_tree_seq(t, x->comma, sampi_goal_node(x, without));
    sampi_node others = sampi_tree_repeat(t, other, 0, -1);
    return sampi_tree_seq(t, sampi_tree_repeat(t, sampi_tree_seq(t, others, one), least, most), others);
}

/* Items of which a number satisfies `some`: from the last one on, what may follow when i items are there, of which
   `found` satisfied it. Without a bound on those, more than enough are as good as enough. */
static SAMPI_COLD sampi_node sampi_array_counted(sampi_schema *x, const sampi_array *a)
{
    sampi_tree *t = x->tree;
    bool bounded = a->some_most < INT32_MAX;
    int32_t n = bounded ? a->some_most : a->some_least, last = a->n_prefix > a->least ? a->n_prefix : a->least;
    if (a->most == 0) return SAMPI_EMPTY;
    if (a->most < INT32_MAX) last = a->most;
    if (last == 0) last = 1; /* the first one has no comma */
    if ((int64_t)(last + 1) * (n + 1) > 4096)
        return sampi_refuse(x, a->some >> 2, "contains with so many items"), SAMPI_NEVER;
    int32_t first = x->stack.n;
    for (int32_t found = 0; found <= n; found++)
        sampi_push(x, &x->stack,
                   a->most < INT32_MAX ? (found >= a->some_least ? SAMPI_EMPTY : SAMPI_NEVER)
                                       : sampi_array_tail(x, a, found));
    for (int32_t i = last; i-- > 0 && !x->status;) {
        int32_t with = sampi_array_goal(x, a, i, a->some),
                without = sampi_array_goal(x, a, i, bounded ? a->some ^ 1 : -1);
        sampi_node before = i ? x->comma : (sampi_node)SAMPI_EMPTY;
        sampi_node one = with < 0 ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(t, before, sampi_goal_node(x, with));
        sampi_node other = without < 0 ? (sampi_node)SAMPI_NEVER
                                       : sampi_tree_seq(t, before, sampi_goal_node(x, without));
        for (int32_t found = 0; found <= n && !x->status;
             found++) { /* ascending: what is behind `found` is still of item i + 1 */
            sampi_node *place = sampi_ints(&x->stack, first + found);
            sampi_node more = found < n ? place[1] : bounded ? (sampi_node)SAMPI_NEVER : place[0];
            sampi_node node = sampi_tree_alt(t, sampi_tree_seq(t, one, more), sampi_tree_seq(t, other, place[0]));
            *place = i >= a->least && found >= a->some_least ? sampi_tree_alt(t, SAMPI_EMPTY, node) : node;
        }
    }
    sampi_node node = x->status ? SAMPI_NEVER : *sampi_ints(&x->stack, first);
    x->stack.n = first;
    return node;
}

/* Items without such a count: those with goals of their own, then the others. */
static SAMPI_COLD sampi_node sampi_array_items(sampi_schema *x, const sampi_array *a)
{
    sampi_tree *t = x->tree;
    int32_t n = a->n_prefix < a->most ? a->n_prefix : a->most, most = a->most < INT32_MAX ? a->most - n : -1;
    if (a->most == 0) return SAMPI_EMPTY;
    sampi_node behind = SAMPI_EMPTY, rest = SAMPI_NEVER;
    if (most != 0) {
        int32_t least = a->least > n ? a->least - n : 0;
        rest = sampi_goal_node(x, sampi_array_goal(x, a, a->n_prefix, -1));
        if (n == 0) { /* the first one has no comma */
            behind = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, rest), least ? least - 1 : 0,
                                       most < 0 ? -1 : most - 1);
            rest = sampi_tree_seq(t, rest, behind);
            return least ? rest : sampi_schema_optional(t, rest);
        }
        behind = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, rest), least, most);
    }
    for (int32_t i = n; i-- > 0 && !x->status;) {
        behind = sampi_tree_seq(t, sampi_goal_node(x, sampi_array_goal(x, a, i, -1)), behind);
        if (i) behind = sampi_tree_seq(t, x->comma, behind);
        if (i >= a->least) behind = sampi_schema_optional(t, behind);
    }
    return behind;
}

/* An array of the atoms. */
static SAMPI_COLD void sampi_finish_array(sampi_schema *x, sampi_shapes *s)
{
    sampi_array a = { s, x->atoms.n, 0, 0, INT32_MAX, 0, INT32_MAX, -1, -1 };
    sampi_array_collect(x, &a);
    if (x->status || a.least > a.most || a.some_least > a.some_most) return;
    if (s->ask) {
        s->found = true;
        return;
    }
    bool counts = a.some >= 0 && (a.some_least > 0 || a.some_most < INT32_MAX);
    sampi_node inside;
    if (a.unique >= 0 && a.most > 1)
        inside = sampi_array_unique(x, &a);
    else
        inside = counts ? sampi_array_counted(x, &a) : sampi_array_items(x, &a);
    s->node = sampi_tree_alt(x->tree, sampi_schema_bracket(x, "[", inside, "]"), s->node);
}

/* The end of a way: its atoms make one shape, or contradict each other. */
static SAMPI_COLD void sampi_finish(sampi_schema *x, sampi_shapes *s)
{
    int32_t refused = -1;
    for (int32_t i = s->first; i < x->atoms.n; i++)
        if (sampi_atom_at(x, i)->kind == SAMPI_ATOM_REFUSED) refused = sampi_atom_at(x, i)->node;
    if (refused >= 0 && !s->ask) { /* that counts only if the rest is possible */
        sampi_shapes ask = *s;
        ask.ask = true;
        if (s->type == SAMPI_T_OBJECT)
            sampi_finish_objects(x, &ask);
        else
            sampi_finish_array(x, &ask);
        if (ask.found) sampi_refuse(x, refused, "not supported where it must not hold");
        return;
    }
    if (s->type == SAMPI_T_OBJECT)
        sampi_finish_objects(x, s);
    else
        sampi_finish_array(x, s);
}
