/* inside.h - what tests and fuzzers that are linked with the library (library.c) ask of its inside. Those that live in there include
   the implementation themselves: test_math and test_rng test internal functions one by one, test_fast, test_batch,
   test_state and test_gpu compare samplers' records and drive kernels (case.h), and fast and batch are what the broken
   kernels of tests/tools/broken/kernels.txt are built into. */
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
bool inside_stale(const samp_sampler *s); /* under MT19937, and no sampler that selects */
int inside_allows(const samp_sampler *grammar, samp_token token); /* may it come next? true, false or SAMP_E_FULL */

/* The fields of a samp_peer (samp_settings_from): is there a number i, and its name, NULL for those without; and what is skipped,
   with ; between. */
bool inside_peer_field(int peer, size_t i, const char **name);
const char *inside_peer_skipped(int peer);
const char *inside_peer_refused(int peer);

/* The empty text goes on as if it had n tokens before, which nothing finds. */
void inside_ngram_at(struct samp_ngram *ngram, uint64_t n);

/* Arithmetic. */
void inside_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint64_t inside_weight(float max, float logit);
double inside_ln(double x), inside_exp(double x), inside_power(double x, double y);
uint64_t inside_checksum(const void *bytes, size_t n);
uint64_t inside_index_checksum(const void *index, size_t n); /* of a saved vocabulary index, which its head holds */
float inside_from_half(uint16_t h);
float inside_from_brain(uint16_t h);
uint16_t inside_to_half(float x);
void inside_sort_part(samp_token_data *data, size_t n, size_t k, int depth); /* by logit; the k best in order */

#endif /* INSIDE_H */
