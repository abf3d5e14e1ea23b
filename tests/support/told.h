/* told.h - requests for what a draw tells beside its token's log-probability: log-probabilities of given tokens, the support.
   Memory for a row's request, and what is written there compared with another executor's. Include after sampling.h and
   source.h. */
#ifndef TOLD_H
#define TOLD_H

#include <stdbool.h>
#include <string.h>

#include "source.h"

enum { TOLD_IDS = 5, TOLD_ROOM = 400 };

typedef struct told {
    samp_token ids[2][TOLD_IDS], tokens[TOLD_ROOM];
    float given[2][TOLD_IDS], logprobs[TOLD_ROOM];
    samp_support support;
} told;

/* A request of a row with n tokens, in lp; the same for the same numbers of the source. All memory is poisoned. */
static inline void told_ask(told *t, samp_logprobs *lp, source from, size_t n)
{
    memset(t, 0xA5, sizeof *t);
    for (int k = 0; k < 2; k++) {
        samp_logprob_set *set = k ? &lp->processed : &lp->raw;
        set->n_ids = n && percent(&from, 60) ? (int32_t)below(&from, TOLD_IDS + 1) : 0;
        for (int32_t i = 0; i < set->n_ids; i++) t->ids[k][i] = (samp_token)below(&from, percent(&from, 30) && n > 9 ? 9 : n);
        set->ids = set->n_ids ? t->ids[k] : NULL;
        set->id_logprobs = set->n_ids ? t->given[k] : NULL;
        set->entropy = -7.0f;
    }
    const size_t most = percent(&from, 30) ? 12 : TOLD_ROOM + 1;
    t->support = (samp_support){ t->tokens, percent(&from, 70) ? t->logprobs : NULL, below(&from, most), 777, -7.0 };
    lp->support = percent(&from, 70) ? &t->support : NULL;
}

static inline bool told_same_bits(const void *a, const void *b, size_t size) { return !memcmp(a, b, size); }

/* Did two executors write the same? Nothing of the arrays is written that is not asked for. */
static inline bool told_same(const told *a, const told *b, const samp_logprobs *x, const samp_logprobs *y)
{
    bool same = told_same_bits(&x->raw.entropy, &y->raw.entropy, sizeof(float)) &&
                told_same_bits(&x->processed.entropy, &y->processed.entropy, sizeof(float)) &&
                told_same_bits(a->given, b->given, sizeof a->given) &&
                told_same_bits(a->tokens, b->tokens, sizeof a->tokens) &&
                told_same_bits(a->logprobs, b->logprobs, sizeof a->logprobs);
    return same && a->support.n == b->support.n && told_same_bits(&a->support.mass, &b->support.mass, sizeof(double));
}

/* Is nothing written? */
static inline bool told_untouched(const told *t, const samp_logprobs *lp)
{
    bool same = lp->raw.entropy == -7.0f && lp->processed.entropy == -7.0f && t->support.n == 777 && t->support.mass == -7.0;
    for (size_t i = 0; same && i < sizeof t->tokens; i++) same = ((const unsigned char *)t->tokens)[i] == 0xA5;
    for (size_t i = 0; same && i < sizeof t->logprobs; i++) same = ((const unsigned char *)t->logprobs)[i] == 0xA5;
    for (size_t i = 0; same && i < sizeof t->given; i++) same = ((const unsigned char *)t->given)[i] == 0xA5;
    return same;
}

#endif /* TOLD_H */
