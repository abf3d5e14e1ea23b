/* ---- what comes back ----
   Results, and for some rows the list of remaining tokens, come in; tokens go out, and the chains are updated as
   samp_sample_batch would. sampi_gpu_end_job does it for one job after the other, when the device has only lists left
   to be read. The room ends with samp_gpu_sample_batch, which runs a whole batch. */

/* Returns the order in which a sampler last sorted the array, for fetch; by_score is memory for it, if the sampler was
   typical. */
static const sampi_order *sampi_gpu_order_of(const sampi_gpu_result *res, sampi_order *by_score)
{
    by_score->score = sampi_typical_score;
    by_score->max = (double)res->order_max;
    by_score->mean = res->order_mean;
    return res->order == SAMPI_GPU_BY_SCORE ? by_score : &SAMPI_BY_LOGIT;
}

/* Makes the array that the samplers so far would have made of the whole vocabulary, from the remaining tokens: sorted
   by the logits at the time of the last sort, with the current logits, and p of the time when it was last set. It uses
   sampling.h's own sort, because only that puts ties as the CPU would. For go_on, after an export. It writes
   gpu->item and gpu->candidate, the context's buffers for a single row, so the array is valid until the next call. */
static int sampi_gpu_fetch(samp_gpu *gpu, uint32_t job, samp_token_data_array *cur)
{
    const sampi_gpu_result *res = &gpu->result[job];
    const sampi_gpu_item *from = gpu->args.item + ((size_t)job * 2 + res->buffer) * SAMP_GPU_LIST;
    samp_token_data *d = gpu->candidate;
    sampi_order by_score;
    int status = sampi_gpu_get(gpu, gpu->item, from, res->n_list * sizeof *from);
    if (status) return status;
    for (uint32_t i = 0; i < res->n_list; i++) { /* p carries the index; the sort is by the logits of the
                                                    last sort */
        d[i].id = (samp_token)sampi_gpu_id(gpu->item[i].key);
        d[i].logit = res->order ? gpu->item[i].at_order : 0.0f;
        memcpy(&d[i].p, &i, 4);
    }
    if (res->n_list > 1) sampi_sort_part(sampi_gpu_order_of(res, &by_score), d, res->n_list, res->n_list, 64);
    for (uint32_t k = 0, i; k < res->n_list; k++) {
        memcpy(&i, &d[k].p, 4);
        d[k].logit = sampi_gpu_logit(gpu->item[i].key);
        d[k].p = res->p_set ? (float)(sampi_exp(res->p_max, gpu->item[i].at_p) / (double)res->p_z) : 0.0f;
    }
    cur->data = d;
    cur->size = res->n_list;
    cur->selected = -1;
    cur->sorted = res->sorted != 0;
    sampi_recheck_order(cur);
    return SAMP_OK;
}

/* Runs the rest of a chain over the remaining tokens, by the samplers' definitions. ordinal counts the draws on the
   device, so that the next sampler of a kind gets its own random numbers. It may change the samplers' pending state
   (now), which commit_row restores if this fails. */
static int sampi_gpu_go_on(samp_gpu *gpu, uint32_t job, const sampi_gpu_route *r, sampi_sampler *s, samp_token *token)
{
    samp_token_data_array cur;
    sampi_ordinals ordinal = { { 0 }, false, false, false, NULL };
    int status = sampi_gpu_fetch(gpu, job, &cur);
    for (int i = 0; i < r->n_device; i++) ordinal.next[r->list[i]->kind]++;
    for (int i = r->n_device; i < r->n && !status; i++) {
        status = sampi_life_run(r->list[i], &cur, s->position, &ordinal);
        if (!status && (r->checked >> i & 1)) status = sampi_check(&cur);
    }
    if (!status) status = sampi_life_check_selected(&cur);
    if (!status) *token = cur.data[cur.selected].id;
    return !status && (uint32_t)*token >= gpu->args.n_vocab ? (int)SAMP_E_RANGE : status;
}

/* Returns the step (sampler) that selects: the last one before that of log-probabilities. No other step's numbers
   change with the token. */
static sampi_gpu_step *sampi_gpu_selecting(sampi_gpu_job *job)
{
    sampi_gpu_step *last = &job->step[job->n_steps - 1];
    return last->kind == SAMPI_GPU_LOGPROBS ? last - 1 : last;
}

/* Updates the host's copy of a job, as the device has updated its own, at the end of commit_row. The copy is sent to
   the device if a later batch has a job with more steps: then every job gets a larger place (sampi_gpu_widen_jobs). The
   rules themselves are not updated: their copy in the stage is lost, and `side` says where the device has them. */
