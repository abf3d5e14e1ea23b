/* schema_walks.c - documents that a schema's grammar allows, made by random walks.
 *
 *     build/schema_walks N_SCHEMAS N_WALKS FILE
 *
 * For every so-manieth schema of the file that compiles (schema_cases.h; about N_SCHEMAS in all) N_WALKS documents, byte
 * by byte, each byte drawn from those that the mask allows, where what ends a value is preferred. A line for each schema:
 * {"name", "schema", "documents": [texts]}. schema_ajv.mjs asks another validator about them. What does not end within
 * 3000 bytes is given up; how many, and how many were made, is told on stderr. */
#define _POSIX_C_SOURCE 200809L
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "tests/support/schema_cases.h"
#include "tests/support/source.h"

enum { MAX_TEXT = 3000, END = 256 };
static long n_seen, n_every = 1, n_walks, n_made, n_given_up;
static source rng;

static void put_string(const char *text, size_t n)
{
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == '"' || c == '\\')
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

/* One of the allowed bytes; END ends the text. */
static int draw(const uint32_t *bits)
{
    static const char enders[] = "\"}]";
    int allowed[257], n = 0;
    for (int b = 0; b <= END; b++)
        if (bits[b / 32] >> b % 32 & 1) allowed[n++] = b;
    if (n == 0) return -1;
    if ((bits[END / 32] >> END % 32 & 1) && percent(&rng, 60)) return END;
    for (int i = 0; enders[i]; i++)
        if ((bits[enders[i] / 32] >> enders[i] % 32 & 1) && percent(&rng, 45)) return enders[i];
    const char small = (char)('0' + below(&rng, 10)); /* rather a number than one more object */
    if ((bits['{' / 32] >> '{' % 32 & 1) && (bits[small / 32] >> small % 32 & 1) && percent(&rng, 70)) return small;
    for (int again = 0; again < 3; again++) { /* mostly printable */
        int b = allowed[below(&rng, (uint64_t)n)];
        if (b > ' ' && b < 0x7f && b != '\\') return b;
    }
    return allowed[below(&rng, (uint64_t)n)];
}

/* A document's length, or -1. */
static int walk(samp_sampler *s, char *text)
{
    uint32_t bits[9];
    samp_reset(s);
    for (int n = 0; n < MAX_TEXT; n++) {
        int b = samp_grammar_mask(s, bits) ? -1 : draw(bits);
        if (b == END) return n;
        if (b < 0 || samp_accept(s, b)) return -1;
        text[n] = (char)b;
    }
    return -1;
}

static void play(const schema_case *c)
{
    if (n_seen++ % n_every) return;
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, c->schema, "any-number", NULL);
    if (!g) return;
    samp_sampler *s = samp_init_grammar(schema_byte_index(), g);
    char text[MAX_TEXT];
    printf("{\"name\":");
    put_string(c->name, strlen(c->name));
    printf(",\"schema\":%s,\"documents\":[", c->schema);
    for (long i = 0, n_here = 0; i < n_walks; i++) {
        int n = walk(s, text);
        n_given_up += n < 0;
        if (n < 0) continue;
        if (n_here++) putchar(',');
        put_string(text, (size_t)n);
        n_made++;
    }
    printf("]}\n");
    samp_free(s);
    samp_grammar_free(g);
}

static long n_cases;
static void count(const schema_case *c) { n_cases += c != NULL; }

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    schema_cases(argv[3], NULL, count);
    long n = strtol(argv[1], NULL, 10);
    n_every = n > 0 && n < n_cases ? n_cases / n : 1;
    n_walks = strtol(argv[2], NULL, 10);
    rng = source_stream(7);
    schema_cases(argv[3], NULL, play);
    fprintf(stderr, "schema_walks: %ld documents, %ld walks given up\n", n_made, n_given_up);
    return 0;
}
