/* test_drafts.c - drafts judged as a whole, drafts that branch, and relaxed ones: each has the distribution that its
   comment states, follows its formula number for number, and leaves the chain as the accepted tokens alone would.
     SAMP_TEST_QUICK   fewer draws: nothing is proved then;   SAMP_TEST_FULL   200,000 of each */
#define SAMPLING_DRAFTS
#define SAMPLING_GRAMMAR
#include "../sampling.h"
#include "inside.h"
#include "test.h"
#include "chi_square.h"

enum { N = 16, MOST = 5, ROWS = MOST + 1 };
#include "makers.h"

#define ALPHA 1e-4

typedef enum { RATIO, BLOCK, TREE, N_FORMS } form;

/* ------------------------------------------------------------------------------------------------- chains */

static const maker stages[] = { make_penalties, make_dry,      make_top_k,     make_typical, make_top_p,
                                make_min_p,     make_xtc,      make_temp,      make_bias,    make_temp_ext,
                                make_sigma,     make_tail_free, make_softmax };
static const maker selectors[] = { make_dist, make_mirostat, make_mirostat_v2, make_adaptive_p, make_greedy };

static samp_sampler *random_chain(source *rng)
{
    samp_sampler *chain = samp_chain_init();
    for (size_t i = 0; i < TEST_COUNT(stages); i++)
        if (below(rng, 3) == 0) assert_ok(samp_chain_add(chain, stages[i]()));
    assert_ok(samp_chain_add(chain, selectors[below(rng, TEST_COUNT(selectors))]()));
    return chain;
}

static samp_sampler *usual_chain(uint64_t seed)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_top_k(N / 2)));
    assert_ok(samp_chain_add(chain, samp_init_temp(0.8f)));
    assert_ok(samp_chain_add(chain, samp_init_dist(seed)));
    return chain;
}

/* A language model of order one: the logits behind a token. */
static void model(samp_token last, float *logits)
{
    source rng = source_stream(9000 + (uint64_t)(last + 1));
    test_logits(&rng, logits, N, 1.5);
}

/* And a smaller one that resembles it: what a draft is drawn from. */
static void small_model(samp_token last, double noise, double *q)
{
    float logits[N];
    double sum = 0;
    source rng = source_stream(9100 + (uint64_t)(last + 1));
    model(last, logits);
    for (int i = 0; i < N; i++) sum += q[i] = exp(logits[i] + noise * normal(&rng));
    for (int i = 0; i < N; i++) q[i] /= sum;
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
    samp_token_data data[N];
    samp_sampler *copy = samp_clone(chain);
    real sum = 0, max = -INFINITY;
    model(last, logits);
    samp_token_data_array cur = test_array(data, logits, N);
    for (int32_t i = 0; i + 1 < samp_chain_n(copy); i++) assert_ok(samp_apply(samp_chain_get(copy, i), &cur));
    for (size_t i = 0; i < cur.size; i++)
        if (cur.data[i].logit > max) max = cur.data[i].logit;
    for (int i = 0; i < N; i++) p[i] = 0;
    for (size_t i = 0; i < cur.size; i++) sum += p[cur.data[i].id] = expl(cur.data[i].logit - max);
    for (int i = 0; i < N; i++) p[i] /= sum;
    samp_free(copy);
}

