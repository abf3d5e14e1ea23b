/* ==================================================================================================== >>passes
   The passes: what all teams (thread blocks) of a row do at once, each with its own groups of 1024 tokens. There is one
   function for each SAMPI_PASS_*. A pass reads the row and its state, which do not change meanwhile. It writes one
   part per team (its sums), maxima of cells (32 tokens of a lane), items of the list, and buckets of histograms. A
   lane skips those of its cells whose maximum shows that no token in them matters; most cells are never read.
   sampi_gpu_team (gpu/advance.h) calls sampi_gpu_walk once per team and pass. Of the state only n_list is written
   here.

   Teams share only atomics whose order cannot be seen in a result: counts, sums of integers, places in a list whose
   order has no meaning. Everything else belongs to one team, until the last team to end the pass adds the parts up
   and adds the changed tokens (gpu/advance.h). */

/* Returns the first group (1024 elements) of a team's share of a row. Shares differ by one group at most. Team `split`
   has the groups from here up to the first one of split + 1, so each group has exactly one team. */
static uint32_t sampi_gpu_first(const sampi_gpu_args *a, uint32_t split)
{
    return (uint32_t)((uint64_t)a->groups * split / a->splits);
}

/* Takes the tokens of these groups whose logits rules change out of the row, by setting one bit for each. A team sets
   those of its own groups before it reads the groups, so it need not wait for another team. The row's last team clears
   them (sampi_gpu_finish), so all bits are zero when a row begins. The words belong to this team alone; the atomic is
   for two lanes with ids in one word. */
static void sampi_gpu_make_holes(const sampi_gpu_args *a, size_t row, uint32_t first, uint32_t end)
{
    const int32_t *id = sampi_gpu_ids(a, row);
    const uint32_t n = sampi_gpu_job_of(a, row)->n_ids;
    uint32_t *hole = a->hole + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        uint32_t at = (uint32_t)id[i];
        if (at >= first * SAMPI_GROUP && at < end * SAMPI_GROUP)
            __atomic_fetch_or(&hole[at / 32], 1u << at % 32, __ATOMIC_RELAXED);
    }
}

/* SCAN, the first pass, computes maxima of cells (32 elements of a lane), of lanes and of the team's share, which is
   NaN if any element is. It reads every element once, and computes so little that only the memory's speed counts. Later
   passes can skip most cells by its maxima; cell and lane_max stay as written here until the next batch. A masked NaN
   is not noticed, as on the CPU; end_scan, which reads the tokens with changed logits, finds a NaN among those. */
static void sampi_gpu_scan(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const uint32_t first = sampi_gpu_first(a, split), end = sampi_gpu_first(a, split + 1);
    float *cell = a->cell + row * a->groups * SAMPI_WARP;
    float *lane_max = a->lane_max + (row * a->splits + split) * SAMPI_WARP;
    if (sampi_gpu_job_of(a, row)->n_ids) sampi_gpu_make_holes(a, row, first, end);
    const sampi_gpu_view v = sampi_gpu_view_of(a, row);
    float top = -INFINITY;
    uint32_t nan = 0;
    SAMPI_SIMD(reduction(max : top) reduction(| : nan))
    SAMPI_LANES
    {
        float best = -INFINITY;
        bool bad = false;
        uint32_t group = first;
        /* nearly all rows are 16-bit without masks or holes: of these twice as much is read at once */
        for (; v.pairs && !v.mask && !v.hole && group + 2 <= end && (group + 2) * SAMPI_GROUP <= v.n; group += 2) {
            const uint32_t *p = (const uint32_t *)(const void *)v.data + group * (SAMPI_GROUP / 2) + (uint32_t)lane;
            uint32_t u[32]; /* two groups, so that as many reads are in flight as for f32 */
            float m[2] = { -INFINITY, -INFINITY };
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) u[i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
            {
                float x = sampi_gpu_half(u[i] & 0xFFFF, v.type), y = sampi_gpu_half(u[i] >> 16, v.type);
                /* a comparison with NaN is false and leaves the maximum unchanged, so NaN has a flag of its own */
                bad |= x != x || y != y;
                x = y > x ? y : x;
                m[i / 16] = x > m[i / 16] ? x : m[i / 16];
            }
            cell[group * SAMPI_WARP + (uint32_t)lane] = m[0];
            cell[(group + 1) * SAMPI_WARP + (uint32_t)lane] = m[1];
            best = m[0] > best ? m[0] : best;
            best = m[1] > best ? m[1] : best;
        }
        for (; group < end; group++) { /* remaining groups, or any other row */
            float x[32], m = -INFINITY;
            sampi_gpu_read(&v, group, lane, x);
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
            {
                bad |= x[i] != x[i];
                m = x[i] > m ? x[i] : m;
            }
            cell[group * SAMPI_WARP + (uint32_t)lane] = m;
            best = m > best ? m : best;
        }
        lane_max[lane] = best;
        top = best > top ? best : top;
        nan |= bad;
    }
    /* end_scan reads no other member of the part */
    a->part[row * a->splits + split].max = nan ? NAN : top;
}

