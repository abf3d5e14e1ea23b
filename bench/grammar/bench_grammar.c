/* bench_grammar.c - what a mask of a grammar costs.
 *
 *     bench_grammar VOCABULARY [--worst N] [--warm MS] [--peers DIRECTORY] [--requests] [--cliffs] [FILE ...]
 *
 * VOCABULARY: by llama3_vocabulary.mjs. --requests: 64 requests with one schema, one after the other; requests in turns
 * with a full memory; and batches with one schema and with 64, of requests that are new and of such as the grammar has
 * seen (threads: CFLAGS with -fopenmp). --cliffs: keywords and operators with a bound of 10, 1,000 and 100,000, alone
 * and two together: does a mask cost more where the bound is larger?
 *
 * Without a FILE any JSON (llama.cpp's grammar for it), over documents made here at random, and what sampling costs
 * with it, beside the chain alone. --peers: the first rows of a table, to which bench_grammar_llama.c and xgrammar.mjs
 * add theirs, and in DIRECTORY what they read: json.gbnf, and script.txt, a line a mask: the token that follows (-1:
 * the text's end) and how many tokens are allowed, without those that have no bytes. A FILE has JSON schemas with
 * documents (tests/support/schema_cases.h): for each schema that compiles, masks along its valid documents; and all documents
 * must be judged right, byte by byte and token by token. A schema that is refused because no value satisfies it passes
 * if it has no valid document. What is declined, and what is judged wrong, is listed by
 * reason, with --worst also the schemas whose masks took the longest; then how many schemas pass, accept something
 * invalid, reject something valid, and are declined, as MaskBench's tables have it; --warm: then the masks of another
 * matcher, after MS milliseconds of samp_grammar_warm; the last line, with documents, is
 *
 *     schemas N compiled N passed N invalid_accepted N valid_refused N mask_us_mean X mask_us_p50 X mask_us_p99 X
 *     mask_us_p999 X mask_us_max X compile_ms_mean X compile_ms_max X
 *
 * A document is split into the longest tokens; for each token, and at its end, the mask is made, looked at, and the
 * token accepted. All masks count, also the first ones, for which nothing is there yet: every schema, and every few
 * documents of any JSON, begin with a new matcher. What is compiled: samp_grammar_init and samp_init_grammar. One core,
 * and the time that its thread ran; with --peers each mask's least of three passes. Exit 1 if an invalid document was
 * accepted. */
#define SAMPLING_STATIC
#define SAMPLING_GRAMMAR
#include "bench/bench.h"

#include "tests/support/json_gbnf.h"
#include "tests/support/schema_cases.h"

static const char JSON[] = JSON_GBNF;

enum { MAX_VOCAB = 300000, MAX_TEXT = 1 << 20 };
static const uint8_t *piece[MAX_VOCAB];
static int32_t n_vocab;
static const samp_vocab_index *index_of_all;

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = piece[token][0];
    return (const char *)piece[token] + 1;
}

/* ---- many times of one thing ---- */

typedef struct times {
    double *us, sum;
    size_t n, room;
} times;

static void add_time(times *t, double us)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->us = (double *)realloc(t->us, t->room * sizeof *t->us);
        if (!t->us) exit(2);
    }
    t->us[t->n++] = us;
    t->sum += us;
}

static double mean(const times *t) { return t->n ? t->sum / (double)t->n : 0.0; }

/* The time that a share of them is below; puts them in order. */
static double quantile(times *t, double share)
{
    if (t->n == 0) return 0.0;
    qsort(t->us, t->n, sizeof *t->us, bench_compare);
    size_t i = (size_t)(share * (double)t->n);
    return t->us[i < t->n ? i : t->n - 1];
}

/* ---- documents ---- */

static char text[1 << 16];
static size_t n_text;

static void say(const char *s)
{
    for (; *s; s++) text[n_text++] = *s;
    text[n_text] = 0;
}

static void say_string(source *rng)
{
    static const char *const word[] = { "name",         "the city of",
                                        "Alice",        "value",
                                        "caf\xc3\xa9",  "an old \\\"friend\\\"",
                                        "2024-11-05",   "id",
                                        "description",  "a longer sentence, with some words in it.",
                                        "path/to/file", "x" };
    say("\"");
    for (size_t n = 1 + below(rng, 3); n > 0; n--) {
        say(word[below(rng, sizeof word / sizeof *word)]);
        if (n > 1) say(" ");
    }
    say("\"");
}

static void say_value(source *rng, int depth);

static void say_list(source *rng, int depth, bool object)
{
    say(object ? "{" : "[");
    for (size_t n = 1 + below(rng, 4); n > 0; n--) {
        if (object) {
            say_string(rng);
            say(": ");
        }
        say_value(rng, depth + 1);
        if (n > 1) say(", ");
    }
    say(object ? "}" : "]");
}

static void say_value(source *rng, int depth)
{
    static const char *const plain[] = { "0", "-12.5", "1e3", "123456", "true", "false", "null", "3.14159" };
    size_t kind = below(rng, 10);
    if (n_text < 400 && depth < 5 && (kind < 4 || depth == 0)) {
        say_list(rng, depth, kind < 3 || depth == 0);
    } else if (kind < 8) {
        say_string(rng);
    } else {
        say(plain[below(rng, sizeof plain / sizeof *plain)]);
    }
}

