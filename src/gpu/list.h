/* ====================================================================================================== >>list
   What one team does with the tokens of a list: at most SAMP_GPU_LIST items come in, in no order, with the maximum of
   what is left; sums, prefixes, a chosen key, or a shorter or scaled list go out. What needs an order is searched for
   among codes: a long list by cuts, each with sums over the whole list, a short one by comparing each code with all
   others. Only tail_free, top_h, min_k and mirostat's estimate look at neighbours; for these the keys are sorted.

   The steps (gpu/left.h to gpu/advance.h) call this, in the one team that advances a row, while no other team works on
   that row: so plain writes do, and only lanes must be kept apart. Of the state these functions write n_list and
   buffer (list_keep) and n, z, s, low (list_sums). The one thing to know: `wide` and `code` are scratch that one
   function fills for the next (list_codes for list_prefix and list_end; list_sort and list_weights for tail_free), and
   that no function may use in between.

   Lanes are not in step. All lanes do the code outside of simd loops, and since Volta a lane may be anywhere between
   two barriers of its warp. So a word that lanes have read is written only behind a barrier, and one that they have
   written is written with something else, or in a simd loop or by an atomic, only behind another. A simd loop ends with
   a barrier, an atomic outside of one too; where neither is, sampi_gpu_meet is one. The interpreter of tests/gpu/ptx
   finds words for which this does not hold. */

/* A row in the hands of the team that advances it, and the row's parts of the arrays. wide: weights or envelopes of the
   list, or of a group, counts of lanes; code: places in an order; changed [n_ids], ids in changed_id. Nearly all
   functions of steps get it, and what it points to is what they can write. */
typedef struct sampi_gpu_here {
    const sampi_gpu_args *a;
    sampi_gpu_job *job;
    sampi_gpu_state *st;
    size_t row;
    uint64_t *wide, *code;
    sampi_gpu_changed *changed;
    const int32_t *changed_id;
} sampi_gpu_here;

/* Made by sampi_gpu_advance once per pass. changed_id is of the side that the rules are on now: sampi_gpu_finish, which
   may change sides, is done with it by then. */
static sampi_gpu_here sampi_gpu_at(const sampi_gpu_args *a, size_t row)
{
    sampi_gpu_here h;
    h.a = a;
    h.job = sampi_gpu_job_of(a, row);
    h.st = &a->state[row];
    h.row = row;
    h.wide = a->wide + row * SAMPI_WIDE;
    h.code = a->code + row * SAMP_GPU_LIST;
    h.changed = a->changed + row * SAMPI_RULES;
    h.changed_id = sampi_gpu_ids(a, row);
    return h;
}

/* The list in use: the other buffer is where list_keep writes. Whether what it holds is to be believed is said by
   listed and complete in the state. */
static sampi_gpu_item *sampi_gpu_list(const sampi_gpu_here *h)
{
    return sampi_gpu_items(h->a, h->row, h->st->buffer);
}

/* The other buffer as scratch, of two numbers for each token of a list: until list_keep writes a list there. */
static uint64_t *sampi_gpu_spare(const sampi_gpu_here *h)
{
    return (uint64_t *)(void *)sampi_gpu_items(h->a, h->row, h->st->buffer ^ 1);
}

/* The first token's key; 0: the list is empty. For greedy, and for a maximum that need not be looked for in the row. A
   key is never 0: that would be a logit below -FLT_MAX. */
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

/* What SUMS finds out about a row, of the list, for require_sums. The sums are the same integers: a row gets the same
   token whether its tokens are a list by then or not. The maximum must be known; whoever calls says that the sums are
   known now. */
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

/* All bits or none: a sum of what a condition selects then has no branch. With `k < lane ? x : 0` gcc leaves the sum at
   the first k that is too much, each lane at another one, and a device runs what follows a lane at a time. */
SAMPI_INLINE uint64_t sampi_gpu_mask(bool x) { return 0 - (uint64_t)x; }

