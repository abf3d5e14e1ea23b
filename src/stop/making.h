/* ---- making a text ----
   samp_text_init, samp_text_from_settings, samp_text_clone: the automaton of the strings, the sorted stop tokens,
   memory for all that a token may change. */

/* Makes an array of a text longer, with zeros. */
static SAMPI_COLD bool sampi_text_grow(samp_text *t, int part, size_t size)
{
    void *block = SAMP_MALLOC(size + 1);
    if (!block) return false;
    memset(block, 0, size + 1);
    if (t->size[part]) memcpy(block, t->part[part], t->size[part] < size ? t->size[part] : size);
    SAMP_FREE(t->part[part]);
    t->part[part] = block;
    t->size[part] = size;
    return true;
}

/* Makes the arrays whose length depends on the longest stop. */
static SAMPI_COLD bool sampi_text_widen(samp_text *t)
{
    const size_t n_past = SAMPI_TEXT_KEPT + t->longest + 4;
    return sampi_text_grow(t, SAMPI_TEXT_PAST, n_past * sizeof(sampi_text_past)) &&
           sampi_text_grow(t, SAMPI_TEXT_BYTES, 4 * sampi_text_room(t));
}

SAMP_API SAMPI_COLD void samp_text_free(samp_text *text)
{
    for (int i = 0; text && i < SAMPI_TEXT_PARTS; i++) SAMP_FREE(text->part[i]);
    SAMP_FREE(text);
}

SAMP_API SAMPI_COLD samp_text *samp_text_clone(const samp_text *text)
{
    samp_text *t = text ? (samp_text *)SAMP_MALLOC(sizeof *t) : NULL;
    bool good = t != NULL;
    if (!t) return NULL;
    *t = *text;
    for (int i = 0; i < SAMPI_TEXT_PARTS; i++) t->part[i] = NULL;
    for (int i = 0; i < SAMPI_TEXT_PARTS && good; i++) {
        t->part[i] = SAMP_MALLOC(t->size[i] + 1);
        good = t->part[i] != NULL;
        if (good && t->size[i]) memcpy(t->part[i], text->part[i], t->size[i]);
    }
    if (good) return t;
    samp_text_free(t);
    return NULL;
}

/* Makes the automaton of the strings; `at` [2 n] is memory for each string's node, and for those that go on
   growing. */
static SAMPI_COLD void sampi_text_strings(samp_text *t, const char *const *stops, uint32_t n, uint32_t *at)
{
    sampi_match_node *nodes = (sampi_match_node *)t->part[SAMPI_TEXT_NODES];
    sampi_match_edge *edges = (sampi_match_edge *)t->part[SAMPI_TEXT_EDGES];
    uint32_t *live = at + n, n_nodes = 1;
    for (uint32_t i = 0; i < n; i++) at[i] = 0, live[i] = i;
    for (size_t depth = 0; n; depth++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t i = live[k];
            sampi_match_node *node = &nodes[at[i] = sampi_match_grow(nodes, edges, t->edge_mask, &n_nodes, at[i],
                                                                     (unsigned char)stops[i][depth])];
            if (stops[i][depth + 1]) {
                node->n = node->depth; /* it has a child: it may begin a stop */
                live[kept++] = i;
            } else if (!node->label) {
                node->label = node->depth;
                node->first = i;
            }
        }
        n = kept;
    }
    for (uint32_t k = 1; k < n_nodes; k++) {
        const sampi_match_node *suffix = &nodes[nodes[k].fail];
        if (!nodes[k].n) nodes[k].n = suffix->n;
        if (!nodes[k].label) nodes[k].label = suffix->label, nodes[k].first = suffix->first;
    }
}

/* Checks the strings, and gets their number of bytes and the length of the longest. */
static SAMPI_COLD int sampi_text_check(const char *const *stops, size_t n_stops, size_t *total, size_t *longest)
{
    *total = *longest = 0;
    if (n_stops && !stops) return SAMP_E_NULL;
    if (n_stops > SAMPI_TEXT_MOST_STOPS) return SAMP_E_RANGE;
    for (size_t i = 0; i < n_stops; i++) {
        const size_t n = stops[i] ? strlen(stops[i]) : 0;
        if (!stops[i]) return SAMP_E_NULL;
        if (!n || n > SAMPI_TEXT_LONGEST || (*total += n) > (size_t)1 << 20) return SAMP_E_RANGE;
        if (*longest < n) *longest = n;
    }
    return SAMP_OK;
}

