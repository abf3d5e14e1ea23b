/* ---- constraints: banned patterns ----
   samp_init_banned_pattern: the constructor turns a regular expression into a table (grammar/patterns.h). A state is
   what must follow some bytes so that the whole text is "any bytes, then the pattern". The states are the sampler's
   nodes and have lists of tokens. The list of state 0 has the tokens that contain the pattern by themselves; the list
   of each other state has further tokens, which complete the pattern there (see constraints/making.h). */

#define SAMPI_PATTERN_BACK 1024 /* the number of tokens in which the beginning of a match is searched for */

/* Makes all states. State 0 is that after any bytes. *start is the state at the beginning of the text. *alone is the
   state of a pattern that must begin at this place. */
static SAMPI_COLD int sampi_constraint_pattern_states(sampi_pattern_maker *m, const char *text, bool any_case,
                                                      samp_grammar_error *error, uint32_t *start, uint32_t *alone,
                                                      int32_t *n_lists)
{
    sampi_tree *t = &m->d.tree;
    sampi_node plain, begun;
    int status = sampi_pattern_read(t, text, any_case, error, &plain, &begun);
    if (status) return status;
    sampi_node any = sampi_tree_repeat(t, sampi_tree_byte(t, 0, 255), 0, -1);
    sampi_node base = sampi_tree_seq(t, any, plain), first = sampi_tree_alt(t, base, begun);
    if (base < 0 || first < 0) return base < 0 ? base : first;
    (void)sampi_pattern_state(m, base);
    *start = sampi_pattern_state(m, first);
    status = sampi_pattern_rows(m, 0);
    *n_lists = m->n;
    if (status) return status;
    *alone = sampi_pattern_state(m, plain);
    return sampi_pattern_rows(m, *n_lists);
}

/* Writes the table to the builder. */
static SAMPI_COLD void sampi_constraint_pattern_table(sampi_builder *builder, const sampi_pattern_maker *m)
{
    uint8_t class_of[256] = { 0 }, byte_of[256] = { 0 };
    const uint32_t n_classes = sampi_pattern_classes(m, class_of, byte_of);
    builder->n_table = sampi_pattern_words(m, n_classes);
    builder->table = (uint32_t *)sampi_builder_alloc(builder, builder->n_table, sizeof *builder->table);
    builder->nodes = (sampi_match_node *)sampi_builder_alloc(builder, (size_t)m->n, sizeof *builder->nodes);
    if (!builder->table || !builder->nodes) return;
    sampi_pattern_write(m, class_of, byte_of, n_classes, builder->table);
    for (int32_t i = 0; i < m->n; i++) {
        builder->nodes[i].label = sampi_pattern_is_done(m, i);
        builder->nodes[i].depth = sampi_pattern_is_dead(m, i);
    }
    builder->n_nodes = (uint32_t)m->n;
    builder->t.u.constraint.n_classes = n_classes;
}

/* Makes the automaton of a banned pattern. Returns a status. */
static SAMPI_COLD int sampi_builder_automaton(sampi_builder *builder, const char *pattern, samp_grammar_error *error)
{
    sampi_constraint *r = &builder->t.u.constraint;
    sampi_pattern_maker m;
    const bool any_case = r->flags & SAMP_BAN_ANY_CASE;
    int32_t n_lists = 0;
    int status = sampi_pattern_open(&m);
    if (!status)
        status = sampi_constraint_pattern_states(&m, pattern, any_case, error, &r->start, &r->alone, &n_lists);
    if (!status) sampi_constraint_pattern_table(builder, &m);
    if (!status) builder->n_lists = (uint32_t)n_lists;
    sampi_pattern_close(&m);
    return status;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_banned_pattern(const samp_vocab *vocab, const char *pattern,
                                                           unsigned flags, samp_grammar_error *error)
{
    sampi_builder builder = sampi_builder_of(SAMPI_CONSTRAINT_LISTS, "banned-pattern");
    sampi_constraint *r = &builder.t.u.constraint;
    samp_grammar_error found;
    memset(&found, 0, sizeof found);
    r->flags = (int32_t)flags;
    r->vocab = vocab;
    r->has_table = true;
    sampi_require(&builder.t, vocab && vocab->token_bytes, SAMP_E_NULL, "vocab");
    sampi_require(&builder.t, !vocab || (vocab->n_vocab >= 0 && vocab->n_vocab <= SAMP_MAX_VOCAB), SAMP_E_RANGE,
                  "vocab");
    sampi_require(&builder.t, pattern != NULL, SAMP_E_NULL, "pattern");
    sampi_require(&builder.t, flags <= (SAMP_BAN_REWIND | SAMP_BAN_ANY_CASE), SAMP_E_RANGE, "flags");
    int status = builder.t.status ? SAMP_OK : sampi_builder_automaton(&builder, pattern, &found);
    if (status == SAMP_E_NOMEM)
        builder.no_memory = true;
    else
        sampi_require(&builder.t, !status, status, "pattern");
    if (builder.t.status && !found.status) found.status = builder.t.status;
    if (error) *error = found;
    const bool rewinds = r->flags & SAMP_BAN_REWIND;
    if (rewinds) r->ring.cap = SAMPI_PATTERN_BACK;
    if (rewinds) r->room = r->ban_room = SAMPI_BANS;
    if (!rewinds && !builder.t.status && !builder.no_memory) sampi_builder_lists(&builder);
    return sampi_builder_make(&builder);
}
