/* sampling.c - the library to be linked: all of the header's parts but the one for llama.cpp programs. Who uses an
   optional part defines its macro before including the header, as here. */
#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_SHARDS
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
