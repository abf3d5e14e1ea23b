/* ---- drafts: relaxed tests ----
   samp_verify_relaxed: between two tokens (such as <think> and </think>) a draft token is accepted if it is among the
   first top_k tokens and its p is at most delta below the largest (0.35 and 0.4 with delta 0.1). Otherwise the usual
   method decides. The output does not have the model's distribution, as the contract in api/drafts.h says. */

/* Selects the draft token if it is nearly the best token, and returns whether it was. The test compares integer weights
   w, w(x) + floor(delta z) >= w(best) with their sum z, because a float p could differ in its last bit between
   machines. */
static bool sampi_take_near_best(const sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_relaxed *relaxed = s->draft->test->relaxed;
    sampi_sums sums = sampi_sum(cur);
    size_t i = sampi_find_drafted(cur, sums.max, s->draft->token);
    if (i == cur->size) return false;
    const samp_token_data *d = cur->data;
    uint64_t off = relaxed->delta < 1.0f ? sampi_mulhi(sampi_share(relaxed->delta), sums.z) : sums.z;
    if (sampi_weight(sums.max, d[i].logit) + off < sampi_weight(sums.max, sums.max)) return false;
    int32_t ahead = 0;
    for (size_t k = 0; k < cur->size && ahead < relaxed->top_k; k++)
        ahead += sampi_before(&SAMPI_BY_LOGIT, &d[k], &d[i]);
    if (ahead >= relaxed->top_k) return false;
    cur->selected = (int64_t)i;
    return true;
}

/* Selects the draft token if it is nearly the best token; otherwise draws by the usual method. */
static void sampi_draw_relaxed(const sampi_sampler *s, samp_token_data_array *cur)
{
    if (sampi_take_near_best(s, cur)) return;
    if (s->draft->exact)
        sampi_draw_envelope(s, cur);
    else
        sampi_draw_ratio(s, cur);
}

/* Checks the members of a samp_relaxed. */
static int sampi_check_relaxed(const samp_relaxed *relaxed, size_t n_vocab)
{
    if (relaxed->delta != relaxed->delta) return SAMP_E_NAN;
    if (relaxed->top_k < 0 || !(relaxed->delta >= 0.0f && relaxed->delta <= 1.0f)) return SAMP_E_RANGE;
    bool begin = relaxed->begin >= -1 && relaxed->begin < (int64_t)n_vocab;
    bool end = relaxed->end >= -1 && relaxed->end < (int64_t)n_vocab;
    return begin && end ? SAMP_OK : SAMP_E_RANGE;
}

/* The loop is that of samp_verify. The tokens accepted so far decide whether a row is between the two tokens. */
SAMP_API int32_t samp_verify_relaxed(samp_sampler *sampler, const float *logits, size_t n_vocab,
                                     const samp_draft *draft, samp_verify_method method, samp_relaxed *relaxed,
                                     samp_token *out)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = s && logits && draft && relaxed && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, method);
    if (!status) status = sampi_check_relaxed(relaxed, n_vocab);
    if (!status && !sampi_set_draft(s, NULL)) status = SAMP_E_UNSUPPORTED;
    if (status) return status;
    sampi_test test;
    memset(&test, 0, sizeof test);
    test.relaxed = relaxed;
    size_t a = 0;
    for (;; a++) {
        sampi_draft row;
        bool drafted = a < draft->n, lenient = relaxed->inside && relaxed->top_k > 0;
        if (drafted) row = sampi_draft_row(draft, a, n_vocab);
        if (drafted && lenient) {
            row.test = &test;
            row.draw = sampi_draw_relaxed;
            row.takes = sampi_take_near_best;
            row.exact = method == SAMP_VERIFY_EXACT;
        }
        sampi_set_draft(s, drafted && (lenient || method == SAMP_VERIFY_RATIO) ? &row : NULL);
        const float *x = logits + a * n_vocab;
        out[a] = drafted ? sampi_sample_drafted(s, x, n_vocab, draft, a)
                         : sampi_sample_after_draft(s, x, n_vocab, draft, a, method == SAMP_VERIFY_RATIO);
        if (out[a] >= 0 && out[a] == relaxed->begin) relaxed->inside = true;
        if (out[a] >= 0 && out[a] == relaxed->end) relaxed->inside = false;
        if (!drafted || out[a] != row.token) break;
    }
    sampi_set_draft(s, NULL);
    for (size_t i = a + 1; i <= draft->n; i++) out[i] = -1;
    return a == 0 && out[0] < 0 ? out[0] : (int32_t)a;
}
