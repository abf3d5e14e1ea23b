/* ---- grammars: the matcher as a whole ----
   This room makes, copies, resets and frees a matcher, and tries and accepts a token. A call that finds no room in its
   cache gets a larger cache and does its work again (sampi_matcher_attempt). */

/* Tries a token, without its first `skip` bytes. Returns the index of the first item behind the token; if there is no
   item at this index, the token is not allowed. The text's position does not change yet. */
static int32_t sampi_matcher_try(sampi_matcher *m, samp_token token, size_t skip)
{
    size_t n = 0;
    const samp_vocab *vocab = m->index->vocab;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return m->items.n;
    const uint8_t *bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n);
    bool listed = m->index->all[token / 32] >> token % 32 & 1;
    bool zero = bytes && n > 0 && bytes[0] == 0 && !sampi_is_eog(vocab, token);
    const int32_t before = m->text.n;
    int32_t first = listed || zero ? sampi_grammar_accept_bytes(m, bytes + skip, n - skip) : m->n_now;
    m->text.n = before;
    sampi_grammar_set_first_token(m, m->base, m->history.n + 1);
    if (bytes) sampi_grammar_read_text(m, bytes + skip, n - skip);
    for (int32_t i = 0; i < m->n_now; i++)
        if (sampi_grammar_item_at(m, i)->flags & SAMPI_STATE_TOKENS) {
            sampi_grammar_accept_named(m, token, listed);
            sampi_grammar_set_first_token(m, m->base, m->history.n + 1);
            break;
        }
    sampi_grammar_drop_spent(m, first);
    return first;
}

/* Accepts a token; sampi_matcher_accept calls this again if memory ran out. */
static int sampi_grammar_accept_once(sampi_matcher *m, samp_token token)
{
    if (m->lazy.waiting) return sampi_grammar_accept_waiting(m, token);
    sampi_level before = sampi_grammar_mark(m);
    if (sampi_is_eog(m->index->vocab, token)) {
        if (!sampi_matcher_ends(m)) return SAMP_E_RANGE;
        sampi_grammar_keep_position(m, NULL, SAMPI_POSITION_SAME);
        return m->d.status;
    }
    int32_t first = sampi_matcher_try(m, token, 0);
    samp_token *kept = m->items.n > first ? (samp_token *)sampi_grammar_append(&m->d, &m->history, sizeof *kept, 1)
                                          : NULL;
    if (m->d.status || !kept || !sampi_grammar_keep_position(m, m->items.data, m->n_now)) {
        m->history.n -= kept != NULL;
        sampi_grammar_drop(m, before);
        return m->d.status ? m->d.status : SAMP_E_RANGE;
    }
    *kept = token;
    sampi_grammar_set_position(m, first);
    sampi_grammar_discard_prepared(m);
    return SAMP_OK;
}

/* Accepts a token. Returns SAMP_E_RANGE if the token is not allowed here. After an error nothing has changed. */
static int sampi_matcher_accept(sampi_matcher *m, samp_token token)
{
    int status = SAMP_OK;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);)
        status = sampi_grammar_accept_once(m, token);
    return m->d.status ? m->d.status : status;
}

/* Takes note of a token that the grammar does not read, so that a rollback can count it: the position stays. */
static int sampi_matcher_pass(sampi_matcher *m)
{
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);)
        sampi_grammar_keep_position(m, NULL, SAMPI_POSITION_SAME);
    return m->d.status;
}

/* Returns 1 if a token is allowed, 0 if it is not, or a status. */
static int sampi_matcher_allows(sampi_matcher *m, samp_token token)
{
    bool allowed = true;
    if (token < 0 || (uint32_t)token >= m->index->n_vocab) return 0;
    if (m->lazy.waiting) {
        const int status = sampi_grammar_find_refused(m);
        for (int32_t i = 0; i < m->lazy.refused.n && allowed; i++)
            allowed = ((const samp_token *)m->lazy.refused.data)[i] != token;
        return status ? status : allowed;
    }
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);) {
        sampi_level before = sampi_grammar_mark(m);
        if (sampi_is_eog(m->index->vocab, token))
            allowed = sampi_matcher_ends(m);
        else
            allowed = sampi_matcher_try(m, token, 0) < m->items.n;
        sampi_grammar_drop(m, before);
    }
    return m->d.status ? m->d.status : allowed;
}

