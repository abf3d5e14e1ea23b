/* ---- schemas: objects ----
   One shape of an object as a grammar: the names that its atoms speak of, each with the goal of its value, required or
   not; all other names; how many. Members in any order are a set of those that are still to come; with `ordered` they
   come as the schema lists them. */

/* A name that some atom speaks of. */
typedef struct sampi_name {
    int32_t name; /* its string */
    int32_t goal; /* of its value; -1: it must not be there */
    bool required;
} sampi_name;

/* A member that is not listed and must be there, to break something. */
typedef struct sampi_witness {
    sampi_texts names;
    sampi_node node;
    bool bound; /* could another member of its name not break that? */
} sampi_witness;

/* An object under construction. */
typedef struct sampi_object {
    sampi_shapes *shapes;
    int32_t last;        /* atoms from shapes->first to there */
    sampi_vec names;     /* sampi_name, in the order in which they were met */
    sampi_vec patterns;  /* int32_t: nodes of the document, each pattern once */
    sampi_vec witnesses; /* sampi_witness */
    int32_t n_witnesses; /* that there will be */
    bool by_kind;        /* are they told apart by the kinds of their names? */
    uint32_t kinds;      /* of names that are not listed, which sampi_object_others has: a set; 0: all */
    sampi_texts allowed; /* names: propertyNames */
    int32_t least, most;
    bool closed; /* no other names, since it equals a value */
} sampi_object;

/* Lists a name, unless it is: x->listed tells where, while names are collected. */
static SAMPI_COLD void sampi_object_name(sampi_schema *x, sampi_object *o, int32_t name, bool required)
{
    sampi_name *n = NULL;
    if (x->listed[name] > 0)
        n = (sampi_name *)o->names.data + (x->listed[name] - 1);
    else {
        n = (sampi_name *)sampi_vec_add(&o->names, sizeof *n, 1);
        if (!n) {
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
            return;
        }
        n->name = name;
        n->required = false;
        n->goal = 0;
        x->listed[name] = o->names.n;
    }
    n->required |= required;
}

/* The names that a group of keywords speaks of, its patterns and its bounds. */
static SAMPI_COLD void sampi_object_group(sampi_schema *x, sampi_object *o, int32_t schema)
{
    int32_t at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        sampi_object_name(x, o, sampi_doc(x, i)->name, false);
    for (int32_t i = sampi_schema_required(x, schema), name; i >= 0; i = sampi_doc(x, i)->next)
        if ((name = sampi_schema_name(x, i)) >= 0) sampi_object_name(x, o, name, true);
    at = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next) {
        bool known = false;
        for (int32_t k = 0; k < o->patterns.n; k++)
            known = known || sampi_doc(x, *sampi_ints(&o->patterns, k))->name == sampi_doc(x, i)->name;
        if (!known && o->patterns.n <= SAMPI_SCHEMA_PATTERNS) sampi_push(x, &o->patterns, i);
    }
    at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTY_NAMES);
    if (at >= 0) o->allowed = sampi_texts_and(x, o->allowed, sampi_schema_scalars(x, at, false).string, true);
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_PROPERTIES, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_PROPERTIES, INT32_MAX);
    if (least > o->least) o->least = least;
    if (most < o->most) o->most = most;
    if ((at = sampi_keyword(x, schema, SAMPI_KEY_UNEVALUATED_PROPERTIES)) >= 0 &&
        sampi_doc(x, at)->kind != SAMPI_JSON_TRUE)
        sampi_refuse(x, at, "not supported");
}

/* All names that the atoms speak of, each once, and what they say of all members together. */
static SAMPI_COLD void sampi_object_collect(sampi_schema *x, sampi_object *o)
{
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        sampi_atom a = *sampi_atom_at(x, i);
        if (a.kind == SAMPI_ATOM_GROUP) sampi_object_group(x, o, a.node);
        if (a.kind == SAMPI_ATOM_FORBID || a.kind == SAMPI_ATOM_MEMBER) sampi_object_name(x, o, a.name, false);
        if (a.kind == SAMPI_ATOM_REQUIRE) sampi_object_name(x, o, a.name, true);
        if (a.kind == SAMPI_ATOM_LEAST && a.name > o->least) o->least = a.name;
        if (a.kind == SAMPI_ATOM_MOST && a.name < o->most) o->most = a.name;
        if (a.kind == SAMPI_ATOM_WITNESS) sampi_atom_at(x, i)->with = o->n_witnesses++;
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        o->closed = true;
        for (int32_t k = sampi_doc(x, a.node)->first; k >= 0; k = sampi_doc(x, k)->next)
            sampi_object_name(x, o, sampi_doc(x, k)->name, true);
    }
    for (int32_t i = 0; i < o->names.n; i++) x->listed[((sampi_name *)o->names.data)[i].name] = 0;
}

