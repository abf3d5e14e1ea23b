/* test_complaints.c - what users of samplers elsewhere have complained of, each as a test with its name. Not here, since
   it has its test where it belongs:
     mask path and sort path disagree           test_fast (random_chains, apply_gives_what_the_steps_give)
     a batch's size changes a token             test_batch (random_batches, rows_come_and_go)
     host and device disagree on ties           gpu/test_gpu (random_batches, rows_with_most_samplers)
     a NaN anywhere in a row of the device      gpu/test_gpu (a_nan_is_found_anywhere)
     a bad grammar ends the program             test_grammar (test_places_of_errors), test_schema (test_refusals)
     a grammar takes exponential time           test_grammar (test_hostile, test_hostile_texts)
     a grammar beside drafts                    test_grammar (test_verify)
     a grammar beside sampling on the device    gpu/test_grammar_gpu
     a draft at a temperature above 0           test_verify (test_ratio_distribution)
     log-probabilities of the wrong row         test_batch (random_batches)
     memory in the sampling loop                test_alloc
     a request's penalties are ignored          test_peers (penalties_are_not_ignored)
     samples of one seed are alike              test_peers (samples_of_one_seed_differ)
   By definition a repetition penalty divides a logit above 0 and multiplies one below, as llama.cpp's does; that of
   log-probabilities is here. tests/README.md has the threads, and where each is answered. */
#define SAMPLING_CONSTRAINTS
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/test.h"
#include <time.h>

enum { N = 64, WIDE = 151936 };
#include "tests/support/makers.h"

/* ---- wrong results, crashes ---- */

/* Nothing left to draw from is a status, not token 0; and the draw after it is the one that would have been. */
TEST(all_masked_is_no_token)
{
    float masked[N], row[N];
    for (int i = 0; i < N; i++) masked[i] = -INFINITY;
    test_row(row, N, 1, 2.0, 3);
    for (size_t k = 0; k < 2 * N_SELECTORS; k++) {
        samp_sampler *s = new_chain(samp_init_temp(0.9f), selectors[k / 2]()), *copy;
        assert_ok(samp_set_rng(s, (samp_rng_kind)(k % 2)));
        copy = samp_clone(s);
        samp_logits l = { .data = masked, .n_rows = 1, .n_vocab = N };
        samp_token out = 0;
        assert_status(samp_sample(s, masked, N), SAMP_E_EMPTY);
        assert_ok(samp_sample_batch(&s, &l, &out));
        assert_status(out, SAMP_E_EMPTY);
        assert_num(samp_sample(s, row, N), samp_sample(copy, row, N));
        samp_free(s);
        samp_free(copy);
    }
}

/* The same for a row with a NaN or +infinity, wherever it is. */
TEST(nan_is_no_token)
{
    float row[N], bad[N];
    test_row(row, N, 2, 2.0, 3);
    for (size_t k = 0; k < 2 * N_SELECTORS; k++) {
        samp_sampler *s = new_chain(samp_init_top_p(0.9f, 1), selectors[k / 2]()), *copy;
        assert_ok(samp_set_rng(s, (samp_rng_kind)(k % 2)));
        copy = samp_clone(s);
        for (int i = 0; i < N; i++) {
            memcpy(bad, row, sizeof bad);
            bad[i] = i % 2 ? NAN : INFINITY;
            assert_status(samp_sample(s, bad, N), SAMP_E_NAN);
        }
        assert_num(samp_sample(s, row, N), samp_sample(copy, row, N));
        samp_free(s);
        samp_free(copy);
    }
}

/* A truncation behind what selects is a status, at the adding and at each draw, with a text that says what to do. */
TEST(truncation_behind_the_selector_is_a_status)
{
    float row[N];
    test_row(row, N, 3, 2.0, 3);
    for (size_t k = 0; k < N_SELECTORS; k++) {
        own_sampler *s = samp_chain_init();
        const char *field = NULL;
        char text[128];
        assert_ok(samp_chain_add(s, selectors[k]()));
        assert_status(samp_chain_add(s, samp_init_top_k(5)), SAMP_E_UNSUPPORTED);
        assert_status(samp_status(s, &field), SAMP_E_UNSUPPORTED);
        samp_error_text(SAMP_E_UNSUPPORTED, field, text, sizeof text);
        assert_non_null(strstr(text, "put it in front, with samp_chain_insert"));
        assert_status(samp_sample(s, row, N), SAMP_E_UNSUPPORTED);
    }
}

