/* test_styles.c - the arguments of tool calls as tags, in each style of structural tags: texts that are taken and refused;
   random schemas with texts that a writer of the test's own makes of documents, and changed ones, about which a reader of
   the test's own says whether they hold a value of the schema. */
#define SAMPLING_GRAMMAR
#include "sampling.h"

#include "tests/support/naive_schema.h"
#include "tests/support/small_index.h"
#include "tests/support/test.h"

static samp_grammar *read_style(const char *style, const char *schema, const char *options, samp_grammar_error *error)
{
    static char text[1 << 13];
    const bool old = !strcmp(style, "qwen_xml_parameter");
    snprintf(text, sizeof text,
             "{\"type\":\"structural_tag\",\"format\":{\"type\":\"%s\",\"json_schema\":%s%s%s%s%s}}",
             old ? style : "json_schema", schema, old ? "" : ",\"style\":\"", old ? "" : style, old ? "" : "\"",
             *options == ',' ? options : "");
    return samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, *options == ',' ? NULL : options, error);
}

/* ------------------------------------------------------------------------------------------------- by hand */

#define DSML \
    "\xef\xbd\x9c" \
    "DSML" \
    "\xef\xbd\x9c"
#define OF(members, more) "{\"type\":\"object\",\"properties\":{" members "}" more "}"
#define NAME_AGE          "\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\"}"
#define BOTH              OF(NAME_AGE, ",\"required\":[\"name\",\"age\"]")
#define VALUE(is)         OF("\"v\":" is, ",\"required\":[\"v\"],\"additionalProperties\":false")
#define INNER \
    "{\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}," \
    "\"required\":[\"street\",\"city\"]}"
#define CONTACT \
    "{\"type\":\"object\",\"required\":[\"phone\",\"email\"],\"properties\":{\"phone\":{\"type\":\"string\"," \
    "\"pattern\":\"[0-9]{5}$\"},\"email\":{\"type\":\"string\",\"format\":\"email\"}}}"
#define COUNTED \
    OF(NAME_AGE ",\"ID\":{\"type\":\"integer\"},\"is\":{\"type\":\"boolean\"}", \
       ",\"minProperties\":2,\"maxProperties\":3,\"additionalProperties\":false")
#define X_KEYS \
    "{\"type\":\"object\",\"patternProperties\":{\"^x-[a-z]+$\":{\"type\":\"integer\"}},\"additionalProperties\":" \
    "false}"
#define NODE \
    "{\"$ref\":\"#/$defs/N\",\"$defs\":{\"N\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"," \
    "\"pattern\":\"^[a-z]+$\"},\"next\":{\"$ref\":\"#/$defs/" \
    "N\"}},\"required\":[\"name\"],\"additionalProperties\":false}}}"
#define P(name, value)     "<parameter=" name ">" value "</parameter>"
#define M(name, value)     "<parameter name=\"" name "\">" value "</parameter>"
#define D(name, is, value) "<" DSML "parameter name=\"" name "\" string=\"" is "\">" value "</" DSML "parameter>"
#define G(name, value)     "<arg_key>" name "</arg_key><arg_value>" value "</arg_value>"
#define C(name, is, value) "<cofl:value name=\"" name "\" type=\"" is "\">" value "</cofl:value>"
#define I(is, value)       "<cofl:value type=\"" is "\">" value "</cofl:value>"
#define K(name, is, value) "<|open|>argument key=\"" name "\" type=\"" is "\"<|sep|>" value "<|close|>argument<|sep|>"
#define PAGE               "<!DOCTYPE html>\n<body><h1>Hello</h1></body>"