/* Copy the items of a list that stay, in any order, and return their number. Those stay that score well enough, or else
   have keys from lo to hi. A lane counts what stays of its tokens, and then knows from the counts of those before it
   where to put them: an atomic that each token waits for would take longer. stay [32] is scratch. */
SAMPI_INLINE uint32_t sampi_gpu_copy_items(const sampi_gpu_item *item, uint32_t n, const sampi_gpu_op *op,
                                           bool by_score, uint64_t *stay, sampi_gpu_item *to)
{
    const sampi_gpu_op o = *op;
    const uint64_t lo = o.kind == SAMPI_OP_UNTIL ? 0 : o.k, hi = o.kind == SAMPI_OP_UNTIL ? o.k : UINT64_MAX;
    uint32_t all = 0;
    SAMPI_SIMD(reduction(+ : all))
    SAMPI_LANES
    {
        uint32_t mine = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP) {
            uint64_t x[8];
            SAMPI_UNROLL(8)
            for (uint32_t k = 0; k < 8; k++) x[k] = item[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)].key;
            SAMPI_AT_ONCE(8, x);
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
            {
                const bool stays = by_score ? sampi_gpu_stays(&o, x[k]) : (x[k] >= lo) & (x[k] <= hi);
                mine += (uint32_t)(stays & (i + k * SAMPI_WARP < n));
            }
        }
        stay[lane] = mine;
        all += mine;
    }
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t x[SAMPI_WARP];
        uint32_t at = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) x[k] = stay[k];
        SAMPI_AT_ONCE(32, x);
        SAMPI_UNROLL(32)
        for (int k = 0; k < SAMPI_WARP; k++) at += (uint32_t)x[k] & (uint32_t)sampi_gpu_mask(k < lane);
        for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP) {
            SAMPI_UNROLL(8)
            for (uint32_t k = 0; k < 8; k++) x[k] = item[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)].key;
            SAMPI_AT_ONCE(8, x);
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
            {
                const bool stays = by_score ? sampi_gpu_stays(&o, x[k]) : (x[k] >= lo) & (x[k] <= hi);
                if (stays & (i + k * SAMPI_WARP < n)) to[at++] = item[i + k * SAMPI_WARP];
            }
        }
    }
    return all;
}

/* What the operation leaves nothing of goes: the counterpart, for a list, of pushing an operation for the row. Called
   by the steps that remove tokens, and by a patch, which may mask some. Not in place, because a lane would write over
   what another one has not read yet. Nothing sorted stays sorted. */
static void sampi_gpu_list_keep(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list, other = h->st->buffer ^ 1;
    sampi_gpu_item *to = sampi_gpu_items(h->a, h->row, other);
    const uint32_t all = op->kind == SAMPI_OP_SCORE ? sampi_gpu_copy_items(item, n, op, true, h->wide, to)
                                                    : sampi_gpu_copy_items(item, n, op, false, h->wide, to);
    h->st->buffer = other; /* read before the loops, since lanes needn't be in step */
    h->st->n_list = all;
}

/* Change the list's logits, for change_all. Equal ones may come of different ones, so that the order of keys can
   change: it is no list in order, and nothing has to be done about that. at_order and at_p stay: they are what the
   logits were. */
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

/* A step of a bitonic network: keys that are so many places apart, of 16 in registers, put in order. */
#define SAMPI_EXCHANGE(apart, descending) \
    SAMPI_UNROLL(8) for (int k_ = 0; k_ < 8; k_++) \
    { \
        const int i_ = k_ / (apart)*2 * (apart) + k_ % (apart); \
        const uint64_t x_ = x[i_], y_ = x[i_ + (apart)]; \
        const bool swaps_ = (x_ < y_) == (descending); \
        x[i_] = swaps_ ? y_ : x_; \
        x[i_ + (apart)] = swaps_ ? x_ : y_; \
    }

/* Runs of 16 keys in order, down and up in turns. */
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

