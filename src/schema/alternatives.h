/* ---- alternatives ----
   This room finds the arrays and objects that satisfy a goal (a set of conditions on one value, each a literal).
   sampi_expand splits the goal's literals one after the other. Where a keyword offers a choice (anyOf, oneOf, if and so
   on), it follows every choice; one sequence of choices is called a way. At the end of a way only atoms remain: simple
   conditions that together describe one shape of array or object. Schemas that must not hold are split last. Often such
   a schema cannot hold together with the atoms anyway, and then nothing has to be excluded: this is how the branches of
   a oneOf exclude each other. */

/* The kinds of atoms. An atom is one simple condition on an array or object. The names node, name, literal and with are
   members of sampi_atom. */
typedef enum sampi_atom_kind {
    /* the array or object satisfies what the keywords of schema `node` demand of its items or members */
    SAMPI_ATOM_GROUP,
    SAMPI_ATOM_ENTERED, /* with "ordered": schema `node` is being split; its GROUP comes at its place in the text */
    SAMPI_ATOM_VALUE,   /* the array or object equals value `node` */
    SAMPI_ATOM_FORBID,  /* the object has no member `name` */
    SAMPI_ATOM_REQUIRE, /* the object has a member `name` */
    SAMPI_ATOM_MEMBER,  /* the value of member `name`, if the object has one, satisfies the condition `literal` */
    SAMPI_ATOM_LEAST,   /* there are at least `name` members or items */
    SAMPI_ATOM_MOST,    /* there are at most `name` members or items */
    SAMPI_ATOM_ITEM,    /* item number `name`, if the array has one, satisfies the condition `literal` */
    SAMPI_ATOM_ITEMS,   /* all items satisfy the condition `literal` */
    SAMPI_ATOM_SOME,    /* at least `name` items satisfy the condition `literal` */
    /* some member of the object violates the keyword at `node`: its name is in sampi_schema_exists_names, and its value
       satisfies the condition `literal` */
    SAMPI_ATOM_EXISTS,
    SAMPI_ATOM_WITNESS, /* as EXISTS (some member violates a keyword), and its name is not listed (objects.h) */
    /* as EXISTS (some member violates a keyword), and it is the same member as that of the atom `with` */
    SAMPI_ATOM_JOINED,
    SAMPI_ATOM_MET,    /* as EXISTS (some member violates a keyword), and other atoms ensure this */
    SAMPI_ATOM_REFUSED /* the keyword or value `node` must not hold, which cannot be expressed */
} sampi_atom_kind;

typedef struct sampi_atom {
    sampi_atom_kind kind;
    int32_t node, name, with;
    sampi_literal literal;
} sampi_atom;

/* The kinds of conditions that still have to be split. They are linked lists in x->todo. */
typedef enum sampi_todo_kind {
    SAMPI_TODO_LITERAL, /* `node` is a condition (a literal) */
    SAMPI_TODO_GROUP,   /* `node` is a schema that must hold, whose own keywords become an atom now ("ordered") */
    SAMPI_TODO_ANY_OF,  /* `node` is an array of schemas */
    SAMPI_TODO_ONE_OF,
    SAMPI_TODO_IF,        /* `node` is the schema that has if, then, else */
    SAMPI_TODO_VALUES,    /* `node` is an array of values */
    SAMPI_TODO_DEPENDENCY /* `node` is a member of dependentRequired, dependentSchemas or dependencies */
} sampi_todo_kind;

typedef struct sampi_todo {
    sampi_todo_kind kind;
    int32_t node, next;
} sampi_todo;

/* The alternatives of one goal (a set of conditions), while they are collected. */
typedef struct sampi_shapes {
    unsigned type; /* SAMPI_T_ARRAY or SAMPI_T_OBJECT */
    bool ask;      /* true: only `found` is computed */
    bool found;    /* there is an alternative */
    int32_t first; /* the first atom (simple condition) of the current way, as an index of x->atoms */
    int depth;
    sampi_node node; /* the alternatives so far, as one node */
} sampi_shapes;

static sampi_atom *sampi_schema_atom_at(const sampi_schema *x, int32_t i) { return (sampi_atom *)x->atoms.data + i; }

