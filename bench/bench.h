/* bench.h -- what bench.c and bench_peer.c share: the rows of logits, the cases, the clock, the floor that
 * times are compared with, and the check that comes before any timing.
 *
 * Including this file also brings in the implementation of sampling.h, with an allocator that counts. */
#ifndef BENCH_H
#define BENCH_H

#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* clock_gettime, getloadavg, getrusage; on other systems they are there without it */
#endif
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static unsigned long bench_allocations;

static inline void *bench_malloc(size_t size)
{
    bench_allocations++;
    return malloc(size);
}

#define SAMP_MALLOC(n) bench_malloc(n)
#define SAMP_FREE(p)   free(p)
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/floats.h"
#include "tests/support/source.h"

enum {
    BENCH_ROWS = 24,        /* in rotation; at 128,256 tokens 12 MiB, too much for a core's own caches */
    BENCH_MAX_ROUNDS = 101, /* room in a series */
    BENCH_MAX_WINDOW = 4096,
    BENCH_N_BIAS = 100, /* of a case, and the most of any chain */
    BENCH_MOST_BIAS = 1025,
    BENCH_SEED = 20
};

static inline void bench_fail(const char *what, const char *name)
{
    fprintf(stderr, "bench: %s%s%s\n", what, name ? ": " : "", name ? name : "");
    exit(1);
}

/* Memory on a cache line's boundary; never NULL. */
static inline void *bench_alloc(size_t size)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, size ? size : 64)) bench_fail("out of memory", NULL);
    return p;
}

/* ==== Options ==============================================================================================
 * Lists are written with commas; NULL stands for all, or for the program's usual choice. */

typedef struct bench_options {
    const char *cases, *logits, *isa, *sizes, *csv, *real, *library;
    int rounds, rows;
    bool quick, all, passes, arrays, no_arrays, cliffs, batches;
} bench_options;

static inline bool bench_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at;) {
        size_t length = strcspn(at, ",");
        if (length == n && !memcmp(at, name, n)) return true;
        at += length + (at[length] == ',');
    }
    return !list;
}

/* A number from the command line; anything else ends the program. */
static inline int bench_number(const char *text, const char *option, long least, long most)
{
    char *end;
    long x = strtol(text, &end, 10);
    if (end == text || *end || x < least || x > most) bench_fail("not a number in its range", option);
    return (int)x;
}

/* Reads what both programs know. The usage goes to stdout if asked for with --help, and ends the program. */
static inline bench_options bench_parse(int argc, char **argv, const char *usage)
{
    bench_options o = { .real = "tests/data/real_rows.f16", .rounds = 7, .rows = BENCH_ROWS };
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        const char **text = !strcmp(name, "--case")     ? &o.cases
                            : !strcmp(name, "--logits") ? &o.logits
                            : !strcmp(name, "--isa")    ? &o.isa
                            : !strcmp(name, "--n")      ? &o.sizes
                            : !strcmp(name, "--csv")    ? &o.csv
                            : !strcmp(name, "--real")   ? &o.real
                                                        : NULL;
        int *number = !strcmp(name, "--rounds") ? &o.rounds : !strcmp(name, "--rows") ? &o.rows : NULL;
        if ((text || number) && !value) bench_fail("a value is missing behind", name);
        if (text)
            *text = argv[++i];
        else if (number)
            *number = bench_number(argv[++i], name, 1, number == &o.rounds ? BENCH_MAX_ROUNDS : 65536);
        else if (!strcmp(name, "--quick"))
            o.quick = true;
        else if (!strcmp(name, "--all"))
            o.all = true;
        else if (!strcmp(name, "--array"))
            o.arrays = true;
        else if (!strcmp(name, "--no-arrays"))
            o.no_arrays = true;
        else if (!strcmp(name, "--cliffs"))
            o.cliffs = true;
        else if (!strcmp(name, "--passes"))
            o.passes = true;
        else if (!strcmp(name, "--batches"))
            o.batches = true;
        else if (name[0] != '-' && !o.library)
            o.library = name;
        else {
            fputs(usage, strcmp(name, "--help") ? stderr : stdout);
            exit(strcmp(name, "--help") ? 2 : 0);
        }
    }
    return o;
}

/* The next number of a list of vocabulary sizes, 0 at its end. */
static inline size_t bench_next_size(const char **list)
{
    char item[16] = "";
    size_t length = strcspn(*list, ",");
    if (!**list) return 0;
    if (length < sizeof item) memcpy(item, *list, length);
    *list += length + ((*list)[length] == ',');
    return (size_t)bench_number(item, "--n", 100, (long)SAMP_MAX_VOCAB);
}

/* Ends the program if the list names something that is not there; name(i) is the i-th name, NULL behind the
 * last. */
static inline void bench_check_list(const char *list, const char *option, const char *(*name)(int))
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        int i = 0;
        while (name(i) && (strlen(name(i)) != length || memcmp(name(i), list, length))) i++;
        if (!name(i)) bench_fail("there is no such name in", option);
        list += length + (list[length] == ',');
    }
}

/* ==== Rows =================================================================================================
 * Made up anew in each run, always the same ones. */

static inline size_t bench_below(source *r, size_t n) { return (size_t)(uniform(r) * (double)n); }

static inline double bench_uniform(source *r, double low, double high) { return low + (high - low) * uniform(r); }

typedef enum bench_logits { PEAKED, FLAT, REAL, N_LOGITS } bench_logits;
static const char *const bench_logits_name[N_LOGITS] = { "peaked", "flat", "real" };

static inline const char *bench_logits_at(int i) { return i < N_LOGITS ? bench_logits_name[i] : NULL; }

typedef struct bench_rows {
    float *data; /* [count][stride] */
    size_t n, stride;
    int count;
} bench_rows;

static inline const float *bench_row(const bench_rows *r, int i) { return r->data + (size_t)i * r->stride; }

