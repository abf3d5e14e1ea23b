/* tales_pieces.c - the story model's own pieces, as pieces.c prints them: the control tokens have no bytes. */
#define SAMPLING_KV
#include "sampling.h"
#include "bench/demo/tales_model.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    tales_model model;
    if (argc != 2 || tales_load(&model, argv[1])) return 1;
    for (int32_t t = 0; t < model.n_vocab; t++) {
        size_t n;
        const char *piece = tales_piece(&model, t, &n);
        for (size_t i = 0; i < n; i++) printf("%02x", (unsigned char)piece[i]);
        printf("\n");
    }
    tales_free(&model);
    return 0;
}
