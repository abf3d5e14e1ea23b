/* test_settings.c - samp_settings: every member of samp_params by its name, texts good and bad, numbers to the last bit
   against strtof, the lists, what is copied, what is told, what happens without memory; and that a chain made of it draws
   what one of samp_params draws. */
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/test.h"

enum { N = 80 };

/* ------------------------------------------------------------------------------------------------ helpers */

static void sets_(samp_settings *s, const char *name, const char *value, int line)
{
    const char *field = "unset";
    int status = samp_settings_set(s, name, value, &field);
    if (status != SAMP_OK || field)
        test_fail(__FILE__, line, "%s = \"%s\": %s, field %s", name, value ? value : "(NULL)",
                  test_status_name(status), field ? field : "(NULL)");
}
#define sets(s, name, value) sets_((s), (name), (value), __LINE__)

/* That is refused, by this name, and nothing changes. */
static void refuses_(samp_settings *s, const char *name, const char *value, int want, const char *named, int line)
{
    const char *field = "unset";
    samp_params before = *samp_settings_params(s);
    int status = samp_settings_set(s, name, value, &field);
    if (status != want)
        test_fail(__FILE__, line, "%s = \"%s\": %s, wanted %s", name, value, test_status_name(status),
                  test_status_name(want));
    test_text_(field, named, value, __FILE__, line);
    if (memcmp(&before, samp_settings_params(s), sizeof before) != 0)
        test_fail(__FILE__, line, "%s = \"%s\": refused, but something changed", name, value);
    assert_num(samp_settings_set(s, name, value, NULL), want);
}
#define refuses(s, name, value, want) refuses_((s), (name), (value), (want), (name), __LINE__)

static const char *got(const samp_settings *s, const char *name)
{
    static char text[8][128];
    static int next;
    char *buf = text[next++ % 8];
    int n = samp_settings_get(s, name, buf, sizeof text[0]);
    if (n < 0) return test_status_name(n);
    assert_num(n, strlen(buf));
    return buf;
}

static const char *takes(const char *name)
{
    static char text[300];
    int n = samp_settings_takes(name, text, sizeof text);
    if (n < 0) return test_status_name(n);
    assert_num(n, strlen(text));
    return text;
}

/* ------------------------------------------------------------------------------------------- every member */

/* All settings of samp_params, in the struct's order: the value that a text gives, its text, and what may be said of it.
   Members that have no setting of their own (n_logit_bias, vocab) stand behind the one before. */
static const char *const stop_breakers[] = { "stop", NULL };
static const samp_logit_bias one_bias = { 5, 2.0f };
#define NUMBER(X, name, value, takes) X(name, #value, value, takes)
/* clang-format off */
#define MEMBERS_OF(X) \
    X(seed, "18446744073709551615", UINT64_MAX, "a whole number from 0 to 2^64 - 1") \
    NUMBER(X, min_keep, 3, "a whole number from 0 up") \
    NUMBER(X, top_k, -7, "a whole number in [-2147483648, 2147483647]") \
    NUMBER(X, top_k_ties, 1, "a whole number in [0, 1]") \
    NUMBER(X, top_p, 0.25, "a number in (0, 1]") \
    NUMBER(X, min_p, 0.125, "a number in [0, 1]") \
    NUMBER(X, top_a, 0.5, "a number in [0, 1]") \
    NUMBER(X, p_less, 0.1875, "a number in [0, 1]") \
    NUMBER(X, p_less_norm, 0.21875, "a number in [0, 1]") \
    NUMBER(X, epsilon_cutoff, 0.03125, "a number in [0, 1]") \
    NUMBER(X, eta_cutoff, 0.015625, "a number in [0, 1]") \
    NUMBER(X, top_h, 0.6875, "a number in (0, 1]") \
    NUMBER(X, typ_p, 0.75, "a number in (0, 1]") \
    NUMBER(X, tfs_z, 0.375, "a number in (0, 1]") \
    NUMBER(X, top_n_sigma, 1.5, "a number in [-3.4028235e38, 3.4028235e38]") \
    NUMBER(X, min_k, 2.25, "a number in [-3.4028235e38, 3.4028235e38]") \
    NUMBER(X, xtc_probability, 0.625, "a number in [0, 1]") \
    NUMBER(X, xtc_threshold, 0.875, "a number in [0, 1]") \
    NUMBER(X, temp, 1.25, "0, or a number in [9.536743e-7, 1.048576e6]") \
    NUMBER(X, dynatemp_range, 2.5, "a number in [0, 1.048576e6]") \
    NUMBER(X, dynatemp_exponent, 3.5, "a number in [0, 1000]") \
    NUMBER(X, smoothing_factor, 0.4375, "a number in [0, 1000]") \
    NUMBER(X, smoothing_curve, 7.5, "a number in [1, 10]") \
    NUMBER(X, penalty_last_n, 11, "-1, or a whole number in [0, 4194304]") \
    NUMBER(X, penalty_repeat, 1.125, "a number in (0, 3.4028235e38]") \
    NUMBER(X, penalty_freq, -0.5, "a number in [-3.4028235e38, 3.4028235e38]") \
    NUMBER(X, penalty_present, -0.25, "a number in [-3.4028235e38, 3.4028235e38]") \
    NUMBER(X, dry_multiplier, 0.75, "a number in [0, 3.4028235e38]") \
    NUMBER(X, dry_base, 4.5, "a number in [1, 3.4028235e38]") \
    NUMBER(X, dry_allowed_length, 13, "a whole number in [0, 2147483647]") \
    NUMBER(X, dry_penalty_last_n, 17, "a whole number in [-1, 4194304]") \
    X(dry_breakers, "stop", stop_breakers, "a text, or none; 1024 at most") \
    NUMBER(X, mirostat, 2, "a whole number in [0, 2]") \
    NUMBER(X, mirostat_tau, 5.5, "a number in [0, 1.7014117e38]") \
    NUMBER(X, mirostat_eta, 6.5, "a number in [0, 3.4028235e38]") \
    NUMBER(X, adaptive_target, 0.0625, "a number in [-3.4028235e38, 1]") \
    NUMBER(X, adaptive_decay, 0.5625, "a number in [0, 0.99]") \
    X(logit_bias, "5+2", BOTH(&one_bias, 1), "TOKEN+BIAS or TOKEN-BIAS, with , between") \
    X(n_vocab, "23", BOTH(23, NULL), "a whole number in [0, 2147483647]") \
    X(order, "kpt", "kpt", NULL) \
    X(rng, "mt19937", SAMP_RNG_MT19937, "philox or mt19937") \
    NUMBER(X, n_ctx_train, 29, "a whole number in [0, 4194304]")
