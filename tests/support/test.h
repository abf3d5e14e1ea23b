/* test.h - what the test programs share: cmocka, the random source (source.h), arrays of candidates, asserts that print
   both sides. Include it after sampling.h. Random tests take their seed from the environment variable SAMP_TEST_SEED
   (decimal or 0x...; 1 if unset); every failed assert of this file prints it, so a failure can be replayed. */
#ifndef TEST_H
#define TEST_H

#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "source.h"

#define TEST_P_UNSET      (-7.0f) /* what test_array() puts into p, to see who wrote it */
#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------------------------------------ failing */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline void
test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    char text[1024];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("%s   (SAMP_TEST_SEED=%llu)\n", text, (unsigned long long)test_seed());
    _fail(file, line);
}

/* ----------------------------------------------------------------------------------------------- running */

/* The tests of a program, in the order of their lines. */
static struct test_list {
    struct CMUnitTest test[150];
    int line[150];
    size_t n;
} test_list;

static inline void test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                            CMFixtureFunction tear_down, int line)
{
    const struct CMUnitTest one = { name, test, set_up, tear_down, NULL };
    size_t at = test_list.n++;
    if (at >= TEST_COUNT(test_list.test)) abort();
    for (; at && test_list.line[at - 1] > line; at--) {
        test_list.test[at] = test_list.test[at - 1];
        test_list.line[at] = test_list.line[at - 1];
    }
    test_list.test[at] = one;
    test_list.line[at] = line;
}

/* TEST(test_name) { ... } is a test, which lists itself; another one has something to do before and behind it. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, set_up, tear_down) \
    static void name(void **state); \
    __attribute__((constructor)) static void add_##name(void) \
    { \
        test_add(#name, name, set_up, tear_down, __LINE__); \
    } \
    static void name(__attribute__((unused)) void **state)

/* What main returns: it runs all tests, or with an argument those whose name it is, or a pattern of it ('test_lazy*'). */
static inline int test_main(int argc, char **argv, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const char *pattern = argc > 1 ? argv[1] : "*";
    size_t at = 0;
    while (at < test_list.n && fnmatch(pattern, test_list.test[at].name, 0) != 0) at++;
    if (at == test_list.n) {
        print_error("no test is named %s\n", pattern);
        return 2;
    }
    cmocka_set_test_filter(pattern);
    return _cmocka_run_group_tests("tests", test_list.test, test_list.n, set_up, tear_down);
}

/* ------------------------------------------------------------------------------------------------- logits */

/* n logits, normal with that standard deviation */
static inline void test_logits(source *rng, float *logits, size_t n, double sigma)
{
    for (size_t i = 0; i < n; i++) logits[i] = (float)(sigma * normal(rng));
}

/* n logits out of few values (whole multiples of step), so that most of them tie */
static inline void test_logits_tied(source *rng, float *logits, size_t n, double step, size_t n_values)
{
    for (size_t i = 0; i < n; i++) logits[i] = (float)(step * ((double)below(rng, n_values) - 2.0));
}

/* n normal logits of a stream, of which one is masked */
static inline void test_row(float *logits, size_t n, uint64_t stream, double sigma, size_t masked)
{
    source rng = source_stream(stream);
    test_logits(&rng, logits, n, sigma);
    logits[masked] = -INFINITY;
}

/* ------------------------------------------------------------------------------------ samplers, vocabularies */

/* own_sampler *s = ...: it is freed where its block ends, the last one first. A test that fails frees nothing. */
#define OWN(name, type, free) \
    __attribute__((unused)) static inline void own_##name##_ends(type **x) { free(*x); }
OWN(sampler, samp_sampler, samp_free)
OWN(settings, samp_settings, samp_settings_free)
#define own_sampler  __attribute__((cleanup(own_sampler_ends))) samp_sampler
#define own_settings __attribute__((cleanup(own_settings_ends))) samp_settings
#ifdef SAMPLING_GRAMMAR
OWN(grammar, samp_grammar, samp_grammar_free)
OWN(index, samp_vocab_index, samp_vocab_index_free)
#define own_grammar __attribute__((cleanup(own_grammar_ends))) samp_grammar
#define own_index   __attribute__((cleanup(own_index_ends))) samp_vocab_index
#endif
#ifdef SAMPLING_KV
OWN(kv, samp_kv, samp_kv_free)
#define own_kv __attribute__((cleanup(own_kv_ends))) samp_kv
#endif
#ifdef SAMPLING_STOP
OWN(text, samp_text, samp_text_free)
#define own_text __attribute__((cleanup(own_text_ends))) samp_text
#endif

