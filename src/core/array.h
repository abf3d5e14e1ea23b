/* =================================================================================================== >>array
   What samplers share when they go step by step: checks, the order of candidates, sums over them, and cuts. In comes
   the array of candidates that samp_apply was given or samp_sample made, in any order; each function changes it in
   place or only reads it.

   Three things in the array belong together, and every function here leaves them so. data [0 .. size) are the
   candidates that are left; those that a cut drops are overwritten or stay behind size, and nobody reads them again.
   `sorted` may be set only if data is in the order (logit descending, id ascending), because others then take data
   [0] for the maximum. `selected` is an index, so what moves or drops candidates ends it: sampi_run sees to that.

   The one thing to know: all sums are integers (sampi_weight), so their value does not depend on the array's order.
   That is why these functions may sort or not as it suits them. */

/* Every built-in sampler begins with this (sampi_run, for all of them), so that the functions below may rely on it:
   one candidate at least is not masked, none is NaN or +infinity. */
static int sampi_check(const samp_token_data_array *cur) { return sampi_check_with(sampi_use(), cur); }

/* ---- order ---- */

/* The order of candidates: (logit descending, id ascending); with a score, (score ascending) goes before these. It is
   total as long as no id is there twice, so any way to sort gives the same array. */
typedef struct sampi_order {
    double (*score)(const struct sampi_order *, const samp_token_data *);
    double max, mean; /* for the score: of the row, as sampi_typical_score and its like need them */
} sampi_order;

static const sampi_order SAMPI_BY_LOGIT = { NULL, 0.0, 0.0 };

/* Does a come before b? The only comparison of candidates that there is: sorts, heaps and argmax all ask it, for every
   candidate, so a call would be a third of their time. */
SAMPI_INLINE bool sampi_before(const sampi_order *order, const samp_token_data *a, const samp_token_data *b)
{
    if (order->score) {
        double x = order->score(order, a), y = order->score(order, b);
        if (x != y) return x < y;
    }
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static void sampi_swap(samp_token_data *a, samp_token_data *b)
{
    samp_token_data t = *a;
    *a = *b;
    *b = t;
}

/* For the short pieces that sampi_sort_part, and typical's search on the fast path, end with. */
static void sampi_insertion_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        samp_token_data x = d[i];
        size_t j = i;
        for (; j > 0 && sampi_before(order, &x, &d[j - 1]); j--) d[j] = d[j - 1];
        d[j] = x;
    }
}

/* The step of sampi_heap_sort: d[root] goes down among d[.. end) until neither child comes behind it. */
static SAMPI_COLD void sampi_sift_down(const sampi_order *order, samp_token_data *d, size_t root, size_t end)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= end) return;
        if (child + 1 < end && sampi_before(order, &d[child], &d[child + 1])) child++;
        if (!sampi_before(order, &d[root], &d[child])) return;
        sampi_swap(&d[root], &d[child]);
        root = child;
    }
}

/* Where quicksort's pivots have been bad for too long (its callers count): n log n whatever the array is like. The
   top of the heap is the last in order. */
static SAMPI_COLD void sampi_heap_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t root = n / 2; root > 0; root--) sampi_sift_down(order, d, root - 1, n);
    for (size_t end = n; end > 1; end--) {
        sampi_swap(&d[0], &d[end - 1]);
        sampi_sift_down(order, d, 0, end - 1);
    }
}

/* Hoare's partition around the median of three: returns m in (0, n), d[0 .. m) not behind any of d[m .. n). n >= 3.
   */
