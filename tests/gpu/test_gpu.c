/* test_gpu.c - samp_gpu_sample_batch gives exactly the tokens of the definition, the samplers applied one by one to
   the array of all candidates, and leaves the chains in the same state.

     test_gpu host      the kernels themselves, run on the host; needs no device
     test_gpu device    on device 0; exits with 77 if there is none, and fails if a kernel did not run there
     test_gpu cpu       a context without a device

     SAMP_TEST_CASES   the number of random batches
     SAMP_TEST_SEED    case i is made from seed + i; the seed that a failure prints replays that one case

   A second argument is a test's name, or a pattern of names. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#include <pthread.h>
#include <stdint.h>
static void run_teams(const void *args, uint32_t n);
#define SAMPI_HOST_TEAMS(a, n) run_teams((a), (n))
static int is_hidden(const void *sampler);
#define SAMPI_GPU_KNOWS(s) (!is_hidden(s))
/* SAMP_TEST_TRUST: gives rows to broken kernels too, without the trial of a device (gpu/canary.h). */
static int is_trusted(void);
#define SAMPI_GPU_TRUSTS(gpu) ((gpu)->mode != SAMPI_GPU_ON_DEVICE || is_trusted())
#define SAMPLING_GUMBEL
#define SAMPLING_WATERMARK
#define SAMPLING_CONSTRAINTS
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
#include "tests/support/source.h"
#define CASE_CONSTRAINT mostly_decay
static samp_sampler *mostly_decay(source *s, size_t n_vocab);
#include "tests/support/case.h"
#include "tests/support/told.h"
#define SAMP_TEST_PLAIN /* a machine with a device may have no cmocka */
#include "tests/support/suite.h"

/* Returns mostly a top_p with a decay: the only one of the constraints that has a step on a device. */
static samp_sampler *mostly_decay(source *s, size_t n_vocab)
{
    return percent(s, 97) ? make_decay(s, n_vocab) : make_constraint(s, n_vocab);
}

enum {
    LONGEST = 140000,
    MAX_ROWS = 48,
    MAX_CELLS = 300000,
    N_DTYPES = 4,
    MOST_TOP = SAMP_GPU_LIST < 900 ? SAMP_GPU_LIST : 900, /* top log-probabilities that the device computes
                                                             for a row */
    TOP_ROOM = MOST_TOP + 8
};

static const samp_dtype dtypes[N_DTYPES] = { SAMP_F32, SAMP_F16, SAMP_BF16, SAMP_F64 };
static int device;
static bool on_device, no_kernels;

/* The name of a kind of sampler that the device must treat as one without a step. */
static const char *hidden;

static int is_hidden(const void *sampler)
{
    return hidden && !strcmp(samp_name(&((const sampi_sampler *)sampler)->base), hidden);
}

/* Is the device one that is interpreted, and few cases are asked for? */
static bool in_short(void) { return on_device && env_setting("SAMP_TEST_CASES", 100) < 100; }

static int is_trusted(void) { return env_setting("SAMP_TEST_TRUST", 0) != 0; }

/* ---- teams on the host ----
   They run one after the other, or as threads at once, as on a device where they wait for each other. */

enum { MAX_THREADS = 32 };
static bool at_once, teams_are_gone; /* teams_are_gone: no pass ever ends */

typedef struct team {
    const sampi_gpu_args *args;
    uint32_t number;
} team;

static void *run_team(void *arg)
{
    const team *t = (const team *)arg;
    sampi_gpu_team(t->args, t->number);
    return NULL;
}

static void run_teams(const void *args, uint32_t n)
{
    const sampi_gpu_args *a = (const sampi_gpu_args *)args;
    pthread_t thread[MAX_THREADS];
    team t[MAX_THREADS];
    if (teams_are_gone) return;
    if (!at_once || n > MAX_THREADS) {
        for (uint32_t i = 0; i < n; i++) sampi_gpu_team(a, i);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        t[i].args = a;
        t[i].number = n - 1 - i;
        if (pthread_create(&thread[i], NULL, run_team, &t[i])) abort();
    }
    for (uint32_t i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

/* ---------------------------------------------------------------------------------------------- rows as dtypes */

/* Stores x as an element of the type; for f64, a number that rounds to x, or nearly. */
static void store(samp_dtype dtype, void *data, size_t i, float x) { dtype_put(dtype, data, i, x, 0.015625); }

/* --------------------------------------------------------------------------------------------------- the stage */

typedef struct stage {
    player p;
    samp_gpu *gpu[N_DTYPES];
    char *data; /* [MAX_CELLS] elements of any type */
    uint32_t *mask;
    float *row;
    samp_sampler *fast[MAX_ROWS], *steps[MAX_ROWS];
    bool with_logprobs; /* batches ask for log-probabilities, of the device and of samp_sample_batch */
    uint64_t wishes;    /* a number from which the n_top that they ask for is computed */
    samp_logprob *top;  /* [2][MAX_ROWS][2][TOP_ROOM] */
    samp_logprobs *lp;  /* [2][MAX_ROWS] */
    told *more;         /* [2][MAX_ROWS] given tokens and supports */
    size_t n_of[MAX_ROWS];
    uint64_t n_rows, n_tokens;
} stage;

static int stages_made; /* of two stages one has registered memory, for each type */

static bool stage_make(stage *t)
{
    stages_made++;
    isa_list isa = isa_all();
    memset(t, 0, sizeof *t);
    real_rows_load(REAL_ROWS_PATH);
    t->data = (char *)malloc(MAX_CELLS * 8);
    t->mask = (uint32_t *)malloc(MAX_CELLS * 4);
    t->row = (float *)malloc(LONGEST * sizeof(float));
    t->top = (samp_logprob *)malloc((size_t)2 * MAX_ROWS * 2 * TOP_ROOM * sizeof *t->top);
    t->lp = (samp_logprobs *)malloc((size_t)2 * MAX_ROWS * sizeof *t->lp);
    t->more = (told *)calloc((size_t)2 * MAX_ROWS, sizeof *t->more);
    bool good = player_make(&t->p, isa, LONGEST) && t->data && t->mask && t->row && t->top && t->lp && t->more;
    for (int i = 0; i < N_DTYPES; i++) {
        samp_gpu_config config = { device, MAX_ROWS, LONGEST, dtypes[i], false, false, MOST_TOP, (stages_made + i) % 2 != 0 };
        int status;
        t->gpu[i] = samp_gpu_init(&config, &status);
        if (!t->gpu[i]) printf("  no context: %s\n", samp_strerror(status));
        good &= t->gpu[i] != NULL;
    }
    return good;
}

static bool stage_free(stage *t, bool good, const char *what)
{
    samp_gpu_perf_data sum = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    for (int i = 0; i < N_DTYPES; i++) {
        samp_gpu_perf_data perf = samp_gpu_perf(t->gpu[i]);
        sum.n_device += perf.n_device, sum.n_mixed += perf.n_mixed, sum.n_cpu += perf.n_cpu;
        sum.n_declined += perf.n_declined, sum.n_launches += perf.n_launches, sum.n_passes += perf.n_passes;
        samp_gpu_free(t->gpu[i]);
    }
    printf("  %s: %" PRIu64 " rows (%" PRIu64 " tokens); by kernels %" PRIu64 ", begun by them %" PRIu64
           ", cpu %" PRIu64 " (fetched back %" PRIu64 "); %" PRIu64 " passes, %" PRIu64 " launches%s\n",
           what, t->n_rows, t->n_tokens, sum.n_device, sum.n_mixed, sum.n_cpu, sum.n_declined, sum.n_passes,
           sum.n_launches, good ? "" : ": FAILED");
    fflush(stdout);
    if (good && !no_kernels && t->n_rows > 100 && sum.n_device + sum.n_mixed < t->n_rows / 4) {
        printf("  the kernels have hardly run: FAILED\n");
        good = false;
    }
    player_free(&t->p);
    free(t->data), free(t->mask), free(t->row), free(t->top), free(t->lp), free(t->more);
    return good;
}

/* How many logits row r has; 0: none, which is an error. */
static size_t length_of(const samp_logits *l, size_t r)
{
    const size_t n = l->n_vocab_of ? l->n_vocab_of[r] : l->n_vocab;
    return n <= l->n_vocab ? n : 0;
}

/* Writes the row as the definition reads it. */
static void row_of(const stage *t, const samp_logits *l, size_t r, float *out)
{
    (void)t;
    size_t from = l->row_index ? (size_t)l->row_index[r] : r, stride = l->stride ? l->stride : l->n_vocab;
    size_t mask_stride = l->mask_stride ? l->mask_stride : (l->n_vocab + 31) / 32;
    for (size_t i = 0; i < length_of(l, r); i++) {
        bool in = !l->mask || (l->mask[r * mask_stride + i / 32] >> i % 32 & 1);
        out[i] = in ? dtype_get(l->dtype, l->data, from * stride + i) : -INFINITY;
    }
}

static void report_row(stage *t, int type, const samp_logits *l, size_t r, const char *what)
{
    char plan[1000];
    t->p.report_len = 0;
    row_of(t, l, r, t->row);
    report_case(&t->p, t->steps[r], t->row, length_of(l, r));
    samp_gpu_plan(t->gpu[type], t->steps[r], plan, sizeof plan);
    printf("  row %zu of %zu, dtype %d%s: %s\n  %s\n%s", r, l->n_rows, (int)l->dtype, l->mask ? ", mask" : "", what,
           plan, t->p.report);
}

static samp_logprob_set *set_of(samp_logprobs *lp, int which) { return which ? &lp->processed : &lp->raw; }

/* Asks for the same log-probabilities on both sides, of the row as given and after the chain: none, few, the most, or
   more than the device computes. */
static void ask_logprobs(stage *t, const samp_logits *l)
{
    for (size_t r = 0; r < l->n_rows; r++) {
        source s = source_seed((t->wishes * 1000 + samp_get_position(t->steps[r]) / 2) * MAX_ROWS + r);
        for (int k = 0; k < 2; k++) {
            const int32_t most = percent(&s, 3) ? TOP_ROOM : percent(&s, 30) ? MOST_TOP : 12;
            const int32_t n_top = percent(&s, 10) ? most : percent(&s, 15) ? 0 : (int32_t)below(&s, (uint64_t)most);
            const double cumulative = normal_fast(&s);
            for (int side = 0; side < 2; side++) {
                samp_logprob *top = t->top + (((size_t)side * MAX_ROWS + r) * 2 + (size_t)k) * TOP_ROOM;
                const samp_logprob none = { -7, -7, -7.0f };
                const samp_logprob_set set = { .top_logprobs = n_top ? top : NULL, .n_top = n_top, .n_top_found = -77,
                                               .chosen = none, .cumulative_logprob = cumulative };
                for (int i = 0; i < TOP_ROOM; i++) top[i] = none;
                *set_of(&t->lp[(size_t)side * MAX_ROWS + r], k) = set;
            }
        }
        const bool asks_more = percent(&s, 5); /* of the CPU; the entropy comes from the device too */
        for (size_t side = 0; side < 2; side++) {
            samp_logprobs *lp = &t->lp[side * MAX_ROWS + r];
            lp->support = NULL;
            memset(&t->more[side * MAX_ROWS + r], 0, sizeof *t->more);
            if (asks_more) told_ask(&t->more[side * MAX_ROWS + r], lp, s, length_of(l, r));
        }
    }
}

/* Whether two sets are equal to the last bit, and nothing else was written. */
static bool same_set(const samp_logprob_set *a, const samp_logprob_set *b)
{
    size_t n = (size_t)a->n_top;
    return a->n_top_found == b->n_top_found && !memcmp(&a->chosen, &b->chosen, sizeof a->chosen) &&
           !memcmp(&a->cumulative_logprob, &b->cumulative_logprob, sizeof(double)) &&
           (n == 0 || !memcmp(a->top_logprobs, b->top_logprobs, n * sizeof *a->top_logprobs));
}

static void print_set(const char *name, const samp_logprob_set *set)
{
    printf("  %s: %d of %d, chosen %d, rank %d, %.9g\n", name, (int)set->n_top_found, (int)set->n_top,
           (int)set->chosen.token, (int)set->chosen.rank, (double)set->chosen.logprob);
}

/* Samples all rows with log-probabilities in one call, and compares with samp_sample_batch. */
static bool play_logprobs(stage *t, int type, const samp_logits *without)
{
    samp_token got[MAX_ROWS], want[MAX_ROWS];
    samp_logits l = *without;
    bool good = true;
    ask_logprobs(t, &l);
    l.logprobs = t->lp;
    l.n_threads = 1;
    int status = samp_sample_batch(t->steps, &l, want);
    l.logprobs = t->lp + MAX_ROWS;
    if (!status) status = samp_gpu_sample_batch(t->gpu[type], t->fast, &l, got);
    if (status) printf("  the batch failed: %s\n", samp_strerror(status));
    for (size_t r = 0; r < l.n_rows && good && !status; r++) {
        samp_logprobs *a = &t->lp[r], *b = &t->lp[MAX_ROWS + r];
        bool same = got[r] == want[r] && same_state(t->steps[r], t->fast[r]);
        t->n_rows++;
        t->n_tokens += want[r] >= 0;
        if (same && same_set(&a->raw, &b->raw) && same_set(&a->processed, &b->processed) &&
            (want[r] < 0 || told_same(&t->more[r], &t->more[MAX_ROWS + r], a, b)))
            continue;
        good = false;
        report_row(t, type, &l, r, same ? "other log-probabilities" : "another token or state");
        print_set("cpu, raw", &a->raw), print_set("gpu, raw", &b->raw);
        print_set("cpu, processed", &a->processed), print_set("gpu, processed", &b->processed);
    }
    return good && !status;
}

/* Samples all rows in one call, and compares each with the definition. */
static bool play_batch(stage *t, int type, const samp_logits *l)
{
    if (t->with_logprobs) return play_logprobs(t, type, l);

    samp_token got[MAX_ROWS], want[MAX_ROWS];
    bool good = true;
    for (size_t r = 0; r < l->n_rows; r++) {
        row_of(t, l, r, t->row);
        const size_t n = length_of(l, r);
        const bool missing = !n || sampi_life_is_short((const sampi_sampler *)t->steps[r], n);
        want[r] = !missing || samp_status(t->steps[r], NULL) ? step(&t->p, &t->steps[r], t->row, n, true)
                                                             : (int)SAMP_E_RANGE;
    }
    int status = samp_gpu_sample_batch(t->gpu[type], t->fast, l, got);
    if (status) {
        printf("  the batch failed: %s\n", samp_strerror(status));
        return false;
    }
    for (size_t r = 0; r < l->n_rows && good; r++) {
        bool state = same_state(t->steps[r], t->fast[r]);
        t->n_rows++;
        t->n_tokens += want[r] >= 0;
        if (got[r] == want[r] && state) continue;
        char what[80];
        good = false;
        snprintf(what, sizeof what, "%d, by definition %d%s", (int)got[r], (int)want[r],
                 state ? "" : "; other state");
        report_row(t, type, l, r, what);
    }
    return good;
}

static void free_chains(stage *t, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        samp_free(t->fast[r]);
        samp_free(t->steps[r]);
    }
}

/* Places the rows anywhere in the data, with other numbers between them. */
static void make_batch(stage *t, source *s, int type, samp_logits *l, int32_t *index)
{
    bool indexed = percent(s, 30), masked = percent(s, 20);
    l->data = t->data;
    l->dtype = dtypes[type];
    l->stride = percent(s, 50) ? 0 : l->n_vocab + below(s, 40);
    size_t stride = l->stride ? l->stride : l->n_vocab;
    for (size_t i = 0; i < stride * l->n_rows; i++) store(l->dtype, t->data, i, NAN);
    for (size_t r = 0; r < l->n_rows; r++) {
        index[r] = (int32_t)(l->n_rows - 1 - r);
        make_row(s, t->row, l->n_vocab);
        for (size_t i = 0; i < l->n_vocab; i++) store(l->dtype, t->data, r * stride + i, t->row[i]);
    }
    l->row_index = indexed ? index : NULL;
    l->n_vocab_of = percent(s, 20) ? t->n_of : NULL;
    for (size_t r = 0; r < l->n_rows && l->n_vocab_of; r++)
        t->n_of[r] = percent(s, 2)    ? (l->n_vocab + 1) * below(s, 2)
                     : percent(s, 60) ? l->n_vocab
                                      : 1 + below(s, l->n_vocab);
    if (!masked) return;
    unsigned share = (unsigned)PICK(s, 1.0f, 20.0f, 90.0f, 100.0f);
    l->mask_stride = percent(s, 50) ? 0 : (l->n_vocab + 31) / 32 + below(s, 3);
    size_t words = (l->mask_stride ? l->mask_stride : (l->n_vocab + 31) / 32) * l->n_rows;
    for (size_t i = 0; i < words; i++) {
        t->mask[i] = 0;
        for (int b = 0; b < 32; b++) t->mask[i] |= (uint32_t)!percent(s, share) << b;
    }
    l->mask = t->mask;
}

/* Makes packed rows of f32: n normal numbers. */
static void make_normal(stage *t, source *s, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) store(SAMP_F32, t->data, i, (float)normal_fast(s) * scale);
}