TEST(test_texts)
{
    static const struct {
        const char *style, *schema, *good[8], *bad[9];
    } cases[] = {
        { "qwen_xml",
          BOTH,
          { P("name", "Bob") P("age", "\t100\n"), P("name", "Bob") "\t\n" P("age", "100"),
            P("name", PAGE) P("age", "0"), "\n\t" P("name", "") P("age", "1") "\n",
            P("name", "\"Bob&lt;\"") P("age", "-1"), P("age", "7") P("name", " x "),
            P("name", "a</parameter") P("age", "7") P("city", "Oslo") },
          { P("name", "Bob"), P("age", "1"), P("name", "Bob") P("age", "1.0"), P("name", "Bob") P("age", "x"),
            M("name", "Bob") M("age", "1"), P("name", "Bob") P("age", "1") P("1st", "x"),
            "x" P("name", "Bob") P("age", "1"), P("name", "Bob") "," P("age", "1"),
            P("name", "Bob") P("age", "1") P("age", "1") } },
        { "qwen_xml_parameter", BOTH, { P("name", "Bob") P("age", "\t100\n") }, { P("name", "Bob") } },
        { "qwen_xml",
          OF(NAME_AGE, ""),
          { "", "\n", P("name", "Bob"), P("age", "100"), P("anything", "It's a text."), P("b", "[1, {\"a\":2}]") },
          { P("age", "\"1\""), P("", "x"), P("a b", "x") } },
        { "qwen_xml",
          OF("\"address\":" INNER, ",\"required\":[\"address\"]"),
          { P("address", "{\"street\": \"Main St\", \"city\": \"A&<>\"}"),
            P("address", "\n{\"city\":\"\",\"street\":\"\"}\n") },
          { P("address", "{\"street\": Main St, \"city\": New York}"),
            P("address", P("street", "Main St") P("city", "New York")), P("address", "{\"street\": \"Main St\"}"),
            P("address", "{\"street\":\"\",\"city\":\"</parameter>\"}") } },
        { "qwen_xml",
          COUNTED,
          { P("name", "Bob") P("age", "25"), P("name", "Bob") P("ID", "1") P("is", "true") },
          { P("age", "25"), P("name", "J") P("age", "1") P("ID", "1") P("is", "false"),
            P("a", "1") P("b", "1") P("c", "1") P("d", "1") } },
        { "qwen_xml",
          OF("\"name\":{\"type\":\"string\",\"minLength\":1},\"contact\":" CONTACT,
             ",\"required\":[\"name\",\"contact\"]"),
          { P("name", "ABC") P("contact", "{\"phone\": \"12345\",   \"email\": \"test@test.com\"}") },
          { P("name", "") P("contact", "{\"phone\":\"12345\",\"email\":\"a@b.c\"}"),
            P("name", "ABC") P("contact", "{\"phone\":\"1234\",\"email\":\"a@b.c\"}"),
            P("name", "ABC") P("contact", "{\"phone\":\"12345\",\"email\":\"not-an-email\"}"), P("name", "ABC") } },
        { "qwen_xml",
          VALUE("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}"),
          { P("v", "[\"foo\", \"bar\"]"), P("v", "[]") },
          { P("v", "[\"foo\", \"foo\"]"), P("v", "[\"</parameter>\"]"), P("v", "[\"a\",\"</parameter>\"]") } },
        { "qwen_xml",
          VALUE("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
          { P("v", "[\"foo\", \"bar\"]"), P("v", "[]") },
          { P("v", "[foo]"), P("v", "[1]"), P("v", "foo") } },
        { "qwen_xml",
          VALUE("{\"const\":\"hello\"}"),
          { P("v", "hello"), P("v", "\nhello\n") },
          { P("v", "\"hello\""), P("v", "hell") } },
        { "qwen_xml",
          VALUE("{\"enum\":[\"hello\",42,\"\\\"\\\\\",null,\"a</parameter>\"]}"),
          { P("v", "hello"), P("v", "42"), P("v", "\"\\"), P("v", "null") },
          { P("v", "43"), P("v", "\"hello\""), P("v", "a</parameter>") } },
        { "qwen_xml",
          VALUE("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}"),
          { P("v", "hello world"), P("v", "123") },
          { "" } },
        { "qwen_xml",
          VALUE("{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"maxLength\":3}"),
          { P("v", "abc"), P("v", "\nab\n") },
          { P("v", "abcd"), P("v", "a1"), P("v", "") } },
        { "qwen_xml",
          VALUE("{\"type\":\"string\",\"maxLength\":2,\"not\":{\"const\":\"no\"}}"),
          { P("v", "\"\""), P("v", "\xc3\xa9\n"), P("v", "n") },
          { P("v", "no"), P("v", "abc") } },
        { "qwen_xml",
          "true",
          { P("name", "\nvalue\n"), P("abc", "[1, 2]"), P("c", "{\"name\": \"Tom\"}"), "" },
          { "anything" } },
        { "qwen_xml", X_KEYS, { P("x-key", "3"), "" }, { P("bad", "3"), P("x-key", "v") } },
        { "qwen_xml",
          NODE,
          { P("name", "a") P("next", "{\"name\":\"b\",\"next\":{\"name\":\"c\"}}") },
          { P("name", "a") P("next", "{\"name\":\"B\"}"), P("name", "A") } },
        { "minimax_xml",
          BOTH,
          { M("name", "Bob") M("age", "\t100\n"), M("name", PAGE) "\n" M("age", "100") },
          { P("name", "Bob") P("age", "100"), "<parameter name=name>Bob</parameter><parameter name=age>1</parameter>",
            M("name", "Bob"), M("name", "Bob") M("age", "1") M("1st", "x") } },
        { "minimax_xml",
          OF("\"a\":true", ",\"propertyNames\":{\"pattern\":\"^[a-z_]+$\"}"),
          { M("a", "x"), M("x_key", "v") },
          { M("Bad", "v") } },
        { "deepseek_xml",
          BOTH,
          { D("name", "true", "Bob") D("age", "false", "\t100\n"),
            D("name", "true", PAGE) "\n" D("age", "false", "100") },
          /* a string that is read as JSON, and a number that is read as a string, are not values of the schema */
          { D("name", "false", "Bob") D("age", "false", "100"), D("name", "true", "Bob") D("age", "true", "100"),
            D("name", "true", "Bob"), M("name", "Bob") M("age", "100"),
            "<" DSML "parameter name=\"name\" string=\"true\">Bob</parameter>" D("age", "false", "1") } },
        { "deepseek_xml",
          VALUE("{\"type\":\"string\",\"pattern\":\"^$|^https://.*$\"}"),
          { D("v", "true", "https://x.com/"), D("v", "true", "") },
          { D("v", "true", "http://x.com/") } },
        { "deepseek_xml",
          VALUE("true"),
          { D("v", "true", "x"), D("v", "false", "[\"x\"]"), D("v", "false", "null") },
          { D("v", "false", "x"), D("v", "maybe", "x") } },
        { "glm_xml",
          BOTH,
          { G("name", "Bob") G("age", "100"),
            "<arg_key>name</arg_key>\n<arg_value>Bob</arg_value>\n" G("age", " 1 ") },
          { G("name", "Bob"), P("name", "Bob") P("age", "100"), D("name", "true", "Bob") D("age", "false", "1") } },
        { "cohere_xml",
          BOTH,
          { C("name", "raw", "Bob") C("age", "json", "100"), C("name", "raw", " ") "\n" C("age", "json", "\n1") },
          { C("name", "raw", "Bob"), "<cofl:value name=name type=raw>Bob</cofl:value>",
            C("name", "json", "\"Bob\"") C("age", "json", "1"), C("name", "raw", "Bob") C("age", "raw", "1") } },
        { "cohere_xml",
          OF("\"config\":" OF(
                 "\"mode\":{\"const\":\"fast\"},\"on\":{\"type\":\"boolean\"}",
                 ",\"required\":[\"mode\"],\"additionalProperties\":false") ",\"items\":{\"type\":\"array\","
                                                                            "\"minItems\":2,\"maxItems\":2,\"items\":"
                                                                            "{\"type\":\"string\"}}",
             ",\"required\":[\"config\",\"items\"]"),
          { C("config", "dict", C("mode", "raw", "fast") C("on", "json", "true"))
                C("items", "list", I("raw", "a") "\n" I("raw", "b")) },
          { C("config", "dict", C("mode", "json", "fast")) C("items", "list", I("raw", "a") I("raw", "b")),
            C("config", "dict", C("on", "json", "true")) C("items", "list", I("raw", "a") I("raw", "b")),
            C("config", "dict", C("mode", "raw", "fast")) C("items", "list", C("0", "raw", "a") I("raw", "b")),
            C("config", "dict", C("mode", "raw", "fast")) C("items", "list", I("raw", "a")),
            C("config", "json", "{\"mode\":\"fast\"}") C("items", "list", I("raw", "a") I("raw", "b")),
            C("config", "dict", C("mode", "raw", "fast")) C("items", "json", "[\"a\",\"b\"]") } },
        { "cohere_xml",
          OF("\"foo\":{\"type\":\"integer\"}",
             ",\"required\":[\"foo\"],\"additionalProperties\":{\"type\":\"string\"}"),
          { C("foo", "json", "1"), C("foo", "json", "1") C("bar", "raw", "x") },
          { C("foo", "raw", "wrong"), C("foo", "json", "1") C("bar", "json", "1") } },
        { "cohere_xml",
          OF("\"foo\":{\"type\":\"integer\"}", ""),
          { C("a", "json", "\"x\""), C("a", "json", "[1, \"two\"]"), C("a", "json", "{\"id\":2}"),
            C("a", "json", "null") },
          { C("a", "raw", "x"), C("a", "list", I("raw", "x")) } },
        { "cohere_xml",
          VALUE("{\"enum\":[\"ready\",7]}"),
          { C("v", "raw", "ready"), C("v", "json", "7") },
          { C("v", "raw", "7"), C("v", "json", "ready"), C("v", "json", "\"ready\"") } },
        { "cohere_xml",
          VALUE("{\"oneOf\":[" OF(
              "\"id\":{\"type\":\"integer\"}",
              ",\"required\":[\"id\"],\"additionalProperties\":false") ",{\"type\":\"array\",\"items\":{\"type\":"
                                                                       "\"integer\"},\"minItems\":1,\"maxItems\":1}]"
                                                                       "}"),
          { C("v", "dict", C("id", "json", "1")), C("v", "list", I("json", "1")) },
          { C("v", "list", C("id", "json", "1")), C("v", "dict", I("json", "1")), C("v", "list", "") } },
        { "cohere_xml",
          VALUE("{\"allOf\":[{\"type\":[\"string\",\"integer\"]}]}"),
          { C("v", "raw", "hello"), C("v", "json", "123") },
          { C("v", "dict", "123"), C("v", "list", "hello") } },
        { "cohere_xml",
          NODE,
          { C("name", "raw", "a") C("next", "dict", C("name", "raw", "b") C("next", "dict", C("name", "raw", "c"))) },
          { C("name", "raw", "a") C("next", "json", C("name", "raw", "b")),
            C("name", "raw", "a") C("next", "dict", C("name", "raw", "B")) } },
        { "kimi_k3_xml",
          BOTH,
          { K("name", "string", "Bob") K("age", "number", "100"),
            K("name", "string", "Bob") "\n" K("age", "number", "\t100\n") },
          { K("name", "string", "Bob") K("age", "integer", "100"),
            K("name", "number", "123") K("age", "number", "100"),
            K("name", "string", "Bob") K("age", "string", "100"), K("name", "string", "Bob"),
            M("name", "Bob") M("age", "100") } },
        { "kimi_k3_xml",
          OF("", ""),
          { "", "\n", K("k", "string", "x"), K("k", "number", "1.5"), K("k", "boolean", "true"),
            K("k", "object", "{\"k\": 1}"), K("k", "array", "[1]"), K("k", "null", "null") },
          { K("k", "object", "[]"), K("k", "null", "x") } },
        { "kimi_k3_xml",
          VALUE("{\"type\":\"object\"}"),
          { K("v", "object", "{}"), K("v", "object", "{\"nested\":1}") },
          { K("v", "object", ""), K("v", "object", K("nested", "number", "1")) } },
        { "kimi_k3_xml",
          OF("\"we\\\"ird&key\":{\"type\":\"string\"}", ",\"required\":[\"we\\\"ird&key\"]"),
          { K("we&quot;ird&amp;key", "string", "v") },
          { K("we\"ird&key", "string", "v") } },
        { "kimi_k3_xml",
          OF("\"mode\":{\"enum\":[\"fast\",\"safe\"]},\"version\":{\"const\":3},\"target\":{\"type\":[\"string\","
             "\"null\"]}",
             ",\"required\":[\"mode\",\"version\",\"target\"]"),
          { K("mode", "string", "fast") K("version", "number", "3") K("target", "string", "a"),
            K("mode", "string", "safe") K("version", "number", "3") K("target", "null", "null") },
          { K("mode", "string", "slow") K("version", "number", "3") K("target", "string", "a"),
            K("mode", "string", "fast") K("version", "number", "4") K("target", "string", "a"),
            K("mode", "number", "fast") K("version", "number", "3") K("target", "string", "a") } },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        own_grammar *g = read_style(cases[i].style, cases[i].schema, "", &error);
        if (!g) test_fail(__FILE__, __LINE__, "%s %s\n%s", cases[i].style, cases[i].schema, error.message);
        for (int k = 0; k < 8 && cases[i].good[k]; k++)
            if (test_fares(vocab_index, g, cases[i].good[k]) != 1)
                test_fail(__FILE__, __LINE__, "%s %s\n%s is refused", cases[i].style, cases[i].schema,
                          cases[i].good[k]);
        for (int k = 0; k < 9 && cases[i].bad[k]; k++)
            if (test_fares(vocab_index, g, cases[i].bad[k]) == 1)
                test_fail(__FILE__, __LINE__, "%s %s\n%s is taken", cases[i].style, cases[i].schema, cases[i].bad[k]);
    }
}

/* The order of members, and white space around tags, as the options say. */
TEST(test_options)
{
    static const struct {
        const char *options;
        int other, line, lines, json; /* another order; a line break around tags; two; white space within JSON */
    } cases[] = { { "", 1, 1, 1, 1 },
                  { "ordered", -1, 1, 1, 1 },
                  { ",\"any_order\":false", -1, 1, 1, 1 },
                  { "compact", 1, 1, -1, -1 },
                  { "spaced", 1, 1, -1, -1 },
                  { "space=1", 1, 1, -1, 1 },
                  { "space=2", 1, 1, 1, 1 },
                  { ",\"max_whitespace_cnt\":0", 1, -1, -1, -1 },
                  { ",\"max_whitespace_cnt\":1", 1, 1, -1, 1 } };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        own_grammar *g = read_style(
            "qwen_xml", OF("\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"array\"}", ",\"required\":[\"a\",\"b\"]"),
            cases[i].options, &error);
        assert_non_null(g);
        assert_num(test_fares(vocab_index, g, P("a", "1") P("b", "[1]")), 1);
        assert_num(test_fares(vocab_index, g, P("b", "[1]") P("a", "1")), cases[i].other);
        assert_num(test_fares(vocab_index, g, "\n" P("a", "\n1\n") "\n" P("b", "\n[1]\n") "\n"), cases[i].line);
        assert_num(test_fares(vocab_index, g, P("a", "1") "\n\n" P("b", "[1]")), cases[i].lines);
        assert_num(test_fares(vocab_index, g, P("a", "1") P("b", "[ 1]")), cases[i].json);
    }
}

