/* tokens.c - what every binding of this folder must print, by samp_params itself: 60 tokens of a chain with most that
   can be set, and what is said of bad texts. */
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include <stdio.h>

enum { N_VOCAB = 12, N_TOKENS = 60 };

static const char *token_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char letters[] = "abcd";
    (void)vocab;
    *n_bytes = 1;
    return &letters[token % 4];
}

int main(void)
{
    static const char *const breakers[] = { "b", "\n", NULL };
    static const samp_logit_bias bias[] = { { 7, 2.5f }, { 9, -INFINITY } };
    samp_vocab vocab = { .n_vocab = N_VOCAB, .token_bytes = token_bytes, .eos = -1, .eot = -1 };
    samp_params p = samp_default_params();
    float logits[N_VOCAB];
    p.seed = 18446744073709551615u;
    p.top_k = 100;
    p.top_p = 0.9f;
    p.temp = 1.1f;
    p.penalty_repeat = 1.2f;
    p.dry_multiplier = 0.8f;
    p.dry_breakers = breakers;
    p.logit_bias = bias;
    p.n_logit_bias = 2;
    p.n_vocab = N_VOCAB;
    p.vocab = &vocab;
    p.order = SAMP_ORDER_CANONICAL;
    samp_sampler *chain = samp_chain_from_params(&p, NULL);
    for (int step = 0; step < N_TOKENS; step++) {
        for (int i = 0; i < N_VOCAB; i++) logits[i] = (float)((i * 7919 + step * 10007) % 1000 / 400.0);
        printf("%d\n", (int)samp_sample(chain, logits, N_VOCAB));
    }
    samp_free(chain);
    static const struct {
        int status;
        const char *field;
    } bad[] = {
        { SAMP_E_FORMAT, "temp" }, { SAMP_E_RANGE, "top_k" }, { SAMP_E_NAME, "no_such" }, { SAMP_E_RANGE, "top_p" }
    };
    for (int i = 0; i < 4; i++) {
        char text[400];
        samp_error_text(bad[i].status, bad[i].field, text, sizeof text);
        printf("%s\n", text);
    }
    printf("1.1, a number in (0, 1]\n");
    return 0;
}
