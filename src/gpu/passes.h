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
        uint32_t group = first;
        /* nearly all rows are 16-bit without masks or holes: of these twice as much is read at once */
        for (; v.pairs && !v.mask && !v.hole && group + 2 <= end && (group + 2) * SAMPI_GROUP <= v.n; group += 2) {
            const uint32_t *p = (const uint32_t *)(const void *)v.data + group * (SAMPI_GROUP / 2) + (uint32_t)lane;
            uint32_t u[32]; /* two groups, so that as many reads are in flight as for f32 */
            float m[2] = { -INFINITY, -INFINITY };
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) u[i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
            {
                const float x = sampi_gpu_typed(sampi_gpu_half(u[i] & 0xFFFF, v.type));
                const float y = sampi_gpu_typed(sampi_gpu_half(u[i] >> 16, v.type));
                m[i / 16] = sampi_gpu_larger(sampi_gpu_larger(x, y), m[i / 16]);
            }
            cell[group * SAMPI_WARP + (uint32_t)lane] = m[0];
            cell[(group + 1) * SAMPI_WARP + (uint32_t)lane] = m[1];
            best = sampi_gpu_larger(sampi_gpu_larger(m[0], m[1]), best);
        }
        for (; group < end; group++) { /* remaining groups, or any other row */
            float x[32], m = -INFINITY;
            sampi_gpu_read(&v, group, lane, x);
            SAMPI_UNROLL(32) for (int i = 0; i < 32; i++) m = sampi_gpu_larger(x[i], m);
            cell[group * SAMPI_WARP + (uint32_t)lane] = m;
            best = sampi_gpu_larger(m, best);
        }
        lane_max[lane] = best;
        top = best > top ? best : top;
        nan |= best != best;
    }
    a->team_max[row * a->splits + split] = nan ? NAN : top;
}

/* The row as all other passes read it: a share of its groups, and the operations so far. It is a copy of members of the
   state, which lanes can keep in registers. The most frequent operations are a cut, a temperature, and one after the
   other; these are a comparison and a multiplication, without a loop over operations. */
typedef struct sampi_gpu_pass {
    sampi_gpu_view v;
    uint32_t first, end; /* first group, and the one after the last */
    const float *cell;   /* maxima of the row as it came */
    const sampi_gpu_op *op;
    uint32_t n_ops, n_replay; /* number of all operations, and of those that elements are taken through */
    bool cut, scaled;         /* true: the first operation removes keys below those of (least, last); the last one
                                 is a multiplication by r; there is no other */
    float least;
    uint32_t last;
    bool direct;              /* true: lanes read full groups from the row itself; see sampi_gpu_open_cell */
    float r, max, bar;
    int quarters; /* always 4; the driver's compiler, which cannot see that, does not unroll loops over quarters */
    const sampi_gpu_args *a;
    size_t row;
    uint32_t split;
} sampi_gpu_pass;

/* Returns the pass for a team's share. Each walk_* begins with it; a draw uses it to read one group (sum_envelopes, by
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
    p.cut = st->n_ops && st->op[0].kind == SAMPI_OP_FROM;
    p.scaled = st->n_ops == 1u + p.cut && st->op[p.cut].kind == SAMPI_OP_SCALE;
    p.n_replay = st->n_ops - p.cut - p.scaled;
    if (p.n_replay) p.n_replay = st->n_ops, p.cut = false;
    p.least = p.cut && st->op[0].k > sampi_gpu_floor(-FLT_MAX) ? sampi_gpu_logit(st->op[0].k) : -INFINITY;
    p.last = p.cut ? sampi_gpu_id(st->op[0].k) : 0;
    p.r = p.scaled ? st->op[p.cut].f : 1.0f;
    p.max = st->max;
    p.bar = st->bar;
    p.direct = (p.v.type == SAMP_F32 || p.v.pairs) && !p.v.mask && !p.v.hole && !p.n_replay;
    p.quarters = a->groups ? 4 : 0;
    p.a = a;
    p.row = row;
    p.split = split;
    return p;
}

/* Returns sampi_finite of a number, without a branch. */
SAMPI_INLINE float sampi_gpu_finite(float x) { return sampi_gpu_minf(sampi_gpu_maxf(x, -FLT_MAX), FLT_MAX); }

/* Returns a logit times a temperature's factor; a masked logit (-inf) stays masked. Both results are computed and one
   is selected, because a branch would take longer. */
SAMPI_INLINE float sampi_gpu_scaled(float l, float r)
{
    const float scaled = sampi_gpu_finite(sampi_roundf(l * r));
    return l >= -FLT_MAX ? scaled : -INFINITY;
}

/* sampi_gpu_rescale as a function that is called. */
static SAMPI_UNCLONED float sampi_gpu_rescale_once(const sampi_gpu_op *op, uint32_t n, float l)
{
    return sampi_gpu_rescale(op, n, l);
}

/* Whether a lane's cell can have a remaining token that reaches `bar`, by the cell's maximum. Most cells need not be
   read then: a pass over a row that was cut takes a fraction of the scan's time. A cell with only masked tokens or
   holes has the maximum -inf, and is never read. A wrong yes is possible, a wrong no is not: the maximum is an upper
   bound. */
SAMPI_INLINE bool sampi_gpu_live(const sampi_gpu_pass *p, float cell_max, float bar)
{
    const float bound = sampi_gpu_rescale_once(p->op, p->n_ops, cell_max);
    return bound >= -FLT_MAX && bound >= bar;
}

/* Returns which of a lane's cells in eight groups, from group `from` on, can have a remaining token that reaches `bar`:
   bit i for the cell of group from + i. The eight maxima are read at once; one after the other, each would be waited
   for. A pass goes from bit to bit and not from group to group: a lane without work in one group goes on with the next
   one, and the lanes stay together. */
