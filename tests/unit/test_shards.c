/* test_shards.c - logits in slices, one a rank: every rank gets the tokens and the state of one machine, which
   samp_sample_batch defines here (test_batch.c tests that against the steps). The ranks of most tests are of this
   process, and their messages are merged one with another in any order; some are threads behind the two callbacks.

     SAMP_TEST_CASES   random rows (default: 20,000 in full)
     SAMP_TEST_SEED    batch i is made from seed + i: what a failure prints replays that one
     SAMP_TEST_FULL    all of everything, not the part that make test plays
     SAMP_TEST_QUICK   fewer of everything
     SAMP_TEST_TABLE   print how many tokens of long rows took 2, 3, ... rounds, if few or many were left to draw from */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_CONSTRAINTS
#define SAMPLING_GUMBEL
#define SAMPLING_WATERMARK
#define SAMPI_LONG_LIST 5
#define SAMPLING_IMPLEMENTATION
#define SAMPLING_SHARDS
#define SAMPLING_GRAMMAR
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/chain_text.h"
#include "tests/support/test.h"
#include "tests/support/told.h"

#include <pthread.h>

enum { MAX_RANKS = 8, MAX_ROWS = 300, MAX_SLICES = MAX_RANKS + 1, MOST_TOP = 300 };

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
    samp_logprobs *told[MAX_SLICES]; /* or NULL; the last ones are of the machine that has all */
    samp_logprob *top[MAX_SLICES];   /* [n_rows x 2 x MOST_TOP] */
    told *more[MAX_SLICES];          /* [n_rows] given tokens and supports */
    int status[MAX_RANKS];
    unsigned rounds;
    size_t bytes; /* of a rank's messages */
} world;

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
    logits.logprobs = w->told[MAX_RANKS];
    return logits;
}

/* Every row asks for log-probabilities, of which there is room for its own number on every rank. */
static void make_told(world *w, source *s)
{
    for (size_t i = 0; i < MAX_SLICES; i++) {
        w->told[i] = (samp_logprobs *)calloc(w->n_rows + 1, sizeof **w->told);
        w->top[i] = (samp_logprob *)calloc(2 * MOST_TOP * w->n_rows + 1, sizeof **w->top);
        w->more[i] = (told *)calloc(w->n_rows + 1, sizeof **w->more);
    }
    for (size_t r = 0; r < w->n_rows; r++) {
        int32_t n[2];
        const source asks = split(s);
        for (int k = 0; k < 2; k++) n[k] = (int32_t)below(s, percent(s, 20) ? MOST_TOP + 1 : 6);
        for (size_t i = 0; i < MAX_SLICES; i++) {
            samp_logprob *top = w->top[i] + r * 2 * MOST_TOP;
            w->told[i][r].raw.n_top = n[0];
            w->told[i][r].raw.top_logprobs = top;
            w->told[i][r].processed.n_top = n[1];
            w->told[i][r].processed.top_logprobs = top + MOST_TOP;
            told_ask(&w->more[i][r], &w->told[i][r], asks, w->n_vocab);
        }
    }
}

static bool same_logprob(const samp_logprob *a, const samp_logprob *b)
{
    return a->token == b->token && a->rank == b->rank && bits_of(a->logprob) == bits_of(b->logprob);
}

static bool same_told(const samp_logprob_set *a, const samp_logprob_set *b)
{
    bool same = a->n_top_found == b->n_top_found && same_logprob(&a->chosen, &b->chosen);
    same &= memcmp(&a->cumulative_logprob, &b->cumulative_logprob, sizeof a->cumulative_logprob) == 0;
    for (int32_t i = 0; same && i < a->n_top_found; i++)
        same = same_logprob(&a->top_logprobs[i], &b->top_logprobs[i]);
    return same;
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
    size_t size = dtype_size(w->dtype), first = w->first[rank], n = w->length[rank], rows = w->n_rows;
    size_t stride = n + (percent(s, 30) ? below(s, 5) : 0), words = (n + 31) / 32, mask_stride = words + below(s, 2);
    for (size_t r = 0; w->row_index && r < w->n_rows; r++)
        if (w->row_index[r] >= (int32_t)rows) rows = (size_t)w->row_index[r] + 1;
    size_t elements = rows ? (rows - 1) * stride + n : 0;
    char *data = (char *)malloc(elements * size + 1);
    uint32_t *mask = w->mask ? (uint32_t *)calloc(w->n_rows * mask_stride + 1, 4) : NULL;
    *slice = whole(w);
    slice->logprobs = w->told[rank];
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
    for (size_t i = 0; i < MAX_SLICES; i++) {
        free(w->told[i]);
        free(w->top[i]);
        free(w->more[i]);
    }
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
        for (size_t rank = 0; rank < w->n_ranks; rank++) {
            assert_non_null(bytes[rank]); /* and no longer than there is room for */
            assert_true(w->rounds == 0 || n[rank] <= SAMPI_SHARD_HEAD + w->n_rows * sampi_shard_most(w->shard[rank]));
        }
        assert_true(exchange(w, bytes, n, s));
        w->rounds++;
        w->bytes += n[0];
        for (size_t rank = 0; rank < w->n_ranks; rank++) w->status[rank] = samp_shard_take(w->shard[rank]);
    }
}

/* ------------------------------------------------------------------------------------------ what they must be */

/* A sampler that the ranks leave to one machine: of the user's. */
static bool has_foreign(const samp_sampler *s)
{
    if (((const sampi_sampler *)s)->kind == SAMPI_CUSTOM) return true;
    for (int32_t i = 0; i < samp_chain_n(s); i++)
        if (has_foreign(samp_chain_get(s, i))) return true;
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
        bool unable = w->one[r] && (has_foreign(w->one[r]) || ((const sampi_sampler *)w->one[r])->rng);
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
            bool same = got == want && w->status[rank] == SAMP_OK;
            same = same && (!state || same_state(state, w->chain[rank][r]));
            if (same && want >= 0 && w->told[rank]) {
                const samp_logprobs *a = &w->told[rank][r], *b = &w->told[MAX_RANKS][r];
                same = same_told(&a->raw, &b->raw) && same_told(&a->processed, &b->processed) &&
                       told_same(&w->more[rank][r], &w->more[MAX_RANKS][r], a, b);
            }
            if (same) continue;
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
    w->data = (char *)calloc(rows * w->stride + 1, dtype_size(w->dtype));
    w->mask = with_mask ? (uint32_t *)calloc(w->n_rows * w->mask_stride, 4) : NULL;
    w->row_index = with_index ? (int32_t *)malloc((w->n_rows + 1) * sizeof *w->row_index) : NULL;
    for (size_t r = 0; r < w->n_rows && with_index; r++) w->row_index[r] = (int32_t)below(s, rows) - percent(s, 1);
    for (size_t r = 0; r < rows; r++) {
        make_row(s, row, w->n_vocab);
        for (size_t i = 0; i < w->n_vocab; i++)
            dtype_put(w->dtype, w->data + r * w->stride * dtype_size(w->dtype), i, row[i], 0.0);
    }
    for (size_t i = 0; with_mask && i < w->n_rows * w->mask_stride; i++)
        w->mask[i] = percent(s, 50) ? 0xFFFFFFFFu : (uint32_t)choose(s, 4);
}

/* What stands behind a cut that may leave more than is listed, typical's above all: it must be shown all that is left,
   and no more. */
static samp_sampler *behind_cut(source *s, size_t n)
{
    const float share = (float)(0.05 + 0.9 * coarse(s));
    samp_sampler *chain = samp_chain_init();
    if (percent(s, 20)) samp_chain_add(chain, make_kind(s, (int)below(s, N_STAGES), n));
    samp_chain_add(chain, percent(s, 80) ? samp_init_typical(share, make_min_keep(s, n))
                                         : samp_init_top_p(share, make_min_keep(s, n)));
    for (uint64_t more = 1 + below(s, 3); more > 0; more--)
        samp_chain_add(chain, percent(s, 25) ? samp_init_min_p(share, make_min_keep(s, n))
                                             : make_kind(s, (int)below(s, percent(s, 90) ? N_STAGES : N_KINDS), n));
    samp_chain_add(chain, percent(s, 30) ? samp_init_greedy() : make_kind(s, make_selector(s), n));
    return chain;
}

/* Chains that are possible here, most of them. */
static samp_sampler *possible_chain(source *s, size_t n, samp_sampler *(*make)(source *, size_t))
{
    samp_sampler *chain = make(s, n);
    if (percent(s, 3)) return chain;
    if (percent(s, 1)) {
        samp_free(chain);
        return NULL;
    }
    while (has_foreign(chain)) {
        samp_free(chain);
        chain = make(s, n);
    }
    samp_set_rng(chain, SAMP_RNG_PHILOX);
    return chain;
}

static void one_batch(uint64_t number, size_t *rows_left, size_t shortest, size_t longest, size_t most_rows,
                      samp_sampler *(*make)(source *, size_t))
{
    source s = source_seed(test_seed() + number);
    world *w = (world *)calloc(1, sizeof *w);
    float *row;
    w->n_vocab = shortest + make_length(&s, longest - shortest);
    w->n_ranks = RANKS[below(&s, TEST_COUNT(RANKS))];
    w->n_rows = percent(&s, 30) ? 1 : 1 + below(&s, percent(&s, 80) ? 8 : 64);
    if (w->n_rows > most_rows) w->n_rows = most_rows;
    row = (float *)malloc(w->n_vocab * sizeof *row);
    for (size_t r = 0; r < w->n_rows; r++) w->one[r] = possible_chain(&s, w->n_vocab, make);
    make_rows(w, &s, row);
    if (percent(&s, 25)) make_told(w, &s);
    make_ranks(w, &s);
    for (int step = percent(&s, 60) ? 1 : 4; step > 0; step--) {
        play_batch(w, &s, "batch", number);
        *rows_left -= w->n_rows < *rows_left ? w->n_rows : *rows_left;
    }
    drop_world(w);
    free(w);
    free(row);
}

TEST(test_random_batches)
{
    size_t left = (size_t)cases(20000, 300);
    real_rows_load(REAL_ROWS_PATH);
    for (uint64_t i = 0; left > 0; i++) one_batch(i, &left, 0, 5000, 64, make_chain);
}

TEST(test_behind_a_cut)
{
    size_t left = (size_t)cases(40000, quickest() ? 300 : 3000);
    for (uint64_t i = 0; left > 0; i++) one_batch(3000000 + i, &left, 258, 900, 8, behind_cut);
}

/* Rows of which more is left than can be listed. */
TEST(test_random_long_rows)
{
    size_t left = (size_t)cases(2000, 30);
    real_rows_load(REAL_ROWS_PATH);
    for (uint64_t i = 0; left > 0; i++) one_batch(1000000 + i, &left, 8000, 30000, 3, make_chain);
}

/* --------------------------------------------------------------------------------------- long rows, and traffic
   Rows of a real vocabulary's length. What a round trip may cost is part of what samp_sample_sharded promises. */

enum { LONG_VOCAB = 32000 };

typedef enum long_row {
    LONG_REAL,
    LONG_PEAKED,
    LONG_NORMAL,
    LONG_ZIPF,
    LONG_FLAT,
    LONG_NEARLY_FLAT,
    LONG_BF16,
    LONG_MASKED, /* by a number */
    LONG_BROAD,  /* some thousand tokens are about as likely, behind some that are likelier */
    N_LONG_ROWS
} long_row;

