/* fuzz_grammar_saved.c - bytes that were saved once and have been changed since: a matcher's state, or an index of the
   vocabulary. A fuzzer's bytes are the changes: where, and what stands there now. The checksum is made right again for
   most of them, so that what is behind it is tried. What is taken is used. */
#include "fuzz_grammar.h"

static const char grammar_text[] =
    "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"\\\"\" [^\"]* \"\\\"\" | "
    "[0-9]{1,3} | \"a\" item \"b\"";

static const samp_grammar *grammar(void)
{
    static samp_grammar *g;
    if (!g) g = samp_grammar_init(SAMP_GRAMMAR_GBNF, grammar_text, NULL, NULL);
    MUST(g);
    return g;
}

/* Up to 8 places of the bytes get other values: small ones often, for they are counts. */
static void change(source *s, uint8_t *bytes, size_t size)
{
    for (size_t n = 1 + below(s, 8); n > 0; n--) {
        size_t at = (size_t)below(s, 1 << 16) % size, width = (size_t)1 << below(s, 3);
        uint32_t value = (uint32_t)choose(s, (int)width);
        if (below(s, 2)) at = at / 4 * 4;
        for (size_t i = 0; i < width && at + i < size; i++) bytes[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static void fuzz_state(source *s)
{
    samp_sampler *from = fuzz_sampler(fuzz_index(), grammar()), *to = fuzz_sampler(fuzz_index(), grammar());
    uint8_t bytes[1024];
    MUST(from && to);
    fuzz_walk(from, s, 6);
    size_t size = samp_state_size(from);
    MUST(size > 24 && size <= sizeof bytes);
    MUST(samp_state_save(from, bytes, size) == SAMP_OK);
    change(s, bytes, size);
    if (below(s, 8) == 0) size = (size_t)below(s, size);
    if (size >= 8 && below(s, 8)) {
        uint64_t sum = inside_checksum(bytes, size - 8);
        for (size_t i = 0; i < 8; i++) bytes[size - 8 + i] = (uint8_t)(sum >> 8 * i);
    }
    int status = samp_state_load(to, bytes, size);
    MUST(status == SAMP_OK || status == SAMP_E_FORMAT || status == SAMP_E_FULL);
    fuzz_walk(to, s, 4);
    samp_free(from);
    samp_free(to);
}

static void fuzz_vocabulary(source *s)
{
    size_t size = samp_vocab_index_size(fuzz_index());
    uint32_t *words = (uint32_t *)malloc(size); /* as large as it says: what reads behind it is seen */
    int status;
    MUST(words && samp_vocab_index_save(fuzz_index(), words, size) == SAMP_OK);
    change(s, (uint8_t *)words, size);
    if (below(s, 8)) {
        uint64_t sum = inside_index_checksum(words, size);
        words[4] = (uint32_t)sum;
        words[5] = (uint32_t)(sum >> 32);
    }
    samp_vocab_index *index = samp_vocab_index_map(&small_vocabulary, words, size, &status);
    MUST(index ? status == SAMP_OK : status == SAMP_E_FORMAT);
    samp_sampler *matcher = index ? fuzz_sampler(index, grammar()) : NULL;
    for (int i = 0; matcher && i < 6; i++) { /* a trie that says something else than the tokens' bytes is no error */
        uint32_t bits[N_MASK];
        status = samp_grammar_mask(matcher, bits);
        MUST(status == SAMP_OK || status == SAMP_E_FULL);
        status = samp_accept(matcher, (samp_token)below(s, N_VOCAB));
        MUST(status == SAMP_OK || status == SAMP_E_FULL || status == SAMP_E_RANGE);
    }
    samp_free(matcher);
    samp_vocab_index_free(index);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = source_bytes(data, size);
    if (below(&s, 2))
        fuzz_vocabulary(&s);
    else
        fuzz_state(&s);
    return 0;
}
