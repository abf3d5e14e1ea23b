/* test_schema.c - JSON, and JSON schemas as grammars. Each case is a schema with documents that are instances and
   documents that are not; the naive matcher (naive_grammar.h) says which ones the tree has. What can't be expressed must
   be refused, with the keyword's place. */
#define SAMPLING_GRAMMAR
#define HEAP_HERE
#include "tests/support/heap.h"
#include <stdint.h>
static int64_t most_steps = 1 << 17;
#define SAMPI_SCHEMA_STEPS most_steps
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "tests/support/naive_grammar.h"
#include "tests/support/naive_schema.h"
#include "tests/support/test.h"
#include <time.h>

/* ---------------------------------------------------------------------------------------------------- JSON */

TEST(test_json_accepts)
{
    static const char text[] =
        " {\"a\": [1, -0.5e+3, \"x\\u00e9\\ud83d\\ude00\\n\"], \"b\":{\"a\":null},\"\":[true,false,[],{}]} ";
    sampi_json doc;
    samp_grammar_error error;
    assert_ok(sampi_json_read(&doc, text, strlen(text), &error));
    int32_t a = sampi_json_member(&doc, 0, sampi_json_find(&doc, "a", 1));
    assert_num(doc.nodes[a].kind, SAMPI_JSON_ARRAY);
    assert_num(doc.nodes[a].n, 3);
    int32_t number = doc.nodes[doc.nodes[a].first].next, string = doc.nodes[number].next;
    assert_num(doc.strings[doc.nodes[number].text].n, 7); /* as it is written */
    assert_memory_equal(doc.bytes + doc.strings[doc.nodes[string].text].at, "x\xc3\xa9\xf0\x9f\x98\x80\n", 8);
    int32_t b = sampi_json_member(&doc, 0, sampi_json_find(&doc, "b", 1));
    assert_num(doc.nodes[sampi_json_member(&doc, b, sampi_json_find(&doc, "a", 1))].kind, SAMPI_JSON_NULL);
    assert_num(sampi_json_member(&doc, b, sampi_json_find(&doc, "b", 1)), -1);
    assert_num(sampi_json_find(&doc, "none", 4), -1);
    sampi_json_free(&doc);
}

/* Every mistake has a place. */
TEST(test_json_refuses)
{
    static const struct {
        const char *text;
        size_t line, column;
        int status;
    } cases[] = {
        { "", 1, 1, SAMP_E_FORMAT },
        { "{\"a\":1,\n \"b\":2,\n \"a\":3}", 3, 2, SAMP_E_FORMAT },
        { "[1,]", 1, 4, SAMP_E_FORMAT },
        { "[1 2]", 1, 4, SAMP_E_FORMAT },
        { "{\"a\"}", 1, 5, SAMP_E_FORMAT },
        { "{a:1}", 1, 2, SAMP_E_FORMAT },
        { "{\"a\":1,}", 1, 8, SAMP_E_FORMAT },
        { "01", 1, 3, SAMP_E_FORMAT },
        { "-", 1, 2, SAMP_E_FORMAT },
        { "1.", 1, 3, SAMP_E_FORMAT },
        { "1e", 1, 3, SAMP_E_FORMAT },
        { "+1", 1, 1, SAMP_E_FORMAT },
        { "nul", 1, 1, SAMP_E_FORMAT },
        { "NaN", 1, 1, SAMP_E_FORMAT },
        { "true false", 1, 6, SAMP_E_FORMAT },
        { "\"a\nb\"", 1, 3, SAMP_E_FORMAT },
        { "\"\\x\"", 1, 3, SAMP_E_FORMAT },
        { "\"\\u12g4\"", 1, 6, SAMP_E_FORMAT },
        { "\"\\ud800\"", 1, 8, SAMP_E_FORMAT },
        { "\"\\udc00\"", 1, 8, SAMP_E_FORMAT },
        { "\"\xc0\x80\"", 1, 2, SAMP_E_FORMAT },
        { "\"\xed\xa0\x80\"", 1, 2, SAMP_E_FORMAT },
        { "\"\xf4\x90\x80\x80\"", 1, 2, SAMP_E_FORMAT },
        { "\"\xe2\x82\"", 1, 2, SAMP_E_FORMAT },
        { "\"abc", 1, 5, SAMP_E_FORMAT },
        { "\xef\xbb\xbf{}", 1, 1, SAMP_E_FORMAT },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        sampi_json doc;
        samp_grammar_error error;
        long before = heap.live;
        assert_num(sampi_json_read(&doc, cases[i].text, strlen(cases[i].text), &error), cases[i].status);
        assert_num(error.status, cases[i].status);
        if (error.line != cases[i].line || error.column != cases[i].column)
            test_fail(__FILE__, __LINE__, "%s: %zu:%zu %s", cases[i].text, error.line, error.column, error.message);
        assert_true(error.message[0] != 0);
        assert_num(heap.live, before);
    }
}

/* Escapes at the edges of what they may say, white space of all kinds, and each end of a line counts once. */
TEST(test_json_edges)
{
    static const char good[] =
        "\r\n\t [\"\\u00e9\\u0800\\uFFFF\\uE000\\uD7fF\\udbff\\udfff\\/\\b\\f\\n\\r\\t\\\\\\\"\" ,\r1\t]\n";
    static const char want[] =
        "\xc3\xa9\xe0\xa0\x80\xef\xbf\xbf\xee\x80\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf/\b\f\n\r\t\\\"";
    static const char *const bad[] = { "\"\\",
                                       "\"\\u",
                                       "\"\\u\"",
                                       "\"\\u12",
                                       "\"\\u00G0\"",
                                       "\"\\u00`0\"",
                                       "\"\\ud83d\"",
                                       "\"\\ud83d",
                                       "\"\\ud83dx\"",
                                       "\"\\ud83d\\",
                                       "\"\\ud83d\\n\"",
                                       "\"\\ud83d\\u0041\"",
                                       "\"\\ud83d\\ud83d\"",
                                       "\"\\ud83d\\ue000\"",
                                       "\"\\ud83d\\u12\"",
                                       "\"\xe0\x80\x80\"",
                                       "\"\xf0\x8f\xbf\xbf\"",
                                       "\"\xf0\x9f\x98",
                                       "\"\xff\"",
                                       "\"\x80\"",
                                       "{\"a\":1,\"a\":1}",
                                       "[\x0b]",
                                       "[1\x0c]" };
    sampi_json doc;
    samp_grammar_error error;
    assert_ok(sampi_json_read(&doc, good, strlen(good), &error));
    int32_t text = doc.nodes[0].first;
    assert_num(doc.strings[doc.nodes[text].text].n, sizeof want - 1);
    assert_memory_equal(doc.bytes + doc.strings[doc.nodes[text].text].at, want, sizeof want - 1);
    sampi_json_free(&doc);
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        size_t n = strlen(bad[i]);
        char *copy = (char *)malloc(n); /* ends with its last byte */
        assert_non_null(copy);
        memcpy(copy, bad[i], n);
        if (sampi_json_read(&doc, copy, n, &error) != SAMP_E_FORMAT) test_fail(__FILE__, __LINE__, "%s", bad[i]);
        free(copy);
    }
    static const char lines[] = "[1,\r2,\n3,\r\n4,\n\r x]";
    assert_num(sampi_json_read(&doc, lines, strlen(lines), &error), SAMP_E_FORMAT);
    assert_num(error.line, 6);
    assert_num(error.column, 2);
}

/* A text of room for some thousands of words. */
enum { MANY = 4300, ROOM = 1 << 18 };
typedef struct page {
    char text[ROOM];
    size_t n;
} page;

static void put(page *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(p->text + p->n, ROOM - p->n, format, list);
    va_end(list);
    assert_true(n >= 0 && p->n + (size_t)n < ROOM);
    p->n += (size_t)n;
}

/* Strings, or members' names, that all want the same corner of a table: they are refused when looking for a place takes
   too long, and only then. */
TEST(test_json_attacks)
{
    page *p = (page *)calloc(1, sizeof *p);
    sampi_json doc;
    samp_grammar_error error;
    assert_non_null(p);
    for (int n_words = SAMPI_JSON_PROBES; n_words <= MANY; n_words += MANY - SAMPI_JSON_PROBES) {
        char word[20];
        uint32_t mask = 2 * 8192 - 1; /* of the 4,301 nodes at most */
        int made = 0;
        p->n = 0;
        put(p, "[");
        for (int i = 0; made < n_words; i++) {
            snprintf(word, sizeof word, "%d", i);
            if ((sampi_place_of(word, strlen(word)) & mask) >= SAMPI_JSON_PROBES) continue;
            put(p, "%s\"%s\"", made++ ? "," : "", word);
        }
        put(p, "]");
        int status = sampi_json_read(&doc, p->text, p->n, &error);
        assert_status(status, n_words == MANY ? SAMP_E_FORMAT : SAMP_OK);
        if (status)
            assert_text(error.message, "too many strings collide");
        else
            sampi_json_free(&doc);
    }
    enum { FEW = SAMPI_JSON_PROBES / 2, LOTS = SAMPI_JSON_PROBES + 50 };
    int32_t chosen[LOTS], n = 0;
    for (int32_t name = 0; n < LOTS;
         name++) { /* behind the array, which numbers the names, node 1 + 20,000 is the object */
        uint64_t key = ((uint64_t)20002 << 32 | (uint32_t)name) * 0x9e3779b97f4a7c15u;
        if (((uint32_t)(key >> 32) & (2 * 8192 - 1)) < SAMPI_JSON_PROBES) chosen[n++] = name;
        assert_true(name < 20000);
    }
    for (int few = 0; few < 2; few++) {
        p->n = 0;
        put(p, "[[");
        for (int i = 0; i < 20000; i++) put(p, "%s\"%d\"", i ? "," : "", i);
        put(p, "],{");
        for (int i = 0; i < (few ? FEW : LOTS); i++) put(p, "%s\"%d\":0", i ? "," : "", (int)chosen[i]);
        for (int i = few ? FEW : LOTS; i < MANY; i++) put(p, ",\"x%d\":0", i); /* as many, elsewhere */
        put(p, "}]");
        int status = sampi_json_read(&doc, p->text, p->n, &error);
        assert_status(status, few ? SAMP_OK : SAMP_E_FORMAT);
        if (status)
            assert_text(error.message, "too many names collide");
        else
            sampi_json_free(&doc);
    }
    free(p);
    assert_status(sampi_json_read(&doc, "", SAMPI_JSON_BYTES + 1, &error), SAMP_E_RANGE);
    assert_status(sampi_json_read(&doc, "\"\\\0\"", 4, &error), SAMP_E_FORMAT);
}

/* ------------------------------------------------------------------------------------------------- schemas */

/* Documents one behind the other, each on a line of its own. */
typedef struct schema_case {
    const char *schema, *valid, *invalid, *options;
} schema_case;

/* The grammar of a schema with numbers in every spelling: what the standard means is judged with it. */
static samp_grammar *any_number(const char *schema, const char *options, samp_grammar_error *error)
{
    char words[100];
    (void)snprintf(words, sizeof words, "any-number %s", options ? options : "");
    return samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema, words, error);
}

static samp_grammar *compile(const char *schema, const char *options)
{
    samp_grammar_error error;
    samp_grammar *g = any_number(schema, options, &error);
    if (!g) test_fail(__FILE__, __LINE__, "%s\n%zu:%zu %s", schema, error.line, error.column, error.message);
    return g;
}

static bool accepts(const samp_grammar *g, const char *text, size_t n)
{
    naive m = naive_begin(&g->tree, text, n);
    bool whole = naive_matches(&m, sampi_grammar_rule_at(&g->tree, g->root)->body);
    naive_end(&m);
    return whole;
}

