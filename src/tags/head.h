/* ====================================================================================================== >>tags
   Structural tags, as XGrammar and vLLM have them. A structural tag is a JSON document that describes a text, such as
   free text with calls of tools in it. The document consists of formats. A format is an object with a type; it
   describes a piece of the text, and may contain other formats, JSON schemas, grammars and regular expressions.
   sampi_tags_tree turns the document into one expression of the tree (grammar/tree.h), so a matcher needs no code for
   tags. Free text up to a trigger is a text that ends with the trigger, and in which no trigger ends earlier: an AND
   with a NOT. The states of this expression are those of a search for all triggers at once.

   In these rooms an int32_t `node` is a node of the JSON document, and a sampi_node is a node of the tree. This room
   reads members of the document and reports errors, with a JSON pointer as schemas do. */

/* A structural tag while it is read. The document, the tree, the options and the first error are members of x; its
   other members are not used. */
typedef struct sampi_tags {
    sampi_schema x;
    bool in_order;
    sampi_node any, bytes; /* any: any characters, as many of GBNF's dot; bytes: any bytes */
} sampi_tags;

/* The end of the tag around a format: one of the strings that `words` matches (NEVER: there is none), or the token at
   the document's node `token` (-1: there is none). */
typedef struct sampi_tags_end {
    sampi_node words;
    int32_t token;
} sampi_tags_end;

/* Returns `made`, or the status of an error. If `made` is a negative status, the error is reported at `node` of the
   document. */
static SAMPI_COLD sampi_node sampi_tags_check(sampi_tags *g, int32_t node, sampi_node made)
{
    if (made < 0)
        sampi_schema_fail(&g->x, node, made,
                          made == SAMP_E_NOMEM ? "out of memory" : "the grammar becomes too large");
    return g->x.status ? (sampi_node)g->x.status : made;
}
static SAMPI_COLD sampi_node sampi_tags_malformed(sampi_tags *g, int32_t node, const char *text)
{
    sampi_schema_malformed(&g->x, node, text);
    return g->x.status;
}

static SAMPI_COLD bool sampi_tags_is(const sampi_tags *g, int32_t node, sampi_json_kind kind)
{
    return node >= 0 && sampi_schema_doc(&g->x, node)->kind == kind;
}

/* Returns the member with this name of an object; -1 if it has no such member. */
static SAMPI_COLD int32_t sampi_tags_member(const sampi_tags *g, int32_t node, const char *name)
{
    return sampi_json_member(&g->x.doc, node, sampi_json_find(&g->x.doc, name, strlen(name)));
}

/* Reports that an object does not have the member with this name. Returns the error's status. */
static SAMPI_COLD sampi_node sampi_tags_missing(sampi_tags *g, int32_t node, const char *name)
{
    char text[64];
    const size_t n = strlen(name);
    memcpy(text, name, n);
    memcpy(text + n, " is missing", 12);
    return sampi_tags_malformed(g, node, text);
}

/* Returns the member with this name, which must have this kind of value; otherwise reports an error and returns -1. */
static SAMPI_COLD int32_t sampi_tags_required(sampi_tags *g, int32_t node, const char *name, sampi_json_kind kind)
{
    static const char *const expected[] = { "expected null",     "expected false",  "expected true",
                                            "expected a number", "expected a text", "expected a list",
                                            "expected an object" };
    const int32_t member = sampi_tags_member(g, node, name);
    if (sampi_tags_is(g, member, kind)) return member;
    if (member < 0)
        sampi_tags_missing(g, node, name);
    else
        sampi_schema_malformed(&g->x, member, expected[kind]);
    return -1;
}

/* Returns the value of a member that is true or false; false if the member is missing. */
static SAMPI_COLD bool sampi_tags_flag(sampi_tags *g, int32_t node, const char *name)
{
    const int32_t member = sampi_tags_member(g, node, name);
    if (member >= 0 && !sampi_tags_is(g, member, SAMPI_JSON_TRUE) && !sampi_tags_is(g, member, SAMPI_JSON_FALSE))
        sampi_schema_malformed(&g->x, member, "expected true or false");
    return sampi_tags_is(g, member, SAMPI_JSON_TRUE);
}

/* Returns the whole number at a node, which must be from `least` to 2^31 - 1; otherwise reports an error and returns
   `least`. */
static SAMPI_COLD int32_t sampi_tags_integer(sampi_tags *g, int32_t node, int32_t least)
{
    size_t n = 0;
    const char *text = "";
    if (sampi_tags_is(g, node, SAMPI_JSON_NUMBER))
        text = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, node)->text, &n);
    const bool minus = n > 0 && text[0] == '-';
    int64_t value = n > (size_t)minus ? 0 : INT64_MAX;
    for (size_t i = minus; i < n && value <= INT32_MAX; i++)
        value = text[i] >= '0' && text[i] <= '9' ? 10 * value + (text[i] - '0') : INT64_MAX;
    if (minus && value <= INT32_MAX) value = -value;
    if (value >= least && value <= INT32_MAX) return (int32_t)value;
    sampi_schema_malformed(&g->x, node, least < 0 ? "expected a whole number, or -1" : "expected a whole number");
    return least;
}

/* Returns the whole number (0 or more) of the member with this name; -1 if the member is null or missing. */
static SAMPI_COLD int32_t sampi_tags_count(sampi_tags *g, int32_t node, const char *name)
{
    const int32_t member = sampi_tags_member(g, node, name);
    return member < 0 || sampi_tags_is(g, member, SAMPI_JSON_NULL) ? -1 : sampi_tags_integer(g, member, 0);
}

/* Returns whether a name of n bytes is in a list of names, which are separated by the character `between`. */
static SAMPI_COLD bool sampi_tags_is_listed(const char *names, char between, const char *name, size_t n)
{
    const char ends[2] = { between, 0 };
    for (size_t length; *names; names += length + (names[length] == between)) {
        length = strcspn(names, ends);
        if (length == n && memcmp(names, name, n) == 0) return true;
    }
    return false;
}

/* Refuses each member whose name is not in the list, because its meaning is not known. The names of the list are
   separated by semicolons. */
static SAMPI_COLD void sampi_tags_allow_members(sampi_tags *g, int32_t node, const char *names)
{
    for (int32_t i = sampi_schema_doc(&g->x, node)->first; i >= 0; i = sampi_schema_doc(&g->x, i)->next) {
        size_t n;
        const char *name = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, i)->name, &n);
        if (!sampi_tags_is_listed(names, ';', name, n))
            sampi_schema_refuse(&g->x, i, "this format has no such member here");
    }
}
