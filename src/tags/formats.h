/* ---- structural tags: formats ----
   This room has one function for each type of format, and sampi_tags_format, which calls the function of a type. Each
   function returns the expression of the texts that its format allows. The parameter `end` is the end of the tag around
   the format; free text must not contain it. */

static SAMPI_COLD sampi_node sampi_tags_format(sampi_tags *g, int32_t node, sampi_tags_end end);

/* Returns the expression of the format in the member "content". */
static SAMPI_COLD sampi_node sampi_tags_content(sampi_tags *g, int32_t node, sampi_tags_end end)
{
    const int32_t content = sampi_tags_required(g, node, "content", SAMPI_JSON_OBJECT);
    return content < 0 ? g->x.status : sampi_tags_format(g, content, end);
}

/* Returns the expression of the formats in the member "elements": with `sequence` all of them, one after the other;
   else any one of them. */
static SAMPI_COLD sampi_node sampi_tags_elements(sampi_tags *g, int32_t node, sampi_tags_end end, bool sequence)
{
    const int32_t list = sampi_tags_required(g, node, "elements", SAMPI_JSON_ARRAY);
    sampi_node all = sequence ? SAMPI_EMPTY : SAMPI_NEVER;
    if (list < 0) return g->x.status;
    if (sampi_schema_doc(&g->x, list)->n == 0) return sampi_tags_malformed(g, list, "expected a format");
    for (int32_t i = sampi_schema_doc(&g->x, list)->first; i >= 0 && !g->x.status;
         i = sampi_schema_doc(&g->x, i)->next) {
        const sampi_node one = sampi_tags_format(g, i, end);
        all = sampi_tags_check(g, i,
                               sequence ? sampi_tree_seq(g->x.tree, all, one) : sampi_tree_alt(g->x.tree, all, one));
    }
    return all;
}

/* Returns the token of a format of the type "token", as a node of the document; with `regex` also the pattern of one of
   the type "regex", and *regex says which it is. Returns -1 if there is an error. */
static SAMPI_COLD int32_t sampi_tags_token_of(sampi_tags *g, int32_t node, bool *regex)
{
    const int32_t type = sampi_tags_required(g, node, "type", SAMPI_JSON_STRING);
    size_t n;
    if (type < 0) return -1;
    const char *text = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, type)->text, &n);
    const bool is_regex = regex && n == 5 && !memcmp(text, "regex", 5);
    if (!is_regex && (n != 5 || memcmp(text, "token", 5)))
        sampi_schema_malformed(&g->x, type, regex ? "expected token or regex" : "expected token");
    const char *name = is_regex ? "pattern" : "token";
    const int32_t member = sampi_tags_member(g, node, name);
    if (member < 0) sampi_tags_missing(g, node, name);
    sampi_tags_allow_members(g, node, is_regex ? "type;pattern" : "type;token");
    if (is_regex && !g->x.status && !sampi_tags_is(g, member, SAMPI_JSON_STRING))
        sampi_schema_malformed(&g->x, member, "expected a text");
    if (regex) *regex = is_regex;
    return g->x.status ? -1 : member;
}

/* The parts of a tag. */
typedef struct sampi_tags_tag {
    int32_t begin; /* the beginning of the tag in the document: a string, a token, or a pattern */
    /* what `begin` is: these texts begin a tag, all is the whole tag, behind the tag without its beginning */
    sampi_node first, all, behind;
    bool regex, token; /* the beginning is a regular expression, or a token */
} sampi_tags_tag;

/* Reads a tag: {"begin":...,"content":...,"end":...}, or, with `old`, the older form
   {"begin":...,"schema":...,"end":...}. */
