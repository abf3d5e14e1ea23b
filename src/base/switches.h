/* ==================================================================================================== >>impl
   What the library asks of the compiler and the machine. This file refuses compiler flags that would change tokens,
   chooses which instruction sets are compiled, and defines the attributes, the memory functions and the atomics that
   all rooms below use. Its macro SAMPI_OPAQUE keeps a product at its rounded value, so that no compiler fuses the
   product with a sum.

   This file uses the public types alone. Everything from here to the end of the file is compiled once, in the file that
   defines SAMPLING_IMPLEMENTATION. Exceptions are kernels/vectors.h and kernels/passes.h: the header includes itself
   once more for each instruction set (kernels/sets.h) to compile them. */
#if defined(SAMPLING_GRAMMAR_DECLARED) || defined(SAMPLING_PEERS_DECLARED) || defined(SAMPLING_VOCAB_DECLARED)
#define SAMPI_READS_JSON 1
#else
#define SAMPI_READS_JSON 0
#endif

/* -Wconversion is the user's choice for the user's code. The library turns it off for itself, up to the end of the
   file. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(SAMP_MALLOC) != defined(SAMP_FREE)
#error "sampling.h: define both SAMP_MALLOC and SAMP_FREE, or neither"
#elif !defined(SAMP_MALLOC)
#include <stdlib.h>
#define SAMP_MALLOC(n) malloc(n)
#define SAMP_FREE(p)   free(p)
#endif

/* These flags are refused, because they let the compiler choose the result of a comparison with NaN, or the order of a
   sum. Similar flags without a predefined macro are undone by a pragma below, or found at run time (sampi_try). */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(_M_FP_FAST)
#error \
    "sampling.h: put SAMPLING_IMPLEMENTATION in a file of its own and add -fno-fast-math for it: tokens would change"
#endif
#if (defined(__FLT_EVAL_METHOD__) && \
     (__FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)) || \
    (defined(_M_IX86_FP) && _M_IX86_FP < 2)
#error "sampling.h: float arithmetic must be done in float (32-bit x86: -msse2 -mfpmath=sse; s390x: -std=gnu11)"
#endif

/* clang has no macros for such flags, but a pragma undoes them. The pragma holds up to the end of the file. */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas" /* some targets have no such pragma and do not need one */
#pragma float_control(precise, on, push)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma float_control(precise, on, push)
#pragma fp_contract(off)
#endif

/* Users may cast llama.cpp's structs to the library's, so the layouts must be equal, with pointers of any size. */
#ifdef __cplusplus
#define SAMPI_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define SAMPI_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif
SAMPI_STATIC_ASSERT(sizeof(float) == 4 && sizeof(double) == 8 && FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53,
                    "IEEE float and double are needed");
SAMPI_STATIC_ASSERT(sizeof 1.0 == sizeof(double), "compile without -fsingle-precision-constant");
SAMPI_STATIC_ASSERT(sizeof(samp_token_data) == 12 && offsetof(samp_token_data, logit) == 4 &&
                        offsetof(samp_token_data, p) == 8,
                    "samp_token_data has llama_token_data's layout");
SAMPI_STATIC_ASSERT(offsetof(samp_token_data_array, size) == sizeof(void *) &&
                        offsetof(samp_token_data_array, selected) == 2 * sizeof(void *) &&
                        offsetof(samp_token_data_array, sorted) == 2 * sizeof(void *) + 8,
                    "samp_token_data_array has llama_token_data_array's layout");

/* SAMPI_GNU is 1 if the compiler has gcc's vector types, attributes and assembler. Other compilers get the scalar
   kernels: cl.exe has all intrinsics that kernels/ uses, but kernels/passes.h adds, compares, shifts, indexes and
   initialises vectors with the operators of C, and cl.exe's __m256 is a union without operators. clang-cl compiles all
   kernels, and cl.exe can link its object file. */
#ifndef SAMPI_GNU
#if defined(__GNUC__) || defined(__clang__)
#define SAMPI_GNU 1
#else
#define SAMPI_GNU 0
#endif
#endif

