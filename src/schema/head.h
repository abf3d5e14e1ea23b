/* ================================================================================================== >>schema
   JSON schemas (2020-12, and the names that drafts 4 to 7 have for the same) as trees of expressions. One rule comes
   before all others: no text that violates the schema is accepted. A keyword that cannot be expressed is never left
   out: the schema is refused, with the keyword's name and place.

   A literal is one condition on a value: it satisfies a schema, or it must not; it equals a value, or it must not. A
   goal is a set of literals that one value must satisfy together. The goal of a property, say, has a literal for each
   schema that names this property. The texts that a goal allows are computed in two ways:
     null, booleans, numbers, strings    These are called scalars here. Their texts are regular: keywords make sets of
                                         texts, and allOf, anyOf, oneOf, not and if combine these sets with and, or and
                                         complement.
     arrays, objects                     The goal is split into alternatives that have no allOf, anyOf and so on. Each
                                         alternative is one shape of array or object; its items or members have goals
                                         again.
   Each goal that allows arrays or objects becomes one rule of the grammar, so schemas may be recursive.

   Complements are exact because the grammar allows only some spellings of a value that is constrained, and a set has
   either all of these spellings or none: numbers without an exponent, strings with the shortest escape of each
   character. A number or string that no keyword constrains may have any spelling. */

/* clang-format off */
/* A keyword: its name here, its name in a schema, and what its value may be (SAMPI_SCHEMA_VALUES). */
#define SAMPI_SCHEMA_KEYS(X) \
    X(TYPE, "type", TEXT_OR_LIST) X(CONST, "const", ANY) X(ENUM, "enum", LIST) X(NOT, "not", SCHEMA) \
    X(ALL_OF, "allOf", LIST) X(ANY_OF, "anyOf", LIST) X(ONE_OF, "oneOf", LIST) \
    X(IF, "if", SCHEMA) X(THEN, "then", SCHEMA) X(ELSE, "else", SCHEMA) X(REF, "$ref", ANY) \
    X(PROPERTIES, "properties", MEMBERS) X(PATTERN_PROPERTIES, "patternProperties", MEMBERS) \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", SCHEMA) X(PROPERTY_NAMES, "propertyNames", SCHEMA) \
    X(REQUIRED, "required", LIST_OR_BOOL) \
    X(MIN_PROPERTIES, "minProperties", NUMBER) X(MAX_PROPERTIES, "maxProperties", NUMBER) \
    X(DEPENDENT_REQUIRED, "dependentRequired", MEMBERS) X(DEPENDENT_SCHEMAS, "dependentSchemas", MEMBERS) \
    X(DEPENDENCIES, "dependencies", MEMBERS) X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", SCHEMA) \
    X(PREFIX_ITEMS, "prefixItems", LIST) X(ITEMS, "items", SCHEMA_OR_LIST) \
    X(ADDITIONAL_ITEMS, "additionalItems", SCHEMA) \
    X(CONTAINS, "contains", SCHEMA) X(MIN_CONTAINS, "minContains", NUMBER) X(MAX_CONTAINS, "maxContains", NUMBER) \
    X(MIN_ITEMS, "minItems", NUMBER) X(MAX_ITEMS, "maxItems", NUMBER) X(UNIQUE_ITEMS, "uniqueItems", BOOL) \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", SCHEMA) \
    X(MIN_LENGTH, "minLength", NUMBER) X(MAX_LENGTH, "maxLength", NUMBER) \
    X(PATTERN, "pattern", TEXT) X(FORMAT, "format", TEXT) \
    X(MINIMUM, "minimum", NUMBER) X(MAXIMUM, "maximum", NUMBER) \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", NUMBER_OR_BOOL) \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", NUMBER_OR_BOOL) \
    X(MULTIPLE_OF, "multipleOf", NUMBER) \
    X(DYNAMIC_REF, "$dynamicRef", ANY) X(RECURSIVE_REF, "$recursiveRef", ANY) X(ID, "$id", ANY) X(OLD_ID, "id", ANY) \
    X(ANCHOR, "$anchor", ANY) X(DYNAMIC_ANCHOR, "$dynamicAnchor", ANY) X(SCHEMA, "$schema", ANY) \
    X(DEFS, "$defs", ANY) X(DEFINITIONS, "definitions", ANY)
