/* floats.h - floating-point numbers as bits, the 16-bit formats by their definition, and the file of real rows of
   logits. Neither looks at sampling.h, whose conversions are tested against these. */
#ifndef FLOATS_H
#define FLOATS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_from(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What the bits of a sign, an exponent and a fraction say. */
static inline double small_float(uint32_t bits, int n_exponent, int n_fraction)
{
    int bias = (1 << (n_exponent - 1)) - 1, exponent = (int)(bits >> n_fraction) & ((1 << n_exponent) - 1);
    int fraction = (int)(bits & ((1u << n_fraction) - 1));
    double x = ldexp(fraction + (1 << n_fraction), exponent - bias - n_fraction);
    if (exponent == 0) x = ldexp(fraction, 1 - bias - n_fraction);
    if (exponent == (1 << n_exponent) - 1) x = fraction ? (double)NAN : (double)INFINITY;
    return bits >> (n_exponent + n_fraction) & 1 ? -x : x;
}

static inline float float_of_half(uint16_t h) { return (float)small_float(h, 5, 10); }
static inline float float_of_brain(uint16_t h) { return (float)small_float(h, 8, 7); }

/* The nearest half, ties to even. What is finite stays finite. */
static inline uint16_t half_of(double x)
{
    int exponent;
    unsigned sign = signbit(x) ? 0x8000 : 0;
    double size = fabs(x);
    if (isnan(x)) return (uint16_t)(sign | 0x7E01);
    if (isinf(x)) return (uint16_t)(sign | 0x7C00);
    if (size > 65504.0) size = 65504.0;
    frexp(size, &exponent);
    if (size == 0.0 || exponent < -13) exponent = -13;
    double units = rint(ldexp(size, 11 - exponent)); /* of the last place; 2048 is the next octave's 1024 */
    return (uint16_t)(sign | ((unsigned)(exponent + 13) * 1024 + (unsigned)units));
}

/* Towards zero; NaN stays. */
static inline uint16_t brain_of(float x) { return (uint16_t)(bits_of(x) >> 16 | (isnan(x) ? 0x40 : 0)); }

/* ---------------------------------------------------------------------------------------------- real rows */

#define REAL_ROWS_PATH "tests/data/real_rows.f16"
enum { REAL_WIDTH = 32768, REAL_ROWS = 16 };

static float (*real_rows)[REAL_WIDTH]; /* [REAL_ROWS], a model's own; NULL: not loaded */

static inline bool real_rows_load(const char *path)
{
    static float rows[REAL_ROWS][REAL_WIDTH];
    unsigned char half[2];
    if (real_rows) return true;
    FILE *f = fopen(path, "rb");
    size_t i = 0;
    for (; f && i < (size_t)REAL_ROWS * REAL_WIDTH && fread(half, 2, 1, f) == 1; i++)
        rows[i / REAL_WIDTH][i % REAL_WIDTH] = float_of_half((uint16_t)(half[0] | half[1] << 8)); /* little-endian */
    if (f) fclose(f);
    if (i == (size_t)REAL_ROWS * REAL_WIDTH) real_rows = rows;
    return real_rows != NULL;
}

static inline float real_logit(size_t i)
{
    return real_rows[i / REAL_WIDTH][i % REAL_WIDTH];
} /* of all, end to end */

#endif /* FLOATS_H */
