/* bench_reports.c -- what it costs that a draw reports of itself.
 *
 *     make bench      prints it at its end;   ./build/bench_reports ROUNDS     other than 200 rounds
 *
 * By turns, on one thread, in microseconds a token, the median: a draw that reports nothing; with the log-probability of the
 * token and both entropies (sums over the whole row); with the 20 most likely tokens; with 16 given tokens; with the
 * support; and with all of these. samp_score and samp_explain stand beside them. */
#include "bench/bench.h"

enum { N_WAYS = 8, N_TOP = 20, N_GIVEN = 16, ROWS = 8 };
static const char *const ways[N_WAYS] = { "nothing", "logprob", "+ 20 top", "+ 16 ids", "+ support", "all", "score", "explain" };

static double timed(samp_sampler *chain, const float *row, size_t n, int way)
{
    static samp_logprob top[2][N_TOP];
    static samp_token given[N_GIVEN], tokens[SAMP_MAX_VOCAB];
    static float found[2][N_GIVEN], logprobs[SAMP_MAX_VOCAB];
    samp_support support = { tokens, logprobs, n, 0, 0.0 };
    samp_logprobs told;
    samp_logits logits;
    samp_token token;
    memset(&told, 0, sizeof told);
    memset(&logits, 0, sizeof logits);
    for (int i = 0; i < N_GIVEN; i++) given[i] = (samp_token)((size_t)i * n / N_GIVEN);
    for (int k = 0; k < 2; k++) {
        samp_logprob_set *set = k ? &told.processed : &told.raw;
        if (way == 2 || way == 5) set->top_logprobs = top[k], set->n_top = N_TOP;
        if (way == 3 || way == 5) set->ids = given, set->n_ids = N_GIVEN, set->id_logprobs = found[k];
    }
    if (way == 4 || way == 5) told.support = &support;
    logits.data = row;
    logits.n_rows = 1;
    logits.n_vocab = logits.stride = n;
    logits.dtype = SAMP_F32;
    logits.n_threads = 1;
    logits.logprobs = way ? &told : NULL;
    samp_score_result score;
    samp_explained lines[8];
    const double start = bench_cpu();
    const int64_t status = way == 6   ? samp_score(chain, row, n, 7, &score)
                           : way == 7 ? samp_explain(chain, row, n, 7, lines, 8)
                                      : samp_sample_batch(&chain, &logits, &token);
    if (status < 0) bench_fail(ways[way], samp_strerror((int)status));
    return bench_cpu() - start;
}

static void measure(const char *name, samp_sampler *before, const bench_rows *rows, int rounds)
{
    static bench_series us[N_WAYS];
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, before);
    samp_chain_add(chain, samp_init_dist(1));
    for (int i = 0; i < rounds; i++)
        for (int w = 0; w < N_WAYS; w++) bench_put(&us[w], timed(chain, bench_row(rows, i % ROWS), rows->n, w));
    printf("%8zu %-10s", rows->n, name);
    for (int w = 0; w < N_WAYS; w++) {
        printf(" %9.2f", bench_median(&us[w]));
        us[w].n = 0;
    }
    printf("\n");
    samp_free(chain);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = { 32000, 128256 };
    const int rounds = argc > 1 ? bench_number(argv[1], "ROUNDS", 1, BENCH_MAX_ROUNDS) : 200;
    printf("what a draw reports: us a token, %s\n%8s %-10s", samp_isa_name(), "vocab", "");
    for (int w = 0; w < N_WAYS; w++) printf(" %9s", ways[w]);
    printf("\n");
    for (int i = 0; i < 2; i++) {
        const bench_rows rows = bench_make_rows(PEAKED, sizes[i], ROWS, NULL);
        measure("top_k 40", samp_init_top_k(40), &rows, rounds);
        measure("top_p 0.95", samp_init_top_p(0.95f, 1), &rows, rounds);
        measure("temp 0.8", samp_init_temp(0.8f), &rows, rounds);
        free(rows.data);
    }
    return 0;
}
