/* src/vocab/README: a vocabulary from either file. */
#define SAMPLING_VOCAB
#include "readme.h"

int main(void)
{
    const char *file = "{\"model\": {\"vocab\": {\"\\u0120a\": 0}}, \"decoder\": {\"type\": \"ByteLevel\"}}";
    const size_t size = strlen(file);
#include "vocab.h"
    size_t n;
    require(vocab && vocab->n_vocab == 1 && memcmp(vocab->token_bytes(vocab, 0, &n), " a", 2) == 0 && n == 2);
    samp_vocab_free(vocab);
    return 0;
}
