/* test_samplers.c - each sampler alone: small cases worked out by hand (among them the golden cases that
   llama.cpp publishes for its own), the edges of every parameter, ties, masks, and what is left in p, sorted and
   selected. */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

#define KINDS 2   /* SAMP_RNG_PHILOX, SAMP_RNG_MT19937 */
enum { N = 128 }; /* as long as a row may be that each sampler gets */
#include "tests/support/makers.h"

/* ------------------------------------------------------------------------------------------------ helpers */

/* apply and free */
static void apply(samp_sampler *s, samp_token_data_array *cur)
{
    assert_non_null(s);
    assert_ok(samp_apply(s, cur));
    samp_free(s);
}

static samp_sampler *of_kind(samp_sampler *s, int kind)
{
    assert_non_null(s);
    assert_ok(samp_set_rng(s, (samp_rng_kind)kind));
    return s;
}

static samp_token_data_array from_probs(samp_token_data *data, const double *probs, size_t n)
{
    float logits[64];
    for (size_t i = 0; i < n; i++) logits[i] = probs[i] > 0 ? (float)log(probs[i]) : -INFINITY;
    return test_array(data, logits, n);
}

/* Applies s (freed) to the probabilities, in both arithmetics; what it leaves has the probabilities `want`,
   best first. */
static void golden_(samp_sampler *s, const double *probs, size_t n, const double *want, size_t m, const char *file,
                    int line)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[64];
        samp_token_data_array cur = from_probs(data, probs, n);
        test_status_(samp_set_rng(s, (samp_rng_kind)kind), SAMP_OK, "samp_set_rng", file, line);
        test_status_(samp_apply(s, &cur), SAMP_OK, "samp_apply", file, line);
        apply(of_kind(samp_init_softmax(), kind), &cur);
        test_int_((long long)cur.size, (long long)m, "size", file, line);
        for (size_t i = 0; i < m; i++) test_near_(data[i].p, want[i], 1e-5, "p", file, line);
    }
    samp_free(s);
}
#define PROBS(...)             (const double[]){ __VA_ARGS__ }, TEST_COUNT(((const double[]){ __VA_ARGS__ }))
#define golden(s, probs, want) golden_((s), probs, want, __FILE__, __LINE__)
#define FOUR                   PROBS(0.1, 0.2, 0.3, 0.4)
#define FOUR_DOWN              PROBS(0.4, 0.3, 0.2, 0.1)

/* What the contract says of each sampler, for the tests that go over all of them: it "selects"; "all": never removes a token
   from the array; "p" is left as it was; "sorts": leaves sorted = true; "order": always keeps that of the tokens that stay;
   "mixes": leaves sorted = false; "best": never removes or masks the best token. */
typedef struct kind_of_sampler {
    const char *name;
    samp_sampler *(*make)(void);
    const char *says;
} kind_of_sampler;

/* With arguments that show in short rows; makers.h has the others. */
static const samp_logit_bias unmasked_bias[3] = { { 0, 0.25f }, { 2, -0.75f }, { 0, 0.125f } };

static samp_sampler *after_penalties(void)
{
    samp_sampler *s = samp_init_penalties(8, 1.25f, 0.5f, 0.25f);
    for (samp_token t = 0; t < 6; t++) samp_accept(s, t % 4);
    return s;
}
static samp_sampler *after_dry(void)
{
    samp_sampler *s = samp_init_dry(NULL, 4096, 0.8f, 1.75f, 2, -1, NULL, 0);
    for (samp_token t = 0; t < 8; t++) samp_accept(s, t % 3);
    return s;
}
static const samp_token spared[] = { 4, 1, 2, 1, 7 };

/* clang-format off */
#define SHARP(X) \
    X(logit_bias, "logit-bias", samp_init_logit_bias(1 << 20, 3, unmasked_bias), "all p order mixes") \
    X(penalties, "penalties", after_penalties(), "all p order mixes") \
    X(dry, "dry", after_dry(), "all p order mixes") \
    X(top_n_sigma, "top-n-sigma", samp_init_top_n_sigma(1.0f), "all p order best") \
    X(top_k, "top-k", samp_init_top_k(5), "p sorts best") \
    X(tail_free, "tail-free", samp_init_tail_free(0.9f, 1), "sorts best") \
    X(typical, "typical", samp_init_typical(0.7f, 1), "mixes") \
    X(top_p, "top-p", samp_init_top_p(0.8f, 1), "sorts best") \
    X(min_p, "min-p", samp_init_min_p(0.1f, 1), "p order best") \
    X(min_p_keep, "min-p, min_keep", samp_init_min_p(0.9f, 4), "p best") \
    X(p_less, "p-less", samp_init_p_less(1.0f, 1), "p order best") \
    X(p_less_norm, "p-less-norm", samp_init_p_less_norm(1.0f, 1), "p order best") \
    X(top_a, "top-a", samp_init_top_a(0.2f, 1), "p order best") \
    X(epsilon, "epsilon", samp_init_epsilon(0.2f, 1), "p order best") \
    X(epsilon_keep, "epsilon, min_keep", samp_init_epsilon(0.2f, 4), "p best") \
    X(eta, "eta", samp_init_eta(0.1f, 1), "p order best") \
    X(top_h, "top-h", samp_init_top_h(0.6f, 1), "p sorts best") \
    X(min_k, "min-k", samp_init_min_k(3.0f), "p sorts best") \
    X(xtc, "xtc", samp_init_xtc(1.0f, 0.05f, 1, 7), "order") \
    X(xtc_except, "xtc-except", samp_init_xtc_except(1.0f, 0.05f, 1, 7, spared, 5), "order") \
    X(temp, "temp", make_temp(), "all p order best") \
    X(temp_0, "temp 0", samp_init_temp(0.0f), "all p order best") \
    X(temp_ext, "temp-ext", samp_init_temp_ext(0.9f, 0.5f, 1.5f), "all p order best") \
    X(smoothing, "smoothing", make_smoothing(), "all p order best") \
    X(log_softmax, "log-softmax", make_log_softmax(), "all p order best") \
    X(softmax, "softmax", make_softmax(), "all sorts best") \
    X(greedy, "greedy", make_greedy(), "selects all p order best") \
    X(dist, "dist", make_dist(), "selects all order best") \
    X(ras, "ras", make_ras(), "selects all order best") \
    X(gumbel, "gumbel", make_gumbel(), "selects all order best") \
    X(mirostat, "mirostat", make_mirostat(), "selects sorts best") \
    X(mirostat_v2, "mirostat-v2", make_mirostat_v2(), "selects best") \
    X(adaptive_p, "adaptive-p", make_adaptive_p(), "selects all order mixes")
/* clang-format on */
#define SHARP_FUNCTION(id, name, call, says) \
    static samp_sampler *sharp_##id(void) { return call; }
SHARP(SHARP_FUNCTION)
#define SHARP_ROW(id, name, call, says) { name, sharp_##id, says },
static const kind_of_sampler kinds[] = { SHARP(SHARP_ROW) };
static bool is(const kind_of_sampler *k, const char *what) { return strstr(k->says, what) != NULL; }

/* But for infill, which ends a text with a token that may have been masked, and replay, whose token may be missing
   (test_told.c). */
TEST(test_every_sampler_is_here)
{
    for (size_t k = 0, i; k < N_ALL; k++) {
        if (all[k] == make_infill || all[k] == make_replay) continue;
        for (i = 0; i < TEST_COUNT(kinds) && !is_named(kinds[i].name, k);) i++;
        if (i == TEST_COUNT(kinds)) test_fail(__FILE__, __LINE__, "no %s", all_names[k]);
    }
}

/* -------------------------------------------------------------------------------------- all of them: rows */

/* One sampler, one row, array order shuffled: the invariants that hold for any input. */
static void check_row(const kind_of_sampler *k, int kind, source *rng, const float *logits, size_t n)
{
    samp_token_data data[N], before[N];
    samp_token_data_array cur = test_array(data, logits, n);
    own_sampler *s = of_kind(k->make(), kind);
    samp_token first = 0;
    size_t n_unmasked = 0, left = 0, best = 0;
    bool philox = kind == SAMP_RNG_PHILOX;
    test_sort(&cur);
    first = data[0].id;
    if (below(rng, 3)) test_shuffle(rng, &cur);
    for (size_t i = 0; i < n; i++) n_unmasked += logits[i] > -INFINITY;
    memcpy(before, data, n * sizeof *data);

    test_status_(samp_apply(s, &cur), SAMP_OK, k->name, __FILE__, __LINE__);
    assert_true(cur.data == data);
    if (cur.size < 1 || cur.size > n || (is(k, "all") && cur.size != n))
        test_fail(__FILE__, __LINE__, "%s: size %zu of %zu", k->name, cur.size, n);
    for (size_t i = 0; i < cur.size; i++) {
        const samp_token_data *t = &data[i];
        if (t->id < 0 || (size_t)t->id >= n || isnan(t->logit) || t->logit == INFINITY)
            test_fail(__FILE__, __LINE__, "%s: {%d, %g}", k->name, (int)t->id, (double)t->logit);
        for (size_t j = 0; j < i; j++)
            if (data[j].id == t->id) test_fail(__FILE__, __LINE__, "%s: id %d is there twice", k->name, (int)t->id);
        if (logits[t->id] == -INFINITY && t->logit != -INFINITY)
            test_fail(__FILE__, __LINE__, "%s: masked token %d is back with %g", k->name, (int)t->id,
                      (double)t->logit);
        left += t->logit > -INFINITY;
        if (is(k, "p") && philox && bits_of(t->p) != bits_of(TEST_P_UNSET))
            test_fail(__FILE__, __LINE__, "%s: p is %g, but was to be left alone", k->name, (double)t->p);
        if (!is(k, "p") && t->p != TEST_P_UNSET && !(t->p >= 0.0f && t->p <= 1.0f))
            test_fail(__FILE__, __LINE__, "%s: p is %g", k->name, (double)t->p);
    }
    if (left < 1 || left > n_unmasked) test_fail(__FILE__, __LINE__, "%s: %zu tokens left", k->name, left);
    for (size_t i = 1; i < cur.size && cur.sorted; i++) /* MT19937: by logit, ties in any order, as in llama.cpp */
        if (philox ? test_compare(&data[i - 1], &data[i]) > 0 : data[i - 1].logit < data[i].logit)
            test_fail(__FILE__, __LINE__, "%s, rng %d: sorted, but {%d, %.9g} stands before {%d, %.9g}", k->name,
                      kind, (int)data[i - 1].id, (double)data[i - 1].logit, (int)data[i].id, (double)data[i].logit);
    if (is(k, "sorts") && !cur.sorted && !(k->make == sharp_tail_free && n_unmasked <= 2))
        test_fail(__FILE__, __LINE__, "%s: not sorted", k->name);
    if (is(k, "mixes") && cur.sorted) test_fail(__FILE__, __LINE__, "%s: sorted", k->name);
    if (is(k, "order") && philox)
        for (size_t i = 0, j = 0; i < cur.size; i++, j++) {
            while (j < n && before[j].id != data[i].id) j++;
            if (j == n) test_fail(__FILE__, __LINE__, "%s: token %d has moved", k->name, (int)data[i].id);
        }
    /* MT19937: one of the best, not always that with the smallest id */
    for (size_t i = 0; i < cur.size; i++)
        best += data[i].logit > -INFINITY && (philox ? data[i].id == first : logits[data[i].id] == logits[first]);
    if (is(k, "best") && !best) test_fail(__FILE__, __LINE__, "%s: the best token %d is lost", k->name, (int)first);
    if (is(k, "selects")) {
        if (cur.selected < 0 || (size_t)cur.selected >= cur.size || data[cur.selected].logit == -INFINITY ||
            logits[data[cur.selected].id] == -INFINITY)
            test_fail(__FILE__, __LINE__, "%s: selected %lld of %zu", k->name, (long long)cur.selected, cur.size);
    } else if (cur.selected != -1) {
        test_fail(__FILE__, __LINE__, "%s selected %lld", k->name, (long long)cur.selected);
    }

    /* the same from another order of the array, to the bit (Philox: MT19937 sums in array order) */
    if (philox) {
        samp_token_data other[N];
        own_sampler *s2 = of_kind(k->make(), kind);
        samp_token_data_array cur2 = test_array(other, logits, n);
        if (below(rng, 2))
            test_sort(&cur2);
        else
            test_shuffle(rng, &cur2);
        assert_ok(samp_apply(s2, &cur2));
        if (is(k, "selects")) assert_num(other[cur2.selected].id, data[cur.selected].id);
        test_sort_by_id(&cur);
        test_sort_by_id(&cur2);
        assert_num(cur2.size, cur.size);
        for (size_t i = 0; i < cur.size; i++) {
            if (data[i].id != other[i].id || bits_of(data[i].logit) != bits_of(other[i].logit) ||
                bits_of(data[i].p) != bits_of(other[i].p))
                test_fail(__FILE__, __LINE__, "%s: {%d, %.9g, %.9g}, in another order {%d, %.9g, %.9g}", k->name,
                          (int)data[i].id, (double)data[i].logit, (double)data[i].p, (int)other[i].id,
                          (double)other[i].logit, (double)other[i].p);
        }
    }
}

static void check_all(source *rng, const float *logits, size_t n)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < TEST_COUNT(kinds); k++) check_row(&kinds[k], kind, rng, logits, n);
}

TEST(test_random_rows)
{
    source rng = source_stream(100);
    float logits[N];
    for (size_t n = 1; n <= 67; n++)
        for (int round = 0; round < 4; round++) {
            if (round & 1)
                test_logits_tied(&rng, logits, n, 0.5, 5);
            else
                test_logits(&rng, logits, n, 3.0);
            if (round & 2)
                for (size_t i = 0; i < n; i++)
                    if (below(&rng, 3) == 0) logits[i] = -INFINITY;
            logits[below(&rng, n)] = 1.0f; /* never all masked */
            check_all(&rng, logits, n);
        }
}

TEST(test_all_equal)
{
    static const float values[] = { 0.0f,    -0.0f,    1.0f,   -5.5f,   3e38f, -3e38f,
                                    FLT_MAX, -FLT_MAX, 1e-45f, -1e-45f, 1e-39f };
    source rng = source_stream(101);
    float logits[N];
    for (size_t v = 0; v < TEST_COUNT(values); v++)
        for (size_t n = 1; n <= 20; n += n < 5 ? 1 : 5) {
            for (size_t i = 0; i < n; i++) logits[i] = values[v];
            check_all(&rng, logits, n);
        }
}

