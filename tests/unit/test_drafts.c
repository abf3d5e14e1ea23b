/* test_drafts.c - drafts judged as a whole, drafts that branch, and relaxed ones: each has the distribution that its
   comment states, follows its formula number for number, and leaves the chain as the accepted tokens alone would.
     SAMP_TEST_QUICK   fewer draws: nothing is proved then;   SAMP_TEST_FULL   200,000 of each */
#define SAMPLING_DRAFTS
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"
#include "tests/support/chi_square.h"

enum { N = 16, MOST = 5, ROWS = MOST + 1 };
#include "tests/support/makers.h"

#define ALPHA 1e-4

typedef enum { RATIO, BLOCK, TREE, N_FORMS } form;

/* ------------------------------------------------------------------------------------------------- chains */

static samp_sampler *random_chain(source *rng) { return random_chain_of(rng, false); }

/* A language model of order one: the logits behind a token. Made once. */
static void model(samp_token last, float *logits)
{
    static float rows[N + 1][N];
    static bool made[N + 1];
    if (!made[last + 1]) {
        source rng = source_stream(9000 + (uint64_t)(last + 1));
        test_logits(&rng, rows[last + 1], N, 1.5);
        made[last + 1] = true;
    }
    memcpy(logits, rows[last + 1], sizeof rows[0]);
}

/* And a smaller one that resembles it: what a draft is drawn from. The rows of one noise are kept. */
static void small_model(samp_token last, double noise, double *q)
{
    static double rows[N + 1][N], noise_of[N + 1];
    static bool made[N + 1];
    if (!made[last + 1] || noise_of[last + 1] != noise) {
        float logits[N];
        double sum = 0;
        source rng = source_stream(9100 + (uint64_t)(last + 1));
        model(last, logits);
        for (int i = 0; i < N; i++) sum += rows[last + 1][i] = exp(logits[i] + noise * normal(&rng));
        for (int i = 0; i < N; i++) rows[last + 1][i] /= sum;
        noise_of[last + 1] = noise;
        made[last + 1] = true;
    }
    memcpy(q, rows[last + 1], sizeof rows[0]);
}

static samp_token drawn_from(const double *q, source *rng)
{
    double u = uniform(rng);
    samp_token i = 0;
    while (i < N - 1 && (u -= q[i]) >= 0) i++;
    while (q[i] == 0) i--;
    return i;
}

/* p [N] of a stateless chain's last sampler. */
static void target(const samp_sampler *chain, samp_token last, real *p)
{
    float logits[N];
    model(last, logits);
    last_draws_from(chain, logits, p);
}

static bool same_state(const samp_sampler *a, const samp_sampler *b)
{
    static char bytes[2][16384];
    size_t n = samp_state_size(a);
    assert_true(n > 0 && n <= sizeof bytes[0]);
    if (samp_state_size(b) != n) return false;
    assert_ok(samp_state_save(a, bytes[0], n));
    assert_ok(samp_state_save(b, bytes[1], n));
    return memcmp(bytes[0], bytes[1], n) == 0;
}

/* ------------------------------------------------------------------------------------------------- drafts */

typedef enum { DENSE, SPARSE, CERTAIN } telling;

/* A draft of a small model behind `last`: a line of n tokens, or a tree of n with these parents. */
typedef struct guess {
    samp_draft draft;
    samp_token tokens[MOST], ids[MOST * N];
    float probs[MOST * N], logits[ROWS * N];
    int32_t parent[MOST];
} guess;

static const int32_t line_of[MOST] = { -1, 0, 1, 2, 3 };
static const int32_t tree_of[MOST] = { -1, -1, 0, 1, 1 };

/* How the tokens of a draft come about, and what is told of it. */
typedef struct manner {
    const int32_t *parent;
    size_t n;
    telling how;
    double noise;  /* of the small model */
    bool replaced; /* siblings may be equal */
    float told;    /* which part of the probabilities */
} manner;

/* Token j, from q; without the siblings before it, if they are not put back. */
static void guess_token(guess *g, int j, const manner *m, samp_token last, source *rng)
{
    double q[N], sum = 0;
    small_model(last, m->noise, q);
    for (int i = 0; i < N; i++)
        if (m->how == SPARSE && q[i] < 0.04) q[i] = 0;
    for (int k = 0; k < j && !m->replaced; k++)
        if (g->parent[k] == g->parent[j]) q[g->tokens[k]] = 0;
    for (int i = 0; i < N; i++) sum += q[i];
    for (int i = 0; i < N; i++) q[i] /= sum;
    for (int i = 0; i < N; i++) {
        g->ids[j * N + i] = (samp_token)(N - 1 - i);
        g->probs[j * N + i] = m->told * (float)q[m->how == SPARSE ? N - 1 - i : i];
    }
    g->tokens[j] = drawn_from(q, rng);
    model(g->tokens[j], g->logits + (j + 1) * N);
}

/* Behind `last`. */
static void make_guess(guess *g, const manner *m, samp_token last, source *rng)
{
    memcpy(g->parent, m->parent, m->n * sizeof *m->parent);
    model(last, g->logits);
    memset(&g->draft, 0, sizeof g->draft);
    g->draft.n = m->n;
    g->draft.tokens = g->tokens;
    g->draft.probs = m->how == CERTAIN ? NULL : g->probs;
    g->draft.ids = m->how == SPARSE ? g->ids : NULL;
    g->draft.n_top = m->how == SPARSE ? N : 0;
    for (int j = 0; j < (int)m->n; j++) guess_token(g, j, m, g->parent[j] < 0 ? last : g->tokens[g->parent[j]], rng);
}

static int32_t verify(form kind, samp_sampler *chain, const guess *g, samp_token *out)
{
    if (kind == BLOCK) return samp_verify_block(chain, g->logits, N, &g->draft, out);
    if (kind == TREE)
        return samp_verify_tree(chain, g->logits, N, &g->draft, g->parent, SAMP_VERIFY_RATIO, out, NULL);
    return samp_verify(chain, g->logits, N, &g->draft, SAMP_VERIFY_RATIO, out);
}

/* ------------------------------------------------------------------------------------------- distributions */

enum { SAID = 3 };

static double fit(const char *what, const long *seen, const real *p, size_t n)
{
    double tail = chi_square(seen, p, n);
    print_message("             %-40s p-value %.4f\n", what, tail);
    return tail;
}

/* Texts of three tokens, each by as many calls as it takes: what one call leaves behind is the next one's. Each token
   has the distribution of a draw without a draft, and so have pairs. Returns the smallest p-value. */
static double texts(form kind, samp_sampler *chain, const manner *m, long n_texts)
{
    static real p[N + 1][N], want[SAID][N], pairs[2][N * N];
    long seen[SAID][N] = { { 0 } }, seen_pairs[2][N * N] = { { 0 } };
    double least = 1, tail;
    source rng = source_stream(9200);
    memset(want, 0, sizeof want);
    for (samp_token last = -1; last < N; last++) target(chain, last, p[last + 1]);
    memcpy(want[0], p[0], sizeof want[0]);
    for (int i = 0; i < N * N; i++) want[1][i % N] += pairs[0][i] = want[0][i / N] * p[i / N + 1][i % N];
    for (int i = 0; i < N * N; i++) want[2][i % N] += pairs[1][i] = want[1][i / N] * p[i / N + 1][i % N];
    for (long t = 0; t < n_texts; t++) {
        samp_token text[SAID + ROWS], out[ROWS];
        for (int length = 0; length < SAID;) {
            guess g;
            make_guess(&g, m, length ? text[length - 1] : -1, &rng);
            uint64_t position = samp_get_position(chain);
            int32_t a = verify(kind, chain, &g, out);
            assert_true(a >= 0 && (size_t)a <= m->n);
            assert_u64(samp_get_position(chain), position + 1 + (uint64_t)a);
            for (size_t i = (size_t)a + 1; i <= m->n; i++) assert_num(out[i], -1);
            for (int32_t i = 0; i <= a; i++) text[length++] = out[i];
        }
        for (int i = 0; i < SAID; i++) seen[i][text[i]]++;
        for (int i = 0; i < 2; i++) seen_pairs[i][text[i] * N + text[i + 1]]++;
    }
    static const char *const names[] = { "the first token", "the second", "the third" };
    for (int i = 0; i < SAID; i++)
        if ((tail = fit(names[i], seen[i], want[i], N)) < least) least = tail;
    for (int i = 0; i < 2; i++)
        if ((tail = fit(i ? "second and third" : "first and second", seen_pairs[i], pairs[i], N * N)) < least)
            least = tail;
    return least;
}