/* The macros below say which instruction sets are compiled beside the scalar kernels. gcc for 64-bit Windows aligns the
   stack to 16 bytes but stores vectors of 32 bytes as if it were aligned to 32 (some builds of gcc do not, and no macro
   names these builds). So only vectors of 16 bytes are compiled with gcc for 64-bit Windows. clang aligns the stack as
   its vectors need. */
#if !SAMPI_GNU && !defined(SAMP_NO_SIMD)
#define SAMP_NO_SIMD
#endif
#if defined(_WIN32) && !defined(__clang__) && !defined(SAMP_NO_AVX2)
#define SAMP_NO_AVX2
#endif
#if defined(__SSE2__) && !defined(__wasm__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_SSE2)
#define SAMPI_SSE2 1
#else
#define SAMPI_SSE2 0
#endif
#if defined(__x86_64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_AVX2)
#define SAMPI_AVX2 1
#else
#define SAMPI_AVX2 0
#endif
#if SAMPI_AVX2 && !defined(SAMP_NO_AVX512) /* AVX-512's kernels use some functions of AVX2's */
#define SAMPI_AVX512 1
#else
#define SAMPI_AVX512 0
#endif
#if defined(__aarch64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_NEON)
#define SAMPI_NEON 1
#else
#define SAMPI_NEON 0
#endif
#if defined(__wasm_simd128__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_WASM)
#define SAMPI_WASM 1
#else
#define SAMPI_WASM 0
#endif
/* SAMPI_GENERIC is 1 if kernels in the compiler's own vector type are compiled. They are faster than the scalar kernels
   where the machine has vector registers. Under WebAssembly without SIMD they take twice as long, so they are left out
   there. */
#if defined(__wasm__)
#define SAMPI_GENERIC 0
#else
#define SAMPI_GENERIC (SAMPI_GNU && !SAMPI_SSE2 && !SAMPI_NEON && !SAMPI_WASM)
#endif

#if SAMPI_AVX2 || SAMPI_AVX512
#include <cpuid.h>
#include <immintrin.h>
#if defined(__clang__) && defined(_MSC_VER) /* here immintrin.h leaves out sets that no compiler flag names */
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <bmi2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
#if SAMPI_AVX512
#include <avx512fintrin.h>
#include <avx512bwintrin.h>
#include <avx512dqintrin.h>
#include <avx512vlintrin.h>
#endif
#endif
#elif SAMPI_SSE2
#include <emmintrin.h>
#endif
#if SAMPI_NEON
#include <arm_neon.h>
#endif
#if SAMPI_WASM
#include <wasm_simd128.h>
#endif

/* The name of this file, which includes itself to compile the kernels. A user who renames the file defines this macro
   as the new name. */
#ifndef SAMP_SELF_INCLUDE
#define SAMP_SELF_INCLUDE "sampling.h"
#endif

/* SAMPI_INLINE marks a function that is always inlined. Functions inside loops over a row have it: gcc -O2 would call
   them, and on a GPU the call costs more than the function.
   SAMPI_COLD marks a function that is compiled for size: it runs rarely or once for each chain, or its loops are
   kernels.
   SAMPI_CALLED marks a function that is never inlined, because gcc -O2 would copy it into each caller.
   SAMPI_HOT marks a function that is compiled for speed: a loop over a row that only cold functions call. */
#if SAMPI_GNU
#define SAMPI_INLINE static inline __attribute__((always_inline))
#define SAMPI_COLD   __attribute__((cold))
#define SAMPI_CALLED __attribute__((noinline))
#define SAMPI_HOT    __attribute__((hot, noinline))
#else
#define SAMPI_INLINE static inline
#define SAMPI_COLD
#define SAMPI_CALLED
#define SAMPI_HOT
#endif

/* Atomic operations on what all threads share: the pointer to the kernels in use, and counters of type size_t. */
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define SAMPI_LOAD(p)     (const sampi_kernels *)_InterlockedCompareExchangePointer((void *volatile *)(p), NULL, NULL)
#define SAMPI_STORE(p, x) ((void)_InterlockedExchangePointer((void *volatile *)(p), (void *)(uintptr_t)(x)))
#if defined(_WIN64)
#define SAMPI_COUNT(p) ((size_t)_InterlockedIncrement64((volatile long long *)(p)))
#else
#define SAMPI_COUNT(p) ((size_t)_InterlockedIncrement((volatile long *)(p)))
#endif
#else
#define SAMPI_LOAD(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SAMPI_STORE(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)
#define SAMPI_COUNT(p)    __atomic_add_fetch(p, 1, __ATOMIC_RELAXED)
#endif

