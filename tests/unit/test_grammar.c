/* test_grammar.c - grammars: the tree that every kind of grammar becomes. It includes the implementation, as the tree is
   an inside. */
#define SAMPLING_GRAMMAR
#define HEAP_HERE
#include "tests/support/heap.h"
#include <stdint.h>
static int32_t most_ops = 1 << 16;
#define SAMPI_MAX_OPS most_ops
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "tests/support/json_gbnf.h"
#include "tests/support/test.h"
#include <time.h>

/* Every text of valid UTF-8 that a does not match. */
static sampi_node tree_not(sampi_tree *t, sampi_node a)
{
    sampi_node not_a = a < 0 ? a : sampi_tree_node(t, SAMPI_NODE_NOT, a, 0, 0);
    return sampi_tree_and(t, not_a, sampi_tree_repeat(t, sampi_tree_class(t, NULL, 0, true), 0, -1));
}

/* Equal expressions are one node, and what can't match anything is gone at once. */
TEST(test_tree_shares)
{
    sampi_tree t;
    assert_ok(sampi_tree_init(&t));
    sampi_node a = sampi_tree_text(&t, "abc", 3), b = sampi_tree_byte(&t, 'x', 'z');
    assert_num(sampi_tree_text(&t, "abc", 3), a);
    assert_num(sampi_tree_seq(&t, a, b), sampi_tree_seq(&t, a, b));
    assert_num(sampi_tree_seq(&t, a, SAMPI_NEVER), SAMPI_NEVER);
    assert_num(sampi_tree_seq(&t, SAMPI_EMPTY, b), b);
    assert_num(sampi_tree_alt(&t, SAMPI_NEVER, b), b);
    assert_num(sampi_tree_repeat(&t, a, 0, 0), SAMPI_EMPTY);
    assert_num(sampi_tree_repeat(&t, a, 3, 2), SAMP_E_RANGE);
    assert_num(sampi_tree_repeat(&t, a, 1, 0), SAMP_E_RANGE);
    assert_num(sampi_tree_seq(&t, a, SAMP_E_NOMEM), SAMP_E_NOMEM);
    assert_true(sampi_tree_token(&t, 7, true) > b);
    assert_num(sampi_tree_token(&t, -1, false), SAMP_E_RANGE);
    int32_t rule = sampi_tree_rule(&t, "root", 4);
    assert_num(sampi_tree_rule(&t, "root", 4), rule);
    assert_true(sampi_tree_rule(&t, "", 0) != sampi_tree_rule(&t, "", 0));
    assert_ok(sampi_tree_define(&t, rule, tree_not(&t, sampi_tree_ref(&t, rule))));
    sampi_member one = { a, true };
    assert_true(sampi_tree_members(&t, &one, 1, b, SAMPI_NEVER, 0, SIZE_MAX) > 0);
    assert_true(sampi_tree_class(&t, NULL, 0, false) == SAMPI_NEVER);
    sampi_tree_free(&t);
}

/* What no reader may give the tree is a status, and adds nothing; with nothing, or with everything, as one of two parts
   there is no new node. */
TEST(test_tree_bounds)
{
    sampi_tree t;
    assert_ok(sampi_tree_init(&t));
    sampi_node a = sampi_tree_text(&t, "abc", 3), all = sampi_tree_node(&t, SAMPI_NODE_NOT, SAMPI_NEVER, 0, 0);
    const int32_t n_nodes = t.nodes.n, n_bytes = t.pool.n, n_rules = t.rules.n, n_lists = t.lists.n;
    assert_num(sampi_tree_repeat(&t, a, -1, 2), SAMP_E_RANGE);
    assert_num(sampi_tree_repeat(&t, a, 0, -2), SAMP_E_RANGE);
    assert_num(sampi_tree_and(&t, SAMPI_NEVER, a), SAMPI_NEVER);
    assert_num(sampi_tree_and(&t, a, SAMPI_NEVER), SAMPI_NEVER);
    assert_num(sampi_tree_and(&t, all, a), a);
    assert_num(sampi_tree_and(&t, a, all), a);
    assert_num(sampi_tree_text(&t, "", (size_t)SAMPI_MAX_POOL + 1), SAMP_E_RANGE);
    sampi_member wrong = { SAMP_E_NOMEM, true }, never = { SAMPI_NEVER, false };
    assert_num(sampi_tree_members(&t, &wrong, 1, a, SAMPI_NEVER, 0, 1), SAMP_E_NOMEM);
    assert_num(sampi_tree_members(&t, NULL, 0, SAMP_E_FULL, SAMPI_NEVER, 0, 1), SAMP_E_FULL);
    assert_num(sampi_tree_members(&t, NULL, 0, a, SAMP_E_FULL, 0, 1), SAMP_E_FULL);
    assert_num(sampi_tree_members(&t, NULL, 0, a, SAMPI_NEVER, SAMPI_MAX_NODES + 1, SIZE_MAX), SAMP_E_RANGE);
    assert_num(sampi_tree_members(&t, NULL, 0, a, SAMPI_NEVER, 3, 2), SAMP_E_RANGE);
    assert_num(t.nodes.n, n_nodes);
    assert_num(t.pool.n, n_bytes);
    assert_num(t.rules.n, n_rules);
    assert_num(t.lists.n, n_lists);
    assert_true(sampi_tree_members(&t, &never, 1, a, SAMPI_NEVER, 0, 1) > a); /* a name that no value fits */
    assert_num(t.rules.n, n_rules);
    sampi_tree_free(&t);
    sampi_vec full = { &t, INT32_MAX / 2, INT32_MAX / 2, 0, NULL };
    assert_null(sampi_grammar_vec_add(&full, 1, 1));
    assert_num(full.n, INT32_MAX / 2);
}

/* ---- a vocabulary of the 256 bytes and some words ---- */

static const char *const words[] = { "ab",       "abc",      "\"",   "{\"",  "\":",   "\", \"", "}}",  "]]",
                                     "]}",       "foo",      "bar",  "1",    "123",   " ",      "  ",  "\n",
                                     "\xc3\xa9", "\xe2\x82", "\xac", "true", "a\"b",  "xx",     "xxx", "é\"}",
                                     "ab",       "aaaa",     "==",   "=\n",  "<tool>" };
enum {
    N_WORDS = sizeof words / sizeof *words,
    EOG = 256 + N_WORDS,
    EMPTY_TOKEN,
    N_VOCAB,
    N_MASK = (N_VOCAB + 31) / 32
};

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