SAMPI_INLINE uint32_t sampi_gpu_live_cells(const sampi_gpu_pass *p, uint32_t from, int lane, float bar)
{
    float bound[8];
    uint32_t cells = 0;
    SAMPI_UNROLL(8)
    for (uint32_t i = 0; i < 8; i++)
        bound[i] = p->cell[sampi_gpu_min_of(from + i, p->end - 1) * SAMPI_WARP + (uint32_t)lane];
    if (p->n_replay) {
        SAMPI_UNROLL(8) for (int i = 0; i < 8; i++) bound[i] = sampi_gpu_rescale_once(p->op, p->n_ops, bound[i]);
    } else if (p->scaled) {
        SAMPI_UNROLL(8) for (int i = 0; i < 8; i++) bound[i] = sampi_gpu_scaled(bound[i], p->r);
    }
    SAMPI_UNROLL(8)
    for (uint32_t i = 0; i < 8; i++)
        cells |= (uint32_t)((from + i < p->end) & (bound[i] >= -FLT_MAX) & (bound[i] >= bar)) << i;
    return cells;
}

/* Applies a temperature to n elements that were read. */
SAMPI_INLINE void sampi_gpu_scale_read(const sampi_gpu_pass *p, int n, float *l)
{
    SAMPI_UNROLL(32) for (int i = 0; i < n; i++) l[i] += 0.0f; /* -0 becomes +0 */
    if (p->scaled) {
        SAMPI_UNROLL(32) for (int i = 0; i < n; i++) l[i] = sampi_gpu_scaled(l[i], p->r);
    }
}

/* A quarter of a cell is 8 elements. Passes do each step for all eight before the next step (SAMPI_OF_QUARTER), so that
   eight chains of operations are under way at once. */
#define SAMPI_QUARTER    8
#define SAMPI_QUARTERS   SAMPI_UNROLL(1) for (int quarter = 0; quarter < p->quarters; quarter++)
#define SAMPI_OF_QUARTER SAMPI_UNROLL(8) for (int k = 0; k < SAMPI_QUARTER; k++)

/* Returns where a lane's 32 logits are in the memory that its team keeps for one cell of each lane; SAMPI_WARP
   apart. */
static float *sampi_gpu_aside(const sampi_gpu_args *a, size_t row, uint32_t split, int lane)
{
    return a->aside + (row * a->splits + split) * SAMPI_GROUP + (uint32_t)lane;
}

/* Applies one operation to a quarter's elements, the first of which has the index base: sampi_gpu_replay for eight
   elements, without calls for the frequent kinds. */
SAMPI_INLINE void sampi_gpu_apply(const sampi_gpu_op *op, uint32_t base, bool pairs, int lane, float *x)
{
    if (op->kind == SAMPI_OP_SCALE) {
        SAMPI_OF_QUARTER x[k] = sampi_gpu_scaled(x[k], op->f);
    } else if (op->kind == SAMPI_OP_FROM || op->kind == SAMPI_OP_UNTIL) {
        SAMPI_OF_QUARTER
        {
            const uint64_t key = sampi_gpu_key(x[k], base + sampi_gpu_index(pairs, lane, k));
            x[k] = (op->kind == SAMPI_OP_FROM ? key >= op->k : key <= op->k) ? x[k] : -INFINITY;
        }
    } else {
        SAMPI_OF_QUARTER x[k] = sampi_gpu_replay(op, 1, base + sampi_gpu_index(pairs, lane, k), x[k]);
    }
}

/* Writes the logits of a lane's cell, up to date, into its team's memory. It serves cells that cannot be read directly:
   with masks, holes or types that take more than a load, and rows with other operations than a cut and a temperature.
   It is a function of its own because a pass with all this inside would need more registers than a thread has. The
   results are those of sampi_gpu_replay, because every reader must find the same logit. */
static SAMPI_CALLED void sampi_gpu_cell_aside(const sampi_gpu_args *a, size_t row, uint32_t split, uint32_t group,
                                              int lane)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const bool pairs = sampi_gpu_paired(&p.v, group);
    float *to = sampi_gpu_aside(a, row, split, lane);
    for (uint32_t at = 0; at < SAMPI_GROUP; at += SAMPI_GROUP / 4, to += SAMPI_GROUP / 4) {
        float x[SAMPI_QUARTER];
        sampi_gpu_read_each(&p.v, group * SAMPI_GROUP + at, SAMPI_WARP, pairs, SAMPI_QUARTER, lane, x);
        SAMPI_OF_QUARTER x[k] += 0.0f; /* -0 becomes +0 */
        for (uint32_t i = 0; i < p.n_replay; i++) sampi_gpu_apply(&p.op[i], group * SAMPI_GROUP + at, pairs, lane, x);
        SAMPI_OF_QUARTER to[k * SAMPI_WARP] = x[k];
    }
}

/* The work on a lane's cell, a quarter at a time. pair: where 16-bit logits are read, two at a time, or NULL; x: where
   floats are read; the cell's elements are SAMPI_WARP apart either way. next: the quarter that follows, as it was read.
   partial: the row ends in this group, and the lane has only `count` elements; l: this quarter's logits, up to date
   (-inf: masked or removed); w: their weights, each plus 2^52; d: their distances from the maximum, in nats; later:
   their logits after the next sampler; q: their envelopes. Only functions that the compiler inlines into simd loops
   have such a record: gcc 12 keeps 128 bytes for the arrays that a simd loop with calls declares itself. */
typedef struct sampi_gpu_eight {
    const uint32_t *pair;
    const float *x;
    bool partial;
    uint32_t count, group;
    double w[SAMPI_QUARTER], d[SAMPI_QUARTER];
    float next[SAMPI_QUARTER], l[SAMPI_QUARTER], later[SAMPI_QUARTER];
    uint32_t q[SAMPI_QUARTER];
} sampi_gpu_eight;

