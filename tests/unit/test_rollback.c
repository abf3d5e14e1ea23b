/* test_rollback.c - samp_rollback: a sampler that has gone back is what it was, to the last byte of its saved state, and
   goes on as one that has never seen what was taken back. Random walks of draws, tokens, drafts, errors and rollbacks
   against a replay of what is left of them, for every kind of sampler alone, in chains, and in chains of chains.

     SAMP_TEST_CASES   walks (default 12,500; with SAMP_TEST_FULL 100,000, with SAMP_TEST_QUICK 300) */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap, in case.h */
#endif
#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#define SAMPLING_GRAMMAR
#include "sampling.h"
#define CASE_NO_REWIND /* whose bans are what is not taken back */
#include "tests/support/case.h"
#include "tests/support/json_gbnf.h"
#include "tests/support/test.h"

enum { N = 24, MOST_EVENTS = 2000, MOST_BYTES = 1 << 16 };

/* ------------------------------------------------------------------------------------------------ a grammar */

static const char *const words[N] = { "{", "}",  "[",   "]", "\"", ":",  ",",   "\"a\":", "1",  "-2", "true", "null",
                                      " ", "\n", "x\"", "é", "[[", "]]", "{\"", "\"}",    "],", "0.", "5",    "" };
static const char *word_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    *n_bytes = strlen(words[token]);
    return words[token];
}
static const samp_token eog[] = { N - 1 };
static const samp_vocab vocab = { N, word_bytes, NULL, NULL, eog, 1, N - 1, -1 };
static samp_vocab_index *vocab_index;
/* One that calls itself, one whose text can be read in many ways. */
static const char *const grammar_text[] = {
    JSON_GBNF, "root ::= e\ne ::= e \",\" e | e e | \"[\" e \"]\" | [0-9]+ | \"true\" | \"\\n\"\n"
};
static samp_grammar *grammar[TEST_COUNT(grammar_text)];

static int make_grammars(void **state)
{
    (void)state;
    vocab_index = samp_vocab_index_init(&vocab, NULL);
    for (size_t i = 0; i < TEST_COUNT(grammar); i++)
        grammar[i] = samp_grammar_init(SAMP_GRAMMAR_GBNF, grammar_text[i], NULL, NULL);
    return !vocab_index || !grammar[0] || !grammar[1];
}
static int free_grammars(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(grammar); i++) samp_grammar_free(grammar[i]);
    samp_vocab_index_free(vocab_index);
    return heap.live != 0;
}

/* -------------------------------------------------------------------------------------------------- a walk */

typedef enum event_kind { ACCEPT, DRAW, APPLY, SAMPLE, N_EVENT_KINDS } event_kind;

/* What was done, so that it can be done again: the row comes from a seed. */
typedef struct event {
    event_kind kind;
    uint64_t seed;
    samp_token token;
    int result;
} event;

typedef struct walk {
    samp_sampler *s, *start; /* start: a copy from before the first event */
    event done[MOST_EVENTS]; /* what has not been taken back */
    int n;
    int kept, depth; /* tokens that can be taken back */
} walk;

static void row_of(uint64_t seed, float *row)
{
    source s = source_stream(seed);
    if (seed % 4)
        make_row(&s, row, N);
    else
        test_logits(&s, row, N, 2.0);
    if (seed % 29 == 0) row[N / 2] = NAN;
}

static int play_event(samp_sampler *s, const event *e)
{
    float row[N];
    samp_token_data data[N];
    samp_token_data_array cur;
    row_of(e->seed, row);
    switch (e->kind) {
        case ACCEPT: return samp_accept(s, e->token);
        case DRAW: return samp_draw(s, row, N);
        case APPLY: cur = test_array(data, row, N); return samp_apply(s, &cur);
        case SAMPLE:
        case N_EVENT_KINDS: break;
    }
    return samp_sample(s, row, N);
}

static bool is_token(const event *e) { return e->result >= 0 && (e->kind == ACCEPT || e->kind == SAMPLE); }

static void add_event(walk *w, event e)
{
    assert_true(w->n < MOST_EVENTS);
    w->done[w->n++] = e;
    if (is_token(&e) && w->kept < w->depth) w->kept++;
}

static void do_event(walk *w, event e)
{
    e.result = play_event(w->s, &e);
    add_event(w, e);
}