static int fares_in(samp_grammar *g, const char *text)
{
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    int result = 0;
    for (; *text && result >= 0; text++) {
        check_mask(s);
        int status = samp_accept(s, (uint8_t)*text);
        if (status) assert_status(status, SAMP_E_RANGE);
        if (status) result = -1;
    }
    if (result >= 0) result = samp_grammar_is_complete(s);
    samp_free(s);
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

static const char json_gbnf[] = JSON_GBNF;

TEST(test_json)
{
    check_texts(
        SAMP_GRAMMAR_GBNF, json_gbnf,
        TEXTS("{}", "{\"a\": 1}", "{\"a\":[1,2,{\"b\":\"\xc3\xa9\\u00e9\"}], \"c\": true}", "{\"\":[[[[]]]]}"),
        TEXTS("", "{\"a", "{\"a\":[1,2", "{\"a\": \"\xe2\x82", "{\"a\": -"),
        TEXTS("[", "{a", "{\"a\":]", "{\"\n", "{}}", "{\"a\":1]", "{\"a\":\"\xc3\x28", "{\"\xed\xa0", "{\"\xff"));
}

TEST(test_recursion)
{
    /* left, right, hidden, mutual, ambiguous */
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= root \"+\" t | t\nt ::= t \"*\" f | f\nf ::= \"(\" root \")\" | [0-9]",
                TEXTS("1", "1+2*3", "((1)+2)*3+4"), TEXTS("1+", "((1", ""), TEXTS("+", "1+)", "12", "(1))"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= my_rule _x-1\nmy_rule ::= \"m\"\n_x-1 ::= [0-9]", TEXTS("m1"),
                TEXTS("m"), TEXTS("a", "1"));
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
    /* through a body that two rules have: it is one node, and the loop is not met at a rule's name */
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= r \"x\" | \"b\"\nr ::= r \"x\" | \"b\"", TEXTS("b", "bx", "bxxxx"),
                TEXTS(""), TEXTS("x", "bb", "bxb"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"(\" r \")\" | \"b\"\nr ::= \"(\" r \")\" | \"b\"", TEXTS("b", "((b))"),
                TEXTS("", "((b)"), TEXTS(")", "b)", "(b))"));
}

TEST(test_repetition)
{
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= [a-c]{2,3} \"x\"{2} \"y\"{1,}", TEXTS("abxxy", "abcxxyyy"),
                TEXTS("a", "abx", "abxx"), TEXTS("x", "ax", "abca", "abxxx"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= (\"a\"?){999}", TEXTS("", "aaaa"), NONE, TEXTS("b"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"a\"{0} [^b] . [\\u00e9-\\u00ea]",
                TEXTS("ax\xc3\xa9", "\xf0\x9f\x98\x80x\xc3\xaa"), TEXTS("a", "ax", "ax\xc3"),
                TEXTS("b", "ax\xc3\xab", "\x80", "axe"));
}

TEST(test_regex)
{
    check_texts(SAMP_GRAMMAR_REGEX, "^(\\d{3}-)?[a-f\\]]+$", TEXTS("123-abc", "a]"), TEXTS("", "12", "123-"),
                TEXTS("x", "1a", "ag"));
    check_texts(SAMP_GRAMMAR_REGEX, "(?:ab|(?<$_n9\xc3\xa4>c))*\\u0041\\x42.?", TEXTS("AB", "abcAB", "cABx"),
                TEXTS("a", "A"), TEXTS("b", "AB\n", "ABxx"));
    check_texts(SAMP_GRAMMAR_REGEX, "[^]\\s\\w\\W[]|a{,2}|\\/", TEXTS("a{,2}", "/"), TEXTS("a"), TEXTS("b", "aa"));
    check_texts(SAMP_GRAMMAR_REGEX, "a(^b|c$|d)e?", TEXTS("ac", "ad", "ade"), TEXTS("a"), TEXTS("ab", "ace"));
    sampi_tree t;
    samp_grammar_error error;
    assert_ok(sampi_tree_init(&t));
    assert_num(sampi_tree_regex(&t, "a(?<=b)", 7, true, sampi_tree_class, &error), SAMP_E_UNSUPPORTED);
    assert_num(error.column, 2);
    assert_num(sampi_tree_regex(&t, "a)", 2, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(error.column, 2);
    assert_num(sampi_tree_regex(&t, "*", 1, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(sampi_tree_regex(&t, "[b-a]", 5, true, sampi_tree_class, &error), SAMP_E_FORMAT);
    assert_num(sampi_tree_regex(&t, "\\1", 2, true, sampi_tree_class, &error), SAMP_E_UNSUPPORTED);
    sampi_tree_free(&t);
}

/* Byte 0 where a grammar names it: it is allowed, forced, and accepted, alone, within a token and at its front; not
   where GBNF only leaves it out. In an expression any character is one. */
static const char *zero_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static const char *const pieces[] = { "\0", "a\0b", "\0\0", "a", "b", "" };
    static const size_t length[] = { 1, 3, 2, 1, 1, 0 };
    (void)vocab;
    *n = length[token];
    return pieces[token];
}

TEST(test_byte_zero)
{
    static const struct {
        samp_grammar_kind kind;
        const char *text, *forced; /* forced: by its number of bytes, and these */
        uint32_t mask[3];          /* at the beginning, behind the first token allowed, and once more */
    } cases[] = {
        { SAMP_GRAMMAR_GBNF, "root ::= \"\\x00\" \"\\x00\" \"b\"", "3\0\0b", { 5, 1, 16 } },
        { SAMP_GRAMMAR_GBNF, "root ::= \"a\" \"\\x00\" \"b\"", "3a\0b", { 10, 0, 0 } },
        { SAMP_GRAMMAR_GBNF, "root ::= [\\x00a]{2} \"b\"", "0", { 15, 9, 16 } },
        { SAMP_GRAMMAR_GBNF, "root ::= [\\x00-a]{2} \"b\"", "0", { 8, 8, 16 } },
        { SAMP_GRAMMAR_GBNF, "root ::= [^b] . \"b\"", "0", { 8, 24, 16 } },
        { SAMP_GRAMMAR_GBNF, "root ::= [^\\x00] \"b\"", "0", { 24, 16, 0 } },
        { SAMP_GRAMMAR_GBNF, "root ::= !<[3]> \"b\"", "0", { 18, 16, 0 } },
        { SAMP_GRAMMAR_GBNF, "root ::= <[0]> \"b\"", "0", { 1, 16, 0 } },
        { SAMP_GRAMMAR_REGEX, "\\0[^a]b", "0", { 5, 17, 16 } },
        { SAMP_GRAMMAR_REGEX, "a.b", "0", { 10, 0, 0 } },
    };
    samp_vocab vocab = { 6, zero_bytes, NULL, NULL, NULL, 0, -1, -1 };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        own_grammar *g = read_grammar(cases[i].kind, cases[i].text);
        own_sampler *s = samp_init_grammar(index, g);
        char bytes[8];
        int64_t forced = samp_grammar_forced(s, bytes, sizeof bytes);
        if (i < 2) assert_num(forced, cases[i].forced[0] - '0');
        if (i < 2) assert_memory_equal(bytes, cases[i].forced + 1, (size_t)forced);
        for (int step = 0; step < 3; step++) {
            uint32_t bits;
            samp_token token = 0;
            assert_ok(samp_grammar_mask(s, &bits));
            if (bits != cases[i].mask[step])
                test_fail(__FILE__, __LINE__, "%s: %x in step %d", cases[i].text, bits, step);
            for (samp_token t = 0; t < 6; t++)
                assert_num(sampi_matcher_allows((sampi_matcher *)s->ctx, t), bits >> t & 1);
            while (token < 6 && !(bits >> token & 1)) token++;
            if (token == 6) break;
            assert_ok(samp_accept(s, token));
        }
    }
}

/* What a GBNF may hold besides: comments, ends of lines, names, escapes, classes at their edges. */
TEST(test_gbnf_spelling)
{
    check_texts(SAMP_GRAMMAR_GBNF,
                "# before\r\n\nroot ::= \"a\" | # behind\r\n b-2 | #\n  (\n # within\r\n Z9 )\n\n"
                "b-2 ::= \"\\r\\n\\t\\\\\\\"\" [\\]\\-\\[]\r\nZ9 ::= \"z\"\n# the end",
                TEXTS("a", "z", "\r\n\t\\\"]", "\r\n\t\\\"-", "\r\n\t\\\"["), TEXTS("", "\r\n"),
                TEXTS("b", "#", "\n"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= [a-] [-a] \"x\" [] [^]", TEXTS("a-x", "-ax"), TEXTS("a", "--"),
                TEXTS("b", "aax^"));
    /* beyond Unicode nothing can match, and a class ends there */
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"\\U00110000\" | [\\U00110000-\\U00120000] | \"b\" [x-\\U00120000]",
                TEXTS("bx", "bz", "b\xf4\x8f\xbf\xbf"), TEXTS("", "b"), TEXTS("a", "\xf4\x8f", "bw", "b\xf4\x90"));
    check_texts(SAMP_GRAMMAR_GBNF, "root ::= \"a\"{ 1 , 2 } \"b\"{2 , } (\"c\"{\n 0, 5000 } \"d\")",
                TEXTS("abbd", "aabbbccccd"), TEXTS("aa", "abb"), TEXTS("b", "aaa", "abd"));
    check_texts(SAMP_GRAMMAR_GBNF, "a ::= \"x\"\nroot ::= a | \"y\"\na ::= \"z\"", TEXTS("z", "y"), TEXTS(""),
                TEXTS("x")); /* the second rule of a name replaces the first */
    check_texts(SAMP_GRAMMAR_GBNF, "none ::= [^\\x00-\\U0010ffff]\nroot ::= \"a\" | none", TEXTS("a"), TEXTS(""),
                TEXTS("n"));
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, "a ::= \"x\"\nb ::= \"y\"", "b", NULL);
    assert_non_null(g);
    assert_num(fares_in(g, "y"), 1);
    assert_num(fares_in(g, "x"), -1);
}

/* What a regular expression may hold: the escapes of JavaScript, with and without braces, and what repeats. */
TEST(test_regex_spelling)
{
    check_texts(SAMP_GRAMMAR_REGEX,
                "\\u{1F600}|\\ud83d\\ude01|\\u{e9}|\\ue000x|\\ud7ffy", /* two pairs, one by code */
                TEXTS("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81", "\xc3\xa9", "\xee\x80\x80x", "\xed\x9f\xbfy"),
                TEXTS("", "\xf0\x9f"), TEXTS("u", "\xf0\x9f\x98\x82", "\xed\xa0"));
    /* half a pair is no character: alone, before another escape, before what is no second half */
    check_texts(SAMP_GRAMMAR_REGEX, "a|\\ud83d|\\ud83dx|\\ud83d\\n|\\ud83d\\u0041|\\ud83d\\uf000", TEXTS("a"),
                TEXTS(""), TEXTS("A", "x", "\n", "\xed"));
    check_texts(SAMP_GRAMMAR_REGEX, "\\t\\n\\v\\f\\r\\cA\\cz\\x7f\\/\\.[\\b\\cJ]",
                TEXTS("\t\n\v\f\r\001\032\x7f/.\b", "\t\n\v\f\r\001\032\x7f/.\n"), TEXTS("\t\n\v"),
                TEXTS("t", "\t\n\v\f\r\002"));
    check_texts(SAMP_GRAMMAR_REGEX, "a|\\0|\\0b|\\0!", TEXTS("a"), TEXTS(""), TEXTS("0", "b", "!"));
    check_texts(SAMP_GRAMMAR_REGEX, "a{3}?|b{1,!}", TEXTS("aaa", "b{1,!}"), TEXTS("aa", "b{1"), TEXTS("b!", "aaaa"));
    check_texts(SAMP_GRAMMAR_REGEX, "x{2}y{1,}?z{0,1}?(a+?b*?)?{x{2,y{2,3}", TEXTS("xxy{x{2,yy", "xxyyzab{x{2,yyy"),
                TEXTS("xx", "xxy{x{2,y"), TEXTS("xy", "xxx", "xxyzz"));
    check_texts(SAMP_GRAMMAR_REGEX, "[\\d_-][^\\D5][a\\S]?[\\u{41}-\\u{43}-]", TEXTS("_1B", "-2xC", "33-"),
                TEXTS("1", "_1"), TEXTS("a", "15", "_1 "));
    check_texts(SAMP_GRAMMAR_REGEX,
                "[\\D]1|[\\W]2|[\\S]3|[^\\D]4", /* what lies between, before and behind the ranges */
                TEXTS("a1",
                      "\xc3\xa9"
                      "1",
                      "/1",
                      "\xc3\xa9"
                      "2",
                      "~2", "!2",
                      "\xc3\xa9"
                      "3",
                      "a3", "74"),
                TEXTS("", "a", "\xc3\xa9"),
                TEXTS("11", "a2", " 3", "a4",
                      "\xc3\xa9"
                      "4"));
    /* one place may be marked more than once, and the empty text at both ends */
    check_texts(SAMP_GRAMMAR_REGEX, "^(^abc$|^def$)$", TEXTS("abc", "def"), TEXTS("", "ab"), TEXTS("b", "abcd"));
    check_texts(SAMP_GRAMMAR_REGEX, "(a$)$|(^){2,}b|(^){2}", TEXTS("", "a", "b"), NONE, TEXTS("c", "ab", "ba"));
    check_texts(SAMP_GRAMMAR_REGEX, "(x|^)*^(^y|$^)(z?$)+$", TEXTS("", "y", "yz"), NONE,
                TEXTS("x", "xy", "yy", "yzz"));
    check_texts(SAMP_GRAMMAR_REGEX, "(^a?){3}(b$)?|$c|d^", TEXTS("", "a", "ab", "b"), NONE,
                TEXTS("aa", "c", "d", "aab"));
    check_texts(SAMP_GRAMMAR_REGEX, "(?<first>a|b)(?:c)$|^$", TEXTS("", "ac", "bc"), TEXTS("a"), TEXTS("c", "acd"));
    check_texts(SAMP_GRAMMAR_REGEX, "[\\u{10fff0}-\\u{10ffff}]|b", TEXTS("b", "\xf4\x8f\xbf\xbf"), TEXTS(""),
                TEXTS("a", "\xf4\x90"));
}

static void check_bad(samp_grammar_kind kind, const char *text, int status)
{
    /* at the end of a page of its own, as far as a sanitizer sees */
    size_t n = strlen(text) + 1;
    char *copy = (char *)malloc(n);
    samp_grammar_error error;
    assert_non_null(copy);
    memcpy(copy, text, n);
    samp_grammar *g = samp_grammar_init(kind, copy, NULL, &error);
    if (g) test_fail(__FILE__, __LINE__, "%s: no error", text);
    if (error.status != status)
        test_fail(__FILE__, __LINE__, "%s: %d, wanted %d: %s", text, error.status, status, error.message);
    assert_true(error.message[0] && error.line >= 1 && error.column >= 1 && error.column <= n);
    assert_null(samp_grammar_init(kind, copy, NULL, NULL));
    free(copy);
}

/* Lookahead anywhere, also within repetitions; a text that it leaves nothing of ends at once. */
TEST(test_lookahead)
{
    const samp_grammar_kind regex = SAMP_GRAMMAR_REGEX;
    check_texts(regex, "^(?=.*\\d)(?=.*[a-z])(?!.*--)[a-z\\d-]{3,5}$", TEXTS("ab1", "1-a-b"), TEXTS("1", "ab"),
                TEXTS("abcde", "11111", "a--", "ab1cde"));
    /* Zod's e-mail addresses, pydantic's Decimal */
    check_texts(
        regex,
        "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
        TEXTS("a.b@c.de", "x@y.z.ab"), TEXTS("a.", "a@b.c", ""), TEXTS(".a", "a..", "a@b..", "a.@"));
    check_texts(regex, "^(?!^[-+.]*$)[+-]?0*(?:\\d{0,8}|(?=[\\d.]{1,11}0*$)\\d{0,8}\\.\\d{0,2}0*$)",
                TEXTS("1", "-12.5", "00.25", "12345678.99000", "0."), TEXTS("", "+"),
                TEXTS("1.234", "--", "123456789."));
    check_texts(regex, "(?:(?!\\*/)[^])*\\*/", TEXTS("*/", "a*b*/", "**/"), TEXTS("", "a*", "*"),
                TEXTS("*/a", "a*/*"));
    check_texts(regex, "((?!ab)[ab])*", TEXTS("", "ba", "bbaa"), NONE, TEXTS("ab", "aab", "baab"));
    check_texts(regex, "(a(?=b)|b(?!b)){2,4}c?", TEXTS("ab", "abab", "babc"), TEXTS("a", "aba"),
                TEXTS("c", "aa", "bb", "ababab"));
    check_texts(regex, "((?=a)|b){3}a|(?:(?=(a|b))|x)*c", TEXTS("a", "ba", "bba", "c", "xxc"), TEXTS("b", "x"),
                TEXTS("aa", "bc", "xa"));
    check_texts(regex, "(?=a|b$)[ab]c?|(?!(?=c))c|d(?=)(?!$)e", TEXTS("a", "ac", "b", "de"), TEXTS("d"),
                TEXTS("bc", "c"));
    check_texts(regex, "a(?=bc)(?=.d)b.|ab?", TEXTS("a", "ab"), NONE, TEXTS("abc", "abd"));
    check_texts(regex, "((?=a)*b|(?!b){2}c)+", TEXTS("b", "cb"), TEXTS(""), TEXTS("a"));
}

/* \b and \B, at the ends of a text and within repetitions; what a character is spelled as in JSON does not matter. */
TEST(test_edges_of_words)
{
    const samp_grammar_kind regex = SAMP_GRAMMAR_REGEX;
    check_texts(regex, "(\\b\\w+\\b[ -]?)+", TEXTS("a", "ab-c", "a b "), TEXTS(""), TEXTS(" a", "a  ", "-"));
    check_texts(regex, ".*\\bab\\b.*", TEXTS("ab", "x ab", "ab-", "abab ab"), TEXTS("", "aba", "xab"), NONE);
    check_texts(regex, "\\Ba|a\\B.|\\B|\\b-", TEXTS("", "ab", "aa"), TEXTS("a"), TEXTS("-", "a-", "\xc3\xa9"));
    check_texts(regex, "(?!.*\\bno\\b)[a-z ]+\\b", TEXTS("know", "not"), TEXTS("a "), TEXTS("no ", "a no b"));
    check_texts(SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^.\\\\bx|n\\\\b$\"}",
                TEXTS("\"\\tx\"", "\"-x\"", "\"n\"", "\"\\n-n\""), TEXTS("\"\\nx"), TEXTS("\"ax\"", "\"nx\""));
}

/* (?i), as flags of the whole and of groups; names of groups; general categories. */
TEST(test_flags_and_categories)
{
    const samp_grammar_kind regex = SAMP_GRAMMAR_REGEX;
    check_texts(regex, "(?i)ab(?-i:c)[x-z]|(?P<n>-)", TEXTS("abcX", "ABcz", "-"), TEXTS("aB"), TEXTS("abC"));
    check_texts(regex, "a(?i:b[^c]|\\u0044)e", TEXTS("aBde", "ade", "aDe"), TEXTS("a"), TEXTS("A", "abC", "adE"));
#ifndef SAMP_NO_UNICODE
    check_texts(regex, "\\p{Lu}\\p{Ll}*[\\p{Nd}_]?\\P{L}?", TEXTS("A", "\xc3\x89t\xc3\xa9", "A\xd9\xa1", "A_-"),
                TEXTS(""), TEXTS("a", "A1a", "AA"));
    check_texts(regex, "\\p{Letter}\\p{gc=Symbol}[^\\P{Z}]|\\p{General_Category=Cs}",
                TEXTS("\xe6\xbc\xa2+ ", "a\xe2\x82\xac\xc2\xa0"), TEXTS("a", "a+"),
                TEXTS("1", "a1", "a+a", "\xed\xa0\x80"));
#else
    check_bad(regex, "\\p{L}", SAMP_E_UNSUPPORTED);
#endif
}

/* ---- random expressions, against a matcher that tries all ways ---- */

enum {
    PART_CHARS,
    PART_SEQ,
    PART_ALT,
    PART_REPEAT,
    PART_BEGIN,
    PART_END,
    PART_EDGE,
    PART_NO_EDGE,
    PART_AHEAD,
    PART_NOT_AHEAD
};
typedef struct pattern_part {
    int kind, least, most, n;
    const char *chars;
    struct pattern_part *part[3];
} pattern_part;

static pattern_part pattern_parts[256];
static int n_pattern_parts;

/* Makes a random expression of this depth, and appends its text to `out`. */
static pattern_part *make_pattern(source *rng, int depth, char *out)
{
    static const char *const chars[][2] = { { "a", "a" },   { "b", "b" },    { "[ab]", "ab" },
                                            { "\\W", " " }, { "\\w", "ab" }, { ".", "ab " } };
    static const struct {
        int kind;
        const char *open, *close;
    } marks[] = { { PART_BEGIN, "^", "" },     { PART_END, "$", "" },      { PART_EDGE, "\\b", "" },
                  { PART_NO_EDGE, "\\B", "" }, { PART_AHEAD, "(?=", ")" }, { PART_NOT_AHEAD, "(?!", ")" } };
    static const int counts[][2] = { { 0, -1 }, { 1, -1 }, { 0, 1 }, { 2, 2 }, { 0, 2 }, { 1, 3 } };
    static const char *const counted[] = { "*", "+", "?", "{2}", "{0,2}", "{1,3}" };
    pattern_part *p = &pattern_parts[n_pattern_parts++];
    memset(p, 0, sizeof *p);
    const int what = (int)below(rng, depth > 0 ? 8 : 2);
    if (what == 0 || (what < 4 && depth == 0)) {
        const size_t i = below(rng, 6);
        p->kind = PART_CHARS;
        p->chars = chars[i][1];
        strcat(out, chars[i][0]);
    } else if (what == 1 || what == 2) {
        const size_t i = below(rng, depth > 0 ? 6 : 4);
        p->kind = marks[i].kind;
        strcat(out, marks[i].open);
        if (marks[i].close[0]) p->part[p->n++] = make_pattern(rng, depth - 1, out);
        strcat(out, marks[i].close);
    } else {
        p->kind = what == 3 ? PART_REPEAT : what == 4 ? PART_ALT : PART_SEQ;
        strcat(out, "(?:");
        for (int n = p->kind == PART_REPEAT ? 1 : 2 + (int)below(rng, 2); p->n < n;) {
            if (p->n && p->kind == PART_ALT) strcat(out, "|");
            p->part[p->n] = make_pattern(rng, depth - 1, out);
            p->n++;
        }
        strcat(out, ")");
        const size_t i = below(rng, 6);
        p->least = counts[i][0];
        p->most = counts[i][1];
        if (p->kind == PART_REPEAT) strcat(out, counted[i]);
    }
    return p;
}

static bool is_word_at(const char *text, int n, int at) { return at >= 0 && at < n && text[at] != ' '; }

/* The places where matches of p can end that begin at one of the places in `from`, as bits. */
static unsigned match_pattern(const pattern_part *p, const char *text, int n, unsigned from)
{
    unsigned to = 0, now;
    switch (p->kind) {
        case PART_SEQ:
            for (int i = 0; i < p->n; i++) from = match_pattern(p->part[i], text, n, from);
            return from;
        case PART_ALT:
            for (int i = 0; i < p->n; i++) to |= match_pattern(p->part[i], text, n, from);
            return to;
        case PART_REPEAT:
            now = from;
            for (int i = 0; i <= (p->most < 0 ? p->least + n + 1 : p->most); i++) {
                if (i >= p->least) to |= now;
                now = match_pattern(p->part[0], text, n, now);
            }
            return to;
        default: break;
    }
    for (int at = 0; at <= n; at++) {
        if (!(from >> at & 1)) continue;
        const bool edge = is_word_at(text, n, at - 1) != is_word_at(text, n, at);
        const bool is = p->kind == PART_CHARS   ? at < n && strchr(p->chars, text[at])
                        : p->kind == PART_BEGIN ? at == 0
                        : p->kind == PART_END   ? at == n
                        : p->kind == PART_EDGE  ? edge
                        : p->kind == PART_NO_EDGE
                            ? !edge
                            : (match_pattern(p->part[0], text, n, 1u << at) != 0) == (p->kind == PART_AHEAD);
        if (is) to |= 1u << (at + (p->kind == PART_CHARS));
    }
    return to;
}

/* Each text of up to five characters: whether it is one, and whether a byte is refused that a longer one goes on with. */
TEST(test_random_patterns)
{
    enum { LONGEST = 5, N_TEXTS = 364 };
    source rng = source_stream(4711);
    for (int round = 0, n_rounds = quick() ? 60 : 300; round < n_rounds; round++) {
        char text[4096] = "";
        bool is[N_TEXTS], begun[N_TEXTS], any = false;
        n_pattern_parts = 0;
        const pattern_part *p = make_pattern(&rng, 3, text);
        char words_of[N_TEXTS][LONGEST + 1] = { "" };
        for (int i = 1; i < N_TEXTS; i++) {
            strcpy(words_of[i], words_of[(i - 1) / 3]);
            const char one[2] = { "ab "[(i - 1) % 3], 0 };
            strcat(words_of[i], one);
        }
        for (int i = N_TEXTS - 1; i >= 0; i--) {
            const int n = (int)strlen(words_of[i]);
            begun[i] = is[i] = match_pattern(p, words_of[i], n, 1) >> n & 1;
            for (int k = 3 * i + 1; k <= 3 * i + 3 && k < N_TEXTS; k++) begun[i] |= begun[k];
            any |= is[i];
        }
        samp_grammar_error error;
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, text, NULL, &error);
        if (!g && (any || error.status != SAMP_E_EMPTY))
            test_fail(__FILE__, __LINE__, "%s: %d %s", text, error.status, error.message);
        own_sampler *s = g ? samp_init_grammar(vocab_index, g) : NULL;
        for (int i = 0; i < N_TEXTS && g; i++) {
            int status = SAMP_OK;
            samp_reset(s);
            for (const char *at = words_of[i]; *at && !status; at++) status = samp_accept(s, (uint8_t)*at);
            if (status && status != SAMP_E_RANGE)
                test_fail(__FILE__, __LINE__, "%s, %s: %d", text, words_of[i], status);
            if ((status ? begun[i] : (samp_grammar_is_complete(s) == 1) != is[i]))
                test_fail(__FILE__, __LINE__, "%s: '%s' is %d here, %d there", text, words_of[i], status, is[i]);
            if (!status && i % 7 == 0) check_mask(s);
        }
    }
}

TEST(test_bad_texts)
{
    static const char *const gbnf[] = {
        "::= \"a\"",
        "root ::= \"a\" = \"b\"",
        "root ::= xy\nxyz ::= zxy xy\nzxy ::= \"a\"",
        "root ::= a{1}\nb ::= \"b\"",
        "root ::= \"a\"{",
        "root ::= \"a\"{x}",
        "root ::= \"a\"{1",
        "root ::= \"a\"{1x}",
        "root ::= \"a\"{1,",
        "root ::= \"a\"{1,x}",
        "root ::= \"a\"{1,2",
        "root ::= \"a\"{1,2x}",
        "root ::= \"a\"{99999999999}",
        "root ::= !a",
        "root ::= <[a]>",
        "root ::= <[1>",
        "root ::= <[1]",
        "root ::= <text",
        "root ::= \"\\u12\"",
        "root ::= []*",
        "root ::= [^]?",
        "root ::= [a",
        "root ::= [a-",
        "root ::= [a-\\q]",
        "root ::= [\\",
        "root ::= \"\\",
        "root ::= \"a\" | *",
        "b ::= \"a\"",
        "root ::= a.b\na ::= \"a\"",
        "root ::= (\"a\"",
        "root ::= subroot",
        "root ::= aroot b\nb ::= \"b\"",
        "root ::= \"a\"\n\xff",
    };
    static const char *const regex[] = {
        "\\u{",     "\\u{}",   "\\u{12",    "\\u{1234567}", "\\u{1g}", "\\u12",       "\\ud83d\\u12",
        "\\x4",     "\\q",     "\\Z",       "\\",           "a{3,2}",  "a{1,0}",      "(a",
        "(?<n>a",   "(?<n",    "(?:a",      "a)",           "+",       "a|?",         "[",
        "[a",       "[a-",     "[\\",       "[\\q]",        "[a-\\d]", "[\\d-a]",     "[b-a]",
        "[\\u{12]", "\\c{",    "\\c1",      "[a-\\",        "a**",     "a+*",         "a{2}{3}",
        "a???",     "{1}",     "a|{1,2}",   "(^*)",         "${2}",    "\\u{110000}", "[\\u{ffffff}]",
        "(?<>a)",   "(?<1>a)", "(?<a-b>a)", "(?<a b>a)",    "(?<a",    "(?<\xff>a)",
    };
    static const char *const unsupported[] = { "\\1",     "\\01",   "(a)\\9", "\\k<n>", "(?P=n)", "(?<=a)b",
                                               "(?<!a)b", "a(?i)b", "(?m:a)", "[\\1]",  "(?>a)" };
    for (size_t i = 0; i < TEST_COUNT(gbnf); i++) check_bad(SAMP_GRAMMAR_GBNF, gbnf[i], SAMP_E_FORMAT);
    for (size_t i = 0; i < TEST_COUNT(regex); i++) check_bad(SAMP_GRAMMAR_REGEX, regex[i], SAMP_E_FORMAT);
    for (size_t i = 0; i < TEST_COUNT(unsupported); i++)
        check_bad(SAMP_GRAMMAR_REGEX, unsupported[i], SAMP_E_UNSUPPORTED);
    for (int n = 100; n <= 101; n++) {
        char text[300];
        memset(text, '(', (size_t)n);
        memset(text + n, ')', (size_t)n);
        text[2 * n] = 0;
        if (n > 100)
            check_bad(SAMP_GRAMMAR_REGEX, text, SAMP_E_RANGE);
        else
            assert_num(fares(SAMP_GRAMMAR_REGEX, text, "", 0), 1);
    }
    assert_num(heap.live, 2); /* the index */
}

/* What is NULL, or out of range, in each function's arguments. */
TEST(test_bad_arguments)
{
    samp_grammar_error error;
    int status;
    assert_null(samp_grammar_init((samp_grammar_kind)4, "a", NULL, &error));
    assert_status(error.status, SAMP_E_RANGE);
    assert_null(samp_grammar_init((samp_grammar_kind)-1, "a", NULL, &error));
    assert_status(error.status, SAMP_E_RANGE);
    assert_null(samp_grammar_init(SAMP_GRAMMAR_REGEX, NULL, NULL, &error));
    assert_status(error.status, SAMP_E_NULL);
    samp_grammar_free(NULL);

    samp_vocab v[7];
    static const int wanted[] = { SAMP_E_NULL, SAMP_E_NULL, SAMP_E_EMPTY, SAMP_E_RANGE, SAMP_E_RANGE };
    for (int i = 0; i < 7; i++) v[i] = vocabulary;
    v[0].token_bytes = NULL;
    v[1].eog = NULL;
    v[2].n_vocab = 0;
    v[3].n_vocab = -1;
    v[4].n_vocab = SAMP_MAX_VOCAB + 1;
    for (size_t i = 0; i < TEST_COUNT(wanted); i++) {
        assert_null(samp_vocab_index_init(&v[i], &status));
        assert_status(status, wanted[i]);
        assert_null(samp_vocab_index_init(&v[i], NULL));
    }
    assert_null(samp_vocab_index_init(NULL, &status));
    assert_status(status, SAMP_E_NULL);
    size_t size = samp_vocab_index_size(vocab_index);
    assert_num(samp_vocab_index_size(NULL), 0);
    uint32_t *bytes = (uint32_t *)malloc(size + 4);
    assert_non_null(bytes);
    assert_status(samp_vocab_index_save(NULL, bytes, size), SAMP_E_NULL);
    assert_status(samp_vocab_index_save(vocab_index, NULL, size), SAMP_E_NULL);
    assert_ok(samp_vocab_index_save(vocab_index, bytes, size));
    assert_null(samp_vocab_index_map(&vocabulary, NULL, size, &status));
    assert_status(status, SAMP_E_NULL);
    assert_null(samp_vocab_index_map(&v[2], bytes, size, &status));
    assert_status(status, SAMP_E_EMPTY);
    assert_null(samp_vocab_index_map(&vocabulary, (char *)bytes + 1, size, &status));
    assert_status(status, SAMP_E_RANGE);
    samp_vocab_index *again = samp_vocab_index_map(&vocabulary, bytes, size, NULL);
    assert_non_null(again);
    samp_vocab_index_free(again);
    samp_vocab_index_free(NULL);
    free(bytes);

    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"ab\"");
    own_sampler *s = samp_init_grammar(vocab_index, g), *dist = samp_init_dist(1),
                *wrong = samp_init_grammar(NULL, g);
    uint32_t bits[(N_VOCAB + 31) / 32];
    float logits[N_VOCAB] = { 0 };
    assert_status(samp_status(wrong, NULL), SAMP_E_NULL);
    samp_sampler *const none[] = { NULL, dist, wrong };
    static const int says[] = { SAMP_E_NULL, SAMP_E_UNSUPPORTED, SAMP_E_NULL };
    for (int i = 0; i < 3; i++) {
        assert_status(samp_set_grammar_limits(none[i], 1 << 20, 1 << 20), says[i]);
        assert_status(samp_grammar_mask(none[i], bits), says[i]);
        assert_status(samp_grammar_prepare(none[i], 1), says[i]);
        assert_status(samp_grammar_is_complete(none[i]), says[i]);
        assert_status(samp_grammar_is_awaiting(none[i]), says[i]);
        assert_status((int)samp_grammar_forced(none[i], NULL, 0), says[i]);
        assert_status((int)samp_grammar_draft(none[i], NULL, 0), says[i]);
        assert_status((int)samp_grammar_certain(none[i], NULL, 0), says[i]);
        assert_status(samp_grammar_sample(dist, none[i], logits, N_VOCAB), says[i]);
    }
    assert_status(samp_set_grammar_limits(s, (1 << 16) - 1, 1024), SAMP_E_RANGE);
    assert_status(samp_set_grammar_limits(s, 1 << 16, 1023), SAMP_E_RANGE);
    assert_ok(samp_set_grammar_limits(s, 1 << 16, 1024));
    assert_status(samp_grammar_mask(s, NULL), SAMP_E_NULL);
    assert_status((int)samp_grammar_forced(s, NULL, 1), SAMP_E_NULL);
    assert_num(samp_grammar_forced(s, NULL, 0), 2);
    assert_status(samp_grammar_sample(NULL, s, logits, N_VOCAB), SAMP_E_NULL);
    assert_status(samp_grammar_sample(dist, s, NULL, N_VOCAB), SAMP_E_NULL);
    assert_status(samp_accept(s, -1), SAMP_E_RANGE);
    assert_status(samp_accept(s, N_VOCAB), SAMP_E_RANGE);
    assert_num(samp_grammar_is_complete(s), 0);
}

/* A regular expression that no text matches is an error, where it can be made; so is a structural tag. */
TEST(test_no_text)
{
    static const struct {
        samp_grammar_kind kind;
        const char *text;
    } cases[] = { { SAMP_GRAMMAR_REGEX, "[]" },
                  { SAMP_GRAMMAR_REGEX, "a[]b|[]" },
                  { SAMP_GRAMMAR_REGEX, "a^b" },
                  { SAMP_GRAMMAR_REGEX, "(x$y){1,3}" },
                  { SAMP_GRAMMAR_STRUCTURAL_TAG, "{\"format\":{\"type\":\"regex\",\"pattern\":\"[]\"}}" },
                  { SAMP_GRAMMAR_STRUCTURAL_TAG, "{\"format\":{\"type\":\"json_schema\",\"json_schema\":false}}" } };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        samp_grammar *g = samp_grammar_init(cases[i].kind, cases[i].text, NULL, &error);
        if (g || error.status != SAMP_E_EMPTY) test_fail(__FILE__, __LINE__, "%s: %d", cases[i].text, error.status);
        assert_true(error.line == 1 && error.column >= 1 && error.message[0]);
    }
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_REGEX, "a|[]|b$c", NULL, NULL);
    assert_non_null(g);
}