static SAMPI_COLD void sampi_schema_atom_add(sampi_schema *x, sampi_atom_kind kind, int32_t node, int32_t name,
                                      sampi_literal literal)
{
    sampi_atom *a = (sampi_atom *)sampi_grammar_vec_add(&x->atoms, sizeof *a, 1);
    if (!a) {
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory");
        return;
    }
    a->kind = kind;
    a->node = node;
    a->name = name;
    a->with = -1;
    a->literal = literal;
}

/* Puts an entry in front of a list in x->todo. Returns the new list, or -1 if there is no memory. */
static SAMPI_COLD int32_t sampi_schema_todo_add(sampi_schema *x, sampi_todo_kind kind, int32_t node, int32_t next)
{
    sampi_todo *d = (sampi_todo *)sampi_grammar_vec_add(&x->todo, sizeof *d, 1);
    if (!d) return sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory"), -1;
    d->kind = kind;
    d->node = node;
    d->next = next;
    return x->todo.n - 1;
}

static SAMPI_COLD int32_t sampi_schema_todo_literal(sampi_schema *x, int32_t node, int meant, int32_t next)
{
    return sampi_schema_todo_add(x, SAMPI_TODO_LITERAL, sampi_schema_literal_of(node, meant), next);
}

static SAMPI_COLD void sampi_expand(sampi_schema *x, sampi_shapes *s, int32_t now, int32_t later);
static SAMPI_COLD void sampi_schema_finish(sampi_schema *x, sampi_shapes *s);

/* Follows one way of a choice, in which one more literal (condition) must be split. x->todo and x->atoms are restored
   afterwards. */
static SAMPI_COLD void sampi_schema_way_literal(sampi_schema *x, sampi_shapes *s, int32_t node, int meant,
                                                int32_t now, int32_t later)
{
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    bool first = (meant & 1) == 0;
    int32_t more = sampi_schema_todo_literal(x, node, meant, first ? now : later);
    sampi_expand(x, s, first ? more : now, first ? later : more);
    x->todo.n = todo;
    x->atoms.n = atoms;
}

static SAMPI_COLD void sampi_schema_way_atom(sampi_schema *x, sampi_shapes *s, sampi_atom_kind kind, int32_t node,
                                      int32_t name, int32_t now, int32_t later)
{
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    sampi_schema_atom_add(x, kind, node, name, 0);
    sampi_expand(x, s, now, later);
    x->todo.n = todo;
    x->atoms.n = atoms;
}

/* Returns whether a schema can hold together with the atoms (simple conditions) so far. If the question is nested too
   deeply, the answer is true. */
static SAMPI_COLD bool sampi_schema_may_hold(sampi_schema *x, const sampi_shapes *s, int32_t schema)
{
    if (x->level >= SAMPI_SCHEMA_ASKED) return true;
    sampi_shapes ask = { s->type, true, false, s->first, 0, SAMPI_NEVER };
    int32_t todo = x->todo.n, atoms = x->atoms.n;
    x->level++;
    sampi_expand(x, &ask, sampi_schema_todo_literal(x, schema, SAMPI_IS, -1), -1);
    x->level--;
    x->todo.n = todo;
    x->atoms.n = atoms;
    return ask.found;
}

static SAMPI_COLD bool sampi_schema_allows(sampi_schema *x, int32_t schema, unsigned type)
{
    bool whole;
    int32_t node = sampi_schema_keyword(x, schema, SAMPI_KEY_TYPE);
    return node < 0 || (sampi_schema_types(x, node, &whole) & type);
}

/* Returns whether the current sequence of choices has this schema already. If so, the same schema is applied again, and
   adds nothing. */
static SAMPI_COLD bool sampi_schema_has_group(const sampi_schema *x, const sampi_shapes *s, int32_t schema)
{
    for (int32_t i = s->first; i < x->atoms.n; i++)
        if (sampi_schema_atom_at(x, i)->kind <= SAMPI_ATOM_ENTERED && sampi_schema_atom_at(x, i)->node == schema)
            return true;
    return false;
}

/* A list in x->todo to which entries are added: in front of all others, or, with "ordered", behind the entries added
   before. */
typedef struct sampi_todo_list {
    int32_t first, last; /* last: the entry behind which the next one is added; -1: it is added in front */
} sampi_todo_list;

