/* ---- in llama.cpp's arithmetic: float sums over a row ----
   The samplers of >>llama may work on a dense row (the caller's logits in place) instead of an array. Thresholds decide
   which candidates remain. These become the array row->llama.cur, in llama.cpp's order, and the chain continues on the
   array step by step. So no more samplers work on the row once row->llama.cur or row->token is set.

   Float sums over the whole row are equal, bit for bit, to those that llama.cpp adds in its order (ascending id, or
   descending logit), although few of their terms are computed (sampi_llama_add_terms). Sums of doubles are known up to
   their rounding errors, and are used only if every sum within that error leads to the same tokens.

   Masked tokens count as candidates in >>llama. If they could be among the kept candidates, a sampler declines, and the
   chain runs its step on the array. If the sampler has drawn random numbers by then, sampi_run_llama takes them
   back. */

/* Does a float sum keep its sign and exponent while terms are added to it? m: the sum of all steps by which it grows;
   w: the sum of the sizes of these steps. An infinite sum has no such exponent, and its m may be a NaN. */
static bool sampi_keeps_exponent(float sum, double m, double w)
{
    float lo = (float)((double)sum + (m - w) / 2), hi = (float)((double)sum + (m + w) / 2);
    uint32_t u[3];
    memcpy(&u[0], &sum, 4);
    memcpy(&u[1], &lo, 4);
    memcpy(&u[2], &hi, 4);
    return u[0] >> 23 == u[1] >> 23 && u[0] >> 23 == u[2] >> 23 && (u[0] >> 23 & 255) != 255;
}

/* Adds up the steps by which a float sum `from` would grow if each x [n] alone were added to it. No x is masked. *sum
   grows by the steps, and *way by their sizes (exact below 2^24 ulps of `from`, estimates above). Returns false if the
   sum of `from` and some x lies half way between two floats. */
static SAMPI_HOT bool sampi_float_sum_steps(const float *x, size_t n, float from, double *sum, double *way)
{
    const float half = sampi_half_ulp(from);
    bool sure = true;
    size_t i = 0;
#if SAMPI_GNU
    typedef float four __attribute__((vector_size(16)));
    typedef int32_t bits __attribute__((vector_size(16)));
    const four none = { 0.0f, 0.0f, 0.0f, 0.0f };
    four up = none, size = none;
    bits doubts = (bits)none;
    for (; i + 4 <= n; i += 4) {
        four v, d;
        memcpy(&v, x + i, sizeof v);
        d = (from + v) - from;
        doubts |= (four)((bits)(v - d) & 0x7FFFFFFF) >= half + none;
        up += d;
        size += (four)((bits)d & 0x7FFFFFFF);
    }
    for (int k = 0; k < 4; k++) {
        sure &= !doubts[k];
        *sum += (double)up[k];
        *way += (double)size[k];
    }
#endif
    for (; i < n; i++) {
        float d = (from + x[i]) - from;
        sure &= fabsf(x[i] - d) < half;
        *sum += (double)d;
        *way += (double)fabsf(d);
    }
    return sure;
}

/* Returns sum + x [0] + x [1] + ..., each sum rounded to float, as a loop computes it. No x is masked. While the
   running sum stays between two powers of two, it grows by multiples of one ulp. Then a term has the same effect on
   every sum of its tile, so the terms may be added in any order. A loop adds the terms of a tile one by one if a sum
   may lie half way between two floats (it is rounded to the even one), or if the tile may cross a power of two. */
static SAMPI_COLD float sampi_exact_float_sum(const float *x, size_t n, float sum)
{
    for (size_t at = 0; at < n; at += SAMPI_TILE) {
        size_t end = n - at < SAMPI_TILE ? n : at + SAMPI_TILE;
        double m = 0.0, w = 0.0;
        if (sampi_float_sum_steps(x + at, end - at, sum, &m, &w) && sampi_keeps_exponent(sum, m, w))
            sum = (float)((double)sum + m);
        else
            for (size_t i = at; i < end; i++) sum += x[i];
    }
    return sum;
}

/* Returns the kernel that computes libm's expf; if libm's results differ from the kernel's, a loop that calls libm. The
   test of 2048 arguments is made once for a workspace. Another algorithm of libm would differ for a few of these
   arguments, and one that rounds e^x correctly for the first eight. */
