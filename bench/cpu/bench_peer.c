/* bench_peer.c -- the time of a token here and in llama.cpp, by turns in one process.
 *
 *     cc -O2 -std=c11 -fopenmp -I. bench/cpu/bench_peer.c -o bench_peer -lm -ldl         or make bench-peer
 *     ./bench_peer "$(sh tests/ship/parity/fetch.sh)"
 *
 * The peer is a prebuilt libllama, loaded at run time (tests/ship/parity/llama_peer.h says which); its samplers
 * need no model. bench/README.md says what is timed on either side and how to read the table. */

#include "bench/bench.h"
#include "tests/ship/parity/llama_peer.h"

static const char usage[] =
    "usage: bench_peer LIBLLAMA [options]   lists are separated by commas\n"
    "  --case LIST     cases (the first twelve; --all: all that the peer has)\n"
    "  --n LIST        vocabulary sizes (128256)\n"
    "  --logits LIST   peaked, flat, real (all)\n"
    "  --isa NAME      our instruction set: scalar, avx2, avx512, neon (the best)\n"
    "  --array         arrays only (samp_apply)\n"
    "  --no-arrays     without them\n"
    "  --cliffs        pairs of chains that should take about as long, arrays and dense logits\n"
    "  --rounds N      rounds of ours, floor, peer; at least 5 (7)\n"
    "  --rows N        rows in rotation (24)\n"
    "  --real FILE     real logits: f16, 32768 a row (tests/data/real_rows.f16)\n"
    "  --csv FILE      where the figures go (build/bench_peer.csv)\n";

enum {
    OURS_US = 6000, /* least time of a round, each side */
    FLOOR_US = 3000,
    PEER_US = 8000,
    BATCH_US = 20000,
    SAME_ROWS = 8 /* rows in which both sides have to select the same tokens */
};

/* ==== The peer's side =================================================================================== */

typedef struct bench_peer {
    const llama_peer *api;
    peer_sampler *chain;
    peer_data *data; /* [n] */
    unsigned failed;
    uint32_t sum;
} bench_peer;

/* The array of candidates, as the peer's own llama_sampler_sample fills it. Its machine code there is a
 * scalar loop; a compiler that vectorises this one makes it slower than what is shipped. */
#if defined(__clang__)
#define PLAIN_LOOP __attribute__((noinline))
#elif defined(__GNUC__)
#define PLAIN_LOOP __attribute__((noinline, optimize("no-tree-vectorize")))
#else
#define PLAIN_LOOP
#endif
PLAIN_LOOP static void fill(peer_data *data, const float *row, size_t n)
{
#if defined(__clang__)
#pragma clang loop vectorize(disable) interleave(disable) unroll(disable)
#endif
    for (size_t i = 0; i < n; i++) data[i] = (peer_data){ (int32_t)i, row[i], 0.0f };
}

static int32_t peer_sample(const bench_peer *p, const float *row, size_t n)
{
    peer_array cur = { p->data, n, -1, false };
    fill(p->data, row, n);
    p->api->apply(p->chain, &cur);
    if (cur.selected < 0 || (size_t)cur.selected >= cur.size) return -1;
    return cur.data[cur.selected].id;
}

static void run_peer(void *self, const float *row, size_t n)
{
    bench_peer *p = self;
    int32_t token = peer_sample(p, row, n);
    if (token >= 0) p->api->accept(p->chain, token);
    p->failed += token < 0;
    p->sum += (uint32_t)token;
}

/* The default chain is what llama.cpp's tools build from their default parameters, samplers that are off
 * included. */
static void add_default_chain(const llama_peer *api, peer_sampler *chain, const stage *g, int32_t n)
{
    const peer_bias *bias = (const peer_bias *)bench_biases((size_t)n);
    if (g->k) api->chain_add(chain, api->init_logit_bias(n, g->k, bias));
    api->chain_add(chain, api->init_penalties(n, 64, g->x, 0.0f, 0.0f));
    api->chain_add(chain, api->init_dry(NULL, 0.0f, 1.75f, 2, 4096, NULL, 0));
    api->chain_add(chain, api->init_top_n_sigma(-1.0f));
    api->chain_add(chain, api->init_top_k(40));
    api->chain_add(chain, api->init_typical(1.0f, 0));
    api->chain_add(chain, api->init_top_p(0.95f, 0));
    api->chain_add(chain, api->init_min_p(0.05f, 0));
    api->chain_add(chain, api->init_xtc(0.0f, 0.1f, 0, BENCH_SEED));
    api->chain_add(chain, api->init_temp_ext(0.8f, 0.0f, 1.0f));
    api->chain_add(chain, api->init_dist(BENCH_SEED));
}

