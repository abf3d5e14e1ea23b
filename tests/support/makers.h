/* makers.h - one of each sampler: its name and the call that makes it, in one list, for tests that walk over all samplers or
   build chains of them. Define N, the vocabulary, and SAMPLING_GUMBEL first. make test-public looks whether a sampler is
   missing here.

   The arguments are mild, so that a chain of all stages leaves more than one token. A maker whose arguments are what a test
   is about stands in that test; case.h makes samplers with random arguments, for programs that include the implementation. */
#ifndef MAKERS_H
#define MAKERS_H

#include "sampling.h"
#include "test.h"

typedef samp_sampler *(*maker)(void);

enum { N_SOME_BIAS = 3, N_SOME_BREAKERS = 3, N_SOME_ENDS = 2 };
static const samp_logit_bias some_bias[N_SOME_BIAS] = { { 3, 1.0f }, { 5, -INFINITY }, { 3, 0.5f } };
static const char *const some_breakers[N_SOME_BREAKERS] = { "d", "no", "xyz" };
static const samp_token some_ends[N_SOME_ENDS] = { 1, 4 };
static samp_vocab letters = { N, test_letters, NULL, NULL, NULL, 0, -1, -1 };
static const samp_vocab letters_with_ends = { N, test_letters, NULL, NULL, some_ends, N_SOME_ENDS, 1, 4 };

/* Those that do not select, in the usual order. */
#define STAGES(X) \
    X(logit_bias, samp_init_logit_bias(N, N_SOME_BIAS, some_bias)) \
    X(log_softmax, samp_init_log_softmax()) \
    X(penalties, samp_init_penalties(10, 1.2f, 0.1f, 0.1f)) \
    X(dry, samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, -1, some_breakers, N_SOME_BREAKERS)) \
    X(top_n_sigma, samp_init_top_n_sigma(2.5f)) \
    X(top_k, samp_init_top_k(N / 2)) \
    X(tail_free, samp_init_tail_free(0.97f, 1)) \
    X(typical, samp_init_typical(0.95f, 1)) \
    X(top_p, samp_init_top_p(0.95f, 1)) \
    X(min_p, samp_init_min_p(0.02f, 1)) \
    X(top_a, samp_init_top_a(0.01f, 1)) \
    X(p_less, samp_init_p_less(0.05f, 1)) \
    X(p_less_norm, samp_init_p_less_norm(0.05f, 1)) \
    X(epsilon, samp_init_epsilon(1e-3f, 1)) \
    X(eta, samp_init_eta(1e-3f, 1)) \
    X(top_h, samp_init_top_h(0.95f, 1)) \
    X(min_k, samp_init_min_k(100.0f)) \
    X(xtc, samp_init_xtc(0.5f, 0.1f, 1, 21)) \
    X(xtc_except, samp_init_xtc_except(0.5f, 0.1f, 1, 27, some_ends, N_SOME_ENDS)) \
    X(temp, samp_init_temp(0.8f)) \
    X(temp_ext, samp_init_temp_ext(0.9f, 0.4f, 1.0f)) \
    X(smoothing, samp_init_smoothing(0.3f, 1.5f)) \
    X(softmax, samp_init_softmax())

/* Of any row it leaves a few tokens, so it is no stage of a chain that has them all. */
#define ALONE(X) X(infill, samp_init_infill(&letters_with_ends))

#define SELECTORS(X) \
    X(dist, samp_init_dist(22)) \
    X(mirostat, samp_init_mirostat(N, 23, 3.0f, 0.2f, 100)) \
    X(mirostat_v2, samp_init_mirostat_v2(24, 3.0f, 0.2f)) \
    X(adaptive_p, samp_init_adaptive_p(0.4f, 0.9f, 25)) \
    X(greedy, samp_init_greedy()) \
    X(gumbel, samp_init_gumbel(26))

/* A long text, whose tokens a replay selects. */
static inline const samp_token *some_text(void)
{
    static samp_token text[1 << 12];
    for (int i = 0; i < 1 << 12; i++) text[i] = i * 7 % N;
    return text;
}

/* They select too; but no draft has the ratio method with ras, and samp_apply draws once; and a replay may select what the
   array does not have. */
