/* test_memory.c - the heap: through SAMP_MALLOC and SAMP_FREE only, nothing lost, every allocation that can
   fail made to fail, and none at all in samp_sample after its first call. */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/test.h"

enum { N = 200 };

/* ------------------------------------------------------------------------------------------------ helpers */

static void row(float *logits, uint64_t i) { test_row(logits, N, 4000 + i, 2.0, i % N); }

/* ---------------------------------------------------------------------- things that can be made, and fail */

#include "tests/support/makers.h"

static samp_sampler *make_chain(void) { return samp_chain_init(); }
static samp_sampler *make_bad(void) { return samp_init_top_p(-1, 0); }
static samp_sampler *make_params(void)
{
    samp_params p = make_settings(samp_default_params().seed);
    p.tfs_z = 0.95f;
    return samp_chain_from_params(&p, NULL);
}
static samp_sampler *make_params_bad(void)
{
    samp_params p = samp_default_params();
    p.top_p = 7;
    return samp_chain_from_params(&p, NULL);
}
static samp_sampler *make_params_mirostat(void)
{
    samp_params p = samp_default_params();
    p.mirostat = 1;
    p.n_vocab = N;
    p.rng = SAMP_RNG_MT19937;
    return samp_chain_from_params(&p, NULL);
}

static const maker others[] = {
    make_chain, make_custom, make_bad, make_params, make_params_bad, make_params_mirostat
};
enum { N_OTHERS = (int)TEST_COUNT(others) };
static samp_sampler *make_any(int k) { return k < N_ALL ? all[k]() : others[k - N_ALL](); }

/* all the stages and one of the user's, in two nested chains, then that selecting sampler */
static samp_sampler *big_chain(int selector, int kind)
{
    samp_sampler *chain = samp_chain_init(), *inner = samp_chain_init();
    assert_ok(samp_set_rng(chain, (samp_rng_kind)kind));
    for (int i = 0; i < N_STAGES; i++) assert_ok(samp_chain_add(i < 6 ? chain : inner, stages[i]()));
    assert_ok(samp_chain_add(inner, make_custom()));
    assert_ok(samp_chain_add(inner, selectors[selector]()));
    assert_ok(samp_chain_add(chain, inner));
    return chain;
}

/* -------------------------------------------------------------------------------------------------- leaks */

static void test_no_leaks(void **state)
{
    (void)state;
    float logits[N];
    assert_num(heap.live, 0);
    for (int k = 0; k < N_ALL + N_OTHERS; k++) {
        unsigned long calls = heap.mallocs;
        samp_sampler *s = make_any(k), *copy = samp_clone(s), *copy_2;
        assert_true(heap.mallocs > calls); /* it does come from there */
        assert_ok(samp_reserve(s, N));
        for (uint64_t i = 0; i < 5; i++) {
            row(logits, i);
            samp_sample(s, logits, N);
            samp_draw(copy, logits, N);
            samp_accept(copy, (samp_token)i);
        }
        copy_2 = samp_clone(s);
        samp_free(s);
        samp_reset(copy);
        samp_sample(copy, logits, N);
        samp_free(copy);
        samp_sample(copy_2, logits, N);
        samp_free(copy_2);
        assert_num(heap.live, 0);
    }
    for (int kind = 0; kind < 2; kind++)
        for (int selector = 0; selector < N_SELECTORS; selector++) {
            samp_sampler *s = big_chain(selector, kind), *copy, *out;
            for (uint64_t i = 0; i < 5; i++) {
                row(logits, i);
                assert_true(samp_sample(s, logits, i & 1 ? N : N / 2) >= 0);
            }
            copy = samp_clone(s);
            assert_ok(samp_set_n_prev(copy, 1000));
            assert_ok(samp_set_n_prev(copy, 0));
            assert_ok(samp_set_n_prev(copy, 10));
            assert_ok(samp_reserve(copy, 10 * N));
            assert_ok(samp_reserve(copy, N));
            out = samp_chain_remove(copy, 2);
            samp_free(copy);
            assert_true(heap.live > 0);
            samp_free(out);
            samp_free(s);
            assert_num(heap.live, 0);
        }
    /* the chain takes it, on failure too */
    samp_sampler *chain = samp_chain_init();
    assert_status(samp_chain_add(chain, samp_init_temp(-1)), SAMP_E_RANGE);
    samp_free(chain);
    assert_num(heap.live, 0);
}

/* ------------------------------------------------------------------------------------ no heap in sampling */

