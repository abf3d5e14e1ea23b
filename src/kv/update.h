/* ---- key-value cache: update and mask ----
   Operations on sequences only note what they owe to the buffers (delta, has_shift, do_defrag). samp_kv_update pays
   it: it rotates keys to their cells' positions, then moves cells into holes. Nothing is allocated. The second half is
   samp_kv_mask: which cells each token of a batch may attend to. */

/* The angles of delta positions, to kv->turn: rotations add up, so cells turned to pos - delta need these only,
   and their keys are not made anew. In double, by libm's pow, cos and sin: keys are no tokens, and need not have
   the same bits everywhere. */
static void sampi_kv_turn_by(sampi_kv *kv, int32_t delta)
{
    uint32_t n_rot = kv->set.n_rot;
    for (uint32_t i = 0; i < n_rot; i += 2) {
        double angle = delta * pow((double)kv->set.rope_theta, -(double)i / n_rot);
        kv->turn[i] = cos(angle);
        kv->turn[i + 1] = sin(angle);
    }
}

/* Turn all heads of a cell's key in one layer by kv->turn: (a, b) becomes (a c - b s, a s + b c), rounded once
   each, in place. Elements behind n_rot of a head carry no position and stay. */
static void sampi_kv_rotate(const sampi_kv *kv, const sampi_kv_rows *keys, uint32_t cell)
{
    bool adjacent = kv->set.rope == SAMP_ROPE_ADJACENT;
    uint32_t n_rot = kv->set.n_rot, apart = adjacent ? 1 : n_rot / 2;
    for (size_t head = 0; head < keys->n; head += kv->set.n_embd_head) {
        for (uint32_t i = 0; i < n_rot; i += 2) {
            size_t at = head + (adjacent ? i : i / 2);
            double a = (double)sampi_kv_load(keys, cell, at), b = (double)sampi_kv_load(keys, cell, at + apart);
            double c = kv->turn[i], s = kv->turn[i + 1];
            sampi_kv_store(keys, cell, at, (float)SAMPI_FMA(a, c, -sampi_round(b * s)));
            sampi_kv_store(keys, cell, at + apart, (float)SAMPI_FMA(a, s, sampi_round(b * c)));
        }
    }
}

/* Turn the keys of all cells with a delta, in all layers; then no cell has one. Without rope the deltas are only
   forgotten. */
static void sampi_kv_shift(sampi_kv *kv)
{
    int32_t turned = 0; /* what kv->turn is for: neighbours mostly share it */
    for (uint32_t i = 0; i < kv->base.size; i++) {
        int32_t delta = kv->base.cells[i].delta;
        kv->base.cells[i].delta = 0;
        if (delta == 0 || kv->set.rope == SAMP_ROPE_NONE) continue;
        if (delta != turned) {
            sampi_kv_turn_by(kv, delta);
            turned = delta;
        }
        for (uint32_t layer = 0; layer < kv->set.n_layer; layer++) sampi_kv_rotate(kv, &kv->rows[2 * layer], i);
    }
    kv->base.has_shift = false;
}

/* More holes before the last cell in use than the threshold allows? A threshold of 0 asks for nothing. */
static bool sampi_kv_has_holes(const sampi_kv *kv)
{
    uint32_t max = sampi_kv_cell_max(&kv->base), holes = max - kv->base.used;
    return kv->set.defrag_threshold > 0.0f && (double)holes > (double)kv->set.defrag_threshold * max;
}

/* A cell with its keys and values to a free one: a step of sampi_kv_fill_holes. used stays, and who keeps indices
   of cells must ask anew. */
static void sampi_kv_move(sampi_kv *kv, uint32_t from, uint32_t to)
{
    kv->base.cells[to] = kv->base.cells[from];
    kv->base.cells[from] = SAMPI_KV_FREE;
    for (uint32_t i = 0; i < 2 * kv->set.n_layer; i++) sampi_kv_copy(&kv->rows[i], to, &kv->rows[i], from);
}

/* As many cells behind `used` are in use as before it are free, so this many moves are needed, and no more. `hole`
   only goes up, so it is one pass; behind it the first `used` cells are in use, and no others. */
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
    sampi_kv_attend(&kv->base);
}

/* Keys are turned before anything moves: both need all cells where they are, and a moved cell brings its turned keys.
   */
SAMP_API int samp_kv_update(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    if (kv->has_shift) sampi_kv_shift((sampi_kv *)kv);
    if (kv->do_defrag || sampi_kv_has_holes(sampi_kv_of(kv))) sampi_kv_fill_holes((sampi_kv *)kv);
    return SAMP_OK;
}

/* Only a wish: cells move in samp_kv_update alone, when the caller expects it. */
SAMP_API int samp_kv_defrag(samp_kv *kv)
{
    if (!kv) return SAMP_E_NULL;
    kv->do_defrag = true;
    return SAMP_OK;
}

/* ---- the mask ----
   What the model's attention gets of all this: cells are not in the order of their tokens, and hold several sequences,
   so each token needs its own set. */

/* Of a token that several sequences share, only what all of them have is seen: its keys serve all. Writes the
   caller's arrays only. pos <= its own makes it causal, and includes the token itself. */
SAMP_API int samp_kv_mask(const samp_kv *kv, const samp_kv_batch *batch, uint32_t *bits, float *bias)
{
    int status = sampi_kv_check_batch(kv, batch);
    if (status) return status;
    size_t n = kv->n, words = (n + 31) / 32;
    if (bits) memset(bits, 0, batch->n_tokens * words * sizeof *bits);
    for (size_t t = 0; t < batch->n_tokens; t++) {
        uint64_t set = batch->seq[t];
        for (size_t c = 0; c < n; c++) { /* a free cell has no sequence, so it is never seen */
            bool seen = (kv->cells[c].seq & set) == set && kv->cells[c].pos <= batch->pos[t];
            if (bits) bits[t * words + c / 32] |= (uint32_t)seen << c % 32;
            if (bias) bias[t * n + c] = seen ? 0.0f : -INFINITY;
        }
    }
    return SAMP_OK;
}