typedef double sampi_expf(const float *x, size_t n, float t, float max, float *e);
static SAMPI_COLD sampi_expf *sampi_expf_of(sampi_work *work, const sampi_kernels *k)
{
    static const float near_the_middle[8] = { -9.63555503e-05f, -0.00162497989f, -0.00327691319f, -0.00585649349f,
                                              -0.0109626632f,   -0.0179022551f,  -0.0352634974f,  -0.0572585091f };
    float x[SAMPI_TILE], e[SAMPI_TILE + 32];
    for (int tile = 0; tile < 8 && work->libm == 0; tile++) {
        for (int i = 0; i < SAMPI_TILE; i++) x[i] = -0.00831f * (float)(i * 8 + tile);
        if (tile == 0) memcpy(x, near_the_middle, sizeof near_the_middle);
        (void)k->expf(x, SAMPI_TILE, 1.0f, 0.0f, e);
        for (int i = 0; i < SAMPI_TILE; i++)
            if (e[i] != expf(x[i])) work->libm = -1;
    }
    if (work->libm == 0) work->libm = 1;
    return work->libm > 0 ? k->expf : sampi_expf_scalar;
}

/* Prepares a row for llama.cpp's arithmetic. work: the workspace, which keeps the result of the test above. */
static SAMPI_COLD void sampi_open_llama(sampi_row *row, sampi_work *work)
{
    row->llama.expf = sampi_expf_of(work, row->k);
}

/* Returns the candidates of a compact row as a sorted array; x and id of the workspace are overwritten. It is a stable
   radix sort of keys with their ids, 11 bits a round. They move from x and id to w, back to both, and to w again, where
   the array replaces them. */
static SAMPI_COLD samp_token_data_array sampi_sorted_array(const sampi_row *row)
{
    size_t n = row->n;
    uint64_t *from = (uint64_t *)(void *)row->work->x, *to = row->work->w;
    samp_token_data_array cur = { row->work->candidate, n, -1, true };
    for (size_t i = 0; i < n; i++) to[i] = (uint64_t)sampi_falling_key(row->x[i]) << 32 | (uint32_t)row->id[i];
    memcpy(from, to, n * sizeof *to);
    sampi_sort_keys(from, to, n);
    for (size_t i = n; i > 0; i--) {
        uint64_t u = row->work->w[i - 1];
        samp_token_data *d = &cur.data[i - 1];
        d->id = (samp_token)(uint32_t)u;
        d->logit = sampi_unkey((int32_t)((uint32_t)INT32_MAX - (uint32_t)(u >> 32)));
        d->p = 0.0f;
    }
    return cur;
}

/* Makes row->llama.cur the array of a row's remaining candidates, the row `left`. in_order: the array is sorted. */
static int sampi_end_row(sampi_row *row, const sampi_row *left, bool in_order)
{
    bool many = in_order && left->n > SAMPI_TILE;
    row->llama.cur = many ? sampi_sorted_array(left) : sampi_row_array(left);
    if (in_order) sampi_sort_all(&row->llama.cur, NULL);
    return SAMP_OK;
}

/* Makes row->llama.cur a sorted array of at least the first `want` candidates in order, or of all if there are fewer.
   The row itself does not change. */
static void sampi_llama_head(sampi_row *row, size_t want)
{
    sampi_row head = *row;
    sampi_gather_first(&head, want < row->n ? want : row->n);
    sampi_end_row(row, &head, true);
}

/* Makes row->llama.cur a sorted array of the first k candidates in order. Declines if fewer are not masked. */
static int sampi_llama_keep_first(sampi_row *row, size_t k)
{
    sampi_row head = *row;
    if (k > row->n) k = row->n;
    sampi_keep_first(&head, k);
    return head.n == k ? sampi_end_row(row, &head, true) : SAMPI_DECLINED;
}

/* Makes row->llama.cur an array of all candidates; in_order: a sorted one. */
static SAMPI_COLD void sampi_llama_array(sampi_row *row, bool in_order)
{
    float t = row->r;
    bool is_scaled = row->llama.by_order && row->llama.divided; /* llama.cpp sorts the row before it divides */
    sampi_row all = *row;
    if (is_scaled) all.llama.divided = false, all.r = 1.0f;
    if (in_order) sampi_compact(&all); /* removes masked candidates */
    sampi_end_row(row, &all, in_order);
    if (is_scaled) sampi_llama_scale(&row->llama.cur, t);
}

