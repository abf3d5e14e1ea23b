/* ---- watermarks: the detectors ----
   A detector computes how likely a text is without the watermark of a key. It scores each token whose context is new in
   the text. Without the watermark the sum of scores has a known distribution; p is the probability of at least this sum
   (watermark/tails.h). Each call has a hash table of the contexts (the tokens before a token), whose hash depends on
   the key. */

/* The scores of a text, and two hash tables, which contain indices of tokens + 1: one by the context, and for SBW one
   by the pair of seed and token. */
typedef struct sampi_scores {
    const sampi_watermark *mark;
    const samp_token *text;
    double *score; /* [n] each token's score, or -1 for a token that does not count */
    uint32_t *table, n_slots, *pair_table;
    uint64_t *pair; /* [n] for SBW, each token's seed */
} sampi_scores;

static void sampi_text_context(const sampi_scores *of, size_t at, uint32_t *context)
{
    const size_t width = (size_t)of->mark->width;
    for (size_t i = 0; i < width; i++) context[i] = at + i >= width ? (uint32_t)of->text[at + i - width] : UINT32_MAX;
}

/* Is the context before index `at` new in the text? Then it is added to the table. `home` is the context's hash. */
static bool sampi_text_is_new(const sampi_scores *of, size_t at, uint32_t home)
{
    const size_t width = (size_t)of->mark->width;
    uint32_t slot = home & (of->n_slots - 1), there[64], context[64];
    sampi_text_context(of, at, context);
    for (; of->table[slot]; slot = (slot + 1) & (of->n_slots - 1)) {
        sampi_text_context(of, of->table[slot] - 1, there);
        if (!memcmp(there, context, width * sizeof *there)) return false;
    }
    of->table[slot] = (uint32_t)at + 1;
    return true;
}

/* Is the pair of a token and its seed new in the text? Then it is added to the table. `home` is the token's random
   word. */
static bool sampi_pair_is_new(const sampi_scores *of, size_t at, uint32_t home)
{
    uint32_t slot = home & (of->n_slots - 1);
    for (; of->pair_table[slot]; slot = (slot + 1) & (of->n_slots - 1)) {
        size_t there = of->pair_table[slot] - 1;
        if (of->pair[there] == of->pair[at] && of->text[there] == of->text[at]) return false;
    }
    of->pair_table[slot] = (uint32_t)at + 1;
    return true;
}

static double sampi_score_of(uint32_t word) { return -sampi_ln(1.0 - sampi_mark_uniform(word)); }

/* Returns the score of the token at index `at`, which follows this context. */
static SAMPI_COLD double sampi_score_token(const sampi_scores *of, size_t at, sampi_words *words,
                                           const uint32_t *context)
{
    const sampi_watermark *mark = of->mark;
    const samp_token id = of->text[at];
    if (mark->what == SAMP_WATERMARK_SYNTHID) {
        uint32_t bits = sampi_word(words, id) & (uint32_t)(((uint64_t)1 << mark->depth) - 1);
        int n = 0;
        for (; bits; bits &= bits - 1) n++;
        return n;
    }
    if (mark->what == SAMP_WATERMARK_GUMBEL) return sampi_score_of(sampi_word(words, id));
    if (mark->what == SAMP_WATERMARK_GUMBEL_DUAL) {
        double a = sampi_score_of(sampi_word(words, id));
        sampi_words_of(words, mark->key[1], context, (uint32_t)mark->width);
        return (1.0 - mark->alpha) * a + mark->alpha * sampi_score_of(sampi_word(words, id));
    }
    sampi_colours colours;
    sampi_colours_of(&colours, mark, context);
    const uint32_t word = sampi_colour_word(&colours, (uint32_t)id, &of->pair[at]);
    bool counts = of->pair[at] && sampi_pair_is_new(of, at, word);
    return counts ? (word & 0x7FFFFFFFu) < colours.below
                  /* a context with a -1 or the token 0 makes the seed 0, whatever the key is; such a token does not
                     count */
                  : -1.0;
}

