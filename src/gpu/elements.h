/* ================================================================================================== >>elements
   One logit, one key, one operation. A row as the caller left it comes in, with a mask and with holes (tokens with
   changed logits, kept beside the row); out come the logits of a lane's cell, and what operations have made of them. A
   group is 1024 elements of a row. A cell is the 32 elements of a group that belong to one lane of a warp, chosen so
   that neighbouring lanes read neighbouring words. A key is a token in 64 bits, logit above id, so that one comparison
   of integers is the order of tokens.

   The one thing to know: the row itself is never written. A logit that is read is brought to the present by replaying
   the operations. Passes call these functions for whole cells, steps for single tokens, the host (gpu/results.h) for
   what a key holds. They write only through pointers that they are given for that. */

/* Counters that teams share, and the fence between these and all else: what a team wrote before its fence and then its
   addition, another one reads behind having seen that and its own fence. Any order but relaxed is to gcc's device
   compiler a fence of the whole system, once or twice: so there are no more of them than needed, all in sampi_gpu_team
   (gpu/advance.h); the probe of gpu/device.h counts without any. */
static uint32_t sampi_gpu_add(uint32_t *x, uint32_t y) { return __atomic_fetch_add(x, y, __ATOMIC_RELAXED); }
static uint32_t sampi_gpu_peek(uint32_t *x) { return sampi_gpu_add(x, 0); /* a load might see an old cache line */ }
/* Lanes wait for each other (gpu/list.h says where): behind each atomic outside of a simd loop gcc puts a barrier of
   the warp, and nobody waits for the sum. */
SAMPI_INLINE void sampi_gpu_meet(sampi_gpu_state *st) { (void)sampi_gpu_add(&st->met, 0); }
static void sampi_gpu_fence(void) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }

/* sampi_key with its sign flipped is in the order of unsigned numbers; the id is turned around, so that of equal logits
   the smaller id has the larger key. The largest key of a row is the first token. */
static uint64_t sampi_gpu_key(float l, uint32_t id)
{
    return (uint64_t)((uint32_t)sampi_key(l) ^ 0x80000000u) << 32 | (uint32_t)~id;
}
static float sampi_gpu_logit(uint64_t key) { return sampi_unkey((int32_t)((uint32_t)(key >> 32) ^ 0x80000000u)); }
static uint32_t sampi_gpu_id(uint64_t key) { return ~(uint32_t)key; }
/* Below all keys with that logit: the largest id has the smallest key. */
static uint64_t sampi_gpu_floor(float l) { return sampi_gpu_key(l, 0xFFFFFFFFu); }

/* A read past an end is brought back to it by this: the value is then ignored, but the read has no branch. */
SAMPI_INLINE uint32_t sampi_gpu_min_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* A row to read from: nothing in it changes during a pass. */
typedef struct sampi_gpu_view {
    const char *data;
    const uint32_t *mask, *hole; /* or NULL */
    uint32_t n;
    int32_t type;
    bool pairs;
} sampi_gpu_view;

/* Jobs are as long as the longest chain of the batch, not as the record could be: fewer bytes travel. What it points to
   changes only between passes, and by one team. */
static sampi_gpu_job *sampi_gpu_job_of(const sampi_gpu_args *a, size_t row)
{
    return (sampi_gpu_job *)(void *)(a->job + row * a->job_size);
}

/* The row's changed ids, ascending: where they are depends on who wrote them last, the host or the row itself. */
static const int32_t *sampi_gpu_ids(const sampi_gpu_args *a, size_t row)
{
    const sampi_gpu_job *job = sampi_gpu_job_of(a, row);
    return job->side == SAMPI_GPU_SENT ? a->id + job->id : a->kept_id + (2 * row + job->side) * SAMPI_RULES;
}

/* Masks and places are by job; the logits lie where the place says, which on the caller's device may be anywhere. Rows
   without changed ids have no holes, and no pass looks for any. Made anew by each team for each pass, and by steps that
   look up single tokens. */
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

/* Element t of a lane's cell has this index in its group. 16-bit elements come in words of two, so that a lane's are
   pairs of neighbours. Whoever turns a bit or a place in a cell into an id must ask this with the same `pairs` as the
   read: that of sampi_gpu_paired, which is false for the last group. */
SAMPI_INLINE uint32_t sampi_gpu_index(bool pairs, int lane, int t)
{
    return pairs ? (uint32_t)((t >> 1) * 64 + 2 * lane + (t & 1)) : (uint32_t)(t * SAMPI_WARP + lane);
}
/* The last group of a row is read element by element, if it isn't full. */
SAMPI_INLINE bool sampi_gpu_paired(const sampi_gpu_view *v, uint32_t group)
{
    return v->pairs && (group + 1) * SAMPI_GROUP <= v->n;
}

