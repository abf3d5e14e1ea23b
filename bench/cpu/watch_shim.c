/* watch_shim.c -- one version of the library and of bench.h, whichever the include path finds first, as a watch_side.
 *
 *     cc -c -I DIRECTORY -DWATCH_SIDE=watch_old -DSAMPLING_STATIC -w bench/cpu/watch_shim.c        (watch.sh)
 *
 * It uses members of the table of kernels by name. Where a parameter came or went, the pointer's type tells. */

#include "bench/bench.h"
#include "watch.h"

/* clang-format off */
typedef float maxima_line(const void *, samp_dtype, const uint32_t *, size_t, float *);
typedef float maxima_fold(const void *, samp_dtype, const uint32_t *, size_t, float *, float *);
typedef size_t pick_hits(const float *, size_t, const int32_t *, size_t, float, float *, int32_t *);
typedef size_t pick_line(const void *, samp_dtype, const uint32_t *, size_t, const float *, float, float *, int32_t *);
/* clang-format on */

static float maxima_of_line(maxima_line *f, const void *x, samp_dtype dtype, const uint32_t *mask, size_t n,
                            float *line)
{
    return f(x, dtype, mask, n, line);
}

static float maxima_of_fold(maxima_fold *f, const void *x, samp_dtype dtype, const uint32_t *mask, size_t n,
                            float *line)
{
    float fold[1024];
    for (int i = 0; i < 1024; i++) fold[i] = -INFINITY;
    return f(x, dtype, mask, n, line, fold);
}

static size_t pick_of_hits(pick_hits *f, const watch_row *r, watch_work *work)
{
    return f(r->x, r->n, r->hit, r->n_hit, r->high, work->x, work->id);
}

static size_t pick_of_line(pick_line *f, const watch_row *r, watch_work *work)
{
    return f(r->x, SAMP_F32, NULL, r->n, r->line, r->high, work->x, work->id);
}

#define MAXIMA(k, x, dtype, mask, n, line) \
    _Generic((k)->maxima, maxima_line * \
             : maxima_of_line, maxima_fold * \
             : maxima_of_fold)((k)->maxima, x, dtype, mask, n, line)
typedef void weights_only(const float *, size_t, float, uint64_t *);
typedef uint64_t weights_and_e(const float *, size_t, float, uint64_t *, double *);
typedef void probs_of_x(const float *, size_t, float, double, float *);
typedef void probs_of_e(const float *, const double *, size_t, float, double, float *);

/* Either up to the weights' sum, which was mass's before it was theirs. */
static uint64_t weights_then_mass(weights_only *f, const sampi_kernels *k, const float *x, size_t n, float max,
                                  uint64_t *w)
{
    f(x, n, max, w);
    return k->mass(x, w, n, -FLT_MAX);
}

static uint64_t weights_with_sum(weights_and_e *f, const sampi_kernels *k, const float *x, size_t n, float max,
                                 uint64_t *w)
{
    (void)k;
    return f(x, n, max, w, NULL);
}

static void probs_behind_sums(probs_of_x *f, const sampi_kernels *k, const float *x, size_t n, float max,
                              watch_work *work)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    k->sums(x, n, 1.0f, max, INFINITY, false, &sums);
    f(x, n, max, (double)sums.z, work->x);
}

static void probs_behind_weights(probs_of_e *f, const sampi_kernels *k, const float *x, size_t n, float max,
                                 watch_work *work)
{
    double *e = (double *)(void *)work->w;
    weights_and_e *g;
    memcpy(&g, &k->weights, sizeof g);
    double z = (double)g(x, n, max, NULL, e);
    f(x, e, n, max, z, work->x);
}

typedef void scale_by(const float *, size_t, float, float *);
typedef void scale_either(const float *, size_t, float, bool, float *);

static void scale_times(scale_by *f, const float *x, size_t n, float r, float *out) { f(x, n, r, out); }

static void scale_too(scale_either *f, const float *x, size_t n, float r, float *out) { f(x, n, r, false, out); }

