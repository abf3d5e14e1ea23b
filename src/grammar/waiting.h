/* ---- grammars: a lazy grammar before its trigger ----
   While a lazy grammar waits for its trigger, each byte moves the threads of the triggers' programs (triggers.h). Once
   a program matches, its thread says where in the text the grammar begins, by the rules of std::regex, as in llama.cpp.
   The grammar then reads the tokens from there on. If it does not allow them, the last token is refused. The mask of a
   waiting grammar excludes these tokens: a walk over the tries finds those that complete a trigger, and each of them is
   tried. */

static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip);

/* Lets the grammar read the tokens from index i on, the first one without its first `skip` bytes. Returns whether the
   grammar allows them. */
static bool sampi_grammar_replay(sampi_matcher *m, int32_t i, size_t skip)
{
    const int32_t n = m->history.n;
    bool allowed = true;
    sampi_grammar_set_first_token(m, 1, i);
    for (; i < n && allowed && !m->d.status; i++, skip = 0) {
        m->history.n = i; /* tokens are counted */
        const int32_t first = sampi_matcher_try(m, ((const samp_token *)m->history.data)[i], skip);
        allowed = m->items.n > first;
        if (allowed) sampi_grammar_set_position(m, first);
    }
    m->history.n = n;
    return allowed && !m->d.status;
}

/* Lets the grammar read the text from byte `start` on. Returns whether the grammar allows it. */
static bool sampi_grammar_replay_text(sampi_matcher *m, int32_t start)
{
    size_t n, before = 0;
    int32_t i = 0;
    for (; i < m->history.n; i++, before += n) {
        sampi_grammar_history_bytes(m, i, &n);
        if (before + n > (size_t)start) break;
    }
    return sampi_grammar_replay(m, i, (size_t)start > before ? (size_t)start - before : 0);
}

/* ---- the tokens that a waiting grammar refuses ---- */

/* A token that completes a trigger, and where in the text the grammar then begins. */
typedef struct sampi_trigger {
    samp_token token;
    int32_t start;
} sampi_trigger;

/* The walk over the tries that finds these tokens. Nearly all tokens have nothing to do with a trigger: behind them the
   threads are at the same operations as behind most other bytes. These are the idle operations. Where the threads are
   idle, and a byte leaves them idle, the walk computes nothing. Level d has the threads behind the first d bytes: from
   index at [d] of `lists` on, the programs' matches and then n [d] threads; if n [d] is -1, the threads are idle. */
typedef struct sampi_trigger_walk {
    sampi_vec lists, idle, found; /* idle: int32_t, the idle operations; found: sampi_trigger */
    bool has_idle, stays[256];    /* stays: whether a byte leaves idle threads idle */
    uint8_t path[SAMPI_MAX_PIECE];
    int32_t at[SAMPI_MAX_PIECE + 1], n[SAMPI_MAX_PIECE + 1];
} sampi_trigger_walk;

/* Are the threads idle, and does no program match? */
static bool sampi_grammar_is_idle(const sampi_lazy *z, const sampi_trigger_walk *walk, const sampi_threads *threads)
{
    const size_t size = (size_t)sampi_grammar_thread_size(z);
    bool idle = walk->has_idle && threads->n == walk->idle.n;
    for (int32_t i = 0; i < threads->n && idle; i++)
        idle = threads->at[(size_t)i * size + SAMPI_THREAD_OP] == ((const int32_t *)walk->idle.data)[i];
    for (int32_t i = 0; i < z->programs.n && idle; i++) idle = sampi_grammar_thread_matches(z)[i] < 0;
    return idle;
}

/* Finds the idle operations: those behind a byte after which most bytes change nothing. A few bytes are tried; any set
   is right, and a set that most bytes leave makes the walk slow. */
