/* ---- grammars: samp_grammar_init ----
   This room reads a text as a GBNF grammar (gbnf.h), a regular expression (regex.h), a JSON schema (schema/whole.h; so
   this room comes after the schemas) or a structural tag (tags/), and finishes the tree (finishing.h). The result is a
   samp_grammar, or an error with its position in the text. */

/* Reads the text into g's tree. *rule becomes the number of the root rule. */
static int sampi_grammar_read(samp_grammar *g, samp_grammar_kind kind, sampi_reader *r, const char *root,
                              int32_t *rule)
{
    if (kind == SAMP_GRAMMAR_GBNF) return sampi_gbnf_read(r, root ? root : "root", rule);
    if (kind != SAMP_GRAMMAR_REGEX && kind != SAMP_GRAMMAR_JSON_SCHEMA && kind != SAMP_GRAMMAR_STRUCTURAL_TAG)
        return sampi_grammar_expected(r, r->at, SAMP_E_RANGE, "expected a samp_grammar_kind");
    sampi_node body = kind == SAMP_GRAMMAR_JSON_SCHEMA ? sampi_schema_tree(&g->tree, r->text, root, NULL, r->error)
                      : kind == SAMP_GRAMMAR_STRUCTURAL_TAG
                          ? sampi_tags_tree(&g->tree, r->text, root, r->error)
                          : sampi_tree_regex(&g->tree, r->text, strlen(r->text), false, sampi_tree_class, r->error);
    if (body >= 0 && sampi_grammar_is_dead(&g->tree, body))
        return sampi_grammar_expected(r, r->text, SAMP_E_EMPTY, "no text matches");
    *rule = sampi_tree_rule(&g->tree, "", 0);
    return sampi_tree_define(&g->tree, *rule, body);
}

SAMP_API samp_grammar *samp_grammar_init(samp_grammar_kind kind, const char *text, const char *root,
                                         samp_grammar_error *error)
{
    samp_grammar_error mine = { SAMP_OK, 0, 0, "" };
    sampi_reader r;
    int32_t rule = 0;
    memset(&r, 0, sizeof r);
    r.error = error ? error : &mine;
    memset(r.error, 0, sizeof *r.error);
    r.text = r.at = text ? text : "";
    r.end = r.text + strlen(r.text);
    samp_grammar *g = (samp_grammar *)SAMP_MALLOC(sizeof *g);
    sampi_class *classes = g ? (sampi_class *)SAMP_MALLOC(SAMPI_CLASSES * sizeof *classes) : NULL;
    int status = g && classes ? SAMP_OK : SAMP_E_NOMEM;
    if (g) memset(g, 0, sizeof *g);
    if (classes) {
        memset(classes, 0, SAMPI_CLASSES * sizeof *classes);
        r.tree = &g->tree;
        status = sampi_tree_init(&g->tree);
        g->tree.classes = classes;
        if (!status && !text) status = sampi_grammar_expected(&r, r.at, SAMP_E_NULL, "expected a text, not NULL");
        if (!status) status = sampi_grammar_read(g, kind, &r, root, &rule);
        if (!status) status = sampi_grammar_finish(g, rule);
    }
    if (status) sampi_grammar_read_node(&r, status);
    sampi_grammar_vec_free(&r.parts);
    SAMP_FREE(classes);
    if (g) g->tree.classes = NULL;
    if (!status) return g;
    samp_grammar_free(g);
    return NULL;
}

SAMP_API void samp_grammar_free(samp_grammar *g)
{
    if (!g) return;
    for (sampi_shared *shared = g->shared, *behind; shared; shared = behind) {
        behind = shared->behind;
        sampi_grammar_shared_free(shared);
    }
    sampi_tree_free(&g->tree);
    SAMP_FREE(g);
}
