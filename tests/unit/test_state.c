/* test_state.c - a sampler's state as bytes: what is loaded goes on as what was saved, whatever the sampler had seen
   before; damaged, short, long, foreign and forged bytes are refused and change nothing.

     SAMP_TEST_CASES   random chains (default 750; with SAMP_TEST_FULL 3000, with SAMP_TEST_QUICK 300) */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap, in case.h */
#endif
#define HEAP_HERE
#include "tests/support/heap.h"
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPI_LONG_LIST 5
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/test.h"

enum { N = 300, MOST = 60000, GUARD = 16 };

/* -------------------------------------------------------------------------------------------------- pieces */

/* A saved state between bytes that must not change. */
typedef struct saved {
    unsigned char bytes[MOST + GUARD];
    size_t size;
} saved;

static void save(const samp_sampler *s, saved *to)
{
    unsigned long calls = heap.mallocs;
    to->size = samp_state_size(s);
    assert_true(to->size > 0 && to->size <= MOST);
    memset(to->bytes, 0xA5, to->size + GUARD);
    assert_ok(samp_state_save(s, to->bytes, to->size + GUARD));
    for (size_t i = to->size; i < to->size + GUARD; i++) assert_num(to->bytes[i], 0xA5);
    assert_num(heap.mallocs, calls);
}

static shelf wall; /* bytes to load end where no more can be read */

static int load(samp_sampler *s, const saved *from)
{
    unsigned long calls = heap.mallocs;
    if (!wall.map) assert_true(shelf_make(&wall, MOST / sizeof(float)));
    char *bytes = wall.map + SHELF_PAGE + wall.size - from->size;
    memcpy(bytes, from->bytes, from->size);
    int status = samp_state_load(s, bytes, from->size);
    assert_memory_equal(bytes, from->bytes, from->size);
    assert_num(heap.mallocs, calls);
    return status;
}

