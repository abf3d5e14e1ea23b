/* test_math.c - the canonical arithmetic (>>math in sampling.h) and what is built from it: error bounds against
   long double, exact properties against integers, and recorded vectors (tests/data/math_vectors.h) that every
   compiler, optimisation and machine has to reproduce to the last bit.

       test_math                       all tests
       test_math --print-vectors       writes tests/data/math_vectors.h anew to the standard output: the same
                                       arguments (so add yours there first, with any result), today's results
       -DSAMP_TEST_PLAIN               a program without cmocka that only checks the vectors: "N vectors ok", or
                                       the first difference and exit status 1; compiles as C++11 too */
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#ifdef SAMP_TEST_PLAIN
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#else
#include "tests/support/test.h"
#endif

/* ================================================================================================ vectors */
/* Floating-point numbers are hexadecimal text ("0x1.8p+1"), which strtod() reads exactly. */

typedef struct vector {
    const char *function, *x, *y; /* its name and arguments */
    const char *result;           /* a double, or an integer in hexadecimal */
} vector;

typedef struct row_vector {
    const char *row;             /* a row of make_row() */
    uint64_t z, s;               /* its exact sums */
    const char *entropy, *reach; /* and what top_n_sigma(1.5) allows */
} row_vector;

typedef struct cut_vector {
    const char *row, *sampler;
    size_t size; /* what it leaves: so many candidates, and a hash of them */
    uint64_t hash;
} cut_vector;

typedef struct draw_vector {
    const char *row, *sampler;
    samp_token token[8]; /* of positions 0 to 7 */
} draw_vector;

#include "tests/data/math_vectors.h"

/* ---- rows: exact in any arithmetic ---- */

enum { ROW_MAX = 5000 };
static float row_logit[ROW_MAX];

static const struct {
    const char *name;
    size_t n;
} row_list[] = {
    { "one", 1 },        { "two", 2 },       { "three", 3 },       { "even", 100 },   { "geometric", 300 },
    { "uniform", 1000 }, { "masked", 257 },  { "ties", 600 },      { "narrow", 400 }, { "wide", 500 },
    { "tiny", 64 },      { "peaked", 2000 }, { "large", ROW_MAX },
};

static uint32_t row_mix(uint32_t i)
{
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2du;
    return i ^ (i >> 15);
}

/* fills row_logit, returns n; 0: no such row */
static size_t make_row(const char *name)
{
    size_t kind = 0, n;
    while (kind < TEST_COUNT(row_list) && strcmp(row_list[kind].name, name) != 0) kind++;
    if (kind == TEST_COUNT(row_list)) return 0;
    n = row_list[kind].n;
    for (size_t i = 0; i < n; i++) {
        uint32_t x = row_mix((uint32_t)i + 977u * (uint32_t)kind), bits;
        float u = (float)(int32_t)(x >> 12) * (1.0f / (1 << 20)), l; /* [0, 1) */
        switch (name[0] == 't' ? name[1] : name[0]) {
            case 'o': l = 3.5f; break; /* one */
            case 'w':
            case 'h': l = -0.75f * (float)i; break;                  /* two, three */
            case 'e': l = 1.25f; break;                              /* even */
            case 'g': l = -0.09375f * (float)i; break;               /* geometric */
            case 'm': l = x % 5 ? -INFINITY : 6.0f * u; break;       /* masked */
            case 'n': l = 2.0f + u * (1.0f / 4096); break;           /* narrow */
            case 'p': l = i == 1234 ? 9.0f : 4.0f * u - 8.0f; break; /* peaked */
            default: l = 24.0f * u - 12.0f; break;                   /* uniform, large */
        }
        if (strcmp(name, "ties") == 0) l = 0.5f * (float)(x % 11) - 1.0f;
        if (strcmp(name, "tiny") == 0 || strcmp(name, "wide") == 0) {
            bits = name[0] == 't' ? x & 0x80003fffu : x % 0x7f800000u | (x & 1u) << 31;
            memcpy(&l, &bits, sizeof l);
        }
        row_logit[i] = l;
    }
    if (strcmp(name, "masked") == 0) row_logit[7] = 5.0f;
    return n;
}

/* ---- samplers ---- */

static samp_sampler *make_sampler(const char *text)
{
    char name[32];
    float a = 0, b = 0, c = 0, d = 0;
    samp_params params = samp_default_params();
    sscanf(text, "%31s %f %f %f %f", name, &a, &b, &c, &d);
    if (strcmp(name, "softmax") == 0) return samp_init_softmax();
    if (strcmp(name, "top_k") == 0) return samp_init_top_k((int32_t)a);
    if (strcmp(name, "top_p") == 0) return samp_init_top_p(a, 0);
    if (strcmp(name, "min_p") == 0) return samp_init_min_p(a, 0);
    if (strcmp(name, "typical") == 0) return samp_init_typical(a, 0);
    if (strcmp(name, "tail_free") == 0) return samp_init_tail_free(a, 0);
    if (strcmp(name, "top_n_sigma") == 0) return samp_init_top_n_sigma(a);
    if (strcmp(name, "xtc") == 0) return samp_init_xtc(a, b, 0, 1);
    if (strcmp(name, "temp") == 0) return samp_init_temp(a);
    if (strcmp(name, "temp_ext") == 0) return samp_init_temp_ext(a, b, c);
    if (strcmp(name, "penalties") == 0) return samp_init_penalties((int32_t)a, b, c, d);
    if (strcmp(name, "dry") == 0) return samp_init_dry(NULL, 64, a, b, (int32_t)c, -1, NULL, 0);
    if (strcmp(name, "dist") == 0) return samp_init_dist(0x123456789abcdef0u);
    if (strcmp(name, "mirostat") == 0) return samp_init_mirostat(ROW_MAX, 3, 3.0f, 0.2f, 100);
    if (strcmp(name, "mirostat_v2") == 0) return samp_init_mirostat_v2(4, 3.0f, 0.2f);
    if (strcmp(name, "adaptive_p") == 0) return samp_init_adaptive_p(0.2f, 0.8f, 5);
    params.seed = 6;
    return strcmp(name, "chain") == 0 ? samp_chain_from_params(&params, NULL) : NULL;
}

static samp_token_data row_data[ROW_MAX];

static samp_token_data_array row_array(size_t n)
{
    samp_token_data_array cur;
    for (size_t i = 0; i < n; i++) {
        row_data[i].id = (samp_token)i;
        row_data[i].logit = row_logit[i];
        row_data[i].p = 0;
    }
    cur.data = row_data;
    cur.size = n;
    cur.selected = -1;
    cur.sorted = false;
    return cur;
}

/* FNV-1a of a candidate, its numbers' lowest bytes first on every machine */
static uint64_t hash_candidate(uint64_t hash, const samp_token_data *candidate)
{
    uint32_t word[3];
    memcpy(word, candidate, sizeof word);
    for (int i = 0; i < 12; i++) hash = (hash ^ (word[i / 4] >> 8 * (i % 4) & 255)) * 0x100000001b3u;
    return hash;
}

