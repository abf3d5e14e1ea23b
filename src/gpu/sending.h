/* ---- from a chain to steps ----
   sampi_gpu_pack takes a chain and its route, and writes a job to the stage (the host's copy of what is sent), with its
   rules and ids after those of the jobs before. The device may keep the job, so it depends only on the chain, the
   vocabulary and the log-probabilities asked for; the context's slot records these three. sampi_gpu_divide
   (gpu/results.h) calls it for a row whose chain the device does not have. It writes the stage, the context's counts of
   rules and ids, and the slot. */

/* Adds an id to those that the row's rules change, unless it is there. The ids are ascending, because the device
   searches them by bisection; each occurs once, because a changed token has one logit however many rules it has.
   Returns false if there are too many; the row then goes to the CPU. For add_rule, on gpu->id from job->id on. */
static bool sampi_gpu_add_id(samp_gpu *gpu, sampi_gpu_job *job, int32_t id)
{
    int32_t *list = gpu->id + job->id;
    const uint32_t n = job->n_ids;
    const bool behind = n == 0 || list[n - 1] < id; /* mostly the ids come in order */
    const uint32_t lo = behind ? n : (uint32_t)sampi_find_token(list, sizeof *list, n, id);
    if (lo < n && list[lo] == id) return true;
    if (n == SAMPI_RULES) return false;
    memmove(&list[lo + 1], &list[lo], (n - lo) * sizeof *list);
    list[lo] = id;
    job->n_ids++;
    return true;
}

/* Adds a rule to a step (a sampler). Rules are sorted by id; those with one id keep the order in which they came, which
   is the order in which they apply. The limit is for all rules of a row together, as is the device's room. Returns
   false if the limit is reached. It writes gpu->rule, after the rules of the row's earlier steps, and the row's ids. */
static bool sampi_gpu_add_rule(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, sampi_gpu_rule rule)
{
    sampi_gpu_rule *list = gpu->rule + step->rule;
    uint32_t i = step->n;
    if (step->rule + step->n - gpu->n_rules >= SAMPI_RULES) return false;
    for (; i > 0 && list[i - 1].id > rule.id; i--) list[i] = list[i - 1];
    list[i] = rule;
    step->n++;
    return sampi_gpu_add_id(gpu, job, rule.id);
}

/* Makes the rules of logit_bias, for fill_rules: one per bias. A bias of -inf masks, which is a scale of 0; any other
   is a negative fall, so the device need not know which sampler made the rule. */
static bool sampi_gpu_fill_biases(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                                  size_t n_vocab)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        const bool masks = sampi_masked(bias[i].bias);
        sampi_gpu_rule rule = { bias[i].token, 0, masks ? 0.0f : 1.0f, masks ? 0.0f : -bias[i].bias, 0 };
        if ((size_t)rule.id < n_vocab && !sampi_gpu_add_rule(gpu, job, step, rule)) return false;
    }
    return true;
}

/* Makes the rules (one per logit) of a sampler that changes single logits; returns false if they are too many. Tokens
   beyond the vocabulary get none. The CPU's functions compute the numbers; only dry's list is made here, in the
   sampler's scratch, as each draw on the CPU does. */
static bool sampi_gpu_fill_rules(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                                 size_t n_vocab)
{
    if (s->kind == SAMPI_LOGIT_BIAS) return sampi_gpu_fill_biases(gpu, job, step, s, n_vocab);
    const bool dry = s->kind == SAMPI_DRY;
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    const uint32_t n = dry ? sampi_dry_list(s, list) : s->u.penalties.n;
    for (uint32_t i = 0; i < n; i++) {
        sampi_gpu_rule rule = { list[i].token, 0, 1.0f, 0.0f, list[i].count };
        if (!dry) rule.scale = s->u.penalties.repeat;
        rule.fall = dry ? sampi_dry_penalty(s, &list[i]) : sampi_count_penalty(s, &list[i]);
        if ((size_t)rule.id < n_vocab && !sampi_gpu_add_rule(gpu, job, step, rule)) return false;
    }
    return true;
}

/* Makes a sampler's step, its form on the device; returns false if the device has no step for it (which the route has
   checked before), or no room for its rules. pack_steps calls it after it has set at_ordinal. The kind of draw and
   at_ordinal give the stream, which gives the CPU's random numbers. */
