/* ====================================================================================================== >>list
   What one team does with the tokens of a list: at most SAMP_GPU_LIST items come in, in no order, with the maximum of
   what is left; sums, prefixes, a chosen key, or a shorter or scaled list go out. What needs an order is searched for
   by bisection over codes, with a reduction over the whole list for each step: 32 lanes read 4096 items faster than
   they sort them. Only tail_free, top_h, min_k and mirostat's estimate look at neighbours; for these the list is
   sorted.

   The steps (gpu/left.h to gpu/advance.h) call this, in the one team that advances a row, while no other team works on
   that row: so plain writes do, and only lanes must be kept apart. Of the state these functions write n_list and
   buffer (list_keep) and n, z, s, low (list_sums). The one thing to know: `wide` and `code` are scratch that one
   function fills for the next (list_codes for list_prefix and list_end; list_weights for tail_free), and that no
   function may use in between. */

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

/* What the operation leaves nothing of goes: the counterpart, for a list, of pushing an operation for the row. Called
   by the steps that remove tokens, and by a patch, which may mask some. A lane counts what stays of its tokens, and
   then knows from the counts of those before it where to put them: an atomic that each token waits for would take
   longer. Not in place, because a lane would write over what another one has not read yet. Nothing sorted stays
   sorted. */
static void sampi_gpu_list_keep(const sampi_gpu_here *h, const sampi_gpu_op *op)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const sampi_gpu_op o = *op;
    uint64_t *stay = h->wide;
    uint32_t all = 0;
    SAMPI_SIMD(reduction(+ : all))
    SAMPI_LANES
    {
        uint32_t mine = 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) mine += sampi_gpu_stays(&o, item[i].key);
        stay[lane] = mine;
        all += mine;
    }
    /* from here on sampi_gpu_list is the other buffer, and item is what it was */
    h->st->buffer ^= 1;
    h->st->n_list = all;
    sampi_gpu_item *to = sampi_gpu_list(h);
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint32_t count[SAMPI_WARP], at = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) count[k] = (uint32_t)stay[k];
        SAMPI_AT_ONCE(32, count);
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) at += k < lane ? count[k] : 0;
        for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
            if (sampi_gpu_stays(&o, item[i].key)) to[at++] = item[i];
    }
}

/* Change the list's logits, for change_all. Equal ones may come of different ones, so that the order of keys can
   change: it is no list in order, and nothing has to be done about that. at_order and at_p stay: they are what the
   logits were. */
static void sampi_gpu_list_change(const sampi_gpu_here *h, const sampi_gpu_op *op)
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

/* In order: a bitonic network over the next power of two, filled up with keys 0, which come last. For tail_free,
   top_h, min_k and mirostat's estimate, and no one else: it takes some 80 loops over the list. In place; n_list stays,
   and what fills up lies behind it. */
static void sampi_gpu_list_sort(const sampi_gpu_here *h)
{
    sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint32_t m = 1; /* at most SAMP_GPU_LIST, which is a power of two: there is room */
    while (m < n) m *= 2;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = n + (uint32_t)lane; i < m; i += SAMPI_WARP)
    {
        item[i].key = 0;
        item[i].at_order = item[i].at_p = 0.0f;
    }
    for (uint32_t size = 2; size <= m; size *= 2)
        for (uint32_t step = size / 2; step > 0; step /= 2) {
            SAMPI_SIMD()
            SAMPI_LANES for (uint32_t k = (uint32_t)lane; k < m / 2; k += SAMPI_WARP)
            {
                uint32_t i = 2 * step * (k / step) + k % step, j = i + step;
                bool down = (i & size) == 0; /* runs go down and up in turns, so that two of them can be merged */
                sampi_gpu_item x = item[i], y = item[j];
                if ((x.key < y.key) == down) item[i] = y, item[j] = x;
            }
        }
}

/* The codes of the list in an order, and the weights in wide: what a prefix is searched in. They are made once, and
   read a few dozen times. Called by the two places that search a list for the end of a prefix; the maximum must be
   known, and for the order of scores the mean, which is in search. */