#define BOTH(a, b) a, b
#define MEMBER_TEXTS(name, text, value, takes) { #name, text, takes },
#define MEMBER_VALUE(name, text, value, takes) value,
/* clang-format on */
static const char *const MEMBERS[][3] = { MEMBERS_OF(MEMBER_TEXTS) };

/* The same by place, so that one more member, wherever it stands, moves those behind it, or makes the struct larger than
   what is compared. Pointers are compared by what they point to. */
TEST(test_every_member)
{
    /* static, so that what lies between the members is zero in both */
    static const samp_params want = { MEMBERS_OF(MEMBER_VALUE) NULL };
    own_settings *s = samp_settings_init();
    for (size_t i = 0; i < TEST_COUNT(MEMBERS); i++) {
        sets(s, MEMBERS[i][0], MEMBERS[i][1]);
        if (MEMBERS[i][2]) assert_text(takes(MEMBERS[i][0]), MEMBERS[i][2]);
        bool list = strcmp(MEMBERS[i][0], "dry_breakers") == 0 || strcmp(MEMBERS[i][0], "logit_bias") == 0;
        assert_text(got(s, MEMBERS[i][0]), list ? "SAMP_E_UNSUPPORTED" : MEMBERS[i][1]);
    }
    const char *names = "names with ; between, or letters: penalties e, dry d, top_n_sigma s, top_k k, ";
    assert_num(strncmp(takes("order"), names, strlen(names)), 0);
    samp_params have = *samp_settings_params(s);
    assert_text(have.dry_breakers[0], "stop");
    assert_true(have.dry_breakers[1] == NULL);
    assert_num(have.logit_bias[0].token, 5);
    assert_same(have.logit_bias[0].bias, 2.0f);
    assert_text(have.order, "kpt");
    have.dry_breakers = want.dry_breakers, have.logit_bias = want.logit_bias, have.order = want.order;
    const size_t hole = offsetof(samp_params, adaptive_decay) + 4; /* before a pointer */
    assert_num(memcmp(&have, &want, hole), 0);
    const size_t on = offsetof(samp_params, logit_bias), end = offsetof(samp_params, n_ctx_train) + 4;
    assert_num(memcmp((const char *)&have + on, (const char *)&want + on, end - on), 0);
    if (sizeof(void *) == 8) assert_num(end, offsetof(samp_params, grammar)); /* which is no setting */
    assert_num(offsetof(samp_params, grammar) + sizeof have.grammar, sizeof have);
    assert_null(have.grammar);
    assert_true(on - hole < 8 && on % sizeof(void *) == 0);

    for (size_t i = 0; i < TEST_COUNT(MEMBERS); i++) sets(s, MEMBERS[i][0], NULL);
    const samp_params usual = samp_default_params();
    assert_num(memcmp(samp_settings_params(s), &usual, hole), 0);
    assert_num(memcmp((const char *)samp_settings_params(s) + on, (const char *)&usual + on, end - on), 0);
}

/* New settings are the defaults, and tell them. */
TEST(test_defaults)
{
    own_settings *s = samp_settings_init();
    const samp_params usual = samp_default_params();
    assert_num(memcmp(samp_settings_params(s), &usual, sizeof usual), 0);
    assert_text(got(s, "seed"), "0");
    assert_text(got(s, "min_keep"), "0");
    assert_text(got(s, "top_k"), "40");
    assert_text(got(s, "top_p"), "0.95");
    assert_text(got(s, "min_p"), "0.05");
    assert_text(got(s, "temp"), "0.8");
    assert_text(got(s, "dry_base"), "1.75");
    assert_text(got(s, "adaptive_target"), "-1");
    assert_text(got(s, "rng"), "philox");
    assert_text(got(s, "order"), "SAMP_E_UNSUPPORTED");
    assert_true(samp_settings_params(NULL) == NULL);
    samp_settings_free(NULL);
}

/* A sampler's name, as an order may have it, is its first number. */
TEST(test_other_names)
{
    static const char *const other[][2] = {
        { "temperature", "temp" },    { "temp-ext", "temp" },      { "typical", "typ_p" },
        { "typical_p", "typ_p" },     { "top-k", "top_k" },        { "top-p", "top_p" },
        { "nucleus", "top_p" },       { "min-p", "min_p" },        { "tail_free", "tfs_z" },
        { "xtc", "xtc_probability" }, { "dry", "dry_multiplier" }, { "top-n-sigma", "top_n_sigma" },
    };
    own_settings *s = samp_settings_init();
    for (size_t i = 0; i < TEST_COUNT(other); i++) {
        char value[2] = { '1', 0 };
        sets(s, other[i][1], "5");
        sets(s, other[i][0], value);
        assert_text(got(s, other[i][1]), "1");
        assert_text(got(s, other[i][0]), "1");
        refuses_(s, other[i][0], "1,5", SAMP_E_FORMAT, other[i][1], __LINE__);
    }
    sets(s, "penalties", "7");
    assert_num(samp_settings_params(s)->penalty_last_n, 7);
}

