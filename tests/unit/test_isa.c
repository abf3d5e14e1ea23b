/* test_isa.c - choosing the instruction set: which ones there are, forcing one, names that are none, forcing
   from several threads while others sample, and what there is where the arithmetic is not what it must be. That all of them give the same tokens is test_fast.c's affair.
   */
#include <fenv.h>
#include <pthread.h>
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/test.h"

enum { N = 3000, DRAWS = 40 };
#include "tests/support/makers.h"

/* the best one last */
static const char *const names[] = { "scalar", "generic", "sse2", "avx2", "avx512", "neon", "wasm" };

/* What this CPU should offer, asked another way than the library does. */
static bool offered(const char *name)
{
#if defined(SAMP_NO_SIMD)
    if (!strcmp(name, "generic")) return true;
#elif defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!strcmp(name, "avx2")) return avx2;
    if (!strcmp(name, "avx512")) return avx512;
    if (!strcmp(name, "sse2")) return true;
#elif defined(__aarch64__)
    if (!strcmp(name, "neon")) return true;
#endif
    return !strcmp(name, "scalar");
}

static const char *best(void)
{
    const char *name = "scalar";
    for (size_t i = 1; i < TEST_COUNT(names); i++)
        if (offered(names[i])) name = names[i];
    return name;
}

TEST(first_use_takes_the_best)
{
    assert_text(samp_isa_name(), best());
    assert_text(samp_isa_name(), best());
    print_message("instruction set: %s\n", samp_isa_name());
}

TEST(the_list_names_those_offered)
{
    int n = 0;
    for (size_t i = 0; i < TEST_COUNT(names); i++)
        if (offered(names[i])) assert_text(samp_isa_list(n++), names[i]);
    assert_null(samp_isa_list(n));
    assert_null(samp_isa_list(n + 1));
    assert_text(samp_isa_list(n - 1), best());
    assert_text(samp_isa_list(0), "scalar");
    assert_null(samp_isa_list(-1));
}

TEST(those_offered_can_be_forced)
{
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        if (!offered(names[i])) continue;
        for (int again = 0; again < 2; again++) {
            assert_ok(samp_isa_force(names[i]));
            assert_text(samp_isa_name(), names[i]);
        }
        char copy[16];
        strcpy(copy, names[i]); /* the name's bytes count, and only during the call */
        assert_ok(samp_isa_force(copy));
        memset(copy, 'x', sizeof copy);
        assert_text(samp_isa_name(), names[i]);
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(samp_isa_force(NULL));
        assert_text(samp_isa_name(), best());
    }
}

TEST(others_are_refused)
{
    static const char *const none[] = { "",     "AVX2",  "avx",     "avx2 ", " avx2", "avx5",   "avx5122", "sse",
                                        "NEON", "neon2", "scalar0", "scala", "best",  "(null)", "sve",     "sse4" };
    for (size_t k = 0; k < TEST_COUNT(names); k++) {
        if (!offered(names[k])) continue;
        assert_ok(samp_isa_force(names[k]));
        for (size_t i = 0; i < TEST_COUNT(none); i++) {
            assert_status(samp_isa_force(none[i]), SAMP_E_UNSUPPORTED);
            assert_text(samp_isa_name(), names[k]); /* the choice stays */
        }
        for (size_t i = 0; i < TEST_COUNT(names); i++) {
            if (offered(names[i])) continue;
            assert_status(samp_isa_force(names[i]), SAMP_E_UNSUPPORTED);
            assert_text(samp_isa_name(), names[k]);
        }
    }
    assert_ok(samp_isa_force(NULL));
}

/* ---- forcing while sampling ---- */

/* From parameters, and each sampler. (infill's time grows with the square of the row.) */
enum { N_OTHERS = 3, N_CHAINS = N_OTHERS + N_STAGES + N_SELECTORS };
static samp_sampler *make_chain(int i)
{
    if (i >= N_OTHERS + N_STAGES) return selectors[i - N_OTHERS - N_STAGES]();
    if (i >= N_OTHERS) return chain_with((size_t)(i - N_OTHERS));
    samp_params p = samp_default_params();
    p.seed = 5;
    p.penalty_repeat = 1.1f;
    if (i == 1) p.top_k = 0, p.min_p = 0.0f, p.temp = 1.2f;
    if (i == 2) p.typ_p = 0.9f, p.top_k = 0;
    return samp_chain_from_params(&p, NULL);
}

static float rows[DRAWS][N];

/* The tokens of chain i; the instruction set may change between any two. */
static void draw(int i, const char *const *isa, size_t n_isa, samp_token *out)
{
    own_sampler *chain = make_chain(i);
    for (int k = 0; k < DRAWS; k++) {
        if (n_isa) samp_isa_force(isa[(size_t)k % n_isa]);
        out[k] = samp_sample(chain, rows[k], N);
    }
}

static samp_token expected[N_CHAINS][DRAWS]; /* with the scalar kernels */

static void expect_tokens(void)
{
    for (int k = 0; k < DRAWS; k++) {
        source rng = source_stream((uint64_t)k);
        test_logits(&rng, rows[k], N, k % 2 ? 1.0 : 4.0);
    }
    assert_ok(samp_isa_force("scalar"));
    for (int i = 0; i < N_CHAINS; i++) {
        draw(i, NULL, 0, expected[i]);
        for (int k = 0; k < DRAWS; k++) assert_true(expected[i][k] >= 0);
    }
}

