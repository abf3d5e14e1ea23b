/* ---- grammars: the matcher as a whole ----
   A matcher is made, cloned, put back to the beginning, freed; a token is tried and accepted; its memory is counted
   against the limit. Where an accept or a mask runs out of room, it forgets all states but those of the text's place
   and does its turn once more (sampi_matcher_turn). */

/* What a token leads to, without its first bytes if they are to be skipped: items from the returned number on; none: it
   is not allowed. Nothing is kept yet. */
static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip)
{
    size_t n = 0;
    const samp_vocab *vocab = m->index->vocab;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return m->items.n;
    const uint8_t *bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n);
    bool listed = m->index->all[token / 32] >> token % 32 & 1;
    bool zero = bytes && n > 0 && bytes[0] == 0 && !sampi_is_eog(vocab, token);
    int32_t first = listed || zero ? sampi_accept_bytes(m, bytes + skip, n - skip) : m->n_now;
    for (int32_t i = 0; i < m->n_now; i++)
        if (sampi_lex_at(m, sampi_item_at(m, i)->state)->flags & SAMPI_STATE_TOKENS) {
            sampi_accept_named(m, token, listed);
            break;
        }
    return first;
}

/* Go on behind a token, in a turn of sampi_matcher_accept. */
static int sampi_accept_once(sampi_matcher *m, samp_token token)
{
    if (m->lazy.waiting) return sampi_accept_waiting(m, token, true);
    sampi_level before = sampi_mark(m);
    if (sampi_is_eog(m->index->vocab, token)) {
        if (!sampi_matcher_ends(m)) return SAMP_E_RANGE;
        sampi_keep_place(m, NULL, SAMPI_PLACE_STAYS);
        return m->d.status;
    }
    int32_t first = sampi_matcher_try(m, token, 0);
    samp_token *kept = m->items.n > first ? (samp_token *)sampi_more(&m->d, &m->history, sizeof *kept, 1) : NULL;
    if (m->d.status || !kept || !sampi_keep_place(m, m->items.data, m->n_now)) {
        m->history.n -= kept != NULL;
        sampi_drop(m, before);
        return m->d.status ? m->d.status : SAMP_E_RANGE;
    }
    *kept = token;
    sampi_settle_items(m, first);
    return SAMP_OK;
}

/* Go on behind a token. SAMP_E_RANGE: it is not allowed here; then nothing has changed, as after all errors. */
static int sampi_matcher_accept(sampi_matcher *m, samp_token token)
{
    int status = SAMP_OK;
    for (sampi_turn turn = { 0, { 0, 0, 0, 0, 0, false } }; sampi_matcher_turn(m, &turn);)
        status = sampi_accept_once(m, token);
    return m->d.status ? m->d.status : status;
}

/* Is a token allowed? 1, 0 or a status. */
static int sampi_matcher_allows(sampi_matcher *m, samp_token token)
{
    bool allowed = true;
    for (sampi_turn turn = { 0, { 0, 0, 0, 0, 0, false } }; sampi_matcher_turn(m, &turn);) {
        allowed = token >= 0 && (uint32_t)token < m->index->n_vocab;
        if (m->lazy.waiting || !allowed) break;
        sampi_level before = sampi_mark(m);
        if (sampi_is_eog(m->index->vocab, token))
            allowed = sampi_matcher_ends(m);
        else
            allowed = sampi_matcher_try(m, token, 0) < m->items.n;
        sampi_drop(m, before);
    }
    return m->d.status ? m->d.status : allowed;
}

/* Would the grammar, which waits, accept a token? As sampi_matcher_accept, but for that nothing changes. */
static int sampi_matcher_probe(sampi_matcher *m, samp_token token)
{
    int status = SAMP_OK;
    for (sampi_turn turn = { 0, { 0, 0, 0, 0, 0, false } }; sampi_matcher_turn(m, &turn);)
        status = sampi_accept_waiting(m, token, false);
    return m->d.status ? m->d.status : status;
}

