/* test_params.c - samp_params: the defaults, every field with every bad value by its name, the order as text
   and as letters, and the chain that comes out: what is in it, and that it draws what one built by hand draws. */
#define SAMPLING_GRAMMAR
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { N = 80 };

/* ------------------------------------------------------------------------------------------------ helpers */

static void row(float *logits, uint64_t i) { test_row(logits, N, 3000 + i, 2.0, i % N); }

/* the names of a chain's members, joined by ' ' */
static const char *members(const samp_sampler *chain)
{
    static char text[512];
    size_t at = 0;
    text[0] = 0;
    for (int32_t i = 0; i < samp_chain_n(chain); i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "",
                               samp_name(samp_chain_get(chain, i)));
    return text;
}

static samp_sampler *build(const samp_params *params)
{
    int status = 1;
    samp_sampler *chain = samp_chain_from_params(params, &status);
    const char *field = NULL;
    assert_non_null(chain);
    if (status != SAMP_OK) {
        samp_status(chain, &field);
        test_fail(__FILE__, __LINE__, "samp_chain_from_params: %s, %s", test_status_name(status),
                  field ? field : "(no field)");
    }
    assert_ok(samp_status(chain, NULL));
    assert_ok(samp_check_params(params, NULL));
    return chain;
}

static void assert_members_(const samp_params *params, const char *want, int line)
{
    own_sampler *chain = build(params);
    test_text_(members(chain), want, "the chain's members", __FILE__, line);
}
#define assert_members(params, want) assert_members_((params), (want), __LINE__)

/* the two draw the same tokens; frees both */
static void same_draws_(samp_sampler *a, samp_sampler *b, int line)
{
    for (uint64_t i = 0; i < 60; i++) {
        float logits[N];
        row(logits, i);
        samp_token x = samp_sample(a, logits, N), y = samp_sample(b, logits, N);
        if (x != y || x < 0) test_fail(__FILE__, line, "step %d: token %d, by hand %d", (int)i, (int)x, (int)y);
    }
    samp_free(a);
    samp_free(b);
}
#define same_draws(a, b) same_draws_((a), (b), __LINE__)

static const char *letter_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char letters[N + 1] =
        "\n:\"*efghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;!?()[]{}<>+-=/";
    (void)vocab;
    *n_bytes = 1;
    return letters + token;
}

static const samp_vocab one_letter = { N, letter_bytes, NULL, NULL, NULL, 0, -1, -1 };

/* ----------------------------------------------------------------------------------------------- defaults */

TEST(test_defaults)
{
    samp_params p = samp_default_params();
    const samp_params want = {
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .top_h = 1.0f,
        .typ_p = 1.0f,
        .tfs_z = 1.0f,
        .top_n_sigma = -1.0f,
        .min_k = -1.0f,
        .xtc_threshold = 0.1f,
        .temp = 0.8f,
        .dynatemp_exponent = 1.0f,
        .smoothing_curve = 1.0f,
        .penalty_last_n = 64,
        .penalty_repeat = 1.0f,
        .dry_base = 1.75f,
        .dry_allowed_length = 2,
        .dry_penalty_last_n = -1,
        .mirostat_tau = 5.0f,
        .mirostat_eta = 0.1f,
        .adaptive_target = -1.0f,
        .adaptive_decay = 0.9f,
        .rng = SAMP_RNG_PHILOX,
        .n_ctx_train = 4096,
    }; /* all others are 0 or NULL */
    const size_t hole = offsetof(samp_params, adaptive_decay) + 4, on = offsetof(samp_params, logit_bias);
    const size_t end = offsetof(samp_params, n_ctx_train) + 4;
    assert_memory_equal(&p, &want, hole);
    assert_memory_equal((const char *)&p + on, (const char *)&want + on, end - on);
    assert_null(p.grammar);
    const char *field = "untouched";
    assert_ok(samp_check_params(&p, &field));
}

/* The default chain is the one of the contract, sampler by sampler. */
TEST(test_default_chain)
{
    samp_params p = samp_default_params();
    assert_members(&p, "logit-bias penalties dry top-n-sigma top-k typical top-p min-p xtc temp-ext dist");
    p.seed = 99;
    samp_sampler *hand = new_chain(samp_init_top_k(40), samp_init_top_p(0.95f, 0), samp_init_min_p(0.05f, 0),
                                   samp_init_temp(0.8f), samp_init_dist(99));
    own_sampler *chain = build(&p);
    assert_u64(samp_get_seed(chain), 99);
    same_draws(chain, hand);
    assert_non_null(chain = samp_chain_from_params(&p, NULL)); /* status may be NULL */
}

/* -------------------------------------------------------------------------------- every field, bad values */

