/* ====================================================================================================== >>list
   What one team (a thread block of one warp) does with the tokens of a list. It takes at most SAMP_GPU_LIST items, in
   no order, and the maximum of the remaining tokens. It returns sums, ends of prefixes, or a chosen key, or makes the
   list shorter or changes its logits. No order is needed for most: the end of a prefix is searched among codes (places
   in an order, as integers), in a long list by histograms of smaller and smaller ranges, in a short one by comparing
   each code with all others. Only tail_free, top_h, min_k and mirostat's estimate need neighbours; for these the keys
   are sorted.

   The steps (gpu/left.h to gpu/advance.h) call these functions in the one team that advances a row. No other team works
   on that row meanwhile, so plain writes suffice, and only lanes must not interfere. Of the state these functions write
   n_list and buffer (list_keep) and n, z, s, low (list_sums). The arrays `wide` and `code` are scratch that one
   function fills for the next (list_codes for list_prefix and list_end; list_sort and list_weights for tail_free); no
   function may use them in between.

   Lanes do not run in lockstep. All lanes execute the code outside of simd loops, and since Volta a lane may be
   anywhere between two barriers of its warp. So a word that lanes have read may be written only after a barrier. A word
   that they have written may be written again with another value, or in a simd loop, or by an atomic, only after
   another barrier. A simd loop ends with a barrier, and so does an atomic outside of a simd loop; elsewhere
   sampi_gpu_meet is the barrier. The interpreter of tests/gpu/ptx finds words that break this rule. */

/* A row, for the team that runs its steps (samplers), with the row's parts of the arrays. wide holds weights or
   envelopes of a list or of a group, or counts of lanes; code holds places in an order; mass and count are the
   histogram; changed [n_ids] are the tokens
   whose logits rules change, with their ids in changed_id. Nearly all functions of steps get this struct, and can write
   what it points to. */
typedef struct sampi_gpu_here {
    const sampi_gpu_args *a;
    sampi_gpu_job *job;
    sampi_gpu_state *st;
    size_t row;
    uint64_t *wide, *code, *mass, *count;
    sampi_gpu_changed *changed;
    const int32_t *changed_id;
} sampi_gpu_here;

/* Returns a row's sampi_gpu_here. sampi_gpu_advance makes it once per pass. changed_id is that of the rules' current
   place; sampi_gpu_finish, which may change the place, no longer uses it then. */
static sampi_gpu_here sampi_gpu_at(const sampi_gpu_args *a, size_t row)
{
    sampi_gpu_here h;
    h.a = a;
    h.job = sampi_gpu_job_of(a, row);
    h.st = &a->state[row];
    h.row = row;
    h.wide = a->wide + row * SAMPI_WIDE;
    h.code = a->code + row * SAMP_GPU_LIST;
    h.mass = a->mass + row * SAMPI_BUCKETS;
    h.count = a->count + row * SAMPI_BUCKETS;
    h.changed = a->changed + row * SAMPI_RULES;
    h.changed_id = sampi_gpu_ids(a, row);
    return h;
}

/* Returns the row's list of remaining tokens; list_keep writes to the other of the row's two. The state's members
   listed and complete say whether the list is valid. */
static sampi_gpu_item *sampi_gpu_list(const sampi_gpu_here *h)
{
    return sampi_gpu_items(h->a, h->row, h->st->buffer);
}

/* Returns the other list's memory as scratch, two 64-bit numbers for each token of a list. list_keep overwrites it. */
static uint64_t *sampi_gpu_spare(const sampi_gpu_here *h)
{
    return (uint64_t *)(void *)sampi_gpu_items(h->a, h->row, h->st->buffer ^ 1);
}

/* Returns the largest key, the first token's; 0 if the list is empty, as no token has a key 0. For greedy, and for a
   maximum that need not be searched in the row. */
static uint64_t sampi_gpu_list_max(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t best = 0;
    SAMPI_SIMD(reduction(max : best))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) best = item[i].key > best ? item[i].key
                                                                                                    : best;
    return best;
}

/* Computes for a list what the pass SUMS computes for a row (number and sums of the remaining tokens); require_sums
   calls it. The sums are the same integers, so a row gets the same token whether its tokens are in a list by then or
   not. The maximum must be known. The caller sets sums_known. */