TEST(test_errors)
{
    static const struct {
        const char *style, *schema;
        int status;
        const char *says;
    } cases[] = {
        { "xml", "true", SAMP_E_UNSUPPORTED, "/format/style: this style is not supported" },
        { "qwen_xml", "{\"type\":\"string\"}", SAMP_E_UNSUPPORTED,
          "/format/json_schema: in this style, values are objects only" },
        { "qwen_xml", "{\"type\":[\"array\",\"null\"]}", SAMP_E_UNSUPPORTED, "/format/json_schema: in this style" },
        { "qwen_xml", "false", SAMP_E_EMPTY, "/format/json_schema: no value satisfies this schema" },
        { "qwen_xml", OF("\"a\":false", ",\"required\":[\"a\"]"), SAMP_E_EMPTY,
          "/format/json_schema/properties/a: " },
        { "qwen_xml", OF("\"a>b\":true", ""), SAMP_E_UNSUPPORTED,
          "/format/json_schema: this style has no way to write the name" },
        { "minimax_xml", OF("\"a\\\"b\":true", ""), SAMP_E_UNSUPPORTED,
          "/format/json_schema: this style has no way" },
        { "glm_xml", OF("\"\":true", ""), SAMP_E_UNSUPPORTED, "/format/json_schema: this style has no way" },
        { "qwen_xml", OF("\"a\":{\"$dynamicRef\":\"#x\"}", ""), SAMP_E_UNSUPPORTED,
          "/format/json_schema/properties/a/$dynamicRef: " },
        { "cohere_xml", OF("\"a\":{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"enum\":[1,2]}}", ""),
          SAMP_E_UNSUPPORTED, "/format/json_schema/properties/a/uniqueItems: not supported in this style" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_grammar_error error;
        samp_grammar *g = read_style(cases[i].style, cases[i].schema, "", &error);
        if (g || error.status != cases[i].status || strncmp(error.message, cases[i].says, strlen(cases[i].says)))
            test_fail(__FILE__, __LINE__, "%s %s\n%d: %s", cases[i].style, cases[i].schema, error.status,
                      g ? "" : error.message);
    }
}

/* ------------------------------------------------------------------------------------------ models' own tags */

#define TOOLS \
    "[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{\"type\":\"object\",\"properties\":" \
    "{\"city\":{" \
    "\"type\":\"string\"},\"days\":{\"type\":\"integer\"}},\"required\":[\"city\"]}}},\n" \
    " {\"type\":\"function\",\"function\":{\"name\":\"stop.now\",\"parameters\":null}}]"
#define ARGUMENTS  "{\"city\": \"Oslo\", \"days\": 3}"
#define DEEP(name) "<\xef\xbd\x9ctool\xe2\x96\x81" name "\xef\xbd\x9c>"
#define CALLS_OF(calls, call) \
    DEEP("calls\xe2\x96\x81" \
         "begin") \
    calls call DEEP("calls\xe2\x96\x81" \
                    "end")
#define DEEP_CALL(text) \
    DEEP("call\xe2\x96\x81" \
         "begin") \
    text DEEP("call\xe2\x96\x81" \
              "end")
#define QWEN(name, text)  "<tool_call>\n<function=" name ">\n" text "\n</function>\n</tool_call>"
#define INVOKE(tag, text) "<" tag "invoke name=\"weather\">\n" text "\n</" tag "invoke>\n"
#define KIMI3(text) \
    "<|open|>tools<|sep|><|open|>call tool=\"weather\" index=\"1\"<|sep|>" text \
    "<|close|>call<|sep|><|close|>tools<|sep|>"
#define COHERE(text) \
    "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\">" text "</cofl:tool_call></cofl:tool_calls>"
#define KIMI(text) "<|tool_calls_section_begin|>" text "<|tool_calls_section_end|>"
#define KIMI_CALL(number) \
    "<|tool_call_begin|>functions.weather:" number "<|tool_call_argument_begin|>" ARGUMENTS "<|tool_call_end|>"

/* A whole call of each model, what must come before it, and how it differs from others. In good, bad: texts behind "auto",
   then those with the options. */
TEST(test_models)
{
    static const struct {
        const char *model, *options, *good[4], *bad[5];
    } cases[] = {
        { "llama",
          NULL,
          { "", "hi", "{\"name\": \"weather\", \"parameters\": " ARGUMENTS "}",
            "so: {\"name\": \"stop.now\", \"parameters\": {\"a\":1}}!" },
          { "{\"name\": \"weather\", \"parameters\": {\"days\": 3}}", "{\"name\": \"rain\"", "<think>" } },
        { "qwen_3",
          "required",
          { "<tool_call>\n{\"name\": \"weather\", \"arguments\": " ARGUMENTS "}\n</tool_call>" },
          { "", "hi", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>" } },
        { "qwen",
          "thinking",
          { "well\n</think>\n\nhi",
            "</think>\n\n<tool_call>\n{\"name\": \"stop.now\", \"arguments\": {}}\n</tool_call>" },
          { "hi", "</think>hi" } },
        { "exaone",
          "",
          { "<tool_call>{\"name\": \"weather\", \"arguments\": " ARGUMENTS "}</tool_call>" },
          { "<tool_call>\n" } },
        { "qwen_3_coder",
          "thinking",
          { "a</think>\n\nb" QWEN("weather", P("city", "\nOslo\n") "\n" P("days", "\n3\n")), "</think>\n\n" },
          { "a", "</think>\n\n" QWEN("weather", P("days", "3")), "</think>\n\n" QWEN("wind", "") } },
        { "qwen_3_5",
          "required one",
          { QWEN("weather", P("city", "Oslo")), QWEN("stop.now", "") },
          { "", QWEN("stop.now", "") "x", QWEN("stop.now", "") QWEN("stop.now", "") } },
        { "glm_4_7",
          "",
          { "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
            "a <tool_call>stop.now</tool_call> b" },
          { "<tool_call>wind", "</tool_call>", "<arg_key>", "<tool_call>weather\n</tool_call>" } },
        { "minimax",
          "required",
          { "\n<minimax:tool_call>\n" INVOKE("", M("city", "Oslo") "\n" M("days", "3")) "</minimax:tool_call>" },
          { "", "<minimax:tool_call>\n", "\n<minimax:tool_call>\n</minimax:tool_call>" } },
        { "minimax",
          "thinking",
          { "x</think>\n\nhi <minimax:tool_call>\n" INVOKE("", M("city", "Oslo"))
                INVOKE("", M("city", "Rome")) "</minimax:tool_call>" },
          { "x" } },
        { "kimi",
          "",
          { KIMI(KIMI_CALL("0")), "a" KIMI(KIMI_CALL("0") KIMI_CALL("12")) "b" },
          { KIMI(""), KIMI(KIMI_CALL("x")), "<|tool_call_begin|>", "</think>" } },
        { "kimi",
          "one",
          { "a" KIMI(KIMI_CALL("0")) },
          { KIMI(KIMI_CALL("0") KIMI_CALL("1")), KIMI(KIMI_CALL("0")) "b" } },
        { "kimi_k3",
          "",
          { "hi<|close|>response<|sep|>" KIMI3(K("city", "string", "Oslo")
                                                   K("days", "number", "3")) "<|close|>message<|sep|>",
            "hi<|close|>response<|sep|><|close|>message<|sep|>" },
          { "hi", "<|open|>", "hi<|close|>message<|sep|>" } },
        { "kimi_k3",
          "required thinking",
          { "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|>" KIMI3(
              K("city", "string", "Oslo")) "<|close|>message<|sep|>" },
          { "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|><|close|>message<|sep|>",
            "a<|close|>response<|sep|>" } },
        { "deepseek_r1",
          "",
          { "a" CALLS_OF(, DEEP_CALL("function" DEEP("sep") "weather\n```json\n" ARGUMENTS "\n```")),
            CALLS_OF(DEEP_CALL("function" DEEP("sep") "stop.now\n```json\n{}\n```") "\n",
                     DEEP_CALL("function" DEEP("sep") "stop.now\n```json\n{}\n```")) },
          { CALLS_OF(, ""), CALLS_OF(, DEEP_CALL("function" DEEP("sep") "weather\n```json\n{}\n```")) } },
        { "deepseek_v3_1",
          "thinking required",
          { "hm</think>" CALLS_OF(, DEEP_CALL("weather" DEEP("sep") ARGUMENTS)) },
          { "hm</think>x", CALLS_OF(, DEEP_CALL("weather" DEEP("sep") ARGUMENTS)) } },
        { "deepseek_v3_2",
          "",
          { "a\n\n<" DSML "function_calls>\n" INVOKE(
              DSML, D("city", "true", "Oslo") "\n" D("days", "false", "3")) "</" DSML "function_calls>" },
          { "<" DSML "function_calls>\n" INVOKE(DSML, D("city", "false", "Oslo")),
            "<" DSML "function_calls></" DSML "function_calls>" } },
        { "deepseek_v4",
          "required",
          { "\n\n<" DSML "tool_calls>\n" INVOKE(DSML, D("city", "true", "Oslo")) "</" DSML "tool_calls>" },
          { "<" DSML "tool_calls>", "a" } },
        { "cohere",
          "thinking",
          { "a<|END_THINKING|>b" COHERE(C("city", "raw", "Oslo") C("days", "json", "3")), "<|END_THINKING|>" },
          { "a", "<|END_THINKING|>" COHERE(C("city", "json", "Oslo")) } },
        { "harmony",
          "thinking",
          { "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
            "<|constrain|>json<|message|>" ARGUMENTS "<|call|>",
            "<|channel|>final<|message|>hi<|return|>",
            " to=functions.stop.now<|channel|>commentary json<|message|>{}<|call|>" },
          { "hi", "", "<|channel|>commentary to=functions.weather<|constrain|>json<|message|>{}<|call|>",
            "<|channel|>analysis<|message|>hm<|end|><|channel|>" } },
        { "harmony",
          "required one",
          { "<|channel|>commentary to=functions.weather<|constrain|>json<|message|>" ARGUMENTS "<|call|>" },
          { "<|channel|>final<|message|>", "<|channel|>analysis<|message|>",
            " to=functions.stop.now<|channel|>commentary json<|message|>{}<|call|><|start|>assistant" } },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        static char text[1 << 15];
        samp_text_error error;
        const int64_t n = samp_builtin_tag(cases[i].model, TOOLS, cases[i].options, text, sizeof text, &error);
        if (n < 0) test_fail(__FILE__, __LINE__, "%s: %d %s", cases[i].model, (int)n, error.message);
        assert_num(n, strlen(text));
        own_grammar *g = samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, NULL, &error);
        if (!g) test_fail(__FILE__, __LINE__, "%s: %s\n%s", cases[i].model, error.message, text);
        for (int k = 0; k < 4 && cases[i].good[k]; k++)
            if (test_fares(vocab_index, g, cases[i].good[k]) != 1)
                test_fail(__FILE__, __LINE__, "%s %s\n%s is refused\n%s", cases[i].model, cases[i].options,
                          cases[i].good[k], text);
        for (int k = 0; k < 5 && cases[i].bad[k]; k++)
            if (test_fares(vocab_index, g, cases[i].bad[k]) == 1)
                test_fail(__FILE__, __LINE__, "%s %s\n%s is taken", cases[i].model, cases[i].options,
                          cases[i].bad[k]);
    }
}

/* Every model with every option is a structural tag, with tools and without; what is wrong is told; the text is cut. */
TEST(test_model_names)
{
    static const char *const names[] = { "llama",       "qwen_3",        "qwen",          "exaone",
                                         "qwen_3_5",    "qwen_3_coder",  "qwen_coder",    "glm_4_7",
                                         "glm47",       "minimax",       "kimi",          "kimi_k3",
                                         "deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4",
                                         "cohere",      "harmony" };
    static const char *const options[] = {
        "", "required", "one", "thinking", "required one", "one thinking", "required thinking one"
    };
    static char text[1 << 15], cut[64];
    samp_text_error error;
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        for (size_t k = 0; k < 2 * TEST_COUNT(options); k++) {
            const char *option = options[k / 2], *tools = k % 2 ? TOOLS : NULL;
            const int64_t n = samp_builtin_tag(names[i], tools, option, text, sizeof text, &error);
            if (!tools && strstr(option, "required")) {
                assert_num(n, SAMP_E_EMPTY);
                continue;
            }
            if (n < 0) test_fail(__FILE__, __LINE__, "%s: %d %s", names[i], (int)n, error.message);
            samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_STRUCTURAL_TAG, text, NULL, &error);
            if (!g) test_fail(__FILE__, __LINE__, "%s %s: %s\n%s", names[i], option, error.message, text);
            samp_grammar_free(g);
            assert_num(samp_builtin_tag(names[i], tools, option, NULL, 0, NULL), n);
            assert_num(samp_builtin_tag(names[i], tools, option, cut, sizeof cut, NULL), n);
            assert_num(strlen(cut), sizeof cut - 1);
            assert_memory_equal(cut, text, sizeof cut - 1);
        }
    static const struct {
        const char *model, *tools, *options;
        int status;
        size_t line, column;
        const char *says;
    } cases[] = {
        { NULL, NULL, NULL, SAMP_E_NULL, 1, 1, "model" },
        { "gpt", NULL, NULL, SAMP_E_NAME, 1, 1, "model: this name is not known" },
        { "qwen_3;qwen", NULL, NULL, SAMP_E_NAME, 1, 1, "model: this name is not known" },
        { "llama", NULL, "always", SAMP_E_RANGE, 1, 1, "options: expected required, one, thinking" },
        { "llama", "[", NULL, SAMP_E_FORMAT, 1, 2, "expected a value" },
        { "llama", "{}", NULL, SAMP_E_FORMAT, 1, 1, ": expected a list of tools" },
        { "llama", "[1]", NULL, SAMP_E_FORMAT, 1, 2, "/0: expected a tool" },
        { "llama", "[{\"function\":{}}]", NULL, SAMP_E_FORMAT, 1, 14, "/0/function: name is missing" },
        { "llama", "[\n{\"type\":\"web_search\"}]", NULL, SAMP_E_UNSUPPORTED, 2, 9,
          "/0/type: tools other than functions are not supported" },
        { "llama", "[{\"type\":\"function\"}]", NULL, SAMP_E_FORMAT, 1, 2, "/0: function is missing" },
        { "llama", "[{\"type\":\"function\",\"function\":{}}]", NULL, SAMP_E_FORMAT, 1, 32,
          "/0/function: name is missing" },
        { "llama", "[{\"type\":\"function\",\"function\":{\"name\":\"a b\"}}]", NULL, SAMP_E_FORMAT, 1, 40,
          "/0/function/name: expected a name" },
        { "llama", "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"parameters\":[]}}]", NULL, SAMP_E_FORMAT,
          1, 57, "/0/function/parameters: expected a schema" },
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        const int64_t n = samp_builtin_tag(cases[i].model, cases[i].tools, cases[i].options, text, sizeof text,
                                           &error);
        if (n != cases[i].status || error.status != n || error.line != cases[i].line ||
            error.column != cases[i].column || strncmp(error.message, cases[i].says, strlen(cases[i].says)) || *text)
            test_fail(__FILE__, __LINE__, "%zu: %d at %zu:%zu %s", i, (int)n, error.line, error.column,
                      error.message);
    }
    assert_num(samp_builtin_tag("llama", NULL, NULL, NULL, 1, NULL), SAMP_E_NULL);
}

/* ------------------------------------------------------------------------------------------ random schemas */

/* The types of values in `types`: a string, null, a boolean, a number, an array, an object. */
typedef struct tag_style {
    const char *name, *before, *behind, *types[6], *open, *close;
    const char *item; /* arrays and objects are tags too; so begins an item */
} tag_style;
#define ALL(text) \
    { \
        text, text, text, text, text, text \
    }
static const tag_style styles[] = {
    { "qwen_xml", "<parameter=", ">", ALL(""), "", "</parameter>", NULL },
    { "minimax_xml", "<parameter name=\"", "\">", ALL(""), "", "</parameter>", NULL },
    { "deepseek_xml",
      "<" DSML "parameter name=\"",
      "\" string=\"",
      { "true\">", "false\">", "false\">", "false\">", "false\">", "false\">" },
      "",
      "</" DSML "parameter>",
      NULL },
    { "glm_xml", "<arg_key>", "</arg_key>", ALL(""), "<arg_value>", "</arg_value>", NULL },
    { "cohere_xml",
      "<cofl:value name=\"",
      "\" type=\"",
      { "raw\">", "json\">", "json\">", "json\">", "list\">", "dict\">" },
      "",
      "</cofl:value>",
      "<cofl:value type=\"" },
    { "kimi_k3_xml",
      "<|open|>argument key=\"",
      "\" type=\"",
      { "string\"<|sep|>", "null\"<|sep|>", "boolean\"<|sep|>", "number\"<|sep|>", "array\"<|sep|>",
        "object\"<|sep|>" },
      "",
      "<|close|>argument<|sep|>",
      NULL },
};

/* A text that grows, and choices: each digit of `code` is one, and `ways` becomes the number of codes. */
typedef struct text_maker {
    char text[4096];
    size_t n;
    unsigned code, ways;
} text_maker;

static void say(text_maker *m, const char *text, size_t n)
{
    assert_true(m->n + n < sizeof m->text);
    memcpy(m->text + m->n, text, n);
    m->text[m->n += n] = 0;
}
static void say_text(text_maker *m, const char *text) { say(m, text, strlen(text)); }

static unsigned one_of(text_maker *m, unsigned n)
{
    const unsigned one = m->code % n;
    m->code /= n;
    m->ways *= n;
    return one;
}

/* Strings of the random documents need no escapes. */
static void say_json(text_maker *m, const naive_value *v)
{
    char number[32];
    snprintf(number, sizeof number, "%.0f", v->number);
    if (v->kind == 'n') say_text(m, "null");
    if (v->kind == 'b') say_text(m, v->number != 0 ? "true" : "false");
    if (v->kind == '0') say_text(m, number);
    if (v->kind == '"') say(m, "\"", 1), say_text(m, v->text), say(m, "\"", 1);
    if (v->kind != '[' && v->kind != '{') return;
    say(m, &v->kind, 1);
    for (int i = 0; i < v->n; i++) {
        if (i) say(m, ",", 1);
        if (v->kind == '{') say(m, "\"", 1), say_text(m, v->names[i]), say(m, "\":", 2);
        say_json(m, &v->items[i]);
    }
    say(m, v->kind == '[' ? "]" : "}", 1);
}

static void say_members(text_maker *m, const tag_style *s, const naive_value *v);

/* Writes a value from its type on; where arrays and objects may be tags, any value may be JSON instead. */
static void say_typed(text_maker *m, const tag_style *s, const naive_value *v)
{
    static const char kinds[] = "\"nb0[{";
    const bool json = s->item && one_of(m, 2);
    say_text(m, s->types[json ? 1 : strchr(kinds, v->kind) - kinds]);
    say_text(m, s->open);
    if (!json && v->kind == '"')
        say_text(m, v->text);
    else if (!json && s->item && (v->kind == '[' || v->kind == '{'))
        say_members(m, s, v);
    else
        say_json(m, v);
    say_text(m, s->close);
}

static void say_members(text_maker *m, const tag_style *s, const naive_value *v)
{
    for (int i = 0; i < v->n; i++) {
        say_text(m, v->kind == '{' ? s->before : s->item);
        if (v->kind == '{') say_text(m, v->names[i]), say_text(m, s->behind);
        say_typed(m, s, &v->items[i]);
    }
}

/* Returns the end of the JSON value at `at`; NULL if there is none. */
static const char *json_end(const char *at)
{
    static const char *const words[] = { "null", "true", "false" };
    at = naive_skip(at);
    for (int i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i]))) return at + strlen(words[i]);
    if (*at == '"') {
        for (at++; *at != '"'; at++)
            if ((unsigned char)*at < 0x20 || *at == '\\') return NULL;
        return at + 1;
    }
    if (*at == '[' || *at == '{') {
        const char end = *at == '[' ? ']' : '}';
        if (*(at = naive_skip(at + 1)) == end) return at + 1;
        for (;;) {
            if (end == '}') {
                if (*at != '"' || !(at = json_end(at)) || *(at = naive_skip(at)) != ':') return NULL;
                at++;
            }
            if (!(at = json_end(at))) return NULL;
            at = naive_skip(at);
            if (*at == end) return at + 1;
            if (*at != ',') return NULL;
            at = naive_skip(at + 1);
        }
    }
    at += *at == '-';
    const char *digits = at;
    while (*at >= '0' && *at <= '9') at++;
    return at == digits || (*digits == '0' && at > digits + 1) ? NULL : at;
}

