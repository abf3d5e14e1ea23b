/* README, GPU: without a device the same call samples on the CPU. */
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
#include "readme.h"

int main(void)
{
    enum { n_vocab = 4 };
    float data[n_vocab] = { 0.0f, 1.0f, 3.0f, 2.0f };
    samp_gpu_config config = { 0, 1, n_vocab, SAMP_F32, false, false, 0 };
    samp_logits batch = { .data = data, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = n_vocab };
    samp_sampler *rows[1] = { greedy() };
    samp_token tokens[1] = { -1 };
    int status;
#include "gpu.h"
    require(status == SAMP_OK && tokens[0] == 2);
    samp_gpu_free(gpu);
    samp_free(rows[0]);
    return 0;
}
