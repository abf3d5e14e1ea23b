/* ---- key-value cache: update and mask ----
   Operations on sequences only note changes that the buffers still need (delta, has_shift, do_defrag). samp_kv_update
   makes these changes: it rotates keys to their cells' positions, then moves cells into free cells. Nothing is
   allocated. The second half of the file has samp_kv_mask, which says to which cells each token of a batch may
   attend. */

/* Writes the cosines and sines of the angles for `delta` positions to kv->turn. Rotations add up, so keys that are
   rotated to pos - delta need this rotation only. The angles are computed in double by libm's pow, cos and sin, because
   keys need not have the same bits on every machine. */
static void sampi_kv_set_turn(sampi_kv *kv, int32_t delta)
{
    uint32_t n_rot = kv->set.n_rot;
    for (uint32_t i = 0; i < n_rot; i += 2) {
        double angle = delta * pow((double)kv->set.rope_theta, -(double)i / n_rot);
        kv->turn[i] = cos(angle);
        kv->turn[i + 1] = sin(angle);
    }
}

/* Rotates all heads of a cell's key in one layer by the angles in kv->turn, in place: (a, b) becomes (a c - b s, a s +
   b c) for cosine c and sine s, computed in double and rounded once to the buffer's type. Elements from n_rot on encode
   no position and do not change. */
static void sampi_kv_rotate(const sampi_kv *kv, const sampi_kv_rows *keys, uint32_t cell)
{
    bool adjacent = kv->set.rope == SAMP_ROPE_ADJACENT;
    uint32_t n_rot = kv->set.n_rot, apart = adjacent ? 1 : n_rot / 2;
    for (size_t head = 0; head < keys->n; head += kv->set.n_embd_head) {
        for (uint32_t i = 0; i < n_rot; i += 2) {
            size_t at = head + (adjacent ? i : i / 2);
            double a = (double)sampi_kv_load(keys, cell, at), b = (double)sampi_kv_load(keys, cell, at + apart);
            double c = kv->turn[i], s = kv->turn[i + 1];
            sampi_kv_store(keys, cell, at, sampi_kv_round(keys, SAMPI_FMA(a, c, -sampi_round(b * s))));
            sampi_kv_store(keys, cell, at + apart, sampi_kv_round(keys, SAMPI_FMA(a, s, sampi_round(b * c))));
        }
    }
}

/* Rotates the keys of all cells whose delta is not 0, in all layers, and sets the deltas to 0. Without rope it only
   sets the deltas to 0. */
static void sampi_kv_shift(sampi_kv *kv)
{
    int32_t turned = 0; /* the delta for which kv->turn was computed: neighbouring cells mostly have the same */
    for (uint32_t i = 0; i < kv->base.size; i++) {
        int32_t delta = kv->base.cells[i].delta;
        kv->base.cells[i].delta = 0;
        if (delta == 0 || kv->set.rope == SAMP_ROPE_NONE) continue;
        if (delta != turned) {
            sampi_kv_set_turn(kv, delta);
            turned = delta;
        }
        for (uint32_t layer = 0; layer < kv->set.n_layer; layer++) sampi_kv_rotate(kv, &kv->rows[2 * layer], i);
    }
    kv->base.has_shift = false;
}

/* Moves a cell with its keys and values to a free cell. `used` does not change. Indices of cells that callers have kept
   become invalid. */
static void sampi_kv_move(sampi_kv *kv, uint32_t from, uint32_t to)
{
    kv->base.cells[to] = kv->base.cells[from];
    kv->base.cells[from] = SAMPI_KV_FREE;
    for (uint32_t i = 0; i < 2 * kv->set.n_layer; i++) sampi_kv_copy(&kv->rows[i], to, &kv->rows[i], from);
}

/* Defragments the cache. As many cells from index `used` on are in use as cells before it are free, so each is moved
   once. `hole` only increases, so one pass is enough. Afterwards the first `used` cells are in use, and no others. */
static void sampi_kv_fill_holes(sampi_kv *kv)
{
    uint32_t hole = 0, used = kv->base.used;
    for (uint32_t i = used; i < kv->base.size; i++) {
        if (sampi_kv_is_free(&kv->base, i)) continue;
        while (!sampi_kv_is_free(&kv->base, hole)) hole++;
        sampi_kv_move(kv, i, hole);
    }
    kv->base.head = used < kv->base.size ? used : 0;
    kv->base.do_defrag = false;
    sampi_kv_set_n(&kv->base);
}

/* Keys are rotated before cells move, so a cell moves with its rotated keys. The threshold is compared with the share of
   free cells among the cells up to the last one in use; a threshold of 0 switches this off. */
SAMP_API int samp_kv_update(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    if (kv->has_shift) sampi_kv_shift((sampi_kv *)kv);
    const double threshold = (double)sampi_kv_of(kv)->set.defrag_threshold;
    const uint32_t max = sampi_kv_cell_max(kv);
    const bool has_holes = threshold > 0.0 && (double)(max - kv->used) > threshold * max;
    if (kv->do_defrag || has_holes) sampi_kv_fill_holes((sampi_kv *)kv);
    return SAMP_OK;
}

/* Only the flag is set here; samp_kv_update moves the cells, when the caller expects it. */
SAMP_API int samp_kv_defrag(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    kv->do_defrag = true;
    return SAMP_OK;
}

/* ---- the mask ----
   The mask for the model's attention. Cells are not in the order of their tokens, and belong to several sequences, so
   each token needs a mask of its own. */

/* A token that several sequences share sees only the cells that all of them have, because its keys serve all of them.
   The condition that a cell's position is at most the token's own makes attention causal and includes the token
   itself. */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    size_t n = kv->n, words = (n + 31) / 32;
    if (bits) memset(bits, 0, batch->n_tokens * words * sizeof *bits);
    for (size_t t = 0; t < batch->n_tokens; t++) {
        uint64_t set = batch->seq[t];
        for (size_t c = 0; c < n; c++) { /* a free cell has no sequence, so no token sees it */
            bool seen = (kv->cells[c].seq & set) == set && kv->cells[c].pos <= batch->pos[t];
            if (bits) bits[t * words + c / 32] |= (uint32_t)seen << c % 32;
            if (bias) bias[t * n + c] = seen ? 0.0f : -INFINITY;
        }
    }
    return SAMP_OK;
}
