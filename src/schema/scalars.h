/* ---- schemas: null, booleans, numbers, strings ----
   The scalars that a schema allows are three sets: a set of null, false and true, a set of texts of numbers, a set of
   texts of strings. Keywords narrow them: allOf is an intersection, anyOf a union, not a complement; oneOf allows what
   exactly one of its schemas allows. */

static SAMPI_COLD sampi_scalars sampi_scalars_of(unsigned types)
{
    sampi_scalars s = { types & (SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE), sampi_texts_none(),
                        sampi_texts_none() };
    if (types & SAMPI_T_NUMBER) s.number = sampi_texts_any();
    if (types & SAMPI_T_STRING) s.string = sampi_texts_any();
    return s;
}

/* Operations on scalars, which are three sets: of null, false and true; of numbers; of strings. The arguments are
   copies; a list in the arena never changes. */
static SAMPI_COLD sampi_scalars sampi_scalars_and(sampi_schema *x, sampi_scalars a, sampi_scalars b)
{
    a.types &= b.types;
    a.number = sampi_texts_and(x, a.number, b.number, false);
    a.string = sampi_texts_and(x, a.string, b.string, true);
    return a;
}

static SAMPI_COLD sampi_scalars sampi_scalars_or(sampi_schema *x, sampi_scalars a, sampi_scalars b)
{
    a.types |= b.types;
    a.number = sampi_texts_or(x, a.number, b.number, false);
    a.string = sampi_texts_or(x, a.string, b.string, true);
    return a;
}

static SAMPI_COLD sampi_scalars sampi_scalars_not(sampi_schema *x, sampi_scalars a)
{
    a.types ^= SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE;
    a.number = sampi_texts_not(x, a.number, false);
    a.string = sampi_texts_not(x, a.string, true);
    return a;
}

/* Returns the set of types that a `type` keyword allows (a name, or a list of names). *whole becomes true if numbers
   must be whole. */
static SAMPI_COLD unsigned sampi_schema_types(sampi_schema *x, int32_t node, bool *whole)
{
    static const struct {
        const char *name;
        unsigned types;
    } known[] = { { "null", SAMPI_T_NULL },     { "boolean", SAMPI_T_FALSE | SAMPI_T_TRUE },
                  { "number", SAMPI_T_NUMBER }, { "string", SAMPI_T_STRING },
                  { "array", SAMPI_T_ARRAY },   { "object", SAMPI_T_OBJECT } };
    unsigned types = 0;
    bool list = sampi_schema_doc(x, node)->kind == SAMPI_JSON_ARRAY, number = false;
    *whole = false;
    for (int32_t i = list ? sampi_schema_doc(x, node)->first : node; i >= 0;
         i = list ? sampi_schema_doc(x, i)->next : -1) {
        size_t n = 0, k = 0;
        const char *name = sampi_schema_doc(x, i)->kind == SAMPI_JSON_STRING
                               ? sampi_schema_doc_text(x, sampi_schema_doc(x, i)->text, &n)
                               : "";
        while (k < 6 && !(strlen(known[k].name) == n && !memcmp(name, known[k].name, n))) k++;
        if (k < 6)
            types |= known[k].types;
        else if (n == 7 && !memcmp(name, "integer", n))
            *whole = true;
        else
            sampi_schema_malformed(x, i, "expected null, boolean, object, array, number, string or integer");
        number = number || (k < 6 && known[k].types == SAMPI_T_NUMBER);
    }
    if (number) *whole = false;
    return types | (*whole ? SAMPI_T_NUMBER : 0);
}

/* Returns the set of numbers within one bound. In draft 4, exclusiveMinimum is a boolean that makes `minimum`
   exclusive, and exclusiveMaximum is the same for `maximum`. */
