/* test_told.c - what a draw tells beside its token: samp_score and samp_explain, replays and their check, log-probabilities of drafts
   and of rows without chains, the support against draws. test_batch.c has given tokens, entropy and support of random batches
   by definition, test_shards.c the same in slices, test_gpu.c on a device.
     SAMP_TEST_QUICK   fewer rounds */
#define SAMPLING_GUMBEL
#define SAMPLING_DRAFTS
#include "sampling.h"
#include "tests/support/test.h"

enum { N = 40, TEXT = 30 };
#include "tests/support/makers.h"
#include "tests/support/told.h"

/* What a batch of one row tells. */
typedef struct answer {
    samp_token token, ids[N];
    float raw[N], processed[N], support_logprobs[N];
    samp_token tokens[N];
    samp_support support;
    samp_logprobs lp;
} answer;

static const answer *ask(answer *a, samp_sampler *chain, const float *logits)
{
    memset(a, 0, sizeof *a);
    for (int i = 0; i < N; i++) a->ids[i] = i;
    a->support = (samp_support){ a->tokens, a->support_logprobs, N, 0, 0.0 };
    a->lp.raw.ids = a->lp.processed.ids = a->ids;
    a->lp.raw.n_ids = a->lp.processed.n_ids = N;
    a->lp.raw.id_logprobs = a->raw, a->lp.processed.id_logprobs = a->processed;
    a->lp.support = &a->support;
    samp_logits row = { .data = logits, .n_rows = 1, .n_vocab = N, .logprobs = &a->lp };
    assert_ok(samp_sample_batch(&chain, &row, &a->token));
    return a;
}

static bool same_float(float a, float b) { return bits_of(a) == bits_of(b); }

static bool same_chosen(const samp_logprob_set *a, const samp_logprob_set *b)
{
    return a->chosen.token == b->chosen.token && a->chosen.rank == b->chosen.rank &&
           same_float(a->chosen.logprob, b->chosen.logprob) && same_float(a->entropy, b->entropy);
}

static bool same_answer(const answer *a, const answer *b)
{
    return a->token == b->token && same_chosen(&a->lp.raw, &b->lp.raw) &&
           same_chosen(&a->lp.processed, &b->lp.processed) && !memcmp(a->raw, b->raw, sizeof a->raw) &&
           !memcmp(a->processed, b->processed, sizeof a->processed) && a->support.n == b->support.n &&
           a->support.mass == b->support.mass && !memcmp(a->tokens, b->tokens, sizeof a->tokens) &&
           !memcmp(a->support_logprobs, b->support_logprobs, sizeof a->support_logprobs);
}

static bool in_support(const answer *a, samp_token token)
{
    for (size_t i = 0; i < a->support.n; i++)
        if (a->tokens[i] == token) return true;
    return false;
}

static size_t state_of(const samp_sampler *s, char *bytes, size_t size)
{
    const size_t n = samp_state_size(s);
    assert_true(n && n <= size);
    assert_ok(samp_state_save(s, bytes, n));
    return n;
}

/* ---------------------------------------------------------------------------------------------- one token's way */

/* The score of each token is what a batch says of it; nothing moves. */
TEST(test_score)
{
    source rng = source_stream(9100);
    for (int i = 0; i < rounds(600); i++) {
        own_sampler *chain = random_chain_of(&rng, false);
        float logits[N];
        if (i % 3 == 0) assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
        for (int t = 0; t < 4; t++) {
            static char before[1 << 16], after[1 << 16];
            test_logits(&rng, logits, N, i % 2 ? 2.0 : 12.0);
            logits[below(&rng, N)] = -INFINITY;
            samp_score_result score[N];
            const size_t n = state_of(chain, before, sizeof before);
            for (int k = 0; k < N; k++) assert_ok(samp_score(chain, logits, N, k, &score[k]));
            assert_u64(state_of(chain, after, sizeof after), n);
            assert_true(!memcmp(before, after, n));
            answer a;
            ask(&a, chain, logits);
            assert_true(a.token >= 0);
            assert_num(score[a.token].rank, a.lp.raw.chosen.rank);
            for (int k = 0; k < N; k++) {
                assert_true(same_float(score[k].raw, a.raw[k]) && same_float(score[k].processed, a.processed[k]));
                assert_true((score[k].removed_by == NULL) == (a.processed[k] > -INFINITY));
                if (a.raw[k] == -INFINITY) assert_string_equal(score[k].removed_by, "mask");
                assert_true(!in_support(&a, k) || a.processed[k] > -INFINITY);
            }
        }
    }
}

