/* test_shards.c - logits in slices, one a rank: every rank gets the tokens and the state of one machine, which
   samp_sample_batch defines here (test_batch.c tests that against the steps). The ranks of most tests are of this
   process, and their messages are merged one with another in any order; some are threads behind the two callbacks.

     SAMP_TEST_CASES   random rows (default: 20,000 in full)
     SAMP_TEST_SEED    batch i is made from seed + i: what a failure prints replays that one
     SAMP_TEST_FULL    all of everything, not the part that make test plays
     SAMP_TEST_QUICK   fewer of everything */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define HEAP_HERE
#include "heap.h"
#define SAMPLING_IMPLEMENTATION
#define SAMPLING_SHARDS
#define SAMPLING_GRAMMAR
#include "../sampling.h"
#include "case.h"
#include "test.h"

#include <pthread.h>

enum { MAX_RANKS = 8, MAX_ROWS = 300, MAX_SLICES = MAX_RANKS + 1 };

/* ------------------------------------------------------------------------------------------------ a world
   A batch of whole rows, and the ranks among which its vocabulary is shared out. */

typedef struct world {
    size_t n_vocab, n_rows, n_ranks;
    samp_dtype dtype;
    size_t stride, mask_stride; /* of the whole rows */
    char *data;
    uint32_t *mask;              /* or NULL */
    int32_t *row_index;          /* or NULL */
    samp_sampler *one[MAX_ROWS]; /* the machine that has all */
    samp_token want[MAX_ROWS];
    size_t first[MAX_RANKS], length[MAX_RANKS]; /* by rank, not by place */
    samp_sampler *chain[MAX_RANKS][MAX_ROWS];
    samp_logits slice[MAX_RANKS];
    void *owned[MAX_RANKS][2]; /* the slices' data and masks */
    samp_shard *shard[MAX_RANKS];
    samp_token out[MAX_RANKS][MAX_ROWS];
    int status[MAX_RANKS];
    unsigned rounds;
    size_t bytes; /* of a rank's messages */
} world;

static size_t size_of(samp_dtype dtype) { return dtype == SAMP_F32 ? 4 : dtype == SAMP_F64 ? 8 : 2; }

static void put(samp_dtype dtype, void *data, size_t i, float x)
{
    if (dtype == SAMP_F32) ((float *)data)[i] = x;
    if (dtype == SAMP_F64) ((double *)data)[i] = (double)x;
    if (dtype == SAMP_F16) ((uint16_t *)data)[i] = half_of((double)x);
    if (dtype == SAMP_BF16) ((uint16_t *)data)[i] = brain_of(x);
}

static samp_logits whole(const world *w)
{
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    logits.data = w->data;
    logits.dtype = w->dtype;
    logits.n_rows = w->n_rows;
    logits.n_vocab = w->n_vocab;
    logits.stride = w->stride;
    logits.row_index = w->row_index;
    logits.mask = w->mask;
    logits.mask_stride = w->mask_stride;
    return logits;
}

/* Cut the vocabulary anywhere, or evenly; ranks get the pieces in any order, and some of them nothing. */
static void share_out(world *w, source *s)
{
    size_t cut[MAX_SLICES] = { 0 }, place[MAX_RANKS];
    bool even = percent(s, 30);
    for (size_t i = 1; i < w->n_ranks; i++) cut[i] = even ? w->n_vocab * i / w->n_ranks : below(s, w->n_vocab + 1);
    cut[w->n_ranks] = w->n_vocab;
    for (size_t i = 1; i < w->n_ranks; i++)
        for (size_t k = i; k > 1 && cut[k] < cut[k - 1]; k--) {
            size_t t = cut[k];
            cut[k] = cut[k - 1];
            cut[k - 1] = t;
        }
    for (size_t i = 0; i < w->n_ranks; i++) place[i] = i;
    for (size_t i = w->n_ranks; i > 1; i--) {
        size_t k = below(s, i), t = place[i - 1];
        place[i - 1] = place[k];
        place[k] = t;
    }
    for (size_t i = 0; i < w->n_ranks; i++) {
        w->first[place[i]] = cut[i];
        w->length[place[i]] = cut[i + 1] - cut[i];
    }
}

