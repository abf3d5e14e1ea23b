/* ---- key-value cache: cells for a batch ----
   samp_kv_find_slot: a batch of tokens comes in, and each token gets a cell. Checks and the search only read; then
   sampi_kv_take alone writes (cells, head, used). The search for free neighbours is llama.cpp's, with its constants. */

/* How many cells there are up to the last one in use. 0 if none is. From the end, where free cells are usual. */
static uint32_t sampi_kv_cell_max(const samp_kv *kv)
{
    uint32_t n = kv->size;
    while (n > 0 && sampi_kv_is_free(kv, n - 1)) n--;
    return n;
}

/* Set n, the cells that attention looks at: up to the last one in use, padded, as kernels like it; never 0. Whatever
   gives cells to tokens or moves them ends with this. What only frees cells does not: n may be too large then, which
   costs time only. */
static void sampi_kv_attend(samp_kv *kv)
{
    uint32_t padding = sampi_kv_of(kv)->set.padding, max = sampi_kv_cell_max(kv);
    uint32_t n = max ? (max + padding - 1) / padding * padding : padding;
    kv->n = n < kv->size ? n : kv->size;
}

/* The sequences that there are, as a set: for the check of a batch, and for samp_kv_seq_rm of all. n_seq_max is 64
   at most and 1 at least, so the shift is defined. */
static uint64_t sampi_kv_all(const samp_kv *kv) { return ~(uint64_t)0 >> (64 - sampi_kv_of(kv)->set.n_seq_max); }

/* Take the smallest sequence out of a set that is not empty: so a loop over a set takes as many steps as it has
   members. */
static int sampi_kv_next_seq(uint64_t *set)
{
    int seq = 63 - sampi_empty_bits(*set & (~*set + 1));
    *set &= *set - 1;
    return seq;
}

/* Is a batch one, by itself? Reads only; for a slot and for the mask. How its positions go on from the cache's is
   another matter: see sampi_kv_goes_up. */
static int sampi_kv_check_batch(const samp_kv *kv, const samp_kv_batch *batch)
{
    if (!kv || !batch || !batch->pos || !batch->seq) return SAMP_E_NULL;
    if (batch->n_tokens < 1 || batch->n_tokens > kv->size) return SAMP_E_RANGE;
    for (uint32_t i = 0; i < batch->n_tokens; i++) {
        if (batch->seq[i] == 0 || (batch->seq[i] & ~sampi_kv_all(kv))) return SAMP_E_RANGE;
        if (batch->pos[i] < 0 || batch->pos[i] == INT32_MAX) return SAMP_E_RANGE;
    }
    return SAMP_OK;
}

/* last [64] becomes pos for the sequences of the set; false if one of them is there already, or farther. */
static bool sampi_kv_follow(int32_t *last, uint64_t set, int32_t pos)
{
    while (set) {
        int seq = sampi_kv_next_seq(&set);
        if (last[seq] >= pos) return false;
        last[seq] = pos;
    }
    return true;
}

/* Do the positions of each sequence go up, in the batch and from the cache to the batch? Otherwise a sequence
   could get two tokens at one position, and the mask would show each the other. One pass over the cells, which
   looks at the batch's sequences only. */
static bool sampi_kv_goes_up(const samp_kv *kv, const samp_kv_batch *batch)
{
    int32_t last[64];
    uint64_t in_batch = 0;
    for (int seq = 0; seq < 64; seq++) last[seq] = -1;
    for (uint32_t i = 0; i < batch->n_tokens; i++) in_batch |= batch->seq[i];
    for (uint32_t i = 0; i < kv->size; i++) {
        uint64_t set = kv->cells[i].seq & in_batch;
        while (set) {
            int seq = sampi_kv_next_seq(&set);
            if (last[seq] < kv->cells[i].pos) last[seq] = kv->cells[i].pos;
        }
    }
    for (uint32_t i = 0; i < batch->n_tokens; i++)
        if (!sampi_kv_follow(last, batch->seq[i], batch->pos[i])) return false;
    return true;
}

/* Where a search begins: cells before a far head are probably free. The bound is llama.cpp's. */
static uint32_t sampi_kv_start(const samp_kv *kv, uint32_t n_tokens)
{
    return kv->head > kv->used + 2 * n_tokens ? 0 : kv->head;
}

/* The first of n_tokens free neighbours, or size. Neighbours don't wrap: a run that would goes on at 0. `tested`
   counts the cells that can't begin a run, so that the search ends after one turn. */
static uint32_t sampi_kv_find_run(const samp_kv *kv, uint32_t n_tokens)
{
    uint32_t head = sampi_kv_start(kv, n_tokens), tested = 0;
    while (tested < kv->size) {
        uint32_t i = 0;
        if (head + n_tokens > kv->size) {
            tested += kv->size - head;
            head = 0;
        }
        while (i < n_tokens && sampi_kv_is_free(kv, head + i)) i++;
        if (i == n_tokens) return head;
        head += i + 1;
        tested += i + 1;
    }
    return kv->size;
}

/* Give the tokens of a batch the first free cells from `at` on, around the end; there must be enough. cells
   [n_tokens] or NULL. Sets pos and seq of these cells (their delta is 0 already, as of all free ones), head and
   used. The caller sets n. */
static void sampi_kv_take(samp_kv *kv, const samp_kv_batch *batch, uint32_t at, uint32_t *cells)
{
    for (uint32_t i = 0; i < batch->n_tokens; i++) {
        if (at == kv->size) at = 0;
        while (!sampi_kv_is_free(kv, at)) at = at + 1 < kv->size ? at + 1 : 0;
        if (i == 0) kv->head = at;
        if (cells) cells[i] = at;
        kv->cells[at].pos = batch->pos[i];
        kv->cells[at].seq = batch->seq[i];
        at++;
    }
    kv->used += batch->n_tokens;
}

/* Checks, the search, then the cells are taken: nothing can fail behind the first change. */
SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    if ((kind != SAMP_KV_RUN && kind != SAMP_KV_SCATTERED) || !sampi_kv_goes_up(kv, batch)) return SAMP_E_RANGE;
    uint32_t n = batch->n_tokens, at = sampi_kv_find_run(kv, n);
    if (at == kv->size) {
        if (kind == SAMP_KV_RUN || kv->size - kv->used < n) return SAMP_E_FULL;
        at = sampi_kv_start(kv, n);
    }
    sampi_kv_take(kv, batch, at, cells);
    sampi_kv_attend(kv);
    return SAMP_OK;
}
