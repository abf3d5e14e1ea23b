/* ---- grammars: the text that must follow ----
   samp_grammar_forced returns the bytes with which every text of the grammar continues from here. samp_grammar_draft
   and samp_grammar_certain return tokens of these bytes, which they find in the tries. */

enum { SAMPI_FORCED = 4096 }; /* a limit, because a grammar may force text without end */

/* Adds a class of bytes to those that may follow; *found is the only one so far, or -1. Returns false if there are two
   classes now. */
static bool sampi_grammar_one_class(int32_t c, int32_t *found)
{
    if (*found >= 0 && *found != c) return false;
    *found = c;
    return true;
}

/* Returns whether only one class of bytes may follow a state and the states before it; *found is that class, or -1 if
   no byte may follow. If there are two classes, further ones are not computed; else the cache keeps the state's
   set of classes. */
static bool sampi_grammar_forces_class(sampi_matcher *m, int32_t state, int32_t *found)
{
    const sampi_byte_classes *bytes = &m->grammar->bytes;
    const uint32_t *live = (const uint32_t *)SAMPI_PTR_GET(&sampi_grammar_dfa_state_at(m, state)->next_classes);
    for (int32_t c = 0; !live && c < bytes->n_classes && !m->d.status; c++)
        if (sampi_grammar_next(m, state, bytes->byte_of[c]) && !sampi_grammar_one_class(c, found)) return false;
    if (!live) return sampi_grammar_next_classes_of(m, state) != NULL;
    for (int32_t i = 0; i < 8; i++)
        for (uint32_t rest = live[i], k = 0; rest; rest >>= 1, k++)
            if ((rest & 1) && !sampi_grammar_one_class(32 * i + (int32_t)k, found)) return false;
    return true;
}

/* The same for values that must differ (unique.h): each byte is tried. */
static int sampi_grammar_forced_by_trying(sampi_matcher *m, int32_t from, int32_t to)
{
    int found = -1;
    for (int b = 0; b < 256 && !m->d.status; b++) {
        const sampi_level before = sampi_grammar_mark(m);
        const bool takes = sampi_grammar_advance(m, from, to, (uint8_t)b) > 0;
        sampi_grammar_drop(m, before);
        if (takes && found >= 0) return -1;
        if (takes) found = b;
    }
    return found;
}

/* Returns the only byte that may follow the parser's items [from, to); -1 if several bytes or none may follow. */
static int sampi_grammar_forced_byte(sampi_matcher *m, int32_t from, int32_t to)
{
    const sampi_byte_classes *bytes = &m->grammar->bytes;
    int32_t found = -1, last = 255;
    for (int32_t i = from; i < to; i++) {
        const sampi_item item = *sampi_grammar_item_at(m, i);
        if (sampi_grammar_array_of(m, item.frame) >= 0) return sampi_grammar_forced_by_trying(m, from, to);
        if ((item.flags & SAMPI_STATE_TOKENS) || ((item.flags & SAMPI_STATE_ENDS) && item.frame == 0)) return -1;
        if (!sampi_grammar_forces_class(m, item.state, &found)) return -1;
    }
    if (found < 0) return -1;
    while (bytes->class_of[last] != found) last--;
    return bytes->byte_of[found] == last ? last : -1;
}

/* Finds the bytes that must follow. Returns their number; the items behind these bytes are [*from, m->items.n). */
static int32_t sampi_grammar_force(sampi_matcher *m, uint8_t *bytes, int32_t *from)
{
    int32_t n = 0, to = m->n_now;
    *from = 0;
    for (int byte; n < SAMPI_FORCED && (byte = sampi_grammar_forced_byte(m, *from, to)) >= 0; n++) {
        const int32_t first = m->items.n;
        bytes[n] = (uint8_t)byte;
        sampi_grammar_advance(m, *from, to, bytes[n]);
        *from = first;
        to = m->items.n;
    }
    return n;
}

/* Does the same as sampi_grammar_force, but leaves out the last character if further bytes of this character may
   follow. */
static int32_t sampi_grammar_force_whole(sampi_matcher *m, uint8_t *bytes)
{
    const sampi_level before = sampi_grammar_mark(m);
    int32_t from, n = sampi_grammar_force(m, bytes, &from), whole = n;
    bool goes_on = false;
    for (int32_t i = from; i < m->items.n; i++)
        for (int32_t b = 0x80; b < 0xc0 && !goes_on && !m->d.status; b++)
            goes_on = sampi_grammar_next(m, sampi_grammar_item_at(m, i)->state, (uint8_t)b) != 0;
    sampi_grammar_drop(m, before);
    while (whole > 0 && (bytes[whole - 1] & 0xc0) == 0x80) whole--;
    if (whole > 0 && bytes[whole - 1] >= 0xc0) whole--;
    return goes_on ? whole : n;
}

SAMP_API int64_t samp_grammar_forced(samp_sampler *s, char *bytes, size_t size)
{
    int status;
    int32_t n = 0;
    uint8_t forced[SAMPI_FORCED];
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && size && !bytes) status = SAMP_E_NULL;
    if (!m || status || m->lazy.waiting || sampi_grammar_sleeps(s)) return status;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);)
        n = sampi_grammar_force_whole(m, forced);
    if (m->d.status) return m->d.status;
    if (bytes) memcpy(bytes, forced, (size_t)n < size ? (size_t)n : size);
    return n;
}

