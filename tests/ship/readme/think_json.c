/* README and src/constraints/README, think_json: greedy would think of one byte for ever. */
#include "readme.h"

/* Says what the chain draws from a row in which each byte of ASCII is likelier than the one before, and the end least
   likely. */
static void say(samp_sampler *chain, char *said, size_t size)
{
    float logits[BYTES];
    size_t n = 0;
    rising(logits);
    for (int i = 127; i < BYTES; i++) logits[i] = -1.0f;
    for (samp_token token; n + 1 < size && (token = samp_sample(chain, logits, BYTES)) != BYTES_END;) {
        require(token >= 0);
        said[n++] = (char)token;
    }
    said[n] = 0;
}

int main(void)
{
    static const char *const text = "{\"type\": \"object\", \"properties\": {\"ok\": {\"type\": \"boolean\"}}, "
                                    "\"required\": [\"ok\"], \"additionalProperties\": false}";
    const samp_token think[] = { '<', 't', '>' }, answer[] = { '<', '/', 't', '>' };
    const size_t n_think = 3, n_answer = 4;
    static char said[4096];
    samp_vocab vocab = bytes_vocab();
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, text, "compact", NULL);
    samp_vocab_index *index = samp_vocab_index_init(&vocab, NULL);
    samp_sampler *chain = samp_chain_init(), *usual = greedy();
#include "think_json.h"
    require(samp_status(chain, NULL) == SAMP_OK);
    say(chain, said, sizeof said); /* 2,000 times the likeliest token, the end of thinking, and JSON */
    for (int i = 0; i < 2000; i++) require(said[i] == '~');
    require(strcmp(said + 2000, "</t>{\"ok\":true}") == 0);
    samp_reset(chain); /* and thinking that ends by itself */
    for (const char *c = "so.</t>"; *c; c++) require(samp_accept(chain, *c) == SAMP_OK);
    say(chain, said, sizeof said);
    require(strcmp(said, "{\"ok\":true}") == 0);
    samp_free(chain);
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}
