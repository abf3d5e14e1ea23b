/* ================================================================================================== >>switches
   What the compiler can do, and the sizes that host and device agree on. _OPENMP, SAMP_GPU_LIST and the macros of the
   tests come in; SAMPI_OFFLOAD, the macros that kernels are written in, and constants go out. The one thing to know:
   only gcc offloads here, and clang in a test (SAMPI_OFFLOAD_CLANG). Without offloading the same functions are compiled
   for the host alone: SAMPI_LANES is then a plain loop, and what speaks to the device's compiler is nothing. With clang
   it is a plain loop too: its reduction begins a maximum of floats at -FLT_MAX instead of -infinity, so that a row
   whose tokens are all masked would have a maximum. */

#if defined(_OPENMP) && defined(__GNUC__) && (!defined(__clang__) || defined(SAMPI_OFFLOAD_CLANG))
#define SAMPI_OFFLOAD 1
#include <omp.h>
#else
#define SAMPI_OFFLOAD 0
#endif

/* A team is one warp: plain code is done once (all lanes do the same), SAMPI_LANES loops run a lane per iteration.
   Exactly 32 iterations; lanes talk through reductions, and through memory from one loop to the next. (Behind each loop
   gcc puts the barrier that this needs.) Code between two loops must not depend on which lane runs it: a count that a
   lane has for itself goes through a reduction. */
#define SAMPI_WARP  32
#define SAMPI_LANES for (int lane = 0; lane < SAMPI_WARP; lane++)
#if SAMPI_OFFLOAD
#define SAMPI_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define SAMPI_SIMD(...)
#define SAMPI_IN_TEAMS(device_) \
    SAMPI_PRAGMA(omp target device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(SAMPI_TEAMS) thread_limit(1))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1) thread_limit(1))
#else
#define SAMPI_SIMD(...) SAMPI_PRAGMA(omp simd __VA_ARGS__)
#define SAMPI_IN_TEAMS(device_) \
    SAMPI_PRAGMA(omp target thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(SAMPI_TEAMS))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1))
#endif
#define SAMPI_UNROLL(n) SAMPI_PRAGMA(GCC unroll n)
/* All of an array is read before the first element is wanted: gcc would put each read behind a branch, if the value is
   used on one side only, and a branch waits for the one before. */
#define SAMPI_AT_ONCE(n, x) SAMPI_UNROLL(n) for (int i_ = 0; i_ < (n); i_++) __asm__ volatile("" : "+r"((x)[i_]))
#else
#define SAMPI_SIMD(...)
#define SAMPI_UNROLL(n)
#define SAMPI_AT_ONCE(n, x)
#endif

#ifndef SAMPI_TEAMS
#define SAMPI_TEAMS 1024 /* more than that cost libgomp an allocation per launch */
#endif
#define SAMPI_GROUP   1024                                            /* elements: 32 of each lane, its "cell" */
#define SAMPI_STEPS   24                                              /* samplers of a row */
#define SAMPI_RULES   1024                                            /* changed logits of a row */
#define SAMPI_FOLD    512                                             /* maxima that a threshold is searched among */
#define SAMPI_BUCKETS 2048                                            /* of a histogram */
#define SAMPI_FINE    (SAMP_GPU_LIST < 1024 ? SAMP_GPU_LIST : 1024)   /* of that of a window */
#define SAMPI_HEAD    (SAMP_GPU_LIST < 512 ? SAMP_GPU_LIST / 2 : 256) /* tokens of a list made in passing */
#define SAMPI_WIDE    (SAMP_GPU_LIST > SAMPI_GROUP ? SAMP_GPU_LIST : SAMPI_GROUP)
SAMPI_STATIC_ASSERT(SAMP_GPU_LIST >= 32 && (SAMP_GPU_LIST & (SAMP_GPU_LIST - 1)) == 0, "SAMP_GPU_LIST: a power of 2");
