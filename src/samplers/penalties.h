/* ---- penalties ----
   Repetition, frequency and presence penalties: a token that is c > 0 times among the last accepted ones gets l = (l <=
   0 ? l * repeat : l / repeat) - (c * freq + present). With repeat 1.25, freq 0.1, present 0.2 and c = 3 a logit of 2
   becomes 1.6 - 0.5 = 1.1. The sampler's part 0 is the window of accepted tokens, part 1 the sorted list of these
   tokens with their counts c. `accept` keeps the counts up to date, so `apply` never walks over the window. */

/* Returns the list of counts [u.penalties.n], which has memory for a whole window. */
static sampi_count *sampi_penalties_list(const sampi_sampler *s) { return (sampi_count *)sampi_part(s, 1); }

/* Sizes the sampler's arrays for a full window of different tokens, because `accept` must not fail and so must not
   allocate. */
static SAMPI_COLD void sampi_penalties_prepare(sampi_sampler *t, bool make)
{
    size_t n = (size_t)t->u.penalties.last_n;
    (void)make;
    t->u.penalties.ring.cap = (uint32_t)n;
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
}

/* Empties the window. The arrays keep their bytes, but the sizes are set to 0. */
static void sampi_penalties_reset(sampi_sampler *s)
{
    s->u.penalties.ring.size = s->u.penalties.ring.head = s->u.penalties.n = 0;
}

/* Subtracts 1 from the count of a token that has left the window. */
static void sampi_penalties_drop(sampi_sampler *s, samp_token token)
{
    sampi_count *list = sampi_penalties_list(s);
    uint32_t i = sampi_count_find(list, s->u.penalties.n, token);
    if (--list[i].count > 0) return;
    s->u.penalties.n--;
    memmove(&list[i], &list[i + 1], (s->u.penalties.n - i) * sizeof *list);
}

/* Adds a token to the window, and keeps the counts up to date. */
static void sampi_penalties_accept(sampi_sampler *s, samp_token token)
{
    samp_token old = sampi_ring_push(&s->u.penalties.ring, (samp_token *)sampi_part(s, 0), token);
    if (old >= 0) sampi_penalties_drop(s, old);
    sampi_count_at(sampi_penalties_list(s), &s->u.penalties.n, token)->count++;
}

/* Returns the number that the frequency and presence penalties subtract from the logit, after the repetition penalty.
   The subtraction itself is not part of this function, because the GPU has its own. The product is rounded, so that no
   compiler makes an fma of product and sum. */
static float sampi_count_penalty(const sampi_sampler *s, const sampi_count *entry)
{
    return sampi_roundf((float)entry->count * s->u.penalties.freq) + s->u.penalties.present;
}

/* Returns the new logit of a token. The repetition penalty divides logits above 0 and multiplies others (Hugging Face's
   rule for CTRL's penalty), so that repeat > 1 always makes a token less likely. */
static float sampi_penalties_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    if (sampi_masked(l)) return l;
    l = sampi_finite(l <= 0.0f ? l * s->u.penalties.repeat : l / s->u.penalties.repeat);
    return sampi_finite(l - sampi_count_penalty(s, entry));
}

static int sampi_penalties_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_patch(s, cur, sampi_penalties_list(s), s->u.penalties.n, sampi_penalties_change);
    return SAMP_OK;
}

/* Takes back an accepted token, or notes it for that. The count of the token that leaves is lowered before that of the
   token that comes back is raised, because the list has memory for a full window only. */
static void sampi_penalties_past(sampi_sampler *s, sampi_record *r)
{
    samp_token *token = (samp_token *)sampi_part(s, 0);
    if (r->mode == SAMPI_RECORD_TOKEN) sampi_penalties_drop(s, sampi_ring_at(&s->u.penalties.ring, token, 0));
    samp_token old = sampi_record_ring(r, &s->u.penalties.ring, token);
    if (old >= 0) sampi_count_at(sampi_penalties_list(s), &s->u.penalties.n, old)->count++;
}

static void sampi_penalties_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.penalties.ring : NULL, chain);
}

/* Writes the sorted list of the different tokens in token [n], with their counts, to list [n]. Returns the length of
   the list. */
static SAMPI_COLD uint32_t sampi_count_all(sampi_count *list, const samp_token *token, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) list[i].token = token[i], list[i].count = 1;
    sampi_count_sort(list, n);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && list[kept - 1].token == list[i].token)
            list[kept - 1].count++;
        else
            list[kept++] = list[i];
    }
    return kept;
}

/* Saves or loads the window. After loading, the tokens are counted again. */
static SAMPI_COLD void sampi_penalties_state(sampi_sampler *s, sampi_io *io)
{
    samp_token *token = (samp_token *)sampi_part(s, 0);
    sampi_io_ring(io, &s->u.penalties.ring, token);
    if (io->mode == SAMPI_READ)
        s->u.penalties.n = sampi_count_all(sampi_penalties_list(s), token, s->u.penalties.ring.size);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_penalties(int32_t last_n, float repeat, float freq, float present)
{
    sampi_sampler t = sampi_blank(SAMPI_PENALTIES);
    t.u.penalties.last_n = last_n;
    t.u.penalties.repeat = repeat;
    t.u.penalties.freq = freq;
    t.u.penalties.present = present;
    return sampi_init(&t);
}

/* Replaces a last_n of -1 by the length of the context. */
static SAMPI_COLD void sampi_penalties_params(sampi_sampler *t, const samp_params *p)
{
    if (p->penalty_last_n == -1) t->u.penalties.last_n = p->n_ctx_train;
}

static const sampi_field SAMPI_PENALTIES_FIELDS[] = {
    SAMPI_FIELD(INT32, penalty_last_n, penalties.last_n, 64, 0, SAMPI_MAX_WINDOW, SAMPI_OR_ALL, "last_n"),
    SAMPI_FIELD(FLOAT, penalty_repeat, penalties.repeat, 1, 0, FLT_MAX, SAMPI_OPEN, "repeat"),
    SAMPI_FIELD(FLOAT, penalty_freq, penalties.freq, 0, -FLT_MAX, FLT_MAX, 0, "freq"),
    SAMPI_FIELD(FLOAT, penalty_present, penalties.present, 0, -FLT_MAX, FLT_MAX, 0, "present"),
};

static SAMPI_COLD bool sampi_penalties_is_off(const sampi_sampler *s)
{
    return s->u.penalties.last_n == 0 ||
           (s->u.penalties.repeat == 1.0f && s->u.penalties.freq == 0.0f && s->u.penalties.present == 0.0f);
}

SAMPI_HOOKS(PENALTIES, sampi_penalties_params, sampi_penalties_prepare, NULL, NULL, sampi_penalties_accept,
            sampi_penalties_reset, sampi_penalties_state, sampi_penalties_take_over, sampi_penalties_past,
            SAMPI_BYTES_ONLY);

#define SAMPI_PENALTIES_ROW \
    "penalties", 0, 'e', "penalties", \
        SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED | \
            SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_PENALTIES_FIELDS), sampi_penalties_is_off, &SAMPI_PENALTIES_HOOKS, \
        sampi_penalties_apply, sampi_fast_penalties, SAMPI_BY_LLAMA_CPP(sampi_penalties_apply)