TEST(test_removed_by)
{
    const float logits[6] = { 5.0f, 4.0f, 3.0f, 2.0f, 1.0f, -INFINITY };
    const samp_logit_bias bias = { 1, -INFINITY };
    own_sampler *chain = samp_chain_init();
    samp_score_result score;
    samp_explained line[5];
    assert_ok(samp_chain_add(chain, samp_init_logit_bias(6, 1, &bias)));
    assert_ok(samp_chain_add(chain, samp_init_temp(1.0f))); /* is off, and no line */
    assert_ok(samp_chain_add(chain, new_chain(samp_init_top_k(3), samp_init_min_p(0.2f, 1))));
    assert_ok(samp_chain_add(chain, samp_init_dist(1)));
    const char *const by[6] = { NULL, "logit-bias", "min-p", "min-p", "top-k", "mask" };
    for (int i = 0; i < 6; i++) {
        assert_ok(samp_score(chain, logits, 6, i, &score));
        if (by[i]) assert_string_equal(score.removed_by, by[i]);
        assert_true(by[i] || (!score.removed_by && score.processed == 0.0f));
        assert_num(score.rank, i + 1);
    }
    assert_num(samp_explain(chain, logits, 6, 2, line, 5), 4);
    const size_t left[4] = { 4, 3, 1, 1 };
    const char *const names[4] = { "logit-bias", "top-k", "min-p", "dist" };
    for (int i = 0; i < 4; i++) {
        assert_string_equal(line[i].name, names[i]);
        assert_u64(line[i].n_left, left[i]);
        assert_true((line[i].p > 0.0f) == (i < 2));
    }
    assert_true(fabs(line[1].p - exp(-2) / (1 + exp(-2) + exp(-3))) < 1e-6);
    assert_true(fabs(line[3].mass - 1 / (1 + exp(-1) + exp(-2) + exp(-3) + exp(-4))) < 1e-9);
    assert_num(samp_explain(chain, logits, 6, 2, line, 2), 4);
    assert_num(samp_explain(chain, logits, 6, 2, NULL, 0), 4);
    assert_status(samp_explain(chain, logits, 6, 2, NULL, 1), SAMP_E_NULL);
    assert_status(samp_explain(chain, logits, 6, 6, line, 2), SAMP_E_RANGE);
    assert_status(samp_score(chain, logits, 6, -1, &score), SAMP_E_RANGE);
    assert_status(samp_score(chain, logits, 6, 0, NULL), SAMP_E_NULL);
    assert_status(samp_score(NULL, logits, 6, 0, &score), SAMP_E_NULL);
    assert_status(samp_score(chain, NULL, 6, 0, &score), SAMP_E_NULL);
    assert_status(samp_score(chain, logits, 0, 0, &score), SAMP_E_EMPTY);
}

