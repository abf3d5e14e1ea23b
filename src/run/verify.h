/* ================================================================================================== >>verify
   samp_verify serves speculative decoding: from the n tokens of a draft and n + 1 rows of logits it finds how many of
   the tokens are accepted. Both methods (exact and ratio) use one loop: it samples a row, and continues as long as the
   sampled token is that of the draft. In the ratio method, the accept test is part of the draw itself: sampi_draw
   (samplers/draw.h) reads s->draft, so code after the draw, such as that of mirostat's mu, gets the token that was
   really chosen.

   s->draft points to a record on samp_verify's stack. samp_verify sets it in all samplers of the chain before it
   samples a row, and sets it to NULL in all of them before it returns. */

/* Checks a draft: are tokens and ids in the vocabulary, probabilities in [0, 1], and requests for log-probabilities
   good? All rows are checked before
   anything is drawn, so that a bad draft changes no state. Returns a status. */
static int sampi_check_draft(const samp_draft *draft, size_t n_vocab, samp_verify_method method)
{
    if (method != SAMP_VERIFY_EXACT && method != SAMP_VERIFY_RATIO) return SAMP_E_RANGE;
    if (draft->n && !draft->tokens) return SAMP_E_NULL;
    if (draft->n > INT32_MAX || n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    for (size_t i = 0; i < draft->n; i++)
        if (draft->tokens[i] < 0 || (size_t)draft->tokens[i] >= n_vocab) return SAMP_E_RANGE;
    for (size_t i = 0; draft->logprobs && i <= draft->n; i++) {
        const int status = sampi_row_check_logprobs(&draft->logprobs[i], n_vocab);
        if (status) return status;
    }
    if (method == SAMP_VERIFY_EXACT) return SAMP_OK; /* this method does not use the probabilities */
    if (draft->ids && !draft->probs) return SAMP_E_NULL;
    if (draft->ids && draft->n_top == 0) return SAMP_E_RANGE;
    size_t n_ids = draft->ids ? draft->n * draft->n_top : 0;
    for (size_t i = 0; i < n_ids; i++)
        if (draft->ids[i] < 0 || (size_t)draft->ids[i] >= n_vocab) return SAMP_E_RANGE;
    size_t n_probs = draft->probs ? draft->n * (draft->ids ? draft->n_top : n_vocab) : 0;
    for (size_t i = 0; i < n_probs; i++) {
        if (draft->probs[i] != draft->probs[i]) return SAMP_E_NAN;
        if (!(draft->probs[i] >= 0.0f && draft->probs[i] <= 1.0f)) return SAMP_E_RANGE;
    }
    return SAMP_OK;
}

/* Sets the pointer `draft` of s and of all its members to a row of the draft, or to NULL. Returns false if one of them
   has another random source than Philox, which the ratio method needs, or is ras, whose tokens have no one
   distribution. */
static SAMPI_COLD bool sampi_set_draft(sampi_sampler *s, const sampi_draft *draft)
{
    bool philox = !sampi_is_llama_cpp(s) && s->kind != SAMPI_RAS;
    int32_t n = sampi_is_chain(s) ? s->u.chain.n : 0;
    for (int32_t i = 0; i < n; i++) philox &= sampi_set_draft(s->u.chain.item[i], draft);
    s->draft = draft;
    return philox;
}

/* Returns row i of a draft, i < draft->n. */
static sampi_draft sampi_draft_row(const samp_draft *draft, size_t i, size_t n_vocab)
{
    size_t n_row = draft->ids ? draft->n_top : n_vocab;
    sampi_draft row;
    memset(&row, 0, sizeof row);
    row.token = draft->tokens[i];
    row.probs = draft->probs ? draft->probs + i * n_row : NULL;
    row.ids = draft->ids ? draft->ids + i * n_row : NULL;
    row.n_top = n_row;
    return row;
}

/* Samples the row of logits from which token i of the output comes, with the log-probabilities that the draft asks for
   there. A row may be sampled more than once; its cumulative log-probability is the last draw's alone. */
static samp_token sampi_sample_drafted(sampi_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                       size_t i)
{
    samp_logprobs *told = draft->logprobs ? &draft->logprobs[i] : NULL;
    if (told) told->raw.cumulative_logprob = told->processed.cumulative_logprob = 0.0;
    return sampi_sample_one(&s->base, logits, n_vocab, NULL, told, true);
}

/* Samples the row after the whole draft, whose tokens have all been accepted. ratio: the method is ratio; then a
   watermark with two keys uses its second key for this token. */
static inline samp_token sampi_sample_after_draft(sampi_sampler *s, const float *logits, size_t n_vocab,
                                                  const samp_draft *draft, size_t i, bool ratio)
{
#ifdef SAMPLING_WATERMARK_DECLARED
    sampi_mark_behind(s, ratio);
    samp_token token = sampi_sample_drafted(s, logits, n_vocab, draft, i);
    sampi_mark_behind(s, false);
    return token;
#else
    (void)ratio;
    return sampi_sample_drafted(s, logits, n_vocab, draft, i);
#endif
}

/* The last of the n + 1 rows, after the whole draft, is an ordinary draw with either method. If a row gives a status
   instead of a token, the loop ends as after a rejection. */
SAMP_API int32_t samp_verify(samp_sampler *sampler, const float *logits, size_t n_vocab, const samp_draft *draft,
                             samp_verify_method method, samp_token *out)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    bool ratio = method == SAMP_VERIFY_RATIO;
    int status = s && logits && draft && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, method);
    if (!status && !sampi_set_draft(s, NULL) && ratio) status = SAMP_E_UNSUPPORTED;
    if (status) return status;
    size_t accepted = 0;
    for (; accepted < draft->n; accepted++) {
        sampi_draft row = sampi_draft_row(draft, accepted, n_vocab);
        if (ratio) sampi_set_draft(s, &row);
        out[accepted] = sampi_sample_drafted(s, logits + accepted * n_vocab, n_vocab, draft, accepted);
        if (out[accepted] != row.token) break;
    }
    sampi_set_draft(s, NULL);
    if (accepted == draft->n)
        out[accepted] = sampi_sample_after_draft(s, logits + accepted * n_vocab, n_vocab, draft, accepted, ratio);
    for (size_t i = accepted + 1; i <= draft->n; i++) out[i] = -1;
    return accepted == 0 && out[0] < 0 ? out[0] : (int32_t)accepted;
}
