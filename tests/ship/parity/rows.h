/* rows.h - random rows of logits, for parity.c, and choices among numbers by their share of [0, 1). */
#ifndef ROWS_H
#define ROWS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/floats.h"
#include "tests/support/source.h"

enum { MAX_VOCAB = 262144 };

/* ----------------------------------------------------------------------------------------- random numbers */

static inline source source_two(uint64_t seed, uint64_t stream)
{
    source s = source_at(splitmix64(&seed) ^ (stream * 0xd1342543de82ef95u));
    choose(&s, 8);
    return s;
}

static inline bool chance(source *r, double p) { return uniform(r) < p; }
static inline int32_t index_below(source *r, int32_t n) { return (int32_t)(uniform(r) * n); }
static inline int32_t between(source *r, int32_t lo, int32_t hi) { return lo + index_below(r, hi - lo + 1); }
static inline float float_between(source *r, double lo, double hi) { return (float)(lo + (hi - lo) * uniform(r)); }

static inline int32_t log_between(source *r, int32_t lo, int32_t hi)
{
    int32_t x = (int32_t)((double)lo * exp(uniform(r) * log((hi + 1.0) / lo)));
    return x > hi ? hi : x;
}

static inline float pick(source *r, const float *values, int n) { return values[index_below(r, n)]; }

/* One of the values listed. */
/* clang-format off */
#define PICK(r, ...) \
    pick(r, (const float[]){ __VA_ARGS__ }, (int)(sizeof(float[]){ __VA_ARGS__ } / sizeof(float)))
/* clang-format on */

/* --------------------------------------------------------------------------------------------------- rows */

typedef enum row_kind { ROW_NORMAL, ROW_ZIPF, ROW_PEAKED, ROW_REAL, ROW_REAL_TIES, N_ROWS } row_kind;
static const char *const row_name[N_ROWS] = { "normal", "zipf", "peaked", "real", "real with ties" };

/* What a row looks like. */
typedef struct row_shape {
    row_kind kind;
    int32_t n;         /* [1, MAX_VOCAB]; at most REAL_WIDTH for real rows */
    double scale;      /* standard deviation of ROW_NORMAL */
    double masked;     /* share of tokens that get -infinity; one at least stays */
    int32_t likely[6]; /* tokens that may get a bonus */
    int32_t n_likely;
} row_shape;

static inline bool load_rows(const char *path)
{
    if (!real_rows_load(path)) fprintf(stderr, "cannot read the real rows in %s\n", path);
    return real_rows != NULL;
}

/* Make all values distinct: put each in its own cell of 2^24 over (-bound, bound), the next free one if it
 * is taken. bound is a power of two, so the values are exact, and far enough apart to stay distinct in most
 * arithmetic. */
static inline void make_distinct(float *row, int32_t n, double bound)
{
    static uint64_t taken[1 << 18];
    const int32_t half = 1 << 23;
    const double step = bound / half;
    for (int32_t i = 0; i < n; i++) {
        double cell = floor(row[i] / step) + half;
        int32_t at = cell < 1 ? 1 : cell > 2 * half - 1 ? 2 * half - 1 : (int32_t)cell;
        while (taken[at >> 6] >> (at & 63) & 1) at = at == 2 * half - 1 ? 1 : at + 1;
        taken[at >> 6] |= (uint64_t)1 << (at & 63);
        row[i] = (float)((at - half) * step);
    }
    for (int32_t i = 0; i < n; i++) taken[((int32_t)(row[i] / step) + half) >> 6] = 0;
}

static inline void make_row(const row_shape *s, source *r, float *row)
{
    const int32_t n = s->n;
    double (*gauss)(source *) = n > 8192 ? normal_fast : normal;
    double bound = 32, bonus = chance(r, 0.4) ? float_between(r, 0, 8) : 0;
    switch (s->kind) {
        case ROW_NORMAL:
            for (bound = 0x1p-8; bound < 6 * s->scale; bound *= 2) {
            }
            for (int32_t i = 0; i < n; i++) row[i] = (float)(s->scale * gauss(r));
            break;
        case ROW_ZIPF:
            for (int32_t i = 0; i < n; i++) row[i] = (float)(0.1 * gauss(r) + 8 - 1.2 * log(1 + uniform(r) * n));
            break;
        case ROW_PEAKED:
            for (int32_t i = 0; i < n; i++) row[i] = (float)(2.2 * gauss(r) - 1);
            for (int32_t i = 1; i <= 200 && i <= n / 4; i++) row[index_below(r, n)] = (float)(13 - 1.1 * log(i));
            break;
        default: {
            const float *from = real_rows[index_below(r, REAL_ROWS)];
            memcpy(row, from + index_below(r, REAL_WIDTH - n + 1), (size_t)n * sizeof *row);
        }
    }
    if (s->kind == ROW_REAL_TIES) return;
    for (int32_t i = 0; i < s->n_likely; i++) row[s->likely[i]] += (float)bonus;
    make_distinct(row, n, bound);
    if (s->masked > 0) {
        int32_t kept = index_below(r, n);
        for (int32_t i = 0; i < n; i++)
            if (i != kept && chance(r, s->masked)) row[i] = -INFINITY;
    }
}

#endif /* ROWS_H */