static SAMPI_COLD sampi_texts sampi_schema_bound(sampi_schema *x, int32_t schema, bool upper, bool exclusive)
{
    sampi_schema_key keys[2][2] = { { SAMPI_KEY_MINIMUM, SAMPI_KEY_EXCLUSIVE_MINIMUM },
                                    { SAMPI_KEY_MAXIMUM, SAMPI_KEY_EXCLUSIVE_MAXIMUM } };
    int32_t node = sampi_schema_keyword(x, schema, keys[upper][exclusive]);
    if (node < 0 || (exclusive && sampi_schema_doc(x, node)->kind <= SAMPI_JSON_TRUE)) return sampi_texts_any();
    int32_t other = sampi_schema_keyword(x, schema, keys[upper][1]);
    if (!exclusive && other >= 0) exclusive = sampi_schema_doc(x, other)->kind == SAMPI_JSON_TRUE;
    sampi_decimal d;
    sampi_schema_decimal(x, node, &d);
    if (!upper) return sampi_texts_some(x, sampi_schema_at_least(x, &d, exclusive));
    const bool over = x->over;
    x->over = true; /* what is excluded has every spelling */
    const sampi_node above = sampi_schema_at_least(x, &d, !exclusive);
    x->over = over;
    return sampi_texts_some(x, sampi_schema_except(x->tree, sampi_schema_plain(x), above));
}

static SAMPI_COLD sampi_texts sampi_schema_numbers(sampi_schema *x, int32_t schema)
{
    sampi_texts all = sampi_texts_any();
    for (int i = 0; i < 4; i++) all = sampi_texts_and(x, all, sampi_schema_bound(x, schema, i & 1, i >> 1), false);
    int32_t node = sampi_schema_keyword(x, schema, SAMPI_KEY_MULTIPLE_OF);
    return node < 0 ? all : sampi_texts_and(x, all, sampi_texts_some(x, sampi_schema_multiples(x, node)), false);
}

/* Returns the set of strings that minLength, maxLength, pattern and format allow; `over` is as in
   sampi_schema_scalars. */
static SAMPI_COLD sampi_texts sampi_schema_strings(sampi_schema *x, int32_t schema, bool over)
{
    sampi_texts all = sampi_texts_any();
    int32_t least = sampi_schema_count(x, schema, SAMPI_KEY_MIN_LENGTH, 0);
    int32_t most = sampi_schema_count(x, schema, SAMPI_KEY_MAX_LENGTH, INT32_MAX);
    if (least > most) return sampi_texts_none();
    if (least > 0 || most < INT32_MAX) {
        all = sampi_texts_some(x, sampi_schema_strings_of_length(x, x->any, least, most < INT32_MAX ? most : -1));
    }
    int32_t pattern = sampi_schema_keyword(x, schema, SAMPI_KEY_PATTERN),
            format = sampi_schema_keyword(x, schema, SAMPI_KEY_FORMAT);
    if (pattern >= 0)
        all = sampi_texts_and(
            x, all, sampi_texts_some(x, sampi_schema_pattern(x, pattern, sampi_schema_doc(x, pattern)->text)), true);
    if (format >= 0) all = sampi_texts_and(x, all, sampi_schema_format(x, format, over), true);
    return all;
}

/* Returns the scalars of a const (one is true, and `values` is the value) or of an enum (`values` is the array). */
static SAMPI_COLD sampi_scalars sampi_schema_values(sampi_schema *x, int32_t values, bool one)
{
    sampi_scalars s = sampi_scalars_of(0);
    for (int string = 0; string < 2; string++) {
        sampi_texts *texts = string ? &s.string : &s.number;
        texts->list = x->arena.n;
        for (int32_t i = one ? values : sampi_schema_doc(x, values)->first; i >= 0;
             i = one ? -1 : sampi_schema_doc(x, i)->next) {
            unsigned type = sampi_schema_type_of(x, i);
            s.types |= type & (SAMPI_T_NULL | SAMPI_T_FALSE | SAMPI_T_TRUE);
            if (type != (string ? SAMPI_T_STRING : SAMPI_T_NUMBER)) continue;
            sampi_decimal d;
            if (!string && !sampi_decimal_read(x, i, &d))
                sampi_schema_fail(x, i, SAMP_E_RANGE, "this number has too many digits");
            sampi_schema_push(x, &x->arena, i);
        }
        texts->n = x->arena.n - texts->list; /* after an error there are fewer elements */
    }
    return s;
}

