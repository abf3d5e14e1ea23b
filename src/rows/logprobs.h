/* ---- log-probabilities ----
   The room computes ln p and the rank of the drawn token, the n most probable tokens, the log-probabilities of given
   tokens and the entropy; either of the row as it was given, or of the tokens that the chain has left. It always
   computes the exact sums, even if the draw used an estimate. */

/* Returns ln p of the logit l; ln_z is ln of the sum of all e^(l - max). It uses the logit, not the weight, because the
   weight is 0 for tokens whose ln p is still of interest. */
static float sampi_row_logprob_of(float l, float max, double ln_z)
{
    return (float)((double)l - (double)max - ln_z) + 0.0f; /* -0 becomes +0 */
}

/* Returns the same; z is the sum of all weights. */
static double sampi_row_ln_z(uint64_t z) { return sampi_ln((double)z / (double)SAMPI_MAX_WEIGHT); }
static float sampi_row_logprob(float l, float max, uint64_t z)
{
    return sampi_row_logprob_of(l, max, sampi_row_ln_z(z));
}

/* Sets the entry of the drawn token. before: the number of tokens with a better rank. */
static void sampi_row_set_chosen(samp_logprob_set *set, samp_token token, size_t before, float logprob)
{
    set->chosen.token = token;
    set->chosen.rank = (int32_t)before + 1;
    set->chosen.logprob = logprob;
    set->cumulative_logprob += (double)logprob;
}

/* Inserts a token with logit l into the sorted list of the n best tokens so far; returns the new n. Until
   sampi_row_finish_set, the member logprob of an entry holds the logit. */
static int32_t sampi_row_set_top(samp_logprob_set *set, int32_t n, samp_token token, float l)
{
    samp_logprob *top = set->top_logprobs;
    int32_t i = n < set->n_top ? n++ : n - 1;
    for (; i > 0 && (top[i - 1].logprob < l || (top[i - 1].logprob == l && top[i - 1].token > token)); i--)
        top[i] = top[i - 1];
    top[i].token = token;
    top[i].logprob = l;
    return n;
}

/* Writes what follows from the sums: the n best tokens get their ranks, and they and the given tokens their
   log-probabilities in place of the logits; the entropy. */
static void sampi_row_finish_set(samp_logprob_set *set, int32_t n, const sampi_sums *sums)
{
    const double ln_z = sampi_row_ln_z(sums->z);
    set->n_top_found = n;
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].rank = i + 1;
        set->top_logprobs[i].logprob = sampi_row_logprob_of(set->top_logprobs[i].logprob, sums->max, ln_z);
    }
    for (int32_t i = 0; i < set->n_ids; i++)
        set->id_logprobs[i] = sampi_row_logprob_of(set->id_logprobs[i], sums->max, ln_z);
    set->entropy = (float)sampi_entropy(sums);
}

/* Returns the sums of the tokens that a row has left. Of a row with a floor only tiles of logits show which these
   are; and the kernel that sums multiplies, where a logit may be a quotient. */
static sampi_sums sampi_row_told(const sampi_row *row)
{
    const bool by_logits = row->floor > -FLT_MAX || row->divided;
    sampi_sums sums = { sampi_row_max(row), 0, 0, 0, 0 };
    sampi_pieces it;
    for (sampi_row_start(&it, row); by_logits ? sampi_row_next_logits(&it) : sampi_row_next_piece(&it);)
        row->k->sums(it.x, it.n, by_logits ? 1.0f : row->r, sums.max, INFINITY, true, &sums);
    return sums;
}

/* Returns a token's logit, or -INFINITY if the row does not have the token. */
static float sampi_row_logit_left(const sampi_row *row, samp_token token)
{
    const size_t at = sampi_row_find_id(row, token);
    const float x = at < row->n ? sampi_row_present(row, at) : -INFINITY;
    return x < row->floor ? -INFINITY : sampi_row_logit_of(row, x);
}

/* Returns how many tokens of a row come before a token with the logit l: those with a larger logit, or with the same
   logit and a smaller id. A row that the chain has changed counts a removed token behind all others; of the row as
   given, masked tokens have ranks too. */
