/* =================================================================================================== >>array
   Functions on an array of candidates, which samplers share when a chain goes step by step: checks, the order of
   candidates, sums over them, and cuts. samp_apply gets the array from the user, and samp_sample makes one. The
   candidates may be in any order. Each function changes the array in place or only reads it.

   Every function here keeps the members of the array consistent. data [0 .. size) are the remaining candidates; the
   candidates that a cut removes are overwritten or stay after size, and no function reads them again. `sorted` is set
   only if data is in order (logit descending, id ascending), because other functions then take data [0] for the
   maximum. `selected` is an index, so it becomes invalid when candidates move or are removed: sampi_life_run resets it.

   All sums are sums of integer weights (sampi_weight), so their value does not depend on the array's order. So these
   functions may sort the array or not. */

/* Checks the array before any built-in sampler works on it (sampi_life_run calls it for all of them): at least one
   candidate must not be masked, and no logit may be NaN or +infinity. The functions below rely on this. */
static int sampi_check(const samp_token_data_array *cur) { return sampi_check_with(sampi_use(), cur); }

/* Returns the number of candidates in the tile that begins at index `at`: at most SAMPI_TILE (256). */
static size_t sampi_tile_of(const samp_token_data_array *cur, size_t at)
{
    return cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
}

/* Copies logits, from index `at` on, to x [SAMPI_TILE], because kernels read plain floats. Returns how many it has
   copied, at most SAMPI_TILE (256). */
static size_t sampi_copy_logits(const samp_token_data_array *cur, size_t at, float *x)
{
    const size_t n = sampi_tile_of(cur, at);
    (void)sampi_use()->fetch(cur->data, SAMPI_CANDIDATE, NULL, at, n, x);
    return n;
}

/* ---- order ---- */

/* The order of candidates: logit descending, then id ascending. If there is a score function, candidates are compared
   by score first, ascending. The order is total if no id occurs twice, so every way to sort gives the same array. */
typedef struct sampi_order {
    double (*score)(const struct sampi_order *, const samp_token_data *);
    double max, mean; /* the largest logit, and the mean of max - l over the distribution; for scores such as
                         sampi_typical_score */
} sampi_order;

static const sampi_order SAMPI_BY_LOGIT = { NULL, 0.0, 0.0 };

/* Does a come before b? This is the only comparison of candidates: sorts, heaps and argmax use it for every candidate,
   so it is inlined: a function call would take a third of their time. */
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

/* Sorts by insertion. sampi_sort_part, and typical's search on the fast path, leave short unsorted pieces to it. */
static void sampi_insertion_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        samp_token_data x = d[i];
        size_t j = i;
        for (; j > 0 && sampi_before(order, &x, &d[j - 1]); j--) d[j] = d[j - 1];
        d[j] = x;
    }
}

/* Moves d[root] down in the heap d[.. end) until neither of its children comes after it in order. sampi_heap_sort calls
   it for each step. */
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

/* Sorts by a heap whose top is the last candidate in order. Quicksort's callers count bad pivots and change to this
   sort after too many, because it takes O(n log n) for every array. */
static SAMPI_COLD void sampi_heap_sort(const sampi_order *order, samp_token_data *d, size_t n)
{
    for (size_t root = n / 2; root > 0; root--) sampi_sift_down(order, d, root - 1, n);
    for (size_t end = n; end > 1; end--) {
        sampi_swap(&d[0], &d[end - 1]);
        sampi_sift_down(order, d, 0, end - 1);
    }
}

/* Hoare's partition around the median of three: returns m in (0, n), so that no element of d[0 .. m) comes after any of
   d[m .. n). n >= 3. */
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
    for (;;) { /* the ends need no check: the pivot stops both loops first, swapped elements stop them later */
        do j--;
        while (sampi_before(order, &pivot, &d[j]));
        while (sampi_before(order, &d[i], &pivot)) i++;
        if (i >= j) return j + 1;
        sampi_swap(&d[i], &d[j]);
        i++;
    }
}

/* Sorts by quicksort so that d[0 .. k) are the first k in order; the others follow in any order. `depth` bounds the
   time for bad pivots: after this many nested partitions the heap sort takes over. The callers are sampi_sort, and the
   GPU's host for candidates that come back in another order. */
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

