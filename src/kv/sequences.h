/* ---- key-value cache: operations on a sequence ----
   samp_kv_seq_rm and the other functions remove, copy, keep, shift and divide. They change sets, positions and deltas
   of cells, `used` and `head`, but never a key or a value, and not n (sampi_kv_set_n). Each checks its arguments, then
   walks over all cells, so no list of a sequence's cells has to be kept up to date. */

/* Checks that the sequence exists, and replaces open ends of the range (negative numbers). */
static int sampi_kv_check_range(const samp_kv *kv, int32_t seq, int32_t *p0, int32_t *p1)
{
    if (!kv) return SAMP_E_NULL;
    if (seq < 0 || seq >= (int32_t)sampi_kv_of(kv)->set.n_seq_max) return SAMP_E_RANGE;
    if (*p0 < 0) *p0 = 0;
    if (*p1 < 0) *p1 = INT32_MAX;
    return *p0 <= *p1 ? SAMP_OK : SAMP_E_RANGE;
}

/* Checks that the sequence exists. */
static int sampi_kv_check_seq(const samp_kv *kv, int32_t seq)
{
    int32_t p0 = -1, p1 = -1;
    return sampi_kv_check_range(kv, seq, &p0, &p1);
}

/* Does the sequence have this cell? A free cell has an empty set, so no sequence has it. */
static bool sampi_kv_has(const samp_kv_cell *cell, int32_t seq) { return cell->seq >> seq & 1; }

/* Does the sequence have this cell, at a position in [p0, p1)? */
static bool sampi_kv_has_in(const samp_kv_cell *cell, int32_t seq, int32_t p0, int32_t p1)
{
    return sampi_kv_has(cell, seq) && cell->pos >= p0 && cell->pos < p1;
}

/* Frees cell i, and moves head back to it so that the next search begins there at the latest. All cells are freed here,
   except by samp_kv_clear and sampi_kv_move. */
static void sampi_kv_release(samp_kv *kv, uint32_t i)
{
    kv->cells[i] = SAMPI_KV_FREE;
    kv->used--;
    if (i < kv->head) kv->head = i;
}

/* Removes the sequences of `set` from a cell, and frees the cell if no sequence is left. */
static void sampi_kv_remove_sequences(samp_kv *kv, uint32_t i, uint64_t set)
{
    if (!(kv->cells[i].seq & set)) return; /* also true of a free cell, which must not be freed twice */
    kv->cells[i].seq &= ~set;
    if (kv->cells[i].seq == 0) sampi_kv_release(kv, i);
}

/* A negative sequence means all of them; the check gets 0 in its place, a sequence that always exists. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, seq < 0 ? 0 : seq, &p0, &p1);
    if (status) return status;
    uint64_t set = seq < 0 ? sampi_kv_all(kv) : (uint64_t)1 << seq;
    for (uint32_t i = 0; i < kv->size; i++)
        if (kv->cells[i].pos >= p0 && kv->cells[i].pos < p1) sampi_kv_remove_sequences(kv, i, set);
    return SAMP_OK;
}

/* A fork costs one bit a cell. A shared cell moves for all its sequences, see samp_kv_seq_add. */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, src, &p0, &p1);
    if (!status) status = sampi_kv_check_range(kv, dst, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], src, p0, p1)) kv->cells[i].seq |= (uint64_t)1 << dst;
    return SAMP_OK;
}

/* The set of all other sequences is the complement: bits of sequences that do not exist are 0 anyway. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq)
{
    int status = sampi_kv_check_seq(kv, seq);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++) sampi_kv_remove_sequences(kv, i, ~((uint64_t)1 << seq));
    return SAMP_OK;
}

/* Moves cell i to position pos; below 0 it is freed, for all sequences that share it. The keys do not change; delta
   notes the rotation that is still to be done. */
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

/* Two passes: the first finds positions that would be too large, before anything has moved. */
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

/* Returns the largest (sign 1) or smallest (sign -1) position of a sequence; -1 if it has no token. */
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