/* Normal noise, and 200 tokens that stand out: their logits fall as L0 - e ln(rank), steep in one row and
 * slow in the next. L0 is such that all the noise together has between 0.5 and 4 % of the top token's
 * probability. */
static inline void bench_fill_peaked(float *row, size_t n, source *r)
{
    enum { PEAKS = 200 };
    size_t at[PEAKS];
    double tail = 0.0, exponent = bench_uniform(r, 1.3, 3.5), share = bench_uniform(r, 0.005, 0.04);
    for (size_t i = 0; i < n; i++) row[i] = (float)(-1.0 + 2.2 * normal(r));
    for (int k = 0; k < PEAKS; k++) {
        do at[k] = bench_below(r, n);
        while (row[at[k]] == INFINITY); /* taken */
        row[at[k]] = INFINITY;
    }
    for (size_t i = 0; i < n; i++) tail += row[i] < INFINITY ? exp(row[i]) : 0.0;
    for (int k = 0; k < PEAKS; k++) row[at[k]] = (float)(log(tail / share) - exponent * log(k + 1.0));
}

static inline void bench_fill_flat(float *row, size_t n, source *r)
{
    for (size_t i = 0; i < n; i++) row[i] = (float)normal(r);
}

/* Logits of a language model, tiled to the vocabulary. Every tile of a row
 * is another row of the file, and the scales differ too, so that nothing repeats. */
static inline void bench_fill_real(float *row, size_t n, source *r, int index, const bench_rows *real)
{
    double scale = 1.0;
    for (size_t i = 0, tile = 0; i < n; i++) {
        if (i % REAL_WIDTH == 0) {
            scale = bench_uniform(r, 0.75, 1.25) * (i ? 0.8 : 1.0);
            tile = ((size_t)index + 5 * (i / REAL_WIDTH)) % (size_t)real->count;
        }
        row[i] = (float)(scale * bench_row(real, (int)tile)[i % REAL_WIDTH]);
    }
}

static inline bench_rows bench_make_rows(bench_logits kind, size_t n, int count, const char *real_path)
{
    bench_rows rows = { NULL, n, (n + 15) / 16 * 16, count };
    bench_rows real = { NULL, 0, 0, 0 };
    if (kind == REAL && !real_rows_load(real_path)) bench_fail("cannot read real logits", real_path);
    if (kind == REAL) real = (bench_rows){ &real_rows[0][0], REAL_WIDTH, REAL_WIDTH, REAL_ROWS };
    rows.data = bench_alloc((size_t)count * rows.stride * sizeof *rows.data);
    for (int i = 0; i < count; i++) {
        float *row = rows.data + (size_t)i * rows.stride;
        source r = source_at((uint64_t)kind << 32 | (uint64_t)i);
        if (kind == PEAKED)
            bench_fill_peaked(row, n, &r);
        else if (kind == FLAT)
            bench_fill_flat(row, n, &r);
        else
            bench_fill_real(row, n, &r, i, &real);
    }
    return rows;
}

/* ==== Cases ================================================================================================
 * A case is a chain, written as data so that the peer's chain can be made from the same lines. */

typedef enum stage_kind {
    END,
    DEFAULT_CHAIN, /* x repeat penalty, k biases */
    LOGIT_BIAS,    /* k biases */
    PENALTIES,     /* x repeat, y frequency, z presence, k window */
    DRY,           /* x multiplier, y base, k window; length allowed: 2 */
    TOP_N_SIGMA,   /* x n */
    TOP_K,         /* k */
    TOP_K_TIES,    /* k */
    TAIL_FREE,     /* x z */
    TYPICAL,       /* x p */
    TOP_P,         /* x p */
    MIN_P,         /* x p */
    TOP_A,         /* x a */
    P_LESS,        /* x scale */
    EPSILON,       /* x epsilon */
    ETA,           /* x epsilon */
    TOP_H,         /* x alpha */
    MIN_K,         /* x tau */
    XTC,           /* x probability, y threshold */
    TEMP,          /* x t */
    TEMP_EXT,      /* x t, y range, z exponent */
    SMOOTHING,     /* x factor, y curve */
    LOG_SOFTMAX,
    SOFTMAX,
    CUSTOM, /* a user's sampler that does nothing: what it costs to have one */
    GREEDY,
    DIST,
    MIROSTAT,    /* x tau, y eta, k m */
    MIROSTAT_V2, /* x tau, y eta */
    ADAPTIVE_P,  /* x target, y decay */
    GUMBEL,      /* with SAMPLING_GUMBEL only */
    WATERMARK    /* with SAMPLING_WATERMARK only: k the kind */
} stage_kind;

typedef struct stage {
    stage_kind kind;
    float x, y, z;
    int32_t k;
} stage;

typedef struct bench_case {
    const char *name;
    stage stages[4]; /* the last is END, or the array's end */
    int window;      /* tokens accepted before anything is timed, so that windows are full */
    int rotations;   /* at least so many a round (0 = 1), for a chain whose cost is a matter of luck */
} bench_case;