/* Goes to the beginning of a text. */
static int sampi_matcher_reset(sampi_matcher *m)
{
    m->history.n = m->past_n.n = 0;
    sampi_grammar_forget_position(m);
    sampi_grammar_discard_prepared(m);
    sampi_grammar_lazy_reset(&m->lazy);
    return sampi_matcher_find_position(m);
}

/* Lists all arrays that a matcher owns. */
#define SAMPI_MATCHER_VECS 17
static void sampi_matcher_vecs(sampi_matcher *m, sampi_vec *(*vecs)[SAMPI_MATCHER_VECS])
{
    sampi_lazy *z = &m->lazy;
    sampi_vec *all[] = { &m->items,       &m->frames,     &m->edges,   &m->history, &m->past,     &m->past_n,
                         &z->ops,         &z->pool,       &z->threads, &z->tokens,  &z->programs, &m->begun.tokens,
                         &m->begun.exits, &m->begun.bits, &z->refused, &z->key,      &m->text };
    memcpy(vecs, all, sizeof all);
}

static void sampi_matcher_free(sampi_matcher *m)
{
    sampi_vec *vecs[SAMPI_MATCHER_VECS];
    if (!m) return;
    sampi_matcher_vecs(m, &vecs);
    for (int i = 0; i < SAMPI_MATCHER_VECS; i++) sampi_grammar_vec_free(vecs[i]);
    sampi_grammar_account_free(&m->d.account, m->bits, m->shared->n_mask * 4 + 4); /* the index may be freed */
    sampi_grammar_account_subtract(&m->d.account, sizeof *m);
    (void)SAMPI_INT_ADD(&m->shared->n_users, -1);
    SAMP_FREE(m);
}

/* Makes a matcher with the members that never change, and with empty arrays. */
static sampi_matcher *sampi_matcher_blank(sampi_shared *h)
{
    /* no limit, because making a matcher may exceed the grammar's limit */
    sampi_account account = { 0, 0, 0, &h->account, false, SIZE_MAX };
    sampi_matcher *m = (sampi_matcher *)sampi_grammar_account_allocate(&account, sizeof *m);
    if (!m) return NULL;
    memset(m, 0, sizeof *m);
    (void)SAMPI_INT_ADD(&h->n_users, 1);
    m->shared = h;
    m->index = h->index;
    m->grammar = h->grammar;
    m->d.bytes = &h->grammar->bytes;
    m->d.account.all = &h->account;
    m->max_steps = (int64_t)1 << 24;
    sampi_vec *vecs[SAMPI_MATCHER_VECS];
    sampi_matcher_vecs(m, &vecs);
    for (int i = 0; i < SAMPI_MATCHER_VECS; i++) vecs[i]->account = &m->d.account;
    m->bits = (uint32_t *)sampi_grammar_account_allocate(&account, (size_t)m->index->n_mask * 4 + 4);
    if (m->bits) return m;
    sampi_matcher_free(m);
    return NULL;
}

/* Moves the triggers into the matcher, and counts their arrays in its memory account. */
static void sampi_matcher_adopt(sampi_matcher *m, const sampi_lazy *lazy)
{
    m->lazy = *lazy;
    sampi_vec *vecs[] = { &m->lazy.refused, &m->lazy.key,    &m->lazy.ops,     &m->lazy.pool,
                          &m->lazy.threads, &m->lazy.tokens, &m->lazy.programs };
    for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) {
        vecs[i]->account = &m->d.account;
        sampi_grammar_account_add(&m->d.account, vecs[i]->size);
    }
}

/* Returns the token whose text is a text in angle brackets, found by the vocabulary's own function; -1 if the text is
   not exactly one token. For llama.cpp's vocabulary, control tokens are included, as in llama.cpp itself (the sampler
   dry excludes them). */
