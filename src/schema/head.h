/* ================================================================================================== >>schema
   JSON schemas (2020-12, and what drafts 4 to 7 call otherwise) as trees. The one law: no text is in the tree that is
   no instance of the schema; what can't be expressed is refused by name and place, never left out.

   A goal is a set of literals that a value must satisfy together: schemas, schemas that it must not satisfy, and
   values that it must equal or must not. The goals of a property, say, are collected from all schemas that speak of
   it. What a goal allows is computed in two ways:
     null, booleans, numbers, strings    are regular: the keywords make sets of texts, and allOf, anyOf, oneOf, not, if
                                         are their and, or and complement
     arrays, objects                     the goal is taken apart into alternatives without allOf, anyOf and so on;
                                         each is one shape, whose parts have goals again
   Each goal with arrays or objects is a rule, made once, so schemas may recur.

   Complements are exact since a constrained value has but some spellings, all of them or none in each set: numbers
   without an exponent, strings with the shortest escape of each character. Where nothing constrains a number or a
   string, any spelling will do. */

/* clang-format off */
/* A keyword, and what its value must be. */
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

/* What the value of a keyword may be: the kinds of JSON, as a set, and how an error tells them. */
#define SAMPI_SCHEMA_VALUES(X) \
    X(ANY, 0x7f, "") /* or looked at where it is read */ \
    X(BOOL, 1 << SAMPI_JSON_FALSE | 1 << SAMPI_JSON_TRUE, "true or false") \
    X(NUMBER, 1 << SAMPI_JSON_NUMBER, "a number") \
    X(TEXT, 1 << SAMPI_JSON_STRING, "a string") \
    X(LIST, 1 << SAMPI_JSON_ARRAY, "an array") \
    X(MEMBERS, 1 << SAMPI_JSON_OBJECT, "an object") \
    X(TEXT_OR_LIST, SAMPI_VALUE_TEXT | SAMPI_VALUE_LIST, "a string, or an array of them") \
    X(SCHEMA, SAMPI_VALUE_BOOL | SAMPI_VALUE_MEMBERS, "a schema") \
    X(SCHEMA_OR_LIST, SAMPI_VALUE_SCHEMA | SAMPI_VALUE_LIST, "a schema") /* up to draft 7 */ \
    X(LIST_OR_BOOL, SAMPI_VALUE_LIST | SAMPI_VALUE_BOOL, "an array")     /* draft 3; of scalars it says nothing */ \
    X(NUMBER_OR_BOOL, SAMPI_VALUE_NUMBER | SAMPI_VALUE_BOOL, "a number") /* draft 4 */
enum {
#define SAMPI_SCHEMA_VALUE(value, kinds, text) SAMPI_VALUE_##value = kinds,
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_VALUE)
#undef SAMPI_SCHEMA_VALUE
        SAMPI_VALUE_LAST
};

/* Sets of types. */
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

/* What is asked of a value: a node of the document, and in the lowest two bits how it is meant. */
typedef int32_t sampi_literal;
enum { SAMPI_IS = 0, SAMPI_ISNT = 1, SAMPI_EQUALS = 2, SAMPI_DIFFERS = 3 };

/* The texts of numbers or of strings: all of them (n = SAMPI_ANY), those of a node of the tree (n = SAMPI_SOME), or
   the values [n] at `list` of the arena, nodes of the document. */
typedef struct sampi_texts {
    sampi_node node;
    int32_t list, n;
} sampi_texts;
enum { SAMPI_ANY = -1, SAMPI_SOME = -2 };

typedef struct sampi_scalars {
    unsigned types; /* of null, false, true */
    sampi_texts number, string;
} sampi_scalars;

typedef struct sampi_goal {
    int32_t first, n; /* literals, ascending, in the arena */
    int32_t rule;     /* -1: none yet */
    uint8_t possible; /* SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO */
} sampi_goal;
enum { SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO };

