/* ---- grammars: a token is accepted ----
   The items, which are the matcher's position in the text, move from the position before a token to the one behind it:
   by the token's bytes, or by its number where the grammar names the token (<think>). This room also drops frames that
   no item can return to, so that their memory does not grow with the text. */

/* Discards the work that samp_grammar_prepare has done for the old position, when the position changes. */
static void sampi_grammar_discard_prepared(sampi_matcher *m)
{
    m->spent = 0;
    m->n_idle = 0;
    if (m->begun.cache) sampi_grammar_drop_unfinished(m);
}

/* Sets the text's position to the parser's items from index `first` on. */
static void sampi_grammar_set_position(sampi_matcher *m, int32_t first)
{
    m->n_now = m->items.n - first;
    memmove(m->items.data, sampi_grammar_item_at(m, first), (size_t)m->n_now * sizeof(sampi_item));
    m->items.n = m->n_now;
}

/* Appends the parser's items behind a token that the grammar calls by its number. listed: the token has a text, so the
   grammar's "any other token" includes it. */
static void sampi_grammar_accept_named(sampi_matcher *m, samp_token token, bool listed)
{
    int32_t first = m->items.n;
    sampi_grammar_begin_step(m);
    for (int32_t i = 0; i < m->n_now; i++) {
        sampi_item item = *sampi_grammar_item_at(m, i);
        const sampi_dfa_state *s = sampi_grammar_dfa_state_at(m, item.state);
        for (int32_t c = 0; c < s->n_calls && (s->flags & SAMPI_STATE_TOKENS); c++) {
            const sampi_call call = s->calls[c];
            const uint32_t excluded = call.negated
                                          ? sampi_grammar_call_excludes(&m->d.tree, &call, (uint32_t)token / 32)
                                          : 0;
            if (call.rule < 0 && (call.negated ? listed && !(excluded >> token % 32 & 1) : call.token == token))
                sampi_grammar_add_item(m, sampi_grammar_state_of(m, call.then), item.frame);
        }
    }
    sampi_grammar_close(m, first);
}

/* Reads n bytes from the items [0, n_now). Returns the index of the first item behind them. Other items behind n_now
   may be overwritten. */
static int32_t sampi_grammar_accept_bytes(sampi_matcher *m, const uint8_t *bytes, size_t n)
{
    int32_t from = 0, to = m->n_now;
    for (size_t i = 0; i < n && to > from; i++) {
        int32_t first = m->items.n;
        sampi_grammar_advance(m, from, to, bytes[i]);
        from = first;
        to = m->items.n;
    }
    return from;
}

/* The parser's items that must stay valid: those of the text's position, then those of the earlier positions that are
   kept. sampi_grammar_n_kept_items returns their number, sampi_grammar_kept_item_at item i. */
static int32_t sampi_grammar_n_kept_items(const sampi_matcher *m) { return m->n_now + m->past.n; }
static sampi_item *sampi_grammar_kept_item_at(const sampi_matcher *m, int32_t i)
{
    return i < m->n_now ? sampi_grammar_item_at(m, i) : (sampi_item *)m->past.data + (i - m->n_now);
}

/* Marks the frames that an item can return to: the frame's rule becomes ~rule. Returns false if there is no memory for
   this. */
static bool sampi_grammar_mark_frames(sampi_matcher *m)
{
    /* room for a stack of the call frames whose edges must be followed; later a table of the frames' new numbers */
    m->d.work.n = 0;
    if (!sampi_grammar_vec_add(&m->d.work, sizeof(int32_t), m->frames.n)) return false;
    int32_t *todo = (int32_t *)m->d.work.data, n = 0;
    for (int32_t i = 0; i < sampi_grammar_n_kept_items(m); i++) {
        sampi_frame *frame = sampi_grammar_frame_at(m, sampi_grammar_kept_item_at(m, i)->frame);
        if (sampi_grammar_kept_item_at(m, i)->frame == 0 || frame->rule < 0) continue;
        frame->rule = ~frame->rule;
        todo[n++] = sampi_grammar_kept_item_at(m, i)->frame;
    }
    while (n > 0)
        for (int32_t e = sampi_grammar_frame_at(m, todo[--n])->edge; e >= 0; e = sampi_grammar_edge_at(m, e)->next) {
            const int32_t f = sampi_grammar_edge_at(m, e)->frame;
            if (f == 0 || sampi_grammar_frame_at(m, f)->rule < 0) continue;
            sampi_grammar_frame_at(m, f)->rule = ~sampi_grammar_frame_at(m, f)->rule;
            todo[n++] = f;
        }
    return true;
}