TEST(test_places_of_errors)
{
    static const struct {
        const char *text;
        size_t line, column;
    } bad[] = { { "", 1, 1 },
                { "root = \"a\"", 1, 6 },
                { "root ::= \"a", 1, 12 },
                { "root ::= \"a\" )", 1, 14 },
                { "x ::= \"a\"\nroot ::= y x", 2, 10 },
                { "root ::= bc b\nbc ::= \"a\"", 1, 13 },
                { "root ::= ab b\nab ::= \"a\"", 1, 13 },
                { "root ::= ( \"a\"\n| \"b\"\n", 3, 1 },
                { "root ::= *", 1, 10 },
                { "root ::= \"\"*", 1, 12 },
                { "root ::= \"a\"{2001}", 1, 14 },
                { "root ::= \"a\"{3,2}", 1, 14 },
                { "root ::= \"a\"{1,0}", 1, 14 },
                { "root ::= (\"a\"{0,50}){50}", 1, 21 },
                { "root ::= \"\\q\"", 1, 12 },
                { "root ::= [\\x4g]", 1, 14 },
                { "root ::= <[12>", 1, 14 },
                { "root ::= \"foo\" foo", 1, 16 },
                { "# foo\nroot ::= [foo] <foo> foo", 2, 22 },
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

TEST(test_tokens_in_grammars)
{
    samp_token tool = 256 + N_WORDS - 1;
    uint32_t bits[(N_VOCAB + 31) / 32];
    samp_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= <tool> (!<tool>)+ <[120]> <[286]>");
    own_sampler *s = samp_init_grammar(vocab_index, g);
    assert_ok(samp_status(s, NULL));
    for (samp_token token = 0; token < N_VOCAB; token++)
        assert_num((samp_grammar_mask(s, bits), bit(bits, token)), token == tool);
    assert_status(samp_accept(s, '<'), SAMP_E_RANGE);
    assert_ok(samp_accept(s, tool));
    assert_ok(samp_grammar_mask(s, bits));
    for (samp_token token = 0; token < N_VOCAB; token++) /* a token that begins with 0 has no text for llama.cpp */
        assert_num(bit(bits, token), token != 0 && token != tool && token < EOG);
    assert_ok(samp_accept(s, 'x'));
    assert_ok(samp_accept(s, 'x'));
    assert_ok(samp_grammar_mask(s, bits));
    assert_true(bit(bits, EMPTY_TOKEN)); /* by its number, without a text */
    assert_ok(samp_accept(s, EMPTY_TOKEN));
    assert_num(samp_grammar_is_complete(s), 1);
    assert_ok(samp_accept(s, EOG));
    samp_free(s);
    samp_grammar_free(g);

    /* at one place a token by its name, by what it is not, and a rule that is called */
    g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= list | <tool> | \"x\"\nlist ::= \"(\" root \")\" list?");
    s = samp_init_grammar(vocab_index, g);
    check_mask(s);
    for (const char *p = "(((x)("; *p; p++) {
        assert_ok(samp_accept(s, *p));
        check_mask(s);
    }
    assert_ok(samp_accept(s, tool));
    check_mask(s);
    for (const char *p = ")))"; *p; p++) assert_ok(samp_accept(s, *p));
    assert_num(samp_grammar_is_complete(s), 1);
    samp_free(s);
    samp_grammar_free(g);

    const char *field;
    g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= <no such token>");
    s = samp_init_grammar(vocab_index, g);
    assert_status(samp_status(s, &field), SAMP_E_RANGE);
    assert_text(field, "grammar");
    samp_free(s);
    samp_grammar_free(g);
    s = samp_init_grammar(vocab_index, NULL);
    assert_status(samp_status(s, &field), SAMP_E_NULL);
    samp_free(s);
    s = samp_init_top_k(1);
    assert_status(samp_grammar_mask(s, bits), SAMP_E_UNSUPPORTED);
    assert_status(samp_grammar_is_complete(NULL), SAMP_E_NULL);
}

/* An index from bytes gives the same masks; damage is seen. */
TEST(test_index_bytes)
{
    size_t size = samp_vocab_index_size(vocab_index);
    uint32_t *bytes = (uint32_t *)malloc(size), bits[2][(N_VOCAB + 31) / 32];
    int status;
    assert_status(samp_vocab_index_save(vocab_index, bytes, size - 1), SAMP_E_WORKSPACE);
    assert_ok(samp_vocab_index_save(vocab_index, bytes, size));
    samp_vocab_index *mapped = samp_vocab_index_map(&vocabulary, bytes, size, &status);
    assert_ok(status);
    samp_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    samp_sampler *a = samp_init_grammar(vocab_index, g), *b = samp_init_grammar(mapped, g);
    for (const char *p = "{\"a\": [1, "; *p; p++) {
        assert_ok(samp_grammar_mask(a, bits[0]));
        assert_ok(samp_grammar_mask(b, bits[1]));
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        assert_ok(samp_accept(a, *p));
        assert_ok(samp_accept(b, *p));
    }
    samp_free(a);
    samp_free(b);
    samp_grammar_free(g);
    samp_vocab_index_free(mapped);
    bytes[size / 8] ^= 1;
    assert_null(samp_vocab_index_map(&vocabulary, bytes, size, &status));
    assert_status(status, SAMP_E_FORMAT);
    bytes[size / 8] ^= 1;
    for (size_t n = 0; n < size; n += n < 64 ? 4 : size - 4 - n ? size - 4 - n : 4) {
        assert_null(samp_vocab_index_map(&vocabulary, bytes, n, &status));
        assert_status(status, SAMP_E_FORMAT);
    }
    free(bytes);
}

/* An index whose checksum is right, but not what it says: each is a status, and none is walked. */
TEST(test_index_forged)
{
    size_t size = samp_vocab_index_size(vocab_index), n_words = size / 4;
    uint32_t *words = (uint32_t *)malloc(size);
    source rng = source_stream(6);
    long taken = 0;
    assert_non_null(words);
    for (int i = 0; i < 4000; i++) {
        assert_ok(samp_vocab_index_save(vocab_index, words, size));
        const uint32_t first = (uint32_t)(n_words - 2 * words[2]);
        uint32_t *word = &words[i % 16 ? first + below(&rng, n_words - first) : 1 + below(&rng, 3)], was = *word;
        uint32_t lower = (uint32_t)below(&rng, 8), higher = (uint32_t)below(&rng, 64) << (below(&rng, 2) ? 8 : 10);
        *word = i % 3 ? *word ^ (lower | higher) : (uint32_t)choose(&rng, 4);
        uint64_t sum = sampi_checksum(words + SAMPI_INDEX_HEAD, size - 4 * SAMPI_INDEX_HEAD);
        words[4] = (uint32_t)sum;
        words[5] = (uint32_t)(sum >> 32);
        int status;
        own_index *index = samp_vocab_index_map(&vocabulary, words, size, &status);
        bool token = (word - words - first) % 2 == 0 && i % 16;
        if (!index) assert_status(status, SAMP_E_FORMAT);
        if (index && !token) assert_num(*word, was); /* another byte or token is no damage that can be told */
        taken += index != NULL;
    }
    assert_true(taken > 100);
    free(words);
}

/* What an index has besides its tries: no group ends before it begins or behind the list, and no token is listed that
   there is not. What it says of the kinds of characters is as good as what it says of the tokens' bytes. */
TEST(test_index_forged_groups)
{
    size_t size = samp_vocab_index_size(vocab_index);
    uint32_t *words = (uint32_t *)malloc(size);
    assert_non_null(words);
    assert_ok(samp_vocab_index_save(vocab_index, words, size));
    const size_t groups = SAMPI_INDEX_HEAD + 2 * (((size_t)N_VOCAB + 31) / 32), listed = groups + 2 * words[6] + 2;
    assert_true(words[6] > 3 && words[7] > 100);
    const struct {
        size_t at;
        uint32_t value;
        bool sound;
    } forged[] = {
        { groups, 1, true },
        { groups + 1, 1, false },
        { groups + 3, words[7] + 1, false },
        { groups + 5, 0, false },
        { listed - 1, words[7] - 1, false },
        { listed, N_VOCAB, false },
        { listed, 7, true },
        { listed + words[7], 0, true },
        { 6, words[6] + 1, false },
        { 7, words[7] + 1, false },
        { 6, 0xffffffffu, false },
        { 7, 0xffffffffu, false },
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        int status;
        assert_ok(samp_vocab_index_save(vocab_index, words, size));
        words[forged[i].at] = forged[i].value;
        uint64_t sum = sampi_checksum(words + SAMPI_INDEX_HEAD, size - 4 * SAMPI_INDEX_HEAD);
        words[4] = (uint32_t)sum;
        words[5] = (uint32_t)(sum >> 32);
        own_index *index = samp_vocab_index_map(&vocabulary, words, size, &status);
        if ((index != NULL) != forged[i].sound) test_fail(__FILE__, __LINE__, "forged %zu", i);
        assert_status(status, forged[i].sound ? SAMP_OK : SAMP_E_FORMAT);
    }
    free(words);
}

/* ---- runs: masks that are not walked for ---- */

enum { MAX_RUN_TOKENS = 3000, MAX_RUN_PIECE = 64 };
static char run_piece[MAX_RUN_TOKENS][MAX_RUN_PIECE];
static int32_t n_run_tokens;

static const char *run_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = token + 1 < vocab->n_vocab ? strlen(run_piece[token]) : 0;
    return run_piece[token];
}

static void add_run_piece(const char *a, const char *b, const char *c, const char *d)
{
    assert_true(n_run_tokens < MAX_RUN_TOKENS - 1);
    snprintf(run_piece[n_run_tokens++], MAX_RUN_PIECE, "%s%s%s%s", a, b, c, d);
}

/* All texts of up to three characters of some kinds, and some that repeat one so often that lengths matter. */
static void make_run_pieces(void)
{
    static const char *const letter[] = { "a", "z", "G", "7", " ", "-", ".", "@", "\xc3\xa9", "\xe3\x80\x80", "\"" };
    static const char *const often[] = { "a", "a ", "\xc3\xa9", "7-", "Gaz", "\xe3\x80\x80", "." };
    enum { N_LETTERS = sizeof letter / sizeof *letter };
    n_run_tokens = 0;
    for (int i = 0; i < N_LETTERS; i++) {
        add_run_piece(letter[i], "", "", "");
        for (int k = 0; k < N_LETTERS; k++) {
            add_run_piece(letter[i], letter[k], "", "");
            for (int j = 0; j < N_LETTERS; j++) add_run_piece(letter[i], letter[k], letter[j], "");
        }
    }
    for (size_t i = 0; i < sizeof often / sizeof *often; i++) {
        char text[MAX_RUN_PIECE] = "";
        for (int k = 0; strlen(text) + strlen(often[i]) + 2 < MAX_RUN_PIECE; k++) {
            strcat(text, often[i]);
            if (k >= 3) add_run_piece(text, "", "", "");
            if (k >= 3 && k % 3 == 0) add_run_piece(text, "\"", "", "");
            if (k >= 3 && k % 5 == 0) add_run_piece(text, "@", "", "");
        }
    }
    add_run_piece("", "", "", ""); /* the text's end */
}

/* Each mask against each token by itself, along texts of allowed tokens. What these grammars have: free text, lengths
   that are near and far, counts of words and both at once, kinds of characters, a part that may be one or two
   characters, names that are not listed, a rule that may end behind each character. */
TEST(test_masks_along_texts)
{
    static const char *const grammars[] = {
        "{\"type\":\"string\"}",
        "{\"type\":\"string\",\"maxLength\":7}",
        "{\"type\":\"string\",\"maxLength\":40,\"minLength\":3}",
        "{\"type\":\"string\",\"maxLength\":300}",
        "{\"type\":\"string\",\"maxLength\":30,\"pattern\":\"^(?:\\\\S+\\\\s+){0,4}\\\\S+$\"}",
        "{\"type\":\"string\",\"pattern\":\"^(?:\\\\S+\\\\s+){0,9}\\\\S+$\"}",
        "{\"type\":\"string\",\"pattern\":\"^[a-z]{2,5}$\"}",
        "{\"type\":\"string\",\"pattern\":\"^[a-zA-Z0-9]+(-[a-z]+)*$\"}",
        "{\"type\":\"string\",\"pattern\":\"^[^@]+@[^@]{1,9}$\"}",
        "{\"type\":\"string\",\"pattern\":\"^([a-z]{1,2}){0,6}$\"}",
        "{\"type\":\"string\",\"pattern\":\"^a*[0-9 -]{0,20}\\\\.\"}",
        "{\"properties\":{\"aaa\":{\"type\":\"null\"},\"Ga\":{\"type\":\"null\"},\"\xc3\xa9z\":false}}",
        "root ::= \"\\\"\" word \" \"* (\"@\" word)? \"\\\"\"\nword ::= [a-z]+ word?",
        "root ::= \"\\\"\" ([^\\\"\\\\]{0,12} \"@\" | [a-z-]* \".\") \"\\\"\"",
        "root ::= [^G] [^\\\"]*",
        "root ::= \"a\"? [^a@] ([^\\\"-]{0,9} | [^z] [^\\\"]*) \"\\\"\"",
    };
    static uint32_t bits[MAX_RUN_TOKENS / 32 + 1];
    int status;
    source rng = source_stream(8);
    make_run_pieces();
    const samp_token end[] = { n_run_tokens - 1 };
    samp_vocab vocab = { n_run_tokens, run_bytes, NULL, NULL, end, 1, end[0], -1 };
    own_index *index = samp_vocab_index_init(&vocab, &status);
    assert_ok(status);
    long n_allowed = 0;
    for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++) {
        own_grammar *g = read_grammar(*grammars[i] == '{' ? SAMP_GRAMMAR_JSON_SCHEMA : SAMP_GRAMMAR_GBNF,
                                      grammars[i]);
        for (int text = 0; text < 2; text++) {
            own_sampler *s = samp_init_grammar(index, g);
            sampi_matcher *m = (sampi_matcher *)s->ctx;
            for (int step = 0; step < 8; step++) {
                samp_token allowed[MAX_RUN_TOKENS], n = 0;
                assert_ok(samp_grammar_mask(s, bits));
                for (samp_token token = 0; token < end[0]; token++) {
                    if (sampi_matcher_allows(m, token) != bit(bits, token))
                        test_fail(__FILE__, __LINE__, "%s, text %d, step %d: \"%s\" %d", grammars[i], text, step,
                                  run_piece[token], (int)bit(bits, token));
                    if (bit(bits, token) && !(strchr(run_piece[token], '"') && step)) allowed[n++] = token;
                }
                n_allowed += n;
                if (n == 0) break;
                assert_ok(samp_accept(s, allowed[step ? below(&rng, (size_t)n) : 0]));
            }
        }
    }
    assert_true(n_allowed > 10000);
}

/* Pieces at the edges of UTF-8, beyond it, and halves of characters; tokens without a text, or with a 0 first; as many as
   fill the last word of a mask; ends of a generation that there are not. */
static const char *odd_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    /* clang-format off */
    static const char *const odd[32] = {
        "a", "\"", "\xe0\xa0\x80", "\xe0\x9f\xbf", "\xed\x9f\xbf", "\xed\xa0\x80", "\xf0\x90\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc1\x80", "\xc2\x80",
        "\xc2", "\x80", "\xe1\x41\x41", "\xe1\x80\x41", "\xf1\x80\x80\x41", "a\xc2", "\x80 b", "\xe0\xa0",
        "\xf0\x90\x80", "\\", "\\n", "\x1f", "\x7f", "{", "<x>", "<y>", NULL, "", "\xff",
    };
    /* clang-format on */
    (void)vocab;
    *n = odd[token] ? strlen(odd[token]) : 3;
    if (token == 30) *n = 1; /* a 0 */
    return odd[token];
}

static int32_t one_token(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    (void)vocab;
    for (samp_token i = 0; i < 32 && n_max > 0; i++) {
        size_t length;
        const char *bytes = odd_bytes(vocab, i, &length);
        if (bytes && length == n && memcmp(bytes, text, n) == 0) return *out = i, 1;
    }
    return 0;
}

TEST(test_odd_vocabulary)
{
    static const struct {
        samp_grammar_kind kind;
        const char *text;
    } grammars[] = { { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\"}" },
                     { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":2}" },
                     { SAMP_GRAMMAR_REGEX, "[^a]{0,3}" },
                     { SAMP_GRAMMAR_GBNF, "root ::= <x> \"a\" | !<x> \"a\" | <y>" } };
    static const samp_token end[] = { 31, -1, 32, 28 };
    for (int tokenizes = 0; tokenizes < 2; tokenizes++) {
        samp_vocab vocab = { 32, odd_bytes, tokenizes ? one_token : NULL, NULL, end, 4, -1, -1 };
        int status;
        own_index *index = samp_vocab_index_init(&vocab, &status);
        assert_ok(status);
        for (size_t i = 0; i < TEST_COUNT(grammars); i++) {
            own_grammar *g = read_grammar(grammars[i].kind, grammars[i].text);
            own_sampler *s = samp_init_grammar(index, g);
            for (samp_token first = -1; first < 32; first++) {
                uint32_t bits;
                samp_reset(s);
                if (first >= 0 && samp_accept(s, first)) continue;
                assert_ok(samp_grammar_mask(s, &bits));
                for (samp_token token = 0; token < 32; token++)
                    if (sampi_matcher_allows((sampi_matcher *)s->ctx, token) != (int)(bits >> token & 1))
                        test_fail(__FILE__, __LINE__, "%s: token %d behind %d is %d in the mask", grammars[i].text,
                                  (int)token, (int)first, (int)(bits >> token & 1));
            }
        }
    }
    samp_vocab none = { 3, odd_bytes, NULL, NULL, NULL, 1, -1, -1 };
    int status;
    assert_null(samp_vocab_index_init(&none, &status));
    assert_status(status, SAMP_E_NULL);
}

/* The longest piece that there may be, and one that is longer; no token that ends a generation. */
static size_t longest_piece;
static const char *long_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char text[SAMPI_MAX_PIECE + 1];
    (void)vocab;
    memset(text, 'a', sizeof text);
    *n = token ? 1 : longest_piece;
    return text;
}

TEST(test_long_pieces)
{
    samp_vocab vocab = { 2, long_bytes, NULL, NULL, NULL, 0, -1, -1 };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"a\"{1000} \"a\"{23,24}");
    for (longest_piece = SAMPI_MAX_PIECE; longest_piece <= SAMPI_MAX_PIECE + 1; longest_piece++) {
        const bool fits = longest_piece == SAMPI_MAX_PIECE;
        int status;
        own_index *index = samp_vocab_index_init(&vocab, &status);
        assert_status(status, fits ? SAMP_OK : SAMP_E_RANGE);
        assert_true((index != NULL) == fits);
        if (!fits) break;
        own_sampler *s = samp_init_grammar(index, g);
        uint32_t bits;
        assert_ok(samp_grammar_mask(s, &bits));
        assert_num(bits, 3);
        assert_ok(samp_accept(s, 0));
        assert_num(samp_grammar_is_complete(s), 1);
        assert_ok(samp_grammar_mask(s, &bits));
        assert_num(bits, 2);
    }
}

/* A token's text that no token has, with and without a tokenizer of the vocabulary's own. */
TEST(test_no_such_text)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= <q>");
    for (int tokenizes = 0; tokenizes < 2; tokenizes++) {
        samp_vocab vocab = { 32, odd_bytes, tokenizes ? one_token : NULL, NULL, NULL, 0, -1, -1 };
        int status;
        own_index *index = samp_vocab_index_init(&vocab, &status);
        own_sampler *s = samp_init_grammar(index, g);
        assert_status(samp_status(s, NULL), SAMP_E_RANGE);
    }
}

TEST(test_forced)
{
    char bytes[8] = "";
    samp_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF,
                                   "root ::= \"abc\" [xy] (\"\xc3\xa9\" | \"\xc3\xaa\") \"z\"{9} \"\"");
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    assert_num(samp_grammar_forced(s, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "abc", 3);
    assert_ok(samp_accept(s, 257)); /* abc */
    assert_num(samp_grammar_forced(s, bytes, sizeof bytes), 0);
    assert_ok(samp_accept(s, 'x'));
    assert_num(samp_grammar_forced(s, NULL, 0), 0); /* half a character is not told */
    assert_ok(samp_accept(s, 0xc3));
    assert_ok(samp_accept(s, 0xaa));
    assert_num(samp_grammar_forced(s, bytes, sizeof bytes), 9);
    assert_memory_equal(bytes, "zzzzzzzz", 8);
    samp_free(s);
    samp_grammar_free(g);
    static const struct {
        const char *text;
        int bytes;
    } ends[] = { { "root ::= \"a\xc3\xa9\" [xy]", 3 },
                 { "root ::= \"\xe2\x82\xac\"", 3 },
                 { "root ::= \"\xf0\x9f\x98\x80\" [xy]?", 4 },
                 { "root ::= \"\xe6\x97\xa5\" [\u6700-\u6710]", 3 },
                 { "root ::= \"a\" [\u00c0-\u00ff]", 1 },
                 { "root ::= \"qq\" [bc]", 2 }, /* two bytes that the grammar treats alike */
                 { "root ::= one | two\none ::= \"xa\" one \"1\"\ntwo ::= \"xa\" [yz] two \"2\"", 2 },
                 { "root ::= one | two\none ::= \"xab\" one \"1\"\ntwo ::= \"xac\" two \"2\"", 2 } };
    for (size_t i = 0; i < TEST_COUNT(ends); i++) {
        g = read_grammar(SAMP_GRAMMAR_GBNF, ends[i].text);
        s = samp_init_grammar(vocab_index, g);
        assert_num(samp_grammar_forced(s, bytes, sizeof bytes), ends[i].bytes);
        samp_free(s);
        samp_grammar_free(g);
    }
    g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"a\" root");
    s = samp_init_grammar(vocab_index, g);
    assert_num(samp_grammar_forced(s, NULL, 0), 4096);
    samp_free(s);
    samp_grammar_free(g);
    static char many[4096], all[4096], as[4096];
    size_t n = (size_t)sprintf(many, "root ::= r0"); /* a hundred items at every byte */
    for (int i = 1; i < 100; i++) n += (size_t)sprintf(many + n, " | r%d", i);
    for (int i = 0; i < 100; i++) n += (size_t)sprintf(many + n, "\nr%d ::= \"a\" r%d \"%d\"", i, i, i);
    g = read_grammar(SAMP_GRAMMAR_GBNF, many);
    s = samp_init_grammar(vocab_index, g);
    assert_num(samp_grammar_forced(s, all, sizeof all), 4096);
    memset(as, 'a', sizeof as);
    assert_memory_equal(all, as, sizeof as);
    samp_free(s);
    samp_grammar_free(g);
}

