/* test_hostile.c - texts from strangers: grammars, schemas, expressions, requests and vocabularies that are made to
   take for ever or to go deep. Each is read and used by a thread with 64 KB of stack, in a process of its own: it ends
   in an answer or in a status, soon, whatever it is. */

#define _GNU_SOURCE
#define SAMPLING_GRAMMAR
#define SAMPLING_PEERS
#include "tests/support/inside.h"

#include "tests/support/test.h"

#include "tests/support/small_vocabulary.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where frames are larger than the compiler's own, or threads have more: there it runs with more stack. */
#if defined(__SANITIZE_ADDRESS__)
#define BIG_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BIG_FRAMES 1
#endif
#endif
#ifndef BIG_FRAMES
#define BIG_FRAMES 0
#endif

/* Reading 4 MB takes at most so many steps, of some 30 ns each: in the tables of nodes, strings and numbers, and others
   that must not grow faster than the text. Time is only looked at to see whether something hangs. */
enum { STACK = BIG_FRAMES ? 1 << 20 : 1 << 16, STEPS = 1 << 24, SECONDS = 30 };

/* ------------------------------------------------------------------------------------------------- texts */

typedef struct text {
    char *bytes;
    size_t n, room;
} text;

static void put(text *t, const char *bytes)
{
    size_t n = strlen(bytes);
    if (t->n + n + 1 > t->room) {
        t->room = 2 * (t->room + n) + 64;
        t->bytes = (char *)realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    memcpy(t->bytes + t->n, bytes, n + 1);
    t->n += n;
}

/* n copies of a pattern: in each, %d is its number, %D the next one's, %x its number in letters, %h every other code
   point from 0100 on in four digits. */
static void put_copies(text *t, const char *pattern, long n)
{
    for (long i = 0; i < n; i++)
        for (const char *at = pattern; *at; at++) {
            char one[32] = { *at };
            if (*at == '%' && at[1] && strchr("dDxh", at[1])) {
                at++;
                if (*at == 'x')
                    for (int k = 0; k < 5; k++) one[k] = (char)('a' + (i >> 4 * k & 15));
                else if (*at == 'h')
                    snprintf(one, sizeof one, "%04lx", 0x100 + 2 * i);
                else
                    snprintf(one, sizeof one, "%ld", i + (*at == 'D'));
            }
            put(t, one);
        }
}

/* n names that begin near one another in a table of nodes, each with `after` behind it. */
static void put_alike(text *t, const char *after, int n)
{
    for (unsigned i = 0; n > 0; i++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "n%u", i);
        const uint64_t h = 2 * 0x9E3779B97F4A7C15u ^ inside_checksum(name, (size_t)length);
        if (((h ^ h >> 29) & 0xfffff) >= 0x2000) continue;
        put(t, name);
        put(t, after);
        n--;
    }
}

static text text_of(const char *before, const char *pattern, long n, const char *after)
{
    text t = { NULL, 0, 0 };
    put(&t, before);
    put_copies(&t, pattern, n);
    put(&t, after);
    return t;
}

static text text_nested(const char *before, const char *open, long n, const char *middle, const char *close,
                        const char *after)
{
    text t = text_of(before, open, n, middle);
    put_copies(&t, close, n);
    put(&t, after);
    return t;
}

/* --------------------------------------------------------------------------------------------- small stacks */

typedef struct job {
    void (*work)(struct job *);
    const text *t;
    int kind;
    int status;
    size_t steps; /* of reading */
    double seconds;
} job;

static void *on_thread(void *arg)
{
    job *j = (job *)arg;
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    j->work(j);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    j->seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    return NULL;
}

