/* src/grammar/README, grammar: first in a chain, and llama.cpp's way. */
#include "readme.h"

int main(void)
{
    const char *text = "{\"type\": \"string\", \"pattern\": \"^[a-f]{3}$\"}";
    const size_t n = BYTES;
    float logits[BYTES];
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = samp_chain_init(), *other_chain = greedy(), *other = NULL;
    rising(logits);
#define other_json (other = samp_init_grammar(index, grammar))
#include "either.h"
    samp_chain_add(chain, samp_init_greedy());
    require(error.status == SAMP_OK && token == '"' && samp_sample(chain, logits, n) == '"');
    require(samp_sample(chain, logits, n) == 'f');
    samp_free(chain);
    samp_free(other_chain);
    samp_free(other);
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}
