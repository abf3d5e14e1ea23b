/* bench_gpu.c -- measures the wall time of samp_gpu_sample_batch, from logits in device memory to tokens on the host,
 * with state and acceptance: rows x vocabularies x types x chains x kinds of rows, medians after a warm-up. Each figure
 * is followed by its ratio to the floor, the time of an empty kernel, one small copy to the device and one back,
 * measured in the same run. Before a figure is measured, the tokens of its first rows are compared with the CPU's.
 *
 *   bench_gpu [--quick] [--host]     exits with 77 if there is no device; --host: runs the kernels on the host, to test
 *                                    this program; its times have no meaning
 *   --long: the chains of long_name too, with at most 32 rows; --rows N, --kind K, --chain C, --dtype T: only these
 *   (K, C and T are indices, from 0 on, in the lists below; the chains of long_name follow those of chain_name)
 *   bench_gpu --stages               the time of each stage of a batch: the host's work, copies, kernel, results
 *   bench_gpu --passes [--host]      passes over a row of 128,256 tokens, as a mean of 32 rows; on a device of one row
 *   bench_gpu --model                runs each batch of the benchmark's four chains four times, for an interpreter that
 *                                    models time (tests/gpu/ptx/model.sh)
 *   bench_gpu --host-work            the host's work for 256 rows before and after the kernels; needs no device */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* clock_gettime */
#endif
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
#include "tests/support/floats.h"
#include "tests/support/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 50, WARM_UP = 10, MAX_ROWS = 256, CHECKED = 8 };

static const size_t rows_of[] = { 1, 8, 32, 64, 256 };
static const size_t vocab_of[] = { 32000, 128256, 262144 };
static const samp_dtype dtype_of[] = { SAMP_F32, SAMP_BF16 };
static const char *const dtype_name[] = { "f32", "bf16" };
static const char *const kind_name[] = { "peaked", "N(0,5)", "N(0,1)" };
static const char *const chain_name[] = { "top-k 40 + top-p 0.95 + temp 0.8", "top-p 0.95 + temp",
                                          "min-p 0.05 + temp", "temp only",
                                          "a mix of these, each with other values" };
/* further chains, for --long and for counting passes */
static const char *const long_name[] = { "top-k 1000 + tail-free 0.95 + temp",
                                         "top-h 0.4 + temp",
                                         "min-k 3 + temp",
                                         "mirostat, m 100",
                                         "mirostat, m 2048",
                                         "typical 0.9 + temp" };
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_gpu: %s\n", what);
    exit(1);
}

static void *memory(size_t n)
{
    void *p = malloc(n);
    if (!p) fail("out of memory");
    return p;
}

/* ---- rows ---- */

static source numbers; /* seed 0 */

/* Makes rows. Normal numbers are drawn from a table, because computing 67 million of them would take longer than the
   benchmark. */
static void make_rows(float *x, size_t n_rows, size_t n, int kind)
{
    static float table[1 << 16];
    if (table[0] == 0.0f)
        for (int i = 0; i < 1 << 16; i++) table[i] = (float)normal(&numbers);
    for (size_t r = 0; r < n_rows; r++)
        for (size_t i = 0; i < n; i++) {
            float g = table[(size_t)(uniform(&numbers) * 65536.0)];
            double rank = 1.0 + uniform(&numbers) * (double)n;
            x[r * n + i] = kind == 0 ? (float)(12.0 - 1.1 * log(rank)) + 0.5f * g : kind == 1 ? 5.0f * g : g;
        }
}

static void convert(const float *x, size_t n, samp_dtype dtype, void *out)
{
    if (dtype == SAMP_F32) memcpy(out, x, n * sizeof *x);
    for (size_t i = 0; i < n && dtype == SAMP_BF16; i++) ((uint16_t *)out)[i] = brain_of(x[i]);
}

static void float_row(const void *data, samp_dtype dtype, size_t row, size_t n, float *out)
{
    if (dtype == SAMP_F32) memcpy(out, (const float *)data + row * n, n * sizeof *out);
    for (size_t i = 0; i < n && dtype == SAMP_BF16; i++)
        out[i] = float_of_brain(((const uint16_t *)data)[row * n + i]);
}

