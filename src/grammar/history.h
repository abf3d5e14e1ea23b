/* ---- positions before the last tokens ----
   The matcher keeps its position before each of the last tokens, so that samp_rollback can go back. A position is a set
   of items, which stay valid as long as their states and call frames are kept (sampi_grammar_kept_item_at). */

/* Appends n items to the items of the kept positions. Returns false if there is no memory. */
static bool sampi_grammar_keep_items(sampi_matcher *m, const void *items, int32_t n)
{
    sampi_item *room = n ? (sampi_item *)sampi_grammar_append(&m->d, &m->past, sizeof *room, n) : NULL;
    if (room) memcpy(room, items, (size_t)n * sizeof *room);
    return room || n == 0;
}

/* Keeps a position of the parser for rollback; this is the last step that can fail when a token is accepted. n is
   stored in past_n; sampi_grammar_position_size(n) is the number of items. The oldest positions are dropped, many at
   a time. Returns false if there is no memory. */
static bool sampi_grammar_keep_position(sampi_matcher *m, const void *items, int32_t n)
{
    int32_t *size = (int32_t *)m->past_n.data, cut = 0, gone = 0, n_items = sampi_grammar_position_size(n);
    if (m->rereading) return true;
    if (m->past_n.n >= 2 * m->depth)
        for (; m->past_n.n - cut > m->depth; cut++) gone += sampi_grammar_position_size(size[cut]);
    if (cut) {
        m->past_n.n -= cut;
        m->past.n -= gone;
        memmove(size, size + cut, (size_t)m->past_n.n * sizeof *size);
        if (gone) memmove(m->past.data, (sampi_item *)m->past.data + gone, (size_t)m->past.n * sizeof(sampi_item));
    }
    const bool kept = sampi_grammar_keep_items(m, items, n_items);
    size = kept && !m->d.status ? (int32_t *)sampi_grammar_append(&m->d, &m->past_n, sizeof *size, 1) : NULL;
    if (kept && !size) m->past.n -= n_items;
    if (size) *size = n;
    return size != NULL;
}

/* A position that was kept: its n_now items of the parser begin at index `items` of the array past. */
typedef struct sampi_rollback_target {
    /* tokens: how many tokens the way back removes from the history, which has none that end a generation */
    int32_t tokens, items, n_now;
    bool waiting;
} sampi_rollback_target;

/* Finds the kept position before the last n tokens, and makes room for its items in the array of the present items, to
   which the rollback copies them. Returns SAMP_OK; SAMP_E_RANGE if this position is not kept; SAMP_E_NOMEM. */
static int sampi_matcher_find_target(sampi_matcher *m, int32_t n, sampi_rollback_target *to)
{
    const int32_t *size = (const int32_t *)m->past_n.data, end = m->past_n.n;
    to->tokens = 0;
    to->items = m->past.n;
    to->n_now = m->n_now;
    to->waiting = m->lazy.waiting;
    if (n > end) return SAMP_E_RANGE;
    for (int32_t i = end; i-- > end - n;) {
        if (size[i] == SAMPI_POSITION_SAME) continue;
        to->tokens++;
        to->waiting = size[i] < SAMPI_POSITION_SAME;
        to->n_now = sampi_grammar_position_size(size[i]);
        to->items -= to->n_now;
    }
    m->d.status = SAMP_OK;
    m->items.n = m->n_now;
    if (!m->position_cache) to->items = to->n_now = 0; /* the position is not known; the next call computes it */
    /* no limit: the items mostly fit, as they did before; a clone's array may be smaller */
    m->d.account.allowance = SIZE_MAX;
    if (to->n_now > m->n_now) sampi_grammar_append(&m->d, &m->items, sizeof(sampi_item), to->n_now - m->n_now);
    m->d.account.allowance = 0;
    m->items.n = m->n_now;
    return m->d.status;
}

/* Returns the bytes of token i of the text, and their number. */
static const uint8_t *sampi_grammar_history_bytes(const sampi_matcher *m, int32_t i, size_t *n)
{
    const samp_vocab *vocab = m->index->vocab;
    *n = 0;
    return (const uint8_t *)vocab->token_bytes(vocab, ((const samp_token *)m->history.data)[i], n);
}

/* Goes back to the position before the last n tokens. If the grammar was waiting for its trigger there, it waits again,
   and reads the remaining text once more. */
static int sampi_matcher_rollback(sampi_matcher *m, int32_t n)
{
    sampi_rollback_target to;
    const int status = sampi_matcher_find_target(m, n, &to);
    if (status) return status;
    if (to.tokens && to.n_now)
        memcpy(m->items.data, (const sampi_item *)m->past.data + to.items, (size_t)to.n_now * sizeof(sampi_item));
    m->items.n = m->n_now = to.n_now;
    sampi_grammar_discard_prepared(m);
    m->past.n = to.items;
    m->past_n.n -= n;
    for (int32_t i = m->history.n - to.tokens; i < m->history.n && m->grammar->unique; i++) {
        size_t n_bytes;
        (void)sampi_grammar_history_bytes(m, i, &n_bytes);
        m->text.n = !to.waiting && (size_t)m->text.n > n_bytes ? m->text.n - (int32_t)n_bytes : 0;
    }
    m->history.n -= to.tokens;
    if (to.waiting && to.tokens) {
        sampi_grammar_lazy_reset(&m->lazy);
        for (int32_t i = 0; i < m->history.n; i++) {
            size_t n_bytes;
            const uint8_t *bytes = sampi_grammar_history_bytes(m, i, &n_bytes);
            const sampi_threads threads = sampi_grammar_run_threads(&m->lazy, bytes, n_bytes);
            sampi_grammar_keep_threads(&m->lazy, &threads, n_bytes);
        }
    }
    return SAMP_OK;
}
