/* sharers.h - samplers that share a grammar, beside samplers that share nothing: each mask must be that of the other.
   Include it behind the implementation. */
#ifndef SHARERS_H
#define SHARERS_H

#include "tests/support/json_gbnf.h"
#include "tests/support/small_index.h"
#include "tests/support/test.h"

enum { N_SAMPLERS = 3, N_MASK = (N_VOCAB + 31) / 32 };

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
    { SAMP_GRAMMAR_REGEX, "(?:(?:a|b|\\s)*a[abe][abe][abe][abe][abe][abe][abe][abe][abe]|x\\w{3,20}){0,9}(?:xx)?", 1 << 20 },
    { SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" root | root root | [ab1-9]", 1 << 22 },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^(\\\\w+ ){2,30}\\\\w+$\",\"maxLength\":300}",
      1 << 20 },
    { SAMP_GRAMMAR_JSON_SCHEMA,
      "{\"properties\":{\"a\":{\"const\":0},\"b\":{\"const\":1},\"c\":{\"const\":2},\"d\":{\"const\":3},\"e\":{"
      "\"const\":4},\"f\":{\"const\":5},\"g\":{\"const\":6},\"h\":{\"const\":7}},\"additionalProperties\":false}",
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
    size_t limit; /* not 0: the limit of memory changes now and then, from half of this to one and a half */
    uint64_t stream;
    long n_steps, n_full;
    const char *wrong;
} worker;

#define EXPECT(w, condition) ((condition) || ((w)->wrong = #condition, false))

/* A token that may come, never the text's end; -1: there is none. */
static samp_token pick(source *rng, const uint32_t *bits)
{
    samp_token all[N_VOCAB];
    int n = 0;
    for (samp_token t = 1; t < EOG; t++)
        if (bit(bits, t)) all[n++] = t;
    return n ? all[below(rng, (uint64_t)n)] : -1;
}

/* A pair: a sampler of the shared grammar, and one that is alone. They have read the same text. */
typedef struct pair {
    samp_sampler *s, *alone;
    bool lazy;
} pair;

static samp_sampler *sharer(const samp_grammar *g, bool lazy)
{
    static const char *const words[] = { "{", "(", "a", "\"", "x" };
    samp_sampler *s = lazy ? samp_init_grammar_lazy(vocab_index, g, words, TEST_COUNT(words), NULL, 0)
                           : samp_init_grammar(vocab_index, g);
    assert_ok(samp_set_rollback(s, 4));
    return s;
}

static void from_the_beginning(pair *p)
{
    samp_reset(p->s);
    samp_reset(p->alone);
}

/* Whether a call found the shared memory full: then the sampler that is alone must not make this call. */
static bool is_full(worker *w, int64_t status)
{
    w->n_full += status == SAMP_E_FULL;
    return status == SAMP_E_FULL;
}

/* What a call on both samplers says must be the same, unless the shared memory is full. */
static bool same(worker *w, int64_t of_s, int64_t of_alone, const char *call)
{
    if (is_full(w, of_s)) return false;
    if (of_s != of_alone || of_s == SAMP_E_NOMEM) w->wrong = call;
    return !w->wrong;
}

/* One token: its mask, the same of both, and the token accepted by both. Now and then masks are made ahead before. */
static void step(worker *w, source *rng, pair *p)
{
    uint32_t bits[2][N_MASK];
    if (below(rng, 8) == 0 && !EXPECT(w, samp_grammar_warm(vocab_index, w->g, 1 + (int64_t)below(rng, 2000)) >= 0))
        return;
    for (uint64_t n = below(rng, 3) ? 0 : below(rng, 4); n > 0; n--) {
        const int done = samp_grammar_prepare(p->s, 1 + (int64_t)below(rng, 300));
        if (!EXPECT(w, done == 0 || done == 1 || done == SAMP_E_FULL)) return;
    }
    if (!same(w, samp_grammar_mask(p->s, bits[0]), SAMP_OK, "mask")) {
        from_the_beginning(p); /* the text has grown too long for the limit */
        return;
    }
    if (!EXPECT(w, samp_grammar_mask(p->alone, bits[1]) == SAMP_OK)) return;
    if (!EXPECT(w, !memcmp(bits[0], bits[1], sizeof bits[0]))) return;
    const samp_token token = pick(rng, bits[0]);
    if (token < 0 || below(rng, 90) == 0) {
        from_the_beginning(p);
        return;
    }
    const int accepted = samp_accept(p->s, token);
    if (is_full(w, accepted)) return;
    if (!p->lazy) EXPECT(w, accepted == SAMP_OK);
    if (!same(w, accepted, samp_accept(p->alone, token), "accept")) return;
    same(w, samp_grammar_is_complete(p->s), samp_grammar_is_complete(p->alone), "is complete");
}

