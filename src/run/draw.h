/* ---- a draw ----
   Draws one token from one row of logits, by the fast path. The members of the flat chain (rows/flat.h: the chain with
   the members of nested chains) work on the row. If a member declines, the remaining members work on an array. Then the
   chain accepts the token, and log-probabilities are written. A custom sampler must get the same array as step by step,
   so members before it work on the row only as long as the code knows which array their steps would leave. samp_sample,
   batches and samp_verify draw by sampi_draw_fast. */

/* Returns how many members, from the first on, can work on the row before a custom sampler, because the array that
   their steps would leave is known to the last byte. It has no masked tokens, because the last of these members removes
   them. Its p are as they were, because none of the members writes p. Its order is by id until a member sorts, then by
   logit (*sorted). A member that may sort, depending on its min_keep, ends the count unless a later one sorts. */
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
        if (flags & SAMPI_KEEPS_SOME) by_id = by_id && sampi_min_keep(member) == 1;
        if (flags & SAMPI_SORTS)
            by_id = false;
        else if (!by_id)
            continue;
        known = i + 1;
        *sorted = !by_id;
    }
    return known;
}

/* Returns the same in llama.cpp's arithmetic, whose sums depend on the order of the array. One member that removes
   tokens is enough: the array after it is short. greedy ends a draw on the row. done: the member whose mask the row
   has, which need not be applied again if the chain has no custom sampler. */
static int sampi_known_to_llama(const sampi_flat_chain *flat, const sampi_sampler *done, bool *sorted)
{
    for (int i = 0; i < flat->n_members; i++) {
        const sampi_sampler *member = flat->member[i];
        const unsigned flags = sampi_traits_of(member->kind)->flags;
        if (member->off || (member == done && flat->whole)) continue;
        if (!(flags & SAMPI_SAME_IN_LLAMA) || (flags & SAMPI_SELECTS && !flat->whole)) return 0;
        *sorted = flags & SAMPI_SORTS;
        if (flags & (SAMPI_DROPS | SAMPI_SELECTS)) return i + 1;
    }
    return 0;
}

/* May the array of a row have +0 where the steps would leave -0? A custom sampler has to see +0 if the caller gave -0,
   but -0 if a sampler has computed it, and the row cannot distinguish the two. */
static bool sampi_has_minus_zero(const sampi_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->x[i] == 0.0f && copysignf(1.0f, row->x[i]) < 0.0f) return true;
    return false;
}

/* Makes a whole draw. Returns a status, or SAMPI_DECLINED with nothing changed; then the caller draws step by step. In
   a chain with a custom sampler, or in llama.cpp's arithmetic, the members that are counted above work on the row; if
   one of them declines or fails, the whole draw is undone, and SAMPI_DECLINED returned. */
static int sampi_draw_fast(const sampi_job *job, samp_token *token)
{
    sampi_sampler *s = job->s;
    sampi_row row;
    sampi_flat_chain flat;
    bool sorted = false;
    int i = 0, status;
    sampi_row_make_flat(&flat, s);
    const bool is_llama = flat.n_members > 0 && sampi_is_llama_cpp(flat.member[0]), whole = flat.whole && !is_llama;
    sampi_ordinals ordinal = { { 0 }, is_llama, false, false, job->work };
    sampi_sampler *const *list = whole ? flat.list : flat.member;
    const sampi_sampler *done = is_llama ? sampi_life_first_mask(s) : NULL;
    const int n = whole ? flat.n : flat.n_members,
              end = whole      ? n
                    : is_llama ? sampi_known_to_llama(&flat, done, &sorted)
                               : sampi_known_members(&flat, &sorted);
    if (end == 0) return SAMPI_DECLINED;
    if (whole && job->logprobs && sampi_traits_of(list[n - 1]->kind)->flags & SAMPI_OWN_LOGITS) return SAMPI_DECLINED;
    if ((status = sampi_row_open_row(&row, job))) return status;
    sampi_life_save_state(s);
    for (; i < end && status == SAMP_OK; i += status == SAMP_OK)
        if (!list[i]->off && list[i] != done) status = sampi_row_run_fast(&row, list[i], s->position, &ordinal);
    if (status != SAMPI_DECLINED && (whole || (!status && row.token >= 0)))
        return sampi_life_end_draw(s, status ? status : sampi_accept_selected(job, NULL, &row, token));
    /* the draw continues step by step, with list[i] */
    if (!status || row.floor > -FLT_MAX) sampi_row_compact(&row);
    if (!whole && (status || (!flat.whole && sampi_has_minus_zero(&row)))) {
        sampi_life_restore_state(s);
        return SAMPI_DECLINED;
    }
    samp_token_data_array cur = sampi_row_array(&row);
    if (sorted || (!whole && row.sorts)) sampi_sort_all(&cur, sampi_row_memory_of(job->work));
    s->perf.n_steps += !is_llama;
    return sampi_life_end_draw(s, sampi_finish_by_steps(job, list, i, n, &cur, &ordinal, token));
}
