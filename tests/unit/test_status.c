/* test_status.c - every bad input and what it answers; and that after an error nothing has changed: the
   sequence that follows is that of a clone which never saw the error. */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/test.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#define KINDS 2  /* SAMP_RNG_PHILOX, SAMP_RNG_MT19937 */
enum { N = 48 }; /* the vocabulary of most tests here */

/* ------------------------------------------------------------------------------------------------ helpers */

#include "tests/support/makers.h"

static void good_row(float *logits, uint64_t i) { test_row(logits, N, 1000 + i, 1.5, i % N); }

/* The two continue alike: the same tokens, positions, counters, last tokens. */
static void assert_alike(samp_sampler *a, samp_sampler *b, int steps, const char *what)
{
    samp_perf_data a0 = samp_perf(a), b0 = samp_perf(b);
    for (int i = 0; i < steps; i++) {
        float logits[N];
        samp_token x, y, last_x[200], last_y[200];
        samp_perf_data p = samp_perf(a), q = samp_perf(b);
        size_t n = samp_prev(a, last_x, 200), m = samp_prev(b, last_y, 200);
        if (samp_get_position(a) != samp_get_position(b))
            test_fail(__FILE__, __LINE__, "%s, step %d: positions %llu and %llu", what, i,
                      (unsigned long long)samp_get_position(a), (unsigned long long)samp_get_position(b));
        if (p.n_sample - a0.n_sample != q.n_sample - b0.n_sample ||
            p.n_accept - a0.n_accept != q.n_accept - b0.n_accept)
            test_fail(__FILE__, __LINE__, "%s, step %d: the counters differ", what, i);
        if (samp_last(a) != samp_last(b) || n != m || memcmp(last_x, last_y, n * sizeof *last_x))
            test_fail(__FILE__, __LINE__, "%s, step %d: the last tokens differ", what, i);
        good_row(logits, 500 + (uint64_t)i);
        x = samp_sample(a, logits, N);
        y = samp_sample(b, logits, N);
        if (x != y || x < 0)
            test_fail(__FILE__, __LINE__, "%s, step %d: token %d, the other's %d", what, i, (int)x, (int)y);
    }
}

/* -------------------------------------------------------------------------------------- samp_sample, rows */

TEST(test_sample_statuses)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_SELECTORS; k++)
            for (int draw = 0; draw < 2; draw++) {
                samp_token (*take)(samp_sampler *, const float *, size_t) = draw ? samp_draw : samp_sample;
                own_sampler *s = chain_of_stages(selectors[k], (samp_rng_kind)kind);
                float logits[N];
                good_row(logits, 1);
                assert_status(take(NULL, logits, N), SAMP_E_NULL);
                assert_status(take(s, NULL, N), SAMP_E_NULL);
                assert_status(take(s, logits, 0), SAMP_E_EMPTY);
                assert_status(take(s, logits, SAMP_MAX_VOCAB + 1), SAMP_E_RANGE);
                assert_status(take(s, logits, SIZE_MAX), SAMP_E_RANGE);
                for (size_t i = 0; i < N; i++) { /* NaN of either sign and +infinity at each index */
                    for (int bad = 0; bad < 4; bad++) {
                        static const uint32_t bits[4] = { 0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7f800000u };
                        float keep = logits[i];
                        logits[i] = float_from(bits[bad]);
                        assert_status(take(s, logits, N), SAMP_E_NAN);
                        logits[i] = keep;
                    }
                }
                for (size_t i = 0; i < N; i++) logits[i] = -INFINITY;
                assert_status(take(s, logits, N), SAMP_E_EMPTY);
                assert_status(take(s, logits, 1), SAMP_E_EMPTY);
                logits[N - 1] = NAN; /* the rest masked */
                assert_status(take(s, logits, N), SAMP_E_NAN);
                assert_u64(samp_get_position(s), 0);
                assert_u64(samp_perf(s).n_sample, 0);
                assert_u64(samp_perf(s).n_accept, 0);
                good_row(logits, 1);
                assert_true(take(s, logits, N) >= 0);
            }
}

/* All but one masked: that one, at every index; it is not the error's fault that there is no choice. */
TEST(test_one_left)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_SELECTORS; k++) {
            own_sampler *s = chain_of_stages(selectors[k], (samp_rng_kind)kind);
            float logits[N];
            for (samp_token i = 0; i < N; i++) {
                if (i == 5) continue; /* banned by the bias */
                for (int j = 0; j < N; j++) logits[j] = -INFINITY;
                logits[i] = -3e38f;
                assert_num(samp_sample(s, logits, N), i);
            }
            for (int j = 0; j < N; j++) logits[j] = -INFINITY;
            logits[5] = 1.0f; /* unmasked in the row, masked by the chain */
            assert_status(samp_sample(s, logits, N), SAMP_E_EMPTY);
        }
}

/* Nothing that selects. */
TEST(test_unsupported)
{
    float logits[N];
    good_row(logits, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        own_sampler *s = samp_chain_init();
        assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
        assert_status(samp_sample(s, logits, N), SAMP_E_UNSUPPORTED);
        assert_ok(samp_chain_add(s, make_xtc()));
        assert_ok(samp_chain_add(s, make_penalties()));
        assert_ok(samp_chain_add(s, make_top_k()));
        assert_status(samp_sample(s, logits, N), SAMP_E_UNSUPPORTED);
        assert_status(samp_draw(s, logits, N), SAMP_E_UNSUPPORTED);
        assert_u64(samp_get_position(s), 0);
        assert_u64(samp_perf(s).n_sample, 0);
        assert_status(samp_last(s), SAMP_E_EMPTY);
        /* and with one behind it, the sequence is as if that had not happened */
        own_sampler *fresh = samp_chain_init();
        assert_ok(samp_set_rng(fresh, (samp_rng_kind)kind));
        assert_ok(samp_chain_add(fresh, make_xtc()));
        assert_ok(samp_chain_add(fresh, make_penalties()));
        assert_ok(samp_chain_add(fresh, make_top_k()));
        assert_ok(samp_chain_add(s, make_dist()));
        assert_ok(samp_chain_add(fresh, make_dist()));
        assert_alike(s, fresh, 30, "after SAMP_E_UNSUPPORTED");
    }
    for (size_t k = 0; k < N_ALL; k++) { /* alone: those that select, and those that do not */
        own_sampler *s = all[k]();
        samp_token token = samp_sample(s, logits, N);
        if (k >= N_NOT_SELECTING)
            assert_in_range(token, 0, N - 1);
        else
            assert_status(token, SAMP_E_UNSUPPORTED);
    }
}

