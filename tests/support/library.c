/* library.c - the implementation that test programs are linked with, compiled once for each kind of build: with all
   optional parts, on the watched heap (heap.h), with a clock that a test may set (inside.h). */
#define HEAP_HERE
#include "heap.h"
#define SAMP_CLOCK() (inside_clock ? inside_clock() : 0)
#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_PEERS
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_VOCAB
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPI_LONG_LIST 3
#include "inside.h"
#define SAMPI_COUNT_STEPS(n) (inside_steps += (size_t)(n))
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

uint64_t (*inside_clock)(void);
_Thread_local size_t inside_steps;

float inside_mu(const samp_sampler *s) { return ((const sampi_sampler *)s)->now.mu; }
bool inside_drafts(const samp_sampler *s) { return ((const sampi_sampler *)s)->draft != NULL; }
float inside_adaptive_sum(const samp_sampler *s) { return ((const sampi_sampler *)s)->u.adaptive.sum; }
samp_token inside_pending(const samp_sampler *s) { return ((const sampi_sampler *)s)->now.pending; }
bool inside_stale(const samp_sampler *s)
{
    const sampi_sampler *last = (const sampi_sampler *)s;
    return last->rng == SAMP_RNG_MT19937 && !(sampi_traits_of(last->kind)->flags & SAMPI_SELECTS);
}
void inside_ngram_at(struct samp_ngram *ngram, uint64_t n)
{
    memset(ngram->token, -1, ngram->size * sizeof *ngram->token);
    ngram->n = ngram->most = n;
}
int inside_allows(const samp_sampler *grammar, samp_token token)
{
    return sampi_matcher_allows((sampi_matcher *)grammar->ctx, token);
}

bool inside_peer_field(int peer, size_t i, const char **name)
{
    const sampi_peer_field *field = &SAMPI_PEERS[peer].fields[i];
    *name = field->name;
    return field->name || field->param;
}
const char *inside_peer_skipped(int peer) { return SAMPI_PEERS[peer].skipped; }
const char *inside_peer_refused(int peer) { return SAMPI_PEERS[peer].refused; }

void inside_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    sampi_philox(counter, key, out);
}
uint64_t inside_weight(float max, float logit) { return sampi_weight(max, logit); }
double inside_ln(double x) { return sampi_ln(x); }
double inside_exp(double x) { return sampi_exp2(x * SAMPI_LOG2E); }
double inside_power(double x, double y) { return sampi_pow(x, y); }
uint64_t inside_checksum(const void *bytes, size_t n) { return sampi_checksum(bytes, n); }
uint64_t inside_index_checksum(const void *index, size_t n)
{
    return sampi_checksum((const uint32_t *)index + SAMPI_INDEX_HEAD, n - 4 * SAMPI_INDEX_HEAD);
}
float inside_from_half(uint16_t h) { return sampi_f16_to_f32(h); }
float inside_from_brain(uint16_t h) { return sampi_bf16_to_f32(h); }
uint16_t inside_to_half(float x) { return sampi_f32_to_f16(x); }

void inside_sort_part(samp_token_data *data, size_t n, size_t k, int depth)
{
    sampi_sort_part(&SAMPI_BY_LOGIT, data, n, k, depth);
}