/* clang-format off */
static const bench_case bench_cases[] = {
    { "greedy",      { { .kind = GREEDY } }, 0, 0 },
    { "default",     { { .kind = DEFAULT_CHAIN, .x = 1.0f } }, 0, 0 },
    { "default_rep", { { .kind = DEFAULT_CHAIN, .x = 1.1f } }, 64, 0 },
    { "temp",        { { .kind = TEMP, .x = 0.8f }, { .kind = DIST } }, 0, 0 },
    { "top_p",       { { .kind = TOP_P, .x = 0.95f }, { .kind = TEMP, .x = 0.8f }, { .kind = DIST } }, 0, 0 },
    { "min_p",       { { .kind = MIN_P, .x = 0.05f }, { .kind = TEMP, .x = 0.8f }, { .kind = DIST } }, 0, 0 },
    { "typical",     { { .kind = TYPICAL, .x = 0.9f }, { .kind = DIST } }, 0, 0 },
    { "top_n_sigma", { { .kind = TOP_N_SIGMA, .x = 1.0f }, { .kind = DIST } }, 0, 0 },
    { "top_k_1000",  { { .kind = TOP_K, .k = 1000 }, { .kind = DIST } }, 0, 0 },
    { "mirostat_v2", { { .kind = MIROSTAT_V2, .x = 5.0f, .y = 0.1f } }, 0, 0 },
    { "xtc",         { { .kind = XTC, .x = 0.5f, .y = 0.1f }, { .kind = DIST } }, 0, 4 },
    { "adaptive_p",  { { .kind = ADAPTIVE_P, .x = 0.5f, .y = 0.9f } }, 0, 0 },
    /* from here on only with --all (bench_peer) */
    { "dist",        { { .kind = DIST } }, 0, 0 },
    { "softmax",     { { .kind = SOFTMAX }, { .kind = DIST } }, 0, 0 },
    { "top_k_40",    { { .kind = TOP_K, .k = 40 }, { .kind = DIST } }, 0, 0 },
    { "top_k_10000", { { .kind = TOP_K, .k = 10000 }, { .kind = DIST } }, 0, 0 },
    { "top_p_99",    { { .kind = TOP_P, .x = 0.99f }, { .kind = DIST } }, 0, 0 },
    { "tail_free",   { { .kind = TAIL_FREE, .x = 0.95f }, { .kind = DIST } }, 0, 0 },
    { "top_k_ties",  { { .kind = TOP_K_TIES, .k = 40 }, { .kind = DIST } }, 0, 0 },
    { "top_a",       { { .kind = TOP_A, .x = 0.2f }, { .kind = DIST } }, 0, 0 },
    { "p_less",      { { .kind = P_LESS, .x = 1.0f }, { .kind = DIST } }, 0, 0 },
    { "epsilon",     { { .kind = EPSILON, .x = 9e-4f }, { .kind = DIST } }, 0, 0 },
    { "eta",         { { .kind = ETA, .x = 2e-3f }, { .kind = DIST } }, 0, 0 },
    { "top_h",       { { .kind = TOP_H, .x = 0.4f }, { .kind = DIST } }, 0, 0 },
    { "min_k",       { { .kind = MIN_K, .x = 3.0f }, { .kind = DIST } }, 0, 0 },
    { "temp_ext",    { { .kind = TEMP_EXT, .x = 0.8f, .y = 0.3f, .z = 1.0f }, { .kind = DIST } }, 0, 0 },
    { "smoothing",   { { .kind = TOP_K, .k = 40 }, { .kind = SMOOTHING, .x = 0.3f, .y = 1.0f }, { .kind = DIST } }, 0, 0 },
    { "mirostat",    { { .kind = MIROSTAT, .x = 5.0f, .y = 0.1f, .k = 100 } }, 0, 0 },
    { "penalties",   { { .kind = PENALTIES, .x = 1.1f, .y = 0.1f, .z = 0.1f, .k = 64 }, { .kind = DIST } },
                     64, 0 },
    { "log_softmax", { { .kind = LOG_SOFTMAX }, { .kind = PENALTIES, .x = 1.1f, .k = 64 }, { .kind = DIST } }, 64, 0 },
    { "dry",         { { .kind = DRY, .x = 0.8f, .y = 1.75f, .k = 4096 }, { .kind = GREEDY } }, 4096, 0 },
    { "logit_bias",  { { .kind = DEFAULT_CHAIN, .x = 1.0f, .k = BENCH_N_BIAS } }, 0, 0 },
    { "custom",      { { .kind = TOP_K, .k = 40 }, { .kind = CUSTOM }, { .kind = DIST } }, 0, 0 },
#ifdef SAMPLING_GUMBEL
    { "gumbel",      { { .kind = GUMBEL } }, 0, 0 },
    { "gumbel_40",   { { .kind = TOP_K, .k = 40 }, { .kind = GUMBEL } }, 0, 0 },
#endif
#ifdef SAMPLING_WATERMARK
    { "mark",        { { .kind = WATERMARK, .k = SAMP_WATERMARK_GUMBEL } }, 0, 0 },
    { "mark_40",     { { .kind = TOP_K, .k = 40 }, { .kind = WATERMARK, .k = SAMP_WATERMARK_GUMBEL } }, 0, 0 },
    { "synthid",     { { .kind = WATERMARK, .k = SAMP_WATERMARK_SYNTHID } }, 0, 0 },
    { "synthid_40",  { { .kind = TOP_K, .k = 40 }, { .kind = WATERMARK, .k = SAMP_WATERMARK_SYNTHID } }, 0, 0 },
    { "selfhash",    { { .kind = WATERMARK, .k = SAMP_WATERMARK_SBW_SELFHASH }, { .kind = TOP_K, .k = 40 }, { .kind = DIST } },
                     0, 0 },
    { "lefthash",    { { .kind = WATERMARK, .k = SAMP_WATERMARK_SBW_LEFTHASH }, { .kind = TOP_K, .k = 40 }, { .kind = DIST } },
                     0, 0 },
#endif
};
/* clang-format on */
enum { BENCH_N_CASES = sizeof bench_cases / sizeof *bench_cases, BENCH_N_FIRST = 12, BENCH_DEFAULT = 1 };

/* The default chain on a batch of rows, each with a chain of its own. */
typedef struct bench_batch_case {
    const char *name;
    samp_dtype dtype;
    double allowed; /* the share of the tokens that the mask allows; 1: no mask */
    int n_threads;
} bench_batch_case;

static const bench_batch_case bench_batch_cases[] = {
    { "batch32_1t", SAMP_F32, 1.0, 1 },    { "batch32", SAMP_F32, 1.0, 2 },
    { "batch32_f16", SAMP_F16, 1.0, 1 },   { "batch32_bf16", SAMP_BF16, 1.0, 1 },
    { "batch32_mask", SAMP_F32, 0.02, 1 }, { "batch32_mask98", SAMP_F32, 0.98, 1 },
};
enum { BENCH_N_BATCHES = sizeof bench_batch_cases / sizeof *bench_batch_cases, BENCH_BATCH_ROWS = 32 };

