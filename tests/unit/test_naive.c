/* test_naive.c - masks of grammars against the naive matcher (naive_grammar.h), which shares nothing with the real one
   but the tree: random grammars of each kind, random walks, and at each place of them both are asked of every token.
   SAMP_TEST_CASES=n plays n grammars of each kind; what fails prints the grammar and the text so far. */
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#define SAMPI_MEMO 8 /* what is remembered there is soon another one */
#include "sampling.h"

#include "tests/support/json_gbnf.h"
#include "tests/support/naive_grammar.h"
#include "tests/support/random_grammar.h"
#include "tests/support/small_index.h"
#include "tests/support/test.h"

/* What has been compared: the naive matcher may not know (an AND), and then only the walk tells. */
static struct {
    long grammars, refused, endless, places, tokens, perhaps, full, drafted, certain;
} tally;

/* A walk: the text that both have seen. */
typedef struct {
    const char *grammar_text;
    const samp_grammar *grammar;
    char text[80];
    size_t n;
} place;

enum { ROOM = 32 }; /* no word is longer */

static int naive_says(place *p, const char *bytes, size_t n, bool whole)
{
    memcpy(p->text + p->n, bytes, n);
    naive m = naive_begin(&p->grammar->tree, p->text, p->n + n);
    sampi_node root = sampi_grammar_rule_at(&p->grammar->tree, p->grammar->root)->body;
    int known = whole ? naive_matches(&m, root) : naive_continues(&m, root);
    naive_end(&m);
    return known;
}

/* Both at one place. */
static void compare(place *p, samp_sampler *s, const uint32_t *bits, source *rng)
{
    bool any = false, whole = naive_says(p, "", 0, true);
    tally.places++;
    if (samp_grammar_is_complete(s) != whole || bit(bits, EOG) != whole)
        test_fail(__FILE__, __LINE__, "%s\n\"%.*s\" is %sone of its texts", p->grammar_text, (int)p->n, p->text,
                  whole ? "" : "not ");
    for (samp_token token = 0; token < EOG; token++) {
        bool in = bit(bits, token);
        size_t n;
        const char *bytes = token_bytes(NULL, token, &n);
        any = any || in;
        if (token < 256 && !in && below(rng, 8)) continue; /* few of the many that are out */
        if (token == 0) continue;                          /* no token begins with a 0 */
        int known = naive_says(p, bytes, n, false);
        tally.tokens++;
        tally.perhaps += known == NAIVE_PERHAPS;
        if (p->grammar->unique) {
            samp_sampler *copy = samp_clone(s);
            if (in != (samp_accept(copy, token) == SAMP_OK))
                test_fail(__FILE__, __LINE__, "%s\nbehind \"%.*s\" token %d \"%.*s\" is %d in the mask, not so accepted",
                          p->grammar_text, (int)p->n, p->text, token, (int)n, bytes, in);
            samp_free(copy);
        }
        if (known != NAIVE_PERHAPS && in != (known == NAIVE_YES))
            test_fail(__FILE__, __LINE__, "%s\nbehind \"%.*s\" token %d \"%.*s\" is %d in the mask", p->grammar_text,
                      (int)p->n, p->text, token, (int)n, bytes, in);
    }
    if (!any && !whole && p->n > 0) /* nothing at all may be a grammar's text */
        test_fail(__FILE__, __LINE__, "%s\n\"%.*s\" is a dead end", p->grammar_text, (int)p->n, p->text);
}

/* The tokens of bytes [n] that must follow, by masks: of those that are allowed the longest within them, unless another
   one begins with all that is left of them and goes on. */
static void compare_draft(const place *p, const samp_sampler *now, const char *bytes, size_t n)
{
    samp_token told[100], sure[100];
    samp_sampler *s = samp_clone(now);
    uint32_t bits[(N_VOCAB + 31) / 32];
    int64_t n_told = samp_grammar_draft(s, told, 100), n_sure = samp_grammar_certain(s, sure, 100), all = 0,
            certain = -1;
    if (n_told < 0 || n_sure < 0) n_told = n_sure = -1; /* a limit */
    for (size_t at = 0; n_told >= 0 && samp_grammar_mask(s, bits) == SAMP_OK; all++) {
        samp_token longest = -1;
        size_t length = 0, many = 0, size;
        bool goes_on = false;
        for (samp_token token = 1; token < EOG; token++) {
            const char *piece = token_bytes(NULL, token, &size);
            many += bit(bits, token);
            goes_on |= bit(bits, token) && size > n - at;
            if (bit(bits, token) && size > length && size <= n - at && !memcmp(piece, bytes + at, size))
                longest = token, length = size;
        }
        if (many != 1 && certain < 0) certain = all;
        if (goes_on || longest < 0) break;
        if (all >= n_told || told[all] != longest) n_told = -2;
        assert_ok(samp_accept(s, longest));
        at += length;
    }
    samp_free(s);
    if (certain < 0 || certain > all) certain = all;
    if (n_told == -1) return;
    if (n_told != all || n_sure != certain || memcmp(told, sure, (size_t)n_sure * sizeof *told))
        test_fail(__FILE__, __LINE__,
                  "%s\nbehind \"%.*s\" \"%.*s\" must follow: %d tokens, %d of them certain, told %d, %d",
                  p->grammar_text, (int)p->n, p->text, (int)n, bytes, (int)all, (int)certain, (int)n_told,
                  (int)n_sure);
    tally.drafted += all;
    tally.certain += certain;
}

