/* ---- a batch on the device ----
   Jobs in the stage come in, results go out. A copy takes its time whatever its size, so there is one for everything
   that the device does not have, one for results, and copies of logits only if they are in host memory. Every batch has
   a number, by which the device distinguishes its results and marks from older ones. sampi_gpu_cpu_row samples the rows
   that do not run on the device; no other function here changes a chain, so a failure has nothing to restore. */

/* The caller's strides may be 0, and row_index NULL, for packed rows. All readers of a row's logits or mask use these
   functions: the copies to the device and the rows on the CPU. */
static size_t sampi_gpu_stride(const samp_logits *l) { return l->stride ? l->stride : l->n_vocab; }
static size_t sampi_gpu_data_row(const samp_logits *l, size_t row)
{
    return l->row_index ? (size_t)l->row_index[row] : row;
}
/* Has a row no logits, by its row_index or n_vocab_of? */
static bool sampi_gpu_is_missing(const samp_logits *l, size_t row)
{
    return (l->row_index && l->row_index[row] < 0) || !sampi_row_length(l, row);
}
static const uint32_t *sampi_gpu_mask_row(const samp_logits *l, size_t row)
{
    return l->mask ? l->mask + row * (l->mask_stride ? l->mask_stride : (l->n_vocab + 31) / 32) : NULL;
}

/* Returns the status for which a whole batch is refused, before anything is done. (An error of one row is returned as
   its token.) A context's own limits come first, then those of samp_sample_batch, by its function. */
static int sampi_gpu_check_batch(const samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *l,
                                 const samp_token *out)
{
    if (!gpu || !l || (l->n_rows && (!rows || !out))) return SAMP_E_NULL;
    if (l->n_rows == 0) return SAMP_OK;
    if (l->dtype != gpu->config.dtype) return SAMP_E_DTYPE;
    if (l->n_rows > gpu->config.max_rows || l->n_vocab > gpu->config.max_vocab) return SAMP_E_RANGE;
    return sampi_check_batch(rows, l);
}

/* Checks that the caller's arrays are in device memory: the logits, from the first row that is read to the last, and
   `out`. */
static int sampi_gpu_check_memory(samp_gpu *gpu, const samp_logits *l, const samp_token *out)
{
    const size_t size = sampi_gpu_element_size(l->dtype), stride = sampi_gpu_stride(l);
    size_t first = SIZE_MAX, end = 0; /* in elements */
    int status = SAMP_OK;
    for (size_t r = 0; r < l->n_rows && gpu->config.data_on_device; r++) {
        if (sampi_gpu_is_missing(l, r)) continue; /* an error of this row only */
        const size_t at = sampi_gpu_data_row(l, r) * stride, until = at + sampi_row_length(l, r);
        first = at < first ? at : first;
        end = until > end ? until : end;
    }
    if (first < end)
        status = sampi_gpu_require_memory(gpu, (const char *)l->data + first * size, (end - first) * size);
    if (status || !gpu->config.out_on_device) return status;
    if ((uintptr_t)out % sizeof *out) return SAMP_E_RANGE;
    return sampi_gpu_require_memory(gpu, out, l->n_rows * sizeof *out);
}

/* Samples one row on the CPU, fetched if it is on the device, by samp_sample_batch as a batch of one, so that the
   result is the same. It is called after all jobs, for rows that were never sent to the device, and for declined ones,
   whose chains the device has not changed. Changes the chain and its log-probabilities; returns the token or the
   status. */
static samp_token sampi_gpu_cpu_row(samp_gpu *gpu, samp_sampler *const *row, const samp_logits *l, size_t r)
{
    const size_t size = sampi_gpu_element_size(l->dtype);
    const char *data = (const char *)l->data + sampi_gpu_data_row(l, r) * sampi_gpu_stride(l) * size;
    if (gpu->mode == SAMPI_GPU_ON_DEVICE && gpu->config.data_on_device) {
        if (sampi_gpu_get(gpu, gpu->raw, data, sampi_row_length(l, r) * size)) return SAMP_E_DEVICE;
        data = gpu->raw;
    }
    samp_logits one = *l;
    samp_token token;
    one.data = data;
    one.n_rows = one.n_threads = 1;
    one.n_vocab = sampi_row_length(l, r);
    one.n_vocab_of = NULL;
    one.stride = 0;
    one.row_index = NULL;
    one.mask = sampi_gpu_mask_row(l, r);
    one.logprobs = l->logprobs ? l->logprobs + r : NULL;
    int status = samp_sample_batch(row, &one, &token);
    return status ? status : token;
}

