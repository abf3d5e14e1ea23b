/* test_verify.c - drafts: the exact method gives the tokens that there are without a draft, the ratio test their
   distribution; both leave the chain as that many draws would.
     SAMP_TEST_QUICK   fewer draws: nothing is proved then */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"
#include "tests/support/chi_square.h"

enum { N = 40, MAX_DRAFT = 8 };
#include "tests/support/makers.h"

#define ALPHA 1e-4

/* ------------------------------------------------------------------------------------------------- chains */

static samp_sampler *random_chain(source *rng) { return random_chain_of(rng, true); }

/* A language model of order one: the logits behind a token. */
static void model(samp_token last, float *logits)
{
    source rng = source_stream(8000 + (uint64_t)(last + 1));
    test_logits(&rng, logits, N, 1.8);
}

/* -------------------------------------------------------------------------------------------------- exact */

enum { STORY = 60 };

static void tell(samp_sampler *chain, samp_token *story)
{
    float logits[N];
    for (int i = 0; i < STORY; i++) {
        model(i ? story[i - 1] : -1, logits);
        story[i] = samp_sample(chain, logits, N);
        assert_true(story[i] >= 0);
    }
}

/* The same story with drafts of any length that are right, wrong, or right for a while. */
static int tell_with_drafts(source *rng, samp_sampler *chain, const samp_token *truth, samp_token *story)
{
    int n = 0, calls = 0;
    while (n < STORY) {
        samp_token tokens[MAX_DRAFT], out[MAX_DRAFT + 1];
        float logits[(MAX_DRAFT + 1) * N];
        size_t room = (size_t)(STORY - n - 1), most = below(rng, MAX_DRAFT + 1);
        samp_draft draft = { room < most ? room : most, tokens, NULL, NULL, 0, NULL };
        model(n ? story[n - 1] : -1, logits);
        for (size_t i = 0; i < draft.n; i++) {
            tokens[i] = below(rng, 4) ? truth[n + (int)i] : (samp_token)below(rng, N);
            model(tokens[i], logits + (i + 1) * N);
        }
        int32_t a = samp_verify(chain, logits, N, &draft, SAMP_VERIFY_EXACT, out);
        assert_true(a >= 0 && (size_t)a <= draft.n);
        for (int32_t i = 0; i < a; i++) assert_num(out[i], tokens[i]);
        for (size_t i = (size_t)a + 1; i <= draft.n; i++) assert_num(out[i], -1);
        if ((size_t)a < draft.n) assert_true(out[a] != tokens[a]);
        for (int32_t i = 0; i <= a; i++) story[n++] = out[i];
        calls++;
    }
    return calls;
}

TEST(test_exact)
{
    source rng = source_stream(8100);
    int calls = 0, n = quick() ? 20 : 400;
    for (int i = 0; i < n; i++) {
        samp_token truth[STORY + 1], story[STORY + 1], after[2][STORY];
        samp_sampler *chain = i % 5 ? random_chain(&rng) : new_chain(samp_init_top_k(4), samp_init_ras(6, 0.3f, 7)),
                     *other;
        if (i % 3 == 0) assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
        other = samp_clone(chain);
        tell(chain, truth);
        calls += tell_with_drafts(&rng, other, truth, story);
        for (int k = 0; k < STORY; k++) assert_num(story[k], truth[k]);
        assert_num(samp_get_position(other), samp_get_position(chain));
        tell(chain, after[0]); /* the states are the same too */
        tell(other, after[1]);
        assert_memory_equal(after[0], after[1], sizeof after[0]);
        samp_free(chain);
        samp_free(other);
    }
    assert_true(calls < n * STORY * 6 / 10);
}

/* Its tokens have no one distribution that a ratio could test. */
TEST(test_ras_has_no_ratio)
{
    float logits[2 * N];
    samp_token token = 3, out[2];
    samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    own_sampler *chain = new_chain(samp_init_top_k(4), samp_init_ras(6, 0.3f, 7));
    model(5, logits);
    model(6, logits + N);
    assert_status(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out), SAMP_E_UNSUPPORTED);
    assert_num(samp_get_position(chain), 0);
}

