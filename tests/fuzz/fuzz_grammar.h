/* fuzz_grammar.h - what the fuzzers of grammars share: a walk through a grammar that checks each step. What must hold,
   or it aborts:
     - every call gives SAMP_OK or a status that its comment names
     - a token that the mask has is accepted, any other one is not
     - a clone, and what is loaded from saved bytes, have the same mask
   All with small limits, so that a case is fast. */
#ifndef FUZZ_GRAMMAR_H
#define FUZZ_GRAMMAR_H

#define SAMPLING_GRAMMAR
#include "sampling.h"

#include "tests/support/inside.h"
#include "tests/support/random_grammar.h"
#include "tests/support/small_vocabulary.h"
#include "fuzz.h"

enum { N_MASK = (N_VOCAB + 31) / 32 };

/* The index of all cases, made at the first. */
static const samp_vocab_index *fuzz_index(void)
{
    static samp_vocab_index *index;
    if (!index) index = samp_vocab_index_init(&small_vocabulary, NULL);
    MUST(index);
    return index;
}

static samp_sampler *fuzz_sampler(const samp_vocab_index *index, const samp_grammar *g)
{
    samp_sampler *s = samp_init_grammar(index, g);
    MUST(s);
    int status = samp_status(s, NULL);
    MUST(status == SAMP_OK || status == SAMP_E_FULL || status == SAMP_E_RANGE);
    if (status == SAMP_OK) {
        MUST(samp_set_grammar_limits(s, 1 << 18, 1 << 15) == SAMP_OK);
        return s;
    }
    samp_free(s);
    return NULL;
}

/* A token by itself and as a step: both say what the mask says, unless a limit is in the way. */
static void fuzz_token(samp_sampler *s, const uint32_t *bits, samp_token token)
{
    int allowed = inside_allows(s, token);
    MUST(allowed == SAMP_E_FULL || allowed == bit(bits, token));
}

static void fuzz_same_mask(samp_sampler *other, const uint32_t *bits)
{
    uint32_t theirs[N_MASK];
    MUST(other);
    int status = samp_grammar_mask(other, theirs);
    MUST(status == SAMP_OK || status == SAMP_E_FULL);
    MUST(status == SAMP_E_FULL || memcmp(bits, theirs, sizeof theirs) == 0);
    samp_free(other);
}

static samp_sampler *fuzz_reload(samp_sampler *s)
{
    size_t size = samp_state_size(s);
    void *bytes = malloc(size + 1);
    samp_sampler *copy = samp_clone(s);
    MUST(bytes && copy && size > 0);
    MUST(samp_state_save(s, bytes, size) == SAMP_OK);
    samp_reset(copy);
    int status = samp_state_load(copy, bytes, size);
    free(bytes);
    if (status == SAMP_OK) return copy;
    MUST(status == SAMP_E_FULL); /* a limit was in the way of reading its tokens */
    samp_free(copy);
    return NULL;
}

/* One place: the mask, some tokens by themselves, what is forced; a copy now and then. False: a limit was reached. */
static bool fuzz_place(samp_sampler *s, source *rng, uint32_t *bits)
{
    const int prepared = below(rng, 2) ? 0 : samp_grammar_prepare(s, 1 + (int64_t)below(rng, 2000));
    MUST(prepared == 0 || prepared == 1 || prepared == SAMP_E_FULL);
    int status = samp_grammar_mask(s, bits);
    MUST(status == SAMP_OK || status == SAMP_E_FULL);
    if (status) return false;
    int complete = samp_grammar_is_complete(s);
    MUST(complete == bit(bits, EOG));
    for (int i = 0; i < 24; i++) fuzz_token(s, bits, (samp_token)below(rng, N_VOCAB));
    if (below(rng, 4) == 0) {
        char text[16];
        int64_t n = samp_grammar_forced(s, text, sizeof text);
        MUST(n == SAMP_E_FULL || (n >= 0 && n <= 4096));
        samp_token draft[8], sure[8];
        int64_t n_draft = samp_grammar_draft(s, draft, 8), n_sure = samp_grammar_certain(s, sure, 8);
        MUST(n_draft == SAMP_E_FULL || (n_draft >= 0 && n_draft <= 8 && (n_draft == 0 || bit(bits, draft[0]))));
        MUST(n_sure == SAMP_E_FULL || n_draft == SAMP_E_FULL ||
             (n_sure <= n_draft && !memcmp(draft, sure, (size_t)n_sure * sizeof *sure)));
    }
    if (below(rng, 16) == 0) fuzz_same_mask(samp_clone(s), bits);
    if (below(rng, 16) == 0) {
        samp_sampler *loaded = fuzz_reload(s);
        if (loaded) fuzz_same_mask(loaded, bits);
    }
    return true;
}

/* At most `steps` tokens. */
static void fuzz_walk(samp_sampler *s, source *rng, int steps)
{
    uint32_t bits[N_MASK];
    for (; steps > 0 && fuzz_place(s, rng, bits); steps--) {
        samp_token token = (samp_token)below(rng, N_VOCAB);
        if (below(rng, 8)) /* else perhaps one that is not allowed */
            for (int i = 0; i < N_VOCAB && !bit(bits, token); i++) token = (token + 1) % N_VOCAB;
        int status = samp_accept(s, token);
        MUST(status == SAMP_E_FULL || status == (bit(bits, token) ? SAMP_OK : SAMP_E_RANGE));
    }
}

/* Read a text; a grammar that it is, is walked through. */
static inline void fuzz_text(samp_grammar_kind kind, const char *text, const char *options, source *rng, int steps)
{
    samp_grammar_error error;
    if (getenv("FUZZ_SHOW")) fprintf(stderr, "%s\n", text); /* to see what a case is */
    samp_grammar *g = samp_grammar_init(kind, text, options, &error);
    if (!g) {
        MUST(error.status == SAMP_E_FORMAT || error.status == SAMP_E_UNSUPPORTED || error.status == SAMP_E_RANGE ||
             error.status == SAMP_E_EMPTY);
        MUST(error.line >= 1 && error.column >= 1 && error.message[0]);
        return;
    }
    MUST(error.status == SAMP_OK);
    samp_sampler *s = fuzz_sampler(fuzz_index(), g);
    if (s) fuzz_walk(s, rng, steps);
    samp_free(s);
    samp_grammar_free(g);
}

#endif /* FUZZ_GRAMMAR_H */
