/* ---- constraints: banned patterns ----
   samp_init_banned_pattern: the constructor turns a regular expression into a table, by the derivatives of grammars
   (grammar/regex.h, grammar/derivatives.h). A state is what must follow some bytes so that the whole text is "any
   bytes, then the pattern". In a state in which nothing must follow, the pattern is complete. The states are the
   sampler's nodes and have lists of tokens. The list of state 0 has the tokens that contain the pattern by themselves;
   the list of each other state has further tokens, which complete the pattern there (see constraints/making.h). */

#define SAMPI_PATTERN_STATES 4096
#define SAMPI_PATTERN_STEPS  (1 << 24)
#define SAMPI_PATTERN_BACK   1024 /* the number of tokens in which the beginning of a match is searched for */

/* The table of states while it is made. */
typedef struct sampi_pattern_maker {
    sampi_deriver d;
    sampi_byte_classes bytes; /* the classes of bytes for the derivatives: each byte is a class of its own */
    sampi_node *node;         /* [n] the grammar's node of each state */
    uint16_t *next;           /* [n x 256] the next state for each state and byte */
    int32_t n;
} sampi_pattern_maker;

/* Returns the state of a grammar's node, which is made if it does not exist. */
static SAMPI_COLD uint16_t sampi_pattern_state(sampi_pattern_maker *m, sampi_node node)
{
    if (node < 0 || m->d.status) {
        sampi_fault(&m->d, node < 0 ? node : SAMP_E_FULL);
        return 0;
    }
    sampi_expr *e = sampi_at(&m->d.tree, node);
    if (e->state) return (uint16_t)(e->state - 1);
    if (m->n == SAMPI_PATTERN_STATES) {
        sampi_fault(&m->d, SAMP_E_FULL);
        return 0;
    }
    m->node[m->n] = node;
    e->state = ++m->n;
    return (uint16_t)(m->n - 1);
}

/* Fills the table's row of a state: the next state for each byte. */
static SAMPI_COLD void sampi_pattern_row(sampi_pattern_maker *m, int32_t state)
{
    uint8_t first[256];
    uint16_t *next = m->next + 256 * (size_t)state;
    sampi_find_byte_kinds(&m->d, m->node[state], first);
    for (int32_t b = 0; b < 256 && !m->d.status; b++)
        next[b] = first[b] < b ? next[first[b]] : sampi_pattern_state(m, sampi_derive(&m->d, m->node[state], b));
}

/* Reads a regular expression. ^ is the beginning of the text. $ is refused, because it would be the end, which a text
   that is being generated does not have. If case does not matter, the classes of characters say so. */
static SAMPI_COLD int sampi_pattern_read(sampi_tree *t, const char *text, bool any_case, samp_grammar_error *error,
                                         sampi_node *plain, sampi_node *begun)
{
    sampi_reader r;
    memset(&r, 0, sizeof r);
    r.tree = t;
    r.chars = sampi_tree_class;
    r.any_case = any_case;
    sampi_node all = sampi_regex_read(&r, text, strlen(text), error);
    if (all < 0) return all;
    sampi_node front = sampi_regex_unmark(t, all, SAMPI_UNMARK_BEGIN);
    sampi_node end = sampi_regex_unmark(t, all, SAMPI_UNMARK_END);
    sampi_node both = sampi_regex_unmark(t, front, SAMPI_UNMARK_END);
    *plain = sampi_regex_unmark(t, all, SAMPI_UNMARK_NONE);
    *begun = sampi_regex_unmark(t, front, SAMPI_UNMARK_NONE);
    end = sampi_regex_unmark(t, sampi_tree_alt(t, end, both), SAMPI_UNMARK_NONE);
    if (*plain < 0 || *begun < 0 || end < 0)
        return sampi_read_node(&r, *plain < 0 ? *plain : *begun < 0 ? *begun : end);
    if (end != SAMPI_NEVER)
        return sampi_expected(&r, text, SAMP_E_UNSUPPORTED, "expected no $: a text has no end here");
    if ((sampi_at(t, *plain)->facts | sampi_at(t, *begun)->facts) & SAMPI_FACT_EMPTY)
        return sampi_expected(&r, text, SAMP_E_RANGE, "expected a pattern that does not match the empty text");
    return SAMP_OK;
}

/* Makes all states. State 0 is that after any bytes. *start is the state at the beginning of the text. *alone is the
   state of a pattern that must begin at this place. */
