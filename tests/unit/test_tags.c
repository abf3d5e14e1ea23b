/* test_tags.c - structural tags: what each format takes, against texts and against GBNF that says the same; what is wrong
   with one, by its place. */
#define SAMPLING_GRAMMAR
#include "sampling.h"

#include "tests/support/test.h"

/* All bytes, and tokens that triggers, tags and their ends begin or end within. */
static const char *const words[] = { "<f",     "<f=", "a<",       "<<",     "f=b>",       "</",       "</t",
                                     "t>x",    " <",  "\xc3\xa9", "><",     "<f=a>\"x\"", "</t></t>", "b<f=a",
                                     "\"yy\"", "ab",  "aab",      "<tool>", "x</t><" };
enum { N_WORDS = sizeof words / sizeof *words, EOG = 256 + N_WORDS, TOOL, N_VOCAB, N_MASK = (N_VOCAB + 31) / 32 };

static const char *piece(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char byte[256];
    (void)vocab;
    *n = 0;
    if (token == EOG) return "";
    if (token == TOOL) return NULL;
    if (token >= 256) {
        *n = strlen(words[token - 256]);
        return words[token - 256];
    }
    *n = 1;
    byte[token] = (char)token;
    return &byte[token];
}

static const samp_token eog_tokens[] = { EOG };
static samp_vocab vocabulary = { N_VOCAB, piece, NULL, NULL, eog_tokens, 1, EOG, -1 };
static samp_vocab_index *vocab_index;

static int set_up(void **state)
{
    (void)state;
    return !(vocab_index = samp_vocab_index_init(&vocabulary, NULL));
}
static int tear_down(void **state)
{
    (void)state;
    samp_vocab_index_free(vocab_index);
    return 0;
}

static bool bit(const uint32_t *bits, samp_token token) { return bits[token / 32] >> token % 32 & 1; }

static samp_grammar *read_tags(const char *text, const char *options)
{
    samp_grammar_error error;
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, options, &error);
    if (!g)
        test_fail(__FILE__, __LINE__, "%s\n%d at %zu:%zu: %s", text, error.status, error.line, error.column,
                  error.message);
    return g;
}

#define FORMAT(text) "{\"type\":\"structural_tag\",\"format\":" text "}"
#define X_OR_YY      "{\"type\":\"json_schema\",\"json_schema\":{\"enum\":[\"x\",\"yy\"]}}"
#define A            "{\"type\":\"const_string\",\"value\":\"a\"}"
#define TAG_A        "{\"begin\":\"<f=a>\",\"content\":" X_OR_YY ",\"end\":\"</t>\"}"
#define TAG_B        "{\"type\":\"tag\",\"begin\":\"<f=b>\",\"content\":" A ",\"end\":[\"</t>\",\"!\"]}"
#define RE(pattern)  "{\"type\":\"regex\",\"pattern\":\"" pattern "\"}"
#define TRIGGERED(flags) \
    FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\"],\"tags\":[" TAG_A "," TAG_B "]" flags "}")
#define SEPARATED(flags) \
    FORMAT("{\"type\":\"tags_with_separator\",\"separator\":\", \",\"tags\":[" TAG_A "," TAG_B "]" flags "}")
#define OLD \
    "{\"structures\":[{\"begin\":\"<f=a>\",\"schema\":{\"enum\":[\"x\",\"yy\"]},\"end\":\"</" \
    "t>\"},{\"begin\":\"<f=b>\"," \
    "\"schema\":{\"const\":\"a\"},\"end\":\"!\"}],\"triggers\":[\"<f=\"]}"
#define THINK "{\"type\":\"tag\",\"begin\":\"<t>\",\"content\":{\"type\":\"any_text\"},\"end\":\"</t>\"}"