/* A draft whose tokens are what the rows give, up to one. It is as many samples. */
static void do_verify(walk *w, source *s)
{
    float row[4 * N];
    samp_token token[4], out[4];
    event e[4];
    size_t n = 1 + below(s, 3);
    samp_sampler *ahead = samp_clone(w->s);
    for (size_t i = 0; i <= n; i++) {
        e[i].kind = SAMPLE;
        e[i].seed = choose(s, 4) | 1;
        e[i].token = 0;
        row_of(e[i].seed, row + i * N);
        token[i] = samp_sample(ahead, row + i * N, N);
        if (token[i] < 0 || percent(s, 30)) token[i] = (samp_token)below(s, N);
    }
    samp_free(ahead);
    samp_draft draft = { n, token, NULL, NULL, 0, NULL };
    int32_t taken = samp_verify(w->s, row, N, &draft, SAMP_VERIFY_EXACT, out);
    for (int32_t i = 0; i <= (taken < 0 ? 0 : taken); i++) {
        e[i].result = taken < 0 ? taken : out[i];
        add_event(w, e[i]);
    }
}

static void do_batch(walk *w, uint64_t seed)
{
    float row[N];
    event e = { SAMPLE, seed, 0, 0 };
    samp_logits logits;
    samp_token out;
    memset(&logits, 0, sizeof logits);
    row_of(seed, row);
    logits.data = row;
    logits.n_rows = 1;
    logits.n_vocab = N;
    assert_ok(samp_sample_batch(&w->s, &logits, &out));
    e.result = out;
    add_event(w, e);
}

/* n tokens and what was drawn since each; and what cannot be taken back, which changes nothing. */
static void do_rollback(walk *w, int n)
{
    int status = samp_rollback(w->s, n);
    if (n < 0 || n > w->kept) {
        assert_status(status, SAMP_E_RANGE);
        return;
    }
    assert_ok(status);
    if (w->depth == 0) return; /* no draw is known either */
    w->kept -= n;
    for (int left = n; w->n > 0; w->n--) {
        bool token = is_token(&w->done[w->n - 1]);
        if (token && left-- == 0) break;
    }
}

static size_t state_of(const samp_sampler *s, unsigned char *bytes)
{
    size_t size = samp_state_size(s);
    assert_true(size > 0 && size <= MOST_BYTES);
    assert_ok(samp_state_save(s, bytes, size));
    return size;
}

static int n_awaiting[2]; /* grammars that had their trigger, and others */

/* What saved states leave out, because it can be made again. */
static void check_derived(const sampi_sampler *a, const sampi_sampler *b)
{
    assert_num(a->kind, b->kind);
    for (int32_t i = 0; sampi_is_chain(a) && i < a->u.chain.n; i++)
        check_derived(a->u.chain.item[i], b->u.chain.item[i]);
    if (a->kind == SAMPI_DRY && !a->off) {
        assert_num(a->u.dry.settled, b->u.dry.settled);
        if (a->u.dry.settled >= 0) assert_num(a->u.dry.settled_tail, b->u.dry.settled_tail);
    }
    if (a->kind == SAMPI_PENALTIES && !a->off) {
        assert_num(a->u.penalties.n, b->u.penalties.n);
        assert_memory_equal(sampi_penalties_list(a), sampi_penalties_list(b), a->u.penalties.n * sizeof(sampi_count));
    }
    if (a->kind == SAMPI_GRAMMAR) {
        uint32_t x[1], y[1];
        assert_ok(samp_grammar_mask((samp_sampler *)(uintptr_t)a, x));
        assert_ok(samp_grammar_mask((samp_sampler *)(uintptr_t)b, y));
        assert_num(x[0], y[0]);
        assert_num(samp_grammar_is_awaiting(&a->base), samp_grammar_is_awaiting(&b->base));
        n_awaiting[samp_grammar_is_awaiting(&a->base)]++;
    }
}