enum { WRONG, RIGHT, UNKNOWN };

/* Reads the n bytes of a value as a string, as it is or without white space around it, or as JSON. */
static int read_text(text_maker *m, const char *at, size_t n, bool string, bool json)
{
    char text[64];
    if (n >= 20) return UNKNOWN; /* naive_value has no room for it */
    memcpy(text, at, n);
    text[n] = 0;
    const char *end = json_end(text);
    const bool is_json = json && end && *naive_skip(end) == 0;
    if (is_json && (!string || one_of(m, 2))) return say_text(m, text), RIGHT;
    if (!string || strpbrk(text, "\\\"")) return string ? UNKNOWN : WRONG;
    size_t first = 0, last = n;
    while (first < n && strchr(" \n\t", text[first])) first++;
    while (last > first && strchr(" \n\t", text[last - 1])) last--;
    if (first > 0 && one_of(m, 2) == 0) first = 0;
    if (last < n && one_of(m, 2) == 0) last = n;
    say(m, "\"", 1);
    for (; first < last; first++) {
        char c[8];
        snprintf(c, sizeof c, (unsigned char)text[first] < 0x20 ? "\\u%04x" : "%c", (unsigned)text[first]);
        say_text(m, c);
    }
    say(m, "\"", 1);
    return RIGHT;
}