static SAMPI_COLD void sampi_schema_todo_insert(sampi_schema *x, sampi_todo_list *list, sampi_todo_kind kind,
                                                int32_t node)
{
    const int32_t last = list->last, next = last < 0 ? list->first : ((sampi_todo *)x->todo.data)[last].next;
    const int32_t made = sampi_schema_todo_add(x, kind, node, next);
    if (made < 0) return;
    *(last < 0 ? &list->first : &((sampi_todo *)x->todo.data)[last].next) = made;
    if (x->in_order) list->last = made;
}

/* Splits a keyword of a schema that must hold; `at` is its value. What must be split further joins the lists `now` and
   *later. */
static SAMPI_COLD void sampi_expand_keyword(sampi_schema *x, const sampi_shapes *s, int32_t schema,
                                            sampi_schema_key key, int32_t at, sampi_todo_list *now, int32_t *later)
{
    switch ((int)key) {
        case SAMPI_KEY_REF:
            if ((at = sampi_schema_target(x, at)) >= 0)
                sampi_schema_todo_insert(x, now, SAMPI_TODO_LITERAL, sampi_schema_literal_of(at, SAMPI_IS));
            break;
        case SAMPI_KEY_ALL_OF:
            for (int32_t k = sampi_schema_doc(x, at)->first; k >= 0; k = sampi_schema_doc(x, k)->next)
                sampi_schema_todo_insert(x, now, SAMPI_TODO_LITERAL, sampi_schema_literal_of(k, SAMPI_IS));
            break;
        case SAMPI_KEY_NOT: *later = sampi_schema_todo_literal(x, at, SAMPI_ISNT, *later); break;
        case SAMPI_KEY_CONST:
            sampi_schema_todo_insert(x, now, SAMPI_TODO_LITERAL, sampi_schema_literal_of(at, SAMPI_EQUALS));
            break;
        case SAMPI_KEY_ENUM: sampi_schema_todo_insert(x, now, SAMPI_TODO_VALUES, at); break;
        case SAMPI_KEY_ANY_OF: sampi_schema_todo_insert(x, now, SAMPI_TODO_ANY_OF, at); break;
        case SAMPI_KEY_ONE_OF: sampi_schema_todo_insert(x, now, SAMPI_TODO_ONE_OF, at); break;
        case SAMPI_KEY_IF: sampi_schema_todo_insert(x, now, SAMPI_TODO_IF, schema); break;
        case SAMPI_KEY_DEPENDENT_REQUIRED:
        case SAMPI_KEY_DEPENDENT_SCHEMAS:
        case SAMPI_KEY_DEPENDENCIES:
            for (int32_t k = sampi_schema_doc(x, at)->first; k >= 0 && s->type == SAMPI_T_OBJECT;
                 k = sampi_schema_doc(x, k)->next)
                sampi_schema_todo_insert(x, now, SAMPI_TODO_DEPENDENCY, k);
            break;
        default: break;
    }
}

/* Splits a schema that must hold: its own keywords become an atom (a simple condition), and the schemas that it applies
   join the lists of what is still to split. Returns false if it cannot hold. With "ordered" all keywords are split in
   the order of the text, so that members have this order too; else choices come last, which is less work. */