/* The row as all other passes read it: a share of its groups, and the operations (samplers' changes) so far. It is a
   copy of members of the state, which lanes can keep in registers. A single temperature is by far the most frequent
   operation; it is one multiplication, without a loop over operations. */
typedef struct sampi_gpu_pass {
    sampi_gpu_view v;
    uint32_t first, end; /* first group, and the one after the last */
    const float *cell;   /* maxima of the row as it came */
    const sampi_gpu_op *op;
    uint32_t n_ops, n_replay; /* number of all operations, and of those that elements are taken through */
    bool scaled;              /* true: the only operation is a multiplication by r, nearly always so */
    float r, max, bar;
} sampi_gpu_pass;

/* Returns the pass for a team's share. Each walk_* begins with it; a draw uses it to read one group (group_envelope in
   gpu/choosing.h). */
SAMPI_INLINE sampi_gpu_pass sampi_gpu_pass_of(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_state *st = &a->state[row];
    sampi_gpu_pass p;
    p.v = sampi_gpu_view_of(a, row);
    p.first = sampi_gpu_first(a, split);
    p.end = sampi_gpu_first(a, split + 1);
    p.cell = a->cell + row * a->groups * SAMPI_WARP;
    p.op = st->op;
    p.n_ops = st->n_ops;
    p.scaled = st->n_ops == 1 && st->op[0].kind == SAMPI_OP_SCALE;
    p.n_replay = p.scaled ? 0 : st->n_ops;
    p.r = p.scaled ? st->op[0].f : 1.0f;
    p.max = st->max;
    p.bar = st->bar;
    return p;
}

/* Whether a lane's cell (32 elements) can have a remaining token that reaches `bar`, by the cell's maximum. Most cells
   need not be read then: a pass over a row that was cut takes a fraction of the scan's time. A cell with only masked
   tokens or holes has the maximum -inf, and is never read. A wrong yes is possible, a wrong no is not: the maximum is
   an upper bound. */
SAMPI_INLINE bool sampi_gpu_live(const sampi_gpu_pass *p, float cell_max, float bar)
{
    const float bound = sampi_gpu_rescale(p->op, p->n_ops, cell_max);
    return bound >= -FLT_MAX && bound >= bar;
}

/* Brings elements that were read up to date; -inf: masked or removed. Element i is token base + index i of the lane. It
   computes what sampi_gpu_replay does, with the same roundings, because every reader must find the same logit. The CPU
   rounds after each operation too. */
SAMPI_INLINE void sampi_gpu_now(const sampi_gpu_pass *p, uint32_t base, uint32_t apart, bool pairs, int lane,
                                float *l)
{
    SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) l[i] += 0.0f; /* -0 becomes +0 */
    if (p->scaled) {
        SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
        {
            float scaled = sampi_finite(sampi_roundf(l[i] * p->r));
            /* computed for masked elements too, and then not used: a selection instead of a branch */
            l[i] = l[i] >= -FLT_MAX ? scaled : -INFINITY;
        }
    }
    if (p->n_replay) {
        SAMPI_UNROLL(32)
        for (int i = 0; i < 32; i++)
            l[i] = sampi_gpu_replay(p->op, p->n_replay, base + SAMPI_PLACE(pairs, apart), l[i]);
    }
}