/* Writes the keys of n candidates to x: logits, or scores with the sign changed. A candidate with a larger key comes
   before one with a smaller key. Equal keys are not always in order: scores are rounded, and ids are not considered. */
static void sampi_keys(const sampi_order *order, const samp_token_data *d, size_t n, float *x)
{
    if (!order->score) (void)sampi_use()->fetch(d, SAMPI_CANDIDATE, NULL, 0, n, x);
    for (size_t i = 0; order->score && i < n; i++) x[i] = -(float)order->score(order, &d[i]);
}

/* Sorts n candidates by a radix sort of their keys, 11 bits a round; candidates whose keys are equal are then sorted by
   quicksort. `to` has memory for n candidates. */
static SAMPI_HOT void sampi_sort_long(const sampi_order *order, samp_token_data *d, size_t n, samp_token_data *to)
{
    uint32_t start[3][2049], key[SAMPI_TILE];
    samp_token_data *from = d;
    float x[SAMPI_TILE];
    memset(start, 0, sizeof start);
    for (int pass = -1; pass < 3; pass++) {
        for (int digit = 1; pass >= 0 && digit < 2048; digit++) start[pass][digit] += start[pass][digit - 1];
        for (size_t at = 0, len; at < n; at += len) {
            len = n - at < SAMPI_TILE ? n - at : SAMPI_TILE;
            sampi_keys(order, from + at, len, x);
            for (size_t i = 0; i < len; i++) key[i] = sampi_falling_key(x[i]);
            for (size_t i = 0; pass < 0 && i < len; i++) {
                start[0][(key[i] & 2047) + 1]++;
                start[1][(key[i] >> 11 & 2047) + 1]++;
                start[2][(key[i] >> 22) + 1]++;
            }
            for (size_t i = 0; pass >= 0 && i < len; i++)
                to[start[pass][key[i] >> 11 * pass & 2047]++] = from[at + i];
        }
        if (pass < 0) continue;
        samp_token_data *swap = from;
        from = to;
        to = swap;
    }
    memcpy(d, from, n * sizeof *d);
    for (size_t i = 1, end = 1; i < n; i = ++end) { /* `from` has the same candidates: it is no longer needed */
        if (sampi_before(order, &d[i - 1], &d[i])) continue;
        float same[2];
        size_t begin = i - 1;
        sampi_keys(order, d + i - 1, 1, &same[0]);
        for (; begin > 0; begin--) {
            sampi_keys(order, d + begin - 1, 1, &same[1]);
            if (same[1] != same[0]) break;
        }
        for (end = i; end < n; end++) {
            sampi_keys(order, d + end, 1, &same[1]);
            if (same[1] != same[0]) break;
        }
        sampi_sort_part(order, d + begin, end - begin, end - begin, 64);
    }
}

/* Moves candidates so that the first k in order are among d [0 .. m), m being the result. The key that separates them
   from the others is guessed from a sample. If the guess was wrong, m is n. */
static SAMPI_COLD size_t sampi_gather_first_of(const sampi_order *order, samp_token_data *d, size_t n, size_t k)
{
    enum { SAMPLE = 4 * SAMPI_TILE };
    const sampi_kernels *kernels = sampi_use();
    float sample[SAMPLE], x[SAMPI_TILE + 16], top = -INFINITY;
    int32_t hit[SAMPI_TILE + 16];
    for (size_t i = 0; i < SAMPLE; i++) {
        sampi_keys(order, d + i * n / SAMPLE, 1, &sample[i]);
        if (sample[i] > top) top = sample[i];
    }
    const double share = (double)k / (double)n * (double)SAMPLE;
    sampi_values values = { kernels, sample, NULL, SAMPLE, top };
    const float floor = sampi_find_value(&values, (uint64_t)(share + 3.0 * sqrt(share)) + 4, 0, 1);
    size_t m = 0;
    for (size_t at = 0, len; at < n; at += len) {
        len = n - at < SAMPI_TILE ? n - at : SAMPI_TILE;
        sampi_keys(order, d + at, len, x);
        size_t hits = kernels->collect(x, NULL, (int32_t)at, len, floor, INFINITY, x, hit);
        for (size_t i = 0; i < hits; i++) sampi_swap(&d[m++], &d[hit[i]]);
    }
    return m < k ? n : m;
}

