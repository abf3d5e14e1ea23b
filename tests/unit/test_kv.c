/* test_kv.c - the cache of sequences against a naive model of it: a list of (sequence, position, token) without cells.
   Random operations, every rule checked after each; the search for a slot against a plain one; each refusal leaves
   everything as it was.
     SAMP_TEST_FULL    1,000,000 random operations (200,000 under AddressSanitizer) instead of a quarter
     SAMP_TEST_QUICK   20,000 */
#define SAMPLING_KV
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

#ifdef __SANITIZE_ADDRESS__
#define MOST_STEPS 200000
#else
#define MOST_STEPS 1000000
#endif
#define STEPS ((long)amount(MOST_STEPS, 20000))

static samp_kv_params plain_params(uint32_t n_cells)
{
    samp_kv_params params;
    memset(&params, 0, sizeof params);
    params.n_cells = n_cells;
    return params;
}

static samp_kv *plain(uint32_t n_cells)
{
    samp_kv_params params = plain_params(n_cells);
    int status = 77;
    samp_kv *kv = samp_kv_init(&params, &status);
    assert_ok(status);
    assert_non_null(kv);
    return kv;
}

/* n tokens of one sequence, positions from pos on */
static int put(samp_kv *kv, int32_t seq, int32_t pos, uint32_t n)
{
    int32_t at[1024];
    uint64_t set[1024];
    samp_kv_batch batch = { n, at, set };
    assert_true(n <= 1024);
    for (uint32_t i = 0; i < n; i++) {
        at[i] = pos + (int32_t)i;
        set[i] = (uint64_t)1 << seq;
    }
    return samp_kv_find_slot(kv, &batch, SAMP_KV_RUN, NULL);
}

#include "tests/support/kv_model.h"

TEST(test_against_model)
{
    source rng = source_stream(7000);
    own_kv *kv = model_begin();
    for (long i = 0; i < STEPS; i++) {
        random_step(&rng, kv);
        check_rules(kv);
    }
}

/* ------------------------------------------------------------------------------------- single cases, by hand */

/* The trace of llama.cpp with a prompt of six tokens. */
TEST(test_trace_of_six)
{
    own_kv *kv = plain(1024);
    assert_num(kv->size, 1024);
    assert_num(kv->used, 0);
    assert_num(kv->head, 0);
    assert_num(kv->n, 0);
    assert_false(kv->has_shift || kv->do_defrag);
    assert_ok(put(kv, 0, 0, 6));
    for (int i = 0; i < 1024; i++) {
        assert_num(kv->cells[i].pos, i < 6 ? i : -1);
        assert_num(kv->cells[i].delta, 0);
        assert_u64(kv->cells[i].seq, i < 6);
    }
    assert_num(kv->used, 6);
    assert_num(kv->head, 0);
    assert_num(kv->n, 32);
}

TEST(test_attended_length)
{
    static const struct {
        uint32_t cells, padding, tokens, n;
    } cases[] = { { 1024, 0, 32, 32 }, { 1024, 0, 33, 64 },   { 40, 0, 33, 40 },
                  { 1024, 1, 7, 7 },   { 1024, 100, 1, 100 }, { 10, 100, 1, 10 } };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        samp_kv_params params = plain_params(cases[i].cells);
        params.padding = cases[i].padding;
        own_kv *kv = samp_kv_init(&params, NULL);
        assert_ok(put(kv, 0, 0, cases[i].tokens));
        assert_num(kv->n, cases[i].n);
    }
}

TEST(test_shift)
{
    own_kv *kv = plain(32);
    assert_ok(put(kv, 0, 0, 10));
    assert_ok(samp_kv_seq_rm(kv, 0, 1, 4));
    assert_ok(samp_kv_seq_add(kv, 0, 4, -1, -3));
    assert_true(kv->has_shift);
    for (int i = 4; i < 10; i++) {
        assert_num(kv->cells[i].pos, i - 3);
        assert_num(kv->cells[i].delta, -3);
    }
    assert_num(kv->cells[0].delta, 0);
    assert_ok(samp_kv_seq_div(kv, 0, 3, -1, 2)); /* 3 4 5 6 -> 1 2 2 3 */
    assert_num(kv->cells[8].pos, 2);
    assert_num(kv->cells[8].delta, -6);
    assert_num(kv->cells[9].pos, 3);
    assert_ok(samp_kv_seq_add(kv, 0, -1, -1, -2)); /* 0 1 2 1 2 2 3: what falls below 0 is forgotten */
    assert_num(kv->used, 4);
    assert_num(kv->cells[0].pos, -1);
    assert_num(kv->cells[0].delta, 0);
    assert_num(samp_kv_seq_pos_max(kv, 0), 1);
    assert_ok(put(kv, 1, 0, 1)); /* a cell that had a shift begins anew */
    assert_num(kv->cells[0].delta, 0);

    assert_ok(samp_kv_seq_add(kv, 0, 1, -1, INT32_MAX - 2));
    assert_num(samp_kv_seq_pos_max(kv, 0), INT32_MAX - 1);
    assert_status(samp_kv_seq_add(kv, 0, -1, -1, 1), SAMP_E_RANGE);
    assert_num(samp_kv_seq_pos_max(kv, 0), INT32_MAX - 1);
    assert_num(samp_kv_seq_pos_min(kv, 0), 0);
    assert_ok(samp_kv_seq_add(kv, 0, -1, -1, INT32_MIN));
    assert_num(samp_kv_seq_pos_max(kv, 0), -1);
    assert_num(kv->used, 1);
}