TEST(test_extreme_rows)
{
    static const float rows[][6] = {
        { 3e38f, -3e38f, 0.0f, 3e38f, -3e38f, 1.0f },
        { FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, FLT_MAX, 0.0f },
        { -FLT_MAX, -FLT_MAX, -3e38f, -FLT_MAX, -INFINITY, -FLT_MAX },
        { FLT_MAX, -INFINITY, 3.4e38f, 3.3e38f, 3.2e38f, 3.1e38f },
        { 1e-45f, 3e-45f, 2e-45f, 0.0f, -1e-45f, -0.0f },
        { 1e-39f, 1e-40f, 1e-41f, 1e-42f, 1e-43f, -INFINITY },
        { -0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f },
        { 0.0f, -64.0f, -63.9f, -28.4f, -28.5f, -27.0f },
        { 88.7f, -103.0f, -88.0f, 88.8f, 104.0f, -150.0f },
        { 1e30f, 1e30f, 1.0f, -1e30f, 1e29f, 9e29f },
        { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -FLT_MAX },
        { -INFINITY, -INFINITY, 3.0f, -INFINITY, -INFINITY, 3.0f },
        { 16777216.0f, 16777215.0f, 16777214.0f, 16777213.0f, 0.0f, -16777216.0f },
    };
    source rng = source_stream(102);
    for (size_t r = 0; r < TEST_COUNT(rows); r++)
        for (size_t n = 6; n <= 6; n++) check_all(&rng, rows[r], n);
}

/* The one decisive token stands at every index of every length: alone unmasked; or far above the rest. */
TEST(test_every_index)
{
    source rng = source_stream(103);
    float logits[N];
    for (size_t n = 1; n <= 52; n++)
        for (size_t at = 0; at < n; at += quickest() ? 1 + n / 8 : 1)
            for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
                int kind = (int)((n + at) & 1);
                for (size_t i = 0; i < n; i++) logits[i] = -INFINITY;
                logits[at] = (float)normal(&rng);
                check_row(&kinds[k], kind, &rng, logits, n);
                if (!is(&kinds[k], "best")) continue;
                test_logits(&rng, logits, n, 0.5);
                logits[at] = 40.0f;
                check_row(&kinds[k], kind, &rng, logits, n);
            }
}

/* `selected`: what does not select forgets it, even where nothing changes; llama.cpp keeps the index */
TEST(test_selected_is_forgotten)
{
    static const float logits[6] = { 1.0f, 5.0f, -2.0f, 4.0f, 2.0f, -INFINITY };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < TEST_COUNT(kinds); k++)
            for (size_t n = 1; n <= 6; n++) {
                samp_token_data data[6];
                samp_token_data_array cur = test_array(data, logits, n);
                if (is(&kinds[k], "selects")) continue;
                cur.selected = 3;
                apply(of_kind(kinds[k].make(), kind), &cur);
                assert_num(cur.selected, kind ? 3 : -1);
            }
    /* what selects does not look at what was selected before */
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < TEST_COUNT(kinds); k++) {
            samp_sampler *a, *b;
            if (!is(&kinds[k], "selects")) continue;
            a = of_kind(kinds[k].make(), kind);
            b = of_kind(kinds[k].make(), kind);
            for (int i = 0; i < 30; i++) {
                samp_token_data x[6], y[6];
                samp_token_data_array p = test_array(x, logits, 6), q = test_array(y, logits, 6);
                q.selected = i % 6;
                assert_ok(samp_apply(a, &p));
                assert_ok(samp_apply(b, &q));
                assert_num(q.selected, p.selected);
            }
            samp_free(a);
            samp_free(b);
        }
}

/* ------------------------------------------------------------------------------------------------- greedy */

TEST(test_greedy)
{
    samp_token_data data[8];
    samp_token_data_array cur;
    const float ties[] = { 1.0f, 3.0f, 2.0f, 3.0f, 3.0f };
    cur = test_array(data, ties, 5);
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 1);
    assert_false(cur.sorted);

    /* the smaller id, not the smaller index */
    data[0].id = 4, data[4].id = 0, data[1].id = 3, data[3].id = 1;
    cur.selected = -1;
    apply(samp_init_greedy(), &cur);
    assert_num(data[cur.selected].id, 0);
    assert_num(cur.selected, 4);

    const float zeros[] = { -1.0f, 0.0f, -0.0f }, zeros_2[] = { -1.0f, -0.0f, 0.0f };
    cur = test_array(data, zeros, 3);
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 1);
    cur = test_array(data, zeros_2, 3);
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 1);
    data[1].id = 2, data[2].id = 1;
    apply(samp_init_greedy(), &cur);
    assert_num(data[cur.selected].id, 1);

    const float tiny[] = { 0.0f, 1e-45f, -1e-45f };
    cur = test_array(data, tiny, 3);
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 1);

    const float masked[] = { -INFINITY, -INFINITY, -FLT_MAX, -INFINITY };
    cur = test_array(data, masked, 4);
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 2);

    /* sorted is a promise that may be used: the first */
    const float down[] = { 3.0f, 2.0f, 1.0f };
    cur = test_array(data, down, 3);
    cur.sorted = true;
    apply(samp_init_greedy(), &cur);
    assert_num(cur.selected, 0);
    assert_true(cur.sorted);
}

/* --------------------------------------------------------------------------------------- dist and softmax */

TEST(test_softmax)
{
    golden(samp_init_softmax(), FOUR, FOUR_DOWN);
    golden(samp_init_softmax(), PROBS(0.0, 0.25, 0.5, 0.25), PROBS(0.5, 0.25, 0.25, 0.0));
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[8];
        const float logits[] = { 2.0f, -INFINITY, 2.0f, 0.0f, 2.0f, -INFINITY };
        samp_token_data_array cur = test_array(data, logits, 6);
        double z = 3 + exp(-2.0);
        apply(of_kind(samp_init_softmax(), kind), &cur);
        assert_ids(&cur, 0, 2, 4, 3, 1, 5);
        assert_true(cur.sorted);
        for (int i = 0; i < 3; i++) assert_close(data[i].p, 1 / z, 2e-7);
        assert_close(data[3].p, exp(-2.0) / z, 2e-7);
        assert_same(data[4].p, 0.0f);
        assert_same(data[5].p, 0.0f);
        cur = test_array(data, logits, 1);
        apply(of_kind(samp_init_softmax(), kind), &cur);
        assert_same(data[0].p, 1.0f);
        for (size_t n = 1; n <= 7; n++) { /* all equal, at any height */
            const float flat[] = { 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f };
            cur = test_array(data, flat, n);
            apply(of_kind(samp_init_softmax(), kind), &cur);
            for (size_t i = 0; i < n; i++) assert_near(data[i].p, 1.0 / (double)n, 6e-8);
        }
    }
}

TEST(test_dist)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[8];
        const double probs[] = { 0.1, 0.2, 0.0, 0.3, 0.4 };
        samp_token_data_array cur;
        own_sampler *s = of_kind(samp_init_dist(3), kind);
        size_t seen[5] = { 0 };
        for (int i = 0; i < 4000; i++) {
            cur = from_probs(data, probs, 5);
            assert_ok(samp_apply(s, &cur));
            assert_in_range(cur.selected, 0, 4);
            seen[cur.selected]++;
            assert_false(cur.sorted);
            if (i) continue;
            for (size_t j = 0; j < 5; j++) {
                assert_num(data[j].id, j);
                assert_close(data[j].p, probs[j], 5e-7);
            }
        }
        assert_num(seen[2], 0);
        for (size_t j = 0; j < 5; j++) /* 5 standard deviations of 4000 draws are at most 0.04 */
            assert_near((double)seen[j] / 4000, probs[j], 0.04);
        assert_u64(samp_get_position(s), 4000);
        samp_free(s);

        /* a single candidate: no choice, but a draw */
        s = of_kind(samp_init_dist(3), kind);
        cur = from_probs(data, probs, 1);
        assert_ok(samp_apply(s, &cur));
        assert_num(cur.selected, 0);
        assert_same(data[0].p, 1.0f);
        assert_u64(samp_get_position(s), 1);
    }
}

/* A weight of round(2^40 e^d) = 0 is never drawn: e^-28.5 is 0.46 of the unit, e^-27 is 2. */
TEST(test_dist_weightless)
{
    enum { N = 4096 };
    static samp_token_data data[N];
    static float logits[N];
    own_sampler *s = samp_init_dist(5);
    for (int i = 0; i < N; i++) logits[i] = -28.5f;
    logits[N / 2] = 0.0f;
    for (int i = 0; i < 500; i++) {
        samp_token_data_array cur = test_array(data, logits, N);
        assert_ok(samp_apply(s, &cur));
        assert_num(cur.selected, N / 2);
        assert_close(data[0].p, exp(-28.5), 1e-6); /* p is e^-d all the same */
        assert_same(data[N / 2].p, 1.0f);
    }
}

/* ... at any distance. */
TEST(test_p_far_below)
{
    static samp_sampler *(*const makers[])(void) = { make_softmax, make_dist };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < TEST_COUNT(makers); k++)
            for (int d = 0; d <= 120; d++) {
                samp_token_data data[2];
                const float logits[] = { 3.0f, 3.0f - (float)d };
                samp_token_data_array cur = test_array(data, logits, 2);
                double z = 1 + exp(-(double)d), want = exp(-(double)d) / z;
                apply(of_kind(makers[k](), kind), &cur);
                assert_near(test_find(&cur, 1)->p, want, 2e-7 * want + 1e-45);
            }
}

/* -------------------------------------------------------------------------------------------------- top_k */