static void sampi_gpu_list_sums(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t z = 0, s = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : z, s) reduction(min : low))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        float l = sampi_gpu_logit(item[i].key);
        uint64_t w = sampi_weight(max, l);
        z += w;
        s += sampi_weighted(w, max, l);
        low = l < low ? l : low;
    }
    h->st->n = n;
    h->st->z = z;
    h->st->s = s;
    h->st->low = low;
}

/* Copies the items (tokens) of a list that an operation keeps; returns their number. The lanes take neighbouring items,
   and each that keeps its own counts the lanes before it that do so too. */
static SAMPI_UNCLONED uint32_t sampi_gpu_copy_items(const sampi_gpu_item *item, uint32_t n, const sampi_gpu_op *op,
                                                    sampi_gpu_item *to)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << lane) - 1;
    const sampi_gpu_op o = *op;
    uint32_t all = 0;
    uint64_t next = n ? item[sampi_gpu_min_of(lane, n - 1)].key : 0;
    for (uint32_t i = lane; i < n + lane; i += lanes) {
        const uint64_t key = next;
        next = item[sampi_gpu_min_of(i + lanes, n - 1)].key; /* on its way during the work on this one */
        const bool stays = sampi_gpu_stays(&o, key) & (i < n);
        const uint32_t bits = sampi_gpu_vote(stays);
        if (stays) to[all + sampi_gpu_count_bits(bits & before)] = item[i];
        all += sampi_gpu_count_bits(bits);
    }
    sampi_gpu_join_lanes(); /* all lanes have written, and read *op */
    return all;
}

/* Removes from the list the tokens that an operation removes; for a row without a complete list, the operation itself
   is recorded instead. Steps that remove tokens call it, and a patch (logit_bias, penalties, dry), which may mask some.
   The result goes to the other list, because a lane would otherwise overwrite items that another one has not read. A
   sorted order is lost. */
static void sampi_gpu_list_keep(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, other = h->st->buffer ^ 1;
    sampi_gpu_item *to = sampi_gpu_items(h->a, h->row, other);
    const uint32_t all = sampi_gpu_copy_items(item, n, op, to);
    h->st->buffer = other;
    h->st->n_list = all;
}

/* Changes the logits of the list, for change_all. Different logits may become equal, so the order of keys can change;
   nothing depends on it, because a list has no order. at_order and at_p stay: they are logits of an earlier time. */
static SAMPI_CALLED void sampi_gpu_list_change(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const sampi_gpu_op o = *op;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const float l = sampi_gpu_change(&o, sampi_gpu_logit(item[i].key));
        item[i].key = sampi_gpu_key(l, sampi_gpu_id(item[i].key));
    }
}

/* One step of a bitonic network on 16 keys in registers: puts keys that are `apart` places from each other in order. */
#define SAMPI_EXCHANGE(apart, descending) \
    SAMPI_UNROLL(8) for (int k_ = 0; k_ < 8; k_++) \
    { \
        const int i_ = k_ / (apart)*2 * (apart) + k_ % (apart); \
        const uint64_t x_ = x[i_], y_ = x[i_ + (apart)]; \
        const bool swaps_ = (x_ < y_) == (descending); \
        x[i_] = swaps_ ? y_ : x_; \
        x[i_ + (apart)] = swaps_ ? x_ : y_; \
    }

/* Sorts each 16 neighbouring keys, alternately descending and ascending. */
static void sampi_gpu_sort_runs(uint64_t *key, uint32_t m)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t run = (uint32_t)lane; run < m / 16; run += SAMPI_WARP)
    {
        const bool down = run % 2 == 0;
        uint64_t x[16];
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) x[i] = key[run * 16 + i];
        SAMPI_AT_ONCE(16, x);
        SAMPI_EXCHANGE(1, (i_ & 2) == 0)
        SAMPI_EXCHANGE(2, (i_ & 4) == 0)
        SAMPI_EXCHANGE(1, (i_ & 4) == 0)
        SAMPI_EXCHANGE(4, (i_ & 8) == 0)
        SAMPI_EXCHANGE(2, (i_ & 8) == 0)
        SAMPI_EXCHANGE(1, (i_ & 8) == 0)
        SAMPI_EXCHANGE(8, down)
        SAMPI_EXCHANGE(4, down)
        SAMPI_EXCHANGE(2, down)
        SAMPI_EXCHANGE(1, down)
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) key[run * 16 + i] = x[i];
    }
}

