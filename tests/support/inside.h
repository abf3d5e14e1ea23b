/* inside.h - what tests that are linked with the library (library.c) ask of its inside. Those that live in there include
   the implementation themselves: test_math and test_rng test internal functions one by one, test_fast, test_batch,
   test_state and test_gpu compare samplers' records and drive kernels (case.h), and fast and batch are what the broken
   kernels of mutate_kernels.sh are built into. */
#ifndef INSIDE_H
#define INSIDE_H

#include "sampling.h"

/* What SAMP_CLOCK asks; NULL: time stands still. */
extern uint64_t (*inside_clock)(void);

/* Steps that this thread has made in loops that must not grow faster than their input (SAMPI_COUNT_STEPS). */
extern _Thread_local size_t inside_steps;

/* A sampler's record. */
float inside_mu(const samp_sampler *s);
bool inside_drafts(const samp_sampler *s); /* is it in the middle of a samp_verify? */
float inside_adaptive_sum(const samp_sampler *s);
samp_token inside_pending(const samp_sampler *s);

/* Arithmetic. */
void inside_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint64_t inside_weight(float max, float logit);
uint64_t inside_checksum(const void *bytes, size_t n);
float inside_from_half(uint16_t h);
float inside_from_brain(uint16_t h);
uint16_t inside_to_half(float x);
void inside_sort_part(samp_token_data *data, size_t n, size_t k, int depth); /* by logit; the k best in order */

#endif /* INSIDE_H */
