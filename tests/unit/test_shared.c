/* test_shared.c - samplers that share what they learn of a grammar: in threads, with much memory and with hardly any,
   each mask is that of a sampler that shares nothing; an idle sampler holds no memory; what is used stays when the
   memory grows or is full; masks that are prepared in parts; the numbers of samp_grammar_stats. SAMP_TEST_CASES=n
   makes n thousand steps; make test-threads runs it under ThreadSanitizer. */
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include <stdint.h>

/* Steps beside those of a call's own budget: stores that are made and copied, texts that are read again. */
static _Thread_local int64_t steps_beside;
#define SAMPI_COUNT_STEPS(n) (steps_beside += (int64_t)(n))
#include "sampling.h"

#include <pthread.h>

#include "tests/support/sharers.h"

enum { N_THREADS = 4 };

TEST(test_threads_share)
{
    const long n_steps = 1000 * (long)env_setting("SAMP_TEST_CASES", quick() ? 4 : 20) /
                         (long)(TEST_COUNT(shared) * N_THREADS);
    for (size_t i = 0; i < TEST_COUNT(shared); i++) {
        own_grammar *g = grammar_of(i);
        worker w[N_THREADS];
        pthread_t thread[N_THREADS];
        own_sampler *first = samp_init_grammar(vocab_index, g);
        if (shared[i].limit) assert_ok(samp_set_grammar_limits(first, shared[i].limit, 1 << 24));
        for (int t = 0; t < N_THREADS; t++) {
            worker one = { g, grammar_of(i), 0, 10 * i + (uint64_t)t, n_steps, 0, NULL };
            w[t] = one;
        }
        for (int t = 0; t < N_THREADS; t++) assert_num(pthread_create(&thread[t], NULL, work, &w[t]), 0);
        for (int t = 0; t < N_THREADS; t++) assert_num(pthread_join(thread[t], NULL), 0);
        samp_grammar_usage stats;
        assert_ok(samp_grammar_stats(first, &stats));
        print_message("%.30s...: %zu states, %zu entries, %zu of %zu masks found, %zu bytes of %zu, %zu renewals\n",
                      shared[i].text, stats.n_states, stats.n_entries, stats.n_hits, stats.n_masks, stats.n_bytes,
                      stats.max_bytes, stats.n_renewals);
        for (int t = 0; t < N_THREADS; t++) {
            if (w[t].wrong) test_fail(__FILE__, __LINE__, "%s: %s", shared[i].text, w[t].wrong);
            assert_true(w[t].n_full * 10 <= n_steps);
            samp_grammar_free(w[t].own);
        }
    }
}

/* A sampler that stands still, while others turn the memory over: what it held is gone, and its text is not. */
TEST(test_idle_holds_nothing)
{
    own_grammar *g = grammar_of(3), *own = grammar_of(3);
    own_sampler *idle = samp_init_grammar(vocab_index, g), *busy = samp_init_grammar(vocab_index, g),
                *alone = samp_init_grammar(vocab_index, own);
    samp_grammar_usage stats = { 0 };
    uint32_t bits[2][N_MASK];
    source rng = source_stream(77);
    size_t most = 0;
    assert_ok(samp_set_rollback(idle, 20));
    assert_ok(samp_set_rollback(alone, 20));
    assert_ok(samp_set_grammar_limits(busy, 1 << 20, 1 << 24));
    for (const char *p = "abbab abeeabb"; *p; p++) {
        assert_ok(samp_accept(idle, (uint8_t)*p));
        assert_ok(samp_accept(alone, (uint8_t)*p));
    }
    for (int n = 0; stats.n_renewals < 10; n++) {
        assert_true(n < 1000000);
        assert_ok(samp_grammar_mask(busy, bits[0]));
        const samp_token token = pick(&rng, bits[0]);
        if (token < 0 || samp_accept(busy, token)) samp_reset(busy);
        assert_ok(samp_grammar_stats(busy, &stats));
        if (stats.n_bytes > most) most = stats.n_bytes;
    }
    assert_true(most <= 1 << 20);
    assert_ok(samp_grammar_mask(idle, bits[0]));
    assert_ok(samp_grammar_mask(alone, bits[1]));
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    for (int n = 0; n < 10; n++) {
        assert_ok(samp_rollback(idle, 1));
        assert_ok(samp_rollback(alone, 1));
        assert_ok(samp_grammar_mask(idle, bits[0]));
        assert_ok(samp_grammar_mask(alone, bits[1]));
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    }
}