/* All orders of six samplers give tokens, with both random sources. */
TEST(any_order_works)
{
    float row[N];
    source rng = source_stream(4);
    for (int i = 0; i < 720; i++) {
        static const char letters_of[] = "kpmxyt";
        char order[7] = "", left[7];
        memcpy(left, letters_of, sizeof left);
        for (int n = 6, code = i; n > 0; code /= n, n--) {
            order[6 - n] = left[code % n];
            memmove(left + code % n, left + code % n + 1, (size_t)(n - code % n));
        }
        samp_params p = samp_default_params();
        p.order = order;
        p.xtc_probability = 0.5f;
        p.typ_p = 0.9f;
        p.rng = (samp_rng_kind)(i % 2);
        own_sampler *s = samp_chain_from_params(&p, NULL);
        test_logits(&rng, row, N, 3.0);
        row[i % N] = -INFINITY;
        samp_token token = samp_sample(s, row, N);
        assert_true(token >= 0 && token < N && token != i % N);
    }
}

/* What is masked is no part of the deviation; and n = 0 is off. */
TEST(sigma_ignores_masked_tokens)
{
    float row[N], more[2 * N];
    samp_token_data a[N], b[2 * N];
    source rng = source_stream(5);
    for (int round = 0; round < 50; round++) {
        test_logits(&rng, row, N, 2.0);
        for (int i = 0; i < 2 * N; i++) more[i] = i < N ? row[i] : -INFINITY;
        for (int off = 0; off < 2; off++) {
            own_sampler *s = samp_init_top_n_sigma(off ? 0.0f : 1.0f);
            samp_token_data_array x = test_array(a, row, N), y = test_array(b, more, 2 * N);
            assert_ok(samp_apply(s, &x));
            assert_ok(samp_apply(s, &y));
            size_t left[2] = { 0, 0 };
            for (size_t i = 0; i < x.size; i++) left[0] += x.data[i].logit > -INFINITY;
            for (size_t i = 0; i < y.size; i++) left[1] += y.data[i].logit > -INFINITY;
            assert_num(left[1], left[0]);
            if (off) assert_num(left[0], N);
        }
    }
}

/* mu belongs to a sampler: two sequences in turns are as each is alone. */
TEST(sequences_have_their_own_mu)
{
    float row[N];
    for (int version = 0; version < 2; version++) {
        samp_sampler *s[2], *alone[2];
        for (int i = 0; i < 2; i++) {
            s[i] = version ? make_mirostat_v2() : make_mirostat();
            alone[i] = samp_clone(s[i]);
        }
        samp_token got[2][30];
        for (int k = 0; k < 30; k++)
            for (int i = 0; i < 2; i++) {
                test_row(row, N, (uint64_t)(100 * i + k), i ? 4.0 : 0.5, 0);
                got[i][k] = samp_sample(s[i], row, N);
            }
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 30; k++) {
                test_row(row, N, (uint64_t)(100 * i + k), i ? 4.0 : 0.5, 0);
                assert_num(samp_sample(alone[i], row, N), got[i][k]);
            }
        for (int i = 0; i < 2; i++) samp_free(s[i]), samp_free(alone[i]);
    }
}

/* top_p keeps the fewest tokens that have p together, and drops none of these. */
TEST(top_p_keeps_what_it_must)
{
    float row[N];
    samp_token_data data[N];
    source rng = source_stream(6);
    for (int round = 0; round < 300; round++) {
        test_logits(&rng, row, N, 0.5 + round % 7);
        float p = 0.05f + 0.9f * (float)below(&rng, 1000) / 1000.0f;
        own_sampler *s = samp_init_top_p(p, 1);
        samp_token_data_array cur = test_array(data, row, N);
        assert_ok(samp_apply(s, &cur));
        test_sort(&cur);
        double sum = 0.0, kept = 0.0, last = 0.0;
        for (int i = 0; i < N; i++) sum += exp((double)row[i] - (double)cur.data[0].logit);
        for (size_t i = 0; i < cur.size; i++) {
            last = exp((double)cur.data[i].logit - (double)cur.data[0].logit) / sum;
            kept += last;
        }
        assert_true(kept >= (double)p - 1e-6);
        assert_true(kept - last < (double)p + 1e-6);
    }
}

