/* ---- grammars: the sampler ----
   This room has samp_init_grammar and the other public functions that take such a sampler (samp_grammar_mask, _sample,
   _forced, ...). The sampler's ctx is a matcher. The sampler's apply masks the tokens that the matcher does not allow.
   Its accept reads a token; if the token is not allowed, it returns SAMP_E_RANGE, and nothing has changed. */

static const char *sampi_grammar_name(const samp_sampler *s)
{
    (void)s;
    return "grammar";
}

/* Is the grammar in a schedule that is not active now? Then it reads no token, and allows every token. */
static bool sampi_grammar_sleeps(const samp_sampler *sampler)
{
    const sampi_sampler *s = ((const sampi_sampler *)sampler)->owner;
    while (s && sampi_n_active(s)) s = s->owner;
    return s != NULL;
}

static int sampi_grammar_accept(samp_sampler *s, samp_token token)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    const sampi_sampler *top = (const sampi_sampler *)s;
    while (top->owner) top = top->owner;
    m->depth = top->past.depth > 0 ? top->past.depth : 1; /* keeps at least one position, for sampi_life_unaccept */
    return sampi_grammar_sleeps(s) ? sampi_matcher_pass(m) : sampi_matcher_accept(m, token);
}
static int sampi_grammar_rollback(samp_sampler *s, int32_t n)
{
    return sampi_matcher_rollback((sampi_matcher *)s->ctx, n);
}
static void sampi_grammar_reset(samp_sampler *s) { sampi_matcher_reset((sampi_matcher *)s->ctx); }

/* Makes the mask of the tokens that are allowed now. If these are all tokens of the vocabulary, *all becomes true, and
   the mask is not written. */
static int sampi_grammar_bits(samp_sampler *s, uint32_t *bits, bool *all)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    *all = sampi_grammar_sleeps(s);
    if (*all) return SAMP_OK;
    if (!m->lazy.waiting) return sampi_matcher_mask(m, bits);
    const int status = sampi_grammar_find_refused(m);
    *all = !status && m->lazy.refused.n == 0;
    if (!status && !*all) sampi_grammar_mask_but(m, m->lazy.refused.n, bits);
    return status;
}

/* Masks the tokens that are not allowed. */
static int sampi_grammar_apply(samp_sampler *s, samp_token_data_array *cur)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    bool any = false, all, masks;
    const int status = sampi_grammar_bits(s, m->bits, &all);
    masks = !all;
    for (size_t i = 0; i < cur->size && !masks; i++) masks = (uint32_t)cur->data[i].id >= m->index->n_vocab;
    if (status || !masks) return status;
    if (all) sampi_grammar_mask_but(m, 0, m->bits);
    for (size_t i = 0; i < cur->size && !any; i++) {
        uint32_t id = (uint32_t)cur->data[i].id;
        any = id < m->index->n_vocab && (m->bits[id / 32] >> id % 32 & 1) && cur->data[i].logit >= -FLT_MAX;
    }
    if (!any) return SAMP_E_EMPTY;
    for (size_t i = 0; i < cur->size; i++) {
        uint32_t id = (uint32_t)cur->data[i].id;
        if (id < m->index->n_vocab && (m->bits[id / 32] >> id % 32 & 1)) continue;
        if (cur->data[i].logit >= -FLT_MAX) cur->sorted = false;
        cur->data[i].logit = -INFINITY;
    }
    return SAMP_OK;
}

static const samp_sampler_i *sampi_grammar_iface(void)
{
    static const samp_sampler_i iface = {
        sampi_grammar_name,    sampi_grammar_accept, sampi_grammar_apply, sampi_grammar_reset, samp_clone, NULL, NULL,
        sampi_grammar_rollback
    };
    return &iface;
}

