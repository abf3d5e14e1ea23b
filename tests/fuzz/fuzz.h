/* fuzz.h - what the fuzzers share: a check that aborts, and bytes that get damaged. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/source.h"

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A place among the first ones, of 1, 2, 4 ... bytes (so many widths), gets another value: small ones often, for they are
   counts. */
static inline void fuzz_overwrite(source *s, unsigned char *bytes, size_t size, size_t first, size_t n_widths)
{
    size_t at = (size_t)below(s, 1 << 16) % first, width = (size_t)1 << below(s, n_widths);
    uint64_t value = choose(s, (int)width);
    if (below(s, 2)) at = at / 4 * 4;
    for (size_t i = 0; i < width && at + i < size; i++) bytes[at + i] = (unsigned char)(value >> 8 * i);
}

/* Up to 8 places get other values; the end may be cut off. The checksum behind
   them, 8 bytes as inside_checksum gives it, is mostly right again. Returns the size. */
static inline size_t fuzz_damage(source *s, unsigned char *bytes, size_t size,
                                 uint64_t (*checksum)(const void *bytes, size_t n))
{
    for (size_t n = 1 + below(s, 8); n > 0 && size > 0; n--) fuzz_overwrite(s, bytes, size, size, 3);
    if (below(s, 8) == 0) size = (size_t)below(s, size + 1);
    if (size >= 8 && below(s, 8)) {
        uint64_t sum = checksum(bytes, size - 8);
        for (size_t i = 0; i < 8; i++) bytes[size - 8 + i] = (unsigned char)(sum >> 8 * i);
    }
    return size;
}

#endif /* FUZZ_H */