static void make_long_row(source *s, float *row, size_t n, long_row kind)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = below(s, REAL_WIDTH);
        if (kind == LONG_REAL) row[i] = real_rows ? real_rows[i % REAL_ROWS][at] : 0.0f;
        if (kind == LONG_PEAKED) row[i] = make_logit(s, ROW_PEAKED, i, n, 0.0, 0.0);
        if (kind == LONG_NORMAL || kind == LONG_BF16) row[i] = (float)(2.0 * normal_fast(s));
        if (kind == LONG_ZIPF) row[i] = (float)(10.0 - log(1.0 + (double)n * coarse(s)));
        if (kind == LONG_FLAT) row[i] = 1.5f;
        if (kind == LONG_NEARLY_FLAT) row[i] = (float)(1e-4 * normal_fast(s));
        if (kind == LONG_MASKED) row[i] = i % 8 ? (float)(2.0 * normal_fast(s)) : -1e30f;
        if (kind == LONG_BROAD) row[i] = (float)(2.7 * normal_fast(s));
        if (kind == LONG_BF16) row[i] = float_from(bits_of(row[i]) & 0xFFFF0000u);
    }
}

/* A chain, and the rounds that it takes at most where few tokens are left to draw from, and where many are (one more if
   no proposal of eight is accepted, once in 10^11 draws). 0: there is no such row. */
typedef struct traffic {
    const char *chain; /* its text */
    unsigned few, many;
    bool is_apart; /* several cuts of many tokens, one behind another: more bytes */
} traffic;

/* A text of chain_text.h, or "default", with temp, top_k, top_p and min_p: the chain of parameters. */
static samp_sampler *chain_from(const char *text)
{
    samp_params p = samp_default_params();
    p.seed = 7;
    if (sscanf(text, "default %f %d %f %f", &p.temp, &p.top_k, &p.top_p, &p.min_p) != 4) return chain_of_text(text);
    return samp_chain_from_params(&p, NULL);
}
#define DEFAULT "default 0.8 40 0.95 0.05"

/* What the rounds are made of. Nothing is known before the first, which tells the maximum. Where that is all a draw
   depends on, the list comes in the second, the sums of slices in the third, and the draw is the fourth: min_p; without a
   cut one less: dist, temp. A cut by a sum of all weights has the sums with the list. The end of a prefix takes one round
   for its values, and mostly one for buckets, or two. */
static const traffic TRAFFIC[] = {
    { "greedy", 0, 2, false },
    { "dist 3", 0, 3, false },
    { "temp 0.8; dist 1", 0, 3, false },
    { DEFAULT, 2, 0, false },
    { "top_k 700; dist 2", 0, 2, false },
    { "top_k 3000; temp 1.3; dist 2", 0, 6, false },
    { "top_k 31997; dist 2", 0, 7, false }, /* into what is masked by a number */
    { "top_p 0.5; temp 0.8; dist 4", 2, 6, false },
    { "top_p 0.999; temp 0.8; dist 4", 0, 6, false },
    { "top_p 0.5 9000; dist 4", 0, 6, false },
    { "top_p 0.95; min_p 0.05; dist 4", 2, 7, false },
    { "typical 0.2; temp 0.8; dist 5", 6, 7, false },
    { "typical 0.5; dist 5", 6, 7, false },
    { "typical 0.95; dist 5", 6, 7, false },
    { "min_p 0.05; temp 0.8; dist 6", 2, 4, false },
    { "min_p 1e-4; temp 2; dist 6", 2, 4, false },
    { "min_p 0.1 700; temp 2; dist 6", 0, 5, false },
    { "top_n_sigma 1; dist 7", 2, 4, false },
    { "top_a 1e-3; dist 7", 2, 4, false },
    { "epsilon 1e-6; dist 7", 0, 4, false },
    { "eta 1e-3 700; dist 7", 0, 5, false },
    { "xtc 1 1e-4 0 8; dist 8", 0, 5, false },
    { "temp_ext 1 0.5 1; dist 9", 0, 4, false },
    { "mirostat 32000 10 13 0.1 100", 0, 4, false },
    { "mirostat_v2 11 13 0.1", 0, 4, false },
    { "adaptive_p 0.5 0.9 12", 0, 4, false },
    { "typical 0.9; xtc 1 1e-3 0 1; adaptive_p 0.5 0.9 12", 7, 8, true }, /* three cuts of many, one behind another */
    { "top_p 0.99; temp_ext 1 0.5 1; dist 7", 2, 7, true }, /* two cuts or sums of many, one behind another, */
    { "top_p 0.99; p_less 0.5; dist 7", 5, 7, true },
    { "top_p 0.99; p_less_norm 0.5; dist 7", 5, 7, true },
    { "typical 0.9; eta 1e-4; dist 7", 6, 8, true },
    { "typical 0.99; top_p 0.99; xtc 1 1e-4 0 8; typical 0.9; adaptive_p 0.5 0.9 12", 7, 16, true },
    { "tail_free 0.95; dist 13", 20, 20, true }, /* needs the order itself of a flat row */
};

enum { FEW = 256, MOST_ROUNDS = 32 };

/* How many tokens took so many rounds: those drawn from few candidates, and the others. */
typedef struct tally {
    unsigned long few[MOST_ROUNDS], many[MOST_ROUNDS];
    size_t few_bytes, many_bytes; /* the most */
} tally;

/* The candidates that a chain leaves of a row. */
static size_t left_of(const samp_sampler *chain, const float *row, size_t n)
{
    samp_token_data *d = (samp_token_data *)malloc(n * sizeof *d);
    samp_token_data_array cur = { d, n, -1, false };
    samp_sampler *copy = samp_clone(chain);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) d[i] = (samp_token_data){ (samp_token)i, row[i], 0.0f };
    assert_int_equal(samp_apply(copy, &cur), SAMP_OK);
    for (size_t i = 0; i < cur.size; i++) left += cur.data[i].logit > -INFINITY;
    samp_free(copy);
    free(d);
    return left;
}

/* One row and chain (NULL: that of t's text), two tokens. */
static void one_long_batch(const traffic *t, samp_sampler *chain, float *row, size_t n, size_t n_ranks, source *s,
                           tally *count)
{
    world *w = (world *)calloc(1, sizeof *w);
    w->n_vocab = w->stride = n;
    w->n_ranks = n_ranks;
    w->n_rows = 1;
    w->one[0] = chain ? chain : chain_from(t->chain);
    w->data = (char *)row;
    make_ranks(w, s);
    for (int step = 0; step < 2; step++) {
        size_t left = left_of(w->one[0], row, n);
        size_t most = strncmp(t->chain, "tail_free", 9) == 0 ? 9 * n
                      : t->is_apart                          ? 65536
                      : left <= FEW && t->few <= 3           ? 4096
                                                             : 32768;
        unsigned usual = left <= FEW ? t->few : t->many;
        play_batch(w, s, t->chain, 0);
        size_t *bytes = left <= FEW ? &count->few_bytes : &count->many_bytes;
        (left <= FEW ? count->few : count->many)[w->rounds < MOST_ROUNDS ? w->rounds : MOST_ROUNDS - 1]++;
        if (w->bytes > *bytes) *bytes = w->bytes;
        if (usual == 0 || w->rounds > usual || w->bytes >= most)
            test_fail(__FILE__, __LINE__, "%s, %zu ranks: %zu left, %u rounds, %zu bytes", t->chain, n_ranks, left,
                      w->rounds, w->bytes);
    }
    w->data = NULL;
    drop_world(w);
    free(w);
}

static void print_tally(const char *name, const tally *t)
{
    printf("%-26.26s few:", name);
    for (int r = 2; r < 10; r++) printf(" %4lu", t->few[r]);
    printf("   many:");
    for (int r = 2; r < 10; r++) printf(" %4lu", t->many[r]);
    printf("   bytes: %zu %zu\n", t->few_bytes, t->many_bytes);
}

/* Rounds and bytes of every kind of row and chain, whose bounds are promised. */
TEST(test_long_rows)
{
    size_t n_seeds = (size_t)amount(8, 1);
    float *row = (float *)malloc(LONG_VOCAB * sizeof *row);
    real_rows_load(REAL_ROWS_PATH);
    for (size_t i = 0; i < TEST_COUNT(TRAFFIC); i++) {
        const traffic *t = &TRAFFIC[i];
        tally one;
        memset(&one, 0, sizeof one);
        for (size_t seed = 0; seed < n_seeds; seed++)
            for (int kind = quickest() ? (int)i % N_LONG_ROWS : 0; kind < N_LONG_ROWS;
                 kind += quickest() ? N_LONG_ROWS : 1) {
                source s = source_seed(test_seed() + seed * TEST_COUNT(TRAFFIC) + i);
                make_long_row(&s, row, LONG_VOCAB, (long_row)kind);
                one_long_batch(t, NULL, row, LONG_VOCAB, RANKS[(i + (size_t)kind) % TEST_COUNT(RANKS)], &s, &one);
            }
        if (getenv("SAMP_TEST_TABLE")) print_tally(t->chain, &one);
    }
    free(row);
}

/* ---- what else may be asked ---- */

/* Half of the tokens so close together that their buckets must be cut up again and again. */
static void make_cluster(source *s, float *row, size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] = (float)((i % 2 ? 2.0 : 1e-5) * normal_fast(s));
}

/* Questions that the chains above don't ask: xtc has asked for the list, so that typical has no buckets by logit; sums
   of what min_p keeps; a largest logit that no listed token has; ends in a cluster. */
TEST(test_other_questions)
{
    static const traffic chains[] = {
        { "xtc 1 0.5 0 31; typical 0.95; dist 31", 6, 8, true },
        { "min_p 1e-4; temp_ext 1 0.5 1; dist 32", 2, 5, true },
        { "adaptive_p 0 0.9 33", 2, 5, true },
        { "top_p 0.5; temp 0.8; dist 4", 2, 6, true },
        { "top_k 16000; dist 34", 2, 8, true },
        { "typical 0.2; temp 0.8; dist 5", 6, 7, true },
    };
    tally count;
    float *row = (float *)malloc(LONG_VOCAB * sizeof *row);
    memset(&count, 0, sizeof count);
    for (size_t i = 0; i < TEST_COUNT(chains); i++)
        for (int cluster = 0; cluster < 2; cluster++) {
            source s = source_stream(900 + 2 * i + (uint64_t)cluster);
            make_long_row(&s, row, LONG_VOCAB, LONG_NORMAL);
            if (cluster) make_cluster(&s, row, LONG_VOCAB);
            one_long_batch(&chains[i], NULL, row, LONG_VOCAB, 3, &s, &count);
            if (getenv("SAMP_TEST_TABLE")) print_tally(chains[i].chain, &count);
        }
    free(row);
}

/* typical of any share, on rows of which it leaves from a dozen to thousands that need not be the first in order. */
static samp_sampler *typical_of(float share)
{
    return chain_of(samp_init_typical(share, 0), samp_init_dist(35), NULL);
}