/* The probabilities of a draft mean nothing to it. */
TEST(test_exact_ignores_probs)
{
    float logits[2 * N], probs[1] = { NAN };
    samp_token token = 3, id = 77, out[2], want;
    samp_draft draft = { 1, &token, probs, &id, 1, NULL };
    own_sampler *chain = top_k_temp_dist(1);
    model(5, logits);
    model(6, logits + N);
    own_sampler *other = samp_clone(chain);
    want = samp_sample(other, logits, N);
    assert_true(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_EXACT, out) >= 0);
    assert_num(out[0], want);
}

/* -------------------------------------------------------------------------------------------------- ratio */

typedef enum { DENSE, SPARSE, CERTAIN } form;

/* A distribution to draft from: q [N], what samp_verify is told of it in probs [N] and ids [N]. */
typedef struct proposal {
    form kind;
    float probs[N];
    samp_token ids[N];
    size_t n_top;
    double q[N];
} proposal;

static proposal make_proposal(form kind, const float *logits, source *rng)
{
    proposal d;
    double sum = 0;
    memset(&d, 0, sizeof d);
    d.kind = kind;
    for (int i = 0; i < N; i++) d.q[i] = exp(0.7 * logits[i] + 0.8 * normal(rng));
    if (kind == SPARSE) /* the larger ones */
        for (int i = 0; i < N; i++)
            if (d.q[i] < 0.6) d.q[i] = 0;
    for (int i = 0; i < N; i++) sum += d.q[i];
    for (int i = 0; i < N; i++) {
        float q = (float)(d.q[i] /= sum);
        if (kind == DENSE) d.probs[i] = q;
        if (kind != SPARSE || q == 0) continue;
        d.ids[d.n_top] = (samp_token)i;
        d.probs[d.n_top++] = q;
    }
    for (size_t i = d.n_top; i > 1; i--) { /* in any order */
        size_t j = below(rng, i);
        samp_token id = d.ids[j];
        float p = d.probs[j];
        d.ids[j] = d.ids[i - 1], d.probs[j] = d.probs[i - 1];
        d.ids[i - 1] = id, d.probs[i - 1] = p;
    }
    return d;
}

static samp_token propose(const proposal *d, source *rng)
{
    double u = uniform(rng);
    samp_token i = 0;
    while (i < N - 1 && (u -= d->q[i]) >= 0) i++;
    while (d->q[i] == 0) i--;
    return i;
}

static double fit(const char *what, const long *seen, const real *p, size_t n)
{
    double tail = chi_square(seen, p, n);
    print_message("             %-52s p-value %.4f\n", what, tail);
    return tail;
}

/* Drafts two tokens, many times. The next token has the target's distribution, whatever drafted it, and so has the one
   behind an accepted token in its own row; a draft is accepted as often as the two overlap. `told`: which part of its
   probabilities the draft tells of. Returns the smallest p-value. */
