/* test_decode.c - a real decoder on the cache: its logits do not depend on where in the cache tokens are, how they came
   there, or how keys and values are stored. Run from the repository's root. */
#define SAMPLING_KV
#include "sampling.h"
#include "bench/demo/tales_model.h"
#include "tests/support/test.h"

#define TEXT "The old king said that he would give half of his kingdom to the man who could bring back his daughter"

enum { N = 16, N_MAX = 64 }; /* tokens in front of the fork, and in all */

static tales_model model;
static int32_t ids[N_MAX];
static int n_ids;

static int setup(void **state)
{
    (void)state;
    const char *error = tales_load(&model, "bench/data/tales.bin");
    if (error) {
        print_error("bench/data/tales.bin: %s: run from the repository's root\n", error);
        return -1;
    }
    n_ids = tales_tokenise(&model, TEXT, ids, N_MAX);
    return n_ids > N + 4 && model.n_vocab <= 2048 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tales_free(&model);
    return 0;
}

/* a way to store keys and values */
typedef struct storage {
    samp_dtype type;
    bool v_trans;
    double shifted; /* how much a shift may change the logits, relative to the largest */
} storage;

/* A shift rounds the keys of an f16 cache once more, in another direction than a fresh one did: it is as far from that
   as both are from f32 (3e-4 here). */
static const storage ways[] = {
    { SAMP_F32, false, 1e-5 }, { SAMP_F32, true, 1e-5 }, { SAMP_F16, false, 1e-3 }, { SAMP_F16, true, 1e-3 }
};

static samp_kv *cache(const storage *way, int n_cells)
{
    samp_kv *kv = tales_cache(&model, n_cells, 8, way->type, way->v_trans);
    assert_non_null(kv);
    return kv;
}

/* Reads ids [from, to) as sequence seq, at positions from pos on; the logits behind the last, [n_vocab]. */
static const float *feed(samp_kv *kv, int seq, int from, int to, int pos)
{
    static float logits[2048];
    int32_t at[N_MAX];
    uint64_t set[N_MAX];
    samp_kv_batch batch = { (uint32_t)(to - from), at, set };
    for (int i = 0; i < to - from; i++) {
        at[i] = pos + i;
        set[i] = (uint64_t)1 << seq;
    }
    assert_ok(tales_decode(&model, kv, ids + from, &batch, 1, logits));
    return logits;
}

/* Reads the same token by token. */
static const float *feed_singly(samp_kv *kv, int seq, int from, int to, int pos)
{
    const float *logits = NULL;
    for (int i = from; i < to; i++) logits = feed(kv, seq, i, i + 1, pos + i - from);
    return logits;
}

/* the logits of the whole text in a fresh cache, made once */
static const float *fresh(const storage *way)
{
    static float logits[TEST_COUNT(ways)][2048];
    static bool made[TEST_COUNT(ways)];
    size_t i = (size_t)(way - ways);
    if (!made[i]) {
        samp_kv *kv = cache(way, 256);
        memcpy(logits[i], feed(kv, 0, 0, n_ids, 0), sizeof logits[i]);
        samp_kv_free(kv);
        made[i] = true;
    }
    return logits[i];
}

/* largest difference, relative to the largest logit */
static double off_by(const float *got, const float *want)
{
    double largest = 0, off = 0;
    for (int i = 0; i < model.n_vocab; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        off = fmax(off, isfinite(got[i]) ? fabs((double)got[i] - (double)want[i]) : INFINITY);
    }
    return off / largest;
}

static void check_within(const char *what, const storage *way, const float *got, double tolerance)
{
    float have[2048]; /* got is feed's, and fresh may feed too */
    memcpy(have, got, sizeof have);
    double off = off_by(have, fresh(way));
    print_message("             %-24s %s%s: off by %.1e\n", what, way->type == SAMP_F16 ? "f16" : "f32",
                  way->v_trans ? ", transposed" : "", off);
    if (!(off <= tolerance)) test_fail(__FILE__, __LINE__, "%s: %g, more than %g", what, off, tolerance);
}

/* To the bit: attention goes by position. */
static void check(const char *what, const storage *way, const float *got) { check_within(what, way, got, 0.0); }

#define EACH_WAY(way) for (const storage *way = ways; way < ways + TEST_COUNT(ways); way++)

/* Rounded keys and values change logits a little, transposing them does not change them at all. */
TEST(test_storage)
{
    const float *one = NULL;
    float row[2048];
    for (int i = 0; i < n_ids; i++) one = tales_eval(&model, ids[i], i);
    memcpy(row, one, sizeof row);
    assert_memory_equal(row, fresh(&ways[0]), sizeof row); /* in one batch or token by token */
    assert_memory_equal(row, fresh(&ways[1]), sizeof row);
    memcpy(row, fresh(&ways[2]), sizeof row);
    assert_memory_equal(row, fresh(&ways[3]), sizeof row);
    double off = off_by(row, fresh(&ways[0]));
    assert_true(off > 0 && off < 1e-2);
}

/* Cells between those of other sequences, in holes, and wherever there is room. */
static samp_kv *fragmented(const storage *way, const float **logits)
{
    samp_kv *kv = cache(way, 64);
    for (int i = 0; i < N; i++) {
        feed(kv, 0, i, i + 1, i);
        feed(kv, 1 + i % 3, N - i, N - i + 1, i); /* behind it, and other tokens */
    }
    assert_ok(samp_kv_seq_rm(kv, 2, -1, -1));
    assert_ok(samp_kv_seq_rm(kv, 3, 6, -1));
    kv->head = 1;
    *logits = feed(kv, 0, N, n_ids, N);
    return kv;
}