static void sampi_grammar_find_idle(sampi_matcher *m, sampi_trigger_walk *walk)
{
    sampi_lazy *z = &m->lazy;
    const size_t size = (size_t)sampi_grammar_thread_size(z);
    sampi_threads once = { sampi_grammar_thread_list(z, 1), 0 }, twice = { sampi_grammar_thread_list(z, 2), 0 };
    for (int first = 0, n_stay = 0; first < 256 && n_stay < 128 && sampi_grammar_step(&m->d); first += 17) {
        const sampi_threads live = sampi_grammar_live_threads(z);
        const bool matches = sampi_grammar_end_token(z, &live, &once, (uint8_t)first, z->length + 1) >= 0;
        walk->idle.n = 0;
        int32_t *ops = once.n ? (int32_t *)sampi_grammar_append(&m->d, &walk->idle, sizeof *ops, once.n) : NULL;
        if (once.n && !ops) return;
        for (int32_t i = 0; i < once.n; i++) ops[i] = once.at[(size_t)i * size + SAMPI_THREAD_OP];
        walk->has_idle = true;
        walk->has_idle = !matches && sampi_grammar_is_idle(z, walk, &once);
        for (int byte = n_stay = 0; byte < 256 && walk->has_idle; byte++) {
            sampi_grammar_step_threads(z, &once, &twice, (uint8_t)byte, z->length + 2, false);
            walk->stays[byte] = sampi_grammar_is_idle(z, walk, &twice);
            n_stay += walk->stays[byte];
            sampi_grammar_clear_matches(z);
        }
    }
}

/* Keeps the threads of a level of the walk. */
static void sampi_grammar_keep_level(sampi_matcher *m, sampi_trigger_walk *walk, uint32_t depth,
                                     const sampi_threads *threads)
{
    const sampi_lazy *z = &m->lazy;
    const int32_t size = sampi_grammar_thread_size(z), n_programs = z->programs.n;
    walk->n[depth] = sampi_grammar_is_idle(z, walk, threads) ? -1 : threads->n;
    walk->lists.n = walk->at[depth];
    if (walk->n[depth] < 0) return;
    int32_t *room = (int32_t *)sampi_grammar_append(&m->d, &walk->lists, sizeof *room,
                                                    n_programs + threads->n * size);
    if (!room) return;
    memcpy(room, sampi_grammar_thread_matches(z), (size_t)n_programs * sizeof *room);
    memcpy(room + n_programs, threads->at, (size_t)threads->n * (size_t)size * sizeof *room);
}

static void sampi_grammar_add_trigger(sampi_matcher *m, sampi_trigger_walk *walk, samp_token token, int32_t start)
{
    sampi_trigger *found = (sampi_trigger *)sampi_grammar_append(&m->d, &walk->found, sizeof *found, 1);
    if (!found) return;
    found->token = token;
    found->start = start;
}

/* Walks over a trie, the nodes [i, end) below its root. */
static void sampi_grammar_walk_triggers(sampi_matcher *m, sampi_trigger_walk *walk, uint32_t i, uint32_t end)
{
    sampi_lazy *z = &m->lazy;
    const uint32_t *nodes = m->index->nodes;
    const int32_t size = sampi_grammar_thread_size(z), n_programs = z->programs.n;
    const sampi_threads live = sampi_grammar_live_threads(z);
    walk->at[0] = 0;
    sampi_grammar_keep_level(m, walk, 0, &live);
    for (; i < end && !m->d.status; i++) {
        const uint32_t head = nodes[2 * (size_t)i], depth = nodes[2 * (size_t)i + 1] & 1023, token = head >> 8;
        const uint8_t byte = (uint8_t)head;
        const int32_t before = walk->n[depth - 1], at = walk->at[depth - 1];
        walk->path[depth - 1] = byte;
        walk->at[depth] = before < 0 ? at : at + n_programs + before * size;
        if (before < 0 && walk->stays[byte]) {
            walk->n[depth] = -1;
            continue;
        }
        if (!sampi_grammar_step(&m->d)) break;
        int32_t start = -1;
        sampi_threads from = { NULL, before };
        if (before < 0) {
            from = sampi_grammar_run_threads(z, walk->path, depth - 1);
        } else {
            from.at = (int32_t *)walk->lists.data + at + n_programs;
            memcpy(sampi_grammar_thread_matches(z), from.at - n_programs, (size_t)n_programs * sizeof *from.at);
        }
        sampi_threads threads = { sampi_grammar_thread_list(z, depth % 2 ? 1 : 2), 0 };
        if (token == SAMPI_NO_TOKEN)
            sampi_grammar_step_threads(z, &from, &threads, byte, z->length + (int32_t)depth, false);
        else
            start = sampi_grammar_end_token(z, &from, &threads, byte, z->length + (int32_t)depth);
        sampi_grammar_keep_level(m, walk, depth, &threads);
        if (start >= 0) sampi_grammar_add_trigger(m, walk, (samp_token)token, start);
    }
}

