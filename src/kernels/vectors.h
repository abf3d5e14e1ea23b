/* ================================================================================================= >>vectors
   The operations on vectors of SAMPI_W floats of which all kernels consist (kernels/passes.h). The list below defines
   each operation. This file has those that are the same in every set; the file of an instruction set (such as
   kernels/avx2.h) and kernels/shared.h have the others. All these files are compiled once for each instruction set: the
   header includes itself with SAMPI_W set (kernels/sets.h), and V(name) is then for example sampi_name_avx512. At most
   three sets are compiled: one with four lanes, one with eight, one with 16.

   Types: V(f) floats and V(i) unsigned 32-bit integers, SAMPI_W of each; V(d) doubles and V(q) unsigned 64-bit
   integers, half as many; V(m) the result of a comparison, for each of SAMPI_W lanes; V(t) a count of lanes. + - * / &
   | ~ << >> are the compiler's. A new set needs a switch in base/switches.h, its name here, a file with its operations,
   and a line in SAMPI_KERNEL_TABLE (kernels/dispatch.h).

     all alli alld allq   the same in every lane            load loadi loadd loadq store storeq   at any alignment
     max min maxd         fma fmad: a * b + c, in one step if SAMPI_FUSED, otherwise product, then sum
     ge lt_and unord      a >= b; m and a < b; a or b is a NaN
     any                  is m true in any lane             keep select   in each lane v or 0; a or b
     sub_where            sum - v where m is true           add_where     sum + v where m is true, for one half
     loadq_where          the memory's value where m is true, or 0, for one half
     tally tally4 total   tally and tally4 add the number of lanes in which two comparisons, or four, are true to a
                          count; total returns the count as a number; { 0 } is an empty count
     widen narrow         a half as doubles; two halves as floats (spread: a half of a comparison, for add_where)
     trunc                a float as an integer; from 2^31 on the upper bit is set
     chord                -q of sampi_envelope for its i: (i mod 2^25 - 2^26) >> i / 2^25, an arithmetic shift (sra)
     hmax hsum hsumq      maximum or sum of the lanes; pairs: sums of neighbours in 64 bits
     even                 the product of the lower halves of lanes of 64 bits; the upper halves are ignored
     stay                 its argument, a product, which must not be fused with the following sum
     pack                 writes the lanes in which m is true to the beginning of x_out and id_out; returns their number
     tidy                 sets the upper halves of all vector registers to zero
     rest                 the elements from `at` on of a row's last `left` elements, filled up with masked ones (with
                          four lanes they are filled up already)
     row                  elements i .. i + SAMPI_W of a row of any dtype, -infinity where the mask's bit is 0 (with
                          plain, u16, f16 and allowed)
     part                 as row, from i + at on; with 16 lanes eight elements from i + at and eight from i + at + 64
     apart                load; with 16 lanes eight floats from p and eight from p + at
     field                the ids (w = 0) or logits (1) of SAMPI_W candidates, which are d [3]; not with 16 lanes
     zip                  the lanes of a and b alternating
     fold1 fold2 fold3    in this order they turn SAMPI_W vectors, or eight, into one with the maximum of each (with 16
                          lanes, of each half) */

#if SAMPI_W == 16
#define V(name)              sampi_##name##_avx512
#define SAMPI_X86(name, ...) _mm512_maskz_##name(-1, __VA_ARGS__) /* a full mask; the comment above V(max) says why */

#define SAMPI_T __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#elif SAMPI_W == 8
#define V(name)              sampi_##name##_avx2
#define SAMPI_X86(name, ...) _mm256_##name(__VA_ARGS__)

#define SAMPI_T __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt")))
#elif SAMPI_SSE2
#define V(name)              sampi_##name##_sse2
#define SAMPI_X86(name, ...) _mm_##name(__VA_ARGS__)
#elif SAMPI_NEON
#define V(name) sampi_##name##_neon
#elif SAMPI_WASM
#define V(name) sampi_##name##_wasm
#else
#define V(name) sampi_##name##_generic
#endif
#ifndef SAMPI_T
#define SAMPI_T /* the compiler may use the instruction set anyway */
#endif