static int jumps(const samp_kv *kv, int seq)
{
    int n = 0, last = -1;
    for (uint32_t i = 0; i < kv->size; i++) {
        if (!(kv->cells[i].seq >> seq & 1)) continue;
        n += kv->cells[i].pos != last + 1 || (i > 0 && !(kv->cells[i - 1].seq >> seq & 1));
        last = kv->cells[i].pos;
    }
    return n;
}

TEST(test_fragmented)
{
    EACH_WAY(way)
    {
        const float *logits;
        own_kv *kv = fragmented(way, &logits);
        check("fragmented", way, logits);
        assert_true(jumps(kv, 0) > 8);
    }
}

TEST(test_defragmented)
{
    EACH_WAY(way)
    {
        const float *logits;
        own_kv *kv = fragmented(way, &logits);
        assert_ok(samp_kv_seq_rm(kv, 0, N + 2, -1));
        assert_ok(samp_kv_seq_rm(kv, 1, -1, -1));
        assert_ok(samp_kv_defrag(kv));
        assert_ok(samp_kv_update(kv));
        for (uint32_t i = 0; i < kv->size; i++) assert_num(kv->cells[i].pos >= 0, i < kv->used);
        check("defragmented", way, feed_singly(kv, 0, N + 2, n_ids, N + 2));
    }
}

/* Forks share the beginning; each goes on alone, and one gives up what it drafted. */
TEST(test_forked)
{
    EACH_WAY(way)
    {
        own_kv *kv = cache(way, 96);
        feed(kv, 0, 0, N, 0);
        assert_ok(samp_kv_seq_cp(kv, 0, 1, -1, -1));
        assert_ok(samp_kv_seq_cp(kv, 0, 2, -1, -1));
        assert_num(kv->used, N);
        feed(kv, 2, 3, 9, N); /* another text */
        feed(kv, 1, 1, 5, N); /* a wrong draft */
        assert_ok(samp_kv_seq_rm(kv, 1, N, -1));
        assert_ok(samp_kv_seq_rm(kv, 0, -1, -1));
        check("forked", way, feed(kv, 1, N, n_ids, N));
    }
}

/* Two sequences in one batch. */
TEST(test_batched)
{
    EACH_WAY(way)
    {
        own_kv *kv = cache(way, 200);
        static float logits[2 * 2048];
        int32_t at[2], token[2];
        uint64_t set[2] = { 1, 2 };
        samp_kv_batch batch = { 2, at, set };
        feed(kv, 1, 5, 9, 0);
        for (int i = 0; i < n_ids; i++) {
            at[0] = i, at[1] = 4 + i;
            token[0] = ids[i], token[1] = ids[n_ids - 1 - i];
            assert_ok(tales_decode(&model, kv, token, &batch, 2, logits));
        }
        check("two in a batch", way, logits);
    }
}

/* Positions count only against each other: a text read at 200 and moved to 0 is a text read at 0. */
TEST(test_shifted)
{
    EACH_WAY(way)
    {
        own_kv *kv = cache(way, 64);
        feed(kv, 0, 0, N, 200);
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, -200));
        check_within("shifted", way, feed(kv, 0, N, n_ids, N), way->shifted);

        samp_kv_clear(kv); /* in three steps, the last two at once */
        feed(kv, 0, 0, N, 128);
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, 50));
        assert_ok(samp_kv_update(kv));
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, -100));
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, -78));
        check_within("shifted there and back", way, feed(kv, 0, N, n_ids, N), way->shifted);
    }
}

TEST(test_saved)
{
    EACH_WAY(way)
    {
        const float *logits;
        storage other = *way;
        other.v_trans = !way->v_trans;
        own_kv *a = fragmented(way, &logits), *b = cache(&other, 40);
        assert_ok(samp_kv_seq_rm(a, 0, N + 1, -1));
        size_t size = samp_kv_state_size(a, 0);
        void *bytes = malloc(size);
        assert_ok(samp_kv_state_save(a, 0, bytes, size));
        feed(b, 2, 0, 3, 0);
        assert_ok(samp_kv_state_load(b, 1, bytes, size));
        check("saved and loaded", way, feed(b, 1, N + 1, n_ids, N + 1));
        free(bytes);
    }
}

TEST(test_bad_calls)
{
    float logits[2048];
    int32_t at = model.n_ctx, token = 5;
    uint64_t set = 1;
    samp_kv_batch batch = { 1, &at, &set };
    own_kv *kv = cache(&ways[0], 4);
    assert_status(tales_decode(&model, kv, &token, &batch, 1, logits), SAMP_E_RANGE);
    at = 0, token = model.n_vocab;
    assert_status(tales_decode(&model, kv, &token, &batch, 1, logits), SAMP_E_RANGE);
    token = 5;
    assert_status(tales_decode(&model, kv, &token, &batch, 2, logits), SAMP_E_RANGE);
    feed(kv, 1, 0, 4, 0);
    assert_status(tales_decode(&model, kv, &token, &batch, 1, logits), SAMP_E_FULL);
    assert_num(kv->used, 4);
}

int main(int argc, char **argv) { return test_main(argc, argv, setup, teardown); }