/* All names, those of batches last. */
static inline const char *bench_case_at(int i)
{
    if (i < BENCH_N_CASES) return bench_cases[i].name;
    return i < BENCH_N_CASES + BENCH_N_BATCHES ? bench_batch_cases[i - BENCH_N_CASES].name : NULL;
}

static inline bool bench_batch_listed(const char *list)
{
    for (int i = 0; i < BENCH_N_BATCHES; i++)
        if (bench_listed(list, bench_batch_cases[i].name)) return true;
    return false;
}

static inline int bench_stages(const bench_case *c)
{
    int n = 0;
    while (n < (int)(sizeof c->stages / sizeof *c->stages) && c->stages[n].kind != END) n++;
    return n;
}

static inline const samp_logit_bias *bench_biases(size_t n_vocab)
{
    static samp_logit_bias bias[BENCH_MOST_BIAS];
    source r = source_at(7);
    for (int i = 0; i < BENCH_MOST_BIAS; i++) {
        bias[i].token = (samp_token)bench_below(&r, n_vocab);
        bias[i].bias = (float)bench_uniform(&r, -2.0, 2.0);
    }
    return bias;
}

/* What was said before the timing begins: 500 different tokens, and passages that come again, so that dry
 * finds something. */
static inline void bench_text(samp_token *text, int n, size_t n_vocab)
{
    source r = source_at(3);
    for (int i = 0; i < n;) {
        int length = 1, from = -1;
        if (i > 32 && uniform(&r) < 0.2) from = (int)bench_below(&r, (size_t)i - 16), length = 4 + (i & 7);
        for (; length > 0 && i < n; length--, i++)
            text[i] = from < 0 ? (samp_token)(bench_below(&r, 500) * (n_vocab / 500)) : text[from++];
    }
}

static inline int bench_do_nothing(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s, (void)cur;
    return SAMP_OK;
}

static inline samp_sampler *bench_default_chain(const stage *g, size_t n_vocab)
{
    samp_params p = samp_default_params();
    p.seed = BENCH_SEED;
    p.penalty_repeat = g->x;
    p.n_vocab = (int32_t)n_vocab;
    p.logit_bias = bench_biases(n_vocab);
    p.n_logit_bias = g->k;
    return samp_chain_from_params(&p, NULL);
}

static inline samp_sampler *bench_make_stage(const stage *g, size_t n_vocab)
{
    static const samp_sampler_i nothing = { NULL, NULL, bench_do_nothing, NULL, NULL, NULL, NULL, NULL };
    int32_t n = (int32_t)n_vocab;
    switch (g->kind) {
        case LOGIT_BIAS: return samp_init_logit_bias(n, g->k, bench_biases(n_vocab));
        case PENALTIES: return samp_init_penalties(g->k, g->x, g->y, g->z);
        case DRY: return samp_init_dry(NULL, g->k, g->x, g->y, 2, g->k, NULL, 0);
        case TOP_N_SIGMA: return samp_init_top_n_sigma(g->x);
        case TOP_K: return samp_init_top_k(g->k);
        case TOP_K_TIES: return samp_init_top_k_ties(g->k);
        case TAIL_FREE: return samp_init_tail_free(g->x, 0);
        case TYPICAL: return samp_init_typical(g->x, (size_t)g->k);
        case TOP_P: return samp_init_top_p(g->x, (size_t)g->k);
        case MIN_P: return samp_init_min_p(g->x, (size_t)g->k);
        case TOP_A: return samp_init_top_a(g->x, 0);
        case P_LESS: return samp_init_p_less(g->x, 0);
        case EPSILON: return samp_init_epsilon(g->x, 0);
        case ETA: return samp_init_eta(g->x, 0);
        case TOP_H: return samp_init_top_h(g->x, 0);
        case MIN_K: return samp_init_min_k(g->x);
        case XTC: return samp_init_xtc(g->x, g->y, 0, BENCH_SEED);
        case TEMP: return samp_init_temp(g->x);
        case TEMP_EXT: return samp_init_temp_ext(g->x, g->y, g->z);
        case SMOOTHING: return samp_init_smoothing(g->x, g->y);
        case LOG_SOFTMAX: return samp_init_log_softmax();
        case SOFTMAX: return samp_init_softmax();
        case CUSTOM: return samp_init_custom(&nothing, NULL);
        case GREEDY: return samp_init_greedy();
        case DIST: return samp_init_dist(BENCH_SEED);
        case MIROSTAT: return samp_init_mirostat(n, BENCH_SEED, g->x, g->y, g->k);
        case MIROSTAT_V2: return samp_init_mirostat_v2(BENCH_SEED, g->x, g->y);
        case ADAPTIVE_P: return samp_init_adaptive_p(g->x, g->y, BENCH_SEED);
#ifdef SAMPLING_GUMBEL
        case GUMBEL: return samp_init_gumbel(BENCH_SEED);
#endif
#ifdef SAMPLING_WATERMARK
        case WATERMARK: {
            samp_watermark mark = samp_default_watermark((samp_watermark_kind)g->k);
            mark.key = BENCH_SEED;
            mark.scope = SAMP_WATERMARK_ALWAYS; /* as a text whose contexts are new */
            return samp_init_watermark(&mark);
        }
#endif
        default: return NULL;
    }
}

