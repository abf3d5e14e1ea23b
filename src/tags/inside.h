/* ---- structural tags: schemas, grammars and regular expressions in them ----
   A JSON schema within a structural tag is a part of the document; a grammar or a regular expression is a string of the
   document. Each of them is read by its own reader from a copy of its text. The position of an error in the copy is
   converted to the position in the document. */

/* Returns the offset in the document's source of byte `at` of a string. An escape in the source may be several bytes of
   the string. */
static SAMPI_COLD size_t sampi_tags_source_at(const sampi_json *doc, int32_t string, size_t at)
{
    const char *from = doc->source + doc->nodes[string].at + 1, *p = from;
    for (size_t n = 0; n < at && *p != '"';) {
        if (*p != '\\') {
            p++, n++;
        } else if (p[1] != 'u') {
            p += 2, n++;
        } else {
            const int high = sampi_hex_digit(p[2]) << 4 | sampi_hex_digit(p[3]);
            const bool pair = high >= 0xd8 && high < 0xdc; /* the second surrogate follows */
            n += pair ? 4 : high >= 8 ? 3 : high > 0 || sampi_hex_digit(p[4]) >= 8 ? 2 : 1;
            p += pair ? 12 : 6;
        }
    }
    return (size_t)(p - doc->source);
}

/* Converts the error of another reader to an error of the document, and returns its status. That reader has read the n
   bytes at `text`, which begin at `node` of the document. The error of a schema contains a JSON pointer within the
   schema, which is appended to the pointer of the node. */
static SAMPI_COLD sampi_node sampi_tags_inner_error(sampi_tags *g, int32_t node, const char *text, size_t n,
                                                    const samp_text_error *inner)
{
    const sampi_json *doc = &g->x.doc;
    char message[sizeof inner->message];
    const bool schema = inner->message[0] == '/' || inner->message[0] == ':';
    size_t offset = 0, line = 1, column = 1;
    if (g->x.status) return g->x.status;
    for (; offset < n && (line < inner->line || column < inner->column); offset++) {
        const bool ends = text[offset] == '\n' || (text[offset] == '\r' && text[offset + 1] != '\n');
        line += ends;
        column = ends ? 1 : column + 1;
    }
    sampi_schema_pointer(&g->x, node, message, sizeof message);
    size_t used = strlen(message), length = strlen(inner->message);
    if (used + 2 + length + 1 > sizeof message) used = 0;
    if (used && !schema) memcpy(message + used, ": ", 2);
    if (used && !schema) used += 2;
    memcpy(message + used, inner->message, length + 1);
    g->x.status = inner->status;
    const bool string = doc->nodes[node].kind == SAMPI_JSON_STRING;
    offset = string ? sampi_tags_source_at(doc, node, offset) : doc->nodes[node].at + offset;
    return sampi_json_fail(doc, offset, inner->status, message);
}

/* Returns the number of bytes of a value in the document's source. */
static SAMPI_COLD size_t sampi_tags_value_length(const sampi_json *doc, int32_t node)
{
    const char *from = doc->source + doc->nodes[node].at, *p = from;
    int32_t depth = 0;
    do {
        if (*p == '"')
            for (p++; *p != '"'; p++) p += *p == '\\';
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        p++;
    } while (depth > 0);
    if (doc->nodes[node].kind < SAMPI_JSON_STRING) p += strcspn(p, ",]} \t\r\n");
    return (size_t)(p - from);
}

/* Returns a copy of a text with a 0 behind it; NULL, with an error, if there is no memory. */
static SAMPI_COLD char *sampi_tags_copy(sampi_tags *g, int32_t node, const char *text, size_t n)
{
    char *copy = g->x.status ? NULL : (char *)SAMP_MALLOC(n + 1);
    if (!copy) {
        sampi_tags_check(g, node, SAMP_E_NOMEM);
        return NULL;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

/* Returns the expression of a JSON schema. Members of objects come in the schema's order (in_order), or in any order.
   The caller takes in_order from the format's member "any_order" if there is one, else from the grammar's options. The
   same is true of `space`, the most characters of white space in a row, with "max_whitespace_cnt" (-1: as the options
   say). With a style the values are tags; if the options allow no white space, one character may come around a tag,
   because models write a line break there. */
static SAMPI_COLD sampi_node sampi_tags_schema(sampi_tags *g, int32_t schema, bool in_order, int32_t space,
                                               const sampi_style *style)
{
    samp_text_error inner;
    sampi_schema_words words = g->x.words;
    if (g->x.status) return g->x.status;
    words.ordered = in_order;
    if (space >= 0) words.space = space;
    if (space >= 0) words.spaced = false;
    words.style = style;
    words.tag_space = space < 0 && words.space == 0 ? 1 : words.space;
    const size_t n = sampi_tags_value_length(&g->x.doc, schema);
    char *text = sampi_tags_copy(g, schema, g->x.doc.source + sampi_schema_doc(&g->x, schema)->at, n);
    if (!text) return g->x.status;
    sampi_node node = sampi_schema_tree(g->x.tree, text, NULL, &words, &inner);
    if (node < 0) node = sampi_tags_inner_error(g, schema, text, n, &inner);
    SAMP_FREE(text);
    return node;
}

/* Returns the expression of a GBNF grammar. The grammar has rules of its own: their names are removed afterwards, so
   that another grammar of the document may use the same names. */
static SAMPI_COLD sampi_node sampi_tags_gbnf(sampi_tags *g, int32_t string, char *text, size_t n)
{
    samp_text_error inner;
    sampi_reader r;
    sampi_tree *t = g->x.tree;
    int32_t rule = 0;
    const int32_t first = t->rules.n;
    memset(&inner, 0, sizeof inner);
    memset(&r, 0, sizeof r);
    r.tree = t;
    r.error = &inner;
    r.text = r.at = text;
    r.end = text + n;
    int status = sampi_gbnf_read(&r, "root", &rule);
    if (status) sampi_grammar_read_node(&r, status);
    sampi_grammar_vec_free(&r.parts);
    for (int32_t i = first; i < t->rules.n; i++) sampi_grammar_at(t, sampi_grammar_rule_at(t, i)->name)->c = 0;
    return status ? sampi_tags_inner_error(g, string, text, n, &inner)
                  : sampi_tags_check(g, string, sampi_tree_ref(t, rule));
}

/* Returns the expression of {"type":"regex","pattern":string}, or of {"type":"grammar","grammar":string}. */
static SAMPI_COLD sampi_node sampi_tags_string(sampi_tags *g, int32_t string, bool regex)
{
    samp_text_error inner;
    size_t n = 0;
    if (g->x.status) return g->x.status;
    const char *bytes = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, string)->text, &n);
    char *text = sampi_tags_copy(g, string, bytes, n);
    if (!text) return g->x.status;
    sampi_node node;
    if (strlen(text) < n) {
        node = sampi_tags_malformed(g, string, "expected a text without byte 0");
    } else if (regex) {
        memset(&inner, 0, sizeof inner);
        node = sampi_tree_regex(g->x.tree, text, n, false, sampi_tree_class, &inner);
        if (node < 0) node = sampi_tags_inner_error(g, string, text, n, &inner);
    } else {
        node = sampi_tags_gbnf(g, string, text, n);
    }
    SAMP_FREE(text);
    return node;
}