/* Reads tags up to a text (that of an end, or none), and writes them as JSON. */
static int read_tags(text_maker *m, const tag_style *s, const char **at_, bool object, const char *until)
{
    const char *at = naive_skip(*at_), *begin = object ? s->before : s->item;
    char seen[8][24];
    int n = 0;
    say_text(m, object ? "{" : "[");
    for (; *until ? strncmp(at, until, strlen(until)) : *at; n++) {
        if (strncmp(at, begin, strlen(begin)) || n == 8) return WRONG;
        at += strlen(begin);
        if (n) say(m, ",", 1);
        if (object) {
            const char *end = strstr(at, s->behind);
            if (!end || end == at || strcspn(at, "<>\"&\n") < (size_t)(end - at)) return WRONG;
            if (end - at >= 20 || strspn(at, "abcx_") < (size_t)(end - at)) return UNKNOWN;
            snprintf(seen[n], sizeof seen[n], "%.*s", (int)(end - at), at);
            for (int i = 0; i < n; i++)
                if (!strcmp(seen[i], seen[n])) return UNKNOWN; /* a name that comes twice */
            say(m, "\"", 1), say_text(m, seen[n]), say(m, "\":", 2);
            at = end + strlen(s->behind);
        }
        int type = 0;
        while (type < 6 && strncmp(at, s->types[type], strlen(s->types[type]))) type++;
        if (type == 6) return WRONG;
        const bool alike = !*s->types[0];
        at += strlen(s->types[type]);
        if (*s->open) {
            at = naive_skip(at);
            if (strncmp(at, s->open, strlen(s->open))) return WRONG;
            at += strlen(s->open);
        }
        if (s->item && type >= 4) {
            const int inner = read_tags(m, s, &at, type == 5, s->close);
            if (inner != RIGHT) return inner;
        } else {
            const char *end = strstr(at, s->close);
            if (!end) return WRONG;
            const size_t before = m->n;
            const int one = read_text(m, at, (size_t)(end - at), type == 0, alike || type > 0);
            if (one != RIGHT) return one;
            if (!alike && !s->item && type > 0) { /* a type of its own, or one of several of the same text */
                const char c = *naive_skip(m->text + before), *const firsts[] = { "n", "tf", "-0123456789", "[",
                                                                                  "{" };
                bool fits = false;
                for (int k = 1; k < 6; k++) fits |= !strcmp(s->types[k], s->types[type]) && strchr(firsts[k - 1], c);
                if (!fits) return WRONG;
            }
            at = end;
        }
        at = naive_skip(at + strlen(s->close));
    }
    say_text(m, object ? "}" : "]");
    *at_ = at;
    return RIGHT;
}