/* Does up to four steps of the merge to sorted pieces of `size`, each lane with 16 keys in registers that are `apart`
   places from each other: steps of distance `most` * apart, and half of it each time, down to apart. */
static void sampi_gpu_sort_steps(uint64_t *key, uint32_t m, uint32_t size, uint32_t apart, uint32_t most)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t k = (uint32_t)lane; k < m / 16; k += SAMPI_WARP)
    {
        const uint32_t first = (k & ~(apart - 1)) * 16 + (k & (apart - 1));
        const bool down = (first & size) == 0;
        uint64_t x[16];
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) x[i] = key[first + i * apart];
        SAMPI_AT_ONCE(16, x);
        if (most >= 8) SAMPI_EXCHANGE(8, down)
        if (most >= 4) SAMPI_EXCHANGE(4, down)
        if (most >= 2) SAMPI_EXCHANGE(2, down)
        SAMPI_EXCHANGE(1, down)
        SAMPI_UNROLL(16) for (uint32_t i = 0; i < 16; i++) key[first + i * apart] = x[i];
    }
}
#undef SAMPI_EXCHANGE

/* Sorts the keys of the list into `code`, by a bitonic network over the next power of two, filled up with keys 0, which
   come last. Four of its steps are done at once in registers: for 4096 keys 21 loops instead of 78. Only for tail_free,
   top_h, min_k and mirostat's estimate. The list itself is unchanged. */
static void sampi_gpu_list_sort(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *key = h->code;
    uint32_t m = 16; /* m stays at most SAMP_GPU_LIST, which is a power of two */
    while (m < n) m *= 2;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < m; i += SAMPI_WARP) key[i] = i < n ? item[i].key : 0;
    sampi_gpu_sort_runs(key, m);
    for (uint32_t size = 32; size <= m; size *= 2) {
        uint32_t upto = size; /* steps of distance upto / 2 and less are still to be done */
        for (; upto >= 16; upto /= 16) sampi_gpu_sort_steps(key, m, size, upto / 16, 8);
        if (upto > 1) sampi_gpu_sort_steps(key, m, size, 1, upto / 2);
    }
}

/* Computes the weights of eight keys. */
SAMPI_INLINE void sampi_gpu_weights(float max, const uint64_t *key, uint64_t *w)
{
    sampi_gpu_eight e;
    SAMPI_OF_QUARTER e.l[k] = sampi_gpu_logit(key[k]);
    sampi_gpu_weigh(max, &e);
    SAMPI_OF_QUARTER w[k] = sampi_bits(e.w[k]) - sampi_bits(SAMPI_INT);
}

/* Writes the codes of the list's tokens to `code`, and their weights to `wide` if they matter, for the search for the
   end of a prefix. Returns the sum of the weights; the range of the codes becomes the one to search. The maximum must
   be known; for the order of scores also the mean, which is in `search`. */
static uint64_t sampi_gpu_list_codes(const sampi_gpu_here *h, bool by_score, bool weighing)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const double mean = h->st->search.mean;
    uint64_t *code = h->code, *w = h->wide, all = 0, lo = UINT64_MAX, hi = 0;
    SAMPI_SIMD(reduction(+ : all) reduction(min : lo) reduction(max : hi))
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += SAMPI_QUARTER * SAMPI_WARP)
    {
        uint64_t key[SAMPI_QUARTER], weight[SAMPI_QUARTER] = { 0 };
        SAMPI_OF_QUARTER key[k] = item[sampi_gpu_min_of(from + (uint32_t)k * SAMPI_WARP, n - 1)].key;
        SAMPI_AT_ONCE(8, key);
        if (weighing) sampi_gpu_weights(max, key, weight);
        SAMPI_OF_QUARTER
        {
            const uint32_t i = from + (uint32_t)k * SAMPI_WARP;
            if (i >= n) continue;
            const uint64_t x = sampi_gpu_code(by_score, key[k], max, mean);
            code[i] = x;
            w[i] = weight[k];
            all += weight[k];
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
    }
    h->st->search.lo = lo;
    h->st->search.hi = hi;
    return all;
}

