/* ================================================================================================== >>config
   The version of the library, and the storage class of its public functions. The files in package/ take the version
   from here. */

#define SAMP_VERSION_MAJOR 2
#define SAMP_VERSION_MINOR 0
#define SAMP_VERSION_PATCH 0
#define SAMP_VERSION       (SAMP_VERSION_MAJOR * 10000 + SAMP_VERSION_MINOR * 100 + SAMP_VERSION_PATCH)

#include <math.h> /* INFINITY: a masked logit */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMP_API
#if defined(SAMPLING_STATIC) && (defined(__GNUC__) || defined(__clang__))
#define SAMP_API static __attribute__((unused))
#elif defined(SAMPLING_STATIC)
#define SAMP_API static
#elif defined(__GNUC__) && !defined(_WIN32)
#define SAMP_API extern __attribute__((visibility("default"))) /* exported even under -fvisibility=hidden */
#else
#define SAMP_API extern
#endif
#endif