/* The slice of one rank, in memory of its own that ends where it ends. */
static void make_slice(world *w, size_t rank, source *s)
{
    samp_logits *slice = &w->slice[rank];
    size_t size = size_of(w->dtype), first = w->first[rank], n = w->length[rank], rows = w->n_rows;
    size_t stride = n + (percent(s, 30) ? below(s, 5) : 0), words = (n + 31) / 32, mask_stride = words + below(s, 2);
    for (size_t r = 0; w->row_index && r < w->n_rows; r++)
        if (w->row_index[r] >= (int32_t)rows) rows = (size_t)w->row_index[r] + 1;
    size_t elements = rows ? (rows - 1) * stride + n : 0;
    char *data = (char *)malloc(elements * size + 1);
    uint32_t *mask = w->mask ? (uint32_t *)calloc(w->n_rows * mask_stride + 1, 4) : NULL;
    *slice = whole(w);
    for (size_t r = 0; r < rows; r++)
        memcpy(data + r * stride * size, w->data + (r * w->stride + first) * size, n * size);
    for (size_t r = 0; r < w->n_rows && mask; r++)
        for (size_t i = 0; i < n; i++)
            if (w->mask[r * w->mask_stride + (first + i) / 32] >> (first + i) % 32 & 1)
                mask[r * mask_stride + i / 32] |= 1u << i % 32;
    slice->data = w->owned[rank][0] = data;
    slice->mask = mask;
    w->owned[rank][1] = mask;
    slice->n_vocab = n;
    slice->stride = stride;
    slice->mask_stride = mask ? mask_stride : 0;
    if (n == 0 && percent(s, 50)) slice->data = NULL;
}

static void make_ranks(world *w, source *s)
{
    share_out(w, s);
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        int status;
        w->shard[rank] = samp_shard_init(w->n_vocab, w->first[rank], w->length[rank], (uint32_t)w->n_ranks, &status);
        assert_non_null(w->shard[rank]);
        assert_int_equal(status, SAMP_OK);
        for (size_t r = 0; r < w->n_rows; r++) w->chain[rank][r] = w->one[r] ? samp_clone(w->one[r]) : NULL;
        make_slice(w, rank, s);
    }
}

static void drop_slices(world *w)
{
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        free(w->owned[rank][0]);
        free(w->owned[rank][1]);
        w->owned[rank][0] = w->owned[rank][1] = NULL;
    }
}

static void drop_world(world *w)
{
    drop_slices(w);
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        samp_shard_free(w->shard[rank]);
        for (size_t r = 0; r < w->n_rows; r++) samp_free(w->chain[rank][r]);
    }
    for (size_t r = 0; r < w->n_rows; r++) samp_free(w->one[r]);
    free(w->data);
    free(w->mask);
    free(w->row_index);
}

/* Merge the ranks' messages, in any order and any grouping, and hand each the result. False: they differ in length. */
static bool exchange(world *w, unsigned char *const *bytes, const size_t *n, source *s)
{
    unsigned char *part[MAX_RANKS];
    size_t left = w->n_ranks;
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        if (n[rank] != n[0]) return false;
        part[rank] = (unsigned char *)malloc(n[0]);
        memcpy(part[rank], bytes[rank], n[0]);
    }
    while (left > 1) {
        size_t i = below(s, left), k = below(s, left - 1);
        k += k >= i;
        samp_shard_merge(part[i], part[k], n[0]);
        free(part[k]);
        part[k] = part[--left];
    }
    for (size_t rank = 0; rank < w->n_ranks; rank++) memcpy(bytes[rank], part[0], n[0]);
    free(part[0]);
    return true;
}

/* One batch on all ranks. */
static void sample_on_ranks(world *w, source *s)
{
    unsigned char *bytes[MAX_RANKS];
    size_t n[MAX_RANKS] = { 0 };
    bool more = true;
    w->rounds = 0;
    w->bytes = 0;
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        w->status[rank] = samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]);
        assert_int_equal(w->status[rank], SAMP_OK);
    }
    while (more) {
        more = false;
        for (size_t rank = 0; rank < w->n_ranks; rank++) {
            bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
            more |= bytes[rank] != NULL;
        }
        if (!more) break;
        for (size_t rank = 0; rank < w->n_ranks; rank++) assert_non_null(bytes[rank]);
        assert_true(exchange(w, bytes, n, s));
        w->rounds++;
        w->bytes += n[0];
        for (size_t rank = 0; rank < w->n_ranks; rank++) w->status[rank] = samp_shard_take(w->shard[rank]);
    }
}

/* ------------------------------------------------------------------------------------------ what they must be */

