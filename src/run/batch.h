/* =================================================================================================== >>batch
   samp_sample_batch draws a token, or returns a status, for each of many rows of logits; each row has a sampler of its
   own. Rows are independent, so the function is samp_sample in a loop, in several threads if OpenMP is on. A row gives
   the token that it would give alone. The loop calls run/sample.h.

   A thread works in a workspace that belongs to the sampler of one of the rows, mostly not of the row that it samples.
   This is safe because a workspace holds nothing between two draws. So a batch of a thousand rows needs only as many
   workspaces as threads, and memory that samp_reserve has allocated is used before more is allocated. */

#define SAMPI_MAX_THREADS 256

/* Return the distance from one row to the next, in elements, and from one mask to the next, in words of 32 bits. A
   stride of 0 in the batch means that there is no gap between rows. */
static size_t sampi_stride(const samp_logits *batch) { return batch->stride ? batch->stride : batch->n_vocab; }

static size_t sampi_mask_stride(const samp_logits *batch)
{
    return batch->mask_stride ? batch->mask_stride : (batch->n_vocab + 31) / 32;
}

/* Returns the number of logits of a row; 0 if it is not in 1 .. n_vocab. */
static size_t sampi_row_length(const samp_logits *batch, size_t r)
{
    const size_t n = batch->n_vocab_of ? batch->n_vocab_of[r] : batch->n_vocab;
    return n <= batch->n_vocab ? n : 0;
}

/* Does a batch have a sampler twice, or a chain together with one of its members? Then rows could not be sampled in
   parallel, and their order would change their tokens. First each sampler is marked with the number of the last row
   that has it (s->in_batch). If a row's sampler has the number of another row, the two rows share it. A chain that owns
   a row's sampler is in the batch too if the row of the number in the chain has this chain. */
static bool sampi_has_twice(samp_sampler *const *rows, size_t n_rows)
{
    for (size_t r = 0; r < n_rows; r++)
        if (rows[r]) ((sampi_sampler *)rows[r])->in_batch = r;
    for (size_t r = 0; r < n_rows; r++) {
        const sampi_sampler *s = (const sampi_sampler *)rows[r];
        if (s && s->in_batch != r) return true;
        for (s = s ? s->owner : NULL; s; s = s->owner)
            if (s->in_batch < n_rows && rows[s->in_batch] == &s->base) return true;
    }
    return false;
}

/* Checks what concerns all rows of a call, before any row is sampled; an error of one row becomes that row's status
   later. Writes in_batch of the samplers. The GPU's batch calls it too. */
static int sampi_check_batch(samp_sampler *const *rows, const samp_logits *batch)
{
    size_t size = SAMPI_SIZE_OF(batch->dtype);
    if ((int)batch->dtype < SAMP_F32 || (int)batch->dtype > SAMP_F64) return SAMP_E_DTYPE;
    if (!batch->data) return SAMP_E_NULL;
    if (batch->n_vocab == 0) return SAMP_E_EMPTY;
    if (batch->n_vocab > SAMP_MAX_VOCAB || batch->n_threads < 0) return SAMP_E_RANGE;
    if ((uintptr_t)batch->data % size) return SAMP_E_RANGE;
    if (sampi_stride(batch) < batch->n_vocab) return SAMP_E_RANGE;
    if (batch->mask && sampi_mask_stride(batch) < (batch->n_vocab + 31) / 32) return SAMP_E_RANGE;
    return sampi_has_twice(rows, batch->n_rows) ? SAMP_E_RANGE : SAMP_OK;
}

/* Makes the job of drawing from a row of a batch by the sampler s. Returns a status, that of this row. */
static int sampi_batch_job(sampi_sampler *s, const samp_logits *batch, size_t r, sampi_work *work, sampi_job *job)
{
    const int status = s ? samp_status(&s->base, NULL) : (int)SAMP_E_NULL;
    if (status) return status;
    if ((batch->row_index && batch->row_index[r] < 0) || !sampi_row_length(batch, r)) return SAMP_E_RANGE;
    size_t at = batch->row_index ? (size_t)batch->row_index[r] : r; /* index of the logits; the mask's is r */
    job->s = s;
    job->work = work;
    job->data = (const char *)batch->data + at * sampi_stride(batch) * SAMPI_SIZE_OF(batch->dtype);
    job->dtype = batch->dtype;
    job->mask = batch->mask ? batch->mask + r * sampi_mask_stride(batch) : NULL;
    job->n = sampi_row_length(batch, r);
    job->logprobs = NULL;
    job->accept = true;
    return SAMP_OK;
}

/* What is done to a row of a batch, in any workspace, of which nothing is read afterwards. Returns a token or a status;
   what: the caller's. */
typedef samp_token (*sampi_batch_each)(samp_sampler *const *rows, const samp_logits *batch, size_t r,
                                       sampi_work *work, const void *what);

/* Samples one row, as samp_sample does, but with the batch's dtype, mask and log-probabilities. Changes the row's
   sampler and log-probabilities. */
static samp_token sampi_batch_row(samp_sampler *const *rows, const samp_logits *batch, size_t r, sampi_work *work,
                                  const void *what)
{
    samp_logprobs *lp = batch->logprobs ? &batch->logprobs[r] : NULL;
    sampi_job job;
    int status = sampi_batch_job((sampi_sampler *)rows[r], batch, r, work, &job);
    (void)what;
    if (status || (status = sampi_row_check_logprobs(lp, job.n))) return status;
    job.logprobs = lp;
    return sampi_sample(&job);
}

