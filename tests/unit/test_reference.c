/* test_reference.c - every sampler against a second implementation of its meaning, in long double, written
   from the formulas in sampling.h's comments: which tokens stay and in what order, the new logits, p, and the
   state over a sequence. Rows are real logits and random ones of many shapes.

   Where the deciding quantity is within 1e-9 (relative) of the cut, a different decision is forgiven and
   counted: fewer than one case in a thousand may need it. The formulas take the whole weights that the library sums; ref_make
   compares what is summed of them with the exact probabilities, on every row: within 1e-7. */
#include "sampling.h"
#include "tests/support/test.h"

#define N_MAX (4 * REAL_WIDTH)
#define NEAR  1e-9L /* relative distance from the cut that forgives */
#define EXACT 1e-7L /* what rounding to whole weights may change a sum by */

/* fewer rounds if SAMP_TEST_QUICK is set (for slow tools) */
typedef long double real;
__extension__ typedef unsigned __int128 u128;

/* ----------------------------------------------------------------------------------------------- the rows */

static int load_rows(void **state)
{
    (void)state;
    return real_rows_load(REAL_ROWS_PATH) ? 0 : -1;
}

enum {
    ROW_NORMAL,
    ROW_ZIPF,
    ROW_FLAT,
    ROW_NEARLY_FLAT,
    ROW_MASKED,
    ROW_TIES,
    ROW_REAL,
    ROW_REAL_TEMPERED,
    ROW_WIDE,
    ROW_TINY,
    ROW_KINDS
};

/* n logits of that kind, at least one of them not masked; of real ones REAL_WIDTH at most */
static void make_row(source *rng, float *l, size_t n, int kind)
{
    size_t start = n <= REAL_WIDTH ? below(rng, REAL_WIDTH - n + 1) : 0, r = below(rng, REAL_ROWS);
    double a = 0.2 + 4 * uniform(rng), b = 0.4 + 1.5 * uniform(rng);
    double c = pow(10, -7 + 5 * uniform(rng));
    for (size_t i = 0; i < n; i++) {
        double z = normal(rng);
        switch (kind) {
            case ROW_NORMAL: l[i] = (float)(a * z); break;
            case ROW_ZIPF: l[i] = (float)(-(1 + a / 4) * log((double)((i * 7919) % n) + 1) + 0.01 * z); break;
            case ROW_FLAT: l[i] = (float)a; break;
            case ROW_NEARLY_FLAT: l[i] = (float)(1 + c * z); break;
            case ROW_MASKED: l[i] = uniform(rng) < 0.8 ? -INFINITY : (float)(a * z); break;
            case ROW_TIES: l[i] = (float)(0.5 * (double)below(rng, 12) - 2); break;
            case ROW_REAL: l[i] = real_rows[r][start + i]; break;
            case ROW_REAL_TEMPERED: l[i] = (float)((double)real_rows[r][start + i] / b); break;
            case ROW_WIDE: l[i] = (float)(z * pow(10, 38 * uniform(rng)) / 8); break;
            default: l[i] = (float)(z * 1e-40); break; /* denormals, and zeros of both signs */
        }
        if (kind == ROW_TINY && below(rng, 4) == 0) l[i] = below(rng, 2) ? 0.0f : -0.0f;
    }
    if (kind == ROW_MASKED) l[below(rng, n)] = (float)a;
}

static size_t make_size(source *rng) { return (size_t)exp(uniform(rng) * log(5000.5)); /* 1 .. 5000 */ }

/* ----------------------------------------------------------------------------------- one row's quantities */

/* The unmasked candidates in order, with everything the formulas need. */
static struct {
    samp_token_data t[N_MAX]; /* (logit descending, id ascending) */
    size_t n;                 /* unmasked */
    real d[N_MAX];            /* max - l */
    real e[N_MAX];            /* 2^40 exp(-d) */
    real w[N_MAX];            /* weights, e rounded to whole numbers */
    real z;                   /* their sum */
    real ln_z;                /* ln(z / 2^40) */
    real mean_d;              /* sum of p d: the entropy is ln_z + mean_d */
} ref;

static void ref_make(const samp_token_data *data, size_t n)
{
    real s = 0, exact = 0, exact_s = 0;
    ref.n = 0;
    for (size_t i = 0; i < n; i++)
        if (data[i].logit > -INFINITY) ref.t[ref.n++] = data[i];
    qsort(ref.t, ref.n, sizeof *ref.t, test_compare);
    ref.z = 0;
    for (size_t i = 0; i < ref.n; i++) {
        ref.d[i] = (real)ref.t[0].logit - (real)ref.t[i].logit;
        bool tie = i && ref.t[i].logit == ref.t[i - 1].logit;
        ref.e[i] = tie ? ref.e[i - 1] : ldexpl(expl(-ref.d[i]), 40);
        ref.w[i] = roundl(ref.e[i]);
        ref.z += ref.w[i];
        if (ref.w[i] > 0) s += ref.w[i] * ref.d[i];
        exact += ref.e[i];
        if (ref.e[i] > 0) exact_s += ref.e[i] * ref.d[i];
        assert_true(fabsl(ref.z - exact) <= EXACT / 2 * exact);
    }
    ref.ln_z = logl(ldexpl(ref.z, -40));
    ref.mean_d = s / ref.z;
    assert_true(fabsl(ref.mean_d - exact_s / exact) <= EXACT * (1 + ref.mean_d));
}

/* ----------------------------------------------------------------------------------------------- the case */

static samp_token_data work[N_MAX], before[N_MAX];
static samp_token_data_array cur;
static size_t n_before;
static bool sorted_before;
static float row[N_MAX];

static struct {
    long cases, forgiven;
} count;

/* cur = an array of those logits, ids i * stride, in one of three orders, and the reference's view of it */
static void start(source *rng, const float *logits, size_t n, size_t stride)
{
    size_t order = below(rng, 3);
    cur = test_array(work, logits, n);
    for (size_t i = 0; i < n; i++) work[i].id = (samp_token)(i * stride);
    if (order == 1) test_shuffle(rng, &cur);
    if (order == 2) test_sort(&cur);
    memcpy(before, work, n * sizeof *work);
    n_before = n;
    sorted_before = cur.sorted;
    ref_make(before, n);
    count.cases++;
}

static void start_any(source *rng)
{
    size_t n = below(rng, 300) ? make_size(rng) : REAL_WIDTH;
    int kind = (int)below(rng, ROW_KINDS);
    if (n == REAL_WIDTH && kind < ROW_REAL && env_setting("SAMP_TEST_FULL", 0)) n = N_MAX;
    make_row(rng, row, n, kind);
    start(rng, row, n, below(rng, 4) ? 1 : 3);
}

static void apply(samp_sampler *s)
{
    assert_non_null(s);
    assert_ok(samp_status(s, NULL));
    assert_ok(samp_apply(s, &cur));
    assert_ptr_equal(cur.data, work);
    if (cur.sorted) assert_ordered(&cur);
}

static void apply_once(samp_sampler *s)
{
    apply(s);
    samp_free(s);
}

static void begin(void) { memset(&count, 0, sizeof count); }

static void finish(const char *name)
{
    print_message("             %s: %ld cases, %ld forgiven\n", name, count.cases, count.forgiven);
    assert_true(count.forgiven == 0 || count.forgiven * 1000 < count.cases);
}

