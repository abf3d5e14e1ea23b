/* test_counts.c - counted repetitions against automata in which every repetition is written out: random patterns over
   a and b with bounds up to some dozens, ambiguous and nested, alone, with a bound on the length, and two at once; at
   each place of a random text every token is compared. SAMP_TEST_CASES=n plays n patterns of each kind. */
#define SAMPLING_GRAMMAR
#include "sampling.h"

#include "tests/support/source.h"
#include "tests/support/test.h"

/* ---- the vocabulary: bytes, all words of a and b up to five letters, runs, and words with a quote behind them ---- */

enum { N_SHORT = 2 + 4 + 8 + 16 + 32, N_RUNS = 8, WORDS = N_SHORT + N_RUNS, EOG = 256 + 2 * WORDS, N_VOCAB };
static char token_text[N_VOCAB][32];

static const char *token_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = token < 256 ? 1 : strlen(token_text[token]);
    return token_text[token];
}

static const samp_token eog_tokens[] = { EOG };
static const samp_vocab vocabulary = { N_VOCAB, token_bytes, NULL, NULL, eog_tokens, 1, EOG, -1 };
static samp_vocab_index *vocab_index;

static int begin(void **state)
{
    (void)state;
    static const int run[N_RUNS] = { 7, 8, 9, 12, 13, 16, 17, 24 };
    int at = 256;
    for (int i = 0; i < 256; i++) token_text[i][0] = (char)i;
    for (int length = 1; length <= 5; length++)
        for (int word = 0; word < 1 << length; word++, at++)
            for (int i = 0; i < length; i++) token_text[at][i] = "ab"[word >> i & 1];
    for (int i = 0; i < N_RUNS; i++, at++) memset(token_text[at], i % 3 ? 'a' : 'b', (size_t)run[i]);
    for (int i = 0; i < WORDS; i++, at++) sprintf(token_text[at], "%s\"", token_text[256 + i]);
    return !(vocab_index = samp_vocab_index_init(&vocabulary, NULL));
}

static int end(void **state)
{
    (void)state;
    samp_vocab_index_free(vocab_index);
    return 0;
}

/* ---- a pattern, as a text and as an automaton ---- */

enum { MOST_STATES = 700, MOST_PAIRS = 1 << 19, MOST_TEXT = 400 };
typedef struct {
    int next[2], free[2]; /* the states behind a and b; the states that need no letter; -1: none */
} automaton_state;
typedef struct {
    automaton_state at[MOST_STATES];
    int n, last;
} automaton;

static int add_state(automaton *m)
{
    const automaton_state none = { { -1, -1 }, { -1, -1 } };
    if (m->n == MOST_STATES) return MOST_STATES - 1;
    m->at[m->n] = none;
    return m->n++;
}

static void add_free(automaton *m, int from, int to) { m->at[from].free[m->at[from].free[0] >= 0] = to; }

/* Appends a random pattern to the text, and to the automaton from state `from` on. Returns the state behind it. With
   `text` NULL the automaton alone gets it once more: the same random numbers make the same pattern. */
static int make(source *rng, int depth, char *text, automaton *m, int from);

static void say(char *text, const char *more)
{
    if (text) strcat(text, more);
}

static int make_repeated(source *rng, int depth, char *text, automaton *m, int from)
{
    const source before = *rng;
    char bounds[32];
    static const int most[] = { 2, 3, 5, 9, 20, 60 };
    say(text, "(?:");
    automaton *unused = (automaton *)calloc(1, sizeof *unused); /* reads the numbers of the inside once */
    assert_non_null(unused);
    make(rng, depth - 1, text, unused, add_state(unused));
    free(unused);
    const int hi = 1 + (int)below(rng, (size_t)most[below(rng, depth > 2 ? 6 : 4)]);
    const int lo = below(rng, 3) ? (int)below(rng, (size_t)hi + 1) : below(rng, 2) ? hi : 0;
    const bool endless = below(rng, 8) == 0;
    if (endless)
        sprintf(bounds, "){%d,}", lo);
    else
        sprintf(bounds, "){%d,%d}", lo, hi);
    say(text, bounds);
    /* lo copies one after the other, then each further one may be left out; or the last one leads back to itself */
    int ways[64], n_ways = 0, now = from;
    for (int i = 0; i < (endless ? lo + 1 : hi) && m->n < MOST_STATES - 2; i++) {
        const int copy = add_state(m);
        add_free(m, now, copy);
        if (i >= lo) ways[n_ways++] = now;
        source again = before;
        now = make(&again, depth - 1, NULL, m, copy);
        const int behind = add_state(m);
        add_free(m, now, behind);
        now = behind;
        if (endless && i == lo) add_free(m, now, copy);
    }
    const int last = add_state(m);
    add_free(m, now, last);
    for (int i = 0; i < n_ways; i++) add_free(m, ways[i], last);
    return last;
}

