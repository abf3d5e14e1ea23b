/* src/constraints/README, constraints: greedy would say the last byte for ever, and end at once. */
#include "readme.h"

int main(void)
{
    const char *const strings[] = { "\xff\xff\xff", "\xff\xfe" };
    size_t n = BYTES, length = 0;
    float logits[BYTES];
    samp_token text[60];
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = samp_chain_init(), *usual = greedy();
    rising(logits);
#include "constraints.h"
    require(length == 20);
    for (size_t i = 0; i + 1 < length; i++) {
        require(text[i] != 0xff || text[i + 1] != 0xfe);
        require(i + 2 >= length || text[i] != 0xff || text[i + 1] != 0xff || text[i + 2] != 0xff);
    }
    samp_free(chain);
    return 0;
}
