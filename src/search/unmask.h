/* ---- search: unmasking ----
   samp_unmask: each position draws a token as in a batch, and measures how certain it is; then the rule fills the most
   certain positions. A measure is kept in the sampler of its position, so the call needs no memory of its own: the
   best remaining position is searched for each that is filled. */

/* Are positions chosen without a look at what they hold? */
static bool sampi_unmasks_blindly(samp_unmask_rule rule)
{
    return rule == SAMP_UNMASK_RANDOM || rule == SAMP_UNMASK_INDEPENDENT;
}

/* Returns how certain a position is, as the rule measures it, from what its chain has left; larger is filled first. */
static double sampi_certainty(samp_unmask_rule rule, sampi_left *left, samp_token token)
{
    const double all = sampi_log_sum(left->sums.max, left->sums.z);
    sampi_runner two[2];
    if (rule == SAMP_UNMASK_ENTROPY || rule == SAMP_UNMASK_ENTROPY_BOUND) return -sampi_entropy(&left->sums);
    if (rule == SAMP_UNMASK_MARGIN) {
        const size_t n = sampi_best_left(left, 2, two);
        double p[2] = { 0.0, 0.0 };
        for (size_t i = 0; i < n; i++) p[i] = sampi_exp2(((double)two[i].logit - all) * SAMPI_LOG2E);
        return p[0] > p[1] ? p[0] - p[1] : p[1] - p[0];
    }
    const sampi_row *row = &left->row; /* the chain may select a token that it has removed, as a watermark may */
    const bool on_row = !left->cur.data;
    const size_t at = on_row ? sampi_row_find_id(row, token) : sampi_find_candidate(&left->cur, token);
    if (at == (on_row ? row->n : left->cur.size)) return -INFINITY;
    return (double)(on_row ? sampi_row_logit_of(row, sampi_row_present(row, at)) : left->cur.data[at].logit) - all;
}

/* Returns the random number of a position, in (0, 1). */
static double sampi_unmask_random(const samp_unmask_params *u, const samp_logits *batch, size_t r)
{
    uint64_t random[2];
    sampi_random_bits(u->seed, batch->row_index ? (uint64_t)batch->row_index[r] : r, 254u << 16, 0, random);
    return ((double)(random[0] >> 12) + 0.5) / 4503599627370496.0;
}

/* Returns what positions are ordered by where they are drawn: Gumbel's noise, so that the n largest are n that are
   drawn one after the other, each in proportion to e^(measure / temp). Both confidences are measured by p. */
static double sampi_unmask_key(const samp_unmask_params *u, double certainty, double random)
{
    const bool by_p = u->rule == SAMP_UNMASK_CONFIDENCE || u->rule == SAMP_UNMASK_RAW_CONFIDENCE;
    if (by_p) certainty = certainty > -INFINITY ? sampi_exp2(certainty * SAMPI_LOG2E) : 0.0;
    return certainty / (double)u->temp - sampi_ln(-sampi_ln(random));
}

/* Draws the token of a position, and notes in its sampler how certain it is. Returns the token or a status. */
static samp_token sampi_unmask_row(samp_sampler *const *rows, const samp_logits *batch, size_t r, sampi_work *work,
                                   const void *what)
{
    const samp_unmask_params *u = (const samp_unmask_params *)what;
    sampi_sampler *s = (sampi_sampler *)rows[r];
    samp_logprobs lp;
    sampi_left left;
    sampi_job job;
    int status = sampi_batch_job(s, batch, r, work, &job);
    if (status) return status;
    const uint64_t before = s->position;
    memset(&lp, 0, sizeof lp);
    if (u->rule == SAMP_UNMASK_RAW_CONFIDENCE) job.logprobs = &lp;
    job.accept = false;
    const samp_token token = sampi_sample(&job);
    if (token < 0) return token;
    if (sampi_unmasks_blindly(u->rule)) {
        s->certainty = -sampi_unmask_random(u, batch, r);
    } else if (job.logprobs) {
        s->certainty = (double)lp.raw.chosen.logprob;
    } else { /* the chain once more, for the distribution of this draw */
        const uint64_t after = s->position;
        s->position = before;
        sampi_life_save_state(s);
        status = sampi_leave(&job, true, &left);
        sampi_life_restore_state(s);
        s->position = after;
        if (status) return status;
        s->certainty = sampi_certainty(u->rule, &left, token);
    }
    if (u->temp > 0.0f) s->certainty = sampi_unmask_key(u, s->certainty, sampi_unmask_random(u, batch, r));
    return token;
}

