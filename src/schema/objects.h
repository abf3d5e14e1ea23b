/* ---- schemas: objects ----
   This room makes the grammar of one shape of an object, a list of atoms (simple conditions, alternatives.h). Names
   that the atoms mention (from properties, required and so on) are called listed: each has a goal (conditions on its
   value), and is required or not. All other names share the conditions of patternProperties and additionalProperties.
   The number of members is bounded. Members may come in any order: the matcher keeps the set of the members that have
   come. With the option "ordered" they come in the schema's order.

   A witness is a member that must exist, without a listed name, because it violates a keyword that must not hold. */

/* A listed name: some atom (a simple condition of the object) mentions it. */
typedef struct sampi_name {
    int32_t name; /* a string of the document */
    int32_t goal; /* the goal (conditions) of the member's value; -1 if the member must be absent */
    bool required;
} sampi_name;

/* A witness: a member that must exist and whose name is not listed; it violates some keyword. */
typedef struct sampi_witness {
    sampi_texts names;
    sampi_node node;
    bool bound; /* a later member of the same name could undo the violation */
} sampi_witness;

/* An object whose grammar is being made. */
typedef struct sampi_object {
    sampi_shapes *shapes;
    int32_t last;    /* the object's atoms (simple conditions) are those from index shapes->first up to this index */
    sampi_vec names; /* the listed names (sampi_name), in the order in which they were met */
    sampi_vec patterns;  /* int32_t: the patterns of patternProperties as nodes of the document, each once */
    sampi_vec witnesses; /* sampi_witness */
    int32_t witness_at;  /* the keyword that the last witness violates */
    int32_t n_witnesses; /* how many witnesses (members that must violate something) the atoms demand */
    bool by_kind;        /* the names of witnesses must have different kinds (see "names that come twice") */
    uint32_t kinds;      /* if not 0, sampi_object_others takes only names of these kinds, as bits */
    sampi_texts allowed; /* the set of allowed names (propertyNames) */
    int32_t least, most;
    int32_t least_at, most_at; /* the keywords that say so, or -1: the places of errors */
    bool closed;               /* no other members are allowed, because the object equals a value */
    bool unique;               /* the names that are not listed must differ, because minProperties counts them */
} sampi_object;

/* Adds a name to the list, if it is not listed yet. While names are collected, x->listed has the index of each listed
   name, + 1. */
static SAMPI_COLD void sampi_object_name(sampi_schema *x, sampi_object *o, int32_t name, bool required)
{
    sampi_name *n = NULL;
    if (x->listed[name] > 0)
        n = (sampi_name *)o->names.data + (x->listed[name] - 1);
    else {
        n = (sampi_name *)sampi_grammar_vec_add(&o->names, sizeof *n, 1);
        if (!n) {
            sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
            return;
        }
        n->name = name;
        n->required = false;
        n->goal = 0;
        x->listed[name] = o->names.n;
    }
    n->required |= required;
}

static SAMPI_COLD void sampi_object_properties(sampi_schema *x, sampi_object *o, int32_t schema)
{
    const int32_t at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        sampi_object_name(x, o, sampi_schema_doc(x, i)->name, false);
}

static void sampi_object_least(sampi_object *o, int32_t least, int32_t at)
{
    o->least = least;
    o->least_at = at;
}

static void sampi_object_most(sampi_object *o, int32_t most, int32_t at)
{
    o->most = most;
    o->most_at = at;
}

/* Collects what the keywords of one schema demand: names, patterns, bounds on the number of members. */
static SAMPI_COLD void sampi_object_group(sampi_schema *x, sampi_object *o, int32_t schema)
{
    int32_t at;
    sampi_object_properties(x, o, schema);
    for (int32_t i = sampi_schema_required(x, schema), name; i >= 0; i = sampi_schema_doc(x, i)->next)
        if ((name = sampi_schema_string_of(x, i)) >= 0) sampi_object_name(x, o, name, true);
    at = sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next) {
        bool known = false;
        for (int32_t k = 0; k < o->patterns.n; k++)
            known = known ||
                    sampi_schema_doc(x, *sampi_schema_ints(&o->patterns, k))->name == sampi_schema_doc(x, i)->name;
        if (!known && o->patterns.n <= SAMPI_SCHEMA_PATTERNS) sampi_schema_push(x, &o->patterns, i);
    }
    at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTY_NAMES);
    if (at >= 0) o->allowed = sampi_texts_and(x, o->allowed, sampi_schema_scalars(x, at, false).string, true);
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_PROPERTIES, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_PROPERTIES, INT32_MAX);
    if (least > o->least) sampi_object_least(o, least, sampi_schema_keyword(x, schema, SAMPI_KEY_MIN_PROPERTIES));
    if (most < o->most) sampi_object_most(o, most, sampi_schema_keyword(x, schema, SAMPI_KEY_MAX_PROPERTIES));
}

