/* ---- schemas: arrays ----
   This room makes the grammar of one shape of an array, a list of atoms (simple conditions, alternatives.h): the first
   items, which have goals (conditions) of their own; the other items; the number of items; how many must satisfy some
   schema (contains); and uniqueItems, if every item is one of a few values. */

/* A condition on an array: between `least` and `most` items satisfy a literal (another condition). */
enum { SAMPI_ITEM_COUNTS = 3 };
typedef struct sampi_item_count {
    sampi_literal literal;
    int32_t least, most; /* most: INT32_MAX if there is no upper bound */
} sampi_item_count;

/* An array whose grammar is being made. */
typedef struct sampi_array {
    sampi_shapes *shapes;
    int32_t last;     /* the array's atoms (simple conditions) are those from index shapes->first up to this index */
    int32_t n_prefix; /* the number of first items that have goals (conditions) of their own */
    int32_t least, most;
    int32_t unique; /* the node of uniqueItems; -1 if there is none */
    int32_t n_some;
    sampi_item_count some[SAMPI_ITEM_COUNTS];
} sampi_array;

/* Adds the condition that between `least` and `most` items satisfy a literal. Two conditions on the same literal are
   joined. */
static SAMPI_COLD void sampi_array_add_count(sampi_schema *x, sampi_array *a, sampi_literal literal, int32_t least,
                                             int32_t most)
{
    int32_t i = 0;
    if (least == 0 && most == INT32_MAX) return;
    while (i < a->n_some && a->some[i].literal != literal) i++;
    if (i == SAMPI_ITEM_COUNTS) {
        sampi_schema_refuse(x, literal >> 2, "more than three contains at once");
        return;
    }
    sampi_item_count *some = &a->some[i];
    if (i == a->n_some) {
        a->n_some++;
        some->literal = literal;
        some->least = 0;
        some->most = INT32_MAX;
    }
    if (least > some->least) some->least = least;
    if (most < some->most) some->most = most;
}

/* Collects what the keywords of one schema demand of the array. */
static SAMPI_COLD void sampi_array_group(sampi_schema *x, sampi_array *a, int32_t schema)
{
    int32_t prefix = sampi_schema_prefix(x, schema), at;
    if (prefix >= 0 && sampi_schema_doc(x, prefix)->n > a->n_prefix) a->n_prefix = sampi_schema_doc(x, prefix)->n;
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_ITEMS, INT32_MAX);
    if (least > a->least) a->least = least;
    if (most < a->most) a->most = most;
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_UNIQUE_ITEMS)) >= 0 &&
        sampi_schema_doc(x, at)->kind == SAMPI_JSON_TRUE)
        a->unique = at;
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_CONTAINS)) >= 0) {
        least = sampi_schema_keyword(x, schema, SAMPI_KEY_MIN_CONTAINS) < 0
                    ? 1
                    : sampi_schema_count(x, schema, SAMPI_KEY_MIN_CONTAINS, 0);
        most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_CONTAINS, INT32_MAX);
        sampi_array_add_count(x, a, sampi_schema_literal_of(at, SAMPI_IS), least, most);
    }
}

/* Returns the goal (the conditions) of item i, or, with i = n_prefix, of each item behind the first ones; -1 if no such
   item is possible. `which` is a set of bits, one for each condition in a->some (-1: these conditions are ignored). The
   item must satisfy the literals whose bits are set. Of the other literals (conditions) it must violate those that have
   an upper bound. */