/* One row, on each way to a token: all of them give tokens, or none does and the position stays. */
static void all_or_none(samp_sampler *s, const float *logits, bool draws)
{
    samp_token token[4], drafted = 3, out[2];
    samp_draft draft = { 1, &drafted, NULL, NULL, 0, NULL };
    samp_logits batch = { 0 };
    samp_token_data data[N];
    samp_token_data_array cur = test_array(data, logits, N);
    uint64_t position = samp_get_position(s);
    batch.data = logits;
    batch.n_rows = 1;
    batch.n_vocab = N;
    token[0] = samp_sample(s, logits, N);
    token[1] = samp_draw(s, logits, N);
    assert_ok(samp_sample_batch(&s, &batch, &token[2]));
    token[3] = samp_verify(s, logits, N, &draft, SAMP_VERIFY_EXACT, out);
    for (int i = 0; i < 4; i++) {
        if (draws)
            assert_in_range(token[i], 0, N - 1);
        else
            assert_status(token[i], SAMP_E_UNSUPPORTED);
    }
    if (!draws) assert_u64(samp_get_position(s), position);
    assert_ok(samp_apply(s, &cur));
    assert_num(cur.selected >= 0, draws);
}

/* What does not select stands behind what does: the chain gives no token from any row or, if it is off or another one
   selects behind it, from every row. */
TEST(test_behind_selection)
{
    for (size_t k = 0; k < N_ALL; k++)
        for (size_t j = 0; j < N_SELECTORS; j++)
            for (int last = 0; last < 3; last++) {
                if (all[k] == make_replay) break; /* its token may be none that is left */
                own_sampler *s = samp_chain_init();
                bool selects = last == 1 || k >= N_NOT_SELECTING;
                assert_ok(samp_chain_add(s, all[k]()));
                assert_ok(samp_chain_insert(s, 0, selectors[j]())); /* what is there already is not asked */
                if (last == 1) assert_ok(samp_chain_add(s, make_greedy()));
                if (last == 2) assert_ok(samp_chain_add(s, samp_init_top_k(0))); /* off */
                for (int row = 0; row < 4 * 4; row++) {                          /* peaked, flat, in order, random */
                    float logits[2 * N];
                    good_row(logits, (uint64_t)row);
                    good_row(logits + N, (uint64_t)row + 1);
                    for (int i = 0; i < 2 * N && row % 4 < 3; i++) {
                        const float x[3] = { i % N == row ? 50.0f : 0.0f, 1.0f, 20.0f - 0.1f * (float)(i % N) };
                        logits[i] = x[row % 4];
                    }
                    all_or_none(s, logits, selects);
                }
            }
}

/* ------------------------------------------------------------------------------------- samp_apply, arrays */

TEST(test_apply_statuses)
{
    static const uint32_t bits[4] = { 0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7f800000u };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k <= N_ALL; k++) {
            own_sampler *s = k < N_ALL ? all[k]() : chain_of_stages(make_dist, (samp_rng_kind)kind);
            samp_token_data data[N], before[N];
            float logits[N];
            samp_token_data_array cur;
            assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
            good_row(logits, 3);
            cur = test_array(data, logits, N);
            memcpy(before, data, sizeof data);
            assert_status(samp_apply(NULL, &cur), SAMP_E_NULL);
            assert_status(samp_apply(s, NULL), SAMP_E_NULL);
            cur.data = NULL;
            assert_status(samp_apply(s, &cur), SAMP_E_NULL);
            cur.data = data;
            cur.size = 0;
            assert_status(samp_apply(s, &cur), SAMP_E_EMPTY);
            cur.size = SAMP_MAX_VOCAB + 1;
            assert_status(samp_apply(s, &cur), SAMP_E_RANGE);
            assert_num(cur.size, SAMP_MAX_VOCAB + 1);
            cur.size = N;
            for (size_t i = 0; i < N; i++)
                for (int bad = 0; bad < 4; bad++) {
                    float keep = data[i].logit;
                    data[i].logit = before[i].logit = float_from(bits[bad]);
                    cur.selected = 7;
                    test_status_(samp_apply(s, &cur), SAMP_E_NAN, samp_name(s), __FILE__, __LINE__);
                    assert_memory_equal(before, data, sizeof data); /* checked before the first write */
                    assert_num(cur.size, N);
                    assert_num(cur.selected, 7);
                    assert_false(cur.sorted);
                    data[i].logit = before[i].logit = keep;
                }
            for (size_t i = 0; i < N; i++) data[i].logit = before[i].logit = -INFINITY;
            test_status_(samp_apply(s, &cur), SAMP_E_EMPTY, samp_name(s), __FILE__, __LINE__);
            assert_memory_equal(before, data, sizeof data);
            assert_num(cur.size, N);
            assert_u64(samp_get_position(s), 0);
        }
}

/* -------------------------------------------------------------------------------------------------- NULLs */