static bool has_custom(const samp_sampler *s)
{
    if (((const sampi_sampler *)s)->kind == SAMPI_CUSTOM && !sampi_is_grammar((const sampi_sampler *)s)) return true;
    for (int32_t i = 0; i < samp_chain_n(s); i++)
        if (has_custom(samp_chain_get(s, i))) return true;
    return false;
}

/* The whole rows on one machine, then on the ranks. Where they can't do it, they must say so. */
static void play_batch(world *w, source *s, const char *what, uint64_t number)
{
    samp_logits logits = whole(w);
    samp_sampler *before[MAX_ROWS];
    for (size_t r = 0; r < w->n_rows; r++) before[r] = w->one[r] ? samp_clone(w->one[r]) : NULL;
    assert_int_equal(samp_sample_batch(w->one, &logits, w->want), SAMP_OK);
    sample_on_ranks(w, s);
    for (size_t r = 0; r < w->n_rows; r++) {
        bool unable = w->one[r] && (has_custom(w->one[r]) || ((const sampi_sampler *)w->one[r])->rng);
        if (!unable || w->out[0][r] != SAMP_E_UNSUPPORTED) continue;
        samp_free(w->one[r]); /* then it has not moved */
        w->one[r] = before[r];
        before[r] = NULL;
        w->want[r] = SAMP_E_UNSUPPORTED;
    }
    for (size_t r = 0; r < w->n_rows; r++)
        for (size_t rank = 0; rank < w->n_ranks; rank++) {
            samp_token got = w->out[rank][r], want = w->want[r];
            const samp_sampler *state = w->one[r];
            if (got == want && w->status[rank] == SAMP_OK && (!state || same_state(state, w->chain[rank][r])))
                continue;
            char text[1500] = "";
            if (state) samp_describe(state, text, sizeof text);
            test_fail(__FILE__, __LINE__,
                      "%s %llu: row %zu of %zu, rank %zu of %zu (%zu tokens from %zu on): %d, on one machine %d; "
                      "n_vocab %zu, dtype %d; %s",
                      what, (unsigned long long)number, r, w->n_rows, rank, w->n_ranks, w->length[rank],
                      w->first[rank], (int)got, (int)want, w->n_vocab, (int)w->dtype, text);
        }
    for (size_t r = 0; r < w->n_rows; r++) samp_free(before[r]);
}

/* ------------------------------------------------------------------------------------------- random batches */

static const size_t RANKS[] = { 1, 2, 3, 5, 8 };

/* Rows of the batch's dtype, masks, and rows of data that are not read. */
static void make_rows(world *w, source *s, float *row)
{
    bool with_mask = percent(s, 25), with_index = percent(s, 25);
    size_t rows = w->n_rows + (with_index ? below(s, 3) : 0);
    w->dtype = percent(s, 70) ? SAMP_F32 : (samp_dtype)below(s, 4);
    w->stride = w->n_vocab + (percent(s, 30) ? below(s, 9) : 0);
    w->mask_stride = (w->n_vocab + 31) / 32;
    w->data = (char *)calloc(rows * w->stride + 1, size_of(w->dtype));
    w->mask = with_mask ? (uint32_t *)calloc(w->n_rows * w->mask_stride, 4) : NULL;
    w->row_index = with_index ? (int32_t *)malloc((w->n_rows + 1) * sizeof *w->row_index) : NULL;
    for (size_t r = 0; r < w->n_rows && with_index; r++) w->row_index[r] = (int32_t)below(s, rows) - percent(s, 1);
    for (size_t r = 0; r < rows; r++) {
        make_row(s, row, w->n_vocab);
        for (size_t i = 0; i < w->n_vocab; i++) put(w->dtype, w->data + r * w->stride * size_of(w->dtype), i, row[i]);
    }
    for (size_t i = 0; with_mask && i < w->n_rows * w->mask_stride; i++)
        w->mask[i] = percent(s, 50) ? 0xFFFFFFFFu : (uint32_t)choose(s, 4);
}

/* Chains that are possible here, most of them. */
static samp_sampler *possible_chain(source *s, size_t n)
{
    samp_sampler *chain = make_chain(s, n);
    if (percent(s, 3)) return chain;
    if (percent(s, 1)) {
        samp_free(chain);
        return NULL;
    }
    while (has_custom(chain)) {
        samp_free(chain);
        chain = make_chain(s, n);
    }
    samp_set_rng(chain, SAMP_RNG_PHILOX);
    return chain;
}