static long draws(void) { return (long)amount(200000, 300); }

static const char *const told_as[] = { "dense", "sparse", "certain" };

TEST(test_block_distribution)
{
    for (int how = DENSE; how <= CERTAIN; how++) {
        const manner m = { line_of, 4, (telling)how, 0.6, true, 1.0f };
        own_sampler *chain = top_k_temp_dist(170 + (uint64_t)how);
        print_message("block, %s\n", told_as[how]);
        assert_true(texts(BLOCK, chain, &m, draws()) >= ALPHA);
    }
}

/* Drawn with replacement, without, and certain ones. */
TEST(test_tree_distribution)
{
    for (int i = 0; i < 5; i++) {
        const manner m = { tree_of, MOST, i == 4 ? CERTAIN : (telling)(i / 2), 0.6, i % 2 == 1, 1.0f };
        own_sampler *chain = top_k_temp_dist(180 + (uint64_t)i);
        print_message("tree, %s, %s\n", told_as[m.how], m.replaced ? "siblings may be equal" : "siblings differ");
        assert_true(texts(TREE, chain, &m, draws()) >= ALPHA);
    }
}

/* The statistics would notice: a draft that tells of a part of its probabilities only; and one whose siblings were drawn
   without replacement while it tells of q as if they had not been. */
TEST(test_lies_show)
{
    if (quick()) skip();
    const manner line = { line_of, 4, DENSE, 0.6, true, 0.7f }, tree = { tree_of, MOST, DENSE, 0.6, false, 0.7f };
    own_sampler *chain = top_k_temp_dist(190);
    print_message("these should not fit\n");
    assert_true(texts(BLOCK, chain, &line, draws()) < 1e-6);
    assert_true(texts(TREE, chain, &tree, draws()) < 1e-6);
}

/* xtc's coins belong to positions, and a block looks at positions that it gives back: the next call meets the same coins
   there. They are fair all the same, so p is a mixture of what they leave. */
TEST(test_block_with_coins)
{
    enum { FIRST = N, HEADS = 0, TAILS = 1 };
    real p[2][N + 1][N], want[2][N] = { { 0 } };
    long seen[2][N] = { { 0 } };
    samp_sampler *coin[2], *chain = new_chain(samp_init_xtc(0.5f, 0.15f, 1, 77), samp_init_dist(78));
    for (int side = HEADS; side <= TAILS; side++) {
        coin[side] = samp_chain_init();
        assert_ok(samp_chain_add(coin[side], samp_init_xtc(side == HEADS ? 1.0f : 0.0f, 0.15f, 1, 77)));
        assert_ok(samp_chain_add(coin[side], samp_init_dist(78)));
        for (samp_token last = -1; last < N; last++) target(coin[side], last, p[side][last + 1]);
        samp_free(coin[side]);
    }
    for (int i = 0; i < N; i++) want[0][i] = (p[HEADS][0][i] + p[TAILS][0][i]) / 2;
    for (int i = 0; i < N * N; i++)
        want[1][i % N] += want[0][i / N] * (p[HEADS][i / N + 1][i % N] + p[TAILS][i / N + 1][i % N]) / 2;
    source rng = source_stream(9210);
    const manner m = { line_of, 3, DENSE, 0.8, true, 1.0f };
    for (long t = 0; t < draws(); t++) {
        samp_token text[2 + ROWS];
        for (int length = 0; length < 2;) {
            guess g;
            make_guess(&g, &m, length ? text[length - 1] : -1, &rng);
            int32_t a = samp_verify_block(chain, g.logits, N, &g.draft, text + length);
            assert_true(a >= 0);
            length += a + 1;
        }
        for (int i = 0; i < 2; i++) seen[i][text[i]]++;
    }
    assert_true(fit("the first token, with xtc", seen[0], want[0], N) >= ALPHA);
    assert_true(fit("the second", seen[1], want[1], N) >= ALPHA);
    samp_free(chain);
}

/* ------------------------------------------------------------------------------------- number for number */

static void softmax(const float *logits, double *p)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += p[i] = exp(logits[i]);
    for (int i = 0; i < N; i++) p[i] /= sum;
}

/* Random bits as the comments say: key = seed, counter = (position, kind + dist's number, attempt); as numbers in [0, 1) */
static void numbers(uint64_t seed, uint64_t position, uint32_t kind, uint32_t attempt, double u[2])
{
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, r[4];
    uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), (kind + 1) << 16, attempt };
    inside_philox(counter, key, r);
    for (int i = 0; i < 2; i++) u[i] = ((double)r[2 * i + 1] + (double)r[2 * i] / 4294967296.0) / 4294967296.0;
}

/* the first token whose running sum exceeds the share u */
static samp_token at_share(const double *mass, double u)
{
    double total = 0, sum = 0;
    for (int i = 0; i < N; i++) total += mass[i];
    for (samp_token i = 0; i < N; i++)
        if ((sum += mass[i]) > u * total) return i;
    return -1;
}

/* q [N] of token j, as it is told */
static void q_of(const guess *g, int j, double *q)
{
    for (int i = 0; i < N; i++) q[i] = g->draft.probs ? 0 : i == g->tokens[j];
    for (int i = 0; i < N && g->draft.probs; i++) q[g->draft.ids ? g->ids[j * N + i] : i] = g->probs[j * N + i];
}

/* Algorithm 2 of the paper, in doubles. Returns how many are accepted; *next: the token behind them, -1 behind the whole
   draft, whose draw is an ordinary one. */
static int block_by_paper(const guess *g, uint64_t seed, uint64_t position, samp_token *next)
{
    int n = (int)g->draft.n, kept = 0;
    double r = 1, kept_r = 1, p[N], q[N], u[2], rest[N];
    for (int i = 1; i <= n; i++) {
        double h, s = 0;
        softmax(g->logits + (i - 1) * N, p);
        q_of(g, i - 1, q);
        r = fmin(1, r * p[g->tokens[i - 1]] / q[g->tokens[i - 1]]);
        if (i < n) {
            softmax(g->logits + i * N, p);
            q_of(g, i, q);
            for (int x = 0; x < N; x++) s += fmax(r * p[x] - q[x], 0);
        }
        h = i == n ? r : s / (s + 1 - r);
        numbers(seed, position, 0x200, (uint32_t)i, u);
        if (u[0] < h) kept = i, kept_r = r;
    }
    *next = -1;
    if (kept == n) return kept;
    softmax(g->logits + kept * N, p);
    q_of(g, kept, q);
    for (int x = 0; x < N; x++) rest[x] = fmax(kept_r * p[x] - q[x], 0);
    numbers(seed, position + (uint64_t)kept, 0x200, 0, u);
    *next = at_share(rest, u[0]);
    return kept;
}

TEST(test_block_formula)
{
    const uint64_t seed = 0x123456789abcdef0u;
    own_sampler *dist = samp_init_dist(seed);
    source rng = source_stream(9300);
    int count[MOST + 1] = { 0 };
    for (int i = 0, n = (int)cases(20000, 500); i < n; i++) {
        guess g;
        const manner m = {
            line_of, 1 + below(&rng, MOST), (telling)(i % 3), 0.3 * (double)below(&rng, 5), true, 1.0f
        };
        samp_token out[ROWS], want;
        uint64_t position = (uint64_t)i * 10;
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        int kept = block_by_paper(&g, seed, position, &want);
        assert_ok(samp_set_position(dist, position));
        assert_num(samp_verify_block(dist, g.logits, N, &g.draft, out), kept);
        for (int k = 0; k < kept; k++) assert_num(out[k], g.tokens[k]);
        if (want < 0) {
            assert_ok(samp_set_position(dist, position + m.n));
            want = samp_sample(dist, g.logits + m.n * N, N);
        }
        assert_num(out[kept], want);
        count[kept]++;
    }
    for (int i = 0; i < 4; i++) assert_true(count[i] > 0);
}