TEST(test_nulls)
{
    const char *field = "x";
    char buf[8] = "untoucd";
    samp_token token;
    samp_perf_data perf = samp_perf(NULL);
    own_sampler *chain = samp_chain_init(), *plain = make_dist();
    assert_status(samp_accept(NULL, 1), SAMP_E_NULL);
    assert_status(samp_accept(chain, -1), SAMP_E_RANGE);
    assert_status(samp_accept(plain, INT32_MIN), SAMP_E_RANGE);
    assert_status(samp_chain_add(chain, NULL), SAMP_E_NULL);
    assert_true(samp_chain_get(NULL, 0) == NULL);
    assert_num(samp_chain_n(NULL), 0);
    assert_true(samp_chain_remove(NULL, 0) == NULL);
    assert_status(samp_status(NULL, &field), SAMP_E_NULL);
    assert_status(samp_set_rng(NULL, SAMP_RNG_PHILOX), SAMP_E_NULL);
    assert_status(samp_set_rng(plain, (samp_rng_kind)2), SAMP_E_RANGE);
    assert_status(samp_set_rng(plain, (samp_rng_kind)-1), SAMP_E_RANGE);
    assert_u64(samp_get_seed(NULL), 0);
    assert_u64(samp_get_position(NULL), 0);
    assert_status(samp_set_position(NULL, 1), SAMP_E_NULL);
    assert_num(samp_prev(NULL, &token, 1), 0);
    assert_true(samp_last(NULL) < 0);
    assert_status(samp_set_n_prev(NULL, 1), SAMP_E_NULL);
    assert_true(perf.n_sample == 0 && perf.n_accept == 0 && perf.t_sample_ns == 0);
    samp_perf_reset(NULL);
    assert_status(samp_describe(NULL, buf, sizeof buf), SAMP_E_NULL);
    assert_status(samp_describe(plain, NULL, 5), SAMP_E_NULL);
    assert_text(buf, "untoucd");
    assert_non_null(samp_name(NULL));
    samp_reset(NULL);
    assert_true(samp_clone(NULL) == NULL);
    samp_free(NULL);
    assert_status(samp_reserve(NULL, 10), SAMP_E_NULL);
    assert_status(samp_reserve(plain, SAMP_MAX_VOCAB + 1), SAMP_E_RANGE);
    assert_status(samp_check_params(NULL, &field), SAMP_E_NULL);
}

TEST(test_set_n_prev_range)
{
    own_sampler *chain = samp_chain_init();
    for (samp_token t = 0; t < 10; t++) assert_ok(samp_accept(chain, t));
    assert_status(samp_set_n_prev(chain, ((size_t)1 << 20) + 1), SAMP_E_RANGE);
    assert_status(samp_set_n_prev(chain, SIZE_MAX), SAMP_E_RANGE);
    assert_num(samp_last(chain), 9); /* not forgotten by a call that failed */
    assert_ok(samp_set_n_prev(chain, (size_t)1 << 20));
    assert_status(samp_last(chain), SAMP_E_EMPTY);
}

TEST(test_strerror)
{
#define TEXT(name, value, text) \
    assert_text(samp_strerror(name), text); \
    assert_num(name, value);
    SAMP_STATUS_LIST(TEXT)
#undef TEXT
    for (int i = 0; i >= SAMP_STATUS_LAST; i--)
        for (int j = 0; j > i; j--) assert_true(strcmp(samp_strerror(i), samp_strerror(j)) != 0);
    assert_num(SAMP_STATUS_LAST, SAMP_E_ADDRESS);
    static const int unknown[] = { 1, 108, INT_MAX, SAMP_STATUS_LAST - 1, INT_MIN };
    for (size_t i = 0; i < TEST_COUNT(unknown); i++) {
        assert_non_null(samp_strerror(unknown[i]));
        assert_text(samp_strerror(unknown[i]), unknown[i] > 0 ? "ok" : "unknown status"); /* a token is a success */
    }
}

/* -------------------------------------------------------------------------------------- bad constructions */

/* What a constructor was given makes an object which carries status and field, and tells it at every use. */
static void tells(samp_sampler *s, int status, const char *field, int row)
{
    const int line = __LINE__;
    const char *got = "unset";
    char expr[80];
    float logits[N];
    samp_token_data data[N], before[N];
    samp_sampler *chain, *clone;
    samp_token_data_array cur;
    good_row(logits, 4);
    cur = test_array(data, logits, N);
    memcpy(before, data, sizeof data);
    snprintf(expr, sizeof expr, "row %d, %s", row, samp_name(s));
    if (!s) test_fail(__FILE__, line, "%s is NULL", expr);
    test_status_(samp_status(s, &got), status, expr, __FILE__, line);
    test_text_(got, field, expr, __FILE__, line);
    test_status_(samp_status(s, NULL), status, expr, __FILE__, line);
    test_status_(samp_apply(s, &cur), status, expr, __FILE__, line);
    assert_memory_equal(before, data, sizeof data);
    test_status_(samp_sample(s, logits, N), status, expr, __FILE__, line);
    test_status_(samp_draw(s, logits, N), status, expr, __FILE__, line);
    clone = samp_clone(s); /* a copy of it is as bad */
    if (!clone) test_fail(__FILE__, line, "clone of %s is NULL", expr);
    got = "unset";
    test_status_(samp_status(clone, &got), status, expr, __FILE__, line);
    test_text_(got, field, expr, __FILE__, line);
    samp_free(clone);
    samp_reset(s);
    test_status_(samp_status(s, NULL), status, expr, __FILE__, line);

    /* it poisons its chain, and the chain around that, until it is removed */
    chain = samp_chain_init();
    own_sampler *outer = samp_chain_init();
    assert_ok(samp_chain_add(outer, chain));
    assert_ok(samp_chain_add(chain, make_top_k()));
    test_status_(samp_chain_add(chain, s), status, expr, __FILE__, line);
    assert_ok(samp_chain_add(chain, make_dist()));
    assert_num(samp_chain_n(chain), 3);
    for (int i = 0; i < 2; i++) {
        samp_sampler *c = i ? outer : chain;
        got = "unset";
        test_status_(samp_status(c, &got), status, expr, __FILE__, line);
        test_text_(got, field, expr, __FILE__, line);
        test_status_(samp_sample(c, logits, N), status, expr, __FILE__, line);
        test_status_(samp_draw(c, logits, N), status, expr, __FILE__, line);
        test_status_(samp_apply(c, &cur), status, expr, __FILE__, line);
        assert_memory_equal(before, data, sizeof data);
        assert_u64(samp_get_position(c), 0);
        assert_u64(samp_perf(c).n_sample, 0);
    }
    assert_true(samp_chain_remove(chain, 1) == s);
    got = "unset";
    assert_ok(samp_status(chain, &got));
    assert_ok(samp_status(outer, &got));
    test_status_(samp_status(s, NULL), status, expr, __FILE__, line);
    assert_true(samp_sample(outer, logits, N) >= 0);
    samp_free(s);
}