/* Atomic operations on what the samplers of one grammar share: int32_t (SAMPI_INT_...), size_t (SAMPI_SIZE_...) and
   pointers (SAMPI_PTR_...).
   GET is an acquiring load, PUT a releasing store. ADD and OR acquire and release; ADD returns the old value. CAS
   replaces `old` by `now` and returns whether it did. All threads see SAMPI_PTR_PUT and all CAS in one order. With
   SAMP_NO_THREADS all operations are plain C, for one thread. A test may define the operations itself. */
#if defined(SAMPI_INT_GET)
#elif defined(SAMP_NO_THREADS)
#define SAMPI_INT_GET(p)            (*(p))
#define SAMPI_INT_PUT(p, x)         ((void)(*(p) = (x)))
#define SAMPI_INT_CAS(p, old, now)  (*(p) == (old) && (*(p) = (now), true))
#define SAMPI_INT_ADD(p, x)         ((*(p) += (x)) - (x))
#define SAMPI_INT_OR(p, x)          ((void)(*(p) |= (x)))
#define SAMPI_SIZE_GET(p)           (*(p))
#define SAMPI_SIZE_PUT(p, x)        ((void)(*(p) = (x)))
#define SAMPI_SIZE_CAS(p, old, now) (*(p) == (old) && (*(p) = (now), true))
#define SAMPI_SIZE_ADD(p, x)        ((*(p) += (x)) - (x))
#define SAMPI_PTR_GET(p)            (*(p))
#define SAMPI_PTR_PUT(p, x)         ((void)(*(p) = (x)))
#define SAMPI_PTR_CAS(p, old, now)  (*(p) == (old) && (*(p) = (now), true))
#elif defined(_MSC_VER) && !defined(__clang__)
#define SAMPI_INT_GET(p) ((int32_t)_InterlockedCompareExchange((volatile long *)(p), 0, 0))
#define SAMPI_INT_PUT(p, x) ((void)_InterlockedExchange((volatile long *)(p), (long)(x)))
#define SAMPI_INT_CAS(p, old, now) \
    (_InterlockedCompareExchange((volatile long *)(p), (long)(now), (long)(old)) == (long)(old))
#define SAMPI_INT_ADD(p, x) ((int32_t)_InterlockedExchangeAdd((volatile long *)(p), (long)(x)))
#define SAMPI_INT_OR(p, x)  ((void)_InterlockedOr((volatile long *)(p), (long)(x)))
#if defined(_WIN64)
#define SAMPI_SIZE_GET(p) ((size_t)_InterlockedCompareExchange64((volatile long long *)(p), 0, 0))
#define SAMPI_SIZE_PUT(p, x) ((void)_InterlockedExchange64((volatile long long *)(p), (long long)(x)))
#define SAMPI_SIZE_CAS(p, old, now) \
    (_InterlockedCompareExchange64((volatile long long *)(p), (long long)(now), (long long)(old)) == (long long)(old))
#define SAMPI_SIZE_ADD(p, x) ((size_t)_InterlockedExchangeAdd64((volatile long long *)(p), (long long)(x)))
#else
#define SAMPI_SIZE_GET(p) ((size_t)_InterlockedCompareExchange((volatile long *)(p), 0, 0))
#define SAMPI_SIZE_PUT(p, x) ((void)_InterlockedExchange((volatile long *)(p), (long)(x)))
#define SAMPI_SIZE_CAS(p, old, now) \
    (_InterlockedCompareExchange((volatile long *)(p), (long)(now), (long)(old)) == (long)(old))
