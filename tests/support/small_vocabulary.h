/* small_vocabulary.h - all bytes, words of grammars and of JSON behind them, parts of characters, and a token that ends the
   text: what grammars are tried with. Include it behind the implementation. */
#ifndef SMALL_VOCABULARY_H
#define SMALL_VOCABULARY_H

#include <string.h>

static const char *const small_words[] = { "ab",           "abc",  "aab", "the", "and",      " the",         " of",
                                           "xx",           "((",   "12",  "1+",  "\xc3\xa9", "\xe2\x82\xac", "\xe2",
                                           "\xf0\x9f\x98", "tru",  "}}",  "\":", "\",\"",    "{\"a\":",      "\"a",
                                           "]}",           "null", "0.",  "10",  "[1,\"a\"", ", ",           "\\u00",
                                           "\n",           "-1",   "e",   "a\",\"a\"", ",1,",  "[1,1",       "1,0]",
                                           "\"\",\"\"" };
enum { N_WORDS = sizeof small_words / sizeof *small_words, EOG = 256 + N_WORDS, N_VOCAB };

#define BYTES_4(i)  i, i + 1, i + 2, i + 3
#define BYTES_16(i) BYTES_4(i), BYTES_4(i + 4), BYTES_4(i + 8), BYTES_4(i + 12)
#define BYTES_64(i) BYTES_16(i), BYTES_16(i + 16), BYTES_16(i + 32), BYTES_16(i + 48)

static const char *token_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static const unsigned char byte[256] = { BYTES_64(0), BYTES_64(64), BYTES_64(128), BYTES_64(192) };
    (void)vocab;
    *n = 0;
    if (token >= EOG) return "";
    if (token >= 256) {
        *n = strlen(small_words[token - 256]);
        return small_words[token - 256];
    }
    *n = 1;
    return (const char *)&byte[token];
}

static const samp_token eog_tokens[] = { EOG };
static const samp_vocab small_vocabulary = { N_VOCAB, token_bytes, NULL, NULL, eog_tokens, 1, EOG, -1 };

static inline bool bit(const uint32_t *bits, samp_token token) { return bits[token / 32] >> token % 32 & 1; }

#endif /* SMALL_VOCABULARY_H */
