/* ---- requests: what is wanted beside the tokens ----
   Reads the fields of a request that ask for log-probabilities, the support or the entropy, into samp_request. They
   change no token, so a caller without a samp_request may ignore them. */

/* Reads a whole number from -1. */
static SAMPI_COLD int sampi_request_count(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    double x = 0.0;
    int status = sampi_request_whole(reader, node, &x);
    if (!status && !(x >= -1.0 && x <= (double)INT32_MAX)) status = SAMP_E_RANGE;
    if (status) return sampi_request_bad(reader, node, status);
    *(int32_t *)sampi_request_place(reader, f) = (int32_t)x;
    return SAMP_OK;
}

/* Reads whether log-probabilities are wanted: a truth value, or a number of the most likely tokens. */
static SAMPI_COLD int sampi_request_logprobs(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const uint8_t kind = sampi_request_node(reader, node)->kind;
    if (kind == SAMPI_JSON_TRUE || kind == SAMPI_JSON_FALSE) return sampi_request_truth(reader, node, f);
    bool *wants = (bool *)sampi_request_place(reader, f);
    sampi_peer_field number = *f;
    *wants = true;
    number.place = wants == &reader->made.logprobs ? offsetof(sampi_request_reader, made.n_top)
                                                   : offsetof(sampi_request_reader, made.n_prompt_top);
    return sampi_request_count(reader, node, &number);
}

/* Reads the tokens whose log-probabilities are wanted. */
static SAMPI_COLD int sampi_request_logprob_ids(sampi_request_reader *reader, int32_t node, const sampi_peer_field *f)
{
    const sampi_json_node *v = sampi_request_node(reader, node);
    samp_request *out = &reader->made;
    (void)f;
    double x = 0.0;
    if (v->kind != SAMPI_JSON_ARRAY) return sampi_request_bad(reader, node, SAMP_E_FORMAT);
    out->n_logprob_ids = 0;
    for (int32_t i = v->first; i >= 0; i = sampi_request_node(reader, i)->next) {
        int status = sampi_request_whole(reader, i, &x);
        if (!status && !(x >= 0.0 && x < SAMP_MAX_VOCAB)) status = SAMP_E_RANGE;
        if (!status && out->n_logprob_ids == SAMP_REQUEST_IDS) status = SAMP_E_RANGE;
        if (status) return sampi_request_bad(reader, i, status);
        out->logprob_ids[out->n_logprob_ids++] = (samp_token)x;
    }
    return SAMP_OK;
}
