/* README, its blocks one behind the other in one program: the quick start (readme.sh leaves out its last lines, and makes
   main a function of its own), the grammar on its chain, and a batch. */
#include "readme.h"

#define main quick_start
#include "quick.part"
#undef main
    const char *text = "{\"type\": \"integer\"}";
    samp_grammar_error error;
    samp_vocab vocab = bytes_vocab();
#include "grammar.h"
    float row[BYTES];
    rising(row);
    for (int i = 0; i < 5; i++) {
        samp_token token = samp_sample(chain, row, BYTES);
        require((token >= '0' && token <= '9') || token == '-' || token == BYTES_END);
        if (token == BYTES_END) break;
    }
    enum { n_rows = 2, n_vocab = 4 };
    uint16_t data[n_rows * n_vocab] = { 0x3f80, 0x4000, 0, 0, 0, 0, 0, 0x4040 };
    samp_sampler *rows[n_rows] = { NULL };
    samp_params requests[n_rows] = { greedy_params(), greedy_params() };
    int status[n_rows];
    samp_token tokens[n_rows];
#include "batch.h"
    require(tokens[0] == 1 && tokens[1] == 3);
    for (int i = 0; i < n_rows; i++) samp_free(rows[i]);
    samp_free(chain);
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}

int main(void) { return quick_start(); }