/* To the beginning of a text. What has been made stays. */
static int sampi_matcher_reset(sampi_matcher *m)
{
    m->history.n = m->n_now = m->past.n = m->past_n.n = 0;
    m->frames.n = m->live = 1;
    m->edges.n = m->items.n = 0;
    sampi_lazy_reset(&m->lazy);
    m->unborn = true;
    sampi_turn turn = { 0, { 0, 0, 0, 0, 0, false } };
    sampi_matcher_turn(m, &turn);
    return m->d.status;
}

/* All arrays [n] of a matcher. */
#define SAMPI_MATCHER_VECS 28
static void sampi_matcher_vecs(sampi_matcher *m, sampi_vec *(*vecs)[SAMPI_MATCHER_VECS])
{
    sampi_tree *t = &m->d.tree;
    sampi_lazy *z = &m->lazy;
    sampi_vec *all[] = { &m->d.work,   &m->states,     &m->next,         &m->calls,      &m->items,  &m->frames,
                         &m->edges,    &m->entries,    &m->classes,      &m->tokens,     &m->places, &m->history,
                         &m->past,     &m->past_n,     &t->nodes,        &t->pool,       &t->rules,  &t->lists,
                         &t->members,  &t->slots,      &z->ops,          &z->pool,       &z->places, &z->tokens,
                         &z->programs, &m->seen.slots, &m->joined.slots, &m->entry_slots };
    memcpy(vecs, all, sizeof all);
}

static void sampi_matcher_free(sampi_matcher *m)
{
    sampi_vec *vecs[SAMPI_MATCHER_VECS];
    if (!m) return;
    sampi_drop_entries(m);
    sampi_matcher_vecs(m, &vecs);
    for (int i = 0; i < SAMPI_MATCHER_VECS; i++) sampi_vec_free(vecs[i]);
    SAMP_FREE(m->rule_frame);
    SAMP_FREE(m->d.memo);
    SAMP_FREE(m->level);
    SAMP_FREE(m->plain);
    SAMP_FREE(m->bits);
    SAMP_FREE(m);
}

/* A matcher with all that never moves, and nothing in its arrays. Nothing is too much for it yet. */
static sampi_matcher *sampi_matcher_blank(const samp_vocab_index *index, const samp_grammar *grammar)
{
    sampi_matcher *m = (sampi_matcher *)SAMP_MALLOC(sizeof *m);
    if (!m) return NULL;
    memset(m, 0, sizeof *m);
    m->index = index;
    m->grammar = grammar;
    m->d.bytes = &grammar->bytes;
    m->d.held.most = SIZE_MAX;
    m->max_steps = (int64_t)1 << 24;
    sampi_hold(&m->d.held, sizeof *m);
    sampi_vec *vecs[SAMPI_MATCHER_VECS];
    sampi_matcher_vecs(m, &vecs);
    for (int i = 0; i < SAMPI_MATCHER_VECS; i++) vecs[i]->held = &m->d.held;
    size_t n_rules = (size_t)grammar->tree.rules.n;
    m->rule_frame = (int32_t *)sampi_hold_block(&m->d.held, (n_rules + 1) * sizeof *m->rule_frame);
    m->level = (sampi_level *)sampi_hold_block(&m->d.held, (index->deepest + 1) * sizeof *m->level);
    m->plain = (sampi_plain_level *)sampi_hold_block(&m->d.held, (index->deepest + 1) * sizeof *m->plain);
    m->bits = (uint32_t *)sampi_hold_block(&m->d.held, (size_t)index->n_mask * 4 + 4);
    if (!m->rule_frame || !m->level || !m->plain || !m->bits) {
        sampi_matcher_free(m);
        return NULL;
    }
    memset(m->rule_frame, 0, (n_rules + 1) * sizeof *m->rule_frame);
    return m;
}

