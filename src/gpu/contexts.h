/* ---- contexts ----
   sampi_gpu_open makes a context from a config, with all of its memory on both sides; samp_gpu_free frees it. Later
   calls allocate nothing. Chains belong to the caller: a slot of the context identifies one by its address and serial
   number, and accesses it only while it is in the batch. */

/* Lays out the host's block, which begins with the context itself, so that one SAMP_FREE frees both. It is called with
   base NULL for the size, then with the block; it writes only gpu's pointers. raw has room for one row, the one that
   the CPU samples. */
static size_t sampi_gpu_host_layout(samp_gpu *gpu, char *base)
{
    const samp_gpu_config *c = &gpu->config;
    const size_t rows = c->max_rows;
    size_t used = 0;
#define SAMPI_RESERVE(member, type, n) gpu->member = (type *)(void *)sampi_gpu_reserve(base, &used, n, sizeof(type))
    sampi_gpu_reserve(base, &used, 1, sizeof *gpu);
    SAMPI_RESERVE(stage, char, sampi_gpu_stage_size(gpu));
    SAMPI_RESERVE(rule, sampi_gpu_rule, rows * SAMPI_RULES);
    SAMPI_RESERVE(id, int32_t, rows * 2 * SAMPI_RULES);
    SAMPI_RESERVE(desk, char, sampi_gpu_desk_size(c) + (c->registered ? SAMPI_GPU_PAGE : 0));
    const uintptr_t beyond = (uintptr_t)gpu->desk % SAMPI_GPU_PAGE;
    if (base && c->registered && beyond) gpu->desk += SAMPI_GPU_PAGE - beyond;
    if (base) gpu->result = (sampi_gpu_result *)(void *)(gpu->desk + SAMPI_GPU_RESULTS_AT);
    gpu->basis = (sampi_gpu_basis *)(void *)sampi_gpu_reserve(base, &used, rows,
                                                              sampi_gpu_basis_size((size_t)c->max_top_logprobs));
    SAMPI_RESERVE(row_of, uint32_t, rows);
    SAMPI_RESERVE(where, uint8_t, rows);
    SAMPI_RESERVE(called, int32_t, rows);
    SAMPI_RESERVE(verdict, int32_t, rows);
    SAMPI_RESERVE(slot, sampi_gpu_slot, rows);
    SAMPI_RESERVE(token, samp_token, rows);
    SAMPI_RESERVE(item, sampi_gpu_item, SAMP_GPU_LIST);
    SAMPI_RESERVE(candidate, samp_token_data, SAMP_GPU_LIST);
    SAMPI_RESERVE(raw, char, c->max_vocab *sampi_gpu_element_size(c->dtype));
#undef SAMPI_RESERVE
    return used;
}

/* Allocates memory where the kernels run; only prepare_device calls it. The bytes are undefined. */
static void *sampi_gpu_alloc(samp_gpu *gpu, size_t n)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) return omp_target_alloc(n, gpu->device);
#endif
    (void)gpu;
    return SAMP_MALLOC(n);
}

/* Frees what alloc returned. NULL is allowed on either side, because a context may be half made. */
static void sampi_gpu_release(samp_gpu *gpu, void *p)
{
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE) {
        if (p) omp_target_free(p, gpu->device);
        return;
    }
#endif
    (void)gpu;
    SAMP_FREE(p);
}

/* Frees a context's memory on the device. */
static void sampi_gpu_release_device(samp_gpu *gpu)
{
    sampi_gpu_release(gpu, gpu->keep);
    sampi_gpu_release(gpu, gpu->block);
    gpu->keep = gpu->block = NULL;
    sampi_gpu_close_desk(gpu);
}

/* Frees also a context that create could not finish: pointers that were not set yet are NULL. sampi_gpu_bound may still
   point to its args; it is not read before the next launch, which sets it. */
SAMP_API void samp_gpu_free(samp_gpu *gpu)
{
    if (!gpu) return;
    sampi_gpu_release_device(gpu);
    SAMP_FREE(gpu);
}

/* Zeroes the beginning of the block, which has the state of rows and teams. It copies pieces as large as the stage,
   whose jobs are lost; so only creation calls it, and start_again, when all slots are forgotten. */
static int sampi_gpu_zero(samp_gpu *gpu)
{
    const size_t step = sampi_gpu_stage_size(gpu); /* the size of the stage, which supplies the zeros */
    int status = SAMP_OK;
    memset(gpu->stage, 0, step);
    memset(gpu->desk, 0, sampi_gpu_desk_size(&gpu->config));
    gpu->n_placed = 0;
    for (size_t i = 0; i < gpu->zeroed && !status; i += step)
        status = sampi_gpu_put(gpu, gpu->block + i, gpu->stage, gpu->zeroed - i < step ? gpu->zeroed - i : step);
    return status;
}