/* The case's chain, ready to be timed: its memory taken, its windows full. */
static inline samp_sampler *bench_make_chain(const bench_case *c, size_t n_vocab, samp_rng_kind rng)
{
    static samp_token text[BENCH_MAX_WINDOW];
    bool whole = c->stages[0].kind == DEFAULT_CHAIN;
    samp_sampler *chain = whole ? bench_default_chain(&c->stages[0], n_vocab) : samp_chain_init();
    for (int i = 0; !whole && i < bench_stages(c); i++)
        samp_chain_add(chain, bench_make_stage(&c->stages[i], n_vocab));
    if (samp_status(chain, NULL) || samp_set_rng(chain, rng) || samp_reserve(chain, n_vocab))
        bench_fail("cannot make the chain", c->name);
    bench_text(text, c->window, n_vocab);
    for (int i = 0; i < c->window; i++) samp_accept(chain, text[i]);
    return chain;
}

static inline samp_sampler *bench_clone(const samp_sampler *chain, size_t n_vocab)
{
    samp_sampler *copy = samp_clone(chain);
    if (samp_status(copy, NULL) || samp_reserve(copy, n_vocab)) bench_fail("cannot clone a chain", NULL);
    return copy;
}

/* ==== Instruction sets ======== */

enum { BENCH_N_ISA = SAMPI_N_KERNELS }; /* as many as are compiled in; samp_isa_list has those that work here */

/* NULL: the machine's best. */
static inline bool bench_isa_force(const char *name) { return samp_isa_force(name) == SAMP_OK; }

static inline const char *bench_isa_now(void) { return samp_isa_name(); }

/* ==== Clock ============================================================================================= */

static inline double bench_clock(clockid_t clock) /* microseconds */
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline double bench_now(void) { return bench_clock(CLOCK_MONOTONIC); }

/* The time that this thread ran. Where nothing else runs that is the time that passed; on a busy machine it
 * leaves out what the core gave to others. */
static inline double bench_cpu(void) { return bench_clock(CLOCK_THREAD_CPUTIME_ID); }

/* One figure a round. */
typedef struct bench_series {
    double value[BENCH_MAX_ROUNDS];
    int n;
} bench_series;

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which the share q of the series lies; 0 = the smallest, 0.5 = the median. */
static inline double bench_quantile(const bench_series *s, double q)
{
    double sorted[BENCH_MAX_ROUNDS];
    if (s->n == 0) return 0.0;
    memcpy(sorted, s->value, (size_t)s->n * sizeof *sorted);
    qsort(sorted, (size_t)s->n, sizeof *sorted, bench_compare);
    double at = q * (s->n - 1);
    int i = (int)at;
    return i + 1 < s->n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

static inline double bench_median(const bench_series *s) { return bench_quantile(s, 0.5); }
static inline double bench_least(const bench_series *s) { return bench_quantile(s, 0.0); }

static inline void bench_put(bench_series *s, double value)
{
    if (s->n < BENCH_MAX_ROUNDS) s->value[s->n++] = value;
}

/* Something to time: one call works on one row. */
typedef struct bench_job {
    void (*run)(void *self, const float *row, size_t n);
    void *self;
    int rotations; /* at least so many a round; 0 = 1 */
} bench_job;

static inline double bench_rotate(const bench_job *job, const bench_rows *rows, int rotations)
{
    double start = bench_cpu();
    for (int k = 0; k < rotations; k++)
        for (int i = 0; i < rows->count; i++) job->run(job->self, bench_row(rows, i), rows->n);
    return bench_cpu() - start;
}

/* One round: once through the rows to settle the caches after what ran before (and to see how long that
 * takes), then as many whole rotations as fill block_us. The result is in microseconds a row. What is slow
 * needs no settling: its first rotation counts. */
static inline double bench_round(const bench_job *job, const bench_rows *rows, double block_us)
{
    double first = bench_rotate(job, rows, 1), more = block_us / (first > 0.01 ? first : 0.01);
    int least = job->rotations > 1 ? job->rotations : 1, rotations = more < 1e5 ? (int)more : 100000;
    if (first >= block_us && least == 1) return first / rows->count;
    if (rotations < least) rotations = least;
    return bench_rotate(job, rows, rotations) / rotations / rows->count;
}

/* ---- our side as a job ---- */

typedef struct bench_ours {
    samp_sampler *chain;
    unsigned failed;
    uint32_t sum; /* of the tokens, so that no compiler leaves a call out */
} bench_ours;

static inline void bench_run_ours(void *self, const float *row, size_t n)
{
    bench_ours *ours = self;
    samp_token token = samp_sample(ours->chain, row, n);
    ours->failed += token < 0;
    ours->sum += (uint32_t)token;
}

/* ==== The floor ============================================================================================
 * No sampler can be faster than one look at every logit. The floor is the fastest way found here to get a
 * row's maximum; which one that is differs from core to core (prefetching pays on some and costs on others),
 * so all are tried on the rows at hand before they are used. */

typedef float (*bench_max_fn)(const float *x, size_t n);

typedef struct bench_pass {
    const char *name;
    bench_max_fn max;
} bench_pass;

static inline float bench_max2(float a, float b) { return a > b ? a : b; }

static inline float bench_max_rest(float best, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) best = bench_max2(x[i], best);
    return best;
}

