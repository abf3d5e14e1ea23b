/* ---- the device, through OpenMP ----
   Everything that the library asks of OpenMP: how many devices there are, copies to and from them, launches, and two
   probes when a context is made. Without a device the same functions copy host memory and call the kernels as
   functions. The room handles no chains. gpu/contexts.h allocates memory. */

SAMP_API int samp_gpu_available(void)
{
#if SAMPI_OFFLOAD
    return omp_get_num_devices();
#else
    return 0;
#endif
}

/* Copies n bytes between host and device. Every byte that crosses goes through put, to the device, or get, from it:
   results, bases of log-probabilities, a list, a row for the CPU. Both return when the copy is done, so a buffer may be
   reused at once, and a kernel begins after all copies before it. A copy that fails returns a status; a kernel that
   fails ends the process. */
static int sampi_gpu_copy(samp_gpu *gpu, void *to, const void *from, size_t n, int to_device, int from_device)
{
    gpu->perf.n_copies++;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE)
        return omp_target_memcpy(to, from, n, 0, 0, to_device, from_device) ? (int)SAMP_E_DEVICE : (int)SAMP_OK;
#endif
    (void)to_device, (void)from_device;
    memcpy(to, from, n);
    return SAMP_OK;
}
static int sampi_gpu_put(samp_gpu *gpu, void *to, const void *from, size_t n)
{
    return sampi_gpu_copy(gpu, to, from, n, gpu->device, gpu->host);
}
static int sampi_gpu_get(samp_gpu *gpu, void *to, const void *from, size_t n)
{
    return sampi_gpu_copy(gpu, to, from, n, gpu->host, gpu->device);
}

/* ---- registered host memory ----
   Copies around a batch take about as long as its kernel. If the config asks for it, the desk, a piece of the context's
   host memory, is registered with NVIDIA's driver: kernels then read a batch's args there and write its results there.
   gcc 12's OpenMP has no call for that, so the driver's functions are looked up in the library that libgomp has loaded.
   If anything is missing or refused, desk_there stays NULL, and the context copies. */

#if SAMPI_OFFLOAD
#include <dlfcn.h>
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose

/* Gives a function of NVIDIA's driver, or NULL if that is not loaded. */
static void sampi_gpu_find_function(const char *name, void *function, size_t size)
{
    void *driver = dlopen && dlsym && dlclose ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = driver ? dlsym(driver, name) : NULL;
    if (driver) dlclose(driver);
    memcpy(function, &found, size);
}

/* Registers n bytes of the desk; returns their address for the device, or NULL. libgomp has made its context current
   in this thread, because it has just allocated the block; the first call checks that the block is of that context. */
static char *sampi_gpu_take_desk(samp_gpu *gpu, size_t n)
{
    enum { DEVICE_MAP = 2 };
    int (*range)(uint64_t *, size_t *, uint64_t), (*take)(void *, size_t, unsigned), (*release)(void *);
    int (*address)(uint64_t *, void *, unsigned);
    uint64_t at = 0;
    size_t size = 0;
    sampi_gpu_find_function("cuMemGetAddressRange_v2", &range, sizeof range);
    sampi_gpu_find_function("cuMemHostRegister_v2", &take, sizeof take);
    sampi_gpu_find_function("cuMemHostGetDevicePointer_v2", &address, sizeof address);
    sampi_gpu_find_function("cuMemHostUnregister", &release, sizeof release);
    if (!range || !take || !address || !release) return NULL;
    if (range(&at, &size, (uint64_t)(uintptr_t)gpu->block) || take(gpu->desk, n, DEVICE_MAP)) return NULL;
    if (address(&at, gpu->desk, 0) == 0) return (char *)(uintptr_t)at;
    release(gpu->desk);
    return NULL;
}
#endif

/* Lets the kernels use the desk, if the config asks for it and they can. Kernels on the host can. */
static void sampi_gpu_open_desk(samp_gpu *gpu)
{
    const size_t n = sampi_gpu_desk_size(&gpu->config);
    if (!gpu->config.registered) return;
    if (gpu->mode == SAMPI_GPU_ON_HOST) gpu->desk_there = gpu->desk;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) gpu->desk_there = sampi_gpu_take_desk(gpu, n);
#endif
    if (!gpu->desk_there) return;
    gpu->perf.registered = n;
    gpu->args.told = (sampi_gpu_result *)(void *)(gpu->desk_there + SAMPI_GPU_RESULTS_AT);
}

/* Ends that, before the memory is freed. The block is freed first: libgomp then has its context current in this
   thread. */
