/* ---- the device, through OpenMP ----
   How many devices there are, copies to and from them, launches, and two probes when a context is made. Without a
   device the same functions copy memory and call the kernels as functions. No chain is known here. Memory is taken in
   gpu/contexts.h. */

SAMP_API int samp_gpu_available(void)
{
#if SAMPI_OFFLOAD
    return omp_get_num_devices();
#else
    return 0;
#endif
}

/* Copy n bytes to the device or from it: every byte that crosses goes through these two. They return when it is done,
   so a buffer may be used again at once, and a kernel begins behind all copies before it. A copy that fails is a
   status, where a kernel that fails ends the process. */
static int sampi_gpu_put(const samp_gpu *gpu, void *to, const void *from, size_t n)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE)
        return omp_target_memcpy(to, from, n, 0, 0, gpu->device, gpu->host) ? (int)SAMP_E_DEVICE : (int)SAMP_OK;
#endif
    (void)gpu;
    memcpy(to, from, n);
    return SAMP_OK;
}

/* From the device: results, bases, a list, a row for the CPU. */
static int sampi_gpu_get(const samp_gpu *gpu, void *to, const void *from, size_t n)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE)
        return omp_target_memcpy(to, from, n, 0, 0, gpu->host, gpu->device) ? (int)SAMP_E_DEVICE : (int)SAMP_OK;
#endif
    (void)gpu;
    memcpy(to, from, n);
    return SAMP_OK;
}

#if SAMPI_OFFLOAD
/* All teams, once: each does passes of its rows until they are finished, until it has waited too long, or one if nobody
   is to wait. thread_limit stands on a target of its own, and the number of teams is a constant: anything else makes
   libgomp allocate on the device, or copy arguments to it. A team beyond those needed has no rows, and ends; with more
   rows than teams each takes several in turn (and upload has said that nobody waits then). Called by launch only. */
static void sampi_gpu_kernel(int device)
{
    SAMPI_FOR_TEAMS(device)
    for (uint32_t t = 0; t < SAMPI_TEAMS; t++) {
        const sampi_gpu_args *a = sampi_gpu_bound;
        const uint32_t n = a->n_rows * a->splits;
        for (uint32_t team = t; team < n; team += SAMPI_TEAMS) sampi_gpu_team(a, team);
    }
}

/* Each team counts itself in and waits, as long as one would for a pass, until all have come. A device that runs them
   in turns lets the first ones wait in vain; on such a one a pass is a launch. Called by probe, at a context's
   creation. */
static void sampi_gpu_probe_teams(int device)
{
    SAMPI_FOR_TEAMS(device)
    for (uint32_t t = 0; t < SAMPI_TEAMS; t++) {
        uint32_t *counter = sampi_gpu_probe_counters;
        sampi_gpu_add(&counter[0], 1);
        for (uint32_t i = 0; i < SAMP_GPU_WAIT; i++)
            if (sampi_gpu_peek(&counter[0]) >= SAMPI_TEAMS) {
                sampi_gpu_add(&counter[1], 1);
                break;
            }
    }
}

/* Does a kernel run there, and do all teams run at once? `fold` lends its memory for the counters: no row needs it yet.
   Globals are shared by all contexts, so that launches and probes are one at a time. Writes gpu->wait. A device that
   OpenMP replaces by the host (because the program has no code for it) would run the kernels slowly and unasked: that
   is an error. */
static int sampi_gpu_probe(samp_gpu *gpu)
{
    int on_host = 1, device = gpu->device;
    uint32_t counter[2] = { 0, 0 };
#pragma omp target map(tofrom : on_host) device(device)
    on_host = omp_is_initial_device();
    if (on_host) return SAMP_E_DEVICE;
    if (sampi_gpu_put(gpu, gpu->args.fold, counter, sizeof counter)) return SAMP_E_DEVICE;
#pragma omp critical(sampi_gpu)
    {
        sampi_gpu_probe_counters = (uint32_t *)(void *)gpu->args.fold;
#pragma omp target update to(sampi_gpu_probe_counters) device(device)
        sampi_gpu_probe_teams(device);
    }
    if (sampi_gpu_get(gpu, counter, gpu->args.fold, sizeof counter)) return SAMP_E_DEVICE;
    gpu->wait = counter[1] == SAMPI_TEAMS ? SAMP_GPU_WAIT : 0;
    return SAMP_OK;
}
#endif

/* On the host the teams come one after the other (a test lets them come at once). */
#ifndef SAMPI_HOST_TEAMS
#define SAMPI_HOST_TEAMS(a, n) \
    for (uint32_t team = 0; team < (n); team++) sampi_gpu_team((a), team)
#endif

/* One launch: passes of all rows. The kernel finds its batch through a global, which is sent again only if another
   context or device had the last launch. Called by run_batch, with the args on the device already. It returns when the
   kernel has ended. On the host the same teams are called as functions, and the args are read where the device has
   them. */
static void sampi_gpu_launch(samp_gpu *gpu)
{
    gpu->perf.n_launches++;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        const sampi_gpu_args *a = (const sampi_gpu_args *)(const void *)(gpu->block + gpu->job_at + gpu->args_at);
        static int bound_device = -1;
        const int device = gpu->device;
#pragma omp critical(sampi_gpu)
        {
            if (sampi_gpu_bound != a || bound_device != device) {
                sampi_gpu_bound = a;
                bound_device = device;
#pragma omp target update to(sampi_gpu_bound) device(device)
            }
            sampi_gpu_kernel(device);
        }
        return;
    }
#endif
    const sampi_gpu_args *a = (const sampi_gpu_args *)(const void *)(gpu->block + gpu->job_at + gpu->args_at);
    SAMPI_HOST_TEAMS(a, a->n_rows * a->splits);
}
