/* slices.c - the block about MPI compiles. Its functions and its statements stand together there, so all of it is taken
   into a function, whose own functions are gcc's extension and must not be static. */
#define SAMPLING_SHARDS
#include "sampling.h"
#include <mpi.h>

void step(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, MPI_Op op, samp_sampler *const *chains,
          samp_logits slice, samp_token *tokens);
void step(size_t n_vocab, size_t first, size_t length, uint32_t n_ranks, MPI_Op op, samp_sampler *const *chains,
          samp_logits slice, samp_token *tokens)
{
#define static auto
#include "slices.mpi"
#undef static
}
