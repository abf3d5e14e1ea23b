/* ---- samp_sample and samp_draw ----
   A draw tries the fast path first, then the steps. This room has the draw by steps, the mask of a first member that
   masks, log-probabilities and counts. It uses run/draw.h and run/finish.h. */

/* Draws by steps, which define the token: the array of all candidates goes through the samplers one by one. s is the
   only member of the list. The counts of samplers of each kind (ordinal) begin at 0, because everything that the fast
   path has done is undone. */
static int sampi_draw_by_steps(const sampi_job *job, samp_token *token)
{
    const sampi_ordinals ordinal = { { 0 }, false };
    sampi_sampler *s = job->s;
    sampi_row row;
    int status = sampi_open_row(&row, job);
    if (status) return status;
    samp_token_data_array cur = sampi_row_array(&row);
    sampi_save_state(s);
    return sampi_end_draw(s, sampi_finish_by_steps(job, &s, 0, 1, &cur, &ordinal, token));
}

/* Applies the first member of a chain, if it masks (sampi_first_mask): the job's mask becomes that member's mask,
   combined with the job's own. The rest of the chain then samples the masked row. */
static SAMPI_COLD int sampi_mask_job(sampi_job *job, sampi_sampler *first)
{
    uint32_t *bits = NULL;
    int status = sampi_traits_of(first->kind)->hooks->mask(first, job->s, &job->n, &bits);
    if (status || !bits) return status;
    for (size_t i = 0; job->mask && i < (job->n + 31) / 32; i++) bits[i] &= job->mask[i];
    job->mask = bits;
    return SAMP_OK;
}

/* Draws a token by the fast path or by steps; returns the token or a negative status. */
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

/* Does the same for a chain whose first member masks. Raw log-probabilities are those of all logits, so then all logits
   are checked. */
static SAMPI_COLD samp_token sampi_draw_masked(const sampi_job *job, sampi_sampler *first)
{
    sampi_job masked = *job;
    sampi_row row;
    int status = sampi_mask_job(&masked, first);
    if (!status && job->logprobs && (masked.mask != job->mask || masked.n != job->n))
        status = sampi_open_row(&row, job);
    return status ? status : sampi_draw_job(&masked);
}

/* Draws a token from any chain. */
static samp_token sampi_draw_any(const sampi_job *job)
{
    sampi_sampler *first = sampi_first_mask(job->s);
    return first ? sampi_draw_masked(job, first) : sampi_draw_job(job);
}

/* Writes the raw log-probabilities. The row is opened again, because the draw has overwritten it. */
static void sampi_raw_logprobs(const sampi_job *job, samp_token token)
{
    sampi_row row;
    if (sampi_open_row(&row, job) == SAMP_OK) sampi_row_logprobs(&row, token, &job->logprobs->raw);
}

/* Draws, writes log-probabilities, and counts. A draw from a member alone is an edit of the chains that hold it. */
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
