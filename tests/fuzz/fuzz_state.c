/* fuzz_state.c - what a chain has become, as bytes that were changed since (a fuzzer's bytes say where, and what stands
   there now), loaded into a chain like it. It is refused, and nothing has changed, or it is taken, and the chain is one
   that samples, saves the same bytes again, and goes on as a clone of it does. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "fuzz.h"

enum { N = 80, ROOM = 1 << 18 };

static unsigned char saved[ROOM], again[ROOM];

static void check_loaded(samp_sampler *s, source *rng, size_t size)
{
    float row[N];
    MUST(samp_state_size(s) == size && samp_state_save(s, again, size) == SAMP_OK);
    MUST(memcmp(saved, again, size) == 0);
    samp_sampler *copy = samp_clone(s);
    for (int i = 0; i < 4; i++) {
        make_row(rng, row, N);
        samp_token token = samp_sample(s, row, N);
        MUST(token < N && token == samp_sample(copy, row, N));
        MUST(token < 0 || row[token] >= -FLT_MAX || token == hole_vocab.eos ||
             token == hole_vocab.eot || /* infill takes that even if masked, a replay any token */
             sampi_row_selector((sampi_sampler *)s)->kind == SAMPI_REPLAY);
    }
    samp_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = source_bytes(data, size);
    float row[N];
    samp_sampler *chain = make_chain(&s, N), *other = samp_clone(chain);
    for (uint64_t n = below(&s, 6); n > 0; n--) {
        make_row(&s, row, N);
        samp_sample(chain, row, N);
        if (below(&s, 2)) samp_accept(chain, (samp_token)below(&s, N));
    }
    size_t n_bytes = samp_state_size(chain);
    if (n_bytes > 0 && n_bytes <= ROOM) {
        MUST(samp_state_save(chain, saved, n_bytes) == SAMP_OK);
        samp_sampler *before = samp_clone(other);
        n_bytes = fuzz_damage(&s, saved, n_bytes, sampi_checksum);
        int status = samp_state_load(other, saved, n_bytes);
        MUST(status == SAMP_OK || status == SAMP_E_FORMAT);
        if (status)
            MUST(same_state(other, before));
        else
            check_loaded(other, &s, n_bytes);
        samp_free(before);
    }
    samp_free(chain);
    samp_free(other);
    return 0;
}