/* What must follow, by masks: while they have one byte and no end. */
static void compare_forced(place *p, const samp_sampler *now)
{
    enum { MOST = 100 };
    char want[MOST], got[MOST] = "";
    samp_sampler *s = samp_clone(now);
    uint32_t bits[(N_VOCAB + 31) / 32];
    int64_t n = 0, whole = 0, told = samp_grammar_forced(s, got, sizeof got);
    bool good = true;
    int only = -1;
    for (int left = 0; n < MOST && samp_grammar_mask(s, bits) == SAMP_OK && !bit(bits, EOG);) {
        int many = 0;
        only = -1;
        for (samp_token byte = 0; byte < 256; byte++)
            if (bit(bits, byte)) only = byte, many++;
        if (many != 1 || only == 0) break;
        if (n == 0 && (only & 0xc0) == 0x80) n = MOST; /* in the middle of a character */
        if (n == MOST) break;
        left = only < 0x80 ? 0 : only >= 0xf0 ? 3 : only >= 0xe0 ? 2 : only >= 0xc0 ? 1 : left - 1;
        want[n++] = (char)only;
        if (left == 0) whole = n;
        assert_ok(samp_accept(s, only));
    }
    samp_free(s);
    if (n < MOST && told >= 0) good = told == whole && !memcmp(want, got, (size_t)whole);
    if (good && n < MOST && only != 0) compare_draft(p, now, want, (size_t)n);
    if (!good)
        test_fail(__FILE__, __LINE__, "%s\nbehind \"%.*s\" %d bytes must follow, and %d are told", p->grammar_text,
                  (int)p->n, p->text, (int)whole, (int)told);
}

static void walk(place *p, source *rng)
{
    samp_sampler *s = samp_init_grammar(vocab_index, p->grammar);
    uint32_t bits[(N_VOCAB + 31) / 32];
    assert_ok(samp_status(s, NULL));
    while (p->n + 2 * ROOM < sizeof p->text) {
        int status = samp_grammar_mask(s, bits);
        if (status == SAMP_E_FULL) {
            tally.full++;
            break;
        }
        assert_ok(status);
        compare(p, s, bits, rng);
        compare_forced(p, s);
        samp_token choices[N_VOCAB], token;
        size_t n_choices = 0, n;
        for (token = 1; token < EOG; token++)
            if (bit(bits, token)) choices[n_choices++] = token;
        if (n_choices == 0) break;
        token = choices[below(rng, n_choices)];
        assert_ok(samp_accept(s, token));
        const char *bytes = token_bytes(NULL, token, &n);
        memcpy(p->text + p->n, bytes, n);
        p->n += n;
    }
    samp_free(s);
}

/* Has every rule a text? Where one leads back to itself without end, its beginnings are allowed, as in llama.cpp, and
   to the naive matcher they are beginnings of nothing. */
static bool ends(const samp_grammar *g)
{
    bool all = true;
    naive m = naive_begin(&g->tree, "", 0);
    for (int32_t i = 0; i < g->tree.rules.n && all; i++) {
        const sampi_rule *rule = sampi_grammar_rule_at(&g->tree, i);
        all = rule->body < 0 || naive_continues(&m, rule->body) != NAIVE_NO;
    }
    naive_end(&m);
    return all;
}

static void play(samp_grammar_kind kind, const char *text, source *rng, int walks)
{
    samp_grammar_error error;
    samp_grammar *g = samp_grammar_init(kind, text, kind == SAMP_GRAMMAR_JSON_SCHEMA ? "compact" : NULL, &error);
    if (!g) { /* a random one may be too much to ask, or have no text, but must not be more */
        if (error.status != SAMP_E_FORMAT && error.status != SAMP_E_UNSUPPORTED && error.status != SAMP_E_RANGE &&
            error.status != SAMP_E_EMPTY)
            test_fail(__FILE__, __LINE__, "%s\n%d %s", text, error.status, error.message);
        tally.refused++;
        return;
    }
    tally.grammars++;
    tally.endless += !ends(g);
    for (int i = 0; i < walks && ends(g); i++) {
        place p = { text, g, { 0 }, 0 };
        walk(&p, rng);
    }
    samp_grammar_free(g);
}