static SAMPI_COLD sampi_tags_tag sampi_tags_read_tag(sampi_tags *g, int32_t node, bool old)
{
    sampi_tags_tag tag = { -1, SAMPI_NEVER, SAMPI_NEVER, SAMPI_NEVER, false, false };
    sampi_tags_end inner = { SAMPI_NEVER, -1 };
    sampi_tree *t = g->x.tree;
    if (!sampi_tags_is(g, node, SAMPI_JSON_OBJECT)) {
        sampi_schema_malformed(&g->x, node, "expected a tag");
        return tag;
    }
    int32_t begin = sampi_tags_member(g, node, "begin"), end = sampi_tags_member(g, node, "end");
    sampi_tags_allow_members(g, node, old ? "begin;schema;end" : "type;begin;content;end");
    if (begin < 0 || end < 0) sampi_tags_missing(g, node, begin < 0 ? "begin" : "end");
    if (g->x.status) return tag;
    const bool by_token = !old && sampi_tags_is(g, end, SAMPI_JSON_OBJECT);
    sampi_node last, content;
    if (by_token) {
        inner.token = sampi_tags_token_of(g, end, NULL);
        last = g->x.status ? g->x.status : sampi_tags_token(g, inner.token, false, 0);
    } else {
        last = inner.words = sampi_tags_strings(g, end, true);
        if (last == SAMPI_NEVER) sampi_schema_malformed(&g->x, end, "expected a text");
        if (last > 0 && sampi_grammar_at(t, last)->facts & SAMPI_FACT_EMPTY)
            inner.words = SAMPI_NEVER; /* an end that may be the empty string cannot limit free text */
    }
    if (!old && sampi_tags_is(g, begin, SAMPI_JSON_OBJECT))
        begin = sampi_tags_token_of(g, begin, &tag.regex);
    else if (!sampi_tags_is(g, begin, SAMPI_JSON_STRING))
        sampi_schema_malformed(&g->x, begin, "expected a text");
    if (g->x.status) return tag;
    tag.token = sampi_schema_doc(&g->x, begin)->parent != node && !tag.regex;
    tag.first = tag.regex   ? sampi_tags_string(g, begin, true)
                : tag.token ? sampi_tags_token(g, begin, false, 0)
                            : sampi_tags_text(g, begin);
    const int32_t schema = old ? sampi_tags_member(g, node, "schema") : -1;
    if (old && schema < 0) sampi_tags_missing(g, node, "schema");
    content = g->x.status ? g->x.status
              : old       ? sampi_tags_schema(g, schema, g->in_order, -1, NULL)
                          : sampi_tags_content(g, node, inner);
    tag.begin = begin;
    tag.behind = sampi_tags_check(g, node, sampi_tree_seq(t, content, last));
    tag.all = sampi_tags_check(g, node, sampi_tree_seq(t, tag.first, tag.behind));
    return tag;
}

/* Returns the expression of a format whose tags follow free text (triggered tags and dispatch). bodies: free text, then
   a tag; whole: a tag without free text before it; behind: the free text behind the last tag. With at_least_one the
   text begins with a tag; with stop_after_first it ends behind the first tag. */
static SAMPI_COLD sampi_node sampi_tags_dispatched(sampi_tags *g, int32_t node, sampi_node bodies, sampi_node whole,
                                                   sampi_node behind, bool at_least_one, bool stop_after_first)
{
    sampi_tree *t = g->x.tree;
    if (stop_after_first) return sampi_tags_check(g, node, at_least_one ? whole : sampi_tree_alt(t, behind, bodies));
    const sampi_node all = sampi_tree_seq(t, sampi_tree_repeat(t, bodies, 0, -1), behind);
    return sampi_tags_check(g, node, at_least_one ? sampi_tree_seq(t, whole, all) : all);
}

/* Returns the trigger with which the beginning of a tag begins, and sets *rest to what follows it. If no trigger or
   several fit, or not all texts of a regular expression begin with it, reports an error and returns -1. */
