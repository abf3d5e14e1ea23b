/* watch.h -- what bench_watch.c knows of one version of the library: functions behind pointers, because two versions are
 * in one process and each is compiled by itself (watch_shim.c). */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCH_PASSES = 64 }; /* at most */

/* A row as every pass wants it; both versions read the same ones. */
typedef struct watch_row {
    const float *x, *masked; /* masked: 98 % of it allowed, the others -infinity */
    const uint16_t *f16, *bf16;
    const double *f64;
    const uint32_t *mask; /* that of `masked` */
    const float *line;    /* the maxima of 16, padded with -infinity to a multiple of 256 */
    const int32_t *hit;   /* the lines whose maximum reaches `high`, ascending */
    const int32_t *id;    /* ids 0, 2, 4 ... */
    const uint64_t *w;    /* some weights */
    size_t n, n_line, n_hit;
    float max, high, low; /* some 0.1 % and 5 % of the elements reach these */
} watch_row;

/* Where a pass writes; a side has its own. */
typedef struct watch_work {
    float *x;
    int32_t *id;
    uint64_t *w;
    double value[3];     /* estimates, which may differ by their error */
    const void *part[2]; /* what else came out, to the last bit */
    size_t size[2];      /* in bytes */
    uint64_t number;
} watch_work;

/* The rows of a batch in each dtype: made once, so that both versions read the same ones. */
typedef struct watch_batch {
    float *f32; /* [count][stride] */
    uint16_t *f16, *bf16;
    size_t n, stride;
    int count;
} watch_batch;

typedef struct watch_side {
    const char *(*isa)(int i); /* that works here, NULL behind the last */
    bool (*use)(const char *isa);
    const char *(*pass)(int i);
    void (*run_pass)(int i, const watch_row *row, watch_work *work);
    const char *(*chain)(int i); /* the name of a case, NULL behind the last */
    int (*rotations)(int i);
    void *(*make)(int i, size_t n_vocab);
    int32_t (*sample)(void *chain, const float *row, size_t n);
    void (*free)(void *chain);
    const char *(*batch)(int i);
    void *(*make_batch)(int i, const watch_batch *rows);
    uint32_t (*run_batch)(void *batch); /* the sum of its tokens */
} watch_side;

extern const watch_side watch_old, watch_new;

#endif /* WATCH_H */
