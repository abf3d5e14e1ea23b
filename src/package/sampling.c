/* sampling.c - the library to be linked: all of the header's parts but the one for llama.cpp programs. Who uses the
   optional parts defines SAMPLING_KV, SAMPLING_GRAMMAR, SAMPLING_GUMBEL, SAMPLING_PEERS, SAMPLING_SHARDS, SAMPLING_DRAFTS,
   SAMPLING_CONSTRAINTS, SAMPLING_WATERMARK, SAMPLING_STOP, SAMPLING_VOCAB and SAMPLING_SEARCH before including the header. */
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
#define SAMPLING_SEARCH
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

/* -DSAMP_OLD_GLIBC: the oldest versions of libm's functions, so that a library compiled with a new glibc loads with 2.17, as
   the name of a wheel promises (manylinux_2_17). They compute the same. */
#if defined(SAMP_OLD_GLIBC) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
#define OLD(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
#else
#define OLD(name) __asm__(".symver " #name ", " #name "@GLIBC_2.17")
#endif
OLD(exp);
OLD(expf);
OLD(logf);
OLD(log2f);
OLD(pow);
OLD(powf);
#endif

/* The names of before 2.0.0 (api/old_names.h), for programs that look functions up by name. */
#undef samp_settings_new
#undef samp_random_sample_create
#undef samp_random_sample_destroy
SAMP_API samp_settings *samp_settings_new(void);
SAMP_API samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n, int *status);
SAMP_API void samp_random_sample_destroy(samp_random_sample *op);
SAMP_API samp_settings *samp_settings_new(void) { return samp_settings_init(); }
SAMP_API samp_random_sample *samp_random_sample_create(samp_dtype result, samp_dtype probs, size_t n, int *status)
{
    return samp_random_sample_init(result, probs, n, status);
}
SAMP_API void samp_random_sample_destroy(samp_random_sample *op) { samp_random_sample_free(op); }