static SAMPI_COLD int sampi_pattern_states(sampi_pattern_maker *m, const char *text, bool any_case,
                                           samp_grammar_error *error, uint32_t *start, uint32_t *alone,
                                           int32_t *n_lists)
{
    sampi_tree *t = &m->d.tree;
    sampi_node plain, begun;
    int status = sampi_tree_init(t);
    if (!status) status = sampi_pattern_read(t, text, any_case, error, &plain, &begun);
    if (status) return status;
    sampi_node any = sampi_tree_repeat(t, sampi_tree_byte(t, 0, 255), 0, -1);
    sampi_node base = sampi_tree_seq(t, any, plain), first = sampi_tree_alt(t, base, begun);
    if (base < 0 || first < 0) return base < 0 ? base : first;
    (void)sampi_pattern_state(m, base);
    *start = sampi_pattern_state(m, first);
    for (int32_t i = 0; i < m->n && !m->d.status; i++) sampi_pattern_row(m, i);
    *n_lists = m->n;
    *alone = sampi_pattern_state(m, plain);
    for (int32_t i = *n_lists; i < m->n && !m->d.status; i++) sampi_pattern_row(m, i);
    return m->d.status;
}

/* Divides the 256 bytes into classes: from each state, all bytes of a class lead to the same next state. Writes
   class_of [256] and byte_of [256], a byte of each class, and returns the number of classes. */
static SAMPI_COLD uint32_t sampi_pattern_classes(const sampi_pattern_maker *m, uint8_t *class_of, uint8_t *byte_of)
{
    uint32_t n = 0;
    for (int32_t b = 0; b < 256; b++) {
        uint32_t c = 0;
        for (; c < n; c++) {
            int32_t i = 0;
            while (i < m->n && m->next[256 * (size_t)i + byte_of[c]] == m->next[256 * (size_t)i + (size_t)b]) i++;
            if (i == m->n) break;
        }
        if (c == n) byte_of[n++] = (uint8_t)b;
        class_of[b] = (uint8_t)c;
    }
    return n;
}

/* Writes the table to the builder: 64 words with the class of each byte, then the states' rows of next states. */
static SAMPI_COLD void sampi_pattern_table(sampi_builder *builder, const sampi_pattern_maker *m)
{
    uint8_t class_of[256] = { 0 }, byte_of[256] = { 0 };
    const uint32_t n_classes = sampi_pattern_classes(m, class_of, byte_of);
    builder->n_table = 64 + ((size_t)m->n * n_classes + 1) / 2;
    builder->table = (uint32_t *)sampi_builder_alloc(builder, builder->n_table, sizeof *builder->table);
    builder->nodes = (sampi_match_node *)sampi_builder_alloc(builder, (size_t)m->n, sizeof *builder->nodes);
    if (!builder->table || !builder->nodes) return;
    memcpy(builder->table, class_of, sizeof class_of);
    uint16_t *to = (uint16_t *)(void *)(builder->table + 64);
    for (int32_t i = 0; i < m->n; i++) {
        for (uint32_t c = 0; c < n_classes; c++) *to++ = m->next[256 * (size_t)i + byte_of[c]];
        builder->nodes[i].mark = sampi_at(&m->d.tree, m->node[i])->facts & SAMPI_FACT_EMPTY ? 1 : 0;
        builder->nodes[i].depth = m->node[i] == SAMPI_NEVER;
    }
    builder->n_nodes = (uint32_t)m->n;
    builder->t.u.constraint.n_classes = n_classes;
}

/* Makes the automaton of a banned pattern. Returns a status. */
static SAMPI_COLD int sampi_builder_automaton(sampi_builder *builder, const char *pattern, samp_grammar_error *error)
{
    sampi_constraint *r = &builder->t.u.constraint;
    sampi_pattern_maker m;
    memset(&m, 0, sizeof m);
    m.node = (sampi_node *)sampi_builder_alloc(builder, SAMPI_PATTERN_STATES, sizeof *m.node);
    m.next = (uint16_t *)sampi_builder_alloc(builder, (size_t)SAMPI_PATTERN_STATES * 256, sizeof *m.next);
    m.d.account.most = SIZE_MAX;
    m.d.budget = SAMPI_PATTERN_STEPS;
    for (int32_t i = 0; i < 256; i++) m.bytes.class_of[i] = m.bytes.byte_of[i] = (uint8_t)i;
    memset(m.bytes.firsts, 0xff, sizeof m.bytes.firsts);
    m.bytes.n_classes = 256;
    m.d.bytes = &m.bytes;
    int32_t n_lists = 0;
    int status = SAMP_E_NOMEM;
    if (m.node && m.next)
        status = sampi_pattern_states(&m, pattern, r->flags & SAMP_BAN_ANY_CASE, error, &r->start, &r->alone,
                                      &n_lists);
    if (!status) sampi_pattern_table(builder, &m);
    if (!status) builder->n_lists = (uint32_t)n_lists;
    sampi_memo_free(&m.d);
    sampi_vec_free(&m.d.work);
    sampi_vec_free(&m.d.queued.slots);
    sampi_tree_free(&m.d.tree);
    SAMP_FREE(m.node);
    SAMP_FREE(m.next);
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