static cut_vector cut_result(const char *row, const char *sampler)
{
    size_t n = make_row(row);
    samp_token_data_array cur = row_array(n);
    samp_sampler *s = make_sampler(sampler);
    cut_vector v;
    for (samp_token t = 0; t < 20; t++) samp_accept(s, t * t % 7);
    v.row = row;
    v.sampler = sampler;
    v.hash = 0xcbf29ce484222325u;
    if (samp_apply(s, &cur) != SAMP_OK) cur.size = 0;
    for (size_t i = 0; i < cur.size; i++) v.hash = hash_candidate(v.hash, &cur.data[i]);
    v.size = cur.size;
    samp_free(s);
    return v;
}

static draw_vector draw_result(const char *row, const char *sampler)
{
    size_t n = make_row(row);
    samp_sampler *s = make_sampler(sampler);
    draw_vector v;
    v.row = row;
    v.sampler = sampler;
    for (int i = 0; i < 8; i++) v.token[i] = samp_sample(s, row_logit, n);
    samp_free(s);
    return v;
}

/* The bits of a text: of a double if it looks like one, else an integer. */
static uint64_t read_bits(const char *text)
{
    return strpbrk(text, "pin") ? sampi_bits(strtod(text, NULL)) : strtoull(text, NULL, 0);
}

static row_vector row_result(const char *row, double *entropy, double *reach)
{
    float max;
    row_vector v;
    samp_token_data_array cur = row_array(make_row(row));
    sampi_sums sums = sampi_sum(&cur);
    v.row = row;
    v.z = sums.z;
    v.s = sums.s;
    v.entropy = v.reach = NULL;
    *entropy = sampi_entropy(&sums);
    *reach = sampi_sigma_distance(&cur, 1.5f, &max);
    return v;
}

/* ---- functions ---- */

typedef struct value {
    uint64_t bits;
    bool is_double;
} value;

static value of_double(double x)
{
    value v = { sampi_bits(x), true };
    return v;
}

static value of_integer(uint64_t x)
{
    value v = { x, false };
    return v;
}

static value function_result(const vector *v)
{
    double x = strtod(v->x, NULL), y = strtod(v->y, NULL);
    float fx = (float)x, fy = (float)y;
    const char *f = v->function;
    if (strcmp(f, "exp2_poly") == 0) return of_double(sampi_exp2_poly(x));
    if (strcmp(f, "exp") == 0) return of_double(sampi_exp(fx, fy));
    if (strcmp(f, "weight") == 0) return of_integer(sampi_weight(fx, fy));
    if (strcmp(f, "envelope") == 0) return of_integer(sampi_envelope(fx, fy));
    if (strcmp(f, "exp2") == 0) return of_double(sampi_exp2(x));
    if (strcmp(f, "ln") == 0) return of_double(sampi_ln(x));
    if (strcmp(f, "log2") == 0) return of_double(sampi_log2(x));
    if (strcmp(f, "pow") == 0) return of_double(sampi_pow(x, y));
    if (strcmp(f, "powi") == 0) return of_double(sampi_powi(x, (int32_t)y));
    if (strcmp(f, "share") == 0) return of_integer(sampi_share(fx));
    if (strcmp(f, "mass_of") == 0) return of_integer(sampi_mass_of(read_bits(v->x), read_bits(v->y)));
    if (strcmp(f, "mulhi") == 0) return of_integer(sampi_mulhi(read_bits(v->x), read_bits(v->y)));
    fprintf(stderr, "no function \"%s\"\n", f);
    exit(1);
}

/* ---- checking and printing ---- */

static char difference[512]; /* the first one */

/* how many vectors there are; 0: one differs */
static size_t check_vectors(void)
{
    size_t n = 0;
    for (size_t i = 0; i < TEST_COUNT(math_vectors); i++, n++) {
        const vector *v = &math_vectors[i];
        value got = function_result(v);
        if (got.bits == read_bits(v->result)) continue;
        if (got.is_double)
            snprintf(difference, sizeof difference, "%s(%s, %s) is %a, wanted %s", v->function, v->x, v->y,
                     sampi_from_bits(got.bits), v->result);
        else
            snprintf(difference, sizeof difference, "%s(%s, %s) is 0x%llx, wanted %s", v->function, v->x, v->y,
                     (unsigned long long)got.bits, v->result);
        return 0;
    }
    for (size_t i = 0; i < TEST_COUNT(row_vectors); i++, n++) {
        const row_vector *v = &row_vectors[i];
        double entropy, reach;
        row_vector got = row_result(v->row, &entropy, &reach);
        if (got.z == v->z && got.s == v->s && sampi_bits(entropy) == read_bits(v->entropy) &&
            sampi_bits(reach) == read_bits(v->reach))
            continue;
        snprintf(difference, sizeof difference, "row %s has %llu, %llu, %a, %a, wanted %llu, %llu, %s, %s", v->row,
                 (unsigned long long)got.z, (unsigned long long)got.s, entropy, reach, (unsigned long long)v->z,
                 (unsigned long long)v->s, v->entropy, v->reach);
        return 0;
    }
    for (size_t i = 0; i < TEST_COUNT(cut_vectors); i++, n++) {
        const cut_vector *v = &cut_vectors[i];
        cut_vector got = cut_result(v->row, v->sampler);
        if (got.size == v->size && got.hash == v->hash) continue;
        snprintf(difference, sizeof difference, "%s on %s leaves %lu, hash 0x%016llx, wanted %lu, 0x%016llx",
                 v->sampler, v->row, (unsigned long)got.size, (unsigned long long)got.hash, (unsigned long)v->size,
                 (unsigned long long)v->hash);
        return 0;
    }
    for (size_t i = 0; i < TEST_COUNT(draw_vectors); i++, n++) {
        const draw_vector *v = &draw_vectors[i];
        draw_vector got = draw_result(v->row, v->sampler);
        for (int k = 0; k < 8; k++) {
            if (got.token[k] == v->token[k]) continue;
            snprintf(difference, sizeof difference, "%s on %s draws %d at position %d, wanted %d", v->sampler, v->row,
                     (int)got.token[k], k, (int)v->token[k]);
            return 0;
        }
    }
    return n;
}

#ifdef SAMP_TEST_PLAIN

int main(void)
{
    size_t n = check_vectors();
    if (n)
        printf("%lu vectors ok\n", (unsigned long)n);
    else
        printf("differs: %s\n", difference);
    return n == 0;
}

#else

/* An entry of a table, behind the one before where the line has room. */
__attribute__((format(printf, 1, 2))) static void entry(const char *format, ...)
{
    static int column;
    char text[200];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const bool table = text[0] != '{';
    if (!table && column + n > 116) column = printf("\n   ") - 1;
    column = table ? 116 : column + n + 2;
    printf(table ? "%s" : " %s,", text);
}

