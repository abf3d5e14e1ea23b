/* test_batch.c - samp_sample_batch gives each row what the row would get alone: the token, the status, the state after
   it and the log-probabilities, for any dtype, mask, stride and row index, on every instruction set, with one thread
   and with more. What a row should get is defined by the samplers applied one by one (case.h) to floats that this
   file converts and masks itself, and by sums in long double. Rows and masks end at a page that can't be read.

     SAMP_TEST_CASES   random sequences of batches (default: see default_cases)
     SAMP_TEST_SEED    sequence i is made from seed + i: what a failure prints replays that one
     SAMP_TEST_FULL    all of everything, not the part that make test plays
     SAMP_TEST_QUICK   fewer of everything
     SAMP_TEST_ISA     only this instruction set

   The name of a test as argument runs that one alone. With -DSAMP_TEST_PLAIN it needs no cmocka, and SAMP_TEST_STOP
   makes it stop at the first failed test. Built with and without -fopenmp. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPI_LONG_LIST 5
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/told.h"
#include "tests/support/suite.h"

#include <pthread.h>

/* ----------------------------------------------------------------------------------------------- settings */

enum {
    MAX_ROWS = 64,
    MAX_INDEX = MAX_ROWS + 3, /* rows of data */
    LONGEST = 262144,
    ROOM = 4 * LONGEST, /* elements in all rows of a call */
    MAX_TOP = SAMP_MAX_TOP_LOGPROBS,
    MAX_FAILURES = 3 /* then a test gives up */
};

#ifdef _OPENMP
enum { HAS_THREADS = 1 };
#else
enum { HAS_THREADS = 0 };
#endif

static uint64_t default_cases(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return cases(200, 30);
#else
    return cases(HAS_THREADS ? 400 : 1000, 30);
#endif
}

