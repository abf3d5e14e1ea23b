/* test_trace.c - a run of llama.cpp under a debugger, replayed: 262,144 candidates, the default chain. What was
   printed: the 28 best candidates after top_p (ids, logits, and probabilities among the 40 that top_k had
   left), and the 16 tokens that min_p and temp 0.8 left over for dist, with e^(l - max). */
#include "sampling.h"
#include "tests/support/test.h"

#define N_VOCAB 262144
#define N_SHOWN 28
#define N_TOP_K 40
#define N_TOP_P 27
#define N_LEFT  16

typedef struct shown {
    samp_token id;
    float logit;
    float p; /* after top_p: the probability among 40 tokens */
} shown;

static const shown best[N_SHOWN] = {
    { 108, 19.8492393f, 0.272734016f },    { 563, 18.9221611f, 0.107923076f },
    { 4733, 18.6403351f, 0.0814177021f },  { 564, 18.4178543f, 0.0651773438f },
    { 623, 18.2506371f, 0.0551410653f },   { 19565, 18.2467232f, 0.054925669f },
    { 107, 18.0632076f, 0.0457167737f },   { 669, 17.8008919f, 0.0351684578f },
    { 691, 17.6138248f, 0.0291682985f },   { 753, 17.4331284f, 0.0243464503f },
    { 1174, 17.1942959f, 0.0191739686f },  { 236743, 17.1441193f, 0.0182356201f },
    { 496, 17.1277504f, 0.0179395545f },   { 506, 17.0165386f, 0.0160514023f },
    { 1030, 16.9550114f, 0.0150935724f },  { 562, 16.8741608f, 0.0139212767f },
    { 568, 16.6988392f, 0.011682556f },    { 2375, 16.6446133f, 0.0110659283f },
    { 138, 16.3903847f, 0.00858178828f },  { 255999, 16.2614384f, 0.00754357362f },
    { 799, 16.1067486f, 0.00646243524f },  { 109, 16.08395f, 0.00631676801f },
    { 2981, 16.0823326f, 0.00630655931f }, { 815, 16.0728855f, 0.00624726154f },
    { 668, 16.0606232f, 0.00617112266f },  { 672, 16.021904f, 0.00593674881f },
    { 625, 15.9493284f, 0.00552114891f },  { 1176, 15.8668432f, 0.0050840131f },
};

/* After min_p 0.05 and temp 0.8: the logits, and what dist first writes into p. */
static const shown left[N_LEFT] = {
    { 108, 24.8115482f, 1.0f },          { 563, 23.6527004f, 0.313847572f },   { 4733, 23.3004189f, 0.220660627f },
    { 564, 23.0223179f, 0.167088717f },  { 623, 22.8132954f, 0.135571942f },   { 19565, 22.808403f, 0.1349103f },
    { 107, 22.57901f, 0.107255846f },    { 669, 22.2511139f, 0.0772711709f },  { 691, 22.0172806f, 0.061159648f },
    { 753, 21.7914104f, 0.0487944931f }, { 1174, 21.4928703f, 0.0362006612f }, { 236743, 21.4301491f, 0.0339998491f },
    { 496, 21.409687f, 0.0333112143f },  { 506, 21.2706738f, 0.0289879665f },  { 1030, 21.1937637f, 0.0268420801f },
    { 562, 21.092701f, 0.0242619198f },
};

/* Under Philox temp is l * (1 / T), which at these values is up to one unit of the last place (1.9e-6) off the
   trace's l / T; under MT19937 it is l / T, and nothing but the rounding of printed floats is left. */
static double tolerance_of(samp_rng_kind kind) { return kind == SAMP_RNG_MT19937 ? 1.5e-7 : 2.0e-6; }

static samp_token_data_array shown_array(samp_token_data *data)
{
    samp_token_data_array cur = { data, N_SHOWN, -1, true };
    for (size_t i = 0; i < N_SHOWN; i++) {
        data[i].id = best[i].id;
        data[i].logit = best[i].logit;
        data[i].p = TEST_P_UNSET;
    }
    return cur;
}

