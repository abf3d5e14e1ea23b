/* random_grammar.h - texts of grammars, made of random numbers: GBNF, regular expressions and JSON schemas, most of them
   right, small, and such that most of their texts can end. The numbers come from a source, so a fuzzer's bytes may be
   those numbers. */
#ifndef RANDOM_GRAMMAR_H
#define RANDOM_GRAMMAR_H

#include <stdio.h>
#include <string.h>

#include "source.h"

typedef struct {
    char text[8192];
    size_t n; /* what does not fit is left out, and the text may be wrong then: a test of its own */
    source rng;
    int n_rules;
} maker;

static inline void say(maker *m, const char *text)
{
    size_t n = strlen(text);
    if (m->n + n + 1 > sizeof m->text) return;
    memcpy(m->text + m->n, text, n + 1);
    m->n += n;
}

static inline size_t pick(maker *m, size_t n) { return (size_t)below(&m->rng, n); }

static inline void say_class(maker *m)
{
    /* clang-format off */
    static const char *const inside[] = {
        "a-z", "abc", "0-9", "\\u00e0-\\u00ff", "^a-c", "^\\\"", "^\\x00-\\x1f\\\"\\\\", " ", "A-Za-z", "^ \\n",
        "x", "^\\u00e9a-f", "\\u20ac\\U0001F600-\\U0001F64F", "aeiou ", "^0-9",
    };
    /* clang-format on */
    say(m, "[");
    say(m, inside[pick(m, sizeof inside / sizeof *inside)]);
    say(m, "]");
}

static inline void say_sequence(maker *m, int rule, int depth);

