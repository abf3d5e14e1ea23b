/* ---- grammars: what the core asks ----
   A grammar is a custom sampler of which the core knows more: it may mask the row before the rest of its chain takes
   the fast path (sampi_grammar_job), it tells how far it can go back, and its state is saved as the tokens so far,
   which are read again when it is loaded. */

static bool sampi_is_grammar(const sampi_sampler *s) { return s->base.iface == sampi_grammar_iface(); }

/* Room for going back n tokens, so that it can't fail. SAMP_E_RANGE: it does not know the place. */
static int sampi_grammar_ready(sampi_sampler *s, int32_t n)
{
    sampi_back_to to;
    return sampi_matcher_find_back((sampi_matcher *)s->base.ctx, n, &to);
}

/* How many tokens it can take back. */
static int32_t sampi_grammar_kept(const sampi_sampler *s) { return ((const sampi_matcher *)s->base.ctx)->past_n.n; }

/* The grammar that sees a chain's candidates before any other sampler does; NULL: there is none. */
static sampi_sampler *sampi_first_grammar(sampi_sampler *s)
{
    while (sampi_is_chain(s)) {
        int32_t i = 0;
        while (i < s->u.chain.n && s->u.chain.item[i]->off) i++;
        if (i == s->u.chain.n) return NULL;
        s = s->u.chain.item[i];
    }
    return sampi_is_grammar(s) ? s : NULL;
}

/* A chain that begins with a grammar is the rest of it on a masked row. The job's mask becomes the grammar's, joined
   with its own. */
static int sampi_grammar_job(sampi_job *job)
{
    sampi_sampler *s = sampi_first_grammar(job->s);
    if (!s) return SAMP_OK;
    sampi_matcher *m = (sampi_matcher *)s->base.ctx;
    int status = sampi_within_vocabulary(m, job->s, &job->n);
    const int refuses = status ? status : sampi_refuses_drafted(m, s->draft);
    if (refuses < 0 || (m->lazy.waiting && !refuses)) return refuses;
    status = refuses ? (int)SAMP_OK : samp_grammar_mask(&s->base, m->bits);
    for (size_t i = 0; !status && job->mask && i < (job->n + 31) / 32; i++) m->bits[i] &= job->mask[i];
    job->mask = m->bits;
    return status;
}

/* Into the fingerprint: the grammar, its triggers, and the vocabulary. */
static void sampi_grammar_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_matcher *m = (const sampi_matcher *)s->base.ctx;
    const samp_vocab *vocab = m->index->vocab;
    sampi_mix(hash, m->grammar->fingerprint);
    sampi_mix(hash, m->named);
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

/* The state is the tokens so far: reading them again leads to the same place, on any machine. To check them a copy does
   so; then the sampler gets the copy, for to read them once more could fail for want of memory. */
static void sampi_grammar_state(sampi_sampler *s, sampi_io *io)
{
    sampi_matcher *m = (sampi_matcher *)s->base.ctx, *copy = (sampi_matcher *)io->copies, **end = &copy;
    if (io->mode == SAMPI_READ) { /* the copies are in the order in which they were checked */
        io->copies = copy->behind;
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
    io->copies = copy;
    if (fresh) fresh->held.most = m->held.most <= SIZE_MAX / 2 ? 2 * m->held.most : SIZE_MAX; /* arrays grow anew */
    int status = fresh ? sampi_matcher_reset(fresh) : (int)SAMP_E_NOMEM;
    for (uint32_t i = 0; i < n && !io->bad && !status; i++) {
        samp_token token = (samp_token)(uint32_t)sampi_io_int(io, 0, 4);
        if (!io->bad) status = sampi_matcher_accept(fresh, token);
    }
    if (fresh) fresh->held.most = m->held.most;
    if (status) io->bad |= status == SAMP_E_NOMEM ? 2 : status == SAMP_E_FULL ? 4 : 1;
}

/* Bytes that can't be loaded: what has been made of them goes, and why. */
static int sampi_load_failed(sampi_io *io)
{
    while (io->copies) {
        sampi_matcher *copy = (sampi_matcher *)io->copies;
        io->copies = copy->behind;
        sampi_matcher_free(copy);
    }
    if (io->bad != 4) return io->bad & 2 ? SAMP_E_NOMEM : SAMP_E_FORMAT;
    uint64_t sum = 0; /* the tokens that were too much may have been damaged */
    for (size_t i = 0; i < 8; i++) sum |= (uint64_t)io->from[io->size - 8 + i] << 8 * i;
    return sum == sampi_checksum(io->from, io->size - 8) ? SAMP_E_FULL : SAMP_E_FORMAT;
}