/* How many of a text's masks a sampler has to look for. */
static size_t misses_in(samp_sampler *s, const char *text)
{
    samp_grammar_usage before, now;
    uint32_t bits[N_MASK];
    assert_ok(samp_grammar_stats(s, &before));
    for (const char *p = text; *p; p++) {
        assert_ok(samp_grammar_mask(s, bits));
        assert_true(bit(bits, (uint8_t)*p));
        assert_ok(samp_accept(s, (uint8_t)*p));
    }
    assert_ok(samp_grammar_stats(s, &now));
    return now.n_masks - before.n_masks - (now.n_hits - before.n_hits);
}

/* What one has learnt, the next one finds: its masks are hits, and states do not grow. Another index has its own. */
TEST(test_new_requests_find)
{
    static const char text[] = "{\"a\":[1,2.5e3,{\"ab\":\"the\"}],\"the\":true}";
    own_grammar *g = grammar_of(0);
    own_index *other_index = samp_vocab_index_init(&small_vocabulary, NULL);
    own_sampler *first = samp_init_grammar(vocab_index, g);
    samp_grammar_usage before, now;
    for (int request = 0; request < 3; request++) {
        samp_sampler *s = request ? samp_init_grammar(vocab_index, g) : first;
        assert_ok(samp_grammar_stats(s, &before));
        const size_t misses = misses_in(s, text);
        assert_ok(samp_grammar_stats(s, &now));
        assert_num(now.n_masks - before.n_masks, sizeof text - 1);
        if (request) assert_num(misses, 0);
        if (request) assert_num(now.n_states, before.n_states);
        if (request) samp_free(s);
    }
    samp_sampler *s = samp_init_grammar(other_index, g);
    assert_ok(samp_grammar_stats(s, &now));
    assert_num(now.n_masks, 0);
    assert_status(samp_grammar_stats(NULL, &now), SAMP_E_NULL);
    assert_status(samp_grammar_stats(s, NULL), SAMP_E_NULL);
    samp_free(s);
}

/* What has been learnt with an index stays while it has a sampler, and for those to come; without one it goes when the
   grammar meets another index. */
TEST(test_unused_indexes_go)
{
    own_grammar *g = grammar_of(0);
    samp_sampler *used = samp_init_grammar(vocab_index, g);
    const sampi_shared *stays = g->shared, *goes;
    for (int i = 0; i < 3; i++) {
        own_index *other = samp_vocab_index_init(&small_vocabulary, NULL);
        for (int k = 0; k < 2; k++) {
            own_sampler *s = samp_init_grammar(other, g);
            assert_ok(samp_accept(s, '{'));
        }
        goes = g->shared;
        assert_non_null(goes->now);
        assert_non_null(stays->now);
        if (i) assert_null(goes->behind->now);
    }
    samp_free(used);
    samp_free(samp_init_grammar(vocab_index, g));
    assert_non_null(stays->now);
}

static size_t misses_of(samp_grammar *g, const char *text)
{
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    const size_t misses = misses_in(s, text);
    samp_free(s);
    return misses;
}

/* Random texts, up to so many renewals of the memory; a text that comes again and again in between stays known, whatever
   else is let go. */
static void keeps(size_t grammar, size_t limit, const char *text, size_t n_renewals)
{
    own_grammar *g = grammar_of(grammar);
    own_sampler *busy = samp_init_grammar(vocab_index, g);
    samp_grammar_usage stats = { 0 };
    source rng = source_stream(78);
    uint32_t bits[N_MASK];
    size_t seen = 0;
    if (limit) assert_ok(samp_set_grammar_limits(busy, limit, 1 << 24));
    assert_true(misses_of(g, text) > 5);
    for (int n = 0; seen < n_renewals; n++) {
        assert_true(n < 1000000);
        assert_ok(samp_grammar_mask(busy, bits));
        const samp_token token = pick(&rng, bits);
        if (token < 0 || below(&rng, 90) == 0 || samp_accept(busy, token)) samp_reset(busy);
        assert_ok(samp_grammar_stats(busy, &stats));
        assert_true(stats.n_bytes <= stats.max_bytes);
        if (n % 30 && stats.n_renewals == seen) continue;
        assert_num(misses_of(g, text), 0);
        seen = stats.n_renewals;
    }
}

TEST(test_growth_keeps_all) { keeps(2, 0, "{\"a\":12,\"ab\":\"the\",\"x\":\"a quick brown fox\"}", 1); }

