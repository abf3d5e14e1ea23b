/* naive_schema.h - is a document an instance of a schema? By definition, without any of the library's code: both are
   read as JSON.parse, Python, Go and jq do, so that of two members of one name the last one is what the object has, and
   each keyword asks for what the standard says. And random schemas and documents to ask about, which are about members:
   few names, of which many come twice, spelt with escapes too.

   Knows type, const, enum, bounds of numbers, not, allOf, anyOf, oneOf, if, and all that speaks of members but
   unevaluatedProperties and references. Patterns are letters with ^, $ or both around. */
#ifndef NAIVE_SCHEMA_H
#define NAIVE_SCHEMA_H

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

/* ---- values ---- */

typedef struct naive_value {
    char kind;     /* n, b, 0 (a number), ", [ or { */
    double number; /* also of true */
    char text[24];
    int n;
    char (*names)[24];
    struct naive_value *items; /* [n] */
} naive_value;

static void naive_value_free(naive_value *v)
{
    for (int i = 0; i < v->n; i++) naive_value_free(&v->items[i]);
    free(v->items);
    free(v->names);
}

static const char *naive_skip(const char *at)
{
    while (*at && strchr(" \t\r\n", *at)) at++;
    return at;
}

/* A string of ASCII, and what is behind it. */
static const char *naive_string(const char *at, char *out)
{
    size_t n = 0;
    assert(*at == '"');
    for (at++; *at != '"'; n++) {
        assert(n < 23);
        unsigned code = (unsigned char)*at++;
        if (code == '\\' && *at == 'u') {
            int taken = sscanf(at + 1, "%4x", &code);
            assert(taken == 1);
            at += 5;
        } else if (code == '\\')
            code = (unsigned char)*at++;
        out[n] = (char)code;
    }
    out[n] = 0;
    return at + 1;
}

static const char *naive_read(const char *at, naive_value *v);

static const char *naive_read_items(const char *at, naive_value *v, char end)
{
    at = naive_skip(at + 1);
    while (*at != end) {
        char name[24] = "";
        int i = v->n;
        if (v->kind == '{') {
            at = naive_skip(naive_string(at, name));
            assert(*at == ':');
            at = naive_skip(at + 1);
            for (int k = 0; k < v->n; k++)
                if (!strcmp(v->names[k], name)) i = k;
        }
        if (i == v->n) {
            v->n++;
            v->items = (naive_value *)realloc(v->items, (size_t)v->n * sizeof *v->items);
            v->names = (char(*)[24])realloc(v->names, (size_t)v->n * sizeof *v->names);
            assert(v->items && v->names);
            memcpy(v->names[i], name, sizeof name);
        } else
            naive_value_free(&v->items[i]); /* the last one counts */
        at = naive_skip(naive_read(at, &v->items[i]));
        if (*at == ',') at = naive_skip(at + 1);
    }
    return at + 1;
}

/* The value at `at`, of right JSON, and what is behind it. */
static const char *naive_read(const char *at, naive_value *v)
{
    memset(v, 0, sizeof *v);
    at = naive_skip(at);
    v->kind = *at == 't' || *at == 'f' ? 'b' : strchr("n\"[{", *at) ? *at : '0';
    v->number = *at == 't';
    if (*at == '"') return naive_string(at, v->text);
    if (*at == '[' || *at == '{') return naive_read_items(at, v, *at == '[' ? ']' : '}');
    if (v->kind != '0') return at + (*at == 'f' ? 5 : 4);
    char *end;
    v->number = strtod(at, &end);
    assert(end != at);
    return end;
}

static const naive_value *naive_member(const naive_value *v, const char *name)
{
    for (int i = 0; v->kind == '{' && i < v->n; i++)
        if (!strcmp(v->names[i], name)) return &v->items[i];
    return NULL;
}

