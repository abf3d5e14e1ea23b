/* ---- a draw in llama.cpp's arithmetic ----
   The counterpart of run/draw.h under MT19937. Members work on the row (rows/llama_cpp/step.h) until one declines; the
   chain then continues step by step on the array of the remaining tokens. This loop differs from that of run/draw.h in
   three points: a member may turn the row into a sorted array (row->llama.cur), a member that is off may have to report
   that no token remains, and the random numbers of a member that declines are taken back. */

/* Finishes a draw in llama.cpp's arithmetic: applies member[from] to member[n - 1] to the array row->llama.cur, and
   accepts the selected token. If the last member is dist and the array is long, kernels make the draw. */
static SAMPI_COLD int sampi_finish_llama(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                         sampi_row *row, samp_token *token)
{
    const sampi_ordinals ordinal = { { 0 }, false, job->work };
    samp_token_data_array *cur = &row->llama.cur;
    int status = sampi_check(cur), before = errno; /* libm sets errno on underflow */
    if (status) return status;
    if (member[n - 1]->kind != SAMPI_DIST || cur->size <= SAMPI_TILE)
        return sampi_finish_by_steps(job, member, from, n, cur, &ordinal, token);
    status = sampi_apply_members(job, member, from, n - 1, cur, &ordinal);
    if (!status) status = sampi_check(cur);
    if (status) return status;
    sampi_llama_dist_array(row, sampi_mt_double(sampi_mt_of(member[n - 1])));
    errno = before;
    return sampi_accept_selected(job, cur, token);
}

/* Draws in llama.cpp's arithmetic: members work on the row until it becomes an array, and the remaining members work on
   the array step by step. A custom sampler must get exactly the array that the steps would give it, so no member that
   works on the row before it may write p. SAMPI_DECLINED: nothing has changed. */
static SAMPI_COLD int sampi_draw_llama(const sampi_job *job, const sampi_flat_chain *flat, sampi_row *row,
                                       samp_token *token)
{
    sampi_sampler *s = job->s, *member[SAMPI_MOST_MEMBERS];
    int n = 0, i = 0, known = 0, before = errno, status = sampi_open_row(row, job);
    sampi_row last;
    bool by_steps = false;
    if (status) return status;
    sampi_open_llama(row, row->work);
    const sampi_sampler *done = flat->whole ? sampi_first_mask(s) : NULL; /* the row already has this member's mask */
    for (int j = 0; j < flat->n_members; j++) { /* a member that is off reports an error if all tokens are masked */
        const unsigned flags = n ? sampi_traits_of(member[n - 1]->kind)->flags : 0;
        bool masks = !flat->whole && (flags & SAMPI_PATCHES) && !(flags & SAMPI_MASKS_NONE);
        bool is_late = n > 0 && (masks || sampi_is_custom(member[n - 1]));
        if ((!flat->member[j]->off || is_late) && flat->member[j] != done) member[n++] = flat->member[j];
    }
    while (known < n && (flat->whole || (sampi_traits_of(member[known]->kind)->flags &
                                         (SAMPI_KEEPS_P | SAMPI_SELECTS)) == SAMPI_KEEPS_P))
        known++;
    if (known == 0) return SAMPI_DECLINED;
    sampi_save_state(s);
    while (i < known && !row->llama.cur.data && row->token < 0 && !status) {
        bool takes = member[i]->kind == SAMPI_GREEDY || member[i]->kind == SAMPI_DIST;
        last = *row;
        if (!member[i]->off) status = sampi_run_llama(row, member[i], i + 1 == n && (takes || !job->logprobs));
        if (!status) i++;
    }
    if (status == SAMPI_DECLINED || (!status && !row->llama.cur.data && row->token < 0)) {
        bool sorts = i < known && row->n > 2 && sampi_llama_sorts(member[i]) && sampi_is_full(row);
        sampi_llama_array(row, row->llama.by_order || (sorts && flat->whole));
        by_steps = true;
        status = SAMP_OK;
    }
    errno = before; /* libm's functions set it on underflow */
    if (!flat->whole && (status || sampi_check(&row->llama.cur))) return SAMPI_DECLINED;
    for (size_t j = 0; !flat->whole && j < row->llama.cur.size; j++) /* a +0 in this array might be -0 by the steps */
        if (row->llama.cur.data[j].logit == 0.0f) return SAMPI_DECLINED;
    s->perf.n_steps += by_steps;
    if (!status && row->llama.cur.data) {
        status = sampi_finish_llama(job, member, i, n, row, token);
    } else if (!status) {
        if (job->logprobs) sampi_compact(&last);
        status = sampi_accept_drawn(job, row, &last, token);
    }
    return sampi_end_draw(s, status);
}