/* Children one after the other. Returns the index of the one that is accepted, or -1 and in *next what comes instead. */
static int children_by_hand(const guess *g, int node, uint64_t seed, uint64_t position, samp_token *next)
{
    double p[N], q[N], u[2] = { 0, 0 };
    uint32_t attempt = 0;
    softmax(g->logits + (node + 1) * N, p);
    for (int j = 0; j < (int)g->draft.n; j++) {
        double sum = 0;
        if (g->parent[j] != node) continue;
        q_of(g, j, q);
        numbers(seed, position, 0x100, attempt++, u);
        if (u[0] * q[g->tokens[j]] < p[g->tokens[j]]) return j;
        for (int x = 0; x < N; x++) sum += p[x] = fmax(p[x] - q[x], 0);
        for (int x = 0; x < N; x++) p[x] /= sum;
    }
    *next = attempt ? at_share(p, u[1]) : -1;
    return -1;
}

TEST(test_tree_formula)
{
    const uint64_t seed = 0xfedcba9876543210u;
    own_sampler *dist = samp_init_dist(seed);
    source rng = source_stream(9310);
    int longest = 0, second = 0;
    for (int i = 0, n = (int)cases(20000, 500); i < n; i++) {
        guess g;
        const manner m = { tree_of, MOST, (telling)(i % 3), 0.3 * (double)below(&rng, 5), i % 2 == 0, 1.0f };
        samp_token out[ROWS], want[ROWS] = { -1, -1, -1, -1, -1, -1 };
        int32_t path[MOST], want_path[MOST] = { -1, -1, -1, -1, -1 };
        uint64_t position = (uint64_t)i * 10;
        int a = 0, node = -1, child;
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        for (; (child = children_by_hand(&g, node, seed, position + (uint64_t)a, &want[a])) >= 0; node = child) {
            want[a] = g.tokens[child];
            want_path[a++] = child;
            second += child == 1;
        }
        if (want[a] < 0) {
            assert_ok(samp_set_position(dist, position + (uint64_t)a));
            want[a] = samp_sample(dist, g.logits + (node + 1) * N, N);
        }
        assert_ok(samp_set_position(dist, position));
        assert_num(samp_verify_tree(dist, g.logits, N, &g.draft, g.parent, SAMP_VERIFY_RATIO, out, path), a);
        assert_memory_equal(out, want, sizeof out);
        assert_memory_equal(path, want_path, sizeof path);
        longest = a > longest ? a : longest;
    }
    assert_true(longest == 2 && second > 0);
}

/* The paper's first example: two tokens, p = (1/3, 2/3), q = (2/3, 1/3), two drafted: of each block 11/9 are accepted,
   by the ratio test 10/9. */
TEST(test_block_accepts_more)
{
    static const float third[2] = { 0.0f, 0.69314718f };
    static const float probs[4] = { 2 / 3.0f, 1 / 3.0f, 2 / 3.0f, 1 / 3.0f };
    float logits[6];
    samp_token tokens[2], out[3];
    samp_draft draft = { 2, tokens, probs, NULL, 0, NULL };
    own_sampler *dist = samp_init_dist(11);
    source rng = source_stream(9400);
    double sum[2] = { 0, 0 };
    long n = (long)amount(200000, 4000);
    for (int i = 0; i < 6; i++) logits[i] = third[i % 2];
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) tokens[k] = below(&rng, 3) == 0;
        sum[0] += samp_verify(dist, logits, 2, &draft, SAMP_VERIFY_RATIO, out);
        sum[1] += samp_verify_block(dist, logits, 2, &draft, out);
    }
    double within = 5 / sqrt((double)n); /* a count of 0 .. 2 has a standard deviation of at most 1 */
    print_message("             of a draft of two: ratio %.4f, block %.4f\n", sum[0] / (double)n, sum[1] / (double)n);
    assert_near(sum[0] / (double)n, 10 / 9.0, within);
    assert_near(sum[1] / (double)n, 11 / 9.0, within);
    if (!quick()) assert_true(sum[1] > sum[0]);
}

/* ---------------------------------------------------------------------------------------- what is the same */

/* A tree without branches is samp_verify's draft, bit for bit; a relaxed draft outside of a span, or with top_k 0, too. */
TEST(test_same_as_verify)
{
    source rng = source_stream(9500);
    for (int i = 0, n = quick() ? 60 : 1500; i < n; i++) {
        guess g;
        const manner m = { line_of, below(&rng, MOST + 1), (telling)(i % 3), 0.6, true, 1.0f };
        samp_verify_method method = i % 2 ? SAMP_VERIFY_RATIO : SAMP_VERIFY_EXACT;
        samp_relaxed relaxed = { i % 4 < 2 ? 3 : 0, 1.0f, -1, -1, i % 4 >= 2 };
        samp_sampler *chain = random_chain(&rng), *tree, *lenient;
        bool mt = method == SAMP_VERIFY_EXACT && i % 5 == 0;
        if (mt) assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
        tree = samp_clone(chain), lenient = samp_clone(chain);
        for (int call = 0; call < 5; call++) {
            samp_token out[3][ROWS];
            int32_t path[MOST];
            make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
            memset(out, 0x55, sizeof out);
            int32_t a = samp_verify(chain, g.logits, N, &g.draft, method, out[0]);
            assert_num(samp_verify_tree(tree, g.logits, N, &g.draft, g.parent, method, out[1], path), a);
            assert_memory_equal(out[0], out[1], sizeof out[0]);
            for (int k = 0; k < (int)m.n; k++) assert_num(path[k], k < a ? k : -1);
            assert_true(same_state(chain, tree));
            int32_t b = samp_verify_relaxed(lenient, g.logits, N, &g.draft, method, &relaxed, out[2]);
            if (mt) {
                assert_status(b, SAMP_E_UNSUPPORTED);
                continue;
            }
            assert_num(b, a);
            assert_memory_equal(out[0], out[2], sizeof out[0]);
            assert_true(same_state(chain, lenient));
        }
        samp_free(chain), samp_free(tree), samp_free(lenient);
    }
}

/* The token that a chain is brought to, through its draw: what learns from it learns. */
static void take(samp_sampler *chain, const float *row, samp_token token)
{
    float rows[2 * N];
    samp_token out[2];
    samp_relaxed any = { N, 1.0f, -1, -1, true };
    samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    memcpy(rows, row, N * sizeof *row);
    memcpy(rows + N, row, N * sizeof *row);
    assert_num(samp_verify_relaxed(chain, rows, N, &draft, SAMP_VERIFY_EXACT, &any, out), 1);
    assert_num(out[0], token);
    assert_ok(samp_rollback(chain, 1)); /* the one behind it */
}

/* The row behind a + 1 tokens of a draft is logits + row * N: in a line row a, in a tree the path's. Each accepted token
   is taken alone by another chain: the states are the same, mu and averages included. */
