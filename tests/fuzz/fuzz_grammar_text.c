/* fuzz_grammar_text.c - a fuzzer's bytes as the text of a grammar. The first one says of which kind: r a regular
   expression; c, o or s a JSON schema (compact, ordered, spaced); t a structural tag; any other GBNF, of which it is a part. A grammar that
   can be read is walked through (fuzz_grammar.h), with numbers that follow from the text. */
#include "fuzz_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[4097];
    if (size > sizeof text - 1) size = sizeof text - 1;
    memcpy(text, data, size);
    text[size] = 0;
    source rng = source_seed(inside_checksum(text, size));
    switch (*text) {
        case 'r': fuzz_text(SAMP_GRAMMAR_REGEX, text + 1, NULL, &rng, 8); break;
        case 'c': fuzz_text(SAMP_GRAMMAR_JSON_SCHEMA, text + 1, "compact", &rng, 8); break;
        case 'o': fuzz_text(SAMP_GRAMMAR_JSON_SCHEMA, text + 1, "ordered", &rng, 8); break;
        case 's': fuzz_text(SAMP_GRAMMAR_JSON_SCHEMA, text + 1, "spaced", &rng, 8); break;
        case 't': fuzz_text(SAMP_GRAMMAR_STRUCTURAL_TAG, text + 1, NULL, &rng, 8); break;
        default: fuzz_text(SAMP_GRAMMAR_GBNF, text, NULL, &rng, 8); break;
    }
    return 0;
}