TEST(test_typical_of_any_share)
{
    static const traffic any = { "typical of any share", 6, 7, false };
    size_t n_cases = (size_t)cases(2000, quickest() ? 10 : 60);
    float *row = (float *)malloc(LONG_VOCAB * sizeof *row);
    tally count;
    memset(&count, 0, sizeof count);
    for (size_t i = 0; i < n_cases; i++) {
        source s = source_seed(test_seed() + 2000000 + i);
        double sigma = 2.2 + 1.0 * coarse(&s), step = percent(&s, 30) ? 0.125 : 0.0;
        const float share = (float)(0.02 + 0.97 * coarse(&s));
        for (size_t k = 0; k < LONG_VOCAB; k++) {
            row[k] = (float)(sigma * normal_fast(&s));
            if (step > 0.0) row[k] = (float)(step * floor(row[k] / step));
        }
        one_long_batch(&any, typical_of(share), row, LONG_VOCAB, RANKS[i % TEST_COUNT(RANKS)], &s, &count);
    }
    free(row);
    if (getenv("SAMP_TEST_TABLE")) print_tally(any.chain, &count);
}

/* ---- min_p behind what another sampler knows of the row ---- */

/* adaptive_p changes the logits of which a floor was known; a list that has grown goes on below min_p's floor: 259
   tokens above -1, a thousand where the nucleus ends, some behind them. */
TEST(test_floors_that_are_known)
{
    enum { N = 2000 };
    static const traffic chains[] = { { "top_p 0.9; adaptive_p 0 0.9 1; min_p 0.99999; dist 2", 11, 11, false },
                                      { "top_p 0.8 260; min_p 0.322; top_p 0.9; dist 2", 9, 9, false } };
    float *row = (float *)malloc(N * sizeof *row);
    tally count;
    memset(&count, 0, sizeof count);
    for (int i = 0; i < 40; i++) {
        source s = source_seed((uint64_t)i);
        for (int k = 0; k < N; k++) {
            const float x = (float)k;
            row[k] = k < 240    ? -0.0025f * x
                     : k < 260  ? -0.8f - 0.009f * (x - 240.0f)
                     : k < 1260 ? -1.1f - 0.0002f * (x - 260.0f)
                     : k < 1290 ? -2.0f - 0.03f * (x - 1260.0f)
                                : -65.0f;
            if (i % 2 == 0) row[k] = 40.0f - 0.001f * x;
        }
        one_long_batch(&chains[i % 2], NULL, row, N, 1 + (size_t)(i / 2 % 3), &s, &count);
    }
    free(row);
}

/* ---- shares that end one unit below a prefix ---- */

TEST(test_cuts_to_the_unit)
{
    static const traffic any = { "to the unit", 6, 7, false };
    static const size_t lengths[] = { 2, 90, 20000 };
    float *row = (float *)malloc(20000 * sizeof *row);
    tally count;
    memset(&count, 0, sizeof count);
    for (size_t turn = 0; turn < 36; turn++) {
        source s = source_seed(turn);
        size_t n = lengths[turn / 12];
        for (uint64_t seed = 0; seed < 6; seed++) {
            samp_sampler *chain = chain_of(unit_row(turn, row, n), samp_init_dist(seed), NULL);
            one_long_batch(&any, chain, row, n, 1 + turn % 2, &s, &count);
        }
    }
    free(row);
}

/* ---- real rows, with the chains that people use ---- */

/* Only where a truncation leaves many tokens may it be more than 3 rounds: a long nucleus. */
static const traffic USED[] = {
    { "greedy", 2, 2, false },
    { DEFAULT, 2, 0, false },
    { "default 0.7 20 0.8 0", 2, 0, false },
    { "temp 0.8; dist 1", 3, 3, false },
    { "min_p 0.05; temp 0.8; dist 6", 2, 4, false },
    { "default 1 0 0.95 0", 2, 6, false },
    { "temp 0.7; top_p 0.9; dist 22", 2, 6, false },
    { "default 1 0 0.95 0.05", 2, 7, false },
    { "typical 0.95; dist 5", 6, 7, false },
    { "top_n_sigma 1; dist 7", 2, 4, false },
    { "p_less 1; dist 25", 2, 4, false },
    { "min_p 0.02; temp_ext 1 0.5 1; dist 23", 2, 5, false },
    { "min_p 0.02; xtc 0.5 0.1 0 24; dist 24", 2, 4, false },
    { "min_p 0.05; adaptive_p 0.5 0.9 12", 2, 4, false },
    { "mirostat_v2 26 5 0.1", 2, 4, false },
};

/* Logits on steps: a prefix ends among many tokens with one logit. */
TEST(test_logits_on_steps)
{
    const traffic t = { "typical of steps", 9, 9, true };
    tally count;
    float *row = (float *)malloc(LONG_VOCAB * sizeof *row);
    memset(&count, 0, sizeof count);
    for (uint64_t i = 0; i < 32; i++) {
        source s = source_stream(1000 + i);
        const float gap = 0.25f + 0.25f * (float)coarse(&s);
        const float share = 0.6f + 0.3f * (float)coarse(&s);
        for (size_t k = 0; k < LONG_VOCAB; k++) row[k] = k % 64 ? -20.0f : gap * floorf((float)normal_fast(&s) / gap);
        one_long_batch(&t, typical_of(share), row, LONG_VOCAB, 3, &s, &count);
    }
    free(row);
}

/* Real logits as they are, and sharper and flatter ones. */
TEST(test_used_chains_on_real_logits)
{
    static const float scales[] = { 1.0f, 1.4f, 0.8f };
    size_t n_scales = (size_t)amount(TEST_COUNT(scales), 1), step = (size_t)amount(1, 5);
    float *row = (float *)malloc(REAL_WIDTH * sizeof *row);
    real_rows_load(REAL_ROWS_PATH);
    if (!real_rows) skip();
    for (size_t i = 0; i < TEST_COUNT(USED); i++) {
        const traffic *t = &USED[i];
        tally one;
        memset(&one, 0, sizeof one);
        for (size_t k = i % step; k < n_scales * REAL_ROWS; k += step) {
            source s = source_seed(test_seed() + k);
            for (size_t j = 0; j < REAL_WIDTH; j++) row[j] = real_rows[k % REAL_ROWS][j] * scales[k / REAL_ROWS];
            one_long_batch(t, NULL, row, REAL_WIDTH, RANKS[(i + k) % TEST_COUNT(RANKS)], &s, &one);
        }
        if (getenv("SAMP_TEST_TABLE")) print_tally(t->chain, &one);
    }
    free(row);
}

/* ------------------------------------------------------------------------------------------------- more chains
   What the chains above have not: samplers behind the one that selects, two cuts in a row, selectors on their own and
   behind a cut that lists all that is left. */

/* More members than there is room for: no rank can do that, and all say so. */
static samp_sampler *too_many(void)
{
    samp_sampler *chain = samp_chain_init();
    for (int i = 0; i < 300; i++) samp_chain_add(chain, samp_init_temp(i % 2 ? 1.01f : 0.99f));
    samp_chain_add(chain, samp_init_dist(47));
    return chain;
}

static void play_unsupported(samp_sampler *chain)
{
    source s = source_stream(610);
    world *w = (world *)calloc(1, sizeof *w);
    w->n_vocab = w->stride = 60;
    w->n_ranks = 2;
    w->n_rows = 1;
    w->one[0] = chain;
    w->data = (char *)malloc(w->n_vocab * sizeof(float));
    normal_row(&s, (float *)(void *)w->data, w->n_vocab, 1.0);
    make_ranks(w, &s);
    sample_on_ranks(w, &s);
    for (size_t rank = 0; rank < 2; rank++) {
        assert_int_equal(w->out[rank][0], SAMP_E_UNSUPPORTED);
        assert_int_equal(samp_get_position(w->chain[rank][0]), 0);
    }
    drop_world(w);
    free(w);
}

TEST(test_too_many_members)
{
    play_unsupported(too_many());
    play_unsupported(chain_of(samp_init_top_k(5), samp_init_ras(8, 0.5f, 3), NULL)); /* no rank has the whole row */
}

/* As many log-probabilities as may be asked for. */
TEST(test_most_logprobs)
{
    source s = source_stream(611);
    world *w = (world *)calloc(1, sizeof *w);
    samp_logprob *top[3];
    w->n_vocab = w->stride = 1500;
    w->n_ranks = 2;
    w->n_rows = 1;
    w->one[0] = chain_from("top_k 700; dist 2");
    w->data = (char *)malloc(w->n_vocab * sizeof(float));
    normal_row(&s, (float *)(void *)w->data, w->n_vocab, 1.0);
    make_told(w, &s);
    for (int k = 0; k < 3; k++) {
        samp_logprobs *told = w->told[k < 2 ? k : MAX_RANKS];
        top[k] = (samp_logprob *)calloc(2 * SAMP_MAX_TOP_LOGPROBS, sizeof **top);
        told->raw.n_top = told->processed.n_top = SAMP_MAX_TOP_LOGPROBS;
        told->raw.top_logprobs = top[k];
        told->processed.top_logprobs = top[k] + SAMP_MAX_TOP_LOGPROBS;
    }
    make_ranks(w, &s);
    play_batch(w, &s, "most log-probabilities", 0);
    assert_int_equal(w->told[0]->raw.n_top_found, SAMP_MAX_TOP_LOGPROBS);
    drop_world(w);
    for (int k = 0; k < 3; k++) free(top[k]);
    free(w);
}

TEST(test_more_chains)
{
    /* where many are left, and then nothing is known of them any more, not even the maximum */
#define FORGETS "min_p 1e-4; logit_bias 32000 3 2 17 -1.5; "
    static const char *const chains[] = {
        "softmax; dist 1",
        "dist 1; top_k 7",
        "dist 1; temp 0.7; dist 2",
        "greedy; temp 0.7",
        "gumbel 5",
        "gumbel 5; top_k 7",
        "top_k 9; gumbel 5",
        "top_k 30; mirostat 32000 10 5 0.1 100",
        "mirostat 32000 10 3 0.1 2",
        "mirostat 32000 10 7 0.1 500",
        "temp 0.7; mirostat_v2 11 4 0.1",
        "top_p 0.9; adaptive_p -1 0.9 12",
        "top_p 0.9; top_k 40; dist 3",
        "top_p 0.9; top_k 30000; dist 3",
        "top_p 0.9; min_p 0.3 20; dist 3",
        "top_p 0.9; min_p 0.3 20000; dist 3",
        "typical 0.9 300; top_p 0.9; dist 3",
        "temp_ext 1 0.5 1; temp_ext 0.9 0.2 1; dist 9",
        "smoothing 0.3 1.5; smoothing 0.2 1; dist 9",
        "top_n_sigma 2; top_n_sigma 1; dist 7",
        "xtc 1 0.01 1400 8; dist 8",
        "eta 1e-3; p_less 1; greedy",
        "min_p 1e-4; top_n_sigma 1; dist 7",
        "top_p 0.99; top_n_sigma 1; dist 7",
        "typical 0.9; top_n_sigma 1; dist 7",
        "top_p 0.99; temp_ext 1 0.5 1; dist 7",
        "typical 0.9; eta 1e-4; dist 7",
        "top_p 0.99; p_less 0.5; dist 7",
        "typical 0.99; top_p 0.99; xtc 1 1e-4 0 8; typical 0.9; adaptive_p 0.5 0.9 12",
        FORGETS "dist 41",
        "top_p 0.99; p_less_norm 0.5; dist 7",
        FORGETS "gumbel 42",
        FORGETS "mirostat_v2 43 9 0.1",
        FORGETS "min_p 1e-3; dist 44",
        FORGETS "smoothing 0.2 4; smoothing 0.3 1.5; dist 45",
        FORGETS "greedy",
        FORGETS "top_k 1200; dist 46",
    };
    static const size_t lengths[] = { 1, 2, 60, 1500, 6000 };
    real_rows_load(REAL_ROWS_PATH);
    for (uint64_t i = 0; i < TEST_COUNT(chains) * TEST_COUNT(lengths) * N_LONG_ROWS; i += quickest() ? 7 : 1) {
        source s = source_stream(600 + i);
        world *w = (world *)calloc(1, sizeof *w);
        w->n_vocab = w->stride = lengths[i / TEST_COUNT(chains) % TEST_COUNT(lengths)];
        w->n_ranks = RANKS[i % TEST_COUNT(RANKS)];
        w->n_rows = 1;
        w->one[0] = chain_from(chains[i % TEST_COUNT(chains)]);
        w->data = (char *)malloc(w->n_vocab * sizeof(float));
        make_long_row(&s, (float *)(void *)w->data, w->n_vocab,
                      (long_row)(i / (TEST_COUNT(chains) * TEST_COUNT(lengths))));
        if (i % 3 == 0) make_told(w, &s);
        make_ranks(w, &s);
        for (int step = 0; step < 2; step++) play_batch(w, &s, "more chains", i);
        drop_world(w);
        free(w);
    }
}