/* What is taken, what is only a beginning, and what is refused. */
TEST(test_texts)
{
    static const struct {
        const char *tags, *good[5], *begun[4], *bad[5];
    } cases[] = {
        { OLD,
          { "", "any <text> <f", "<f=a>\"x\"</t>", "1 <f=b>\"a\"! 2 <f=a>\"yy\"</t> 3" },
          { "<f=", "<f=a>\"x\"", "<<f=" },
          { "<f=c", "<f=a>\"a", "<f=a>\"x\"!" } },
        { TRIGGERED(""),
          { "", "hi <f", "<f=a>\"x\"</t>", "1<f=b>a!<f=b>a</t>2" },
          { "<f=", "hi <f=a>" },
          { "<f=c", "<f=a> " } },
        { TRIGGERED(",\"at_least_one\":true"),
          { "<f=b>a! and <f=b>a</t> on" },
          { "", "<f" },
          { "hi", " <f=b>a!", "<<" } },
        { TRIGGERED(",\"stop_after_first\":true"),
          { "", "hi", "hi <f=b>a!" },
          { "<f=" },
          { "hi <f=b>a!!", "<f=b>a!<" } },
        { TRIGGERED(",\"stop_after_first\":true,\"at_least_one\":true"),
          { "<f=b>a!" },
          { "<" },
          { "hi", "<f=b>a!!" } },
        { TRIGGERED(",\"excludes\":[\"no\",\"xf\"]"),
          { "n", "x <f=b>a!" },
          { "n<f=" },
          { "no", "n<f=b>a!no", "xf" } },
        { SEPARATED(""), { "", "<f=b>a!", "<f=b>a!, <f=a>\"x\"</t>" }, { "<f=b>a!," }, { " ", "<f=b>a! " } },
        { SEPARATED(",\"at_least_one\":true"), { "<f=b>a!", "<f=b>a!, <f=b>a!" }, { "" }, { "," } },
        { SEPARATED(",\"stop_after_first\":true"), { "", "<f=b>a!" }, { "<" }, { "<f=b>a!," } },
        { SEPARATED(",\"stop_after_first\":true,\"at_least_one\":true"), { "<f=b>a!" }, { "" }, { "<f=b>a!," } },
        { FORMAT("{\"type\":\"sequence\",\"elements\":[" THINK "," A "]}"),
          { "<t></t>a", "<t>x < </ </t </t>a" },
          { "<t>a", "<t></t>" },
          { "a", "<t></t></t>" } },
        { FORMAT("{\"type\":\"or\",\"elements\":[" A
                 ",{\"type\":\"regex\",\"pattern\":\"[b-d]{2}\"},{\"type\":\"grammar\","
                 "\"grammar\":\"root ::= x \\\"!\\\"\\nx ::= \\\"no\\\"\"},{\"type\":\"grammar\",\"grammar\":\"root "
                 "::= x\\n"
                 "x ::= \\\"yes\\\"\"}]}"),
          { "a", "bd", "no!", "yes" },
          { "b", "no" },
          { "yes!", "bb2" } },
        { FORMAT("{\"type\":\"optional\",\"content\":" A "}"), { "", "a" }, { NULL }, { "aa" } },
        { FORMAT("{\"type\":\"plus\",\"content\":" A "}"), { "a", "aaa" }, { "" }, { "b" } },
        { FORMAT("{\"type\":\"star\",\"content\":" A "}"), { "", "aaa" }, { NULL }, { "b" } },
        { FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":3,\"content\":" A "}"),
          { "aa", "aaa" },
          { "a" },
          { "aaaa" } },
        { FORMAT("{\"type\":\"repeat\",\"min\":2,\"max\":-1,\"content\":" A "}"),
          { "aa", "aaaaaa" },
          { "a" },
          { "b" } },
        { FORMAT("{\"type\":\"any_text\",\"max_chars\":2}"),
          { "", "a", "\xc3\xa9\xc3\xa9" },
          { "a\xc3" },
          { "abc" } },
        { FORMAT("{\"type\":\"any_text\",\"excludes\":[\"ab\",\"b\"]}"), { "", "aac" }, { "\xc3" }, { "ab", "cb" } },
        { FORMAT("{\"type\":\"dispatch\",\"rules\":[[\"<\"," A "],[\"ab\"," A "]]}"),
          { "", "x<a<aaba", "a" },
          { "<", "ab" },
          { "<b", "abb" } },
        { FORMAT("{\"type\":\"dispatch\",\"loop\":false,\"rules\":[[\"<\"," A "]]}"),
          { "", "x<a" },
          { "<" },
          { "<a<", "<b" } },
        /* a tag within a tag's free text: the outer one's end is no text of it */
        { FORMAT("{\"type\":\"tag\",\"begin\":\"[\",\"end\":\"]\",\"content\":{\"type\":\"triggered_tags\","
                 "\"triggers\":[\"<f=\"],"
                 "\"tags\":[" TAG_B "]}}"),
          { "[]", "[x <f=b>a! y]" },
          { "[", "[<f=b>a!" },
          { "]", "[]]", "[<f=]" } },
        /* a regular expression begins a tag, alone and behind free text */
        { FORMAT("{\"type\":\"tag\",\"begin\":" RE("<f(=[a-z]+)?>") ",\"content\":" A ",\"end\":\"!\"}"),
          { "<f>a!", "<f=abc>a!" },
          { "<f=ab" },
          { "<f=>", "<f=1" } },
        { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f=\",\"<g\"],\"tags\":[{\"begin\":" RE(
              "<f=(a|b)[0-9]+>") ",\"content\":" A ",\"end\":\"!\"},{\"begin\":\"<g>\",\"content\":" A
                                 ",\"end\":\"!\"}]}"),
          { "", "x < <f", "x<f=a1>a!<f=b22>a! <g>a!" },
          { "<f=a", "<g>" },
          { "<f=c", "<f=a>", "<gg" } },
        { FORMAT("{\"type\":\"json_schema\",\"style\":\"json\",\"json_schema\":true}"),
          { "1", "[]" },
          { "" },
          { "x" } },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        own_grammar *g = read_tags(cases[i].tags, NULL);
        for (int kind = 0; kind < 3; kind++) {
            const char *const *text = kind == 0 ? cases[i].good : kind == 1 ? cases[i].begun : cases[i].bad;
            const int want = kind == 0 ? 1 : kind == 1 ? 0 : -1;
            for (int k = 0; k < (kind == 1 ? 4 : 5) && text[k]; k++)
                if (test_fares(vocab_index, g, text[k]) != want)
                    test_fail(__FILE__, __LINE__, "%s\n\"%s\" is %d, not %d", cases[i].tags, text[k],
                              test_fares(vocab_index, g, text[k]), want);
        }
    }
}

