/* ---- samp_apply: one sampler on a view ----
   A view is the user's array, worked on as a row (run/apply.h). From a sampler's kind and settings this room decides
   whether the sampler can work on the view, whether a later sampler overwrites the p that it writes, and whether it
   leaves the array sorted. sampi_view_step applies one sampler to the open view, by its fast function of rows/, and
   closes the view if necessary. */

/* Does this sampler always write p? */
static SAMPI_COLD bool sampi_sets_p(const sampi_sampler *s)
{
    return !(sampi_traits_of(s->kind)->flags & (SAMPI_KEEPS_P | SAMPI_BY_CHANCE));
}

/* Returns how the members of s after `from` use the p that `from` writes: 1: a member overwrites it; -1: it may be read
   before; 0: neither, so this p is the result. *behind: whether the walk over the members has passed `from`. */
static SAMPI_COLD int sampi_use_of_p(const sampi_sampler *s, const sampi_sampler *from, bool *behind)
{
    int fate = 0;
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !fate; i++)
        fate = sampi_use_of_p(s->u.chain.item[i], from, behind);
    if (fate || sampi_is_chain(s)) return fate;
    if (!*behind) {
        *behind = s == from;
        return 0;
    }
    if (sampi_is_custom(s) || sampi_is_llama_cpp(s)) return -1;
    if (sampi_idles(s)) return 0;
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    if ((flags & SAMPI_PATCHES) && !(flags & SAMPI_MASKS_NONE)) return -1; /* if it fails, p is a result */
    return sampi_sets_p(s);
}

/* Can this sampler work on views? */
static SAMPI_COLD bool sampi_has_views(const sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    return flags & SAMPI_VIEW && (!sampi_is_llama_cpp(s) || flags & SAMPI_SAME_IN_LLAMA);
}

/* Can this sampler work on the open view, that is, on the user's array as a row? */
static SAMPI_COLD bool sampi_fits_view(const sampi_view *view, const sampi_sampler *s)
{
    const sampi_row *row = &view->row;
    bool has_floor = row->floor > -FLT_MAX, is_compact = sampi_is_compact(row);
    unsigned state = has_floor || is_compact ? SAMPI_VIEW_MASKED : SAMPI_VIEW_DENSE;
    if (view->drops) state = SAMPI_VIEW_DROPPED;
    if (view->sorts) state = SAMPI_VIEW_SORTED;
    if (view->drops && sampi_temp_masks(s)) return false; /* s masks tokens, which have to remain in the array */
    return sampi_has_views(s) && (sampi_traits_of(s->kind)->flags & SAMPI_VIEW) >= state;
}

/* Applies one sampler to the row of an open view (the user's array, worked on as a row), and closes the view if
   necessary. Returns a status, or SAMPI_DECLINED, as fast functions do; if it is not SAMP_OK, the caller has to write
   the array from the row as it is. */
static SAMPI_COLD int sampi_view_step(sampi_view *view, sampi_sampler *s)
{
    const unsigned flags = sampi_traits_of(s->kind)->flags;
    sampi_row *row = &view->row;
    if (row->floor > -FLT_MAX && !(flags & SAMPI_TAKES_FLOOR)) sampi_compact(row);
    row->sorts = false;
    bool behind = false, selects = flags & SAMPI_SELECTS, by_chance = flags & SAMPI_BY_CHANCE,
         by_score = s->kind == SAMPI_TYPICAL, few_stay = flags & SAMPI_DROPS_FAST && !selects;
    bool shows = (sampi_sets_p(s) || by_chance) && sampi_use_of_p(view->outer, s, &behind) <= 0;
    float max = sampi_row_max(row);
    size_t n = by_chance || few_stay ? sampi_row_count(row, -FLT_MAX, INFINITY) : 0;
    sampi_sums sums = { max, 0, 0, 0, 0 };
    if (few_stay && n <= 2) return SAMPI_DECLINED; /* s may keep masked tokens, which the row no longer has */
    if (by_chance && !view->drops && n < view->cur->size) return SAMPI_DECLINED; /* s keeps masked tokens too */
    if ((shows && !selects) || by_score) sums = sampi_row_sums(row, max, -FLT_MAX, by_score);
    int status = flags & SAMPI_ONLY_SHOWS ? SAMP_OK : sampi_run_fast(row, s, view->outer->position, &view->ordinal);
    if (status) return status;
    if (by_chance) shows &= n = n > sampi_row_count(row, -FLT_MAX, INFINITY);
    view->drops |= flags & (SAMPI_DROPS | SAMPI_DROPS_FAST) || (by_chance && n);
    view->sorts |= row->sorts || flags & SAMPI_SORTS;
    if (by_score) {
        view->order.score = sampi_typical_score;
        view->order.max = max;
        view->order.mean = (double)sums.s / (double)sums.z;
    }
    bool is_short = view->drops && sampi_is_compact(row) && row->n <= SAMPI_FEW;
    if (shows || selects || is_short || by_score || flags & SAMPI_ONLY_SHOWS)
        sampi_close_view(view, shows ? &sums : NULL, selects ? row->token : -1);
    return SAMP_OK;
}