/* The same sampler as bench_make_stage's; NULL: the peer has none. */
static peer_sampler *make_peer_stage(const llama_peer *api, const stage *g, int32_t n)
{
    static const peer_vector no_breakers = { NULL, NULL, NULL };
    switch (g->kind) {
        case LOGIT_BIAS: return api->init_logit_bias(n, g->k, (const peer_bias *)bench_biases((size_t)n));
        case PENALTIES: return api->init_penalties(n, g->k, g->x, g->y, g->z);
        case DRY: return api->init_dry_testing(g->x, g->y, 2, g->k, &no_breakers);
        case TOP_N_SIGMA: return api->init_top_n_sigma(g->x);
        case TOP_K: return api->init_top_k(g->k);
        case TYPICAL: return api->init_typical(g->x, (size_t)g->k);
        case TOP_P: return api->init_top_p(g->x, (size_t)g->k);
        case MIN_P: return api->init_min_p(g->x, (size_t)g->k);
        case XTC: return api->init_xtc(g->x, g->y, 0, BENCH_SEED);
        case TEMP: return api->init_temp(g->x);
        case TEMP_EXT: return api->init_temp_ext(g->x, g->y, g->z);
        case GREEDY: return api->init_greedy();
        case DIST: return api->init_dist(BENCH_SEED);
        case MIROSTAT: return api->init_mirostat(n, BENCH_SEED, g->x, g->y, g->k);
        case MIROSTAT_V2: return api->init_mirostat_v2(BENCH_SEED, g->x, g->y);
        case ADAPTIVE_P: return api->init_adaptive_p(g->x, g->y, BENCH_SEED);
        default: return NULL;
    }
}

static bool peer_has(const bench_case *c)
{
    for (int i = 0; i < bench_stages(c); i++) {
        stage_kind kind = c->stages[i].kind;
        if (kind == TAIL_FREE || kind == SOFTMAX || kind == CUSTOM) return false;
        if (kind == P_LESS || kind == EPSILON || kind == ETA || kind == SMOOTHING) return false;
        if (kind == TOP_H || kind == MIN_K || kind == LOG_SOFTMAX || kind == TOP_K_TIES || kind == TOP_A)
            return false;
    }
    return true;
}

static peer_sampler *make_peer_chain(const llama_peer *api, const bench_case *c, size_t n_vocab)
{
    static samp_token text[BENCH_MAX_WINDOW];
    int32_t n = (int32_t)n_vocab;
    peer_sampler *chain = api->chain_init(api->chain_params());
    for (int i = 0; i < bench_stages(c); i++)
        if (c->stages[i].kind == DEFAULT_CHAIN)
            add_default_chain(api, chain, &c->stages[i], n);
        else
            api->chain_add(chain, make_peer_stage(api, &c->stages[i], n));
    bench_text(text, c->window, n_vocab);
    for (int i = 0; i < c->window; i++) api->accept(chain, text[i]);
    return chain;
}

/* In how many of the first rows our chain, set to the peer's random source, selects the peer's token: if the
 * two chains were not the same one, this would show it. (Exact ties may part them, and real logits have
 * many.) */
static int same_tokens(const bench_case *c, bench_peer *p, const bench_rows *rows, int n)
{
    samp_sampler *ours = bench_make_chain(c, rows->n, SAMP_RNG_MT19937);
    int same = 0;
    p->chain = make_peer_chain(p->api, c, rows->n);
    for (int i = 0; i < n; i++) {
        int32_t theirs = peer_sample(p, bench_row(rows, i), rows->n);
        if (theirs < 0) bench_fail("the peer selected nothing", c->name);
        same += samp_draw(ours, bench_row(rows, i), rows->n) == theirs;
        samp_accept(ours, theirs);
        p->api->accept(p->chain, theirs);
    }
    p->api->free(p->chain);
    samp_free(ours);
    return same;
}

/* ==== Timing and the table ============================================================================== */

typedef struct result {
    bench_series ours, llama, peer, floor; /* llama: ours, under llama.cpp's random source */
    int same, n_same;                      /* tokens equal to the peer's, of how many */
    unsigned long allocations;             /* ours, during the timed rounds */
} result;