static void print_vectors(void)
{
    entry("/* math_vectors.h - the canonical arithmetic's results. Written by: test_math --print-vectors */\n\n");
    entry("static const vector math_vectors[] = {");
    for (size_t i = 0; i < TEST_COUNT(math_vectors); i++) {
        const vector *v = &math_vectors[i];
        value got = function_result(v);
        char text[40];
        if (got.is_double)
            snprintf(text, sizeof text, "%a", sampi_from_bits(got.bits));
        else
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)got.bits);
        entry("{ \"%s\", \"%s\", \"%s\", \"%s\" }", v->function, v->x, v->y, text);
    }
    entry("\n};\n\nstatic const row_vector row_vectors[] = {");
    for (size_t i = 0; i < TEST_COUNT(row_vectors); i++) {
        double entropy, reach;
        row_vector v = row_result(row_vectors[i].row, &entropy, &reach);
        entry("{ \"%s\", 0x%llx, 0x%llx, \"%a\", \"%a\" }", v.row, (unsigned long long)v.z, (unsigned long long)v.s,
              entropy, reach);
    }
    entry("\n};\n\nstatic const cut_vector cut_vectors[] = {");
    for (size_t i = 0; i < TEST_COUNT(cut_vectors); i++) {
        cut_vector v = cut_result(cut_vectors[i].row, cut_vectors[i].sampler);
        entry("{ \"%s\", \"%s\", %zu, 0x%016llx }", v.row, v.sampler, v.size, (unsigned long long)v.hash);
    }
    entry("\n};\n\nstatic const draw_vector draw_vectors[] = {");
    for (size_t i = 0; i < TEST_COUNT(draw_vectors); i++) {
        draw_vector v = draw_result(draw_vectors[i].row, draw_vectors[i].sampler);
        const samp_token *t = v.token;
        entry("{ \"%s\", \"%s\", { %d, %d, %d, %d, %d, %d, %d, %d } }", v.row, v.sampler, (int)t[0], (int)t[1],
              (int)t[2], (int)t[3], (int)t[4], (int)t[5], (int)t[6], (int)t[7]);
    }
    entry("\n};\n");
}

TEST(test_vectors)
{
    size_t n = check_vectors();
    if (n == 0) fail_msg("%s", difference);
    print_message("             %zu vectors\n", n);
    assert_true(n > 500);
}

/* ============================================================================================= properties */

/* fewer rounds if SAMP_TEST_QUICK is set (for slow tools) */
typedef long double real;
__extension__ typedef unsigned __int128 u128;

static const real LN2 = 0.693147180559945309417232121458176568L;

/* false where long double is no more than double: on some machines, and under valgrind */
static bool long_double_is_long(void)
{
    volatile real one = 1;
    return one + 0x1p-60L != 1;
}

/* maxima that are usual, and all that are not */
static const float maxima[] = { 0.0f,    1.0f,   18.25f, -3.7f, 5.3f,  88.7f,   1000.3f,  -65504.0f, 1e-3f,
                                -1e-30f, 1e-40f, 1e-45f, 3e7f,  1e30f, FLT_MAX, -FLT_MAX, 0.1f,      7.0f };

/* the next f32 below */
static float just_below(float x) { return nextafterf(x, -INFINITY); }

/* about max - d, as f32, not above max */
static float logit_at(float max, double d)
{
    float l = (float)((double)max - d);
    return l < max ? l : max;
}

static real weight_exactly(float max, float l) { return ldexpl(expl((real)l - (real)max), 40); }

/* 2^40 exp(l - max): relative error below 1e-12, in the whole range */
TEST(test_exp)
{
    source rng = source_stream(1);
    real worst = 0;
    for (int i = 0; i < rounds(400000); i++) {
        float max = i % 2 ? maxima[below(&rng, TEST_COUNT(maxima))] : (float)(10 * normal(&rng));
        double d = below(&rng, 4) ? 64 * uniform(&rng) : exp(-80 * uniform(&rng));
        float l = logit_at(max, d);
        real want = weight_exactly(max, l), error = fabsl(sampi_exp(max, l) - want) / want;
        if (error > worst) worst = error;
        if (!(error < 1e-12L)) fail_msg("exp(%a, %a) is off by %Lg", (double)max, (double)l, error);
        /* rounded to the nearest integer */
        uint64_t w = sampi_weight(max, l);
        if (!(fabsl((real)w - want) <= 0.5L + 1e-12L * want))
            fail_msg("weight(%a, %a) is %llu, wanted %Lf", (double)max, (double)l, (unsigned long long)w, want);
        if ((real)w != roundl(sampi_exp(max, l)) && fabsl(sampi_exp(max, l) - (real)w) != 0.5L)
            fail_msg("weight(%a, %a) is not rounded right", (double)max, (double)l);
    }
    print_message("             largest relative error %.3Lg\n", worst);
}

/* the polynomial alone, densely */
TEST(test_exp2_poly)
{
    real worst = 0;
    assert_true(sampi_exp2_poly(0.0) == 1.0);
    for (int i = -200000; i <= 200000; i++) {
        double f = i / 400000.0;
        real error = fabsl(sampi_exp2_poly(f) / exp2l(f) - 1);
        if (error > worst) worst = error;
    }
    print_message("             largest relative error %.3Lg\n", worst);
    assert_true(worst < 1e-12L);
    assert_true(sampi_exp2_poly(0.5) >= 2 * sampi_exp2_poly(-0.5) * (1 - 1e-15)); /* neighbours meet */
    assert_true(sampi_exp2_poly(0.5) <= 2 * sampi_exp2_poly(-0.5) * (1 + 1e-15));
}

TEST(test_weight_edges)
{
    for (size_t i = 0; i < TEST_COUNT(maxima); i++) {
        assert_u64(sampi_weight(maxima[i], maxima[i]), (uint64_t)1 << 40);
        assert_u64(sampi_weight(maxima[i], -INFINITY), 0);
        assert_u64(sampi_envelope(maxima[i], maxima[i]), (uint64_t)1 << 26);
        assert_u64(sampi_envelope(maxima[i], -INFINITY), 0);
    }
    assert_u64(sampi_weight(0.0f, -0.0f), (uint64_t)1 << 40);
    assert_u64(sampi_weight(-0.0f, 0.0f), (uint64_t)1 << 40);
    assert_u64(sampi_weight(0.0f, -1e-45f), (uint64_t)1 << 40);
    assert_u64(sampi_weight(FLT_MAX, -FLT_MAX), 0);
    assert_u64(sampi_weight(FLT_MAX, just_below(FLT_MAX)), 0);
    assert_u64(sampi_weight(1e-38f, 1e-45f), (uint64_t)1 << 40);
    assert_u64(sampi_weight(0.0f, -28.41f), 1); /* ln 2^41 = 28.4190...: half a unit */
    assert_u64(sampi_weight(0.0f, -28.42f), 0);
    assert_u64(sampi_weight(0.0f, -64.0f), 0);
    assert_u64(sampi_weight(0.0f, -1e30f), 0);
    /* so far from it that 2^-41 is missing, and as far as it takes */
    assert_u64(sampi_weight(0.0f, -4.5e-13f), (uint64_t)1 << 40);
    assert_u64(sampi_weight(0.0f, -4.6e-13f), ((uint64_t)1 << 40) - 1);
}

