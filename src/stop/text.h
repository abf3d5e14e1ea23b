/* ---- a text grows ----
   Tokens come, and are taken back. A call allocates nothing. */

static const sampi_text_past *sampi_text_past_at(const samp_text *t, uint32_t i)
{
    const sampi_text_past *past = (const sampi_text_past *)t->part[SAMPI_TEXT_PAST];
    return &past[i % (t->size[SAMPI_TEXT_PAST] / sizeof *past)];
}

/* Notes a token that has bytes. */
static void sampi_text_note(samp_text *t, samp_token token)
{
    const uint32_t room = (uint32_t)(t->size[SAMPI_TEXT_PAST] / sizeof(sampi_text_past));
    sampi_text_past *past = (sampi_text_past *)t->part[SAMPI_TEXT_PAST] + t->n_past % room;
    past->token = token;
    past->number = t->n_tokens;
    if (++t->n_past - t->oldest > room) t->oldest++;
}

/* Finds where a stop begins that is `length` bytes long and ends with the first n bytes of the token that comes. */
static void sampi_text_locate(samp_text *t, size_t length, size_t n)
{
    t->stop_token = t->n_tokens;
    for (uint32_t i = t->n_past; length > n && i > t->oldest;) {
        const sampi_text_past *past = sampi_text_past_at(t, --i);
        length -= n;
        (void)sampi_bytes_of(t->vocab, past->token, &n);
        t->stop_token = past->number;
    }
    t->stop_byte = n - length;
}

/* Does this token end the text? *included: are its bytes shown? */
static bool sampi_text_is_end(const samp_text *t, samp_token token, bool *included)
{
    const uint32_t n = (uint32_t)(t->size[SAMPI_TEXT_ENDS] / sizeof(sampi_count));
    const sampi_count *ends = (const sampi_count *)t->part[SAMPI_TEXT_ENDS];
    const uint32_t at = sampi_count_find(ends, n, token);
    *included = at < n && ends[at].token == token;
    if (*included) return true;
    for (size_t i = 0; i < t->vocab->n_eog && !t->ignores_ends; i++)
        if (t->vocab->eog[i] == token) return true;
    return false;
}

/* Begins a call that shows bytes: none so far. */
static void sampi_text_begin(const samp_text *t, const char **out, size_t *n)
{
    *out = t ? sampi_text_out(t) : "";
    *n = 0;
}

SAMP_API int samp_text_push(samp_text *text, samp_token token, const char **out, size_t *n)
{
    if (!out || !n) return SAMP_E_NULL;
    sampi_text_begin(text, out, n);
    if (!text) return SAMP_E_NULL;
    if (text->state || text->is_flushed) return text->state ? (int)text->state : (int)SAMP_TEXT_ENDED;
    if (token < 0 || token >= text->vocab->n_vocab) return SAMP_E_RANGE;
    if (text->n_tokens == INT32_MAX - 1) return SAMP_E_FULL;
    const bool counts = text->n_tokens >= text->min_tokens;
    size_t n_token, length;
    const char *bytes = sampi_bytes_of(text->vocab, token, &n_token);
    bool included = false;
    if (n_token > text->longest_token) return SAMP_E_RANGE;
    if (counts && sampi_text_is_end(text, token, &included)) {
        text->state = SAMP_TEXT_ENDED;
        text->stop_token = text->n_tokens;
        text->stop_byte = 0;
        if (included && text->include_stop) (void)sampi_text_add(text, bytes, n_token, false, &length, &text->stop);
        text->stop = 0;
    } else {
        const size_t taken = sampi_text_add(text, bytes, n_token, counts, &length, &text->stop);
        text->state = length ? SAMP_TEXT_STOPPED : SAMP_TEXT_GOES_ON;
        text->stop = length ? text->stop + 1 : 0;
        if (length) sampi_text_locate(text, length, taken);
    }
    const bool ends = text->state != SAMP_TEXT_GOES_ON;
    const size_t behind = !ends ? sampi_text_held(text) : text->stop && !text->include_stop ? length : 0;
    *n = sampi_text_show(text, text->n_bytes - behind, ends);
    if (ends) text->n_bytes = 0;
    if (n_token) sampi_text_note(text, token);
    text->n_tokens++;
    return text->state;
}

SAMP_API int samp_text_flush(samp_text *text, const char **out, size_t *n)
{
    if (!out || !n) return SAMP_E_NULL;
    sampi_text_begin(text, out, n);
    if (!text) return SAMP_E_NULL;
    *n = sampi_text_show(text, text->n_bytes, true);
    text->is_flushed = true;
    return SAMP_OK;
}

SAMP_API int32_t samp_text_stop(const samp_text *text) { return text ? text->stop - 1 : -1; }

SAMP_API int samp_text_stop_at(const samp_text *text, int32_t *token, size_t *byte)
{
    if (!text) return SAMP_E_NULL;
    if (!text->state) return SAMP_E_EMPTY;
    if (token) *token = text->stop_token;
    if (byte) *byte = text->stop_byte;
    return SAMP_OK;
}

SAMP_API void samp_text_reset(samp_text *text)
{
    if (!text) return;
    sampi_text_pattern *pattern = (sampi_text_pattern *)text->part[SAMPI_TEXT_PATTERNS];
    for (int32_t i = 0; i < text->n_patterns; i++) pattern[i].n_begun = 0;
    memset((char *)text + offsetof(samp_text, node), 0, sizeof *text - offsetof(samp_text, node));
}

/* Makes the state anew from the text's last bytes, those of the tokens from number `from` in the ring on. */
static void sampi_text_again(samp_text *t, uint32_t from, uint32_t n_past, int32_t n_tokens)
{
    const uint32_t oldest = t->oldest;
    size_t n, length;
    samp_text_reset(t);
    t->oldest = oldest;
    t->n_past = n_past;
    t->n_tokens = n_tokens;
    t->has_begun = from > 0;
    for (; from < n_past; from++) {
        const char *bytes = sampi_bytes_of(t->vocab, sampi_text_past_at(t, from)->token, &n);
        (void)sampi_text_add(t, bytes, n, false, &length, &t->stop);
    }
    t->stop = 0;
    (void)sampi_text_show(t, t->n_bytes - sampi_text_held(t), false);
}

SAMP_API int samp_text_rollback(samp_text *text, int32_t n)
{
    if (!text) return SAMP_E_NULL;
    if (n < 0 || n > text->n_tokens) return SAMP_E_RANGE;
    if (n == 0 && !text->is_flushed) return SAMP_OK;
    if (n == 0 && text->state) return SAMP_OK;
    uint32_t end = text->n_past, from;
    size_t had = 0, n_token;
    while (end > text->oldest && sampi_text_past_at(text, end - 1)->number >= text->n_tokens - n) end--;
    for (from = end; from > text->oldest && had < text->longest + 3; had += n_token) {
        (void)sampi_bytes_of(text->vocab, sampi_text_past_at(text, --from)->token, &n_token);
        if (n_token > text->longest_token) return SAMP_E_RANGE;
    }
    if (text->oldest && had < text->longest + 3) return SAMP_E_RANGE;
    sampi_text_again(text, from, end, text->n_tokens - n);
    return SAMP_OK;
}