TEST(test_top_k)
{
    golden(samp_init_top_k(1), FOUR, PROBS(1.0));
    golden(samp_init_top_k(3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_k(4), FOUR, FOUR_DOWN);
    golden(samp_init_top_k(5), FOUR, FOUR_DOWN);
    golden(samp_init_top_k(INT32_MAX), FOUR, FOUR_DOWN);
    golden(samp_init_top_k(0), FOUR, FOUR_DOWN);
    golden(samp_init_top_k(-1), FOUR, FOUR_DOWN);
    golden(samp_init_top_k(INT32_MIN), FOUR, FOUR_DOWN);
}

/* With ties kept: all that equal the k-th, whichever ids they have; k counts no masked ones, in either arithmetic. */
TEST(test_top_k_ties)
{
    golden(samp_init_top_k_ties(1), PROBS(0.3, 0.4, 0.3), PROBS(1.0));
    golden(samp_init_top_k_ties(2), PROBS(0.3, 0.4, 0.3), PROBS(0.4, 0.3, 0.3));
    golden(samp_init_top_k_ties(1), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    golden(samp_init_top_k_ties(2), PROBS(0.2, 0.3, 0.1, 0.2, 0.2),
           PROBS(0.3 / 0.9, 0.2 / 0.9, 0.2 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_k_ties(3), PROBS(0.2, 0.3, 0.1, 0.2, 0.2),
           PROBS(0.3 / 0.9, 0.2 / 0.9, 0.2 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_k_ties(5), PROBS(0.2, 0.3, 0.1, 0.2, 0.2), PROBS(0.3, 0.2, 0.2, 0.2, 0.1));
    golden(samp_init_top_k_ties(9), PROBS(0.5, 0.0, 0.5, 0.0), PROBS(0.5, 0.5));
    golden(samp_init_top_k_ties(0), FOUR, FOUR_DOWN);
    golden(samp_init_top_k_ties(-1), FOUR, FOUR_DOWN);
    char text[40];
    own_sampler *s = samp_init_top_k_ties(3);
    assert_num(samp_describe(s, text, sizeof text), strlen("logits -> top-k(k=3, ties=1)"));
    assert_text(text, "logits -> top-k(k=3, ties=1)");
}

/* every k on every length, many ties, shuffled: the first k of the sorted array, without the masked ones */
TEST(test_top_k_all)
{
    source rng = source_stream(110);
    float logits[160];
    samp_token_data data[160], want[160];
    for (size_t n = 1; n <= 150; n += n < 40 ? 1 : 37)
        for (int k = 1; k <= (int)n + 1; k++) {
            size_t left = 0;
            int kind = k & 1;
            test_logits_tied(&rng, logits, n, 1.0, k % 3 ? 4 : 1000);
            if (k & 2)
                for (size_t i = 0; i < n; i++)
                    if (below(&rng, 4) == 0) logits[i] = -INFINITY;
            logits[below(&rng, n)] = 0.5f;
            samp_token_data_array cur = test_array(data, logits, n), sorted = test_array(want, logits, n);
            test_sort(&sorted);
            /* MT19937 counts masked tokens as candidates, as llama.cpp does */
            while (left < n && left < (size_t)k && (kind || want[left].logit > -INFINITY)) left++;
            if (k % 5 == 0)
                test_sort(&cur);
            else
                test_shuffle(&rng, &cur);
            for (size_t i = 0; i < n; i++) data[i].p = (float)data[i].id;
            apply(of_kind(samp_init_top_k(k), kind), &cur);
            assert_num(cur.size, left);
            assert_true(cur.sorted);
            for (size_t i = 0; i < left; i++) {
                assert_num(data[i].id, want[i].id);
                assert_same(data[i].logit, want[i].logit);
                assert_same(data[i].p, (float)data[i].id);
            }
        }
}

/* The sort behind all of them, with few partitions left: it gives up quicksort, and is right all the same. For public
   calls it takes an adversary's row (typical_gives_up_quickselect in test_fast.c), so the private function is called. */
TEST(test_sort_depth)
{
    source rng = source_stream(111);
    samp_token_data data[200], want[200];
    float logits[200];
    for (int depth = 0; depth <= 8; depth++)
        for (size_t n = 1; n <= 200; n += n < 40 ? 1 : 23) {
            size_t k = 1 + below(&rng, n);
            if (depth & 1)
                test_logits_tied(&rng, logits, n, 1.0, 5);
            else
                test_logits(&rng, logits, n, 3.0);
            samp_token_data_array cur = test_array(data, logits, n), sorted = test_array(want, logits, n);
            test_sort(&sorted);
            if (depth % 3) test_shuffle(&rng, &cur);
            inside_sort_part(data, n, k, depth);
            for (size_t i = 0; i < k; i++) assert_num(data[i].id, want[i].id);
        }
}

/* -------------------------------------------------------------------------------------------------- top_p */

TEST(test_top_p)
{
    golden(samp_init_top_p(1e-9f, 0), FOUR, PROBS(1.0));
    golden(samp_init_top_p(1e-30f, 0), FOUR, PROBS(1.0));
    golden(samp_init_top_p(1e-45f, 0), FOUR, PROBS(1.0));
    golden(samp_init_top_p(0.399f, 0), FOUR, PROBS(1.0));
    golden(samp_init_top_p(0.401f, 0), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_top_p(0.55f, 1), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_top_p(0.699f, 0), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_top_p(0.701f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_p(0.8f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_p(0.899f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_p(0.901f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_top_p(0.99999994f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_top_p(1.0f, 0), FOUR, FOUR_DOWN);
    /* at equality the token that crosses stays: weights of equal logits are equal, so halves are exact */
    golden(samp_init_top_p(0.5f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.5, 0.5));
    golden(samp_init_top_p(0.25f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(1.0));
    golden(samp_init_top_p(0.50000006f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(1 / 3.0, 1 / 3.0, 1 / 3.0));
    golden(samp_init_top_p(0.49999997f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.5, 0.5));
    golden(samp_init_top_p(0.99999994f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    /* min_keep */
    golden(samp_init_top_p(0.1f, 2), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_top_p(0.1f, 3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_p(0.8f, 2), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_top_p(0.1f, 4), FOUR, FOUR_DOWN);
    golden(samp_init_top_p(0.1f, 5), FOUR, FOUR_DOWN);
    golden(samp_init_top_p(0.1f, SIZE_MAX), FOUR, FOUR_DOWN);
}

/* What is left in the array: the order, p over all the tokens, ties by id, masked tokens uncounted. */
TEST(test_top_p_leaves)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[8];
        const double probs[] = { 0.1, 0.0, 0.4, 0.0, 0.3, 0.2 };
        samp_token_data_array cur = from_probs(data, probs, 6);
        apply(of_kind(samp_init_top_p(0.6f, 0), kind), &cur);
        assert_ids(&cur, 2, 4);
        assert_true(cur.sorted);
        assert_near(data[0].p, 0.4, 1e-6);
        assert_near(data[1].p, 0.3, 1e-6);
        /* min_keep wants 5, there are 4 unmasked */
        cur = from_probs(data, probs, 6);
        apply(of_kind(samp_init_top_p(0.6f, 5), kind), &cur);
        assert_in_range(cur.size, 4, 5);
        cur.size = 4;
        assert_ids(&cur, 2, 4, 5, 0);
        /* ties */
        const float flat[] = { 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f };
        cur = test_array(data, flat, 8);
        for (int i = 0; i < 8; i++) data[i].id = (i * 3 + 5) % 8;
        apply(of_kind(samp_init_top_p(0.55f, 0), kind), &cur);
        assert_ids(&cur, 0, 1, 2, 3, 4);
        for (int i = 0; i < 5; i++) assert_near(data[i].p, 0.125, 1e-8);
        /* one token */
        cur = test_array(data, flat, 1);
        apply(of_kind(samp_init_top_p(0.5f, 0), kind), &cur);
        assert_num(cur.size, 1);
        assert_same(data[0].p, 1.0f);
    }
}

/* -------------------------------------------------------------------------------------------------- min_p */

TEST(test_min_p)
{
    golden(samp_init_min_p(0.00f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_min_p(1e-45f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_min_p(0.24f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_min_p(0.26f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_min_p(0.49f, 1), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_min_p(0.51f, 1), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_min_p(0.74f, 0), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_min_p(0.76f, 0), FOUR, PROBS(1.0));
    golden(samp_init_min_p(0.99999994f, 0), FOUR, PROBS(1.0));
    golden(samp_init_min_p(1.00f, 0), FOUR, PROBS(1.0));
    golden(samp_init_min_p(1.00f, 0), PROBS(0.4, 0.2, 0.4), PROBS(0.5, 0.5));
    golden(samp_init_min_p(0.99f, 2), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_min_p(0.51f, 2), FOUR, PROBS(0.571429, 0.428571));
    golden(samp_init_min_p(0.51f, 3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_min_p(0.51f, 4), FOUR, FOUR_DOWN);
    golden(samp_init_min_p(0.51f, 5), FOUR, FOUR_DOWN);
    golden(samp_init_min_p(0.51f, SIZE_MAX), FOUR, FOUR_DOWN);
}

TEST(test_min_p_leaves)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[8];
        const double probs[] = { 0.1, 0.3, 0.0, 0.4, 0.2, 0.0 };
        samp_token_data_array cur = from_probs(data, probs, 6);
        apply(of_kind(samp_init_min_p(0.4f, 0), kind), &cur);
        assert_ids(&cur, 1, 3, 4); /* the order stays */
        assert_false(cur.sorted);
        assert_same(data[0].p, TEST_P_UNSET);
        cur = from_probs(data, probs, 6); /* min_keep decides: sorted */
        apply(of_kind(samp_init_min_p(0.9f, 2), kind), &cur);
        assert_ids(&cur, 3, 1);
        assert_true(cur.sorted);
        cur = from_probs(data, probs, 6); /* masked tokens do not fill up min_keep */
        apply(of_kind(samp_init_min_p(0.9f, 4), kind), &cur);
        assert_ids(&cur, 3, 1, 4, 0);
        cur = from_probs(data, probs, 6); /* a sorted array stays sorted */
        test_sort(&cur);
        apply(of_kind(samp_init_min_p(0.4f, 0), kind), &cur);
        assert_ids(&cur, 3, 1, 4);
        assert_true(cur.sorted);
        /* ties: all of a value without min_keep; with it the smaller ids */
        const float tied[] = { 0.0f, 5.0f, 4.0f, 4.0f, 5.0f, 4.0f, 4.0f };
        static const samp_token ids[] = { 0, 9, 8, 6, 4, 7, 5 };
        cur = test_array(data, tied, 7);
        for (int i = 0; i < 7; i++) data[i].id = ids[i];
        apply(of_kind(samp_init_min_p(0.36f, 0), kind), &cur); /* e^-1 = 0.3679 */
        assert_ids(&cur, 9, 8, 6, 4, 7, 5);
        cur = test_array(data, tied, 7);
        for (int i = 0; i < 7; i++) data[i].id = ids[i];
        apply(of_kind(samp_init_min_p(0.37f, 0), kind), &cur);
        assert_ids(&cur, 9, 4);
        cur = test_array(data, tied, 7);
        for (int i = 0; i < 7; i++) data[i].id = ids[i];
        apply(of_kind(samp_init_min_p(0.37f, 4), kind), &cur);
        assert_ids(&cur, 4, 9, 5, 6);
    }
}

/* The threshold is max + ln p in full precision: the two f32 next to it fall on either side, everywhere. */
TEST(test_min_p_threshold)
{
    static const float maxima[] = { 0.0f, 1.0f, 19.8492393f, -7.25f, 300.0f };
    static const float ps[] = { 0.5f, 0.05f, 0.9f, 0.001f, 1e-9f };
    samp_token_data data[24];
    float logits[24];
    for (size_t a = 0; a < TEST_COUNT(maxima); a++)
        for (size_t b = 0; b < TEST_COUNT(ps); b++)
            for (size_t at = 1; at < 20; at++) {
                double threshold = (double)maxima[a] + log((double)ps[b]);
                float above = (float)threshold, below;
                samp_token_data_array cur;
                if ((double)above < threshold) above = nextafterf(above, INFINITY);
                below = nextafterf(above, -INFINITY);
                for (size_t i = 0; i < 20; i++) logits[i] = maxima[a] - 200.0f;
                logits[0] = maxima[a];
                logits[at] = above;
                cur = test_array(data, logits, 20);
                apply(samp_init_min_p(ps[b], 0), &cur);
                assert_ids(&cur, 0, (samp_token)at);
                logits[at] = below;
                cur = test_array(data, logits, 20);
                apply(samp_init_min_p(ps[b], 0), &cur);
                assert_ids(&cur, 0);
            }
}

/* ----------------------------------------------------------------------- p_less, p_less_norm, epsilon, eta */

TEST(test_p_less)
{
#define STEEP PROBS(0.15, 0.5, 0.05, 0.3) /* the sum of p^2 is 0.365 */
    golden(samp_init_p_less(1.0f, 0), STEEP, PROBS(1.0));
    golden(samp_init_p_less(0.823f, 0), STEEP, PROBS(1.0)); /* 0.3004 */
    golden(samp_init_p_less(0.821f, 0), STEEP, PROBS(0.625, 0.375));
    golden(samp_init_p_less(0.412f, 0), STEEP, PROBS(0.625, 0.375)); /* 0.1504 */
    golden(samp_init_p_less(0.410f, 0), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95));
    golden(samp_init_p_less(0.0f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less(1e-45f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less(1.0f, 2), STEEP, PROBS(0.625, 0.375));
    golden(samp_init_p_less(1.0f, SIZE_MAX), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less(1.0f, 0), PROBS(0.3, 0.4, 0.3), PROBS(1.0));                       /* 0.34 */
    golden(samp_init_p_less(1.0f, 0), PROBS(0.35, 0.4, 0.25), PROBS(0.4 / 0.75, 0.35 / 0.75)); /* 0.345 */
    /* all alike: the sum is the p of each */
    golden(samp_init_p_less(1.0f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    golden(samp_init_p_less(1.0f, 0), PROBS(0.5, 0.0, 0.5), PROBS(0.5, 0.5));
}

/* n counts what is not masked: with one more, 0.97 would be 0.2 below, and not 0.1487. */
TEST(test_p_less_norm)
{
    golden(samp_init_p_less_norm(1.0f, 0), STEEP, PROBS(0.625, 0.375)); /* 0.1533 */
    golden(samp_init_p_less_norm(0.979f, 0), STEEP, PROBS(0.625, 0.375));
    golden(samp_init_p_less_norm(0.977f, 0), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95)); /* 0.1498 */
    golden(samp_init_p_less_norm(0.327f, 0), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95)); /* 0.0501 */
    golden(samp_init_p_less_norm(0.325f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less_norm(0.0f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less_norm(1e-45f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less_norm(1.0f, 3), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95));
    golden(samp_init_p_less_norm(1.0f, SIZE_MAX), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_p_less_norm(0.97f, 0), PROBS(0.15, 0.5, 0.0, 0.05, 0.3),
           PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95));
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.3, 0.4, 0.3), PROBS(0.4, 0.3, 0.3)); /* 0.01 */
    /* two: (p - q)^2 */
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.74, 0.26), PROBS(0.74, 0.26)); /* 0.2304 */
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.76, 0.24), PROBS(1.0));        /* 0.2704 */
    /* all alike: it is 0; one: there is none */
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.5, 0.0, 0.5), PROBS(0.5, 0.5));
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(0.0, 1.0, 0.0), PROBS(1.0));
    golden(samp_init_p_less_norm(1.0f, 0), PROBS(1.0), PROBS(1.0));
}

TEST(test_epsilon)
{
    golden(samp_init_epsilon(0.0f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_epsilon(0.099f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_epsilon(0.101f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_epsilon(0.201f, 0), FOUR, PROBS(0.4 / 0.7, 0.3 / 0.7));
    golden(samp_init_epsilon(0.301f, 0), FOUR, PROBS(1.0));
    golden(samp_init_epsilon(1.0f, 0), FOUR, PROBS(1.0));                      /* none: the best stays, */
    golden(samp_init_epsilon(0.5f, 1), PROBS(0.4, 0.2, 0.4), PROBS(0.5, 0.5)); /* or those that are */
    golden(samp_init_epsilon(0.5f, 2), FOUR, PROBS(0.4 / 0.7, 0.3 / 0.7));
    golden(samp_init_epsilon(0.201f, 3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_epsilon(0.5f, SIZE_MAX), FOUR, FOUR_DOWN);
}

TEST(test_eta)
{
    /* e^-H = 0.27807: the root times that is the smaller one from 0.0773 on */
    golden(samp_init_eta(0.0f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_eta(0.12f, 0), FOUR, FOUR_DOWN);                              /* 0.0963 */
    golden(samp_init_eta(0.13f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9)); /* 0.10026 */
    golden(samp_init_eta(0.51f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9)); /* 0.1986 */
    golden(samp_init_eta(0.53f, 0), FOUR, PROBS(0.4 / 0.7, 0.3 / 0.7));            /* 0.2024 */
    golden(samp_init_eta(1.0f, 0), FOUR, PROBS(0.4 / 0.7, 0.3 / 0.7));
    golden(samp_init_eta(1.0f, 3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    /* H = 0.1985, e^-H = 0.82: epsilon itself is the smaller one below 0.67 */
    golden(samp_init_eta(0.049f, 0), PROBS(0.95, 0.05), PROBS(0.95, 0.05));
    golden(samp_init_eta(0.051f, 0), PROBS(0.95, 0.05), PROBS(1.0));
    golden(samp_init_eta(1.0f, 0), PROBS(0.5, 0.5), PROBS(0.5, 0.5));
}

/* ------------------------------------------------------------------------------------------- top_h, min_k */

TEST(test_top_h)
{
    /* STEEP has 1.1421 nats. Its beginnings: 0.5 alone 0; 0.625, 0.375: 0.6616; with 0.15: 0.9933 */
    golden(samp_init_top_h(1e-45f, 0), STEEP, PROBS(1.0));
    golden(samp_init_top_h(0.579f, 0), STEEP, PROBS(1.0)); /* 0.6613 */
    golden(samp_init_top_h(0.580f, 0), STEEP, PROBS(0.625, 0.375));
    golden(samp_init_top_h(0.869f, 0), STEEP, PROBS(0.625, 0.375)); /* 0.9925 */
    golden(samp_init_top_h(0.870f, 0), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95));
    golden(samp_init_top_h(0.999f, 0), STEEP, PROBS(0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95));
    golden(samp_init_top_h(1.0f, 0), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    golden(samp_init_top_h(0.1f, 2), STEEP, PROBS(0.625, 0.375));
    golden(samp_init_top_h(0.1f, SIZE_MAX), STEEP, PROBS(0.5, 0.3, 0.15, 0.05));
    /* k of n alike have ln k: 2 of 4 are half of the entropy */
    golden(samp_init_top_h(0.49f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(1.0));
    golden(samp_init_top_h(0.51f, 0), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.5, 0.5));
    golden(samp_init_top_h(0.51f, 0), PROBS(0.25, 0.0, 0.25, 0.25, 0.25), PROBS(0.5, 0.5));
}

/* One row of logits: how many the sampler keeps, and that they are the first in order. */
static void keeps_first(float tau, const float *logits, size_t n, size_t want)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[16];
        samp_token_data_array cur = test_array(data, logits, n);
        apply(of_kind(samp_init_min_k(tau), kind), &cur);
        assert_num(cur.size, want);
        assert_true(cur.sorted);
        for (size_t i = 1; i < cur.size; i++) assert_true(data[i - 1].logit >= data[i].logit);
    }
}

TEST(test_min_k)
{
    /* in order 9 8 7 1 0: falls of 1, 1, 6, 1, over their places 1, 1/2, 2, 1/4 */
    static const float cliff[] = { 7.0f, 0.0f, 9.0f, -INFINITY, 1.0f, 8.0f };
    keeps_first(0.0f, cliff, 6, 3);
    keeps_first(35.9f, cliff, 6, 3); /* over the range of 9: 3.99 */
    keeps_first(36.0f, cliff, 6, 4);
    keeps_first(45.0f, cliff, 6, 5);
    keeps_first(1e30f, cliff, 6, 5);
    /* 4 2 -2: falls of 2 and 4 over 2 are as steep: the first */
    static const float both[] = { 2.0f, -2.0f, 4.0f };
    keeps_first(0.0f, both, 3, 1);
    keeps_first(12.0f, both, 3, 2);
    static const float flat[] = { 1.0f, 1.0f, 1.0f };
    keeps_first(0.0f, flat, 3, 1);
    keeps_first(1e-30f, flat, 3, 3);
    static const float zeros[2][2] = { { -0.0f, 0.0f }, { 0.0f, -0.0f } }; /* as far apart as two zeros */
    for (int i = 0; i < 2; i++) keeps_first(3.0f, zeros[i], 2, 2);
    static const float one[] = { -INFINITY, 1.0f };
    keeps_first(0.0f, one, 2, 1);
    keeps_first(3.0f, one, 2, 1);
    /* the cliff is where it was at any temperature, the number for flat rows is not */
    for (float t = 0.25f; t <= 4.0f; t *= 2.0f) {
        float scaled[6];
        for (int i = 0; i < 6; i++) scaled[i] = cliff[i] / t;
        keeps_first(0.0f, scaled, 6, 3);
        keeps_first(9.0f, scaled, 6, t < 4.0f ? 3 : 4);
    }
}

/* -------------------------------------------------------------------------------------------- log_softmax */

TEST(test_log_softmax)
{
    for (int kind = 0; kind < KINDS; kind++) {
        /* whatever their zero was */
        const double p[] = { 0.25, 0.25, 0.125, 0.0, 0.375 };
        float logits[5];
        samp_token_data data[5];
        for (int shift = -100; shift <= 100; shift += 50) {
            for (int i = 0; i < 5; i++) logits[i] = (float)(log(p[i]) + shift);
            samp_token_data_array cur = test_array(data, logits, 5);
            apply(of_kind(samp_init_log_softmax(), kind), &cur);
            assert_num(cur.size, 5);
            for (int i = 0; i < 5; i++) {
                if (i == 3)
                    assert_true(data[i].logit == -INFINITY);
                else
                    assert_true(fabs((double)data[i].logit - log(p[i])) < 1e-5); /* f32 at 100 */
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------- smoothing */

/* By hand: 1, 2 and 3 below the maximum of 5. */
TEST(test_smoothing)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const float logits[] = { 4.0f, 5.0f, -INFINITY, 2.0f, 3.0f };
        const struct {
            float factor, curve, want[5];
        } cases[] = {
            { 0.0f, 2.0f, { 4.0f, 5.0f, -INFINITY, 2.0f, 3.0f } },
            { 0.5f, 1.0f, { 4.5f, 5.0f, -INFINITY, 0.5f, 3.0f } },     /* 5 - d^2 / 2 */
            { 0.5f, 3.0f, { 4.5f, 5.0f, -INFINITY, -8.5f, 1.0f } },    /* 5 - d^3 / 2 */
            { 2.0f, 2.0f, { 3.0f, 5.0f, -INFINITY, -31.0f, -7.0f } },  /* 5 - d^2 (1 + d) */
            { 2.0f, 5.0f, { 3.0f, 5.0f, -INFINITY, -85.0f, -19.0f } }, /* 5 - d^2 (4 d - 2) */
        };
        for (size_t i = 0; i < TEST_COUNT(cases); i++) {
            samp_token_data data[5];
            samp_token_data_array cur = test_array(data, logits, 5);
            apply(of_kind(samp_init_smoothing(cases[i].factor, cases[i].curve), kind), &cur);
            assert_num(cur.size, 5);
            for (size_t j = 0; j < 5; j++) assert_same(data[j].logit, cases[i].want[j]);
        }
        /* 5 + d^2 (7 - 9 d) / 2: what is half a unit below rises above the best, and the array is in order no more */
        const float near_top[] = { 5.0f, 4.5f, 4.0f };
        samp_token_data data[3];
        samp_token_data_array cur = test_array(data, near_top, 3);
        cur.sorted = true;
        apply(of_kind(samp_init_smoothing(1.0f, 10.0f), kind), &cur);
        assert_same(data[0].logit, 5.0f);
        assert_same(data[1].logit, 5.3125f);
        assert_same(data[2].logit, 4.0f);
        assert_true(!cur.sorted);
    }
}

/* ---------------------------------------------------------------------------------------------------- ras */

/* The chain leaves the best token only; the token behind n of them is the best one again, or one of the row. */
static samp_token behind_best(int32_t window, float threshold, int n, int other, uint64_t seed)
{
    static const float row[4] = { 1.0f, 0.9f, 0.8f, -INFINITY };
    samp_sampler *chain = new_chain(samp_init_top_k(1), samp_init_ras(window, threshold, seed));
    for (int i = 0; i < n; i++) assert_ok(samp_accept(chain, 0));
    for (int i = 0; i < other; i++) assert_ok(samp_accept(chain, 1));
    samp_token token = samp_sample(chain, row, 4);
    assert_num(samp_get_position(chain), 1);
    samp_free(chain);
    return token;
}

/* How the tokens of 2000 seeds are: 0 if all are the best, 1 if they are the row's. */
static int redrawn(int32_t window, float threshold, int n, int other)
{
    const double row[4] = { exp(1.0), exp((double)0.9f), exp((double)0.8f), 0.0 }, z = row[0] + row[1] + row[2];
    int seen[4] = { 0 };
    for (uint64_t seed = 0; seed < 2000; seed++) seen[behind_best(window, threshold, n, other, seed)]++;
    if (seen[0] == 2000) return 0;
    for (int i = 0; i < 4; i++) assert_near(seen[i] / 2000.0, row[i] / z, 0.05);
    assert_num(seen[3], 0);
    return 1;
}

TEST(test_ras)
{
    assert_num(redrawn(3, 0.5f, 1, 0), 0); /* 1 / 3 */
    assert_num(redrawn(3, 0.5f, 2, 0), 1); /* 2 / 3 */
    assert_num(redrawn(3, 0.5f, 2, 1), 1);
    assert_num(redrawn(3, 0.5f, 2, 2), 0); /* one of them has left the window */
    assert_num(redrawn(10, 0.1f, 0, 0), 0);
    assert_num(redrawn(10, 0.1f, 1, 9), 1); /* CosyVoice's: one is enough */
    assert_num(redrawn(10, 0.1f, 1, 10), 0);
    assert_num(redrawn(10, 0.7f, 6, 0), 0);
    assert_num(redrawn(10, 0.7f, 7, 0), 1);
    assert_num(redrawn(4, 1.0f, 3, 0), 0);
    assert_num(redrawn(4, 1.0f, 4, 0), 1);
    assert_num(redrawn(5, 0.0f, 0, 0), 1); /* 0: always; a window of 0: never */
    assert_num(redrawn(0, 0.0f, 9, 0), 0);
    /* an array has no row: drawn once */
    samp_token_data data[4];
    const float row[4] = { 1.0f, 0.9f, 0.8f, -INFINITY };
    for (uint64_t seed = 0; seed < 50; seed++) {
        own_sampler *chain = new_chain(samp_init_top_k(1), samp_init_ras(5, 0.0f, seed));
        samp_token_data_array cur = test_array(data, row, 4);
        assert_ok(samp_apply(chain, &cur));
        assert_num(cur.data[cur.selected].id, 0);
    }
}

enum { LONG = 3000, TOLD = 60 };

/* By the fast path, by steps, in a batch, from a copy, from a saved state and behind a rollback: the same tokens. */
TEST(test_ras_everywhere)
{
    static float row[LONG];
    static unsigned char bytes[8192];
    source rng = source_stream(61);
    int again = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const size_t n = seed % 3 ? N : LONG;
        samp_sampler *fast = new_chain(samp_init_top_k(3), samp_init_ras(8, 0.25f, seed)),
                     *steps = new_chain(test_nothing(), samp_init_top_k(3), samp_init_ras(8, 0.25f, seed));
        samp_sampler *batch = samp_clone(fast),
                     *loaded = new_chain(samp_init_top_k(3), samp_init_ras(8, 0.25f, seed));
        samp_sampler *llama = of_kind(samp_clone(fast), SAMP_RNG_MT19937);
        for (int i = 0; i < TOLD; i++) {
            for (size_t k = 0; k < n; k++) row[k] = (float)normal(&rng) + (k < 4 ? 3.0f : 0.0f);
            if (i % 4 == 0) row[below(&rng, n)] = -INFINITY;
            size_t size = samp_state_size(fast);
            assert_true(size <= sizeof bytes);
            assert_ok(samp_state_save(fast, bytes, size));
            assert_ok(samp_state_load(loaded, bytes, size));
            own_sampler *copy = samp_clone(fast);
            samp_token token = samp_sample(fast, row, n), out;
            assert_true(token >= 0 && row[token] > -INFINITY);
            assert_num(samp_sample(steps, row, n), token);
            assert_num(samp_sample(copy, row, n), token);
            assert_num(samp_sample(loaded, row, n), token);
            assert_num(samp_sample(llama, row, n), token);
            for (int k = 0; k < 3; k++) assert_true(samp_sample(copy, row, n) >= 0);
            assert_ok(samp_rollback(copy, 4));
            assert_num(samp_sample(copy, row, n), token);
            samp_logprobs lp = { 0 };
            samp_logits l = { .data = row, .n_rows = 1, .n_vocab = n, .logprobs = &lp };
            assert_ok(samp_sample_batch(&batch, &l, &out));
            assert_num(out, token);
            int better = 0;
            for (size_t k = 0; k < n; k++) better += row[k] > row[token];
            if (better > 2) {
                again++;
                assert_same(lp.processed.chosen.logprob, lp.raw.chosen.logprob);
                assert_num(lp.processed.chosen.rank, lp.raw.chosen.rank);
            }
        }
        samp_sampler *made[] = { fast, steps, batch, loaded, llama };
        for (size_t k = 0; k < TEST_COUNT(made); k++) samp_free(made[k]);
    }
    assert_true(again > 100);
}

/* ---------------------------------------------------------------------------------------------------- xtc */

TEST(test_xtc)
{
    golden(samp_init_xtc(1.0f, 0.09f, 0, 0), FOUR_DOWN, PROBS(1.0));
    golden(samp_init_xtc(1.0f, 0.19f, 0, 0), FOUR_DOWN, PROBS(0.2 / 0.3, 0.1 / 0.3));
    golden(samp_init_xtc(1.0f, 0.29f, 0, 0), FOUR_DOWN, PROBS(0.3 / 0.6, 0.2 / 0.6, 0.1 / 0.6));
    golden(samp_init_xtc(1.0f, 0.31f, 0, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.39f, 0, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.41f, 0, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.0f, 0, 0), FOUR_DOWN, PROBS(1.0));
    golden(samp_init_xtc(1.0f, 0.51f, 0, 0), PROBS(0.6, 0.4), PROBS(0.6, 0.4));
    golden(samp_init_xtc(1.0f, 1.0f, 0, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(0.0f, 0.1f, 0, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.1f, 0, 0), PROBS(1.0), PROBS(1.0));
    /* min_keep tokens have to remain, or nothing happens */
    golden(samp_init_xtc(1.0f, 0.19f, 1, 0), FOUR_DOWN, PROBS(0.2 / 0.3, 0.1 / 0.3));
    golden(samp_init_xtc(1.0f, 0.19f, 2, 0), FOUR_DOWN, PROBS(0.2 / 0.3, 0.1 / 0.3));
    golden(samp_init_xtc(1.0f, 0.19f, 3, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.09f, 2, 0), FOUR_DOWN, FOUR_DOWN);
    golden(samp_init_xtc(1.0f, 0.19f, SIZE_MAX, 0), FOUR_DOWN, FOUR_DOWN);
}

/* Of 0.4, 0.3, 0.2, 0.1 those above t, without the last of them, go, but an exempt one stays. */
TEST(test_xtc_except)
{
    static const samp_token first[] = { 0 }, third[] = { 2, 2 }, all[] = { 3, 2, 1, 0 }, beyond[] = { 9 };
    for (int kind = 0; kind < KINDS; kind++) {
        const struct {
            const samp_token *exempt;
            size_t n, min_keep;
            float t;
            double left[4];
        } c[] = {
            { first, 0, 0, 0.19f, { 0.0, 0.0, 0.2, 0.1 } },  { first, 1, 0, 0.19f, { 0.4, 0.0, 0.2, 0.1 } },
            { third, 2, 0, 0.19f, { 0.0, 0.0, 0.2, 0.1 } },  { third, 2, 0, 0.09f, { 0.0, 0.0, 0.2, 0.1 } },
            { all, 4, 0, 0.19f, { 0.4, 0.3, 0.2, 0.1 } },    { all, 3, 0, 0.09f, { 0.0, 0.3, 0.2, 0.1 } },
            { beyond, 1, 0, 0.29f, { 0.0, 0.3, 0.2, 0.1 } }, { first, 1, 3, 0.19f, { 0.4, 0.0, 0.2, 0.1 } },
            { first, 1, 4, 0.19f, { 0.4, 0.3, 0.2, 0.1 } },  { first, 1, 0, 0.39f, { 0.4, 0.3, 0.2, 0.1 } },
            { first, 1, 0, 0.51f, { 0.4, 0.3, 0.2, 0.1 } },
        };
        for (size_t i = 0; i < TEST_COUNT(c); i++) {
            samp_token_data data[4];
            const double probs[] = { 0.4, 0.3, 0.2, 0.1 };
            samp_token_data_array cur = from_probs(data, probs, 4);
            size_t left = 0;
            apply(of_kind(samp_init_xtc_except(1.0f, c[i].t, c[i].min_keep, 0, c[i].exempt, c[i].n), kind), &cur);
            for (size_t k = 0; k < 4; k++) {
                const samp_token_data *d = test_find(&cur, (samp_token)k);
                bool there = d && d->logit > -INFINITY;
                assert_num(there, c[i].left[k] > 0.0);
                left += there;
            }
            for (size_t k = 0; k < 4 && left < 4; k++)
                if (c[i].left[k] > 0.0) assert_near(test_find(&cur, (samp_token)k)->p, c[i].left[k], 1e-6);
        }
    }
}

TEST(test_xtc_leaves)
{
    samp_token_data data[8];
    const double probs[] = { 0.1, 0.3, 0.0, 0.2, 0.4 };
    samp_token_data_array cur;
    /* t = 0: the masked token has p = 0, but is no candidate; the least likely of the others stays */
    for (int kind = 0; kind < KINDS; kind++) {
        cur = from_probs(data, probs, 5);
        apply(of_kind(samp_init_xtc(1.0f, 0.0f, 0, 0), kind), &cur);
        test_sort(&cur);
        assert_num(data[0].id, 0);
        assert_true(cur.size == 1 || data[1].logit == -INFINITY);
    }
    /* of equal ones that with the largest id stays; t = 0.5 is not off */
    const float flat[] = { 2.0f, 2.0f, -3.0f };
    for (int kind = 0; kind < KINDS; kind++) {
        cur = test_array(data, flat, 2);
        data[0].id = 7, data[1].id = 4;
        apply(of_kind(samp_init_xtc(1.0f, 0.5f, 0, 0), kind), &cur);
        assert_ids(&cur, 7);
        cur = test_array(data, flat, 3);
        apply(of_kind(samp_init_xtc(1.0f, 0.4f, 0, 0), kind), &cur);
        test_sort(&cur);
        assert_ids(&cur, 1, 2);
        cur = test_array(data, flat, 3); /* 0.5 is not reached by 0.4983 */
        apply(of_kind(samp_init_xtc(1.0f, 0.5f, 0, 0), kind), &cur);
        assert_num(cur.size, 3);
    }
}

/* It acts with probability p; the position moves each time, with one candidate too. */
TEST(test_xtc_chance)
{
    static const float chances[] = { 0.1f, 0.5f, 0.9f, 0.99f };
    const double probs[] = { 0.4, 0.3, 0.2, 0.1 };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t c = 0; c < TEST_COUNT(chances); c++) {
            own_sampler *s = of_kind(samp_init_xtc(chances[c], 0.15f, 0, 11), kind);
            int acted = 0;
            for (int i = 0; i < 4000; i++) {
                samp_token_data data[4];
                samp_token_data_array cur = from_probs(data, probs, 4);
                assert_ok(samp_apply(s, &cur));
                assert_true(cur.size == 2 || cur.size == 4);
                acted += cur.size == 2;
                if (cur.size == 4) /* where it did not act, it left everything */
                    for (int j = 0; j < 4; j++) assert_true(data[j].id == j && (data[j].p == TEST_P_UNSET || kind));
            }
            assert_near((double)acted / 4000, (double)chances[c], 0.04);
            assert_u64(samp_get_position(s), 4000);
            samp_token_data data[4];
            samp_token_data_array cur = from_probs(data, probs, 1);
            assert_ok(samp_apply(s, &cur));
            assert_num(cur.size, 1);
            assert_u64(samp_get_position(s), 4001);
        }
}

/* -------------------------------------------------------------------------------------------- top_n_sigma */

TEST(test_top_n_sigma)
{
    golden(samp_init_top_n_sigma(1.0f), FOUR, PROBS(0.571429, 0.428571, 0, 0));
    golden(samp_init_top_n_sigma(0.0f), FOUR, FOUR_DOWN);
    golden(samp_init_top_n_sigma(-1.0f), FOUR, FOUR_DOWN);
    golden(samp_init_top_n_sigma(3.0f), FOUR, FOUR_DOWN);
    golden(samp_init_top_n_sigma(3e38f), FOUR, FOUR_DOWN);
    golden(samp_init_top_n_sigma(1e-45f), FOUR, PROBS(1, 0, 0, 0));

    /* logits 1 2 3 4, sigma = sqrt(1.25) = 1.118: 3 stays below 0.894 sigmas, 2 below 1.789, 1 below 2.683 */
    static const struct {
        float n;
        int left;
    } cases[] = {
        { 0.1f, 1 }, { 0.89f, 1 }, { 0.90f, 2 }, { 1.78f, 2 }, { 1.80f, 3 }, { 2.68f, 3 }, { 2.69f, 4 }, { 1e9f, 4 },
    };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t c = 0; c < TEST_COUNT(cases); c++) {
            samp_token_data data[8];
            const float logits[] = { -INFINITY, 3.0f, 1.0f, 4.0f, -INFINITY, 2.0f };
            samp_token_data_array cur = test_array(data, logits, 6);
            apply(of_kind(samp_init_top_n_sigma(cases[c].n), kind), &cur);
            assert_num(cur.size, 6);
            assert_false(cur.sorted);
            for (int i = 0; i < 6; i++) {
                assert_num(data[i].id, i);
                assert_same(data[i].logit, logits[i] > 4.5f - (float)cases[c].left ? logits[i] : -INFINITY);
                if (kind == SAMP_RNG_PHILOX) assert_same(data[i].p, TEST_P_UNSET);
            }
        }
    /* all equal: sigma is 0, all stay; two values: 2 sigma is their distance */
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[4];
        const float flat[] = { 2.5f, 2.5f, 2.5f }, two[] = { 0.0f, 1.0f };
        samp_token_data_array cur = test_array(data, flat, 3);
        apply(of_kind(samp_init_top_n_sigma(0.01f), kind), &cur);
        for (int i = 0; i < 3; i++) assert_same(data[i].logit, 2.5f);
        cur = test_array(data, two, 2);
        apply(of_kind(samp_init_top_n_sigma(1.99f), kind), &cur);
        assert_same(data[0].logit, -INFINITY);
        cur = test_array(data, two, 2);
        apply(of_kind(samp_init_top_n_sigma(2.01f), kind), &cur);
        assert_same(data[0].logit, 0.0f);
        cur = test_array(data, two, 1);
        apply(of_kind(samp_init_top_n_sigma(1.0f), kind), &cur);
        assert_same(data[0].logit, 0.0f);
    }
}

/* --------------------------------------------------------------------------------------------------- temp */

TEST(test_temp)
{
    golden(samp_init_temp(1.0f), FOUR, FOUR_DOWN);
    golden(samp_init_temp(0.0f), FOUR, PROBS(1, 0, 0, 0));
    golden(samp_init_temp(-0.0f), FOUR, PROBS(1, 0, 0, 0));
    golden(samp_init_temp(0.5f), FOUR, PROBS(16 / 30.0, 9 / 30.0, 4 / 30.0, 1 / 30.0));
    golden(samp_init_temp(2.0f), PROBS(0.1, 0.4, 0.5 - 0.45, 0.45),
           PROBS(0.6708204 / 1.8431106, 0.6324555 / 1.8431106, 0.3162278 / 1.8431106, 0.2236068 / 1.8431106));

    /* l * (1 / T) under Philox; l / T under MT19937; masked tokens stay masked; order, p and sorted stay */
    static const float temps[] = { 0.8f, 0.7f, 1.3f, 3.0f, 9.5367431640625e-7f, 1048576.0f, 0.99999994f, 1.0000001f };
    source rng = source_stream(120);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t t = 0; t < TEST_COUNT(temps); t++) {
            samp_token_data data[64];
            float logits[64];
            test_logits(&rng, logits, 64, 8.0);
            logits[5] = -INFINITY;
            logits[9] = 0.0f;
            samp_token_data_array cur = test_array(data, logits, 64);
            apply(of_kind(samp_init_temp(temps[t]), kind), &cur);
            assert_num(cur.size, 64);
            assert_false(cur.sorted);
            for (int i = 0; i < 64; i++) {
                volatile float r = 1.0f / temps[t], product = logits[i] * r, quotient = logits[i] / temps[t];
                assert_num(data[i].id, i);
                assert_same(data[i].logit, kind == SAMP_RNG_PHILOX ? product : quotient);
                assert_same(data[i].p, TEST_P_UNSET);
            }
            cur = test_array(data, logits, 64);
            test_sort(&cur);
            apply(of_kind(samp_init_temp(temps[t]), kind), &cur);
            if (cur.sorted) assert_ordered(&cur);
            if (temps[t] == 0.7f) assert_true(cur.sorted);
        }
}

TEST(test_temp_edges)
{
    samp_token_data data[8];
    samp_token_data_array cur;
    /* beyond +-FLT_MAX it stops there; ties that this makes do not stand under `sorted` in the wrong order */
    const float huge[] = { 3.1e38f, 3.2e38f, -3e38f, 1.0f, 3.3e38f, -INFINITY };
    for (int sorted = 0; sorted < 2; sorted++) {
        cur = test_array(data, huge, 6);
        if (sorted) test_sort(&cur);
        apply(samp_init_temp(0.5f), &cur);
        assert_same(test_find(&cur, 0)->logit, FLT_MAX);
        assert_same(test_find(&cur, 1)->logit, FLT_MAX);
        assert_same(test_find(&cur, 4)->logit, FLT_MAX);
        assert_same(test_find(&cur, 2)->logit, -FLT_MAX);
        assert_same(test_find(&cur, 3)->logit, 2.0f);
        assert_same(test_find(&cur, 5)->logit, -INFINITY);
        if (cur.sorted) assert_ordered(&cur);
        apply(samp_init_greedy(), &cur);
        assert_num(data[cur.selected].id, 0);
    }
    /* the same at the small end */
    const float tiny[] = { 1e-45f, 3e-45f, 1e-40f, 2e-45f };
    cur = test_array(data, tiny, 4);
    test_sort(&cur);
    apply(samp_init_temp(1048576.0f), &cur);
    if (cur.sorted) assert_ordered(&cur);
    for (int i = 0; i < 4; i++) assert_true(data[i].logit == 0.0f);
    apply(samp_init_greedy(), &cur);
    assert_num(data[cur.selected].id, 0);
    /* t = 0: the first in order, not in the array */
    const float tied[] = { 1.0f, 4.0f, 4.0f, -INFINITY, 4.0f };
    cur = test_array(data, tied, 5);
    data[1].id = 4, data[4].id = 1;
    apply(samp_init_temp(0.0f), &cur);
    assert_num(cur.size, 5);
    for (int i = 0; i < 5; i++) assert_same(data[i].logit, i == 4 ? 4.0f : -INFINITY);
}

/* ----------------------------------------------------------------------------------------------- temp_ext */

/* T, read off the logits: probabilities 0.1 ... 0.4 have H / ln 4 = 0.923220 */
static double temp_of(samp_sampler *s, int kind)
{
    const double probs[] = { 0.1, 0.0, 0.2, 0.3, 0.0, 0.4 };
    samp_token_data data[8];
    samp_token_data_array cur = from_probs(data, probs, 6);
    apply(of_kind(s, kind), &cur);
    assert_num(cur.size, 6);
    return log(0.4) / (double)test_find(&cur, 5)->logit;
}

TEST(test_temp_ext)
{
    golden(samp_init_temp_ext(1.0f, 0.0f, 1.0f), FOUR, FOUR_DOWN);
    golden(samp_init_temp_ext(0.0f, 0.0f, 1.0f), FOUR, PROBS(1, 0, 0, 0));
    golden(samp_init_temp_ext(0.5f, 0.0f, 1.0f), FOUR, PROBS(16 / 30.0, 9 / 30.0, 4 / 30.0, 1 / 30.0));
    /* all equal: H = ln n, T = hi; one of two far ahead: H = 0, T = lo = 0 */
    golden(samp_init_temp_ext(1.0f, 0.5f, 1.0f), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    double x = 0;
    for (int i = 1; i <= 4; i++) x -= 0.1 * i * log(0.1 * i) / log(4.0);
    for (int kind = 0; kind < KINDS; kind++) {
        assert_near(x, 0.923220, 1e-6);
        /* MT19937 counts the masked ones too, as llama.cpp does: ln 6 */
        double h = kind == SAMP_RNG_PHILOX ? x : x * log(4.0) / log(6.0);
        assert_close(temp_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), kind), 0.5 + h, 1e-6);
        assert_close(temp_of(samp_init_temp_ext(1.0f, 0.5f, 2.0f), kind), 0.5 + h * h, 1e-6);
        assert_close(temp_of(samp_init_temp_ext(1.0f, 0.5f, 0.0f), kind), 1.5, 1e-6);
        assert_close(temp_of(samp_init_temp_ext(1.0f, 0.5f, 1000.0f), kind), 0.5, 1e-6);
        assert_close(temp_of(samp_init_temp_ext(0.5f, 2.0f, 1.0f), kind), 2.5 * h, 1e-6); /* lo = 0 */
        assert_close(temp_of(samp_init_temp_ext(0.0f, 1.0f, 0.5f), kind), sqrt(h), 1e-6);
    }
    /* MT19937: sorted, and p is that of the new logits, as llama.cpp leaves it */
    samp_token_data four[4];
    samp_token_data_array cur = from_probs(four, (const double[]){ 0.1, 0.2, 0.3, 0.4 }, 4);
    double sum = 0;
    apply(of_kind(samp_init_temp_ext(1.0f, 0.5f, 1.0f), SAMP_RNG_MT19937), &cur);
    assert_ids(&cur, 3, 2, 1, 0);
    for (int i = 0; i < 4; i++) sum += exp((double)four[i].logit - (double)four[0].logit);
    for (int i = 0; i < 4; i++)
        assert_close(four[i].p, exp((double)four[i].logit - (double)four[0].logit) / sum, 1e-6);
    /* a T below 2^-20 is 0: only the first is left */
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[4];
        const float peak[] = { 0.0f, 70.0f, 10.0f, -INFINITY };
        samp_token_data_array cur = test_array(data, peak, 4);
        apply(of_kind(samp_init_temp_ext(1.0f, 1.0f, 1.0f), kind), &cur);
        assert_same(test_find(&cur, 1)->logit > 0 ? 1.0f : 0.0f, 1.0f);
        if (kind == SAMP_RNG_PHILOX)
            for (int i = 0; i < 4; i++) assert_same(data[i].logit, i == 1 ? 70.0f : -INFINITY);
        /* one candidate, or one unmasked: nothing happens */
        cur = test_array(data, peak + 1, 1);
        apply(of_kind(samp_init_temp_ext(0.5f, 0.25f, 1.0f), kind), &cur);
        assert_same(data[0].logit, 70.0f);
        const float alone[] = { -INFINITY, 7.0f, -INFINITY };
        if (kind == SAMP_RNG_MT19937) continue;
        cur = test_array(data, alone, 3);
        apply(samp_init_temp_ext(0.5f, 0.25f, 1.0f), &cur);
        assert_same(data[1].logit, 7.0f);
    }
}

/* ------------------------------------------------------------------------------------------------ typical */

TEST(test_typical)
{
    golden(samp_init_typical(0.5f, 0), PROBS(0.97, 0.01, 0.01, 0.01), PROBS(1.0));
    golden(samp_init_typical(0.5f, 0), PROBS(0.4, 0.2, 0.2, 0.2), PROBS(1 / 3.0, 1 / 3.0, 1 / 3.0));
    /* H = 1.2799; the distances of 0.1 0.2 0.3 0.4 are 1.0227 0.3296 0.0759 0.3636: 0.3, 0.2, 0.4, 0.1 */
    golden(samp_init_typical(0.29f, 0), FOUR, PROBS(1.0));
    golden(samp_init_typical(0.31f, 0), FOUR, PROBS(0.6, 0.4));
    golden(samp_init_typical(0.49f, 0), FOUR, PROBS(0.6, 0.4));
    golden(samp_init_typical(0.51f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_typical(0.89f, 0), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_typical(0.91f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_typical(0.99999994f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_typical(1.0f, 0), FOUR, FOUR_DOWN);
    golden(samp_init_typical(1e-45f, 0), FOUR, PROBS(1.0));
    golden(samp_init_typical(0.1f, 2), FOUR, PROBS(0.6, 0.4));
    golden(samp_init_typical(0.1f, 3), FOUR, PROBS(0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9));
    golden(samp_init_typical(0.1f, 4), FOUR, FOUR_DOWN);
    golden(samp_init_typical(0.1f, 9), FOUR, FOUR_DOWN);

    samp_token_data data[8];
    const double probs[] = { 0.1, 0.0, 0.2, 0.3, 0.0, 0.4 }; /* masked ones: no NaN from 0 ln 0 */
    samp_token_data_array cur = from_probs(data, probs, 6);
    apply(samp_init_typical(0.95f, 0), &cur);
    assert_ids(&cur, 3, 2, 5, 0);
    assert_false(cur.sorted);
    assert_near(data[0].p, 0.3, 1e-6);
    assert_near(data[2].p, 0.4, 1e-6);
    /* the mass has to be above p: at a half of equal ones one more stays; ties by id */
    const float flat[] = { 1.0f, 1.0f, 1.0f, 1.0f };
    for (int kind = 0; kind < KINDS; kind++) {
        cur = test_array(data, flat, 4);
        data[0].id = 3, data[3].id = 0;
        apply(of_kind(samp_init_typical(0.5f, 0), kind), &cur);
        assert_ids(&cur, 0, 1, 2);
        cur = test_array(data, flat, 4);
        apply(of_kind(samp_init_typical(0.49f, 0), kind), &cur);
        assert_ids(&cur, 0, 1);
    }
}

/* ---------------------------------------------------------------------------------------------- tail_free */

TEST(test_tail_free)
{
    /* 1/2 1/4 1/8 1/16 1/16: differences 1/4 1/8 1/16 0, second ones 1/8 1/16 1/16: a = 1/2 1/4 1/4.
       Keep i, the smallest with a_0 + ... + a_i > z, and at least one */
#define HALVES PROBS(0.0625, 0.125, 0.0625, 0.5, 0.25)
    golden(samp_init_tail_free(0.3f, 0), HALVES, PROBS(1.0));
    golden(samp_init_tail_free(0.6f, 0), HALVES, PROBS(1.0));
    golden(samp_init_tail_free(0.74f, 0), HALVES, PROBS(1.0));
    golden(samp_init_tail_free(0.76f, 0), HALVES, PROBS(2 / 3.0, 1 / 3.0));
    golden(samp_init_tail_free(0.98f, 0), HALVES, PROBS(2 / 3.0, 1 / 3.0));
    golden(samp_init_tail_free(1.0f, 0), HALVES, PROBS(0.5, 0.25, 0.125, 0.0625, 0.0625));
    golden(samp_init_tail_free(0.3f, 1), HALVES, PROBS(1.0));
    golden(samp_init_tail_free(0.3f, 2), HALVES, PROBS(2 / 3.0, 1 / 3.0));
    golden(samp_init_tail_free(1e-45f, 0), HALVES, PROBS(1.0));
    /* all equal, sum 0: the second differences count alike. Of 6 tokens there are 4 */
#define SIX PROBS(1, 1, 1, 1, 1, 1)
    golden(samp_init_tail_free(0.2f, 0), SIX, PROBS(1.0));
    golden(samp_init_tail_free(0.4f, 0), SIX, PROBS(1.0));
    golden(samp_init_tail_free(0.5f, 0), SIX, PROBS(0.5, 0.5)); /* two of four are not above it */
    golden(samp_init_tail_free(0.6f, 0), SIX, PROBS(0.5, 0.5));
    golden(samp_init_tail_free(0.75f, 0), SIX, PROBS(1 / 3.0, 1 / 3.0, 1 / 3.0));
    golden(samp_init_tail_free(0.8f, 0), SIX, PROBS(1 / 3.0, 1 / 3.0, 1 / 3.0));
    /* where the curve bends the other way: 0.35 0.33 0.15 0.1 0.07: 0.16 0.13 0.02: a = 0.516 0.419 0.065 */
#define BENT PROBS(0.33, 0.35, 0.07, 0.15, 0.1)
    golden(samp_init_tail_free(0.5f, 0), BENT, PROBS(1.0));
    golden(samp_init_tail_free(0.93f, 0), BENT, PROBS(1.0));
    golden(samp_init_tail_free(0.94f, 0), BENT, PROBS(0.35 / 0.68, 0.33 / 0.68));
    /* two tokens or fewer: off */
    golden(samp_init_tail_free(0.1f, 0), PROBS(0.4, 0.6), PROBS(0.6, 0.4));
    golden(samp_init_tail_free(0.1f, 0), PROBS(1.0), PROBS(1.0));

    for (int kind = 0; kind < KINDS; kind++)
        for (size_t min_keep = 3; min_keep <= 8; min_keep++) {
            samp_token_data data[8];
            const double probs[] = { 0.0625, 0.125, 0.0625, 0.5, 0.25 };
            samp_token_data_array cur = from_probs(data, probs, 5);
            apply(of_kind(samp_init_tail_free(0.3f, min_keep), kind), &cur);
            assert_true(cur.size >= (min_keep < 5 ? min_keep : 5));
            assert_num(data[0].id, 3);
            assert_near(data[0].p, 0.5, 1e-6);
            assert_true(cur.sorted);
        }
}

/* ----------------------------------------------------------------------------------------------- mirostat */

/* How many of four tokens it keeps, one step after the other, until the end of `want`. The surprise of one token is 0, so that
   mu grows by eta tau; that of one of two alike is 1: it grows by eta (tau - 1). */
static void keeps_of_four(samp_sampler *s, int kind, const double *probs, const char *want)
{
    of_kind(s, kind);
    for (int step = 0; want[step]; step++) {
        samp_token_data data[4];
        samp_token_data_array cur = from_probs(data, probs, 4);
        double kept = 0;
        assert_ok(samp_apply(s, &cur));
        assert_num(cur.size, want[step] - '0');
        assert_in_range(cur.selected, 0, cur.size - 1);
        const samp_token token = data[cur.selected].id;
        test_sort(&cur);
        for (size_t i = 0; i < cur.size; i++) kept += probs[i];
        for (size_t i = 0; i < cur.size; i++) {
            assert_num(data[i].id, i);
            assert_near(data[i].p, probs[i] / kept, 1e-6);
        }
        assert_u64(samp_get_position(s), (uint64_t)step + 1);
        assert_ok(samp_accept(s, token));
    }
    samp_free(s);
}

TEST(test_mirostat)
{
    /* bits of surprise: 1.32, 1.74, 2.32, 3.32; mu begins at 2 tau */
    static const double four[] = { 0.4, 0.3, 0.2, 0.1 };
    static const struct {
        float tau, eta;
        const char *kept;
    } v2[] = {
        { 0.0f, 0.0f, "1111" },     { 0.86f, 0.0f, "1111" }, { 0.87f, 0.0f, "2222" },
        { 1.16f, 0.0f, "2222" },    { 1.17f, 0.0f, "3333" }, { 1.66f, 0.0f, "3333" },
        { 1.67f, 0.0f, "4444" },    { 9.0f, 0.0f, "4444" },  { 0.5f, 1.0f, "112" },
        { 0.25f, 0.5f, "1111111" }, { 0.5f, 1.75f, "12" },   { 0.5f, 3.0f, "13" },
        { 0.5f, 5.0f, "14" },       { 0.125f, 8.0f, "112" }, { 0.5f, 1.47f, "113" },
        { 0.5f, 1.48f, "12" }, /* 1.735; 1.74 */
    };
    /* bits: 1.32, 1.32, 3.32, 3.32 */
    static const double pairs[] = { 0.4, 0.4, 0.1, 0.1 };
    static const struct {
        float tau, eta;
        const char *kept;
    } two[] = {
        { 0.8f, 1.38f, "22" }, { 0.8f, 1.41f, "21" }, { 1.2f, 4.6f, "22" }, { 1.2f, 4.62f, "24" }, /* mu 1.6, 2.4 */
    };
    /* the first is 4 times the second: s = 2, and k is the root of 2^mu / (1 - 1/4) */
    static const double steep[] = { 0.64, 0.16, 0.12, 0.08 };
    static const struct {
        float tau, eta;
        const char *kept;
    } v1[] = {
        { 0.0f, 0.0f, "111" },  { 0.79f, 0.0f, "111" },                          /* 2^1.585 is 3 */
        { 0.80f, 0.0f, "222" }, { 1.37f, 0.0f, "222" },                          /* 2^2.755 is 6.75 */
        { 1.38f, 0.0f, "333" }, { 1.79f, 0.0f, "333" },                          /* 2^3.585 is 12 */
        { 1.80f, 0.0f, "444" }, { 0.5f, 1.0f, "112" },  { 0.5f, 3.0f, "12" },    /* mu 1, 1.5, 2; mu 1, 2.5 */
        { 0.5f, 4.0f, "13" },   { 0.5f, 6.0f, "14" },   { 0.25f, 2.0f, "1112" }, /* mu 0.5, 1, 1.5, 2 */
    };
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < TEST_COUNT(v2); i++)
            keeps_of_four(samp_init_mirostat_v2(77, v2[i].tau, v2[i].eta), kind, four, v2[i].kept);
        for (size_t i = 0; i < TEST_COUNT(two); i++)
            keeps_of_four(samp_init_mirostat_v2(77, two[i].tau, two[i].eta), kind, pairs, two[i].kept);
        for (size_t i = 0; i < TEST_COUNT(v1); i++)
            keeps_of_four(samp_init_mirostat(4, 77, v1[i].tau, v1[i].eta, 2), kind, steep, v1[i].kept);
    }
}

TEST(test_mirostat_edges)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int version = 1; version <= 2; version++)
            for (int m = 2; m <= 100; m += 98) {
                samp_token_data data[4];
                const float rows[][4] = {
                    { 1, 1, 1, 1 },
                    { 3, -INFINITY, -INFINITY, -INFINITY },
                    { -INFINITY, -INFINITY, 0, 0 },
                    { FLT_MAX, -FLT_MAX, 0, 1 },
                    { 0, -200, -300, -400 },
                };
                own_sampler *s = version == 1 ? samp_init_mirostat(4, 1, 5, 0.1f, m)
                                              : samp_init_mirostat_v2(1, 5, 0.1f);
                of_kind(s, kind);
                for (int i = 0; i < 50; i++) {
                    const float *row = rows[i % 5];
                    samp_token_data_array cur = test_array(data, row, 4 - (size_t)(i % 3));
                    if (row[0] == -INFINITY && cur.size == 2) continue;
                    assert_ok(samp_apply(s, &cur));
                    assert_in_range(cur.selected, 0, cur.size - 1);
                    assert_true(row[data[cur.selected].id] > -INFINITY);
                    assert_true(data[cur.selected].p > 0 && data[cur.selected].p <= 1);
                }
            }
}

/* --------------------------------------------------------------------------------------------- adaptive_p */

/* The chosen probability a = 2 target - sum / weight is that of the target at first; x = |p - a| / 0.3 makes the logit
   5 - 10 x^2 / (1 + x). */
TEST(test_adaptive_p)
{
    static const double probs[] = { 0.1, 0.2, 0.0, 0.3, 0.4 };
    static const struct {
        float target, decay;
        double first[5], next[5]; /* at a; then, as the 0.4 was chosen, at a + 0.1 and at a + 0.05 */
    } cases[] = {
        { 0.5f,
          0.0f,
          { -2.619048, 0, -INFINITY, 2.333333, 4.166667 },
          { -5.416667, -2.619048, -INFINITY, 0, 2.333333 } },
        { 0.5f,
          0.5f,
          { -2.619048, 0, -INFINITY, 2.333333, 4.166667 },
          { -4, -1.282051, -INFINITY, 1.212121, 3.333333 } },
    };
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t c = 0; c < TEST_COUNT(cases); c++) {
            own_sampler *s = of_kind(samp_init_adaptive_p(cases[c].target, cases[c].decay, 5), kind);
            for (int step = 0, accepted = 0; step < 400 && !accepted;
                 step++) { /* what is drawn only does not count */
                const double *want = cases[c].first;
                for (int again = 0; again < 2; again++, want = cases[c].next) {
                    samp_token_data data[5];
                    samp_token_data_array cur = from_probs(data, probs, 5);
                    double z = 0;
                    for (int i = 0; i < 5; i++) z += exp(want[i]);
                    assert_ok(samp_apply(s, &cur));
                    assert_num(cur.size, 5);
                    assert_false(cur.sorted);
                    assert_in_range(cur.selected, 0, 4);
                    for (int i = 0; i < 5; i++) {
                        assert_num(data[i].id, i);
                        assert_near(data[i].logit, want[i], 1e-5);
                        assert_near(data[i].p, exp(want[i]) / z, 1e-5);
                    }
                    if (cur.selected != 4 || again) break;
                    assert_ok(samp_accept(s, 4));
                    accepted = 1;
                }
            }
        }
        samp_token_data data[4]; /* a target below 0: plain dist */
        samp_token_data_array cur = from_probs(data, (const double[]){ 0.1, 0.2, 0.3, 0.4 }, 4);
        apply(of_kind(samp_init_adaptive_p(-0.5f, 0.5f, 1), kind), &cur);
        for (int i = 0; i < 4; i++) {
            assert_near(data[i].p, 0.1 * (i + 1), 1e-6);
            assert_same(data[i].logit, (float)log(0.1 * (i + 1)));
        }
        assert_in_range(cur.selected, 0, 3);
    }
}

/* --------------------------------------------------------------------------------------------- logit_bias */

TEST(test_logit_bias)
{
    samp_logit_bias bias[5] = { { 1, 2.5f }, { 0, -INFINITY }, { 1, -0.75f }, { 4, -3.0f }, { 2, 100.0f } };
    const float logits[] = { 5.0f, 1.0f, -INFINITY, 3.0f, 2.0f };
    for (int kind = 0; kind < KINDS; kind++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            samp_token_data data[5];
            samp_token_data_array cur = test_array(data, logits, 5);
            source rng = source_stream(150);
            samp_sampler *s = of_kind(samp_init_logit_bias(5, 5, bias), kind);
            samp_logit_bias saved[5];
            memcpy(saved, bias, sizeof bias);
            memset(bias, 0x7f, sizeof bias); /* copied */
            if (shuffled)
                test_shuffle(&rng, &cur);
            else
                test_sort(&cur);
            apply(s, &cur);
            memcpy(bias, saved, sizeof bias);
            assert_false(cur.sorted);
            assert_num(cur.size, 5);
            test_sort_by_id(&cur);
            assert_same(data[0].logit, -INFINITY);
            assert_same(data[1].logit, 2.75f);
            assert_same(data[2].logit, -INFINITY);
            assert_same(data[3].logit, 3.0f);
            assert_same(data[4].logit, -1.0f);
            assert_same(data[3].p, TEST_P_UNSET);
        }
    /* one after the other, each sum rounded to f32: ((1e8 + 3) + 3) is not 1e8 + 6 */
    const samp_logit_bias twice[2] = { { 0, 3.0f }, { 0, 3.0f } }, huge[2] = { { 0, 3e38f }, { 1, -3e38f } };
    const float big[] = { 1e8f, -1e38f };
    samp_token_data data[2];
    samp_token_data_array cur = test_array(data, big, 1);
    apply(samp_init_logit_bias(1, 2, twice), &cur);
    volatile float once = 1e8f + 3.0f, two = once + 3.0f;
    assert_same(data[0].logit, two);
    /* it stops at +-FLT_MAX; tokens that are no candidates are skipped */
    const float top[] = { 1e38f, -1e38f };
    cur = test_array(data, top, 2);
    apply(samp_init_logit_bias(2, 2, huge), &cur);
    assert_same(data[0].logit, FLT_MAX);
    assert_same(data[1].logit, -FLT_MAX);
    cur = test_array(data, big + 1, 1);
    data[0].id = 1;
    apply(samp_init_logit_bias(2, 1, huge), &cur);
    assert_same(data[0].logit, -1e38f);
}

/* ---------------------------------------------------------------------------------------------- penalties */

static samp_sampler *penalties_after(samp_sampler *s, const samp_token *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++) assert_ok(samp_accept(s, tokens[i]));
    return s;
}
#define TOKENS(...) (const samp_token[]){ __VA_ARGS__ }, TEST_COUNT(((const samp_token[]){ __VA_ARGS__ }))
#define FIVE        PROBS(0.2, 0.2, 0.2, 0.2, 0.2)

TEST(test_penalties)
{
    golden(penalties_after(samp_init_penalties(64, 50.0f, 0, 0), TOKENS(0)), FIVE, PROBS(0.25, 0.25, 0.25, 0.25, 0));
    golden(penalties_after(samp_init_penalties(64, 50.0f, 0, 0), TOKENS(0, 1, 2)), FIVE, PROBS(0.5, 0.5, 0, 0, 0));
    golden(penalties_after(samp_init_penalties(64, 50.0f, 0, 0), TOKENS(0, 1, 2, 0, 0)), FIVE,
           PROBS(0.5, 0.5, 0, 0, 0));
    golden(penalties_after(samp_init_penalties(64, 1, 5, 5), TOKENS(0)), FIVE,
           PROBS(0.249997, 0.249997, 0.249997, 0.249997, 0.000011));
    golden(penalties_after(samp_init_penalties(64, 1, 5, 5), TOKENS(0, 1, 2)), FIVE,
           PROBS(0.499966, 0.499966, 0.000023, 0.000023, 0.000023));
    golden(penalties_after(samp_init_penalties(64, 1, 5, 5), TOKENS(0, 1, 2, 0, 0)), FIVE,
           PROBS(0.499977, 0.499977, 0.000023, 0.000023, 0.000000));

    /* c > 0: l <= 0 ? l * repeat : l / repeat; l -= c * freq + present. Powers of two: exact */
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[8];
        const float logits[] = { 4.0f, -4.0f, 0.0f, 4.0f, -INFINITY, -0.0f, 1.0f, 0.5f };
        samp_token_data_array cur = test_array(data, logits, 8);
        samp_sampler *s = of_kind(samp_init_penalties(16, 2.0f, 0.5f, 0.25f), kind);
        penalties_after(s, TOKENS(0, 1, 1, 2, 2, 2, 4, 5, 7, 1000000, INT32_MAX));
        test_sort(&cur);
        apply(s, &cur);
        assert_false(cur.sorted);
        test_sort_by_id(&cur);
        assert_same(data[0].logit, 1.25f);
        assert_same(data[1].logit, -9.25f);
        assert_same(data[2].logit, -1.75f);
        assert_same(data[3].logit, 4.0f);
        assert_same(data[4].logit, -INFINITY);
        assert_same(data[5].logit, -0.75f);
        assert_same(data[6].logit, 1.0f);
        assert_same(data[7].logit, -0.5f);
        assert_same(data[6].p, TEST_P_UNSET);
    }
    /* a reward is a penalty below 1 or below 0; results stop at +-FLT_MAX */
    samp_token_data data[4];
    const float logits[] = { 2.0f, -2.0f, 3e38f, -3e38f };
    samp_token_data_array cur = test_array(data, logits, 4);
    apply(penalties_after(samp_init_penalties(4, 0.5f, -1.0f, 0.5f), TOKENS(0, 1, 2, 3)), &cur);
    assert_same(data[0].logit, 4.5f);
    assert_same(data[1].logit, -0.5f);
    assert_same(data[2].logit, FLT_MAX);
    assert_same(data[3].logit, -1.5e38f);
    cur = test_array(data, logits, 4);
    apply(penalties_after(samp_init_penalties(4, 2.0f, 3e38f, 3e38f), TOKENS(0, 1, 2, 3)), &cur);
    assert_same(data[0].logit, -FLT_MAX);
    assert_same(data[3].logit, -FLT_MAX);
    assert_true(data[2].logit >= -FLT_MAX && data[2].logit < -1.9e38f);
    /* both steps beyond: each stops at +-FLT_MAX, so that there is no infinity minus infinity */
    cur = test_array(data, logits, 4);
    apply(penalties_after(samp_init_penalties(8, 2.0f, -3e38f, 0), TOKENS(0, 0, 1, 1, 2, 2, 3, 3)), &cur);
    for (int i = 0; i < 4; i++) assert_true(fabsf(data[i].logit) <= FLT_MAX);
    cur = test_array(data, logits, 4);
    apply(penalties_after(samp_init_penalties(8, 1e-45f, 3e38f, 0), TOKENS(0, 0, 1, 1, 2, 2, 3, 3)), &cur);
    for (int i = 0; i < 4; i++) assert_true(fabsf(data[i].logit) <= FLT_MAX);
}

/* ---------------------------------------------------------------------------------------------------- dry */

/* A vocabulary of one letter per token: a, b, c, ... */
static const char *letter_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    assert_in_range(token, 0, vocab->n_vocab - 1);
    *n_bytes = 1;
    return letters + token;
}

static const samp_vocab one_letter = { 26, letter_bytes, NULL, NULL, NULL, 0, -1, -1 };
static const char *const breaker_d[] = { "d" };

TEST(test_dry)
{
    samp_vocab vocab = one_letter;
#define DRY(multiplier, allowed, last_n, ...) \
    penalties_after(samp_init_dry(NULL, 1024, multiplier, 1.1f, allowed, last_n, NULL, 0), TOKENS(__VA_ARGS__))
    golden(DRY(1.0f, 2, 4, 0, 1), PROBS(0.25, 0.25, 0.25, 0.25), PROBS(0.25, 0.25, 0.25, 0.25));
    golden(DRY(1.0f, 2, 5, 0, 1, 2, 0, 1), PROBS(0.25, 0.25, 0.25, 0.25),
           PROBS(0.296923, 0.296923, 0.296923, 0.109232));
    golden(DRY(2.0f, 2, 5, 0, 1, 2, 0, 1), FIVE, PROBS(0.241818, 0.241818, 0.241818, 0.241818, 0.032727));
    golden(DRY(1.0f, 4, 7, 0, 1, 2, 3, 4, 0, 1), FIVE, FIVE);
    golden(DRY(0.0f, 2, 5, 0, 1, 2, 0, 1), FIVE, FIVE);
    golden(DRY(1.0f, 2, 0, 0, 1, 2, 0, 1), FIVE, FIVE);
    /* a breaker between: 0 1 | 3 | 4 0 1, token 3 ends the repetition */
    samp_sampler *s = samp_init_dry(&vocab, 1024, 1.0f, 1.1f, 2, 6, breaker_d, 1);
    golden(penalties_after(s, TOKENS(0, 1, 3, 4, 0, 1)), FIVE, FIVE);
    s = samp_init_dry(&vocab, 1024, 1.0f, 1.1f, 2, 6, NULL, 0);
    golden(penalties_after(s, TOKENS(0, 1, 3, 4, 0, 1)), FIVE,
           PROBS(0.228944, 0.228944, 0.228944, 0.228944, 0.084224));
    /* a breaker itself is not punished, as in llama.cpp: else the line break that ends each line would be; 1 / (4 + 1 / e) */
    s = samp_init_dry(&vocab, 100, 1.0f, 2.0f, 2, -1, breaker_d, 1);
    golden(penalties_after(s, TOKENS(0, 1, 3, 0, 1)), FIVE, FIVE);
    s = samp_init_dry(&vocab, 100, 1.0f, 2.0f, 2, -1, NULL, 0);
    golden(penalties_after(s, TOKENS(0, 1, 3, 0, 1)), FIVE, PROBS(0.228944, 0.228944, 0.228944, 0.228944, 0.084224));
}

/* How far a match reaches back, at most n: to behind the last breaker, which are these tokens; n_breaker 0: none. */
static int dry_limit(const samp_token *history, int n, const samp_token *breaker, int n_breaker)
{
    for (int at = n - n_breaker; at >= 0 && n_breaker; at--)
        if (!memcmp(history + at, breaker, (size_t)n_breaker * sizeof *breaker)) return n - at - n_breaker;
    return n;
}

/* L by trying everything. The window is the last `window` of n tokens. */
static int dry_length(const samp_token *history, int n, int window, samp_token token, const samp_token *breaker,
                      int n_breaker)
{
    int start = n > window ? n - window : 0, longest = -1;
    int limit = dry_limit(history + start, n - start, breaker, n_breaker);
    for (int j = start + 1; j < n; j++) {
        int length = 0;
        if (history[j] != token) continue;
        while (length < limit && j - 1 - length >= start && history[j - 1 - length] == history[n - 1 - length])
            length++;
        if (length > longest) longest = length;
    }
    return longest;
}

/* The last breaker stays known however far it moves back in a window, and out of it; a clone and what is loaded know it
   too. */
TEST(test_dry_far_breakers)
{
    enum { N = 5, STEPS = 400 };
    static const char *const breakers[] = { "d", "da", "daa" };
    static const samp_token breaker[] = { 3, 0, 0 };
    samp_vocab vocab = one_letter;
    source rng = source_stream(171);
    int far = 0;
    for (int round = 0; round < 40; round++) {
        int window = 1 + (int)below(&rng, 90), n = 1 + round % 3, period = 1 + (int)below(&rng, 3);
        samp_token history[STEPS];
        samp_sampler *s = samp_init_dry(&vocab, 1000, 1.0f, 1.01f, 0, window, &breakers[n - 1], 1);
        for (int step = 0; step < STEPS; step++) {
            samp_token_data data[N];
            float logits[N] = { 0 };
            samp_token_data_array cur = test_array(data, logits, N);
            int start = step + 1 > window ? step + 1 - window : 0;
            history[step] = below(&rng, 40) ? (samp_token)(step % period) : (samp_token)below(&rng, N);
            if (step && history[step - 1] == 3) history[step] = 0;
            assert_ok(samp_accept(s, history[step]));
            if (below(&rng, 16) == 0) {
                char bytes[1024];
                samp_sampler *copy = samp_clone(s);
                assert_ok(samp_state_save(s, bytes, samp_state_size(s)));
                assert_ok(samp_state_load(copy, bytes, samp_state_size(s)));
                samp_free(s);
                s = copy;
            }
            assert_ok(samp_apply(s, &cur));
            far += dry_limit(history + start, step + 1 - start, breaker, n) > 21 && start > 0;
            for (int i = 0; i < N; i++) {
                int length = dry_length(history, step + 1, window, i, breaker, n);
                if (i != 3 || n > 1) assert_near(data[i].logit, length < 0 ? 0 : -pow(1.01, length), 1e-5);
            }
        }
        samp_free(s);
    }
    assert_true(far > 1000);
}

/* Token i of a text that is hard on dry. */
static samp_token hard_token(int text, int i, source *rng)
{
    switch (text) {
        case 0: return 5;     /* all equal */
        case 1: return i % 7; /* a period */
        case 2: return i;     /* all distinct, up and down */
        case 3: return INT32_MAX - i;
        case 4: return i & 1 ? 7 : 100 + i; /* all distinct behind one token */
        case 5: return i & 1 ? 7 : INT32_MAX - i;
        case 6: return (samp_token)(below(rng, 1u << 31));
        case 7: return (samp_token)below(rng, 3);
        case 8: return i % 64 == 63 ? 1 : 0;
        default: return 23 + i % 2; /* as many breakers begin here as there are */
    }
}

/* A draw takes a number of steps that is proportional to the window, whatever is in it; and another breaker costs no step
   for each token of the window. */
TEST(test_dry_cost)
{
    enum { N = 1 << 14, BREAKERS = 200 };
    static char text[BREAKERS][8];
    const char *breaker[BREAKERS];
    samp_vocab vocab = one_letter;
    source rng = source_stream(172);
    for (int b = 0; b < BREAKERS; b++) {
        snprintf(text[b], sizeof text[b], "%cc%c%c", 'x' + b % 2, 'a' + b % 26, 'a' + b / 26);
        breaker[b] = text[b];
    }
    for (int hard = 0; hard < 10; hard++)
        for (int allowed = 0; allowed < 3; allowed++) {
            samp_token_data data[4];
            const float logits[4] = { 0 };
            samp_token_data_array cur = test_array(data, logits, 4);
            own_sampler *s = samp_init_dry(&vocab, N, 1.0f, 2.0f, allowed, N, breaker, hard == 9 ? BREAKERS : 0);
            inside_steps = 0;
            for (int i = 0; i < N; i++) assert_ok(samp_accept(s, hard_token(hard, i, &rng)));
            assert_true(inside_steps <= (size_t)N * BREAKERS); /* each token's breakers once */
            inside_steps = 0;
            assert_ok(samp_apply(s, &cur));
            assert_in_range(inside_steps, N - 1, (hard < 9 ? 34 * N : 8 * N + 20 * BREAKERS));
        }
}

/* Breakers by their text. The tokens: */
static const char *const pieces[] = {
    "a", "b", "xa", "ab", "by", "c", "d", "e", "zab!", "x", "bc", "", "0123456789012345678901234567890123456789",
};

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    assert_in_range(token, 0, vocab->n_vocab - 1);
    *n_bytes = strlen(pieces[token]);
    return *n_bytes ? pieces[token] : NULL; /* a control token: 0 bytes */
}

/* letter by letter */
static int32_t letters_tokenize(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out,
                                int32_t n_max)
{
    int32_t n = 0;
    (void)vocab;
    for (size_t i = 0; i < n_bytes && n < n_max; i++) out[n++] = text[i] <= 'b' ? text[i] - 'a' : text[i] - 'c' + 5;
    return n;
}

/* c d B e x c d B e: without breakers the suffix c d B e has been there before, followed by x; if B holds a
   breaker, only e counts. Returns the length that x is punished for. */
static int length_over(const samp_vocab *vocab, int kind, const char *const *breakers, size_t n_breakers,
                       const samp_token *b, size_t n_b)
{
    samp_token_data data[TEST_COUNT(pieces)];
    float logits[TEST_COUNT(pieces)] = { 0 };
    samp_token_data_array cur = test_array(data, logits, TEST_COUNT(pieces));
    samp_sampler *s = of_kind(samp_init_dry(vocab, 1000, 1.0f, 2.0f, 1, -1, breakers, n_breakers), kind);
    double fall;
    assert_ok(samp_status(s, NULL));
    for (int twice = 0; twice < 2; twice++) {
        penalties_after(s, TOKENS(5, 6));
        penalties_after(s, b, n_b);
        penalties_after(s, TOKENS(7));
        if (!twice) penalties_after(s, TOKENS(9));
    }
    apply(s, &cur);
    fall = -(double)test_find(&cur, 9)->logit;
    assert_true(fall >= 1);
    return 1 + (int)floor(log(fall) / log(2.0) + 0.5);
}
#define over(breaker, ...) length_over(&vocab, kind, (const char *const[]){ breaker }, 1, TOKENS(__VA_ARGS__))

TEST(test_dry_breakers)
{
    samp_vocab vocab = one_letter;
    vocab.n_vocab = TEST_COUNT(pieces);
    vocab.token_bytes = piece_bytes;
    for (int kind = 0; kind < KINDS; kind++) {
        vocab.tokenize = NULL;
        assert_num(over("nothing", 3), 4);
        assert_num(over("ab", 3), 1); /* the breaker, or a token that contains it */
        assert_num(over("ab", 8), 1);
        assert_num(over("ab", 0, 1), 1); /* spanning two */
        assert_num(over("ab", 2, 1), 1);
        assert_num(over("ab", 0), 4); /* its first half alone, its second half alone */
        assert_num(over("ab", 1), 4);
        assert_num(over("ab", 1, 0), 5);
        assert_num(over("ab", 0, 11, 1), 6);
        assert_num(over("abcd", 0, 10, 6), 1); /* a bc d: greedy longest match */
        assert_num(over("abcd", 3, 5, 6), 1);
        assert_num(over("abcd", 0, 10), 5);
        assert_num(over("abcd", 0, 1, 5, 6), 7); /* the same text, tokenised in another way */
        /* 40 bytes count */
        assert_num(over("0123456789012345678901234567890123456789tail", 12), 1);
        assert_num(over("012345678901234567890123456789012345678Xtail", 12), 4);
        /* 20 tokens behind the first one */
        assert_num(
            over("xbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 1);
        assert_num(over("xbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
                   23);
        /* what the vocabulary cannot spell never comes: its beginning is no breaker */
        assert_num(over("aq", 0), 4);
        assert_num(over("abq", 0, 1), 5);
        assert_num(over("abq", 3), 4);
        /* several, of different lengths: each with its own tails */
        static const char *const several[] = { "abcd", "!", "dcb", "yb" };
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(0, 10, 6)), 1);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(8)), 1);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(6, 5, 1)), 1);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(4, 1)), 1);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(5, 6, 1)), 6);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(4, 6)), 5);
        assert_num(length_over(&vocab, kind, several, 4, TOKENS(0, 6)), 5);
        vocab.tokenize = letters_tokenize; /* the vocabulary's own tokenizer */
        assert_num(over("abcd", 0, 1, 5, 6), 1);
        assert_num(over("abcd", 0, 10, 6), 6);
    }
}

