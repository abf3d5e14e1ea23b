/* bench_search.c -- what a step of beam search costs a row, beside drawing from the same row.
 *
 *     make bench      prints it at its end;   ./build/bench_search ROUNDS     other than 200 rounds
 *
 * By turns, on one thread, in microseconds a row, the median: top_k (keep the k best and draw, with the k of the search),
 * top_k with log-probabilities (a sum over the whole row, as beams need it), dist alone (a draw from the whole row), a step of
 * a search without chains, one with penalties for each beam, and one with sampled beams. */
#define SAMPLING_SEARCH
#include "bench/bench.h"

enum { MOST_BEAMS = 16, N_WAYS = 6, STEPS = 64 };
static const char *const ways[N_WAYS] = { "top_k", "+ logprobs", "dist", "beams", "+ penalties", "sampled" };

typedef struct setting {
    samp_logits logits;
    int32_t n_beams;
    samp_sampler *drawing[2][MOST_BEAMS], *chains[MOST_BEAMS];
    samp_beams *beams[3];
    int32_t steps[3];
} setting;

static samp_beams *begin(const setting *s, bool sampled)
{
    const samp_beam_params params = { s->n_beams, 0, STEPS, 1.0f, 0.0f, SAMP_EARLY_EXACT, NULL, 0, 1, sampled };
    samp_beams *beams = samp_beams_init(&params, NULL);
    if (!beams) bench_fail("no search", "samp_beams_init");
    return beams;
}

static void step(setting *s, int i)
{
    samp_token tokens[MOST_BEAMS];
    int32_t parents[MOST_BEAMS];
    const int n = samp_beams_step(s->beams[i], i == 1 ? s->chains : NULL, &s->logits, tokens, parents);
    if (n < 0) bench_fail("a step failed", samp_strerror(n));
    s->steps[i]++;
}

/* Before a timed step: a search that has all its beams. */
static void ready(setting *s, int i)
{
    if (s->steps[i] % (STEPS - 1)) return;
    samp_beams_free(s->beams[i]);
    s->beams[i] = begin(s, i == 2);
    s->logits.n_rows = 1;
    step(s, i);
    s->logits.n_rows = (size_t)s->n_beams;
    s->steps[i] = 1;
}

static double timed(setting *s, int way)
{
    static samp_logprobs lp[MOST_BEAMS];
    samp_token out[MOST_BEAMS];
    if (way >= 3) ready(s, way - 3);
    s->logits.logprobs = way == 1 ? lp : NULL;
    const double start = bench_cpu();
    if (way < 3)
        samp_sample_batch(s->drawing[way == 2], &s->logits, out);
    else
        step(s, way - 3);
    return (bench_cpu() - start) / s->n_beams;
}

static void measure(const bench_rows *rows, samp_dtype dtype, int32_t n_beams, int rounds)
{
    static bench_series us[N_WAYS];
    setting s;
    const size_t n = rows->n;
    uint16_t *brain = (uint16_t *)bench_alloc((size_t)n_beams * n * sizeof *brain);
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < (size_t)n_beams * n; i++) brain[i] = brain_of(bench_row(rows, (int)(i / n))[i % n]);
    s.n_beams = n_beams;
    s.logits.data = dtype == SAMP_F32 ? (const void *)rows->data : brain;
    s.logits.stride = dtype == SAMP_F32 ? rows->stride : n;
    s.logits.dtype = dtype;
    s.logits.n_rows = (size_t)n_beams;
    s.logits.n_vocab = n;
    s.logits.n_threads = 1;
    for (int32_t r = 0; r < n_beams; r++) {
        s.drawing[0][r] = samp_chain_init();
        samp_chain_add(s.drawing[0][r], samp_init_top_k(n_beams));
        samp_chain_add(s.drawing[0][r], samp_init_dist((uint64_t)r));
        s.drawing[1][r] = samp_init_dist((uint64_t)r);
        s.chains[r] = samp_chain_init();
        samp_chain_add(s.chains[r], samp_init_penalties(64, 1.1f, 0.1f, 0.0f));
    }
    for (int i = 0; i < rounds; i++)
        for (int w = 0; w < N_WAYS; w++) bench_put(&us[w], timed(&s, w));
    printf("%8zu %5s %6d", n, dtype == SAMP_F32 ? "f32" : "bf16", n_beams);
    for (int w = 0; w < N_WAYS; w++) {
        printf(" %12.2f", bench_median(&us[w]));
        us[w].n = 0;
    }
    printf("\n");
    for (int32_t r = 0; r < n_beams; r++) {
        samp_free(s.drawing[0][r]);
        samp_free(s.drawing[1][r]);
        samp_free(s.chains[r]);
    }
    for (int i = 0; i < 3; i++) samp_beams_free(s.beams[i]);
    free(brain);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = { 32000, 128256 };
    const int rounds = argc > 1 ? bench_number(argv[1], "ROUNDS", 1, BENCH_MAX_ROUNDS) : 200;
    printf("a step of beam search: us a row, %s\n%8s %5s %6s", samp_isa_name(), "vocab", "", "beams");
    for (int w = 0; w < N_WAYS; w++) printf(" %12s", ways[w]);
    printf("\n");
    for (int i = 0; i < 2; i++) {
        const bench_rows rows = bench_make_rows(PEAKED, sizes[i], MOST_BEAMS, NULL);
        for (int32_t n_beams = 4; n_beams <= MOST_BEAMS; n_beams *= 4) {
            measure(&rows, SAMP_F32, n_beams, rounds);
            measure(&rows, SAMP_BF16, n_beams, rounds);
        }
        free(rows.data);
    }
    return 0;
}