static int make(source *rng, int depth, char *text, automaton *m, int from)
{
    const size_t kind = depth <= 0 ? 0 : below(rng, 8);
    if (kind < 2) { /* letters */
        for (size_t n = 1 + below(rng, 3); n > 0; n--) {
            const size_t letter = below(rng, 3);
            const int to = add_state(m);
            say(text, letter == 0 ? "a" : letter == 1 ? "b" : "[ab]");
            if (letter != 1) m->at[from].next[0] = to;
            if (letter != 0) m->at[from].next[1] = to;
            from = to;
        }
        return from;
    }
    if (kind < 4) { /* alternatives */
        const int fork = add_state(m);
        add_free(m, from, fork);
        int ends[2];
        say(text, "(?:");
        for (int i = 0; i < 2; i++) {
            const int way = add_state(m);
            add_free(m, fork, way);
            ends[i] = make(rng, depth - 1, text, m, way);
            say(text, i ? ")" : "|");
        }
        const int last = add_state(m);
        for (int i = 0; i < 2; i++) add_free(m, ends[i], last);
        return last;
    }
    if (kind == 4) {
        from = make(rng, depth - 1, text, m, from);
        const int between = add_state(m);
        add_free(m, from, between);
        return make(rng, depth - 1, text, m, between);
    }
    return make_repeated(rng, depth, text, m, from);
}

/* ---- both automata at once ---- */

typedef struct {
    int first, second;
} pair;
typedef struct {
    const automaton *m[2];
    uint8_t *alive; /* [n * n] some text leads from the pair to both ends */
    int *seen, round;
} both;

static int place_of(const both *b, pair p) { return p.first * b->m[1]->n + p.second; }

/* The pairs to which one step leads: with letter -1 those that need no letter. */
static int step(const both *b, pair p, int letter, pair *out)
{
    int n = 0;
    const automaton_state *x = &b->m[0]->at[p.first], *y = &b->m[1]->at[p.second];
    for (int i = 0; i < 2 && letter < 0; i++) {
        const pair one = { x->free[i], p.second }, two = { p.first, y->free[i] };
        if (one.first >= 0) out[n++] = one;
        if (two.second >= 0) out[n++] = two;
    }
    if (letter < 0) return n;
    const pair next = { x->next[letter], y->next[letter] };
    if (next.first >= 0 && next.second >= 0) out[n++] = next;
    return n;
}

static void find_alive(both *b)
{
    const pair last = { b->m[0]->last, b->m[1]->last };
    b->alive[place_of(b, last)] = 1;
    for (bool more = true; more;) {
        more = false;
        for (pair p = { b->m[0]->n - 1, 0 }; p.first >= 0; p.first--)
            for (p.second = b->m[1]->n - 1; p.second >= 0; p.second--) {
                pair out[4];
                uint8_t *alive = &b->alive[place_of(b, p)];
                for (int letter = -1; letter < 2 && !*alive; letter++)
                    for (int n = step(b, p, letter, out); n > 0 && !*alive; n--)
                        if (b->alive[place_of(b, out[n - 1])]) *alive = 1, more = true;
            }
    }
}

/* Adds what needs no letter; keeps only pairs that can still end. Returns how many there are. */
static int close_pairs(both *b, pair *list, int n)
{
    int kept = 0;
    b->round++;
    for (int i = 0; i < n; i++) {
        int *seen = &b->seen[place_of(b, list[i])];
        if (*seen != b->round && b->alive[place_of(b, list[i])]) list[kept++] = list[i];
        *seen = b->round;
    }
    for (int i = 0; i < kept; i++) {
        pair out[4];
        for (int k = step(b, list[i], -1, out); k > 0; k--) {
            int *seen = &b->seen[place_of(b, out[k - 1])];
            if (*seen == b->round || !b->alive[place_of(b, out[k - 1])]) continue;
            *seen = b->round;
            list[kept++] = out[k - 1];
        }
    }
    return kept;
}