TEST(test_full_keeps_what_is_used)
{
    keeps(3, 1 << 19, "abbab abeeabb", 20);
    keeps(3, 1 << 20, "abbab abeeabb", 3);
}

/* ---- a full memory ---- */

enum { REQUESTS = 4, LONGEST = 400 };

/* A request, and beside it a sampler that shares nothing and has no limit. */
typedef struct request {
    samp_sampler *s, *alone;
    source rng;
    samp_token text[LONGEST];
    int n;
} request;

/* The steps of a call, which begins after steps_of(NULL). */
static int64_t steps_of(const samp_sampler *s)
{
    const sampi_matcher *m = s ? (const sampi_matcher *)s->ctx : NULL;
    const int64_t steps = m ? steps_beside + m->max_steps - m->d.budget : 0;
    steps_beside = 0;
    return steps;
}

static void begin_again(request *r)
{
    samp_reset(r->s);
    samp_reset(r->alone);
    r->n = 0;
}

/* The steps that reading a request's text, and its mask, take where nothing is known. */
static int64_t from_nothing(size_t grammar, const request *r)
{
    uint32_t bits[N_MASK];
    samp_grammar *g = grammar_of(grammar);
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    int64_t steps = 0;
    steps_of(NULL);
    for (int i = 0; i < r->n; i++) {
        assert_ok(samp_accept(s, r->text[i]));
        steps += steps_of(s);
    }
    assert_ok(samp_grammar_mask(s, bits));
    steps += steps_of(s);
    samp_free(s);
    samp_grammar_free(g);
    return steps;
}

/* One mask and one token of a request. Returns the most steps that one of the two calls took. The sums are of masks. */
static int64_t turn_of(request *r, int64_t *sum, int64_t *sum_alone)
{
    uint32_t bits[2][N_MASK];
    steps_of(NULL);
    assert_ok(samp_grammar_mask(r->s, bits[0]));
    int64_t steps = steps_of(r->s), more = 0;
    *sum += steps;
    assert_ok(samp_grammar_mask(r->alone, bits[1]));
    *sum_alone += steps_of(r->alone);
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    const samp_token token = pick(&r->rng, bits[0]);
    if (token < 0 || below(&r->rng, 90) == 0 || r->n == LONGEST) {
        begin_again(r);
        return steps;
    }
    steps_of(NULL);
    assert_ok(samp_accept(r->s, token));
    more = steps_of(r->s);
    assert_ok(samp_accept(r->alone, token));
    r->text[r->n++] = token;
    return more > steps ? more : steps;
}

/* The steps of a call have their limit also where its text is read again, because the memory was full: but for 64 steps
   for each token, and what new stores cost. A call that is cut short can be made again: it gets further. */
TEST(test_reading_again_counts)
{
    enum { LIMIT = 1 << 22, STEPS = 1 << 17, TOKENS = 300, TRIES = 40 };
    static const char text[] = "{\"type\":\"string\",\"pattern\":\"^(\\\\S+\\\\s*){1,2000}$\",\"maxLength\":9000}";
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, text, "compact", NULL);
    own_sampler *s = samp_init_grammar(vocab_index, g), *busy = samp_init_grammar(vocab_index, g);
    const sampi_matcher *m = (const sampi_matcher *)s->ctx;
    samp_grammar_usage stats = { 0 };
    uint32_t bits[N_MASK];
    int64_t worst = 0;
    int status = SAMP_E_FULL, n_tries = 0;
    assert_ok(samp_set_grammar_limits(s, LIMIT, 1 << 24));
    for (int n = 0; n < TOKENS; n++) assert_ok(samp_accept(s, n ? 'a' : '"'));
    for (int n = 0; stats.n_renewals < 8; n++) { /* what `s` has computed is dropped meanwhile */
        if (n % TOKENS == 0) samp_reset(busy);
        const bool space = n % TOKENS > 1 && n % 7 % 2 && n / TOKENS % (1 + n % 13);
        assert_ok(samp_accept(busy, n % TOKENS == 0 ? '"' : space ? ' ' : 'a'));
        assert_ok(samp_grammar_mask(busy, bits));
        assert_ok(samp_grammar_stats(busy, &stats));
    }
    assert_ok(samp_set_grammar_limits(s, LIMIT, STEPS));
    for (; n_tries < TRIES && status == SAMP_E_FULL; n_tries++) {
        steps_beside = 0;
        status = samp_accept(s, 'a');
        const int64_t steps = steps_beside + STEPS - m->d.budget;
        if (steps > worst) worst = steps;
    }
    print_message("at most %lld steps a call, %d calls\n", (long long)worst, n_tries);
    assert_ok(status);
    assert_true(n_tries > 1);
    assert_true(worst <= STEPS + 64 * TOKENS + LIMIT / 8);
}