TEST(test_state_behind_a_draft)
{
    source rng = source_stream(9510);
    int moved_back = 0;
    for (int i = 0, n = quick() ? 60 : 1500; i < n; i++) {
        guess g;
        bool tree = i % 2;
        const manner m = { tree ? tree_of : line_of, MOST, (telling)(i % 3), 0.6, true, 1.0f };
        samp_sampler *chain = random_chain(&rng), *other = samp_clone(chain);
        for (int call = 0; call < 4; call++) {
            samp_token out[ROWS];
            int32_t path[MOST] = { 0, 1, 2, 3, 4 };
            make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
            int32_t a = tree ? samp_verify_tree(chain, g.logits, N, &g.draft, g.parent, SAMP_VERIFY_RATIO, out, path)
                             : samp_verify_block(chain, g.logits, N, &g.draft, out);
            assert_true(a >= 0 && a <= MOST);
            for (int k = 0; k <= a; k++) take(other, g.logits + (k ? path[k - 1] + 1 : 0) * N, out[k]);
            assert_true(same_state(chain, other));
            assert_false(inside_drafts(chain));
            moved_back += !tree && a < MOST - 1;
            for (int k = 0; k < a && !tree; k++) assert_num(out[k], g.tokens[k]);
        }
        assert_ok(samp_rollback(chain, 1)); /* and the records are good */
        assert_ok(samp_rollback(other, 1));
        assert_true(same_state(chain, other));
        samp_free(chain), samp_free(other);
    }
    assert_true(moved_back > 20);
}

/* The same tokens on the fast path, step by step, and on every instruction set. */
TEST(test_executors_agree)
{
    source rng = source_stream(9520);
    for (int i = 0, n = quick() ? 20 : 400; i < n; i++) {
        guess g;
        const manner m = { i % 2 ? tree_of : line_of, MOST, (telling)(i % 3), 0.6, true, 1.0f };
        samp_sampler *chain = random_chain(&rng), *slow = samp_chain_init();
        assert_ok(samp_chain_add(slow, make_custom()));
        for (int32_t k = 0; k < samp_chain_n(chain); k++)
            assert_ok(samp_chain_add(slow, samp_clone(samp_chain_get(chain, k))));
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        for (form kind = BLOCK; kind <= TREE; kind = (form)(kind + 1)) {
            samp_token out[2][ROWS];
            samp_sampler *copy = samp_clone(slow);
            int32_t a = verify(kind, copy, &g, out[0]);
            samp_free(copy);
            for (int k = 0; samp_isa_list(k); k++) {
                assert_ok(samp_isa_force(samp_isa_list(k)));
                copy = samp_clone(chain);
                assert_num(verify(kind, copy, &g, out[1]), a);
                assert_memory_equal(out[0], out[1], sizeof out[0]);
                samp_free(copy);
            }
            assert_ok(samp_isa_force(NULL));
        }
        samp_free(slow), samp_free(chain);
    }
}

/* Tokens of no weight change nothing: rows of more than 4,096 give what their first N tokens give alone, behind cuts and
   without, whoever selects. */
TEST(test_long_rows)
{
    enum { LONG = 6000 };
    static float wide[ROWS * LONG], probs[MOST * LONG];
    source rng = source_stream(9530);
    for (int i = 0; i < (quick() ? 12 : 120); i++) {
        guess g, long_g;
        const manner m = { i % 2 ? tree_of : line_of, MOST, DENSE, 0.6, true, 1.0f };
        samp_token out[2][ROWS];
        samp_sampler *chain = samp_chain_init(), *copy;
        if (i % 3 != 1) assert_ok(samp_chain_add(chain, samp_init_top_p(0.9f, 1)));
        if (i % 3 == 2) assert_ok(samp_chain_add(chain, samp_init_min_p(0.05f, 1)));
        assert_ok(samp_chain_add(chain, i % 4 ? samp_init_dist((uint64_t)i) : samp_init_greedy()));
        copy = samp_clone(chain);
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        for (int k = 0; k < ROWS * LONG; k++)
            wide[k] = k % LONG < N ? g.logits[k / LONG * N + k % LONG] : -60.0f - (float)(k % 7);
        for (int k = 0; k < MOST * LONG; k++) probs[k] = k % LONG < N ? g.probs[k / LONG * N + k % LONG] : 0.0f;
        long_g = g;
        long_g.draft.probs = probs;
        samp_relaxed relaxed = { 3, 0.2f, -1, -1, true };
        for (int call = 0; call < 3; call++) {
            int32_t a, b;
            if (call == 0) {
                a = samp_verify_block(chain, g.logits, N, &g.draft, out[0]);
                b = samp_verify_block(copy, wide, LONG, &long_g.draft, out[1]);
            } else if (call == 1) {
                a = samp_verify_tree(chain, g.logits, N, &g.draft, g.parent, SAMP_VERIFY_RATIO, out[0], NULL);
                b = samp_verify_tree(copy, wide, LONG, &long_g.draft, g.parent, SAMP_VERIFY_RATIO, out[1], NULL);
            } else {
                a = samp_verify_relaxed(chain, g.logits, N, &g.draft, (samp_verify_method)(i % 2), &relaxed, out[0]);
                b = samp_verify_relaxed(copy, wide, LONG, &long_g.draft, (samp_verify_method)(i % 2), &relaxed,
                                        out[1]);
            }
            assert_true(a >= 0);
            assert_num(b, a);
            assert_memory_equal(out[0], out[1], sizeof out[0]);
            assert_true(same_state(chain, copy));
        }
        samp_free(chain), samp_free(copy);
    }
}

/* ------------------------------------------------------------------------------------- trees and greedy */

/* Exact: the path is the tokens that there would be without a draft, as far as the tree has them. */
TEST(test_tree_exact)
{
    source rng = source_stream(9600);
    int length[4] = { 0 };
    for (int i = 0, n = quick() ? 60 : 1500; i < n; i++) {
        guess g;
        const manner m = { tree_of, MOST, CERTAIN, 0.3, true, 1.0f };
        samp_token out[ROWS];
        int32_t path[MOST], row = 0;
        samp_sampler *chain = random_chain(&rng), *other;
        if (i % 3 == 0) assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
        other = samp_clone(chain);
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        int32_t a = samp_verify_tree(chain, g.logits, N, &g.draft, g.parent, SAMP_VERIFY_EXACT, out, path);
        assert_true(a >= 0 && a <= 2);
        for (int32_t k = 0; k <= a; k++) {
            assert_num(out[k], samp_sample(other, g.logits + row * N, N));
            if (k == a) break;
            assert_num(g.parent[path[k]], row - 1);
            assert_num(g.tokens[path[k]], out[k]);
            row = path[k] + 1;
        }
        for (int j = 0; j < MOST; j++) assert_false(g.parent[j] == row - 1 && g.tokens[j] == out[a]);
        assert_true(same_state(chain, other));
        length[a]++;
        samp_free(chain), samp_free(other);
    }
    assert_true(length[0] && length[1] && length[2]);
}

/* Greedy has one answer: blocks and trees are the exact method, xtc before it or not. */
TEST(test_greedy)
{
    source rng = source_stream(9610);
    for (int i = 0; i < 300; i++) {
        guess g;
        const manner m = { line_of, MOST, (telling)(i % 3), 0.3, true, 1.0f };
        samp_token out[3][ROWS];
        samp_sampler *chain[3];
        chain[0] = samp_chain_init();
        if (i % 2) assert_ok(samp_chain_add(chain[0], make_xtc()));
        if (i % 7 == 0) assert_ok(samp_chain_add(chain[0], make_dist())); /* greedy has the last word */
        assert_ok(samp_chain_add(chain[0], samp_init_greedy()));
        chain[1] = samp_clone(chain[0]), chain[2] = samp_clone(chain[0]);
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        samp_sampler *ahead = samp_clone(chain[0]);
        for (size_t k = 0; k < below(&rng, ROWS); k++) { /* right for a while */
            g.tokens[k] = samp_sample(ahead, g.logits + k * N, N);
            model(g.tokens[k], g.logits + (k + 1) * N);
        }
        samp_free(ahead);
        int32_t a = samp_verify(chain[0], g.logits, N, &g.draft, SAMP_VERIFY_EXACT, out[0]);
        assert_num(verify(TREE, chain[2], &g, out[2]), a);
        assert_memory_equal(out[0], out[2], sizeof out[0]);
        if (i % 7) {
            assert_num(verify(BLOCK, chain[1], &g, out[1]), a);
            assert_memory_equal(out[0], out[1], sizeof out[0]);
        } else { /* what dist would have taken counts as well: fewer, the same tokens */
            int32_t b = verify(BLOCK, chain[1], &g, out[1]);
            assert_true(b >= 0 && b <= a);
            for (int k = 0; k <= b; k++) assert_num(out[1][k], out[0][k]);
        }
        if (i % 7) assert_true(same_state(chain[0], chain[1]));
        for (int k = 0; k < 3; k++) samp_free(chain[k]);
    }
}

