/* bench_llama.c - what sampling a token costs in a llama.cpp program, by every way in.
 *
 *     bench_llama BINS MODEL [TOKENS]          BINS: the folder of libllama; the model: bench/llama/gguf.c's wide one
 *
 * A line for each chain and way: "case way us checksum". The first two ways are llama.cpp's own, or the stand-in's if that
 * is preloaded; the others are this program's:
 *
 *     array       fill an array of all candidates, llama_sampler_apply, llama_sampler_accept
 *     sample      llama_sampler_sample
 *     seam        samp_llama_sample, llama.cpp's tokens (SAMP_RNG_MT19937)
 *     philox      samp_llama_sample, the default random source
 *     interface   samp_llama_init, through llama_sampler_sample
 *
 * Between two draws the model makes new logits, which is not counted. A time is the median of the draws; it is the time
 * that the thread ran. The checksum is that of the tokens: where it is the same, they are. */
#define SAMPLING_LLAMA
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/ship/llama/llama_c.h"

#include <time.h>

static llama_context *ctx;
static int32_t n_vocab;
static llama_data *data;

static double thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- the chains, theirs and ours ---- */

static const char *const CASES[] = { "greedy", "default", "default_rep", "temp",
                                     "top_p",  "min_p",   "typical",     "mirostat_v2" };
enum { N_CASES = sizeof CASES / sizeof *CASES, SEED = 1 };

static llama_sampler *make_theirs(int c)
{
    llama_sampler *dist = llama_sampler_init_dist(SEED), *temp = llama_sampler_init_temp(0.8f);
    llama_sampler *chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
#define ADD(sampler) llama_sampler_chain_add(chain, sampler)
    if (c == 2) ADD(llama_sampler_init_penalties(n_vocab, 64, 1.1f, 0.0f, 0.0f));
    if (c == 1 || c == 2) ADD(llama_sampler_init_top_k(40));
    if (c == 6) ADD(llama_sampler_init_typical(0.9f, 0));
    if (c == 1 || c == 2 || c == 4) ADD(llama_sampler_init_top_p(0.95f, 0));
    if (c == 1 || c == 2 || c == 5) ADD(llama_sampler_init_min_p(0.05f, 0));
    if (c >= 1 && c <= 5)
        ADD(temp);
    else
        llama_sampler_free(temp);
    if (c == 0)
        ADD(llama_sampler_init_greedy());
    else if (c == 7)
        ADD(llama_sampler_init_mirostat_v2(SEED, 5.0f, 0.1f));
    else
        ADD(dist);
    if (c == 0 || c == 7) llama_sampler_free(dist);
#undef ADD
    return chain;
}

static samp_sampler *make_ours(int c, samp_rng_kind rng)
{
    samp_params p = samp_default_params();
    p.seed = SEED;
    p.rng = rng;
    p.temp = c == 0 ? 0.0f : c >= 6 ? 1.0f : 0.8f;
    p.top_k = c == 1 || c == 2 ? 40 : 0;
    p.top_p = c == 1 || c == 2 || c == 4 ? 0.95f : 1.0f;
    p.min_p = c == 1 || c == 2 || c == 5 ? 0.05f : 0.0f;
    p.typ_p = c == 6 ? 0.9f : 1.0f;
    p.penalty_repeat = c == 2 ? 1.1f : 1.0f;
    p.mirostat = c == 7 ? 2 : 0;
    return samp_chain_from_params(&p, NULL);
}

/* ---- the ways ---- */

static int32_t by_array(llama_sampler *s)
{
    const float *logits = llama_get_logits_ith(ctx, -1);
    for (int32_t i = 0; i < n_vocab; i++) data[i] = (llama_data){ i, logits[i], 0.0f };
    llama_array cur = { data, (size_t)n_vocab, -1, false };
    llama_sampler_apply(s, &cur);
    int32_t token = data[cur.selected].id;
    llama_sampler_accept(s, token);
    return token;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void time_way(int c, const char *way, llama_sampler *s, samp_sampler *chain, int n)
{
    double *us = malloc((size_t)n * sizeof *us);
    uint32_t checksum = 0;
    bool array = !strcmp(way, "array");
    llama_begin(ctx, "The");
    for (int i = -3; i < n; i++) { /* three to warm up */
        double start = thread_us();
        int32_t token = chain   ? samp_llama_sample(chain, (struct llama_context *)ctx, -1)
                        : array ? by_array(s)
                                : llama_sampler_sample(s, ctx, -1);
        double took = thread_us() - start;
        if (i >= 0) us[i] = took;
        checksum = checksum * 31 + (uint32_t)token;
        llama_read(ctx, &token, 1);
    }
    qsort(us, (size_t)n, sizeof *us, compare);
    printf("%s %s %.1f %08x\n", CASES[c], way, us[n / 2], checksum);
    fflush(stdout);
    free(us);
    if (s) llama_sampler_free(s);
    samp_free(chain);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_llama BINS MODEL [TOKENS]\n");
        return 2;
    }
    int n = argc > 3 ? atoi(argv[3]) : 100;
    ctx = llama_open(argv[1], argv[2], 512);
    n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));
    data = malloc((size_t)n_vocab * sizeof *data);
    for (int c = 0; c < N_CASES; c++) {
        time_way(c, "array", make_theirs(c), NULL, n);
        time_way(c, "sample", make_theirs(c), NULL, n);
        time_way(c, "seam", NULL, make_ours(c, SAMP_RNG_MT19937), n);
        time_way(c, "philox", NULL, make_ours(c, SAMP_RNG_PHILOX), n);
        time_way(c, "interface", (llama_sampler *)samp_llama_init(make_ours(c, SAMP_RNG_MT19937)), NULL, n);
    }
    free(data);
    llama_close(ctx);
    return 0;
}