SAMPI_INLINE void sampi_gpu_read_quarter(const sampi_gpu_pass *p, const sampi_gpu_eight *e, bool pairs, int quarter,
                                         float *x)
{
    if (pairs) {
        uint32_t u[4];
        SAMPI_UNROLL(4) for (int k = 0; k < 4; k++) u[k] = e->pair[(quarter * 4 + k) * SAMPI_WARP];
        SAMPI_UNROLL(4) for (int k = 0; k < 4; k++)
        {
            x[2 * k] = sampi_gpu_half(u[k] & 0xFFFF, p->v.type);
            x[2 * k + 1] = sampi_gpu_half(u[k] >> 16, p->v.type);
        }
    } else if (e->partial) {
        SAMPI_OF_QUARTER
        {
            const uint32_t i = (uint32_t)(quarter * SAMPI_QUARTER + k);
            const float l = e->x[i < e->count ? i * SAMPI_WARP : 0];
            x[k] = i < e->count ? l : -INFINITY;
        }
    } else {
        SAMPI_OF_QUARTER x[k] = e->x[(quarter * SAMPI_QUARTER + k) * SAMPI_WARP];
    }
}

/* Sets where a lane's cell is read. */
SAMPI_INLINE void sampi_gpu_open_cell(const sampi_gpu_pass *p, uint32_t group, int lane, sampi_gpu_eight *e)
{
    const uint32_t first = group * SAMPI_GROUP + (uint32_t)lane;
    const bool partial = (group + 1) * SAMPI_GROUP > p->v.n;
    e->group = group;
    e->pair = NULL;
    e->x = (const float *)(const void *)p->v.data + sampi_gpu_min_of(first, p->v.n - 1);
    e->count = first < p->v.n ? (p->v.n - first + SAMPI_WARP - 1) / SAMPI_WARP : 0;
    e->partial = partial && p->v.type == SAMP_F32;
    if (!p->direct || (partial && !e->partial)) {
        sampi_gpu_cell_aside(p->a, p->row, p->split, group, lane);
        e->x = sampi_gpu_aside(p->a, p->row, p->split, lane);
        e->partial = false;
    } else if (p->v.type != SAMP_F32) {
        e->pair = (const uint32_t *)(const void *)p->v.data + group * (SAMPI_GROUP / 2) + (uint32_t)lane;
    }
}

/* Begins a lane's cell: its first quarter is read. */
SAMPI_INLINE void sampi_gpu_first_quarter(const sampi_gpu_pass *p, uint32_t group, int lane, sampi_gpu_eight *e)
{
    sampi_gpu_open_cell(p, group, lane, e);
    sampi_gpu_read_quarter(p, e, e->pair != NULL, 0, e->next);
}

/* Brings a quarter's logits up to date, and reads the next quarter, so that these reads are under way during the work
   on this one. The loop over quarters is not unrolled: the driver's compiler would again do one element after the
   other. */
SAMPI_INLINE void sampi_gpu_next_quarter(const sampi_gpu_pass *p, int quarter, int lane, sampi_gpu_eight *e)
{
    SAMPI_OF_QUARTER e->l[k] = e->next[k];
    sampi_gpu_read_quarter(p, e, e->pair != NULL, quarter < 3 ? quarter + 1 : 3, e->next);
    if (p->cut) {
        const bool pairs = sampi_gpu_paired(&p->v, e->group);
        const uint32_t first = e->group * SAMPI_GROUP + (uint32_t)quarter * (SAMPI_GROUP / 4);
        SAMPI_OF_QUARTER
        {
            const uint32_t id = first + sampi_gpu_index(pairs, lane, k);
            const bool stays = (e->l[k] > p->least) | ((e->l[k] == p->least) & (id <= p->last));
            e->l[k] = stays ? e->l[k] : -INFINITY;
        }
        SAMPI_AT_ONCE(8, e->l); /* selections, which later ones would otherwise turn into branches */
    }
    sampi_gpu_scale_read(p, SAMPI_QUARTER, e->l);
}

/* Adds a token to its bucket of the row's histogram. It is inlined into simd loops: elsewhere one lane does an atomic
   for all. */
SAMPI_INLINE void sampi_gpu_add_to_bucket(const sampi_gpu_args *a, size_t row, const sampi_gpu_search *search,
                                          float max, uint64_t key)
{
    const uint64_t code = sampi_gpu_code(search->by_score, key, max, search->mean);
    const size_t at = row * SAMPI_BUCKETS + sampi_gpu_bucket(search, max, code);
    __atomic_fetch_add(&a->count[at], (uint64_t)1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->mass[at], sampi_weight(max, sampi_gpu_logit(key)), __ATOMIC_RELAXED);
}

/* Returns the id of an element of a row whose bit is set in word `at` of `wanted`. */
SAMPI_INLINE uint32_t sampi_gpu_wanted_id(const sampi_gpu_view *v, uint32_t at, uint32_t bits)
{
    const uint32_t group = at / SAMPI_WARP;
    return group * SAMPI_GROUP +
           sampi_gpu_index(sampi_gpu_paired(v, group), (int)(at % SAMPI_WARP), __builtin_ctz(bits));
}

/* Returns a token's logit up to date, from the x that the row has. */
SAMPI_INLINE float sampi_gpu_now(const sampi_gpu_pass *p, uint32_t id, float x)
{
    return p->n_replay ? sampi_gpu_replay(p->op, p->n_ops, id, x) : p->scaled ? sampi_gpu_scaled(x, p->r) : x;
}

/* Adds elements of a team's cells to the row's list: those whose bits a pass has written to `wanted`. Their ids are
   collected first, one of each lane that has one at a time, so that all lanes then have as many tokens to add. n_list
   gives each team its own places; past the list's end only the count grows. The logits are read again, because they are
   few, and a cell's logits at three times would not fit the registers. Tokens of a bucket get their codes and weights
   too. An item's two older logits (at_order, at_p) are computed here from the row, because no list existed when the
   samplers ran that they belong to. A pass calls it after its own loop: lanes that added elements inside the loop would
   separate there, and run the rest of it one after the other. */