/* ---- chains ---- */

static samp_sampler *make_chain(int chain, uint64_t seed)
{
    samp_sampler *c = samp_chain_init();
    float off = 0.0f;
    if (chain == 4) chain = (int)(seed % 4), off = (float)(seed % 13) * 0.003f;
    if (chain == 0) samp_chain_add(c, samp_init_top_k(40 - (int32_t)(off * 500.0f)));
    if (chain <= 1) samp_chain_add(c, samp_init_top_p(0.95f - off, 1));
    if (chain == 2) samp_chain_add(c, samp_init_min_p(0.05f + off, 1));
    samp_chain_add(c, samp_init_temp(0.8f + off));
    samp_chain_add(c, samp_init_dist(seed));
    return c;
}

static samp_sampler *make_long_chain(int chain, uint64_t seed)
{
    samp_sampler *c = samp_chain_init();
    if (chain == 3 || chain == 4) {
        samp_chain_add(c, samp_init_mirostat(128256, seed, 5.0f, 0.1f, chain == 3 ? 100 : 2048));
        return c;
    }
    if (chain == 0) samp_chain_add(c, samp_init_top_k(1000));
    if (chain == 0) samp_chain_add(c, samp_init_tail_free(0.95f, 1));
    if (chain == 1) samp_chain_add(c, samp_init_top_h(0.4f, 1));
    if (chain == 2) samp_chain_add(c, samp_init_min_k(3.0f));
    if (chain == 5) samp_chain_add(c, samp_init_typical(0.9f, 1));
    samp_chain_add(c, samp_init_temp(0.8f));
    samp_chain_add(c, samp_init_dist(seed));
    return c;
}

/* Makes a chain of either list. */
static samp_sampler *make_any_chain(int chain, uint64_t seed)
{
    return chain < COUNT(chain_name) ? make_chain(chain, seed) : make_long_chain(chain - COUNT(chain_name), seed);
}

static const char *name_of_chain(int chain)
{
    return chain < COUNT(chain_name) ? chain_name[chain] : long_name[chain - COUNT(chain_name)];
}

/* ---- the device ---- */

static int where;       /* a device number: SAMP_GPU_HOST or 0 */
static bool registered; /* contexts have registered host memory */

static void *device_memory(size_t n)
{
#if SAMPI_OFFLOAD
    if (where == 0) return omp_target_alloc(n, 0);
#endif
    return memory(n);
}

static void free_device(void *p)
{
#if SAMPI_OFFLOAD
    if (where == 0) {
        omp_target_free(p, 0);
        return;
    }
#endif
    free(p);
}

static void to_device(void *to, const void *from, size_t n)
{
#if SAMPI_OFFLOAD
    if (where == 0) {
        if (omp_target_memcpy(to, from, n, 0, 0, 0, omp_get_initial_device())) fail("a copy failed");
        return;
    }
#endif
    memcpy(to, from, n);
}

static double launch_floor(void)
{
    double t[ROUNDS];
    uint64_t word[8] = { 0 };
    void *there = device_memory(256);
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double start = now_us();
        to_device(there, word, sizeof word);
#if SAMPI_OFFLOAD
        if (where == 0) {
#pragma omp target thread_limit(1)
            {
            }
            omp_target_memcpy(word, there, sizeof word, 0, 0, omp_get_initial_device(), 0);
        }
#endif
        if (i >= 0) t[i] = now_us() - start;
    }
    free_device(there);
    return median(t, ROUNDS);
}

/* ---- one figure ---- */

typedef struct bench {
    samp_gpu *gpu;
    void *host, *device; /* the rows, in host and in device memory */
    float *row;
    samp_dtype dtype;
    size_t n_vocab, n_rows;
    double floor;
} bench;