/* Reads a lane's cell (32 elements of a group), and brings its logits up to date. */
SAMPI_INLINE void sampi_gpu_cell(const sampi_gpu_pass *p, uint32_t group, int lane, float *l)
{
    sampi_gpu_read(&p->v, group, lane, l);
    sampi_gpu_now(p, group * SAMPI_GROUP, SAMPI_WARP, sampi_gpu_paired(&p->v, group), lane, l);
}

/* The histogram of the tokens in a window of logits; its arrays are wide and code. Each bucket has 2^shift codes
   (places in the order of tokens). */
typedef struct sampi_gpu_window {
    uint64_t *mass, *count;
    uint64_t lo;
    uint32_t shift;
    float max;
} sampi_gpu_window;

static sampi_gpu_window sampi_gpu_window_of(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_state *st = &a->state[row];
    sampi_gpu_window window = { a->wide + row * SAMPI_WIDE, a->code + row * SAMP_GPU_LIST, st->search.lo,
                                st->search.shift, st->max };
    return window;
}

SAMPI_INLINE void sampi_gpu_into_window(const sampi_gpu_window *window, uint64_t key)
{
    const uint64_t at = (~key - window->lo) >> window->shift;
    __atomic_fetch_add(&window->count[at], (uint64_t)1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&window->mass[at], sampi_weight(window->max, sampi_gpu_logit(key)), __ATOMIC_RELAXED);
}

/* Adds elements of a lane's cell (32 elements) to the row's list: bit i of `bits` is element i. They are read again,
   because they are few, and a cell's logits at three times would not fit the registers. Lanes of all teams of the row
   call it at once; n_list gives each of them its own places. An item's two older logits (at_order, at_p) are computed
   here from the row, because no list existed when the samplers ran that they belong to. A window's histogram, if not
   NULL, counts the tokens too. */
SAMPI_INLINE void sampi_gpu_append_cell(const sampi_gpu_pass *p, sampi_gpu_state *st, sampi_gpu_item *item,
                                        uint32_t group, int lane, uint32_t bits, const sampi_gpu_window *window)
{
    const bool pairs = sampi_gpu_paired(&p->v, group);
    /* order_at and p_at are numbers of operations, plus one; 0: there was no such sampler, and the item's members have
       no meaning */
    const uint32_t order_at = (uint32_t)(st->order_at ? st->order_at - 1 : 0);
    const uint32_t p_at = (uint32_t)(st->p_at ? st->p_at - 1 : 0);
    uint32_t to = __atomic_fetch_add(&st->n_list, (uint32_t)__builtin_popcount(bits), __ATOMIC_RELAXED);
    for (; bits && (window || to < SAMP_GPU_LIST); bits &= bits - 1, to++) { /* past the list's end only the count
                                                                                grows */
        const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, __builtin_ctz(bits));
        const float x = sampi_gpu_element(&p->v, id);
        const uint64_t key = sampi_gpu_key(p->n_ops ? sampi_gpu_replay(p->op, p->n_ops, id, x) : x + 0.0f, id);
        if (window) sampi_gpu_into_window(window, key);
        if (to >= SAMP_GPU_LIST) continue;
        item[to].key = key;
        item[to].at_order = order_at ? sampi_gpu_replay(p->op, order_at, id, x) : x + 0.0f;
        item[to].at_p = p_at ? sampi_gpu_replay(p->op, p_at, id, x) : x + 0.0f;
    }
}

/* Adds sampi_weight to *z and sampi_weighted to *s, and to each the bits of the double 2^52, which the caller subtracts
   once per call. A masked token adds only these. Only for the loops of walk_sums and walk_window, where turning each
   double into an integer would take longer than the rest; lists, which are short, use sampi_weight itself, and the sums
   are equal. */
SAMPI_INLINE void sampi_gpu_weigh(float max, float l, uint64_t *z, uint64_t *s)
{
    const double w = fma(1.0, sampi_exp(max, l), SAMPI_INT);
    double d = (double)l - (double)max;
    d = d > -700.0 ? d : -700.0;
    *z += sampi_bits(w);
    *s += sampi_bits(fma(SAMPI_INT - w, d, SAMPI_INT));
}