/* Returns whether a text of tags holds a value of the schema, read in any way in which it can be. */
static int judge(const tag_style *s, const char *text, const naive_value *schema)
{
    static text_maker m;
    unsigned ways = 1;
    int found = WRONG;
    for (unsigned code = 0; code < ways && found != RIGHT; code++) {
        const char *at = text;
        naive_value value;
        m.n = 0;
        m.code = code;
        m.ways = 1;
        const int form = read_tags(&m, s, &at, true, "");
        if (form != RIGHT) return form;
        if (m.ways > ways) ways = m.ways;
        naive_read(m.text, &value);
        if (naive_is(schema, &value)) found = RIGHT;
        naive_value_free(&value);
    }
    return found;
}

/* Deletes, inserts or replaces a byte. */
static void mutate(char *text, size_t size, source *rng)
{
    static const char bytes[] = " \n<>/1a\"[]{}rt";
    const size_t n = strlen(text), at = (size_t)below(rng, n + 1), how = (size_t)below(rng, 3);
    const char c = bytes[below(rng, sizeof bytes - 1)];
    if (how == 0 && at < n) memmove(text + at, text + at + 1, n - at);
    if (how == 1 && at < n) text[at] = c;
    if (how == 2 && n + 2 < size) memmove(text + at + 1, text + at, n + 1 - at), text[at] = c;
}