/* Makes the sampler. `lazy` is NULL, or the triggers of a lazy grammar; the sampler takes over their arrays. */
static samp_sampler *sampi_grammar_init(const samp_vocab_index *index, const samp_grammar *grammar, sampi_lazy *lazy)
{
    sampi_sampler t = sampi_blank(SAMPI_GRAMMAR);
    sampi_require(&t, index != NULL, SAMP_E_NULL, "vocab");
    sampi_require(&t, grammar != NULL, SAMP_E_NULL, "grammar");
    sampi_shared *shared = t.status ? NULL : sampi_grammar_shared_of(index, grammar);
    sampi_matcher *m = shared ? sampi_matcher_blank(shared) : NULL;
    if (m && lazy) sampi_matcher_adopt(m, lazy);
    if (!m && lazy) sampi_grammar_lazy_free(lazy);
    if (!t.status && !m) return NULL;
    int status = m ? sampi_matcher_make(m) : SAMP_OK;
    sampi_require(&t, !status, status, "grammar");
    t.base.iface = m && !status ? sampi_grammar_iface() : t.base.iface;
    t.base.ctx = status ? NULL : m;
    if (status) sampi_matcher_free(m);
    if (status == SAMP_E_NOMEM) return NULL;
    samp_sampler *s = sampi_new(&t);
    if (!s) sampi_matcher_free((sampi_matcher *)t.base.ctx);
    return s;
}

SAMP_API samp_sampler *samp_init_grammar(const samp_vocab_index *index, const samp_grammar *grammar)
{
    return sampi_grammar_init(index, grammar, NULL);
}

static samp_sampler *sampi_grammar_init_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                             const char *const *texts, size_t n_texts, bool patterns,
                                             const samp_token *tokens, size_t n_tokens)
{
    sampi_lazy lazy;
    const char *field = NULL;
    memset(&lazy, 0, sizeof lazy);
    if (!index || !grammar) return sampi_grammar_init(index, grammar, NULL);
    int status = sampi_grammar_lazy_init(&lazy, texts, n_texts, patterns, tokens, n_tokens, (int32_t)index->n_vocab,
                                         &field);
    if (!status) return sampi_grammar_init(index, grammar, &lazy);
    sampi_grammar_lazy_free(&lazy);
    if (status == SAMP_E_NOMEM) return NULL;
    sampi_sampler t = sampi_blank(SAMPI_GRAMMAR);
    sampi_require(&t, false, status, field);
    return sampi_new(&t);
}

SAMP_API samp_sampler *samp_init_grammar_lazy(const samp_vocab_index *index, const samp_grammar *grammar,
                                              const char *const *words, size_t n_words, const samp_token *tokens,
                                              size_t n_tokens)
{
    return sampi_grammar_init_lazy(index, grammar, words, n_words, false, tokens, n_tokens);
}

SAMP_API samp_sampler *samp_init_grammar_lazy_patterns(const samp_vocab_index *index, const samp_grammar *grammar,
                                                       const char *const *patterns, size_t n_patterns,
                                                       const samp_token *tokens, size_t n_tokens)
{
    return sampi_grammar_init_lazy(index, grammar, patterns, n_patterns, true, tokens, n_tokens);
}

/* Returns the matcher of a sampler. Returns NULL and sets *status if the sampler has an error or is not a grammar. */
static sampi_matcher *sampi_matcher_of(const samp_sampler *s, int *status)
{
    *status = s ? samp_status(s, NULL) : SAMP_E_NULL;
    if (!*status && ((const sampi_sampler *)s)->kind != SAMPI_GRAMMAR) *status = SAMP_E_UNSUPPORTED;
    return *status ? NULL : (sampi_matcher *)s->ctx;
}

SAMP_API int samp_set_grammar_limits(samp_sampler *s, size_t max_bytes, int64_t max_steps)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (!m) return status;
    if (max_bytes < 1 << 16 || max_steps < 1024) return SAMP_E_RANGE;
    SAMPI_SIZE_PUT(&m->shared->account.most, max_bytes);
    m->max_steps = max_steps;
    return SAMP_OK;
}