static bool sampi_gpu_fill(samp_gpu *gpu, sampi_gpu_job *job, sampi_gpu_step *step, const sampi_sampler *s,
                           size_t n_vocab)
{
    if (!sampi_gpu_has_step(s)) return false;
    step->kind = (int32_t)sampi_gpu_kind_of(s);
    step->seed = s->seed;
    step->stream = sampi_stream(s, sampi_traits_of(s->kind)->stream);
    sampi_gpu_copy_numbers(step, s);
    return !sampi_gpu_patches(s) || sampi_gpu_fill_rules(gpu, job, step, s, n_vocab);
}

/* Returns a job (a chain) in the host's stage, the copy of what is sent; it has the same bytes as on the device.
   (sampi_gpu_job_of is for the device.) */
static sampi_gpu_job *sampi_gpu_job_at(const samp_gpu *gpu, uint32_t j)
{
    return (sampi_gpu_job *)(void *)(gpu->stage + gpu->jobs_at + j * gpu->args.job_size);
}

/* Makes room for n_steps steps (samplers) in each job (chain). The jobs of this batch move, the last one first, because
   they are one behind the other. Jobs beyond them are forgotten, and all of this batch's are sent again: that needs no
   question to the device, because the stage has copies of kept jobs. The room never shrinks, so a kept chain stays in
   its place. */
static void sampi_gpu_widen_jobs(samp_gpu *gpu, uint32_t n_steps)
{
    const size_t old = gpu->args.job_size, size = offsetof(sampi_gpu_job, step) + n_steps * sizeof(sampi_gpu_step);
    char *jobs = gpu->stage + gpu->jobs_at;
    if (size <= old) return;
    for (uint32_t j = gpu->n_jobs; j-- > 0;) memmove(jobs + j * size, jobs + j * old, old);
    for (size_t j = gpu->n_jobs; j < gpu->config.max_rows; j++) gpu->slot[j].kept = false;
    gpu->args.job_size = size;
    gpu->new_from = 0;
    gpu->new_until = gpu->n_jobs;
}

/* Treats everything on the device as lost, because a batch failed halfway. Returns the status. The next batch begins
   with zeros (start_again) and sends every chain. */
static int sampi_gpu_forget(samp_gpu *gpu, int status)
{
    for (size_t j = 0; j < gpu->config.max_rows; j++) gpu->slot[j].kept = false;
    gpu->unsure = true;
    return status;
}

/* Sets all rows as they are before the first batch, after a failure, or when the numbers of batches are used up: 0 is
   not the number of a batch, and a very old result must not be taken for a new one. */
static int sampi_gpu_start_again(samp_gpu *gpu)
{
    if (gpu->batch == UINT32_MAX) sampi_gpu_forget(gpu, SAMP_OK);
    if (!gpu->unsure) return SAMP_OK;
    const int status = sampi_gpu_zero(gpu);
    gpu->unsure = status != SAMP_OK;
    gpu->batch = 0;
    return status;
}

/* Returns the sampler whose rules can stay on the device, or NULL: the only one that changes single logits, in a chain
   that runs there as a whole. With two of them, a token's index among the changed ids would depend on both. */
static const sampi_sampler *sampi_gpu_kept_patcher(const sampi_gpu_route *r, size_t n_vocab)
{
    const bool whole = r->n_device == r->n && !r->custom;
    return whole && r->n_patchers == 1 && sampi_gpu_keeps_rules(r->patcher, n_vocab) ? r->patcher : NULL;
}

/* Adds a step that is not a sampler: an export, or one of the two of log-probabilities, which report k tokens. */
static void sampi_gpu_add_step(sampi_gpu_job *job, uint32_t n, int kind, int32_t k)
{
    memset(&job->step[n], 0, sizeof(sampi_gpu_step));
    job->step[n].kind = kind;
    job->step[n].k = (uint32_t)k;
}

/* Sets, for each rule up to `until`, the index of its id among the row's changed ids, when all of these are known. Both
   are ascending, but the rules only within a step, so each step begins at 0. The device then finds a rule's token
   without a search. */