static int read_letter(both *b, const pair *from, int n, int letter, pair *to)
{
    int n_to = 0;
    for (int i = 0; i < n; i++) n_to += step(b, from[i], letter, to + n_to);
    return close_pairs(b, to, n_to);
}

static bool has_end(const both *b, const pair *list, int n)
{
    bool found = false;
    for (int i = 0; i < n; i++) found |= list[i].first == b->m[0]->last && list[i].second == b->m[1]->last;
    return found;
}

/* Is a token of letters, and perhaps a quote behind them, possible here? */
static bool possible(both *b, const pair *list, int n, const char *token, pair *room)
{
    pair *now = room, *next = room + MOST_PAIRS;
    memcpy(now, list, (size_t)n * sizeof *now);
    for (; (*token == 'a' || *token == 'b') && n > 0; token++) {
        n = read_letter(b, now, n, *token == 'b', next);
        pair *other = now;
        now = next;
        next = other;
    }
    return n > 0 && (*token == 0 || (!strcmp(token, "\"") && has_end(b, now, n)));
}

/* ---- the comparison ---- */

static struct {
    long grammars, places, allowed;
} tally;

static void play(both *b, const char *text, bool quoted, source *rng, pair *room)
{
    samp_grammar_error error;
    own_grammar *g = samp_grammar_init(quoted ? SAMP_GRAMMAR_JSON_SCHEMA : SAMP_GRAMMAR_REGEX, text,
                                        quoted ? "compact" : NULL, &error);
    const pair start = { 0, 0 };
    pair *now = room + 2 * (size_t)MOST_PAIRS;
    now[0] = start;
    int n = close_pairs(b, now, 1);
    if (!g && (n == 0 ? error.status == SAMP_E_EMPTY : error.status == SAMP_E_RANGE)) return;
    if (!g) test_fail(__FILE__, __LINE__, "%s\n%s", text, error.message);
    tally.grammars++;
    for (int walk = 0; walk < 2; walk++) {
        own_sampler *s = samp_init_grammar(vocab_index, g);
        uint32_t bits[(N_VOCAB + 31) / 32];
        char read[200] = "";
        now[0] = start;
        n = close_pairs(b, now, 1);
        if (quoted) assert_int_equal(samp_accept(s, '"'), n ? SAMP_OK : SAMP_E_RANGE);
        while (strlen(read) < 150 && n > 0) {
            samp_token token, choice[N_VOCAB];
            size_t n_choices = 0;
            assert_ok(samp_grammar_mask(s, bits));
            tally.places++;
            for (samp_token t = 1; t < N_VOCAB - 1; t++) {
                const char *word = token_text[t];
                const bool want = (quoted || !strchr(word, '"')) && possible(b, now, n, word, room);
                if (want != (bits[t / 32] >> t % 32 & 1))
                    test_fail(__FILE__, __LINE__, "%s\nbehind %s: \"%s\" should be %d", text, read, word, want);
                if (want && !strchr(word, '"')) choice[n_choices++] = t;
            }
            if (!quoted) assert_int_equal(bits[EOG / 32] >> EOG % 32 & 1, has_end(b, now, n));
            tally.allowed += (long)n_choices;
            if (n_choices == 0) break;
            token = choice[below(rng, n_choices)];
            if (below(rng, 3)) token = choice[0]; /* one letter: more places */
            assert_ok(samp_accept(s, token));
            strcat(read, token_text[token]);
            for (const char *at = token_text[token]; *at; at++) {
                n = read_letter(b, now, n, *at == 'b', room);
                memcpy(now, room, (size_t)n * sizeof *now);
            }
        }
    }
}

/* A random pattern that is not too large. */
static void make_pattern(source *rng, int depth, char *text, automaton *m)
{
    do {
        *text = 0;
        m->n = 0;
        m->last = make(rng, depth, text, m, add_state(m));
        const int last = add_state(m);
        add_free(m, m->last, last);
        m->last = last;
    } while (m->n >= MOST_STATES - 2 || strlen(text) > MOST_TEXT);
}