/* A larger logit never weighs less: over neighbouring f32, near the octaves' ends, the maximum, and anywhere. */
static void walk_monotone(float max, float l, int steps)
{
    uint64_t above = sampi_weight(max, l);
    uint32_t envelope = sampi_envelope(max, l);
    for (int i = 0; i < steps; i++) {
        float next = just_below(l);
        uint64_t w = sampi_weight(max, next);
        uint32_t q = sampi_envelope(max, next);
        if (w > above || q > envelope)
            fail_msg("max %a: %a has w %llu, q %lu, but %a below it %llu, %lu", (double)max, (double)l,
                     (unsigned long long)above, (unsigned long)envelope, (double)next, (unsigned long long)w,
                     (unsigned long)q);
        l = next;
        above = w;
        envelope = q;
    }
}

TEST(test_weight_is_monotone)
{
    source rng = source_stream(2);
    for (size_t i = 0; i < TEST_COUNT(maxima); i++) {
        float max = maxima[i];
        walk_monotone(max, max, 2000);
        for (int half = 1; half <= 84; half++) { /* the polynomial's octaves end at the odd ones */
            float l = logit_at(max, (double)(half * LN2 / 2));
            for (int k = 0; k < 60; k++) l = nextafterf(l, INFINITY);
            if (l < max) walk_monotone(max, l, 120);
        }
    }
    for (int i = 0; i < rounds(4000); i++) {
        float max = (float)(10 * normal(&rng));
        walk_monotone(max, logit_at(max, 30 * uniform(&rng)), 50);
    }
}

/* The hardest places: logits so near 0 that max - l moves by one unit of double's last place from one f32 to
   the next, where a weight goes from one integer to the next (found by bisection). */
TEST(test_weight_is_monotone_at_its_steps)
{
    source rng = source_stream(11);
    long steps = 0;
    for (int i = 0; i < rounds(20000); i++) {
        float max = (float)(0.5 + 15 * uniform(&rng));
        float low = ldexpf(1 + (float)uniform(&rng), -20 - (int)below(&rng, 20));
        uint32_t a = bits_of(low), b = bits_of(1.9f * low);
        uint64_t from = sampi_weight(max, float_from(a)), to = sampi_weight(max, float_from(b)), target;
        if (from == to) continue;
        target = from + 1 + choose(&rng, 8) % (to - from);
        while (b - a > 1) {
            uint32_t mid = a + (b - a) / 2;
            if (sampi_weight(max, float_from(mid)) >= target)
                b = mid;
            else
                a = mid;
        }
        walk_monotone(max, float_from(b + 10), 20);
        steps++;
    }
    assert_true(steps > rounds(5000));
}

/* q * 2^14 >= w, always, and not much more: the chord is at most 6.2 % above, then q is rounded up */
static double envelope_excess;

static void check_envelope(float max, float l)
{
    uint64_t w = sampi_weight(max, l), q = sampi_envelope(max, l);
    if (q << 14 < w)
        fail_msg("max %a, l %a: q 2^14 is %llu, w is %llu", (double)max, (double)l, (unsigned long long)(q << 14),
                 (unsigned long long)w);
    if (w > (uint64_t)1 << 30) { /* where the rounding up is small */
        double excess = (double)(q << 14) / (double)w;
        if (excess > envelope_excess) envelope_excess = excess;
    }
}

TEST(test_envelope_is_above)
{
    source rng = source_stream(3);
    envelope_excess = 0;
    for (size_t i = 0; i < TEST_COUNT(maxima); i++)
        for (int octave = 0; octave <= 66; octave++) {
            float l = logit_at(maxima[i], (double)(octave * LN2));
            for (int k = 0; k < 400; k++) l = nextafterf(l, INFINITY);
            for (int k = 0; k < 800; k++, l = just_below(l))
                if (l <= maxima[i]) check_envelope(maxima[i], l);
        }
    for (int i = 0; i < rounds(2000000); i++) {
        float max = (float)(8 * normal(&rng));
        double d = (double)below(&rng, 42) * (double)LN2;
        if (i % 2)
            d *= 1 + (double)((int)below(&rng, 4001) - 2000) * ldexp(1, -24);
        else
            d = 30 * uniform(&rng);
        check_envelope(max, logit_at(max, d));
    }
    for (int i = 0; i < rounds(300000); i++) { /* any two f32 */
        float a = float_from((uint32_t)choose(&rng, 8)), b = float_from((uint32_t)choose(&rng, 8));
        if (!(fabsf(a) <= FLT_MAX && fabsf(b) <= FLT_MAX)) continue;
        check_envelope(a < b ? b : a, a < b ? a : b);
    }
    print_message("             at most %.5f of w\n", envelope_excess);
    assert_true(envelope_excess < 1.0625);
    assert_true(envelope_excess > 1.0614); /* the chord's own maximum is 1.06148: the search came near it */
}

/* a token with no envelope has no weight */
TEST(test_envelope_ends)
{
    float l = logit_at(0, 64 * (double)LN2);
    for (int k = 0; k < 300; k++) l = nextafterf(l, INFINITY);
    for (int k = 0; k < 600; k++, l = just_below(l)) assert_in_range(sampi_envelope(0, l), 0, 1);
    assert_u64(sampi_envelope(0, -44.0f), 1);
    assert_u64(sampi_envelope(0, -44.5f), 0);
    assert_u64(sampi_envelope(FLT_MAX, -FLT_MAX), 0);
    for (int i = 0; i < 31; i++) { /* the tightest places: octaves' starts, with the 2^-20 for room */
        uint32_t q = sampi_envelope(0, logit_at(0, (double)(i * LN2)));
        assert_true(q >= ((uint32_t)1 << 26) >> i);
        assert_true((double)q <= ldexp(1, 26 - i) * (1 + 3e-5) + 1);
    }
}

/* ---- exp2, ln, log2, pow ---- */

TEST(test_exp2)
{
    source rng = source_stream(4);
    for (int i = 0; i < rounds(300000); i++) {
        double t = i % 3 ? 2000 * uniform(&rng) - 1000 : 4 * normal(&rng);
        real error = fabsl(sampi_exp2(t) / exp2l(t) - 1);
        if (!(error < 1e-12L)) fail_msg("exp2(%a) is off by %Lg", t, error);
    }
    for (int n = -1000; n <= 1000; n++) assert_true(sampi_exp2(n) == ldexp(1, n));
    assert_true(sampi_exp2(1e300) == ldexp(1, 1000) && sampi_exp2(-1e300) == ldexp(1, -1000));
    assert_true(sampi_exp2(INFINITY) == ldexp(1, 1000) && sampi_exp2(-INFINITY) == ldexp(1, -1000));
}