/* What must follow as tokens: the longest each, none at the end that could go on, and those that nothing else could be. */
TEST(test_draft)
{
    static const struct {
        const char *text;
        samp_token tokens[5]; /* then 0 */
        int certain;
    } cases[] = {
        { "root ::= \"abcx\"", { 257, 'x' }, 0 },                /* "abc", where "ab" and "a" are others */
        { "root ::= \"qrfoo\" [xy]", { 'q', 'r', 265 }, 2 },     /* "foo", where "f" is another */
        { "root ::= \"qr\"", { 'q', 'r' }, 2 },                  /* the end of the text is not told */
        { "root ::= \"qa\" [bc]", { 'q' }, 1 },                  /* "ab" may come */
        { "root ::= \"qa\" [cd]", { 'q', 'a' }, 2 },             /* it may not */
        { "root ::= \"qab\" (\"c\" | \"d\")", { 'q' }, 1 },      /* "abc" goes on */
        { "root ::= \"qab\" (\"x\" | \"d\")", { 'q', 256 }, 1 }, /* the first of two that are equal */
        { "root ::= \"q1r\"", { 'q', '1', 'r' }, 1 },            /* either of them is one too many to be certain */
        { "root ::= \"q\" [\\u00e9\\u00ea]", { 'q' }, 1 },       /* half a character, and a token of the whole one */
        { "root ::= \"q\" [\\u20ac\\u20ad]", { 'q', 273 }, 1 },  /* it ends within a character, and nothing goes on */
        { "root ::= <tool> \"q\"", { 0 }, 0 },                   /* a token by its name is no text */
        { "root ::= [ab]", { 0 }, 0 },
        { "root ::= \"q\"?", { 0 }, 0 },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_token tokens[8] = { 0 }, sure[8], n = 0;
        own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, cases[i].text);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        while (cases[i].tokens[n]) n++;
        if (samp_grammar_draft(s, tokens, 8) != n || memcmp(tokens, cases[i].tokens, (size_t)n * sizeof *tokens) ||
            samp_grammar_certain(s, sure, 8) != cases[i].certain ||
            memcmp(sure, tokens, (size_t)cases[i].certain * sizeof *tokens))
            test_fail(__FILE__, __LINE__, "%s: %d tokens, the first %d %d %d, certain %d", cases[i].text,
                      (int)samp_grammar_draft(s, NULL, 0), tokens[0], tokens[1], tokens[2],
                      (int)samp_grammar_certain(s, sure, 8));
        assert_num(samp_grammar_draft(s, tokens, 1), n > 1 ? 1 : n);
        for (int32_t k = 0; k < n; k++) assert_ok(samp_accept(s, cases[i].tokens[k])); /* it is where it was */
    }
    samp_token many[600];
    samp_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"q\" root");
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    samp_sampler *lazy = samp_init_grammar_lazy(vocab_index, g, (const char *const[]){ "q" }, 1, NULL, 0);
    assert_num(samp_grammar_draft(s, many, 600), 600);
    assert_num(samp_grammar_certain(s, many, 600), 600);
    assert_num(samp_grammar_draft(s, NULL, 0), 0);
    assert_status((int)samp_grammar_draft(s, NULL, 1), SAMP_E_NULL);
    assert_status((int)samp_grammar_certain(s, NULL, 1), SAMP_E_NULL);
    assert_num(samp_grammar_draft(lazy, many, 600), 0);
    assert_ok(samp_accept(lazy, 'q'));
    assert_num(samp_grammar_draft(lazy, many, 600), 600);
    samp_free(lazy);
    samp_free(s);
    samp_grammar_free(g);
}

/* A made-up model: what it says depends on how many tokens there are. */
static void say(int at, float *row)
{
    source rng = source_stream(700 + (uint64_t)at);
    test_logits(&rng, row, N_VOCAB, 2.0);
}

/* A document, with steps of the model for what is forced, with drafts, or without a step for tokens that are certain:
   the same one. Draws, coins, mu and penalties are so too. */
TEST(test_draft_is_exact)
{
    enum { MOST = 400, DRAFT = 16 };
    static float rows[(DRAFT + 1) * N_VOCAB], none[N_VOCAB];
    static const char schema[] =
        "{\"properties\":{\"first_name\":{\"enum\":[\"foo\",\"bar\",\"xxx\"]},\"kind\":{\"const\":\"a thing\"},"
        "\"numbers\":{\"items\":{\"type\":\"boolean\"},\"minItems\":2,\"maxItems\":3}},"
        "\"required\":[\"first_name\",\"kind\",\"numbers\"],\"additionalProperties\":false,\"type\":\"object\"}";
    own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema, "ordered spaced", NULL);
    assert_non_null(g);
    for (int kind = 0; kind < 8; kind++) {
        samp_token text[3][MOST];
        int n[3] = { 0 }, steps[3] = { 0 };
        for (int way = 0; way < 3; way++) { /* a step each; drafts; steps but for what is certain */
            samp_sampler *chain = samp_chain_init(), *grammar = samp_init_grammar(vocab_index, g);
            samp_set_rng(chain, kind % 2 ? SAMP_RNG_MT19937 : SAMP_RNG_PHILOX);
            samp_chain_add(chain, grammar);
            if (kind / 2 % 2) samp_chain_add(chain, samp_init_penalties(20, 1.3f, 0.1f, 0.1f));
            if (kind / 2 % 2) samp_chain_add(chain, samp_init_xtc(0.5f, 0.1f, 1, 3));
            samp_chain_add(chain, kind / 4 ? samp_init_mirostat_v2(7, 3, 0.1f) : samp_init_dist(7));
            while (n[way] < MOST - DRAFT && (n[way] == 0 || text[way][n[way] - 1] != EOG)) {
                samp_token *out = text[way] + n[way], tokens[DRAFT];
                const int64_t many = way ? (way == 1 ? samp_grammar_draft : samp_grammar_certain)(grammar, tokens,
                                                                                                  DRAFT)
                                         : 0;
                assert_true(many >= 0);
                for (int i = 0; i <= many; i++) say(n[way] + i, rows + i * N_VOCAB);
                if (way < 2) {
                    samp_draft draft = { .n = (size_t)many, .tokens = tokens };
                    n[way] += samp_verify(chain, rows, N_VOCAB, &draft, SAMP_VERIFY_EXACT, out) + 1;
                } else {
                    for (int i = 0; i < many; i++) assert_num(samp_sample(chain, none, N_VOCAB), tokens[i]);
                    memcpy(out, tokens, (size_t)many * sizeof *out);
                    out[many] = samp_sample(chain, rows + many * N_VOCAB, N_VOCAB);
                    n[way] += (int)many + 1;
                }
                steps[way]++;
            }
            assert_num(text[way][n[way] - 1], EOG);
            samp_free(chain);
        }
        for (int way = 1; way < 3; way++) {
            assert_num(n[way], n[0]);
            assert_memory_equal(text[way], text[0], (size_t)n[0] * sizeof **text);
            assert_true(way == 1 ? steps[way] * 3 < n[0] * 2 : steps[way] < n[0]);
        }
    }
}

static samp_sampler *grammar_chain(samp_sampler *grammar, samp_rng_kind kind)
{
    samp_sampler *chain = samp_chain_init();
    samp_set_rng(chain, kind);
    if (grammar) samp_chain_add(chain, grammar);
    samp_chain_add(chain, samp_init_top_k(30));
    samp_chain_add(chain, samp_init_temp(1.5f));
    samp_chain_add(chain, samp_init_dist(7));
    return chain;
}

/* samp_sample with a grammar in front, on the fast path, against the array step by step; clones, saved states and resets
   on the way. */
TEST(test_fast_and_steps_agree)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    samp_sampler *fast = grammar_chain(samp_init_grammar(vocab_index, g), SAMP_RNG_PHILOX);
    samp_sampler *steps = grammar_chain(samp_init_grammar(vocab_index, g), SAMP_RNG_PHILOX), *copy;
    float logits[N_VOCAB];
    samp_token_data data[N_VOCAB];
    static char saved[1 << 16];
    char text[256];
    assert_true(samp_describe(fast, text, sizeof text) > 0);
    assert_non_null(strstr(text, "grammar"));
    source rng = source_stream(3);
    for (int step = 0; step < 300; step++) {
        test_logits(&rng, logits, N_VOCAB, 2.0);
        samp_token_data_array cur = test_array(data, logits, N_VOCAB);
        assert_ok(samp_apply(steps, &cur));
        samp_token want = data[cur.selected].id;
        copy = samp_clone(fast);
        assert_num(samp_sample(copy, logits, N_VOCAB), want);
        samp_free(copy);
        size_t size = samp_state_size(fast);
        assert_true(size > 0 && size < sizeof saved);
        assert_ok(samp_state_save(fast, saved, size));
        copy = samp_clone(fast);
        samp_reset(copy);
        assert_ok(samp_state_load(copy, saved, size));
        assert_num(samp_sample(copy, logits, N_VOCAB), want);
        samp_free(copy);
        assert_num(samp_sample(fast, logits, N_VOCAB), want);
        assert_num(samp_perf(fast).n_steps, 0);
        assert_ok(samp_accept(steps, want));
        if (want == EOG || step % 100 == 99) {
            samp_reset(fast);
            samp_reset(steps);
        }
    }
    /* a token that the grammar refuses leaves the chain as it was */
    assert_status(samp_accept(fast, 'q'), SAMP_E_RANGE);
    samp_free(fast);
    samp_free(steps);
}

/* One token by every way in: a grammar as a chain's first sampler, alone and in a batch, and as a mask before a chain
   without it, in a batch and with samp_verify, which gets the token as its draft, or another one. */
TEST(test_one_token)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *with = grammar_chain(samp_init_grammar(vocab_index, g), (samp_rng_kind)kind);
        own_sampler *batched = samp_clone(with), *verified = samp_clone(with),
                    *without = grammar_chain(NULL, (samp_rng_kind)kind);
        own_sampler *grammar = samp_init_grammar(vocab_index, g);
        float logits[2 * N_VOCAB];
        uint32_t bits[(N_VOCAB + 31) / 32];
        source rng = source_stream(8);
        for (int step = 0; step < 200; step++) {
            test_logits(&rng, logits, 2 * N_VOCAB, 2.0);
            samp_logits rows = { .data = logits, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = N_VOCAB };
            samp_sampler *again = samp_clone(with);
            samp_token want = samp_sample(with, logits, N_VOCAB), got = -1, two[2];
            assert_true(want >= 0);
            assert_ok(samp_sample_batch(&batched, &rows, &got));
            assert_num(got, want);
            assert_ok(samp_grammar_mask(grammar, bits));
            rows.mask = bits;
            assert_ok(samp_sample_batch(&without, &rows, &got));
            assert_num(got, want);
            assert_ok(samp_accept(grammar, want));
            samp_token next = want == EOG ? -1 : samp_sample(again, logits, N_VOCAB);
            next = next < 0 ? -1 : samp_sample(again, logits + N_VOCAB, N_VOCAB);
            samp_draft draft = { .n = 1, .tokens = step % 2 ? &want : &eog_tokens[0] };
            samp_sampler *copy = samp_clone(verified);
            int32_t n = samp_verify(copy, logits, N_VOCAB, &draft, SAMP_VERIFY_EXACT, two);
            assert_num(n, *draft.tokens == want);
            assert_num(two[0], want);
            assert_num(two[1], n && want != EOG ? next : n ? two[1] : -1);
            samp_free(copy);
            samp_free(again);
            draft.n = 0;
            assert_num(samp_verify(verified, logits, N_VOCAB, &draft, SAMP_VERIFY_EXACT, two), 0);
            assert_num(two[0], want);
            if (want != EOG) continue;
            samp_sampler *all[] = { with, batched, verified, without, grammar };
            for (size_t i = 0; i < TEST_COUNT(all); i++) samp_reset(all[i]);
        }
    }
}

/* Two chains with a grammar first are the same, and allow the same. */
static void check_same(const samp_sampler *a, const samp_sampler *b)
{
    static char x[1 << 16], y[1 << 16];
    uint32_t bits_a[(N_VOCAB + 31) / 32], bits_b[(N_VOCAB + 31) / 32];
    size_t size = samp_state_size(a);
    assert_true(size > 0 && size < sizeof x);
    assert_num(samp_state_size(b), size);
    assert_ok(samp_state_save(a, x, size));
    assert_ok(samp_state_save(b, y, size));
    assert_memory_equal(x, y, size);
    assert_ok(samp_grammar_mask(samp_chain_get(a, 0), bits_a));
    assert_ok(samp_grammar_mask(samp_chain_get(b, 0), bits_b));
    assert_memory_equal(bits_a, bits_b, sizeof bits_a);
}

/* A saved state, loaded into a chain that has seen nothing, or something else, goes on with the same tokens: the text,
   the place in the random source and, under MT19937, its 624 words. */
static void check_saved(samp_sampler *chain, const samp_grammar *g, samp_rng_kind kind, source rng)
{
    static char saved[1 << 16];
    own_sampler *loaded = grammar_chain(samp_init_grammar(vocab_index, g), kind);
    float logits[N_VOCAB];
    if (below(&rng, 2)) assert_ok(samp_accept(loaded, '{'));
    size_t size = samp_state_size(chain);
    assert_true(size > 0 && size < sizeof saved);
    assert_ok(samp_state_save(chain, saved, size));
    assert_ok(samp_state_load(loaded, saved, size));
    chain = samp_clone(chain);
    for (int step = 0; step < 8; step++) {
        test_logits(&rng, logits, N_VOCAB, 2.0);
        samp_token want = samp_sample(chain, logits, N_VOCAB);
        assert_true(want >= 0);
        assert_num(samp_sample(loaded, logits, N_VOCAB), want);
        if (want == EOG) break;
    }
    check_same(chain, loaded);
    samp_free(chain);
}

TEST(test_saved)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *chain = grammar_chain(samp_init_grammar(vocab_index, g), (samp_rng_kind)kind);
        float logits[N_VOCAB];
        source rng = source_stream(11);
        int n_ends = 0;
        for (int step = 0; step < 400; step++) { /* more draws than the words that MT19937 makes at once */
            if (step % 5 == 0) check_saved(chain, g, (samp_rng_kind)kind, rng);
            test_logits(&rng, logits, N_VOCAB, 2.0);
            samp_token token = samp_sample(chain, logits, N_VOCAB);
            assert_true(token >= 0);
            if (token != EOG && step % 40 != 39) continue;
            n_ends++; /* a new text, and the random source where it was */
            samp_reset(samp_chain_get(chain, 0));
        }
        assert_true(n_ends > 0);
    }
}

enum { N_DRAFT = 5 };

/* A draft of which `right` tokens are what the chain draws, want [N_DRAFT + 1]; the next one is not, and may be one
   that the grammar refuses, and what follows is anything. */
static void make_draft(source *rng, const samp_sampler *chain, const float *logits, int32_t right, samp_token *draft,
                       samp_token *want)
{
    own_sampler *ahead = samp_clone(chain);
    for (int i = 0; i <= N_DRAFT; i++) {
        want[i] = samp_sample(ahead, logits + i * N_VOCAB, N_VOCAB);
        assert_true(want[i] >= 0);
        if (i == N_DRAFT) break;
        draft[i] = i < right ? want[i] : (samp_token)below(rng, N_VOCAB);
        if (i == right && draft[i] == want[i]) draft[i] = (want[i] + 1) % N_VOCAB;
    }
}

/* What stands in a draft behind its first wrong token is taken back in every sampler, the grammar too: the chain is as
   if it had drawn the others one by one. */
TEST(test_verify)
{
    static float logits[(N_DRAFT + 1) * N_VOCAB];
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *chain = grammar_chain(samp_init_grammar(vocab_index, g), (samp_rng_kind)kind);
        own_sampler *one_by_one = samp_clone(chain);
        source rng = source_stream(12);
        int n_refused = 0, n_ends = 0;
        for (int step = 0; step < 200; step++) {
            samp_token tokens[N_DRAFT], want[N_DRAFT + 1], out[N_DRAFT + 1];
            uint32_t bits[(N_VOCAB + 31) / 32];
            const samp_draft draft = { .n = N_DRAFT, .tokens = tokens };
            int32_t right = (int32_t)below(&rng, N_DRAFT + 1);
            test_logits(&rng, logits, sizeof logits / sizeof *logits, 2.0);
            make_draft(&rng, one_by_one, logits, right, tokens, want);
            for (int32_t i = 0; i <= right; i++) {
                assert_ok(samp_grammar_mask(samp_chain_get(one_by_one, 0), bits));
                assert_num(samp_sample(one_by_one, logits + i * N_VOCAB, N_VOCAB), want[i]);
            }
            n_refused += right < N_DRAFT && !bit(bits, tokens[right]);
            assert_num(samp_verify(chain, logits, N_VOCAB, &draft, SAMP_VERIFY_EXACT, out), right);
            for (int32_t i = 0; i <= N_DRAFT; i++) assert_num(out[i], i <= right ? want[i] : -1);
            check_same(chain, one_by_one);
            if (step % 3 == 0) { /* and all that it took goes back at once */
                assert_ok(samp_rollback(chain, right + 1));
                assert_ok(samp_rollback(one_by_one, right + 1));
                check_same(chain, one_by_one);
                assert_num(samp_sample(chain, logits, N_VOCAB), want[0]);
                assert_num(samp_sample(one_by_one, logits, N_VOCAB), want[0]);
            }
            if (samp_grammar_is_complete(samp_chain_get(chain, 0)) == 0) continue;
            n_ends++; /* a new text, but the random source goes on */
            samp_reset(samp_chain_get(chain, 0));
            samp_reset(samp_chain_get(one_by_one, 0));
        }
        assert_true(n_refused > 20 && n_refused < 160 && n_ends > 0);
    }
}

/* samp_grammar_sample: every token is allowed, and it is the chain's own wherever that one is. */
TEST(test_sample_and_check)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *chain = grammar_chain(NULL, (samp_rng_kind)kind), *s = samp_init_grammar(vocab_index, g);
        float logits[N_VOCAB];
        source rng = source_stream(4);
        int own = 0;
        for (int step = 0; step < 200; step++) {
            uint32_t bits[(N_VOCAB + 31) / 32];
            test_logits(&rng, logits, N_VOCAB, 2.0);
            samp_sampler *alone = samp_clone(chain);
            samp_token first = samp_draw(alone, logits, N_VOCAB);
            samp_free(alone);
            assert_ok(samp_grammar_mask(s, bits));
            samp_token token = samp_grammar_sample(chain, s, logits, N_VOCAB);
            assert_true(token >= 0 && bit(bits, token));
            if (bit(bits, first)) assert_num(token, first);
            own += token == first;
            if (token == EOG) samp_reset(s);
        }
        assert_true(own > 0 && own < 200);
    }
}

/* Grammars that are meant to take for ever: an answer, or a status, at once. */
TEST(test_hostile)
{
    static const char *const grammars[] = {
        "root ::= (\"x\" | \"xx\" | \"xxx\")* \"y\"",
        "root ::= ((\"a\"?){900} \"b\"?){2}",
        "root ::= ((\"a\" | \"aa\"){0,40} \"a\"){0,30} \"b\"",
        "root ::= (((\"a\"*)*)*)* \"b\"",
        "root ::= a a a a \"b\"\na ::= b b b b\nb ::= c c c c\nc ::= d d d d\nd ::= e e e e\ne ::= \"a\"? \"x\"?",
        "root ::= root root | \"(\" root \")\" | \"a\" | \"\"",
        "root ::= \"a\" root \"a\" | \"a\" root root | \"a\"",
        "root ::= [ab]* \"a\" [ab]{20} \"c\"",
        "root ::= a | b\na ::= \"a\" a | \"a\" b | \"a\"\nb ::= \"a\" b \"a\" | \"a\" a \"a\" | \"a\"",
    };
    for (size_t i = 0; i < TEST_COUNT(grammars); i++) {
        own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, grammars[i]);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        uint32_t bits[(N_VOCAB + 31) / 32];
        int status = SAMP_OK;
        assert_ok(samp_set_grammar_limits(s, 1 << 24, 1 << 20));
        for (int n = 0; n < 150 && !status; n++) {
            status = samp_grammar_mask(s, bits);
            if (!status) status = samp_accept(s, bit(bits, 'a') ? 'a' : 'x');
        }
        if (status != SAMP_OK && status != SAMP_E_FULL && status != SAMP_E_RANGE) assert_ok(status);
    }
    /* deep recursion keeps what it must, and no more */
    samp_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" | \"a\"");
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    for (int i = 0; i < 20000; i++) assert_ok(samp_accept(s, '('));
    assert_ok(samp_accept(s, 'a'));
    for (int i = 0; i < 20000; i++) assert_ok(samp_accept(s, ')'));
    assert_num(samp_grammar_is_complete(s), 1);
    samp_free(s);
    samp_grammar_free(g);
}

/* n copies of a text between two others; with a %d in it, each gets its number and the next one's. */
static char *copies(const char *before, const char *text, int n, const char *after)
{
    size_t room = strlen(before) + (size_t)n * (strlen(text) + 20) + strlen(after) + 1, used = strlen(before);
    char *out = (char *)malloc(room);
    assert_non_null(out);
    memcpy(out, before, used);
    for (int i = 0; i < n; i++) {
        const char *gap = strstr(text, "%d");
        if (gap)
            used += (size_t)snprintf(out + used, room - used, "%.*s%d%s%d\n", (int)(gap - text), text, i, gap + 2,
                                     i + 1);
        else
            used += (size_t)snprintf(out + used, room - used, "%s", text);
    }
    memcpy(out + used, after, strlen(after) + 1);
    return out;
}

/* n times `open` and then n times `close`. */
static char *nested(const char *before, const char *open, int n, const char *middle, const char *close,
                    const char *after)
{
    char *end = copies(middle, close, n, after), *all = copies(before, open, n, end);
    free(end);
    return all;
}

/* Read it, and go on by `byte` or else by what is allowed: an answer or a status, and soon (here in less than a second;
   an emulator or a sanitizer takes longer). */
static void check_hostile_text(samp_grammar_kind kind, char *text, uint8_t byte)
{
    samp_grammar_error error;
    clock_t from = clock();
    samp_grammar *g = samp_grammar_init(kind, text, NULL, &error);
    double reading = (double)(clock() - from) / CLOCKS_PER_SEC;
    int status = g ? SAMP_OK : error.status, n = 0;
    samp_sampler *s = g ? samp_init_grammar(vocab_index, g) : NULL;
    if (s) status = samp_status(s, NULL);
    for (; s && n < 40 && !status; n++) {
        uint32_t bits[(N_VOCAB + 31) / 32];
        status = samp_grammar_mask(s, bits);
        samp_token token = byte;
        for (int i = 0; i < 256 && !bit(bits, token); i++) token = (token + 1) % 256;
        if (!status) status = samp_accept(s, token);
    }
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    print_message("%.50s...: %d, %.3f s to read, %.3f s in all\n", text, status, reading, seconds);
    if (status != SAMP_OK && status != SAMP_E_FULL && status != SAMP_E_RANGE) assert_status(status, SAMP_E_FORMAT);
    if (seconds > 60.0) test_fail(__FILE__, __LINE__, "%.50s... took %.2f s", text, seconds);
    samp_free(s);
    samp_grammar_free(g);
    free(text);
}