/* Computes the detector's result for the sum of n scores. */
static SAMPI_COLD void sampi_mark_result(const sampi_watermark *mark, double sum, size_t n,
                                         samp_watermark_result *out)
{
    const double v = (1.0 - mark->alpha) * (1.0 - mark->alpha) + mark->alpha * mark->alpha, count = (double)n;
    out->score = sum;
    out->n_scored = n;
    out->ln_p = 0.0;
    if (mark->what == SAMP_WATERMARK_SYNTHID) {
        out->score = n ? sum / (count * mark->depth) : 0.0;
        if (n) out->ln_p = sampi_ln_binomial_tail(count * mark->depth, sum, 0.5);
    } else if (n && mark->what <= SAMP_WATERMARK_GUMBEL_DUAL) { /* v is 1 for a single key */
        out->ln_p = sampi_ln_gamma_tail(count / v, sum / v);
    } else if (n) {
        double share = (double)(uint32_t)(mark->gamma * 2147483647.0) / 2147483648.0;
        out->ln_p = share > 0.0 ? sampi_ln_binomial_tail(count, sum, share) : 0.0;
    }
    out->p_value = sampi_exp_of(out->ln_p);
}

/* Checks the arguments. The watermark's numbers are checked as for a sampler. */
static SAMPI_COLD int sampi_detect_status(sampi_sampler *t, const samp_watermark *mark, const samp_token *text,
                                          size_t n, const void *out)
{
    if (!mark || (n && !text) || !out) return SAMP_E_NULL;
    *t = sampi_mark_of(mark);
    t->u.mark.scope = SAMP_WATERMARK_ALWAYS;
    t->u.mark.history = 1;
    sampi_prepare(t, false);
    if (t->status) return t->status;
    if (n > (size_t)1 << 30) return SAMP_E_RANGE;
    for (size_t i = 0; i < n; i++)
        if (text[i] < 0) return SAMP_E_RANGE;
    return SAMP_OK;
}

/* Returns the scores of all tokens of a text, at the beginning of a block of memory that the caller frees, or NULL
   without memory. */
static SAMPI_COLD double *sampi_score_text(const sampi_watermark *mark, const samp_token *text, size_t n)
{
    const bool is_sbw = mark->what == SAMP_WATERMARK_SBW_SELFHASH || mark->what == SAMP_WATERMARK_SBW_LEFTHASH;
    sampi_scores of;
    uint32_t context[64];
    sampi_words words;
    of.mark = mark;
    of.text = text;
    if (n > SIZE_MAX / 64) return NULL; /* possible if size_t has 32 bits */
    for (of.n_slots = 16; of.n_slots < n + n / 2 + 1;) of.n_slots *= 2;
    const size_t tables = is_sbw ? 2 : 1, doubles = is_sbw ? 2 : 1;
    of.score = (double *)SAMP_MALLOC((n + 1) * doubles * 8 + of.n_slots * tables * 4);
    if (!of.score) return NULL;
    of.pair = (uint64_t *)(void *)(of.score + n + 1);
    of.table = (uint32_t *)(void *)(of.score + (n + 1) * doubles);
    of.pair_table = of.table + (tables - 1) * of.n_slots;
    memset(of.table, 0, of.n_slots * tables * 4);
    for (size_t at = 0; at < n; at++) {
        sampi_text_context(&of, at, context);
        sampi_words_of(&words, mark->key[0], context, (uint32_t)mark->width);
        bool counts = sampi_text_is_new(&of, at, words.counter[0]);
        of.score[at] = counts ? sampi_score_token(&of, at, &words, context) : -1.0;
    }
    return of.score;
}