/* The longest token that the text [n] begins with. */
static samp_token longest(const char *at, size_t n)
{
    const samp_vocab_index *index = index_of_all;
    samp_token best = -1;
    for (int trie = 0; trie < 2; trie++) {
        uint32_t root = trie ? index->n_plain : 0, i = root + 1, end = root + (index->nodes[2 * root + 1] >> 10),
                 depth = 1;
        while (depth <= n && i < end && (index->nodes[2 * i + 1] & 1023) == depth) {
            const uint32_t *node = index->nodes + 2 * (size_t)i;
            if ((uint8_t)node[0] == (uint8_t)at[depth - 1]) {
                if (node[0] >> 8 != SAMPI_NO_TOKEN && (best < 0 || piece[best][0] < depth))
                    best = (samp_token)(node[0] >> 8);
                end = i + (node[1] >> 10);
                i++;
                depth++;
            } else {
                i += node[1] >> 10;
            }
        }
    }
    return best;
}

/* ---- any JSON ---- */

/* One document: false if it is not what the matcher says that it may be (`valid` or not). */
static bool walk(samp_sampler *s, const char *at, size_t n, times *masks)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    const samp_token end = n_vocab - 1;
    samp_reset(s);
    for (const char *stop = at + n;;) {
        samp_token token = at < stop ? longest(at, (size_t)(stop - at)) : end;
        if (token < 0) return false;
        if (masks) {
            double start = bench_cpu();
            int status = samp_grammar_mask(s, bits);
            add_time(masks, bench_cpu() - start);
            if (status || !(bits[token / 32] >> token % 32 & 1)) return false;
        }
        if (samp_accept(s, token)) return false;
        if (token == end) return samp_grammar_is_complete(s) == 1;
        at += piece[token][0];
    }
}

static void any_json(void)
{
    times masks = { 0 };
    source rng = source_stream(1);
    double start = bench_cpu();
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON, NULL, NULL);
    double grammar_ms = (bench_cpu() - start) / 1e3;
    start = bench_cpu();
    samp_free(samp_init_grammar(index_of_all, grammar));
    printf("any JSON: grammar %.2f ms, matcher %.2f ms\n", grammar_ms, (bench_cpu() - start) / 1e3);
    while (masks.n < 25000) {
        samp_sampler *s = samp_init_grammar(index_of_all, grammar);
        for (int i = 0; i < 4; i++) {
            n_text = 0;
            say_value(&rng, 0);
            if (walk(s, text, n_text, &masks)) continue;
            printf("bench_grammar: %s is refused\n", text);
            exit(1);
        }
        samp_free(s);
    }
    printf("masks %zu  mean %.1f us  median %.1f  p90 %.1f  p99 %.1f  worst %.1f\n", masks.n, mean(&masks),
           quantile(&masks, 0.5), quantile(&masks, 0.9), quantile(&masks, 0.99), quantile(&masks, 1.0));
    free(masks.us);
    samp_grammar_free(grammar);
}

/* ---- the same documents for all: a script of tokens ---- */

enum { MAX_SCRIPT = 1 << 14, PEER_DOCUMENTS = 6 };

/* A mask for each; -1: the end of a document, where there is one too. */
static struct {
    samp_token token[MAX_SCRIPT];
    int n;
} script;

static void write_script(void)
{
    source rng = source_stream(2);
    for (int i = 0; i < PEER_DOCUMENTS; i++) {
        n_text = 0;
        say_value(&rng, 0);
        for (const char *at = text, *stop = text + n_text; at < stop;) {
            samp_token token = longest(at, (size_t)(stop - at));
            if (token < 0 || script.n > MAX_SCRIPT - 2) exit(2);
            script.token[script.n++] = token;
            at += piece[token][0];
        }
        script.token[script.n++] = -1;
    }
}

/* The matcher goes on by the script's token i; behind a document's last one it begins anew. */
static void follow(samp_sampler *s, int i)
{
    if (script.token[i] < 0)
        samp_reset(s);
    else if (samp_accept(s, script.token[i]))
        bench_fail("the script is refused", NULL);
}

static long count_allowed(const uint32_t *bits)
{
    long n = 0;
    for (int32_t i = 0; i < n_vocab; i++) n += piece[i][0] && (bits[i / 32] >> i % 32 & 1);
    return n;
}

/* The masks along the script, each time kept if it is the least so far; `out`, if there is one, is told of them. */
static void play_script(samp_sampler *s, double *least, FILE *out)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    for (int i = 0; i < script.n; i++) {
        double start = bench_cpu();
        int status = samp_grammar_mask(s, bits);
        double us = bench_cpu() - start;
        if (us < least[i]) least[i] = us;
        if (status) bench_fail("no mask", samp_strerror(status));
        if (out) fprintf(out, "%d %ld\n", (int)script.token[i], count_allowed(bits));
        follow(s, i);
    }
}

static void print_row(const char *name, const double *us, const char *init)
{
    times all_us = { 0 };
    for (int i = 0; i < script.n; i++) add_time(&all_us, us[i]);
    printf("%-44s %9.1f %9.1f %9.1f %9s\n", name, mean(&all_us), quantile(&all_us, 0.5), quantile(&all_us, 0.99),
           init);
    free(all_us.us);
}

static FILE *create(const char *directory, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "wb");
    if (!f) bench_fail("cannot write", path);
    return f;
}

static void beside_peers(const char *directory)
{
    static double first[MAX_SCRIPT], again[MAX_SCRIPT];
    double compile = INFINITY;
    char init[32];
    FILE *out = create(directory, "json.gbnf");
    fputs(JSON, out);
    fclose(out);
    for (int i = 0; i < script.n; i++) first[i] = again[i] = INFINITY;
    for (int pass = 0; pass < 3; pass++) {
        double start = bench_cpu();
        samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON, NULL, NULL);
        samp_sampler *s = samp_init_grammar(index_of_all, grammar);
        if (bench_cpu() - start < compile) compile = bench_cpu() - start;
        out = create(directory, "script.txt");
        play_script(s, first, out);
        fclose(out);
        play_script(s, again, NULL);
        samp_free(s);
        samp_grammar_free(grammar);
    }
    printf("%d masks, %d documents of any JSON, us a mask\n%-44s %9s %9s %9s %9s\n", script.n, PEER_DOCUMENTS, "",
           "mean", "median", "p99", "init, ms");
    snprintf(init, sizeof init, "%.2f", compile / 1e3);
    print_row("here, a new matcher", first, init);
    print_row("here, a matcher that has seen the documents", again, "");
}