#define AGAIN(X) \
    X(replay, samp_init_replay(some_text(), 1 << 12)) \
    X(ras, samp_init_ras(64, 1.0f, 28))

#define ALL(X) STAGES(X) ALONE(X) SELECTORS(X) AGAIN(X)

#define MAKER_FUNCTION(name, call) \
    static inline samp_sampler *make_##name(void) { return call; }
ALL(MAKER_FUNCTION)
#define MAKER_OF(name, call)   make_##name,
#define MAKER_NAME(name, call) #name,
static const maker stages[] = { STAGES(MAKER_OF) };
static const maker selectors[] = { SELECTORS(MAKER_OF) };
static const maker all[] = { ALL(MAKER_OF) };
static const char *const all_names[] = { ALL(MAKER_NAME) };
enum {
    N_STAGES = (int)TEST_COUNT(stages),
    N_SELECTORS = (int)TEST_COUNT(selectors),
    N_ALL = (int)TEST_COUNT(all),
    N_NOT_SELECTING = N_ALL - N_SELECTORS - 2 /* these come first in all, replay and ras last */
};

/* Is that the samp_name of sampler k? It has - for _. */
static inline bool is_named(const char *name, size_t k)
{
    const char *at = all_names[k];
    for (; *at && *name == (*at == '_' ? '-' : *at); at++) name++;
    return !*at && !*name;
}

static inline samp_sampler *make_custom(void) { return test_nothing(); }

/* Sampler k of them all in a chain, with dist behind it if it does not select. */
static inline samp_sampler *chain_with(size_t k)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, all[k]()));
    if (k < N_NOT_SELECTING) assert_ok(samp_chain_add(chain, make_dist()));
    return chain;
}

/* All the stages, in their order, and that selector. */
static inline samp_sampler *chain_of_stages(maker selector, samp_rng_kind kind)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_set_rng(chain, kind));
    for (int i = 0; i < N_STAGES; i++) assert_ok(samp_chain_add(chain, stages[i]()));
    assert_ok(samp_chain_add(chain, selector()));
    return chain;
}

/* Some of the stages, in their order, perhaps one of the user's, and one of the selectors. */
static inline samp_sampler *random_chain_of(source *rng, bool custom)
{
    samp_sampler *chain = samp_chain_init();
    for (int i = 0; i < N_STAGES; i++)
        if (below(rng, 5) == 0) assert_ok(samp_chain_add(chain, stages[i]()));
    if (custom && below(rng, 3) == 0) assert_ok(samp_chain_add(chain, make_custom()));
    assert_ok(samp_chain_add(chain, selectors[below(rng, N_SELECTORS)]()));
    return chain;
}

/* top_k, temperature, dist: what most tests of drafts draw with */
static inline samp_sampler *top_k_temp_dist(uint64_t seed)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_top_k(N / 2)));
    assert_ok(samp_chain_add(chain, samp_init_temp(0.8f)));
    assert_ok(samp_chain_add(chain, samp_init_dist(seed)));
    return chain;
}

/* What the last sampler of a stateless chain draws from: p [N]. */
static inline void last_draws_from(const samp_sampler *chain, const float *logits, long double *p)
{
    samp_token_data data[N];
    samp_token_data_array cur = test_array(data, logits, N);
    samp_sampler *copy = samp_clone(chain);
    long double sum = 0, max = -INFINITY;
    for (int32_t i = 0; i + 1 < samp_chain_n(copy); i++) assert_ok(samp_apply(samp_chain_get(copy, i), &cur));
    for (size_t i = 0; i < cur.size; i++)
        if (cur.data[i].logit > max) max = cur.data[i].logit;
    for (int i = 0; i < N; i++) p[i] = 0;
    for (size_t i = 0; i < cur.size; i++) sum += p[cur.data[i].id] = expl(cur.data[i].logit - max);
    for (int i = 0; i < N; i++) p[i] /= sum;
    samp_free(copy);
}

static inline samp_params make_settings(uint64_t seed)
{
    samp_params p = samp_default_params();
    p.seed = seed;
    p.dry_multiplier = 0.8f;
    p.vocab = &letters;
    p.penalty_repeat = 1.2f;
    p.logit_bias = some_bias;
    p.n_logit_bias = N_SOME_BIAS;
    p.n_vocab = N;
    return p;
}

#endif /* MAKERS_H */
