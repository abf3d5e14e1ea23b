/* ---- the support ----
   Writes what a chain has left to draw from: the tokens whose weight is not 0, by ascending id, their
   log-probabilities, and their share of the model's distribution. The weights of the model's distribution, whose sum is
   that share, are read from the row as it was given. */

/* A walk over the tokens of a support, by ascending id. */
typedef struct sampi_support {
    const sampi_job *job;
    samp_support *out;
    float max, least; /* the largest logit left, and the smallest logit whose weight is not 0 */
    double ln_z;
    size_t n;      /* how many tokens have been put */
    uint64_t mass; /* the sum of their weights in the row as given, relative to job->top */
} sampi_support;

/* Also the search's guesses above the maximum have a weight. */
static bool sampi_row_has_weight(const void *of, float l)
{
    const float max = *(const float *)of;
    return l >= max || sampi_weight(max, l) > 0;
}

/* Returns the smallest logit whose weight is not 0. Weights are 0 from about 28.4 nats below the maximum on. */
static float sampi_row_support_floor(float max)
{
    return sampi_least(sampi_row_has_weight, &max, sampi_finite((float)((double)max - 41.0 * SAMPI_LN2)));
}

/* Begins a walk; the sums are of the tokens that are left. */
static sampi_support sampi_row_open_support(const sampi_job *job, const sampi_sums *sums)
{
    const float least = sampi_row_support_floor(sums->max);
    const sampi_support support = { job, job->logprobs->support, sums->max, least, sampi_row_ln_z(sums->z), 0, 0 };
    return support;
}

/* Returns the sum of the weights that n tokens, at most a tile, have in the row as given. A custom sampler may leave
   any id. */
static uint64_t sampi_row_given_mass(const sampi_job *job, const int32_t *id, size_t n)
{
    float raw[SAMPI_TILE];
    sampi_sums sums = { job->top, 0, 0, 0, 0 };
    for (size_t i = 0; i < n; i++)
        raw[i] = (size_t)id[i] < job->n ? sampi_element(job->data, job->dtype, job->mask, (size_t)id[i]) : -INFINITY;
    if (n) sampi_use()->sums(raw, n, 1.0f, job->top, INFINITY, false, &sums);
    return sums.z;
}

/* Puts n tokens, at most a tile. Without the row as given (in slices) the mass is summed up elsewhere. */
static void sampi_row_put_support(sampi_support *support, const float *l, const int32_t *id, size_t n)
{
    samp_support *out = support->out;
    if (support->job->data) support->mass += sampi_row_given_mass(support->job, id, n);
    for (size_t i = 0; out->n <= out->capacity && i < n; i++) {
        out->tokens[support->n + i] = id[i];
        if (out->logprobs) out->logprobs[support->n + i] = sampi_row_logprob_of(l[i], support->max, support->ln_z);
    }
    support->n += n;
}

/* Writes the support of a row. */
static void sampi_row_support(const sampi_job *job, const sampi_row *row, const sampi_sums *sums)
{
    sampi_support support = sampi_row_open_support(job, sums);
    float x[SAMPI_TILE + 16];
    int32_t id[SAMPI_TILE + 16];
    sampi_pieces it;
    const float from = sampi_row_unscale(row, support.least);
    support.out->n = sampi_row_count(row, from < row->floor ? row->floor : from, INFINITY);
    for (sampi_row_start(&it, row); sampi_row_next_logits(&it);) {
        const int32_t *ids = row->id ? row->id + it.at : NULL;
        const size_t n = row->k->collect(it.x, ids, (int32_t)it.at, it.n, support.least, INFINITY, x, id);
        sampi_row_put_support(&support, x, id, n);
    }
    support.out->mass = (double)support.mass;
}

static double sampi_row_score_by_id(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->id;
}

/* Writes the support of an array of candidates; only these tokens are left in the array, by ascending id. */
static SAMPI_COLD void sampi_row_array_support(const sampi_job *job, samp_token_data_array *cur,
                                               const sampi_sums *sums)
{
    const sampi_order by_id = { sampi_row_score_by_id, 0.0, 0.0 };
    sampi_support support = sampi_row_open_support(job, sums);
    samp_token_data *d = cur->data;
    size_t n = 0;
    bool ascends = true;
    for (size_t i = 0; i < cur->size; i++) {
        if (d[i].logit >= support.least) d[n++] = d[i];
        ascends &= n < 2 || d[n - 2].id <= d[n - 1].id;
    }
    cur->size = n;
    cur->sorted = false;
    if (!ascends) sampi_sort(&by_id, cur, 0, n, NULL);
    support.out->n = n;
    for (size_t at = 0, m; at < n; at += m) {
        float x[SAMPI_TILE];
        int32_t id[SAMPI_TILE];
        m = sampi_copy_logits(cur, at, x);
        for (size_t i = 0; i < m; i++) id[i] = d[at + i].id;
        sampi_row_put_support(&support, x, id, m);
    }
    support.out->mass = (double)support.mass;
}

/* Writes the support of greedy, which draws one token, or none if a replay's token has been removed. */
static SAMPI_COLD void sampi_row_one_support(const sampi_job *job, samp_token token, float l, const sampi_sums *sums)
{
    sampi_support support = sampi_row_open_support(job, sums);
    const size_t n = !sampi_masked(l);
    support.out->n = n;
    sampi_row_put_support(&support, &l, &token, n);
    support.out->mass = (double)support.mass;
}

/* Writes the processed log-probabilities and the support of a row from which `token` was drawn; afterwards the row may
   have only its first tokens. */
static void sampi_row_tell_row(const sampi_job *job, sampi_row *row, samp_token token)
{
    const sampi_sums sums = sampi_row_told(row);
    if (job->logprobs->support && sampi_row_selects_greedily(job->s))
        sampi_row_one_support(job, token, sampi_row_logit_left(row, token), &sums);
    else if (job->logprobs->support)
        sampi_row_support(job, row, &sums);
    sampi_row_logprobs(row, token, &sums, &job->logprobs->processed, false);
}

/* The same of an array of candidates, which is no longer needed. */
static void sampi_row_tell_array(const sampi_job *job, samp_token_data_array *cur, samp_token token)
{
    const sampi_sums sums = sampi_sum(cur);
    const size_t at = sampi_find_candidate(cur, token);
    const float l = at < cur->size ? cur->data[at].logit : -INFINITY;
    sampi_row_array_logprobs(cur, token, &sums, &job->logprobs->processed);
    if (job->logprobs->support && sampi_row_selects_greedily(job->s))
        sampi_row_one_support(job, token, l, &sums);
    else if (job->logprobs->support)
        sampi_row_array_support(job, cur, &sums);
}
