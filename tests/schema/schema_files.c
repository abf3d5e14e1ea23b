/* schema_files.c - JSON schemas from files, each with documents that are instances and documents that are not: which
   schemas compile, and are all their documents judged right? Twice: by the naive matcher, and byte by byte by the real
   one.

       build/schema_files [-d DRAFT] [-n] FILE ...

   FILE: see schema_cases.h. -d: the address of the draft that schemas are of which do not say it. -n: without the naive
   matcher, which is slow. Prints the schemas that are refused, with the reason, and each document that is judged wrong;
   the last line is

       schemas N compiled N passed N documents N invalid_accepted N compile_ms_mean X compile_ms_max X

   It exits with 1 if an invalid document was accepted, or if both matchers do not agree. */
#define _POSIX_C_SOURCE 200809L
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "tests/support/naive_grammar.h"
#include "tests/support/schema_cases.h"
#include <stdio.h>
#include <time.h>

static long n_schemas, n_compiled, n_passed, n_documents, n_accepted, n_differ;
static double ms_sum, ms_max;
static bool use_naive = true;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static bool judge(const samp_grammar *g, const char *name, const schema_document *d)
{
    int real = schema_accepts(g, d->text, d->n), accepted = real;
    if (use_naive) {
        naive m = naive_begin(&g->tree, d->text, d->n);
        accepted = naive_matches(&m, sampi_grammar_rule_at(&g->tree, g->root)->body);
        naive_end(&m);
    }
    if (accepted != real) n_differ++;
    if (accepted != real) printf("DIFFER %s: naive %d, matcher %d: %.*s\n", name, accepted, real, (int)d->n, d->text);
    bool wrong = (real == 1 || accepted == 1) != d->valid;
    n_accepted += wrong && !d->valid;
    if (wrong)
        printf("%s %s: %.*s\n", d->valid ? "REJECTED" : "ACCEPTED", name, (int)(d->n > 400 ? 400 : d->n), d->text);
    if (real < 0) printf("STATUS %d %s\n", real, name); /* the matcher's limits, say */
    return !wrong && accepted == real && real >= 0;
}

static void play(const schema_case *c)
{
    samp_grammar_error error;
    double from = now_ms();
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, c->schema, "any-number", &error);
    double ms = now_ms() - from;
    ms_sum += ms;
    if (ms > ms_max) ms_max = ms;
    if (ms > 100) printf("SLOW %s: %.0f ms\n", c->name, ms);
    n_schemas++;
    if (!g && error.status == SAMP_E_EMPTY) { /* no value satisfies it, it says: right if no document is valid */
        bool right = true;
        for (size_t i = 0; i < c->n_documents; i++) {
            if (!c->documents[i].valid) continue;
            printf("REJECTED %s: %.*s: %s\n", c->name, (int)c->documents[i].n, c->documents[i].text, error.message);
            right = false;
        }
        n_compiled++;
        n_passed += right;
        return;
    }
    if (!g) {
        printf("REFUSED %s: %d, %s\n", c->name, error.status, error.message);
        return;
    }
    bool passed = true;
    for (size_t i = 0; i < c->n_documents; i++) passed &= judge(g, c->name, &c->documents[i]);
    n_compiled++;
    n_documents += (long)c->n_documents;
    n_passed += passed;
    samp_grammar_free(g);
}

int main(int argc, char **argv)
{
    const char *draft = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-d") && i + 1 < argc)
            draft = argv[++i];
        else if (!strcmp(argv[i], "-n"))
            use_naive = false;
        else
            schema_cases(argv[i], draft, play);
    }
    printf("schemas %ld compiled %ld passed %ld documents %ld invalid_accepted %ld compile_ms_mean %.3f compile_ms_max %.1f\n",
           n_schemas, n_compiled, n_passed, n_documents, n_accepted, n_schemas ? ms_sum / (double)n_schemas : 0, ms_max);
    if (n_differ) printf("the matchers differ on %ld documents\n", n_differ);
    return n_accepted || n_differ;
}
