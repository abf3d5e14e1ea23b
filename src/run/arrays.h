/* ---- samp_apply: one sampler on a view ----
   A view is the user's array, worked on as a row (run/apply.h). From a sampler's kind and settings this room decides
   whether the sampler can work on the view, and whether a later sampler overwrites the p that it writes.
   sampi_view_step applies one sampler to the open view, by its fast function of rows/, and closes the view if
   necessary. */

/* Does this sampler always write p? */
static SAMPI_COLD bool sampi_sets_p(const sampi_sampler *s)
{
    return !(sampi_traits_of(s->kind)->flags & (SAMPI_KEEPS_P | SAMPI_BY_CHANCE));
}

/* What becomes of the p that a sampler writes: it is the result; a later sampler may read it; or one overwrites it. */
typedef enum sampi_p_fate { SAMPI_P_STAYS, SAMPI_P_IS_READ, SAMPI_P_IS_LOST } sampi_p_fate;

/* Returns what the members of s after `from` do with the p that `from` writes. *behind: whether the walk over the
   members has passed `from`. */
static SAMPI_COLD sampi_p_fate sampi_fate_of_p(const sampi_sampler *s, const sampi_sampler *from, bool *behind)
{
    sampi_p_fate fate = SAMPI_P_STAYS;
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !fate; i++)
        fate = sampi_fate_of_p(s->u.chain.item[i], from, behind);
    if (fate || sampi_is_chain(s)) return fate;
    if (!*behind) {
        *behind = s == from;
        return SAMPI_P_STAYS;
    }
    if (sampi_is_custom(s) || sampi_is_llama_cpp(s)) return SAMPI_P_IS_READ;
    if (sampi_idles(s)) return SAMPI_P_STAYS;
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    if (flags & SAMPI_PATCHES && !(flags & SAMPI_MASKS_NONE)) return SAMPI_P_IS_READ; /* if s fails, p stays */
    return sampi_sets_p(s) ? SAMPI_P_IS_LOST : SAMPI_P_STAYS;
}

/* Can this sampler work on views? */
static SAMPI_COLD bool sampi_has_views(const sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    return flags & SAMPI_VIEW && (!sampi_is_llama_cpp(s) || flags & SAMPI_SAME_IN_LLAMA);
}

/* Can this sampler work on the open view in its present state? */
static SAMPI_COLD bool sampi_fits_view(const sampi_view *view, const sampi_sampler *s)
{
    if (view->state >= SAMPI_VIEW_DROPPED && sampi_temp_masks(s))
        return false; /* s masks tokens, which have to remain in the array */
    return sampi_has_views(s) && (sampi_traits_of(s->kind)->flags & SAMPI_VIEW) >= view->state;
}

/* Applies one sampler to the row of an open view, and closes the view if necessary. Returns a status, or
   SAMPI_DECLINED, as fast functions do; if it is not SAMP_OK, the caller has to write the array from the row as it
   is. */
static SAMPI_COLD int sampi_view_step(sampi_view *view, sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    sampi_row *row = &view->row;
    if (row->floor > -FLT_MAX && !(flags & SAMPI_TAKES_FLOOR)) sampi_row_compact(row);
    row->sorts = false;
    const bool selects = flags & SAMPI_SELECTS, by_chance = flags & SAMPI_BY_CHANCE,
               only_shows = flags & SAMPI_ONLY_SHOWS, by_score = s->kind == SAMPI_TYPICAL,
               few_stay = flags & SAMPI_DROPS_FAST && !selects;
    bool behind = false, drops = flags & (SAMPI_DROPS | SAMPI_DROPS_FAST);
    bool shows = (sampi_sets_p(s) || by_chance) && sampi_fate_of_p(view->outer, s, &behind) != SAMPI_P_IS_LOST;
    float max = sampi_row_max(row);
    size_t n = by_chance || few_stay ? sampi_row_count(row, -FLT_MAX, INFINITY) : 0;
    sampi_sums sums = { max, 0, 0, 0, 0 };
    /* s may keep masked tokens, which the row no longer has */
    if (few_stay && n <= 2) return SAMPI_DECLINED;
    if (by_chance && view->state < SAMPI_VIEW_DROPPED && n < view->cur->size) return SAMPI_DECLINED;
    if ((shows && !selects) || by_score) sums = sampi_row_sums(row, max, -FLT_MAX, by_score);
    int status = only_shows ? SAMP_OK : sampi_row_run_fast(row, s, view->outer->position, &view->ordinal);
    if (status) return status;
    if (by_chance) {
        drops = sampi_row_count(row, -FLT_MAX, INFINITY) < n;
        shows = shows && drops;
    }
    unsigned state = row->floor > -FLT_MAX || sampi_row_is_compact(row) ? SAMPI_VIEW_MASKED : SAMPI_VIEW_DENSE;
    if (drops) state = SAMPI_VIEW_DROPPED;
    if (row->sorts || (flags & SAMPI_SORTS && !only_shows)) state = SAMPI_VIEW_SORTED;
    if (view->state < state) view->state = state;
    if (by_score) {
        view->order.score = sampi_typical_score;
        view->order.max = max;
        view->order.mean = (double)sums.s / (double)sums.z;
    }
    bool is_short = view->state >= SAMPI_VIEW_DROPPED && sampi_row_is_compact(row) && row->n <= SAMPI_SHORT_ARRAY;
    if (shows || selects || is_short || by_score || only_shows)
        sampi_close_view(view, shows ? &sums : NULL, selects ? row->token : -1);
    if (only_shows) sampi_sort_all(view->cur, sampi_row_memory_of(row->work)); /* masked candidates too */
    return SAMP_OK;
}