/* Requests in turns, some with hardly more memory than one mask needs: all masks are those of samplers without a limit;
   no call takes more than MOST times the steps that it would take from nothing, beside what it takes to make and copy
   stores; and all together take at most `sum` times the steps of those without a limit. */
TEST(test_full_under_load)
{
    enum { TURNS = 150, MOST = 20, STORES = 8 /* stores take a step for so many bytes of the limit */ };
    static const struct {
        size_t grammar, limit;
        double sum;
    } loads[] = { { 0, 100000, 8.0 }, { 0, 120000, 4.0 }, { 2, 120000, 12.0 }, { 2, 160000, 4.0 },
                  { 3, 120000, 8.0 }, { 3, 220000, 4.0 }, { 5, 320000, 15.0 }, { 5, 340000, 6.0 } };
    for (size_t load = 0; load < TEST_COUNT(loads); load++) {
        const size_t grammar = loads[load].grammar;
        own_grammar *g = grammar_of(grammar), *own = grammar_of(grammar);
        request r[REQUESTS];
        int64_t worst = 0, sum = 0, sum_alone = 0;
        double ratio = 0.0;
        for (int i = 0; i < REQUESTS; i++) {
            request one = { samp_init_grammar(vocab_index, g),
                            samp_init_grammar(vocab_index, own),
                            source_stream(500 + (uint64_t)i),
                            { 0 },
                            0 };
            r[i] = one;
        }
        assert_ok(samp_set_grammar_limits(r[0].s, loads[load].limit, 1 << 24));
        assert_ok(samp_set_grammar_limits(r[0].alone, (size_t)1 << 30, 1 << 24));
        for (int n = 0; n < TURNS * REQUESTS; n++) {
            request *one = &r[n % REQUESTS], before = *one;
            const int64_t steps = turn_of(one, &sum, &sum_alone), rest = steps - (int64_t)loads[load].limit / STORES;
            if (steps > worst) worst = steps;
            if (rest < 0) continue;
            const double times = (double)rest / (double)from_nothing(grammar, one->n ? one : &before);
            if (times > ratio) ratio = times;
        }
        samp_grammar_usage stats, all;
        assert_ok(samp_grammar_stats(r[0].s, &stats));
        assert_ok(samp_grammar_stats(r[0].alone, &all));
        print_message(
            "%.30s...: %zu bytes, without a limit %zu: %zu renewals, at most %lld steps a call, %.1f times those "
            "from nothing; %.1f times as many in all\n",
            shared[grammar].text, loads[load].limit, all.n_bytes, stats.n_renewals, (long long)worst, ratio,
            (double)sum / (double)sum_alone);
        assert_true(stats.n_renewals > 2);
        assert_true(stats.n_bytes <= stats.max_bytes);
        assert_true(ratio <= MOST);
        assert_true((double)sum <= loads[load].sum * (double)sum_alone);
        for (int i = 0; i < REQUESTS; i++) samp_free(r[i].s), samp_free(r[i].alone);
    }
}

/* The same calls take the same steps and leave the same memory, whatever addresses the memory has: what a full memory
   refuses on one machine it refuses on every machine. */
TEST(test_same_calls_same_work)
{
    static const struct {
        size_t grammar, limit;
    } of[] = { { 0, 80000 }, { 2, 80000 }, { 3, 120000 }, { 4, 80000 }, { 5, 320000 } };
    for (size_t i = 0; i < TEST_COUNT(of); i++) {
        samp_grammar *g[2];
        samp_sampler *s[2];
        samp_grammar_usage usage[2];
        source rng = source_stream(900 + i);
        for (int k = 0; k < 2; k++) {
            g[k] = grammar_of(of[i].grammar);
            s[k] = samp_init_grammar(vocab_index, g[k]);
            assert_ok(samp_set_grammar_limits(s[k], of[i].limit, 1 << 24));
        }
        for (int n = 0; n < (quick() ? 500 : 3000); n++) {
            uint32_t bits[2][N_MASK] = { { 0 } };
            int64_t steps[2];
            int status[2];
            for (int k = 0; k < 2; k++) {
                steps_of(NULL);
                status[k] = samp_grammar_mask(s[k], bits[k]);
                steps[k] = steps_of(s[k]);
                assert_ok(samp_grammar_stats(s[k], &usage[k]));
            }
            assert_num(status[0], status[1]);
            assert_num(steps[0], steps[1]);
            assert_memory_equal(&usage[0], &usage[1], sizeof usage[0]);
            const samp_token token = pick(&rng, bits[0]);
            for (int k = 0; k < 2; k++)
                if (status[0] || token < 0 || samp_accept(s[k], token)) samp_reset(s[k]);
        }
        assert_true(usage[0].n_renewals > 2);
        for (int k = 0; k < 2; k++) samp_free(s[k]), samp_grammar_free(g[k]);
    }
}