/* SUMS computes n, z, s and low (see sampi_gpu_state), and, if asked for, the list of tokens with keys (logit above id)
   from a floor on. All elements of a cell (32 of a lane) are weighed, also removed ones, whose weight is zero: a branch
   would take longer. require_sums asks for this pass when the maximum is known, which weights are relative to. It
   writes the team's part; end_sums adds the parts up. */
static void sampi_gpu_walk_sums(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    /* this floor is sampi_gpu_floor of a logit: each token with that logit has a key (logit above id) at least as
       large, so comparing logits is enough */
    const float floor = st->listing ? sampi_gpu_logit(st->floor) : INFINITY;
    sampi_gpu_item *item = sampi_gpu_items(a, row, st->buffer);
    uint64_t n = 0, z = 0, s = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : n, z, s) reduction(min : low))
    SAMPI_LANES for (uint32_t group = p.first; group < p.end; group++)
    {
        float l[32];
        uint32_t unmasked = 0, wanted = 0;
        if (!sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) continue;
        sampi_gpu_cell(&p, group, lane, l);
        SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
        {
            /* a removed token must not become the smallest */
            const float x = l[i] >= -FLT_MAX ? l[i] : INFINITY;
            unmasked += l[i] >= -FLT_MAX;
            wanted |= (uint32_t)(l[i] >= floor) << i;
            low = x < low ? x : low;
            sampi_gpu_weigh(p.max, l[i], &z, &s);
        }
        n += unmasked;
        /* the 2^52s that sampi_gpu_weigh has added beside the weights, for 32 elements at once */
        z -= 32 * sampi_bits(SAMPI_INT);
        s -= 32 * sampi_bits(SAMPI_INT);
        if (wanted) sampi_gpu_append_cell(&p, st, item, group, lane, wanted, NULL);
    }
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = n, part->sum[1] = z, part->sum[2] = s, part->sum[3] = part->sum[4] = part->sum[5] = 0;
    part->max = -INFINITY, part->low = low; /* the row's maximum is known already */
}

/* Four sums, from which top_n_sigma gets the sums of x and of x^2. x has 40 bits; its square is summed as products of
   20-bit halves, which stays below 2^64 for a row of any length, and needs no wider integers in the loop. The four are
   combined once per row, with 128 bits. */
typedef struct sampi_gpu_squares {
    uint64_t x, high, mixed, low;
} sampi_gpu_squares;

/* Adds one x. The row, the list and the tokens with changed logits all use it, each in a reduction of its own. */
SAMPI_INLINE void sampi_gpu_square(sampi_gpu_squares *sum, uint64_t x)
{
    sum->x += x;
    sum->high += (x >> 20) * (x >> 20);
    sum->mixed += (x >> 20) * (x & 0xFFFFF);
    sum->low += (x & 0xFFFFF) * (x & 0xFFFFF);
}

/* SIGMA computes the four sums of sampi_gpu_squares, and the maximum, for top_n_sigma. MAX is the same pass with only
   its maximum used, for a row whose first tokens were removed or changed, so that its maximum is unknown. That is rare,
   and not worth a function. (MAX's sums use an old maximum and scale, and are not read.) */
static void sampi_gpu_walk_sigma(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const double scale = a->state[row].scale;
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    float top = -INFINITY;
    SAMPI_SIMD(reduction(+ : s0, s1, s2, s3) reduction(max : top))
    SAMPI_LANES for (uint32_t group = p.first; group < p.end; group++)
    {
        float l[32];
        if (!sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) continue;
        sampi_gpu_cell(&p, group, lane, l);
        SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
        {
            /* a removed token would have an x too, of an infinite distance: it is left out of the sums */
            const uint64_t far_ = sampi_sigma_x(p.max, l[i], scale), x = l[i] >= -FLT_MAX ? far_ : 0;
            /* sampi_gpu_square without its struct, which gcc 12's device compiler cannot place beside an array */
            s0 += x, s1 += (x >> 20) * (x >> 20), s2 += (x >> 20) * (x & 0xFFFFF),
                s3 += (x & 0xFFFFF) * (x & 0xFFFFF);
            top = l[i] > top ? l[i] : top;
        }
    }
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = s0, part->sum[1] = s1, part->sum[2] = s2, part->sum[3] = s3;
    part->sum[4] = part->sum[5] = 0;
    part->max = top, part->low = INFINITY;
}

