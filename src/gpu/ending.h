/* ---- the end of a row ----
   What the host and the next batch see: the result, the caller's token, the job moved on by the token (its rules too),
   the state back at zero. The last sampler calls sampi_gpu_choose; everything that ends a row calls sampi_gpu_finish.
   */

/* Leave the result: no team does anything more to the row, unless the host takes `batch` back. When the row is
   finished, and when it stops for a user's sampler. batch is written last; the fence before the next epoch makes the
   rest visible to the teams, and the end of the kernel to the host. */
static void sampi_gpu_report(const sampi_gpu_here *h, int32_t status, int32_t token, float value)
{
    const sampi_gpu_state *st = h->st;
    sampi_gpu_result *r = &h->a->result[h->row];
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
    r->batch = h->a->batch; /* read by the host after the kernel, by other teams after the next epoch has begun */
}

/* The rules of a step: where they came with the batch, or in the row's own place. The host never has two steps' rules
   stay there, so they begin at its beginning. */
static const sampi_gpu_rule *sampi_gpu_rules(const sampi_gpu_here *h, const sampi_gpu_step *step)
{
    const uint32_t side = h->job->side;
    return side == SAMPI_GPU_SENT ? h->a->rule + step->rule : h->a->kept_rule + (2 * h->row + side) * SAMPI_RULES;
}

/* A token's number of rules by id: those below it, and how often it is in the window itself. */
typedef struct sampi_gpu_spot {
    uint32_t below, count;
} sampi_gpu_spot;

/* By counting over all rules: a bisection would be one lane's work, with a read waited for in each step. For
   next_rules: of what comes into the window, and of what falls out. */
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

/* The rules of the next token, in the other of the row's two places: as sampi_penalties_accept, and all at once. One
   token comes into the window, and another one may fall out of it: each rule is copied to where it will be, with its
   count one more or less, or left out, or a new one is put in between; no lane waits for another. Two places, because
   a lane would otherwise write over what another one reads. Rules that nothing changes (logit_bias) are copied once,
   from where they were sent, which the next batch writes over. Called by sampi_gpu_finish for a row that has got its
   token; sampi_gpu_follow (gpu/results.h) must come to the same side and numbers, or the host would send a job that
   doesn't fit. */
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
    /* later the window is here already, and moves by itself */
    const uint32_t n_window = sent ? ring.cap : 0;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_window; i += SAMPI_WARP) window[i] = tokens[i];
    /* old: what falls out, or a token that no rule has, if the window isn't full */
    const int32_t old = !counts ? token : ring.size < ring.cap ? -1 : window[ring.head], in = counts ? token : -1;
    const bool same = old == token; /* falls out and comes in: nothing changes */
    sampi_gpu_spot out_at, in_at;
    sampi_gpu_spot_of(from, n, old, &out_at);
    sampi_gpu_spot_of(from, n, in, &in_at);
    (void)sampi_ring_push(&ring, window, token); /* behind the barriers of these loops */
    job->ring = ring;
    const bool removes = !same && out_at.count == 1, inserts = !same && in_at.count == 0;
    const float repeat = step->u.penalties.repeat, freq = step->u.penalties.freq, present = step->u.penalties.present;
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i <= n; i += SAMPI_WARP)
    {
        sampi_gpu_rule r = { in, 0, repeat, 0.0f, 0 };
        uint32_t at = i == n ? in_at.below : i;
        /* number n is the rule that comes in, if there is one; the rule that goes is not copied */
        if (i == n ? !inserts : removes && i == out_at.below) continue;
        if (i < n) {
            r = from[i];
            at += inserts && i >= in_at.below;
        }
        at -= removes && (i == n ? out_at.below < in_at.below : i > out_at.below);
        if (!same && r.id == in) r.count++;
        if (!same && r.id == old) r.count--;
        /* sampi_count_penalty */
        if (counts) r.fall = sampi_add_to_product(sampi_roundf((float)r.count * freq), present), r.at = at;
        to[at] = r;
        id[r.at] = r.id;
    }
    /* from now on, for this job: the next batch reads the rules from here */
    job->side = side;
    if (counts) job->n_ids = step->n = n + inserts - removes;
}

/* The row is done: its result, and everything as the next batch expects it: no holes, a state of zeros but for epoch
   and arrived. The only end that a row has, with a token, a list for the host (-1), an error, or "not on the device";
   only a token or a list moves the job on. It returns 0 like a step that waits, because nothing more is to be done. The
   operations needn't be cleared: n_ops is zero. What comes back in `out` for a row that the host must still see to is
   written over by the host. */
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
    /* whole words: all holes of the row go, and every one of them has its id here */
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n_changed; i += SAMPI_WARP) hole[(uint32_t)id[i] / 32] = 0;
    if (status == SAMP_OK) h->job->position = position;
    if (status == SAMP_OK && h->job->kept_step) sampi_gpu_next_rules(h, token);
    /* all members from `pass` up to the operations, of which n_ops says how many count */
    word *w = (word *)(void *)&h->st->pass;
    const uint32_t n = (uint32_t)((offsetof(sampi_gpu_state, op) - offsetof(sampi_gpu_state, pass)) / sizeof(word));
    SAMPI_SIMD()
    SAMPI_LANES for (uint32_t i = (uint32_t)lane; i < n; i += SAMPI_WARP) w[i] = 0;
    return 0;
}

/* The last sampler has chosen: that is all, unless log-probabilities are wanted: then the choice waits in the state for
   the last step. Called by greedy, dist, mirostat and adaptive_p as their last act; value is what the sampler has
   learnt, for the host's chain. */
static int sampi_gpu_choose_key(const sampi_gpu_here *h, uint64_t key, float value)
{
    sampi_gpu_state *st = h->st;
    if (st->at + 1 == h->job->n_steps) return sampi_gpu_finish(h, SAMP_OK, (int32_t)sampi_gpu_id(key), value);
    st->chosen = key;
    st->value = value;
    return 1;
}