static SAMPI_COLD bool sampi_expand_is(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t *now_at,
                                       int32_t *later_at)
{
    static const sampi_schema_key keys[] = { SAMPI_KEY_IF,
                                             SAMPI_KEY_DEPENDENT_REQUIRED,
                                             SAMPI_KEY_DEPENDENT_SCHEMAS,
                                             SAMPI_KEY_DEPENDENCIES,
                                             SAMPI_KEY_ONE_OF,
                                             SAMPI_KEY_ANY_OF,
                                             SAMPI_KEY_ENUM,
                                             SAMPI_KEY_CONST,
                                             SAMPI_KEY_NOT,
                                             SAMPI_KEY_ALL_OF,
                                             SAMPI_KEY_REF }; /* the last one is split first */
    const int kind = sampi_schema_doc(x, schema)->kind;
    sampi_todo_list now = { *now_at, -1 };
    if (kind == SAMPI_JSON_FALSE) return false;
    if (kind != SAMPI_JSON_TRUE && kind != SAMPI_JSON_OBJECT) sampi_schema_malformed(x, schema, "expected a schema");
    if (kind != SAMPI_JSON_OBJECT || sampi_schema_has_group(x, s, schema)) return true;
    if (!sampi_schema_allows(x, schema, s->type)) return false;
    sampi_schema_atom_add(x, x->in_order ? SAMPI_ATOM_ENTERED : SAMPI_ATOM_GROUP, schema, 0, 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !x->in_order; i++) {
        const int32_t at = sampi_schema_keyword(x, schema, keys[i]);
        if (at >= 0) sampi_expand_keyword(x, s, schema, keys[i], at, &now, later_at);
    }
    bool grouped = !x->in_order;
    for (int32_t i = x->in_order ? sampi_schema_doc(x, schema)->first : -1; i >= 0;
         i = sampi_schema_doc(x, i)->next) {
        const int key = x->key_of[sampi_schema_doc(x, i)->name] - 1;
        if (key < 0 || sampi_schema_keyword(x, schema, (sampi_schema_key)key) < 0) continue;
        if (!grouped && (key == SAMPI_KEY_PROPERTIES || key == SAMPI_KEY_PREFIX_ITEMS || key == SAMPI_KEY_ITEMS)) {
            sampi_schema_todo_insert(x, &now, SAMPI_TODO_GROUP, schema);
            grouped = true;
        }
        sampi_expand_keyword(x, s, schema, (sampi_schema_key)key, i, &now, later_at);
    }
    if (!grouped) sampi_schema_todo_insert(x, &now, SAMPI_TODO_GROUP, schema);
    *now_at = now.first;
    return true;
}

/* Follows the way in which some member violates a keyword that does not list names one by one. */
static SAMPI_COLD void sampi_schema_way_exists(sampi_schema *x, sampi_shapes *s, int32_t node, sampi_schema_key key,
                                        int32_t now, int32_t later)
{
    int32_t atoms = x->atoms.n;
    if (sampi_schema_doc(x, node)->kind == SAMPI_JSON_TRUE) return;
    sampi_schema_atom_add(x, SAMPI_ATOM_EXISTS, node, key,
                   key == SAMPI_KEY_PROPERTY_NAMES ? -1 : sampi_schema_literal_of(node, SAMPI_ISNT));
    sampi_expand(x, s, now, later);
    x->atoms.n = atoms;
}

/* Returns the first of the names that an object must have, or -1. In draft 3, `required` was a boolean in the member's
   schema, which is an error here. */
static SAMPI_COLD int32_t sampi_schema_required(sampi_schema *x, int32_t schema)
{
    int32_t at = sampi_schema_keyword(x, schema, SAMPI_KEY_REQUIRED);
    if (at < 0) return -1;
    if (sampi_schema_doc(x, at)->kind == SAMPI_JSON_ARRAY) return sampi_schema_doc(x, at)->first;
    sampi_schema_malformed(x, at, "expected an array of names");
    return -1;
}

/* Follows each way in which the members of an object violate a schema; each way violates one keyword. The ways of the
   names in `required` and `properties` come first, and each of them keeps the conditions of those before it, so no two
   of these ways allow the same value. */