/* Writes a job's place, and notes whether the device has another one. */
static void sampi_gpu_set_place(samp_gpu *gpu, uint32_t j, size_t data_row)
{
    sampi_gpu_place *place = (sampi_gpu_place *)(void *)(gpu->stage + gpu->place_at) + j;
    gpu->moved |= place->data_row != data_row || place->out_row != gpu->row_of[j];
    place->data_row = data_row;
    place->out_row = gpu->row_of[j];
}

/* Sends the rows for the device: their logits if they are in host memory, masks, and places (where each row's logits
   and token are). On the device such logits are packed; logits that are there already stay in place. Places are written
   to the stage for all jobs, also kept ones, because the next batch may have another order of rows; upload_stage sends
   them. */
static int sampi_gpu_upload_rows(samp_gpu *gpu, const samp_logits *l)
{
    sampi_gpu_args *a = &gpu->args;
    const size_t size = sampi_gpu_element_size(l->dtype), stride = sampi_gpu_stride(l), row = l->n_vocab * size;
    const size_t words = (l->n_vocab + 31) / 32;
    int status = SAMP_OK;
    a->data = gpu->config.data_on_device ? (const char *)l->data : gpu->block + gpu->data_at;
    a->stride = gpu->config.data_on_device ? stride : l->n_vocab;
    a->mask = l->mask ? (const uint32_t *)(const void *)(gpu->block + gpu->mask_at) : NULL;
    a->mask_stride = words;
    gpu->moved = gpu->n_jobs > gpu->n_placed;
    for (uint32_t j = 0; j < gpu->n_jobs && !status; j++) {
        const size_t r = gpu->row_of[j], from = sampi_gpu_data_row(l, r);
        sampi_gpu_set_place(gpu, j, gpu->config.data_on_device ? from : j);
        if (l->mask)
            status = sampi_gpu_put(gpu, gpu->block + gpu->mask_at + j * words * 4, sampi_gpu_mask_row(l, r),
                                   words * 4);
        if (gpu->config.data_on_device || status) continue;
        uint32_t n = 1; /* neighbouring rows are sent together */
        while (!l->mask && stride == l->n_vocab && j + n < gpu->n_jobs &&
               sampi_gpu_data_row(l, gpu->row_of[j + n]) == from + n) {
            sampi_gpu_set_place(gpu, j + n, j + n);
            n++;
        }
        status = sampi_gpu_put(gpu, gpu->block + gpu->data_at + j * row, (const char *)l->data + from * stride * size,
                               n * row);
        j += n - 1;
    }
    return status;
}

/* Returns the largest n_top of a batch's rows. All rows of args.basis have room for so many, and host and device must
   use the same number. */
static uint32_t sampi_gpu_most_top(const samp_gpu *gpu, const samp_logits *l)
{
    int32_t most = 0;
    for (uint32_t j = 0; l->logprobs && j < gpu->n_jobs; j++) {
        const samp_logprobs *lp = &l->logprobs[gpu->row_of[j]];
        if (lp->raw.n_top > most) most = lp->raw.n_top;
        if (lp->processed.n_top > most) most = lp->processed.n_top;
    }
    return (uint32_t)most;
}

/* Sends what the device does not have: rules, ids, args (addresses) and places, which come before the jobs; and of the
   jobs (chains) the new ones, as one range from the first to the last. The args are written to the stage last, because
   they contain where the rules are. It takes one copy, or two if there are many kept jobs before the new ones; none if
   the teams read the args on the desk, and the device has all else. */