/* The text that must come, and drafts of it. */
static void forced(worker *w, source *rng, pair *p)
{
    enum { MOST = 40 };
    char bytes[2][MOST] = { { 0 } };
    samp_token tokens[2][MOST] = { { 0 } };
    const uint64_t which = below(rng, 3);
    int64_t n[2];
    for (int i = 0; i < 2; i++) {
        samp_sampler *s = i ? p->alone : p->s;
        n[i] = which == 0   ? samp_grammar_forced(s, bytes[i], MOST)
               : which == 1 ? samp_grammar_draft(s, tokens[i], MOST)
                            : samp_grammar_certain(s, tokens[i], MOST);
    }
    if (!same(w, n[0], n[1], "forced")) return;
    const size_t known = n[0] < 0 ? 0 : n[0] < MOST ? (size_t)n[0] : MOST;
    EXPECT(w, !memcmp(bytes[0], bytes[1], which ? 0 : known));
    EXPECT(w, !memcmp(tokens[0], tokens[1], which ? known * sizeof tokens[0][0] : 0));
}

/* A token as llama.cpp's programs draw it: at first without the grammar. */
static void sample(worker *w, source *rng, pair *p)
{
    float logits[N_VOCAB];
    samp_sampler *chain = samp_init_greedy();
    for (int i = 0; i < N_VOCAB; i++) logits[i] = i == 0 || i >= EOG ? -INFINITY : (float)coarse(rng);
    const samp_token token = samp_grammar_sample(chain, p->s, logits, N_VOCAB);
    if (!is_full(w, token)) same(w, token, samp_grammar_sample(chain, p->alone, logits, N_VOCAB), "sample");
    samp_free(chain);
}

/* Another sampler continues the text, from saved bytes or as a clone. */
static void replaced(worker *w, source *rng, pair *p)
{
    samp_sampler *other;
    if (below(rng, 2)) {
        other = samp_clone(p->s);
        if (!EXPECT(w, other != NULL)) return;
    } else {
        uint8_t bytes[4096];
        const size_t size = samp_state_size(p->s);
        if (size > sizeof bytes) return;
        if (!EXPECT(w, samp_state_save(p->s, bytes, sizeof bytes) == SAMP_OK)) return;
        other = sharer(w->g, p->lazy);
        if (!same(w, samp_state_load(other, bytes, size), SAMP_OK, "load")) {
            samp_free(other);
            return;
        }
    }
    samp_free(p->s);
    p->s = other;
}

/* Back by some tokens. A way back may have been given up for want of memory, in one of them. */
static void back(source *rng, pair *p)
{
    const int32_t n = 1 + (int32_t)below(rng, 3);
    if (samp_rollback(p->s, n) == SAMP_OK && samp_rollback(p->alone, n) != SAMP_OK) from_the_beginning(p);
}

static void *work(void *arg)
{
    worker *w = (worker *)arg;
    source rng = source_stream(w->stream);
    pair pairs[N_SAMPLERS];
    for (int i = 0; i < N_SAMPLERS; i++) {
        const pair one = { sharer(w->g, i == 0), sharer(w->own, i == 0), i == 0 };
        pairs[i] = one;
    }
    for (long n = 0; n < w->n_steps && !w->wrong; n++) {
        pair *p = &pairs[below(&rng, N_SAMPLERS)];
        step(w, &rng, p);
        if (below(&rng, 20) == 0) forced(w, &rng, p);
        if (below(&rng, 20) == 0) sample(w, &rng, p);
        if (below(&rng, 20) == 0) back(&rng, p);
        if (below(&rng, 40) == 0) replaced(w, &rng, p);
        if (w->limit && below(&rng, 100) == 0)
            EXPECT(w, samp_set_grammar_limits(p->s, w->limit / 2 + below(&rng, w->limit), 1 << 24) == SAMP_OK);
    }
    for (int i = 0; i < N_SAMPLERS; i++) samp_free(pairs[i].s), samp_free(pairs[i].alone);
    return NULL;
}

#endif /* SHARERS_H */
