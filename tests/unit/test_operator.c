/* test_operator.c - samp_random_sample: against a reference in long double and one in integers, both of which sort the
   row and walk it; every type of logits and of results; the pitfalls that such operators are known for, each by name;
   statuses; workspaces to the byte; no heap; and the statistics of what it draws.

     SAMP_TEST_CASES   random rows (default 250; with SAMP_TEST_FULL 10,000, with SAMP_TEST_QUICK 100) */
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { LONGEST = 40000, SLACK = 64 };

/* --------------------------------------------------------------------------------------------------- types */

static const samp_dtype float_types[] = { SAMP_F32, SAMP_F16, SAMP_BF16, SAMP_F64 };
static const samp_dtype int_types[] = {
    SAMP_I8, SAMP_I16, SAMP_I32, SAMP_I64, SAMP_U8, SAMP_U16, SAMP_U32, SAMP_U64
};
static const size_t int_sizes[] = { 1, 2, 4, 8, 1, 2, 4, 8 };

/* A row of logits of some type, and what it says. */
typedef struct logits {
    samp_dtype dtype;
    size_t n;
    union {
        float f32[LONGEST];
        double f64[LONGEST];
        uint16_t half[LONGEST];
    } data;
    long double value[LONGEST];
} logits;

static void set(logits *l, size_t i, double x)
{
    float f = (float)x;
    switch (l->dtype) {
        case SAMP_F32: l->data.f32[i] = f, l->value[i] = (long double)f; break;
        case SAMP_F64: l->data.f64[i] = x, l->value[i] = (long double)x; break;
        case SAMP_F16: l->data.half[i] = half_of(x), l->value[i] = float_of_half(l->data.half[i]); break;
        default: l->data.half[i] = brain_of(f), l->value[i] = float_of_brain(l->data.half[i]); break;
    }
}

/* --------------------------------------------------------------------------------------------- one call */

typedef struct params {
    float random, topp;
    int32_t topk;
    float temperature;
} params;

static params settings(float random, float topp, int32_t topk, float temperature)
{
    params p = { random, topp, topk, temperature };
    return p;
}

/* Run with a workspace of exactly the size asked for, at some address, full of rubbish; the index, or the status. */
static int64_t run(const logits *l, params p, size_t offset)
{
    int status;
    int64_t index = -77;
    samp_random_sample *op = samp_random_sample_init(SAMP_I64, l->dtype, l->n, &status);
    assert_ok(status);
    size_t size = samp_random_sample_workspace_size(op);
    unsigned char *block = (unsigned char *)malloc(offset + size + SLACK);
    memset(block, 0xE5, offset + size + SLACK);
    size_t row_size = l->n * (l->dtype == SAMP_F64 ? 8 : l->dtype == SAMP_F32 ? 4 : 2);
    void *data = malloc(row_size); /* of its own, for a sanitizer to watch its end */
    memcpy(data, &l->data, row_size);
    unsigned long calls = heap.mallocs + heap.frees;
    status = samp_random_sample_run(op, block + offset, size, &index, data, p.random, p.topp, p.topk, p.temperature);
    assert_num(heap.mallocs + heap.frees, calls); /* no heap */
    for (size_t i = 0; i < offset; i++) assert_num(block[i], 0xE5);
    for (size_t i = 0; i < SLACK; i++) assert_num(block[offset + size + i], 0xE5);
    assert_memory_equal(data, &l->data, row_size);
    free(data);
    free(block);
    samp_random_sample_free(op);
    if (status) assert_num(index, -77); /* nothing is written after an error */
    if (!status) assert_true(index >= 0 && (size_t)index < l->n);
    return status ? status : index;
}

/* A row of f32 for a test to fill. */
static logits *row_of(samp_dtype dtype, size_t n)
{
    static logits row;
    row.dtype = dtype;
    row.n = n;
    return &row;
}

static void fill(logits *l, const float *x)
{
    for (size_t i = 0; i < l->n; i++) set(l, i, x[i]);
}

/* ------------------------------------------------------------------------------------------- references */

static const logits *ordered;
static size_t order[LONGEST];
static long double mass[LONGEST];