/* Has the row no masked tokens? */
static bool sampi_is_full(const sampi_row *row)
{
    return row->floor <= -FLT_MAX && sampi_row_count(row, -FLT_MAX, INFINITY) == row->n;
}

/* Does this sampler's step begin with a sort of the candidates? If it declines, the array is then made sorted. */
static bool sampi_llama_sorts(const sampi_sampler *s)
{
    return (sampi_traits_of(s->kind)->flags & SAMPI_LLAMA_SORTS) ||
           (s->kind == SAMPI_TEMP_EXT && s->u.temp.delta > 0.0f);
}

/* Computes e^(l - max) for all tokens of `part` (the row, or some of its tokens), and writes them to work->logits. The
   sum of each tile of 256 tokens, a double, goes to work->sum. Returns the sum of all. */
static SAMPI_COLD double sampi_llama_exps(const sampi_row *row, const sampi_row *part, float max)
{
    double *tile = (double *)(void *)row->work->sum, sum = 0.0;
    float *e = row->work->logits;
    sampi_pieces it;
    for (sampi_start(&it, part); sampi_next_tile(&it); sum += *tile++)
        *tile = row->llama.expf(it.x, it.n, part->llama.divided ? part->r : 1.0f, max, e + it.at);
    return sum;
}

/* Computes the terms of the n elements x of a tile with libm's expf: e^(l - max), or its share in the entropy if c->sum
   is set; 0 for elements above c->most. */
static SAMPI_COLD void sampi_llama_terms(const sampi_row *part, const float *x, size_t n, const sampi_float_terms *c,
                                         float *e)
{
    (void)part->llama.expf(x, n, part->llama.divided ? part->r : 1.0f, c->max, e);
    for (size_t i = 0; i < n; i++) {
        if (x[i] > c->most)
            e[i] = 0.0f;
        else if (c->sum > 0.0f)
            e[i] = sampi_llama_share(e[i] / c->sum);
    }
}

/* Adds the terms (e^(l - max), or its share in the entropy) of `part`, some tokens of a row, to *sum. The result is
   that of a loop that rounds each sum to float. Estimates of the terms are enough, except for tiles with a term whose
   estimate leaves a doubt, and for sums so small that terms below e^-32 change them. in_order: the terms are added in
   the order of the part. Otherwise their order is unspecified, and the function returns false if the result could
   depend on the order: if the sum crosses a power of two, or a sum may lie half way between two floats. */
static SAMPI_COLD bool sampi_llama_add_terms(const sampi_row *part, const sampi_float_terms *c, bool in_order,
                                             float *sum)
{
    const sampi_kernels *k = part->k;
    float e[SAMPI_TILE + 32], from = *sum;
    double all = 0.0;
    sampi_pieces it;
    for (sampi_start(&it, part); sampi_next_tile(&it);) {
        double m = 0.0, w = 0.0;
        bool sure = from > 1e-3f && !part->llama.divided && k->add_terms(it.x, it.n, c, from, &m) == 0;
        if (!sure || (in_order && !sampi_keeps_exponent(from, m, m))) {
            sampi_llama_terms(part, it.x, it.n, c, e);
            if (in_order) {
                from = sampi_exact_float_sum(e, it.n, from);
                continue;
            }
            m = 0.0;
            if (!sampi_float_sum_steps(e, it.n, from, &m, &w)) return false;
        }
        all += m;
        if (in_order)
            from = (float)((double)from + m);
        else if (all > (double)from)
            return false;
    }
    *sum = in_order ? from : (float)((double)from + all);
    return in_order || sampi_keeps_exponent(from, all, all);
}

/* Sorts a few floats in descending order (Shell sort). */
static SAMPI_COLD void sampi_sort_floats(float *x, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < n; i++) {
            float v = x[i];
            size_t j = i;
            for (; j >= gap && x[j - gap] < v; j -= gap) x[j] = x[j - gap];
            x[j] = v;
        }
}

