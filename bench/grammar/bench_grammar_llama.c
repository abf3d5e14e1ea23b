/* bench_grammar_llama.c - llama.cpp's row of the table that bench_grammar.c begins.
 *
 *     bench_grammar_llama LIBRARY GGUF SCRIPT       LIBRARY: libllama (tests/ship/llama/fetch.sh); GGUF: bench/llama/gguf.c wide
 *
 * A mask is llama_sampler_apply of llama_sampler_init_grammar's sampler on an array of all tokens, which is filled
 * before the time is taken. SCRIPT is bench_grammar's. How many masks do not allow as many tokens as it says is told:
 * llama.cpp takes some bytes that are not UTF-8 (tests/ship/parity/grammar.c). Exit 1 if a token of the script is not
 * allowed, 77 if the library can't be used. */
#include "tests/support/json_gbnf.h"
#include "tests/ship/parity/grammar_peer.h"
#include "bench/bench.h"

enum { MAX_MASKS = 1 << 14 };
static double cost[MAX_MASKS];

/* Of the masks so far: how many do not allow as many tokens as the script says, and how far off they are at most. */
static int n_different;
static long most_different;

/* One mask; what it costs, or -1 if it does not allow the token that follows. `counts`: the tokens that have a text. */
static double mask(peer_sampler *s, peer_data *data, const bool *counts, int32_t n_vocab, int32_t token, long want)
{
    peer_array cur = { data, (size_t)n_vocab, -1, false };
    for (int32_t i = 0; i < n_vocab; i++) data[i] = (peer_data){ i, 0.0f, 0.0f };
    double start = bench_cpu();
    peer.apply(s, &cur);
    double us = bench_cpu() - start;
    long more = -want;
    for (int32_t i = 0; i < n_vocab; i++) more += counts[i] && data[i].logit == 0.0f;
    n_different += more != 0;
    if (labs(more) > most_different) most_different = labs(more);
    return token >= 0 && data[token].logit != 0.0f ? -1.0 : us;
}

/* All masks of the script into cost[]: how many, or -1. */
static int play(FILE *script, const void *vocab, double *init_us)
{
    int32_t n_vocab = peer.n_tokens(vocab), token;
    peer_data *data = (peer_data *)malloc((size_t)n_vocab * sizeof *data);
    bool *counts = (bool *)malloc((size_t)n_vocab);
    int n = 0;
    if (!data || !counts) return -1;
    for (int32_t i = 0; i < n_vocab; i++) {
        char text[256];
        counts[i] = peer.piece(vocab, i, text, sizeof text, 0, false) > 0; /* of special tokens it tells none */
    }
    double start = bench_cpu();
    peer_sampler *s = peer.init_grammar(vocab, JSON_GBNF, "root");
    *init_us = bench_cpu() - start;
    for (long want; s && n >= 0 && n < MAX_MASKS && fscanf(script, "%d %ld", &token, &want) == 2;) {
        cost[n] = mask(s, data, counts, n_vocab, token, want);
        n = cost[n] < 0.0 ? -1 : n + 1;
        if (n >= 0 && token >= 0) {
            peer.accept(s, token);
        } else {
            peer.free(s);
            s = peer.init_grammar(vocab, JSON_GBNF, "root");
        }
    }
    if (s) peer.free(s);
    free(data);
    free(counts);
    return s ? n : -1;
}

int main(int argc, char **argv)
{
    FILE *script = argc == 4 ? fopen(argv[3], "r") : NULL;
    if (!script) return 2;
    if (!load_peer(argv[1])) return 77;
    const void *vocab = peer_load_vocab(argv[2]);
    double init_us, sum = 0.0;
    if (!vocab) return 77;
    int n = play(script, vocab, &init_us);
    if (n < 1) return 1;
    for (int i = 0; i < n; i++) sum += cost[i];
    qsort(cost, (size_t)n, sizeof *cost, bench_compare);
    printf("%-44s %9.1f %9.1f %9.1f %9.2f\n", "llama.cpp, the same grammar", sum / n, cost[n / 2],
           cost[(int)(0.99 * n)], init_us / 1e3);
    printf("%-44s %d masks allow more tokens or fewer, by at most %ld\n", "", n_different, most_different);
    return 0;
}