static int compare(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    if (ordered->value[i] != ordered->value[j]) return ordered->value[i] > ordered->value[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

static void sort_row(const logits *l)
{
    ordered = l;
    for (size_t i = 0; i < l->n; i++) order[i] = i;
    qsort(order, l->n, sizeof *order, compare);
}

/* The distance to the largest logit, as f64 is rounded: what is equal then is a tie. */
static float distance(const logits *l, size_t i) { return (float)((double)l->value[i] - (double)l->value[order[0]]); }

/* The definition in long double, on the sorted row. Where `index` stands in order; *slack = by how much of the whole
   mass it misses the threshold (0: it is the one). */
static size_t reference(const logits *l, params p, int64_t index, long double *slack)
{
    long double run = 0.0L, top = l->value[order[0]];
    size_t at = 0, first, last;
    for (size_t i = 0; i < l->n; i++) {
        if ((int64_t)order[i] == index) at = i;
        run += expl((l->value[order[i]] - top) / (long double)p.temperature);
        mass[i] = run;
    }
    first = last = at;
    while (l->dtype == SAMP_F64 && first > 0 && distance(l, order[first - 1]) == distance(l, order[at])) first--;
    while (l->dtype == SAMP_F64 && last + 1 < l->n && distance(l, order[last + 1]) == distance(l, order[at])) last++;
    long double most = (long double)p.topp * run, need, below = first ? mass[first - 1] : 0.0L;
    if (mass[p.topk - 1] < most) most = mass[p.topk - 1];
    need = (long double)p.random * most;
    *slack = mass[last] < need ? need - mass[last] : below >= need ? below - need : 0.0L;
    if (need == 0.0L && at == 0) *slack = 0.0L;
    *slack /= run;
    return at;
}

static int compare_index(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return i < j ? -1 : i > j;
}

__extension__ typedef unsigned __int128 u128;

/* The same in the integers that the header promises, to the last bit. */
static int64_t exact(const logits *l, params p)
{
    static uint64_t sum[LONGEST];
    static float d[LONGEST];
    float top = (float)l->value[order[0]];
    uint64_t run = 0;
    for (size_t i = 0; i < l->n; i++) {
        d[i] = l->dtype == SAMP_F64 ? distance(l, order[i]) : (float)l->value[order[i]] - top;
        run += inside_weight(0.0f, d[i] / p.temperature);
        sum[i] = run;
    }
    u128 one = (u128)1 << 64;
    u128 r = (uint64_t)ldexp((double)p.random, 64), rp = (uint64_t)ldexp((double)p.random * (double)p.topp, 64);
    u128 a = (r * sum[p.topk - 1] + one - 1) >> 64, b = (rp * run + one - 1) >> 64, need = a < b ? a : b;
    size_t i = 0, first, n = 1;
    while (sum[i] < need) i++;
    if (l->dtype != SAMP_F64) return (int64_t)order[i];
    /* f64 that are equal after rounding stand by index */
    static size_t tie[LONGEST];
    for (first = i; first > 0 && d[first - 1] == d[i];) first--;
    while (first + n < l->n && d[first + n] == d[i]) n++;
    memcpy(tie, order + first, n * sizeof *tie);
    qsort(tie, n, sizeof *tie, compare_index);
    return (int64_t)tie[i - first];
}

/* ------------------------------------------------------------------------------------------- random rows */

static void make_row(source *rng, logits *l)
{
    static const double sigmas[] = { 0.01, 0.5, 1, 3, 8, 100 }, offsets[] = { 0, 0, 0, 20, -300, 5000 };
    double sigma = sigmas[below(rng, 6)], offset = offsets[below(rng, 6)];
    size_t kind = below(rng, 8), masked = below(rng, 4);
    for (size_t i = 0; i < l->n; i++) {
        double x = sigma * normal(rng);
        if (kind == 0) x = sigma;                         /* flat */
        if (kind == 1) x = sigma * (double)below(rng, 4); /* ties */
        if (kind == 2) x = i == l->n / 2 ? 30.0 : x;      /* a peak */
        if (kind == 3) x = -0.001 * sigma * (double)i;    /* sorted */
        if (kind == 4) x = 0.001 * sigma * (double)i;     /* the other way round */
        if (kind == 5 && below(rng, 50) == 0) x = -1e30 * (double)(1 + below(rng, 3));
        if (kind == 6) x = i % 2 ? 0.0 : -0.0;
        if (kind != 6) x += offset;
        if (masked == 0 && below(rng, 3) == 0 && i != l->n / 2) x = -INFINITY;
        if (masked == 1 && i != l->n / 2) x = below(rng, 100) ? -INFINITY : x;
        set(l, i, x);
    }
}

static size_t make_length(source *rng)
{
    static const size_t lengths[] = { 1, 2, 3, 15, 16, 17, 63, 255, 256, 257, 511, 512, 513, 1000, 4097 };
    size_t how = below(rng, 100);
    return how < 60 ? lengths[below(rng, 15)] : how < 98 ? 1 + below(rng, 700) : 1 + below(rng, LONGEST);
}

static params make_params(source *rng, size_t n)
{
    static const float temperatures[] = { 1, 1, 0.7f, 2, 0.1f, 1e-3f, 1e-30f, 50, 1e6f, 1e38f };
    static const float topps[] = { 1, 1, 0.9f, 0.5f, 0.99f, 0.999999f, 1e-3f, 1e-20f };
    params p;
    p.temperature = temperatures[below(rng, 10)];
    p.topp = below(rng, 3) ? topps[below(rng, 8)] : (float)(1.0 - uniform(rng) * 0.999);
    p.topk = (int32_t)(below(rng, 2) ? n : 1 + below(rng, below(rng, 2) ? n : n < 50 ? n : 50));
    p.random = (float)uniform(rng);
    if (below(rng, 8) == 0) p.random = 0.99999994f;
    if (below(rng, 8) == 0) p.random = (float)ldexp(p.random, -(int)below(rng, 100));
    if (p.random >= 1.0f) p.random = 0.5f;
    return p;
}

/* A random number that puts the threshold next to a running sum. */
static float at_a_sum(source *rng, const logits *l, params p)
{
    long double slack, most;
    reference(l, p, 0, &slack);
    most = (long double)p.topp * mass[l->n - 1];
    if (mass[p.topk - 1] < most) most = mass[p.topk - 1];
    float r = (float)(mass[below(rng, (size_t)p.topk)] / most);
    if (below(rng, 3) == 0) r = nextafterf(r, 0.0f);
    if (below(rng, 3) == 0) r = nextafterf(r, 1.0f);
    return r < 1.0f ? r : 0.99999994f;
}

TEST(test_random_rows)
{
    source rng = source_stream(6000);
    size_t off = 0, anywhere = 0, all = cases(10000, 100);
    for (size_t c = 0; c < all; c++) {
        logits *l = row_of(float_types[c % 4], make_length(&rng));
        make_row(&rng, l);
        params p = make_params(&rng, l->n);
        sort_row(l);
        if (c % 3 == 0) p.random = at_a_sum(&rng, l, p);
        int64_t want = exact(l, p);
        const char *isa;
        for (int i = 0; (isa = samp_isa_list(i)) != NULL; i++) {
            assert_ok(samp_isa_force(isa));
            int64_t got = run(l, p, below(&rng, 70));
            if (got != want)
                test_fail(__FILE__, __LINE__, "case %zu, %s: %lld, wanted %lld; n %zu, r %.9g, p %.9g, k %d, t %.9g",
                          c, isa, (long long)got, (long long)want, l->n, (double)p.random, (double)p.topp,
                          (int)p.topk, (double)p.temperature);
        }
        long double slack;
        size_t at = reference(l, p, want, &slack);
        if (p.random == 0.0f) assert_num(at, 0);
        off += slack > 0.0L;
        anywhere += slack > 0.0L && c % 3;
        if (slack > 4e-7L)
            test_fail(__FILE__, __LINE__, "case %zu: off by %.3Lg of the mass; n %zu, r %.9g, p %.9g, k %d, t %.9g",
                      c, slack, l->n, (double)p.random, (double)p.topp, (int)p.topk, (double)p.temperature);
    }
    samp_isa_force(NULL);
    assert_true(off < all / 4);
    assert_true(anywhere <= all / 500); /* but for thresholds put next to a sum on purpose there is hardly one */
}

/* Every f16 and bf16 there is. */
TEST(test_conversions)
{
    for (uint32_t h = 0; h < 65536; h++) {
        assert_same(inside_from_half((uint16_t)h), float_of_half((uint16_t)h));
        assert_same(inside_from_brain((uint16_t)h), float_of_brain((uint16_t)h));
    }
}

/* Each element of a row, wherever it stands, can be the largest, the only one, and the last to be reached. */
TEST(test_every_element)
{
    for (size_t t = 0; t < 4; t++)
        for (size_t n = 1; n <= 600; n += n < 40 ? 1 : 37) {
            logits *l = row_of(float_types[t], n);
            for (size_t k = 0; k < n; k += quick() ? 1 + n / 8 : 1) {
                for (size_t i = 0; i < n; i++) set(l, i, i == k ? 3.0 : -INFINITY);
                assert_num(run(l, settings(0.0f, 1.0f, (int32_t)n, 1.0f), 0), k);
                assert_num(run(l, settings(0.75f, 1.0f, (int32_t)n, 1.0f), 0), k);
                for (size_t i = 0; i < n; i++) set(l, i, i == k ? 3.0 : 2.0);
                assert_num(run(l, settings(0.5f, 0.5f, 1, 1.0f), 0), k);
                assert_num(run(l, settings(0.5f, 0.0f, (int32_t)n, 1.0f), 0), k);
                for (size_t i = 0; i < n; i++) set(l, i, i == k ? 2.0 : 3.0);
                assert_num(run(l, settings(0.99999994f, 1.0f, (int32_t)n, 1.0f), 0), k);
                if (n > 1)
                    assert_num(run(l, settings(0.99999994f, 1.0f, (int32_t)n - 1, 1.0f), 0),
                               k == n - 1 ? n - 2 : n - 1);
            }
        }
}

/* ------------------------------------------------------------------------------------------------ results */

TEST(test_every_result_type)
{
    static const size_t rooms[] = { 128, 32768, SAMP_MAX_VOCAB, SAMP_MAX_VOCAB,
                                    256, 65536, SAMP_MAX_VOCAB, SAMP_MAX_VOCAB };
    for (size_t t = 0; t < 8; t++)
        for (size_t f = 0; f < 4; f++) {
            int status = 1;
            size_t longest = rooms[t] < LONGEST ? rooms[t] : LONGEST;
            logits *l = row_of(float_types[f], longest);
            for (size_t i = 0; i < longest; i++) set(l, i, i == longest - 1 ? 1.0 : 0.0);
            samp_random_sample *op = samp_random_sample_init(int_types[t], l->dtype, longest, &status);
            assert_ok(status);
            size_t size = samp_random_sample_workspace_size(op);
            void *workspace = malloc(size);
            for (size_t at = 0; at < 2; at++) { /* aligned or not */
                unsigned char bytes[24];
                uint64_t index = 0;
                memset(bytes, 0xC3, sizeof bytes);
                assert_ok(samp_random_sample_run(op, workspace, size, bytes + 4 + at, &l->data, 0.5f, 1.0f, 1, 1.0f));
                memcpy(&index, bytes + 4 + at, int_sizes[t]);
                assert_u64(index, longest - 1);
                for (size_t i = 0; i < sizeof bytes; i++)
                    if (i < 4 + at || i >= 4 + at + int_sizes[t]) assert_num(bytes[i], 0xC3);
            }
            free(workspace);
            samp_random_sample_free(op);
            op = samp_random_sample_init(int_types[t], l->dtype, rooms[t], &status);
            assert_true(op != NULL && status == SAMP_OK);
            samp_random_sample_free(op);
            op = samp_random_sample_init(int_types[t], l->dtype, rooms[t] + 1, &status);
            assert_true(op == NULL);
            assert_status(status, SAMP_E_RANGE);
        }
    assert_num(heap.live, 0);
}

/* ----------------------------------------------------------------------------------------------- statuses */

TEST(test_create_statuses)
{
    int status;
    for (int d = -1; d <= SAMP_U64 + 1; d++) {
        bool is_float = d >= SAMP_F32 && d <= SAMP_F64, is_int = d >= SAMP_I8 && d <= SAMP_U64;
        samp_random_sample *op = samp_random_sample_init(SAMP_I32, (samp_dtype)d, 10, &status);
        assert_status(status, is_float ? SAMP_OK : SAMP_E_DTYPE);
        assert_true((op != NULL) == is_float);
        samp_random_sample_free(op);
        op = samp_random_sample_init((samp_dtype)d, SAMP_F32, 10, &status);
        assert_status(status, is_int ? SAMP_OK : SAMP_E_DTYPE);
        assert_true((op != NULL) == is_int);
        samp_random_sample_free(op);
    }
    assert_true(samp_random_sample_init(SAMP_I32, SAMP_F32, 0, &status) == NULL);
    assert_status(status, SAMP_E_EMPTY);
    assert_true(samp_random_sample_init(SAMP_I32, SAMP_F32, SAMP_MAX_VOCAB + 1, &status) == NULL);
    assert_status(status, SAMP_E_RANGE);
    assert_true(samp_random_sample_init(SAMP_I32, SAMP_F32, SIZE_MAX, NULL) == NULL); /* nobody asks */
    heap.fail_at = 1, heap.fail_after = true;
    assert_true(samp_random_sample_init(SAMP_I32, SAMP_F32, 10, &status) == NULL);
    heap.fail_at = 0, heap.fail_after = false;
    assert_status(status, SAMP_E_NOMEM);
    samp_random_sample_free(NULL);
    assert_num(samp_random_sample_workspace_size(NULL), 0);
    assert_num(heap.live, 0);
}

TEST(test_run_statuses)
{
    static const float zero[5] = { 0, 0, 0, 0, 0 };
    for (size_t f = 0; f < 4; f++) {
        logits *l = row_of(float_types[f], 5);
        fill(l, zero);
        int status, good = 2;
        samp_random_sample *op = samp_random_sample_init(SAMP_I32, l->dtype, 5, &status);
        size_t size = samp_random_sample_workspace_size(op);
        void *ws = malloc(size);
        int32_t out = -77;
        static const float bad_random[] = { -1e-9f, 1.0f, 2.0f, INFINITY, -INFINITY };
        static const float bad_topp[] = { -1e-9f, 1.0000001f, INFINITY, -INFINITY };
        static const float bad_temperature[] = { -1e-9f, INFINITY, -INFINITY };
        static const int32_t bad_topk[] = { 0, -1, 6, INT32_MAX, INT32_MIN };
#define RUN(op, ws, size, out, data, r, p, k, t) samp_random_sample_run(op, ws, size, out, data, r, p, k, t)
        assert_status(RUN(NULL, ws, size, &out, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_NULL);
        assert_status(RUN(op, NULL, size, &out, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_NULL);
        assert_status(RUN(op, ws, size, NULL, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_NULL);
        assert_status(RUN(op, ws, size, &out, NULL, 0.5f, 0.9f, good, 1.0f), SAMP_E_NULL);
        assert_status(RUN(op, ws, size - 1, &out, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_WORKSPACE);
        assert_status(RUN(op, ws, 0, &out, &l->data, 0.0f, 0.9f, good, 1.0f), SAMP_E_WORKSPACE);
        assert_status(RUN(op, ws, size, &out, &l->data, NAN, 0.9f, good, 1.0f), SAMP_E_NAN);
        assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, NAN, good, 1.0f), SAMP_E_NAN);
        assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, 0.9f, good, NAN), SAMP_E_NAN);
        for (size_t i = 0; i < TEST_COUNT(bad_random); i++)
            assert_status(RUN(op, ws, size, &out, &l->data, bad_random[i], 0.9f, good, 1.0f), SAMP_E_RANGE);
        for (size_t i = 0; i < TEST_COUNT(bad_topp); i++)
            assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, bad_topp[i], good, 1.0f), SAMP_E_RANGE);
        for (size_t i = 0; i < TEST_COUNT(bad_temperature); i++)
            assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, 0.9f, good, bad_temperature[i]), SAMP_E_RANGE);
        for (size_t i = 0; i < TEST_COUNT(bad_topk); i++) {
            assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, 0.9f, bad_topk[i], 1.0f), SAMP_E_RANGE);
            /* the argmax does not need it, and it is wrong all the same */
            assert_status(RUN(op, ws, size, &out, &l->data, 0.0f, 0.9f, bad_topk[i], 0.0f), SAMP_E_RANGE);
        }
        for (size_t i = 0; i < 5; i++)
            for (int greedy = 0; greedy < 2; greedy++) {
                float r = greedy ? 0.0f : 0.5f;
                set(l, i, NAN);
                assert_status(RUN(op, ws, size, &out, &l->data, r, 0.9f, good, 1.0f), SAMP_E_NAN);
                set(l, i, INFINITY);
                assert_status(RUN(op, ws, size, &out, &l->data, r, 0.9f, good, 1.0f), SAMP_E_NAN);
                set(l, i, 0.0);
            }
        for (size_t i = 0; i < 5; i++) set(l, i, i == 3 ? (double)NAN : -INFINITY); /* no number at all */
        assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_NAN);
        for (size_t i = 0; i < 5; i++) set(l, i, -INFINITY);
        assert_status(RUN(op, ws, size, &out, &l->data, 0.5f, 0.9f, good, 1.0f), SAMP_E_EMPTY);
        assert_status(RUN(op, ws, size, &out, &l->data, 0.0f, 0.9f, good, 1.0f), SAMP_E_EMPTY);
        assert_num(out, -77);
        fill(l, zero);
        assert_ok(RUN(op, ws, size, &out, &l->data, 0.99999994f, 1.0f, 5, 1.0f));
        assert_num(out, 4);