/* ------------------------------------------------------------------------------------------------------- tests */

typedef samp_sampler *(*chain_maker)(source *, size_t);

static bool one_batch_of(stage *t, source *s, chain_maker make, size_t n_rows, size_t n_vocab, int rounds)
{
    samp_logits l;
    int32_t index[MAX_ROWS];
    int type = (int)below(s, N_DTYPES);
    memset(&l, 0, sizeof l);
    l.n_vocab = n_vocab;
    l.n_rows = n_rows;
    for (size_t r = 0; r < n_rows; r++) {
        t->steps[r] = make(s, n_vocab);
        size_t prompt = percent(s, 40) ? below(s, 24) : 0;
        for (size_t i = 0; i < prompt; i++)
            samp_accept(t->steps[r], (samp_token)below(s, n_vocab < 4 ? n_vocab : percent(s, 50) ? 4 : n_vocab));
        t->fast[r] = samp_clone(t->steps[r]);
    }
    bool good = true;
    for (int i = 0; i < rounds && good; i++) {
        l.mask = NULL;
        make_batch(t, s, type, &l, index);
        good = play_batch(t, type, &l);
    }
    free_chains(t, n_rows);
    return good;
}

static bool one_batch(stage *t, source *s, size_t n_rows, size_t n_vocab, int rounds)
{
    return one_batch_of(t, s, make_chain, n_rows, n_vocab, rounds);
}

static bool one_case(stage *t, uint64_t seed)
{
    source s = source_seed(seed);
    size_t n = make_length(&s, 3000), n_rows;
    if (percent(&s, 25)) n = 900 + below(&s, 300);
    if (percent(&s, 6)) n = 2000 + below(&s, 12000);
    n_rows = 1 + below(&s, percent(&s, 70) ? 4 : MAX_ROWS);
    while (n_rows > 1 && n_rows * (n + 40) > MAX_CELLS / 4) n_rows--;
    t->wishes = seed;
    bool good = one_batch(t, &s, n_rows, n, percent(&s, 60) ? 1 : 1 + (int)below(&s, 4));
    if (!good) printf("  SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=1\n", seed);
    return good;
}

static bool random_batches(void)
{
    stage t;
    bool good = stage_make(&t);
    uint64_t seed = env_setting("SAMP_TEST_SEED", 1), n = env_setting("SAMP_TEST_CASES", on_device ? 6000 : 4000),
             failed = 0;
    for (uint64_t i = 0; i < n && good && failed < 5; i++) failed += !one_case(&t, seed + i);
    return stage_free(&t, good && !failed, "random batches");
}

/* Runs random batches in several threads at once, each with a context of its own. */
static void *random_batches_of(void *seed)
{
    stage t;
    bool good = stage_make(&t);
    uint64_t n = env_setting("SAMP_TEST_CASES", 400) / 4 + 1;
    for (uint64_t i = 0; i < n && good; i++) good = one_case(&t, *(const uint64_t *)seed + i);
    return stage_free(&t, good, "one of several threads") ? seed : NULL;
}