static void sampi_gpu_follow(samp_gpu *gpu, uint32_t job)
{
    const sampi_gpu_slot *slot = &gpu->slot[job];
    const sampi_sampler *patcher = slot->patcher;
    sampi_gpu_job *copy = sampi_gpu_job_at(gpu, job);
    sampi_gpu_step *step = sampi_gpu_selecting(copy);
    copy->position = slot->source.chain->position;
    sampi_gpu_follow_last(step, slot->last);
    if (!patcher) return;
    if (patcher->kind == SAMPI_LOGIT_BIAS) { /* the rules of logit_bias move once, from where they were sent */
        copy->side = SAMPI_GPU_LEFT;
        return;
    }
    copy->side = copy->side != SAMPI_GPU_LEFT ? SAMPI_GPU_LEFT : SAMPI_GPU_RIGHT;
    copy->ring = patcher->u.penalties.ring;
    copy->n_ids = copy->step[copy->kept_step - 1].n = patcher->u.penalties.n;
}

/* Takes the token of a job into its chain: state, position, acceptance. Only users' samplers, and those that run on the
   CPU over the remaining tokens, can fail here: then state and position are restored, and the row gets the status.
   Users' samplers accept first, because they may refuse; after them nothing can fail. A row's own error returns before
   anything is done: its chain is as it was, and so is the device's copy. A change of the chain counts as an edit, so
   the slot records the new number. */
static samp_token sampi_gpu_commit_row(samp_gpu *gpu, uint32_t job, samp_sampler *chain)
{
    const sampi_gpu_result *res = &gpu->result[job];
    sampi_gpu_slot *slot = &gpu->slot[job];
    sampi_sampler *s = (sampi_sampler *)chain;
    samp_token token = res->token;
    const uint64_t position = s->position;
    int status = res->status;
    /* a user's sampler's decision overrides the device's result */
    if (gpu->verdict[job] < 0) status = gpu->verdict[job];
    if (gpu->verdict[job] > 0) status = SAMP_OK, token = gpu->verdict[job] - 1;
    if (status) return status;
    sampi_life_moves(s);
    if (slot->custom || token < 0) sampi_life_save_state(s); /* a step that the device has done cannot fail now */
    if (token < 0) {
        sampi_gpu_route r;
        sampi_gpu_find_route(gpu, s, &r);
        status = sampi_gpu_go_on(gpu, job, &r, s, &token);
    } else {
        sampi_gpu_update_last(sampi_gpu_selecting(sampi_gpu_job_at(gpu, job)), slot->last, token, res->value);
    }
    if (!status && slot->draws) s->position++;
    if (!status && slot->custom) status = sampi_life_accept(s, token, true);
    if (!status && slot->n_listeners > SAMPI_GPU_LISTENERS) {
        status = sampi_life_accept(s, token, false);
    } else if (!status) { /* only these members need to accept the token */
        sampi_ring_push(&s->u.chain.ring, s->u.chain.prev, token);
        for (int i = 0; i < slot->n_listeners; i++)
            sampi_traits_of(slot->listener[i]->kind)->hooks->accept(slot->listener[i], token);
    }
    if (status) {
        sampi_life_restore_state(s);
        s->position = position;
        return status;
    }
    sampi_life_moved(s);
    s->perf.n_sample++;
    s->perf.n_accept++;
    slot->source.n_edits = s->n_edits;
    if (slot->kept) sampi_gpu_follow(gpu, job);
    return token;
}

/* Copies the bases of all jobs' log-probabilities (maximum, sum, ranks) at once, which are packed for this batch. That
   comes before the first chain is updated, because it can fail. */
static int sampi_gpu_get_basis(samp_gpu *gpu)
{
    return sampi_gpu_get(gpu, gpu->basis, gpu->args.basis, gpu->n_jobs * sampi_gpu_basis_size(gpu->args.n_top));
}

/* Writes one set of a job's log-probabilities to the caller's: set 0 as given, 1 after the chain. It uses the functions
   of a row on the CPU, on the same integers. For end_job, once the row has its token. */
static void sampi_gpu_fill_set(const samp_gpu *gpu, uint32_t job, size_t which, samp_token token,
                               samp_logprob_set *set)
{
    const sampi_gpu_basis *basis = &gpu->basis[job * 2 + which];
    const uint64_t *top = sampi_gpu_top_keys(gpu->basis, gpu->n_jobs, gpu->args.n_top, job, which);
    const sampi_sums sums = { basis->max, 0, basis->z, basis->s, 0 };
    int32_t n = 0;
    sampi_row_set_chosen(set, token, basis->rank - 1, sampi_row_logprob(basis->l, basis->max, basis->z));
    for (uint32_t i = 0; i < basis->n_top; i++)
        n = sampi_row_set_top(set, n, (samp_token)sampi_gpu_id(top[i]), sampi_gpu_logit(top[i]));
    sampi_row_finish_set(set, n, &sums);
}

