/* binding.h - all parts of the library, and calls whose structs would have pointers to Go's memory. */
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#include <stdlib.h>
#include "sampling.h"

static inline int go_batch(samp_sampler **rows, size_t n_rows, size_t n_vocab, const void *data, samp_dtype dtype, const uint32_t *mask, int32_t n_threads,
                           samp_token *out)
{
    samp_logits logits = { 0 };
    logits.data = data;
    logits.dtype = dtype;
    logits.n_rows = n_rows;
    logits.n_vocab = logits.stride = n_vocab;
    logits.mask = mask;
    logits.mask_stride = (n_vocab + 31) / 32;
    logits.n_threads = n_threads;
    return samp_sample_batch(rows, &logits, out);
}

static inline int32_t go_verify(samp_sampler *chain, const float *rows, size_t n_vocab, const samp_token *tokens, size_t n, const float *probs,
                                samp_token *out)
{
    samp_draft draft = { 0 };
    draft.n = n;
    draft.tokens = tokens;
    draft.probs = probs;
    return samp_verify(chain, rows, n_vocab, &draft, probs ? SAMP_VERIFY_RATIO : SAMP_VERIFY_EXACT, out);
}