/* No part of a large vocabulary is out of reach, and none is drawn too often. */
TEST(all_of_a_large_vocabulary_is_reached)
{
    enum { BINS = 16 };
    float *row = (float *)calloc(WIDE, sizeof *row);
    int bins[BINS] = { 0 }, draws = quick() ? 320 : 3200;
    samp_sampler *s = samp_init_dist(1);
    for (int i = 0; i < draws; i++) bins[(int64_t)samp_sample(s, row, WIDE) * BINS / WIDE]++;
    for (int b = 0; b < BINS && !quick(); b++) assert_true(bins[b] > 120 && bins[b] < 290); /* 200, 6 sigma */
    for (int b = 0; b < BINS; b++) assert_true(bins[b] > 0);
    samp_free(s);
    free(row);
}

/* A thousand tokens, each less likely than the last bit of a float's uniform number, come as often as they should. */
TEST(the_tail_is_drawn)
{
    static float row[1001];
    int tail = 0, draws = quick() ? 20000 : 400000;
    for (int i = 1; i <= 1000; i++) row[i] = -17.0f; /* 4.1e-8 */
    own_sampler *s = samp_init_dist(2);
    for (int i = 0; i < draws; i++) tail += samp_sample(s, row, 1001) > 0;
    if (!quick()) assert_true(tail > 2 && tail < 45); /* 16.6 */
}

/* Ties: top_k keeps k, those with the smallest ids, in a batch of one as in one of nine; top_k = 1 is greedy. */
TEST(ties_are_cut_at_k)
{
    static uint16_t data[9][N]; /* bf16 */
    for (int r = 0; r < 9; r++)
        for (int i = 0; i < N; i++) data[r][i] = i % 3 ? 0x3F80 : 0x4000; /* 1 and 2 */
    for (int k = 1; k < 30; k++) {
        samp_sampler *rows[9], *alone;
        samp_token out[9], first;
        samp_logits l = { .data = data, .dtype = SAMP_BF16, .n_rows = 9, .n_vocab = N };
        for (int r = 0; r < 9; r++) rows[r] = new_chain(samp_init_top_k(k), samp_init_dist((uint64_t)(k * 100)));
        alone = samp_clone(rows[0]);
        for (int round = 0; round < 20; round++) {
            l.n_rows = 9;
            assert_ok(samp_sample_batch(rows, &l, out));
            l.n_rows = 1;
            assert_ok(samp_sample_batch(&alone, &l, &first));
            for (int r = 0; r < 9; r++) assert_num(out[r], first);
            assert_true(k <= 22 ? first % 3 == 0 && first < 3 * k : first < N);
            if (k == 1) assert_num(first, 0);
        }
        for (int r = 0; r < 9; r++) samp_free(rows[r]);
        samp_free(alone);
    }
}

/* Each row has its own mask, wherever its logits are. */
TEST(masks_belong_to_their_rows)
{
    enum { ROWS = 7, WORDS = (N + 31) / 32 };
    static float data[ROWS][N];
    uint32_t mask[ROWS][WORDS];
    int32_t index[ROWS];
    samp_sampler *rows[ROWS];
    samp_token out[ROWS];
    memset(mask, 0, sizeof mask);
    for (int r = 0; r < ROWS; r++) {
        index[r] = (r * 3) % ROWS;
        mask[r][(5 * r) / 32] |= 1u << (5 * r) % 32;
        rows[r] = samp_init_dist((uint64_t)r);
    }
    samp_logits l = { .data = data, .n_rows = ROWS, .n_vocab = N, .row_index = index, .mask = mask[0] };
    assert_ok(samp_sample_batch(rows, &l, out));
    for (int r = 0; r < ROWS; r++) assert_num(out[r], 5 * r);
    l.mask_stride = WORDS - 1; /* narrower than the logits */
    assert_status(samp_sample_batch(rows, &l, out), SAMP_E_RANGE);
    for (int r = 0; r < ROWS; r++) samp_free(rows[r]);
}

/* One token is left, the others are masked or as good as that: every sampler ends, and lets it live. */
TEST(nothing_hangs_on_masked_rows)
{
    for (size_t m = 0; m < N_NOT_SELECTING; m++)
        for (size_t k = 0; k < N_SELECTORS; k++)
            for (int low = 0; low < 3; low++) {
                float row[N];
                for (int i = 0; i < N; i++) row[i] = low == 0 ? -INFINITY : low == 1 ? -FLT_MAX : -1e30f;
                row[17] = low ? 1.4e-45f : -3.0f; /* a denormal */
                own_sampler *s = new_chain(all[m](), selectors[k]());
                samp_token token = samp_sample(s, row, N); /* adaptive_p may want one that is less likely */
                assert_true(token == 17 || (low && selectors[k] == make_adaptive_p && token >= 0));
            }
}