TEST(test_hostile_texts)
{
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= r0\n", "r%d ::= \"x\" | r", 30000, "r30000 ::= \"y\"\n"),
                       'x');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= r0\n", "r%d ::= \"x\"? r", 20000, "r20000 ::= \"y\"\n"),
                       'x');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= r0 r0\nr40 ::= \"x\"?\n", "r%d ::= r40 r40 r", 40, ""),
                       'x');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= \"a\"", " | \"ab\"", 130000, "\n"), 'a');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= \"", "a", 1000000, "\"\n"), 'a');
    check_hostile_text(SAMP_GRAMMAR_GBNF, nested("root ::= ", "(\"a\" | ", 90, "\"b\"", ")", "\n"), 'a');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= ", "[a-z]{0,1000} ", 60, "\n"), 'a');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= [^a", "\\u00e9-\\U0001F600", 50000, "]\n"), 'b');
    check_hostile_text(SAMP_GRAMMAR_GBNF, copies("root ::= root ", "root ", 2000, "| \"a\" | \"\"\n"), 'a');
    check_hostile_text(SAMP_GRAMMAR_REGEX, nested("", "(a?){100}", 40, "", "a", ""), 'a');
    check_hostile_text(SAMP_GRAMMAR_REGEX, nested("", "(", 80, "a", "{1,9})", ""), 'a');
    check_hostile_text(SAMP_GRAMMAR_REGEX, copies("((a{1,2000000000}){1,2000000000}){", "9", 9, "}b"), 'a');
    check_hostile_text(SAMP_GRAMMAR_REGEX, copies("(.*", "a.*", 200, ")*b"), 'a');
    check_hostile_text(SAMP_GRAMMAR_REGEX, copies("", "(a|b)*a(a|b){20}|", 50, "c"), 'a');
}

/* The text of n rules or definitions: %d is the number of each, %n that of the next one, %o that of another one. */
static char *rules(const char *before, const char *text, int n, const char *after)
{
    size_t room = strlen(before) + (size_t)n * (strlen(text) + 20) + strlen(after) + 1, used = 0;
    char *out = (char *)malloc(room);
    assert_non_null(out);
    used += (size_t)snprintf(out, room, "%s", before);
    for (int i = 0; i < n; i++)
        for (const char *p = text; *p; p++) {
            if (*p == '%')
                used += (size_t)snprintf(out + used, room - used, "%d",
                                         *++p == 'd' ? i
                                         : *p == 'n' ? i + 1
                                                     : (i + 2) % n);
            else
                out[used++] = *p;
        }
    snprintf(out + used, room - used, "%s", after);
    return out;
}

/* Read it, and go on by `byte` or what else is allowed, as far as it goes. What is held is never more than may be, but
   for a twentieth: each block counts as it is asked for, also while something is copied to where there is more room. */
static void check_held(samp_grammar_kind kind, char *text, uint8_t byte)
{
    for (size_t limit = (size_t)1 << 26; limit; limit = limit > 1 << 20 ? 1 << 20 : 0) {
        size_t before = heap.held;
        heap.peak = before;
        own_grammar *g = read_grammar(kind, text);
        size_t reading = heap.peak - before;
        heap.peak = before = heap.held;
        own_sampler *s = samp_init_grammar(vocab_index, g);
        assert_ok(samp_set_grammar_limits(s, limit, 1 << 24));
        int status = SAMP_OK, n = 0;
        for (; n < 30 && !status; n++) {
            uint32_t bits[(N_VOCAB + 31) / 32];
            status = samp_grammar_mask(s, bits);
            samp_token token = byte;
            for (int i = 0; i < 256 && !bit(bits, token); i++) token = (token + 1) % 256;
            if (!status) status = samp_accept(s, token);
        }
        print_message("%.40s...: %zu read, %zu at most of %zu, %d tokens, %d\n", text, reading, heap.peak - before,
                      limit, n, status);
        if (reading > 40 * strlen(text) + 200000)
            test_fail(__FILE__, __LINE__, "%.40s... takes %zu bytes to be read", text, reading);
        if (heap.peak - before > limit + limit / 20)
            test_fail(__FILE__, __LINE__, "%.40s... takes %zu bytes of %zu", text, heap.peak - before, limit);
    }
    free(text);
}

TEST(test_memory_held)
{
    check_held(SAMP_GRAMMAR_GBNF, rules("root ::= r0\n", "r%d ::= r%n r%n | \"a\"\n", 60, "r60 ::= [a-z]\n"), 'a');
    check_held(SAMP_GRAMMAR_GBNF, rules("root ::= r0\n", "r%d ::= r%n r%n\n", 60, "r60 ::= [a-z] | \"\"\n"), 'a');
    check_held(SAMP_GRAMMAR_JSON_SCHEMA,
               rules("{\"$ref\":\"#/$defs/d0\",\"$defs\":{",
                     "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%n\"},{\"type\":\"array\",\"items\":{\"$ref\":"
                     "\"#/$defs/d%o\"}}]},",
                     60, "\"d60\":{\"type\":\"string\"}}}"),
               '[');
    check_held(SAMP_GRAMMAR_GBNF, copies("root ::= ", ".? ", 20000, "\n"), 'a');
    check_held(SAMP_GRAMMAR_REGEX, copies("", "a?", 4000, ""), 'a');
    check_held(SAMP_GRAMMAR_REGEX, copies("", "(((a?){1000}){1000}){1000}", 1, ""), 'a');
    check_held(SAMP_GRAMMAR_GBNF, copies("root ::= ", "[^a]* [^b]* [^c]* ", 100, "\n"), 'x');
}

/* One sampler with as little memory as may be, which writes at random. While caches are replaced the limit holds too,
   but for a twentieth. If samp_accept finds too little memory, the same call, made again, does as well. */
TEST(test_least_memory)
{
    enum { LIMIT = 65536, CALLS = 1500 };
    static const struct {
        samp_grammar_kind kind;
        const char *text;
    } cases[] = { { SAMP_GRAMMAR_GBNF, JSON_GBNF },
                  { SAMP_GRAMMAR_JSON_SCHEMA, "{\"additionalProperties\":{\"type\":\"string\",\"maxLength\":40}}" },
                  { SAMP_GRAMMAR_REGEX, "(?:(?:a|b|\\s)*a(?:a|b|e){7}|x\\w{3,20}){0,9}(?:xx)?" },
                  { SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" root | root root | [ab1-9]" },
                  { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^(\\\\w+ ){2,30}\\\\w+$\"}" } };
    size_t most = 0, n_renewals = 0;
    long n_full = 0;
    for (size_t i = 0; i < 40 * TEST_COUNT(cases); i++) {
        own_grammar *g = samp_grammar_init(cases[i / 40].kind, cases[i / 40].text, NULL, NULL);
        assert_non_null(g);
        const size_t before = heap.held;
        own_sampler *s = samp_init_grammar(vocab_index, g);
        source rng = source_stream(i);
        samp_grammar_usage usage = { 0 };
        assert_ok(samp_set_grammar_limits(s, LIMIT, 1 << 24));
        for (int n = 0; n < CALLS; n++) {
            uint32_t bits[(N_VOCAB + 31) / 32];
            samp_token token = (samp_token)below(&rng, 256);
            heap.peak = heap.held;
            if (samp_grammar_mask(s, bits) || below(&rng, 300) == 0) {
                samp_reset(s); /* its text has become too long */
                continue;
            }
            for (int k = 0; k < 256 && !bit(bits, token); k++) token = (token + 1) % 256;
            const int status = bit(bits, token) ? samp_accept(s, token) : SAMP_E_RANGE;
            if (status == SAMP_E_FULL && samp_accept(s, token) != SAMP_E_FULL)
                test_fail(__FILE__, __LINE__, "%s: full, and then not", cases[i / 40].text);
            n_full += status == SAMP_E_FULL;
            if (status) samp_reset(s);
            const size_t peak = heap.peak;
            assert_ok(samp_grammar_stats(s, &usage));
            const size_t others = heap.held - before - usage.n_bytes; /* the sampler's own struct */
            if (n > 10 && peak - before - others > most) most = peak - before - others;
        }
        n_renewals += usage.n_renewals;
    }
    print_message("at most %zu of %d bytes, %zu renewals, %ld calls found too little\n", most, (int)LIMIT, n_renewals,
                  n_full);
    assert_true(n_renewals > 100 && n_full > 0);
    assert_true(most <= LIMIT + LIMIT / 20);
}

/* With hardly any memory the same masks: what is forgotten comes back. */
TEST(test_hardly_any_memory)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF,
                                  "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [a-z \\\"]{0,3000} root?");
    own_sampler *rich = samp_init_grammar(vocab_index, g), *poor = samp_init_grammar(vocab_index, g);
    assert_status(samp_set_grammar_limits(poor, 10, 4096), SAMP_E_RANGE);
    assert_ok(samp_set_grammar_limits(poor, 1 << 17, 1 << 24));
    source rng = source_stream(5);
    for (int step = 0; step < 1500; step++) {
        uint32_t bits[2][(N_VOCAB + 31) / 32];
        assert_ok(samp_grammar_mask(rich, bits[0]));
        assert_ok(samp_grammar_mask(poor, bits[1]));
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        samp_token token;
        do token = (samp_token)below(&rng, EOG);
        while (!bit(bits[0], token) || (token == ']' && below(&rng, 4)));
        assert_ok(samp_accept(rich, token));
        assert_ok(samp_accept(poor, token));
        if (samp_grammar_is_complete(rich)) {
            samp_reset(rich);
            samp_reset(poor);
        }
    }
}

/* Every failing allocation is a status, and leaves nothing behind. */
TEST(test_no_memory)
{
    long live = heap.live;
    samp_grammar_error error;
    own_grammar *g = NULL;
    own_sampler *s = NULL;
    for (long at = 1; !g; at++) {
        heap.fail_at = at;
        g = samp_grammar_init(SAMP_GRAMMAR_GBNF, json_gbnf, NULL, &error);
        heap.fail_at = 0;
        if (!g) assert_status(error.status, SAMP_E_NOMEM);
        if (!g) assert_num(heap.live, live);
    }
    long shared = 0; /* blocks that stay with the grammar, made by the first one that gets so far */
    live = heap.live;
    for (long at = 1; !s; at++) {
        heap.fail_at = at;
        s = samp_init_grammar(vocab_index, g);
        heap.fail_at = 0;
        if (!s && !shared) shared = heap.live - live;
        if (!s && shared) assert_true(heap.live - live >= shared && heap.live - live < 20);
    }
    assert_ok(samp_status(s, NULL));
    uint32_t bits[2][(N_VOCAB + 31) / 32];
    own_sampler *other = samp_init_grammar(vocab_index, g);
    for (const char *p = "{\"a\": [1, {\"b\": \"c"; *p; p++) {
        int status;
        for (long at = 1;; at++) {
            heap.fail_at = at;
            status = samp_grammar_mask(s, bits[0]);
            heap.fail_at = 0;
            if (!status) break;
            assert_status(status, SAMP_E_NOMEM);
        }
        assert_ok(samp_grammar_mask(other, bits[1]));
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        for (long at = 1;; at++) {
            heap.fail_at = at;
            status = samp_accept(s, *p);
            heap.fail_at = 0;
            if (!status) break;
            assert_status(status, SAMP_E_NOMEM);
        }
        assert_ok(samp_accept(other, *p));
    }
}

/* ---- hardship: too few steps, too little room, no memory, at every place of making a grammar and walking it ---- */

typedef enum hardship { FEW_STEPS, LITTLE_ROOM, NO_BLOCK, N_HARDSHIPS } hardship;

static void afflict(samp_sampler *s, hardship kind, int amount)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    if (kind == FEW_STEPS) m->max_steps = amount;
    if (kind == LITTLE_ROOM) m->shared->account.most = (size_t)amount * 300;
    if (kind == NO_BLOCK) heap.fail_at = amount;
}

static void relieve(samp_sampler *s)
{
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    m->max_steps = 1 << 24;
    m->shared->account.most = 1 << 26;
    heap.fail_at = 0;
}

/* A call under hardship does what it does else, or says why not: then nothing has changed, and it can be made again. */
#define THROUGH_HARDSHIP(s, kind, amount, call) \
    do { \
        afflict((s), (kind), (amount)); \
        int hard = (call); \
        relieve(s); \
        if (hard) assert_status(hard, (kind) == NO_BLOCK ? SAMP_E_NOMEM : SAMP_E_FULL); \
        if (hard) assert_ok(call); \
    } while (0)

enum { HARD_TEXT = 60 };

/* A text by byte, with its masks, and back again by as much as the sampler keeps. */
static void walk_hard(const samp_grammar *g, const char *text, hardship kind, int amount, uint32_t (*want)[N_MASK])
{
    uint32_t bits[N_MASK];
    own_sampler *s = samp_init_grammar(vocab_index, g);
    assert_ok(samp_status(s, NULL));
    if (amount % 2) assert_ok(samp_set_rollback(s, 4));
    for (size_t i = 0;; i++) {
        if (amount % 3) THROUGH_HARDSHIP(s, kind, amount, samp_grammar_mask(s, bits));
        if (amount % 5 == 0) { /* as a sampler: its array is what it was, if that fails */
            samp_token_data data[N_VOCAB];
            static const float logits[N_VOCAB];
            samp_token_data_array cur = test_array(data, logits, N_VOCAB);
            THROUGH_HARDSHIP(s, kind, amount, samp_apply(s, &cur));
            for (samp_token token = 0; token < N_VOCAB; token++)
                assert_num(data[token].logit == 0.0f, bit(want[i], token));
        }
        if (amount % 3 && memcmp(bits, want[i], sizeof bits))
            test_fail(__FILE__, __LINE__, "%s: mask %zu is another one behind hardship %d, %d", text, i, (int)kind,
                      amount);
        if (!text[i]) break;
        THROUGH_HARDSHIP(s, kind, amount, samp_accept(s, (uint8_t)text[i]));
    }
    assert_num(samp_grammar_is_complete(s), 1);
}

/* The whole of a grammar: it is read, walked in peace, and then under everything. */
static void live_hard(samp_grammar_kind kind, const char *grammar, const char *text)
{
    static uint32_t want[HARD_TEXT][N_MASK];
    long live = heap.live;
    samp_grammar *g = NULL;
    for (long at = 1; !g; at++) {
        samp_grammar_error error;
        heap.fail_at = at;
        g = samp_grammar_init(kind, grammar, NULL, &error);
        heap.fail_at = 0;
        if (g) break;
        if (error.status != SAMP_E_NOMEM) test_fail(__FILE__, __LINE__, "%s: %s", grammar, error.message);
        assert_num(heap.live, live);
    }
    samp_sampler *s = samp_init_grammar(vocab_index, g);
    for (size_t i = 0;; i++) {
        assert_ok(samp_grammar_mask(s, want[i]));
        if (!text[i]) break;
        if (samp_accept(s, (uint8_t)text[i])) test_fail(__FILE__, __LINE__, "%s refuses %s at %zu", grammar, text, i);
    }
    samp_free(s);
    for (int kind_of = 0; kind_of < N_HARDSHIPS; kind_of++)
        for (int amount = 1; amount < 2000; amount += 1 + amount / (kind_of == NO_BLOCK ? 4 : 7))
            walk_hard(g, text, (hardship)kind_of, amount, want);
    samp_grammar_free(g);
    assert_num(heap.live, live);
}

TEST(test_texts_without_memory)
{
    static const struct {
        samp_grammar_kind kind;
        const char *grammar, *text;
    } cases[] = {
        { SAMP_GRAMMAR_GBNF, json_gbnf, "{\"a\":[1,2.5e3,{\"b\":\"\\u00e9x\"}],\"c\":true}" },
        { SAMP_GRAMMAR_GBNF, "root ::= \"(\" root? \")\" root? | [a-z]{2,5}", "((ab)abc)()" },
        { SAMP_GRAMMAR_GBNF, "root ::= (a | b)* \"c\"\na ::= \"ab\"{1,3} a?\nb ::= [^c\\x80-\U0010ffff]+",
          "abababxc" },
        { SAMP_GRAMMAR_GBNF, "root ::= a a a\na ::= \"a\"? b?\nb ::= \"b\" a", "abbab" },
        { SAMP_GRAMMAR_REGEX, "(?:a|b)*a(?:a|b){3}|[^ab]{2,}", "abbaabab" },
        { SAMP_GRAMMAR_REGEX, "\\w+(?:\\.\\w+)*@[\\d.]{1,9}|x*", "ab.cd@1.2" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120},\"b\":{\"enum\":[\"x\",null,"
          "2]}},"
          "\"required\":[\"b\"],\"additionalProperties\":{\"type\":\"string\",\"maxLength\":4},\"minProperties\":2}",
          "{\"zz\":\"abcd\",\"b\":null,\"a\":12}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"maxItems\":3}", "[[[]],[]]" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"contains\":{\"const\":[]},\"maxItems\":2}", "[1,[]]" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"type\":\"string\",\"pattern\":\"^(?:\\\\S+\\\\s+){0,3}\\\\S+$\",\"maxLength\":30}", "\"ab c  d\"" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"patternProperties\":{\"^a\":{\"type\":\"null\"},\"b$\":false},\"maxProperties\":2}",
          "{\"ac\":null,\"x\":[{}]}" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) live_hard(cases[i].kind, cases[i].grammar, cases[i].text);
}

/* The tree's own nodes: both, not, and lists of members. */
static samp_grammar *grammar_of(sampi_node (*build)(sampi_tree *))
{
    samp_grammar *g = (samp_grammar *)heap_malloc(sizeof *g);
    memset(g, 0, sizeof *g);
    assert_ok(sampi_tree_init(&g->tree));
    int32_t rule = sampi_tree_rule(&g->tree, "", 0);
    assert_ok(sampi_tree_define(&g->tree, rule, build(&g->tree)));
    assert_ok(sampi_grammar_finish(g, rule));
    return g;
}

static sampi_node word(sampi_tree *t, const char *text) { return sampi_tree_text(t, text, strlen(text)); }

static sampi_node build_and(sampi_tree *t) /* letters, 2 to 4 of them, not "abc", nothing with "x" in it */
{
    static const uint32_t az[][2] = { { 'a', 'z' } };
    sampi_node any = sampi_tree_repeat(t, sampi_tree_class(t, NULL, 0, true), 0, -1);
    sampi_node x = sampi_tree_seq(t, any, sampi_tree_seq(t, word(t, "x"), any));
    sampi_node letters = sampi_tree_repeat(t, sampi_tree_class(t, az, 1, false), 2, 4);
    return sampi_tree_and(t, letters, sampi_tree_and(t, tree_not(t, word(t, "abc")), tree_not(t, x)));
}

static sampi_node build_empty_and(sampi_tree *t) /* a dead end behind "a", which must not be entered */
{
    sampi_node dead = sampi_tree_and(t, sampi_tree_seq(t, word(t, "bc"), word(t, "d")), word(t, "bce"));
    return sampi_tree_alt(t, sampi_tree_seq(t, word(t, "a"), dead), word(t, "z"));
}

static sampi_node build_members(sampi_tree *t)
{
    sampi_member members[] = { { word(t, "a1"), true }, { word(t, "ab"), false }, { word(t, "c"), true } };
    return sampi_tree_seq(
        t, word(t, "{"),
        sampi_tree_seq(t, sampi_tree_members(t, members, 3, word(t, ","), SAMPI_NEVER, 0, SIZE_MAX), word(t, "}")));
}

static sampi_node build_others(sampi_tree *t)
{
    sampi_member members[] = { { word(t, "a"), true } };
    return sampi_tree_members(t, members, 1, word(t, ","), word(t, "o"), 2, 3);
}

TEST(test_nodes_match)
{
    static const struct {
        sampi_node (*build)(sampi_tree *);
        const char *text;
        int fares;
    } cases[] = { { build_and, "ab", 1 },
                  { build_and, "abc", 0 },
                  { build_and, "abcd", 1 },
                  { build_and, "a", 0 },
                  { build_and, "ax", -1 },
                  { build_and, "abcde", -1 },
                  { build_empty_and, "z", 1 },
                  { build_empty_and, "a", -1 },
                  { build_members, "{a1,c}", 1 },
                  { build_members, "{c,a1}", 1 },
                  { build_members, "{c,ab,a1}", 1 },
                  { build_members, "{a1", 0 },
                  { build_members, "{a1}", -1 },
                  { build_members, "{}", -1 },
                  { build_members, "{a1,a1", -1 },
                  { build_members, "{c,ab,a1,", -1 },
                  { build_others, "a,o", 1 },
                  { build_others, "o,o,a", 1 },
                  { build_others, "a", 0 },
                  { build_others, "o,o,o", -1 },
                  { build_others, "a,a", -1 },
                  { build_others, "a,o,o,", -1 } };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        own_grammar *g = grammar_of(cases[i].build);
        if (fares_in(g, cases[i].text) != cases[i].fares)
            test_fail(__FILE__, __LINE__, "case %zu: %s", i, cases[i].text);
    }
}

/* Deep in rules that call themselves, where what has been left is swept up between two tokens: without memory for that
   all goes on. With little room and no memory at once too, and on the way back. */
TEST(test_swept_without_memory)
{
    enum { DEEP = 200 };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" | \"[\" root root \"]\" | \"x\"");
    for (int round = 0; round < 30; round++) {
        own_sampler *s = samp_init_grammar(vocab_index, g);
        source rng = source_stream(100 + (uint64_t)round);
        char text[5 * DEEP];
        int n = DEEP;
        for (int i = 0; i < DEEP; i++) text[i] = round % 3 && below(&rng, 4) == 0 ? '[' : '(';
        text[n++] = 'x';
        for (int i = DEEP; i-- > 0;) {
            if (text[i] == '[') text[n++] = 'x';
            text[n++] = text[i] == '[' ? ']' : ')';
        }
        for (int i = 0; i < n; i++) {
            if (round % 2) afflict(s, LITTLE_ROOM, 20 * round);
            afflict(s, NO_BLOCK, 1 + (round + i) % 9);
            int hard = samp_accept(s, text[i]);
            relieve(s);
            if (hard) assert_true(hard == SAMP_E_NOMEM || (round % 2 && hard == SAMP_E_FULL));
            if (hard) assert_ok(samp_accept(s, text[i]));
            assert_num(samp_grammar_is_complete(s), i == n - 1);
        }
        assert_status(samp_accept(s, 'x'), SAMP_E_RANGE);
    }
}

