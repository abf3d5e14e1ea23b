/* README, the loop: what is said up to the stop is written. */
#include "readme.h"

static const char said[] = "caf\xc3\xa9##";
static int at;

static void model(samp_token token, float *logits)
{
    at += token >= 0;
    for (int i = 0; i < BYTES; i++) logits[i] = i == (unsigned char)said[at];
}

int main(void)
{
    enum { n_vocab = BYTES };
    static const char *const stops[] = { "##" };
    const size_t n_stops = 1;
    float logits[BYTES];
    samp_token token;
    int status;
    size_t n;
    const char *out;
    samp_vocab vocab = bytes_vocab();
    samp_sampler *chain = greedy();
    model(-1, logits);
    FILE *written = tmpfile();
    require(written);
#undef stdout
#define stdout written
#include "loop.h"
    char shown[20] = "";
    rewind(written);
    require(fread(shown, 1, sizeof shown - 1, written) == 5 && !strcmp(shown, "caf\xc3\xa9"));
    require(status == SAMP_OK && samp_text_stop(text) == 0);
    samp_text_free(text);
    samp_free(chain);
    fclose(written);
    return 0;
}