static SAMPI_COLD sampi_scalars sampi_schema_scalars(sampi_schema *x, int32_t schema, bool over);

/* Returns the scalars that satisfy exactly one of the schemas in an array. The loop keeps two sets for the schemas that
   it has visited: the scalars that satisfy exactly one of them, and those that satisfy any of them. */
static SAMPI_COLD sampi_scalars sampi_scalars_one_of(sampi_schema *x, int32_t array, bool over)
{
    /* `any` is subtracted, so it is an overestimate where `one` is an underestimate */
    sampi_scalars one = sampi_scalars_of(0), any = one;
    for (int32_t i = sampi_schema_doc(x, array)->first; i >= 0 && sampi_schema_step(x, i);
         i = sampi_schema_doc(x, i)->next) {
        sampi_scalars s = sampi_schema_scalars(x, i, over), wide = sampi_schema_scalars(x, i, !over);
        sampi_scalars late = sampi_scalars_and(x, s, sampi_scalars_not(x, any));
        one = sampi_scalars_or(x, sampi_scalars_and(x, one, sampi_scalars_not(x, wide)), late);
        any = sampi_scalars_or(x, any, wide);
    }
    return one;
}

/* Returns the scalars that the keywords allow which apply other schemas to the same value: $ref, allOf, anyOf, oneOf,
   not, if. */
static SAMPI_COLD sampi_scalars sampi_scalars_applied(sampi_schema *x, int32_t schema, bool over)
{
    sampi_scalars all = sampi_scalars_of(SAMPI_T_ALL);
    int32_t ref = sampi_schema_keyword(x, schema, SAMPI_KEY_REF);
    int32_t all_of = sampi_schema_keyword(x, schema, SAMPI_KEY_ALL_OF),
            any_of = sampi_schema_keyword(x, schema, SAMPI_KEY_ANY_OF);
    int32_t one_of = sampi_schema_keyword(x, schema, SAMPI_KEY_ONE_OF),
            isnt = sampi_schema_keyword(x, schema, SAMPI_KEY_NOT);
    int32_t condition = sampi_schema_keyword(x, schema, SAMPI_KEY_IF);
    if (ref >= 0) all = sampi_schema_scalars(x, sampi_schema_target(x, ref), over);
    for (int32_t i = all_of < 0 ? -1 : sampi_schema_doc(x, all_of)->first; i >= 0; i = sampi_schema_doc(x, i)->next)
        all = sampi_scalars_and(x, all, sampi_schema_scalars(x, i, over));
    if (any_of >= 0) {
        sampi_scalars any = sampi_scalars_of(0);
        /* first all numbers, then all strings, because a list grows in place only while it is the last one in the
           arena */
        for (int string = 0; string < 2; string++)
            for (int32_t i = sampi_schema_doc(x, any_of)->first; i >= 0 && !x->status;
                 i = sampi_schema_doc(x, i)->next) {
                const sampi_scalars s = sampi_schema_scalars(x, i, over);
                any.types |= s.types;
                if (string)
                    any.string = sampi_texts_or(x, any.string, s.string, true);
                else
                    any.number = sampi_texts_or(x, any.number, s.number, false);
            }
        all = sampi_scalars_and(x, all, any);
    }
    if (one_of >= 0) all = sampi_scalars_and(x, all, sampi_scalars_one_of(x, one_of, over));
    if (isnt >= 0) all = sampi_scalars_and(x, all, sampi_scalars_not(x, sampi_schema_scalars(x, isnt, !over)));
    int32_t then = sampi_schema_keyword(x, schema, SAMPI_KEY_THEN),
            otherwise = sampi_schema_keyword(x, schema, SAMPI_KEY_ELSE);
    if (condition >= 0 && (then >= 0 || otherwise >= 0)) {
        sampi_scalars yes = sampi_schema_scalars(x, condition, over);
        sampi_scalars no = sampi_scalars_not(x, sampi_schema_scalars(x, condition, !over));
        if (then >= 0) yes = sampi_scalars_and(x, yes, sampi_schema_scalars(x, then, over));
        if (otherwise >= 0) no = sampi_scalars_and(x, no, sampi_schema_scalars(x, otherwise, over));
        all = sampi_scalars_and(x, all, sampi_scalars_or(x, yes, no));
    }
    return all;
}