/* samp_grammar_sample under hardship: the token that it gives else, or a status, and the grammar is where it was. */
TEST(test_hard_sample)
{
    static const char *const words_of[] = { "{", "[" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    int n_hard = 0;
    for (int lazy = 0; lazy < 2; lazy++) {
        own_sampler *chain = grammar_chain(NULL, SAMP_RNG_PHILOX),
                    *s = lazy ? samp_init_grammar_lazy(vocab_index, g, words_of, 2, NULL, 0)
                              : samp_init_grammar(vocab_index, g);
        float logits[N_VOCAB];
        source rng = source_stream(14);
        for (int step = 0; step < 25; step++) {
            uint32_t bits[2][N_MASK];
            test_logits(&rng, logits, N_VOCAB, 2.0);
            if (lazy && step == 3) logits['{'] = 30.0f;
            samp_sampler *before = samp_clone(s), *chain_before = samp_clone(chain);
            samp_token want = samp_grammar_sample(chain, s, logits, N_VOCAB);
            assert_true(want >= 0);
            assert_ok(samp_grammar_mask(before, bits[0]));
            for (int i = 0; i < 36; i++) {
                own_sampler *hard_s = samp_clone(before), *hard_chain = samp_clone(chain_before);
                assert_ok(samp_reserve(hard_chain, N_VOCAB));
                afflict(hard_s, (hardship)(i % N_HARDSHIPS), 1 + i * i / 3);
                samp_token token = samp_grammar_sample(hard_chain, hard_s, logits, N_VOCAB);
                relieve(hard_s);
                if (!lazy) { /* the same in a chain */
                    own_sampler *with = grammar_chain(samp_clone(before), SAMP_RNG_PHILOX), *twin = samp_clone(with);
                    assert_ok(samp_reserve(with, N_VOCAB));
                    afflict(samp_chain_get(with, 0), (hardship)(i % N_HARDSHIPS), 1 + i * i / 3);
                    samp_token in_chain = samp_sample(with, logits, N_VOCAB);
                    relieve(samp_chain_get(with, 0));
                    if (in_chain < 0) assert_true(in_chain == SAMP_E_NOMEM || in_chain == SAMP_E_FULL);
                    if (in_chain < 0) in_chain = samp_sample(with, logits, N_VOCAB);
                    assert_num(in_chain, samp_sample(twin, logits, N_VOCAB));
                }
                if (token < 0) {
                    assert_true(token == SAMP_E_NOMEM || token == SAMP_E_FULL);
                    assert_ok(samp_grammar_mask(hard_s, bits[1]));
                    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
                    n_hard++;
                } else {
                    assert_num(token, want);
                }
            }
            samp_free(before);
            samp_free(chain_before);
            if (want == EOG) samp_reset(s);
        }
    }
    assert_true(n_hard > 100);
}

/* What can't be told by one byte after another: a rule within itself. */
static sampi_node build_own_and(sampi_tree *t)
{
    int32_t rule = sampi_tree_rule(t, "r", 1);
    sampi_node body = sampi_tree_alt(
        t, word(t, "x"), sampi_tree_seq(t, word(t, "a"), sampi_tree_seq(t, sampi_tree_ref(t, rule), word(t, "b"))));
    assert_ok(sampi_tree_define(t, rule, body));
    return sampi_tree_and(t, sampi_tree_ref(t, rule), word(t, "axb"));
}

/* "x" | "a" r, with r = this AND what ends with x: it is in itself before its first way shows that. */
static sampi_node build_and_of_open(sampi_tree *t)
{
    int32_t rule = sampi_tree_rule(t, "r", 1);
    sampi_node body = sampi_tree_alt(t, word(t, "x"), sampi_tree_seq(t, word(t, "a"), sampi_tree_ref(t, rule)));
    sampi_node all = sampi_tree_repeat(t, sampi_tree_class(t, NULL, 0, true), 0, -1);
    assert_ok(sampi_tree_define(t, rule, sampi_tree_and(t, body, sampi_tree_seq(t, all, word(t, "x")))));
    return body;
}

static sampi_node build_no_rule(sampi_tree *t) { return sampi_tree_ref(t, sampi_tree_rule(t, "r", 1)); }

/* What can't be finished: a rule that calls itself as a part of AND, one without a body. */
TEST(test_unfinished)
{
    sampi_node (*const build[])(sampi_tree *) = { build_own_and, build_and_of_open, build_no_rule };
    static const int says[] = { SAMP_E_UNSUPPORTED, SAMP_E_UNSUPPORTED, SAMP_E_RANGE };
    for (int i = 0; i < 3; i++) {
        own_grammar *g = (samp_grammar *)heap_malloc(sizeof *g);
        memset(g, 0, sizeof *g);
        assert_ok(sampi_tree_init(&g->tree));
        int32_t rule = sampi_tree_rule(&g->tree, "", 0);
        assert_ok(sampi_tree_define(&g->tree, rule, build[i](&g->tree)));
        assert_status(sampi_grammar_finish(g, rule), says[i]);
    }
}

/* What is too large is a status at once: a long expression, a class of many ranges, deep parentheses. */
TEST(test_too_large)
{
    static char text[1 << 20];
    samp_grammar_error error;
    memset(text, 'a', 9000);
    text[9000] = 0;
    assert_null(samp_grammar_init(SAMP_GRAMMAR_REGEX, text, NULL, &error));
    assert_status(error.status, SAMP_E_RANGE);
    memset(text, '(', sizeof text - 1);
    memcpy(text, "root ::= ", 9);
    assert_null(samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, &error));
    assert_status(error.status, SAMP_E_RANGE);
    text[9] = '[';
    for (size_t i = 10; i < sizeof text - 1; i++) text[i] = (char)('a' + i % 7);
    text[sizeof text - 2] = ']';
    assert_null(samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, &error));
    assert_status(error.status, SAMP_E_RANGE);
    for (int deep = 0; deep < 2; deep++) { /* each rule is deep, and both in one another are too deep, or not */
        size_t n = 0;
        for (int rule = 0; rule < 2; rule++) {
            const int depth = rule == 0 && deep ? 95 : 45;
            n += (size_t)sprintf(text + n, rule ? "\nr ::= " : "root ::= ");
            for (int i = 0; i < depth; i++) text[n++] = '(';
            n += (size_t)sprintf(text + n, rule ? "\"y\"" : "r");
            for (int i = 0; i < depth; i++) n += (size_t)sprintf(text + n, " \"%c\")*", 'a' + i % 26);
        }
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, &error);
        assert_true((g != NULL) == !deep);
        if (deep) assert_status(error.status, SAMP_E_RANGE);
    }
}

/* ---- what a grammar's sampler is given ---- */

/* More ids than the vocabulary has: none of them is allowed, in an array or a row. */
TEST(test_beyond_vocabulary)
{
    enum { MORE = N_VOCAB + 40 };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [ab]+");
    own_sampler *s = samp_init_grammar(vocab_index, g), *chain = grammar_chain(samp_clone(s), SAMP_RNG_PHILOX),
                *alone = grammar_chain(NULL, SAMP_RNG_PHILOX);
    float logits[MORE] = { 0 };
    samp_token_data data[MORE];
    samp_token_data_array cur = test_array(data, logits, MORE);
    assert_ok(samp_apply(s, &cur));
    for (samp_token id = 0; id < MORE; id++) {
        bool allowed = id == 'a' || id == 'b' || id == 256 || id == 256 + N_WORDS - 5 || id == 256 + N_WORDS - 4;
        assert_num(data[id].logit == 0.0f, allowed);
    }
    cur.data = data + N_VOCAB;
    cur.size = MORE - N_VOCAB;
    for (size_t i = 0; i < cur.size; i++) cur.data[i].logit = 1.0f;
    assert_status(samp_apply(s, &cur), SAMP_E_EMPTY);
    assert_true(cur.data[0].logit == 1.0f);
    samp_sampler *other = grammar_chain(samp_clone(s), SAMP_RNG_MT19937), *last = samp_chain_init();
    assert_status(samp_sample(other, logits, MORE), SAMP_E_RANGE);
    assert_ok(samp_chain_add(last, samp_init_temp(0.5f))); /* there the grammar is not the first */
    assert_ok(samp_chain_add(last, samp_clone(s)));
    assert_ok(samp_chain_add(last, samp_init_dist(5)));
    samp_free(other);
    other = new_chain(samp_clone(s), samp_init_temp(0.5f), samp_init_dist(5));
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < MORE; i++)
            logits[i] = (float)(i * (step + 7) % 13) * 0.25f + (i >= N_VOCAB ? 20.0f : 0.0f);
        samp_token got = samp_sample(other, logits, MORE);
        assert_true(got >= 0);
        assert_num(got, samp_sample(last, logits, MORE));
    }
    samp_free(other);
    samp_free(last);
    assert_true(samp_sample(chain, logits, MORE) >= 0);
    for (int i = 0; i < MORE; i++) logits[i] = i == N_VOCAB + 3 ? 90.0f : -9.0f;
    samp_sampler *llama = grammar_chain(NULL, SAMP_RNG_MT19937), *same = samp_clone(s);
    assert_status(samp_grammar_sample(llama, same, logits, MORE), SAMP_E_RANGE);
    samp_free(llama);
    samp_free(same);
    assert_ok(samp_set_position(alone, 0));
    assert_true(samp_grammar_sample(alone, s, logits, MORE) >= 0);
    assert_num(samp_get_position(chain), 1);
    assert_num(samp_get_position(alone), 2); /* the first draw counts */
}

/* Neither is one of them while a grammar waits: first in a chain, behind others, through samp_grammar_sample, in an
   array, in a batch with log-probabilities. What is drawn is what the row without them gives. */
TEST(test_waiting_beyond_vocabulary)
{
    enum { MORE = N_VOCAB + 40 };
    static const char *const ab[] = { "ab" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"a\" [bx]+");
    own_sampler *s = samp_init_grammar_lazy(vocab_index, g, ab, 1, NULL, 0);
    samp_sampler *chain[4] = { grammar_chain(samp_clone(s), SAMP_RNG_PHILOX), samp_chain_init(),
                               grammar_chain(NULL, SAMP_RNG_PHILOX), NULL };
    assert_ok(samp_chain_add(chain[1], samp_init_top_k(MORE)));
    assert_ok(samp_chain_add(chain[1], samp_clone(s)));
    assert_ok(samp_chain_add(chain[1], samp_init_dist(5)));
    int n_within = 0;
    for (int kind = 0; kind < 3; kind++)
        for (uint64_t step = 0; step < 40; step++) {
            float logits[MORE];
            source rng = source_stream(900 + step);
            test_logits(&rng, logits, MORE, 2.0);
            logits['b'] = -9.0f;
            if (step % 4) logits[N_VOCAB + step] = 30.0f;
            chain[3] = samp_clone(chain[kind]);
            samp_token want = samp_sample(chain[3], logits, N_VOCAB), got;
            samp_free(chain[3]);
            if (kind < 2) {
                chain[3] = samp_clone(chain[kind]);
                got = samp_sample(chain[3], logits, MORE);
                assert_num(got, want);
                samp_logprob top[3];
                samp_logprobs lp = { .raw = { .n_top = 3, .top_logprobs = top } };
                samp_logits rows = {
                    .data = logits, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = MORE, .logprobs = &lp
                };
                assert_ok(samp_sample_batch(&chain[kind], &rows, &got));
                assert_num(got, want);
                assert_num(top[0].token == (samp_token)(N_VOCAB + step), step % 4 != 0);
                logits[MORE - 1] = NAN; /* raw log-probabilities are of all logits */
                assert_ok(samp_sample_batch(&chain[3], &rows, &got));
                assert_status(got, SAMP_E_NAN);
                samp_free(chain[3]);
            } else {
                want = samp_draw(chain[2], logits, MORE);
                bool within = want < N_VOCAB;
                assert_ok(samp_rollback(chain[2], 0));
                got = samp_grammar_sample(chain[2], s, logits, MORE);
                assert_true(got >= 0 && got < N_VOCAB);
                if (within) assert_num(got, want);
                n_within += within;
            }
        }
    assert_true(n_within > 2 && n_within < 20);
    samp_token_data data[2] = { { N_VOCAB, 1.0f, 0.0f }, { 'c', 0.0f, 0.0f } };
    samp_token_data_array cur = { data, 2, -1, false };
    assert_ok(samp_apply(s, &cur));
    assert_true(data[0].logit == -INFINITY && data[1].logit == 0.0f);
    data[0].logit = 1.0f;
    cur.size = 1;
    assert_status(samp_apply(s, &cur), SAMP_E_EMPTY);
    for (int i = 0; i < 3; i++) samp_free(chain[i]);
}

/* A mask of the row's own and the grammar's: what both allow. */
TEST(test_two_masks)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [a-z]+");
    own_sampler *chain = grammar_chain(samp_init_grammar(vocab_index, g), SAMP_RNG_PHILOX);
    float logits[N_VOCAB] = { 0 };
    uint32_t bits[N_MASK] = { 0 };
    samp_token got = -1;
    samp_logits rows = { .data = logits, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = N_VOCAB, .mask = bits };
    bits['Q' / 32] |= 1u << 'Q' % 32;
    bits['k' / 32] |= 1u << 'k' % 32;
    bits['m' / 32] |= 1u << 'm' % 32;
    for (int i = 0; i < 30; i++) {
        assert_ok(samp_sample_batch(&chain, &rows, &got));
        assert_true(got == 'k' || got == 'm');
    }
    bits['k' / 32] = 0; /* m's, too */
    assert_ok(samp_sample_batch(&chain, &rows, &got));
    assert_status(got, SAMP_E_EMPTY);
    assert_num(samp_get_position(chain), 30);
}

/* A text of two hundred characters that satisfies several patterns is found, and so is one number of ninety thousand
   that satisfies all bounds: each within a million steps, where a search in order of length takes over 16 million. */
TEST(test_far_texts)
{
    static const char *const schemas[] = {
        "{\"type\":\"string\",\"minLength\":200,\"allOf\":[{\"pattern\":\"^([a-z][0-9])+$\"},"
        "{\"pattern\":\"((c1d3g3).{4,8}){6,6}\"},{\"pattern\":\"(t|8){10,10}$\"},{\"anyOf\":[{\"not\":{\"pattern\":"
        "\"^((c1d3g3).{4,8}){6,6}\"}},{\"not\":{\"pattern\":\"(t|8){10,10}$\"}}]}]}",
        "{\"type\":\"number\",\"exclusiveMinimum\":-100000,\"exclusiveMaximum\":-10000,\"allOf\":[{\"multipleOf\":6."
        "75},"
        "{\"multipleOf\":19},{\"multipleOf\":2.125}],\"not\":{\"anyOf\":[{\"multipleOf\":2},{\"multipleOf\":5},"
        "{\"multipleOf\":7},{\"multipleOf\":11}]}}"
    };
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        uint32_t bits[N_MASK];
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schemas[i], "any-number", NULL);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        assert_ok(samp_set_grammar_limits(s, (size_t)1 << 26, 1 << 20));
        assert_ok(samp_grammar_mask(s, bits));
        assert_true(bits[(i ? '-' : '"') / 32] >> (i ? '-' : '"') % 32 & 1);
    }
}

/* Where there is hardly room, what can be made anew goes first; then the places that lead back, before a call fails. */
TEST(test_what_goes_first)
{
    int found[3] = { 0 }; /* limits at which the mask fails; at which it does not, but there is no way back; or is */
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    for (size_t most = 10000; most < 100000; most += 500) {
        own_sampler *s = samp_init_grammar(vocab_index, g);
        sampi_matcher *m = (sampi_matcher *)s->ctx;
        uint32_t bits[N_VOCAB / 32 + 1];
        m->shared->account.most = 1 << 26;
        assert_ok(samp_set_rollback(s, 400));
        for (int i = 0; i < 100; i++)
            for (const char *p = "{\"a\":["; *p; p++) assert_ok(samp_accept(s, (uint8_t)*p));
        m->shared->account.most = most;
        int status = samp_grammar_mask(s, bits);
        if (status) assert_status(status, SAMP_E_FULL);
        assert_true(status || m->shared->account.bytes + m->shared->account.cache_bytes <= most);
        int back = samp_rollback(s, 300);
        if (back) assert_status(back, SAMP_E_RANGE);
        found[status ? 0 : back ? 1 : 2]++;
        assert_num(m->d.account.full, status != SAMP_OK);
    }
    print_message("full %d times, without a way back %d, with it %d\n", found[0], found[1], found[2]);
    assert_true(found[0] && found[1] && found[2]);
}

/* Where a grammar's memory is full, a text begins as soon as there is room for it. */
TEST(test_reset_when_full)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    own_sampler *s = samp_init_grammar(vocab_index, g);
    sampi_matcher *m = (sampi_matcher *)s->ctx;
    uint32_t bits[2][N_VOCAB / 32 + 1];
    assert_ok(samp_grammar_mask(s, bits[0]));
    m->shared->account.most = 3000;
    samp_reset(s);
    assert_status(samp_grammar_mask(s, bits[1]), SAMP_E_FULL);
    assert_status(samp_accept(s, '{'), SAMP_E_FULL);
    assert_status(samp_grammar_is_complete(s), SAMP_E_FULL);
    own_sampler *copy = samp_clone(s);
    assert_status(samp_grammar_mask(copy, bits[1]), SAMP_E_FULL);
    assert_ok(samp_set_grammar_limits(s, 1 << 20, 1 << 20)); /* the limit is the grammar's */
    assert_ok(samp_grammar_mask(s, bits[1]));
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    assert_ok(samp_grammar_mask(copy, bits[1]));
    assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    assert_num(samp_grammar_is_complete(copy), 0);
}

/* A set of pairs is empty whenever it is emptied, however often that has been. */
TEST(test_pairs_are_emptied)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, json_gbnf);
    samp_sampler *s[2] = { samp_init_grammar(vocab_index, g), samp_init_grammar(vocab_index, g) };
    sampi_matcher *m = (sampi_matcher *)s[1]->ctx;
    for (int i = 0; i < 3; i++) { /* pairs of the first rounds are there when these come again */
        for (const char *p = "{\"a\":[1,{\"b\":\"c"; *p; p++) {
            uint32_t bits[2][N_VOCAB / 32 + 1];
            for (int k = 0; k < 2; k++) {
                assert_ok(samp_grammar_mask(s[k], bits[k]));
                assert_ok(samp_accept(s[k], (uint8_t)*p));
            }
            assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        }
        m->space->seen.round = m->space->joined.round = INT32_MAX - 1;
        samp_reset(s[0]);
        samp_reset(s[1]);
    }
    assert_true(m->space->seen.round > 0 && m->space->joined.round > 0);
    samp_free(s[0]);
    samp_free(s[1]);
}

/* A matcher at its limit goes on wherever a new one that has read the same text can, with some room left for an array
   that grows: what it holds that leads nowhere any more does not count. Its state is one that it loads. */
TEST(test_full_goes_on)
{
    static const char *const texts[] = {
        "root ::= \"(\" root \")\" root | root root | [ab]",
        "root ::= root root | \"(\" root \")\" | [ab] | root \"+\" root | \"x\" root",
        "root ::= a*\na ::= \"(\" a* \")\" | a b | [ab] | \"ab\"\nb ::= [ab] | b a | \"(\" b \")\" | a \"+\"",
    };
    static char saved[1 << 14];
    enum { LONG = 700 };
    int n_full = 0, n_stuck = 0, n_refused = 0;
    for (uint64_t round = 0; round < 60; round++) {
        source rng = source_stream(300 + round);
        own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, texts[round % 3]);
        own_sampler *s = samp_init_grammar(vocab_index, g);
        uint32_t bits[N_MASK];
        samp_token text[LONG];
        assert_ok(samp_set_grammar_limits(s, 1 << 16, 1 << 20));
        if (round / 3 % 2) assert_ok(samp_set_rollback(s, 200));
        for (int n = 0; n < LONG; n++) {
            int status = samp_grammar_mask(s, bits), fresh = SAMP_OK;
            if (!status) {
                static const char usual[] = "((abab+)))x";
                samp_token token = usual[below(&rng, sizeof usual - 1)];
                for (int i = 0; i < 20 && !bit(bits, token); i++) token = usual[below(&rng, sizeof usual - 1)];
                if (!bit(bits, token)) break;
                text[n] = token;
                status = samp_accept(s, token);
            }
            if (!status) continue;
            assert_status(status, SAMP_E_FULL);
            n_full++;
            samp_sampler *other = samp_init_grammar(vocab_index, g);
            ((sampi_matcher *)other->ctx)->shared->account.most = 3 << 14;
            for (int i = 0; i < n && !fresh; i++) fresh = samp_accept(other, text[i]);
            if (!fresh) fresh = samp_grammar_mask(other, bits);
            n_stuck += !fresh;
            ((sampi_matcher *)other->ctx)->shared->account.most = 1 << 16;
            samp_free(other);
            size_t size = samp_state_size(s);
            assert_true(size > 0 && size < sizeof saved);
            assert_ok(samp_state_save(s, saved, size));
            n_refused += samp_state_load(s, saved, size) != SAMP_OK;
            break;
        }
    }
    if (n_stuck || n_refused || n_full == 0)
        test_fail(__FILE__, __LINE__, "%d full, %d of them stuck, %d states refused", n_full, n_stuck, n_refused);
}