/* Bytes that a thread has used of its stack, which was full of ones; the C library's own are among them. */
static long run_thread(job *j, size_t size)
{
    const size_t guard = 1 << 20; /* so that nothing jumps over it */
    char *memory = (char *)mmap(NULL, guard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE)) return -1;
    memset(memory + guard, 0xff, size);
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, memory + guard, size) ||
        pthread_create(&thread, &attr, on_thread, j) || pthread_join(thread, NULL))
        return -1;
    size_t free_bytes = 0;
    while (free_bytes < size && (unsigned char)memory[guard + free_bytes] == 0xff) free_bytes++;
    return (long)(size - free_bytes);
}

static int n_failed;        /* of the checks of a test */
static double most_seconds; /* of the processor, that each of them may take */

/* The job in a process of its own, which may die. */
static void check(const char *name, void (*work)(job *), text t, int kind)
{
    int pipes[2], state = 0;
    job j = { work, &t, kind, 0, 0, 0.0 };
    struct answer {
        long used;
        int status;
        size_t steps;
        double seconds;
    } told = { -1, 0, 0, 0.0 };
    size_t stack = STACK;
#ifdef PTHREAD_STACK_MIN
    if (stack < (size_t)PTHREAD_STACK_MIN) stack = (size_t)PTHREAD_STACK_MIN;
#endif
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit seconds = { SECONDS + 1, SECONDS + 2 };
        (void)setrlimit(RLIMIT_CPU, &seconds);
        told.used = run_thread(&j, stack);
        told.status = j.status;
        told.steps = j.steps;
        told.seconds = j.seconds;
        if (write(pipes[1], &told, sizeof told) != sizeof told) _exit(3);
        _exit(0);
    }
    close(pipes[1]);
    bool answered = read(pipes[0], &told, sizeof told) == sizeof told;
    close(pipes[0]);
    waitpid(child, &state, 0);
    print_message("%-28s %8.1f KB: status %3d, %9zu steps, %6.3f s, %6.1f KB of stack%s\n", name,
                  (double)t.n / 1024.0, told.status, told.steps, told.seconds, (double)told.used / 1024.0,
                  told.steps > STEPS           ? " TOO MANY STEPS"
                  : answered                   ? ""
                  : WTERMSIG(state) == SIGXCPU ? " TOO LONG"
                                               : " DIED");
    free(t.bytes);
    n_failed += !answered || told.used < 0 || told.steps > STEPS || told.seconds > SECONDS;
}

static int begin(void **state)
{
    (void)state;
    most_seconds = SECONDS;
    return n_failed = 0;
}

static int end(void **state)
{
    (void)state;
    if (n_failed) print_error("%d of them died, took too many steps, or longer than %d s\n", n_failed, SECONDS);
    return n_failed;
}

/* ------------------------------------------------------------------------------------------------- grammars */

static samp_vocab_index *vocab_index;

/* Read it, and use all that a sampler has, for some tokens. */
static void use_grammar(job *j)
{
    samp_grammar_error error;
    inside_steps = 0;
    samp_grammar *g = samp_grammar_init((samp_grammar_kind)j->kind, j->t->bytes, NULL, &error);
    j->steps = inside_steps;
    samp_sampler *s = g ? samp_init_grammar(vocab_index, g) : NULL,
                 *other = g ? samp_init_grammar(vocab_index, g) : NULL;
    j->status = g ? samp_status(s, NULL) : error.status;
    for (int i = 0; i < 12 && s && !j->status; i++) {
        uint32_t bits[(N_VOCAB + 31) / 32];
        samp_token token = 0;
        char forced[64];
        j->status = samp_grammar_mask(s, bits);
        if (j->status) break;
        while (token < N_VOCAB && !bit(bits, token)) token++;
        if (token == N_VOCAB || token == EOG) break;
        j->status = samp_accept(s, token);
        (void)samp_grammar_forced(s, forced, sizeof forced);
        size_t size = samp_state_size(s);
        void *state = size ? malloc(size) : NULL;
        if (state && !samp_state_save(s, state, size)) (void)samp_state_load(other, state, size);
        free(state);
        if (i % 4 == 3 && !j->status) j->status = samp_rollback(s, 1);
    }
    samp_free(s);
    samp_free(other);
    samp_grammar_free(g);
}