/* Marks the edges of a frame that is kept and gets the number `frame`: their `next` becomes -2 - frame. */
static void sampi_grammar_claim_edges(sampi_matcher *m, int32_t frame, int32_t first)
{
    for (int32_t e = first; e >= 0;) {
        const int32_t next = sampi_grammar_edge_at(m, e)->next;
        sampi_grammar_edge_at(m, e)->next = -2 - frame;
        e = next;
    }
}

/* Drops the call frames that no item can return to, and their edges. The other frames keep their order, and get new
   numbers. The arrays are compacted in place. Only valid between two steps, when no frame is looked up by its rule. If
   there is no memory for the marks, all frames stay. */
static void sampi_grammar_sweep_frames(sampi_matcher *m)
{
    int32_t kept = 1, n_edges = 0;
    const bool was_full = m->d.account.full, marked = sampi_grammar_mark_frames(m);
    m->d.account.full = was_full;
    int32_t *to = (int32_t *)m->d.work.data;
    m->d.work.n = 0;
    if (!marked) return;
    to[0] = 0;
    for (int32_t i = 1; i < m->frames.n; i++) {
        sampi_frame frame = *sampi_grammar_frame_at(m, i);
        if (frame.rule >= 0) continue;
        sampi_grammar_claim_edges(m, kept, frame.edge);
        frame.rule = ~frame.rule;
        frame.edge = -1;
        to[i] = kept;
        *sampi_grammar_frame_at(m, kept++) = frame;
    }
    for (int32_t e = 0; e < m->edges.n; e++) {
        sampi_edge edge = *sampi_grammar_edge_at(m, e);
        if (edge.next >= -1) continue; /* the call frame of this edge is dropped */
        sampi_frame *frame = sampi_grammar_frame_at(m, -2 - edge.next);
        edge.frame = to[edge.frame];
        edge.next = frame->edge;
        frame->edge = n_edges;
        *sampi_grammar_edge_at(m, n_edges++) = edge;
    }
    for (int32_t i = 0; i < sampi_grammar_n_kept_items(m); i++)
        sampi_grammar_kept_item_at(m, i)->frame = to[sampi_grammar_kept_item_at(m, i)->frame];
    m->edges.n = n_edges;
    m->frames.n = m->n_reachable = kept;
}

/* Copies an array to one of m's, in the memory that it has. If that is too small and there is no other, the array is
   empty and an error is recorded. */
static void sampi_grammar_assign_vec(sampi_matcher *m, sampi_vec *to, const sampi_vec *from, size_t width)
{
    to->n = 0;
    if (from->n == 0) return;
    if (from->n > to->cap && !(to->cap ? sampi_grammar_vec_grow : sampi_grammar_vec_move)(to, width, from->n)) {
        sampi_grammar_fault(&m->d, SAMP_E_NOMEM);
        return;
    }
    memcpy(to->data, from->data, (size_t)from->n * width);
    to->n = from->n;
}

/* Returns a copy of an array. If there is no memory, the copy is empty and an error is recorded. */
static sampi_vec sampi_grammar_copy_vec(sampi_matcher *m, const sampi_vec *from, size_t width)
{
    sampi_vec vec;
    memset(&vec, 0, sizeof vec);
    vec.account = &m->d.account;
    sampi_grammar_assign_vec(m, &vec, from, width);
    return vec;
}