/* Any text of a and b of at least lo and at most hi letters. */
static void make_length(automaton *m, int lo, int hi)
{
    m->n = 0;
    for (int i = 0; i <= hi; i++) add_state(m);
    m->last = add_state(m);
    for (int i = 0; i < hi; i++) m->at[i].next[0] = m->at[i].next[1] = i + 1;
    for (int i = lo; i <= hi; i++) add_free(m, i, m->last);
}

/* Any number of times one random pattern, or at most 60 times, and then another: long texts. */
static void make_long_pattern(source *rng, char *text, automaton *m)
{
    do {
        const int most = below(rng, 2) ? 0 : 30 + (int)below(rng, 31);
        strcpy(text, "(?:");
        m->n = 0;
        const int first = add_state(m), last = add_state(m);
        const source before = *rng;
        for (int i = 0, now = first; i < (most ? most : 1); i++) {
            const int copy = add_state(m), behind = add_state(m);
            *rng = before;
            add_free(m, now, copy);
            add_free(m, now, last);
            add_free(m, make(rng, 1, i ? NULL : text, m, copy), behind);
            if (!most) add_free(m, behind, first);
            if (i + 1 == most) add_free(m, behind, last);
            now = behind;
        }
        sprintf(text + strlen(text), most ? "){0,%d}" : ")*", most);
        const int behind = make(rng, 2, text, m, last);
        m->last = add_state(m);
        add_free(m, behind, m->last);
    } while (m->n >= MOST_STATES - 2 || strlen(text) > MOST_TEXT);
}

enum { ALONE, LENGTH, LONG, TWO };
static void play_kind(int kind, uint64_t n, uint64_t stream)
{
    static automaton m[2];
    static char pattern[2][4096], text[10000];
    pair *room = (pair *)malloc(3 * (size_t)MOST_PAIRS * sizeof *room);
    assert_non_null(room);
    memset(&tally, 0, sizeof tally);
    for (uint64_t i = 0; i < n; i++) {
        source rng = source_stream(stream + i);
        both b = { { &m[0], &m[1] }, NULL, NULL, 0 };
        if (kind == LONG)
            make_long_pattern(&rng, pattern[0], &m[0]);
        else
            make_pattern(&rng, kind == TWO ? 3 : 4, pattern[0], &m[0]);
        const int hi = 1 + (int)below(&rng, 150), lo = below(&rng, 2) ? 0 : (int)below(&rng, (size_t)hi);
        if (kind == ALONE) {
            m[1].n = 0;
            m[1].last = add_state(&m[1]);
            m[1].at[0].next[0] = m[1].at[0].next[1] = 0;
            sprintf(text, "%s", pattern[0]);
        } else if (kind < TWO) {
            make_length(&m[1], lo, hi);
            sprintf(text, "{\"type\":\"string\",\"pattern\":\"^(?:%s)$\",\"minLength\":%d,\"maxLength\":%d}",
                    pattern[0], lo, hi);
        } else {
            make_pattern(&rng, 3, pattern[1], &m[1]);
            sprintf(text, "{\"allOf\":[{\"type\":\"string\",\"pattern\":\"^(?:%s)$\"},{\"pattern\":\"^(?:%s)$\"}]}",
                    pattern[0], pattern[1]);
        }
        if (m[0].n * m[1].n > MOST_PAIRS / 4) continue;
        b.alive = (uint8_t *)calloc((size_t)m[0].n * (size_t)m[1].n, 1);
        b.seen = (int *)calloc((size_t)m[0].n * (size_t)m[1].n, sizeof *b.seen);
        assert_true(b.alive && b.seen);
        find_alive(&b);
        play(&b, text, kind != ALONE, &rng, room);
        free(b.alive);
        free(b.seen);
    }
    free(room);
    print_message("  %ld grammars, %ld places, %ld tokens allowed\n", tally.grammars, tally.places, tally.allowed);
    assert_true(tally.grammars * 4 >= (long)n);
}

TEST(test_alone) { play_kind(ALONE, cases(150, 3), 41000000); }