/* Leaves only the tokens with this code (that share a score of typical), in the order of keys: their codes become those
   of keys, all other codes become UINT64_MAX, which list_end ignores. So one search serves for both orders. search_list
   calls it, and no longer needs the scores, which it overwrites. */
static SAMPI_CALLED void sampi_gpu_list_tie(const sampi_gpu_here *h, uint64_t tie)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *code = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) code[i] = code[i] == tie ? ~item[i].key
                                                                                                   : UINT64_MAX;
}

/* The number of tokens of the list with codes up to a bound, and their mass. */
typedef struct sampi_gpu_prefix {
    uint64_t count, mass;
} sampi_gpu_prefix;

/* Computes number and mass of the tokens with codes up to a bound, from the codes and weights that list_codes has left.
   Tokens with equal codes count all or not at all. */
static void sampi_gpu_list_prefix(const sampi_gpu_here *h, uint64_t upto, sampi_gpu_prefix *prefix)
{
    const uint64_t *code = h->code, *w = h->wide;
    const uint32_t n = h->st->n_list;
    uint64_t count = 0, mass = 0;
    SAMPI_SIMD(reduction(+ : count, mass))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        count += code[i] <= upto;
        mass += code[i] <= upto ? w[i] : 0;
    }
    prefix->count = count; /* gcc 12's device compiler fails on a returned struct here */
    prefix->mass = mass;
}

/* Returns how many tokens have keys from this one on: whether a floor leaves min_keep of them (enough_above). */
static SAMPI_CALLED uint64_t sampi_gpu_list_count(const sampi_gpu_here *h, uint64_t from)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) count += item[i].key >= from;
    return count;
}

/* Writes the weights of the sorted keys to `wide`. */
static void sampi_gpu_list_weights(const sampi_gpu_here *h)
{
    const uint64_t *key = h->code;
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        w[i] = sampi_weight(max, sampi_gpu_logit(key[i]));
}

#define SAMPI_GPU_FEW (2 * SAMPI_WARP)    /* up to so many codes are each compared with all others: two per lane */
#define SAMPI_GPU_ONE ((uint64_t)1 << 48) /* a token, beside its weight: 64 weights of at most 2^40 are less */

/* Computes, for each x [64], the sum of y over all x up to it, of the first n (a multiple of eight). */
static SAMPI_UNCLONED void sampi_gpu_pairs(const uint64_t *x, const uint64_t *y, uint32_t n, uint64_t *upto)
{
    SAMPI_SIMD()
    SAMPI_LANES
    {
        const uint64_t a = x[lane], b = x[SAMPI_WARP + lane], *c = x, *d = y, *behind = x + n;
        uint64_t sum_a = 0, sum_b = 0;
        for (; c < behind; c += 8, d += 8) {
            uint64_t p[8], q[8];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) p[k] = c[k];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) q[k] = d[k];
            SAMPI_AT_ONCE(8, p);
            SAMPI_AT_ONCE(8, q);
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++)
            {
                sum_a += q[k] & sampi_gpu_mask(p[k] <= a);
                sum_b += q[k] & sampi_gpu_mask(p[k] <= b);
            }
        }
        upto[lane] = sum_a;
        upto[SAMPI_WARP + lane] = sum_b;
    }
}

/* Adds a token to the weight of each of n <= SAMPI_GPU_FEW codes; fills both arrays up to SAMPI_GPU_FEW. */
static SAMPI_CALLED void sampi_gpu_few_begin(uint64_t *code, uint64_t *w, uint32_t n)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        if (i < n)
            w[i] += SAMPI_GPU_ONE;
        else
            code[i] = UINT64_MAX, w[i] = 0;
    }
}

/* Returns the smallest of these codes such that the tokens up to it have at least the mass and the number, by the sums
   `upto` of sampi_gpu_pairs; UINT64_MAX, which is not a token's code, if no code does. The weights are as before. */