/* ---- sampling with any JSON, beside the chain alone ---- */

enum { ALONE, IN_CHAIN, MASK_BEFORE, DRAW_FIRST, N_WAYS };
static const char *const WAYS[N_WAYS] = { "the default chain alone", "the grammar first in the chain",
                                          "samp_grammar_mask before the chain", "samp_grammar_sample" };

/* A way to sample: its chain, and its grammar where that is not the chain's. */
typedef struct way {
    int kind;
    samp_sampler *chain, *grammar;
} way;

static way make_way(int kind, const samp_grammar *grammar)
{
    static const stage plain = { DEFAULT_CHAIN, 1.0f, 0, 0, 0 };
    way w = { kind, bench_default_chain(&plain, (size_t)n_vocab), NULL };
    samp_sampler *matcher = kind == ALONE ? NULL : samp_init_grammar(index_of_all, grammar);
    if (kind == IN_CHAIN) {
        samp_sampler *chain = samp_chain_init();
        if (samp_chain_add(chain, matcher) || samp_chain_add(chain, w.chain)) bench_fail("no chain", NULL);
        w.chain = chain;
    } else {
        w.grammar = matcher;
    }
    return w;
}

static samp_token sample_token(way *w, const float *row)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    const size_t n = (size_t)n_vocab;
    if (w->kind == ALONE || w->kind == IN_CHAIN) return samp_sample(w->chain, row, n);
    if (w->kind == DRAW_FIRST) return samp_grammar_sample(w->chain, w->grammar, row, n);
    samp_logits logits = { .data = row, .dtype = SAMP_F32, .n_rows = 1, .n_vocab = n, .mask = bits };
    samp_token token = -1;
    int status = samp_grammar_mask(w->grammar, bits);
    if (!status) status = samp_sample_batch(&w->chain, &logits, &token);
    if (!status) status = samp_accept(w->grammar, token);
    return status ? status : token;
}

/* The token that was drawn is taken back, and the script's comes instead. */
static void go_on(way *w, int i)
{
    samp_sampler *of_grammar = w->grammar ? w->grammar : w->chain;
    int status = samp_rollback(w->chain, 1);
    if (w->grammar && !status) status = samp_rollback(w->grammar, 1);
    if (status) bench_fail("no rollback", samp_strerror(status));
    if (w->kind != ALONE) follow(of_grammar, i);
}

/* Rows of logits, each with the script's token as its largest if `likely`: those of a model that writes JSON. Else
   they know nothing of JSON: inside a string nearly all that they say is allowed, elsewhere nearly nothing. */
static void time_sampling(bench_logits kind, bool likely)
{
    bench_rows rows = bench_make_rows(kind, (size_t)n_vocab, BENCH_ROWS, "tests/data/real_rows.f16");
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_GBNF, JSON, NULL, NULL);
    times cost[N_WAYS] = { 0 };
    way ways[N_WAYS];
    for (int k = 0; k < N_WAYS; k++) ways[k] = make_way(k, grammar);
    for (int i = 0; i < script.n; i++) {
        float *row = rows.data + (size_t)(i % rows.count) * rows.stride;
        size_t top = 0, next = (size_t)(script.token[i] < 0 ? n_vocab - 1 : script.token[i]);
        for (size_t t = 0; t < rows.n; t++) top = row[t] > row[top] ? t : top;
        float largest = row[top], other = row[next];
        if (likely) row[top] = other, row[next] = largest;
        for (int turn = 0; turn < N_WAYS; turn++) { /* each is as often the first one to see the row */
            int k = (i + turn) % N_WAYS;
            double start = bench_cpu();
            samp_token token = sample_token(&ways[k], row);
            add_time(&cost[k], bench_cpu() - start);
            if (token < 0) bench_fail("no token", samp_strerror(token));
            go_on(&ways[k], i);
        }
        row[top] = largest, row[next] = other;
    }
    double alone = quantile(&cost[ALONE], 0.5);
    printf("\nsampling, %s rows %s, us a token\n%-44s %9s %9s %9s %9s\n", bench_logits_name[kind],
           likely ? "whose largest logit is the document's token" : "that know nothing of JSON", "", "mean", "median",
           "p99", "x alone");
    for (int k = 0; k < N_WAYS; k++) {
        double median = quantile(&cost[k], 0.5);
        printf("%-44s %9.1f %9.1f %9.1f %9.2f\n", WAYS[k], mean(&cost[k]), median, quantile(&cost[k], 0.99),
               median / alone);
        free(cost[k].us);
        samp_free(ways[k].chain);
        samp_free(ways[k].grammar);
    }
    samp_grammar_free(grammar);
    free(rows.data);
}

/* ---- schemas ---- */

typedef struct reason {
    char text[160], example[300]; /* example: a schema's name */
    bool declined;
    int n;
} reason;

static struct {
    long n, compiled, passed, accepted, refused; /* compiled: those that no value satisfies count, if they say so */
    long n_accepting,
        n_rejecting; /* schemas with an invalid document that is accepted; others with a valid one refused */
    times masks, compile, warm; /* warm: masks after samp_grammar_warm */
    reason reasons[256];
    int n_reasons;
    struct worst {
        char name[300];
        double sum, most, compile;
        size_t n;
    } * worst; /* [n] a schema each */
} all;