TEST(test_unknown_names)
{
    static const char *const names[] = {
        "",           "Top_k",          "top_k ", " top_k", "topk", "top_k;top-k", "n_logit_bias", "vocab",
        "mirostat_m", "repeat_penalty", "k",      "dist",   ";",    "params",      "grammar"
    };
    own_settings *s = samp_settings_init();
    char buf[8];
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        const char *field = NULL;
        refuses(s, names[i], "1", SAMP_E_NAME);
        refuses(s, names[i], NULL, SAMP_E_NAME);
        assert_status(samp_settings_set(s, names[i], "1", &field), SAMP_E_NAME);
        assert_ptr_equal(field, names[i]);
        assert_status(samp_settings_get(s, names[i], buf, sizeof buf), SAMP_E_NAME);
        assert_status(samp_settings_takes(names[i], buf, sizeof buf), SAMP_E_NAME);
    }
    const char *field = "unset";
    assert_status(samp_settings_set(NULL, "top_k", "1", &field), SAMP_E_NULL);
    assert_text(field, "settings");
    assert_status(samp_settings_set(s, NULL, "1", &field), SAMP_E_NULL);
    assert_text(field, "name");
    assert_status(samp_settings_get(NULL, "top_k", buf, sizeof buf), SAMP_E_NULL);
    assert_status(samp_settings_get(s, NULL, buf, sizeof buf), SAMP_E_NULL);
    assert_status(samp_settings_get(s, "top_k", NULL, 1), SAMP_E_NULL);
    assert_status(samp_settings_takes(NULL, buf, sizeof buf), SAMP_E_NULL);
    assert_status(samp_settings_takes("top_k", NULL, 1), SAMP_E_NULL);
}

static int applies(samp_sampler *s, samp_token_data_array *cur) { return (void)s, (void)cur, SAMP_OK; }

static void told(int status, const char *field, const char *text)
{
    char buf[800] = "", cut[9];
    assert_num(samp_error_text(status, field, buf, sizeof buf), strlen(text));
    assert_text(buf, text);
    assert_num(samp_error_text(status, field, NULL, 0), strlen(text));
    assert_num(samp_error_text(status, field, cut, sizeof cut), strlen(text));
    assert_memory_equal(cut, text, strlen(text) < 8 ? strlen(text) + 1 : 8);
    assert_num(cut[strlen(text) < 8 ? strlen(text) : 8], 0);
}

/* A text for a user: the field, and what it may be. */
TEST(test_error_text)
{
    static const char *const names[] = {
        "top_p", "top_k", "penalty_last_n", "rng", "order", "mirostat_tau", "n_vocab"
    };
    for (size_t i = 0; i < TEST_COUNT(names); i++) { /* the range is that of samp_settings_takes */
        char text[800], takes[600];
        assert_in_range(samp_settings_takes(names[i], takes, sizeof takes), 1, sizeof takes - 1);
        sprintf(text, "%s: %s: %s", names[i], samp_strerror(SAMP_E_RANGE), takes);
        told(SAMP_E_RANGE, names[i], text);
        sprintf(text, "%s: %s: %s", names[i], samp_strerror(SAMP_E_NAN), takes);
        told(SAMP_E_NAN, names[i], text);
        sprintf(text, "%s: expected %s", names[i], takes);
        told(SAMP_E_FORMAT, names[i], text);
        sprintf(text, "%s: %s", names[i], samp_strerror(SAMP_E_NULL));
        told(SAMP_E_NULL, names[i], text);
    }
    told(SAMP_E_RANGE, "top_p", "top_p: a value is outside its range: a number in (0, 1]");
    told(SAMP_E_NAME, "repeat_penalty", "repeat_penalty: no setting has this name");
    told(SAMP_E_RANGE, "lowest", "lowest: a value is outside its range"); /* no setting */
    told(SAMP_E_UNSUPPORTED, "clone", "clone: a custom sampler with a context lacks this function");
    told(SAMP_E_UNSUPPORTED, "seed", "seed: not supported here");
    told(SAMP_E_RANGE, "token", "token: the grammar refuses this token; accept the prompt before inserting it");
    told(SAMP_E_RANGE, "grammar",
         "grammar: it is in a chain already (each chain needs its own: samp_clone), or it selects a token, or a "
         "<text> in "
         "it is no token");
    for (int status = SAMP_STATUS_LAST - 1; status < 3; status++) told(status, NULL, samp_strerror(status));
    told(SAMP_OK, "top_p", "ok");
    assert_status(samp_error_text(SAMP_E_RANGE, "top_p", NULL, 1), SAMP_E_NULL);

    own_settings *s = samp_settings_init(); /* as a program would use it */
    const char *field = NULL;
    char buf[100];
    int status = samp_settings_set(s, "temprature", "1", &field);
    assert_status(status, SAMP_E_NAME);
    samp_error_text(status, field, buf, sizeof buf);
    assert_text(buf, "temprature: no setting has this name");
    assert_ok(samp_settings_set(s, "top_p", "1.5", &field));
    status = samp_check_params(samp_settings_params(s), &field);
    samp_error_text(status, field, buf, sizeof buf);
    assert_text(buf, "top_p: a value is outside its range: a number in (0, 1]");
}

static void params_are_(const samp_params *p, const char *want, int line)
{
    char text[200], cut[10];
    test_int_(samp_params_error_text(p, text, sizeof text), (int)strlen(want), "length", __FILE__, line);
    test_text_(text, want, "text", __FILE__, line);
    assert_num(samp_params_error_text(p, cut, sizeof cut), strlen(want));
    assert_memory_equal(cut, want, strlen(want) < 9 ? strlen(want) + 1 : 9);
}
#define params_are(p, want) params_are_((p), (want), __LINE__)

/* Of a list, which entry is bad, and what it may be. */
TEST(test_params_error_text)
{
    samp_params p = samp_default_params();
    const samp_logit_bias bias[] = { { 3, 1 }, { 19, -INFINITY }, { 20, 1 }, { -1, 1 }, { 4, NAN } };
    params_are(&p, "ok");
    params_are(NULL, "params: a required pointer is NULL");
    assert_status(samp_params_error_text(&p, NULL, 5), SAMP_E_NULL);
    p.top_p = 1.5f;
    params_are(&p, "top_p: a value is outside its range: a number in (0, 1]");
    p.top_p = 1;
    p.logit_bias = bias;
    p.n_vocab = 20;
    p.n_logit_bias = 2;
    params_are(&p, "ok");
    p.n_logit_bias = 3;
    params_are(&p, "logit_bias: token 20 is outside its range: a whole number in [0, 19]");
    p.n_vocab = 21;
    p.n_logit_bias = 4;
    params_are(&p, "logit_bias: token -1 is outside its range: a whole number in [0, 20]");
    p.logit_bias = bias + 4;
    p.n_logit_bias = 1;
    params_are(&p, "logit_bias: the bias of token 4 is NaN or +infinity");
    p.n_logit_bias = 0;
    p.order = "top_k;temprature;min_p";
    params_are(&p, "order: \"temprature\": no sampler has this name");
}