static SAMPI_UNCLONED void sampi_gpu_append_wanted(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    enum { FULL = SAMPI_GROUP - SAMPI_WARP };
    sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const uint32_t me = sampi_gpu_lane(), lanes = sampi_gpu_lanes(), before = ((uint32_t)1 << me) - 1;
    const uint32_t end = p.end * SAMPI_WARP, *wanted = a->wanted + row * a->groups * SAMPI_WARP;
    const bool weighs = st->pass == SAMPI_PASS_BUCKET || st->pass == SAMPI_PASS_EDGE, by_score = st->search.by_score;
    const double mean = st->search.mean;
    uint64_t *code = a->code + row * SAMP_GPU_LIST, *weight = a->wide + row * SAMPI_WIDE;
    sampi_gpu_item *item = sampi_gpu_items(a, row, st->buffer);
    /* st->order_at is 1 + the number of operations done on the row when a sampler last sorted the array, st->p_at is
       that number + 1 when a sampler last set p; 0: no sampler did, and at_order or at_p of the items has no meaning */
    const uint32_t order_at = (uint32_t)(st->order_at ? st->order_at - 1 : 0);
    const uint32_t p_at = (uint32_t)(st->p_at ? st->p_at - 1 : 0);
    uint32_t *ids = (uint32_t *)(void *)sampi_gpu_aside(a, row, split, 0);
    uint32_t at = p.first * SAMPI_WARP + me, bits = wanted[at], who;
    for (bool more = true; more;) {
        uint32_t n = 0, next = wanted[sampi_gpu_min_of(at + lanes, end - 1)];
        while (more && n <= FULL) {
            while (n <= FULL && (who = sampi_gpu_vote(bits != 0)) != 0) {
                if (bits) ids[n + sampi_gpu_count_bits(who & before)] = sampi_gpu_wanted_id(&p.v, at, bits);
                bits &= bits - 1;
                n += sampi_gpu_count_bits(who);
            }
            if (n > FULL) break; /* the word may have more */
            at += lanes;
            more = at < end + me;
            bits = next;
            next = wanted[sampi_gpu_min_of(at + lanes, end - 1)];
        }
        sampi_gpu_join_lanes(); /* all lanes have written */
        if (n == 0) return;
        const uint32_t from = sampi_gpu_add(&st->n_list, n);
        SAMPI_SIMD()
        SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n && from + i < SAMP_GPU_LIST; i += SAMPI_WARP)
        {
            const uint32_t id = ids[i], to = from + i;
            const float given = p.v.type == SAMP_F32 ? ((const float *)(const void *)p.v.data)[id]
                                                     : sampi_gpu_element(&p.v, id);
            const float x = given + 0.0f, l = sampi_gpu_now(&p, id, x);
            const uint64_t key = sampi_gpu_key(l, id);
            if (weighs) {
                code[to] = sampi_gpu_code(by_score, key, p.max, mean);
                weight[to] = sampi_weight(p.max, l);
            }
            item[to].key = key;
            item[to].at_order = order_at == p.n_ops ? l : order_at ? sampi_gpu_replay(p.op, order_at, id, x) : x;
            item[to].at_p = p_at == p.n_ops ? l : p_at ? sampi_gpu_replay(p.op, p_at, id, x) : x;
        }
    }
}

/* Adds those elements to the row's histogram instead. */
static SAMPI_UNCLONED void sampi_gpu_divide_wanted(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_search *search = &a->state[row].search;
    const uint32_t *wanted = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = p.first * SAMPI_WARP + (uint32_t)lane; i < p.end * SAMPI_WARP; i += SAMPI_WARP)
    {
        for (uint32_t bits = wanted[i]; bits; bits &= bits - 1) {
            const uint32_t id = sampi_gpu_wanted_id(&p.v, i, bits);
            const float l = sampi_gpu_now(&p, id, sampi_gpu_element(&p.v, id) + 0.0f);
            sampi_gpu_add_to_bucket(a, row, search, p.max, sampi_gpu_key(l, id));
        }
    }
}

/* Computes a quarter's weights and distances. The steps are those of sampi_exp, for eight logits side by side: an
   exponential is a chain of 15 operations, each of which waits for the one before. */
SAMPI_INLINE void sampi_gpu_weigh(float max, sampi_gpu_eight *of)
{
    double s[SAMPI_QUARTER], f[SAMPI_QUARTER], e[SAMPI_QUARTER];
    uint64_t power[SAMPI_QUARTER];
    SAMPI_OF_QUARTER of->d[k] = (double)of->l[k];
    SAMPI_AT_ONCE(8, of->d);
    SAMPI_OF_QUARTER of->d[k] -= (double)max;
    SAMPI_AT_ONCE(8, of->d);
    SAMPI_OF_QUARTER of->d[k] = sampi_gpu_max(of->d[k], -700.0);
    SAMPI_OF_QUARTER s[k] = fma(of->d[k], SAMPI_LOG2E, SAMPI_SHIFT);
    SAMPI_AT_ONCE(8, s);
    SAMPI_OF_QUARTER f[k] = SAMPI_SHIFT - s[k];
    SAMPI_AT_ONCE(8, f);
    SAMPI_OF_QUARTER f[k] = fma(of->d[k], SAMPI_LOG2E, f[k]);
    SAMPI_OF_QUARTER e[k] = fma(SAMPI_E8, f[k], SAMPI_E7);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E6);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E5);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E4);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E3);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E2);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], SAMPI_E1);
    SAMPI_OF_QUARTER e[k] = fma(e[k], f[k], 1.0);
    SAMPI_OF_QUARTER power[k] = sampi_bits(s[k]) + 1023 + 40;
    SAMPI_AT_ONCE(8, power);
    SAMPI_OF_QUARTER power[k] <<= 52;
    SAMPI_AT_ONCE(8, power);
    SAMPI_OF_QUARTER e[k] *= sampi_from_bits(power[k]);
    SAMPI_OF_QUARTER of->w[k] = fma(1.0, e[k], SAMPI_INT);
}