static samp_token sampi_grammar_tokenized(const samp_vocab *vocab, const char *text, size_t n)
{
    samp_token found[2] = { -1, -1 };
#ifdef SAMPLING_LLAMA_DECLARED
    if (vocab->tokenize == sampi_llama_tokenize)
        return sampi_llama_tokens(vocab, text, n, found, 2, true) == 1 ? found[0] : -1;
#endif
    return vocab->tokenize(vocab, text, n, found, 2) == 1 ? found[0] : -1;
}

/* Compares a TEXT node with n bytes. Returns a negative number if the text sorts before the bytes, 0 if they are equal,
   else a positive number. */
static int sampi_grammar_text_order(const sampi_tree *t, sampi_node text, const void *bytes, size_t n)
{
    const sampi_expr *e = sampi_grammar_at(t, text);
    const size_t length = (size_t)e->b;
    const int order = memcmp(sampi_grammar_bytes_at(t, e->a), bytes, length < n ? length : n);
    return order ? order : (length > n) - (length < n);
}

/* Sorts TEXT nodes by their bytes with heap sort, which is fast for any order. */
static void sampi_grammar_sort_texts(const sampi_tree *t, sampi_node *texts, int32_t n)
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
            const sampi_expr *e = child + 1 < end ? sampi_grammar_at(t, texts[child + 1]) : NULL;
            if (e && sampi_grammar_text_order(t, texts[child], sampi_grammar_bytes_at(t, e->a), (size_t)e->b) < 0)
                child++;
            e = sampi_grammar_at(t, x);
            if (sampi_grammar_text_order(t, texts[child], sampi_grammar_bytes_at(t, e->a), (size_t)e->b) <= 0) break;
            texts[at] = texts[child];
        }
        texts[at] = x;
    }
}

/* Finds the tokens of all texts in angle brackets. h->texts gets these texts, sorted, with their tokens; the token is
   -1 if there is none. Without a function of the vocabulary for this, one loop compares all tokens with the texts, and
   the first equal one counts. */
static int sampi_grammar_find_texts(sampi_shared *h)
{
    const samp_vocab *vocab = h->index->vocab;
    const sampi_tree *t = &h->grammar->tree;
    sampi_vec nodes = sampi_grammar_vec_like(&h->texts);
    for (sampi_node n = 0; n < t->nodes.n; n++) {
        const sampi_expr *e = sampi_grammar_at(t, n);
        if (e->kind != SAMPI_NODE_TOKEN || !(e->b & 2)) continue;
        sampi_node *room = (sampi_node *)sampi_grammar_vec_add(&nodes, sizeof *room, 1);
        if (room) *room = e->a;
        if (!room) return sampi_grammar_vec_free(&nodes), SAMP_E_NOMEM;
    }
    const int32_t n_texts = nodes.n;
    const sampi_node *sorted = (const sampi_node *)nodes.data;
    sampi_named *texts = n_texts ? (sampi_named *)sampi_grammar_vec_add(&h->texts, sizeof *texts, n_texts) : NULL;
    if (n_texts && texts) sampi_grammar_sort_texts(t, (sampi_node *)nodes.data, n_texts);
    for (int32_t i = 0; i < n_texts && texts; i++) {
        const sampi_expr *e = sampi_grammar_at(t, sorted[i]);
        texts[i].text = sorted[i];
        texts[i].token = vocab->tokenize ? sampi_grammar_tokenized(
                                               vocab, (const char *)sampi_grammar_bytes_at(t, e->a), (size_t)e->b)
                                         : -1;
    }
    for (samp_token token = 0; token < vocab->n_vocab && texts && !vocab->tokenize; token++) {
        size_t n = 0;
        const char *bytes = vocab->token_bytes(vocab, token, &n);
        int32_t lo = 0, hi = n_texts;
        while (lo < hi && bytes) { /* finds the first text that does not sort before the token's bytes */
            const int32_t middle = lo + (hi - lo) / 2;
            if (sampi_grammar_text_order(t, sorted[middle], bytes, n) < 0)
                lo = middle + 1;
            else
                hi = middle;
        }
        for (; bytes && lo < n_texts && !sampi_grammar_text_order(t, sorted[lo], bytes, n); lo++)
            if (texts[lo].token < 0) texts[lo].token = token;
    }
    sampi_grammar_vec_free(&nodes);
    return n_texts && !texts ? (int)SAMP_E_NOMEM : (int)SAMP_OK;
}