/* Up to four steps of the merge to runs of `size`, of 16 keys in registers that are so many places apart: from `most`
   times as far down to as far. */
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

/* The keys of the list in order, in `code`: a bitonic network over the next power of two, filled up with keys 0, which
   come last. Four of its steps at once are done in registers: of 4096 keys 21 loops in place of 78. For tail_free,
   top_h, min_k and mirostat's estimate, and no one else. The list stays as it is. */
static void sampi_gpu_list_sort(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *key = h->code;
    uint32_t m = 16; /* at most SAMP_GPU_LIST, which is a power of two: there is room */
    while (m < n) m *= 2;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < m; i += SAMPI_WARP) key[i] = i < n ? item[i].key : 0;
    sampi_gpu_sort_runs(key, m);
    for (uint32_t size = 32; size <= m; size *= 2) {
        uint32_t upto = size; /* steps of half of it and less are still to be done */
        for (; upto >= 16; upto /= 16) sampi_gpu_sort_steps(key, m, size, upto / 16, 8);
        if (upto > 1) sampi_gpu_sort_steps(key, m, size, 1, upto / 2);
    }
}

/* The codes of the list in an order, and the weights in wide, if they matter: what a prefix is searched in. Returns the
   sum of the weights. Called by the two places that search a list for the end of a prefix; the maximum must be known,
   and for the order of scores the mean, which is in search. */
static uint64_t sampi_gpu_list_codes(const sampi_gpu_here *h, bool by_score, bool weighing)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const double mean = h->st->search.mean;
    uint64_t *code = h->code, *w = h->wide, all = 0;
    SAMPI_SIMD(reduction(+ : all))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t key = item[i].key, weight = weighing ? sampi_weight(max, sampi_gpu_logit(key)) : 0;
        code[i] = sampi_gpu_code(by_score, key, max, mean);
        w[i] = weight;
        all += weight;
    }
    return all;
}

/* Only tokens with this code are left, in the order of keys: their codes become those of keys, the others' UINT64_MAX,
   which list_end passes over. So one search serves for both orders. For search_list, which is done with the scores by
   then: this writes over them. */
static SAMPI_CALLED void sampi_gpu_list_tie(const sampi_gpu_here *h, uint64_t tie)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t *code = h->code;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) code[i] = code[i] == tie ? ~item[i].key
                                                                                                   : UINT64_MAX;
}

/* How many tokens of the list have codes up to one, and their mass. */
typedef struct sampi_gpu_prefix {
    uint64_t count, mass;
} sampi_gpu_prefix;

/* Of the codes and weights that list_codes has left. The end of the sum may lie between two tokens with one code: these
   count both or not at all. */
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

/* How many tokens have keys from this one on: whether a floor leaves min_keep of them (enough_above). */
static SAMPI_CALLED uint64_t sampi_gpu_list_count(const sampi_gpu_here *h, uint64_t from)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) count += item[i].key >= from;
    return count;
}

/* Weights of the sorted keys, in wide. */
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

/* Up to 32 sums over lanes at once: of sum i lane k has left its part in part[32 i + k], and the sum goes to sum[i],
   where no lane writes before the next barrier but one. Each lane adds up one of them: reductions come one after the
   other, and take five shuffles of two words each. */
static SAMPI_CALLED void sampi_gpu_add_up(const uint64_t *part, uint32_t n, uint64_t *sum)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        uint64_t x[SAMPI_WARP], all = 0;
        SAMPI_UNROLL(32) for (uint32_t k = 0; k < SAMPI_WARP; k++) x[k] = part[i * SAMPI_WARP + k];
        SAMPI_AT_ONCE(32, x);
        SAMPI_UNROLL(32) for (uint32_t k = 0; k < SAMPI_WARP; k++) all += x[k];
        sum[i] = all;
    }
}

#define SAMPI_GPU_FEW (2 * SAMPI_WARP) /* so many codes are compared each with all others */