static bool naive_equal(const naive_value *a, const naive_value *b)
{
    if (a->kind != b->kind || a->n != b->n || a->number != b->number || strcmp(a->text, b->text)) return false;
    for (int i = 0; i < a->n; i++) {
        const naive_value *other = a->kind == '{' ? naive_member(b, a->names[i]) : &b->items[i];
        if (!other || !naive_equal(&a->items[i], other)) return false;
    }
    return true;
}

/* ---- schemas ---- */

static bool naive_has_type(const char *type, const naive_value *v)
{
    const char kind = !strcmp(type, "null")      ? 'n'
                      : !strcmp(type, "boolean") ? 'b'
                      : !strcmp(type, "string")  ? '"'
                      : !strcmp(type, "array")   ? '['
                      : !strcmp(type, "object")  ? '{'
                                                 : '0';
    return v->kind == kind && (strcmp(type, "integer") || v->number == (double)(long)v->number);
}

static bool naive_pattern(const char *pattern, const char *text)
{
    const bool front = pattern[0] == '^';
    size_t n = strlen(pattern + front), length = strlen(text);
    const bool back = n > 0 && pattern[front + n - 1] == '$';
    n -= back;
    for (size_t i = 0; i + n <= length; i++)
        if (!strncmp(text + i, pattern + front, n) && (!front || i == 0) && (!back || i + n == length)) return true;
    return false;
}

static bool naive_is(const naive_value *schema, const naive_value *v);

static int naive_count(const naive_value *schemas, const naive_value *v)
{
    int n = 0;
    for (int i = 0; i < schemas->n; i++) n += naive_is(&schemas->items[i], v);
    return n;
}

static bool naive_has_all(const naive_value *names, const naive_value *v)
{
    for (int i = 0; i < names->n; i++)
        if (!naive_member(v, names->items[i].text)) return false;
    return true;
}

/* What the schema says of the members, each for itself. */
static bool naive_members_are(const naive_value *schema, const naive_value *v)
{
    const naive_value *properties = naive_member(schema, "properties"), *at;
    const naive_value *patterns = naive_member(schema, "patternProperties");
    for (int i = 0; i < v->n; i++) {
        const char *name = v->names[i];
        naive_value text = { '"', 0, "", 0, NULL, NULL };
        bool known = false;
        memcpy(text.text, name, sizeof text.text);
        if (properties && (at = naive_member(properties, name)) && (known = true) && !naive_is(at, &v->items[i]))
            return false;
        for (int k = 0; patterns && k < patterns->n; k++)
            if (naive_pattern(patterns->names[k], name) && (known = true) &&
                !naive_is(&patterns->items[k], &v->items[i]))
                return false;
        if (!known && (at = naive_member(schema, "additionalProperties")) && !naive_is(at, &v->items[i]))
            return false;
        if ((at = naive_member(schema, "propertyNames")) && !naive_is(at, &text)) return false;
    }
    return true;
}

static bool naive_object_is(const naive_value *schema, const naive_value *v)
{
    const naive_value *at;
    if ((at = naive_member(schema, "required")) && !naive_has_all(at, v)) return false;
    if ((at = naive_member(schema, "minProperties")) && v->n < at->number) return false;
    if ((at = naive_member(schema, "maxProperties")) && v->n > at->number) return false;
    if ((at = naive_member(schema, "dependentRequired")))
        for (int i = 0; i < at->n; i++)
            if (naive_member(v, at->names[i]) && !naive_has_all(&at->items[i], v)) return false;
    if ((at = naive_member(schema, "dependentSchemas")))
        for (int i = 0; i < at->n; i++)
            if (naive_member(v, at->names[i]) && !naive_is(&at->items[i], v)) return false;
    return naive_members_are(schema, v);
}