/* ------------------------------------------------------------------------------------------------ failures */

/* Three ranks, two rows of 1,000 tokens. */
static world *small_world(source *s)
{
    world *w = (world *)calloc(1, sizeof *w);
    w->n_vocab = w->stride = 1000;
    w->n_ranks = 3;
    w->n_rows = 2;
    w->data = (char *)malloc(w->n_rows * w->n_vocab * sizeof(float));
    normal_row(s, (float *)(void *)w->data, w->n_rows * w->n_vocab, 3.0);
    w->one[0] = chain_from(DEFAULT);
    w->one[1] = chain_from("top_p 0.999; temp 0.8; dist 4");
    make_ranks(w, s);
    return w;
}

/* The batch fails on all ranks with that status, and nothing has moved. */
static void must_fail(world *w, source *s, int status)
{
    sample_on_ranks(w, s);
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        assert_int_equal(w->status[rank], status);
        assert_null(samp_shard_message(w->shard[rank], &w->bytes));
        for (size_t r = 0; r < w->slice[rank].n_rows; r++) assert_int_equal(w->out[rank][r], status);
        assert_int_equal(samp_get_position(w->chain[rank][1]), 0);
    }
}

/* Every status that one rank finds is that of all. */
TEST(test_one_rank_is_wrong)
{
    for (int wrong = 0; wrong < 13; wrong++) {
        source s = source_stream((uint64_t)wrong);
        world *w = small_world(&s);
        samp_logits *slice = &w->slice[1];
        samp_sampler **chain = w->chain[1];
        int status = SAMP_E_RANGE;
        samp_logprobs lp[2];
        memset(lp, 0, sizeof lp);
        if (wrong == 0) slice->n_vocab++;
        if (wrong == 1) slice->n_threads = -1;
        if (wrong == 2) chain[1] = (samp_free(chain[1]), chain[0]); /* one sampler twice */
        if (wrong == 3) slice->n_rows = 1;
        if (wrong == 4) slice->dtype = (samp_dtype)77, status = SAMP_E_DTYPE;
        if (wrong == 5) slice->data = NULL, status = w->length[1] ? SAMP_E_NULL : SAMP_OK;
        if (wrong == 6) slice->logprobs = lp, status = SAMP_E_FORMAT;
        if (wrong == 7) samp_set_position(chain[0], 4), status = SAMP_E_FORMAT;
        if (wrong == 8) samp_free(chain[0]), chain[0] = chain_from("temp 0.8; dist 1"), status = SAMP_E_FORMAT;
        if (wrong >= 9) samp_shard_free(w->shard[1]);
        size_t first = w->first[1], n = w->length[1];
        if (wrong == 9) w->shard[1] = samp_shard_init(1000, first + n < 1000 ? first + 1 : first - 1, n, 3, NULL);
        if (wrong == 10) w->shard[1] = samp_shard_init(1000, first, n, 4, NULL);
        if (wrong == 11) w->shard[1] = samp_shard_init(1001, first, n, 3, NULL);
        if (wrong == 12) w->shard[1] = samp_shard_init(1000, first, n, 3, NULL), slice->n_rows = 129;
        if (n == 0 && wrong != 10 && wrong != 11)
            status = wrong == 9 ? SAMP_OK : status; /* an empty slice is anywhere */
        if (status) must_fail(w, &s, status);
        if (wrong == 2) chain[1] = chain_from("temp 0.8; dist 1");
        drop_world(w);
        free(w);
    }
}

/* A sampler that has an error has no parts: its row gets the error, and nothing of it is read. */
TEST(test_samplers_with_errors)
{
    static float logits[1000];
    own_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_REGEX, "a*", NULL, NULL);
    const samp_logit_bias bias[3] = { { 1, NAN }, { 2, 1.0f }, { 3, 1.0f } };
    samp_shard *shard = samp_shard_init(1000, 0, 1000, 1, NULL);
    const samp_logits slice = { .data = logits, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = 1000 };
    for (int i = 0; i < 4; i++) {
        samp_sampler *wrong = i % 2 ? samp_init_logit_bias(1000, 3, bias) : samp_init_grammar(NULL, grammar);
        const int status = samp_status(wrong, NULL);
        own_sampler *row = i < 2 ? wrong : samp_chain_init();
        samp_token out = 0;
        if (row != wrong) {
            samp_chain_add(row, wrong);
            samp_chain_add(row, samp_init_dist(1));
        }
        assert_int_not_equal(status, SAMP_OK);
        assert_int_equal(samp_shard_begin(shard, &row, &slice, &out), SAMP_OK);
        for (size_t n; samp_shard_message(shard, &n) && !samp_shard_take(shard);) {
        }
        assert_int_equal(out, status);
    }
    samp_shard_free(shard);
}

/* Slices of rows with lengths of their own are unsupported: every rank gets the status, and no chain moves. */
TEST(test_rows_of_many_lengths)
{
    source s = source_stream(78);
    world *w = small_world(&s);
    unsigned char *bytes[MAX_RANKS];
    size_t n[MAX_RANKS], n_of[SAMPI_SHARD_ROWS] = { 0 };
    for (size_t rank = 0; rank < 3; rank++) {
        w->slice[rank].n_vocab_of = rank == 1 ? n_of : NULL;
        assert_int_equal(samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]), SAMP_OK);
        bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
    }
    assert_true(exchange(w, bytes, n, &s));
    for (size_t rank = 0; rank < 3; rank++) {
        assert_int_equal(samp_shard_take(w->shard[rank]), SAMP_E_UNSUPPORTED);
        assert_int_equal(w->out[rank][0], SAMP_E_UNSUPPORTED);
        assert_int_equal(samp_get_position(w->chain[rank][0]), 0);
        w->slice[rank].n_vocab_of = NULL;
    }
    play_batch(w, &s, "after rows of many lengths", 0);
    drop_world(w);
    free(w);
}

/* A rank that has no memory for the batch says so in the first message. */
TEST(test_no_memory)
{
    source s = source_stream(77);
    world *w = small_world(&s);
    unsigned char *bytes[MAX_RANKS];
    size_t n[MAX_RANKS];
    for (size_t rank = 0; rank < 3; rank++) {
        heap.fail_at = rank == 1 ? 1 : 0;
        assert_int_equal(samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]), SAMP_OK);
        heap.fail_at = 0;
        bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
    }
    assert_true(exchange(w, bytes, n, &s));
    for (size_t rank = 0; rank < 3; rank++) {
        assert_int_equal(samp_shard_take(w->shard[rank]), SAMP_E_NOMEM);
        assert_int_equal(w->out[rank][0], SAMP_E_NOMEM);
        assert_int_equal(samp_get_position(w->chain[rank][0]), 0);
    }
    play_batch(w, &s, "after no memory", 0);
    drop_world(w);
    free(w);
}

/* NaN in one slice, a NULL chain on one rank, a chain with an error: that row's status on all ranks; the other row has
   its token. */
TEST(test_one_row_is_wrong)
{
    for (int wrong = 0; wrong < 9; wrong++) {
        source s = source_stream(100 + (uint64_t)wrong);
        world *w = small_world(&s);
        size_t rank = w->length[2] ? 2 : w->length[1] ? 1 : 0;
        float *x = (float *)w->owned[rank][0];
        samp_logits logits = whole(w);
        static const int statuses[] = { SAMP_E_NAN,  SAMP_E_NAN,   SAMP_E_RANGE, SAMP_E_EMPTY, SAMP_E_RANGE,
                                        SAMP_E_NULL, SAMP_E_RANGE, SAMP_E_RANGE, SAMP_E_NULL };
        int status = statuses[wrong];
        if (wrong >= 4) make_told(w, &s);
        if (wrong == 0) x[w->length[rank] - 1] = NAN;
        if (wrong == 1) x[0] = INFINITY;
        logits.logprobs = w->told[MAX_RANKS];
        for (size_t k = 0; k < 3; k++) {
            w->slice[k].logprobs = w->told[k];
            if (wrong == 4) w->told[k][0].raw.n_top = SAMP_MAX_TOP_LOGPROBS + 1;
            if (wrong == 5) w->told[k][0].processed.n_top = 1, w->told[k][0].processed.top_logprobs = NULL;
            if (wrong == 6) w->told[k][0].raw.n_top = -1;
            if (wrong == 7) w->told[k][0].processed.n_top = -1;
            if (wrong == 8) w->told[k][0].raw.n_top = 2, w->told[k][0].raw.top_logprobs = NULL;
            if (wrong == 2) samp_chain_add(w->chain[k][0], samp_init_top_p(7.0f, 0));
            for (size_t i = 0; i < w->length[k] && wrong == 3; i++) ((float *)w->owned[k][0])[i] = -INFINITY;
        }
        assert_int_equal(samp_sample_batch(w->one, &logits, w->want), SAMP_OK);
        sample_on_ranks(w, &s);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(w->status[k], SAMP_OK);
            assert_int_equal(w->out[k][0], status);
            assert_int_equal(w->out[k][1], w->want[1]);
            assert_int_equal(samp_get_position(w->chain[k][0]), 0);
        }
        drop_world(w);
        free(w);
    }
}

/* Chains without a selector, the last bias of which may mask all that is left: a sampler behind it notices that, also
   one that is off. The status is that of one machine. */
enum { LEFT_VOCAB = 40 };
static samp_sampler *bias_of(int32_t n)
{
    samp_logit_bias list[LEFT_VOCAB];
    for (int32_t i = 0; i < n; i++) list[i] = (samp_logit_bias){ i, -INFINITY };
    return samp_init_logit_bias(LEFT_VOCAB, n, list);
}
static samp_sampler *bias_all(void) { return bias_of(LEFT_VOCAB); }
static samp_sampler *bias_most(void) { return bias_of(LEFT_VOCAB - 1); }
static samp_sampler *off(void) { return samp_init_temp(1.0f); }
static samp_sampler *cold(void) { return samp_init_temp(0.5f); }
static samp_sampler *longest_list(void) { return samp_init_top_k(LEFT_VOCAB - 2); }
static samp_sampler *half(void) { return samp_init_top_p(0.5f, 1); }