static void bad_(const samp_params *p, int status, const char *name, const char *what, int line)
{
    const char *field = "unset";
    int got = 1;
    float logits[N];
    test_status_(samp_check_params(p, &field), status, what, __FILE__, line);
    test_text_(field, name, what, __FILE__, line);
    test_status_(samp_check_params(p, NULL), status, what, __FILE__, line);
    own_sampler *chain = samp_chain_from_params(p, &got);
    if (!chain) test_fail(__FILE__, line, "%s: no chain", what);
    test_status_(got, status, what, __FILE__, line);
    field = "unset";
    test_status_(samp_status(chain, &field), status, what, __FILE__, line);
    test_text_(field, name, what, __FILE__, line);
    row(logits, 0);
    test_status_(samp_sample(chain, logits, N), status, what, __FILE__, line);
}
#define bad(member, value, status) \
    do { \
        samp_params p_ = samp_default_params(); \
        p_.member = (value); \
        bad_(&p_, (status), #member, #member " = " #value, __LINE__); \
    } while (0)
#define good(member, value) \
    do { \
        samp_params p_ = samp_default_params(); \
        p_.member = (value); \
        test_status_(samp_check_params(&p_, NULL), SAMP_OK, #member " = " #value, __FILE__, __LINE__); \
        samp_free(build(&p_)); \
    } while (0)
/* test_ranges.c tries the ends of each member's range and what lies beyond. These are no range of the table's. */
TEST(test_bad_fields)
{
    const float least = 9.5367431640625e-7f; /* 2^-20 */
    bad(temp, 1e-45f, SAMP_E_RANGE);
    bad(temp, nextafterf(least, 0), SAMP_E_RANGE);
    good(temp, least);
    good(top_k, INT32_MIN);
    good(top_k, INT32_MAX);
    good(min_keep, SIZE_MAX);
    good(min_k, -FLT_MAX);
    good(penalty_freq, -2.0f);
    good(penalty_present, -2.0f);
    bad(mirostat_tau, 3e38f, SAMP_E_RANGE); /* mu begins with twice that */
    good(mirostat_tau, FLT_MAX / 2);
    bad(rng, (samp_rng_kind)2, SAMP_E_RANGE);
    bad(rng, (samp_rng_kind)-1, SAMP_E_RANGE);
    good(rng, SAMP_RNG_MT19937);
}

/* fields that need others */
TEST(test_bad_pairs)
{
    samp_vocab vocab = one_letter;
    const samp_logit_bias bias[2] = { { 2, 1.0f }, { 70, 2.0f } };
    samp_params p = samp_default_params();
    p.n_logit_bias = 2;
    p.n_vocab = N;
    bad_(&p, SAMP_E_NULL, "logit_bias", "n_logit_bias without an array", __LINE__);
    p.logit_bias = bias;
    samp_free(build(&p));
    p.n_vocab = 70;
    bad_(&p, SAMP_E_RANGE, "logit_bias", "a biased token outside the vocabulary", __LINE__);
    p.n_vocab = 0;
    bad_(&p, SAMP_E_RANGE, "n_vocab", "logit_bias without n_vocab", __LINE__);

    p = samp_default_params();
    p.mirostat = 1;
    bad_(&p, SAMP_E_RANGE, "n_vocab", "mirostat 1 without n_vocab", __LINE__);
    p.n_vocab = N;
    samp_free(build(&p));

    p = samp_default_params(); /* dry on, with the default breakers */
    p.dry_multiplier = 0.8f;
    bad_(&p, SAMP_E_NULL, "vocab", "dry without a vocabulary", __LINE__);
    p.vocab = &vocab;
    samp_free(build(&p));
    static const char *const none[] = { NULL };
    p.vocab = NULL;
    p.dry_breakers = none; /* no breakers, no vocabulary needed */
    samp_free(build(&p));
    p.dry_breakers = NULL;
    p.dry_penalty_last_n = 0; /* off */
    samp_free(build(&p));
    vocab.token_bytes = NULL;
    p = samp_default_params();
    p.dry_multiplier = 0.8f;
    p.vocab = &vocab;
    bad_(&p, SAMP_E_NULL, "vocab", "a vocabulary without token_bytes", __LINE__);
}

/* NULL params, an object all the same */
TEST(test_null_params)
{
    int status = 1;
    own_sampler *chain = samp_chain_from_params(NULL, &status);
    float logits[N];
    row(logits, 0);
    assert_status(status, SAMP_E_NULL);
    assert_non_null(chain);
    assert_status(samp_status(chain, NULL), SAMP_E_NULL);
    assert_status(samp_sample(chain, logits, N), SAMP_E_NULL);
}

/* a zeroed struct is not a valid one */
TEST(test_zeroed_params)
{
    samp_params p;
    const char *field = NULL;
    memset(&p, 0, sizeof p);
    assert_status(samp_check_params(&p, &field), SAMP_E_RANGE);
    assert_non_null(field);
}

/* -------------------------------------------------------------------------------------------------- order */

#define ALL_NAMES "logit-bias penalties dry top-n-sigma top-k typical top-p min-p xtc temp-ext dist"

static void ordered_(const char *order, const char *want, int line)
{
    samp_params p = samp_default_params();
    p.order = order;
    assert_members_(&p, want, line);
}
#define ordered(order, want) ordered_((order), (want), __LINE__)

TEST(test_order)
{
    ordered(NULL, ALL_NAMES);
    ordered("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", ALL_NAMES);
    ordered("edskypmxt", ALL_NAMES);
    ordered("", "logit-bias dist");
    ordered("temperature", "logit-bias temp-ext dist");
    ordered("t", "logit-bias temp-ext dist");
    ordered("top_k", "logit-bias top-k dist");
    ordered("k", "logit-bias top-k dist");
    ordered("tfs_z", "logit-bias tail-free dist");
    ordered("f", "logit-bias tail-free dist");
    ordered("top_a", "logit-bias top-a dist");
    ordered("a", "logit-bias top-a dist");
    ordered("p_less;epsilon_cutoff;eta_cutoff", "logit-bias p-less epsilon eta dist");
    ordered("eta;p-less;epsilon", "logit-bias eta p-less epsilon dist");
    ordered("lch", "logit-bias p-less epsilon eta dist");
    ordered("p_less_norm;p_less", "logit-bias p-less-norm p-less dist");
    ordered("p-less-norm;top_k", "logit-bias p-less-norm top-k dist");
    ordered("lo", "logit-bias p-less p-less-norm dist");
    ordered("min_k;top_h", "logit-bias min-k top-h dist");
    ordered("top-h;min-k", "logit-bias top-h min-k dist");
    ordered("gb", "logit-bias min-k top-h dist");
    ordered("log_softmax;penalties", "logit-bias log-softmax penalties dist");
    ordered("ne", "logit-bias log-softmax penalties dist");
    ordered("log-softmax;log_softmax", "logit-bias log-softmax log-softmax dist");
    ordered("smoothing_factor;top_k", "logit-bias smoothing top-k dist");
    ordered("kq", "logit-bias top-k smoothing dist");
    ordered("smoothing", "logit-bias smoothing dist");
    ordered("top-a;top_k", "logit-bias top-a top-k dist");
    ordered("min_p;temperature;top_p", "logit-bias min-p temp-ext top-p dist");
    ordered("mtp", "logit-bias min-p temp-ext top-p dist");
    ordered("temperature;temperature", "logit-bias temp-ext temp-ext dist");
    ordered("top_k;top_k;top_k", "logit-bias top-k top-k top-k dist");
    ordered("*", "logit-bias penalties dry top-n-sigma top-k tail-free typical top-p min-p top-a p-less p-less-norm "
                 "epsilon eta top-h min-k xtc temp-ext smoothing dist");
    ordered("penalties;dry;xtc;top_k;tfs_z;typical;top_p;min_p;*;top_a;p_less;p_less_norm;eta;epsilon;top_k",
            "logit-bias penalties dry xtc top-k tail-free typical top-p min-p top-n-sigma top-h min-k temp-ext "
            "smoothing top-a p-less p-less-norm eta epsilon top-k dist");
    ordered(
        "*;log_softmax;temperature;penalties;dry;top_n_sigma;top_k;tfs_z;typ_p;top_p;min_p;top_a;p_less;p_less_norm;"
        "epsilon;eta;top_h;min_k;xtc;smoothing",
        "logit-bias log-softmax temp-ext penalties dry top-n-sigma top-k tail-free typical top-p min-p top-a p-less "
        "p-less-norm epsilon eta top-h min-k xtc smoothing dist");
    ordered("txmpyfksde",
            "logit-bias temp-ext xtc min-p top-p typical tail-free top-k top-n-sigma dry penalties dist");
    ordered("xtc;tfs_z;typ_p;dry", "logit-bias xtc tail-free typical dry dist");
}

/* In the default order those that are mostly off have their place only while they are on. */
TEST(test_default_order_of_what_is_on)
{
    samp_params p = samp_default_params();
    p.tfs_z = 0.9f;
    p.top_a = 0.1f;
    p.p_less = 1.0f;
    p.p_less_norm = 1.0f;
    p.epsilon_cutoff = 3e-4f;
    p.eta_cutoff = 2e-3f;
    p.top_h = 0.4f;
    p.min_k = 3.0f;
    p.smoothing_factor = 0.3f;
    assert_members(
        &p, "logit-bias penalties dry top-n-sigma top-k tail-free typical top-p min-p top-a p-less p-less-norm "
            "epsilon eta top-h min-k xtc temp-ext smoothing dist");
}

TEST(test_bad_orders)
{
    static const char *const orders[] = {
        "top_q",        "temperature;nonsense",
        "kz",           "K",
        "top_k;",       ";top_k",
        "top_k;;min_p", ";",
        " top_k",       "top_k min_p",
        "top_k,min_p",  "dist",
        "logit_bias",   "greedy",
        "TOP_K",        "top_k;min",
        "k;m",          "\xff",
        "mirostat",     "1",
        "nonsense",     "kk",
        "topk",         "top-k-",
        "minp",         "top_k;*;*",
        "*;",           "**",
        "k*",           "temperature;*;typ",
    };
    for (size_t i = 0; i < TEST_COUNT(orders); i++) {
        samp_params p = samp_default_params();
        p.order = orders[i];
        bad_(&p, SAMP_E_RANGE, "order", orders[i], __LINE__);
    }
}

/* tail_free comes behind top_k if it is on */
TEST(test_tfs)
{
    samp_params p = samp_default_params();
    p.tfs_z = 0.9f;
    assert_members(&p, "logit-bias penalties dry top-n-sigma top-k tail-free typical top-p min-p xtc temp-ext dist");
    p.order = "top_k"; /* a written order is followed */
    assert_members(&p, "logit-bias top-k dist");
    p.order = "kf";
    p.seed = 3;
    samp_sampler *hand = new_chain(samp_init_top_k(40), samp_init_tail_free(0.9f, 0), samp_init_dist(3));
    same_draws(build(&p), hand);
}

/* ------------------------------------------------------------------------------------------- what selects */

TEST(test_greedy)
{
    samp_params p = samp_default_params();
    p.temp = 0;
    own_sampler *chain = build(&p);
    assert_text(samp_name(samp_chain_get(chain, samp_chain_n(chain) - 1)), "greedy");
    for (uint64_t i = 0; i < 20; i++) {
        samp_token_data data[N];
        float logits[N];
        row(logits, i);
        samp_token_data_array cur = test_array(data, logits, N);
        test_sort(&cur);
        assert_num(samp_sample(chain, logits, N), data[0].id);
    }
    assert_u64(samp_get_position(chain), 0);
    samp_free(chain);
    p.dynatemp_range = 0.5f; /* temp 0 +- 0.5 is greedy all the same */
    p.order = "t";
    chain = build(&p);
    assert_text(samp_name(samp_chain_get(chain, samp_chain_n(chain) - 1)), "greedy");
}

TEST(test_mirostat)
{
    samp_params p = samp_default_params();
    p.mirostat = 2;
    p.seed = 8;
    p.temp = 0.9f;
    p.mirostat_tau = 3;
    p.mirostat_eta = 0.25f;
    p.top_k = 1; /* replaced with the rest of truncation */
    p.penalty_repeat = 3;
    assert_members(&p, "logit-bias temp mirostat-v2");
    samp_sampler *hand = new_chain(samp_init_temp(0.9f), samp_init_mirostat_v2(8, 3, 0.25f));
    same_draws(build(&p), hand);
    p.mirostat = 1;
    p.n_vocab = N;
    assert_members(&p, "logit-bias temp mirostat");
    hand = new_chain(samp_init_temp(0.9f), samp_init_mirostat(N, 8, 3, 0.25f, 100));
    same_draws(build(&p), hand);
}

TEST(test_adaptive)
{
    samp_params p = samp_default_params();
    p.adaptive_target = 0.3f;
    p.adaptive_decay = 0.75f;
    p.seed = 9;
    assert_members(&p, "logit-bias penalties dry top-n-sigma top-k typical top-p min-p xtc temp-ext adaptive-p");
    p.order = "";
    samp_sampler *hand = samp_chain_init();
    assert_ok(samp_chain_add(hand, samp_init_adaptive_p(0.3f, 0.75f, 9)));
    same_draws(build(&p), hand);
    p.adaptive_target = 0; /* on */
    assert_members(&p, "logit-bias adaptive-p");
}

/* ------------------------------------------------------------------------------ every value arrives in it */

/* One sampler at a time, of its settings by name, against the one made by hand. */
TEST(test_each_setting_by_hand)
{
    static const char *const usual[] = { "\n", ":", "\"", "*" }; /* tokens 0 to 3 of the letters */
    static const samp_logit_bias bias[2] = { { 7, 4.0f }, { 8, -INFINITY } };
    samp_vocab vocab = one_letter;
    for (int kind = 0; kind < 2; kind++) {
        const struct {
            const char *order, *settings; /* name value name value ... */
            samp_sampler *hand;
        } rows[] = {
            { "k", "top_k 5", samp_init_top_k(5) },
            { "p", "top_p 0.3", samp_init_top_p(0.3f, 3) },
            { "m", "min_p 0.7", samp_init_min_p(0.7f, 3) },
            { "y", "typ_p 0.2", samp_init_typical(0.2f, 3) },
            { "f", "tfs_z 0.4", samp_init_tail_free(0.4f, 3) },
            { "s", "top_n_sigma 1.1", samp_init_top_n_sigma(1.1f) },
            { "x", "xtc_probability 0.5 xtc_threshold 0.05", samp_init_xtc(0.5f, 0.05f, 3, 1234) },
            { "t", "temp 1.7", samp_init_temp(1.7f) },
            { "t", "temp 1.2 dynatemp_range 0.7 dynatemp_exponent 2", samp_init_temp_ext(1.2f, 0.7f, 2) },
            { "e", "penalty_last_n 5 penalty_repeat 1.5 penalty_freq 0.5 penalty_present 0.25",
              samp_init_penalties(5, 1.5f, 0.5f, 0.25f) },
            { "e", "penalty_last_n -1 n_ctx_train 7 penalty_present 3", samp_init_penalties(7, 1, 0, 3) },
            { "d", "dry_multiplier 2 dry_base 1.25 dry_allowed_length 1 dry_penalty_last_n 20 dry_breakers none",
              samp_init_dry(NULL, 4096, 2, 1.25f, 1, 20, NULL, 0) },
            { "d", "dry_multiplier 2 dry_allowed_length 1 n_ctx_train 6 dry_breakers none",
              samp_init_dry(NULL, 6, 2, 1.75f, 1, -1, NULL, 0) },
            { "d", "dry_multiplier 20 dry_allowed_length 1",
              samp_init_dry(&vocab, 4096, 20, 1.75f, 1, -1, usual, 4) },
            { "", "logit_bias 7+4,8-inf n_vocab 80", samp_init_logit_bias(N, 2, bias) },
        };
        for (size_t i = 0; i < TEST_COUNT(rows); i++) {
            own_settings *settings = samp_settings_init();
            const char *at = rows[i].settings;
            char name[32], value[32];
            for (int n; sscanf(at, "%31s %31s%n", name, value, &n) == 2; at += n)
                assert_ok(samp_settings_set(settings, name, value, NULL));
            samp_params p = *samp_settings_params(settings);
            p.order = rows[i].order;
            p.seed = 1234;
            p.rng = (samp_rng_kind)kind;
            p.min_keep = 3;
            p.vocab = &vocab;
            samp_sampler *hand = new_chain(rows[i].hand, samp_init_dist(1234));
            assert_ok(samp_set_rng(hand, (samp_rng_kind)kind));
            same_draws(build(&p), hand);
        }
    }
}

/* Breakers from the parameters are heeded: the same history is penalised without them, not with them. */
TEST(test_dry_breakers)
{
    samp_vocab vocab = one_letter;
    static const char *const e[] = { "e", NULL }, *const none[] = { NULL };
    static const samp_token history[] = { 10, 11, 12, 4, 13, 10, 11, 12 }; /* 4 is "e" */
    for (int with = 0; with < 3; with++) {
        samp_params p = samp_default_params();
        float logits[N] = { 0 };
        p.order = "d";
        p.dry_multiplier = 5;
        p.dry_allowed_length = 2;
        p.vocab = &vocab;
        p.dry_breakers = with == 2 ? e : none;
        if (with == 1) p.dry_breakers = NULL; /* the usual ones: no "e" among them */
        own_sampler *chain = build(&p);
        for (size_t i = 0; i < 3; i++) assert_ok(samp_accept(chain, history[i]));
        if (with == 2) assert_ok(samp_accept(chain, 13));
        for (size_t i = 3; i < TEST_COUNT(history); i++) assert_ok(samp_accept(chain, history[i]));
        samp_token_data data[N];
        samp_token_data_array cur = test_array(data, logits, N);
        assert_ok(samp_apply(samp_chain_get(chain, 1), &cur));
        /* after 10 11 12 came 4 (the breaker itself never is the end of a match over it) or 13 */
        assert_same(test_find(&cur, with == 2 ? 13 : 4)->logit, -5.0f * 1.75f);
    }
}

/* Nothing of the parameters is needed after the call (a vocabulary is). */
TEST(test_params_are_copied)
{
    samp_params p = samp_default_params(), q;
    samp_logit_bias *bias = (samp_logit_bias *)malloc(2 * sizeof *bias), kept[2] = { { 4, 3.0f }, { 9, -INFINITY } };
    char *order = (char *)malloc(16), *breaker = (char *)malloc(8);
    const char **breakers = (const char **)malloc(2 * sizeof *breakers);
    samp_vocab vocab = one_letter;
    static const char *const kept_breakers[] = { "f", NULL };
    memcpy(bias, kept, sizeof kept);
    strcpy(order, "dkt");
    strcpy(breaker, "f");
    breakers[0] = breaker;
    breakers[1] = NULL;
    p.logit_bias = bias;
    p.n_logit_bias = 2;
    p.n_vocab = N;
    p.order = order;
    p.dry_breakers = breakers;
    p.dry_multiplier = 4;
    p.dry_allowed_length = 0;
    p.vocab = &vocab;
    q = p;
    q.logit_bias = kept;
    q.order = "dkt";
    q.dry_breakers = kept_breakers;
    samp_sampler *chain = build(&p);
    memset(bias, 0x7e, 2 * sizeof *bias);
    memset(order, 'z', 15);
    memset(breaker, 'z', 7);
    free(bias);
    free(order);
    free(breaker);
    free((void *)breakers);
    memset(&p, 0x7e, sizeof p);
    same_draws(chain, build(&q));
}

/* ------------------------------------------------------------------------------------ named orders, updating */

TEST(test_named_orders)
{
    samp_params p = samp_default_params();
    p.temp = 0.5f;
    p.penalty_repeat = 1.3f;
    samp_sampler *usual = build(&p);
    p.order = SAMP_ORDER_LLAMA;
    same_draws(build(&p), usual);
    p.order = SAMP_ORDER_CANONICAL;
    p.seed = 3;
    assert_members(&p, "logit-bias penalties dry temp-ext top-n-sigma top-k typical top-p min-p xtc dist");
}

/* Each disabled value alone leaves the greedy tokens as they are. */
TEST(test_disabled_values)
{
    for (int which = 0; which < 14; which++) {
        samp_params p = samp_default_params(), q;
        p.top_k = 0, p.top_p = 1, p.min_p = 0, p.temp = 0;
        q = p;
        if (which == 0) q.top_k = -5;
        if (which == 1) q.top_k = 0;
        if (which == 2) q.top_p = 1;
        if (which == 3) q.min_p = 0;
        if (which == 4) q.typ_p = 1;
        if (which == 5) q.tfs_z = 1;
        if (which == 6) q.top_n_sigma = 0;
        if (which == 7) q.xtc_probability = 0;
        if (which == 8) q.penalty_repeat = 1;
        if (which == 9) q.penalty_last_n = 0, q.penalty_repeat = 2;
        if (which == 10) q.dry_multiplier = 0;
        if (which == 11) q.dynatemp_range = 0;
        if (which == 12) q.logit_bias = NULL, q.n_logit_bias = 0;
        if (which == 13) q.order = SAMP_ORDER_CANONICAL;
        own_sampler *a = build(&p), *b = build(&q);
        for (uint64_t i = 0; i < 60; i++) {
            float logits[N];
            size_t best = 0;
            row(logits, i);
            for (size_t k = 1; k < N; k++)
                if (logits[k] > logits[best]) best = k;
            assert_int_equal(samp_sample(a, logits, N), best);
            assert_int_equal(samp_sample(b, logits, N), best);
        }
    }
}

static const char *const no_breakers[] = { NULL };

static samp_params random_params(source *rng)
{
    samp_params p = samp_default_params();
    p.seed = choose(rng, 8);
    p.dry_breakers = no_breakers;
    p.n_vocab = N;
    p.top_k = (int32_t)below(rng, 60);
    p.temp = below(rng, 5) ? 0.3f + (float)below(rng, 10) / 5.0f : 0.0f;
    p.penalty_last_n = (int32_t)below(rng, 40);
    if (below(rng, 2)) p.penalty_repeat = 1.5f;
    if (below(rng, 2)) p.penalty_freq = 0.5f;
    if (below(rng, 3) == 0) p.dry_multiplier = 2, p.dry_penalty_last_n = (int32_t)below(rng, 30);
    if (below(rng, 3) == 0) p.xtc_probability = 0.5f;
    if (below(rng, 4) == 0) p.mirostat = 1 + (int32_t)below(rng, 2);
    if (below(rng, 4) == 0) p.adaptive_target = 0.4f;
    if (below(rng, 3) == 0) p.rng = SAMP_RNG_MT19937;
    if (below(rng, 2)) p.order = SAMP_ORDER_CANONICAL;
    return p;
}

static void draw_n(samp_sampler *chain, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++) {
        float logits[N];
        row(logits, i);
        assert_true(samp_sample(chain, logits, N) >= 0);
    }
}

/* The same parameters again, in the middle: nothing happens. */
TEST(test_update_same)
{
    source rng = source_stream(11);
    for (int i = 0; i < (quickest() ? 60 : 400); i++) {
        samp_params p = random_params(&rng);
        samp_sampler *chain = build(&p);
        draw_n(chain, 0, 1 + below(&rng, 50));
        samp_sampler *twin = samp_clone(chain);
        assert_ok(samp_chain_update(chain, &p));
        assert_int_equal(samp_get_position(chain), samp_get_position(twin));
        same_draws(chain, twin);
    }
}

/* Other parameters: as a chain that had them from the start and was told of the same tokens. */
TEST(test_update_other)
{
    source rng = source_stream(12);
    for (int i = 0; i < (quickest() ? 60 : 400); i++) {
        samp_params p = random_params(&rng), q = random_params(&rng);
        samp_token seen[64];
        p.penalty_last_n = q.penalty_last_n = 50; /* all that was seen */
        p.penalty_repeat = 1.1f;
        p.dry_multiplier = q.dry_multiplier = 1;
        p.dry_penalty_last_n = q.dry_penalty_last_n = 50;
        p.mirostat = q.mirostat = 0; /* mu and the averages are kept, so these would differ */
        p.adaptive_target = q.adaptive_target = -1;
        p.rng = q.rng = SAMP_RNG_PHILOX;
        if (i % 2) p.penalty_repeat = 1, p.penalty_freq = 0, p.dry_multiplier = 0; /* off: from samp_prev */
        samp_sampler *chain = build(&p), *other = build(&q);
        draw_n(chain, 0, 1 + below(&rng, 50));
        size_t n = samp_prev(chain, seen, 64);
        for (size_t k = 0; k < n; k++) assert_ok(samp_accept(other, seen[k]));
        assert_ok(samp_set_position(other, samp_get_position(chain)));
        assert_ok(samp_chain_update(chain, &q));
        same_draws(chain, other);
    }
}

static float mu_of(samp_sampler *chain)
{
    samp_sampler *last = samp_chain_get(chain, samp_chain_n(chain) - 1);
    return inside_mu(last);
}

TEST(test_update_learnt)
{
    samp_params p = samp_default_params();
    p.mirostat = 2;
    own_sampler *chain = build(&p);
    draw_n(chain, 0, 20);
    float mu = mu_of(chain);
    assert_true(mu != 2 * p.mirostat_tau);
    p.mirostat_eta = 0.5f;
    assert_ok(samp_chain_update(chain, &p));
    assert_true(mu_of(chain) == mu);
    p.mirostat = 1, p.n_vocab = N; /* another sampler: it begins */
    assert_ok(samp_chain_update(chain, &p));
    assert_true(mu_of(chain) == 2 * p.mirostat_tau);
}

/* xtc off for a while: its mt19937 waits. */
TEST(test_update_off_and_on)
{
    samp_params p = samp_default_params(), off;
    p.rng = SAMP_RNG_MT19937;
    p.xtc_probability = 0.5f;
    p.xtc_threshold = 0.02f;
    samp_sampler *chain = build(&p);
    draw_n(chain, 0, 20);
    samp_sampler *twin = samp_clone(chain);
    off = p, off.xtc_probability = 0;
    assert_ok(samp_chain_update(chain, &off));
    assert_ok(samp_chain_update(chain, &p));
    same_draws(chain, twin);
}

/* Two of a kind: each goes on where it was itself. */
TEST(test_update_two_of_a_kind)
{
    samp_params p = samp_default_params();
    p.rng = SAMP_RNG_MT19937;
    p.order = "xtc;top_k;xtc";
    p.top_k = 1; /* so that the second xtc never draws */
    p.xtc_probability = 0.5f;
    p.xtc_threshold = 0.02f;
    own_sampler *chain = build(&p);
    draw_n(chain, 0, 30);
    size_t size = samp_state_size(chain);
    char *before = (char *)malloc(size), *after = (char *)malloc(size);
    assert_ok(samp_state_save(chain, before, size));
    assert_ok(samp_chain_update(chain, &p));
    assert_ok(samp_state_save(chain, after, size));
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

/* A chain in a chain keeps that one's random source, whatever its new parameters say. */
TEST(test_update_nested)
{
    for (int rng = 0; rng < 2; rng++) {
        samp_params p = samp_default_params();
        samp_sampler *outer = samp_chain_init(), *chain = build(&p), *other = samp_chain_init();
        assert_ok(samp_set_rng(outer, (samp_rng_kind)rng));
        assert_ok(samp_chain_add(outer, chain));
        p.rng = (samp_rng_kind)!rng;
        assert_ok(samp_chain_update(chain, &p));
        assert_ok(samp_set_rng(other, (samp_rng_kind)rng));
        assert_ok(samp_chain_add(other, build(&p)));
        same_draws(outer, other);
    }
}

static int n_asked; /* how often the vocabulary was asked for a token's text */

static const char *asked_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char *const text[] = { "a", "b", "ab", "abc", "c", "bc", "d", "cd" };
    (void)vocab;
    n_asked++;
    *n_bytes = token < 8 ? strlen(text[token]) : 1;
    return token < 8 ? text[token] : "z";
}

static const char *other_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    return asked_bytes(vocab, token, n);
}
static int32_t own_tokens(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    (void)vocab, (void)text, (void)n, (void)n_max;
    *out = 0;
    return 1;
}