/* Eight maxima at once hide the latency of a comparison. */
static inline float bench_max_scalar(const float *x, size_t n)
{
    float m[8];
    size_t i = 0;
    for (int k = 0; k < 8; k++) m[k] = -INFINITY;
    for (; i + 8 <= n; i += 8) {
        m[0] = bench_max2(x[i], m[0]), m[1] = bench_max2(x[i + 1], m[1]);
        m[2] = bench_max2(x[i + 2], m[2]), m[3] = bench_max2(x[i + 3], m[3]);
        m[4] = bench_max2(x[i + 4], m[4]), m[5] = bench_max2(x[i + 5], m[5]);
        m[6] = bench_max2(x[i + 6], m[6]), m[7] = bench_max2(x[i + 7], m[7]);
    }
    return bench_max_rest(bench_max_rest(-INFINITY, m, 8), x + i, n - i);
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#define BENCH_AVX2   __attribute__((target("avx2")))
#define BENCH_AVX512 __attribute__((target("avx512f")))
#define BENCH_INLINE static inline __attribute__((always_inline))

/* Bring the line `ahead` bytes further on into the first cache; 0 leaves that to the hardware. Behind the end
 * of the row this does nothing useful and no harm. */
BENCH_INLINE void bench_ahead(const float *x, size_t ahead)
{
    if (ahead) _mm_prefetch((const char *)x + ahead, _MM_HINT_T0);
}

BENCH_AVX2 BENCH_INLINE float bench_max_avx2(const float *x, size_t n, size_t ahead)
{
    __m256 a = _mm256_set1_ps(-INFINITY), b = a, c = a, d = a;
    float lane[8];
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        bench_ahead(x + i, ahead);
        bench_ahead(x + i + 16, ahead);
        a = _mm256_max_ps(a, _mm256_loadu_ps(x + i));
        b = _mm256_max_ps(b, _mm256_loadu_ps(x + i + 8));
        c = _mm256_max_ps(c, _mm256_loadu_ps(x + i + 16));
        d = _mm256_max_ps(d, _mm256_loadu_ps(x + i + 24));
    }
    _mm256_storeu_ps(lane, _mm256_max_ps(_mm256_max_ps(a, b), _mm256_max_ps(c, d)));
    return bench_max_rest(bench_max_rest(-INFINITY, lane, 8), x + i, n - i);
}

BENCH_AVX512 BENCH_INLINE float bench_max_avx512(const float *x, size_t n, size_t ahead)
{
    __m512 a = _mm512_set1_ps(-INFINITY), b = a, c = a, d = a;
    float lane[16];
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        bench_ahead(x + i, ahead);
        bench_ahead(x + i + 16, ahead);
        bench_ahead(x + i + 32, ahead);
        bench_ahead(x + i + 48, ahead);
        a = _mm512_max_ps(a, _mm512_loadu_ps(x + i));
        b = _mm512_max_ps(b, _mm512_loadu_ps(x + i + 16));
        c = _mm512_max_ps(c, _mm512_loadu_ps(x + i + 32));
        d = _mm512_max_ps(d, _mm512_loadu_ps(x + i + 48));
    }
    _mm512_storeu_ps(lane, _mm512_max_ps(_mm512_max_ps(a, b), _mm512_max_ps(c, d)));
    return bench_max_rest(bench_max_rest(-INFINITY, lane, 16), x + i, n - i);
}

BENCH_AVX2 static float bench_avx2_0(const float *x, size_t n) { return bench_max_avx2(x, n, 0); }
BENCH_AVX2 static float bench_avx2_256(const float *x, size_t n) { return bench_max_avx2(x, n, 256); }
BENCH_AVX2 static float bench_avx2_4096(const float *x, size_t n) { return bench_max_avx2(x, n, 4096); }
BENCH_AVX512 static float bench_avx512_0(const float *x, size_t n) { return bench_max_avx512(x, n, 0); }
BENCH_AVX512 static float bench_avx512_256(const float *x, size_t n) { return bench_max_avx512(x, n, 256); }
BENCH_AVX512 static float bench_avx512_4096(const float *x, size_t n) { return bench_max_avx512(x, n, 4096); }

static inline int bench_passes(bench_pass *pass)
{
    int n = 0;
    pass[n++] = (bench_pass){ "scalar", bench_max_scalar };
    if (__builtin_cpu_supports("avx2")) {
        pass[n++] = (bench_pass){ "AVX2", bench_avx2_0 };
        pass[n++] = (bench_pass){ "AVX2, prefetch 256 B", bench_avx2_256 };
        pass[n++] = (bench_pass){ "AVX2, prefetch 4 KiB", bench_avx2_4096 };
    }
    if (__builtin_cpu_supports("avx512f")) {
        pass[n++] = (bench_pass){ "AVX-512", bench_avx512_0 };
        pass[n++] = (bench_pass){ "AVX-512, prefetch 256 B", bench_avx512_256 };
        pass[n++] = (bench_pass){ "AVX-512, prefetch 4 KiB", bench_avx512_4096 };
    }
    return n;
}

#elif defined(__GNUC__) && defined(__aarch64__)
#include <arm_neon.h>

static inline __attribute__((always_inline)) float bench_max_neon(const float *x, size_t n, size_t ahead)
{
    float32x4_t a = vdupq_n_f32(-INFINITY), b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (ahead) __builtin_prefetch((const char *)(x + i) + ahead);
        a = vmaxq_f32(a, vld1q_f32(x + i));
        b = vmaxq_f32(b, vld1q_f32(x + i + 4));
        c = vmaxq_f32(c, vld1q_f32(x + i + 8));
        d = vmaxq_f32(d, vld1q_f32(x + i + 12));
    }
    return bench_max_rest(vmaxvq_f32(vmaxq_f32(vmaxq_f32(a, b), vmaxq_f32(c, d))), x + i, n - i);
}

static float bench_max_neon_0(const float *x, size_t n) { return bench_max_neon(x, n, 0); }
static float bench_max_neon_4096(const float *x, size_t n) { return bench_max_neon(x, n, 4096); }

static inline int bench_passes(bench_pass *pass)
{
    pass[0] = (bench_pass){ "scalar", bench_max_scalar };
    pass[1] = (bench_pass){ "NEON", bench_max_neon_0 };
    pass[2] = (bench_pass){ "NEON, prefetch 4 KiB", bench_max_neon_4096 };
    return 3;
}

#else

static inline int bench_passes(bench_pass *pass)
{
    pass[0] = (bench_pass){ "scalar", bench_max_scalar };
    return 1;
}
#endif

typedef struct bench_floor {
    bench_pass pass;
    float sum; /* as in bench_ours */
} bench_floor;

static inline void bench_run_floor(void *self, const float *row, size_t n)
{
    bench_floor *floor = self;
    floor->sum += floor->pass.max(row, n);
}