/* The smallest of n <= SAMPI_GPU_FEW codes whose prefix has that much of w, or of ones if w is NULL; UINT64_MAX if none
   has. Each lane adds up the prefixes of two codes. Both arrays are filled up to the next eight. */
SAMPI_INLINE uint64_t sampi_gpu_few_reach(const uint64_t *code, const uint64_t *w, uint32_t n, uint64_t least)
{
    uint64_t end = UINT64_MAX;
    SAMPI_SIMD(reduction(min : end))
    SAMPI_LANES
    {
        const uint32_t i = (uint32_t)lane, j = SAMPI_WARP + (uint32_t)lane;
        const uint64_t a = i < n ? code[i] : UINT64_MAX, b = j < n ? code[j] : UINT64_MAX;
        const uint64_t *c = code, *q = w, *behind = code + n;
        uint64_t sum_a = 0, sum_b = 0;
        for (; c < behind; c += 8) {
            uint64_t x[8], y[8];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) x[k] = c[k];
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++) y[k] = w ? q[k] : 1;
            SAMPI_AT_ONCE(8, x);
            SAMPI_AT_ONCE(8, y);
            SAMPI_UNROLL(8) for (int k = 0; k < 8; k++)
            {
                sum_a += y[k] & sampi_gpu_mask(x[k] <= a);
                sum_b += y[k] & sampi_gpu_mask(x[k] <= b);
            }
            if (w) q += 8;
        }
        /* UINT64_MAX is no token's: it is the least that can be found */
        const uint64_t found_a = a | sampi_gpu_mask(sum_a < least), found_b = b | sampi_gpu_mask(sum_b < least);
        end = found_a < end ? found_a : end;
        end = found_b < end ? found_b : end;
    }
    return end;
}

/* The smallest of n <= SAMPI_GPU_FEW codes whose prefix holds the mass and the count; UINT64_MAX if none does. Both
   grow with the code: so it is the later one of two. */
static uint64_t sampi_gpu_few_end(uint64_t *code, uint64_t *w, uint32_t n, uint64_t mass, uint64_t count)
{
    uint64_t end = 0, other;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = n + (uint32_t)lane; i < ((n + 7) & ~(uint32_t)7); i += SAMPI_WARP)
    {
        code[i] = UINT64_MAX;
        w[i] = 0;
    }
    if (mass > 0 || count <= 1) end = sampi_gpu_few_reach(code, w, n, mass); /* a prefix has one token at least */
    if (count <= 1) return end;
    other = sampi_gpu_few_reach(code, NULL, n, count);
    return other > end ? other : end;
}

/* The tokens with codes from lo to hi, and what is needed of them. */
typedef struct sampi_gpu_between {
    uint64_t lo, hi, mass, count;
} sampi_gpu_between;

/* Those codes and their weights, which are few, behind one another: a lane counts its own, and then knows from the
   counts of those before it where to put them. part [32] is scratch. */
static SAMPI_CALLED void sampi_gpu_take_few(const sampi_gpu_here *h, uint32_t n, const sampi_gpu_between *in,
                                            uint64_t *part, uint64_t *few, uint64_t *few_w)
{
    const uint64_t *code = h->code, *w = h->wide, lo = in->lo, span = in->hi - in->lo;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint32_t mine = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP) {
            uint64_t x[8];
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) x[k] = code[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
            SAMPI_AT_ONCE(8, x);
            SAMPI_UNROLL(8)
            for (uint32_t k = 0; k < 8; k++) mine += (uint32_t)((i + k * SAMPI_WARP < n) & (x[k] - lo <= span));
        }
        part[lane] = mine;
    }
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t before[SAMPI_WARP];
        uint32_t at = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) before[k] = part[k];
        SAMPI_AT_ONCE(32, before);
        SAMPI_UNROLL(32)
        for (int k = 0; k < SAMPI_WARP; k++) at += (uint32_t)before[k] & (uint32_t)sampi_gpu_mask(k < lane);
        for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP) {
            uint64_t x[8];
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) x[k] = code[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
            SAMPI_AT_ONCE(8, x);
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
            {
                if (!((i + k * SAMPI_WARP < n) & (x[k] - lo <= span))) continue;
                few[at] = x[k];
                few_w[at++] = w[i + k * SAMPI_WARP];
            }
        }
    }
}