/* Count what went wrong: its text without the place, which ends at the first ": ". */
static void note(const char *text, const char *name, bool declined)
{
    const char *end = *text == '/' || *text == ':' ? strstr(text, ": ") : NULL;
    if (end) text = end + 2;
    int i = 0;
    while (i < all.n_reasons && strcmp(all.reasons[i].text, text) != 0) i++;
    if (i == (int)(sizeof all.reasons / sizeof *all.reasons)) return;
    if (i == all.n_reasons) {
        all.n_reasons++;
        snprintf(all.reasons[i].text, sizeof all.reasons[i].text, "%s", text);
        snprintf(all.reasons[i].example, sizeof all.reasons[i].example, "%s", name);
        all.reasons[i].declined = declined;
    }
    all.reasons[i].n++;
}

/* Is a document judged right, by bytes and by tokens? */
static bool judge(samp_sampler *s, const samp_grammar *g, const schema_case *c, const schema_document *d)
{
    bool by_tokens = walk(s, d->text, d->n, d->valid ? &all.masks : NULL);
    int by_bytes = schema_accepts(g, d->text, d->n);
    if (by_bytes < 0)
        note(samp_strerror(by_bytes), c->name, false);
    else if (by_tokens != by_bytes)
        note("accepted by bytes, but not by tokens, or the other way round", c->name, false);
    else if (by_tokens != d->valid)
        note(d->valid ? "a valid document is refused" : "AN INVALID DOCUMENT IS ACCEPTED", c->name, false);
    all.refused += d->valid && !(by_tokens && by_bytes == 1);
    all.accepted += !d->valid && (by_tokens || by_bytes == 1);
    return by_tokens == d->valid && by_bytes == (int)d->valid;
}

static double warm_ms; /* --warm */

/* The masks of a schema's valid documents, after warm_ms of the thread's time in samp_grammar_warm. */
static void play_warm(const schema_case *c)
{
    enum { SOME = 10000 }; /* steps of a call: some 0.1 ms */
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, c->schema, NULL, NULL);
    samp_sampler *s = samp_init_grammar(index_of_all, g);
    int64_t steps = 1;
    for (const double end = bench_cpu() + 1e3 * warm_ms; steps > 0 && bench_cpu() < end;)
        steps = samp_grammar_warm(index_of_all, g, SOME);
    if (steps < 0) bench_fail("no masks ahead", samp_strerror((int)steps));
    for (size_t i = 0; i < c->n_documents; i++)
        if (c->documents[i].valid) walk(s, c->documents[i].text, c->documents[i].n, &all.warm);
    samp_free(s);
    samp_grammar_free(g);
}

static void play(const schema_case *c)
{
    samp_grammar_error error;
    double start = bench_cpu();
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, c->schema, NULL, &error);
    samp_sampler *s = g ? samp_init_grammar(index_of_all, g) : NULL;
    double compile = bench_cpu() - start;
    size_t first = all.masks.n;
    add_time(&all.compile, compile);
    all.worst = (struct worst *)realloc(all.worst, ((size_t)all.n + 1) * sizeof *all.worst);
    if (!all.worst) exit(2);
    struct worst *w = &all.worst[all.n++];
    memset(w, 0, sizeof *w);
    snprintf(w->name, sizeof w->name, "%s", c->name);
    w->compile = compile;
    const bool answered = g || error.status == SAMP_E_EMPTY; /* that no document is valid is an answer too */
    bool passed = answered;
    const long accepted = all.accepted;
    if (!answered) note(error.message, c->name, true);
    for (size_t i = 0; g && i < c->n_documents; i++) passed &= judge(s, g, c, &c->documents[i]);
    for (size_t i = 0; answered && !g && i < c->n_documents; i++) {
        if (!c->documents[i].valid) continue;
        note("a schema with a valid document is refused as unsatisfiable", c->name, false);
        all.refused++;
        passed = false;
    }
    all.compiled += answered;
    all.passed += passed;
    all.n_accepting += all.accepted > accepted;
    all.n_rejecting += answered && !passed && all.accepted == accepted;
    w->n = all.masks.n - first;
    for (size_t i = first; i < all.masks.n; i++) {
        w->sum += all.masks.us[i];
        if (all.masks.us[i] > w->most) w->most = all.masks.us[i];
    }
    samp_free(s);
    samp_grammar_free(g);
    if (g && warm_ms > 0.0) play_warm(c);
}

static int compare_worst(const void *a, const void *b)
{
    return -bench_compare(&((const struct worst *)a)->sum, &((const struct worst *)b)->sum);
}
static int compare_reasons(const void *a, const void *b) { return ((const reason *)b)->n - ((const reason *)a)->n; }

static void print_masks(const char *name, times *us)
{
    printf("%-72s %7.1f %7.1f %7.1f %7.1f %7.0f\n", name, mean(us), quantile(us, 0.5), quantile(us, 0.99),
           quantile(us, 0.999), quantile(us, 1.0));
}

/* Masks with and without samp_grammar_warm, beside what another engine has published for the same benchmark. */
static void report_warm(void)
{
    char name[80];
    snprintf(name, sizeof name, "here, after %.0f ms of samp_grammar_warm", warm_ms);
    printf("%-72s %7s %7s %7s %7s %7s\n", "us a mask", "mean", "p50", "p99", "p99.9", "worst");
    print_masks("here, nothing computed before", &all.masks);
    print_masks(name, &all.warm);
    printf("%-72s %7d %7d %7d %7d %7d\n", "GLRMask 0.5, published: another machine, mask and commit, after 26 ms of",
           3, 3, 10, 18, 70);
    printf("  compiling in the mean; 9,558 schemas (92 %%) that it could build\n");
}