/* A state whose text takes more steps at once than the sampler may is SAMP_E_FULL; damaged bytes are none. */
TEST(test_loads_full)
{
    char saved[256];
    static const char text[] = "(?:(?:a|b)*a(?:a|b){6}|x){0,9}xx";
    own_grammar *g = read_grammar(SAMP_GRAMMAR_REGEX, text), *h = read_grammar(SAMP_GRAMMAR_REGEX, text);
    own_sampler *s = samp_init_grammar(vocab_index, g), *other = samp_init_grammar(vocab_index, h);
    for (const char *p = "abaabbabaababbabba"; *p; p++) assert_ok(samp_accept(s, *p));
    size_t size = samp_state_size(s);
    assert_true(size > 0 && size < sizeof saved);
    assert_ok(samp_state_save(s, saved, size));
    afflict(other, FEW_STEPS, 40);
    assert_status(samp_state_load(other, saved, size), SAMP_E_FULL);
    assert_num(samp_state_size(other), size - 18 * 4);
    saved[size - 9] ^= 1;
    assert_status(samp_state_load(other, saved, size), SAMP_E_FORMAT);
    saved[size - 9] ^= 1;
    relieve(other);
    assert_ok(samp_state_load(other, saved, size));
    assert_num(samp_state_size(other), size);
}

static int refuse(samp_sampler *s, samp_token token)
{
    (void)s, (void)token;
    return SAMP_E_FULL;
}

static int leave(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s, (void)cur;
    return SAMP_OK;
}

/* samp_grammar_sample where the chain fails: nothing is left to draw from, or a sampler of the user's refuses the token,
   which the grammar then takes back. */
TEST(test_sample_fails)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [ab] \"c\"");
    own_sampler *s = samp_init_grammar(vocab_index, g), *chain = grammar_chain(NULL, SAMP_RNG_PHILOX);
    float logits[N_VOCAB];
    for (int i = 0; i < N_VOCAB; i++) logits[i] = i == 'x' ? 0.0f : -INFINITY;
    assert_status(samp_grammar_sample(chain, s, logits, N_VOCAB), SAMP_E_EMPTY);
    logits['x'] = NAN;
    assert_status(samp_grammar_sample(chain, s, logits, N_VOCAB), SAMP_E_NAN);
    logits['x'] = 0.0f;
    logits['a'] = 1.0f;
    static const samp_sampler_i refusing = { .accept = refuse, .apply = leave };
    assert_ok(samp_chain_add(chain, samp_init_custom(&refusing, NULL)));
    for (int32_t depth = 0; depth < 5; depth += 4) {
        assert_ok(samp_set_rollback(s, depth));
        assert_status(samp_grammar_sample(chain, s, logits, N_VOCAB), SAMP_E_FULL);
        check_mask(s);
    }
    assert_ok(samp_accept(s, 'b')); /* at the place where it was */
    assert_ok(samp_accept(s, 'c'));
}

/* A trigger that goes on as it must not is drawn anew, from a mask; where there is no memory for that, it says so. */
TEST(test_no_second_mask)
{
    static const char *const x[] = { "x" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= r \"y\"\nr ::= \"x\" \"y\" r? | \"z\" r");
    int n_failed = 0;
    for (long fail = 1; fail < 200; fail++) {
        own_sampler *s = samp_init_grammar_lazy(vocab_index, g, x, 1, NULL, 0),
                    *chain = grammar_chain(NULL, SAMP_RNG_PHILOX);
        sampi_matcher *m = (sampi_matcher *)s->ctx;
        float logits[N_VOCAB];
        for (int i = 0; i < N_VOCAB; i++) logits[i] = i == 'q' ? 1.0f : -INFINITY;
        logits[256 + 22] = 90.0f; /* "xxx" */
        assert_ok(samp_reserve(chain, N_VOCAB));
        memset(m->bits, 0, N_MASK * 4);
        m->shared->account.most = m->shared->account.bytes + m->shared->account.cache_bytes +
                                  3000; /* what the trigger makes is soon too much, and goes */
        heap.fail_at = fail;
        samp_token token = samp_grammar_sample(chain, s, logits, N_VOCAB);
        bool failed = heap.fail_at == 0;
        heap.fail_at = 0;
        if (token != 'q') assert_status(token, SAMP_E_NOMEM);
        assert_true(failed || token == 'q');
        n_failed += failed;
    }
    assert_true(n_failed > 3);
}

static int count_up(samp_sampler *s, samp_token token)
{
    (void)token;
    ++*(int *)s->ctx;
    return SAMP_OK;
}

static int count_down(samp_sampler *s, int32_t n)
{
    *(int *)s->ctx -= n;
    return SAMP_OK;
}

/* The states of two samplers, one behind the other; their bytes. */
static size_t save_two(const samp_sampler *const *two, char *out, size_t size)
{
    size_t n = samp_state_size(two[0]), m = samp_state_size(two[1]);
    assert_true(n + m <= size);
    assert_ok(samp_state_save(two[0], out, n));
    assert_ok(samp_state_save(two[1], out + n, m));
    return n + m;
}

/* A token that one member of a chain refuses, by samp_accept or when it is drawn, leaves all of them as they are,
   wherever it stands, with and without samp_rollback's records. A sampler that has no rollback has counted it. */
TEST(test_one_refuses_a_token)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [ab]+ \"c\""),
                *h = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= ([ac] | \"bb\")+");
    static const samp_sampler_i refusing = { .accept = refuse, .apply = leave },
                                able = { .accept = count_up, .apply = leave, .rollback = count_down },
                                unable = { .accept = count_up, .apply = leave }, deaf = { .apply = leave };
    static char before[1 << 16], after[1 << 16];
    for (int kind = 0; kind < 12; kind++) {
        int n_able = 0, n_unable = 0;
        samp_sampler *inner = samp_chain_init(), *chain = samp_chain_init();
        assert_ok(samp_set_rollback(chain, kind < 6 ? 0 : 2));
        assert_ok(samp_chain_add(inner, samp_init_custom(&unable, &n_unable)));
        assert_ok(samp_chain_add(inner, samp_init_custom(&deaf, NULL)));
        assert_ok(samp_chain_add(inner, samp_init_grammar(vocab_index, kind % 2 ? g : h)));
        assert_ok(samp_chain_add(inner, samp_init_custom(&able, &n_able)));
        assert_ok(samp_chain_add(chain, inner));
        assert_ok(samp_chain_add(chain, samp_init_grammar(vocab_index, kind % 2 ? h : g)));
        assert_ok(samp_chain_add(chain, samp_init_dist(1)));
        for (int i = 0; i < kind / 2 % 3; i++) assert_ok(samp_accept(chain, 'a'));
        assert_ok(samp_accept(chain, 'b'));
        const samp_sampler *grammars[2] = { samp_chain_get(inner, 2), samp_chain_get(chain, 1) };
        size_t size = save_two(grammars, before, sizeof before);
        int n = n_able;
        for (const char *p = "cax"; *p; p++) { /* c is right for the one, a for the other */
            int got = samp_accept(chain, *p);
            assert_true(got == SAMP_E_RANGE);
            assert_num(save_two(grammars, after, sizeof after), size);
            if (memcmp(before, after, size)) test_fail(__FILE__, __LINE__, "kind %d: '%c' has changed it", kind, *p);
            assert_num(n_able, n);
        }
        assert_true(n_unable > n);
        samp_sampler *last = samp_init_custom(&refusing, NULL);
        float logits[N_VOCAB];
        for (int i = 0; i < N_VOCAB; i++) logits[i] = (float)(i % 7);
        assert_ok(samp_chain_add(chain, last));
        assert_status(samp_sample(chain, logits, N_VOCAB), SAMP_E_FULL);
        assert_true(samp_chain_remove(chain, 3) == last);
        samp_free(last);
        assert_num(save_two(grammars, after, sizeof after), size);
        assert_true(memcmp(before, after, size) == 0);
        assert_num(samp_sample(chain, logits, N_VOCAB), 'b'); /* what both let */
        samp_free(chain);
    }
}

/* A sampler of the user's that has a list of its tokens, and may refuse to go back. */
typedef struct stubborn {
    samp_token token[64];
    int n;
    bool refuses;
} stubborn;

static int stubborn_accept(samp_sampler *s, samp_token token)
{
    stubborn *u = (stubborn *)s->ctx;
    u->token[u->n++] = token;
    return SAMP_OK;
}

static int stubborn_rollback(samp_sampler *s, int32_t n)
{
    stubborn *u = (stubborn *)s->ctx;
    if (u->refuses) return SAMP_E_FULL;
    u->n -= n;
    return SAMP_OK;
}

/* A rollback that one member refuses leaves all of them as they are, wherever it stands: grammars, and those before
   it. */
TEST(test_one_refuses_a_rollback)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [ab]+ \"c\""),
                *h = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= x\nx ::= \"a\" x y x? | \"b\" x? y?\ny ::= x? \"a\"?");
    static const samp_sampler_i iface = { .accept = stubborn_accept, .apply = leave, .rollback = stubborn_rollback };
    static char before[1 << 16], after[1 << 16];
    for (int kind = 0; kind < 12; kind++) {
        stubborn user[3] = { { { 0 }, 0, false } };
        samp_sampler *inner = samp_chain_init(), *chain = samp_chain_init();
        for (int i = 0; i < 2; i++) {
            assert_ok(samp_chain_add(inner, samp_init_grammar(vocab_index, i ? h : g)));
            assert_ok(samp_chain_add(inner, samp_init_custom(&iface, &user[i])));
        }
        assert_ok(samp_chain_add(chain, inner));
        assert_ok(samp_chain_add(chain, samp_init_custom(&iface, &user[2])));
        assert_ok(samp_chain_add(chain, samp_init_grammar(vocab_index, h)));
        assert_ok(samp_chain_add(chain, samp_init_dist(1)));
        for (const char *p = "abaab"; *p; p++) assert_ok(samp_accept(chain, *p));
        const samp_sampler *grammars[2] = { samp_chain_get(inner, 0), samp_chain_get(inner, 2) };
        size_t size = save_two(grammars, before, sizeof before);
        const int stays = kind % 3, n = 1 + kind / 3;
        user[stays].refuses = true;
        for (int try = 0; try < 2; try++) {
            assert_status(samp_rollback(chain, n), SAMP_E_FULL);
            assert_num(save_two(grammars, after, sizeof after), size);
            if (memcmp(before, after, size)) test_fail(__FILE__, __LINE__, "kind %d: a grammar went back", kind);
            for (int i = 0; i < 3; i++) {
                if (user[i].n != 5) test_fail(__FILE__, __LINE__, "kind %d: sampler %d has %d", kind, i, user[i].n);
                for (int k = 0; k < 5; k++) assert_num(user[i].token[k], "abaab"[k]);
            }
        }
        user[stays].refuses = false;
        assert_ok(samp_rollback(chain, n));
        for (int i = 0; i < 3; i++) assert_num(user[i].n, 5 - n);
        for (const char *p = &"abaab"[5 - n]; *p; p++) assert_ok(samp_accept(chain, *p));
        assert_num(save_two(grammars, after, sizeof after), size);
        assert_true(memcmp(before, after, size) == 0);
        samp_free(chain);
    }
}

/* So does one for which a grammar has no memory: a clone has room for few items, and the place before the last token
   has many. */
TEST(test_rollback_without_memory)
{
    char text[1 << 12];
    size_t n = (size_t)sprintf(text, "root ::= \"a\" (r0");
    for (int i = 1; i < 20; i++) n += (size_t)sprintf(text + n, " | r%d", i);
    n += (size_t)sprintf(text + n, ")");
    for (int i = 0; i < 20; i++) n += (size_t)sprintf(text + n, "\nr%d ::= \"x\" r%d? \"%c\"", i, i, 'A' + i);
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [axA]+"), *h = read_grammar(SAMP_GRAMMAR_GBNF, text);
    static char before[1 << 16], after[1 << 16];
    own_sampler *chain = grammar_chain(samp_init_grammar(vocab_index, g), SAMP_RNG_PHILOX);
    assert_ok(samp_chain_insert(chain, 1, samp_init_grammar(vocab_index, h)));
    for (const char *p = "axxA"; *p; p++) assert_ok(samp_accept(chain, *p));
    own_sampler *clone = samp_clone(chain);
    const samp_sampler *grammars[2] = { samp_chain_get(clone, 0), samp_chain_get(clone, 1) };
    size_t size = save_two(grammars, before, sizeof before);
    heap.fail_at = 1;
    assert_status(samp_rollback(clone, 1), SAMP_E_NOMEM);
    heap.fail_at = 0;
    assert_num(save_two(grammars, after, sizeof after), size);
    assert_true(memcmp(before, after, size) == 0);
    assert_ok(samp_rollback(clone, 1));
    assert_ok(samp_accept(clone, 'x'));
}

/* Two grammars in one chain, each with its text: a state has both. Cut off anywhere it is none, and changes nothing. */
TEST(test_two_grammars)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= [ab]+ \"c\""),
                *h = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= ([ac] | \"bb\")+");
    samp_sampler *chain = grammar_chain(samp_init_grammar(vocab_index, g), SAMP_RNG_PHILOX), *loaded;
    assert_ok(samp_chain_insert(chain, 1, samp_init_grammar(vocab_index, h)));
    loaded = samp_clone(chain);
    for (const char *p = "aab"; *p; p++) assert_ok(samp_accept(chain, *p));
    static char saved[1 << 16];
    const size_t size = samp_state_size(chain);
    assert_true(size > 0 && size < sizeof saved);
    assert_ok(samp_state_save(chain, saved, size));
    for (size_t n = 0; n < size; n++) assert_true(samp_state_load(loaded, saved, n) < 0);
    assert_num(samp_get_position(loaded), 0);
    assert_ok(samp_state_load(loaded, saved, size));
    for (int i = 0; i < samp_chain_n(chain); i++) {
        samp_sampler *a = samp_chain_get(chain, i), *b = samp_chain_get(loaded, i);
        uint32_t bits[2][N_MASK];
        if (((const sampi_sampler *)a)->kind != SAMPI_GRAMMAR) continue;
        assert_ok(samp_grammar_mask(a, bits[0]));
        assert_ok(samp_grammar_mask(b, bits[1]));
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
    }
    assert_ok(samp_accept(loaded, 'b'));
    samp_free(chain);
    samp_free(loaded);
}

/* A state is loaded by the same grammar only, however its rules are called: not where a rule's body, the bounds of a
   list, its required members, a trigger or the vocabulary is another one. */
TEST(test_other_grammar)
{
    static const struct {
        samp_grammar_kind kind;
        const char *text;
    } cases[] = {
        { SAMP_GRAMMAR_GBNF, "a ::= \"x\"\nb ::= \"y\"\nroot ::= a* b" },
        { SAMP_GRAMMAR_GBNF, "b ::= \"x\"\na ::= \"y\"\nroot ::= a* b" },
        { SAMP_GRAMMAR_GBNF, "a ::= \"y\"\nb ::= \"y\"\nroot ::= a* b" },
        { SAMP_GRAMMAR_GBNF, "root ::= <[7]>*" },
        { SAMP_GRAMMAR_GBNF, "root ::= <[8]>*" },
        { SAMP_GRAMMAR_GBNF, "root ::= !<[8]>*" },
        { SAMP_GRAMMAR_GBNF, "root ::= <tool>*" },
        { SAMP_GRAMMAR_GBNF, "root ::= \"a\" root \"b\" | \"c\"" },
        { SAMP_GRAMMAR_GBNF, "root ::= \"a\" r \"b\" | \"c\"\nr ::= \"a\" root \"b\" | \"d\"" },
        { SAMP_GRAMMAR_REGEX, "a{2,3}" },
        { SAMP_GRAMMAR_REGEX, "a{2,4}" },
        { SAMP_GRAMMAR_REGEX, "a{1,3}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":true,\"b\":true},\"required\":[\"a\"]}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":true,\"b\":true},\"required\":[\"b\"]}" },
        { SAMP_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":true,\"b\":true}}" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"properties\":{\"a\":true,\"b\":true,\"c\":true},\"additionalProperties\":false,\"minProperties\":2}" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"properties\":{\"a\":true,\"b\":true,\"c\":true},\"additionalProperties\":false,\"maxProperties\":1}" },
        { SAMP_GRAMMAR_JSON_SCHEMA,
          "{\"properties\":{\"a\":true,\"b\":true,\"c\":true},\"additionalProperties\":false,\"maxProperties\":2}" },
    };
    static const char *const whole[] = { "^a|b$" }, *const part[] = { "(?:^a|b$)" }, *const other[] = { "^a|c$" };
    enum { N_CASES = TEST_COUNT(cases) + 5 };
    samp_grammar *g[TEST_COUNT(cases)];
    samp_sampler *s[N_CASES];
    samp_vocab third = vocabulary;
    static char saved[N_CASES][256];
    size_t size[N_CASES];
    third.n_eog = 0;
    own_index *third_index = samp_vocab_index_init(&third, NULL);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        g[i] = read_grammar(cases[i].kind, cases[i].text);
        s[i] = samp_init_grammar(vocab_index, g[i]);
    }
    const size_t n = TEST_COUNT(cases);
    s[n] = samp_init_grammar_lazy_patterns(vocab_index, g[0], whole, 1, NULL, 0);
    s[n + 1] = samp_init_grammar_lazy_patterns(vocab_index, g[0], part, 1, NULL, 0);
    s[n + 2] = samp_init_grammar_lazy_patterns(vocab_index, g[0], other, 1, NULL, 0);
    s[n + 3] = samp_init_grammar_lazy_patterns(vocab_index, g[0], NULL, 0, NULL, 0);
    s[n + 4] = samp_init_grammar(third_index, g[0]);
    for (size_t i = 0; i < N_CASES; i++) {
        assert_ok(samp_status(s[i], NULL));
        size[i] = samp_state_size(s[i]);
        assert_true(size[i] > 0 && size[i] <= sizeof saved[i]);
        assert_ok(samp_state_save(s[i], saved[i], size[i]));
    }
    for (size_t i = 0; i < N_CASES; i++)
        for (size_t k = 0; k < N_CASES; k++) {
            int status = samp_state_load(s[k], saved[i], size[i]);
            if (status != (i == k ? SAMP_OK : SAMP_E_FORMAT))
                test_fail(__FILE__, __LINE__, "the state of %s under %s: %d", i < n ? cases[i].text : "a trigger",
                          k < n ? cases[k].text : "a trigger", status);
        }
    samp_grammar *same = read_grammar(SAMP_GRAMMAR_GBNF, "x1 ::= \"x\" # comment\nroot ::= x1* y1\n\ny1 ::= \"y\"");
    samp_sampler *renamed = samp_init_grammar(vocab_index, same);
    assert_ok(samp_state_load(renamed, saved[0], size[0]));
    samp_free(renamed);
    samp_grammar_free(same);
    for (size_t i = 0; i < N_CASES; i++) samp_free(s[i]);
    for (size_t i = 0; i < n; i++) samp_grammar_free(g[i]);
}

/* ---- lazy grammars ---- */

/* Texts of 40 of these bytes: how many are missing tells where the grammar began. */
#define FORTY "root ::= [abcx<>]{40}"

/* How many bytes of a text of n the grammar has not read, or -1: it waits. */
static int begun_at(const samp_sampler *s, size_t n)
{
    int more = 0, awaiting = samp_grammar_is_awaiting(s);
    assert_true(awaiting == 0 || awaiting == 1);
    if (awaiting) return -1;
    samp_sampler *copy = samp_clone(s);
    for (; !samp_grammar_is_complete(copy); more++) assert_ok(samp_accept(copy, 'a'));
    samp_free(copy);
    return (int)n - (40 - more);
}

/* A text, token by token (the longest that fits, up to `longest` bytes): where the grammar begins, and *at: behind how
   many bytes of the text that is known. Saved states and clones on the way go on the same. */
static int begins(samp_sampler *s, const char *text, size_t longest, size_t *at)
{
    static char saved[1 << 12];
    samp_reset(s);
    for (size_t i = 0; text[i];) {
        samp_token token = (uint8_t)text[i];
        size_t best = 1;
        for (int w = 0; w < N_WORDS; w++) {
            size_t n = strlen(words[w]);
            if (n > best && n <= longest && strncmp(words[w], text + i, n) == 0) token = 256 + w, best = n;
        }
        check_mask(s);
        samp_sampler *copy = samp_clone(s);
        assert_ok(samp_accept(s, token));
        assert_ok(samp_accept(copy, token));
        i += best;
        assert_num(begun_at(copy, i), begun_at(s, i));
        size_t size = samp_state_size(s);
        assert_true(size > 0 && size < sizeof saved);
        assert_ok(samp_state_save(s, saved, size));
        samp_reset(copy);
        assert_num(begun_at(copy, 0), -1);
        assert_ok(samp_state_load(copy, saved, size));
        assert_num(begun_at(copy, i), begun_at(s, i));
        samp_free(copy);
        if (begun_at(s, i) >= 0) {
            *at = i;
            return begun_at(s, i);
        }
    }
    return -1;
}

#define TEN_GROUPS "()()()()()()()()()()"