/* ---- seeds ---- */

/* In a batch each row has its own seed: what it gets is what it gets alone, whatever samplers its neighbours have. */
TEST(seeds_belong_to_rows)
{
    enum { ROWS = 6, ROUNDS = 12 };
    static float data[ROWS][N];
    samp_token out[2][ROUNDS][ROWS];
    int differ = 0;
    for (int r = 0; r < ROWS; r++) test_row(data[r], N, 77, 1.0, 0); /* all alike */
    for (int neighbours = 0; neighbours < 2; neighbours++) {
        samp_sampler *rows[ROWS];
        for (int r = 0; r < ROWS; r++)
            rows[r] = new_chain(r % 2 && neighbours ? samp_init_top_k(3) : samp_init_min_p(0.01f, 1),
                                samp_init_dist((uint64_t)r));
        samp_logits l = { .data = data, .n_rows = ROWS, .n_vocab = N };
        for (int k = 0; k < ROUNDS; k++) assert_ok(samp_sample_batch(rows, &l, out[neighbours][k]));
        for (int r = 0; r < ROWS; r++) samp_free(rows[r]);
    }
    for (int k = 0; k < ROUNDS; k++)
        for (int r = 0; r < ROWS; r += 2) {
            assert_num(out[1][k][r], out[0][k][r]);
            differ += out[0][k][r] != out[0][k][(r + 2) % ROWS];
        }
    assert_true(differ > ROUNDS); /* of 3 ROUNDS: another seed is another text */
}

/* The same seed again is the same text, with min_p, top_p, xtc, any of them; the next seed is another one. */
TEST(a_seed_decides)
{
    samp_token text[3][40];
    for (int i = 0; i < 3; i++) {
        samp_params p = samp_default_params();
        p.seed = i == 2 ? 8 : 7;
        p.min_p = 0.02f;
        p.xtc_probability = 0.3f;
        p.temp = 1.5f;
        own_sampler *s = samp_chain_from_params(&p, NULL);
        for (uint64_t k = 0; k < 40; k++) {
            float row[N];
            test_row(row, N, k, 1.0, 0);
            text[i][k] = samp_sample(s, row, N);
        }
    }
    int same = 0;
    for (int k = 0; k < 40; k++) same += text[2][k] == text[0][k];
    assert_memory_equal(text[0], text[1], sizeof text[0]);
    assert_true(same < 20);
}

/* ---- settings that do nothing ---- */

/* A penalty that is set is felt; a setting that there is not is told. */
TEST(no_setting_is_ignored)
{
    float row[N] = { 0 };
    const char *field = NULL;
    own_settings *settings = samp_settings_init();
    assert_ok(samp_settings_set(settings, "penalty_present", "100", NULL));
    assert_status(samp_settings_set(settings, "repeat_penalty", "1.1", &field), SAMP_E_NAME);
    assert_text(field, "repeat_penalty");
    own_sampler *s = samp_chain_from_params(samp_settings_params(settings), NULL);
    bool seen[N] = { false };
    for (int k = 0; k < 30; k++) { /* less than all, so none has to come twice */
        samp_token token = samp_sample(s, row, N);
        assert_false(seen[token]);
        seen[token] = true;
    }
}

/* Behind log_softmax a repetition penalty does the same wherever the model's logits have their zero; without it, it
   doesn't, and may even like what is repeated more. */
TEST(penalties_do_not_depend_on_the_zero)
{
    for (int with = 0; with < 2; with++) {
        samp_params p = samp_default_params();
        p.order = with ? "log_softmax;penalties;temperature" : "penalties;temperature";
        p.penalty_repeat = 1.5f;
        p.seed = 7;
        int differ = 0;
        samp_sampler *at_zero = samp_chain_from_params(&p, NULL), *far_off = samp_clone(at_zero);
        for (int i = 0; i < 200; i++) {
            float row[N], shifted[N];
            for (int k = 0; k < N; k++) {
                row[k] = (float)((k * 37 + i) % N) / 8.0f;
                shifted[k] = row[k] - 1024.0f; /* both hold eighths exactly */
            }
            samp_token token = samp_sample(at_zero, row, N);
            differ += samp_draw(far_off, shifted, N) != token;
            assert_ok(samp_accept(far_off, token));
        }
        samp_free(at_zero);
        samp_free(far_off);
        assert_true(with ? differ == 0 : differ > 20);
    }
}