static int report_schemas(long n_worst)
{
    qsort(all.reasons, (size_t)all.n_reasons, sizeof *all.reasons, compare_reasons);
    for (int declined = 1; declined >= 0; declined--)
        for (int i = 0; i < all.n_reasons; i++)
            if (all.reasons[i].declined == declined)
                printf("%s %5d  %s (%s)\n", declined ? "declined" : "wrong   ", all.reasons[i].n, all.reasons[i].text,
                       all.reasons[i].example);
    qsort(all.worst, (size_t)all.n, sizeof *all.worst, compare_worst);
    for (long i = 0; i < n_worst && i < all.n; i++)
        printf("worst %8.0f us, %4zu masks, most %7.0f us, compiled in %6.0f us: %s\n", all.worst[i].sum,
               all.worst[i].n, all.worst[i].most, all.worst[i].compile, all.worst[i].name);
    double p50 = quantile(&all.masks, 0.5), p99 = quantile(&all.masks, 0.99);
    printf("masks %zu, worst %.0f us; compiling takes %.0f us in the median, %.0f at p99, at most %.0f\n",
           all.masks.n, quantile(&all.masks, 1.0), quantile(&all.compile, 0.5), quantile(&all.compile, 0.99),
           quantile(&all.compile, 1.0));
    if (warm_ms > 0.0) report_warm();
    printf("schemas that pass %ld, accept something invalid %ld, reject something valid %ld, are declined %ld\n",
           all.passed, all.n_accepting, all.n_rejecting, all.n - all.compiled);
    printf("schemas %ld compiled %ld passed %ld invalid_accepted %ld valid_refused %ld mask_us_mean %.1f "
           "mask_us_p50 %.1f mask_us_p99 %.1f mask_us_p999 %.1f mask_us_max %.0f compile_ms_mean %.3f "
           "compile_ms_max %.1f\n",
           all.n, all.compiled, all.passed, all.accepted, all.refused, mean(&all.masks), p50, p99,
           quantile(&all.masks, 0.999), quantile(&all.masks, 1.0), mean(&all.compile) / 1e3,
           quantile(&all.compile, 1.0) / 1e3);
    return all.accepted != 0;
}

/* The index, made a few times: a machine may be busy. */
static void make_index(const samp_vocab *vocab)
{
    double best = INFINITY;
    samp_vocab_index *index = NULL;
    for (int i = 0; i < 5; i++) {
        samp_vocab_index_free(index);
        double start = bench_cpu();
        index = samp_vocab_index_init(vocab, NULL);
        if (bench_cpu() - start < best) best = bench_cpu() - start;
    }
    if (!index) exit(2);
    index_of_all = index;
    printf("%d tokens: index %.1f ms (%zu nodes, %.1f MB)\n", (int)n_vocab, best / 1e3, (size_t)index->n_nodes,
           (double)samp_vocab_index_size(index) / 1e6);
}

/* ---- many requests ---- */

enum { MOST_ROWS = 64, ROW_TOKENS = 2000, STEPS = 200 };
static samp_token row_token[MOST_ROWS][ROW_TOKENS]; /* documents, one behind the other, each with its end */

static void write_rows(void)
{
    source rng = source_stream(3);
    for (int row = 0; row < MOST_ROWS; row++)
        for (int n = 0; n < ROW_TOKENS;) {
            n_text = 0;
            say_value(&rng, 0);
            for (const char *at = text, *stop = text + n_text; at < stop && n < ROW_TOKENS - 1;) {
                const samp_token token = row_token[row][n++] = longest(at, (size_t)(stop - at));
                if (token < 0) exit(2);
                at += piece[token][0];
            }
            row_token[row][n++] = n_vocab - 1;
        }
}

/* A schema that any object of these documents is an instance of; each number is another one. */
static samp_grammar *numbered_schema(int number)
{
    char schema[100];
    snprintf(schema, sizeof schema, "{\"type\":\"object\",\"properties\":{\"p%d\":{\"type\":\"integer\"}}}", number);
    samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_JSON_SCHEMA, schema, NULL, NULL);
    if (!grammar) bench_fail("no grammar", schema);
    return grammar;
}

/* A request's masks, each the least so far, and the bytes that the grammar holds more behind it than before. */
static size_t play_request(const samp_grammar *grammar, int row, double *least)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    samp_sampler *s = samp_init_grammar(index_of_all, grammar);
    for (int i = 0; i < ROW_TOKENS; i++) {
        const double start = bench_cpu();
        const int status = samp_grammar_mask(s, bits);
        const double us = bench_cpu() - start;
        if (us < least[i]) least[i] = us;
        if (status) bench_fail("no mask", samp_strerror(status));
        if (row_token[row][i] == n_vocab - 1)
            samp_reset(s);
        else if (samp_accept(s, row_token[row][i]))
            bench_fail("a document is refused", NULL);
    }
    samp_grammar_usage with, without;
    samp_sampler *other = samp_init_grammar(index_of_all, grammar);
    if (samp_grammar_stats(other, &with)) bench_fail("no numbers", NULL);
    samp_free(s);
    if (samp_grammar_stats(other, &without)) bench_fail("no numbers", NULL);
    samp_free(other);
    return with.n_bytes - without.n_bytes;
}

