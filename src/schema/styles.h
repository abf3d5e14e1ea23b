/* ---- schemas: values in tags ----
   Some models write the arguments of a tool call as tags: <parameter=city>Rome</parameter>. A style is the form of such
   tags. The whole value is an object; each of its members is a tag with the member's name and its value. A string is
   written as it is, without quotes and escapes; every other value as JSON. In a nested style, arrays and objects within
   the value are tags too. A reader finds the end of a value by the end of the tag, so no value contains that text.
   White space may come between tags, and around each value; it is not a part of a value, except of a string's that may
   be any.

   While x->raw is true, sets of strings have the strings as they are. sampi_schema_style_turn changes between that
   and JSON. */

/* The types of values, in the order of sampi_style.types. */
enum {
    SAMPI_STYLED_STRING,
    SAMPI_STYLED_NULL,
    SAMPI_STYLED_BOOL,
    SAMPI_STYLED_NUMBER,
    SAMPI_STYLED_ARRAY,
    SAMPI_STYLED_OBJECT,
    SAMPI_STYLED_TYPES
};

/* A style. A member is: before, its name, behind, the text of the value's type, white space if open is not empty, open,
   the value, close. */
typedef struct sampi_style {
    const char *name; /* as structural tags have it */
    const char *before, *behind;
    const char *types[SAMPI_STYLED_TYPES]; /* equal texts are neighbours */
    const char *open, *close;
    const char *item; /* in a nested style the beginning of an item of an array; else NULL */
    bool escapes;     /* in a name, & and " are written &amp; and &quot; */
} sampi_style;

/* Returns the style with this name; NULL if there is none. */
static SAMPI_COLD const sampi_style *sampi_schema_style_named(const char *name, size_t n)
{
#define SAMPI_ALIKE(text) \
    { \
        text, text, text, text, text, text \
    }
#define SAMPI_JSON_BUT(raw) \
    { \
        raw, "false\">", "false\">", "false\">", "false\">", "false\">" \
    }
#define SAMPI_DSML \
    "\xef\xbd\x9c" \
    "DSML" \
    "\xef\xbd\x9c"
    /* clang-format off */
    static const sampi_style styles[] = {
        { "qwen_xml", "<parameter=", ">", SAMPI_ALIKE(""), "", "</parameter>", NULL, false },
        { "minimax_xml", "<parameter name=\"", "\">", SAMPI_ALIKE(""), "", "</parameter>", NULL, false },
        { "deepseek_xml", "<" SAMPI_DSML "parameter name=\"", "\" string=\"", SAMPI_JSON_BUT("true\">"), "",
          "</" SAMPI_DSML "parameter>", NULL, false },
        { "glm_xml", "<arg_key>", "</arg_key>", SAMPI_ALIKE(""), "<arg_value>", "</arg_value>", NULL, false },
        { "cohere_xml", "<cofl:value name=\"", "\" type=\"",
          { "raw\">", "json\">", "json\">", "json\">", "list\">", "dict\">" }, "", "</cofl:value>",
          "<cofl:value type=\"", false },
        { "kimi_k3_xml", "<|open|>argument key=\"", "\" type=\"",
          { "string\"<|sep|>", "null\"<|sep|>", "boolean\"<|sep|>", "number\"<|sep|>", "array\"<|sep|>",
            "object\"<|sep|>" }, "", "<|close|>argument<|sep|>", NULL, true }
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strlen(styles[i].name) == n && !memcmp(styles[i].name, name, n)) return &styles[i];
    return NULL;
}

/* Exchanges n bytes. */
static SAMPI_COLD void sampi_schema_style_swap(void *a, void *b, size_t n)
{
    unsigned char *one = (unsigned char *)a, *other = (unsigned char *)b, byte;
    for (size_t i = 0; i < n; i++) {
        byte = one[i];
        one[i] = other[i];
        other[i] = byte;
    }
}

/* Changes between strings as JSON and strings as they are. */
static SAMPI_COLD void sampi_schema_style_turn(sampi_schema *x)
{
    sampi_string_form *o = &x->other;
    sampi_schema_style_swap(&x->scalars, &o->scalars, sizeof x->scalars);
    sampi_schema_style_swap(&x->scalars_known, &o->scalars_known, sizeof x->scalars_known);
    sampi_schema_style_swap(&x->pattern_of, &o->pattern_of, sizeof x->pattern_of);
    sampi_schema_style_swap(x->formats, o->formats, sizeof x->formats);
    sampi_node *const here[] = { &x->any, &x->string, &x->character, &x->shortest, &x->space, &x->comma },
                      *const there[] = { &o->any, &o->string, &o->character, &o->shortest, &o->space, &o->comma };
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) sampi_schema_style_swap(here[i], there[i], sizeof **here);
    x->raw = !x->raw;
}

