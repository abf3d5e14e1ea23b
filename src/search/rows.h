/* ---- search: a row through its chain, without a selection ----
   A beam's chain changes its row, and the search chooses; so the chain's members run as in a draw (run/draw.h), but
   those that select, and a temperature of 0, are left out. The members work on the row as long as they can, then on an
   array. The room also takes the best of the remaining tokens. It uses rows/, run/walk.h and run/batch.h. */

/* What a chain leaves of a row. */
typedef struct sampi_left {
    sampi_row row;
    samp_token_data_array cur; /* data NULL: the row */
    sampi_sums sums;           /* of the tokens left; s only if asked for */
} sampi_left;

/* Runs the chain on its row. The caller has noted the chain's state (sampi_life_save_state), and restores it or ends
   the draw. Returns a status. */
static int sampi_leave(const sampi_job *given, bool with_s, sampi_left *left)
{
    sampi_ordinals ordinal = { { 0 }, false, false, false, given->work };
    sampi_flat_chain flat;
    sampi_job job = *given;
    sampi_sampler *first = sampi_life_first_mask(job.s);
    int n = 0, i = 0, status = sampi_life_is_short(job.s, job.n) ? (int)SAMP_E_RANGE : SAMP_OK;
    left->cur.data = NULL;
    if (!status && first) status = sampi_mask_job(&job, first);
    if (!status) status = sampi_row_open_row(&left->row, &job);
    if (status) return status;
    sampi_row_make_flat(&flat, job.s);
    if (flat.n_members < 0) return SAMP_E_UNSUPPORTED;
    bool on_row = true; /* a custom sampler gets the array that the steps would give it */
    for (int k = 0; k < flat.n_members; k++) {
        sampi_sampler *member = flat.member[k];
        const unsigned flags = sampi_traits_of(member->kind)->flags;
        const bool is_temp = member->kind == SAMPI_TEMP || member->kind == SAMPI_TEMP_EXT;
        const bool selects = flags & SAMPI_SELECTS || (is_temp && member->u.temp.t == 0.0f);
        if (member->off || member == first || selects) continue;
        on_row = on_row && !sampi_is_custom(member) && !sampi_is_llama_cpp(member);
        flat.member[n++] = member;
    }
    while (on_row && i < n &&
           (status = sampi_row_run_fast(&left->row, flat.member[i], job.s->position, &ordinal)) == 0)
        i++;
    if (status < 0) return status;
    if (left->row.floor > -FLT_MAX) sampi_row_compact(&left->row);
    if (i == n) {
        left->sums = sampi_row_sums(&left->row, sampi_row_max(&left->row), -FLT_MAX, with_s);
        return SAMP_OK;
    }
    left->cur = sampi_row_array(&left->row);
    status = sampi_apply_members(&job, flat.member, i, n, &left->cur, &ordinal);
    if (!status) status = sampi_check(&left->cur);
    if (!status) left->sums = sampi_sum(&left->cur);
    return status;
}

/* Copies the k best tokens left (all, if they are fewer) to `few`, in any order. Returns their number. */
static size_t sampi_best_left(sampi_left *left, size_t k, sampi_runner *few)
{
    size_t n = k;
    if (left->cur.data) {
        if (n > (size_t)left->sums.n) n = (size_t)left->sums.n;
        sampi_recheck_order(&left->cur); /* in llama.cpp's arithmetic ties may be in any order */
        sampi_sort(&SAMPI_BY_LOGIT, &left->cur, 0, n, NULL);
    } else {
        sampi_row_keep_first(&left->row, k);
        n = left->row.n;
    }
    for (size_t i = 0; i < n; i++) {
        few[i].time = 0.0;
        few[i].logit = left->cur.data ? left->cur.data[i].logit : left->row.x[i];
        few[i].id = left->cur.data ? left->cur.data[i].id : left->row.id[i];
    }
    return n;
}

/* Copies the k tokens left with the shortest times of a race to `few`, in order. Returns their number. */
static size_t sampi_first_left(sampi_left *left, uint64_t seed, uint64_t position, uint32_t stream, size_t k,
                               sampi_runner *few)
{
    sampi_race race = { seed, position, stream, left->sums.max, -INFINITY, 0, (double)INFINITY, 0, few, k, 0 };
    if (!left->cur.data) sampi_row_race_row(&left->row, &race);
    for (size_t i = 0; left->cur.data && i < left->cur.size; i++)
        sampi_race_run(&race, left->cur.data[i].logit, left->cur.data[i].id, i);
    return race.n_first;
}
