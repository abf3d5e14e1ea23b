/* =============================================================================================== >>selection
   Samplers that end a chain: greedy, dist, mirostat, mirostat_v2, adaptive_p (and softmax, which only sets p). Each
   leaves in cur->selected the index of its candidate, and (but for greedy) p of all that are left. Of the sampler
   apply changes mirostat's mu (s->now.mu) and what adaptive_p must remember until its token is accepted
   (s->now.pending, pending_p), nothing else; sampi_end_draw puts s->now back if a later sampler fails.

   The random samplers choose in one place, sampi_draw. It has two forms: the draw by envelope, and for a row of a
   draft that samp_verify tests the ratio test, so that mirostat and adaptive_p follow the token that was really
   taken.

   The one thing to know: a draw goes by ascending id, whatever order the array is in. The order would depend on which
   samplers have sorted, and the fast path, which does not sort, could not give the same token. */

/* For users who want p and the order, not a token: it selects nothing. */
static int sampi_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_sums sums = sampi_sum(cur);
    sampi_sort_all(cur);
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

/* No p: nothing needs it, and it would cost a pass of exps. */
static int sampi_greedy_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
#ifdef SAMPLING_DRAFTS_DECLARED
    if (sampi_relax(s, cur)) return SAMP_OK;
#endif
    cur->selected = (int64_t)sampi_argmax(cur);
    return SAMP_OK;
}