/* The arrays of triggers, which come from elsewhere, are its own now. */
static void sampi_matcher_adopt(sampi_matcher *m, const sampi_lazy *lazy)
{
    m->lazy = *lazy;
    sampi_vec *vecs[] = { &m->lazy.ops, &m->lazy.pool, &m->lazy.places, &m->lazy.tokens, &m->lazy.programs };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        vecs[i]->held = &m->d.held;
        sampi_hold(&m->d.held, vecs[i]->size);
    }
}

/* Which token a text in angle brackets is, by the vocabulary's own function; -1: none, or several. llama.cpp is asked
   with control tokens, as it asks itself; dry asks without. */
static samp_token sampi_tokenized(const samp_vocab *vocab, const char *text, size_t n)
{
    samp_token found[2] = { -1, -1 };
#ifdef SAMPLING_LLAMA_DECLARED
    if (vocab->tokenize == sampi_llama_tokenize)
        return sampi_llama_tokens(vocab, text, n, found, 2, true) == 1 ? found[0] : -1;
#endif
    return vocab->tokenize(vocab, text, n, found, 2) == 1 ? found[0] : -1;
}

/* Is a TEXT before some bytes (below 0), the same (0), or behind them? */
static int sampi_text_order(const sampi_tree *t, sampi_node text, const void *bytes, size_t n)
{
    const sampi_expr *e = sampi_at(t, text);
    const size_t length = (size_t)e->b;
    const int order = memcmp(sampi_bytes_at(t, e->a), bytes, length < n ? length : n);
    return order ? order : (length > n) - (length < n);
}

/* Sort TEXTs by their bytes: a heap, whatever their order is. */
static void sampi_sort_texts(const sampi_tree *t, sampi_node *texts, int32_t n)
{
    for (int32_t top = n / 2, end = n; end > 1;) {
        sampi_node x;
        if (top > 0) {
            x = texts[--top];
        } else {
            x = texts[--end];
            texts[end] = texts[0];
        }
        int32_t at = top;
        for (int32_t child; (child = 2 * at + 1) < end; at = child) {
            const sampi_expr *e = child + 1 < end ? sampi_at(t, texts[child + 1]) : NULL;
            if (e && sampi_text_order(t, texts[child], sampi_bytes_at(t, e->a), (size_t)e->b) < 0) child++;
            e = sampi_at(t, x);
            if (sampi_text_order(t, texts[child], sampi_bytes_at(t, e->a), (size_t)e->b) <= 0) break;
            texts[at] = texts[child];
        }
        texts[at] = x;
    }
}

/* The numbers of the tokens whose texts stand in angle brackets, into c of these; -1: there is none. Without the
   vocabulary's own function the vocabulary is gone through once for all of them, and the first token counts. */
static void sampi_find_texts(sampi_matcher *m)
{
    const samp_vocab *vocab = m->index->vocab;
    const int32_t first = m->d.work.n;
    for (sampi_node n = 0; n < m->d.tree.nodes.n && !m->d.status; n++) {
        const sampi_expr e = *sampi_at(&m->d.tree, n);
        if (e.kind == SAMPI_NODE_TOKEN && (e.b & 2)) sampi_work_push(&m->d, e.a);
    }
    sampi_node *texts = (sampi_node *)sampi_vec_at(&m->d.work, sizeof *texts, first);
    const int32_t n_texts = m->d.status ? 0 : m->d.work.n - first;
    m->d.work.n = first;
    for (int32_t i = 0; i < n_texts; i++) {
        sampi_expr *e = sampi_at(&m->d.tree, texts[i]);
        e->c = vocab->tokenize ? sampi_tokenized(vocab, (const char *)sampi_bytes_at(&m->d.tree, e->a), (size_t)e->b)
                               : -1;
    }
    if (vocab->tokenize || n_texts == 0) return;
    sampi_sort_texts(&m->d.tree, texts, n_texts);
    for (samp_token token = 0; token < vocab->n_vocab; token++) {
        size_t n = 0;
        const char *bytes = vocab->token_bytes(vocab, token, &n);
        int32_t lo = 0, hi = n_texts;
        while (lo < hi && bytes) { /* the first that is not before it */
            const int32_t middle = lo + (hi - lo) / 2;
            if (sampi_text_order(&m->d.tree, texts[middle], bytes, n) < 0)
                lo = middle + 1;
            else
                hi = middle;
        }
        for (; bytes && lo < n_texts && !sampi_text_order(&m->d.tree, texts[lo], bytes, n); lo++)
            if (sampi_at(&m->d.tree, texts[lo])->c < 0) sampi_at(&m->d.tree, texts[lo])->c = token;
    }
}