/* More children than are tried, all certain and all different: the 64 first have their chance, the draw is one of p. */
TEST(test_many_children)
{
    enum { V = 100 };
    static float logits[(V + 1) * V];
    samp_token tokens[V], out[V + 1];
    int32_t parent[V], path[V];
    samp_draft draft = { V, tokens, NULL, NULL, 0, NULL };
    own_sampler *dist = samp_init_dist(8);
    int rejected = 0, n = quick() ? 100 : 1500;
    long seen[4] = { 0 };
    real p[4] = { 0.25L, 0.25L, 0.25L, 0.25L };
    for (int i = 0; i < V; i++) tokens[i] = i, parent[i] = -1;
    for (int i = 0; i < n; i++) {
        int32_t a = samp_verify_tree(dist, logits, V, &draft, parent, SAMP_VERIFY_RATIO, out, path);
        assert_num(a, 1); /* those beyond are found by the draw */
        assert_num(path[0], out[0]);
        rejected += out[0] >= 64;
        seen[out[0] / 25]++;
    }
    assert_true(rejected > n / 5 && rejected < n / 2);
    assert_true(fit("a hundred children", seen, p, 4) >= ALPHA);
}

/* ------------------------------------------------------------------------------------------------- relaxed */

/* The token with the flattest row behind it. */
static samp_token flattest(const samp_sampler *chain)
{
    samp_token flat = 0;
    real least = 1;
    for (samp_token last = 0; last < N; last++) {
        real p[N], best = 0;
        target(chain, last, p);
        for (int i = 0; i < N; i++) best = p[i] > best ? p[i] : best;
        if (best < least) least = best, flat = last;
    }
    return flat;
}

/* Inside of a span, the distribution that the comment states: exact, and by the ratio test. */
TEST(test_relaxed_distribution)
{
    for (int method = SAMP_VERIFY_EXACT; method <= SAMP_VERIFY_RATIO; method++) {
        own_sampler *chain = top_k_temp_dist(210);
        real p[N], want[N], rest[N], rest_sum = 0, lost = 0, best = 0, in_all = 0;
        double q[N];
        long seen[N] = { 0 };
        int n_near = 0;
        source rng = source_stream(9700);
        const manner m = { line_of, 1, DENSE, 1.5, true, 1.0f };
        guess g;
        samp_token last = flattest(chain);
        target(chain, last, p);
        make_guess(&g, &m, last, &rng);
        q_of(&g, 0, q);
        for (int i = 0; i < N; i++) best = p[i] > best ? p[i] : best;
        samp_relaxed relaxed = { 3, (float)(double)(best * 0.95L), -1, -1, true };
        bool near[N];
        for (int i = 0; i < N; i++) {
            int ahead = 0;
            for (int k = 0; k < N; k++) ahead += p[k] > p[i];
            n_near += near[i] = p[i] > 0 && ahead < 3 && p[i] >= best - (real)relaxed.delta;
        }
        assert_true(n_near == 2 || n_near == 3);
        for (int i = 0; i < N; i++) {
            rest[i] = method == SAMP_VERIFY_EXACT ? p[i] : p[i] > (real)q[i] ? p[i] - (real)q[i] : 0;
            want[i] = near[i] ? (real)q[i] : method == SAMP_VERIFY_EXACT ? 0 : p[i] < (real)q[i] ? p[i] : (real)q[i];
            rest_sum += rest[i];
            in_all += want[i];
        }
        lost = 1 - in_all;
        for (int i = 0; i < N; i++) want[i] += lost * rest[i] / rest_sum;
        for (long t = 0; t < draws(); t++) {
            samp_token out[2];
            make_guess(&g, &m, last, &rng);
            int32_t a = samp_verify_relaxed(chain, g.logits, N, &g.draft, (samp_verify_method)method, &relaxed, out);
            assert_true(a >= 0);
            if (near[g.tokens[0]]) assert_num(a, 1);
            seen[out[0]]++;
        }
        assert_true(fit(method ? "relaxed, ratio" : "relaxed, exact", seen, want, N) >= ALPHA);
        if (!quick()) assert_true(chi_square(seen, p, N) < 1e-6); /* and not the model's */
    }
}

/* By hand: p = 1/2, 1/4, 1/8, 1/8, weights exact. */
TEST(test_relaxed_bounds)
{
    static const float row[5] = { 0.0f, 0.69314718f, 1.3862944f, 0.0f, -INFINITY };
    float logits[10];
    samp_token token, out[2];
    samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
    own_sampler *greedy = samp_init_greedy();
    static const struct {
        samp_token token;
        int32_t top_k;
        float delta;
        int accepted;
    } table[] = {
        { 2, 1, 0.0f, 1 },   { 1, 2, 0.2501f, 1 }, { 1, 2, 0.2499f, 0 }, { 1, 1, 0.2501f, 0 },
        { 0, 3, 0.376f, 1 }, { 0, 3, 0.374f, 0 },  { 3, 3, 1.0f, 0 },    { 3, 4, 1.0f, 1 },
        { 0, 4, 1.0f, 1 },   { 4, 5, 1.0f, 0 },    { 1, 0, 1.0f, 0 },
    };
    for (int i = 0; i < 10; i++) logits[i] = row[i % 5];
    for (size_t i = 0; i < TEST_COUNT(table); i++)
        for (int method = SAMP_VERIFY_EXACT; method <= SAMP_VERIFY_RATIO; method++) {
            samp_relaxed relaxed = { table[i].top_k, table[i].delta, -1, -1, true };
            token = table[i].token;
            int32_t a = samp_verify_relaxed(greedy, logits, 5, &draft, (samp_verify_method)method, &relaxed, out);
            assert_num(a, table[i].accepted);
            assert_num(out[0], a ? token : 2);
            assert_num(out[1], a ? 2 : -1);
        }
}

/* Where a draft's token is not nearly the best, the exact method gives the very token of samp_sample, inside as well. */
TEST(test_relaxed_otherwise)
{
    static const maker last[] = { make_dist, make_mirostat_v2, make_greedy, make_gumbel };
    source rng = source_stream(9710);
    for (int i = 0; i < 400; i++) {
        float logits[2 * N];
        samp_token token = 0, out[2];
        samp_draft draft = { 1, &token, NULL, NULL, 0, NULL };
        samp_relaxed relaxed = { 1, 1.0f, -1, -1, true };
        samp_sampler *chain = samp_chain_init(), *other;
        assert_ok(samp_chain_add(chain, last[i % 4]()));
        assert_ok(samp_set_position(chain, (uint64_t)i));
        other = samp_clone(chain);
        test_logits(&rng, logits, 2 * N, 1.0);
        for (int k = 1; k < N; k++)
            if (logits[k] < logits[token]) token = (samp_token)k;
        int32_t a = samp_verify_relaxed(chain, logits, N, &draft, SAMP_VERIFY_EXACT, &relaxed, out);
        for (int32_t k = 0; k <= a; k++) assert_num(out[k], samp_sample(other, logits + k * N, N));
        assert_true(a >= 0 && same_state(chain, other));
        samp_free(chain), samp_free(other);
    }
}

