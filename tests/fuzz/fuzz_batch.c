/* fuzz_batch.c - a fuzzer's bytes as batches: chains that come and go, rows of any dtype, masks, strides, indexes,
   log-probabilities. Each row must get what it would get alone, as test_batch.c says, of whose parts this is made. */
#pragma GCC diagnostic ignored "-Wunused-function"
#define SAMP_TEST_PLAIN
#define SAMP_TEST_PARTS
#include "tests/unit/test_batch.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static world w;
    static bool made;
    if (!made && !world_make(&w)) abort();
    made = true;
    if (!play_case(&w, source_bytes(data, size), 400)) abort();
    return 0;
}