static int sampi_gpu_upload_stage(samp_gpu *gpu)
{
    enum { NEAR = 16384 }; /* bytes; fewer take as long */
    const size_t rules = (gpu->n_rules * sizeof *gpu->rule + 15) & ~(size_t)15;
    const size_t ids = (gpu->n_ids * sizeof *gpu->id + 15) & ~(size_t)15;
    size_t from = gpu->args_at - rules - ids, until = gpu->place_at + gpu->n_jobs * sizeof(sampi_gpu_place);
    size_t new_from = gpu->jobs_at + gpu->new_from * gpu->args.job_size;
    size_t new_until = gpu->jobs_at + gpu->new_until * gpu->args.job_size;
    /* jobs between the places and the first new job would be sent needlessly, which is done only if they are few */
    const bool any = gpu->new_from < gpu->new_until, together = any && new_from < until + NEAR;
    char *device = gpu->block + gpu->job_at;
    /* rules and ids are copied to where they end at the args, so that one copy sends all */
    memcpy(gpu->stage + from, gpu->rule, gpu->n_rules * sizeof *gpu->rule);
    memcpy(gpu->stage + from + rules, gpu->id, gpu->n_ids * sizeof *gpu->id);
    gpu->args.rule = (const sampi_gpu_rule *)(const void *)(device + from);
    gpu->args.id = (const int32_t *)(const void *)(device + from + rules);
    memcpy(gpu->stage + gpu->args_at, &gpu->args, sizeof gpu->args);
    memcpy(gpu->desk, &gpu->args, sizeof gpu->args);
    if (sampi_gpu_is_direct(gpu) && !any && !gpu->moved) return SAMP_OK;
    if (together) until = new_until;
    if (gpu->n_placed < gpu->n_jobs) gpu->n_placed = gpu->n_jobs;
    int status = sampi_gpu_put(gpu, device + from, gpu->stage + from, until - from);
    if (any && !together && !status)
        status = sampi_gpu_put(gpu, device + new_from, gpu->stage + new_from, new_until - new_from);
    return status;
}

/* Whether a row of the batch has a chain that begins with a long pass: top_p or typical weighs all tokens, and again
   those that it keeps. */
static bool sampi_gpu_is_long(const samp_gpu *gpu)
{
    bool is = false;
    for (uint32_t j = 0; j < gpu->n_jobs; j++) {
        const sampi_gpu_job *job = sampi_gpu_job_at(gpu, j);
        uint32_t at = 0;
        while (at < job->n_steps && job->step[at].kind == SAMPI_TEMP) at++;
        is |= at < job->n_steps && (job->step[at].kind == SAMPI_TOP_P || job->step[at].kind == SAMPI_TYPICAL);
    }
    return is;
}

/* Returns how many of at most `teams` teams a row gets: its share, but not more than it has groups of 1024 tokens. Up
   to eight rows take fewer than the device could run: the end of more teams would take longer than the passes become
   shorter, unless passes are long. Each of these has one team more, a leader, if that leaves it at least two
   (sampi_gpu_leads). */
static uint32_t sampi_gpu_splits(uint32_t teams, uint32_t n_rows, uint32_t groups, bool is_long)
{
    const bool few = n_rows <= SAMPI_ROWS_FEW;
    const uint32_t most = n_rows == 1 ? SAMPI_TEAMS_ONE : few && !is_long ? SAMPI_TEAMS_FEW : SAMPI_TEAMS;
    const uint32_t n = teams < most ? teams : most, all = n_rows < n ? n / n_rows : 1;
    const uint32_t share = few && all > 2 ? all - 1 : all;
    return share < groups ? share : groups;
}

/* Returns whether each row has a leader: a team that only advances it. With few rows it is alone on its multiprocessor,
   which then keeps the instructions that no other team runs. */
static bool sampi_gpu_leads(uint32_t teams, uint32_t n_rows, uint32_t splits)
{
    return n_rows <= SAMPI_ROWS_FEW && splits > 1 && n_rows * (splits + 1) <= teams;
}