/* A span begins behind its first token and ends behind its last one: only between them a second best is good enough. */
TEST(test_relaxed_span)
{
    enum { V = 6, BEGIN = 4, END = 5, N_ROWS = 7 };
    /* best and second of each row; the draft has the second but where the best is a bound */
    static const samp_token best[N_ROWS] = { BEGIN, 0, 1, END, 2, 3, 0 }, second[N_ROWS] = { 1, 1, 2, 0, 3, 0, 1 };
    float logits[N_ROWS * V];
    samp_token tokens[N_ROWS - 1], out[N_ROWS];
    samp_draft draft = { 4, tokens, NULL, NULL, 0, NULL };
    own_sampler *greedy = samp_init_greedy();
    samp_relaxed relaxed = { 2, 1.0f, BEGIN, END, false };
    for (int i = 0; i < N_ROWS * V; i++) logits[i] = i % V == best[i / V] ? 2 : i % V == second[i / V] ? 1 : 0;
    for (int i = 0; i < N_ROWS - 1; i++) tokens[i] = best[i] >= BEGIN ? best[i] : second[i];
    assert_num(samp_verify_relaxed(greedy, logits, V, &draft, SAMP_VERIFY_EXACT, &relaxed, out), 4);
    for (int i = 0; i < 4; i++) assert_num(out[i], tokens[i]);
    assert_num(out[4], 2);
    assert_false(relaxed.inside);
    draft.n = 5; /* outside again: the second of row 4 is not enough */
    assert_num(samp_verify_relaxed(greedy, logits, V, &draft, SAMP_VERIFY_EXACT, &relaxed, out), 4);
    assert_num(out[4], 2);
    tokens[0] = 1; /* it would begin inside */
    relaxed.inside = false;
    assert_num(samp_verify_relaxed(greedy, logits, V, &draft, SAMP_VERIFY_EXACT, &relaxed, out), 0);
    assert_num(out[0], BEGIN);
    assert_true(relaxed.inside); /* the token that came instead begins it, too */
}

/* ------------------------------------------------------------------------------------------------- grammar */

/* In a chain with a grammar no token comes out that it does not allow, and it is where the tokens alone would have led
   it, however much of the draft was taken back. */
TEST(test_grammar)
{
    source rng = source_stream(9800);
    own_grammar *words = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= ([a-e] [f-p]{1,2})*", NULL, NULL);
    static const samp_token ends[] = { N - 1 };
    const samp_vocab vocab = { N, test_letters, NULL, NULL, ends, 1, N - 1, -1 };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    int longest = 0, calls = 0;
    assert_non_null(words);
    assert_non_null(index);
    for (int i = 0, n = quick() ? 20 : 400; i < n; i++) {
        samp_sampler *chain = samp_chain_init(), *other;
        if (i % 2) assert_ok(samp_chain_add(chain, samp_init_penalties(4, 1.1f, 0.0f, 0.0f)));
        assert_ok(samp_chain_add(chain, samp_init_grammar(index, words)));
        assert_ok(samp_chain_add(chain, samp_init_dist((uint64_t)i)));
        other = samp_clone(chain);
        for (int call = 0; call < 6; call++) {
            guess g;
            const manner m = { i % 3 == 1 ? tree_of : line_of, MOST, (telling)(call % 3), 0.3, true, 1.0f };
            samp_token out[ROWS];
            int32_t path[MOST] = { 0, 1, 2, 3, 4 };
            samp_relaxed relaxed = { 4, 0.3f, -1, -1, true };
            make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
            int32_t a = i % 3 == 0 ? samp_verify_block(chain, g.logits, N, &g.draft, out)
                        : i % 3 == 1
                            ? samp_verify_tree(chain, g.logits, N, &g.draft, g.parent, SAMP_VERIFY_RATIO, out, path)
                            : samp_verify_relaxed(chain, g.logits, N, &g.draft, SAMP_VERIFY_RATIO, &relaxed, out);
            if (a < 0) break; /* the text is at its end */
            for (int k = 0; k <= a && out[k] >= 0; k++) take(other, g.logits + (k ? path[k - 1] + 1 : 0) * N, out[k]);
            assert_true(same_state(chain, other));
            longest = a > longest ? a : longest;
            calls++;
            if (out[a] < 0) break;
        }
        samp_free(chain), samp_free(other);
    }
    assert_true(longest >= 2 && calls > (quick() ? 20 : 400));
}

/* A grammar that waits for a trigger refuses token BAD, which is one and goes on as the grammar does not. It is masked in
   each row in which the grammar waits, whatever the draft: the tokens are those of the chain without the grammar, of
   rows in which it is. The grammar comes first, behind another member and step by step. */
enum { BAD = 1, TRIGGER = 2 };

/* Mask BAD in each row in which the grammar still waits. Returns in how many of them the draft has it. */
static int mask_refused(const guess *g, float *logits)
{
    int n = 0;
    memcpy(logits, g->logits, sizeof g->logits);
    for (int j = -1; j < MOST; j++) {
        bool waits = true;
        for (int k = j; k >= 0; k = g->parent[k]) waits &= g->tokens[k] != TRIGGER;
        if (waits) logits[(j + 1) * N + BAD] = -INFINITY;
        for (int k = 0; k < MOST; k++) n += waits && g->parent[k] == j && g->tokens[k] == BAD;
    }
    return n;
}

static int32_t verify_any(int kind, samp_sampler *chain, const guess *g, const float *logits, samp_token *out)
{
    samp_relaxed relaxed = { 4, 0.3f, -1, -1, true };
    if (kind == N_FORMS) return samp_verify_relaxed(chain, logits, N, &g->draft, SAMP_VERIFY_RATIO, &relaxed, out);
    guess with = *g;
    memcpy(with.logits, logits, sizeof with.logits);
    with.draft.tokens = with.tokens;
    if (g->draft.probs) with.draft.probs = with.probs;
    if (g->draft.ids) with.draft.ids = with.ids;
    return verify((form)kind, chain, &with, out);
}

TEST(test_lazy_grammar)
{
    static const samp_token ends[] = { N - 1 }, triggers[] = { BAD, TRIGGER };
    const samp_vocab vocab = { N, test_letters, NULL, NULL, ends, 1, N - 1, -1 };
    own_index *index = samp_vocab_index_init(&vocab, NULL);
    own_grammar *words = samp_grammar_init(SAMP_GRAMMAR_GBNF, "root ::= \"cde\" [a-z]*", NULL, NULL);
    own_sampler *lazy = samp_init_grammar_lazy(index, words, NULL, 0, triggers, 2);
    source rng = source_stream(9810);
    int refused = 0, begun = 0, n = quick() ? 200 : 4000;
    assert_ok(samp_status(lazy, NULL));
    for (int i = 0; i < n; i++) {
        enum { WITHOUT, FIRST, BEHIND, STEPS, N_CHAINS };
        samp_sampler *chain[N_CHAINS];
        for (int k = 0; k < N_CHAINS; k++) {
            chain[k] = samp_chain_init();
            if (k == FIRST) assert_ok(samp_chain_add(chain[k], samp_clone(lazy)));
            if (k == STEPS) assert_ok(samp_chain_add(chain[k], make_custom()));
            assert_ok(samp_chain_add(chain[k], samp_init_temp(0.9f)));
            if (k == BEHIND || k == STEPS) assert_ok(samp_chain_add(chain[k], samp_clone(lazy)));
            if (i % 5 == 0) assert_ok(samp_chain_add(chain[k], samp_init_min_p(0.1f, 1)));
            assert_ok(samp_chain_add(chain[k], i % 7 ? samp_init_dist((uint64_t)i) : samp_init_greedy()));
        }
        guess g;
        const int kind = (int)below(&rng, N_FORMS + 1);
        const manner m = { kind == TREE ? tree_of : line_of, MOST, (telling)(i % 3), 0.6, true, 1.0f };
        float masked[ROWS * N];
        samp_token want[ROWS], out[ROWS];
        make_guess(&g, &m, (samp_token)below(&rng, N), &rng);
        for (int j = 0; j < MOST; j++) { /* triggers, and rows that want them */
            if (below(&rng, 3)) continue;
            g.tokens[j] = below(&rng, 4) ? BAD : TRIGGER;
            g.logits[(g.parent[j] + 1) * N + g.tokens[j]] += 2.0f;
        }
        const int n_masked = mask_refused(&g, masked);
        int32_t a = verify_any(kind, chain[WITHOUT], &g, masked, want);
        assert_true(a >= 0 && want[a] >= 0);
        bool waits = true;
        for (int k = 0; k <= a; k++) {
            assert_true(!waits || want[k] != BAD);
            waits &= want[k] != TRIGGER;
        }
        for (int k = FIRST; k < N_CHAINS; k++) {
            assert_num(verify_any(kind, chain[k], &g, g.logits, out), a);
            for (int j = 0; j <= a; j++) assert_num(out[j], want[j]);
            assert_num(samp_grammar_is_awaiting(samp_chain_get(chain[k], k == FIRST ? 0 : k - 1)), waits);
            assert_num(samp_rollback_depth(chain[k]), a + 1);
            assert_ok(samp_rollback(chain[k], a + 1));
            assert_num(samp_grammar_is_awaiting(samp_chain_get(chain[k], k == FIRST ? 0 : k - 1)), true);
        }
        refused += n_masked > 0, begun += !waits;
        for (int k = 0; k < N_CHAINS; k++) samp_free(chain[k]);
    }
    print_message("             %d of %d drafts had what the grammar refuses, %d began it\n", refused, n, begun);
    assert_true(refused > n / 3 && begun > n / 20);
}

