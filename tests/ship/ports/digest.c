/* digest.c -- the tokens of some hundred random chains and rows, as a few lines of numbers: what two machines print has to
 * be the same.
 *
 *     cc -O2 -std=c11 -I. tests/ship/ports/digest.c -o digest -lm && ./digest [INSTRUCTION SET [LINES OF CHAINS]]
 *
 * Needs nothing but libc. Everything random comes from integers, and no function of libm is called here, so that what
 * differs is the library. Each chain draws some tokens by samp_sample and, as a check that needs no other machine, by
 * samp_apply; then one from a batch, in another dtype and masked, with its log-probabilities. The states at the end go in
 * too. Before the chains come rows that must be refused, the operator, and a cache's bytes. Exits with 1 if the two ways
 * differ, with 2 if the instruction set is not there, with 3 if the library refuses to work as it was compiled. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLING_KV
#ifndef DIGEST_LINKED /* with an implementation that is compiled in its own way */
#define SAMPLING_IMPLEMENTATION
#endif
#include "sampling.h"

enum { N_CHAINS = 400, N_LINES = 40, N_TOKENS = 4, MAX_N = 40000, MAX_STATE = 1 << 16 };

static uint64_t state;
static uint64_t hash; /* FNV-1a of what came out */
static float row[MAX_N];
static union {
    uint16_t half[MAX_N];
    double f64[MAX_N];
} data;
static uint32_t mask[MAX_N / 32 + 1];
static samp_token_data array[MAX_N];

static uint64_t next(void) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n) { return (uint32_t)((next() >> 32) * n >> 32); }

/* A multiple of 1/1024, so that it is the same number wherever it is computed. */
static float between(int low, int high)
{
    return (float)(low * 1024 + (int)below((uint32_t)(high - low) * 1024)) / 1024;
}

static float unit(void) { return (float)(below(1023) + 1) / 1024; }

static void mix(uint64_t x)
{
    for (int i = 0; i < 64; i += 8) hash = (hash ^ (x >> i & 255)) * 0x100000001b3u;
}

static void mix_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    mix(bits);
}

/* A sum of four is nearly normal. Some rows have ties, masked tokens, or few that stand out. */
static void fill_row(size_t n)
{
    uint32_t kind = below(5), scale = 1 + below(8);
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (int k = 0; k < 4; k++) sum += (int32_t)below(1 << 20) - (1 << 19);
        row[i] = kind == 1 ? (float)(sum >> 19) : (float)sum * (float)scale / (float)(1 << 20);
        if (kind == 2 && below(4) == 0) row[i] = -INFINITY;
        if (kind == 3 && below(64) == 0) row[i] += (float)below(16);
    }
    row[below((uint32_t)n)] = 3.0f;
}

/* All that is drawn is drawn before the calls: compilers differ in the order of arguments. */
static samp_sampler *random_step(int32_t n)
{
    static samp_logit_bias bias[8];
    float a = unit(), b = unit(), c = unit();
    int32_t k = (int32_t)below(100);
    size_t min_keep = below(4) ? 0 : below(20);
    for (int i = 0; i < 8; i++) {
        bias[i].token = (samp_token)below((uint32_t)n);
        bias[i].bias = between(-3, 3);
    }
    switch (below(14)) {
        case 0: return samp_init_logit_bias(n, 8, bias);
        case 1: return samp_init_penalties(k, 1.0f + a, b, 2.0f * c - 1.0f);
        case 2: return samp_init_dry(NULL, 200, 1.0f + a, 1.0f + b, k % 3, -1, NULL, 0);
        case 3: return samp_init_top_n_sigma(3.0f * a);
        case 4: return samp_init_top_k(1 + k);
        case 5: return samp_init_tail_free(a, min_keep);
        case 6: return samp_init_typical(a, min_keep);
        case 7: return samp_init_top_p(a, min_keep);
        case 8: return samp_init_min_p(a / 8, min_keep);
        case 9: return samp_init_xtc(a, b / 2, min_keep, (uint64_t)k);
        case 10: return samp_init_temp(k < 12 ? 0.0f : 2.0f * a);
        case 11: return samp_init_temp_ext(1.0f + a, b, 2.0f * c);
        case 12: return samp_init_softmax();
        default: return samp_init_top_k((int32_t)(1.0f + a * (float)(n - 1)));
    }
}

