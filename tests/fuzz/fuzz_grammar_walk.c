/* fuzz_grammar_walk.c - a fuzzer's bytes as numbers: the first say of which kind a grammar is and what stands in it
   (random_grammar.h), the others which tokens are tried and taken. */
#include "fuzz_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static maker m;
    source s = source_bytes(data, size < 600 ? size : 600);
    m.text[0] = 0;
    switch (below(&s, 4)) {
        case 0: fuzz_text(SAMP_GRAMMAR_REGEX, random_regex(&m, s), NULL, &m.rng, 16); break;
        case 1: fuzz_text(SAMP_GRAMMAR_JSON_SCHEMA, random_schema(&m, s), NULL, &m.rng, 16); break;
        default: fuzz_text(SAMP_GRAMMAR_GBNF, random_grammar(&m, s), NULL, &m.rng, 16); break;
    }
    return 0;
}