/* ---------------------------------------------------------------------------------------------- bad input */

static int told_accept(samp_sampler *s, samp_token token) { return (void)s, (void)token, SAMP_OK; }
static int nothing(samp_sampler *s, samp_token_data_array *cur) { return (void)s, (void)cur, SAMP_OK; }
static const samp_sampler_i no_way_back = { NULL, told_accept, nothing, NULL, NULL, NULL, NULL, NULL };

static int all_refuse(samp_sampler *chain, const guess *g, const samp_draft *draft, int want)
{
    samp_token out[ROWS];
    samp_relaxed relaxed = { 2, 0.5f, 3, 4, true };
    samp_sampler *before = chain ? samp_clone(chain) : NULL;
    assert_status(samp_verify_block(chain, g->logits, N, draft, out), want);
    assert_status(samp_verify_tree(chain, g->logits, N, draft, g->parent, SAMP_VERIFY_RATIO, out, NULL), want);
    assert_status(samp_verify_relaxed(chain, g->logits, N, draft, SAMP_VERIFY_RATIO, &relaxed, out), want);
    if (chain) assert_true(same_state(chain, before));
    samp_free(before);
    return want;
}

TEST(test_bad_drafts)
{
    guess g;
    const manner m = { line_of, MOST, DENSE, 0.6, true, 1.0f };
    source rng = source_stream(9900);
    own_sampler *chain = top_k_temp_dist(1);
    samp_token out[ROWS];
    samp_relaxed relaxed = { 2, 0.5f, 3, 4, true };
    make_guess(&g, &m, -1, &rng);
    samp_draft good = g.draft, d;
    all_refuse(NULL, &g, &good, SAMP_E_NULL);
    all_refuse(chain, &g, NULL, SAMP_E_NULL);
    assert_status(samp_verify_block(chain, NULL, N, &good, out), SAMP_E_NULL);
    assert_status(samp_verify_block(chain, g.logits, N, &good, NULL), SAMP_E_NULL);
    assert_status(samp_verify_tree(chain, NULL, N, &good, g.parent, SAMP_VERIFY_EXACT, out, NULL), SAMP_E_NULL);
    assert_status(samp_verify_tree(chain, g.logits, N, &good, NULL, SAMP_VERIFY_EXACT, out, NULL), SAMP_E_NULL);
    assert_status(samp_verify_tree(chain, g.logits, N, &good, g.parent, SAMP_VERIFY_EXACT, NULL, NULL), SAMP_E_NULL);
    assert_status(samp_verify_relaxed(chain, g.logits, N, &good, SAMP_VERIFY_EXACT, NULL, out), SAMP_E_NULL);
    assert_status(samp_verify_relaxed(chain, NULL, N, &good, SAMP_VERIFY_EXACT, &relaxed, out), SAMP_E_NULL);
    assert_status(samp_verify_relaxed(chain, g.logits, N, &good, SAMP_VERIFY_EXACT, &relaxed, NULL), SAMP_E_NULL);
    d = good, d.tokens = NULL;
    all_refuse(chain, &g, &d, SAMP_E_NULL);
    d = good, d.ids = g.ids, d.n_top = 0;
    all_refuse(chain, &g, &d, SAMP_E_RANGE);
    for (int bad = -1; bad <= N; bad += N + 1) {
        samp_token token = g.tokens[2];
        g.tokens[2] = bad;
        all_refuse(chain, &g, &good, SAMP_E_RANGE);
        g.tokens[2] = token;
    }
    static const float wrong[] = { -0.001f, 1.001f, INFINITY, -INFINITY, NAN };
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        float p = g.probs[MOST * N - 1];
        g.probs[MOST * N - 1] = wrong[i];
        all_refuse(chain, &g, &good, isnan(wrong[i]) ? SAMP_E_NAN : SAMP_E_RANGE);
        g.probs[MOST * N - 1] = p;
    }
    static const int32_t parents[][MOST] = { { 0, 0, 1, 2, 3 },          { -1, 0, 1, 2, 4 },
                                             { 1, 0, 1, 2, 3 },          { -1, -2, 1, 2, 3 },
                                             { -1, 0, 1, 2, INT32_MAX }, { INT32_MIN, 0, 1, 2, 3 },
                                             { -1, 2, 1, 2, 3 } };
    for (size_t i = 0; i < TEST_COUNT(parents); i++)
        for (int method = SAMP_VERIFY_EXACT; method <= SAMP_VERIFY_RATIO; method++)
            assert_status(
                samp_verify_tree(chain, g.logits, N, &good, parents[i], (samp_verify_method)method, out, NULL),
                SAMP_E_RANGE);
    assert_status(samp_verify_tree(chain, g.logits, N, &good, g.parent, (samp_verify_method)2, out, NULL),
                  SAMP_E_RANGE);
    static const samp_relaxed unfit[] = { { -1, 0.5f, 3, 4, true }, { 2, -0.1f, 3, 4, true }, { 2, 1.1f, 3, 4, true },
                                          { 2, 0.5f, N, 4, true },  { 2, 0.5f, -2, 4, true }, { 2, 0.5f, 3, N, true },
                                          { 2, 0.5f, 3, -2, true }, { 2, NAN, 3, 4, true } };
    for (size_t i = 0; i < TEST_COUNT(unfit); i++) {
        relaxed = unfit[i];
        assert_status(samp_verify_relaxed(chain, g.logits, N, &good, SAMP_VERIFY_EXACT, &relaxed, out),
                      isnan(unfit[i].delta) ? SAMP_E_NAN : SAMP_E_RANGE);
    }
    assert_num(samp_get_position(chain), 0);
    assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
    all_refuse(chain, &g, &good, SAMP_E_UNSUPPORTED);
    samp_free(chain);
    chain = new_chain(samp_init_top_k(4), samp_init_ras(6, 0.3f, 7));
    all_refuse(chain, &g, &good, SAMP_E_UNSUPPORTED);
}

/* Probabilities that sum to 0, or to far more than 1, mean nothing, but a token comes out. */
TEST(test_odd_sums)
{
    source rng = source_stream(9910);
    own_sampler *chain = top_k_temp_dist(2);
    for (int i = 0; i < 300; i++) {
        guess g;
        const manner m = { i % 2 ? tree_of : line_of, MOST, DENSE, 0.6, true, 0.0f };
        samp_token out[ROWS];
        make_guess(&g, &m, -1, &rng);
        for (int k = 0; i % 3 && k < MOST * N; k++) g.probs[k] = 1.0f;
        for (form kind = RATIO; kind < N_FORMS; kind = (form)(kind + 1)) {
            int32_t a = verify(kind, chain, &g, out);
            assert_true(a >= 0 && a <= MOST);
            for (int k = 0; k <= a; k++) assert_true(out[k] >= 0 && out[k] < N);
        }
    }
}

