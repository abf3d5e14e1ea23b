/* ---- grammars: masks without repeated values ----
   A mask is made as if values might repeat (unique.h). Then the tokens are removed with which an item becomes one that
   came before. Within an item these are below few nodes of the tries: on the way of an earlier item that begins alike.
   Tokens in which an item may begin behind another one are tried. */

/* Lists the tokens in which something other than white space follows a comma: 4 times the token, + 1 if a quote comes
   before the comma, + 2 if a bracket or a brace does. Returns false if there is no memory. */
static bool sampi_grammar_find_commas(sampi_shared *h)
{
    const samp_vocab *vocab = h->index->vocab;
    for (samp_token token = 0; token < vocab->n_vocab && h->grammar->unique; token++) {
        size_t n = 0, i = 0;
        const char *bytes = vocab->token_bytes(vocab, token, &n);
        int32_t before = 0;
        if (!bytes || !(h->index->all[token / 32] >> token % 32 & 1)) continue;
        for (; i < n && bytes[i] != ','; i++)
            before |= bytes[i] == '"' ? 1 : bytes[i] == '[' || bytes[i] == '{' ? 2 : 0;
        while (i < n && sampi_grammar_is_gap((uint8_t)bytes[i])) i++;
        int32_t *room = i < n ? (int32_t *)sampi_grammar_vec_add(&h->commas, sizeof *room, 1) : NULL;
        if (i < n && !room) return false;
        if (room) *room = 4 * token + before;
    }
    return true;
}

/* Removes from `bits` the tokens at the nodes [i, end) of a trie, and below them, with which an item becomes one that
   came before. The item begins at byte `item` of the text and was read up to `state`; it compares as `how` says with
   those whose places are on the stack from index `first` on. */
static void sampi_grammar_remove_repeated(sampi_matcher *m, int32_t state, int32_t item, int how, int32_t first,
                                          uint32_t i, uint32_t end, uint32_t *bits)
{
    const int32_t bottom = m->d.work.n;
    for (uint32_t size; i < end && sampi_grammar_step(&m->d); i += size) {
        const uint8_t byte = (uint8_t)m->index->nodes[2 * (size_t)i];
        const bool gap = m->text.n == item && sampi_grammar_is_gap(byte); /* white space before the item */
        const int32_t next = gap ? state : sampi_grammar_next(m, state, byte);
        size = m->index->nodes[2 * (size_t)i + 1] >> 10;
        if (!next && how == SAMPI_CAME)
            sampi_grammar_set_below(m, i, bits, false); /* the item ends before this byte */
        if (!next) continue;
        if (!gap) sampi_grammar_read_text(m, &byte, 1);
        const int now = m->d.status ? SAMPI_NEW : sampi_grammar_compare_again(m, first, item);
        if (!sampi_grammar_can_differ(m, next, item, now, bottom, SAMPI_DIFFERS_WITHIN))
            sampi_grammar_set_below(m, i, bits, false);
        else if (now != SAMPI_NEW)
            sampi_grammar_remove_repeated(m, next, item, now, bottom, i + 1, i + size, bits);
        m->d.work.n = bottom;
        m->text.n -= !gap;
    }
}

/* Removes from a mask the tokens with which a value would come again in an array where values must differ. */
static void sampi_grammar_mask_repeated(sampi_matcher *m, uint32_t *bits)
{
    const samp_vocab_index *index = m->index;
    bool inside = false, in_string = true;
    for (int32_t i = 1; i < m->frames.n; i++)
        inside |= sampi_grammar_unique_of(m, sampi_grammar_frame_at(m, i)) != SAMPI_UNIQUE_NOT;
    for (int32_t i = 0; i < m->n_now && inside && !m->d.status; i++) {
        const sampi_item now = *sampi_grammar_item_at(m, i);
        const int32_t array = sampi_grammar_array_of(m, now.frame), item = sampi_grammar_frame_at(m, now.frame)->from;
        in_string &= array >= 0 && item < m->text.n && ((const uint8_t *)m->text.data)[item] == '"';
        if (array < 0) continue;
        const int32_t first = m->d.work.n;
        const int how = sampi_grammar_compare_items(m, array, item);
        for (int trie = 0; trie < 2 && how != SAMPI_NEW; trie++)
            sampi_grammar_remove_repeated(m, now.state, item, how, first, 1 + (trie ? index->n_plain : 0),
                                  trie ? index->n_nodes : index->n_plain, bits);
        m->d.work.n = first;
    }
    for (int32_t i = 0; i < m->shared->commas.n && !m->d.status; i++) {
        const int32_t listed = ((const int32_t *)m->shared->commas.data)[i], token = listed / 4;
        const bool may = inside ? !in_string || (listed & 1) : (listed & 2) != 0;
        if (!may || !(bits[token / 32] >> token % 32 & 1)) continue;
        const sampi_level before = sampi_grammar_mark(m);
        if (sampi_matcher_try(m, token, 0) == m->items.n) bits[token / 32] &= ~(1u << token % 32);
        sampi_grammar_drop(m, before);
    }
}