/* A vocabulary that the user has changed where it stands: what is known of the breakers is asked for again. */
TEST(test_update_vocabulary)
{
    static const char *const breakers[] = { "ab", "c", NULL };
    for (int what = 0; what < 4; what++) {
        samp_vocab vocab = one_letter;
        samp_params p = samp_default_params();
        vocab.token_bytes = asked_bytes;
        p.vocab = &vocab;
        p.dry_breakers = breakers;
        p.dry_multiplier = 3;
        own_sampler *chain = build(&p);
        n_asked = 0;
        if (what == 1) vocab.n_vocab--;
        if (what == 2) vocab.token_bytes = other_bytes;
        if (what == 3) vocab.tokenize = own_tokens;
        assert_ok(samp_chain_update(chain, &p));
        assert_num(n_asked > 0, what > 0);
    }
}

/* From a chain without an average to one with it, and what infill's vocabulary must have. */
TEST(test_update_adaptive)
{
    samp_params p = samp_default_params(), q = p;
    p.mirostat = 2;
    q.adaptive_target = 0.5f;
    samp_sampler *chain = build(&p), *other = build(&q);
    assert_ok(samp_chain_update(chain, &q));
    same_draws(chain, other);
    samp_vocab vocab = one_letter;
    vocab.eog = NULL;
    for (int n = 0; n < 2; n++) {
        vocab.n_eog = n;
        own_sampler *s = samp_init_infill(&vocab);
        assert_true((samp_status(s, NULL) == SAMP_E_NULL) == (n > 0));
    }
}