/* What a block must be able to take back. */
TEST(test_block_needs)
{
    guess g;
    const manner m = { line_of, MOST, DENSE, 0.6, true, 1.0f };
    samp_token out[ROWS];
    source rng = source_stream(9920);
    samp_sampler *chain = top_k_temp_dist(3), *custom = samp_chain_init(), *before;
    make_guess(&g, &m, -1, &rng);
    assert_ok(samp_set_rollback(chain, MOST - 1));
    before = samp_clone(chain);
    assert_status(samp_verify_block(chain, g.logits, N, &g.draft, out), SAMP_E_FULL); /* and no token is bad */
    assert_true(same_state(chain, before));
    assert_ok(samp_set_rollback(chain, MOST));
    assert_true(samp_verify_block(chain, g.logits, N, &g.draft, out) >= 0);
    assert_status(samp_verify_block(samp_chain_get(chain, 2), g.logits, N, &g.draft, out), SAMP_E_RANGE);
    assert_ok(samp_chain_add(custom, samp_init_custom(&no_way_back, NULL)));
    assert_ok(samp_chain_add(custom, make_dist()));
    assert_status(samp_verify_block(custom, g.logits, N, &g.draft, out), SAMP_E_UNSUPPORTED);
    assert_num(samp_get_position(custom), 0);
    g.draft.n = 0; /* without a draft each is samp_sample */
    assert_ok(samp_set_rollback(before, 0));
    samp_sampler *other = samp_clone(before);
    for (int i = 0; i < 20; i++) {
        assert_num(verify(i % 2 ? BLOCK : TREE, before, &g, out), 0);
        assert_num(out[0], samp_sample(other, g.logits, N));
    }
    samp_sampler *member = samp_chain_get(before, samp_chain_n(before) - 1);
    assert_num(samp_verify_block(member, g.logits, N, &g.draft, out), 0);
    samp_free(chain), samp_free(custom), samp_free(before), samp_free(other);
}

/* A draw of which no token was accepted stays: the block begins behind it. */
TEST(test_block_behind_a_draw)
{
    const manner m = { line_of, MOST, DENSE, 0.6, true, 1.0f };
    source rng = source_stream(9930);
    for (int i = 0; i < 40; i++) {
        samp_sampler *chain = top_k_temp_dist(40 + (uint64_t)i), *other = samp_clone(chain);
        samp_token out[2][ROWS];
        guess g;
        make_guess(&g, &m, -1, &rng);
        for (int k = 0; k < i % 3; k++) assert_ok(samp_accept(chain, k) | samp_accept(other, k));
        for (int k = 0; k <= i % 2; k++) assert_true(samp_draw(chain, g.logits, N) >= 0);
        assert_ok(samp_set_position(other, 1 + (uint64_t)i % 2));
        int32_t a = samp_verify_block(chain, g.logits, N, &g.draft, out[0]);
        assert_num(samp_verify_block(other, g.logits, N, &g.draft, out[1]), a);
        assert_memory_equal(out[0], out[1], (MOST + 1) * sizeof out[0][0]);
        assert_u64(samp_get_position(chain), 2 + (uint64_t)a + (uint64_t)i % 2);
        assert_true(same_state(chain, other));
        samp_free(chain), samp_free(other);
    }
}

/* Rewinding bans of tokens that a block gives back are not noted, those of tokens that stay are: as if the tokens had
   been accepted one by one. */
TEST(test_block_with_rewinds)
{
    static const samp_token one[] = { 3 }, two[] = { 1, 2 }, three[] = { 5, 5, 4 };
    static const samp_sequence banned[] = { { one, 1, 0.0f }, { two, 2, 0.0f }, { three, 3, 0.0f } };
    const manner m = { line_of, MOST, DENSE, 0.6, true, 1.0f };
    source rng = source_stream(9940);
    long n_given_back = 0, n_kept = 0;
    for (int i = 0; i < 300; i++) {
        samp_sampler *chain[2];
        for (int k = 0; k < 2; k++) {
            chain[k] = samp_chain_init();
            assert_ok(samp_chain_add(chain[k], samp_init_banned_sequences(banned, 3, SAMP_BAN_REWIND)));
            assert_ok(samp_chain_add(chain[k], samp_init_dist((uint64_t)i)));
        }
        for (int length = 0; length < 12;) {
            samp_token out[ROWS];
            guess g;
            make_guess(&g, &m, samp_last(chain[0]) < 0 ? -1 : samp_last(chain[0]), &rng);
            int32_t a = samp_verify_block(chain[0], g.logits, N, &g.draft, out);
            assert_true(a >= 0);
            for (int j = a; j < (int)m.n; j++) n_given_back += g.tokens[j] == 3;
            for (int32_t j = 0; j <= a; j++) assert_ok(samp_accept(chain[1], out[j]));
            assert_ok(samp_set_position(chain[1], samp_get_position(chain[0])));
            assert_true(same_state(chain[0], chain[1]));
            assert_num(samp_rewind_length(chain[0]), samp_rewind_length(chain[1]));
            n_kept += samp_rewind_length(chain[0]) > 0;
            length += a + 1;
        }
        samp_free(chain[0]), samp_free(chain[1]);
    }
    assert_true(n_given_back > 20 && n_kept > 20);
}

static int no_rollback(samp_sampler *s, int32_t n) { return (void)s, (void)n, SAMP_E_FULL; }
static const samp_sampler_i bad_way_back = { .accept = told_accept, .apply = nothing, .rollback = no_rollback };

/* A sampler of the user's that promised a way back and has none: its status, where something must be taken back. */
TEST(test_block_refused)
{
    const manner m = { line_of, MOST, DENSE, 0.6, true, 1.0f };
    source rng = source_stream(9930);
    int n_refused = 0, n_good = 0;
    for (int i = 0; i < 60; i++) {
        guess g;
        samp_token out[ROWS];
        own_sampler *chain = new_chain(samp_init_custom(&bad_way_back, NULL), make_dist());
        make_guess(&g, &m, -1, &rng);
        int32_t a = samp_verify_block(chain, g.logits, N, &g.draft, out);
        if (a < 0) assert_status(a, SAMP_E_FULL);
        n_refused += a < 0;
        n_good += a >= 0;
    }
    assert_true(n_refused > 5 && n_good > 0);
}

/* A bad row behind accepted tokens: these count; on the way to a rejection it is the end of the draft. */
TEST(test_bad_row)
{
    source rng = source_stream(9930);
    int met[3] = { 0 };
    for (int i = 0, n = quick() ? 60 : 900; i < n; i++) {
        guess g, whole;
        const manner m = { line_of, MOST, DENSE, 0.3, true, 1.0f };
        samp_token out[ROWS], want[ROWS];
        samp_sampler *chain = top_k_temp_dist((uint64_t)i), *other;
        int bad = (int)below(&rng, ROWS);
        make_guess(&g, &m, -1, &rng);
        whole = g;
        whole.draft.tokens = whole.tokens, whole.draft.probs = whole.probs;
        g.draft.tokens = g.tokens, g.draft.probs = g.probs;
        g.logits[bad * N + 3] = NAN;
        other = samp_clone(chain);
        whole.draft.n = (size_t)bad; /* a draft that ends there */
        int32_t a = verify(BLOCK, chain, &g, out);
        if (bad == 0) {
            assert_status(a, SAMP_E_NAN);
            assert_true(same_state(chain, other));
            met[0]++;
        } else {
            assert_num(a, verify(BLOCK, other, &whole, want));
            for (int k = 0; k < a; k++) assert_num(out[k], want[k]);
            if (a == bad) {
                assert_status(out[a], SAMP_E_NAN);
                assert_ok(samp_rollback(other, 1));
            } else {
                assert_num(out[a], want[a]);
            }
            assert_true(same_state(chain, other));
            met[a == bad ? 1 : 2]++;
        }
        samp_free(chain), samp_free(other);
    }
    assert_true(met[0] && met[1] && met[2]);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