static bool contexts_in_threads(void)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    bool good = true;
    real_rows_load(REAL_ROWS_PATH);
    for (int i = 0; i < THREADS; i++) {
        seed[i] = 7000000 + 100000 * (uint64_t)i;
        if (pthread_create(&thread[i], NULL, random_batches_of, &seed[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        void *passed = NULL;
        good &= pthread_join(thread[i], &passed) == 0 && passed;
    }
    return good;
}

/* Makes a chain that does not use llama.cpp's arithmetic, which no device has. */
static samp_sampler *make_philox_chain(source *s, size_t n)
{
    samp_sampler *chain = make_chain(s, n);
    samp_set_rng(chain, SAMP_RNG_PHILOX);
    return chain;
}

/* Runs teams (thread blocks) at once, which wait for each other: long enough, or so briefly that they stop waiting and
   another launch finishes the batch. */
static bool one_waiting(stage *t, uint64_t seed)
{
    source s = source_seed(seed);
    uint32_t wait = (uint32_t)PICK(&s, 1.0f, 30.0f, 1000.0f, 1000000.0f);
    for (int k = 0; k < N_DTYPES; k++) t->gpu[k]->wait = wait;
    t->wishes = seed;
    at_once = true;
    const size_t n_rows = 1 + below(&s, 3), n = 1025 + below(&s, 6000);
    bool same = one_batch_of(t, &s, make_philox_chain, n_rows, n, 1 + (int)below(&s, 3));
    at_once = false;
    if (!same) printf("  wait %u, SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=20\n", wait, seed);
    return same;
}

static bool waiting_teams(void)
{
    stage t;
    if (device != SAMP_GPU_HOST) return not_run("for kernels on the host");
    bool good = stage_make(&t);
    uint64_t seed = env_setting("SAMP_TEST_SEED", 1), n = env_setting("SAMP_TEST_CASES", 4000) / 20, failed = 0;
    for (uint64_t i = 0; i < n && good && failed < 5; i++) failed += !one_waiting(&t, seed + i);
    return stage_free(&t, good && !failed, "waiting teams");
}

/* Whether a batch takes one launch. It must if all of its teams run at once, whatever number of teams the device has,
   and if each row has one team. After a batch whose teams have waited in vain, later batches must wait less. */
static bool batches_of_one_launch(samp_gpu *gpu, size_t n_rows, size_t n, float *data)
{
    samp_sampler *chain = chain_of(samp_init_min_p(0.05f, 1), samp_init_temp(0.8f), samp_init_dist(1));
    samp_sampler **rows = calloc(n_rows, 2 * sizeof *rows), **same = rows + n_rows;
    samp_token *token = calloc(n_rows, 2 * sizeof *token), *expected = token + n_rows;
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = data;
    l.n_rows = n_rows;
    l.n_vocab = n;
    bool good = true;
    for (size_t i = 0; i < n_rows * n; i++) data[i] = 9.0f * sinf((float)(i % 9973) * 12.9898f);
    for (size_t r = 0; r < n_rows; r++) rows[r] = samp_clone(chain), same[r] = samp_clone(chain);
    for (int batch = 0; batch < 2 && good; batch++) {
        const uint64_t launches = samp_gpu_perf(gpu).n_launches;
        good = samp_gpu_sample_batch(gpu, rows, &l, token) == SAMP_OK &&
               samp_sample_batch(same, &l, expected) == SAMP_OK;
        good = good && !memcmp(token, expected, n_rows * sizeof *token);
        const bool one = samp_gpu_perf(gpu).n_launches - launches == 1;
        good = good && (one || (gpu->wait == 0 && gpu->args.splits > 1 && !on_device));
        if (!good)
            printf("  %zu rows, batch %d: %u teams a row, of %u\n", n_rows, batch, gpu->args.splits, gpu->teams);
    }
    for (size_t r = 0; r < 2 * n_rows; r++) samp_free(rows[r]);
    samp_free(chain);
    free(rows);
    free(token);
    return good;
}

static bool one_launch_a_batch(void)
{
    static const size_t shapes[][2] = { { 3, 30000 }, { SAMPI_TEAMS + 1, 40 }, { 16, 65536 } };
    const size_t n = env_setting("SAMP_TEST_CASES", 1) >= 100 ? 3 : 2; /* the last one takes long on the
                                                                          interpreter */
    if (no_kernels) return not_run("for kernels");
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        samp_gpu_config config = { device, shapes[i][0], shapes[i][1], SAMP_F32, false, false, 0, false };
        samp_gpu *gpu = samp_gpu_init(&config, NULL);
        float *data = malloc(shapes[i][0] * shapes[i][1] * sizeof *data);
        good = gpu && data && batches_of_one_launch(gpu, shapes[i][0], shapes[i][1], data);
        free(data);
        samp_gpu_free(gpu);
    }
    return good;
}

/* Runs every sampler alone, before a temperature, and after one, with the smallest vocabularies and with those around
   the sizes of lanes and groups. */
static bool smallest_shapes(void)
{
    static const size_t lengths[] = { 1, 2, 3, 31, 32, 33, 63, 255, 1023, 1024, 1025, 2047, 2048, 2049, 4097 };
    stage t;
    bool good = stage_make(&t);
    uint64_t seed = env_setting("SAMP_TEST_SEED", 1);
    for (size_t i = 0; i < CASE_COUNT(lengths) && good; i++)
        for (int kind = 0; kind < N_KINDS * 3 && good; kind++) {
            source s = source_seed(seed + i * 1000 + (uint64_t)kind);
            int type = (int)below(&s, N_DTYPES);
            int32_t index[MAX_ROWS];
            samp_logits l;
            memset(&l, 0, sizeof l);
            l.n_vocab = lengths[i];
            l.n_rows = 1 + (size_t)kind % 3;
            for (size_t r = 0; r < l.n_rows; r++) {
                samp_sampler *chain = samp_chain_init();
                if (kind / N_KINDS == 1) samp_chain_add(chain, samp_init_temp(0.7f));
                if (kind / N_KINDS == 2) samp_chain_add(chain, samp_init_temp(1.3f)); /* even after a selection */
                samp_chain_insert(chain, kind / N_KINDS == 1, make_kind(&s, kind % N_KINDS, l.n_vocab));
                if (kind % N_KINDS < N_STAGES)
                    samp_chain_add(chain, kind % 2 ? samp_init_dist(r) : samp_init_ras(3, 0.3f, r));
                t.steps[r] = chain;
                t.fast[r] = samp_clone(chain);
            }
            make_batch(&t, &s, type, &l, index);
            good = play_batch(&t, type, &l);
            free_chains(&t, l.n_rows);
        }
    return stage_free(&t, good, "smallest shapes");
}

/* A NaN is found at every index, in every type. */
static bool a_nan_is_found_anywhere(void)
{
    stage t;
    bool good = stage_make(&t);
    for (int type = 0; type < N_DTYPES && good; type++)
        for (size_t at = 0; at < 12290 && good; at += 211) {
            samp_logits l;
            memset(&l, 0, sizeof l);
            l.data = t.data;
            l.dtype = dtypes[type];
            l.n_rows = 1;
            l.n_vocab = 12290;
            for (size_t k = 0; k < l.n_vocab; k++) store(l.dtype, t.data, k, (float)(k % 17));
            store(l.dtype, t.data, at, NAN);
            t.steps[0] = samp_init_dist(1);
            t.fast[0] = samp_clone(t.steps[0]);
            good = play_batch(&t, type, &l);
            free_chains(&t, 1);
        }
    return stage_free(&t, good, "NaN anywhere");
}

/* top_n_sigma cuts exactly at a token, so the last bits of the variance decide; a sampler that depends on all remaining
   tokens makes a difference visible. */
static bool sigma_at_the_cut(void)
{
    stage t;
    bool good = stage_make(&t);
    custom spy = { CUSTOM_SPY, 0, -1 };
    for (int i = 0; i < 300 && good; i++) {
        source s = source_seed(900 + (uint64_t)i);
        double sum = 0.0, squares = 0.0, max = -1e9;
        float x[1500];
        samp_logits l;
        memset(&l, 0, sizeof l);
        l.data = t.data;
        l.n_rows = 1;
        l.n_vocab = 1100 + below(&s, 400);
        for (size_t k = 0; k < l.n_vocab; k++) {
            x[k] = (float)normal_fast(&s);
            store(SAMP_F32, t.data, k, x[k]);
            sum += (double)x[k];
            squares += (double)x[k] * (double)x[k];
            max = (double)x[k] > max ? (double)x[k] : max;
        }
        double n = (double)l.n_vocab, sigma = sqrt(squares / n - sum / n * (sum / n));
        samp_sampler *chain = samp_chain_init();
        samp_chain_add(chain, samp_init_top_n_sigma((float)((max - (double)x[below(&s, l.n_vocab)]) / sigma)));
        samp_chain_add(chain, i % 3 ? samp_init_top_k(i % 2 ? 60 : 2000) : samp_init_top_p(0.97f, 1));
        samp_chain_add(chain, custom_make(spy));
        samp_chain_add(chain, samp_init_dist((uint64_t)i));
        t.steps[0] = chain;
        t.fast[0] = samp_clone(chain);
        good = play_batch(&t, 0, &l);
        free_chains(&t, 1);
    }
    return stage_free(&t, good, "top_n_sigma at the cut");
}

/* smoothing computes distances from the maximum of the remaining tokens. A larger logit, which xtc has removed, must
   not make the other tokens of its cell (32 elements of a lane) seem far away. */
static bool above_the_maximum(void)
{
    enum { LANE = 5, N = 1500 };
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_rows = 1;
    l.n_vocab = N;
    for (size_t i = 0; i < N; i++) store(SAMP_F32, t.data, i, i % 32 > 10 && i < 32 ? 12.5f : 0.0f);
    for (size_t i = 0; i < 4; i++) store(SAMP_F32, t.data, LANE + 32 * i, (const float[]){ 20, 14, 13, 13 }[i]);
    for (int last = 0; last < 2 && good; last++) {
        t.steps[0] = chain_of(samp_init_xtc(1.0f, 0.0015f, 0, 1), samp_init_smoothing(1.0f, 1.0f),
                              samp_init_top_k(5));
        samp_chain_add(t.steps[0], last ? samp_init_greedy() : samp_init_dist(3));
        t.fast[0] = samp_clone(t.steps[0]);
        good = play_batch(&t, 0, &l);
        free_chains(&t, 1);
    }
    return stage_free(&t, good, "above the maximum");
}

/* Runs the benchmark's chains on rows of a real size, peaked, flat, all equal, and real, in the usual types. */
static bool rows_of_a_real_size(void)
{
    stage t;
    bool good = stage_make(&t);
    for (int kind = 0; kind < 4 && good; kind++)
        for (int shape = 0; shape < 13 && good; shape++) {
            if (shape > 8 && (on_device ? kind : kind % 2) != 0) continue;
            if (in_short() && (kind + shape) % 2) continue;
            source s = source_seed((uint64_t)(100 + kind * 10 + shape));
            samp_logits l;
            memset(&l, 0, sizeof l);
            l.n_vocab = kind == 3 ? 32768 : 128256;
            l.n_rows = 2;
            l.data = t.data;
            const int type = kind == 1 ? 2 : shape % 4 == 3 ? 1 : 0; /* bf16, f16, f32 */
            l.dtype = dtypes[type];
            for (size_t r = 0; r < l.n_rows; r++) {
                static const float bias_of[] = { 3.0f, -2.0f, -INFINITY };
                static const samp_token end = 7;
                samp_logit_bias bias[3];
                samp_sampler *chain = samp_chain_init();
                for (int i = 0; i < 3; i++)
                    bias[i].token = (samp_token)(r + 1000 * (size_t)i), bias[i].bias = bias_of[i];
                if (shape == 8) samp_chain_add(chain, samp_init_logit_bias(128256, 3, bias));
                if (shape == 0) samp_chain_add(chain, samp_init_top_k(40));
                if (shape < 2 || shape == 8) samp_chain_add(chain, samp_init_top_p(0.95f, 1));
                if (shape == 2) samp_chain_add(chain, samp_init_min_p(0.05f, 1));
                if (shape == 4) samp_chain_add(chain, samp_init_typical(0.9f, 1));
                if (shape == 5) samp_chain_add(chain, samp_init_top_k(20000));
                if (shape == 6) samp_chain_add(chain, samp_init_top_n_sigma(1.0f));
                if (shape == 9) samp_chain_add(chain, samp_init_top_h(0.4f, 1));
                if (shape == 10) samp_chain_add(chain, samp_init_min_k(3.0f));
                if (shape == 11) samp_chain_add(chain, samp_init_log_softmax());
                if (shape >= 11) samp_chain_add(chain, samp_init_smoothing(0.2f, shape == 11 ? 1.5f : 4.0f));
                if (shape == 11) samp_chain_add(chain, samp_init_top_k_ties(300));
                if (shape == 12) samp_chain_add(chain, samp_init_top_p_decay(0.9f, 0.9f, 0.3f, &end, 1, 0));
                samp_chain_add(chain, samp_init_temp(0.8f));
                samp_chain_add(chain, shape == 7    ? samp_init_adaptive_p(0.3f, 0.9f, r)
                                      : shape >= 11 ? samp_init_gumbel(r)
                                                    : samp_init_dist(r));
                t.steps[r] = chain;
                t.fast[r] = samp_clone(chain);
                for (size_t i = 0; i < l.n_vocab; i++) {
                    float x = kind == 2 ? 1.0f : (float)normal_fast(&s) * (kind ? 1.0f : 3.0f);
                    if (kind == 3 && real_rows) x = real_logit(r * REAL_WIDTH + i);
                    store(l.dtype, t.data, r * l.n_vocab + i, x);
                }
            }
            t.wishes = (uint64_t)shape;
            for (int i = 0; i < 3 && good; i++) { /* when n_top changes, a kept chain gets other steps */
                t.with_logprobs = i == 1;
                good = play_batch(&t, type, &l);
            }
            if (!good) printf("  kind %d, shape %d\n", kind, shape);
            free_chains(&t, l.n_rows);
        }
    return stage_free(&t, good, "long rows");
}

/* Rows with a few more tokens than a short list holds, nearly equal, many of them with changed logits: a token that
   counted twice, or not at all, would often change the draw. */
static bool changed_at_the_end(void)
{
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_rows = 1;
    for (int i = 0; i < (on_device ? 20 : 3000) && good; i++) {
        source s = source_seed(5000 + (uint64_t)i);
        samp_logit_bias bias[64];
        l.n_vocab = 100 + below(&s, 80);
        for (int k = 0; k < 64; k++) bias[k].token = 32 + k, bias[k].bias = 0.001f * (float)k;
        for (size_t k = 0; k < l.n_vocab; k++) store(SAMP_F32, t.data, k, 0.01f * (float)normal_fast(&s));
        t.steps[0] = chain_of(samp_init_logit_bias((int32_t)l.n_vocab, 64, bias),
                              samp_init_top_p(0.3f + 0.6f * (float)uniform(&s), 1), samp_init_dist((uint64_t)i));
        t.fast[0] = samp_clone(t.steps[0]);
        good = play_batch(&t, 0, &l);
        free_chains(&t, 1);
    }
    return stage_free(&t, good, "changed at the end");
}

/* Makes chains whose nucleus (the tokens that top_p keeps) is far longer than a list. The tests check where it ends, by
   log-probabilities of the remaining tokens, and in how many passes over a row that is found (two or three, if the
   sample is right). Rows are flat, steep, with ties, and with changed tokens. */
static samp_sampler *nucleus_chain(int shape, size_t n, uint64_t seed)
{
    samp_sampler *chain = samp_chain_init();
    samp_logit_bias bias[400];
    for (int i = 0; i < 400; i++)
        bias[i].token = (samp_token)n / 400 * i, bias[i].bias = (float)(i % 7) * 0.4f - 1.2f;
    if (shape == 2) samp_chain_add(chain, samp_init_temp(1.3f));
    if (shape == 3) samp_chain_add(chain, samp_init_logit_bias((int32_t)n, 400, bias));
    const size_t min_keep = shape == 6 ? n / 8 * 7 : shape == 7 ? n / 2 : 1; /* 7: ends after the list */
    samp_chain_add(chain, samp_init_top_p(shape == 1 ? 0.6f : shape == 7 ? 1e-30f : 0.95f, min_keep));
    if (shape == 7) samp_chain_add(chain, samp_init_top_n_sigma(9.0f));
    if (shape == 4) samp_chain_add(chain, samp_init_min_p(0.001f, 1));
    if (shape != 1 && shape != 2) samp_chain_add(chain, samp_init_temp(shape == 5 ? 0.0f : 0.8f));
    samp_chain_add(chain, samp_init_dist(seed));
    return chain;
}

static bool long_nuclei(void)
{
    enum { ROWS = 2, N = SAMP_GPU_LIST < 4096 ? 12000 : 128256, KINDS = 5 };
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.n_vocab = N;
    l.n_rows = ROWS;
    l.data = t.data;
    for (int kind = 0; kind < KINDS && good; kind++)
        for (int shape = 0; shape < 8 && good; shape++) {
            if (N > 100000 && (kind + shape) % (on_device ? 4 : 2) != 0) continue;
            source s = source_seed((uint64_t)(700 + kind * 10 + shape));
            const int type = shape == 2 ? 2 : 0;
            const samp_gpu_perf_data before = samp_gpu_perf(t.gpu[type]);
            l.dtype = dtypes[type];
            for (size_t i = 0; i < ROWS * N; i++) {
                static const float spread[KINDS] = { 1.0f, 2.0f, 0.0f, 0.01f, 1.0f };
                float x = (float)normal_fast(&s) * spread[kind];
                if (kind == 2) x = 12.0f - (float)log(1.0 + uniform(&s) * N);
                if (kind == 4) x = (float)(int)(x * 3.0f);
                store(l.dtype, t.data, i, x);
            }
            for (size_t r = 0; r < ROWS; r++) {
                t.steps[r] = nucleus_chain(shape, N, r);
                t.fast[r] = samp_clone(t.steps[r]);
            }
            for (int i = 0; i < 2 && good; i++) {
                t.with_logprobs = i == 1;
                good = play_batch(&t, type, &l);
                const uint64_t passes = samp_gpu_perf(t.gpu[type]).n_passes - before.n_passes;
                /* two passes more if all logits share a few buckets of the first histogram: another one, and a list */
                const uint64_t most = kind == 3 ? 5 : 3;
                if (i == 0 && kind < 4 && shape < 3 && N > 100000 && !no_kernels) good &= passes <= ROWS * most + 1;
                if (!good) printf("  kind %d, shape %d: %" PRIu64 " passes\n", kind, shape, passes);
            }
            free_chains(&t, ROWS);
        }
    return stage_free(&t, good, "long nuclei");
}

/* search.key may lie anywhere between a prefix's last token and the next one; tokens that tie with the last token must
   not be confused with tokens that tie with the next. */
static bool ties_of_few(void)
{
    enum { ROWS = 16, N = 33, BATCHES = 60 };
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.n_vocab = N;
    l.n_rows = ROWS;
    l.data = t.data;
    l.dtype = dtypes[2];
    for (int batch = 0; batch < BATCHES && good; batch++) {
        source s = source_seed((uint64_t)(1900 + batch));
        for (size_t i = 0; i < ROWS * N; i++) store(l.dtype, t.data, i, 14.0f + (float)below(&s, 40) / 16.0f);
        for (size_t r = 0; r < ROWS; r++) {
            t.steps[r] = samp_chain_init();
            samp_chain_add(t.steps[r], samp_init_top_k_ties(2 + (int32_t)(r % 5)));
            samp_chain_add(t.steps[r], samp_init_dist(r));
            t.fast[r] = samp_clone(t.steps[r]);
        }
        good = play_batch(&t, 2, &l);
        free_chains(&t, ROWS);
    }
    return stage_free(&t, good, "ties of few");
}

/* A histogram of any range has at most the buckets that there is room for, and more than half of them. */
static bool histograms_fit(void)
{
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    source s = source_seed(4);
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_vocab = 500;
    l.n_rows = 1;
    make_normal(&t, &s, l.n_vocab, 3.0f);
    t.steps[0] = chain_of(samp_init_dist(1), NULL, NULL);
    t.fast[0] = samp_clone(t.steps[0]);
    good = good && play_batch(&t, 0, &l);
    for (int bits = 0; bits < 20 && good && !on_device && !no_kernels; bits++)
        for (int more = -1; more <= 1 && good; more++) {
            const sampi_gpu_here here = sampi_gpu_at(&t.gpu[0]->args, 0);
            const sampi_gpu_search *search = &here.st->search;
            sampi_gpu_begin_histogram(&here, 77, 77 + ((uint64_t)SAMPI_FINE << bits) + (uint64_t)more, false);
            uint64_t buckets = ((search->hi - search->lo) >> search->shift) + 1;
            good = buckets <= SAMPI_FINE && buckets > SAMPI_FINE / 2;
            if (!good) printf("  %d << %d, and %d: %" PRIu64 " buckets\n", (int)SAMPI_FINE, bits, more, buckets);
        }
    free_chains(&t, 1);
    return stage_free(&t, good, "histograms fit");
}

/* Runs shares that end one unit before a prefix of the order. */
static bool cuts_to_the_unit(void)
{
    static const size_t lengths[] = { 2, 90, 5000 };
    stage t;
    bool good = stage_make(&t);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    for (size_t batch = 0; batch < 12 && good; batch++) {
        l.n_vocab = lengths[batch % 3];
        l.n_rows = 12;
        for (size_t r = 0; r < l.n_rows; r++) {
            t.steps[r] = chain_of(unit_row(r, (float *)t.data + r * l.n_vocab, l.n_vocab), samp_init_dist(batch),
                                  NULL);
            t.fast[r] = samp_clone(t.steps[r]);
        }
        good = play_batch(&t, 0, &l);
        free_chains(&t, l.n_rows);
    }
    return stage_free(&t, good, "cuts to the unit");
}

/* A chain may go to the CPU and back between any two tokens. */
static bool chains_change_sides(void)
{
    stage t;
    bool good = stage_make(&t);
    samp_params params = samp_default_params();
    params.penalty_repeat = 1.2f;
    params.seed = 9;
    for (int mirostat = 0; mirostat < 3 && good; mirostat++) {
        source s = source_seed(5);
        samp_logits l;
        memset(&l, 0, sizeof l);
        params.mirostat = mirostat;
        params.n_vocab = 1500;
        l.n_vocab = 1500;
        l.n_rows = 1;
        l.data = t.data;
        t.steps[0] = samp_chain_from_params(&params, NULL);
        t.fast[0] = samp_clone(t.steps[0]);
        for (int i = 0; i < 60 && good; i++) {
            make_normal(&t, &s, l.n_vocab, 2.0f);
            if (i % 3 == 0) {
                memcpy(t.row, t.data, l.n_vocab * sizeof(float));
                good = samp_sample(t.fast[0], t.row, l.n_vocab) == step(&t.p, &t.steps[0], t.row, l.n_vocab, true);
            } else {
                good = play_batch(&t, 0, &l);
            }
        }
        free_chains(&t, 1);
    }
    return stage_free(&t, good, "sides change");
}

/* ---- chains that stay on the device ---- */

static samp_sampler *kept_chain(source *s)
{
    samp_params p = samp_default_params();
    p.seed = below(s, 1000);
    p.n_vocab = 1500;
    p.mirostat = percent(s, 40) ? (int)below(s, 3) : 0;
    if (percent(s, 30)) p.adaptive_target = 0.3f;
    if (percent(s, 30)) p.xtc_probability = 0.5f;
    if (percent(s, 50)) { /* windows that fill up soon, or never; or no window */
        p.penalty_repeat = percent(s, 50) ? 1.2f : 0.8f;
        p.penalty_freq = percent(s, 50) ? 0.3f : 0.0f;
        p.penalty_present = percent(s, 50) ? -0.2f : 0.0f;
        p.penalty_last_n = PICK(s, 1, 2, 3, 8, 64, 1200);
    }
    if (percent(s, 30)) p.temp = 0.0f; /* greedy: the position never advances */
    samp_logit_bias bias[4] = { { 7, 1.0f }, { 3, -INFINITY }, { percent(s, 20) ? 1499 : 1000, 2.0f }, { 7, 0.5f } };
    if (percent(s, 20)) p.logit_bias = bias, p.n_logit_bias = 1 + (int)below(s, 4);
    if (percent(s, 20)) p.typ_p = 0.8f, p.top_n_sigma = 2.0f;
    return samp_chain_from_params(&p, NULL);
}

enum {
    EDIT_ACCEPT,
    EDIT_POSITION,
    EDIT_RESET,
    EDIT_MEMBER,
    EDIT_UPDATE,
    EDIT_STATE,
    EDIT_REPLACE,
    EDIT_CPU,
    EDIT_SWAP,
    EDIT_REBUILD,
    EDIT_APPLY,
    EDIT_SAMPLE,
    EDIT_REMOVE,
    EDIT_RNG,
    EDIT_BACK,
    EDIT_OUTER,
    EDIT_ROLLBACK,
    N_EDITS
};

static int n_taken_back; /* number of rollbacks that took tokens back */

/* Changes both copies of a row's chain between two batches. */
static bool edit(stage *t, source *s, size_t r, int kind, samp_logits *l)
{
    samp_sampler **row[2] = { &t->steps[r], &t->fast[r] };
    const samp_token token = (samp_token)below(s, l->n_vocab);
    const uint64_t number = below(s, 5), position = samp_get_position(t->fast[r]);
    const float ten[10] = { 1.0f, 2.0f, 3.0f };
    samp_params p = samp_default_params();
    p.n_vocab = 1500;
    p.seed = number;
    p.temp = 0.5f + (float)number;
    static char bytes[20000];
    source again = *s;
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        samp_sampler *c = *row[i];
        samp_sampler *last = samp_chain_get(c, samp_chain_n(c) - 1);
        samp_token_data two[2] = { { 0, 1.0f, 0.0f }, { 1, 0.5f, 0.0f } };
        samp_token_data_array cur = { two, 2, -1, false };
        switch (kind) {
            case EDIT_ACCEPT: good = samp_accept(percent(s, 50) ? c : last, token) == SAMP_OK; break;
            case EDIT_POSITION: good = samp_set_position(c, samp_get_position(c) + number % 2) == SAMP_OK; break;
            case EDIT_RESET: samp_reset(c); break;
            case EDIT_MEMBER: samp_reset(last); break;
            case EDIT_UPDATE: good = samp_chain_update(c, &p) == SAMP_OK; break;
            case EDIT_STATE:
                good = samp_state_save(c, bytes, sizeof bytes) == SAMP_OK;
                good &= samp_apply(last, &cur) == SAMP_OK;
                good &= samp_state_load(c, bytes, samp_state_size(c)) == SAMP_OK;
                break;
            case EDIT_REPLACE:
                samp_free(c); /* the new chain may get the same address */
                *s = again;
                *row[i] = kept_chain(s);
                good = samp_set_position(*row[i], position) == SAMP_OK;
                break;
            case EDIT_REBUILD:
                good = samp_chain_remove(c, samp_chain_n(c) - 1) == last;
                for (uint64_t k = 0; k < number; k++) good &= samp_chain_add(c, samp_init_temp(1.1f)) == SAMP_OK;
                good &= samp_chain_add(c, last) == SAMP_OK;
                break;
            case EDIT_APPLY: good = samp_apply(last, &cur) == SAMP_OK; break;
            case EDIT_SAMPLE: good = samp_draw(last, ten, 10) >= 0; break;
            case EDIT_REMOVE:
                if (samp_chain_n(c) > 1) samp_free(samp_chain_remove(c, 0));
                break;
            case EDIT_BACK: /* a draw, and its position taken back */
                good = samp_draw(c, ten, 10) >= 0 && samp_set_position(c, position) == SAMP_OK;
                break;
            case EDIT_ROLLBACK: { /* takes tokens back, also those that the device drew; as many as both
                                     chains have recorded */
                static int status[2];
                status[i] = samp_rollback(c, (int32_t)number);
                good = (status[i] == SAMP_OK || status[i] == SAMP_E_RANGE) && status[i] == status[0];
                n_taken_back += status[i] == SAMP_OK && number > 0;
                break;
            }
            case EDIT_OUTER: { /* a chain that contains this one for a while */
                samp_sampler *outer = samp_chain_init();
                good = samp_chain_add(outer, c) == SAMP_OK && samp_sample(outer, ten, 10) >= 0 &&
                       samp_chain_remove(outer, 0) == c;
                samp_free(outer);
                break;
            }
            case EDIT_RNG:
                good = samp_set_rng(c, number ? SAMP_RNG_PHILOX : SAMP_RNG_MT19937) == SAMP_OK;
                if (number % 2) good &= samp_set_position(c, position) == SAMP_OK; /* an edit by itself */
                break;
            default: break;
        }
        if (i == 0 && kind == EDIT_ACCEPT) *s = again;
    }
    if (kind == EDIT_CPU) {
        row_of(t, l, r, t->row);
        samp_token want = step(&t->p, &t->steps[r], t->row, l->n_vocab, number > 2);
        row_of(t, l, r, t->row);
        good = want == (number > 2 ? samp_sample : samp_draw)(t->fast[r], t->row, l->n_vocab);
    }
    if (kind == EDIT_SWAP) {
        const size_t k = below(s, l->n_rows);
        samp_sampler *a = t->steps[r], *b = t->fast[r];
        t->steps[r] = t->steps[k], t->fast[r] = t->fast[k];
        t->steps[k] = a, t->fast[k] = b;
    }
    if (!good) printf("  edit %d failed\n", kind);
    return good;
}

