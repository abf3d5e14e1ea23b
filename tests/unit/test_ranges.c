/* test_ranges.c - the table of functions (src/bindings/functions.txt) is true of every constructor of a sampler, and of every
   member of samp_params: it takes a number inside the range that the table names, both ends included, and refuses the next
   number outside, NaN and what is infinite with a status that names the argument, or the list whose length it is. The calls
   are made of the table. */
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#include "sampling.h"
#include "tests/support/test.h"
#include "tests/support/small_vocabulary.h"

enum kind { KIND_NONE, KIND_I32, KIND_SIZE, KIND_U64, KIND_UNSIGNED, KIND_F32 };
#define NONE  -1e300 /* no end */
#define NAMED 1e300  /* the end is another argument's value */

struct argument {
    const char *name; /* what a status names: the argument, or the list that it counts */
    enum kind kind;
    double low, high;
    bool without_low; /* the range is open at its low end */
    bool counts;
};
struct constructor {
    const char *name;
    samp_sampler *(*make)(const double *values, size_t i); /* argument i is tried; of samp_params, it alone is set */
    const struct argument *arguments;
};

enum { N_LISTED = 3 };
static const samp_token some_token[N_LISTED] = { 1, 2, 3 };
static const samp_token pairs[N_LISTED][2] = { { 1, 2 }, { 2, 3 }, { 3, 4 } };
static const char *const some_texts[N_LISTED] = { "ab", "b", "the" };
static const char some_text[] = "ab+c";
static const samp_logit_bias some_logit_bias[N_LISTED] = { { 1, 0.5f }, { 2, -1 }, { 3, 2 } };
static const samp_sequence some_sequence[N_LISTED] = { { pairs[0], 2, 1 }, { pairs[1], 2, 1 }, { pairs[2], 2, -1 } };
static const samp_thinking some_thinking[N_LISTED] = { { pairs[0], 1, pairs[0] + 1, 1, NULL, 0 },
                                                       { pairs[1], 1, pairs[1] + 1, 1, NULL, 0 },
                                                       { pairs[2], 1, pairs[2] + 1, 1, NULL, 0 } };
static const samp_thinking_plan plans[1];
static const samp_schedule schedules[1];
static const samp_loop loops[1] = { { 4, 128, 3, 512, 16 } };
static const samp_thinking_plan *const some_thinking_plan = plans;
static const samp_schedule *const some_schedule = schedules;
static const samp_loop *const some_loop = loops;
static const samp_vocab *const some_vocab = &small_vocabulary;
static samp_vocab_index *some_vocab_index;
static samp_grammar *some_grammar;
static samp_watermark mark;
static const samp_watermark *const some_watermark = &mark;
#define some_sampler samp_init_temp(0.5f)

static samp_params usual_params(void)
{
    samp_params p = samp_default_params();
    p.vocab = some_vocab;
    p.logit_bias = some_logit_bias;
    p.n_vocab = 1000;
    return p;
}

/* The chain of it; the status is everywhere the same. */
static samp_sampler *chain_of(const samp_params *p)
{
    const char *field = NULL, *chains = NULL;
    const float logits[4] = { 0 };
    int status = samp_check_params(p, &field), made = 1;
    samp_sampler *chain = samp_chain_from_params(p, &made);
    assert_status(made, status);
    assert_status(samp_status(chain, &chains), status);
    assert_text(chains, field);
    assert_status(samp_check_params(p, NULL), status);
    if (status) assert_status(samp_sample(chain, logits, 4), status);
    return chain;
}

#include "build/table/ranges.h" /* made of the table */

static bool is_end(double end) { return end > NONE && end < NAMED; }

/* A number inside the range, with room on both sides; lists have N_LISTED elements. */
static double usual(const struct argument *of)
{
    bool has_low = is_end(of->low), has_high = is_end(of->high);
    if (of->counts) return N_LISTED;
    if (of->kind != KIND_F32) {
        double least = has_low ? of->low + 2 : of->low == NAMED ? 100 : of->high == NONE ? 2 : 1000;
        return has_high && least > of->high ? of->high : least;
    }
    if (isinf(of->low)) return -1;
    if (has_low && has_high && !isinf(of->high)) return 0.5 * (of->low + of->high);
    return has_low ? of->low + 0.25 : has_high ? of->high - 0.5 : 0.5;
}

