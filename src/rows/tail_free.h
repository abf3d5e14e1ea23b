/* ---- tail_free on a row ----
   tail_free cuts by the second differences of the sorted probabilities. The first few hundred tokens, sorted, are
   mostly enough, together with a bound for the sum over the others. If they are not enough (a flat row), the whole row
   is sorted by a radix sort, which takes about 1 ms for 128,256 tokens. */

/* Returns the logits of a compact row, the largest first. It is a radix sort of the logits' keys (integers in the same
   order), 11 bits a round. The keys, 4 bytes each, move between the memory of the weights (work->w) and the memory
   behind it. After three rounds they are behind it, so the memory of the weights is free. */
static float *sampi_row_sorted_logits(const sampi_row *row)
{
    size_t n = row->n;
    uint64_t *w = row->work->w;
    uint32_t *front = (uint32_t *)(void *)w, *back = (uint32_t *)(void *)(w + n + 16), *from = front, *to = back;
    float *sorted = (float *)(void *)back;
    for (size_t i = 0; i < n; i++) from[i] = sampi_falling_key(row->x[i]);
    for (int shift = 0; shift < 32; shift += 11) {
        uint32_t start[2049] = { 0 };
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & 2047) + 1]++;
        for (int digit = 1; digit < 2048; digit++) start[digit] += start[digit - 1];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 2047]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++) sorted[i] = sampi_unkey((int32_t)((uint32_t)INT32_MAX - back[i]));
    return sorted;
}

/* Cuts a compact row in which up to `rest` tokens are missing; all missing tokens have smaller logits than the row's.
   False: the missing tokens may matter, and nothing has changed. Let w_i be the i-th largest weight, d_i = w_i - w_i+1,
   which is not negative, and a_i = |d_i - d_i+1|. The sum of those a_i that need a missing token is at most the sum of
   their d_i + d_i+1, which is at most w_i + w_i+1 for the first of them. (Because of rounding, w may rise by one unit
   from a token to the next, which adds at most four units to each a_i.) */
static bool sampi_row_tail_cut(sampi_row *row, const sampi_sampler *s, float max, size_t rest)
{
    const sampi_kernels *k = row->k;
    size_t n = row->n, keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    uint64_t *w = row->work->w, share = sampi_share(s->u.cut.p), total = 0, run = 0, beyond = 0;
    if (n <= 2) return rest == 0;
    const float *l = sampi_row_sorted_logits(row);
    const uint64_t z = k->weights(l, n, max, w, NULL);
    for (size_t i = 0; i + 2 < n; i++) total += sampi_bend(w + i);
    if (rest) beyond = w[n - 2] + w[n - 1] + 4 * rest;
    bool is_flat = sampi_tail_is_flat(total, z + rest * (w[n - 1] + 1));
    if (rest && is_flat) return false;
    uint64_t bound = sampi_mulhi(share, is_flat ? n - 2 : total), bound_hi = sampi_mulhi(share, total + beyond);
    size_t i = 0;
    for (; i + 2 < n; i++) {
        run += is_flat ? 1 : sampi_bend(w + i);
        if (run > bound) break;
    }
    if (i + 2 == n) return rest == 0;
    if (i > keep) keep = i;
    if (rest && (run <= bound_hi || keep > n)) return false;
    if (keep < n) sampi_row_cut_at(row, l[keep - 1], keep);
    return true;
}

/* Applies tail_free to a row. It tries the first 256 tokens, then 8 times as many, and so on; if all of these leave a
   doubt, it sorts the whole row. */
static int sampi_fast_tail_free(sampi_row *row, sampi_sampler *s)
{
    float max = sampi_row_max(row);
    for (size_t want = 256; !sampi_row_is_compact(row) && want < row->n / 8; want *= 8) {
        sampi_row head = *row;
        sampi_row_gather_first(&head, want);
        if (!sampi_row_tail_cut(&head, s, max, row->n - head.n)) continue;
        *row = head;
        return SAMP_OK;
    }
    sampi_row_compact(row);
    (void)sampi_row_tail_cut(row, s, max, 0);
    return SAMP_OK;
}