/* GATHER and BUCKET make a list, for GATHER of tokens with keys (logit above id) from floor on (require_list), for
   BUCKET with codes (places in an order) in [lo, hi] (ask_bucket). Few cells have such tokens, and no lane waits for
   another: each looks through the maxima of its own cells, and reads only cells that can have one. The function that
   asked has set n_list to 0. The items come in no order, and differently each time, and nothing may depend on that.
   Both passes make one comparison: a code is ~key, so keys from floor on are codes up to ~floor. */
static void sampi_gpu_walk_list(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const bool bucket = st->pass == SAMPI_PASS_BUCKET, by_score = bucket && st->search.by_score;
    const uint64_t lo = bucket ? st->search.lo : 0, hi = bucket ? st->search.hi : ~st->floor;
    const double mean = st->search.mean;
    /* a cell's maximum bounds its keys, but not its tokens' scores: in the order of scores every cell that is not empty
       is read */
    const bool ends_above = !by_score && hi < ~sampi_gpu_floor(-FLT_MAX);
    const float floor = ends_above ? sampi_gpu_logit(~hi) : -FLT_MAX, bar = floor > p.bar ? floor : p.bar;
    const float top = lo ? sampi_gpu_logit(~lo) : INFINITY; /* in the order of keys logits decide, except
                                                               at both ends */
    sampi_gpu_item *item = sampi_gpu_items(a, row, st->buffer);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        float l[32]; /* eight maxima are read at once: one after the other, each would be waited for */
        uint32_t cells = 0;
        SAMPI_UNROLL(8) for (uint32_t i = 0; i < 8; i++)
        {
            const uint32_t group = sampi_gpu_min_of(from + i, p.end - 1);
            l[i] = p.cell[group * SAMPI_WARP + (uint32_t)lane];
        }
        SAMPI_UNROLL(8)
        for (uint32_t i = 0; i < 8; i++) cells |= (uint32_t)(from + i < p.end && sampi_gpu_live(&p, l[i], bar)) << i;
        /* then only the few cells (32 elements) that can have a wanted token are read */
        for (; cells; cells &= cells - 1) {
            const uint32_t group = from + (uint32_t)__builtin_ctz(cells);
            const bool pairs = sampi_gpu_paired(&p.v, group);
            uint32_t wanted = 0, ends = 0;
            sampi_gpu_cell(&p, group, lane, l);
            if (by_score) {
                SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
                {
                    const uint64_t key = sampi_gpu_key(l[i], group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i));
                    const uint64_t code = sampi_gpu_code(true, key, p.max, mean);
                    wanted |= (uint32_t)(l[i] >= -FLT_MAX && code >= lo && code <= hi) << i;
                }
            } else {
                SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
                {
                    wanted |= (uint32_t)((l[i] >= floor) & (l[i] <= top)) << i;
                    ends |= (uint32_t)((l[i] == floor) | (l[i] == top)) << i;
                }
                /* of tokens with the logit of an end, the ids decide */
                for (ends &= wanted; ends; ends &= ends - 1) {
                    const int i = __builtin_ctz(ends);
                    const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i);
                    const uint64_t code = ~sampi_gpu_key(
                        sampi_gpu_replay(p.op, p.n_ops, id, sampi_gpu_element(&p.v, id)), id);
                    wanted &= ~((uint32_t)(code < lo || code > hi) << i);
                }
            }
            if (wanted) sampi_gpu_append_cell(&p, st, item, group, lane, wanted, NULL);
        }
    }
}

/* Computes the envelope's sum (an upper bound of the weights, by which a token is drawn) of each group of 1024 tokens
   from those of its cells. These go through memory, because a group's cells belong to 32 lanes. A cell's sum fits 32
   bits: it has 32 envelopes of at most 2^26 each. */