static const float least_temp = 9.5367431640625e-7f, most_temp = 1048576.0f; /* 2^-20, 2^20 */
static const samp_token exempt[] = { 3, -1, SAMP_MAX_VOCAB };
static const samp_logit_bias three[1] = { { 3, 1.0f } }, low[1] = { { -1, 1.0f } }, high[1] = { { 10, 1.0f } };
static const samp_logit_bias nan_bias[2] = { { 1, 1.0f }, { 2, NAN } };
static const char *const breakers[] = { "a", "\n" }, *const hole[] = { "a", NULL }, *const nothing[] = { "a", "" };
static const samp_vocab letter_vocab = { 36, test_letters, NULL, NULL, NULL, 0, -1, -1 };
static const samp_vocab no_texts = { 36, NULL, NULL, NULL, NULL, 0, -1, -1 };

/* What test_ranges.c, which refuses each number outside its range, cannot have of the table of functions: lists, what one
   argument asks of another, a hole in a range, and that what is off is read all the same. */
TEST(test_bad_arguments)
{
    const size_t most = SAMP_MAX_VOCAB;
    const float below_least = nextafterf(least_temp, 0);
    const struct {
        samp_sampler *made;
        int status;
        const char *field;
    } bad[] = {
        { samp_init_top_p(-0.0f, 0), SAMP_E_RANGE, "top_p" },
        { samp_init_min_k(INFINITY), SAMP_E_RANGE, "min_k" },
        { samp_init_temp(1e-45f), SAMP_E_RANGE, "temp" },
        { samp_init_temp(below_least), SAMP_E_RANGE, "temp" },
        { samp_init_temp_ext(1e-7f, 0.5f, 1.0f), SAMP_E_RANGE, "temp" },
        { samp_init_xtc(0.0f, NAN, 0, 0), SAMP_E_NAN, "xtc_threshold" }, /* off is no excuse */
        { samp_init_penalties(0, NAN, 0, 0), SAMP_E_NAN, "penalty_repeat" },
        { samp_init_xtc_except(0.5f, 0.1f, 0, 0, NULL, 1), SAMP_E_NULL, "exempt" },
        { samp_init_xtc_except(0.5f, 0.1f, 0, 0, exempt, 2), SAMP_E_RANGE, "exempt" },
        { samp_init_xtc_except(0.5f, 0.1f, 0, 0, exempt + 2, 1), SAMP_E_RANGE, "exempt" },
        { samp_init_xtc_except(0.5f, 0.1f, 0, 0, exempt, most + 1), SAMP_E_RANGE, "exempt" },
        { samp_init_logit_bias(10, 1, NULL), SAMP_E_NULL, "logit_bias" },
        { samp_init_logit_bias(10, 1, low), SAMP_E_RANGE, "logit_bias" },
        { samp_init_logit_bias(10, 1, high), SAMP_E_RANGE, "logit_bias" },
        { samp_init_logit_bias(10, 2, nan_bias), SAMP_E_NAN, "logit_bias" },
        { samp_init_dry(&letter_vocab, 64, 0.0f, NAN, 2, -1, breakers, 2), SAMP_E_NAN, "dry_base" },
        { samp_init_dry(NULL, 64, 1.0f, 1.75f, 2, -1, breakers, 2), SAMP_E_NULL, "vocab" },
        { samp_init_dry(&no_texts, 64, 1.0f, 1.75f, 2, -1, breakers, 2), SAMP_E_NULL, "vocab" },
        { samp_init_dry(&letter_vocab, 64, 1.0f, 1.75f, 2, -1, NULL, 2), SAMP_E_NULL, "dry_breakers" },
        { samp_init_dry(&letter_vocab, 64, 1.0f, 1.75f, 2, -1, hole, 2), SAMP_E_NULL, "dry_breakers" },
        { samp_init_dry(&letter_vocab, 64, 1.0f, 1.75f, 2, -1, nothing, 2), SAMP_E_RANGE, "dry_breakers" },
        { samp_init_mirostat(0, 1, 5, 0.1f, 100), SAMP_E_RANGE, "n_vocab" },
        { samp_init_adaptive_p(0.5f, NAN, 1), SAMP_E_NAN, "adaptive_decay" },
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) tells(bad[i].made, bad[i].status, bad[i].field, (int)i);
    const samp_logit_bias infinite[1] = { { 2, INFINITY } };
    own_sampler *s = samp_init_logit_bias(10, 1, infinite);
    assert_true(samp_status(s, NULL) < 0);
}

TEST(test_good_arguments)
{
    samp_sampler *const good[] = {
        samp_init_top_p(1.0f, SIZE_MAX),
        samp_init_min_p(-0.0f, 0),
        samp_init_min_k(FLT_MAX),
        samp_init_top_n_sigma(-1.0f),
        samp_init_top_n_sigma(FLT_MAX),
        samp_init_top_k(INT32_MIN),
        samp_init_top_k_ties(INT32_MIN),
        samp_init_top_k_ties(INT32_MAX),
        samp_init_xtc_except(0.5f, 0.1f, 0, 0, exempt, 1),
        samp_init_temp(least_temp),
        samp_init_temp_ext(0.0f, most_temp, 1000.0f),
        samp_init_temp_ext(most_temp, most_temp, 0.0f),
        samp_init_mirostat(INT32_MAX, 1, 0, 0, INT32_MAX),
        samp_init_mirostat_v2(1, 1e38f, FLT_MAX),
        samp_init_adaptive_p(-1.0f, 0.9f, 1),
        samp_init_logit_bias(10, 0, NULL),
        samp_init_logit_bias(4, 1, three),
        samp_init_penalties(1, 1e-45f, -FLT_MAX, FLT_MAX),
        samp_init_penalties(1, FLT_MAX, FLT_MAX, -FLT_MAX),
        samp_init_dry(NULL, 64, 1.0f, 1.75f, 2, -1, NULL, 0),
        samp_init_dry(NULL, 64, 0.0f, 1.75f, 2, -1, breakers, 2), /* off: no vocabulary is needed */
        samp_init_dry(NULL, 64, 1.0f, 1.75f, 2, 0, breakers, 2),
        samp_init_dry(&letter_vocab, 64, 1.0f, 1.0f, 0, -1, breakers, 2),
        samp_init_dry(&letter_vocab, 8, 1.0f, 1.75f, 2, 1 << 22, breakers, 2),
        samp_init_dry(&letter_vocab, 1 << 22, 1.0f, 1.75f, 2, 8, breakers, 2),
    };
    for (size_t i = 0; i < TEST_COUNT(good); i++) {
        if (samp_status(good[i], NULL)) test_fail(__FILE__, __LINE__, "row %d: %s", (int)i, samp_name(good[i]));
        samp_free(good[i]);
    }
}

