/* test_grammar.c - grammars: the tree that every kind of grammar becomes. It includes the implementation, as the tree is
   an inside. */
#define SAMPLING_GRAMMAR
#define HEAP_HERE
#include "heap.h"
#define SAMPLING_IMPLEMENTATION
#include "../sampling.h"

#include "test.h"

/* Equal expressions are one node, and what can't match anything is gone at once. */
static void test_tree_shares(void **state)
{
    (void)state;
    sampi_tree t;
    assert_ok(sampi_tree_init(&t));
    sampi_node a = sampi_tree_text(&t, "abc", 3), b = sampi_tree_byte(&t, 'x', 'z');
    assert_num(sampi_tree_text(&t, "abc", 3), a);
    assert_num(sampi_tree_seq(&t, a, b), sampi_tree_seq(&t, a, b));
    assert_num(sampi_tree_seq(&t, a, SAMPI_NEVER), SAMPI_NEVER);
    assert_num(sampi_tree_seq(&t, sampi_tree_empty(&t), b), b);
    assert_num(sampi_tree_alt(&t, sampi_tree_never(&t), b), b);
    assert_num(sampi_tree_repeat(&t, a, 0, 0), SAMPI_EMPTY);
    assert_num(sampi_tree_repeat(&t, a, 3, 2), SAMP_E_RANGE);
    assert_num(sampi_tree_seq(&t, a, SAMP_E_NOMEM), SAMP_E_NOMEM);
    assert_true(sampi_tree_token(&t, 7, true) > b);
    assert_num(sampi_tree_token(&t, -1, false), SAMP_E_RANGE);
    int32_t rule = sampi_tree_rule(&t, "root", 4);
    assert_num(sampi_tree_rule(&t, "root", 4), rule);
    assert_true(sampi_tree_rule(&t, "", 0) != sampi_tree_rule(&t, "", 0));
    assert_ok(sampi_tree_define(&t, rule, sampi_tree_not(&t, sampi_tree_ref(&t, rule))));
    sampi_member one = { a, true };
    assert_true(sampi_tree_members(&t, &one, 1, b, SAMPI_NEVER, 0, SIZE_MAX) > 0);
    assert_true(sampi_tree_class(&t, NULL, 0, false) == SAMPI_NEVER);
    sampi_tree_free(&t);
}

/* ---- a vocabulary of the 256 bytes and some words ---- */

static const char *const words[] = { "ab",       "abc",      "\"",   "{\"",  "\":",   "\", \"", "}}",  "]]",
                                     "]}",       "foo",      "bar",  "1",    "123",   " ",      "  ",  "\n",
                                     "\xc3\xa9", "\xe2\x82", "\xac", "true", "a\"b",  "xx",     "xxx", "é\"}",
                                     "ab",       "aaaa",     "==",   "=\n",  "<tool>" };
enum { N_WORDS = sizeof words / sizeof *words, EOG = 256 + N_WORDS, EMPTY_TOKEN, N_VOCAB };

static const char *word_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char byte[256];
    (void)vocab;
    *n = 0;
    if (token >= EOG) return "";
    if (token >= 256) {
        *n = strlen(words[token - 256]);
        return words[token - 256];
    }
    *n = 1;
    byte[token] = (char)token;
    return &byte[token];
}

static const samp_token eog_tokens[] = { EOG };
static samp_vocab vocabulary = { N_VOCAB, word_bytes, NULL, NULL, eog_tokens, 1, EOG, -1 };
static samp_vocab_index *vocab_index;

static int set_up(void **state)
{
    (void)state;
    int status;
    vocab_index = samp_vocab_index_init(&vocabulary, &status);
    assert_ok(status);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    samp_vocab_index_free(vocab_index);
    assert_num(heap.live, 0);
    return 0;
}

static samp_grammar *read_grammar(samp_grammar_kind kind, const char *text)
{
    samp_grammar_error error;
    samp_grammar *g = samp_grammar_init(kind, text, NULL, &error);
    if (!g)
        test_fail(__FILE__, __LINE__, "%s\n%d at %zu:%zu: %s", text, error.status, error.line, error.column,
                  error.message);
    return g;
}

static bool bit(const uint32_t *bits, samp_token token) { return bits[token / 32] >> token % 32 & 1; }

