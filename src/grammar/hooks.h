/* ---- grammars: their hooks in the table of kinds ----
   A grammar works through the interface of a custom sampler, and has hooks (functions that the core calls) for more: it
   can mask the logits before the rest of its chain takes the fast path, and it reports how many tokens it can take
   back. Its saved state is the list of all accepted tokens; loading reads these tokens again. */

/* Clones a grammar. The clone has a matcher of its own, or the same error. */
static samp_sampler *sampi_grammar_clone(const sampi_sampler *s)
{
    sampi_sampler t = sampi_blank(SAMPI_GRAMMAR);
    sampi_matcher *m = s->status ? NULL : sampi_matcher_copy((const sampi_matcher *)s->base.ctx);
    if (!m && !s->status) return NULL;
    sampi_require(&t, !s->status, s->status, s->field);
    if (m) t.base.iface = sampi_grammar_iface();
    t.base.ctx = m;
    samp_sampler *copy = sampi_new(&t);
    if (!copy) sampi_matcher_free(m);
    return sampi_clone_outside((sampi_sampler *)copy, s);
}

/* Frees the matcher; a sampler with an error has none. */
static void sampi_grammar_free(sampi_sampler *s)
{
    if (!s->status) sampi_matcher_free((sampi_matcher *)s->base.ctx);
}

/* Makes room for going back n tokens, so that going back cannot fail. Returns SAMP_E_RANGE if that position is not
   kept. */
static int sampi_grammar_ready(sampi_sampler *s, int32_t n)
{
    sampi_rollback_target to;
    return sampi_matcher_find_target((sampi_matcher *)s->base.ctx, n, &to);
}

/* Returns the number of tokens that the grammar can take back. */
static int32_t sampi_grammar_kept(const sampi_sampler *s) { return ((const sampi_matcher *)s->base.ctx)->past_n.n; }

static const samp_vocab *sampi_grammar_vocab(const sampi_sampler *s)
{
    return ((const sampi_matcher *)s->base.ctx)->index->vocab;
}

/* Makes the mask of a row of *n tokens; none if all tokens of the vocabulary are allowed. */
static int sampi_grammar_row(sampi_sampler *s, const sampi_sampler *chain, size_t *n, uint32_t **bits)
{
    sampi_matcher *m = (sampi_matcher *)s->base.ctx;
    bool all;
    int status = sampi_grammar_within_vocabulary(m, chain, n);
    if (!status) status = sampi_grammar_bits(&s->base, m->bits, &all);
    if (!status && !all) *bits = m->bits;
    return status;
}

/* Adds the grammar, its triggers and the vocabulary to the fingerprint, a hash of all settings. */
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_matcher *m = (const sampi_matcher *)s->base.ctx;
    const samp_vocab *vocab = m->index->vocab;
    sampi_mix(hash, m->grammar->fingerprint);
    sampi_mix(hash, m->shared->named);
    sampi_mix(hash, m->index->n_vocab);
    sampi_mix(hash, (uint64_t)m->index->words[5] << 32 | m->index->words[4]);
    for (size_t i = 0; i < vocab->n_eog; i++) sampi_mix(hash, (uint32_t)vocab->eog[i]);
    const sampi_lazy *z = &m->lazy;
    for (int32_t i = 0; i < z->ops.n; i++) {
        const sampi_op *op = (const sampi_op *)z->ops.data + i;
        sampi_mix(hash, (uint64_t)op->kind << 32 | (uint32_t)op->a);
        sampi_mix(hash, (uint64_t)op->b);
    }
    for (int32_t i = 0; i < z->programs.n; i++)
        sampi_mix(hash, (uint64_t)((const sampi_program *)z->programs.data)[i].whole);
    for (int32_t i = 0; i < z->tokens.n; i++) sampi_mix(hash, (uint64_t)((const samp_token *)z->tokens.data)[i]);
    if (z->is_lazy) sampi_mix(hash, sampi_checksum(z->pool.data, (size_t)z->pool.n));
}

/* Frees the matchers that a failed load has made. */
static void sampi_grammar_unmake(void *made)
{
    for (sampi_matcher *copy = (sampi_matcher *)made, *next; copy; copy = next) {
        next = copy->behind;
        sampi_matcher_free(copy);
    }
}

/* Writes, checks or reads the saved state, which is the list of all tokens: reading them again leads to the same
   position on any machine. To check a state, a copy of the matcher reads the tokens. The sampler then gets this copy,
   because reading them a second time could find no memory. */
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io)
{
    sampi_matcher *m = (sampi_matcher *)s->base.ctx, *copy = (sampi_matcher *)io->made, **end = &copy;
    if (io->mode == SAMPI_READ) { /* the copies are in the order in which they were checked */
        io->made = copy->behind;
        io->at += 4 + 4 * (size_t)copy->history.n;
        s->base.ctx = copy;
        sampi_matcher_free(m);
        return;
    }
    uint32_t n = (uint32_t)sampi_io_int(io, (uint32_t)m->history.n, 4);
    for (uint32_t i = 0; i < n && io->mode == SAMPI_WRITE; i++)
        sampi_io_int(io, (uint32_t)((const samp_token *)m->history.data)[i], 4);
    if (io->mode == SAMPI_WRITE || io->bad) return;
    while (*end) end = &(*end)->behind;
    sampi_matcher *fresh = *end = sampi_matcher_copy(m);
    io->made = copy;
    io->unmake = sampi_grammar_unmake;
    if (fresh) fresh->d.account.allowance = SAMPI_SIZE_GET(&m->shared->account.most);
    int status = fresh ? sampi_matcher_reset(fresh) : (int)SAMP_E_NOMEM;
    for (uint32_t i = 0; i < n && !io->bad && !status; i++) {
        samp_token token = (samp_token)(uint32_t)sampi_io_int(io, 0, 4);
        if (!io->bad) status = sampi_matcher_accept(fresh, token);
    }
    if (fresh) fresh->d.account.allowance = 0;
    if (status) io->bad |= status == SAMP_E_NOMEM ? 2 : status == SAMP_E_FULL ? 4 : 1;
}

SAMPI_HOOKS(GRAMMAR, NULL, NULL, NULL, sampi_grammar_settings, NULL, NULL, sampi_grammar_state, NULL, NULL,
            sampi_grammar_clone, sampi_grammar_free, sampi_grammar_row, sampi_grammar_ready, sampi_grammar_kept,
            sampi_grammar_vocab, NULL);

/* The name of these samplers is "grammar"; in saved states they have the name of the table, "custom". */
#define SAMPI_GRAMMAR_ROW \
    "custom", 0, 0, "", 0, SAMPI_NO_FIELDS, NULL, &SAMPI_GRAMMAR_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL)
