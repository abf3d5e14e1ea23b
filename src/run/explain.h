/* ---- a token's way through a chain: samp_score, samp_explain ----
   Applies the samplers of a chain one by one, by their definition, to the array of a row's candidates, and follows one
   token. Nothing is drawn or accepted: the state that samplers change is restored at the end. */

/* A walk of a chain's samplers over the candidates of a row. */
typedef struct sampi_trail {
    const sampi_job *job;
    samp_token token;
    samp_token_data_array cur;
    sampi_ordinals ordinal;
    sampi_sums raw, left; /* of the row as given, and of the candidates after the last sampler */
    const char *removed_by;
    samp_explained *out; /* [n_max] */
    size_t n, n_max;     /* n: how many samplers have acted */
} sampi_trail;

/* Returns the token's logit among the candidates, or -INFINITY. */
static SAMPI_COLD float sampi_trail_logit(const sampi_trail *trail)
{
    const size_t at = sampi_find_candidate(&trail->cur, trail->token);
    return at < trail->cur.size ? trail->cur.data[at].logit : -INFINITY;
}

/* Returns the share of the model's distribution that the candidates have. */
static SAMPI_COLD double sampi_trail_mass(const sampi_trail *trail)
{
    int32_t id[SAMPI_TILE];
    uint64_t mass = 0;
    size_t n = 0;
    for (size_t i = 0; i < trail->cur.size; i++) {
        if (!sampi_masked(trail->cur.data[i].logit)) id[n++] = trail->cur.data[i].id;
        if (n < SAMPI_TILE && i + 1 < trail->cur.size) continue;
        mass += sampi_row_given_mass(trail->job, id, n);
        n = 0;
    }
    return (double)mass / (double)trail->raw.z;
}

/* Applies one sampler, or the members of a chain, and notes what it has left. Samplers that are off are left out. */
static SAMPI_COLD int sampi_follow(sampi_trail *trail, sampi_sampler *s)
{
    int status = samp_status(&s->base, NULL);
    for (int32_t i = 0, all = sampi_n_active(s); i < all && !status; i++)
        status = sampi_follow(trail, s->u.chain.item[i]);
    if (status || sampi_is_chain(s) || sampi_idles(s)) return status;
    const bool had = !sampi_masked(sampi_trail_logit(trail));
    if ((status = sampi_life_run(s, &trail->cur, trail->job->s->position, &trail->ordinal))) return status;
    if ((status = sampi_check(&trail->cur))) return status;
    const float l = sampi_trail_logit(trail);
    if (had && sampi_masked(l)) trail->removed_by = samp_name(&s->base);
    trail->left = sampi_sum(&trail->cur);
    if (trail->n++ >= trail->n_max) return SAMP_OK;
    samp_explained *line = &trail->out[trail->n - 1];
    line->name = samp_name(&s->base);
    line->n_left = trail->left.n;
    line->mass = sampi_trail_mass(trail);
    line->p = (float)((double)sampi_weight(trail->left.max, l) / (double)trail->left.z);
    return SAMP_OK;
}

/* Opens a row, and takes its candidates through the whole chain. *raw: the row as given, which stays valid. */
static SAMPI_COLD int sampi_walk_trail(sampi_trail *trail, sampi_job *job, samp_sampler *sampler, const float *logits,
                                       size_t n_vocab, sampi_row *raw)
{
    int status = sampi_make_job(job, sampler, logits, n_vocab, NULL);
    if (!status && (trail->token < 0 || (size_t)trail->token >= n_vocab || sampi_life_is_short(job->s, n_vocab)))
        status = SAMP_E_RANGE;
    if (!status) status = sampi_row_open_row(raw, job);
    if (status) return status;
    trail->job = job;
    trail->raw = trail->left = sampi_row_told(raw);
    job->top = trail->raw.max;
    trail->cur = sampi_row_array(raw);
    if (sampi_masked(sampi_trail_logit(trail))) trail->removed_by = "mask";
    sampi_life_save_state(job->s);
    status = sampi_follow(trail, job->s);
    sampi_life_restore_state(job->s);
    return status;
}

/* The rank is counted in the caller's row, which the walk has not changed. */
SAMP_API SAMPI_COLD int samp_score(samp_sampler *chain, const float *logits, size_t n_vocab, samp_token token,
                                   samp_score_result *out)
{
    sampi_trail trail;
    sampi_job job;
    sampi_row raw;
    memset(&trail, 0, sizeof trail);
    trail.token = token;
    const int status = out ? sampi_walk_trail(&trail, &job, chain, logits, n_vocab, &raw) : (int)SAMP_E_NULL;
    if (status) return status;
    const float l = sampi_row_logit_left(&raw, token);
    out->raw = sampi_row_logprob(l, trail.raw.max, trail.raw.z);
    out->processed = sampi_row_logprob(sampi_trail_logit(&trail), trail.left.max, trail.left.z);
    out->rank = (int32_t)sampi_row_before(&raw, token, l) + 1;
    out->removed_by = trail.removed_by;
    return SAMP_OK;
}

SAMP_API SAMPI_COLD int samp_explain(samp_sampler *chain, const float *logits, size_t n_vocab, samp_token token,
                                     samp_explained *out, size_t n_max)
{
    sampi_trail trail;
    sampi_job job;
    sampi_row raw;
    memset(&trail, 0, sizeof trail);
    trail.token = token;
    trail.out = out;
    trail.n_max = n_max;
    int status = out || !n_max ? SAMP_OK : SAMP_E_NULL;
    if (!status) status = sampi_walk_trail(&trail, &job, chain, logits, n_vocab, &raw);
    return status ? status : (int)trail.n;
}