TEST(test_ln)
{
    source rng = source_stream(5);
    const real bound = long_double_is_long() ? 1e-15L : 3e-15L;
    assert_true(sampi_ln(1.0) == 0.0);
    for (int i = 0; i < rounds(400000); i++) {
        double x;
        switch (i % 4) {
            case 0: x = exp(1400 * uniform(&rng) - 700); break;
            case 1: x = 1 + (uniform(&rng) - 0.5) * exp(-30 * uniform(&rng)); break;
            case 2: x = sqrt(2) * (1 + 1e-13 * normal(&rng)); break;
            default: x = (double)(float)uniform(&rng) + 1e-45; break;
        }
        real want = logl(x), error = fabsl(sampi_ln(x) - want);
        if (!(error <= bound * fabsl(want))) fail_msg("ln(%a) is off by %Lg (relative)", x, error / fabsl(want));
        error = fabsl(sampi_log2(x) - log2l(x));
        if (!(error <= 1.3L * bound * fabsl(want / LN2))) fail_msg("log2(%a) is off by %Lg", x, error);
    }
}

TEST(test_pow)
{
    source rng = source_stream(6);
    assert_true(sampi_pow(0.0, 0.0) == 1.0 && sampi_pow(0.0, 2.0) == 0.0 && sampi_pow(1.0, 1000.0) == 1.0);
    assert_true(sampi_pow(0.3, 0.0) == 1.0 && sampi_powi(3.0, 0) == 1.0 && sampi_powi(1.0, INT32_MAX) == 1.0);
    for (int i = 0; i < rounds(200000); i++) {
        double x = i % 2 ? uniform(&rng) : exp(20 * uniform(&rng)), y = 3 * normal(&rng);
        if (i % 8 == 1) y = 1000 * uniform(&rng);
        real want = powl(x, y);
        if (!(x > 0) || fabs(y * log2(x)) > 990) continue;
        if (!(fabsl(sampi_pow(x, y) / want - 1) < 3e-12L)) fail_msg("pow(%a, %a) is off", x, y);
        int32_t n = (int32_t)below(&rng, 60);
        x = 1 + 3 * uniform(&rng);
        if (!(fabsl(sampi_powi(x, n) / powl(x, n) - 1) < 1e-14L)) fail_msg("powi(%a, %d) is off", x, (int)n);
    }
}

/* ---- integers ---- */

/* the product's upper and lower half from 32-bit digits */
static void multiply(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    uint64_t mid = (p00 >> 32) + (uint32_t)p01 + (uint32_t)p10;
    *low = mid << 32 | (uint32_t)p00;
    *high = p11 + (p01 >> 32) + (p10 >> 32) + (mid >> 32);
}

TEST(test_products)
{
    source rng = source_stream(7);
    for (int i = 0; i < rounds(500000); i++) {
        uint64_t a = choose(&rng, 8) >> below(&rng, 64), b = choose(&rng, 8) >> below(&rng, 64), high, low;
        if (i % 16 == 0) a = -(uint64_t)below(&rng, 3);
        if (i % 16 == 1) b = (uint64_t)1 << below(&rng, 64);
        multiply(a, b, &high, &low);
        if (sampi_mulhi(a, b) != high || sampi_mass_of(a, b) != high + (low != 0))
            fail_msg("0x%llx * 0x%llx", (unsigned long long)a, (unsigned long long)b);
    }
    for (int i = 0; i < rounds(200000); i++) { /* floor(p * 2^64), exactly: p is 24 bits and an exponent */
        float p = i % 2 ? (float)uniform(&rng) : float_from((uint32_t)below(&rng, 0x3f800000));
        int exponent;
        uint64_t m;
        if (p >= 1) continue;
        m = (uint64_t)ldexp(frexp((double)p, &exponent), 24); /* p = m 2^(exponent - 24) */
        exponent += 40;
        assert_u64(sampi_share(p), exponent >= 0 ? m << exponent : exponent > -64 ? m >> -exponent : 0);
    }
}

static sampi_u128 halves_of(u128 x)
{
    sampi_u128 h = { (uint64_t)(x >> 64), (uint64_t)x };
    return h;
}

static bool same_128(sampi_u128 a, u128 b) { return a.hi == (uint64_t)(b >> 64) && a.lo == (uint64_t)b; }

static u128 random_128(source *rng)
{
    uint64_t part[4] = { 0, ~(uint64_t)0, (uint64_t)1 << below(rng, 64), choose(rng, 8) >> below(rng, 64) };
    u128 x = (u128)part[below(rng, 4)] << 64 | part[below(rng, 4)];
    return below(rng, 2) ? x : x + (u128)below(rng, 5) - 2;
}

/* what stands in for the compiler's 128 bits where it has none: the same product, sum, difference and double. Ties of
   the rounding: a half of the last of 53 bits, and one more or less at the end */
TEST(test_128_bits)
{
    source rng = source_stream(11);
    for (int i = 0; i < rounds(1000000); i++) {
        u128 a = random_128(&rng), b = random_128(&rng);
        uint64_t x = (uint64_t)a, y = (uint64_t)b;
        if (i % 4 == 0 && a >> 64) {
            int unit = 75 - __builtin_clzll((uint64_t)(a >> 64)); /* bits below the last of 53 */
            a = (a >> unit << unit) + ((u128)1 << (unit - 1)) + (u128)below(&rng, 3) - 1;
        }
        if (!same_128(sampi_mul128_by_halves(x, y), (u128)x * y) || !same_128(sampi_mul128(x, y), (u128)x * y) ||
            !same_128(sampi_add128(halves_of(a), halves_of(b)), a + b) ||
            !same_128(sampi_sub128(halves_of(a), halves_of(b)), a - b) ||
            sampi_double_of_128(halves_of(a)) != (double)a)
            fail_msg("0x%llx %016llx and 0x%llx %016llx", (unsigned long long)(a >> 64), (unsigned long long)a,
                     (unsigned long long)(b >> 64), (unsigned long long)b);
    }
}

/* what stands in for fma where the platform's can't be trusted: numbers that nearly cancel, that lie next to the middle
   between two, and that are far apart */
TEST(test_fma_by_parts)
{
    source rng = source_stream(13);
    for (int i = 0; i < rounds(2000000); i++) {
        double a = sampi_from_bits(choose(&rng, 8) >> 12 | (uint64_t)1023 << 52),
               b = sampi_from_bits((choose(&rng, 8) >> 12 >> below(&rng, 52) << below(&rng, 52) & 0xFFFFFFFFFFFFFu) |
                                   (uint64_t)1023 << 52),
               c = a * b * ldexp(1.0, (int)below(&rng, 120) - 60);
        if (i % 3 == 0) c = -a * b;
        if (i % 3 == 1) c = -(a * b) * (1.0 + (double)below(&rng, 9) * 0x1p-52);
        if (i % 5 == 0) a = 1.0 + (double)below(&rng, 8) * 0x1p-52, c = ldexp(1.0, (int)below(&rng, 120) - 60);
        if (i % 7 == 0) c = -c;
        if (i % 2) b = -b;
        if (sampi_bits(sampi_fma_by_parts(a, b, c)) != sampi_bits(fma(a, b, c)))
            fail_msg("%a * %a + %a is %a, wanted %a", a, b, c, sampi_fma_by_parts(a, b, c), fma(a, b, c));
    }
}

