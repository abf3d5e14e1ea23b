/* ---- the end of a draw, over an array ----
   Where a chain can't go on over the row, the tokens that are left become an array, and the members that are left are
   applied to it one by one, as samp_apply does it. */

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

/* Members from .. n on an array (>>apply). */
static int sampi_apply_members(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                               samp_token_data_array *cur, const uint32_t *ordinal);

/* The rest of a draw, members from .. n, over an array. */
static SAMPI_COLD int sampi_finish_by_steps(const sampi_job *job, sampi_sampler *const *member, int from, int n,
                                            samp_token_data_array *cur, const uint32_t *ordinal, samp_token *token)
{
    int status = sampi_apply_members(job, member, from, n, cur, ordinal);
    if (!status) status = sampi_check_selected(cur);
    return status ? status : sampi_accept_selected(job, cur, token);
}