/* Lists all names that the atoms mention, each once, and collects the conditions on the object as a whole. With
   "ordered" the names in `properties` are listed before those that are only required. */
static SAMPI_COLD void sampi_object_collect(sampi_schema *x, sampi_object *o)
{
    for (int32_t i = o->shapes->first; i < o->last && x->in_order && !x->status; i++)
        if (sampi_schema_atom_at(x, i)->kind == SAMPI_ATOM_GROUP)
            sampi_object_properties(x, o, sampi_schema_atom_at(x, i)->node);
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        sampi_atom a = *sampi_schema_atom_at(x, i);
        if (a.kind == SAMPI_ATOM_GROUP) sampi_object_group(x, o, a.node);
        if (a.kind == SAMPI_ATOM_FORBID || a.kind == SAMPI_ATOM_MEMBER) sampi_object_name(x, o, a.name, false);
        if (a.kind == SAMPI_ATOM_REQUIRE) sampi_object_name(x, o, a.name, true);
        /* a maximum that is violated is a minimum, and the other way round */
        if (a.kind == SAMPI_ATOM_LEAST && a.name > o->least)
            sampi_object_least(o, a.name, sampi_schema_keyword(x, a.node, SAMPI_KEY_MAX_PROPERTIES));
        if (a.kind == SAMPI_ATOM_MOST && a.name < o->most)
            sampi_object_most(o, a.name, sampi_schema_keyword(x, a.node, SAMPI_KEY_MIN_PROPERTIES));
        if (a.kind == SAMPI_ATOM_WITNESS) {
            sampi_schema_atom_at(x, i)->with = o->n_witnesses++;
            o->witness_at = a.node;
        }
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        o->closed = true;
        for (int32_t k = sampi_schema_doc(x, a.node)->first; k >= 0; k = sampi_schema_doc(x, k)->next)
            sampi_object_name(x, o, sampi_schema_doc(x, k)->name, true);
    }
    for (int32_t i = 0; i < o->names.n; i++) x->listed[((sampi_name *)o->names.data)[i].name] = 0;
}

/* Adds the conditions that one schema puts on a member's value to the goal on the stack. `name` is a listed name, or -1
   for a name that is not listed; `bits` is the set of the patterns that the name matches. Returns false if no value
   satisfies them. */
static SAMPI_COLD bool sampi_object_add_conditions(sampi_schema *x, const sampi_object *o, int32_t schema,
                                                   int32_t name, uint32_t bits, int32_t first)
{
    int32_t properties = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    int32_t patterns = sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    int32_t others = sampi_schema_others(x, schema);
    int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, properties, name);
    bool possible = at < 0 || sampi_goal_add(x, first, sampi_schema_literal_of(at, SAMPI_IS)), matched = at >= 0;
    for (int32_t i = 0; i < o->patterns.n && possible; i++) {
        if (!(bits >> i & 1)) continue;
        at = sampi_json_member(&x->doc, patterns, sampi_schema_doc(x, *sampi_schema_ints(&o->patterns, i))->name);
        if (at < 0) continue;
        matched = true;
        possible = sampi_goal_add(x, first, sampi_schema_literal_of(at, SAMPI_IS));
    }
    return possible && (matched || others < 0 || sampi_goal_add(x, first, sampi_schema_literal_of(others, SAMPI_IS)));
}

/* Returns whether an atom is a condition on one of `witnesses`, which is a set of bits. */
static SAMPI_COLD bool sampi_schema_atom_is_met(const sampi_schema *x, sampi_atom a, uint64_t witnesses)
{
    if (a.kind == SAMPI_ATOM_JOINED) a = *sampi_schema_atom_at(x, a.with);
    return a.kind == SAMPI_ATOM_WITNESS && (witnesses >> a.with & 1);
}

/* Returns the goal (conditions) of the value of a member with this name (-1: a name that is not listed). The name
   matches the patterns in `bits`, and the member violates the keywords that each of `witnesses` must violate. Returns
   -1 if there can be no such member. */