static SAMPI_COLD int32_t sampi_array_goal(sampi_schema *x, const sampi_array *a, int32_t i, int32_t which)
{
    int32_t first = x->stack.n;
    bool possible = true;
    for (int32_t k = 0; k < a->n_some && which >= 0 && possible; k++) {
        const bool is = which >> k & 1;
        if (is || a->some[k].most < INT32_MAX) possible = sampi_goal_add(x, first, a->some[k].literal ^ !is);
    }
    for (int32_t k = a->shapes->first; k < a->last && possible && !x->status; k++) {
        sampi_atom atom = *sampi_schema_atom_at(x, k);
        if (atom.kind == SAMPI_ATOM_ITEMS || (atom.kind == SAMPI_ATOM_ITEM && atom.name == i))
            possible = sampi_goal_add(x, first, atom.literal);
        if (atom.kind != SAMPI_ATOM_GROUP && atom.kind != SAMPI_ATOM_VALUE) continue;
        bool value = atom.kind == SAMPI_ATOM_VALUE;
        int32_t prefix = value ? atom.node : sampi_schema_prefix(x, atom.node),
                at = prefix < 0 ? -1 : sampi_schema_doc_child(x, prefix, i);
        if (value)
            possible = at >= 0 && sampi_goal_add(x, first, sampi_schema_literal_of(at, SAMPI_EQUALS));
        else if (at >= 0 || (at = sampi_schema_rest(x, atom.node)) >= 0)
            possible = sampi_goal_add(x, first, sampi_schema_literal_of(at, SAMPI_IS));
    }
    int32_t goal = possible ? sampi_goal_from_stack(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

/* Collects what all atoms (simple conditions) demand of the array. If no item is possible at some index, that index
   becomes the array's largest length. */
static SAMPI_COLD void sampi_array_collect(sampi_schema *x, sampi_array *a)
{
    for (int32_t i = a->shapes->first; i < a->last && !x->status; i++) {
        sampi_atom atom = *sampi_schema_atom_at(x, i);
        if (atom.kind == SAMPI_ATOM_GROUP) sampi_array_group(x, a, atom.node);
        if (atom.kind == SAMPI_ATOM_ITEM && atom.name >= a->n_prefix) a->n_prefix = atom.name + 1;
        if (atom.kind == SAMPI_ATOM_SOME) sampi_array_add_count(x, a, atom.literal, atom.name, INT32_MAX);
        if (atom.kind == SAMPI_ATOM_LEAST && atom.name > a->least) a->least = atom.name;
        if (atom.kind == SAMPI_ATOM_MOST && atom.name < a->most) a->most = atom.name;
        if (atom.kind != SAMPI_ATOM_VALUE) continue;
        int32_t n = sampi_schema_doc(x, atom.node)->n;
        if (n > a->n_prefix) a->n_prefix = n;
        if (n > a->least) a->least = n;
        if (n < a->most) a->most = n;
    }
    for (int32_t i = 0; i < a->n_some; i++)
        if (a->some[i].least > a->least) a->least = a->some[i].least;
    if (a->n_prefix > SAMPI_SCHEMA_PREFIX)
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_RANGE, "too many items with schemas of their own");
    for (int32_t i = 0; i <= a->n_prefix && i < a->most && sampi_schema_step(x, SAMPI_HERE); i++)
        if (sampi_array_goal(x, a, i, -1) < 0) a->most = i;
}

/* Returns the node of any number of items, each with the node `one`. */
static SAMPI_COLD sampi_node sampi_array_of_one(sampi_schema *x, const sampi_array *a, sampi_node one)
{
    sampi_tree *t = x->tree; /* the first item of an array has no comma before it */
    const sampi_node more = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, one), a->least ? a->least - 1 : 0,
                                              a->most < INT32_MAX ? a->most - 1 : -1);
    return a->least ? sampi_tree_seq(t, one, more) : sampi_schema_optional(t, sampi_tree_seq(t, one, more));
}

/* Returns whether the node is one of the list's members. Equal sets of texts have the same node. */
static SAMPI_COLD bool sampi_schema_is_member(sampi_schema *x, const sampi_vec *members, sampi_node node)
{
    for (int32_t i = 0; i < members->n; i++) {
        if (((const sampi_member *)members->data)[i].node == node) return true;
        if (i % 64 == 0) (void)sampi_schema_step(x, SAMPI_HERE);
    }
    return false;
}

/* Adds a value that may come once in the array, unless it is in the list already; an enum may have a value twice. */
static SAMPI_COLD void sampi_array_value(sampi_schema *x, sampi_vec *members, sampi_node node)
{
    if (x->status || sampi_schema_is_member(x, members, node)) return;
    sampi_member *room = (sampi_member *)sampi_grammar_vec_add(members, sizeof *room, 1);
    if (!room) {
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
        return;
    }
    room->node = node;
    room->required = false;
}

