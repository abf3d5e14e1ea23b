/* ---- requests: what ends the text ----
   Reads the fields of a request that end its text, into settings.stops (config/numbers.h), from which
   samp_text_from_settings makes a text. What the chain must do for them, the caller learns from samp_request. */

/* Reads a list of tokens that end the text, or a single one. Numbers that no token can have are left out. */
static SAMPI_COLD int sampi_request_stop_tokens(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    sampi_stops *s = &reader->stops;
    const bool one = (f->how & SAMPI_PEER_ONE) && v->kind != SAMPI_JSON_ARRAY;
    double x = 0.0;
    if (!one && v->kind != SAMPI_JSON_ARRAY) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    SAMP_FREE(s->tokens);
    s->n_tokens = 0;
    s->tokens = (samp_token *)SAMP_MALLOC((one ? 1 : (size_t)v->n + 1) * sizeof *s->tokens);
    if (!s->tokens) return sampi_request_bad(reader, node, SAMP_E_NOMEM);
    for (int32_t i = one ? node : v->first; i >= 0; i = one ? -1 : sampi_request_node(reader, i)->next) {
        const int status = sampi_request_whole(reader, i, &x);
        if (status && status != SAMP_E_RANGE) return sampi_request_bad(reader, i, status);
        if (!status && x >= 0.0 && x < SAMP_MAX_VOCAB) s->tokens[s->n_tokens++] = (samp_token)x;
    }
    return SAMP_OK;
}

/* Reads ignore_eos. A program that masks the end tokens needs a caller who does that. */
static SAMPI_COLD int sampi_request_endless(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    int status = sampi_request_truth(reader, node, f);
    if (status || !(f->how & SAMPI_PEER_MASKS)) return status;
    reader->made.mask_ends = reader->stops.ignores_ends;
    if (reader->made.mask_ends && !reader->has_out)
        status = sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED, "expected false: samp_request is NULL");
    return status;
}

/* Reads how many tokens come before an end. The caller must mask the end tokens so long. */
static SAMPI_COLD int sampi_request_least(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const int status = sampi_request_amount(reader, node, f);
    if (status) return status;
    if (f->how & SAMPI_PEER_WAITS) reader->stops.min_tokens = reader->made.min_tokens;
    if (reader->made.min_tokens == 0 || reader->has_out) return SAMP_OK;
    return sampi_request_fail(reader, node, SAMP_E_UNSUPPORTED, "expected 0: samp_request is NULL");
}
