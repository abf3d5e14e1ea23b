/* ====================================================================================================== >>tags
   Calls of tools within free text, in the form of XGrammar's and vLLM's structural tags: a JSON document that says by
   formats, one in the other, what a text is made of, some of them JSON schemas. sampi_tags_tree makes one expression of
   it, so that a matcher needs to know nothing of tags. Free text up to a trigger is what has no trigger before its last
   byte: an AND with a NOT, whose states are those of a search for all triggers at once.

   This room reads members and tells errors, by a JSON pointer as those of schemas. */

/* The document; its tree and its first error are those of the schema x, which is empty otherwise. */
typedef struct sampi_tags {
    sampi_schema x;
    bool in_order;
    int space;             /* between a schema's tokens: 0: any, 1: none, 2: spaced */
    sampi_node any, bytes; /* any text, as GBNF's dots have it; any bytes */
} sampi_tags;

/* What ends the tag that a format is in: one of these strings (NEVER: none), or a token of the document (-1: none). */
typedef struct sampi_tags_end {
    sampi_node words;
    int32_t token;
} sampi_tags_end;

/* An error of the tree is one of that place. */
static SAMPI_COLD sampi_node sampi_tags_made(sampi_tags *g, int32_t node, sampi_node made)
{
    if (made < 0)
        sampi_schema_fail(&g->x, node, made,
                          made == SAMP_E_NOMEM ? "out of memory" : "the grammar becomes too large");
    return g->x.status ? (sampi_node)g->x.status : made;
}
static SAMPI_COLD sampi_node sampi_tags_wrong(sampi_tags *g, int32_t node, const char *text)
{
    sampi_malformed(&g->x, node, text);
    return g->x.status;
}
static SAMPI_COLD sampi_node sampi_tags_refuse(sampi_tags *g, int32_t node, const char *text)
{
    sampi_refuse(&g->x, node, text);
    return g->x.status;
}

static SAMPI_COLD bool sampi_tags_is(const sampi_tags *g, int32_t node, sampi_json_kind kind)
{
    return node >= 0 && sampi_doc(&g->x, node)->kind == kind;
}

/* A member of an object; -1: there is none. */
static SAMPI_COLD int32_t sampi_tags_member(const sampi_tags *g, int32_t node, const char *name)
{
    return sampi_json_member(&g->x.doc, node, sampi_json_find(&g->x.doc, name, strlen(name)));
}

/* The same, which must be of that kind. */
static SAMPI_COLD int32_t sampi_tags_need(sampi_tags *g, int32_t node, const char *name, sampi_json_kind kind)
{
    static const char *const expected[] = { "null", "false", "true", "a number", "a text", "a list", "an object" };
    char text[64];
    const int32_t member = sampi_tags_member(g, node, name);
    if (sampi_tags_is(g, member, kind)) return member;
    size_t n = strlen(expected[kind]), m = strlen(name);
    memcpy(text, "expected ", 9);
    memcpy(text + 9, expected[kind], n);
    memcpy(text + 9 + n, ", ", 2);
    memcpy(text + 11 + n, name, m + 1);
    if (member >= 0) text[9 + n] = 0;
    sampi_malformed(&g->x, member < 0 ? node : member, text);
    return -1;
}

/* true or false; false if it is not there. */
static SAMPI_COLD bool sampi_tags_flag(sampi_tags *g, int32_t node, const char *name)
{
    const int32_t member = sampi_tags_member(g, node, name);
    if (member >= 0 && !sampi_tags_is(g, member, SAMPI_JSON_TRUE) && !sampi_tags_is(g, member, SAMPI_JSON_FALSE))
        sampi_malformed(&g->x, member, "expected true or false");
    return sampi_tags_is(g, member, SAMPI_JSON_TRUE);
}

/* A whole number from `least` up to 2^31 - 1; else an error, and `least`. */
static SAMPI_COLD int32_t sampi_tags_whole(sampi_tags *g, int32_t node, int32_t least)
{
    size_t n = 0;
    const char *text = "";
    if (sampi_tags_is(g, node, SAMPI_JSON_NUMBER)) text = sampi_doc_text(&g->x, sampi_doc(&g->x, node)->text, &n);
    const bool minus = n > 0 && text[0] == '-';
    int64_t value = n > (size_t)minus ? 0 : INT64_MAX;
    for (size_t i = minus; i < n && value <= INT32_MAX; i++)
        value = text[i] >= '0' && text[i] <= '9' ? 10 * value + (text[i] - '0') : INT64_MAX;
    if (minus && value <= INT32_MAX) value = -value;
    if (value >= least && value <= INT32_MAX) return (int32_t)value;
    sampi_malformed(&g->x, node, least < 0 ? "expected a whole number, or -1" : "expected a whole number");
    return least;
}

/* The same of a member, -1 if it is null or not there. */
static SAMPI_COLD int32_t sampi_tags_count(sampi_tags *g, int32_t node, const char *name)
{
    const int32_t member = sampi_tags_member(g, node, name);
    return member < 0 || sampi_tags_is(g, member, SAMPI_JSON_NULL) ? -1 : sampi_tags_whole(g, member, 0);
}

/* Is a name among these, with that sign between them? */
static SAMPI_COLD bool sampi_tags_among(const char *names, char between, const char *name, size_t n)
{
    const char ends[2] = { between, 0 };
    for (size_t length; *names; names += length + (names[length] == between)) {
        length = strcspn(names, ends);
        if (length == n && memcmp(names, name, n) == 0) return true;
    }
    return false;
}

/* Members that are not among these are refused by their names: what they ask for is not known. */
static SAMPI_COLD void sampi_tags_only(sampi_tags *g, int32_t node, const char *names)
{
    for (int32_t i = sampi_doc(&g->x, node)->first; i >= 0; i = sampi_doc(&g->x, i)->next) {
        size_t n;
        const char *name = sampi_doc_text(&g->x, sampi_doc(&g->x, i)->name, &n);
        if (!sampi_tags_among(names, ';', name, n)) sampi_refuse(&g->x, i, "this format has no such member here");
    }
}