static SAMPI_COLD int32_t sampi_tags_trigger_of(sampi_tags *g, int32_t triggers, const sampi_tags_tag *tag,
                                                sampi_node *rest)
{
    sampi_tree *t = g->x.tree;
    size_t n, length;
    int32_t found = -1;
    const char *text = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, tag->begin)->text, &n);
    for (int32_t i = sampi_schema_doc(&g->x, triggers)->first; i >= 0; i = sampi_schema_doc(&g->x, i)->next) {
        const char *trigger = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, i)->text, &length);
        sampi_node behind = SAMPI_NEVER;
        if (tag->regex)
            behind = sampi_schema_behind(&g->x, tag->first, sampi_tags_text(g, i));
        else if (length <= n && !memcmp(trigger, text, length))
            behind = sampi_tree_text(t, text + length, n - length);
        if (behind == SAMPI_NEVER) continue;
        if (found >= 0) sampi_schema_malformed(&g->x, tag->begin, "expected only one trigger that it begins with");
        found = i;
        *rest = behind;
    }
    bool whole = found >= 0;
    if (whole && tag->regex) {
        const sampi_node begun = sampi_tree_seq(t, sampi_tags_text(g, found), g->bytes);
        whole = !sampi_schema_alive(&g->x, sampi_tags_and_not(g, tag->first, begun), SAMPI_SCHEMA_SEARCH);
    }
    if (!whole) sampi_schema_malformed(&g->x, tag->begin, "expected one of the triggers at its beginning");
    return g->x.status ? -1 : found;
}

/* Returns the expression of the format triggered_tags; with `old` that of the older form, in which the whole document
   is such a format. */
static SAMPI_COLD sampi_node sampi_tags_triggered(sampi_tags *g, int32_t node, sampi_tags_end end, bool old)
{
    sampi_tree *t = g->x.tree;
    const int32_t triggers = sampi_tags_required(g, node, "triggers", SAMPI_JSON_ARRAY);
    const int32_t tags = sampi_tags_required(g, node, old ? "structures" : "tags", SAMPI_JSON_ARRAY);
    sampi_node words = triggers < 0 ? g->x.status : sampi_tags_strings(g, triggers, false);
    sampi_node excluded = old ? (sampi_node)SAMPI_NEVER : sampi_tags_excluded(g, node, end), bodies = SAMPI_NEVER,
               whole = SAMPI_NEVER;
    if (words == SAMPI_NEVER) sampi_schema_malformed(&g->x, triggers, "expected a text");
    if (tags >= 0 && sampi_schema_doc(&g->x, tags)->n == 0) sampi_schema_malformed(&g->x, tags, "expected a tag");
    const bool at_least_one = !old && sampi_tags_flag(g, node, "at_least_one");
    const bool stop = !old && sampi_tags_flag(g, node, "stop_after_first");
    for (int32_t i = g->x.status ? -1 : sampi_schema_doc(&g->x, tags)->first; i >= 0 && !g->x.status;
         i = sampi_schema_doc(&g->x, i)->next) {
        const sampi_tags_tag tag = sampi_tags_read_tag(g, i, old);
        if (!g->x.status && tag.token)
            sampi_schema_refuse(&g->x, tag.begin, "a token behind free text is not supported");
        sampi_node rest = SAMPI_NEVER;
        const int32_t trigger = g->x.status ? -1 : sampi_tags_trigger_of(g, triggers, &tag, &rest);
        if (trigger < 0) break;
        const sampi_node up_to = sampi_tags_text_up_to(g, sampi_tags_text(g, trigger), words, excluded);
        rest = sampi_tree_seq(t, rest, tag.behind);
        bodies = sampi_tags_check(g, i, sampi_tree_alt(t, bodies, sampi_tree_seq(t, up_to, rest)));
        whole = sampi_tags_check(g, i, sampi_tree_alt(t, whole, tag.all));
    }
    if (g->x.status) return g->x.status;
    const sampi_node behind = sampi_tags_free_text(g, sampi_tree_alt(t, words, excluded), -1);
    return sampi_tags_dispatched(g, node, bodies, whole, behind, at_least_one, stop);
}