/* ---- sums and the draw ---- */

static samp_token_data data[70000];
static float logits[70000];

static void random_logits(source *rng, size_t n)
{
    double sigma = 6 * uniform(rng);
    size_t kind = below(rng, 5);
    for (size_t i = 0; i < n; i++) {
        logits[i] = (float)(sigma * normal(rng));
        if (kind == 0) logits[i] = 1.5f;
        if (kind == 1) logits[i] = (float)below(rng, 9) / 3;
        if (kind == 2 && below(rng, 5)) logits[i] = -INFINITY;
        if (kind == 3) logits[i] *= 20;
    }
    logits[below(rng, n)] = 2;
}

/* whole numbers, the same in every order, and what the formulas say */
TEST(test_sums)
{
    source rng = source_stream(8);
    for (int i = 0; i < rounds(300); i++) {
        size_t n = 1 + below(&rng, i % 30 ? 300 : 30000), count = 0;
        samp_token_data_array cur;
        sampi_sums sums, again;
        uint64_t z = 0;
        real s = 0, entropy = 0, p;
        random_logits(&rng, n);
        cur = test_array(data, logits, n);
        sums = sampi_sum(&cur);
        test_shuffle(&rng, &cur);
        again = sampi_sum(&cur);
        assert_true(sums.z == again.z && sums.s == again.s && sums.n == again.n && sums.max == again.max);
        for (size_t k = 0; k < n; k++) {
            uint64_t w = sampi_weight(sums.max, logits[k]);
            if (logits[k] == -INFINITY) continue;
            count++;
            z += w;
            s += roundl((real)w * ((real)sums.max - (real)logits[k]));
        }
        assert_u64(sums.z, z);
        assert_num(sums.n, count);
        assert_true(fabsl((real)sums.s - s) <= 1e-9L * s + 1);
        for (size_t k = 0; k < n; k++) {
            p = (real)sampi_weight(sums.max, logits[k]) / z;
            if (p > 0) entropy -= p * logl(p);
        }
        assert_near(sampi_entropy(&sums), (double)entropy, 1e-9);
    }
}

/* as many tokens as there may be, all but one where w (max - l) is largest: the sums stay in range */
TEST(test_sums_are_large_enough)
{
    samp_token_data *many = malloc(SAMP_MAX_VOCAB * sizeof *many);
    samp_token_data_array cur = { many, SAMP_MAX_VOCAB, -1, false };
    sampi_sums sums;
    assert_non_null(many);
    for (size_t i = 0; i < SAMP_MAX_VOCAB; i++) {
        many[i].id = (samp_token)i;
        many[i].logit = i ? -1.0f : 0.0f;
        many[i].p = 0;
    }
    sums = sampi_sum(&cur);
    assert_u64(sums.s, (SAMP_MAX_VOCAB - 1) * sampi_weight(0, -1));
    assert_u64(sums.z, (SAMP_MAX_VOCAB - 1) * sampi_weight(0, -1) + ((uint64_t)1 << 40));
    assert_true((real)sums.s < 0x1p63L && (real)SAMP_MAX_VOCAB * 0x1p40L < 0x1p63L);
    free(many);
}

/* sigma from integers agrees with long double to 1e-9: spreads from 1e-38 to 1e34, with a far outlier too */
TEST(test_sigma)
{
    source rng = source_stream(9);
    for (int i = 0; i < rounds(1500); i++) {
        size_t n = 2 + below(&rng, 400);
        double scale = pow(10, 72 * uniform(&rng) - 38), offset = i % 3 ? 0 : 30 * scale;
        real mean = 0, square = 0;
        float max;
        for (size_t k = 0; k < n; k++) logits[k] = (float)(scale * normal(&rng) + offset);
        if (i % 5 == 0) logits[below(&rng, n)] = (float)(-1000 * scale);
        samp_token_data_array cur = test_array(data, logits, n);
        for (size_t k = 0; k < n; k++) mean += (real)logits[k] / n;
        for (size_t k = 0; k < n; k++) square += ((real)logits[k] - mean) * ((real)logits[k] - mean);
        real want = 2.5L * sqrtl(square / n);
        double got = sampi_sigma_distance(&cur, 2.5f, &max);
        if (!(fabsl((real)got - want) <= 1e-9L * want)) fail_msg("2.5 sigma is %.17g, wanted %.17Lg", got, want);
    }
}

/* the draw by its definition: ids ascending, running sums of q, floor(r Q / 2^64), accept below w, or again */
static samp_token draw_by_definition(const samp_token_data *by_id, size_t n, uint64_t seed, uint64_t position,
                                     uint32_t counter2, uint32_t *attempts)
{
    float max = -INFINITY;
    u128 total = 0;
    for (size_t i = 0; i < n; i++)
        if (by_id[i].logit > max) max = by_id[i].logit;
    for (size_t i = 0; i < n; i++) total += sampi_envelope(max, by_id[i].logit);
    for (*attempts = 0;; ++*attempts) {
        uint32_t counter[4], key[2], out[4];
        u128 run = 0, t;
        size_t i = 0;
        counter[0] = (uint32_t)position;
        counter[1] = (uint32_t)(position >> 32);
        counter[2] = counter2;
        counter[3] = *attempts;
        key[0] = (uint32_t)seed;
        key[1] = (uint32_t)(seed >> 32);
        sampi_philox(counter, key, out);
        t = ((u128)((uint64_t)out[1] << 32 | out[0]) * total) >> 64;
        while ((run += sampi_envelope(max, by_id[i].logit)) <= t) i++;
        u128 q = (u128)sampi_envelope(max, by_id[i].logit) << 14;
        if ((((u128)((uint64_t)out[3] << 32 | out[2]) * q) >> 64) < sampi_weight(max, by_id[i].logit))
            return by_id[i].id;
    }
}