/* Checks that the tokens of the first rows are the CPU's. */
static void check(const bench *b, samp_sampler **chains, const samp_logits *l)
{
    samp_token token[MAX_ROWS];
    samp_sampler *twin[CHECKED];
    size_t n = b->n_rows < CHECKED ? b->n_rows : CHECKED;
    for (size_t r = 0; r < n; r++) twin[r] = samp_clone(chains[r]);
    if (samp_gpu_sample_batch(b->gpu, chains, l, token)) fail("a batch failed");
    for (size_t r = 0; r < n; r++) {
        float_row(b->host, b->dtype, r, b->n_vocab, b->row);
        if (samp_sample(twin[r], b->row, b->n_vocab) != token[r]) fail("the device's token is not the CPU's");
        samp_free(twin[r]);
    }
}

static double measure(const bench *b, int chain, samp_gpu_perf_data *used)
{
    samp_sampler *chains[MAX_ROWS];
    samp_token token[MAX_ROWS];
    double t[ROUNDS];
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = b->device;
    l.dtype = b->dtype;
    l.n_rows = b->n_rows;
    l.n_vocab = b->n_vocab;
    for (size_t r = 0; r < b->n_rows; r++) chains[r] = make_any_chain(chain, r);
    check(b, chains, &l);
    samp_gpu_perf_data before = samp_gpu_perf(b->gpu);
    int rounds = where == 0 ? ROUNDS : 1, warm_up = where == 0 ? WARM_UP : 0;
    for (int i = -warm_up; i < rounds; i++) {
        double start = now_us();
        int status = samp_gpu_sample_batch(b->gpu, chains, &l, token);
        if (i >= 0) t[i] = now_us() - start;
        if (status || token[0] < 0) fail("a batch failed");
    }
    *used = samp_gpu_perf(b->gpu);
    used->n_launches = (used->n_launches - before.n_launches) / (uint64_t)(rounds + warm_up);
    used->n_cpu -= before.n_cpu;
    for (size_t r = 0; r < b->n_rows; r++) samp_free(chains[r]);
    return median(t, rounds);
}

/* The part of the benchmark that the arguments ask for; -1: all. */
static struct {
    int rows, kind, chain, dtype;
    bool with_long;
} only = { -1, -1, -1, -1, false };

static bool is_wanted(int wanted, int i) { return wanted < 0 || wanted == i; }

static void report(bench *b, const char *dtype, const char *kind)
{
    for (int chain = 0; chain < COUNT(chain_name) + COUNT(long_name); chain++) {
        const bool is_long = chain >= COUNT(chain_name);
        if (!is_wanted(only.chain, chain) || (is_long && only.chain < 0 && (!only.with_long || b->n_rows > 32)))
            continue;
        samp_gpu_perf_data used;
        double us = measure(b, chain, &used),
               bytes = (double)(b->n_rows * b->n_vocab) * (b->dtype == SAMP_F32 ? 4 : 2);
        printf("%-5s %7zu %4zu  %-7s %-39s %9.1f us  %5.2f x floor  %8.1f GB/s  %llu launches%s\n", dtype, b->n_vocab,
               b->n_rows, kind, name_of_chain(chain), us, us / b->floor, bytes / us * 1e-3,
               (unsigned long long)used.n_launches, used.n_cpu ? "  (rows on the CPU!)" : "");
        fflush(stdout);
    }
}

/* Counts the passes of batches of one row, and checks that their tokens are the CPU's. */
static void count_passes_of(samp_gpu *gpu, const samp_logits *l, int kind, int chain, bool is_long)
{
    const int n_rows = where == 0 ? 1 : 32;
    const uint64_t before = samp_gpu_perf(gpu).n_passes;
    float *x = (float *)memory(l->n_vocab * sizeof *x);
    for (int r = 0; r < n_rows; r++) {
        samp_sampler *c = (is_long ? make_long_chain : make_chain)(chain, (uint64_t)r), *twin = samp_clone(c);
        samp_token token;
        make_rows(x, 1, l->n_vocab, kind);
        to_device((void *)(uintptr_t)l->data, x, l->n_vocab * sizeof *x);
        if (samp_gpu_sample_batch(gpu, &c, l, &token)) fail("a batch failed");
        if (samp_sample(twin, x, l->n_vocab) != token) fail("the device's token is not the CPU's");
        samp_free(c), samp_free(twin);
    }
    const double passes = (double)(samp_gpu_perf(gpu).n_passes - before) / n_rows;
    printf("%-8s %-34s %.2f passes\n", kind_name[kind], is_long ? long_name[chain] : chain_name[chain], passes);
    fflush(stdout);
    free(x);
}

