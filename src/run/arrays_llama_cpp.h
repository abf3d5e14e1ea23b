/* ---- samp_apply: one sampler on a view, in llama.cpp's arithmetic ----
   The counterpart of run/arrays.h under MT19937: a view is the user's array, worked on as a row. llama.cpp adds floats
   and doubles in the order of the array, and the result depends on that order. These functions compute the same sums,
   bit for bit, but by tiles of 256 elements, which is faster. sampi_view_llama applies one sampler. If the sampler
   declines the view and its steps begin with a sort, the array is sorted here. */

/* Returns how much a sum of doubles that begins one ulp above `sum` grows when the elements e of a tile are added. A
   sum that begins at `sum` grows by d. The two differ only at the first term that is half way between two sums; after
   that term the last bit of both sums is 0. */
static double sampi_llama_odd_sum(const float *e, double sum, double d)
{
    const double up = sampi_from_bits(sampi_bits(sum) + 1), ulp = up - sum;
    double a = sum, b = up;
    for (size_t i = 0; i < SAMPI_TILE && b - a == ulp; i++) a += (double)e[i], b += (double)e[i];
    return d + (b - a - ulp);
}

/* Returns the sum e [0] + e [1] + ..., as a loop of doubles computes it; tile [i] gets the sum after tile i. While the
   sum stays between two powers of two, its growth by a tile depends only on whether the last bit of its mantissa was 0
   before. So four tiles are added at once. */
static SAMPI_HOT double sampi_llama_sum_tiles(const float *e, size_t n, double *tile)
{
    double sum = 0.0;
    for (size_t at = 0, len; at < n; at += len, tile += 4) {
        double s0 = sum, s1 = sum, s2 = sum, s3 = sum, to = sum;
        const float *x = e + at;
        len = n - at < 4 * SAMPI_TILE ? n - at : 4 * SAMPI_TILE;
        bool whole = len == 4 * SAMPI_TILE;
        for (size_t i = 0; whole && i < SAMPI_TILE; i++) {
            s0 += (double)x[i];
            s1 += (double)x[i + SAMPI_TILE];
            s2 += (double)x[i + 2 * SAMPI_TILE];
            s3 += (double)x[i + 3 * SAMPI_TILE];
        }
        const double s[4] = { s0, s1, s2, s3 };
        for (size_t k = 0; whole && k < 4; k++) {
            bool odd = (sampi_bits(to) ^ sampi_bits(sum)) & 1;
            tile[k] = to += odd ? sampi_llama_odd_sum(x + k * SAMPI_TILE, sum, s[k] - sum) : s[k] - sum;
        }
        whole = whole && sampi_bits(to) >> 52 == sampi_bits(sum) >> 52;
        for (size_t i = 0; !whole && i < len; i++) tile[i / SAMPI_TILE] = sum += (double)x[i];
        if (whole) sum = to;
    }
    return sum;
}

/* Returns the index at which e [0] + e [1] + ... reaches `want`, or the last index; tile: the sums after each tile. */
static SAMPI_COLD samp_token sampi_llama_find_by_sums(const float *e, const double *tile, size_t n, double want)
{
    double run = 0.0;
    size_t i = 0;
    for (; i + SAMPI_TILE < n && tile[i / SAMPI_TILE] < want; i += SAMPI_TILE) run = tile[i / SAMPI_TILE];
    for (; i + 1 < n; i++) {
        run += (double)e[i];
        if (run >= want) break;
    }
    return (samp_token)i;
}

/* Applies dist to a view (the user's array, worked on as a row): selects the same token as sampi_llama_choose, with the
   same sums. */
static SAMPI_COLD void sampi_view_dist(sampi_view *view, sampi_sampler *s)
{
    sampi_row *row = &view->row;
    double u = sampi_mt_double(sampi_mt_of(s)), *tile = (double *)(void *)row->work->sum;
    float max = sampi_row_max(row), *e = row->work->logits;
    size_t n = view->cur->size;
    sampi_pieces it;
    if (!sampi_is_compact(row) && row->r != 1.0f) sampi_flatten(row); /* its logits are read twice */
    for (sampi_start(&it, row); sampi_next_candidates(view, &it);)
        if (row->k->count(it.x, it.n, -FLT_MAX))
            (void)row->llama.expf(it.x, it.n, 1.0f, max, e + it.at);
        else
            memset(e + it.at, 0, it.n * sizeof *e); /* all of them are masked */
    row->llama.sum = sampi_llama_sum_tiles(e, n, tile);
    row->token = sampi_llama_find_by_sums(e, tile, n, u * row->llama.sum);
}

/* Sets p of a sorted array that is not a view: e^(l - max), which it keeps in work->logits, divided by the sum of all.
   The sum is what a loop of doubles computes; tile gets the sum after each tile of 256 candidates. Returns the sum. */
static SAMPI_COLD double sampi_view_softmax(const sampi_view *view, double *tile)
{
    const sampi_kernels *k = sampi_use();
    const samp_token_data_array *cur = view->cur;
    float *x = view->work->own, *e = view->work->logits;
    (void)k->fetch(cur->data, SAMPI_CANDIDATE, NULL, 0, cur->size, x);
    (void)sampi_expf_of(view->work, k)(x, cur->size, 1.0f, x[0], e);
    double sum = sampi_llama_sum_tiles(e, cur->size, tile);
    k->put(cur->data, cur->size, x, e, sum);
    return sum;
}

/* Packs each candidate into 64 bits for sorting: the key of its logit above, and below it twice the id, plus 1 if the
   logit is -0. */