/* Returns the float sum, from 0 on, of the terms (e^(l - max), or its share in the entropy) of those elements of `part`
   that are at least `floor`, in the order of descending logits. The elements are distributed to buckets of similar
   logits, in work->logits. Usually the sum over some buckets does not depend on the order within them; if it does,
   these buckets are sorted. Overwrites x, id and scratch of the workspace. */
static SAMPI_COLD float sampi_llama_sum_descending(const sampi_row *part, const sampi_float_terms *c, float floor)
{
    sampi_work *work = part->work;
    uint32_t *end = (uint32_t *)(void *)work->scratch;
    const size_t last = sampi_n_lines(part->n);
    const float range = c->max - floor < 60.0f ? c->max - floor : 60.0f, scale = (float)last / range;
    float *x = work->x, *y = work->logits, sum = 0.0f;
    sampi_row some = *part;
    sampi_pieces it;
    size_t n = 0;
    for (sampi_start(&it, part); sampi_next_piece(&it);)
        n += part->k->collect(it.x, NULL, 0, it.n, floor, INFINITY, x + n, work->id + n);
    memset(end, 0, (last + 2) * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        float at = (c->max - x[i]) * scale;
        work->id[i] = at < (float)last ? (int32_t)at : (int32_t)last;
        end[work->id[i] + 1]++;
    }
    for (size_t i = 1; i <= last; i++) end[i] += end[i - 1];
    for (size_t i = 0; i < n; i++) y[end[work->id[i]]++] = x[i];
    for (size_t i = 0, at = 0; i <= last; i++) {
        size_t len = end[i] - at;
        float to = sum;
        if (len < 64 && i < last) continue;
        sampi_set_tokens(&some, y + at, NULL, len);
        if (!sampi_llama_add_terms(&some, c, false, &to)) {
            sampi_sort_floats(y + at, len);
            to = sum;
            (void)sampi_llama_add_terms(&some, c, true, &to);
        }
        sum = to;
        at += len;
    }
    return sum;
}

/* Returns the float sum of the terms (e^(l - max), or its share in the entropy) of `part`, in the order of descending
   logits. head: the sum over row->llama.cur, the first elements of the part in this order. */
static SAMPI_COLD float sampi_llama_sum_sorted(const sampi_row *row, const sampi_row *part, sampi_float_terms c,
                                               float head)
{
    float sum = head, floor = c.max + logf(sampi_half_ulp(head) / (c.a + 60.0f * c.b)) - 0.01f;
    c.most = sampi_next_down(row->llama.cur.data[row->llama.cur.size - 1].logit);
    if (sampi_llama_add_terms(part, &c, false, &sum)) return sum;
    c.most = INFINITY;
    if (!(floor > c.max - 60.0f)) floor = -FLT_MAX;
    return sampi_llama_sum_descending(part, &c, floor); /* elements below floor are too small to change a sum */
}

/* Sets sums->sum to the float sum of e^(l - max) over `part`, in the order of descending logits. */
static SAMPI_COLD void sampi_llama_total(const sampi_row *row, const sampi_row *part, sampi_llama_sums *sums)
{
    sampi_float_terms c = { sums->max, 0.0f, 1.0f, 0.0f, 0.0f };
    float head = 0.0f;
    for (size_t i = 0; i < row->llama.cur.size; i++) head += expf(row->llama.cur.data[i].logit - sums->max);
    sums->sum = sampi_llama_sum_sorted(row, part, c, head);
}

/* A sum of n doubles has a relative error of at most n times this; the error of the sum it is compared with is
   included. */
#define SAMPI_SUM_DOUBT (1.0 / ((uint64_t)1 << 51))

/* Makes row->llama.cur the head of a row (at least its first 512 candidates, sorted), and computes the sums over the
   whole row. Returns false for a row that is short, is divided by a temperature, has masked tokens, or has so many
   equal logits that the head is more than a quarter of it. */
static SAMPI_COLD bool sampi_llama_sorted_sums(sampi_row *row, sampi_llama_sums *sums)
{
    if (row->n <= SAMPI_SMALL || row->llama.divided || !sampi_is_full(row)) return false;
    sampi_llama_head(row, 512);
    if (row->llama.cur.size > row->n / 4) return false;
    sums->max = row->llama.cur.data[0].logit;
    sampi_llama_total(row, row, sums);
    return true;
}