static bool same(const saved *a, const saved *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* The bytes are refused, and s is what it was. */
static void refused_(samp_sampler *s, const saved *bytes, const char *what, int line)
{
    static saved before, after;
    save(s, &before);
    int status = load(s, bytes);
    if (status != SAMP_E_FORMAT) test_fail(__FILE__, line, "%s: %s", what, test_status_name(status));
    save(s, &after);
    if (!same(&before, &after)) test_fail(__FILE__, line, "%s: refused, but the sampler has changed", what);
}
#define assert_refused(s, bytes, what) refused_(s, bytes, what, __LINE__)

/* The checksum at the end of bytes that were changed on purpose. */
static void seal(saved *to)
{
    uint64_t sum = sampi_checksum(to->bytes, to->size - 8);
    for (int i = 0; i < 8; i++) to->bytes[to->size - 8 + (size_t)i] = (unsigned char)(sum >> 8 * i);
}

static void put(saved *to, size_t at, uint64_t x, int n)
{
    for (int i = 0; i < n; i++) to->bytes[at + (size_t)i] = (unsigned char)(x >> 8 * i);
    seal(to);
}

/* What may happen to a sampler; *b, if there is one, does the same and must give the same. */
static void live(samp_sampler *a, samp_sampler *b, source *s, int steps)
{
    static float row[N];
    static samp_token_data data_a[N], data_b[N];
    for (int i = 0; i < steps; i++) {
        size_t n = 1 + below(s, N);
        unsigned event = (unsigned)below(s, 100);
        samp_token got = 0, want = 0, token = (samp_token)below(s, 6);
        uint64_t position = choose(s, 4) << below(s, 30);
        make_row(s, row, n);
        if (event < 20) { /* a prompt's */
            want = samp_accept(a, token);
            if (b) got = samp_accept(b, token);
        } else if (event < 25) {
            want = samp_set_position(a, position);
            if (b) got = samp_set_position(b, position);
        } else if (event < 35) {
            want = samp_draw(a, row, n);
            if (b) got = samp_draw(b, row, n);
        } else if (event < 50) {
            samp_token_data_array cur_a = test_array(data_a, row, n), cur_b = test_array(data_b, row, n);
            want = samp_apply(a, &cur_a);
            if (b) got = samp_apply(b, &cur_b);
            if (b && (cur_a.size != cur_b.size || cur_a.selected != cur_b.selected || cur_a.sorted != cur_b.sorted))
                test_fail(__FILE__, __LINE__, "step %d: size, selected or sorted differ", i);
            for (size_t k = 0; b && k < cur_a.size && k < n; k++) {
                assert_num(data_b[k].id, data_a[k].id);
                assert_same(data_b[k].logit, data_a[k].logit);
            }
        } else {
            want = samp_sample(a, row, n);
            if (b) got = samp_sample(b, row, n);
        }
        if (b) assert_num(got, want);
    }
}

/* ------------------------------------------------------------------------------------------- it continues */

static bool has_context(const samp_sampler *s)
{
    for (int32_t i = 0; i < samp_chain_n(s); i++)
        if (has_context(samp_chain_get(s, i))) return true;
    return sampi_is_custom((const sampi_sampler *)s) && s->ctx;
}

/* Save a at some moment; b, of the same settings, loads it and goes on with it. */
static void check_continues(samp_sampler *a, samp_sampler *b, uint64_t seed, bool past)
{
    static saved at, end_a, end_b;
    source s = source_seed(seed), other = source_seed(~seed);
    int before = below(&s, 3) ? (int)below(&s, 60) : (int)below(&s, 400);
    live(a, NULL, &s, before);
    if (past) live(b, NULL, &other, (int)below(&other, 100));
    save(a, &at);
    if (load(b, &at) != SAMP_OK) test_fail(__FILE__, __LINE__, "seed %llu: refused", (unsigned long long)seed);
    save(b, &end_b);
    if (!same(&at, &end_b))
        test_fail(__FILE__, __LINE__, "seed %llu: saved again, other bytes", (unsigned long long)seed);
    assert_u64(samp_get_position(b), samp_get_position(a));
    assert_num(samp_last(b), samp_last(a));
    live(a, b, &s, 40);
    save(a, &end_a);
    save(b, &end_b);
    if (!same(&end_a, &end_b))
        test_fail(__FILE__, __LINE__, "seed %llu: other states at the end", (unsigned long long)seed);
}

/* Each kind alone, and in a chain with something that selects; both random sources; fresh and with another past. */
TEST(test_every_sampler)
{
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int rng = 0; rng < 2; rng++)
            for (uint64_t i = 0; i < 24; i++) {
                samp_sampler *s[2];
                uint64_t seed = test_seed() * 1000 + (uint64_t)kind * 100 + i;
                for (int k = 0; k < 2; k++) {
                    source from = source_seed(seed);
                    s[k] = make_kind(&from, kind, N);
                    if (i & 1) {
                        samp_sampler *chain = samp_chain_init();
                        samp_chain_add(chain, s[k]);
                        if (kind < N_STAGES) samp_chain_add(chain, make_kind(&from, SAMPI_DIST, N));
                        s[k] = chain;
                    }
                    assert_ok(samp_set_rng(s[k], (samp_rng_kind)rng));
                }
                check_continues(s[0], s[1], seed, i & 2);
                samp_free(s[0]);
                samp_free(s[1]);
            }
}

TEST(test_random_chains)
{
    size_t kept = 0, customs = 0, errors = 0;
    for (uint64_t i = 0; i < cases(9600, 300) || (!errors && i < 9600); i++) { /* few chains carry an error */
        samp_sampler *s[2];
        uint64_t seed = test_seed() + i;
        for (int k = 0; k < 2; k++) {
            source from = source_seed(seed);
            s[k] = make_chain(&from, N);
            if (i % 3 == 0) samp_set_rng(s[k], SAMP_RNG_MT19937);
        }
        unsigned char bytes[MOST] = { 0 };
        int carried = samp_status(s[0], NULL);
        if (carried || has_context(s[0])) {
            int want = carried ? carried : (int)SAMP_E_UNSUPPORTED;
            assert_num(samp_state_size(s[0]), 0);
            assert_status(samp_state_save(s[0], bytes, MOST), want);
            assert_status(samp_state_load(s[0], bytes, MOST), want);
            assert_num(bytes[0], 0);
            errors += carried != 0;
            customs += carried == 0;
        } else {
            check_continues(s[0], s[1], seed, i & 1);
            kept++;
        }
        samp_free(s[0]);
        samp_free(s[1]);
    }
    assert_true(kept > cases(9600, 300) / 2 && customs > cases(9600, 300) / 100 && errors > 0);
}