/* How many tokens a chain with this order leaves of a row. */
static size_t left_by(const samp_params *p, const char *order, const float *row)
{
    samp_token_data data[N];
    samp_token_data_array cur = test_array(data, row, N);
    samp_params with = *p;
    with.order = order;
    samp_sampler *chain = samp_chain_from_params(&with, NULL);
    assert_ok(samp_apply(chain, &cur));
    samp_free(chain);
    return cur.size;
}

/* The temperature may come first, as most servers have it, or last, as llama.cpp has it: an order says so. */
TEST(temperature_comes_first_or_last)
{
    float row[N];
    for (int i = 0; i < N; i++) row[i] = -(float)i / 2.0f;
    samp_params p = samp_default_params();
    p.top_k = 0, p.top_p = 1.0f, p.min_p = 0.1f, p.temp = 4.0f; /* e^-2.3 of the best */
    assert_num(left_by(&p, SAMP_ORDER_LLAMA, row), 5);
    assert_num(left_by(&p, NULL, row), 5);
    assert_num(left_by(&p, "min_p;temperature", row), 5);
    assert_num(left_by(&p, SAMP_ORDER_CANONICAL, row), 19);
    assert_num(left_by(&p, "temperature;min_p", row), 19);
    own_settings *s = samp_settings_init();
    assert_ok(samp_settings_set(s, "order", "tm", NULL));
    assert_num(left_by(&p, samp_settings_params(s)->order, row), 19);
}

/* A high temperature floods what top_p or min_p keeps; min_k keeps the same at each, top_h and p_less far less. */
TEST(truncation_holds_at_any_temperature)
{
    float row[N];
    for (int i = 0; i < N; i++) row[i] = i < 3 ? 9.0f - 0.25f * (float)i : -0.05f * (float)i;
    samp_params p = samp_default_params();
    p.top_k = 0, p.top_p = 1.0f, p.min_p = 0.0f;
    for (int t = 1; t <= 16; t *= 2) {
        p.temp = (float)t;
        p.min_k = 0.0f;
        assert_num(left_by(&p, "temperature;min_k", row), 3);
        p.top_h = 0.4f, p.p_less = 1.0f, p.top_p = 0.9f, p.min_p = 0.05f;
        size_t top_h = left_by(&p, "temperature;top_h", row), p_less = left_by(&p, "temperature;p_less", row);
        assert_in_range(p_less, 1, t == 1 ? 3 : 8);
        if (t < 8) continue;
        assert_true(left_by(&p, "temperature;top_p", row) > 3 * top_h);
        assert_true(left_by(&p, "temperature;min_p", row) == N);
    }
}

/* ---- texts that go on for ever, and what must not be said ---- */

enum { THINK = 50, DONE = 51, END = 52 };

/* A model that never stops thinking is stopped, each time it begins; behind a budget of 0 at once; and what it says then
   is its own again. */
TEST(thinking_ends_within_its_budget)
{
    static const samp_token start[] = { THINK }, end[] = { DONE };
    const samp_thinking span = { start, 1, end, 1, NULL, 0 };
    float row[N] = { 0 };
    for (int i = 0; i < N; i++) row[i] = i == DONE || i == THINK ? -30.0f : (float)(i % 7);
    for (int32_t budget = 0; budget < 40; budget += 13) {
        own_sampler *s = new_chain(samp_init_thinking_budget(NULL, &span, 1, budget, -1), samp_init_dist(3));
        for (int time = 0; time < 3; time++) {
            assert_ok(samp_accept(s, THINK));
            for (int32_t i = 0; i < budget; i++) {
                assert_num(samp_thinking_left(samp_chain_get(s, 0)), budget - i);
                assert_true(samp_sample(s, row, N) != DONE);
            }
            assert_num(samp_sample(s, row, N), DONE);
            assert_num(samp_thinking_left(s), -1);
            for (int i = 0; i < 60; i++) assert_true(samp_sample(s, row, N) != DONE);
        }
    }
}

/* The next token of a model that is caught in a loop: it wants what followed last time, most of the time. */
static samp_token caught(samp_sampler *s, const samp_token *text, size_t n, size_t period, source *rng)
{
    float row[N];
    for (int i = 0; i < N; i++) row[i] = (float)normal(rng);
    row[text[n - period]] = 20.0f;
    return samp_sample(s, row, N);
}