/* Returns the node of the items with uniqueItems, where every item is one of the values in lists: they come in any
   order, each at most once. */
static SAMPI_COLD sampi_node sampi_array_listed(sampi_schema *x, const sampi_array *a, sampi_scalars s)
{
    static const char *const words[3] = { "null", "false", "true" };
    sampi_node node = SAMPI_NEVER;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    for (int32_t i = 0; i < 3 + s.number.n + s.string.n && !x->status; i++) {
        if (i < 3 && !(s.types >> i & 1)) continue;
        int32_t k = i - 3, at = k < s.number.n ? s.number.list + k : s.string.list + k - s.number.n;
        sampi_array_value(x, &list,
                          i < 3 ? sampi_tree_text(x->tree, words[i], strlen(words[i]))
                                : sampi_schema_value_text(x, *sampi_schema_ints(&x->arena, at)));
    }
    if (a->least <= list.n)
        node = sampi_tree_members(x->tree, (const sampi_member *)list.data, (size_t)list.n, x->comma, SAMPI_NEVER,
                                  (size_t)a->least, a->most < INT32_MAX ? (size_t)a->most : SIZE_MAX);
    sampi_grammar_vec_free(&list);
    return node;
}

/* Returns the node of the items with uniqueItems, where every item is a scalar: the matcher compares them
   (grammar/unique.h). If the items have few values, there are at most as many items. */
static SAMPI_COLD sampi_node sampi_array_unique(sampi_schema *x, sampi_array *a)
{
    enum { MANY = 10000 };
    static const char number[] = "-?(0|[1-9]\\d*)(\\.\\d*[1-9])?"; /* each number in one spelling */
    sampi_tree *t = x->tree;
    samp_grammar_error error;
    const int32_t goal = a->n_prefix || a->n_some ? -1 : sampi_array_goal(x, a, 0, -1);
    if (goal < 0 || sampi_goal_structures(x, goal))
        return sampi_schema_refuse(x, a->unique, "only where all items are scalars, and one schema is for all"),
               SAMPI_NEVER;
    sampi_scalars s = sampi_goal_scalars(x, goal);
    if (s.number.n >= 0 && s.string.n >= 0) {
        a->unique = -1; /* the list of members sees to it */
        return sampi_array_listed(x, a, s);
    }
    if (s.string.n < 0) s.string = sampi_texts_and(x, s.string, sampi_texts_some(x, x->shortest), true);
    if (s.number.n < 0) s.number = sampi_texts_and(x, s.number, sampi_texts_some(x, sampi_schema_plain(x)), false);
    sampi_node one = sampi_tree_regex(t, number, sizeof number - 1, false, sampi_tree_class, &error);
    one = sampi_schema_except(t, one, sampi_tree_text(t, "-0", 2));
    sampi_scalars once = s;
    once.number = sampi_texts_and(x, s.number, sampi_texts_some(x, one), false);
    const int32_t n = sampi_schema_n_texts(x, sampi_scalars_node(x, once), MANY);
    const sampi_node item = sampi_scalars_node(x, s);
    sampi_schema_check(x, item);
    if (n < a->most && n < MANY) a->most = n;
    if (x->status || a->least > a->most) return SAMPI_NEVER;
    return a->most ? sampi_array_of_one(x, a, sampi_tree_unique(t, item, SAMPI_UNIQUE_ITEM)) : SAMPI_EMPTY;
}

/* Counts one more item, which satisfies the literals in `which`. `found` has the counts of all conditions in a->some,
   packed into one number; the function returns the new number. A count without an upper bound stops at `least`. Returns
   -1 if a count becomes too large. Returns -2 if a count that stops has reached its end, so that the item need not be
   distinguished from one that violates this literal. */
static int32_t sampi_array_count(const sampi_array *a, int32_t found, int32_t which)
{
    for (int32_t k = 0, unit = 1; k < a->n_some; k++) {
        const bool bounded = a->some[k].most < INT32_MAX;
        const int32_t n = bounded ? a->some[k].most : a->some[k].least, so_far = found / unit % (n + 1);
        if ((which >> k & 1) && so_far == n) return bounded ? -1 : -2;
        if (which >> k & 1) found += unit;
        unit *= n + 1;
    }
    return found;
}

