/* ---- watermarks: the text so far ----
   Keeps the context of the next token (the last tokens), and whether it has occurred before. The last tokens are in a
   ring (the sampler's part 1). A hash table (part 2, open addressing) has each context of the last `history` positions
   once, with the last position at which it occurred. The hash depends on the key, so a writer without the key cannot
   make a text whose contexts all collide. Contexts are compared token by token, so two contexts are never confused. An
   accepted token adds a position and drops the oldest one; a rollback does the reverse, with the values in its
   record. */

static samp_token *sampi_mark_tokens(const sampi_sampler *s) { return (samp_token *)sampi_part(s, 1); }
static uint32_t *sampi_mark_table(const sampi_sampler *s) { return (uint32_t *)sampi_part(s, 2); }

/* Returns the token `back` positions before the next token, so 1 is the newest, or UINT32_MAX before the beginning of
   the text. */
static uint32_t sampi_mark_back(const sampi_sampler *s, uint32_t back)
{
    const sampi_ring *ring = &s->u.mark.ring;
    return back <= ring->size ? (uint32_t)sampi_ring_at(ring, sampi_mark_tokens(s), back - 1) : UINT32_MAX;
}

/* Writes to context [width] the context of the position that is `ago` positions before the next one. */
static void sampi_mark_context(const sampi_sampler *s, uint32_t ago, uint32_t *context)
{
    const uint32_t width = (uint32_t)s->u.mark.width;
    for (uint32_t i = 0; i < width; i++) context[i] = sampi_mark_back(s, ago + width - i);
}

static uint32_t sampi_mark_home(const sampi_sampler *s, const uint32_t *context)
{
    sampi_words words;
    sampi_words_of(&words, s->u.mark.key[0], context, (uint32_t)s->u.mark.width);
    return words.counter[0] & (s->u.mark.n_slots - 1);
}

/* Returns the index of the slot that has this context, or of the empty slot in which it would be stored. */
static uint32_t sampi_mark_slot(const sampi_sampler *s, const uint32_t *context)
{
    const sampi_watermark *mark = &s->u.mark;
    const uint32_t *table = sampi_mark_table(s), width = (uint32_t)mark->width;
    uint32_t at = sampi_mark_home(s, context);
    for (; table[at]; at = (at + 1) & (mark->n_slots - 1)) {
        uint32_t ago = mark->count - (table[at] - 1), i = 0;
        while (i < width && sampi_mark_back(s, ago + width - i) == context[i]) i++;
        if (i == width) break;
    }
    return at;
}

/* Empties a slot. Later entries that would not be found any more are moved forward. */
static void sampi_mark_erase(const sampi_sampler *s, uint32_t hole)
{
    const sampi_watermark *mark = &s->u.mark;
    uint32_t *table = sampi_mark_table(s), mask = mark->n_slots - 1, context[64];
    for (uint32_t at = (hole + 1) & mask; table[at]; at = (at + 1) & mask) {
        sampi_mark_context(s, mark->count - (table[at] - 1), context);
        if (((at - sampi_mark_home(s, context)) & mask) < ((at - hole) & mask)) continue;
        table[hole] = table[at];
        hole = at;
    }
    table[hole] = 0;
}

/* Is the next token drawn without the watermark, because its context [width] is repeated? */
static bool sampi_mark_is_repeated(const sampi_sampler *s, const uint32_t *context)
{
    const sampi_watermark *mark = &s->u.mark;
    if (!mark->n_slots) return false;
    if (mark->scope == SAMP_WATERMARK_ONCE_IN_ALL && mark->generated < (uint32_t)mark->width) return true;
    return sampi_mark_table(s)[sampi_mark_slot(s, context)] != 0;
}

/* Adds the next position to the text: its context is added to the table; the context of the position that leaves the
   history is removed, unless it has occurred again since. Then the token is added to the ring. */
static void sampi_mark_push(sampi_sampler *s, samp_token token)
{
    sampi_watermark *mark = &s->u.mark;
    uint32_t context[64], *table = sampi_mark_table(s);
    if (mark->n_slots) {
        sampi_mark_context(s, 0, context);
        table[sampi_mark_slot(s, context)] = mark->count + 1;
        if (mark->count >= (uint32_t)mark->history) {
            uint32_t last = mark->count - (uint32_t)mark->history;
            sampi_mark_context(s, (uint32_t)mark->history, context);
            uint32_t at = sampi_mark_slot(s, context);
            if (table[at] == last + 1) sampi_mark_erase(s, at);
        }
    }
    sampi_ring_push(&mark->ring, sampi_mark_tokens(s), token);
    mark->count++;
}

/* Reverses sampi_mark_push. `old` is the token that fell out of the ring, or -1; `before` is what the slot contained
   before the push. */
