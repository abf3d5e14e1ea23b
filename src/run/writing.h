/* ---- samp_apply: closing a view ----
   One pass writes the row of a view (run/apply.h) to the user's array: the remaining candidates, each with its logit;
   with p, if a sampler has set it; and sorted, if the samplers' steps would have sorted them. The row is read by
   rows/pieces.h. */

/* Does the array have masked candidates that the row does not have? */
static bool sampi_is_sparse(const sampi_view *view)
{
    return view->state < SAMPI_VIEW_DROPPED && sampi_row_is_compact(&view->row) && view->row.n < view->cur->size;
}

/* Goes to the next tile of the array, and sets it->x to the logits that the row gives them; those that the row does not
   have are masked. False: the array ends here. */
static SAMPI_HOT bool sampi_next_candidates(const sampi_view *view, sampi_pieces *it)
{
    const sampi_row *row = it->row;
    const size_t n = view->cur->size;
    if (!sampi_is_sparse(view)) return sampi_row_next_logits(it);
    it->at += it->n;
    it->n = n - it->at < SAMPI_TILE ? n - it->at : SAMPI_TILE;
    it->x = it->buf;
    for (size_t i = 0; i < SAMPI_TILE; i++) it->buf[i] = -INFINITY;
    for (; it->passed < row->n && (size_t)row->id[it->passed] < it->at + it->n; it->passed++)
        it->buf[(size_t)row->id[it->passed] - it->at] = row->x[it->passed];
    return it->n > 0;
}

/* Returns the sum of the weights of the remaining candidates. *e_out: e^(l - max) of each candidate, in the memory of
   w; NULL if that memory is in use, or if the row has only some of the candidates. */
static SAMPI_COLD uint64_t sampi_view_exps(const sampi_view *view, float max, double **e_out)
{
    const sampi_row *row = &view->row;
    double *e = (double *)(void *)row->work->w;
    bool is_free = (const void *)row->x != row->work->w;
    sampi_pieces it;
    uint64_t z = 0;
    *e_out = is_free && !sampi_is_sparse(view) ? e : NULL;
    if (!*e_out) return sampi_row_sums(row, max, row->floor, false).above;
    for (sampi_row_start(&it, row); sampi_row_next_logits(&it);)
        z += row->k->weights(it.x, it.n, max, NULL, e + it.at);
    return z;
}

/* Writes the logits of the remaining candidates to the array, by ascending id, and their p from `sums`; without sums p
   stays. e: the result of sampi_view_exps, or NULL. */
static SAMPI_COLD void sampi_write_view(const sampi_view *view, const sampi_sums *sums, const double *e)
{
    const sampi_row *row = &view->row;
    samp_token_data *d = view->cur->data;
    float p[SAMPI_TILE + 16];
    double own[SAMPI_TILE + 16];
    sampi_pieces it;
    size_t before = 0;
    bool is_sparse = sampi_is_sparse(view), dropped = view->state >= SAMPI_VIEW_DROPPED;
    for (size_t i = 0; dropped && i < row->n; i++) d[i] = d[row->id[i]];
    for (sampi_row_start(&it, row); sampi_next_candidates(view, &it); before = it.passed) {
        if (is_sparse && it.passed == before)
            memset(p, 0, sizeof p); /* all masked */
        else if (sums) {
            if (!e) (void)row->k->weights(it.x, it.n, sums->max, NULL, own);
            row->k->probs(it.x, e ? e + it.at : own, it.n, sums->max, (double)sums->z, p);
        }
        row->k->put(d + it.at, it.n, it.x, sums ? p : NULL, 1.0);
    }
}

/* Closes a view: writes the row to the array. index: the selected candidate, or
   -1. sums: if it is not NULL, p is set, from the remaining candidates if one is selected, otherwise from `sums`; if it
   is NULL, p stays. */
static SAMPI_COLD void sampi_close_view(sampi_view *view, sampi_sums *sums, samp_token index)
{
    sampi_row *row = &view->row;
    samp_token_data_array *cur = view->cur;
    samp_token_data *d = cur->data;
    samp_token id = index < 0 ? -1 : d[index].id;
    size_t n = cur->size;
    double *e = NULL;
    const bool dropped = view->state >= SAMPI_VIEW_DROPPED, sorts = view->state == SAMPI_VIEW_SORTED;
    if (view->state == SAMPI_VIEW_CLOSED) return;
    if (dropped) {
        sampi_row_compact(row);
        n = row->n;
    }
    if (sums && index >= 0) {
        sums->max = sampi_row_max(row);
        sums->z = sampi_view_exps(view, sums->max, &e);
    }
    if (dropped || sums || row->r != 1.0f || row->floor > -FLT_MAX || row->is_own ||
        (row->dtype != SAMPI_CANDIDATE && row->x != row->work->own))
        sampi_write_view(view, sums, e);
    else
        for (size_t c = 0; c < row->n_change; c++) d[row->work->change[c].id].logit = row->work->change[c].x;
    cur->size = n;
    cur->sorted = false;
    view->state = SAMPI_VIEW_CLOSED;
    if (sorts) sampi_sort(&view->order, cur, 0, n, sampi_row_memory_of(row->work));
    cur->sorted = sorts && !view->order.score;
    if (index < 0) return;
    cur->selected = (int64_t)(sorts ? sampi_find_candidate(cur, id) : sampi_find_ascending(cur, id));
}