/* The mask against each token by itself: both must say the same. */
static void check_mask(samp_sampler *s)
{
    uint32_t bits[(N_VOCAB + 31) / 32];
    assert_ok(samp_grammar_mask(s, bits));
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    for (samp_token token = 0; token < N_VOCAB; token++)
        if (sampi_matcher_allows(m, token) != bit(bits, token))
            test_fail(__FILE__, __LINE__, "token %d is %d in the mask", token, bit(bits, token));
}

/* How a text fares, byte by byte, with a mask at each: -1: refused at some byte; else is_complete. *forced: at the end. */
static int fares(samp_grammar_kind kind, const char *grammar, const char *text, size_t n)
{
    samp_grammar *g = read_grammar(kind, grammar);
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    int result = 0;
    assert_ok(samp_status(s, NULL));
    for (size_t i = 0; i < n && result >= 0; i++) {
        check_mask(s);
        int status = samp_accept(s, (uint8_t)text[i]);
        if (status == SAMP_E_RANGE)
            result = -1;
        else
            assert_ok(status);
    }
    if (result >= 0) {
        check_mask(s);
        result = samp_grammar_is_complete(s);
    }
    samp_free(s);
    samp_grammar_free(g);
    return result;
}

static void check_texts(samp_grammar_kind kind, const char *grammar, const char *const *good,
                        const char *const *begun, const char *const *bad)
{
    for (; *good; good++)
        if (fares(kind, grammar, *good, strlen(*good)) != 1)
            test_fail(__FILE__, __LINE__, "%s\nrefuses %s", grammar, *good);
    for (; *begun; begun++)
        if (fares(kind, grammar, *begun, strlen(*begun)) != 0)
            test_fail(__FILE__, __LINE__, "%s\ndoes not begin %s", grammar, *begun);
    for (; *bad; bad++)
        if (fares(kind, grammar, *bad, strlen(*bad)) != -1)
            test_fail(__FILE__, __LINE__, "%s\naccepts %s", grammar, *bad);
}
#define TEXTS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE       ((const char *const[]){ NULL })

static const char json_gbnf[] =
    "root   ::= object\n"
    "value  ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n"
    "object ::= \"{\" ws ( string \":\" ws value (\",\" ws string \":\" ws value)* )? \"}\" ws\n"
    "array  ::= \"[\" ws ( value (\",\" ws value)* )? \"]\" ws\n"
    "string ::= \"\\\"\" ( [^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}) )* \"\\\"\" "
    "ws\n"
    "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws\n"
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n";

static void test_json(void **state)
{
    (void)state;
    check_texts(
        SAMP_GRAMMAR_GBNF, json_gbnf,
        TEXTS("{}", "{\"a\": 1}", "{\"a\":[1,2,{\"b\":\"\xc3\xa9\\u00e9\"}], \"c\": true}", "{\"\":[[[[]]]]}"),
        TEXTS("", "{\"a", "{\"a\":[1,2", "{\"a\": \"\xe2\x82", "{\"a\": -"),
        TEXTS("[", "{a", "{\"a\":]", "{\"\n", "{}}", "{\"a\":1]", "{\"a\":\"\xc3\x28", "{\"\xed\xa0", "{\"\xff"));
}

