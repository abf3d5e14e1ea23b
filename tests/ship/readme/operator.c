/* src/operator/README, the operator: the second of two equal tokens at a random number above a half. */
#include "readme.h"

int main(void)
{
    enum { n_vocab = 3 };
    const uint16_t logits[n_vocab] = { 0x4000, 0, 0x4000 }; /* 2 0 2 */
    const float random = 0.6f, topp = 0.9f, temperature = 1.0f;
    const int32_t topk = n_vocab;
    unsigned char workspace[1 << 17];
    int32_t index = -1;
    int status;
#include "operator.h"
    require(size > 0 && size <= sizeof workspace && status == SAMP_OK && index == 2);
    samp_random_sample_free(op);
    return 0;
}