TEST(test_draw)
{
    source rng = source_stream(10);
    static samp_token_data by_id[70000];
    long retries = 0, draws = 0;
    for (int i = 0; i < rounds(3000); i++) {
        size_t n = 1 + below(&rng, i % 100 ? 200 : 2000), step;
        uint64_t seed = choose(&rng, 8), position = choose(&rng, 8) >> below(&rng, 64);
        samp_sampler *s = samp_init_dist(seed);
        uint32_t attempts;
        samp_token want;
        if (i == 77 || i == 78) n = 66000;
        step = 1 + below(&rng, i % 2 ? 1 : (SAMP_MAX_VOCAB - 1) / n);
        random_logits(&rng, n);
        samp_token_data_array cur = test_array(data, logits, n);
        for (size_t k = 0; k < n; k++) data[k].id = (samp_token)(k * step + (i % 3 ? 0 : below(&rng, step)));
        memcpy(by_id, data, n * sizeof *data);
        if (i % 4)
            test_shuffle(&rng, &cur);
        else
            test_sort(&cur);
        assert_ok(samp_set_position(s, position));
        assert_ok(samp_apply(s, &cur));
        want = draw_by_definition(by_id, n, seed, position, 1u << 16, &attempts);
        if (data[cur.selected].id != want)
            fail_msg("seed 0x%llx, position %llu, %zu tokens: drew %d, not %d", (unsigned long long)seed,
                     (unsigned long long)position, n, (int)data[cur.selected].id, (int)want);
        retries += attempts;
        draws++;
        samp_free(s);
    }
    print_message("             %ld draws, %ld retries\n", draws, retries);
    assert_true(retries > draws / 80 && retries < draws / 10);
}

/* The proposal for every t next to a running sum's ends, in arrays of any order. */
TEST(test_proposals)
{
    source rng = source_stream(12);
    for (int i = 0; i < rounds(2000); i++) {
        size_t n = 1 + below(&rng, i % 20 ? 20 : 700), step = 1 + below(&rng, i % 2 ? 1 : 5000);
        samp_token first = (samp_token)below(&rng, 3);
        uint64_t run = 0;
        float max = -INFINITY;
        random_logits(&rng, n);
        samp_token_data_array cur = test_array(data, logits, n);
        for (size_t k = 0; k < n; k++) data[k].id = first + (samp_token)(k * step);
        for (size_t k = 0; k < n; k++)
            if (logits[k] > max) max = logits[k];
        test_shuffle(&rng, &cur);
        for (size_t k = 0; k < n; k++) {
            uint32_t q = sampi_envelope(max, logits[k]);
            if (q == 0) continue;
            assert_num(data[sampi_find(&cur, max, run)].id, first + (samp_token)(k * step));
            run += q;
            assert_num(data[sampi_find(&cur, max, run - 1)].id, first + (samp_token)(k * step));
        }
    }
}

static void expect_draw(size_t n, uint64_t position, samp_token want)
{
    samp_sampler *s = samp_init_dist(1);
    samp_token_data_array cur = test_array(data, logits, n);
    assert_ok(samp_set_position(s, position));
    assert_ok(samp_apply(s, &cur));
    assert_num(data[cur.selected].id, want);
    assert_ok(samp_set_position(s, position));
    assert_num(samp_sample(s, logits, n), want);
    samp_free(s);
}

/* Positions found by a long search, at which a draw of seed 1 falls right on an edge. */
TEST(test_draw_at_the_edges)
{
    for (size_t i = 0; i < 256; i++) logits[i] = 0;
    expect_draw(256, 40789960, 224); /* the running sum of q up to 223 is t exactly: it must exceed it */
    expect_draw(256, 59372312, 76);
    expect_draw(256, 61852253, 204);
    for (size_t i = 1; i < 5000; i++) logits[i] = -27.72f;
    assert_u64(sampi_weight(0, -27.72f), 1);
    assert_u64(sampi_envelope(0, -27.72f), 1);
    expect_draw(5000, 288770661, 1344); /* floor(v 2^14 q / 2^64) is 0, below w: accepted */
    expect_draw(5000, 398761567, 1693);
    expect_draw(5000, 18029926, 0); /* it is 1, not below w: 2337 is refused, and the next attempt gives 0 */
    expect_draw(5000, 151820403, 0);
}

/* Weights next to the middle between two integers: a set without fma must see that it is in doubt. In a flat row near
   the maximum about one of 4,000 lanes would be wrong without. p is made where its e lay. */
TEST(test_exact_kernels_agree)
{
    enum { FLAT = 200003 };
    static float row[FLAT];
    static double e[FLAT + 16], want_e[FLAT + 16];
    static uint64_t w[FLAT + 16], want_w[FLAT + 16];
    source rng = source_stream(3);
    uint64_t z = 0;
    for (size_t i = 0; i < FLAT; i++)
        row[i] = i % 100 == 7 ? -INFINITY : i % 100 == 8 ? -800.0f : (float)(10.0 * uniform(&rng) * uniform(&rng));
    assert_ok(samp_isa_force("scalar"));
    sampi_sums want = { 10.0f, 0, 0, 0, 0 };
    sampi_use()->sums(row, FLAT, 1.0f, 10.0f, 9.5f, true, &want);
    assert_true(sampi_use()->weights(row, FLAT, 10.0f, want_w, want_e) == want.z);
    sampi_use()->probs(row, want_e, FLAT, 10.0f, 1e17, (float *)(void *)want_e);
    for (size_t i = 0; i < FLAT; i++) z += want_w[i];
    assert_true(z == want.z);
    for (int i = 1; samp_isa_list(i); i++) {
        sampi_sums sums = { 10.0f, 0, 0, 0, 0 };
        assert_ok(samp_isa_force(samp_isa_list(i)));
        for (size_t k = 0; k < FLAT; k++) w[k] = ~want_w[k];
        assert_true(sampi_use()->weights(row, FLAT, 10.0f, w, NULL) == z);
        assert_true(sampi_use()->weights(row, FLAT, 10.0f, NULL, e) == z);
        sampi_use()->probs(row, e, FLAT, 10.0f, 1e17, (float *)(void *)e);
        sampi_use()->sums(row, FLAT, 1.0f, 10.0f, 9.5f, true, &sums);
        assert_memory_equal(w, want_w, FLAT * sizeof *w);
        assert_memory_equal(e, want_e, FLAT * sizeof(float));
        assert_true(sums.n == want.n && sums.z == want.z && sums.s == want.s && sums.above == want.above);
    }
    assert_ok(samp_isa_force(NULL));
}

/* What lies in [floor, below) and its ids, those of a piece from `base` on or a list: the reference's, from every set. */
TEST(test_collect_agrees)
{
    enum { MOST = 150 };
    float row[MOST], x[MOST + 16], want_x[MOST + 16];
    int32_t list[MOST], id[MOST + 16], want_id[MOST + 16];
    source rng = source_stream(5);
    for (size_t n = 0; n <= MOST; n++) {
        const int32_t base = (int32_t)(256 * below(&rng, 500)), *ids = n % 3 ? NULL : list;
        const float below_x = n % 2 ? INFINITY : 1.0f;
        for (size_t i = 0; i < n; i++) {
            row[i] = below(&rng, 3) ? (float)(4.0 * uniform(&rng) - 2.0) : n % 5 ? -INFINITY : 0.25f;
            list[i] = (int32_t)(7 * i + below(&rng, 7));
        }
        assert_ok(samp_isa_force("scalar"));
        size_t kept = sampi_use()->collect(row, ids, base, n, 0.25f, below_x, want_x, want_id);
        for (int i = 1; samp_isa_list(i); i++) {
            assert_ok(samp_isa_force(samp_isa_list(i)));
            assert_num(sampi_use()->collect(row, ids, base, n, 0.25f, below_x, x, id), kept);
            assert_memory_equal(x, want_x, kept * sizeof *x);
            assert_memory_equal(id, want_id, kept * sizeof *id);
        }
    }
    assert_ok(samp_isa_force(NULL));
}