/* Returns the sum of sampi_weighted of a quarter, each plus the bits of the double 2^52. The caller subtracts these
   bits 8 times, because turning every double into an integer would take longer than all other steps. */
SAMPI_INLINE uint64_t sampi_gpu_weighted(const sampi_gpu_eight *e)
{
    double r[SAMPI_QUARTER];
    uint64_t sum = 0;
    SAMPI_OF_QUARTER r[k] = fma(SAMPI_INT - e->w[k], e->d[k], SAMPI_INT);
    SAMPI_OF_QUARTER sum += sampi_bits(r[k]);
    return sum;
}

/* Computes the envelopes q [8] of logits l [8], and returns their sum. It is sampi_envelope without its branch. */
SAMPI_INLINE uint32_t sampi_gpu_envelopes(float max, const float *l, uint32_t *q)
{
    float x[SAMPI_QUARTER], y[SAMPI_QUARTER];
    uint32_t i[SAMPI_QUARTER], n[SAMPI_QUARTER], sum = 0;
    SAMPI_OF_QUARTER x[k] = max - l[k]; /* these two are sampi_octaves */
    SAMPI_AT_ONCE(8, x);
    SAMPI_OF_QUARTER x[k] *= SAMPI_ENVELOPE_UNIT;
    SAMPI_AT_ONCE(8, x);
    SAMPI_OF_QUARTER y[k] = sampi_gpu_minf(x[k], SAMPI_FAR);
    SAMPI_OF_QUARTER i[k] = (uint32_t)(int32_t)y[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER n[k] = i[k] >> 25;
    SAMPI_AT_ONCE(8, n);
    SAMPI_OF_QUARTER n[k] = sampi_gpu_min_of(n[k], 31);
    SAMPI_OF_QUARTER i[k] &= 0x1FFFFFFu;
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k] = ((uint32_t)1 << 26) - 1 - i[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k] >>= n[k];
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER i[k]++;
    SAMPI_AT_ONCE(8, i);
    SAMPI_OF_QUARTER n[k] = 0 - (uint32_t)(x[k] < SAMPI_FAR);
    SAMPI_OF_QUARTER q[k] = i[k] & n[k];
    SAMPI_OF_QUARTER sum += q[k];
    return sum;
}

/* The sums of a lane's cell: n tokens; z, of weights; s, of weights times distances; low: the smallest logit. Bit i of
   `wanted` is set if element i goes to the row's list. */
typedef struct sampi_gpu_cell_sums {
    uint64_t n, z, s;
    float low;
    uint32_t wanted;
} sampi_gpu_cell_sums;

SAMPI_INLINE void sampi_gpu_sum_cell(const sampi_gpu_pass *p, uint32_t group, int lane, float floor,
                                     sampi_gpu_cell_sums *of)
{
    sampi_gpu_eight e;
    uint32_t n = 0, wanted = 0;
    uint64_t z = 0, s = 0;
    float low = INFINITY;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        uint32_t bits = 0;
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        sampi_gpu_weigh(p->max, &e);
        SAMPI_OF_QUARTER
        {
            /* removed tokens must not become the smallest */
            const float x = e.l[k] >= -FLT_MAX ? e.l[k] : INFINITY;
            n += e.l[k] >= -FLT_MAX;
            bits |= (uint32_t)(e.l[k] >= floor) << k;
            low = x < low ? x : low;
            z += sampi_bits(e.w[k]);
        }
        wanted |= bits << quarter * SAMPI_QUARTER;
        s += sampi_gpu_weighted(&e);
    }
    of->n = n, of->low = low, of->wanted = wanted;
    /* once for the 32 elements, the 2^52 beside each weight */
    of->z = z - 32 * sampi_bits(SAMPI_INT);
    of->s = s - 32 * sampi_bits(SAMPI_INT);
}

/* SUMS computes n, z, s and low (see sampi_gpu_state), and, if asked for, the list of tokens with keys from a floor on.
   All elements of a cell (32 of a lane) are weighed, also removed ones, whose weight is zero: a branch would take
   longer. require_sums asks for this pass when the maximum is known, which weights are relative to. It writes the
   team's part; end_sums adds the parts up. */
static void sampi_gpu_walk_sums(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_state *st = &a->state[row];
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    /* this floor is sampi_gpu_floor of a logit: each token with that logit has a key at least as large, so comparing
       logits is enough */
    const float floor = st->listing ? sampi_gpu_logit(st->floor) : INFINITY;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    uint64_t n = 0, z = 0, s = 0;
    float low = INFINITY;
    SAMPI_SIMD(reduction(+ : n, z, s) reduction(min : low))
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar);
        for (uint32_t i = from; i < from + 8 && i < p.end; i++) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        for (; cells; cells &= cells - 1) {
            const uint32_t group = from + (uint32_t)__builtin_ctz(cells);
            sampi_gpu_cell_sums of = { 0, 0, 0, INFINITY, 0 };
            sampi_gpu_sum_cell(&p, group, lane, floor, &of);
            n += of.n, z += of.z, s += of.s;
            low = of.low < low ? of.low : low;
            wanted_of[group * SAMPI_WARP + (uint32_t)lane] = of.wanted;
        }
    }
    if (st->listing) sampi_gpu_append_wanted(a, row, split);
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = n, part->sum[1] = z, part->sum[2] = s, part->sum[3] = 0;
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