/* The type is the same for a whole launch, so the branch is never divergent. */
SAMPI_INLINE float sampi_gpu_half(uint32_t h, int32_t type)
{
    return type == SAMP_F16 ? sampi_f16_to_f32((uint16_t)h) : sampi_bf16_to_f32((uint16_t)h);
}

/* Element i of a lane's 32, which are so many apart, or a cell's pairs. */
#define SAMPI_PLACE(pairs, apart) ((pairs) ? sampi_gpu_index(true, lane, i) : (uint32_t)i * (apart) + (uint32_t)lane)

/* A lane's elements: 32 from its place behind base on, so many apart. Masked ones, those taken out, and what lies
   behind the end of the row are -inf. All reads are under way before the first is waited for. */
SAMPI_INLINE void sampi_gpu_read_each(const sampi_gpu_view *v, uint32_t base, uint32_t apart, bool paired, int lane,
                                      float *x)
{
    const uint32_t last = v->n - 1;
    const bool full = base + 31 * apart + SAMPI_WARP <= v->n, pairs = paired && full;
    /* loads past the end read the last element instead: a load behind a branch would not be under way with the others
       */
#define SAMPI_EACH          SAMPI_UNROLL(32) for (int i = 0; i < 32; i++)
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
            /* all words first, then their halves */
            SAMPI_UNROLL(16) for (int i = 0; i < 16; i++) u[2 * i] = p[i * SAMPI_WARP];
            SAMPI_UNROLL(16) for (int i = 0; i < 16; i++) u[2 * i + 1] = u[2 * i] >> 16, u[2 * i] &= 0xFFFF;
        } else {
            SAMPI_EACH u[i] = SAMPI_CLAMPED(uint16_t);
        }
        if (v->type == SAMP_F16) {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_F16);
        } else {
            SAMPI_EACH x[i] = sampi_gpu_half(u[i], SAMP_BF16);
        }
    }
    /* masks and holes after the reads: these are under way meanwhile */
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

/* A lane's cell. */
SAMPI_INLINE void sampi_gpu_read(const sampi_gpu_view *v, uint32_t group, int lane, float *x)
{
    sampi_gpu_read_each(v, group * SAMPI_GROUP, SAMPI_WARP, v->pairs, lane, x);
}

/* One element, masked or not, holes not regarded: for tokens that a pass has found, and for those in the holes. Their
   logits stay in the row, which is the caller's and is never written. */
static float sampi_gpu_element(const sampi_gpu_view *v, uint32_t i)
{
    return sampi_element(v->data, (samp_dtype)v->type, v->mask, i);
}

/* A token's place in an order, as a code: smaller is earlier. That of keys names each token, typical's ties: then keys
   decide among those with the same code. The bits of doubles that aren't negative are in their order. The passes, the
   changed tokens and the search itself ask this one function: else they would not agree about where a token belongs. */
static uint64_t sampi_gpu_code(bool by_score, uint64_t key, float max, double mean)
{
    return by_score ? sampi_bits(fabs(((double)max - (double)sampi_gpu_logit(key)) - mean)) : ~key;
}

/* The bucket of a code in [lo, hi]. The codes of floats lie close where these are small, and a row's would share few
   buckets: the first histogram has even ones, 1/64 nat each. */
#define SAMPI_EVEN 64

SAMPI_INLINE uint32_t sampi_gpu_bucket(const sampi_gpu_search *search, float max, uint64_t code)
{
    if (search->shift < SAMPI_EVEN) return (uint32_t)((code - search->lo) >> search->shift);
    /* both are distances in nats: from the score's zero, and from the maximum */
    const double score = sampi_from_bits(code), distance = (double)max - (double)sampi_gpu_logit(~code);
    const double x = 64.0 * (search->by_score ? score : distance);
    return x < SAMPI_BUCKETS - 1 ? (uint32_t)x : SAMPI_BUCKETS - 1;
}

/* adaptive_p's map of one logit: its probability in the distribution that max and z stand for, and from there on as on
   the CPU. */
static float sampi_gpu_adapt(float l, float max, uint64_t z, float aim)
{
    return sampi_adaptive_p_logit((float)(sampi_exp(max, l) / (double)z), aim);
}