/* Makes the device's side of a context: the block, with its beginning zero, and a small one of 256 bytes beside it.
   While the small one exists, the driver need not map memory again for what libgomp allocates in each launch. It writes
   the context's addresses, which never change. If it fails, create frees what was allocated. Jobs begin without room
   for steps; the first batch widens them. */
static int sampi_gpu_prepare_device(samp_gpu *gpu, const samp_gpu *like)
{
    gpu->block = (char *)sampi_gpu_alloc(gpu, sampi_gpu_layout(gpu, NULL));
    gpu->keep = sampi_gpu_alloc(gpu, 256);
    if (!gpu->block || !gpu->keep) return SAMP_E_NOMEM;
    sampi_gpu_layout(gpu, gpu->block);
    sampi_gpu_open_desk(gpu);
    gpu->args.place = (const sampi_gpu_place *)(const void *)(gpu->block + gpu->job_at + gpu->place_at);
    gpu->args.job = gpu->block + gpu->job_at + gpu->jobs_at;
    gpu->args.job_size = offsetof(sampi_gpu_job, step);
    if (like) gpu->teams = like->teams, gpu->wait = like->wait;
    if (sampi_gpu_zero(gpu)) return SAMP_E_DEVICE;
#if SAMPI_OFFLOAD
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && !like) return sampi_gpu_probe(gpu);
#endif
    return SAMP_OK;
}

/* Writes the text of samp_gpu_device_name, once, when the mode is known. */
static void sampi_gpu_give_name(samp_gpu *gpu)
{
    sampi_text t = { gpu->name, sizeof gpu->name, 0 };
    if (gpu->mode == SAMPI_GPU_ON_CPU || gpu->why[0]) {
        sampi_put(&t, "cpu");
    } else if (gpu->mode == SAMPI_GPU_ON_HOST) {
        sampi_put(&t, "host kernels");
    } else {
        sampi_put(&t, "device ");
        sampi_put_u64(&t, (uint64_t)gpu->device);
    }
    gpu->name[t.len] = 0;
}

/* Makes a context, without a trial of the device; only a probe checks that kernels run there. `like`, if not NULL, is a
   context of the same device that has the probe's numbers. The host's block is allocated first, so that there is a
   context to free whatever fails on the device. launches is the number that run_batch tries first. */
static samp_gpu *sampi_gpu_open(const samp_gpu_config *config, const samp_gpu *like, int *result)
{
    if ((*result = sampi_gpu_check(config))) return NULL;
    if (samp_gpu_available() && config->device >= samp_gpu_available()) {
        *result = SAMP_E_RANGE;
        return NULL;
    }
    samp_gpu shape;
    shape.config = *config;
    size_t size = sampi_gpu_host_layout(&shape, NULL);
    char *base = (char *)SAMP_MALLOC(size);
    if (!base) {
        *result = SAMP_E_NOMEM;
        return NULL;
    }
    samp_gpu *gpu = (samp_gpu *)(void *)base;
    memset(gpu, 0, sizeof *gpu);
    gpu->config = *config;
    sampi_gpu_host_layout(gpu, base);
    /* no chain is on the device; the heap may have an old slot */
    memset(gpu->slot, 0, config->max_rows * sizeof *gpu->slot);
    gpu->mode = samp_gpu_available() ? SAMPI_GPU_ON_DEVICE : SAMPI_GPU_ON_CPU;
    if (config->device == SAMP_GPU_HOST) gpu->mode = SAMPI_GPU_ON_HOST;
    gpu->launches = 1;
    gpu->most = 64 * SAMPI_STEPS;
    gpu->most_splits = UINT32_MAX;
    gpu->teams = SAMPI_TEAMS;
#if SAMPI_OFFLOAD
    gpu->device = config->device;
    gpu->host = omp_get_initial_device();
#endif
    sampi_gpu_give_name(gpu);
    if (gpu->mode != SAMPI_GPU_ON_CPU) *result = sampi_gpu_prepare_device(gpu, like);
    if (*result == SAMP_OK) return gpu;
    samp_gpu_free(gpu);
    return NULL;
}

SAMP_API const char *samp_gpu_device_name(const samp_gpu *gpu) { return gpu ? gpu->name : ""; }

SAMP_API samp_gpu_perf_data samp_gpu_perf(const samp_gpu *gpu)
{
    samp_gpu_perf_data none = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    return gpu ? gpu->perf : none;
}
