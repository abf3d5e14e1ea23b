/* test_grammar_gpu.c - grammars and constraints (SAMPLING_CONSTRAINTS) together with a GPU. The tokens of a batch on a
   GPU context must be those of the CPU's definition: the samplers applied one by one to the array of all candidates,
   with the grammar as a sampler of the chain, or as a mask before it. The tests run on the host's own kernels, and on
   device 0 (on the CPU if there is none). */
#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#define SAMPLING_IMPLEMENTATION
#define SAMP_GPU_LIST 256 /* so that with a small vocabulary most rows have more tokens than a list holds */
#include "sampling_gpu.h"
#include "tests/support/json_gbnf.h"
#include "tests/support/test.h"

enum { N_ROWS = 3, N_STEPS = 210, N_BYTES = 256, EOG = 2499, N_VOCAB, N_WORDS = (N_VOCAB + 31) / 32 };

/* ---------------------------------------------------------------------------------------------- the vocabulary */

/* The tokens' texts: the bytes, then parts of JSON; the last token ends a text. */
static char piece[N_VOCAB][8];

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = token < N_BYTES ? 1 : strlen(piece[token]);
    return piece[token];
}

static const samp_token ends[] = { EOG };
static const samp_vocab vocab = { N_VOCAB, piece_bytes, NULL, NULL, ends, 1, EOG, -1 };
static samp_vocab_index *vocab_index;
/* One grammar that calls itself in the middle, and one that does at the left, whose texts can be read in two ways. */
static const char *const grammar_text[] = {
    JSON_GBNF, "root ::= e\ne ::= e [,: ] t | t\nt ::= \"[\" e \"]\" | [a-z]+ | [0-9ae]+ | \"{}\" | \"\\\"\" e\n"
};
static samp_grammar *grammar[TEST_COUNT(grammar_text)];

static int set_up(void **state)
{
    static const char letters[] = "{}[]\":, 0123aetrufl\"\"\",,::\\.-";
    (void)state;
    source s = source_stream(1);
    for (int i = 0; i < EOG; i++) {
        size_t n = i < N_BYTES ? 0 : 1 + below(&s, 5);
        if (i < N_BYTES) piece[i][0] = (char)i;
        for (size_t j = 0; j < n; j++) piece[i][j] = letters[below(&s, sizeof letters - 1)];
    }
    vocab_index = samp_vocab_index_init(&vocab, NULL);
    for (size_t i = 0; i < TEST_COUNT(grammar); i++)
        grammar[i] = samp_grammar_init(SAMP_GRAMMAR_GBNF, grammar_text[i], NULL, NULL);
    return !vocab_index || !grammar[0] || !grammar[1];
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(grammar); i++) samp_grammar_free(grammar[i]);
    samp_vocab_index_free(vocab_index);
    return 0;
}

/* Runs a test under each grammar, with both random sources, on the host's kernels and on the first device. */
static void play_all(void (*play)(int device, const samp_grammar *g, samp_rng_kind rng))
{
    for (size_t i = 0; i < TEST_COUNT(grammar); i++)
        for (int rng = 0; rng < 2; rng++) {
            play(SAMP_GPU_HOST, grammar[i], (samp_rng_kind)rng);
            play(0, grammar[i], (samp_rng_kind)rng);
        }
}

/* -------------------------------------------------------------------------------------------------- the stage */

/* Each row has two chains: the context draws from one, the other is run step by step. */
typedef struct stage {
    samp_gpu *gpu;
    samp_sampler *fast[N_ROWS], *steps[N_ROWS];
    float logits[N_ROWS][N_VOCAB];
    bool device; /* there are kernels, the host's or a device's */
} stage;

static stage *stage_make(int device)
{
    stage *t = (stage *)calloc(1, sizeof *t);
    const samp_gpu_config config = { device, N_ROWS, N_VOCAB, SAMP_F32, false, false, 0, false };
    assert_non_null(t);
    t->gpu = samp_gpu_init(&config, NULL);
    assert_non_null(t->gpu);
    t->device = strcmp(samp_gpu_device_name(t->gpu), "cpu") != 0;
    return t;
}

static void stage_free(stage *t)
{
    for (int r = 0; r < N_ROWS; r++) {
        samp_free(t->fast[r]);
        samp_free(t->steps[r]);
    }
    samp_gpu_free(t->gpu);
    free(t);
}