/* The device keeps chains and updates their state; every change of a chain elsewhere must reach it. */
static bool kept_rows(void)
{
    stage t;
    enum { ROWS = 12 };
    samp_gpu_config config = { device, ROWS, 1500, SAMP_F32, false, false, 0, false };
    samp_gpu *other = samp_gpu_init(&config, NULL);
    bool good = stage_make(&t) && other;
    for (uint64_t seed = 1; seed <= 20 && good; seed += in_short() ? 2 : 1) {
        source s = source_seed(seed);
        samp_logits l;
        memset(&l, 0, sizeof l);
        l.n_vocab = 1500;
        l.data = t.data;
        for (size_t r = 0; r < ROWS; r++) t.steps[r] = kept_chain(&s), t.fast[r] = samp_clone(t.steps[r]);
        for (int round = 0; round < 60 && good; round++) {
            make_normal(&t, &s, ROWS * l.n_vocab, 3.0f);
            l.n_rows = percent(&s, 80) ? ROWS : 1 + below(&s, ROWS);
            l.n_vocab = percent(&s, 90) ? 1500 : 1400 + below(&s, 101);
            for (size_t k = 0; percent(&s, 30) && k < l.n_rows; k++) /* few tokens, so that they recur */
                for (size_t i = 30; i < l.n_vocab; i++) store(SAMP_F32, t.data, k * l.n_vocab + i, -20.0f);
            for (int k = (int)below(&s, 4); k > 0 && good; k--)
                good = edit(&t, &s, below(&s, l.n_rows), (int)below(&s, N_EDITS), &l);
            for (size_t r = 0; r < l.n_rows; r++) /* rows that fail */
                if (percent(&s, 20)) store(SAMP_F32, t.data, r * l.n_vocab + below(&s, l.n_vocab), NAN);
            t.with_logprobs = seed > 14 && round % 16 < 12;
            if (percent(&s, 20)) { /* the first row is finished, and the others move up */
                samp_sampler *a = t.steps[0], *b = t.fast[0];
                memmove(t.steps, t.steps + 1, (ROWS - 1) * sizeof *t.steps);
                memmove(t.fast, t.fast + 1, (ROWS - 1) * sizeof *t.fast);
                t.steps[ROWS - 1] = a, t.fast[ROWS - 1] = b;
            }
            samp_gpu *here = t.gpu[0];
            if (percent(&s, 20)) t.gpu[0] = other;
            if (good) good = play_batch(&t, 0, &l);
            t.gpu[0] = here;
        }
        free_chains(&t, ROWS);
        if (!good) printf("  seed %" PRIu64 "\n", seed);
    }
    uint64_t kept = good ? samp_gpu_perf(t.gpu[0]).n_kept : 0;
    printf("  kept %" PRIu64 "\n", kept);
    samp_gpu_free(other);
    return stage_free(&t, good && (no_kernels || kept > 1000) && n_taken_back > (in_short() ? 40 : 100), "kept rows");
}

/* Runs windows that the device keeps for long, with the same few tokens, which enter, leave one by one, and
   disappear. */
static bool kept_windows(void)
{
    stage t;
    static const int32_t last_n[] = { 1, 2, 3, 7, 20, 90 };
    enum { ROWS = sizeof last_n / sizeof last_n[0], ROUNDS = 120 };
    bool good = stage_make(&t);
    source s = source_seed(21);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_vocab = 12;
    l.n_rows = ROWS;
    for (size_t r = 0; r < ROWS; r++) {
        t.steps[r] = samp_chain_init();
        samp_chain_add(t.steps[r], samp_init_penalties(last_n[r], 1.3f, 0.4f, 0.2f));
        samp_chain_add(t.steps[r], samp_init_dist(r));
        t.fast[r] = samp_clone(t.steps[r]);
    }
    for (int round = 0; round < ROUNDS && good; round++) {
        make_normal(&t, &s, ROWS * l.n_vocab, 2.0f);
        good = play_batch(&t, 0, &l);
    }
    good = good && (no_kernels || samp_gpu_perf(t.gpu[0]).n_kept == ROWS * (ROUNDS - 1));
    free_chains(&t, ROWS);
    return stage_free(&t, good, "kept windows");
}

/* Samples a row whose chain is part of another chain, and that other chain in between, on a device and on the CPU. */
static bool chain_in_a_chain(void)
{
    stage t;
    bool good = stage_make(&t);
    source s = source_seed(11);
    samp_sampler *outer[2] = { samp_chain_init(), NULL }, *inner = samp_chain_init();
    samp_chain_add(inner, samp_init_penalties(8, 2.0f, 0.5f, 0.5f));
    samp_chain_add(inner, samp_init_dist(3));
    samp_chain_add(outer[0], inner);
    outer[1] = samp_clone(outer[0]);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.row;
    l.n_vocab = 20;
    l.n_rows = 1;
    for (int round = 0; round < 40 && good; round++) {
        samp_token token;
        for (size_t k = 0; k < l.n_vocab; k++) t.row[k] = (float)normal_fast(&s);
        samp_sampler *row = samp_chain_get(outer[0], 0);
        good = samp_gpu_sample_batch(t.gpu[0], &row, &l, &token) == SAMP_OK &&
               token == samp_sample(samp_chain_get(outer[1], 0), t.row, l.n_vocab) &&
               samp_sample(outer[0], t.row, l.n_vocab) == samp_sample(outer[1], t.row, l.n_vocab);
    }
    samp_free(outer[0]);
    samp_free(outer[1]);
    return stage_free(&t, good, "a chain in a chain");
}

static samp_sampler *long_chain(int n, int n_bias, size_t n_vocab, uint64_t seed)
{
    static samp_logit_bias bias[1200];
    samp_sampler *c = samp_chain_init();
    for (int i = 0; i < n_bias; i++) bias[i].token = i, bias[i].bias = 0.01f * (float)(i % 7);
    samp_chain_add(c, samp_init_logit_bias((int32_t)n_vocab, n_bias, bias));
    for (int i = 2; i < n; i++) samp_chain_add(c, samp_init_temp(1.01f));
    samp_chain_add(c, samp_init_dist(seed));
    return c;
}

