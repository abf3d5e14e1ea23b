/* rows.h - random numbers and random rows of logits, for parity.c and precision.c. */
#ifndef ROWS_H
#define ROWS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_VOCAB = 262144,
    ROW_WIDTH = 32768 /* of the file of real rows */
};

/* ----------------------------------------------------------------------------------------- random numbers */

typedef struct {
    uint64_t state;
} rng;

static inline uint64_t next64(rng *r)
{ /* splitmix64 */
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline rng rng_make(uint64_t seed, uint64_t stream)
{
    rng r = { seed };
    r.state = next64(&r) ^ (stream * 0xd1342543de82ef95u);
    next64(&r);
    return r;
}

static inline double unit(rng *r) { return (double)(next64(r) >> 11) * 0x1p-53; }
static inline bool chance(rng *r, double p) { return unit(r) < p; }
static inline int32_t below(rng *r, int32_t n) { return (int32_t)(unit(r) * n); }
static inline int32_t between(rng *r, int32_t lo, int32_t hi) { return lo + below(r, hi - lo + 1); }
static inline float uniform(rng *r, double lo, double hi) { return (float)(lo + (hi - lo) * unit(r)); }

static inline int32_t log_between(rng *r, int32_t lo, int32_t hi)
{
    int32_t x = (int32_t)((double)lo * exp(unit(r) * log((hi + 1.0) / lo)));
    return x > hi ? hi : x;
}

static inline float pick(rng *r, const float *values, int n) { return values[below(r, n)]; }

/* One of the values listed. */
/* clang-format off */
#define PICK(r, ...) \
    pick(r, (const float[]){ __VA_ARGS__ }, (int)(sizeof(float[]){ __VA_ARGS__ } / sizeof(float)))
/* clang-format on */

static inline double normal(rng *r)
{
    double u = 1.0 - unit(r), v = unit(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Four 16-bit uniforms: nearly normal, much cheaper, for long rows. */
static inline double normal_fast(rng *r)
{
    uint64_t u = next64(r);
    uint64_t sum = (u & 0xffff) + (u >> 16 & 0xffff) + (u >> 32 & 0xffff) + (u >> 48);
    return ((double)sum / 65536.0 - 2.0) * 1.7320508;
}

/* --------------------------------------------------------------------------------------------------- rows */

typedef enum row_kind { ROW_NORMAL, ROW_ZIPF, ROW_PEAKED, ROW_REAL, ROW_REAL_TIES, N_ROWS } row_kind;
static const char *const row_name[N_ROWS] = { "normal", "zipf", "peaked", "real", "real with ties" };

/* What a row looks like. */
typedef struct row_shape {
    row_kind kind;
    int32_t n;         /* [1, MAX_VOCAB]; at most ROW_WIDTH for real rows */
    double scale;      /* standard deviation of ROW_NORMAL */
    double masked;     /* share of tokens that get -infinity; one at least stays */
    int32_t likely[6]; /* tokens that may get a bonus */
    int32_t n_likely;
} row_shape;

static float *real_rows; /* [n_real_rows][ROW_WIDTH] */
static int32_t n_real_rows;

static inline float from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    float x = exponent == 31 ? INFINITY
              : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                             : ldexpf((float)fraction, -24);
    return h >> 15 ? -x : x;
}

/* Read the file of real rows: f16, little-endian, ROW_WIDTH a row. False, with a line on stderr: it can't
 * be read. */
static inline bool load_rows(const char *path)
{
    uint16_t *half = NULL;
    long size = 0;
    FILE *f = fopen(path, "rb");
    if (f && !fseek(f, 0, SEEK_END) && (size = ftell(f)) >= ROW_WIDTH * 2 && !fseek(f, 0, SEEK_SET)) {
        size_t n = (size_t)size / (ROW_WIDTH * 2);
        half = malloc(n * ROW_WIDTH * sizeof *half);
        real_rows = malloc(n * ROW_WIDTH * sizeof *real_rows);
        if (half && real_rows && fread(half, ROW_WIDTH * sizeof *half, n, f) == n) {
            for (size_t i = 0; i < n * ROW_WIDTH; i++) real_rows[i] = from_half(half[i]);
            n_real_rows = (int32_t)n;
        }
    }
    if (f) fclose(f);
    free(half);
    if (!n_real_rows) fprintf(stderr, "cannot read the real rows in %s\n", path);
    return n_real_rows > 0;
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

static inline void make_row(const row_shape *s, rng *r, float *row)
{
    const int32_t n = s->n;
    double (*gauss)(rng *) = n > 8192 ? normal_fast : normal;
    double bound = 32, bonus = chance(r, 0.4) ? uniform(r, 0, 8) : 0;
    switch (s->kind) {
        case ROW_NORMAL:
            for (bound = 0x1p-8; bound < 6 * s->scale; bound *= 2) {
            }
            for (int32_t i = 0; i < n; i++) row[i] = (float)(s->scale * gauss(r));
            break;
        case ROW_ZIPF:
            for (int32_t i = 0; i < n; i++) row[i] = (float)(0.1 * gauss(r) + 8 - 1.2 * log(1 + unit(r) * n));
            break;
        case ROW_PEAKED:
            for (int32_t i = 0; i < n; i++) row[i] = (float)(2.2 * gauss(r) - 1);
            for (int32_t i = 1; i <= 200 && i <= n / 4; i++) row[below(r, n)] = (float)(13 - 1.1 * log(i));
            break;
        default: {
            const float *from = real_rows + (size_t)below(r, n_real_rows) * ROW_WIDTH;
            memcpy(row, from + below(r, ROW_WIDTH - n + 1), (size_t)n * sizeof *row);
        }
    }
    if (s->kind == ROW_REAL_TIES) return;
    for (int32_t i = 0; i < s->n_likely; i++) row[s->likely[i]] += (float)bonus;
    make_distinct(row, n, bound);
    if (s->masked > 0) {
        int32_t kept = below(r, n);
        for (int32_t i = 0; i < n; i++)
            if (i != kept && chance(r, s->masked)) row[i] = -INFINITY;
    }
}

#endif /* ROWS_H */