/* All 262,144 logits. Of the 12 tokens between the shown ones and top_k's cut only the common probability is
   known; the rest lies far below. */
static float *trace_logits(void)
{
    static float logits[N_VOCAB];
    double shown_mass = 0, rest;
    source rng = source_stream(1);
    test_logits(&rng, logits, N_VOCAB, 2.0);
    for (size_t i = 0; i < N_VOCAB; i++) logits[i] -= 14.8716631f;
    for (size_t i = 0; i < N_SHOWN; i++) {
        logits[best[i].id] = best[i].logit;
        shown_mass += best[i].p;
    }
    rest = (1.0 - shown_mass) / (N_TOP_K - N_SHOWN);
    for (size_t i = 0; i < N_TOP_K - N_SHOWN; i++)
        logits[100000 + i] = (float)((double)best[0].logit + log(rest / (double)best[0].p));
    return logits;
}

static void assert_left(const samp_token_data_array *cur, samp_rng_kind kind)
{
    double tolerance = tolerance_of(kind);
    assert_num(cur->size, N_LEFT);
    for (size_t i = 0; i < N_LEFT; i++) {
        const samp_token_data *t = &cur->data[i];
        assert_num(t->id, left[i].id);
        if (kind == SAMP_RNG_MT19937)
            assert_same(t->logit, left[i].logit);
        else
            assert_near(t->logit, left[i].logit, 1.91e-6);
        assert_close((double)t->p / (double)cur->data[0].p, left[i].p, tolerance);
        /* whatever temp's rounding was: p belongs to the logits that the array holds */
        assert_close((double)t->p / (double)cur->data[0].p, exp((double)t->logit - (double)cur->data[0].logit), 2e-7);
    }
}

/* ----------------------------------------------------------------------------- min_p and temp, one by one */

static void min_p_then_temp(samp_rng_kind kind)
{
    samp_token_data data[N_SHOWN];
    own_sampler *min_p = samp_init_min_p(0.05f, 0), *temp = samp_init_temp(0.8f), *softmax = samp_init_softmax();
    samp_token_data_array cur = shown_array(data);
    double sum = 0;
    assert_ok(samp_set_rng(min_p, kind));
    assert_ok(samp_set_rng(temp, kind));
    assert_ok(samp_set_rng(softmax, kind));

    assert_ok(samp_apply(min_p, &cur));
    assert_num(cur.size, N_LEFT);
    for (size_t i = 0; i < cur.size; i++) {
        assert_num(cur.data[i].id, best[i].id);
        assert_same(cur.data[i].logit, best[i].logit);
        assert_same(cur.data[i].p, TEST_P_UNSET);
    }
    assert_ok(samp_apply(temp, &cur));
    assert_ok(samp_apply(softmax, &cur));
    assert_left(&cur, kind);
    assert_true(cur.sorted);
    for (size_t i = 0; i < cur.size; i++) sum += cur.data[i].p;
    assert_near(sum, 1.0, 1e-6);
}

TEST(test_min_p_then_temp)
{
    min_p_then_temp(SAMP_RNG_PHILOX);
    min_p_then_temp(SAMP_RNG_MT19937);
}

/* the 28 lines in any order, as they would stand in a vocabulary */
TEST(test_any_order)
{
    source rng = source_stream(2);
    for (int round = 0; round < 50; round++) {
        samp_token_data data[N_SHOWN];
        samp_token_data_array cur = shown_array(data);
        own_sampler *chain = new_chain(samp_init_min_p(0.05f, 0), samp_init_temp(0.8f), samp_init_softmax());
        test_shuffle(&rng, &cur);
        assert_ok(samp_apply(chain, &cur));
        assert_left(&cur, SAMP_RNG_PHILOX);
    }
}

/* -------------------------------------------------------------------------------------- the default chain */