/* Adds to the goal on the stack what a group says of a member: of one that is listed (`name`), or of any that matches
   the patterns whose bits are set. */
static SAMPI_COLD bool sampi_object_says(sampi_schema *x, const sampi_object *o, int32_t schema, int32_t name,
                                         uint32_t bits, int32_t first)
{
    int32_t properties = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    int32_t patterns = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    int32_t others = sampi_keyword(x, schema, SAMPI_KEY_ADDITIONAL_PROPERTIES);
    int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, properties, name);
    bool possible = at < 0 || sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS)), matched = at >= 0;
    for (int32_t i = 0; i < o->patterns.n && possible; i++) {
        if (!(bits >> i & 1)) continue;
        at = sampi_json_member(&x->doc, patterns, sampi_doc(x, *sampi_ints(&o->patterns, i))->name);
        if (at < 0) continue;
        matched = true;
        possible = sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_IS));
    }
    return possible && (matched || others < 0 || sampi_goal_add(x, first, sampi_literal_of(others, SAMPI_IS)));
}

/* Is an atom about one of these witnesses, a set of bits? */
static SAMPI_COLD bool sampi_atom_is_met(const sampi_schema *x, sampi_atom a, uint64_t witnesses)
{
    if (a.kind == SAMPI_ATOM_JOINED) a = *sampi_atom_at(x, a.with);
    return a.kind == SAMPI_ATOM_WITNESS && (witnesses >> a.with & 1);
}

/* The goal of a member of this name, or of any other name (-1) that matches those patterns, and that is all of
   `witnesses`. -1: there can be none. */
static SAMPI_COLD int32_t sampi_object_goal(sampi_schema *x, const sampi_object *o, int32_t name, uint32_t bits,
                                            uint64_t witnesses)
{
    int32_t first = x->stack.n;
    bool possible = true;
    for (int32_t i = o->shapes->first; i < o->last && possible && !x->status; i++) {
        sampi_atom a = *sampi_atom_at(x, i);
        if (witnesses && a.literal >= 0 && sampi_atom_is_met(x, a, witnesses))
            possible = sampi_goal_add(x, first, a.literal);
        if (a.kind == SAMPI_ATOM_GROUP) possible = sampi_object_says(x, o, a.node, name, bits, first);
        if (a.kind == SAMPI_ATOM_FORBID) possible = a.name != name;
        if (a.kind == SAMPI_ATOM_MEMBER && a.name == name) possible = sampi_goal_add(x, first, a.literal);
        if (a.kind != SAMPI_ATOM_VALUE) continue;
        int32_t at = name < 0 ? -1 : sampi_json_member(&x->doc, a.node, name);
        possible = at >= 0 && sampi_goal_add(x, first, sampi_literal_of(at, SAMPI_EQUALS));
    }
    int32_t goal = possible ? sampi_goal_taken(x, first) : -1;
    x->stack.n = first;
    return goal >= 0 && sampi_goal_possible(x, goal) ? goal : -1;
}

/* Is a string of the document among the texts? */
static SAMPI_COLD bool sampi_texts_have(sampi_schema *x, sampi_texts a, int32_t string)
{
    if (a.n == SAMPI_ANY) return true;
    if (a.n == SAMPI_SOME) return sampi_schema_matches(x, a.node, sampi_schema_quoted(x, string));
    sampi_texts_mark(x, a);
    return sampi_is_marked(x, string);
}

/* The goals of the names, or if that is all that is asked, of those that are required. False: one that is required
   can't be there. */