/* What is made again from a window is what it was: the counts of penalties, however the window has turned. */
TEST(test_counts_are_rebuilt)
{
    static saved at;
    source rng = source_stream(5100);
    for (int32_t last_n = 1; last_n <= 40; last_n++)
        for (int tokens = 0; tokens <= 100; tokens += 1 + (int)below(&rng, 7)) {
            own_sampler *a = samp_init_penalties(last_n, 1.2f, 0.1f, 0.1f), *b = samp_clone(a);
            const sampi_sampler *x = (const sampi_sampler *)a, *y = (const sampi_sampler *)b;
            for (int i = 0; i < tokens; i++) assert_ok(samp_accept(a, (samp_token)below(&rng, 25)));
            for (int i = 0; i < 60; i++) assert_ok(samp_accept(b, (samp_token)below(&rng, 1000)));
            save(a, &at);
            assert_ok(load(b, &at));
            assert_num(y->u.penalties.n, x->u.penalties.n);
            assert_memory_equal(sampi_penalties_list(y), sampi_penalties_list(x),
                                x->u.penalties.n * sizeof(sampi_count));
            for (int i = 0; i < 50; i++) { /* and it turns on as it did */
                samp_token token = (samp_token)below(&rng, 25);
                assert_ok(samp_accept(a, token));
                assert_ok(samp_accept(b, token));
            }
            assert_num(y->u.penalties.n, x->u.penalties.n);
            assert_memory_equal(sampi_penalties_list(y), sampi_penalties_list(x),
                                x->u.penalties.n * sizeof(sampi_count));
        }
}

/* All that a caller sees of a chain beside its tokens. */
TEST(test_chain_members)
{
    static saved at;
    samp_sampler *a = samp_chain_init(), *b;
    samp_token want[100], got[100];
    assert_ok(samp_set_n_prev(a, 7));
    assert_ok(samp_chain_add(a, samp_init_xtc(0.5f, 0.1f, 0, 3)));
    assert_ok(samp_chain_add(a, samp_init_dist(4)));
    b = samp_clone(a);
    for (samp_token t = 0; t < 12; t++) assert_ok(samp_accept(a, t));
    assert_ok(samp_set_position(a, UINT64_MAX - 5));
    assert_ok(samp_set_position(samp_chain_get(a, 0), (uint64_t)1 << 40)); /* a member's own, for when it is alone */
    save(a, &at);
    assert_ok(load(b, &at));
    assert_u64(samp_get_position(b), UINT64_MAX - 5);
    assert_u64(samp_get_position(samp_chain_get(b, 0)), (uint64_t)1 << 40);
    assert_num(samp_prev(a, want, 100), 7);
    assert_num(samp_prev(b, got, 100), 7);
    assert_memory_equal(got, want, 7 * sizeof *got);
    assert_num(samp_perf(samp_chain_get(b, 0)).n_accept, 0); /* counters are not state */
    samp_free(a);
    samp_free(b);
}

/* Between a draw and its accept adaptive_p knows what was selected, and so does what is loaded there. */
TEST(test_between_draw_and_accept)
{
    static saved at;
    for (int rng = 0; rng < 2; rng++)
        for (uint64_t i = 0; i < 20; i++) {
            samp_sampler *a = samp_init_adaptive_p(0.3f, 0.9f, i), *b, *c;
            float row[8] = { 1, 2, 3, 4, 3, 2, 1, 0 };
            assert_ok(samp_set_rng(a, (samp_rng_kind)rng));
            b = samp_clone(a);
            float start = ((const sampi_sampler *)a)->u.adaptive.sum;
            samp_token token = samp_draw(a, row, 8);
            save(a, &at);
            assert_ok(load(b, &at));
            c = samp_clone(b);
            assert_ok(samp_accept(a, token));
            assert_ok(samp_accept(b, token));
            assert_ok(samp_accept(c, token + 1));
            const sampi_sampler *x = (const sampi_sampler *)a, *y = (const sampi_sampler *)b;
            assert_same(y->u.adaptive.sum, x->u.adaptive.sum);
            assert_same(y->u.adaptive.total, x->u.adaptive.total);
            assert_same(((const sampi_sampler *)c)->u.adaptive.sum, start); /* dropped */
            assert_true(x->u.adaptive.sum != start);
            samp_free(a);
            samp_free(b);
            samp_free(c);
        }
}

/* ---------------------------------------------------------------------------------------- damaged bytes */

