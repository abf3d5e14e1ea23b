/* ================================================================================================== >>switches
   The compiler's abilities, and the sizes that host and device agree on. The room reads _OPENMP, SAMP_GPU_LIST and the
   macros of the tests. It defines SAMPI_OFFLOAD (1: kernels run on a device), the macros that kernels are written
   with, and constants. Only gcc offloads here, and clang in a test (SAMPI_OFFLOAD_CLANG). Without offloading the same
   functions are compiled for the host alone: SAMPI_LANES is then a plain loop, and the macros that address the
   device's compiler are empty. With clang SAMPI_LANES is a plain loop too, because clang begins a reduction of a
   maximum of floats at -FLT_MAX instead of -infinity: a row whose tokens are all masked would then have a maximum. */

#if defined(_OPENMP) && defined(__GNUC__) && (!defined(__clang__) || defined(SAMPI_OFFLOAD_CLANG))
#define SAMPI_OFFLOAD 1
#include <omp.h>
#else
#define SAMPI_OFFLOAD 0
#endif

/* A team of OpenMP is a thread block of one warp. All lanes execute code outside of SAMPI_LANES loops alike; a
   SAMPI_LANES loop runs one iteration per lane. It has exactly 32 iterations. Lanes exchange values by reductions, and
   through memory from one loop to the next. (gcc puts the barrier that this needs after each loop.) Code between two
   loops must not depend on which lane runs it, but for the words that it reads and stores: a count that each lane has
   for itself goes through a reduction, a vote or a shuffle (gpu/ptx.h). */
#define SAMPI_WARP  32
#define SAMPI_LANES for (int lane = 0; lane < SAMPI_WARP; lane++)
#if SAMPI_OFFLOAD
#define SAMPI_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define SAMPI_SIMD(...)
#define SAMPI_IN_TEAMS(device_, n_teams_) \
    SAMPI_PRAGMA(omp target device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(n_teams_) thread_limit(1))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1) thread_limit(1))
#else
#define SAMPI_SIMD(...) SAMPI_PRAGMA(omp simd __VA_ARGS__)
#define SAMPI_IN_TEAMS(device_, n_teams_) \
    SAMPI_PRAGMA(omp target thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(n_teams_))
#define SAMPI_IN_ONE_TEAM(device_, a, b) \
    SAMPI_PRAGMA(omp target is_device_ptr(a, b) thread_limit(1) device(device_)) \
    SAMPI_PRAGMA(omp teams num_teams(1))
#endif
#define SAMPI_UNROLL(n) SAMPI_PRAGMA(GCC unroll n)
/* Makes the compiler read a whole array before it uses the first element. Otherwise gcc puts a read behind a branch if
   its value is used on one side of the branch only, and such a read waits for the one before it. */
#define SAMPI_AT_ONCE(n, x) SAMPI_UNROLL(n) for (int i_ = 0; i_ < (n); i_++) __asm__ volatile("" : "+r"((x)[i_]))
#else
#define SAMPI_SIMD(...)
#define SAMPI_UNROLL(n)
#define SAMPI_AT_ONCE(n, x)
#endif

/* A function that the compiler neither inlines nor copies for calls with constants. What one warp does alone takes
   mostly the time in which its instructions are fetched, and the second call finds them in a cache. */
#if SAMPI_GNU && !defined(__clang__)
#define SAMPI_UNCLONED __attribute__((noinline, noclone))
#else
#define SAMPI_UNCLONED SAMPI_CALLED
#endif

#ifndef SAMPI_TEAMS
#define SAMPI_TEAMS 1024 /* most teams of a launch; more cost libgomp an allocation per launch */
#endif
/* Numbers of teams that a launch may have, beside SAMPI_TEAMS: one per multiprocessor, for one row; two, for few. */
#define SAMPI_ROWS_FEW  8
#define SAMPI_TEAMS_ONE (SAMPI_TEAMS < 128 ? SAMPI_TEAMS : 128)
#define SAMPI_TEAMS_FEW (SAMPI_TEAMS < 264 ? SAMPI_TEAMS : 264)
#define SAMPI_GROUP   1024                                            /* elements: 32 of each lane, its "cell" */
#define SAMPI_STEPS   24                                              /* most samplers of a chain */
#define SAMPI_RULES   1024                                            /* most changed logits of a row */
#define SAMPI_BUCKETS 1024                                            /* buckets of a histogram of a row */
#define SAMPI_GROUPS_MANY 3 /* from so many groups on a team sums a histogram in its own memory */
#define SAMPI_FINE    512                                             /* buckets of a part of a row */
#define SAMPI_HEAD    (SAMP_GPU_LIST < 512 ? SAMP_GPU_LIST / 2 : 256) /* tokens of the list made with sums */
#define SAMPI_WIDE    (SAMP_GPU_LIST > SAMPI_GROUP ? SAMP_GPU_LIST : SAMPI_GROUP)
SAMPI_STATIC_ASSERT(SAMP_GPU_LIST >= 32 && (SAMP_GPU_LIST & (SAMP_GPU_LIST - 1)) == 0, "SAMP_GPU_LIST: a power of 2");
