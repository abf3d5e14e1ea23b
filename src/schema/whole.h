/* ---- schemas: a whole schema ----
   sampi_schema_tree reads the options, looks up the keywords of the document, and makes the node of its root. */

/* Reads the words of `options`, which samp_grammar_init describes. */
static SAMPI_COLD int sampi_schema_options(sampi_schema *x, const char *options, sampi_schema_words *words)
{
    static const char *const known[5] = { "ordered", "compact", "spaced", "space=", "any-number" };
    enum { MOST = 1000 };
    bool set[5] = { false, false, false, false, false };
    int32_t space = -1;
    for (const char *at = options ? options : ""; *at;) {
        size_t n = strcspn(at, " "), i = 0, digits = n > 6 && !memcmp(at, known[3], 6) ? n - 6 : 0;
        while (i < 5 && !(strlen(known[i]) == n - digits && !memcmp(known[i], at, n - digits))) i++;
        for (size_t k = n - digits; k < n && i == 3; k++) {
            const bool digit = at[k] >= '0' && at[k] <= '9';
            space = (k == 6 ? 0 : 10 * space) + (at[k] - '0');
            if (!digit || space > MOST) i = 5;
        }
        if (n && (i == 5 || (i == 3 && !digits)))
            return sampi_json_fail(&x->doc, 0, SAMP_E_RANGE,
                                   "root: expected ordered, any-number, compact, spaced, or space= and at most 1000");
        if (n) set[i] = true;
        at += n + (at[n] == ' ');
    }
    if (set[1] + set[2] + set[3] > 1)
        return sampi_json_fail(&x->doc, 0, SAMP_E_RANGE, "root: compact, spaced and space= exclude each other");
    words->ordered = set[0];
    words->spaced = set[2];
    words->any_number = set[4];
    words->style = NULL;
    words->tag_space = -1;
    words->space = set[1] || set[2] ? 0 : space;
    return SAMP_OK;
}

/* Makes the nodes of white space, as the options say. */
static SAMPI_COLD void sampi_schema_use(sampi_schema *x, const sampi_schema_words *words)
{
    static const uint32_t spaces[3][2] = { { '\t', '\n' }, { '\r', '\r' }, { ' ', ' ' } };
    sampi_tree *t = x->tree;
    const sampi_node any = sampi_tree_repeat(t, sampi_tree_class(t, spaces, 3, false), 0, words->space),
                     behind = words->spaced ? sampi_tree_text(t, " ", 1) : any;
    x->words = *words;
    x->in_order = words->ordered;
    x->space = any;
    x->comma = sampi_tree_seq(t, any, sampi_tree_seq(t, sampi_tree_text(t, ",", 1), behind));
    x->colon = sampi_tree_seq(t, any, sampi_tree_seq(t, sampi_tree_text(t, ":", 1), behind));
}

/* Makes the nodes that every schema needs. */
static SAMPI_COLD void sampi_schema_constants(sampi_schema *x)
{
    sampi_tree *t = x->tree;
    samp_grammar_error error;
    static const char any[] =
        "([^\"\\\\\\x00-\\x1f]|\\\\([\"\\\\/bfnrt]|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
        "|[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2})))";
    static const char number[] = "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?",
                      ended[] = "-?(0|[1-9]\\d*)(\\.\\d{1,24})?([eE][+-]?\\d{1,3})?", digits[] = "0|[1-9]\\d*",
                      fraction[] = "(\\.\\d+)?";
    x->any = sampi_tree_regex(t, any, sizeof any - 1, false, sampi_tree_class, &error);
    x->string = sampi_schema_in_quotes(x, sampi_tree_repeat(t, x->any, 0, -1));
    const char *any_number = sampi_schema_is_plain(x) ? ended : number;
    x->number = sampi_tree_regex(t, any_number, strlen(any_number), false, sampi_tree_class, &error);
    x->digits = sampi_tree_regex(t, digits, sizeof digits - 1, false, sampi_tree_class, &error);
    x->fraction = sampi_tree_regex(t, fraction, sizeof fraction - 1, false, sampi_tree_class, &error);
    x->ended = sampi_schema_optional(
        t, sampi_tree_seq(t, sampi_tree_text(t, ".", 1), sampi_schema_digits(t, '0', '9', 1, SAMPI_PLACES)));
    x->ended_plain = sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)),
                                    sampi_tree_seq(t, x->digits, x->ended));
    x->magnitude = sampi_tree_seq(t, x->digits, x->fraction);
    x->plain = sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), x->magnitude);
    x->character = sampi_schema_range(t, 0, 0x10ffff);
    x->shortest = sampi_schema_in_quotes(x, sampi_tree_repeat(t, x->character, 0, -1));
    if (x->words.style) sampi_schema_style_constants(x);
    const sampi_node made[] = { x->string, x->number, x->digits, x->fraction, x->plain, x->shortest, x->comma };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) sampi_schema_check(x, made[i]);
}