/* A failed check says where and ends the test. */
__attribute__((format(printf, 2, 3))) static bool failed(int line, const char *format, ...)
{
    va_list args;
    printf("%s:%d: %s: ", __FILE__, line, at_work);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return false;
}
#define CHECK(condition) \
    if (!(condition)) return failed(__LINE__, "%s", #condition)

/* --------------------------------------------------------------------------------------------------- masks */

static bool allowed(const uint32_t *mask, size_t i) { return mask[i / 32] >> (i % 32) & 1u; }

static void allow(uint32_t *mask, size_t i, bool yes)
{
    mask[i / 32] = (mask[i / 32] & ~(1u << (i % 32))) | (uint32_t)yes << (i % 32);
}

/* A mask [words] of n tokens of any kind, with anything behind them. */
static void make_mask(source *s, uint32_t *mask, size_t n, size_t words)
{
    enum { HALF, SPARSE, DENSE, ALL, NONE, ONE, STRETCHES, N_MASKS };
    int kind = percent(s, 10) ? NONE : (int)below(s, N_MASKS);
    unsigned share = kind == SPARSE ? 2 : kind == DENSE ? 98 : 50;
    size_t one = below(s, n), left = 0;
    bool yes = percent(s, 50);
    if (kind == NONE && percent(s, 60)) kind = HALF;
    for (size_t i = 0; i < words; i++) mask[i] = (uint32_t)choose(s, 4);
    for (size_t i = 0; i < n; i++) {
        if (kind == STRETCHES && left-- == 0) yes = !yes, left = below(s, 700);
        if (kind != STRETCHES) yes = kind == ALL || (kind == ONE ? i == one : kind != NONE && percent(s, share));
        allow(mask, i, yes);
    }
}

/* ---------------------------------------------------------------------------------------------- the players */

enum { EXECUTORS = ISA_MAX + 1, STEPPER = ISA_MAX };

/* One sequence: its chain by definition, alone, and in the batches of each instruction set. */
typedef struct seat {
    samp_sampler *steps, *alone, *batch[ISA_MAX];
} seat;

typedef struct world {
    player p;
    shelf data, mask;
    float *means;          /* [n_rows][n] what the rows of a call mean */
    samp_token_data *left; /* [LONGEST] candidates, to sort */
    samp_logprob *room;    /* [EXECUTORS][MAX_ROWS][2][MAX_TOP] */
    samp_logprobs logprobs[EXECUTORS][MAX_ROWS];
    told *told; /* [EXECUTORS][MAX_ROWS] */
    uint64_t n_batches, n_logprobs;
} world;

/* One call of samp_sample_batch. */
typedef struct call {
    samp_logits g;
    int32_t index[MAX_ROWS];
    size_t n_of[MAX_ROWS];
    seat *seat[MAX_ROWS]; /* or NULL */
    bool has_logprobs;
    int32_t n_top[MAX_ROWS][2]; /* raw, processed */
    double cumulative[MAX_ROWS];
    source asks[MAX_ROWS]; /* for given tokens and the support */
    int32_t n_threads[ISA_MAX];
} call;

static bool world_make(world *w)
{
    memset(w, 0, sizeof *w);
    real_rows_load(REAL_ROWS_PATH);
    w->means = (float *)malloc(ROOM * sizeof *w->means);
    w->left = (samp_token_data *)malloc(LONGEST * sizeof *w->left);
    w->room = (samp_logprob *)malloc((size_t)EXECUTORS * MAX_ROWS * 2 * MAX_TOP * sizeof *w->room);
    w->told = (told *)malloc((size_t)EXECUTORS * MAX_ROWS * sizeof *w->told);
    return w->means && w->left && w->room && w->told && player_make(&w->p, wanted_isa(), LONGEST) &&
           shelf_make(&w->data, 2 * ROOM + 8192) && shelf_make(&w->mask, ROOM / 16);
}

static bool begin(world *w)
{
    watch_faults();
    return world_make(w);
}

static bool end(world *w, bool good, const char *what)
{
    printf("  %s: %" PRIu64 " batches, %" PRIu64 " rows (%" PRIu64 " tokens), %" PRIu64 " with log-probabilities,",
           what, w->n_batches, w->p.n_rows, w->p.n_tokens, w->n_logprobs);
    for (int i = 0; i < w->p.isa.n; i++) printf(" %s", w->p.isa.name[i]);
    printf("%s%s\n", HAS_THREADS ? ", OpenMP" : "", good ? "" : ": FAILED");
    fflush(stdout);
    alarm(0);
    samp_isa_force(NULL);
    player_free(&w->p);
    shelf_free(&w->data);
    shelf_free(&w->mask);
    free(w->means);
    free(w->left);
    free(w->room);
    free(w->told);
    return good;
}

static seat seat_make(const world *w, samp_sampler *chain)
{
    seat t = { chain, samp_clone(chain), { NULL } };
    for (int i = 0; i < w->p.isa.n; i++) t.batch[i] = samp_clone(chain);
    return t;
}

static void seat_free(const world *w, seat *t)
{
    samp_free(t->steps);
    samp_free(t->alone);
    for (int i = 0; i < w->p.isa.n; i++) samp_free(t->batch[i]);
}

/* A request for nothing but the token's, poisoned. */
static samp_logprob_set no_set(double cumulative)
{
    return (samp_logprob_set){ .n_top_found = -77, .chosen = { -7, -7, -7.0f }, .cumulative_logprob = cumulative };
}

static samp_logprob_set *set_of(samp_logprobs *lp, int which) { return which ? &lp->processed : &lp->raw; }

static told *told_of(const world *w, int executor, size_t r) { return w->told + (size_t)executor * MAX_ROWS + r; }

/* How many logits row r has; 0: none, which is an error. */
static size_t length_of(const call *c, size_t r)
{
    const size_t n = c->g.n_vocab_of ? c->n_of[r] : c->g.n_vocab;
    return n <= c->g.n_vocab ? n : 0;
}

/* Where an executor writes row r's: poisoned. */
static void prepare_logprobs(world *w, const call *c, int executor)
{
    for (size_t r = 0; r < c->g.n_rows; r++) {
        for (int k = 0; k < 2; k++) {
            samp_logprob *top = w->room + (((size_t)executor * MAX_ROWS + r) * 2 + (size_t)k) * MAX_TOP;
            samp_logprob_set set = { .top_logprobs = c->n_top[r][k] ? top : NULL,
                                     .n_top = c->n_top[r][k],
                                     .n_top_found = -77,
                                     .chosen = { -7, -7, -7.0f },
                                     .cumulative_logprob = c->cumulative[r] };
            for (int i = 0; i < MAX_TOP; i++) top[i] = (samp_logprob){ -7, -7, -7.0f };
            *set_of(&w->logprobs[executor][r], k) = set;
        }
        told_ask(told_of(w, executor, r), &w->logprobs[executor][r], c->asks[r], length_of(c, r));
    }
}

static bool same_logprob(const samp_logprob *a, const samp_logprob *b)
{
    return a->token == b->token && a->rank == b->rank && bits_of(a->logprob) == bits_of(b->logprob);
}

static bool same_set(const samp_logprob_set *a, const samp_logprob_set *b)
{
    bool same = a->n_top == b->n_top && a->n_top_found == b->n_top_found && same_logprob(&a->chosen, &b->chosen);
    same &= a->cumulative_logprob == b->cumulative_logprob;
    for (int i = 0; i < a->n_top && same; i++) same = same_logprob(&a->top_logprobs[i], &b->top_logprobs[i]);
    return same;
}

/* A row that failed has nothing written. */
static bool untouched_set(const samp_logprob_set *a, double cumulative)
{
    const samp_logprob none = { -7, -7, -7.0f };
    bool same = a->n_top_found == -77 && same_logprob(&a->chosen, &none) && a->cumulative_logprob == cumulative;
    for (int i = 0; i < a->n_top && same; i++) same = same_logprob(&a->top_logprobs[i], &none);
    return same;
}

/* ------------------------------------------------------------------------------ log-probabilities by definition */

static int compare_ids(const void *a, const void *b)
{
    const samp_token x = ((const samp_token_data *)a)->id, y = ((const samp_token_data *)b)->id;
    return x < y ? -1 : x > y;
}
static void test_sort_ids(samp_token_data *d, size_t n) { qsort(d, n, sizeof *d, compare_ids); }

/* Is the last sampler that is on of this kind? */
static bool ends_with(samp_sampler *s, sampi_kind kind)
{
    const sampi_sampler *t = (const sampi_sampler *)s;
    for (int32_t i = samp_chain_n(s) - 1; i >= 0; i--) {
        samp_sampler *last = samp_chain_get(s, i);
        const sampi_sampler *of = (const sampi_sampler *)last;
        if (of->kind == SAMPI_CHAIN ? samp_chain_n(last) > 0 && sampi_n_active(of) > 0 : !sampi_idles(of))
            return ends_with(last, kind);
    }
    return t->kind == kind;
}

/* Sorts d [n], and says how many are unmasked, and their ln Z. */
static size_t reference(samp_token_data *d, size_t n, long double *ln_z)
{
    qsort(d, n, sizeof *d, custom_compare);
    while (n > 0 && !(d[n - 1].logit >= -FLT_MAX)) n--;
    *ln_z = 0.0L;
    for (size_t i = n; i > 0; i--) *ln_z += expl((long double)d[i - 1].logit - (long double)d[0].logit);
    *ln_z = logl(*ln_z);
    return n;
}

/* The float nearest to it, but for what the weights' last bits and the arithmetic leave open. */
static bool close_to(float got, long double want, size_t n)
{
    long double open = fabsl(want) * 6e-8L + (long double)n * 4.6e-13L + 1e-11L;
    return got == (float)want || fabsl((long double)got - want) <= open;
}

/* A token may be masked in the model's logits, if a sampler of the user's has raised it. A replay's may have been removed:
   then it is behind all that the chain has left. */
static bool check_set(const samp_logprob_set *set, const samp_token_data *d, size_t size, size_t n, long double ln_z,
                      samp_token token, bool replays, double cumulative)
{
    const samp_logprob none = { -7, -7, -7.0f };
    size_t at = 0, found = (size_t)set->n_top < n ? (size_t)set->n_top : n;
    while (at < size && d[at].id != token) at++;
    if (replays && at >= n) at = n;
    CHECK(at < size || at == n);
    if (set->chosen.token != token || set->chosen.rank != (int32_t)at + 1)
        return failed(__LINE__, "chosen %d, rank %d, wanted %d, rank %zu", (int)set->chosen.token, (int)set->chosen.rank, (int)token,
                      at + 1);
    long double want = at < n ? (long double)d[at].logit - (long double)d[0].logit - ln_z : -HUGE_VALL;
    if (!close_to(set->chosen.logprob, want, n))
        return failed(__LINE__, "logprob %.9g, wanted %.12Lg", (double)set->chosen.logprob, want);
    CHECK(set->cumulative_logprob == cumulative + (double)set->chosen.logprob);
    if (set->n_top_found != (int32_t)found)
        return failed(__LINE__, "n_top_found %d, wanted %zu", (int)set->n_top_found, found);
    for (size_t i = 0; i < (size_t)set->n_top; i++) {
        const samp_logprob *top = &set->top_logprobs[i];
        if (i >= found) {
            CHECK(same_logprob(top, &none));
            continue;
        }
        want = (long double)d[i].logit - (long double)d[0].logit - ln_z;
        if (top->token != d[i].id || top->rank != (int32_t)i + 1 || !close_to(top->logprob, want, n))
            return failed(__LINE__, "top %zu: {%d, %d, %.9g}, wanted {%d, %zu, %.12Lg}", i, (int)top->token,
                          (int)top->rank, (double)top->logprob, (int)d[i].id, i + 1, want);
    }
    for (int32_t i = 0; i < set->n_ids; i++) {
        for (at = 0; at < n && d[at].id != set->ids[i]; at++) continue;
        want = (long double)d[at < n ? at : 0].logit - (long double)d[0].logit - ln_z;
        if (at == n ? set->id_logprobs[i] != -INFINITY : !close_to(set->id_logprobs[i], want, n))
            return failed(__LINE__, "token %d: %.9g, wanted %.12Lg", (int)set->ids[i], (double)set->id_logprobs[i],
                          at == n ? -HUGE_VALL : want);
    }
    long double entropy = ln_z;
    for (size_t i = n; i > 0; i--) {
        const long double away = (long double)d[0].logit - (long double)d[i - 1].logit;
        entropy += expl(-away - ln_z) * away;
    }
    if (fabsl((long double)set->entropy - entropy) > fabsl(entropy) * 6e-8L + (long double)n * 2.92e-11L + 1e-11L)
        return failed(__LINE__, "entropy %.9g, wanted %.12Lg", (double)set->entropy, entropy);
    return true;
}

/* The tokens of the sorted candidates d [n] that have a probability above 0 of being drawn; of greedy only the one that
   it has selected (under MT19937 ties are in llama.cpp's order).
   Their weights are whole numbers of 2^-40 of the largest one, so the smallest probability is half of that. */
static bool check_support(world *w, const call *c, size_t r, const samp_token_data *d, size_t n, long double ln_z,
                          samp_token token, bool greedy)
{
    const samp_support *got = w->logprobs[0][r].support;
    const float *row = w->means + r * c->g.n_vocab, *first = row;
    const size_t length = length_of(c, r);
    long double mass = 0.0L, whole = 0.0L;
    size_t count = 0, near = 0;
    if (!got) return true;
    for (size_t i = 0; i < length; i++)
        if (row[i] > *first) first = &row[i];
    for (size_t i = 0; i < length; i++) whole += expl((long double)row[i] - (long double)*first);
    for (size_t i = 0; i < n; i++) {
        if (greedy && d[i].id != token) continue;
        const long double weight = expl((long double)d[i].logit - (long double)d[0].logit) * 0x1p40L;
        const bool is_near = fabsl(weight - 0.5L) < 1e-6L; /* rounding decides */
        near += is_near;
        if (weight <= 0.5L && !is_near) break; /* all later ones have less */
        w->left[count++] = d[i];
    }
    if (near == 0 ? got->n != count : got->n > count || got->n + near < count)
        return failed(__LINE__, "support of %zu, wanted %zu", got->n, count);
    for (size_t i = 0; i < got->n; i++)
        if ((size_t)w->left[i].id < length) mass += expl((long double)row[w->left[i].id] - (long double)*first);
    if (fabsl((long double)got->mass - mass / whole) > (long double)length * 2e-12L + 1e-11L)
        return failed(__LINE__, "mass %.12g, wanted %.12Lg", got->mass, mass / whole);
    if (got->n > got->capacity || near) return true;
    test_sort_ids(w->left, count);
    for (size_t i = 0; i < count; i++) {
        CHECK(got->tokens[i] == w->left[i].id);
        const long double want = (long double)w->left[i].logit - (long double)d[0].logit - ln_z;
        CHECK(!got->logprobs || close_to(got->logprobs[i], want, n));
    }
    return true;
}

/* Row r's, of one executor, against the row as it came and the candidates that the samplers left. */
static bool check_logprobs(world *w, const call *c, size_t r, samp_token token, samp_token_data_array *cur)
{
    samp_logprobs *lp = &w->logprobs[0][r];
    const float *row = w->means + r * c->g.n_vocab;
    const size_t length = length_of(c, r);
    const bool replays = ends_with(c->seat[r]->steps, SAMPI_REPLAY);
    long double ln_z;
    size_t n = reference(cur->data, cur->size, &ln_z);
    w->n_logprobs++;
    if (!check_set(&lp->processed, cur->data, cur->size, n, ln_z, token, replays, c->cumulative[r])) return false;
    if (!check_support(w, c, r, cur->data, n, ln_z, token, ends_with(c->seat[r]->steps, SAMPI_GREEDY))) return false;
    for (size_t i = 0; i < length; i++) w->left[i] = (samp_token_data){ (samp_token)i, row[i], 0.0f };
    n = reference(w->left, length, &ln_z);
    return check_set(&lp->raw, w->left, length, n, ln_z, token, false, c->cumulative[r]);
}

/* ---------------------------------------------------------------------------------------------- making a call */

/* Does row r of the batch read data row d? */
static bool reads(const call *c, size_t r, size_t d)
{
    return (c->g.row_index ? c->index[r] : (int32_t)r) == (int32_t)d;
}

/* Does each row of the batch that reads data row d mask token i, or end before it? */
static bool nobody_sees(const call *c, size_t d, size_t i, size_t words)
{
    for (size_t r = 0; r < c->g.n_rows; r++)
        if (reads(c, r, d) && i < length_of(c, r) && (!c->g.mask || allowed(c->g.mask + r * words, i))) return false;
    return true;
}

/* How many elements of data row d the batch reads, at least 1. */
static size_t length_of_data(const call *c, size_t d)
{
    size_t n = 1;
    for (size_t r = 0; r < c->g.n_rows; r++)
        if (reads(c, r, d) && n < length_of(c, r)) n = length_of(c, r);
    return n;
}

/* The rows of data, the last element that is read at the end of the shelf. */
static void make_data(world *w, source *s, call *c, size_t n_data)
{
    size_t n = c->g.n_vocab, stride = c->g.stride ? c->g.stride : n, size = dtype_size(c->g.dtype);
    size_t words = c->g.mask_stride ? c->g.mask_stride : (n + 31) / 32;
    const size_t last = length_of_data(c, n_data - 1);
    char *data = w->data.map + SHELF_PAGE + w->data.size - ((n_data - 1) * stride + last) * size;
    float beyond = percent(s, 50) ? NAN : 1000.0f;
    if (percent(s, 20)) data = w->data.map + SHELF_PAGE;
    for (size_t d = 0; d < n_data; d++) {
        bool spoil = (c->g.mask || c->g.n_vocab_of) && percent(s, 40);
        float hidden = PICK(s, NAN, INFINITY, 1000.0f);
        make_row(s, w->p.row, n);
        source noise = split(s);
        for (size_t i = 0; i < (d + 1 < n_data ? n : last); i++) {
            float x = spoil && nobody_sees(c, d, i, words) ? hidden : w->p.row[i];
            dtype_put(c->g.dtype, data, d * stride + i, x, 2.0 * coarse(&noise) - 1.0);
        }
        for (size_t i = n; d + 1 < n_data && i < stride; i++)
            dtype_put(c->g.dtype, data, d * stride + i, beyond, 0.0);
    }
    c->g.data = data;
}

static void make_masks(world *w, source *s, call *c)
{
    size_t words = (c->g.n_vocab + 31) / 32, stride = c->g.mask_stride ? c->g.mask_stride : words;
    const size_t last = length_of(c, c->g.n_rows - 1), n = last ? last : c->g.n_vocab;
    uint32_t *mask = (uint32_t *)(void *)(w->mask.map + SHELF_PAGE + w->mask.size);
    mask -= (c->g.n_rows - 1) * stride + (n + 31) / 32;
    for (size_t r = 0; r + 1 < c->g.n_rows; r++) make_mask(s, mask + r * stride, c->g.n_vocab, stride);
    make_mask(s, mask + (c->g.n_rows - 1) * stride, n, (n + 31) / 32);
    c->g.mask = mask;
}

/* What the rows of the batch mean: floats, -infinity where masked. */
static void read_rows(world *w, const call *c)
{
    size_t n = c->g.n_vocab, stride = c->g.stride ? c->g.stride : n;
    size_t words = c->g.mask_stride ? c->g.mask_stride : (n + 31) / 32;
    for (size_t r = 0; r < c->g.n_rows; r++) {
        if (c->g.row_index && c->index[r] < 0) continue;
        size_t d = c->g.row_index ? (size_t)c->index[r] : r;
        for (size_t i = 0; i < length_of(c, r); i++)
            w->means[r * n + i] = c->g.mask && !allowed(c->g.mask + r * words, i)
                                      ? -INFINITY
                                      : dtype_get(c->g.dtype, c->g.data, d * stride + i);
    }
}

static void make_logprobs(source *s, call *c)
{
    static const int32_t n_top[] = { 0, 1, 5, 20, MAX_TOP };
    c->has_logprobs = percent(s, 40);
    for (size_t r = 0; r < c->g.n_rows; r++) {
        c->n_top[r][0] = n_top[below(s, CASE_COUNT(n_top))];
        c->n_top[r][1] = n_top[below(s, CASE_COUNT(n_top))];
        c->cumulative[r] = percent(s, 50) ? 0.0 : -100.0 * coarse(s);
        c->asks[r] = split(s);
    }
}

/* The sequences c->seat [c->g.n_rows], with rows of n tokens of any kind. */
static void make_call(world *w, source *s, call *c, size_t n)
{
    size_t words = (n + 31) / 32, n_rows = c->g.n_rows, n_data = n_rows;
    c->g = (samp_logits){ .n_rows = n_rows, .n_vocab = n, .dtype = (samp_dtype)below(s, 4) };
    if (percent(s, 60)) c->g.stride = n + (percent(s, 70) ? below(s, 20) : 0);
    if (percent(s, 50)) {
        n_data = 1 + below(s, n_rows + 3);
        for (size_t r = 0; r < n_rows; r++)
            c->index[r] = percent(s, 2) ? -1 - (int32_t)below(s, 9) : (int32_t)below(s, n_data);
        c->g.row_index = c->index;
    }
    if (percent(s, 30)) {
        for (size_t r = 0; r < n_rows; r++)
            c->n_of[r] = percent(s, 2)    ? (percent(s, 50) ? 0 : n + 1 + below(s, 2) * (SIZE_MAX - n - 1))
                         : percent(s, 40) ? n
                                          : 1 + below(s, percent(s, 50) || n < 9 ? n : 9);
        c->g.n_vocab_of = c->n_of;
    }
    if (percent(s, 60)) {
        if (percent(s, 60)) c->g.mask_stride = words + (percent(s, 70) ? below(s, 4) : 0);
        make_masks(w, s, c);
    }
    make_data(w, s, c, n_data);
    read_rows(w, c);
    make_logprobs(s, c);
    for (int i = 0; i < ISA_MAX; i++) c->n_threads[i] = (int32_t)below(s, 4);
}

/* ---------------------------------------------------------------------------------------------- playing a call */

/* The same chain made to go step by step: behind a sampler of the user's. */
static samp_sampler *stepper_of(const samp_sampler *chain)
{
    samp_sampler *copy = samp_clone(chain), *outer = samp_chain_init();
    samp_set_rng(outer, ((const sampi_sampler *)chain)->rng); /* so that its own stays as it is */
    samp_chain_add(outer, custom_make((custom){ CUSTOM_NOTHING, 0, -1 }));
    samp_chain_add(outer, copy);
    samp_set_position(outer, samp_get_position(chain));
    return outer;
}

static bool run_batch(world *w, const call *c, int executor, samp_sampler *const *rows, samp_token *out)
{
    samp_logits g = c->g;
    g.n_threads = executor == STEPPER ? 1 : c->n_threads[executor];
    if (c->has_logprobs) {
        prepare_logprobs(w, c, executor);
        g.logprobs = w->logprobs[executor];
    }
    for (size_t r = 0; r <= g.n_rows; r++) out[r] = -1000;
    int status = samp_sample_batch(rows, &g, out);
    w->n_batches++;
    return status == SAMP_OK && out[g.n_rows] == -1000;
}

static bool run_all(world *w, const call *c, samp_token (*out)[MAX_ROWS + 1])
{
    samp_sampler *rows[MAX_ROWS];
    bool good = true;
    for (int i = 0; i < w->p.isa.n; i++) {
        for (size_t r = 0; r < c->g.n_rows; r++) rows[r] = c->seat[r] ? c->seat[r]->batch[i] : NULL;
        isa_use(&w->p.isa, i);
        CHECK(run_batch(w, c, i, rows, out[i]));
    }
    if (!c->has_logprobs) return true;
    for (size_t r = 0; r < c->g.n_rows; r++) rows[r] = c->seat[r] ? stepper_of(c->seat[r]->steps) : NULL;
    good = run_batch(w, c, STEPPER, rows, out[STEPPER]);
    for (size_t r = 0; r < c->g.n_rows; r++) {
        good &= out[STEPPER][r] < 0 || samp_perf(rows[r]).n_steps > 0;
        samp_free(rows[r]);
    }
    CHECK(good);
    return true;
}

static bool check_executor(world *w, const call *c, size_t r, int executor, samp_token got, samp_token want)
{
    const char *name = executor == STEPPER ? "steps" : w->p.isa.name[executor];
    const seat *t = c->seat[r];
    if (got != want)
        return failed(__LINE__, "%s: row %zu of %zu gets %d, wanted %d", name, r, c->g.n_rows, (int)got, (int)want);
    if (t && executor != STEPPER && !same_state(t->steps, t->batch[executor]))
        return failed(__LINE__, "%s: row %zu of %zu: another state", name, r, c->g.n_rows);
    for (int k = 0; k < 2 && c->has_logprobs; k++) {
        const samp_logprob_set *set = set_of(&w->logprobs[executor][r], k);
        if (want < 0 && !untouched_set(set, c->cumulative[r]))
            return failed(__LINE__, "%s: row %zu failed, but has log-probabilities (%d)", name, r, k);
        if (want >= 0 && !same_set(set, set_of(&w->logprobs[0][r], k)))
            return failed(__LINE__, "%s: row %zu: other log-probabilities (%d), %.9g and %.9g", name, r, k,
                          (double)set->chosen.logprob, (double)set_of(&w->logprobs[0][r], k)->chosen.logprob);
    }
    const told *told = told_of(w, executor, r);
    if (c->has_logprobs && want < 0 && !told_untouched(told, &w->logprobs[executor][r]))
        return failed(__LINE__, "%s: row %zu failed, but tells something", name, r);
    if (c->has_logprobs && want >= 0 &&
        !told_same(told, told_of(w, 0, r), &w->logprobs[executor][r], &w->logprobs[0][r]))
        return failed(__LINE__, "%s: row %zu of %zu tells something else", name, r, c->g.n_rows);
    return true;
}

/* Row r: by definition, alone, and in all batches. */
static bool check_row(world *w, const call *c, size_t r, samp_token (*out)[MAX_ROWS + 1])
{
    seat *t = c->seat[r];
    const float *row = w->means + r * c->g.n_vocab;
    samp_token_data_array cur = { NULL, 0, -1, false };
    samp_token want = SAMP_E_NULL;
    const size_t length = length_of(c, r);
    bool missing = (c->g.row_index && c->index[r] < 0) || !length;
    if (t) want = samp_status(t->steps, NULL);
    const bool is_short = t && sampi_life_is_short((const sampi_sampler *)t->steps, length);
    if (t && want == SAMP_OK) want = missing || is_short ? (int)SAMP_E_RANGE : -1000;
    if (want == -1000) {
        want = step_to(&w->p, &t->steps, row, length, true, &cur);
        isa_use(&w->p.isa, (int)(r % (size_t)w->p.isa.n));
        samp_token alone = samp_sample(t->alone, row, length);
        if (alone != want || !same_state(t->steps, t->alone))
            return failed(__LINE__, "row %zu alone gets %d, wanted %d", r, (int)alone, (int)want);
        if (want >= 0 && c->has_logprobs && !check_logprobs(w, c, r, want, &cur)) return false;
    }
    w->p.n_rows++;
    w->p.n_tokens += want >= 0;
    for (int i = 0; i < w->p.isa.n; i++)
        if (!check_executor(w, c, r, i, out[i][r], want)) return false;
    return !c->has_logprobs || check_executor(w, c, r, STEPPER, out[STEPPER][r], want);
}

static void print_row(world *w, const call *c, size_t r)
{
    static const char *const dtype[] = { "f32", "f16", "bf16", "f64" };
    printf("  row %zu of %zu, %s, %zu of n_vocab %zu, stride %zu, mask %d, mask_stride %zu, index %d\n", r,
           c->g.n_rows, dtype[c->g.dtype], length_of(c, r), c->g.n_vocab, c->g.stride, c->g.mask != NULL,
           c->g.mask_stride, c->g.row_index ? (int)c->index[r] : -1);
    w->p.report_len = 0;
    if (c->seat[r]) report_case(&w->p, c->seat[r]->steps, w->means + r * c->g.n_vocab, length_of(c, r));
    if (c->seat[r]) printf("%s", w->p.report);
}

static bool play_call(world *w, const call *c)
{
    samp_token out[EXECUTORS][MAX_ROWS + 1];
    if (!run_all(w, c, out)) return false;
    for (size_t r = 0; r < c->g.n_rows; r++) {
        if (check_row(w, c, r, out)) continue;
        print_row(w, c, r);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- random batches */

static seat join(world *w, source *s, size_t n)
{
    samp_sampler *chain = make_chain(s, n);
    size_t prompt = percent(s, 30) ? below(s, 20) : 0;
    if (percent(s, 2)) samp_chain_add(chain, samp_init_min_p(NAN, 0)); /* it carries an error */
    for (size_t i = 0; i < prompt; i++) samp_accept(chain, (samp_token)below(s, n < 4 ? n : percent(s, 50) ? 4 : n));
    return seat_make(w, chain);
}

/* Some of the sequences in any order, and some rows without one. */
static void choose_seats(source *s, call *c, seat *seats, size_t n_seats)
{
    size_t order[MAX_ROWS], n = 1 + below(s, n_seats);
    for (size_t i = 0; i < n_seats; i++) order[i] = i;
    for (size_t i = 0; i < n; i++) {
        size_t j = i + below(s, n_seats - i), t = order[i];
        order[i] = order[j], order[j] = t;
        c->seat[i] = percent(s, 2) ? NULL : &seats[order[i]];
    }
    c->g.n_rows = n;
}

/* A handful of batches of sequences that come, go and change places, of rows up to `longest`. */
static bool play_case(world *w, source s, size_t longest)
{
    size_t n_seats = 1 + below(&s, percent(&s, 20)   ? MAX_ROWS
                                   : percent(&s, 50) ? 6
                                                     : 20),
           n_batches = 1 + below(&s, 5);
    size_t n = percent(&s, 3) ? longest * 4 / 5 + below(&s, longest / 5 + 1) : make_length(&s, longest);
    seat seats[MAX_ROWS];
    bool same = true;
    for (size_t i = 0; i < n_seats; i++) seats[i] = join(w, &s, n);
    for (size_t i = 0; i < n_batches && same; i++) {
        call c;
        memset(&c, 0, sizeof c);
        choose_seats(&s, &c, seats, n_seats);
        make_call(w, &s, &c, n);
        same = play_call(w, &c);
        for (size_t j = 0; j < n_seats; j++) {
            if (!percent(&s, 10)) continue;
            seat_free(w, &seats[j]);
            seats[j] = join(w, &s, n);
        }
        if (percent(&s, 20)) n = make_length(&s, longest);
    }
    for (size_t i = 0; i < n_seats; i++) seat_free(w, &seats[i]);
    return same;
}

static bool one_case(world *w, uint64_t seed)
{
    AT("SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=1", seed);
    return play_case(w, source_seed(seed), 5000);
}

static bool random_batches(void)
{
    world w;
    uint64_t n = default_cases(), first = env_setting("SAMP_TEST_SEED", 1);
    int failures = 0;
    if (!begin(&w)) return false;
    for (uint64_t i = 0; i < n && failures < MAX_FAILURES; i++) failures += !one_case(&w, first + i);
    return end(&w, failures == 0, "random batches");
}

/* --------------------------------------------------------------------------- every kind of last sampler, long rows */

/* Each selects in another way, and leaves what it draws from in another form: dense, with a floor, compact, an array.
   */
static samp_sampler *ending(int i)
{
    static const samp_logit_bias bias[3] = { { 3, 2.0f }, { 5, -INFINITY }, { 7, -1.0f } };
    samp_params p = samp_default_params();
    switch (i) {
        case 0: return chain_of(samp_init_greedy(), NULL, NULL);
        case 1: return chain_of(samp_init_dist(1), NULL, NULL);
        case 2: return chain_of(samp_init_temp(0.7f), samp_init_dist(2), NULL);
        case 3: return samp_chain_from_params(&p, NULL);
        case 4: return chain_of(samp_init_logit_bias(64, 3, bias), samp_init_greedy(), NULL);
        case 5: return chain_of(samp_init_logit_bias(64, 3, bias), samp_init_temp(1.3f), samp_init_dist(3));
        case 6: return chain_of(samp_init_top_p(0.9f, 0), samp_init_temp(1.7f), samp_init_dist(4));
        case 7: return chain_of(samp_init_min_p(0.001f, 0), samp_init_dist(5), NULL);
        case 8: return chain_of(samp_init_typical(0.9f, 0), samp_init_dist(6), NULL);
        case 9: return chain_of(samp_init_xtc(1.0f, 0.01f, 0, 7), samp_init_dist(8), NULL);
        case 10: return chain_of(samp_init_top_n_sigma(1.5f), samp_init_dist(9), NULL);
        case 11: return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_dist(10), NULL);
        case 12: return chain_of(samp_init_mirostat(1000, 11, 4.0f, 0.1f, 100), NULL, NULL);
        case 13: return chain_of(samp_init_top_k(50), samp_init_mirostat_v2(12, 3.0f, 0.1f), NULL);
        case 14: return chain_of(samp_init_temp(0.8f), samp_init_mirostat_v2(13, 9.0f, 0.1f), NULL);
        case 15: return chain_of(samp_init_min_p(0.01f, 0), samp_init_adaptive_p(0.3f, 0.9f, 14), NULL);
        case 16: return chain_of(samp_init_adaptive_p(-1.0f, 0.9f, 15), NULL, NULL);
        case 17: return chain_of(samp_init_adaptive_p(0.7f, 0.5f, 16), NULL, NULL);
        case 18: return chain_of(samp_init_tail_free(0.9f, 0), samp_init_softmax(), samp_init_dist(17));
        default: return chain_of(samp_init_temp(0.0f), samp_init_dist(18), NULL);
    }
}
enum { N_ENDINGS = 20 };

static const int end_kinds[] = { ROW_NORMAL, ROW_PEAKED, ROW_EQUAL, ROW_TWO_VALUES, ROW_REAL, ROW_ZIPF };

/* The log-probabilities of one chain in rows of this length and kind. */
static bool ending_case(world *w, int i, size_t n, int kind, samp_dtype dtype, bool masked)
{
    call c;
    seat t = seat_make(w, ending(i));
    source s = source_seed(n + (size_t)(i * 100 + kind));
    static const int32_t n_top[3][2] = { { 0, 5 }, { 1, MAX_TOP }, { MAX_TOP, 1 } };
    bool same = true;
    memset(&c, 0, sizeof c);
    AT("chain %d, %zu tokens, kind %d, dtype %d, mask %d", i, n, kind, (int)dtype, masked);
    c.g = (samp_logits){ .n_rows = 1, .n_vocab = n, .dtype = dtype };
    c.seat[0] = &t;
    c.has_logprobs = true;
    for (int step = 0; step < 3 && same; step++) {
        memcpy(c.n_top[0], n_top[step], sizeof c.n_top[0]);
        if (masked) make_masks(w, &s, &c);
        c.g.data = w->data.map + SHELF_PAGE + w->data.size - n * dtype_size(dtype);
        for (size_t j = 0; j < n; j++) {
            float x = kind == ROW_REAL && real_rows ? real_logit(j % (3 * REAL_WIDTH))
                                                    : make_logit(&s, kind, j, n, 2.0, 0.0);
            dtype_put(dtype, (void *)(uintptr_t)c.g.data, j, x, 2.0 * coarse(&s) - 1.0);
        }
        read_rows(w, &c);
        same = play_call(w, &c);
    }
    seat_free(w, &t);
    return same;
}

/* Shorter and longer than the length from which sums are estimated, and than a row can be. */
static bool every_ending_of_a_chain(void)
{
    static const size_t length[] = { 3, 130, 1500, 9000 };
    world w;
    int failures = 0;
    unsigned shape = 0;
    if (!begin(&w)) return false;
    for (int i = 0; i < N_ENDINGS; i++)
        for (size_t k = 0; k < CASE_COUNT(length) - (quickest() && i % 4 != 0); k++)
            for (size_t j = 0; j < CASE_COUNT(end_kinds) && failures < MAX_FAILURES; j += quick() ? 3 : 1, shape++)
                failures += !ending_case(&w, i, length[k], end_kinds[j], (samp_dtype)(shape % 4), shape / 4 % 2);
    return end(&w, failures == 0, "every ending");
}

/* Rows long enough for as many threads as OpenMP likes. */
static bool long_batch(world *w, uint64_t seed)
{
    enum { ROWS = 4, LENGTH = 131073 };
    source s = source_seed(seed);
    seat seats[ROWS];
    call c;
    memset(&c, 0, sizeof c);
    AT("long batch %" PRIu64, seed);
    for (size_t r = 0; r < ROWS; r++) {
        seats[r] = seat_make(w, ending((int)below(&s, N_ENDINGS)));
        c.seat[r] = &seats[r];
    }
    c.g.n_rows = ROWS;
    make_call(w, &s, &c, LENGTH);
    bool same = play_call(w, &c);
    for (size_t r = 0; r < ROWS; r++) seat_free(w, &seats[r]);
    return same;
}

static bool long_rows(void)
{
    static const size_t length[] = { 32768, 128256, 151937, LONGEST };
    world w;
    int failures = 0;
    if (!begin(&w)) return false;
    for (int i = 0; i < N_ENDINGS && failures < MAX_FAILURES; i += quick()                            ? 5
                                                                   : env_setting("SAMP_TEST_FULL", 0) ? 1
                                                                                                      : 3) {
        size_t n = quick() ? length[0] : length[i % 4];
        failures += !ending_case(&w, i, n, end_kinds[i % 2], (samp_dtype)(i / 2 % 4), i % 3 == 0);
        failures += !ending_case(&w, i, n, end_kinds[2 + i % 4], (samp_dtype)((i + 1) % 4), i % 3 == 1);
    }
    for (uint64_t i = 0; i < amount(8, quickest() ? 1 : 2) && failures < MAX_FAILURES; i++)
        failures += !long_batch(&w, i);
    return end(&w, failures == 0, "long rows");
}

/* ------------------------------------------------------------------------------- every element, every pattern */

static size_t next_length(size_t n)
{
    static const size_t more[] = { 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 700 };
    if (n < 70) return n + 1;
    for (size_t i = 0; i < CASE_COUNT(more); i++)
        if (more[i] > n) return more[i];
    return 0;
}

/* In a row of n, token i alone is allowed and all others are NaN; then i alone is masked, a NaN, and token j is best.
   */
static bool element_case(world *w, samp_sampler *greedy, samp_dtype dtype, size_t n, size_t i)
{
    size_t words = (n + 31) / 32, j = (i + 1) % n;
    uint32_t *mask = (uint32_t *)(void *)(w->mask.map + SHELF_PAGE + w->mask.size) - words;
    char *data = w->data.map + SHELF_PAGE + w->data.size - n * dtype_size(dtype);
    samp_logprob top[2];
    samp_logprobs lp;
    samp_token got[2] = { -1000, -1000 };
    samp_logits g = { .data = data, .dtype = dtype, .n_rows = 1, .n_vocab = n, .mask = mask, .logprobs = &lp };
    for (int others = 0; others < 2; others++) {
        if (others && n == 1) break;
        AT("element %zu of %zu, dtype %d, %s", i, n, (int)dtype, others ? "masked" : "allowed");
        memset(&lp, 0, sizeof lp);
        lp.raw.top_logprobs = top;
        lp.raw.n_top = 2;
        for (size_t k = 0; k < words; k++) mask[k] = others || n % 2 ? 0xFFFFFFFFu : 0;
        for (size_t k = 0; k < n; k++) {
            allow(mask, k, (k == i) != others);
            dtype_put(dtype, data, k, (k == i) == others ? NAN : k == j ? 1.0f : 0.0f, 0.0);
        }
        CHECK(samp_sample_batch(&greedy, &g, got) == SAMP_OK);
        CHECK(got[0] == (samp_token)(others ? j : i));
        CHECK(lp.raw.n_top_found == (others && n > 2 ? 2 : 1) && lp.raw.chosen.rank == 1);
        CHECK(close_to(lp.raw.chosen.logprob, others ? -log1pl((long double)(n - 2) * expl(-1.0L)) : 0.0L, n));
    }
    return true;
}

static bool every_element_is_the_largest(void)
{
    world w;
    bool good = true;
    if (!begin(&w)) return false;
    for (int k = 0; k < w.p.isa.n; k++) {
        samp_sampler *greedy = samp_init_greedy();
        isa_use(&w.p.isa, k);
        for (size_t n = 1; n && good; n = next_length(n))
            for (size_t i = 0; i < n && good; i += quick() ? 1 + n / 20 : 1)
                for (int dtype = 0; dtype < 4 && good; dtype++)
                    good = element_case(&w, greedy, (samp_dtype)dtype, n, i);
        samp_free(greedy);
    }
    return end(&w, good, "every element");
}

enum { PATTERNS = 65536 };

/* What the kernels make of all values of 16 bits: the elements, and lines of which one element is allowed. */
static bool patterns_in_kernels(world *w, const sampi_kernels *k, samp_dtype dtype, const float *value)
{
    uint16_t *data = (uint16_t *)(void *)(w->data.map + SHELF_PAGE + w->data.size - PATTERNS * sizeof *data);
    uint32_t *mask = (uint32_t *)(void *)(w->mask.map + SHELF_PAGE + w->mask.size - PATTERNS / 8);
    float *out = w->means, *line = w->means + PATTERNS;
    for (int i = 0; i < PATTERNS; i++) data[i] = (uint16_t)i;
    k->fetch(data, dtype, NULL, 0, PATTERNS, out);
    for (int i = 0; i < PATTERNS; i++)
        if (isnan(value[i]) ? !isnan(out[i]) : bits_of(out[i]) != bits_of(value[i]))
            return failed(__LINE__, "%s: %04x is read as %.9g, not %.9g", k->name, (unsigned)i, (double)out[i],
                          (double)value[i]);
    for (int shift = 0; shift < 16; shift++) {
        float max = -INFINITY;
        for (int i = 0; i < PATTERNS; i++) {
            bool on = i % 16 == shift && !isnan(value[i]);
            allow(mask, (size_t)i, on);
            if (on && value[i] > max) max = value[i];
        }
        k->fetch(data, dtype, mask, 0, PATTERNS, out);
        CHECK(k->maxima(data, dtype, mask, PATTERNS, line) == max);
        for (int i = 0; i < PATTERNS; i++) {
            float want = allowed(mask, (size_t)i) ? value[i] : -INFINITY;
            CHECK(bits_of(out[i]) == bits_of(want));
            CHECK(i % 16 != shift || line[i / 16] == want);
        }
    }
    return true;
}

/* Each pattern against a zero: the larger one is chosen, and both log-probabilities tell its value. 256 rows of 256
   patterns and the zero. */
static bool patterns_in_batches(world *w, samp_dtype dtype, const float *value)
{
    enum { N = 257, WORDS = 9, ROWS = 256 };
    static uint16_t data[PATTERNS / 256 * N];
    static uint32_t mask[ROWS * WORDS];
    static int32_t index[ROWS];
    static samp_logprobs lp[ROWS];
    static samp_logprob top[ROWS][2];
    samp_sampler *rows[ROWS];
    samp_token got[ROWS];
    samp_logits g = { data, dtype, ROWS, N, 0, index, mask, 0, lp, 1, NULL };
    bool good = true;
    for (int i = 0; i < PATTERNS; i++) data[i / 256 * N + i % 256] = (uint16_t)i;
    for (int r = 0; r < ROWS; r++) rows[r] = samp_init_greedy();
    memset(mask, 0, sizeof mask);
    for (int r = 0; r < ROWS; r++) allow(mask + r * WORDS, (size_t)r, true), allow(mask + r * WORDS, 256, true);
    for (int d = 0; d < PATTERNS / 256 && good; d += quick() ? 15 : 1) {
        memset(lp, 0, sizeof lp);
        for (int r = 0; r < ROWS; r++) index[r] = d, lp[r].raw.top_logprobs = top[r], lp[r].raw.n_top = 2;
        good = samp_sample_batch(rows, &g, got) == SAMP_OK;
        w->n_batches++;
        w->p.n_rows += ROWS;
        for (int r = 0; r < ROWS && good; r++) {
            float x = value[d * 256 + r];
            long double ln_z = log1pl(expl(-fabsl((long double)x))), other = -fabsl((long double)x) - ln_z;
            bool none = !(x <= FLT_MAX), alone = x == -INFINITY;
            samp_token want = none ? SAMP_E_NAN : x >= 0.0f ? r : 256;
            good = got[r] == want && (none || lp[r].raw.n_top_found == (alone ? 1 : 2));
            good = good && (none || close_to(top[r][0].logprob, alone ? 0.0L : -ln_z, 2));
            good = good && (none || alone || close_to(top[r][1].logprob, other, 2));
            if (!good)
                failed(__LINE__, "pattern %04x (%.9g): token %d", (unsigned)(d * 256 + r), (double)x, (int)got[r]);
        }
    }
    for (int r = 0; r < ROWS; r++) samp_free(rows[r]);
    return good;
}

static bool every_pattern_of_16_bits(void)
{
    static float value[PATTERNS];
    world w;
    bool good = true;
    if (!begin(&w)) return false;
    for (int dtype = SAMP_F16; dtype <= SAMP_BF16; dtype++) {
        for (int i = 0; i < PATTERNS; i++) {
            uint16_t h = (uint16_t)i;
            value[i] = dtype == SAMP_F16 ? float_of_half(h) : float_of_brain(h);
        }
        for (int k = 0; k < w.p.isa.n && good; k++) {
            AT("all patterns of dtype %d, %s", dtype, w.p.isa.name[k]);
            isa_use(&w.p.isa, k);
            good = patterns_in_kernels(&w, w.p.isa.table[k], (samp_dtype)dtype, value) &&
                   patterns_in_batches(&w, (samp_dtype)dtype, value);
        }
    }
    return end(&w, good, "every pattern");
}

/* f64 is rounded to the nearest f32, ties to even, and beyond FLT_MAX to an infinity. */
static bool f64_rounds_to_nearest(void)
{
    const double one = 1.0, up = one + ldexp(1.0, -24), beyond = (double)FLT_MAX + ldexp(1.0, 103);
    const double in[] = { up,
                          one + 3 * ldexp(1.0, -24),
                          nextafter(up, 2.0),
                          nextafter(up, 0.0),
                          -up,
                          1e-46,
                          -1e-46,
                          ldexp(1.0, -150),
                          1e-45,
                          -1e300,
                          beyond,
                          -beyond,
                          1e300,
                          nextafter(beyond, 0.0),
                          -INFINITY,
                          (double)NAN };
    const float tiny = float_from(1), next = nextafterf(1.0f, 2.0f);
    const float out[] = { 1.0f,      nextafterf(next, 2.0f),
                          next,      1.0f,
                          -1.0f,     0.0f,
                          -0.0f,     0.0f,
                          tiny,      -INFINITY,
                          INFINITY,  -INFINITY,
                          INFINITY,  FLT_MAX,
                          -INFINITY, NAN };
    world w;
    bool good = true;
    if (!begin(&w)) return false;
    AT("f64");
    for (size_t i = 0; i < CASE_COUNT(in); i++)
        for (int k = 0; k < w.p.isa.n && good; k++)
            for (size_t at = 0; at < 40 && good; at++) { /* in each lane, and behind the last whole vector */
                double row[40] = { 0.0 };
                float got[40];
                row[at] = in[i];
                w.p.isa.table[k]->fetch(row, SAMP_F64, NULL, 0, 40, got);
                good = isnan(out[i]) ? isnan(got[at]) : bits_of(got[at]) == bits_of(out[i]);
                if (!good)
                    failed(__LINE__, "%s: %.17g becomes %.9g, not %.9g", w.p.isa.name[k], in[i], (double)got[at],
                           (double)out[i]);
            }
    return end(&w, good, "f64");
}

/* ------------------------------------------------------------------------------------- neighbours and company */

static samp_sampler *default_chain(uint64_t seed)
{
    samp_params p = samp_default_params();
    p.seed = seed;
    p.temp = 1.5f;
    p.top_p = 1.0f;
    p.min_p = 0.0f;
    p.penalty_repeat = 1.3f;
    return samp_chain_from_params(&p, NULL);
}

enum { GUESTS = 12, NIGHTS = 40, SMALL = 300 };

static void guest_row(uint64_t guest, uint64_t night, float *row)
{
    source s = source_seed(guest * 1000 + night);
    for (int i = 0; i < SMALL; i++) row[i] = (float)(2.0 * normal_fast(&s));
}

/* Twelve sequences write alone; then the same ones in batches that they join, leave for a while and move about in. */
static bool rows_come_and_go(void)
{
    static float data[GUESTS][SMALL];
    samp_token alone[GUESTS][NIGHTS], out[GUESTS];
    samp_sampler *guest[GUESTS], *rows[GUESTS];
    uint64_t age[GUESTS] = { 0 };
    size_t different = 0;
    for (uint64_t i = 0; i < GUESTS; i++) {
        guest[i] = default_chain(i);
        samp_sampler *copy = samp_clone(guest[i]);
        for (uint64_t t = 0; t < NIGHTS; t++) {
            guest_row(i, t, data[0]);
            alone[i][t] = samp_sample(copy, data[0], SMALL);
            different += t > 0 && alone[i][t] != alone[i][t - 1];
        }
        samp_free(copy);
    }
    AT("rows come and go");
    CHECK(different > GUESTS * NIGHTS / 2);
    source s = source_seed(1);
    for (uint64_t left = GUESTS * NIGHTS; left > 0;) {
        size_t who[GUESTS], n = 0;
        for (size_t i = 0; i < GUESTS; i++) {
            if (age[i] == NIGHTS || percent(&s, 40)) continue;
            size_t at = below(&s, n + 1); /* anywhere among those that came before */
            who[n++] = who[at];
            who[at] = i;
        }
        for (size_t r = 0; r < n; r++) guest_row(who[r], age[who[r]], data[r]), rows[r] = guest[who[r]];
        samp_logits g = { .data = data, .n_rows = n, .n_vocab = SMALL, .n_threads = 1 + (int32_t)below(&s, 3) };
        CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK);
        for (size_t r = 0; r < n; r++, left--) CHECK(out[r] == alone[who[r]][age[who[r]]++]);
    }
    for (int i = 0; i < GUESTS; i++) samp_free(guest[i]);
    return true;
}

/* Every way in which a row can fail stands between two good rows. */
static bool bad_rows_between_good_ones(void)
{
    enum { BAD = 13, ROWS = 2 * BAD + 1, WORDS = (SMALL + 31) / 32 };
    static float data[ROWS][SMALL];
    static uint32_t mask[ROWS][WORDS];
    static samp_logprobs lp[ROWS];
    static samp_logprob top[ROWS][3];
    const samp_token want[BAD] = { SAMP_E_NULL,        SAMP_E_RANGE, SAMP_E_NAN,   SAMP_E_NAN,   SAMP_E_EMPTY,
                                   SAMP_E_RANGE,       SAMP_E_RANGE, SAMP_E_RANGE, SAMP_E_RANGE, SAMP_E_NULL,
                                   SAMP_E_UNSUPPORTED, SAMP_E_RANGE, SAMP_E_RANGE };
    samp_sampler *rows[ROWS], *before[ROWS];
    samp_token out[ROWS + 1], alone[ROWS];
    int32_t index[ROWS];
    size_t n_of[ROWS];
    AT("bad rows");
    for (int r = 0; r < ROWS; r++) {
        guest_row((uint64_t)r, 0, data[r]);
        index[r] = r;
        n_of[r] = SMALL;
        rows[r] = default_chain((uint64_t)r);
        lp[r].raw = lp[r].processed = no_set(0.5);
        lp[r].raw.top_logprobs = top[r], lp[r].raw.n_top = 3;
        top[r][0] = top[r][1] = top[r][2] = (samp_logprob){ -7, -7, -7.0f };
    }
    memset(mask, 0xFF, sizeof mask);
    for (int r = 0; r < ROWS; r++) { /* NaN and infinity under a masked bit are nothing, in good rows too */
        data[r][7] = NAN, data[r][250] = INFINITY;
        mask[r][0] &= ~(1u << 7), mask[r][250 / 32] &= ~(1u << 250 % 32);
    }
    for (int r = 0; r < ROWS; r++) {
        samp_sampler *copy = samp_clone(rows[r]);
        float row[SMALL];
        memcpy(row, data[r], sizeof row);
        row[7] = row[250] = -INFINITY;
        alone[r] = samp_sample(copy, row, SMALL);
        samp_free(copy);
    }
    samp_free(rows[1]), rows[1] = NULL;
    samp_chain_add(rows[3], samp_init_top_p(2.0f, 0));
    data[5][299] = NAN;
    data[7][0] = INFINITY;
    memset(mask[9], 0, sizeof mask[9]);
    mask[9][WORDS - 1] = 0xFFFFFFFFu << SMALL % 32; /* none but behind n_vocab */
    index[11] = -1, index[13] = INT32_MIN;
    lp[15].raw.n_top = -1;
    lp[17].processed.n_top = MAX_TOP + 1, lp[17].processed.top_logprobs = top[17];
    lp[19].processed.n_top = 1;
    n_of[23] = 0, n_of[25] = SMALL + 1;
    samp_free(rows[21]), rows[21] = chain_of(samp_init_temp(0.5f), NULL, NULL);
    for (int r = 0; r < ROWS; r++) before[r] = rows[r] ? samp_clone(rows[r]) : NULL;
    for (int threads = 1; threads <= 3; threads++) {
        samp_logits g = { data, SAMP_F32, ROWS, SMALL, 0, index, &mask[0][0], 0, lp, threads, n_of };
        for (int r = 0; r <= ROWS; r++) out[r] = -1000;
        CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK && out[ROWS] == -1000);
        for (int r = 0; r < ROWS; r++) {
            if (r % 2 == 0) {
                CHECK(out[r] == alone[r] && lp[r].raw.chosen.token == alone[r] && lp[r].raw.n_top_found == 3);
                CHECK(lp[r].raw.cumulative_logprob == 0.5 + lp[r].raw.chosen.logprob);
                samp_free(rows[r]), rows[r] = samp_clone(before[r]);
                lp[r].raw.cumulative_logprob = 0.5;
                continue;
            }
            if (out[r] != want[r / 2]) return failed(__LINE__, "row %d: %d, wanted %d", r, out[r], want[r / 2]);
            CHECK(!rows[r] || same_state(rows[r], before[r]));
            CHECK(lp[r].raw.n_top_found == -77 && lp[r].raw.cumulative_logprob == 0.5 && top[r][0].token == -7);
            CHECK(lp[r].processed.n_top_found == -77 && lp[r].processed.cumulative_logprob == 0.5);
        }
    }
    for (int r = 0; r < ROWS; r++) samp_free(rows[r]), samp_free(before[r]);
    return true;
}