/* The same piece does not come for ever, whatever its length, by either way; without them it does. */
TEST(a_loop_is_left)
{
    for (int way = 0; way < 3; way++)
        for (size_t period = 4; period < 40; period += 7) {
            source rng = source_stream(period);
            samp_token text[1200];
            samp_sampler *breaker = way == 0   ? samp_init_loop_breaker(4, 128, 3, 512, 16, INFINITY)
                                    : way == 1 ? samp_init_loop_breaker_cusum(6, 1024, 0.25f, 15.0f, INFINITY)
                                               : samp_init_loop_breaker(4, 128, 3, 512, 16, 0.0f);
            own_sampler *s = new_chain(breaker, samp_init_greedy());
            size_t n = 0, copied = 0;
            for (; n < period; n++) {
                text[n] = (samp_token)n;
                assert_ok(samp_accept(s, text[n]));
            }
            for (; n < 1000 && copied == n - period; n++) {
                text[n] = caught(s, text, n, period, &rng);
                copied += text[n] == text[n - period];
            }
            if (way == 2) assert_num(copied, 1000 - period); /* it is the breaker that does it */
            if (way == 0) assert_true(n <= 3 * period + 17);
            if (way == 1) assert_true(n <= period + 23);
        }
}

/* Draws n tokens, of which the first n_likely letters are likely; how often a ban has taken some back. */
static size_t draw_under_ban(samp_sampler *s, samp_token *text, size_t n, uint64_t stream, int n_likely)
{
    source rng = source_stream(stream);
    size_t rewound = 0;
    for (size_t at = 0; at < n; at++) {
        float row[N];
        for (int i = 0; i < N; i++) row[i] = (float)(2.0 * normal(&rng)) + (i % 24 < n_likely ? 2.0f : 0.0f);
        for (;;) {
            text[at] = samp_sample(s, row, N);
            assert_true(text[at] >= 0);
            int32_t back = samp_rewind_length(s);
            if (back == 0) break;
            rewound++;
            assert_ok(samp_rollback(s, back));
            at -= (size_t)back - 1; /* a program would go back to that row of logits: here each is as good */
        }
    }
    return rewound;
}

/* Strings do not come, whatever tokens they could be made of; rewinding takes back just them, and goes on. */
TEST(banned_strings_are_never_said)
{
    const char *const strings[] = { "abc", "ghg", "opo", "xy" };
    for (unsigned flags = 0; flags <= SAMP_BAN_REWIND; flags++) {
        own_sampler *s = new_chain(samp_init_banned_strings(&letters, strings, 4, flags), samp_init_dist(4));
        samp_token text[400];
        char said[1300];
        size_t length = 0, n = 300, rewound = draw_under_ban(s, text, n, 12, 3);
        for (size_t i = 0; i < n; i++) {
            size_t n_bytes;
            const char *bytes = test_letters(NULL, text[i], &n_bytes);
            memcpy(said + length, bytes, n_bytes);
            length += n_bytes;
        }
        said[length] = 0;
        for (int i = 0; i < 4; i++) assert_true(strstr(said, strings[i]) == NULL);
        assert_true(flags ? rewound > 10 : rewound == 0);
    }
}

/* One expression in the place of a list of strings, whatever the tokens; rewinding goes back to where it began. */
TEST(patterns_are_never_said)
{
    for (unsigned flags = 0; flags <= SAMP_BAN_REWIND; flags++) {
        samp_sampler *ban = samp_init_banned_pattern(&letters, "abc?d|[gh]{2}i|o.{0,3}q", flags, NULL);
        own_sampler *s = new_chain(ban, samp_init_dist(4));
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, "[^]*(abc?d|[gh]{2}i|o.{0,3}q)[^]*", NULL, NULL);
        samp_token text[400];
        size_t n = 300, rewound = draw_under_ban(s, text, n, 13, 4);
        assert_true(flags ? rewound > 10 : rewound == 0);
        own_index *index = samp_vocab_index_init(&letters, NULL);
        own_sampler *said = samp_init_grammar(index, g); /* by the grammar: the text does not have it */
        for (size_t i = 0; i < n; i++) assert_ok(samp_accept(said, text[i]));
        assert_num(samp_grammar_is_complete(said), 0);
    }
}

