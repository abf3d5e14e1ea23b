/* sharers.h - samplers that share a grammar, beside samplers that share nothing: each mask must be that of the other.
   Include it behind the implementation. */
#ifndef SHARERS_H
#define SHARERS_H

#include "tests/support/json_gbnf.h"
#include "tests/support/small_vocabulary.h"
#include "tests/support/test.h"

enum { N_SAMPLERS = 3, N_MASK = (N_VOCAB + 31) / 32 };

static samp_vocab_index *vocab_index;

static int make_index(void **state)
{
    (void)state;
    return !(vocab_index = samp_vocab_index_init(&small_vocabulary, NULL));
}

static int free_index(void **state)
{
    (void)state;
    samp_vocab_index_free(vocab_index);
    return 0;
}

static const struct {
    samp_grammar_kind kind;
    const char *text;
    size_t limit; /* 0: as it is */
} shared[] = {
    { SAMP_GRAMMAR_GBNF, JSON_GBNF, 0 },
    { SAMP_GRAMMAR_GBNF, JSON_GBNF, 3 << 17 },
    { SAMP_GRAMMAR_JSON_SCHEMA,
      "{\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120},\"ab\":{\"enum\":[\"the\",null,2]"
      "},"
      "\"the\":{\"items\":{\"$ref\":\"#\"}}},\"additionalProperties\":{\"type\":\"string\",\"maxLength\":40}}",
      0 },
    { SAMP_GRAMMAR_REGEX, "(?:(?:a|b|\\s)*a(?:a|b|e){7}|x\\w{3,20}){0,9}(?:xx)?", 1 << 20 },
    { SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" root | root root | [ab1-9]", 1 << 22 },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^(\\\\w+ ){2,30}\\\\w+$\",\"maxLength\":300}",
      1 << 20 },
};

static samp_grammar *grammar_of(size_t i)
{
    samp_grammar_error error;
    samp_grammar *g = samp_grammar_init(shared[i].kind, shared[i].text, NULL, &error);
    if (!g) test_fail(__FILE__, __LINE__, "%s: %s", shared[i].text, error.message);
    return g;
}

/* One thread: samplers of the shared grammar, and beside each one that is alone with a grammar of its own. */
typedef struct worker {
    samp_grammar *g, *own;
    uint64_t stream;
    long n_steps, n_full;
    const char *wrong;
} worker;

#define EXPECT(w, condition) ((condition) || ((w)->wrong = #condition, false))

/* A token that may come, the text's end rarely; -1: there is none. */
static samp_token pick(source *rng, const uint32_t *bits)
{
    samp_token all[N_VOCAB];
    int n = 0;
    for (samp_token t = 1; t < EOG; t++)
        if (bit(bits, t)) all[n++] = t;
    return n ? all[below(rng, (uint64_t)n)] : -1;
}

static void step(worker *w, source *rng, samp_sampler **s, samp_sampler *alone)
{
    uint32_t bits[2][N_MASK];
    for (uint64_t n = below(rng, 3) ? 0 : below(rng, 4); n > 0; n--) {
        const int done = samp_grammar_prepare(*s, 1 + (int64_t)below(rng, 300));
        if (!EXPECT(w, done == 0 || done == 1 || done == SAMP_E_FULL)) return;
    }
    const int status = samp_grammar_mask(*s, bits[0]);
    if (status == SAMP_E_FULL) { /* of a text that has grown too long for the limit: from the beginning */
        w->n_full++;
        samp_reset(*s);
        samp_reset(alone);
        return;
    }
    if (!EXPECT(w, status == SAMP_OK && samp_grammar_mask(alone, bits[1]) == SAMP_OK)) return;
    if (!EXPECT(w, !memcmp(bits[0], bits[1], sizeof bits[0]))) return;
    const samp_token token = pick(rng, bits[0]);
    if (token < 0 || below(rng, 90) == 0) {
        samp_reset(*s);
        samp_reset(alone);
    } else {
        const int accepted = samp_accept(*s, token);
        if (accepted == SAMP_E_FULL) w->n_full++;
        if (accepted == SAMP_E_FULL) return;
        EXPECT(w, accepted == SAMP_OK && samp_accept(alone, token) == SAMP_OK);
        EXPECT(w, samp_grammar_is_complete(*s) == samp_grammar_is_complete(alone));
    }
    if (below(rng, 40) == 0) { /* a way back may have been given up for want of room, in one of them */
        const int32_t n = 1 + (int32_t)below(rng, 3);
        if (samp_rollback(*s, n) == SAMP_OK) {
            if (samp_rollback(alone, n) != SAMP_OK) samp_reset(*s), samp_reset(alone);
        }
    }
    if (below(rng, 60) == 0) {
        samp_sampler *clone = samp_clone(*s);
        if (EXPECT(w, clone != NULL)) samp_free(*s), *s = clone;
    }
}

static void *work(void *arg)
{
    worker *w = (worker *)arg;
    source rng = source_stream(w->stream);
    samp_sampler *s[N_SAMPLERS], *alone[N_SAMPLERS];
    for (int i = 0; i < N_SAMPLERS; i++) {
        s[i] = samp_init_grammar(vocab_index, w->g);
        alone[i] = samp_init_grammar(vocab_index, w->own);
    }
    for (long n = 0; n < w->n_steps && !w->wrong; n++) {
        const uint64_t i = below(&rng, N_SAMPLERS);
        step(w, &rng, &s[i], alone[i]);
    }
    for (int i = 0; i < N_SAMPLERS; i++) samp_free(s[i]), samp_free(alone[i]);
    return NULL;
}

#endif /* SHARERS_H */