/* Runs as many samplers as the device takes, and more; the row then goes to the CPU. */
static bool chains_of_many_members(void)
{
    static const int members[] = { 22, 23, 24, 25, 65, 200 };
    stage t;
    bool good = stage_make(&t);
    source s = source_seed(12);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.row;
    l.n_vocab = 700;
    l.n_rows = 1;
    for (size_t i = 0; i < CASE_COUNT(members) && good; i++) {
        samp_sampler *chain = long_chain(members[i], 3, l.n_vocab, i), *like = samp_clone(chain);
        for (int round = 0; round < 4 && good; round++) {
            samp_token token = -1;
            for (size_t k = 0; k < l.n_vocab; k++) t.row[k] = (float)(3.0 * normal_fast(&s));
            samp_token want = step(&t.p, &like, t.row, l.n_vocab, true);
            good = samp_gpu_sample_batch(t.gpu[0], &chain, &l, &token) == SAMP_OK && token == want &&
                   same_state(chain, like);
        }
        if (!good) printf("  %d members\n", members[i]);
        samp_free(chain);
        samp_free(like);
    }
    return stage_free(&t, good, "many members");
}

/* Runs as many samplers as a row can have on the device, in every row; then adds a row with too many changed logits and
   more samplers than the others, which are on the device already. */
static bool rows_with_most_samplers(void)
{
    stage t;
    bool good = stage_make(&t);
    enum { ROWS = 9 };
    for (int kind = 0; kind < 2 && good; kind++) {
        source s = source_seed(77);
        samp_gpu_config config = { device, ROWS, 1500, SAMP_F32, false, false, 0, false };
        samp_gpu *gpu = samp_gpu_init(&config, NULL), *here = t.gpu[0];
        samp_logits l;
        memset(&l, 0, sizeof l);
        l.data = t.data;
        l.n_vocab = 1500;
        for (size_t r = 0; r < ROWS; r++) {
            t.steps[r] = kind == 0       ? long_chain(SAMPI_STEPS, 200, 1500, r)
                         : r == ROWS - 1 ? long_chain(7, 1200, 1500, r)
                                         : long_chain(3, 5, 1500, r);
            t.fast[r] = samp_clone(t.steps[r]);
        }
        for (int round = 0; round < 5 && good && gpu; round++) {
            l.n_rows = kind == 1 && round < 2 ? ROWS - 1 : ROWS;
            make_normal(&t, &s, ROWS * l.n_vocab, 3.0f);
            t.gpu[0] = gpu;
            good = play_batch(&t, 0, &l);
            t.gpu[0] = here;
        }
        good &= gpu != NULL;
        free_chains(&t, ROWS);
        samp_gpu_free(gpu);
    }
    return stage_free(&t, good, "rows with most samplers");
}

/* The numbers of batches are used up; a batch fails, which leaves the device in any state, or never ends. */
static bool batches_fail_and_run_out(void)
{
    stage t;
    bool good = stage_make(&t);
    source s = source_seed(5);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_vocab = 1500;
    make_normal(&t, &s, 6 * l.n_vocab, 3.0f);
    for (size_t r = 0; r < 6; r++) t.steps[r] = kept_chain(&s), t.fast[r] = samp_clone(t.steps[r]);
    for (int round = 0; round < 12 && good; round++) {
        l.n_rows = round < 5 ? 3 : 6; /* number 0 would be that of a result that does not exist yet */
        if (round == 3) t.gpu[0]->batch = UINT32_MAX - 2; /* the third batch from here would have number 0 */
        if (round == 8 && !no_kernels) {                  /* half a batch: passes of rows that are never
                                                             finished */
            sampi_gpu_divide(t.gpu[0], t.fast, &l);
            good = sampi_gpu_upload(t.gpu[0], &l, NULL) == SAMP_OK;
            sampi_gpu_launch(t.gpu[0]);
            sampi_gpu_forget(t.gpu[0], SAMP_E_DEVICE);
        }
        if (round == 10 && !no_kernels && !on_device) {
            samp_token out[6];
            teams_are_gone = true;
            good = samp_gpu_sample_batch(t.gpu[0], t.fast, &l, out) == SAMP_E_DEVICE;
            teams_are_gone = false;
        }
        make_normal(&t, &s, 6 * l.n_vocab, 3.0f);
        good = good && play_batch(&t, 0, &l);
    }
    free_chains(&t, 6);
    return stage_free(&t, good, "batches fail and run out");
}

/* Loads a state while the device has another state of the same position, left by a row that failed. */
static bool a_state_loaded_over_another(void)
{
    stage t;
    bool good = stage_make(&t);
    char bytes[2000];
    samp_params p = samp_default_params();
    samp_token_data two[2] = { { 0, 1.0f, 0.0f }, { 1, 0.5f, 0.0f } };
    samp_token_data_array cur = { two, 2, -1, false };
    source s = source_seed(3);
    samp_logits l;
    samp_token none;
    memset(&l, 0, sizeof l);
    l.data = t.data;
    l.n_vocab = 700;
    l.n_rows = 1;
    p.mirostat = 2;
    p.n_vocab = 700;
    samp_sampler *chain = t.fast[0] = samp_chain_from_params(&p, NULL);
    t.steps[0] = samp_clone(chain);
    for (int round = 0; round < 20 && good; round++) {
        good = samp_state_save(chain, bytes, sizeof bytes) == SAMP_OK;
        good &= samp_apply(samp_chain_get(chain, samp_chain_n(chain) - 1), &cur) == SAMP_OK;
        for (size_t k = 0; k < l.n_vocab; k++) store(SAMP_F32, t.data, k, NAN);
        good &= samp_gpu_sample_batch(t.gpu[0], t.fast, &l, &none) == SAMP_OK && none == SAMP_E_NAN;
        good &= samp_state_load(chain, bytes, samp_state_size(chain)) == SAMP_OK;
        make_normal(&t, &s, l.n_vocab, 1.0f);
        good = good && play_batch(&t, 0, &l);
    }
    free_chains(&t, 1);
    return stage_free(&t, good, "loaded state");
}

/* Leaves tokens on the device, also those of rows that the CPU has sampled, and statuses; the logits are on the device,
   or are sent. */
static bool tokens_left_on_the_device(void)
{
    stage t;
    bool good = stage_make(&t);
    enum { N = 500, ROWS = 4 };
    samp_gpu *gpu[2];
    samp_token *out[2];
    void *data = NULL;
    for (int there = 0; there < 2; there++) {
        samp_gpu_config config = { device, ROWS, N, SAMP_F32, there != 0, true, 0, there != 0 };
        gpu[there] = samp_gpu_init(&config, NULL);
        out[there] = gpu[there] ? (samp_token *)sampi_gpu_alloc(gpu[there], ROWS * sizeof **out) : NULL;
        if (there) data = gpu[there] ? sampi_gpu_alloc(gpu[there], ROWS * N * sizeof(float)) : NULL;
        good &= gpu[there] && out[there];
    }
    good &= data != NULL;
    for (uint64_t seed = 1; seed <= 1000 && good; seed++) {
        source s = source_seed(seed);
        const int there = seed % 2;
        samp_token got[ROWS], want[ROWS];
        samp_logits l, put;
        memset(&l, 0, sizeof l);
        l.data = t.data;
        l.n_vocab = N;
        l.n_rows = 1 + below(&s, ROWS);
        for (size_t r = 0; r < l.n_rows; r++) t.steps[r] = make_chain(&s, N), t.fast[r] = samp_clone(t.steps[r]);
        make_normal(&t, &s, ROWS * N, 3.0f);
        if (percent(&s, 20)) store(SAMP_F32, t.data, below(&s, ROWS * N), NAN);
        for (size_t r = 0; r < l.n_rows; r++) {
            row_of(&t, &l, r, t.row);
            want[r] = step(&t.p, &t.steps[r], t.row, l.n_vocab, true);
        }
        put = l;
        if (there) good = sampi_gpu_put(gpu[1], data, t.data, ROWS * N * sizeof(float)) == SAMP_OK, put.data = data;
        good = good && samp_gpu_sample_batch(gpu[there], t.fast, &put, out[there]) == SAMP_OK &&
               sampi_gpu_get(gpu[there], got, out[there], l.n_rows * sizeof *got) == SAMP_OK &&
               memcmp(got, want, l.n_rows * sizeof *got) == 0;
        if (!good) printf("  seed %" PRIu64 "\n", seed);
        free_chains(&t, l.n_rows);
    }
    if (data) sampi_gpu_release(gpu[1], data);
    for (int there = 0; there < 2; there++) {
        if (gpu[there] && out[there]) sampi_gpu_release(gpu[there], out[there]);
        samp_gpu_free(gpu[there]);
    }
    return stage_free(&t, good, "tokens on the device");
}

/* ---- samplers of the user's on the device ---- */

enum {
    USER_MASK,
    USER_P,
    USER_SHRINK,
    USER_SELECT,
    USER_FAIL,
    USER_EMPTY,
    USER_NO_STATUS,
    USER_GROW,
    USER_NAN,
    USER_FOREIGN,
    USER_PICK_MASKED,
    USER_PICK_BEYOND,
    USER_PICK_BEFORE,
    N_USERS,
    USER_LEAVE_FOREIGN = N_USERS, /* used as last samplers */
    USER_LEAVE_TWICE,
    USER_LEAVE_NAN,
    N_LAST_USERS
};

static uint64_t user_calls, user_wrongs; /* calls of apply_gpu; those of them that break its contract */

/* The user's samplers of the tests. They mask ids by a hash, or by the bits of p; leave out every third id; choose the
   smallest id; fail; leave nothing; or return a number that is not a status. Or they leave more tokens than they got, a
   NaN, an id that is not a token's; or choose a masked token, an index past the last or before the first; or choose
   well, and leave such an id, the same id again or a NaN in another place. */
static int user_apply(samp_sampler *s, samp_token_data_array *cur)
{
    int kind = *(const int *)s->ctx;
    size_t kept = 0, best = 0;
    for (size_t i = 0; i < cur->size; i++) {
        if (kind == USER_MASK && cur->data[i].id % 4 == 1) cur->data[i].logit = -INFINITY;
        if (kind == USER_P && bits_of(cur->data[i].p) % 4 == 1) cur->data[i].logit = -INFINITY;
        bool in = cur->data[i].logit >= -FLT_MAX, had = cur->data[best].logit >= -FLT_MAX;
        if (in && (!had || cur->data[i].id < cur->data[best].id)) best = i;
    }
    for (size_t i = 0; kind == USER_SHRINK && i < cur->size; i++)
        if (cur->data[i].id % 3 && cur->data[i].logit >= -FLT_MAX) cur->data[kept++] = cur->data[i];
    if (kind == USER_SHRINK && kept) cur->size = kept;
    if (kind == USER_SELECT || kind == USER_PICK_MASKED || kind >= USER_LEAVE_FOREIGN) cur->selected = (int64_t)best;
    samp_token_data *other = &cur->data[cur->size > 1 ? !best : best];
    if (kind == USER_LEAVE_FOREIGN) other->id = -2;
    if (kind == USER_LEAVE_TWICE) other->id = cur->data[best].id;
    if (kind == USER_LEAVE_NAN) other->logit = NAN;
    if (kind == USER_PICK_BEYOND) cur->selected = (int64_t)cur->size;
    if (kind == USER_PICK_BEFORE) cur->selected = -2;
    if (kind == USER_NAN) cur->data[best].logit = NAN;
    if (kind == USER_FOREIGN) cur->data[best].id = best % 2 ? -2 : SAMP_MAX_VOCAB;
    if (kind == USER_PICK_MASKED) cur->data[best].logit = -INFINITY;
    cur->size += kind == USER_GROW;
    cur->sorted = false;
    if (kind == USER_NO_STATUS) return 3;
    return kind == USER_FAIL ? SAMP_E_FULL : kind == USER_EMPTY ? SAMP_E_EMPTY : SAMP_OK;
}

static int user_apply_gpu(samp_sampler *s, samp_gpu_data *d)
{
    const int kind = *(const int *)s->ctx;
    int32_t *ids = d->ids, size = (int32_t)d->size, kept = size, best = 0;
    float *logits = d->logits, *probs = d->probs;
    user_calls++;
    user_wrongs += kind >= USER_GROW;
#if SAMPI_OFFLOAD
#pragma omp target is_device_ptr(ids, logits, probs) map(tofrom : kept, best) device(d->device) if (d->device >= 0)
#endif
    {
        int32_t n = 0;
        for (int32_t i = 0; i < size; i++) {
            uint32_t p;
            memcpy(&p, &probs[i], sizeof p);
            if (kind == USER_P && p % 4 == 1) logits[i] = -INFINITY;
            if (kind == USER_MASK && ids[i] % 4 == 1) logits[i] = -INFINITY;
            bool in = logits[i] >= -FLT_MAX, had = logits[best] >= -FLT_MAX;
            if (in && (!had || ids[i] < ids[best])) best = i;
        }
        for (int32_t i = 0; kind == USER_SHRINK && i < size; i++)
            if (ids[i] % 3 && logits[i] >= -FLT_MAX) {
                ids[n] = ids[i];
                logits[n++] = logits[i];
            }
        if (n) kept = n;
        if (kind == USER_NAN) logits[best] = NAN;
        if (kind == USER_FOREIGN) ids[best] = best % 2 ? -2 : SAMP_MAX_VOCAB;
        if (kind == USER_PICK_MASKED) logits[best] = -INFINITY;
        int32_t other = size > 1 ? !best : best;
        if (kind == USER_LEAVE_FOREIGN) ids[other] = -2;
        if (kind == USER_LEAVE_TWICE) ids[other] = ids[best];
        if (kind == USER_LEAVE_NAN) logits[other] = NAN;
    }
    d->size = kind == USER_EMPTY ? 0 : (size_t)kept + (kind == USER_GROW);
    if (kind == USER_SELECT || kind == USER_PICK_MASKED || kind >= USER_LEAVE_FOREIGN) d->selected = best;
    if (kind == USER_PICK_BEYOND) d->selected = size;
    if (kind == USER_PICK_BEFORE) d->selected = -2;
    if (kind == USER_NO_STATUS) return 3;
    return kind == USER_FAIL ? SAMP_E_FULL : SAMP_OK;
}

