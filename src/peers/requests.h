/* ---- requests: a whole request ----
   samp_settings_from begins with the defaults of the program whose request it is, reads one field after the other
   (peers/fields.h), then checks what depends on several fields: penalties that look at different texts, sampling that
   is off, an order that depends on min_p. The settings change only if the whole request is good. */

/* Reports an error of a setting that no single field has caused. The error has the name that the setting has in
   requests, and the place of that field if it is in this request. */
static SAMPI_COLD int sampi_request_fail_param(sampi_request_reader *reader, const char *param, int status,
                                               const char *what)
{
    const char *name = param, *object = reader->peer->options;
    const size_t n = strlen(object);
    const int32_t options = n ? sampi_json_member(reader->doc, 0, sampi_json_find(reader->doc, object, n - 1)) : -1;
    bool inside = false;
    int32_t at = -1;
    for (const sampi_peer_field *f = reader->peer->fields; f->name || f->param; f++) {
        if (!f->name || !f->param || strcmp(f->param, param) || at >= 0) continue;
        name = f->name;
        inside = f->how & SAMPI_PEER_INSIDE;
        at = sampi_request_find(reader, inside ? options : 0, name);
        if (at >= 0 || options < 0 || !(reader->peer->reads & SAMPI_PEER_ANYWHERE)) continue;
        at = sampi_request_find(reader, options, name);
        inside = at >= 0;
    }
    sampi_request_set_field(reader, name, strlen(name), inside);
    return sampi_request_fail(reader, at < 0 ? 0 : at, status, what);
}

/* Finds out whether the active penalties count tokens of the prompt too (request.with_prompt), and refuses penalties
   that cannot be combined. If no penalty is active, a window over the whole text is not kept. */
static SAMPI_COLD int sampi_request_penalties(sampi_request_reader *reader)
{
    samp_params *p = &reader->to->params;
    int looks = 0, n = 0;
    for (const sampi_peer_field *f = reader->peer->fields; f->name || f->param; f++) {
        if (!(f->how & (SAMPI_PEER_OUTPUT | SAMPI_PEER_ALL))) continue;
        const sampi_field *field = sampi_field_named(f->param);
        if (sampi_number(field, (const char *)p + field->from) != field->usual) looks |= f->how, n++;
    }
    reader->made.with_prompt = !(looks & SAMPI_PEER_OUTPUT);
    if (p->penalty_last_n == -1 && !looks) p->penalty_last_n = 0;
    if (p->penalty_last_n == -1 && !reader->knows_length) p->penalty_last_n = SAMPI_PEER_WHOLE_TEXT;
    if ((looks & SAMPI_PEER_OUTPUT) && (looks & SAMPI_PEER_ALL))
        return sampi_request_fail_param(reader, "penalty_repeat", SAMP_E_UNSUPPORTED,
                                        "expected no other penalty, which would look at generated tokens only");
    if ((looks & SAMPI_PEER_BEHIND) && (n > 1 || p->n_logit_bias))
        return sampi_request_fail_param(reader, "penalty_repeat", SAMP_E_UNSUPPORTED,
                                        "expected no other penalty and no logit_bias, between which it would stand");
    return SAMP_OK;
}

/* Does the order contain a temperature? */
static SAMPI_COLD bool sampi_request_has_temp(const samp_params *p)
{
    sampi_names names = sampi_names_of(p);
    for (sampi_kind kind; sampi_next_named(&names, &kind);)
        if (kind == SAMPI_TEMP_EXT) return true;
    return false;
}

/* Sets what a search needs: its width, and settings whose chains leave all tokens. */
static SAMPI_COLD int sampi_request_search(sampi_request_reader *reader)
{
    samp_request *out = &reader->made;
    if (reader->searches) out->n_beams = out->n;
    const bool none = reader->searches ? false : out->n_beams < 2, draws = !reader->searches && reader->samples;
    if (none) out->n_beams = 0;
    if (none) return SAMP_OK;
    if (!reader->has_out || draws || out->n_beams > SAMPI_PEER_MOST_BEAMS) {
        const char *name = reader->searches ? "use_beam_search" : "num_beams";
        sampi_request_set_field(reader, name, strlen(name), false);
        return sampi_request_fail(reader, sampi_request_find(reader, 0, name), SAMP_E_UNSUPPORTED,
                                  draws             ? "expected 1, since do_sample is true"
                                  : reader->has_out ? "expected at most 4096 beams"
                                                    : "expected no beams: samp_request is NULL");
    }
    reader->to->params.temp = 1.0f;
    return samp_settings_set(reader->to, "order", "penalties", NULL);
}

