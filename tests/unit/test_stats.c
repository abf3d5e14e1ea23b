/* test_stats.c - do the draws have the distribution they should? Chi-square tests against exact probabilities
   (long double), with fixed seeds: what passes once passes always. A sound sampler fails one with probability
   ALPHA; the same tests reject samplers wrong by a few percent (test_biased_samplers_are_rejected). */
#include "sampling.h"
#include "tests/support/test.h"
#include "tests/support/chi_square.h"

#define ALPHA   1e-4
#define N_DRAWS (quick() ? 4000 : 200000) /* of dist and the default chain */
#define N_FEWER (quick() ? 2000 : N_MOST) /* of the others */
#define N_MOST  100000
#define N_MAX   32768
#define N_REAL  REAL_ROWS

/* fewer draws if SAMP_TEST_QUICK is set (for slow tools): nothing is proved then */
/* --------------------------------------------------------------------------------------------- chi-square */

static void expect_fit(const char *what, const long *seen, const real *p, size_t n)
{
    double tail = chi_square(seen, p, n);
    print_message("             %-52s p-value %.4f\n", what, tail);
    if (!(tail >= ALPHA)) fail_msg("%s: the draws do not have the distribution (%g)", what, tail);
}

TEST(test_chi_square_tail)
{
    (void)state; /* from tables: the 95 %, 99 % and 99.9 % points */
    assert_near(chi_square_tail(3.841458820694124, 1), 0.05, 1e-10);
    assert_near(chi_square_tail(11.070497693516351, 5), 0.05, 1e-10);
    assert_near(chi_square_tail(23.209251158954356, 10), 0.01, 1e-10);
    assert_near(chi_square_tail(149.44925277903886, 100), 0.001, 1e-10);
    assert_near(chi_square_tail(1106.969, 1000), 0.01, 1e-5);
    assert_near(chi_square_tail(4.351460191, 5), 0.5, 1e-8);
}

/* --------------------------------------------------------------------------------------------------- rows */

static float row[N_MAX];
static real exact[N_MAX];
static long seen[N_MAX];
static samp_token_data data[N_MAX], fresh[N_MAX];

/* n logits of real row r; if not all of them, then the n / 2 largest and every fifth of those that follow */
static void real_row(size_t r, size_t n)
{
    static samp_token_data all[N_MAX];
    assert_true(real_rows_load(REAL_ROWS_PATH));
    memcpy(row, real_rows[r], sizeof row);
    if (n == N_MAX) return;
    samp_token_data_array cur = test_array(all, row, N_MAX);
    test_sort(&cur);
    for (size_t i = 0; i < n; i++) row[(i * 37) % n] = all[i < n / 2 ? i : i * 5].logit;
}

static void flat_row(size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] = -1.25f;
}

static void peaked_row(size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] = i == n / 3 ? 4.0f : (float)(-1.5 * log((double)(i + 1)));
}

static void masked_row(size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] = i % 3 == 1 || i == 0 || i == n - 1 ? -INFINITY : 0.1f * (float)(i % 29);
}

/* the envelope is tight at the even ones and 6 % too large at the odd ones */
static void half_octave_row(size_t n)
{
    for (size_t i = 0; i < n; i++) row[i] = i % 2 ? -0.5f * 0.69314718f : 0;
}

/* exact[i] = softmax of row */
static void softmax(const float *l, real *p, size_t n)
{
    real sum = 0, top = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (l[i] > top) top = l[i];
    for (size_t i = 0; i < n; i++) sum += p[i] = expl(l[i] - top);
    for (size_t i = 0; i < n; i++) p[i] /= sum;
}

static samp_token_data_array renew(size_t n)
{
    samp_token_data_array cur;
    memcpy(data, fresh, n * sizeof *data);
    cur.data = data;
    cur.size = n;
    cur.selected = -1;
    cur.sorted = false;
    return cur;
}

/* the token that s selects from the row */
static samp_token draw(samp_sampler *s, size_t n)
{
    samp_token_data_array cur = renew(n);
    int status = samp_apply(s, &cur);
    if (status != SAMP_OK || cur.selected < 0 || (size_t)cur.selected >= cur.size) {
        print_error("samp_apply: %d (%s)\n", status, samp_strerror(status));
        fail();
    }
    return cur.data[cur.selected].id;
}