#define WEIGHTS_OF(k) _Generic((k)->weights, weights_only * : weights_then_mass, weights_and_e * : weights_with_sum)
#define PROBS_OF(k)   _Generic((k)->probs, probs_of_x * : probs_behind_sums, probs_of_e * : probs_behind_weights)
#define SCALE_OF(k)   _Generic((k)->scale, scale_by * : scale_times, scale_either * : scale_too)
#define PICK(k, row, work) \
    _Generic((k)->pick, pick_hits * : pick_of_hits, pick_line * : pick_of_line)((k)->pick, row, work)

/* clang-format off */
enum {
    FETCH_F16, FETCH_BF16, FETCH_F64, FETCH_MASK, MAXIMA_F32, MAXIMA_F16, MAXIMA_BF16, MAXIMA_F64, MAXIMA_MASK, SWEEP,
    SWEEP_MASKED, MOMENTS, FOLD, COLLECT, COLLECT_MANY, COLLECT_IDS, PICK_LINES, COUNT, WEIGHTS, PROBS, MASS, SUMS,
    SUMS_S, SUMS_ABOVE, ENVELOPE, ENVELOPE_FLOOR, SCALE
};
static const char *const pass_name[] = {
    "fetch_f16", "fetch_bf16", "fetch_f64", "fetch_mask", "maxima", "maxima_f16", "maxima_bf16", "maxima_f64",
    "maxima_mask", "sweep", "sweep_masked", "moments", "fold", "collect", "collect_many", "collect_ids", "pick", "count",
    "weights", "probs", "mass", "sums", "sums_s", "sums_above", "envelope", "envelope_floor", "scale", NULL
};
/* clang-format on */

static const char *pass(int i) { return pass_name[i]; }

static void came_out(watch_work *work, const void *a, size_t a_size, const void *b, size_t b_size)
{
    work->part[0] = a, work->size[0] = a_size;
    work->part[1] = b, work->size[1] = b_size;
}

static void run_pass(int i, const watch_row *row, watch_work *work)
{
    const sampi_kernels *k = sampi_use();
    const float *x = row->x;
    size_t n = row->n, m = 0, x_size = n * sizeof *x;
    float max = 0.0f, r = 1.25f, top = row->max * r;
    sampi_sums sums;
    double *v = work->value;
    memset(&sums, 0, sizeof sums);
    sums.max = top;
    came_out(work, NULL, 0, NULL, 0);
    switch (i) {
        case FETCH_F16: k->fetch(row->f16, SAMP_F16, NULL, 0, n, work->x); break;
        case FETCH_BF16: k->fetch(row->bf16, SAMP_BF16, NULL, 0, n, work->x); break;
        case FETCH_F64: k->fetch(row->f64, SAMP_F64, NULL, 0, n, work->x); break;
        case FETCH_MASK: k->fetch(x, SAMP_F32, row->mask, 0, n, work->x); break;
        case MAXIMA_F32: max = MAXIMA(k, x, SAMP_F32, NULL, n, work->x); break;
        case MAXIMA_F16: max = MAXIMA(k, row->f16, SAMP_F16, NULL, n, work->x); break;
        case MAXIMA_BF16: max = MAXIMA(k, row->bf16, SAMP_BF16, NULL, n, work->x); break;
        case MAXIMA_F64: max = MAXIMA(k, row->f64, SAMP_F64, NULL, n, work->x); break;
        case MAXIMA_MASK: max = MAXIMA(k, x, SAMP_F32, row->mask, n, work->x); break;
        case SWEEP: k->sweep(x, n, r, top, &v[0], &v[1]); break;
        case SWEEP_MASKED: k->sweep(row->masked, n, r, top, &v[0], &v[1]); break;
        case MOMENTS: k->moments(x, n, 0.5f, v); break;
        case FOLD: k->fold(row->line, row->n_line, work->x, 256); break;
        case COLLECT: m = k->collect(x, NULL, 0, n, row->high, INFINITY, work->x, work->id); break;
        case COLLECT_MANY: m = k->collect(x, NULL, 0, n, row->low, INFINITY, work->x, work->id); break;
        case COLLECT_IDS: m = k->collect(x, row->id, 0, n, row->low, row->high, work->x, work->id); break;
        case PICK_LINES: m = PICK(k, row, work); break;
        case COUNT: work->number = k->count(x, n, row->low); break;
        case WEIGHTS: work->number = WEIGHTS_OF(k)(k->weights, k, x, n, row->max, work->w); break;
        case PROBS: PROBS_OF(k)(k->probs, k, x, n, row->max, work); break; /* and their sum */
        case MASS: work->number = k->mass(x, row->w, n, row->low); break;
        case SUMS: k->sums(x, n, r, top, INFINITY, false, &sums); break;
        case SUMS_S: k->sums(x, n, r, top, INFINITY, true, &sums); break;
        case SUMS_ABOVE: k->sums(x, n, r, top, row->low, false, &sums); break;
        case ENVELOPE: k->envelope(x, n, r, top, -FLT_MAX, work->w); break;
        case ENVELOPE_FLOOR: k->envelope(x, n, r, top, row->low, work->w); break;
        case SCALE: SCALE_OF(k)(k->scale, x, n, r, work->x); break;
    }
    if (i <= FETCH_MASK || i == PROBS || i == SCALE) came_out(work, work->x, x_size, NULL, 0);
    if (i >= MAXIMA_F32 && i <= MAXIMA_MASK)
        came_out(work, work->x, (n + 255) / 256 * 16 * sizeof *x, NULL, 0), v[0] = max;
    if (i == FOLD) came_out(work, work->x, 256 * sizeof *x, NULL, 0);
    if (i >= COLLECT && i <= PICK_LINES) came_out(work, work->x, m * sizeof *x, work->id, m * sizeof *work->id);
    if (i == WEIGHTS) came_out(work, work->w, n * sizeof *work->w, NULL, 0);
    if (i == ENVELOPE || i == ENVELOPE_FLOOR) came_out(work, work->w, (n + 255) / 256 * sizeof *work->w, NULL, 0);
    if (i >= SUMS && i <= SUMS_ABOVE) {
        if (i != SUMS_S) sums.s = 0; /* nobody's */
        work->number = (sums.z * 31 + sums.s) * 31 + sums.n + sums.above * 7;
    }
}