static int apply_nothing(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_OK;
}

TEST(test_bad_custom)
{
    samp_sampler_i iface;
    memset(&iface, 0, sizeof iface);
    own_sampler *s = samp_init_custom(NULL, NULL), *t = samp_init_custom(&iface, NULL);
    assert_status(samp_status(s, NULL), SAMP_E_NULL);
    assert_status(samp_status(t, NULL), SAMP_E_NULL);
    samp_free(s);
    samp_free(t);
    /* a context that nobody can copy */
    iface.apply = apply_nothing;
    int context = 3;
    s = samp_init_custom(&iface, &context);
    assert_ok(samp_status(s, NULL));
    t = samp_clone(s);
    assert_non_null(t);
    assert_status(samp_status(t, NULL), SAMP_E_UNSUPPORTED);
    samp_free(t);
    samp_sampler *chain = new_chain(s, make_dist());
    t = samp_clone(chain);
    assert_non_null(t);
    assert_status(samp_status(t, NULL), SAMP_E_UNSUPPORTED);
    float logits[N];
    good_row(logits, 5);
    assert_status(samp_sample(t, logits, N), SAMP_E_UNSUPPORTED);
    assert_true(samp_sample(chain, logits, N) >= 0);
    samp_free(t);
    samp_free(chain);
    /* without a context there is nothing to copy */
    s = samp_init_custom(&iface, NULL);
    t = samp_clone(s);
    assert_ok(samp_status(t, NULL));
}

/* The first error of several is the chain's. */
TEST(test_first_error)
{
    const char *field = NULL;
    samp_sampler *chain = samp_chain_init(), *inner = samp_chain_init();
    assert_ok(samp_chain_add(chain, make_top_k()));
    assert_ok(samp_chain_add(chain, inner));
    assert_status(samp_chain_add(inner, samp_init_top_p(NAN, 0)), SAMP_E_NAN);
    assert_status(samp_chain_add(chain, samp_init_temp(-1)), SAMP_E_RANGE);
    assert_ok(samp_chain_add(chain, make_dist()));
    assert_status(samp_status(chain, &field), SAMP_E_NAN);
    assert_text(field, "top_p");
    samp_free(samp_chain_remove(inner, 0));
    assert_status(samp_status(chain, &field), SAMP_E_RANGE);
    assert_text(field, "temp");
    samp_sampler *copy = samp_clone(chain);
    assert_status(samp_status(copy, &field), SAMP_E_RANGE);
    assert_text(field, "temp");
    samp_free(copy);
    samp_free(samp_chain_remove(chain, 2));
    assert_ok(samp_status(chain, NULL));
    samp_free(chain);
}

/* ------------------------------------------------------------------------ after an error: nothing changed */

/* One kind of error each; all are to fail on s. */
static void provoke(samp_sampler *s, int which, const float *row)
{
    float logits[N];
    samp_token_data data[N];
    samp_token_data_array cur;
    memcpy(logits, row, sizeof logits);
    switch (which) {
        case 0: assert_status(samp_sample(s, NULL, N), SAMP_E_NULL); break;
        case 1: assert_status(samp_sample(s, logits, 0), SAMP_E_EMPTY); break;
        case 2: assert_status(samp_sample(s, logits, SAMP_MAX_VOCAB + 1), SAMP_E_RANGE); break;
        case 3:
            logits[0] = NAN;
            assert_status(samp_sample(s, logits, N), SAMP_E_NAN);
            break;
        case 4:
            logits[N - 1] = INFINITY;
            assert_status(samp_draw(s, logits, N), SAMP_E_NAN);
            break;
        case 5:
            for (int i = 0; i < N; i++) logits[i] = -INFINITY;
            assert_status(samp_sample(s, logits, N), SAMP_E_EMPTY);
            break;
        case 6: /* only the banned token is left */
            for (int i = 0; i < N; i++) logits[i] = i == 5 ? 1.0f : -INFINITY;
            assert_status(samp_sample(s, logits, N), SAMP_E_EMPTY);
            break;
        case 7: assert_status(samp_accept(s, -1), SAMP_E_RANGE); break;
        case 8: assert_status(samp_set_rng(s, (samp_rng_kind)9), SAMP_E_RANGE); break;
        case 9: assert_status(samp_set_n_prev(s, SIZE_MAX), SAMP_E_RANGE); break;
        case 10: assert_status(samp_reserve(s, SAMP_MAX_VOCAB + 1), SAMP_E_RANGE); break;
        case 11:
            cur = test_array(data, logits, N);
            data[N / 2].logit = NAN;
            assert_status(samp_apply(s, &cur), SAMP_E_NAN);
            break;
        case 12: assert_status(samp_apply(s, NULL), SAMP_E_NULL); break;
        case 13:
            cur = test_array(data, logits, 0);
            assert_status(samp_apply(s, &cur), SAMP_E_EMPTY);
            break;
        case 14: { /* a bad sampler passes through */
            int32_t n = samp_chain_n(s);
            assert_status(samp_chain_add(s, samp_init_temp(-1)), SAMP_E_RANGE);
            assert_status(samp_sample(s, logits, N), SAMP_E_RANGE);
            assert_status(samp_draw(s, logits, N), SAMP_E_RANGE);
            samp_free(samp_chain_remove(s, n));
            break;
        }
        case 15: assert_status(samp_chain_add(s, samp_chain_get(s, 2)), SAMP_E_RANGE); break; /* in it already */
        case 16: assert_status(samp_chain_add(s, s), SAMP_E_RANGE); break;
        default: fail();
    }
}
enum { N_PROVOKE = 17 };