/* Sorts further: data [0 .. from) are the first in order already, and afterwards data [0 .. k) are, k <= size. `to` has
   memory for all candidates, or is NULL. Of a long array the first candidates are separated from the others, and only
   they are sorted; many are sorted by the radix sort. Afterwards `sorted` is true if the whole array is in order. */
static SAMPI_CALLED void sampi_sort(const sampi_order *order, samp_token_data_array *cur, size_t from, size_t k,
                                    samp_token_data *to)
{
    samp_token_data *d = cur->data + from;
    size_t n = cur->size - from, m = n;
    if ((cur->sorted && !order->score) || k <= from) return;
    k -= from;
    if (n > 16 * SAMPI_TILE && k < n / 8) m = sampi_gather_first_of(order, d, n, k);
    if (to && k > 2 * SAMPI_TILE && k > m / 8)
        sampi_sort_long(order, d, m, to);
    else
        sampi_sort_part(order, d, m, k, 64);
    cur->sorted = !order->score && k == n;
}

/* Sorts an array that is in order up to the k-th candidate eight times as far, or up to the SAMPI_TILE-th, but at most
   up to `most`; returns how far. A cut calls it until it has found the end of what it keeps. */
static size_t sampi_sort_further(const sampi_order *order, samp_token_data_array *cur, size_t k, size_t most,
                                 samp_token_data *to)
{
    const size_t further = k ? 8 * k : SAMPI_TILE, end = further < most ? further : most;
    sampi_sort(order, cur, k, end, to);
    return end;
}

/* Sorts the whole array, for samplers that need the order of all candidates: softmax, tail_free, min_k, and most
   samplers in llama.cpp's arithmetic. */
static void sampi_sort_all(samp_token_data_array *cur, samp_token_data *to)
{
    sampi_sort(&SAMPI_BY_LOGIT, cur, 0, cur->size, to);
}

/* Sets `sorted` to false if the array is no longer in order after a monotone change of the logits (a temperature, a
   mask below a floor). Such a change keeps the order of unequal logits, but may make logits equal whose ids do not
   ascend. */
static void sampi_recheck_order(samp_token_data_array *cur)
{
    if (!cur->sorted) return;
    for (size_t i = 1; i < cur->size; i++) {
        if (sampi_before(&SAMPI_BY_LOGIT, &cur->data[i - 1], &cur->data[i])) continue;
        cur->sorted = false;
        return;
    }
}

/* Returns the largest of n logits. */
static float sampi_max_of(const float *x, size_t n)
{
    float line[SAMPI_TILE / SAMPI_LINE];
    return sampi_use()->maxima(x, SAMP_F32, NULL, n, line);
}

/* Returns the index of the first candidate in order. */
static SAMPI_CALLED size_t sampi_argmax(const samp_token_data_array *cur)
{
    const samp_token_data *d = cur->data;
    float x[SAMPI_TILE], max = -INFINITY;
    size_t best = 0;
    if (cur->sorted) return 0;
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        const float top = sampi_max_of(x, n);
        if (!(top >= max)) continue;
        max = top;
        for (size_t i = at; i < at + n; i++)
            if (sampi_before(&SAMPI_BY_LOGIT, &d[i], &d[best])) best = i;
    }
    return best;
}

/* Returns the index of the candidate with this token id, or `size` if it has been removed. Before the first cut the
   index is nearly always the id itself. */
static size_t sampi_find_candidate(const samp_token_data_array *cur, samp_token token)
{
    size_t at = (size_t)token;
    if (at < cur->size && cur->data[at].id == token) return at;
    for (at = 0; at < cur->size; at++)
        if (cur->data[at].id == token) break;
    return at;
}

/* Returns the index at which a token is, or would be inserted, among n records. The first member of each record is a
   token, and the records are sorted by it, ascending. `size` is the bytes of a record. All sorted lists of tokens use
   this search. */
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

/* Returns the index of a token in an array with ascending ids, or `size` if the array does not contain the token. */
static SAMPI_COLD size_t sampi_find_ascending(const samp_token_data_array *cur, samp_token token)
{
    size_t at = sampi_find_token(cur->data, sizeof *cur->data, cur->size, token);
    return at < cur->size && cur->data[at].id == token ? at : cur->size;
}

/* ---- sums ---- */

/* Returns the number of candidates that are not masked. top_k, the min_keep of cuts and mirostat (ln n) count only
   these; in llama.cpp's arithmetic (>>llama) masked candidates count too. Callers that also need sums get the number
   from sampi_sum. */
