/* =================================================================================================== >>batch
   samp_sample_batch draws a token, or returns a status, for each of many rows of logits, each with its own sampler.
   Rows are independent, so it is samp_sample in a loop, in several threads if OpenMP is on. A row gives the token that
   it would give alone. The loop calls run/sample.h.

   A thread works in a workspace that belongs to the sampler of some row, mostly not the row it samples. This is right
   because a workspace holds nothing between two draws. So a batch of a thousand rows needs only as many workspaces as
   threads, and memory of samp_reserve is used before more is allocated. */

#define SAMPI_MAX_THREADS 256

/* The strides of rows, in elements, and of masks, in words; 0 means that rows follow each other without a gap. */
static size_t sampi_stride(const samp_logits *batch) { return batch->stride ? batch->stride : batch->n_vocab; }

static size_t sampi_mask_stride(const samp_logits *batch)
{
    return batch->mask_stride ? batch->mask_stride : (batch->n_vocab + 31) / 32;
}

/* Does a sampler occur twice, or a chain together with one of its members? Then rows could not be sampled in parallel,
   and their order would decide their tokens. First each sampler is marked with the number of the last row that has it
   (s->in_batch). A row whose sampler has another number shares it with a later row; and a chain around a sampler is in
   the batch if the row of the chain's number has that chain. */
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

/* Checks the call itself; an error in one row is that row's status. Called before any row is sampled, by the GPU's
   batch too. Writes in_batch of the samplers. */
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

/* Is a row's request of log-probabilities out of range? It is an error of that row alone. */
static bool sampi_bad_logprobs(const samp_logprob_set *set)
{
    return set->n_top < 0 || set->n_top > SAMP_MAX_TOP_LOGPROBS;
}

/* Does the request want tokens, but has no list for them? Then the row is SAMP_E_NULL, before its samplers change. */
static bool sampi_no_room_for_logprobs(const samp_logprob_set *set) { return set->n_top && !set->top_logprobs; }

/* Samples one row in any workspace: samp_sample with the batch's dtype, mask and log-probabilities. Changes the row's
   sampler and log-probabilities, and overwrites the workspace. */
static samp_token sampi_batch_row(samp_sampler *const *rows, const samp_logits *batch, size_t r, sampi_work *work)
{
    samp_logprobs *lp = batch->logprobs ? &batch->logprobs[r] : NULL;
    if (!rows[r]) return SAMP_E_NULL;
    int status = samp_status(rows[r], NULL);
    if (status) return status;
    if (batch->row_index && batch->row_index[r] < 0) return SAMP_E_RANGE;
    if (lp && (sampi_bad_logprobs(&lp->raw) || sampi_bad_logprobs(&lp->processed))) return SAMP_E_RANGE;
    if (lp && (sampi_no_room_for_logprobs(&lp->raw) || sampi_no_room_for_logprobs(&lp->processed)))
        return SAMP_E_NULL;
    size_t at = batch->row_index ? (size_t)batch->row_index[r] : r; /* the index of the logits; masks go by row */
    sampi_job job;
    job.s = (sampi_sampler *)rows[r];
    job.work = work;
    job.data = (const char *)batch->data + at * sampi_stride(batch) * SAMPI_SIZE_OF(batch->dtype);
    job.dtype = batch->dtype;
    job.mask = batch->mask ? batch->mask + r * sampi_mask_stride(batch) : NULL;
    job.n = batch->n_vocab;
    job.logprobs = lp;
    job.accept = true;
    return sampi_sample(&job);
}

/* Returns the number of threads. Waking them takes about 40 us, as much as four rows of 128k tokens. So if the caller
   gives no number, each thread must have at least 2^18 logits. */
static int sampi_batch_threads(const samp_logits *batch)
{
    size_t n = 1;
#ifdef _OPENMP
    if (batch->n_threads) {
        n = (size_t)batch->n_threads;
    } else {
        size_t worth = batch->n_rows * batch->n_vocab >> 18;
        n = (size_t)omp_get_max_threads();
        if (n > worth) n = worth;
    }
#endif
    if (n > SAMPI_MAX_THREADS) n = SAMPI_MAX_THREADS;
    if (n > batch->n_rows) n = batch->n_rows;
    return n < 1 ? 1 : (int)n;
}

/* Finds up to n workspaces for the batch's vocabulary: first those of samplers that have one, then, if these are too
   few, of samplers that get one now (the only allocation in a batch). Returns their number; fewer than n if memory runs
   out. */
static int sampi_batch_work(samp_sampler *const *rows, const samp_logits *batch, sampi_work **work, int n)
{
    int have = 0;
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n >= batch->n_vocab) work[have++] = w;
    }
    for (size_t r = 0; r < batch->n_rows && have < n; r++) {
        sampi_work *w = rows[r] ? &((sampi_sampler *)rows[r])->work : NULL;
        if (w && w->n < batch->n_vocab && sampi_reserve(w, batch->n_vocab, false) == SAMP_OK) work[have++] = w;
    }
    return have;
}

/* One workspace is enough, with one thread. No workspace is an error, unless no row has a sampler. Threads take one row
   at a time, because the costs of rows differ (a row that goes step by step takes many times longer). A thread's number
   is below n, so each has its own workspace. Besides, a row writes only its sampler, which no other row has, and its
   entries in out and logprobs. */
SAMP_API int samp_sample_batch(samp_sampler *const *rows, const samp_logits *logits, samp_token *out)
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
        for (long long r = 0; r < n_rows; r++) /* so that no thread allocates */
            if (samp_status(rows[r], NULL) == SAMP_OK) sampi_past_ready((sampi_sampler *)rows[r]);
#pragma omp parallel for num_threads(n) schedule(dynamic, 1)
        for (long long r = 0; r < n_rows; r++)
            out[r] = sampi_batch_row(rows, logits, (size_t)r, work[omp_get_thread_num()]);
        return SAMP_OK;
    }
#endif
    for (size_t r = 0; r < logits->n_rows; r++) out[r] = sampi_batch_row(rows, logits, r, work[0]);
    return SAMP_OK;
}
