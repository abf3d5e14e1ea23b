/* ---- samp_apply: an array through a chain ----
   The loop of samp_apply over the members of a chain. A member works on the view of the array (run/apply.h) if it can,
   otherwise on the array, step by step. A custom sampler gets the array itself, so the view is closed before it. The
   room uses the other rooms of samp_apply, and life/chain.h. run/finish.h calls it too, for a row that has become an
   array (sampi_apply_members). */

/* Applies one built-in sampler to the array: as a row (the view), if the sampler can work on it, otherwise step by
   step. Returns a status. */
static SAMPI_COLD int sampi_view_apply(sampi_view *view, sampi_sampler *s)
{
    const uint64_t position = view->outer->position;
    int status = SAMP_OK;
    if (view->state && !sampi_idles(s) && !sampi_fits_view(view, s)) sampi_close_view(view, NULL, -1);
    const bool is_llama = sampi_is_llama_cpp(s), has_views = sampi_idles(s) || sampi_has_views(s);
    if (!view->state) status = has_views ? sampi_open_view(view, s) : (int)SAMPI_DECLINED;
    if (status == SAMPI_DECLINED) return sampi_life_run(s, view->cur, position, &view->ordinal);
    if (status || sampi_idles(s)) return status;
    if (!is_llama && !(sampi_traits_of(s->kind)->flags & SAMPI_SELECTS))
        view->cur->selected = -1; /* as in sampi_life_run */
    view->ordinal.has_llama_cpp |= is_llama; /* as in sampi_life_run */
    view->ordinal.is_checked = false;
    status = sampi_view_step(view, s);
    if (status) sampi_close_view(view, NULL, -1);
    return status == SAMPI_DECLINED ? sampi_life_run(s, view->cur, position, &view->ordinal) : (int)SAMP_OK;
}

/* Applies a custom sampler to the array, and checks the candidates that it leaves. Opening the view again makes the
   same check; if the view cannot be opened, sampi_life_check_left makes it. */
static SAMPI_COLD int sampi_view_custom(sampi_view *view, sampi_sampler *s)
{
    samp_token_data_array *cur = view->cur;
    sampi_close_view(view, NULL, -1);
    int status = samp_status(&s->base, NULL);
    view->ordinal.has_llama_cpp |= sampi_is_llama_cpp(s); /* as in sampi_life_run */
    view->ordinal.is_checked = false;
    if (!status) status = sampi_life_call_custom(s, cur);
    if (status) return status;
    if (cur->size && sampi_open_view(view, s) == SAMP_OK && cur->data[cur->size - 1].id < SAMP_MAX_VOCAB)
        return SAMP_OK;
    view->state = SAMPI_VIEW_CLOSED;
    return sampi_life_check_left(s, cur);
}

/* Applies s to the view or the array; a chain member by member. Returns the first error. */
static SAMPI_COLD int sampi_view_walk(sampi_view *view, sampi_sampler *s)
{
    int status = SAMP_OK;
    if (sampi_is_custom(s)) return sampi_view_custom(view, s);
    if (!sampi_is_chain(s)) return sampi_view_apply(view, s);
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !status; i++)
        status = sampi_view_walk(view, s->u.chain.item[i]);
    return status;
}

static SAMPI_COLD sampi_view sampi_make_view(sampi_sampler *outer, sampi_work *work, samp_token_data_array *cur)
{
    sampi_view view;
    memset(&view, 0, sizeof view);
    view.outer = outer;
    view.work = work;
    view.cur = cur;
    view.ordinal.work = work;
    return view;
}

/* Applies member[from] to member[n - 1] of a draw to the array that its row has become. Other than in samp_apply, the
   draw has already noted the samplers' states, and if the array has no memory of its own in the workspace, there is no
   view. */
static SAMPI_COLD int sampi_apply_members(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                          samp_token_data_array *cur, const sampi_ordinals *ordinal)
{
    sampi_view view = sampi_make_view(job->s, job->work, cur);
    int status = SAMP_OK;
    view.ordinal = *ordinal;
    for (int i = from; i < n && !status; i++) {
        view.ordinal.ends_draw = i + 1 == n && !sampi_row_has_array(job->work);
        status = sampi_row_has_array(job->work) ? sampi_view_walk(&view, member[i])
                                            : sampi_life_run(member[i], cur, job->s->position, &view.ordinal);
    }
    if (!status) sampi_close_view(&view, NULL, -1);
    return status;
}

/* Is s a single sampler that is faster by steps than by a view? Such samplers change a few tokens; in an array of all
   tokens the index of a token is its id, so the steps find each at once. */
static SAMPI_COLD bool sampi_has_short_steps(const sampi_sampler *s, const samp_token_data_array *cur)
{
    const unsigned by_rules = SAMPI_ONLY_EDITS | SAMPI_PATCHES;
    bool is_dense = (size_t)cur->data[cur->size - 1].id == cur->size - 1;
    return !s->off && is_dense && (sampi_traits_of(s->kind)->flags & by_rules) == by_rules;
}

/* The array is checked before an edit of the sampler is counted and before anything is written, as in the steps. */
SAMP_API SAMPI_COLD int samp_apply(samp_sampler *sampler, samp_token_data_array *cur)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    if (!s || !cur || !cur->data || cur->size <= SAMPI_SHORT_ARRAY) return sampi_life_apply_steps(s, cur);
    int status = samp_status(sampler, NULL);
    if (status) return status;
    sampi_view view = sampi_make_view(s, &s->work, cur);
    view.ordinal.has_llama_cpp = sampi_is_llama_cpp(s); /* as in sampi_life_run */
    bool is_short = cur->size <= SAMP_MAX_VOCAB && sampi_has_short_steps(s, cur);
    status = is_short ? (int)SAMPI_DECLINED : sampi_open_view(&view, s);
    if (status == SAMPI_DECLINED) status = sampi_check(cur);
    if (status) return status;
    if (!sampi_is_llama_cpp(s)) sampi_recheck_order(cur);
    sampi_life_moves(s);
    sampi_life_save_state(s);
    status = is_short ? sampi_life_run_checked(s, cur, s->position, &view.ordinal) : sampi_view_walk(&view, s);
    if (!status) sampi_close_view(&view, NULL, -1);
    return sampi_life_end_draw(s, status);
}