/* Each line against the array that samp_apply of the members, one after another, leaves. */
TEST(test_explain)
{
    source rng = source_stream(9200);
    for (int i = 0; i < rounds(600); i++) {
        own_sampler *chain = random_chain_of(&rng, false);
        samp_token_data data[N];
        samp_explained line[N_STAGES + 2];
        float logits[N];
        test_logits(&rng, logits, N, i % 2 ? 2.0 : 12.0);
        const samp_token token = (samp_token)below(&rng, N);
        const int n = samp_explain(chain, logits, N, token, line, N_STAGES + 2);
        samp_token_data_array cur = test_array(data, logits, N);
        double whole = 0.0;
        float max = -INFINITY;
        for (int k = 0; k < N; k++) max = fmaxf(max, logits[k]);
        for (int k = 0; k < N; k++) whole += exp((double)logits[k] - max);
        assert_num(n, samp_chain_n(chain));
        for (int k = 0; k < n; k++) {
            own_sampler *member = samp_clone(samp_chain_get(chain, k));
            double z = 0.0, mass = 0.0, top = -INFINITY, p = 0.0;
            size_t left = 0;
            assert_ok(samp_apply(member, &cur));
            for (size_t j = 0; j < cur.size; j++) top = fmax(top, (double)cur.data[j].logit);
            for (size_t j = 0; j < cur.size; j++) {
                if (!(cur.data[j].logit > -INFINITY)) continue;
                left++;
                z += exp((double)cur.data[j].logit - top);
                mass += exp((double)logits[cur.data[j].id] - max);
                if (cur.data[j].id == token) p = exp((double)cur.data[j].logit - top);
            }
            assert_string_equal(line[k].name, samp_name(member));
            assert_u64(line[k].n_left, left);
            assert_true(fabs(line[k].mass - mass / whole) < 1e-9 && fabs(line[k].p - p / z) < 1e-6);
        }
    }
}

/* --------------------------------------------------------------------------------------------------- replays */

/* Some stages, in their order, then that selector; the same for the same numbers. */
static samp_sampler *stages_and(source from, samp_sampler *selector, bool steps, bool mt19937)
{
    samp_sampler *chain = samp_chain_init();
    if (mt19937) assert_ok(samp_set_rng(chain, SAMP_RNG_MT19937));
    if (steps) assert_ok(samp_chain_add(chain, make_custom()));
    for (int i = 0; i < N_STAGES; i++)
        if (below(&from, 5) == 0) assert_ok(samp_chain_add(chain, stages[i]()));
    assert_ok(samp_chain_add(chain, selector));
    return chain;
}

static void text_logits(int i, int t, float *logits)
{
    source rng = source_stream(9300 + (uint64_t)(i * TEXT + t));
    test_logits(&rng, logits, N, t % 2 ? 2.0 : 9.0);
}

/* A text that was drawn, replayed by rows and by steps: all that is said of it is the same, bit for bit; and the check agrees,
   and finds the first token that was changed. */
TEST(test_replay)
{
    source rng = source_stream(9400);
    for (int i = 0; i < rounds(300); i++) {
        const bool mt = i % 4 == 3;
        source from = split(&rng);
        own_sampler *draws = stages_and(from, samp_init_dist(7), false, mt), *audit = samp_clone(draws);
        answer drawn[TEXT], again;
        samp_token text[TEXT];
        static float rows[TEXT * N];
        for (int t = 0; t < TEXT; t++) {
            text_logits(i, t, rows + t * N);
            text[t] = ask(&drawn[t], draws, rows + t * N)->token;
            assert_true(text[t] >= 0 && (mt || in_support(&drawn[t], text[t])));
        }
        for (int steps = 0; steps < 2; steps++) {
            own_sampler *replay = stages_and(from, samp_init_replay(text, TEXT), steps, mt),
                        *copy = samp_clone(replay);
            for (int t = 0; t < TEXT; t++) {
                assert_true(same_answer(ask(&again, replay, rows + t * N), &drawn[t]));
                assert_num(samp_sample(copy, rows + t * N, N), text[t]);
            }
            assert_u64(samp_get_position(replay), TEXT);
            assert_status(samp_sample(replay, rows, N), SAMP_E_EMPTY);
            assert_u64(samp_get_position(replay), TEXT);
        }
        samp_logits all = { .data = rows, .n_rows = TEXT, .n_vocab = N };
        own_sampler *second = samp_clone(audit);
        assert_true(samp_replay_check(audit, &all, text) == TEXT);
        assert_u64(samp_get_position(audit), TEXT);
        const size_t at = below(&rng, TEXT);
        text[at] = (text[at] + 1) % N;
        assert_true(samp_replay_check(second, &all, text) == (int64_t)at);
        assert_u64(samp_get_position(second), at + 1);
    }
}