/* The texts of statuses are true of all that has them. */
TEST(test_texts_of_statuses)
{
    own_sampler *chain = samp_chain_init();
    float logits[2] = { 1, 2 };
    assert_status(samp_sample(chain, logits, 2), SAMP_E_UNSUPPORTED);
    assert_non_null(strstr(samp_strerror(SAMP_E_UNSUPPORTED), "samp_init_dist(seed)"));
    assert_non_null(strstr(samp_strerror(SAMP_E_FORMAT), "a text with a mistake"));
}

/* What is not supported is told apart by its field. */
TEST(test_unsupported)
{
    static const samp_sampler_i iface = { NULL, NULL, applies, NULL, NULL, NULL, NULL, NULL };
    int ctx = 0;
    const char *field = NULL;
    own_sampler *s = samp_init_custom(&iface, &ctx), *copy = samp_clone(s);
    assert_status(samp_status(copy, &field), SAMP_E_UNSUPPORTED);
    assert_text(field, "clone");
}

/* ------------------------------------------------------------------------------------------------ numbers */

TEST(test_bad_numbers)
{
    static const char *const form[] = { "",      " ",   " 1",  "1 ",   "1\n", "1x",      "x1",  "0x10",
                                        "--1",   "+-1", "-",   "+",    "1,5", "0,8",     "one", "1-",
                                        "1_000", "nan", "NaN", "true", "1;",  "\xd9\xa1" };
    static const char *const real[] = { ".",     "-.",    "1e",  "1e+",  "e5", ".e5",
                                        "1e5.0", "1.2.3", "inf", "-inf", "1f", "1e 5" };
    static const char *const whole[] = { "1.0", "1.", "1e3", "inf" };
    own_settings *s = samp_settings_init();
    for (size_t i = 0; i < TEST_COUNT(form); i++) {
        refuses(s, "temp", form[i], SAMP_E_FORMAT);
        refuses(s, "top_k", form[i], SAMP_E_FORMAT);
        refuses(s, "min_keep", form[i], SAMP_E_FORMAT);
        refuses(s, "seed", form[i], SAMP_E_FORMAT);
    }
    for (size_t i = 0; i < TEST_COUNT(real); i++) refuses(s, "temp", real[i], SAMP_E_FORMAT);
    for (size_t i = 0; i < TEST_COUNT(whole); i++) {
        refuses(s, "top_k", whole[i], SAMP_E_FORMAT);
        refuses(s, "min_keep", whole[i], SAMP_E_FORMAT);
        refuses(s, "seed", whole[i], SAMP_E_FORMAT);
    }
}

/* The ends of each type; what lies behind them is SAMP_E_RANGE, however long. */
TEST(test_whole_numbers)
{
    own_settings *s = samp_settings_init();
    sets(s, "top_k", "2147483647");
    assert_num(samp_settings_params(s)->top_k, INT32_MAX);
    sets(s, "top_k", "-2147483648");
    assert_num(samp_settings_params(s)->top_k, INT32_MIN);
    sets(s, "top_k", "+0000000000000000000000000000000040");
    assert_num(samp_settings_params(s)->top_k, 40);
    sets(s, "seed", "-0");
    assert_u64(samp_settings_params(s)->seed, 0);
    static const char *const far[] = { "2147483648",
                                       "-2147483649",
                                       "4294967297",
                                       "18446744073709551616",
                                       "18446744073709551656",
                                       "-18446744073709551615",
                                       "340282366920938463463374607431768211457" };
    for (size_t i = 0; i < TEST_COUNT(far); i++) refuses(s, "top_k", far[i], SAMP_E_RANGE);
    refuses(s, "top_k", "99999999999999999999999999x", SAMP_E_FORMAT); /* the form goes first */
    refuses(s, "seed", "18446744073709551616", SAMP_E_RANGE);
    refuses(s, "seed", "18446744073709551620", SAMP_E_RANGE);
    refuses(s, "seed", "-1", SAMP_E_RANGE);
    refuses(s, "min_keep", "-1", SAMP_E_RANGE);
    char most[24];
    snprintf(most, sizeof most, "%llu", (unsigned long long)SIZE_MAX);
    sets(s, "min_keep", most);
    assert_true(samp_settings_params(s)->min_keep == SIZE_MAX);
    most[strlen(most) - 1]++; /* ...5 -> ...6 */
    refuses(s, "min_keep", most, SAMP_E_RANGE);
}

/* As strtof in the C locale, which glibc rounds correctly; but no zero and no infinity for what is neither. */
static void same_float_(samp_settings *s, const char *text, int line)
{
    float want = strtof(text, NULL);
    int status = samp_settings_set(s, "penalty_freq", text, NULL);
    bool zero = strspn(text, "+-0.") == strcspn(text, "eE");
    if (isinf(want) || (want == 0.0f && !zero)) {
        if (status != SAMP_E_RANGE) test_fail(__FILE__, line, "%s: %s", text, test_status_name(status));
        return;
    }
    if (status != SAMP_OK) test_fail(__FILE__, line, "%s: %s", text, test_status_name(status));
    test_same_(samp_settings_params(s)->penalty_freq, want, text, __FILE__, line);
}
#define same_float(s, text) same_float_((s), (text), __LINE__)

