/* ---- constraints: schedules ----
   samp_init_schedule makes a chain whose first member, the clock, says when the other members are active
   (sampi_constraint_is_time, in constraints/record.h). The clock changes no logit. It is a constraint, so a schedule
   is copied, saved and rolled back as all chains are. A draw calls sampi_n_active (core/owners.h) for the number of
   active members. The clock's state is in these members:

     mode:     0 outside of spans, i + 1 inside span i.
     count_in: the tokens or lines since `begin`, since a span began or ended, or since the last loop.
     missing:  flags: 1 if a token of `until` has come, 2 if a loop was found. */

/* Returns how much a token adds to the clock's count of tokens or lines. */
static uint32_t sampi_constraint_clock_step(const sampi_sampler *s, samp_token token)
{
    size_t n = 0;
    uint32_t lines = 0;
    if (!s->u.constraint.lines) return 1;
    const char *bytes = sampi_bytes_of(s->u.constraint.vocab, token, &n);
    for (size_t i = 0; i < n; i++) lines += bytes[i] == '\n';
    return lines;
}

/* Updates the clock after a token. r->node already is the automaton's node after this token. */
static void sampi_constraint_clock_accept(sampi_sampler *s, samp_token token)
{
    sampi_constraint *r = &s->u.constraint;
    const uint32_t label = r->n_nodes ? sampi_constraint_match_nodes(s)[r->node].label : 0;
    if (r->has_loop) sampi_ring_push(&r->ring, sampi_constraint_window(s), token);
    if (label) {
        r->mode = r->node = r->mode ? 0 : label;
        r->count_in = r->missing = 0;
    } else if (r->at >= (uint32_t)r->begin) {
        const samp_token *until = (const samp_token *)sampi_part(s, 2);
        uint32_t step = sampi_constraint_clock_step(s, token);
        r->count_in = r->count_in > INT32_MAX - step ? INT32_MAX : r->count_in + step;
        if (sampi_constraint_has_token(until, s->part_size[2] / sizeof *until, token)) r->missing |= SAMPI_CLOCK_CAME;
    }
    if (!r->has_loop || (r->at + 1) % (uint32_t)r->every || !sampi_constraint_period(s, r->ring.size)) return;
    r->missing |= SAMPI_CLOCK_LOOP;
    r->count_in = 0;
}

/* ---- the constructor ---- */

static SAMPI_COLD samp_sampler *sampi_constraint_init_clock(const samp_schedule *when)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_CLOCK, "schedule");
    sampi_constraint *r = &builder.t.u.constraint;
    const samp_vocab *v = when->vocab;
    sampi_require(&builder.t, when->count == SAMP_TOKENS || when->count == SAMP_LINES, SAMP_E_RANGE, "count");
    sampi_require(&builder.t, when->count == SAMP_TOKENS || (v && v->token_bytes), SAMP_E_NULL, "vocab");
    sampi_require(&builder.t, when->from >= 0, SAMP_E_RANGE, "from");
    sampi_require(&builder.t, when->to == 0 || when->to > when->from, SAMP_E_RANGE, "to");
    sampi_require(&builder.t, when->begin >= 0, SAMP_E_RANGE, "begin");
    sampi_require(&builder.t, (unsigned)when->where <= SAMP_OUTSIDE, SAMP_E_RANGE, "where");
    sampi_require(&builder.t, when->n_spans <= SAMPI_MAX_PATTERN, SAMP_E_RANGE, "spans");
    sampi_require(&builder.t, !when->where || when->n_spans, SAMP_E_RANGE, "spans");
    sampi_require(&builder.t, when->inside >= 0 && (size_t)when->inside <= when->n_spans, SAMP_E_RANGE, "inside");
    (void)sampi_builder_room(&builder, when->spans, builder.t.status ? 0 : 2 * when->n_spans, "spans");
    sampi_builder_add_spans(&builder, when->spans, when->n_spans);
    sampi_builder_patterns(&builder, (uint32_t)when->n_spans + 1);
    sampi_builder_loop(&builder, when->loop);
    r->vocab = v;
    r->lines = when->count == SAMP_LINES;
    r->n = (int32_t)when->n_spans;
    r->from = when->from;
    r->to = when->to;
    r->begin = when->begin;
    r->inside = when->where;
    r->open = when->inside - 1;
    sampi_builder_only(&builder, when->until, when->n_until, true, "until");
    return sampi_builder_make(&builder);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_schedule(const samp_schedule *when, samp_sampler *member)
{
    static const samp_schedule none = { SAMP_TOKENS, 0, 0, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, NULL };
    samp_sampler *clock = sampi_constraint_init_clock(when ? when : &none), *chain = clock ? samp_chain_init() : NULL;
    if (!chain) {
        samp_free(clock);
        if (member && !((sampi_sampler *)member)->owner) samp_free(member);
        return NULL;
    }
    if (!when) ((sampi_sampler *)clock)->status = SAMP_E_NULL, ((sampi_sampler *)clock)->field = "when";
    (void)samp_chain_add(chain, clock);
    (void)samp_chain_add(chain, member);
    return chain;
}