static void count_draws(samp_sampler *s, size_t n, long n_draws)
{
    test_array(fresh, row, n);
    memset(seen, 0, n * sizeof *seen);
    for (long i = 0; i < n_draws; i++) seen[draw(s, n)]++;
}

/* ------------------------------------------------------------------------------------------ distributions */

static void fit_dist(const char *what, size_t n, long n_draws, uint64_t seed)
{
    own_sampler *s = samp_init_dist(seed);
    softmax(row, exact, n);
    count_draws(s, n, n_draws);
    expect_fit(what, seen, exact, n);
}

TEST(test_dist)
{
    static const size_t rows[] = { 0, 4, 14 };
    flat_row(2);
    fit_dist("dist, flat, 2 tokens", 2, N_DRAWS, 11);
    flat_row(37);
    fit_dist("dist, flat, 37 tokens", 37, N_DRAWS, 12);
    peaked_row(30);
    fit_dist("dist, peaked, 30 tokens", 30, N_DRAWS, 13);
    masked_row(40);
    fit_dist("dist, masked, 40 tokens", 40, N_DRAWS, 14);
    for (size_t i = 0; i < 40; i++) row[i] = -(float)i / 20.0f; /* every part of the octaves */
    fit_dist("dist, even steps over three octaves, 40 tokens", 40, N_DRAWS, 15);
    half_octave_row(20);
    fit_dist("dist, every second half an octave down, 20 tokens", 20, N_DRAWS, 16);
    for (size_t k = 0; k < TEST_COUNT(rows); k++) {
        char what[64];
        snprintf(what, sizeof what, "dist, real row %zu, 40 tokens", rows[k]);
        real_row(rows[k], 40);
        fit_dist(what, 40, N_DRAWS, 20 + k);
    }
}

/* All of a real row: cells are runs of ids with about 1/40 of the probability; all regions of ids count. */
TEST(test_dist_on_a_whole_row)
{
    enum { CELLS = 40 };
    static int cell[N_MAX];
    own_sampler *s = samp_init_dist(31);
    real p[CELLS + 1] = { 0 }, run = 0;
    long in[CELLS + 1] = { 0 };
    real_row(1, N_MAX);
    softmax(row, exact, N_MAX);
    for (size_t i = 0; i < N_MAX; i++) {
        cell[i] = (int)(run * CELLS);
        run += exact[i];
        p[cell[i]] += exact[i];
    }
    test_array(fresh, row, N_MAX);
    for (long i = 0; i < N_DRAWS / 250; i++) in[cell[draw(s, N_MAX)]]++;
    expect_fit("dist, real row 1, all of it, 40 cells", in, p, CELLS + 1);
}

TEST(test_dist_mt19937)
{
    own_sampler *s = samp_init_dist(5);
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    real_row(3, 40);
    softmax(row, exact, 40);
    count_draws(s, 40, N_FEWER);
    expect_fit("dist, mt19937, real row 3, 40 tokens", seen, exact, 40);
}

static samp_token_data order[N_MAX];

/* The default chain, exactly: top_k 40, top_p 0.95, min_p 0.05, temp 0.8. exact = 0 for what it removes. */
static void default_chain_exact(size_t n)
{
    float l[40] = { 0 };
    real p[40], mass = 0;
    size_t k = 0, m = n < 40 ? n : 40;
    samp_token_data_array cur = test_array(order, row, n);
    test_sort(&cur);
    while (m && order[m - 1].logit == -INFINITY) m--;
    for (size_t i = 0; i < m; i++) l[i] = order[i].logit;
    softmax(l, p, m);
    while (k < m && mass < (real)0.95f) mass += p[k++];
    while (k > 1 && (real)l[k - 1] < (real)l[0] + logl((real)0.05f)) k--;
    for (size_t i = 0; i < k; i++) l[i] *= 1.0f / 0.8f;
    softmax(l, p, k);
    for (size_t i = 0; i < n; i++) exact[i] = 0;
    for (size_t i = 0; i < k; i++) exact[order[i].id] = p[i];
}

static void fit_default(const char *what, size_t n, long n_draws, uint64_t seed)
{
    samp_params params = samp_default_params();
    params.seed = seed;
    own_sampler *s = samp_chain_from_params(&params, NULL);
    default_chain_exact(n);
    count_draws(s, n, n_draws);
    expect_fit(what, seen, exact, n);
}

