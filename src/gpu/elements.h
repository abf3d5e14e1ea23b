/* ================================================================================================== >>elements
   One logit, one key, one operation. The functions take a row as the caller left it, its mask, and its holes: tokens
   whose logits are changed and kept beside the row. They return the logits of a lane's cell, as the operations have
   changed them. A group is 1024 elements of a row. A cell is the 32 elements of a group that belong to one lane of a
   warp, chosen so that neighbouring lanes read neighbouring words. A key is a token in 64 bits, logit above id, so
   that one comparison of integers follows the order of tokens.

   The row itself is never written. A logit that is read is brought up to date by repeating the operations (the
   samplers' changes of the row). Passes call these functions for whole cells, steps for single tokens, the host
   (gpu/results.h) for the contents of a key. The functions write only through pointers that they get for it. */

/* Adds to a counter that teams share; returns its old value. Additions are relaxed; sampi_gpu_fence orders them
   against other memory: if team A writes, fences and adds, and team B sees the addition by sampi_gpu_look, B reads
   what A wrote. gcc's device compiler turns any order but relaxed into one or two fences of the whole system, so there
   are no more fences than needed, all in sampi_gpu_team (gpu/advance.h); the probe of gpu/device.h counts without
   any. */
static uint32_t sampi_gpu_add(uint32_t *x, uint32_t y) { return __atomic_fetch_add(x, y, __ATOMIC_RELAXED); }
/* Whether all n teams have arrived, and no other team has seen that before: then the counter is 0 again. */
static bool sampi_gpu_claim(uint32_t *arrived, uint32_t n)
{
    return __atomic_compare_exchange_n(arrived, &n, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
/* A barrier of the lanes of a warp (gpu/list.h says where one is needed): gcc puts a barrier behind each atomic outside
   of a simd loop. The sum is not used, so no lane waits for it. */
SAMPI_INLINE void sampi_gpu_meet(sampi_gpu_state *st) { (void)sampi_gpu_add(&st->met, 0); }

/* Returns a token's key, its logit and id in 64 bits. sampi_key with its sign bit flipped has the order of unsigned
   numbers. The id is inverted, so of equal logits the smaller id has the larger key. The largest key of a row is its
   first token. */
static uint64_t sampi_gpu_key(float l, uint32_t id)
{
    return (uint64_t)((uint32_t)sampi_key(l) ^ 0x80000000u) << 32 | (uint32_t)~id;
}
static float sampi_gpu_logit(uint64_t key) { return sampi_unkey((int32_t)((uint32_t)(key >> 32) ^ 0x80000000u)); }
static uint32_t sampi_gpu_id(uint64_t key) { return ~(uint32_t)key; }
/* Returns the smallest key (logit above id, in 64 bits) with that logit: the largest id has the smallest key. */
static uint64_t sampi_gpu_floor(float l) { return sampi_gpu_key(l, 0xFFFFFFFFu); }

/* Returns the smaller index. A read past the end of an array uses it to read the last element instead, whose value is
   then ignored; so the read needs no branch. */
SAMPI_INLINE uint32_t sampi_gpu_min_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Returns all bits set if x, else 0. A sum of selected terms then has no branch. From `k < lane ? x : 0` gcc makes a
   loop that ends at the first k >= lane, which differs between lanes, and a device then runs the rest one lane at a
   time. */
SAMPI_INLINE uint64_t sampi_gpu_mask(bool x) { return 0 - (uint64_t)x; }

/* Returns the sum of the x of this lane and those before it. In C there is one lane. */
SAMPI_INLINE uint64_t sampi_gpu_running_sum(uint64_t x)
{
    const uint32_t lane = sampi_gpu_lane(), lanes = sampi_gpu_lanes();
    SAMPI_UNROLL(5)
    for (uint32_t k = 1; k < lanes; k *= 2)
        x += sampi_gpu_of_lane(x, (lane - k) % SAMPI_WARP) & sampi_gpu_mask(lane >= k);
    return x;
}

/* A row to read from. Nothing in it changes during a pass. */
typedef struct sampi_gpu_view {
    const char *data;
    const uint32_t *mask, *hole; /* bits of masked and of changed tokens; NULL if there are none */
    uint32_t n;
    int32_t type;
    bool pairs;
} sampi_gpu_view;

/* Returns a row's job, its chain on the device. Jobs in memory are as long as the longest chain of the batch needs, not
   as long as the struct, so fewer bytes are sent. Jobs change only between passes, by one team. */
static sampi_gpu_job *sampi_gpu_job_of(const sampi_gpu_args *a, size_t row)
{
    return (sampi_gpu_job *)(void *)(a->job + row * a->job_size);
}

/* Returns the ids, ascending, whose logits logit_bias, penalties or dry change in the row. Their place depends on who
   wrote them last, the host or the device. */
static const int32_t *sampi_gpu_ids(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    return job->side == SAMPI_GPU_SENT ? a->id + job->id : a->kept_id + (2 * row + job->side) * SAMPI_RULES;
}

/* Returns the view of a row. Masks and places are numbered by job; the logits are in the caller's row that the place
   names. Rows without changed ids have no holes (elements taken out of the row), so passes do not look for any. Each
   team makes a view for each pass, and so do steps that read single tokens. */
static sampi_gpu_view sampi_gpu_view_of(const sampi_gpu_args *a, size_t row)
{
    const size_t size = a->type == SAMP_F64 ? 8 : a->type == SAMP_F32 ? 4 : 2;
    sampi_gpu_view v;
    v.data = a->data + a->place[row].data_row * a->stride * size;
    v.mask = a->mask ? a->mask + row * a->mask_stride : NULL;
    v.hole = sampi_gpu_job_of(a, row)->n_ids ? a->hole + row * a->groups * SAMPI_WARP : NULL;
    v.n = a->n_vocab;
    v.type = a->type;
    v.pairs = a->pairs;
    return v;
}

/* Returns the index in its group of element t of a lane's cell (its 32 elements of a group of 1024). 16-bit elements
   are read as words of two, so a lane's elements are pairs of neighbours. A caller that turns a bit or index of a cell
   into an id must pass the same `pairs` as the read did: that of sampi_gpu_paired, which is false for a last group that
   is not full. */
SAMPI_INLINE uint32_t sampi_gpu_index(bool pairs, int lane, int t)
{
    return pairs ? (uint32_t)((t >> 1) * 64 + 2 * lane + (t & 1)) : (uint32_t)(t * SAMPI_WARP + lane);
}
/* Returns whether a group of 1024 elements is read in pairs. A last group that is not full is read element by
   element. */
SAMPI_INLINE bool sampi_gpu_paired(const sampi_gpu_view *v, uint32_t group)
{
    return v->pairs && (group + 1) * SAMPI_GROUP <= v->n;
}

/* Returns an f16 or bf16 as f32. The type is the same for a whole launch, so the branch never diverges. */
SAMPI_INLINE float sampi_gpu_half(uint32_t h, int32_t type)
{
    return type == SAMP_F16 ? sampi_f16_to_f32((uint16_t)h) : sampi_bf16_to_f32((uint16_t)h);
}

/* The index of element i of a lane's 32 elements, `apart` elements from each other; or, with pairs, of pairs of
   neighbours. */
#define SAMPI_PLACE(pairs, apart) ((pairs) ? sampi_gpu_index(true, lane, i) : (uint32_t)i * (apart) + (uint32_t)lane)

/* Reads n elements of a lane into x: the first at base + lane, the others `apart` elements from each other. n is a
   constant, at most 32. Masked elements, holes (changed tokens, which are kept beside the row), and indices behind the
   end of the row give -inf. All reads are issued before the first value is used. */
SAMPI_INLINE void sampi_gpu_read_each(const sampi_gpu_view *v, uint32_t base, uint32_t apart, bool paired, int n,
                                      int lane, float *x)
{
    const uint32_t last = v->n - 1;
    const bool full = base + (uint32_t)(n - 1) * apart + SAMPI_WARP <= v->n, pairs = paired && full;
    /* a load past the end reads the last element instead: a load behind a branch would not be issued with the others */
#define SAMPI_EACH          SAMPI_UNROLL(32) for (int i = 0; i < n; i++)
#define SAMPI_AT            (base + SAMPI_PLACE(pairs, apart))
#define SAMPI_CLAMPED(type) ((const type *)(const void *)v->data)[SAMPI_AT < last ? SAMPI_AT : last]
    if (v->type == SAMP_F32 && full) {
        const float *p = (const float *)(const void *)v->data + base + (uint32_t)lane;
        SAMPI_EACH x[i] = p[(uint32_t)i * apart];
    } else if (v->type == SAMP_F32) {
        SAMPI_EACH x[i] = SAMPI_CLAMPED(float);
    } else if (v->type == SAMP_F64) {
        SAMPI_EACH x[i] = (float)SAMPI_CLAMPED(double);
    } else {
        uint32_t u[32];
        if (pairs) {
            const uint32_t *p = (const uint32_t *)(const void *)v->data + base / 2 + (uint32_t)lane;
            /* all words are read first, and then divided into halves */
            SAMPI_UNROLL(16) for (int i = 0; i < n / 2; i++) u[2 * i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(16) for (int i = 0; i < n / 2; i++) u[2 * i + 1] = u[2 * i] >> 16, u[2 * i] &= 0xFFFF;
        } else {
            SAMPI_EACH u[i] = SAMPI_CLAMPED(uint16_t);
        }
        if (v->type == SAMP_F16) {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_F16);
        } else {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_BF16);
        }
    }
    /* masks and holes come after the reads, which are in flight meanwhile */
    if (v->mask) {
        SAMPI_EACH x[i] = v->mask[(SAMPI_AT < last ? SAMPI_AT : last) / 32] >> SAMPI_AT % 32 & 1 ? x[i] : -INFINITY;
    }
    if (v->hole) {
        SAMPI_EACH x[i] = v->hole[(SAMPI_AT < last ? SAMPI_AT : last) / 32] >> SAMPI_AT % 32 & 1 ? -INFINITY : x[i];
    }
    if (!full) {
        SAMPI_EACH x[i] = SAMPI_AT > last ? -INFINITY : x[i];
    }
#undef SAMPI_EACH
#undef SAMPI_AT
#undef SAMPI_CLAMPED
}

/* Reads a lane's 32 elements of a group (a cell) into x. */
SAMPI_INLINE void sampi_gpu_read(const sampi_gpu_view *v, uint32_t group, int lane, float *x)
{
    sampi_gpu_read_each(v, group * SAMPI_GROUP, SAMPI_WARP, v->pairs, 32, lane, x);
}

/* Returns one element, or -inf if it is masked. Holes are ignored: a changed token's logit stays in the row, which is
   the caller's and is never written. For tokens that a pass has found, and for changed tokens. */
static float sampi_gpu_element(const sampi_gpu_view *v, uint32_t i)
{
    return sampi_element(v->data, (samp_dtype)v->type, v->mask, i);
}

/* Returns a token's code: its place in an order as an integer; a smaller code comes earlier. In the order of keys
   (logits, then ids) each token has its own code. In typical's order of scores tokens may share one; keys then decide
   among them. (The bits of non-negative doubles have the order of the doubles.) Passes, changed tokens and the search
   all use this function, so they agree about a token's place. */
static uint64_t sampi_gpu_code(bool by_score, uint64_t key, float max, double mean)
{
    return by_score ? sampi_bits(fabs(((double)max - (double)sampi_gpu_logit(key)) - mean)) : ~key;
}

/* Returns the bucket of a code in [lo, hi]. Small floats have many codes close together, so a row's logits would fall
   into few buckets of equal numbers of codes; the first histogram therefore has buckets of equal width, 1/64 nat, and
   of 1/16 from 12 nats on: at 28 a weight is 0. A broken kernel's numbers do not lead out of the array, because the
   trial of a device (gpu/canary.h) must survive. */
#define SAMPI_EVEN 64

/* Returns the place of a distance of x / 64 nats among the even buckets. */
SAMPI_INLINE double sampi_gpu_even(double x)
{
    return sampi_gpu_min(x, fma(x, 0.25, 576.0)); /* the two are the same at x = 768 */
}

SAMPI_INLINE uint32_t sampi_gpu_bucket(const sampi_gpu_search *search, float max, uint64_t code)
{
    if (search->shift < SAMPI_EVEN)
        return sampi_gpu_min_of((uint32_t)((code - search->lo) >> search->shift), SAMPI_FINE - 1);
    /* both are distances in nats: a score from 0, a logit from the maximum */
    const double score = sampi_from_bits(code), distance = (double)max - (double)sampi_gpu_logit(~code);
    const double x = sampi_gpu_even(64.0 * (search->by_score ? score : distance));
    return x < SAMPI_BUCKETS ? sampi_gpu_min_of((uint32_t)(int32_t)x, SAMPI_BUCKETS - 1) : SAMPI_BUCKETS - 1;
}

/* Returns a logit after adaptive_p's map, which favours tokens near a target probability: its probability by the
   maximum and the sum z of weights, then the map as on the CPU. */
static float sampi_gpu_adapt(float l, float max, uint64_t z, float aim)
{
    return sampi_adaptive_p_logit((float)(sampi_exp(max, l) / (double)z), aim);
}

/* Returns an operation that needs no more than a factor or a key. */
SAMPI_INLINE sampi_gpu_op sampi_gpu_op_of(int64_t kind, float f, uint64_t k)
{
    const sampi_gpu_op op = { kind, f, 0.0f, k, 0, 0.0 };
    return op;
}

/* Whether the operation removes tokens; otherwise it changes logits. */
static bool sampi_gpu_removing(const sampi_gpu_op *o) { return o->kind >= SAMPI_OP_FROM; }

/* Returns a logit after an operation that changes all logits. A masked token stays masked. */
static float sampi_gpu_change(const sampi_gpu_op *o, float l)
{
    if (!(l >= -FLT_MAX)) return l;
    if (o->kind == SAMPI_OP_SCALE) return sampi_finite(sampi_roundf(l * o->f));
    if (o->kind == SAMPI_OP_SHIFT) return sampi_log_softmaxed(o->mean, l);
    if (o->kind == SAMPI_OP_BEND) return sampi_smoothed((double)o->max, (double)o->f, o->mean, l);
    return sampi_gpu_adapt(l, o->max, o->t, o->f);
}

/* Whether the operation keeps the order: a larger logit stays at least as large as a smaller one. Scales and shifts do.
   A smoothing curve above 3 does not: it lifts tokens near the maximum above the maximum. */
static bool sampi_gpu_keeps_order(const sampi_gpu_op *o)
{
    return o->kind == SAMPI_OP_SCALE || o->kind == SAMPI_OP_SHIFT || (o->kind == SAMPI_OP_BEND && o->mean <= 1.0);
}

/* Whether an operation that removes tokens keeps this token. replay asks it for a token of the row, list_keep for a
   token of the list, so both agree. */
SAMPI_INLINE bool sampi_gpu_stays(const sampi_gpu_op *o, uint64_t key)
{
    if (o->kind == SAMPI_OP_FROM) return key >= o->k;
    if (o->kind == SAMPI_OP_UNTIL) return key <= o->k;
    /* SCORE: the score that the token had when typical ran */
    uint64_t code = sampi_gpu_code(true, key, o->max, o->mean);
    return code < o->t || (code == o->t && key >= o->k);
}

/* Returns a logit after n operations; -inf if one of them removes the token. The passes repeat all operations,
   append_wanted those up to a time that an item records, apply_changed only the newest. */
static float sampi_gpu_replay(const sampi_gpu_op *op, uint32_t n, uint32_t id, float l)
{
    l += 0.0f; /* -0 becomes +0 */
    /* operations are repeated in the order of the samplers; a removed token stays removed */
    for (uint32_t i = 0; i < n && l >= -FLT_MAX; i++) {
        const sampi_gpu_op *o = &op[i];
        if (!sampi_gpu_removing(o))
            l = sampi_gpu_change(o, l);
        else if (!sampi_gpu_stays(o, sampi_gpu_key(l, id)))
            l = -INFINITY;
    }
    return l;
}

/* Returns a bound on logits after n operations. The bound changes as a logit does while the order is kept; an operation
   that does not keep it makes the bound FLT_MAX. Operations that remove tokens may leave the bound too high, never too
   low. (Smoothing would lower a bound above the maximum of the remaining tokens; such a bound becomes that maximum
   first.) Used where a maximum of the row as it came bounds tokens as they are now: sampi_gpu_live for a cell (32
   elements), find_floor for a threshold. */
static float sampi_gpu_rescale(const sampi_gpu_op *op, uint32_t n, float l)
{
    for (uint32_t i = 0; i < n; i++)
        if (sampi_gpu_keeps_order(&op[i]))
            l = sampi_gpu_change(&op[i], op[i].kind == SAMPI_OP_BEND && l > op[i].max ? op[i].max : l);
        else if (!sampi_gpu_removing(&op[i]) && l >= -FLT_MAX)
            l = FLT_MAX;
    return l;
}

/* Returns one of a row's two lists of remaining tokens. list_keep reads one and writes the other. */
static sampi_gpu_item *sampi_gpu_items(const sampi_gpu_args *a, size_t row, uint32_t buffer)
{
    return a->item + (row * 2 + buffer) * SAMP_GPU_LIST;
}

/* Adds a token to a row's list. Past the list's end only the count grows, by which advance sees that the list was too
   long. For the one team that advances a row (join_changed, repack), whose lanes share the counter. Passes use
   append_wanted. */
SAMPI_INLINE void sampi_gpu_append(uint32_t *n_list, sampi_gpu_item *item, uint64_t key, float at_order, float at_p)
{
    uint32_t i = __atomic_fetch_add(n_list, 1, __ATOMIC_RELAXED);
    if (i >= SAMP_GPU_LIST) return;
    item[i].key = key;
    item[i].at_order = at_order;
    item[i].at_p = at_p;
}