static SAMPI_COLD void sampi_expand_isnt_object(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now,
                                                int32_t later)
{
    int32_t at, n_atoms = x->atoms.n;
    for (int32_t i = sampi_schema_required(x, schema), name; i >= 0; i = sampi_schema_doc(x, i)->next) {
        if ((name = sampi_schema_string_of(x, i)) < 0) break;
        sampi_schema_way_atom(x, s, SAMPI_ATOM_FORBID, schema, name, now, later);
        sampi_schema_atom_add(x, SAMPI_ATOM_REQUIRE, schema, name, 0);
    }
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTIES)) >= 0)
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next) {
            int32_t name = sampi_schema_doc(x, i)->name, n = x->atoms.n;
            sampi_schema_atom_add(x, SAMPI_ATOM_MEMBER, schema, name, sampi_schema_literal_of(i, SAMPI_ISNT));
            sampi_schema_way_atom(x, s, SAMPI_ATOM_REQUIRE, schema, name, now, later);
            x->atoms.n = n;
            sampi_schema_atom_add(x, SAMPI_ATOM_MEMBER, schema, name, sampi_schema_literal_of(i, SAMPI_IS));
        }
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_PROPERTIES, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_PROPERTIES, INT32_MAX);
    if (least > 0) sampi_schema_way_atom(x, s, SAMPI_ATOM_MOST, schema, least - 1, now, later);
    if (most < INT32_MAX) sampi_schema_way_atom(x, s, SAMPI_ATOM_LEAST, schema, most + 1, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN_PROPERTIES)) >= 0)
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            sampi_schema_way_exists(x, s, i, SAMPI_KEY_PATTERN_PROPERTIES, now, later);
    if ((at = sampi_schema_others(x, schema)) >= 0)
        sampi_schema_way_exists(x, s, at, SAMPI_KEY_ADDITIONAL_PROPERTIES, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_PROPERTY_NAMES)) >= 0)
        sampi_schema_way_exists(x, s, at, SAMPI_KEY_PROPERTY_NAMES, now, later);
    static const sampi_schema_key refused[] = { SAMPI_KEY_DEPENDENT_REQUIRED, SAMPI_KEY_DEPENDENT_SCHEMAS,
                                                SAMPI_KEY_DEPENDENCIES };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if ((at = sampi_schema_keyword(x, schema, refused[i])) >= 0 &&
            sampi_schema_doc(x, at)->kind != SAMPI_JSON_TRUE)
            sampi_schema_way_atom(x, s, SAMPI_ATOM_REFUSED, at, 0, now, later);
    x->atoms.n = n_atoms;
}

/* Follows each way in which the items of an array, or their number, violate a schema. */
static SAMPI_COLD void sampi_expand_isnt_array(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now,
                                               int32_t later)
{
    int32_t n_atoms = x->atoms.n, number = 0;
    int32_t prefix = sampi_schema_prefix(x, schema), rest = sampi_schema_rest(x, schema), at;
    for (int32_t i = prefix < 0 ? -1 : sampi_schema_doc(x, prefix)->first; i >= 0;
         i = sampi_schema_doc(x, i)->next, number++) {
        sampi_schema_atom_add(x, SAMPI_ATOM_ITEM, schema, number, sampi_schema_literal_of(i, SAMPI_ISNT));
        sampi_schema_way_atom(x, s, SAMPI_ATOM_LEAST, schema, number + 1, now, later);
        x->atoms.n = n_atoms;
    }
    if (rest >= 0 && number == 0) {
        sampi_schema_atom_add(x, SAMPI_ATOM_SOME, schema, 1, sampi_schema_literal_of(rest, SAMPI_ISNT));
        sampi_expand(x, s, now, later);
        x->atoms.n = n_atoms;
    } else if (rest >= 0 && sampi_schema_doc(x, rest)->kind == SAMPI_JSON_FALSE) {
        sampi_schema_way_atom(x, s, SAMPI_ATOM_LEAST, schema, number + 1, now, later);
    } else if (rest >= 0)
        sampi_schema_way_atom(x, s, SAMPI_ATOM_REFUSED, rest, 0, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_CONTAINS)) >= 0) {
        bool counted = sampi_schema_keyword(x, schema, SAMPI_KEY_MIN_CONTAINS) >= 0 ||
                       sampi_schema_keyword(x, schema, SAMPI_KEY_MAX_CONTAINS) >= 0;
        sampi_schema_atom_add(x, counted ? SAMPI_ATOM_REFUSED : SAMPI_ATOM_ITEMS, at, 0,
                              sampi_schema_literal_of(at, SAMPI_ISNT));
        sampi_expand(x, s, now, later);
        x->atoms.n = n_atoms;
    }
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_ITEMS, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_ITEMS, INT32_MAX);
    if (least > 0) sampi_schema_way_atom(x, s, SAMPI_ATOM_MOST, schema, least - 1, now, later);
    if (most < INT32_MAX) sampi_schema_way_atom(x, s, SAMPI_ATOM_LEAST, schema, most + 1, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_UNIQUE_ITEMS)) >= 0 &&
        sampi_schema_doc(x, at)->kind == SAMPI_JSON_TRUE)
        sampi_schema_way_atom(x, s, SAMPI_ATOM_REFUSED, at, 0, now, later);
}