static void one_batch(uint64_t number, size_t *rows_left, size_t longest)
{
    source s = source_seed(test_seed() + number);
    world *w = (world *)calloc(1, sizeof *w);
    float *row;
    w->n_vocab = make_length(&s, longest);
    w->n_ranks = RANKS[below(&s, TEST_COUNT(RANKS))];
    w->n_rows = percent(&s, 30) ? 1 : 1 + below(&s, percent(&s, 80) ? 8 : 64);
    row = (float *)malloc(w->n_vocab * sizeof *row);
    for (size_t r = 0; r < w->n_rows; r++) w->one[r] = possible_chain(&s, w->n_vocab);
    make_rows(w, &s, row);
    make_ranks(w, &s);
    for (int step = percent(&s, 60) ? 1 : 4; step > 0; step--) {
        play_batch(w, &s, "batch", number);
        *rows_left -= w->n_rows < *rows_left ? w->n_rows : *rows_left;
    }
    drop_world(w);
    free(w);
    free(row);
}

static void test_random_batches(void **state)
{
    (void)state;
    size_t left = (size_t)cases(20000, 300);
    real_rows_load(REAL_ROWS_PATH);
    for (uint64_t i = 0; left > 0; i++) one_batch(i, &left, 5000);
}

/* --------------------------------------------------------------------------------------- long rows, and traffic
   Rows of a real vocabulary's length. What a round trip may cost is part of what samp_sample_sharded promises. */

enum { LONG_VOCAB = 32000 };

typedef enum long_row {
    LONG_REAL,
    LONG_NORMAL,
    LONG_ZIPF,
    LONG_FLAT,
    LONG_NEARLY_FLAT,
    LONG_BF16,
    N_LONG_ROWS
} long_row;

static void make_long_row(source *s, float *row, size_t n, long_row kind)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = below(s, REAL_WIDTH);
        if (kind == LONG_REAL) row[i] = real_rows ? real_rows[i % REAL_ROWS][at] : 0.0f;
        if (kind == LONG_NORMAL || kind == LONG_BF16) row[i] = (float)(2.0 * normal_fast(s));
        if (kind == LONG_ZIPF) row[i] = (float)(10.0 - log(1.0 + (double)n * coarse(s)));
        if (kind == LONG_FLAT) row[i] = 1.5f;
        if (kind == LONG_NEARLY_FLAT) row[i] = (float)(1e-4 * normal_fast(s));
        if (kind == LONG_BF16) row[i] = float_from(bits_of(row[i]) & 0xFFFF0000u);
    }
}

/* A chain, and the most rounds and bytes that it may take with any of the rows. */
typedef struct traffic {
    const char *name;
    samp_sampler *(*make)(void);
    unsigned rounds;
    size_t bytes;
} traffic;

static samp_sampler *only_temp(void) { return chain_of(samp_init_temp(0.8f), samp_init_dist(1), NULL); }
static samp_sampler *usual_chain(void)
{
    samp_params p = samp_default_params();
    p.seed = 7;
    return samp_chain_from_params(&p, NULL);
}
static samp_sampler *only_greedy(void) { return samp_init_greedy(); }
static samp_sampler *only_dist(void) { return samp_init_dist(3); }
static samp_sampler *top_k_3000(void)
{
    return chain_of(samp_init_top_k(3000), samp_init_temp(1.3f), samp_init_dist(2));
}
static samp_sampler *top_k_all(void) { return chain_of(samp_init_top_k(LONG_VOCAB - 3), samp_init_dist(2), NULL); }
static samp_sampler *top_p_50(void)
{
    return chain_of(samp_init_top_p(0.5f, 0), samp_init_temp(0.8f), samp_init_dist(4));
}
static samp_sampler *top_p_999(void)
{
    return chain_of(samp_init_top_p(0.999f, 0), samp_init_temp(0.8f), samp_init_dist(4));
}
static samp_sampler *top_p_kept(void) { return chain_of(samp_init_top_p(0.5f, 9000), samp_init_dist(4), NULL); }
static samp_sampler *typical_20(void)
{
    return chain_of(samp_init_typical(0.2f, 0), samp_init_temp(0.8f), samp_init_dist(5));
}
static samp_sampler *typical_95(void) { return chain_of(samp_init_typical(0.95f, 0), samp_init_dist(5), NULL); }
static samp_sampler *min_p_tiny(void)
{
    return chain_of(samp_init_min_p(1e-4f, 0), samp_init_temp(2.0f), samp_init_dist(6));
}
static samp_sampler *min_p_kept(void)
{
    return chain_of(samp_init_min_p(0.1f, 700), samp_init_temp(2.0f), samp_init_dist(6));
}
static samp_sampler *sigma_one(void) { return chain_of(samp_init_top_n_sigma(1.0f), samp_init_dist(7), NULL); }
static samp_sampler *top_a_tiny(void) { return chain_of(samp_init_top_a(1e-3f, 0), samp_init_dist(7), NULL); }
static samp_sampler *xtc_tiny(void) { return chain_of(samp_init_xtc(1.0f, 1e-4f, 0, 8), samp_init_dist(8), NULL); }
static samp_sampler *dynamic(void) { return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_dist(9), NULL); }
static samp_sampler *mirostat_1(void) { return samp_init_mirostat(LONG_VOCAB, 10, 13.0f, 0.1f, 100); }
static samp_sampler *mirostat_2(void) { return samp_init_mirostat_v2(11, 13.0f, 0.1f); }
static samp_sampler *adaptive(void) { return samp_init_adaptive_p(0.5f, 0.9f, 12); }
static samp_sampler *adaptive_typical(void)
{
    return chain_of(samp_init_typical(0.9f, 0), samp_init_xtc(1.0f, 1e-3f, 0, 1), adaptive());
}
static samp_sampler *tail_free(void) { return chain_of(samp_init_tail_free(0.95f, 0), samp_init_dist(13), NULL); }