static inline int test_nothing_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_OK;
}

/* A sampler of the user's that does nothing. */
static inline samp_sampler *test_nothing(void)
{
    static const samp_sampler_i nothing = { NULL, NULL, test_nothing_apply, NULL, NULL, NULL, NULL, NULL };
    return samp_init_custom(&nothing, NULL);
}

/* new_chain(a, b, ...): a chain of these. */
static inline samp_sampler *new_chain_of(samp_sampler *const *members, size_t n)
{
    samp_sampler *chain = samp_chain_init();
    for (size_t i = 0; i < n; i++) assert_true(samp_chain_add(chain, members[i]) == SAMP_OK);
    return chain;
}
#define new_chain(...) \
    new_chain_of((samp_sampler *const[]){ __VA_ARGS__ }, TEST_COUNT(((samp_sampler *const[]){ __VA_ARGS__ })))

/* samp_vocab.token_bytes: one to three letters */
static inline const char *test_letters(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    (void)vocab;
    *n_bytes = 1 + (size_t)(token % 3);
    return &letters[token % 24];
}

/* ------------------------------------------------------------------------------------------------- arrays */

/* The array {id i, logits[i], TEST_P_UNSET} in data [n], not sorted, nothing selected. */
static inline samp_token_data_array test_array(samp_token_data *data, const float *logits, size_t n)
{
    samp_token_data_array cur;
    for (size_t i = 0; i < n; i++) {
        data[i].id = (samp_token)i;
        data[i].logit = logits[i];
        data[i].p = TEST_P_UNSET;
    }
    cur.data = data;
    cur.size = n;
    cur.selected = -1;
    cur.sorted = false;
    return cur;
}

static inline void test_shuffle(source *rng, samp_token_data_array *cur)
{
    for (size_t i = cur->size; i > 1; i--) {
        size_t j = below(rng, i);
        samp_token_data t = cur->data[i - 1];
        cur->data[i - 1] = cur->data[j];
        cur->data[j] = t;
    }
    cur->sorted = false;
}