static SAMPI_CALLED uint64_t sampi_gpu_few_end(const uint64_t *code, uint64_t *w, uint64_t mass, uint64_t count,
                                               const uint64_t *upto)
{
    uint64_t end = UINT64_MAX;
    SAMPI_SIMD(reduction(min : end))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_GPU_FEW; i += SAMPI_WARP)
    {
        const bool reached = ((upto[i] & (SAMPI_GPU_ONE - 1)) >= mass) & (upto[i] >> 48 >= count);
        const uint64_t x = code[i] | sampi_gpu_mask(!reached);
        end = x < end ? x : end;
        w[i] &= SAMPI_GPU_ONE - 1;
    }
    return end;
}

/* Returns the sum of a lane's piece of x [n], a piece being `each` numbers. Mostly all pieces are whole
   sixteens. */
static SAMPI_UNCLONED uint64_t sampi_gpu_sum_piece(const uint64_t *x, uint32_t n, uint32_t each, uint32_t lane)
{
    const uint64_t *piece = x + lane * each;
    uint64_t sum = 0, y[16];
    if (each % 16 == 0 && n == each * SAMPI_WARP) {
        SAMPI_UNROLL(1) for (uint32_t from = 0; from < each; from += 16)
        {
            SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) y[k] = piece[from + k];
            SAMPI_AT_ONCE(16, y);
            SAMPI_UNROLL(16) for (uint32_t k = 0; k < 16; k++) sum += y[k];
        }
        return sum;
    }
    SAMPI_UNROLL(1) for (uint32_t from = 0; from < each; from += 4)
    {
        const uint32_t first = lane * each + from;
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) y[k] = x[sampi_gpu_min_of(first + k, n - 1)];
        SAMPI_AT_ONCE(4, y);
        SAMPI_UNROLL(4)
        for (uint32_t k = 0; k < 4; k++) sum += y[k] & sampi_gpu_mask((from + k < each) & (first + k < n));
    }
    return sum;
}

/* Returns the index in x [n] where the running sum exceeds t; *t becomes the rest of t at that index. The sum of all of
   x must exceed t. Used to find a bucket by mass or number (take_bucket), and a group and then its element (row_draw).
   A warp finds the piece of one of its lanes, then the piece of that piece, until that is one number; the steps share
   their instructions. Nothing is written. */
static SAMPI_UNCLONED uint32_t sampi_gpu_find(const uint64_t *x, uint32_t n, uint64_t *t)
{
    const uint32_t lane = sampi_gpu_lane();
    uint64_t left = *t;
    uint32_t at = 0;
    if (!SAMPI_ON_NVIDIA) {
        while (at + 1 < n && x[at] <= left) left -= x[at++];
        n = 1;
    }
    while (n > 1) {
        const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
        const uint64_t sum = sampi_gpu_sum_piece(x + at, n, each, lane);
        const uint64_t run = sampi_gpu_running_sum(sum);
        uint32_t i = 0; /* the first lane whose running sum exceeds t */
        SAMPI_UNROLL(5)
        for (uint32_t k = SAMPI_WARP / 2; k; k /= 2)
            i += k & (uint32_t)sampi_gpu_mask(sampi_gpu_of_lane(run, i + k - 1) <= left);
        left -= sampi_gpu_of_lane(run - sum, i);
        at += i * each;
        n = sampi_gpu_min_of(each, n - i * each);
    }
    sampi_gpu_join_lanes(); /* all lanes have read *t */
    *t = left;
    return at;
}

/* Returns the sum of x [n] modulo 2^64. Nothing is written. */
static SAMPI_UNCLONED uint64_t sampi_gpu_total(const uint64_t *x, uint32_t n)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = SAMPI_ON_NVIDIA ? SAMPI_WARP : 1;
    uint64_t sum = n ? sampi_gpu_sum_piece(x, n, (n + lanes - 1) / lanes, lane) : 0;
    SAMPI_UNROLL(1) for (uint32_t k = 1; k < lanes; k *= 2) sum += sampi_gpu_of_lane(sum, lane ^ k);
    sampi_gpu_join_lanes(); /* all lanes have read x, and what the caller writes next */
    return sum;
}

/* Returns a - b, or 0 if b is larger: what remains of a needed mass or number of tokens. A prefix needs both, and one
   of them may be exceeded long before the other is reached. */