/* Breakers are looked for in the vocabulary only if they are needed and not known: not of a dry that is off, nor again
   with an update that leaves them as they are. */
TEST(test_update_breakers)
{
    static const char *const sets[][4] = { { "ab", "cd", NULL, NULL },
                                           { "ab", "cde", NULL, NULL },
                                           { "ab", NULL, NULL, NULL },
                                           { "ab", "c", NULL, NULL },
                                           { "cd", "ab", NULL, NULL },
                                           { NULL, NULL, NULL, NULL },
                                           { "0123456789012345678901234567890123456789a", NULL, NULL, NULL },
                                           { "0123456789012345678901234567890123456789b", NULL, NULL, NULL },
                                           { "012345678901234567890123456789012345678", NULL, NULL, NULL } };
    samp_vocab vocab = one_letter, same_vocab;
    vocab.token_bytes = asked_bytes;
    same_vocab = vocab;
    for (size_t i = 0; i < TEST_COUNT(sets); i++)
        for (size_t j = 0; j < TEST_COUNT(sets); j++)
            for (int on = 0; on < 4; on++) { /* bit 0: before, bit 1: after the update */
                samp_params p = samp_default_params();
                char copy[4][64] = { "" };
                const char *breakers[4] = { NULL };
                bool same = i == j || (i == 6 && j == 7) || (i == 7 && j == 6); /* 40 bytes count */
                p.vocab = &vocab;
                p.dry_breakers = sets[i];
                p.dry_multiplier = on & 1 ? 3 : 0;
                p.dry_allowed_length = 1;
                p.order = "dry;top_k;dry";
                n_asked = 0;
                samp_sampler *chain = build(&p);
                assert_num(n_asked > 0, (on & 1) && sets[i][0]);
                for (samp_token k = 0; k < 60; k++) assert_ok(samp_accept(chain, k * k % 11 % 8));
                for (int k = 0; sets[j][k]; k++) breakers[k] = strcpy(copy[k], sets[j][k]); /* other pointers */
                p.dry_breakers = breakers;
                p.dry_multiplier = on & 2 ? 3 : 0;
                n_asked = 0;
                assert_ok(samp_chain_update(chain, &p));
                memset(copy, '?', sizeof copy);
                assert_num(n_asked > 0, (on & 2) && sets[j][0] && !((on & 1) && same));
                p.dry_breakers = sets[j];
                samp_sampler *other = build(&p);
                for (samp_token k = 0; k < 60; k++) assert_ok(samp_accept(other, k * k % 11 % 8));
                n_asked = 0;
                p.vocab = &same_vocab; /* another one may have other tokens */
                if (on == 3) assert_ok(samp_chain_update(chain, &p));
                assert_num(n_asked > 0, on == 3 && sets[j][0]);
                n_asked = 0;
                same_vocab.user = copy; /* and so may this one now */
                if (on == 3) assert_ok(samp_chain_update(chain, &p));
                assert_num(n_asked > 0, on == 3 && sets[j][0]);
                same_vocab.user = NULL;
                same_draws(chain, other);
            }
}