static double ratio_draws(samp_sampler *chain, form kind, float told, long n)
{
    float logits[3 * N], probs[2 * N];
    samp_token ids[2 * N];
    long seen[3][N] = { { 0 } }, taken[2] = { 0 };
    real p[3][N], overlap[2] = { 0, 0 };
    proposal d[2];
    double least = 1, tail;
    source rng = source_stream(8200);
    for (int row = 0; row < 3; row++) {
        model(row, logits + row * N);
        last_draws_from(chain, logits + row * N, p[row]);
        if (row < 2) d[row] = make_proposal(kind, logits + row * N, &rng);
    }
    size_t n_top = d[0].n_top > d[1].n_top ? d[0].n_top : d[1].n_top; /* the shorter row repeats its first id */
    for (int i = 0; i < N; i++) {
        overlap[0] += kind == CERTAIN ? d[0].q[i] * p[0][i] : (real)d[0].q[i] < p[0][i] ? d[0].q[i] : p[0][i];
        for (int row = 0; row < 2; row++) {
            size_t at = (size_t)row * (kind == SPARSE ? n_top : N) + (size_t)i, from = (size_t)i;
            if (kind == SPARSE && (size_t)i >= n_top) continue;
            if (kind == SPARSE && (size_t)i >= d[row].n_top) from = 0;
            probs[at] = told * d[row].probs[from];
            ids[at] = d[row].ids[from];
        }
    }
    overlap[1] = 1 - overlap[0];
    for (long i = 0; i < n; i++) {
        samp_token tokens[3] = { propose(&d[0], &rng), propose(&d[1], &rng), -1 }, out[3];
        samp_draft draft = { 2, tokens, kind == CERTAIN ? NULL : probs, kind == SPARSE ? ids : NULL, n_top, NULL };
        uint64_t position = samp_get_position(chain);
        int32_t a = samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out);
        assert_true(a >= 0 && a <= 2);
        assert_num(samp_get_position(chain), position + 1 + (uint64_t)a);
        taken[a == 0]++;
        for (int32_t row = 0; row < 3; row++) {
            if (row < a) assert_num(out[row], tokens[row]);
            if (row == a) assert_true(out[row] != tokens[row]);
            if (row > a) assert_num(out[row], -1);
            if (row <= a) seen[row][out[row]]++;
        }
    }
    static const char *const names[] = { "the next token", "the second", "the bonus" };
    for (int row = 0; row < 3; row++)
        if ((tail = fit(names[row], seen[row], p[row], N)) < least) least = tail;
    if ((tail = fit("how often the first is accepted", taken, overlap, 2)) < least) least = tail;
    return least;
}

TEST(test_ratio_distribution)
{
    static const char *const names[] = { "dense", "sparse", "certain" };
    for (int kind = DENSE; kind <= CERTAIN; kind++) {
        own_sampler *chain = top_k_temp_dist(70 + (uint64_t)kind);
        print_message("%s\n", names[kind]);
        assert_true(ratio_draws(chain, (form)kind, 1.0f, quick() ? 4000 : 200000) >= ALPHA);
    }
}

/* The same through mirostat, whose own draw it replaces (eta 0: the distribution stays). */
TEST(test_ratio_mirostat)
{
    own_sampler *chain = samp_chain_init();
    float logits[2 * N];
    real p[N];
    assert_ok(samp_chain_add(chain, samp_init_temp(2.0f)));
    assert_ok(samp_chain_add(chain, samp_init_mirostat_v2(5, 2.5f, 0.0f)));
    long seen[N] = { 0 };
    double sum = 0;
    int n_kept = 0;
    source rng = source_stream(8210);
    model(1, logits);
    model(2, logits + N);
    last_draws_from(chain, logits, p);
    for (int i = 0; i < N; i++) {
        if (-log2((double)p[i]) > 5) p[i] = 0; /* mu = 2 tau */
        sum += (double)p[i];
        n_kept += p[i] > 0;
    }
    assert_true(sum < 0.99 && n_kept > 4);
    proposal d = make_proposal(DENSE, logits, &rng);
    for (long i = 0, n = quick() ? 4000 : 100000; i < n; i++) {
        samp_token token = propose(&d, &rng), out[2];
        samp_draft draft = { 1, &token, d.probs, NULL, 0, NULL };
        assert_true(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out) >= 0);
        seen[out[0]]++;
    }
    assert_true(fit("mirostat_v2", seen, p, N) >= ALPHA);
}

/* The statistics would notice: a draft that tells of 95 % of its probabilities. */
TEST(test_ratio_lies_show)
{
    if (quick()) skip();
    own_sampler *chain = top_k_temp_dist(80);
    assert_true(ratio_draws(chain, DENSE, 0.95f, 200000) < 1e-6);
}

