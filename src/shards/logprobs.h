/* ---- shards: log-probabilities ----
   When the token is known, log-probabilities take two more rounds: for the row as given and for the distribution of the
   draw; the support's tokens one more, or one for each 2,048. This file has the answers of a slice, the reading of
   merged answers, and the end of a row. The chain accepts the token only when all numbers are known, so that nothing
   can fail afterwards. */

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

/* Is a parcel of this kind about the logits that the caller gave, not about the distribution from which the token was
   drawn? */
static bool sampi_is_raw(sampi_parcel_kind kind)
{
    return kind == SAMPI_PARCEL_RAW || kind == SAMPI_PARCEL_RAW_SUMS || kind == SAMPI_PARCEL_RAW_IDS;
}

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
    sampi_row_set_tokens(&slice.row, row->shard->raw_x, row->shard->raw_id, n);
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
        sampi_row_set_tokens(&slice.row, row->shard->raw_x, row->shard->raw_id, n);
    }
    (void)sampi_put_first(&slice, p);
    sampi_wire_put_float(p->fields, l + 0.0f);
}

/* Returns the mass that the slice's tokens of the support have in the row as given, whose logits are x [length]. */
static uint64_t sampi_support_mass(const sampi_shard_row *row, const float *x)
{
    const samp_support *support = row->logprobs->support;
    const samp_token first = (samp_token)row->shard->first, end = first + (samp_token)row->shard->length;
    const float max = row->facts[0].max, least = sampi_row_support_floor(row->facts[1].max);
    const bool greedy = sampi_row_selects_greedily(row->s);
    uint64_t mass = 0;
    if (!support || row->wrong) return 0;
    const size_t n = greedy ? 1 : row->has_left ? support->n : row->row.n;
    for (size_t i = 0; i < n; i++) {
        if (!greedy && !row->has_left && !(row->row.x[i] >= least)) continue;
        const samp_token id = greedy ? row->token.id : row->has_left ? row->list[i].id : row->row.id[i];
        if (id >= first && id < end) mass += sampi_weight(max, x[id - first]);
    }
    return mass;
}

/* RAW_SUMS, LEFT_SUMS. Sent: the sums, the number of tokens before the chosen one, of the distribution of the draw how
   many tokens have weight, and of the row as given the support's mass; all are added up. Known then: all
   log-probabilities and ranks of tokens. */
static void sampi_answer_best_sums(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_shard_row slice = sampi_logprob_slice(row, p->kind);
    const sampi_logprob_facts *t = &row->facts[!sampi_is_raw(p->kind)];
    sampi_sums sums = { t->max, 0, 0, 0, 0 };
    uint64_t before = 0;
    const float *x = slice.row.x;
    if (slice.row.n) slice.row.k->sums(x, slice.row.n, 1.0f, t->max, INFINITY, true, &sums);
    for (size_t i = 0; i < slice.row.n; i++)
        before += x[i] > t->logit || (x[i] == t->logit && slice.row.id[i] < row->token.id);
    sampi_wire_put(p->fields, sums.z, 8);
    sampi_wire_put(p->fields + 8, before, 8);
    sampi_wire_put(p->fields + 16, sums.s, 8);
    if (sampi_is_raw(p->kind))
        sampi_wire_put(p->fields + 32, sampi_support_mass(row, x), 8);
    else if (slice.row.n)
        sampi_wire_put(p->fields + 24, slice.row.k->count(x, slice.row.n, sampi_row_support_floor(t->max)), 8);
}

/* RAW_IDS, LEFT_IDS. Sent: the logits of the given tokens; slices without a token send -infinity. */
static void sampi_answer_given(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_shard_row slice = sampi_logprob_slice(row, p->kind);
    const samp_logprob_set *set = sampi_set_of(row, p->kind);
    sampi_set_entries(p, p->room);
    for (size_t i = 0; i < p->room; i++) {
        const size_t at = sampi_row_find_id(&slice.row, set->ids[i]);
        sampi_wire_put_float(sampi_parcel_entry(p, i), at < slice.row.n ? slice.row.x[at] + 0.0f : -INFINITY);
    }
}

/* Returns how many tokens of the support the next message has. */
static size_t sampi_support_room(const sampi_shard_row *row)
{
    const size_t n = (size_t)row->facts[1].n - row->n_told;
    return n < SAMPI_SHARD_CHUNK ? n : (size_t)SAMPI_SHARD_CHUNK;
}