static void test_no_heap_in_sampling(void **state)
{
    (void)state;
    enum { SAMPLES = 10000, ROWS = 64 };
    static float rows[ROWS][N];
    for (uint64_t i = 0; i < ROWS; i++) row(rows[i], i);
    for (int kind = 0; kind < 2; kind++)
        for (int selector = 0; selector < N_SELECTORS; selector++)
            for (int reserved = 0; reserved < 2; reserved++) {
                int samples = selectors[selector] == make_dist && reserved && !quick() ? SAMPLES : SAMPLES / 10;
                samp_sampler *s = big_chain(selector, kind);
                if (reserved)
                    assert_ok(samp_reserve(s, N));
                else
                    assert_true(samp_sample(s, rows[0], N) >= 0);
                long calls = (long)heap.mallocs, live = heap.live;
                for (int i = 0; i < samples; i++) {
                    samp_token token = samp_sample(s, rows[i % ROWS], (size_t)(i % 3 ? N : 1 + i % N));
                    if (token < 0 && token != SAMP_E_EMPTY) assert_ok(token); /* short rows: all masked */
                    if (i % 100 == 7) samp_reset(s);
                    if (i % 100 == 8) samp_draw(s, rows[1], N);
                    if (i % 100 == 9) samp_perf_reset(s), samp_set_position(s, (uint64_t)i);
                }
                assert_num(heap.mallocs, calls);
                assert_num(heap.live, live);
                samp_free(s);
            }
    assert_num(heap.live, 0);
    /* samp_apply takes none either */
    for (int k = 0; k < N_ALL + N_OTHERS; k++) {
        samp_sampler *s = make_any(k);
        samp_token_data data[N];
        long calls;
        samp_token_data_array cur = test_array(data, rows[0], N);
        samp_apply(s, &cur);
        calls = heap.mallocs;
        for (int i = 0; i < 50; i++) {
            cur = test_array(data, rows[i], N);
            samp_apply(s, &cur);
            samp_accept(s, i % 7);
        }
        assert_num(heap.mallocs, calls);
        samp_free(s);
    }
}

/* ------------------------------------------------------------------------------------ the N-th call fails */

/* Making and cloning: NULL, or an object that is whole or carries SAMP_E_NOMEM; nothing is lost. */
static void check_nomem(samp_sampler *s, const samp_sampler *like, const char *what, int at)
{
    float logits[N];
    row(logits, 3);
    if (!s) return;
    int status = samp_status(s, NULL);
    if (status == SAMP_E_NOMEM) {
        assert_status(samp_sample(s, logits, N), SAMP_E_NOMEM);
    } else if (status != samp_status(like, NULL)) {
        test_fail(__FILE__, __LINE__, "%s, allocation %d fails: %s", what, at, test_status_name(status));
    } else { /* whole, then: it draws what it is to draw */
        samp_sampler *a = samp_clone(like);
        for (uint64_t i = 0; i < 5; i++) {
            row(logits, i);
            assert_num(samp_sample(s, logits, N), samp_sample(a, logits, N));
        }
        samp_free(a);
    }
}

static void test_making_fails(void **state)
{
    (void)state;
    for (int after = 0; after < 2; after++)
        for (int k = 0; k < N_ALL + N_OTHERS; k++) {
            long before = heap.live;
            samp_sampler *like = make_any(k);
            int at = 1, failures = 0;
            for (;; at++) {
                long live = heap.live;
                heap.fail_at = at;
                heap.fail_after = after;
                samp_sampler *s = make_any(k);
                bool met = heap.fail_at == 0 || (after && heap.fail_at == 1 && at > 1) || s == NULL;
                heap.fail_at = 0;
                heap.fail_after = false;
                if (at == 1) assert_true(s == NULL); /* not even the object */
                check_nomem(s, like, samp_name(like), at);
                failures += !s || samp_status(s, NULL) == SAMP_E_NOMEM;
                samp_free(s);
                assert_num(heap.live, live);
                if (!met || at > 400) break;
            }
            assert_true(failures >= 1 && at <= 400);
            for (at = 1;; at++) { /* clone */
                long live = heap.live;
                heap.fail_at = at;
                heap.fail_after = after;
                samp_sampler *s = samp_clone(like);
                bool met = heap.fail_at == 0 || (after && heap.fail_at == 1 && at > 1) || s == NULL;
                heap.fail_at = 0;
                heap.fail_after = false;
                if (at == 1) assert_true(s == NULL);
                check_nomem(s, like, samp_name(like), at);
                samp_free(s);
                assert_num(heap.live, live);
                if (!met || at > 400) break;
            }
            assert_true(at <= 400);
            samp_free(like);
            assert_num(heap.live, before);
        }
}

/* Chains from parameters: *status says what came out, too. */
static void test_params_status(void **state)
{
    (void)state;
    samp_params p = samp_default_params();
    p.dry_multiplier = 0.8f;
    p.vocab = &letters;
    for (int at = 1;; at++) {
        int status = 1;
        heap.fail_at = at;
        samp_sampler *chain = samp_chain_from_params(&p, &status);
        bool met = heap.fail_at == 0;
        heap.fail_at = 0;
        if (!met) {
            assert_ok(status);
            assert_ok(samp_status(chain, NULL));
            assert_true(at > 10);
            samp_free(chain);
            break;
        }
        assert_status(status, SAMP_E_NOMEM);
        if (chain) assert_status(samp_status(chain, NULL), SAMP_E_NOMEM);
        samp_free(chain);
        assert_num(heap.live, 0);
    }
}