/* Each line below is one operation, where possible. */
/* clang-format off */
typedef float V(f) __attribute__((vector_size(4 * SAMPI_W)));
typedef double V(d) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint32_t V(i) __attribute__((vector_size(4 * SAMPI_W)));
typedef uint64_t V(q) __attribute__((vector_size(4 * SAMPI_W)));
typedef long long V(raw) __attribute__((vector_size(4 * SAMPI_W)));
/* for loads at any alignment */
typedef float V(near) __attribute__((vector_size(4 * SAMPI_W), aligned(1), may_alias));
#if SAMPI_W == 16
typedef __mmask16 V(m);
typedef size_t V(t);
#else
typedef int32_t V(m) __attribute__((vector_size(4 * SAMPI_W)));
typedef V(i) V(t);
#endif

SAMPI_OP V(f) V(all)(float x) { return x - SAMPI_VECTOR(V(f), 0); } /* adding 0 would lose the sign of -0 */
SAMPI_OP V(i) V(alli)(uint32_t x) { return x - SAMPI_VECTOR(V(i), 0); }
SAMPI_OP V(d) V(alld)(double x) { return x - SAMPI_VECTOR(V(d), 0); }
SAMPI_OP V(q) V(allq)(uint64_t x) { return x - SAMPI_VECTOR(V(q), 0); }

SAMPI_OP V(f) V(load)(const float *p) { return (V(f))*(const V(near) *)p; }
SAMPI_OP V(i) V(loadi)(const int32_t *p) { return (V(i))*(const V(near) *)p; }
SAMPI_OP V(d) V(loadd)(const double *p) { return (V(d))*(const V(near) *)p; }
SAMPI_OP V(q) V(loadq)(const uint64_t *p) { return (V(q))*(const V(near) *)p; }
SAMPI_OP void V(store)(float *p, V(f) v) { *(V(near) *)p = (V(near))v; }
SAMPI_OP void V(storeq)(uint64_t *p, V(q) v) { *(V(near) *)p = (V(near))v; }
SAMPI_OP V(f) V(stay)(V(f) v) { SAMPI_OPAQUE(v); return v; }

/* ---- operations that the sets of x86 share ---- */
/* With 16 lanes SAMPI_X86 calls the form of an intrinsic with a mask, and the mask is full. The reason is that gcc 12
   warns of _mm512_undefined() in the wrappers without a mask. The mask costs nothing, because compilers drop it. */
#ifdef SAMPI_X86
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return SAMPI_X86(max_ps, a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return SAMPI_X86(min_ps, a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return SAMPI_X86(max_pd, a, b); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))SAMPI_X86(cvttps_epi32, v); }
SAMPI_OP V(q) V(even)(V(q) a, V(q) b) { return (V(q))SAMPI_X86(mul_epu32, (V(raw))a, (V(raw))b); }
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b) { return V(max)(SAMPI_X86(unpacklo_ps, a, b), SAMPI_X86(unpackhi_ps, a, b)); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b)
    { return V(max)(SAMPI_X86(shuffle_ps, a, b, 0x44), SAMPI_X86(shuffle_ps, a, b, 0xEE)); }
#if SAMPI_W > 4
typedef long long V(half) __attribute__((vector_size(2 * SAMPI_W), aligned(1), may_alias));
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))SAMPI_X86(cvtepu16_epi32, *(const V(half) *)(const void *)p); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return SAMPI_X86(fmadd_ps, a, b, c); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return SAMPI_X86(fmadd_pd, a, b, c); }
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) { return (V(i))SAMPI_X86(srav_epi32, (V(raw))a, (V(raw))n); }
SAMPI_OP void V(tidy)(char *unused) { (void)unused; _mm256_zeroupper(); }
#endif
#endif