static samp_sampler *random_end(int32_t n)
{
    uint64_t seed = next();
    float tau = between(1, 8), eta = unit() / 4, target = unit();
    switch (below(8)) {
        case 0: return samp_init_greedy();
        case 1: return samp_init_mirostat(n, seed, tau, eta, 2 + (int32_t)(seed % 200));
        case 2: return samp_init_mirostat_v2(seed, tau, eta);
        case 3: return samp_init_adaptive_p(target, eta * 3.5f, seed);
        default: return samp_init_dist(seed);
    }
}

static samp_sampler *random_chain(size_t n)
{
    samp_sampler *chain = samp_chain_init();
    int status = SAMP_OK, n_steps = (int)below(5);
    for (int i = 0; i < n_steps; i++) status |= samp_chain_add(chain, random_step((int32_t)n));
    status |= samp_chain_add(chain, random_end((int32_t)n));
    if (status || samp_status(chain, NULL)) {
        fprintf(stderr, "digest: cannot make a chain: %s\n", samp_strerror(samp_status(chain, NULL)));
        exit(1);
    }
    return chain;
}

/* What the definition selects, or its status. */
static samp_token by_steps(samp_sampler *chain, size_t n)
{
    samp_token_data_array cur = { array, n, -1, false };
    for (size_t i = 0; i < n; i++) array[i].id = (samp_token)i, array[i].logit = row[i] + 0.0f, array[i].p = 0.0f;
    int status = samp_apply(chain, &cur);
    if (status) return status;
    samp_token token = array[cur.selected].id;
    samp_accept(chain, token);
    return token;
}

/* The row in another dtype, a quarter of it masked: in 16 bits whatever the bits mean, but for the exponent's lowest
   values up to 16 (f16) or 2 (bf16). */
static void sample_batch(samp_sampler *chain, size_t n)
{
    static const samp_dtype dtypes[4] = { SAMP_F32, SAMP_F16, SAMP_BF16, SAMP_F64 };
    samp_logprob top[2][5];
    samp_logprobs probs;
    samp_logits logits;
    samp_token token = 0;
    memset(&probs, 0, sizeof probs), memset(&logits, 0, sizeof logits);
    probs.raw.top_logprobs = top[0], probs.processed.top_logprobs = top[1];
    probs.raw.n_top = probs.processed.n_top = 5;
    logits.dtype = dtypes[below(4)];
    for (size_t i = 0; i < n; i++)
        if (logits.dtype == SAMP_F64)
            data.f64[i] = (double)row[i] + (double)below(1000) * 1e-9;
        else if (logits.dtype != SAMP_F32)
            data.half[i] = (uint16_t)(below(0x8000) % (logits.dtype == SAMP_F16 ? 0x4C00 : 0x4080) | (i % 2) << 15);
    memset(mask, 0, sizeof mask);
    for (size_t i = 0; i < n; i++) mask[i / 32] |= (uint32_t)(below(4) > 0 || i == n / 2) << (i % 32);
    if (row[n / 2] == -INFINITY)
        row[n / 2] = 1.0f, data.f64[n / 2] = logits.dtype == SAMP_F64 ? 1.0 : data.f64[n / 2];
    logits.data = logits.dtype == SAMP_F32 ? (const void *)row : (const void *)&data;
    logits.n_rows = 1, logits.n_vocab = n, logits.mask = mask, logits.logprobs = &probs;
    mix((uint64_t)samp_sample_batch(&chain, &logits, &token));
    mix((uint64_t)token);
    mix_float(probs.raw.chosen.logprob), mix((uint64_t)probs.raw.chosen.rank);
    mix_float(probs.processed.chosen.logprob), mix((uint64_t)probs.processed.chosen.rank);
    for (int32_t i = 0; i < probs.raw.n_top_found; i++) mix((uint64_t)top[0][i].token), mix_float(top[0][i].logprob);
    for (int32_t i = 0; i < probs.processed.n_top_found; i++)
        mix((uint64_t)top[1][i].token), mix_float(top[1][i].logprob);
}

