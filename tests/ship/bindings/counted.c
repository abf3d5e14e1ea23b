/* counted.c - the library of make lib, which counts the blocks that are not freed: none of a binding's may be left, and
   none be freed twice. The allocation that a test names fails. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 };
static const uint64_t used = 0x5A3D17C0FFEE0001u, gone = 0xDEAD5A3D17C0FFEEu;
static long live, countdown;

/* The k-th allocation from now on fails; 0: none. Returns whether the one named before has not come. */
__attribute__((visibility("default"))) int counted_fail(long k)
{
    int is_left = countdown > 0;
    countdown = k;
    return is_left;
}

/* Does this allocation fail? Also for what the test itself allocates. */
__attribute__((visibility("default"))) int counted_fails(void) { return countdown > 0 && --countdown == 0; }

static void *counted_malloc(size_t n)
{
    char *block = counted_fails() ? NULL : (char *)malloc(n + HEADER);
    if (!block) return NULL;
    ((uint64_t *)(void *)block)[0] = used;
    ((uint64_t *)(void *)block)[1] = n;
    (void)__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED); /* batches run in threads */
    return block + HEADER;
}

static void counted_free(void *p)
{
    if (!p) return;
    uint64_t *mark = (uint64_t *)(void *)((char *)p - HEADER);
    if (*mark != used) {
        fprintf(stderr, "counted: %s\n", *mark == gone ? "a block is freed twice" : "what is freed is no block");
        abort();
    }
    memset(p, 0xDD, (size_t)mark[1]); /* who goes on to read it notices */
    *mark = gone;
    (void)__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    free(mark);
}

__attribute__((visibility("default"))) long counted_live(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }

#define SAMP_MALLOC(n) counted_malloc(n)
#define SAMP_FREE(p)   counted_free(p)
#include "src/package/sampling.c"