/* A matcher at the beginning of a text. Tokens that the grammar has by their text get their numbers: they stand in the
   text's node, where the tree had the rule of that name. */
static int sampi_matcher_make(sampi_matcher *m)
{
    m->d.tree = sampi_copy_tree(m, &m->grammar->tree);
    sampi_begin_states(m);
    sampi_frame *outermost = (sampi_frame *)sampi_more(&m->d, &m->frames, sizeof *outermost, 1);
    if (!m->d.status) sampi_find_texts(m);
    sampi_vec_free(&m->d.work);
    m->d.held.most = (size_t)1 << 26;
    if (m->d.status) return m->d.status;
    outermost->rule = outermost->edge = -1;
    for (sampi_node n = 0; n < m->d.tree.nodes.n; n++) {
        const sampi_expr e = *sampi_at(&m->d.tree, n);
        if (e.kind != SAMPI_NODE_TOKEN || !(e.b & 2)) continue;
        const int32_t token = sampi_at(&m->d.tree, e.a)->c;
        if (token < 0) return SAMP_E_RANGE;
        sampi_mix(&m->named, (uint64_t)token);
    }
    const int status = sampi_matcher_reset(m);
    return status == SAMP_E_FULL && m->d.held.full ? (int)SAMP_OK : status; /* there may be more room later */
}

/* As it is, without its entries: these come back. NULL: no memory. */
static sampi_matcher *sampi_matcher_copy(const sampi_matcher *from)
{
    sampi_matcher *m = sampi_matcher_blank(from->index, from->grammar);
    if (!m) return NULL;
    m->max_steps = from->max_steps;
    m->named = from->named;
    m->n_now = from->n_now;
    m->unborn = from->unborn;
    m->stateless = from->stateless;
    m->live = from->live;
    m->mark = from->mark;
    m->d.tree = sampi_copy_tree(m, &from->d.tree);
    m->states = sampi_copy_vec(m, &from->states, sizeof(sampi_lex));
    m->next = sampi_copy_vec(m, &from->next, sizeof(int32_t));
    m->calls = sampi_copy_vec(m, &from->calls, sizeof(sampi_call));
    m->classes = sampi_copy_vec(m, &from->classes, sizeof(uint32_t));
    m->items = sampi_copy_vec(m, &from->items, sizeof(sampi_item));
    m->frames = sampi_copy_vec(m, &from->frames, sizeof(sampi_frame));
    m->edges = sampi_copy_vec(m, &from->edges, sizeof(sampi_edge));
    m->history = sampi_copy_vec(m, &from->history, sizeof(samp_token));
    m->past = sampi_copy_vec(m, &from->past, sizeof(sampi_item));
    m->past_n = sampi_copy_vec(m, &from->past_n, sizeof(int32_t));
    m->lazy = from->lazy;
    m->lazy.ops = sampi_copy_vec(m, &from->lazy.ops, sizeof(sampi_op));
    m->lazy.pool = sampi_copy_vec(m, &from->lazy.pool, 1);
    m->lazy.programs = sampi_copy_vec(m, &from->lazy.programs, sizeof(sampi_program));
    m->lazy.tokens = sampi_copy_vec(m, &from->lazy.tokens, sizeof(samp_token));
    m->lazy.places = sampi_copy_vec(m, &from->lazy.places, sizeof(int32_t));
    m->d.held.most = from->d.held.most;
    if (!m->d.status) return m;
    sampi_matcher_free(m);
    return NULL;
}