static bool same_state(const samp_sampler *a, const samp_sampler *b)
{
    char bytes[2][4096];
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
    g->draft.n = m->n;
    g->draft.tokens = g->tokens;
    g->draft.probs = m->how == CERTAIN ? NULL : g->probs;
    g->draft.ids = m->how == SPARSE ? g->ids : NULL;
    g->draft.n_top = m->how == SPARSE ? N : 0;
    for (int j = 0; j < (int)m->n; j++)
        guess_token(g, j, m, g->parent[j] < 0 ? last : g->tokens[g->parent[j]], rng);
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

static long draws(void) { return (long)amount(200000, 1500); }

static const char *const told_as[] = { "dense", "sparse", "certain" };

static void test_block_distribution(void **state)
{
    (void)state;
    for (int how = DENSE; how <= CERTAIN; how++) {
        const manner m = { line_of, 4, (telling)how, 0.6, true, 1.0f };
        samp_sampler *chain = usual_chain(170 + (uint64_t)how);
        print_message("block, %s\n", told_as[how]);
        assert_true(texts(BLOCK, chain, &m, draws()) >= ALPHA);
        samp_free(chain);
    }
}

/* Drawn with replacement, without, and certain ones. */
static void test_tree_distribution(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        const manner m = { tree_of, MOST, i == 4 ? CERTAIN : (telling)(i / 2), 0.6, i % 2 == 1, 1.0f };
        samp_sampler *chain = usual_chain(180 + (uint64_t)i);
        print_message("tree, %s, %s\n", told_as[m.how], m.replaced ? "siblings may be equal" : "siblings differ");
        assert_true(texts(TREE, chain, &m, draws()) >= ALPHA);
        samp_free(chain);
    }
}

/* The statistics would notice: a draft that tells of a part of its probabilities only; and one whose siblings were drawn
   without replacement while it tells of q as if they had not been. */
static void test_lies_show(void **state)
{
    (void)state;
    if (quick()) skip();
    const manner line = { line_of, 4, DENSE, 0.6, true, 0.7f }, tree = { tree_of, MOST, DENSE, 0.6, false, 0.7f };
    samp_sampler *chain = usual_chain(190);
    print_message("these should not fit\n");
    assert_true(texts(BLOCK, chain, &line, draws()) < 1e-6);
    assert_true(texts(TREE, chain, &tree, draws()) < 1e-6);
    samp_free(chain);
}


/* xtc's coins belong to positions, and a block looks at positions that it gives back: the next call meets the same coins
   there. They are fair all the same, so p is a mixture of what they leave. */
static void test_block_with_coins(void **state)
{
    (void)state;
    enum { FIRST = N, HEADS = 0, TAILS = 1 };
    real p[2][N + 1][N], want[2][N] = { { 0 } };
    long seen[2][N] = { { 0 } };
    samp_sampler *coin[2], *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_xtc(0.5f, 0.15f, 1, 77)));
    assert_ok(samp_chain_add(chain, samp_init_dist(78)));
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

static void test_block_formula(void **state)
{
    (void)state;
    const uint64_t seed = 0x123456789abcdef0u;
    samp_sampler *dist = samp_init_dist(seed);
    source rng = source_stream(9300);
    int count[MOST + 1] = { 0 };
    for (int i = 0, n = (int)cases(20000, 500); i < n; i++) {
        guess g;
        const manner m = { line_of, 1 + below(&rng, MOST), (telling)(i % 3), 0.3 * (double)below(&rng, 5), true, 1.0f };
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
    samp_free(dist);
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

static void test_tree_formula(void **state)
{
    (void)state;
    const uint64_t seed = 0xfedcba9876543210u;
    samp_sampler *dist = samp_init_dist(seed);
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
    samp_free(dist);
}

/* The paper's first example: two tokens, p = (1/3, 2/3), q = (2/3, 1/3), two drafted: of each block 11/9 are accepted,
   by the ratio test 10/9. */
static void test_block_accepts_more(void **state)
{
    (void)state;
    static const float third[2] = { 0.0f, 0.69314718f };
    static const float probs[4] = { 2 / 3.0f, 1 / 3.0f, 2 / 3.0f, 1 / 3.0f };
    float logits[6];
    samp_token tokens[2], out[3];
    samp_draft draft = { 2, tokens, probs, NULL, 0 };
    samp_sampler *dist = samp_init_dist(11);
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
    samp_free(dist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_formula),       cmocka_unit_test(test_tree_formula),
        cmocka_unit_test(test_block_accepts_more),  cmocka_unit_test(test_block_distribution),
        cmocka_unit_test(test_block_with_coins),    cmocka_unit_test(test_tree_distribution),
        cmocka_unit_test(test_lies_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
