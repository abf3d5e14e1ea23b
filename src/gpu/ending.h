/* ---- the end of a row ----
   The end of a row, for the host and the next batch: the result, the caller's token, the job updated by the token (its
   rules too), the state set to zero. The last sampler calls sampi_gpu_choose; everything that ends a row calls
   sampi_gpu_finish. */

/* Writes the result of a row to r. */
static SAMPI_CALLED void sampi_gpu_write_result(const sampi_gpu_here *h, sampi_gpu_result *r, int32_t status,
                                                int32_t token, float value)
{
    const sampi_gpu_state *st = h->st;
    r->status = status;
    r->token = token;
    r->value = value;
    r->passes = st->passes;
    r->n_list = st->n_list;
    r->buffer = st->buffer;
    r->order = st->order;
    r->sorted = st->sorted;
    r->p_set = st->p_set;
    r->order_max = st->order_max;
    r->p_max = st->p_max;
    r->order_mean = st->order_mean;
    r->p_z = st->p_z;
    r->batch = h->a->batch; /* the host reads it after the kernel; other teams after the next epoch has begun */
}

/* Writes the result, when the row is finished, or stops for a user's sampler. No team then works on the row, unless the
   host withdraws `batch`. The fence before the next epoch makes the result visible to the teams, and the end of the
   kernel to the host, which has a result of its own if it has registered memory: teams would wait long for a read of
   that. */
static void sampi_gpu_report(const sampi_gpu_here *h, int32_t status, int32_t token, float value)
{
    sampi_gpu_result *told = h->a->told;
    sampi_gpu_write_result(h, h->a->result + h->row, status, token, value);
    if (told) sampi_gpu_write_result(h, told + h->row, status, token, value);
}

/* Returns the rules of a step: those sent with the batch, or those in the row's own place. The host lets only one
   step's rules stay on the device, so they begin at the place's beginning. */
static const sampi_gpu_rule *sampi_gpu_rules(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t side = h->job->side;
    return side == SAMPI_GPU_SENT ? h->a->rule + step->rule : h->a->kept_rule + (2 * h->row + side) * SAMPI_RULES;
}

/* A token's place among the rules: the number of rules with smaller ids, and how often the token is in the window. */
typedef struct sampi_gpu_spot {
    uint32_t below, count;
} sampi_gpu_spot;

/* Finds a token's place among the rules and its count in the window by counting over all rules; a bisection would be
   one lane's work, with a read to wait for in each step. next_rules needs it for the token that enters the window, and
   for the one that leaves it. */
static void sampi_gpu_spot_of(const sampi_gpu_rule *rule, uint32_t n, int32_t id, sampi_gpu_spot *spot)
{
    uint32_t below = 0, count = 0;
    SAMPI_SIMD(reduction(+ : below, count))
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP)
    {
        below += rule[i].id < id;
        count += rule[i].id == id ? (uint32_t)rule[i].count : 0;
    }
    spot->below = below;
    spot->count = count;
}

/* Makes the rules for the next token, in the other of the row's two places, by what sampi_penalties_accept does, with
   all lanes at once. One token enters the window, and another may leave it: each rule is copied to its new place, with
   its count one higher or lower, or is left out, or a new rule is inserted; no lane waits for another. There are two
   places because a lane would otherwise overwrite what another one reads. Rules that tokens do not change (logit_bias)
   are copied once, from where they were sent, which the next batch overwrites. sampi_gpu_finish calls it for a row that
   has its token. sampi_gpu_follow (gpu/results.h) must get the same place and numbers, or the host would send a job
   that does not fit. */
