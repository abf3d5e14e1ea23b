/* ---- the instruction sets ----
   Compiles the vector kernels, once for each instruction set of this target: the header includes itself with SAMPI_W,
   the number of lanes, and then reads only these files of kernels/: vectors.h, the one for the instruction set
   (avx512.h to generic.h), shared.h, passes.h and llama_cpp/passes.h. This file begins with the macros that they
   use. */

#define SAMPI_OP        SAMPI_INLINE SAMPI_T
#define SAMPI_UNROLL_4  _Pragma("GCC unroll 4")
#define SAMPI_UNROLL_8  _Pragma("GCC unroll 8")
#define SAMPI_UNROLL_10 _Pragma("GCC unroll 10")
#if defined(__clang__)
#define SAMPI_UNROLL_ALL         _Pragma("clang loop unroll(full)") /* clang would not unroll two steps of four */
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SAMPI_UNROLL_ALL         SAMPI_UNROLL_4
#define SAMPI_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, SAMPI_VECTOR(V(i), __VA_ARGS__))
#endif
/* for each of a step's four vectors */
#define SAMPI_FOUR              SAMPI_UNROLL_4 for (int k = 0; k < 4; k++)
#define SAMPI_UPTO              SAMPI_UNROLL_ALL for (int k = 0; k < count; k++) /* count is a constant, at most 4 */
#define SAMPI_HALF              SAMPI_UNROLL_8 for (int k = 0; k < SAMPI_W / 2; k++) /* for each lane of V(d), V(q) */
#define SAMPI_FUSED             (SAMPI_W > 4 || SAMPI_NEON)
#define SAMPI_VECTOR(type, ...) (__extension__(type){ __VA_ARGS__ })
static const int32_t SAMPI_STEP[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

#ifdef __has_include
#if !__has_include(SAMP_SELF_INCLUDE)
#error "sampling.h: this file has another name: define SAMP_SELF_INCLUDE as that name, with its quotes"
#endif
#endif
#if SAMPI_SSE2 || SAMPI_NEON || SAMPI_WASM || SAMPI_GENERIC
#define SAMPI_W 4
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif
#if SAMPI_AVX2
#define SAMPI_W 8
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif
#if SAMPI_AVX512
#define SAMPI_W 16
#include SAMP_SELF_INCLUDE
#undef SAMPI_W
#endif