/* -------------------------------------------------------------------------------------- keys and values */

static double half_value(uint16_t h) /* 2^16 stands for infinity */
{
    double x = (double)float_of_half(h);
    return isinf(x) ? copysign(65536.0, x) : x;
}

/* Is h the half that is nearest to x, ties to even? */
static void check_nearest(double x, uint16_t h)
{
    if (isnan(x)) {
        assert_true((h & 0x7C00) == 0x7C00 && (h & 1023));
        return;
    }
    assert_num(h >> 15, signbit(x) != 0);
    if ((h & 0x7FFF) > 0x7C00) fail();
    double bound = isinf(x) ? copysign(65536.0, x) : x, off = fabs(half_value(h) - bound);
    if (fabs(bound) >= 65536.0) off = (h & 0x7FFF) == 0x7C00 ? 0 : 1e9;
    for (int step = -1; step <= 1; step += 2) { /* no neighbour is closer, or as close and even */
        uint16_t other = (uint16_t)(h + step);
        if ((h & 0x7FFF) == 0 && step < 0) continue;
        if ((h & 0x7FFF) == 0x7C00 && step > 0) continue;
        double there = fabs(half_value(other) - bound);
        if (there < off || (there == off && h & 1)) test_fail(__FILE__, __LINE__, "%.17g became 0x%04x", x, h);
    }
}

static void check_half(float x) { check_nearest((double)x, inside_to_half(x)); }

TEST(test_halves)
{
    source rng = source_stream(7100);
    for (uint32_t h = 0; h < 65536; h++) {
        float x = inside_from_half((uint16_t)h);
        bool nan = (h & 0x7FFF) > 0x7C00;
        if (nan) {
            assert_true(isnan(x));
            check_half(x);
            continue;
        }
        assert_num(inside_to_half(x), h);
        if ((h & 0x7FFF) < 0x7C00) assert_true((double)x == half_value((uint16_t)h));
        for (int i = -2; i <= 2; i++) check_half(float_from(bits_of(x) + (uint32_t)i));
        if ((h & 0x7FFF) < 0x7BFF) { /* around the middle to the next */
            float mid = (float)((half_value((uint16_t)h) + half_value((uint16_t)(h + 1))) / 2);
            for (int i = -1; i <= 1; i++) check_half(float_from(bits_of(mid) + (uint32_t)i));
        }
    }
    assert_num(inside_to_half(INFINITY), 0x7C00);
    assert_num(inside_to_half(-65520.0f), 0xFC00);
    assert_num(inside_to_half(65519.996f), 0x7BFF);
    for (int i = 0; i < 200000; i++) check_half(float_from((uint32_t)choose(&rng, 8)));
}

/* 32 layers of 4096 in f16 with 1024 cells: llama.cpp prints 512 MiB, 256 for K and 256 for V. */
TEST(test_bytes_of_a_cache)
{
    uint32_t embd[32], odd[2] = { 3, 5 };
    size_t k = 1, v = 1;
    samp_kv_params params = plain_params(1024);
    for (int i = 0; i < 32; i++) embd[i] = 4096;
    params.n_layer = 32;
    params.n_embd_k = params.n_embd_v = embd;
    params.type_k = params.type_v = SAMP_F16;
    assert_num(samp_kv_size(&params, &k, &v), (size_t)512 << 20);
    assert_num(k, (size_t)256 << 20);
    assert_num(v, (size_t)256 << 20);
    params.type_v = SAMP_F32;
    params.memory = &params; /* not looked at */
    assert_num(samp_kv_size(&params, NULL, &v), (size_t)768 << 20);
    assert_num(v, (size_t)512 << 20);

    params = plain_params(10);
    assert_num(samp_kv_size(&params, &k, &v), 0);
    params.n_layer = 2;
    params.n_embd_k = params.n_embd_v = odd;
    params.type_v = SAMP_F16;
    assert_num(samp_kv_size(&params, &k, &v), 128 + 256 + 64 + 128);
    assert_num(k, 128 + 256);
    params.n_layer = 5000;
    assert_num(samp_kv_size(&params, &k, &v), 0);
    assert_num(k, 0);
    assert_num(samp_kv_size(NULL, NULL, NULL), 0);
}