/* Whatever accepts a token, the samplers that learn from it learn the same. */
TEST(test_ratio_learns)
{
    float logits[2 * N];
    model(1, logits);
    model(2, logits + N);
    for (samp_token token = 0; token < N; token++) {
        samp_token out[2];
        samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
        own_sampler *chain = samp_init_mirostat_v2(9, 3.0f, 0.3f), *adaptive = samp_init_adaptive_p(0.3f, 0.5f, 9);
        int32_t a = samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out);
        double mu = 6, sum = 0.3 / (1 - 0.5);
        for (int row = 0; row <= a; row++) { /* the surprise of each token that came out, among those kept */
            const float *l = logits + row * N;
            double z = 0, kept = 0;
            for (int i = 0; i < N; i++) z += exp(l[i]);
            for (int i = 0; i < N; i++)
                if (-log2(exp(l[i]) / z) <= mu) kept += exp(l[i]);
            mu -= 0.3 * (-log2(exp(l[out[row]]) / kept) - 3);
        }
        assert_near(inside_mu(chain), mu, 1e-4);
        assert_num(inside_drafts(chain), 0);

        a = samp_verify(adaptive, logits, N, &draft, SAMP_VERIFY_RATIO, out);
        for (int row = 0; row <= a; row++) { /* a past choice counts half with each new one */
            double z = 0;
            for (int i = 0; i < N; i++) z += exp(logits[row * N + i]);
            sum = 0.5 * sum + exp(logits[row * N + out[row]]) / z;
        }
        assert_near(inside_adaptive_sum(adaptive), sum, 1e-5);
        assert_num(inside_pending(adaptive), -1);
    }
}

/* A token of which nothing is left is not accepted, and one that the draft could not have drawn is. */
TEST(test_ratio_edges)
{
    float logits[2 * N], probs[N] = { 0 };
    samp_token token = 0, out[2];
    samp_draft draft = { 1, &token, probs, NULL, 0, NULL };
    own_sampler *chain = samp_init_dist(4);
    for (int i = 0; i < 2 * N; i++) logits[i] = i % N < 2 ? 0.0f : -INFINITY;
    logits[0] = -INFINITY; /* only token 1 is left in row 0 */
    probs[0] = 1.0f;
    for (int i = 0; i < 50; i++) {
        assert_num(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out), 0);
        assert_num(out[0], 1);
    }
    token = 1;
    probs[0] = 0.0f; /* all zero */
    assert_num(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out), 1);
    for (int i = 0; i < N; i++) probs[i] = 1.0f; /* q >= p everywhere: from p, then */
    logits[0] = 0.0f;
    long seen[2] = { 0, 0 };
    for (int i = 0; i < 1000; i++) {
        token = 7;
        assert_num(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out), 0);
        assert_true(out[0] == 0 || out[0] == 1);
        seen[out[0]]++;
    }
    assert_true(seen[0] > 400 && seen[1] > 400);
}

/* A copy of the chain takes as much of the draft with each instruction set, and says the same: out, again [bytes]. */
static void verify_on_every_set(const samp_sampler *chain, const float *logits, size_t n, const samp_draft *draft,
                                int32_t want, const samp_token *out, samp_token *again, size_t bytes)
{
    for (int k = 0; samp_isa_list(k); k++) {
        assert_ok(samp_isa_force(samp_isa_list(k)));
        own_sampler *copy = samp_clone(chain);
        assert_num(samp_verify(copy, logits, n, draft, SAMP_VERIFY_RATIO, again), want);
        assert_memory_equal(out, again, bytes);
    }
    assert_ok(samp_isa_force(NULL));
}

/* The same tokens on the fast path, step by step, and on every instruction set. */
TEST(test_ratio_executors_agree)
{
    source rng = source_stream(8300);
    for (int i = 0, n = quick() ? 30 : 1000; i < n; i++) {
        own_sampler *chain = random_chain(&rng), *slow = samp_chain_init();
        assert_ok(samp_chain_add(slow, make_custom()));
        for (int32_t k = 0; k < samp_chain_n(chain); k++)
            assert_ok(samp_chain_add(slow, samp_clone(samp_chain_get(chain, k))));
        static float logits[(MAX_DRAFT + 1) * N], probs[MAX_DRAFT * N];
        static samp_token tokens[MAX_DRAFT], ids[MAX_DRAFT * N], out[MAX_DRAFT + 1], again[MAX_DRAFT + 1];
        form kind = (form)(i % 3);
        samp_draft draft = {
            MAX_DRAFT, tokens, kind == CERTAIN ? NULL : probs, kind == SPARSE ? ids : NULL, N, NULL
        };
        samp_token last = -1;
        for (int k = 0; k <= MAX_DRAFT; k++) {
            model(last, logits + k * N);
            if (k == MAX_DRAFT) break;
            proposal d = make_proposal(DENSE, logits + k * N, &rng);
            last = tokens[k] = propose(&d, &rng);
            memcpy(probs + k * N, d.probs, sizeof d.probs);
            for (int j = 0; j < N; j++) ids[k * N + j] = (samp_token)j;
        }
        int32_t a = samp_verify(slow, logits, N, &draft, SAMP_VERIFY_RATIO, out);
        verify_on_every_set(chain, logits, N, &draft, a, out, again, sizeof out);
    }
}

