/* src/grammar/README, grammar: masks made ahead. */
#include <time.h>

#include "readme.h"

static double now_ms(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

int main(void)
{
    samp_vocab vocab = bytes_vocab();
    samp_vocab_index *index = samp_vocab_index_init(&vocab, NULL);
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\": \"null\"}", NULL, NULL);
    require(samp_grammar_warm(index, grammar, 1) > 0);
#include "warm.h"
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}