/* Frees what samp_grammar_warm keeps between its calls. */
static void sampi_grammar_warming_free(sampi_shared *h)
{
    sampi_warming *w = h->warming;
    h->warming = NULL;
    if (!w) return;
    sampi_grammar_vec_free(&w->places);
    sampi_grammar_vec_free(&w->met.slots);
    (void)SAMPI_INT_ADD(&h->n_users, 1); /* freeing a matcher takes one away */
    sampi_matcher_free(w->m);
    SAMP_FREE(w);
}

static void sampi_grammar_shared_free(sampi_shared *h)
{
    if (!h) return;
    sampi_grammar_warming_free(h);
    for (sampi_workspace *space = h->workspaces, *behind; space; space = behind) {
        behind = space->behind;
        sampi_grammar_workspace_free(h, space);
    }
    sampi_grammar_sweep_caches(h);
    if (h->now) sampi_cache_free(h, h->now);
    sampi_grammar_vec_free(&h->texts);
    sampi_grammar_vec_free(&h->commas);
    SAMP_FREE(h);
}

/* Makes the data that the samplers of a grammar and an index share. Tokens that the grammar names by their texts get
   their numbers: in a cache, member c of the text's node is the token's number, where the grammar's tree has the number
   of a rule. Returns NULL if there is no memory. */
static sampi_shared *sampi_grammar_shared_make(const samp_vocab_index *index, const samp_grammar *grammar)
{
    sampi_shared *h = (sampi_shared *)SAMP_MALLOC(sizeof *h);
    if (!h) return NULL;
    memset(h, 0, sizeof *h);
    h->grammar = grammar;
    h->index = index;
    h->index_serial = index->serial;
    h->deepest = index->deepest;
    h->n_mask = index->n_mask;
    h->account.bytes = sizeof *h;
    h->account.most = (size_t)1 << 26;
    h->texts.account = h->commas.account = &h->account;
    const sampi_cache_plan plan = sampi_cache_planned(h, NULL, 0, SAMPI_CACHE_USUAL);
    sampi_account account = { 0, 0, 0, &h->account, false, SIZE_MAX };
    if (!sampi_grammar_find_texts(h) && sampi_grammar_find_commas(h)) h->now = sampi_cache_make(h, &plan, &account);
    if (!h->now) {
        sampi_grammar_shared_free(h);
        return NULL;
    }
    const sampi_tree *t = &h->now->tree;
    for (sampi_node n = 0; n < t->nodes.n && !h->status; n++) {
        if (sampi_grammar_at(t, n)->kind != SAMPI_NODE_TOKEN || !(sampi_grammar_at(t, n)->b & 2)) continue;
        const int32_t token = sampi_grammar_at(t, sampi_grammar_at(t, n)->a)->c;
        if (token < 0) h->status = SAMP_E_RANGE;
        sampi_mix(&h->named, (uint64_t)token);
    }
    return h;
}

/* Frees the caches of other indexes that no sampler uses, because these indexes may have been freed. If such an index
   is used later, a new cache is made. */
static void sampi_grammar_drop_unused(sampi_shared *list, const sampi_shared *used)
{
    for (sampi_shared *h = list; h; h = h->behind) {
        if (h == used || SAMPI_INT_GET(&h->n_users) > 0) continue;
        sampi_cache *cache = (sampi_cache *)SAMPI_PTR_GET(&h->now);
        if (cache && sampi_grammar_replace_cache(h, cache, NULL)) sampi_grammar_sweep_caches(h);
        if (!SAMPI_INT_CAS(&h->is_warming, 0, 1)) continue;
        sampi_grammar_warming_free(h);
        h->is_warm = false;
        SAMPI_INT_PUT(&h->is_warming, 0);
    }
}

/* Returns the data that the samplers of this grammar and index share. It is made and added to the grammar's list if it
   does not exist. Returns NULL if there is no memory. */