/* A schema whose scalars are being computed. slot: its index in x->scalars; part: a line of the table below, which is
   one keyword; at: the next schema that this keyword needs, or -1; way: 0 if that schema is needed with the same
   estimate, 1 if it is needed with the opposite one. */
typedef struct sampi_pending_scalars {
    int32_t slot, part, at, way;
} sampi_pending_scalars;

/* Returns the index in x->scalars of the next scalars that sampi_scalars_applied will need; -1 if it needs no more. */
static SAMPI_COLD int32_t sampi_scalars_next(sampi_schema *x, sampi_pending_scalars *a)
{
    enum { SAME = 1, OTHER = 2, LAST = 8 };
    static const struct {
        sampi_schema_key key;
        bool list;
        int ways;
    } parts[LAST] = { { SAMPI_KEY_REF, false, SAME },   { SAMPI_KEY_ALL_OF, true, SAME },
                      { SAMPI_KEY_ANY_OF, true, SAME }, { SAMPI_KEY_ONE_OF, true, SAME | OTHER },
                      { SAMPI_KEY_NOT, false, OTHER },  { SAMPI_KEY_IF, false, SAME | OTHER },
                      { SAMPI_KEY_THEN, false, SAME },  { SAMPI_KEY_ELSE, false, SAME } };
    const int32_t schema = a->slot / 2, over = a->slot & 1;
    while (a->part < LAST && !x->status) {
        const int part = a->part;
        const sampi_schema_key key = parts[part].key;
        if (a->at < 0) {
            int32_t node = sampi_schema_keyword(x, schema, key);
            if (key == SAMPI_KEY_IF && sampi_schema_keyword(x, schema, SAMPI_KEY_THEN) < 0 &&
                sampi_schema_keyword(x, schema, SAMPI_KEY_ELSE) < 0)
                node = -1;
            if ((key == SAMPI_KEY_THEN || key == SAMPI_KEY_ELSE) && sampi_schema_keyword(x, schema, SAMPI_KEY_IF) < 0)
                node = -1;
            if (node >= 0 && key == SAMPI_KEY_REF) node = sampi_schema_target(x, node);
            a->at = node >= 0 && parts[part].list ? sampi_schema_doc(x, node)->first : node;
            a->way = 0;
            a->part += a->at < 0;
            continue;
        }
        const int32_t at = a->at, way = a->way++;
        if (way == 1) {
            a->at = parts[part].list ? sampi_schema_doc(x, at)->next : -1;
            a->way = 0;
            a->part += a->at < 0;
        }
        if (parts[part].ways >> way & 1) return 2 * at + (over ^ way);
    }
    return -1;
}

/* Returns whether a schema's scalars are known already. If so, *s is set to them. */
static SAMPI_COLD bool sampi_scalars_known(sampi_schema *x, int32_t schema, bool over, sampi_scalars *s)
{
    *s = sampi_scalars_of(SAMPI_T_ALL);
    if (x->status || schema < 0) return true;
    if (sampi_schema_doc(x, schema)->kind == SAMPI_JSON_TRUE) return true;
    if (sampi_schema_doc(x, schema)->kind == SAMPI_JSON_FALSE) return *s = sampi_scalars_of(0), true;
    if (sampi_schema_doc(x, schema)->kind != SAMPI_JSON_OBJECT)
        return sampi_schema_malformed(x, schema, "expected a schema"), true;
    if (x->scalars_known[2 * schema + over] != 2) return false;
    *s = x->scalars[2 * schema + over];
    return true;
}