static SAMPI_COLD bool sampi_object_resolve(sampi_schema *x, sampi_object *o)
{
    bool possible = true;
    const size_t n_atoms = (size_t)(o->last - o->shapes->first);
    for (int32_t i = 0; i < o->names.n && possible && sampi_schema_step(x, 0); i++) {
        if (n_atoms > 4 && !sampi_schema_work(x, 0, n_atoms / 2)) break; /* each is asked about the name */
        sampi_name n = ((sampi_name *)o->names.data)[i];
        uint32_t bits = 0;
        if (o->shapes->ask && !n.required) continue;
        for (int32_t k = 0; k < o->patterns.n; k++) {
            sampi_texts matching = sampi_texts_some(x, sampi_schema_named_pattern(x, *sampi_ints(&o->patterns, k)));
            if (sampi_texts_have(x, matching, n.name)) bits |= (uint32_t)1 << k;
        }
        n.goal = sampi_texts_have(x, o->allowed, n.name) ? sampi_object_goal(x, o, n.name, bits, 0) : -1;
        possible = n.goal >= 0 || !n.required;
        ((sampi_name *)o->names.data)[i] = n;
    }
    return possible;
}

/* ---- names that come twice ----
   Of two members of one name the last one counts. So a witness, a member that must be there since it breaks something,
   must not be replaced by a later one that does not break it. A grammar can't remember a name of any length, but it can
   remember a checksum of it: its kind, one of eight. Behind a witness, a member's name is of another kind, or the
   member breaks the same, if its name may be the witness's at all. Two witnesses are of two kinds, so they count as two
   members. */

/* The texts of a kind: which of three bits are set in an odd number of their bytes. */
static SAMPI_COLD sampi_node sampi_schema_kind(sampi_schema *x, int32_t kind)
{
    sampi_tree *t = x->tree;
    sampi_node all = SAMPI_NEVER;
    for (int32_t bit = 0; SAMPI_KINDS_OF_NAMES >> bit > 1; bit++) {
        uint8_t set[2][32] = { { 0 } };
        for (int32_t byte = 0; byte < 256; byte++) set[byte >> bit & 1][byte / 8] |= (uint8_t)(1 << byte % 8);
        sampi_node odd = sampi_tree_pooled(t, SAMPI_NODE_SET, set[1], 32);
        sampi_node even = sampi_tree_repeat(t, sampi_tree_pooled(t, SAMPI_NODE_SET, set[0], 32), 0, -1);
        sampi_node half = sampi_tree_seq(t, even, odd);
        sampi_node twice = sampi_tree_seq(t, sampi_tree_repeat(t, sampi_tree_seq(t, half, half), 0, -1), even);
        sampi_node one = kind >> bit & 1 ? sampi_tree_seq(t, half, twice) : twice;
        all = bit ? sampi_tree_and(t, all, one) : one;
    }
    return all;
}

/* The names of some kinds, one of them or all but a few, each in its shortest spelling. */
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

static sampi_witness *sampi_witness_at(const sampi_object *o, int32_t i)
{
    return (sampi_witness *)o->witnesses.data + i;
}

static SAMPI_COLD sampi_node sampi_object_pair(sampi_schema *x, sampi_node name, sampi_node value)
{
    return sampi_tree_seq(x->tree, name, sampi_tree_seq(x->tree, x->colon, value));
}

/* Members of names that are not listed: of all of them that match the patterns whose bits are set, and of those below
   number i no others. Each pattern more splits them in two. */
static SAMPI_COLD sampi_node sampi_object_others(sampi_schema *x, const sampi_object *o, sampi_texts names, int32_t i,
                                                 uint32_t bits, uint64_t witnesses)
{
    if (x->status || names.n == 0) return SAMPI_NEVER;
    if (i < o->patterns.n) {
        sampi_texts in = sampi_texts_some(x, sampi_schema_named_pattern(x, *sampi_ints(&o->patterns, i)));
        sampi_texts out = sampi_texts_and(x, names, sampi_texts_not(x, in, true), true);
        sampi_node with = sampi_object_others(x, o, sampi_texts_and(x, names, in, true), i + 1,
                                              bits | (uint32_t)1 << i, witnesses);
        return sampi_tree_alt(x->tree, with, sampi_object_others(x, o, out, i + 1, bits, witnesses));
    }
    int32_t goal = sampi_object_goal(x, o, -1, bits, witnesses);
    bool look = goal >= 0 && witnesses && !o->shapes->ask; /* for a name, before one of some kind */
    if (look && !sampi_schema_alive(x, sampi_texts_node(x, names, true))) return SAMPI_NEVER;
    if (o->kinds) names = sampi_texts_of_kinds(x, names, o->kinds);
    if (look && o->kinds && !sampi_schema_alive(x, sampi_texts_node(x, names, true))) return SAMPI_NEVER;
    return goal < 0 ? (sampi_node)SAMPI_NEVER
                    : sampi_object_pair(x, sampi_texts_node(x, names, true), sampi_goal_node(x, goal));
}

