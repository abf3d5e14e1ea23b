/* ================================================================================================== >>sample
   samp_sample and samp_draw: a row of logits comes in, a token or a negative status goes out. The fast path
   (run/draw.h) is asked first. Where it declines, the array of all candidates goes through the samplers one by one
   (life/chain.h), which is what defines the token. Log-probabilities and counts are written at the end. A draw is all
   or nothing: after an error the samplers' state is as before.

   This room has the end of both ways: an array and the members of the chain that have not seen it come in. They are
   applied to it one by one, as samp_apply does it (run/walk.h), and the token that is selected is accepted. */

/* The token that an array has selected. If a custom sampler refuses it, it is as if it had not been drawn: the caller
   puts the state back, and no log-probability is told. */
static int sampi_accept_selected(const sampi_job *job, samp_token_data_array *cur, samp_token *token)
{
    *token = cur->data[cur->selected].id;
    if ((size_t)*token >= job->n) return SAMP_E_RANGE; /* a custom sampler's */
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_array_logprobs(cur, &job->logprobs->processed);
    return status;
}

/* The token that a row has selected; `before`: that row, or what it was before a selection that has used it up. */
static int sampi_accept_drawn(const sampi_job *job, const sampi_row *row, sampi_row *before, samp_token *token)
{
    *token = row->token;
    int status = job->accept ? samp_accept(&job->s->base, *token) : SAMP_OK;
    if (!status && job->logprobs) sampi_row_logprobs(before, *token, &job->logprobs->processed);
    return status;
}

/* The rest of a draw, members from .. n, over an array. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const sampi_ordinals *ordinal,
                                            samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status) status = sampi_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, token);
}