/* The sampler is what it would be if only what is left had been done, and both go on in the same way. */
static void check_walk(walk *w)
{
    static unsigned char got[MOST_BYTES], want[MOST_BYTES];
    char text[600];
    own_sampler *replay = samp_clone(w->start);
    for (int i = 0; i < w->n; i++) {
        int result = play_event(replay, &w->done[i]);
        if (result != w->done[i].result) {
            samp_describe(w->start, text, sizeof text);
            test_fail(__FILE__, __LINE__, "event %d of %d: %d, it was %d\n%s", i, w->n, result, w->done[i].result,
                      text);
        }
    }
    size_t size = state_of(w->s, got);
    if (size != state_of(replay, want) || memcmp(got, want, size) != 0) {
        samp_describe(w->start, text, sizeof text);
        test_fail(__FILE__, __LINE__, "%d events are left, and the states differ\n%s", w->n, text);
    }
    check_derived((const sampi_sampler *)w->s, (const sampi_sampler *)replay);
    own_sampler *copy = samp_clone(w->s);
    for (uint64_t seed = 1; seed < 4; seed++) {
        event e = { SAMPLE, seed, 0, 0 };
        assert_num(play_event(copy, &e), play_event(replay, &e));
    }
}

/* What forgets: the walk begins anew. */
static void begin_walk(walk *w)
{
    samp_free(w->start);
    w->start = samp_clone(w->s);
    w->n = w->kept = 0;
    assert_non_null(w->start);
}

static void forget(walk *w, source *s)
{
    static unsigned char bytes[MOST_BYTES];
    size_t size;
    switch (below(s, 7)) {
        case 0: assert_ok(samp_set_position(w->s, below(s, 100))); break;
        case 1: samp_reset(w->s); break;
        case 2:
            size = state_of(w->s, bytes);
            assert_ok(samp_state_load(w->s, bytes, size));
            break;
        case 3: assert_ok(samp_set_rng(w->s, (samp_rng_kind)below(s, 2))); break;
        case 4:
            if (samp_chain_n(w->s) == 0 || !samp_chain_get(w->s, 0)) return;
            if (((sampi_sampler *)samp_chain_get(w->s, 0))->kind == SAMPI_GRAMMAR) return;
            assert_ok(samp_accept(samp_chain_get(w->s, 0), 1));
            break;
        case 5:
            if (!sampi_is_chain((sampi_sampler *)w->s)) return;
            assert_ok(samp_set_n_prev(w->s, below(s, 70)));
            break;
        default: /* behind anything else too */
            w->depth = (int)below(s, 100);
            assert_ok(samp_set_rollback(w->s, w->depth));
            assert_status(samp_rollback(w->s, 1), SAMP_E_RANGE);
            begin_walk(w);
            return;
    }
    assert_status(samp_rollback(w->s, 1), SAMP_E_RANGE);
    assert_ok(samp_rollback(w->s, 0));
    begin_walk(w);
}

/* Some wait for words that span tokens, or for a token. */
static samp_sampler *make_grammar(source *s)
{
    static const char *const trigger[2][2] = { { "{\"a", "[[" }, { "[1", "true" } };
    static const samp_token token = 8; /* 1 */
    size_t i = below(s, 2);
    if (percent(s, 50)) return samp_init_grammar(vocab_index, grammar[i]);
    return samp_init_grammar_lazy(vocab_index, grammar[i], trigger[i], 1 + below(s, 2), &token, i && percent(s, 50));
}

static samp_sampler *make_walker(source *s, uint64_t number)
{
    for (;;) {
        int kind = (int)(number % (N_KINDS + 2));
        samp_sampler *made;
        if (number % 3 == 0 || kind >= N_KINDS)
            made = make_chain(s, N);
        else if (number % 3 == 1)
            made = make_kind(s, kind, N);
        else
            made = chain_of(make_kind(s, kind, N), chain_of(make_xtc(s, N, false), make_kind(s, kind, N), NULL),
                            make_kind(s, make_selector(s), N));
        if (kind == N_KINDS) made = chain_of(make_grammar(s), made, samp_init_dist(choose(s, 1)));
        if (number % 7 == 2) samp_set_rng(made, SAMP_RNG_MT19937);
        if (!samp_status(made, NULL) && samp_state_size(made)) return made;
        samp_free(made);
    }
}