static samp_sampler *make_busy(int rng)
{
    samp_sampler *chain = samp_chain_init(), *inner = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_penalties(20, 1.2f, 0.1f, 0.1f)));
    assert_ok(samp_chain_add(inner, samp_init_dry(NULL, 64, 0.8f, 1.75f, 1, 30, NULL, 0)));
    assert_ok(samp_chain_add(inner, samp_init_xtc(0.5f, 0.1f, 1, 2)));
    assert_ok(samp_chain_add(chain, inner));
    assert_ok(samp_chain_add(chain, samp_init_mirostat_v2(3, 4.0f, 0.2f)));
    assert_ok(samp_chain_add(chain, samp_init_adaptive_p(0.3f, 0.9f, 4)));
    assert_ok(samp_set_rng(chain, (samp_rng_kind)rng));
    return chain;
}

TEST(test_every_byte_changed)
{
    static saved good;
    for (int rng = 0; rng < 2; rng++) {
        own_sampler *s = make_busy(rng);
        source from = source_seed(5200);
        live(s, NULL, &from, 50);
        save(s, &good);
        live(s, NULL, &from, 10);
        for (size_t i = 0; i < good.size; i++)
            for (int x = 1; x < 256; x += rng ? 127 : 1) {
                good.bytes[i] ^= (unsigned char)x;
                assert_refused(s, &good, "a changed byte");
                good.bytes[i] ^= (unsigned char)x;
            }
        assert_ok(load(s, &good));
    }
}

TEST(test_every_length_cut_off)
{
    static saved good, bad;
    for (int rng = 0; rng < 2; rng++) {
        own_sampler *s = make_busy(rng);
        source from = source_seed(5300);
        live(s, NULL, &from, 50);
        save(s, &good);
        live(s, NULL, &from, 10);
        for (size_t size = 0; size < good.size + 20; size++) {
            if (size == good.size) continue;
            bad = good;
            bad.size = size;
            assert_refused(s, &bad, "another length");
            if (size < 8) continue;
            seal(&bad);
            assert_refused(s, &bad, "another length, with its checksum");
        }
    }
}

/* Blocks of a file swapped, zeros, nothing but noise. */
TEST(test_damaged_blocks)
{
    static saved good, bad;
    own_sampler *s = make_busy(0);
    source from = source_seed(5400);
    live(s, NULL, &from, 50);
    save(s, &good);
    for (int i = 0; i < 3000; i++) {
        bad = good;
        size_t a = below(&from, good.size), b = below(&from, good.size), n = 1 + below(&from, 40);
        if (a + n > good.size || b + n > good.size) continue;
        memmove(bad.bytes + a, good.bytes + b, n);
        if (!same(&bad, &good)) assert_refused(s, &bad, "a block copied over another");
        for (size_t k = 16; k < bad.size; k++) bad.bytes[k] = (unsigned char)choose(&from, 1);
        seal(&bad); /* the head and the checksum are good */
        static saved before, after;
        save(s, &before);
        int status = load(s, &bad);
        if (status) assert_status(status, SAMP_E_FORMAT);
        save(s, &after);
        assert_true(status ? same(&before, &after) : same(&after, &bad));
    }
    memset(bad.bytes, 0, sizeof bad.bytes);
    for (bad.size = 0; bad.size < 200; bad.size++) assert_refused(s, &bad, "zeros");
}

/* ----------------------------------------------------------------------------------------- forged fields
   Right checksum, right fingerprint, a value that no sampler can have. After the head of 16 bytes and the position
   comes what the kind adds. */

enum { PART = 16, OWN = PART + 8 };