static const char *always_a(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    (void)token;
    *n_bytes = 1;
    return "a";
}

/* All breakers are looked for in few walks over the vocabulary. Too many, or too many tokens with one, are refused. */
TEST(test_many_breakers)
{
    enum { MOST = 1024, LONG = 30 };
    static char text[MOST + 1][LONG + 1];
    static const char *breakers[MOST + 2];
    const char *field = NULL;
    samp_vocab vocab = one_letter;
    samp_params p = samp_default_params();
    int status;
    vocab.token_bytes = asked_bytes;
    p.vocab = &vocab;
    p.dry_multiplier = 1;
    p.dry_breakers = breakers;
    for (int b = 0; b <= MOST; b++) {
        for (int k = 0; k < LONG; k++) text[b][k] = (char)('a' + b * (k + 1) % 23);
        breakers[b] = text[b];
    }
    bad_(&p, SAMP_E_RANGE, "dry_breakers", "1025 breakers", __LINE__);
    breakers[MOST] = NULL;
    n_asked = 0;
    samp_free(build(&p));
    assert_in_range(n_asked, N, (2 + LONG) * N);
    vocab.token_bytes = always_a;
    for (int b = 0; b < MOST; b++) breakers[b] = "a";
    for (vocab.n_vocab = MOST; vocab.n_vocab <= MOST + 1; vocab.n_vocab++) {
        const int want = vocab.n_vocab == MOST ? SAMP_OK : SAMP_E_RANGE;
        samp_params off = samp_default_params();
        own_sampler *chain = samp_chain_from_params(&p, &status), *in_use = build(&off);
        assert_num(status, want);
        assert_num(samp_status(chain, &field), want);
        if (want) assert_string_equal(field, "dry_breakers");
        assert_ok(samp_check_params(&p, NULL));
        assert_num(samp_chain_update(in_use, &p), want);
        assert_ok(samp_status(in_use, NULL));
    }
}

