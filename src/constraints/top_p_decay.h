/* ---- constraints: top_p with decay ----
   samp_init_top_p_decay and the hooks of its kind: a top_p whose p falls with each accepted token, down to a bound, and
   goes back to its first value after certain tokens (such as the end of a sentence). A draw calls the functions of
   top_p, because the record of this sampler has p and min_keep where top_p's record has them. */

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_p_decay(float p, float decay, float lowest, const samp_token *resets,
                                                        size_t n, size_t min_keep)
{
    sampi_sampler t = sampi_blank(SAMPI_TOP_P_DECAY);
    t.u.decay.first = p;
    t.u.decay.factor = decay;
    t.u.decay.lowest = lowest;
    t.u.decay.min_keep = min_keep;
    t.from = resets;
    sampi_require_tokens(&t, resets, n, "resets");
    sampi_require(&t, !(p > 0.0f && p <= 1.0f && lowest > p), SAMP_E_RANGE, "lowest");
    t.part_size[0] = t.status ? 0 : n * sizeof *resets;
    return sampi_init(&t);
}

static SAMPI_COLD void sampi_decay_accept(sampi_sampler *s, samp_token token)
{
    const samp_token *resets = (const samp_token *)sampi_part(s, 0);
    float p = s->u.decay.p * s->u.decay.factor;
    if (s->off) return;
    if (p < s->u.decay.lowest) p = s->u.decay.lowest;
    for (size_t i = 0; i < s->part_size[0] / sizeof *resets; i++)
        if (resets[i] == token) p = s->u.decay.first;
    s->u.decay.p = p;
}

static SAMPI_COLD void sampi_decay_reset(sampi_sampler *s) { s->u.decay.p = s->u.decay.first; }

static SAMPI_COLD void sampi_decay_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_float(io, &s->u.decay.p, s->u.decay.lowest, s->u.decay.first);
}

static SAMPI_COLD void sampi_decay_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_words(r, &s->u.decay.p, 1);
}

#define SAMPI_DECAY(param, member) \
    { \
        SAMPI_FLOAT, #param, SAMPI_NOWHERE, offsetof(sampi_sampler, u.decay.member), 1, 0, 1, SAMPI_OPEN, #param \
    }
static const sampi_field SAMPI_TOP_P_DECAY_FIELDS[] = {
    SAMPI_DECAY(p, first),
    SAMPI_DECAY(decay, factor),
    SAMPI_DECAY(lowest, lowest),
    SAMPI_MIN_KEEP(decay.min_keep),
};

static SAMPI_COLD bool sampi_constraint_top_p_decay_is_off(const sampi_sampler *s)
{
    return s->u.decay.first == 1.0f;
}

SAMPI_HOOKS(TOP_P_DECAY, NULL, NULL, sampi_list_copy, sampi_list_mix, sampi_decay_accept, sampi_decay_reset,
            sampi_decay_state, NULL, sampi_decay_past, SAMPI_BYTES_ONLY);

#define SAMPI_TOP_P_DECAY_ROW \
    "top-p-decay", 0, 0, "", SAMPI_SEEKS_END | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_NAMED | SAMPI_VIEW_SORTED, \
        SAMPI_FIELDS_OF(SAMPI_TOP_P_DECAY_FIELDS), sampi_constraint_top_p_decay_is_off, &SAMPI_TOP_P_DECAY_HOOKS, \
        sampi_top_p_apply, sampi_fast_top_p, SAMPI_BY_LLAMA_CPP(sampi_llama_top_p)