#undef RUN
        free(ws);
        samp_random_sample_free(op);
    }
}

/* f64 beyond the range of f32, and finer than it. */
TEST(test_f64_is_not_cut_down)
{
    logits *l = row_of(SAMP_F64, 3);
    set(l, 0, 1.0);
    set(l, 1, 1.0 + 1e-12);
    set(l, 2, 1.0 - 1e-12);
    assert_num(run(l, settings(0.0f, 1.0f, 3, 1.0f), 0), 1); /* argmax */
    assert_num(run(l, settings(0.5f, 1.0f, 2, 1.0f), 0), 1); /* order: 1 0 2, a third each, of the first two */
    assert_num(run(l, settings(0.9f, 1.0f, 2, 1.0f), 0), 0);
    assert_num(run(l, settings(0.9f, 1.0f, 3, 1.0f), 0), 2);
    set(l, 0, -1e300);
    set(l, 1, 1e300);
    set(l, 2, 1e300);
    assert_num(run(l, settings(0.25f, 1.0f, 3, 1.0f), 0), 1);
    assert_num(run(l, settings(0.75f, 1.0f, 3, 1.0f), 0), 2);
    for (size_t i = 0; i < 3; i++) set(l, i, -DBL_MAX);
    assert_num(run(l, settings(0.5f, 1.0f, 3, 1.0f), 0), 1);
}

