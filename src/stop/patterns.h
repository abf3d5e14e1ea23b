/* ---- regular expressions as stops ----
   samp_text_add_pattern: the table of a pattern (grammar/patterns.h) that must begin at a given place, at the
   beginning of the text or behind it. A text keeps the matches that have begun, with their states (stop/search.h). */

/* Makes the states of a pattern: 0 and, for the beginning of the text, *first. */
static SAMPI_COLD int sampi_text_states(sampi_pattern_maker *m, const char *pattern, uint32_t *first)
{
    samp_grammar_error error;
    sampi_node plain, begun;
    int status = sampi_pattern_read(&m->d.tree, pattern, false, &error, &plain, &begun);
    const sampi_node both = status ? SAMPI_NEVER : sampi_tree_alt(&m->d.tree, plain, begun);
    if (status || both < 0) return status ? status : both;
    (void)sampi_pattern_state(m, plain);
    *first = sampi_pattern_state(m, both);
    return sampi_pattern_rows(m, 0);
}

/* Writes the flags of all states. */
static SAMPI_COLD void sampi_text_flags(const sampi_pattern_maker *m, uint8_t *flags)
{
    for (int32_t i = 0; i < m->n; i++) {
        flags[i] = sampi_pattern_is_done(m, i) ? SAMPI_TEXT_DONE : 0;
        for (size_t b = 0; b < 256; b++)
            if (!sampi_pattern_is_dead(m, m->next[256 * (size_t)i + b])) flags[i] |= SAMPI_TEXT_OPEN;
    }
}

/* Adds the pattern to a text that has no other user, and that is freed after an error. */
static SAMPI_COLD int sampi_text_put(samp_text *t, const sampi_pattern_maker *m, uint32_t first, size_t max_bytes)
{
    uint8_t class_of[256] = { 0 }, byte_of[256] = { 0 };
    const size_t had = t->size[SAMPI_TEXT_TABLES], matches = t->size[SAMPI_TEXT_BEGUN] / sizeof(sampi_text_begun);
    sampi_text_pattern p = {
        had / 4, 0, sampi_pattern_classes(m, class_of, byte_of), first, (uint32_t)max_bytes, (uint32_t)matches, 0
    };
    p.flags = p.table + sampi_pattern_words(m, p.n_classes);
    if (t->longest < max_bytes) t->longest = max_bytes;
    if (!sampi_text_grow(t, SAMPI_TEXT_TABLES, 4 * p.flags + ((size_t)m->n + 3) / 4 * 4) ||
        !sampi_text_grow(t, SAMPI_TEXT_PATTERNS, ((size_t)t->n_patterns + 1) * sizeof p) ||
        !sampi_text_grow(t, SAMPI_TEXT_BEGUN, (matches + max_bytes) * sizeof(sampi_text_begun)) ||
        !sampi_text_widen(t))
        return SAMP_E_NOMEM;
    uint32_t *words = (uint32_t *)t->part[SAMPI_TEXT_TABLES];
    sampi_pattern_write(m, class_of, byte_of, p.n_classes, words + p.table);
    sampi_text_flags(m, (uint8_t *)(words + p.flags));
    ((sampi_text_pattern *)t->part[SAMPI_TEXT_PATTERNS])[t->n_patterns++] = p;
    return SAMP_OK;
}

SAMP_API SAMPI_COLD int samp_text_add_pattern(samp_text *text, const char *pattern, size_t max_bytes)
{
    if (!text || !pattern) return SAMP_E_NULL;
    if (!max_bytes || max_bytes > SAMPI_TEXT_PATTERN || text->n_tokens || text->n_patterns == SAMPI_TEXT_N_PATTERNS)
        return SAMP_E_RANGE;
    sampi_pattern_maker m;
    uint32_t first = 0;
    int status = sampi_pattern_open(&m);
    if (!status) status = sampi_text_states(&m, pattern, &first);
    samp_text *t = status ? NULL : samp_text_clone(text);
    if (!status && !t) status = SAMP_E_NOMEM;
    if (!status) status = sampi_text_put(t, &m, first, max_bytes);
    if (!status) { /* the new text takes the old one's place */
        samp_text old = *text;
        *text = *t;
        *t = old;
    }
    samp_text_free(t);
    sampi_pattern_close(&m);
    return status;
}