static void sampi_gpu_place_rules(samp_gpu *gpu, const sampi_gpu_job *job, uint32_t until)
{
    uint32_t at = 0;
    for (uint32_t i = gpu->n_rules; i < until; i++) {
        if (i > gpu->n_rules && gpu->rule[i].id < gpu->rule[i - 1].id) at = 0;
        while (gpu->id[job->id + at] < gpu->rule[i].id) at++;
        gpu->rule[i].at = at;
    }
}

/* Adds the window (last tokens) of penalties to the ids that are sent: the device needs it to know which token leaves
   the window. It is sent once; then it stays there with the rules (sampi_gpu_next_rules). */
static void sampi_gpu_send_window(samp_gpu *gpu, sampi_gpu_job *job, const sampi_sampler *penalties)
{
    job->ring = penalties->u.penalties.ring;
    job->window = gpu->n_ids;
    memcpy(gpu->id + gpu->n_ids, sampi_part(penalties, 0), job->ring.cap * sizeof *gpu->id);
    gpu->n_ids += job->ring.cap;
}

/* Returns the step from which on a chain can go the short way (gpu/short.h), or n_steps. */
static uint32_t sampi_gpu_short_from(const sampi_gpu_job *job)
{
    uint32_t at = job->n_steps;
    if (at == 0 || job->step[at - 1].kind != SAMPI_DIST) return at;
    for (at--; at > 0; at--) {
        const sampi_gpu_step *step = &job->step[at - 1];
        const bool top_k = step->kind == SAMPI_TOP_K && !step->u.top_k.ties && step->u.top_k.k > 0;
        const bool temp = step->kind == SAMPI_TEMP && step->u.temp.t >= SAMPI_TEMP_MIN;
        if (!top_k && !temp && step->kind != SAMPI_TOP_P) break;
    }
    return at;
}

/* Makes the samplers' steps, their form on the device, and those of log-probabilities (lp may be NULL); returns false
   if the chain does not fit the device. Steps that do nothing are left out: softmax if no sampler is shown its p, and
   steps without rules. at_ordinal counts those too, because a sampler's random numbers depend on how many of its kind
   come before it. */
static bool sampi_gpu_pack_steps(samp_gpu *gpu, sampi_gpu_job *job, const sampi_gpu_route *r, size_t n_vocab,
                                 const samp_logprobs *lp)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 }, n = 0, rules = gpu->n_rules;
    const bool whole = r->n_device == r->n;
    const bool shown = !whole || r->custom; /* p is shown to the CPU's samplers or the user's */
    const sampi_sampler *kept = sampi_gpu_kept_patcher(r, n_vocab);
    if (lp) sampi_gpu_add_step(job, n++, SAMPI_GPU_RAW, lp->raw.n_top);
    for (int i = 0; i < r->n_device; i++) {
        sampi_sampler *t = r->list[i];
        sampi_gpu_step *step = &job->step[n];
        memset(step, 0, sizeof *step);
        step->rule = rules;
        t->at_position = job->position;
        t->at_ordinal = ordinal[t->kind]++;
        if (sampi_is_custom(t))
            step->kind = SAMPI_GPU_USER;
        else if (!sampi_gpu_fill(gpu, job, step, t, n_vocab))
            return false;
        rules += step->n;
        /* softmax is left out here: n does not grow, and the next sampler takes the place */
        if (!shown && step->kind == SAMPI_SOFTMAX) continue;
        if (t == kept) job->kept_step = n + 1;
        if (sampi_gpu_patches(t) && step->n == 0 && t != kept && (whole || t->kind == SAMPI_DRY)) continue;
        n++;
    }
    /* the rest of the chain runs on the CPU */
    if (!whole) sampi_gpu_add_step(job, n++, SAMPI_GPU_EXPORT, 0);
    if (lp) sampi_gpu_add_step(job, n++, SAMPI_GPU_LOGPROBS, lp->processed.n_top);
    job->n_steps = n;
    job->short_from = sampi_gpu_short_from(job);
    sampi_gpu_place_rules(gpu, job, rules);
    /* the counts grow only now, so that a chain that does not fit leaves no rules behind */
    gpu->n_rules = rules;
    gpu->n_ids += job->n_ids;
    if (kept && kept->kind == SAMPI_PENALTIES) sampi_gpu_send_window(gpu, job, kept);
    return true;
}