/* Returns the expression of the format token_triggered_tags. */
static SAMPI_COLD sampi_node sampi_tags_by_token(sampi_tags *g, int32_t node, sampi_tags_end end)
{
    sampi_tree *t = g->x.tree;
    const int32_t triggers = sampi_tags_required(g, node, "trigger_tokens", SAMPI_JSON_ARRAY);
    const int32_t tags = sampi_tags_required(g, node, "tags", SAMPI_JSON_ARRAY);
    sampi_node whole = SAMPI_NEVER, out = sampi_tags_excluded_tokens(g, node, end);
    if (g->x.status) return g->x.status;
    if (sampi_schema_doc(&g->x, triggers)->n == 0) return sampi_tags_malformed(g, triggers, "expected a token");
    if (sampi_schema_doc(&g->x, tags)->n == 0) return sampi_tags_malformed(g, tags, "expected a tag");
    for (int32_t i = sampi_schema_doc(&g->x, triggers)->first; i >= 0; i = sampi_schema_doc(&g->x, i)->next)
        out = sampi_tags_token(g, i, true, out);
    for (int32_t i = sampi_schema_doc(&g->x, tags)->first; i >= 0 && !g->x.status;
         i = sampi_schema_doc(&g->x, i)->next) {
        const sampi_tags_tag tag = sampi_tags_read_tag(g, i, false);
        bool found = false;
        for (int32_t k = sampi_schema_doc(&g->x, triggers)->first; k >= 0 && !g->x.status;
             k = sampi_schema_doc(&g->x, k)->next)
            found = found || (tag.token && sampi_tags_same_token(g, tag.begin, k));
        if (!found && !g->x.status) sampi_schema_malformed(&g->x, tag.begin, "expected a trigger's token");
        whole = sampi_tags_check(g, i, sampi_tree_alt(t, whole, tag.all));
    }
    const bool at_least_one = sampi_tags_flag(g, node, "at_least_one"),
               stop = sampi_tags_flag(g, node, "stop_after_first");
    const sampi_node free = sampi_tree_repeat(t, sampi_tags_any_token(g, node, out), 0, -1);
    return sampi_tags_dispatched(g, node, sampi_tree_seq(t, free, whole), whole, free, at_least_one, stop);
}

/* Returns the expression of the formats dispatch and token_dispatch: pairs of a text, or of a token (by_token), and the
   format that follows it. */
static SAMPI_COLD sampi_node sampi_tags_dispatch(sampi_tags *g, int32_t node, sampi_tags_end end, bool by_token)
{
    sampi_tree *t = g->x.tree;
    const int32_t rules = sampi_tags_required(g, node, "rules", SAMPI_JSON_ARRAY),
                  loop = sampi_tags_member(g, node, "loop");
    sampi_node words = SAMPI_NEVER, bodies = SAMPI_NEVER, free = SAMPI_NEVER;
    sampi_node out = by_token ? sampi_tags_excluded_tokens(g, node, end) : sampi_tags_excluded(g, node, end);
    if (g->x.status) return g->x.status;
    if (sampi_schema_doc(&g->x, rules)->n == 0) return sampi_tags_malformed(g, rules, "expected a text and a format");
    for (int32_t i = sampi_schema_doc(&g->x, rules)->first; i >= 0; i = sampi_schema_doc(&g->x, i)->next) {
        const int32_t first = sampi_schema_doc(&g->x, i)->n == 2 ? sampi_schema_doc(&g->x, i)->first : -1;
        if (!sampi_tags_is(g, i, SAMPI_JSON_ARRAY) || first < 0)
            return sampi_tags_malformed(g, i, "expected a text and a format");
        if (by_token)
            out = sampi_tags_token(g, first, true, out);
        else if (sampi_tags_is(g, first, SAMPI_JSON_STRING))
            words = sampi_tree_alt(t, words, sampi_tags_strings(g, first, false));
        else
            return sampi_tags_malformed(g, first, "expected a text");
    }
    if (by_token) free = sampi_tree_repeat(t, sampi_tags_any_token(g, node, out), 0, -1);
    for (int32_t i = sampi_schema_doc(&g->x, rules)->first; i >= 0 && !g->x.status;
         i = sampi_schema_doc(&g->x, i)->next) {
        const int32_t first = sampi_schema_doc(&g->x, i)->first;
        const sampi_node up_to = by_token ? sampi_tree_seq(t, free, sampi_tags_token(g, first, false, 0))
                                          : sampi_tags_text_up_to(g, sampi_tags_text(g, first), words, out);
        const sampi_node behind = sampi_tags_format(g, sampi_schema_doc(&g->x, first)->next, end);
        bodies = sampi_tags_check(g, i, sampi_tree_alt(t, bodies, sampi_tree_seq(t, up_to, behind)));
    }
    const bool stop = loop >= 0 && !sampi_tags_flag(g, node, "loop");
    if (!by_token) free = sampi_tags_free_text(g, sampi_tree_alt(t, words, out), -1);
    return sampi_tags_dispatched(g, node, bodies, SAMPI_NEVER, free, false, stop);
}