/* What is put is got, in each layout, in the caller's memory and nowhere else. */
TEST(test_put_get)
{
    static _Alignas(64) char memory[4096];
    uint32_t n_k[2] = { 6, 4 }, n_v[2] = { 3, 7 };
    for (int kind = 0; kind < 8; kind++) {
        samp_kv_params params = plain_params(9);
        params.n_layer = 2;
        params.n_embd_k = n_k;
        params.n_embd_v = n_v;
        params.type_k = kind & 1 ? SAMP_F16 : SAMP_F32;
        params.type_v = kind & 2 ? SAMP_F16 : SAMP_F32;
        params.v_trans = (kind & 4) != 0;
        params.memory = memory + 64;
        params.memory_size = samp_kv_size(&params, NULL, NULL);
        memset(memory, 0x5a, sizeof memory);
        own_kv *kv = samp_kv_init(&params, NULL);
        assert_non_null(kv);
        assert_ptr_equal(samp_kv_keys(kv, 0), memory + 64);
        float k[8], v[8];
        for (uint32_t layer = 0; layer < 2; layer++) {
            for (uint32_t cell = 0; cell < 9; cell++) {
                assert_ok(samp_kv_get(kv, layer, cell, k, v));
                for (uint32_t i = 0; i < n_k[layer]; i++) assert_same(k[i], 0.0f);
                for (uint32_t i = 0; i < 8; i++) k[i] = (float)(100 * layer + 10 * cell + i), v[i] = -k[i] - 0.5f;
                assert_ok(samp_kv_put(kv, layer, cell, k, NULL));
                assert_ok(samp_kv_put(kv, layer, cell, NULL, v));
            }
        }
        for (uint32_t layer = 0; layer < 2; layer++) {
            const char *values = samp_kv_values(kv, layer);
            for (uint32_t cell = 0; cell < 9; cell++) {
                assert_ok(samp_kv_get(kv, layer, cell, k, v));
                for (uint32_t i = 0; i < n_k[layer]; i++) assert_num(k[i], 100 * layer + 10 * cell + i);
                for (uint32_t i = 0; i < n_v[layer]; i++) {
                    float want = -(float)(100 * layer + 10 * cell + i) - 0.5f, there;
                    size_t at = params.v_trans ? (size_t)i * 9 + cell : (size_t)cell * n_v[layer] + i;
                    uint16_t half;
                    assert_same(v[i], want);
                    memcpy(&there, values + at * 4, params.type_v == SAMP_F32 ? 4 : 0);
                    memcpy(&half, values + at * 2, 2);
                    if (params.type_v == SAMP_F16) there = (float)half_value(half);
                    assert_same(there, want);
                }
            }
        }
        for (size_t i = 0; i < sizeof memory; i++)
            if (i < 64 || i >= 64 + params.memory_size) assert_num(memory[i], 0x5a);
        static const uint32_t beyond[][2] = { { 2, 0 }, { 0, 9 }, { UINT32_MAX, 8 }, { 1, UINT32_MAX } };
        for (size_t i = 0; i < TEST_COUNT(beyond); i++) { /* layer, cell */
            memset(k, 0, sizeof k);
            assert_status(samp_kv_put(kv, beyond[i][0], beyond[i][1], k, v), SAMP_E_RANGE);
            assert_status(samp_kv_get(kv, beyond[i][0], beyond[i][1], k, v), SAMP_E_RANGE);
            assert_same(k[0], 0.0f);
        }
        assert_status(samp_kv_put(NULL, 0, 0, k, v), SAMP_E_NULL);
        assert_status(samp_kv_get(NULL, 0, 0, k, v), SAMP_E_NULL);
        assert_null(samp_kv_keys(kv, 2));
        assert_null(samp_kv_values(NULL, 0));
    }
    assert_num(heap.live, 0);
}

enum { HEAD = 8 };
static uint32_t n_rot; /* of a head's elements */

/* key element i of a head, of a token at that position: a fixed vector, turned */
static double turned(int rope, double theta, int32_t pos, uint32_t i)
{
    uint32_t which = rope == SAMP_ROPE_ADJACENT ? i / 2 : i % (n_rot / 2);
    bool second = rope == SAMP_ROPE_ADJACENT ? i % 2 : i >= n_rot / 2;
    double x = sin(3.0 * which + 1), y = cos(5.0 * which + 2), angle = pos * pow(theta, -2.0 * which / n_rot);
    if (i >= n_rot) return 0.25 * i; /* not rotated */
    return second ? x * sin(angle) + y * cos(angle) : x * cos(angle) - y * sin(angle);
}

static void put_turned(samp_kv *kv, int rope, double theta, int32_t pos, uint32_t cell)
{
    float k[2 * HEAD], v[2 * HEAD];
    for (uint32_t i = 0; i < 2 * HEAD; i++) {
        k[i] = (float)turned(rope, theta, pos, i % HEAD);
        v[i] = (float)(pos + (int32_t)i);
    }
    for (uint32_t layer = 0; layer < 2; layer++) assert_ok(samp_kv_put(kv, layer, cell, k, v));
}

/* each cell's keys are those of its position; the token's number in the values is the one that was put there */
static void check_turned(samp_kv *kv, int rope, double theta, double tolerance, const int32_t *born)
{
    for (uint32_t cell = 0; cell < kv->size; cell++) {
        float k[2 * HEAD], v[2 * HEAD];
        if (kv->cells[cell].pos < 0) continue;
        for (uint32_t layer = 0; layer < 2; layer++) {
            assert_ok(samp_kv_get(kv, layer, cell, k, v));
            for (uint32_t i = 0; i < (layer ? HEAD : 2 * HEAD); i++)
                assert_near(k[i], turned(rope, theta, kv->cells[cell].pos, i % HEAD), tolerance);
            for (uint32_t i = 0; i < 2 * HEAD; i++) assert_same(v[i], (float)(born[cell] + (int32_t)i));
        }
    }
}