/* The cost of an update is that of the members, not of their pairs. */
TEST(test_update_cost)
{
    enum { LONG = 20000 };
    /* without state or p that would need a row */
    static const char *const names[] = {
        "top_n_sigma", "top_k", "temp", "min_p", "top_p", "typ_p", "tfs_z", "top_a"
    };
    char *order = (char *)malloc(12 * LONG);
    source rng = source_stream(14);
    samp_params p = samp_default_params();
    p.order = order;
    for (int all = 0; all < 2; all++) {
        size_t at = 0, middle = 0;
        for (int i = 0; i < LONG; i++) {
            if (i == LONG / 2) middle = at;
            at += (size_t)sprintf(order + at, "%s%s", i ? ";" : "",
                                  names[i == LONG / 2 ? 4
                                        : all         ? below(&rng, TEST_COUNT(names))
                                                      : 3]);
        }
        own_sampler *chain = build(&p);
        memcpy(order + middle + 1, "top_k", 5);
        inside_steps = 0;
        assert_ok(samp_chain_update(chain, &p));
        assert_num(samp_chain_n(chain), LONG + 2);
        assert_in_range(inside_steps, LONG / 2, 32 * LONG);
    }
    free(order);
}

TEST(test_update_bad)
{
    samp_params p = samp_default_params(), q = p;
    p.penalty_repeat = 1.2f;
    samp_sampler *chain = build(&p), *dist = samp_init_dist(1), *bad = NULL;
    draw_n(chain, 0, 9);
    samp_sampler *twin = samp_clone(chain);
    q.top_p = 1.5f;
    assert_int_equal(samp_chain_update(chain, &q), SAMP_E_RANGE);
    q = p, q.min_p = NAN;
    assert_int_equal(samp_chain_update(chain, &q), SAMP_E_NAN);
    assert_int_equal(samp_chain_update(chain, NULL), SAMP_E_NULL);
    assert_int_equal(samp_chain_update(NULL, &p), SAMP_E_NULL);
    assert_int_equal(samp_chain_update(dist, &p), SAMP_E_RANGE);
    bad = samp_chain_from_params(&q, NULL);
    assert_int_equal(samp_chain_update(bad, &p), SAMP_E_NAN);
    same_draws(chain, twin);
    samp_free(dist);
    samp_free(bad);
}

/* ---- what was added by hand, and grammars ---- */

static int hand_apply(samp_sampler *s, samp_token_data_array *cur) { return (void)s, (void)cur, SAMP_OK; }
static const char *hand_name(const samp_sampler *s) { return (void)s, "hand"; }
static const samp_sampler_i hand_iface = { .name = hand_name, .apply = hand_apply };
static bool is_hand(const samp_sampler *s) { return s->iface == &hand_iface; }

/* How many of its name stand before member i; -1: it is not made from parameters. */
static int ordinal_of(const samp_sampler *chain, int32_t i)
{
    int n = 0;
    for (int32_t k = 0; k < i; k++)
        n += strcmp(samp_name(samp_chain_get(chain, k)), samp_name(samp_chain_get(chain, i))) == 0;
    return is_hand(samp_chain_get(chain, i)) ? -1 : n;
}

/* How many members of `fresh` are to stand in front of member i, made by hand, of `old`. */
static int32_t place_of(const samp_sampler *old, int32_t i, const samp_sampler *fresh)
{
    int32_t n = samp_chain_n(old), before = i, behind = i, last = n - 1;
    while (before >= 0 && is_hand(samp_chain_get(old, before))) before--;
    while (behind < n && is_hand(samp_chain_get(old, behind))) behind++;
    while (is_hand(samp_chain_get(old, last))) last--;
    if (before < 0) return 0;
    if (behind >= last) return samp_chain_n(fresh) - (behind == last);
    for (; before >= 0; before--)
        for (int32_t k = 0; k < samp_chain_n(fresh) && ordinal_of(old, before) >= 0; k++)
            if (strcmp(samp_name(samp_chain_get(old, before)), samp_name(samp_chain_get(fresh, k))) == 0 &&
                ordinal_of(old, before) == ordinal_of(fresh, k))
                return k + 1;
    return 0;
}

/* Members put anywhere into random chains are there after the update to random parameters, where they should be. */
TEST(test_update_by_hand)
{
    static const char *const names[] = { "penalties", "dry",   "top_n_sigma", "top_k",      "typ_p",
                                         "top_p",     "min_p", "xtc",         "temperature" };
    source rng = source_stream(15);
    for (int round = 0; round < (quickest() ? 100 : 1000); round++) {
        samp_params p = random_params(&rng), q = random_params(&rng);
        char order[2][160] = { "", "" }; /* some more than once */
        for (int k = 0; k < 2; k++) {
            size_t n = below(&rng, 11);
            for (size_t i = 0; i < n; i++)
                strcat(strcat(order[k], i ? ";" : ""), names[below(&rng, TEST_COUNT(names))]);
        }
        if (below(&rng, 3)) p.order = order[0];
        if (below(&rng, 3)) q.order = order[1];
        samp_sampler *chain = build(&p), *fresh = build(&q), *want[60];
        for (size_t n = below(&rng, 6); n > 0; n--)
            assert_ok(samp_chain_insert(chain, (int32_t)below(&rng, (uint64_t)samp_chain_n(chain) + 1),
                                        samp_init_custom(&hand_iface, NULL)));
        if (below(&rng, 2)) { /* a copy knows as much */
            samp_sampler *copy = samp_clone(chain);
            samp_free(chain);
            chain = copy;
        }
        int32_t n = 0;
        for (int32_t at = 0; at <= samp_chain_n(fresh); at++) {
            for (int32_t i = 0; i < samp_chain_n(chain); i++)
                if (is_hand(samp_chain_get(chain, i)) && place_of(chain, i, fresh) == at)
                    want[n++] = samp_chain_get(chain, i);
            if (at < samp_chain_n(fresh)) want[n++] = NULL;
        }
        draw_n(chain, 0, 1 + below(&rng, 20));
        assert_ok(samp_chain_update(chain, &q));
        assert_num(samp_chain_n(chain), n);
        for (int32_t i = 0, k = 0; i < n; i++) {
            if (want[i])
                assert_ptr_equal(samp_chain_get(chain, i), want[i]);
            else
                assert_text(samp_name(samp_chain_get(chain, i)), samp_name(samp_chain_get(fresh, k++)));
        }
        draw_n(chain, 30, 5);
        samp_free(chain);
        samp_free(fresh);
    }
}