TEST(test_nothing_is_left)
{
    static const struct {
        samp_sampler *(*make[3])(void);
        int status;
    } chains[] = {
        { { bias_all, NULL, NULL }, SAMP_E_UNSUPPORTED }, { { cold, bias_all, NULL }, SAMP_E_UNSUPPORTED },
        { { bias_all, cold, NULL }, SAMP_E_EMPTY },       { { bias_all, off, NULL }, SAMP_E_EMPTY },
        { { cold, bias_all, off }, SAMP_E_EMPTY },        { { half, bias_all, off }, SAMP_E_EMPTY },
        { { half, bias_all, cold }, SAMP_E_EMPTY },       { { longest_list, bias_all, off }, SAMP_E_EMPTY },
        { { bias_most, off, NULL }, SAMP_E_UNSUPPORTED }, { { cold, bias_most, off }, SAMP_E_UNSUPPORTED },
        { { half, cold, off }, SAMP_E_UNSUPPORTED },      { { off, off, NULL }, SAMP_E_UNSUPPORTED },
    };
    for (size_t i = 0; i < TEST_COUNT(chains); i++) {
        source s = source_stream(700 + i);
        world *w = (world *)calloc(1, sizeof *w);
        w->n_vocab = w->stride = LEFT_VOCAB;
        w->n_ranks = RANKS[i % TEST_COUNT(RANKS)];
        w->n_rows = 1;
        w->one[0] = samp_chain_init();
        for (int k = 0; k < 3 && chains[i].make[k]; k++) samp_chain_add(w->one[0], chains[i].make[k]());
        w->data = (char *)malloc(LEFT_VOCAB * sizeof(float));
        normal_row(&s, (float *)(void *)w->data, LEFT_VOCAB, 1.0);
        make_ranks(w, &s);
        play_batch(w, &s, "nothing is left", i);
        assert_int_equal(w->out[0][0], chains[i].status);
        drop_world(w);
        free(w);
    }
}

/* The status that one rank has told is lost on the way to all: it goes on asking what the others ask, and objects. */
TEST(test_lost_status)
{
    for (int lost = 0; lost < 2; lost++) {
        source s = source_stream(200 + (uint64_t)lost);
        world *w = small_world(&s);
        unsigned char *bytes[MAX_RANKS];
        size_t n[MAX_RANKS], rank = w->length[2] ? 2 : w->length[1] ? 1 : 0;
        int32_t index[2] = { -1, 1 };
        if (lost == 0) ((float *)w->owned[rank][0])[0] = NAN;
        if (lost == 1) w->slice[rank].row_index = index;
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(samp_shard_begin(w->shard[k], w->chain[k], &w->slice[k], w->out[k]), SAMP_OK);
        for (int round = 0; round < 2; round++) {
            for (size_t k = 0; k < 3; k++) {
                bytes[k] = (unsigned char *)samp_shard_message(w->shard[k], &n[k]);
                assert_non_null(bytes[k]);
            }
            assert_true(exchange(w, bytes, n, &s));
            for (size_t k = 0; k < 3 && round == 0; k++) /* the first row's maximum */
                sampi_wire_put_float(bytes[k] + SAMPI_SHARD_HEAD + SAMPI_PARCEL_HEAD, 9.0f);
            for (size_t k = 0; k < 3; k++)
                assert_int_equal(samp_shard_take(w->shard[k]), round ? SAMP_E_FORMAT : SAMP_OK);
        }
        for (size_t k = 0; k < 3; k++) {
            assert_null(samp_shard_message(w->shard[k], &n[k]));
            for (int r = 0; r < 2; r++) {
                assert_int_equal(w->out[k][r], SAMP_E_FORMAT);
                assert_int_equal(samp_get_position(w->chain[k][r]), 0);
            }
        }
        drop_world(w);
        free(w);
    }
}

/* One rank has nobody to merge with. */
static int alone(void *user, void *bytes, size_t n, samp_merge merge)
{
    (void)bytes, (void)n, (void)merge;
    return user ? -99 : 0;
}

/* The same by the other callback. */
static int alone_gathers(void *user, const void *bytes, size_t n, void *all)
{
    (void)user;
    memcpy(all, bytes, n);
    return 0;
}

/* Fails at its last call. */
static int alone_until(void *user, void *bytes, size_t n, samp_merge merge)
{
    (void)bytes, (void)n, (void)merge;
    return --*(int *)user == 0 ? SAMP_E_FULL : 0;
}

/* One shard for batches of more rows and of fewer, of longer lists, and by both callbacks: what it has made room for
   stays, and is enough for each. */
TEST(test_one_shard_for_other_batches)
{
    static const struct {
        size_t n_rows;
        const char *chain;
        bool gathers;
    } batches[] = { { 3, DEFAULT, false },
                    { 1, "tail_free 0.95; dist 13", false },
                    { 2, "tail_free 0.95; dist 13", true },
                    { 1, "dist 3", true },
                    { 5, DEFAULT, false },
                    { 2, DEFAULT, true },
                    { 7, "tail_free 0.95; dist 13", true },
                    { 3, "dist 3", false } };
    enum { N = 700, MOST = 7 };
    float rows[MOST * N];
    const long live = heap.live;
    samp_shard *shard = samp_shard_init(N, 0, N, 1, NULL);
    for (uint64_t i = 0; i < TEST_COUNT(batches); i++) {
        source s = source_stream(520 + i);
        samp_sampler *chain[MOST] = { NULL }, *one[MOST] = { NULL };
        samp_token out[MOST], want[MOST];
        samp_logits slice = { .data = rows, .dtype = SAMP_F32, .n_rows = batches[i].n_rows, .n_vocab = N };
        samp_ranks ranks = { batches[i].gathers ? NULL : alone, batches[i].gathers ? alone_gathers : NULL, NULL };
        normal_row(&s, rows, MOST * N, 1.0);
        for (size_t r = 0; r < slice.n_rows; r++) {
            chain[r] = chain_from(batches[i].chain);
            one[r] = samp_clone(chain[r]);
        }
        assert_int_equal(samp_sample_sharded(shard, &ranks, chain, &slice, out), SAMP_OK);
        assert_int_equal(samp_sample_batch(one, &slice, want), SAMP_OK);
        for (size_t r = 0; r < slice.n_rows; r++) {
            assert_int_equal(out[r], want[r]);
            samp_free(chain[r]);
            samp_free(one[r]);
        }
    }
    samp_shard_free(shard);
    assert_int_equal(heap.live, live); /* what had become too small is gone, too */
}

/* Of three groups of rows the second one fails: its rows and those behind it have the status, and have not moved. */
TEST(test_late_failure)
{
    enum { N = 40, ROWS = 300 };
    float *rows = (float *)malloc(ROWS * N * sizeof *rows);
    source s = source_stream(540);
    normal_row(&s, rows, ROWS * N, 1.0);
    samp_sampler *chain[ROWS];
    samp_token out[ROWS];
    for (int r = 0; r < ROWS; r++) chain[r] = chain_from("greedy");
    samp_logits slice = { .data = rows, .dtype = SAMP_F32, .n_rows = ROWS, .n_vocab = N };
    samp_shard *shard = samp_shard_init(N, 0, N, 1, NULL);
    int calls = 3; /* a group of greedy takes two rounds */
    samp_ranks ranks = { alone_until, NULL, &calls };
    assert_int_equal(samp_sample_sharded(shard, &ranks, chain, &slice, out), SAMP_E_FULL);
    for (int r = 0; r < ROWS; r++) {
        if (r >= SAMPI_SHARD_ROWS) assert_int_equal(out[r], SAMP_E_FULL);
        if (r < SAMPI_SHARD_ROWS) assert_int_equal(out[r], samp_sample(chain[r], rows + r * N, N));
        samp_free(chain[r]);
    }
    samp_shard_free(shard);
    free(rows);
}

TEST(test_bad_arguments)
{
    int status = 7;
    samp_token out[1];
    samp_sampler *chain[1] = { chain_from(DEFAULT) }, *same = chain_from(DEFAULT);
    samp_logits slice;
    samp_ranks ranks = { NULL, NULL, NULL };
    size_t n = 5;
    memset(&slice, 0, sizeof slice);
    assert_null(samp_shard_init(0, 0, 0, 1, &status));
    assert_int_equal(status, SAMP_E_RANGE);
    assert_null(samp_shard_init(10, 4, 7, 1, NULL));
    assert_null(samp_shard_init(10, 11, 0, 1, NULL));
    assert_null(samp_shard_init(10, 1, SIZE_MAX, 1, NULL));
    assert_null(samp_shard_init((size_t)SAMP_MAX_VOCAB + 1, 0, 1, 1, NULL));
    assert_null(samp_shard_init(10, 0, 10, 0, NULL));
    assert_null(samp_shard_init(10, 0, 10, 1025, NULL));
    heap.fail_at = 1;
    assert_null(samp_shard_init(10, 0, 10, 1, &status));
    heap.fail_at = 0;
    assert_int_equal(status, SAMP_E_NOMEM);
    samp_shard *shard = samp_shard_init(10, 0, 10, 1, &status);
    assert_int_equal(status, SAMP_OK);
    assert_null(samp_shard_message(shard, &n));
    assert_int_equal(n, 0);
    assert_int_equal(samp_shard_take(shard), SAMP_E_NULL);
    assert_int_equal(samp_sample_sharded(shard, &ranks, chain, &slice, out), SAMP_E_NULL);
    assert_int_equal(samp_sample_sharded(NULL, &ranks, chain, &slice, out), SAMP_E_NULL);
    assert_int_equal(samp_sample_sharded(shard, NULL, chain, &slice, out), SAMP_E_NULL);
    assert_int_equal(samp_shard_begin(NULL, chain, &slice, out), SAMP_E_NULL);
    assert_int_equal(samp_shard_begin(shard, chain, NULL, out),
                     SAMP_OK); /* all ranks are told in the first message */
    assert_non_null(samp_shard_message(shard, &n));
    assert_int_equal(samp_shard_take(shard), SAMP_E_NULL);
    assert_int_equal(samp_shard_take(NULL), SAMP_E_NULL);
    assert_null(samp_shard_message(NULL, &n));
    assert_null(samp_shard_message(shard, NULL));
    samp_shard_merge(NULL, NULL, 3);
    samp_shard_merge(&slice, NULL, 3);
    ranks.allreduce = alone;
    float row[10] = { 1.0f };
    slice.data = row;
    slice.n_vocab = slice.stride = 10;
    for (int wrong = 0; wrong < 4; wrong++) {
        static const int says[] = { SAMP_E_NULL, SAMP_E_NULL, SAMP_E_NULL, SAMP_OK };
        slice.n_rows = wrong != 3;
        out[0] = -77;
        status = samp_sample_sharded(shard, &ranks, wrong == 1 ? NULL : chain, wrong == 0 ? NULL : &slice,
                                     wrong == 2 ? NULL : out);
        assert_int_equal(status, says[wrong]);
        assert_int_equal(out[0], wrong == 1 ? SAMP_E_NULL : -77);
    }
    slice.n_rows = 1;
    assert_int_equal(samp_sample_sharded(shard, &ranks, chain, &slice, out), SAMP_OK);
    assert_int_equal(out[0], samp_sample(same, row, 10));
    ranks.user = &slice;
    assert_int_equal(samp_sample_sharded(shard, &ranks, chain, &slice, out),
                     SAMP_E_DEVICE); /* -99 is no status of ours */
    assert_int_equal(samp_shard_begin(shard, chain, &slice, out), SAMP_OK);
    assert_int_equal(samp_shard_take(shard), SAMP_E_NULL); /* no message has gone out */
    samp_shard_drop(shard, SAMP_E_EMPTY);
    samp_free(same);
    samp_shard_drop(NULL, -1);
    samp_shard_free(NULL);
    samp_shard_free(shard);
    samp_free(chain[0]);
}

