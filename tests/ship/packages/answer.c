/* answer.c - answer.py in C, with a library that is linked. */
#define SAMPLING_GRAMMAR
#include "sampling.h"
#include <stdio.h>

int main(void)
{
    enum { N = 96, END = 95 };
    const char *schema = "{\"type\": \"object\", \"properties\": {\"name\": {\"enum\": [\"Ada\", \"Grace\"]}, \"job\": {\"enum\": [\"maths\", \"ships\"]}}, "
                         "\"required\": [\"name\", \"job\"], \"additionalProperties\": false}";
    char bytes[END];
    uint32_t lengths[N] = { 0 };
    for (int i = 0; i < END; i++) {
        bytes[i] = (char)(32 + i);
        lengths[i] = 1;
    }
    samp_token end = END, token;
    samp_vocab *vocab = samp_vocab_init(bytes, lengths, N, &end, 1, END, -1, NULL);
    samp_vocab_index *index = samp_vocab_index_init(vocab, NULL);
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema, "compact", NULL);
    samp_params params = samp_default_params();
    params.seed = 4;
    params.grammar = samp_init_grammar(index, grammar);
    samp_sampler *chain = samp_chain_from_params(&params, NULL);
    for (int n = 0;; n++) {
        float row[N];
        for (int i = 0; i < N; i++) row[i] = (float)((i * 7919 + n * 10007) % 1000) / 250;
        if ((token = samp_sample(chain, row, N)) < 0 || token == END) break;
        putchar(32 + token);
    }
    putchar('\n');
    samp_free(chain);
    samp_grammar_free(grammar);
    samp_vocab_index_free(index);
    samp_vocab_free(vocab);
    return token != END;
}