/* Shifted keys are those of a token at the new position. */
TEST(test_rotation)
{
    uint32_t n_k[2] = { 2 * HEAD, HEAD }, n_v[2] = { 2 * HEAD, 2 * HEAD };
    for (int kind = 0; kind < 16; kind++) {
        int rope = kind & 1 ? SAMP_ROPE_ADJACENT : SAMP_ROPE_HALF;
        double theta = kind & 2 ? 10000.0 : 500.0, tolerance = kind & 4 ? 2e-3 : 4e-7;
        samp_kv_params params = plain_params(40);
        params.n_layer = 2;
        params.n_embd_k = n_k;
        params.n_embd_v = n_v;
        params.type_k = kind & 4 ? SAMP_F16 : SAMP_F32;
        params.rope = (samp_kv_rope)rope;
        params.n_embd_head = HEAD;
        params.n_rot = kind & 8 ? 0 : 6;
        n_rot = kind & 8 ? HEAD : 6;
        if (theta != 10000.0) params.rope_theta = (float)theta;
        own_kv *kv = samp_kv_init(&params, NULL);
        int32_t born[40];
        assert_ok(put(kv, 0, 3, 30));
        for (int32_t i = 0; i < 30; i++) put_turned(kv, rope, theta, born[i] = i + 3, (uint32_t)i);
        check_turned(kv, rope, theta, tolerance / 2, born);
        assert_ok(samp_kv_update(kv));
        check_turned(kv, rope, theta, tolerance / 2, born);

        assert_ok(samp_kv_seq_rm(kv, 0, 5, 15));
        assert_ok(samp_kv_seq_add(kv, 0, 15, -1, -10));
        assert_ok(samp_kv_update(kv));
        assert_false(kv->has_shift);
        check_turned(kv, rope, theta, tolerance, born);
        assert_ok(samp_kv_seq_add(kv, 0, -1, 8, 1)); /* two steps before one update, different for each part */
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, 1000));
        assert_ok(samp_kv_seq_div(kv, 0, 1010, -1, 3));
        assert_ok(samp_kv_update(kv));
        check_turned(kv, rope, theta, 2 * tolerance, born);
        assert_num(samp_kv_seq_pos_max(kv, 0), 1009);
        assert_num(samp_kv_seq_pos_min(kv, 0), 1010 / 3);
        assert_ok(samp_kv_seq_add(kv, 0, -1, -1, 100000000)); /* angles of many turns */
        assert_ok(samp_kv_update(kv));
        check_turned(kv, rope, theta, 3 * tolerance, born);
    }
}

/* What a rotation in double gives is rounded to f16 once: no half is nearer. */
TEST(test_rotated_halves)
{
    enum { CELLS_HERE = 600, WIDTH = 256, DELTA = 77 };
    source rng = source_stream(7300);
    static float keys[CELLS_HERE][WIDTH], got[WIDTH];
    samp_kv_params params = plain_params(CELLS_HERE);
    uint32_t n_embd[1] = { WIDTH };
    params.n_layer = 1;
    params.n_embd_k = params.n_embd_v = n_embd;
    params.type_k = SAMP_F16;
    params.rope = SAMP_ROPE_ADJACENT;
    params.n_embd_head = WIDTH;
    own_kv *kv = samp_kv_init(&params, NULL);
    assert_ok(put(kv, 0, 0, CELLS_HERE));
    for (uint32_t cell = 0; cell < CELLS_HERE; cell++) {
        for (int i = 0; i < WIDTH; i++) keys[cell][i] = inside_from_half(inside_to_half((float)normal(&rng)));
        assert_ok(samp_kv_put(kv, 0, cell, keys[cell], NULL));
    }
    assert_ok(samp_kv_seq_add(kv, 0, -1, -1, DELTA));
    assert_ok(samp_kv_update(kv));
    for (uint32_t cell = 0; cell < CELLS_HERE; cell++) {
        assert_ok(samp_kv_get(kv, 0, cell, got, NULL));
        for (int i = 0; i < WIDTH; i += 2) {
            double angle = DELTA * pow(10000.0, -(double)i / WIDTH), c = cos(angle), s = sin(angle);
            double a = (double)keys[cell][i], b = (double)keys[cell][i + 1];
            volatile double bs = b * s, bc = b * c; /* rounded, not part of a product of more bits */
            check_nearest(fma(a, c, -bs), inside_to_half(got[i]));
            check_nearest(fma(a, s, bc), inside_to_half(got[i + 1]));
        }
    }
}

/* Without rope a shift leaves the keys. */
TEST(test_no_rotation)
{
    uint32_t n = 4;
    float k[4] = { 1, 2, 3, 4 }, got[4];
    samp_kv_params params = plain_params(4);
    params.n_layer = 1;
    params.n_embd_k = params.n_embd_v = &n;
    own_kv *kv = samp_kv_init(&params, NULL);
    assert_ok(put(kv, 0, 0, 1));
    assert_ok(samp_kv_put(kv, 0, 0, k, k));
    assert_ok(samp_kv_seq_add(kv, 0, -1, -1, 5));
    assert_ok(samp_kv_update(kv));
    assert_num(kv->cells[0].delta, 0);
    assert_ok(samp_kv_get(kv, 0, 0, got, NULL));
    assert_memory_equal(k, got, sizeof k);
    assert_status(samp_kv_update(NULL), SAMP_E_NULL);
    assert_status(samp_kv_defrag(NULL), SAMP_E_NULL);
}

/* -------------------------------------------------------------------------------------------------- mask */