TEST(test_floats_by_hand)
{
    /* among them numbers behind 2^64, and the two at half the way to infinity */
    /* clang-format off */
    static const char *const texts[] = {
        "0", "-0", "0.0", ".5", "5.", "+1.5", "-1.5", "1e5", "1E5", "1e+5", "1e-5", "00001.5000e0001",
        "0e99999999999", "0.000e-99999999999", "0e99999999999999999999", "-0.0e-99999999999999999999999999999",
        "3.4028235e38", "3.4028234663852886e38", "3.40282356779733661637539395458142568447e38",
        "3.40282356779733661637539395458142568448e38", "3.5e38", "1e39", "1e99", "1e2000000000", "1.17549435e-38",
        "1.1754943508222874e-38", "1e-45", "7.006492321624085354618e-46", "7.0064923216240853e-46",
        "7.0064923216240854e-46", "1.4e-45", "1e-46", "1e-2000000000", "16777217", "16777219", "33554434",
        "8388608.5", "8388609.5",
        "16777217.000000000000000000000000000000000000000000000000000000000000000000000001", "0.1", "0.2", "0.3",
        "0.95", "0.8", "123456789012345678901234567890", "0.0000000000000000000000000000000000000001",
    };
    /* clang-format on */
    own_settings *s = samp_settings_init();
    for (size_t i = 0; i < TEST_COUNT(texts); i++) same_float(s, texts[i]);
    sets(s, "temp",
         "1"
         "00000000000000000000000000000000000000000000000000e-50");
    assert_same(samp_settings_params(s)->temp, 1.0f);
    refuses(s, "temp", "1e9223372036854775808", SAMP_E_RANGE);
    refuses(s, "temp", "1e-99999999999999999999999999", SAMP_E_RANGE);
}

/* Floats, the middles between two of them and what lies just beside these, in few digits and in all; and any digits. */
TEST(test_floats_at_random)
{
    source rng = source_stream(7100);
    char text[600];
    own_settings *s = samp_settings_init();
    for (int i = 0; i < rounds(30000); i++) {
        float x = float_from((uint32_t)choose(&rng, 4) & 0x7FFFFFFFu);
        if (!(x < FLT_MAX)) continue;
        double middle = ((double)x + (double)nextafterf(x, FLT_MAX)) / 2;
        snprintf(text, sizeof text, "%.*g", 1 + (int)below(&rng, 20), (double)x);
        same_float(s, text);
        snprintf(text, sizeof text, "%.160e", middle); /* exact */
        same_float(s, text);
        text[100 + below(&rng, 62)] = (char)('0' + below(&rng, 10)); /* a digit changed far behind: above or below */
        same_float(s, text);
        snprintf(text, sizeof text, "%.320f1", middle); /* the same written out, and a little more */
        same_float(s, text);
    }
    for (int i = 0; i < rounds(30000); i++) {
        size_t n = 0, digits = 1 + below(&rng, 40), point = below(&rng, 60);
        if (below(&rng, 2)) text[n++] = '-';
        for (size_t k = 0; k < digits; k++) {
            if (k == point) text[n++] = '.';
            text[n++] = (char)('0' + below(&rng, 10));
        }
        snprintf(text + n, sizeof text - n, "e%d", (int)below(&rng, 110) - 60);
        same_float(s, text);
    }
}

/* What is told is read back as it was, and has no digit too many. */
TEST(test_told_and_read)
{
    source rng = source_stream(7200);
    own_settings *s = samp_settings_init(), *t = samp_settings_init();
    for (int i = 0; i < rounds(30000); i++) {
        float x = float_from((uint32_t)choose(&rng, 4));
        char text[32], shorter[32];
        if (!(fabsf(x) <= FLT_MAX)) continue;
        snprintf(text, sizeof text, "%.9g", (double)x);
        sets(s, "penalty_freq", text);
        sets(t, "penalty_freq", got(s, "penalty_freq"));
        assert_same(samp_settings_params(t)->penalty_freq, x);
        int places = 6, digits = 0; /* as many as printf needs, but never less than six */
        while (snprintf(shorter, sizeof shorter, "%.*g", places, (double)x) && strtof(shorter, NULL) != x) places++;
        for (const char *c = got(s, "penalty_freq"); *c && *c != 'e'; c++)
            digits += *c > '0' - (digits > 0) && *c <= '9';
        assert_true(digits <= places);
        assert_true(strlen(got(s, "penalty_freq")) <= 16);
    }
    sets(s, "temp", "0.1");
    assert_text(got(s, "temp"), "0.1");
    sets(s, "temp", "0.7");
    assert_text(got(s, "temp"), "0.7");
    sets(s, "temp", "16777216");
    assert_text(got(s, "temp"), "1.6777216e7");
    char buf[8];
    memset(buf, 'x', sizeof buf);
    sets(s, "seed", "1234567890");
    assert_num(samp_settings_get(s, "seed", buf, 5), 10); /* cut, and the length of the whole */
    assert_text(buf, "1234");
    assert_num(buf[5], 'x');
    assert_num(samp_settings_get(s, "seed", NULL, 0), 10);
    assert_num(samp_settings_takes("rng", NULL, 0), 17);
    assert_num(samp_settings_takes("rng", buf, 4), 17);
    assert_text(buf, "phi");
}

/* -------------------------------------------------------------------------------------------------- words */

