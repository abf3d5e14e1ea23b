/* ---- the settings object, and a vocabulary from a list of tokens ----
   samp_settings holds parameters with copies of all lists (biases, breakers, the order), so that the caller may free
   its own lists. samp_settings_params returns them as samp_params. The second half of this file makes a vocabulary from
   a list of tokens; settings need one to tokenise texts (dry's breakers). */

SAMP_API SAMPI_COLD samp_settings *samp_settings_init(void)
{
    samp_settings *s = (samp_settings *)SAMP_MALLOC(sizeof *s);
    if (s) {
        memset(s, 0, sizeof *s);
        s->params = samp_default_params();
    }
    return s;
}

SAMP_API SAMPI_COLD void samp_settings_free(samp_settings *s)
{
    if (!s) return;
    for (size_t i = 0; i < SAMPI_N_CHAIN_FIELDS; i++)
        if (sampi_is_text_field(&SAMPI_CHAIN_FIELDS[i])) sampi_set_word(&s->params, &SAMPI_CHAIN_FIELDS[i], NULL);
    SAMP_FREE(s->stops.strings);
    SAMP_FREE(s->stops.patterns);
    SAMP_FREE(s->stops.tokens);
    SAMP_FREE(s);
}

SAMP_API SAMPI_COLD const samp_params *samp_settings_params(const samp_settings *s) { return s ? &s->params : NULL; }

SAMP_API SAMPI_COLD int samp_settings_set_vocab(samp_settings *s, int32_t n_vocab,
                                                const char *(*token_bytes)(const samp_vocab *, samp_token, size_t *),
                                                void *user)
{
    if (!s || !token_bytes) return SAMP_E_NULL;
    if (n_vocab < 0) return SAMP_E_RANGE;
    s->vocab.n_vocab = s->params.n_vocab = n_vocab;
    s->vocab.token_bytes = token_bytes;
    s->vocab.user = user;
    s->vocab.eos = s->vocab.eot = -1;
    s->params.vocab = &s->vocab;
    return SAMP_OK;
}

SAMP_API SAMPI_COLD int samp_settings_use_vocab(samp_settings *s, const samp_vocab *vocab)
{
    if (!s) return SAMP_E_NULL;
    if (vocab && vocab->n_vocab < 0) return SAMP_E_RANGE;
    s->params.vocab = vocab;
    if (vocab) s->params.n_vocab = vocab->n_vocab;
    return SAMP_OK;
}

/* ---- a vocabulary from a list ----
   A vocabulary made from a list of tokens. One block of memory holds the struct, the offset of each token's bytes, the
   tokens that end a generation, and the bytes. */

typedef struct sampi_own_vocab {
    samp_vocab base; /* must be the first member: users hold a pointer to it */
    uint32_t *at;    /* [n_vocab + 1] the bytes of token t are bytes [at [t]] to bytes [at [t + 1] - 1] */
    char *bytes;
} sampi_own_vocab;

static const char *sampi_own_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    /* not vocab itself, because settings may hold a copy of `base` */
    const sampi_own_vocab *v = (const sampi_own_vocab *)vocab->user;
    *n_bytes = v->at[token + 1] - v->at[token];
    return v->bytes + v->at[token];
}

/* Checks a list of tokens, and sets *total to the number of bytes of all tokens. */
static SAMPI_COLD int sampi_own_check(const char *bytes, const uint32_t *n_bytes, int32_t n_vocab,
                                      const samp_token *eog, size_t n_eog, size_t *total)
{
    uint64_t sum = 0;
    if (n_vocab < 0 || n_vocab > SAMP_MAX_VOCAB || n_eog > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if ((!n_bytes && n_vocab) || (!eog && n_eog)) return SAMP_E_NULL;
    for (int32_t t = 0; t < n_vocab; t++) sum += n_bytes[t];
    for (size_t i = 0; i < n_eog; i++)
        if (eog[i] < 0 || eog[i] >= n_vocab) return SAMP_E_RANGE;
    if (sum > INT32_MAX) return SAMP_E_RANGE;
    *total = (size_t)sum;
    return sum && !bytes ? SAMP_E_NULL : SAMP_OK;
}

SAMP_API SAMPI_COLD samp_vocab *samp_vocab_init(const char *bytes, const uint32_t *n_bytes, int32_t n_vocab,
                                                const samp_token *eog, size_t n_eog, samp_token eos, samp_token eot,
                                                int *status)
{
    size_t total = 0, at = sizeof(sampi_own_vocab), ends;
    int e = sampi_own_check(bytes, n_bytes, n_vocab, eog, n_eog, &total);
    if (!e && (eos < -1 || eos >= n_vocab || eot < -1 || eot >= n_vocab)) e = SAMP_E_RANGE;
    ends = e ? 0 : at + ((size_t)n_vocab + 1) * sizeof(uint32_t);
    char *block = e ? NULL : (char *)SAMP_MALLOC(ends + n_eog * sizeof(samp_token) + total);
    if (!e && !block) e = SAMP_E_NOMEM;
    if (status) *status = e;
    if (!block) return NULL;
    sampi_own_vocab *v = (sampi_own_vocab *)(void *)block;
    memset(v, 0, sizeof *v);
    v->at = (uint32_t *)(void *)(block + at);
    v->bytes = block + ends + n_eog * sizeof(samp_token);
    v->at[0] = 0;
    for (int32_t t = 0; t < n_vocab; t++) v->at[t + 1] = v->at[t] + n_bytes[t];
    if (total) memcpy(v->bytes, bytes, total);
    if (n_eog) memcpy(block + ends, eog, n_eog * sizeof *eog);
    v->base.n_vocab = n_vocab;
    v->base.token_bytes = sampi_own_bytes;
    v->base.user = v;
    v->base.eog = (const samp_token *)(const void *)(block + ends);
    v->base.n_eog = n_eog;
    v->base.eos = eos;
    v->base.eot = eot;
    return &v->base;
}

SAMP_API void samp_vocab_free(samp_vocab *vocab) { SAMP_FREE(vocab); }