static void test_cloning_a_big_chain_fails(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        samp_sampler *s = big_chain(1, kind);
        float logits[N];
        int at = 1;
        for (uint64_t i = 0; i < 6; i++) {
            row(logits, i);
            assert_true(samp_sample(s, logits, N) >= 0);
        }
        for (;; at++) {
            long live = heap.live;
            heap.fail_at = at;
            samp_sampler *copy = samp_clone(s);
            bool met = heap.fail_at == 0;
            heap.fail_at = 0;
            if (!met) {
                assert_ok(samp_status(copy, NULL));
                samp_free(copy);
                break;
            }
            if (copy) {
                assert_status(samp_status(copy, NULL), SAMP_E_NOMEM);
                samp_free(copy);
            }
            assert_num(heap.live, live);
        }
        assert_true(at > N_STAGES);
        samp_free(s);
    }
    assert_num(heap.live, 0);
}

/* samp_reserve, samp_set_n_prev, the first samp_sample: SAMP_E_NOMEM, and all goes on as if not called */
static void test_reserving_fails(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int selector = 0; selector < N_SELECTORS; selector++) {
            samp_sampler *s = big_chain(selector, kind), *twin = samp_clone(s);
            float logits[N];
            bool met;
            int at;
            row(logits, 1);
            for (at = 1;; at++) {
                long live = heap.live;
                heap.fail_at = at;
                int status = samp_reserve(s, N);
                met = heap.fail_at == 0;
                heap.fail_at = 0;
                if (!met) {
                    assert_ok(status);
                    break;
                }
                assert_status(status, SAMP_E_NOMEM);
                assert_true(heap.live >= live);
            }
            assert_true(at > 1);
            samp_free(s);
            s = samp_clone(twin);
            for (at = 1;; at++) {
                heap.fail_at = at;
                samp_token token = samp_sample(s, logits, N);
                met = heap.fail_at == 0;
                heap.fail_at = 0;
                if (!met) {
                    assert_true(token >= 0);
                    assert_num(samp_sample(twin, logits, N), token);
                    break;
                }
                assert_status(token, SAMP_E_NOMEM);
                assert_u64(samp_get_position(s), 0);
                assert_u64(samp_perf(s).n_sample, 0);
                assert_status(samp_last(s), SAMP_E_EMPTY);
            }
            assert_true(at > 1);
            samp_token last = samp_last(s);
            heap.fail_at = 1;
            assert_status(samp_set_n_prev(s, 5000), SAMP_E_NOMEM);
            heap.fail_at = 0;
            assert_num(samp_last(s), last); /* not forgotten */
            heap.fail_at = 1;               /* a larger vocabulary, no memory: the smaller one goes on */
            static float wide[8 * N];
            assert_status(samp_sample(s, wide, 8 * N), SAMP_E_NOMEM);
            heap.fail_at = 0;
            for (uint64_t i = 0; i < 10; i++) {
                row(logits, i);
                samp_token token = samp_sample(s, logits, N);
                assert_num(token, samp_sample(twin, logits, N));
                assert_true(token >= 0);
            }
            assert_ok(samp_status(s, NULL));
            samp_free(s);
            samp_free(twin);
            assert_num(heap.live, 0);
        }
}

/* Building a chain from parts with one failure anywhere: whatever comes, the chain can be freed. */
static void test_building_fails(void **state)
{
    (void)state;
    float logits[N];
    row(logits, 1);
    for (int at = 1; at < 300; at++) {
        int first = SAMP_OK;
        heap.fail_at = at;
        samp_sampler *chain = samp_chain_init();
        if (chain)
            for (int i = 0; i < N_STAGES + 2; i++) {
                samp_sampler *s = i < N_STAGES ? stages[i]() : i == N_STAGES ? make_custom() : make_dist();
                int status = samp_chain_add(chain, s); /* NULL may come in here; s is the chain's now */
                if (status != SAMP_OK && first == SAMP_OK) first = status;
                if (!s)
                    assert_status(status, SAMP_E_NULL);
                else if (status != SAMP_OK)
                    assert_status(status, SAMP_E_NOMEM);
            }
        bool met = heap.fail_at == 0;
        heap.fail_at = 0;
        if (chain) {
            samp_token token = samp_sample(chain, logits, N);
            assert_status(samp_status(chain, NULL), first);
            if (first != SAMP_OK)
                assert_status(token, first);
            else
                assert_true(token == SAMP_E_UNSUPPORTED || token >= 0);
            samp_free(chain);
        }
        assert_num(heap.live, 0);
        if (!met) break;
        assert_true(at < 299);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_leaks),
        cmocka_unit_test(test_no_heap_in_sampling),
        cmocka_unit_test(test_making_fails),
        cmocka_unit_test(test_params_status),
        cmocka_unit_test(test_cloning_a_big_chain_fails),
        cmocka_unit_test(test_reserving_fails),
        cmocka_unit_test(test_building_fails),
    };
    heap.fill = true;
    return test_run(argc, argv, tests, NULL, NULL);
}
