/* bench_grammar.c - what a mask of a grammar costs.
 *
 *     bench_grammar VOCABULARY           as llama3_vocabulary.mjs writes it
 *
 * Any JSON (llama.cpp's grammar for it), over documents made here at random: each document is split into the longest
 * tokens, and for each token the mask is made, looked at, and the token accepted. All masks count, also the first ones,
 * for which nothing is there yet: every few documents begin with a new matcher. One core. */
#define SAMPLING_STATIC
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "../sampling.h"

#include "../tests/json_gbnf.h"
#include "../tests/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char JSON[] = JSON_GBNF;

enum { MAX_VOCAB = 300000, MAX_MASKS = 100000 };
static const uint8_t *piece[MAX_VOCAB];
static int32_t n_vocab;

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = piece[token][0];
    return (const char *)piece[token] + 1;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- documents ---- */

static char text[1 << 16];
static size_t n_text;

static void say(const char *s)
{
    for (; *s; s++) text[n_text++] = *s;
    text[n_text] = 0;
}

static void say_string(source *rng)
{
    static const char *const word[] = { "name",         "the city of",
                                        "Alice",        "value",
                                        "caf\xc3\xa9",  "an old \\\"friend\\\"",
                                        "2024-11-05",   "id",
                                        "description",  "a longer sentence, with some words in it.",
                                        "path/to/file", "x" };
    say("\"");
    for (size_t n = 1 + below(rng, 3); n > 0; n--) {
        say(word[below(rng, sizeof word / sizeof *word)]);
        if (n > 1) say(" ");
    }
    say("\"");
}

static void say_value(source *rng, int depth);

static void say_list(source *rng, int depth, bool object)
{
    say(object ? "{" : "[");
    for (size_t n = 1 + below(rng, 4); n > 0; n--) {
        if (object) {
            say_string(rng);
            say(": ");
        }
        say_value(rng, depth + 1);
        if (n > 1) say(", ");
    }
    say(object ? "}" : "]");
}

static void say_value(source *rng, int depth)
{
    static const char *const plain[] = { "0", "-12.5", "1e3", "123456", "true", "false", "null", "3.14159" };
    size_t kind = below(rng, 10);
    if (n_text < 400 && depth < 5 && (kind < 4 || depth == 0)) {
        say_list(rng, depth, kind < 3 || depth == 0);
    } else if (kind < 8) {
        say_string(rng);
    } else {
        say(plain[below(rng, sizeof plain / sizeof *plain)]);
    }
}

/* The longest token that the text begins with. */
static samp_token longest(const samp_vocab_index *index, const char *at)
{
    samp_token best = -1;
    for (int trie = 0; trie < 2; trie++) {
        uint32_t root = trie ? index->n_plain : 0, i = root + 1, end = root + (index->nodes[2 * root + 1] >> 10),
                 depth = 1;
        while (i < end && (index->nodes[2 * i + 1] & 1023) == depth) {
            const uint32_t *node = index->nodes + 2 * (size_t)i;
            if ((uint8_t)node[0] == (uint8_t)at[depth - 1]) {
                if (node[0] >> 8 != SAMPI_NO_TOKEN && (best < 0 || piece[best][0] < depth))
                    best = (samp_token)(node[0] >> 8);
                end = i + (node[1] >> 10);
                i++;
                depth++;
            } else {
                i += node[1] >> 10;
            }
        }
    }
    return best;
}

static double cost[MAX_MASKS];
static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

/* A few documents by one matcher; how many masks in all. */
static size_t run_documents(const samp_vocab_index *index, const samp_grammar *grammar, source *rng, size_t n)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    samp_sampler *s = samp_init_grammar(index, grammar);
    for (int document = 0; document < 4; document++) {
        n_text = 0;
        say_value(rng, 0);
        samp_reset(s);
        for (const char *at = text; *at;) {
            samp_token token = longest(index, at);
            double start = now_us();
            int status = samp_grammar_mask(s, bits);
            cost[n++] = now_us() - start;
            if (status || !(bits[token / 32] >> token % 32 & 1) || samp_accept(s, token)) {
                printf("bench_grammar: %s is refused at %s\n", text, at);
                exit(1);
            }
            at += piece[token][0];
        }
    }
    samp_free(s);
    return n;
}

int main(int argc, char **argv)
{
    static uint8_t file[1 << 23];
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = f ? fread(file, 1, sizeof file, f) : 0, n = 0;
    for (size_t at = 0; at < size && n_vocab < MAX_VOCAB; at += 1u + file[at]) piece[n_vocab++] = file + at;
    if (!n_vocab) return 2;
    const samp_token eog[] = { n_vocab - 1 };
    samp_vocab vocab = { n_vocab, piece_bytes, NULL, NULL, eog, 1, n_vocab - 1, -1 };
    double start = now_us();
    samp_vocab_index *index = samp_vocab_index_init(&vocab, NULL);
    double index_ms = (now_us() - start) / 1e3;
    for (int again = 0; again < 5; again++) { /* the best of some: a machine may be busy */
        samp_vocab_index_free(index);
        start = now_us();
        index = samp_vocab_index_init(&vocab, NULL);
        if (now_us() - start < index_ms * 1e3) index_ms = (now_us() - start) / 1e3;
    }
    start = now_us();
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON, NULL, NULL);
    double grammar_ms = (now_us() - start) / 1e3;
    if (!index || !grammar) return 1;
    start = now_us();
    samp_free(samp_init_grammar(index, grammar));
    double matcher_ms = (now_us() - start) / 1e3;
    source rng = source_stream(1);
    while (n < MAX_MASKS / 4) n = run_documents(index, grammar, &rng, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += cost[i];
    qsort(cost, n, sizeof *cost, compare);
    printf("any JSON, %d tokens: index %.1f ms (%zu nodes, %.1f MB), grammar %.2f ms, matcher %.2f ms\n",
           (int)n_vocab, index_ms, (size_t)index->n_nodes, (double)samp_vocab_index_size(index) / 1e6, grammar_ms,
           matcher_ms);
    printf("masks %zu  mean %.1f us  median %.1f  p90 %.1f  p99 %.1f  worst %.1f\n", n, sum / (double)n, cost[n / 2],
           cost[n * 9 / 10], cost[n * 99 / 100], cost[n - 1]);
    samp_grammar_free(grammar);
    samp_vocab_index_free(index);
    return 0;
}
