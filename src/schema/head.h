/* ================================================================================================== >>schema
   JSON schemas (2020-12, and the older names that drafts 4 to 7 have for the same keywords) as trees of expressions.
   The first rule is that no text which violates the schema is accepted. So a keyword that cannot be expressed is never
   ignored: the schema is refused, with the keyword's name and position.

   A literal is one condition on a value: the value satisfies a schema, or must not; it equals another value, or must
   not. A goal is a set of literals that one value must satisfy together. For example, the goal of a property has a
   literal for each schema that names this property. The texts that a goal allows are computed in two ways:
     null, booleans, numbers, strings    They are called scalars here. Their texts are regular sets: keywords give sets
                                         of texts, and allOf, anyOf, oneOf, not and if combine these sets by union,
                                         intersection and complement.
     arrays, objects                     The goal is split into alternatives that have no allOf, anyOf and so on. Each
                                         alternative is one shape of an array or object, whose items or members have
                                         goals again.
   Each goal that allows arrays or objects becomes one rule of the grammar, so schemas may be recursive.

   Complements are exact because the grammar allows only some spellings of a value that is constrained, and a set
   contains either all of these spellings or none: numbers without an exponent, strings with the shortest escape of each
   character. A string that no keyword constrains may have any spelling, and so may a number with the option
   "any-number". Without this option, sets that are not complements leave out numbers with a fraction without end, and
   whole numbers with a fraction, where all numbers must be whole; but what a complement excludes has all spellings. */

/* clang-format off */
/* A keyword: its name in this code, its name in a schema, and the values that it may have (SAMPI_SCHEMA_VALUES). */
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

/* The values that a keyword may have: JSON types as bits, and their name in an error message. */
#define SAMPI_SCHEMA_VALUES(X) \
    X(ANY, 0x7f, "") /* any value is allowed here; some are checked where they are read */ \
    X(BOOL, 1 << SAMPI_JSON_FALSE | 1 << SAMPI_JSON_TRUE, "true or false") \
    X(NUMBER, 1 << SAMPI_JSON_NUMBER, "a number") \
    X(TEXT, 1 << SAMPI_JSON_STRING, "a string") \
    X(LIST, 1 << SAMPI_JSON_ARRAY, "an array") \
    X(MEMBERS, 1 << SAMPI_JSON_OBJECT, "an object") \
    X(TEXT_OR_LIST, SAMPI_VALUE_TEXT | SAMPI_VALUE_LIST, "a string, or an array of them") \
    X(SCHEMA, SAMPI_VALUE_BOOL | SAMPI_VALUE_MEMBERS, "a schema") \
    X(SCHEMA_OR_LIST, SAMPI_VALUE_SCHEMA | SAMPI_VALUE_LIST, "a schema") /* a list up to draft 7 */ \
    X(LIST_OR_BOOL, SAMPI_VALUE_LIST | SAMPI_VALUE_BOOL, "an array") /* a boolean in draft 3; scalars ignore it */ \
    X(NUMBER_OR_BOOL, SAMPI_VALUE_NUMBER | SAMPI_VALUE_BOOL, "a number") /* a boolean in draft 4 */
enum {
#define SAMPI_SCHEMA_VALUE(value, kinds, text) SAMPI_VALUE_##value = kinds,
    SAMPI_SCHEMA_VALUES(SAMPI_SCHEMA_VALUE)
#undef SAMPI_SCHEMA_VALUE
        SAMPI_VALUE_LAST
};

/* Sets of JSON's types, as bits. DEEP is the set of arrays and objects. */
enum {
    SAMPI_T_NULL = 1,
    SAMPI_T_FALSE = 2,
    SAMPI_T_TRUE = 4,
    SAMPI_T_NUMBER = 8,
    SAMPI_T_STRING = 16,
    SAMPI_T_ARRAY = 32,
    SAMPI_T_OBJECT = 64,
    SAMPI_T_ALL = 127,
    SAMPI_T_STRUCTURED = SAMPI_T_ARRAY | SAMPI_T_OBJECT
};

/* A literal, which is one condition on a value: the number of a node of the document (a schema or a value) times 4,
   plus one of these kinds. IS: the value must satisfy that schema. ISNT: it must not satisfy it. EQUALS: it must equal
   that value. DIFFERS: it must differ from it. */
typedef int32_t sampi_literal;
enum { SAMPI_IS = 0, SAMPI_ISNT = 1, SAMPI_EQUALS = 2, SAMPI_DIFFERS = 3 };