/* The same on rows that are not put in order as a whole: the cuts' own ways through them, and what the ratio test then
   asks of the tokens that are left. */
TEST(test_ratio_long_rows)
{
    enum { LONG = 9000, N_TOP = 60, DRAFTED = 2 };
    static float logits[(DRAFTED + 1) * LONG], probs[DRAFTED * LONG];
    samp_token ids[DRAFTED * N_TOP], tokens[DRAFTED], out[DRAFTED + 1], again[DRAFTED + 1];
    source rng = source_stream(8350);
    int accepted = 0, refused = 0, rows = quick() ? 12 : 48;
    for (int i = 0; i < rows; i++) {
        own_sampler *chain = samp_chain_init(), *slow = samp_chain_init();
        const size_t n = 4097 + below(&rng, LONG - 4097);
        const form kind = (form)(i % 3);
        const int cut = i / 3 % 4;
        if (i % 2) assert_ok(samp_chain_add(chain, samp_init_temp(0.8f)));
        if (cut != 1) assert_ok(samp_chain_add(chain, samp_init_top_p(cut == 3 ? 0.999f : 0.9f, 0)));
        if (cut != 0) assert_ok(samp_chain_add(chain, samp_init_min_p(cut == 3 ? 1e-4f : 0.02f, 0)));
        assert_ok(samp_chain_add(chain, samp_init_dist((uint64_t)i)));
        assert_ok(samp_chain_add(slow, make_custom()));
        for (int32_t k = 0; k < samp_chain_n(chain); k++)
            assert_ok(samp_chain_add(slow, samp_clone(samp_chain_get(chain, k))));
        test_logits(&rng, logits, (DRAFTED + 1) * n, i % 5 ? 2.2 : 0.7);
        for (size_t d = 0; d < DRAFTED; d++) { /* a draft that knows the row, but not all of it */
            samp_sampler *guess = samp_init_dist(1000 + (uint64_t)i + d);
            tokens[d] = samp_draw(guess, logits + d * n, n);
            samp_free(guess);
            double sum = 0;
            for (size_t j = 0; j < n; j++) sum += exp((double)logits[d * n + j]);
            for (size_t j = 0; j < n; j++) probs[d * n + j] = (float)(exp((double)logits[d * n + j]) / sum * 0.999);
            for (size_t j = 0; j < N_TOP; j++) {
                ids[d * N_TOP + j] = (tokens[d] + (samp_token)(67 * j)) % (samp_token)n;
                if (kind == SPARSE) probs[d * N_TOP + j] = 1.0f / N_TOP;
            }
        }
        samp_draft draft = {
            DRAFTED, tokens, kind == CERTAIN ? NULL : probs, kind == SPARSE ? ids : NULL, N_TOP, NULL
        };
        int32_t a = samp_verify(slow, logits, n, &draft, SAMP_VERIFY_RATIO, out);
        assert_true(a >= 0);
        accepted += a > 0;
        refused += a < DRAFTED;
        verify_on_every_set(chain, logits, n, &draft, a, out, again, sizeof out);
    }
    assert_true(accepted >= rows / 6 && refused >= rows / 6);
}

