/* fuzz_text.c - a fuzzer's bytes as a vocabulary, stops, options and a text of samp_text, which is taken back and cloned
   anywhere: what is shown, where it stops and where the stop begins is what a naive twin says
   (tests/support/text_twin.h), however the text is cut into tokens. */
#define SAMPLING_STOP
#define SAMPLING_GRAMMAR
#include "sampling.h"
#include "fuzz.h"
#include "tests/support/text_twin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = source_bytes(data, size);
    const char *wrong = text_walk(&s);
    if (wrong) fprintf(stderr, "%s\n", wrong);
    MUST(!wrong);
    return 0;
}
