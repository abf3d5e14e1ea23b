/* ---- grammars: a lazy grammar before its trigger ----
   While a lazy grammar waits for its trigger, each byte moves the positions in the triggers' programs (triggers.h).
   Once a program matches, backtracking finds where in the text the grammar begins, by the rules of std::regex, as in
   llama.cpp. The grammar then reads the tokens from there on. */

/* A choice that backtracking can return to: an operation and a position in the text. If op is negative, the entry
   restores the earlier position of a group instead: slot ~op becomes `at`. */
typedef struct sampi_way {
    int32_t op, at;
} sampi_way;

/* Finds the first way in which a program matches text [n] from byte `at` on; with `whole` the match must end at the
   text's end. slots [2 g] and slots [2 g + 1] become the beginning and end of group g, or -1. Returns false if the
   program does not match, or after an error. Each operation is tried once at each position; `tried` has a bit for each
   such pair. */
static bool sampi_lazy_match(sampi_matcher *m, int32_t first, const uint8_t *text, int32_t n, int32_t at, bool whole,
                             uint8_t *tried, int32_t *slots)
{
    const sampi_lazy *z = &m->lazy;
    sampi_vec ways = sampi_vec_like(&m->d.work);
    memset(slots, 0xff, 2 * SAMPI_MAX_GROUPS * sizeof *slots);
    bool matched = false;
    for (int32_t at_op = first; !matched && sampi_step(&m->d);) {
        const sampi_op *op = (const sampi_op *)z->ops.data + at_op;
        size_t bit = (size_t)at_op * ((size_t)n + 1) + (size_t)at;
        bool on = !(tried[bit / 8] >> bit % 8 & 1);
        sampi_way later = { op->b, at };
        tried[bit / 8] |= (uint8_t)(1u << bit % 8);
        switch (on ? op->kind : SAMPI_OP_NEVER) {
            case SAMPI_OP_BYTE: on = at < n && text[at++] == op->a; break;
            case SAMPI_OP_SET:
                on = at < n && (((const uint8_t *)z->pool.data)[op->a + text[at] / 8] >> text[at] % 8 & 1);
                at++;
                break;
            case SAMPI_OP_BEGIN: on = at == 0; break;
            case SAMPI_OP_END: on = at == n; break;
            case SAMPI_OP_MATCH: matched = on = !whole || at == n; break;
            case SAMPI_OP_SAVE: later.op = ~op->a, later.at = slots[op->a], slots[op->a] = at; break;
            default: on = on && op->kind == SAMPI_OP_SPLIT; break;
        }
        if (on && (op->kind == SAMPI_OP_SPLIT || op->kind == SAMPI_OP_SAVE)) {
            sampi_way *way = (sampi_way *)sampi_append(&m->d, &ways, sizeof *way, 1);
            if (way) *way = later;
        }
        at_op = on && op->kind == SAMPI_OP_SPLIT ? op->a : at_op + 1;
        while (!on && ways.n > 0) {
            sampi_way way = ((const sampi_way *)ways.data)[--ways.n];
            on = way.op >= 0;
            if (!on) slots[~way.op] = way.at;
            at_op = way.op;
            at = way.at;
        }
        if (!on) break;
    }
    sampi_vec_free(&ways);
    return matched && !m->d.status;
}

/* Returns where in text [n] a program's match begins; if the match has groups that are not empty, where the first of
   them begins; -1 if the program does not match, or after an error. */
static int32_t sampi_lazy_find(sampi_matcher *m, const sampi_program *p, const uint8_t *text, int32_t n)
{
    int32_t slots[2 * SAMPI_MAX_GROUPS], start = -1;
    size_t n_tried = ((size_t)m->lazy.ops.n * ((size_t)n + 1) + 7) / 8;
    uint8_t *tried = (uint8_t *)sampi_account_allocate(&m->d.account, n_tried);
    if (!tried) sampi_fault(&m->d, SAMP_E_NOMEM);
    memset(slots, 0xff, sizeof slots); /* -1: no group has begun */
    for (int32_t whole = p->whole; whole >= 0 && start < 0 && !m->d.status; whole--) {
        memset(tried, 0, n_tried);
        for (int32_t at = 0; at <= (whole ? 0 : n) && start < 0 && !m->d.status; at++)
            if (sampi_lazy_match(m, p->first, text, n, at, whole, tried, slots)) start = at;
    }
    sampi_account_free(&m->d.account, tried, n_tried);
    for (int32_t i = 0; i < SAMPI_MAX_GROUPS && start >= 0; i++)
        if (slots[2 * i] >= 0 && slots[2 * i + 1] > slots[2 * i]) return slots[2 * i];
    return start;
}

static const uint8_t *sampi_history_bytes(const sampi_matcher *m, int32_t i, size_t *n)
{
    const samp_vocab *vocab = m->index->vocab;
    *n = 0;
    return (const uint8_t *)vocab->token_bytes(vocab, ((const samp_token *)m->history.data)[i], n);
}

/* Returns the position in the text of all tokens where the grammar begins, or -1. */
static int32_t sampi_lazy_start(sampi_matcher *m)
{
    sampi_vec text = sampi_vec_like(&m->d.work);
    size_t n;
    for (int32_t i = 0; i < m->history.n && !m->d.status; i++) {
        const uint8_t *bytes = sampi_history_bytes(m, i, &n);
        void *room = n ? sampi_append(&m->d, &text, 1, (int32_t)n) : NULL;
        if (room) memcpy(room, bytes, n);
    }
    int32_t start = -1;
    for (int32_t i = 0; i < m->lazy.programs.n && start < 0 && !m->d.status; i++)
        start = sampi_lazy_find(m, (const sampi_program *)m->lazy.programs.data + i, (const uint8_t *)text.data,
                                text.n);
    sampi_vec_free(&text);
    return start;
}

static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip);

/* Lets the grammar read the tokens from index i on, the first one without its first `skip` bytes. Returns whether the
   grammar allows them. */
static bool sampi_replay(sampi_matcher *m, int32_t i, size_t skip)
{
    for (; i < m->history.n && !m->d.status; i++, skip = 0) {
        int32_t first = sampi_matcher_try(m, ((const samp_token *)m->history.data)[i], skip);
        if (m->items.n <= first) return false;
        sampi_set_position(m, first);
    }
    return !m->d.status;
}

/* Lets the grammar read the text from byte `start` on. Returns whether the grammar allows it. */
static bool sampi_replay_text(sampi_matcher *m, int32_t start)
{
    size_t n, before = 0;
    int32_t i = 0;
    for (; i < m->history.n; i++, before += n) {
        sampi_history_bytes(m, i, &n);
        if (before + n > (size_t)start) break;
    }
    return sampi_replay(m, i, (size_t)start > before ? (size_t)start - before : 0);
}