/* Greedy has one answer: the ratio test is the exact one. A sampler's own draws, such as xtc's, are not touched. */
TEST(test_ratio_greedy)
{
    source rng = source_stream(8400);
    for (int i = 0; i < 200; i++) {
        float logits[3 * N];
        samp_token tokens[2], a[3], b[3];
        samp_draft draft = { 2, tokens, NULL, NULL, 0, NULL };
        samp_sampler *chain = new_chain(samp_init_xtc(0.5f, 0.05f, 1, 3), samp_init_greedy()), *copy;
        assert_ok(samp_set_position(chain, (uint64_t)i));
        test_logits(&rng, logits, 3 * N, 2.0);
        copy = samp_clone(chain);
        for (int k = 0; k < 2; k++) tokens[k] = samp_sample(copy, logits + k * N, N);
        if (i % 2) tokens[1] = (tokens[1] + 1) % N;
        samp_free(copy);
        copy = samp_clone(chain);
        assert_num(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, a), 2 - i % 2);
        assert_num(samp_verify(copy, logits, N, &draft, SAMP_VERIFY_EXACT, b), 2 - i % 2);
        assert_memory_equal(a, b, sizeof a);
        samp_free(chain);
        samp_free(copy);
    }
}

/* The random bits: Philox, key = seed, counter = (position, 0x100 + dist's number, 0). The first half decides about the
   draft's token, the second draws what comes instead. */
TEST(test_ratio_bits)
{
    const uint64_t seed = 0x123456789abcdef0u;
    float logits[2 * N];
    samp_token token = 2, out[2];
    samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    own_sampler *dist = samp_init_dist(seed);
    int accepted = 0;
    for (int i = 0; i < 2 * N; i++) logits[i] = i % N < 4 ? 0.0f : -INFINITY; /* four tokens of equal weight */
    for (uint64_t position = 0; position < 300; position++) {
        uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, r[4];
        uint32_t counter[4] = { (uint32_t)position, 0, (0x100 + 1) << 16, 0 };
        static const samp_token rest[3] = { 0, 1, 3 };
        inside_philox(counter, key, r);
        bool accept = r[1] >> 30 == 0; /* below a quarter */
        accepted += accept;
        assert_ok(samp_set_position(dist, position));
        assert_num(samp_verify(dist, logits, N, &draft, SAMP_VERIFY_RATIO, out), accept);
        assert_num(out[0], accept ? token : rest[((uint64_t)r[3] * 3) >> 32]);
    }
    assert_true(accepted > 40 && accepted < 120);
}

/* What a sampler of the user's clones while a draft is tested is a sampler like any other. */
static samp_sampler *cloned;
static int clone_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)cur;
    samp_free(cloned);
    cloned = samp_clone((samp_sampler *)s->ctx);
    return SAMP_OK;
}
static const samp_sampler_i cloner = { NULL, NULL, clone_apply, NULL, NULL, NULL, NULL, NULL };

TEST(test_clone_within)
{
    float logits[2 * N];
    samp_token token = 2, out[2];
    samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    samp_sampler *chain = samp_chain_init(), *dist = samp_init_dist(6);
    assert_ok(samp_chain_add(chain, samp_init_custom(&cloner, dist)));
    assert_ok(samp_chain_add(chain, dist));
    model(1, logits);
    model(2, logits + N);
    logits[token] = -INFINITY;
    assert_num(samp_verify(chain, logits, N, &draft, SAMP_VERIFY_RATIO, out), 0);
    for (int i = 0; i < 20; i++) assert_num(samp_sample(cloned, logits, N), samp_sample(dist, logits, N));
    samp_free(cloned);
    samp_free(chain);
}

/* ---------------------------------------------------------------------------------------------- bad input */