static const traffic TRAFFIC[] = {
    { "greedy", only_greedy, 2, 1024 },
    { "dist", only_dist, 3, 1024 },
    { "temp", only_temp, 3, 1024 },
    { "default", usual_chain, 2, 1024 },
    { "top_k 3000", top_k_3000, 5, 16384 },
    { "top_k n - 3", top_k_all, 5, 16384 },
    { "top_p 0.5", top_p_50, 5, 16384 },
    { "top_p 0.999", top_p_999, 5, 16384 },
    { "top_p, min_keep", top_p_kept, 5, 16384 },
    { "typical 0.2", typical_20, 6, 16384 },
    { "typical 0.95", typical_95, 6, 16384 },
    { "min_p 1e-4", min_p_tiny, 4, 4096 },
    { "min_p, min_keep", min_p_kept, 7, 16384 },
    { "top_n_sigma", sigma_one, 4, 4096 },
    { "top_a", top_a_tiny, 4, 4096 },
    { "xtc", xtc_tiny, 5, 4096 },
    { "temp_ext", dynamic, 4, 4096 },
    { "mirostat", mirostat_1, 5, 16384 },
    { "mirostat_v2", mirostat_2, 4, 4096 },
    { "adaptive_p", adaptive, 5, 4096 },
    { "typical, xtc, adaptive_p", adaptive_typical, 9, 16384 },
    { "tail_free", tail_free, 20, 9 * LONG_VOCAB },
};

static void one_long_batch(size_t n, const traffic *t, long_row kind, size_t n_ranks, uint64_t number)
{
    source s = source_seed(test_seed() + number);
    world *w = (world *)calloc(1, sizeof *w);
    w->n_vocab = w->stride = n;
    w->n_ranks = n_ranks;
    w->n_rows = 1;
    w->one[0] = t->make();
    w->data = (char *)malloc(n * sizeof(float));
    make_long_row(&s, (float *)(void *)w->data, n, kind);
    make_ranks(w, &s);
    for (int step = 0; step < 2; step++) {
        play_batch(w, &s, t->name, number);
        if (w->rounds > t->rounds || w->bytes > t->bytes)
            test_fail(__FILE__, __LINE__, "%s, row %d, %zu ranks: %u rounds, %zu bytes", t->name, (int)kind, n_ranks,
                      w->rounds, w->bytes);
    }
    drop_world(w);
    free(w);
}

static void test_long_rows(void **state)
{
    (void)state;
    real_rows_load(REAL_ROWS_PATH);
    for (size_t i = 0; i < TEST_COUNT(TRAFFIC); i++)
        for (int kind = 0; kind < N_LONG_ROWS; kind++)
            one_long_batch(LONG_VOCAB, &TRAFFIC[i], (long_row)kind, RANKS[(i + (size_t)kind) % TEST_COUNT(RANKS)], i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_batches),
        cmocka_unit_test(test_long_rows),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