/* The names that are not listed. */
static SAMPI_COLD sampi_texts sampi_object_unlisted(sampi_schema *x, const sampi_object *o)
{
    sampi_node listed = SAMPI_NEVER;
    for (int32_t i = 0; i < o->names.n && listed >= 0; i++)
        listed = sampi_tree_alt(x->tree, sampi_schema_quoted(x, ((sampi_name *)o->names.data)[i].name), listed);
    return sampi_texts_and(x, o->allowed, sampi_texts_not(x, sampi_texts_some(x, listed), true), true);
}

/* Members in the schema's order, the others behind them. `behind` [2]: what may come behind member i if none came
   before it, and if one did. */
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

/* Members of names that are not listed, which break what each witness from number i on breaks whose name they may
   have. */
static SAMPI_COLD sampi_node sampi_object_bound(sampi_schema *x, const sampi_object *o, sampi_texts names, int32_t i,
                                                uint64_t witnesses)
{
    while (i < o->witnesses.n && !sampi_witness_at(o, i)->bound) i++;
    if (x->status || names.n == 0) return SAMPI_NEVER;
    if (i == o->witnesses.n) return sampi_object_others(x, o, names, 0, 0, witnesses);
    sampi_texts in = sampi_witness_at(o, i)->names,
                out = sampi_texts_and(x, names, sampi_texts_not(x, in, true), true);
    in = sampi_texts_and(x, names, in, true);
    sampi_node with = sampi_object_bound(x, o, in, i + 1, witnesses | (uint64_t)1 << i);
    return sampi_tree_alt(x->tree, with, sampi_object_bound(x, o, out, i + 1, witnesses));
}

/* The members behind witnesses, for each set of kinds that these may be of: others [SAMPI_SETS_OF_KINDS]. */
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
        sampi_schema_made(x, others[set]);
    }
    o->kinds = 0;
}

static SAMPI_COLD void sampi_member_add(sampi_schema *x, sampi_vec *list, sampi_node node, bool required)
{
    sampi_member *room = (sampi_member *)sampi_vec_add(list, sizeof *room, 1);
    if (!room) {
        sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
        return;
    }
    room->node = node;
    room->required = required;
}

/* The members that are listed, then the witnesses, each of any kind or one for each. How many there must be. */
static SAMPI_COLD int32_t sampi_object_members(sampi_schema *x, sampi_object *o, sampi_vec *list)
{
    int32_t n_required = o->witnesses.n;
    for (int32_t i = 0; i < o->names.n && !x->status; i++) {
        const sampi_name n = ((sampi_name *)o->names.data)[i];
        if (n.goal < 0) continue;
        sampi_node node = sampi_object_pair(x, sampi_schema_quoted(x, n.name), sampi_goal_node(x, n.goal));
        sampi_member_add(x, list, node, n.required);
        n_required += n.required;
    }
    for (int32_t i = 0; i < o->witnesses.n && !x->status; i++) {
        const sampi_witness w = *sampi_witness_at(o, i);
        if (!o->by_kind) sampi_member_add(x, list, w.node, true);
        for (int32_t kind = 0; kind < SAMPI_KINDS_OF_NAMES && o->by_kind; kind++) {
            o->kinds = (uint32_t)1 << kind;
            sampi_member_add(x, list, sampi_object_others(x, o, w.names, 0, 0, (uint64_t)1 << i), true);
        }
    }
    o->kinds = 0;
    return n_required;
}

/* The object's text. Names that are not listed may come twice, which leaves `least` in doubt if it counts on two of
   them. Those that must be there come behind the ones that are listed, if there is an order and it does not matter
   which name is whose. */