/* Follows each way in which "exactly one of the schemas" is violated: no schema holds, or two hold. */
static SAMPI_COLD void sampi_expand_isnt_one(sampi_schema *x, sampi_shapes *s, int32_t array, int32_t now,
                                             int32_t later)
{
    int32_t todo = x->todo.n, none = later;
    for (int32_t i = sampi_schema_doc(x, array)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        none = sampi_schema_todo_literal(x, i, SAMPI_ISNT, none);
    sampi_expand(x, s, now, none);
    x->todo.n = todo;
    for (int32_t i = sampi_schema_doc(x, array)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        for (int32_t k = sampi_schema_doc(x, i)->next; k >= 0 && sampi_schema_step(x, k);
             k = sampi_schema_doc(x, k)->next) {
            int32_t both = sampi_schema_todo_literal(x, k, SAMPI_IS, now);
            sampi_schema_way_literal(x, s, i, SAMPI_IS, both, later);
            x->todo.n = todo;
        }
}

/* Handles a schema that must not hold. Returns true if the schema cannot hold together with the atoms (simple
   conditions), so that nothing has to be excluded. Otherwise follows all ways in which the schema is violated, one for
   each keyword, and returns false. */
static SAMPI_COLD bool sampi_expand_isnt(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now, int32_t later)
{
    int32_t at, todo = x->todo.n, atoms = x->atoms.n;
    int kind = sampi_schema_doc(x, schema)->kind;
    if (kind == SAMPI_JSON_TRUE) return false;
    if (kind == SAMPI_JSON_FALSE || !sampi_schema_allows(x, schema, s->type) || !sampi_schema_may_hold(x, s, schema))
        return true;
    if (s->type == SAMPI_T_OBJECT)
        sampi_expand_isnt_object(x, s, schema, now, later);
    else
        sampi_expand_isnt_array(x, s, schema, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_REF)) >= 0 && (at = sampi_schema_target(x, at)) >= 0)
        sampi_schema_way_literal(x, s, at, SAMPI_ISNT, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_ALL_OF)) >= 0)
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            sampi_schema_way_literal(x, s, i, SAMPI_ISNT, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_NOT)) >= 0)
        sampi_schema_way_literal(x, s, at, SAMPI_IS, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_ONE_OF)) >= 0) sampi_expand_isnt_one(x, s, at, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_ANY_OF)) >= 0) {
        int32_t none = later;
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            none = sampi_schema_todo_literal(x, i, SAMPI_ISNT, none);
        sampi_expand(x, s, now, none);
    }
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_CONST)) >= 0)
        sampi_schema_way_literal(x, s, at, SAMPI_DIFFERS, now, later);
    if ((at = sampi_schema_keyword(x, schema, SAMPI_KEY_ENUM)) >= 0) {
        int32_t none = later;
        for (int32_t i = sampi_schema_doc(x, at)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
            none = sampi_schema_todo_literal(x, i, SAMPI_DIFFERS, none);
        sampi_expand(x, s, now, none);
    }
    int32_t condition = sampi_schema_keyword(x, schema, SAMPI_KEY_IF);
    for (int otherwise = 0; otherwise < 2 && condition >= 0; otherwise++) {
        if ((at = sampi_schema_keyword(x, schema, otherwise ? SAMPI_KEY_ELSE : SAMPI_KEY_THEN)) < 0) continue;
        int32_t isnt = sampi_schema_todo_literal(x, at, SAMPI_ISNT, later);
        sampi_schema_way_literal(x, s, condition, otherwise ? SAMPI_ISNT : SAMPI_IS, now, isnt);
    }
    x->todo.n = todo;
    x->atoms.n = atoms;
    return false;
}

/* Follows each way in which one of the schemas holds (anyOf); with `only`, exactly one of them (oneOf). */
static SAMPI_COLD void sampi_expand_of(sampi_schema *x, sampi_shapes *s, int32_t array, bool only, int32_t now,
                                       int32_t later)
{
    for (int32_t i = sampi_schema_doc(x, array)->first; i >= 0 && sampi_schema_step(x, i);
         i = sampi_schema_doc(x, i)->next) {
        int32_t todo = x->todo.n, others = later;
        for (int32_t k = only ? sampi_schema_doc(x, array)->first : -1; k >= 0; k = sampi_schema_doc(x, k)->next)
            if (k != i) others = sampi_schema_todo_literal(x, k, SAMPI_ISNT, others);
        sampi_schema_way_literal(x, s, i, SAMPI_IS, now, others);
        x->todo.n = todo;
    }
}