/* A schema's words go for all schemas inside, and any_order counts before "ordered". */
TEST(test_options)
{
    static const char json[] =
        "{\"type\":\"json_schema\",\"json_schema\":{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2}},"
        "\"type\":\"object\",\"required\":[\"a\",\"b\"],\"additionalProperties\":false}%s}";
    static const struct {
        const char *options, *order;
        int in_order, other, spaced;
    } cases[] = { { NULL, "", 1, 1, 1 },
                  { "ordered", "", 1, -1, 1 },
                  { "ordered compact", "", 1, -1, -1 },
                  { "ordered compact", ",\"any_order\":true", 1, 1, -1 },
                  { NULL, ",\"any_order\":false", 1, -1, 1 },
                  { "ordered spaced", "", -1, -1, 1 },
                  { "space=0", "", 1, 1, -1 },
                  { "spaced", ",\"max_whitespace_cnt\":0", 1, 1, -1 },
                  { "compact", ",\"max_whitespace_cnt\":1", 1, 1, 1 } };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char format[512], text[600];
        snprintf(format, sizeof format, json, cases[i].order);
        snprintf(text, sizeof text, FORMAT("%s"), format);
        own_grammar *g = read_tags(text, cases[i].options);
        assert_num(test_fares(vocab_index, g, "{\"a\":1,\"b\":2}"), cases[i].in_order);
        assert_num(test_fares(vocab_index, g, "{\"b\":2,\"a\":1}"), cases[i].other);
        assert_num(test_fares(vocab_index, g, "{\"a\": 1, \"b\": 2}"), cases[i].spaced);
    }
}

#define TAG_OF_GBNF "t ::= \"a>\" (\"\\\"x\\\"\" | \"\\\"yy\\\"\") \"</t>\" | \"b>a\" (\"</t>\" | \"!\")\n"