static void test_recursion(void **state)
{
    (void)state;
    /* left, right, hidden, mutual, ambiguous */
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= root \"+\" t | t\nt ::= t \"*\" f | f\nf ::= \"(\" root \")\" | [0-9]",
                TEXTS("1", "1+2*3", "((1)+2)*3+4"), TEXTS("1+", "((1", ""), TEXTS("+", "1+)", "12", "(1))"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"a\" root | \"b\"", TEXTS("b", "aaab"), TEXTS("aaa"), TEXTS("ba", "c"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= e root \"x\" | \"y\"\ne ::= \"e\"?",
                TEXTS("y", "yx", "eyx", "eyxx", "yxxx", "eeyxx"), TEXTS("e", "ee", "eeyx"), TEXTS("x", "yy"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= root root | \"a\" | \"\"", TEXTS("", "a", "aaaaaaa"), NONE,
                TEXTS("b", "ab"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"a\" root \"a\" | \"a\" root \"b\" | \"c\"",
                TEXTS("c", "aacab", "aaacbba"), TEXTS("aaac", "aaacb"),
                TEXTS("cb",
                      "aca"
                      "a",
                      "b"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= (\"x\" | \"xx\")*", TEXTS("", "xxxxxxxxxxxxxxxxxxxxxxx"), NONE,
                TEXTS("y", "xy"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= (\"a\"? \"b\"?)* \"c\"", TEXTS("c", "abbac"), TEXTS("", "ab"),
                TEXTS("d", "cc"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= a\na ::= b \"1\"\nb ::= a | \"0\"", TEXTS("01", "0111"), TEXTS("", "0"),
                TEXTS("1", "00"));
}

static void test_repetition(void **state)
{
    (void)state;
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= [a-c]{2,3} \"x\"{2} \"y\"{1,}", TEXTS("abxxy", "abcxxyyy"),
                TEXTS("a", "abx", "abxx"), TEXTS("x", "ax", "abca", "abxxx"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= (\"a\"?){999}", TEXTS("", "aaaa"), NONE, TEXTS("b"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"a\"{0} [^b] . [\\u00e9-\\u00ea]",
                TEXTS("ax\xc3\xa9", "\xf0\x9f\x98\x80x\xc3\xaa"), TEXTS("a", "ax", "ax\xc3"),
                TEXTS("b", "ax\xc3\xab", "\x80", "axe"));
}

static void test_regex(void **state)
{
    (void)state;
    check_texts(SAMP_GRAMMAR_REGEX, "^(\\d{3}-)?[a-f\\]]+$", TEXTS("123-abc", "a]"), TEXTS("", "12", "123-"),
                TEXTS("x", "1a", "ag"));
    check_texts(SAMP_GRAMMAR_REGEX, "(?:ab|(?<n>c))*\\u0041\\x42.?", TEXTS("AB", "abcAB", "cABx"), TEXTS("a", "A"),
                TEXTS("b", "AB\n", "ABxx"));
    check_texts(SAMP_GRAMMAR_REGEX, "[^]\\s\\w\\W[]|a{,2}|\\/", TEXTS("a{,2}", "/"), TEXTS("a"), TEXTS("b", "aa"));
    check_texts(SAMP_GRAMMAR_REGEX, "a(^b|c$|d)e?", TEXTS("ac", "ad", "ade"), TEXTS("a"), TEXTS("ab", "ace"));
    sampi_tree t;
    samp_grammar_error error;
    assert_ok(sampi_tree_init(&t));
    assert_num(sampi_tree_regex(&t, "a(?=b)", 6, true, sampi_tree_class, &error), SAMP_E_UNSUPPORTED);
    assert_num(error.column, 2);
    assert_num(sampi_tree_regex(&t, "a)", 2, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(error.column, 2);
    assert_num(sampi_tree_regex(&t, "*", 1, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(sampi_tree_regex(&t, "[b-a]", 5, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(sampi_tree_regex(&t, "\\1", 2, true, sampi_tree_class, &error), SAMP_E_UNSUPPORTED);
    sampi_tree_free(&t);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t line, column;
    } bad[] = { { "", 1, 1 },
                { "root = \"a\"", 1, 6 },
                { "root ::= \"a", 1, 12 },
                { "root ::= \"a\" )", 1, 14 },
                { "x ::= \"a\"\nroot ::= y x", 2, 10 },
                { "root ::= ( \"a\"\n| \"b\"\n", 3, 1 },
                { "root ::= *", 1, 10 },
                { "root ::= \"\"*", 1, 12 },
                { "root ::= \"a\"{2001}", 1, 14 },
                { "root ::= \"a\"{3,2}", 1, 14 },
                { "root ::= (\"a\"{0,50}){50}", 1, 21 },
                { "root ::= \"\\q\"", 1, 12 },
                { "root ::= [\\x4g]", 1, 14 },
                { "root ::= <[12>", 1, 14 },
                { "root ::= \"\xff\"", 1, 11 } };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        samp_grammar_error error;
        assert_null(samp_grammar_init(SAMP_GRAMMAR_GBNF, bad[i].text, NULL, &error));
        assert_status(error.status, SAMP_E_FORMAT);
        if (error.line != bad[i].line || error.column != bad[i].column)
            test_fail(__FILE__, __LINE__, "%s\n%zu:%zu %s", bad[i].text, error.line, error.column, error.message);
        assert_true(error.message[0] != 0);
        assert_num(heap.live, 2); /* the index */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tree_shares), cmocka_unit_test(test_json),
                                        cmocka_unit_test(test_recursion),   cmocka_unit_test(test_repetition),
                                        cmocka_unit_test(test_regex),       cmocka_unit_test(test_errors) };
    return cmocka_run_group_tests_name("grammar", tests, set_up, tear_down);
}