static void mix_state(const samp_sampler *chain)
{
    static unsigned char bytes[MAX_STATE];
    size_t size = samp_state_size(chain);
    mix(size);
    if (size > MAX_STATE || samp_state_save(chain, bytes, size)) return;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
}

/* How many tokens differ between samp_sample and the definition. */
static int run_chain(void)
{
    size_t n = below(4) == 0 ? 1 + below(80) : below(8) ? 100 + below(5000) : 20000 + below(MAX_N - 20000);
    samp_sampler *chain = random_chain(n);
    samp_sampler *steps = samp_clone(chain);
    int different = 0;
    for (int i = 0; i < N_TOKENS; i++) {
        fill_row(n);
        samp_token token = samp_sample(chain, row, n);
        samp_token defined = by_steps(steps, n);
        different += token != defined;
        mix((uint64_t)(int64_t)token), mix((uint64_t)(int64_t)defined);
    }
    sample_batch(chain, n);
    mix_state(chain);
    samp_free(chain);
    samp_free(steps);
    return different;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rows that are none: each way into the library has to say so. By bits, which no compiler knows to be a NaN. */
static void bad_rows(void)
{
    static const uint32_t bad[3] = { 0x7FC00000u, 0x7F800000u, 0xFFC00001u };
    const size_t n = 700;
    samp_sampler *chain = samp_chain_init();
    if (samp_chain_add(chain, samp_init_top_p(0.9f, 0)) || samp_chain_add(chain, samp_init_dist(1))) exit(1);
    for (size_t i = 0; i < 40; i++) {
        samp_logits logits;
        samp_token token = 0;
        fill_row(n);
        if (i % 4 == 3)
            for (size_t k = 0; k < n; k++) row[k] = -INFINITY;
        else
            row[i * 18 % n] = from_bits(bad[i % 4]);
        mix((uint64_t)(int64_t)samp_sample(chain, row, n)), mix((uint64_t)(int64_t)by_steps(chain, n));
        for (size_t k = 0; k < n; k++) data.half[k] = (uint16_t)(k % 2000);
        data.half[i * 18 % n] = i % 2 ? 0x7E00 : 0xFC01;
        memset(&logits, 0, sizeof logits);
        logits.data = data.half, logits.dtype = SAMP_F16, logits.n_rows = 1, logits.n_vocab = n;
        mix((uint64_t)samp_sample_batch(&chain, &logits, &token)), mix((uint64_t)(int64_t)token);
    }
    samp_free(chain);
    printf("bad rows            %016" PRIx64 "\n", hash);
}

static void operator_of(samp_dtype dtype, const void *probs, size_t n)
{
    static uint64_t work[(MAX_N + 60000) / 2];
    int status = SAMP_OK;
    samp_random_sample *op = samp_random_sample_init(SAMP_I32, dtype, n, &status);
    if (!op || samp_random_sample_workspace_size(op) > sizeof work) exit(1);
    for (int i = 0; i < 8; i++) {
        float random = unit(), topp = unit(), temperature = 2.0f * unit();
        int32_t index = -1, topk = 1 + (int32_t)below((uint32_t)n);
        mix((uint64_t)samp_random_sample_run(op, work, sizeof work, &index, probs, random, topp, topk, temperature));
        mix((uint64_t)index);
    }
    samp_random_sample_free(op);
}

static void the_operator(void)
{
    for (size_t n = 5; n < 5000; n = 7 * n + 1) {
        fill_row(n);
        operator_of(SAMP_F32, row, n);
        for (size_t i = 0; i < n; i++) data.f64[i] = (double)row[i] + (double)below(1000) * 1e-9;
        operator_of(SAMP_F64, &data, n);
        for (size_t i = 0; i < n; i++) data.half[i] = (uint16_t)below(0x4C00);
        operator_of(SAMP_F16, &data, n);
    }
    printf("operator            %016" PRIx64 "\n", hash);
}

/* A sequence's bytes, and those of a cache of the other layout into which they were loaded. */
static void the_cache(void)
{
    static unsigned char bytes[4096];
    static const uint32_t embd[2] = { 6, 10 };
    samp_kv *kv[2];
    for (int k = 0; k < 2; k++) {
        samp_kv_params params;
        memset(&params, 0, sizeof params);
        params.n_cells = 24, params.n_layer = 2, params.n_embd_k = params.n_embd_v = embd;
        params.type_k = SAMP_F16, params.type_v = SAMP_F32, params.v_trans = k == 1;
        kv[k] = samp_kv_init(&params, NULL);
        if (!kv[k]) exit(1);
    }
    int32_t pos[7] = { 3, 4, 5, 9, 10, 11, 12 };
    uint64_t seq[7] = { 2, 2, 2, 3, 2, 1, 2 };
    samp_kv_batch batch = { 7, pos, seq };
    int status = samp_kv_find_slot(kv[0], &batch, SAMP_KV_RUN, NULL);
    for (uint32_t cell = 0; cell < 7; cell++)
        for (uint32_t layer = 0; layer < 2; layer++) {
            float x[10];
            for (int i = 0; i < 10; i++) x[i] = between(-8, 8);
            status |= samp_kv_put(kv[0], layer, cell, x, x);
        }
    status |= samp_kv_seq_add(kv[0], 1, 5, 10, 2);
    for (int k = 0; k < 2; k++) {
        size_t size = samp_kv_state_size(kv[k], 1);
        if (size > sizeof bytes) exit(1);
        status |= samp_kv_state_save(kv[k], 1, bytes, size);
        mix((uint64_t)size);
        for (size_t i = 0; i < size; i++) mix(bytes[i]);
        if (k == 0) status |= samp_kv_state_load(kv[1], 1, bytes, size);
        float x[10] = { 0 };
        status |= samp_kv_get(kv[k], 1, 0, x, NULL);
        for (int i = 0; i < 10; i++) mix_float(x[i]);
    }
    if (status) fprintf(stderr, "digest: the cache: %s\n", samp_strerror(status)), exit(1);
    for (int k = 0; k < 2; k++) samp_kv_free(kv[k]);
    printf("cache               %016" PRIx64 "\n", hash);
}

/* The library as it was compiled would not give the right tokens, and knows it: then it gives none. */
static int refused(void)
{
    const size_t n = 9;
    samp_sampler *dist = samp_init_dist(1);
    samp_token_data_array cur = { array, n, -1, false };
    fill_row(n);
    for (size_t i = 0; i < n; i++) array[i].id = (samp_token)i, array[i].logit = row[i];
    int all = samp_sample(dist, row, n) == SAMP_E_UNSUPPORTED && samp_apply(dist, &cur) == SAMP_E_UNSUPPORTED;
    samp_free(dist);
    printf("refused\n");
    return all ? 3 : 1;
}

int main(int argc, char **argv)
{
    int different = 0, lines = argc > 2 ? atoi(argv[2]) : N_LINES;
    if (strcmp(samp_isa_name(), "none") == 0) return refused();
    if (argc > 1 && samp_isa_force(argv[1])) {
        fprintf(stderr, "digest: no such instruction set here: %s\n", argv[1]);
        return 2;
    }
    if (argc > 1 && strcmp(samp_isa_name(), argv[1]) != 0) return 1;
    fprintf(stderr, "digest: %s\n", samp_isa_name());
    hash = 0xcbf29ce484222325u;
    bad_rows();
    the_operator();
    the_cache();
    for (int line = 0; line < lines; line++) {
        hash = 0xcbf29ce484222325u;
        for (int i = 0; i < N_CHAINS / N_LINES; i++) {
            state = (uint64_t)(line * N_CHAINS + i) << 20;
            different += run_chain();
        }
        printf("chains %3d .. %3d  %016" PRIx64 "\n", line * N_CHAINS / N_LINES, (line + 1) * N_CHAINS / N_LINES - 1,
               hash);
    }
    if (different) printf("%d tokens of samp_sample are not those of samp_apply\n", different);
    return different != 0;
}