static void print_heading(const char *logits, size_t n, const bench_floor *floor)
{
    printf("\n%zu tokens, %s logits, ours: %s; max pass: %s\n", n, logits, bench_isa_now(), floor->pass.name);
    printf("%-12s %9s %9s %7s %15s %7s %7s %9s %7s %5s\n", "case", "ours us", "peer us", "ratio", "of rounds",
           "max us", "x max", "llama us", "ratio", "same");
}

/* Returns whether the line is slower than the peer; none is, with any instruction set. */
static int print_line(const char *name, const result *r)
{
    bench_series each = { { 0.0 }, 0 };
    double ours = bench_median(&r->ours), theirs = bench_median(&r->peer), floor = bench_median(&r->floor);
    double llama = bench_median(&r->llama);
    bool slow = theirs < ours, slow_tokens = theirs < llama;
    char range[32];
    for (int i = 0; i < r->ours.n; i++) bench_put(&each, r->peer.value[i] / r->ours.value[i]);
    snprintf(range, sizeof range, "%.1f - %.1f", bench_least(&each), bench_quantile(&each, 1.0));
    printf("%-12s %9.2f %9.1f %7.1f %15s %7.2f %7.2f %9.2f %7.1f   %d/%d", name, ours, theirs, theirs / ours, range,
           floor, ours / floor, llama, theirs / llama, r->same, r->n_same);
    if (slow) printf("  SLOWER THAN THE PEER");
    if (slow_tokens) printf("  SLOWER THAN THE PEER with its tokens");
    if (r->allocations) printf("  %lu allocations", r->allocations);
    printf("\n");
    fflush(stdout);
    return slow + slow_tokens;
}

/* Check the case, then ours, the floor and the peer by turns. */
static void time_case(const bench_case *c, const bench_rows *rows, bench_peer *p, bench_floor *floor,
                      const bench_options *o, result *r)
{
    bench_ours ours = { bench_make_chain(c, rows->n, SAMP_RNG_PHILOX), 0, 0 };
    bench_ours llama = { bench_make_chain(c, rows->n, SAMP_RNG_MT19937), 0, 0 };
    samp_token *token = bench_alloc((size_t)rows->count * sizeof *token);
    bench_job our_job = { bench_run_ours, &ours, c->rotations }, floor_job = bench_floor_job(floor);
    bench_job llama_job = { bench_run_ours, &llama, c->rotations };
    bench_job peer_job = { run_peer, p, c->rotations };
    memset(r, 0, sizeof *r);
    bench_verify(c, ours.chain, rows, token, bench_define(ours.chain, rows, token));
    r->n_same = rows->count < SAME_ROWS ? rows->count : SAME_ROWS;
    r->same = same_tokens(c, p, rows, r->n_same);
    p->chain = make_peer_chain(p->api, c, rows->n);
    for (int round = 0; round < o->rounds; round++) {
        unsigned long before = bench_allocations;
        bench_put(&r->ours, bench_round(&our_job, rows, OURS_US));
        r->allocations += bench_allocations - before;
        bench_put(&r->floor, bench_round(&floor_job, rows, FLOOR_US));
        bench_put(&r->llama, bench_round(&llama_job, rows, PEER_US));
        bench_put(&r->peer, bench_round(&peer_job, rows, PEER_US));
    }
    if (ours.failed || llama.failed || p->failed) bench_fail("a sample failed while it was timed", c->name);
    p->api->free(p->chain);
    samp_free(ours.chain);
    samp_free(llama.chain);
    free(token);
}

/* ---- batches: all of ours and the peer's rows by turns, the fastest rounds of each ---- */

static bench_series over(const bench_series *a, const bench_series *b)
{
    bench_series ratio = { { 0.0 }, 0 };
    for (int i = 0; i < a->n && i < b->n; i++) bench_put(&ratio, a->value[i] / b->value[i]);
    return ratio;
}

static void print_batch_heading(const char *logits, size_t n)
{
    printf("\n%zu tokens, %s logits, ours: %s; %d rows a batch, times are of a row\n", n, logits, bench_isa_now(),
           BENCH_BATCH_ROWS);
    printf("%-14s %9s %9s %7s %15s %7s\n", "case", "ours us", "peer us", "ratio", "of rounds", "x 1t");
}