/* A ban behind the usual chain's front lives through a change of temperature; what can't stay is refused. */
TEST(test_update_bans)
{
    const samp_logit_bias ban = { 7, -INFINITY };
    samp_params p = samp_default_params();
    samp_sampler *chain = build(&p), *made = samp_chain_init();
    float logits[N] = { 0 };
    logits[7] = 20;
    assert_ok(samp_chain_insert(chain, 0, samp_init_logit_bias(N, 1, &ban)));
    for (int i = 0; i < 20; i++) {
        p.temp = (float)(i % 3);
        assert_ok(samp_chain_update(chain, &p));
        assert_true(samp_sample(chain, logits, N) != 7);
    }
    samp_free(samp_chain_remove(chain, 0));
    assert_num(samp_sample(chain, logits, N), 7);
    samp_free(chain);
    assert_ok(samp_chain_add(made, samp_init_top_k(3))); /* made by hand altogether: it can't be kept and updated */
    assert_ok(samp_chain_add(made, samp_init_greedy()));
    assert_status(samp_chain_update(made, &p), SAMP_E_UNSUPPORTED);
    assert_text(members(made), "top-k greedy");
    assert_num(samp_sample(made, logits, N), 7);
    samp_free(samp_chain_remove(made, 1)); /* but a front can */
    assert_ok(samp_chain_update(made, &p));
    assert_text(samp_name(samp_chain_get(made, 0)), "top-k");
    assert_num(samp_sample(made, logits, N), 7);
    samp_free(made);
    chain = samp_chain_init(); /* a ban, and behind it what parameters have made, moved there */
    made = build(&p);
    assert_ok(samp_chain_add(chain, samp_init_logit_bias(N, 1, &ban)));
    while (samp_chain_n(made) > 0) assert_ok(samp_chain_add(chain, samp_chain_remove(made, 0)));
    samp_free(made);
    assert_ok(samp_chain_update(chain, &p));
    assert_true(samp_sample(chain, logits, N) != 7);
    samp_free(chain);
    p.rng = SAMP_RNG_MT19937;
    chain = build(&p);
    assert_ok(samp_chain_add(chain, samp_init_top_k(3))); /* as llama.cpp allows it, */
    p.rng = SAMP_RNG_PHILOX;
    assert_status(samp_chain_update(chain, &p), SAMP_E_UNSUPPORTED); /* and no other */
    samp_free(chain);
}

typedef struct digits {
    samp_vocab_index *index;
    samp_grammar *grammar;
} digits;

static digits digits_of(void)
{
    static samp_vocab vocab;
    digits d;
    vocab = one_letter;
    d.index = samp_vocab_index_init(&vocab, NULL);
    d.grammar = samp_grammar_init(SAMP_GRAMMAR_REGEX, "[0-9]+", NULL, NULL);
    assert_non_null(d.index);
    assert_non_null(d.grammar);
    return d;
}

static bool draws_digits(samp_sampler *chain)
{
    float logits[N] = { 0 };
    bool good = true;
    for (int i = 0; i < 30; i++) {
        size_t n;
        samp_token token = samp_sample(chain, logits, N);
        assert_true(token >= 0);
        good &= *letter_bytes(NULL, token, &n) >= '0' && *letter_bytes(NULL, token, &n) <= '9';
    }
    return good;
}

/* The parameters' grammar: first, kept by updates, replaced by another one; the chain's, on failure too. */
TEST(test_grammar)
{
    digits d = digits_of();
    samp_params p = samp_default_params(), q;
    const char *field = NULL;
    int status = 1;
    p.grammar = samp_init_grammar(d.index, d.grammar);
    samp_sampler *first = p.grammar, *chain = build(&p), *other;
    assert_ptr_equal(samp_chain_get(chain, 0), first);
    assert_true(draws_digits(chain));
    p.temp = 2; /* the same pointer, then none: it stays */
    assert_ok(samp_chain_update(chain, &p));
    assert_ok(samp_check_params(&p, NULL));
    q = p, q.grammar = NULL, q.mirostat = 2;
    assert_ok(samp_chain_update(chain, &q));
    assert_ptr_equal(samp_chain_get(chain, 0), first);
    assert_true(draws_digits(chain));
    other = samp_chain_from_params(&p, &status); /* it has a chain already */
    assert_status(status, SAMP_E_RANGE);
    assert_status(samp_status(other, &field), SAMP_E_RANGE);
    assert_text(field, "grammar");
    samp_free(other);
    q.grammar = samp_init_grammar(d.index, d.grammar); /* another one, in a copy and here; a hand's stays in front */
    other = samp_clone(chain);
    assert_ok(samp_chain_insert(other, 0, samp_init_custom(&hand_iface, NULL)));
    assert_ok(samp_chain_update(other, &q));
    assert_ptr_equal(samp_chain_get(other, 1), q.grammar);
    assert_status(samp_chain_update(chain, &q), SAMP_E_RANGE);
    assert_true(draws_digits(other) && draws_digits(chain));
    assert_num(samp_chain_n(other), samp_chain_n(chain) + 1);
    q.grammar = samp_init_grammar(d.index, d.grammar);
    q.top_p = 2; /* fails, and the grammar is freed; the chain has its own */
    assert_status(samp_chain_update(chain, &q), SAMP_E_RANGE);
    assert_true(draws_digits(chain));
    samp_free(samp_chain_remove(chain, 0));
    q.top_p = 1, q.grammar = NULL;
    assert_ok(samp_chain_update(chain, &q));
    assert_false(draws_digits(chain));
    samp_free(chain);
    samp_free(other);

    p.grammar = samp_init_greedy(); /* bad ones, which are freed */
    assert_status(samp_check_params(&p, &field), SAMP_E_RANGE);
    assert_text(field, "grammar");
    samp_free(samp_chain_from_params(&p, &status));
    assert_status(status, SAMP_E_RANGE);
    p.grammar = samp_init_grammar(NULL, d.grammar);
    assert_status(samp_check_params(&p, &field), SAMP_E_NULL);
    assert_text(field, "grammar");
    samp_free(samp_chain_from_params(&p, &status));
    assert_status(status, SAMP_E_NULL);

    samp_sampler *rows[2] = { NULL, NULL }; /* a batch, step by step with the same parameters */
    samp_params each[2] = { samp_default_params(), samp_plain_params() };
    for (int r = 0; r < 2; r++) each[r].grammar = samp_init_grammar(d.index, d.grammar);
    for (int step = 0; step < 5; step++) {
        each[1].temp = 0.5f + (float)step;
        assert_ok(samp_batch_from_params(rows, each, 2, NULL));
        assert_true(draws_digits(rows[0]) && draws_digits(rows[1]));
        assert_ptr_equal(samp_chain_get(rows[1], 0), each[1].grammar);
    }
    for (int r = 0; r < 2; r++) samp_free(rows[r]);

    chain = samp_chain_init(); /* behind what selects a grammar is refused, whatever the random source */
    assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
    assert_ok(samp_chain_add(chain, samp_init_dist(1)));
    assert_status(samp_chain_add(chain, samp_init_grammar(d.index, d.grammar)), SAMP_E_UNSUPPORTED);
    samp_free(chain);
    samp_grammar_free(d.grammar);
    samp_vocab_index_free(d.index);
}

