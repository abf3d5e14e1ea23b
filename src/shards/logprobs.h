/* ---- shards: log-probabilities ----
   When the token is known, log-probabilities take two more rounds: for the row as given and for the distribution of the
   draw. This file has the answers of a slice, the reading of merged answers, and the end of a row. The chain accepts
   the token only when all numbers are known, so that nothing can fail afterwards. */

/* Writes the ids of a slice's tokens, from `first` on, and turns -0 into +0. It works in blocks that compilers
   vectorise. */
static SAMPI_HOT void sampi_number_slice(float *x, int32_t *id, size_t n, int32_t first)
{
    enum { BLOCK = 16 };
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const int32_t at = first + (int32_t)i;
        for (int k = 0; k < BLOCK; k++) x[i + (size_t)k] += 0.0f;
        for (int k = 0; k < BLOCK; k++) id[i + (size_t)k] = at + k;
    }
    for (; i < n; i++) x[i] += 0.0f, id[i] = first + (int32_t)i;
}

/* Reads the slice of row r, as the caller gave it, to x and id [length] (16 more elements of both may be
   overwritten). */
static SAMPI_HOT void sampi_fetch_given(const samp_shard *shard, const samp_logits *slice, size_t r, float *x,
                                        int32_t *id)
{
    size_t at = slice->row_index ? (size_t)slice->row_index[r] : r, n = shard->length;
    const void *data = (const char *)slice->data + at * sampi_stride(slice) * SAMPI_SIZE_OF(slice->dtype);
    (void)sampi_use()->fetch(data, slice->dtype, slice->mask ? slice->mask + r * sampi_mask_stride(slice) : NULL, 0,
                             n, x);
    sampi_number_slice(x, id, n, (int32_t)shard->first);
}

/* Is a parcel of this kind (a record in a message between the ranks) about the logits that the caller gave, not about
   the distribution from which the token was drawn? */
static bool sampi_is_raw(sampi_parcel_kind kind) { return kind == SAMPI_PARCEL_RAW || kind == SAMPI_PARCEL_RAW_SUMS; }

static const samp_logprob_set *sampi_set_of(const sampi_shard_row *row, sampi_parcel_kind kind)
{
    return sampi_is_raw(kind) ? &row->logprobs->raw : &row->logprobs->processed;
}

/* Returns how many of the best tokens a request for log-probabilities wants, at least 1. */
static size_t sampi_best_room(const samp_logprob_set *set)
{
    return set->n_top < 1                       ? 1
           : set->n_top < SAMP_MAX_TOP_LOGPROBS ? (size_t)set->n_top
                                                : (size_t)SAMP_MAX_TOP_LOGPROBS;
}

/* Returns the slice of the distribution that a parcel is about. The raw distribution includes masked tokens: infill may
   choose a masked token, which then ranks after all others. */
static sampi_shard_row sampi_logprob_slice(const sampi_shard_row *row, sampi_parcel_kind kind)
{
    sampi_shard_row slice = *row;
    size_t n = row->wrong ? 0 : row->shard->length;
    slice.n_list = 0;
    if (!sampi_is_raw(kind)) return slice;
    const size_t r = row->shard->from + (size_t)(row - row->shard->row);
    if (n) sampi_fetch_given(row->shard, &row->shard->slice, r, row->shard->raw_x, row->shard->raw_id);
    sampi_set_tokens(&slice.row, row->shard->raw_x, row->shard->raw_id, n);
    return slice;
}

/* RAW, LEFT. Sent: the slice's first tokens in order, and the chosen token's logit; slices without that token send
   -infinity, so the merge is a maximum. Known then: the maximum, and the best tokens. */
static void sampi_answer_best(const sampi_shard_row *row, sampi_parcel *p)
{
    sampi_shard_row slice = sampi_logprob_slice(row, p->kind);
    float l = -INFINITY;
    for (size_t i = 0; i < slice.row.n; i++)
        if (slice.row.id[i] == row->token.id) l = slice.row.x[i];
    if (sampi_is_raw(p->kind) && slice.row.n) {
        size_t n = sampi_collect_between(&slice, -FLT_MAX, INFINITY, row->shard->raw_x, row->shard->raw_id);
        sampi_set_tokens(&slice.row, row->shard->raw_x, row->shard->raw_id, n);
    }
    (void)sampi_put_first(&slice, p);
    sampi_wire_put_float(p->fields, l + 0.0f);
}