static inline bench_job bench_floor_job(bench_floor *floor)
{
    bench_job job = { bench_run_floor, floor, 0 };
    return job;
}

/* The fastest pass over these rows; each is first checked against the plain one. */
static inline bench_floor bench_pick_floor(const bench_rows *rows)
{
    bench_pass pass[8];
    bench_floor best = { { NULL, NULL }, 0.0f };
    double best_us = INFINITY;
    for (int k = 0, n = bench_passes(pass); k < n; k++) {
        bench_floor floor = { pass[k], 0.0f };
        bench_job job = bench_floor_job(&floor);
        bench_series series = { { 0.0 }, 0 };
        for (int i = 0; i < rows->count; i++)
            if (pass[k].max(bench_row(rows, i), rows->n) != bench_max_scalar(bench_row(rows, i), rows->n))
                bench_fail("a max pass is wrong", pass[k].name);
        for (int r = 0; r < 5; r++) bench_put(&series, bench_round(&job, rows, 1500.0));
        if (bench_median(&series) < best_us) best = floor, best_us = bench_median(&series);
    }
    return best;
}

/* ==== The check before timing ==============================================================================
 * What a chain's tokens have to be is defined step by step, on an array of all candidates. So a
 * copy of the chain goes that way through the rows, accepting its tokens, and samp_sample must follow it
 * token by token. */

/* The tokens of the first rows: of all, unless that takes longer than a second; of two at least. How many. */
static inline int bench_define(const samp_sampler *chain, const bench_rows *rows, samp_token *token)
{
    const char *isa = bench_isa_now();
    samp_sampler *copy = bench_clone(chain, rows->n);
    samp_token_data *data = bench_alloc(rows->n * sizeof *data);
    double start = bench_now();
    int row = 0;
    bench_isa_force("scalar"); /* what all the others have to agree with */
    for (; row < rows->count && (row < 2 || bench_now() - start < 1e6); row++) {
        samp_token_data_array cur = { data, rows->n, -1, false };
        for (size_t i = 0; i < rows->n; i++)
            data[i] = (samp_token_data){ (samp_token)i, bench_row(rows, row)[i] + 0.0f, 0.0f };
        int status = sampi_life_apply_steps((sampi_sampler *)copy, &cur);
        if (status || cur.selected < 0) bench_fail("the step-by-step run failed", samp_strerror(status));
        token[row] = data[cur.selected].id;
        samp_accept(copy, token[row]);
    }
    bench_isa_force(isa);
    free(data);
    samp_free(copy);
    return row;
}

/* Ends the program if samp_sample departs from these tokens [n]. */
static inline void bench_verify(const bench_case *c, const samp_sampler *chain, const bench_rows *rows,
                                const samp_token *token, int n)
{
    samp_sampler *copy = bench_clone(chain, rows->n);
    for (int row = 0; row < n; row++) {
        samp_token got = samp_sample(copy, bench_row(rows, row), rows->n);
        if (got == token[row]) continue;
        fprintf(stderr, "bench: %s, row %d, %s: samp_sample gives %d, the steps give %d\n", c->name, row,
                bench_isa_now(), (int)got, (int)token[row]);
        exit(1);
    }
    samp_free(copy);
}

/* ==== Batches ============================================================================================= */

typedef struct bench_batch {
    const bench_batch_case *c;
    samp_sampler *chain[BENCH_BATCH_ROWS];
    samp_logits logits;
    unsigned failed;
    uint32_t sum; /* as in bench_ours */
} bench_batch;

/* The rows of a batch in its dtype, its masks, and its chains. */
static inline bench_batch bench_make_batch(const bench_batch_case *c, const bench_rows *rows)
{
    bench_batch b = { .c = c };
    source r = source_at(11);
    size_t n = rows->n, words = (n + 31) / 32, total = (size_t)rows->count * rows->stride;
    b.logits = (samp_logits){ .data = rows->data, .dtype = c->dtype, .n_rows = BENCH_BATCH_ROWS, .n_vocab = n };
    b.logits.stride = rows->stride;
    b.logits.n_threads = c->n_threads;
    if (c->dtype != SAMP_F32) {
        uint16_t *data = bench_alloc(total * sizeof *data);
        for (size_t i = 0; i < total; i++)
            data[i] = c->dtype == SAMP_F16 ? half_of((double)rows->data[i]) : brain_of(rows->data[i]);
        b.logits.data = data;
    }
    if (c->allowed < 1.0) {
        uint32_t *mask = bench_alloc(BENCH_BATCH_ROWS * words * sizeof *mask);
        memset(mask, 0, BENCH_BATCH_ROWS * words * sizeof *mask);
        for (size_t i = 0; i < BENCH_BATCH_ROWS * words * 32; i++)
            if (uniform(&r) < c->allowed) mask[i / 32] |= 1u << (i % 32);
        b.logits.mask = mask;
    }
    for (int i = 0; i < BENCH_BATCH_ROWS; i++) { /* each with its own seed */
        samp_params p = samp_default_params();
        p.seed = (uint64_t)i;
        b.chain[i] = samp_chain_from_params(&p, NULL);
        if (samp_status(b.chain[i], NULL)) bench_fail("cannot make the chain", c->name);
    }
    return b;
}

static inline void bench_free_batch(bench_batch *b)
{
    for (int i = 0; i < BENCH_BATCH_ROWS; i++) samp_free(b->chain[i]);
    if (b->c->dtype != SAMP_F32) free((void *)(uintptr_t)b->logits.data);
    free((void *)(uintptr_t)b->logits.mask);
}

static inline void bench_run_batch(bench_batch *b)
{
    samp_token token[BENCH_BATCH_ROWS] = { 0 };
    b->failed += samp_sample_batch(b->chain, &b->logits, token) != SAMP_OK;
    for (int i = 0; i < BENCH_BATCH_ROWS; i++) b->failed += token[i] < 0, b->sum += (uint32_t)token[i];
}

