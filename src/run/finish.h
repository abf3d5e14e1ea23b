/* ================================================================================================== >>sample
   samp_sample and samp_draw: a token, or a negative status, from a row of logits. The fast path (run/draw.h) is tried
   first. If it declines, the array of all candidates goes through the samplers one by one (life/chain.h), which defines
   the token. Log-probabilities and counts are written at the end. A draw is all or nothing: after an error the
   samplers' state is as before.

   This room has the end of both ways: it applies the remaining members of the chain to an array one by one, as
   samp_apply does (run/walk.h), and accepts the selected token. */

/* Accepts the token that an array has selected. If a custom sampler refuses it, no log-probability is written, and the
   caller undoes the draw. */
static int sampi_accept_selected(const sampi_job *job, samp_token_data_array *cur, samp_token *token)
{
    *token = cur->data[cur->selected].id;
    if ((size_t)*token >= job->n) return SAMP_E_RANGE; /* from a custom sampler */
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_array_logprobs(cur, &job->logprobs->processed);
    return status;
}

/* Accepts the token that a row has selected. before: the row as it was before the selection, for log-probabilities. */
static int sampi_accept_drawn(const sampi_job *job, const sampi_row *row, sampi_row *before, samp_token *token)
{
    *token = row->token;
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_row_logprobs(before, *token, &job->logprobs->processed);
    return status;
}

/* Finishes a draw: applies members from .. n to an array, and accepts the selected token. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const sampi_ordinals *ordinal,
                                            samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status) status = sampi_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, token);
}