TEST(test_forged)
{
    static saved good, bad;
    static const float not_a_share[] = { NAN, INFINITY, -INFINITY, -1.0f, 1.5f };
    static const uint32_t bad_tokens[] = { 0x80000000u, 0xFFFFFFFEu };
    own_sampler *s = samp_init_penalties(8, 1.2f, 0.1f, 0.1f);
    for (samp_token t = 0; t < 8; t++) assert_ok(samp_accept(s, t));
    save(s, &good);
    for (uint64_t n = 0; n < 20; n++) { /* a window of n that holds 8 */
        bad = good;
        put(&bad, OWN, n, 4);
        if (n != 8) assert_refused(s, &bad, "another number of tokens");
    }
    bad = good;
    put(&bad, OWN, UINT32_MAX, 4);
    assert_refused(s, &bad, "a huge window");
    bad = good;
    bad.size += 4; /* and the ninth token */
    put(&bad, OWN, 9, 4);
    put(&bad, OWN + 4 + 4 * 8, 1, 4);
    assert_refused(s, &bad, "one token more than the window");
    for (size_t i = 0; i < 8; i++) {
        bad = good;
        put(&bad, OWN + 4 + 4 * i, UINT32_MAX, 4);
        assert_refused(s, &bad, "a token below 0");
    }
    bad = good;
    put(&bad, OWN + 4, INT32_MAX, 4);
    assert_ok(load(s, &bad)); /* any token may have been accepted */
    samp_free(s);

    s = samp_init_mirostat_v2(1, 3.0f, 0.1f);
    save(s, &good);
    for (int i = 0; i < 3; i++) {
        bad = good;
        put(&bad, OWN, bits_of(not_a_share[i]), 4);
        assert_refused(s, &bad, "mu");
    }
    samp_free(s);

    s = samp_init_adaptive_p(0.3f, 0.9f, 1);
    save(s, &good);
    for (int i = 0; i < 5; i++)
        for (size_t at = OWN; at < OWN + 16; at += 4) {
            bad = good;
            if (at == OWN + 8)
                put(&bad, at, bad_tokens[i % 2], 4);
            else
                put(&bad, at, bits_of(not_a_share[i]), 4);
            if (at != OWN + 12 && i == 4) continue; /* 1.5 is a sum */
            assert_refused(s, &bad, at < OWN + 8 ? "an average" : at == OWN + 8 ? "pending" : "pending_p");
        }
    samp_free(s);

    s = samp_init_dist(3); /* an error would have to draw them all again */
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    save(s, &good);
    for (int shift = 33; shift < 64; shift++) {
        bad = good;
        put(&bad, OWN, (uint64_t)1 << shift, 8);
        assert_refused(s, &bad, "mt19937's draws");
    }
}

/* --------------------------------------------------------------------------------------------- foreign bytes */

static const samp_vocab letters = { N, test_letters, NULL, NULL, NULL, 0, -1, -1 };
static int32_t letter_tokens(const samp_vocab *vocab, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    for (size_t i = 0; i < n && (int32_t)i < n_max; i++) out[i] = text[i] + (vocab->user ? 1 : 0);
    return (int32_t)n;
}
static int one;
static const samp_vocab spelt = { N, test_letters, letter_tokens, NULL, NULL, 0, -1, -1 };
static const samp_vocab spelt_otherwise = { N, test_letters, letter_tokens, &one, NULL, 0, -1, -1 };
static const char *const breakers[] = { "d", "no", "xy" };
static const samp_logit_bias bias[] = { { 3, 1.0f }, { 5, -INFINITY }, { 3, 0.5f }, { 3, 2.0f } };

static int nothing(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_OK;
}
static const char *other_name(const samp_sampler *s)
{
    (void)s;
    return "other";
}
static const samp_sampler_i plain = { NULL, NULL, nothing, NULL, NULL, NULL, NULL, NULL };
static const samp_sampler_i named = { other_name, NULL, nothing, NULL, NULL, NULL, NULL, NULL };

static samp_sampler *chain_with(size_t n_prev, samp_sampler *a, samp_sampler *b)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_set_n_prev(chain, n_prev));
    if (a) samp_chain_add(chain, a);
    if (b) samp_chain_add(chain, b);
    return chain;
}

