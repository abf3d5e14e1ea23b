/* src/stop/README, text: the model says "the answer", then a stop, and is cut there. */
#include "readme.h"

int main(void)
{
    static const char said[] = "42 \xe2\x82\xac</answer>, and more";
    enum { n_vocab = BYTES, n_max = sizeof said };
    samp_token forced[n_max];
    float logits[BYTES];
    int status, n_logprobs = -1;
    int32_t last;
    size_t n;
    const char *out;
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = samp_chain_init();
    for (int i = 0; i < n_max; i++) forced[i] = (unsigned char)said[i];
    samp_chain_add(chain, samp_init_forced_prefix(forced, n_max, 0));
    samp_chain_add(chain, samp_init_greedy());
    rising(logits);
    FILE *written = tmpfile();
    require(written);
#undef stdout
#define stdout written
#include "text.h"
    require(status == SAMP_OK && state == SAMP_TEXT_STOPPED && samp_text_stop(text) == 0);
    require(n_logprobs == 6 && ftell(written) == 6);
    fclose(written);
    samp_text_free(text);
    samp_free(chain);
    return 0;
}