TEST(a_change_between_two_tokens_changes_nothing)
{
    expect_tokens();
    for (int i = 0; i < N_CHAINS; i++) {
        samp_token out[DRAWS];
        assert_ok(samp_isa_force("scalar"));
        draw(i, names, TEST_COUNT(names), out); /* some of them are refused, and the last one stays */
        assert_memory_equal(out, expected[i], sizeof out);
        for (int k = 0; samp_isa_list(k); k++) {
            assert_ok(samp_isa_force(samp_isa_list(k)));
            draw(i, NULL, 0, out);
            assert_memory_equal(out, expected[i], sizeof out);
        }
    }
    assert_ok(samp_isa_force(NULL));
}

typedef struct worker {
    pthread_t thread;
    int number, bad_names, bad_status;
    samp_token out[N_CHAINS][DRAWS];
} worker;

/* Odd workers only sample, even ones force as they go. All find some valid choice at any time. */
static void *work(void *arg)
{
    static const char *const changing[] = { "avx2", NULL, "scalar", "avx512", "sse2", "neon", NULL };
    worker *w = (worker *)arg;
    for (int i = 0; i < N_CHAINS; i++) draw(i, changing, w->number % 2 ? 0 : TEST_COUNT(changing), w->out[i]);
    for (int i = 0; i < rounds(4000); i++) {
        const char *name = changing[(size_t)(i + w->number) % TEST_COUNT(changing)];
        int status = samp_isa_force(name);
        if (status != (!name || offered(name) ? SAMP_OK : SAMP_E_UNSUPPORTED)) w->bad_status++;
        const char *now = samp_isa_name();
        if (!now || !offered(now)) w->bad_names++;
    }
    return NULL;
}

TEST(several_threads_force_and_sample)
{
    static worker w[4];
    expect_tokens();
    for (int i = 0; i < 4; i++) {
        w[i].number = i;
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(w[i].thread, NULL);
    for (int i = 0; i < 4; i++) {
        assert_num(w[i].bad_status, 0);
        assert_num(w[i].bad_names, 0);
        assert_memory_equal(w[i].out, expected, sizeof expected);
    }
    assert_ok(samp_isa_force(NULL));
    assert_text(samp_isa_name(), best());
}

/* Another rounding than to nearest stands here for all that makes the arithmetic another one: flags of a compiler, an
   fma that rounds twice. Found when the kernels are chosen, and told by whatever would give a token. */
TEST(wrong_arithmetic_is_refused)
{
    static const float row[4] = { 1, 2, 3, 4 };
    samp_params params = samp_default_params();
    samp_sampler *chain = samp_chain_from_params(&params, NULL), *top_k = samp_init_top_k(2);
    samp_token_data data[4];
    samp_token_data_array cur = test_array(data, row, 4);
    samp_logits logits = { .data = row, .n_rows = 1, .n_vocab = 4 };
    samp_draft draft = { 0 };
    samp_random_sample *op = samp_random_sample_init(SAMP_I32, SAMP_F32, 4, NULL);
    char *work = malloc(samp_random_sample_workspace_size(op));
    samp_token token = 7;
    int32_t index = 7;
    assert_int_equal(fesetround(FE_UPWARD), 0);
    assert_ok(samp_isa_force(NULL));
    samp_token sampled = samp_sample(chain, row, 4), drawn = samp_draw(chain, row, 4);
    int applied = samp_apply(top_k, &cur), batch = samp_sample_batch(&chain, &logits, &token);
    int verified = samp_verify(chain, row, 4, &draft, SAMP_VERIFY_EXACT, &token), accepted = samp_accept(chain, 1);
    int run = samp_random_sample_run(op, work, samp_random_sample_workspace_size(op), &index, row, 0.5f, 1, 4, 1);
    const char *name = samp_isa_name(), *first = samp_isa_list(0);
    int made = 0;
    samp_sampler *from_params = samp_chain_from_params(&params, &made);
    int forced = samp_isa_force("scalar"), carried = samp_status(chain, NULL);
    assert_int_equal(fesetround(FE_TONEAREST), 0);

    assert_text(name, "none");
    assert_status(made, SAMP_E_UNSUPPORTED);
    assert_status(samp_status(from_params, NULL), SAMP_E_UNSUPPORTED);
    samp_free(from_params);
    assert_null(first);
    assert_status(forced, SAMP_E_UNSUPPORTED);
    assert_status(carried, SAMP_E_UNSUPPORTED);
    assert_status(sampled, SAMP_E_UNSUPPORTED);
    assert_status(drawn, SAMP_E_UNSUPPORTED);
    assert_status(applied, SAMP_E_UNSUPPORTED);
    assert_true(cur.size == 4);
    assert_ok(batch);
    assert_status(token, SAMP_E_UNSUPPORTED);
    assert_status(verified, SAMP_E_UNSUPPORTED);
    assert_status(accepted, SAMP_E_UNSUPPORTED);
    assert_status(run, SAMP_E_UNSUPPORTED);
    assert_num(index, 7);

    assert_ok(samp_isa_force(NULL)); /* asked again, and now it is good */
    assert_text(samp_isa_name(), best());
    assert_ok(samp_status(chain, NULL));
    assert_true(samp_sample(chain, row, 4) >= 0);
    samp_free(chain);
    samp_free(top_k);
    samp_random_sample_free(op);
    free(work);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
