/* test_gumbel.c - draws by a race of noise that belongs to tokens (samp_init_gumbel): the winner is that of a second
   implementation, draws have the distribution that they should, and what makes the race worth having holds: the order of
   candidates and what a truncation removes beside the winner change nothing, and similar distributions mostly give the
   same token. That steps, fast path, batches and saved states agree on random chains is told where those are tested. */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/chi_square.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { N = 60, STREAM = 6 << 16 }; /* gumbel's number among kinds, the first one of its chain */

/* ---- the winner ---- */

/* E of a token: -ln u, u from Philox. */
static long double noise(uint64_t seed, uint64_t position, uint32_t stream, samp_token id)
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, out[4];
    uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), stream, (uint32_t)id };
    inside_philox(counter, key, out);
    uint64_t k = ((uint64_t)out[1] << 32 | out[0]) >> 12;
    return -logl((2.0L * (long double)k + 1.0L) / 9007199254740992.0L);
}

/* The smallest E / w, in long double, of tokens first, first + 1, ...; -1: two are too close to tell. */
static samp_token winner(const float *row, int n, samp_token first, uint64_t seed, uint64_t position)
{
    float max = -INFINITY;
    long double best = INFINITY, next = INFINITY;
    samp_token id = -1;
    for (int i = 0; i < n; i++) max = fmaxf(max, row[i]);
    for (int i = 0; i < n; i++) {
        uint64_t w = row[i] > -INFINITY ? inside_weight(max, row[i]) : 0;
        long double time = w ? noise(seed, position, STREAM, first + i) / (long double)w : INFINITY;
        if (time < best) {
            next = best;
            best = time;
            id = first + i;
        } else if (time < next) {
            next = time;
        }
    }
    return next - best < 1e-12L * best ? -1 : id;
}

TEST(test_winner_by_formula)
{
    source rng = source_stream(1);
    int told = 0, n_rounds = rounds(4000);
    assert_true(real_rows_load(REAL_ROWS_PATH));
    for (int round = 0; round < n_rounds; round++) {
        static float row[3000];
        static samp_token_data data[3000];
        int n = 1 + (int)below(&rng, percent(&rng, 20) ? 3000 : N);
        uint64_t seed = choose(&rng, 8), position = percent(&rng, 50) ? below(&rng, 10) : choose(&rng, 8);
        test_logits(&rng, row, (size_t)n, 0.2 + 10 * uniform(&rng));
        if (round % 3 == 0) /* a model's */
            memcpy(row, real_rows[below(&rng, REAL_ROWS)] + below(&rng, REAL_WIDTH - 3000), (size_t)n * sizeof *row);
        for (int i = 0; i < n / 4; i++) row[below(&rng, (uint64_t)n)] = -INFINITY;
        row[below(&rng, (uint64_t)n)] = 3.0f;
        samp_token want = winner(row, n, 0, seed, position);
        own_sampler *s = samp_init_gumbel(seed);
        assert_ok(samp_set_position(s, position));
        samp_token_data_array cur = test_array(data, row, (size_t)n);
        if (percent(&rng, 50)) { /* what is masked is not there, so indices are no ids */
            cur.size = 0;
            for (int i = 0; i < n; i++)
                if (row[i] > -INFINITY) data[cur.size++] = data[i];
        }
        if (percent(&rng, 30)) test_shuffle(&rng, &cur);
        assert_ok(samp_apply(s, &cur));
        samp_token by_steps = cur.data[cur.selected].id;
        assert_u64(samp_get_position(s), position + 1);
        assert_ok(samp_set_position(s, position));
        assert_num(samp_sample(s, row, (size_t)n), by_steps);
        if (want >= 0) assert_num(by_steps, want);
        told += want >= 0;
    }
    assert_true(told > n_rounds - 3);
}

/* Rows of many tiles and of any end, with every instruction set: equal tokens, so that any may win, and a model's; as
   they are, behind a truncation that leaves few of many, and as an array whose ids are no indices. */
