/* ---- key-value cache: operations on a sequence ----
   The functions samp_kv_seq_... remove, copy or keep a sequence, or shift or divide its positions. They change the
   cells (set of sequences, position, delta), `used` and `head`, but never a key or a value, and not `n`
   (sampi_kv_set_n). Each function checks its arguments, then walks over all cells, so no list of a sequence's cells has
   to be kept up to date. */

/* Checks that the sequence exists, and replaces open ends of the range of positions, which are negative. */
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

/* Is this cell one of the sequence's? A free cell belongs to no sequence. */
static bool sampi_kv_has(const samp_kv_cell *cell, int32_t seq) { return cell->seq >> seq & 1; }

/* Is this cell one of the sequence's, with a position in [p0, p1)? */
static bool sampi_kv_has_in(const samp_kv_cell *cell, int32_t seq, int32_t p0, int32_t p1)
{
    return sampi_kv_has(cell, seq) && cell->pos >= p0 && cell->pos < p1;
}

/* Frees cell i, and moves head back to it so that the next search begins no later than there. All cells are freed here,
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
    if (!(kv->cells[i].seq & set)) return; /* true of a free cell too, which must not be freed twice */
    kv->cells[i].seq &= ~set;
    if (kv->cells[i].seq == 0) sampi_kv_release(kv, i);
}

/* A negative `seq` means all sequences; the check gets 0 in its place, a sequence that always exists. */
SAMP_API int samp_kv_seq_rm(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, seq < 0 ? 0 : seq, &p0, &p1);
    if (status) return status;
    uint64_t set = seq < 0 ? sampi_kv_all(kv) : (uint64_t)1 << seq;
    for (uint32_t i = 0; i < kv->size; i++)
        if (kv->cells[i].pos >= p0 && kv->cells[i].pos < p1) sampi_kv_remove_sequences(kv, i, set);
    return SAMP_OK;
}

/* A fork takes one bit in each cell. A cell that several sequences share is moved for all of them, see
   samp_kv_seq_add. */
SAMP_API int samp_kv_seq_cp(samp_kv *kv, int32_t src, int32_t dst, int32_t p0, int32_t p1)
{
    int status = sampi_kv_check_range(kv, src, &p0, &p1);
    if (!status) status = sampi_kv_check_range(kv, dst, &p0, &p1);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], src, p0, p1)) kv->cells[i].seq |= (uint64_t)1 << dst;
    return SAMP_OK;
}

/* The complement is the set of all other sequences: bits of sequences that do not exist are 0 anyway. */
SAMP_API int samp_kv_seq_keep(samp_kv *kv, int32_t seq)
{
    int status = sampi_kv_check_seq(kv, seq);
    if (status) return status;
    for (uint32_t i = 0; i < kv->size; i++) sampi_kv_remove_sequences(kv, i, ~((uint64_t)1 << seq));
    return SAMP_OK;
}

/* Moves cell i to position pos, for all sequences that share the cell; if pos is below 0, the cell is freed. The keys
   do not change: `delta` notes the rotation that is still to be done. */
static void sampi_kv_move_to(samp_kv *kv, uint32_t i, int64_t pos)
{
    samp_kv_cell *cell = &kv->cells[i];
    if (pos < 0) {
        sampi_kv_release(kv, i);
    } else {
        cell->delta += (int32_t)(pos - cell->pos); /* pos - delta, the position of the keys, is never below 0 */
        cell->pos = (int32_t)pos;
        kv->has_shift = true;
    }
}

/* Two passes over the cells: the first finds positions that would be too large, before anything has moved. */
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

/* Positions only become smaller, so nothing can overflow, and one pass is enough. */
SAMP_API int samp_kv_seq_div(samp_kv *kv, int32_t seq, int32_t p0, int32_t p1, int32_t d)
{
    int status = sampi_kv_check_range(kv, seq, &p0, &p1);
    if (!status && d < 1) status = SAMP_E_RANGE;
    if (status || d == 1) return status;
    for (uint32_t i = 0; i < kv->size; i++)
        if (sampi_kv_has_in(&kv->cells[i], seq, p0, p1)) sampi_kv_move_to(kv, i, kv->cells[i].pos / d);
    return SAMP_OK;
}

/* Returns the largest (sign 1) or smallest (sign -1) position of a sequence, or -1 if the sequence has no token. */
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