TEST(test_errors_change_nothing)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_SELECTORS; k++)
            for (int which = 0; which < N_PROVOKE; which++) {
                samp_sampler *s = chain_of_stages(selectors[k], (samp_rng_kind)kind), *twin;
                float logits[N];
                char what[64];
                for (int i = 0; i < 20; i++) { /* mid-sequence; sometimes drawn and not accepted */
                    good_row(logits, (uint64_t)i);
                    assert_true((i % 5 == 4 ? samp_draw : samp_sample)(s, logits, N) >= 0);
                }
                twin = samp_clone(s);
                assert_non_null(twin);
                good_row(logits, 90);
                for (int times = 0; times < 3; times++) provoke(s, which, logits);
                samp_perf_data p = samp_perf(s);
                assert_u64(p.n_sample, 20);
                assert_u64(p.n_accept, 16);
                snprintf(what, sizeof what, "rng %d, selector %d, error %d", kind, (int)k, which);
                assert_alike(s, twin, 30, what);
                samp_free(s);
                samp_free(twin);
            }
}

/* A sampler of the user's that fails when told to: behind the selecting one, before it, in an inner chain. */
typedef struct failing {
    int status;
} failing;

static int failing_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)cur;
    return ((failing *)s->ctx)->status;
}
static int failing_accept(samp_sampler *s, samp_token token)
{
    (void)token;
    return ((failing *)s->ctx)->status;
}
static samp_sampler *failing_clone(const samp_sampler *s) { return samp_init_custom(s->iface, s->ctx); }

/* apply or accept of one member fails: no member has seen the token, and the draw is undone. */
static void member_fails(bool accepting, samp_rng_kind rng, maker selector, int place)
{
    static const samp_sampler_i on_apply = { .apply = failing_apply, .clone = failing_clone };
    static const samp_sampler_i on_accept = { .accept = failing_accept,
                                              .apply = apply_nothing,
                                              .clone = failing_clone };
    static const int statuses[] = { SAMP_E_UNSUPPORTED, SAMP_E_NAN, SAMP_E_RANGE, SAMP_E_EMPTY };
    failing fail = { SAMP_OK };
    samp_sampler *s = samp_chain_init(), *inner = samp_chain_init(), *twin;
    float logits[N];
    char what[64];
    assert_ok(samp_set_rng(s, rng));
    assert_ok(samp_chain_add(s, make_penalties()));
    assert_ok(samp_chain_add(s, make_dry()));
    assert_ok(samp_chain_add(s, make_xtc()));
    assert_ok(samp_chain_add(inner, make_temp()));
    assert_ok(samp_chain_add(inner, selector()));
    assert_ok(samp_chain_add(s, inner));
    samp_sampler *mine = samp_init_custom(accepting ? &on_accept : &on_apply, &fail);
    if (place < 3)
        assert_ok(samp_chain_insert(s, 2 * place, mine)); /* first, in the middle, last */
    else
        assert_ok(samp_chain_insert(inner, place - 2, mine)); /* before the selecting one, behind it */
    for (int i = 0; i < 15; i++) {
        good_row(logits, (uint64_t)i);
        assert_true((i % 5 == 4 ? samp_draw : samp_sample)(s, logits, N) >= 0);
    }
    good_row(logits, 91);
    twin = samp_clone(s);
    for (size_t i = 0; i < TEST_COUNT(statuses); i++) {
        samp_token_data data[N];
        samp_token_data_array cur = test_array(data, logits, N);
        fail.status = statuses[i];
        assert_status(samp_sample(s, logits, N), statuses[i]);
        if (!accepting) assert_status(samp_draw(s, logits, N), statuses[i]);
        assert_status(accepting ? samp_accept(s, 3) : samp_apply(s, &cur), statuses[i]);
    }
    fail.status = SAMP_OK;
    snprintf(what, sizeof what, "rng %d, %s, place %d", (int)rng, accepting ? "accept" : "apply", place);
    assert_ok(samp_status(s, NULL));
    assert_u64(samp_perf(s).n_sample, 15);
    assert_u64(samp_perf(s).n_accept, 12);
    assert_alike(s, twin, 30, what);
    samp_free(s);
    samp_free(twin);
}

TEST(test_custom_fails)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_SELECTORS; k++)
            for (int i = 0; i < 10; i++) member_fails(i % 2, (samp_rng_kind)kind, selectors[k], i / 2);
}

/* What is above 0 is no status, and no token either: apply and accept, in every way that a token comes about. */
TEST(test_custom_positive)
{
    static const samp_sampler_i on_apply = { NULL, NULL, failing_apply, NULL, failing_clone, NULL, NULL, NULL };
    static const samp_sampler_i on_accept = { NULL,          failing_accept, apply_nothing, NULL,
                                              failing_clone, NULL,           NULL,          NULL };
    for (int kind = 0; kind < KINDS; kind++)
        for (int status = 1; status < 9; status += 6)
            for (int what = 0; what < 4;
                 what++) { /* bit 0: accept fails; bit 1: behind top_k, the fast path begins */
                failing fail = { status };
                samp_sampler *s = samp_chain_init();
                float logits[N];
                samp_token token = 0;
                good_row(logits, 94);
                assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
                if (what & 2) assert_ok(samp_chain_add(s, samp_init_top_k(9)));
                assert_ok(samp_chain_add(s, samp_init_custom(what & 1 ? &on_accept : &on_apply, &fail)));
                assert_ok(samp_chain_add(s, make_dist()));
                samp_logits batch;
                memset(&batch, 0, sizeof batch);
                batch.data = logits;
                batch.n_rows = 1;
                batch.n_vocab = N;
                assert_status(samp_sample(s, logits, N), SAMP_E_RANGE);
                assert_ok(samp_sample_batch(&s, &batch, &token));
                assert_status(token, SAMP_E_RANGE);
                samp_token_data data[N];
                samp_token_data_array cur = test_array(data, logits, N);
                assert_status(what & 1 ? samp_accept(s, 3) : samp_apply(s, &cur), SAMP_E_RANGE);
                fail.status = SAMP_OK;
                assert_u64(samp_get_position(s), 0);
                assert_in_range(samp_sample(s, logits, N), 0, N - 1);
                samp_free(s);
            }
}