static void add(samp_sampler *chain, samp_sampler *s)
{
    if (s) assert_ok(samp_chain_add(chain, s));
}

/* Makes a chain with up to two grammars: `first` at its beginning, `behind` after a top-k. */
static samp_sampler *make_chain(samp_sampler *first, samp_sampler *behind, samp_rng_kind rng, uint32_t seed)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_set_rng(chain, rng));
    add(chain, first);
    add(chain, samp_init_penalties(32, 1.1f, 0.1f, 0.0f));
    add(chain, samp_init_top_k(behind ? 200 : 700));
    add(chain, behind);
    add(chain, samp_init_top_p(0.98f, 1));
    add(chain, samp_init_temp(1.5f));
    add(chain, samp_init_dist(seed));
    assert_ok(samp_status(chain, NULL));
    return chain;
}

static size_t state_of(const samp_sampler *s, char *bytes, size_t room)
{
    const size_t size = samp_state_size(s);
    assert_true(size > 0 && size <= room);
    assert_ok(samp_state_save(s, bytes, size));
    return size;
}

/* Returns the token that the definition draws from a row and accepts; bits that are not set mask a token. If the token
   completes a grammar's trigger but has more text than the grammar allows after it, that is an error, and the chain is
   as before. */
static samp_token by_steps(samp_sampler *s, const float *logits, const uint32_t *bits)
{
    static samp_token_data data[N_VOCAB];
    static char before[1 << 16];
    samp_token_data_array cur = test_array(data, logits, N_VOCAB);
    for (int i = 0; i < N_VOCAB; i++)
        if (bits && !(bits[i / 32] >> i % 32 & 1)) data[i].logit = -INFINITY;
    const size_t size = state_of(s, before, sizeof before);
    int status = samp_apply(s, &cur);
    if (status) return status;
    const samp_token token = data[cur.selected].id;
    status = samp_accept(s, token);
    if (status) assert_ok(samp_state_load(s, before, size));
    return status ? status : token;
}

static void check_same_state(const samp_sampler *a, const samp_sampler *b)
{
    static char x[1 << 16], y[1 << 16];
    const size_t size = state_of(a, x, sizeof x);
    assert_num(state_of(b, y, sizeof y), size);
    assert_memory_equal(x, y, size);
}

static void make_logits(stage *t, source *s)
{
    for (int r = 0; r < N_ROWS; r++) {
        test_logits(s, t->logits[r], N_VOCAB, 2.0);
        t->logits[r][EOG] = percent(s, 5) ? 9.0f : -9.0f; /* texts end after some tokens, early or late */
    }
}

static samp_logits rows_of(const stage *t)
{
    const samp_logits rows = { .data = t->logits, .dtype = SAMP_F32, .n_rows = N_ROWS, .n_vocab = N_VOCAB };
    return rows;
}

/* --------------------------------------------------------------------------------------------------- the tests */

/* Makes the chain of row r, with the grammar at its beginning (0), after a sampler that removes tokens (1), or at its
   beginning and waiting for its trigger (2). */
static samp_sampler *make_row(int r, const samp_grammar *g, samp_rng_kind rng)
{
    static const char *const words[] = { "{", "[" };
    const uint32_t seed = 40 + (uint32_t)r;
    if (r % 3 == 1) return make_chain(NULL, samp_init_grammar(vocab_index, g), rng, seed);
    return make_chain(r % 3 ? samp_init_grammar_lazy(vocab_index, g, words, 2, NULL, 0)
                            : samp_init_grammar(vocab_index, g),
                      NULL, rng, seed);
}

/* Runs rows whose chains have a grammar: samplers before it may run on the device, the grammar and those after it do
   not. If no token remains, both sides say so, and the chains are as before. */