/* One of each kind, then with every single setting another; NULL: no more. */
static samp_sampler *variant(int i)
{
    static const samp_token exempt[] = { 3, 5 }, replayed[] = { 7, 1, 7, 2 };
    switch (i) {
        case 0: return samp_init_logit_bias(N, 2, bias);
        case 1: return samp_init_logit_bias(N + 1, 2, bias);
        case 2: return samp_init_logit_bias(N, 3, bias);
        case 3: return samp_init_logit_bias(N, 2, bias + 1);
        case 4: return samp_init_logit_bias(N, 2, bias + 2);
        case 5: return samp_init_penalties(8, 1.2f, 0.1f, 0.2f);
        case 6: return samp_init_penalties(9, 1.2f, 0.1f, 0.2f);
        case 7: return samp_init_penalties(8, 1.3f, 0.1f, 0.2f);
        case 8: return samp_init_penalties(8, 1.2f, 0.2f, 0.2f);
        case 9: return samp_init_penalties(8, 1.2f, 0.1f, 0.1f);
        case 10: return samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, 9, breakers, 2);
        case 11: return samp_init_dry(&letters, 64, 0.7f, 1.75f, 1, 9, breakers, 2);
        case 12: return samp_init_dry(&letters, 64, 0.8f, 1.5f, 1, 9, breakers, 2);
        case 13: return samp_init_dry(&letters, 64, 0.8f, 1.75f, 2, 9, breakers, 2);
        case 14: return samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, 8, breakers, 2);
        case 15: return samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, 9, breakers, 1);
        case 16: return samp_init_dry(&letters, 64, 0.8f, 1.75f, 1, 9, breakers + 1, 2);
        case 17: return samp_init_dry(NULL, 64, 0.8f, 1.75f, 1, 9, NULL, 0);
        case 18: return samp_init_top_n_sigma(1.0f);
        case 19: return samp_init_top_n_sigma(1.5f);
        case 20: return samp_init_top_k(4);
        case 21: return samp_init_top_k(-4);
        case 22: return samp_init_tail_free(0.5f, 1);
        case 23: return samp_init_typical(0.5f, 1);
        case 24: return samp_init_top_p(0.5f, 1);
        case 25: return samp_init_min_p(0.5f, 1);
        case 26: return samp_init_min_p(0.25f, 1);
        case 27: return samp_init_min_p(0.5f, 2);
        case 28: return samp_init_xtc(0.5f, 0.1f, 1, 7);
        case 29: return samp_init_xtc(0.6f, 0.1f, 1, 7);
        case 30: return samp_init_xtc(0.5f, 0.2f, 1, 7);
        case 31: return samp_init_xtc(0.5f, 0.1f, 2, 7);
        case 32: return samp_init_xtc(0.5f, 0.1f, 1, 8);
        case 33: return samp_init_temp(0.5f);
        case 34: return samp_init_temp(0.25f);
        case 35: return samp_init_temp_ext(0.5f, 0.0f, 1.0f);
        case 36: return samp_init_temp_ext(0.5f, 0.1f, 1.0f);
        case 37: return samp_init_temp_ext(0.5f, 0.1f, 2.0f);
        case 38: return samp_init_softmax();
        case 39: return samp_init_greedy();
        case 40: return samp_init_dist(7);
        case 41: return samp_init_dist(((uint64_t)1 << 32) + 7);
        case 42: return samp_init_mirostat(N, 7, 3.0f, 0.1f, 100);
        case 43: return samp_init_mirostat(N + 1, 7, 3.0f, 0.1f, 100);
        case 44: return samp_init_mirostat(N, 8, 3.0f, 0.1f, 100);
        case 45: return samp_init_mirostat(N, 7, 4.0f, 0.1f, 100);
        case 46: return samp_init_mirostat(N, 7, 3.0f, 0.2f, 100);
        case 47: return samp_init_mirostat(N, 7, 3.0f, 0.1f, 50);
        case 48: return samp_init_mirostat_v2(7, 3.0f, 0.1f);
        case 49: return samp_init_mirostat_v2(7, 3.5f, 0.1f);
        case 50: return samp_init_adaptive_p(0.3f, 0.9f, 7);
        case 51: return samp_init_adaptive_p(0.4f, 0.9f, 7);
        case 52: return samp_init_adaptive_p(0.3f, 0.8f, 7);
        case 53: return samp_init_custom(&plain, NULL);
        case 54: return samp_init_custom(&named, NULL);
        case 55: return chain_with(64, NULL, NULL);
        case 56: return chain_with(63, NULL, NULL);
        case 57: return chain_with(64, samp_init_temp(0.5f), samp_init_top_k(4));
        case 58: return chain_with(64, samp_init_top_k(4), samp_init_temp(0.5f));
        case 59: return chain_with(64, samp_init_top_k(4), NULL);
        case 60: return chain_with(64, chain_with(64, samp_init_top_k(4), NULL), NULL);
        case 61: return chain_with(64, samp_init_custom(&named, NULL), NULL);
        case 62: return samp_init_dry(&spelt, 64, 0.8f, 1.75f, 1, 9, breakers, 2);
        case 63: return samp_init_dry(&spelt_otherwise, 64, 0.8f, 1.75f, 1, 9, breakers, 2);
        case 64: return samp_init_p_less(0.5f, 1);
        case 65: return samp_init_p_less(0.25f, 1);
        case 66: return samp_init_p_less(0.5f, 2);
        case 67: return samp_init_epsilon(0.5f, 1);
        case 68: return samp_init_epsilon(0.25f, 1);
        case 69: return samp_init_epsilon(0.5f, 2);
        case 70: return samp_init_eta(0.5f, 1);
        case 71: return samp_init_eta(0.25f, 1);
        case 72: return samp_init_eta(0.5f, 2);
        case 73: return samp_init_smoothing(0.5f, 1.0f);
        case 74: return samp_init_smoothing(0.25f, 1.0f);
        case 75: return samp_init_smoothing(0.5f, 2.0f);
        case 76: return samp_init_top_h(0.5f, 1);
        case 77: return samp_init_top_h(0.25f, 1);
        case 78: return samp_init_top_h(0.5f, 2);
        case 79: return samp_init_min_k(0.5f);
        case 80: return samp_init_min_k(0.25f);
        case 81: return samp_init_log_softmax();
        case 82: return samp_init_top_k_ties(4);
        case 83: return samp_init_top_k_ties(5);
        case 84: return samp_init_p_less_norm(0.5f, 1);
        case 85: return samp_init_p_less_norm(0.25f, 1);
        case 86: return samp_init_p_less_norm(0.5f, 2);
        case 87: return samp_init_xtc_except(0.5f, 0.1f, 1, 7, exempt, 2);
        case 88: return samp_init_xtc_except(0.5f, 0.1f, 1, 7, exempt, 1);
        case 89: return samp_init_xtc_except(0.5f, 0.1f, 1, 7, exempt + 1, 1);
        case 90: return samp_init_ras(8, 0.25f, 7);
        case 91: return samp_init_ras(9, 0.25f, 7);
        case 92: return samp_init_ras(8, 0.5f, 7);
        case 93: return samp_init_ras(8, 0.25f, 8);
        case 94: return samp_init_replay(replayed, 3);
        case 95: return samp_init_replay(replayed, 4);
        case 96: return samp_init_replay(replayed + 1, 3);
        default: return NULL;
    }
}