static bool naive_is(const naive_value *schema, const naive_value *v)
{
    const naive_value *at;
    if (schema->kind == 'b') return schema->number != 0;
    if ((at = naive_member(schema, "type")) && !naive_has_type(at->text, v)) return false;
    if ((at = naive_member(schema, "const")) && !naive_equal(at, v)) return false;
    if ((at = naive_member(schema, "enum"))) {
        bool one = false;
        for (int i = 0; i < at->n; i++) one = one || naive_equal(&at->items[i], v);
        if (!one) return false;
    }
    if (v->kind == '0' && (at = naive_member(schema, "minimum")) && v->number < at->number) return false;
    if (v->kind == '"' && (at = naive_member(schema, "maxLength")) && (double)strlen(v->text) > at->number)
        return false;
    if (v->kind == '"' && (at = naive_member(schema, "pattern")) && !naive_pattern(at->text, v->text)) return false;
    if ((at = naive_member(schema, "not")) && naive_is(at, v)) return false;
    if ((at = naive_member(schema, "allOf")) && naive_count(at, v) != at->n) return false;
    if ((at = naive_member(schema, "anyOf")) && naive_count(at, v) == 0) return false;
    if ((at = naive_member(schema, "oneOf")) && naive_count(at, v) != 1) return false;
    if ((at = naive_member(schema, "if"))) {
        at = naive_member(schema, naive_is(at, v) ? "then" : "else");
        if (at && !naive_is(at, v)) return false;
    }
    return v->kind != '{' || naive_object_is(schema, v);
}

/* ---- random ones ---- */

typedef struct naive_maker {
    char text[4096];
    size_t n;
    source rng;
    bool again; /* has a name come twice, or one with an escape? */
    bool escaped;
} naive_maker;

static void naive_say(naive_maker *m, const char *text)
{
    size_t n = strlen(text);
    assert(m->n + n < sizeof m->text);
    memcpy(m->text + m->n, text, n + 1);
    m->n += n;
}

static size_t naive_pick(naive_maker *m, size_t n) { return (size_t)below(&m->rng, n); }

static const char *naive_name(naive_maker *m)
{
    static const char *const names[] = { "a", "b", "ab", "ba", "c", "a", "b", "x" };
    return names[naive_pick(m, 8)];
}

static void naive_say_name(naive_maker *m)
{
    naive_say(m, "\"");
    naive_say(m, naive_name(m));
    naive_say(m, "\"");
}

static void naive_say_small(naive_maker *m) /* a schema of a member */
{
    /* clang-format off */
    static const char *const small[] = {
        "{\"type\":\"string\"}", "{\"type\":\"integer\"}", "{\"const\":1}", "{\"enum\":[1,\"x\"]}",
        "{\"minimum\":2}", "{\"not\":{\"type\":\"string\"}}", "{\"type\":\"number\"}", "{\"maxLength\":1}", "true",
        "false",
    };
    /* clang-format on */
    naive_say(m, small[naive_pick(m, 10)]);
}

static void naive_say_schema(naive_maker *m, int depth);

static void naive_say_value_schema(naive_maker *m, int depth)
{
    if (depth > 1 && naive_pick(m, 4) == 0)
        naive_say_schema(m, depth - 1);
    else
        naive_say_small(m);
}

static void naive_say_named(naive_maker *m, const char *key, int depth, bool patterns)
{
    static const char *const some[] = { "\"^a\"", "\"b$\"", "\"a\"", "\"^b$\"", "\"\"", "\"^ab\"" };
    size_t n = 1 + naive_pick(m, 2), first = naive_pick(m, 5);
    naive_say(m, key);
    naive_say(m, ":{");
    for (size_t i = 0; i < n; i++) {
        static const char *const names[] = { "\"a\"", "\"b\"", "\"ab\"", "\"c\"", "\"x\"", "\"ba\"" };
        if (i) naive_say(m, ",");
        naive_say(m, patterns ? some[first + i] : names[first + i]);
        naive_say(m, ":");
        naive_say_value_schema(m, depth);
    }
    naive_say(m, "}");
}

static void naive_say_list(naive_maker *m, const char *key, int depth)
{
    size_t n = 1 + naive_pick(m, 3);
    naive_say(m, key);
    naive_say(m, ":[");
    for (size_t i = 0; i < n; i++) {
        if (i) naive_say(m, ",");
        naive_say_schema(m, depth - 1);
    }
    naive_say(m, "]");
}