static void random_walk(uint64_t number)
{
    static walk w;
    source s = source_stream(number);
    memset(&w, 0, sizeof w);
    w.s = make_walker(&s, number);
    w.depth = 64;
    if (percent(&s, 30)) assert_ok(samp_set_rollback(w.s, w.depth = 1 + (int)below(&s, percent(&s, 50) ? 5 : 200)));
    begin_walk(&w);
    int steps = percent(&s, 5) ? 400 : 10 + (int)below(&s, 40);
    for (int i = 0; i < steps; i++) {
        event e = { DRAW, choose(&s, 4), (samp_token)below(&s, percent(&s, 50) ? 4 : N), 0 };
        unsigned what = (unsigned)below(&s, 100);
        if (what < 25)
            do_rollback(&w, percent(&s, 80) ? (int)below(&s, 4) : (int)below(&s, 100) - 2);
        else if (what < 27)
            forget(&w, &s);
        else if (what < 30) {
            samp_sampler *copy = samp_clone(w.s);
            assert_non_null(copy);
            samp_free(w.s);
            w.s = copy;
        } else if (what < 38)
            do_verify(&w, &s);
        else if (what < 42)
            do_batch(&w, e.seed);
        else {
            e.kind = what < 60 ? ACCEPT : what < 66 ? DRAW : what < 72 ? APPLY : SAMPLE;
            do_event(&w, e);
        }
        if (percent(&s, 3)) check_walk(&w);
    }
    check_walk(&w);
    samp_free(w.s);
    samp_free(w.start);
}

TEST(test_random_walks)
{
    uint64_t n = cases(100000, 300);
    for (uint64_t i = 0; i < n; i++) random_walk(i);
    assert_true(n < 2000 || (n_awaiting[0] > 30 && n_awaiting[1] > 3));
    print_message("%llu walks\n", (unsigned long long)n);
}

/* A kind that a token or a draw changes, as a saved state or an accept tells, must say how to go back. */
TEST(test_every_kind)
{
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_hooks *hooks = sampi_traits_of((sampi_kind)kind)->hooks;
        assert_num((hooks->accept || hooks->state), hooks->past || hooks->ready);
        assert_num(hooks->ready != NULL, hooks->kept != NULL);
    }
}

/* ------------------------------------------------------------------------------------------- piece by piece */

/* From any count of outputs to any before it, all 624 words. */
TEST(test_mt_goes_back)
{
    enum { FAR = 3000 };
    static sampi_mt at[FAR + 1];
    for (uint32_t seed = 0; seed < 5; seed++) {
        memset(&at[0], 0, sizeof at[0]);
        sampi_mt_seed(&at[0], seed * 0x9E3779B9u);
        for (int i = 0; i < FAR; i++) {
            at[i + 1] = at[i];
            sampi_mt_next(&at[i + 1]);
        }
        source s = source_stream(seed);
        for (int i = 0; i < 500; i++) {
            int to = i < 8 ? i * 312 : (int)below(&s, FAR + 1), from = to + (int)below(&s, (uint64_t)(FAR + 1 - to));
            sampi_mt mt = at[from];
            sampi_mt_back(&mt, at[to].drawn, seed * 0x9E3779B9u);
            assert_memory_equal(mt.state, at[to].state, sizeof mt.state);
            assert_num(mt.next, at[to].next);
            assert_num(mt.drawn, at[to].drawn);
        }
    }
}

/* What is refused, and that it changes nothing. */
TEST(test_bad_calls)
{
    static unsigned char before[MOST_BYTES], after[MOST_BYTES];
    own_sampler *chain = chain_of(samp_init_penalties(8, 1.1f, 0.0f, 0.0f), samp_init_dist(1), NULL);
    samp_sampler *bad = samp_init_top_p(2.0f, 0), *member = samp_chain_get(chain, 0);
    assert_status(samp_rollback(NULL, 0), SAMP_E_NULL);
    assert_status(samp_set_rollback(NULL, 0), SAMP_E_NULL);
    assert_status(samp_rollback(bad, 0), SAMP_E_RANGE);
    assert_ok(samp_set_rollback(bad, 3));
    assert_status(samp_set_rollback(chain, -1), SAMP_E_RANGE);
    assert_status(samp_set_rollback(chain, (1 << 20) + 1), SAMP_E_RANGE);
    assert_ok(samp_rollback(chain, 0)); /* of a new one too */
    for (int i = 0; i < 100; i++) assert_ok(samp_accept(chain, i % 5));
    size_t size = state_of(chain, before);
    assert_status(samp_rollback(chain, -1), SAMP_E_RANGE);
    assert_status(samp_rollback(chain, 65), SAMP_E_RANGE);
    assert_status(samp_rollback(chain, INT32_MAX), SAMP_E_RANGE);
    assert_status(samp_rollback(member, 1), SAMP_E_RANGE); /* its chain has the records */
    assert_ok(samp_rollback(member, 0));
    assert_ok(samp_set_rollback(member, 5)); /* nor does it keep any of its own */
    assert_status(samp_rollback(member, 1), SAMP_E_RANGE);
    assert_status(samp_accept(chain, -1), SAMP_E_RANGE); /* no token, and no change */
    assert_num(state_of(chain, after), size);
    assert_memory_equal(before, after, size);
    assert_ok(samp_rollback(chain, 64));
    assert_num(samp_last(chain), 35 % 5);
    assert_status(samp_rollback(chain, 1), SAMP_E_RANGE);
    /* with nothing kept */
    assert_ok(samp_set_rollback(chain, 0));
    assert_ok(samp_accept(chain, 1));
    assert_status(samp_rollback(chain, 1), SAMP_E_RANGE);
    assert_ok(samp_rollback(chain, 0));
    samp_free(bad);
}