/* The masses of the codes from lo up to a, b and c, and their counts, in parts of the lanes: part [4 * 32]. The counts
   share a number, of 20 bits each. */
static SAMPI_CALLED void sampi_gpu_sum_cuts(const sampi_gpu_here *h, uint32_t n, uint64_t lo, uint64_t a, uint64_t b,
                                            uint64_t c, uint64_t *part)
{
    const uint64_t *code = h->code, *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t mass_a = 0, mass_b = 0, mass_c = 0, n_abc = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += 4 * SAMPI_WARP) {
            uint64_t x[4], y[4];
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) x[k] = code[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++) y[k] = w[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
            SAMPI_AT_ONCE(4, x);
            SAMPI_AT_ONCE(4, y);
            SAMPI_UNROLL(4) for (uint32_t k = 0; k < 4; k++)
            {
                /* what is below lo counts no more */
                const uint64_t z = x[k] | sampi_gpu_mask((i + k * SAMPI_WARP >= n) | (x[k] < lo));
                const uint64_t in_a = sampi_gpu_mask(z <= a), in_b = sampi_gpu_mask(z <= b),
                               in_c = sampi_gpu_mask(z <= c);
                n_abc -= in_a + (in_b << 20) + (in_c << 40);
                mass_a += y[k] & in_a, mass_b += y[k] & in_b, mass_c += y[k] & in_c;
            }
        }
        part[lane] = mass_a, part[SAMPI_WARP + lane] = mass_b, part[2 * SAMPI_WARP + lane] = mass_c;
        part[3 * SAMPI_WARP + lane] = n_abc;
    }
}

/* Cut what is searched into four, once: sums for three cuts take hardly longer than for one. *n_in: so many tokens are
   in between. part [5 * 32] is scratch. */
static void sampi_gpu_list_cut(const sampi_gpu_here *h, uint32_t n, sampi_gpu_between *in, uint32_t *n_in,
                               uint64_t *part)
{
    const uint64_t lo = in->lo, hi = in->hi, step = ((hi - lo) >> 2) + 1, a = lo + step - 1, b = a + step;
    const uint64_t c = b + step < hi ? b + step : hi;
    sampi_gpu_between next = *in;
    uint32_t upto = *n_in;
    sampi_gpu_sum_cuts(h, n, lo, a, b, c, part);
    uint64_t *sum = part + 4 * SAMPI_WARP;
    sampi_gpu_add_up(part, 4, sum);
    const uint64_t mass_a = sum[0], mass_b = sum[1], mass_c = sum[2], n_abc = sum[3];
    const uint32_t n_a = n_abc & 0xFFFFF, n_b = n_abc >> 20 & 0xFFFFF, n_c = (uint32_t)(n_abc >> 40);
    uint64_t mass_below = 0;
    uint32_t below = 0;
    /* the first of the three cuts that holds enough is the new upper end; if none does, it is above them */
    if (mass_a >= next.mass && n_a >= next.count)
        next.hi = a, upto = n_a;
    else if (mass_b >= next.mass && n_b >= next.count)
        next.lo = a + 1, next.hi = b, below = n_a, upto = n_b, mass_below = mass_a;
    else if (mass_c >= next.mass && n_c >= next.count)
        next.lo = b + 1, next.hi = c, below = n_b, upto = n_c, mass_below = mass_b;
    else
        next.lo = c + 1, below = n_c, mass_below = mass_c;
    next.mass -= mass_below < next.mass ? mass_below : next.mass;
    next.count -= below < next.count ? below : next.count;
    *in = next;
    *n_in = upto - below;
}