/* Sets and checks what depends on several fields. */
static SAMPI_COLD int sampi_request_settle(sampi_request_reader *reader)
{
    samp_params *p = &reader->to->params;
    const char *param = NULL;
    int status = sampi_request_penalties(reader);
    if (status) return status;
    if (reader->peer->fields == SAMPI_SGLANG && p->min_p > 0.0f)
        status = samp_settings_set(reader->to, "order", "penalties;temperature;top_k;top_p;min_p", NULL);
    if (status) return sampi_request_bad(reader, 0, status);
    /* to SGLang stop_token_ids are end tokens too */
    if (reader->peer->fields == SAMPI_SGLANG && reader->stops.ignores_ends) reader->stops.n_tokens = 0;
    if (!reader->adaptive) p->adaptive_target = -1.0f; /* then llama-server ignores adaptive_p */
    const char *with = p->temp != 1.0f ? "temp" : p->top_k ? "top_k" : p->top_p < 0.95f ? "top_p" : NULL;
    if (reader->thinks && with)
        return sampi_request_fail_param(reader, with, SAMP_E_RANGE,
                                        "expected what goes with thinking: 1, 0, at least 0.95");
    if (reader->samples && !(reader->peer->reads & SAMPI_PEER_SAMPLES) && p->temp == 0.0f)
        return sampi_request_fail_param(reader, "temp", SAMP_E_RANGE,
                                        "expected more than 0, since do_sample is true");
    /* llama-server treats 0 as it treats any temperature: without a temperature in the order it has no effect, and
       dynatemp_range applies to it */
    if (p->temp == 0.0f && !p->mirostat && !sampi_request_has_temp(p)) p->temp = 1.0f;
    if (p->temp == 0.0f && !p->mirostat)
        p->temp = p->dynatemp_range *= 0.5f; /* halved, so that the range is from 0 to dynatemp_range */
    if (!reader->samples) p->temp = 0.0f;
    status = sampi_request_search(reader);
    if (status) return status;
    status = samp_check_params(p, &param);
    if (status) {
        char why[sizeof reader->made.error.message] = "expected another value, or it set in the settings";
        if (!strcmp(param, "logit_bias")) (void)samp_params_error_text(p, why, sizeof why);
        return sampi_request_fail_param(reader, param, status, why);
    }
    reader->made.field[0] = 0;
    return SAMP_OK;
}

/* Sets the program's defaults. n_vocab, n_ctx_train, vocab, rng and the seed stay as in the old settings. */
static SAMPI_COLD int sampi_request_defaults(sampi_request_reader *reader, const samp_settings *old)
{
    samp_params *p = &reader->to->params;
    int status = samp_settings_set(reader->to, "order", reader->peer->order, NULL);
    p->n_vocab = old->params.n_vocab;
    p->n_ctx_train = old->params.n_ctx_train;
    p->vocab = old->params.vocab;
    p->rng = old->params.rng;
    p->top_k = 0; /* this library's defaults are llama.cpp's; in a program without these fields both are off */
    p->min_p = 0.0f;
    reader->stops.include_stop = reader->peer->fields == SAMPI_TRANSFORMERS; /* it returns all that it generates */
    for (const sampi_peer_field *f = reader->peer->fields; (f->name || f->param) && !status; f++)
        if (f->param) status = samp_settings_set(reader->to, f->param, f->usual, NULL);
    p->seed = old->params.seed;
    return status;
}

/* Exchanges the contents of two settings, with all memory that they own. */
static SAMPI_COLD void sampi_settings_swap(samp_settings *a, samp_settings *b)
{
    samp_params p = a->params;
    sampi_stops stops = a->stops;
    a->params = b->params;
    a->stops = b->stops;
    b->params = p;
    b->stops = stops;
}

/* Reads a whole request. Returns the number of fields that were left out, or a status. */
static SAMPI_COLD int sampi_request_read(samp_settings *settings, samp_peer peer, const char *json,
                                         const char *const *handled, samp_request *request, sampi_text *left_out)
{
    sampi_request_reader reader;
    sampi_json doc;
    samp_request *out = &reader.made;
    memset(&reader, 0, sizeof reader);
    out->thinking_budget = -1;
    out->guidance_scale = out->length_penalty = 1.0f;
    out->n = out->n_groups = 1;
    int status = settings && json ? SAMP_OK : SAMP_E_NULL;
    if (!status && (unsigned)peer >= sizeof SAMPI_PEERS / sizeof SAMPI_PEERS[0]) status = SAMP_E_RANGE;
    if (!status && !(reader.to = samp_settings_init())) status = SAMP_E_NOMEM;
    out->error.status = status;
    if (!status) status = sampi_json_read(&doc, json, strlen(json), &out->error);
    if (!status) {
        reader.peer = &SAMPI_PEERS[peer];
        reader.handled = handled;
        reader.doc = &doc;
        reader.reads = reader.peer->reads;
        reader.samples = reader.reads & SAMPI_PEER_SAMPLES;
        reader.has_out = request != NULL;
        reader.left_out = left_out;
        reader.knows_length = settings->knows_length;
        status = sampi_request_defaults(&reader, settings);
        if (status) sampi_request_bad(&reader, 0, status);
        if (!status) status = sampi_request_read_object(&reader, 0, false);
        if (!status) status = sampi_request_settle(&reader);
        sampi_json_free(&doc);
        reader.to->stops = reader.stops;
    }
    if (!status) sampi_settings_swap(settings, reader.to);
    samp_settings_free(reader.to);
    if (request) *request = *out;
    return status ? status : reader.n_left_out;
}

SAMP_API SAMPI_COLD int samp_settings_from(samp_settings *settings, samp_peer peer, const char *json,
                                           const char *const *handled, samp_request *request)
{
    return sampi_request_read(settings, peer, json, handled, request, NULL);
}

SAMP_API SAMPI_COLD int samp_settings_from_lenient(samp_settings *settings, samp_peer peer, const char *json,
                                                   const char *const *handled, samp_request *request, char *left_out,
                                                   size_t size)
{
    sampi_text text = { left_out, size, 0 };
    if (!left_out && size) return SAMP_E_NULL;
    if (size) left_out[0] = 0;
    return sampi_request_read(settings, peer, json, handled, request, &text);
}
