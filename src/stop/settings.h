/* ---- the stops of a request ----
   samp_text_from_settings: what samp_settings_from has kept of a request (peers/stops.h) becomes a text. */

#define SAMPI_TEXT_OF_REQUEST 1024 /* max_bytes of a request's patterns */

SAMP_API SAMPI_COLD samp_text *samp_text_from_settings(const samp_settings *settings, const samp_vocab *vocab,
                                                       int *status)
{
    int mine = SAMP_OK, *e = status ? status : &mine;
    *e = SAMP_E_NULL;
    if (!settings) return NULL;
    const sampi_stops *s = &settings->stops;
    samp_text_options o = { s->tokens, s->n_tokens, s->min_tokens, s->include_stop, false, false };
    size_t n = 0;
    while (s->strings && s->strings[n]) n++;
    samp_text *t = sampi_text_make(vocab, s->strings, n, &o, e);
    if (t) t->ignores_ends = s->ignores_ends;
    for (size_t i = 0; t && !*e && s->patterns && s->patterns[i]; i++) {
#ifdef SAMPLING_GRAMMAR_DECLARED
        *e = samp_text_add_pattern(t, s->patterns[i], SAMPI_TEXT_OF_REQUEST);
#else
        *e = SAMP_E_UNSUPPORTED;
#endif
    }
    if (!*e) return t;
    samp_text_free(t);
    return NULL;
}