TEST(test_rng_and_order)
{
    own_settings *s = samp_settings_init();
    const samp_params *p = samp_settings_params(s);
    sets(s, "rng", "mt19937");
    assert_num(p->rng, SAMP_RNG_MT19937);
    static const char *const bad[] = { "", "MT19937", "philox ", "0", "1", "random" };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) refuses(s, "rng", bad[i], SAMP_E_RANGE);
    sets(s, "rng", "philox");
    assert_num(p->rng, SAMP_RNG_PHILOX);

    char order[] = "top_k;temperature";
    sets(s, "order", order);
    memset(order, 'x', sizeof order - 1); /* it has a copy */
    assert_text(p->order, "top_k;temperature");
    sets(s, "order", p->order); /* its own text */
    assert_text(p->order, "top_k;temperature");
    sets(s, "order", "");
    assert_text(p->order, "");
    assert_text(got(s, "order"), "");
    static const char *const words[][2] = { /* the word that names no sampler is told */
                                            { "no such sampler", "no such sampler" },
                                            { "top_k;temprature", "temprature" },
                                            { "temprature;top_k", "temprature" },
                                            { "nonsense", "nonsense" },
                                            { "topk", "topk" },
                                            { "kz", "kz" },
                                            { "top_k;", "" },
                                            { "*;top_k;dist;min_p", "dist" },
                                            { "*;top_k;*", "*" }
    };
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        char want[80], told_[120];
        const char *field = NULL;
        sets(s, "order", "kt");
        assert_status(samp_settings_set(s, "order", words[i][0], &field), SAMP_E_NAME);
        assert_text(p->order, "kt");
        sprintf(want, "order: \"%s\"", words[i][1]);
        assert_text(field, want);
        samp_error_text(SAMP_E_NAME, field, told_, sizeof told_);
        strcat(want, ": no sampler has this name");
        assert_text(told_, want);
    }
    char much[200]; /* a long word is cut, between two characters */
    const char *field = NULL;
    for (int before = 0; before < 3; before++) {
        memset(much, 'x', sizeof much);
        for (int i = before; i + 3 < 180; i += 3) memcpy(much + i, "\xe2\x82\xac", 3);
        much[180] = 0;
        assert_status(samp_settings_set(s, "order", much, &field), SAMP_E_NAME);
        const int whole = 48 - (48 - before) % 3;
        assert_num(strlen(field), 8 + whole + 1);
        assert_memory_equal(field + 8, much, whole);
    }
    sets(s, "order", "temperature;*");
    sets(s, "order", NULL);
    assert_true(p->order == NULL);
}

static void biases_are_(const samp_params *p, int n, const samp_logit_bias *want, int line)
{
    test_int_(p->n_logit_bias, n, "n_logit_bias", __FILE__, line);
    for (int i = 0; i < n; i++) {
        test_int_(p->logit_bias[i].token, want[i].token, "token", __FILE__, line);
        test_same_(p->logit_bias[i].bias, want[i].bias, "bias", __FILE__, line);
    }
}
#define biases_are(p, want) biases_are_((p), TEST_COUNT(want), (want), __LINE__)

TEST(test_logit_bias)
{
    static const samp_logit_bias want[] = {
        { 15043, 1.0f }, { 15043, -INFINITY }, { 7, -0.5f }, { 0, 0.001f }, { INT32_MAX, -0.0f }
    };
    static const samp_logit_bias anew[] = { { 3, 2.5f } };
    static const char *const form[] = { "",     "1",        "1+",    "+1",       "-1+1",       "1++1",
                                        "1+-1", "1+1,",     ",1+1",  "1+1,,2+1", "1+1;2+1",    "1 +1",
                                        "1+1 ", "1+1, 2+1", "1+inf", "1-nan",    "1-infinity", "1=1",
                                        "1:1",  "1-inf2+1", "1-i",   "1-in",     "1-ixf",      "1-inx" };
    static const char *const range[] = { "2147483648+1", "1+1e39", "1+1e-60", "99999999999999999999-inf",
                                         "1+1,2+1e99" };
    own_settings *s = samp_settings_init();
    const samp_params *p = samp_settings_params(s);
    char first[] = "15043+1";
    sets(s, "logit_bias", first);
    memset(first, 'x', sizeof first - 1);
    sets(s, "logit_bias", "15043-inf,7-0.5,00+1e-3");
    sets(s, "logit_bias", "2147483647-0");
    for (size_t i = 0; i < TEST_COUNT(form); i++) refuses(s, "logit_bias", form[i], SAMP_E_FORMAT);
    for (size_t i = 0; i < TEST_COUNT(range); i++) refuses(s, "logit_bias", range[i], SAMP_E_RANGE);
    biases_are(p, want);
    sets(s, "logit_bias", NULL);
    assert_num(p->n_logit_bias, 0);
    assert_true(p->logit_bias == NULL);
    sets(s, "logit_bias", "3+2.5");
    biases_are(p, anew);
}

/* Each is one more; blanks, commas and quotes are part of it. */
TEST(test_dry_breakers)
{
    static const char *const want[] = { "\n", ", ", "\"", "a long one that is longer than those before", "none " };
    own_settings *s = samp_settings_init();
    const samp_params *p = samp_settings_params(s);
    assert_true(p->dry_breakers == NULL);
    for (size_t i = 0; i < TEST_COUNT(want); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", want[i]);
        sets(s, "dry_breakers", text);
        memset(text, 'x', sizeof text);
        refuses(s, "dry_breakers", "", SAMP_E_RANGE);
        for (size_t k = 0; k <= i; k++) assert_text(p->dry_breakers[k], want[k]);
        assert_true(p->dry_breakers[i + 1] == NULL);
    }
    sets(s, "dry_breakers", "none");
    assert_non_null(p->dry_breakers);
    assert_true(p->dry_breakers[0] == NULL);
    sets(s, "dry_breakers", "x"); /* after "none" it is the only one */
    assert_text(p->dry_breakers[0], "x");
    assert_true(p->dry_breakers[1] == NULL);
    sets(s, "dry_breakers", NULL);
    assert_true(p->dry_breakers == NULL);
}

/* ------------------------------------------------------------------------------------------------- memory */

