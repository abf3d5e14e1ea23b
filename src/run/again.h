/* ---- drawing again: ras ----
   A chain whose last sampler is ras may have drawn a token that its last tokens repeat too often (samplers/ras.h). Then
   the token is drawn again from the row as the chain got it, with its masks, and without what samplers have changed or
   removed. What samplers of the chain forbid stays forbidden: those that mask tokens, and do not only remove unlikely
   ones, mask them in the row again. */

/* Returns the chain's last member if it is a ras for which this token is drawn again; else NULL. */
static sampi_sampler *sampi_must_repeat(sampi_sampler *s, samp_token token)
{
    s = sampi_row_selector(s);
    return s->kind == SAMPI_RAS && sampi_ras_repeats(s, token) ? s : NULL;
}

/* Does the sampler forbid tokens? */
static SAMPI_COLD bool sampi_forbids(const sampi_sampler *s)
{
    for (int32_t i = 0, all = sampi_n_active(s); i < all; i++)
        if (sampi_forbids(s->u.chain.item[i])) return true;
    const bool is_list = s->kind == SAMPI_LOGIT_BIAS || s->kind == SAMPI_CONSTRAINT || s->kind == SAMPI_TIMESTAMPS;
    return (is_list && !sampi_idles(s)) || s->kind == SAMPI_GRAMMAR;
}

/* Masks in an array of the whole row what s forbids; the logits of all other tokens stay those of the row. `done` has
   masked the row already. */
static SAMPI_COLD int sampi_forbid_again(sampi_sampler *s, const sampi_sampler *done, const sampi_row *row,
                                         samp_token_data_array *cur)
{
    int status = SAMP_OK;
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !status; i++)
        status = sampi_forbid_again(s->u.chain.item[i], done, row, cur);
    if (status || sampi_is_chain(s) || s == done || !sampi_forbids(s)) return status;
    if ((status = sampi_check(cur))) return status;
    status = sampi_is_custom(s) ? sampi_life_call_custom(s, cur) : sampi_traits_of(s->kind)->apply(s, cur);
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        if (!sampi_masked(d->logit)) d->logit = sampi_row_present(row, (size_t)d->id);
    }
    return status;
}

/* Draws the token again by s, the chain's ras, from the row as it was given: *row, or if samplers of the chain forbid
   tokens its array, *cur. */
static SAMPI_COLD int sampi_draw_again(const sampi_job *job, sampi_sampler *s, sampi_row *row,
                                       samp_token_data_array *cur, samp_token *token)
{
    int status = sampi_row_open_row(row, job);
    if (!status && sampi_forbids(job->s)) {
        *cur = sampi_row_array(row);
        status = sampi_forbid_again(job->s, sampi_life_first_mask(job->s), row, cur);
        if (!status) status = sampi_check(cur);
    }
    if (status) return status;
    s->at_ordinal |= SAMPI_RAS_AGAIN;
    if (cur->data)
        sampi_draw_envelope(s, cur);
    else
        (void)sampi_fast_dist(row, s);
    s->at_ordinal &= ~(uint32_t)SAMPI_RAS_AGAIN;
    *token = cur->data ? cur->data[cur->selected].id : row->token;
    return SAMP_OK;
}
