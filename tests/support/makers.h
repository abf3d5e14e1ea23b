/* makers.h - one constructor call of each sampler, for tests that build chains of them. Define N, the vocabulary, first.
   (A maker whose arguments are what a test is about stands in that test.) */
#ifndef MAKERS_H
#define MAKERS_H

#include "sampling.h"
#include "test.h"

typedef samp_sampler *(*maker)(void);

enum { N_SOME_BIAS = 3 };
static const samp_logit_bias some_bias[N_SOME_BIAS] = { { 3, 1.0f }, { 5, -INFINITY }, { 3, 0.5f } };
static samp_vocab letters = { N, test_letters, NULL, NULL, NULL, 0, -1, -1 };

static inline samp_sampler *make_bias(void) { return samp_init_logit_bias(N, N_SOME_BIAS, some_bias); }
static inline samp_sampler *make_penalties(void) { return samp_init_penalties(10, 1.2f, 0.1f, 0.1f); }
static inline samp_sampler *make_dry(void)
{
    static const char *const breakers[] = { "d", "no", "xyz" };
    return samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, -1, breakers, 3);
}
static inline samp_sampler *make_sigma(void) { return samp_init_top_n_sigma(2.5f); }
static inline samp_sampler *make_top_k(void) { return samp_init_top_k(N / 2); }
static inline samp_sampler *make_min_p(void) { return samp_init_min_p(0.02f, 1); }
static inline samp_sampler *make_custom(void) { return test_nothing(); }
static inline samp_sampler *make_tail_free(void) { return samp_init_tail_free(0.97f, 1); }
static inline samp_sampler *make_typical(void) { return samp_init_typical(0.95f, 1); }
static inline samp_sampler *make_top_p(void) { return samp_init_top_p(0.95f, 1); }
static inline samp_sampler *make_xtc(void) { return samp_init_xtc(0.5f, 0.1f, 1, 21); }
static inline samp_sampler *make_infill(void)
{
    static const samp_token ends[] = { 1, 4 };
    static const samp_vocab vocab = { N, test_letters, NULL, NULL, ends, 2, 1, 4 };
    return samp_init_infill(&vocab);
}
static inline samp_sampler *make_temp(void) { return samp_init_temp(0.8f); }
static inline samp_sampler *make_temp_ext(void) { return samp_init_temp_ext(0.9f, 0.4f, 1.0f); }
static inline samp_sampler *make_softmax(void) { return samp_init_softmax(); }
static inline samp_sampler *make_greedy(void) { return samp_init_greedy(); }
static inline samp_sampler *make_dist(void) { return samp_init_dist(22); }
static inline samp_sampler *make_mirostat(void) { return samp_init_mirostat(N, 23, 3.0f, 0.2f, 100); }
static inline samp_sampler *make_mirostat_v2(void) { return samp_init_mirostat_v2(24, 3.0f, 0.2f); }
static inline samp_sampler *make_adaptive_p(void) { return samp_init_adaptive_p(0.4f, 0.9f, 25); }

/* Some of the stages, in their order, and one of the selectors. */
static inline samp_sampler *make_random_chain(source *rng, const maker *stages, size_t n_stages,
                                              const maker *selectors, size_t n_selectors)
{
    samp_sampler *chain = samp_chain_init();
    for (size_t i = 0; i < n_stages; i++)
        if (below(rng, 3) == 0) assert_ok(samp_chain_add(chain, stages[i]()));
    assert_ok(samp_chain_add(chain, selectors[below(rng, n_selectors)]()));
    return chain;
}

/* top_k, temperature, dist: what most tests of drafts draw with */
static inline samp_sampler *make_usual_chain(uint64_t seed)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_top_k(N / 2)));
    assert_ok(samp_chain_add(chain, samp_init_temp(0.8f)));
    assert_ok(samp_chain_add(chain, samp_init_dist(seed)));
    return chain;
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