/* A sampler of the user's that leaves nonsense behind: it is found, not followed. */
static int nonsense_apply(samp_sampler *s, samp_token_data_array *cur)
{
    switch (*(const int *)s->ctx) {
        case 1: cur->selected = (int64_t)cur->size; break;
        case 2: cur->selected = INT64_MAX; break;
        case 3: cur->selected = -5; break;
        case 4: cur->size = 0; break;
        case 5: cur->data[0].logit = NAN; break;
        case 6: cur->data[0].logit = INFINITY; break;
        case 7:
            for (size_t i = 0; i < cur->size; i++) cur->data[i].logit = -INFINITY;
            break;
        default: break;
    }
    return SAMP_OK;
}

TEST(test_custom_nonsense)
{
    static const samp_sampler_i iface = { NULL, NULL, nonsense_apply, NULL, failing_clone, NULL, NULL, NULL };
    for (int kind = 0; kind < KINDS; kind++)
        for (int what = 0; what <= 7; what++)
            for (int behind = 0; behind < 2; behind++) { /* ... by a selecting sampler */
                own_sampler *s = samp_chain_init();
                float logits[N];
                samp_token token;
                good_row(logits, 93);
                assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
                assert_ok(samp_chain_add(s, make_temp()));
                if (behind) assert_ok(samp_chain_add(s, make_dist()));
                assert_ok(samp_chain_add(s, samp_init_custom(&iface, &what)));
                if (!behind) assert_ok(samp_chain_add(s, make_dist()));
                token = samp_sample(s, logits, N);
                if (what == 0)
                    assert_in_range(token, 0, N - 1);
                else if (what <= 3 && behind)
                    assert_true(token < 0);
                else if (what > 3 && !behind)
                    assert_true(token < 0);
                if (token < 0) assert_u64(samp_get_position(s), 0);
            }
}

/* One that breaks the array itself: more candidates than there were, another array, ids that are none or doubled. */
static int breaking_apply(samp_sampler *s, samp_token_data_array *cur)
{
    static samp_token_data elsewhere[N];
    switch (*(const int *)s->ctx) {
        case 1: cur->size++; break;
        case 2:
            memcpy(elsewhere, cur->data, cur->size * sizeof *elsewhere);
            cur->data = elsewhere;
            break;
        case 3: cur->data[cur->size - 1].id = -1; break;
        case 4:
            for (size_t i = 0; i < cur->size; i++) cur->data[i].id = -5;
            break;
        case 5:
            for (size_t i = 0; i < cur->size; i++) cur->data[i].id = N + (samp_token)i;
            break;
        case 6:
            for (size_t i = 0; i < cur->size; i++) cur->data[i].id = INT32_MAX;
            break;
        case 7: /* one id twice, the first time masked or of no weight */
        case 8:
            for (size_t i = 2; i < cur->size; i++) cur->data[i].logit = -INFINITY;
            cur->data[0].id = cur->data[1].id = 7;
            cur->data[0].logit = *(const int *)s->ctx == 7 ? -INFINITY : -28.35f;
            cur->data[1].logit = 0.0f;
            break;
        case 9: cur->data[cur->size - 1].id = cur->data[0].id; break;
        case 10: /* far from all others */ cur->data[1].id = cur->data[cur->size - 1].id = SAMP_MAX_VOCAB - 1; break;
        case 11: cur->data[0].id = SAMP_MAX_VOCAB; break;
        case 12: /* as it may be: in another order */
            for (size_t i = 0; i < cur->size / 2; i++) {
                samp_token_data d = cur->data[i];
                cur->data[i] = cur->data[cur->size - 1 - i];
                cur->data[cur->size - 1 - i] = d;
            }
            break;
        default: break;
    }
    cur->sorted = false;
    return SAMP_OK;
}

TEST(test_custom_breaks)
{
    static const samp_sampler_i iface = { NULL, NULL, breaking_apply, NULL, failing_clone, NULL, NULL, NULL };
    for (int kind = 0; kind < KINDS; kind++)
        for (int what = 0; what <= 12; what++)
            for (int first = 0; first < 2; first++) /* with top_k first the fast path begins */
                for (size_t k = 0; k < N_SELECTORS; k++) {
                    own_sampler *s = samp_chain_init();
                    float logits[N];
                    good_row(logits, 95);
                    assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
                    if (first) assert_ok(samp_chain_add(s, samp_init_top_k(20)));
                    assert_ok(samp_chain_add(s, samp_init_custom(&iface, &what)));
                    assert_ok(samp_chain_add(s, selectors[k]()));
                    samp_token token = samp_sample(s, logits, N);
                    if (what == 0 || what == 12)
                        assert_in_range(token, 0, N - 1);
                    else
                        assert_status(token, SAMP_E_RANGE);
                    if (token < 0) assert_u64(samp_get_position(s), 0);
                }
}

static int double_one(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    samp_token_data first = cur->data[0];
    cur->data[0] = cur->data[1];
    cur->data[1] = first;
    cur->data[cur->size - 1].id = cur->data[2].id;
    return SAMP_OK;
}

/* The same of an array that is too long to look at each pair. */
TEST(test_doubled_among_many)
{
    enum { MANY = 700 };
    static const samp_sampler_i iface = { .apply = double_one };
    float logits[MANY];
    for (int i = 0; i < MANY; i++) logits[i] = (float)(i % 13) * 0.1f;
    own_sampler *chain = new_chain(samp_init_custom(&iface, NULL), make_dist());
    assert_status(samp_sample(chain, logits, MANY), SAMP_E_RANGE);
    assert_num(samp_get_position(chain), 0);
}

/* An array of the caller's own is not searched for doubled ids: whatever samplers make of one, they come to an end, and what
   is selected is a candidate that is not masked. */
