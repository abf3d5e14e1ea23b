/* sampling.c - the library to be linked: all of the header's parts but the one for llama.cpp programs. Who uses the
   optional parts defines SAMPLING_KV, SAMPLING_GRAMMAR, SAMPLING_GUMBEL, SAMPLING_PEERS, SAMPLING_SHARDS, SAMPLING_DRAFTS,
   SAMPLING_CONSTRAINTS, SAMPLING_WATERMARK, SAMPLING_STOP and SAMPLING_VOCAB before including the header. */
#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_PEERS
#define SAMPLING_SHARDS
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_VOCAB
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