static void check_gbnf(const char *name, text t) { check(name, use_grammar, t, SAMP_GRAMMAR_GBNF); }
static void check_regex(const char *name, text t) { check(name, use_grammar, t, SAMP_GRAMMAR_REGEX); }
static void check_schema(const char *name, text t) { check(name, use_grammar, t, SAMP_GRAMMAR_JSON_SCHEMA); }

TEST_WITH(test_gbnf, begin, end)
{
    check_gbnf("groups", text_nested("root ::= ", "(\"a\" | ", 99, "\"b\"", ")", "\n"));
    check_gbnf("groups, repeated", text_nested("root ::= ", "(\"a\"? ", 99, "\"b\"", ")* ", "\n"));
    check_gbnf("groups, in sequence",
               text_nested("root ::= ", "(", 99, "\"b\"", " x)", "\nx ::= \"y\" | \"(\" root \")\"\n"));
    check_gbnf("groups, of calls",
               text_nested("root ::= ", "(x? ", 99, "\"b\"", " | x)*", "\nx ::= \"y\" | \"(\" root \")\"\n"));
    check_gbnf("rules in rules", text_of("root ::= r0\n", "r%d ::= \"x\"? r%D?\n", 100000, "r100000 ::= \"y\"\n"));
    check_gbnf("rules of calls", text_of("root ::= r0 | \"(\" root \")\"\n", "r%d ::= (root | \"x\" r%D)?\n", 100000,
                                         "r100000 ::= \"y\"\n"));
    check_gbnf("left recursion", text_of("root ::= root \"x\" | ", "\"a\" | ", 300000, "\"b\"\n"));
    check_gbnf("a long literal", text_of("root ::= \"", "a", 4000000, "\"\n"));
    check_gbnf("a long sequence", text_of("root ::= ", "\"a\" ", 1000000, "\n"));
    check_gbnf("many alternatives", text_of("root ::= ", "\"%x\" | ", 400000, "\"x\"\n"));
}

TEST_WITH(test_regex, begin, end)
{
    check_regex("a long sequence", text_of("", "ab", 4096, ""));
    check_regex("optional ones", text_of("", "a?", 4096, ""));
    check_regex("alternatives", text_of("a", "|b", 4095, ""));
    check_regex("classes", text_of("", "[^a]*", 1638, ""));
    check_regex("groups", text_nested("", "(a|", 99, "b", ")*", ""));
    check_regex("groups, to the left", text_nested("", "(", 99, "b", "c)?", ""));
    check_regex("groups, both sides", text_nested("", "(a?", 99, "b", "c?){1,3}", ""));
    check_regex("anchors", text_of("", "(^|a)?(b|$)?", 680, ""));
    check_regex("anchors in groups", text_nested("", "((^|a)?", 99, "b", "($|c)?)*", ""));
}