static bool use(const char *name) { return samp_isa_force(name) == SAMP_OK; }

static const char *isa(int i)
{
    int n = (int)(sizeof SAMPI_KERNEL_TABLE / sizeof *SAMPI_KERNEL_TABLE);
    const char *found = NULL;
    for (int k = 0; k < n && !found; k++)
        if (use(SAMPI_KERNEL_TABLE[k].name) && i-- == 0) found = SAMPI_KERNEL_TABLE[k].name;
    use(NULL);
    return found;
}

/* ---- chains and batches ---- */

static const char *chain(int i) { return i < BENCH_N_CASES ? bench_cases[i].name : NULL; }

static int rotations(int i) { return bench_cases[i].rotations; }

static void *make(int i, size_t n_vocab) { return bench_make_chain(&bench_cases[i], n_vocab, SAMP_RNG_PHILOX); }

static int32_t sample(void *self, const float *row, size_t n) { return samp_sample((samp_sampler *)self, row, n); }

static void free_chain(void *self) { samp_free((samp_sampler *)self); }

static const char *batch(int i) { return i < BENCH_N_BATCHES ? bench_batch_cases[i].name : NULL; }

static void *make_batch(int i, const watch_batch *in)
{
    bench_rows rows = { in->f32, in->n, in->stride, in->count };
    bench_batch *b = (bench_batch *)bench_alloc(sizeof *b);
    *b = bench_make_batch(&bench_batch_cases[i], &rows);
    if (b->logits.dtype == SAMP_F16) b->logits.data = in->f16;
    if (b->logits.dtype == SAMP_BF16) b->logits.data = in->bf16;
    b->logits.n_threads = 1; /* a thread's own clock is what can be compared */
    return b;
}

static uint32_t run_batch(void *self)
{
    bench_batch *b = (bench_batch *)self;
    b->sum = 0;
    bench_run_batch(b);
    if (b->failed) bench_fail("samp_sample_batch failed", b->c->name);
    return b->sum;
}

const watch_side WATCH_SIDE = { isa,  use,    pass,       run_pass, chain,      rotations,
                                make, sample, free_chain, batch,    make_batch, run_batch };