static inline void say_item(maker *m, int rule, int depth)
{
    static const char *const literals[] = { "a",        "b",
                                            "ab",       "abc",
                                            "x",        "xx",
                                            "(",        ")",
                                            " the",     " ",
                                            "1",        "12",
                                            ",",        "\\n",
                                            "{\\\"",    "\\\":",
                                            "\xc3\xa9", "\xe2\x82\xac",
                                            "and",      " of",
                                            "he",       "\xf0\x9f\x98\x80",
                                            "=",        "true" };
    char name[32];
    size_t kind = pick(m, 20);
    if (kind < 9) {
        say(m, "\"");
        say(m, literals[pick(m, sizeof literals / sizeof *literals)]);
        say(m, "\"");
    } else if (kind < 13) {
        say_class(m);
    } else if (kind < 14) {
        say(m, ".");
    } else if (kind < 17 && depth < 3) {
        say(m, "(");
        say_sequence(m, rule, depth + 1);
        for (size_t i = pick(m, 3); i > 0; i--) {
            say(m, " | ");
            say_sequence(m, rule, depth + 1);
        }
        say(m, ")");
    } else {
        sprintf(name, "r%d", (int)pick(m, (size_t)m->n_rules));
        say(m, name);
    }
    static const char *const repeats[] = { "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "{0,5}" };
    if (pick(m, 4) == 0) say(m, repeats[pick(m, sizeof repeats / sizeof *repeats)]);
}

static inline void say_sequence(maker *m, int rule, int depth)
{
    for (size_t n = 1 + pick(m, 3); n > 0; n--) {
        say_item(m, rule, depth);
        say(m, " ");
    }
}

/* Some rules, the last ones without references, so that most texts can end. */
static inline const char *random_grammar(maker *m, source rng)
{
    m->rng = rng;
    m->n = 0;
    m->n_rules = 1 + (int)pick(m, 5);
    say(m, "root ::= r0\n");
    for (int i = 0; i < m->n_rules; i++) {
        char head[32];
        sprintf(head, "r%d ::= ", i);
        say(m, head);
        for (size_t n = 1 + pick(m, 3); n > 0; n--) {
            static const char *const begins[] = { "\"a\" ", "\"(\" ", "[a-z] ", "\" \" ", "\"the\" " };
            if (pick(m, 4)) say(m, begins[pick(m, 5)]); /* else it may recur on its left */
            say_sequence(m, i, 0);
            if (n > 1) say(m, "| ");
        }
        say(m, pick(m, 3) ? "| \"z\"\n" : "\n");
    }
    return m->text;
}

/* ---- regular expressions ---- */

static inline void say_one_of(maker *m, const char *const *texts, size_t n) { say(m, texts[pick(m, n)]); }
#define SAY_ONE_OF(m, ...) \
    do { \
        static const char *const texts_[] = { __VA_ARGS__ }; \
        say_one_of(m, texts_, sizeof texts_ / sizeof *texts_); \
    } while (0)

static inline void say_regex(maker *m, int depth)
{
    for (size_t n = 1 + pick(m, 4); n > 0; n--) {
        if (depth < 3 && pick(m, 5) == 0) {
            say(m, pick(m, 2) ? "(" : "(?:");
            say_regex(m, depth + 1);
            say(m, ")");
        } else {
            SAY_ONE_OF(m, "a", "b", "ab", "[a-c]", "[^a-z]", "\\d", "\\w", ".", "x", "-", "\\.", "[^a]", "1", " ",
                       "\xc3\xa9", "[\\u00e0-\\u00ff]", "\\s", "^", "$");
        }
        if (pick(m, 4) == 0) SAY_ONE_OF(m, "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}");
        if (pick(m, 6) == 0) say(m, "|");
    }
}

static inline const char *random_regex(maker *m, source rng)
{
    m->rng = rng;
    m->n = 0;
    say_regex(m, 0);
    return m->text;
}

/* ---- JSON schemas ---- */

static inline void say_schema(maker *m, int depth);

static inline void say_number(maker *m, const char *key)
{
    say(m, key);
    SAY_ONE_OF(m, "0", "1", "2", "3", "5", "10", "12");
}

/* Schemas [at least one] as an array. */
static inline void say_schemas(maker *m, const char *key, int depth)
{
    say(m, key);
    say(m, "[");
    for (size_t n = 1 + pick(m, 2);; n--) {
        say_schema(m, depth + 1);
        if (n == 0) break;
        say(m, ",");
    }
    say(m, "]");
}

static inline void say_string_schema(maker *m)
{
    static const char *const formats[] = { "date", "time", "ipv4", "uuid", "email", "hostname", "date-time" };
    say(m, "\"type\":\"string\"");
    if (pick(m, 3) == 0) say_number(m, ",\"minLength\":");
    if (pick(m, 3) == 0) say_number(m, ",\"maxLength\":1");
    if (pick(m, 3) == 0) {
        say(m, ",\"pattern\":\"");
        SAY_ONE_OF(m, "^a*b", "a", "^[a-c]+$", "^(ab|b)*$", "1$", "^[^a]{1,3}$", "\\\\d{2}", "^x|y$", "\xc3\xa9");
        say(m, "\"");
    } else if (pick(m, 6) == 0) {
        say(m, ",\"format\":\"");
        say_one_of(m, formats, sizeof formats / sizeof *formats);
        say(m, "\"");
    }
}

static inline void say_number_schema(maker *m)
{
    SAY_ONE_OF(m, "\"type\":\"integer\"", "\"type\":\"number\"", "\"type\":[\"integer\",\"null\"]");
    if (pick(m, 2)) say_number(m, pick(m, 2) ? ",\"minimum\":-" : ",\"exclusiveMinimum\":");
    if (pick(m, 2)) say_number(m, pick(m, 2) ? ",\"maximum\":1" : ",\"exclusiveMaximum\":2");
    if (pick(m, 5) == 0)
        SAY_ONE_OF(m, ",\"multipleOf\":10", ",\"multipleOf\":7", ",\"multipleOf\":0.75", ",\"multipleOf\":0.01");
}

static inline void say_array_schema(maker *m, int depth)
{
    say(m, "\"type\":\"array\"");
    if (pick(m, 3) == 0) say_schemas(m, ",\"prefixItems\":", depth);
    if (pick(m, 3)) {
        say(m, ",\"items\":");
        say_schema(m, depth + 1);
    }
    if (pick(m, 6) == 0) {
        say(m, ",\"contains\":");
        say_schema(m, depth + 1);
    }
    if (pick(m, 3) == 0) SAY_ONE_OF(m, ",\"minItems\":1", ",\"minItems\":2", ",\"maxItems\":3", ",\"maxItems\":0");
}

static inline void say_object_schema(maker *m, int depth)
{
    static const char *const names[] = { "a", "b", "ab", "n", "\xc3\xa9" };
    size_t n = pick(m, 4);
    say(m, "\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < n; i++) {
        say(m, i ? ",\"" : "\"");
        say(m, names[i]);
        say(m, "\":");
        say_schema(m, depth + 1);
    }
    say(m, "}");
    if (pick(m, 2)) SAY_ONE_OF(m, ",\"required\":[\"a\"]", ",\"required\":[\"b\",\"a\"]", ",\"required\":[\"x\"]");
    if (pick(m, 2)) {
        say(m, ",\"additionalProperties\":");
        if (pick(m, 2))
            say(m, "false");
        else
            say_schema(m, depth + 1);
    }
    if (pick(m, 6) == 0) {
        say(m, ",\"patternProperties\":{\"^a\":");
        say_schema(m, depth + 1);
        say(m, "}");
    }
    if (pick(m, 6) == 0) say(m, ",\"propertyNames\":{\"maxLength\":3}");
    if (pick(m, 5) == 0) SAY_ONE_OF(m, ",\"minProperties\":1", ",\"maxProperties\":2", ",\"minProperties\":3");
}

static inline void say_schema(maker *m, int depth)
{
    size_t kind = pick(m, depth < 3 ? 13 : 7);
    if (kind == 6) SAY_ONE_OF(m, "true", "{}", "{\"type\":\"null\"}", "{\"type\":[\"string\",\"boolean\"]}");
    if (kind == 6) return;
    say(m, "{");
    if (kind == 0)
        SAY_ONE_OF(m, "\"const\":1", "\"const\":\"a\"", "\"const\":[1,{\"a\":null}]", "\"const\":{\"b\":1}");
    if (kind == 1)
        SAY_ONE_OF(m, "\"enum\":[\"a\",\"ab\",1]", "\"enum\":[null,true]", "\"enum\":[10,1.5,\"\xc3\xa9\"]");
    if (kind == 2) say_string_schema(m);
    if (kind == 3 || kind == 4) say_number_schema(m);
    if (kind == 5) SAY_ONE_OF(m, "\"$ref\":\"#/$defs/d\"", "\"$ref\":\"#\"");
    if (kind == 7 || kind == 8) say_array_schema(m, depth);
    if (kind == 9 || kind == 10) say_object_schema(m, depth);
    if (kind == 11) say_schemas(m, pick(m, 2) ? "\"anyOf\":" : "\"oneOf\":", depth);
    if (kind == 12) say_schemas(m, "\"allOf\":", depth);
    if (depth < 3 && pick(m, 8) == 0) {
        say(m, ",\"not\":");
        say_schema(m, 3);
    }
    say(m, "}");
}

/* A schema with a definition that others refer to. It may contradict itself, so that nothing is its instance. */
static inline const char *random_schema(maker *m, source rng)
{
    m->rng = rng;
    m->n = 0;
    say(m, "{\"$defs\":{\"d\":");
    say_schema(m, 2);
    say(m, "},");
    if (pick(m, 2))
        say_object_schema(m, 0);
    else
        say_array_schema(m, 0);
    say(m, "}");
    return m->text;
}

#endif /* RANDOM_GRAMMAR_H */