/* The test of a sampler's formula: the number of its stream, how many arrays, and what is done with each; return is the next. */
#define FORMULA(name, stream, n) \
    static void name##_once(source *rng); \
    TEST(name) \
    { \
        source rng = source_stream(stream); \
        begin(); \
        for (int i = 0; i < rounds(n); i++) name##_once(&rng); \
        finish(#name + 5); \
    } \
    static void name##_once(source *rng)

static bool close_to(real a, real b, real scale) { return fabsl(a - b) <= NEAR * fabsl(scale); }

/* p is f32 of w / z; e / z, with the weight before it is rounded, may stand for it: it is the better one far
   below the maximum, where w is a small number or 0. */
static void expect_p(float got, real e, real z)
{
    real p = e / z, q = roundl(e) / z;
    if (!(fabsl(got - p) <= 1e-6L * p + 1e-44L) && !(fabsl(got - q) <= 1e-6L * q))
        fail_msg("p is %.9g, wanted %.9Lg or %.9Lg", (double)got, p, q);
}

static void expect_unchanged(void)
{
    assert_num(cur.size, n_before);
    assert_num(cur.sorted, sorted_before);
    for (size_t i = 0; i < n_before; i++) {
        assert_num(work[i].id, before[i].id);
        assert_same(work[i].logit, before[i].logit);
        assert_same(work[i].p, before[i].p);
    }
}

/* logits and ids untouched except that tokens were removed: the array's order is the one before */
static void expect_same_order(void)
{
    size_t j = 0;
    for (size_t i = 0; i < cur.size; i++) {
        while (j < n_before && before[j].id != work[i].id) j++;
        if (j == n_before) fail_msg("token %d is out of the order it had", (int)work[i].id);
        assert_true(work[i].logit == before[j].logit);
        j++;
    }
    assert_num(cur.sorted, sorted_before);
}

/* the array is the first cur.size tokens of the reference's order, all of them with that logit */
static void expect_prefix(void)
{
    assert_true(cur.sorted);
    assert_true(cur.size <= ref.n);
    for (size_t i = 0; i < cur.size; i++) {
        assert_num(work[i].id, ref.t[i].id);
        assert_true(work[i].logit == ref.t[i].logit);
    }
}

/* the array as a set is the first cur.size tokens in order; the order is as before */
static void expect_prefix_set(void)
{
    static samp_token_data set[N_MAX];
    expect_same_order();
    assert_true(cur.size <= ref.n);
    memcpy(set, work, cur.size * sizeof *set);
    qsort(set, cur.size, sizeof *set, test_compare);
    for (size_t i = 0; i < cur.size; i++) assert_num(set[i].id, ref.t[i].id);
}

/* got tokens were kept where the reference keeps want: fine if every quantity between is at the cut */
static void expect_count(size_t got, size_t want, const real *quantity, real cut, real scale)
{
    if (got == want) return;
    for (size_t i = got < want ? got : want; i < (got < want ? want : got); i++)
        if (!close_to(quantity[i], cut, scale))
            fail_msg("kept %zu, reference %zu of %zu; quantity %zu is %.20Lg, the cut %.20Lg", got, want, ref.n, i,
                     quantity[i], cut);
    count.forgiven++;
}

/* the place of a candidate with its old logit in ref.t */
static size_t place_of(const samp_token_data *t)
{
    samp_token_data *found = bsearch(t, ref.t, ref.n, sizeof *ref.t, test_compare);
    assert_non_null(found);
    return (size_t)(found - ref.t);
}

/* p of all that is left, over all that was there */
static void expect_p_all(void)
{
    for (size_t i = 0; i < cur.size; i++)
        expect_p(work[i].p, work[i].logit > -INFINITY ? ref.e[place_of(&work[i])] : 0, ref.z);
}

static void expect_p_untouched(void)
{
    for (size_t i = 0; i < cur.size; i++) assert_same(work[i].p, TEST_P_UNSET);
}

/* a parameter in (0, 1]: usual ones, extreme ones, any */
static float make_p(source *rng)
{
    static const float usual[] = { 0.5f, 0.9f, 0.95f, 0.99f, 0.05f, 0.1f, 0.25f, 1.0f };
    switch (below(rng, 4)) {
        case 0: return usual[below(rng, TEST_COUNT(usual))];
        case 1: return 1.0f - ldexpf(1, -(int)(1 + below(rng, 24)));
        case 2: return (float)exp(-12 * uniform(rng));
        default: return (float)(1.0 - uniform(rng) * 0.999);
    }
}

static size_t make_min_keep(source *rng)
{
    if (below(rng, 3)) return 0;
    return below(rng, below(rng, 2) ? 4 : 2 * n_before + 2);
}

static size_t clip(size_t x, size_t lo, size_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* ============================================================================================= truncation */

FORMULA(test_softmax, 1, 400)
{
    start_any(rng);
    apply_once(samp_init_softmax());
    assert_true(cur.sorted);
    assert_num(cur.size, n_before);
    for (size_t j = 0; j < cur.size; j++) {
        if (j < ref.n) assert_num(work[j].id, ref.t[j].id);
        expect_p(work[j].p, j < ref.n ? ref.e[j] : 0, ref.z);
    }
}

FORMULA(test_greedy, 2, 400)
{
    start_any(rng);
    apply_once(samp_init_greedy());
    assert_num(cur.size, n_before);
    assert_in_range(cur.selected, 0, n_before - 1);
    assert_num(work[cur.selected].id, ref.t[0].id);
    expect_same_order();
    expect_p_untouched();
}

FORMULA(test_top_k, 3, 600)
{
    start_any(rng);
    size_t k = below(rng, n_before + 3);
    if (below(rng, 4)) k = 1 + below(rng, clip(n_before, 1, 300));
    bool ties = below(rng, 3) == 0;
    apply_once((ties ? samp_init_top_k_ties : samp_init_top_k)((int32_t)k));
    if (k == 0) {
        expect_unchanged();
        return;
    }
    expect_prefix();
    expect_p_untouched();
    k = clip(k, 1, ref.n);
    while (ties && k < ref.n && ref.t[k].logit == ref.t[k - 1].logit) k++;
    assert_num(cur.size, k);
}

/* the smallest prefix with mass * 2^64 >= floor(p * 2^64) * z, in integers of 128 bits */
FORMULA(test_top_p, 4, 1500)
{
    static real mass[N_MAX];
    start_any(rng);
    float p = make_p(rng);
    size_t min_keep = make_min_keep(rng), want = 0;
    u128 m = 0, cut;
    apply_once(samp_init_top_p(p, min_keep));
    if (p == 1) {
        expect_unchanged();
        return;
    }
    cut = (u128)(uint64_t)ldexpl((real)p, 64) * (uint64_t)ref.z;
    do {
        m += (u128)(uint64_t)ref.w[want];
        mass[want++] = (real)m;
    } while (m << 64 < cut && want < ref.n);
    for (size_t j = want; j < ref.n; j++) mass[j] = mass[j - 1] + ref.w[j];
    want = clip(want, min_keep, SIZE_MAX);
    want = clip(want, 1, ref.n);
    expect_prefix();
    expect_p_all();
    expect_count(cur.size, want, mass, (real)p * ref.z, ref.z);
}

/* What is left of an array whose cut is at a logit, with the error of `cut` in units of `scale`: all that reach it, but
   at least min_keep, which are a prefix in order. p is not written. */
static void expect_kept_above(real cut, real scale, size_t min_keep)
{
    static real l[N_MAX];
    size_t want = 0;
    for (size_t j = 0; j < ref.n; j++) l[j] = (real)ref.t[j].logit;
    while (want < ref.n && l[want] >= cut) want++;
    want = clip(want, 1, ref.n);
    if (min_keep > ref.n) min_keep = ref.n;
    if (want < min_keep) {
        want = min_keep;
        expect_prefix();
    } else if (cur.sorted) {
        expect_prefix();
    } else {
        expect_prefix_set();
    }
    expect_p_untouched();
    expect_count(cur.size, want, l, cut, scale);
}

FORMULA(test_min_p, 5, 1500)
{
    start_any(rng);
    float p = below(rng, 20) ? make_p(rng) : 0;
    size_t min_keep = make_min_keep(rng);
    apply_once(samp_init_min_p(p, min_keep));
    if (p == 0) {
        expect_unchanged();
        return;
    }
    real top = (real)ref.t[0].logit, down = logl((real)p);
    expect_kept_above(top + down, fabsl(top) + fabsl(down), min_keep);
}

/* Keep p >= a threshold: its logarithm, from that of the sampler's number. */
typedef real threshold(real ln_x);

static void test_threshold(const char *name, uint64_t stream, samp_sampler *(*make)(float, size_t), threshold *of)
{
    source rng = source_stream(stream);
    begin();
    for (int i = 0; i < rounds(1500); i++) {
        start_any(&rng);
        float x = below(&rng, 20) ? make_p(&rng) : 0;
        size_t min_keep = make_min_keep(&rng);
        apply_once(make(x, min_keep));
        if (x == 0) {
            expect_unchanged();
            continue;
        }
        real top = (real)ref.t[0].logit, down = of(logl((real)x)) + ref.ln_z;
        if (down > 0) down = 0;
        expect_kept_above(top + down, down > -INFINITY ? fabsl(top) + fabsl(down) : 0, min_keep);
    }
    finish(name);
}

/* a p_max^2 */
static real of_top_a(real ln_x) { return ln_x - 2 * ref.ln_z; }

static real of_epsilon(real ln_x) { return ln_x; }

/* min(epsilon, sqrt(epsilon) e^-H) */
static real of_eta(real ln_x)
{
    real other = ln_x / 2 - (ref.ln_z + ref.mean_d);
    return ln_x < other ? ln_x : other;
}

/* The sum of p^2, and that of w >> 20: each w is smaller by less than 2^20, so the sum of their squares by less than
   2^21 times the sum of w. */
static real of_p_less(real ln_x)
{
    real exact = 0, sum = 0, z = 0;
    for (size_t i = 0; i < ref.n; i++) {
        uint64_t w = (uint64_t)ref.w[i] >> 20;
        sum += (real)(w * w);
        exact += ref.e[i] * ref.e[i];
        z += ref.e[i];
    }
    real share = ldexpl(sum, 40) / (ref.z * ref.z), want = exact / (z * z);
    assert_true(share <= want * (1 + NEAR) && share >= want - ldexpl(1, 21) / ref.z - NEAR * want);
    return ln_x + logl(share);
}

/* (n sum p^2 - 1) / (n - 1), of the squares that of_p_less has seen to be right; at most 0: no threshold at all */
static real of_p_less_norm(real ln_x)
{
    real n = (real)ref.n, z = (real)ref.z, sum = 0;
    for (size_t i = 0; i < ref.n; i++) {
        uint64_t w = (uint64_t)ref.w[i] >> 20;
        sum += (real)(w * w);
    }
    (void)of_p_less(ln_x);
    real above = n * ldexpl(sum, 40) - z * z;
    return above > 0 ? ln_x + logl(above / (z * z * (n - 1))) : -(real)INFINITY;
}

TEST(test_top_a) { test_threshold("top_a", 61, samp_init_top_a, of_top_a); }

TEST(test_p_less) { test_threshold("p_less", 62, samp_init_p_less, of_p_less); }

TEST(test_p_less_norm) { test_threshold("p_less_norm", 65, samp_init_p_less_norm, of_p_less_norm); }

TEST(test_epsilon) { test_threshold("epsilon", 63, samp_init_epsilon, of_epsilon); }

TEST(test_eta) { test_threshold("eta", 64, samp_init_eta, of_eta); }

/* The greedy rule: tokens in order, as long as the entropy of what is chosen, made to sum to 1, stays within the share
   of the row's. With the integer weights w: -ln of w / sum is ln sum + d, but for the rounding of w. */
FORMULA(test_top_h, 66, 1500)
{
    static real entropy[N_MAX];
    start_any(rng);
    float alpha = below(rng, 3) ? make_p(rng) : 0.4f;
    size_t min_keep = make_min_keep(rng), want = 1;
    apply_once(samp_init_top_h(alpha, min_keep));
    if (alpha == 1) {
        expect_unchanged();
        return;
    }
    real z = 0, s = 0;
    for (size_t j = 0; j < ref.n; j++) {
        z += ref.w[j];
        s += ref.w[j] * ((real)ref.t[0].logit - (real)ref.t[j].logit);
        entropy[j] = logl(ldexpl(z, -40)) + s / z;
    }
    real most = (real)alpha * entropy[ref.n - 1];
    while (want < ref.n && entropy[want] <= most) want++;
    want = clip(clip(want, min_keep, SIZE_MAX), 1, ref.n);
    expect_prefix();
    expect_p_untouched();
    expect_count(cur.size, want, entropy, most, 1 + entropy[ref.n - 1]);
}

/* Algorithm 1 of the paper: the place of the largest (l_i - l_i+1) / (i range), or tau / range places. */
FORMULA(test_min_k, 67, 1500)
{
    start_any(rng);
    float tau = below(rng, 3) ? (float)exp(-3 + 8 * uniform(rng)) : below(rng, 2) ? 0.0f : -1.0f;
    apply_once(samp_init_min_k(tau));
    if (tau < 0) {
        expect_unchanged();
        return;
    }
    expect_prefix();
    expect_p_untouched();
    real range = (real)ref.t[0].logit - (real)ref.t[ref.n - 1].logit, steepest = 0, here = 0, flat = 0;
    size_t want = 1;
    for (size_t j = 1; j < ref.n; j++) { /* steepest / want < fall / j, without a division: many are the same */
        real fall = (real)ref.t[j - 1].logit - (real)ref.t[j].logit;
        if (j == cur.size) here = fall;
        if (fall * (real)want <= steepest * (real)j) continue;
        steepest = fall;
        want = j;
    }
    steepest /= (real)want;
    here /= (real)cur.size;
    if (tau > 0) flat = range > 0 ? floorl((real)tau / range) : (real)ref.n;
    if (flat > (real)want) want = flat < (real)ref.n ? (size_t)flat : ref.n;
    if (cur.size == want) return;
    if (!close_to(here, steepest, steepest) && !close_to((real)tau, (real)cur.size * range, (real)tau))
        fail_msg("kept %zu, reference %zu of %zu", cur.size, want, ref.n);
    count.forgiven++;
}

/* ln p, as far as f32 holds it. */
FORMULA(test_log_softmax, 68, 800)
{
    start_any(rng);
    apply_once(samp_init_log_softmax());
    assert_num(cur.size, n_before);
    expect_p_untouched();
    real top = (real)ref.t[0].logit;
    for (size_t j = 0; j < cur.size; j++) {
        assert_num(work[j].id, before[j].id);
        if (before[j].logit == -INFINITY) {
            assert_true(work[j].logit == -INFINITY);
            continue;
        }
        real l = (real)before[j].logit, want = l - top - ref.ln_z;
        if (want < -(real)FLT_MAX) want = -(real)FLT_MAX;
        real off = 6e-8L * fabsl(want) + 1e-9L + 4e-16L * (fabsl(top) + fabsl(l));
        if (!(fabsl((real)work[j].logit - want) <= off))
            fail_msg("%.9g became %.9g, not %.9Lg", (double)before[j].logit, (double)work[j].logit, want);
    }
}

/* ln of the sum of e^l of a row. */
static real log_sum_of(const float *x, size_t n)
{
    real top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) top = fmaxl(top, (real)x[i]);
    for (size_t i = 0; i < n; i++) sum += expl((real)x[i] - top);
    return top + logl(sum);
}

/* Guidance by its formula, on every instruction set, in place too; a bad row changes nothing. */
TEST(test_guide)
{
    enum { MOST = 1200 };
    static float x[2][MOST], out[MOST], first[MOST], copy[MOST];
    source rng = source_stream(71);
    for (int round = 0; round < rounds(2000); round++) {
        const size_t n = 1 + (size_t)below(&rng, round % 4 ? 70 : MOST);
        const float scale = round % 5 ? (float)(4 * normal(&rng)) : 1.0f;
        for (int r = 0; r < 2; r++)
            for (size_t i = 0; i < n; i++)
                x[r][i] = percent(&rng, 10) ? -INFINITY : (float)(normal(&rng) * (round % 3 ? 3 : 60));
        x[0][n / 2] = x[1][n / 3] = 1.0f;
        const real all[2] = { log_sum_of(x[0], n), log_sum_of(x[1], n) };
        for (int isa = 0; samp_isa_list(isa); isa++) {
            assert_ok(samp_isa_force(samp_isa_list(isa)));
            assert_ok(samp_guide(x[0], x[1], n, scale, out));
            if (isa == 0) memcpy(first, out, n * sizeof *out);
            assert_memory_equal(first, out, n * sizeof *out);
        }
        assert_ok(samp_isa_force(NULL));
        for (size_t i = 0; i < n; i++) {
            const real c = (real)x[0][i] - all[0], u = (real)x[1][i] - all[1];
            const real want = x[1][i] == -INFINITY ? c : u + (real)scale * (c - u);
            if (x[0][i] == -INFINITY)
                assert_true(out[i] == -INFINITY);
            else if (!(fabsl((real)out[i] - want) <= 1.2e-7L * fabsl(want) + 1e-8L * (1 + fabsl((real)scale))))
                fail_msg("%.9g and %.9g became %.9g, not %.9Lg", (double)x[0][i], (double)x[1][i], (double)out[i],
                         want);
        }
        const int in_place = round % 2;
        memcpy(copy, x[in_place], n * sizeof *copy);
        assert_ok(samp_guide(in_place ? x[0] : copy, in_place ? copy : x[1], n, scale, copy));
        assert_memory_equal(copy, out, n * sizeof *out);
        const float bad = round % 2 ? NAN : INFINITY, good = x[round % 2][n - 1];
        x[round % 2][n - 1] = bad;
        assert_status(samp_guide(x[0], x[1], n, scale, copy), SAMP_E_NAN);
        assert_memory_equal(copy, out, n * sizeof *out);
        x[round % 2][n - 1] = good;
    }
    const float masked[2] = { -INFINITY, -INFINITY }, row[2] = { 1.0f, 2.0f }, far[2] = { 0.0f, -3e38f };
    assert_status(samp_guide(masked, row, 2, 1.5f, out), SAMP_E_EMPTY);
    assert_status(samp_guide(row, masked, 2, 1.5f, out), SAMP_E_EMPTY);
    assert_status(samp_guide(row, row, 0, 1.5f, out), SAMP_E_EMPTY);
    assert_status(samp_guide(row, row, (size_t)SAMP_MAX_VOCAB + 1, 1.5f, out), SAMP_E_RANGE);
    assert_status(samp_guide(row, row, 2, NAN, out), SAMP_E_NAN);
    assert_status(samp_guide(row, row, 2, INFINITY, out), SAMP_E_NAN);
    assert_status(samp_guide(NULL, row, 2, 1.5f, out), SAMP_E_NULL);
    assert_status(samp_guide(row, NULL, 2, 1.5f, out), SAMP_E_NULL);
    assert_status(samp_guide(row, row, 2, 1.5f, NULL), SAMP_E_NULL);
    assert_ok(samp_guide(far, row, 2, 5.0f, out));
    assert_true(out[1] == -FLT_MAX); /* still a token */
}

/* Each logit by the formula as it was published, with x = l - max. */
FORMULA(test_smoothing, 65, 800)
{
    start_any(rng);
    float f = below(rng, 20) ? (float)exp(-8 + 12 * uniform(rng)) : 0, c = 1 + (float)(9 * uniform(rng));
    if (below(rng, 3) == 0) c = 1;
    real top = (real)ref.t[0].logit, k = (3 - (real)c) / 2, s = ((real)c - 1) / 2;
    apply_once(samp_init_smoothing(f, c));
    assert_num(cur.size, n_before);
    expect_p_untouched();
    if (f == 0) {
        expect_unchanged();
        return;
    }
    for (size_t j = 0; j < cur.size; j++) {
        assert_num(work[j].id, before[j].id);
        real x = (real)before[j].logit - top, a = k * f * x * x, b = s * f * x * x * x, want = top - a + b;
        if (before[j].logit == -INFINITY) {
            assert_true(work[j].logit == -INFINITY);
            continue;
        }
        if (want < -(real)FLT_MAX) want = -(real)FLT_MAX;
        real off = 6e-8L * fabsl(want) + 1e-15L * (fabsl(top) + fabsl(a) + fabsl(b)) + 1e-45L;
        if (!(fabsl((real)work[j].logit - want) <= off))
            fail_msg("factor %.9g, curve %.9g: %.9g below the top became %.9g, not %.9Lg", (double)f, (double)c,
                     (double)x, (double)work[j].logit, want);
    }
}

/* ---- infill ---- */

static const samp_token hole_ends[] = { 2, 7 };
static const samp_vocab hole = { 1 << 20, test_letters, NULL, NULL, hole_ends, 2, 2, 7 };

static bool is_end(samp_token id) { return id == 2 || id == 7; }

static bool begins_with(samp_token a, samp_token b) /* b's text with a's */
{
    size_t n, m;
    const char *x = test_letters(NULL, a, &n), *y = test_letters(NULL, b, &m);
    return n <= m && memcmp(x, y, n) == 0;
}

/* a > b? If they are too close to tell, *doubt. */
static bool above(real a, real b, bool *doubt)
{
    if (a != b && fabsl(a - b) <= 1e-5L * fabsl(b)) *doubt = true;
    return a > b;
}

/* Which candidates stay, p [n] with them; returns how many, 0: the end alone. */
static size_t expect_infill(size_t *kept, real *p, bool *doubt)
{
    real sum[2] = { 0, 0 };
    size_t n = 0, others = 0;
    bool gone[100] = { false };
    for (size_t i = 0; i < ref.n; i++) sum[is_end(ref.t[i].id)] += p[i] = ref.e[i] / ref.z;
    if (above(3 * sum[1] * (real)ref.n, sum[0], doubt)) {
        for (size_t i = 0; i < ref.n; i++)
            if (is_end(ref.t[i].id)) p[n] = p[i] / sum[1], kept[n++] = i;
        return n;
    }
    for (size_t i = 0; i < ref.n; i++)
        for (size_t k = 0; k < ref.n && !gone[i]; k++) {
            if (k == i || gone[k] || !begins_with(ref.t[i].id, ref.t[k].id)) continue;
            size_t to = above(p[k], p[i], doubt) ? k : i, from = to == k ? i : k;
            p[to] += p[from];
            p[from] = 0;
            gone[from] = true;
        }
    for (int round = 0; round < 2; round++) {
        real least = round ? 1 / (real)(others + 1) : 0.2L, all = 0;
        size_t n_all = round ? n : ref.n;
        for (size_t i = n = others = 0; i < n_all; i++) {
            size_t at = round ? kept[i] : i;
            bool end = is_end(ref.t[at].id);
            if (gone[at] || (!end && above(least, round ? p[i] : p[at], doubt))) continue;
            others += !end;
            p[n] = round ? p[i] : p[at];
            all += p[n];
            kept[n++] = at;
        }
        if (!others && !round) return 0;
        for (size_t i = 0; i < n; i++) p[i] /= all;
    }
    return n;
}

TEST(test_infill)
{
    source rng = source_stream(62);
    int ends = 0, merged = 0;
    begin();
    for (int i = 0; i < rounds(3000); i++) {
        size_t n = 1 + below(&rng, 60), kept[100];
        real p[100];
        bool doubt = false;
        test_logits(&rng, row, n, 0.5 + 6.0 * uniform(&rng));
        if (n > 2) row[2] -= (float)below(&rng, 12);
        if (n > 7) row[7] -= (float)below(&rng, 12);
        if (n > 9 && below(&rng, 3) == 0) row[9] = -INFINITY;
        start(&rng, row, n, 1);
        apply_once(samp_init_infill(&hole));
        size_t want = expect_infill(kept, p, &doubt);
        count.forgiven += doubt;
        if (doubt) continue;
        assert_num(cur.sorted, true);
        assert_num(cur.size, want ? want : 1);
        if (!want && (cur.data[0].id != 7 || cur.data[0].logit != 1.0f))
            fail_msg("%d is not the end", cur.data[0].id);
        for (size_t k = 0; k < want; k++) {
            assert_num(cur.data[k].id, ref.t[kept[k]].id);
            if (p[k] > 0) assert_true(cur.data[k].logit == ref.t[kept[k]].logit);
            if (fabsl(cur.data[k].p - p[k]) > 1e-5L * p[k]) fail_msg("p is %g", (double)cur.data[k].p);
        }
        ends += !want || is_end(cur.data[0].id);
        merged += want > 0 && !is_end(cur.data[0].id);
    }
    assert_true(ends > rounds(3000) / 20 && merged > rounds(3000) / 20);
    finish("infill");
}

/* The vocabulary that it needs, and the token to end with. */
TEST(test_infill_vocab)
{
    samp_vocab v = hole;
    const char *field;
    for (int i = 0; i < 5; i++) {
        v = hole;
        if (i == 1) v.token_bytes = NULL;
        if (i == 2) v.eog = NULL;
        if (i == 3) v.eos = v.eot = -1;
        if (i == 4) v.eot = -1;
        own_sampler *s = samp_init_infill(i ? &v : NULL);
        assert_status(samp_status(s, &field), i == 4 ? SAMP_OK : i == 3 ? SAMP_E_RANGE : SAMP_E_NULL);
        if (i < 4) assert_text(field, "vocab");
    }
    samp_params params = samp_default_params();
    params.order = "top_k;infill";
    assert_status(samp_check_params(&params, &field), SAMP_E_NULL);
    assert_text(field, "vocab");
    params.order = "ki";
    params.vocab = &v;
    assert_ok(samp_check_params(&params, NULL));
    samp_sampler *chain = samp_chain_from_params(&params, NULL), *copy;
    char text[200];
    samp_describe(chain, text, sizeof text);
    assert_non_null(strstr(text, "top-k(k=40) -> infill -> dist"));
    for (size_t i = 0; i < 60; i++) row[i] = -(float)i / 4096; /* of all none has 0.2: the end, which is eos here */
    copy = samp_clone(chain);
    row[2] = row[7] = -INFINITY;
    assert_num(samp_sample(chain, row, 60), 2);
    assert_num(samp_sample(copy, row, 60), 2);
    samp_free(chain);
    samp_free(copy);
}

/* keep the first i tokens, i the smallest with a_0 + ... + a_i > z */
FORMULA(test_tail_free, 6, 1500)
{
    static real a[N_MAX], mass[N_MAX];
    start_any(rng);
    float z = make_p(rng);
    size_t min_keep = make_min_keep(rng), want = 0, n = ref.n;
    real sum = 0, m = 0;
    apply_once(samp_init_tail_free(z, min_keep));
    if (z == 1 || n <= 2) {
        if (z == 1) expect_unchanged();
        return;
    }
    for (size_t j = 0; j + 2 < n; j++) {
        a[j] = fabsl((ref.w[j] - ref.w[j + 1]) - (ref.w[j + 1] - ref.w[j + 2]));
        sum += a[j];
    }
    bool even = sum < 1e-6L * ref.z;
    for (size_t j = 0; j + 2 < n; j++) {
        m += even ? 1 : a[j];
        mass[j] = m / (even ? (real)(n - 2) : sum);
    }
    mass[n - 2] = mass[n - 1] = mass[n - 3];
    while (want < n - 2 && !(mass[want] > (real)z)) want++;
    if (want == n - 2) want = n;
    want = clip(want, min_keep ? min_keep : 1, SIZE_MAX);
    want = clip(want, 1, n);
    expect_prefix();
    expect_p_all();
    expect_count(cur.size, want, mass, (real)z, 1);
}

/* order by | d - mean d |, keep the smallest prefix with a mass above p */
typedef struct scored {
    real score;
    size_t at; /* in ref.t */
} scored;

static int compare_scored(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static real typical_score(size_t at) { return fabsl(ref.d[at] - ref.mean_d); }

/* Another order than the reference's is right if scores ascend but for differences at rounding's scale, the
   prefix is the smallest but for the same, and nothing outside scores clearly less than the last one kept. */
static void typical_forgive(real p, size_t min_keep)
{
    static bool kept[N_MAX];
    real mass = 0, last = 0, scale = 1 + fabsl(ref.mean_d);
    memset(kept, 0, sizeof kept);
    assert_true(ref.d[ref.n - 1] > 0); /* all equal: nothing is rounded, nothing is forgiven */
    for (size_t i = 0; i < cur.size; i++) {
        size_t at = place_of(&work[i]);
        real score = typical_score(at);
        if (i && i >= min_keep) assert_true(mass <= p * ref.z * (1 + NEAR));
        assert_true(i == 0 || score >= last || close_to(score, last, scale + ref.d[at]));
        mass += ref.w[at];
        last = score > last ? score : last;
        kept[at] = true;
    }
    assert_true(cur.size == ref.n || (mass > p * ref.z * (1 - NEAR) && cur.size >= min_keep));
    for (size_t i = 0; i < ref.n; i++)
        if (!kept[i] && typical_score(i) < last) assert_true(close_to(typical_score(i), last, scale + ref.d[i]));
    count.forgiven += ref.d[ref.n - 1] > 1e-6L; /* flatter rows have no order worth counting */
}

FORMULA(test_typical, 7, 1500)
{
    static scored typical[N_MAX];
    start_any(rng);
    float p = make_p(rng);
    size_t min_keep = make_min_keep(rng), want = 0;
    real mass = 0;
    apply_once(samp_init_typical(p, min_keep));
    if (p == 1) {
        expect_unchanged();
        return;
    }
    for (size_t j = 0; j < ref.n; j++) {
        typical[j].score = typical_score(j);
        typical[j].at = j;
    }
    qsort(typical, ref.n, sizeof *typical, compare_scored);
    while (want < ref.n && (want == 0 || want < min_keep || mass <= (real)p * ref.z))
        mass += ref.w[typical[want++].at];
    bool same = want == cur.size;
    for (size_t j = 0; j < cur.size && same; j++) same = place_of(&work[j]) == typical[j].at;
    if (!same) typical_forgive((real)p, min_keep);
    assert_false(cur.sorted);
    expect_p_all();
}

FORMULA(test_top_n_sigma, 8, 1500)
{
    start_any(rng);
    float n = below(rng, 10) ? (float)(5 * uniform(rng)) : (float)below(rng, 4) - 1;
    real mean = 0, square = 0, cut;
    bool forgiven = false;
    apply_once(samp_init_top_n_sigma(n));
    if (n <= 0) {
        expect_unchanged();
        return;
    }
    for (size_t j = 0; j < ref.n; j++) mean += ref.d[j];
    mean /= (real)ref.n;
    for (size_t j = 0; j < ref.n; j++) square += (ref.d[j] - mean) * (ref.d[j] - mean);
    cut = (real)n * sqrtl(square / (real)ref.n);
    assert_num(cur.size, n_before);
    for (size_t j = 0; j < n_before; j++) {
        real d = (real)ref.t[0].logit - (real)before[j].logit;
        assert_num(work[j].id, before[j].id);
        assert_same(work[j].p, before[j].p);
        if ((d > cut) != (work[j].logit == -INFINITY)) {
            if (!close_to(d, cut, cut + fabsl(ref.t[0].logit)))
                fail_msg("n %g: token %d has d %.20Lg, the cut is %.20Lg", (double)n, (int)before[j].id, d, cut);
            forgiven = true;
        } else if (!(d > cut)) {
            assert_true(work[j].logit == before[j].logit);
        }
    }
    count.forgiven += forgiven;
}

/* with p = 1 it acts whenever it may: of the k tokens with probability >= t the first k - 1 in order go */
TEST(test_xtc)
{
    source rng = source_stream(9);
    static real q[N_MAX];
    long acted = 0;
    begin();
    for (int i = 0; i < rounds(1500); i++) {
        start_any(&rng);
        float t = below(&rng, 8) ? (float)exp(-10 * uniform(&rng)) : 0;
        if (below(&rng, 8) == 0) t = 1.0f / (float)(1 + below(&rng, 8));
        size_t min_keep = make_min_keep(&rng), k = 0;
        bool never = below(&rng, 10) == 0;
        apply_once(samp_init_xtc(never ? 0.0f : 1.0f, t, min_keep, choose(&rng, 8)));
        for (size_t j = 0; j < ref.n; j++) q[j] = ref.w[j] / ref.z;
        while (k < ref.n && q[k] >= (real)t) k++;
        if (never || t > 0.5f) {
            expect_unchanged();
            continue;
        }
        size_t gone = 0, alive = 0, want = k < 2 || ref.n - (k - 1) < clip(min_keep, 1, SIZE_MAX) ? 0 : k - 1;
        while (gone < ref.n && !test_find(&cur, ref.t[gone].id)) gone++;
        expect_same_order();
        if (gone != want) expect_count(gone + 1, want + 1, q, (real)t, (real)t);
        for (size_t j = 0; j < cur.size; j++) alive += work[j].logit > -INFINITY;
        assert_num(alive, ref.n - gone);
        if (gone) expect_p_all();
        if (gone) acted++;
    }
    finish("xtc");
    assert_true(acted > rounds(300) - 5);
}

/* The same with exempt tokens, mostly likely ones: of the first k - 1 in order those go that are not exempt. */
TEST(test_xtc_except)
{
    source rng = source_stream(29);
    long acted = 0, spared = 0;
    begin();
    for (int i = 0; i < rounds(1500); i++) {
        start_any(&rng);
        const float t = (float)exp(-10 * uniform(&rng));
        const size_t min_keep = make_min_keep(&rng), n_exempt = 1 + below(&rng, 4);
        samp_token exempt[4];
        size_t k = 0, gone = 0, here = 0;
        bool doubt = t > 0.5f;
        for (size_t j = 0; j < 4; j++) {
            const size_t place = below(&rng, below(&rng, 3) && ref.n > 6 ? 6 : ref.n);
            exempt[j] = ref.n && below(&rng, 9) ? ref.t[place].id : (samp_token)below(&rng, N_MAX);
        }
        apply_once(samp_init_xtc_except(1.0f, t, min_keep, choose(&rng, 8), exempt, n_exempt));
        for (size_t j = 0; j < ref.n; j++) {
            const real q = ref.w[j] / ref.z;
            k += q >= (real)t;
            doubt |= close_to(q, (real)t, (real)t);
        }
        if (doubt) continue;
        bool goes[N_MAX] = { false };
        for (size_t j = 0; j + 1 < k; j++) {
            goes[j] = true;
            for (size_t e = 0; e < n_exempt; e++) goes[j] &= exempt[e] != ref.t[j].id;
            gone += goes[j];
        }
        if (ref.n - gone < clip(min_keep, 1, SIZE_MAX)) gone = 0;
        expect_same_order();
        for (size_t j = 0; j < cur.size; j++) {
            if (work[j].logit == -INFINITY) continue;
            assert_false(gone && goes[place_of(&work[j])]);
            here++;
        }
        assert_num(here, ref.n - gone);
        if (gone) expect_p_all();
        acted += gone > 0;
        spared += k > 1 && gone < k - 1 && gone;
    }
    finish("xtc_except");
    assert_true(acted > rounds(300) - 5 && spared > rounds(100) - 5);
}

/* ==================================================================================== logits, temperature */

static float clamp_logit(float l)
{
    volatile float x = l;
    return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x;
}

FORMULA(test_temp, 10, 800)
{
    start_any(rng);
    float t = (float)exp2(3 * normal(rng));
    switch (below(rng, 8)) {
        case 0: t = 0; break;
        case 1: t = 1; break;
        case 2: t = ldexpf(1, (int)below(rng, 41) - 20); break;
        case 3: t = 0.8f; break;
    }
    apply_once(samp_init_temp(t));
    if (t == 1) {
        expect_unchanged();
        return;
    }
    volatile float r = t > 0 ? 1.0f / t : 0;
    samp_token_data_array want = cur;
    assert_num(cur.size, n_before);
    for (size_t j = 0; j < n_before; j++) {
        volatile float l = before[j].logit;
        if (t == 0) {
            l = before[j].id == ref.t[0].id ? l : -INFINITY;
        } else if (l > -INFINITY) {
            l = l * r;
            l = clamp_logit(l);
        }
        assert_num(work[j].id, before[j].id);
        if (work[j].logit != l)
            fail_msg("temp %a: %a became %a, not %a", (double)t, (double)before[j].logit, (double)work[j].logit,
                     (double)l);
    }
    if (!sorted_before) assert_false(cur.sorted);
    if (sorted_before) { /* still in order if it is in order */
        bool in_order = true;
        for (size_t j = 1; j < want.size; j++) in_order &= test_compare(&work[j - 1], &work[j]) < 0;
        if (t != 0) assert_num(cur.sorted, in_order);
    }
    expect_p_untouched();
}

/* T from the entropy, then l * (1 / T) with T in f32; T at a rounding boundary of f32 may go either way */
FORMULA(test_temp_ext, 11, 1500)
{
    start_any(rng);
    float t = (float)(2 * uniform(rng)), delta = (float)(2 * uniform(rng));
    float exponent = below(rng, 3) ? (float)(3 * uniform(rng)) : (float)below(rng, 3);
    if (below(rng, 8) == 0) delta = t;
    if (below(rng, 12) == 0) exponent = 30;
    apply_once(samp_init_temp_ext(t, delta, exponent));
    if (ref.n == 1) {
        for (size_t j = 0; j < n_before; j++) assert_true(work[j].logit == before[j].logit);
        return;
    }
    if (delta == 0) return;                        /* that is temp(t), held elsewhere */
    volatile float lo = t - delta, hi = t + delta; /* parameters are f32, and so are these */
    real h = ref.ln_z + ref.mean_d;
    if (lo < 0) lo = 0;
    real temperature = (real)lo + ((real)hi - (real)lo) * powl(h / logl((real)ref.n), (real)exponent);
    float nearest = (float)temperature, tries[3];
    tries[0] = nearest;
    tries[1] = nextafterf(nearest, 0);
    tries[2] = nextafterf(nearest, INFINITY);
    assert_num(cur.size, n_before);
    int ok = -1;
    for (int k = 0; k < 3 && ok < 0; k++) {
        real half = ((real)tries[k] + (real)nearest) / 2;
        if (k && !close_to(temperature, half, temperature)) continue;
        volatile float r = 1.0f / tries[k];
        bool cold = tries[k] < ldexpf(1, -20);
        ok = k;
        for (size_t j = 0; j < n_before && ok >= 0; j++) {
            samp_token_data *x = test_find(&cur, before[j].id);
            volatile float l = before[j].logit;
            if (n_before > 1000 && !(cold || j % 61 == 0)) continue;
            if (cold)
                l = before[j].id == ref.t[0].id ? l : -INFINITY;
            else if (l > -INFINITY)
                l = l * r;
            l = clamp_logit(l);
            if (before[j].logit == -INFINITY || (cold && before[j].id != ref.t[0].id)) l = -INFINITY;
            assert_non_null(x);
            if (x->logit != l) ok = -1;
        }
    }
    if (ok < 0)
        fail_msg("temp_ext(%g, %g, %g) on %zu tokens: T should be %.20Lg", (double)t, (double)delta, (double)exponent,
                 ref.n, temperature);
    count.forgiven += ok > 0;
    expect_p_untouched();
}

FORMULA(test_logit_bias, 12, 800)
{
    static float want[N_MAX];
    static samp_logit_bias bias[64];
    start_any(rng);
    int32_t n = (int32_t)below(rng, 33), n_vocab = 0;
    for (size_t j = 0; j < n_before; j++) {
        want[j] = before[j].logit;
        if (before[j].id >= n_vocab) n_vocab = before[j].id + 1;
    }
    for (int32_t k = 0; k < n; k++) {
        size_t at = below(rng, n_before);
        bias[k].token = before[at].id;
        bias[k].bias = (float)(3 * normal(rng));
        if (k && below(rng, 4) == 0) bias[k].token = bias[below(rng, (size_t)k)].token;
        if (k && below(rng, 8) == 0) bias[k].bias = -INFINITY;
        if (below(rng, 12) == 0) bias[k].bias = below(rng, 2) ? FLT_MAX : -FLT_MAX;
        for (at = 0; before[at].id != bias[k].token; at++) {
        }
        volatile float l = want[at];
        bool masked = l == -INFINITY || bias[k].bias == -INFINITY;
        l = l + bias[k].bias;
        want[at] = masked ? -INFINITY : clamp_logit(l);
    }
    apply_once(samp_init_logit_bias(n_vocab, n, bias));
    if (n == 0) {
        expect_unchanged();
        return;
    }
    assert_false(cur.sorted);
    assert_num(cur.size, n_before);
    for (size_t j = 0; j < n_before; j++) {
        assert_num(work[j].id, before[j].id);
        if (work[j].logit != want[j])
            fail_msg("bias: %a became %a, not %a", (double)before[j].logit, (double)work[j].logit, (double)want[j]);
    }
    expect_p_untouched();
}

/* counts by looking through the whole history each time */
FORMULA(test_penalties, 13, 150)
{
    static samp_token history[512];
    int32_t last_n = (int32_t)below(rng, 4) == 0 ? (int32_t)below(rng, 4) : (int32_t)below(rng, 130);
    float repeat = below(rng, 4) ? (float)(0.5 + 1.5 * uniform(rng)) : 1.0f;
    float freq = below(rng, 3) ? (float)normal(rng) : 0.0f;
    float present = below(rng, 3) ? (float)normal(rng) : 0.0f;
    size_t n_history = 0;
    if (below(rng, 10) == 0) freq = below(rng, 2) ? FLT_MAX : -FLT_MAX;
    if (below(rng, 10) == 0) repeat = below(rng, 2) ? 1e-7f : 1e7f;
    bool off = last_n == 0 || (repeat == 1 && freq == 0 && present == 0);
    own_sampler *s = samp_init_penalties(last_n, repeat, freq, present);
    for (int step = 0; step < 8; step++) {
        size_t range = 0;
        size_t n_new = below(rng, 50);
        start_any(rng);
        range = clip(n_before, 1, 60);
        for (size_t k = 0; k < n_new; k++) {
            history[n_history] = before[below(rng, range)].id;
            assert_ok(samp_accept(s, history[n_history++]));
        }
        apply(s);
        if (off) {
            expect_unchanged();
            continue;
        }
        assert_false(cur.sorted);
        assert_num(cur.size, n_before);
        for (size_t j = 0; j < n_before; j++) {
            int c = 0;
            for (size_t k = 0; k < n_history && k < (size_t)last_n; k++)
                c += history[n_history - 1 - k] == before[j].id;
            volatile float l = before[j].logit, product, subtract;
            if (c > 0 && l > -INFINITY) {
                if (l <= 0)
                    l = l * repeat;
                else
                    l = l / repeat;
                l = clamp_logit(l); /* so that no infinity meets another in the next step */
                product = (float)c * freq;
                subtract = product + present;
                l = l - subtract;
                l = clamp_logit(l);
            }
            assert_num(work[j].id, before[j].id);
            if (work[j].logit != l)
                fail_msg("penalties(%d, %a, %a, %a), count %d: %a became %a, not %a", (int)last_n, (double)repeat,
                         (double)freq, (double)present, c, (double)before[j].logit, (double)work[j].logit, (double)l);
        }
        expect_p_untouched();
    }
}

/* ==================================================================================================== dry */

/* A vocabulary in which the breakers "\n", "<end>", "ab:" can be one token, end a token, or span several. */
static const char *const dry_text[] = { "a", "b",  "c", "d",  "\n",  "ab",    "bc", ":",   "x\ny", "<",  "e",
                                        "n", "nd", ">", "<e", "nd>", "<end>", "c<", "end", "",     "b:", "q<en" };
enum { DRY_VOCAB = (int)TEST_COUNT(dry_text) };

static const char *dry_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    *n_bytes = strlen(dry_text[token]);
    return dry_text[token];
}

static const samp_vocab dry_vocab = { DRY_VOCAB, dry_bytes, NULL, NULL, NULL, 0, -1, -1 };

/* greedy longest match, at most n_max tokens; how many */
static size_t dry_tokenize(const char *text, samp_token *out, size_t n_max)
{
    size_t n = 0;
    while (*text && n < n_max) {
        samp_token best = -1;
        size_t length = 0;
        for (samp_token t = 0; t < DRY_VOCAB; t++) {
            size_t k = strlen(dry_text[t]);
            if (k > length && strncmp(text, dry_text[t], k) == 0) best = t, length = k;
        }
        assert_true(best >= 0);
        out[n++] = best;
        text += length;
    }
    return n;
}

/* Does a breaker begin inside token h[i]? Then the place behind its last token (the largest such), else 0.
   The breaker lies in that token, or its head ends the token and its rest, as tokens, follows. */
static size_t dry_breaker_end(const samp_token *h, size_t n, size_t i, const char *const *breakers, size_t n_breakers)
{
    const char *text = dry_text[h[i]];
    size_t end = 0, n_text = strlen(text);
    for (size_t b = 0; b < n_breakers; b++) {
        size_t n_bytes = strlen(breakers[b]);
        if (strstr(text, breakers[b]) && end < i + 1) end = i + 1;
        for (size_t head = 1; head < n_bytes && head <= n_text; head++) {
            samp_token rest[20];
            size_t n_rest, k = 0;
            if (strncmp(text + n_text - head, breakers[b], head) != 0) continue;
            n_rest = dry_tokenize(breakers[b] + head, rest, 20);
            while (k < n_rest && i + 1 + k < n && h[i + 1 + k] == rest[k]) k++;
            if (k == n_rest && end < i + 1 + n_rest) end = i + 1 + n_rest;
        }
    }
    return end;
}

static bool dry_is_breaker(samp_token t, const char *const *breakers, size_t n_breakers)
{
    for (size_t b = 0; b < n_breakers; b++)
        if (strstr(dry_text[t], breakers[b])) return true;
    return false;
}

/* the length of h's longest suffix (not reaching into h[0 .. limit)) that occurs before, then t; -1: none */
static int dry_length(const samp_token *h, size_t n, size_t limit, samp_token t)
{
    int best = -1;
    for (size_t j = 1; j < n; j++) {
        int k = 0;
        if (h[j] != t) continue;
        while ((size_t)k < n - limit && (size_t)k < j && h[j - 1 - (size_t)k] == h[n - 1 - (size_t)k]) k++;
        if (k > best) best = k;
    }
    return best;
}

TEST(test_dry)
{
    source rng = source_stream(14);
    static samp_token history[4096];
    static const char *const all_breakers[] = { "\n", "<end>", "ab:", ":", "c<e", "dnc", "dn" };
    long penalised = 0, limited = 0;
    begin();
    for (int i = 0; i < rounds(250); i++) {
        const char *breakers[TEST_COUNT(all_breakers)];
        size_t n_breakers = 0, n_history = 0, range = 2 + below(&rng, DRY_VOCAB - 1);
        float multiplier = (float)(0.1 + 2 * uniform(&rng));
        float base = below(&rng, 5) ? (float)(1 + 2 * uniform(&rng)) : 1.0f;
        int32_t allowed = (int32_t)below(&rng, 5), ctx = 200;
        int32_t last_n = below(&rng, 3) ? -1 : 1 + (int32_t)below(&rng, 250);
        size_t window = last_n < 0 || last_n > ctx ? (size_t)ctx : (size_t)last_n;
        for (size_t b = 0; b < TEST_COUNT(all_breakers); b++)
            if (below(&rng, 2)) breakers[n_breakers++] = all_breakers[b];
        if (below(&rng, 6) == 0) multiplier = 3e38f;
        samp_sampler *s;
        s = samp_init_dry(&dry_vocab, ctx, multiplier, base, allowed, last_n, breakers, n_breakers);
        assert_non_null(s);
        assert_ok(samp_status(s, NULL));
        for (int step = 0; step < 12; step++) {
            size_t n_new = below(&rng, 40);
            for (size_t k = 0; k < n_new; k++) {
                /* repeat what stood some tokens ago, mostly */
                samp_token t = (samp_token)below(&rng, range);
                size_t back = 3 + below(&rng, 5) * (below(&rng, 3) == 0);
                if (n_history > back && below(&rng, 6)) t = history[n_history - back];
                history[n_history++] = t;
                assert_ok(samp_accept(s, t));
                if (below(&rng, 12)) continue;
                samp_token spelt[20]; /* now and then a breaker, whether it is one or not */
                size_t n_spelt = dry_tokenize(all_breakers[below(&rng, TEST_COUNT(all_breakers))], spelt, 20);
                for (size_t j = 0; j < n_spelt; j++) {
                    history[n_history++] = spelt[j];
                    assert_ok(samp_accept(s, spelt[j]));
                }
            }
            make_row(&rng, row, DRY_VOCAB, (int)below(&rng, 8));
            start(&rng, row, DRY_VOCAB, 1);
            apply(s);
            const samp_token *h = history + (n_history > window ? n_history - window : 0);
            size_t n = n_history > window ? window : n_history, limit = 0;
            for (size_t k = 0; k < n; k++) {
                size_t end = dry_breaker_end(h, n, k, breakers, n_breakers);
                if (end > limit) limit = end;
            }
            limited += limit > 0;
            assert_num(cur.size, n_before);
            for (size_t j = 0; j < n_before; j++) {
                samp_token t = before[j].id;
                int length = dry_length(h, n, limit, t);
                real want = before[j].logit;
                assert_num(work[j].id, t);
                if (length >= allowed && want > -INFINITY && !dry_is_breaker(t, breakers, n_breakers)) {
                    want -= (real)multiplier * powl((real)base, length - allowed);
                    if (want < -FLT_MAX) want = -FLT_MAX;
                    penalised++;
                }
                real got = work[j].logit, tolerance = 1e-6L * (fabsl(want) + fabsl(before[j].logit));
                if (!(fabsl(got - want) <= tolerance || got == want))
                    fail_msg("dry: token %d, length %d, allowed %d, window %zu, limit %zu: %.9g became %.9Lg,"
                             " not %.9Lg",
                             (int)t, length, (int)allowed, n, limit, (double)before[j].logit, got, want);
            }
            expect_p_untouched();
        }
        samp_free(s);
    }
    finish("dry");
    assert_true(penalised > rounds(5000) && limited > rounds(500));
}

/* =========================================================================== samplers that select a token */

/* p of the kept tokens, renormalised over them; returns the place of the selected one */
static size_t expect_selected(bool over_kept)
{
    real z = 0;
    assert_in_range(cur.selected, 0, cur.size - 1);
    for (size_t i = 0; i < cur.size; i++)
        if (work[i].logit > -INFINITY) z += ref.w[place_of(&work[i])];
    if (!over_kept) assert_true(z == ref.z);
    for (size_t i = 0; i < cur.size; i++)
        expect_p(work[i].p, work[i].logit > -INFINITY ? ref.e[place_of(&work[i])] : 0, z);
    size_t at = place_of(&work[cur.selected]);
    assert_true(ref.w[at] > 0);
    return at;
}

FORMULA(test_dist, 15, 400)
{
    start_any(rng);
    apply_once(samp_init_dist(choose(rng, 8)));
    assert_num(cur.size, n_before);
    expect_same_order();
    expect_selected(false);
}

/* In decimal numbers: a token is drawn again if 100 times its count is at least the percents times the window. Then it
   is mostly another one, as a thousand tokens are nearly as likely. */
TEST(test_ras)
{
    enum { WIDE = 1000 };
    source rng = source_stream(31);
    static float flat[WIDE];
    long again = 0, same = 0, once = 0;
    flat[7] = 0.01f;
    for (int i = 0; i < rounds(4000); i++) {
        const int32_t window = 1 + (int32_t)below(&rng, 120), percents = (int32_t)below(&rng, 101);
        const int32_t n = (int32_t)below(&rng, 150), often = (int32_t)below(&rng, 101);
        int32_t count = 0;
        own_sampler *chain = new_chain(samp_init_top_k(1),
                                       samp_init_ras(window, (float)percents / 100.0f, choose(&rng, 8)));
        for (int32_t k = 0; k < n; k++) {
            const samp_token token = (int32_t)below(&rng, 100) < often ? 7 : (samp_token)below(&rng, 5);
            assert_ok(samp_accept(chain, token));
            if (n - k <= window) count += token == 7;
        }
        const samp_token token = samp_sample(chain, flat, WIDE);
        const bool must = 100 * count >= percents * window;
        assert_true(token >= 0 && (must || token == 7));
        again += must;
        once += !must;
        same += must && token == 7;
    }
    assert_true(again > rounds(400) && once > rounds(400) && same * 100 < again);
}

/* how many tokens mirostat keeps, as a real number */
static real mirostat_k(real mu, int32_t m, int32_t n_vocab)
{
    size_t n = ref.n < (size_t)m ? ref.n : (size_t)m;
    real tb = 0, tt = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        real t = logl((real)(i + 2) / (real)(i + 1)), b = ref.d[i + 1] - ref.d[i];
        tb += t * b;
        tt += t * t;
    }
    real s = tb / tt, e = s - 1;
    real ratio = fabsl(e) < 1e-15L ? 1 / logl((real)n_vocab) : e / -expm1l(-e * logl((real)n_vocab));
    return powl(ratio * powl(2, mu), 1 / s);
}