TEST(test_default_chain)
{
    flat_row(12);
    fit_default("default chain, flat, 12 tokens", 12, N_DRAWS, 1);
    masked_row(30);
    fit_default("default chain, masked, 30 tokens", 30, N_DRAWS, 2);
    real_row(8, 60);
    fit_default("default chain, real row 8, 60 tokens", 60, N_DRAWS, 3);
    real_row(1, N_MAX);
    fit_default("default chain, real row 1, all of it", N_MAX, N_DRAWS / 80, 9);
}

TEST(test_default_chain_through_samp_sample)
{
    samp_params params = samp_default_params();
    samp_sampler *s;
    params.seed = 77;
    s = samp_chain_from_params(&params, NULL);
    real_row(11, 60);
    default_chain_exact(60);
    memset(seen, 0, sizeof seen);
    for (long i = 0; i < N_DRAWS; i++) {
        samp_token t = samp_sample(s, row, 60);
        assert_in_range(t, 0, 59);
        seen[t]++;
    }
    expect_fit("samp_sample, default chain, real row 11, 60 tokens", seen, exact, 60);
    assert_u64(samp_get_position(s), N_DRAWS);
    samp_free(s);
}

/* the first draw of a new mirostat_v2: what has at most 2 tau bits of surprise */
TEST(test_mirostat_v2)
{
    static const size_t rows[] = { 1, 8 };
    for (size_t k = 0; k < TEST_COUNT(rows); k++) {
        own_sampler *s = samp_init_mirostat_v2(40 + k, 2.5f, 0.3f);
        size_t kept = 0;
        char what[64];
        real_row(rows[k], 40);
        softmax(row, exact, 40);
        for (size_t i = 0; i < 40; i++) {
            if (-log2l(exact[i]) > 5.0L) exact[i] = 0;
            kept += exact[i] > 0;
        }
        assert_in_range(kept, 5, 39);
        test_array(fresh, row, 40);
        memset(seen, 0, sizeof seen);
        for (long i = 0; i < N_FEWER; i++) {
            samp_reset(s);
            assert_int_equal(samp_set_position(s, (uint64_t)i), SAMP_OK);
            seen[draw(s, 40)]++;
        }
        snprintf(what, sizeof what, "mirostat_v2's first draw, real row %zu", rows[k]);
        expect_fit(what, seen, exact, 40);
    }
}

/* a draw of adaptive_p without accept is always the first one */
TEST(test_adaptive_p)
{
    static const float targets[] = { 0.05f, 0.3f };
    static real p[40];
    for (size_t k = 0; k < TEST_COUNT(targets); k++) {
        own_sampler *s = samp_init_adaptive_p(targets[k], 0.9f, 50 + k);
        float l[40];
        char what[64];
        real_row(k + 5, 40);
        softmax(row, p, 40);
        for (size_t i = 0; i < 40; i++) {
            real x = fabsl(p[i] - (real)targets[k]) / 0.3L; /* 2 target - average = target at first */
            l[i] = (float)(5 - 10 * x * x / (1 + x));
        }
        softmax(l, exact, 40);
        count_draws(s, 40, N_FEWER);
        snprintf(what, sizeof what, "adaptive_p's first draw, target %.2f", (double)targets[k]);
        expect_fit(what, seen, exact, 40);
    }
}

TEST(test_xtc_rate)
{
    static const float rates[] = { 0.001f, 0.1f, 0.93f, 1.0f };
    peaked_row(10);
    row[5] = row[10 / 3]; /* two above the threshold: one goes if it acts */
    test_array(fresh, row, 10);
    for (size_t k = 0; k < TEST_COUNT(rates); k++) {
        own_sampler *s = samp_init_xtc(rates[k], 0.2f, 0, 60 + k);
        long acted[2] = { 0, 0 };
        real p[2];
        char what[64];
        for (long i = 0; i < N_DRAWS; i++) {
            samp_token_data_array cur = renew(10);
            assert_int_equal(samp_apply(s, &cur), SAMP_OK);
            acted[cur.size < 10]++;
            if (cur.size < 10 && test_find(&cur, 3)) fail_msg("the most likely token is still there");
        }
        p[1] = (real)rates[k];
        p[0] = 1 - p[1];
        snprintf(what, sizeof what, "xtc acts with probability %g", (double)rates[k]);
        expect_fit(what, acted, p, 2);
    }
}

/* ------------------------------------------------------------------------------------------- independence */

