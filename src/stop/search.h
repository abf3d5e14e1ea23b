/* ---- stops and characters ----
   A byte that comes to the text moves the automaton of the strings and all matches of patterns that have begun. It
   says which stop is complete with it, and how many bytes must be held back. Bytes that may be shown become
   characters. */

/* What the first of n bytes begin, n > 0. Returns the length of a whole character; 0 if they are the beginning of one;
   or minus the number of bytes that are together one broken character. */
static int sampi_character(const unsigned char *bytes, size_t n)
{
    const unsigned char b = bytes[0];
    const int size = b < 0x80 ? 1 : b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
    unsigned char lo = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80, hi = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
    if (!size) return -1;
    for (int i = 1; i < size; i++, lo = 0x80, hi = 0xbf) {
        if ((size_t)i == n) return 0;
        if (bytes[i] < lo || bytes[i] > hi) return -i;
    }
    return size;
}

static unsigned char *sampi_text_bytes(const samp_text *t) { return (unsigned char *)t->part[SAMPI_TEXT_BYTES]; }

/* How many bytes may not be shown yet: the longest stop without its last byte, an unfinished character, a token. */
static size_t sampi_text_room(const samp_text *t) { return t->longest + 3 + t->longest_token; }

/* Returns the memory in which a call shows its bytes. */
static char *sampi_text_out(const samp_text *t) { return (char *)sampi_text_bytes(t) + sampi_text_room(t); }

/* Takes the first n bytes that were not shown yet, and writes their characters to the call's bytes. Bytes of a
   character that is not finished stay, unless the text ends here. Returns the number of bytes written. */
static size_t sampi_text_show(samp_text *t, size_t n, bool ends)
{
    unsigned char *bytes = sampi_text_bytes(t);
    char *out = sampi_text_out(t);
    size_t at = 0, to = 0;
    while (at < n) {
        const int size = sampi_character(bytes + at, n - at);
        if (size == 0 && !ends) break;
        const size_t length = size > 0 ? (size_t)size : size < 0 ? (size_t)-size : n - at;
        const bool copied = size > 0 || t->raw_bytes;
        memcpy(out + to, copied ? (const char *)bytes + at : "\xef\xbf\xbd", copied ? length : 3);
        to += copied ? length : 3;
        at += length;
    }
    memmove(bytes, bytes + at, t->n_bytes - at);
    t->n_bytes -= at;
    return to;
}

/* A byte comes: moves the matches of a pattern. Returns the length of the longest match that is complete with it, or
   0. */
static uint32_t sampi_text_match(const samp_text *t, sampi_text_pattern *p, unsigned char byte)
{
    const uint32_t *words = (const uint32_t *)t->part[SAMPI_TEXT_TABLES];
    const uint8_t *flags = (const uint8_t *)(words + p->flags);
    sampi_text_begun *begun = (sampi_text_begun *)t->part[SAMPI_TEXT_BEGUN] + p->begun;
    uint32_t kept = 0, found = 0;
    begun[p->n_begun].from = t->now;
    begun[p->n_begun++].state = t->has_begun ? 0 : p->first;
    for (uint32_t i = 0; i < p->n_begun; i++) {
        const uint32_t length = t->now - begun[i].from + 1;
        const uint32_t state = sampi_table_next(words + p->table, p->n_classes, begun[i].state, (char)byte);
        if ((flags[state] & SAMPI_TEXT_DONE) && !found) found = length;
        if (!(flags[state] & SAMPI_TEXT_OPEN) || length == p->max_bytes) continue;
        begun[kept].from = begun[i].from;
        begun[kept++].state = state;
    }
    p->n_begun = kept;
    return found;
}

/* A byte comes. Returns the length of the stop that is complete with it, and its index in *stop; 0 if none is. */
static size_t sampi_text_step(samp_text *t, unsigned char byte, int32_t *stop)
{
    sampi_text_pattern *pattern = (sampi_text_pattern *)t->part[SAMPI_TEXT_PATTERNS];
    size_t length = 0;
    if (t->n_strings) {
        const sampi_match_node *nodes = (const sampi_match_node *)t->part[SAMPI_TEXT_NODES];
        t->node = sampi_match_next(nodes, (const sampi_match_edge *)t->part[SAMPI_TEXT_EDGES], t->edge_mask, t->node,
                                   byte);
        length = nodes[t->node].label;
        *stop = (int32_t)nodes[t->node].first;
    }
    for (int32_t i = 0; i < t->n_patterns; i++) {
        const uint32_t found = sampi_text_match(t, &pattern[i], byte);
        if (found <= length) continue;
        length = found;
        *stop = t->n_strings + i;
    }
    t->now++;
    t->has_begun = true;
    return length;
}

/* Returns how many of the last bytes may be the beginning of a stop. */
static size_t sampi_text_held(const samp_text *t)
{
    const sampi_text_pattern *pattern = (const sampi_text_pattern *)t->part[SAMPI_TEXT_PATTERNS];
    if (t->include_stop) return 0;
    size_t held = t->n_strings ? ((const sampi_match_node *)t->part[SAMPI_TEXT_NODES])[t->node].n : 0;
    for (int32_t i = 0; i < t->n_patterns; i++) {
        const sampi_text_begun *begun = (const sampi_text_begun *)t->part[SAMPI_TEXT_BEGUN] + pattern[i].begun;
        const uint32_t length = pattern[i].n_begun ? t->now - begun->from : 0;
        if (held < length) held = length;
    }
    return held;
}

/* Adds the bytes of a token, up to the one that completes a stop, if stops count in it. Returns how many; *length and
   *stop are the stop's, 0 if none is complete. */
static size_t sampi_text_add(samp_text *t, const char *bytes, size_t n, bool counts, size_t *length, int32_t *stop)
{
    *length = 0;
    for (size_t i = 0; i < n; i++) {
        if (t->strip_space && !t->stripped && !t->has_begun && bytes[i] == ' ') {
            t->stripped = true;
            continue;
        }
        sampi_text_bytes(t)[t->n_bytes++] = (unsigned char)bytes[i];
        *length = sampi_text_step(t, (unsigned char)bytes[i], stop);
        if (*length && counts) return i + 1;
    }
    *length = 0;
    return n;
}