/* Huge punishments stop at -FLT_MAX, masked tokens stay masked, allowed_length 0 punishes all that came
   behind another. */
TEST(test_dry_edges)
{
    for (int kind = 0; kind < KINDS; kind++) {
        samp_token_data data[4];
        const float logits[4] = { 1.0f, -INFINITY, 2.0f, -3e38f };
        samp_token_data_array cur = test_array(data, logits, 4);
        samp_sampler *s = samp_init_dry(NULL, 4096, 3e38f, 1e30f, 1, -1, NULL, 0);
        for (int i = 0; i < 400; i++) assert_ok(samp_accept(s, i % 4));
        apply(of_kind(s, kind), &cur);
        assert_same(data[0].logit, -FLT_MAX);
        cur = test_array(data, logits, 4);
        s = samp_init_dry(NULL, 4096, 3e38f, 10.0f, 1, -1, NULL, 0);
        for (int i = 0; i < 401; i++) assert_ok(samp_accept(s, i % 2 + 1));
        apply(of_kind(s, kind), &cur);
        assert_same(data[0].logit, 1.0f);
        assert_same(data[1].logit, -INFINITY);
        assert_same(data[2].logit, -FLT_MAX);
        cur = test_array(data, logits, 4);
        s = samp_init_dry(NULL, 4096, 7.888609e-31f, 10.0f, 1, -1, NULL, 0); /* the power stops within a float */
        for (int i = 0; i < 100; i++) assert_ok(samp_accept(s, 2));
        apply(of_kind(s, kind), &cur);
        assert_near(data[2].logit, 2 - 7.888609e-31 * 1e38, 10);
        cur = test_array(data, logits, 4);
        s = samp_init_dry(NULL, 4096, 0.5f, 2.0f, 0, -1, NULL, 0);
        apply(of_kind(penalties_after(s, TOKENS(0, 2, 0)), kind), &cur);
        assert_same(data[0].logit, 0.5f); /* 0: nothing before it matches: L = 0 */
        assert_same(data[2].logit, 1.0f); /* 2: behind 0, which is the suffix: L = 1 */
    }
}