#define SAMPI_SIZE_ADD(p, x) ((size_t)_InterlockedExchangeAdd((volatile long *)(p), (long)(x)))
#endif
#define SAMPI_PTR_GET(p) _InterlockedCompareExchangePointer((void *volatile *)(p), NULL, NULL)
#define SAMPI_PTR_PUT(p, x) ((void)_InterlockedExchangePointer((void *volatile *)(p), (void *)(x)))
#define SAMPI_PTR_CAS(p, old, now) \
    (_InterlockedCompareExchangePointer((void *volatile *)(p), (void *)(now), (void *)(old)) == (void *)(old))
#else
#define SAMPI_INT_GET(p)            __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SAMPI_INT_PUT(p, x)         __atomic_store_n(p, x, __ATOMIC_RELEASE)
#define SAMPI_INT_CAS(p, old, now)  __sync_bool_compare_and_swap(p, old, now)
#define SAMPI_INT_ADD(p, x)         __atomic_fetch_add(p, x, __ATOMIC_ACQ_REL)
#define SAMPI_INT_OR(p, x)          ((void)__atomic_fetch_or(p, x, __ATOMIC_ACQ_REL))
#define SAMPI_SIZE_GET(p)           __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define SAMPI_SIZE_PUT(p, x)        __atomic_store_n(p, x, __ATOMIC_RELEASE)
#define SAMPI_SIZE_CAS(p, old, now) __sync_bool_compare_and_swap(p, old, now)
#define SAMPI_SIZE_ADD(p, x)        __atomic_fetch_add(p, x, __ATOMIC_ACQ_REL)
#define SAMPI_PTR_GET(p)            __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define SAMPI_PTR_PUT(p, x)         __atomic_store_n(p, x, __ATOMIC_SEQ_CST)
#define SAMPI_PTR_CAS(p, old, now)  __sync_bool_compare_and_swap(p, old, now)
#endif

/* Counts steps for a test, which defines it. It is in loops whose number of steps must not grow faster than their
   input. */
#ifndef SAMPI_COUNT_STEPS
#define SAMPI_COUNT_STEPS(n) ((void)0)
#endif

/* SAMPI_OPAQUE(x) hides from the compiler how x was computed. x is a rounded product, and the compiler must not fuse it
   with the sum that follows, whatever -ffp-contract says. */
#if !SAMPI_GNU
#define SAMPI_OPAQUE(x) (*(volatile char *)&(x) = *(volatile char *)&(x)) /* a volatile copy, so x may have changed */
#elif defined(__x86_64__) || defined(__i386__)
#define SAMPI_OPAQUE(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define SAMPI_OPAQUE(x) __asm__("" : "+w"(x))
#elif defined(__wasm__)
#define SAMPI_OPAQUE(x) ((void)(x)) /* WebAssembly has no fma */
#else
#define SAMPI_OPAQUE(x) __asm__("" : "+m"(x))
#endif

/* SAMPI_OPAQUE_SCALAR(x) does what SAMPI_OPAQUE does, for scalars in functions that are also compiled for a GPU, where
   every register has the constraint "r". */
#if defined(SAMPLING_GPU_H) && defined(_OPENMP)
#define SAMPI_OPAQUE_SCALAR(x) __asm__("" : "+r"(x))
#else
#define SAMPI_OPAQUE_SCALAR(x) SAMPI_OPAQUE(x)
#endif

/* Return the rounded product. Each product that is added to something goes through one of these two functions. */
static float sampi_roundf(float product)
{
    SAMPI_OPAQUE_SCALAR(product);
    return product;
}
static double sampi_round(double product)
{
    SAMPI_OPAQUE_SCALAR(product);
    return product;
}

/* SAMPI_BIG_ENDIAN is 1 on a big-endian machine. Stored bytes are always little-endian. */
#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define SAMPI_BIG_ENDIAN 1
#else
#define SAMPI_BIG_ENDIAN 0
#endif

/* sampi_bits returns the bits of a double as an integer, and sampi_from_bits the double that has these bits. Weights
   become integers with the first, and powers of two become doubles with the second. */
static uint64_t sampi_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static double sampi_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}
/* Returns |x|, also of an infinity. It does not call fabs, because clang's -fno-honor-infinities affects calls in spite
   of the pragma. */
static double sampi_abs(double x) { return sampi_from_bits(sampi_bits(x) & ~((uint64_t)1 << 63)); }