/* One request after the other with one schema, of which nothing is known at first; then all of them again. */
static void play_requests(void)
{
    enum { PASSES = 5, GROUPS = 4 };
    static const int first[GROUPS + 1] = { 0, 1, 8, MOST_ROWS, 2 * MOST_ROWS };
    static const char *const names[GROUPS] = { "the first request", "requests 2 to 8", "requests 9 to 64",
                                               "all of them once more" };
    static double least[2 * MOST_ROWS][ROW_TOKENS];
    size_t bytes = 0;
    for (int i = 0; i < 2 * MOST_ROWS; i++)
        for (int k = 0; k < ROW_TOKENS; k++) least[i][k] = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        samp_grammar *grammar = numbered_schema(0);
        for (int i = 0; i < 2 * MOST_ROWS; i++) {
            const size_t own = play_request(grammar, i % MOST_ROWS, least[i]);
            if (own > bytes) bytes = own;
        }
        samp_grammar_free(grammar);
    }
    printf("%d requests of %d tokens, one schema, us a mask (least of %d)\n%-30s %9s %9s %9s %9s\n", MOST_ROWS,
           ROW_TOKENS, PASSES, "", "mean", "median", "p99", "worst");
    for (int group = 0; group < GROUPS; group++) {
        times us = { 0 };
        for (int i = first[group]; i < first[group + 1]; i++)
            for (int k = 0; k < ROW_TOKENS; k++) add_time(&us, least[i][k]);
        printf("%-30s %9.2f %9.2f %9.1f %9.1f\n", names[group], mean(&us), quantile(&us, 0.5), quantile(&us, 0.99),
               quantile(&us, 1.0));
        free(us.us);
    }
    printf("bytes of a request's own, at most: %zu\n\n", bytes);
}

/* ---- a full memory ---- */

/* A random token of a mask, a short one rather than a long one; -1: there is none. */
static samp_token any_of(source *rng, const uint32_t *bits)
{
    for (int i = 0; i < 200; i++) {
        const samp_token token = (samp_token)below(rng, i < 60 ? 1000 : (uint64_t)n_vocab - 1);
        if (bits[token / 32] >> token % 32 & 1) return token;
    }
    const samp_token first = (samp_token)below(rng, (uint64_t)n_vocab - 1);
    for (samp_token i = 0; i < n_vocab - 1; i++) {
        const samp_token token = (first + i) % (n_vocab - 1);
        if (bits[token / 32] >> token % 32 & 1) return token;
    }
    return -1;
}

/* Requests in turns under a limit; each call, a mask or a token, is counted with its least time so far. The first time,
   each mask is compared with that of a sampler without a limit. Returns how often the memory was renewed. */
static size_t play_full(samp_grammar_kind kind, const char *text_of_grammar, size_t limit, int n_requests,
                        int n_tokens, double *least, bool compare)
{
    static uint32_t bits[2][MAX_VOCAB / 32 + 1];
    samp_grammar *grammar[2];
    samp_sampler *s[2][MOST_ROWS];
    source rng[MOST_ROWS];
    samp_grammar_usage usage;
    for (int k = 0; k < 2; k++) {
        grammar[k] = samp_grammar_init(kind, text_of_grammar, NULL, NULL);
        for (int i = 0; i < n_requests; i++) s[k][i] = samp_init_grammar(index_of_all, grammar[k]);
    }
    for (int i = 0; i < n_requests; i++) rng[i] = source_stream(100 + (uint64_t)i);
    if (samp_set_grammar_limits(s[0][0], limit, 1 << 24) ||
        samp_set_grammar_limits(s[1][0], (size_t)1 << 31, 1 << 24))
        bench_fail("no limits", NULL);
    for (int k = 0; k < n_tokens * n_requests; k++) {
        const int i = k % n_requests;
        double start = bench_cpu();
        int status = samp_grammar_mask(s[0][i], bits[0]), status_alone = SAMP_OK;
        least[2 * k] = fmin(least[2 * k], bench_cpu() - start);
        if (compare) status_alone = samp_grammar_mask(s[1][i], bits[1]);
        if (status || status_alone) bench_fail("no mask", samp_strerror(status ? status : status_alone));
        if (compare && memcmp(bits[0], bits[1], ((size_t)n_vocab + 31) / 32 * 4))
            bench_fail("another mask", text_of_grammar);
        const samp_token token = below(&rng[i], (uint64_t)n_tokens) ? any_of(&rng[i], bits[0]) : -1;
        start = bench_cpu();
        status = token < 0 ? SAMP_OK : samp_accept(s[0][i], token);
        least[2 * k + 1] = fmin(least[2 * k + 1], bench_cpu() - start);
        if (token < 0) samp_reset(s[0][i]), samp_reset(s[1][i]);
        if (status || (token >= 0 && compare && samp_accept(s[1][i], token))) bench_fail("a token is refused", NULL);
    }
    if (samp_grammar_stats(s[0][0], &usage)) bench_fail("no numbers", NULL);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n_requests; i++) samp_free(s[k][i]);
        samp_grammar_free(grammar[k]);
    }
    return usage.n_renewals;
}