/* the chosen token's surprise in bits among the kept tokens; mu moves by it */
static real surprise_of(size_t at)
{
    real z = 0;
    for (size_t i = 0; i < cur.size; i++)
        if (work[i].logit > -INFINITY) z += ref.w[place_of(&work[i])];
    return (logl(ldexpl(z, -40)) + ref.d[at]) / logl(2);
}

static void mirostat_sequence(source *rng, int version)
{
    size_t n = below(rng, 12) ? make_size(rng) : 1 + below(rng, 3);
    if (below(rng, 40) == 0) n = REAL_WIDTH;
    float tau = (float)(8 * uniform(rng)), eta = (float)(0.5 * uniform(rng));
    int32_t m = below(rng, 3) ? 100 : 2 + (int32_t)below(rng, 50);
    own_sampler *s = version == 1 ? samp_init_mirostat((int32_t)n, choose(rng, 8), tau, eta, m)
                                  : samp_init_mirostat_v2(choose(rng, 8), tau, eta);
    real mu = 2 * (real)tau;
    for (int step = 0; step < 20; step++) {
        static real quantity[N_MAX];
        real cut, scale;
        size_t want;
        make_row(rng, row, n, (int)below(rng, ROW_WIDE));
        start(rng, row, n, 1);
        apply(s);
        if (version == 1) {
            real k = ref.n > 1 ? mirostat_k(mu, m, (int32_t)n) : 1;
            for (size_t i = 0; i < ref.n; i++) quantity[i] = (real)(i + 1);
            want = !(k >= 1) ? 1 : k >= (real)ref.n ? ref.n : (size_t)k;
            cut = scale = k;
            expect_prefix();
        } else {
            for (size_t i = 0; i < ref.n; i++) quantity[i] = (ref.ln_z + ref.d[i]) / logl(2);
            for (want = 1; want < ref.n && quantity[want] <= mu; want++) {
            }
            cut = scale = mu;
            if (cur.sorted)
                expect_prefix();
            else
                expect_prefix_set();
        }
        expect_count(cur.size, want, quantity, cut, scale);
        mu = (float)(mu - (real)eta * (surprise_of(expect_selected(true)) - (real)tau)); /* the state is f32 */
    }
}