/* What is done to the chain otherwise, or to a member, forgets. */
TEST(test_what_forgets)
{
    samp_params params = samp_default_params();
    samp_sampler *chain = samp_chain_from_params(&params, NULL), *inner = samp_chain_init();
    for (int how = 0; how < 8; how++) {
        assert_ok(samp_accept(chain, 7));
        assert_ok(samp_rollback(chain, 1));
        assert_ok(samp_accept(chain, 7));
        switch (how) {
            case 0: assert_ok(samp_chain_add(chain, inner)); break;
            case 1: assert_ok(samp_accept(inner, 1)); break;
            case 2: assert_ok(samp_set_n_prev(inner, 3)); break;
            case 3: assert_ok(samp_chain_add(inner, samp_init_mirostat_v2(1, 5.0f, 0.1f))); break;
            case 4: samp_free(samp_chain_remove(inner, 0)); break;
            case 5: samp_free(samp_chain_remove(chain, samp_chain_n(chain) - 1)); break;
            case 6: assert_ok(samp_chain_update(chain, &params)); break;
            default: samp_reset(chain);
        }
        assert_status(samp_rollback(chain, 1), SAMP_E_RANGE);
    }
    samp_free(chain);
}

/* A draw that no token was accepted behind is taken back by 0, with its random numbers: a banned token's. */
TEST(test_draws_taken_back)
{
    float row[N];
    own_sampler *chain = chain_of(samp_init_temp(2.0f), samp_init_dist(3), NULL);
    row_of(4, row);
    for (int rng = 0; rng < 2; rng++) {
        assert_ok(samp_set_rng(chain, (samp_rng_kind)rng));
        samp_token first = samp_draw(chain, row, N);
        for (int i = 0; i < 700; i++) assert_true(samp_draw(chain, row, N) >= 0);
        assert_ok(samp_rollback(chain, 0));
        assert_num(samp_get_position(chain), 0);
        assert_num(samp_sample(chain, row, N), first);
        assert_num(samp_get_position(chain), 1);
        assert_ok(samp_rollback(chain, 1));
        assert_num(samp_get_position(chain), 0);
        assert_num(samp_draw(chain, row, N), first);
    }
}

/* The ratio test of samp_verify draws otherwise; its tokens go back as others do, all or some. */
TEST(test_verify_by_ratio)
{
    enum { ROWS = 4 };
    static unsigned char before[MOST_BYTES], after[MOST_BYTES];
    float row[(ROWS + 1) * N];
    int all = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        samp_token draft_token[ROWS] = { 1, 2, 3, 4 }, out[ROWS + 1], again[ROWS + 1];
        samp_draft draft = { ROWS, draft_token, NULL, NULL, 0, NULL };
        own_sampler *chain = chain_of(samp_init_penalties(3, 1.5f, 0.1f, 0.0f),
                                      seed % 2 ? samp_init_mirostat_v2(seed, 5.0f, 0.3f) : samp_init_dist(seed),
                                      NULL);
        source s = source_stream(seed);
        test_logits(&s, row, TEST_COUNT(row), 1.0);
        for (int i = 0; i < ROWS; i++) row[i * N + draft_token[i]] = 5.0f;
        assert_ok(samp_accept(chain, 9));
        size_t size = state_of(chain, before);
        int32_t taken = samp_verify(chain, row, N, &draft, SAMP_VERIFY_RATIO, out);
        assert_true(taken >= 0);
        all += taken == ROWS;
        assert_ok(samp_rollback(chain, taken + 1));
        assert_num(state_of(chain, after), size);
        assert_memory_equal(before, after, size);
        assert_num(samp_verify(chain, row, N, &draft, SAMP_VERIFY_RATIO, again), taken);
        assert_memory_equal(out, again, ((size_t)taken + 1) * sizeof *out);
        if (taken) { /* to the middle, and on from there */
            assert_ok(samp_rollback(chain, taken));
            assert_num(samp_last(chain), out[0]);
            draft.tokens++, draft.n--;
            assert_num(samp_verify(chain, row + N, N, &draft, SAMP_VERIFY_RATIO, again), taken - 1);
            assert_memory_equal(out + 1, again, (size_t)taken * sizeof *out);
        }
    }
    assert_true(all > 0 && all < 200);
}