/* Returns the expression of the format tags_with_separator. */
static SAMPI_COLD sampi_node sampi_tags_separated(sampi_tags *g, int32_t node)
{
    sampi_tree *t = g->x.tree;
    const int32_t tags = sampi_tags_required(g, node, "tags", SAMPI_JSON_ARRAY);
    const int32_t separator = sampi_tags_required(g, node, "separator", SAMPI_JSON_STRING);
    const bool at_least_one = sampi_tags_flag(g, node, "at_least_one"),
               stop = sampi_tags_flag(g, node, "stop_after_first");
    sampi_node one = SAMPI_NEVER;
    if (g->x.status) return g->x.status;
    if (sampi_schema_doc(&g->x, tags)->n == 0) return sampi_tags_malformed(g, tags, "expected a tag");
    for (int32_t i = sampi_schema_doc(&g->x, tags)->first; i >= 0 && !g->x.status;
         i = sampi_schema_doc(&g->x, i)->next)
        one = sampi_tags_check(g, i, sampi_tree_alt(t, one, sampi_tags_read_tag(g, i, false).all));
    if (g->x.status) return g->x.status;
    sampi_node all = sampi_tree_seq(t, sampi_tags_text(g, separator), one);
    all = stop ? one : sampi_tree_seq(t, one, sampi_tree_repeat(t, all, 0, -1));
    return sampi_tags_check(g, node, at_least_one ? all : sampi_tree_alt(t, all, SAMPI_EMPTY));
}

/* Returns the style with the name in the member "style" (sampi_schema_style_named); NULL for "json", or without the
   member. */
static SAMPI_COLD const sampi_style *sampi_tags_style(sampi_tags *g, int32_t node)
{
    const int32_t style = sampi_tags_member(g, node, "style");
    size_t n;
    if (style < 0) return NULL;
    if (!sampi_tags_is(g, style, SAMPI_JSON_STRING)) {
        sampi_schema_malformed(&g->x, style, "expected a text");
        return NULL;
    }
    const char *name = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, style)->text, &n);
    const sampi_style *found = sampi_schema_style_named(name, n);
    if (!found && (n != 4 || memcmp(name, "json", 4)))
        sampi_schema_refuse(&g->x, style, "this style is not supported");
    return found;
}

/* Returns the expression of the format json_schema, whose values have this style (NULL: JSON). */
static SAMPI_COLD sampi_node sampi_tags_json_schema(sampi_tags *g, int32_t node, const sampi_style *style)
{
    const int32_t schema = sampi_tags_member(g, node, "json_schema"), order = sampi_tags_member(g, node, "any_order");
    if (schema < 0) return sampi_tags_missing(g, node, "json_schema");
    const int32_t most = sampi_tags_count(g, node, "max_whitespace_cnt");
    const bool any = sampi_tags_flag(g, node, "any_order");
    return g->x.status ? g->x.status : sampi_tags_schema(g, schema, order < 0 ? g->in_order : !any, most, style);
}