/* Does the grammar, at its beginning, refuse a token without its first `skip` bytes? */
static bool sampi_grammar_begins_without(sampi_matcher *m, samp_token token, size_t skip)
{
    size_t n = 0;
    const samp_vocab *vocab = m->index->vocab;
    (void)vocab->token_bytes(vocab, token, &n);
    if (skip >= n && skip > 0) return false;
    const sampi_level before = sampi_grammar_mark(m);
    sampi_grammar_set_first_token(m, 1, m->history.n);
    const int32_t first = sampi_matcher_try(m, token, skip);
    const bool refuses = m->items.n <= first && n > 0;
    sampi_grammar_drop(m, before);
    return refuses;
}

static void sampi_grammar_add_refused(sampi_matcher *m, samp_token token)
{
    samp_token *refused = (samp_token *)sampi_grammar_append(&m->d, &m->lazy.refused, sizeof *refused, 1);
    if (refused) *refused = token;
}

/* Adds the refused ones of the tokens found whose trigger began before the token. For each such beginning the grammar
   reads the text from there on. */
static void sampi_grammar_refuse_begun(sampi_matcher *m, const sampi_trigger_walk *walk)
{
    sampi_trigger *found = (sampi_trigger *)walk->found.data, *end = found + walk->found.n;
    const sampi_level before = sampi_grammar_mark(m);
    sampi_vec items = sampi_grammar_copy_vec(m, &m->items, sizeof(sampi_item));
    for (; found < end && !m->d.status; found++) {
        const int32_t start = found->start;
        if (start < 0 || start >= m->lazy.length) continue;
        const bool reads = sampi_grammar_replay_text(m, start);
        for (sampi_trigger *same = found; same < end && !m->d.status; same++) {
            if (same->start != start) continue;
            if (!reads || sampi_grammar_begins_without(m, same->token, 0)) sampi_grammar_add_refused(m, same->token);
            same->start = -1;
        }
        sampi_grammar_drop(m, before);
        m->n_now = items.n;
        if (items.n) memcpy(m->items.data, items.data, (size_t)items.n * sizeof(sampi_item));
    }
    sampi_grammar_vec_free(&items);
}

/* Makes the list of refused tokens. *depends: whether the list depends on more of the text than the threads. */
static void sampi_grammar_make_refused(sampi_matcher *m, bool *depends)
{
    sampi_lazy *z = &m->lazy;
    const samp_vocab *vocab = m->index->vocab;
    sampi_trigger_walk walk;
    walk.lists = walk.idle = walk.found = sampi_grammar_vec_like(&m->d.work);
    walk.has_idle = *depends = false;
    memset(walk.stays, 0, sizeof walk.stays);
    z->refused.n = 0;
    if (z->programs.n) {
        sampi_grammar_find_idle(m, &walk);
        sampi_grammar_walk_triggers(m, &walk, 1, m->index->n_plain);
        sampi_grammar_walk_triggers(m, &walk, m->index->n_plain + 1, m->index->n_nodes);
    }
    for (size_t i = 0; i < vocab->n_eog && z->programs.n && !m->d.status; i++) { /* the tries do not have them */
        size_t n = 0;
        const samp_token token = vocab->eog[i];
        if (token < 0 || (uint32_t)token >= m->index->n_vocab) continue;
        const uint8_t *bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n);
        sampi_threads threads;
        const int32_t start = n && n <= SAMPI_MAX_PIECE ? sampi_grammar_read_token(z, bytes, n, &threads) : -1;
        if (start >= 0) sampi_grammar_add_trigger(m, &walk, token, start);
    }
    for (int32_t i = 0; i < walk.found.n && !m->d.status; i++) {
        sampi_trigger *found = (sampi_trigger *)walk.found.data + i;
        if (sampi_grammar_is_trigger(z, found->token)) found->start = -1;
        *depends = *depends || (found->start >= 0 && found->start < z->length);
        if (found->start >= z->length &&
            sampi_grammar_begins_without(m, found->token, (size_t)(found->start - z->length)))
            sampi_grammar_add_refused(m, found->token);
    }
    for (int32_t i = 0; i < z->tokens.n && !m->d.status; i++) {
        const samp_token token = ((const samp_token *)z->tokens.data)[i];
        if (sampi_grammar_begins_without(m, token, 0)) sampi_grammar_add_refused(m, token);
    }
    if (*depends && !m->d.status) sampi_grammar_refuse_begun(m, &walk);
    sampi_grammar_vec_free(&walk.lists);
    sampi_grammar_vec_free(&walk.idle);
    sampi_grammar_vec_free(&walk.found);
}

/* Returns number i of the key of the present threads. Equal keys have equal lists of refused tokens, unless a trigger
   began before the token: only whether a beginning is the text's, this place or between them is in the key. */