TEST_WITH(test_schema_depth, begin, end)
{
    check_schema("brackets", text_of("", "[", 2000000, ""));
    check_schema("const in brackets", text_nested("{\"const\":", "[", 250, "", "]", "}"));
    check_schema("enum in braces", text_nested("{\"enum\":[", "{\"a\":", 250, "1", "}", "]}"));
    check_schema("not", text_nested("", "{\"not\":", 200, "{\"type\":\"string\"}", "}", ""));
    check_schema("not, of objects", text_nested("", "{\"type\":\"object\",\"required\":[\"a\"],\"not\":", 200,
                                                "{\"minProperties\":2}", "}", ""));
    check_schema("anyOf",
                 text_nested("", "{\"anyOf\":[{\"type\":\"null\"},", 120, "{\"type\":\"string\"}", "]}", ""));
    check_schema("oneOf",
                 text_nested("", "{\"oneOf\":[{\"type\":\"null\"},", 120, "{\"type\":\"object\"}", "]}", ""));
    check_schema("allOf",
                 text_nested("", "{\"required\":[\"a\"],\"allOf\":[", 120, "{\"type\":\"object\"}", "]}", ""));
    check_schema("if", text_nested("", "{\"then\":{\"minLength\":1},\"if\":", 200, "{\"type\":\"string\"}", "}", ""));
    check_schema("items", text_nested("", "{\"minItems\":1,\"items\":", 200, "{\"type\":\"string\"}", "}", ""));
    check_schema("properties", text_nested("", "{\"required\":[\"a\"],\"properties\":{\"a\":", 120,
                                           "{\"type\":\"string\"}", "}}", ""));
    check_schema(
        "properties, impossible",
        text_nested("", "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":", 120, "false", "}}", ""));
    for (int n = 180; n <= 380; n += 200) {
        text t = text_of("{\"$defs\":{", "\"d%d\":{\"minLength\":1,\"$ref\":\"#/$defs/d%D\"},", n, "");
        char end[80];
        snprintf(end, sizeof end, "\"d%d\":{}},\"$ref\":\"#/$defs/d0\"}", n);
        put(&t, end);
        check_schema("a chain of $ref", t);
        t = text_of("{\"$defs\":{", "\"d%d\":{\"required\":[\"p%d\"],\"not\":{\"$ref\":\"#/$defs/d%D\"}},", n, "");
        put(&t, end);
        check_schema("$ref and not", t);
        t = text_of(
            "{\"$defs\":{",
            "\"d%d\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#/$defs/d%D\"}}},",
            n, "");
        put(&t, end);
        check_schema("$ref in properties", t);
    }
    text t = { NULL, 0, 0 };
    put(&t, "{\"$defs\":{");
    for (int c = 0; c < 10; c++) { /* ten chains, each one asked while the one before is */
        char one[200];
        for (int i = 0; i < 180; i++) {
            snprintf(one, sizeof one,
                     "\"c%di%d\":{\"required\":[\"x%d\"],\"allOf\":[{\"$ref\":\"#/$defs/c%di%d\"}]},", c, i, i, c,
                     i + 1);
            put(&t, one);
        }
        snprintf(one, sizeof one,
                 "\"c%di180\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"$ref\":\"#/$defs/"
                 "c%di0\"}}},",
                 c, c + 1);
        put(&t, one);
    }
    put(&t, "\"c10i0\":false},\"$ref\":\"#/$defs/c0i0\"}");
    check_schema("ten chains", t);
    check_schema("what must exist", text_of("{\"type\":\"object\",\"allOf\":[{}",
                                            ",{\"not\":{\"additionalProperties\":{\"const\":%d}}}", 40, "]}"));
    check_schema("patterns", text_of("{\"allOf\":[{}", ",{\"pattern\":\"^(a|%d)*b?$\"}", 40, "]}"));
    t = text_of("{\"pattern\":\"", "a?", 4000, "\"}");
    check_schema("a long pattern", t);
    t = text_nested("{\"items\":{\"items\":{\"properties\":{\"a\":{\"pattern\":\"", "(a|", 99, "b", ")*", "\"}}}}}");
    check_schema("a pattern of groups", t);
}

/* ------------------------------------------------------------------------------------------- what takes long */