/* The smallest and the largest code of a list, its mass and its count; those that list_tie has put aside are not
   there. */
static SAMPI_CALLED void sampi_gpu_list_span(const sampi_gpu_here *h, uint32_t n, sampi_gpu_between *all)
{
    const uint64_t *code = h->code, *w = h->wide;
    uint64_t lo = UINT64_MAX, hi = 0, mass = 0, count = 0;
    SAMPI_SIMD(reduction(min : lo) reduction(max : hi) reduction(+ : mass, count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = code[i];
        const bool is = x != UINT64_MAX;
        lo = x < lo ? x : lo;
        hi = is && x > hi ? x : hi;
        mass += is ? w[i] : 0;
        count += is;
    }
    all->lo = lo, all->hi = hi, all->mass = mass, all->count = count;
}

/* The smallest code whose prefix of the list holds the mass and the count; UINT64_MAX if the whole list doesn't. (No
   token has that code.) It reads code and wide [n], whatever they hold: search_list asks with codes and weights,
   list_draw with ids and envelopes. Mass and count grow with the code, so there is one such code. A long list is cut
   until few tokens are in between, and these are compared with one another. It writes to the spare buffer, and behind
   code and wide. */
static uint64_t sampi_gpu_list_end(const sampi_gpu_here *h, uint32_t n, uint64_t mass, uint64_t count)
{
    if (n <= SAMPI_GPU_FEW) return sampi_gpu_few_end(h->code, h->wide, n, mass, count);
    sampi_gpu_between in;
    sampi_gpu_list_span(h, n, &in);
    uint32_t upto = (uint32_t)in.count;
    if (in.mass < mass || in.count < count) return UINT64_MAX;
    sampi_gpu_meet(h->st); /* lanes have read what they share */
    in.mass = mass, in.count = count;
    uint64_t *part = sampi_gpu_spare(h), *few = part + SAMPI_WARP, *few_w = few + SAMPI_GPU_FEW;
    while (in.lo < in.hi && upto > SAMPI_GPU_FEW) sampi_gpu_list_cut(h, n, &in, &upto, part);
    if (upto > SAMPI_GPU_FEW) return in.hi; /* they share one code */
    sampi_gpu_take_few(h, n, &in, part, few, few_w);
    return sampi_gpu_few_end(few, few_w, upto, in.mass, in.count);
}

/* The sum of each lane's piece of x [n], of so many numbers: lane_sum [32]. */
static SAMPI_CALLED void sampi_gpu_sum_pieces(const uint64_t *x, uint32_t n, uint32_t each, uint64_t *lane_sum)
{
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t sum = 0;
        for (uint32_t from = 0; from < each; from += 32) {
            const uint32_t first = (uint32_t)lane * each + from;
            uint64_t y[32];
            SAMPI_UNROLL(32) for (uint32_t k = 0; k < 32; k++) y[k] = x[sampi_gpu_min_of(first + k, n - 1)];
            SAMPI_AT_ONCE(32, y);
            SAMPI_UNROLL(32)
            for (uint32_t k = 0; k < 32; k++) sum += y[k] & sampi_gpu_mask((from + k < each) & (first + k < n));
        }
        lane_sum[lane] = sum;
    }
}

/* The place in x [n] where the running sum exceeds t, whose lanes' pieces have these sums: each lane looks for it in
   its own piece. t becomes what is left of it there. */