/* Makes the arrays of a text from checked arguments. */
static SAMPI_COLD int sampi_text_build(samp_text *t, const char *const *stops, size_t total,
                                       const samp_text_options *o)
{
    size_t n_edges = 2;
    while (n_edges < 2 * total + 2) n_edges *= 2;
    t->edge_mask = (uint32_t)n_edges - 1;
    bool good = sampi_text_grow(t, SAMPI_TEXT_NODES, (total + 1) * sizeof(sampi_match_node)) &&
                sampi_text_grow(t, SAMPI_TEXT_EDGES, n_edges * sizeof(sampi_match_edge)) &&
                sampi_text_grow(t, SAMPI_TEXT_ENDS, o->n_stop_tokens * sizeof(sampi_count)) && sampi_text_widen(t);
    uint32_t *at = good ? (uint32_t *)SAMP_MALLOC(2 * (size_t)t->n_strings * sizeof *at + 1) : NULL;
    if (!at) return SAMP_E_NOMEM;
    sampi_text_strings(t, stops, (uint32_t)t->n_strings, at);
    SAMP_FREE(at);
    sampi_count *ends = (sampi_count *)t->part[SAMPI_TEXT_ENDS];
    for (size_t i = 0; i < o->n_stop_tokens; i++) ends[i].token = o->stop_tokens[i];
    sampi_count_sort(ends, (uint32_t)o->n_stop_tokens);
    return SAMP_OK;
}

static SAMPI_COLD samp_text *sampi_text_make(const samp_vocab *vocab, const char *const *stops, size_t n_stops,
                                             const samp_text_options *options, int *status)
{
    static const samp_text_options none = { NULL, 0, 0, false, false, false };
    const samp_text_options *o = options ? options : &none;
    size_t total = 0, longest = 0, n;
    const bool there = vocab && vocab->token_bytes && (vocab->eog || !vocab->n_eog);
    *status = !there || (o->n_stop_tokens && !o->stop_tokens)                              ? (int)SAMP_E_NULL
              : vocab->n_vocab < 0 || vocab->n_vocab > SAMP_MAX_VOCAB || o->min_tokens < 0 ? (int)SAMP_E_RANGE
              : o->n_stop_tokens > SAMP_MAX_VOCAB                                          ? (int)SAMP_E_RANGE
                                                  : sampi_text_check(stops, n_stops, &total, &longest);
    for (size_t i = 0; !*status && i < o->n_stop_tokens; i++)
        if (o->stop_tokens[i] < 0 || o->stop_tokens[i] >= SAMP_MAX_VOCAB) *status = SAMP_E_RANGE;
    samp_text *t = *status ? NULL : (samp_text *)SAMP_MALLOC(sizeof *t);
    if (!t) {
        if (!*status) *status = SAMP_E_NOMEM;
        return NULL;
    }
    memset(t, 0, sizeof *t);
    t->vocab = vocab;
    t->n_strings = (int32_t)n_stops;
    t->longest = longest;
    t->min_tokens = o->min_tokens;
    t->include_stop = o->include_stop;
    t->raw_bytes = o->raw_bytes;
    t->strip_space = o->strip_space;
    for (samp_token token = 0; token < vocab->n_vocab; token++) {
        (void)sampi_bytes_of(vocab, token, &n);
        if (t->longest_token < n) t->longest_token = n;
    }
    *status = sampi_text_build(t, stops, total, o);
    if (!*status) return t;
    samp_text_free(t);
    return NULL;
}

SAMP_API SAMPI_COLD samp_text *samp_text_init(const samp_vocab *vocab, const char *const *stops, size_t n_stops,
                                              const samp_text_options *options, int *status)
{
    int mine;
    return sampi_text_make(vocab, stops, n_stops, options, status ? status : &mine);
}
