/* ---- grammars: texts of a number of tokens ----
   A rule may have a bound on the tokens with which its text is written (any_text's max_tokens): those that have a byte
   of it. Which bytes may follow does not depend on it, so states and entries do not either. A call of such a rule notes
   its first token, and where a token ends, the items are dropped whose calls have no token left. A text of such a rule
   may end behind each character, so what remains goes on behind the call. */

/* Returns how many tokens a call has left behind the first `n` tokens of the text. */
static int32_t sampi_grammar_tokens_left(const sampi_matcher *m, int32_t frame, int32_t n)
{
    const sampi_frame *f = sampi_grammar_frame_at(m, frame);
    const int32_t most = frame ? sampi_grammar_rule_at(&m->d.tree, f->rule)->tokens : 0;
    return most ? most - (n - f->token) : INT32_MAX;
}

/* Drops the items from index `first` on whose calls have no token left behind the present one. */
static void sampi_grammar_drop_spent(sampi_matcher *m, int32_t first)
{
    int32_t kept = first;
    for (int32_t i = first; i < m->items.n && m->grammar->counted; i++) {
        const sampi_item item = *sampi_grammar_item_at(m, i);
        if (sampi_grammar_tokens_left(m, item.frame, m->history.n + 1) <= 0) continue;
        *sampi_grammar_item_at(m, kept++) = item;
    }
    if (m->grammar->counted) m->items.n = kept;
}

/* Returns whether a text ends within a character of UTF-8, or is only the end of one. */
static bool sampi_grammar_is_cut(const uint8_t *bytes, size_t n)
{
    size_t behind = 0;
    while (behind < n && behind < 3 && (bytes[n - 1 - behind] & 0xc0) == 0x80) behind++;
    if (behind == n) return n > 0;
    const uint8_t lead = bytes[n - 1 - behind];
    return behind != (lead >= 0xf0 ? 3u : lead >= 0xe0 ? 2u : lead >= 0xc0 ? 1u : 0u);
}

/* Removes from a mask the tokens that would be the last one of a call, and end within a character, if nothing else
   allows them. */
static void sampi_grammar_mask_spent(sampi_matcher *m, uint32_t *bits)
{
    const samp_vocab *vocab = m->index->vocab;
    bool last = false;
    for (int32_t i = 0; i < m->n_now; i++)
        last |= sampi_grammar_tokens_left(m, sampi_grammar_item_at(m, i)->frame, m->history.n) == 1;
    /* a call that begins within a token has it as its first one */
    for (int32_t i = 0; i < m->grammar->tree.rules.n; i++)
        last |= sampi_grammar_rule_at(&m->grammar->tree, i)->tokens == 1;
    for (uint32_t word = 0; word < m->index->n_mask && last; word++) {
        uint32_t left = bits[word] & ~m->index->plain[word];
        for (samp_token token = (samp_token)(32 * word); left && !m->d.status; token++, left >>= 1) {
            size_t n = 0;
            const void *bytes = left & 1 ? vocab->token_bytes(vocab, token, &n) : NULL;
            if (!bytes || !sampi_grammar_is_cut((const uint8_t *)bytes, n)) continue;
            const sampi_level before = sampi_grammar_mark(m);
            if (sampi_matcher_try(m, token, 0) == m->items.n) bits[word] &= ~(1u << token % 32);
            sampi_grammar_drop(m, before);
        }
    }
}
