/* readme.h - what the README's blocks take for granted: each NAME.c here is a program round the block NAME.h. */
#ifndef README_H
#define README_H

#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#define SAMPLING_DRAFTS
#define SAMPLING_STOP
#include "sampling.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define require(good) \
    do { \
        if (!(good)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #good); \
            exit(1); \
        } \
    } while (0)

static inline samp_params greedy_params(void)
{
    samp_params params = samp_default_params();
    params.temp = 0.0f;
    return params;
}

static inline samp_sampler *greedy(void)
{
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, samp_init_greedy());
    return chain;
}

/* A vocabulary with a token a byte, and 256, the end. */
enum { BYTES = 257, BYTES_END = 256 };

static inline const char *byte_of(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char byte[256];
    (void)vocab;
    byte[token & 255] = (char)token;
    *n = token < BYTES_END;
    return &byte[token & 255];
}

static const samp_token byte_end[] = { BYTES_END };
static inline samp_vocab bytes_vocab(void)
{
    samp_vocab vocab = { BYTES, byte_of, NULL, NULL, byte_end, 1, BYTES_END, -1 };
    return vocab;
}

/* Each byte is likelier than the one before. -> logits [BYTES] */
static inline void rising(float *logits)
{
    for (int i = 0; i < BYTES; i++) logits[i] = (float)i;
}

#endif