static void sampi_gpu_list_codes(const sampi_gpu_here *h, bool by_score)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    const double mean = h->st->search.mean;
    uint64_t *code = h->code, *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        code[i] = sampi_gpu_code(by_score, item[i].key, max, mean);
        w[i] = sampi_weight(max, sampi_gpu_logit(item[i].key));
    }
}

/* Only tokens with this code are left, in the order of keys: their codes become those of keys, the others' UINT64_MAX,
   which list_end passes over. So one search serves for both orders. For search_list, which is done with the scores by
   then: this writes over them. */
static void sampi_gpu_list_tie(const sampi_gpu_here *h, uint64_t tie)
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

/* Of the codes and weights that list_codes has left; with UINT64_MAX of the whole list. The end of the sum may lie
   between two tokens with one code: these count both or not at all. */
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
static uint64_t sampi_gpu_list_count(const sampi_gpu_here *h, uint64_t from)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    uint64_t count = 0;
    SAMPI_SIMD(reduction(+ : count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) count += item[i].key >= from;
    return count;
}

/* Weights in wide, for who needs no codes: tail_free, which reads them by place in the sorted list. */
static void sampi_gpu_list_weights(const sampi_gpu_here *h)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *w = h->wide;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        w[i] = sampi_weight(max, sampi_gpu_logit(item[i].key));
}

/* The smallest code whose prefix of the list holds the mass and the count, or one up to which there are no more tokens
   than that; UINT64_MAX if the whole list doesn't. (No token has that code.) It reads code and wide [n], whatever they
   hold: search_list asks with codes and weights, list_draw with ids and envelopes. What is searched is cut into four
   each time: most of the time goes into the reduction, and sums for three cuts take hardly longer than for one. The
   loop ends early when one token is left in between, which for codes of 64 bits is nearly always. */
static uint64_t sampi_gpu_list_end(const sampi_gpu_here *h, uint32_t n, uint64_t mass, uint64_t count)
{
    const uint64_t *code = h->code, *w = h->wide;
    uint64_t lo = UINT64_MAX, hi = 0, all = 0;
    uint32_t below = 0, upto = 0;
    SAMPI_SIMD(reduction(min : lo) reduction(max : hi) reduction(+ : all, upto))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        const uint64_t x = code[i];
        const bool in = x != UINT64_MAX;
        lo = x < lo ? x : lo;
        hi = in && x > hi ? x : hi;
        all += in ? w[i] : 0;
        upto += in;
    }
    /* lo and hi are now the first and the last code: UINT64_MAX marks what list_tie has put aside */
    if (all < mass || upto < count) return UINT64_MAX;
    /* mass and count grow with the code, so the first code that holds both is well defined */
    while (lo < hi && upto - below > 1) { /* the code is in [lo, hi]; so many tokens are below lo, and up to hi */
        const uint64_t step = ((hi - lo) >> 2) + 1, a = lo + step - 1, b = a + step,
                       c = b + step < hi ? b + step : hi;
        uint64_t mass_a = 0, mass_b = 0, mass_c = 0;
        uint32_t n_a = 0, n_b = 0, n_c = 0;
        SAMPI_SIMD(reduction(+ : mass_a, mass_b, mass_c, n_a, n_b, n_c))
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        {
            const uint64_t x = code[i], y = w[i];
            n_a += x <= a, n_b += x <= b, n_c += x <= c;
            mass_a += x <= a ? y : 0, mass_b += x <= b ? y : 0, mass_c += x <= c ? y : 0;
        }
        /* the first of the three cuts that holds enough is the new upper end; if none does, it is above them */
        if (mass_a >= mass && n_a >= count)
            hi = a, upto = n_a;
        else if (mass_b >= mass && n_b >= count)
            lo = a + 1, hi = b, below = n_a, upto = n_b;
        else if (mass_c >= mass && n_c >= count)
            lo = b + 1, hi = c, below = n_b, upto = n_c;
        else
            lo = c + 1, below = n_c;
    }
    return hi;
}