/* Whether the device can compute a row's log-probabilities; given tokens and the support are the CPU's. An invalid set
   goes to the CPU, which returns the row's status. */
static bool sampi_gpu_fits_logprobs(const samp_gpu *gpu, const samp_logprobs *lp)
{
    const int32_t most = gpu->config.max_top_logprobs;
    const samp_logprob_set *set[2] = { &lp->raw, &lp->processed };
    bool good = most > 0 && !lp->support;
    for (int i = 0; i < 2; i++)
        good = good && set[i]->n_top >= 0 && set[i]->n_top <= most && (set[i]->n_top == 0 || set[i]->top_logprobs) &&
               set[i]->n_ids == 0;
    return good;
}

/* Returns what a job of this chain is packed from. */
static sampi_gpu_source sampi_gpu_source_of(const sampi_sampler *s, size_t n_vocab, const samp_logprobs *lp)
{
    const int32_t raw = lp ? lp->raw.n_top : -1, processed = lp ? lp->processed.n_top : -1;
    const sampi_gpu_source source = { s, s->serial, s->n_edits, n_vocab, { (size_t)raw, (size_t)processed } };
    return source;
}

/* Packs a chain as the next job, with log-probabilities or NULL; returns false if the CPU must sample the row. The
   job's slot records what was sent. A chain is kept if the device can update it by itself: it runs there as a whole,
   without users' samplers, and its rules, if any, are those that the device can update. */
static bool sampi_gpu_pack(samp_gpu *gpu, sampi_sampler *s, const sampi_gpu_route *r, size_t n_vocab,
                           const samp_logprobs *lp)
{
    sampi_gpu_slot *slot = &gpu->slot[gpu->n_jobs];
    /* log-probabilities take two more steps of the job, and are possible only if the whole chain runs on the device */
    if (lp && (r->custom || r->n_device < r->n || r->n > SAMPI_STEPS - 2)) return false;
    sampi_gpu_widen_jobs(gpu, (uint32_t)r->n_device + (lp ? 2 : r->n_device < r->n));
    sampi_gpu_job *job = sampi_gpu_job_at(gpu, gpu->n_jobs);
    memset(job, 0, offsetof(sampi_gpu_job, step));
    job->side = SAMPI_GPU_SENT;
    job->id = gpu->n_ids;
    job->draws = r->draws;
    job->position = s->position;
    slot->kept = false;
    if (!sampi_gpu_pack_steps(gpu, job, r, n_vocab, lp)) return false;
    slot->source = sampi_gpu_source_of(s, n_vocab, lp);
    slot->last = r->list[r->n - 1];
    slot->draws = r->draws;
    slot->custom = r->custom;
    /* a row that is not a chain, or has users' samplers, accepts its token by sampi_life_accept, as a whole */
    slot->n_listeners = sampi_is_chain(s) && !r->custom ? r->n_listeners : SAMPI_GPU_LISTENERS + 1;
    memcpy(slot->listener, r->listener, sizeof r->listener);
    slot->patcher = job->kept_step ? r->patcher : NULL;
    slot->kept = r->n_device == r->n && !r->custom && !s->owner && !r->moves && (job->kept_step || !r->n_patchers);
    /* the new jobs are sent as one range from the first to the last; kept jobs in between are sent too */
    if (gpu->n_jobs < gpu->new_from) gpu->new_from = gpu->n_jobs;
    gpu->new_until = gpu->n_jobs + 1;
    return true;
}

/* Whether the device has this chain, unchanged, as the next job, and with these log-probabilities; divide then packs
   nothing for it. Rules that were sent with a batch are lost after it, unless a token has moved them to the row's own
   place. */
static bool sampi_gpu_has(const samp_gpu *gpu, const sampi_sampler *s, size_t n_vocab, const samp_logprobs *lp)
{
    const sampi_gpu_slot *slot = &gpu->slot[gpu->n_jobs];
    const sampi_gpu_source source = sampi_gpu_source_of(s, n_vocab, lp);
    return slot->kept && !memcmp(&source, &slot->source, sizeof source) &&
           (!slot->patcher || sampi_gpu_job_at(gpu, gpu->n_jobs)->side != SAMPI_GPU_SENT);
}