/* Prefetches n bytes from p, line by line, for writing. */
static void sampi_gpu_prefetch_lines(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch((const char *)p + i, 1);
}

/* Prefetches the samplers of later rows. Samplers are many small blocks, which the CPU's cache loses between two
   batches; a block is asked for when the pointer to it has arrived. For divide, where it must walk a chain. It writes
   nothing. */
static void sampi_gpu_prefetch(samp_sampler *const *rows, size_t r, size_t n)
{
    const sampi_sampler *far = r + 6 < n ? (const sampi_sampler *)rows[r + 6] : NULL;
    const sampi_sampler *next = r + 3 < n ? (const sampi_sampler *)rows[r + 3] : NULL;
    const sampi_sampler *soon = r + 1 < n ? (const sampi_sampler *)rows[r + 1] : NULL;
    if (far) __builtin_prefetch(far), __builtin_prefetch(&far->u);
    if (next && sampi_is_chain(next)) __builtin_prefetch(next->u.chain.item);
    for (int32_t i = 0; soon && sampi_is_chain(soon) && i < soon->u.chain.n; i++)
        sampi_gpu_prefetch_lines(soon->u.chain.item[i], sizeof *soon);
}

/* Prefetches what the token of a later job (row) will be written to, for end_job; the job's slot says what that is. */
static void sampi_gpu_prefetch_commit(const samp_gpu *gpu, uint32_t j)
{
    const sampi_gpu_slot *far = j + 6 < gpu->n_jobs ? &gpu->slot[j + 6] : NULL;
    const sampi_gpu_slot *next = j + 3 < gpu->n_jobs ? &gpu->slot[j + 3] : NULL;
    if (far) sampi_gpu_prefetch_lines(far->source.chain, sizeof *far->source.chain);
    for (int i = 0; far && i < far->n_listeners && i < SAMPI_GPU_LISTENERS; i++)
        sampi_gpu_prefetch_lines(far->listener[i], sizeof *far->listener[i]);
    if (!next || next->n_listeners > SAMPI_GPU_LISTENERS) return;
    const sampi_chain *c = &next->source.chain->u.chain;
    const sampi_past *past = &next->source.chain->past;
    sampi_gpu_prefetch_lines(c->prev + c->ring.head, 1);
    if (past->made) sampi_gpu_prefetch_lines(past->word + (size_t)past->width * (size_t)past->next, 1);
    for (int i = 0; i < next->n_listeners; i++) {
        const sampi_sampler *s = next->listener[i];
        if (s->kind == SAMPI_PENALTIES) sampi_gpu_prefetch_lines(sampi_penalties_list(s), s->part_size[1] / 2);
    }
}

/* Divides a batch: makes jobs (numbered from 0) of the rows for the device. A row whose chain is there already is
   recognised without looking at the chain's members, which saves most of the host's work. Job n is the n-th row for the
   device, so a chain is recognised only in the same place of the batch. Writes where and token (a row's error) of each
   row, and the data of each job. */
static void sampi_gpu_divide(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *l)
{
    gpu->n_jobs = gpu->n_rules = gpu->n_ids = 0;
    gpu->new_from = UINT32_MAX;
    gpu->new_until = 0;
    for (size_t r = 0; r < l->n_rows; r++) {
        sampi_sampler *s = (sampi_sampler *)rows[r];
        sampi_gpu_route route;
        const samp_logprobs *lp = l->logprobs ? &l->logprobs[r] : NULL;
        const bool whole = sampi_row_length(l, r) == l->n_vocab; /* the kernels have one length for all rows */
        const bool fits = whole && (!lp || sampi_gpu_fits_logprobs(gpu, lp)) &&
                          !(s && sampi_life_is_short(s, l->n_vocab)),
                   has = s && fits && sampi_gpu_has(gpu, s, l->n_vocab, lp);
        gpu->token[r] = s ? SAMP_OK : SAMP_E_NULL;
        if (!has) sampi_gpu_prefetch(rows, r, l->n_rows);
        if (s && !has) sampi_gpu_find_route(gpu, s, &route);
        if (s && !has) gpu->token[r] = route.status;
        /* a row without logits fails, and its chain stays as it is */
        if (!gpu->token[r] && sampi_gpu_is_missing(l, r)) gpu->token[r] = SAMP_E_RANGE;
        gpu->where[r] = SAMPI_GPU_BY_NOBODY;
        if (gpu->token[r]) continue;
        gpu->where[r] = SAMPI_GPU_BY_CPU; /* unless it becomes a job */
        if (!fits) continue;
        if (!has && !(route.n_device && sampi_gpu_pack(gpu, s, &route, l->n_vocab, lp))) continue;
        gpu->where[r] = SAMPI_GPU_BY_DEVICE;
        gpu->row_of[gpu->n_jobs] = (uint32_t)r;
        gpu->verdict[gpu->n_jobs] = gpu->called[gpu->n_jobs] = 0;
        gpu->perf.n_kept += has;
        gpu->n_jobs++;
    }
}