static int n_wrong; /* all are printed before the test fails */

static int made_with(const struct constructor *of, double *values, size_t i, double value, const char **field)
{
    double before = values[i];
    values[i] = value;
    samp_sampler *s = of->make(values, i);
    values[i] = before;
    assert_non_null(s);
    *field = NULL;
    int status = samp_status(s, field);
    samp_free(s);
    return status;
}

static void takes(const struct constructor *of, double *values, size_t i, double value)
{
    const char *field;
    int status = made_with(of, values, i, value, &field);
    if (status == SAMP_OK) return;
    n_wrong++;
    print_error("samp_%s refuses %s = %.9g: %d, %s\n", of->name, of->arguments[i].name, value, status,
                field ? field : "NULL");
}

static void refuses(const struct constructor *of, double *values, size_t i, double value)
{
    const char *field;
    int status = made_with(of, values, i, value, &field);
    bool right = isinf(value) ? status == SAMP_E_RANGE || status == SAMP_E_NAN
                              : status == (isnan(value) ? SAMP_E_NAN : SAMP_E_RANGE);
    if (right && field && strcmp(field, of->arguments[i].name) == 0) return;
    n_wrong++;
    print_error("samp_%s, %s = %.9g: the status is %d, %s\n", of->name, of->arguments[i].name, value, status,
                field ? field : "NULL");
}

/* Does an argument's range end at another's value? */
static bool ends_at_another(const struct constructor *of)
{
    for (const struct argument *a = of->arguments; a->name; a++)
        if (a->kind == KIND_F32 && (a->low == NAMED || a->high == NAMED)) return true;
    return false;
}

static void number(const struct constructor *of, double *values, size_t i)
{
    const struct argument *a = &of->arguments[i];
    bool real = a->kind == KIND_F32, has_low = is_end(a->low), has_high = is_end(a->high);
    takes(of, values, i, values[i]);
    if (has_low && !isinf(a->low)) {
        double below = real ? nextafterf((float)a->low, -INFINITY) : a->low - 1;
        if (!a->without_low && !a->counts) takes(of, values, i, a->low);
        if (a->without_low) below = a->low;
        if (a->without_low && real && !ends_at_another(of)) takes(of, values, i, nextafterf((float)a->low, INFINITY));
        if (a->kind == KIND_I32 ? below >= INT32_MIN : real || below >= 0) refuses(of, values, i, below);
    }
    if (has_high && !isinf(a->high)) {
        if (!a->counts) takes(of, values, i, a->high);
        refuses(of, values, i, real ? nextafterf((float)a->high, INFINITY) : a->high + 1);
    }
    if (!real) return;
    refuses(of, values, i, NAN);
    if (!isinf(a->high))
        refuses(of, values, i, INFINITY);
    else
        takes(of, values, i, INFINITY);
    if (isinf(a->low))
        takes(of, values, i, -INFINITY);
    else if (!has_low || !a->without_low)
        refuses(of, values, i, -INFINITY);
}

TEST(test_ranges)
{
    int n = 0;
    some_vocab_index = samp_vocab_index_init(some_vocab, NULL);
    some_grammar = samp_grammar_init(SAMP_GRAMMAR_REGEX, "ab+c", NULL, NULL);
    assert_non_null(some_vocab_index);
    assert_non_null(some_grammar);
    mark = samp_default_watermark(SAMP_WATERMARK_GUMBEL_DUAL);
    mark.key = 7;
    for (size_t c = 0; c < TEST_COUNT(constructors); c++) {
        const struct constructor *of = &constructors[c];
        double values[64] = { 0 };
        size_t size = 0;
        while (of->arguments[size].name) size++;
        assert_true(size <= TEST_COUNT(values));
        for (size_t i = 0; i < size; i++) values[i] = usual(&of->arguments[i]);
        for (size_t i = 0; i < size; i++)
            if (of->arguments[i].kind != KIND_NONE) number(of, values, i), n++;
    }
    samp_grammar_free(some_grammar);
    samp_vocab_index_free(some_vocab_index);
    assert_int_equal(n_wrong, 0);
    assert_true(n > 120); /* the table was read */
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