/* The place in x [n] where the running sum exceeds t, n <= 2^16; t becomes what is left of it there. The sum of all
   exceeds t. Each lane adds up a piece; then the one whose piece it is in looks for it there. It finds a bucket by mass
   or count (search_bucket), and a group and then its element (row_draw). lane_sum [32] is scratch that the caller
   lends, and must not be part of x; nothing else is written. */
static uint32_t sampi_gpu_find(const uint64_t *x, uint32_t n, uint64_t *lane_sum, uint64_t *t)
{
    const uint32_t each = (n + SAMPI_WARP - 1) / SAMPI_WARP;
    const uint64_t exceeded = *t;
    uint64_t left = 0;
    uint32_t at = 0;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint64_t sum = 0;
        for (uint32_t from = 0; from < each; from += 8) {
            const uint32_t first = (uint32_t)lane * each + from;
            uint64_t y[8];
            SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) y[k] = x[sampi_gpu_min_of(first + k, n - 1)];
            SAMPI_AT_ONCE(8, y);
            SAMPI_UNROLL(8)
            for (uint32_t k = 0; k < 8; k++) sum += from + k < each && first + k < n ? y[k] : 0;
        }
        lane_sum[lane] = sum;
    }
    SAMPI_SIMD(reduction(max : at, left))
    SAMPI_LANES
    {
        uint64_t sums[SAMPI_WARP], rest = exceeded, before = 0;
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) sums[k] = lane_sum[k];
        SAMPI_AT_ONCE(32, sums);
        SAMPI_UNROLL(32) for (int k = 0; k < SAMPI_WARP; k++) before += k < lane ? sums[k] : 0;
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

/* The sum of x [n]: eight reads under way for each lane. The lanes' parts are added modulo 2^64, as everywhere, in any
   order. */
static uint64_t sampi_gpu_total(const uint64_t *x, uint32_t n)
{
    uint64_t sum = 0;
    SAMPI_SIMD(reduction(+ : sum))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += 8 * SAMPI_WARP)
    {
        uint64_t y[8];
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) y[k] = x[sampi_gpu_min_of(i + k * SAMPI_WARP, n - 1)];
        SAMPI_AT_ONCE(8, y);
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) sum += i + k * SAMPI_WARP < n ? y[k] : 0;
    }
    return sum;
}

/* sampi_draw among the tokens of the list: the key of the chosen one. Their order is that of ids here, and the one
   where the running sum of the envelope exceeds t ends the shortest prefix with a mass of t + 1. The list is in no
   order and needs none: ids are the codes. Changed tokens are items of the list like the others. It writes code and
   wide; the state is the caller's to change (sampi_gpu_draw). The attempts have the CPU's random numbers, one after the
   other, so they end at the same one. */
static uint64_t sampi_gpu_list_draw(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const sampi_gpu_item *item = sampi_gpu_list(h);
    const uint32_t n = h->st->n_list;
    const float max = h->st->max;
    uint64_t *q = h->wide, *code = h->code, total = 0, random[2]; /* list_end searches these two */
    SAMPI_SIMD(reduction(+ : total))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        code[i] = sampi_gpu_id(item[i].key);
        q[i] = sampi_envelope(max, sampi_gpu_logit(item[i].key));
        total += q[i];
    }
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random_bits(step->seed, h->job->position, step->stream, attempt, random);
        const uint64_t last = sampi_gpu_list_end(h, n, sampi_mulhi(random[0], total) + 1, 0);
        uint64_t token = 0; /* the last one up to there: id and logit, where a key has logit and ~id */
        SAMPI_SIMD(reduction(max : token))
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
        {
            const uint64_t x = (uint64_t)sampi_gpu_id(item[i].key) << 32 | item[i].key >> 32;
            token = code[i] <= last && x > token ? x : token;
        }
        const uint64_t key = token << 32 | (uint32_t) ~(token >> 32);
        float l = sampi_gpu_logit(key);
        /* taken with the probability that its true weight has of the envelope; else the next two random numbers */
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return key;
    }
}