SAMP_API SAMPI_COLD int samp_watermark_detect(const samp_watermark *mark, const samp_token *text, size_t n,
                                              samp_watermark_result *out)
{
    sampi_sampler t;
    int status = sampi_detect_status(&t, mark, text, n, out);
    if (status) return status;
    double *score = sampi_score_text(&t.u.mark, text, n), sum = 0.0;
    size_t n_scored = 0;
    if (!score) return SAMP_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (score[i] >= 0.0) sum += score[i], n_scored++;
    SAMP_FREE(score);
    sampi_mark_result(&t.u.mark, sum, n_scored, out);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD int samp_watermark_detect_keys(const samp_watermark *mark, const uint64_t *keys, size_t n_keys,
                                                   const samp_token *text, size_t n, samp_watermark_result *out)
{
    if (!mark || (n_keys && (!keys || !out))) return SAMP_E_NULL;
    samp_watermark one = *mark;
    samp_watermark_result none, *result = &none; /* out is written only when nothing can fail any more */
    if (n_keys > SIZE_MAX / sizeof none) return SAMP_E_RANGE;
    if (n_keys) result = (samp_watermark_result *)SAMP_MALLOC(n_keys * sizeof *result);
    if (!result) return SAMP_E_NOMEM;
    int status = n_keys ? SAMP_OK : samp_watermark_detect(mark, text, n, result);
    for (size_t k = 0; k < n_keys && !status; k++) {
        one.key = keys[k];
        status = samp_watermark_detect(&one, text, n, &result[k]);
    }
    if (n_keys && !status) memcpy(out, result, n_keys * sizeof *result);
    if (n_keys) SAMP_FREE(result);
    return status;
}

/* For each number of counted tokens only the window with the largest sum matters, because p falls as the sum grows. */
SAMP_API SAMPI_COLD int samp_watermark_find(const samp_watermark *mark, const samp_token *text, size_t n,
                                            size_t window, samp_watermark_span *out)
{
    sampi_sampler t;
    int status = sampi_detect_status(&t, mark, text, n, out);
    if (!status && window == 0) status = SAMP_E_RANGE;
    if (status) return status;
    if (window > n) window = n;
    double *score = sampi_score_text(&t.u.mark, text, n);
    double *best = score ? (double *)SAMP_MALLOC((window + 1) * (sizeof *best + sizeof(size_t))) : NULL;
    if (!best) {
        SAMP_FREE(score);
        return SAMP_E_NOMEM;
    }
    size_t *place = (size_t *)(void *)(best + window + 1), n_scored = 0;
    for (size_t i = 0; i <= window; i++) best[i] = -1.0;
    /* A running sum of doubles would lose precision. Multiples of 2^-27 are exact: 2^30 scores of at most 32 fit */
    int64_t sum = 0;
    for (size_t end = 0; end < n; end++) {
        if (score[end] >= 0.0) sum += (int64_t)(score[end] * 134217728.0), n_scored++;
        if (end >= window && score[end - window] >= 0.0)
            sum -= (int64_t)(score[end - window] * 134217728.0), n_scored--;
        if (end + 1 < window || (double)sum <= best[n_scored]) continue;
        best[n_scored] = (double)sum;
        place[n_scored] = end + 1 - window;
    }
    const double pieces = sampi_ln((double)(n - window + 1));
    memset(out, 0, sizeof *out);
    out->end = window;
    sampi_mark_result(&t.u.mark, 0.0, 0, &out->result);
    for (size_t k = 1; k <= window; k++) {
        samp_watermark_result result;
        double whole = 0.0;
        if (best[k] < 0.0) continue;
        for (size_t i = place[k]; i < place[k] + window; i++)
            if (score[i] >= 0.0) whole += score[i];
        sampi_mark_result(&t.u.mark, whole, k, &result);
        if (result.ln_p > out->result.ln_p || (result.ln_p == out->result.ln_p && out->result.n_scored)) continue;
        out->result = result;
        out->begin = place[k];
        out->end = place[k] + window;
    }
    SAMP_FREE(best);
    SAMP_FREE(score);
    out->ln_p = out->result.ln_p + pieces < 0.0 ? out->result.ln_p + pieces : 0.0;
    out->p_value = sampi_exp_of(out->ln_p);
    return SAMP_OK;
}