static void play_all_full(void)
{
    enum { PASSES = 5, MOST_CALLS = 150000 };
    static const char integer[] = "{\"type\":\"object\",\"properties\":{\"p0\":{\"type\":\"integer\"}}}",
                      words[] = "{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"string\",\"pattern\":"
                                "\"^(\\\\w+ ){2,30}\\\\w+$\",\"maxLength\":300}},\"required\":[\"t\"],"
                                "\"additionalProperties\":false}",
                      states[] = "(?:a|b)*a(?:a|b){18}";
    static const struct {
        const char *name, *schema;
        int n_requests, n_tokens;
        double mb;
    } loads[] = { { "one integer, any others", integer, MOST_ROWS, 100, 2.0 },
                  { "one integer, any others", integer, 8, 200, 0.5 },
                  { "a string of 2 to 30 words", words, 8, 100, 0.6 },
                  { "a string of 2 to 30 words", words, 8, 100, 1.0 },
                  { "a string of 2 to 30 words", words, 8, 100, 4.0 },
                  { "a string of 2 to 30 words", words, 32, 100, 16.0 },
                  { "a new state at each byte", states, 1, MOST_CALLS / 2, 67.1 } };
    double *least = (double *)bench_alloc(MOST_CALLS * sizeof *least), worst = 0.0;
    printf("a full memory: requests in turns, random tokens, us a call (least of %d); masks are those without a "
           "limit\n%-30s %8s %8s %9s %9s %9s %9s\n",
           PASSES, "", "requests", "MB", "mean", "p99", "worst", "renewals");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        const int n = 2 * loads[i].n_requests * loads[i].n_tokens;
        times us = { 0 };
        size_t renewals = 0;
        for (int k = 0; k < n; k++) least[k] = INFINITY;
        for (int pass = 0; pass < PASSES; pass++)
            renewals = play_full(loads[i].schema == states ? SAMP_GRAMMAR_REGEX : SAMP_GRAMMAR_JSON_SCHEMA,
                                 loads[i].schema, (size_t)(loads[i].mb * 1e6), loads[i].n_requests, loads[i].n_tokens,
                                 least, pass == 0);
        for (int k = 0; k < n; k++) add_time(&us, least[k]);
        printf("%-30s %8d %8.1f %9.2f %9.1f %9.1f %9zu\n", loads[i].name, loads[i].n_requests, loads[i].mb, mean(&us),
               quantile(&us, 0.99), quantile(&us, 1.0), renewals);
        worst = fmax(worst, quantile(&us, 1.0));
        free(us.us);
    }
    printf("the worst call with a full memory: %.1f ms\n\n", worst / 1e3);
    free(least);
}

/* ---- batches ---- */

/* The wall-clock time of each step in samp_sample_batch, if it is the least so far: each row's chain is its grammar and
   the largest logit, which is that of the token that comes. */
static void time_batch(samp_grammar *const *grammars, int n_rows, int n_threads, float *rows, double *least)
{
    samp_sampler *chain[MOST_ROWS];
    samp_token token[MOST_ROWS];
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    logits.data = rows;
    logits.n_rows = (size_t)n_rows;
    logits.n_vocab = (size_t)n_vocab;
    logits.n_threads = n_threads;
    for (int row = 0; row < n_rows; row++) {
        chain[row] = samp_chain_init();
        if (samp_chain_add(chain[row], samp_init_grammar(index_of_all, grammars[row])) ||
            samp_chain_add(chain[row], samp_init_greedy()))
            bench_fail("no chain", NULL);
    }
    for (int step = 0; step < STEPS; step++) {
        for (int row = 0; row < n_rows; row++)
            rows[(size_t)row * (size_t)n_vocab + (size_t)row_token[row][step]] = 1.0f;
        const double start = bench_now();
        const int status = samp_sample_batch(chain, &logits, token);
        const double us = bench_now() - start;
        if (us < least[step]) least[step] = us;
        for (int row = 0; row < n_rows; row++) {
            if (status || token[row] != row_token[row][step]) bench_fail("another token", NULL);
            rows[(size_t)row * (size_t)n_vocab + (size_t)token[row]] = 0.0f;
            if (token[row] == n_vocab - 1) samp_reset(chain[row]);
        }
    }
    for (int row = 0; row < n_rows; row++) samp_free(chain[row]);
}

static void play_batches(void)
{
    enum { PASSES = 5 };
    float *rows = (float *)bench_alloc((size_t)MOST_ROWS * (size_t)n_vocab * sizeof *rows);
    memset(rows, 0, (size_t)MOST_ROWS * (size_t)n_vocab * sizeof *rows);
    printf("samp_sample_batch, %d steps, us a row (wall clock, each step's least of %d); again: requests of a "
           "grammar that "
           "knows their texts\n%-8s %8s %12s %12s %12s %12s\n",
           STEPS, PASSES, "rows", "threads", "1 schema", "again", "64 schemas", "again");
    for (int way = 0; way < 6; way++) {
        const int n_rows = way < 2 ? 1 : way < 4 ? 8 : MOST_ROWS, n_threads = 1 + way % 2;
        printf("%-8d %8d", n_rows, n_threads);
        for (int many = 0; many < 2; many++) {
            double least[2][STEPS], sum[2] = { 0.0, 0.0 };
            for (int step = 0; step < STEPS; step++) least[0][step] = least[1][step] = INFINITY;
            for (int pass = 0; pass < PASSES; pass++) {
                samp_grammar *grammar[MOST_ROWS];
                for (int row = 0; row < n_rows; row++)
                    grammar[row] = many || row == 0 ? numbered_schema(row) : grammar[0];
                for (int again = 0; again < 2; again++) time_batch(grammar, n_rows, n_threads, rows, least[again]);
                for (int row = 0; row < (many ? n_rows : 1); row++) samp_grammar_free(grammar[row]);
            }
            for (int step = 0; step < STEPS; step++)
                for (int again = 0; again < 2; again++) sum[again] += least[again][step];
            printf(" %12.1f %12.1f", sum[0] / STEPS / n_rows, sum[1] / STEPS / n_rows);
        }
        printf("\n");
    }
    free(rows);
}

/* ---- bounds ---- */