enum { SIDE = 8 }; /* flat rows of so many tokens; pairs are SIDE^2 cells */
static long pairs[SIDE * SIDE];
static samp_token chosen[N_MOST + 64], others[N_MOST + 64];

static void draw_flat(samp_sampler *s, samp_token *out, uint64_t position, size_t n)
{
    flat_row(SIDE);
    test_array(fresh, row, SIDE);
    assert_ok(samp_set_position(s, position));
    for (size_t i = 0; i < n; i++) out[i] = draw(s, SIDE);
}

static void expect_independent(const char *what, const samp_token *a, const samp_token *b, size_t n)
{
    static real p[SIDE * SIDE];
    memset(pairs, 0, sizeof pairs);
    for (size_t i = 0; i < SIDE * SIDE; i++) p[i] = 1;
    for (size_t i = 0; i < n; i++) pairs[a[i] * SIDE + b[i]]++;
    expect_fit(what, pairs, p, SIDE * SIDE);
}

TEST(test_positions_are_independent)
{
    static const size_t lags[] = { 1, 2, 3, 8, 17 };
    own_sampler *s = samp_init_dist(1);
    draw_flat(s, chosen, 0, N_FEWER + 32);
    for (size_t k = 0; k < TEST_COUNT(lags); k++) {
        char what[64];
        snprintf(what, sizeof what, "positions i and i + %zu", lags[k]);
        expect_independent(what, chosen, chosen + lags[k], N_FEWER);
    }
    draw_flat(s, others, (uint64_t)1 << 32, N_FEWER);
    expect_independent("positions i and i + 2^32", chosen, others, N_FEWER);
    draw_flat(s, others, (uint64_t)1 << 63, N_FEWER);
    expect_independent("positions i and i + 2^63", chosen, others, N_FEWER);
}

TEST(test_seeds_are_independent)
{
    static const uint64_t seeds[] = { 1, 255, (uint64_t)1 << 32, (uint64_t)1 << 63 };
    samp_sampler *s = samp_init_dist(0);
    draw_flat(s, chosen, 0, N_FEWER);
    samp_free(s);
    for (size_t k = 0; k < TEST_COUNT(seeds); k++) {
        char what[64];
        s = samp_init_dist(seeds[k]);
        draw_flat(s, others, 0, N_FEWER);
        snprintf(what, sizeof what, "seeds 0 and 0x%llx", (unsigned long long)seeds[k]);
        expect_independent(what, chosen, others, N_FEWER);
        samp_free(s);
    }
    size_t n_seeds = quick() ? 800 : 20000;
    for (size_t i = 0; i < n_seeds; i++) { /* one position, many seeds */
        s = samp_init_dist(i);
        draw_flat(s, chosen + i, 5, 1);
        samp_free(s);
    }
    expect_independent("position 5 of seeds i and i + 1", chosen, chosen + 1, n_seeds - 1);
}

/* a sampler that notes what the one before it has selected */
static int note_apply(samp_sampler *s, samp_token_data_array *cur)
{
    *(samp_token *)s->ctx = cur->data[cur->selected].id;
    return SAMP_OK;
}

static const samp_sampler_i note_iface = { NULL, NULL, note_apply, NULL, NULL, NULL, NULL, NULL };

static void fit_two(const char *what, samp_sampler *first, samp_sampler *second)
{
    samp_token noted = -1;
    own_sampler *chain = new_chain(first, samp_init_custom(&note_iface, &noted), second);
    flat_row(SIDE);
    test_array(fresh, row, SIDE);
    for (long i = 0; i < N_FEWER; i++) {
        others[i] = draw(chain, SIDE);
        chosen[i] = noted;
    }
    expect_independent(what, chosen, others, N_FEWER);
}

TEST(test_samplers_of_a_chain_are_independent)
{
    fit_two("two dist of one seed in one chain", samp_init_dist(8), samp_init_dist(8));
    fit_two("dist and adaptive_p of one seed", samp_init_dist(8), samp_init_adaptive_p(-1, 0.5f, 8));
    fit_two("mirostat_v2 and dist of one seed", samp_init_mirostat_v2(8, 20, 0.1f), samp_init_dist(8));
    fit_two("mirostat and mirostat_v2 of one seed", samp_init_mirostat(SIDE, 8, 20, 0, 10),
            samp_init_mirostat_v2(8, 20, 0.1f));
}