/* Adds a lane's cell to SIGMA's sums, and returns its maximum. */
SAMPI_INLINE float sampi_gpu_sigma_cell(const sampi_gpu_pass *p, uint32_t group, int lane, double scale,
                                        sampi_gpu_squares *of)
{
    sampi_gpu_eight e;
    float top = -INFINITY;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        SAMPI_OF_QUARTER
        {
            /* a removed token would have an x too, of an infinite distance: it is left out of the sums */
            const uint64_t far_ = sampi_sigma_x(p->max, e.l[k], scale);
            sampi_gpu_square(of, e.l[k] >= -FLT_MAX ? far_ : 0);
            top = e.l[k] > top ? e.l[k] : top;
        }
    }
    return top;
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
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        for (uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar); cells; cells &= cells - 1) {
            sampi_gpu_squares of = { 0, 0, 0, 0 };
            const float max = sampi_gpu_sigma_cell(&p, from + (uint32_t)__builtin_ctz(cells), lane, scale, &of);
            s0 += of.x, s1 += of.high, s2 += of.mixed, s3 += of.low;
            top = max > top ? max : top;
        }
    }
    sampi_gpu_part *part = &a->part[row * a->splits + split];
    part->sum[0] = s0, part->sum[1] = s1, part->sum[2] = s2, part->sum[3] = s3;
    part->max = top, part->low = INFINITY;
}

/* What GATHER, DIVIDE and BUCKET want: codes from lo to hi, or, in the order of keys, logits from floor to top; of
   tokens with the logit of an end the codes decide. */
typedef struct sampi_gpu_range {
    bool by_score;
    uint64_t lo, hi;
    float floor, top;
    double mean;
} sampi_gpu_range;

/* Returns bits of the elements of a lane's cell that are in the range. Its code is short, because few cells are read:
   most warps run it once, and wait for its instructions. */
SAMPI_INLINE uint32_t sampi_gpu_cell_in_range(const sampi_gpu_pass *p, uint32_t group, int lane,
                                              const sampi_gpu_range *in)
{
    const bool pairs = sampi_gpu_paired(&p->v, group);
    uint32_t wanted = 0, ends = 0;
    sampi_gpu_eight e;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        const uint32_t at = (uint32_t)quarter * SAMPI_QUARTER;
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        SAMPI_OF_QUARTER wanted |= (uint32_t)((e.l[k] >= in->floor) & (e.l[k] <= in->top)) << k << at;
        SAMPI_OF_QUARTER ends |= (uint32_t)((e.l[k] == in->floor) | (e.l[k] == in->top)) << k << at;
    }
    for (ends = in->by_score ? wanted : ends & wanted; ends; ends &= ends - 1) {
        const int i = __builtin_ctz(ends);
        const uint32_t id = group * SAMPI_GROUP + sampi_gpu_index(pairs, lane, i);
        const uint64_t key = sampi_gpu_key(sampi_gpu_replay(p->op, p->n_ops, id, sampi_gpu_element(&p->v, id)), id);
        const uint64_t code = sampi_gpu_code(in->by_score, key, p->max, in->mean);
        wanted &= ~((uint32_t)(code < in->lo || code > in->hi) << i);
    }
    return wanted;
}

/* Returns what the row's pass wants: GATHER tokens with keys from floor on (require_list), DIVIDE, BUCKET and EDGE
   those with codes in [lo, hi] (ask_bucket). All make one comparison: a code is ~key, so keys from floor on are codes
   up to ~floor. */
SAMPI_INLINE sampi_gpu_range sampi_gpu_range_of(const sampi_gpu_state *st)
{
    const bool gather = st->pass == SAMPI_PASS_GATHER;
    sampi_gpu_range in = { !gather && st->search.by_score, gather ? 0 : st->search.lo,
                           gather ? ~st->floor : st->search.hi, -FLT_MAX, INFINITY, st->search.mean };
    /* a cell's maximum bounds its keys, but not its tokens' scores: in the order of scores every cell that is not empty
       is read */
    if (!in.by_score && in.hi < ~sampi_gpu_floor(-FLT_MAX)) in.floor = sampi_gpu_logit(~in.hi);
    /* in the order of keys logits decide, except at both ends */
    if (!in.by_score && in.lo) in.top = sampi_gpu_logit(~in.lo);
    return in;
}

/* GATHER and BUCKET make a list, DIVIDE a histogram. Few cells have such tokens, and no lane waits for another: each
   looks through the maxima of its own cells, and reads only cells that can have one. The function that asked has set
   n_list to 0. The items come in no order, and differently each time, and nothing may depend on that. */
static void sampi_gpu_walk_list(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_range in = sampi_gpu_range_of(&a->state[row]);
    const float bar = in.floor > p.bar ? in.floor : p.bar;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        uint32_t cells = sampi_gpu_live_cells(&p, from, lane, bar);
        for (uint32_t i = from; i < from + 8 && i < p.end; i++) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        /* then only the few cells (32 elements) that can have a wanted token */
        for (; cells; cells &= cells - 1) {
            const uint32_t group = from + (uint32_t)__builtin_ctz(cells);
            wanted_of[group * SAMPI_WARP + (uint32_t)lane] = sampi_gpu_cell_in_range(&p, group, lane, &in);
        }
    }
    if (a->state[row].pass == SAMPI_PASS_DIVIDE)
        sampi_gpu_divide_wanted(a, row, split);
    else
        sampi_gpu_append_wanted(a, row, split);
}

/* Computes the envelope's sum of each group of 1024 tokens from those of its cells. These go through memory, because a
   group's cells belong to 32 lanes. A cell's sum fits 32 bits: it has 32 envelopes of at most 2^26 each. */
