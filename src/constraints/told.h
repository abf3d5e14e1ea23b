/* ---- constraints: fingerprint and saved state ----
   The hooks settings and state (life/state.h). The fingerprint takes the numbers, the lists and the automaton. The
   state is a few words and the window; a word from outside is checked against what the constructor could have made
   before it is taken. */

/* Its numbers are fields; its lists and automata are what else it was made of. */
static SAMPI_COLD void sampi_constraint_settings(const sampi_sampler *s, uint64_t *hash)
{
    sampi_mix(hash, (uint64_t)(uint32_t)s->u.limit.flags << 32 | (uint32_t)s->u.limit.open);
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < s->part_size[i] / 4; k++) sampi_mix(hash, ((const uint32_t *)sampi_part(s, i))[k]);
}

/* A word of the state, at most `most`; x is a copy, which gets what stands there in any case. */
static SAMPI_COLD void sampi_io_word(sampi_io *io, uint32_t *x, uint64_t most)
{
    *x = (uint32_t)sampi_io_int(io, *x, 4);
    io->bad |= *x > most;
}

/* Could these be the state of a budget? The node must belong to the mode, for what is forced begins there. */
static SAMPI_COLD bool sampi_limit_thinks(const sampi_sampler *s, const sampi_limit *now)
{
    const sampi_knot *knot = sampi_knots(s);
    uint32_t root = now->node, span = (now->mode - 1) / 2;
    while (knot[root].fail != root) root = knot[root].fail;
    if (now->mode == 0) return root == 0 && now->count_in == 0;
    if (root != span + 1 || knot[now->node].mark) return false;
    if (now->mode % 2) return now->count_in < (uint64_t)now->budget + 4;
    const sampi_span *t = (const sampi_span *)sampi_part(s, 2) + span;
    return t->is_end ? now->count_in == knot[now->node].depth : now->count_in < t->n;
}

static SAMPI_COLD void sampi_constraint_state(sampi_sampler *s, sampi_io *io)
{
    sampi_limit *r = &s->u.limit, now = *r;
    bool thinks = r->what == SAMPI_LIMIT_THINKING;
    if (r->is_idle) return;
    sampi_io_word(io, &now.at, INT32_MAX);
    sampi_io_word(io, &now.node, r->n_knots ? r->n_knots - 1 : 0);
    sampi_io_word(io, &now.mode, thinks ? 2 * (uint64_t)r->n : INT32_MAX);
    sampi_io_word(io, &now.count_in, INT32_MAX);
    sampi_io_word(io, &now.missing, 3);
    sampi_io_float(io, &now.sum, 0.0f, r->alarm);
    sampi_io ahead = *io; /* how many tokens the window will have */
    sampi_io_word(&ahead, &now.ring.size, now.at);
    io->bad |= ahead.bad;
    sampi_io_ring(io, &r->ring, sampi_limit_window(s));
    io->bad |= r->what == SAMPI_LIMIT_PERIOD && now.mode > now.ring.size;
    sampi_io_word(io, &now.n_bans, r->ban_room);
    for (uint32_t i = 0; i < now.n_bans && !io->bad; i++) {
        sampi_io_token(io, &sampi_limit_bans(s)[i].token, 0);
        sampi_io_token(io, &sampi_limit_bans(s)[i].count, 0);
    }
    if (!io->bad && thinks) io->bad |= !sampi_limit_thinks(s, &now);
    if (io->mode != SAMPI_READ) return;
    now.ring = r->ring;
    *r = now;
}
