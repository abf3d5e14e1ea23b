/* README, requests of other programs: vLLM's fields become two chains with seeds of their own. */
#define SAMPLING_PEERS
#include "readme.h"

int main(void)
{
    enum { n_samples = 2, n_prompt = 2 };
    const char *json =
        "{\"model\": \"m\", \"top_k\": 1, \"repetition_penalty\": 1000.0, \"seed\": 7, \"guided_json\": {}}";
    const char *const handled[] = { "guided_json", NULL };
    const samp_token prompt[n_prompt] = { 255, 254 };
    const uint64_t a_random_number = 4;
    samp_sampler *chains[n_samples];
    float logits[BYTES];
    int status;
#include "peers.h"
    require(status == SAMP_OK && request.seeded && request.with_prompt);
    rising(logits);
    for (int i = 0; i < n_samples; i++) {
        require(samp_get_seed(chains[i]) == samp_child_seed(7, (uint64_t)i));
        require(samp_sample(chains[i], logits, BYTES - 1) == 253); /* the prompt's are a thousandth of themselves */
        samp_free(chains[i]);
    }
    samp_settings_free(settings);
    return 0;
}