/* xtc acts in half of the cases; whether it does must not tell which of the others dist takes */
TEST(test_xtc_and_dist_are_independent)
{
    own_sampler *chain = samp_chain_init();
    real p[2 * 10], part[10];
    long both[2 * 10] = { 0 };
    assert_ok(samp_chain_add(chain, samp_init_xtc(0.5f, 0.3f, 0, 9)));
    assert_ok(samp_chain_add(chain, samp_init_dist(9)));
    flat_row(10);
    row[2] = row[7] = 1.2f; /* both have p > 0.3; token 2 goes */
    test_array(fresh, row, 10);
    for (long i = 0; i < N_FEWER; i++) {
        samp_token_data_array cur = renew(10);
        assert_int_equal(samp_apply(chain, &cur), SAMP_OK);
        both[(cur.size < 10) * 10 + cur.data[cur.selected].id]++;
    }
    softmax(row, part, 10);
    for (size_t i = 0; i < 10; i++) {
        p[i] = part[i] / 2;
        p[10 + i] = i == 2 ? 0 : part[i] / (1 - part[2]) / 2;
    }
    expect_fit("xtc and dist of one seed", both, p, 20);
}

/* ------------------------------------------------------------------------------------ the test's own edge */

/* draws by the inverse of the distribution function of p^power */
static void inverse_draws(source *rng, size_t n, real power)
{
    static real sum[N_MAX];
    real total = 0;
    for (size_t i = 0; i < n; i++) sum[i] = total += powl(exact[i], power);
    memset(seen, 0, n * sizeof *seen);
    for (long k = 0; k < N_DRAWS; k++) {
        real u = (real)uniform(rng) * total;
        size_t i = 0;
        while (i + 1 < n && sum[i] <= u) i++;
        seen[i]++;
    }
}

enum accept { ACCEPT_RIGHT, ACCEPT_ALWAYS, ACCEPT_WRONG_SIDE };

/* draws from the envelope (1 + f) 2^n >= 2^(n + f), accepted with probability w / q, or wrongly */
static void envelope_draws(source *rng, size_t n, enum accept how)
{
    static real q[N_MAX], sum[N_MAX];
    real total = 0;
    for (size_t i = 0; i < n; i++) {
        real x = log2l(exact[i]), e = floorl(x);
        q[i] = exp2l(e) * (1 + x - e);
        sum[i] = total += q[i];
    }
    memset(seen, 0, n * sizeof *seen);
    for (long k = 0; k < N_DRAWS;) {
        real u = (real)uniform(rng) * total, v = (real)uniform(rng);
        size_t i = 0;
        while (i + 1 < n && sum[i] <= u) i++;
        bool inside = v * q[i] < exact[i];
        if (how == ACCEPT_ALWAYS || (how == ACCEPT_RIGHT ? inside : !inside)) {
            seen[i]++;
            k++;
        }
    }
}

TEST(test_biased_samplers_are_rejected)
{
    source rng;
    if (quick()) skip();
    rng = source_at(2); /* not from the environment: ALPHA counts once */
    real_row(14, 40);
    softmax(row, exact, 40);
    inverse_draws(&rng, 40, 1);
    assert_true(chi_square(seen, exact, 40) >= ALPHA);
    inverse_draws(&rng, 40, 1.02L);
    assert_true(chi_square(seen, exact, 40) < ALPHA);
    inverse_draws(&rng, 40, 0.98L);
    assert_true(chi_square(seen, exact, 40) < ALPHA);
    inverse_draws(&rng, 40, 1); /* a token that must not appear: one draw is enough */
    real least = 1;
    for (size_t i = 0; i < 40; i++)
        if (seen[i] && exact[i] < least) least = exact[i];
    for (size_t i = 0; i < 40; i++)
        if (exact[i] == least) exact[i] = 0;
    assert_true(chi_square(seen, exact, 40) == 0);

    half_octave_row(20);
    softmax(row, exact, 20);
    for (size_t i = 0; i < 20; i++) exact[i] /= exact[0]; /* octaves from the maximum, as in the library */
    envelope_draws(&rng, 20, ACCEPT_RIGHT);
    assert_true(chi_square(seen, exact, 20) >= ALPHA);
    envelope_draws(&rng, 20, ACCEPT_ALWAYS);
    assert_true(chi_square(seen, exact, 20) < ALPHA);
    envelope_draws(&rng, 20, ACCEPT_WRONG_SIDE);
    assert_true(chi_square(seen, exact, 20) < ALPHA);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