/* Begins to compute a schema's scalars: computes what its own keywords allow, and pushes the schema on the stack
   x->pending. */
static SAMPI_COLD void sampi_scalars_begin(sampi_schema *x, int32_t schema, bool over)
{
    static const sampi_schema_key refused[2] = { SAMPI_KEY_DYNAMIC_REF, SAMPI_KEY_RECURSIVE_REF };
    sampi_scalars s = sampi_scalars_of(SAMPI_T_ALL);
    for (int i = 0; i < 2; i++) {
        int32_t at = sampi_schema_keyword(x, schema, refused[i]);
        if (at >= 0) sampi_schema_refuse(x, at, "not supported");
    }
    const int32_t slot = 2 * schema + over;
    if (x->scalars_known[slot] == 1) sampi_schema_refuse(x, schema, "a schema that refers to itself");
    if (x->pending.n >= SAMPI_SCHEMA_NESTING)
        sampi_schema_fail(x, schema, SAMP_E_RANGE, "too many schemas in one another");
    x->scalars_known[slot] = 1;
    int32_t type = sampi_schema_keyword(x, schema, SAMPI_KEY_TYPE),
            values = sampi_schema_keyword(x, schema, SAMPI_KEY_ENUM);
    int32_t value = sampi_schema_keyword(x, schema, SAMPI_KEY_CONST);
    bool whole = false;
    const bool outer = x->over;
    x->over = over;
    if (type >= 0) s = sampi_scalars_of(sampi_schema_types(x, type, &whole));
    if (whole) s.number = sampi_texts_some(x, sampi_schema_whole(x));
    if (values >= 0) s = sampi_scalars_and(x, s, sampi_schema_values(x, values, false));
    if (value >= 0) s = sampi_scalars_and(x, s, sampi_schema_values(x, value, true));
    if (s.number.n) s.number = sampi_texts_and(x, s.number, sampi_schema_numbers(x, schema), false);
    if (s.string.n) s.string = sampi_texts_and(x, s.string, sampi_schema_strings(x, schema, over), true);
    x->scalars[slot] = s;
    x->over = outer;
    sampi_pending_scalars *room = x->status
                                      ? NULL
                                      : (sampi_pending_scalars *)sampi_grammar_vec_add(&x->pending, sizeof *room, 1);
    if (!room && !x->status) sampi_schema_fail(x, schema, SAMP_E_NOMEM, "out of memory");
    if (!room) return;
    room->slot = slot;
    room->part = room->way = 0;
    room->at = -1;
}

/* Returns the scalars that a schema allows. Some formats have only bounds: the result is then a subset of what the
   schema allows, or, with `over`, a superset. A complement turns one estimate into the other. Each schema's scalars are
   computed once, after those of the schemas that it applies. A stack is used instead of recursion. */
static SAMPI_COLD sampi_scalars sampi_schema_scalars(sampi_schema *x, int32_t schema, bool over)
{
    sampi_scalars s;
    const int32_t bottom = x->pending.n;
    if (sampi_scalars_known(x, schema, over, &s)) return s;
    sampi_scalars_begin(x, schema, over);
    while (x->pending.n > bottom && !x->status) {
        sampi_pending_scalars *top = (sampi_pending_scalars *)x->pending.data + x->pending.n - 1;
        const int32_t next = sampi_scalars_next(x, top), slot = top->slot;
        if (x->status) break;
        if (next >= 0) {
            if (!sampi_scalars_known(x, next / 2, next & 1, &s)) sampi_scalars_begin(x, next / 2, next & 1);
            continue;
        }
        const bool outer = x->over;
        x->over = slot & 1;
        x->scalars[slot] = sampi_scalars_and(x, x->scalars[slot], sampi_scalars_applied(x, slot / 2, slot & 1));
        x->over = outer;
        x->scalars_known[slot] = 2;
        x->pending.n--;
    }
    x->pending.n = bottom;
    return x->status ? sampi_scalars_of(SAMPI_T_ALL) : x->scalars[2 * schema + over];
}
