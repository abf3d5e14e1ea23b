/* ================================================================================================== >>sample
   samp_sample and samp_draw: a row of logits comes in, a token or a negative status goes out. The fast path
   (rows/draw.h) is asked first. Where it declines, the array of all candidates goes through the samplers one by one
   (life/chain.h), which is what defines the token. Log-probabilities and counts are written at the end. A draw is all
   or nothing: after an error the samplers' state is as before. The room also takes the memory of a draw
   (samp_reserve). */

/* The next `bytes` of a block of *size so far, from a cache line on: where they begin. */
static size_t sampi_lay(size_t *size, size_t bytes)
{
    size_t at = *size;
    *size += (bytes + 63) & ~(size_t)63;
    return at;
}

/* Can the array be a view while w is used? */
static bool sampi_has_array(const sampi_work *work) { return (const void *)work->candidate != (const void *)work->w; }

/* Room for rows of n tokens. Kernels write up to 16 elements behind a result; the rest is what rows/ puts there:
     w           12 bytes a token, for what is laid over it (sampi_scored). Candidates lie there too, unless with_array
     line        a maximum for each line, filled up to less than twice as many where they are folded
     scratch     the folded maxima are fewer, a compact row's lines at most as many */
static SAMPI_COLD int sampi_reserve(sampi_work *work, size_t n, bool with_array)
{
    size_t size = 0;
    if (n <= work->n && with_array <= sampi_has_array(work)) return SAMP_OK;
    if (n < work->n) n = work->n;
    size_t candidate = sampi_lay(&size, with_array ? n * sizeof(samp_token_data) : 0);
    size_t w = sampi_lay(&size, (n + 128) * sizeof(samp_token_data));
    size_t x = sampi_lay(&size, (n + 32) * sizeof(float));
    size_t id = sampi_lay(&size, (n + 32) * sizeof(int32_t));
    size_t line = sampi_lay(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t scratch = sampi_lay(&size, (2 * sampi_n_lines(n) + 64) * sizeof(float));
    size_t sum = sampi_lay(&size, sampi_n_tiles(n) * sizeof(uint64_t));
    size_t change = sampi_lay(&size, SAMPI_CHANGES * sizeof(sampi_change));
    size_t logits = sampi_lay(&size, (n + 32) * sizeof(float));
    size_t own = sampi_lay(&size, (n + SAMPI_TILE) * sizeof(float));
    char *block = (char *)SAMP_MALLOC(size + 64);
    if (!block) return SAMP_E_NOMEM;
    char *base = block + (64 - (uintptr_t)block % 64) % 64;
    SAMP_FREE(work->block);
    work->block = block;
    work->n = n;
    work->candidate = (samp_token_data *)(void *)(base + candidate);
    work->w = (uint64_t *)(void *)(base + w);
    work->x = (float *)(void *)(base + x);
    work->id = (int32_t *)(void *)(base + id);
    work->line = (float *)(void *)(base + line);
    work->scratch = (float *)(void *)(base + scratch);
    work->sum = (uint64_t *)(void *)(base + sum);
    work->change = (sampi_change *)(void *)(base + change);
    work->logits = (float *)(void *)(base + logits);
    work->own = (float *)(void *)(base + own);
    return SAMP_OK;
}

/* Such chains need the array. */
static SAMPI_COLD bool sampi_has_custom(const sampi_sampler *s)
{
    for (int32_t i = 0; sampi_is_chain(s) && i < s->u.chain.n; i++)
        if (sampi_has_custom(s->u.chain.item[i])) return true;
    return sampi_is_custom(s);
}

SAMP_API SAMPI_COLD int samp_reserve(samp_sampler *s, size_t n_vocab)
{
    if (!s) return SAMP_E_NULL;
    if (n_vocab > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (!((sampi_sampler *)s)->status && !sampi_past_ready((sampi_sampler *)s)) return SAMP_E_NOMEM;
    return sampi_reserve(&((sampi_sampler *)s)->work, n_vocab, sampi_has_custom((const sampi_sampler *)s));
}

/* The definition of a token: the array of all candidates, through the samplers one by one: s is the only member of
   the list that runs, and no sampler of any kind (ordinal) has gone before it. What ran of the fast path is as if it
   had not. */
static int sampi_draw_by_steps(const sampi_job *job, samp_token *token)
{
    const uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row;
    int status = sampi_open_row(&row, job);
    if (status) return status;
    samp_token_data_array cur = sampi_row_array(&row);
    sampi_save_state(s);
    return sampi_end_draw(s, sampi_finish_by_steps(job, &s, 0, 1, &cur, ordinal, token));
}

/* A chain that begins with a sampler that masks (sampi_first_mask) is the rest of it on a masked row: the job's mask
   becomes that sampler's, joined with its own. */
static SAMPI_COLD int sampi_mask_job(sampi_job *job, sampi_sampler *first)
{
    uint32_t *bits = NULL;
    int status = sampi_traits_of(first->kind)->hooks->mask(first, job->s, &job->n, &bits);
    if (status || !bits) return status;
    for (size_t i = 0; job->mask && i < (job->n + 31) / 32; i++) bits[i] &= job->mask[i];
    job->mask = bits;
    return SAMP_OK;
}

/* A token by either way, or a negative status. */
static samp_token sampi_draw_job(const sampi_job *job)
{
    samp_token token = -1;
    int status = sampi_draw_fast(job, &token);
    if (status == SAMPI_DECLINED) {
        job->s->perf.n_steps++;
        status = sampi_draw_by_steps(job, &token);
    }
    return status ? status : token;
}

/* The same of a chain that begins with what masks. The raw log-probabilities are of all logits, so all are checked. */
static SAMPI_COLD samp_token sampi_draw_masked(const sampi_job *job, sampi_sampler *first)
{
    sampi_job masked = *job;
    sampi_row row;
    int status = sampi_mask_job(&masked, first);
    if (!status && job->logprobs && (masked.mask != job->mask || masked.n != job->n))
        status = sampi_open_row(&row, job);
    return status ? status : sampi_draw_job(&masked);
}

static samp_token sampi_draw_any(const sampi_job *job)
{
    sampi_sampler *first = sampi_first_mask(job->s);
    return first ? sampi_draw_masked(job, first) : sampi_draw_job(job);
}

/* Of the logits as given: the row is opened anew, as the draw has used up the first one. */
static void sampi_raw_logprobs(const sampi_job *job, samp_token token)
{
    sampi_row row;
    if (sampi_open_row(&row, job) == SAMP_OK) sampi_row_logprobs(&row, token, &job->logprobs->raw);
}

/* Draw, tell log-probabilities, and count. To the chains that a sampler is in, a draw from it alone is an edit. */
static samp_token sampi_sample(const sampi_job *job)
{
    sampi_sampler *s = job->s;
#ifdef SAMP_CLOCK
    uint64_t start = SAMP_CLOCK();
#endif
    sampi_moves(s);
    samp_token token = sampi_draw_any(job);
    if (token >= 0 && job->logprobs) sampi_raw_logprobs(job, token);
    if (token >= 0) s->perf.n_sample++;
#ifdef SAMP_CLOCK
    s->perf.t_sample_ns += SAMP_CLOCK() - start;
#endif
    return token;
}

static samp_token sampi_sample_one(samp_sampler *sampler, const float *logits, size_t n_vocab, const uint32_t *mask,
                                   bool accept)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !logits) return SAMP_E_NULL;
    int status = samp_status(sampler, NULL);
    if (!status && n_vocab == 0) status = SAMP_E_EMPTY;
    if (!status) status = samp_reserve(sampler, n_vocab);
    if (status) return status;
    sampi_job job;
    job.s = s;
    job.work = &s->work;
    job.data = logits;
    job.dtype = SAMP_F32;
    job.mask = mask;
    job.n = n_vocab;
    job.logprobs = NULL;
    job.accept = accept;
    return sampi_sample(&job);
}

SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, true);
}

SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, false);
}