SAMPI_INLINE uint64_t sampi_gpu_remaining(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Sets n buckets of the row's histogram to zero. */
static SAMPI_CALLED void sampi_gpu_clear_buckets(const sampi_gpu_here *h, uint32_t n, bool counting)
{
    uint64_t *mass = h->mass, *count = h->count;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP)
    {
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) mass[i + k * SAMPI_WARP] = 0;
        if (!counting) continue;
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) count[i + k * SAMPI_WARP] = 0;
    }
}

/* Returns how many bits of the codes in a range SAMPI_FINE buckets leave out. */
SAMPI_INLINE uint32_t sampi_gpu_fine_shift(uint64_t span)
{
    return span < SAMPI_FINE ? 0 : 63 - (uint32_t)__builtin_clzll(span / (SAMPI_FINE / 2));
}

/* Returns the bucket of a histogram with the end of a prefix: the later one of the two in which mass and number are
   reached. *mass and *count become what is needed of its tokens, *before the number of tokens before it. That matters
   only if a number is needed, or for the length of a list; if the histogram has no numbers, it is taken as too many for
   a list. */
static SAMPI_CALLED uint32_t sampi_gpu_end_bucket(const sampi_gpu_here *h, uint32_t n, bool counting, uint64_t *mass,
                                                  uint64_t *count, uint64_t *before)
{
    const uint64_t *masses = h->mass, *counts = h->count;
    /* the prefix with a mass m ends where the running sum exceeds m - 1 */
    const uint64_t all_mass = *mass, all_count = *count;
    uint64_t mass_left = all_mass - 1, count_left = all_count - 1;
    uint32_t bucket = 0, other = 0;
    if (all_mass) bucket = sampi_gpu_find(masses, n, &mass_left); /* has at least one token */
    if (all_count > (all_mass > 0)) other = sampi_gpu_find(counts, n, &count_left);
    const bool by_mass = all_mass && other <= bucket;
    if (other > bucket) bucket = other;
    const uint64_t n_before = counting ? sampi_gpu_total(counts, bucket) : bucket ? SAMP_GPU_LIST : 0;
    const uint64_t mass_before = by_mass ? all_mass - 1 - mass_left : sampi_gpu_total(masses, bucket);
    sampi_gpu_meet(h->st); /* lanes have read what the caller gave */
    *before = n_before;
    *count = sampi_gpu_remaining(all_count, n_before);
    *mass = sampi_gpu_remaining(all_mass, mass_before);
    return bucket;
}

/* Copies the codes from lo to hi and their weights, which are few, one behind the other. */
static SAMPI_CALLED void sampi_gpu_take_few(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi,
                                            uint64_t *few, uint64_t *few_w)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << lane) - 1;
    const uint64_t *code = h->code, *w = h->wide;
    uint32_t all = 0;
    uint64_t next = code[sampi_gpu_min_of(lane, n - 1)];
    for (uint32_t i = lane; i < n + lane; i += lanes) {
        const uint64_t x = next;
        next = code[sampi_gpu_min_of(i + lanes, n - 1)];
        const bool in = (x >= lo) & (x <= hi) & (i < n);
        const uint32_t bits = sampi_gpu_vote(in), at = all + sampi_gpu_count_bits(bits & before);
        if (in) few[at] = x, few_w[at] = w[i];
        all += sampi_gpu_count_bits(bits);
    }
    sampi_gpu_join_lanes(); /* all lanes have written */
}

/* Makes a histogram of the list's codes from lo to hi; returns how many bits of a code its buckets leave out. */
static SAMPI_CALLED uint32_t sampi_gpu_count_codes(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi)
{
    const uint64_t *code = h->code, *w = h->wide, span = hi - lo;
    uint64_t *mass = h->mass, *count = h->count;
    const uint32_t shift = sampi_gpu_fine_shift(span);
    sampi_gpu_clear_buckets(h, SAMPI_FINE, true);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = (uint32_t)lane; from < n; from += 4 * SAMPI_WARP)
    {
        uint64_t x[4], y[4];
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) x[k] = code[sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1)];
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) y[k] = w[sampi_gpu_min_of(from + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(4, x);
        SAMPI_AT_ONCE(4, y);
        SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
        {
            if (from + k * SAMPI_WARP >= n || x[k] - lo > span) continue; /* below lo too: the difference wraps */
            __atomic_fetch_add(&mass[(x[k] - lo) >> shift], y[k], __ATOMIC_RELAXED);
            __atomic_fetch_add(&count[(x[k] - lo) >> shift], (uint64_t)1, __ATOMIC_RELAXED);
        }
    }
    return shift;
}