static SAMPI_CALLED void sampi_gpu_sum_groups(const sampi_gpu_args *a, size_t row, uint32_t first, uint32_t end)
{
    const uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    uint64_t *sum = a->sum + row * a->groups;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t group = first + (uint32_t)lane; group < end; group += SAMPI_WARP)
    {
        uint64_t all = 0;
        SAMPI_UNROLL(8) for (uint32_t i = 0; i < SAMPI_WARP; i++) all += cell_sum[group * SAMPI_WARP + i];
        sum[group] = all;
    }
}

/* Adds a lane's cell to the buckets of HIST, which are even (sampi_gpu_bucket). A token without a weight adds nothing
   to a mass. own, if it is not NULL: the team's own sums of masses, 32 bits of each, and as far behind the other 32,
   because the device has no wider atomics there. */
SAMPI_INLINE void sampi_gpu_hist_cell(const sampi_gpu_pass *p, uint32_t group, int lane,
                                      const sampi_gpu_search *search, uint64_t *mass, uint64_t *count, uint32_t *own)
{
    sampi_gpu_eight e;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        uint32_t at[SAMPI_QUARTER];
        uint64_t w[SAMPI_QUARTER];
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        sampi_gpu_weigh(p->max, &e);
        if (search->by_score) SAMPI_OF_QUARTER e.d[k] = -fabs(-e.d[k] - search->mean);
        SAMPI_OF_QUARTER e.d[k] *= -64.0;
        SAMPI_AT_ONCE(8, e.d);
        SAMPI_OF_QUARTER e.d[k] = sampi_gpu_even(e.d[k]);
        SAMPI_OF_QUARTER at[k] = (uint32_t)(int32_t)e.d[k];
        SAMPI_AT_ONCE(8, at);
        SAMPI_OF_QUARTER at[k] = sampi_gpu_min_of(at[k], SAMPI_BUCKETS - 1);
        SAMPI_OF_QUARTER w[k] = sampi_bits(e.w[k]) - sampi_bits(SAMPI_INT);
        if (own) {
            uint32_t low[SAMPI_QUARTER], rest[SAMPI_QUARTER], *sum[SAMPI_QUARTER];
            SAMPI_OF_QUARTER sum[k] = &own[at[k]];
            SAMPI_AT_ONCE(8, sum);
            SAMPI_OF_QUARTER low[k] = sampi_gpu_near_add(sum[k], (uint32_t)w[k]);
            SAMPI_OF_QUARTER rest[k] = (uint32_t)(w[k] >> 32);
            SAMPI_OF_QUARTER low[k] += (uint32_t)w[k];
            SAMPI_AT_ONCE(8, low);
            SAMPI_OF_QUARTER rest[k] += low[k] < (uint32_t)w[k]; /* the carry */
            SAMPI_OF_QUARTER sampi_gpu_near_add_some(sum[k] + SAMPI_BUCKETS, rest[k]);
            continue;
        }
        SAMPI_OF_QUARTER
        {
            if (!(e.l[k] >= -FLT_MAX)) continue;
            if (search->counting) __atomic_fetch_add(&count[at[k]], (uint64_t)1, __ATOMIC_RELAXED);
            if (search->mass) __atomic_fetch_add(&mass[at[k]], w[k], __ATOMIC_RELAXED);
        }
    }
}

/* Clears a team's own sums. */
static void sampi_gpu_begin_own(uint32_t *own)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < 2 * SAMPI_BUCKETS; i += 8 * SAMPI_WARP)
    {
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) own[i + k * SAMPI_WARP] = 0;
    }
}

/* Adds a team's own sums to the row's. */
static void sampi_gpu_end_own(const uint32_t *own, uint64_t *mass)
{
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < SAMPI_BUCKETS; i += 8 * SAMPI_WARP)
    {
        uint32_t low[8], high[8];
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) low[k] = own[i + k * SAMPI_WARP];
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++) high[k] = own[i + k * SAMPI_WARP + SAMPI_BUCKETS];
        SAMPI_AT_ONCE(8, low);
        SAMPI_AT_ONCE(8, high);
        SAMPI_UNROLL(8) for (uint32_t k = 0; k < 8; k++)
        {
            const uint64_t sum = (uint64_t)high[k] << 32 | low[k];
            if (sum) __atomic_fetch_add(&mass[i + k * SAMPI_WARP], sum, __ATOMIC_RELAXED);
        }
    }
}

/* HIST computes mass and count of each bucket of a histogram, or one of them if the other does not matter;
   begin_histogram has cleared the buckets. Both are integers, so no result shows the order of the atomics. All teams of
   the row add to the same buckets. A team with many tokens sums masses in its own memory first: the memory that all
   teams share would do so many atomics one after the other. */
static void sampi_gpu_walk_hist(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    const sampi_gpu_search search = a->state[row].search;
    uint64_t *mass = a->mass + row * SAMPI_BUCKETS, *count = a->count + row * SAMPI_BUCKETS;
    uint32_t *own = search.counting || p.end - p.first < SAMPI_GROUPS_MANY ? NULL : sampi_gpu_near();
    if (own) sampi_gpu_begin_own(own);
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = p.first; from < p.end; from += 8)
    {
        for (uint32_t cells = sampi_gpu_live_cells(&p, from, lane, p.bar); cells; cells &= cells - 1)
            sampi_gpu_hist_cell(&p, from + (uint32_t)__builtin_ctz(cells), lane, &search, mass, count, own);
    }
    if (own) sampi_gpu_end_own(own, mass);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* Returns a race without a winner yet, for a lane's tokens. */
static sampi_race sampi_gpu_race_of(const sampi_gpu_step *step, uint64_t position, float max)
{
    sampi_race race = { step->seed, position, step->stream, max, -INFINITY, 0, (double)INFINITY, 0 SAMPI_NO_LIST };
    return race;
}
#endif

/* Returns the sum of the envelopes of a lane's cell; writes them to q [1024], by index in the group, if that is not
   NULL. With an edge, only of the tokens above it, with their logits at the time of the draw; bits of those in it go to
   *inside. */