static int print_batch_line(const char *name, const bench_series *ours, const bench_series *peer,
                            const bench_series *one, FILE *csv, const char *where)
{
    bench_series ratio = over(peer, ours);
    double us = bench_least(ours), peer_us = bench_least(peer), times = peer_us / us, x = us / bench_least(one);
    printf("%-14s %9.2f %9.1f %7.1f %6.1f - %-6.1f %7.3f%s\n", name, us, peer_us, times, bench_least(&ratio),
           bench_quantile(&ratio, 1.0), x, times < 1.0 ? "  SLOWER THAN THE PEER" : "");
    fflush(stdout);
    fprintf(csv, "%s,%s,%.3f,%.3f,%.3f,%.3f\n", name, where, us, peer_us, times, x);
    return times < 1.0;
}

/* Returns how many lines are slower than the peer; so does run_rows. */
static int run_batches(const bench_options *o, const llama_peer *api, bench_logits kind, size_t n, FILE *csv)
{
    int slower = 0;
    bench_rows rows = bench_make_rows(kind, n, BENCH_BATCH_ROWS, o->real);
    bench_batch batch[BENCH_N_BATCHES];
    bench_series us[BENCH_N_BATCHES], peer_us = { { 0.0 }, 0 };
    bench_peer peer = { api, NULL, bench_alloc(n * sizeof *peer.data), 0, 0 };
    bench_job peer_job = { run_peer, &peer, 0 };
    char where[64];
    memset(us, 0, sizeof us);
    peer.chain = make_peer_chain(api, &bench_cases[BENCH_DEFAULT], n);
    for (int i = 0; i < BENCH_N_BATCHES; i++) {
        batch[i] = bench_make_batch(&bench_batch_cases[i], &rows);
        bench_verify_batch(&batch[i]);
    }
    for (int round = 0; round < o->rounds; round++) {
        for (int i = 0; i < BENCH_N_BATCHES; i++) bench_put(&us[i], bench_batch_round(&batch[i], BATCH_US));
        bench_put(&peer_us, bench_round(&peer_job, &rows, PEER_US));
    }
    print_batch_heading(bench_logits_name[kind], n);
    snprintf(where, sizeof where, "%zu,%s", n, bench_logits_name[kind]);
    for (int i = 0; i < BENCH_N_BATCHES; i++) {
        const char *name = bench_batch_cases[i].name;
        if (batch[i].failed || peer.failed) bench_fail("a sample failed while it was timed", name);
        if (bench_listed(o->cases, name)) slower += print_batch_line(name, &us[i], &peer_us, &us[0], csv, where);
        bench_free_batch(&batch[i]);
    }
    api->free(peer.chain);
    free(peer.data);
    free(rows.data);
    return slower;
}

static int run_rows(const bench_options *o, const llama_peer *api, bench_logits kind, size_t n, FILE *csv)
{
    int slower = 0;
    const char *logits = bench_logits_name[kind];
    bench_rows rows = bench_make_rows(kind, n, o->rows, o->real);
    bench_floor floor = bench_pick_floor(&rows);
    bench_peer peer = { api, NULL, bench_alloc(n * sizeof *peer.data), 0, 0 };
    print_heading(logits, n, &floor);
    for (int i = 0; i < (o->cases || o->all ? BENCH_N_CASES : BENCH_N_FIRST); i++) {
        const bench_case *c = &bench_cases[i];
        result r;
        if (!bench_listed(o->cases, c->name) || !peer_has(c)) continue;
        time_case(c, &rows, &peer, &floor, o, &r);
        double ours = bench_median(&r.ours), theirs = bench_median(&r.peer);
        double ratio = theirs / ours, floor_ratio = ours / bench_median(&r.floor);
        slower += print_line(c->name, &r);
        fprintf(csv, "%s,%zu,%s,%.3f,%.3f,", c->name, n, logits, ours, theirs);
        fprintf(csv, "%.3f,%.3f,%.3f,", ratio, floor_ratio, bench_median(&r.llama));
        fprintf(csv, "%.3f,%.3f,%.3f\n", bench_least(&r.ours), bench_least(&r.peer), bench_least(&r.floor));
    }
    free(peer.data);
    free(rows.data);
    if (bench_batch_listed(o->cases)) slower += run_batches(o, api, kind, n, csv);
    return slower;
}

