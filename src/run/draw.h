/* ---- a draw ----
   One token from one row: the plan of the chain, its members on the row, and, where one declines, the rest over the
   array; then the token is accepted and log-probabilities are told. A custom sampler has to see what the steps would
   show it, so the row serves up to where that is known. samp_sample, batches and samp_verify draw by sampi_draw_fast.
   */

/* How many members from the first on leave an array that is known to the last byte, though it was not there: they
   don't write p, and the order is that of the last one that sorts, or by id up to the first that may have sorted
   (one that drops tokens, where min_keep decides). The array must be free of masked tokens then, as after those that
   drop some. */
static int sampi_known_members(const sampi_plan *plan, bool *sorted)
{
    int known = 0;
    bool by_id = true;
    *sorted = false;
    for (int i = 0; i < plan->n_members; i++) {
        const sampi_sampler *member = plan->member[i];
        unsigned flags = sampi_traits_of(member->kind)->flags;
        if (member->off) continue;
        if (!(flags & SAMPI_KEEPS_P) || flags & SAMPI_SELECTS) break;
        if (!(flags & SAMPI_DROPS)) continue;
        if (flags & SAMPI_KEEPS_SOME) by_id = by_id && member->u.cut.min_keep <= 1;
        if (flags & SAMPI_SORTS)
            by_id = false;
        else if (!by_id)
            continue;
        known = i + 1;
        *sorted = !by_id;
    }
    return known;
}

/* A draw with a custom sampler, which is to see exactly what the steps would show it: fast as far as that is known,
   then step by step. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_part_fast(const sampi_job *job, const sampi_plan *plan, sampi_row *row, samp_token *token)
{
    sampi_sampler *s = job->s;
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    bool sorted;
    int known = sampi_known_members(plan, &sorted), status = known ? sampi_open_row(row, job) : (int)SAMPI_DECLINED;
    for (int i = 0; i < known && !status; i++)
        if (!plan->member[i]->off) status = sampi_run_fast(row, plan->member[i], s->position, ordinal);
    if (status) return status; /* none of these has a state that a draw changes */
    sampi_compact(row);
    for (size_t i = 0; i < row->n; i++) /* the row's -0 would be +0 by now, but one that a sampler made would not */
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return SAMPI_DECLINED;
    samp_token_data_array cur = sampi_row_array(row);
    if (sorted) sampi_sort_all(&cur);
    sampi_save_state(s);
    s->perf.n_steps++;
    return sampi_end_draw(s, sampi_finish_by_steps(job, plan->member, known, plan->n_members, &cur, ordinal, token));
}

/* One whole draw. SAMPI_DECLINED before anything has changed, or a status. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    uint32_t ordinal[SAMPI_N_KINDS] = { 0 };
    sampi_sampler *s = job->s;
    sampi_row row;
    sampi_plan plan;
    int i = 0, status;
    sampi_plan_chain(&plan, s);
    if (plan.n_members > 0 && sampi_is_llama_cpp(plan.member[0])) return sampi_draw_llama(job, &plan, &row, token);
    if (!plan.whole) return sampi_draw_part_fast(job, &plan, &row, token);
    if (job->logprobs && sampi_traits_of(plan.list[plan.n - 1]->kind)->flags & SAMPI_OWN_LOGITS)
        return SAMPI_DECLINED;
    if ((status = sampi_open_row(&row, job))) return status;
    sampi_save_state(s);
    while (i < plan.n && (status = sampi_run_fast(&row, plan.list[i], s->position, ordinal)) == SAMP_OK) i++;
    if (status == SAMPI_DECLINED) { /* by list [i]: the row becomes an array */
        if (row.floor > -FLT_MAX) sampi_compact(&row);
        samp_token_data_array cur = sampi_row_array(&row);
        s->perf.n_steps++;
        status = sampi_finish_by_steps(job, plan.list, i, plan.n, &cur, ordinal, token);
    } else if (!status) {
        *token = row.token;
        if (job->accept) status = samp_accept(&s->base, *token);
        if (!status && job->logprobs) sampi_row_logprobs(&row, *token, &job->logprobs->processed);
    }
    return sampi_end_draw(s, status);
}
