/* heap.h - a watched heap under the library: what it asks for is counted, and can be made to fail. Include it before
   the implementation; one file of a program, which defines HEAP_HERE, holds the heap itself. */
#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* May be set and reset at any time by a test that runs no threads of its own. */
typedef struct heap_watch {
    unsigned long mallocs, frees; /* calls; of NULL is no free */
    size_t bytes;                 /* asked for */
    long live;                    /* blocks */
    size_t held, peak;            /* bytes of these now, and at most since peak was last set, if there are `sizes` */
    long fail_at;                 /* 1: the next malloc fails; 0: none does */
    bool fail_after;              /* and so do all that follow it */
    bool sizes;                   /* set before the first malloc: blocks know their sizes */
    bool fill; /* set before the first malloc: blocks hold 0xcd when they come, 0xdd when they go, so that stale reads
                  show, which valgrind and the sanitizers see by themselves */
} heap_watch;

extern heap_watch heap;
void *heap_malloc(size_t n);
void heap_free(void *p);

#define SAMP_MALLOC(n) heap_malloc(n)
#define SAMP_FREE(p)   heap_free(p)

#ifdef HEAP_HERE
#include <stdlib.h>
#include <string.h>

heap_watch heap;
enum { HEAP_ROOM = 16 }; /* in front of a block that is filled, or has a size, for that */

void *heap_malloc(size_t n)
{
    __atomic_fetch_add(&heap.mallocs, 1, __ATOMIC_RELAXED); /* constructors run in several threads */
    __atomic_fetch_add(&heap.bytes, n, __ATOMIC_RELAXED);
    if (heap.fail_at > 0 && --heap.fail_at == 0) {
        if (heap.fail_after) heap.fail_at = 1;
        return NULL;
    }
    char *block = (char *)malloc(heap.fill || heap.sizes ? n + HEAP_ROOM : n);
    if (!block) return NULL;
    __atomic_fetch_add(&heap.live, 1, __ATOMIC_RELAXED);
    if (!heap.fill && !heap.sizes) return block;
    memcpy(block, &n, sizeof n);
    size_t held = __atomic_add_fetch(&heap.held, n, __ATOMIC_RELAXED);
    if (held > heap.peak) heap.peak = held;
    return heap.fill ? memset(block + HEAP_ROOM, 0xcd, n) : block + HEAP_ROOM;
}

void heap_free(void *p)
{
    if (!p) return;
    __atomic_fetch_add(&heap.frees, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&heap.live, 1, __ATOMIC_RELAXED);
    if (heap.fill || heap.sizes) {
        char *block = (char *)p - HEAP_ROOM;
        size_t n;
        memcpy(&n, block, sizeof n);
        __atomic_sub_fetch(&heap.held, n, __ATOMIC_RELAXED);
        if (heap.fill) memset(p, 0xdd, n);
        p = block;
    }
    free(p);
}
#endif

#endif /* HEAP_H */
