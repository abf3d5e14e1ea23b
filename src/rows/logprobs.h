/* ---- log-probabilities ----
   The room computes ln p and the rank of the drawn token, and the n most probable tokens; either of the row as it was
   given, or of the tokens that the chain has left. It always computes the exact sum, even if the draw used an
   estimate. */

/* Returns ln p of the logit l; z is the sum of all weights. It uses the logit, not the weight, because the weight is 0
   for tokens whose ln p is still of interest. */
static float sampi_logprob(float l, float max, uint64_t z)
{
    return (float)((double)l - (double)max - sampi_ln((double)z / (double)SAMPI_ONE)) + 0.0f; /* -0 becomes +0 */
}

/* Sets the entry of the drawn token. before: the number of tokens with a better rank. */
static void sampi_set_chosen(samp_logprob_set *set, samp_token token, size_t before, float logprob)
{
    set->chosen.token = token;
    set->chosen.rank = (int32_t)before + 1;
    set->chosen.logprob = logprob;
    set->cumulative_logprob += (double)logprob;
}

/* Inserts a token with logit l into the sorted list of the n best tokens so far; returns the new n. Until
   sampi_finish_top, the member logprob of an entry holds the logit. */
static int32_t sampi_set_top(samp_logprob_set *set, int32_t n, samp_token token, float l)
{
    samp_logprob *top = set->top_logprobs;
    int32_t i = n < set->n_top ? n++ : n - 1;
    for (; i > 0 && (top[i - 1].logprob < l || (top[i - 1].logprob == l && top[i - 1].token > token)); i--)
        top[i] = top[i - 1];
    top[i].token = token;
    top[i].logprob = l;
    return n;
}

/* Gives the n best tokens their ranks, and their log-probabilities in place of the logits. */
static void sampi_finish_top(samp_logprob_set *set, int32_t n, float max, uint64_t z)
{
    set->n_top_found = n;
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].rank = i + 1;
        set->top_logprobs[i].logprob = sampi_logprob(set->top_logprobs[i].logprob, max, z);
    }
}

/* Writes the log-probabilities of a row; afterwards the row may have only its first tokens. The rank of a token is 1 +
   the number of tokens with a larger logit, or with the same logit and a smaller id. */
static void sampi_row_logprobs(sampi_row *row, samp_token token, samp_logprob_set *set)
{
    float max = sampi_row_max(row);
    uint64_t z = sampi_row_sums(row, max, row->floor, false).above;
    size_t at = sampi_find_id(row, token);
    float l = sampi_logit_of(row, sampi_present(row, at));
    float from = sampi_unscale(row, l), above = sampi_unscale(row, sampi_next_up(l));
    /* Of the elements whose logit is l, the row's floor may mask some. A masked token has a rank too: then `from`
       stays. */
    if (from >= -FLT_MAX && from < row->floor) from = row->floor;
    sampi_row before = *row;
    before.n = at;
    sampi_set_chosen(set, token, sampi_row_count(row, above, INFINITY) + sampi_row_count(&before, from, above),
                     sampi_logprob(l, max, z));
    if (set->n_top == 0) {
        sampi_finish_top(set, 0, max, z);
        return;
    }
    int32_t n = 0;
    sampi_keep_first(row, (size_t)set->n_top);
    for (size_t i = 0; i < row->n; i++) n = sampi_set_top(set, n, row->id[i], row->x[i]);
    sampi_finish_top(set, n, max, z);
}

/* Writes the log-probabilities of the array of candidates that a chain has left; cur->selected is the drawn token. */
static void sampi_array_logprobs(samp_token_data_array *cur, samp_logprob_set *set)
{
    samp_token_data chosen = cur->data[cur->selected];
    sampi_sums sums = sampi_sum(cur);
    size_t before = 0;
    for (size_t i = 0; i < cur->size; i++) before += sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &chosen);
    sampi_set_chosen(set, chosen.id, before, sampi_logprob(chosen.logit, sums.max, sums.z));
    int32_t n = set->n_top < (int32_t)sums.n ? set->n_top : (int32_t)sums.n;
    sampi_recheck_order(cur); /* under MT19937 an array that is `sorted` may have ties in any order */
    if (n > 0) sampi_sort(&SAMPI_BY_LOGIT, cur, 0, (size_t)n, NULL);
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].token = cur->data[i].id;
        set->top_logprobs[i].logprob = cur->data[i].logit;
    }
    sampi_finish_top(set, n, sums.max, sums.z);
}