TEST(test_mask)
{
    enum { N = 100, TOKENS = 5 };
    source rng = source_stream(7200);
    samp_kv_params params = plain_params(N);
    params.padding = 7;
    own_kv *kv = samp_kv_init(&params, NULL);
    for (int32_t s = 0; s < 5; s++) assert_ok(put(kv, s, 3 * s, 5 + (uint32_t)s));
    for (int32_t s = 0; s < 5; s++) assert_ok(samp_kv_seq_cp(kv, s, (s + 1) % 5, -1, -1));
    assert_ok(samp_kv_seq_rm(kv, 2, 7, 9));
    for (int round = 0; round < 200; round++) {
        int32_t pos[TOKENS];
        uint64_t set[TOKENS];
        uint32_t bits[TOKENS * 4 + 1];
        float bias[TOKENS * N + 1];
        samp_kv_batch batch = { TOKENS, pos, set };
        uint32_t words = (kv->n + 31) / 32;
        assert_true(kv->n < N && kv->n % 32); /* the last word has bits to spare */
        for (int t = 0; t < TOKENS; t++) {
            pos[t] = (int32_t)below(&rng, 25);
            set[t] = (uint64_t)1 << below(&rng, 6);
            if (below(&rng, 2)) set[t] |= (uint64_t)1 << below(&rng, 6);
        }
        memset(bits, 0x5a, sizeof bits);
        for (size_t i = 0; i < TEST_COUNT(bias); i++) bias[i] = 7.0f;
        assert_ok(samp_kv_mask(kv, &batch, bits, NULL));
        assert_ok(samp_kv_mask(kv, &batch, NULL, bias));
        assert_num(bits[TOKENS * words], 0x5a5a5a5a);
        assert_same(bias[TOKENS * kv->n], 7.0f);
        for (uint32_t t = 0; t < TOKENS; t++) {
            for (uint32_t c = 0; c < 32 * words; c++) {
                bool want = c < kv->n && kv->cells[c].pos >= 0 && kv->cells[c].pos <= pos[t];
                for (int s = 0; s < 6; s++)
                    if ((set[t] >> s & 1) && (c >= kv->n || !(kv->cells[c].seq >> s & 1))) want = false;
                assert_num(bits[t * words + c / 32] >> c % 32 & 1, want);
                if (c < kv->n) assert_same(bias[t * kv->n + c], want ? 0.0f : -INFINITY);
            }
        }
    }
    int32_t pos = 0;
    uint64_t none = 0, one = 1;
    samp_kv_batch bad = { 1, &pos, &none }, good = { 1, &pos, &one };
    assert_status(samp_kv_mask(kv, &bad, NULL, NULL), SAMP_E_RANGE);
    assert_status(samp_kv_mask(NULL, &good, NULL, NULL), SAMP_E_NULL);
    assert_status(samp_kv_mask(kv, NULL, NULL, NULL), SAMP_E_NULL);
}

/* ------------------------------------------------------------------------------------------------- state */

static const uint32_t state_k[2] = { 4, 8 }, state_v[2] = { 3, 5 };

static samp_kv_params state_params(uint32_t n_cells, bool v_trans)
{
    samp_kv_params params = plain_params(n_cells);
    params.n_layer = 2;
    params.n_embd_k = state_k;
    params.n_embd_v = state_v;
    params.type_k = SAMP_F16;
    params.rope = SAMP_ROPE_ADJACENT;
    params.n_embd_head = 4;
    params.v_trans = v_trans;
    return params;
}

static void fill(samp_kv *kv, uint32_t cell, int32_t seed)
{
    float k[8], v[5];
    for (uint32_t layer = 0; layer < 2; layer++) {
        for (int i = 0; i < 8; i++) k[i] = (float)(seed + i + (int)layer);
        for (int i = 0; i < 5; i++) v[i] = 0.1f * (float)(seed + i - 3 * (int)layer);
        assert_ok(samp_kv_put(kv, layer, cell, k, v));
    }
}

/* Sequence 1 of a cache with other sequences, holes, a fork and a pending shift; 7 cells. */
static samp_kv *state_cache(void)
{
    samp_kv_params params = state_params(20, true);
    samp_kv *kv = samp_kv_init(&params, NULL);
    assert_ok(put(kv, 0, 0, 6));
    assert_ok(samp_kv_seq_cp(kv, 0, 1, -1, 4));
    assert_ok(put(kv, 2, 0, 3));
    assert_ok(put(kv, 1, 4, 5));
    assert_ok(samp_kv_seq_rm(kv, 1, 2, 4));
    assert_ok(samp_kv_seq_add(kv, 1, 4, -1, -2));
    for (uint32_t i = 0; i < kv->size; i++) fill(kv, i, 10 * (int32_t)i);
    return kv;
}

/* Both sequences have the same positions, shifts, keys and values, whatever the cells. */
static void check_same(const samp_kv *a, int32_t seq_a, const samp_kv *b, int32_t seq_b)
{
    int n = 0;
    for (uint32_t i = 0; i < a->size; i++) {
        if (!(a->cells[i].seq >> seq_a & 1)) continue;
        int found = 0;
        for (uint32_t j = 0; j < b->size; j++) {
            float ka[8] = { 0 }, kb[8] = { 0 }, va[5] = { 0 }, vb[5] = { 0 };
            if (!(b->cells[j].seq >> seq_b & 1) || b->cells[j].pos != a->cells[i].pos) continue;
            found++;
            assert_num(b->cells[j].delta, a->cells[i].delta);
            for (uint32_t layer = 0; layer < 2; layer++) {
                assert_ok(samp_kv_get(a, layer, i, ka, va));
                assert_ok(samp_kv_get(b, layer, j, kb, vb));
                assert_memory_equal(ka, kb, sizeof ka);
                assert_memory_equal(va, vb, sizeof va);
            }
        }
        assert_num(found, 1);
        n++;
    }
    for (uint32_t j = 0; j < b->size; j++) n -= (int)(b->cells[j].seq >> seq_b & 1);
    assert_num(n, 0);
}