/* SUPPORT. Sent: the slice's next tokens with weight, by id. */
static void sampi_answer_support(const sampi_shard_row *row, sampi_parcel *p)
{
    const sampi_row *left = &row->row;
    const float least = sampi_row_support_floor(row->facts[1].max);
    const samp_token last = row->n_told ? row->logprobs->support->tokens[row->n_told - 1] : -1;
    size_t n = 0;
    for (size_t i = 0; i < left->n && n < p->room; i++) {
        if (!(left->x[i] >= least) || left->id[i] <= last) continue;
        sampi_wire_put(sampi_parcel_entry(p, n), (uint32_t)left->id[i], 3);
        sampi_wire_put_float(sampi_parcel_entry(p, n++) + 3, left->x[i] + 0.0f);
    }
    sampi_set_entries(p, n);
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
    t->s = sampi_wire_get(p->fields + 16, 8);
    t->n = sampi_wire_get(p->fields + 24, 8);
    t->mass = sampi_wire_get(p->fields + 32, 8);
    return t->z >= SAMPI_MAX_WEIGHT && t->before < row->shard->n_vocab && t->n <= row->shard->n_vocab &&
           t->mass <= t->z;
}

static bool sampi_take_given(sampi_shard_row *row, const sampi_parcel *p)
{
    const samp_logprob_set *set = sampi_set_of(row, p->kind);
    bool good = p->n == p->room;
    for (size_t i = 0; good && i < p->n; i++) {
        set->id_logprobs[i] = sampi_wire_float(sampi_parcel_entry(p, i));
        good = set->id_logprobs[i] <= FLT_MAX;
    }
    return good;
}

static bool sampi_take_support(sampi_shard_row *row, const sampi_parcel *p)
{
    const samp_support *support = row->logprobs->support;
    const sampi_logprob_facts *t = &row->facts[1];
    const double ln_z = sampi_row_ln_z(t->z);
    for (size_t i = 0; i < p->n; i++, row->n_told++) {
        const unsigned char *entry = sampi_parcel_entry(p, i);
        const samp_token id = (samp_token)sampi_wire_u24(entry);
        const float l = sampi_wire_float(entry + 3);
        if ((size_t)id >= row->shard->n_vocab || !(l <= t->max)) return false;
        support->tokens[row->n_told] = id;
        if (support->logprobs) support->logprobs[row->n_told] = sampi_row_logprob_of(l, t->max, ln_z);
    }
    return p->n == p->room;
}

static void sampi_fill_logprob_set(samp_logprob_set *set, const sampi_logprob_facts *t, samp_token token)
{
    const sampi_sums sums = { t->max, 0, t->z, t->s, 0 };
    sampi_row_set_chosen(set, token, (size_t)t->before, sampi_row_logprob(t->logit, t->max, t->z));
    sampi_row_finish_set(set, t->n_top, &sums);
}

/* Writes what the merged answers say of the support. True: its tokens have still to be asked for. */
static bool sampi_must_ask_support(sampi_shard_row *row)
{
    samp_support *support = row->logprobs->support;
    if (!support) return false;
    support->mass = (double)row->facts[0].mass / (double)row->facts[0].z;
    if (row->has_left) return false;
    const bool greedy = sampi_row_selects_greedily(row->s);
    support->n = greedy ? 1 : (size_t)row->facts[1].n;
    if (support->n > support->capacity) return false;
    if (!greedy) return row->n_told < support->n;
    support->tokens[0] = row->token.id;
    const sampi_logprob_facts *t = &row->facts[1];
    if (support->logprobs) support->logprobs[0] = sampi_row_logprob(t->logit, t->max, t->z);
    return false;
}

/* Asks for the log-probabilities of a row whose token is known. When they are known, accepts the token. */
static int sampi_shard_logprobs(sampi_shard_row *row)
{
    bool by_array = row->has_left;
    const samp_logprobs *lp = row->logprobs;
    if (++row->telling == 1) {
        row->ask = SAMPI_ASK_RAW | (by_array ? 0 : SAMPI_ASK_LEFT);
        return SAMPI_WAITS;
    }
    if (row->telling == 2) {
        row->ask = SAMPI_ASK_RAW_SUMS | (lp->raw.n_ids ? SAMPI_ASK_RAW_IDS : 0);
        if (!by_array) row->ask |= SAMPI_ASK_LEFT_SUMS | (lp->processed.n_ids ? SAMPI_ASK_LEFT_IDS : 0);
        return SAMPI_WAITS;
    }
    if (sampi_must_ask_support(row)) {
        row->ask = SAMPI_ASK_SUPPORT;
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