/* Element i of row r, -INFINITY if it is masked. */
static inline float bench_batch_at(const bench_batch *b, int r, size_t i)
{
    const samp_logits *g = &b->logits;
    size_t at = (size_t)r * g->stride + i;
    if (g->mask && !(g->mask[(size_t)r * ((g->n_vocab + 31) / 32) + i / 32] >> (i % 32) & 1u)) return -INFINITY;
    if (g->dtype == SAMP_F16) return float_of_half(((const uint16_t *)g->data)[at]);
    if (g->dtype == SAMP_BF16) return float_of_brain(((const uint16_t *)g->data)[at]);
    return ((const float *)g->data)[at];
}

/* Ends the program if the batch departs from the definition: in all rows, unless that takes longer than a second. */
static inline void bench_verify_batch(const bench_batch *b)
{
    size_t n = b->logits.n_vocab;
    samp_sampler *copy[BENCH_BATCH_ROWS];
    samp_token token[BENCH_BATCH_ROWS];
    samp_token_data *data = bench_alloc(n * sizeof *data);
    double start = bench_now();
    for (int r = 0; r < BENCH_BATCH_ROWS; r++) copy[r] = bench_clone(b->chain[r], n);
    if (samp_sample_batch(copy, &b->logits, token)) bench_fail("a batch failed", b->c->name);
    for (int r = 0; r < BENCH_BATCH_ROWS; r++) {
        samp_token_data_array cur = { data, n, -1, false };
        samp_sampler *steps = bench_clone(b->chain[r], n);
        for (size_t i = 0; i < n; i++)
            data[i] = (samp_token_data){ (samp_token)i, bench_batch_at(b, r, i) + 0.0f, 0.0f };
        int status = sampi_life_apply_steps((sampi_sampler *)steps, &cur);
        if (status || cur.selected < 0) bench_fail("the step-by-step run failed", samp_strerror(status));
        if (token[r] != data[cur.selected].id) bench_fail("a batch departs from the definition", b->c->name);
        samp_free(steps);
        if (r > 1 && bench_now() - start > 1e6) break;
    }
    for (int r = 0; r < BENCH_BATCH_ROWS; r++) samp_free(copy[r]);
    free(data);
}

/* One round: after a call that is not counted, as many as fill block_us, 20 at least. The result is the time that
 * passed in the fastest of them, in microseconds a row: a batch is done when its slowest thread is, so no clock of one
 * thread tells, and what another program took from one core is in the time of all. */
static inline double bench_batch_round(bench_batch *b, double block_us)
{
    double begin = bench_now(), least = INFINITY;
    bench_run_batch(b);
    for (int calls = 0; calls < 20 || bench_now() - begin < block_us; calls++) {
        double start = bench_now();
        bench_run_batch(b);
        double us = bench_now() - start;
        least = us < least ? us : least;
    }
    return least / BENCH_BATCH_ROWS;
}

/* ==== Where it runs ===================================================================================== */

static inline void bench_print_cpu(void)
{
    char line[256], name[256] = "unknown";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name%*[ \t:]%255[^\n]", name) == 1) break;
    if (f) fclose(f);
    printf("cpu       %s, %ld online\n", name, sysconf(_SC_NPROCESSORS_ONLN));
}

/* The core's clock while it is busy, from a chain of instructions that takes 4 cycles a step (shift, xor,
 * shift, xor) on every x86-64 core; 0 elsewhere. The time stamp counter only tells its own, fixed, rate. */
static inline double bench_ghz(void)
{
#if defined(__x86_64__)
    enum { STEPS = 2000000 };
    double best = INFINITY;
    volatile uint64_t seed = 88172645463325252u;
    for (int k = 0; k < 12; k++) {
        uint64_t x = seed;
        double start = bench_cpu();
        for (int i = 0; i < STEPS; i++) {
            x ^= x << 7;
            x ^= x >> 9;
        }
        seed = x;
        double us = bench_cpu() - start;
        best = us < best ? us : best;
    }
    return 4.0 * STEPS / best / 1000.0;
#else
    return 0.0;
#endif
}

#ifdef __wasi__ /* does not tell */
static inline double bench_load(void) { return 0.0; }
static inline long bench_lost(void) { return 0; }
#else
static inline double bench_load(void)
{
    double load = 0.0;
    return getloadavg(&load, 1) == 1 ? load : 0.0;
}

/* How often the process had to leave its core. */
static inline long bench_lost(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nivcsw;
}
#endif

static inline void bench_print_machine(const bench_options *o, double ghz)
{
    bench_print_cpu();
    if (ghz > 0.0) printf("clock     about %.2f GHz, one thread\n", ghz);
#if defined(__clang__)
    printf("compiler  clang %s\n", __clang_version__);
#elif defined(__GNUC__)
    printf("compiler  gcc %s\n", __VERSION__);
#endif
    printf("library   sampling.h %d.%d.%d, instruction set: %s\n", SAMP_VERSION_MAJOR, SAMP_VERSION_MINOR,
           SAMP_VERSION_PATCH, bench_isa_now());
    printf("method    %d rows in rotation, %d rounds; times are medians of the rounds\n", o->rows, o->rounds);
    double load = bench_load();
    printf("load      %.2f at the start%s\n", load,
           load > 0.6 ? ": other programs were running, they share caches and memory" : "");
}

/* How quiet it was: a process that waits for its core, or whose core is interrupted, measures others too. */
static inline void bench_print_quiet(double start_us, double start_cpu)
{
    double share = (bench_cpu() - start_cpu) / (bench_now() - start_us), load = bench_load();
    printf("\n%.0f s; this process had %.1f %% of a core, lost it %ld times; load %.2f at the end%s\n",
           (bench_now() - start_us) / 1e6, 100.0 * share, bench_lost(), load,
           load > 1.3 || share < 0.98 ? ": the machine was not quiet" : "");
}

#endif /* BENCH_H */