static SAMPI_HOT void sampi_pack_keys(const samp_token_data *d, size_t n, uint64_t *to)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &d[i].logit, 4);
        to[i] = (uint64_t)sampi_falling_key(d[i].logit) << 32 | (uint32_t)d[i].id << 1 | (bits == 0x80000000u);
    }
}

/* Reads the logits of packed candidates. */
static SAMPI_HOT void sampi_unpack_keys(const uint64_t *from, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = sampi_unkey((int32_t)((uint32_t)INT32_MAX - (uint32_t)(from[i] >> 32)));
        if (from[i] & 1) x[i] = -0.0f;
    }
}

/* Makes the cut of xtc on an array that is not a view. The array becomes sorted; p are shares among all candidates,
   including the removed ones. The caller has drawn the random number by which xtc cuts. */
static SAMPI_COLD void sampi_view_xtc_cut(const sampi_view *view, const sampi_sampler *s)
{
    const sampi_kernels *k = sampi_use();
    const sampi_work *work = view->work;
    samp_token_data_array *cur = view->cur;
    uint64_t *key = (uint64_t *)(void *)work->x; /* x and id together have memory for n keys */
    float *x = work->own, *e = work->logits;
    size_t above = 0, n = cur->size;
    sampi_pack_keys(cur->data, n, work->w);
    sampi_sort_keys(work->w, key, n);
    sampi_unpack_keys(key, n, x);
    (void)sampi_expf_of(view->work, k)(x, n, 1.0f, x[0], e);
    double sum = (double)sampi_exact_float_sum(e, n, 0.0f);
    while (above < n && (float)((double)e[above] / sum) >= s->u.xtc.t && !sampi_masked(x[above])) above++;
    size_t cut = above < 2 || n - (above - 1) < s->u.xtc.min_keep ? 0 : above - 1;
    cur->size = n - cut;
    for (size_t i = 0; i < cur->size; i++) cur->data[i].id = (samp_token)((uint32_t)key[cut + i] >> 1);
    k->put(cur->data, cur->size, x + cut, e + cut, sum);
}

/* Applies dist to a long sorted array. False, with nothing changed: s is not dist, or the array is not so. */
static SAMPI_COLD bool sampi_view_sorted_dist(sampi_view *view, sampi_sampler *s)
{
    samp_token_data_array *cur = view->cur;
    double *tile = (double *)(void *)view->work->sum;
    if (s->kind != SAMPI_DIST || s->off || !cur->sorted || cur->size <= SAMPI_FEW || cur->size > view->work->n ||
        sampi_check(cur))
        return false;
    view->ordinal.next[s->kind]++;
    double u = sampi_mt_double(sampi_mt_of(s)), sum = sampi_view_softmax(view, tile);
    cur->selected = sampi_llama_find_by_sums(view->work->logits, tile, cur->size, u * sum);
    return true;
}

/* Replaces the user's array by row->llama.cur, whose ids are indices in the user's array. keeps_p: each candidate keeps
   the p that it has in the user's array. */
static SAMPI_COLD void sampi_view_keep(sampi_view *view, bool keeps_p)
{
    sampi_row *row = &view->row;
    samp_token_data_array *cur = view->cur;
    for (size_t i = 0; i < row->llama.cur.size; i++) {
        samp_token_data *d = &row->llama.cur.data[i];
        const samp_token_data *old = &cur->data[d->id];
        if (d->logit == 0.0f) d->logit = sampi_logit_of(row, sampi_present(row, (size_t)d->id)); /* with its sign */
        if (keeps_p) d->p = old->p;
        d->id = old->id;
    }
    memcpy(cur->data, row->llama.cur.data, row->llama.cur.size * sizeof *cur->data);
    cur->size = row->llama.cur.size;
    cur->sorted = row->llama.cur.sorted;
    if (row->llama.cur.selected >= 0) cur->selected = row->llama.cur.selected;
    view->is_open = false;
}

/* Applies one sampler to the row of an open view, as sampi_view_step does, but under MT19937. If the sampler declines
   and its steps begin with a sort, the array is sorted here. */
static SAMPI_COLD int sampi_view_llama(sampi_view *view, sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    sampi_row *row = &view->row;
    int before = errno, status = SAMP_OK;
    view->ordinal.has_llama_cpp = true; /* as in sampi_run */
    row->token = -1;
    if (s->kind == SAMPI_DIST)
        sampi_view_dist(view, s);
    else if (s->kind == SAMPI_TEMP_EXT && s->u.temp.delta > 0.0f)
        status = SAMPI_DECLINED; /* its steps leave in the array the p from which they compute the entropy */
    else
        status = sampi_run_llama(row, s, true);
    if (status == SAMPI_DECLINED && sampi_llama_sorts(s)) {
        const bool is_xtc = s->kind == SAMPI_XTC;
        sampi_close_view(view, NULL, -1);
        if (is_xtc) status = SAMP_OK;
        if (is_xtc && sampi_mt_float(sampi_mt_of(s)) <= s->u.xtc.p)
            sampi_view_xtc_cut(view, s);
        else
            sampi_sort_all(view->cur, (samp_token_data *)(void *)view->work->x);
        view->cur->sorted = true;
    }
    errno = before;
    if (status) return status;
    view->sorts = row->llama.by_order;
    view->ordinal.next[s->kind]++;
    if (row->llama.cur.data && view->is_open)
        sampi_view_keep(view, flags & SAMPI_KEEPS_P);
    else if (row->token >= 0)
        sampi_close_view(view, NULL, row->token);
    return SAMP_OK;
}