/* Clones share the number that says what they do. */
static samp_sampler *user_clone(const samp_sampler *s);
static const samp_sampler_i user_iface = { NULL, NULL, user_apply, NULL, user_clone, NULL, user_apply_gpu, NULL };
static samp_sampler *user_clone(const samp_sampler *s) { return samp_init_custom(&user_iface, s->ctx); }

static samp_sampler *user_chain(source *s, size_t n)
{
    static int kinds[N_LAST_USERS];
    for (int i = 0; i < N_LAST_USERS; i++) kinds[i] = i;
    samp_sampler *chain = samp_chain_init();
    int last = percent(s, 80) ? -1 : percent(s, 50) ? USER_SELECT : (int)below(s, N_LAST_USERS);
    /* which error is returned, if one sampler masks all and the last one errs, is not promised */
    const uint64_t first = last >= 0 && last != USER_SELECT ? USER_SHRINK : below(s, percent(s, 10) ? N_USERS : 3);
    if (percent(s, 30)) samp_chain_add(chain, make_kind(s, SAMPI_PENALTIES, n));
    if (percent(s, 20)) samp_chain_add(chain, make_kind(s, SAMPI_LOGIT_BIAS, n));
    const bool early = percent(s, 30); /* p is set before the cut, and not again by it */
    if (early) samp_chain_add(chain, samp_init_softmax());
    if (percent(s, 30)) samp_chain_add(chain, samp_init_temp(0.7f));
    if (percent(s, early ? 90 : 40)) samp_chain_add(chain, samp_init_top_k(1 + (int32_t)below(s, 60)));
    if (percent(s, early ? 20 : 70)) samp_chain_add(chain, samp_init_top_p(0.9f, 1));
    if (percent(s, 20)) samp_chain_add(chain, samp_init_xtc(1.0f, 0.05f, 1, 5));
    if (percent(s, 30)) samp_chain_add(chain, samp_init_temp(1.4f));
    samp_chain_add(chain, samp_init_custom(&user_iface, &kinds[first]));
    if (percent(s, 30)) samp_chain_add(chain, samp_init_min_p(0.02f, 1));
    /* another user's sampler might remove the error before it is noticed, or err itself */
    const bool leaves = first == USER_NAN || first == USER_FOREIGN;
    if (leaves) last = -1;
    if (last == USER_FOREIGN) last = USER_SELECT;
    if (percent(s, 40) && !leaves) samp_chain_add(chain, samp_init_custom(&user_iface, &kinds[first % 3]));
    if (last >= 0)
        samp_chain_add(chain, samp_init_custom(&user_iface, &kinds[last]));
    else
        samp_chain_add(chain, make_kind(s, make_selector(s), n));
    if (last >= 0 && percent(s, 40)) samp_chain_add(chain, samp_init_temp(1.0f)); /* off */
    return chain;
}

/* Runs n small batches of such chains, every fourth with log-probabilities if asked for. */
static bool small_batches(stage *t, samp_sampler *(*make)(source *, size_t), uint64_t n, bool with_logprobs)
{
    uint64_t seed = env_setting("SAMP_TEST_SEED", 1), failed = 0;
    for (uint64_t i = 0; i < n && failed < 5; i++) {
        source s = source_seed(seed + i);
        size_t n_vocab = 1 + below(&s, percent(&s, 80) ? 400 : 4000), n_rows = 1 + below(&s, 5);
        t->with_logprobs = with_logprobs && (seed + i) % 4 == 3;
        t->wishes = seed + i;
        if (one_batch_of(t, &s, make, n_rows, n_vocab, 1 + (int)below(&s, 3))) continue;
        printf("  SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=8\n", seed + i);
        failed++;
    }
    return failed == 0;
}

static bool samplers_of_the_user(void)
{
    stage t;
    uint64_t n = env_setting("SAMP_TEST_CASES", 4000) / 8;
    bool good = stage_make(&t);
    good = good && small_batches(&t, user_chain, n, true);
    if (!no_kernels && (user_calls < n || (n > 40 && user_wrongs < n / 20)))
        printf("  only %" PRIu64 " calls of apply_gpu, %" PRIu64 " wrong ones\n", user_calls, user_wrongs),
            good = false;
    return stage_free(&t, good, "users' samplers");
}

/* Makes a chain with a cut that leaves the array in an order of its own, followed by a sampler on the CPU that sees the
   array. */
static samp_sampler *order_chain(source *s, size_t n)
{
    static const int cut[] = { SAMPI_TYPICAL, SAMPI_TYPICAL, SAMPI_TOP_P, SAMPI_TOP_K, SAMPI_TAIL_FREE, SAMPI_MIN_P };
    samp_sampler *chain = samp_chain_init();
    if (percent(s, 30)) samp_chain_add(chain, samp_init_temp(0.7f));
    samp_chain_add(chain, make_kind(s, cut[below(s, 6)], n));
    if (percent(s, 50)) samp_chain_add(chain, samp_init_temp(1.4f));
    samp_chain_add(chain, make_custom(s));
    samp_chain_add(chain, samp_init_dist(below(s, 100)));
    return chain;
}

static bool arrays_in_an_order_of_their_own(void)
{
    stage t;
    bool good = stage_make(&t);
    return stage_free(&t, good && small_batches(&t, order_chain, env_setting("SAMP_TEST_CASES", 4000) / 8, false),
                      "arrays in an order of their own");
}

/* A batch with log-probabilities gives what samp_sample_batch gives, with one launch per pass and with teams that
   wait. */
static bool logprobs_are_the_cpus(void)
{
    stage t;
    bool good = stage_make(&t);
    uint64_t seed = env_setting("SAMP_TEST_SEED", 1), n = env_setting("SAMP_TEST_CASES", 4000) / 2 + 1, failed = 0;
    t.with_logprobs = true;
    for (uint64_t i = 0; i < n && good && failed < 5; i++) failed += !one_case(&t, seed + i);
    for (uint64_t i = 0; i < n / 10 && good && failed < 5; i++) failed += !one_waiting(&t, seed + i);
    return stage_free(&t, good && !failed, "log-probabilities");
}

#define CHECK(condition) \
    do { \
        if (!(condition)) printf("  line %d: %s\n", __LINE__, #condition), good = false; \
    } while (0)

enum { BY_KERNELS = 1, BY_CPU };

/* Returns who samples a row whose chain has n_samplers and that asks for so many log-probabilities; or the row's
   status. */
static int who_tells(samp_gpu *gpu, int n_samplers, int32_t n_raw, int32_t n_processed, samp_logprob *top)
{
    float data[100];
    samp_logprobs lp;
    samp_logits l = { data, SAMP_F32, 1, 100, 0, NULL, NULL, 0, &lp, 0, NULL };
    samp_sampler *chain = samp_chain_init();
    samp_token token = -1;
    const samp_gpu_perf_data before = samp_gpu_perf(gpu);
    memset(&lp, 0, sizeof lp);
    lp.raw.n_top = n_raw, lp.raw.top_logprobs = top;
    lp.processed.n_top = n_processed, lp.processed.top_logprobs = top;
    for (int i = 0; i < 100; i++) data[i] = (float)(i % 10);
    for (int i = 0; i < n_samplers; i++)
        samp_chain_add(chain, i < n_samplers - 1 ? samp_init_temp(0.99f) : samp_init_dist(1));
    int status = samp_gpu_sample_batch(gpu, &chain, &l, &token);
    samp_free(chain);
    if (status || token < 0) return status ? status : token;
    return samp_gpu_perf(gpu).n_device > before.n_device ? BY_KERNELS : BY_CPU;
}

/* The device computes a limited number of log-probabilities; the CPU computes more, and returns the errors. */
static bool logprobs_beyond_the_device(void)
{
    bool good = true;
    samp_logprob top[5];
    samp_gpu_config config = { device, 1, 100, SAMP_F32, false, false, 4, false }, none = config;
    none.max_top_logprobs = 0;
    samp_gpu *gpu = samp_gpu_init(&config, NULL), *without = samp_gpu_init(&none, NULL);
    const int kernels = no_kernels ? BY_CPU : BY_KERNELS;
    CHECK(samp_gpu_size(&config) > samp_gpu_size(&none));
    CHECK(who_tells(gpu, 1, 4, 4, top) == kernels && who_tells(gpu, 1, 0, 0, NULL) == kernels);
    CHECK(who_tells(gpu, 1, 5, 4, top) == BY_CPU && who_tells(gpu, 1, 4, 5, top) == BY_CPU);
    CHECK(who_tells(without, 1, 0, 0, NULL) == BY_CPU);
    CHECK(who_tells(gpu, 22, 4, 4, top) == kernels && who_tells(gpu, 23, 4, 4, top) == BY_CPU);
    CHECK(who_tells(gpu, 1, 2, 0, NULL) == SAMP_E_NULL && who_tells(gpu, 1, 0, 2, NULL) == SAMP_E_NULL);
    CHECK(who_tells(gpu, 1, -1, 0, top) == SAMP_E_RANGE && who_tells(gpu, 1, 0, -1, top) == SAMP_E_RANGE);
    samp_gpu_free(gpu), samp_gpu_free(without);
    return good;
}

static bool plan_is(const samp_gpu *gpu, samp_sampler *chain, const char *want)
{
    char text[300];
    int n = samp_gpu_plan(gpu, chain, text, sizeof text);
    bool same = n == (int)strlen(want) && !strcmp(text, want);
    if (!same) printf("  the plan is \"%s\", not \"%s\"\n", text, want);
    samp_free(chain);
    return same;
}

static bool plans_say_where_samplers_run(void)
{
    bool good = true;
    samp_gpu_config config = { device, 2, 100, SAMP_F32, false, false, 0, false };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    custom mask = { CUSTOM_MASK, 1, -1 };
    bool cpu = !strcmp(samp_gpu_device_name(gpu), "cpu");
    CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), samp_init_temp(0.5f), samp_init_dist(1)),
                  cpu ? "cpu (no device): top-k -> temp -> dist" : "device: top-k -> temp -> dist"));
    if (!cpu) {
        CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), custom_make(mask), samp_init_dist(1)),
                      "device: top-k; cpu (a sampler of your own): custom -> dist"));
        CHECK(plan_is(gpu, chain_of(samp_init_temp(0.5f), custom_make(mask), samp_init_dist(1)),
                      "cpu (a sampler of your own): temp -> custom -> dist"));
        CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), samp_init_temp(0.5f), NULL),
                      "cpu (no sampler selects): top-k -> temp"));
        samp_sampler *late = open_chain();
        samp_chain_add(late, samp_init_dist(3));
        samp_chain_add(late, samp_init_temp(0.5f));
        CHECK(plan_is(gpu, close_chain(late), "cpu (a sampler behind the selection): dist -> temp"));
        samp_sampler *llama = chain_of(samp_init_top_k(3), samp_init_dist(1), NULL);
        samp_set_rng(llama, SAMP_RNG_MT19937);
        CHECK(plan_is(gpu, llama, "cpu (llama.cpp's arithmetic): top-k -> dist"));
        CHECK(plan_is(gpu, samp_chain_init(), "cpu (no sampler selects)"));
        CHECK(plan_is(gpu, chain_of(samp_init_top_h(0.4f, 1), samp_init_smoothing(0.5f, 4.0f), samp_init_gumbel(1)),
                      "device: top-h -> smoothing -> gumbel"));
        CHECK(plan_is(gpu, chain_of(samp_init_min_k(3.0f), samp_init_log_softmax(), samp_init_dist(1)),
                      "device: min-k -> log-softmax -> dist"));
        CHECK(plan_is(
            gpu,
            chain_of(samp_init_log_softmax(), samp_init_top_p_decay(0.9f, 0.9f, 0.3f, NULL, 0, 0), samp_init_dist(1)),
            "device: log-softmax -> top-p-decay -> dist"));
        const samp_token first = 0; /* texts of tokens stay on the host; ties may be out of order by then */
        CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), samp_init_suppressed_tokens(&first, 1), samp_init_dist(1)),
                      "device: top-k; cpu (not on the device): suppressed-tokens -> dist"));
        CHECK(plan_is(
            gpu, chain_of(samp_init_top_k(3), samp_init_xtc_except(1.0f, 0.1f, 1, 1, &first, 1), samp_init_dist(1)),
            "device: top-k; cpu (not on the device): xtc-except -> dist"));
        CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), samp_init_temp(0.5f), samp_init_ras(10, 0.1f, 1)),
                      "cpu (not on the device): top-k -> temp -> ras")); /* it may need the row once more */
        CHECK(plan_is(gpu, chain_of(samp_init_top_k(3), samp_init_smoothing(0.5f, 1.0f), custom_make(mask)),
                      "device: top-k; cpu (a sampler of your own): smoothing -> custom"));
    }
    char small[8];
    samp_sampler *chain = chain_of(samp_init_greedy(), NULL, NULL);
    CHECK(samp_gpu_plan(gpu, chain, small, sizeof small) > 7 && strlen(small) == 7);
    CHECK(samp_gpu_plan(gpu, chain, NULL, 0) > 7);
    CHECK(samp_gpu_plan(NULL, chain, small, 8) == SAMP_E_NULL && samp_gpu_plan(gpu, NULL, small, 8) == SAMP_E_NULL);
    CHECK(samp_gpu_plan(gpu, chain, NULL, 8) == SAMP_E_NULL);
    samp_free(chain);
    samp_gpu_free(gpu);
    return good;
}