static int32_t sampi_grammar_refused_key(const sampi_lazy *z, const sampi_threads *live, int32_t i)
{
    if (i == 0) return z->length == 0;
    const int32_t x = live->at[i - 1];
    if ((i - 1) % sampi_grammar_thread_size(z) < SAMPI_THREAD_START || x <= 0) return x;
    return x < z->length ? 1 : 2;
}

/* Finds the tokens that the waiting grammar refuses now (lazy.refused). Returns a status. */
static int sampi_grammar_find_refused(sampi_matcher *m)
{
    sampi_lazy *z = &m->lazy;
    const sampi_threads live = sampi_grammar_live_threads(z);
    const int32_t n = 1 + live.n * sampi_grammar_thread_size(z);
    int32_t same = 0;
    bool depends = false;
    while (same < n && z->key.n == n &&
           ((const int32_t *)z->key.data)[same] == sampi_grammar_refused_key(z, &live, same))
        same++;
    if (same == n) return SAMP_OK;
    z->key.n = 0;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);) {
        sampi_grammar_make_refused(m, &depends);
        z->key.n = 0;
        int32_t *key = depends || m->d.status ? NULL
                                              : (int32_t *)sampi_grammar_append(&m->d, &z->key, sizeof *key, n);
        for (int32_t i = 0; key && i < n; i++) key[i] = sampi_grammar_refused_key(z, &live, i);
    }
    return m->d.status;
}

/* Makes the mask of all tokens but the first n refused ones. */
static void sampi_grammar_mask_but(const sampi_matcher *m, int32_t n, uint32_t *bits)
{
    memset(bits, 0xff, (size_t)m->index->n_mask * 4);
    if (m->index->n_vocab % 32) bits[m->index->n_mask - 1] >>= 32 - m->index->n_vocab % 32;
    for (int32_t i = 0; i < n; i++) {
        const samp_token token = ((const samp_token *)m->lazy.refused.data)[i];
        bits[token / 32] &= ~(1u << token % 32);
    }
}

/* Accepts a token while the grammar waits for its trigger. Returns SAMP_E_RANGE if the token completes a trigger and
   the grammar does not allow the text from where it begins. A trigger token without bytes that the grammar cannot begin
   with begins the grammar behind it. After an error nothing has changed. */
static int sampi_grammar_accept_waiting(sampi_matcher *m, samp_token token)
{
    sampi_lazy *z = &m->lazy;
    bool allowed = true, begins = false;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return SAMP_E_RANGE;
    const sampi_level before = sampi_grammar_mark(m);
    sampi_vec items = sampi_grammar_copy_vec(m, &m->items, sizeof(sampi_item));
    if (m->d.status) return m->d.status; /* without the copy the position could not be restored */
    samp_token *kept = (samp_token *)sampi_grammar_append(&m->d, &m->history, sizeof *kept, 1);
    if (kept) {
        size_t n = 0;
        *kept = token;
        const uint8_t *bytes = sampi_grammar_history_bytes(m, m->history.n - 1, &n);
        const bool named = sampi_grammar_is_trigger(z, token);
        if (n > SAMPI_MAX_PIECE || z->length > INT32_MAX - 4 * SAMPI_MAX_PIECE)
            sampi_grammar_fault(&m->d, SAMP_E_FULL);
        if (named || m->d.status) n = 0;
        sampi_threads threads;
        const int32_t start = sampi_grammar_read_token(z, bytes, n, &threads);
        begins = named || start >= 0;
        if (named && sampi_grammar_begins_without(m, token, 0))
            allowed = false;
        else if (named)
            (void)sampi_grammar_replay(m, m->history.n - 1, 0);
        else if (begins)
            allowed = sampi_grammar_replay_text(m, start);
        if (!m->d.status && allowed &&
            sampi_grammar_keep_position(m, items.data, SAMPI_POSITION_SAME - 1 - items.n) && !begins)
            sampi_grammar_keep_threads(z, &threads, n);
    }
    if (m->d.status || !allowed) {
        if (kept) m->history.n--;
        sampi_grammar_drop(m, before);
        m->n_now = items.n;
        if (items.n) memcpy(m->items.data, items.data, (size_t)items.n * sizeof(sampi_item));
    } else {
        z->waiting = !begins;
        m->items.n = m->n_now;
    }
    sampi_grammar_vec_free(&items);
    return m->d.status ? m->d.status : allowed ? SAMP_OK : SAMP_E_RANGE;
}
