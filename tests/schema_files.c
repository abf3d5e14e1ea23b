/* schema_files.c - JSON schemas from files, each with documents that are instances and documents that are not: which
   schemas compile, and are all their documents judged right? Twice: by the naive matcher, and byte by byte by the real
   one.

       build/schema_files [-4] [-n] FILE ...

   A file is lines of {name, schema, tests: [{valid, data}]}, or one array of {description, schema, tests}, as the
   official suite has it. -4: schemas that do not say it are of draft 4. -n: without the naive matcher, which is slow.
   Prints the schemas that are refused, with the reason, and each document that is judged wrong; the last line is

       schemas N compiled N passed N invalid_accepted N compile_ms_mean X compile_ms_max X

   It exits with 1 if an invalid document was accepted, or if both matchers do not agree. */
#define _POSIX_C_SOURCE 200809L
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "../sampling.h"

#include "naive_grammar.h"
#include <stdio.h>
#include <time.h>

static long n_schemas, n_compiled, n_passed, n_accepted, n_differ;
static double ms_sum, ms_max;
static bool use_naive = true, old_draft;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A vocabulary of bytes. Token 256 ends a text. */
static const char *byte_of(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = token < 256;
    return (const char *)vocab->user + (token < 256 ? token : 0);
}

static const samp_vocab_index *byte_index(void)
{
    static unsigned char bytes[256];
    static const samp_token end = 256;
    static samp_vocab vocab;
    static samp_vocab_index *index;
    if (index) return index;
    for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
    vocab.n_vocab = 257;
    vocab.token_bytes = byte_of;
    vocab.user = bytes;
    vocab.eog = &end;
    vocab.n_eog = 1;
    vocab.eos = vocab.eot = 256;
    return index = samp_vocab_index_init(&vocab, NULL);
}

/* 1, 0 or a status. */
static int real_accepts(const samp_grammar *g, const char *text, size_t n)
{
    samp_sampler *s = samp_init_grammar(byte_index(), g);
    int status = SAMP_OK;
    for (size_t i = 0; i < n && !status; i++) status = samp_accept(s, (unsigned char)text[i]);
    int complete = status ? status : samp_grammar_is_complete(s);
    samp_free(s);
    return complete == SAMP_E_RANGE ? 0 : complete;
}

/* Where the value that begins at `at` ends. */
static size_t end_of(const char *text, size_t at, size_t n)
{
    int depth = 0;
    size_t i = at;
    for (bool quoted = false; i < n; i++) {
        char c = text[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else
                quoted = c != '"';
        } else if (c == '"')
            quoted = true;
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']') {
            if (depth == 0) break;
            depth--;
        } else if (depth == 0 && (c == ',' || c == '\n'))
            break;
        if (!quoted && depth == 0 && (c == '"' || c == '}' || c == ']')) return i + 1;
    }
    while (i > at && strchr(" \t\r\n", text[i - 1])) i--;
    return i;
}

static int32_t member(const sampi_json *d, int32_t node, const char *name)
{
    return sampi_json_member(d, node, sampi_json_find(d, name, strlen(name)));
}

static bool judge(const samp_grammar *g, const char *name, const char *text, size_t n, bool valid)
{
    int real = real_accepts(g, text, n), accepted = real;
    if (use_naive) {
        naive m = naive_begin(&g->tree, text, n);
        accepted = naive_matches(&m, sampi_rule_at(&g->tree, g->root)->body);
        naive_end(&m);
    }
    if (accepted != real) n_differ++;
    if (accepted != real) printf("DIFFER %s: naive %d, matcher %d: %.*s\n", name, accepted, real, (int)n, text);
    bool wrong = (real == 1 || accepted == 1) != valid;
    n_accepted += wrong && !valid;
    if (wrong) printf("%s %s: %.*s\n", valid ? "REJECTED" : "ACCEPTED", name, (int)(n > 400 ? 400 : n), text);
    if (real < 0) printf("STATUS %d %s\n", real, name); /* the matcher's limits, say */
    return !wrong && accepted == real && real >= 0;
}

/* One schema with its documents: node `group` of the document. */
static void play(const sampi_json *d, int32_t group, const char *file)
{
    static const char draft[] = "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",";
    char name[300];
    int32_t title = member(d, group, "name"), schema = member(d, group, "schema"), tests = member(d, group, "tests");
    if (title < 0) title = member(d, group, "description");
    if (schema < 0 || tests < 0 || title < 0) return;
    const sampi_json_string *s = &d->strings[d->nodes[title].text];
    snprintf(name, sizeof name, "%s%s%.*s", file, *file ? ": " : "", (int)s->n, d->bytes + s->at);
    size_t at = d->nodes[schema].at, end = end_of(d->source, at, d->n_source), used = 0;
    char *text = (char *)malloc(end - at + sizeof draft);
    if (!text) exit(2);
    if (old_draft && d->nodes[schema].n > 0 && member(d, schema, "$schema") < 0) {
        memcpy(text, draft, used = sizeof draft - 1);
        at++;
    }
    memcpy(text + used, d->source + at, end - at);
    text[used + end - at] = 0;
    samp_grammar_error error;
    double from = now_ms();
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, text, NULL, &error);
    double ms = now_ms() - from;
    ms_sum += ms;
    if (ms > ms_max) ms_max = ms;
    if (ms > 100) printf("SLOW %s: %.0f ms\n", name, ms);
    n_schemas++;
    free(text);
    if (!g) {
        printf("REFUSED %s: %d, %s\n", name, error.status, error.message);
        return;
    }
    bool passed = true;
    for (int32_t t = d->nodes[tests].first; t >= 0; t = d->nodes[t].next) {
        int32_t data = member(d, t, "data");
        at = d->nodes[data].at;
        end = end_of(d->source, at, d->n_source);
        passed &= judge(g, name, d->source + at, end - at, d->nodes[member(d, t, "valid")].kind == SAMPI_JSON_TRUE);
    }
    n_compiled++;
    n_passed += passed;
    samp_grammar_free(g);
}

static void play_text(const char *text, size_t n, const char *file)
{
    sampi_json d;
    samp_grammar_error error;
    if (sampi_json_read(&d, text, n, &error)) {
        printf("%s:%zu:%zu: %s\n", file, error.line, error.column, error.message);
        exit(2);
    }
    if (d.nodes[0].kind == SAMPI_JSON_OBJECT)
        play(&d, 0, "");
    else
        for (int32_t i = d.nodes[0].first; i >= 0; i = d.nodes[i].next) play(&d, i, file);
    sampi_json_free(&d);
}

static void play_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!f) {
        perror(path);
        exit(2);
    }
    int first = getc(f);
    ungetc(first, f);
    for (ssize_t n; (n = getdelim(&text, &room, first == '{' ? '\n' : 0, f)) > 0;) play_text(text, (size_t)n, file);
    free(text);
    fclose(f);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-4"))
            old_draft = true;
        else if (!strcmp(argv[i], "-n"))
            use_naive = false;
        else
            play_file(argv[i]);
    }
    printf("schemas %ld compiled %ld passed %ld invalid_accepted %ld compile_ms_mean %.3f compile_ms_max %.1f\n",
           n_schemas, n_compiled, n_passed, n_accepted, n_schemas ? ms_sum / (double)n_schemas : 0, ms_max);
    if (n_differ) printf("the matchers differ on %ld documents\n", n_differ);
    return n_accepted || n_differ;
}