/* Frees memory that is not needed any more. Going back to an earlier position never needs more items than there are
   now. */
static void sampi_grammar_trim(sampi_matcher *m)
{
    sampi_grammar_trim_workspace(m, true);
    if (m->begun.cache) sampi_grammar_drop_unfinished(m);
    sampi_grammar_vec_trim(&m->frames, sizeof(sampi_frame));
    sampi_grammar_vec_trim(&m->edges, sizeof(sampi_edge));
    sampi_grammar_vec_trim(&m->past, sizeof(sampi_item));
    sampi_grammar_vec_trim(&m->past_n, sizeof(int32_t));
    sampi_grammar_vec_trim(&m->history, sizeof(samp_token));
    sampi_grammar_vec_trim(&m->text, 1);
    if (m->past.n == 0) sampi_grammar_vec_trim(&m->items, sizeof(sampi_item));
}

/* Makes the position at the beginning of a text. */
static void sampi_grammar_begin_text(sampi_matcher *m)
{
    m->frames.n = m->n_reachable = 1;
    m->edges.n = m->items.n = m->text.n = 0;
    sampi_grammar_begin_step(m);
    sampi_grammar_add_item(m, sampi_grammar_state_of(m, sampi_grammar_rule_at(&m->d.tree, m->grammar->root)->body),
                           0);
    sampi_grammar_close(m, 0);
    sampi_grammar_set_first_token(m, 1, 0);
    m->n_now = m->items.n;
}

/* Forgets the position; the next call computes it again. past_n still says how many positions are kept, and for which
   tokens. */
static void sampi_grammar_forget_position(sampi_matcher *m)
{
    m->position_cache = 0;
    m->frames.n = m->n_reachable = 1;
    m->edges.n = m->items.n = m->n_now = m->past.n = 0;
}

static bool sampi_grammar_keep_items(sampi_matcher *m, const void *items, int32_t n);
static int sampi_grammar_accept_once(sampi_matcher *m, samp_token token);

/* Reads the text again, in the cache of this call. The steps count in the limit of the call, but for AGAIN steps for
   each token: a token whose states are known takes fewer. The kept positions before the last tokens are computed again
   too. */
static void sampi_grammar_read_again(sampi_matcher *m)
{
    enum { AGAIN = 64 };
    const int32_t n = m->history.n;
    const int64_t budget = m->d.budget, extra = (int64_t)AGAIN * n;
    const bool waiting = m->lazy.waiting;
    int32_t *size = (int32_t *)m->past_n.data, led = 0, place = 0;
    /* led: the number of the last tokens before which the position is kept */
    for (int32_t i = 0; i < m->past_n.n; i++) led += size[i] != SAMPI_POSITION_SAME;
    sampi_grammar_forget_position(m);
    sampi_grammar_begin_text(m);
    sampi_grammar_lazy_reset(&m->lazy);
    m->rereading = true;
    m->d.budget += extra;
    for (int32_t i = 0; i < n && !m->d.status; i++) {
        m->history.n = i;
        if (i >= n - led) {
            while (size[place] == SAMPI_POSITION_SAME) place++;
            if (!sampi_grammar_keep_items(m, m->items.data, m->n_now)) break;
            size[place++] = m->lazy.waiting ? SAMPI_POSITION_SAME - 1 - m->n_now : m->n_now;
        }
        const int status = sampi_grammar_accept_once(m, ((const samp_token *)m->history.data)[i]);
        if (status) sampi_grammar_fault(&m->d, status);
        m->items.n = m->n_now;
        if (m->frames.n > 2 * m->n_reachable + 64) sampi_grammar_sweep_frames(m);
    }
    m->rereading = false;
    m->history.n = n;
    const int64_t left = m->d.budget;
    m->d.budget = left < budget ? left : budget;
    SAMPI_COUNT_STEPS(extra - left + m->d.budget);
    if (m->d.status) {
        sampi_grammar_forget_position(m);
        m->lazy.waiting = waiting;
    } else {
        m->position_cache = m->cache->serial;
    }
}

