/* src/life/README, saved states: another chain goes on with the same tokens. */
#include "readme.h"

int main(void)
{
    float logits[5] = { 1.0f, 3.0f, 2.0f, -INFINITY, 0.5f };
    samp_params params = samp_default_params();
    params.penalty_repeat = 1.3f;
    samp_sampler *chain = samp_chain_from_params(&params, NULL),
                 *same_settings = samp_chain_from_params(&params, NULL);
    unsigned char bytes[4096];
    for (int i = 0; i < 9; i++) samp_sample(chain, logits, 5);
#include "state.h"
    require(size > 0 && size <= sizeof bytes && status == SAMP_OK);
    for (int i = 0; i < 9; i++) require(samp_sample(chain, logits, 5) == samp_sample(same_settings, logits, 5));
    samp_free(chain);
    samp_free(same_settings);
    return 0;
}
