/* binding.h - all parts of the library, and calls whose structs would have pointers to Go's memory. */
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPLING_PEERS
#include <stdlib.h>
#include "sampling.h"

static inline samp_logits go_logits(const void *data, size_t n_rows, size_t n_vocab, samp_dtype dtype, int32_t n_threads, const uint32_t *mask)
{
    samp_logits logits = { 0 };
    logits.data = data;
    logits.dtype = dtype;
    logits.n_rows = n_rows;
    logits.n_vocab = logits.stride = n_vocab;
    logits.mask = mask;
    logits.mask_stride = (n_vocab + 31) / 32;
    logits.n_threads = n_threads;
    return logits;
}

static inline int go_batch(samp_sampler **rows, const void *data, size_t n_rows, size_t n_vocab, samp_dtype dtype, int32_t n_threads,
                           const uint32_t *mask, samp_token *out)
{
    samp_logits logits = go_logits(data, n_rows, n_vocab, dtype, n_threads, mask);
    return samp_sample_batch(rows, &logits, out);
}

static inline int go_beams_step(samp_beams *beams, samp_sampler **rows, const void *data, size_t n_rows, size_t n_vocab, samp_dtype dtype,
                                samp_token *tokens, int32_t *parents)
{
    samp_logits logits = go_logits(data, n_rows, n_vocab, dtype, 0, NULL);
    return samp_beams_step(beams, rows, &logits, tokens, parents);
}

/* Found text i -> its length; tokens [n] are written if there are any. */
static inline size_t go_beams_found(const samp_beams *beams, int32_t i, samp_token *out, size_t size, double *score)
{
    const samp_token *tokens = NULL;
    size_t n = 0;
    samp_beams_found(beams, i, &tokens, &n, score);
    for (size_t k = 0; k < n && k < size; k++) out[k] = tokens[k];
    return n;
}

static inline samp_beams *go_beams_init(samp_beam_params params, const samp_token *ends, int *status, const char **field)
{
    params.ends = ends;
    *status = samp_beams_check_params(&params, field);
    return *status < 0 ? NULL : samp_beams_init(&params, status);
}

static inline int go_unmask(samp_unmask_params params, samp_sampler **rows, const void *data, size_t n_rows, size_t n_vocab, samp_dtype dtype,
                            samp_token *out)
{
    samp_logits logits = go_logits(data, n_rows, n_vocab, dtype, 0, NULL);
    return samp_unmask(&params, rows, &logits, out);
}

/* A draw with its log-probabilities: top [2 n_top], id_logprobs [2 n_ids], those of the model first. */
static inline samp_token go_told(samp_sampler *chain, const float *row, size_t n_vocab, samp_logprob *top, int32_t n_top, const samp_token *ids,
                                 int32_t n_ids, float *id_logprobs, samp_token *tokens, float *logprobs, size_t capacity, samp_logprob *chosen,
                                 int32_t *n_found, float *entropy, size_t *n_support, double *mass)
{
    samp_support support = { tokens, logprobs, capacity, 0, 0 };
    samp_logprobs told = { 0 };
    samp_logprob_set *set[2] = { &told.raw, &told.processed };
    samp_logits logits = go_logits(row, 1, n_vocab, SAMP_F32, 1, NULL);
    samp_token token = SAMP_E_EMPTY;
    for (int i = 0; i < 2; i++) {
        set[i]->top_logprobs = top + i * n_top;
        set[i]->n_top = n_top;
        set[i]->ids = ids;
        set[i]->n_ids = n_ids;
        set[i]->id_logprobs = id_logprobs + i * n_ids;
    }
    told.support = n_support ? &support : NULL;
    logits.logprobs = &told;
    int status = samp_sample_batch(&chain, &logits, &token);
    if (status < 0) return status;
    for (int i = 0; i < 2; i++) {
        chosen[i] = set[i]->chosen;
        n_found[i] = set[i]->n_top_found;
        entropy[i] = set[i]->entropy;
    }
    if (n_support) {
        *n_support = support.n;
        *mass = support.mass;
    }
    return token;
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