TEST_WITH(test_schema_time, begin, end)
{
    check_schema("$ref to a late $id", text_of("{\"anyOf\":[{}", ",{\"$ref\":\"z\"}", 220000, ",{\"$id\":\"z\"}]}"));
    check_schema("$id everywhere", text_of("{\"$id\":\"http://a/b\",\"items\":[{}",
                                           ",{\"$id\":\"c%d\",\"$ref\":\"c%D\"}", 100000, "]}"));
    check_schema("$ref to a late anchor",
                 text_of("{\"anyOf\":[{}", ",{\"$ref\":\"#z\"}", 220000, ",{\"$anchor\":\"z\"}]}"));
    check_schema("$ref into an array", text_of("{\"anyOf\":[{}", ",{\"$ref\":\"#/anyOf/100000\"}", 130000, "]}"));
    check_schema("$ref below many $id", text_nested("", "{\"$id\":\"#a\",\"items\":", 120,
                                                    "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/\"}]}", "}", ""));
    text deep = text_of("", "{\"$id\":\"#a\",\"not\":", 120, "");
    put(&deep, "{\"anyOf\":[{}");
    put_copies(&deep, ",{\"$ref\":\"#\"}", 200000);
    put(&deep, "]}");
    put_copies(&deep, "}", 120);
    check_schema("$ref below many $id, often", deep);
    check_schema("$ref to a schema of many",
                 text_of("{\"$defs\":{\"a\":{\"x\":1", ",\"x%d\":0", 150000, "}},\"properties\":{\"a\":{}"));
    text many = text_of("{\"$defs\":{\"a\":{\"x\":1", ",\"x%d\":0", 100000, "}},\"properties\":{\"b\":{}");
    put_copies(&many, ",\"p%d\":{\"$ref\":\"#/$defs/a\"}", 50000);
    put(&many, "}}");
    check_schema("$ref to a schema of many", many);
    check_schema("formats", text_of("{\"anyOf\":[{}", ",{\"format\":\"uri\"}", 200000, "]}"));
    text enums = text_of("{\"allOf\":[{\"enum\":[1", ",%d.5", 200000, "]},{\"enum\":[2");
    put_copies(&enums, ",%d.25", 200000);
    put(&enums, "]}]}");
    check_schema("numbers that are in two enums", enums);
    check_schema("many constants", text_of("{\"anyOf\":[{\"const\":1}", ",{\"const\":\"%d\"}", 200000, "]}"));
    text names = text_of("{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"a\"", ",\"p%d\"", 200000,
                         "]},\"required\":[\"a\"");
    put_copies(&names, ",\"p%d\"", 200000);
    put(&names, "]}");
    check_schema("names that are in an enum", names);
    text items = text_of("{\"allOf\":[{}", "", 0, "");
    for (int i = 0; i < 100; i++) {
        put(&items, ",{\"prefixItems\":[true");
        put_copies(&items, ",{\"a\":1}", 4000);
        put(&items, "]}");
    }
    put(&items, "]}");
    check_schema("items of many schemas", items);
    check_schema("many patterns",
                 text_of("{\"anyOf\":[{}", ",{\"pattern\":\"%d[^a]*[^b]*[^c]*[^d]*[^e]*\"}", 80000, "]}"));
    check_schema("one name, many patterns",
                 text_of("{\"properties\":{\"a\":{}},\"patternProperties\":{\"b\":{}", ",\"x%d\":{}", 250000, "}}"));
}

TEST_WITH(test_gbnf_time, begin, end)
{
    check_gbnf("classes", text_of("root ::= [a", "\\u0801-\\u08fe\\U00010001-\\U000200fe", 2000, "]\n"));
    check_gbnf("classes of many", text_of("root ::= ", "[\\u00e9-\\u1234a-c\\U0001F600] ", 120000, "\n"));
    check_gbnf("any but one", text_of("root ::= ", "[^\xc3\xa9] ", 650000, "\n"));
    check_gbnf("a long literal", text_of("root ::= \"", "\xc3\xa9", 2000000, "\"\n"));
    check_gbnf("sets", text_of("root ::= ", "[%x] ", 500000, "\n"));
    check_gbnf("what comes late", text_of("root ::= r0 \"x\"\nr0 ::= \"\" | r1 \"z\"\n",
                                          "r%D ::= r%d | r%D \"a\" | s%D\ns%D ::= r%D\n", 60000, ""));
    check_gbnf("any characters", text_of("root ::= ", ". ", 2000000, "\n"));
    check_gbnf("what comes late, often",
               text_of("root ::= r0 \"x\"\np0 ::= \"\"\n", "r%d ::= r%D \"z\" | p%d\np%D ::= r%d\n", 80000,
                       "r80000 ::= \"q\"\n"));
    text wide = { NULL, 0, 0 };
    put(&wide, "root ::= ");
    for (int i = 0; i < 160; i++) {
        put_copies(&wide, "[^", 1);
        put_copies(&wide, "\\u%h", 3990);
        put_copies(&wide, "x", i % 100);
        put_copies(&wide, "]", 1);
    }
    put(&wide, "\n");
    check_gbnf("classes of many ranges", wide);
    text inside = text_of("root ::= ", "(", 90, "");
    put_copies(&inside, "\"a%d\"|", 400000);
    put(&inside, "\"x\"");
    put_copies(&inside, "|\"r%d\"|\"s%d\")", 90);
    check_gbnf("alternatives in others", inside);
    text alike = { NULL, 0, 0 };
    put(&alike, "root ::= \"x\"\n");
    put_alike(&alike, "::=\"a\"\n", 60000);
    check_gbnf("names that collide", alike);
    check_gbnf("tokens", text_of("root ::= ", "<t%d> | ", 300000, "\"x\"\n"));
}

