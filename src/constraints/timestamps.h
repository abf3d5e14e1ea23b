/* ---- constraints: Whisper's time stamps ----
   samp_init_timestamps and the hooks of its kind: which tokens may follow the text so far, by Whisper's rules, and
   whether a time stamp must follow, because the time stamps together are more likely than any other token. It is a
   kind of its own, not a SAMPI_CONSTRAINT, because the last rule needs sums over the whole row. */

/* The tokens that the text so far allows: time stamps in [lo, hi), and other tokens: all, only exempt ones, or none. */
typedef struct sampi_stamps {
    samp_token lo, hi;
    bool text, exempt;
} sampi_stamps;

static sampi_stamps sampi_stamps_of(const sampi_sampler *s)
{
    const samp_token first = s->u.stamps.first, last = s->u.stamps.last;
    const uint32_t two = s->u.stamps.two;
    sampi_stamps now = { last < 0 ? first : last + (two != 1), SAMP_MAX_VOCAB, !(two == 1), true };
    if (two == SAMPI_STAMPS_BEGIN) {
        now.text = now.exempt = false;
        if (s->u.stamps.most >= 0 && s->u.stamps.most < SAMP_MAX_VOCAB - first) now.hi = first + s->u.stamps.most + 1;
    }
    if (two == 3) now.hi = first;
    return now;
}

/* May this token come now, before the rule about probabilities? */
static bool sampi_stamps_allow(const sampi_sampler *s, const sampi_stamps *now, samp_token token)
{
    if (token == s->u.stamps.without) return false;
    if (token >= s->u.stamps.first) return token >= now->lo && token < now->hi;
    return now->text || (now->exempt && sampi_list_has(s, token));
}

/* Adds the weight of a time stamp, in units of that of the best other token, to *sum. Returns whether the time stamps
   are more likely: none of their logits is above `best`, or they would be already. */
static bool sampi_stamps_add(uint64_t *sum, float best, float l)
{
    if (!sampi_masked(l)) *sum += sampi_weight(best, l);
    return *sum > SAMPI_MAX_WEIGHT;
}

/* Masks a candidate. Returns true, so that the caller notes a change. */
static bool sampi_stamps_mask(samp_token_data *d)
{
    if (sampi_masked(d->logit)) return false;
    d->logit = -INFINITY;
    return true;
}

static int sampi_stamps_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_token first = s->u.stamps.first;
    const sampi_stamps now = sampi_stamps_of(s);
    float best = -INFINITY, top = -INFINITY;
    uint64_t sum = 0;
    bool changes = false;
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        if (!sampi_stamps_allow(s, &now, d->id)) changes |= sampi_stamps_mask(d);
        float *of = d->id < first ? &best : &top;
        if (d->logit > *of) *of = d->logit;
    }
    bool wins = top > best;
    for (size_t i = 0; i < cur->size && !wins && !sampi_masked(top); i++)
        wins = cur->data[i].id >= first && sampi_stamps_add(&sum, best, cur->data[i].logit);
    for (size_t i = 0; i < cur->size && wins; i++)
        if (cur->data[i].id < first) changes |= sampi_stamps_mask(&cur->data[i]);
    if (changes) cur->sorted = false;
    return SAMP_OK;
}

/* Masks the elements [from, to) of a row. */
static void sampi_stamps_clear(float *x, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) x[i] = -INFINITY;
}

/* Returns the index of the first element of a row with at least this id. */
static size_t sampi_stamps_at(const sampi_row *row, samp_token id)
{
    if (!sampi_row_is_compact(row)) return (size_t)id < row->n ? (size_t)id : row->n;
    return sampi_find_token(row->id, sizeof *row->id, row->n, id);
}

