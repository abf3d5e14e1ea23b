/* =================================================================================================== >>apply
   samp_apply applies a sampler to the user's array of candidates, in place. The steps (sampi_life_apply_steps in
   life/chain.h) define the result. A long array whose ids ascend is processed faster as a view: a dense row
   (rows/row.h) whose logits are those of the array, so that the functions of rows/ can work on them. The row's ids are
   indices in the array. Opening a view takes one pass over the array, which checks it and finds the maxima of its
   lines. Logits stay in the array; only if a sampler needs all of them does the pass copy them. Closing a view takes
   one pass, which writes the row back to the array. The view is closed before a sampler that cannot work on it. The
   next sampler opens it again, or runs step by step if few or sorted candidates remain. This room opens a view;
   run/writing.h closes it, run/arrays.h applies one sampler to it, and run/walk.h has the loop over a chain.

   While a view is open, the array itself is unchanged. Its `state` (SAMPI_VIEW_... of core/table.h) says which tokens
   are candidates and in which order: in that of the array, unless the state is SORTED. The candidates' p are those in
   the array: a sampler that writes another p closes the view, unless a later sampler overwrites that p. Only a sampler
   that masks the last unmasked token can fail on an open view: then the view writes what the sampler's steps would
   leave, and the next sampler reports the error. */

#define SAMPI_SHORT_ARRAY 256 /* arrays of at most so many candidates are not worth a view, and run step by step */

typedef struct sampi_view {
    sampi_row row;
    samp_token_data_array *cur; /* the user's array */
    sampi_sampler *outer;       /* the sampler of the call of samp_apply; its position counts */
    sampi_work *work, own;      /* the workspace; a copy of it with `candidate` in the memory of w, for the row */
    samp_perf_data perf;        /* counts of the row, which are not read: samp_apply counts nothing */
    sampi_order order;          /* the candidates' order, if the state is SORTED */
    unsigned state;             /* one of SAMPI_VIEW_... */
    sampi_ordinals ordinal;     /* how many samplers of each kind have run, as for sampi_life_run */
} sampi_view;

/* Returns the first sampler in s that is on and does more than set or scale logits; NULL if there is no such
   sampler. */
static SAMPI_COLD const sampi_sampler *sampi_first_cut(const sampi_sampler *s)
{
    const sampi_sampler *first = NULL;
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !first; i++) first = sampi_first_cut(s->u.chain.item[i]);
    return sampi_is_chain(s) || sampi_idles(s) || sampi_traits_of(s->kind)->flags & SAMPI_ONLY_EDITS ? first : s;
}

/* Does s read only few of n logits, namely those of lines with a large maximum? */
static SAMPI_COLD bool sampi_reads_few(const sampi_sampler *s, size_t n)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    if (sampi_is_custom(s) || (flags & SAMPI_SELECTS && flags & SAMPI_KEEPS_P)) return true;
    if (s->kind == SAMPI_MIN_P) return s->u.cut.p >= 0.001f && s->u.cut.min_keep <= n / 64;
    return s->kind == SAMPI_TOP_K && (size_t)s->u.top_k.k <= n / 64;
}

/* Opens a view for s: checks the array, and copies its logits if they will
   be read more than once. SAMPI_DECLINED: the array does not suit a view, or may be invalid. */
static SAMPI_COLD int sampi_open_view(sampi_view *view, const sampi_sampler *s)
{
    const samp_token_data *d = view->cur->data;
    sampi_work *work = view->work;
    sampi_row *row = &view->row;
    size_t n = view->cur->size;
    const sampi_sampler *first = sampi_first_cut(s);
    const bool copies = first ? !sampi_reads_few(first, n)
                              : s != view->outer; /* no cut: a sampler alone reads each logit only once */
    if (n <= SAMPI_SHORT_ARRAY || n > SAMP_MAX_VOCAB || view->cur->sorted || sampi_row_reserve(work, n, false))
        return SAMPI_DECLINED;
    view->own = *work;
    view->own.candidate = (samp_token_data *)(void *)work->w; /* work->candidate may be the array itself */
    memset(row, 0, sizeof *row);
    row->k = sampi_use();
    row->work = &view->own;
    row->perf = &view->perf;
    row->array = view->cur;
    row->top = -INFINITY;
    sampi_row_set_tokens(row, copies ? work->own : NULL, NULL, n);
    if (!copies) row->data = d, row->dtype = SAMPI_CANDIDATE;
    if (!row->k->survey(d, n, copies ? work->own : NULL, work->line, &row->top)) return SAMPI_DECLINED;
    if (!(row->top <= FLT_MAX)) return SAMP_E_NAN;
    if (!(row->top >= -FLT_MAX)) return SAMP_E_EMPTY;
    view->order = SAMPI_BY_LOGIT;
    view->state = SAMPI_VIEW_DENSE;
    return SAMP_OK;
}