/* Looks up the document's keywords, and finds which draft of JSON schema it follows. */
static SAMPI_COLD int sampi_schema_prepare(sampi_schema *x)
{
    static const char *const names[] = {
#define SAMPI_SCHEMA_NAME(key, name, value) name,
        SAMPI_SCHEMA_KEYS(SAMPI_SCHEMA_NAME)
#undef SAMPI_SCHEMA_NAME
    };
    size_t n_nodes = (size_t)x->doc.n_nodes, n_strings = (size_t)x->doc.n_strings, n = 0;
    size_t size = n_nodes * (2 * sizeof *x->scalars + 3 * sizeof *x->targets) + 4 * n_nodes +
                  n_strings * (4 * sizeof *x->listed + 1);
    x->scalars = (sampi_scalars *)SAMP_MALLOC(size);
    if (!x->scalars) return sampi_json_fail(&x->doc, 0, SAMP_E_NOMEM, "out of memory");
    x->targets = (int32_t *)(x->scalars + 2 * n_nodes);
    x->resource_of = x->targets + n_nodes;
    x->children = x->resource_of + n_nodes;
    x->listed = x->children + n_nodes;
    x->pattern_of = x->listed + n_strings;
    x->value_of = x->pattern_of + n_strings;
    x->marks = x->value_of + n_strings;
    x->scalars_known = (uint8_t *)(x->marks + n_strings);
    x->roles = x->scalars_known + 2 * n_nodes;
    x->n_conditions = x->roles + n_nodes;
    x->key_of = x->n_conditions + n_nodes;
    memset(x->targets, 0xff, n_nodes * sizeof *x->targets); /* -1 */
    memset(x->children, 0, (n_nodes + 4 * n_strings) * sizeof *x->children + 4 * n_nodes + n_strings);
    for (int i = 0; i < SAMPI_KEY_LAST; i++) {
        x->key[i] = sampi_json_find(&x->doc, names[i], strlen(names[i]));
        if (x->key[i] >= 0) x->key_of[x->key[i]] = (uint8_t)(i + 1);
    }
    x->draft = 8;
    int32_t dialect = sampi_json_member(&x->doc, 0, x->key[SAMPI_KEY_SCHEMA]);
    const char *text = "";
    if (dialect >= 0 && sampi_schema_doc(x, dialect)->kind == SAMPI_JSON_STRING)
        text = sampi_schema_doc_text(x, sampi_schema_doc(x, dialect)->text, &n);
    for (size_t i = 0; i + 8 <= n; i++) {
        if (memcmp(text + i, "draft-0", 7)) continue;
        if (text[i + 7] < '4' || text[i + 7] > '7') sampi_schema_refuse(x, dialect, "not a draft from 4 on");
        x->draft = text[i + 7] - '0';
    }
    /* A keyword that does not exist in the document's draft is ignored. */
    static const struct {
        sampi_schema_key key;
        int draft;
    } later[] = { { SAMPI_KEY_CONST, 6 },
                  { SAMPI_KEY_CONTAINS, 6 },
                  { SAMPI_KEY_PROPERTY_NAMES, 6 },
                  { SAMPI_KEY_IF, 7 },
                  { SAMPI_KEY_PREFIX_ITEMS, 8 },
                  { SAMPI_KEY_DEPENDENT_REQUIRED, 8 },
                  { SAMPI_KEY_MIN_CONTAINS, 8 },
                  { SAMPI_KEY_MAX_CONTAINS, 8 },
                  { SAMPI_KEY_DEPENDENT_SCHEMAS, 8 },
                  { SAMPI_KEY_DYNAMIC_REF, 8 },
                  { SAMPI_KEY_RECURSIVE_REF, 8 },
                  { SAMPI_KEY_UNEVALUATED_ITEMS, 8 },
                  { SAMPI_KEY_UNEVALUATED_PROPERTIES, 8 } };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        int32_t *key = &x->key[later[i].key];
        if (x->draft >= later[i].draft || *key < 0) continue;
        x->key_of[*key] = 0;
        *key = -1;
    }
    return x->status;
}

static SAMPI_COLD void sampi_schema_free(sampi_schema *x)
{
    sampi_vec *vecs[] = { &x->goals,   &x->slots,     &x->arena,     &x->stack,        &x->atoms,
                          &x->todo,    &x->queue,     &x->pending,   &x->deriver.work, &x->resources,
                          &x->anchors, &x->addresses, &x->by_anchor, &x->values,       &x->deriver.queued.slots };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) sampi_grammar_vec_free(vecs[i]);
    SAMP_FREE(x->deriver.memo);
    SAMP_FREE(x->scalars);
    SAMP_FREE(x->other.block);
    sampi_json_free(&x->doc);
}

/* Adds the texts that satisfy a JSON schema to the tree, and returns their node. The options are the parameter `root`
   of samp_grammar_init, or, if it is not NULL, `words`. If the text is not a schema or cannot be expressed, the
   function fills *error and returns a status. */
static SAMPI_COLD sampi_node sampi_schema_tree(sampi_tree *tree, const char *text, const char *options,
                                               const sampi_schema_words *words, samp_grammar_error *error)
{
    sampi_schema x;
    sampi_schema_words read;
    memset(&x, 0, sizeof x);
    memset(error, 0, sizeof *error);
    x.tree = tree;
    x.steps = SAMPI_SCHEMA_STEPS;
    int status = sampi_json_read(&x.doc, text, strlen(text), error);
    if (!status && !words) status = sampi_schema_options(&x, options, &read);
    if (!status) sampi_schema_use(&x, words ? words : &read);
    if (!status) status = sampi_schema_prepare(&x);
    sampi_node root = status;
    if (!status) {
        sampi_schema_constants(&x);
        root = sampi_schema_node(&x, 0);
        if (!x.status && !sampi_schema_has_text(&x, root)) sampi_schema_unsatisfiable(&x);
        if (x.status) root = x.status;
    }
    sampi_schema_free(&x);
    return root;
}