/* ==== Arrays ============================================================================================
 * An array of candidates that is there already, through samp_apply and through the peer's apply, by turns. The filling
 * is not timed. First the cases, then what of a sampler alone has another name here. */

enum { ARRAY_ROUNDS = 3 };

static const bench_case array_cases[] = {
    { "alone_temp", { { .kind = TEMP, .x = 0.8f } }, 0, 0 },
    { "alone_temp_ext", { { .kind = TEMP_EXT, .x = 0.8f, .y = 0.3f, .z = 1.0f } }, 0, 0 },
    { "alone_penalties", { { .kind = PENALTIES, .x = 1.1f, .y = 0.1f, .z = 0.1f, .k = 64 } }, 64, 0 },
    { "alone_bias", { { .kind = LOGIT_BIAS, .k = BENCH_N_BIAS } }, 0, 0 },
    { "alone_top_n_sigma", { { .kind = TOP_N_SIGMA, .x = 1.0f } }, 0, 0 },
    { "alone_top_k_40", { { .kind = TOP_K, .k = 40 } }, 0, 0 },
    { "alone_top_k_1000", { { .kind = TOP_K, .k = 1000 } }, 0, 0 },
    { "alone_top_p", { { .kind = TOP_P, .x = 0.95f } }, 0, 0 },
    { "alone_min_p", { { .kind = MIN_P, .x = 0.05f } }, 0, 0 },
    { "alone_typical", { { .kind = TYPICAL, .x = 0.9f } }, 0, 0 },
    { "alone_xtc", { { .kind = XTC, .x = 1.0f, .y = 0.1f } }, 0, 0 },
    { "alone_dist", { { .kind = DIST } }, 0, 0 },
    { "temp_temp", { { .kind = TEMP, .x = 0.8f }, { .kind = TEMP, .x = 1.1f }, { .kind = DIST } }, 0, 0 },
    { "temp_penalties",
      { { .kind = TEMP, .x = 0.8f }, { .kind = PENALTIES, .x = 1.1f, .k = 64 }, { .kind = DIST } },
      64,
      0 },
    { "xtc_1", { { .kind = XTC, .x = 1.0f, .y = 0.1f }, { .kind = DIST } }, 0, 0 },
    { "top_k_all",
      { { .kind = TOP_K, .k = 128256 },
        { .kind = TOP_P, .x = 0.95f },
        { .kind = TEMP, .x = 0.8f },
        { .kind = DIST } },
      0,
      0 },
};
enum { N_ARRAY_CASES = sizeof array_cases / sizeof *array_cases };

/* Microseconds a row of an apply: theirs, or with p NULL ours. */
static double time_apply(samp_sampler *ours, bench_peer *p, peer_data *data, const bench_rows *rows)
{
    double us = 0.0;
    for (int i = 0; i < rows->count; i++) {
        fill(data, bench_row(rows, i), rows->n);
        peer_array theirs = { data, rows->n, -1, false };
        samp_token_data_array cur = { (samp_token_data *)(void *)data, rows->n, -1, false };
        double start = bench_cpu();
        if (p)
            p->api->apply(p->chain, &theirs);
        else if (samp_apply(ours, &cur) != SAMP_OK)
            bench_fail("samp_apply failed while it was timed", NULL);
        us += bench_cpu() - start;
    }
    return us / rows->count;
}

/* What a call of time_apply gives for ours under either random source, and for the peer: the least of the rounds. */
typedef struct array_times {
    double ours, llama, peer;
} array_times;

static array_times time_arrays(const bench_options *o, const bench_case *c, bench_peer *p, const bench_rows *rows)
{
    array_times t = { 1e9, 1e9, 1e9 };
    samp_sampler *ours = bench_make_chain(c, rows->n, SAMP_RNG_PHILOX);
    samp_sampler *llama = bench_make_chain(c, rows->n, SAMP_RNG_MT19937);
    bool has = peer_has(c);
    if (has) p->chain = make_peer_chain(p->api, c, rows->n);
    for (int round = 0; round < o->rounds * ARRAY_ROUNDS; round++) {
        t.ours = fmin(t.ours, time_apply(ours, NULL, p->data, rows));
        t.llama = fmin(t.llama, time_apply(llama, NULL, p->data, rows));
        if (has) t.peer = fmin(t.peer, time_apply(NULL, p, p->data, rows));
    }
    if (has) p->api->free(p->chain);
    samp_free(ours);
    samp_free(llama);
    return t;
}