TEST(test_doubled_ids)
{
    source rng = source_stream(98);
    alarm(100);
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 200; round++)
            for (size_t k = 0; k < N_ALL; k++) {
                samp_token_data data[N];
                float logits[N];
                samp_sampler *s = samp_chain_init();
                good_row(logits, below(&rng, 1000));
                for (int i = 0; i < N; i++)
                    if (below(&rng, 3) == 0) logits[i] = round % 2 ? -INFINITY : logits[below(&rng, N)];
                logits[below(&rng, N)] = 0.0f;
                samp_token_data_array cur = test_array(data, logits, N);
                for (int i = 0; i < N; i++) data[i].id = (samp_token)below(&rng, 1 + below(&rng, 2 * N));
                for (int i = 0; i < N && round % 4 == 3; i++) { /* only the second of a pair is not masked */
                    data[i].logit = i == N / 2 ? 0.0f : -INFINITY;
                    data[i].id = i % (N / 2);
                }
                assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
                assert_ok(samp_chain_add(s, all[k]()));
                const size_t first = below(&rng, N_ALL);
                assert_ok(samp_chain_insert(s, 0, all[first]()));
                assert_ok(samp_chain_add(s, selectors[below(&rng, N_SELECTORS)]()));
                for (int i = 0; i < 6; i++) assert_ok(samp_accept(s, (samp_token)below(&rng, 8)));
                const int status = samp_apply(s, &cur);
                if (status == SAMP_E_EMPTY && all[first] == make_infill && all[k] == make_logit_bias) {
                    samp_free(s); /* the one token that infill left is one that the bias masks */
                    continue;
                }
                assert_ok(status);
                assert_in_range(cur.selected, 0, cur.size - 1);
                assert_true(data[cur.selected].logit > -INFINITY);
                samp_free(s);
            }
    alarm(0);
}

/* A draft's dense probabilities have no place for an id that a custom sampler made up. */
TEST(test_custom_breaks_draft)
{
    static const samp_sampler_i iface = { NULL, NULL, breaking_apply, NULL, failing_clone, NULL, NULL, NULL };
    int what = 6;
    own_sampler *s = samp_chain_init();
    samp_token drafted = 3, out[2];
    float logits[2 * N], probs[N] = { 0 };
    good_row(logits, 96);
    good_row(logits + N, 97);
    probs[3] = 1.0f;
    samp_draft draft = { 1, &drafted, probs, NULL, 0, NULL };
    assert_ok(samp_chain_add(s, samp_init_custom(&iface, &what)));
    assert_ok(samp_chain_add(s, make_dist()));
    assert_status(samp_verify(s, logits, N, &draft, SAMP_VERIFY_RATIO, out), SAMP_E_RANGE);
}

/* A tokenizer that says how many there would be, as snprintf does, has written only as many as there was room for. */
static int32_t boasting_tokenize(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    (void)vocab, (void)text, (void)n;
    for (int32_t i = 0; i < n_max; i++) out[i] = i;
    return 100000;
}

TEST(test_tokenize_boasts)
{
    static const char *const breakers[] = { "abc" };
    samp_vocab vocab = letters;
    vocab.tokenize = boasting_tokenize;
    samp_sampler *s = samp_init_dry(&vocab, 64, 0.8f, 1.75f, 1, -1, breakers, 1), *chain = samp_chain_init();
    float logits[N];
    assert_ok(samp_chain_add(chain, s));
    assert_ok(samp_chain_add(chain, make_greedy()));
    assert_true(samp_state_size(chain) > 0);
    unsigned char bytes[4096];
    assert_ok(samp_state_save(chain, bytes, sizeof bytes)); /* its fingerprint reads all that was said to be there */
    for (int i = 0; i < 40; i++) assert_ok(samp_accept(chain, i % 3)); /* "abcabc..." */
    good_row(logits, 98);
    assert_in_range(samp_sample(chain, logits, N), 0, N - 1);
    samp_free(chain);
}

/* One that finds nothing, or says that it failed: there is no such breaker, and no tail of a token's text is one. */
static int32_t n_said;
static int32_t failing_tokenize(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    (void)vocab, (void)text, (void)n, (void)out, (void)n_max;
    return n_said;
}

TEST(test_tokenize_fails)
{
    static const char *const breakers[] = { "bc" };
    static const int32_t says[] = { 0, -1, INT32_MIN };
    samp_vocab vocab = letters;
    vocab.tokenize = failing_tokenize;
    unsigned char bytes[2][4096];
    for (size_t i = 0; i < TEST_COUNT(says); i++) {
        n_said = says[i];
        own_sampler *s = samp_init_dry(&vocab, 64, 0.8f, 1.75f, 1, -1, breakers, 1);
        assert_ok(samp_status(s, NULL));
        assert_ok(samp_state_save(s, bytes[i > 0], sizeof *bytes)); /* its fingerprint reads all breakers */
        if (i) assert_memory_equal(bytes[0], bytes[1], samp_state_size(s));
    }
}

/* Nothing sets errno, whatever it is given; without SAMP_CLOCK no time is measured. */
TEST(test_errno)
{
    static const float rows[][4] = {
        { 0, -200, -1e30f, -INFINITY },
        { 3e38f, -3e38f, 0, 1 },
        { 1e-45f, 0, -1e-45f, 90 },
        { 5, 5, 5, 5 },
        { NAN, 0, 0, 0 },
        { -INFINITY, -INFINITY, -INFINITY, -INFINITY },
    };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < N_ALL; k++) {
            samp_sampler *s = all[k](), *copy;
            assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
            errno = 0;
            for (int i = 0; i < 60; i++) {
                samp_token_data data[4];
                samp_token_data_array cur = test_array(data, rows[i % 6], 4);
                samp_apply(s, &cur);
                samp_sample(s, rows[i % 6], 4);
                samp_accept(s, i % 2);
            }
            copy = samp_clone(s);
            samp_reset(s);
            samp_free(copy);
            if (errno) test_fail(__FILE__, __LINE__, "%s, rng %d: errno is %d", samp_name(s), kind, errno);
            assert_u64(samp_perf(s).t_sample_ns, 0);
            samp_free(s);
        }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