enum { N_VARIANTS = 97 };

TEST(test_states_of_other_samplers)
{
    static saved bytes[2 * N_VARIANTS];
    assert_true(variant(N_VARIANTS) == NULL);
    for (int i = 0; i < 2 * N_VARIANTS; i++) {
        own_sampler *s = variant(i / 2);
        assert_ok(samp_set_rng(s, (samp_rng_kind)(i & 1)));
        save(s, &bytes[i]);
    }
    for (int i = 0; i < 2 * N_VARIANTS; i++) {
        own_sampler *s = variant(i / 2);
        assert_ok(samp_set_rng(s, (samp_rng_kind)(i & 1)));
        for (int k = 0; k < 2 * N_VARIANTS; k++) {
            char what[100];
            snprintf(what, sizeof what, "variant %d, source %d into variant %d, source %d", k / 2, k & 1, i / 2,
                     i & 1);
            if (k != i)
                assert_refused(s, &bytes[k], what);
            else
                assert_ok(load(s, &bytes[k]));
        }
    }
}

/* A copy is the equal of what it was made from, with a custom sampler in it too, whoever copies that one. */
static samp_sampler *plain_clone(const samp_sampler *s) { return samp_init_custom(s->iface, NULL); }

TEST(test_clones)
{
    static saved bytes;
    static const samp_sampler_i cloned = { NULL, NULL, nothing, NULL, plain_clone, NULL, NULL, NULL };
    for (int rng = 0; rng < 2; rng++)
        for (int own = 0; own < 2; own++) {
            samp_sampler *s = samp_chain_init(), *copy;
            assert_ok(samp_set_rng(s, (samp_rng_kind)rng));
            assert_ok(samp_chain_add(s, samp_init_custom(own ? &cloned : &plain, NULL)));
            assert_ok(samp_chain_add(s, samp_init_dist(4)));
            assert_non_null(copy = samp_clone(s));
            save(s, &bytes);
            assert_ok(load(copy, &bytes));
            samp_free(copy);
            samp_free(s);
        }
}