SAMPI_INLINE uint32_t sampi_gpu_draw_cell(const sampi_gpu_pass *p, uint32_t group, int lane, bool edge, float floor,
                                          float top, float factor, uint64_t *q, uint32_t *inside)
{
    const bool pairs = sampi_gpu_paired(&p->v, group);
    sampi_gpu_eight e;
    uint32_t sum = 0, bits = 0;
    sampi_gpu_first_quarter(p, group, lane, &e);
    SAMPI_QUARTERS
    {
        sampi_gpu_next_quarter(p, quarter, lane, &e);
        if (edge) {
            uint32_t in[SAMPI_QUARTER], of = 0;
            SAMPI_OF_QUARTER in[k] = e.l[k] >= floor;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER in[k] &= e.l[k] <= top;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER in[k] <<= k;
            SAMPI_AT_ONCE(8, in);
            SAMPI_OF_QUARTER of |= in[k];
            bits |= of << quarter * SAMPI_QUARTER;
            SAMPI_OF_QUARTER e.later[k] = sampi_roundf(e.l[k] * factor);
            SAMPI_AT_ONCE(8, e.later);
            SAMPI_OF_QUARTER e.later[k] = sampi_gpu_maxf(e.later[k], -FLT_MAX); /* sampi_gpu_finite */
            SAMPI_OF_QUARTER e.later[k] = sampi_gpu_minf(e.later[k], FLT_MAX);
            SAMPI_OF_QUARTER e.l[k] = e.l[k] > top ? e.later[k] : -INFINITY;
            SAMPI_AT_ONCE(8, e.l);
        }
        sum += sampi_gpu_envelopes(p->max, e.l, e.q);
        if (q) SAMPI_OF_QUARTER q[sampi_gpu_index(pairs, lane, quarter * SAMPI_QUARTER + k)] = e.q[k];
    }
    *inside = bits;
    return sum;
}

/* Computes the envelope's sums of the cells of some groups; of one group, if q [1024] is not NULL, also each token's
   envelope. A draw needs both, one after the other, and one function has its instructions once. For EDGE it also writes
   which tokens are in the bucket to `wanted`. */
static SAMPI_UNCLONED void sampi_gpu_sum_envelopes(const sampi_gpu_args *a, size_t row, uint32_t split,
                                                   uint32_t first, uint32_t end, uint64_t *q)
{
    const sampi_gpu_state *st = &a->state[row];
    const bool edge = !q && st->pass == SAMPI_PASS_EDGE;
    sampi_gpu_pass p = sampi_gpu_pass_of(a, row, split);
    float bar = p.bar, floor = 0.0f, top = 0.0f, factor = 1.0f;
    p.first = first, p.end = end;
    if (edge) {
        const sampi_gpu_range in = sampi_gpu_range_of(st);
        floor = in.floor, top = in.top, factor = st->factor;
        p.max = st->then;
        bar = floor > bar ? floor : bar;
    }
    uint32_t *cell_sum = a->cell_sum + row * a->groups * SAMPI_WARP;
    uint32_t *wanted_of = a->wanted + row * a->groups * SAMPI_WARP;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t from = first; from < end; from += 8)
    {
        uint32_t cells = q ? 1 : sampi_gpu_live_cells(&p, from, lane, bar);
        for (uint32_t i = from; i < from + 8 && i < end; i++) {
            cell_sum[i * SAMPI_WARP + (uint32_t)lane] = 0;
            if (edge) wanted_of[i * SAMPI_WARP + (uint32_t)lane] = 0;
        }
        for (; cells; cells &= cells - 1) {
            const uint32_t at = (from + (uint32_t)__builtin_ctz(cells)) * SAMPI_WARP + (uint32_t)lane;
            uint32_t inside = 0;
            cell_sum[at] = sampi_gpu_draw_cell(&p, at / SAMPI_WARP, lane, edge, floor, top, factor, q, &inside);
            if (edge) wanted_of[at] = inside;
        }
    }
}

/* DRAW computes the sum of the envelope over each group of 1024 tokens. The draw (row_draw in gpu/choosing.h) then
   finds a group by these sums, and computes the envelopes of that group's elements again. Groups without remaining
   tokens are written too, because their sums may be those of an earlier draw. EDGE does that for the tokens above the
   bucket with the end of a prefix, and makes a list of those in it. */
static void sampi_gpu_walk_draw(const sampi_gpu_args *a, size_t row, uint32_t split)
{
    const uint32_t first = sampi_gpu_first(a, split), end = sampi_gpu_first(a, split + 1);
    const bool edge = a->state[row].pass == SAMPI_PASS_EDGE;
    sampi_gpu_sum_envelopes(a, row, split, first, end, NULL);
    if (edge) sampi_gpu_append_wanted(a, row, split);
    sampi_gpu_sum_groups(a, row, first, end);
}

#ifdef SAMPLING_GUMBEL_DECLARED
/* RACE runs gumbel's race of all remaining tokens. Each lane writes the token of its own that comes first, at equal
   times the larger key, as sampi_race_run does; the step then finds the first of all lanes. Elements are read one by
   one: each takes so much work that 32 of them at once would not fit the registers. */
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
        case SAMPI_PASS_DIVIDE:
        case SAMPI_PASS_BUCKET: sampi_gpu_walk_list(a, row, split); break;
        case SAMPI_PASS_HIST: sampi_gpu_walk_hist(a, row, split); break;
        case SAMPI_PASS_EDGE:
        case SAMPI_PASS_DRAW: sampi_gpu_walk_draw(a, row, split); break;
#ifdef SAMPLING_GUMBEL_DECLARED
        case SAMPI_PASS_RACE: sampi_gpu_walk_race(a, row, split); break;
#endif
        default: break;
    }
}