static size_t sampi_row_before(const sampi_row *row, samp_token token, float l)
{
    float from = sampi_row_unscale(row, l), above = INFINITY; /* products beyond FLT_MAX are FLT_MAX */
    if (l < FLT_MAX) above = sampi_row_unscale(row, sampi_next_up(l));
    if (from >= -FLT_MAX && from < row->floor) from = row->floor; /* elements with this logit that the floor masks */
    sampi_row before = *row;
    before.n = sampi_row_find_id(row, token);
    return sampi_row_count(row, above, INFINITY) + sampi_row_count(&before, from, above);
}

/* Writes the log-probabilities of a row; afterwards the row may have only its first tokens. is_raw: the row is as it
   was given. */
static void sampi_row_logprobs(sampi_row *row, samp_token token, const sampi_sums *sums, samp_logprob_set *set,
                               bool is_raw)
{
    const float l = sampi_row_logit_left(row, token);
    const size_t before = is_raw || !sampi_masked(l) ? sampi_row_before(row, token, l) : sums->n;
    int32_t n = 0;
    sampi_row_set_chosen(set, token, before, sampi_row_logprob(l, sums->max, sums->z));
    for (int32_t i = 0; i < set->n_ids; i++) set->id_logprobs[i] = sampi_row_logit_left(row, set->ids[i]);
    if (set->n_top) sampi_row_keep_first(row, (size_t)set->n_top);
    for (size_t i = 0; set->n_top && i < row->n; i++) n = sampi_row_set_top(set, n, row->id[i], row->x[i]);
    sampi_row_finish_set(set, n, sums);
}

/* Writes the log-probabilities of the array of candidates that a chain has left, for its selected token. */
static void sampi_row_array_logprobs(samp_token_data_array *cur, samp_token token, const sampi_sums *sums,
                                 samp_logprob_set *set)
{
    const size_t at = sampi_find_candidate(cur, token);
    const samp_token_data none = { token, -INFINITY, 0.0f }, chosen = at < cur->size ? cur->data[at] : none;
    size_t before = 0;
    for (size_t i = 0; i < cur->size; i++) before += sampi_before(&SAMPI_BY_LOGIT, &cur->data[i], &chosen);
    if (sampi_masked(chosen.logit)) before = sums->n;
    sampi_row_set_chosen(set, token, before, sampi_row_logprob(chosen.logit, sums->max, sums->z));
    for (int32_t i = 0; i < set->n_ids; i++) {
        const size_t k = sampi_find_candidate(cur, set->ids[i]);
        set->id_logprobs[i] = k < cur->size ? cur->data[k].logit : -INFINITY;
    }
    int32_t n = set->n_top < (int32_t)sums->n ? set->n_top : (int32_t)sums->n;
    sampi_recheck_order(cur); /* under MT19937 an array that is `sorted` may have ties in any order */
    if (n > 0) sampi_sort(&SAMPI_BY_LOGIT, cur, 0, (size_t)n, NULL);
    for (int32_t i = 0; i < n; i++) {
        set->top_logprobs[i].token = cur->data[i].id;
        set->top_logprobs[i].logprob = cur->data[i].logit;
    }
    sampi_row_finish_set(set, n, sums);
}

/* Checks what is asked of one distribution of n tokens: numbers and ids in their ranges, memory for what is asked. A
   bad request is the status of its row alone. */
static int sampi_row_check_set(const samp_logprob_set *set, size_t n)
{
    const int32_t most = SAMP_MAX_TOP_LOGPROBS;
    if (set->n_top < 0 || set->n_top > most || set->n_ids < 0 || set->n_ids > most) return SAMP_E_RANGE;
    if ((set->n_top && !set->top_logprobs) || (set->n_ids && (!set->ids || !set->id_logprobs))) return SAMP_E_NULL;
    for (int32_t i = 0; i < set->n_ids; i++)
        if (set->ids[i] < 0 || (size_t)set->ids[i] >= n) return SAMP_E_RANGE;
    return SAMP_OK;
}

/* Checks a request for log-probabilities, or NULL. */
static int sampi_row_check_logprobs(const samp_logprobs *logprobs, size_t n)
{
    if (!logprobs) return SAMP_OK;
    const int status = sampi_row_check_set(&logprobs->raw, n);
    if (status) return status;
    const samp_support *support = logprobs->support;
    if (support && support->capacity && !support->tokens) return SAMP_E_NULL;
    return sampi_row_check_set(&logprobs->processed, n);
}