static void check_documents(const samp_grammar *g, const schema_case *c, const char *documents, bool valid)
{
    for (const char *at = documents ? documents : ""; *at;) {
        size_t n = strcspn(at, "\n");
        if (accepts(g, at, n) != valid)
            test_fail(__FILE__, __LINE__, "%s\n%s: %.*s", c->schema, valid ? "rejected" : "accepted", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

/* With every block of memory failing once, and with too few steps: a status, and nothing is lost. `none`: no value
   satisfies the schema. */
static void check_hardship(const schema_case *c, bool none)
{
    const int last = none ? SAMP_E_EMPTY : SAMP_OK;
    samp_grammar_error error;
    samp_grammar *g = NULL;
    const int64_t enough = most_steps;
    long live = heap.live;
    for (long at = 1; !g; at++) {
        heap.fail_at = at;
        g = any_number(c->schema, c->options, &error);
        heap.fail_at = 0;
        if (g || error.status == last) break;
        if (error.status != SAMP_E_NOMEM) test_fail(__FILE__, __LINE__, "%s: %s", c->schema, error.message);
        assert_num(heap.live, live);
    }
    samp_grammar_free(g);
    g = NULL;
    for (most_steps = 0; !g; most_steps += 1 + most_steps / 8) {
        g = any_number(c->schema, c->options, &error);
        if (!g && error.status == last) break;
        if (!g && error.status != SAMP_E_RANGE) test_fail(__FILE__, __LINE__, "%s: %s", c->schema, error.message);
    }
    samp_grammar_free(g);
    most_steps = enough;
    assert_num(heap.live, live);
}

static void check_cases(const schema_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        samp_grammar_error error;
        own_grammar *g = any_number(cases[i].schema, cases[i].options, &error);
        const bool none = !cases[i].valid || !*cases[i].valid;
        if (!g && !(none && error.status == SAMP_E_EMPTY))
            test_fail(__FILE__, __LINE__, "%s\n%zu:%zu %s", cases[i].schema, error.line, error.column, error.message);
        check_hardship(&cases[i], !g);
        if (!g) continue;
        check_documents(g, &cases[i], cases[i].valid, true);
        check_documents(g, &cases[i], cases[i].invalid, false);
    }
}

/* Branches of a oneOf that one member tells apart, deep in what is asked while the object around is made: no branch is
   split into all ways to violate the others. */
TEST(test_branches_asked_about)
{
    static char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"type\":\"object\",\"required\":[\"f\"],\"properties\":{\"f\":{\"type\":\"array\","
                                                   "\"items\":{\"oneOf\":[");
    for (int k = 0; k < 7; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s{\"type\":\"object\",\"properties\":{\"t\":{\"const\":%d},\"a\":{\"minLength\":1},\"b\":{\"type\":\"string\"},"
                              "\"c\":{\"type\":\"integer\"},\"d\":{}},\"additionalProperties\":false,\"required\":[\"t\",\"a\"]}",
                              k ? "," : "", k);
    snprintf(text + n, sizeof text - n, "]}}}}");
    const schema_case c = { text, "{\"f\":[]}\n{\"f\":[{\"t\":6,\"a\":\"x\",\"d\":1}]}", "{}\n{\"f\":[{\"t\":1}]}\n{\"f\":[{\"t\":7,\"a\":\"x\"}]}",
                            NULL };
    own_grammar *g = compile(text, NULL);
    check_documents(g, &c, c.valid, true);
    check_documents(g, &c, c.invalid, false);
}

/* Values in a row: names, dates, numbers and anchors that differ in their last characters alone are no attack. */
TEST(test_values_in_a_row)
{
    static const char *const lists[][3] = {
        { "{\"enum\":[", "\"item-%03d\"", "]}" },
        { "{\"enum\":[", "\"2024%04d\"", "]}" },
        { "{\"anyOf\":[{\"enum\":[", "12345.%03d1", "]},{\"const\":1}]}" },
        { "{\"allOf\":[{\"enum\":[", "2024%04d", "]},{\"enum\":[20240100,1]}]}" },
        { "{\"$defs\":{\"x\":{\"anyOf\":[", "{\"$anchor\":\"node_%03d\"}", "]}},\"$ref\":\"#node_100\"}" },
    };
    static char schema[1 << 16];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int n = 300; n <= 900; n += 600) {
            size_t at = (size_t)snprintf(schema, sizeof schema, "%s", lists[i][0]);
            for (int k = 0; k < n; k++) {
                if (k) schema[at++] = ',';
                at += (size_t)snprintf(schema + at, sizeof schema - at, lists[i][1], k);
            }
            (void)snprintf(schema + at, sizeof schema - at, "%s", lists[i][2]);
            samp_grammar_free(compile(schema, NULL));
        }
}

TEST(test_types)
{
    static const schema_case cases[] = {
        { "{}", "null\ntrue\n-1.5e3\n\"\\u0041\\/x\"\n[1,[ ]]\n{ \"a\" : {} , \"b\":[]}\n\"\xc3\xa9\"",
          "nul\n[1,]\n01\n\"\\ud800\"\n{\"a\"}\n\"\x01\"\n1 2", NULL },
        { "true", "1\n[]", "", NULL },
        { "false", "", "1\nnull\n[]\n{}\n\"\"", NULL },
        { "{\"type\":\"null\"}", "null", "true\n0\n\"\"\n[]", NULL },
        { "{\"type\":\"boolean\"}", "true\nfalse", "null\n1", NULL },
        { "{\"type\":\"integer\"}", "0\n-0\n-12\n1.0\n3.000", "1.5\n01\n\"1\"\n1.", NULL },
        { "{\"type\":\"integer\",\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", "1", "1.0", NULL },
        { "{\"type\":[\"integer\",\"null\"]}", "1\nnull", "true\n0.5", NULL },
        { "{\"type\":[\"integer\",\"number\"]}", "1\n1.5", "null", NULL },
        { "{\"type\":\"string\"}", "\"\"\n\"a\\n\"", "1\n\"a", NULL },
        { "{\"type\":\"object\"}", "{}\n{\"a\":1}", "[]\n{\"a\":1,}", NULL },
        { "{\"type\":\"array\"}", "[]\n[ 1 , \"a\" ]", "{}\n[,]\n[1 1]", NULL },
        { "{\"const\":1}", "1\n1.0\n1.00", "2\n1.01\n10\n\"1\"", NULL },
        { "{\"const\":-2.50}", "-2.5\n-2.50\n-2.500", "2.5\n-2.51\n-2", NULL },
        { "{\"const\":0}", "0\n-0\n0.0", "0.1\n1\n00", NULL },
        { "{\"const\":1.5e2}", "150\n150.0", "15\n1500\n150.1", NULL },
        { "{\"const\":{\"a\":[1,\"x\"],\"b\":null}}", "{\"a\":[1,\"x\"],\"b\":null}\n{\"b\":null,\"a\":[1.0,\"x\"]}",
          "{\"a\":[1,\"x\"]}\n{\"a\":[\"x\",1],\"b\":null}\n{\"a\":[1,\"x\"],\"b\":null,\"c\":1}\n{\"a\":[1,\"x\",1],"
          "\"b\":null}",
          NULL },
        { "{\"enum\":[\"a\\n\\\"\",2,null,true,[],{}]}", "\"a\\n\\\"\"\n2\nnull\ntrue\n[]\n{}",
          "\"a\"\n3\nfalse\n[1]\n{\"a\":1}", NULL },
        { "{\"enum\":[1,2,\"a\"],\"type\":\"integer\",\"minimum\":2}", "2", "1\n\"a\"\n3", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_keywords_of_numbers)
{
    static const schema_case cases[] = {
        { "{\"minimum\":3}", "3\n3.0\n3.01\n4\n10\n1000\n\"x\"\n[]", "2\n2.99\n-3\n0\n-1000", NULL },
        { "{\"minimum\":-3.25}", "-3.25\n-3.2\n-3\n0\n-0\n5\n-3.250", "-3.26\n-4\n-30\n-3.2501", NULL },
        { "{\"exclusiveMinimum\":0}", "0.1\n1\n0.0001\n10", "0\n-0\n0.0\n-1\n-0.1", NULL },
        { "{\"minimum\":0}", "0\n-0\n-0.0\n0.5", "-0.5\n-1", NULL },
        { "{\"maximum\":12.5}", "12.5\n12\n-100\n0\n12.50\n9.999", "12.51\n13\n100\n12.500001", NULL },
        { "{\"maximum\":-2}", "-2\n-2.0\n-3\n-20", "-1.9\n0\n2\n-1", NULL },
        { "{\"exclusiveMaximum\":100}", "99.99\n-5\n0", "100\n100.0\n100.5\n1000", NULL },
        { "{\"minimum\":1,\"maximum\":12,\"type\":\"integer\"}", "1\n9\n10\n12\n5.0", "0\n13\n-1\n5.5\n100", NULL },
        { "{\"minimum\":5,\"exclusiveMinimum\":true,\"maximum\":7,\"exclusiveMaximum\":true}", "5.1\n6", "5\n7\n5.0",
          NULL },
        { "{\"minimum\":1e2,\"maximum\":1.001E+3}", "100\n1001\n999.5", "99\n1002\n10", NULL },
        { "{\"minimum\":0.001}", "0.001\n0.01\n1", "0.0009\n0\n-1", NULL },
        { "{\"multipleOf\":1}", "3\n-3\n3.0", "3.5", NULL },
        { "{\"multipleOf\":0.01}", "3\n3.5\n3.25\n3.250\n0\n-7.01", "3.255\n0.001", NULL },
        { "{\"multipleOf\":100}", "0\n100\n-1200\n300.0", "10\n150\n100.5", NULL },
        { "{\"multipleOf\":5}", "0\n5\n10\n-15\n5.0", "1\n4\n51\n5.5", NULL },
        { "{\"multipleOf\":16}", "0\n-16\n112\n4000\n10000\n10016\n80.0", "6\n1\n100\n10001\n016\n00\n16.5", NULL },
        { "{\"multipleOf\":400}", "0\n400\n-1200\n10000", "00\n4\n40\n100\n200\n10100\n000", NULL },
        { "{\"multipleOf\":4}", "0\n4\n8\n12\n104", "2\n6\n13\n102", NULL },
        { "{\"multipleOf\":2.5}", "0\n2.5\n5\n7.50\n10\n12.5", "1\n2\n2.55\n3.5\n0.5", NULL },
        { "{\"multipleOf\":0.25}", "0.25\n0.5\n0.75\n1\n3.250", "0.2\n0.3\n0.125\n1.1", NULL },
        { "{\"multipleOf\":0.05}", "0.05\n0.1\n1.15\n0.10", "0.01\n0.051\n0.12", NULL },
        { "{\"multipleOf\":3}", "0\n-0\n3\n-12\n111\n1000000002\n6.00", "1\n-2\n10\n112\n3.3\n03\n3.", NULL },
        { "{\"multipleOf\":7,\"minimum\":10,\"maximum\":30}", "14\n21\n28.0", "7\n10\n30\n35\n-14", NULL },
        { "{\"multipleOf\":3,\"not\":{\"multipleOf\":2},\"type\":\"integer\"}", "3\n9\n-15", "0\n6\n12\n4", NULL },
        { "{\"multipleOf\":1.2}", "1.2\n2.4\n6\n0\n-12.00\n3.60", "1\n0.2\n1.21\n3.06\n12.1", NULL },
        { "{\"multipleOf\":6.75}", "6.75\n13.5\n27\n20.250", "6.7\n13\n20.251", NULL },
        { "{\"multipleOf\":7000}", "0\n7000\n-14000.0", "7\n70\n700\n8000\n7000.5\n00", NULL },
        { "{\"multipleOf\":9999}", "9999\n19998\n0", "99990001\n999", NULL },
        { "{\"allOf\":[{\"multipleOf\":4},{\"multipleOf\":2.5},{\"multipleOf\":0.75}]}", "0\n60\n-120\n180.00",
          "4\n30\n20\n7.5\n60.5", NULL },
        { "{\"allOf\":[{\"not\":{\"const\":0.6}},{\"multipleOf\":0.2},{\"multipleOf\":0.06}]}", "0\n1.2\n-0.60\n1.80",
          "0.6\n0.60\n0.2\n0.06\n0.3", NULL },
        { "{\"allOf\":[{\"multipleOf\":9999},{\"multipleOf\":9998},{\"multipleOf\":9997}]}", "0", "9999\n99970002",
          NULL },
        { "{\"not\":{\"minimum\":3}}", "2\n2.99\n-5", "3\n3.0\n4\n\"x\"", NULL },
        { "{\"not\":{\"const\":1}}", "2\n1.1\nnull\n[]", "1\n1.0", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_keywords_of_strings)
{
    static const schema_case cases[] = {
        { "{\"minLength\":2,\"maxLength\":3}",
          "\"\\ud83d\\ude00\\u0041\"\n\"ab\"\n\"\xc3\xa9\xf0\x9f\x98\x80\"\n\"\\n\\\"x\"\n1",
          "\"a\"\n\"abcd\"\n\"\xc3\xa9\"", NULL },
        { "{\"pattern\":\"^[a-c]+$\"}", "\"abc\"\n1", "\"\"\n\"abd\"\n\"xa\"", NULL },
        { "{\"pattern\":\"b\"}", "\"abc\"\n\"b\"\n\"\\nb\"", "\"ac\"\n\"\"", NULL },
        { "{\"pattern\":\"^\\\\\\\\\\\"$\"}", "\"\\\\\\\"\"", "\"\\\"\"", NULL },
        { "{\"pattern\":\"^[^a]$\"}", "\"b\"\n\"\\\"\"\n\"\\u0001\"\n\"\xe2\x82\xac\"", "\"a\"\n\"bb\"", NULL },
        { "{\"pattern\":\"a\",\"maxLength\":2}", "\"a\"\n\"xa\"", "\"xxa\"\n\"b\"", NULL },
        { "{\"format\":\"date\"}", "\"2024-02-29\"\n\"1999-12-31\"\n\"2000-02-29\"",
          "\"2023-02-29\"\n\"1900-02-29\"\n\"2024-13-01\"\n\"2024-04-31\"", NULL },
        { "{\"format\":\"time\"}", "\"12:34:56Z\"\n\"23:59:60Z\"\n\"00:00:00.123+05:30\"",
          "\"24:00:00Z\"\n\"12:34:56\"\n\"12:34:60Z\"", NULL },
        { "{\"format\":\"date-time\"}", "\"2024-02-29T12:34:56.789Z\"",
          "\"2024-02-29 12:34:56Z\"\n\"2024-02-30T12:34:56Z\"", NULL },
        { "{\"format\":\"duration\"}", "\"P1Y2M3DT4H5M6S\"\n\"PT5M\"\n\"P4W\"", "\"P\"\n\"PT\"\n\"P1D2H\"\n\"P1Y2D\"",
          NULL },
        { "{\"format\":\"ipv4\"}", "\"127.0.0.1\"\n\"255.255.255.255\"", "\"256.0.0.1\"\n\"1.2.3\"\n\"01.2.3.4\"",
          NULL },
        { "{\"format\":\"ipv6\"}",
          "\"::\"\n\"::1\"\n\"1:2:3:4:5:6:7:8\"\n\"::ffff:1.2.3.4\"\n\"1::8\"\n\"1:2:3:4:5:6:7::\"",
          "\"1:2:3:4:5:6:7\"\n\"1::2::3\"\n\"12345::\"\n\":1\"", NULL },
        { "{\"format\":\"uuid\"}", "\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\"", "\"2eb8aa08aa9811eab4aa73b441d16380\"",
          NULL },
        { "{\"format\":\"email\"}", "\"joe.bloggs@example.com\"", "\"joe\"\n\".a@b\"\n\"a..b@c\"", NULL },
        { "{\"format\":\"hostname\"}", "\"www.example.com\"\n\"a-b\"", "\"-a\"\n\"a.\"\n\"a_b\"", NULL },
        { "{\"format\":\"uri\"}", "\"http://u@example.com:80/a/b?c=d#e\"\n\"urn:a:b\"\n\"mailto:a@b\"",
          "\"//a/b\"\n\"a b\"\n\"http://a b\"\n\"\"", NULL },
        { "{\"format\":\"no-such-format\"}", "\"x\"\n1", "", NULL },
        { "{\"not\":{\"format\":\"email\"},\"type\":\"string\"}", "\"abc\"", "\"a@b\"\n\"\\\"a b\\\"@c\"", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* Each format after its RFC: what was refused though it is valid, and its neighbours that are not. */
TEST(test_formats)
{
    static const schema_case cases[] = {
        { "{\"format\":\"hostname\"}", "\"a--b.com\"\n\"xn--9n2bp8q.xn--9t4b11yi5a\"\n\"1host\"\n\"h\"",
          "\"a-.b\"\n\"a..b\"\n\"\"\n\"a--\"", NULL },
        { "{\"format\":\"date-time\"}",
          "\"1990-12-31T15:59:60-08:00\"\n\"1990-12-31t23:59:60z\"\n\"1998-12-31T15:59:60.123-08:00\"\n"
          "\"1999-01-01T00:59:60+01:00\"\n\"1999-01-01T05:44:60+05:45\"",
          "\"1990-12-31T15:59:60-08:30\"\n\"1990-12-31T15:59:60+08:00\"\n\"1990-12-31T15:59:61-08:00\"\n"
          "\"1990-12-31T15:59:60\"\n\"1990-12-31T15:59:60Z\"",
          NULL },
        { "{\"format\":\"time\"}", "\"23:29:60+23:30\"\n\"00:29:60-23:30\"\n\"23:59:60+00:00\"\n\"23:59:60-00:00\"",
          "\"23:29:60-23:30\"\n\"23:59:60+01:00\"\n\"00:00:60Z\"\n\"23:59:60-23:59\"", NULL },
        { "{\"not\":{\"format\":\"time\"},\"type\":\"string\"}", "\"24:00:00Z\"", "\"12:34:60+12:35\"\n\"12:34:56Z\"",
          NULL },
        { "{\"format\":\"email\"}",
          "\"\\\"joe bloggs\\\"@example.com\"\n\"\\\"joe@b..c\\\"@x\"\n\"\\\"a\\\\\\\"b\\\"@x\"\n\"a@[127.0.0.1]\"\n"
          "\"a@[IPv6:::1]\"\n\"a@[IPv6:1:2::5:6:7.8.9.10]\"\n\"a@xn--e1a\"",
          "\"a@[127.0.0.300]\"\n\"a@[::1]\"\n\"a@[IPv6:1:2:3::5:6:7:8]\"\n\"\\\"a\\\"b\\\"@x\"\n\"a "
          "b@x\"\n\"a@\"\n\"@x\"\n"
          "\"a@[IPv6:1:2:3:4:5:6:7:8\"\n\"\xc3\xa9@x\"",
          NULL },
        { "{\"format\":\"idn-email\"}", "\"\xc3\xa9@x\"\n\"\\\"\xed\x95\x9c b\\\"@x.y\"\n\"a@b\"",
          "\"a\xef\xbc\xa0x\"\n\"@x\"", NULL },
        { "{\"format\":\"uri\"}",
          "\"http://[v1.fe:d]/x\"\n\"http://[VAF.a]\"\n\"http://[::1]:8/\"\n\"a:\"\n\"a:?q#f\"",
          "\"http://[v.a]\"\n\"http://[v1.]\"\n\"http://[vg.a]\"\n\"http://[v1.a\"\n\"http://\xc3\xa9/\"", NULL },
        { "{\"not\":{\"format\":\"uri\"},\"type\":\"string\"}", "\"a\"\n\"http://a b\"", "\"http://[v1.a]\"\n\"a:b\"",
          NULL },
        { "{\"format\":\"uri-reference\"}", "\"\"\n\"//[v1.a]:8/b\"\n\"a/b:c\"\n\"../x?y#z\"\n\"?\"\n\"urn:a:b\"",
          "\"a b\"\n\":a\"\n\"\xc3\xa9\"\n\"a%2\"", NULL },
        { "{\"format\":\"iri\"}", "\"http://\xc6\x92\xc3\xb8\xc3\xb8/?\xee\x80\x80\"\n\"a:\xf0\x90\x80\x80\"",
          "\"\xc3\xa9\"\n\"a:\xee\x80\x80\"\n\"a:\xef\xbf\xbe\"\n\"\xc3\xa9:a\"", NULL },
        { "{\"format\":\"iri-reference\"}", "\"\xc3\xa9\"\n\"#\xc3\xa9\"\n\"\"",
          "\"\\\\\xc3\xa9\"\n\"#\xee\x80\x80\"", NULL },
        { "{\"format\":\"regex\"}",
          "\"^[a-z]+$\"\n\"(a|(b|(?:c)))*\"\n\"[^\\\\]\\\\-]{2,14}?x\"\n\"\"\n\"\\\\bword\\\\b|\\\\.\"\n\"[-a0-5-]\"",
          "\"^(abc]\"\n\"\\\\a\"\n\"[z-a]\"\n\"a{3,1}\"\n\"*a\"\n\"[\"\n\"a)\"\n\"^*\"", NULL },
        { "{\"type\":\"string\",\"not\":{\"format\":\"regex\"}}", "\"*a\"\n\"+\"\n\")\"", "\"a\"\n\"\"\n\"(a)\"", NULL },
        { "{\"format\":\"uri-template\"}",
          "\"\"\n\"a'b/{x}\"\n\"{+path:3,x*}{?a.b,c%20}\"\n\"{#x:9999}\"\n\"\xc3\xa9\"",
          "\"{\"\n\"}\"\n\"{}\"\n\"{x:0}\"\n\"{x:10000}\"\n\"{.x..y}\"\n\"{=x}\"\n\"a b\"\n\"{x,}\"", NULL },
        { "{\"format\":\"relative-json-pointer\"}", "\"0\"\n\"1/a\"\n\"12#\"", "\"01\"\n\"0##\"\n\"-1\"", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_keywords_of_objects)
{
    static const schema_case cases[] = {
        { "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{}}}",
          "{}\n{\"a\":1}\n{\"b\":[],\"a\":1}\n{\"c\":\"x\",\"a\":2}\n1",
          "{\"a\":\"x\"}\n{\"a\":1,\"a\":2}\n{\"b\":1,\"a\":null}", NULL },
        { "{\"properties\":{\"a\":{}},\"required\":[\"a\",\"z\"]}", "{\"a\":1,\"z\":2}\n{\"z\":1,\"q\":0,\"a\":2}",
          "{\"a\":1}\n{\"z\":1}\n{}", NULL },
        { "{\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false}", "{}\n{\"b\":1,\"a\":2}",
          "{\"c\":1}\n{\"a\":1,\"c\":1}", NULL },
        { "{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"null\"}}",
          "{\"a\":1,\"x\":null,\"y\":null}", "{\"x\":1}\n{\"\\u0061\":null}", NULL },
        { "{\"patternProperties\":{\"^x\":{\"type\":\"integer\"},\"y$\":{\"minimum\":3}},\"additionalProperties\":"
          "false}",
          "{\"x\":1,\"y\":5,\"xy\":4}\n{}", "{\"xy\":2}\n{\"y\":1}\n{\"x\":\"s\"}\n{\"z\":1}", NULL },
        { "{\"properties\":{\"xa\":{\"maximum\":9}},\"patternProperties\":{\"^x\":{\"type\":\"integer\"}}}",
          "{\"xa\":8}\n{\"z\":\"s\"}", "{\"xa\":10}\n{\"xa\":\"s\"}\n{\"xb\":\"s\"}", NULL },
        { "{\"propertyNames\":{\"maxLength\":2}}", "{\"ab\":1}\n{}", "{\"abc\":1}", NULL },
        { "{\"propertyNames\":{\"enum\":[\"a\",\"b\"]},\"properties\":{\"c\":{}}}", "{\"a\":1,\"b\":2}",
          "{\"c\":1}\n{\"d\":1}", NULL },
        { "{\"minProperties\":1}", "{\"a\":1}\n{\"a\":1,\"b\":2}\n[]", "{}", NULL },
        { "{\"minProperties\":3}", "{\"a\":{\"a\":1,\"b\":[{},\"c\"]},\"b\":\"a\",\"ab\":3}",
          "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2,\"a\":3}\n{\"a\":1,\"b\":{\"c\":3},\"b\":4}", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"null\"}},\"not\":{\"maxProperties\":2}}",
          "{\"b\":1,\"a\":null,\"c\":2}\n{\"b\":1,\"c\":2,\"d\":3}", "1\n{\"b\":1,\"a\":null,\"b\":2}", NULL },
        { "{\"propertyNames\":{\"pattern\":\"^[ab]$\"},\"additionalProperties\":{\"type\":\"boolean\"},"
          "\"minProperties\":2}",
          "{\"b\":true,\"a\":false}", "{\"b\":true}\n{\"a\":true,\"a\":true}\n{\"a\":true,\"c\":true}", NULL },
        { "{\"maxProperties\":1}", "{}\n{\"a\":1}", "{\"a\":1,\"b\":2}", NULL },
        { "{\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"additionalProperties\":false,\"minProperties\":2,"
          "\"maxProperties\":2}",
          "{\"c\":1,\"a\":2}", "{\"a\":1}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{}\n{\"b\":1}\n{\"b\":1,\"a\":2}", "{\"a\":1}", NULL },
        { "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"properties\":{\"d\":{\"const\":1}}}}}",
          "{\"c\":1,\"d\":1}\n{\"d\":2}\n{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":1,\"d\":2}\n{\"a\":1}", NULL },
        { "{\"properties\":{\"a\":false}}", "{}\n{\"b\":1}", "{\"a\":1}", NULL },
        { "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}",
          "{\"a\":1,\"b\":2}\n{\"b\":1}\n{\"b\":1,\"c\":2}", "{\"b\":1,\"a\":2}\n{\"c\":1,\"b\":2}\n{\"a\":1}",
          "ordered" },
        { "{\"properties\":{\"a\":{}}}", "{\"a\":1}\n[]", "{\"a\": 1}\n{ \"a\":1}\n[ ]", "compact" },
        { "{\"properties\":{\"a\":{}}}", "{\"a\": 1, \"b\": [1, 2]}", "{\"a\":1}\n{\"a\": 1,\"b\": 2}\n{ \"a\": 1}",
          "spaced ordered" },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_keywords_of_arrays)
{
    static const schema_case cases[] = {
        { "{\"items\":{\"type\":\"integer\"}}", "[]\n[1]\n[1,2]\n{}", "[\"a\"]\n[1,\"a\"]", NULL },
        { "{\"minItems\":2,\"maxItems\":3}", "[1,2]\n[1,2,3]", "[]\n[1]\n[1,2,3,4]", NULL },
        { "{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"null\"}],\"items\":{\"type\":\"boolean\"}}",
          "[]\n[1]\n[1,null]\n[1,null,true,false]", "[null]\n[1,2]\n[1,null,1]", NULL },
        { "{\"items\":[{\"type\":\"integer\"},{\"type\":\"null\"}],\"additionalItems\":false}", "[]\n[1]\n[1,null]",
          "[1,null,1]\n[null]", NULL },
        { "{\"prefixItems\":[{},{},{}],\"minItems\":2,\"items\":false}", "[1,2]\n[1,2,3]", "[1]\n[1,2,3,4]", NULL },
        { "{\"items\":false}", "[]", "[1]", NULL },
        { "{\"contains\":{\"const\":1}}", "[1]\n[2,1]\n[1,1,2]\n{}", "[]\n[2]\n[2,3]", NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[1,1]\n[1,2,1]\n[1,1,2,1]",
          "[1]\n[1,2]\n[1,1,1,1]\n[]", NULL },
        { "{\"contains\":{\"const\":1},\"maxItems\":2,\"minItems\":2}", "[1,2]\n[2,1]\n[1,1]", "[1]\n[2,2]\n[1,2,3]",
          NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":0}", "[]\n[2]", "", NULL },
        { "{\"allOf\":[{\"contains\":{\"const\":1}},{\"contains\":{\"const\":2}}]}", "[1,2]\n[2,0,1]\n[1,1,2,2]",
          "[]\n[1]\n[2,2]\n[3,1]", NULL },
        { "{\"allOf\":[{\"contains\":{\"type\":\"integer\"}},{\"contains\":{\"minimum\":5}}],\"type\":\"array\"}",
          "[7]\n[1,5.5]\n[5.5,\"a\",0]", "[]\n[1]\n[5.5]\n[\"a\"]", NULL },
        { "{\"allOf\":[{\"contains\":{\"const\":1},\"maxContains\":1},{\"contains\":{\"const\":2},\"minContains\":2}]"
          ","
          "\"maxItems\":4}",
          "[1,2,2]\n[2,2,1]\n[2,1,2,2]\n[2,1,2,3]", "[2,2]\n[1,2]\n[1,1,2,2]\n[1,2,2,3,2]", NULL },
        { "{\"allOf\":[{\"contains\":{\"const\":1}},{\"contains\":{\"const\":2}},{\"contains\":{\"enum\":[1,3]}}],"
          "\"minItems\":3}",
          "[1,2,1]\n[1,3,2]\n[2,2,2,1]", "[1,2]\n[3,2,2]\n[1,3,3]", NULL },
        { "{\"type\":\"array\",\"not\":{\"items\":{\"const\":1}},\"contains\":{\"const\":1}}", "[1,2]\n[0,1,1]",
          "[]\n[1]\n[1,1]\n[2]", NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":0,\"maxContains\":1000}", "[]\n[2,1,1,2]", "[1", NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":0,\"maxContains\":1}", "[]\n[2]\n[1,2]", "[1,2,1]", NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":0,\"maxContains\":1,\"maxItems\":0}", "[]", "[1]\n[2]", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"type\":\"integer\",\"minimum\":-2,\"maximum\":11}}",
          "[]\n[1]\n[11,-2,0]\n[1,10,-1]\n[0,1.0]", "[1,1]\n[1,1.0]\n[0,-0]\n[12]\n[-3]\n[10,3,10.00]", NULL },
        { "{\"uniqueItems\":true,\"minItems\":2,\"items\":{\"multipleOf\":25,\"minimum\":0,\"exclusiveMaximum\":99,"
          "\"type\":[\"number\",\"null\"]}}",
          "[0,25]\n[75,null,50]\n[null,0,25,50,75]", "[0]\n[0,0]\n[null,null]\n[25,25.0]\n[10,0]", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"enum\":[\"a\",\"b\",1]}}", "[]\n[\"b\",\"a\"]\n[1,\"a\",\"b\"]",
          "[\"a\",\"a\"]\n[1,1.0]\n[\"c\"]", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"enum\":[1,\"a\",\"a\",1.0]}}", "[]\n[\"a\",1]",
          "[\"a\",\"a\"]\n[1,1.0]", NULL },
        { "{\"uniqueItems\":true,\"maxItems\":1}", "[]\n[1]", "[1,1]", NULL },
        { "{\"additionalProperties\":false,\"patternProperties\":{\"^a\":{\"const\":1},\"^b\":{\"const\":2},\"^c\":{},\"^d\":{},"
          "\"^e\":{},\"^f\":{},\"^g\":{},\"^h\":{},\"^i\":{},\"^j\":{},\"^k\":{},\"l$\":{\"type\":\"integer\"}}}",
          "{}\n{\"al\":1,\"b\":2,\"k\":3}\n{\"kl\":3}\n{\"l\":0}", "{\"al\":2}\n{\"m\":1}\n{\"kl\":\"\"}\n{\"b\":1}", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}",
          "[]\n[\"\"]\n[\"a\",\"b\",\"ab\"]\n[\"a\",\"a,\",\"a\\\"\"]", "[\"\",\"\"]\n[\"a\", \"b\" , \"a\"]\n[1]", NULL },
        { "{\"uniqueItems\":true,\"minItems\":2,\"items\":{\"type\":[\"number\",\"null\",\"string\"]}}",
          "[1,\"1\"]\n[0,0.1]\n[10,1,100]\n[null,-1,1,1.5,15]", "[1]\n[1,1.0]\n[0,-0]\n[2.50,1,2.5]\n[null,null]", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":200}}",
          "[]\n[200,20,2,0]\n[0]", "[7,7]\n[201]\n[1,1.0]\n[0,-0.0]", NULL },
        { "{\"uniqueItems\":true,\"minItems\":3,\"items\":{\"type\":\"string\",\"pattern\":\"^[ab]{1,2}$\"}}",
          "[\"a\",\"b\",\"aa\",\"ab\",\"ba\",\"bb\"]", "[\"a\",\"b\"]\n[\"a\",\"b\",\"aa\",\"a\"]", NULL },
        { "{\"uniqueItems\":true,\"minItems\":7,\"items\":{\"type\":\"string\",\"pattern\":\"^[ab]{1,2}$\"}}", "",
          "[\"a\",\"b\",\"aa\",\"ab\",\"ba\",\"bb\",\"a\"]", NULL },
        { "{\"not\":{\"items\":{\"type\":\"integer\"}}}", "[\"a\"]\n[1,\"a\",2]", "[]\n[1,2]\n1", NULL },
        { "{\"not\":{\"contains\":{\"type\":\"integer\"}}}", "[\"a\"]\n[]", "[1]\n[\"a\",2]", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_applicators)
{
    static const schema_case cases[] = {
        { "{\"anyOf\":[{\"type\":\"integer\"},{\"minLength\":2,\"type\":\"string\"}]}", "1\n\"ab\"",
          "\"a\"\n1.5\nnull", NULL },
        { "{\"allOf\":[{\"minimum\":2},{\"maximum\":3},{\"type\":\"integer\"}]}", "2\n3", "1\n4\n2.5\n\"x\"", NULL },
        { "{\"oneOf\":[{\"multipleOf\":5},{\"multipleOf\":2}],\"type\":\"number\"}", "2\n5\n15", "10\n0\n1", NULL },
        { "{\"oneOf\":[{\"type\":\"string\"},{\"maxLength\":2}],\"type\":\"string\"}", "\"abc\"", "\"ab\"", NULL },
        { "{\"not\":{\"minLength\":2,\"maxLength\":3},\"type\":\"string\"}",
          "\"\"\n\"\\n\"\n\"abcd\"\n\"\xf0\x9f\x98\x80\"", "\"\\n\\\"\"\n\"abc\"\n\"\xc3\xa9\xf0\x9f\x98\x80\"\n1",
          NULL },
        { "{\"not\":{\"minLength\":1,\"maxLength\":40000},\"type\":\"string\"}", "\"\"", "\"a\"\n\"ab\"", NULL },
        { "{\"allOf\":[{\"minLength\":1,\"maxLength\":9},{\"maxLength\":3},{\"minLength\":2}],\"type\":\"string\"}",
          "\"ab\"\n\"\\u0041bc\"", "\"a\"\n\"abcd\"\n1", NULL },
        { "{\"allOf\":[{\"minLength\":3},{\"maxLength\":2}]}", "1\n[]", "\"ab\"\n\"abc\"", NULL },
        { "{\"oneOf\":[{\"properties\":{\"k\":{\"const\":\"a\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"k\"]},{"
          "\"properties\":{\"k\":{\"const\":\"b\"}},\"required\":[\"k\"]}],\"type\":\"object\"}",
          "{\"k\":\"a\",\"v\":1}\n{\"v\":\"x\",\"k\":\"b\"}", "{\"k\":\"a\",\"v\":\"x\"}\n{\"k\":\"c\"}\n{}", NULL },
        { "{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],\"type\":\"object\"}",
          "{\"a\":1}\n{\"b\":1,\"c\":2}", "{}\n{\"a\":1,\"b\":2}", NULL },
        { "{\"oneOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}}},{\"properties\":{\"b\":{\"type\":\"integer\"}}"
          "}],\"type\":\"object\"}",
          "{\"a\":\"x\"}\n{\"b\":\"x\",\"a\":1}", "{}\n{\"a\":1,\"b\":1}\n{\"a\":\"x\",\"b\":\"x\"}", NULL },
        { "{\"not\":{\"required\":[\"a\"]},\"type\":\"object\"}", "{}\n{\"b\":1}", "{\"a\":1}\n{\"b\":1,\"a\":2}",
          NULL },
        { "{\"not\":{\"type\":[\"string\",\"object\"]}}", "1\n[]\nnull", "\"x\"\n{}", NULL },
        { "{\"not\":{\"patternProperties\":{\"^x\":{\"type\":\"integer\"}}},\"type\":\"object\"}",
          "{\"xa\":null}\n{\"a\":1,\"x\":\"s\",\"xb\":2}", "{}\n{\"x\":1}\n{\"a\":null}", NULL },
        { "{\"not\":{\"properties\":{\"a\":{}},\"additionalProperties\":false},\"type\":\"object\",\"properties\":{"
          "\"b\":{\"type\":\"integer\"}}}",
          "{\"b\":1}\n{\"c\":1}\n{\"a\":1,\"c\":2}", "{}\n{\"a\":1}\n{\"b\":\"s\"}", NULL },
        { "{\"not\":{\"propertyNames\":{\"maxLength\":1}}}", "{\"ab\":1}\n{\"a\":0,\"bc\":1}", "{}\n{\"a\":1}\n[]",
          NULL },
        { "{\"oneOf\":[{\"additionalProperties\":{\"type\":\"integer\"}},{\"additionalProperties\":{\"type\":"
          "\"number\",\"minimum\":3}}],\"type\":\"object\"}",
          "{\"a\":1}\n{\"a\":3.5}\n{\"a\":4,\"b\":1}", "{}\n{\"a\":4}\n{\"a\":1.5}\n{\"a\":1,\"b\":3.5}", NULL },
        { "{\"oneOf\":[{\"additionalProperties\":{\"type\":\"integer\"}},{\"additionalProperties\":{\"type\":"
          "\"string\"}},{\"additionalProperties\":{\"type\":[\"integer\",\"null\"]}}],\"type\":\"object\"}",
          "{\"a\":\"s\"}\n{\"a\":null}\n{\"a\":null,\"b\":1}", "{}\n{\"a\":1}\n{\"a\":\"s\",\"b\":1}", NULL },
        { "{\"not\":{\"not\":{\"type\":\"string\"}}}", "\"x\"", "1\n{}", NULL },
        { "{\"not\":{}}", "", "1\n{}\n[]", NULL },
        { "{\"not\":{\"anyOf\":[{\"type\":\"object\",\"minProperties\":2},{\"type\":\"array\",\"minItems\":1}]}}",
          "{}\n{\"a\":1}\n[]\n7", "{\"a\":1,\"b\":2}\n[1]", NULL },
        { "{\"not\":{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]},\"type\":\"object\"}",
          "{}\n{\"a\":1,\"b\":2}", "{\"a\":1}\n{\"b\":1}", NULL },
        { "{\"if\":{\"properties\":{\"k\":{\"const\":1}},\"required\":[\"k\"]},\"then\":{\"required\":[\"x\"]},"
          "\"else\":{\"required\":[\"y\"]},\"type\":\"object\"}",
          "{\"k\":1,\"x\":0}\n{\"y\":1}\n{\"k\":2,\"y\":1}", "{\"k\":1,\"y\":0}\n{}\n{\"k\":2,\"x\":1}", NULL },
        { "{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":5},\"else\":{\"const\":\"a\"}}", "5\n\"a\"",
          "4\n\"b\"\n[]\n5.5", NULL },
        { "{\"allOf\":[{\"properties\":{\"a\":{\"minimum\":1}}},{\"properties\":{\"a\":{\"maximum\":2},\"b\":{"
          "\"type\":\"null\"}}}],\"properties\":{\"a\":{\"type\":\"integer\"}}}",
          "{\"a\":1}\n{\"a\":2,\"b\":null}", "{\"a\":0}\n{\"a\":3}\n{\"a\":1.5}\n{\"b\":1}", NULL },
        { "{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"}},\"additionalProperties\":"
          "false},{\"type\":\"array\",\"items\":{\"type\":\"null\"}}]}",
          "{\"a\":null}\n[null]\n{}", "[1]\n{\"b\":1}\n1", NULL },
        { "{\"type\":\"string\",\"nullable\":true,\"x-y\":7,\"title\":\"t\",\"default\":1}", "\"a\"", "null", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

TEST(test_references)
{
    static const schema_case cases[] = {
        { "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"const\":1,\"if\":{},\"then\":false}", "1\n2",
          "", NULL },
        { "{\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"n\":{\"$ref\":\"#/"
          "$defs/t\"}},\"required\":[\"v\"],\"additionalProperties\":false}},\"$ref\":\"#/$defs/t\"}",
          "{\"v\":1}\n{\"n\":{\"n\":{\"v\":3},\"v\":2},\"v\":1}", "{\"n\":{\"n\":{}}}\n{\"v\":1,\"n\":{}}", NULL },
        { "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"type\":\"object\",\"additionalProperties\":false}",
          "{\"a\":{\"a\":{}}}", "{\"a\":1}\n{\"a\":{\"b\":{}}}", NULL },
        { "{\"$defs\":{\"a/"
          "b\":{\"const\":1},\"c~d\":{\"const\":2},\"e%f\":{\"const\":3},\"g\":[{\"const\":4}]},\"prefixItems\":[{\"$"
          "ref\":\"#/$defs/a~1b\"},{\"$ref\":\"#/$defs/c~0d\"},{\"$ref\":\"#/$defs/e%25f\"},{\"$ref\":\"#/$defs/g/"
          "0\"}]}",
          "[1,2,3,4]", "[2]\n[1,1]\n[1,2,4]\n[1,2,3,3]", NULL },
        { "{\"$defs\":{\"x\":{\"$anchor\":\"here\",\"type\":\"null\"}},\"$ref\":\"#here\"}", "null", "1", NULL },
        { "{\"$id\":\"http://x.org/a/"
          "b.json\",\"$defs\":{\"x\":{\"$id\":\"c.json\",\"type\":\"null\"}},\"items\":{\"$ref\":\"c.json\"},"
          "\"contains\":{\"$ref\":\"http://x.org/a/c.json#\"}}",
          "[null]", "[1]\n[]", NULL },
        { "{\"$id\":\"http://x.org/a\",\"$ref\":\"http://x.org/a#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"null\"}}}",
          "null", "1", NULL },
        { "{\"id\":\"http://x.org/a\",\"$schema\":\"http://json-schema.org/draft-04/"
          "schema#\",\"definitions\":{\"n\":{\"id\":\"#n\",\"type\":\"null\"}},\"items\":{\"$ref\":\"#n\"}}",
          "[null]", "[1]", NULL },
        { "{\"$defs\":{\"n\":{\"type\":\"integer\"}},\"items\":{\"$ref\":\"#/$defs/n\",\"minimum\":3}}", "[3]",
          "[2]\n[\"a\"]", NULL },
        { "{\"$schema\":\"http://json-schema.org/draft-07/"
          "schema#\",\"definitions\":{\"n\":{\"type\":\"integer\"}},\"items\":{\"$ref\":\"#/definitions/"
          "n\",\"minimum\":3}}",
          "[3]\n[2]", "[\"a\"]", NULL },
        /* what has an $id or $anchor, but where no schema stands, has none; a property may be called like a keyword */
        { "{\"$defs\":{\"a\":{\"enum\":[{\"$id\":\"http://x.org/n\",\"type\":\"null\"}]},"
          "\"b\":{\"x\":{\"$id\":\"http://x.org/n\",\"type\":\"null\"}},"
          "\"c\":{\"properties\":{\"enum\":{\"$id\":\"http://x.org/n\",\"type\":\"integer\"}}}},"
          "\"items\":{\"$ref\":\"http://x.org/n\"}}",
          "[3]\n[]", "[null]\n[\"a\"]", NULL },
        { "{\"$defs\":{\"a\":{\"const\":{\"$anchor\":\"n\",\"type\":\"null\"}},"
          "\"items\":{\"items\":{\"$anchor\":\"n\",\"type\":\"integer\"}}},\"items\":{\"$ref\":\"#n\"}}",
          "[3]\n[]", "[null]\n[\"a\"]", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* What must not hold of arrays and objects, or only under a condition; values that two enums share. */
TEST(test_what_must_not_hold)
{
    static const schema_case cases[] = {
        { "{\"type\":\"array\",\"not\":{\"prefixItems\":[{\"type\":\"integer\"}]}}", "[\"a\"]\n[\"a\",1]",
          "[]\n[1]\n[1,\"a\"]", NULL },
        { "{\"type\":\"array\",\"not\":{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"null\"}],\"items\":false}"
          "}",
          "[\"a\"]\n[1,2]\n[1,null,3]", "[]\n[1]\n[1,null]", NULL },
        { "{\"type\":\"array\",\"not\":{\"minItems\":2,\"maxItems\":3}}", "[]\n[1]\n[1,2,3,4]", "[1,2]\n[1,2,3]\n{}",
          NULL },
        { "{\"type\":\"array\",\"not\":{\"allOf\":[{\"minItems\":1},{\"items\":{\"type\":\"integer\"}}]}}",
          "[]\n[\"a\"]\n[1,\"a\"]", "[1]\n[1,2]", NULL },
        { "{\"type\":\"array\",\"not\":{\"anyOf\":[{\"minItems\":3},{\"maxItems\":1}]}}", "[1,2]", "[]\n[1]\n[1,2,3]",
          NULL },
        { "{\"type\":\"array\",\"not\":{\"anyOf\":[true]}}", "", "[]\n[1]", NULL },
        { "{\"type\":\"object\",\"not\":{\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}}",
          "{}\n{\"c\":1}", "{\"a\":1}\n{\"b\":1}\n{\"c\":1,\"b\":1}", NULL },
        { "{\"type\":\"object\",\"anyOf\":[false,{\"required\":[\"a\"]}]}", "{\"a\":1}", "{}\n{\"b\":1}", NULL },
        { "{\"type\":\"array\",\"not\":{\"enum\":[{},1,\"a\"]}}", "[]\n[1]", "{}\n1", NULL },
        { "{\"type\":\"array\",\"minItems\":1,\"maxItems\":0,\"not\":{\"const\":[1]}}", "", "[]\n[1]", NULL },
        { "{\"type\":\"object\",\"not\":{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{"
          "\"required\":[\"c\"]}}}",
          "{}\n{\"a\":1}\n{\"b\":1}\n{\"a\":1,\"c\":1}", "{\"a\":1,\"b\":1}\n{\"c\":1}", NULL },
        { "{\"type\":\"object\",\"not\":{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]}}}",
          "{\"a\":1}\n{\"a\":1,\"c\":1}", "{}\n{\"b\":1}\n{\"a\":1,\"b\":1}", NULL },
        { "{\"type\":\"object\",\"if\":{\"required\":[\"a\"]}}", "{}\n{\"a\":1}", "[]", NULL },
        { "{\"type\":\"object\",\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]}}",
          "{}\n{\"c\":1}\n{\"a\":1,\"b\":1}", "{\"a\":1}\n{\"c\":1,\"a\":1}", NULL },
        { "{\"type\":\"object\",\"if\":{\"required\":[\"a\"]},\"else\":{\"required\":[\"b\"]}}",
          "{\"a\":1}\n{\"b\":1}", "{}\n{\"c\":1}", NULL },
        { "{\"type\":\"array\",\"$defs\":{\"n\":{\"minItems\":2}},\"not\":{\"$ref\":\"#/$defs/n\"}}", "[]\n[1]",
          "[1,2]", NULL },
        { "{\"type\":\"array\",\"$defs\":{\"n\":{\"minItems\":2}},\"$ref\":\"#/$defs/n\",\"maxItems\":3}",
          "[1,2]\n[1,2,3]", "[1]\n[1,2,3,4]", NULL },
        { "{\"type\":\"array\",\"anyOf\":[{\"const\":[1,\"x\"]},{\"items\":{\"type\":\"null\"}}]}",
          "[1,\"x\"]\n[]\n[null]", "[1]\n[\"x\",1]", NULL },
        { "{\"allOf\":[{\"enum\":[1,2,\"a\"]},{\"enum\":[1.0,3,\"a\"]}]}", "1\n1.0\n\"a\"", "2\n3\n\"b\"", NULL },
        { "{\"anyOf\":[{\"enum\":[1,\"a\"]},{\"enum\":[1.0,2,\"a\",\"b\"]}]}", "1\n1.0\n2\n\"a\"\n\"b\"",
          "3\n\"c\"\n0", NULL },
        { "{\"type\":\"object\",\"not\":{\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false}}",
          "{\"a\":1}\n{\"x\":1,\"a\":1}", "{}\n{\"xa\":1}", NULL },
        { "{\"type\":\"object\",\"minProperties\":2,\"maxProperties\":1}", "", "{}\n{\"a\":1}\n{\"a\":1,\"b\":2}",
          NULL },
        { "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"maxProperties\":1}", "",
          "{}\n{\"a\":1}\n{\"a\":1,\"b\":2}", NULL },
        { "{\"uniqueItems\":true,\"items\":{\"enum\":[null,true,false,1]}}", "[]\n[true,null]\n[1,false,true,null]",
          "[null,null]\n[true,1,true]", NULL },
        { "{\"$id\":\"http://x.org/a/b.json\",\"$defs\":{\"x\":{\"$id\":\"/"
          "c.json\",\"type\":\"null\"}},\"items\":{\"$ref\":\"http://x.org/c.json\"}}",
          "[null]", "[1]", NULL },
        { "{\"$id\":\"http://x.org/a/"
          "b.json\",\"$defs\":{\"x\":{\"$id\":\"urn:x\",\"type\":\"null\"}},\"items\":{\"$ref\":\"urn:x\"}}",
          "[null]", "[1]", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* Keywords that meet others of their kind, numbers that differ in their last part only, references of all spellings. */
TEST(test_keywords_that_meet)
{
    static const schema_case cases[] = {
        { "{\"minLength\":2.0,\"maxLength\":99999999999999}", "\"ab\"\n1", "\"a\"", NULL },
        { "{\"minLength\":20e-1,\"maxLength\":0.03E2}", "\"ab\"\n\"abc\"\n1", "\"a\"\n\"abcd\"", NULL },
        { "{\"type\":\"array\",\"minItems\":1e0,\"maxItems\":1e999999999999}", "[1]\n[1,2]", "[]", NULL },
        { "{\"type\":\"string\",\"minLength\":-0,\"maxLength\":0e5}", "\"\"", "\"a\"", NULL },
        { "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"unevaluatedProperties\":false,"
          "\"unevaluatedItems\":7,\"properties\":{\"a\":{\"type\":\"null\"}}}",
          "{\"a\":null,\"b\":2}\n[1]", "{\"a\":1}", NULL },
        { "{\"enum\":[1,-1,10,1.0,12,21,1e+2,0.5]}", "1\n-1\n10\n12\n21\n100\n0.5", "2\n120\n-10\n5", NULL },
        { "{\"allOf\":[{\"minLength\":2},{\"maxLength\":5},{\"minLength\":3,\"maxLength\":4}]}",
          "\"abc\"\n\"abcd\"\nnull", "\"ab\"\n\"abcde\"", NULL },
        { "{\"minLength\":5,\"maxLength\":3}", "1\n[]", "\"abcd\"\n\"\"", NULL },
        { "{\"allOf\":[{\"maxLength\":5},{\"maxLength\":3},{\"pattern\":\"a\"},{\"minLength\":2}]}",
          "\"ab\"\n\"xxa\"", "\"a\"\n\"xxx\"\n\"axxx\"", NULL },
        { "{\"type\":\"string\",\"pattern\":\"^[^a-c\\\\u0000-\\\\u002f]$\"}", "\"d\"\n\"0\"", "\"b\"\n\"-\"", NULL },
        { "{\"type\":\"string\",\"pattern\":\"^[^x-\\\\uffff]$\"}", "\"w\"", "\"x\"\n\"\xc3\xa9\"", NULL },
        { "{\"dependencies\":{\"a\":\"b\",\"c\":[\"a\"]},\"properties\":{\"a\":{},\"b\":{},\"c\":{}}}",
          "{}\n{\"a\":1,\"b\":2}\n{\"b\":2}", "{\"a\":1}\n{\"c\":1}", NULL },
        { "{\"allOf\":[{\"patternProperties\":{\"^a\":{}}},{\"patternProperties\":{\"^a\":{\"type\":\"null\"}}}]}",
          "{\"ab\":null}\n{\"b\":1}", "{\"ab\":1}", NULL },
        { "{\"allOf\":[{\"minProperties\":1},{\"minProperties\":2},{\"maxProperties\":3},{\"maxProperties\":2}],"
          "\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}\n{\"a\":1,\"c\":3}", "{\"a\":1}\n{}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"minProperties\":3,\"maxProperties\":2}", "[]", "{}\n{\"a\":1,\"b\":2}", NULL },
        { "{\"required\":[\"a\",\"b\",\"c\"],\"maxProperties\":2}", "1",
          "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"number\"}},\"enum\":[{\"a\":1},{\"b\":2},{\"a\":\"x\"}]}",
          "{\"a\":1}\n{\"b\":2}", "{\"a\":\"x\"}\n{}", NULL },
        { "{\"properties\":{\"a\":{},\"b\":{}},\"maxProperties\":1}", "{\"a\":1}\n{\"b\":1}\n{}", "{\"a\":1,\"b\":1}",
          "ordered" },
        { "{\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"minProperties\":1,\"maxProperties\":2}",
          "{\"a\":1}\n{\"a\":1,\"c\":1}\n{\"c\":1,\"d\":1}\n{\"d\":1,\"e\":1}",
          "{}\n{\"b\":1,\"a\":1}\n{\"d\":1,\"a\":1}\n{\"a\":1,\"b\":1,\"c\":1}", "ordered" },
        { "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"],\"additionalProperties\":false}",
          "{\"a\":1,\"b\":1}\n{\"b\":1}", "{\"b\":1,\"a\":1}\n{\"a\":1}", "ordered" },
        { "{\"allOf\":[{\"prefixItems\":[{\"const\":1}]},{\"prefixItems\":[{},{\"const\":2}]}]}",
          "[1,2]\n[1]\n[]\n[1,2,3]", "[2]\n[1,3]", NULL },
        { "{\"items\":{\"enum\":[1,2,3]},\"uniqueItems\":true,\"minItems\":2,\"maxItems\":3}", "[1,2]\n[3,1,2]",
          "[1]\n[1,1]\n[1,2,3,1]", NULL },
        { "{\"items\":{\"enum\":[1,2]},\"uniqueItems\":true,\"minItems\":3}", "1", "[1,2]\n[1,2,1]", NULL },
        { "{\"items\":{\"type\":\"number\"},\"uniqueItems\":false}", "[1,1]", "[\"a\"]", NULL },
        { "{\"allOf\":[{\"minItems\":1},{\"minItems\":2},{\"maxItems\":3},{\"maxItems\":2}]}", "[1,2]",
          "[1]\n[1,2,3]", NULL },
        { "{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":1}", "{}", "[1]\n[1,1]\n[]", NULL },
        { "{\"enum\":[[1],[2,3]],\"items\":{\"maximum\":2}}", "[1]", "[2,3]\n[2]", NULL },
        { "{\"enum\":[[1],[2,3],[]],\"prefixItems\":[{\"const\":2}]}", "[2,3]\n[]", "[1]", NULL },
        { "{\"properties\":{\"a\":{}},\"patternProperties\":{\"^b\":{}},\"unevaluatedProperties\":false,\"anyOf\":[{}]}",
          "1\n{}\n{\"a\":1,\"b2\":1}", "{\"c\":1}", NULL },
        { "{\"unevaluatedProperties\":{\"const\":1},\"allOf\":[{\"required\":[\"a\"]}]}", "{\"a\":1}\n[]", "{}\n{\"a\":2}", NULL },
        { "{\"additionalProperties\":{},\"unevaluatedProperties\":false}", "{\"a\":1}", "", NULL },
        { "{\"prefixItems\":[{}],\"unevaluatedItems\":{\"const\":1}}", "[]\n[2,1,1]", "[1,2]", NULL },
        { "{\"items\":{},\"unevaluatedItems\":false}", "[1]", "", NULL },
        { "{\"type\":\"object\",\"not\":{\"properties\":{\"a\":{}},\"unevaluatedProperties\":false}}", "{\"b\":1}\n{\"a\":1,\"c\":1}",
          "{}\n{\"a\":1}", NULL },
        { "{\"unevaluatedItems\":true,\"unevaluatedProperties\":true,\"uniqueItems\":false}", "[1,1]\n{\"a\":1}", "",
          NULL },
        { "{\"not\":{\"type\":\"object\",\"maxProperties\":0}}", "{\"a\":1}\n[]", "{}", NULL },
        { "{\"not\":{\"type\":\"object\",\"additionalProperties\":true}}", "[]\n1", "{}\n{\"a\":1}", NULL },
        { "{\"type\":\"object\",\"not\":{\"properties\":{}}}", "", "{}\n{\"a\":1}", NULL },
        { "{\"type\":\"array\",\"not\":{\"items\":true}}", "", "[]\n[1]", NULL },
        { "{\"$ref\":\"#/$defs/a~1b~0/anyOf/1\",\"$defs\":{\"a/b~\":{\"anyOf\":[{},{\"type\":\"null\"}]}}}", "null",
          "1", NULL },
        { "{\"$ref\":\"#two\",\"$defs\":{\"a\":{\"$anchor\":\"one\",\"type\":\"null\"},\"b\":{\"$anchor\":\"two\","
          "\"type\":"
          "\"string\"},\"$anchor\":{\"type\":\"number\"}}}",
          "\"a\"", "1\nnull", NULL },
        { "{\"$schema\":\"http://json-schema.org/draft-07/"
          "schema#\",\"$ref\":\"#two\",\"definitions\":{\"a\":{\"$id\":\"#one\"},"
          "\"b\":{\"$id\":\"#tow\"},\"d\":{\"$id\":\"xtwo\"},\"c\":{\"$id\":\"#two\",\"type\":\"string\"}}}",
          "\"a\"", "1\nnull", NULL },
        { "{\"$id\":\"http://x.org/a/b\",\"$ref\":\"c\",\"$defs\":{\"c\":{\"$id\":\"http://x.org/a/"
          "c\",\"type\":\"null\"},"
          "\"d\":{\"$id\":5},\"enum\":[{\"$id\":\"c\"}]}}",
          "null", "1", NULL },
        { "{\"properties\":{\"$id\":{\"type\":\"null\"},\"enum\":{\"type\":\"null\"}},\"const\":{\"$id\":null}}",
          "{\"$id\":null}", "{}\n{\"$id\":1}", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* The same the other way round: the narrower bound first, the same thing twice, what leaves nothing over. */
TEST(test_the_other_way_round)
{
    static const schema_case cases[] = {
        { "{\"allOf\":[{\"minProperties\":2},{\"minProperties\":1},{\"maxProperties\":2},{\"maxProperties\":3}],"
          "\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", "{\"a\":1}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"type\":\"object\",\"not\":{\"maxProperties\":1},\"minProperties\":1,\"properties\":{\"a\":{},\"b\":{}},"
          "\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", "{\"a\":1}\n{}", NULL },
        { "{\"type\":\"object\",\"allOf\":[{\"not\":{\"maxProperties\":1}},{\"not\":{\"maxProperties\":0}},{\"not\":{"
          "\"minProperties\":3}},{\"not\":{\"minProperties\":4}}],\"properties\":{\"a\":{},\"b\":{},\"c\":{}},"
          "\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", "{\"a\":1}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"type\":\"array\",\"allOf\":[{\"not\":{\"maxItems\":1}},{\"not\":{\"maxItems\":0}},{\"not\":{"
          "\"minItems\":3"
          "}},{\"not\":{\"minItems\":4}}]}",
          "[1,2]", "[]\n[1]\n[1,2,3]", NULL },
        { "{\"type\":\"array\",\"allOf\":[{\"not\":{\"prefixItems\":[{},{\"type\":\"null\"}]}},{\"not\":{"
          "\"prefixItems\":["
          "{\"type\":\"null\"}]}}]}",
          "[1,2]\n[1,2,3]", "[]\n[null]\n[null,1]\n[1]\n[1,null]", NULL },
        { "{\"allOf\":[{\"maxLength\":3},{\"maxLength\":5},{\"minLength\":2},{\"minLength\":1}]}", "\"ab\"\n\"abc\"",
          "\"a\"\n\"abcd\"", NULL },
        { "{\"type\":\"object\",\"allOf\":[{\"not\":{\"maxProperties\":0}},{\"not\":{\"maxProperties\":1}},{\"not\":{"
          "\"minProperties\":4}},{\"not\":{\"minProperties\":3}}],\"properties\":{\"a\":{},\"b\":{},\"c\":{}},"
          "\"additionalProperties\":false}",
          "{\"a\":1,\"b\":2}", "{\"a\":1}\n{\"a\":1,\"b\":2,\"c\":3}", NULL },
        { "{\"type\":\"array\",\"allOf\":[{\"not\":{\"maxItems\":0}},{\"not\":{\"maxItems\":1}},{\"not\":{"
          "\"minItems\":4"
          "}},{\"not\":{\"minItems\":3}}]}",
          "[1,2]", "[]\n[1]\n[1,2,3]", NULL },
        { "{\"allOf\":[{\"type\":\"string\",\"minLength\":3},{\"pattern\":\"^[^]{2,4}$\"}]}", "\"abc\"\n\"abcd\"",
          "\"ab\"\n\"abcde\"", NULL },
        { "{\"allOf\":[{\"maxLength\":3},{\"minLength\":1}]}", "\"a\"\n\"abc\"", "\"\"\n\"abcd\"", NULL },
        { "{\"allOf\":[{\"minLength\":3},{\"minLength\":1}]}", "\"abc\"\n\"abcd\"", "\"\"\n\"ab\"", NULL },
        { "{\"type\":\"object\",\"not\":{\"unevaluatedProperties\":true}}", "", "{}\n{\"a\":1}", NULL },
        { "{\"type\":\"array\",\"not\":{\"unevaluatedItems\":true}}", "", "[]\n[1]", NULL },
        { "{\"type\":\"array\",\"not\":{\"uniqueItems\":false}}", "", "[]\n[1]", NULL },
        { "{\"type\":\"array\",\"not\":{\"uniqueItems\":true},\"minItems\":2,\"maxItems\":1}", "", "[]\n[1,1]",
          NULL },
        { "{\"type\":\"array\",\"not\":false}", "[]\n[1]", "{}", NULL },
        { "{\"type\":\"string\",\"not\":{\"pattern\":\"^(foo$|ba+r)$\"}}", "\"\"\n\"fo\"\n\"br\"\n\"fooo\"",
          "\"foo\"\n\"bar\"\n\"baar\"", NULL },
        { "{\"patternProperties\":{\"^(foo$|bar)$\":{\"type\":\"integer\"}},\"additionalProperties\":{\"type\":"
          "\"string\"}}",
          "{\"foo\":1}\n{\"bar\":2}\n{\"fo\":\"x\"}", "{\"foo\":\"x\"}\n{\"bar\":\"x\"}\n{\"fo\":1}", NULL },
        { "{\"allOf\":[{\"patternProperties\":{\"^a\":{},\"c$\":{\"type\":\"null\"}}},{\"patternProperties\":{\"b$\":"
          "{\"type\":"
          "\"null\"},\"^a\":{\"minimum\":3},\"c$\":{}}}]}",
          "{\"a\":3,\"xb\":null,\"xc\":null}\n{\"ab\":null}", "{\"a\":1}\n{\"xb\":1}\n{\"xc\":1}\n{\"ac\":3}", NULL },
        { "{\"properties\":{\"ab\":false},\"patternProperties\":{\"^a\":{},\"b$\":{\"type\":\"null\"}}}",
          "{\"a\":1}\n{\"xb\":null}", "{\"ab\":null}\n{\"xb\":1}", NULL },
        { "{\"type\":\"object\",\"properties\":{\"x\":{},\"z\":{}},\"not\":{\"propertyNames\":{\"not\":{\"enum\":["
          "\"x\",\"y\"]"
          "}}},\"additionalProperties\":false}",
          "{\"x\":1}\n{\"x\":1,\"z\":2}", "{}\n{\"z\":1}", NULL },
        { "{\"$defs\":{\"c\":{\"contains\":{\"const\":1}}},\"allOf\":[{\"$ref\":\"#/$defs/c\"},{\"$ref\":\"#/$defs/"
          "c\"}]}",
          "[1]\n[2,1,1]", "[]\n[2]", NULL },
        { "{\"type\":\"array\",\"items\":{\"const\":1},\"contains\":{\"const\":1},\"maxContains\":2}", "[1]\n[1,1]",
          "[]\n[1,1,1]\n[2]", NULL },
        { "{\"type\":\"array\",\"items\":{\"const\":1},\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":"
          "3,"
          "\"maxItems\":5}",
          "[1,1]\n[1,1,1]", "[1]\n[1,1,1,1]", NULL },
        { "{\"items\":false,\"uniqueItems\":true}", "[]\n{}", "[1]", NULL },
        { "{\"items\":{\"enum\":[\"a\",2]},\"uniqueItems\":true}", "[]\n[\"a\"]\n[2,\"a\"]", "[2,2]\n[\"a\",2,\"a\"]",
          NULL },
        { "{\"allOf\":[{\"enum\":[1,-2.0,3]},{\"enum\":[-1,2,-2,30]}]}", "-2\n-2.0", "1\n-1\n2\n3", NULL },
        { "{\"enum\":[{\"a\":1},{\"b\":2}],\"additionalProperties\":{\"maximum\":1}}", "{\"a\":1}", "{\"b\":2}\n{}",
          NULL },
        { "{\"type\":\"string\",\"pattern\":\"^[\\\\u0000-\\\\uffff\\\\u{10000}-\\\\u{10ffff}]b$\"}",
          "\"ab\"\n\"\xf0\x9f\x98\x80"
          "b\"",
          "\"b\"\n\"aab\"", NULL },
        { "{\"type\":\"string\",\"pattern\":\"^a\\u0000b\\\\\\u0000$\"}", "\"a\\u0000b\\u0000\"",
          "\"ab\"\n\"a\\u0000b\"", NULL },
        { "{\"$schema\":5,\"type\":\"null\"}", "null", "1", NULL },
        { "{\"type\":\"string\",\"pattern\":\"^.{2,4}$\",\"minLength\":3}", "\"abc\"\n\"abcd\"", "\"ab\"\n\"abcde\"",
          NULL },
        { "{\"type\":\"string\",\"pattern\":\"^[^]{2,4}$\",\"minLength\":3}", "\"abc\"\n\"abcd\"",
          "\"ab\"\n\"abcde\"", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* Keywords that say the same twice, or nothing, or all, and refusals that do not matter. */
TEST(test_redundant_keywords)
{
    static const schema_case cases[] = {
        { "{\"type\":\"string\",\"allOf\":[{\"not\":{\"maxLength\":3}},{\"maxLength\":5}]}", "\"abcd\"\n\"abcde\"",
          "\"abc\"\n\"abcdef\"", NULL },
        { "{\"type\":\"string\",\"allOf\":[{\"maxLength\":0},{\"maxLength\":5}]}", "\"\"", "\"a\"", NULL },
        { "{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"a\",\"b\"]},\"properties\":{\"a\":{\"type\":\"null\"},"
          "\"c\":{}},\"required\":[\"a\"]}",
          "{\"a\":null}\n{\"a\":null,\"b\":5}\n{\"b\":5,\"a\":null}",
          "{}\n{\"a\":1}\n{\"a\":null,\"c\":5}\n{\"b\":1}", NULL },
        { "{\"type\":\"object\",\"propertyNames\":false}", "{}", "{\"a\":1}", NULL },
        { "{\"anyOf\":[{\"const\":{\"a\":\"x\"},\"not\":{\"additionalProperties\":{\"type\":\"string\"}}},{\"type\":"
          "\"null\"}]}",
          "null", "{\"a\":\"x\"}", NULL },
        { "{\"type\":\"array\",\"$defs\":{\"s\":{\"items\":{\"type\":\"string\"}}},\"allOf\":[{\"not\":{\"$ref\":\"#/"
          "$defs/s\"}},{\"not\":{\"$ref\":\"#/$defs/s\"}}]}",
          "[1]\n[\"a\",1]", "[]\n[\"a\"]", NULL },
        { "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"contains\":{\"type\":\"string\"},\"maxContains\":2}",
          "[\"a\"]\n[\"a\",\"b\"]", "[]\n[\"a\",\"b\",\"c\"]", NULL },
        { "{\"type\":\"array\",\"contains\":true,\"maxContains\":2,\"minItems\":2}", "[1,2]", "[1]\n[1,2,3]", NULL },
        { "{\"anyOf\":[{\"type\":\"object\",\"maxProperties\":5,\"allOf\":[{\"not\":{\"maxProperties\":5}},{\"not\":{"
          "\"dependentRequired\":{\"a\":[\"b\"]}}}]},{\"type\":\"null\"}]}",
          "null", "{}", NULL },
        { "{\"$ref\":\"#foo\",\"$defs\":{\"a\":{\"$id\":\"http://x/"
          "y\",\"$anchor\":\"foo\",\"type\":\"string\"},\"b\":{\"$anchor\":\"foo\",\"type\":\"null\"}}}",
          "null", "\"a\"", NULL },
        { "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"object\",\"required\":[\"a\"],"
          "\"properties\":{\"a\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
          "\"object\",\"maxProperties\":2,\"not\":{\"minProperties\":5}}}}}}}}",
          "{\"a\":{\"a\":{\"a\":{\"a\":1}}}}\n{\"a\":{\"a\":{\"a\":{}}}}",
          "{\"a\":{\"a\":{\"a\":{\"a\":1,\"b\":1,\"c\":2}}}}", NULL },
        { "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"object\",\"required\":[\"a\"],"
          "\"properties\":{\"a\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"array\","
          "\"maxItems\":2,\"not\":{\"minItems\":5}}}}}}}}",
          "{\"a\":{\"a\":{\"a\":[1,2]}}}", "{\"a\":{\"a\":{\"a\":[1,2,3]}}}", NULL },
        { "{\"items\":{\"$anchor\":\"a\",\"type\":\"null\"},\"prefixItems\":[{\"$ref\":\"#a\"}]}",
          "[]\n[null]\n[null,null]", "[1]\n[null,1]", NULL },
        { "{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"minContains\":63,\"maxItems\":63}", NULL,
          "[]\n[null]", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

static const char *one_byte(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char byte[256];
    (void)vocab;
    byte[token] = (char)token;
    *n = 1;
    return byte + token;
}

/* Where does the matcher stop reading `text`: at the first byte behind which nothing can be completed. */
static size_t reads(const samp_grammar *g, const char *text)
{
    static const samp_vocab bytes = { 256, one_byte, NULL, NULL, NULL, 0, -1, -1 };
    samp_vocab_index *index = samp_vocab_index_init(&bytes, NULL);
    samp_sampler *s = samp_init_grammar(index, g);
    size_t n = 0;
    while (text[n] && samp_accept(s, (uint8_t)text[n]) == SAMP_OK) n++;
    samp_free(s);
    samp_vocab_index_free(index);
    return n;
}

/* What no value can be is not begun: a property that contradicts itself, a member that must be there and can't be, more
   members than there are. The text up to | is read, and no further. */
#define LETTERS "abcdefghijklmnopqrstuvw"
TEST(test_dead_ends)
{
    static const struct {
        const char *schema, *text;
    } cases[] = {
        { "{\"type\":\"array\",\"minItems\":3,\"items\":{\"type\":\"string\",\"allOf\":[{\"pattern\":\"^a\"},{"
          "\"pattern\":"
          "\"b$\"}]}}",
          "[\"ab\",\"aab\",\"ab\"]|" },
        { "{\"properties\":{\"a\":{\"const\":{\"d\":1},\"minProperties\":2},\"ab\":{}}}", "{\"ab\":1,\"ab|\":2}" },
        { "{\"properties\":{\"a\":{\"const\":{\"d\":1},\"minProperties\":2},\"ab\":{}}}", "{\"a|\":{\"d\":1}}" },
        { "{\"properties\":{\"a\":{\"minProperties\":2,\"properties\":{\"x\":{}},\"additionalProperties\":false}}}",
          "{\"a\":|{\"x\":1}}" },
        { "{\"properties\":{\"a\":{\"minProperties\":2,\"properties\":{\"x\":{}},\"additionalProperties\":false}}}",
          "{\"a\":[1]}|" },
        { "{\"items\":{\"required\":[\"x\",\"y\"],\"maxProperties\":1}}", "[1,|{\"x\":1}]" },
        { "{\"items\":{\"required\":[\"x\"],\"properties\":{\"x\":{\"const\":{\"d\":1},\"maxProperties\":0}}}}",
          "[[],|{\"x\":{}}]" },
        { "{\"anyOf\":[{\"const\":1},{\"type\":\"object\",\"minProperties\":2,\"properties\":{\"a\":{},\"b\":{"
          "\"const\":{\"d\":1},\"maxProperties\":0}},\"additionalProperties\":false}]}",
          "|{\"a\":1" },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"minProperties\":1,\"additionalProperties\":{"
          "\"const\":"
          "{\"d\":1},\"maxProperties\":0}}]}",
          "|{\"a\":1" },
        { "{\"type\":\"object\",\"maxProperties\":2,\"additionalProperties\":{\"const\":{\"d\":1},\"maxProperties\":"
          "0}}",
          "{|\"a\":1" },
        { "{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"XAB\",\"not\":{\"pattern\":\"X\"}},{\"type\":\"null\"}]}",
          "|\"XAB\"" },
        { "{\"type\":\"string\",\"pattern\":\"B\",\"allOf\":[{\"not\":{\"pattern\":\"A\"}},{\"not\":{\"pattern\":"
          "\"C\"}}]}",
          "\"xB|C\"" },
        { "{\"type\":\"string\",\"pattern\":\"B\",\"allOf\":[{\"not\":{\"pattern\":\"A\"}},{\"not\":{\"pattern\":"
          "\"C\"}}]}",
          "\"xB|A\"" },
        { "{\"type\":\"string\",\"pattern\":\"x(?:" LETTERS LETTERS LETTERS ")*y|" LETTERS LETTERS LETTERS
          "z|w+" LETTERS LETTERS LETTERS "z\"}",
          "\"x" LETTERS LETTERS LETTERS "y\"|" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char text[200];
        size_t want = strcspn(cases[i].text, "|");
        snprintf(text, sizeof text, "%.*s%s", (int)want, cases[i].text, cases[i].text + want + 1);
        own_grammar *g = compile(cases[i].schema, NULL);
        if (reads(g, text) != want)
            test_fail(__FILE__, __LINE__, "%s\n%s: %zu, wanted %zu", cases[i].schema, text, reads(g, text), want);
    }
}

/* Masks along a text take few steps: of words of which exactly one must be somewhere in a string, and of names whose
   kinds the matcher keeps. The vocabulary has all bytes, and all pairs of capital letters. */
enum { N_PIECES = 256 + 26 * 26 };
static const char *byte_or_pair(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char piece[N_PIECES][2];
    (void)vocab;
    piece[token][0] = (char)(token < 256 ? token : 'A' + (token - 256) / 26);
    piece[token][1] = (char)(token < 256 ? 0 : 'A' + (token - 256) % 26);
    *n = token < 256 ? 1 : 2;
    return piece[token];
}
TEST(test_few_steps)
{
    static const samp_vocab pairs = { N_PIECES, byte_or_pair, NULL, NULL, NULL, 0, -1, -1 };
    static const struct {
        const char *schema, *text;
        int64_t steps;
    } cases[] = {
        { "{\"type\":\"string\",\"oneOf\":[{\"pattern\":\"NEW\"},{\"pattern\":\"ON_APPROVAL\"},{\"pattern\":"
          "\"ON_SIGNING\"},{\"pattern\":\"ON_MODIFICATION\"},{\"pattern\":\"EXECUTED\"},{\"pattern\":"
          "\"DEPRECATED\"},{\"pattern\":\"REJECTED\"}]}",
          "\"a NEW one\"", 1 << 20 },
        { "{\"type\":\"object\",\"not\":{\"patternProperties\":{\"a\":{\"type\":\"string\"}}}}",
          "{\"n\":\"x\",\"\xc3\xa4pas\":1,\"b\":\"x\"}", 1 << 18 },
        { "{\"pattern\":\"^(?!.*://)(?=.{1,255}$)((.{1,63}\\\\.){1,127}(?![0-9]*$)[a-z0-9-]+\\\\.?)$\",\"type\":\"string\"}",
          "\"http.example.com\"", 1 << 18 },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        uint32_t bits[(N_PIECES + 31) / 32];
        own_index *index = samp_vocab_index_init(&pairs, NULL);
        own_grammar *g = compile(cases[i].schema, NULL);
        own_sampler *s = samp_init_grammar(index, g);
        assert_ok(samp_set_grammar_limits(s, (size_t)1 << 26, cases[i].steps));
        for (const char *at = cases[i].text; *at; at++) {
            const uint8_t byte = (uint8_t)*at;
            assert_ok(samp_grammar_mask(s, bits));
            assert_true(bits[byte / 32] >> byte % 32 & 1);
            assert_ok(samp_accept(s, byte));
        }
        assert_num(samp_grammar_is_complete(s), 1);
    }
}

/* States that allow the same tokens share one mask: those of a string with a length, at each character. */
TEST(test_shared_masks)
{
    enum { LENGTH = 100 };
    static const samp_vocab pairs = { N_PIECES, byte_or_pair, NULL, NULL, NULL, 0, -1, -1 };
    uint32_t bits[(N_PIECES + 31) / 32];
    const uint32_t *masks[LENGTH + 2];
    int n_with = 0, n_masks = 0;
    own_index *index = samp_vocab_index_init(&pairs, NULL);
    own_grammar *g = compile("{\"type\":\"string\",\"maxLength\":300}", NULL);
    own_sampler *s = samp_init_grammar(index, g);
    for (int i = 0; i <= LENGTH; i++) {
        assert_ok(samp_grammar_mask(s, bits));
        assert_ok(samp_accept(s, i ? 'x' : '"'));
    }
    const sampi_cache *store = ((const sampi_matcher *)s->ctx)->shared->now;
    for (int32_t i = 0; i < store->n_entries; i++) {
        if (!store->entries[i].bits) continue;
        int k = 0;
        while (k < n_masks && masks[k] != store->entries[i].bits) k++;
        if (k == n_masks) masks[n_masks++] = store->entries[i].bits;
        n_with++;
    }
    assert_true(n_with > 0 && n_with <= 8); /* one serves while the bound is far */
    assert_true(n_masks <= 2);               /* that of the quote in front, and that of the characters */
}

/* Tokens of up to 70 bytes: of one character, of words, of characters of two bytes. */
enum { N_LONG = 256 + 63 };
static const char *byte_or_words(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char piece[N_LONG][80];
    const int i = token - 256;
    (void)vocab;
    *n = i < 0 ? 1 : 7 + (size_t)i;
    piece[token][0] = (char)token;
    for (size_t k = 0; i >= 0 && k < *n; k++)
        piece[token][k] = i % 3 == 0 ? 'x' : i % 3 == 1 ? (k % 5 ? 'a' : ' ') : k % 2 ? '\xa9' : '\xc3';
    return piece[token];
}

/* Where a length is counted beside a pattern, a mask is that of the pattern alone as far as the length is far: it has
   the tokens that are accepted. */
TEST(test_counts_beside_patterns)
{
    static const samp_vocab words = { N_LONG, byte_or_words, NULL, NULL, NULL, 0, -1, -1 };
    static const char *const schemas[] = {
        "{\"type\":\"string\",\"maxLength\":70,\"pattern\":\"^(\\\\S+ )*\\\\S+$\"}",
        "{\"type\":\"string\",\"maxLength\":300,\"pattern\":\"^(?:\\\\S+\\\\s+){0,19}\\\\S+$\"}",
        "{\"type\":\"string\",\"minLength\":3,\"maxLength\":55,\"pattern\":\"\\\\S\"}",
        "{\"type\":\"string\",\"maxLength\":90,\"pattern\":\"(xx| a+)+.{20,30}$\"}",
    };
    for (size_t i = 0; i < TEST_COUNT(schemas); i++) {
        uint32_t bits[(N_LONG + 31) / 32];
        samp_vocab_index *index = samp_vocab_index_init(&words, NULL);
        samp_grammar *g = compile(schemas[i], NULL);
        samp_sampler *s = samp_init_grammar(index, g);
        for (const char *at = "\"xx\xc3\xa9 by its words aa and others\""; *at; at++) {
            assert_ok(samp_grammar_mask(s, bits));
            for (samp_token token = 1; token < N_LONG; token++) {
                samp_sampler *copy = samp_clone(s);
                assert_num(bits[token / 32] >> token % 32 & 1, samp_accept(copy, token) == SAMP_OK);
                samp_free(copy);
            }
            if (samp_accept(s, (uint8_t)*at)) break;
        }
        samp_free(s);
        samp_grammar_free(g);
        samp_vocab_index_free(index);
    }
}

/* What the matcher says, byte by byte: 1, 0 or a status. */
static int matches(const samp_vocab_index *index, const samp_grammar *g, const char *text)
{
    samp_sampler *s = samp_init_grammar(index, g);
    int status = SAMP_OK;
    for (; *text && !status; text++) status = samp_accept(s, (unsigned char)*text);
    if (!status) status = samp_grammar_is_complete(s);
    samp_free(s);
    return status == SAMP_E_RANGE ? 0 : status;
}

/* All offsets with which a time may be a leap second, and no others. */
TEST(test_leap_seconds)
{
    static const samp_vocab bytes = { 256, one_byte, NULL, NULL, NULL, 0, -1, -1 };
    own_index *index = samp_vocab_index_init(&bytes, NULL);
    own_grammar *g = compile("{\"format\":\"time\",\"type\":\"string\"}", NULL);
    for (int local = 14; local < 24 * 60; local += 45)
        for (int offset = 1 - 24 * 60; offset < 24 * 60; offset++) {
            char text[40];
            const int n = sprintf(text, "\"%02d:%02d:60%c%02d:%02d\"", local / 60, local % 60, offset < 0 ? '-' : '+',
                                  abs(offset) / 60, abs(offset) % 60);
            const bool leap = (local - offset + 24 * 60) % (24 * 60) == 24 * 60 - 1 && offset % 15 == 0;
            if (matches(index, g, text) != leap) test_fail(__FILE__, __LINE__, "%.*s", n, text);
        }
}

/* Of members of one name the last one is what the object has, to nearly all who read JSON. A member that breaks a
   keyword is one that no later member replaces, and members are counted by their names. */
TEST(test_names_that_come_twice)
{
    static const schema_case cases[] = {
#define STRINGS "{\"additionalProperties\":{\"type\":\"string\"}}"
#define NUMBERS "{\"additionalProperties\":{\"type\":\"number\"}}"
        { "{\"type\":\"object\",\"not\":" STRINGS "}",
          "{\"a\":1}\n{\"a\":\"x\",\"a\":1}\n{\"a\":1,\"b\":\"x\"}\n{\"b\":\"x\",\"a\":1}\n{\"a\":1,\"a\":2}\n"
          "{\"a\":1,\"b\":\"x\",\"c\":\"y\",\"b\":\"z\"}",
          "{}\n{\"a\":\"x\"}\n{\"a\":1,\"a\":\"x\"}\n{\"a\":1,\"\\u0061\":\"x\"}\n"
          "{\"a\":1,\"b\":\"x\",\"a\":\"x\"}\n{\"a\":1,\"b\":2,\"a\":\"x\",\"b\":\"x\"}",
          NULL },
        { "{\"type\":\"object\",\"oneOf\":[" STRINGS "," NUMBERS "]}", "{\"a\":1}\n{\"a\":1,\"b\":2}\n{\"a\":\"x\"}",
          "{}\n{\"a\":1,\"a\":\"x\"}\n{\"a\":1,\"b\":\"x\"}", NULL },
        { "{\"type\":\"object\",\"if\":" STRINGS ",\"then\":false}", "{\"a\":1}\n{\"b\":\"x\",\"a\":1}",
          "{}\n{\"a\":1,\"a\":\"x\"}", NULL },
        { "{\"type\":\"object\",\"not\":{\"patternProperties\":{\"^a\":{\"type\":\"string\"}}}}",
          "{\"a\":1}\n{\"a\":1,\"b\":\"x\",\"b\":1}\n{\"ab\":1,\"ac\":\"x\"}",
          "{}\n{\"b\":1}\n{\"a\":1,\"a\":\"x\"}\n{\"a\":1,\"\\u0061\":\"x\"}", NULL },
        { "{\"type\":\"object\",\"allOf\":[{\"not\":" STRINGS "},{\"not\":" NUMBERS "}]}",
          "{\"a\":1,\"b\":\"x\"}\n{\"a\":\"x\",\"b\":1}\n{\"a\":null}\n{\"a\":null,\"b\":1}",
          "{}\n{\"a\":1}\n{\"a\":1,\"b\":2}\n{\"a\":1,\"a\":\"x\"}\n{\"a\":\"x\",\"a\":1}", NULL },
    };
    check_cases(cases, TEST_COUNT(cases));
}

/* Random schemas and documents in which names come twice: nothing is taken that is no instance as JSON.parse reads it,
   and nearly all is taken that is one and says each name once. The two matchers agree. */
TEST(test_random_members)
{
    static const samp_vocab bytes = { 256, one_byte, NULL, NULL, NULL, 0, -1, -1 };
    samp_vocab_index *index = samp_vocab_index_init(&bytes, NULL);
    assert_non_null(index);
    const uint64_t n = cases(4000, 10);
    long n_valid = 0, n_missed = 0, n_judged = 0;
    static naive_maker schema, document;
    for (uint64_t i = 0; i < n; i++) {
        naive_value is, value;
        samp_grammar_error error;
        schema.rng = document.rng = source_at(test_seed() + i);
        schema.n = 0;
        naive_say_schema(&schema, 2);
        own_grammar *g = any_number(schema.text, NULL, &error);
        if (!g && error.status != SAMP_E_UNSUPPORTED && error.status != SAMP_E_EMPTY)
            test_fail(__FILE__, __LINE__, "%s: %s", schema.text, error.message);
        if (!g && error.status == SAMP_E_UNSUPPORTED) continue;
        naive_read(schema.text, &is);
        for (int k = 0; k < 40; k++) {
            document.n = 0;
            document.again = document.escaped = false;
            naive_say_document(&document, 1);
            naive_read(document.text, &value);
            int valid = naive_is(&is, &value), taken = g ? matches(index, g, document.text) : 0;
            naive_value_free(&value);
            if (taken < 0 || (taken && !valid))
                test_fail(__FILE__, __LINE__, "%llu: %d\n%s\n%s", (unsigned long long)(test_seed() + i), taken,
                          schema.text, document.text);
            if (!g && valid)
                test_fail(__FILE__, __LINE__, "%s\nunsatisfiable, it says: %s", schema.text, document.text);
            if (k == 0 && g && accepts(g, document.text, document.n) != (taken == 1))
                test_fail(__FILE__, __LINE__, "matchers differ: %s\n%s", schema.text, document.text);
            n_judged++;
            if (!valid || document.again || document.escaped) continue;
            n_valid++;
            n_missed += !taken;
            if (!taken && getenv("SHOW_MISSED")) printf("MISSED %s   %s\n", document.text, schema.text);
        }
        naive_value_free(&is);
    }
    samp_vocab_index_free(index);
    printf("judged %ld, valid with each name once %ld, missed %ld\n", n_judged, n_valid, n_missed);
}

TEST(test_options)
{
    static const char *const bad[] = { "tidy",    "compact spaced", "order",    "orderedx",   "spaced compact ordered",
                                       "space=",  "space",          "space=-1", "space=1001", "space=2 compact",
                                       "space=2x" };
    static const char *const good[] = { "",       " ",       "compact", " compact  ordered ",
                                        "spaced", "space=0", "space=1000 ordered", "ordered spaced",
                                        "any-number compact" };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        samp_grammar_error error;
        assert_null(samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, "{}", bad[i], &error));
        assert_status(error.status, SAMP_E_RANGE);
        assert_memory_equal(error.message, "root: ", 6);
    }
    for (size_t i = 0; i < TEST_COUNT(good); i++) samp_grammar_free(compile("{}", good[i]));
    for (int most = 0; most < 4; most++) { /* white space at each place, one more than the option allows or not */
        char option[16], text[100];
        static const char spaces[] = " \n\t ";
        (void)snprintf(option, sizeof option, "space=%d", most);
        own_grammar *g = compile("{\"items\":{\"type\":\"null\"}}", option);
        for (int i = 0; i < 5 * 5; i++) {
            const int n[4] = { i / 5 == 0 ? i % 5 : 0, i / 5 == 1 ? i % 5 : 0, i / 5 == 2 ? i % 5 : 0,
                               i / 5 == 3 ? i % 5 : 0 };
            const int length = snprintf(text, sizeof text, "[%.*snull%.*s,%.*snull%.*s]", n[0], spaces, n[1], spaces,
                                        n[2], spaces, n[3], spaces);
            const bool want = n[0] <= most && n[1] <= most && n[2] <= most && n[3] <= most;
            assert_int_equal(accepts(g, text, (size_t)length), want);
        }
    }
}

/* Numbers as decoders want them, without "any-number": whole ones without a fraction, fractions with an end. What such a
   set leaves out is no reason for a complement to take it in. */
TEST(test_plain_numbers)
{
    static const struct {
        const char *schema, *text;
        bool plain, any;
    } cases[] = {
        { "{\"type\":\"integer\"}", "57", true, true },
        { "{\"type\":\"integer\"}", "-3", true, true },
        { "{\"type\":\"integer\"}", "57.0", false, true },
        { "{\"type\":\"integer\",\"minimum\":2}", "3.00", false, true },
        { "{\"type\":\"integer\",\"maximum\":2}", "-3.0", false, true },
        { "{\"type\":\"integer\",\"maximum\":2}", "-3", true, true },
        { "{\"enum\":[1,2.5,3]}", "1", true, true },
        { "{\"enum\":[1,2.5,3]}", "1.00000", false, true },
        { "{\"enum\":[1,2.5,3]}", "2.5", true, true },
        { "{\"enum\":[1,2.5,3]}", "2.50", false, true },
        { "{\"enum\":[1.0],\"minimum\":1}", "1", true, true },
        { "{\"enum\":[1.0],\"minimum\":1}", "1.0", false, true },
        { "{\"const\":-20}", "-20", true, true },
        { "{\"const\":-20}", "-20.0", false, true },
        { "{\"multipleOf\":5,\"type\":\"number\"}", "15", true, true },
        { "{\"multipleOf\":5,\"type\":\"number\"}", "15.0", false, true },
        { "{\"multipleOf\":300,\"type\":\"number\"}", "600", true, true },
        { "{\"multipleOf\":300,\"type\":\"number\"}", "600.0", false, true },
        { "{\"multipleOf\":0.25}", "0.75", true, true },
        { "{\"multipleOf\":0.25}", "0.750", false, true },
        { "{\"allOf\":[{\"multipleOf\":4},{\"multipleOf\":6}]}", "24", true, true },
        { "{\"allOf\":[{\"multipleOf\":4},{\"multipleOf\":6}]}", "24.0", false, true },
        { "{\"type\":\"number\"}", "5.0", true, true },
        { "{\"type\":\"number\"}", "1.5e300", true, true },
        { "{\"type\":\"number\"}", "0.0000000000000000000000001", false, true },
        { "{\"minimum\":0}", "0.500000000000000000000000", true, true },
        { "{\"exclusiveMinimum\":0}", "0.00000000000000000000000000000000000000000000000000", false, false },
        { "{\"exclusiveMinimum\":0}", "0.000000000000000000000000000000000000000000000000000000001", false, true },
        { "{\"maximum\":0.5}", "0.0000000000000000000000000000000000000000000000000", false, true },
        { "{\"not\":{\"type\":\"integer\"}}", "1.0", false, false },
        { "{\"not\":{\"type\":\"integer\"}}", "1.5", true, true },
        { "{\"not\":{\"enum\":[1]}}", "1.0", false, false },
        { "{\"not\":{\"enum\":[1]}}", "1.5", true, true },
        { "{\"not\":{\"multipleOf\":2}}", "4.0", false, false },
        { "{\"not\":{\"multipleOf\":2}}", "3.0", true, true },
        { "{\"not\":{\"minimum\":1}}", "1.0000000000000000000000000000000", false, false },
        { "{\"not\":{\"not\":{\"const\":1}}}", "1.0", false, true },
        { "{\"not\":{\"not\":{\"const\":1}}}", "1", true, true },
        { "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "2.0", false, false },
        { "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "2.5", true, true },
        { "{\"oneOf\":[{\"enum\":[1]},{\"minimum\":0}]}", "1.0", false, false },
        { "{\"type\":\"number\",\"if\":{\"type\":\"integer\"},\"then\":{\"maximum\":3}}", "4.0", false, false },
        { "{\"type\":\"number\",\"if\":{\"const\":4},\"then\":false}", "4.000", false, false },
        { "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,2]}}", "[1,2]", true, true },
        { "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,2]}}", "[1,1.0]", false, false },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++)
        for (int any = 0; any < 2; any++) {
            samp_grammar_error error;
            own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, cases[i].schema, any ? "any-number" : NULL,
                                                &error);
            if (!g) test_fail(__FILE__, __LINE__, "%s: %s", cases[i].schema, error.message);
            if (accepts(g, cases[i].text, strlen(cases[i].text)) != (any ? cases[i].any : cases[i].plain))
                test_fail(__FILE__, __LINE__, "%s: %s, with any spelling %d", cases[i].schema, cases[i].text, any);
        }
}

/* Judges a text of members, and all texts with more members up to `names`, as long as they are in order: g [1] accepts
   what g [0] accepts, if a, b and c come in the schema's order and the others behind them. `come` is the set of members
   in the text, `last` the name of the last one. Returns how many texts g [1] accepted. */
static long judge_orders(samp_grammar *const g[2], char *text, size_t n, uint32_t come, char last, bool in_order,
                         char names)
{
    long accepted = 0;
    text[n] = '}';
    const bool in_any = accepts(g[0], text, n + 1);
    if (accepts(g[1], text, n + 1) != (in_any && in_order))
        test_fail(__FILE__, __LINE__, "%.*s: in any order %d, in order %d", (int)n + 1, text, in_any,
                  !(in_any && in_order));
    accepted += in_any && in_order;
    for (char name = 'a'; name <= names && in_order; name++) {
        if (come >> (name - 'a') & 1) continue;
        const bool goes_on = name > last || (name > 'c' && last > 'c');
        const int more = sprintf(text + n, "%s\"%c\":%d", n > 1 ? "," : "", name, name - 'a');
        accepted += judge_orders(g, text, n + (size_t)more, come | 1u << (name - 'a'), name, goes_on, names);
    }
    return accepted;
}

/* "ordered" keeps the order where members are counted too: small objects, all bounds, all orders of members. */
TEST(test_order_of_counted)
{
    static const char *const required[] = { "", "\"b\"", "\"a\",\"c\"", "\"a\",\"b\",\"c\"" };
    static const char *const others[] = { "false", "{\"maximum\":3}" };
    long n_accepted = 0, n_refused = 0;
    for (size_t i = 0; i < TEST_COUNT(required) * TEST_COUNT(others) * 4 * 6; i++) {
        const size_t least = i % 4, most = i / 4 % 6;
        char schema[400], bound[40] = "", text[100] = "{";
        if (most < 5) (void)snprintf(bound, sizeof bound, ",\"maxProperties\":%d", (int)most);
        (void)snprintf(
            schema, sizeof schema,
            "{\"type\":\"object\",\"properties\":{\"a\":{\"const\":0},\"b\":{\"const\":1},\"c\":{\"const\":2}},"
            "\"required\":[%s],\"additionalProperties\":%s,\"minProperties\":%d%s}",
            required[i / 24 % TEST_COUNT(required)], others[i / 24 / TEST_COUNT(required)], (int)least, bound);
        samp_grammar_error error;
        samp_grammar *g[2] = { any_number(schema, "compact", &error), NULL };
        if (!g[0]) { /* no object has so few or so many members */
            assert_true(error.status == SAMP_E_EMPTY && (most < 3 || least == 3));
            assert_null(any_number(schema, "compact ordered", &error));
            assert_status(error.status, SAMP_E_EMPTY);
            n_refused++;
            continue;
        }
        g[1] = compile(schema, "compact ordered");
        n_accepted += judge_orders(g, text, 1, 0, 0, true, i / 24 % TEST_COUNT(required) == 1 ? 'e' : 'd');
        samp_grammar_free(g[0]);
        samp_grammar_free(g[1]);
    }
    print_message("%ld texts accepted, %ld schemas refused\n", n_accepted, n_refused);
    assert_true(n_accepted > 300);
    for (int many = 0; many < 2; many++) { /* more than can be counted in order: refused, with a reason */
        static char schema[1 << 16];
        size_t n = (size_t)sprintf(schema, "{\"type\":\"object\",\"maxProperties\":%d,\"properties\":{",
                                   many ? 290 : 40);
        for (int i = 0; i < 300; i++) n += (size_t)sprintf(schema + n, "%s\"name %d\":{}", i ? "," : "", i);
        (void)sprintf(schema + n, "}}");
        samp_grammar_error error;
        own_grammar *g = any_number(schema, "ordered", &error);
        assert_status(error.status, many ? SAMP_E_UNSUPPORTED : SAMP_OK);
        assert_true(!many || strstr(error.message, "too many members to count them in order"));
    }
}

/* "ordered": the order of the text. A base class stands where the text refers to it, the branches of allOf, anyOf and so
   on come in turn, and a name that is only required comes after all of these. */
TEST(test_order_of_the_text)
{
    static const char *const schemas[] = {
        "{\"$ref\":\"#/$defs/"
        "b\",\"properties\":{\"c\":{},\"d\":{}},\"$defs\":{\"b\":{\"properties\":{\"a\":{},\"b\":{}}"
        "}}}",
        "{\"properties\":{\"a\":{},\"b\":{}},\"$ref\":\"#/$defs/"
        "b\",\"$defs\":{\"b\":{\"properties\":{\"c\":{},\"d\":{}}"
        "}}}",
        "{\"allOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b\":{}}},{\"properties\":{\"c\":{}}}],"
        "\"properties\":{"
        "\"d\":{}}}",
        "{\"properties\":{\"a\":{}},\"allOf\":[{\"properties\":{\"b\":{}}},{\"allOf\":[{\"properties\":{\"c\":{}}},{"
        "\"properties\":{\"d\":{}}}]}]}",
        "{\"anyOf\":[{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\"]},{\"properties\":{\"a\":{},\"b\":{"
        "}}}],\"properties\":{\"c\":{},\"d\":{}}}",
        "{\"oneOf\":[{\"properties\":{\"a\":{\"const\":0}},\"required\":[\"a\"]},{\"properties\":{\"a\":{\"const\":1}"
        "},"
        "\"required\":[\"a\"]}],\"properties\":{\"b\":{},\"c\":{},\"d\":{}}}",
        "{\"if\":{\"properties\":{\"a\":{}}},\"then\":{\"properties\":{\"b\":{},\"c\":{}}},\"properties\":{\"d\":{}}"
        "}",
        "{\"dependentSchemas\":{\"b\":{\"properties\":{\"a\":{},\"b\":{}}}},\"properties\":{\"c\":{},\"d\":{}}}",
        "{\"required\":[\"d\",\"b\"],\"allOf\":[{\"required\":[\"c\"],\"properties\":{\"a\":{}}}],\"properties\":{"
        "\"b\":{"
        "},\"c\":{}}}",
        /* a member whose own members come from two schemas */
        "{\"$ref\":\"#/$defs/b\",\"properties\":{\"x\":{\"properties\":{\"c\":{},\"d\":{}}}},\"$defs\":{\"b\":{"
        "\"properties\":{\"x\":{\"properties\":{\"a\":{},\"b\":{}}}}}}}",
    };
    for (size_t i = 0; i < TEST_COUNT(schemas); i++) {
        const bool inside = i + 1 == TEST_COUNT(schemas);
        own_grammar *g = compile(schemas[i], "ordered");
        for (int orders = 0; orders < 256; orders++) {
            const int at[4] = { orders & 3, orders >> 2 & 3, orders >> 4 & 3, orders >> 6 };
            char text[100];
            if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15) continue;
            int n = sprintf(text, "%s", inside ? "{\"x\":{" : "{");
            for (int k = 0; k < 4; k++) n += sprintf(text + n, "\"%c\":%d%s", 'a' + at[k], at[k], k < 3 ? "," : "}");
            if (inside) n += sprintf(text + n, "}");
            if (accepts(g, text, (size_t)n) != (at[0] == 0 && at[1] == 1 && at[2] == 2))
                test_fail(__FILE__, __LINE__, "%s\n%s", schemas[i], text);
        }
    }
}

/* References are resolved against the nearest address: the examples of RFC 3986, 5.4, without those that differ in the
   part behind the # alone, and addresses without a scheme. */
TEST(test_resolved_references)
{
    static const char *const cases[][3] = {
        /* a base, a reference, its target */
        { "http://a/b/c/d;p?q", "g:h", "g:h" },
        { "http://a/b/c/d;p?q", "g", "http://a/b/c/g" },
        { "http://a/b/c/d;p?q", "./g", "http://a/b/c/g" },
        { "http://a/b/c/d;p?q", "g/", "http://a/b/c/g/" },
        { "http://a/b/c/d;p?q", "/g", "http://a/g" },
        { "http://a/b/c/d;p?q", "//g", "http://g" },
        { "http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y" },
        { "http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y" },
        { "http://a/b/c/d;p?q", ";x", "http://a/b/c/;x" },
        { "http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y" },
        { "http://a/b/c/d;p?q", ".", "http://a/b/c/" },
        { "http://a/b/c/d;p?q", "./", "http://a/b/c/" },
        { "http://a/b/c/d;p?q", "..", "http://a/b/" },
        { "http://a/b/c/d;p?q", "../g", "http://a/b/g" },
        { "http://a/b/c/d;p?q", "../..", "http://a/" },
        { "http://a/b/c/d;p?q", "../../g", "http://a/g" },
        { "http://a/b/c/d;p?q", "../../../../g", "http://a/g" },
        { "http://a/b/c/d;p?q", "/./g", "http://a/g" },
        { "http://a/b/c/d;p?q", "/../g", "http://a/g" },
        { "http://a/b/c/d;p?q", "g.", "http://a/b/c/g." },
        { "http://a/b/c/d;p?q", "..g", "http://a/b/c/..g" },
        { "http://a/b/c/d;p?q", "./../g", "http://a/b/g" },
        { "http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/" },
        { "http://a/b/c/d;p?q", "g/./h", "http://a/b/c/g/h" },
        { "http://a/b/c/d;p?q", "g/../h", "http://a/b/c/h" },
        { "http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x" },
        { "http://x.org", "c", "http://x.org/c" },
        { "http://x.org?q", "c", "http://x.org/c" },
        { "http://x.org/a", "../b", "http://x.org/b" },
        { "urn:uuid:1-2", "urn:uuid:3", "urn:uuid:3" },
        { "x+y.2-:/a", "b", "x+y.2-:/b" },
        { "", "./tree", "tree" },
        { "leaf", "./tree", "tree" },
        { "d/root", "../d/tree", "tree" },
        { "d/root", "../../e//f", "../e//f" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char schema[400];
        snprintf(schema, sizeof schema,
                 "{\"$id\":\"%s\",\"$ref\":\"%s\",\"$defs\":{\"t\":{\"$id\":\"%s\",\"type\":\"null\"}}}", cases[i][0],
                 cases[i][1], cases[i][2]);
        own_grammar *g = compile(schema, NULL);
        if (!accepts(g, "null", 4) || accepts(g, "1", 1)) test_fail(__FILE__, __LINE__, "%s", schema);
    }
}

/* What is refused, where, and how. */
TEST(test_refusals)
{
    static const struct {
        const char *schema;
        int status;
        const char *place;
    } cases[] = {
        { "{\"properties\":{\"a\":{\"multipleOf\":30.003}}}", SAMP_E_UNSUPPORTED, "/properties/a/multipleOf:" },
        { "{\"multipleOf\":100001}", SAMP_E_UNSUPPORTED, "/multipleOf:" },
        { "{\"multipleOf\":10000.5}", SAMP_E_UNSUPPORTED, "/multipleOf:" },
        { "{\"multipleOf\":1000000.0001}", SAMP_E_UNSUPPORTED, "/multipleOf:" },
        { "{\"items\":{\"uniqueItems\":true}}", SAMP_E_UNSUPPORTED, "/items/uniqueItems:" },
        { "{\"properties\":{\"a/b~\":{\"pattern\":\"(?<=a)b\"}}}", SAMP_E_UNSUPPORTED,
          "/properties/a~1b~0/pattern:" },
        { "{\"pattern\":\"(\"}", SAMP_E_FORMAT, "/pattern:" },
        { "{\"type\":\"object\",\"not\":{\"propertyNames\":{\"maxLength\":1}},\"minProperties\":2}",
          SAMP_E_UNSUPPORTED, "/minProperties: minProperties" }, /* beside a member that must have some other name */
        { "{\"patternProperties\":{\"[\":{}}}", SAMP_E_FORMAT, "/patternProperties/[:" },
        { "{\"$ref\":\"other.json\"}", SAMP_E_UNSUPPORTED, "/$ref:" },
        { "{\"$ref\":\"#/none\"}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#none\"}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"anyOf\":[{},{\"$dynamicRef\":\"#a\"}]}", SAMP_E_UNSUPPORTED, "/anyOf/1/$dynamicRef:" },
        { "{\"unevaluatedProperties\":false,\"anyOf\":[{\"properties\":{}}]}", SAMP_E_UNSUPPORTED,
          "/unevaluatedProperties:" },
        { "{\"allOf\":[{\"contains\":{\"const\":1}},{\"contains\":{\"const\":2}},{\"contains\":{\"const\":3}},"
          "{\"contains\":{\"const\":4}}]}",
          SAMP_E_UNSUPPORTED, "/allOf/" },
        { "{\"$schema\":\"http://json-schema.org/draft-03/schema#\"}", SAMP_E_UNSUPPORTED, "/$schema:" },
        { "{\"type\":\"any\"}", SAMP_E_FORMAT, "/type:" },
        { "{\"minLength\":-1}", SAMP_E_FORMAT, "/minLength:" },
        { "{\"maxLength\":15e-1}", SAMP_E_FORMAT, "/maxLength:" },
        { "{\"maxLength\":1e-999999999999}", SAMP_E_FORMAT, "/maxLength:" },
        { "{\"minLength\":-1e0}", SAMP_E_FORMAT, "/minLength:" },
        { "{\"minLength\":1e999999999999}", SAMP_E_RANGE, "/minLength:" },
        { "{\"minLength\":1.5}", SAMP_E_FORMAT, "/minLength:" },
        { "{\"enum\":1}", SAMP_E_FORMAT, "/enum:" },
        { "{\"minimum\":\"1\"}", SAMP_E_FORMAT, "/minimum:" },
        { "{\"items\":3}", SAMP_E_FORMAT, "/items:" },
        { "{\"required\":true}", SAMP_E_FORMAT, "/required:" },
        { "{\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{"
          "\"a\":{"
          "\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"object\",\"not\":{\"required\":"
          "true}}}}"
          "}}}}",
          SAMP_E_FORMAT, "/properties/a/properties/a/properties/a/not/required:" },
        { "{\"minItems\":99999999999999}", SAMP_E_RANGE, "/minItems:" },
        { "{\"minimum\":1e999999999}", SAMP_E_RANGE, "/minimum:" },
        { "[]", SAMP_E_FORMAT, ":" },
        /* an error stands beside values that are compared with a pattern, or joined with others */
        { "{\"enum\":[\"a\"],\"type\":[\"string\",\"\"],\"maxLength\":21}", SAMP_E_FORMAT,
          "/type/1: expected null," },
        { "{\"type\":[\"number\",\"\"],\"enum\":[1,2,3],\"multipleOf\":10}", SAMP_E_FORMAT,
          "/type/1: expected null," },
        { "{\"type\":[\"string\",\"\"],\"anyOf\":[{\"enum\":[\"a\"]},{\"const\":\"b\"}],\"maxLength\":21}",
          SAMP_E_FORMAT, "/type/1: expected null," },
        { "{\"type\":\"array\",\"not\":{\"enum\":[[1]]}}", SAMP_E_UNSUPPORTED, "/not/enum/0:" },
        { "{\"type\":\"array\",\"not\":{\"const\":[1]}}", SAMP_E_UNSUPPORTED, "/not/const:" },
        { "{\"type\":\"array\",\"not\":{\"prefixItems\":[{}],\"items\":{\"type\":\"integer\"}}}", SAMP_E_UNSUPPORTED,
          "/not/items:" },
        { "{\"type\":\"array\",\"not\":{\"uniqueItems\":true}}", SAMP_E_UNSUPPORTED, "/not/uniqueItems:" },
        { "{\"type\":\"array\",\"unevaluatedItems\":false,\"anyOf\":[{\"items\":{}}]}", SAMP_E_UNSUPPORTED,
          "/unevaluatedItems:" },
        { "{\"items\":{\"type\":\"object\",\"not\":{\"anyOf\":[{\"propertyNames\":{\"maxLength\":1}},{"
          "\"maxProperties\":2}]}}}",
          SAMP_E_UNSUPPORTED, "/items/not/anyOf/1/maxProperties:" },
        { "{\"pattern\":\"(?<!a)b\"}", SAMP_E_UNSUPPORTED, "/pattern: lookbehind is not supported" },
        { "{\"pattern\":\"(?>a)\"}", SAMP_E_UNSUPPORTED, "/pattern: ECMA-262 has no group that begins like this" },
        { "{\"pattern\":\"(?#c)\"}", SAMP_E_UNSUPPORTED, "/pattern: ECMA-262 has no group that begins like this" },
        { "{\"pattern\":\"(?\"}", SAMP_E_UNSUPPORTED, "/pattern: ECMA-262 has no group that begins like this" },
        { "{\"pattern\":\"(?s)a\"}", SAMP_E_UNSUPPORTED,
          "/pattern: of flags only (?i) in front and (?i:...) are supported" },
        { "{\"pattern\":\"a(?-i)\"}", SAMP_E_UNSUPPORTED,
          "/pattern: of flags only (?i) in front and (?i:...) are supported" },
        { "{\"type\":\"float\"}", SAMP_E_FORMAT,
          "/type: expected null, boolean, object, array, number, string or integer" },
        { "{\"$ref\":\"#/enum\",\"enum\":[1]}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"enum\":[1e999]}", SAMP_E_RANGE, "/enum" },
        { "{\"const\":1e-999}", SAMP_E_RANGE, "/const" },
        { "{\"minimum\":"
          "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
          "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
          "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111}",
          SAMP_E_RANGE, ":" },
        { "{\"$recursiveRef\":\"#\"}", SAMP_E_UNSUPPORTED, "/$recursiveRef:" },
        { "{\"type\":\"string\"", SAMP_E_FORMAT, "expected" },
        { "{\"properties\":{\"\\u0001\":{\"type\":\"any\"}}}", SAMP_E_FORMAT, "/properties/?/type:" },
        { "{\"anyOf\":[1,1,1,1,1,1,1,1,1,1,1,{\"type\":\"any\"}]}", SAMP_E_FORMAT, "/anyOf/0:" },
        { "{\"anyOf\":[{},{},{},{},{},{},{},{},{},{},{},{\"type\":\"any\"}]}", SAMP_E_FORMAT, "/anyOf/11/type:" },
        { "{\"type\":\"strings\"}", SAMP_E_FORMAT, "/type: expected null," },
        { "{\"minLength\":1.0x}", SAMP_E_FORMAT, "expected" },
        { "{\"multipleOf\":-2}", SAMP_E_FORMAT, "/multipleOf:" },
        { "{\"$ref\":5}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"abc\"}", SAMP_E_UNSUPPORTED, "/$ref:" },
        { "{\"$ref\":\"{x\"}", SAMP_E_UNSUPPORTED, "/$ref:" },
        { "{\"$ref\":\"#/anyOf/7\",\"anyOf\":[{}]}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#/anyOf/\",\"anyOf\":[{}]}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#/anyOf/999999999999\",\"anyOf\":[{}]}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#/anyOf/x\",\"anyOf\":[{}]}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#/title/a\",\"title\":\"b\"}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"$ref\":\"#/a~\"}", SAMP_E_FORMAT, "/$ref:" },
        { "{\"not\":{\"required\":[\"a\",5]},\"type\":\"object\"}", SAMP_E_FORMAT, "/not/required/1:" },
        { "{\"type\":\"array\",\"not\":{\"contains\":{\"const\":1},\"minContains\":2}}", SAMP_E_UNSUPPORTED,
          "/not/" },
        { "{\"type\":\"array\",\"not\":{\"contains\":{\"const\":1},\"maxContains\":2}}", SAMP_E_UNSUPPORTED,
          "/not/" },
        { "{\"patternProperties\":{\"a\":{},\"b\":{},\"c\":{},\"d\":{},\"e\":{},\"f\":{},\"g\":{},\"h\":{},\"i\":{},"
          "\"j\":{},\"k\":{},\"l\":{},\"m\":{},\"n\":{},\"o\":{},\"p\":{},\"q\":{},\"r\":{},\"s\":{},\"t\":{},\"u\":{"
          "},"
          "\"v\":{},\"w\":{},\"x\":{},\"y\":{},\"z\":{},\"1\":{},\"2\":{},\"3\":{},\"4\":{},\"5\":{}}}",
          SAMP_E_UNSUPPORTED, "/patternProperties/5:" },
        { "{\"$schema\":\"http://json-schema.org/draft-08/schema#\"}", SAMP_E_UNSUPPORTED, "/$schema:" },
        { "{\"type\":\"array\",\"not\":{\"$ref\":\"#/nowhere\"}}", SAMP_E_FORMAT, "/not/$ref:" },
        { "{\"uniqueItems\":true,\"prefixItems\":[{\"const\":1}]}", SAMP_E_UNSUPPORTED, "/uniqueItems:" },
        { "{\"uniqueItems\":true,\"contains\":{\"const\":1}}", SAMP_E_UNSUPPORTED, "/uniqueItems:" },
        { "{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"minContains\":64,\"maxItems\":64}",
          SAMP_E_UNSUPPORTED, "/contains:" },
        { "{\"uniqueItems\":true,\"items\":{\"type\":\"array\"}}", SAMP_E_UNSUPPORTED, "/uniqueItems:" },
        { "{\"type\":\"number\",\"allOf\":[{\"enum\":[1e999999,2]},{\"enum\":[2,1e888888]}]}", SAMP_E_RANGE, "" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        long before = heap.live;
        samp_grammar *g = any_number(cases[i].schema, NULL, &error);
        if (g || error.status != cases[i].status || strncmp(error.message, cases[i].place, strlen(cases[i].place)))
            test_fail(__FILE__, __LINE__, "%s: %d %s", cases[i].schema, g ? 0 : error.status, error.message);
        assert_true(error.line == 1 && error.column >= 1);
        samp_grammar_free(g);
        assert_num(heap.live, before);
    }
}

/* n copies of a text, between two others. */
static char *copies(const char *before, const char *text, size_t n, const char *after)
{
    size_t size = strlen(before) + n * strlen(text) + strlen(after) + 1, used = strlen(before);
    char *out = (char *)malloc(size);
    assert_non_null(out);
    memcpy(out, before, used);
    for (size_t i = 0; i < n; i++, used += strlen(text)) memcpy(out + used, text, strlen(text));
    memcpy(out + used, after, strlen(after) + 1);
    return out;
}

/* A place too long to tell is told as far as there is room, the reason where it fits; what is too long to be looked for is
   a status. */
TEST(test_long_places)
{
    static const struct {
        const char *before, *text, *after;
        int status;
        const char *says;
    } cases[] = {
        { "{\"properties\":{\"", "aaaaaaaaaa", "\":{\"type\":\"any\"}}}", SAMP_E_FORMAT, "/properties/aaaaaaaaaa" },
        { "{\"$ref\":\"#/", "aaaaaaaaaa", "\"}", SAMP_E_RANGE, "/$ref:" },
        { "{\"$ref\":\"http://x.org/", "aaaaaaaaaa", "\"}", SAMP_E_RANGE, "/$ref:" },
        { "{\"$id\":\"http://x.org/", "aaaaaaaaaa", "/b\",\"$ref\":\"c\"}", SAMP_E_UNSUPPORTED, "/$ref:" },
        { "{\"const\":", "1234567891", "}", SAMP_E_RANGE, "/const" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char *schema = copies(cases[i].before, cases[i].text, 110, cases[i].after);
        samp_grammar_error error;
        samp_grammar *g = any_number(schema, NULL, &error);
        if (g || error.status != cases[i].status || strncmp(error.message, cases[i].says, strlen(cases[i].says)))
            test_fail(__FILE__, __LINE__, "%.40s: %d %s", schema, g ? 0 : error.status, error.message);
        assert_true(strlen(error.message) < sizeof error.message);
        free(schema);
    }
    /* 450 schemas that refer to one another, and 12 that must not hold in one another */
    page many = { 0 };
    put(&many, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    for (int i = 0; i < 450; i++) put(&many, "\"a%d\":{\"$ref\":\"#/$defs/a%d\"},", i, i + 1);
    put(&many, "\"a450\":{}}}");
    samp_grammar_error far;
    assert_null(any_number(many.text, NULL, &far));
    assert_status(far.status, SAMP_E_RANGE);
    assert_non_null(strstr(far.message, "too many schemas in one another"));
    char *closed = copies("\"any\"}", "}}", 60, "");
    char *deep = copies("", "{\"properties\":{\"abcdefgh\":", 60, "{\"type\":"),
         *schema = copies(deep, "", 0, closed);
    samp_grammar_error error;
    assert_null(any_number(schema, NULL, &error));
    assert_status(error.status, SAMP_E_FORMAT);
    assert_memory_equal(error.message, "/properties/abcdefgh/properties/", 32);
    free(closed);
    free(deep);
    free(schema);
}

/* Schemas that no value satisfies are an error of their own, with the place of the reason; those that some value
   satisfies are not, though most of their parts are dead. */
TEST(test_unsatisfiable)
{
    static const char *const cases[][2] = {
        { "false", ": no value" },
        { "{\"enum\":[]}", "/enum: no value is in this list" },
        { "{\"type\":[]}", ": no value" },
        { "{\"not\":{}}", ": no value" },
        { "{\"not\":{\"not\":false}}", ": no value" },
        { "{\"type\":\"number\",\"minimum\":3,\"maximum\":2}", ": no value" },
        { "{\"type\":\"number\",\"minimum\":3,\"exclusiveMaximum\":3}", ": no value" },
        { "{\"type\":\"integer\",\"exclusiveMinimum\":3,\"exclusiveMaximum\":4}", ": no value" },
        { "{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":15,\"maximum\":20}", ": no value" },
        { "{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}", ": no value" },
        { "{\"type\":\"string\",\"allOf\":[{\"pattern\":\"^a\"},{\"pattern\":\"^b\"}]}", ": no value" },
        { "{\"type\":\"string\",\"format\":\"date\",\"maxLength\":9}", ": no value" },
        { "{\"const\":1,\"enum\":[2,3]}", ": no value" },
        { "{\"const\":1,\"type\":\"string\"}", ": no value" },
        { "{\"anyOf\":[false,{\"enum\":[]}]}", ": no value" },
        { "{\"oneOf\":[{\"type\":\"null\"},{\"const\":null}]}", ": no value" },
        { "{\"allOf\":[{\"type\":\"null\"},{\"type\":\"number\",\"maximum\":-1,\"minimum\":1}]}",
          "/allOf/1: no value" },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"not\":true}}}", "/$defs/a: no value" },
        { "{\"type\":\"object\",\"properties\":{\"a\":false},\"required\":[\"a\"]}", "/properties/a: no value" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":"
          "\"integer\","
          "\"minimum\":5,\"maximum\":3}},\"required\":[\"b\"]}},\"required\":[\"a\"]}",
          "/properties/a/properties/b: no value" },
        { "{\"type\":\"object\",\"required\":[\"a\",\"z\"],\"properties\":{\"a\":{}},\"additionalProperties\":false}",
          "/required/1: this name is required" },
        { "{\"type\":\"object\",\"required\":[\"abc\"],\"propertyNames\":{\"maxLength\":2}}", ": no value" },
        { "{\"type\":\"object\",\"minProperties\":3,\"maxProperties\":2}", ": no value" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", ": no value" },
        { "{\"type\":\"object\",\"minProperties\":1,\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":{\"$ref\":\"#/$defs/"
          "l\"}},"
          "\"additionalProperties\":false,\"$defs\":{\"l\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#"
          "\"}}}}",
          ": no value" },
        { "{\"type\":\"array\",\"minItems\":2,\"maxItems\":1}", ": no value" },
        { "{\"type\":\"array\",\"minItems\":1,\"items\":{\"enum\":[]}}", "/items/enum: no value" },
        { "{\"type\":\"array\",\"minItems\":3,\"prefixItems\":[false]}", "/prefixItems/0: no value" },
        { "{\"type\":\"array\",\"items\":{\"enum\":[1,2]},\"uniqueItems\":true,\"minItems\":3}", ": no value" },
        { "{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"items\":{\"type\":\"number\"}}", ": no value" },
        { "{\"type\":\"object\",\"allOf\":[{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"a\"]},{"
          "\"properties\":{\"a\":{"
          "\"const\":2}}}]}",
          ": no value" },
    };
    static const char *const good[] = {
        "{\"minimum\":3,\"maximum\":2}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"},\"b\":false}}",
        "{\"type\":\"array\",\"items\":false}",
        "{\"anyOf\":[false,{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#"
        "\"},{"
        "\"type\":\"null\"}]}}}]}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
        "a\"}},\"required\":[\"a\"],\"$defs\":{\"a\":{\"type\":"
        "\"object\",\"required\":[\"b\"],\"properties\":{\"b\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}}}}}",
        "{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":15,\"maximum\":21}",
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        const schema_case c = { cases[i][0], NULL, NULL, NULL };
        assert_null(any_number(cases[i][0], NULL, &error));
        if (error.status != SAMP_E_EMPTY || strncmp(error.message, cases[i][1], strlen(cases[i][1])))
            test_fail(__FILE__, __LINE__, "%s\n%d %s", cases[i][0], error.status, error.message);
        check_hardship(&c, true);
    }
    for (size_t i = 0; i < TEST_COUNT(good); i++) samp_grammar_free(compile(good[i], NULL));
}

/* Limits are told with the schema that reaches them, though no keyword of it is wrong. */
TEST(test_places_of_limits)
{
    static const struct {
        const char *before, *text, *after, *says;
        size_t n;
    } cases[] = {
        { "{\"properties\":{\"a\":{\"allOf\":[{}",
          ",{\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]},{\"required\":[\"c\"]}]}", "]}}}",
          "/properties/a: too many combinations", 40 },
        { "{\"items\":{\"$ref\":\"#/$defs/x\"},\"$defs\":{\"x\":{\"oneOf\":[{\"pattern\":\"a\"}",
          ",{\"pattern\":\"^a*b{1,9}\"}", "]}}}", "/$defs/x: ", 1000 },
        { "{\"properties\":{\"a\":{\"items\":[{}", ",{}", "]}}}", "/properties/a: too many items", 5000 },
        { "{\"properties\":{\"a\":{\"minimum\":0.", "1", "}}}", "/properties/a: the grammar becomes too large", 380 },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char *schema = copies(cases[i].before, cases[i].text, cases[i].n, cases[i].after);
        samp_grammar_error error;
        assert_null(any_number(schema, NULL, &error));
        if (strncmp(error.message, cases[i].says, strlen(cases[i].says)) || error.column < 5)
            test_fail(__FILE__, __LINE__, "%.60s: %d %zu %s", schema, error.status, error.column, error.message);
        free(schema);
    }
}

/* A keyword with a value that it can't have is an error wherever it stands; none is looked into as if it were right. */
TEST(test_wrong_values)
{
    static const char *const keywords[][2] = {
        /* a keyword, and values that it can't have */
        { "type", "[1] {} true 1" },
        { "enum", "{} 3 \"a\"" },
        { "not", "[] 3 \"a\" null" },
        { "allOf", "{} 3 true" },
        { "anyOf", "{} 3" },
        { "oneOf", "{} 3" },
        { "if", "[] 3" },
        { "properties", "[true] true 3 \"a\"" },
        { "patternProperties", "[true] true 3" },
        { "additionalProperties", "3 []" },
        { "propertyNames", "3 [true]" },
        { "required", "[1] [\"a\",{}] {} \"a\"" },
        { "minProperties", "true \"1\"" },
        { "maxProperties", "{}" },
        { "dependentRequired", "[1] {\"a\":[1]} true" },
        { "dependentSchemas", "[true] 3 {\"a\":3}" },
        { "dependencies", "[[1]] {\"a\":[{}]}" },
        { "prefixItems", "{} true" },
        { "items", "3 \"a\"" },
        { "contains", "3 []" },
        { "minItems", "\"1\"" },
        { "maxItems", "[]" },
        { "uniqueItems", "1 {} \"a\"" },
        { "minLength", "\"1\"" },
        { "maxLength", "{}" },
        { "pattern", "true 3 [] {} null" },
        { "format", "3 {}" },
        { "minimum", "\"1\" {}" },
        { "exclusiveMaximum", "\"1\"" },
        { "multipleOf", "\"1\" true 0" },
    };
    static const char *const around[] = { "{\"%s\":%s}", "{\"items\":{\"%s\":%s}}", "{\"not\":{\"%s\":%s}}",
                                          "{\"properties\":{\"a\":{\"%s\":%s}}}",
                                          "{\"anyOf\":[{\"type\":\"array\",\"minItems\":1},{\"%s\":%s}]}" };
    for (size_t i = 0; i < TEST_COUNT(keywords); i++)
        for (size_t k = 0; k < TEST_COUNT(around); k++) {
            char values[100], schema[200];
            snprintf(values, sizeof values, "%s", keywords[i][1]);
            for (char *value = strtok(values, " "); value; value = strtok(NULL, " ")) {
                samp_grammar_error error;
                snprintf(schema, sizeof schema, around[k], keywords[i][0], value);
                own_grammar *g = any_number(schema, NULL, &error);
                bool right = error.status == SAMP_E_FORMAT || (k == 2 && error.status == SAMP_E_UNSUPPORTED);
                if (g || !right || !strstr(error.message, keywords[i][0]))
                    test_fail(__FILE__, __LINE__, "%s: %d %s", schema, g ? 0 : error.status, error.message);
            }
        }
}

/* ------------------------------------------------------------------------------------------- hostile input */

/* A status, no hang (it takes a third of a second at most; an emulator or a sanitizer takes longer), and nothing left on
   the heap. */
static void check_hostile(char *schema)
{
    samp_grammar_error error;
    long before = heap.live;
    clock_t from = clock();
    samp_grammar *g = any_number(schema, NULL, &error);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    print_message("%.60s...: %d %s, %.3f s\n", schema, error.status, g ? "" : error.message, seconds);
    assert_true((g != NULL) == (error.status == SAMP_OK));
    if (seconds > 60.0) test_fail(__FILE__, __LINE__, "%.60s... took %.2f s", schema, seconds);
    samp_grammar_free(g);
    assert_num(heap.live, before);
    free(schema);
}

TEST(test_hostile_schemas)
{
    check_hostile(copies("", "[", 1000000, ""));
    check_hostile(copies("", "{\"not\":", 200, "{}"));
    char *closed = copies("{", "}", 201, "");
    check_hostile(copies("", "{\"not\":", 200, closed));
    free(closed);
    closed = copies("{", "}", 121, "");
    check_hostile(copies("", "{\"items\":", 120, closed));
    free(closed);
    check_hostile(copies("{\"$ref\":\"#\"", "", 0, "}"));
    check_hostile(copies("{\"allOf\":[{\"$ref\":\"#\"}],\"anyOf\":[{\"$ref\":\"#\"}", ",{\"$ref\":\"#\"}", 30, "]}"));
    check_hostile(
        copies("{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}},\"$ref\":\"#/$defs/a\"",
               "", 0, "}"));
    check_hostile(copies("{\"allOf\":[{}",
                         ",{\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]},{\"required\":[\"c\"]}]}", 40,
                         "]}"));
    check_hostile(copies("{\"oneOf\":[{}",
                         ",{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"}}}", 40, "]}"));
    check_hostile(copies("{\"oneOf\":[{\"pattern\":\"a\"}", ",{\"pattern\":\"^a*b{1,9}\"}", 1000, "]}"));
    check_hostile(copies("{\"enum\":[0", ",1", 400000, "]}"));
    check_hostile(copies("{\"required\":[\"a\"", ",\"a\"", 200000, "]}"));
    check_hostile(
        copies("{\"allOf\":[{\"$ref\":\"#/x\"}", ",{\"type\":\"object\"}", 50000, "],\"x\":{\"minProperties\":1}}"));
    check_hostile(copies("{\"minLength\":2000000000,\"pattern\":\"", "(a|b){1000}", 100, "\"}"));
    check_hostile(copies("{\"pattern\":\"", "(", 50000, "\"}"));
    /* a name is read by a pattern, of which many places come to be possible at once */
    check_hostile(copies("{\"patternProperties\":{\"^((a|b)*a(a|b){0,12})*$\":{\"type\":\"number\"}},"
                         "\"properties\":{\"",
                         "aaaaaab", 300, "\":{\"minimum\":3}}}"));
    check_hostile(copies("{\"patternProperties\":{\"^(((a?){1,30}b?){1,30}){1,30}$\":{\"type\":\"number\"}},"
                         "\"properties\":{\"",
                         "aaaaaab", 300, "\":{\"minimum\":3}}}"));
    check_hostile(copies(
        "{\"minItems\":1000000000,\"items\":{\"minItems\":1000000000},\"contains\":{\"type\":\"null\"}", "", 0, "}"));
    check_hostile(copies("{\"minimum\":0.", "1", 380, "}"));
    check_hostile(copies("{\"multipleOf\":0.0", "0", 390, "1}"));
    check_hostile(copies("{\"items\":[{}", ",{}", 200000, "]}"));
    check_hostile(copies("{\"const\":[0", ",[1,2,{\"a\":null}]", 20000, "]}"));
    check_hostile(copies("{\"$id\":\"http://a/b\",\"items\":[{}", ",{\"$id\":\"c\",\"$ref\":\"d\"}", 20000, "]}"));
}

/* 10,000 properties, each with a schema of its own. */
TEST(test_many_properties)
{
    size_t n = 10000, used = 0, room = n * 80 + 100;
    char *text = (char *)malloc(room);
    assert_non_null(text);
    used += (size_t)snprintf(text + used, room - used, "{\"properties\":{\"p\":{}");
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, room - used, ",\"p%zu\":{\"properties\":{\"x\":{\"const\":%zu}}}", i,
                                 i);
    snprintf(text + used, room - used, "}}");
    check_hostile(text);
}

/* Every allocation that fails is a status, and nothing is lost. */
TEST(test_no_memory)
{
    static const char schema[] =
        "{\"properties\":{\"a\":{\"pattern\":\"^a\",\"minLength\":3},\"b\":{\"oneOf\":[{\"const\":\"x\"},"
        "{\"type\":\"number\",\"minimum\":3}]}},\"required\":[\"a\"],\"items\":{\"$ref\":\"#\"},"
        "\"patternProperties\":{\"^x\":{}}}";
    for (long at = 1;; at++) {
        samp_grammar_error error;
        long before = heap.live;
        heap.fail_at = at;
        samp_grammar *g = any_number(schema, NULL, &error);
        bool failed = heap.fail_at == 0;
        heap.fail_at = 0;
        if (failed) {
            assert_null(g);
            assert_num(error.status, SAMP_E_NOMEM);
        } else
            assert_non_null(g);
        samp_grammar_free(g);
        assert_num(heap.live, before);
        if (!failed) break;
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
