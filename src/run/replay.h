/* ---- checking a text, and log-probabilities without a chain ----
   samp_replay_check draws row after row, and compares. samp_raw_logprobs is the part of samp_sample_batch that needs no
   chain. Both use run/batch.h. */

/* Every row has the same chain, so the rows are not checked as those of a batch are. */
SAMP_API SAMPI_COLD int64_t samp_replay_check(samp_sampler *chain, const samp_logits *logits,
                                              const samp_token *tokens)
{
    sampi_sampler *s = (sampi_sampler *)chain;
    if (!s || !logits || (logits->n_rows && !tokens)) return SAMP_E_NULL;
    int status = samp_status(chain, NULL);
    if (status || logits->n_rows == 0) return status;
    samp_logits checked = *logits;
    checked.n_rows = 0;
    status = sampi_check_batch(NULL, &checked);
    if (!status) status = samp_reserve(chain, logits->n_vocab);
    if (status) return status;
    for (size_t r = 0; r < logits->n_rows; r++) {
        sampi_job job;
        status = sampi_batch_job(s, logits, r, &s->work, &job);
        job.logprobs = logits->logprobs ? &logits->logprobs[r] : NULL;
        if (status || (status = sampi_row_check_logprobs(job.logprobs, job.n))) return status;
        const samp_token token = sampi_sample(&job);
        if (token < 0) return token;
        if (token != tokens[r]) return (int64_t)r;
    }
    return (int64_t)logits->n_rows;
}

/* Writes the raw set of one row. Instead of a chain it has an empty record, of which only counts are written. */
static SAMPI_COLD int sampi_raw_row(const samp_logits *logits, size_t r, sampi_work *work)
{
    sampi_sampler none = sampi_blank(SAMPI_CHAIN);
    samp_logprobs *told = &logits->logprobs[r];
    sampi_job job;
    sampi_row row;
    int status = sampi_batch_job(&none, logits, r, work, &job);
    if (!status) status = sampi_row_check_set(&told->raw, job.n);
    const samp_token token = told->raw.chosen.token;
    if (!status && (token < -1 || (token >= 0 && (size_t)token >= job.n))) status = SAMP_E_RANGE;
    if (!status) status = sampi_row_open_row(&row, &job);
    if (status) return status;
    const sampi_sums sums = sampi_row_told(&row);
    const double before = told->raw.cumulative_logprob;
    sampi_row_logprobs(&row, token < 0 ? 0 : token, &sums, &told->raw, true);
    if (token >= 0) return SAMP_OK;
    told->raw.cumulative_logprob = before;
    told->raw.chosen.token = -1;
    told->raw.chosen.rank = 0;
    told->raw.chosen.logprob = 0.0f;
    return SAMP_OK;
}

/* All rows are tried, and the first status that is not SAMP_OK is the call's. */
SAMP_API SAMPI_COLD int samp_raw_logprobs(const samp_logits *logits)
{
    sampi_work work[SAMPI_MAX_THREADS];
    int status = logits && (logits->logprobs || !logits->n_rows) ? SAMP_OK : SAMP_E_NULL;
    if (status || logits->n_rows == 0) return status;
    samp_logits checked = *logits;
    checked.n_rows = 0;
    if ((status = sampi_check_batch(NULL, &checked))) return status;
    int n = sampi_batch_threads(logits), have = 0;
    memset(work, 0, sizeof work);
    while (have < n && sampi_row_reserve(&work[have], logits->n_vocab, false) == SAMP_OK) have++;
    if (have == 0) return SAMP_E_NOMEM;
    long long n_rows = (long long)logits->n_rows, wrong = n_rows;
    int first = SAMP_OK;
#ifdef _OPENMP
#pragma omp parallel for num_threads(have) schedule(dynamic, 1)
    for (long long r = 0; r < n_rows; r++) {
        const int of_row = sampi_raw_row(logits, (size_t)r, &work[omp_get_thread_num()]);
#pragma omp critical
        if (of_row && r < wrong) first = of_row, wrong = r;
    }
#else
    for (long long r = 0; r < n_rows; r++) {
        const int of_row = sampi_raw_row(logits, (size_t)r, &work[0]);
        if (of_row && r < wrong) first = of_row, wrong = r;
    }
#endif
    for (int i = 0; i < have; i++) SAMP_FREE(work[i].block);
    return first;
}
