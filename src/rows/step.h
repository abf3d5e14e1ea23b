/* ---- one sampler on the row ----
   sampi_row_run_fast applies one member of a chain to the row by the fast function of the member's kind. It returns
   SAMPI_DECLINED if there is no such function, or if the function declines. Draws (run/draw.h) and views of arrays
   (run/arrays.h) call it for one member after another. */

static int sampi_row_run_fast(sampi_row *row, sampi_sampler *member, uint64_t position, sampi_ordinals *ordinal)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    if (row->floor > -FLT_MAX && !(traits->flags & SAMPI_TAKES_FLOOR)) sampi_row_compact(row);
    if (!traits->fast || (member->draft && (traits->flags & SAMPI_SELECTS))) return SAMPI_DECLINED;
    if (sampi_is_llama_cpp(member) && !(traits->flags & SAMPI_SAME_IN_LLAMA)) return SAMPI_DECLINED;
    member->at_position = position;
    member->at_ordinal = ordinal->next[member->kind];
    int status = traits->fast(row, member);
    if (status == SAMP_OK) ordinal->next[member->kind]++; /* the steps count a sampler that declines */
    return status;
}
