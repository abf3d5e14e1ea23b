/* fuzz_chain.c - a libFuzzer target: bytes become a chain, its past and rows of logits, which the definition
   and samp_sample play with every instruction set; a difference aborts. Build and run:

     clang -g -O1 -std=c11 -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_chain.c -o build/fuzz_chain -lm
     build/fuzz_chain -max_total_time=60 build/corpus tests/fuzz/corpus/chain

   With driver.c instead of libFuzzer it replays files or random bytes. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_GUMBEL
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"

enum { FUZZ_LONGEST = 700, FUZZ_STEPS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static player p;
    source s = source_bytes(data, size);
    if (!p.work) {
        real_rows_load(REAL_ROWS_PATH);
        if (!player_make(&p, isa_all(), FUZZ_LONGEST)) abort();
    }
    size_t n = make_length(&s, FUZZ_LONGEST);
    p.report_len = 0;
    if (play(&p, &s, n, FUZZ_STEPS)) return 0;
    fputs(p.report, stderr);
    abort();
}