/* Every eighth token ends its line. */
static const char *in_lines(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = 1;
    return token % 8 ? "x" : "\n";
}
static const samp_vocab lines = { N, in_lines, NULL, NULL, NULL, 0, -1, -1 };

/* A model that would think for ever is told at a line's end that it should answer, and has the rest of its line when its
   budget is spent; no sentence is cut. What it says then is its own. */
TEST(thinking_is_not_cut_in_a_sentence)
{
    static const samp_token start[] = { THINK }, end[] = { DONE, END }, note[] = { 41, 42, 43, 48 };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    samp_thinking_plan plan = { 0 };
    plan.soft_ratio = 0.5f, plan.grace = 60, plan.note = note, plan.n_note = 4;
    for (uint64_t seed = 0; seed < 50; seed++) {
        source rng = source_stream(seed);
        own_sampler *s = new_chain(samp_init_thinking(&lines, &span, 1, 100, -1, &plan), samp_init_dist(seed));
        samp_token text[200];
        size_t n = 0, said = 0;
        assert_ok(samp_accept(s, THINK));
        for (samp_token token = -1; token != DONE; text[n++] = token) {
            float row[N];
            for (int i = 0; i < N; i++) row[i] = i == DONE || i == END ? -30.0f : (float)normal(&rng);
            assert_true(n < 170);
            token = samp_sample(s, row, N);
        }
        n--;
        assert_true(n >= 100 && n < 160 && text[n - 1] % 8 == 0); /* behind a line's end */
        for (size_t i = 0; i + 4 <= n; i++)
            if (memcmp(text + i, note, sizeof note) == 0) said = i;
        assert_true(said >= 50 && said < 90 && text[said - 1] % 8 == 0); /* as its own line */
    }
}

/* The end becomes likelier from the soft point on, so that a model which nearly has it ends by itself: sooner with a
   bias, never without. */
TEST(thinking_ends_by_itself_under_a_bias)
{
    static const samp_token start[] = { THINK }, end[] = { DONE };
    const samp_thinking span = { start, 1, end, 1, NULL, 0 };
    double mean[3] = { 0.0, 0.0, 0.0 };
    for (int ramp = SAMP_RAMP_NONE; ramp <= SAMP_RAMP_EXPONENTIAL; ramp++)
        for (uint64_t seed = 0; seed < 100; seed++) {
            samp_thinking_plan plan = { 0 };
            plan.soft = 20, plan.ramp = (samp_ramp)ramp, plan.bias = 30.0f;
            own_sampler *s = new_chain(samp_init_thinking(NULL, &span, 1, 200, 0, &plan), samp_init_dist(seed));
            float row[N] = { 0 };
            row[DONE] = -12.0f;
            int n = 0;
            while (samp_sample(s, row, N) != DONE) n++;
            assert_in_range(n, 0, 200);
            mean[ramp] += n / 100.0;
        }
    assert_true(mean[SAMP_RAMP_NONE] > 190.0);
    assert_true(mean[SAMP_RAMP_LINEAR] > 60.0 && mean[SAMP_RAMP_LINEAR] < 120.0);
    assert_true(mean[SAMP_RAMP_EXPONENTIAL] > mean[SAMP_RAMP_LINEAR] + 30.0 && mean[SAMP_RAMP_EXPONENTIAL] < 190.0);
}

/* A user who has seen enough ends it: the end comes whole. */
TEST(thinking_ends_when_the_user_says_so)
{
    static const samp_token start[] = { THINK }, end[] = { DONE, END };
    const samp_thinking span = { start, 1, end, 2, NULL, 0 };
    own_sampler *s = new_chain(samp_init_thinking_budget(NULL, &span, 1, INT32_MAX, 0), samp_init_greedy());
    float row[N] = { 0 };
    row[7] = 1.0f;
    for (int i = 0; i < 30; i++) assert_num(samp_sample(s, row, N), 7);
    assert_ok(samp_thinking_end(s));
    assert_num(samp_sample(s, row, N), DONE);
    assert_num(samp_sample(s, row, N), END);
    assert_num(samp_sample(s, row, N), 7);
    assert_status(samp_thinking_end(s), SAMP_E_EMPTY);
}

