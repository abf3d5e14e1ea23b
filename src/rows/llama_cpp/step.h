/* ---- one sampler on the row, in llama.cpp's arithmetic ----
   In llama.cpp's arithmetic sums are floats, added in the order of the candidates. So a sampler works on the row only
   if it knows in which order llama.cpp would have the candidates that it keeps; otherwise it declines. */

/* Runs one sampler on a dense row in llama.cpp's arithmetic. last: it is the last member of the chain. If the sampler
   declines, the random numbers that it has drawn are taken back. */
static SAMPI_COLD int sampi_run_llama(sampi_row *row, sampi_sampler *member, bool last)
{
    const sampi_traits *traits = sampi_traits_of(member->kind);
    sampi_mt before, *mt = sampi_has_mt(member) ? sampi_mt_of(member) : NULL;
    if (!traits->fast_llama || (traits->flags & SAMPI_SELECTS && !last)) return SAMPI_DECLINED;
    bool takes_floor = traits->flags & (SAMPI_TAKES_FLOOR | SAMPI_LLAMA_TAKES_FLOOR);
    if (row->llama.by_order &&
        (!(traits->flags & SAMPI_LLAMA_BY_ORDER) || (row->llama.divided && member->kind != SAMPI_DIST)))
        return SAMPI_DECLINED;
    if ((row->llama.divided && !(traits->flags & SAMPI_LLAMA_DIVIDED)) || (row->floor > -FLT_MAX && !takes_floor))
        sampi_flatten(row);
    if (mt) before = *mt;
    int status = traits->fast_llama(row, member);
    if (status == SAMPI_DECLINED && mt) *mt = before;
    return status;
}

/* Can a sampler work on a view, a row that was an array? If the array was sorted, dist and the temperatures cannot:
   dist adds in the order of the array, and a temperature keeps that order, but a row has its tokens in the order of
   ids. */
static SAMPI_COLD bool sampi_fits_llama(const sampi_row *row, const sampi_sampler *s)
{
    return !row->llama.by_order || (s->kind != SAMPI_DIST && s->kind != SAMPI_TEMP && s->kind != SAMPI_TEMP_EXT);
}