/* Returns the number of threads for a batch. Waking threads takes about 40 us, as long as four rows of 128k tokens. So
   if the caller gives no number, each thread must have at least 2^18 logits to work on. */
static int sampi_batch_threads(const samp_logits *batch)
{
    size_t n = 1;
#ifdef _OPENMP
    if (batch->n_threads) {
        n = (size_t)batch->n_threads;
    } else {
        size_t logits = 0;
        for (size_t r = 0; r < batch->n_rows; r++) logits += sampi_row_length(batch, r);
        n = (size_t)omp_get_max_threads();
        if (n > logits >> 18) n = logits >> 18;
    }
#endif
    if (n > SAMPI_MAX_THREADS) n = SAMPI_MAX_THREADS;
    if (n > batch->n_rows) n = batch->n_rows;
    return n < 1 ? 1 : (int)n;
}

/* Finds up to n workspaces that are large enough for the batch's vocabulary: first those that samplers have already;
   then, if these are fewer than n, it allocates more. Returns their number, which is less than n if memory runs out.
   Apart from this, a batch allocates only rollback's records and what grammars need. */
static int sampi_batch_work(samp_sampler *const *rows, const samp_logits *batch, sampi_work **work, int n)
{
    int have = 0;
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n >= batch->n_vocab) work[have++] = w;
    }
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n < batch->n_vocab && sampi_row_reserve(w, batch->n_vocab, false) == SAMP_OK) work[have++] = w;
    }
    return have;
}

/* If there is memory for one workspace only, one thread samples all rows. If there is no workspace, the call fails,
   unless no row has a sampler. Threads take one row at a time, because the times of rows differ (a row that runs step
   by step takes many times longer). The number of a thread is below n, so each thread has a workspace of its own.
   Besides the workspace, a row writes only to its sampler, which no other row has, and to its entries in out and
   logprobs. */
static SAMPI_COLD int sampi_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out,
                                  sampi_batch_each each, const void *what)
{
    sampi_work *work[SAMPI_MAX_THREADS] = { NULL };
    if (!logits || (logits->n_rows && (!rows || !out))) return SAMP_E_NULL;
    if (logits->n_rows == 0) return SAMP_OK;
    int status = sampi_check_batch(rows, logits);
    if (status) return status;
    int n = sampi_batch_work(rows, logits, work, sampi_batch_threads(logits));
    for (size_t r = 0; n == 0 && r < logits->n_rows; r++)
        if (rows[r]) return SAMP_E_NOMEM;
#ifdef _OPENMP
    if (n > 1) {
        long long n_rows = (long long)logits->n_rows;
        for (long long r = 0; r < n_rows; r++) /* allocates rollback's memory here, not in threads */
            if (samp_status(rows[r], NULL) == SAMP_OK) sampi_past_ready((sampi_sampler *)rows[r]);
#pragma omp parallel for num_threads(n) schedule(dynamic, 1)
        for (long long r = 0; r < n_rows; r++)
            out[r] = each(rows, logits, (size_t)r, work[omp_get_thread_num()], what);
        return SAMP_OK;
    }
#endif
    for (size_t r = 0; r < logits->n_rows; r++) out[r] = each(rows, logits, r, work[0], what);
    return SAMP_OK;
}

SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out)
{
    return sampi_batch(rows, logits, out, sampi_batch_row, NULL);
}

/* The first bad logit counts, because a draw fails at any. */
SAMP_API SAMPI_COLD int samp_logits_error_text(const samp_logits *logits, size_t row, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!logits || (!buf && size)) return SAMP_E_NULL;
    samp_logits one = *logits;
    one.n_rows = 0; /* no samplers */
    int status = row < logits->n_rows ? sampi_check_batch(NULL, &one) : (int)SAMP_E_RANGE;
    if (!status && logits->row_index && logits->row_index[row] < 0) status = SAMP_E_RANGE;
    const size_t n = status ? 0 : sampi_row_length(logits, row);
    if (!status && n == 0) status = SAMP_E_RANGE;
    if (status) return samp_error_text(status, NULL, buf, size);
    const size_t at = logits->row_index ? (size_t)logits->row_index[row] : row;
    const char *data = (const char *)logits->data + at * sampi_stride(logits) * SAMPI_SIZE_OF(logits->dtype);
    const uint32_t *mask = logits->mask ? logits->mask + row * sampi_mask_stride(logits) : NULL;
    bool masked = true;
    for (size_t i = 0; i < n; i++) {
        const float l = sampi_element(data, logits->dtype, mask, i);
        masked = masked && sampi_masked(l);
        if (l <= FLT_MAX) continue;
        sampi_put(&t, "logit ");
        sampi_put_u64(&t, i);
        sampi_put(&t, l == l ? " is +infinity" : " is NaN");
        return sampi_end_text(&t);
    }
    if (!masked) return samp_error_text(SAMP_OK, NULL, buf, size);
    sampi_put(&t, "all ");
    sampi_put_u64(&t, n);
    sampi_put(&t, " tokens are masked");
    return sampi_end_text(&t);
}