typedef struct sampi_schema {
    sampi_json doc;
    sampi_tree *tree;
    int status;                     /* the first error: what comes after it does nothing */
    bool in_order;                  /* members come in the schema's order */
    int draft;                      /* 4 to 7; 8: 2019 and later */
    int32_t key[SAMPI_KEY_LAST];    /* numbers of strings; -1: the document does not have it */
    uint8_t *key_of;                /* [n_strings] key + 1, or 0 */
    sampi_scalars *scalars;         /* [2 * n_nodes] of schemas, as under- and overestimate */
    uint8_t *scalars_known;         /* [2 * n_nodes] 0, 1: being made, 2 */
    sampi_vec goals, slots;         /* sampi_goal, and where a goal with some hash is */
    sampi_vec arena;                /* int32_t: literals of goals, lists of texts. Only grows */
    sampi_vec stack;                /* int32_t: what functions collect; each leaves it as it was */
    sampi_vec atoms, todo;          /* alternatives of arrays and objects: sampi_atom, sampi_todo. As the stack */
    sampi_vec queue;                /* goals whose rules have no body yet */
    sampi_vec asked;                /* sampi_asked: schemas whose scalars are being made, one for the other */
    sampi_vec resources, anchors;   /* sampi_resource, sampi_anchor: what references may mean, */
    sampi_vec addresses, by_anchor; /* the resources' addresses, and where a place with some hash is */
    sampi_deriver deriver;          /* for sampi_schema_matches; its work and memo are all it owns */
    sampi_byte_classes bytes;       /* its classes: all bytes differ */
    int32_t *targets;               /* [n_nodes] of $ref; -1: not known yet */
    int32_t *listed;                /* [n_strings] see sampi_object_name */
    int32_t *pattern_of;            /* [n_strings] its node as a regular expression, + 1; 0: not made yet */
    int32_t *resource_of;           /* [n_nodes] the resource that a node is in */
    uint8_t *stands;                /* [n_nodes] SAMPI_STANDS_*: where schemas stand */
    int32_t *value_of;         /* [n_strings] of numbers: the first string that is the same number, + 1; 0: not looked
                                       for yet */
    int32_t *marks;            /* [n_strings] the values of a list, see sampi_texts_mark: the round they are of */
    int32_t *children;         /* [n_nodes] where the arena has a list's children, + 1; 0: not yet */
    sampi_vec values;          /* int32_t: where a number with some hash is: its string, or -1 */
    int32_t n_values, round;   /* how many there are; of marks */
    sampi_texts marked;        /* the list that is marked */
    int32_t spare;             /* small work that is still in the last step: sampi_schema_work */
    uint8_t *says;             /* [n_nodes] see sampi_schema_says; 0: not known yet */
    sampi_node formats[2][32]; /* of the table's lines, lower and upper; 0: not made yet */
    int64_t steps;             /* that may still be done */
    int choices;               /* of sampi_expand and sampi_finish_objects that are under way */
    int level;                 /* of questions whether something is possible, one within the other */
    sampi_node space, comma, colon;                        /* between the parts of arrays and objects */
    sampi_node any, string;                                /* a character of a string in any spelling; any string */
    sampi_node character, shortest;                        /* the same in the shortest one */
    sampi_node number, plain, magnitude, fraction, digits; /* any number; without exponent; without sign; . digits */
} sampi_schema;

#ifndef SAMPI_SCHEMA_STEPS /* tests have fewer */
#define SAMPI_SCHEMA_STEPS (1 << 17)
#endif

enum {
    SAMPI_SCHEMA_GOALS = 1 << 16,
    SAMPI_SCHEMA_NESTING = 400,
    SAMPI_SCHEMA_CHOICES = 80,
    SAMPI_SCHEMA_PREFIX = 4096,
    SAMPI_SCHEMA_PATTERNS = 10,
    SAMPI_SCHEMA_DERIVED = 1 << 25 /* steps of derivatives */
};

static sampi_json_node *sampi_doc(const sampi_schema *x, int32_t node) { return &x->doc.nodes[node]; }

static const char *sampi_doc_text(const sampi_schema *x, int32_t string, size_t *n)
{
    *n = x->doc.strings[string].n;
    return x->doc.bytes + x->doc.strings[string].at;
}