/* Returns the smallest code such that the tokens up to it, of those with codes from lo to hi, have at least the mass
   and the number, which all of them have (if they are few, UINT64_MAX if they have less). Mass and number grow with
   the code, so there is one such code. It reads code and wide [n], whatever they hold: search_list calls it with codes
   and weights, list_draw with ids and envelopes. Histograms narrow the range until few tokens are in it, which are
   then compared with each other. It writes to the other list's memory, and behind the n elements of code and wide. */
static uint64_t sampi_gpu_list_end(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t hi, uint64_t mass,
                                   uint64_t count)
{
    uint64_t *few = h->code, *few_w = h->wide, *upto = sampi_gpu_spare(h), before = 0, n_in = n;
    while (lo < hi && n_in > SAMPI_GPU_FEW) {
        const uint32_t shift = sampi_gpu_count_codes(h, n, lo, hi);
        const uint32_t bucket = sampi_gpu_end_bucket(h, SAMPI_FINE, true, &mass, &count, &before);
        const uint64_t span = ((uint64_t)1 << shift) - 1;
        n_in = h->count[bucket];
        lo += (uint64_t)bucket << shift;
        if (hi - lo > span) hi = lo + span;
        sampi_gpu_meet(h->st); /* all lanes have read the bucket */
    }
    if (n_in > SAMPI_GPU_FEW) return hi; /* these tokens share one code */
    if (n > SAMPI_GPU_FEW) {
        few = upto, few_w = few + SAMPI_GPU_FEW, upto = few_w + SAMPI_GPU_FEW;
        sampi_gpu_take_few(h, n, lo, hi, few, few_w);
    }
    sampi_gpu_few_begin(few, few_w, (uint32_t)n_in);
    sampi_gpu_pairs(few, few_w, ((uint32_t)n_in + 7) & ~(uint32_t)7, upto);
    return sampi_gpu_few_end(few, few_w, mass, count, upto);
}

/* Writes the ids of the list's tokens as codes, and their envelopes as weights; returns the sum of the envelopes. */
static SAMPI_CALLED uint64_t sampi_gpu_list_envelopes(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *q = h->wide, *code = h->code, total = 0;
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        code[i] = sampi_gpu_id(item[i].key);
        q[i] = sampi_envelope(max, sampi_gpu_logit(item[i].key));
        total += q[i];
    }
    return total;
}

/* Returns the token of the list with the largest id up to that one, as id << 32 | logit (a key is logit above ~id). */
static SAMPI_CALLED uint64_t sampi_gpu_last_upto(const sampi_gpu_here *h, uint64_t last)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint64_t *code = h->code;
    const uint32_t n = h->st->n_list;
    uint64_t token = 0;
    SAMPI_SIMD(reduction(max : token))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = (uint64_t)sampi_gpu_id(item[i].key) << 32 | item[i].key >> 32;
        token = code[i] <= last && x > token ? x : token;
    }
    return token;
}

/* Returns the key of a token drawn from the list, by sampi_draw's rule. The draw runs over tokens in the order of ids:
   the token at which the running sum of the envelope exceeds t ends the shortest prefix with a mass of t + 1. The list
   need not be sorted, because the ids are the codes of that search. Changed tokens are items like the others. It writes
   code and wide; the caller changes the state (sampi_gpu_draw). The attempts use the CPU's random numbers in turn, so
   they end at the same attempt. */
static uint64_t sampi_gpu_list_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const uint64_t total = sampi_gpu_list_envelopes(h);
    uint64_t random[2];
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t last = sampi_gpu_list_end(h, n, 0, h->a->n_vocab, sampi_mulhi(random[0], total) + 1, 0);
        const uint64_t token = sampi_gpu_last_upto(h, last);
        const uint64_t key = token << 32 | (uint32_t) ~(token >> 32);
        float l = sampi_gpu_logit(key);
        /* the token is taken with the probability weight / envelope; else the next two random numbers are tried */
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return key;
    }
}