/* Returns the expression of the format any_tokens (many), or of exclude_token. */
static SAMPI_COLD sampi_node sampi_tags_tokens(sampi_tags *g, int32_t node, sampi_tags_end end, bool many)
{
    const int32_t most = many ? sampi_tags_count(g, node, "max_tokens") : 1;
    const sampi_node one = sampi_tags_any_token(g, node, sampi_tags_excluded_tokens(g, node, end));
    return sampi_tags_check(g, node, many ? sampi_tree_repeat(g->x.tree, one, 0, most) : one);
}

/* Returns the expression of the formats optional, plus, star and repeat: the content, from `least` to `most` times (-1:
   any number of times). */
static SAMPI_COLD sampi_node sampi_tags_repeated(sampi_tags *g, int32_t node, sampi_tags_end end, int32_t least,
                                                 int32_t most)
{
    const sampi_node one = sampi_tags_content(g, node, end);
    if (most >= 0 && least > most) return sampi_tags_malformed(g, node, "expected max to be at least min");
    return sampi_tags_check(g, node, sampi_tree_repeat(g->x.tree, one, least, most));
}

/* The types of formats: the name for the enum, the name in the document, the names of the members besides "type". */
/* clang-format off */
#define SAMPI_TAGS_FORMATS(X) \
    X(CONST_STRING, "const_string", "value") X(ANY_TEXT, "any_text", "excludes;max_chars;max_tokens") \
    X(JSON_SCHEMA, "json_schema", "json_schema;style;any_order;max_whitespace_cnt") \
    X(QWEN_XML, "qwen_xml_parameter", "json_schema;any_order;max_whitespace_cnt") \
    X(GRAMMAR, "grammar", "grammar") X(REGEX, "regex", "pattern") \
    X(SEQUENCE, "sequence", "elements") X(OR, "or", "elements") X(OPTIONAL, "optional", "content") \
    X(PLUS, "plus", "content") X(STAR, "star", "content") X(REPEAT, "repeat", "min;max;content") \
    X(TAG, "tag", "begin;content;end") \
    X(TRIGGERED, "triggered_tags", "triggers;tags;at_least_one;stop_after_first;excludes") \
    X(SEPARATED, "tags_with_separator", "tags;separator;at_least_one;stop_after_first") \
    X(DISPATCH, "dispatch", "rules;loop;excludes") X(TOKEN_DISPATCH, "token_dispatch", "rules;loop;exclude_tokens") \
    X(TOKEN, "token", "token") \
    X(EXCLUDE_TOKEN, "exclude_token", "exclude_tokens") X(ANY_TOKENS, "any_tokens", "exclude_tokens;max_tokens") \
    X(BY_TOKEN, "token_triggered_tags", "trigger_tokens;tags;exclude_tokens;at_least_one;stop_after_first")
/* clang-format on */
typedef enum sampi_tags_type {
#define SAMPI_TAGS_TYPE(type, name, members) SAMPI_TAGS_##type,
    SAMPI_TAGS_FORMATS(SAMPI_TAGS_TYPE)
#undef SAMPI_TAGS_TYPE
        SAMPI_TAGS_NONE
} sampi_tags_type;

/* Returns the type of a format. If the type is unknown, or the format has a member that its type does not have, reports
   an error and returns NONE. */