/* The rows of a model with many codebooks: eight short ones and a long one, as many threads as their logits are worth,
   and what is behind a row's end does not count. */
static bool rows_of_many_lengths(void)
{
    enum { N_ROWS = 9, LONG = 151936, SHORT = 2048 };
    samp_sampler *rows[N_ROWS], *alone[N_ROWS];
    samp_token out[N_ROWS];
    size_t n_of[N_ROWS];
    float *data = (float *)malloc(sizeof *data * N_ROWS * LONG);
    source s = source_seed(4);
    AT("rows of many lengths");
    CHECK(data);
    for (int r = 0; r < N_ROWS; r++) {
        n_of[r] = r ? SHORT : LONG;
        for (size_t i = 0; i < LONG; i++) data[(size_t)r * LONG + i] = i < n_of[r] ? (float)normal_fast(&s) : NAN;
        rows[r] = default_chain((uint64_t)r), alone[r] = samp_clone(rows[r]);
    }
    samp_logits g = { .data = data, .n_rows = N_ROWS, .n_vocab = LONG, .n_vocab_of = n_of };
    CHECK(sampi_batch_threads(&g) == 1);
    for (int i = 0; i < 20; i++) {
        CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK);
        for (int r = 0; r < N_ROWS; r++) CHECK(out[r] == samp_sample(alone[r], data + (size_t)r * LONG, n_of[r]));
    }
    for (int r = 0; r < N_ROWS; r++) {
        CHECK(same_state(rows[r], alone[r]));
        samp_free(rows[r]), samp_free(alone[r]);
    }
    free(data);
    return true;
}

