/* ---- samp_sample and samp_draw ----
   A draw tries the fast path first (run/draw.h), then the steps. This room has the draw by steps, the mask that the
   chain's first member may have for the row (a grammar, for example), log-probabilities and counts. It uses run/draw.h
   and run/finish.h. */

/* Draws by steps, which define the token: the samplers are applied one by one to the array of all candidates. job->s is
   given to sampi_finish_by_steps as a list of one sampler. The counts of samplers of each kind (ordinal) begin at 0,
   because everything that the fast path has done is undone. */
static int sampi_draw_by_steps(const sampi_job *job, samp_token *token)
{
    const sampi_ordinals ordinal = { { 0 }, false, true, false, job->work };
    sampi_sampler *s = job->s;
    sampi_row row;
    int status = sampi_row_open_row(&row, job);
    if (status) return status;
    samp_token_data_array cur = sampi_row_array(&row);
    sampi_life_save_state(s);
    return sampi_life_end_draw(s, sampi_finish_by_steps(job, &s, 0, 1, &cur, &ordinal, token));
}

/* Applies the mask of a chain's first member (sampi_life_first_mask): the job's mask becomes that member's mask,
   combined with the job's own. The other members then sample the masked row. */
static SAMPI_COLD int sampi_mask_job(sampi_job *job, sampi_sampler *first)
{
    uint32_t *bits = NULL;
    int status = sampi_traits_of(first->kind)->hooks->mask(first, job->s, &job->n, &bits);
    if (status || !bits) return status;
    for (size_t i = 0; job->mask && i < (job->n + 31) / 32; i++) bits[i] &= job->mask[i];
    job->mask = bits;
    return SAMP_OK;
}

/* Gives the hook of samp_set_perf_hook a line about a draw. was: the counts before it. */
static SAMPI_COLD void sampi_log_draw(const sampi_sampler *s, int64_t token, const samp_perf_data *was)
{
    const char *name[5] = { "{\"token\":", ",\"position\":", ",\"ns\":", ",\"exact\":", ",\"steps\":" };
    const samp_perf_data *now = &s->perf;
    const int64_t position = (int64_t)samp_get_position(&s->base);
    const int64_t ns = (int64_t)(now->t_sample_ns - was->t_sample_ns);
    const int64_t value[5] = { token, position, ns, (int64_t)(now->n_exact - was->n_exact),
                               (int64_t)(now->n_steps - was->n_steps) };
    char line[160]; /* five names, and five numbers of at most 20 digits */
    sampi_text t = { line, sizeof line, 0 };
    for (int i = 0; i < 5; i++) {
        sampi_put(&t, name[i]);
        sampi_put_i64(&t, value[i]);
    }
    sampi_put(&t, "}");
    s->perf_hook(s->perf_user, line, t.len);
}

/* Makes a draw: applies the mask of a first member that masks, draws by the fast path or by steps, writes
   log-probabilities, and counts. Returns the token or a negative status. A draw from a member alone is an edit of the
   chains that hold the member. */
static samp_token sampi_sample(const sampi_job *job)
{
    sampi_sampler *s = job->s;
    samp_token token = -1;
    sampi_row row;
    const samp_perf_data was = s->perf;
#ifdef SAMP_CLOCK
    uint64_t start = SAMP_CLOCK();
#endif
    sampi_life_moves(s);
    sampi_job masked = *job;
    sampi_sampler *first = sampi_life_first_mask(s);
    int status = sampi_life_is_short(s, job->n) ? (int)SAMP_E_RANGE
                 : first                        ? sampi_mask_job(&masked, first)
                                                : SAMP_OK;
    /* raw log-probabilities are those of all logits, so those that only the sampler `first` masks are checked (for NaN
       and +infinity) too */
    if (!status && job->logprobs && (masked.mask != job->mask || masked.n != job->n))
        status = sampi_row_open_row(&row, job);
    if (job->logprobs && job->logprobs->support)
        masked.top = sampi_use()->maxima(job->data, job->dtype, job->mask, job->n, job->work->line);
    if (!status) status = sampi_draw_fast(&masked, &token);
    if (status == SAMPI_DECLINED) {
        s->perf.n_steps++;
        status = sampi_draw_by_steps(&masked, &token);
    }
    if (!status && job->logprobs &&
        sampi_row_open_row(&row, job) == SAMP_OK) { /* again: the draw has overwritten it */
        const sampi_sums sums = sampi_row_told(&row);
        sampi_row_logprobs(&row, token, &sums, &job->logprobs->raw, true);
        if (job->logprobs->support) job->logprobs->support->mass /= (double)sums.z;
    }
    if (!status) s->perf.n_sample++;
#ifdef SAMP_CLOCK
    s->perf.t_sample_ns += SAMP_CLOCK() - start;
#endif
    if (s->perf_hook) sampi_log_draw(s, status ? status : token, &was);
    return status ? status : token;
}

/* Makes the job of one row of n_vocab floats in the sampler's own workspace, which asks for nothing. */
static int sampi_make_job(sampi_job *job, samp_sampler *sampler, const float *logits, size_t n_vocab,
                          const uint32_t *mask)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !logits) return SAMP_E_NULL;
    int status = samp_status(sampler, NULL);
    if (!status && n_vocab == 0) status = SAMP_E_EMPTY;
    if (!status) status = samp_reserve(sampler, n_vocab);
    if (status) return status;
    job->s = s;
    job->work = &s->work;
    job->data = logits;
    job->dtype = SAMP_F32;
    job->mask = mask;
    job->n = n_vocab;
    job->logprobs = NULL;
    job->top = 0.0f;
    job->accept = false;
    return SAMP_OK;
}

/* Samples such a row. logprobs: a checked request, or NULL. accept: the sampler accepts the drawn token. */
static samp_token sampi_sample_one(samp_sampler *sampler, const float *logits, size_t n_vocab, const uint32_t *mask,
                                   samp_logprobs *logprobs, bool accept)
{
    sampi_job job;
    const int status = sampi_make_job(&job, sampler, logits, n_vocab, mask);
    if (status) return status;
    job.logprobs = logprobs;
    job.accept = accept;
    return sampi_sample(&job);
}

SAMP_API samp_token samp_sample(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, NULL, true);
}

SAMP_API samp_token samp_draw(samp_sampler *s, const float *logits, size_t n_vocab)
{
    return sampi_sample_one(s, logits, n_vocab, NULL, NULL, false);
}