/* ---- the user's samplers ---- */

typedef struct counter {
    int seen, answer;
} counter;
static int counter_accept(samp_sampler *s, samp_token token)
{
    (void)token;
    ((counter *)s->ctx)->seen++;
    return SAMP_OK;
}
static int counter_rollback(samp_sampler *s, int32_t n)
{
    counter *c = (counter *)s->ctx;
    if (c->answer == SAMP_OK) c->seen -= n;
    return c->answer;
}

TEST(test_custom)
{
    static const samp_sampler_i able = { NULL, counter_accept, test_nothing_apply, NULL, NULL,
                                         NULL, NULL,           counter_rollback };
    static const samp_sampler_i unable = { NULL, counter_accept, test_nothing_apply, NULL, NULL, NULL, NULL, NULL };
    counter first = { 0, SAMP_OK }, second = { 0, SAMP_OK };
    samp_sampler *chain = chain_of(samp_init_custom(&able, &first),
                                   chain_of(samp_init_custom(&able, &second), NULL, NULL), test_nothing());
    for (int i = 0; i < 10; i++) assert_ok(samp_accept(chain, i));
    assert_ok(samp_rollback(chain, 4));
    assert_num(first.seen, 6);
    assert_num(second.seen, 6);
    assert_num(samp_last(chain), 5);
    assert_ok(samp_rollback(chain, 0));
    static const int answers[][2] = { { SAMP_E_FULL, SAMP_E_FULL }, { 5, SAMP_E_RANGE } };
    for (int i = 0; i < 2; i++) { /* one that refuses keeps the built-in ones where they are */
        first.answer = answers[i][0];
        assert_status(samp_rollback(chain, 1), answers[i][1]);
        assert_num(samp_last(chain), 5);
        assert_num(second.seen, 6);
    }
    first.answer = SAMP_OK;
    assert_ok(samp_rollback(chain, 1));
    assert_num(samp_last(chain), 4);
    assert_ok(samp_chain_add(chain, samp_init_custom(&unable, &second)));
    assert_ok(samp_accept(chain, 9));
    first.seen = 0;
    assert_status(samp_rollback(chain, 1), SAMP_E_UNSUPPORTED); /* before any is asked */
    assert_num(first.seen, 0);
    assert_num(samp_last(chain), 9);
    assert_ok(samp_rollback(chain, 0));
    samp_free(chain);
    own_sampler *alone = samp_init_custom(&able, &first);
    assert_ok(samp_accept(alone, 3));
    assert_ok(alone->iface->rollback(alone, 1)); /* the user's own, by hand */
    assert_num(first.seen, 0);
    samp_free(alone);
    alone = samp_init_greedy();
    assert_ok(samp_accept(alone, 3));
    assert_ok(alone->iface->rollback(alone, 1)); /* a built-in one's is samp_rollback */
    assert_status(alone->iface->rollback(alone, 1), SAMP_E_RANGE);
}

/* ---- grammars ---- */