/* Returns whether enough items have satisfied each condition in a->some. */
static bool sampi_array_enough(const sampi_array *a, int32_t found)
{
    for (int32_t k = 0; k < a->n_some; k++) {
        const int32_t n = a->some[k].most < INT32_MAX ? a->some[k].most : a->some[k].least;
        if (found % (n + 1) < a->some[k].least) return false;
        found /= n + 1;
    }
    return true;
}

/* Computes the nodes of item i with the comma before it: items [which] for each set `which` of conditions in a->some
   that the item satisfies. */
static SAMPI_COLD void sampi_array_ways(sampi_schema *x, const sampi_array *a, int32_t i, sampi_node *items)
{
    const sampi_node before = i ? x->comma : (sampi_node)SAMPI_EMPTY;
    for (int32_t which = 0; which < 1 << a->n_some; which++) {
        const int32_t goal = sampi_array_goal(x, a, i, which);
        items[which] = goal < 0 ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(x->tree, before, sampi_goal_node(x, goal));
    }
}

/* Returns the node of any number of items after the counts `found`: items that leave the counts unchanged, then one
   that increases a count, and so on. behind [] has these nodes for all larger counts; items [] is as in
   sampi_array_ways, with a comma before each item. */
static SAMPI_COLD sampi_node sampi_array_tail(const sampi_schema *x, const sampi_array *a, int32_t found,
                                              const sampi_node *items, const sampi_node *behind)
{
    sampi_tree *t = x->tree;
    sampi_node others = SAMPI_NEVER, more = sampi_array_enough(a, found) ? SAMPI_EMPTY : SAMPI_NEVER;
    for (int32_t which = 0; which < 1 << a->n_some; which++) {
        const int32_t next = sampi_array_count(a, found, which);
        if (next == found) others = sampi_tree_alt(t, others, items[which]);
        if (next > found) more = sampi_tree_alt(t, more, sampi_tree_seq(t, items[which], behind[next]));
    }
    return sampi_tree_seq(t, sampi_tree_repeat(t, others, 0, -1), more);
}

/* Returns the node of the items of an array in which conditions count items (a->some, from contains). From the last
   item back to the first, x->stack gets the node of what may follow item i, for each value of `found`. */
static SAMPI_COLD sampi_node sampi_array_counted(sampi_schema *x, const sampi_array *a)
{
    enum { MOST = 4096, WAYS = 1 << SAMPI_ITEM_COUNTS };
    sampi_tree *t = x->tree;
    int64_t n = 1, last = a->n_prefix > a->least ? a->n_prefix : a->least;
    sampi_node items[WAYS];
    if (a->most == 0) return SAMPI_EMPTY;
    if (a->most < INT32_MAX) last = a->most;
    if (last == 0) last = 1; /* the first item has no comma */
    for (int32_t k = 0; k < a->n_some && n <= MOST; k++)
        n *= 1 + (int64_t)(a->some[k].most < INT32_MAX ? a->some[k].most : a->some[k].least);
    if ((last + 1) * n > MOST)
        return sampi_schema_refuse(x, a->some[0].literal >> 2, "contains with so many items"), SAMPI_NEVER;
    const int32_t first = x->stack.n;
    for (int32_t found = 0; found < n; found++)
        sampi_schema_push(x, &x->stack, sampi_array_enough(a, found) ? SAMPI_EMPTY : SAMPI_NEVER);
    if (a->most == INT32_MAX) sampi_array_ways(x, a, (int32_t)last, items);
    for (int32_t found = (int32_t)n; found-- > 0 && a->most == INT32_MAX && !x->status;) {
        sampi_node *place = sampi_schema_ints(&x->stack, first);
        place[found] = sampi_array_tail(x, a, found, items, place);
    }
    for (int32_t i = (int32_t)last; i-- > 0 && !x->status;) {
        sampi_array_ways(x, a, i, items);
        for (int32_t found = 0; found < n && !x->status; found++) {
            /* for counts above `found`, place [] was not replaced yet: it has what may follow item i + 1 */
            sampi_node *place = sampi_schema_ints(&x->stack, first), node = SAMPI_NEVER;
            for (int32_t which = 0; which < 1 << a->n_some; which++) {
                const int32_t next = sampi_array_count(a, found, which);
                if (next >= 0) node = sampi_tree_alt(t, sampi_tree_seq(t, items[which], place[next]), node);
            }
            place[found] = i >= a->least && sampi_array_enough(a, found) ? sampi_tree_alt(t, SAMPI_EMPTY, node)
                                                                         : node;
        }
    }
    const sampi_node node = x->status ? SAMPI_NEVER : *sampi_schema_ints(&x->stack, first);
    x->stack.n = first;
    return node;
}