/* Does the same on a row, in a copy of its logits, where the tokens are in order of ids. */
static int sampi_constraint_fast_stamps(sampi_row *row, sampi_sampler *s)
{
    const sampi_count *exempt = (const sampi_count *)sampi_part(s, 0);
    const size_t n_exempt = s->part_size[0] / sizeof *exempt;
    const sampi_stamps now = sampi_stamps_of(s);
    if (!sampi_row_is_compact(row)) sampi_row_flatten(row);
    float *x = sampi_row_is_compact(row) ? row->work->x : row->work->own, top = -INFINITY;
    const size_t split = sampi_stamps_at(row, s->u.stamps.first), n = row->n;
    size_t from = 0;
    sampi_stamps_clear(x, split, sampi_stamps_at(row, now.lo));
    sampi_stamps_clear(x, sampi_stamps_at(row, now.hi > s->u.stamps.first ? now.hi : s->u.stamps.first), n);
    for (size_t k = 0; k < n_exempt && !now.text && now.exempt; k++) {
        size_t at = sampi_row_find_id(row, exempt[k].token);
        if (at >= split) continue;
        sampi_stamps_clear(x, from, at);
        from = at + 1;
    }
    if (!now.text) sampi_stamps_clear(x, from, split);
    size_t without = s->u.stamps.without < 0 ? n : sampi_row_find_id(row, s->u.stamps.without);
    if (without < n) x[without] = -INFINITY;
    for (size_t i = split; i < n; i++)
        if (x[i] > top) top = x[i];
    if (!sampi_masked(top)) {
        const float best = split ? row->k->maxima(x, SAMP_F32, NULL, split, row->work->scratch) : -INFINITY;
        uint64_t sum = 0;
        bool wins = top > best;
        for (size_t i = split; i < n && !wins; i++) wins = sampi_stamps_add(&sum, best, x[i]);
        if (wins) sampi_stamps_clear(x, 0, split);
    }
    return sampi_row_end_changes(row, true);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_timestamps_except(samp_token first, samp_token no_timestamps,
                                                              int32_t max_initial, const samp_token *exempt, size_t n)
{
    sampi_sampler t = sampi_blank(SAMPI_TIMESTAMPS);
    t.u.stamps.first = first;
    t.u.stamps.without = no_timestamps;
    t.u.stamps.most = max_initial;
    t.from = exempt;
    sampi_require_tokens(&t, exempt, n, "exempt");
    t.u.stamps.n = t.status ? 0 : (int32_t)n;
    t.part_size[0] = t.status ? 0 : n * sizeof(sampi_count);
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_timestamps(samp_token first, samp_token no_timestamps,
                                                       int32_t max_initial)
{
    return samp_init_timestamps_except(first, no_timestamps, max_initial, NULL, 0);
}

static SAMPI_COLD void sampi_stamps_accept(sampi_sampler *s, samp_token token)
{
    const bool is_stamp = token >= s->u.stamps.first;
    const uint32_t two = s->u.stamps.two == SAMPI_STAMPS_BEGIN ? 3 : s->u.stamps.two;
    s->u.stamps.two = (two << 1 & 2) | is_stamp;
    if (is_stamp) s->u.stamps.last = token < SAMP_MAX_VOCAB ? token : SAMP_MAX_VOCAB - 1;
}

static SAMPI_COLD void sampi_stamps_reset(sampi_sampler *s)
{
    s->u.stamps.two = SAMPI_STAMPS_BEGIN;
    s->u.stamps.last = -1;
}

/* Saves or loads the state. A text whose last token is a time stamp has a last one, and an empty text has none. */
static SAMPI_COLD void sampi_stamps_state(sampi_sampler *s, sampi_io *io)
{
    const uint32_t two = (uint32_t)sampi_io_int(io, s->u.stamps.two, 4);
    const samp_token last = (samp_token)(uint32_t)sampi_io_int(io, (uint32_t)s->u.stamps.last, 4);
    io->bad |= two > SAMPI_STAMPS_BEGIN || last < -1 || last >= SAMP_MAX_VOCAB;
    io->bad |= last >= 0 && last < s->u.stamps.first;
    io->bad |= last < 0 ? (two & 1) && two != SAMPI_STAMPS_BEGIN : two == SAMPI_STAMPS_BEGIN;
    if (io->mode != SAMPI_READ) return;
    s->u.stamps.two = two;
    s->u.stamps.last = last;
}

static SAMPI_COLD void sampi_stamps_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.stamps.two, 1);
    sampi_record_words(r, &s->u.stamps.last, 1);
}

static const sampi_field SAMPI_TIMESTAMPS_FIELDS[] = {
    SAMPI_FIXED(INT32, first, stamps.first, 0, 0, SAMP_MAX_VOCAB - 1, "first"),
    SAMPI_FIXED(INT32, no_timestamps, stamps.without, -1, -1, SAMP_MAX_VOCAB - 1, "no_timestamps"),
    SAMPI_FIXED(INT32, max_initial, stamps.most, -1, -1, INT32_MAX, "max_initial"),
    { SAMPI_INT32, "exempt", SAMPI_NOWHERE, offsetof(sampi_sampler, u.stamps.n), 0, 0, SAMP_MAX_VOCAB,
      SAMPI_IF_ABOVE_0, "exempt" },
};

SAMPI_HOOKS(TIMESTAMPS, NULL, NULL, sampi_list_build, sampi_list_settings, sampi_stamps_accept, sampi_stamps_reset,
            sampi_stamps_state, NULL, sampi_stamps_past, SAMPI_BYTES_ONLY);

#define SAMPI_TIMESTAMPS_ROW \
    "timestamps", 0, 0, "", SAMPI_KEEPS_P | SAMPI_IF_NAMED, SAMPI_FIELDS_OF(SAMPI_TIMESTAMPS_FIELDS), NULL, \
        &SAMPI_TIMESTAMPS_HOOKS, sampi_stamps_apply, sampi_constraint_fast_stamps, \
        SAMPI_BY_LLAMA_CPP(sampi_stamps_apply)