/* Each has its own records; one that a limit on memory makes forget says so, and nothing goes back. */
TEST(test_grammar)
{
    float row[N];
    uint32_t bits[2];
    unsigned char x[500], y[500];
    own_sampler *matcher = samp_init_grammar(vocab_index, grammar[1]), *chain = samp_init_dist(4);
    for (uint64_t seed = 1; seed < 60; seed++) {
        size_t size_x = state_of(matcher, x), size_y = state_of(chain, x + 250);
        source s = source_stream(seed);
        test_logits(&s, row, N, 2.0);
        row[N - 1] = -5.0f;
        samp_token token = samp_grammar_sample(chain, matcher, row, N);
        assert_true(token >= 0);
        assert_ok(samp_rollback(chain, 1));
        assert_ok(samp_rollback(matcher, 1));
        assert_num(state_of(matcher, y), size_x);
        assert_num(state_of(chain, y + 250), size_y);
        if (seed < 20) assert_memory_equal(x, y, size_x);
        assert_memory_equal(x + 250, y + 250, size_y);
        if (seed > 40) continue;
        assert_num(samp_grammar_sample(chain, matcher, row, N), token);
    }
    assert_ok(samp_grammar_mask(matcher, bits));
    assert_ok(samp_rollback(matcher, 40));
    assert_ok(samp_grammar_mask(matcher, bits + 1));
    samp_reset(matcher);
    uint32_t fresh;
    assert_ok(samp_grammar_mask(matcher, &fresh));
    assert_num(bits[1], fresh);
}

/* The end of a text is a token like others, though it leaves the grammar as it is. */
TEST(test_grammar_ends)
{
    static const samp_token text[] = { 0, 1, N - 1, N - 1 }; /* {} */
    own_sampler *s = samp_init_grammar(vocab_index, grammar[0]);
    for (size_t i = 0; i < TEST_COUNT(text); i++) assert_ok(samp_accept(s, text[i]));
    assert_ok(samp_rollback(s, 2));
    assert_num(samp_grammar_is_complete(s), 1);
    assert_ok(samp_accept(s, N - 1));
    assert_ok(samp_rollback(s, 2));
    assert_num(samp_grammar_is_complete(s), 0);
    assert_ok(samp_accept(s, 1));
    assert_num(samp_grammar_is_complete(s), 1);
    assert_ok(samp_rollback(s, 2));
    assert_status(samp_accept(s, 1), SAMP_E_RANGE);
}

/* Back over the trigger a lazy grammar waits again, with what its expressions had read. */
TEST(test_grammar_waits_again)
{
    static const char *const trigger[] = { "{\"a" };
    own_sampler *s = samp_init_grammar_lazy(vocab_index, grammar[0], trigger, 1, NULL, 0);
    assert_ok(samp_accept(s, 8));
    assert_ok(samp_accept(s, 0)); /* 1{ */
    for (int round = 0; round < 2; round++) {
        assert_num(samp_grammar_is_awaiting(s), 1);
        assert_ok(samp_accept(s, 7)); /* "a": */
        assert_num(samp_grammar_is_awaiting(s), 0);
        assert_status(samp_accept(s, 3), SAMP_E_RANGE);
        assert_ok(samp_accept(s, 8));
        assert_ok(samp_rollback(s, 2));
        assert_num(samp_grammar_is_awaiting(s), 1);
        assert_ok(samp_accept(s, 3));
        assert_ok(samp_rollback(s, 1));
    }
    assert_ok(samp_rollback(s, 1));
    assert_ok(samp_accept(s, 7));
    assert_num(samp_grammar_is_awaiting(s), 1); /* for there is no brace before it now */
    assert_ok(samp_rollback(s, 2));
    assert_status(samp_rollback(s, 1), SAMP_E_RANGE);
}

/* Frames and states are swept, and the places before the last tokens are good all the same. */
TEST(test_grammar_is_swept)
{
    uint32_t mask[400], now;
    own_sampler *s = samp_init_grammar(vocab_index, grammar[0]);
    assert_ok(samp_set_rollback(s, 300));
    assert_ok(samp_set_grammar_limits(s, 1 << 16, 1 << 20));
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    assert_ok(samp_accept(s, 0));
    for (int round = 0; round < 6; round++) {
        int kept = 0;
        for (int i = 0; i < 200; i++) {
            if (samp_grammar_mask(s, &mask[i]) != SAMP_OK) break;
            static const samp_token nest[] = { 7, 2, 9, 6, 0 }; /* "a": [ -2 , { "a": [ ... */
            samp_token token = nest[i % 5];
            if (samp_accept(s, token) != SAMP_OK) break;
            kept++;
        }
        assert_true(kept > 20);
        for (; kept > 0; kept--) {
            if (m->past_n.n == 0) {
                assert_status(samp_rollback(s, 1), SAMP_E_RANGE);
                break;
            }
            assert_ok(samp_rollback(s, 1));
            assert_ok(samp_grammar_mask(s, &now));
            assert_num(now, mask[kept - 1]);
            if (kept % 7 == 0)
                m->position_cache = 1; /* of a cache that has gone: what is made again must be found again */
        }
        if (kept) break;
    }
}

