/* makers.h - one constructor call of each sampler that several tests build chains of. Define N, the vocabulary, first. */
#ifndef MAKERS_H
#define MAKERS_H

#include "../sampling.h"

typedef samp_sampler *(*maker)(void);

static inline samp_sampler *make_tail_free(void) { return samp_init_tail_free(0.97f, 1); }
static inline samp_sampler *make_typical(void) { return samp_init_typical(0.95f, 1); }
static inline samp_sampler *make_top_p(void) { return samp_init_top_p(0.95f, 1); }
static inline samp_sampler *make_xtc(void) { return samp_init_xtc(0.5f, 0.1f, 1, 21); }
static inline samp_sampler *make_temp(void) { return samp_init_temp(0.8f); }
static inline samp_sampler *make_temp_ext(void) { return samp_init_temp_ext(0.9f, 0.4f, 1.0f); }
static inline samp_sampler *make_softmax(void) { return samp_init_softmax(); }
static inline samp_sampler *make_greedy(void) { return samp_init_greedy(); }
static inline samp_sampler *make_dist(void) { return samp_init_dist(22); }
static inline samp_sampler *make_mirostat(void) { return samp_init_mirostat(N, 23, 3.0f, 0.2f, 100); }
static inline samp_sampler *make_mirostat_v2(void) { return samp_init_mirostat_v2(24, 3.0f, 0.2f); }
static inline samp_sampler *make_adaptive_p(void) { return samp_init_adaptive_p(0.4f, 0.9f, 25); }

#endif /* MAKERS_H */