/* An operation with no more than a key or a factor. */
SAMPI_INLINE sampi_gpu_op sampi_gpu_op_of(int64_t kind, float f, uint64_t k)
{
    const sampi_gpu_op op = { kind, f, 0.0f, k, 0, 0.0 };
    return op;
}

/* Tokens go by it; else logits change. */
static bool sampi_gpu_removing(const sampi_gpu_op *o) { return o->kind >= SAMPI_OP_FROM; }

/* One logit, by an operation that changes all of them. A masked token stays masked. */
static float sampi_gpu_change(const sampi_gpu_op *o, float l)
{
    if (!(l >= -FLT_MAX)) return l;
    if (o->kind == SAMPI_OP_SCALE) return sampi_finite(sampi_roundf(l * o->f));
    if (o->kind == SAMPI_OP_SHIFT) return sampi_log_softmaxed(o->mean, l);
    if (o->kind == SAMPI_OP_BEND) return sampi_smoothed((double)o->max, (double)o->f, o->mean, l);
    return sampi_gpu_adapt(l, o->max, o->t, o->f);
}

/* Does it leave a larger logit no smaller than another one? Scales and shifts do; a curve above 3 lifts tokens that are
   near the maximum above it. */
static bool sampi_gpu_keeps_order(const sampi_gpu_op *o)
{
    return o->kind == SAMPI_OP_SCALE || o->kind == SAMPI_OP_SHIFT || (o->kind == SAMPI_OP_BEND && o->mean <= 1.0);
}

/* Does an operation that removes tokens leave this one? Asked by replay for a token of the row and by list_keep for one
   of the list: a token has the same fate in both. */
SAMPI_INLINE bool sampi_gpu_stays(const sampi_gpu_op *o, uint64_t key)
{
    if (o->kind == SAMPI_OP_FROM) return key >= o->k;
    if (o->kind == SAMPI_OP_UNTIL) return key <= o->k;
    /* SCORE: the score that the token had, when typical looked */
    uint64_t code = sampi_gpu_code(true, key, o->max, o->mean);
    return code < o->t || (code == o->t && key >= o->k);
}

/* Apply n operations to a logit: -inf if the token is gone. The passes do all operations, append_cell only those up to
   a moment that an item remembers, apply_changed the newest one. */
static float sampi_gpu_replay(const sampi_gpu_op *op, uint32_t n, uint32_t id, float l)
{
    l += 0.0f; /* -0 becomes +0 */
    /* in the order in which the samplers did them; a token that is gone stays gone */
    for (uint32_t i = 0; i < n && l >= -FLT_MAX; i++) {
        const sampi_gpu_op *o = &op[i];
        if (!sampi_gpu_removing(o))
            l = sampi_gpu_change(o, l);
        else if (!sampi_gpu_stays(o, sampi_gpu_key(l, id)))
            l = -INFINITY;
    }
    return l;
}

/* The same for a bound on logits, which moves as they do where the order stays; a map that mixes them leaves none.
   Operations that remove tokens may leave the bound too high, never too low: smoothing, which would bend down what is
   above the maximum of the tokens left, takes that in its place. Used where a maximum of the row as it came is asked
   about tokens as they are now: live of a cell, find_floor of a threshold. */
static float sampi_gpu_rescale(const sampi_gpu_op *op, uint32_t n, float l)
{
    for (uint32_t i = 0; i < n; i++)
        if (sampi_gpu_keeps_order(&op[i]))
            l = sampi_gpu_change(&op[i], op[i].kind == SAMPI_OP_BEND && l > op[i].max ? op[i].max : l);
        else if (!sampi_gpu_removing(&op[i]) && l >= -FLT_MAX)
            l = FLT_MAX;
    return l;
}

/* A row has two lists: list_keep writes the other one. */
static sampi_gpu_item *sampi_gpu_items(const sampi_gpu_args *a, size_t row, uint32_t buffer)
{
    return a->item + (row * 2 + buffer) * SAMP_GPU_LIST;
}

/* Put a token on the list; beyond its end only the count grows, and by that advance sees that it was too long. For the
   one team that advances a row (join_changed, repack): its lanes meet in the counter. The passes have append_cell. */
SAMPI_INLINE void sampi_gpu_append(uint32_t *n_list, sampi_gpu_item *item, uint64_t key, float at_order, float at_p)
{
    uint32_t i = __atomic_fetch_add(n_list, 1, __ATOMIC_RELAXED);
    if (i >= SAMP_GPU_LIST) return;
    item[i].key = key;
    item[i].at_order = at_order;
    item[i].at_p = at_p;
}