static void count_passes(void)
{
    enum { N_VOCAB = 128256 };
    samp_gpu_config config = { where, 1, N_VOCAB, SAMP_F32, true, false, 0, registered };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = device_memory(N_VOCAB * sizeof(float));
    l.n_rows = 1;
    l.n_vocab = N_VOCAB;
    if (!gpu || !l.data) fail("no context");
    for (int kind = 0; kind < COUNT(kind_name); kind++)
        for (int chain = 0; chain < 4; chain++) count_passes_of(gpu, &l, kind, chain, false);
    for (int kind = 0; kind < COUNT(kind_name); kind++)
        for (int chain = 0; chain < COUNT(long_name); chain++) count_passes_of(gpu, &l, kind, chain, true);
    samp_gpu_free(gpu);
}

/* Runs a batch in the stages of samp_gpu_sample_batch, and stores the times between the stages: at [STAGES + 1].
   `twice`: launches the kernel once before run_batch, whose launch then finds all rows finished. */
enum { STAGES = 5 };
static void run_stages(samp_gpu *gpu, samp_sampler **chains, const samp_logits *l, samp_token *token, bool twice,
                       double *at)
{
    at[0] = now_us();
    int status = sampi_gpu_check_batch(gpu, chains, l, token);
    sampi_gpu_divide(gpu, chains, l);
    at[1] = now_us();
    status |= sampi_gpu_upload(gpu, l, token);
    at[2] = now_us();
    if (twice) sampi_gpu_launch(gpu);
    at[3] = now_us();
    status |= sampi_gpu_run_batch(gpu, chains);
    at[4] = now_us();
    for (uint32_t j = 0; j < gpu->n_jobs; j++) {
        sampi_gpu_prefetch_commit(gpu, j);
        if (sampi_gpu_commit_row(gpu, j, chains[gpu->row_of[j]]) < 0) status = 1;
    }
    at[5] = now_us();
    if (status || gpu->n_jobs != l->n_rows) fail("a batch failed");
}

/* Measures the host's work for a batch: chains to the stage, the stage's copy, and tokens into the chains. The kernels
   between these run on the host and are not measured, but they and the rows evict the chains from the nearer caches. */
static void host_work(const char *name, float repeat)
{
    enum { N_VOCAB = 2048 };
    samp_gpu_config config = { SAMP_GPU_HOST, MAX_ROWS, N_VOCAB, SAMP_F32, true, false, 0, registered };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    samp_sampler *chains[MAX_ROWS];
    samp_token token[MAX_ROWS];
    double before[ROUNDS], after[ROUNDS];
    float *x = (float *)memory(MAX_ROWS * N_VOCAB * sizeof *x);
    samp_params params = samp_default_params();
    params.penalty_repeat = repeat;
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = x;
    l.n_rows = MAX_ROWS;
    l.n_vocab = N_VOCAB;
    make_rows(x, MAX_ROWS, N_VOCAB, 1);
    for (size_t r = 0; r < MAX_ROWS; r++) {
        params.seed = r;
        chains[r] = samp_chain_from_params(&params, NULL);
        for (int i = 0; i < 70; i++) samp_accept(chains[r], (samp_token)(r * 7 + (size_t)i * 13) % N_VOCAB);
    }
    if (!gpu) fail("no context");
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double at[STAGES + 1];
        run_stages(gpu, chains, &l, token, false, at);
        if (i >= 0) before[i] = at[2] - at[0], after[i] = at[5] - at[4];
    }
    printf("host's work for %d rows, %s: %.1f us before the kernels, %.1f us after them\n", MAX_ROWS, name,
           median(before, ROUNDS), median(after, ROUNDS));
    for (size_t r = 0; r < MAX_ROWS; r++) samp_free(chains[r]);
    samp_gpu_free(gpu);
    free(x);
}