static size_t sampi_partition(const sampi_order *order, samp_token_data *d, size_t n)
{
    size_t mid = n / 2, last = n - 1;
    if (sampi_before(order, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    if (sampi_before(order, &d[last], &d[mid])) {
        sampi_swap(&d[last], &d[mid]);
        if (sampi_before(order, &d[mid], &d[0])) sampi_swap(&d[mid], &d[0]);
    }
    samp_token_data pivot = d[mid];
    sampi_swap(&d[0], &d[mid]);
    size_t i = 0, j = n;
    for (;;) { /* no check of the ends: the pivot stops both at first, and later what has been swapped */
        do j--;
        while (sampi_before(order, &pivot, &d[j]));
        while (sampi_before(order, &d[i], &pivot)) i++;
        if (i >= j) return j + 1;
        sampi_swap(&d[i], &d[j]);
        i++;
    }
}

/* Quicksort that leaves out what lies behind k: afterwards d[0 .. k) are the first k in order, the others somehow
   behind them. `depth` bounds the bad cases: so many partitions one inside the other before the heap takes over.
   sampi_sort calls it, and the GPU's host for candidates that come back in another order. */
static void sampi_sort_part(const sampi_order *order, samp_token_data *d, size_t n, size_t k, int depth)
{
    while (n > 16) {
        if (depth == 0) {
            sampi_heap_sort(order, d, n);
            return;
        }
        depth--;
        size_t m = sampi_partition(order, d, n);
        if (m < k) sampi_sort_part(order, d + m, n - m, k - m, depth);
        n = m;
    }
    sampi_insertion_sort(order, d, n);
}

/* Make data [0 .. k) the first k in order, k <= size; `sorted` tells afterwards whether that is all of the array. */
static SAMPI_CALLED void sampi_sort(const sampi_order *order, samp_token_data_array *cur, size_t k)
{
    if (cur->sorted && !order->score) return;
    sampi_sort_part(order, cur->data, cur->size, k, 64);
    cur->sorted = !order->score && k >= cur->size;
}

/* Those that need every token in its place: softmax, tail_free, and most of what imitates llama.cpp. */
static void sampi_sort_all(samp_token_data_array *cur) { sampi_sort(&SAMPI_BY_LOGIT, cur, cur->size); }

/* A monotone change of the logits (a temperature, masking those below something) keeps the order, but may have made
   ties whose ids are in the wrong one: then `sorted` becomes false. */
static void sampi_recheck_order(samp_token_data_array *cur)
{
    if (!cur->sorted) return;
    for (size_t i = 1; i < cur->size; i++) {
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i - 1], &cur->data[i])) continue;
        cur->sorted = false;
        return;
    }
}

/* Where the first in order is. */
static SAMPI_CALLED size_t sampi_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    if (cur->sorted) return 0;
    for (size_t i = 1; i < cur->size; i++)
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &cur->data[best])) best = i;
    return best;
}

/* Where a token is, or size if it has been dropped. Before the first cut it nearly always stands at its own id. */
static size_t sampi_find_candidate(const samp_token_data_array *cur, samp_token token)
{
    size_t at = (size_t)token;
    if (at < cur->size && cur->data[at].id == token) return at;
    for (at = 0; at < cur->size; at++)
        if (cur->data[at].id == token) break;
    return at;
}

/* Where a token is, or belongs, among n records in order of their first members, which are tokens. size: the bytes of a
   record. One search for all lists: counts, breakers' heads, changes of a row. */
SAMPI_INLINE size_t sampi_find_token(const void *list, size_t size, size_t n, samp_token token)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (*(const samp_token *)(const void *)((const char *)list + mid * size) < token)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same where ids ascend. */
static SAMPI_COLD size_t sampi_find_ascending(const samp_token_data_array *cur, samp_token token)
{
    size_t at = sampi_find_token(cur->data, sizeof *cur->data, cur->size, token);
    return at < cur->size && cur->data[at].id == token ? at : cur->size;
}

/* ---- sums ---- */

/* The candidates that are not masked: for top_k, the cuts' min_keep and mirostat (ln n) only these are there. A pass of
   its own, for who needs no sum. In >>llama masked ones count, as they do in llama.cpp. */
static size_t sampi_unmasked(const samp_token_data_array *cur)
{
    size_t n = 0;
    for (size_t i = 0; i < cur->size; i++) n += !sampi_masked(cur->data[i].logit);
    return n;
}

/* The kernels want plain floats: x [SAMPI_TILE] = the logits from `at` on. Returns how many, at most a tile. */
static size_t sampi_copy_logits(const samp_token_data_array *cur, size_t at, float *x)
{
    size_t n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
    (void)sampi_use()->fetch(cur->data, SAMPI_CANDIDATE, NULL, at, n, x);
    return n;
}

/* The sums with weights relative to a maximum that the array may not contain: typical's search on the fast path sums
   parts of a row. */
static sampi_sums sampi_sum_to(const samp_token_data_array *cur, float max)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    float x[SAMPI_TILE];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        sampi_use()->sums(x, n, 1.0f, sums.max, INFINITY, true, &sums);
    }
    return sums;
}

/* What nearly every sampler begins with: the maximum, how many are unmasked, and the sums that make probabilities. */
static SAMPI_CALLED sampi_sums sampi_sum(const samp_token_data_array *cur)
{
    return sampi_sum_to(cur, cur->data[sampi_argmax(cur)].logit);
}