/* --------------------------------------------------------------------------------------------- requests */

static void use_request(job *j)
{
    samp_settings *settings = samp_settings_init();
    samp_request request;
    if (settings) (void)samp_settings_set(settings, "n_vocab", "128256", NULL);
    j->status = settings ? samp_settings_from(settings, (samp_peer)j->kind, j->t->bytes, NULL, &request)
                         : SAMP_E_NOMEM;
    samp_settings_free(settings);
}

TEST_WITH(test_requests, begin, end)
{
    check("names of one token", use_request, text_of("{\"logit_bias\":{\"0\":1", ",\" %D\":1e-300", 128000, "}}"),
          SAMP_PEER_VLLM);
    check("zeros before", use_request, text_nested("{\"logit_bias\":{\"", "0", 4000000, "1", "", "\":1}}"),
          SAMP_PEER_VLLM);
    check("samplers of no name", use_request, text_of("{\"samplers\":[\"\"", ",\"\"", 1000000, "]}"),
          SAMP_PEER_LLAMA_SERVER);
    check("tools", use_request, text_of("{\"tools\":[0", ",{\"function\":{}}", 200000, "]}"), SAMP_PEER_VLLM);
    for (int peer = 0; peer < 5; peer++) {
        check("brackets", use_request, text_of("{\"a\":", "[", 1000000, ""), peer);
        check("braces", use_request, text_nested("{\"a\":", "{\"a\":", 200, "1", "}", "}"), peer);
        check("biases", use_request, text_of("{\"logit_bias\":{\"0\":1", ",\"%D\":1", 300000, "}}"), peer);
        check("pairs", use_request, text_of("{\"logit_bias\":[[0,1]", ",[%D,1]", 300000, "]}"), peer);
        check("stops", use_request, text_of("{\"stop\":[\"a\"", ",\"%d\"", 300000, "]}"), peer);
        check("breakers", use_request, text_of("{\"dry_sequence_breakers\":[\"a\"", ",\"%d\"", 300000, "]}"), peer);
        check("options", use_request, text_nested("{\"options\":", "{\"options\":", 200, "{}", "}", "}"), peer);
        check("digits", use_request, text_of("{\"temperature\":0.", "1", 4000000, "}"), peer);
        check("a seed", use_request, text_of("{\"seed\":1", "1", 4000000, "}"), peer);
    }
}

/* ------------------------------------------------------------------------------------------- vocabularies */

static const text *spelt; /* tokens, a newline behind each */
static const char **spelt_at;

static const char *spelt_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = (size_t)(spelt_at[token + 1] - spelt_at[token]) - 1;
    return spelt_at[token];
}