static SAMPI_COLD sampi_node sampi_object_node(sampi_schema *x, sampi_object *o, sampi_node other)
{
    sampi_tree *t = x->tree;
    sampi_vec list;
    memset(&list, 0, sizeof list);
    int32_t n_required = sampi_object_members(x, o, &list), n_names = n_required;
    size_t most = o->most < INT32_MAX ? (size_t)o->most : SIZE_MAX;
    /* so many names are sure to differ */
    if (o->witnesses.n && !o->by_kind) n_names -= o->witnesses.n - 1;
    if (!o->witnesses.n && o->least == n_names + 1) n_names++;
    if (o->least > n_names && other != SAMPI_NEVER)
        sampi_refuse(x, sampi_atom_at(x, o->shapes->first)->node, "minProperties of names that are not listed");
    bool counted = o->least > n_required || (o->most < INT32_MAX && (other != SAMPI_NEVER || o->most < list.n));
    sampi_node inside = SAMPI_NEVER;
    if (x->status || o->least > o->most || n_required > o->most)
        list.n = 0;
    else if (o->by_kind) {
        sampi_node others[SAMPI_SETS_OF_KINDS];
        sampi_object_behind(x, o, other, others);
        if (!x->status)
            inside = sampi_tree_witnesses(t, (const sampi_member *)list.data, (size_t)list.n, o->witnesses.n,
                                          x->comma, others, (size_t)o->least, most);
    } else if (x->in_order && !counted)
        inside = sampi_object_in_order(x, (const sampi_member *)list.data, list.n, other);
    else if (list.n == 0 && other == SAMPI_NEVER)
        inside = o->least ? SAMPI_NEVER : SAMPI_EMPTY;
    else if (list.n == 0 && !counted)
        inside = sampi_object_in_order(x, NULL, 0, other);
    else
        inside = sampi_tree_members(t, (const sampi_member *)list.data, (size_t)list.n, x->comma, other,
                                    (size_t)o->least, most);
    sampi_vec_free(&list);
    return sampi_schema_bracket(x, "{", inside, "}");
}

/* The names among which one breaks the keyword of an EXISTS. */
static SAMPI_COLD sampi_texts sampi_exists_names(sampi_schema *x, sampi_atom a)
{
    if (a.name == SAMPI_KEY_PATTERN_PROPERTIES) return sampi_texts_some(x, sampi_schema_named_pattern(x, a.node));
    if (a.name == SAMPI_KEY_PROPERTY_NAMES)
        return sampi_texts_not(x, sampi_schema_scalars(x, a.node, true).string, true);
    sampi_node known = SAMPI_NEVER;
    int32_t schema = sampi_doc(x, a.node)->parent, at = sampi_keyword(x, schema, SAMPI_KEY_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_quoted(x, sampi_doc(x, i)->name), known);
    at = sampi_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES);
    for (int32_t i = at < 0 ? -1 : sampi_doc(x, at)->first; i >= 0; i = sampi_doc(x, i)->next)
        known = sampi_tree_alt(x->tree, sampi_schema_named_pattern(x, i), known);
    return sampi_texts_not(x, sampi_texts_some(x, known), true);
}

static SAMPI_COLD void sampi_object_begin(sampi_schema *x, sampi_object *o, sampi_shapes *s)
{
    memset(o, 0, sizeof *o);
    o->shapes = s;
    o->last = x->atoms.n;
    o->most = INT32_MAX;
    o->allowed = sampi_texts_any();
    sampi_object_collect(x, o);
}

static SAMPI_COLD void sampi_object_end(sampi_object *o)
{
    sampi_vec_free(&o->names);
    sampi_vec_free(&o->patterns);
    sampi_vec_free(&o->witnesses);
}

