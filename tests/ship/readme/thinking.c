/* src/constraints/README, thinking: greedy would think of the last byte for ever. */
#include "readme.h"

int main(void)
{
    enum { THINK = 1, ANSWER = 2 };
    const samp_token think[] = { THINK }, answer[] = { ANSWER }, should_answer[] = { 'N', 'o', 'w', '\n' };
    const size_t n_should_answer = 4;
    float logits[BYTES];
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = samp_chain_init();
    rising(logits);
#include "thinking.h"
    samp_chain_add(chain, greedy());
    samp_accept(chain, THINK);
    for (int i = 0; i < 1600; i++) require(samp_sample(chain, logits, BYTES) == BYTES - 1);
    samp_accept(chain, '\n');
    for (int i = 0; i < 4; i++) require(samp_sample(chain, logits, BYTES) == should_answer[i]);
    for (int i = 0; i < 2050 - 1605; i++) require(samp_sample(chain, logits, BYTES) == BYTES - 1);
    require(samp_sample(chain, logits, BYTES) == ANSWER);
    samp_free(chain);
    return 0;
}
