/* cuda.c - the functions of the CUDA driver that libgomp's plugin for nvptx calls, on top of ptx.h. There is one device
   and one context; every operation is complete when its call returns. */
#include "ptx.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int status;
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_CONTEXT = 201,
    NO_IMAGE = 209,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801
};
typedef u64 devptr;

static _Thread_local bool current; /* this thread has the context current */
static bool launch_failed;
static program *loaded; /* the last program loaded, for cuModuleGetGlobal */
static int context;

#define EXPORT __attribute__((visibility("default")))
#define IGNORE(name, ...) \
    EXPORT status name(__VA_ARGS__); \
    EXPORT status name(__VA_ARGS__) { return SUCCESS; }
#define API(name, ...) \
    EXPORT status name(__VA_ARGS__); \
    EXPORT status name(__VA_ARGS__)

static bool verbose(void) { return ptx_setting("SAMP_PTX_VERBOSE", 0) != 0; }

API(cuGetErrorString, status s, const char **text)
{
    *text = s == OUT_OF_MEMORY   ? "out of memory"
            : s == LAUNCH_FAILED ? "launch failed"
            : s == NOT_FOUND     ? "not found"
                                 : "error";
    return SUCCESS;
}

/* ---------------------------------------------------------------------------------------------- device and context */

API(cuInit, unsigned flags)
{
    time_on = ptx_setting("SAMP_PTX_TIME", 0) != 0;
    return flags ? INVALID_VALUE : SUCCESS;
}
API(cuDriverGetVersion, int *version) { return *version = 13000, SUCCESS; }
API(cuDeviceGetCount, int *n) { return *n = 1, SUCCESS; }
API(cuDeviceGet, int *device, int n) { return *device = n, n ? INVALID_VALUE : SUCCESS; }
API(cuDeviceGetName, char *name, int n, int device)
{
    (void)device;
    snprintf(name, (size_t)n, "PTX interpreter");
    return SUCCESS;
}
API(cuDeviceTotalMem_v2, size_t *n, int device) { return *n = (size_t)139 << 30, (void)device, SUCCESS; }
API(cuMemGetInfo_v2, size_t *free, size_t *total) { return *free = *total = (size_t)139 << 30, SUCCESS; }

/* The attributes of an H200, except the number of SMs. */
API(cuDeviceGetAttribute, int *value, int which, int device)
{
    static const struct {
        int which, value;
    } known[] = { { 1, 1024 }, { 10, 32 }, { 12, 65536 }, { 13, 1980000 }, { 15, 1 },    { 16, SMS },
                  { 18, 0 },   { 19, 1 },  { 20, 0 },     { 31, 1 },       { 39, 2048 }, { 40, 3 },
                  { 41, 1 },   { 75, 9 },  { 76, 0 },     { 82, 65536 } };
    (void)device;
    if (which == 16) return *value = (int)ptx_setting("SAMP_PTX_SMS", SMS), SUCCESS;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].which == which) return *value = known[i].value, SUCCESS;
    return INVALID_VALUE;
}

API(cuCtxCreate_v2, void **c, unsigned flags, int device)
{
    (void)flags, (void)device;
    current = true;
    return *c = &context, SUCCESS;
}
API(cuCtxGetCurrent, void **c) { return *c = current ? &context : NULL, SUCCESS; }
API(cuCtxGetDevice, int *device) { return *device = 0, current ? SUCCESS : INVALID_CONTEXT; }
API(cuCtxPushCurrent_v2, void *c) { return current = true, (void)c, SUCCESS; }
API(cuCtxPopCurrent_v2, void **c) { return *c = &context, current = false, SUCCESS; }
API(cuCtxDestroy_v2, void *c) { return current = false, (void)c, SUCCESS; }
API(cuCtxSynchronize, void) { return launch_failed ? LAUNCH_FAILED : SUCCESS; }

/* ------------------------------------------------------------------------------------------------------- programs */