/* A kind without a step on the device goes to the CPU, the plan's text says so, and its chain's tokens are the same. */
static bool kinds_without_a_step(void)
{
    static const char *const names[] = { "logit-bias", "penalties", "dry",         "top-n-sigma", "top-k",
                                         "tail-free",  "typical",   "top-p",       "min-p",       "xtc",
                                         "temp",       "temp-ext",  "softmax",     "greedy",      "dist",
                                         "mirostat",   "p-less",    "mirostat-v2", "adaptive-p",  "top-h",
                                         "min-k",      "smoothing", "log-softmax", "top-p-decay", "gumbel" };
    stage t;
    bool good = stage_make(&t);
    const bool cpu = !strcmp(samp_gpu_device_name(t.gpu[0]), "cpu");
    const uint64_t seed = env_setting("SAMP_TEST_SEED", 1), n = env_setting("SAMP_TEST_CASES", 4000) / 10 + 36;
    uint64_t failed = 0;
    hidden = "top-p";
    if (!cpu) {
        CHECK(plan_is(t.gpu[0], chain_of(samp_init_top_k(9), samp_init_top_p(0.5f, 1), samp_init_dist(1)),
                      "device: top-k; cpu (not on the device): top-p -> dist"));
        CHECK(plan_is(t.gpu[0], chain_of(samp_init_temp(0.5f), samp_init_top_p(0.5f, 1), samp_init_dist(1)),
                      "cpu (not on the device): temp -> top-p -> dist"));
        hidden = "dist";
        CHECK(plan_is(t.gpu[0], chain_of(samp_init_min_p(0.1f, 1), NULL, samp_init_dist(1)),
                      "device: min-p; cpu (not on the device): dist"));
    }
    for (uint64_t i = 0; i < n && good && failed < 5; i++) {
        hidden = names[i % CASE_COUNT(names)];
        t.with_logprobs = i % 5 == 4;
        failed += !one_case(&t, seed + i);
        if (failed) printf("  without %s\n", hidden);
    }
    hidden = NULL;
    return stage_free(&t, good && !failed, "kinds without a step");
}

/* Runs so many rows that a team has several groups of one: those of 16-bit elements are then read two groups at a
   time. */
static bool several_groups_of_a_team(void)
{
    enum { ROWS = 600, N = 5000 };
    bool good = true;
    if (device != SAMP_GPU_HOST) return not_run("for kernels on the host");
    samp_gpu_config config = { device, ROWS, N, SAMP_F16, false, false, 0, false };
    uint16_t *data = (uint16_t *)malloc((size_t)ROWS * N * sizeof *data);
    static samp_sampler *rows[ROWS], *alike[ROWS];
    static samp_token out[ROWS], want[ROWS];
    for (int type = 1; type <= 2 && good; type++) {
        config.dtype = dtypes[type];
        samp_gpu *gpu = samp_gpu_init(&config, NULL);
        samp_logits l = { data, config.dtype, ROWS, N, 0, NULL, NULL, 0, NULL, 0, NULL };
        source s = source_seed(40 + (uint64_t)type);
        CHECK(gpu && data);
        for (size_t i = 0; good && i < (size_t)ROWS * N; i++) store(l.dtype, data, i, (float)(3.0 * normal_fast(&s)));
        if (good) store(l.dtype, data, 7 * N + 1500, NAN);
        for (int r = 0; r < ROWS; r++) {
            rows[r] = r % 2 ? chain_of(samp_init_greedy(), NULL, NULL)
                            : chain_of(samp_init_top_p(0.9f, 1), samp_init_dist((uint64_t)r), NULL);
            alike[r] = samp_clone(rows[r]);
        }
        if (good) CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == samp_sample_batch(alike, &l, want));
        for (int r = 0; r < ROWS && good; r++) CHECK(out[r] == want[r] && (out[r] >= 0) == (r != 7));
        for (int r = 0; r < ROWS; r++) samp_free(rows[r]), samp_free(alike[r]);
        samp_gpu_free(gpu);
    }
    free(data);
    return good;
}

#ifdef SAMPI_OFFLOAD_CLANG
#define ONE_MEMORY true /* the device is this CPU: any pointer is its own */
#else
#define ONE_MEMORY false
#endif

/* A pointer that is not the device's returns a status, and the context can run the next batch; arrays that were checked
   before are not checked again. */
static bool memory_of_no_device(void)
{
    enum { N = 700, ROWS = 3, BYTES = ROWS * N * (int)sizeof(float) };
    static float host[ROWS * N];
    bool good = true;
    if (no_kernels) return not_run("for kernels");
    samp_gpu_config config = { device, ROWS, N, SAMP_F32, true, true, 0, false };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    CHECK(gpu);
    char *data = (char *)sampi_gpu_alloc(gpu, BYTES), *freed = (char *)sampi_gpu_alloc(gpu, BYTES);
    samp_token *out = (samp_token *)sampi_gpu_alloc(gpu, ROWS * sizeof *out), got[ROWS], want[ROWS];
    samp_sampler *rows[ROWS], *alike[ROWS];
    samp_logits l = { data, SAMP_F32, ROWS, N, 0, NULL, NULL, 0, NULL, 1, NULL }, k = l;
    source s = source_seed(11);
    for (size_t i = 0; i < ROWS * N; i++) host[i] = (float)normal_fast(&s);
    CHECK(data && freed && out && !sampi_gpu_put(gpu, data, host, BYTES));
    for (int r = 0; r < ROWS; r++) {
        rows[r] = chain_of(samp_init_min_p(0.05f, 1), samp_init_dist((uint64_t)r), NULL);
        alike[r] = samp_clone(rows[r]);
    }
    int32_t beyond[ROWS] = { 0, ROWS, 1 }, error[ROWS] = { 2, -1, 0 };
#define IS(status) (samp_gpu_sample_batch(gpu, rows, &k, out) == status)
    volatile uintptr_t gone = (uintptr_t)freed; /* gcc warns of a pointer that it sees */
    sampi_gpu_release(gpu, freed);
    for (int round = 0; round < 3 && good; round++) {
        k = l, k.data = data + 2;
        CHECK(IS(SAMP_E_RANGE));
        k = l;
        CHECK(samp_gpu_sample_batch(gpu, rows, &k, (samp_token *)(void *)((char *)out + 1)) == SAMP_E_RANGE);
        if (on_device && !ONE_MEMORY) {
            k.data = host;
            CHECK(IS(SAMP_E_ADDRESS));
            k.data = (const void *)gone;
            CHECK(IS(SAMP_E_ADDRESS));
            k = l, k.stride = N + 1; /* the last row then ends past the array */
            CHECK(IS(SAMP_E_ADDRESS));
            k = l, k.row_index = beyond;
            CHECK(IS(SAMP_E_ADDRESS));
            k = l;
            CHECK(samp_gpu_sample_batch(gpu, rows, &k, got) == SAMP_E_ADDRESS);
        }
        for (int r = 0; r < ROWS; r++) CHECK(samp_get_position(rows[r]) == (uint64_t)round);
        k = l, l.data = host;
        CHECK(IS(SAMP_OK) && !sampi_gpu_get(gpu, got, out, sizeof got));
        CHECK(samp_sample_batch(alike, &l, want) == SAMP_OK && !memcmp(got, want, sizeof got));
        l.data = data;
        CHECK(gpu->n_found == 2); /* data and out were each checked once */
    }
    k = l, k.n_rows = 2; /* within the range that was checked */
    CHECK(IS(SAMP_OK) && gpu->n_found == 2);
    k = l, k.row_index = error;
    CHECK(IS(SAMP_OK) && gpu->n_found == 2 && !sampi_gpu_get(gpu, got, out, sizeof got) && got[1] == SAMP_E_RANGE);
    const size_t n_of[ROWS] = { N, N, N - 2 }; /* the last row then ends where the array does */
    k = l, k.stride = N + 1, k.n_vocab_of = n_of;
    CHECK(IS(SAMP_OK) && gpu->n_found == 2 && !sampi_gpu_get(gpu, got, out, sizeof got) && got[2] >= 0);
#undef IS
    for (int r = 0; r < ROWS; r++) samp_free(rows[r]), samp_free(alike[r]);
    sampi_gpu_release(gpu, data), sampi_gpu_release(gpu, out);
    samp_gpu_free(gpu);
    return good;
}

/* Whether the memory of contexts that ask for it is registered: 1; 0: not; -1: that is the driver's to say. */
static int must_register(void)
{
    const char *set = getenv("SAMP_PTX_REGISTER");
    if (no_kernels) return 0;
    return device == SAMP_GPU_HOST ? 1 : set ? atoi(set) : -1;
}

enum { COPIES_N = 24000, COPIES_ROWS = 12 };

/* Chains on both sides, and the logits there and here; copies: those of the last batch. */
typedef struct twins {
    samp_gpu *gpu;
    samp_sampler *rows[COPIES_ROWS], *alike[COPIES_ROWS];
    samp_logits there, here;
    int least, copies;
} twins;

/* Samples a batch on both sides. Whether all is equal, and the batch took n copies of what is new and `least` others; if
   results are copied, a look at them in between may be one more. */
static bool takes(twins *t, size_t n_rows, int n)
{
    samp_token got[COPIES_ROWS], want[COPIES_ROWS];
    const uint64_t before = samp_gpu_perf(t->gpu).n_copies;
    t->there.n_rows = t->here.n_rows = n_rows;
    bool good = samp_gpu_sample_batch(t->gpu, t->rows, &t->there, got) == SAMP_OK &&
                samp_sample_batch(t->alike, &t->here, want) == SAMP_OK && !memcmp(got, want, n_rows * sizeof *got);
    for (size_t r = 0; r < n_rows && good; r++) good = same_state(t->rows[r], t->alike[r]);
    t->copies = (int)(samp_gpu_perf(t->gpu).n_copies - before);
    return good && (t->copies == n + t->least || (t->least && t->copies > n));
}

/* Runs batches that need what the device has, or something new. */
static bool copies_what_is_new(twins *t)
{
    const int args = t->least, some = !no_kernels;
    bool good = takes(t, 2, some) || t->copies > 1; /* the chains, and the array's first and last byte */
    for (int i = 0; i < 4; i++) CHECK(takes(t, 2, args));
    const int32_t turned[] = { 1, 0 };
    t->there.row_index = t->here.row_index = turned; /* other places */
    CHECK(takes(t, 2, some) && takes(t, 2, args));
    t->there.row_index = t->here.row_index = NULL;
    CHECK(takes(t, 2, some));
    CHECK(takes(t, 1, args) && takes(t, 1, args)); /* a part of what the device has */
    samp_accept(t->rows[0], 7), samp_accept(t->alike[0], 7); /* a chain that has changed elsewhere */
    CHECK(takes(t, 1, some) && takes(t, 1, args));
    CHECK(takes(t, COPIES_ROWS, some) || t->copies > 1); /* too many teams to read the args from the host */
    CHECK(takes(t, COPIES_ROWS, some) && takes(t, 2, args));
    t->gpu->batch = UINT32_MAX; /* the numbers of batches are used up: all is zeroed, and sent again */
    CHECK(takes(t, 2, some) || t->copies > 1);
    CHECK(takes(t, 2, args));
    return good;
}

/* With registered memory a batch whose chains the device has kept takes no copy; any other one copies what is new. If
   the memory cannot be registered, a context says so, and copies. */
static bool registered_memory(void)
{
    static float host[COPIES_ROWS * COPIES_N];
    bool good = true;
    source s = source_seed(31);
    for (size_t i = 0; i < CASE_COUNT(host); i++) host[i] = (float)(2.0 * normal_fast(&s));
    for (int asks = 0; asks < 3 && good; asks++) { /* the third mostly has the second's addresses on the host */
        samp_gpu_config config = { device, COPIES_ROWS + (size_t)asks, COPIES_N, SAMP_F32, true, false, 8, false };
        const size_t without = samp_gpu_size(&config);
        twins t;
        memset(&t, 0, sizeof t);
        config.registered = asks != 0;
        t.gpu = samp_gpu_init(&config, NULL);
        float *data = t.gpu ? (float *)sampi_gpu_alloc(t.gpu, sizeof host) : NULL;
        CHECK(data && !sampi_gpu_put(t.gpu, data, host, sizeof host));
        const int n_bytes = (int)samp_gpu_perf(t.gpu).registered;
        CHECK(n_bytes % 4096 == 0 && (asks || n_bytes == 0) && (samp_gpu_size(&config) > without) == (asks != 0));
        CHECK(!asks || must_register() < 0 || (n_bytes > 0) == (must_register() == 1));
        if (asks) printf("  %s, %d bytes of host memory registered\n", samp_gpu_device_name(t.gpu), n_bytes);
        const samp_logits l = { host, SAMP_F32, 2, COPIES_N, 0, NULL, NULL, 0, NULL, 1, NULL };
        t.there = t.here = l, t.there.data = data;
        t.least = n_bytes || no_kernels ? 0 : 1;
        for (int r = 0; r < COPIES_ROWS; r++) {
            t.rows[r] = chain_of(samp_init_penalties(5, 1.1f, 0.1f, 0.1f), samp_init_top_k(12),
                                 samp_init_dist((uint64_t)r));
            t.alike[r] = samp_clone(t.rows[r]);
        }
        if (good) CHECK(copies_what_is_new(&t));
        for (int r = 0; r < COPIES_ROWS; r++) samp_free(t.rows[r]), samp_free(t.alike[r]);
        if (data) sampi_gpu_release(t.gpu, data);
        samp_gpu_free(t.gpu);
    }
    return good;
}

/* Without a device, the same calls sample on the CPU. */
static bool without_a_device(void)
{
    enum { N = 300 };
    bool good = true;
    int status = 1;
    if (samp_gpu_available()) return not_run("for machines without a device");
    samp_gpu_config config = { 0, 2, N, SAMP_F32, false, false, 0, false };
    static float data[2 * N];
    source s = source_seed(5);
    for (size_t i = 0; i < 2 * N; i++) data[i] = (float)normal_fast(&s);
    samp_gpu *gpu = samp_gpu_init(&config, &status);
    samp_sampler *rows[2], *alike[2];
    samp_logits l = { data, SAMP_F32, 2, N, 0, NULL, NULL, 0, NULL, 0, NULL };
    CHECK(gpu && status == SAMP_OK && !strcmp(samp_gpu_device_name(gpu), "cpu"));
    for (int r = 0; r < 2; r++) {
        rows[r] = chain_of(samp_init_top_p(0.9f, 1), samp_init_dist((uint64_t)r), NULL);
        alike[r] = samp_clone(rows[r]);
    }
    for (int i = 0; i < 5 && good; i++) {
        samp_token out[2] = { -1, -1 };
        CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == SAMP_OK);
        for (int r = 0; r < 2; r++) CHECK(out[r] >= 0 && out[r] == samp_sample(alike[r], data + r * N, N));
    }
    CHECK(samp_gpu_perf(gpu).n_cpu == 10 && samp_gpu_perf(gpu).n_device == 0);
    for (int r = 0; r < 2; r++) samp_free(rows[r]), samp_free(alike[r]);
    samp_gpu_free(gpu);
    return good;
}