/* Sends a batch. Its number and shape are set when the rest of the args is known. Teams wait for each other only if
   all of them run at once; otherwise a team could wait for one that cannot begin before it ends. So if they wait, no
   more teams are used than run at once; a row's only team does not wait. */
static int sampi_gpu_upload(samp_gpu *gpu, const samp_logits *l, samp_token *out)
{
    sampi_gpu_args *a = &gpu->args;
    int status = sampi_gpu_upload_rows(gpu, l);
    if (status) return status;
    a->batch = ++gpu->batch;
    a->n_rows = gpu->n_jobs;
    a->n_vocab = (uint32_t)l->n_vocab;
    a->groups = (a->n_vocab + SAMPI_GROUP - 1) / SAMPI_GROUP;
    a->splits = sampi_gpu_splits(gpu->wait ? gpu->teams : SAMPI_TEAMS, a->n_rows, a->groups,
                                 a->n_rows <= SAMPI_ROWS_FEW && sampi_gpu_is_long(gpu));
    if (a->splits > gpu->most_splits) a->splits = gpu->most_splits;
    a->wait = a->splits > 1 ? gpu->wait : 0;
    a->leaders = a->wait && sampi_gpu_leads(gpu->teams, a->n_rows, a->splits);
    a->type = (int32_t)l->dtype;
    a->pairs = !SAMPI_BIG_ENDIAN && sampi_gpu_element_size(l->dtype) == 2 && a->stride % 2 == 0 &&
               (uintptr_t)a->data % 4 == 0;
    a->out = gpu->config.out_on_device ? out : NULL;
    a->n_top = sampi_gpu_most_top(gpu, l);
    return sampi_gpu_upload_stage(gpu);
}

/* Returns the index of the user's sampler that a stopped row waits for: the first in its chain that was not called. The
   job has a step for each of them, in the same order. */
static int sampi_gpu_stopped_at(const samp_gpu *gpu, uint32_t job, const sampi_gpu_route *r)
{
    int users = 0;
    for (int at = 0; at < r->n; at++) {
        if (!sampi_is_custom(r->list[at])) continue;
        if (users == gpu->called[job]) return at;
        users++;
    }
    return r->n;
}

/* Checks what a user's sampler has left of n tokens, for call_user. *token becomes the token that it has chosen as the
   chain's last sampler, else it stays -1. The arrays are on the device, where sampi_gpu_repack checks them. Only those
   of a last sampler are read and checked here, because its row does not continue: as the CPU checks what apply leaves,
   and, if a sampler after it is off, as that one does (checked). */
static int sampi_gpu_judge_user(samp_gpu *gpu, const samp_gpu_data *data, size_t n, bool last, bool checked,
                                int32_t *token)
{
    samp_token_data_array cur = { gpu->candidate, data->size, data->selected, false };
    int32_t *id = (int32_t *)(void *)gpu->item; /* room for SAMP_GPU_LIST items */
    float *logit = (float *)(void *)(id + SAMP_GPU_LIST);
    if (data->size == 0) return SAMP_E_EMPTY;
    if (data->size > n) return SAMP_E_RANGE;
    if (!last) return SAMP_OK;
    int status = sampi_gpu_get(gpu, id, data->ids, data->size * sizeof *id);
    if (!status) status = sampi_gpu_get(gpu, logit, data->logits, data->size * sizeof *logit);
    for (size_t i = 0; i < data->size && !status; i++) {
        if (id[i] < 0 || (uint32_t)id[i] >= gpu->args.n_vocab) status = SAMP_E_RANGE;
        cur.data[i].id = id[i];
        cur.data[i].logit = logit[i];
    }
    if (!status && sampi_life_has_doubled_id(&cur)) status = SAMP_E_RANGE;
    const int found = status ? status : sampi_check(&cur);
    if (found == SAMP_E_NAN || checked) status = found;
    if (!status) status = sampi_life_check_selected(&cur);
    if (!status) *token = cur.data[cur.selected].id;
    return status;
}