static void run_arrays(const bench_options *o, const llama_peer *api, bench_logits kind, size_t n, FILE *csv)
{
    bench_rows rows = bench_make_rows(kind, n, o->rows, o->real);
    bench_peer peer = { api, NULL, bench_alloc(n * sizeof *peer.data), 0, 0 };
    printf("\n%zu tokens, %s logits, ours: %s; arrays, the least of %d rounds\n", n, bench_logits_name[kind],
           bench_isa_now(), o->rounds * ARRAY_ROUNDS);
    printf("%-18s %9s %9s %7s %9s %7s\n", "case", "ours us", "peer us", "ratio", "llama us", "ratio");
    for (int i = 0; i < BENCH_N_CASES + N_ARRAY_CASES; i++) {
        const bench_case *c = i < BENCH_N_CASES ? &bench_cases[i] : &array_cases[i - BENCH_N_CASES];
        if (!bench_listed(o->cases, c->name) || !peer_has(c)) continue;
        array_times t = time_arrays(o, c, &peer, &rows);
        printf("%-18s %9.2f %9.1f %7.1f %9.2f %7.1f  %s%s\n", c->name, t.ours, t.peer, t.peer / t.ours, t.llama,
               t.peer / t.llama, t.peer < t.ours ? "SLOWER THAN THE PEER" : "",
               t.peer < t.llama ? ", SLOWER THAN THE PEER with its tokens" : "");
        fflush(stdout);
        fprintf(csv, "array_%s,%zu,%s,%.3f,%.3f,%.3f,,%.3f\n", c->name, n, bench_logits_name[kind], t.ours, t.peer,
                t.peer / t.ours, t.llama);
    }
    free(peer.data);
    free(rows.data);
}

/* ==== Cliffs ============================================================================================
 * Pairs of chains that do nearly the same: one that anybody writes, and one with what might have been forgotten when it
 * was made fast. The second may take at most three times as long, and not longer than the peer, from an array of
 * candidates (the peer's column) and from logits. */

enum { CLIFF_NEST = 1, CLIFF_MANY, CLIFF_STAGES = 6, CLIFF_TIMES = 3 };

typedef struct cliff {
    const char *name;
    stage plain[CLIFF_STAGES], steep[CLIFF_STAGES];
    int how; /* CLIFF_NEST: the steep chain's first stages in a chain of their own; CLIFF_MANY: 64 and 65 samplers */
} cliff;

#define REST_TOP_P \
    { .kind = TOP_P, .x = 0.95f }, { .kind = TEMP, .x = 0.8f }, { .kind = DIST }
#define REST_TOP_K { .kind = TOP_K, .k = 40 }, REST_TOP_P
#define ONE_TEMP \
    { \
        .kind = TEMP, .x = 0.8f \
    }
#define PENALTIES_ \
    { \
        .kind = PENALTIES, .x = 1.1f, .k = 64 \
    }
static const cliff cliffs[] = {
    { "custom first", { REST_TOP_K }, { { .kind = CUSTOM }, REST_TOP_K }, 0 },
    { "custom first, long", { ONE_TEMP, { .kind = DIST } }, { { .kind = CUSTOM }, ONE_TEMP, { .kind = DIST } }, 0 },
    { "custom in between", { REST_TOP_K }, { { .kind = TOP_K, .k = 40 }, { .kind = CUSTOM }, REST_TOP_P }, 0 },
    { "custom between, long", { ONE_TEMP, { .kind = DIST } }, { ONE_TEMP, { .kind = CUSTOM }, { .kind = DIST } }, 0 },
    { "two temperatures",
      { ONE_TEMP, { .kind = DIST } },
      { ONE_TEMP, { .kind = TEMP, .x = 1.1f }, { .kind = DIST } },
      0 },
    { "temp, penalties", { PENALTIES_, ONE_TEMP, { .kind = DIST } }, { ONE_TEMP, PENALTIES_, { .kind = DIST } }, 0 },
    { "chain in a chain", { REST_TOP_K }, { REST_TOP_K }, CLIFF_NEST },
    { "65 samplers", { REST_TOP_P }, { REST_TOP_P }, CLIFF_MANY },
    { "top_k = n_vocab", { REST_TOP_P }, { { .kind = TOP_K, .k = INT32_MAX }, REST_TOP_P }, 0 },
    { "top_p, min_keep",
      { REST_TOP_P },
      { { .kind = TOP_P, .x = 0.95f, .k = 1000 }, ONE_TEMP, { .kind = DIST } },
      0 },
    { "min_p, min_keep",
      { { .kind = MIN_P, .x = 0.05f }, { .kind = DIST } },
      { { .kind = MIN_P, .x = 0.05f, .k = 1000 }, { .kind = DIST } },
      0 },
    { "typical, min_keep",
      { { .kind = TYPICAL, .x = 0.9f }, { .kind = DIST } },
      { { .kind = TYPICAL, .x = 0.9f, .k = 1000 }, { .kind = DIST } },
      0 },
    { "1025 changes",
      { { .kind = LOGIT_BIAS, .k = 1000 }, REST_TOP_P },
      { { .kind = LOGIT_BIAS, .k = 1025 }, REST_TOP_P },
      0 },
    { "1025 changes, long",
      { { .kind = LOGIT_BIAS, .k = 1000 }, ONE_TEMP, { .kind = DIST } },
      { { .kind = LOGIT_BIAS, .k = 1025 }, ONE_TEMP, { .kind = DIST } },
      0 },
};

