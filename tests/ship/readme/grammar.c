/* README, grammar: greedy behind it says the largest text that the schema allows. */
#include "readme.h"

int main(void)
{
    const char *text = "{\"type\": \"string\", \"pattern\": \"^[a-f]{3}$\"}";
    float logits[BYTES];
    char said[16] = "";
    samp_grammar_error error;
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = samp_chain_init();
    rising(logits);
#include "grammar.h"
    samp_chain_add(chain, samp_init_greedy());
    samp_token token = samp_sample(chain, logits, BYTES);
    for (int i = 0; i < 15 && token >= 0 && token < BYTES_END; i++, token = samp_sample(chain, logits, BYTES))
        said[i] = (char)token;
    require(error.status == SAMP_OK && token == BYTES_END && strcmp(said, "\"fff\"") == 0);
    samp_free(chain);
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}