/* Measures the stages of a batch. */
static void time_stages(size_t n_rows, int kind, int chain)
{
    enum { N_VOCAB = 128256 };
    static const char *const name[STAGES] = { "chains", "copies to it", "kernel", "empty kernel, results", "tokens" };
    samp_gpu_config config = { where, MAX_ROWS, N_VOCAB, SAMP_F32, true, false, 0, registered };
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    samp_sampler *chains[MAX_ROWS];
    samp_token token[MAX_ROWS];
    double t[STAGES][ROUNDS];
    samp_logits l;
    float *x = (float *)memory(n_rows * N_VOCAB * sizeof *x);
    memset(&l, 0, sizeof l);
    l.data = device_memory(n_rows * N_VOCAB * sizeof *x);
    l.n_rows = n_rows;
    l.n_vocab = N_VOCAB;
    if (!gpu || !l.data) fail("no context");
    make_rows(x, n_rows, N_VOCAB, kind);
    to_device((void *)(uintptr_t)l.data, x, n_rows * N_VOCAB * sizeof *x);
    for (size_t r = 0; r < n_rows; r++) chains[r] = make_any_chain(chain, r);
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double at[STAGES + 1];
        run_stages(gpu, chains, &l, token, true, at);
        for (int k = 0; i >= 0 && k < STAGES; k++) t[k][i] = at[k + 1] - at[k];
    }
    printf("%4zu rows  %-7s %-39s", n_rows, kind_name[kind], name_of_chain(chain));
    for (int k = 0; k < STAGES; k++) printf("  %s %.1f", name[k], median(t[k], ROUNDS));
    printf(" us; %u teams a row, %u at once, wait %u\n", gpu->args.splits, gpu->teams, gpu->wait);
    fflush(stdout);
    for (size_t r = 0; r < n_rows; r++) samp_free(chains[r]);
    samp_gpu_free(gpu);
    free_device((void *)(uintptr_t)l.data);
    free(x);
}

/* Runs each batch four times, and says on stderr which one: what an interpreter writes there about a launch stands
   behind it. The rows are the benchmark's own. */
static void run_for_model(void)
{
    enum { N_VOCAB = 128256, TIMES = 4 };
    const samp_gpu_config config = { where, MAX_ROWS, N_VOCAB, SAMP_F32, true, false, 0, registered };
    const size_t size = (size_t)MAX_ROWS * N_VOCAB * sizeof(float);
    samp_gpu *gpu = samp_gpu_init(&config, NULL);
    float *x = (float *)memory(size);
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.n_vocab = N_VOCAB;
    if (!gpu) fail("no context");
    for (int kind = 0; kind < COUNT(kind_name); kind++) make_rows(x, MAX_ROWS, vocab_of[0], kind); /* as in the benchmark */
    for (int kind = 0; kind < COUNT(kind_name); kind++) {
        make_rows(x, MAX_ROWS, N_VOCAB, kind);
        for (int r = 0; r < COUNT(rows_of); r++) {
            if (!is_wanted(only.rows, (int)rows_of[r]) || !is_wanted(only.kind, kind)) continue;
            l.n_rows = rows_of[r];
            l.data = device_memory(l.n_rows * N_VOCAB * sizeof *x);
            to_device((void *)(uintptr_t)l.data, x, l.n_rows * N_VOCAB * sizeof *x);
            for (int chain = 0; chain < 4; chain++) {
                samp_sampler *chains[MAX_ROWS];
                samp_token token[MAX_ROWS];
                if (!is_wanted(only.chain, chain)) continue;
                for (size_t k = 0; k < l.n_rows; k++) chains[k] = make_chain(chain, k);
                for (int i = 0; i < TIMES; i++) {
                    fprintf(stderr, "batch: %d %zu %d\n", chain, l.n_rows, kind);
                    if (samp_gpu_sample_batch(gpu, chains, &l, token) || token[0] < 0) fail("a batch failed");
                }
                for (size_t k = 0; k < l.n_rows; k++) samp_free(chains[k]);
            }
            free_device((void *)(uintptr_t)l.data);
        }
    }
    samp_gpu_free(gpu);
    free(x);
}