static int sampi_unmask_check(const samp_unmask_params *u)
{
    const bool by_threshold = u->rule == SAMP_UNMASK_THRESHOLD, apart = u->rule == SAMP_UNMASK_INDEPENDENT;
    const bool bounded = by_threshold || apart || u->rule == SAMP_UNMASK_ENTROPY_BOUND;
    if ((int)u->rule < 0 || u->rule > SAMP_UNMASK_INDEPENDENT || u->n < !bounded) return SAMP_E_RANGE;
    if (!(fabsf(u->temp) <= FLT_MAX) || (bounded && !(fabsf(u->threshold) <= FLT_MAX))) return SAMP_E_NAN;
    if (u->temp < 0.0f || (u->temp > 0.0f && (bounded || sampi_unmasks_blindly(u->rule)))) return SAMP_E_RANGE;
    if (!bounded) return SAMP_OK;
    if (by_threshold && u->threshold <= 0.0f) return SAMP_E_RANGE;
    if ((by_threshold || apart) && u->threshold > 1.0f) return SAMP_E_RANGE;
    return u->threshold < 0.0f ? SAMP_E_RANGE : SAMP_OK;
}

/* Is row a filled before row b: more certain, or as certain with a smaller index? */
static bool sampi_fills_first(samp_sampler *const *rows, const samp_logits *logits, size_t a, size_t b)
{
    const double x = ((const sampi_sampler *)rows[a])->certainty, y = ((const sampi_sampler *)rows[b])->certainty;
    if (x != y) return x > y;
    const int32_t *index = logits->row_index;
    return index && index[a] != index[b] ? index[a] < index[b] : a < b;
}

SAMP_API int samp_unmask(const samp_unmask_params *u, samp_sampler *const *rows, const samp_logits *logits,
                         samp_token *tokens)
{
    if (!u || !logits || (logits->n_rows && (!rows || !tokens))) return SAMP_E_NULL;
    const size_t n = logits->n_rows;
    int status = sampi_unmask_check(u);
    if (!status && logits->logprobs) status = SAMP_E_UNSUPPORTED;
    if (!status) status = sampi_batch(rows, logits, tokens, sampi_unmask_row, u);
    for (size_t r = 0; r < n && !status; r++)
        if (tokens[r] < 0) status = tokens[r];
    size_t most = u->n > 0 && (size_t)u->n < n ? (size_t)u->n : n, filled = 0, last = n;
    double spent = 0.0; /* the entropies of the positions that are filled */
    while (!status && filled < most) {
        size_t best = n;
        for (size_t r = 0; r < n; r++)
            if ((last == n || sampi_fills_first(rows, logits, last, r)) &&
                (best == n || sampi_fills_first(rows, logits, r, best)))
                best = r;
        const double certainty = ((const sampi_sampler *)rows[best])->certainty;
        if (filled && u->rule == SAMP_UNMASK_THRESHOLD && certainty < sampi_ln((double)u->threshold)) break;
        if (u->rule == SAMP_UNMASK_INDEPENDENT && -certainty >= (double)u->threshold) break;
        if (filled && u->rule == SAMP_UNMASK_ENTROPY_BOUND && spent > (double)u->threshold) break;
        spent -= certainty;
        last = best;
        filled++;
    }
    for (size_t r = 0; r < n; r++)
        if (status || last == n || (r != last && !sampi_fills_first(rows, logits, r, last))) tokens[r] = -1;
    return status ? status : (int)filled;
}

SAMP_API int32_t samp_unmask_count(samp_unmask_schedule schedule, int32_t n_masked, int32_t step, int32_t n_steps)
{
    const int32_t left = n_steps - step;
    if (n_masked < 0 || step < 0 || n_steps < 1 || left < 1) return SAMP_E_RANGE;
    if (schedule != SAMP_UNMASK_EVEN && schedule != SAMP_UNMASK_LINEAR) return SAMP_E_RANGE;
    if (schedule == SAMP_UNMASK_EVEN || left == 1) return n_masked / left + (n_masked % left != 0);
    const double each = (1.0 - 0.001) / n_steps, t = 1.0 - each * step, s = 1.0 - each * (step + 1);
    return (int32_t)((double)n_masked * (1.0 - s / t));
}