/* The tokens with which some bytes begin: how many there are, the length of the longest in bytes, and that token. If
   several tokens have the same bytes, the one with the smallest number counts. */
typedef struct sampi_prefix_tokens {
    int32_t n, length;
    samp_token longest;
} sampi_prefix_tokens;

/* Finds the tokens of one trie with which the bytes begin. Returns the node behind all of the bytes, or 0. If several
   tokens have the same bytes, all longer tokens are below the node of the last one. */
static uint32_t sampi_grammar_find_prefix_tokens(const samp_vocab_index *index, uint32_t root, const uint8_t *bytes,
                                         int32_t n, sampi_prefix_tokens *along)
{
    const uint32_t *nodes = index->nodes;
    for (int32_t d = 0; d < n; d++) {
        const uint32_t end = root + (nodes[2 * (size_t)root + 1] >> 10);
        uint32_t found = 0;
        for (uint32_t i = root + 1; i < end; i += nodes[2 * (size_t)i + 1] >> 10) {
            const uint32_t head = nodes[2 * (size_t)i];
            if ((uint8_t)head != bytes[d]) continue;
            found = i;
            if (head >> 8 == SAMPI_NO_TOKEN) continue;
            along->n++;
            if (along->length <= d || (samp_token)(head >> 8) < along->longest)
                along->longest = (samp_token)(head >> 8);
            along->length = d + 1;
        }
        if (!found) return 0;
        root = found;
    }
    return root;
}

/* Returns whether some token below a trie's node is allowed by the parser's items [from, m->items.n), which are the
   items at this node. */
static bool sampi_grammar_token_goes_on(sampi_matcher *m, uint32_t node, int32_t from)
{
    const uint32_t *nodes = m->index->nodes;
    const uint32_t end = node + (nodes[2 * (size_t)node + 1] >> 10), top = nodes[2 * (size_t)node + 1] & 1023;
    bool found = false;
    m->level[0] = sampi_grammar_mark(m);
    for (uint32_t i = node + 1; i < end && !found && sampi_grammar_step(&m->d);) {
        const uint32_t depth = (nodes[2 * (size_t)i + 1] & 1023) - top;
        const sampi_level before = m->level[depth - 1];
        sampi_grammar_drop(m, before);
        if (!sampi_grammar_advance(m, depth == 1 ? from : m->level[depth - 2].items, before.items,
                           (uint8_t)nodes[2 * (size_t)i])) {
            i += nodes[2 * (size_t)i + 1] >> 10;
            continue;
        }
        m->level[depth] = sampi_grammar_mark(m);
        found = nodes[2 * (size_t)i] >> 8 != SAMPI_NO_TOKEN;
        i++;
    }
    sampi_grammar_drop(m, m->level[0]);
    return found;
}

/* Writes the tokens of the text that must follow, each time the longest possible one. Stops where a token may continue
   beyond the forced bytes. With `certain` it also stops where more than one token is possible. */
static int64_t sampi_grammar_draft_forced(sampi_matcher *m, samp_token *tokens, size_t n_max, bool certain)
{
    uint8_t bytes[SAMPI_FORCED];
    const sampi_level before = sampi_grammar_mark(m);
    int32_t from, n = sampi_grammar_force(m, bytes, &from);
    size_t n_tokens = 0;
    for (int32_t at = 0; at < n && n_tokens < n_max && !m->d.status;) {
        sampi_prefix_tokens along = { 0, 0, -1 }, other = { 0, 0, -1 };
        const uint32_t plain = sampi_grammar_find_prefix_tokens(m->index, 0, bytes + at, n - at, &along);
        const uint32_t rest = sampi_grammar_find_prefix_tokens(m->index, m->index->n_plain, bytes + at, n - at,
                                                               &other);
        if ((plain && sampi_grammar_token_goes_on(m, plain, from)) ||
            (rest && sampi_grammar_token_goes_on(m, rest, from)))
            break;
        const sampi_prefix_tokens *longest = along.length > other.length ? &along : &other;
        if (longest->length == 0 || (certain && along.n + other.n > 1)) break;
        tokens[n_tokens++] = longest->longest;
        at += longest->length;
    }
    sampi_grammar_drop(m, before);
    return (int64_t)n_tokens;
}

static int64_t sampi_grammar_draft_of(samp_sampler *s, samp_token *tokens, size_t n_max, bool certain)
{
    int status;
    int64_t n = 0;
    sampi_matcher *m = sampi_matcher_of(s, &status);
    if (m && n_max && !tokens) status = SAMP_E_NULL;
    if (!m || status || m->lazy.waiting || sampi_grammar_sleeps(s)) return status;
    for (sampi_attempt turn = { 0, 0, { 0, 0, 0, 0, 0, false, 0 } }; sampi_matcher_attempt(m, &turn);)
        n = sampi_grammar_draft_forced(m, tokens, n_max, certain);
    return m->d.status ? m->d.status : n;
}

SAMP_API int64_t samp_grammar_draft(samp_sampler *grammar, samp_token *tokens, size_t n_max)
{
    return sampi_grammar_draft_of(grammar, tokens, n_max, false);
}

SAMP_API int64_t samp_grammar_certain(samp_sampler *grammar, samp_token *tokens, size_t n_max)
{
    return sampi_grammar_draft_of(grammar, tokens, n_max, true);
}
