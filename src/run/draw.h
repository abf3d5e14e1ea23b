/* ---- a draw ----
   One token from one row: the chain as a flat list, its members on the row, and, where one declines, the rest over the
   array; then the token is accepted and log-probabilities are told. A custom sampler has to see what the steps would
   show it, so the row serves up to where that is known. samp_sample, batches and samp_verify draw by sampi_draw_fast.
   */

/* How many members from the first on leave an array that is known to the last byte, though it was not there: they
   don't write p, and the order is that of the last one that sorts, or by id up to the first that may have sorted
   (one that drops tokens, where min_keep decides). The array must be free of masked tokens then, as after those that
   drop some. */
static int sampi_known_members(const sampi_flat_chain *flat, bool *sorted)
{
    int known = 0;
    bool by_id = true;
    *sorted = false;
    for (int i = 0; i < flat->n_members; i++) {
        const sampi_sampler *member = flat->member[i];
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

/* What would show a custom sampler another zero than the steps: the row's -0 would be +0 by now, but one that a sampler
   made would not. */
static bool sampi_has_minus_zero(const sampi_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return true;
    return false;
}

/* One whole draw. SAMPI_DECLINED before anything has changed, or a status. A custom sampler is to see exactly what the
   steps would show it: a chain with one goes over the row as far as that is known, and declines as a whole where one of
   these members does, and is as before then. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    sampi_ordinals ordinal = { { 0 }, false };
    sampi_sampler *s = job->s;
    sampi_row row;
    sampi_flat_chain flat;
    bool sorted = false;
    int i = 0, status;
    sampi_make_flat(&flat, s);
    if (flat.n_members > 0 && sampi_is_llama_cpp(flat.member[0])) return sampi_draw_llama(job, &flat, &row, token);
    sampi_sampler *const *list = flat.whole ? flat.list : flat.member;
    const int n = flat.whole ? flat.n : flat.n_members, end = flat.whole ? n : sampi_known_members(&flat, &sorted);
    if (end == 0) return SAMPI_DECLINED;
    if (flat.whole && job->logprobs && sampi_traits_of(list[n - 1]->kind)->flags & SAMPI_OWN_LOGITS)
        return SAMPI_DECLINED;
    if ((status = sampi_open_row(&row, job))) return status;
    sampi_save_state(s);
    while (i < end && (list[i]->off || (status = sampi_run_fast(&row, list[i], s->position, &ordinal)) == SAMP_OK))
        i++;
    if (status != SAMPI_DECLINED && (status || flat.whole))
        return sampi_end_draw(s, status ? status : sampi_accept_drawn(job, &row, &row, token));
    if (!flat.whole && !status) sampi_compact(&row);
    if (!flat.whole && (status || sampi_has_minus_zero(&row))) {
        sampi_restore_state(s);
        return SAMPI_DECLINED;
    }
    if (row.floor > -FLT_MAX) sampi_compact(&row);
    samp_token_data_array cur = sampi_row_array(&row); /* and goes on by list [i] */
    if (sorted) sampi_sort_all(&cur);
    s->perf.n_steps++;
    return sampi_end_draw(s, sampi_finish_by_steps(job, list, i, n, &cur, &ordinal, token));
}