/* ------------------------------------------------------------------------------------------------- messages */

/* Do all groupings and orders of three messages give the same bytes? */
static void same_merges(const unsigned char *a, const unsigned char *b, const unsigned char *c, size_t n)
{
    const unsigned char *m[3] = { a, b, c };
    static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    unsigned char *first = (unsigned char *)malloc(n), *other = (unsigned char *)malloc(n),
                  *part = (unsigned char *)malloc(n);
    for (int i = 0; i < 12; i++) {
        const int *o = orders[i % 6];
        unsigned char *to = i ? other : first;
        memcpy(to, m[o[0]], n);
        if (i < 6) {
            samp_shard_merge(to, m[o[1]], n);
            samp_shard_merge(to, m[o[2]], n);
        } else {
            memcpy(part, m[o[1]], n);
            samp_shard_merge(part, m[o[2]], n);
            samp_shard_merge(to, part, n);
        }
        if (i) assert_memory_equal(first, other, n);
    }
    free(first);
    free(other);
    free(part);
}

/* The second row's logits, but for one, so close together that the first buckets have them in one: values are asked for
   where its end is expected. */
static void squeeze(world *w)
{
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        float *row = (float *)w->owned[rank][0] + w->slice[rank].stride;
        for (size_t i = 0; i < w->length[rank]; i++) row[i] = w->first[rank] + i ? row[i] * 0.01f : -1e30f;
    }
}

/* A rank's status is that of the merge, the nearer to 0 of two, and takes no message for another: all ranks count. */
TEST(test_statuses_are_merged)
{
    source s = source_stream(300);
    world *w = small_world(&s);
    unsigned char *bytes[MAX_RANKS];
    size_t n[MAX_RANKS] = { 0 };
    static const int said[] = { SAMP_OK, SAMP_E_FULL, SAMP_E_NAN };
    for (size_t rank = 0; rank < 3; rank++) {
        assert_int_equal(samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]), SAMP_OK);
        bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
        sampi_wire_put(bytes[rank] + SAMPI_AT_STATUS, (uint32_t)said[rank], 4);
    }
    for (size_t rank = 1; rank < 3; rank++) {
        samp_shard_merge(bytes[0], bytes[rank], n[0]);
        assert_int_equal(sampi_wire_u32(bytes[0] + SAMPI_AT_STATUS), (uint32_t)said[rank]);
        assert_int_equal(sampi_wire_u32(bytes[0] + SAMPI_AT_RANKS), rank + 1);
    }
    same_merges(bytes[0], bytes[1], bytes[2], n[0]);
    assert_int_equal(samp_shard_take(w->shard[0]), SAMP_E_NAN);
    for (size_t rank = 0; rank < 3; rank++) {
        samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]);
        bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
        if (rank) samp_shard_merge(bytes[0], bytes[rank], n[0]);
    }
    sampi_wire_put(bytes[0] + SAMPI_AT_STATUS, (uint32_t)-1000, 4); /* no status of ours */
    assert_int_equal(samp_shard_take(w->shard[0]), SAMP_E_FORMAT);
    drop_world(w);
    free(w);
}

/* Rounds of real messages; in some of the runs bytes of one of them are changed. Ranks that get the same message, of
   whatever bytes, go on alike and come to an end. */
TEST(test_changed_messages)
{
    size_t n_cases = (size_t)cases(400, 20);
    for (uint64_t i = 0; i < n_cases; i++) {
        source s = source_seed(test_seed() + 900000 + i);
        world *w = small_world(&s);
        unsigned char *bytes[MAX_RANKS];
        size_t n[MAX_RANKS] = { 0 };
        bool hostile = i % 2;
        if (i % 3 == 1) squeeze(w);
        samp_free(w->one[0]);
        w->one[0] = possible_chain(&s, w->n_vocab, make_chain);
        for (size_t rank = 0; rank < 3; rank++) {
            samp_free(w->chain[rank][0]);
            w->chain[rank][0] = w->one[0] ? samp_clone(w->one[0]) : NULL;
            samp_shard_begin(w->shard[rank], w->chain[rank], &w->slice[rank], w->out[rank]);
        }
        for (unsigned round = 0; round < 200; round++) {
            for (size_t rank = 0; rank < 3; rank++)
                bytes[rank] = (unsigned char *)samp_shard_message(w->shard[rank], &n[rank]);
            if (!bytes[0]) break;
            for (unsigned k = 0; hostile && k < 2; k++) {
                size_t at = below(&s, percent(&s, 50) && n[2] > 200 ? 200 : n[2]);
                bytes[2][at] = (unsigned char)(percent(&s, 50) ? choose(&s, 1) : bytes[2][at] ^ 1u << below(&s, 8));
            }
            same_merges(bytes[0], bytes[1], bytes[2], n[0]);
            assert_true(exchange(w, bytes, n, &s));
            int status = samp_shard_take(w->shard[0]);
            for (size_t rank = 1; rank < 3; rank++) assert_int_equal(samp_shard_take(w->shard[rank]), status);
        }
        for (size_t rank = 0; rank < 3; rank++) {
            assert_null(samp_shard_message(w->shard[rank], &n[0]));
            for (size_t r = 0; r < 2; r++) assert_int_equal(w->out[rank][r], w->out[0][r]);
        }
        drop_world(w);
        free(w);
    }
}

/* A number of few, so that much ties; NaNs and both zeros are among them. */
static uint32_t few_words(source *s)
{
    static const uint32_t words[] = { 0,           1,           2,           0x3f800000u, 0xbf800000u,
                                      0x80000000u, 0x7fc00000u, 0xffc00001u, UINT32_MAX };
    return words[below(s, TEST_COUNT(words))];
}

/* Messages of every kind of parcel with numbers that tie: a merge is the same in every order and grouping, also where it
   is none. */