/* The entropy in nats: ln Z + s / z, since -ln p = ln Z + (max - l). Where the sums are estimates, the second z is the
   other end of what the first can be. */
static SAMPI_CALLED double sampi_entropy_of(double z, double s, double other)
{
    return sampi_ln(z / (double)SAMPI_ONE) + s / other;
}
static SAMPI_CALLED double sampi_entropy(const sampi_sums *sums)
{
    return sampi_entropy_of((double)sums->z, (double)sums->s, (double)sums->z);
}

/* Write p of all candidates. The sums may be those of a larger row: a cut tells p as it was before. */
static void sampi_set_p(samp_token_data_array *cur, const sampi_sums *sums)
{
    float x[SAMPI_TILE], p[SAMPI_TILE + 16];
    double e[SAMPI_TILE + 16];
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        (void)sampi_use()->weights(x, n, sums->max, NULL, e);
        sampi_use()->probs(x, e, n, sums->max, (double)sums->z, p);
        for (size_t i = 0; i < n; i++) cur->data[at + i].p = p[i];
    }
}

/* ---- cuts ---- */

/* Keep the first k in order, and in order. */
static SAMPI_CALLED void sampi_cut_to_first(samp_token_data_array *cur, size_t k)
{
    sampi_sort(&SAMPI_BY_LOGIT, cur, k);
    cur->size = k;
    cur->sorted = true;
}

/* Keep the tokens with l >= floor where they are; but if these are fewer than min_keep, or none, the first min_keep
   (1) in order, or all of them. The caller says with min_keep whether masked tokens count: in llama.cpp they do. */
static void sampi_keep_above(samp_token_data_array *cur, double floor, size_t min_keep)
{
    samp_token_data *d = cur->data;
    size_t n = cur->size, count = 0, kept = 0;
    for (size_t i = 0; i < n; i++) count += (double)d[i].logit >= floor;
    if (count < min_keep || count == 0) {
        if (min_keep == 0) min_keep = 1;
        sampi_cut_to_first(cur, min_keep < n ? min_keep : n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if ((double)d[i].logit >= floor) d[kept++] = d[i];
    cur->size = kept;
}

/* How many of the first k, which are in order, it takes to hold the mass `required` and to be min_keep; 0 if k are
   not enough. */
static size_t sampi_prefix_with_mass(const samp_token_data_array *cur, size_t k, float max, uint64_t required,
                                     size_t min_keep)
{
    uint64_t mass = 0;
    for (size_t i = 0; i < k; i++) {
        mass += sampi_weight(max, cur->data[i].logit);
        if (mass >= required && i + 1 >= min_keep) return i + 1;
    }
    return 0;
}

/* The cut of top_p and typical: keep the shortest beginning of the order that holds the mass `required` (at most
   sums->z) and at least min_keep tokens, and set p. Most nuclei are short, so 64 are sorted first, and eight times as
   many until they are enough. */
static void sampi_keep_mass(samp_token_data_array *cur, const sampi_order *order, const sampi_sums *sums,
                            uint64_t required, size_t min_keep)
{
    size_t keep = 0;
    if (min_keep > sums->n) min_keep = sums->n;
    for (size_t k = 64; keep == 0; k *= 8) {
        if (k > sums->n) k = sums->n; /* the last round: all unmasked tokens together have the mass sums->z */
        sampi_sort(order, cur, k);
        keep = sampi_prefix_with_mass(cur, k, sums->max, required, min_keep);
    }
    cur->size = keep;
    sampi_set_p(cur, sums);
    cur->sorted = !order->score;
}

/* A stable sort by the upper halves of keys, 11 bits at a time: from `from` to `to` and back, three times in all, so
   that they end in `to`. */
static SAMPI_HOT void sampi_sort_keys(uint64_t *from, uint64_t *to, size_t n)
{
    uint32_t start[3][2049];
    memset(start, 0, sizeof start);
    for (size_t i = 0; i < n; i++) {
        start[0][(from[i] >> 32 & 2047) + 1]++;
        start[1][(from[i] >> 43 & 2047) + 1]++;
        start[2][(from[i] >> 54) + 1]++;
    }
    for (int pass = 0; pass < 3; pass++) {
        uint32_t *next = start[pass];
        const int shift = 32 + 11 * pass;
        for (int digit = 1; digit < 2048; digit++) next[digit] += next[digit - 1];
        for (size_t i = 0; i < n; i++) to[next[from[i] >> shift & 2047]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
}