API(cuLinkCreate_v2, unsigned n, int *option, void **value, void **state)
{
    (void)n, (void)option, (void)value;
    return *state = calloc(1, sizeof(program)), SUCCESS;
}
API(cuLinkAddData_v2, void *state, int type, void *data, size_t size, const char *name, unsigned n, int *option,
    void **value)
{
    (void)name, (void)n, (void)option, (void)value;
    if (type != 1) return INVALID_VALUE;
    if (verbose()) fprintf(stderr, "ptx: %zu bytes\n", size);
    return ptx_parse(state, data, size) ? SUCCESS : NO_IMAGE;
}
API(cuLinkCreate, unsigned n, int *option, void **value, void **state)
{
    return cuLinkCreate_v2(n, option, value, state);
}
API(cuLinkAddData, void *state, int type, void *data, size_t size, const char *name, unsigned n, int *option,
    void **value)
{
    return cuLinkAddData_v2(state, type, data, size, name, n, option, value);
}
API(cuLinkComplete, void *state, void **out, size_t *size)
{
    *out = state, *size = sizeof(program);
    return ptx_link(state) ? SUCCESS : NO_IMAGE;
}
API(cuModuleLoadData, void **module, const void *image)
{
    *module = loaded = (program *)(uintptr_t)image;
    if (verbose()) fprintf(stderr, "ptx: %d functions, %u instructions\n", loaded->n_functions, loaded->n_code);
    return SUCCESS;
}
API(cuModuleLoad, void **module, const char *path) { return (void)module, (void)path, NOT_SUPPORTED; }

API(cuModuleGetFunction, void **out, void *module, const char *name)
{
    program *p = module;
    int i = map_find(&p->functions, (text){ name, (u32)strlen(name) });
    if (i < 0 || !p->function[i]->entry) return NOT_FOUND;
    return *out = p->function[i], SUCCESS;
}

/* Returns the most registers that a thread can have, unless SAMP_PTX_REGISTERS is set: launches are sized as if the
   kernels took so many. */
API(cuFuncGetAttribute, int *value, int which, void *f)
{
    (void)f;
    *value = which == 0 ? 1024 : which == 4 ? (int)ptx_setting("SAMP_PTX_REGISTERS", 255) : -1;
    return *value < 0 ? INVALID_VALUE : SUCCESS;
}

API(cuModuleGetGlobal_v2, devptr *at, size_t *size, void *module, const char *name)
{
    program *p = module;
    for (int i = 0; i < p->n_variables; i++) {
        const variable *v = &p->variable[i];
        if (v->external || v->shared || v->name.n != strlen(name) || memcmp(v->name.at, name, v->name.n)) continue;
        if (at) *at = v->address;
        if (size) *size = v->size;
        return SUCCESS;
    }
    return NOT_FOUND;
}

/* config: the parameters as one buffer */
API(cuLaunchKernel, void *function_, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **params, void **config)
{
    grid g;
    memset(&g, 0, sizeof g);
    (void)shared, (void)stream;
    g.p = loaded, g.kernel = function_, g.n_teams = gx, g.n_warps = by;
    if (gy != 1 || gz != 1 || bz != 1 || bx != LANES || by > MAX_WARPS || !by || params || !config)
        return INVALID_VALUE;
    for (int i = 0; config[i]; i += 2) {
        if (config[i] == (void *)1) memcpy(g.arg, config[i + 1], 8 * (size_t)g.kernel->n_params);
        if (config[i] == (void *)2) g.n_args = (int)(*(size_t *)config[i + 1] / 8);
    }
    if (g.n_args != g.kernel->n_params) return INVALID_VALUE;
    if (verbose())
        fprintf(stderr, "ptx: launch %.*s, %u teams of %u warps\n", (int)g.kernel->name.n, g.kernel->name.at, gx, by);
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* one kernel at a time */
    pthread_mutex_lock(&one);
    launch_failed |= !ptx_run(&g);
    pthread_mutex_unlock(&one);
    return SUCCESS;
}

/* --------------------------------------------------------------------------------------------------------- memory */

API(cuMemAlloc_v2, devptr *out, size_t size)
{
    block *b = size ? block_new(size, "device memory", false) : NULL;
    if (!b) return size ? OUT_OF_MEMORY : INVALID_VALUE;
    return *out = b->lo, SUCCESS;
}
API(cuMemFree_v2, devptr at) { return block_free(at) ? SUCCESS : INVALID_VALUE; }
API(cuMemAllocHost_v2, void **out, size_t size) { return (*out = malloc(size)) ? SUCCESS : OUT_OF_MEMORY; }
API(cuMemFreeHost, void *at) { return free(at), SUCCESS; }
API(cuMemGetAddressRange_v2, devptr *base, size_t *size, devptr at)
{
    block *b = block_find(at);
    if (!b) return INVALID_VALUE;
    if (base) *base = b->lo;
    if (size) *size = b->hi - b->lo;
    return SUCCESS;
}