/* A window that grows knows what samp_prev has, whatever it was before, after a rollback and from a saved state too. */
TEST(test_update_windows)
{
    static const int32_t lengths[] = { 0, 1, 2, 30, 64, 100, 300 };
    source rng = source_stream(16);
    for (int round = 0; round < 400; round++) {
        samp_params p = samp_default_params(), q;
        samp_vocab vocab = one_letter;
        p.vocab = &vocab;
        p.penalty_repeat = 1.1f, p.penalty_freq = 0.3f;
        p.dry_multiplier = 1, p.dry_allowed_length = 1;
        p.penalty_last_n = p.dry_penalty_last_n = lengths[below(&rng, TEST_COUNT(lengths))];
        q = p, q.penalty_last_n = q.dry_penalty_last_n = lengths[below(&rng, TEST_COUNT(lengths))];
        samp_sampler *chain = build(&p), *other;
        int32_t n = (int32_t)below(&rng, 200), back = n < 20 ? 0 : (int32_t)below(&rng, 20);
        samp_token seen[200];
        for (int32_t i = 0; i < n; i++) assert_ok(samp_accept(chain, seen[i] = (samp_token)below(&rng, N)));
        if (back) assert_num(samp_rollback_depth(chain), n < 64 ? n : 64);
        assert_ok(samp_rollback(chain, back));
        n -= back;
        if (round % 2) {
            char bytes[8000];
            size_t size = samp_state_size(chain);
            assert_in_range(size, 1, sizeof bytes);
            assert_ok(samp_state_save(chain, bytes, size));
            samp_free(chain);
            chain = build(&p);
            assert_ok(samp_state_load(chain, bytes, size));
        }
        samp_token last[64];
        int32_t prev = (int32_t)samp_prev(chain, last, 64);
        int32_t window = p.penalty_last_n < n ? p.penalty_last_n : n, known = window > prev ? window : prev;
        if (known > q.penalty_last_n) known = q.penalty_last_n;
        assert_ok(samp_chain_update(chain, &q));
        other = build(&q);
        for (int32_t i = n - known; i < n; i++) assert_ok(samp_accept(other, seen[i]));
        same_draws(chain, other);
    }
}

/* Nothing is on; each member that is set takes effect, and the temperature comes before what cuts. */
TEST(test_plain_params)
{
    samp_params p = samp_plain_params(), usual = samp_default_params();
    float logits[N];
    assert_ok(samp_check_params(&p, NULL));
    samp_sampler *chain = build(&p), *dist = samp_chain_init();
    assert_ok(samp_chain_add(dist, samp_init_dist(0)));
    same_draws(chain, dist);
    assert_true(p.seed == usual.seed && p.rng == usual.rng && p.penalty_last_n == usual.penalty_last_n);
    p.temp = 0.5f, p.top_p = 0.7f, p.seed = 5;
    chain = build(&p), dist = samp_chain_init();
    assert_ok(samp_chain_add(dist, samp_init_temp(0.5f)));
    assert_ok(samp_chain_add(dist, samp_init_top_p(0.7f, 0)));
    assert_ok(samp_chain_add(dist, samp_init_dist(5)));
    same_draws(chain, dist);
    row(logits, 3);
    for (int i = 0; i < 18; i++) { /* each member by itself leaves fewer than all, or other logits */
        samp_params q = samp_plain_params();
        float *const member[] = { &q.min_p,          &q.top_a,
                                  &q.p_less,         &q.p_less_norm,
                                  &q.epsilon_cutoff, &q.eta_cutoff,
                                  &q.top_h,          &q.typ_p,
                                  &q.tfs_z,          &q.top_n_sigma,
                                  &q.min_k,          &q.top_p,
                                  &q.temp,           &q.smoothing_factor,
                                  &q.dynatemp_range, &q.penalty_repeat,
                                  &q.xtc_probability };
        static const float on[] = { 0.3f, 0.5f, 1,    1, 0.05f, 0.05f, 0.3f, 0.3f, 0.5f,
                                    0.5f, 0.5f, 0.3f, 2, 1,     0.5f,  2,    1 };
        if (i < 17) *member[i] = on[i];
        if (i == 17) q.top_k = 3;
        q.xtc_threshold = 0.01f;
        chain = build(&q);
        samp_token_data data[N], all[N];
        samp_token_data_array cur = test_array(data, logits, N), plain = test_array(all, logits, N);
        for (samp_token k = 0; k < 5; k++) assert_ok(samp_accept(chain, k));
        assert_ok(samp_apply(chain, &cur));
        bool same = cur.size == plain.size;
        for (size_t k = 0; same && k < N; k++) same = data[k].id == all[k].id && data[k].logit == all[k].logit;
        if (same) test_fail(__FILE__, __LINE__, "member %d has no effect", i);
        samp_free(chain);
    }
}

/* Rows join, leave and move; one has bad parameters. */
TEST(test_batch_from_params)
{
    samp_params p[4], bad = samp_default_params();
    samp_sampler *rows[4] = { NULL, NULL, NULL, NULL }, *twin[4];
    int status[4];
    for (int r = 0; r < 4; r++) {
        p[r] = samp_default_params();
        p[r].seed = (uint64_t)r;
        p[r].penalty_repeat = 1.1f;
        p[r].temp = r == 2 ? 0.0f : 0.7f;
    }
    bad.temp = -1;
    assert_int_equal(samp_batch_from_params(NULL, p, 1, NULL), SAMP_E_NULL);
    assert_ok(samp_batch_from_params(NULL, NULL, 0, NULL));
    assert_int_equal(samp_batch_from_params(rows, NULL, 1, status), SAMP_E_NULL);
    assert_ok(samp_batch_from_params(rows, p, 4, status));
    for (int r = 0; r < 4; r++) {
        assert_ok(status[r]);
        draw_n(rows[r], 0, 5);
        twin[r] = samp_clone(rows[r]);
    }
    samp_free(rows[1]); /* one leaves, the last one takes its place, and a new one joins there */
    rows[1] = rows[3];
    rows[3] = NULL;
    samp_params now[4] = { p[0], p[3], bad, p[1] };
    assert_int_equal(samp_batch_from_params(rows, now, 4, status), SAMP_E_RANGE);
    assert_int_equal(samp_batch_from_params(rows, now, 4, NULL), SAMP_E_RANGE);
    assert_int_equal(status[2], SAMP_E_RANGE);
    assert_ok(status[0] | status[1] | status[3]);
    samp_sampler *fresh = samp_chain_from_params(&p[1], NULL);
    same_draws(rows[0], twin[0]);
    same_draws(rows[1], twin[3]);
    same_draws(rows[2], twin[2]);
    same_draws(rows[3], fresh);
    samp_free(twin[1]);
    rows[0] = NULL;
    assert_int_equal(samp_batch_from_params(rows, &bad, 1, status), SAMP_E_RANGE);
    assert_null(rows[0]);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