/* Gives the position the numbers of this call's cache, if that cache has taken over all its states and nodes. Otherwise
   returns false, and nothing has changed. */
static bool sampi_grammar_renumber_position(sampi_matcher *m)
{
    const sampi_cache *cache = m->cache;
    if (!m->position_cache || cache->moved_from != m->position_cache) return false;
    sampi_grammar_sweep_frames(m);
    const int32_t *nodes = cache->moved, *states = cache->moved + cache->moved_states, own = m->grammar->tree.nodes.n;
    for (int32_t i = 0; i < sampi_grammar_n_kept_items(m); i++)
        if (!states[sampi_grammar_kept_item_at(m, i)->state]) return false;
    for (int32_t i = 0; i < m->edges.n; i++) {
        const sampi_node then = sampi_grammar_edge_at(m, i)->then;
        if (then >= own && !nodes[then]) return false;
    }
    for (int32_t i = 0; i < sampi_grammar_n_kept_items(m); i++) {
        sampi_item *item = sampi_grammar_kept_item_at(m, i);
        item->state = states[item->state];
    }
    for (int32_t i = 0; i < m->edges.n; i++)
        sampi_grammar_edge_at(m, i)->then = nodes[sampi_grammar_edge_at(m, i)->then];
    m->position_cache = cache->serial;
    return true;
}

/* Sets the matcher back to its state between two calls, with the position in this call's cache of
   states. */
static void sampi_grammar_enter_cache(sampi_matcher *m, sampi_attempt *turn)
{
    m->d.status = SAMP_OK;
    m->d.account.full = false;
    m->d.work.n = 0;
    m->items.n = m->n_now;
    if (m->position_cache != m->cache->serial && !sampi_grammar_renumber_position(m))
        sampi_grammar_read_again(m);
    else if (m->frames.n > 2 * m->n_reachable + 64)
        sampi_grammar_sweep_frames(m);
    turn->before = sampi_grammar_mark(m);
}

/* Returns whether the cache of states exceeds its limit, because the limit was lowered or other data needs
   more memory. */
static bool sampi_cache_is_large(const sampi_matcher *m)
{
    sampi_shared *h = m->shared;
    const size_t bytes = SAMPI_SIZE_GET(&m->cache->bytes), most = SAMPI_SIZE_GET(&h->account.most);
    if (bytes <= most && SAMPI_SIZE_GET(&h->account.bytes) <= most - bytes) return false;
    return bytes > sampi_cache_planned(h, m->cache, m->d.account.allowance, SAMPI_CACHE_USUAL).most;
}

/* Returns whether a new cache has room for all that the call's cache has, and more, within a quarter of the limit. */
static bool sampi_grammar_can_keep_all(const sampi_matcher *m)
{
    int32_t room[4], used[4];
    size_t size[SAMPI_CACHE_PARTS];
    const sampi_cache *old = m->cache;
    if (!old || m->own) return false;
    sampi_cache_numbers(m->shared, old, room, used);
    const sampi_cache_plan plan = sampi_cache_planned(m->shared, old, 0, SAMPI_CACHE_USUAL);
    const size_t fixed = sampi_cache_sizes(m->shared->grammar, &plan, size), bytes = SAMPI_SIZE_GET(&old->bytes);
    const int32_t planned[4] = { plan.nodes, plan.pool, plan.states, plan.entries };
    bool larger = false;
    for (int i = 0; i < 4; i++) {
        larger |= planned[i] > room[i];
        if (planned[i] / 2 <= used[i]) return false;
    }
    const size_t most = plan.most < SAMPI_SIZE_GET(&m->shared->account.most) / 4
                            ? plan.most
                            : SAMPI_SIZE_GET(&m->shared->account.most) / 4;
    return larger && !plan.alone && fixed < most && bytes - old->fixed < (most - fixed) / 2;
}