/* What a bound is about; # is the bound. A text is `begin`, then `again` over and over, as far as it is allowed. */
static const struct {
    samp_grammar_kind kind;
    const char *text, *begin, *again;
} bounded[] = {
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":#}", "\"", "the quick brown fox, and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"minLength\":#}", "\"", "the quick brown fox, and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"^\\\\S{1,#}$\",\"type\":\"string\"}", "\"", "abcdefgh" },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"\\\\S\",\"type\":\"string\",\"maxLength\":#}", "\"",
      "the quick brown fox, and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"^(\\\\S+\\\\s*){1,#}$\",\"type\":\"string\"}", "\"",
      "the quick brown fox, and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"^(\\\\S+\\\\s+){0,9}\\\\S+$\",\"type\":\"string\",\"maxLength\":#}",
      "\"", "the quick brown fox, and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"^(\\\\w+ ){0,#}\\\\w+$\",\"type\":\"string\",\"minLength\":#}", "\"",
      "the quick brown fox and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"pattern\":\"^(\\\\w+ ){#,}\\\\w+$\",\"type\":\"string\",\"maxLength\":#00}", "\"",
      "the quick brown fox and " },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"maxItems\":#,\"items\":{\"type\":\"integer\"}}", "[1", ",23" },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"minItems\":#,\"items\":{\"type\":\"string\"}}", "[\"a\"",
      ",\"bcd\"" },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"array\",\"maxItems\":#,\"items\":{\"type\":\"string\",\"maxLength\":#}}",
      "[\"a\"", ",\"bcd\"" },
    { SAMP_GRAMMAR_JSON_SCHEMA,
      "{\"type\":\"object\",\"maxProperties\":#,\"additionalProperties\":{\"type\":\"null\"}}", "{\"a\":null",
      ",\"b\":null" },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"integer\",\"maximum\":#}", "", "1" },
    { SAMP_GRAMMAR_JSON_SCHEMA, "{\"type\":\"string\",\"maxLength\":#,\"not\":{\"pattern\":\"x{#}\"}}", "\"",
      "the quick brown fox, and " },
    { SAMP_GRAMMAR_REGEX, "(a|aa){1,#}", "", "a" },
    { SAMP_GRAMMAR_REGEX, "(?:[a-z]{1,#} ?){1,#}", "", "the quick brown fox and " },
    { SAMP_GRAMMAR_GBNF, "root ::= ([a-z]+ \" \"){1,#}", "", "the quick brown fox and " },
};

/* Masks along a text of at most 4,000 bytes, until one byte more is refused. Returns a status. */
static int play_bounded(const samp_grammar *g, size_t which, times *masks)
{
    static uint32_t bits[MAX_VOCAB / 32 + 1];
    static char all[4096];
    size_t n = (size_t)snprintf(all, sizeof all, "%s", bounded[which].begin);
    const size_t step = strlen(bounded[which].again);
    for (; n + step < 4000; n += step) memcpy(all + n, bounded[which].again, step);
    samp_sampler *s = samp_init_grammar(index_of_all, g);
    int status = SAMP_OK;
    for (size_t at = 0; at < n && !status;) {
        const double start = bench_cpu();
        status = samp_grammar_mask(s, bits);
        add_time(masks, bench_cpu() - start);
        const samp_token token = longest(all + at, n - at);
        if (status || !(bits[token / 32] >> token % 32 & 1)) break;
        status = samp_accept(s, token);
        at += piece[token][0];
    }
    samp_free(s);
    return status;
}

static void play_cliffs(void)
{
    static const char *const bound[] = { "10", "1000", "100000" };
    printf("\nbounds: us a mask, first text and second, and the worst\n%-76s", "# is");
    for (int b = 0; b < 3; b++) printf(" %27s", bound[b]);
    printf("\n");
    for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
        printf("%-76s", bounded[i].text);
        for (int b = 0; b < 3; b++) {
            char schema[256];
            size_t n = 0;
            for (const char *at = bounded[i].text; *at; at++)
                n += (size_t)snprintf(schema + n, sizeof schema - n, "%.*s", *at == '#' ? 6 : 1,
                                      *at == '#' ? bound[b] : at);
            times masks[2] = { 0 };
            samp_grammar_error error;
            samp_grammar *g = samp_grammar_init(
                bounded[i].kind, schema, bounded[i].kind == SAMP_GRAMMAR_JSON_SCHEMA ? "compact" : NULL, &error);
            int status = g ? SAMP_OK : error.status;
            for (int k = 0; k < 2 && !status; k++) status = play_bounded(g, i, &masks[k]);
            samp_grammar_free(g);
            if (status)
                printf(" %27s", samp_strerror(status));
            else
                printf(" %8.1f %8.1f %9.0f", mean(&masks[0]), mean(&masks[1]), quantile(&masks[0], 1.0));
            for (int k = 0; k < 2; k++) free(masks[k].us);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static uint8_t file[1 << 23];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t size = f ? fread(file, 1, sizeof file, f) : 0;
    long n_worst = 0;
    const char *peers = NULL;
    bool requests = false, cliffs = false;
    for (size_t at = 0; at < size && n_vocab < MAX_VOCAB; at += 1u + file[at]) piece[n_vocab++] = file + at;
    if (!n_vocab) return 2;
    const samp_token eog[] = { n_vocab - 1 };
    samp_vocab vocab = { n_vocab, piece_bytes, NULL, NULL, eog, 1, n_vocab - 1, -1 };
    make_index(&vocab);
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--worst") && i + 1 < argc)
            n_worst = strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--peers") && i + 1 < argc)
            peers = argv[++i];
        else if (!strcmp(argv[i], "--warm") && i + 1 < argc)
            warm_ms = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--requests"))
            requests = true;
        else if (!strcmp(argv[i], "--cliffs"))
            cliffs = true;
        else
            schema_cases(argv[i], NULL, play);
    }
    if (all.n) return report_schemas(n_worst);
    if (cliffs) {
        play_cliffs();
        return 0;
    }
    if (requests) {
        write_rows();
        play_requests();
        play_all_full();
        play_batches();
        return 0;
    }
    write_script();
    if (peers) {
        beside_peers(peers);
        return 0;
    }
    any_json();
    time_sampling(PEAKED, true);
    time_sampling(REAL, true);
    time_sampling(PEAKED, false);
    return 0;
}