static void play_in_chains(int device, const samp_grammar *g, samp_rng_kind rng)
{
    stage *t = stage_make(device);
    source s = source_stream(5);
    samp_token got[N_ROWS];
    int n_tokens = 0, n_ends = 0;
    for (int r = 0; r < N_ROWS; r++) {
        t->fast[r] = make_row(r, g, rng);
        t->steps[r] = make_row(r, g, rng);
    }
    for (int step = 0; step < N_STEPS; step++) {
        make_logits(t, &s);
        const samp_logits rows = rows_of(t);
        assert_ok(samp_gpu_sample_batch(t->gpu, t->fast, &rows, got));
        for (int r = 0; r < N_ROWS; r++) {
            const samp_token want = by_steps(t->steps[r], t->logits[r], NULL);
            assert_num(got[r], want);
            check_same_state(t->fast[r], t->steps[r]);
            n_tokens += want >= 0;
            n_ends += want == EOG;
            if (want < 0) assert_num(want, r % 3 == 1 ? SAMP_E_EMPTY : SAMP_E_RANGE);
            if (want >= 0 && want != EOG) continue;
            samp_reset(t->fast[r]);
            samp_reset(t->steps[r]);
        }
    }
    assert_true(n_tokens > N_STEPS * N_ROWS / 2 && n_ends > 0);
    const samp_gpu_perf_data perf = samp_gpu_perf(t->gpu);
    const bool some = t->device && rng == SAMP_RNG_PHILOX;
    assert_num(perf.n_device, 0);
    assert_num(perf.n_mixed, some ? N_STEPS * N_ROWS / 3 : 0);
    stage_free(t);
}

TEST(test_grammars_in_chains)
{
    play_all(play_in_chains);
}

/* Runs rows whose masks are made by grammars: the whole chain runs on the device, unless it draws as llama.cpp does.
   The definition has the grammar in the chain. */
static void play_masks(int device, const samp_grammar *g, samp_rng_kind rng)
{
    stage *t = stage_make(device);
    source s = source_stream(6);
    samp_sampler *matcher[N_ROWS];
    samp_token got[N_ROWS];
    uint32_t bits[N_ROWS][N_WORDS];
    int n_ends = 0;
    for (int r = 0; r < N_ROWS; r++) {
        matcher[r] = samp_init_grammar(vocab_index, g);
        t->fast[r] = make_chain(NULL, NULL, rng, 40 + (uint32_t)r);
        t->steps[r] = make_chain(samp_init_grammar(vocab_index, g), NULL, rng, 40 + (uint32_t)r);
    }
    for (int step = 0; step < N_STEPS; step++) {
        make_logits(t, &s);
        samp_logits rows = rows_of(t);
        for (int r = 0; r < N_ROWS; r++) assert_ok(samp_grammar_mask(matcher[r], bits[r]));
        rows.mask = bits[0];
        assert_ok(samp_gpu_sample_batch(t->gpu, t->fast, &rows, got));
        for (int r = 0; r < N_ROWS; r++) {
            assert_true(got[r] >= 0);
            assert_num(by_steps(t->steps[r], t->logits[r], NULL), got[r]);
            assert_num(samp_get_position(t->fast[r]), samp_get_position(t->steps[r]));
            assert_ok(samp_accept(matcher[r], got[r]));
            if (got[r] != EOG) continue;
            n_ends++;
            samp_reset(matcher[r]);
            samp_reset(t->fast[r]);
            samp_reset(t->steps[r]);
        }
    }
    assert_true(n_ends > 0);
    const samp_gpu_perf_data perf = samp_gpu_perf(t->gpu);
    assert_num(perf.n_device, t->device && rng == SAMP_RNG_PHILOX ? N_STEPS * N_ROWS : 0);
    assert_num(perf.n_declined, 0);
    for (int r = 0; r < N_ROWS; r++) samp_free(matcher[r]);
    stage_free(t);
}

TEST(test_grammars_as_masks)
{
    play_all(play_masks);
}