/* What is refused for want of memory leaves all as it was; all is freed in the end. */
TEST(test_no_memory)
{
    static const char *const sets_of[][2] = {
        { "order", "kpt" },         { "dry_breakers", "two" }, { "logit_bias", "1+1,2+2" },
        { "dry_breakers", "none" }, { "order", "" },
    };
    long live = heap.live;
    heap.fail_at = 1;
    assert_true(samp_settings_init() == NULL);
    samp_settings *s = samp_settings_init();
    sets(s, "order", "top_p");
    sets(s, "dry_breakers", "one");
    sets(s, "logit_bias", "7+7");
    for (size_t i = 0; i < TEST_COUNT(sets_of); i++) {
        const char *field = NULL;
        const samp_params before = *samp_settings_params(s);
        heap.fail_at = 1;
        assert_status(samp_settings_set(s, sets_of[i][0], sets_of[i][1], &field), SAMP_E_NOMEM);
        assert_text(field, sets_of[i][0]);
        assert_num(heap.fail_at, 0);
        assert_num(memcmp(&before, samp_settings_params(s), sizeof before), 0);
        assert_text(before.order, "top_p");
        assert_text(before.dry_breakers[0], "one");
        assert_num(before.logit_bias[0].token, 7);
    }
    unsigned long mallocs = heap.mallocs;
    sets(s, "temp", "0.5"); /* numbers need none, nor do defaults */
    sets(s, "seed", "5");
    sets(s, "order", NULL);
    sets(s, "dry_breakers", NULL);
    sets(s, "logit_bias", NULL);
    assert_num(heap.mallocs, mallocs);
    assert_num(heap.live, live + 1);
    sets(s, "order", "top_p");
    sets(s, "dry_breakers", "one");
    sets(s, "logit_bias", "7+7");
    sets(s, "logit_bias", "8+8");
    assert_num(heap.live, live + 4);
    samp_settings_free(s);
    assert_num(heap.live, live);
}

/* ------------------------------------------------------------------------------------------------ garbage */

/* Any bytes as name and value: a status, and an error changes nothing. */
TEST(test_garbage)
{
    static const char alphabet[] = "0123456789+-.,eEinf;_ topkmrdyx\n\t\x80\xff";
    static const int good[] = { SAMP_OK, SAMP_E_RANGE, SAMP_E_FORMAT, SAMP_E_NAME };
    source rng = source_stream(7300);
    long live = heap.live;
    samp_settings *s = samp_settings_init();
    int accepted = 0, n_good = (int)TEST_COUNT(good);
    for (int i = 0; i < rounds(200000); i++) {
        char name[12], value[24];
        const char *which = name, *field = "unset";
        size_t n_name = below(&rng, sizeof name), n = below(&rng, sizeof value);
        for (size_t k = 0; k < n_name; k++) name[k] = alphabet[below(&rng, sizeof alphabet - 1)];
        for (size_t k = 0; k < n; k++) value[k] = alphabet[below(&rng, percent(&rng, 60) ? 16 : sizeof alphabet - 1)];
        name[n_name] = value[n] = 0;
        if (percent(&rng, 90)) which = MEMBERS[below(&rng, TEST_COUNT(MEMBERS))][0];
        const samp_params before = *samp_settings_params(s);
        int status = samp_settings_set(s, which, value, &field), k = 0;
        while (k < n_good && good[k] != status) k++;
        if (k == n_good) test_fail(__FILE__, __LINE__, "%s = \"%s\": %s", which, value, test_status_name(status));
        accepted += status == SAMP_OK;
        if (status == SAMP_OK) {
            assert_true(field == NULL);
        } else {
            assert_memory_equal(field, status == SAMP_E_NAME && !strcmp(which, "order") ? "order: \"" : which,
                                status == SAMP_E_NAME && !strcmp(which, "order") ? 8 : strlen(which) + 1);
            assert_num(memcmp(&before, samp_settings_params(s), sizeof before), 0);
        }
        (void)samp_check_params(samp_settings_params(s), NULL);
        if (i % 100 == 0) sets(s, "dry_breakers", NULL), sets(s, "logit_bias", NULL);
    }
    assert_true(accepted > rounds(200000) / 50);
    samp_settings_free(s);
    assert_num(heap.live, live);
}

/* ------------------------------------------------------------------------------------------------- chains */

/* The two draw the same tokens; frees both. */
static void same_draws(samp_sampler *a, samp_sampler *b)
{
    for (uint64_t i = 0; i < 60; i++) {
        float logits[N];
        test_row(logits, N, 7400 + i, 2.0, i % N);
        samp_token x = samp_sample(a, logits, N), y = samp_sample(b, logits, N);
        if (x != y || x < 0) test_fail(__FILE__, __LINE__, "step %d: token %d, by struct %d", (int)i, (int)x, (int)y);
    }
    samp_free(a);
    samp_free(b);
}

/* All that has memory of its own is in it, and the chain needs none of it: not the lists, nor the settings. */
TEST(test_chain)
{
    static const char *const breakers[] = { "ab", NULL };
    static const samp_logit_bias bias[] = { { 4, 2.0f }, { 9, -INFINITY } };
    own_settings *s = samp_settings_init();
    samp_vocab vocab;
    memset(&vocab, 0, sizeof vocab);
    vocab.n_vocab = N;
    vocab.token_bytes = test_letters;
    samp_params p = samp_default_params();
    p.seed = 77, p.temp = 1.1f, p.top_k = 30, p.min_p = 0.02f, p.penalty_repeat = 1.2f;
    p.dry_multiplier = 0.8f, p.dry_breakers = breakers, p.logit_bias = bias, p.n_logit_bias = 2;
    p.n_vocab = N, p.vocab = &vocab, p.order = "penalties;dry;temperature;top_k;min_p";
    sets(s, "seed", "77");
    sets(s, "temperature", "1.1");
    sets(s, "top_k", "30");
    sets(s, "min_p", "0.02");
    sets(s, "penalty_repeat", "1.2");
    sets(s, "dry", "0.8");
    sets(s, "dry_breakers", "ab");
    sets(s, "logit_bias", "4+2,9-inf");
    sets(s, "order", p.order);
    const char *field = NULL;
    assert_status(samp_check_params(samp_settings_params(s), &field), SAMP_E_RANGE); /* as of samp_params */
    assert_text(field, "n_vocab");
    assert_ok(samp_settings_set_vocab(s, N, test_letters, s));
    assert_num(samp_settings_params(s)->n_vocab, N);
    assert_ptr_equal(samp_settings_params(s)->vocab->user, s);
    assert_num(samp_settings_params(s)->vocab->eos, -1);
    assert_num(samp_settings_params(s)->vocab->eot, -1);
    assert_status(samp_settings_set_vocab(s, -1, test_letters, NULL), SAMP_E_RANGE);
    assert_status(samp_settings_set_vocab(s, N, NULL, NULL), SAMP_E_NULL);
    assert_status(samp_settings_set_vocab(NULL, N, test_letters, NULL), SAMP_E_NULL);
    int status = 1;
    samp_sampler *chain = samp_chain_from_params(samp_settings_params(s), &status);
    assert_ok(status);
    sets(s, "logit_bias", NULL);
    sets(s, "dry_breakers", NULL);
    sets(s, "order", NULL);
    same_draws(chain, samp_chain_from_params(&p, NULL));
}