/* A token that a sampler of the user's refuses is none: nothing is drawn or counted. */
static bool tokens_that_a_sampler_refuses(void)
{
    static float data[2][SMALL];
    static samp_logprobs lp[2];
    static samp_logprob top[2][2];
    samp_sampler *rows[2];
    samp_token out[2];
    AT("refused tokens");
    for (int r = 0; r < 2; r++) {
        guest_row((uint64_t)r, 1, data[r]);
        samp_sampler *refuses = custom_make((custom){ CUSTOM_FAIL, 5, 0 });
        rows[r] = r ? chain_of(samp_init_top_k(20), refuses, samp_init_dist(3))
                    : chain_of(refuses, samp_init_dist(3), NULL);
        for (int k = 0; k < 2; k++)
            *set_of(&lp[r], k) = no_set(0.5), set_of(&lp[r], k)->top_logprobs = &top[r][k],
                            set_of(&lp[r], k)->n_top = 1;
        top[r][0] = top[r][1] = (samp_logprob){ -7, -7, -7.0f };
    }
    samp_logits g = { .data = data, .n_rows = 2, .n_vocab = SMALL, .logprobs = lp };
    CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK);
    for (int r = 0; r < 2; r++) {
        CHECK(out[r] == SAMP_E_FULL && samp_get_position(rows[r]) == 0);
        CHECK(untouched_set(&lp[r].raw, 0.5) && untouched_set(&lp[r].processed, 0.5));
        samp_free(rows[r]);
    }
    return true;
}