/* clang-format on */
typedef enum sampi_schema_key {
#define SAMPI_SCHEMA_KEY(key, name, value) SAMPI_KEY_##key,
    SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_KEY)
#undef SAMPI_SCHEMA_KEY
        SAMPI_KEY_LAST
} sampi_schema_key;

/* What the value of a keyword may be: a set of JSON's types as bits, and how an error message calls it. */
#define SAMPI_SCHEMA_VALUES(X) \
    X(ANY, 0x7f, "") /* any value, or checked where it is read */ \
    X(BOOL, 1 << SAMPI_JSON_FALSE | 1 << SAMPI_JSON_TRUE, "true or false") \
    X(NUMBER, 1 << SAMPI_JSON_NUMBER, "a number") \
    X(TEXT, 1 << SAMPI_JSON_STRING, "a string") \
    X(LIST, 1 << SAMPI_JSON_ARRAY, "an array") \
    X(MEMBERS, 1 << SAMPI_JSON_OBJECT, "an object") \
    X(TEXT_OR_LIST, SAMPI_VALUE_TEXT | SAMPI_VALUE_LIST, "a string, or an array of them") \
    X(SCHEMA, SAMPI_VALUE_BOOL | SAMPI_VALUE_MEMBERS, "a schema") \
    X(SCHEMA_OR_LIST, SAMPI_VALUE_SCHEMA | SAMPI_VALUE_LIST, "a schema") /* an array up to draft 7 */ \
    X(LIST_OR_BOOL, SAMPI_VALUE_LIST | SAMPI_VALUE_BOOL, "an array") /* a boolean in draft 3; scalars ignore it */ \
    X(NUMBER_OR_BOOL, SAMPI_VALUE_NUMBER | SAMPI_VALUE_BOOL, "a number") /* a boolean in draft 4 */
enum {
#define SAMPI_SCHEMA_VALUE(value, kinds, text) SAMPI_VALUE_##value = kinds,
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_VALUE)
#undef SAMPI_SCHEMA_VALUE
        SAMPI_VALUE_LAST
};

/* Sets of types, as bits. DEEP: arrays and objects. */
enum {
    SAMPI_T_NULL = 1,
    SAMPI_T_FALSE = 2,
    SAMPI_T_TRUE = 4,
    SAMPI_T_NUMBER = 8,
    SAMPI_T_STRING = 16,
    SAMPI_T_ARRAY = 32,
    SAMPI_T_OBJECT = 64,
    SAMPI_T_ALL = 127,
    SAMPI_T_DEEP = SAMPI_T_ARRAY | SAMPI_T_OBJECT
};

/* A condition on a value: a node of the document (a schema or a value) times 4, plus one of these. IS, ISNT: the value
   must satisfy that schema, or must not. EQUALS, DIFFERS: it must equal that value, or must not. */
typedef int32_t sampi_literal;
enum { SAMPI_IS = 0, SAMPI_ISNT = 1, SAMPI_EQUALS = 2, SAMPI_DIFFERS = 3 };

/* A set of texts of numbers, or of strings: all of them (n = SAMPI_ANY), the texts of a node of the tree (n =
   SAMPI_SOME), or a list of n values, which are nodes of the document; the list begins at `list` in the arena. */
typedef struct sampi_texts {
    sampi_node node;
    int32_t list, n;
} sampi_texts;
enum { SAMPI_ANY = -1, SAMPI_SOME = -2 };

typedef struct sampi_scalars {
    unsigned types; /* null, false and true */
    sampi_texts number, string;
} sampi_scalars;

typedef struct sampi_goal {
    int32_t first, n; /* its literals, ascending, in the arena */
    int32_t rule;     /* -1: no rule was made for it */
    uint8_t possible; /* is there a value that satisfies it? */
} sampi_goal;
enum { SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO };

typedef struct sampi_schema {
    sampi_json doc;
    sampi_tree *tree;
    int status;                     /* the first error; every step after it does nothing */
    bool in_order;                  /* option "ordered": members in the schema's order */
    int draft;                      /* 4 to 7; 8 for 2019 and later */
    int32_t key[SAMPI_KEY_LAST];    /* each keyword's string in the document; -1: absent */
    uint8_t *key_of;                /* [n_strings] keyword + 1; 0: not a keyword */
    sampi_scalars *scalars;         /* [2 * n_nodes] of schemas: an under- and an overestimate */
    uint8_t *scalars_known;         /* [2 * n_nodes] 0: not made, 1: being made, 2: made */
    sampi_vec goals, slots;         /* sampi_goal; a hash table of their numbers */
    sampi_vec arena;                /* int32_t: literals of goals, lists of texts. Only grows */
    sampi_vec stack;                /* int32_t: what functions collect; each restores its length */
    sampi_vec atoms, todo;          /* stacks of sampi_atom and of sampi_todo (alternatives.h) */
    sampi_vec queue;                /* goals whose rules have no body yet */
    sampi_vec asked;                /* sampi_asked: schemas whose scalars are being made */
    sampi_vec resources, anchors;   /* sampi_resource, sampi_anchor: targets of references */
    sampi_vec addresses, by_anchor; /* the resources' addresses; a hash table of anchors */
    sampi_deriver deriver;          /* for sampi_schema_matches; owns only its work and memo */
    sampi_byte_classes bytes;       /* the deriver's classes of bytes: one for each byte */
    int32_t *targets;               /* [n_nodes] the target of a $ref; -1: not found yet */
    int32_t *listed;                /* [n_strings] see sampi_object_name */
    int32_t *pattern_of;            /* [n_strings] its node as a regular expression, + 1; 0: not made */
    int32_t *resource_of;           /* [n_nodes] the resource that a node is in */
    uint8_t *stands;                /* [n_nodes] SAMPI_STANDS_*: is a node a schema? */
    int32_t *value_of;              /* [n_strings] the first string of an equal number, + 1; 0: not looked up yet */
    int32_t *marks;                 /* [n_strings] the round in which a string was marked: sampi_texts_mark */
    int32_t *children;              /* [n_nodes] where the arena lists an array's children, + 1; 0: not listed */
    sampi_vec values;               /* int32_t: a hash table of numbers: a number's string, or -1 */
    int32_t n_values, round;        /* how many numbers are in `values`; the current round of marks */
    sampi_texts marked;             /* the list whose values are marked */
    int32_t spare;                  /* work that the last counted step still pays for: sampi_schema_work */
    uint8_t *says;                  /* [n_nodes] sampi_schema_says + 1; 0: not counted yet */
    sampi_node formats[2][32];      /* [upper bound?][line of the table of formats]; 0: not made */
    int64_t steps;                  /* how many steps are left */
    int choices;                    /* depth of calls of sampi_expand and sampi_finish_objects */
    int level;                      /* depth of questions whether something is possible */
    sampi_node space, comma, colon; /* white space, a comma, a colon, as the options say */
    sampi_node any, string;         /* a string's character in any spelling; any string */
    sampi_node character, shortest; /* the same two in the shortest spelling */
    sampi_node number, plain, magnitude, fraction, digits; /* a number; no exponent; nor sign; .digits; digits */
} sampi_schema;

#ifndef SAMPI_SCHEMA_STEPS /* tests set a smaller one */
#define SAMPI_SCHEMA_STEPS (1 << 17)
#endif

enum {
    SAMPI_SCHEMA_GOALS = 1 << 16,
    SAMPI_SCHEMA_NESTING = 400,
    SAMPI_SCHEMA_CHOICES = 80,
    SAMPI_SCHEMA_PREFIX = 4096,
    SAMPI_SCHEMA_PATTERNS = 10,
    SAMPI_SCHEMA_DERIVED = 1 << 25 /* steps of derivatives for one document */
};

static sampi_json_node *sampi_doc(const sampi_schema *x, int32_t node) { return &x->doc.nodes[node]; }

static const char *sampi_doc_text(const sampi_schema *x, int32_t string, size_t *n)
{
    *n = x->doc.strings[string].n;
    return x->doc.bytes + x->doc.strings[string].at;
}