TEST(test_state)
{
    samp_kv *a = state_cache(), *b;
    size_t size = samp_kv_state_size(a, 1);
    char *bytes = malloc(size + 8);
    assert_num(size, 4 * (9 + 4) + 4 + 7 * (8 + 2 * 12 + 4 * 8) + 8);
    assert_status(samp_kv_state_save(a, 1, bytes, size - 1), SAMP_E_WORKSPACE);
    memset(bytes + size, 0x5a, 8);
    assert_ok(samp_kv_state_save(a, 1, bytes, size + 8));
    for (int i = 0; i < 8; i++) assert_num(bytes[size + (size_t)i], 0x5a);

    samp_kv_params other = state_params(9, false); /* another size and layout, some cells in use */
    other.padding = 4;
    b = samp_kv_init(&other, NULL);
    assert_ok(put(b, 5, 0, 3));
    assert_ok(samp_kv_seq_rm(b, 5, 1, 2));
    for (uint32_t i = 0; i < b->size; i++) fill(b, i, -5 * (int32_t)i);
    assert_ok(samp_kv_state_load(b, 3, bytes, size));
    check_same(a, 1, b, 3);
    assert_true(b->has_shift);
    assert_num(b->used, 9);
    assert_num(b->n, 9);
    assert_num(samp_kv_seq_pos_max(b, 5), 2);
    assert_ok(samp_kv_state_load(b, 3, bytes, size)); /* in place of itself: the cache is full */
    check_same(a, 1, b, 3);
    assert_status(samp_kv_state_load(b, 4, bytes, size), SAMP_E_FULL);
    assert_num(samp_kv_seq_pos_max(b, 4), -1);

    assert_ok(samp_kv_update(a)); /* the pending shift came along */
    assert_ok(samp_kv_update(b));
    check_same(a, 1, b, 3);

    size_t none = samp_kv_state_size(a, 40); /* a sequence without tokens is one too */
    assert_true(none > 0 && none <= size);
    assert_ok(samp_kv_state_save(a, 40, bytes, none));
    assert_ok(samp_kv_state_load(b, 3, bytes, none));
    assert_num(b->used, 2);
    assert_num(samp_kv_seq_pos_max(b, 3), -1);
    free(bytes);
    samp_kv_free(a);
    samp_kv_free(b);
}

/* One or two flipped bits change the checksum, three in neighbouring words too, and so do missing zeros. */
TEST(test_checksum)
{
    enum { WORDS = 9, BITS = 64 * WORDS };
    uint64_t words[WORDS + 1] = { 0 }, zeros[2] = { 0, 0 };
    source rng = source_stream(7300);
    for (int i = 0; i < WORDS; i++) words[i] = i % 2 ? choose(&rng, 8) : 0;
    uint64_t sum = inside_checksum(words, sizeof words - 8);
    for (int a = 0; a < BITS; a++) {
        for (int b = a; b < BITS; b++) {
            words[a / 64] ^= (uint64_t)1 << a % 64;
            if (b > a) words[b / 64] ^= (uint64_t)1 << b % 64;
            assert_true(inside_checksum(words, sizeof words - 8) != sum);
            words[a / 64] ^= (uint64_t)1 << a % 64;
            if (b > a) words[b / 64] ^= (uint64_t)1 << b % 64;
        }
    }
    for (int a = 0; a < 64 * (WORDS - 1); a++) { /* a bit, and any two of the next word */
        for (int b = 0; b < 64 * 64; b++) {
            uint64_t two = (uint64_t)1 << b % 64 | (uint64_t)1 << b / 64;
            words[a / 64] ^= (uint64_t)1 << a % 64;
            words[a / 64 + 1] ^= two;
            assert_true(inside_checksum(words, sizeof words - 8) != sum);
            words[a / 64] ^= (uint64_t)1 << a % 64;
            words[a / 64 + 1] ^= two;
        }
    }
    assert_u64(inside_checksum(words, sizeof words - 8), sum);
    for (size_t n = 0; n < 16; n++) assert_true(inside_checksum(zeros, n) != inside_checksum(zeros, n + 1));
    assert_true(inside_checksum(words, sizeof words) != sum);
}

/* bytes may begin at any address */
static void refuse(samp_kv *kv, int32_t seq, const char *bytes, size_t size, int want)
{
    samp_kv before = *kv;
    samp_kv_cell cells[20];
    char k[20 * 12 * 2];
    assert_true(kv->size <= 20);
    memcpy(cells, kv->cells, kv->size * sizeof *cells);
    memcpy(k, samp_kv_keys(kv, 0), kv->size * 4 * 2);
    assert_status(samp_kv_state_load(kv, seq, bytes, size), want);
    assert_memory_equal(&before, kv, sizeof before);
    assert_memory_equal(cells, kv->cells, kv->size * sizeof *cells);
    assert_memory_equal(k, samp_kv_keys(kv, 0), kv->size * 4 * 2);
}

/* a state whose checksum is right again after a change */
static void sign(char *bytes, size_t size)
{
    uint64_t sum = inside_checksum(bytes, size - 8);
    memcpy(bytes + size - 8, &sum, 8);
}

#define REFUSE_FOREIGN(member, value) \
    do { \
        samp_kv_params params = state_params(20, false); \
        params.member = (value); \
        samp_kv *foreign = samp_kv_init(&params, NULL); \
        assert_non_null(foreign); \
        refuse(foreign, 1, bytes, size, SAMP_E_FORMAT); \
        samp_kv_free(foreign); \
    } while (0)