/* Makes what a style needs beside JSON's constants. */
static SAMPI_COLD void sampi_schema_style_constants(sampi_schema *x)
{
    static const uint32_t zero[1][2] = { { 0, 0 } }, spaces[3][2] = { { '\t', '\n' }, { '\r', '\r' }, { ' ', ' ' } };
    static const char plain[] = "[A-Za-z_][A-Za-z0-9_]*", safe[] = "[^\\x00-\\x1f\"&<>]+";
    sampi_tree *t = x->tree;
    sampi_string_form *o = &x->other;
    samp_grammar_error error;
    const char *close = x->words.style->close;
    const size_t n_slots = 2 * (size_t)x->doc.n_nodes, n_strings = (size_t)x->doc.n_strings,
                 size = n_slots * (sizeof *o->scalars + 1) + n_strings * sizeof *o->pattern_of;
    o->block = SAMP_MALLOC(size);
    sampi_schema_check(x, o->block ? SAMP_OK : SAMP_E_NOMEM);
    if (!o->block) return;
    memset(o->block, 0, size);
    o->scalars = (sampi_scalars *)o->block;
    o->pattern_of = (int32_t *)(o->scalars + n_slots);
    o->scalars_known = (uint8_t *)(o->pattern_of + n_strings);
    o->any = o->character = sampi_tree_class(t, zero, 1, true);
    o->string = o->shortest = sampi_tree_repeat(t, o->any, 0, -1);
    o->space = o->comma = sampi_tree_repeat(t, sampi_tree_class(t, spaces, 3, false), 0, x->words.tag_space);
    x->plain_name = sampi_tree_regex(t, plain, sizeof plain - 1, false, sampi_tree_class, &error);
    x->safe_name = sampi_tree_regex(t, safe, sizeof safe - 1, false, sampi_tree_class, &error);
    const sampi_node bytes = sampi_tree_repeat(t, sampi_tree_byte(t, 0, 255), 0, -1);
    x->ends = sampi_tree_seq(t, bytes, sampi_tree_seq(t, sampi_tree_text(t, close, strlen(close)), bytes));
    const sampi_node made[] = { o->string, o->space, x->plain_name, x->safe_name, x->ends };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sampi_schema_check(x, made[i]);
}

/* Returns whether a string of the document contains the end of a tag. */
static SAMPI_COLD bool sampi_schema_style_has_end(const sampi_schema *x, int32_t string)
{
    const size_t m = strlen(x->words.style->close);
    size_t n;
    const char *text = sampi_schema_doc_text(x, string, &n);
    for (size_t i = 0; i + m <= n; i++)
        if (!memcmp(text + i, x->words.style->close, m)) return true;
    return false;
}

/* Returns the node of the strings of a set; in a schema with a style only of those without the end of a tag. */
static SAMPI_COLD sampi_node sampi_schema_style_strings(sampi_schema *x, sampi_texts a)
{
    sampi_node node = SAMPI_NEVER;
    if (!x->words.style) return sampi_texts_node(x, a, true);
    if (a.n < 0) return sampi_schema_except(x->tree, sampi_texts_node(x, a, true), x->ends);
    for (int32_t i = 0; i < a.n && node >= 0 && sampi_schema_work(x, SAMPI_HERE, 1); i++) {
        const int32_t string = sampi_schema_doc(x, *sampi_schema_ints(&x->arena, a.list + i))->text;
        if (!sampi_schema_style_has_end(x, string))
            node = sampi_tree_alt(x->tree, sampi_schema_quoted(x, string), node);
    }
    return node;
}

/* Returns the node of a listed name of a member, as a tag has it. A name that would end the tag is refused. */
static SAMPI_COLD sampi_node sampi_schema_style_name(sampi_schema *x, int32_t string)
{
    const sampi_style *s = x->words.style;
    sampi_node node = SAMPI_EMPTY;
    size_t n;
    const char *text = sampi_schema_doc_text(x, string, &n);
    bool good = n > 0;
    for (size_t i = 0; i < n && good; i++) {
        const char c = text[i], *as = s->escapes && c == '&' ? "&amp;" : s->escapes && c == '"' ? "&quot;" : NULL;
        good = as || ((unsigned char)c >= 0x20 && c != '<' && c != '>' && (c != '"' || *s->behind != '"'));
        node = sampi_tree_seq(x->tree, node, sampi_tree_text(x->tree, as ? as : &text[i], as ? strlen(as) : 1));
    }
    if (!good)
        sampi_schema_refuse(x, SAMPI_HERE, "this style has no way to write the name of a member of this object");
    return node;
}