static void naive_say_keyword(naive_maker *m, size_t keyword, int depth)
{
    static const char *const plain[] = { "\"minProperties\":1",
                                         "\"minProperties\":2",
                                         "\"maxProperties\":1",
                                         "\"maxProperties\":2",
                                         "\"propertyNames\":{\"maxLength\":1}",
                                         "\"propertyNames\":{\"enum\":[\"a\",\"b\",\"ab\"]}",
                                         "\"propertyNames\":{\"pattern\":\"^a\"}",
                                         "\"dependentRequired\":{\"a\":[\"b\"]}" };
    switch (keyword) {
        case 0: naive_say_named(m, "\"properties\"", depth, false); break;
        case 1: naive_say_named(m, "\"patternProperties\"", depth, true); break;
        case 2:
            naive_say(m, "\"additionalProperties\":");
            naive_say_value_schema(m, depth);
            break;
        case 3:
            naive_say(m, "\"required\":[");
            naive_say_name(m);
            naive_say(m, "]");
            break;
        case 4: naive_say(m, plain[naive_pick(m, 8)]); break;
        case 5:
            naive_say(m, "\"not\":");
            naive_say_schema(m, depth - 1);
            break;
        case 6: naive_say_list(m, "\"oneOf\"", depth); break;
        case 7: naive_say_list(m, naive_pick(m, 2) ? "\"anyOf\"" : "\"allOf\"", depth); break;
        case 8:
            naive_say(m, "\"if\":");
            naive_say_schema(m, depth - 1);
            naive_say(m, naive_pick(m, 2) ? ",\"then\":" : ",\"else\":");
            naive_say_schema(m, depth - 1);
            break;
        default: naive_say_named(m, "\"dependentSchemas\"", depth, false); break;
    }
}

/* A schema of objects, and of what is in them. */
static void naive_say_schema(naive_maker *m, int depth)
{
    unsigned taken = 0;
    if (depth <= 0) {
        size_t which = naive_pick(m, 3);
        naive_say(m, "{");
        naive_say_keyword(m, which == 0 ? 1 : which == 1 ? 2 : 4, 0);
        naive_say(m, "}");
        return;
    }
    naive_say(m, "{\"type\":\"object\"");
    for (size_t n = 1 + naive_pick(m, 2); n > 0; n--) {
        size_t keyword = naive_pick(m, 10);
        if (taken >> keyword & 1) continue;
        taken |= 1u << keyword;
        naive_say(m, ",");
        naive_say_keyword(m, keyword, depth);
    }
    naive_say(m, "}");
}

static void naive_say_document(naive_maker *m, int depth)
{
    static const char *const values[] = { "1", "2", "1", "\"x\"", "\"x\"", "\"xy\"", "null", "true", "{}", "[1]" };
    size_t n = naive_pick(m, 5);
    const char *seen[5];
    naive_say(m, "{");
    for (size_t i = 0; i < n; i++) {
        const char *name = naive_name(m);
        if (i > 0 && naive_pick(m, 3) == 0) name = seen[naive_pick(m, i)];
        for (size_t k = 0; k < i; k++) m->again = m->again || !strcmp(seen[k], name);
        seen[i] = name;
        naive_say(m, i ? ",\"" : "\"");
        for (size_t k = 0; name[k]; k++) {
            char letter[8] = { name[k], 0 };
            if (naive_pick(m, 12) == 0) {
                snprintf(letter, sizeof letter, "\\u00%02x", (unsigned)name[k]);
                m->escaped = true;
            }
            naive_say(m, letter);
        }
        naive_say(m, "\":");
        if (depth > 0 && naive_pick(m, 8) == 0)
            naive_say_document(m, depth - 1);
        else
            naive_say(m, values[naive_pick(m, 10)]);
    }
    naive_say(m, "}");
}

#endif /* NAIVE_SCHEMA_H */
