/* ---- regular expressions that are searched for ----
   A regular expression becomes a table of states, by derivatives (regex.h, derivatives.h), for bans and for stops. A
   state is a node of the grammar: what must follow. In a state in which nothing must follow, the pattern is complete.
   The caller makes the first states (sampi_pattern_state) and fills the rows (sampi_pattern_rows). */

#define SAMPI_PATTERN_STATES 4096
#define SAMPI_PATTERN_STEPS  (1 << 24)

/* The table of states while it is made. */
typedef struct sampi_pattern_maker {
    sampi_deriver d;
    sampi_byte_classes bytes; /* the classes of bytes for the derivatives: each byte is a class of its own */
    sampi_node *node;         /* [n] the grammar's node of each state */
    uint16_t *next;           /* [n x 256] the next state for each state and byte */
    int32_t n;
} sampi_pattern_maker;

/* Begins a table. The caller frees it with sampi_pattern_close, also after an error. */
static SAMPI_COLD int sampi_pattern_open(sampi_pattern_maker *m)
{
    memset(m, 0, sizeof *m);
    m->node = (sampi_node *)SAMP_MALLOC(SAMPI_PATTERN_STATES * sizeof *m->node);
    m->next = (uint16_t *)SAMP_MALLOC((size_t)SAMPI_PATTERN_STATES * 256 * sizeof *m->next);
    m->d.account.most = SIZE_MAX;
    m->d.budget = SAMPI_PATTERN_STEPS;
    for (int32_t i = 0; i < 256; i++) m->bytes.class_of[i] = m->bytes.byte_of[i] = (uint8_t)i;
    memset(m->bytes.firsts, 0xff, sizeof m->bytes.firsts);
    m->bytes.n_classes = 256;
    m->d.bytes = &m->bytes;
    return m->node && m->next ? sampi_tree_init(&m->d.tree) : (int)SAMP_E_NOMEM;
}

static SAMPI_COLD void sampi_pattern_close(sampi_pattern_maker *m)
{
    sampi_grammar_memo_free(&m->d);
    sampi_grammar_vec_free(&m->d.work);
    sampi_grammar_vec_free(&m->d.queued.slots);
    sampi_tree_free(&m->d.tree);
    SAMP_FREE(m->node);
    SAMP_FREE(m->next);
}

/* Returns the state of a grammar's node, which is made if it does not exist. */
static SAMPI_COLD uint16_t sampi_pattern_state(sampi_pattern_maker *m, sampi_node node)
{
    if (node < 0 || m->d.status) {
        sampi_grammar_fault(&m->d, node < 0 ? node : SAMP_E_FULL);
        return 0;
    }
    sampi_expr *e = sampi_grammar_at(&m->d.tree, node);
    if (e->state) return (uint16_t)(e->state - 1);
    if (m->n == SAMPI_PATTERN_STATES) {
        sampi_grammar_fault(&m->d, SAMP_E_FULL);
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
    sampi_grammar_find_byte_kinds(&m->d, m->node[state], first);
    for (int32_t b = 0; b < 256 && !m->d.status; b++)
        next[b] = first[b] < b ? next[first[b]]
                               : sampi_pattern_state(m, sampi_grammar_derive(&m->d, m->node[state], b));
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
    r.open = true;
    sampi_resolving placing = { t, SAMPI_PLACE_PATIENCE, 0 };
    sampi_node all = sampi_regex_read(&r, text, strlen(text), error);
    if (all < 0) return all;
    *plain = sampi_grammar_resolve(&placing, all, 0);
    *begun = sampi_grammar_resolve(&placing, all, SAMPI_PLACE_BEGIN);
    if (*plain < 0 || *begun < 0) return sampi_grammar_read_node(&r, *plain < 0 ? *plain : *begun);
    if ((sampi_grammar_at(t, *plain)->facts | sampi_grammar_at(t, *begun)->facts) & SAMPI_FACT_EMPTY)
        return sampi_grammar_expected(&r, text, SAMP_E_RANGE,
                                      "expected a pattern that does not match the empty text");
    return SAMP_OK;
}

/* Fills the rows of all states from state `from` on, which make further states. Returns a status. */
static SAMPI_COLD int sampi_pattern_rows(sampi_pattern_maker *m, int32_t from)
{
    for (int32_t i = from; i < m->n && !m->d.status; i++) sampi_pattern_row(m, i);
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

/* Returns the number of words of a table with n_classes classes of bytes. */
static size_t sampi_pattern_words(const sampi_pattern_maker *m, uint32_t n_classes)
{
    return 64 + ((size_t)m->n * n_classes + 1) / 2;
}

/* Writes a table (sampi_table_next): 64 words with the class of each byte, then the states' rows of next states. */
static SAMPI_COLD void sampi_pattern_write(const sampi_pattern_maker *m, const uint8_t *class_of,
                                           const uint8_t *byte_of, uint32_t n_classes, uint32_t *table)
{
    uint16_t *to = (uint16_t *)(void *)(table + 64);
    memcpy(table, class_of, 256);
    for (int32_t i = 0; i < m->n; i++)
        for (uint32_t c = 0; c < n_classes; c++) *to++ = m->next[256 * (size_t)i + byte_of[c]];
}

/* Is a pattern complete in this state? Can none be any more? */
static bool sampi_pattern_is_done(const sampi_pattern_maker *m, int32_t state)
{
    return sampi_grammar_at(&m->d.tree, m->node[state])->facts & SAMPI_FACT_EMPTY;
}
static bool sampi_pattern_is_dead(const sampi_pattern_maker *m, int32_t state)
{
    return m->node[state] == SAMPI_NEVER;
}