/* A vocabulary from a list: what its tokens are, and that chains draw by it what they draw by a function. */
TEST(test_listed_vocabulary)
{
    static const samp_token ends[] = { 2, 5 };
    const char bytes[] = { 'a', 'b', 'c', '\0', '\xff' };
    const uint32_t n_bytes[] = { 1, 0, 2, 1, 1, 0 };
    int status = 1;
    size_t n = 99;
    samp_vocab *v = samp_vocab_init(bytes, n_bytes, 6, ends, 2, 5, -1, &status);
    assert_ok(status);
    assert_num(v->n_vocab, 6);
    assert_num(v->n_eog, 2);
    assert_num(v->eog[0], 2);
    assert_num(v->eog[1], 5);
    assert_num(v->eos, 5);
    assert_num(v->eot, -1);
    for (samp_token t = 0, at = 0; t < 6; t++, at += (samp_token)n) {
        const char *piece = v->token_bytes(v, t, &n);
        assert_num(n, n_bytes[t]);
        assert_memory_equal(piece, bytes + at, n);
    }
    samp_vocab_free(v);
    samp_vocab_free(NULL);
    v = samp_vocab_init(NULL, NULL, 0, NULL, 0, -1, -1, NULL);
    assert_num(v->n_vocab, 0);
    samp_vocab_free(v);

    const uint32_t too_many[] = { 0x7fffffffu, 1, 0xffffffffu };
    const samp_token no_token[] = { 6 }, below[] = { -1 };
#define IS(want, ...) (assert_null(samp_vocab_init(__VA_ARGS__, &status)), assert_status(status, want))
    IS(SAMP_E_RANGE, bytes, n_bytes, -1, NULL, 0, -1, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, SAMP_MAX_VOCAB + 1, NULL, 0, -1, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, no_token, 1, -1, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, below, 1, -1, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, ends, (size_t)-1 / 2, -1, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, NULL, 0, 6, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, NULL, 0, -2, -1);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, NULL, 0, -1, 6);
    IS(SAMP_E_RANGE, bytes, n_bytes, 6, NULL, 0, -1, -2);
    IS(SAMP_E_RANGE, bytes, too_many, 2, NULL, 0, -1, -1);
    IS(SAMP_E_RANGE, bytes, too_many, 3, NULL, 0, -1, -1);
    IS(SAMP_E_NULL, NULL, n_bytes, 6, NULL, 0, -1, -1);
    IS(SAMP_E_NULL, bytes, NULL, 6, NULL, 0, -1, -1);
    IS(SAMP_E_NULL, bytes, n_bytes, 6, NULL, 1, -1, -1);
#undef IS
}

/* It is lent to the settings and to the chains, which need the settings no more. */
TEST(test_lent_vocabulary)
{
    char bytes[N * 8];
    uint32_t n_bytes[N];
    size_t at = 0;
    samp_settings *s = samp_settings_init(), *lent = samp_settings_init();
    assert_ok(samp_settings_set_vocab(s, N, test_letters, s));
    for (samp_token t = 0; t < N; t++) {
        size_t n;
        const char *piece = test_letters(samp_settings_params(s)->vocab, t, &n);
        assert_true(n <= 8);
        memcpy(bytes + at, piece, n);
        at += n;
        n_bytes[t] = (uint32_t)n;
    }
    samp_vocab *v = samp_vocab_init(bytes, n_bytes, N, NULL, 0, 3, -1, NULL), bad;
    assert_ok(samp_settings_use_vocab(lent, v));
    assert_ptr_equal(samp_settings_params(lent)->vocab, v);
    assert_num(samp_settings_params(lent)->n_vocab, N);
    bad = *v;
    bad.n_vocab = -1;
    assert_status(samp_settings_use_vocab(lent, &bad), SAMP_E_RANGE);
    assert_ptr_equal(samp_settings_params(lent)->vocab, v);
    assert_status(samp_settings_use_vocab(NULL, v), SAMP_E_NULL);
    sets(lent, "order", "infill"); /* it asks for an end, which a vocabulary of the settings' own does not have */
    int status = 1;
    samp_free(samp_chain_from_params(samp_settings_params(lent), &status));
    assert_ok(status);
    for (int i = 0; i < 2; i++) {
        samp_settings *to = i ? lent : s;
        sets(to, "seed", "3");
        sets(to, "dry", "0.8");
        sets(to, "dry_breakers", "ab");
        sets(to, "order", "dry;temperature");
    }
    samp_sampler *there = samp_chain_from_params(samp_settings_params(lent), &status);
    assert_ok(status);
    assert_ok(samp_settings_use_vocab(lent, NULL));
    assert_null(samp_settings_params(lent)->vocab);
    assert_num(samp_settings_params(lent)->n_vocab, N);
    samp_settings_free(lent);
    same_draws(there, samp_chain_from_params(samp_settings_params(s), &status));
    samp_settings_free(s);
    samp_vocab_free(v);
}

/* A value is judged where it ever was. */
TEST(test_values_are_checked)
{
    static const char *const bad[][2] = {
        { "temp", "-1" },    { "top_p", "0" },    { "top_p", "1.5" },      { "min_p", "-0.1" },
        { "mirostat", "3" }, { "n_vocab", "-1" }, { "n_ctx_train", "-5" }, { "dry_base", "0.5" },
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        const char *field = NULL;
        int status = SAMP_OK;
        own_settings *s = samp_settings_init();
        sets(s, bad[i][0], bad[i][1]);
        assert_status(samp_check_params(samp_settings_params(s), &field), SAMP_E_RANGE);
        assert_text(field, bad[i][0]);
        samp_free(samp_chain_from_params(samp_settings_params(s), &status));
        assert_status(status, SAMP_E_RANGE);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