/* A token that the chain has removed comes all the same. */
TEST(test_replay_of_removed_tokens)
{
    const samp_token text[4] = { 3, 0, 39, 40 }, bad = -1;
    float logits[N];
    samp_token_data data[N];
    const char *field;
    for (int i = 0; i < N; i++) logits[i] = (float)-i;
    logits[3] = -INFINITY;
    for (int k = 0; k < 6; k++) {
        own_sampler *chain = samp_chain_init();
        if (k >= 3) assert_ok(samp_chain_add(chain, make_custom()));
        if (k % 3 == 1) assert_ok(samp_chain_add(chain, samp_init_min_p(0.2f, 1)));
        assert_ok(samp_chain_add(chain, k % 3 ? samp_init_top_k(2) : samp_init_temp(0.9f)));
        assert_ok(samp_chain_add(chain, samp_init_replay(text, 4)));
        for (int t = 0; t < 3; t++) {
            answer a;
            assert_num(ask(&a, chain, logits)->token, text[t]);
            const bool gone = t == 0 || (t == 2 && k % 3);
            assert_true(gone == (a.lp.processed.chosen.logprob == -INFINITY) && (t == 1) == in_support(&a, text[t]));
            assert_num(a.lp.processed.chosen.rank, t == 1 ? 1 : k % 3 ? 3 : t ? 39 : 40);
            assert_u64(a.support.n, k % 3 ? 2 : 25); /* of the others the weights are 0 */
        }
        assert_status(samp_sample(chain, logits, N), SAMP_E_RANGE); /* token 40 */
        assert_u64(samp_get_position(chain), 3);
    }
    samp_sampler *alone = samp_init_replay(text, 4), *none = samp_init_replay(NULL, 0);
    samp_token_data_array cur = test_array(data, logits, N);
    assert_ok(samp_apply(alone, &cur));
    assert_true(cur.selected == -1);
    assert_ok(samp_apply(alone, &cur));
    assert_true(cur.selected == 0 && cur.data[0].p > 0.6f);
    assert_status(samp_sample(none, logits, N), SAMP_E_EMPTY);
    samp_free(alone);
    samp_free(none);
    alone = samp_init_replay(&bad, 1);
    assert_status(samp_status(alone, &field), SAMP_E_RANGE);
    assert_string_equal(field, "tokens");
    samp_free(alone);
    alone = samp_init_replay(NULL, 1);
    assert_status(samp_status(alone, &field), SAMP_E_NULL);
    samp_free(alone);
}

TEST(test_replay_check_errors)
{
    float rows[3 * N] = { 0 };
    const samp_token text[3] = { 0, 0, 0 };
    own_sampler *chain = new_chain(samp_init_top_k(1), samp_init_dist(1));
    samp_logits all = { .data = rows, .n_rows = 3, .n_vocab = N };
    rows[2 * N + 1] = NAN;
    assert_true(samp_replay_check(chain, &all, text) == SAMP_E_NAN);
    assert_u64(samp_get_position(chain), 2);
    assert_true(samp_replay_check(NULL, &all, text) == SAMP_E_NULL &&
                samp_replay_check(chain, NULL, text) == SAMP_E_NULL);
    assert_true(samp_replay_check(chain, &all, NULL) == SAMP_E_NULL);
    all.n_rows = 0;
    assert_true(samp_replay_check(chain, &all, NULL) == 0);
}

/* ------------------------------------------------------------------------------------- drafts, rows without chains */

typedef enum way { EXACT, RATIO, BLOCK, TREE, RELAXED, N_WAYS } way;

static int32_t verify(way how, samp_sampler *chain, const float *rows, const samp_draft *draft, samp_token *out)
{
    static const int32_t parent[3] = { -1, 0, 1 };
    samp_relaxed relaxed = { 4, 0.3f, -1, -1, true };
    if (how == BLOCK) return samp_verify_block(chain, rows, N, draft, out);
    if (how == TREE) return samp_verify_tree(chain, rows, N, draft, parent, SAMP_VERIFY_RATIO, out, NULL);
    if (how == RELAXED) return samp_verify_relaxed(chain, rows, N, draft, SAMP_VERIFY_RATIO, &relaxed, out);
    return samp_verify(chain, rows, N, draft, how == EXACT ? SAMP_VERIFY_EXACT : SAMP_VERIFY_RATIO, out);
}

