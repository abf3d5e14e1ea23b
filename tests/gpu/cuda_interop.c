/* cuda_interop.c - the half of cuda_interop that gcc compiles, with its offloading compiler. */
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"

int sample_on_device(const float *device_logits, int n_rows, int n_vocab, int *tokens);
int sample_on_cpu(const float *logits, int n_rows, int n_vocab, int *tokens);

enum { MOST = 16 };

static int sample(samp_gpu *gpu, const float *data, int n_rows, int n_vocab, int *tokens)
{
    samp_sampler *chains[MOST];
    samp_logits l;
    memset(&l, 0, sizeof l);
    l.data = data;
    l.n_rows = (size_t)n_rows;
    l.n_vocab = (size_t)n_vocab;
    for (int r = 0; r < n_rows && r < MOST; r++) {
        samp_params params = samp_default_params();
        params.seed = (uint64_t)r;
        chains[r] = samp_chain_from_params(&params, NULL);
    }
    int status = gpu ? samp_gpu_sample_batch(gpu, chains, &l, tokens) : samp_sample_batch(chains, &l, tokens);
    for (int r = 0; r < n_rows && r < MOST; r++) samp_free(chains[r]);
    return status;
}

int sample_on_device(const float *device_logits, int n_rows, int n_vocab, int *tokens)
{
    samp_gpu_config config = { 0, MOST, (size_t)n_vocab, SAMP_F32, true, false, 0, false };
    int status;
    samp_gpu *gpu = samp_gpu_available() ? samp_gpu_init(&config, &status) : NULL;
    if (!gpu) return SAMP_E_DEVICE;
    status = sample(gpu, device_logits, n_rows, n_vocab, tokens);
    samp_gpu_free(gpu);
    return status;
}

int sample_on_cpu(const float *logits, int n_rows, int n_vocab, int *tokens)
{
    return sample(NULL, logits, n_rows, n_vocab, tokens);
}