TEST(test_state_damaged)
{
    static const uint32_t wide[2] = { 4, 12 }, values[2] = { 5, 3 };
    enum { POS = 4 * (9 + 4) + 4 };
    own_kv *kv = state_cache();
    size_t size = samp_kv_state_size(kv, 1);
    char *bytes = calloc(1, size + 8);
    assert_ok(samp_kv_state_save(kv, 1, bytes, size));
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
            refuse(kv, 2, bytes, size, SAMP_E_FORMAT);
            bytes[i] = (char)(bytes[i] ^ 1 << bit);
        }
        char *cut = malloc(i + 1); /* so that a read behind the end shows */
        memcpy(cut + 1, bytes, i);
        refuse(kv, 2, cut + 1, i, SAMP_E_FORMAT);
        free(cut);
    }
    refuse(kv, 2, bytes, size + 1, SAMP_E_FORMAT);
    sign(bytes, size + 8);
    refuse(kv, 2, bytes, size + 8, SAMP_E_FORMAT);
    assert_ok(samp_kv_state_save(kv, 1, bytes, size));
    refuse(kv, 2, NULL, size, SAMP_E_NULL);
    refuse(kv, 64, bytes, size, SAMP_E_RANGE);
    refuse(kv, -1, bytes, size, SAMP_E_RANGE);

    REFUSE_FOREIGN(type_k, SAMP_F32);
    REFUSE_FOREIGN(type_v, SAMP_F16);
    REFUSE_FOREIGN(rope, SAMP_ROPE_HALF);
    REFUSE_FOREIGN(rope, SAMP_ROPE_NONE);
    REFUSE_FOREIGN(rope_theta, 500.0f);
    REFUSE_FOREIGN(n_rot, 2);
    REFUSE_FOREIGN(n_embd_head, 2);
    REFUSE_FOREIGN(n_layer, 1);
    REFUSE_FOREIGN(n_embd_k, wide);
    REFUSE_FOREIGN(n_embd_v, values);

    samp_kv_params head_of_4 = state_params(20, false), head_of_2 = head_of_4; /* that is all the difference */
    head_of_4.n_rot = head_of_2.n_rot = head_of_2.n_embd_head = 2;
    samp_kv *a = samp_kv_init(&head_of_4, NULL), *b = samp_kv_init(&head_of_2, NULL);
    size_t none = samp_kv_state_size(a, 0);
    assert_ok(samp_kv_state_save(a, 0, bytes, none));
    refuse(b, 0, bytes, none, SAMP_E_FORMAT);
    samp_kv_free(a);
    samp_kv_free(b);

    static const int32_t bad[][2] = { { -1, 0 }, { INT32_MAX, 0 }, { 5, 6 }, { 5, INT32_MIN }, { 0, -INT32_MAX } };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) { /* right by its checksum, and yet no state of a cache */
        assert_ok(samp_kv_state_save(kv, 1, bytes, size));
        memcpy(bytes + POS, bad[i], 8);
        sign(bytes, size);
        refuse(kv, 2, bytes, size, SAMP_E_FORMAT);
    }
    assert_ok(samp_kv_state_save(kv, 1, bytes, size));
    bytes[POS - 1] = 0x10; /* 2^28 cells */
    sign(bytes, size);
    refuse(kv, 2, bytes, size, SAMP_E_FORMAT);
    assert_ok(samp_kv_state_save(kv, 1, bytes, size));
    sign(bytes, size);
    assert_ok(samp_kv_state_load(kv, 2, bytes, size));

    assert_num(samp_kv_state_size(NULL, 0), 0);
    assert_num(samp_kv_state_size(kv, 64), 0);
    assert_status(samp_kv_state_save(NULL, 0, bytes, size), SAMP_E_NULL);
    assert_status(samp_kv_state_save(kv, 0, NULL, size), SAMP_E_NULL);
    assert_status(samp_kv_state_save(kv, -1, bytes, size), SAMP_E_RANGE);
    assert_status(samp_kv_state_load(NULL, 0, bytes, size), SAMP_E_NULL);
    free(bytes);
}

/* ------------------------------------------------------------------------------------------- bad input */

static samp_kv_params good_params(void)
{
    static const uint32_t embd[2] = { 16, 24 };
    samp_kv_params params = plain_params(8);
    params.n_layer = 2;
    params.n_embd_k = params.n_embd_v = embd;
    params.rope = SAMP_ROPE_HALF;
    params.n_embd_head = 8;
    return params;
}

static void expect_bad(const samp_kv_params *params, const char *want, int want_status)
{
    const char *field = "";
    int status = SAMP_OK;
    assert_status(samp_kv_check_params(params, &field), want_status);
    assert_text(field, want);
    assert_status(samp_kv_check_params(params, NULL), want_status);
    assert_null(samp_kv_init(params, &status));
    assert_status(status, want_status);
    assert_null(samp_kv_init(params, NULL));
    assert_num(heap.live, 0);
}

