/* src/drafts/README, drafts from the text itself: a model that repeats a verse needs fewer steps than tokens. */
#include "readme.h"

enum { VERSE = 12 };
static samp_token text[200];
static size_t length;
static int steps;
static bool done;

/* Row i says what follows the text and the first i tokens of the draft: the verse, over and over. */
static void decode(samp_token last, const samp_token *guess, size_t n, float *logits)
{
    require(length == 0 || last == text[length - 1]);
    (void)guess;
    for (size_t r = 0; r <= n; r++)
        for (size_t i = 0; i < VERSE; i++) logits[r * VERSE + i] = i == (length + r) % VERSE ? 9.0f : 0.0f;
    steps++;
}

int main(void)
{
    const samp_token prompt[] = { 7, 8, 9, 10, 11 };
    const size_t n_prompt = 5, n_vocab = VERSE;
    samp_token guess[8], out[9], last = prompt[4];
    float logits[9 * VERSE];
    samp_sampler *chain = greedy();
#include "ngram.h"
    for (size_t i = 0; i < length; i++) require(text[i] == (samp_token)(i % VERSE));
    require(length >= 100 && steps < 40);
    samp_ngram_free(ngram);
    samp_free(chain);
    return 0;
}