/* A mask that is prepared in parts is there in the end, and is the one that it is without; a part of it that tokens,
   a way back or a clone come upon changes nothing. */
TEST(test_prepared_in_parts)
{
    static const int64_t budgets[] = { 1, 2, 7, 20, 50, 1 << 24 };
    size_t n_parts = 0, n_cut = 0;
    for (size_t i = 0; i < TEST_COUNT(shared); i++)
        for (size_t k = 0; k < 5 * TEST_COUNT(budgets); k++) {
            own_grammar *g = grammar_of(i), *own = grammar_of(i);
            own_sampler *s = samp_init_grammar(vocab_index, g), *alone = samp_init_grammar(vocab_index, own);
            source rng = source_stream(100 * i + k);
            const int64_t budget = budgets[k % TEST_COUNT(budgets)];
            assert_ok(samp_set_rollback(s, 4));
            for (int n = 0; n < 12; n++) {
                uint32_t bits[3][N_MASK];
                samp_grammar_usage before, now;
                int done = 0;
                const uint64_t most = below(&rng, 2) ? 1000000 : below(&rng, 20);
                for (uint64_t part = 0; part < most && !done; part++, n_parts++)
                    done = samp_grammar_prepare(s, budget);
                assert_true(done == 1 || (done == 0 && most < 1000000));
                n_cut += !done;
                if (!done && below(&rng, 3) == 0) { /* it goes elsewhere, and comes back */
                    const samp_token token = 'a';
                    if (samp_accept(s, token) == SAMP_OK) {
                        (void)samp_grammar_prepare(s, budget);
                        assert_ok(samp_rollback(s, 1));
                    }
                }
                samp_sampler *clone = samp_clone(s);
                assert_ok(samp_grammar_stats(s, &before));
                assert_ok(samp_grammar_mask(s, bits[0]));
                assert_ok(samp_grammar_stats(s, &now));
                if (done) assert_num(now.n_hits - before.n_hits, 1);
                assert_ok(samp_grammar_mask(alone, bits[1]));
                assert_ok(samp_grammar_mask(clone, bits[2]));
                assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
                assert_memory_equal(bits[0], bits[2], sizeof bits[0]);
                samp_free(clone);
                const samp_token token = pick(&rng, bits[0]);
                if (token < 0) samp_reset(s), samp_reset(alone);
                if (token < 0) continue;
                assert_ok(samp_accept(s, token));
                assert_ok(samp_accept(alone, token));
            }
        }
    print_message("%zu parts, %zu masks of which a part was prepared\n", n_parts, n_cut);
    assert_true(n_cut > 200);
}

/* What samp_grammar_prepare refuses; a lazy grammar that waits has nothing to prepare. */
TEST(test_prepare_refuses)
{
    own_grammar *g = grammar_of(0);
    const char *words[] = { "the" };
    own_sampler *s = samp_init_grammar(vocab_index, g),
                *lazy = samp_init_grammar_lazy(vocab_index, g, words, 1, NULL, 0);
    assert_status(samp_grammar_prepare(s, 0), SAMP_E_RANGE);
    assert_status(samp_grammar_prepare(s, -1), SAMP_E_RANGE);
    assert_num(samp_grammar_prepare(lazy, 1), 1);
    assert_num(samp_grammar_prepare(s, INT64_MAX), 1);
}

/* ---- masks made ahead ---- */

/* Makes masks ahead, `budget` steps a call, until there are no more. Returns the steps. */
static int64_t warm_all(const samp_grammar *g, int64_t budget)
{
    int64_t steps = 1, all = 0;
    for (int n = 0; steps > 0; n++, all += steps) {
        assert_true(n < 1000000);
        steps = samp_grammar_warm(vocab_index, g, budget);
        assert_true(steps >= 0);
    }
    return all;
}