/* Of each token of the output the numbers that its chain gives it there. */
TEST(test_drafts)
{
    enum { ROWS = 4 };
    source rng = source_stream(9500);
    for (int i = 0; i < rounds(1500); i++) {
        samp_sampler *chain = samp_chain_init(), *copy;
        if (i % 2) assert_ok(samp_chain_add(chain, make_penalties()));
        assert_ok(samp_chain_add(chain, samp_init_top_k(i % 3 ? 4 : 0)));
        assert_ok(samp_chain_add(chain, samp_init_dist(choose(&rng, 8))));
        copy = samp_clone(chain);
        float rows[ROWS * N];
        samp_token tokens[ROWS - 1], out[ROWS];
        samp_logprobs lp[ROWS];
        samp_support support[ROWS];
        memset(lp, 0, sizeof lp);
        memset(support, 0, sizeof support);
        for (int r = 0; r < ROWS; r++) test_logits(&rng, rows + r * N, N, 2.0);
        for (int r = 0; r < ROWS - 1; r++) {
            tokens[r] = 0;
            for (samp_token t = 1; t < N; t++)
                if (rows[r * N + t] > rows[r * N + tokens[r]]) tokens[r] = t;
        }
        for (int r = 0; r < ROWS; r++) lp[r].support = &support[r], lp[r].raw.cumulative_logprob = 5.0;
        const samp_draft draft = { ROWS - 1, tokens, NULL, NULL, 0, lp };
        const int32_t a = verify((way)(i % N_WAYS), chain, rows, &draft, out);
        assert_true(a >= 0);
        for (int32_t r = 0; r <= a; r++) {
            samp_score_result score;
            answer alone;
            assert_ok(samp_score(copy, rows + r * N, N, out[r], &score));
            assert_num(lp[r].raw.chosen.token, out[r]);
            assert_num(lp[r].raw.chosen.rank, score.rank);
            assert_true(same_float(lp[r].raw.chosen.logprob, score.raw) &&
                        same_float(lp[r].processed.chosen.logprob, score.processed));
            assert_true(lp[r].raw.cumulative_logprob == (double)score.raw);
            samp_sampler *draws = samp_clone(copy);
            ask(&alone, draws, rows + r * N);
            assert_true(alone.support.n == support[r].n && alone.support.mass == support[r].mass);
            samp_free(draws);
            assert_ok(samp_accept(copy, out[r]));
            assert_ok(samp_set_position(copy, samp_get_position(copy) + 1));
        }
        samp_free(chain);
        samp_free(copy);
    }
    samp_sampler *chain = make_dist();
    samp_logprobs lp[2];
    samp_token out[2], token = 3;
    float rows[2 * N] = { 0 };
    memset(lp, 0, sizeof lp);
    lp[1].processed.n_ids = 1;
    const samp_draft draft = { 1, &token, NULL, NULL, 0, lp };
    for (int k = 0; k < N_WAYS; k++) assert_status(verify((way)k, chain, rows, &draft, out), SAMP_E_NULL);
    lp[1].processed.n_ids = -1;
    assert_status(verify(EXACT, chain, rows, &draft, out), SAMP_E_RANGE);
    assert_u64(samp_get_position(chain), 0);
    samp_free(chain);
}