/* Another version or another magic, with a right checksum. */
TEST(test_other_versions)
{
    static saved good, bad;
    own_sampler *s = samp_init_dist(1);
    save(s, &good);
    assert_num(good.size, 32); /* head, position, checksum */
    assert_memory_equal(good.bytes, "SAMP\1\0\0\0", 8);
    bad = good;
    put(&bad, 0, 0x504D4154u, 4);
    assert_refused(s, &bad, "magic");
    bad = good;
    put(&bad, 4, 2, 4);
    assert_refused(s, &bad, "version");
    bad = good;
    put(&bad, 8, 0, 8);
    assert_refused(s, &bad, "fingerprint");
}

/* ------------------------------------------------------------------------------------------ calls, format */

TEST(test_bad_calls)
{
    static saved at;
    int context = 0;
    unsigned char bytes[64] = { 0 };
    own_sampler *s = samp_init_dist(1), *bad = samp_init_top_p(2.0f, 0), *chain = samp_chain_init();
    save(s, &at);
    assert_num(samp_state_size(NULL), 0);
    assert_status(samp_state_save(NULL, bytes, sizeof bytes), SAMP_E_NULL);
    assert_status(samp_state_save(s, NULL, 64), SAMP_E_NULL);
    assert_status(samp_state_load(NULL, at.bytes, at.size), SAMP_E_NULL);
    assert_status(samp_state_load(s, NULL, 0), SAMP_E_NULL);
    for (size_t size = 0; size < at.size; size++) assert_status(samp_state_save(s, bytes, size), SAMP_E_WORKSPACE);
    for (size_t i = 0; i < sizeof bytes; i++) assert_num(bytes[i], 0);
    assert_ok(samp_state_save(s, bytes, at.size));
    assert_memory_equal(bytes, at.bytes, at.size);
    assert_ok(samp_state_save(s, bytes + 1, at.size)); /* at any address */
    assert_ok(samp_state_load(s, bytes + 1, at.size));
    /* what carries an error, and a custom sampler with a context */
    assert_num(samp_state_size(bad), 0);
    assert_status(samp_state_save(bad, bytes, sizeof bytes), SAMP_E_RANGE);
    assert_status(samp_state_load(bad, at.bytes, at.size), SAMP_E_RANGE);
    assert_ok(samp_chain_add(chain, samp_init_custom(&plain, NULL)));
    assert_true(samp_state_size(chain) > 0);
    assert_ok(samp_chain_add(chain, samp_init_custom(&plain, &context)));
    assert_num(samp_state_size(chain), 0);
    assert_status(samp_state_save(chain, bytes, sizeof bytes), SAMP_E_UNSUPPORTED);
    assert_status(samp_state_load(chain, at.bytes, at.size), SAMP_E_UNSUPPORTED);
}

/* The form itself, byte by byte. */
TEST(test_bytes_of_the_form)
{
    static saved at;
    static const unsigned char want[] = {
        0x0F, 0x0E, 0x0D, 0x0C, 0x0B, 0x0A, 9, 8,             /* position */
        3,    0,    0,    0,                                  /* tokens in the window, the oldest first */
        5,    0,    0,    0,    6,    0,    0, 0, 4, 3, 2, 1, /* 5, 6, 0x01020304 */
    };
    own_sampler *s = samp_init_penalties(3, 1.2f, 0.0f, 0.0f);
    assert_ok(samp_accept(s, 9));
    assert_ok(samp_accept(s, 5));
    assert_ok(samp_accept(s, 6));
    assert_ok(samp_accept(s, 0x01020304));
    assert_ok(samp_set_position(s, 0x08090A0B0C0D0E0Fu));
    save(s, &at);
    assert_num(at.size, PART + sizeof want + 8);
    assert_memory_equal(at.bytes + PART, want, sizeof want);
}

/* The same bytes on every machine: what is written here is what was written where these sums come from. */
TEST(test_same_everywhere)
{
    static saved at;
    static const uint64_t want[2] = { 0x743918de6f92baa2u, 0x406f08041d5b32d8u };
    for (int rng = 0; rng < 2; rng++) { /* dist alone: what mt19937 gives does not depend on libm */
        own_sampler *s = rng ? samp_init_dist(0x123456789u) : make_busy(0);
        float row[64];
        assert_ok(samp_set_rng(s, (samp_rng_kind)rng));
        for (int i = 0; i < 400; i++) {
            for (int k = 0; k < 64; k++) row[k] = (float)((k * 37 + i * 11) % 64) / 8.0f;
            assert_true(samp_sample(s, row, 64) >= 0);
        }
        save(s, &at);
        assert_u64(sampi_checksum(at.bytes, at.size), want[rng]);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