/* qsort order: (logit descending, id ascending) */
static inline int test_compare(const void *a, const void *b)
{
    const samp_token_data *x = (const samp_token_data *)a, *y = (const samp_token_data *)b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static inline int test_compare_id(const void *a, const void *b)
{
    const samp_token_data *x = (const samp_token_data *)a, *y = (const samp_token_data *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static inline void test_sort(samp_token_data_array *cur)
{
    qsort(cur->data, cur->size, sizeof *cur->data, test_compare);
    cur->sorted = true;
}

static inline void test_sort_by_id(samp_token_data_array *cur)
{
    qsort(cur->data, cur->size, sizeof *cur->data, test_compare_id);
    cur->sorted = false;
}

/* the candidate with that id, or NULL */
static inline samp_token_data *test_find(const samp_token_data_array *cur, samp_token id)
{
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].id == id) return &cur->data[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ asserts */

static inline const char *test_status_name(int status)
{
#define TEST_STATUS_NAME(name, value, text) \
    if (status == (value)) return #name;
    SAMP_STATUS_LIST(TEST_STATUS_NAME)
#undef TEST_STATUS_NAME
    return status > 0 ? "a token" : "no status";
}

static inline void test_status_(int got, int want, const char *expr, const char *file, int line)
{
    if (got != want)
        test_fail(file, line, "%s is %d (%s), wanted %d (%s)", expr, got, test_status_name(got), want,
                  test_status_name(want));
}
#define assert_status(expr, want) test_status_((expr), (want), #expr, __FILE__, __LINE__)
#define assert_ok(expr)           test_status_((expr), SAMP_OK, #expr, __FILE__, __LINE__)

static inline void test_int_(long long got, long long want, const char *expr, const char *file, int line)
{
    if (got != want) test_fail(file, line, "%s is %lld, wanted %lld", expr, got, want);
}
#define assert_num(expr, want) test_int_((long long)(expr), (long long)(want), #expr, __FILE__, __LINE__)

static inline void test_u64_(uint64_t got, uint64_t want, const char *expr, const char *file, int line)
{
    if (got != want)
        test_fail(file, line, "%s is 0x%llx (%llu), wanted 0x%llx (%llu)", expr, (unsigned long long)got,
                  (unsigned long long)got, (unsigned long long)want, (unsigned long long)want);
}
#define assert_u64(expr, want) test_u64_((expr), (want), #expr, __FILE__, __LINE__)

/* the same f32; NaN equals NaN, -0.0 differs from +0.0 */
static inline void test_same_(float got, float want, const char *expr, const char *file, int line)
{
    if (bits_of(got) != bits_of(want) && !(isnan(got) && isnan(want)))
        test_fail(file, line, "%s is %.9g (0x%08x), wanted %.9g (0x%08x)", expr, (double)got, (unsigned)bits_of(got),
                  (double)want, (unsigned)bits_of(want));
}
#define assert_same(expr, want) test_same_((expr), (want), #expr, __FILE__, __LINE__)

/* |got - want| <= tolerance; infinities must be equal, NaN never passes */
static inline void test_near_(double got, double want, double tolerance, const char *expr, const char *file, int line)
{
    if (!(got == want || fabs(got - want) <= tolerance))
        test_fail(file, line, "%s is %.17g, wanted %.17g +- %.3g, off by %.3g", expr, got, want, tolerance,
                  got - want);
}
#define assert_near(expr, want, tolerance) test_near_((expr), (want), (tolerance), #expr, __FILE__, __LINE__)
#define assert_close(expr, want, relative) \
    test_near_((expr), (want), (relative)*fabs((double)(want)), #expr, __FILE__, __LINE__)

static inline void test_text_(const char *got, const char *want, const char *expr, const char *file, int line)
{
    if ((got == NULL) != (want == NULL) || (got && strcmp(got, want) != 0))
        test_fail(file, line, "%s is\n  \"%s\", wanted\n  \"%s\"", expr, got ? got : "(NULL)",
                  want ? want : "(NULL)");
}
#define assert_text(expr, want) test_text_((expr), (want), #expr, __FILE__, __LINE__)

/* the ids of an array are these, in this order */
static inline void test_ids_(const samp_token_data_array *cur, const samp_token *ids, size_t n, const char *file,
                             int line)
{
    bool same = cur->size == n;
    for (size_t i = 0; same && i < n; i++) same = cur->data[i].id == ids[i];
    if (same) return;
    print_error("got %zu:", cur->size);
    for (size_t i = 0; i < cur->size && i < 40; i++) print_error(" %d", (int)cur->data[i].id);
    print_error("\nwanted %zu:", n);
    for (size_t i = 0; i < n && i < 40; i++) print_error(" %d", (int)ids[i]);
    print_error("\n");
    test_fail(file, line, "the ids differ");
}
/* assert_ids(&cur, 3, 2, 0) */
#define assert_ids(cur, ...) \
    do { \
        const samp_token test_ids_wanted[] = { __VA_ARGS__ }; \
        test_ids_((cur), test_ids_wanted, TEST_COUNT(test_ids_wanted), __FILE__, __LINE__); \
    } while (0)
#define assert_ids_n(cur, ids, n) test_ids_((cur), (ids), (n), __FILE__, __LINE__)

/* the array is in the order (logit descending, id ascending) */
static inline void test_ordered_(const samp_token_data_array *cur, const char *file, int line)
{
    for (size_t i = 1; i < cur->size; i++)
        if (test_compare(&cur->data[i - 1], &cur->data[i]) >= 0)
            test_fail(file, line, "out of order at %zu: {%d, %.9g} before {%d, %.9g}", i, (int)cur->data[i - 1].id,
                      (double)cur->data[i - 1].logit, (int)cur->data[i].id, (double)cur->data[i].logit);
}
#define assert_ordered(cur) test_ordered_((cur), __FILE__, __LINE__)

#ifdef SAMPLING_GRAMMAR_DECLARED
/* A text whose tokens are bytes. -1: one is refused; else is it complete? */
static inline int test_fares(const samp_vocab_index *index, const samp_grammar *g, const char *text)
{
    samp_sampler *s = samp_init_grammar(index, g);
    int result = 0;
    for (; *text && result == 0; text++) result = samp_accept(s, (uint8_t)*text);
    result = result ? -1 : samp_grammar_is_complete(s);
    samp_free(s);
    return result;
}
#endif

#endif /* TEST_H */
