/* fuzz_shard_merge.c - messages of slices (SAMPLING_SHARDS): a fuzzer's bytes choose a chain, rows and slices, and
   change bytes of one rank's messages. Whatever comes of it: a merge is the same both ways, ranks that take the same
   message go on alike and come to an end, and with no byte changed they get the token of one machine. Bytes that are no
   message at all are merged as they are. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_IMPLEMENTATION
#define SAMPLING_SHARDS
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include "tests/support/case.h"
#include "fuzz.h"

enum { FUZZ_LONGEST = 1000, FUZZ_ROWS = 2, FUZZ_RANKS = 2, FUZZ_TOP = 5 };

/* Both orders of a merge, into a and b. */
static void merge_both_ways(unsigned char *a, unsigned char *b, size_t n)
{
    unsigned char *ab = (unsigned char *)malloc(n + 1);
    MUST(ab);
    memcpy(ab, a, n);
    samp_shard_merge(ab, b, n);
    samp_shard_merge(b, a, n);
    MUST(memcmp(ab, b, n) == 0);
    memcpy(a, b, n);
    free(ab);
}

/* So close together, but for one, that the first buckets have them in one: values are asked for where an end is
   expected. */
static void squeeze(float *row, size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] *= 0.01f;
    row[0] = -1e30f;
}

/* Bytes of any kind, begun as a message is. */
static void fuzz_bytes(source *s)
{
    unsigned char a[400], b[400];
    size_t n = (size_t)below(s, sizeof a + 1);
    for (size_t i = 0; i < n; i++) {
        a[i] = (unsigned char)choose(s, 1);
        b[i] = (unsigned char)(below(s, 4) ? a[i] : choose(s, 1));
    }
    for (int k = 0; k < 2 && n >= 8; k++) {
        sampi_wire_put(k ? a : b, SAMPI_SHARD_MAGIC, 4);
        sampi_wire_put((k ? a : b) + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
    }
    merge_both_ways(a, b, n);
}

/* Up to three places of a message get other values, half of them where its head is. */
static void change(source *s, unsigned char *bytes, size_t n)
{
    for (size_t k = below(s, 4); k > 0; k--) fuzz_overwrite(s, bytes, n, below(s, 2) && n > 256 ? 256 : n, 4);
}

static void fuzz_batch(source *s)
{
    static float row[FUZZ_ROWS][FUZZ_LONGEST];
    samp_sampler *one[FUZZ_ROWS], *chain[FUZZ_RANKS][FUZZ_ROWS];
    samp_token want[FUZZ_ROWS], out[FUZZ_RANKS][FUZZ_ROWS];
    samp_shard *shard[FUZZ_RANKS];
    size_t n_vocab = make_length(s, FUZZ_LONGEST), cut = below(s, n_vocab + 1), n, n_other;
    bool changed = below(s, 4) != 0;
    samp_logits logits[FUZZ_RANKS + 1];
    static samp_logprob top[FUZZ_RANKS + 1][FUZZ_ROWS][2][FUZZ_TOP];
    samp_logprobs told[FUZZ_RANKS + 1][FUZZ_ROWS];
    bool tells = below(s, 3) == 0;
    memset(logits, 0, sizeof logits);
    memset(told, 0, sizeof told);
    for (size_t r = 0; r < FUZZ_ROWS; r++) {
        one[r] = make_chain(s, n_vocab);
        samp_set_rng(one[r], SAMP_RNG_PHILOX);
        make_row(s, row[r], n_vocab);
        if (n_vocab % 4 == 3) squeeze(row[r], n_vocab);
    }
    for (size_t k = 0; k <= FUZZ_RANKS; k++) {
        logits[k].data = row[0] + (k == 1 ? cut : 0);
        logits[k].n_rows = FUZZ_ROWS;
        logits[k].stride = FUZZ_LONGEST;
        if (tells) logits[k].logprobs = told[k];
        for (size_t r = 0; r < FUZZ_ROWS; r++) {
            told[k][r].raw.n_top = (int32_t)r * FUZZ_TOP;
            told[k][r].raw.top_logprobs = top[k][r][0];
            told[k][r].processed.n_top = FUZZ_TOP;
            told[k][r].processed.top_logprobs = top[k][r][1];
        }
        logits[k].n_vocab = k == FUZZ_RANKS ? n_vocab : k ? n_vocab - cut : cut;
    }
    for (size_t k = 0; k < FUZZ_RANKS; k++) {
        shard[k] = samp_shard_init(n_vocab, k ? cut : 0, logits[k].n_vocab, FUZZ_RANKS, NULL);
        for (size_t r = 0; r < FUZZ_ROWS; r++) chain[k][r] = samp_clone(one[r]);
        MUST(shard[k] && samp_shard_begin(shard[k], chain[k], &logits[k], out[k]) == SAMP_OK);
    }
    samp_sample_batch(one, &logits[FUZZ_RANKS], want);
    for (;;) {
        unsigned char *a = (unsigned char *)samp_shard_message(shard[0], &n);
        unsigned char *b = (unsigned char *)samp_shard_message(shard[1], &n_other);
        MUST(!a == !b && n == n_other); /* or one of them would wait for ever */
        if (!a) break;
        if (changed) change(s, b, n);
        merge_both_ways(a, b, n);
        MUST(samp_shard_take(shard[0]) == samp_shard_take(shard[1]));
    }
    for (size_t r = 0; r < FUZZ_ROWS; r++) {
        MUST(out[0][r] == out[1][r]);
        MUST(changed || out[0][r] == want[r] || out[0][r] == SAMP_E_UNSUPPORTED);
        bool same = told[0][r].processed.chosen.rank == told[FUZZ_RANKS][r].processed.chosen.rank &&
                    told[0][r].raw.chosen.rank == told[FUZZ_RANKS][r].raw.chosen.rank;
        MUST(changed || out[0][r] < 0 || same);
        samp_free(one[r]);
    }
    for (size_t k = 0; k < FUZZ_RANKS; k++) {
        samp_shard_free(shard[k]); /* first: what is under way gives the chains back */
        for (size_t r = 0; r < FUZZ_ROWS; r++) samp_free(chain[k][r]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = source_bytes(data, size);
    if (below(&s, 4) == 0)
        fuzz_bytes(&s);
    else
        fuzz_batch(&s);
    return 0;
}