static void sampi_gpu_sum_groups(const sampi_gpu_args *a, size_t row, uint32_t first, uint32_t end)
{
    const uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    uint64_t *sum = a->sum + row * a->groups;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t group = first + (uint32_t)lane; group < end; group += SAMPI_WARP)
    {
        uint64_t all = 0;
        SAMPI_UNROLL(32) for (uint32_t i = 0; i < SAMPI_WARP; i++) all += cell_sum[group * SAMPI_WARP + i];
        sum[group] = all;
    }
}

/* WINDOW computes the sums of SUMS, and further sums for two thresholds at once: mass (sum of weights) and count of the
   tokens above a window of logits; mass, list and histogram of those in it. If a draw follows that needs no more
   (st->ahead), also the envelope's sums of the tokens above the window, of their logits at the time of the draw. */
static void sampi_gpu_walk_window(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const bool ahead = st->ahead == SAMPI_GPU_AHEAD_ASKED;
    const float window_top = st->search.top, floor = st->search.floor, then = st->then, factor = st->factor;
    uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    sampi_gpu_item *item = sampi_gpu_items(a, row, st->buffer);
    const sampi_gpu_window window = sampi_gpu_window_of(a, row);
    uint64_t n = 0, z = 0, s = 0, mass = 0, count = 0, in = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : n, z, s, mass, count, in) reduction(min : low))
    SAMPI_LANES for (uint32_t group = p.first; group < p.end; group++)
    {
        float l[32];
        uint32_t unmasked = 0, wanted = 0, above = 0, q = 0;
        if (sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) {
            sampi_gpu_cell(&p, group, lane, l);
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
            {
                const bool over = l[i] > window_top, inside = !over & (l[i] >= floor);
                const float x = l[i] >= -FLT_MAX ? l[i] : INFINITY,
                            scaled = sampi_finite(sampi_roundf(l[i] * factor));
                const float later = over ? scaled : -INFINITY; /* a selection instead of a branch, here and
                                                                  below */
                uint64_t w = 0 - sampi_bits(SAMPI_INT);
                unmasked += l[i] >= -FLT_MAX;
                above += over;
                wanted |= (uint32_t)inside << i;
                low = x < low ? x : low;
                sampi_gpu_weigh(p.max, l[i], &w, &s);
                z += w;
                mass += w & (0 - (uint64_t)over);
                in += w & (0 - (uint64_t)inside);
                q += sampi_envelope(then, later);
            }
            s -= 32 * sampi_bits(SAMPI_INT); /* the 2^52s that sampi_gpu_weigh has added beside the weights */
        }
        n += unmasked;
        count += above;
        if (ahead) cell_sum[group * SAMPI_WARP + (uint32_t)lane] = q;
        if (wanted) sampi_gpu_append_cell(&p, st, item, group, lane, wanted, &window);
    }
    if (ahead) sampi_gpu_sum_groups(a, row, p.first, p.end);
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = n, part->sum[1] = z, part->sum[2] = s;
    part->sum[3] = mass, part->sum[4] = count, part->sum[5] = in;
    part->max = -INFINITY, part->low = low;
}

/* HIST computes mass (sum of weights) and count of each bucket of a histogram; search_window has cleared the buckets.
   Both are integers, so no result shows the order of the atomics. If no mass is searched for, only counts are needed,
   and weights are not computed. All teams of the row add to the same buckets. The pass is for sets of tokens that may
   not fit a list. */
static void sampi_gpu_walk_hist(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_search search = a->state[row].search;
    const bool weighing = search.mass != 0;
    uint64_t *mass = a->mass + row * SAMPI_BUCKETS, *count = a->count + row * SAMPI_BUCKETS;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t group = p.first; group < p.end; group++)
    {
        const bool pairs = sampi_gpu_paired(&p.v, group);
        float l[32];
        if (!sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) continue;
        sampi_gpu_cell(&p, group, lane, l);
        SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
        {
            const uint64_t key = sampi_gpu_key(l[i], group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i));
            const uint64_t code = sampi_gpu_code(search.by_score, key, p.max, search.mean);
            /* removed, or not in [lo, hi]: a branch, because most tokens of the cells that are read are not in it */
            if (!(l[i] >= -FLT_MAX) || code < search.lo || code > search.hi) continue;
            const uint32_t bucket = sampi_gpu_bucket(&search, p.max, code);
            const uint64_t w = weighing ? sampi_weight(p.max, l[i]) : 0;
            __atomic_fetch_add(&count[bucket], (uint64_t)1, __ATOMIC_RELAXED);
            if (w) __atomic_fetch_add(&mass[bucket], w, __ATOMIC_RELAXED);
        }
    }
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Returns a race without a winner yet, for a lane's tokens. */
static sampi_race sampi_gpu_race_of(const sampi_gpu_step *step, uint64_t position, float max)
{
    sampi_race race = { step->seed, position, step->stream, max, -INFINITY, 0, (double)INFINITY, 0 };
    return race;
}
#endif