static SAMPI_CALLED void sampi_gpu_next_rules(const sampi_gpu_here *h, int32_t token)
{
    sampi_gpu_job *job = h->job;
    sampi_gpu_step *step = &job->step[job->kept_step - 1];
    const uint32_t sent = job->side == SAMPI_GPU_SENT, side = job->side == SAMPI_GPU_LEFT, n = step->n;
    sampi_ring ring = job->ring;
    const bool counts = ring.cap > 0;
    if (!counts && !sent) return;
    const sampi_gpu_rule *from = sampi_gpu_rules(h, step);
    sampi_gpu_rule *to = h->a->kept_rule + (2 * h->row + side) * SAMPI_RULES;
    int32_t *id = h->a->kept_id + (2 * h->row + side) * SAMPI_RULES, *window = h->a->window + h->row * SAMPI_RULES;
    const int32_t *tokens = h->a->id + job->window;
    /* in later batches the window is on the device already */
    const uint32_t n_window = sent ? ring.cap : 0;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_window; i += SAMPI_WARP) window[i] = tokens[i];
    /* old is the token that leaves the window, or an id without a rule if the window is not full */
    const int32_t old = !counts ? token : ring.size < ring.cap ? -1 : window[ring.head], in = counts ? token : -1;
    const bool same = old == token; /* the same token leaves and enters: nothing changes */
    sampi_gpu_spot out_at, in_at;
    sampi_gpu_spot_of(from, n, old, &out_at);
    sampi_gpu_spot_of(from, n, in, &in_at);
    (void)sampi_ring_push(&ring, window, token); /* comes after the barriers of these loops */
    job->ring = ring;
    const bool removes = !same && out_at.count == 1, inserts = !same && in_at.count == 0;
    const float repeat = step->u.penalties.repeat, freq = step->u.penalties.freq, present = step->u.penalties.present;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i <= n; i += SAMPI_WARP)
    {
        sampi_gpu_rule r = { in, 0, repeat, 0.0f, 0 };
        uint32_t at = i == n ? in_at.below : i;
        /* i == n is the rule that is inserted, if there is one; the rule that leaves is not copied */
        if (i == n ? !inserts : removes && i == out_at.below) continue;
        if (i < n) {
            r = from[i];
            at += inserts && i >= in_at.below;
        }
        at -= removes && (i == n ? out_at.below < in_at.below : i > out_at.below);
        if (!same && r.id == in) r.count++;
        if (!same && r.id == old) r.count--;
        /* as sampi_count_penalty */
        if (counts) r.fall = sampi_add_to_product(sampi_roundf((float)r.count * freq), present), r.at = at;
        to[at] = r;
        id[r.at] = r.id;
    }
    /* from now on the next batch reads this job's rules from here */
    job->side = side;
    if (counts) job->n_ids = step->n = n + inserts - removes;
}

/* Finishes a row: writes its result, and prepares everything for the next batch: no holes, a state of zeros except
   epoch and arrived. Every row ends here: with a token, a list for the host (-1), an error, or "not on the device";
   only a token or a list updates the job. It returns 0 like a step that waits, because nothing more is to be done. The
   operations need not be cleared, since n_ops is zero. The host overwrites `out` for a row that it must still
   finish. */
static int sampi_gpu_finish(const sampi_gpu_here *h, int32_t status, int32_t token, float value)
{
    typedef uint32_t __attribute__((may_alias)) word;
    const sampi_gpu_args *a = h->a;
    uint32_t *hole = a->hole + h->row * a->groups * SAMPI_WARP;
    const int32_t *id = h->changed_id;
    const uint32_t n_changed = h->job->n_ids;
    const uint64_t position = h->job->position + h->job->draws;
    sampi_gpu_report(h, status, token, value);
    if (a->out) a->out[a->place[h->row].out_row] = status ? status : token;
    /* whole words are cleared: every changed token of the row has its id here */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) hole[(uint32_t)id[i] / 32] = 0;
    if (status == SAMP_OK) h->job->position = position;
    if (status == SAMP_OK && h->job->kept_step) sampi_gpu_next_rules(h, token);
    /* zeroes all members from `pass` up to the operations, which n_ops = 0 makes invalid */
    word *w = (word *)(void *)&h->st->pass;
    const uint32_t n = (uint32_t)((offsetof(sampi_gpu_state, op) - offsetof(sampi_gpu_state, pass)) / sizeof(word));
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) w[i] = 0;
    return 0;
}

/* Ends the row with the chosen token, unless log-probabilities are asked for: then the state keeps the token for the
   last step, which reports them. The samplers that select call it last; value is the number that the sampler has
   learnt, for the host's chain. */
static int sampi_gpu_choose_key(const sampi_gpu_here *h, uint64_t key, float value)
{
    sampi_gpu_state *st = h->st;
    if (st->at + 1 == h->job->n_steps) return sampi_gpu_finish(h, SAMP_OK, (int32_t)sampi_gpu_id(key), value);
    st->chosen = key;
    st->value = value;
    return 1;
}