static void sampi_gpu_close_desk(samp_gpu *gpu)
{
#if SAMPI_OFFLOAD
    int (*release)(void *);
    sampi_gpu_find_function("cuMemHostUnregister", &release, sizeof release);
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && gpu->desk_there) release(gpu->desk);
#endif
    gpu->desk_there = NULL;
    gpu->perf.registered = 0;
}

/* Whether the batch's args are read from the desk: if its teams are few, as each reads them. */
static bool sampi_gpu_is_direct(const samp_gpu *gpu)
{
    return gpu->desk_there && sampi_gpu_teams_of(&gpu->args) <= SAMPI_TEAMS_FEW;
}

/* Checks that n bytes of the caller's are in the device's memory. A kernel that reads elsewhere ends the process; a
   copy from there fails. So the first and the last byte are copied, unless both lie within one of the ranges that were
   checked last. Two copies take as long as a short kernel; a program that reuses its buffers has none. It is called
   before anything else is done. */
static int sampi_gpu_require_memory(samp_gpu *gpu, const void *p, size_t n)
{
    const uintptr_t first = (uintptr_t)p, last = first + n - 1;
    char byte;
    for (int i = 0; i < SAMPI_GPU_FOUND; i++)
        if (first >= gpu->found[i][0] && last <= gpu->found[i][1]) return SAMP_OK;
    if (sampi_gpu_get(gpu, &byte, p, 1) || sampi_gpu_get(gpu, &byte, (const char *)p + n - 1, 1))
        return SAMP_E_ADDRESS;
    uintptr_t *found = gpu->found[gpu->n_found++ % SAMPI_GPU_FOUND];
    found[0] = first;
    found[1] = last;
    return SAMP_OK;
}

#if SAMPI_OFFLOAD
/* Counts whether all teams that the launch has got run at once. Each adds itself to counter[0] and waits, as long as it
   would for a pass, until all have; then it adds itself to counter[1]. Teams beyond the limit, counter[2], end. A
   device that runs teams in turns lets the first ones wait in vain. counter[3] becomes the number of teams. Only the
   kernel calls it, because libgomp gives a kernel as many teams as its registers let run at once, and another kernel
   may get another number. */
static void sampi_gpu_count_teams(uint32_t *counter, uint32_t team, uint32_t n_teams)
{
    const uint32_t limit = counter[2], n = limit < n_teams ? limit : n_teams;
    if (team == 0) counter[3] = n_teams;
    if (team >= n) return;
    sampi_gpu_add(&counter[0], 1);
    for (uint32_t i = 0; i < SAMP_GPU_WAIT; i++)
        if (sampi_gpu_peek(&counter[0]) >= n) {
            sampi_gpu_add(&counter[1], 1);
            return;
        }
}

/* Copies the args from host memory to the team's own place. A team would otherwise wait for the host's memory after
   each fence; here all words are read at once. */
static SAMPI_CALLED void sampi_gpu_take_args(const sampi_gpu_args *from, sampi_gpu_args *to)
{
    enum { WORDS = sizeof(sampi_gpu_args) / 4 };
    typedef uint32_t __attribute__((may_alias)) word;
    const word *x = (const word *)(const void *)from;
    word *y = (word *)(void *)to;
    SAMPI_SIMD()
    SAMPI_LANES
    {
        uint32_t w[4];
        SAMPI_UNROLL(4) for (uint32_t i = 0; i < 4; i++)
        {
            w[i] = x[sampi_gpu_min_of(i * SAMPI_WARP + (uint32_t)lane, WORDS - 1)];
        }
        SAMPI_AT_ONCE(4, w);
        SAMPI_UNROLL(4) for (uint32_t i = 0; i < 4; i++)
        {
            if (i * SAMPI_WARP + (uint32_t)lane < WORDS) y[i * SAMPI_WARP + (uint32_t)lane] = w[i];
        }
    }
}

/* A team's part of a launch: passes over its rows until they are finished, or until it has waited too long; or one pass
   if teams are not to wait. libgomp may give fewer teams than there are; with more rows than teams each takes several
   rows in turn. */
static void sampi_gpu_run_team(void)
{
    const sampi_gpu_args *a = sampi_gpu_bound.args;
    const uint32_t first = (uint32_t)omp_get_team_num(), n_teams = (uint32_t)omp_get_num_teams();
    if (!a) sampi_gpu_count_teams(sampi_gpu_probe_counters, first, n_teams);
    if (a && sampi_gpu_bound.near_args) {
        sampi_gpu_args *own = sampi_gpu_bound.near_args + first;
        sampi_gpu_take_args(a, own);
        a = own;
    }
    const uint32_t n = a ? sampi_gpu_teams_of(a) : 0;
    for (uint32_t team = first; team < n; team += n_teams) sampi_gpu_team(a, team);
}