/* Calls that are refused change nothing; some rows of a batch have an error, the others none. */
static bool refused_calls_change_nothing(void)
{
    bool good = true;
    int status = 1;
    samp_gpu_config config = { device, 2, 100, SAMP_F32, false, false, 0, false }, bad;
    float data[300] = { 0.0f };
    samp_token out[3] = { 77, 77, 77 };
    samp_gpu *gpu = samp_gpu_init(&config, &status);
    samp_sampler *rows[3] = { chain_of(samp_init_dist(1), NULL, NULL), chain_of(samp_init_dist(2), NULL, NULL),
                              NULL };
    samp_logits l = { data, SAMP_F32, 2, 100, 0, NULL, NULL, 0, NULL, 0, NULL }, k;
    CHECK(gpu && status == SAMP_OK && samp_gpu_size(&config) > 100000 && samp_gpu_available() >= 0);
    CHECK(samp_gpu_init(NULL, &status) == NULL && status == SAMP_E_NULL && samp_gpu_size(NULL) == 0);
#define REFUSED(member, value, wanted) \
    bad = config, bad.member = value, status = 1; \
    CHECK(samp_gpu_init(&bad, &status) == NULL && status == wanted && samp_gpu_size(&bad) == 0)
    REFUSED(device, -2, SAMP_E_RANGE);
    REFUSED(max_rows, 0, SAMP_E_RANGE);
    REFUSED(max_rows, 65537, SAMP_E_RANGE);
    REFUSED(max_vocab, 0, SAMP_E_RANGE);
    REFUSED(max_vocab, SAMP_MAX_VOCAB + 1, SAMP_E_RANGE);
    REFUSED(dtype, SAMP_I8, SAMP_E_DTYPE);
    REFUSED(max_top_logprobs, -1, SAMP_E_RANGE);
    REFUSED(max_top_logprobs, SAMP_MAX_TOP_LOGPROBS + 1, SAMP_E_RANGE);
    if (SAMP_GPU_LIST < SAMP_MAX_TOP_LOGPROBS) {
        REFUSED(max_top_logprobs, SAMP_GPU_LIST + 1, SAMP_E_RANGE);
    }
    bad = config, bad.device = 1 << 20;
    if (samp_gpu_available()) CHECK(samp_gpu_init(&bad, &status) == NULL && status == SAMP_E_RANGE);
#define BATCH(change, wanted) \
    k = l, change; \
    CHECK(samp_gpu_sample_batch(gpu, rows, &k, out) == wanted && out[0] == 77 && out[1] == 77)
    BATCH(k.dtype = SAMP_F16, SAMP_E_DTYPE);
    BATCH(k.n_rows = 3, SAMP_E_RANGE);
    BATCH(k.n_vocab = 0, SAMP_E_EMPTY);
    BATCH(k.n_vocab = 101, SAMP_E_RANGE);
    BATCH(k.stride = 99, SAMP_E_RANGE);
    BATCH(k.data = NULL, SAMP_E_NULL);
    uint32_t mask[8] = { 0 };
    BATCH((k.mask = mask, k.mask_stride = 3), SAMP_E_RANGE);
    BATCH(k.n_rows = 0, SAMP_OK);
    CHECK(samp_gpu_sample_batch(gpu, NULL, &l, out) == SAMP_E_NULL);
    CHECK(samp_gpu_sample_batch(NULL, rows, &l, out) == SAMP_E_NULL);
    CHECK(samp_gpu_sample_batch(gpu, rows, NULL, out) == SAMP_E_NULL);
    samp_token *volatile no_tokens = NULL; /* gcc warns of a NULL that it sees */
    CHECK(samp_gpu_sample_batch(gpu, rows, &l, no_tokens) == SAMP_E_NULL);
    samp_sampler *twice[2] = { rows[0], rows[0] };
    CHECK(samp_gpu_sample_batch(gpu, twice, &l, out) == SAMP_E_RANGE && out[0] == 77);
    CHECK(samp_get_position(rows[0]) == 0 && samp_get_position(rows[1]) == 0);
    int32_t index[2] = { -1, 1 };
    l.row_index = index;
    CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == SAMP_OK && out[0] == SAMP_E_RANGE && out[1] >= 0);
    samp_set_position(rows[1], 0);
    l.row_index = NULL;
    data[50] = NAN;
    CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == SAMP_OK && out[0] == SAMP_E_NAN && out[1] >= 0);
    CHECK(samp_get_position(rows[0]) == 0 && samp_get_position(rows[1]) == 1);
    samp_sampler *none[2] = { NULL, rows[1] };
    CHECK(samp_gpu_sample_batch(gpu, none, &l, out) == SAMP_OK && out[0] == SAMP_E_NULL && out[1] >= 0);
    samp_chain_add(rows[1], samp_init_top_p(2.0f, 0));
    data[50] = INFINITY;
    CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == SAMP_OK && out[0] == SAMP_E_NAN && out[1] == SAMP_E_RANGE);
    for (int i = 0; i < 100; i++) data[i] = -INFINITY;
    CHECK(samp_gpu_sample_batch(gpu, rows, &l, out) == SAMP_OK && out[0] == SAMP_E_EMPTY);
    CHECK(samp_get_position(rows[0]) == 0);
    for (int i = 0; i < 100; i++) data[i] = 0.0f;
    custom spoil = { CUSTOM_SPOIL, 1, -1 }; /* leaves NaN, before a sampler that is off, or before none */
    samp_sampler *spoilt[2] = { chain_of(samp_init_top_k(3), custom_make(spoil), samp_init_top_k(0)),
                                chain_of(samp_init_top_k(3), custom_make(spoil), NULL) };
    CHECK(samp_gpu_sample_batch(gpu, spoilt, &l, out) == SAMP_OK && out[0] == SAMP_E_NAN && out[1] == SAMP_E_NAN);
    size_t used = 0; /* a size that overflows stays the maximum */
    sampi_gpu_reserve(NULL, &used, SIZE_MAX / 4, 8);
    sampi_gpu_reserve(NULL, &used, 1, 1);
    CHECK(used == SIZE_MAX);
    samp_free(spoilt[0]), samp_free(spoilt[1]);
    samp_free(rows[0]), samp_free(rows[1]);
    samp_gpu_free(gpu);
    samp_gpu_free(NULL);
    return good;
}

/* The number of teams of a row: by hand for a device of 1024 teams, and its bounds for all. */
static bool numbers_of_teams(void)
{
    bool good = true;
    static const uint32_t by_hand[][5] = { /* teams, rows, groups, teams of a row, the same if passes are long */
        { 1024, 1, 126, 126, 126 }, { 1024, 1, 256, 127, 127 }, { 1024, 1, 1, 1, 1 },      { 1024, 2, 126, 126, 126 },
        { 1024, 3, 126, 87, 126 },  { 1024, 8, 126, 32, 126 },  { 1024, 8, 256, 32, 127 }, { 1024, 9, 126, 113, 113 },
        { 1024, 32, 126, 32, 32 },  { 1024, 256, 126, 4, 4 },   { 1024, 1025, 126, 1, 1 }, { 60, 1, 126, 59, 59 },
        { 60, 8, 126, 6, 6 },       { 60, 61, 126, 1, 1 },      { 2, 1, 126, 2, 2 },
    };
    for (size_t i = 0; i < 2 * CASE_COUNT(by_hand) && SAMPI_TEAMS == 1024; i++) {
        const uint32_t *x = by_hand[i / 2];
        CHECK(sampi_gpu_splits(x[0], x[1], x[2], i % 2) == x[3 + i % 2]);
    }
    for (uint32_t teams = 1; teams <= SAMPI_TEAMS; teams = teams * 3 + 1)
        for (uint32_t rows = 1; rows < 2000; rows += 7)
            for (uint32_t groups = 1; groups < 300; groups += 23) {
                const uint32_t n = sampi_gpu_splits(teams, rows, groups, groups % 2);
                CHECK(n >= 1 && n <= groups && (n == 1 || n * rows <= teams));
                CHECK(sampi_gpu_leads(teams, rows, n) == (rows <= 8 && n > 1 && n * rows + rows <= teams));
                CHECK(rows > 8 || n < 3 || sampi_gpu_leads(teams, rows, n)); /* a row of three teams has a leader */
            }
    return good;
}

/* A draw from few tokens takes the first whose running sum exceeds the random number: not one that it equals. */
static bool draws_at_given_sums(void)
{
    bool good = true;
    uint64_t code[SAMPI_GPU_FEW], upto[SAMPI_GPU_FEW];
    for (int i = 0; i < SAMPI_GPU_FEW; i++) code[i] = UINT64_MAX, upto[i] = 100;
    code[40] = 7, upto[40] = 20; /* in the order of codes: sums 20, 60, 100 */
    code[3] = 9, upto[3] = 60;
    code[21] = 12, upto[21] = 100;
    CHECK(sampi_gpu_short_find(code, upto, 0) == 7);
    CHECK(sampi_gpu_short_find(code, upto, 19) == 7);
    CHECK(sampi_gpu_short_find(code, upto, 20) == 9);
    CHECK(sampi_gpu_short_find(code, upto, 59) == 9);
    CHECK(sampi_gpu_short_find(code, upto, 60) == 12);
    CHECK(sampi_gpu_short_find(code, upto, 99) == 12);
    return good;
}

/* The first code of an even bucket is in it or in a later one, and the code before is in an earlier one; also where the
   buckets' logits round to each other, or pass zero. */
static bool buckets_begin(void)
{
    bool good = true;
    static const float maxima[] = { 4.25f, 0.0f, 16.0f, -7.3f, 1e-20f, -3e5f, 2e6f, 1e30f, -1e30f, FLT_MAX, -FLT_MAX };
    for (size_t i = 0; i < CASE_COUNT(maxima); i++) {
        const float max = maxima[i];
        sampi_gpu_search search;
        memset(&search, 0, sizeof search);
        search.lo = ~sampi_gpu_key(max, 0);
        search.hi = ~SAMPI_GPU_ALL;
        search.shift = SAMPI_EVEN;
        for (uint32_t bucket = 0; bucket <= SAMPI_BUCKETS; bucket++) {
            const uint64_t start = sampi_gpu_bucket_start(&search, max, bucket);
            CHECK(start >= search.lo && start <= search.hi + 1);
            CHECK(start > search.hi || sampi_gpu_bucket(&search, max, start) >= bucket);
            CHECK(start == search.lo || sampi_gpu_bucket(&search, max, start - 1) < bucket);
        }
    }
    return good;
}

/* The place at which a running sum exceeds a number, and what is left of the number there. */
static bool running_sums(void)
{
    bool good = true;
    static const uint64_t x[] = { 0, 5, 0, 1, 0, 7, 0 };
    static const uint64_t by_hand[][3] = { { 0, 1, 0 }, { 4, 1, 4 }, { 5, 3, 0 }, { 6, 5, 0 }, { 12, 5, 6 } };
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        uint64_t t = by_hand[i][0];
        CHECK(sampi_gpu_find(x, 7, &t) == by_hand[i][1] && t == by_hand[i][2]);
    }
    return good;
}

#define SUITE(X) \
    X(several_groups_of_a_team) \
    X(without_a_device) \
    X(refused_calls_change_nothing) \
    X(plans_say_where_samplers_run) \
    X(kinds_without_a_step) \
    X(smallest_shapes) \
    X(random_batches) \
    X(kept_rows) \
    X(kept_windows) \
    X(chain_in_a_chain) \
    X(chains_of_many_members) \
    X(rows_with_most_samplers) \
    X(batches_fail_and_run_out) \
    X(a_state_loaded_over_another) \
    X(tokens_left_on_the_device) \
    X(memory_of_no_device) \
    X(registered_memory) \
    X(contexts_in_threads) \
    X(waiting_teams) \
    X(numbers_of_teams) \
    X(draws_at_given_sums) \
    X(running_sums) \
    X(buckets_begin) \
    X(one_launch_a_batch) \
    X(samplers_of_the_user) \
    X(arrays_in_an_order_of_their_own) \
    X(logprobs_are_the_cpus) \
    X(logprobs_beyond_the_device) \
    X(a_nan_is_found_anywhere) \
    X(sigma_at_the_cut) \
    X(above_the_maximum) \
    X(chains_change_sides) \
    X(changed_at_the_end) \
    X(long_nuclei) \
    X(ties_of_few) \
    X(histograms_fit) \
    X(cuts_to_the_unit) \
    X(rows_of_a_real_size)

SUITE_RUN

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "names")) {
#define NAME(test) puts(#test);
        SUITE(NAME)
        return 0;
    }
    on_device = !strcmp(mode, "device");
    no_kernels = !strcmp(mode, "cpu");
    device = !strcmp(mode, "host") ? SAMP_GPU_HOST : 0;
    if (!on_device && device == 0 && !no_kernels) {
        fprintf(stderr, "usage: test_gpu host|device|cpu [test]\n");
        return 2;
    }
    if (on_device && !samp_gpu_available()) {
        printf("no device\n");
        return 77;
    }
    if (no_kernels && samp_gpu_available()) {
        printf("there is a device\n");
        return 77;
    }
    samp_gpu_config config = { device, 1, 100, SAMP_F32, false, false, 0, false };
    int status = SAMP_OK;
    samp_gpu *gpu = samp_gpu_init(&config, &status);
    printf("test_gpu: %s%s\n", gpu ? samp_gpu_device_name(gpu) : samp_strerror(status), gpu ? "" : ": no context");
    if (gpu && gpu->why[0]) printf("  %s\n", gpu->why);
    if (!gpu || (on_device && strncmp(samp_gpu_device_name(gpu), "device", 6) != 0)) return 1;
    samp_gpu_free(gpu);
    return suite_run(argc - 1, argv + 1);
}