/* ---------------------------------------------------------------------------------------- the largest row */

/* 2^22 equal tokens: sums of weights come to 2^62. */
TEST(test_largest_row)
{
    const size_t n = SAMP_MAX_VOCAB;
    if (quick()) return;
    samp_token_data *data = (samp_token_data *)malloc(n * sizeof *data);
    assert_non_null(data);
    static samp_sampler *(*const makers[])(void) = { make_dist, sharp_top_n_sigma, sharp_temp_ext, sharp_xtc };
    for (int k = 0; k < 5; k++) {
        samp_token_data_array cur = { data, n, -1, false };
        for (size_t i = 0; i < n; i++) data[i].id = (samp_token)i, data[i].logit = -2.5f, data[i].p = TEST_P_UNSET;
        apply(k < 4 ? makers[k]() : samp_init_top_p(0.25f, 0), &cur);
        assert_num(cur.size, k == 4 ? n / 4 : n);
        if (k == 0) assert_in_range(cur.selected, 0, n - 1);
        if (k == 0 || k == 4) assert_same(data[0].p, 1.0f / 4194304.0f);
        if (k == 1) assert_same(data[n / 2].logit, -2.5f);
        if (k == 2) assert_near(data[n - 1].logit, -2.5 / 1.4, 1e-6); /* H = ln n: T = 0.9 + 0.5 */
        if (k == 4) assert_num(data[n / 4 - 1].id, n / 4 - 1);
    }
    free(data);
}