static void use_vocabulary(job *j)
{
    int32_t n = 0;
    spelt = j->t;
    spelt_at = (const char **)malloc((j->t->n + 2) * sizeof *spelt_at);
    spelt_at[0] = j->t->bytes;
    for (size_t i = 0; i < j->t->n; i++)
        if (j->t->bytes[i] == '\n') spelt_at[++n] = j->t->bytes + i + 1;
    samp_vocab vocab = { n, spelt_bytes, NULL, NULL, NULL, 0, -1, -1 };
    samp_vocab_index *index = samp_vocab_index_init(&vocab, &j->status);
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= \"(\" root \")\" | \"a\"\n", NULL, NULL);
    samp_sampler *s = index ? samp_init_grammar(index, g) : NULL;
    uint32_t *bits = (uint32_t *)calloc(1, (size_t)n / 8 + 64);
    for (int i = 0; i < 1000 && s && j->kind; i++) (void)samp_accept(s, 0);
    if (s && j->kind) j->status = samp_accept(s, 1);
    if (s) (void)samp_grammar_mask(s, bits);
    samp_free(s);
    samp_grammar_free(g);
    samp_vocab_index_free(index);
    free(bits);
    free(spelt_at);
}

/* n tokens, in the order that lets a division in three by the piece in the middle leave all but one, at each byte. */
static text crafted(int n)
{
    enum { BYTES = 90 };
    text t = { NULL, 0, 0 };
    int32_t *left = (int32_t *)malloc((size_t)n * sizeof *left), *turn = (int32_t *)malloc((size_t)n * sizeof *turn);
    assert_non_null(left);
    assert_non_null(turn);
    for (int i = 0; i < n; i++) left[i] = i;
    for (int i = 0; i < n; i++) { /* the one in the middle is the last of all that are left */
        const int middle = (n - i) / 2;
        turn[left[middle]] = i;
        memmove(left + middle, left + middle + 1, (size_t)(n - i - 1 - middle) * sizeof *left);
    }
    for (int i = 0; i < n; i++) {
        const char byte = (char)('}' - turn[i] % BYTES);
        const char last[3] = { byte > '\\' ? byte : (char)(byte - 1), '\n', 0 };
        put_copies(&t, "!", turn[i] / BYTES);
        put(&t, last);
    }
    free(left);
    free(turn);
    return t;
}

