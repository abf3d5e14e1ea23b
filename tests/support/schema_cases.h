/* schema_cases.h - JSON schemas with documents that are instances and documents that are not, from files. To be included
   behind the implementation (SAMPLING_GRAMMAR), whose reader of JSON it uses.

   A file is lines of {name, schema, tests: [{valid, data}]}, or one array of {description, schema, tests}, as the official
   suite has it. */
#ifndef SCHEMA_CASES_H
#define SCHEMA_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct schema_document {
    const char *text; /* [n], as it stands in the file */
    size_t n;
    bool valid;
} schema_document;

typedef struct schema_case {
    char name[300];
    char *schema; /* with a 0 behind it */
    schema_document *documents;
    size_t n_documents;
} schema_case;

/* Where the value that begins at `at` ends. */
static size_t schema_value_end(const char *text, size_t at, size_t n)
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

static int32_t schema_member(const sampi_json *d, int32_t node, const char *name)
{
    return sampi_json_member(d, node, sampi_json_find(d, name, strlen(name)));
}

/* The text of a schema; if it does not say which, it is of that draft (its address; NULL: the newest). */
static char *schema_text(const sampi_json *d, int32_t schema, const char *draft)
{
    size_t at = d->nodes[schema].at, end = schema_value_end(d->source, at, d->n_source), n_head = 0;
    size_t room = end - at + 100 + (draft ? strlen(draft) : 0);
    char *text = (char *)malloc(room);
    if (!text) exit(2);
    if (draft && d->nodes[schema].n > 0 && schema_member(d, schema, "$schema") < 0) {
        n_head = (size_t)snprintf(text, room, "{\"$schema\":\"%s\",", draft);
        at++;
    }
    memcpy(text + n_head, d->source + at, end - at);
    text[n_head + end - at] = 0;
    return text;
}

/* The case of a node {name or description, schema, tests}; false: it is none. To be freed. */
static bool schema_case_read(const sampi_json *d, int32_t node, const char *file, const char *draft, schema_case *c)
{
    int32_t title = schema_member(d, node, "name"), schema = schema_member(d, node, "schema");
    int32_t tests = schema_member(d, node, "tests");
    if (title < 0) title = schema_member(d, node, "description");
    if (schema < 0 || tests < 0 || title < 0) return false;
    const sampi_json_string *s = &d->strings[d->nodes[title].text];
    snprintf(c->name, sizeof c->name, "%s%s%.*s", file, *file ? ": " : "", (int)s->n, d->bytes + s->at);
    c->schema = schema_text(d, schema, draft);
    c->documents = (schema_document *)malloc(((size_t)d->nodes[tests].n + 1) * sizeof *c->documents);
    if (!c->documents) exit(2);
    c->n_documents = 0;
    for (int32_t t = d->nodes[tests].first; t >= 0; t = d->nodes[t].next) {
        schema_document *document = &c->documents[c->n_documents++];
        size_t at = d->nodes[schema_member(d, t, "data")].at;
        document->text = d->source + at;
        document->n = schema_value_end(d->source, at, d->n_source) - at;
        document->valid = d->nodes[schema_member(d, t, "valid")].kind == SAMPI_JSON_TRUE;
    }
    return true;
}

static void schema_cases_of(const char *text, size_t n, const char *file, const char *draft,
                            void (*play)(const schema_case *))
{
    sampi_json d;
    samp_grammar_error error;
    schema_case c;
    if (sampi_json_read(&d, text, n, &error)) {
        printf("%s:%zu:%zu: %s\n", file, error.line, error.column, error.message);
        exit(2);
    }
    bool one = d.nodes[0].kind == SAMPI_JSON_OBJECT;
    for (int32_t i = one ? 0 : d.nodes[0].first; i >= 0; i = one ? -1 : d.nodes[i].next) {
        if (!schema_case_read(&d, i, one ? "" : file, draft, &c)) continue;
        play(&c);
        free(c.schema);
        free(c.documents);
    }
    sampi_json_free(&d);
}

/* Plays all cases of a file. Ends the program if there is none. */
static void schema_cases(const char *path, const char *draft, void (*play)(const schema_case *))
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
    for (ssize_t n; (n = getdelim(&text, &room, first == '{' ? '\n' : 0, f)) > 0;)
        schema_cases_of(text, (size_t)n, file, draft, play);
    free(text);
    fclose(f);
}

/* ---- by bytes ---- */

/* A vocabulary of bytes. Token 256 ends a text. */
static const char *schema_byte(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = token < 256;
    return (const char *)vocab->user + (token < 256 ? token : 0);
}

static const samp_vocab_index *schema_byte_index(void)
{
    static unsigned char bytes[256];
    static const samp_token end = 256;
    static samp_vocab vocab;
    static samp_vocab_index *index;
    if (index) return index;
    for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
    vocab.n_vocab = 257;
    vocab.token_bytes = schema_byte;
    vocab.user = bytes;
    vocab.eog = &end;
    vocab.n_eog = 1;
    vocab.eos = vocab.eot = 256;
    return index = samp_vocab_index_init(&vocab, NULL);
}

/* Is the text in the grammar, byte by byte? 1, 0 or a status. */
static inline int schema_accepts(const samp_grammar *g, const char *text, size_t n)
{
    samp_sampler *s = samp_init_grammar(schema_byte_index(), g);
    int status = SAMP_OK;
    for (size_t i = 0; i < n && !status; i++) status = samp_accept(s, (unsigned char)text[i]);
    int complete = status ? status : samp_grammar_is_complete(s);
    samp_free(s);
    return complete == SAMP_E_RANGE ? 0 : complete;
}

#endif /* SCHEMA_CASES_H */