TEST(test_bad_input)
{
    float logits[3 * N], probs[2 * N];
    samp_token tokens[2] = { 1, 2 }, ids[2 * N], out[3];
    for (int i = 0; i < 3 * N; i++) logits[i] = (float)(i % 7);
    for (int i = 0; i < 2 * N; i++) probs[i] = 1.0f / N, ids[i] = i % N;
    samp_draft good = { 2, tokens, probs, NULL, 0, NULL }, sparse = { 2, tokens, probs, ids, N, NULL }, d;
    own_sampler *chain = top_k_temp_dist(3);
    const samp_verify_method ratio = SAMP_VERIFY_RATIO, exact = SAMP_VERIFY_EXACT;

    assert_status(samp_verify(NULL, logits, N, &good, ratio, out), SAMP_E_NULL);
    assert_status(samp_verify(chain, NULL, N, &good, ratio, out), SAMP_E_NULL);
    assert_status(samp_verify(chain, logits, N, NULL, ratio, out), SAMP_E_NULL);
    assert_status(samp_verify(chain, logits, N, &good, ratio, NULL), SAMP_E_NULL);
    d = good, d.tokens = NULL;
    assert_status(samp_verify(chain, logits, N, &d, exact, out), SAMP_E_NULL);
    d = sparse, d.probs = NULL;
    assert_status(samp_verify(chain, logits, N, &d, ratio, out), SAMP_E_NULL);
    d = sparse, d.n_top = 0;
    assert_status(samp_verify(chain, logits, N, &d, ratio, out), SAMP_E_RANGE);
    assert_status(samp_verify(chain, logits, N, &good, (samp_verify_method)2, out), SAMP_E_RANGE);
    assert_status(samp_verify(chain, logits, N, &good, (samp_verify_method)-1, out), SAMP_E_RANGE);
    assert_status(samp_verify(chain, logits, (size_t)SAMP_MAX_VOCAB + 1, &good, exact, out), SAMP_E_RANGE);
    d = good, d.n = (size_t)INT32_MAX + 1;
    assert_status(samp_verify(chain, logits, N, &d, exact, out), SAMP_E_RANGE);
    for (int bad = -1; bad <= N; bad += N + 1) {
        tokens[1] = bad;
        assert_status(samp_verify(chain, logits, N, &good, exact, out), SAMP_E_RANGE);
        tokens[1] = 2;
        ids[N + 3] = bad;
        assert_status(samp_verify(chain, logits, N, &sparse, ratio, out), SAMP_E_RANGE);
        ids[N + 3] = 3;
    }
    static const float wrong[] = { -0.001f, 1.001f, INFINITY, -INFINITY, NAN };
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        probs[2 * N - 1] = wrong[i];
        int want = isnan(wrong[i]) ? SAMP_E_NAN : SAMP_E_RANGE;
        assert_status(samp_verify(chain, logits, N, &good, ratio, out), want);
        assert_status(samp_verify(chain, logits, N, &sparse, ratio, out), want);
        assert_true(samp_verify(chain, logits, N, &good, exact, out) >= 0);
        samp_reset(chain);
    }
    probs[2 * N - 1] = 0.0f;
    assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
    assert_status(samp_verify(chain, logits, N, &good, ratio, out), SAMP_E_UNSUPPORTED);
    assert_true(samp_verify(chain, logits, N, &good, exact, out) >= 0);
    assert_ok(samp_set_rng(chain, SAMP_RNG_PHILOX));
    assert_num(samp_get_position(chain), 0);

    logits[4] = NAN; /* row 0 */
    assert_status(samp_verify(chain, logits, N, &good, ratio, out), SAMP_E_NAN);
    assert_status(samp_verify(chain, logits, N, &good, exact, out), SAMP_E_NAN);
    assert_num(samp_get_position(chain), 0);
    samp_free(chain);

    chain = new_chain(make_xtc(), make_dist()); /* one member with another random source */
    assert_ok(samp_set_rng(samp_chain_get(chain, 0), SAMP_RNG_MT19937));
    logits[4] = 4;
    assert_status(samp_verify(chain, logits, N, &good, ratio, out), SAMP_E_UNSUPPORTED);
    samp_free(chain);
    chain = samp_chain_init(); /* a chain without a selection */
    assert_ok(samp_chain_add(chain, samp_init_top_k(3)));
    logits[4] = 4;
    assert_status(samp_verify(chain, logits, N, &good, exact, out), SAMP_E_UNSUPPORTED);
    samp_free(chain);
    chain = samp_init_top_p(7.0f, 1);
    assert_status(samp_verify(chain, logits, N, &good, exact, out), SAMP_E_RANGE);
}