TEST(test_long_rows)
{
    source rng = source_stream(3);
    float *row = (float *)malloc(REAL_WIDTH * sizeof *row);
    samp_token_data *data = (samp_token_data *)malloc(REAL_WIDTH * sizeof *data);
    assert_true(real_rows_load(REAL_ROWS_PATH));
    for (int round = 0; round < rounds(600); round++) {
        bool model = round % 20 == 0;
        int n = model ? REAL_WIDTH - (int)below(&rng, 300) : 1 + round % 300, far_off = (int)below(&rng, 1 << 30);
        uint64_t seed = choose(&rng, 8), position = choose(&rng, 8);
        const float *real = real_rows[below(&rng, REAL_ROWS)];
        float max = 0.25f;
        for (int i = 0; i < n; i++) row[i] = model ? real[i] : 0.25f, max = fmaxf(max, row[i]);
        samp_token want = winner(row, n, 0, seed, position), far_want = winner(row, n, far_off, seed, position);
        if (want < 0 || far_want < 0) continue;
        for (int set = 0; samp_isa_list(set); set++) {
            assert_ok(samp_isa_force(samp_isa_list(set)));
            own_sampler *s = samp_init_gumbel(seed),
                        *cut = new_chain(samp_init_min_p(1e-3f, 0), samp_init_gumbel(seed));
            assert_ok(samp_set_position(s, position));
            assert_ok(samp_set_position(cut, position));
            assert_num(samp_sample(s, row, (size_t)n), want);
            samp_token of_few = samp_sample(cut, row, (size_t)n);
            if (row[want] > max - 6.9f) assert_num(of_few, want);
            samp_token_data_array cur = test_array(data, row, (size_t)n);
            for (int i = 0; i < n; i++) data[i].id += far_off;
            assert_ok(samp_set_position(s, position));
            assert_ok(samp_apply(s, &cur));
            assert_num(cur.data[cur.selected].id, far_want);
        }
    }
    assert_ok(samp_isa_force(NULL));
    free(row);
    free(data);
}

/* By hand: with two equal logits the smaller E wins. */
TEST(test_by_hand)
{
    static const float row[2] = { 1.5f, 1.5f };
    int wins = 0;
    own_sampler *s = samp_init_gumbel(5);
    for (uint64_t position = 0; position < 100; position++) {
        samp_token want = noise(5, position, STREAM, 0) < noise(5, position, STREAM, 1) ? 0 : 1;
        assert_num(samp_sample(s, row, 2), want);
        wins += want;
    }
    assert_true(wins > 25 && wins < 75);
    assert_u64(samp_get_seed(s), 5);
    char text[64];
    assert_true(samp_describe(s, text, sizeof text) > 0);
    assert_text(text, "logits -> gumbel(seed=5)");
}

/* p of every token is left, as by dist. */
TEST(test_p_is_left)
{
    for (size_t n = N; n <= 50 * N; n *= 50) {
        float *row = (float *)malloc(n * sizeof *row);
        samp_token_data *a = (samp_token_data *)malloc(n * sizeof *a), *b = (samp_token_data *)malloc(n * sizeof *b);
        test_row(row, n, 2, 2.0, 7);
        samp_token_data_array x = test_array(a, row, n), y = test_array(b, row, n);
        samp_sampler *race = samp_init_gumbel(1), *dist = samp_init_dist(1);
        assert_ok(samp_apply(race, &x));
        assert_ok(samp_apply(dist, &y));
        for (size_t i = 0; i < n; i++) assert_same(x.data[i].p, y.data[i].p);
        assert_memory_equal(a, b, n * sizeof *a);
        samp_free(race);
        samp_free(dist);
        free(row);
        free(a);
        free(b);
    }
}

/* ---- the distribution ---- */

static double fits(samp_sampler *s, const float *row, const real *p, long draws)
{
    long seen[N] = { 0 };
    for (long k = 0; k < draws; k++) {
        samp_token token = samp_sample(s, row, N);
        assert_true(token >= 0 && token < N);
        seen[token]++;
    }
    return chi_square(seen, p, N);
}

TEST(test_distribution)
{
    float row[N], other[N];
    real p[N];
    test_row(row, N, 3, 1.5, 9);
    for (int i = 0; i < N; i++) p[i] = i == 9 ? 0 : expl((real)row[i]);
    for (int i = 0; i < N; i++) other[i] = row[i] * 0.95f;
    own_sampler *s = samp_init_gumbel(4);
    assert_true(fits(s, row, p, quick() ? 20000 : 200000) > 1e-4);
    if (!quick()) assert_true(fits(s, other, p, 200000) < 1e-9); /* it tells 5 % of temperature */
}