/* Follows the ways of one member of dependentRequired, dependentSchemas or dependencies (drafts 4 to 7): the member
   with this name is absent, or what it requires holds. */
static SAMPI_COLD void sampi_expand_dependency(sampi_schema *x, sampi_shapes *s, int32_t node, int32_t now,
                                               int32_t later)
{
    int32_t name = sampi_schema_doc(x, node)->name, atoms = x->atoms.n;
    sampi_schema_way_atom(x, s, SAMPI_ATOM_FORBID, node, name, now, later);
    sampi_schema_atom_add(x, SAMPI_ATOM_REQUIRE, node, name, 0);
    if (sampi_schema_doc(x, node)->kind == SAMPI_JSON_ARRAY || sampi_schema_doc(x, node)->kind == SAMPI_JSON_STRING) {
        bool list = sampi_schema_doc(x, node)->kind == SAMPI_JSON_ARRAY; /* in draft 3, one name without a list */
        for (int32_t i = list ? sampi_schema_doc(x, node)->first : node; i >= 0;
             i = list ? sampi_schema_doc(x, i)->next : -1) {
            int32_t other = sampi_schema_string_of(x, i);
            if (other >= 0) sampi_schema_atom_add(x, SAMPI_ATOM_REQUIRE, i, other, 0);
        }
        sampi_expand(x, s, now, later);
    } else
        sampi_schema_way_literal(x, s, node, SAMPI_IS, now, later);
    x->atoms.n = atoms;
}

/* Follows both ways of if, then, else. */
static SAMPI_COLD void sampi_expand_if(sampi_schema *x, sampi_shapes *s, int32_t schema, int32_t now, int32_t later)
{
    int32_t condition = sampi_schema_keyword(x, schema, SAMPI_KEY_IF), todo = x->todo.n;
    int32_t then = sampi_schema_keyword(x, schema, SAMPI_KEY_THEN),
            otherwise = sampi_schema_keyword(x, schema, SAMPI_KEY_ELSE);
    if (then < 0 && otherwise < 0) {
        sampi_expand(x, s, now, later);
        return;
    }
    sampi_schema_way_literal(x, s, condition, SAMPI_IS,
                             then < 0 ? now : sampi_schema_todo_literal(x, then, SAMPI_IS, now), later);
    x->todo.n = todo;
    sampi_schema_way_literal(x, s, condition, SAMPI_ISNT,
                      otherwise < 0 ? now : sampi_schema_todo_literal(x, otherwise, SAMPI_IS, now), later);
    x->todo.n = todo;
}

/* Handles a value that the array or object must equal, or must not equal. */
static SAMPI_COLD void sampi_expand_value(sampi_schema *x, sampi_shapes *s, int32_t value, int meant, int32_t now,
                                          int32_t later)
{
    bool kind = (sampi_schema_type_of(x, value) & s->type) != 0;
    if (meant == SAMPI_DIFFERS && !kind)
        sampi_expand(x, s, now, later);
    else if (kind)
        sampi_schema_way_atom(x, s, meant == SAMPI_EQUALS ? SAMPI_ATOM_VALUE : SAMPI_ATOM_REFUSED, value, 0, now,
                              later);
}

