/* ================================================================================================== >>sample
   samp_sample and samp_draw return a token, or a negative status, for a row of logits. They try the fast path first
   (run/draw.h). If it declines, the samplers are applied one by one to the array of all candidates (life/chain.h),
   which is the definition of the token. Log-probabilities and counts are written at the end. After an error the
   samplers' state is as before the draw.

   This room has the end of a draw, by the fast path or by steps: it applies the remaining members of the chain to an
   array one by one, as samp_apply does (run/walk.h), and accepts the selected token. */

/* Lets the chain accept the token that is selected in an array (cur), or if that is NULL in a row, and writes its
   log-probabilities if the job asks for them. row: as it was before the selection; log-probabilities are computed from
   it, or for a token that is drawn again from the row as it was given. If a custom sampler refuses the token, none is
   written, and the caller undoes the draw. */
static int sampi_accept_selected(const sampi_job *job, samp_token_data_array *cur, sampi_row *row, samp_token *token)
{
    sampi_row given;
    samp_token_data_array all = { NULL, 0, -1, false };
    int status = SAMP_OK;
    *token = cur ? sampi_row_replayed(job->s) : row->token;
    if (*token < 0 && cur) *token = cur->data[cur->selected].id;
    if ((size_t)*token >= job->n) return SAMP_E_RANGE; /* from a custom sampler or a replay */
    sampi_sampler *ras = sampi_must_repeat(job->s, *token);
    if (ras) {
        status = sampi_draw_again(job, ras, &given, &all, token);
        row = &given;
        cur = all.data ? &all : NULL;
    }
    if (!status && job->accept) status = samp_accept(&job->s->base, *token);
    if (status || !job->logprobs) return status;
    if (cur)
        sampi_row_tell_array(job, cur, *token);
    else
        sampi_row_tell_row(job, row, *token);
    return SAMP_OK;
}

/* Finishes a draw: applies member[from] to member[n - 1] to an array, and accepts the selected token. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const sampi_ordinals *ordinal,
                                            samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status && sampi_row_replayed(job->s) < 0) status = sampi_life_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, NULL, token);
}