TEST(test_mirostat)
{
    source rng = source_stream(16);
    begin();
    for (int i = 0; i < rounds(100); i++) mirostat_sequence(&rng, 1);
    finish("mirostat");
}

TEST(test_mirostat_v2)
{
    source rng = source_stream(17);
    begin();
    for (int i = 0; i < rounds(100); i++) mirostat_sequence(&rng, 2);
    finish("mirostat_v2");
}

FORMULA(test_adaptive_p, 18, 100)
{
    size_t n = make_size(rng);
    float target = below(rng, 10) ? (float)uniform(rng) : (float)below(rng, 3) - 1;
    float decay = below(rng, 4) ? (float)(0.99 * uniform(rng)) : 0.0f;
    own_sampler *s = samp_init_adaptive_p(target, decay, choose(rng, 8));
    real weight = 1 / (1 - (real)decay), sum = (real)target * weight;
    for (int step = 0; step < 20; step++) {
        make_row(rng, row, n, (int)below(rng, ROW_WIDE));
        start(rng, row, n, 1);
        apply(s);
        assert_num(cur.size, n_before);
        if (target < 0) {
            expect_same_order();
            expect_selected(false);
            continue;
        }
        assert_false(cur.sorted);
        assert_in_range(cur.selected, 0, cur.size - 1);
        real a = 2 * (real)target - sum / weight, z = 0, chosen = 0;
        a = a < 0 ? 0 : a > 1 ? 1 : a;
        for (size_t j = 0; j < n_before; j++) {
            assert_num(work[j].id, before[j].id);
            if (before[j].logit == -INFINITY) {
                assert_true(work[j].logit == -INFINITY);
                assert_same(work[j].p, 0.0f);
                continue;
            }
            real p = ref.w[place_of(&before[j])] / ref.z, x = fabsl(p - a) / 0.3L;
            real l = 5 - 10 * x * x / (1 + x);
            if (!(fabsl((real)work[j].logit - l) <= 1e-5L * (1 + fabsl(l))))
                fail_msg("adaptive_p(%g, %g): p %.9Lg, a %.9Lg: logit %.9g, not %.9Lg", (double)target, (double)decay,
                         p, a, (double)work[j].logit, l);
            if (cur.selected == (int64_t)j) chosen = p;
        }
        real top = -INFINITY;
        for (size_t j = 0; j < n_before; j++)
            if ((real)work[j].logit > top) top = (real)work[j].logit;
        for (size_t j = 0; j < n_before; j++) z += roundl(ldexpl(expl((real)work[j].logit - top), 40));
        for (size_t j = 0; j < n_before; j++) expect_p(work[j].p, ldexpl(expl((real)work[j].logit - top), 40), z);
        if (below(rng, 8) == 0) { /* another token than the one selected counts for nothing */
            assert_ok(samp_accept(s, work[cur.selected].id + 1));
        } else if (below(rng, 5)) {
            assert_ok(samp_accept(s, work[cur.selected].id));
            sum = chosen + (real)decay * sum;
            weight = 1 + (real)decay * weight;
        }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, load_rows, NULL); }
