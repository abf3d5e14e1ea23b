/* ---- schemas: JSON's strings ----
   A JSON string can spell a character in several ways. Values and names that a schema constrains have only the shortest
   spelling in the grammar: a line feed is \n, a letter is itself. */

/* Writes the shortest spelling of a code point in a JSON string. Returns the number of bytes. */
static SAMPI_COLD uint32_t sampi_schema_json_spell(char *out, uint32_t c)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *known = c && c < 0x80 ? strchr(escaped, (int)c) : NULL;
    if (!known && c >= 0x20) return sampi_utf8_put(out, c);
    out[0] = '\\';
    if (known) return out[1] = letter[known - escaped], 2;
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

/* Returns the node of a string of the document as a JSON string, with its quotes; in a style, of the string as it
   is. */
static SAMPI_COLD sampi_node sampi_schema_quoted(sampi_schema *x, int32_t string)
{
    size_t n, used = 0;
    const char *text = sampi_schema_doc_text(x, string, &n);
    if (x->raw) return sampi_tree_text(x->tree, text, n);
    char *out = (char *)SAMP_MALLOC(6 * n + 2);
    if (!out) return SAMP_E_NOMEM;
    out[used++] = '"';
    for (const unsigned char *at = (const unsigned char *)text, *end = at + n; at < end;) {
        uint32_t c;
        at += sampi_utf8_get(at, end, &c);
        used += sampi_schema_json_spell(out + used, c);
    }
    out[used++] = '"';
    sampi_node node = sampi_tree_text(x->tree, out, used);
    SAMP_FREE(out);
    return node;
}

/* Returns the node of one code point from lo to hi, in its shortest spelling. */
static SAMPI_COLD sampi_node sampi_schema_range(sampi_tree *t, uint32_t lo, uint32_t hi)
{
    static const uint32_t raw[3][2] = { { 0x20, 0x21 }, { 0x23, 0x5b }, { 0x5d, 0x10ffff } };
    sampi_node node = SAMPI_NEVER;
    for (int i = 0; i < 3; i++) {
        uint32_t range[1][2] = { { lo > raw[i][0] ? lo : raw[i][0], hi < raw[i][1] ? hi : raw[i][1] } };
        if (range[0][0] <= range[0][1])
            node = sampi_tree_alt(t, node, sampi_tree_class(t, (const uint32_t(*)[2])range, 1, false));
    }
    for (uint32_t c = 0; c <= 0x5c; c = c == 0x1f ? 0x22 : c == 0x22 ? 0x5c : c + 1) {
        char out[8];
        if (c >= lo && c <= hi)
            node = sampi_tree_alt(t, node, sampi_tree_text(t, out, sampi_schema_json_spell(out, c)));
    }
    return node;
}

/* Returns the node `inside` between quotes; in a style, `inside` as it is. */
static SAMPI_COLD sampi_node sampi_schema_in_quotes(const sampi_schema *x, sampi_node inside)
{
    sampi_tree *t = x->tree;
    if (x->raw) return inside;
    sampi_node quote = sampi_tree_text(t, "\"", 1);
    return sampi_tree_seq(t, quote, sampi_tree_seq(t, inside, quote));
}