static SAMPI_CALLED uint32_t sampi_gpu_find_in_piece(const uint64_t *x, uint32_t n, uint32_t each,
                                                     const uint64_t *lane_sum, uint64_t *t)
{
    const uint64_t exceeded = *t;
    uint64_t left = 0;
    uint32_t at = 0;
    SAMPI_SIMD(reduction(max : at, left))
    SAMPI_LANES
    {
        uint64_t rest = exceeded, before = 0;
        for (int from = 0; from < lane; from += 16) { /* 16: the array takes of the stack, which is short */
            uint64_t sums[16];
            SAMPI_UNROLL(16) for (int k = 0; k < 16; k++) sums[k] = lane_sum[from + k];
            SAMPI_AT_ONCE(16, sums);
            SAMPI_UNROLL(16) for (int k = 0; k < 16; k++) before += sums[k] & sampi_gpu_mask(from + k < lane);
        }
        /* one lane's piece holds the place; the others leave 0 to the reduction's maximum */
        if (before <= exceeded && exceeded - before < lane_sum[lane]) {
            bool go = true; /* on: it is behind here */
            rest -= before;
            uint32_t i = (uint32_t)lane * each;
            for (uint32_t from = 0; from < each; from += 8) {
                uint64_t y[8];
                const uint32_t first = (uint32_t)lane * each + from;
                SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) y[k] = x[sampi_gpu_min_of(first + k, n - 1)];
                SAMPI_AT_ONCE(8, y);
                SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
                {
                    go = go & (y[k] <= rest);
                    rest -= go ? y[k] : 0;
                    i += go;
                }
            }
            at = i;
            left = rest;
        }
    }
    *t = left;
    return at;
}

/* The place in x [n] where the running sum exceeds t, n <= 2^16; t becomes what is left of it there. The sum of all
   exceeds t. Each lane adds up a piece; then the one whose piece it is in looks for it there. It finds a bucket by mass
   or count (search_bucket), and a group and then its element (row_draw). lane_sum [32] is scratch that the caller
   lends, and must not be part of x; nothing else is written. */
static uint32_t sampi_gpu_find(const uint64_t *x, uint32_t n, uint64_t *lane_sum, uint64_t *t)
{
    const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
    sampi_gpu_sum_pieces(x, n, each, lane_sum);
    return sampi_gpu_find_in_piece(x, n, each, lane_sum, t);
}

/* The sum of x [n]: 32 reads under way for each lane. The lanes' parts are added modulo 2^64, as everywhere, in any
   order. */
static uint64_t sampi_gpu_total(const uint64_t *x, uint32_t n)
{
    uint64_t sum = 0;
    SAMPI_SIMD(reduction(+ : sum))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 32 * SAMPI_WARP)
    {
        uint64_t y[32];
        SAMPI_UNROLL(32) for (uint32_t k = 0; k < 32; k++) y[k] = x[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(32, y);
        SAMPI_UNROLL(32) for (uint32_t k = 0; k < 32; k++) sum += y[k] & sampi_gpu_mask(i + k * SAMPI_WARP < n);
    }
    return sum;
}

/* Ids of the list's tokens as codes, and their envelopes as weights; the sum of these. */
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

/* The token of the list with the largest id up to that one: id and logit, where a key has logit and ~id. */
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

/* sampi_draw among the tokens of the list: the key of the chosen one. Their order is that of ids here, and the one
   where the running sum of the envelope exceeds t ends the shortest prefix with a mass of t + 1. The list is in no
   order and needs none: ids are the codes. Changed tokens are items of the list like the others. It writes code and
   wide; the state is the caller's to change (sampi_gpu_draw). The attempts have the CPU's random numbers, one after the
   other, so they end at the same one. */
static uint64_t sampi_gpu_list_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const uint64_t total = sampi_gpu_list_envelopes(h);
    uint64_t random[2];
    for (uint32_t attempt = 0;; attempt++) {
        if (attempt) sampi_gpu_meet(h->st); /* lanes have read `random` */
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t last = sampi_gpu_list_end(h, n, sampi_mulhi(random[0], total) + 1, 0);
        const uint64_t token = sampi_gpu_last_upto(h, last);
        const uint64_t key = token << 32 | (uint32_t) ~(token >> 32);
        float l = sampi_gpu_logit(key);
        /* taken with the probability that its true weight has of the envelope; else the next two random numbers */
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return key;
    }
}