/* Gets more memory for a call that found no room in its cache. Each time it tries the next of these:

     1. a larger cache;
     2. a cache of the same size, half of which gets the data used last;
     3. a cache with three quarters of the memory, a quarter of which gets such data;
     4. a cache with nearly all memory, without such data: three times, as each time shows better what needs the room;
     5. a cache for this call alone, if other calls fill that cache too;
     6. the room of the earlier positions, because continuing is more useful than a rollback.

   The turns of turn->n: up to KEPT a cache as in 1 and 2; WIDE 3; up to EMPTY 4; OWN 5. Returns false if all of these
   were tried; for samp_grammar_warm, if data would be dropped. */
static bool sampi_grammar_more_room(sampi_matcher *m, sampi_attempt *turn)
{
    enum { LARGER = 1, KEPT = LARGER + 12, WIDE, EMPTY = WIDE + 3, OWN, ROUNDS = 3 };
    const size_t before = m->cache ? m->cache->fixed + m->cache->most : 0;
    const bool crowded = !m->own && m->cache && SAMPI_INT_GET(&m->cache->n_calls) > 1;
    if (m->warming && !sampi_grammar_can_keep_all(m)) return false;
    if (m->warming) turn->n = 0;
    if (turn->n < EMPTY) {
        turn->n++;
    } else if (turn->n == EMPTY && crowded) {
        turn->n = OWN;
    } else {
        if (m->past_n.n == 0 && turn->again == ROUNDS) return false;
        turn->again += m->past_n.n == 0;
        sampi_grammar_vec_free(&m->past);
        sampi_grammar_vec_free(&m->past_n);
        turn->n = LARGER;
    }
    if (m->position_cache) {
        sampi_grammar_drop(m, turn->before);
        m->items.n = m->n_now;
        sampi_grammar_sweep_frames(m);
        turn->before = sampi_grammar_mark(m);
    }
    sampi_grammar_trim(m);
    m->d.status = SAMP_OK;
    m->d.account.full = false;
    const bool own = m->own || (turn->n > EMPTY && crowded),
               found = own               ? sampi_grammar_use_private_cache(m)
                       : turn->n < WIDE  ? sampi_grammar_renew_cache(m, 2, SAMPI_CACHE_USUAL)
                       : turn->n == WIDE ? sampi_grammar_renew_cache(m, 4, SAMPI_CACHE_WIDE)
                                         : sampi_grammar_renew_cache(m, 0, SAMPI_CACHE_WHOLE);
    if (turn->n < KEPT && (!found || m->cache->fixed + m->cache->most <= before + before / 4)) turn->n = KEPT;
    if (found) sampi_grammar_enter_cache(m, turn);
    return true;
}

/* Returns whether the call must do its work: true the first time, and again each time after it got more memory. When it
   returns false, m->d.status is the call's result. All attempts share the call's limit of steps. */
static bool sampi_matcher_attempt(sampi_matcher *m, sampi_attempt *turn)
{
    if (turn->n == 0) {
        turn->n = 1;
        if (!sampi_grammar_begin_call(m)) return false;
        m->d.budget = m->max_steps;
        m->items.n = m->n_now;
        turn->before = sampi_grammar_mark(m);
        if (sampi_grammar_use_cache(m, NULL, NULL) &&
            (!sampi_cache_is_large(m) || sampi_grammar_renew_cache(m, 2, SAMPI_CACHE_USUAL))) {
            sampi_grammar_enter_cache(m, turn);
            if (!m->d.status) return true;
        }
    }
    while (m->d.status == SAMP_E_FULL && m->d.account.full && sampi_grammar_more_room(m, turn))
        if (!m->d.status) return true;
    sampi_grammar_end_call(m);
    return false;
}

/* Computes the position if it is not known. Returns SAMP_OK, or the error. */
static int sampi_matcher_find_position(sampi_matcher *m)
{
    sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } };
    if (m->position_cache) return SAMP_OK;
    while (sampi_matcher_attempt(m, &turn)) {
    }
    return m->d.status;
}