static size_t sampi_unmasked(const samp_token_data_array *cur)
{
    float x[SAMPI_TILE];
    size_t count = 0;
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        count += sampi_use()->count(x, n, -FLT_MAX);
    }
    return count;
}

/* Returns the sums over the array, with weights relative to `max`, which the array need not contain: typical's search
   on the fast path sums parts of a row. */
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

/* Returns the array's maximum, the number of its unmasked candidates, and the sums from which probabilities follow.
   Nearly every sampler begins with this call. */
static SAMPI_CALLED sampi_sums sampi_sum(const samp_token_data_array *cur)
{
    return sampi_sum_to(cur, cur->data[sampi_argmax(cur)].logit);
}

/* sampi_entropy_of returns the entropy in nats, ln(Z) + s / z. Here Z = z / 2^40 is the sum of exp(l - max), and s is
   the sum of weight (max - l), because -ln p = ln Z + (max - l). If z is an estimate, `other` is the other end of the
   interval that contains z; else it is z. */
static SAMPI_CALLED double sampi_entropy_of(double z, double s, double other)
{
    return sampi_ln(z / (double)SAMPI_MAX_WEIGHT) + s / other;
}
static SAMPI_CALLED double sampi_entropy(const sampi_sums *sums)
{
    return sampi_entropy_of((double)sums->z, (double)sums->s, (double)sums->z);
}

/* Sets p of all candidates. The sums may be those of a larger row: after a cut, p is still the probability before the
   cut. */
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

/* Keeps the first k candidates in order, and leaves them sorted. `to`: as for sampi_sort. */
static SAMPI_CALLED void sampi_cut_to_first(samp_token_data_array *cur, size_t k, samp_token_data *to)
{
    sampi_sort(&SAMPI_BY_LOGIT, cur, 0, k, to);
    cur->size = k;
    cur->sorted = true;
}

/* Keeps the candidates with a logit >= floor, in the order that they have in the array. If fewer than min_keep
   candidates, or no candidate, reach the floor, the first min_keep candidates (at least 1) of the sorted array stay.
   Masked candidates count if the caller's min_keep counts them, as in llama.cpp. */
static void sampi_keep_above(samp_token_data_array *cur, double floor, size_t min_keep, samp_token_data *to)
{
    const sampi_kernels *k = sampi_use();
    const float least = sampi_float_up(floor);
    float x[SAMPI_TILE + 16];
    int32_t hit[SAMPI_TILE + 16];
    size_t count = 0, kept = 0;
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        count += k->count(x, n, least);
    }
    if (count < min_keep || count == 0) {
        if (min_keep == 0) min_keep = 1;
        sampi_cut_to_first(cur, min_keep < cur->size ? min_keep : cur->size, to);
        return;
    }
    for (size_t at = 0, n; at < cur->size && kept < count; at += n) {
        n = sampi_copy_logits(cur, at, x);
        const size_t hits = k->collect(x, NULL, (int32_t)at, n, least, INFINITY, x, hit);
        for (size_t i = 0; i < hits; i++) cur->data[kept++] = cur->data[hit[i]];
    }
    cur->size = kept;
}

/* Makes the cut of top_p and typical: keeps the shortest prefix of the order that has the weight `required` (at most
   sums->z) and at least min_keep tokens, and sets p. Most such prefixes are short, so the array is sorted only as far
   as the search gets (sampi_sort_further). */
static void sampi_keep_mass(samp_token_data_array *cur, const sampi_order *order, const sampi_sums *sums,
                            uint64_t required, size_t min_keep, samp_token_data *to)
{
    uint64_t mass = 0, w[SAMPI_TILE + 16];
    float x[SAMPI_TILE];
    size_t keep = 0, k = 0;
    if (min_keep > sums->n) min_keep = sums->n;
    if (min_keep == 0) min_keep = 1;
    for (; mass < required || keep < min_keep; keep++) {
        const size_t at = keep % SAMPI_TILE;
        if (keep == k) k = sampi_sort_further(order, cur, k, sums->n, to);
        if (at == 0) (void)sampi_use()->weights(x, sampi_copy_logits(cur, keep, x), sums->max, w, NULL);
        mass += w[at];
    }
    cur->size = keep;
    sampi_set_p(cur, sums);
    cur->sorted = !order->score;
}