TEST_WITH(test_vocabularies, begin, end)
{
    check("crafted order", use_vocabulary, crafted(1500), 0);
    check("crafted order", use_vocabulary, crafted(20000), 0);
    check("crafted order", use_vocabulary, crafted(40000), 0);
    check("long and alike", use_vocabulary,
          text_of("", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%x\n", 70000, ""), 0);
    check("one in another", use_vocabulary, text_of("", "%d\n", 250000, ""), 0);
    text t = { NULL, 0, 0 };
    for (int n = 1; n <= 1023; n += 3) {
        put_copies(&t, "a", n);
        put(&t, "\n");
    }
    check("each a part of the next", use_vocabulary, t, 0);
    t = text_of("(\na\n", ")", 1023, "\n");
    check("a token ends many calls", use_vocabulary, t, 1);
}

/* ------------------------------------------------------------------------------------------------- masks */

enum { N_PIECES = 60000 };
static char pieces[N_PIECES][8];

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = strlen(pieces[token]);
    return pieces[token];
}

/* The first mask of a text, at the limits that a sampler begins with. */
static void use_mask(job *j)
{
    static uint32_t bits[N_PIECES / 32];
    const samp_vocab vocab = { N_PIECES, piece_bytes, NULL, NULL, NULL, 0, -1, -1 };
    samp_vocab_index *index = samp_vocab_index_init(&vocab, &j->status);
    samp_grammar *g = samp_grammar_init((samp_grammar_kind)j->kind, j->t->bytes, NULL, NULL);
    samp_sampler *s = index && g ? samp_init_grammar(index, g) : NULL;
    j->status = s ? samp_grammar_mask(s, bits) : SAMP_E_NULL;
    samp_free(s);
    samp_grammar_free(g);
    samp_vocab_index_free(index);
}

/* Tokens by their texts, each of which has to be found in the vocabulary. */
TEST_WITH(test_texts_of_tokens, begin, end)
{
    text t = text_of("root ::= ", "", 0, "");
    for (int i = 0; i < N_PIECES; i++) {
        (void)snprintf(pieces[i], sizeof pieces[i], "<%05d>", i);
        put(&t, pieces[i]);
        put(&t, " ");
    }
    most_seconds = 2.0;
    check("tokens by their texts", use_mask, t, SAMP_GRAMMAR_GBNF);
}

/* Triggers of a lazy grammar. */
static void use_trigger(job *j)
{
    samp_grammar *g = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= [a-z]*\n", NULL, NULL);
    const char *patterns[1] = { j->t->bytes };
    samp_sampler *s = samp_init_grammar_lazy_patterns(vocab_index, g, patterns, 1, NULL, 0);
    j->status = samp_status(s, NULL);
    for (samp_token token = 0; token < 20 && !j->status; token++) j->status = samp_accept(s, token);
    samp_free(s);
    samp_grammar_free(g);
}

TEST_WITH(test_triggers, begin, end)
{
    for (int depth = 15; depth <= 240; depth *= 2) {
        check("a trigger's groups", use_trigger, text_nested("", "(", depth, "z", ")*", ""), 0);
        check("and their ways", use_trigger, text_nested("", "(y|", depth, "z", ")?", ""), 0);
        check("lazy ones", use_trigger, text_nested("", "(y|x", depth, "z", ")*?", ""), 0);
    }
}

/* A grammar: n times any characters but one. */
static text any_but_one(int n)
{
    text t = text_of("root ::= ", "", 0, "");
    for (int i = 0; i < n; i++) {
        const char one[] = { '[', '^', (char)('a' + i % 26), ']', '*', ' ', 0 };
        put(&t, one);
    }
    return t;
}

/* A mask takes as long as its steps: what a step does not see, as the sets and lists that a derivative copies, is
   charged for. 2^24 steps are some 0.2 s; ten times that is no accident of a busy machine. */
TEST_WITH(test_cost_of_masks, begin, end)
{
    uint32_t random = 1;
    for (int i = 0; i < N_PIECES; i++)
        for (int k = 0; k < 1 + i % 6; k++) {
            random = random * 1664525 + 1013904223;
            pieces[i][k] = (char)('a' + (random >> 16) % 26);
        }
    most_seconds = 2.0;
    check("300 times any but one", use_mask, any_but_one(300), SAMP_GRAMMAR_GBNF);
    check("150 times any but one", use_mask, any_but_one(150), SAMP_GRAMMAR_GBNF);
    text t = text_of("(", "", 0, "");
    for (int i = 0; i < 26; i++) {
        const char one[] = { '[', '^', (char)('a' + i), ']', '*', (char)(i < 25 ? '|' : ')'), 0 };
        put(&t, one);
    }
    put(&t, "*x{5}");
    check("any of them, then x{5}", use_mask, t, SAMP_GRAMMAR_REGEX);
    t = text_of("root ::= r0\n", "", 0, "");
    for (int i = 0; i < 60; i++) {
        char one[64];
        (void)snprintf(one, sizeof one, "r%d ::= r%d r%d\n", i, i + 1, i + 1);
        put(&t, one);
    }
    put(&t, "r60 ::= [a-z] | \"\"\n");
    check("2^60 times, maybe", use_mask, t, SAMP_GRAMMAR_GBNF);
    check("a? 4,000 times", use_mask, text_of("", "a?", 4000, ""), SAMP_GRAMMAR_REGEX);
    check(".? 20,000 times", use_mask, text_of("root ::= ", ".? ", 20000, ""), SAMP_GRAMMAR_GBNF);
}

int main(int argc, char **argv)
{
    vocab_index = samp_vocab_index_init(&small_vocabulary, NULL);
    int failed = test_main(argc, argv, NULL, NULL);
    samp_vocab_index_free(vocab_index);
    return failed;
}