#define EXPECT_BAD(member, value, status) \
    do { \
        samp_kv_params params = good_params(); \
        params.member = (value); \
        expect_bad(&params, #member, (status)); \
    } while (0)

TEST(test_bad_params)
{
    static const uint32_t none[2] = { 16, 0 }, huge[2] = { 16, (1u << 20) + 8 };
    static _Alignas(64) char memory[8192];
    samp_kv_params good = good_params();
    samp_kv *kv = samp_kv_init(&good, NULL);
    assert_non_null(kv);
    samp_kv_free(kv);
    EXPECT_BAD(n_cells, 0, SAMP_E_RANGE);
    EXPECT_BAD(n_cells, (1u << 26) + 1, SAMP_E_RANGE);
    EXPECT_BAD(n_seq_max, 65, SAMP_E_RANGE);
    EXPECT_BAD(padding, (1u << 16) + 1, SAMP_E_RANGE);
    EXPECT_BAD(n_layer, 4097, SAMP_E_RANGE);
    EXPECT_BAD(n_embd_k, NULL, SAMP_E_NULL);
    EXPECT_BAD(n_embd_v, NULL, SAMP_E_NULL);
    EXPECT_BAD(n_embd_k, none, SAMP_E_RANGE);
    EXPECT_BAD(n_embd_v, huge, SAMP_E_RANGE);
    EXPECT_BAD(type_k, SAMP_BF16, SAMP_E_DTYPE);
    EXPECT_BAD(type_v, SAMP_F64, SAMP_E_DTYPE);
    EXPECT_BAD(rope, (samp_kv_rope)3, SAMP_E_RANGE);
    EXPECT_BAD(n_embd_head, 0, SAMP_E_RANGE);
    EXPECT_BAD(n_embd_head, 16, SAMP_E_RANGE); /* 24 is no multiple */
    samp_kv_params bare = good_params();       /* without layers nothing else bounds it */
    bare.n_layer = 0;
    bare.n_embd_head = 1 << 20;
    assert_ok(samp_kv_check_params(&bare, NULL));
    bare.n_embd_head += 2;
    expect_bad(&bare, "n_embd_head", SAMP_E_RANGE);
    static const uint32_t wide[32] = { 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096,
                                       4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096,
                                       4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096 };
    samp_kv_params large = plain_params(4096); /* 4 GB: too many for 32 bits */
    large.n_layer = 32;
    large.n_embd_k = large.n_embd_v = wide;
    assert_status(samp_kv_check_params(&large, NULL), SIZE_MAX > UINT32_MAX ? SAMP_OK : SAMP_E_RANGE);
    assert_true(samp_kv_size(&large, NULL, NULL) == (size_t)(SIZE_MAX > UINT32_MAX ? (uint64_t)1 << 32 : 0));
    EXPECT_BAD(n_rot, 10, SAMP_E_RANGE);
    EXPECT_BAD(n_rot, 3, SAMP_E_RANGE);
    EXPECT_BAD(rope_theta, NAN, SAMP_E_NAN);
    EXPECT_BAD(rope_theta, -1.0f, SAMP_E_RANGE);
    EXPECT_BAD(rope_theta, INFINITY, SAMP_E_RANGE);
    EXPECT_BAD(defrag_threshold, NAN, SAMP_E_NAN);
    EXPECT_BAD(defrag_threshold, 1.0f, SAMP_E_RANGE);
    EXPECT_BAD(defrag_threshold, -0.1f, SAMP_E_RANGE);
    EXPECT_BAD(memory, memory + 4, SAMP_E_RANGE);
    good.memory = memory;
    good.memory_size = samp_kv_size(&good, NULL, NULL) - 1;
    expect_bad(&good, "memory_size", SAMP_E_WORKSPACE);
    expect_bad(NULL, "params", SAMP_E_NULL);

    int status = SAMP_OK;
    good = good_params();
    heap.fail_at = 1, heap.fail_after = true;
    assert_null(samp_kv_init(&good, &status));
    heap.fail_at = 0, heap.fail_after = false;
    assert_status(status, SAMP_E_NOMEM);
}

TEST(test_null_arguments)
{
    int32_t pos = 0;
    uint64_t set = 1;
    samp_kv_batch batch = { 1, &pos, &set }, no_pos = { 1, NULL, &set }, no_set = { 1, &pos, NULL };
    own_kv *kv = plain(4);
    assert_status(samp_kv_find_slot(NULL, &batch, SAMP_KV_RUN, NULL), SAMP_E_NULL);
    assert_status(samp_kv_find_slot(kv, NULL, SAMP_KV_RUN, NULL), SAMP_E_NULL);
    assert_status(samp_kv_find_slot(kv, &no_pos, SAMP_KV_RUN, NULL), SAMP_E_NULL);
    assert_status(samp_kv_find_slot(kv, &no_set, SAMP_KV_RUN, NULL), SAMP_E_NULL);
    assert_status(samp_kv_find_slot(kv, &batch, (samp_kv_slot)2, NULL), SAMP_E_RANGE);
    assert_status(samp_kv_seq_rm(NULL, 0, -1, -1), SAMP_E_NULL);
    assert_status(samp_kv_seq_cp(NULL, 0, 1, -1, -1), SAMP_E_NULL);
    assert_status(samp_kv_seq_keep(NULL, 0), SAMP_E_NULL);
    assert_status(samp_kv_seq_add(NULL, 0, -1, -1, 1), SAMP_E_NULL);
    assert_status(samp_kv_seq_div(NULL, 0, -1, -1, 2), SAMP_E_NULL);
    assert_num(samp_kv_seq_pos_min(NULL, 0), -1);
    assert_num(samp_kv_seq_pos_max(kv, 64), SAMP_E_RANGE);
    assert_num(samp_kv_seq_pos_max(kv, -1), SAMP_E_RANGE);
    assert_status(samp_kv_seq_keep(kv, -1), SAMP_E_RANGE);
    assert_status(samp_kv_seq_add(kv, -1, -1, -1, 1), SAMP_E_RANGE);
    assert_status(samp_kv_seq_cp(kv, 0, -1, -1, -1), SAMP_E_RANGE);
    samp_kv_clear(NULL);
    samp_kv_free(NULL);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