SAMP_API int samp_grammar_stats(const samp_sampler *s, samp_grammar_usage *usage)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && !usage) return SAMP_E_NULL;
    if (!m || !sampi_grammar_begin_call(m)) return m ? m->d.status : status;
    if (sampi_grammar_use_cache(m, NULL, NULL)) {
        sampi_shared *h = m->shared;
        memset(usage, 0, sizeof *usage);
        usage->n_states = (size_t)SAMPI_INT_GET(&m->cache->n_states) - 1;
        usage->n_entries = (size_t)SAMPI_INT_GET(&m->cache->n_entries);
        usage->n_bytes = SAMPI_SIZE_GET(&h->account.bytes) + SAMPI_SIZE_GET(&h->account.cache_bytes) +
                         SAMPI_SIZE_GET(&h->bytes_gone);
        usage->max_bytes = SAMPI_SIZE_GET(&h->account.most);
        usage->n_renewals = SAMPI_SIZE_GET(&h->renewals);
        sampi_workspace *space = (sampi_workspace *)SAMPI_PTR_GET(&h->workspaces);
        for (; space; space = space->behind) {
            usage->n_masks += SAMPI_SIZE_GET(&space->masks);
            usage->n_hits += SAMPI_SIZE_GET(&space->hits);
        }
    }
    sampi_grammar_end_call(m);
    return m->d.status;
}

SAMP_API int samp_grammar_mask(samp_sampler *s, uint32_t *bits)
{
    int status;
    bool all = false;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m) status = bits ? sampi_grammar_bits(s, bits, &all) : (int)SAMP_E_NULL;
    if (all) sampi_grammar_mask_but(m, 0, bits);
    return status;
}

SAMP_API int samp_grammar_prepare(samp_sampler *s, int64_t budget)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && budget < 1) return SAMP_E_RANGE;
    return m ? sampi_matcher_prepare(m, budget) : status;
}

SAMP_API int samp_grammar_is_complete(const samp_sampler *s)
{
    int status;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && !m->lazy.waiting) status = sampi_matcher_find_position(m);
    return status ? status : sampi_matcher_ends(m) && !m->lazy.waiting;
}

SAMP_API int samp_grammar_is_awaiting(const samp_sampler *s)
{
    int status;
    const sampi_matcher *m = sampi_matcher_of(s, &status);
    return m ? m->lazy.waiting : status;
}

/* Limits *n, the length of a row, to the vocabulary: tokens above it are masked, so the row may end before them. In
   llama.cpp's arithmetic masked tokens count, so there such a row is SAMP_E_RANGE. */
static int sampi_grammar_within_vocabulary(const sampi_matcher *m, const sampi_sampler *chain, size_t *n)
{
    if (*n <= m->index->n_vocab) return SAMP_OK;
    *n = m->index->n_vocab;
    return sampi_is_llama_cpp(chain) ? (int)SAMP_E_RANGE : SAMP_OK;
}

/* Draws a token for samp_grammar_sample: without the grammar, and once more with its mask if the grammar does not allow
   the token. */
static samp_token sampi_grammar_draw_beside(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                            size_t n_vocab)
{
    sampi_matcher *m = (sampi_matcher *)grammar->ctx;
    const samp_token token = samp_draw(chain, logits, n_vocab);
    int status = token < 0 ? token : sampi_grammar_sleeps(grammar) ? 1 : sampi_matcher_allows(m, token);
    if (status) return status < 0 ? status : token;
    status = samp_grammar_mask(grammar, m->bits);
    if (!status) status = sampi_grammar_within_vocabulary(m, (const sampi_sampler *)chain, &n_vocab);
    return status ? status : sampi_sample_one(chain, logits, n_vocab, m->bits, NULL, false);
}

SAMP_API samp_token samp_grammar_sample(samp_sampler *chain, samp_sampler *grammar, const float *logits,
                                        size_t n_vocab)
{
    int status;
    const sampi_matcher *m = sampi_matcher_of(grammar, &status);
    if (!status && !chain) status = SAMP_E_NULL;
    if (!status && n_vocab && n_vocab < m->index->n_vocab) status = SAMP_E_RANGE;
    if (status) return status;
    ((sampi_sampler *)chain)->beside = (const sampi_sampler *)grammar;
    const samp_token token = sampi_grammar_draw_beside(chain, grammar, logits, n_vocab);
    ((sampi_sampler *)chain)->beside = NULL;
    status = token < 0 ? token : samp_accept(grammar, token);
    if (status) return status;
    status = samp_accept(chain, token);
    /* A custom sampler of the chain has refused the token. So the grammar takes it back, even if no tokens are kept for
       a rollback. */
    if (status && samp_rollback(grammar, 1)) sampi_life_unaccept((sampi_sampler *)grammar);
    return status ? status : token;
}