/* samp_raw_logprobs against a batch, whose tokens it is given. */
TEST(test_raw)
{
    enum { ROWS = 7 };
    source rng = source_stream(9600);
    for (int i = 0; i < rounds(400); i++) {
        float rows[ROWS * N];
        uint32_t mask[ROWS * 2];
        samp_sampler *chains[ROWS];
        samp_token out[ROWS];
        samp_logprobs want[ROWS], got[ROWS];
        samp_logprob top[2][ROWS][3];
        told more[2][ROWS];
        test_logits(&rng, rows, ROWS * N, 4.0);
        for (int k = 0; k < 2 * ROWS; k++) mask[k] = (uint32_t)choose(&rng, 4) | 1u;
        memset(want, 0, sizeof want);
        memset(got, 0, sizeof got);
        for (int r = 0; r < ROWS; r++) {
            chains[r] = make_dist();
            samp_set_position(chains[r], choose(&rng, 4));
            const source asks = split(&rng);
            told_ask(&more[0][r], &want[r], asks, N);
            told_ask(&more[1][r], &got[r], asks, N);
            want[r].raw.top_logprobs = top[0][r], want[r].raw.n_top = 3;
            got[r].raw.top_logprobs = top[1][r], got[r].raw.n_top = 3;
            want[r].raw.cumulative_logprob = got[r].raw.cumulative_logprob = -1.5;
        }
        samp_logits batch = {
            .data = rows, .n_rows = ROWS, .n_vocab = N, .mask = i % 2 ? mask : NULL, .logprobs = want
        };
        assert_ok(samp_sample_batch(chains, &batch, out));
        for (int r = 0; r < ROWS; r++) got[r].raw.chosen.token = out[r];
        batch.logprobs = got;
        batch.n_threads = i % 3;
        assert_ok(samp_raw_logprobs(&batch));
        for (int r = 0; r < ROWS; r++) {
            assert_true(same_chosen(&want[r].raw, &got[r].raw) && !memcmp(top[0][r], top[1][r], sizeof top[0][r]));
            assert_true(want[r].raw.cumulative_logprob == got[r].raw.cumulative_logprob);
            assert_true(!memcmp(more[0][r].given[0], more[1][r].given[0], sizeof more[0][r].given[0]));
            assert_true(got[r].processed.entropy == -7.0f && more[1][r].support.n == 777);
            samp_free(chains[r]);
        }
        got[3].raw.chosen.token = -1;
        assert_ok(samp_raw_logprobs(&batch));
        assert_true(got[3].raw.chosen.token == -1 && got[3].raw.chosen.rank == 0);
        assert_true(got[3].raw.cumulative_logprob == want[3].raw.cumulative_logprob);
        got[3].raw.chosen.token = N;
        got[5].raw.n_top = -1;
        assert_status(samp_raw_logprobs(&batch), SAMP_E_RANGE);
        got[2].raw.top_logprobs = NULL;
        assert_status(samp_raw_logprobs(&batch), SAMP_E_NULL);
        batch.logprobs = NULL;
        assert_status(samp_raw_logprobs(&batch), SAMP_E_NULL);
    }
    assert_status(samp_raw_logprobs(NULL), SAMP_E_NULL);
}

/* --------------------------------------------------------------------------------------------- support and draws */

/* What is drawn is in the support; of it, what is not too unlikely is drawn. */
TEST(test_support_is_drawn)
{
    source rng = source_stream(9700);
    for (int i = 0; i < rounds(40); i++) {
        own_sampler *chain = random_chain_of(&rng, false);
        float logits[N];
        bool seen[N] = { false };
        answer a, first = { .token = -1 };
        test_logits(&rng, logits, N, 3.0);
        const char *last = samp_name(samp_chain_get(chain, samp_chain_n(chain) - 1));
        for (int k = 0; k < 2000; k++) {
            own_sampler *draws = samp_clone(chain);
            samp_set_position(draws, (uint64_t)k);
            ask(&a, draws, logits);
            assert_true(in_support(&a, a.token));
            assert_true(strcmp(last, "greedy") != 0 || (a.support.n == 1 && a.support.capacity == N));
            if (k == 0) first = a;
            seen[a.token] = true;
        }
        bool by_chance = false; /* xtc leaves other tokens from draw to draw */
        for (int32_t k = 0; k < samp_chain_n(chain); k++)
            by_chance |= !strncmp(samp_name(samp_chain_get(chain, k)), "xtc", 3);
        for (size_t k = 0; k < first.support.n && !by_chance; k++)
            if (first.support_logprobs[k] > -5.0f) assert_true(seen[first.tokens[k]]);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