/* RAW_SUMS, LEFT_SUMS. Sent: the sum of weights, and the number of tokens before the chosen one; both are added up.
   Known then: all log-probabilities and ranks of tokens. */
static void sampi_answer_best_sums(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_shard_row slice = sampi_logprob_slice(row, p->kind);
    const sampi_logprob_facts *t = &row->facts[!sampi_is_raw(p->kind)];
    sampi_sums sums = { t->max, 0, 0, 0, 0 };
    uint64_t before = 0;
    const float *x = slice.row.x;
    if (slice.row.n) slice.row.k->sums(x, slice.row.n, 1.0f, t->max, INFINITY, false, &sums);
    for (size_t i = 0; i < slice.row.n; i++)
        before += x[i] > t->logit || (x[i] == t->logit && slice.row.id[i] < row->token.id);
    sampi_wire_put(p->fields, sums.z, 8);
    sampi_wire_put(p->fields + 8, before, 8);
}

/* Reads the best tokens and their logits. */
static bool sampi_take_best(sampi_shard_row *row, const sampi_parcel *p)
{
    const samp_logprob_set *set = sampi_set_of(row, p->kind);
    sampi_logprob_facts *t = &row->facts[!sampi_is_raw(p->kind)];
    if (p->n == 0 || row->wrong) return false;
    t->max = sampi_token_at(p, 0).logit;
    t->logit = sampi_wire_float(p->fields);
    t->n_top = set->n_top < (int32_t)p->n ? set->n_top : (int32_t)p->n;
    for (int32_t i = 0; i < t->n_top; i++) {
        samp_token_data d = sampi_token_at(p, (size_t)i);
        if ((size_t)d.id >= row->shard->n_vocab) return false;
        set->top_logprobs[i].token = d.id;
        set->top_logprobs[i].logprob = d.logit;
    }
    return t->logit <= t->max && (sampi_is_raw(p->kind) || t->logit >= -FLT_MAX);
}

static bool sampi_take_best_sums(sampi_shard_row *row, const sampi_parcel *p)
{
    sampi_logprob_facts *t = &row->facts[!sampi_is_raw(p->kind)];
    t->z = sampi_wire_get(p->fields, 8);
    t->before = sampi_wire_get(p->fields + 8, 8);
    return t->z >= SAMPI_ONE && t->before < row->shard->n_vocab;
}

static void sampi_fill_logprob_set(samp_logprob_set *set, const sampi_logprob_facts *t, samp_token token)
{
    sampi_set_chosen(set, token, (size_t)t->before, sampi_logprob(t->logit, t->max, t->z));
    sampi_finish_top(set, t->n_top, t->max, t->z);
}

/* Asks for the log-probabilities of a row whose token is known. When they are known, accepts the token. */
static int sampi_shard_logprobs(sampi_shard_row *row)
{
    bool by_array = row->has_left;
    if (++row->telling == 1) {
        row->ask = SAMPI_ASK_RAW | (by_array ? 0 : SAMPI_ASK_LEFT);
        return SAMPI_WAITS;
    }
    if (row->telling == 2) {
        row->ask = SAMPI_ASK_RAW_SUMS | (by_array ? 0 : SAMPI_ASK_LEFT_SUMS);
        return SAMPI_WAITS;
    }
    int status = samp_accept(&row->s->base, row->token.id);
    if (status) return status;
    sampi_fill_logprob_set(&row->logprobs->raw, &row->facts[0], row->token.id);
    if (by_array)
        row->logprobs->processed = row->left;
    else
        sampi_fill_logprob_set(&row->logprobs->processed, &row->facts[1], row->token.id);
    return SAMPI_ENDS;
}