/* Calls the user's sampler of a stopped row, and lets the row continue: writes the number of remaining tokens, and
   withdraws the row's result, so that the teams see the row as unfinished. No kernel runs meanwhile, so both can be
   written. If the sampler has failed or chosen, the row only needs to end; the error with which it does is ignored,
   because the verdict overrides it. */
static int sampi_gpu_call_user(samp_gpu *gpu, uint32_t job, samp_sampler *chain)
{
    const uint32_t n = gpu->result[job].n_list, none = 0;
    const size_t first = (size_t)job * SAMP_GPU_LIST;
    sampi_gpu_route r;
    sampi_gpu_find_route(gpu, (sampi_sampler *)chain, &r);
    const int at = sampi_gpu_stopped_at(gpu, job, &r);
    samp_sampler *user = &r.list[at]->base;
    samp_gpu_data data;
    data.device = gpu->mode == SAMPI_GPU_ON_DEVICE ? gpu->device : SAMP_GPU_HOST;
    data.ids = gpu->args.user_id + first;
    data.logits = gpu->args.user_logit + first;
    data.probs = gpu->args.user_p + first;
    data.size = n;
    data.selected = -1;
    data.sorted = false;
    int32_t token = -1;
    int status = sampi_life_user_status(user->iface->apply_gpu(user, &data));
    gpu->called[job]++;
    if (!status) status = sampi_gpu_judge_user(gpu, &data, n, at == r.n - 1, r.checked >> at & 1, &token);
    /* then the device has nothing more to do for this row */
    const bool decided = status || token >= 0;
    if (decided) gpu->verdict[job] = status ? status : token + 1;
    const uint32_t size = decided ? SAMPI_GPU_LEAVE : (uint32_t)data.size;
    /* the size is written first, and then the row becomes unfinished again */
    gpu->result[job].batch = none;
    status = sampi_gpu_put(gpu, &gpu->args.state[job].n_list, &size, sizeof size);
    return status ? status : sampi_gpu_put(gpu, &gpu->args.result[job].batch, &none, sizeof none);
}

/* Launches kernels until every row has its result. If each pass is a launch, it begins with as many launches as the
   last batch needed, because a look at the results in between costs a copy, and a launch without work costs little. If
   teams wait for each other, one launch is mostly enough for all passes; if it was not, a team has waited in vain, and
   in later batches they wait half as long, in the end not at all. Users' samplers are called between launches. It
   writes results, counts and verdicts; no chain accepts a token yet. */
static int sampi_gpu_run_batch(samp_gpu *gpu, samp_sampler *const *rows)
{
    uint32_t launched = 0, passes = 0, left = gpu->n_jobs, waiting;
    while (left > 0) {
        const uint32_t n = launched == 0 ? gpu->launches : 1;
        for (uint32_t i = 0; i < n; i++) sampi_gpu_launch(gpu);
        launched += n;
        /* no row needs so many launches: the device does not work, and this loop must end */
        if (launched > gpu->most) return SAMP_E_DEVICE;
        if (!gpu->desk_there && sampi_gpu_get(gpu, gpu->result, gpu->args.result, gpu->n_jobs * sizeof *gpu->result))
            return SAMP_E_DEVICE;
        left = passes = waiting = 0;
        for (uint32_t j = 0; j < gpu->n_jobs; j++) {
            const sampi_gpu_result *res = &gpu->result[j];
            /* a result of an earlier batch does not count as one */
            const bool stopped = res->batch == gpu->batch && !res->status && res->token == SAMPI_GPU_STOPPED;
            waiting += res->batch != gpu->batch;
            left += stopped || res->batch != gpu->batch;
            if (res->passes > passes) passes = res->passes;
            if (stopped && sampi_gpu_call_user(gpu, j, rows[gpu->row_of[j]])) return SAMP_E_DEVICE;
        }
        if (waiting && gpu->args.wait) gpu->wait /= 2;
    }
    for (uint32_t j = 0; j < gpu->n_jobs; j++) gpu->perf.n_passes += gpu->result[j].passes;
    /* the next batch is mostly like this one */
    gpu->launches = gpu->args.wait || gpu->args.splits == 1 ? 1 : passes;
    return SAMP_OK;
}