/* DRAW computes the sum of the envelope (an upper bound of the weights) over each group of 1024 tokens. The draw
   (row_draw in gpu/choosing.h) then finds a group by these sums, and computes the envelopes of that group's elements
   again. Groups without remaining tokens are written too, because their sums may be those of an earlier draw. */
static void sampi_gpu_walk_draw(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t group = p.first; group < p.end; group++)
    {
        float l[32];
        uint32_t q = 0;
        if (sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) {
            sampi_gpu_cell(&p, group, lane, l);
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) q += sampi_envelope(p.max, l[i]);
        }
        cell_sum[group * SAMPI_WARP + (uint32_t)lane] = q;
    }
    sampi_gpu_sum_groups(a, row, p.first, p.end);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* RACE runs gumbel's race of all remaining tokens. Each lane writes the token of its own that comes first, at equal
   times the larger key (logit above id), as sampi_race_run does; the step then finds the first of all lanes. Elements
   are read one by one: each takes so much work that 32 of them at once would not fit the registers. */
static void sampi_gpu_walk_race(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    const sampi_race start = sampi_gpu_race_of(&job->step[a->state[row].at], job->position, p.max);
    uint64_t *time = a->time + (row * a->splits + split) * SAMPI_WARP;
    uint64_t *winner = a->winner + (row * a->splits + split) * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        sampi_race race = start;
        for (uint32_t group = p.first; group < p.end; group++) {
            const bool pairs = sampi_gpu_paired(&p.v, group);
            if (!sampi_gpu_live(&p, p.cell[group * SAMPI_WARP + (uint32_t)lane], p.bar)) continue;
            for (int i = 0; i < 32; i++) {
                const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i);
                if (id >= p.v.n || (p.v.hole && (p.v.hole[id / 32] >> id % 32 & 1))) continue;
                const float l = sampi_gpu_replay(p.op, p.n_ops, id, sampi_gpu_element(&p.v, id));
                sampi_race_run(&race, l, (samp_token)id, 0);
            }
        }
        time[lane] = sampi_bits(race.time);
        winner[lane] = sampi_gpu_key(race.logit, (uint32_t)race.id);
    }
}
#endif

/* Runs a team's part of the pass that the row waits for. Only sampi_gpu_team calls it, and the passes of this room are
   called only here. NONE has no work: the row continues after a user's sampler. */
static void sampi_gpu_walk(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    switch (a->state[row].pass) {
        case SAMPI_PASS_SCAN: sampi_gpu_scan(a, row, split); break;
        case SAMPI_PASS_SUMS: sampi_gpu_walk_sums(a, row, split); break;
        case SAMPI_PASS_SIGMA:
        case SAMPI_PASS_MAX: sampi_gpu_walk_sigma(a, row, split); break;
        case SAMPI_PASS_GATHER:
        case SAMPI_PASS_BUCKET: sampi_gpu_walk_list(a, row, split); break;
        case SAMPI_PASS_WINDOW: sampi_gpu_walk_window(a, row, split); break;
        case SAMPI_PASS_HIST: sampi_gpu_walk_hist(a, row, split); break;
        case SAMPI_PASS_DRAW: sampi_gpu_walk_draw(a, row, split); break;
#ifdef SAMPLING_GUMBEL_DECLARED
        case SAMPI_PASS_RACE: sampi_gpu_walk_race(a, row, split); break;
#endif
        default: break;
    }
}