/* The same as automata in GBNF, a rule for each state of a search: the same masks along random walks. */
TEST(test_same_as_gbnf)
{
    static const struct {
        const char *tags, *gbnf;
    } cases[] = {
        { TRIGGERED(""), TAG_OF_GBNF "root ::= [^<] root | \"<\" one | \"\"\n"
                                     "one ::= \"<\" one | \"f\" two | [^<f] root | \"\"\n"
                                     "two ::= \"<\" one | \"=\" t root | [^<=] root | \"\"\n" },
        { TRIGGERED(",\"stop_after_first\":true"), TAG_OF_GBNF "root ::= [^<] root | \"<\" one | \"\"\n"
                                                               "one ::= \"<\" one | \"f\" two | [^<f] root | \"\"\n"
                                                               "two ::= \"<\" one | \"=\" t | [^<=] root | \"\"\n" },
        { TRIGGERED(",\"at_least_one\":true"),
          TAG_OF_GBNF "root ::= \"<f=\" t free\nfree ::= [^<] free | \"<\" one | \"\"\n"
                      "one ::= \"<\" one | \"f\" two | [^<f] free | \"\"\n"
                      "two ::= \"<\" one | \"=\" t free | [^<=] free | \"\"\n" },
        { TRIGGERED(",\"excludes\":[\"<a\"]"), TAG_OF_GBNF "root ::= [^<] root | \"<\" one | \"\"\n"
                                                           "one ::= \"<\" one | \"f\" two | [^<fa] root | \"\"\n"
                                                           "two ::= \"<\" one | \"=\" t root | [^<=] root | \"\"\n" },
        { SEPARATED(""), TAG_OF_GBNF "root ::= (\"<f=\" t (\", <f=\" t)*)?\n" },
        { FORMAT(THINK),
          "root ::= \"<t>\" zero\nend ::= \"</t>\"\nzero ::= [^<] zero | \"<\" one | end\n"
          "one ::= \"<\" one | \"/\" two | [^</] zero | end\n"
          "two ::= \"<\" one | \"t\" three | [^<t] zero | end\nthree ::= \"<\" one | [^<>] zero | end\n" },
        /* triggers that overlap themselves and each other */
        { FORMAT("{\"type\":\"dispatch\",\"rules\":[[\"aab\",{\"type\":\"const_string\",\"value\":\"<f\"}],[\"<<\"," A
                 "]]}"),
          "root ::= [^a<] root | \"a\" a | \"<\" l | \"\"\na ::= \"a\" aa | \"<\" l | [^a<] root | \"\"\n"
          "aa ::= \"a\" aa | \"b<f\" root | \"<\" l | [^ab<] root | \"\"\nl ::= \"a\" a | \"<a\" root | [^a<] root | "
          "\"\"\n" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar *g[2] = { read_tags(cases[i].tags, NULL),
                               samp_grammar_init(SAMP_GRAMMAR_GBNF, cases[i].gbnf, NULL, NULL) };
        assert_non_null(g[1]);
        samp_sampler *s[2] = { samp_init_grammar(vocab_index, g[0]), samp_init_grammar(vocab_index, g[1]) };
        source rng = source_stream(40 + i);
        for (int step = 0; step < 1500; step++) {
            static const char likely[] = "<f=ab>\"xy/t!, ";
            uint32_t bits[2][N_MASK];
            for (int k = 0; k < 2; k++) assert_ok(samp_grammar_mask(s[k], bits[k]));
            if (memcmp(bits[0], bits[1], sizeof *bits))
                for (samp_token token = 0; token < N_VOCAB; token++)
                    if (bit(bits[0], token) != bit(bits[1], token))
                        test_fail(__FILE__, __LINE__, "%s\nstep %d: token %d is %d in the mask", cases[i].tags, step,
                                  token, bit(bits[0], token));
            assert_num(samp_grammar_is_complete(s[0]), samp_grammar_is_complete(s[1]));
            samp_token token = (samp_token)below(&rng, N_VOCAB);
            if (below(&rng, 4))
                token = below(&rng, 2) ? likely[below(&rng, sizeof likely - 1)]
                                       : (samp_token)(256 + below(&rng, N_WORDS));
            for (int n = 0; n < N_VOCAB && !bit(bits[0], token); n++) token = (token + 1) % N_VOCAB;
            for (int k = 0; k < 2; k++) assert_ok(samp_accept(s[k], token));
            if (token == EOG || step % 40 == 39)
                for (int k = 0; k < 2; k++) samp_reset(s[k]);
        }
        for (int k = 0; k < 2; k++) samp_free(s[k]), samp_grammar_free(g[k]);
    }
}

/* Tokens by their number or text, whatever their bytes are: as delimiters, as triggers, as what ends any tokens. */
#define TOKEN(token) "{\"type\":\"token\",\"token\":" token "}"
TEST(test_tokens)
{
    static const struct {
        const char *tags, *gbnf;
    } cases[] = {
        { FORMAT("{\"type\":\"tag\",\"begin\":" TOKEN("276") ",\"content\":{\"type\":\"any_tokens\"},\"end\":" TOKEN(
              "\"<tool>\"") "}"),
          "root ::= <[276]> !<tool>* <tool>" },
        { FORMAT("{\"type\":\"tag\",\"begin\":\"a\",\"content\":{\"type\":\"any_tokens\",\"max_tokens\":2},"
                 "\"end\":" TOKEN("276") "}"),
          "root ::= \"a\" !<[276]>{0,2} <[276]>" },
        { FORMAT("{\"type\":\"sequence\",\"elements\":[" TOKEN(
              "97") ",{\"type\":\"exclude_token\",\"exclude_tokens\":[98]}]}"),
          "root ::= <[97]> !<[98]>" },
        { FORMAT("{\"type\":\"token_triggered_tags\",\"trigger_tokens\":[276],\"tags\":[{\"begin\":" TOKEN(
              "276") ",\"content\":" A ",\"end\":\"b\"}]}"),
          "root ::= (!<[276]>* <[276]> \"ab\")* !<[276]>*" },
        { FORMAT("{\"type\":\"token_dispatch\",\"rules\":[[276," A "]]}"),
          "root ::= (!<[276]>* <[276]> \"a\")* !<[276]>*" },
        { FORMAT("{\"type\":\"token_dispatch\",\"loop\":false,\"rules\":[[\"<tool>\"," A "]]}"),
          "root ::= !<tool>* <tool> \"a\" | !<tool>*" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar *g[2] = { read_tags(cases[i].tags, NULL),
                               samp_grammar_init(SAMP_GRAMMAR_GBNF, cases[i].gbnf, NULL, NULL) };
        samp_sampler *s[2] = { samp_init_grammar(vocab_index, g[0]), samp_init_grammar(vocab_index, g[1]) };
        source rng = source_stream(60 + i);
        for (int step = 0; step < 300; step++) {
            uint32_t bits[2][N_MASK];
            for (int k = 0; k < 2; k++) assert_ok(samp_grammar_mask(s[k], bits[k]));
            assert_memory_equal(bits[0], bits[1], sizeof *bits);
            samp_token token = below(&rng, 3) ? 97 + (samp_token)below(&rng, 2) : TOOL;
            for (int n = 0; n < N_VOCAB && !bit(bits[0], token); n++) token = (token + 1) % N_VOCAB;
            for (int k = 0; k < 2; k++) assert_ok(samp_accept(s[k], token));
            if (token == EOG || step % 10 == 9)
                for (int k = 0; k < 2; k++) samp_reset(s[k]);
        }
        for (int k = 0; k < 2; k++) samp_free(s[k]), samp_grammar_free(g[k]);
    }
}

/* Several tokens are excluded, or none: the mask is all tokens with bytes but these. */
/* Texts of at most so many tokens, with "<" between two: what the tokens so far allow, by definition. A token counts in
   each text of which it has a byte; where a text has no token left, it must not end within a character. */
enum { N_PARTS = 3 };
static const int any_tokens = 1000;

static bool counted_begins(const samp_token *tokens, int n, const int *most, bool *whole)
{
    int part = 0, used[N_PARTS] = { 0 }, expects = 0;
    for (int i = 0; i < n; i++) {
        size_t length;
        const char *bytes = piece(NULL, tokens[i], &length);
        bool counts = true;
        if (tokens[i] == TOOL) return false;
        for (size_t k = 0; k < length; k++) {
            const int b = (unsigned char)bytes[k];
            if (b == '<') {
                if (expects || ++part == N_PARTS) return false;
                counts = true;
                continue;
            }
            if (counts && used[part]++ == most[part]) return false;
            counts = false;
            /* of the characters beyond ASCII only those of two bytes are tried */
            if (expects ? (b & 0xc0) != 0x80 : b == 0 || (b >= 0x80 && (b < 0xc2 || b > 0xdf))) return false;
            expects = !expects && b >= 0x80;
        }
        if (expects && used[part] == most[part]) return false;
    }
    *whole = part == N_PARTS - 1 && !expects;
    return true;
}

static void check_counted(samp_sampler *s, samp_token *tokens, int n, const int *most, const char *text)
{
    uint32_t bits[N_MASK];
    bool whole = false, unused;
    assert_true(counted_begins(tokens, n, most, &whole));
    assert_ok(samp_grammar_mask(s, bits));
    for (samp_token token = 0; token < N_VOCAB; token++) {
        if (token >= 0xe0 && token < 0xf5) continue; /* three bytes, four */
        tokens[n] = token;
        const bool want = token == EOG ? whole : counted_begins(tokens, n + 1, most, &unused);
        samp_sampler *copy = samp_clone(s);
        const bool taken = samp_accept(copy, token) == SAMP_OK;
        samp_free(copy);
        if (bit(bits, token) != want || taken != want)
            test_fail(__FILE__, __LINE__, "%s, %d tokens: %d should be %d", text, n, (int)token, want);
    }
    assert_int_equal(samp_grammar_is_complete(s), whole);
}

TEST(test_counted_tokens)
{
    for (uint64_t i = 0; i < cases(400, 8); i++) {
        source rng = source_stream(51000000 + i);
        int most[N_PARTS], n = 0;
        char text[600] = "{\"type\":\"structural_tag\",\"format\":{\"type\":\"sequence\",\"elements\":[";
        for (int part = 0; part < N_PARTS; part++) {
            static const char *const open[] = { "", "{\"type\":\"const_string\",\"value\":\"<\"}," };
            most[part] = below(&rng, 4) ? (int)below(&rng, 4) : any_tokens;
            n = (int)strlen(text);
            n += sprintf(text + n, "%s%s{\"type\":\"any_text\",\"excludes\":[\"<\"],\"max_tokens\":", part ? "," : "",
                         open[part > 0]);
            sprintf(text + n, most[part] < any_tokens ? "%d}" : "null}", most[part]);
        }
        strcat(text, "]}}");
        own_grammar *g = read_tags(text, NULL);
        samp_sampler *s = samp_init_grammar(vocab_index, g);
        samp_token tokens[41];
        for (n = 0; n < 40;) {
            uint32_t bits[N_MASK];
            samp_token token = (samp_token)below(&rng, EOG);
            check_counted(s, tokens, n, most, text);
            assert_ok(samp_grammar_mask(s, bits));
            if (below(&rng, 2)) token = (samp_token)(256 + below(&rng, N_WORDS));
            for (int k = 0; k < EOG && (!bit(bits, token) || token >= 0xe0) && token != EOG; k++)
                token = (token + 1) % EOG;
            if (token == EOG || !bit(bits, token) || (token >= 0xe0 && token < 0xf5)) break;
            assert_ok(samp_accept(s, token));
            tokens[n++] = token;
            if (below(&rng, 6) == 0) { /* a few steps back, or the same place by another way */
                const int back = (int)below(&rng, (size_t)samp_rollback_depth(s) + 1);
                assert_ok(samp_rollback(s, back));
                n -= back;
            } else if (below(&rng, 6) == 0) {
                samp_sampler *copy = samp_clone(s);
                samp_free(s);
                s = copy;
            } else if (below(&rng, 6) == 0) {
                unsigned char state[4096];
                const size_t size = samp_state_size(s);
                assert_true(size <= sizeof state);
                assert_ok(samp_state_save(s, state, size));
                samp_reset(s);
                assert_ok(samp_state_load(s, state, size));
            }
        }
        samp_free(s);
    }
}

/* A lazy grammar counts from its trigger on, also within a token, and again after a way back before it. */
TEST(test_counted_lazy)
{
    static const char *const trigger[] = { "<" };
    samp_grammar *g = read_tags(
        FORMAT("{\"type\":\"sequence\",\"elements\":[{\"type\":\"const_string\",\"value\":\"<\"},"
               "{\"type\":\"any_text\",\"excludes\":[\"<\"],\"max_tokens\":2},"
               "{\"type\":\"const_string\",\"value\":\"<\"}]}"),
        NULL);
    samp_sampler *s = samp_init_grammar_lazy(vocab_index, g, trigger, 1, NULL, 0);
    /* "a<": the text has none of its bytes, "<f": it has one */
    for (int within = 0; within < 2; within++) {
        for (int free = 0; free < 5; free++) assert_ok(samp_accept(s, 'b'));
        assert_ok(samp_accept(s, within ? 256 : 258));
        for (int i = within; i < 2; i++) assert_ok(samp_accept(s, 271)); /* "ab" */
        assert_status(samp_accept(s, 'b'), SAMP_E_RANGE);
        assert_ok(samp_rollback(s, 4 - within));
        assert_ok(samp_accept(s, 'b'));
        assert_ok(samp_accept(s, 258));
        assert_ok(samp_accept(s, 'a'));
        unsigned char state[4096];
        const size_t size = samp_state_size(s);
        assert_ok(samp_state_save(s, state, size));
        samp_reset(s);
        assert_ok(samp_state_load(s, state, size));
        assert_ok(samp_accept(s, 'b'));
        assert_status(samp_accept(s, 'b'), SAMP_E_RANGE);
        assert_ok(samp_accept(s, '<'));
        assert_int_equal(samp_grammar_is_complete(s), 1);
        samp_reset(s);
    }
    samp_free(s);
    samp_grammar_free(g);
}

TEST(test_excluded_tokens)
{
    static const struct {
        const char *tags;
        samp_token out[6]; /* -1 ends the list */
        bool more[2];      /* after an allowed token: may another one follow, may the text end? */
    } cases[] = {
        { FORMAT("{\"type\":\"any_tokens\"}"), { -1 }, { true, true } },
        { FORMAT("{\"type\":\"exclude_token\"}"), { -1 }, { false, true } },
        { FORMAT("{\"type\":\"any_tokens\",\"exclude_tokens\":[5,\"ab\",10,5]}"),
          { 5, 256 + 15, 10, -1 },
          { true, true } },
        { FORMAT("{\"type\":\"exclude_token\",\"exclude_tokens\":[0,31,32,300]}"),
          { 0, 31, 32, -1 },
          { false, true } },
        { FORMAT("{\"type\":\"tag\",\"begin\":\"\",\"content\":{\"type\":\"any_tokens\",\"exclude_tokens\":[98,\"<<"
                 "\"]},\"end\":" TOKEN("99") "}"),
          { 98, 256 + 3, -1 },
          { true, false } },
        { FORMAT("{\"type\":\"token_dispatch\",\"rules\":[[97," A "],[\"<<\"," A "]],\"exclude_tokens\":[98]}"),
          { 98, -1 },
          { true, true } },
        { FORMAT("{\"type\":\"token_triggered_tags\",\"trigger_tokens\":[97,98],\"exclude_tokens\":[99],\"tags\":[{"
                 "\"begin\":" TOKEN("97") ",\"content\":" A ",\"end\":\"b\"}]}"),
          { 98, 99, -1 },
          { true, true } },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        own_grammar *g = read_tags(cases[i].tags, NULL);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        uint32_t bits[N_MASK];
        for (int round = 0; round < 2; round++) {
            assert_ok(samp_grammar_mask(s, bits));
            for (samp_token token = 0; token < EOG; token++) {
                bool out = token == 0 && !bit(bits, 0); /* a token that is the byte 0 has no text */
                for (int k = 0; k < 6 && cases[i].out[k] != -1; k++) out |= cases[i].out[k] == token;
                if (round && !cases[i].more[0]) out = true;
                samp_sampler *twin = samp_clone(s);
                const bool taken = samp_accept(twin, token) == SAMP_OK;
                samp_free(twin);
                if (bit(bits, token) == out || taken == out)
                    test_fail(__FILE__, __LINE__, "%s\nround %d: token %d is %d", cases[i].tags, round, token, taken);
            }
            if (round == 0) assert_ok(samp_accept(s, 'z'));
            if (round) assert_num(samp_grammar_is_complete(s), cases[i].more[1]);
        }
    }
}

/* What is wrong, or not taken, by its place. */
TEST(test_errors)
{
    static const struct {
        const char *text;
        int status;
        size_t line, column;
        const char *says;
    } cases[] = {
        { "{\"type\":\"structural_tag\"}", SAMP_E_FORMAT, 1, 1, ": format is missing" },
        { "[]", SAMP_E_FORMAT, 1, 1, ": expected an object" },
        { "{\"format\":1}", SAMP_E_FORMAT, 1, 11, "/format: expected an object" },
        { "{\"type\":\"json_schema\",\"format\":{}}", SAMP_E_FORMAT, 1, 9, "/type: expected structural_tag" },
        { "{\n \"format\": {\"type\": \"qwen_xml_parameters\"}}", SAMP_E_UNSUPPORTED, 2, 21,
          "/format/type: this type of format is not supported" },
        { "{\"structures\":[],\"triggers\":[\"a\"]}", SAMP_E_FORMAT, 1, 15, "/structures: expected a tag" },
        { "{\"structures\":[{\"begin\":\"b\",\"schema\":{},\"end\":\"c\"}],\"triggers\":[\"a\"]}", SAMP_E_FORMAT, 1,
          25, "/structures/0/begin: expected one of the triggers at its beginning" },
        { "{\"structures\":[{\"begin\":\"aa\",\"schema\":{},\"end\":\"c\"}],\"triggers\":[\"a\",\"aa\"]}",
          SAMP_E_FORMAT, 1, 25, "/structures/0/begin: expected only one trigger that it begins with" },
        { "{\"structures\":[{\"begin\":\"a\",\"schema\":{},\"end\":\"c\"}],\"triggers\":[\"\"]}", SAMP_E_FORMAT, 1,
          65, "/triggers/0: expected a text that is not empty" },
        { "{\"structures\":[{\"begin\":\"a\",\"schema\":{},\"end\":\"c\",\"x\":1}],\"triggers\":[\"a\"]}",
          SAMP_E_UNSUPPORTED, 1, 55, "/structures/0/x: this format has no such member here" },
        { "{\"structures\":[{\"begin\":\"a\",\"end\":\"c\",\"schema\":\n "
          "{\"properties\":{\"p\":{\"$dynamicRef\":\"#x\"}}}}],"
          "\"triggers\":[\"a\"]}",
          SAMP_E_UNSUPPORTED, 2, 36, "/structures/0/schema/properties/p/$dynamicRef: " },
        { FORMAT("{\"type\":\"json_schema\",\"json_schema\":{},\"style\":\"glm\"}"), SAMP_E_UNSUPPORTED, 1, 82,
          "/format/style: this style is not supported" },
        { FORMAT("{\"type\":\"any_text\",\"max_tokens\":-3}"), SAMP_E_FORMAT, 1, 67,
          "/format/max_tokens: expected a whole number" },
        { FORMAT("{\"type\":\"any_tokens\",\"exclude_tokens\":[1,null]}"), SAMP_E_FORMAT, 1, 76,
          "/format/exclude_tokens/1: expected a token: a number or a text" },
        { FORMAT("{\"type\":\"token_dispatch\",\"rules\":[[true," A "]]}"), SAMP_E_FORMAT, 1, 70,
          "/format/rules/0/0: expected a token: a number or a text" },
        { FORMAT("{\"type\":\"token_triggered_tags\",\"trigger_tokens\":[1,2],\"tags\":[{\"begin\":" RE(
              "2") ",\"content\":" A ",\"end\":\"!\"}]}"),
          SAMP_E_FORMAT, 1, 132, "/format/tags/0/begin/pattern: expected a trigger's token" },
        { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f\"],\"tags\":[{\"begin\":" RE(
              "<f?>") ",\"content\":" A ",\"end\":\"!\"}]}"),
          SAMP_E_FORMAT, 1, 121, "/format/tags/0/begin/pattern: expected one of the triggers at its beginning" },
        { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<f\",\"<g\"],\"tags\":[{\"begin\":" RE(
              "<[fg]>") ",\"content\":" A ",\"end\":\"!\"}]}"),
          SAMP_E_FORMAT, 1, 126, "/format/tags/0/begin/pattern: expected only one trigger that it begins with" },
        { FORMAT("{\"type\":\"tag\",\"begin\":" RE("(") ",\"content\":" A ",\"end\":\"!\"}"), SAMP_E_FORMAT, 1, 85,
          "/format/begin/pattern: expected )" },
        { FORMAT("{\"type\":\"tag\",\"begin\":{\"type\":\"star\"},\"content\":" A ",\"end\":\"!\"}"), SAMP_E_FORMAT,
          1, 65, "/format/begin/type: expected token or regex" },
        { FORMAT("{\"type\":\"triggered_tags\",\"triggers\":[\"<tool>\"],\"tags\":[{\"begin\":" TOKEN(
              "\"<tool>\"") ",\"content\":" A ",\"end\":\"!\"}]}"),
          SAMP_E_UNSUPPORTED, 1, 123, "/format/tags/0/begin/token: a token behind free text is not supported" },
        { FORMAT("{\"type\":\"regex\",\"pattern\":\"\\u00e9\\n[\"}"), SAMP_E_FORMAT, 1, 71,
          "/format/pattern: expected ]" },
        { FORMAT("{\"type\":\"grammar\",\"grammar\":\"root ::= x\\ny ::= \\\"\\ud83d\\ude00\\\"\\n\"}"),
          SAMP_E_FORMAT, 1, 73, "/format/grammar: expected a name that has a rule" },
        { FORMAT("{\"type\":\"repeat\",\"min\":3,\"max\":2,\"content\":" A "}"), SAMP_E_FORMAT, 1, 35,
          "/format: expected max to be at least min" },
        { FORMAT("{\"type\":\"repeat\",\"min\":-1,\"max\":2,\"content\":" A "}"), SAMP_E_FORMAT, 1, 58,
          "/format/min: expected a whole number" },
        { FORMAT("{\"type\":\"tag\",\"begin\":\"a\",\"content\":" A "}"), SAMP_E_FORMAT, 1, 35,
          "/format: end is missing" },
        { FORMAT("{\"type\":\"tag\",\"end\":\"a\",\"content\":" A "}"), SAMP_E_FORMAT, 1, 35,
          "/format: begin is missing" },
        { FORMAT("{\"type\":\"json_schema\"}"), SAMP_E_FORMAT, 1, 35, "/format: json_schema is missing" },
        { FORMAT("{\"type\":\"token\"}"), SAMP_E_FORMAT, 1, 35, "/format: token is missing" },
        { FORMAT("{\"type\":\"optional\"}"), SAMP_E_FORMAT, 1, 35, "/format: content is missing" },
        { FORMAT("{}"), SAMP_E_FORMAT, 1, 35, "/format: type is missing" },
        { FORMAT("{\"type\":\"regex\",\"pattern\":\"a\\u0000\"}"), SAMP_E_FORMAT, 1, 61,
          "/format/pattern: expected a text without byte 0" },
        { FORMAT("{\"type\":\"or\",\"elements\":[]}"), SAMP_E_FORMAT, 1, 59, "/format/elements: expected a format" },
        { "{\"format\":", SAMP_E_FORMAT, 1, 11, "expected a value" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, cases[i].text, NULL, &error);
        if (g || error.status != cases[i].status || error.line != cases[i].line || error.column != cases[i].column ||
            strncmp(error.message, cases[i].says, strlen(cases[i].says)))
            test_fail(__FILE__, __LINE__, "%s\n%d at %zu:%zu: %s", cases[i].text, error.status, error.line,
                      error.column, error.message);
    }
    samp_grammar_error error;
    assert_null(samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, FORMAT(A), "loose", &error));
    assert_status(error.status, SAMP_E_RANGE);
    assert_null(samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, NULL, NULL, &error));
    assert_status(error.status, SAMP_E_NULL);
}

/* Formats one in the other: as deep as JSON may be, no more. */
TEST(test_deep)
{
    for (int depth = 1; depth < 200; depth += 13) {
        static char text[1 << 14];
        samp_grammar_error error;
        size_t n = (size_t)snprintf(text, sizeof text, "{\"format\":");
        for (int i = 0; i < depth; i++)
            n += (size_t)snprintf(text + n, sizeof text - n,
                                  "{\"type\":\"tag\",\"begin\":\"<\",\"end\":\">\",\"content\":");
        n += (size_t)snprintf(text + n, sizeof text - n, A);
        for (int i = 0; i <= depth; i++) n += (size_t)snprintf(text + n, sizeof text - n, "}");
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, NULL, &error);
        if (!g) assert_status(error.status, SAMP_E_RANGE);
        if (depth < 100) assert_non_null(g);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, set_up, tear_down); }