/* A set of texts of numbers, or of strings. n = SAMPI_ANY: all texts. n = SAMPI_SOME: the texts that `node` of the tree
   matches. n >= 0: a list of n values, as nodes of the document; the list begins at index `list` of the arena. */
typedef struct sampi_texts {
    sampi_node node;
    int32_t list, n;
} sampi_texts;
enum { SAMPI_ANY = -1, SAMPI_SOME = -2 };

typedef struct sampi_scalars {
    unsigned types; /* a set of the types null, false and true */
    sampi_texts number, string;
} sampi_scalars;

/* The rules of a goal: for all its values as JSON; for arrays only, and for objects only, as the value of a tag
   (styles.h), which are JSON too or, in a nested style, tags. */
typedef enum sampi_goal_rule {
    SAMPI_RULE_WHOLE,
    SAMPI_RULE_ARRAYS,
    SAMPI_RULE_OBJECTS,
    SAMPI_GOAL_RULES
} sampi_goal_rule;

typedef struct sampi_goal {
    /* the goal's literals (conditions), in the order of sampi_goal_add, are n elements of the arena from index `first`
       on */
    int32_t first, n;
    int32_t rule[SAMPI_GOAL_RULES]; /* the numbers of the goal's rules in the tree; -1: it has no such rule */
    /* whether some value satisfies the goal: SAMPI_YES, SAMPI_NO or SAMPI_UNKNOWN */
    uint8_t possible;
} sampi_goal;
enum { SAMPI_UNKNOWN, SAMPI_YES, SAMPI_NO };

/* The options of a schema, which samp_grammar_init describes. */
typedef struct sampi_schema_words {
    bool ordered; /* members come in the schema's order */
    bool spaced;  /* one space behind each comma and colon, and no other white space */
    /* the option "compact" or "space=N": at most so many characters of white space in a row; -1: any number */
    int32_t space;
    bool any_number; /* numbers in every spelling: 1.0 for 1, and endless fractions */
    /* the style of the tags in which the members of the whole value are written (styles.h); NULL: the value is JSON */
    const struct sampi_style *style;
    int32_t tag_space; /* at most so many characters of white space around these tags; -1: any number */
} sampi_schema_words;

/* How strings are written, as JSON or, in a style (styles.h), as they are: what was computed of schemas whose strings
   are written so. The members of sampi_schema with the same names have the way that is used now. */
typedef struct sampi_string_form {
    sampi_scalars *scalars;
    uint8_t *scalars_known;
    int32_t *pattern_of;
    sampi_node formats[2][32], any, string, character, shortest, space, comma;
    void *block; /* the memory of the first three, if they have a block of their own */
} sampi_string_form;