/* What patterns mean: where the grammar begins in a text read byte by byte, and behind how many of them. */
TEST(test_lazy_patterns)
{
    static const struct {
        const char *patterns[3], *text;
        size_t longest;
        int begins;
        size_t at;
    } cases[] = {
        { { "ab" }, "xxabc", 1, 2, 4 },
        { { "ab" }, "xxabc", 9, 2, 5 }, /* abc is one token */
        { { "(ab)" }, "cab", 1, 1, 3 },
        { { "a(b)" }, "cab", 1, 2, 3 },
        { { "x?(b)?c" }, "axxc", 1, 2, 4 }, /* an empty group counts for nothing: where the match begins */
        { { "x*c" }, "axxc", 1, 1, 4 },     /* the first place that matches, not the last */
        { { "(a)|(b)" }, "xb", 1, 1, 2 },
        { { "[\\s\\S]*?(b)[\\s\\S]*" }, "abb", 1, 1, 2 },
        { { "[\\s\\S]*(b)[\\s\\S]*" }, "<xxx>bb", 1, 5, 6 },
        { { "[^a]*(x+)b" }, "cxxb", 1, 2, 4 }, /* as many x as can be are [^a]'s */
        { { "[^a]*?(x+)b" }, "cxxb", 1, 1, 4 },
        { { "(x+?)(x*)b" }, "cxxb", 1, 1, 4 },
        { { "(x*)(x+)b" }, "cxxb", 1, 1, 4 },
        { { "(x?\?)(x+)b" }, "cxxb", 1, 1, 4 },
        { { "(?:x|xx)(x*)b" }, "xxb", 1, 1, 3 },
        { { "(?:xx|x)(x*)b" }, "xxb", 1, 0, 3 }, /* the group is empty */
        { { "(?:a|b|c)x" }, "abcx", 1, 2, 4 },
        { { "x{2,3}(x)" }, "axxxxx", 1, 3, 4 },
        { { "x{2}" }, "axxx", 1, 1, 3 },
        { { "^ab" }, "xab", 1, -1, 0 },
        { { "^ab" }, "abc", 1, 0, 2 },
        { { "b$" }, "abc", 9, -1, 0 }, /* no text ends there */
        { { "b$" }, "abxc", 9, 1, 2 },
        { { "^x+$" }, "axx", 1, -1, 0 },
        { { "^(?:ab|a)(b?)c$" }, "abc", 9, 0, 3 },
        { { "^a(x)|(b)$" }, "axxb", 1, 1, 2 },
        { { "^(a)|a(b)$" }, "abx", 9, 1, 2 }, /* the whole first: its way is the second */
        { { "^a|ab$" }, "cab", 9, 1, 3 },
        { { "(c)", "b" }, "abc", 9, 2, 3 }, /* in the order of the patterns */
        { { "b", "(c)" }, "abc", 9, 1, 3 },
        { { "" }, "abc", 1, 0, 1 },
        { { "(a|b)*c" }, "abac", 1, 2, 4 }, /* the last of a group's texts */
        { { "(?:(a)|(b))*c" }, "xabc", 1, 1, 4 },
        { { "(a*)*c" }, "xaac", 1, 1, 4 },
        { { ".(x)" }, "xxa", 1, 1, 2 },
        { { "[^x]a" }, "xaba", 1, 2, 4 },
        { { "\\x61\\u0062" }, "xab", 1, 1, 3 },
        { { "[\xc3\xa9-\xc3\xbc](b)" },
          "x\xc3\xa9"
          "b",
          1,
          3,
          4 },
        { { "[a\xc3\xa9-\xc3\xbc]x" }, "x\xc3\xa8xax", 1, 4, 6 },
        /* all characters from 0x80 on, in two ranges: then any byte there */
        { { "[\xe8\x80\x80-\xf4\x8f\xbf\xbf\xc2\x80-\xe7\xbf\xbf](b)" },
          "x\xff"
          "b",
          1,
          2,
          3 },
        { { "[]" }, "abc", 1, -1, 0 }, /* nothing can match */
        { { "[]", "c" }, "abc", 1, 2, 3 },
        { { "([])b|c" }, "abc", 1, 2, 3 },
        { { "\\<(?=" }, NULL, 0, SAMP_E_UNSUPPORTED, 0 },
        { { "(a" }, NULL, 0, SAMP_E_FORMAT, 0 },
        { { "(a)\\1" }, NULL, 0, SAMP_E_UNSUPPORTED, 0 },
        { { "(?:(?:x{1000}){1000}){1000}" }, NULL, 0, SAMP_E_RANGE, 0 },
        { { "((((((((((()))))))))))" }, NULL, 0, SAMP_OK, 0 },
        { { TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS "()()()()" }, NULL, 0, SAMP_OK, 0 },
        { { TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS TEN_GROUPS "()()()()()" },
          NULL,
          0,
          SAMP_E_RANGE,
          0 },
    };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, FORTY);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        const char *field;
        size_t at = 0;
        for (most_ops = 0; cases[i].text; most_ops++) { /* a pattern that is too long, at every place of it */
            samp_sampler *cut = samp_init_grammar_lazy_patterns(vocab_index, g, cases[i].patterns,
                                                                1 + (cases[i].patterns[1] != NULL), NULL, 0);
            int status = samp_status(cut, NULL);
            samp_free(cut);
            if (status == SAMP_OK) break;
            assert_status(status, SAMP_E_RANGE);
        }
        most_ops = 1 << 16;
        own_sampler *s = samp_init_grammar_lazy_patterns(vocab_index, g, cases[i].patterns,
                                                         1 + (cases[i].patterns[1] != NULL), NULL, 0);
        if (!cases[i].text) {
            assert_status(samp_status(s, &field), cases[i].begins);
            if (cases[i].begins) assert_text(field, "trigger_patterns");
        } else {
            int got = begins(s, cases[i].text, cases[i].longest, &at);
            if (got != cases[i].begins || at != cases[i].at)
                test_fail(__FILE__, __LINE__, "%s in %s: at %d behind %zu", cases[i].patterns[0], cases[i].text, got,
                          at);
        }
    }
}

/* Random words in random texts of few letters: the first occurrence of any of them. */
TEST(test_lazy_words)
{
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, FORTY);
    source rng = source_stream(9);
    int n_begun = 0;
    for (int round = 0; round < rounds(300); round++) {
        char word[3][8], text[25];
        const char *list[3] = { word[0], word[1], word[2] };
        for (int w = 0; w < 3; w++) {
            size_t n = 1 + below(&rng, 6);
            for (size_t i = 0; i < n; i++) word[w][i] = "abx"[below(&rng, 3)];
            word[w][n] = 0;
        }
        for (size_t i = 0; i < 24; i++) text[i] = "abxc"[below(&rng, 2 + (uint64_t)(round % 3))];
        text[24] = 0;
        own_sampler *s = samp_init_grammar_lazy(vocab_index, g, list, 3, NULL, 0);
        size_t at = 24;
        int got = begins(s, text, round % 2 ? 1 : 9, &at), want = -1;
        text[at] = 0;
        for (int w = 0; w < 3; w++) {
            const char *found = strstr(text, word[w]);
            if (found && (want < 0 || found - text < want)) want = (int)(found - text);
        }
        if (got != want) test_fail(__FILE__, __LINE__, "%s %s %s in %s: %d", word[0], word[1], word[2], text, got);
        n_begun += got >= 0;
    }
    assert_true(n_begun * 3 > rounds(300) && n_begun < rounds(300));
}

/* Tokens as triggers; what does not fit the grammar; no trigger; what is wrong. */
TEST(test_lazy_tokens)
{
    static const samp_token tool[] = { EMPTY_TOKEN, 'c' };
    static const char *const ab[] = { "ab" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= <[286]> \"x\" | \"c\" \"a\" | \"ab\" \"x\"");
    own_sampler *s = samp_init_grammar_lazy(vocab_index, g, ab, 1, tool, 2);
    uint32_t bits[(N_VOCAB + 31) / 32];
    char text[2][256], bytes[8];
    assert_ok(samp_grammar_mask(s, bits));
    for (samp_token token = 0; token < N_VOCAB; token++) assert_num(bit(bits, token), token != 257); /* abc */
    for (samp_token token = N_VOCAB; token % 32; token++) assert_false(bit(bits, token));
    assert_num(samp_grammar_is_complete(s), 0);
    assert_num(samp_grammar_forced(s, bytes, sizeof bytes), 0);
    assert_ok(samp_accept(s, EOG)); /* it may be anything */
    assert_ok(samp_accept(s, 'c'));
    assert_num(samp_grammar_is_awaiting(s), 0);
    assert_num(samp_grammar_forced(s, bytes, sizeof bytes), 1);
    assert_num(bytes[0], 'a');
    assert_status(samp_accept(s, 'b'), SAMP_E_RANGE);
    samp_reset(s);
    assert_num(samp_grammar_is_awaiting(s), 1);

    /* abc begins with the word and goes on as it must not; a token without bytes the grammar has by name */
    assert_ok(samp_accept(s, 'a'));
    assert_ok(samp_state_save(s, text[0], samp_state_size(s)));
    assert_status(samp_accept(s, 257), SAMP_E_RANGE);
    assert_status(samp_accept(s, N_VOCAB), SAMP_E_RANGE);
    assert_status(samp_accept(s, -1), SAMP_E_RANGE);
    assert_ok(samp_state_save(s, text[1], samp_state_size(s)));
    assert_memory_equal(text[0], text[1], samp_state_size(s));
    assert_num(samp_grammar_is_awaiting(s), 1);
    samp_sampler *other = samp_clone(s), *eager = samp_init_grammar(vocab_index, g);
    assert_ok(samp_accept(other, EMPTY_TOKEN));
    assert_num(samp_grammar_forced(other, bytes, sizeof bytes), 1);
    assert_num(bytes[0], 'x');
    samp_free(other);
    assert_ok(samp_accept(s, 'b'));
    assert_num(samp_grammar_is_awaiting(s), 0);
    check_mask(s);
    samp_free(s);

    /* a state is one of these triggers */
    other = samp_init_grammar_lazy(vocab_index, g, ab, 1, tool, 1);
    assert_status(samp_state_load(other, text[0], samp_state_size(other)), SAMP_E_FORMAT);
    assert_status(samp_state_load(eager, text[0], samp_state_size(other)), SAMP_E_FORMAT);
    assert_num(samp_grammar_is_awaiting(eager), 0);
    assert_status(samp_grammar_is_awaiting(NULL), SAMP_E_NULL);
    samp_free(other);
    samp_free(eager);

    static const samp_token outside[] = { N_VOCAB }, below_0[] = { 'a', -1 };
    static const char *const none[] = { NULL };
    const struct {
        samp_sampler *made;
        int status;
        const char *field; /* NULL: any */
    } bad[] = {
        { samp_init_grammar_lazy(vocab_index, g, none, 1, NULL, 0), SAMP_E_NULL, "trigger_words" },
        { samp_init_grammar_lazy_patterns(vocab_index, g, NULL, 0, outside, 1), SAMP_E_RANGE, "trigger_tokens" },
        { samp_init_grammar_lazy(vocab_index, g, NULL, 0, below_0, 2), SAMP_E_RANGE, "trigger_tokens" },
        { samp_init_grammar_lazy(vocab_index, g, ab, 1, NULL, 1), SAMP_E_NULL, "trigger_tokens" },
        { samp_init_grammar_lazy_patterns(vocab_index, g, NULL, 1, tool, 1), SAMP_E_NULL, "trigger_patterns" },
        { samp_init_grammar_lazy(NULL, g, ab, 1, NULL, 0), SAMP_E_NULL, NULL },
        { samp_init_grammar_lazy(vocab_index, NULL, NULL, 0, NULL, 0), SAMP_E_NULL, "grammar" },
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        const char *field;
        assert_status(samp_status(bad[i].made, &field), bad[i].status);
        if (bad[i].field) assert_text(field, bad[i].field);
        samp_free(bad[i].made);
    }
    samp_grammar *nothing = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"a\"?");
    s = samp_init_grammar_lazy(vocab_index, nothing, NULL, 0, tool, 2);
    assert_num(samp_grammar_is_complete(s), 0); /* that would be complete, but has not begun */
    samp_free(s);
    samp_grammar_free(nothing);
    s = samp_init_grammar_lazy(vocab_index, g, NULL, 0, NULL, 0); /* for ever */
    for (samp_token token = 0; token < N_VOCAB; token++) assert_ok(samp_accept(s, token));
    assert_num(samp_grammar_is_awaiting(s), 1);
}

/* Which tokens a waiting grammar accepts, each tried with a clone; the mask is the same. Returns how many it refuses. */
static int try_all(const samp_sampler *s, bool *accepts)
{
    uint32_t bits[N_MASK];
    int refused = 0;
    samp_sampler *asked = samp_clone(s);
    assert_ok(samp_grammar_mask(asked, bits));
    for (samp_token token = 0; token < N_VOCAB; token++) {
        own_sampler *copy = samp_clone(s);
        const int status = samp_accept(copy, token);
        if (status) assert_status(status, SAMP_E_RANGE);
        accepts[token] = status == SAMP_OK;
        if (accepts[token] != bit(bits, token))
            test_fail(__FILE__, __LINE__, "token %d is %d in the mask, and accepted with %d", token, bit(bits, token),
                      status);
        refused += status != SAMP_OK;
    }
    samp_free(asked);
    return refused;
}

/* In a chain: the fast path against the steps, and both against the chain without a grammar, of rows in which the tokens
   are masked that complete a trigger and do not go on as the grammar does. The waiting grammar never sticks. */
TEST(test_lazy_chain)
{
    static const char *const patterns[] = { "[\\s\\S]*?(a|\")" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"a\" \",\" | \"\\\"\" [^\"]* \"\\\"\"");
    int waited = 0, refused = 0, drawn = 0;
    for (int kind = 0; kind < 2; kind++) {
        own_sampler *s = samp_init_grammar_lazy_patterns(vocab_index, g, patterns, 1, NULL, 0);
        own_sampler *fast = grammar_chain(samp_clone(s), (samp_rng_kind)kind), *steps = samp_clone(fast);
        own_sampler *without = grammar_chain(NULL, (samp_rng_kind)kind), *alone = samp_clone(without);
        float logits[N_VOCAB], masked[N_VOCAB];
        samp_token_data data[N_VOCAB];
        bool accepts[N_VOCAB];
        source rng = source_stream(5);
        for (int step = 0; step < 400; step++) {
            test_logits(&rng, logits, N_VOCAB, 2.0);
            samp_token_data_array cur = test_array(data, logits, N_VOCAB);
            assert_ok(samp_apply(steps, &cur));
            samp_token want = data[cur.selected].id;
            const bool awaiting = samp_grammar_is_awaiting(samp_chain_get(fast, 0));
            if (awaiting) assert_true(try_all(samp_chain_get(fast, 0), accepts) > 0);
            for (int i = 0; i < N_VOCAB; i++) masked[i] = !awaiting || accepts[i] ? logits[i] : -INFINITY;
            const samp_token free_one = samp_draw(without, masked, N_VOCAB);
            if (awaiting) assert_num(want, free_one);
            waited += awaiting;
            refused += awaiting && samp_draw(alone, logits, N_VOCAB) != free_one;
            assert_num(samp_sample(fast, logits, N_VOCAB), want);
            assert_ok(samp_accept(steps, want));
            if (want == EOG) samp_reset(fast), samp_reset(steps), samp_reset(without);
            samp_token token = samp_grammar_sample(alone, s, logits, N_VOCAB);
            assert_true(token >= 0);
            drawn += token > 0;
            if (token == EOG) samp_reset(s);
        }
    }
    assert_true(waited > 100 && refused > 0 && drawn > 600);
}

/* The mask of a waiting grammar, of random triggers and texts, is that of the tokens that it accepts; clones, rollbacks
   and what was found for an earlier place change nothing. */
TEST(test_lazy_masks)
{
    static const char *const grammars[] = { "root ::= \"ab\" [xc]* | \"x\" \"x\"", "root ::= [ab] \"aa\"* \"x\"",
                                            "root ::= <[285]> \"a\" | \"b\"? \"xx\" | \"aaaa\" <[286]>",
                                            "root ::= \"c\"" };
    static const char *const patterns[] = {
        "ab",        "x+",        "[\\s\\S]*?(a[bx])", "^(?:x|ab)*?(a)$", "(x?)(a|bb)", "a$",
        "^x|(ab)+c", "[^c]*(xx)", "(b)|(a)(x?)b",      "^[\\s\\S]{3,}$",  "(a*)*b",     "xx*?$"
    };
    source rng = source_stream(17);
    int n_refused = 0, n_waited = 0, n_rounds = quick() ? 60 : env_setting("SAMP_TEST_FULL", 0) ? 1200 : 300;
    for (int round = 0; round < n_rounds; round++) {
        const char *texts[2] = { patterns[below(&rng, 12)], patterns[below(&rng, 12)] },
                   *words_of[2] = { "ab", "xx" };
        const samp_token tokens[2] = { EMPTY_TOKEN, 'c' };
        own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, grammars[below(&rng, 4)]);
        const size_t n_texts = below(&rng, 3), n_tokens = below(&rng, 3);
        own_sampler *s = round % 3 ? samp_init_grammar_lazy_patterns(vocab_index, g, texts, n_texts, tokens, n_tokens)
                                   : samp_init_grammar_lazy(vocab_index, g, words_of, n_texts, tokens, n_tokens);
        bool accepts[N_VOCAB];
        assert_ok(samp_status(s, NULL));
        assert_ok(samp_set_rollback(s, 30));
        for (int step = 0; step < 12 && samp_grammar_is_awaiting(s); step++) {
            n_refused += try_all(s, accepts) > 0;
            n_waited++;
            samp_token token = (samp_token) "abxc<"[below(&rng, 5)];
            if (below(&rng, 3) == 0) token = 256 + (samp_token)below(&rng, N_VOCAB - 256);
            assert_num(samp_accept(s, token) == SAMP_OK, accepts[token]);
            if (below(&rng, 4) == 0)
                assert_ok(samp_rollback(s, (int32_t)below(&rng, (uint64_t)samp_rollback_depth(s) + 1)));
        }
    }
    assert_true(n_refused > n_rounds / 3 && n_waited > n_refused);
}

/* A trigger token without bytes begins the grammar behind it, if the grammar does not begin with its name. */
TEST(test_lazy_think)
{
    static const samp_token think[] = { EMPTY_TOKEN };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\": \"integer\"}");
    samp_sampler *s = samp_init_grammar_lazy(vocab_index, g, NULL, 0, think, 1);
    own_sampler *chain = grammar_chain(s, SAMP_RNG_PHILOX);
    static char saved[1 << 12];
    float logits[N_VOCAB] = { 0 };
    uint32_t bits[N_MASK];
    assert_ok(samp_set_rollback(chain, 8));
    assert_ok(samp_grammar_mask(s, bits));
    for (samp_token token = 0; token < N_VOCAB; token++) assert_true(bit(bits, token));
    assert_ok(samp_accept(chain, 'x'));
    logits[EMPTY_TOKEN] = 50.0f;
    assert_num(samp_sample(chain, logits, N_VOCAB), EMPTY_TOKEN);
    assert_num(samp_grammar_is_awaiting(s), 0);
    assert_num(samp_grammar_is_complete(s), 0);
    logits['x'] = 60.0f, logits['7'] = 40.0f;
    assert_num(samp_sample(chain, logits, N_VOCAB), '7');
    assert_num(samp_grammar_is_complete(s), 1);
    const size_t size = samp_state_size(chain);
    assert_true(size < sizeof saved);
    assert_ok(samp_state_save(chain, saved, size));
    assert_ok(samp_rollback(chain, 2));
    assert_num(samp_grammar_is_awaiting(s), 1);
    assert_ok(samp_accept(chain, '"'));
    assert_ok(samp_state_load(chain, saved, size));
    assert_num(samp_grammar_is_complete(samp_chain_get(chain, 0)), 1);
    assert_status(samp_accept(chain, 'x'), SAMP_E_RANGE);
}

/* A row whose draft is a trigger that does not fit, without memory at every place: nothing has changed then, and again it
   goes on with another token. A trigger that fits is only looked at: it can be taken back like any other. */
TEST(test_lazy_draft_memory)
{
    static const char *const ab[] = { "ab" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"ab\" \"x\"*");
    float logits[2 * N_VOCAB] = { 0 };
    samp_token out[2], token = 257 /* abc */;
    const samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    bool done = false;
    for (int i = 0; i < 2; i++) logits[i * N_VOCAB + 257] = logits[i * N_VOCAB + 256] = 20.0f;
    for (long fail = 1; !done; fail++) {
        samp_sampler *s = samp_init_grammar_lazy(vocab_index, g, ab, 1, NULL, 0);
        own_sampler *chain = grammar_chain(s, SAMP_RNG_PHILOX);
        assert_ok(samp_reserve(chain, N_VOCAB));
        assert_ok(samp_accept(chain, 'x'));
        heap.fail_at = fail;
        int32_t a = samp_verify(chain, logits, N_VOCAB, &draft, SAMP_VERIFY_RATIO, out);
        done = heap.fail_at > 0;
        heap.fail_at = 0;
        if (!done) assert_status(a, SAMP_E_NOMEM);
        if (!done) assert_num(samp_grammar_is_awaiting(s), 1);
        if (!done) a = samp_verify(chain, logits, N_VOCAB, &draft, SAMP_VERIFY_RATIO, out);
        assert_num(a, 0);
        assert_num(out[0], 256);
        assert_num(samp_grammar_is_complete(s), 1);
        assert_ok(samp_rollback(chain, 2));
        assert_num(samp_grammar_is_awaiting(s), 1);
    }
}

/* No memory at every place of making, waiting and replaying; and long texts, which are not looked through again. */
TEST(test_lazy_memory)
{
    static const char *const patterns[] = { "^(?:[ab]|x{2})*?(c)$", "(b)x" };
    own_grammar *g = read_grammar(SAMP_GRAMMAR_GBNF, "root ::= \"c\" | \"b\" \"x\"+");
    bool done = false;
    for (long fail = 1; !done; fail++) {
        heap.fail_at = fail;
        own_sampler *s = samp_init_grammar_lazy_patterns(vocab_index, g, patterns, 2, NULL, 0);
        int status = s ? samp_status(s, NULL) : SAMP_E_NOMEM;
        if (!status) status = samp_accept(s, 'a');
        if (!status) status = samp_accept(s, 'b');
        if (!status) status = samp_accept(s, 'x');
        done = heap.fail_at > 0;
        heap.fail_at = 0;
        assert_status(status, done ? SAMP_OK : SAMP_E_NOMEM);
        if (s && !samp_status(s, NULL)) { /* what is left goes on */
            samp_reset(s);
            assert_ok(samp_accept(s, 'a'));
            assert_ok(samp_accept(s, 'c'));
            assert_num(samp_grammar_is_complete(s), 1);
        }
    }
    samp_sampler *s = samp_init_grammar_lazy_patterns(vocab_index, g, patterns, 2, NULL, 0);
    assert_ok(samp_set_grammar_limits(s, 1 << 16, 1024));
    for (int i = 0; i < 5000; i++) assert_ok(samp_accept(s, 'a'));
    assert_ok(samp_accept(s, 'c'));
    assert_num(samp_grammar_is_complete(s), 1);
    samp_free(s);
}

int main(int argc, char **argv)
{
    heap.sizes = true;
    return test_main(argc, argv, set_up, tear_down);
}