static sampi_shared *sampi_grammar_shared_of(const samp_vocab_index *index, const samp_grammar *grammar)
{
    sampi_shared **list = &((samp_grammar *)(uintptr_t)grammar)->shared, *made = NULL;
    for (;;) {
        sampi_shared *first = (sampi_shared *)SAMPI_PTR_GET(list), *h = first;
        while (h && (h->index != index || h->index_serial != index->serial)) h = h->behind;
        if (h) sampi_grammar_shared_free(made);
        if (h) return h;
        if (!made && !(made = sampi_grammar_shared_make(index, grammar))) return NULL;
        made->behind = first;
        if (!SAMPI_PTR_CAS(list, first, made)) continue;
        sampi_grammar_drop_unused(first, made);
        return made;
    }
}

/* Puts a new matcher at the beginning of a text. */
static int sampi_matcher_make(sampi_matcher *m)
{
    if (m->shared->status) return m->shared->status;
    m->d.account.allowance = SIZE_MAX;
    sampi_frame *outermost = (sampi_frame *)sampi_grammar_append(&m->d, &m->frames, sizeof *outermost, 1);
    m->d.account.allowance = 0;
    if (!outermost) return SAMP_E_NOMEM;
    outermost->rule = outermost->edge = -1;
    outermost->from = outermost->token = 0;
    const int status = sampi_matcher_reset(m);
    /* SAMP_E_FULL is no error here: a later call may find more memory */
    return status == SAMP_E_FULL && m->d.account.full ? (int)SAMP_OK : status;
}

/* Gives a matcher the place in the text of another one, in the memory that it has, as far as that is enough. Both have
   the same grammar, vocabulary and triggers. Returns SAMP_OK, or SAMP_E_NOMEM with the place undefined. */
static int sampi_matcher_assign(sampi_matcher *m, const sampi_matcher *from)
{
    m->d.status = SAMP_OK;
    m->d.account.allowance = SIZE_MAX;
    sampi_grammar_discard_prepared(m);
    m->max_steps = from->max_steps;
    m->n_now = from->n_now;
    m->position_cache = from->position_cache;
    m->n_reachable = from->n_reachable;
    sampi_grammar_assign_vec(m, &m->items, &from->items, sizeof(sampi_item));
    sampi_grammar_assign_vec(m, &m->frames, &from->frames, sizeof(sampi_frame));
    sampi_grammar_assign_vec(m, &m->edges, &from->edges, sizeof(sampi_edge));
    sampi_grammar_assign_vec(m, &m->history, &from->history, sizeof(samp_token));
    sampi_grammar_assign_vec(m, &m->text, &from->text, 1);
    sampi_grammar_assign_vec(m, &m->past, &from->past, sizeof(sampi_item));
    sampi_grammar_assign_vec(m, &m->past_n, &from->past_n, sizeof(int32_t));
    sampi_grammar_assign_vec(m, &m->lazy.ops, &from->lazy.ops, sizeof(sampi_op));
    sampi_grammar_assign_vec(m, &m->lazy.pool, &from->lazy.pool, 1);
    sampi_grammar_assign_vec(m, &m->lazy.programs, &from->lazy.programs, sizeof(sampi_program));
    sampi_grammar_assign_vec(m, &m->lazy.tokens, &from->lazy.tokens, sizeof(samp_token));
    sampi_grammar_assign_vec(m, &m->lazy.threads, &from->lazy.threads, sizeof(int32_t));
    sampi_grammar_assign_vec(m, &m->lazy.refused, &from->lazy.refused, sizeof(samp_token));
    sampi_grammar_assign_vec(m, &m->lazy.key, &from->lazy.key, sizeof(int32_t));
    m->lazy.n_groups = from->lazy.n_groups;
    m->lazy.n_live = from->lazy.n_live;
    m->lazy.length = from->lazy.length;
    m->lazy.round = from->lazy.round;
    m->lazy.is_lazy = from->lazy.is_lazy;
    m->lazy.waiting = from->lazy.waiting;
    m->d.account.allowance = 0;
    return m->d.status;
}

/* Returns a copy of a matcher; NULL if there is no memory. */
static sampi_matcher *sampi_matcher_copy(const sampi_matcher *from)
{
    sampi_matcher *m = sampi_matcher_blank(from->shared);
    if (!m || !sampi_matcher_assign(m, from)) return m;
    sampi_matcher_free(m);
    return NULL;
}