/* A call that makes no sense does nothing. */
static bool bad_calls_do_nothing(void)
{
    enum { N_ROWS = 3 };
    static double data[4 * SMALL];
    static uint32_t mask[64];
    static samp_logprobs lp[N_ROWS];
    samp_sampler *rows[N_ROWS], *before[N_ROWS];
    samp_token out[N_ROWS];
    AT("call errors");
    for (int r = 0; r < N_ROWS; r++) {
        rows[r] = default_chain((uint64_t)r), before[r] = samp_clone(rows[r]);
        lp[r].raw.cumulative_logprob = lp[r].processed.cumulative_logprob = 0.25;
    }
    memset(mask, 0xFF, sizeof mask);
    const samp_logits good = { data, SAMP_F32, N_ROWS, SMALL, 0, NULL, mask, 0, lp, 0, NULL };
    for (int i = 0;; i++) {
        samp_logits g = good;
        samp_sampler *const *chains = rows, *twice[N_ROWS] = { rows[0], rows[1], rows[0] };
        samp_sampler *inside[N_ROWS] = { samp_chain_get(rows[1], samp_chain_n(rows[1]) - 1), NULL, rows[1] };
        const samp_logits *given = &g;
        samp_token *to = out;
        int want = SAMP_E_RANGE;
        if (i == 0) want = SAMP_E_NULL, given = NULL;
        if (i == 1) want = SAMP_E_NULL, chains = NULL;
        if (i == 2) want = SAMP_E_NULL, to = NULL;
        if (i == 3) want = SAMP_E_NULL, g.data = NULL;
        if (i == 4) want = SAMP_E_DTYPE, g.dtype = SAMP_I8;
        if (i == 5) want = SAMP_E_DTYPE, g.dtype = (samp_dtype)99;
        if (i == 6) want = SAMP_E_DTYPE, g.dtype = SAMP_U64;
        if (i == 7) want = SAMP_E_EMPTY, g.n_vocab = 0;
        if (i == 8) g.n_vocab = SAMP_MAX_VOCAB + 1;
        if (i == 9) g.n_vocab = SIZE_MAX;
        if (i == 10) g.stride = SMALL - 1;
        if (i == 11) g.mask_stride = (SMALL + 31) / 32 - 1;
        if (i == 12) g.n_threads = -1;
        if (i == 13) g.data = (const char *)data + 1;
        if (i == 14) g.data = (const char *)data + 2;
        if (i == 15) g.dtype = SAMP_F16, g.data = (const char *)data + 1;
        if (i == 16) g.dtype = SAMP_BF16, g.data = (const char *)data + 1;
        if (i == 17) g.dtype = SAMP_F64, g.data = (const char *)data + 4;
        if (i == 18) chains = twice;
        if (i == 19) want = SAMP_E_NOMEM, heap.fail_at = 1, heap.fail_after = true;
        if (i == 20) chains = inside;
        if (i == 21) want = SAMP_E_DTYPE, g.dtype = (samp_dtype)-1;
        if (i == 22) break;
        for (int r = 0; r < N_ROWS; r++) out[r] = -1000;
        int status = samp_sample_batch(chains, given, to);
        heap.fail_at = 0, heap.fail_after = false;
        if (status != want) return failed(__LINE__, "call %d gives %d, wanted %d", i, status, want);
        for (int r = 0; r < N_ROWS; r++) {
            CHECK(out[r] == -1000 && same_state(rows[r], before[r]));
            CHECK(lp[r].raw.cumulative_logprob == 0.25 && lp[r].processed.cumulative_logprob == 0.25);
        }
    }
    /* what is none */
    samp_logits g = good;
    g.n_rows = 0;
    CHECK(samp_sample_batch(NULL, &g, NULL) == SAMP_OK && samp_sample_batch(rows, &g, out) == SAMP_OK);
    CHECK(out[0] == -1000);
    samp_sampler *none[N_ROWS] = { NULL, NULL, NULL };
    CHECK(samp_sample_batch(none, &good, out) == SAMP_OK && out[0] == SAMP_E_NULL && out[2] == SAMP_E_NULL);
    g = good;
    g.stride = g.n_vocab, g.mask_stride = (SMALL + 31) / 32, g.n_threads = 100000;
    CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK && out[0] >= 0 && out[1] >= 0 && out[2] >= 0);
    /* but two members of one chain can be in it, alone or with others' */
    samp_sampler *dist = samp_init_dist(7), *both[N_ROWS] = { rows[0], rows[1], dist }, *outer = samp_chain_init();
    for (int r = 0; r < N_ROWS; r++) samp_chain_add(outer, both[r]);
    CHECK(samp_sample_batch(both, &good, out) == SAMP_OK && out[0] >= 0 && out[1] >= 0 && out[2] >= 0);
    samp_sampler *last[N_ROWS] = { NULL, NULL, outer }; /* then one of them alone, in a batch that is a shorter one */
    CHECK(samp_sample_batch(last, &good, out) == SAMP_OK && out[2] >= 0);
    g.n_rows = 1;
    CHECK(samp_sample_batch(&both[2], &g, out) == SAMP_OK && out[0] >= 0);
    samp_free(outer);
    samp_free(rows[2]);
    for (int r = 0; r < N_ROWS; r++) samp_free(before[r]);
    return true;
}