static SAMPI_COLD void sampi_mark_pop(sampi_sampler *s, samp_token old, uint32_t before)
{
    sampi_watermark *mark = &s->u.mark;
    sampi_ring *ring = &mark->ring;
    uint32_t context[64], *table = sampi_mark_table(s);
    ring->head = (ring->head ? ring->head : ring->cap) - 1;
    if (old < 0)
        ring->size--;
    else
        sampi_mark_tokens(s)[ring->head] = old;
    mark->count--;
    if (!mark->n_slots) return;
    sampi_mark_context(s, 0, context);
    uint32_t at = sampi_mark_slot(s, context);
    if (before)
        table[at] = before;
    else
        sampi_mark_erase(s, at);
    if (mark->count < (uint32_t)mark->history) return;
    sampi_mark_context(s, (uint32_t)mark->history, context);
    at = sampi_mark_slot(s, context);
    if (!table[at]) table[at] = mark->count - (uint32_t)mark->history + 1;
}

/* ---- hooks: now.pending is -1 before the first draw, 0 after it ---- */

static void sampi_mark_accept(sampi_sampler *s, samp_token token)
{
    const bool is_prompt = s->now.pending < 0;
    if (is_prompt && s->u.mark.scope != SAMP_WATERMARK_ONCE_IN_ALL) return;
    sampi_mark_push(s, token);
    if (!is_prompt) s->u.mark.generated++;
}

static SAMPI_COLD void sampi_mark_reset(sampi_sampler *s)
{
    sampi_watermark *mark = &s->u.mark;
    mark->ring.size = mark->ring.head = 0;
    mark->count = mark->generated = 0;
    if (mark->n_slots) memset(sampi_mark_table(s), 0, mark->n_slots * sizeof(uint32_t));
}

/* Notes or restores five words for a rollback: both counts, the token that the ring's next token pushes out, the
   table's entry for the context, and whether there has been a draw. */
static void sampi_mark_past(sampi_sampler *s, sampi_record *r)
{
    sampi_watermark *mark = &s->u.mark;
    const uint32_t now = mark->count;
    uint32_t context[64], word[4] = { mark->count, mark->generated, UINT32_MAX, 0 };
    if (r->mode == SAMPI_RECORD_NOTE) {
        if (mark->ring.size == mark->ring.cap) word[2] = (uint32_t)sampi_mark_tokens(s)[mark->ring.head];
        if (mark->n_slots) {
            sampi_mark_context(s, 0, context);
            word[3] = sampi_mark_table(s)[sampi_mark_slot(s, context)];
        }
    }
    sampi_record_words(r, word, 4);
    sampi_record_words(r, &s->now.pending, 1);
    if (r->mode != SAMPI_RECORD_TOKEN) return;
    if (now != word[0]) sampi_mark_pop(s, (samp_token)word[2], word[3]);
    mark->generated = word[1];
}

/* Adds the settings to the fingerprint, the hash of settings. The key is added as a SHA-256, because the fingerprint
   itself can be computed backwards. */
static SAMPI_COLD void sampi_mark_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_watermark *mark = &s->u.mark;
    sampi_mix(hash, (uint64_t)mark->what);
    sampi_mix(hash, sampi_mark_derive("sampling.h saved state", mark->key[0]));
    sampi_mix(hash, sampi_bits(mark->alpha));
    sampi_mix(hash, sampi_bits(mark->gamma));
}

/* Saves or loads whether there has been a draw, both counts and the ring. After loading, the table is built again. */
static SAMPI_COLD void sampi_mark_state(sampi_sampler *s, sampi_io *io)
{
    sampi_watermark *mark = &s->u.mark;
    uint32_t count = (uint32_t)sampi_io_int(io, mark->count, 4);
    uint32_t generated = (uint32_t)sampi_io_int(io, mark->generated, 4);
    uint32_t drawn = (uint32_t)sampi_io_int(io, s->now.pending >= 0, 4);
    io->bad |= drawn > 1 || generated > count || generated > count * drawn;
    sampi_io ahead = *io;
    io->bad |= (uint32_t)sampi_io_int(&ahead, mark->ring.size, 4) !=
               (count < mark->ring.cap ? count : mark->ring.cap);
    io->bad |= mark->scope != SAMP_WATERMARK_ONCE_IN_ALL && generated != count;
    sampi_io_ring(io, &mark->ring, sampi_mark_tokens(s));
    if (io->mode != SAMPI_READ) return;
    s->now.pending = drawn ? 0 : -1;
    mark->count = count;
    mark->generated = generated;
    if (!mark->n_slots) return;
    memset(sampi_mark_table(s), 0, mark->n_slots * sizeof(uint32_t));
    uint32_t context[64], places = count < (uint32_t)mark->history ? count : (uint32_t)mark->history;
    for (uint32_t ago = places; ago > 0; ago--) {
        sampi_mark_context(s, ago, context);
        sampi_mark_table(s)[sampi_mark_slot(s, context)] = count - ago + 1;
    }
}