/* Quotients next to the middle between two floats, where only the division itself says which one it is. */
TEST(test_quotients_near_the_middle)
{
    enum { SHORT = 37 };
    enum { TIMES = 2000 };
    static struct {
        float p[SHORT + 16];
        samp_token_data d[SHORT];
    } want[TIMES];
    float row[SHORT], share[SHORT], p[SHORT + 16];
    samp_token_data d[SHORT];
    double e[SHORT + 16];
    memset(d, 0, sizeof d);
    for (int i = 0; samp_isa_list(i); i++) { /* scalar comes first */
        source rng = source_stream(4);
        assert_ok(samp_isa_force(samp_isa_list(i)));
        for (int n = 0; n < TIMES; n++) {
            double middle = (double)(2 * below(&rng, 1 << 23) + (1 << 24) + 1), z = (double)SAMPI_MAX_WEIGHT / middle;
            for (size_t k = 0; k < SHORT; k++) row[k] = below(&rng, 2) ? 10.0f : -INFINITY, share[k] = row[k] > 0.0f;
            z = sampi_from_bits(sampi_bits(z) + below(&rng, 3) - 1);
            sampi_use()->weights(row, SHORT, 10.0f, NULL, e);
            sampi_use()->probs(row, e, SHORT, 10.0f, z, p);
            sampi_use()->put(d, SHORT, row, share, z / (double)SAMPI_MAX_WEIGHT);
            if (i == 0) memcpy(want[n].p, p, sizeof p), memcpy(want[n].d, d, sizeof d);
            assert_memory_equal(p, want[n].p, SHORT * sizeof *p);
            assert_memory_equal(d, want[n].d, sizeof d);
        }
    }
    assert_ok(samp_isa_force(NULL));
}

/* Logits, or logits and p, of candidates among others: no byte beside these is another one. */
TEST(test_put_leaves_the_rest)
{
    enum { MOST = 70, MORE = 3 };
    samp_token_data d[MOST + 2 * MORE], want[MOST + 2 * MORE];
    float l[MOST], p[MOST];
    source rng = source_stream(6);
    for (size_t c = 0; c < 4 * (MOST + 1); c++) {
        const size_t n = c / 4;
        const double sum = c % 2 ? 1.0 : 3.0;
        for (size_t i = 0; i < n; i++) l[i] = (float)(8.0 * uniform(&rng) - 4.0), p[i] = (float)uniform(&rng);
        for (int i = 0; samp_isa_list(i); i++) {
            for (size_t j = 0; j < MOST + 2 * MORE; j++)
                d[j] = (samp_token_data){ (samp_token)(1000 + j), 77.0f, 0.25f };
            memcpy(want, d, sizeof d);
            for (size_t j = 0; j < n; j++) {
                want[MORE + j].logit = l[j];
                if (c % 4 < 2) want[MORE + j].p = (float)((double)p[j] / sum);
            }
            assert_ok(samp_isa_force(samp_isa_list(i)));
            sampi_use()->put(d + MORE, n, l, c % 4 < 2 ? p : NULL, sum);
            assert_memory_equal(d, want, sizeof d);
        }
    }
    assert_ok(samp_isa_force(NULL));
}

/* Ids that ascend, by one or with gaps, but for one at each place of a vector, of a tile and of the rest behind, and such
   as run out of numbers: the same answer from every set; and the logits, with their lines' maxima, or a NaN among them. */
TEST(test_survey_sees_every_id)
{
    enum { SHORT = 41, LONG = 8 * SAMPI_TILE, MOST = LONG + SHORT };
    static samp_token_data all[MOST];
    const samp_token first[] = { 3, INT32_MAX - 20, -30 }, gap[] = { 1, 3 };
    float x[MOST], line[LONG / SAMPI_LINE + SAMPI_TILE / SAMPI_LINE], top;
    int answers[2] = { 0, 0 };
    for (int i = 0; samp_isa_list(i); i++) {
        assert_ok(samp_isa_force(samp_isa_list(i)));
        for (int c = 0; c < 6 * 2 * SHORT * (SHORT + 1) * 4; c++) {
            const uint32_t base = (uint32_t)first[c % 3], step = (uint32_t)gap[c / 3 % 2];
            const size_t least[] = { 1, SAMPI_TILE, LONG }, more = least[c / 6 % 32 == 31 ? 2 : c / 6 % 2],
                         n = more + (size_t)c / 12 % SHORT,
                         place = (size_t)c / 12 / SHORT % (SHORT + 1), /* from n on: unspoiled */
                at = more == 1 || place < SHORT ? (more / 37 + (more == 1)) * place : more;
            const uint32_t wrong[] = { UINT32_MAX, base + step * ((uint32_t)at - 1), base + step * ((uint32_t)at + 1),
                                       999 };
            bool ascend = true, has_nan = c % 5 == 0 && at < n;
            for (size_t j = 0; j < n; j++)
                all[j] = (samp_token_data){ (samp_token)(base + step * (uint32_t)j), (float)(j * 37 % 101), 0.0f };
            if (c % 3 == 0) all[n - 1].logit = 200.0f;
            if (at < n) all[at].id = (samp_token)wrong[c / 12 / SHORT / (SHORT + 1)];
            if (has_nan) all[at].logit = NAN;
            for (size_t j = 0; j < n; j++) ascend &= all[j].id > (j ? all[j - 1].id : -1);
            assert_true(sampi_use()->survey(all, n, c % 7 ? x : NULL, line, &top) == ascend);
            if (c % 7 == 0) (void)sampi_use()->fetch(all, SAMPI_CANDIDATE, NULL, 0, n, x);
            for (size_t j = 0; j < n; j++) assert_true(x[j] == all[j].logit || (has_nan && j == at));
            answers[ascend]++;
            assert_true(has_nan == (top != top));
            float max = -INFINITY;
            for (size_t j = 0; j < n && !has_nan; j += SAMPI_LINE) {
                float want = -INFINITY;
                for (size_t k = j; k < j + SAMPI_LINE && k < n; k++) want = x[k] > want ? x[k] : want;
                assert_true(line[j / SAMPI_LINE] == want);
                max = want > max ? want : max;
            }
            assert_true(has_nan || top == max);
        }
    }
    assert_true(answers[0] > 1000 && answers[1] > 1000);
    assert_ok(samp_isa_force(NULL));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-vectors") == 0) {
        print_vectors();
        return 0;
    }
    return test_main(argc, argv, NULL, NULL);
}

#endif /* SAMP_TEST_PLAIN */