/* The kernel, for three numbers of teams; launch calls one of them, and probe, without a batch, that with
   most. thread_limit is on a target construct of its own, and the number of teams is a constant: anything else makes
   libgomp allocate on the device, or copy arguments to it. A batch takes the fewest teams that it needs, because
   libgomp's end of a team has two fences of the whole system, which the teams of a multiprocessor do one after the
   other. */
#define SAMPI_KERNEL(name, n_teams) \
    static void name(int device) { SAMPI_IN_TEAMS(device, n_teams) sampi_gpu_run_team(); }
SAMPI_KERNEL(sampi_gpu_kernel, SAMPI_TEAMS)
SAMPI_KERNEL(sampi_gpu_kernel_of_one, SAMPI_TEAMS_ONE)
SAMPI_KERNEL(sampi_gpu_kernel_of_few, SAMPI_TEAMS_FEW)
#undef SAMPI_KERNEL

/* Finds how many teams run at once; at most so many teams of a batch wait for each other. It tries the number that the
   kernel gets, then half of it, and so on. The counters are in the memory of `cell`, which no row needs yet. */
static int sampi_gpu_find_teams(samp_gpu *gpu)
{
    const int device = gpu->device;
    uint32_t limit = SAMPI_TEAMS, counter[4];
    gpu->wait = 0;
    for (; limit > 1 && !gpu->wait; limit /= 2) {
        memset(counter, 0, sizeof counter);
        counter[2] = limit;
        if (sampi_gpu_put(gpu, gpu->args.cell, counter, sizeof counter)) return SAMP_E_DEVICE;
        sampi_gpu_bound.args = NULL;
        sampi_gpu_probe_counters = (uint32_t *)(void *)gpu->args.cell;
#pragma omp target update to(sampi_gpu_bound, sampi_gpu_probe_counters) device(device)
        sampi_gpu_kernel(device);
        if (sampi_gpu_get(gpu, counter, gpu->args.cell, sizeof counter)) return SAMP_E_DEVICE;
        if (counter[3] < limit) limit = counter[3];
        gpu->teams = limit;
        if (limit && counter[1] == limit) gpu->wait = SAMP_GPU_WAIT;
    }
    return SAMP_OK;
}

/* Checks that a kernel runs on the device, and sets gpu->teams and gpu->wait. All contexts share the globals, so
   launches and probes run one at a time. If OpenMP replaces the device by the host (because the program has no code for
   it), the kernels would run slowly, which the program did not ask for: that is an error. */
static int sampi_gpu_probe(samp_gpu *gpu)
{
    int on_host = 1, device = gpu->device, status;
#pragma omp target map(tofrom : on_host) device(device)
    on_host = omp_is_initial_device();
    if (on_host) return SAMP_E_DEVICE;
#pragma omp critical(sampi_gpu)
    status = sampi_gpu_find_teams(gpu);
    return status;
}
#endif

/* on the host the teams run one after the other (a test runs them at once) */
#ifndef SAMPI_HOST_TEAMS
#define SAMPI_HOST_TEAMS(a, n) \
    for (uint32_t team = 0; team < (n); team++) sampi_gpu_team((a), team)
#endif

/* Launches the kernel once: passes over all rows. The kernel finds its batch by a global, which is sent again only if
   another context or device had the last launch, or the args are on another side. run_batch calls it when the args are
   where they should be. It returns when the kernel has ended. On the host the same teams are called as functions, and
   the args are read where the device would have them. */
static void sampi_gpu_launch(samp_gpu *gpu)
{
    const bool direct = sampi_gpu_is_direct(gpu);
    const char *at = direct ? gpu->desk_there : gpu->block + gpu->job_at + gpu->args_at;
    const sampi_gpu_args *a = (const sampi_gpu_args *)(const void *)at;
    gpu->perf.n_launches++;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        static int bound_device = -1;
        const int device = gpu->device;
        sampi_gpu_args *near_args = direct ? gpu->near_args : NULL;
#pragma omp critical(sampi_gpu)
        {
            if (sampi_gpu_bound.args != a || sampi_gpu_bound.near_args != near_args || bound_device != device) {
                sampi_gpu_bound.args = a;
                sampi_gpu_bound.near_args = near_args;
                bound_device = device;
#pragma omp target update to(sampi_gpu_bound) device(device)
            }
            const uint32_t n = sampi_gpu_teams_of(&gpu->args);
            if (n <= SAMPI_TEAMS_ONE)
                sampi_gpu_kernel_of_one(device);
            else if (n <= SAMPI_TEAMS_FEW)
                sampi_gpu_kernel_of_few(device);
            else
                sampi_gpu_kernel(device);
        }
        return;
    }
#endif
    SAMPI_HOST_TEAMS(a, sampi_gpu_teams_of(a));
}
