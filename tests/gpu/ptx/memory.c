/* memory.c - blocks of memory that can be addressed, sorted by address, and which bytes of them were written. */
#include "ptx.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RED_ZONE = 4096 }; /* bytes before and behind a block that belong to no other block */

static block **blocks;
static int n_blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* locks these two */

static int first_above(u64 address)
{
    int lo = 0, hi = n_blocks;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (blocks[mid]->lo > address)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void *pages(u64 size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void insert(block *b)
{
    pthread_mutex_lock(&lock);
    if (!(n_blocks & (n_blocks - 1)))
        blocks = realloc(blocks, sizeof *blocks * (size_t)(n_blocks ? n_blocks * 2 : 1));
    int at = first_above(b->lo);
    memmove(blocks + at + 1, blocks + at, sizeof *blocks * (size_t)(n_blocks - at));
    blocks[at] = b;
    n_blocks++;
    pthread_mutex_unlock(&lock);
}

block *block_register(u64 host, u64 size)
{
    block *b = calloc(1, sizeof *b);
    b->shift = REGISTERED;
    b->lo = host + b->shift, b->hi = b->lo + size;
    b->name = "registered memory of the host";
    b->state = pages(size + 8), b->stored = pages(2 * size + 8);
    if (ptx_setting("SAMP_PTX_LANES", 1) > 1) b->owner = pages(16 * size);
    if (!b->state || !b->stored) return NULL;
    memset(b->state, WRITTEN, size);
    insert(b);
    return b;
}

block *block_new(u64 size, const char *name, bool variable)
{
    block *b = calloc(1, sizeof *b);
    bool large = size >= 4096;
    b->base = large ? pages(size + 2 * RED_ZONE) : calloc(1, size + 512);
    b->state = large ? pages(size + 8) : calloc(1, size + 8);
    b->stored = variable ? NULL : pages(2 * size + 8);
    if (!variable && ptx_setting("SAMP_PTX_LANES", 1) > 1) b->owner = pages(16 * size);
    if (!b->base || !b->state || (!variable && !b->stored)) return NULL;
    b->lo = ((u64)(uintptr_t)b->base + (large ? RED_ZONE : 256)) & ~(u64)255;
    b->hi = b->lo + size;
    b->name = name;
    if (variable) memset(b->state, WRITTEN, size);
    insert(b);
    return b;
}

/* Returns a team's shared memory: no other team has its address, so nothing is recorded of who has stored there. */
block *block_shared(u64 size)
{
    block *b = block_new(size, "shared memory", false);
    if (b) munmap(b->stored, 2 * size + 8), b->stored = NULL;
    return b;
}

block *block_find(u64 address)
{
    pthread_mutex_lock(&lock);
    int i = first_above(address) - 1;
    block *b = i >= 0 && address < blocks[i]->hi ? blocks[i] : NULL;
    pthread_mutex_unlock(&lock);
    return b;
}

/* Frees a block. Its record stays, without addresses, because instructions may point to it. */
bool block_free(u64 address)
{
    pthread_mutex_lock(&lock);
    int i = first_above(address) - 1;
    block *b = i >= 0 && blocks[i]->lo == address ? blocks[i] : NULL;
    if (b) memmove(blocks + i, blocks + i + 1, sizeof *blocks * (size_t)(--n_blocks - i));
    pthread_mutex_unlock(&lock);
    if (!b) return false;
    u64 size = b->hi - b->lo;
    if (b->shift)
        munmap(b->state, size + 8);
    else if (size >= 4096)
        munmap(b->base, size + 2 * RED_ZONE), munmap(b->state, size + 8);
    else
        free(b->base), free(b->state);
    if (b->stored) munmap(b->stored, 2 * size + 8);
    if (b->owner) munmap(b->owner, 16 * size);
    free(b->came), b->came = NULL;
    b->hi = b->lo = 0;
    return true;
}

void block_wrote(block *b, u64 address, u64 n) { memset(b->state + (address - b->lo), WRITTEN, n); }