/* Takes the result of a job (from the device) into its row: the token, the chain's state, log-probabilities. Returns
   true if the kernels have left the row's token, or status, in a caller's `out` on the device. A row that the device
   has declined is only marked for sampi_gpu_cpu_row, which samples it later. */
static bool sampi_gpu_end_job(samp_gpu *gpu, uint32_t j, samp_sampler *const *rows, const samp_logits *logits)
{
    const sampi_gpu_result *res = &gpu->result[j];
    const size_t r = gpu->row_of[j];
    if (res->status == SAMPI_GPU_DECLINED) {
        gpu->where[r] = SAMPI_GPU_BY_CPU;
        gpu->slot[j].kept = false; /* its last sampler may have learnt from the draw already */
        gpu->perf.n_declined++;
        return false;
    }
    if (res->token < 0 && !res->status && !gpu->verdict[j])
        gpu->perf.n_mixed++;
    else
        gpu->perf.n_device++;
    sampi_gpu_prefetch_commit(gpu, j);
    gpu->token[r] = sampi_gpu_commit_row(gpu, j, rows[r]);
    if (logits->logprobs && gpu->token[r] >= 0) {
        sampi_gpu_fill_set(gpu, j, 0, gpu->token[r], &logits->logprobs[r].raw);
        sampi_gpu_fill_set(gpu, j, 1, gpu->token[r], &logits->logprobs[r].processed);
    }
    return gpu->token[r] == (res->status ? res->status : res->token);
}

/* Runs a batch: rows become jobs, the jobs are sent to the device, kernels run until each has its result, and results
   are taken into the chains; then the CPU samples the other rows. A failure before the results are taken leaves every
   chain as it was. */
SAMP_API int samp_gpu_sample_batch(samp_gpu *gpu, samp_sampler *const *rows, const samp_logits *logits,
                                   samp_token *out)
{
    int status = sampi_gpu_check_batch(gpu, rows, logits, out);
    if (status || logits->n_rows == 0) return status;
    const size_t n_rows = logits->n_rows, n_bytes = n_rows * sizeof *out;
    const bool on_host = !gpu->config.data_on_device && !gpu->config.out_on_device;
    if (gpu->mode == SAMPI_GPU_ON_CPU || (gpu->why[0] && on_host)) {
        gpu->perf.n_cpu += n_rows;
        return samp_sample_batch(rows, logits, out);
    }
    status = sampi_gpu_check_memory(gpu, logits, out);
    if (!status) status = sampi_gpu_start_again(gpu);
    if (status) return status;
    sampi_gpu_divide(gpu, rows, logits);
    /* a failure in any of these three calls forgets the batch */
    if (gpu->n_jobs) status = sampi_gpu_upload(gpu, logits, out);
    if (!status && gpu->n_jobs) status = sampi_gpu_run_batch(gpu, rows);
    if (!status && gpu->n_jobs && logits->logprobs) status = sampi_gpu_get_basis(gpu);
    if (status) return sampi_gpu_forget(gpu, status);
    size_t written = 0; /* rows whose token the kernels have left in `out` on the device */
    for (uint32_t j = 0; j < gpu->n_jobs; j++) written += sampi_gpu_end_job(gpu, j, rows, logits);
    for (size_t r = 0; r < n_rows; r++) {
        if (gpu->where[r] != SAMPI_GPU_BY_CPU) continue;
        gpu->perf.n_cpu++;
        gpu->token[r] = sampi_gpu_cpu_row(gpu, &rows[r], logits, r);
    }
    if (!gpu->config.out_on_device) {
        memcpy(out, gpu->token, n_bytes);
        return SAMP_OK;
    }
    /* only the host has the tokens of the other rows */
    return written < n_rows ? sampi_gpu_put(gpu, out, gpu->token, n_bytes) : SAMP_OK;
}