/* ---------------------------------------------------------------------------------------- disabled values */

/* the chain around it: an xtc too, whose random bits are its own wherever a disabled one stands */
static samp_sampler *disabled_base(int at, int greedy)
{
    switch (at) {
        case 0: return samp_init_top_p(0.9f, 0);
        case 1: return samp_init_xtc(0.5f, 0.05f, 1, 10);
        case 2: return samp_init_temp(1.5f);
        default: return greedy ? samp_init_greedy() : samp_init_dist(9);
    }
}

/* One disabled sampler at the front, in the middle, behind: the same tokens; alone: the array to the bit. */
TEST(test_disabled)
{
    enum { N = 100, STEPS = 60 };
    static float rows[STEPS][N];
    source rng = source_stream(180);
    for (int i = 0; i < STEPS; i++) {
        if (i % 3)
            test_logits(&rng, rows[i], N, 2.0);
        else
            test_logits_tied(&rng, rows[i], N, 0.5, 6);
        for (int j = 0; j < N; j++)
            if (below(&rng, 10) == 0) rows[i][j] = -INFINITY;
        rows[i][i % N] = 0.5f;
    }
    samp_sampler *const off[] = {
        samp_init_logit_bias(100, 0, NULL),
        samp_init_penalties(0, 2.0f, 1.0f, 1.0f),
        samp_init_penalties(64, 1.0f, 0.0f, 0.0f),
        samp_init_dry(NULL, 4096, 0.0f, 1.75f, 2, -1, NULL, 0),
        samp_init_dry(NULL, 4096, 1.0f, 1.75f, 0, 0, NULL, 0),
        samp_init_dry(NULL, 4096, 0.0f, 1.75f, 2, -1, breaker_d, 1),
        samp_init_top_n_sigma(0.0f),
        samp_init_top_n_sigma(-1.0f),
        samp_init_top_k(0),
        samp_init_top_k(-7),
        samp_init_tail_free(1.0f, 1),
        samp_init_typical(1.0f, 1),
        samp_init_top_p(1.0f, 1),
        samp_init_min_p(0.0f, 1),
        samp_init_xtc(0.0f, 0.1f, 1, 3),
        samp_init_xtc(1.0f, 0.50000006f, 1, 3),
        samp_init_temp(1.0f),
        samp_init_temp_ext(1.0f, 0.0f, 2.0f),
    };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t o = 0; o < TEST_COUNT(off); o++) {
            samp_sampler *alone = of_kind(samp_clone(off[o]), kind);
            assert_ok(samp_status(alone, NULL));
            for (int i = 0; i < 4; i++) {
                samp_token_data data[N], before[N];
                samp_token_data_array cur = test_array(data, rows[i], N);
                if (i & 1) test_sort(&cur);
                cur.selected = i;
                memcpy(before, data, sizeof data);
                assert_ok(samp_accept(alone, 5));
                assert_ok(samp_apply(alone, &cur));
                assert_memory_equal(before, data, sizeof data);
                assert_num(cur.size, N);
                assert_num(cur.selected, i);
                assert_num(cur.sorted, i & 1);
            }
            samp_free(alone);
            for (int greedy = 0; greedy < 2; greedy++)
                for (int place = 0; place <= 4; place++) {
                    own_sampler *with = samp_chain_init(), *without = samp_chain_init();
                    for (int at = 0; at <= 4; at++) {
                        if (at == place) assert_ok(samp_chain_add(with, samp_clone(off[o])));
                        if (at == 4) break;
                        assert_ok(samp_chain_add(with, disabled_base(at, greedy)));
                        assert_ok(samp_chain_add(without, disabled_base(at, greedy)));
                    }
                    of_kind(with, kind);
                    of_kind(without, kind);
                    for (int i = 0; i < STEPS; i++) {
                        samp_token a = samp_sample(with, rows[i], N), b = samp_sample(without, rows[i], N);
                        if (a != b || a < 0)
                            test_fail(__FILE__, __LINE__, "disabled %s at %d, step %d: %d, without it %d",
                                      samp_name(samp_chain_get(with, place)), place, i, (int)a, (int)b);
                    }
                }
        }
    for (size_t o = 0; o < TEST_COUNT(off); o++) samp_free(off[o]);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