static SAMPI_COLD sampi_tags_type sampi_tags_type_of(sampi_tags *g, int32_t node)
{
    static const char *const known[][2] = {
#define SAMPI_TAGS_NAMES(type, name, members) { name, "type;" members },
        SAMPI_TAGS_FORMATS(SAMPI_TAGS_NAMES)
#undef SAMPI_TAGS_NAMES
    };
    const bool object = sampi_tags_is(g, node, SAMPI_JSON_OBJECT);
    if (!object) sampi_schema_malformed(&g->x, node, "expected a format");
    const int32_t type = object ? sampi_tags_required(g, node, "type", SAMPI_JSON_STRING) : -1;
    size_t n, i = 0;
    if (type < 0) return SAMPI_TAGS_NONE;
    const char *name = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, type)->text, &n);
    while (i < SAMPI_TAGS_NONE && !(strlen(known[i][0]) == n && memcmp(known[i][0], name, n) == 0)) i++;
    if (i < SAMPI_TAGS_NONE)
        sampi_tags_allow_members(g, node, known[i][1]);
    else
        sampi_schema_refuse(&g->x, type, "this type of format is not supported");
    return g->x.status ? SAMPI_TAGS_NONE : (sampi_tags_type)i;
}

/* Returns the expression of a format. `end` is the end of the tag around it. */
static SAMPI_COLD sampi_node sampi_tags_format(sampi_tags *g, int32_t node, sampi_tags_end end)
{
    const sampi_tags_type type = g->x.status ? SAMPI_TAGS_NONE : sampi_tags_type_of(g, node);
    int32_t member;
    switch (type) {
        case SAMPI_TAGS_CONST_STRING:
            member = sampi_tags_required(g, node, "value", SAMPI_JSON_STRING);
            return member < 0 ? g->x.status : sampi_tags_text(g, member);
        case SAMPI_TAGS_JSON_SCHEMA: return sampi_tags_json_schema(g, node, sampi_tags_style(g, node));
        case SAMPI_TAGS_QWEN_XML: return sampi_tags_json_schema(g, node, sampi_schema_style_named("qwen_xml", 8));
        case SAMPI_TAGS_ANY_TEXT: {
            const int32_t most = sampi_tags_count(g, node, "max_chars"),
                          tokens = sampi_tags_count(g, node, "max_tokens");
            sampi_node text = sampi_tags_free_text(g, sampi_tags_excluded(g, node, end), tokens ? most : 0);
            if (tokens > 0 && text > SAMPI_EMPTY && (text = sampi_tree_call(g->x.tree, text)) >= 0)
                sampi_grammar_rule_at(g->x.tree, sampi_grammar_at(g->x.tree, text)->a)->tokens = tokens;
            return sampi_tags_check(g, node, text);
        }
        case SAMPI_TAGS_GRAMMAR:
            member = sampi_tags_required(g, node, "grammar", SAMPI_JSON_STRING);
            return member < 0 ? g->x.status : sampi_tags_string(g, member, false);
        case SAMPI_TAGS_REGEX:
            member = sampi_tags_required(g, node, "pattern", SAMPI_JSON_STRING);
            return member < 0 ? g->x.status : sampi_tags_string(g, member, true);
        case SAMPI_TAGS_SEQUENCE: return sampi_tags_elements(g, node, end, true);
        case SAMPI_TAGS_OR: return sampi_tags_elements(g, node, end, false);
        case SAMPI_TAGS_OPTIONAL: return sampi_tags_repeated(g, node, end, 0, 1);
        case SAMPI_TAGS_PLUS: return sampi_tags_repeated(g, node, end, 1, -1);
        case SAMPI_TAGS_STAR: return sampi_tags_repeated(g, node, end, 0, -1);
        case SAMPI_TAGS_REPEAT: {
            const int32_t least = sampi_tags_required(g, node, "min", SAMPI_JSON_NUMBER);
            const int32_t most = sampi_tags_required(g, node, "max", SAMPI_JSON_NUMBER);
            if (g->x.status) return g->x.status;
            return sampi_tags_repeated(g, node, end, sampi_tags_integer(g, least, 0),
                                       sampi_tags_integer(g, most, -1));
        }
        case SAMPI_TAGS_TAG: return sampi_tags_read_tag(g, node, false).all;
        case SAMPI_TAGS_TRIGGERED: return sampi_tags_triggered(g, node, end, false);
        case SAMPI_TAGS_SEPARATED: return sampi_tags_separated(g, node);
        case SAMPI_TAGS_DISPATCH: return sampi_tags_dispatch(g, node, end, false);
        case SAMPI_TAGS_TOKEN_DISPATCH: return sampi_tags_dispatch(g, node, end, true);
        case SAMPI_TAGS_TOKEN:
            member = sampi_tags_member(g, node, "token");
            return member < 0 ? sampi_tags_missing(g, node, "token") : sampi_tags_token(g, member, false, 0);
        case SAMPI_TAGS_EXCLUDE_TOKEN: return sampi_tags_tokens(g, node, end, false);
        case SAMPI_TAGS_ANY_TOKENS: return sampi_tags_tokens(g, node, end, true);
        case SAMPI_TAGS_BY_TOKEN: return sampi_tags_by_token(g, node, end);
        default: return g->x.status;
    }
}