/* ------------------------------------------------------------------------------------------ memory, threads */

/* A workspace for each thread, from chains that have one or not; with less memory, fewer threads. And with its first
   token each chain takes room for what samp_rollback needs, if samp_reserve did not. */
static bool workspaces_of_threads(void)
{
    enum { N_ROWS = 32, LONG = 2 * SMALL };
    static float data[N_ROWS][LONG];
    samp_sampler *rows[N_ROWS];
    samp_token out[N_ROWS];
    samp_logits g = { .data = data, .n_rows = N_ROWS, .n_vocab = SMALL, .stride = LONG };
    AT("workspaces");
    for (uint64_t r = 0; r < N_ROWS; r++) guest_row(r, 0, data[r]), guest_row(r, 1, data[r] + SMALL);
    for (int32_t threads = 1; threads <= 8; threads *= 2) {
        unsigned long before, wanted = HAS_THREADS ? (unsigned long)threads : 1;
        g.n_threads = threads;
        for (int r = 0; r < N_ROWS; r++) rows[r] = default_chain((uint64_t)r);
        for (int round = 0; round < 6; round++) {
            g.n_vocab = round < 3 ? SMALL : LONG; /* for more tokens there must be new ones, once */
            before = heap.mallocs;
            CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK);
            CHECK(heap.mallocs - before == (round % 3 ? 0 : wanted) + (round ? 0 : N_ROWS));
            for (int r = 0; r < N_ROWS / 2; r++) { /* the other way round */
                samp_sampler *t = rows[r];
                rows[r] = rows[N_ROWS - 1 - r], rows[N_ROWS - 1 - r] = t;
            }
        }
        g.n_vocab = SMALL;
        for (int r = 0; r < N_ROWS; r++) samp_free(rows[r]), rows[r] = default_chain((uint64_t)r);
        for (unsigned long i = 0; i < wanted; i++) CHECK(samp_reserve(rows[N_ROWS - 1 - i], SMALL) == SAMP_OK);
        before = heap.mallocs;
        CHECK(samp_sample_batch(rows, &g, out) == SAMP_OK && heap.mallocs == before + N_ROWS - wanted);
        for (int r = 0; r < N_ROWS; r++) samp_free(rows[r]), rows[r] = default_chain((uint64_t)r);
        heap.fail_at = 2, heap.fail_after = true;
        int status = samp_sample_batch(rows, &g, out);
        heap.fail_at = 0, heap.fail_after = false;
        CHECK(status == SAMP_OK);
        for (int r = 0; r < N_ROWS; r++) CHECK(out[r] >= 0 && samp_get_position(rows[r]) == 1);
        for (int r = 0; r < N_ROWS; r++) samp_free(rows[r]);
    }
    return true;
}