/* ---- memory ---- */

/* The first token takes it, or samp_reserve; then nothing is allocated, whatever goes back. */
TEST(test_no_allocation)
{
    float row[N];
    row_of(4, row);
    for (uint64_t number = 1; number < 300; number++) {
        source s = source_stream(number);
        if (number % (N_KINDS + 2) == N_KINDS) continue; /* grammars take what they need */
        own_sampler *chain = make_walker(&s, number);
        assert_ok(samp_reserve(chain, N));
        unsigned long calls = heap.mallocs + heap.frees;
        for (int i = 0; i < 200; i++) {
            samp_sample(chain, row, N);
            assert_ok(samp_accept(chain, i % 5));
            if (i % 7 == 6) assert_ok(samp_rollback(chain, 1 + i % 2));
        }
        assert_num(heap.mallocs + heap.frees, calls);
    }
    own_sampler *plain = chain_of(samp_init_top_k(4), samp_init_greedy(), NULL);
    assert_ok(samp_set_n_prev(plain, 0));
    unsigned long calls = heap.mallocs;
    for (int i = 0; i < 100; i++) assert_ok(samp_accept(plain, i)); /* no state, no memory */
    assert_ok(samp_rollback(plain, 64));
    assert_num(heap.mallocs, calls);
}

/* Without memory nothing is kept, and tokens are accepted all the same; who asks for it is told. */
TEST(test_no_memory)
{
    float row[N];
    row_of(4, row);
    samp_sampler *chain = chain_of(samp_init_penalties(8, 1.1f, 0.0f, 0.0f), samp_init_dist(1), NULL), *copy;
    heap.fail_at = 1, heap.fail_after = true;
    for (int i = 0; i < 10; i++) assert_ok(samp_accept(chain, i));
    assert_status(samp_rollback(chain, 1), SAMP_E_RANGE);
    assert_status(samp_reserve(chain, N), SAMP_E_NOMEM);
    assert_status(samp_sample(chain, row, N), SAMP_E_NOMEM);
    heap.fail_at = 0;
    assert_num(samp_last(chain), 9);
    for (int i = 0; i < 10; i++) assert_ok(samp_accept(chain, i));
    heap.fail_at = 1;
    assert_status(samp_set_rollback(chain, 200), SAMP_E_NOMEM);
    assert_ok(samp_set_position(chain, 4)); /* all is forgotten, and the room is still there */
    assert_ok(samp_accept(chain, 3));
    assert_ok(samp_rollback(chain, 1));
    assert_ok(samp_accept(chain, 3));
    heap.fail_at = 1;
    assert_status(samp_set_rollback(chain, 200), SAMP_E_NOMEM);
    assert_ok(samp_rollback(chain, 1)); /* nothing has changed */
    assert_ok(samp_accept(chain, 3));
    heap.fail_after = false;
    int tries = 0;
    do { /* a clone is whole, or none */
        heap.fail_at = ++tries;
        copy = samp_clone(chain);
    } while (!copy);
    heap.fail_at = 0;
    assert_true(tries > 4);
    assert_ok(samp_rollback(copy, 1));
    assert_status(samp_rollback(copy, 1), SAMP_E_RANGE);
    samp_free(copy);
    samp_free(chain);
    /* a grammar that can't keep a place does not take the token */
    own_sampler *s = samp_init_grammar(vocab_index, grammar[0]);
    assert_ok(samp_accept(s, 0));
    assert_ok(samp_rollback(s, 1));
    for (int i = 1, status = SAMP_E_NOMEM; status; i++) {
        own_sampler *other = samp_clone(s);
        heap.fail_at = i;
        status = samp_accept(other, 0);
        heap.fail_at = 0;
        assert_true(status == SAMP_OK || status == SAMP_E_NOMEM);
        assert_num(samp_rollback(other, 1), status ? SAMP_E_RANGE : SAMP_OK);
        assert_ok(samp_accept(other, 0));
        assert_ok(samp_accept(other, 1));
        assert_num(samp_grammar_is_complete(other), 1);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, make_grammars, free_grammars); }
