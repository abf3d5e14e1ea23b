/* pieces.c - the bytes of each token of a tokenizer.json or a GGUF file, a token a line in hexadecimal digits; the ends on stderr.
   vocab.sh compares them with what pieces.mjs makes of the same file. */
#define SAMPLING_VOCAB
#include "sampling.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    samp_grammar_error e;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    fseek(file, 0, SEEK_END);
    const size_t n = (size_t)ftell(file);
    char *bytes = malloc(n + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, n, file) != n) return 2;
    fclose(file);
    const int is_gguf = n > 4 && memcmp(bytes, "GGUF", 4) == 0;
    samp_vocab *v = is_gguf ? samp_vocab_from_gguf(bytes, n, &e) : samp_vocab_from_tokenizer_json(bytes, n, &e);
    free(bytes);
    if (!v) {
        fprintf(stderr, "%s:%zu:%zu: %s\n", argv[1], e.line, e.column, e.message);
        return 1;
    }
    for (samp_token t = 0; t < v->n_vocab; t++) {
        size_t length;
        const char *piece = v->token_bytes(v, t, &length);
        for (size_t i = 0; i < length; i++) printf("%02x", (unsigned char)piece[i]);
        printf("\n");
    }
    fprintf(stderr, "%d tokens, eos %d, eot %d\n", (int)v->n_vocab, (int)v->eos, (int)v->eot);
    samp_vocab_free(v);
    return 0;
}