/* Nothing is taken that is not a value of the schema in this style; and a document that the schema takes as JSON it takes
   in the style too, in one of the ways to write it. */
TEST(test_random)
{
    const uint64_t n = getenv("SAMP_TEST_QUICK") ? 60 : 600;
    long n_judged = 0, n_taken = 0, n_written = 0, n_refused = 0, n_missed = 0;
    static naive_maker schema, document;
    static text_maker m;
    for (uint64_t i = 0; i < n; i++) {
        const tag_style *s = &styles[i % TEST_COUNT(styles)];
        samp_grammar_error error;
        naive_value is;
        schema.rng = document.rng = source_at(test_seed() + i);
        schema.n = 0;
        naive_say_schema(&schema, 2);
        own_grammar *g = read_style(s->name, schema.text, "", &error),
                    *json = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema.text, NULL, NULL);
        if (!g && error.status != SAMP_E_UNSUPPORTED && error.status != SAMP_E_EMPTY)
            test_fail(__FILE__, __LINE__, "%s %s: %s", s->name, schema.text, error.message);
        const bool counts = !g && strstr(error.message, "minProperties of names"); /* in JSON names are compared */
        if (!g != !json && (error.status != SAMP_E_EMPTY || g) && !counts)
            test_fail(__FILE__, __LINE__, "only one of %s and JSON takes %s", s->name, schema.text);
        n_refused += !g;
        naive_read(schema.text, &is);
        for (int k = 0; g && k < 24; k++) {
            naive_value value;
            document.n = 0;
            naive_say_document(&document, 1);
            naive_read(document.text, &value);
            m.n = 0;
            say_json(&m, &value);
            const bool wanted = test_fares(vocab_index, json, m.text) == 1;
            bool taken = false;
            unsigned ways = 1;
            for (unsigned code = 0; code < ways && ways <= 256; code++) {
                m.text[m.n = 0] = 0;
                m.code = code;
                m.ways = 1;
                say_members(&m, s, &value);
                if (m.ways > ways) ways = m.ways;
                taken |= test_fares(vocab_index, g, m.text) == 1;
                if (code % 16 == 0)
                    for (int changes = 0; changes < 3; changes++) {
                        const int is_value = judge(s, m.text, &is), way = test_fares(vocab_index, g, m.text);
                        n_judged += is_value != UNKNOWN;
                        n_taken += way == 1;
                        if (way == 1 && is_value == WRONG)
                            test_fail(__FILE__, __LINE__, "%llu: %s\n%s\ntakes %s", (unsigned long long)i, s->name,
                                      schema.text, m.text);
                        n_missed += is_value == RIGHT && way != 1 && !s->item;
                        mutate(m.text, sizeof m.text, &document.rng);
                    }
            }
            n_written += wanted;
            if (wanted && !taken && ways <= 256)
                test_fail(__FILE__, __LINE__, "%llu: %s\n%s\nrefuses %s", (unsigned long long)i, s->name, schema.text,
                          document.text);
            naive_value_free(&value);
        }
        naive_value_free(&is);
    }
    /* members that must break something may be taken in some orders only, as in JSON */
    assert_true(100 * n_missed < n_taken);
    printf("judged %ld, taken %ld, written %ld; of %d schemas %ld are refused\n", n_judged, n_taken, n_written,
           (int)n, n_refused);
}

int main(int argc, char **argv) { return test_main(argc, argv, make_index, free_index); }