static SAMPI_COLD int32_t sampi_object_goal(sampi_schema *x, const sampi_object *o, int32_t name, uint32_t bits,
                                            uint64_t witnesses)
{
    int32_t first = x->stack.n;
    bool possible = true;
    for (int32_t i = o->shapes->first; i < o->last && possible && !x->status; i++) {
        sampi_atom a = *sampi_schema_atom_at(x, i);
        if (witnesses && a.literal >= 0 && sampi_schema_atom_is_met(x, a, witnesses))
            possible = sampi_goal_add(x, first, a.literal);
        if (a.kind == SAMPI_ATOM_GROUP) possible = sampi_object_add_conditions(x, o, a.node, name, bits, first);
        if (a.kind == SAMPI_ATOM_FORBID) possible = a.name != name;
        if (a.kind == SAMPI_ATOM_MEMBER && a.name == name) possible = sampi_goal_add(x, first, a.literal);
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, a.node, name);
        possible = at >= 0 && sampi_goal_add(x, first, sampi_schema_literal_of(at, SAMPI_EQUALS));
    }
    int32_t goal = possible ? sampi_goal_from_stack(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

/* Returns whether a string of the document is in a set of texts. */
static SAMPI_COLD bool sampi_texts_have(sampi_schema *x, sampi_texts a, int32_t string)
{
    if (a.n == SAMPI_ANY) return true;
    if (a.n == SAMPI_SOME) return sampi_schema_matches(x, a.node, sampi_schema_quoted(x, string));
    sampi_texts_mark(x, a);
    return sampi_schema_is_marked(x, string);
}

/* Computes the goals (conditions on the values) of the listed names; with shapes->ask only those of required names.
   Returns false if a required member is impossible. */
static SAMPI_COLD bool sampi_object_resolve(sampi_schema *x, sampi_object *o)
{
    bool possible = true;
    const size_t n_atoms = (size_t)(o->last - o->shapes->first);
    for (int32_t i = 0; i < o->names.n && possible && sampi_schema_step(x, SAMPI_HERE); i++) {
        /* the work for one name, which visits all atoms */
        if (n_atoms > 4 && !sampi_schema_work(x, SAMPI_HERE, n_atoms / 2)) break;
        sampi_name n = ((sampi_name *)o->names.data)[i];
        uint32_t bits = 0;
        if (o->shapes->ask && !n.required) continue;
        for (int32_t k = 0; k < o->patterns.n; k++) {
            sampi_texts matching = sampi_texts_some(
                x, sampi_schema_named_pattern(x, *sampi_schema_ints(&o->patterns, k)));
            if (sampi_texts_have(x, matching, n.name)) bits |= (uint32_t)1 << k;
        }
        n.goal = sampi_texts_have(x, o->allowed, n.name) ? sampi_object_goal(x, o, n.name, bits, 0) : -1;
        possible = n.goal >= 0 || !n.required;
        ((sampi_name *)o->names.data)[i] = n;
    }
    return possible;
}

/* ---- names that come twice ----
   If a name comes twice in an object, the last member counts. So a witness (see above) must not be followed by a member
   of the same name that does not violate the same keyword. A grammar cannot remember a name of any length, but it can
   remember a checksum of the name, called its kind; there are eight kinds. If a witness could have the name of a later
   unlisted member, that name must be of another kind, or the member must violate the same keyword. Two witnesses have
   names of two different kinds, so they count as two members. */

/* Returns the node of the texts of one kind. The three bits of a kind are the parities of the three lowest bits of all
   bytes. The derivatives of a parity are itself and the other parity, so there are eight states in all. */
static SAMPI_COLD sampi_node sampi_schema_kind(sampi_schema *x, int32_t kind)
{
    sampi_tree *t = x->tree;
    sampi_node all = SAMPI_NEVER;
    for (int32_t bit = 0; SAMPI_KINDS_OF_NAMES >> bit > 1; bit++) {
        uint8_t set[2][32] = { { 0 } };
        for (int32_t byte = 0; byte < 256; byte++) set[byte >> bit & 1][byte / 8] |= (uint8_t)(1 << byte % 8);
        sampi_node odd = sampi_tree_pooled(t, SAMPI_NODE_SET, set[1], 32);
        sampi_node even = sampi_tree_pooled(t, SAMPI_NODE_SET, set[0], 32);
        sampi_node evens = sampi_tree_repeat(t, even, 0, -1);
        sampi_node two = sampi_tree_seq(t, odd, sampi_tree_seq(t, evens, odd));
        sampi_node one = sampi_tree_repeat(t, sampi_tree_alt(t, even, two), 0, -1);
        if (kind >> bit & 1) one = sampi_tree_seq(t, evens, sampi_tree_seq(t, odd, one));
        all = bit ? sampi_tree_and(t, all, one) : one;
    }
    return all;
}

/* Returns the names whose kind is in the set `kinds`, each name in its shortest spelling. The set has one kind, or all
   kinds but a few. */
static SAMPI_COLD sampi_texts sampi_texts_of_kinds(sampi_schema *x, sampi_texts names, uint32_t kinds)
{
    if (names.n == 0) return names;
    names = sampi_texts_and(x, names, sampi_texts_some(x, x->shortest), true);
    sampi_node node = sampi_texts_node(x, names, true);
    const bool one = (kinds & (kinds - 1)) == 0;
    for (int32_t kind = 0; kind < SAMPI_KINDS_OF_NAMES; kind++) {
        if ((kinds >> kind & 1) != one) continue;
        sampi_node is = sampi_schema_kind(x, kind);
        node = one ? sampi_tree_and(x->tree, node, is) : sampi_schema_except(x->tree, node, is);
    }
    return sampi_texts_some(x, node);
}

static sampi_witness *sampi_schema_witness_at(const sampi_object *o, int32_t i)
{
    return (sampi_witness *)o->witnesses.data + i;
}

/* Returns the node of a member: a name, and a value that satisfies the goal (a set of conditions). */
static SAMPI_COLD sampi_node sampi_object_pair(sampi_schema *x, sampi_node name, int32_t goal)
{
    if (x->raw) return sampi_schema_style_member(x, name, goal);
    return sampi_tree_seq(x->tree, name, sampi_tree_seq(x->tree, x->colon, sampi_goal_node(x, goal)));
}

/* Returns the node of the members whose names are in `names`; none of these names is listed. Of the first i patterns
   the names match exactly those in `bits`. Each further pattern splits the names into those that match it and the
   others. */
static SAMPI_COLD sampi_node sampi_object_others(sampi_schema *x, const sampi_object *o, sampi_texts names, int32_t i,
                                                 uint32_t bits, uint64_t witnesses)
{
    enum { FEW = 10 }; /* more patterns have too many combinations, of which most match no name */
    if (x->status || names.n == 0) return SAMPI_NEVER;
    if (o->patterns.n > FEW && (!sampi_schema_step(x, SAMPI_HERE) || !sampi_texts_possible(x, names)))
        return SAMPI_NEVER;
    if (i < o->patterns.n) {
        sampi_texts in = sampi_texts_some(x, sampi_schema_named_pattern(x, *sampi_schema_ints(&o->patterns, i)));
        sampi_texts out = sampi_texts_and(x, names, sampi_texts_not(x, in, true), true);
        sampi_node with = sampi_object_others(x, o, sampi_texts_and(x, names, in, true), i + 1,
                                              bits | (uint32_t)1 << i, witnesses);
        return sampi_tree_alt(x->tree, with, sampi_object_others(x, o, out, i + 1, bits, witnesses));
    }
    int32_t goal = sampi_object_goal(x, o, -1, bits, witnesses);
    /* Is there any such name? The first test, without the kind, is quicker. */
    bool look = goal >= 0 && witnesses && !o->shapes->ask;
    if (look && !sampi_schema_alive(x, sampi_texts_node(x, names, true), SAMPI_SCHEMA_SEARCH)) return SAMPI_NEVER;
    if (o->kinds) names = sampi_texts_of_kinds(x, names, o->kinds);
    if (look && o->kinds && !sampi_schema_alive(x, sampi_texts_node(x, names, true), SAMPI_SCHEMA_SEARCH))
        return SAMPI_NEVER;
    if (goal < 0) return SAMPI_NEVER;
    if (o->unique) names = sampi_texts_and(x, names, sampi_texts_some(x, x->shortest), true);
    sampi_node name = sampi_schema_style_strings(x, names);
    if (o->unique) name = sampi_tree_unique(x->tree, name, SAMPI_UNIQUE_ITEM);
    return sampi_object_pair(x, name, goal);
}

/* Returns the set of all allowed names that are not listed. */
static SAMPI_COLD sampi_texts sampi_object_unlisted(sampi_schema *x, const sampi_object *o)
{
    sampi_node listed = SAMPI_NEVER;
    for (int32_t i = 0; i < o->names.n && listed >= 0; i++)
        listed = sampi_tree_alt(x->tree, sampi_schema_quoted(x, ((sampi_name *)o->names.data)[i].name), listed);
    const bool no_condition = o->allowed.n == SAMPI_ANY && o->patterns.n == 0;
    const sampi_texts others = sampi_texts_not(x, sampi_texts_some(x, listed), true),
                      written = x->raw ? sampi_texts_some(x, no_condition ? x->plain_name : x->safe_name)
                                       : sampi_texts_any();
    return sampi_texts_and(x, sampi_texts_and(x, o->allowed, written, true), others, true);
}

/* Returns whether too few names are allowed for minProperties; n_listed of them are listed. */
static SAMPI_COLD bool sampi_object_is_short_of_names(sampi_schema *x, const sampi_object *o, int32_t n_listed)
{
    const sampi_texts names = sampi_texts_and(x, sampi_object_unlisted(x, o), sampi_texts_some(x, x->shortest), true);
    const int32_t n = o->least - n_listed;
    return n > 0 && sampi_schema_n_texts(x, sampi_texts_node(x, names, true), n) < n;
}

/* Returns the node of members in the schema's order, followed by the other members. behind [0] is what may follow if no
   member has come yet, behind [1] what may follow if one has. */
static SAMPI_COLD sampi_node sampi_object_in_order(sampi_schema *x, const sampi_member *members, int32_t n,
                                                   sampi_node other)
{
    sampi_tree *t = x->tree;
    sampi_node more = sampi_tree_repeat(t, sampi_tree_seq(t, x->comma, other), 0, -1), behind[2];
    behind[1] = more;
    behind[0] = sampi_schema_optional(t, sampi_tree_seq(t, other, more));
    for (int32_t i = n; i-- > 0;) {
        sampi_node first = sampi_tree_seq(t, members[i].node, behind[1]);
        sampi_node next = sampi_tree_seq(t, x->comma, members[i].node);
        if (!members[i].required) next = sampi_schema_optional(t, next);
        behind[0] = members[i].required ? first : sampi_tree_alt(t, first, behind[0]);
        behind[1] = sampi_tree_seq(t, next, behind[1]);
    }
    return behind[0];
}

/* Returns the node of the other members behind the listed ones, of which n have come: as many as the bounds on the
   number of members leave. */
static SAMPI_COLD sampi_node sampi_object_rest(sampi_schema *x, const sampi_object *o, int32_t n, sampi_node other)
{
    sampi_tree *t = x->tree;
    const int32_t least = o->least > n ? o->least - n : 0, most = o->most < INT32_MAX ? o->most - n : -1;
    if (most == 0 || other == SAMPI_NEVER) return least ? SAMPI_NEVER : SAMPI_EMPTY;
    const sampi_node one = sampi_tree_seq(t, x->comma, other);
    if (n > 0) return sampi_tree_repeat(t, one, least, most);
    const sampi_node all = sampi_tree_seq(
        t, other, sampi_tree_repeat(t, one, least > 0 ? least - 1 : 0, most < 0 ? -1 : most - 1));
    return least ? all : sampi_schema_optional(t, all);
}

/* Returns the node of members in the schema's order, followed by the other members, where the number of members is
   bounded. behind [k] is what may follow if k members have come; without an upper bound, the last of these is what may
   follow if the lower bound is reached. */
static SAMPI_COLD sampi_node sampi_object_in_order_counted(sampi_schema *x, const sampi_object *o,
                                                           const sampi_member *members, int32_t n, sampi_node other)
{
    enum { MOST = 1 << 16 };
    sampi_tree *t = x->tree;
    const int32_t bound = o->most < INT32_MAX ? o->most : o->least, top = bound < n ? bound : n;
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    sampi_node *behind = (sampi_node *)sampi_grammar_vec_add(&vec, sizeof *behind, top + 1), inside = SAMPI_NEVER;
    if (!behind) sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
    if ((int64_t)n * (top + 1) > MOST)
        sampi_schema_refuse(x, o->most < INT32_MAX ? o->most_at : o->least_at,
                            "too many members to count them in order");
    for (int32_t k = 0; k <= top && !x->status; k++) behind[k] = sampi_object_rest(x, o, k, other);
    for (int32_t i = n; i-- > 0 && !x->status;)
        for (int32_t k = 0; k <= top; k++) {
            const sampi_node one = k ? sampi_tree_seq(t, x->comma, members[i].node) : members[i].node;
            const bool full = k == o->most, optional = !members[i].required;
            if (k == top && !full) { /* the count stays as it is */
                behind[k] = sampi_tree_seq(t, optional ? sampi_schema_optional(t, one) : one, behind[k]);
                continue;
            }
            const sampi_node with = full ? (sampi_node)SAMPI_NEVER : sampi_tree_seq(t, one, behind[k + 1]);
            behind[k] = optional ? sampi_tree_alt(t, with, behind[k]) : with;
        }
    if (!x->status) inside = behind[0];
    sampi_grammar_vec_free(&vec);
    return inside;
}

/* Returns the node of the members with unlisted names that may follow all witnesses. If such a name could also be the
   name of a witness with index i or more, the member must violate what this witness violates. */
static SAMPI_COLD sampi_node sampi_object_bound(sampi_schema *x, const sampi_object *o, sampi_texts names, int32_t i,
                                                uint64_t witnesses)
{
    while (i < o->witnesses.n && !sampi_schema_witness_at(o, i)->bound) i++;
    if (x->status || names.n == 0) return SAMPI_NEVER;
    if (i == o->witnesses.n) return sampi_object_others(x, o, names, 0, 0, witnesses);
    sampi_texts in = sampi_schema_witness_at(o, i)->names,
                out = sampi_texts_and(x, names, sampi_texts_not(x, in, true), true);
    in = sampi_texts_and(x, names, in, true);
    sampi_node with = sampi_object_bound(x, o, in, i + 1, witnesses | (uint64_t)1 << i);
    return sampi_tree_alt(x->tree, with, sampi_object_bound(x, o, out, i + 1, witnesses));
}

/* Computes the members that may come behind witnesses (required members without listed names), for each set of the
   kinds that the witnesses' names have: others [SAMPI_SETS_OF_KINDS]. */
static SAMPI_COLD void sampi_object_behind(sampi_schema *x, sampi_object *o, sampi_node other, sampi_node *others)
{
    sampi_texts names = sampi_object_unlisted(x, o);
    sampi_node bound = sampi_object_bound(x, o, names, 0, 0);
    others[0] = other;
    for (uint32_t set = 1; set < SAMPI_SETS_OF_KINDS; set++) {
        int32_t n = 0;
        for (int32_t kind = 0; kind < SAMPI_KINDS_OF_NAMES; kind++) n += set >> kind & 1;
        others[set] = SAMPI_NEVER;
        if (n > o->witnesses.n) continue;
        o->kinds = SAMPI_SETS_OF_KINDS - 1 - set;
        others[set] = sampi_tree_alt(x->tree, sampi_object_others(x, o, names, 0, 0, 0), bound);
        sampi_schema_check(x, others[set]);
    }
    o->kinds = 0;
}

static SAMPI_COLD void sampi_schema_member_add(sampi_schema *x, sampi_vec *list, sampi_node node, bool required)
{
    sampi_member *room = (sampi_member *)sampi_grammar_vec_add(list, sizeof *room, 1);
    if (!room) {
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
        return;
    }
    room->node = node;
    room->required = required;
}

/* Lists the members of the listed names, and then the witnesses: one element for each witness, or, with by_kind, one
   for each witness and kind. Returns the number of required members. */
static SAMPI_COLD int32_t sampi_object_members(sampi_schema *x, sampi_object *o, sampi_vec *list)
{
    int32_t n_required = o->witnesses.n;
    for (int32_t i = 0; i < o->names.n && !x->status; i++) {
        const sampi_name n = ((sampi_name *)o->names.data)[i];
        if (n.goal < 0) continue;
        const sampi_node name = x->raw ? sampi_schema_style_name(x, n.name) : sampi_schema_quoted(x, n.name);
        sampi_node node = sampi_object_pair(x, name, n.goal);
        sampi_schema_member_add(x, list, node, n.required);
        n_required += n.required;
    }
    for (int32_t i = 0; i < o->witnesses.n && !x->status; i++) {
        const sampi_witness w = *sampi_schema_witness_at(o, i);
        if (!o->by_kind) sampi_schema_member_add(x, list, w.node, true);
        for (int32_t kind = 0; kind < SAMPI_KINDS_OF_NAMES && o->by_kind; kind++) {
            o->kinds = (uint32_t)1 << kind;
            sampi_schema_member_add(x, list, sampi_object_others(x, o, w.names, 0, 0, (uint64_t)1 << i), true);
        }
    }
    o->kinds = 0;
    return n_required;
}

/* Returns the node of an object. minProperties counts different names. A name that is not listed may come twice, unless
   `unique` is set; so a minProperties that needs two such members beside witnesses (required members without listed
   names) is refused, unless witnesses whose names have different kinds are enough. With the option "ordered", witnesses
   come behind the listed members. But if by_kind is set, members come in any order. */
static SAMPI_COLD sampi_node sampi_object_node(sampi_schema *x, sampi_object *o, sampi_node other)
{
    sampi_tree *t = x->tree;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    int32_t n_required = sampi_object_members(x, o, &list), n_names = n_required;
    size_t most = o->most < INT32_MAX ? (size_t)o->most : SIZE_MAX;
    /* the number of names that certainly differ from each other */
    if (o->witnesses.n && !o->by_kind) n_names -= o->witnesses.n - 1;
    if (!o->witnesses.n && o->least == n_names + 1) n_names++;
    if (o->least > n_names && other != SAMPI_NEVER && !o->unique)
        sampi_schema_refuse(x, o->least_at, "minProperties of names that are not listed");
    bool counted = o->least > n_required || (o->most < INT32_MAX && (other != SAMPI_NEVER || o->most < list.n));
    sampi_node inside = SAMPI_NEVER;
    if (x->status || o->least > o->most || n_required > o->most ||
        (o->unique && sampi_object_is_short_of_names(x, o, list.n)))
        list.n = 0;
    else if (o->by_kind) {
        sampi_node others[SAMPI_SETS_OF_KINDS];
        sampi_object_behind(x, o, other, others);
        if (!x->status)
            inside = sampi_tree_witnesses(t, (const sampi_member *)list.data, (size_t)list.n, o->witnesses.n,
                                          x->comma, others, (size_t)o->least, most);
    } else if (x->in_order && !counted)
        inside = sampi_object_in_order(x, (const sampi_member *)list.data, list.n, other);
    else if (x->in_order && list.n > 0)
        inside = sampi_object_in_order_counted(x, o, (const sampi_member *)list.data, list.n, other);
    else if (list.n == 0 && other == SAMPI_NEVER)
        inside = o->least ? SAMPI_NEVER : SAMPI_EMPTY;
    else if (list.n == 0 && !counted)
        inside = sampi_object_in_order(x, NULL, 0, other);
    else
        inside = sampi_tree_members(t, (const sampi_member *)list.data, (size_t)list.n, x->comma, other,
                                    (size_t)o->least, most);
    sampi_grammar_vec_free(&list);
    inside = sampi_schema_bracket(x, "{", inside, "}");
    return o->unique && other != SAMPI_NEVER ? sampi_tree_unique(t, inside, SAMPI_UNIQUE_ARRAY) : inside;
}

/* Returns the set of names of the members that can violate the keyword of an EXISTS atom (a condition). */
static SAMPI_COLD sampi_texts sampi_schema_exists_names(sampi_schema *x, sampi_atom a)
{
    if (a.name == SAMPI_KEY_PATTERN_PROPERTIES) return sampi_texts_some(x, sampi_schema_named_pattern(x, a.node));
    if (a.name == SAMPI_KEY_PROPERTY_NAMES)
        return sampi_texts_not(x, sampi_schema_scalars(x, a.node, true).string, true);
    sampi_node known = SAMPI_NEVER;
    int32_t schema = sampi_schema_doc(x, a.node)->parent, at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_quoted(x, sampi_schema_doc(x, i)->name), known);
    at = sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_named_pattern(x, i), known);
    return sampi_texts_not(x, sampi_texts_some(x, known), true);
}