/* Returns the node of the items of an array without counts: first the items with goals (conditions) of their own, then
   the others. */
static SAMPI_COLD sampi_node sampi_array_items(sampi_schema *x, const sampi_array *a)
{
    sampi_tree *t = x->tree;
    int32_t n = a->n_prefix < a->most ? a->n_prefix : a->most, most = a->most < INT32_MAX ? a->most - n : -1;
    if (a->most == 0) return SAMPI_EMPTY;
    sampi_node behind = SAMPI_EMPTY, rest = SAMPI_NEVER;
    if (most != 0) {
        int32_t least = a->least > n ? a->least - n : 0;
        rest = sampi_goal_node(x, sampi_array_goal(x, a, a->n_prefix, -1));
        if (n == 0) return sampi_array_of_one(x, a, rest);
        behind = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, rest), least, most);
    }
    for (int32_t i = n; i-- > 0 && !x->status;) {
        behind = sampi_tree_seq(t, sampi_goal_node(x, sampi_array_goal(x, a, i, -1)), behind);
        if (i) behind = sampi_tree_seq(t, x->comma, behind);
        if (i >= a->least) behind = sampi_schema_optional(t, behind);
    }
    return behind;
}

/* Makes an array from the current atoms (simple conditions). */
static SAMPI_COLD void sampi_schema_finish_array(sampi_schema *x, sampi_shapes *s)
{
    sampi_array a = { s, x->atoms.n, 0, 0, INT32_MAX, -1, 0, { { 0, 0, 0 } } };
    sampi_array_collect(x, &a);
    bool possible = a.least <= a.most;
    for (int32_t i = 0; i < a.n_some; i++) possible = possible && a.some[i].least <= a.some[i].most;
    if (x->status || !possible) return;
    if (s->ask) {
        s->found = true;
        return;
    }
    sampi_node inside;
    if (a.most <= 1) a.unique = -1;
    if (a.unique >= 0 && x->raw)
        inside = (sampi_schema_refuse(x, a.unique, "not supported in this style"), SAMPI_NEVER);
    else if (a.unique >= 0)
        inside = sampi_array_unique(x, &a);
    else
        inside = a.n_some ? sampi_array_counted(x, &a) : sampi_array_items(x, &a);
    sampi_node array = sampi_schema_bracket(x, "[", inside, "]");
    if (a.unique >= 0) array = sampi_tree_unique(x->tree, array, SAMPI_UNIQUE_ARRAY);
    s->node = sampi_tree_alt(x->tree, array, s->node);
}

/* Ends a way: its atoms (simple conditions) make one shape of an array or object, or they contradict each other. */
static SAMPI_COLD void sampi_schema_finish(sampi_schema *x, sampi_shapes *s)
{
    int32_t refused = -1;
    for (int32_t i = s->first; i < x->atoms.n; i++)
        if (sampi_schema_atom_at(x, i)->kind == SAMPI_ATOM_REFUSED) refused = sampi_schema_atom_at(x, i)->node;
    if (refused >= 0 && !s->ask) { /* a refused atom (condition) is an error only if the other atoms can hold */
        sampi_shapes ask = *s;
        ask.ask = true;
        if (s->type == SAMPI_T_OBJECT)
            sampi_schema_finish_objects(x, &ask);
        else
            sampi_schema_finish_array(x, &ask);
        if (ask.found) sampi_schema_refuse(x, refused, "not supported where it must not hold");
        return;
    }
    if (s->type == SAMPI_T_OBJECT)
        sampi_schema_finish_objects(x, s);
    else
        sampi_schema_finish_array(x, s);
}