/* A grammar and a mask at once allow the tokens that both allow. */
TEST(test_grammar_and_mask)
{
    stage *t = stage_make(SAMP_GPU_HOST);
    source s = source_stream(7);
    uint32_t bits[N_ROWS][N_WORDS];
    samp_token got[N_ROWS];
    int n_tokens = 0;
    for (int r = 0; r < N_ROWS; r++) {
        t->fast[r] = make_row(r, grammar[1], SAMP_RNG_PHILOX);
        t->steps[r] = make_row(r, grammar[1], SAMP_RNG_PHILOX);
    }
    for (int step = 0; step < N_STEPS; step++) {
        make_logits(t, &s);
        samp_logits rows = rows_of(t);
        for (int r = 0; r < N_ROWS; r++)
            for (int i = 0; i < N_WORDS; i++) bits[r][i] = (uint32_t)splitmix64(&s.state);
        rows.mask = bits[0];
        assert_ok(samp_gpu_sample_batch(t->gpu, t->fast, &rows, got));
        for (int r = 0; r < N_ROWS; r++) {
            assert_num(by_steps(t->steps[r], t->logits[r], bits[r]), got[r]);
            check_same_state(t->fast[r], t->steps[r]);
            n_tokens += got[r] >= 0;
            if (got[r] >= 0 && got[r] != EOG) continue;
            samp_reset(t->fast[r]);
            samp_reset(t->steps[r]);
        }
    }
    assert_true(n_tokens > N_STEPS * N_ROWS / 2);
    stage_free(t);
}

/* Makes a chain with a constraint: at its beginning, after a sampler that removes tokens, or at its beginning with a
   whole list of remaining tokens. */
static samp_sampler *make_constrained_row(int r, samp_rng_kind rng)
{
    static const char *const banned[] = { "tr", "{\"", "0" };
    static samp_token allowed[900];
    for (int i = 0; i < 900; i++) allowed[i] = 2 * i;
    samp_sampler *s = r % 3 == 2 ? samp_init_allowed_tokens(allowed, 900)
                                 : samp_init_banned_strings(&vocab, banned, 3, 0);
    return make_chain(r % 3 == 1 ? NULL : s, r % 3 == 1 ? s : NULL, rng, 50 + (uint32_t)r);
}

/* Constraints, and the samplers after them, are left to the CPU; those before may run on the device. */
static void play_constraints(int device, const samp_grammar *g, samp_rng_kind rng)
{
    stage *t = stage_make(device);
    source s = source_stream(8);
    samp_token got[N_ROWS];
    (void)g;
    for (int r = 0; r < N_ROWS; r++) {
        t->fast[r] = make_constrained_row(r, rng);
        t->steps[r] = make_constrained_row(r, rng);
    }
    for (int step = 0; step < N_STEPS / 3; step++) {
        make_logits(t, &s);
        const samp_logits rows = rows_of(t);
        assert_ok(samp_gpu_sample_batch(t->gpu, t->fast, &rows, got));
        for (int r = 0; r < N_ROWS; r++) {
            assert_true(got[r] >= 0);
            assert_num(by_steps(t->steps[r], t->logits[r], NULL), got[r]);
            check_same_state(t->fast[r], t->steps[r]);
        }
    }
    const samp_gpu_perf_data perf = samp_gpu_perf(t->gpu);
    assert_num(perf.n_device, 0);
    stage_free(t);
}

TEST(test_constraints)
{
    play_all(play_constraints);
}

/* Compares the text of a chain's plan. */
static void check_plan(const stage *t, samp_sampler *chain, const char *want)
{
    char text[200];
    assert_true(samp_gpu_plan(t->gpu, chain, text, sizeof text) < (int)sizeof text);
    assert_string_equal(text, want);
    samp_free(chain);
}

TEST(test_plans)
{
    stage *t = stage_make(SAMP_GPU_HOST);
    check_plan(t, make_row(0, grammar[0], SAMP_RNG_PHILOX),
               "cpu (a grammar): grammar -> penalties -> top-k -> top-p -> temp -> dist");
    check_plan(t, make_row(1, grammar[0], SAMP_RNG_PHILOX),
               "device: penalties -> top-k; cpu (a grammar): grammar -> top-p -> temp -> dist");
    check_plan(t, make_row(1, grammar[0], SAMP_RNG_MT19937),
               "cpu (llama.cpp's arithmetic): penalties -> top-k -> grammar -> top-p -> temp -> dist");
    check_plan(t, make_constrained_row(1, SAMP_RNG_PHILOX),
               "device: penalties -> top-k; cpu (not on the device): banned-strings -> top-p -> temp -> dist");
    check_plan(t, make_chain(NULL, NULL, SAMP_RNG_PHILOX, 1), "device: penalties -> top-k -> top-p -> temp -> dist");
    stage_free(t);
}

int main(int argc, char **argv) { return test_main(argc, argv, set_up, tear_down); }