static SAMPI_COLD void sampi_object_begin(sampi_schema *x, sampi_object *o, sampi_shapes *s)
{
    memset(o, 0, sizeof *o);
    o->shapes = s;
    o->last = x->atoms.n;
    o->most = INT32_MAX;
    o->least_at = o->most_at = o->witness_at = SAMPI_HERE;
    o->allowed = sampi_texts_any();
    sampi_object_collect(x, o);
}

static SAMPI_COLD void sampi_object_end(sampi_object *o)
{
    sampi_grammar_vec_free(&o->names);
    sampi_grammar_vec_free(&o->patterns);
    sampi_grammar_vec_free(&o->witnesses);
}

/* Collects the witnesses: the members that must exist and whose names are not listed. Returns false if one of them is
   impossible. */
static SAMPI_COLD bool sampi_object_witnesses(sampi_schema *x, sampi_object *o)
{
    if (o->n_witnesses > 64) sampi_schema_refuse(x, o->witness_at, "more than 64 members that must break something");
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        if (sampi_schema_atom_at(x, i)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_witness w = { sampi_object_unlisted(x, o), SAMPI_NEVER, false };
        const uint64_t one = (uint64_t)1 << o->witnesses.n;
        bool valued = false;
        for (int32_t k = i; k < o->last; k++) {
            sampi_atom a = *sampi_schema_atom_at(x, k);
            if (!sampi_schema_atom_is_met(x, a, one)) continue;
            w.names = sampi_texts_and(x, w.names, sampi_schema_exists_names(x, a), true);
            valued |= a.literal >= 0;
        }
        if (!o->closed) w.node = sampi_object_others(x, o, w.names, 0, 0, one);
        if (w.node == SAMPI_NEVER) return false;
        w.bound = valued && !o->shapes->ask && sampi_object_others(x, o, w.names, 0, 0, 0) != w.node;
        sampi_witness *room = (sampi_witness *)sampi_grammar_vec_add(&o->witnesses, sizeof w, 1);
        if (room)
            *room = w;
        else
            sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
        o->by_kind |= w.bound;
    }
    return true;
}

