/* ---- the settings themselves ---- */

SAMP_API SAMPI_COLD samp_settings *samp_settings_new(void)
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
        if (SAMPI_CHAIN_FIELDS[i].type == SAMPI_WORD) sampi_set_word(&s->params, &SAMPI_CHAIN_FIELDS[i], NULL);
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