/* Follows each way of a condition that offers a choice. */
static SAMPI_COLD void sampi_expand_ways(sampi_schema *x, sampi_shapes *s, sampi_todo d, int32_t now, int32_t later)
{
    switch (d.kind) {
        case SAMPI_TODO_GROUP: break; /* sampi_expand handles it */
        case SAMPI_TODO_LITERAL: sampi_expand_value(x, s, d.node >> 2, d.node & 3, now, later); break;
        case SAMPI_TODO_ANY_OF: sampi_expand_of(x, s, d.node, false, now, later); break;
        case SAMPI_TODO_ONE_OF: sampi_expand_of(x, s, d.node, true, now, later); break;
        case SAMPI_TODO_IF: sampi_expand_if(x, s, d.node, now, later); break;
        case SAMPI_TODO_DEPENDENCY: sampi_expand_dependency(x, s, d.node, now, later); break;
        case SAMPI_TODO_VALUES:
            for (int32_t i = sampi_schema_doc(x, d.node)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
                sampi_expand_value(x, s, i, SAMPI_EQUALS, now, later);
            break;
    }
}

/* Counts one more nested choice. Returns false if there are too many: each is a recursion, which takes some hundred
   bytes of stack. */
static SAMPI_COLD bool sampi_schema_choice(sampi_schema *x)
{
    if (++x->choices > SAMPI_SCHEMA_CHOICES)
        sampi_schema_fail(x, SAMPI_HERE, SAMP_E_RANGE, "too many choices within one another");
    return !x->status;
}

/* Follows every way from here: first splits all conditions of the list `now`, then those of the list `later`, which are
   schemas and values that must not hold. */
static SAMPI_COLD void sampi_expand(sampi_schema *x, sampi_shapes *s, int32_t now, int32_t later)
{
    const int32_t atoms = x->atoms.n, todo = x->todo.n, depth = s->depth;
    bool on = sampi_schema_choice(x);
    while (on && !x->status && !(s->ask && s->found) && sampi_schema_step(x, SAMPI_HERE)) {
        if (now < 0 && later < 0) {
            sampi_schema_finish(x, s);
            break;
        }
        if (++s->depth > SAMPI_SCHEMA_NESTING)
            sampi_schema_fail(x, SAMPI_HERE, SAMP_E_RANGE, "too many schemas at once");
        const sampi_todo d = *((sampi_todo *)x->todo.data + (now >= 0 ? now : later));
        *(now >= 0 ? &now : &later) = d.next;
        if (d.kind == SAMPI_TODO_GROUP) {
            sampi_schema_atom_add(x, SAMPI_ATOM_GROUP, d.node, 0, 0);
        } else if (d.kind == SAMPI_TODO_LITERAL && (d.node & 3) == SAMPI_IS) {
            on = sampi_expand_is(x, s, d.node >> 2, &now, &later);
        } else if (d.kind == SAMPI_TODO_LITERAL && (d.node & 3) == SAMPI_ISNT) {
            on = sampi_expand_isnt(x, s, d.node >> 2, now, later);
        } else {
            sampi_expand_ways(x, s, d, now, later);
            on = false;
        }
    }
    x->choices--;
    x->atoms.n = atoms;
    x->todo.n = todo;
    s->depth = depth;
}

/* Splits all literals (conditions) of a goal. */
static SAMPI_COLD void sampi_expand_goal(sampi_schema *x, sampi_shapes *s, int32_t goal)
{
    int32_t todo = x->todo.n, now = -1, later = -1, before = sampi_goal_enter(x, goal);
    for (int32_t i = sampi_goal_at(x, goal)->n; i-- > 0;) {
        sampi_literal literal = sampi_goal_literal(x, goal, i);
        int32_t *list = literal & 1 ? &later : &now;
        *list = sampi_schema_todo_add(x, SAMPI_TODO_LITERAL, literal, *list);
    }
    sampi_expand(x, s, now, later);
    x->todo.n = todo;
    x->here = before;
}

/* Returns the arrays, or the objects, that satisfy a goal (a set of conditions), as one node. The node has one
   alternative for each way that sampi_expand finds. The function may be called while another goal is being split: it
   leaves that goal's atoms unchanged. */
static SAMPI_COLD sampi_node sampi_goal_shapes(sampi_schema *x, int32_t goal, unsigned type)
{
    sampi_shapes s = { type, false, false, x->atoms.n, 0, SAMPI_NEVER };
    sampi_expand_goal(x, &s, goal);
    return s.node;
}

static SAMPI_COLD bool sampi_goal_has_shape(sampi_schema *x, int32_t goal, unsigned type)
{
    if (x->level >= SAMPI_SCHEMA_ASKED) return true;
    sampi_shapes s = { type, true, false, x->atoms.n, 0, SAMPI_NEVER };
    x->level++;
    sampi_expand_goal(x, &s, goal);
    x->level--;
    return s.found;
}