/* Also sets by_kind if minProperties can be reached only with more than one witness (required member without a listed
   name); the witnesses' names must then differ. Without witnesses, where the matcher can compare names, sets unique if
   it needs more than one name that is not listed. */
static SAMPI_COLD void sampi_object_distinguish(sampi_schema *x, sampi_object *o)
{
    int32_t n_required = 0;
    for (int32_t i = 0; i < o->names.n; i++) n_required += ((sampi_name *)o->names.data)[i].required;
    if (o->witnesses.n > 1 && o->least > n_required + 1) o->by_kind = true;
    o->unique = !x->raw && !o->witnesses.n && o->least > n_required + 1;
    if (o->by_kind && o->witnesses.n > SAMPI_MAX_SLOTS)
        sampi_schema_refuse(x, o->witness_at, "more than 4 members that must break something");
}

/* Makes an object from the current atoms (simple conditions), none of which is an EXISTS. */
static SAMPI_COLD void sampi_schema_finish_object(sampi_schema *x, sampi_shapes *s)
{
    sampi_object o;
    sampi_node other = SAMPI_NEVER;
    sampi_object_begin(x, &o, s);
    if (o.patterns.n > SAMPI_SCHEMA_PATTERNS)
        sampi_schema_refuse(x, *sampi_schema_ints(&o.patterns, SAMPI_SCHEMA_PATTERNS),
                            "more than 30 patterns at once");
    bool possible = !x->status && o.least <= o.most && sampi_object_resolve(x, &o) && sampi_object_witnesses(x, &o);
    if (possible && s->ask) s->found = true;
    if (possible && !s->ask) {
        sampi_object_distinguish(x, &o);
        if (!o.closed) other = sampi_object_others(x, &o, sampi_object_unlisted(x, &o), 0, 0, 0);
        s->node = sampi_tree_alt(x->tree, sampi_object_node(x, &o, other), s->node);
    }
    sampi_object_end(&o);
}