/* The longest token that a text begins with. */
static samp_token longest_of(const char *text)
{
    samp_token best = (uint8_t)*text;
    size_t most = 1, n;
    for (samp_token t = 256; t < EOG; t++) {
        const char *bytes = token_bytes(NULL, t, &n);
        if (n > most && !strncmp(bytes, text, n)) best = t, most = n;
    }
    return best;
}

/* Masks that were made ahead are found: the steps of a text's masks afterwards, and their number without. Equal masks,
   whatever the steps of a call; and a call has few steps more than its budget. */
TEST(test_warm_masks_are_found)
{
    static const struct {
        size_t grammar;
        const char *text;
    } of[] = { { 0, "{\"a\":[1,2.5e3,{\"ab\":\"the\"}],\"the\":true}" },
               { 2, "{\"a\":12,\"ab\":\"the\",\"the\":[{\"ab\":2}],\"x\":\"ab\"}" },
               { 6, "{\"c\":2, \"a\":0,\"h\":7}" } };
    static const int64_t budgets[] = { 1 << 20, 1 << 10, 50 };
    for (size_t i = 0; i < TEST_COUNT(of); i++)
        for (size_t k = 0; k < TEST_COUNT(budgets); k++) {
            own_grammar *g = grammar_of(of[i].grammar), *own = grammar_of(of[i].grammar);
            own_sampler *s = samp_init_grammar(vocab_index, g), *alone = samp_init_grammar(vocab_index, own);
            const int64_t ahead = warm_all(g, budgets[k]);
            int64_t steps = 0, steps_alone = 0;
            size_t n = 0;
            for (const char *p = of[i].text; *p; p += n) {
                const samp_token token = longest_of(p);
                uint32_t bits[2][N_MASK];
                steps_of(NULL);
                assert_ok(samp_grammar_mask(s, bits[0]));
                steps += steps_of(s);
                assert_ok(samp_grammar_mask(alone, bits[1]));
                steps_alone += steps_of(alone);
                assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
                assert_ok(samp_accept(s, token));
                assert_ok(samp_accept(alone, token));
                (void)token_bytes(NULL, token, &n);
            }
            print_message("%.30s...: %lld steps ahead, then %lld for a text's masks instead of %lld\n",
                          shared[of[i].grammar].text, (long long)ahead, (long long)steps, (long long)steps_alone);
            assert_true(steps * 3 < steps_alone);
            assert_num(samp_grammar_warm(vocab_index, g, 1), 0);
        }
}

/* Where the memory is small, the work ends: it stays within the limit, and a text that was read before is not dropped,
   nor is the clock moved by which data ages. */
TEST(test_warm_drops_nothing)
{
    static const char text[] = "{\"a\":12,\"ab\":\"the\",\"x\":\"a quick brown fox\"}";
    static const size_t limits[] = { 100000, 140000, 200000, 400000, 1 << 20 };
    size_t n_full = 0;
    for (size_t i = 0; i < TEST_COUNT(limits); i++) {
        own_grammar *g = grammar_of(2);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        samp_grammar_usage before, now;
        assert_ok(samp_set_grammar_limits(s, limits[i], 1 << 24));
        (void)misses_in(s, text);
        samp_reset(s);
        const size_t misses = misses_in(s, text);
        samp_reset(s);
        assert_ok(samp_grammar_stats(s, &before));
        (void)warm_all(g, 1 << 14);
        assert_ok(samp_grammar_stats(s, &now));
        assert_true(now.n_bytes <= now.max_bytes);
        assert_true(now.n_entries >= before.n_entries);
        if (misses == 0) assert_num(misses_in(s, text), 0);
        n_full += misses > 0;
    }
    assert_true(n_full < TEST_COUNT(limits) - 1);
}

/* What samp_grammar_warm refuses; with another index the work begins anew, also for an index that was given up. */
TEST(test_warm_refuses)
{
    own_grammar *g = grammar_of(0);
    own_index *other = samp_vocab_index_init(&small_vocabulary, NULL);
    assert_status((int)samp_grammar_warm(NULL, g, 1), SAMP_E_NULL);
    assert_status((int)samp_grammar_warm(vocab_index, NULL, 1), SAMP_E_NULL);
    assert_status((int)samp_grammar_warm(vocab_index, g, 0), SAMP_E_RANGE);
    assert_true(warm_all(g, INT64_MAX) > 0);
    assert_true(samp_grammar_warm(other, g, 1) > 0); /* stays unfinished, and is freed with the grammar */
    assert_true(warm_all(g, 1000) > 0);
}

int main(int argc, char **argv) { return test_main(argc, argv, make_index, free_index); }