/* Adds the texts of a structural tag to the tree, and returns their expression. The document is
   {"type":"structural_tag","format":...}, or it has the older form with "structures" and "triggers". `options` is the
   parameter `root` of samp_grammar_init. If the document is not valid, the function fills *error and returns a negative
   status. */
static SAMPI_COLD sampi_node sampi_tags_tree(sampi_tree *tree, const char *text, const char *options,
                                             samp_text_error *error)
{
    static const uint32_t zero[1][2] = { { 0, 0 } };
    const sampi_tags_end none = { SAMPI_NEVER, -1 };
    sampi_tags g;
    memset(&g, 0, sizeof g);
    memset(error, 0, sizeof *error);
    g.x.tree = tree;
    g.x.status = sampi_json_read(&g.x.doc, text, strlen(text), error);
    sampi_schema_words words;
    if (!g.x.status) g.x.status = sampi_schema_options(&g.x, options, &words);
    if (g.x.status) {
        sampi_json_free(&g.x.doc);
        return g.x.status;
    }
    sampi_schema_use(&g.x, &words);
    g.in_order = words.ordered;
    g.any = sampi_tree_repeat(tree, sampi_tree_class(tree, zero, 1, true), 0, -1);
    g.bytes = sampi_tree_repeat(tree, sampi_tree_byte(tree, 0, 255), 0, -1);
    const sampi_node made[] = { g.any, g.bytes, g.x.comma, g.x.colon };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sampi_tags_check(&g, 0, made[i]);
    sampi_node all = g.x.status;
    const int32_t type = sampi_tags_member(&g, 0, "type");
    size_t n = 0;
    const char *name = sampi_tags_is(&g, type, SAMPI_JSON_STRING)
                           ? sampi_schema_doc_text(&g.x, sampi_schema_doc(&g.x, type)->text, &n)
                           : "";
    if (!sampi_tags_is(&g, 0, SAMPI_JSON_OBJECT)) {
        all = sampi_tags_malformed(&g, 0, "expected an object");
    } else if (type >= 0 && (n != 14 || memcmp(name, "structural_tag", 14))) {
        all = sampi_tags_malformed(&g, type, "expected structural_tag");
    } else if (sampi_tags_member(&g, 0, "structures") >= 0) {
        sampi_tags_allow_members(&g, 0, "type;structures;triggers");
        all = g.x.status ? g.x.status : sampi_tags_triggered(&g, 0, none, true);
    } else {
        sampi_tags_allow_members(&g, 0, "type;format");
        const int32_t format = g.x.status ? -1 : sampi_tags_required(&g, 0, "format", SAMPI_JSON_OBJECT);
        all = format < 0 ? g.x.status : sampi_tags_format(&g, format, none);
    }
    if (g.x.status) all = g.x.status;
    sampi_grammar_vec_free(&g.x.deriver.work);
    sampi_grammar_vec_free(&g.x.deriver.queued.slots);
    SAMP_FREE(g.x.deriver.memo);
    sampi_json_free(&g.x.doc);
    return all;
}