TEST(test_length) { play_kind(LENGTH, cases(100, 2), 42000000); }

TEST(test_long) { play_kind(LONG, cases(100, 2), 44000000); }

TEST(test_two) { play_kind(TWO, cases(100, 2), 43000000); }

/* Counts far beyond every token: no mask and no token may take more than a small part of the steps. */
TEST(test_far)
{
    static const char *const far[] = { "(a|aa){1,5000}", "(a|aa){5000}", "((a|ab|b){1,300}b?){1,300}",
                                       "(a|b|[ab]{2,3}){2000,9000}", "((a|aa){20,100}b?){20,100}" };
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, far[i], NULL, NULL);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        uint32_t bits[(N_VOCAB + 31) / 32];
        assert_ok(samp_set_grammar_limits(s, (size_t)1 << 26, 1 << 16));
        for (int k = 0; k < 700; k++) {
            assert_ok(samp_grammar_mask(s, bits));
            assert_ok(samp_accept(s, 'a'));
        }
    }
}

/* Two counts far beyond every token, which only together decide what may follow: the bytes a, b and " behind a text. */
TEST(test_far_together)
{
    static const struct {
        const char *keywords, *behind, *allowed;
    } cases[] = {
        { "\"pattern\":\"^(a+b){0,100000}a+$\",\"minLength\":100000", "\"", "a" },
        { "\"pattern\":\"^(a+b){0,100000}a+$\",\"minLength\":100000", "\"aab", "a" },
        { "\"pattern\":\"^(a+b){0,100000}a+$\",\"minLength\":100000", "\"aabaaba", "ab" },
        { "\"pattern\":\"^(aa?b){50000,}a+$\",\"maxLength\":100001", "\"a", "b" },
        { "\"pattern\":\"^(aa?b){50000,}a+$\",\"maxLength\":100001", "\"abab", "a" },
        { "\"pattern\":\"^(aa?b){50000,}a+$\",\"maxLength\":100002", "\"aba", "ab" },
        { "\"pattern\":\"^(aa?b){50000,}a+$\",\"maxLength\":100002", "\"abaaba", "b" },
        { "\"pattern\":\"^(aa?b){50000,}a+$\",\"maxLength\":100000", "", "" },
        { "\"pattern\":\"^[ab]{0,99999}$\",\"minLength\":100000", "", "" },
        { "\"pattern\":\"^[ab]{0,99999}$\",\"minLength\":99999", "\"ab", "ab" },
        { "\"pattern\":\"^[ab]{0,3}$\",\"maxLength\":100000", "\"ab", "ab\"" },
        { "\"allOf\":[{\"pattern\":\"^(a+b){0,100000}a+$\"},{\"pattern\":\"^(aa+b)*a{3,100000}$\"}],"
          "\"minLength\":100000",
          "\"aaba", "a" },
        { "\"allOf\":[{\"pattern\":\"^(a+b){0,100000}a+$\"},{\"pattern\":\"^(a+b){100000,}a+$\"}]", "\"aba", "ab" },
        { "\"not\":{\"pattern\":\"^(a+b){0,100000}a+$\"},\"minLength\":100000", "\"aba", "ab" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char schema[300], allowed[4];
        size_t n = 0;
        uint32_t bits[(N_VOCAB + 31) / 32];
        sprintf(schema, "{\"type\":\"string\",%s}", cases[i].keywords);
        samp_grammar_error error;
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema, "compact", &error);
        if (!g && !*cases[i].allowed && error.status == SAMP_E_EMPTY) continue; /* found before any text */
        assert_non_null(g);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        for (const char *at = cases[i].behind; *at; at++) {
            assert_ok(samp_grammar_mask(s, bits));
            assert_ok(samp_accept(s, *at));
        }
        if (samp_grammar_mask(s, bits)) test_fail(__FILE__, __LINE__, "%s behind %s: full", schema, cases[i].behind);
        for (const char *at = "ab\""; *at; at++)
            if (bits[*at / 32] >> *at % 32 & 1) allowed[n++] = *at;
        allowed[n] = 0;
        if (strcmp(allowed, cases[i].allowed))
            test_fail(__FILE__, __LINE__, "%s behind %s: %s", schema, cases[i].behind, allowed);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, begin, end); }
