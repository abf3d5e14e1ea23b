/* ---- key-value cache: operations on a sequence ----
   Remove, copy, keep, shift, divide (samp_kv_seq_rm and the others). They change sets, positions and deltas of cells,
   used and head, but never a key or a value, and not n (sampi_kv_attend). Each checks its arguments, then walks over
   all cells; no list of a sequence's cells has to be kept up to date. */

/* What all of them begin with: a sequence that there is, and a range whose open ends are filled in. */
static int sampi_kv_check_range(const samp_kv *kv, int32_t seq, int32_t *p0, int32_t *p1)
{
    if (!kv) return SAMP_E_NULL;
    if (seq < 0 || seq >= (int32_t)sampi_kv_of(kv)->set.n_seq_max) return SAMP_E_RANGE;
    if (*p0 < 0) *p0 = 0;
    if (*p1 < 0) *p1 = INT32_MAX;
    return *p0 <= *p1 ? SAMP_OK : SAMP_E_RANGE;
}

/* The same for a function without a range; the sequence alone decides. */
static int sampi_kv_check_seq(const samp_kv *kv, int32_t seq)
{
    int32_t p0 = -1, p1 = -1;
    return sampi_kv_check_range(kv, seq, &p0, &p1);
}

/* Is a sequence in a cell's set? Not in a free one, whose set is empty. */
static bool sampi_kv_has(const samp_kv_cell *cell, int32_t seq) { return cell->seq >> seq & 1; }

/* The same within a range: what copying, moving and dividing act on. */
static bool sampi_kv_has_in(const samp_kv_cell *cell, int32_t seq, int32_t p0, int32_t p1)
{
    return sampi_kv_has(cell, seq) && cell->pos >= p0 && cell->pos < p1;
}

/* Cell i is free again, and the next search begins no later. The only place that frees a cell, but for clearing
   all and moving one. */
static void sampi_kv_release(samp_kv *kv, uint32_t i)
{
    kv->cells[i] = SAMPI_KV_FREE;
    kv->used--;
    if (i < kv->head) kv->head = i;
}

/* Take the sequences out of a cell's set, and free it if none is left: what samp_kv_seq_rm and samp_kv_seq_keep do
   to each cell. */
static void sampi_kv_leave(samp_kv *kv, uint32_t i, uint64_t set)
{
    if (!(kv->cells[i].seq & set)) return; /* a free cell, too: it must not be released twice */
    kv->cells[i].seq &= ~set;
    if (kv->cells[i].seq == 0) sampi_kv_release(kv, i);
}

/* A negative sequence is no bad one here, so the check gets 0 in its place, which there always is. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, seq < 0 ? 0 : seq, &p0, &p1);
    if (status) return status;
    uint64_t set = seq < 0 ? sampi_kv_all(kv) : (uint64_t)1 << seq;
    for (uint32_t i = 0; i < kv->size; i++)
        if (kv->cells[i].pos >= p0 && kv->cells[i].pos < p1) sampi_kv_leave(kv, i, set);
    return SAMP_OK;
}

/* A fork costs one bit a cell. A shared cell moves for all that share it, see samp_kv_seq_add. */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, src, &p0, &p1);
    if (!status) status = sampi_kv_check_range(kv, dst, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], src, p0, p1)) kv->cells[i].seq |= (uint64_t)1 << dst;
    return SAMP_OK;
}

/* Bits of sequences that there are not are 0 anyway, so the set of the others is simply the complement. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq)
{
    int status = sampi_kv_check_seq(kv, seq);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++) sampi_kv_leave(kv, i, ~((uint64_t)1 << seq));
    return SAMP_OK;
}

/* For samp_kv_seq_add and samp_kv_seq_div. pos: where cell i moves to; below 0: out, for all sequences that share
   it. Its keys stay as they are: delta says what they owe. */
static void sampi_kv_move_to(samp_kv *kv, uint32_t i, int64_t pos)
{
    samp_kv_cell *cell = &kv->cells[i];
    if (pos < 0) {
        sampi_kv_release(kv, i);
    } else {
        cell->delta += (int32_t)(pos - cell->pos); /* pos - delta is the position of its keys: never below 0 */
        cell->pos = (int32_t)pos;
        kv->has_shift = true;
    }
}

/* Two passes: a position that would be too large must be known before anything has moved. */
SAMP_API int samp_kv_seq_add(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t delta)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (status || delta == 0) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1) && (int64_t)kv->cells[i].pos + delta >= INT32_MAX)
            return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, (int64_t)kv->cells[i].pos + delta);
    return SAMP_OK;
}

/* Positions only get smaller, so nothing can overflow, and one pass is enough. */
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (!status && d < 1) status = SAMP_E_RANGE;
    if (status || d == 1) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, kv->cells[i].pos / d);
    return SAMP_OK;
}

/* The position with the largest sign * position, so that -1 asks for the smallest. -1 as the result: none. */
static int32_t sampi_kv_extreme(const samp_kv *kv, int32_t seq, int32_t sign)
{
    int32_t best = -1;
    if (!kv) return -1;
    if (sampi_kv_check_seq(kv, seq)) return SAMP_E_RANGE;
    for (uint32_t i = 0; i < kv->size; i++) {
        int32_t pos = kv->cells[i].pos;
        if (sampi_kv_has(&kv->cells[i], seq) && (best < 0 || sign * pos > sign * best)) best = pos;
    }
    return best;
}

SAMP_API int32_t samp_kv_seq_pos_min(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, -1); }
SAMP_API int32_t samp_kv_seq_pos_max(const samp_kv *kv, int32_t seq) { return sampi_kv_extreme(kv, seq, 1); }