typedef struct sampi_schema {
    sampi_json doc;
    sampi_tree *tree;
    int status;   /* the first error, after which every function does nothing */
    int32_t here; /* the schema whose texts are being made: the place of errors without one of their own */
    sampi_schema_words words;
    bool in_order; /* words.ordered */
    bool over;     /* the sets of numbers that are made have every spelling, because they will be excluded */
    int draft;     /* the draft of JSON schema: 4 to 7; 8 for 2019 and later */
    int32_t key[SAMPI_KEY_LAST]; /* each keyword's string in the document; -1 if the document does not have it */
    uint8_t *key_of;             /* [n_strings] the keyword of each string, + 1; 0 if the string is not a keyword */
    sampi_scalars *scalars;      /* [2 * n_nodes] each schema's scalars: an under- and an overestimate */
    uint8_t *scalars_known;      /* [2 * n_nodes] 0: not computed, 1: being computed, 2: computed */
    sampi_vec goals, slots;      /* goals: sampi_goal (condition sets); slots: a hash table of their indexes */
    sampi_vec arena;             /* int32_t: the literals (conditions) of goals, and lists of texts; it only grows */
    sampi_vec stack;             /* int32_t: a stack of numbers; each function restores its length */
    sampi_vec atoms, todo;       /* stacks of sampi_atom and of sampi_todo (alternatives.h) */
    sampi_vec queue;             /* int32_t: all rules of goals (condition sets): SAMPI_GOAL_RULES * goal + rule */
    int32_t n_made;              /* the first n_made of these rules have bodies */
    sampi_vec pending; /* a stack (sampi_pending_scalars) of the schemas whose allowed scalars are being computed */
    sampi_vec resources, anchors;   /* sampi_resource, sampi_anchor: the targets of references */
    sampi_vec addresses, by_anchor; /* addresses: the resources' addresses; by_anchor: a hash table of anchors */
    sampi_deriver deriver;          /* computes derivatives for sampi_schema_matches; owns only its stack and memo */
    sampi_byte_classes bytes;       /* the deriver's classes of bytes: one for each byte */
    int32_t *targets;               /* [n_nodes] the target of a $ref; -1 if it was not found yet */
    /* [n_strings] a name's index in an object's list, + 1, or 0 (sampi_object_name) */
    int32_t *listed;
    int32_t *pattern_of;  /* [n_strings] the node of a string as a regular expression, + 1; 0 if it was not made */
    int32_t *resource_of; /* [n_nodes] the resource (schema with an address) to which a node belongs */
    uint8_t *roles;       /* [n_nodes] SAMPI_ROLE_*: whether a node is a schema */
    int32_t *value_of;    /* [n_strings] the first string with an equal number, + 1; 0 if it was not looked up yet */
    int32_t *marks;       /* [n_strings] the round in which a string was last marked (sampi_texts_mark) */
    /* [n_nodes] the index of an array's list of children in the arena, + 1; 0 if there is no list */
    int32_t *children;
    sampi_vec values; /* int32_t: a hash table of numbers; a slot is a number's string, or -1 if it is free */
    /* n_values: how many numbers `values` contains; round: the number with which values are marked now */
    int32_t n_values, round;
    sampi_texts marked;    /* the list whose values are marked */
    int32_t spare;         /* units of work that the last counted step still covers (sampi_schema_work) */
    uint8_t *n_conditions; /* [n_nodes] how many keywords constrain a value, + 1; 0 if not computed yet */
    /* [upper bound: 0 or 1][line of the table of formats] the format's node; 0 if it was not made */
    sampi_node formats[2][32];
    int64_t steps; /* the number of steps that may still be taken */
    int choices;   /* how deeply calls of sampi_expand and sampi_schema_finish_objects are nested */
    int level;     /* how deeply the functions are nested that ask whether a schema or goal is possible */
    sampi_node space, comma, colon; /* nodes for white space, a comma and a colon, as the options say */
    bool raw;                /* strings are written as they are, within tags, and a member in the style words.style */
    sampi_string_form other; /* the other way to write strings; it is used only with words.style */
    sampi_node ends;         /* all texts that contain the end of a tag of the style */
    /* names that a tag can have: those for which the schema has a condition, and all others */
    sampi_node safe_name, plain_name;
    sampi_node any, string;         /* nodes for a string's character in any spelling, and for any string */
    sampi_node character, shortest; /* nodes for a string's character, and for any string, in the shortest spelling */
    /* nodes for: any number; a number without an exponent; the same without a sign; an optional fraction; whole
       digits */
    sampi_node number, plain, magnitude, fraction, digits;
    /* nodes for an optional fraction with an end, and for a number without an exponent that has such a fraction */
    sampi_node ended, ended_plain;
} sampi_schema;

#ifndef SAMPI_SCHEMA_STEPS /* tests set a smaller number */
#define SAMPI_SCHEMA_STEPS (1 << 17)
#endif

/* Limits of one document. */
enum {
    SAMPI_SCHEMA_GOALS = 1 << 16,
    SAMPI_SCHEMA_NESTING = 400,     /* the most schemas within one another */
    SAMPI_SCHEMA_CHOICES = 80,      /* the most choices within one another */
    SAMPI_SCHEMA_ASKED = 8,         /* the most questions within one another whether a schema is possible */
    SAMPI_SCHEMA_PREFIX = 4096,     /* the most items of an array that have schemas of their own */
    SAMPI_SCHEMA_PATTERNS = 30,     /* the most patterns of one object */
    SAMPI_SCHEMA_DERIVED = 1 << 25, /* the number of steps of derivatives for one document */
    SAMPI_SCHEMA_SEARCH = 1 << 20,  /* and of a search for a text that some expression matches */
    SAMPI_SCHEMA_GLANCE = 1 << 15   /* and of such a search where its failure does no harm */
};

static sampi_json_node *sampi_schema_doc(const sampi_schema *x, int32_t node) { return &x->doc.nodes[node]; }

static const char *sampi_schema_doc_text(const sampi_schema *x, int32_t string, size_t *n)
{
    *n = x->doc.strings[string].n;
    return x->doc.bytes + x->doc.strings[string].at;
}