typedef struct crew {
    pthread_t thread;
    uint64_t number;
    samp_token token[8][GUESTS];
} crew;

static void *crew_work(void *arg)
{
    crew *c = (crew *)arg;
    samp_sampler *rows[GUESTS];
    float *data = (float *)malloc(sizeof(float) * GUESTS * SMALL);
    samp_logits g = { .data = data, .n_rows = GUESTS, .n_vocab = SMALL, .n_threads = 2 };
    for (uint64_t i = 0; i < GUESTS; i++) rows[i] = default_chain(c->number + i);
    for (uint64_t t = 0; t < 8; t++) {
        for (uint64_t i = 0; i < GUESTS; i++) guest_row(c->number + i, t, data + i * SMALL);
        if (samp_sample_batch(rows, &g, c->token[t])) c->token[t][0] = -1000;
    }
    for (int i = 0; i < GUESTS; i++) samp_free(rows[i]);
    free(data);
    return NULL;
}

/* Batches in two threads at once, each with two threads of its own. */
static bool two_batches_at_once(void)
{
    crew c[2], alone[2];
    AT("two batches at once");
    for (int round = 0; round < 4; round++) {
        for (uint64_t i = 0; i < 2; i++) {
            alone[i].number = c[i].number = (uint64_t)round * 10 + 100 * i;
            crew_work(&alone[i]);
        }
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&c[i].thread, NULL, crew_work, &c[i]) == 0);
        for (int i = 0; i < 2; i++) pthread_join(c[i].thread, NULL);
        for (int i = 0; i < 2; i++)
            CHECK(alone[i].token[0][0] >= 0 && memcmp(alone[i].token, c[i].token, sizeof c[i].token) == 0);
    }
    return true;
}