/* Positions, and places in a chain, have noise of their own: pairs of draws are independent. */
TEST(test_independent)
{
    enum { FEW = 8 };
    static const float row[FEW];
    long seen[FEW * FEW] = { 0 }, seeds[FEW * FEW] = { 0 };
    real p[FEW * FEW];
    for (int i = 0; i < FEW * FEW; i++) p[i] = 1;
    own_sampler *s = samp_init_gumbel(6);
    for (int k = 0; k < 20000; k++) {
        samp_token first = samp_sample(s, row, FEW), second = samp_sample(s, row, FEW);
        seen[first * FEW + second]++;
        own_sampler *next = samp_init_gumbel((uint64_t)k), *after = samp_init_gumbel((uint64_t)k + 1);
        seeds[samp_sample(next, row, FEW) * FEW + samp_sample(after, row, FEW)]++;
    }
    assert_true(chi_square(seen, p, FEW * FEW) > 1e-4);
    assert_true(chi_square(seeds, p, FEW * FEW) > 1e-4);
}

/* A tail of a thousand tokens, each less likely than 2^-24, comes as often as it should. */
TEST(test_unlikely_tail)
{
    static float row[1001];
    int tail = 0, draws = quick() ? 2000 : 60000;
    for (int i = 1; i <= 1000; i++) row[i] = -15.0f; /* 3.1e-7, 3.1e-4 together */
    own_sampler *s = samp_init_gumbel(7);
    for (int i = 0; i < draws; i++) tail += samp_sample(s, row, 1001) > 0;
    assert_true(quick() ? tail < 7 : tail > 3 && tail < 42); /* 0.6, 18.4 */
}

/* ---- what it is for ---- */

/* A truncation that keeps the winner leaves it the winner. */
TEST(test_truncations_keep_the_winner)
{
    source rng = source_stream(8);
    int kept = 0;
    for (int round = 0; round < 400; round++) {
        float row[N];
        uint64_t seed = choose(&rng, 8);
        test_logits(&rng, row, N, 2.0);
        own_sampler *all = samp_init_gumbel(seed);
        samp_token token = samp_sample(all, row, N);
        int32_t rank = 1, k = 1 + (int32_t)below(&rng, 20);
        for (int i = 0; i < N; i++) rank += row[i] > row[token];
        own_sampler *few = new_chain(samp_init_top_k(k), samp_init_gumbel(seed));
        samp_token of_few = samp_sample(few, row, N);
        if (rank <= k) assert_num(of_few, token);
        kept += rank <= k;
    }
    assert_true(kept > 100);
}

/* Two distributions that differ by d (total variation) get two tokens with a probability of at most 2 d / (1 + d); two
   independent draws differ nearly always. */
TEST(test_couples)
{
    int differ = 0, apart = 0, draws = quick() ? 500 : 5000;
    double bound = 0;
    for (int k = 0; k < draws; k++) {
        float row[N], near[N];
        double p = 0, q = 0, d = 0;
        test_row(row, N, 100 + (uint64_t)k, 1.0, 0);
        for (int i = 0; i < N; i++) near[i] = i ? row[i] * 1.1f : row[i];
        for (int i = 1; i < N; i++) p += exp((double)row[i]), q += exp((double)near[i]);
        for (int i = 1; i < N; i++) d += 0.5 * fabs(exp((double)row[i]) / p - exp((double)near[i]) / q);
        own_sampler *one = samp_init_gumbel((uint64_t)k), *other = samp_init_gumbel((uint64_t)k);
        own_sampler *third = samp_init_gumbel((uint64_t)k + 1000000);
        samp_token token = samp_sample(one, row, N);
        differ += samp_sample(other, near, N) != token;
        apart += samp_sample(third, row, N) != token;
        bound += 2 * d / (1 + d);
    }
    assert_true(differ <= bound + 4 * sqrt(bound));
    assert_true(bound < 0.1 * draws);
    assert_true(apart > 0.8 * draws);
}

/* ---- in chains ---- */

