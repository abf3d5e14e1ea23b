/* ---- structural tags: strings, tokens and free text ----
   This room makes the expressions (nodes of the grammar's tree) of which formats consist. Free text is any text without
   certain strings: triggers, excluded strings, and the end of the tag around it. */

static SAMPI_COLD sampi_node sampi_tags_text(sampi_tags *g, int32_t string)
{
    size_t n;
    const char *text = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, string)->text, &n);
    return sampi_tags_check(g, string, sampi_tree_text(g->x.tree, text, n));
}

/* Returns the expression of any one string of a list, or of a single string; NEVER for an empty list. With `empty` an
   empty string is allowed in the list. */
static SAMPI_COLD sampi_node sampi_tags_strings(sampi_tags *g, int32_t list, bool empty)
{
    const bool alone = sampi_tags_is(g, list, SAMPI_JSON_STRING);
    sampi_node words = SAMPI_NEVER;
    if (!alone && !sampi_tags_is(g, list, SAMPI_JSON_ARRAY))
        return sampi_tags_malformed(g, list, "expected a list of texts");
    for (int32_t i = alone ? list : sampi_schema_doc(&g->x, list)->first; i >= 0;
         i = alone ? -1 : sampi_schema_doc(&g->x, i)->next) {
        if (!sampi_tags_is(g, i, SAMPI_JSON_STRING)) return sampi_tags_malformed(g, i, "expected a text");
        const sampi_node text = sampi_tags_text(g, i);
        if (text == SAMPI_EMPTY && !empty) return sampi_tags_malformed(g, i, "expected a text that is not empty");
        words = sampi_tree_alt(g->x.tree, words, text);
    }
    return sampi_tags_check(g, list, words);
}

/* Returns the expression of the strings that free text must not contain: those of the member "excludes", and the end of
   the tag around the free text. */
static SAMPI_COLD sampi_node sampi_tags_excluded(sampi_tags *g, int32_t node, sampi_tags_end end)
{
    const int32_t excludes = sampi_tags_member(g, node, "excludes");
    sampi_node words = excludes < 0 ? (sampi_node)SAMPI_NEVER : sampi_tags_strings(g, excludes, false);
    return sampi_tree_alt(g->x.tree, words, end.words);
}

/* Returns the expression of all texts that contain one of the words: anywhere, or, with `before`, at a position where
   it ends before the text's last byte. */
static SAMPI_COLD sampi_node sampi_tags_containing(sampi_tags *g, sampi_node words, bool before)
{
    sampi_tree *t = g->x.tree;
    sampi_node behind = g->bytes;
    if (before) behind = sampi_tree_seq(t, sampi_tree_byte(t, 0, 255), behind);
    return words == SAMPI_NEVER ? words : sampi_tree_seq(t, g->bytes, sampi_tree_seq(t, words, behind));
}

/* Returns the expression of the texts of a that are not texts of b. */
static SAMPI_COLD sampi_node sampi_tags_and_not(sampi_tags *g, sampi_node a, sampi_node b)
{
    const sampi_node not_b = b <= SAMPI_NEVER ? b : sampi_tree_node(g->x.tree, SAMPI_NODE_NOT, b, 0, 0);
    return not_b == SAMPI_NEVER ? a : sampi_tree_and(g->x.tree, a, not_b);
}

/* Returns the expression of free text without the words, of at most `most` characters (-1: any number). */
static SAMPI_COLD sampi_node sampi_tags_free_text(sampi_tags *g, sampi_node words, int32_t most)
{
    static const uint32_t zero[1][2] = { { 0, 0 } };
    sampi_tree *t = g->x.tree;
    const sampi_node any = most < 0 ? g->any : sampi_tree_repeat(t, sampi_tree_class(t, zero, 1, true), 0, most);
    return sampi_tags_and_not(g, any, sampi_tags_containing(g, words, false));
}

/* Returns the expression of free text that ends with `trigger` and contains no excluded word. None of `triggers` may
   end before the text's last byte. */
static SAMPI_COLD sampi_node sampi_tags_text_up_to(sampi_tags *g, sampi_node trigger, sampi_node triggers,
                                                   sampi_node excluded)
{
    sampi_tree *t = g->x.tree;
    const sampi_node before = sampi_tags_containing(g, triggers, true),
                     out = sampi_tags_containing(g, excluded, false);
    return sampi_tags_and_not(g, sampi_tree_seq(t, g->any, trigger), sampi_tree_alt(t, before, out));
}

/* Returns the expression of a token, which the document gives by its number or its text; with `negated` the expression
   of any other token, which is not one of those that the TOKEN node `also` excludes (0: none). */
static SAMPI_COLD sampi_node sampi_tags_token(sampi_tags *g, int32_t value, bool negated, sampi_node also)
{
    sampi_tree *t = g->x.tree;
    const bool text = sampi_tags_is(g, value, SAMPI_JSON_STRING);
    if (also < 0 || g->x.status) return g->x.status;
    if (!text && !sampi_tags_is(g, value, SAMPI_JSON_NUMBER))
        return sampi_tags_malformed(g, value, "expected a token: a number or a text");
    const int32_t token = text ? sampi_tags_text(g, value) : sampi_tags_integer(g, value, 0);
    if (text && token == SAMPI_EMPTY) return sampi_tags_malformed(g, value, "expected a token's text");
    const sampi_node node = token < 0 ? token
                                      : sampi_tree_node(t, SAMPI_NODE_TOKEN, token, negated | (text ? 2 : 0), also);
    return sampi_tags_check(g, value, node);
}

/* Returns whether two tokens of the document are written in the same way. */
static SAMPI_COLD bool sampi_tags_same_token(const sampi_tags *g, int32_t a, int32_t b)
{
    return sampi_schema_doc(&g->x, a)->kind == sampi_schema_doc(&g->x, b)->kind &&
           sampi_schema_doc(&g->x, a)->text == sampi_schema_doc(&g->x, b)->text;
}

/* Returns a TOKEN node that excludes the tokens of a format: those in the member "exclude_tokens", and the one that
   ends the tag around the format; 0 if there is none. */
static SAMPI_COLD sampi_node sampi_tags_excluded_tokens(sampi_tags *g, int32_t node, sampi_tags_end end)
{
    const int32_t list = sampi_tags_member(g, node, "exclude_tokens");
    sampi_node all = end.token < 0 ? 0 : sampi_tags_token(g, end.token, true, 0);
    if (list >= 0 && !sampi_tags_is(g, list, SAMPI_JSON_ARRAY))
        return sampi_tags_malformed(g, list, "expected a list of tokens");
    for (int32_t i = list < 0 ? -1 : sampi_schema_doc(&g->x, list)->first; i >= 0;
         i = sampi_schema_doc(&g->x, i)->next)
        all = sampi_tags_token(g, i, true, all);
    return all;
}

/* Returns the expression of any token that the TOKEN node `but` does not exclude (0: any token). */
static SAMPI_COLD sampi_node sampi_tags_any_token(sampi_tags *g, int32_t node, sampi_node but)
{
    if (g->x.status) return g->x.status;
    return but ? but : sampi_tags_check(g, node, sampi_tree_node(g->x.tree, SAMPI_NODE_TOKEN, -1, 1, 0));
}
