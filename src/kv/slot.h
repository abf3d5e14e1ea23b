/* ---- key-value cache: cells for a batch ----
   samp_kv_find_slot finds a cell for each token of a batch. The checks and the search only read; then sampi_kv_take
   writes cells, head and used. The search for neighbouring free cells is llama.cpp's, with its constants. */

/* Returns the number of cells up to the last one in use, or 0 if no cell is in use. The search begins at the end, where
   most cells are free. */
static uint32_t sampi_kv_cell_max(const samp_kv *kv)
{
    uint32_t n = kv->size;
    while (n > 0 && sampi_kv_is_free(kv, n - 1)) n--;
    return n;
}

/* Sets n, the number of cells that attention reads: those up to the last cell in use, rounded up to a multiple of the
   padding, but never 0. Every function that gives cells to tokens or moves cells calls this function last. Functions
   that only free cells do not call it: n may then be larger than needed, which takes time but is not wrong. */
static void sampi_kv_set_n(samp_kv *kv)
{
    uint32_t padding = sampi_kv_of(kv)->set.padding, max = sampi_kv_cell_max(kv);
    uint32_t n = max ? (max + padding - 1) / padding * padding : padding;
    kv->n = n < kv->size ? n : kv->size;
}

/* Returns the set of all sequences. n_seq_max is in 1 .. 64, so the shift is defined. */
static uint64_t sampi_kv_all(const samp_kv *kv) { return ~(uint64_t)0 >> (64 - sampi_kv_of(kv)->set.n_seq_max); }

/* Removes the smallest sequence from a set that is not empty, and returns it. So a loop over a set takes as many steps
   as the set has members. */
static int sampi_kv_next_seq(uint64_t *set)
{
    int seq = 63 - sampi_leading_zeros(*set & (~*set + 1));
    *set &= *set - 1;
    return seq;
}

/* Checks a batch without the cache's contents, for a slot and for a mask. sampi_kv_positions_ascend compares the
   batch's positions with the cache's. */
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

/* Sets last [64] to pos for the sequences of the set. Returns false if a sequence of the set is at pos already, or
   beyond. */
static bool sampi_kv_set_last(int32_t *last, uint64_t set, int32_t pos)
{
    while (set) {
        int seq = sampi_kv_next_seq(&set);
        if (last[seq] >= pos) return false;
        last[seq] = pos;
    }
    return true;
}

/* Do the positions of each sequence increase, within the batch and from the cache to the batch? Otherwise a sequence
   could get two tokens at one position, and each would attend to the other. One pass over the cells finds the largest
   position of each of the batch's sequences. */
static bool sampi_kv_positions_ascend(const samp_kv *kv, const samp_kv_batch *batch)
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
        if (!sampi_kv_set_last(last, batch->seq[i], batch->pos[i])) return false;
    return true;
}

/* Returns the cell at which a search begins: 0 if head is far behind the number of used cells, because cells before it
   are probably free. The bound is llama.cpp's. */
static uint32_t sampi_kv_start(const samp_kv *kv, uint32_t n_tokens)
{
    return kv->head > kv->used + 2 * n_tokens ? 0 : kv->head;
}

/* Returns the first of n_tokens neighbouring free cells, or `size` if there are no such cells. They do not wrap around
   the end of the cache: the search continues at 0 instead. `tested` counts the cells at which they cannot begin, so
   that the search ends after one turn. */
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

/* Gives the tokens of a batch the first free cells from `at` on, wrapping around; there must be enough cells. `cells`
   [n_tokens] gets their indices, or is NULL. Sets pos and seq of these cells (delta is 0 in free cells), head and used.
   The caller sets n afterwards. */
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

/* All checks and the search come before the cells are taken, so nothing can fail after the first change. */
SAMP_API int samp_kv_find_slot(samp_kv *kv, const samp_kv_batch *batch, samp_kv_slot kind, uint32_t *cells)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    if ((kind != SAMP_KV_RUN && kind != SAMP_KV_SCATTERED) || !sampi_kv_positions_ascend(kv, batch))
        return SAMP_E_RANGE;
    uint32_t n = batch->n_tokens, at = sampi_kv_find_run(kv, n);
    if (at == kv->size) {
        if (kind == SAMP_KV_RUN || kv->size - kv->used < n) return SAMP_E_FULL;
        at = sampi_kv_start(kv, n);
    }
    sampi_kv_take(kv, batch, at, cells);
    sampi_kv_set_n(kv);
    return SAMP_OK;
}