static status to_device(devptr to, const void *from, size_t n)
{
    block *b = block_find(to);
    if (!n) return SUCCESS;
    if (!b || to + n > b->hi) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)(to - b->shift), from, n);
    block_wrote(b, to, n);
    return SUCCESS;
}
static status to_host(void *to, devptr from, size_t n)
{
    block *b = block_find(from);
    if (!n) return SUCCESS;
    if (!b || from + n > b->hi) return INVALID_VALUE;
    memcpy(to, (const void *)(uintptr_t)(from - b->shift), n);
    return SUCCESS;
}
API(cuMemcpyHtoD_v2, devptr to, const void *from, size_t n) { return to_device(to, from, n); }
API(cuMemcpyDtoH_v2, void *to, devptr from, size_t n) { return to_host(to, from, n); }
API(cuMemcpyHtoDAsync_v2, devptr to, const void *from, size_t n, void *stream)
{
    return (void)stream, to_device(to, from, n);
}
API(cuMemcpyDtoHAsync_v2, void *to, devptr from, size_t n, void *stream)
{
    return (void)stream, to_host(to, from, n);
}
API(cuMemcpyDtoDAsync_v2, devptr to, devptr from, size_t n, void *stream)
{
    (void)stream;
    return block_find(from) ? to_device(to, (const void *)(uintptr_t)from, n) : INVALID_VALUE;
}
API(cuMemcpy, devptr to, devptr from, size_t n) { return to_device(to, (const void *)(uintptr_t)from, n); }

/* The range that is registered, of which there may be several; each has its pages for itself. */
API(cuMemHostRegister_v2, void *at, size_t size, unsigned flags)
{
    const u64 host = (u64)(uintptr_t)at;
    if (!ptx_setting("SAMP_PTX_REGISTER", 1) || !current) return current ? NOT_SUPPORTED : INVALID_CONTEXT;
    if (flags != 2 || !size || host % 4096 || size % 4096) return INVALID_VALUE;
    return block_register(host, size) ? SUCCESS : OUT_OF_MEMORY;
}
API(cuMemHostGetDevicePointer_v2, devptr *out, void *at, unsigned flags)
{
    block *b = block_find((u64)(uintptr_t)at + REGISTERED);
    if (flags || !b) return INVALID_VALUE;
    return *out = (u64)(uintptr_t)at + REGISTERED, SUCCESS;
}
API(cuMemHostUnregister, void *at)
{
    if (!current) return INVALID_CONTEXT;
    return block_free((u64)(uintptr_t)at + REGISTERED) ? SUCCESS : INVALID_VALUE;
}

/* ------------------------------------------------------------- what only OpenACC calls, or what has no effect here */

IGNORE(cuLinkDestroy, void *s __attribute__((unused)))
IGNORE(cuModuleUnload, void *m __attribute__((unused)))
IGNORE(cuStreamCreate, void **s __attribute__((unused)), unsigned f __attribute__((unused)))
IGNORE(cuStreamDestroy_v2, void *s __attribute__((unused)))
IGNORE(cuStreamQuery, void *s __attribute__((unused)))
IGNORE(cuStreamSynchronize, void *s __attribute__((unused)))
IGNORE(cuStreamAddCallback, void *s __attribute__((unused)))
IGNORE(cuStreamWaitEvent, void *s __attribute__((unused)))
IGNORE(cuEventCreate, void **e __attribute__((unused)))
IGNORE(cuEventDestroy_v2, void *e __attribute__((unused)))
IGNORE(cuEventElapsedTime, float *t __attribute__((unused)))
IGNORE(cuEventQuery, void *e __attribute__((unused)))
IGNORE(cuEventRecord, void *e __attribute__((unused)))
IGNORE(cuEventSynchronize, void *e __attribute__((unused)))
