/* ================================================================================================== >>verify
   samp_verify, for speculative decoding: given a draft's tokens and a row of logits for each and one more, it finds how
   many tokens are accepted. Both methods are one loop: it samples a row, and continues while the sampled token is the
   draft's. The ratio test changes the draw itself: sampi_draw (samplers/draw.h) uses s->draft, so code after the draw,
   such as mirostat's mu, gets the token that was really chosen.

   s->draft points to a row on samp_verify's stack. It is set in all samplers of the chain before a row is sampled, and
   must be NULL in all of them when samp_verify returns. */

/* Checks a draft: tokens and ids in the vocabulary, probabilities in [0, 1]. All rows are checked before anything is
   drawn, so that a bad draft changes no state. */
static int sampi_check_draft(const samp_draft *draft, size_t n_vocab, samp_verify_method method)
{
    if (method != SAMP_VERIFY_EXACT && method != SAMP_VERIFY_RATIO) return SAMP_E_RANGE;
    if (draft->n && !draft->tokens) return SAMP_E_NULL;
    if (draft->n > INT32_MAX || n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    for (size_t i = 0; i < draft->n; i++)
        if (draft->tokens[i] < 0 || (size_t)draft->tokens[i] >= n_vocab) return SAMP_E_RANGE;
    if (method == SAMP_VERIFY_EXACT) return SAMP_OK; /* it does not use the probabilities */
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

/* Gives a row of the draft, or NULL, to all samplers of a chain; false if one of them has another random source than
   Philox, which the ratio test needs. */
static SAMPI_COLD bool sampi_set_draft(sampi_sampler *s, const sampi_draft *draft)
{
    bool philox = !sampi_is_llama_cpp(s);
    int32_t n = sampi_is_chain(s) ? s->u.chain.n : 0;
    for (int32_t i = 0; i < n; i++) philox &= sampi_set_draft(s->u.chain.item[i], draft);
    s->draft = draft;
    return philox;
}

/* Returns row i of a draft, i < n. */
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

/* Returns the next token that a row may have to accept: the draft's token, or in a tree each of the siblings. *at: the
   index of the present one, -1 before the first. Returns -1 after the last. */
static inline samp_token sampi_next_drafted(const sampi_draft *row, int32_t *at)
{
    if (row->next) return row->next(row, at);
    return ++*at == 0 ? row->token : -1;
}

/* Samples the row after a whole draft. A watermark with two keys uses the second key for tokens that the test of a
   draft adds (ratio). */
static inline samp_token sampi_sample_after_draft(sampi_sampler *s, const float *logits, size_t n_vocab, bool ratio)
{
#ifdef SAMPLING_WATERMARK_DECLARED
    sampi_mark_behind(s, ratio);
    samp_token token = samp_sample(&s->base, logits, n_vocab);
    sampi_mark_behind(s, false);
    return token;
#else
    (void)ratio;
    return samp_sample(&s->base, logits, n_vocab);
#endif
}

/* The last of rows 0 .. n, after the whole draft, is an ordinary draw with either method. A status instead of a
   token ends the loop as a rejection does. */
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
        out[accepted] = samp_sample(sampler, logits + accepted * n_vocab, n_vocab);
        if (out[accepted] != row.token) break;
    }
    sampi_set_draft(s, NULL);
    if (accepted == draft->n)
        out[accepted] = sampi_sample_after_draft(s, logits + accepted * n_vocab, n_vocab, ratio);
    for (size_t i = accepted + 1; i <= draft->n; i++) out[i] = -1;
    return accepted == 0 && out[0] < 0 ? out[0] : (int32_t)accepted;
}