static SAMPI_COLD void sampi_schema_finish_objects(sampi_schema *x, sampi_shapes *s);

/* Goes on with one case of an EXISTS atom, unless the atoms so far exclude each other, whatever becomes of the other
   EXISTS atoms: without this question there would be as many cases as names to the power of such atoms. */
static SAMPI_COLD void sampi_schema_finish_case(sampi_schema *x, sampi_shapes *s)
{
    sampi_shapes ask = *s;
    ask.ask = true;
    ask.found = false;
    sampi_schema_finish_object(x, &ask);
    if (ask.found) sampi_schema_finish_objects(x, s);
}

/* Makes objects from the current atoms (simple conditions). The member that an EXISTS atom demands has one of the
   listed names, or it is a witness (a required member without a listed name) of its own, or it is the same member as an
   earlier witness. All of these cases are tried, unless a required member is one that the atom demands. */
static SAMPI_COLD void sampi_schema_finish_objects(sampi_schema *x, sampi_shapes *s)
{
    int32_t i = s->first, n_atoms = x->atoms.n;
    sampi_object o;
    while (i < n_atoms && sampi_schema_atom_at(x, i)->kind != SAMPI_ATOM_EXISTS) i++;
    if (i == n_atoms) {
        sampi_schema_finish_object(x, s);
        return;
    }
    if (!sampi_schema_choice(x)) return;
    sampi_atom a = *sampi_schema_atom_at(x, i);
    sampi_texts names = sampi_schema_exists_names(x, a);
    const bool any_value = a.literal < 0 || sampi_schema_doc(x, a.node)->kind == SAMPI_JSON_FALSE;
    bool is_met = false;
    sampi_object_begin(x, &o, s);
    sampi_schema_atom_at(x, i)->kind = SAMPI_ATOM_MET;
    for (int32_t k = 0; k < o.names.n && any_value && !is_met && sampi_schema_step(x, a.node); k++) {
        const sampi_name n = ((sampi_name *)o.names.data)[k];
        is_met = n.required && sampi_texts_have(x, names, n.name);
    }
    if (is_met) sampi_schema_finish_objects(x, s);
    for (int32_t k = 0; k < o.names.n && !is_met && sampi_schema_step(x, a.node); k++) {
        int32_t name = ((sampi_name *)o.names.data)[k].name;
        if (!sampi_texts_have(x, names, name)) continue;
        sampi_schema_atom_add(x, SAMPI_ATOM_REQUIRE, a.node, name, 0);
        if (a.literal >= 0) sampi_schema_atom_add(x, SAMPI_ATOM_MEMBER, a.node, name, a.literal);
        sampi_schema_finish_case(x, s);
        x->atoms.n = n_atoms;
    }
    sampi_schema_atom_at(x, i)->kind = SAMPI_ATOM_WITNESS;
    if (!is_met) sampi_schema_finish_case(x, s);
    sampi_schema_atom_at(x, i)->kind = SAMPI_ATOM_JOINED;
    for (int32_t k = s->first; k < i && !is_met && sampi_schema_step(x, a.node); k++) {
        if (sampi_schema_atom_at(x, k)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_schema_atom_at(x, i)->with = k;
        sampi_schema_finish_case(x, s);
    }
    sampi_schema_atom_at(x, i)->kind = SAMPI_ATOM_EXISTS;
    sampi_schema_atom_at(x, i)->with = -1;
    sampi_object_end(&o);
    x->choices--;
}