/* A bad row behind accepted tokens: these count. Behind a rejected one it is never looked at. */
TEST(test_bad_row)
{
    float logits[3 * N];
    samp_token tokens[2] = { 6, 6 }, out[3];
    samp_draft draft = { 2, tokens, NULL, NULL, 0, NULL };
    for (int i = 0; i < 3 * N; i++) logits[i] = (float)(i % N % 7);
    logits[N] = NAN;
    own_sampler *greedy = samp_chain_init(), *dist = samp_init_dist(1);
    assert_ok(samp_chain_add(greedy, samp_init_greedy()));
    for (int method = SAMP_VERIFY_EXACT; method <= SAMP_VERIFY_RATIO; method++) {
        assert_num(samp_verify(greedy, logits, N, &draft, (samp_verify_method)method, out), 1);
        assert_num(out[0], 6);
        assert_status(out[1], SAMP_E_NAN);
        assert_num(out[2], -1);
        assert_num(samp_last(greedy), 6);
        tokens[0] = 5;
        assert_num(samp_verify(greedy, logits, N, &draft, (samp_verify_method)method, out), 0);
        assert_num(out[0], 6);
        assert_num(out[1], -1);
        tokens[0] = 6;
    }
    samp_token prev[8];
    assert_num(samp_prev(greedy, prev, 8), 4);
    draft.n = 0; /* without a draft it is samp_sample */
    draft.tokens = NULL;
    own_sampler *other = samp_clone(dist);
    for (int i = 0; i < 20; i++) {
        assert_num(samp_verify(dist, logits, N, &draft, (samp_verify_method)(i % 2), out), 0);
        assert_num(out[0], samp_sample(other, logits, N));
    }
}

/* Tokens that a chain cuts off change nothing: rows of more than 4,096 tokens, behind top_p and min_p, give what the first
   N of them give alone, by both methods. */
TEST(test_long_rows)
{
    enum { LONG = 6000, MOST = 4 };
    static float wide[(MOST + 1) * LONG], probs[MOST * LONG];
    source rng = source_stream(8700);
    for (int i = 0; i < (quick() ? 20 : 200); i++) {
        float rows[(MOST + 1) * N], small[MOST * N];
        samp_token tokens[MOST], out[2][MOST + 1];
        samp_sampler *chain = samp_chain_init(), *copy;
        if (i % 3 != 1) assert_ok(samp_chain_add(chain, samp_init_top_p(0.9f, 1)));
        if (i % 3 != 0) assert_ok(samp_chain_add(chain, samp_init_min_p(0.05f, 1)));
        assert_ok(samp_chain_add(chain, samp_init_dist((uint64_t)i)));
        copy = samp_clone(chain);
        for (int r = 0; r <= MOST; r++) {
            test_logits(&rng, rows + r * N, N, 2.0);
            for (int k = 0; k < LONG; k++)
                wide[r * LONG + k] = k < N ? rows[r * N + k] : -40.0f - (float)below(&rng, 100) / 10.0f;
        }
        for (int r = 0; r < MOST; r++) {
            tokens[r] = (samp_token)below(&rng, N);
            for (int k = 0; k < LONG; k++) probs[r * LONG + k] = 0.0f;
            for (int k = 0; k < N; k++) small[r * N + k] = probs[r * LONG + k] = (float)below(&rng, 100) / 1000.0f;
        }
        samp_verify_method method = i % 4 ? SAMP_VERIFY_RATIO : SAMP_VERIFY_EXACT;
        samp_draft draft = { MOST, tokens, small, NULL, 0, NULL },
                   wide_draft = { MOST, tokens, probs, NULL, 0, NULL };
        int32_t a = samp_verify(chain, rows, N, &draft, method, out[0]);
        assert_num(samp_verify(copy, wide, LONG, &wide_draft, method, out[1]), a);
        for (int k = 0; k <= MOST; k++) assert_num(out[1][k], out[0][k]);
        assert_true(a >= 0 && out[0][a] >= 0);
        samp_free(chain);
        samp_free(copy);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