/* The grammars of a kind. At least half of them must be right. */
static void play_kind(samp_grammar_kind kind, const char *(*make)(maker *, source), uint64_t n, uint64_t stream)
{
    static maker m;
    memset(&tally, 0, sizeof tally);
    for (uint64_t i = 0; i < n; i++) {
        source rng = source_stream(stream + i);
        play(kind, make(&m, rng), &rng, 2);
    }
    print_message("  %ld grammars (%ld refused, %ld endless), %ld places, %ld tokens, of %ld the naive one does not "
                  "know; %ld full; %ld tokens drafted, %ld certain\n",
                  tally.grammars, tally.refused, tally.endless, tally.places, tally.tokens, tally.perhaps, tally.full,
                  tally.drafted, tally.certain);
    assert_true(tally.grammars >= tally.refused && tally.full * 20 <= tally.places);
}

TEST(test_gbnf) { play_kind(SAMP_GRAMMAR_GBNF, random_grammar, cases(80, 2), 1000000); }

TEST(test_regex) { play_kind(SAMP_GRAMMAR_REGEX, random_regex, cases(200, 4), 2000000); }

/* Items that must differ: the matcher compares them itself. What the mask has is also what is accepted. */
TEST(test_unique)
{
    static const char *const schemas[] = {
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\",\"pattern\":\"^[a1]{0,2}$\"}}",
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":[\"integer\",\"null\"],\"minimum\":-1,"
        "\"maximum\":12}}",
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":[\"number\",\"boolean\",\"string\"]},"
        "\"maxItems\":6}",
        "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":2,\"items\":{\"anyOf\":["
        "{\"const\":"
        "\"aaa\"},{\"enum\":[\"ab\",0,1,\"a\"]},{\"pattern\":\"^b+$\",\"type\":\"string\"}]}}}",
        "{\"type\":\"object\",\"minProperties\":3,\"propertyNames\":{\"pattern\":\"^[ab1]{1,2}$\"},"
        "\"additionalProperties\":"
        "{\"enum\":[0,\"a,\",[1,\"b\"]]}}",
        "{\"type\":\"object\",\"minProperties\":2,\"properties\":{\"a\":{\"const\":1}},\"additionalProperties\":{"
        "\"type\":"
        "[\"string\",\"object\"],\"maxLength\":2,\"maxProperties\":1,\"minProperties\":1}}",
    };
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < TEST_COUNT(schemas); i++) {
        source rng = source_stream(4000000 + i);
        play(SAMP_GRAMMAR_JSON_SCHEMA, schemas[i], &rng, (int)cases(12, 1));
    }
    assert_num(tally.grammars, TEST_COUNT(schemas));
    assert_num(tally.endless + tally.full, 0);
}

TEST(test_schema) { play_kind(SAMP_GRAMMAR_JSON_SCHEMA, random_schema, cases(16, 1), 3000000); }

/* Where most characters lead to one state, or where counts are large: the sets of tokens of the states beside it, or of
   the states with other counts, are made of one state's set. */
TEST(test_usual_states)
{
    static const struct {
        samp_grammar_kind kind;
        const char *text;
    } of[] = {
        { SAMP_GRAMMAR_REGEX, "(?:the|abe+|x[12]*;|[ -~]*)" },
        { SAMP_GRAMMAR_REGEX, "(?:ab|a\\d|[^ab]*|the[^e]*)(?:;|ab)*" },
        { SAMP_GRAMMAR_REGEX, "\"(?:ab|the|[^\"\\\\]*x?)\":[12]" },
        { SAMP_GRAMMAR_GBNF, "root ::= member*\nmember ::= name \":\" (name | root) \";\"\nname ::= \"ab\" | \"the\" "
                             "[1-9]* | [^:;]* | [a-x ]* \"1\" | \"(\" root \")\"" },
        { SAMP_GRAMMAR_GBNF, "root ::= [^\"]* quoted root | \"the\" | \"ab\" root\nquoted ::= \"\\\"\" [^\"]* "
                             "\"\\\"\" | \"\\\"ab\" quoted" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":{\"type\":\"integer\"},\"ab\":{\"enum\":[\"the\",null]},"
                                    "\"the\":{\"items\":{\"$ref\":\"#\"}}},\"additionalProperties\":{\"type\":"
                                    "\"string\",\"minLength\":1}}" },
        { SAMP_GRAMMAR_REGEX, "[a-x]{1,61}(?:;[a-x1-3]{20,50})?" },
        { SAMP_GRAMMAR_REGEX, "(?:\\w+ ){0,40}\\w+(?:;[^;]{30,45};)?" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"type\":\"string\",\"maxLength\":60,\"pattern\":\"^(?:\\\\S+\\\\s+){0,19}\\\\S+$\"}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":70,\"pattern\":\"^(?:[a-x]+ ){0,30}[a-x1]\"}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"minLength\":2,\"maxLength\":45,\"pattern\":\"1|the+x\"}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"not\":{\"enum\":[\"a\",\"ab\",\"the\",\"x1\"]}}" },
    };
    memset(&tally, 0, sizeof tally);
    for (size_t i = 0; i < TEST_COUNT(of); i++) {
        source rng = source_stream(4000000 + i);
        play(of[i].kind, of[i].text, &rng, (int)cases(20, 1));
    }
    assert_num(tally.grammars, TEST_COUNT(of));
    assert_num(tally.endless + tally.full, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv, make_index, free_index); }