int main(int argc, char **argv)
{
    bool quick = false, passes = false, stages = false, model = false;
    if (argc > 1 && !strcmp(argv[1], "--host-work")) {
        host_work("default chain", 1.0f);
        host_work("default chain with penalties", 1.1f);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        quick |= !strcmp(argv[i], "--quick");
        passes |= !strcmp(argv[i], "--passes");
        stages |= !strcmp(argv[i], "--stages");
        model |= !strcmp(argv[i], "--model");
        only.with_long |= !strcmp(argv[i], "--long");
        registered |= !strcmp(argv[i], "--registered");
        if (!strcmp(argv[i], "--host")) where = SAMP_GPU_HOST;
        if (i + 1 == argc) continue;
        if (!strcmp(argv[i], "--rows")) only.rows = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--kind")) only.kind = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--chain")) only.chain = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--dtype")) only.dtype = atoi(argv[i + 1]);
    }
    if (where == 0 && !samp_gpu_available()) {
        printf("no device\n");
        return 77;
    }
    if (model) {
        run_for_model();
        return 0;
    }
    if (passes) {
        count_passes();
        return 0;
    }
    if (stages) {
        for (int r = 0; r < COUNT(rows_of); r++)
            for (int kind = 0; kind < COUNT(kind_name); kind++)
                for (int chain = 0; chain < 4 && (where == 0 || r == 0); chain++)
                    if (is_wanted(only.rows, (int)rows_of[r]) && is_wanted(only.kind, kind) &&
                        is_wanted(only.chain, chain))
                        time_stages(rows_of[r], kind, chain);
        return 0;
    }
    bench b;
    memset(&b, 0, sizeof b);
    for (double start = now_us(); now_us() - start < 300e3 && where == 0;)
        launch_floor(); /* until the device's clocks are at full speed */
    b.floor = launch_floor();
    printf("floor: %.1f us (an empty kernel, 64 bytes there and back)\n", b.floor);
    size_t most = quick || where != 0 ? 8 : MAX_ROWS;
    for (int v = quick ? 1 : 0; v < (quick ? 2 : COUNT(vocab_of)); v++)
        for (int kind = 0; kind < COUNT(kind_name); kind++) {
            if (!is_wanted(only.kind, kind)) continue;
            b.n_vocab = vocab_of[v];
            size_t n = most * b.n_vocab;
            float *x = (float *)memory(n * sizeof *x);
            make_rows(x, most, b.n_vocab, kind);
            for (int d = 0; d < COUNT(dtype_of); d++) {
                if (!is_wanted(only.dtype, d)) continue;
                samp_gpu_config config = { where, MAX_ROWS, b.n_vocab, dtype_of[d], true, false, 0, registered };
                int status;
                b.dtype = dtype_of[d];
                b.gpu = samp_gpu_init(&config, &status);
                if (!b.gpu) fail(samp_strerror(status));
                if (v == (quick ? 1 : 0) && kind == 0 && d == 0)
                    printf("%s, %zu bytes of device memory for %d rows of %zu, %llu of host memory registered\n",
                           samp_gpu_device_name(b.gpu), samp_gpu_size(&config), MAX_ROWS, b.n_vocab,
                           (unsigned long long)samp_gpu_perf(b.gpu).registered);
                b.host = memory(n * sizeof *x);
                b.row = (float *)memory(b.n_vocab * sizeof *b.row);
                b.device = device_memory(n * sizeof *x);
                if (!b.device) fail("out of device memory");
                convert(x, n, b.dtype, b.host);
                to_device(b.device, b.host, n * (b.dtype == SAMP_F32 ? 4 : 2));
                for (int r = 0; r < COUNT(rows_of); r++) {
                    b.n_rows = rows_of[r];
                    if (b.n_rows <= most && is_wanted(only.rows, (int)rows_of[r]))
                        report(&b, dtype_name[d], kind_name[kind]);
                }
                samp_gpu_free(b.gpu);
                free(b.host), free(b.row);
                free_device(b.device);
            }
            free(x);
        }
    return 0;
}