/* One side of a pair, ours (api NULL) or the peer's, which has no custom sampler. */
static void *make_cliff(const cliff *c, bool steep, const llama_peer *api, size_t n, samp_rng_kind rng)
{
    static samp_token text[64];
    samp_sampler *ours = api ? NULL : samp_chain_init(), *inner = ours;
    peer_sampler *theirs = api ? api->chain_init(api->chain_params()) : NULL;
    if (ours && c->how == CLIFF_NEST && steep) samp_chain_add(ours, inner = samp_chain_init());
    for (int i = 0; c->how == CLIFF_MANY && i < 61 + steep; i++) {
        stage more = { .kind = MIN_P, .x = 1e-3f };
        if (ours) samp_chain_add(ours, bench_make_stage(&more, n));
        if (api) api->chain_add(theirs, make_peer_stage(api, &more, (int32_t)n));
    }
    for (int i = 0; i < CLIFF_STAGES; i++) {
        stage g = (steep ? c->steep : c->plain)[i];
        if (g.kind == END) break;
        if (g.kind == TOP_K && g.k == INT32_MAX) g.k = (int32_t)n;
        if (ours) samp_chain_add(g.kind == DIST ? ours : inner, bench_make_stage(&g, n));
        if (api && g.kind != CUSTOM) api->chain_add(theirs, make_peer_stage(api, &g, (int32_t)n));
    }
    bench_text(text, 64, n);
    for (int i = 0; api && i < 64; i++) api->accept(theirs, text[i]);
    if (api) return theirs;
    if (samp_status(ours, NULL) || samp_set_rng(ours, rng) || samp_reserve(ours, n)) bench_fail("cliff", c->name);
    for (int i = 0; i < 64; i++) samp_accept(ours, text[i]);
    return ours;
}

/* Microseconds a row from logits to the token: the peer's, or with p NULL ours. */
static double time_dense(samp_sampler *s, bench_peer *p, const bench_rows *rows)
{
    double start = bench_cpu();
    for (int i = 0; i < rows->count; i++)
        if ((p ? peer_sample(p, bench_row(rows, i), rows->n) : samp_draw(s, bench_row(rows, i), rows->n)) < 0)
            bench_fail("a draw failed while it was timed", NULL);
    return (bench_cpu() - start) / rows->count;
}

/* us [way][random source][plain, steep], and the peer's for the steep one, by both ways. Returns how many are too steep or slower than the peer. */
static int print_cliff(const cliff *c, double us[2][2][2], const double *peer)
{
    static const char *const way[] = { "array", "logits" }, *const rng[] = { "", ", its tokens" };
    int bad = 0;
    for (int w = 0; w < 2; w++)
        for (int r = 0; r < 2; r++) {
            double times = us[w][r][1] / us[w][r][0];
            bool slow = us[w][r][1] > peer[w], is_steep = times > CLIFF_TIMES;
            printf("%-20s  %-6s%-12s %9.2f %9.2f %7.2f %9.1f %7.1f  %s%s\n", c->name, way[w], rng[r], us[w][r][0],
                   us[w][r][1], times, peer[w], peer[w] / us[w][r][1], is_steep ? "A CLIFF" : "",
                   slow ? " SLOWER THAN THE PEER" : "");
            bad += is_steep || slow;
        }
    fflush(stdout);
    return bad;
}