/* The members that must be there and are not listed. False: there can't be one. */
static SAMPI_COLD bool sampi_object_witnesses(sampi_schema *x, sampi_object *o)
{
    if (o->n_witnesses > 64) sampi_refuse(x, 0, "more than 64 members that must break something");
    for (int32_t i = o->shapes->first; i < o->last && !x->status; i++) {
        if (sampi_atom_at(x, i)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_witness w = { sampi_object_unlisted(x, o), SAMPI_NEVER, false };
        const uint64_t one = (uint64_t)1 << o->witnesses.n;
        bool valued = false;
        for (int32_t k = i; k < o->last; k++) {
            sampi_atom a = *sampi_atom_at(x, k);
            if (!sampi_atom_is_met(x, a, one)) continue;
            w.names = sampi_texts_and(x, w.names, sampi_exists_names(x, a), true);
            valued |= a.literal >= 0;
        }
        if (!o->closed) w.node = sampi_object_others(x, o, w.names, 0, 0, one);
        if (w.node == SAMPI_NEVER) return false;
        w.bound = valued && !o->shapes->ask && sampi_object_others(x, o, w.names, 0, 0, 0) != w.node;
        sampi_witness *room = (sampi_witness *)sampi_vec_add(&o->witnesses, sizeof w, 1);
        if (room)
            *room = w;
        else
            sampi_schema_fail(x, 0, SAMP_E_NOMEM, "out of memory");
        o->by_kind |= w.bound;
    }
    return true;
}

/* Do names have to be told apart? */
static SAMPI_COLD void sampi_object_tell_apart(sampi_schema *x, sampi_object *o)
{
    int32_t n_required = 0;
    for (int32_t i = 0; i < o->names.n; i++) n_required += ((sampi_name *)o->names.data)[i].required;
    if (o->witnesses.n > 1 && o->least > n_required + 1) o->by_kind = true;
    if (o->by_kind && o->witnesses.n > SAMPI_MAX_SLOTS)
        sampi_refuse(x, sampi_atom_at(x, o->shapes->first)->node, "more than 4 members that must break something");
}

/* An object of the atoms, of which none is an EXISTS. */
static SAMPI_COLD void sampi_finish_object(sampi_schema *x, sampi_shapes *s)
{
    sampi_object o;
    sampi_node other = SAMPI_NEVER;
    sampi_object_begin(x, &o, s);
    if (o.patterns.n > SAMPI_SCHEMA_PATTERNS)
        sampi_refuse(x, *sampi_ints(&o.patterns, SAMPI_SCHEMA_PATTERNS), "more than 10 patterns at once");
    bool possible = !x->status && o.least <= o.most && sampi_object_resolve(x, &o) && sampi_object_witnesses(x, &o);
    if (possible && s->ask) s->found = true;
    if (possible && !s->ask) {
        sampi_object_tell_apart(x, &o);
        if (!o.closed) other = sampi_object_others(x, &o, sampi_object_unlisted(x, &o), 0, 0, 0);
        s->node = sampi_tree_alt(x->tree, sampi_object_node(x, &o, other), s->node);
    }
    sampi_object_end(&o);
}

/* Objects of the atoms. A member that must exist is one of the names that are listed, or one that is not: then it may
   be the same as another such member. */
static SAMPI_COLD void sampi_finish_objects(sampi_schema *x, sampi_shapes *s)
{
    int32_t i = s->first, n_atoms = x->atoms.n;
    sampi_object o;
    while (i < n_atoms && sampi_atom_at(x, i)->kind != SAMPI_ATOM_EXISTS) i++;
    if (i == n_atoms) {
        sampi_finish_object(x, s);
        return;
    }
    if (!sampi_schema_choice(x)) return;
    sampi_atom a = *sampi_atom_at(x, i);
    sampi_texts names = sampi_exists_names(x, a);
    sampi_object_begin(x, &o, s);
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_MET;
    for (int32_t k = 0; k < o.names.n && sampi_schema_step(x, a.node); k++) {
        int32_t name = ((sampi_name *)o.names.data)[k].name;
        if (!sampi_texts_have(x, names, name)) continue;
        sampi_atom_add(x, SAMPI_ATOM_REQUIRE, a.node, name, 0);
        if (a.literal >= 0) sampi_atom_add(x, SAMPI_ATOM_MEMBER, a.node, name, a.literal);
        sampi_finish_objects(x, s);
        x->atoms.n = n_atoms;
    }
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_WITNESS;
    sampi_finish_objects(x, s);
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_JOINED;
    for (int32_t k = s->first; k < i && sampi_schema_step(x, a.node); k++) {
        if (sampi_atom_at(x, k)->kind != SAMPI_ATOM_WITNESS) continue;
        sampi_atom_at(x, i)->with = k;
        sampi_finish_objects(x, s);
    }
    sampi_atom_at(x, i)->kind = SAMPI_ATOM_EXISTS;
    sampi_atom_at(x, i)->with = -1;
    sampi_object_end(&o);
    x->choices--;
}