/* A model that goes round in circles while it thinks is made to answer, long before its budget is spent. */
TEST(a_loop_ends_thinking)
{
    static const samp_token start[] = { THINK }, end[] = { DONE };
    const samp_thinking span = { start, 1, end, 1, NULL, 0 };
    const samp_loop loop = { 4, 128, 3, 512, 16 };
    samp_thinking_plan plan = { 0 };
    plan.loop = &loop, plan.loop_from = 64;
    for (size_t period = 4; period < 40; period += 7) {
        source rng = source_stream(period);
        own_sampler *s = new_chain(samp_init_thinking(NULL, &span, 1, 30000, 0, &plan), samp_init_greedy());
        samp_token text[1000];
        size_t n = 0;
        for (; n < period; n++) {
            text[n] = (samp_token)n;
            assert_ok(samp_accept(s, text[n]));
        }
        while ((text[n] = caught(s, text, n, period, &rng)) != DONE) assert_true(++n < 160);
        assert_true(n >= 64 && n >= 3 * period);
        assert_num(samp_thinking_now(s), SAMP_THINKING_NOT);
    }
}

/* Settings that hold for a while: a temperature for the first tokens, another one while a loop is on, which is left then. */
TEST(settings_expire)
{
    const samp_schedule first = { SAMP_TOKENS, 0, 20, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, NULL };
    const samp_loop loop = { 1, 16, 3, 100, 1 };
    const samp_schedule hot = { SAMP_TOKENS, 0, 30, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, &loop };
    samp_sampler *s = new_chain(samp_init_schedule(&first, samp_init_temp(50.0f)), samp_init_dist(3));
    float row[N] = { 0 };
    int others = 0;
    row[7] = 30.0f;
    for (int i = 0; i < 20; i++) others += samp_sample(s, row, N) != 7;
    assert_true(others > 10);
    for (int i = 0; i < 200; i++) assert_num(samp_sample(s, row, N), 7);
    samp_free(s);
    for (int heats = 0; heats < 2; heats++) {
        s = new_chain(heats ? samp_init_schedule(&hot, samp_init_temp(15.0f)) : samp_init_temp(1.0f),
                      samp_init_dist(3));
        source rng = source_stream(5);
        samp_token text[300] = { 1, 2, 3, 4, 5 };
        size_t left = 0, n = 5;
        for (size_t i = 0; i < n; i++) assert_ok(samp_accept(s, text[i]));
        for (; n < 300; n++) {
            text[n] = caught(s, text, n, 5, &rng);
            left += text[n] != text[n - 5];
        }
        assert_true(heats ? left > 5 : left == 0);
        samp_free(s);
    }
}

static const char *of_a_list(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = token < 4;
    return &"[1,]"[token];
}

/* A token behind 60,000 others takes a grammar no longer than one behind 3,000: the least of five times each. */
TEST(a_grammar_is_as_fast_behind_a_long_text)
{
    static const samp_token end[] = { 4 };
    const samp_vocab vocab = { 5, of_a_list, NULL, NULL, end, 1, 4, -1 };
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\"}", NULL, NULL);
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    own_sampler *s = new_chain(samp_init_grammar(index, g), samp_init_dist(3));
    static const samp_token item[] = { 1, 2, 0, 1, 3, 2 }; /* 1,[1], */
    const float row[5] = { 0 };
    clock_t least[2] = { INT32_MAX, INT32_MAX };
    assert_ok(samp_accept(s, 0));
    for (int chunk = 0; chunk < 100; chunk++) {
        clock_t begun = clock();
        for (int i = 0; i < 600; i++) {
            assert_true(samp_draw(s, row, 5) >= 0);
            assert_ok(samp_accept(s, item[i % 6]));
        }
        clock_t took = clock() - begun, *best = &least[chunk >= 50];
        if ((chunk < 5 || chunk >= 95) && took < *best) *best = took;
    }
    assert_true(least[1] <= 5 * least[0]); /* it would be 20 times as long; a coarse clock may tell 0 */
}

/* No end before its time, and nothing else allowed: that is a status, not token 0. */
TEST(least_length_and_nothing_else_is_a_status)
{
    static const samp_token end[] = { END };
    float row[N] = { 0 };
    samp_sampler *s = new_chain(samp_init_min_tokens(end, 1, 5, 0), samp_init_allowed_tokens(end, 1)), *chain;
    chain = new_chain(s, samp_init_dist(1));
    for (int i = 0; i < 5; i++) {
        assert_status(samp_sample(chain, row, N), SAMP_E_EMPTY);
        assert_ok(samp_accept(chain, 1));
    }
    assert_num(samp_sample(chain, row, N), END);
    samp_free(chain);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