/* Saved, cloned, taken back, begun anew, under the other random source, behind samplers of all kinds: the same tokens. */
TEST(test_state_goes_on)
{
    for (int mt = 0; mt < 2; mt++) {
        samp_sampler *chain = new_chain(samp_init_top_p(0.9f, 1), samp_init_gumbel(11)), *copy, *loaded;
        char bytes[8192];
        samp_token text[20];
        assert_ok(samp_set_rng(chain, (samp_rng_kind)mt));
        loaded = samp_clone(chain);
        for (int k = 0; k < 20; k++) {
            float row[N];
            test_row(row, N, 200 + (uint64_t)k, 1.0, 0);
            if (k == 10) {
                copy = samp_clone(chain);
                size_t size = samp_state_size(chain);
                assert_true(size > 0 && size <= sizeof bytes);
                assert_ok(samp_state_save(chain, bytes, size));
                assert_ok(samp_state_load(loaded, bytes, size));
            }
            text[k] = samp_sample(chain, row, N);
            assert_true(text[k] > 0);
            if (k < 10) continue;
            assert_num(samp_sample(copy, row, N), text[k]);
            assert_num(samp_sample(loaded, row, N), text[k]);
        }
        assert_ok(samp_rollback(chain, 8));
        samp_reset(copy);
        for (int k = 0; k < 20; k++) {
            float row[N];
            test_row(row, N, 200 + (uint64_t)k, 1.0, 0);
            if (k >= 12) assert_num(samp_sample(chain, row, N), text[k]);
            assert_num(samp_sample(copy, row, N), text[k]);
        }
        samp_sampler *stranger = new_chain(samp_init_top_p(0.9f, 1), samp_init_gumbel(12));
        assert_ok(samp_set_rng(stranger, (samp_rng_kind)mt));
        assert_status(samp_state_load(stranger, bytes, samp_state_size(loaded)), SAMP_E_FORMAT); /* another seed */
        samp_free(stranger);
        samp_free(chain);
        samp_free(copy);
        samp_free(loaded);
    }
}

/* Drafts: exactly what there would be without one; by the ratio test, the distribution. */
TEST(test_drafts)
{
    float rows[4][N], probs[N] = { 0 };
    samp_token want[4], out[4];
    for (int i = 0; i < 4; i++) test_row(rows[i], N, 300 + (uint64_t)i, 1.0, 0);
    own_sampler *s = samp_init_gumbel(13), *same = samp_clone(s);
    for (int i = 0; i < 4; i++) want[i] = samp_sample(same, rows[i], N);
    samp_draft draft = { 3, want, NULL, NULL, 0, NULL };
    assert_num(samp_verify(s, rows[0], N, &draft, SAMP_VERIFY_EXACT, out), 3);
    assert_memory_equal(out, want, sizeof out);
    long seen[N] = { 0 };
    real p[N];
    for (int i = 0; i < N; i++) p[i] = i ? expl((real)rows[0][i]) : 0;
    for (int i = 1; i < 9; i++) probs[i] = 0.125f; /* a bad guess */
    source rng = source_stream(14);
    for (int k = 0; k < (quick() ? 5000 : 50000); k++) {
        samp_token guess = 1 + (samp_token)below(&rng, 8);
        samp_draft one = { 1, &guess, probs, NULL, 0, NULL };
        assert_true(samp_verify(s, rows[0], N, &one, SAMP_VERIFY_RATIO, out) >= 0);
        seen[out[0]]++;
    }
    assert_true(chi_square(seen, p, N) > 1e-4);
    int taken = 0; /* of guesses that the very distribution made: the ratio test takes all, but for rounding */
    float sum = 0;
    for (int i = 0; i < N; i++) sum += probs[i] = i ? expf(rows[0][i]) : 0;
    for (int i = 0; i < N; i++) probs[i] /= sum;
    own_sampler *guesser = samp_init_dist(15);
    for (int k = 0; k < 500; k++) {
        samp_token guess = samp_sample(guesser, rows[0], N);
        samp_draft one = { 1, &guess, probs, NULL, 0, NULL };
        taken += samp_verify(s, rows[0], N, &one, SAMP_VERIFY_RATIO, out) == 1;
    }
    assert_true(taken >= 498);
}

/* Bad rows are statuses, and the last token left is drawn, however unlikely it was. */
TEST(test_bad_rows)
{
    float row[N];
    own_sampler *s = samp_init_gumbel(15);
    for (int i = 0; i < N; i++) row[i] = -INFINITY;
    assert_status(samp_sample(s, row, N), SAMP_E_EMPTY);
    row[41] = -FLT_MAX;
    assert_num(samp_sample(s, row, N), 41);
    row[3] = NAN;
    assert_status(samp_sample(s, row, N), SAMP_E_NAN);
    row[3] = FLT_MAX;
    assert_num(samp_sample(s, row, N), 3);
    assert_u64(samp_get_position(s), 2);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