TEST(test_merge_ties)
{
    source s = source_stream(400);
    unsigned long whole = 0;
    const unsigned long n_cases = (unsigned long)cases(200000, 6000);
    for (unsigned long i = 0; i < n_cases; i++) {
        enum { ROOM = 2 };
        static unsigned char m[3][512];
        sampi_parcel_kind kind = (sampi_parcel_kind)(1 + i % (SAMPI_N_PARCELS - 1));
        size_t size = SAMPI_SHARD_HEAD + sampi_parcel_size(kind, ROOM);
        assert_true(size <= sizeof m[0]);
        for (int k = 0; k < 3; k++) {
            memset(m[k], 0, size);
            sampi_wire_put(m[k], SAMPI_SHARD_MAGIC, 4);
            sampi_wire_put(m[k] + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
            sampi_wire_put(m[k] + SAMPI_AT_PARCELS, below(&s, 200) ? 1 : 0, 4);
            sampi_parcel p = sampi_new_parcel(m[k] + SAMPI_SHARD_HEAD, kind, 0, ROOM);
            for (unsigned char *at = p.fields; at < p.entries; at += 4) sampi_wire_put(at, few_words(&s), 4);
            if (kind == SAMPI_PARCEL_RUNS) memset(p.fields, 0, 16);
            if (kind == SAMPI_PARCEL_LIST || sampi_is_sorted_kind(kind)) memset(p.entries - 4, 0, 4);
            if (kind == SAMPI_PARCEL_RAW || kind == SAMPI_PARCEL_LEFT) memset(p.fields + 4, 0, 4);
            size_t n = kind == SAMPI_PARCEL_TOP || kind == SAMPI_PARCEL_HIST ? ROOM : below(&s, ROOM + 1);
            if (p.entry == 0 || (n == 2 && sampi_is_sorted_kind(kind))) n = 0;
            for (size_t e = 0; e < n; e++)
                for (size_t w = 0, k; w < p.entry; w += k) { /* 3 bytes of an id, a logit, ... */
                    k = p.entry > 4 && (w == 0 || p.entry - w < 4) ? 3 : 4;
                    sampi_wire_put(sampi_parcel_entry(&p, e) + w, few_words(&s), k);
                }
            sampi_set_entries(&p, n);
            whole += sampi_message_is_good(m[k], size);
        }
        same_merges(m[0], m[1], m[2], size);
    }
    assert_true(whole > n_cases); /* of three times as many */
}

/* A message of these parcels, each with so much room and all of it zeros; its size. */
static size_t make_message(unsigned char *m, const sampi_parcel_kind *kind, const size_t *room, size_t n_parcels)
{
    size_t size = SAMPI_SHARD_HEAD;
    memset(m, 0, 512);
    sampi_wire_put(m, SAMPI_SHARD_MAGIC, 4);
    sampi_wire_put(m + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
    sampi_wire_put(m + SAMPI_AT_PARCELS, n_parcels, 4);
    for (size_t i = 0; i < n_parcels; i++) {
        sampi_parcel p = sampi_new_parcel(m + size, kind[i], 0, room[i]);
        if (kind[i] == SAMPI_PARCEL_TOP) sampi_set_entries(&p, room[i]);
        size += sampi_parcel_size(kind[i], room[i]);
    }
    return size;
}

/* Messages of one length that are whole, but not alike: another number of parcels, others, in another order, more than
   the head says. A merge of two that are alike has no status. */
TEST(test_unlike_messages)
{
    static const sampi_parcel_kind kinds[][3] = { { SAMPI_PARCEL_RACE, SAMPI_PARCEL_RACE, SAMPI_PARCEL_SUMS },
                                                  { SAMPI_PARCEL_TOP, SAMPI_PARCEL_SUMS },
                                                  { SAMPI_PARCEL_SUMS, SAMPI_PARCEL_RACE, SAMPI_PARCEL_RACE },
                                                  { SAMPI_PARCEL_RACE, SAMPI_PARCEL_DRAW, SAMPI_PARCEL_SUMS } };
    static const size_t room[][3] = { { 0 }, { 12, 0 }, { 0 }, { 0 } }, n[] = { 3, 2, 3, 3 };
    static unsigned char m[4][512], a[512], b[512];
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        size_t other = make_message(m[i], kinds[i], room[i], n[i]);
        assert_true(i == 0 || other == size);
        assert_true(sampi_message_is_good(m[i], other));
        size = other;
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            memcpy(a, m[i], size);
            samp_shard_merge(a, m[k], size);
            assert_int_equal((int32_t)sampi_wire_u32(a + SAMPI_AT_STATUS), i == k ? SAMP_OK : SAMP_E_FORMAT);
        }
    for (int fewer = 0; fewer < 3; fewer++) {
        memcpy(a, m[0], size);
        memcpy(b, m[0], size);
        sampi_wire_put(b + SAMPI_AT_PARCELS, (uint64_t)fewer, 4);
        assert_false(sampi_message_is_good(b, size));
        samp_shard_merge(a, b, size);
        assert_int_equal((int32_t)sampi_wire_u32(a + SAMPI_AT_STATUS), SAMP_E_FORMAT);
    }
}

/* A word of a message, before it is merged or behind that, is another one. */
typedef struct change {
    unsigned round;
    size_t word;
    int how;
    bool merged;
} change;

enum { N_CHANGES = 10 };

static uint32_t changed_word(uint32_t x, int how)
{
    static const uint32_t words[] = { 0, 1, 0x7f800000u, 0x7fc00000u, 0xff800000u, UINT32_MAX, 0xff7fffffu };
    return how < 7 ? words[how] : how == 7 ? x + 1 : how == 8 ? x - 1 : x ^ 0x80000000u;
}

/* Two ranks that have begun with two rows. */
static world *begin_two(const char *chain, uint64_t number, source *s)
{
    world *w = (world *)calloc(1, sizeof *w);
    w->n_vocab = w->stride = 1500;
    w->n_ranks = 2;
    w->n_rows = 2;
    w->data = (char *)malloc(w->n_rows * w->n_vocab * sizeof(float));
    for (size_t r = 0; r < w->n_rows; r++) {
        w->one[r] = chain ? chain_from(chain) : possible_chain(s, w->n_vocab, make_chain);
        make_long_row(s, (float *)(void *)w->data + r * w->n_vocab, w->n_vocab, (long_row)(number % N_LONG_ROWS));
    }
    if (number % 3 == 0) make_told(w, s);
    make_ranks(w, s);
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(samp_shard_begin(w->shard[k], w->chain[k], &w->slice[k], w->out[k]), SAMP_OK);
    return w;
}

/* Both ranks have come to the same end: a token that there is, or a status. */
static void end_two(world *w)
{
    for (size_t r = 0; r < w->n_rows; r++) {
        assert_int_equal(w->out[0][r], w->out[1][r]);
        assert_true(w->out[0][r] >= SAMP_STATUS_LAST && w->out[0][r] < (samp_token)w->n_vocab);
        assert_int_equal(samp_get_position(w->chain[0][r]), samp_get_position(w->chain[1][r]));
    }
    drop_world(w);
    free(w);
}

/* Ranks of which one has said something else, or that were told so: they go on alike. False: there is no such round, or
   no such word. */
static bool play_changed(const traffic *t, uint64_t number, const change *c)
{
    source s = source_seed(test_seed() + number);
    world *w = begin_two(t->chain, number, &s);
    unsigned char *bytes[MAX_RANKS];
    size_t n[MAX_RANKS] = { 0 };
    bool met = false;
    for (unsigned round = 0;; round++) {
        for (size_t k = 0; k < 2; k++) bytes[k] = (unsigned char *)samp_shard_message(w->shard[k], &n[k]);
        assert_true(!bytes[0] == !bytes[1] && n[0] == n[1] && round < 300);
        if (!bytes[0]) break;
        bool now = round == c->round && 4 * c->word + 4 <= n[0];
        unsigned char *at = bytes[1] + 4 * c->word;
        if (now && !c->merged) sampi_wire_put(at, changed_word(sampi_wire_u32(at), c->how), 4);
        assert_true(exchange(w, bytes, n, &s));
        if (now && c->merged) sampi_wire_put(at, changed_word(sampi_wire_u32(at), c->how), 4);
        if (now) memcpy(bytes[0], bytes[1], n[0]);
        met |= now;
        int status = samp_shard_take(w->shard[0]);
        assert_int_equal(samp_shard_take(w->shard[1]), status);
    }
    end_two(w);
    return met;
}

/* Each word of what a round begins with, for all kinds of chains. */
TEST(test_changed_words)
{
    uint64_t number = 0;
    int every = env_setting("SAMP_TEST_FULL", 0) ? 3 : N_CHANGES;
    real_rows_load(REAL_ROWS_PATH);
    for (size_t i = 0; i < TEST_COUNT(TRAFFIC); i++) {
        bool met = true;
        for (unsigned round = 0; met && round < 12; round++)
            for (size_t word = 0; word < 40 && (met || word > 0); word += quickest() ? 7 : 1) {
                change c = { round, word, (int)(number % N_CHANGES), number / N_CHANGES % 2 == 0 };
                for (; c.how < N_CHANGES; c.how += every) met = play_changed(&TRAFFIC[i], number++, &c);
            }
    }
}

/* A number of n bytes that is nearly right, or at an edge of what it may be. */
static uint64_t other_number(source *s, uint64_t x, size_t n, size_t n_vocab)
{
    static const uint32_t floats[] = {
        0x7f800000u, 0xff800000u, 0x7fc00000u, 0xff7fffffu, 0x7f7fffffu, 0, 0x41200000u
    };
    const uint64_t sizes[] = {
        0, 1, n_vocab - 1, n_vocab, n_vocab + 1, SAMPI_MAX_WEIGHT - 1, SAMPI_MAX_WEIGHT, UINT64_MAX, x / 2, 2 * x
    };
    if (n == 3 && percent(s, 50)) return n_vocab + below(s, 3); /* as an id */
    if (percent(s, 30)) return percent(s, 50) ? x + 1 : x - 1;
    return n == 4 && percent(s, 80) ? floats[below(s, TEST_COUNT(floats))] : sizes[below(s, TEST_COUNT(sizes))];
}

/* One number of one parcel of a message is another one, or the parcel has fewer entries; the message is whole. */
static void change_parcel(unsigned char *bytes, size_t n, size_t n_vocab, source *s)
{
    const size_t n_parcels = sampi_wire_u32(bytes + SAMPI_AT_PARCELS);
    size_t at = SAMPI_SHARD_HEAD, left = below(s, n_parcels + 1);
    sampi_parcel p;
    do
        if (!sampi_next_of_message(bytes, n, &at, &p)) return;
    while (left-- > 0 && at < n);
    const size_t fields = SAMPI_PARCEL_FACTS[p.kind].fields;
    unsigned char *number = p.fields;
    size_t wide = fields && percent(s, 50) ? 8 : 4, entry = p.n && percent(s, 50) ? below(s, p.n) : 0;
    if (p.n && percent(s, 10)) {
        size_t fewer = below(s, p.n);
        memset(sampi_parcel_entry(&p, fewer), 0, (p.n - fewer) * p.entry);
        if (p.kind != SAMPI_PARCEL_HIST && p.kind != SAMPI_PARCEL_TOP) sampi_set_entries(&p, fewer);
        return;
    }
    if (fields && (p.n == 0 || percent(s, 50))) {
        number += below(s, fields / wide) * wide;
    } else if (p.n) {
        static const struct {
            uint8_t at, wide;
        } parts[SAMPI_N_PARCELS][3] = { [SAMPI_PARCEL_TOP] = { { 0, 4 }, { 0, 4 }, { 0, 4 } },
                                        [SAMPI_PARCEL_LIST] = { { 0, 3 }, { 3, 4 }, { 3, 4 } },
                                        [SAMPI_PARCEL_HIST] = { { 0, 8 }, { 8, 3 }, { 0, 8 } },
                                        [SAMPI_PARCEL_RUNS] = { { 0, 3 }, { 3, 4 }, { 7, 3 } },
                                        [SAMPI_PARCEL_SEGS] = { { 0, 3 }, { 3, 8 }, { 11, 8 } },
                                        [SAMPI_PARCEL_RAW] = { { 0, 3 }, { 3, 4 }, { 3, 4 } },
                                        [SAMPI_PARCEL_LEFT] = { { 0, 3 }, { 3, 4 }, { 3, 4 } } };
        size_t part = below(s, 3);
        number = sampi_parcel_entry(&p, entry) + parts[p.kind][part].at;
        wide = parts[p.kind][part].wide;
    } else {
        return;
    }
    sampi_wire_put(number, other_number(s, sampi_wire_get(number, wide), wide, n_vocab), wide);
}

/* Numbers of merged messages, as they may be or not: ranks that are told the same go on alike. */
TEST(test_changed_parcels)
{
    const uint64_t n_cases = cases(200000, 3000);
    real_rows_load(REAL_ROWS_PATH);
    for (uint64_t i = 0; i < n_cases; i++) {
        source s = source_seed(test_seed() + 5000000 + i);
        world *w = begin_two(i % 5 ? TRAFFIC[i % TEST_COUNT(TRAFFIC)].chain : NULL, i, &s);
        unsigned char *bytes[MAX_RANKS];
        size_t n[MAX_RANKS] = { 0 }, quiet = below(&s, 4);
        for (unsigned round = 0;; round++) {
            for (size_t k = 0; k < 2; k++) bytes[k] = (unsigned char *)samp_shard_message(w->shard[k], &n[k]);
            assert_true(!bytes[0] == !bytes[1] && n[0] == n[1] && round < 300);
            if (!bytes[0]) break;
            assert_true(exchange(w, bytes, n, &s));
            if (round >= quiet && percent(&s, 60)) change_parcel(bytes[1], n[1], w->n_vocab, &s);
            memcpy(bytes[0], bytes[1], n[0]);
            int status = samp_shard_take(w->shard[0]);
            assert_int_equal(samp_shard_take(w->shard[1]), status);
        }
        end_two(w);
    }
}

/* ------------------------------------------------------------------------------------------------ callbacks
   Ranks are threads; what carries their messages is memory. */

typedef struct meeting {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    unsigned char *sum, *all;
    size_t n_ranks, come;
    int fail_round; /* the callbacks refuse the round of this number; -1: none */
} meeting;

typedef struct participant {
    meeting *m;
    world *w;
    size_t rank;
    int round;
    bool gathers;
} participant;

static int meet_reduce(void *user, void *bytes, size_t n, samp_merge merge)
{
    participant *p = (participant *)user;
    if (p->round++ == p->m->fail_round) return SAMP_E_DEVICE;
    pthread_mutex_lock(&p->m->lock);
    if (p->m->come++ == 0) {
        p->m->sum = (unsigned char *)malloc(n);
        memcpy(p->m->sum, bytes, n);
    } else {
        merge(p->m->sum, bytes, n);
    }
    pthread_mutex_unlock(&p->m->lock);
    pthread_barrier_wait(&p->m->barrier);
    memcpy(bytes, p->m->sum, n);
    if (pthread_barrier_wait(&p->m->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        free(p->m->sum);
        p->m->come = 0;
    }
    pthread_barrier_wait(&p->m->barrier);
    return 0;
}

static int meet_gather(void *user, const void *bytes, size_t n, void *all)
{
    participant *p = (participant *)user;
    if (p->round++ == p->m->fail_round) return 3; /* no status of ours */
    pthread_mutex_lock(&p->m->lock);
    if (p->m->come++ == 0) p->m->all = (unsigned char *)malloc(n * p->m->n_ranks);
    memcpy(p->m->all + p->rank * n, bytes, n);
    pthread_mutex_unlock(&p->m->lock);
    pthread_barrier_wait(&p->m->barrier);
    memcpy(all, p->m->all, n * p->m->n_ranks);
    if (pthread_barrier_wait(&p->m->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        free(p->m->all);
        p->m->come = 0;
    }
    pthread_barrier_wait(&p->m->barrier);
    return 0;
}

static void *take_part(void *user)
{
    participant *p = (participant *)user;
    samp_ranks ranks = { p->gathers ? NULL : meet_reduce, p->gathers ? meet_gather : NULL, p };
    world *w = p->w;
    w->status[p->rank] = samp_sample_sharded(w->shard[p->rank], &ranks, w->chain[p->rank], &w->slice[p->rank],
                                             w->out[p->rank]);
    return NULL;
}

/* All ranks of a world, each in its thread. */
static void meet(world *w, bool gathers, int fail_round)
{
    meeting m;
    participant p[MAX_RANKS];
    pthread_t thread[MAX_RANKS];
    memset(&m, 0, sizeof m);
    pthread_barrier_init(&m.barrier, NULL, (unsigned)w->n_ranks);
    pthread_mutex_init(&m.lock, NULL);
    m.n_ranks = w->n_ranks;
    m.fail_round = fail_round;
    for (size_t rank = 0; rank < w->n_ranks; rank++) {
        participant one = { &m, w, rank, 0, gathers };
        p[rank] = one;
        assert_int_equal(pthread_create(&thread[rank], NULL, take_part, &p[rank]), 0);
    }
    for (size_t rank = 0; rank < w->n_ranks; rank++) pthread_join(thread[rank], NULL);
    pthread_mutex_destroy(&m.lock);
    pthread_barrier_destroy(&m.barrier);
}

/* A batch of three groups, by either callback; then a round fails, and rows without a token are where they were. */
TEST(test_a_callback_fails)
{
    for (int run = 0; run < 4; run++) {
        source s = source_stream(500 + (uint64_t)run);
        world *w = (world *)calloc(1, sizeof *w);
        w->n_vocab = w->stride = 900;
        w->n_ranks = 3;
        w->n_rows = run < 2 ? 300 : 5;
        w->data = (char *)malloc(w->n_rows * w->n_vocab * sizeof(float));
        normal_row(&s, (float *)(void *)w->data, w->n_rows * w->n_vocab, 3.0);
        for (size_t r = 0; r < w->n_rows; r++)
            w->one[r] = r % 2 ? chain_from(DEFAULT) : chain_from("top_p 0.999; temp 0.8; dist 4");
        make_ranks(w, &s);
        samp_logits logits = whole(w);
        assert_int_equal(samp_sample_batch(w->one, &logits, w->want), SAMP_OK);
        meet(w, run % 2, run < 2 ? -1 : 2);
        for (size_t rank = 0; rank < 3; rank++) {
            assert_int_equal(w->status[rank], run < 2 ? SAMP_OK : SAMP_E_DEVICE);
            for (size_t r = 0; r < w->n_rows; r++) {
                bool done = run < 2 || r % 2; /* the usual chains have their tokens after two rounds */
                assert_int_equal(w->out[rank][r], done ? w->want[r] : SAMP_E_DEVICE);
                assert_int_equal(samp_get_position(w->chain[rank][r]), done);
            }
        }
        drop_world(w);
        free(w);
    }
}

/* ------------------------------------------------------------------------------------------------- grammars */

static const char *digit_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    (void)vocab;
    *n = token == 0 ? 0 : 1;
    return &text[(size_t)token % 36];
}

/* The token of a row that is one slice. */
static samp_token by_one_rank(samp_sampler *chain, const samp_logits *row)
{
    samp_shard *shard = samp_shard_init(row->n_vocab, 0, row->n_vocab, 1, NULL);
    samp_token token = -100;
    size_t n;
    assert_ok(samp_shard_begin(shard, &chain, row, &token));
    while (samp_shard_message(shard, &n)) assert_ok(samp_shard_take(shard));
    samp_shard_free(shard);
    return token;
}

/* top_k with ties has all tokens listed where more than the list is left, whatever cut stands before it: that one must
   not take it for top_k, of which the listed tokens are enough. */
TEST(test_ties_behind_a_cut)
{
    enum { N_TIED = 1000 };
    static float x[N_TIED];
    for (int i = 0; i < N_TIED; i++) x[i] = i == 700 ? 6.0f : 5.0f;
    for (int k = 0; k < 8; k++) {
        samp_sampler *cut = k % 4 == 0   ? samp_init_eta(0.3f, SIZE_MAX)
                            : k % 4 == 1 ? samp_init_top_p(0.999f, 0)
                            : k % 4 == 2 ? samp_init_min_p(0.01f, 600)
                                         : samp_init_typical(0.999f, 0);
        samp_sampler *chain = chain_of(cut, samp_init_top_k_ties(k < 4 ? 1 : 30), samp_init_dist(5)), *whole;
        samp_token token, want;
        whole = samp_clone(chain);
        want = samp_sample(whole, x, N_TIED);
        samp_logits rows = { .data = x, .n_rows = 1, .n_vocab = N_TIED };
        token = by_one_rank(chain, &rows);
        assert_true(want >= 0 && token == want);
        samp_free(chain), samp_free(whole);
    }
}

/* What a grammar masks may be no number, unless raw log-probabilities are asked for, which are of all logits. In one
   piece and in slices, and nothing has changed. */
TEST(test_grammar_over_nan)
{
    static const float bad[] = { 3.0f, NAN, INFINITY, -INFINITY };
    samp_vocab vocab = { 10, digit_bytes, NULL, NULL, NULL, 0, -1, -1 };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    own_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= [0-4]*", NULL, NULL);
    for (int k = 0; k < 16; k++) {
        own_sampler *chain = chain_of(samp_init_grammar(index, grammar), samp_init_dist(5), NULL);
        samp_logprob top[2][3];
        samp_logprobs lp;
        memset(&lp, 0, sizeof lp);
        lp.raw.n_top = lp.processed.n_top = 3;
        lp.raw.top_logprobs = top[0];
        lp.processed.top_logprobs = top[1];
        float x[10];
        for (int i = 0; i < 10; i++) x[i] = (float)(i % 5);
        x[7] = bad[k % 4];
        samp_logits rows = { .data = x, .n_rows = 1, .n_vocab = 10, .logprobs = k % 8 < 4 ? NULL : &lp };
        samp_token token = -100;
        if (k < 8)
            assert_ok(samp_sample_batch(&chain, &rows, &token));
        else
            token = by_one_rank(chain, &rows);
        if (rows.logprobs && k % 4 % 3) {
            assert_status(token, SAMP_E_NAN);
            assert_u64(samp_get_position(chain), 0);
        } else {
            assert_true(token >= 0 && token < 5);
            if (rows.logprobs) assert_num(lp.raw.chosen.token, token);
            if (rows.logprobs) assert_true(lp.raw.chosen.logprob < 0.0f && lp.raw.n_top_found == 3);
        }
    }
}

/* A grammar in front is in the mask of whichever slice holds the token, wherever that begins. */
TEST(test_grammar)
{
    static const samp_token ends[] = { 0 };
    samp_vocab vocab = { 36 * 5, digit_bytes, NULL, NULL, ends, 1, 0, -1 };
    int status;
    own_index *index = samp_vocab_index_init(&vocab, &status);
    own_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= ([0-9] [x-z])*", NULL, NULL);
    assert_non_null(index);
    assert_non_null(grammar);
    for (uint64_t i = 0; i < 20; i++) {
        source s = source_stream(700 + i);
        world *w = (world *)calloc(1, sizeof *w);
        w->n_vocab = w->stride = 36 * 5;
        w->n_ranks = RANKS[i % TEST_COUNT(RANKS)];
        w->n_rows = 3;
        w->data = (char *)malloc(w->n_rows * w->n_vocab * sizeof(float));
        normal_row(&s, (float *)(void *)w->data, w->n_rows * w->n_vocab, 2.0);
        w->one[0] = chain_of(samp_init_grammar(index, grammar), samp_init_temp(0.7f), samp_init_dist(i));
        w->one[1] = chain_of(samp_init_grammar(index, grammar), samp_init_top_k(5), samp_init_dist(i));
        w->one[2] = chain_from("dist 3");
        make_ranks(w, &s);
        for (int step = 0; step < 4; step++) play_batch(w, &s, "grammar", i);
        assert_true(w->want[0] >= 0);
        drop_world(w);
        free(w);
    }
    /* a trigger that the grammar does not go on with is masked; a row that is longer than its vocabulary, also while the
       grammar waits; and a row that is shorter */
    static const char *const words[] = { "a" };
    for (uint64_t i = 0; i < 10; i++) {
        source s = source_stream(730 + i);
        world *w = (world *)calloc(1, sizeof *w);
        w->n_vocab = w->stride = i >= 6 ? 36 * 5 - 1 : 36 * 5 + (i >= 2 ? 40 : 0);
        w->n_ranks = 2;
        w->n_rows = 2;
        w->data = (char *)malloc(w->n_rows * w->n_vocab * sizeof(float));
        normal_row(&s, (float *)(void *)w->data, w->n_rows * w->n_vocab, 2.0);
        ((float *)(void *)w->data)[i < 4 || i >= 6 ? 10 : 36 * 5 + 30] = 30.0f; /* "a" */
        w->one[0] = i / 2 == 1 || i / 2 == 4 ? chain_of(samp_init_grammar(index, grammar), samp_init_dist(i), NULL)
                                             : chain_of(samp_init_grammar_lazy(index, grammar, words, 1, NULL, 0),
                                                        samp_init_dist(i), NULL);
        w->one[1] = chain_from("dist 3");
        if (i % 2) make_told(w, &s);
        make_ranks(w, &s);
        play_batch(w, &s, "a grammar that refuses", i);
        assert_true(i < 6 ? w->want[0] >= 0 && w->want[0] < 36 * 5 && w->want[0] != 10 : w->want[0] == SAMP_E_RANGE);
        drop_world(w);
        free(w);
    }
}

/* Ranks whose grammars are not the same do not agree, however little these differ. */
TEST(test_other_grammars)
{
    static const char *const texts[][2] = {
        { "{\"properties\":{\"a\":true,\"b\":true},\"required\":[\"a\"]}",
          "{\"properties\":{\"a\":true,\"b\":true},\"required\":[\"b\"]}" },
        { "{\"properties\":{\"a\":true,\"b\":true,\"c\":true},\"additionalProperties\":false,\"minProperties\":1}",
          "{\"properties\":{\"a\":true,\"b\":true,\"c\":true},\"additionalProperties\":false,\"minProperties\":2}" },
        { "{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#/$defs/"
          "r\"}],\"$defs\":{\"r\":{\"items\":{\"$ref\":\"#\"}}}}",
          "{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#/$defs/r\"}],\"$defs\":{\"r\":{\"items\":false}}}" },
    };
    samp_vocab vocab = { 36, digit_bytes, NULL, NULL, NULL, 0, -1, -1 };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    for (size_t i = 0; i < TEST_COUNT(texts) * 3; i++) {
        float x[36] = { 0 };
        samp_shard *shard[2];
        samp_sampler *chain[2];
        samp_grammar *grammar[2];
        samp_token out[2] = { -100, -100 };
        unsigned char *bytes[2];
        size_t n[2];
        const size_t other = i / TEST_COUNT(texts); /* neither, the first's or the second's */
        for (size_t rank = 0; rank < 2; rank++) {
            grammar[rank] = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA,
                                              texts[i % TEST_COUNT(texts)][other == rank + 1], NULL, NULL);
            chain[rank] = chain_of(samp_init_grammar(index, grammar[rank]), samp_init_dist(5), NULL);
            shard[rank] = samp_shard_init(36, 18 * rank, 18, 2, NULL);
            samp_logits slice = { .data = x, .n_rows = 1, .n_vocab = 18 };
            assert_ok(samp_shard_begin(shard[rank], &chain[rank], &slice, &out[rank]));
            bytes[rank] = (unsigned char *)samp_shard_message(shard[rank], &n[rank]);
        }
        assert_u64(n[0], n[1]);
        samp_shard_merge(bytes[0], bytes[1], n[0]);
        memcpy(bytes[1], bytes[0], n[0]);
        int status = samp_shard_take(shard[0]);
        assert_status(samp_shard_take(shard[1]), status);
        if (other)
            assert_status(status, SAMP_E_FORMAT);
        else
            assert_ok(status);
        for (size_t rank = 0; rank < 2; rank++) {
            samp_shard_free(shard[rank]);
            samp_free(chain[rank]);
            samp_grammar_free(grammar[rank]);
        }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