/* --------------------------------------------------------------------------------------------- pitfalls */

/* Softmax before top-k: the nucleus is a share of the whole row's mass, min(topp * total, mass of the topk). */
TEST(test_pitfall_topp_counts_the_whole_row)
{
    static const float eight[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    logits *l = row_of(SAMP_F32, 8);
    fill(l, eight);
    /* topp 0.5 is 4 tokens of 8; with topk 4 it is still these 4, not half of them */
    assert_num(run(l, settings(0.99999994f, 0.5f, 8, 1.0f), 0), 3);
    assert_num(run(l, settings(0.99999994f, 0.5f, 4, 1.0f), 0), 3);
    assert_num(run(l, settings(0.99999994f, 0.5f, 3, 1.0f), 0), 2);
    assert_num(run(l, settings(0.99999994f, 0.25f, 4, 1.0f), 0), 1);
    assert_num(run(l, settings(0.6f, 0.5f, 4, 1.0f), 0), 2);
}

/* Temperature 0, and temperatures so small that a quotient overflows. */
TEST(test_pitfall_temperature_zero)
{
    static const float x[5] = { -3e38f, 2.0f, 3e38f, 2.9e38f, -INFINITY };
    static const float temperatures[] = { 0.0f, 1e-45f, 1e-38f, 1e-30f, 1e-3f };
    for (size_t f = 0; f < 4; f++) {
        logits *l = row_of(float_types[f], 5);
        fill(l, x);
        if (l->dtype == SAMP_F16) set(l, 3, 60000.0); /* 3e38 is 65504 there */
        for (size_t i = 0; i < TEST_COUNT(temperatures); i++)
            assert_num(run(l, settings(0.99999994f, 1.0f, 5, temperatures[i]), 0), 2);
    }
}

/* Top-p without the shift: the token that crosses the threshold stays, the first one always. */
TEST(test_pitfall_topp_keeps_what_crosses)
{
    static const float peak[4] = { 0.0f, 10.0f, 0.0f, 0.0f };
    static const float two[4] = { 1.0f, 1.0f, -20.0f, -20.0f };
    static const float shares[] = { 1e-30f, 1e-6f, 0.1f, 0.5f, 0.99f };
    logits *l = row_of(SAMP_F32, 4);
    fill(l, peak);
    for (size_t i = 0; i < TEST_COUNT(shares); i++)
        assert_num(run(l, settings(0.99999994f, shares[i], 4, 1.0f), 0), 1);
    fill(l, two);
    assert_num(run(l, settings(0.99999994f, 0.6f, 4, 1.0f), 0), 1); /* crosses in the second */
    assert_num(run(l, settings(0.99999994f, 0.4f, 4, 1.0f), 0), 0);
}

/* Sums in half precision: thousands of equally unlikely tokens are reached all the same, each in its turn. */
TEST(test_pitfall_half_precision_sums)
{
    const int step = quick() ? 31 : 1;
    for (size_t f = 0; f < 4; f++) {
        logits *l = row_of(float_types[f], LONGEST);
        for (size_t i = 0; i < LONGEST; i++) set(l, i, 0.0);
        for (int i = 1; i < 1000; i += step) {
            float r = (float)i / 1000.0f;
            int64_t want = (int64_t)ceil((double)r * LONGEST) - 1;
            assert_num(run(l, settings(r, 1.0f, LONGEST, 1.0f), 0), want);
        }
        assert_num(run(l, settings(0.99999994f, 1.0f, LONGEST, 1.0f), 0), LONGEST - 1);
        set(l, 0, 8.0); /* 2981 times as likely as one of the rest, and 7 % of the mass */
        double z = exp(8.0) + LONGEST - 1;
        for (int i = 1; i < 100; i += step) {
            float r = (float)i / 100.0f;
            double rest = (double)r * z - exp(8.0);
            assert_num(run(l, settings(r, 1.0f, LONGEST, 1.0f), 0), rest <= 0.0 ? 0 : (int64_t)ceil(rest));
        }
    }
}

/* Parameters of one request used for the next: nothing stays in the operator or the workspace. */
TEST(test_pitfall_parameters_of_another_row)
{
    source rng = source_stream(6200);
    enum { N = 300, ROWS = 40 };
    static logits rows[ROWS];
    static params p[ROWS];
    int64_t want[ROWS];
    for (int r = 0; r < ROWS; r++) {
        rows[r].dtype = SAMP_F16;
        rows[r].n = N;
        make_row(&rng, &rows[r]);
        p[r] = make_params(&rng, N);
        if (r % 5 == 0) p[r].temperature = 0.0f;
        want[r] = run(&rows[r], p[r], 0);
    }
    samp_random_sample *op = samp_random_sample_init(SAMP_I64, SAMP_F16, N, NULL);
    size_t size = samp_random_sample_workspace_size(op);
    void *workspace = malloc(size);
    for (int i = 0; i < 2000; i++) {
        int r = (int)below(&rng, ROWS);
        int64_t got;
        assert_ok(samp_random_sample_run(op, workspace, size, &got, &rows[r].data, p[r].random, p[r].topp, p[r].topk,
                                         p[r].temperature));
        assert_num(got, want[r]);
    }
    free(workspace);
    samp_random_sample_free(op);
}

/* Writing to the caller's logits, or to a copy that nobody reads: they are const, and they count. */
TEST(test_pitfall_logits_are_read_only)
{
    source rng = source_stream(6300);
    static logits before;
    for (size_t f = 0; f < 4; f++)
        for (int i = 0; i < 50; i++) {
            logits *l = row_of(float_types[f], 700);
            make_row(&rng, l);
            params p = make_params(&rng, 700);
            before = *l;
            int64_t first = run(l, p, 0);
            assert_memory_equal(&before, l, sizeof *l);
            set(l, (size_t)first, -INFINITY); /* a change between two runs is seen */
            int64_t second = run(l, p, 0);
            assert_true(second != first);
        }
}

/* 0 is not "off": topp 0 is the argmax, topk 0 an error; 1 and n are what changes nothing. */
TEST(test_pitfall_disabled_values)
{
    static const float x[6] = { 0.5f, 2.0f, 1.0f, 2.0f, -1.0f, -INFINITY };
    logits *l = row_of(SAMP_F32, 6);
    fill(l, x);
    sort_row(l);
    for (float r = 0.0f; r < 1.0f; r += 0.01f) {
        assert_num(run(l, settings(r, 0.0f, 6, 1.0f), 0), 1); /* ties: the smaller index */
        assert_num(run(l, settings(r, 1.0f, 1, 1.0f), 0), 1);
        assert_num(run(l, settings(r, 1.0f, 6, 0.0f), 0), 1);
        assert_status((int)run(l, settings(r, 1.0f, 0, 1.0f), 0), SAMP_E_RANGE);
        long double slack;
        size_t at = reference(l, settings(r, 1.0f, 6, 1.0f), run(l, settings(r, 1.0f, 6, 1.0f), 0), &slack);
        assert_true(slack == 0.0L && at < 5);
        /* five tokens are there to take: topk 5 is as good as off */
        assert_num(run(l, settings(r, 1.0f, 5, 1.0f), 0), run(l, settings(r, 1.0f, 6, 1.0f), 0));
    }
}

/* A serial scan with no end: the largest random number still ends inside, and never at a masked or weightless token. */
TEST(test_pitfall_the_scan_ends)
{
    source rng = source_stream(6400);
    for (int i = 0; i < 2000; i++) {
        logits *l = row_of(float_types[i % 4], 1 + below(&rng, 300));
        make_row(&rng, l);
        params p = make_params(&rng, l->n);
        p.random = 0.99999994f;
        int64_t got = run(l, p, 0);
        assert_true(got >= 0 && l->value[got] > (long double)-INFINITY);
    }
}

/* -------------------------------------------------------------------------------------------- statistics */

enum { N_STAT = 24, DRAWS = 10000 };

/* P(i) after topp and topk: the share of the threshold's range that ends at i. */
static void shares(const logits *l, params p, double *share)
{
    long double slack, below = 0.0L;
    sort_row(l);
    reference(l, p, 0, &slack);
    long double most = (long double)p.topp * mass[l->n - 1];
    if (mass[p.topk - 1] < most) most = mass[p.topk - 1];
    for (size_t i = 0; i < l->n; i++) {
        long double end = mass[i] < most ? mass[i] : most;
        share[order[i]] = (double)((end - below) / most);
        below = end;
    }
}

static double chi_square(const size_t *count, const double *share, size_t n, size_t draws, int *freedom)
{
    double sum = 0.0;
    *freedom = -1;
    for (size_t i = 0; i < n; i++) {
        double want = share[i] * (double)draws;
        if (want < 5.0) continue;
        sum += ((double)count[i] - want) * ((double)count[i] - want) / want;
        ++*freedom;
    }
    return sum;
}

/* On a grid of random numbers every index comes as often as its share says, but for the ends of its interval; drawn at
   random it passes a chi-square test, which counts that are moved a little do not. */
TEST(test_statistics)
{
    source rng = source_stream(6500), row_rng = source_stream(6501);
    size_t told = 0, cases = 0;
    static const params some[] = { { 0, 1.0f, N_STAT, 1.0f }, { 0, 0.8f, N_STAT, 1.0f },  { 0, 1.0f, 7, 0.7f },
                                   { 0, 0.6f, 5, 1.5f },      { 0, 0.95f, N_STAT, 0.3f }, { 0, 1.0f, N_STAT, 1e6f } };
    size_t draws = env_setting("SAMP_TEST_FULL", 0) ? DRAWS : DRAWS / 10;
    for (size_t c = 0; c < TEST_COUNT(some) * 4; c += quick() ? 5 : 1) {
        params p = some[c / 4];
        cases++;
        logits *l = row_of(float_types[c % 4], N_STAT);
        double share[N_STAT];
        int freedom;
        for (size_t i = 0; i < N_STAT; i++) set(l, i, i % 5 == 4 ? 1.0 : 1.5 * normal(&row_rng));
        shares(l, p, share);
        samp_random_sample *op = samp_random_sample_init(SAMP_U8, l->dtype, N_STAT, NULL);
        size_t size = samp_random_sample_workspace_size(op), grid[N_STAT] = { 0 }, count[N_STAT] = { 0 };
        void *workspace = malloc(size);
        for (size_t i = 0; i < draws; i++) {
            uint8_t a, b;
            float even = (float)(((double)i + 0.5) / (double)draws),
                  any = (float)(choose(&rng, 8) >> 40) / 16777216.0f;
            assert_ok(samp_random_sample_run(op, workspace, size, &a, &l->data, even, p.topp, p.topk, p.temperature));
            assert_ok(samp_random_sample_run(op, workspace, size, &b, &l->data, any, p.topp, p.topk, p.temperature));
            grid[a]++;
            count[b]++;
        }
        for (size_t i = 0; i < N_STAT; i++) assert_near((double)grid[i], share[i] * (double)draws, 2.0);
        double fit = chi_square(count, share, N_STAT, draws, &freedom);
        double limit = freedom + 5.0 * sqrt(2.0 * freedom) + 15.0; /* p < 1e-5 */
        if (fit > limit) test_fail(__FILE__, __LINE__, "chi-square %.1f, %d degrees of freedom", fit, freedom);
        size_t best = order[0], next = order[1]; /* and it can tell, by 15 standard deviations */
        size_t moved = (size_t)(15.0 * sqrt(share[next] * (double)draws));
        if (share[next] > 0.01) {
            told++;
            count[best] -= moved < count[best] ? moved : count[best];
            count[next] += moved;
            assert_true(chi_square(count, share, N_STAT, draws, &freedom) > limit);
        }
        free(workspace);
        samp_random_sample_free(op);
    }
    assert_true(told > cases / 2);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