static int run_cliffs(const bench_options *o, const llama_peer *api, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, o->rows, o->real);
    bench_peer peer = { api, NULL, bench_alloc(n * sizeof *peer.data), 0, 0 };
    int bad = 0;
    printf("\n%zu tokens, %s logits, ours: %s; cliffs, the least of %d rounds\n", n, bench_logits_name[kind],
           bench_isa_now(), o->rounds);
    printf("%-20s  %-18s %9s %9s %7s %9s %7s\n", "steep", "from", "plain us", "steep us", "times", "peer us",
           "ratio");
    for (size_t i = 0; i < sizeof cliffs / sizeof *cliffs; i++) {
        double us[2][2][2], peer_us[2] = { 1e9, 1e9 };
        samp_sampler *ours[2][2];
        peer.chain = make_cliff(&cliffs[i], true, api, n, SAMP_RNG_PHILOX);
        for (int j = 0; j < 8; j++) us[j / 4][j / 2 % 2][j % 2] = 1e9;
        for (int j = 0; j < 4; j++)
            ours[j / 2][j % 2] = make_cliff(&cliffs[i], j % 2, NULL, n, j < 2 ? SAMP_RNG_PHILOX : SAMP_RNG_MT19937);
        for (int round = 0; round < o->rounds; round++) {
            peer_us[0] = fmin(peer_us[0], time_apply(NULL, &peer, peer.data, &rows));
            peer_us[1] = fmin(peer_us[1], time_dense(NULL, &peer, &rows));
            for (int j = 0; j < 4; j++) {
                samp_sampler *s = ours[j / 2][j % 2];
                us[0][j / 2][j % 2] = fmin(us[0][j / 2][j % 2], time_apply(s, NULL, peer.data, &rows));
                us[1][j / 2][j % 2] = fmin(us[1][j / 2][j % 2], time_dense(s, NULL, &rows));
            }
        }
        bad += print_cliff(&cliffs[i], us, peer_us);
        api->free(peer.chain);
        for (int j = 0; j < 4; j++) samp_free(ours[j / 2][j % 2]);
    }
    free(peer.data);
    free(rows.data);
    return bad;
}

int main(int argc, char **argv)
{
    static llama_peer api;
    double start = bench_now(), cpu = bench_cpu();
    int slower = 0, steep = 0;
    bench_options o = bench_parse(argc, argv, usage);
    if (!o.library) bench_fail("which libllama? Its path is the first argument (see --help)", NULL);
    if (o.quick) bench_fail("unknown option", "--quick");
    if (o.rounds < 5) bench_fail("at least 5 rounds", NULL);
    if (!o.arrays) bench_check_list(o.cases, "--case", bench_case_at);
    bench_check_list(o.logits, "--logits", bench_logits_at);
    if (!bench_isa_force(o.isa)) bench_fail("this instruction set is not there", o.isa);
    if (!peer_load(&api, o.library)) return 1;
    const char *sizes = o.sizes ? o.sizes : "128256", *csv_path = o.csv ? o.csv : "build/bench_peer.csv";
    FILE *csv = fopen(csv_path, "w");
    if (!csv) bench_fail("cannot write", csv_path);
    fputs("case,n_vocab,logits,ours_us,peer_us,ratio,floor_ratio,llama_us,ours_least,peer_least,floor_least\n", csv);
    bench_print_machine(&o, bench_ghz());
    for (size_t n; (n = bench_next_size(&sizes)) > 0;)
        for (bench_logits kind = PEAKED; kind < N_LOGITS; kind++)
            if (o.cliffs && bench_listed(o.logits, bench_logits_name[kind])) {
                steep += run_cliffs(&o, &api, kind, n);
            } else if (bench_listed(o.logits, bench_logits_name[kind])) {
                if (!o.arrays) slower += run_rows(&o, &api, kind, n, csv);
                if (!o.no_arrays) run_arrays(&o, &api, kind, n, csv);
            }
    printf("\n");
    bench_print_quiet(start, cpu);
    if (fclose(csv)) bench_fail("cannot write", csv_path);
    if (slower) printf("%d lines are slower than the peer\n", slower);
    if (steep) printf("%d lines are too steep, or slower than the peer\n", steep);
    return slower > 0 || steep > 0;
}