/* top_k leaves the 40, top_p 27 of them with probabilities over all 40 */
static void top_k_then_top_p(samp_rng_kind kind)
{
    static samp_token_data data[N_VOCAB];
    samp_token_data_array cur = test_array(data, trace_logits(), N_VOCAB);
    own_sampler *top_k = samp_init_top_k(40), *top_p = samp_init_top_p(0.95f, 0);
    assert_ok(samp_set_rng(top_k, kind));
    assert_ok(samp_set_rng(top_p, kind));
    assert_ok(samp_apply(top_k, &cur));
    assert_num(cur.size, N_TOP_K);
    assert_true(cur.sorted);
    for (size_t i = 0; i < N_TOP_K; i++) {
        assert_num(cur.data[i].id, i < N_SHOWN ? best[i].id : (samp_token)(100000 + i - N_SHOWN));
        assert_same(cur.data[i].p, TEST_P_UNSET);
    }
    assert_ok(samp_apply(top_p, &cur));
    assert_num(cur.size, N_TOP_P);
    assert_true(cur.sorted);
    for (size_t i = 0; i < N_TOP_P; i++) {
        assert_num(cur.data[i].id, best[i].id);
        assert_same(cur.data[i].logit, best[i].logit);
        assert_close(cur.data[i].p, best[i].p, 5e-7);
    }
}

TEST(test_top_k_then_top_p)
{
    top_k_then_top_p(SAMP_RNG_PHILOX);
    top_k_then_top_p(SAMP_RNG_MT19937);
}

/* its place among the 16 */
static size_t which_left(samp_token token)
{
    for (size_t i = 0; i < N_LEFT; i++)
        if (left[i].id == token) return i;
    test_fail(__FILE__, __LINE__, "token %d is none of the %d", (int)token, N_LEFT);
    return N_LEFT;
}

static void default_chain(samp_rng_kind kind)
{
    source rng = source_stream(3);
    static samp_token_data data[N_VOCAB];
    static float copy[N_VOCAB];
    const float *logits = trace_logits();
    samp_params params = samp_default_params();
    int status = -1, seen[N_LEFT] = { 0 };
    samp_sampler *chain;
    samp_token_data_array cur = test_array(data, logits, N_VOCAB);

    params.seed = 1680199764; /* the trace's; its draw also depended on what was drawn before */
    params.rng = kind;
    chain = samp_chain_from_params(&params, &status);
    assert_ok(status);
    assert_ok(samp_apply(chain, &cur));
    assert_left(&cur, kind);
    assert_true(cur.data == data);
    assert_in_range(cur.selected, 0, N_LEFT - 1);

    /* as one call: always one of the 16, the input stays */
    memcpy(copy, logits, sizeof copy);
    assert_ok(samp_set_rng(chain, kind));
    for (int draw = 0; draw < 20; draw++) assert_true(which_left(samp_sample(chain, logits, N_VOCAB)) < N_LEFT);
    assert_memory_equal(copy, logits, sizeof copy);
    assert_u64(samp_perf(chain).n_sample, 20);

    /* each of them sometimes, the most likely most often: the same from the 28 lines alone */
    for (int draw = 0; draw < 600; draw++) {
        cur = shown_array(data);
        test_shuffle(&rng, &cur);
        assert_ok(samp_apply(chain, &cur));
        seen[which_left(cur.data[cur.selected].id)]++;
    }
    for (size_t i = 0; i < N_LEFT; i++)
        if (seen[i] < 1 || (i && seen[i] >= seen[0]))
            test_fail(__FILE__, __LINE__, "token %d came %d times, the best %d times", (int)left[i].id, seen[i],
                      seen[0]);
    samp_free(chain);
}

TEST(test_default_chain)
{
    default_chain(SAMP_RNG_PHILOX);
    default_chain(SAMP_RNG_MT19937);
}

/* temp 0: the first line */
TEST(test_greedy)
{
    samp_params params = samp_default_params();
    samp_sampler *chain;
    params.temp = 0;
    chain = samp_chain_from_params(&params, NULL);
    for (int i = 0; i < 3; i++) assert_num(samp_sample(chain, trace_logits(), N_VOCAB), best[0].id);
    samp_free(chain);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