/* What xtc masks in a row that had become its own, and then a few of its tokens, is in no list of the most likely ones. */
static bool masked_in_a_cut_row(void)
{
    enum { N = 248, TOP = 5 };
    AT("masked in a cut row");
    for (uint64_t seed = 0; seed < 50; seed++) {
        source s = source_seed(seed);
        float x[N];
        for (int i = 0; i < N; i++) x[i] = 10.0f * (float)coarse(&s);
        x[3] = 12.0f, x[7] = 11.9f, x[2] = 11.8f;
        samp_logit_bias bias = { 100, 1.5f };
        samp_sampler *chain = samp_chain_init();
        samp_chain_add(chain, samp_init_temp(0.5f));
        samp_chain_add(chain, samp_init_logit_bias(N, 1, &bias));
        samp_chain_add(chain, samp_init_min_p(0.2f, 1));
        samp_chain_add(chain, samp_init_xtc(1.0f, 0.05f, 1, (uint32_t)seed));
        samp_chain_add(chain, samp_init_dist((uint32_t)seed));
        samp_logprob top[TOP];
        samp_logprobs lp = { .processed = { .top_logprobs = top, .n_top = TOP } };
        samp_logits logits = { .data = x, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = N, .logprobs = &lp };
        samp_token token = -1;
        CHECK(samp_sample_batch(&chain, &logits, &token) == SAMP_OK && token == 2);
        CHECK(lp.processed.n_top_found == 1 && top[0].token == 2);
        samp_free(chain);
    }
    return true;
}

/* Two floats that are one behind a temperature: the rank counts those only that a cut before it has left. */
static bool rank_behind_a_cut(void)
{
    static const size_t lengths[] = { 3, 64, 164, 300 };
    float x[300];
    for (int i = 0; i < 300; i++) x[i] = i % 2 ? -999.999817f : -999.999878f;
    for (int k = 0; k < 2 * (int)CASE_COUNT(lengths); k++) {
        samp_sampler *chain = chain_of(k % 2 ? samp_init_min_p(1.0f, 0) : samp_init_top_n_sigma(1e-9f),
                                       samp_init_temp(0.01f), samp_init_dist(5));
        for (int i = 0; i < 20; i++) {
            samp_logprobs lp = { .support = NULL };
            samp_logits logits = { .data = x, .n_rows = 1, .n_vocab = lengths[k / 2], .logprobs = &lp };
            samp_token token = -1;
            CHECK(samp_sample_batch(&chain, &logits, &token) == SAMP_OK && token % 2 == 1);
            CHECK(lp.processed.chosen.rank == token / 2 + 1);
        }
        samp_free(chain);
    }
    return true;
}

/* How far the log-probability of a p near 1 is off: what the contract says, of short rows and long ones. */
static bool logprobs_near_one(void)
{
    enum { MOST = 20000 };
    static float x[MOST];
    for (size_t n = 2; n <= MOST; n = n * 3 + 1)
        for (int k = 0; k < 400; k++) {
            source s = source_seed((uint64_t)k);
            samp_sampler *chain = chain_of(samp_init_top_k(0), samp_init_temp(1.0f), samp_init_greedy());
            samp_logprobs lp = { .support = NULL };
            samp_logits logits = { .data = x, .n_rows = 1, .n_vocab = n, .logprobs = &lp };
            samp_token token = -1;
            long double rest = 0.0L;
            x[0] = 20.0f;
            for (size_t i = 1; i < n; i++) x[i] = 20.0f - 5.0f - 0.1f * (float)k - coarse(&s);
            for (size_t i = 1; i < n; i++) rest += expl((long double)x[i] - (long double)x[0]);
            CHECK(samp_sample_batch(&chain, &logits, &token) == SAMP_OK && token == 0);
            samp_free(chain);
            long double want = -log1pl(rest), got = (long double)lp.raw.chosen.logprob;
            long double half = fabsl(want) * 5.97e-8L, whole = 1e-12L + (long double)n * 4.5475e-13L;
            if (fabsl(got - want) > half + whole)
                return failed(__LINE__, "n %zu: %.9Lg, wanted %.12Lg", n, got, want);
            CHECK(lp.raw.chosen.logprob <= 0.0f && lp.processed.chosen.logprob <= 0.0f);
        }
    return true;
}

/* --------------------------------------------------------------------------------------------------- main */

#define SUITE(X) \
    X(bad_calls_do_nothing) \
    X(bad_rows_between_good_ones) \
    X(rows_of_many_lengths) \
    X(tokens_that_a_sampler_refuses) \
    X(rows_come_and_go) \
    X(workspaces_of_threads) \
    X(two_batches_at_once) \
    X(masked_in_a_cut_row) \
    X(f64_rounds_to_nearest) \
    X(rank_behind_a_cut) \
    X(logprobs_near_one) \
    X(every_pattern_of_16_bits) \
    X(every_element_is_the_largest) \
    X(random_batches) \
    X(every_ending_of_a_chain) \
    X(long_rows)

#ifndef SAMP_TEST_PARTS /* fuzz/fuzz_batch.c has a main of its own */
SUITE_MAIN
#endif
