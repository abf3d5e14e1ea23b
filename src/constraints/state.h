/* ---- constraints: fingerprint and saved state ----
   The hooks settings and state (life/state.h). The fingerprint, a hash of settings, is made of the numbers, the lists
   and the automaton. The state is a few words and the window. Each loaded word is checked: it must be a value that this
   sampler can reach. */

/* Adds the lists and automata to the fingerprint. The numbers are in it already, as fields. */
static SAMPI_COLD void sampi_constraint_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, (uint64_t)(uint32_t)s->u.constraint.flags << 32 | (uint32_t)s->u.constraint.open);
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < s->part_size[i] / 4; k++) sampi_mix(hash, ((const uint32_t *)sampi_part(s, i))[k]);
}

/* Saves or loads a word of the state, which may be at most `most`. *x is a copy of the member, and gets the word when
   saving too. */
static SAMPI_COLD void sampi_constraint_io_word(sampi_io *io, uint32_t *x, uint64_t most)
{
    *x = (uint32_t)sampi_io_int(io, *x, 4);
    io->bad |= *x > most;
}

/* Saves or loads the words that only a thinking budget with a plan has. For a budget without a plan, `wish` is saved or
   loaded if `missing` says that it is stored. */
static SAMPI_COLD void sampi_constraint_io_plan(sampi_io *io, sampi_constraint *now, uint32_t missing)
{
    now->wish &= io->mode == SAMPI_WRITE ? ~(uint32_t)0 : 0;
    if (now->has_plan) {
        sampi_constraint_io_word(io, &now->since, INT32_MAX);
        sampi_constraint_io_word(io, &now->spent, INT32_MAX);
        sampi_constraint_io_word(io, &now->side, now->n_nodes - 1);
        sampi_constraint_io_word(io, &now->noted, INT32_MAX);
    }
    if (now->has_plan || missing > 3) sampi_constraint_io_word(io, &now->wish, INT32_MAX);
}

static SAMPI_COLD void sampi_constraint_state(sampi_sampler *s, sampi_io *io)
{
    sampi_constraint *r = &s->u.constraint, now = *r;
    bool thinks = r->what == SAMPI_CONSTRAINT_THINKING, clocks = r->what == SAMPI_CONSTRAINT_CLOCK;
    if (r->is_idle) return;
    sampi_constraint_io_word(io, &now.at, INT32_MAX);
    sampi_constraint_io_word(io, &now.node, r->n_nodes ? r->n_nodes - 1 : 0);
    sampi_constraint_io_word(io, &now.mode, thinks || clocks ? (thinks + 1) * (uint64_t)r->n : INT32_MAX);
    sampi_constraint_io_word(io, &now.count_in, INT32_MAX);
    uint32_t missing = r->missing + (thinks && !r->has_plan && r->wish ? 4 : 0);
    sampi_constraint_io_word(io, &missing, thinks && !r->has_plan ? 7 : 3);
    now.missing = missing % 4;
    sampi_io_float(io, &now.sum, 0.0f, r->alarm);
    sampi_io ahead = *io; /* a copy, to read the number of tokens in the window in advance */
    sampi_constraint_io_word(&ahead, &now.ring.size, now.at);
    io->bad |= ahead.bad;
    sampi_io_ring(io, &r->ring, sampi_constraint_window(s));
    io->bad |= r->what == SAMPI_CONSTRAINT_PERIOD && now.mode > now.ring.size;
    sampi_constraint_io_word(io, &now.n_bans, r->ban_room);
    for (uint32_t i = 0; i < now.n_bans && !io->bad; i++) {
        sampi_io_token(io, &sampi_constraint_bans(s)[i].token, 0);
        sampi_io_token(io, &sampi_constraint_bans(s)[i].count, 0);
    }
    if (thinks) sampi_constraint_io_plan(io, &now, missing);
    if (!io->bad && thinks) io->bad |= !sampi_constraint_thinking_is_valid(s, &now);
    if (!io->bad && clocks)
        io->bad |= sampi_constraint_root_of(sampi_constraint_match_nodes(s), now.node) != now.mode;
    if (io->mode != SAMPI_READ) return;
    now.ring = r->ring;
    *r = now;
}
