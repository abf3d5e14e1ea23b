/* test_watermark.c - watermarks: the function against vLLM's own fixed numbers, every way to a token on random chains, the
   table of contexts against a plain search, rollback and saved states, keys that nobody is told, bad settings, detectors,
   tails of distributions, distributions over keys, drafts. A second implementation of all kinds, with exact whole numbers,
   is tests/watermark/reference.py (`make test-watermark`); statistics at length are tests/watermark/bench.c's. */
#define _DEFAULT_SOURCE
#define SAMPLING_WATERMARK
#define SAMPLING_DRAFTS
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/test.h"

#define CASE_WATERMARKS 40
#include "tests/support/case.h"
#include "tests/support/chi_square.h"

enum { N = 40, LONG = 6000, N_KIND = 5 };

static const samp_watermark_kind kinds[N_KIND] = { SAMP_WATERMARK_GUMBEL, SAMP_WATERMARK_GUMBEL_DUAL,
                                                   SAMP_WATERMARK_SBW_SELFHASH, SAMP_WATERMARK_SBW_LEFTHASH,
                                                   SAMP_WATERMARK_SYNTHID };

static bool selects(samp_watermark_kind kind)
{
    return kind != SAMP_WATERMARK_SBW_SELFHASH && kind != SAMP_WATERMARK_SBW_LEFTHASH;
}

static samp_watermark marked_with(samp_watermark_kind kind, uint64_t key)
{
    samp_watermark mark = samp_default_watermark(kind);
    mark.key = key;
    mark.seed = key + 1;
    return mark;
}

/* A chain that marks, alone or with dist behind it. */
static samp_sampler *chain_with(const samp_watermark *mark)
{
    return chain_of(samp_init_watermark(mark), selects(mark->kind) ? NULL : samp_init_dist(mark->seed), NULL);
}

/* n tokens of vocabulary N from rows of normal logits. */
static void write_text(const samp_watermark *mark, uint64_t stream, double sigma, samp_token *text, size_t n)
{
    source rng = source_stream(stream);
    own_sampler *chain = chain_with(mark);
    for (size_t i = 0; i < n; i++) {
        float row[N];
        test_logits(&rng, row, N, sigma);
        text[i] = samp_sample(chain, row, N);
        assert_true(text[i] >= 0);
    }
}

/* ------------------------------------------------------------------------------------------------- the function */

/* vLLM's tests/watermarking: "raw word compatibility vector" of philox4x32-10-v1, key 42. Its dual keys by hashlib. */
TEST(test_fixed_numbers)
{
    static const uint32_t context[2][4] = { { 1, 2, 3, 4 }, { 4, 5, 6, 7 } };
    static const uint32_t want[2][2] = { { 425429266u, 2706218805u }, { 2494036831u, 3424185538u } };
    static const uint32_t abc[8] = { 0xba7816bfu, 0x8f01cfeau, 0x414140deu, 0x5dae2223u,
                                     0xb00361a3u, 0x96177a9cu, 0xb410ff61u, 0xf20015adu };
    uint32_t digest[8];
    for (int c = 0; c < 2; c++)
        for (int t = 0; t < 2; t++) {
            sampi_words words;
            sampi_words_of(&words, 42, context[c], 4);
            assert_num(sampi_word(&words, 7 + t), want[c][t]);
        }
    sampi_sha256((const unsigned char *)"abc", 3, digest);
    assert_memory_equal(digest, abc, sizeof abc);
    assert_u64(sampi_mark_derive("key_a", 42), 0x83fc6a8fb9d18cu);
    assert_u64(sampi_mark_derive("key_b", 42), 0xdba381ce1fb887adu);
    assert_true(sampi_mark_uniform(0) > 0.0 && sampi_mark_uniform(UINT32_MAX) < 1.0);
    for (uint64_t h = 0; h < 1 << 24; h += 997) { /* rounded to float it is the one below (h + 1) / 2^24 */
        float u = (float)sampi_mark_uniform((uint32_t)(h << 8 | 255));
        assert_true(u == nextafterf((float)(h + 1) / 16777216.0f, 0.0f));
    }
}

/* What vLLM's functions give, run with torch 1.13 on a CPU (Gumbel's sample, both SBW kernels, SynthID's tournament in
   doubles, all detectors): a key, contexts, and rows of 64 logits ((37 t + 11 r) mod 64) / 8. */
enum { N_CONTEXTS = 6, ROW = 64 };
static const uint64_t vllm_key = 0x6c62272e07bb0142u;
static const samp_token vllm_context[N_CONTEXTS][4] = {
    { -1, -1, -1, -1 }, { -1, -1, -1, 9 }, { 1, 2, 3, 4 }, { 4, 5, 6, 7 }, { 60, 0, 60, 0 }, { 2000000, 31, 5, 17 }
};

/* A sampler behind context number r, and the row. */
static samp_sampler *vllm_case(const samp_watermark *mark, int r, float *row)
{
    samp_sampler *s = samp_init_watermark(mark);
    samp_token_data data[ROW];
    for (int t = 0; t < ROW; t++) row[t] = (float)((t * 37 + r * 11) % 64) / 8.0f;
    samp_token_data_array cur = test_array(data, row, ROW);
    assert_ok(samp_apply(s, &cur)); /* the prompt ends */
    for (int i = 0; i < 4; i++)
        if (vllm_context[r][i] >= 0) assert_ok(samp_accept(s, vllm_context[r][i]));
    return s;
}

TEST(test_vllms_numbers)
{
    static const samp_token tokens[3][N_CONTEXTS] = { { 41, 48, 63, 61, 23, 33 },
                                                      { 38, 13, 46, 38, 47, 14 },
                                                      { 12, 6, 8, 23, 21, 55 } };
    static const uint64_t green[2][N_CONTEXTS] = { { 0xcdb400102a205100u, 0xc110081016287110u, 0x409405101f9062c0u,
                                                     0xe224080002115050u, 0x88880403a3027194u, 0x6324000900104070u },
                                                   { 0x99e9328133823bd5u, 0x3d6bc193b79960feu, 0x31dbe03f0018987au,
                                                     0xdd406f1bfec28d98u, 0xbbb64cbdc4028d42u,
                                                     0xf0694b3bc001cb2cu } };
    static const double synthid[2][8] = { { 2.46672790443e-11, 6.9043350581e-05, 5.84809774857e-14, 7.98970676464e-10,
                                            1.67374465507e-08, 0.895255723615, 5.35481205014e-05, 0.104621667352 },
                                          { 0.00140254630614, 2.59995947829e-08, 0.00823564197792, 8.88572119366e-09,
                                            9.42477438417e-15, 0.131977463319, 7.78190760606e-14, 0.858384313512 } };
    float row[ROW];
    samp_token_data data[ROW];
    for (int r = 0; r < N_CONTEXTS; r++) {
        for (int k = 0; k < 3; k++) { /* one key, A, B */
            samp_watermark mark = marked_with(k ? SAMP_WATERMARK_GUMBEL_DUAL : SAMP_WATERMARK_GUMBEL, vllm_key);
            mark.alpha = k == 2;
            mark.scope = SAMP_WATERMARK_ALWAYS;
            own_sampler *s = vllm_case(&mark, r, row);
            assert_num(samp_draw(s, row, ROW), tokens[k][r]);
        }
        for (int k = 0; k < 2; k++) {
            samp_watermark mark = marked_with(kinds[2 + k], vllm_key);
            mark.context_width = 4;
            mark.gamma = k ? 0.5 : 0.25;
            mark.scope = SAMP_WATERMARK_ALWAYS;
            own_sampler *s = vllm_case(&mark, r, row);
            samp_token_data_array cur = test_array(data, row, ROW);
            assert_ok(samp_apply(s, &cur));
            for (int t = 0; t < ROW; t++)
                assert_true((data[t].logit == row[t] + 2.0f) == (green[k][r] >> t & 1) && data[t].id == t);
        }
        if (r % 4 != 0) continue;
        samp_watermark mark = marked_with(SAMP_WATERMARK_SYNTHID, vllm_key);
        mark.scope = SAMP_WATERMARK_ALWAYS;
        samp_sampler *s = vllm_case(&mark, r, row);
        samp_token_data_array cur = test_array(data, row, 8);
        assert_ok(samp_apply(s, &cur));
        for (int t = 0; t < 8; t++) assert_true(fabs((double)data[t].p - synthid[r / 4][t]) < 2e-7);
        samp_free(s);
    }
}

/* torch's incomplete gamma function is right to 5e-10 here, mpmath says. SBW counts other tokens there (see the README). */
TEST(test_vllms_detectors)
{
    samp_token text[40];
    samp_watermark_result result;
    static const struct {
        samp_watermark_kind kind;
        double score, p;
    } want[3] = { { SAMP_WATERMARK_GUMBEL, 25.20439909055116, 0.7503240573885382 },
                  { SAMP_WATERMARK_GUMBEL_DUAL, 25.79864947514641, 0.7342474380031626 },
                  { SAMP_WATERMARK_SYNTHID, 0.5032327586206896, 0.4348188597361629 } };
    for (int i = 0; i < 40; i++) text[i] = (i * i * 7 + i * 3) % 50;
    for (int k = 0; k < 3; k++) {
        samp_watermark mark = marked_with(want[k].kind, vllm_key);
        assert_ok(samp_watermark_detect(&mark, text, 40, &result));
        assert_true(fabs(result.score - want[k].score) < 1e-12 * want[k].score);
        assert_true(fabs(result.p_value - want[k].p) < 1e-9 * want[k].p);
        assert_num(result.n_scored, 29); /* contexts repeat */
    }
}

/* Kernels: the words of whole groups, of every length. */
TEST(test_kernels)
{
    source rng = source_stream(3);
    isa_list isa = isa_all();
    for (int round = 0; round < 400; round++) {
        uint32_t counter[3], key[2], from = (uint32_t)choose(&rng, 4), least;
        int32_t want[SAMPI_TILE], got[SAMPI_TILE];
        for (int i = 0; i < 3; i++) counter[i] = (uint32_t)choose(&rng, 4);
        for (int i = 0; i < 2; i++) key[i] = (uint32_t)choose(&rng, 4);
        least = percent(&rng, 20)   ? 0
                : percent(&rng, 50) ? (uint32_t)choose(&rng, 4)
                                    : UINT32_MAX - (uint32_t)(UINT32_MAX >> below(&rng, 12));
        size_t n = 1 + (size_t)below(&rng, SAMPI_TILE), hits = sampi_marks_scalar(counter, key, from, n, least, want);
        for (int k = 0; k < isa.n; k++) {
            assert_num(isa.table[k]->marks(counter, key, from, n, least, got), hits);
            assert_memory_equal(got, want, hits * sizeof *want);
        }
    }
}

/* Colours of tokens, of every length and both hashes. */
TEST(test_tints)
{
    source rng = source_stream(14);
    isa_list isa = isa_all();
    size_t n_green = 0, n_all = 0;
    for (int round = 0; round < 400; round++) {
        float x[300], want[300], got[300];
        uint32_t context[64], from = (uint32_t)below(&rng, 1 << 20) * 4;
        sampi_colours colours;
        samp_watermark mark = random_watermark(&rng, kinds[2 + round % 2]);
        if (round % 3 == 0) mark.gamma = 0.5;
        sampi_sampler t = sampi_mark_of(&mark);
        for (int i = 0; i < mark.context_width; i++)
            context[i] = percent(&rng, 10) ? UINT32_MAX : (uint32_t)below(&rng, 1 << 22);
        sampi_colours_of(&colours, &t.u.mark, context);
        size_t n = (size_t)below(&rng, 300);
        test_logits(&rng, x, 300, 5.0);
        for (int i = 0; i < 300; i++) x[i] = percent(&rng, 5) ? -INFINITY : percent(&rng, 3) ? FLT_MAX : x[i];
        memcpy(want, x, sizeof x);
        sampi_tint_scalar(&colours, from, n, mark.delta, want);
        for (size_t i = 0; i < n && mark.delta > 0.0f; i++)
            n_green += sampi_is_green(&colours, from + (uint32_t)i), n_all++;
        for (int k = 0; k < isa.n; k++) {
            memcpy(got, x, sizeof x);
            isa.table[k]->tint(&colours, from, n, mark.delta, got);
            assert_memory_equal(got, want, sizeof got);
        }
    }
    assert_true(n_green > n_all / 10 && n_green < n_all * 9 / 10);
}

/* ------------------------------------------------------------------------------------------ every way to a token */

/* Random chains, nearly all with marks, by all instruction sets against the steps. */
TEST(test_random_chains)
{
    static player p;
    uint64_t n = cases(60000, 300);
    assert_true(real_rows_load(REAL_ROWS_PATH));
    assert_true(player_make(&p, isa_all(), LONG));
    for (uint64_t i = 0; i < n; i++) {
        source s = source_stream(i);
        size_t length = percent(&s, 70) ? 1 + (size_t)below(&s, 300) : 1 + (size_t)below(&s, LONG);
        p.report_len = 0;
        if (!play(&p, &s, length, 12))
            test_fail(__FILE__, __LINE__, "case %llu: %s", (unsigned long long)i, p.report);
    }
    player_free(&p);
}

/* Long rows, of each kind alone and behind cuts; in a batch, halves and doubles too; and samp_apply. */
TEST(test_long_rows)
{
    source rng = source_stream(9);
    static float row[LONG];
    static double wide[LONG];
    static samp_token_data data[LONG];
    for (int round = 0; round < rounds(200); round++) {
        samp_watermark mark = random_watermark(&rng, kinds[round % N_KIND]);
        samp_sampler *first = chain_with(&mark), *second, *third;
        const size_t n = 1 + (size_t)below(&rng, LONG);
        if (percent(&rng, 50)) assert_ok(samp_chain_insert(first, 0, samp_init_top_k(1 + (int32_t)below(&rng, 60))));
        if (percent(&rng, 30)) assert_ok(samp_chain_insert(first, 0, samp_init_temp(0.8f)));
        if (percent(&rng, 20)) assert_ok(samp_chain_insert(first, 0, samp_init_min_p(0.01f, 1)));
        assert_non_null(second = samp_clone(first));
        assert_non_null(third = samp_clone(first));
        for (int i = 0; i < 6; i++) {
            test_logits(&rng, row, n, 4.0);
            for (size_t k = 0; k < n; k++) wide[k] = (double)row[k];
            samp_token_data_array cur = test_array(data, row, n);
            samp_logits logits;
            samp_token token = samp_sample(first, row, n), other;
            memset(&logits, 0, sizeof logits);
            logits.data = wide;
            logits.dtype = SAMP_F64;
            logits.n_rows = 1;
            logits.n_vocab = n;
            assert_ok(samp_sample_batch(&second, &logits, &other));
            assert_num(other, token);
            assert_ok(samp_apply(third, &cur));
            assert_num(cur.data[cur.selected].id, token);
            assert_ok(samp_accept(third, token));
        }
        samp_free(first);
        samp_free(second);
        samp_free(third);
    }
}

/* A token of hardly any weight wins where its u is next to 1: keys are looked for that give it such a one. It stands in a
   tile of its own, at a logit where it just wins, or just does not; the fast path must not leave its tile out. */
TEST(test_unlikely_winners)
{
    enum { LENGTH = 700, RIVAL = 641 };
    static float row[LENGTH];
    static samp_token_data data[LENGTH];
    const uint32_t context[4] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
    isa_list isa = isa_all();
    uint64_t key = 0;
    int won = 0;
    for (int round = 0; round < rounds(160); round++) {
        sampi_words words;
        uint32_t lack;
        do { /* 2^24 - 1 less the upper 24 bits */
            sampi_words_of(&words, ++key, context, 4);
            lack = ~sampi_word(&words, RIVAL) >> 8;
        } while (lack > 60);
        const double e0 = -log(sampi_mark_uniform(sampi_word(&words, 3)));
        const double e1 = -log(sampi_mark_uniform(sampi_word(&words, RIVAL)));
        for (int side = -1; side <= 1; side += 2) {
            for (int i = 0; i < LENGTH; i++) row[i] = -60.0f;
            row[3] = 0.0f;
            row[RIVAL] = (float)(log(e1 / e0) + 1e-4 * side);
            samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL, key);
            own_sampler *s = samp_init_watermark(&mark);
            samp_token_data_array cur = test_array(data, row, LENGTH);
            assert_ok(sampi_life_apply_steps((sampi_sampler *)s, &cur));
            const samp_token want = cur.data[cur.selected].id;
            if (row[RIVAL] < 0.0f) assert_num(want, side > 0 ? RIVAL : 3);
            won += want == RIVAL;
            for (int k = 0; k < isa.n; k++) {
                isa_use(&isa, k);
                assert_num(samp_draw(s, row, LENGTH), want);
            }
        }
    }
    samp_isa_force(NULL);
    assert_true(won > 0);
}

/* -------------------------------------------------------------------------------------------- the text so far */

/* By a plain search: has the context of the next token been there? */
static bool repeated(const samp_watermark *mark, const samp_token *prompt, int n_prompt, const samp_token *text,
                     int n)
{
    samp_token all[2000];
    int count = 0;
    if (mark->scope == SAMP_WATERMARK_ALWAYS) return false;
    if (mark->scope == SAMP_WATERMARK_ONCE_IN_ALL) {
        if (n < mark->context_width) return true;
        memcpy(all, prompt, (size_t)n_prompt * sizeof *all);
        count = n_prompt;
    }
    memcpy(all + count, text, (size_t)n * sizeof *all);
    count += n;
    for (int at = count - mark->history < 0 ? 0 : count - mark->history; at < count; at++) {
        bool same = true;
        for (int k = 1; k <= mark->context_width && same; k++) {
            samp_token a = at - k >= 0 ? all[at - k] : -1, b = count - k >= 0 ? all[count - k] : -1;
            same = a == b;
        }
        if (same) return true;
    }
    return false;
}

static bool says_repeated(const samp_sampler *s)
{
    uint32_t context[64];
    sampi_mark_context((const sampi_sampler *)s, 0, context);
    return sampi_mark_is_repeated((const sampi_sampler *)s, context);
}

/* How many contexts the table has: as many as differ within the history. */
static void check_table(const samp_sampler *sampler)
{
    const sampi_sampler *s = (const sampi_sampler *)sampler;
    const sampi_watermark *mark = &s->u.mark;
    uint32_t context[64], other[64],
        places = mark->count < (uint32_t)mark->history ? mark->count : (uint32_t)mark->history;
    uint32_t there = 0, differ = 0;
    for (uint32_t i = 0; i < mark->n_slots; i++) there += sampi_mark_table(s)[i] != 0;
    for (uint32_t ago = 1; mark->n_slots && ago <= places; ago++) {
        bool first = true;
        sampi_mark_context(s, ago, context);
        uint32_t slot = sampi_mark_slot(s, context);
        assert_true(sampi_mark_table(s)[slot] != 0);
        for (uint32_t later = 1; later < ago && first; later++) {
            sampi_mark_context(s, later, other);
            first = memcmp(context, other, (size_t)mark->width * 4) != 0;
        }
        differ += first;
        if (first) assert_num(sampi_mark_table(s)[slot], mark->count - ago + 1);
    }
    assert_num(there, differ);
}

/* Random walks: draws, tokens, rollbacks, clones, saved states, against a plain list of tokens. */
TEST(test_walks)
{
    source rng = source_stream(5);
    int n_repeated = 0, n_back = 0;
    for (int round = 0; round < rounds(600); round++) {
        samp_watermark mark = random_watermark(&rng, kinds[round % N_KIND]);
        if (!selects(mark.kind) && mark.delta == 0.0f) mark.delta = 1.0f;
        if (percent(&rng, 60)) mark.context_width = 1 + (int32_t)below(&rng, 2);
        samp_token prompt[30], text[400];
        int n_prompt = (int)below(&rng, 30), n = 0, n_tokens = 1 + (int)below(&rng, 6);
        float row[6] = { 0 };
        samp_sampler *s = samp_init_watermark(&mark);
        for (int i = 0; i < n_prompt; i++)
            assert_ok(samp_accept(s, prompt[i] = (samp_token)below(&rng, (uint64_t)n_tokens)));
        samp_token_data data[6];
        samp_token_data_array cur = test_array(data, row, (size_t)n_tokens);
        assert_ok(samp_apply(s, &cur)); /* the prompt ends here */
        assert_ok(samp_accept(s, text[n++] = (samp_token)below(&rng, (uint64_t)n_tokens)));
        for (int i = 0; i < 120; i++) {
            int depth = samp_rollback_depth(s), back = (int)below(&rng, 9);
            unsigned what = (unsigned)below(&rng, 100);
            if (what < 12 && back <= depth && back < n) {
                assert_ok(samp_rollback(s, back));
                n -= back;
                n_back += back;
            } else if (what < 16) {
                samp_sampler *copy = samp_clone(s);
                samp_free(s);
                s = copy;
            } else if (what < 20) {
                static unsigned char bytes[8192];
                samp_sampler *copy = samp_init_watermark(&mark);
                assert_true(samp_state_size(s) <= sizeof bytes);
                assert_ok(samp_state_save(s, bytes, sizeof bytes));
                assert_ok(samp_state_load(copy, bytes, samp_state_size(s)));
                samp_free(s);
                s = copy;
            } else if (n < 400) {
                cur = test_array(data, row, (size_t)n_tokens);
                if (what < 70) assert_ok(samp_apply(s, &cur));
                assert_ok(samp_accept(s, text[n++] = (samp_token)below(&rng, (uint64_t)n_tokens)));
            }
            bool want = repeated(&mark, prompt, n_prompt, text, n);
            n_repeated += want;
            if (says_repeated(s) != want)
                test_fail(__FILE__, __LINE__, "round %d, step %d, %d tokens: %d", round, i, n, want);
            if (i % 20 == 19) check_table(s);
        }
        samp_free(s);
    }
    assert_true(n_repeated > 500 && n_back > 500);
}

/* A rollback over the first draw: what was the prompt is one again. */
TEST(test_back_to_the_prompt)
{
    float row[N] = { 0 };
    for (int k = 0; k < N_KIND; k++)
        for (int scope = 0; scope < 3; scope++) {
            samp_watermark mark = marked_with(kinds[k], 77);
            mark.scope = (samp_watermark_scope)scope;
            samp_sampler *a = chain_with(&mark), *b;
            for (int i = 0; i < 5; i++) assert_ok(samp_accept(a, i));
            assert_non_null(b = samp_clone(a));
            for (int i = 0; i < 4; i++) assert_true(samp_sample(a, row, N) >= 0);
            assert_ok(samp_rollback(a, 6));
            for (int i = 3; i < 5; i++) assert_ok(samp_accept(a, i));
            for (int i = 0; i < 10; i++) assert_num(samp_sample(a, row, N), samp_sample(b, row, N));
            static unsigned char bytes[2][2000];
            size_t size = samp_state_size(a);
            assert_ok(samp_state_save(a, bytes[0], sizeof bytes[0]));
            assert_ok(samp_state_save(b, bytes[1], sizeof bytes[1]));
            assert_memory_equal(bytes[0], bytes[1], size);
            samp_free(a);
            samp_free(b);
        }
}

static int fails(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    (void)cur;
    return SAMP_E_DEVICE;
}

/* A draw that fails has not ended the prompt, whatever way it went: also where the fast path begins with SBW and leaves the
   row to the steps. */
TEST(test_failed_draws)
{
    static const samp_sampler_i failing = { NULL, NULL, fails, NULL, NULL, NULL, NULL, NULL };
    float row[N];
    source rng = source_stream(2);
    test_logits(&rng, row, N, 3.0);
    for (int k = 0; k < N_KIND; k++)
        for (int way = 0; way < 3; way++) {
            samp_watermark mark = marked_with(kinds[k], 12);
            own_sampler *chain = samp_chain_init();
            const bool at_end = selects(mark.kind);
            if (!at_end) assert_ok(samp_chain_add(chain, samp_init_watermark(&mark)));
            for (int i = 0; way == 2 && i < N; i++)
                row[i] = -1e-45f; /* halved it is -0, which no user's sampler is shown */
            if (way == 2) assert_ok(samp_chain_add(chain, samp_init_temp(2.0f)));
            if (way) assert_ok(samp_chain_add(chain, samp_init_top_k(35)));
            if (at_end) assert_ok(samp_chain_add(chain, samp_init_watermark(&mark)));
            assert_ok(samp_chain_add(chain, samp_init_custom(&failing, NULL)));
            if (!at_end) assert_ok(samp_chain_add(chain, samp_init_dist(1)));
            const sampi_sampler *s = (const sampi_sampler *)samp_chain_get(chain,
                                                                           at_end ? samp_chain_n(chain) - 2 : 0);
            assert_status(samp_sample(chain, row, N), SAMP_E_DEVICE);
            assert_num(s->now.pending, -1);
            assert_ok(samp_accept(chain, 3));
            assert_num(s->u.mark.count, 0); /* it is still the prompt */
        }
}

/* Where a context repeats the token is drawn without the mark: with two equal tokens, again and again, both come. */
TEST(test_repeats_are_not_marked)
{
    float row[2] = { 0.0f, 0.0f };
    for (int k = 0; k < N_KIND; k++) {
        int changes[2] = { 0, 0 };
        if (!selects(kinds[k])) continue;
        for (int scope = 0; scope < 2; scope++) {
            samp_watermark mark = marked_with(kinds[k], 4711);
            mark.alpha = 0.0;
            mark.context_width = 1;
            mark.scope = scope ? SAMP_WATERMARK_ALWAYS : SAMP_WATERMARK_ONCE_IN_TEXT;
            own_sampler *s = samp_init_watermark(&mark);
            samp_token before[3] = { -1, -1, -1 }, token = -1; /* what followed 0, 1, nothing */
            for (int i = 0; i < 200; i++) {
                samp_token last = token < 0 ? 2 : token;
                token = samp_sample(s, row, 2);
                changes[scope] += before[last] >= 0 && before[last] != token;
                before[last] = token;
            }
        }
        assert_true(changes[0] > 40);
        if (kinds[k] != SAMP_WATERMARK_SYNTHID) assert_num(changes[1], 0);
    }
}

/* -------------------------------------------------------------------------------------------------- settings */

TEST(test_bad_settings)
{
    const char *field;
    for (int k = 0; k < N_KIND; k++) {
        const samp_watermark good = marked_with(kinds[k], 1);
        const bool is_sbw = !selects(kinds[k]), is_dual = kinds[k] == SAMP_WATERMARK_GUMBEL_DUAL;
        const bool is_synthid = kinds[k] == SAMP_WATERMARK_SYNTHID;
        struct {
            samp_watermark mark;
            const char *field;
            int status;
            bool detects; /* as the detector looks at it */
        } bad[] = {
            { good, "context_width", SAMP_E_RANGE, true },
            { good, "context_width", SAMP_E_RANGE, true },
            { good, "scope", SAMP_E_RANGE, false },
            { good, "history", SAMP_E_RANGE, false },
            { good, "history", SAMP_E_RANGE, false },
            { good, "alpha", is_dual ? SAMP_E_RANGE : 0, true },
            { good, "alpha", is_dual ? SAMP_E_NAN : 0, true },
            { good, "depth", is_synthid ? SAMP_E_RANGE : 0, true },
            { good, "depth", is_synthid ? SAMP_E_RANGE : 0, true },
            { good, "gamma", is_sbw ? SAMP_E_RANGE : 0, true },
            { good, "gamma", is_sbw ? SAMP_E_NAN : 0, true },
            { good, "delta", is_sbw ? SAMP_E_RANGE : 0, true },
            { good, "delta", is_sbw ? SAMP_E_NAN : 0, true },
            { good, "kind", SAMP_E_RANGE, true },
        };
        bad[0].mark.context_width = 0, bad[1].mark.context_width = 65;
        bad[2].mark.scope = (samp_watermark_scope)3;
        bad[3].mark.history = 0, bad[4].mark.history = (1 << 22) + 1;
        bad[5].mark.alpha = 1.0000000001, bad[6].mark.alpha = NAN;
        bad[7].mark.depth = 0, bad[8].mark.depth = 33;
        bad[9].mark.gamma = 1.0, bad[10].mark.gamma = NAN;
        bad[11].mark.delta = -1.0f, bad[12].mark.delta = NAN;
        bad[13].mark.kind = (samp_watermark_kind)5;
        for (size_t i = 0; i < TEST_COUNT(bad); i++) {
            samp_watermark_result result = { 7.0, 7.0, 7, 7.0 };
            samp_token text[3] = { 1, 2, 3 };
            own_sampler *s = samp_init_watermark(&bad[i].mark);
            assert_status(samp_status(s, &field), bad[i].status);
            if (bad[i].status) assert_string_equal(field, bad[i].field);
            int want = bad[i].detects ? bad[i].status : SAMP_OK;
            assert_status(samp_watermark_detect(&bad[i].mark, text, 3, &result), want);
            assert_true(want == SAMP_OK || result.n_scored == 7);
        }
    }
    own_sampler *s = samp_init_watermark(NULL);
    assert_status(samp_status(s, &field), SAMP_E_NULL);
    assert_string_equal(field, "mark");
    samp_free(s);
    samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL, 1);
    s = samp_init_watermark_draft(&mark);
    assert_status(samp_status(s, &field), SAMP_E_UNSUPPORTED);
    assert_string_equal(field, "kind");
}

TEST(test_names)
{
    samp_watermark mark = samp_default_watermark(SAMP_WATERMARK_GUMBEL), before;
    static const struct {
        const char *name, *value;
        int status;
    } calls[] = {
        { "kind", "synthid", 0 },
        { "kind", "gumbel_dual", 0 },
        { "kind", "sbw", SAMP_E_RANGE },
        { "key", "18446744073709551615", 0 },
        { "key", "18446744073709551616", SAMP_E_RANGE },
        { "key", "0x12", SAMP_E_FORMAT },
        { "key", "", SAMP_E_FORMAT },
        { "key", "-1", SAMP_E_RANGE },
        { "scope", "always", 0 },
        { "scope", "none", SAMP_E_RANGE },
        { "history", "100", 0 },
        { "history", "1.5", SAMP_E_FORMAT },
        { "alpha", "0.25", 0 },
        { "alpha", "0,2", SAMP_E_FORMAT },
        { "gamma", ".3", 0 },
        { "gamma", ".", SAMP_E_FORMAT },
        { "delta", "1.5", 0 },
        { "delta", "x", SAMP_E_FORMAT },
        { "seed", "9", 0 },
        { "depth", "12", 0 },
        { "context_width", "5", 0 },
        { "keys", "1", SAMP_E_NAME },
    };
    for (size_t i = 0; i < TEST_COUNT(calls); i++) {
        before = mark;
        assert_status(samp_watermark_set(&mark, calls[i].name, calls[i].value), calls[i].status);
        if (calls[i].status) assert_memory_equal(&before, &mark, sizeof mark);
    }
    assert_num(mark.kind, SAMP_WATERMARK_GUMBEL_DUAL);
    assert_u64(mark.key, UINT64_MAX);
    assert_num(mark.scope, SAMP_WATERMARK_ALWAYS);
    assert_true(mark.history == 100 && mark.alpha == 0.25 && mark.gamma == 0.3 && mark.delta == 1.5f &&
                mark.seed == 9 && mark.depth == 12 && mark.context_width == 5);
    assert_status(samp_watermark_set(NULL, "key", "1"), SAMP_E_NULL);
    assert_status(samp_watermark_set(&mark, NULL, "1"), SAMP_E_NULL);
    assert_status(samp_watermark_set(&mark, "key", NULL), SAMP_E_NULL);
}

TEST(test_described)
{
    char text[300];
    static const char *const want[N_KIND] = {
        "logits -> watermark-gumbel(context_width=4, history=8192, seed=8)",
        "logits -> watermark-gumbel-dual(context_width=4, history=8192, alpha=0.1, seed=8)",
        "logits -> watermark-sbw-selfhash(context_width=4, history=8192, gamma=0.5, delta=2)",
        "logits -> watermark-sbw-lefthash(context_width=1, history=8192, gamma=0.5, delta=2)",
        "logits -> watermark-synthid(context_width=4, history=8192, depth=32, seed=8)",
    };
    for (int k = 0; k < N_KIND; k++) {
        samp_watermark mark = marked_with(kinds[k], 7);
        own_sampler *s = samp_init_watermark(&mark);
        samp_describe(s, text, sizeof text);
        assert_string_equal(text, want[k]);
        assert_u64(samp_get_seed(s), selects(kinds[k]) ? 8 : 0);
    }
}

/* ----------------------------------------------------------------------------------------- keys and saved states */

/* Is a key in these bytes, in either order, as digits, or as one of the two that are made of it? */
static void no_key_in(const void *bytes, size_t n, uint64_t key)
{
    const uint64_t keys[] = { key, sampi_mark_derive("key_a", key), sampi_mark_derive("key_b", key) };
    for (size_t k = 0; k < TEST_COUNT(keys); k++) {
        char text[3][24];
        unsigned char order[4][8];
        for (int i = 0; i < 8; i++) {
            order[0][i] = (unsigned char)(keys[k] >> 8 * i);
            order[1][7 - i] = order[0][i];
        }
        for (int i = 0; i < 2; i++) memcpy(order[2 + i], order[i] + (i ? 0 : 4), 4); /* halves give away as much */
        snprintf(text[0], 24, "%llu", (unsigned long long)keys[k]);
        snprintf(text[1], 24, "%llx", (unsigned long long)keys[k]);
        snprintf(text[2], 24, "%lld", (long long)keys[k]);
        for (int i = 0; i < 7; i++) {
            const void *what = i < 4 ? (const void *)order[i] : (const void *)text[i - 4];
            size_t size = i < 2 ? 8 : i < 4 ? 4 : strlen(text[i - 4]);
            for (size_t at = 0; at + size <= n; at++)
                if (!memcmp((const char *)bytes + at, what, size))
                    test_fail(__FILE__, __LINE__, "key found, form %d", i);
        }
    }
}

TEST(test_no_key_is_told)
{
    source rng = source_stream(6);
    static unsigned char bytes[100000];
    for (int round = 0; round < 100; round++) {
        samp_watermark mark = random_watermark(&rng, kinds[round % N_KIND]);
        mark.key = choose(&rng, 8) | (uint64_t)1 << 63;
        mark.seed = 5;
        if (round % 10 == 9) mark.context_width = 0; /* one that carries an error */
        samp_sampler *chain = samp_chain_init(), *s = samp_init_watermark(&mark);
        const char *field = "";
        char text[500];
        float row[N] = { 0 };
        int status = samp_status(s, &field);
        if (field) no_key_in(field, strlen(field), mark.key);
        no_key_in(samp_name(s), strlen(samp_name(s)), mark.key);
        assert_ok(samp_chain_add(chain, s) == status ? SAMP_OK : SAMP_E_RANGE);
        samp_chain_add(chain, samp_init_dist(1));
        samp_describe(chain, text, sizeof text);
        no_key_in(text, strlen(text), mark.key);
        samp_error_text(status, field, text, sizeof text);
        no_key_in(text, strlen(text), mark.key);
        uint64_t seed = samp_get_seed(chain);
        no_key_in(&seed, sizeof seed, mark.key);
        for (int i = 0; i < 30 && !status; i++) assert_true(samp_sample(chain, row, N) >= 0);
        size_t size = samp_state_size(chain);
        assert_true(size < sizeof bytes);
        if (!status) assert_ok(samp_state_save(chain, bytes, size));
        no_key_in(bytes, size, mark.key);
        /* the fingerprint is of the key, and of SHA-256 of it: what it was made of can't be computed back */
        mark.key ^= 1;
        samp_sampler *other = samp_chain_init();
        samp_chain_add(other, samp_init_watermark(&mark));
        samp_chain_add(other, samp_init_dist(1));
        if (!status) assert_status(samp_state_load(other, bytes, size), SAMP_E_FORMAT);
        samp_free(other);
        samp_free(chain);
    }
}

/* Every number is in the fingerprint; states with another past load, and every changed byte is found. */
TEST(test_states)
{
    static unsigned char bytes[40000];
    float row[N] = { 0 };
    for (int k = 0; k < N_KIND; k++) {
        const samp_watermark mark = marked_with(kinds[k], 99);
        samp_watermark other[6] = { mark, mark, mark, mark, mark, mark };
        samp_sampler *a = samp_init_watermark(&mark), *b;
        other[0].key = 100;
        other[1].context_width = 2;
        other[2].scope = SAMP_WATERMARK_ALWAYS;
        other[3].history = 8191;
        other[4].kind = kinds[(k + 1) % N_KIND];
        other[5].seed = mark.seed + selects(mark.kind);
        samp_token_data data[N];
        for (int i = 0; i < 50; i++) {
            samp_token_data_array cur = test_array(data, row, N);
            assert_ok(samp_apply(a, &cur));
            assert_ok(samp_accept(a, i % 7));
        }
        size_t size = samp_state_size(a);
        assert_ok(samp_state_save(a, bytes, sizeof bytes));
        for (int i = 0; i < 6; i++) {
            b = samp_init_watermark(&other[i]);
            int want = i == 5 && !selects(mark.kind) ? SAMP_OK : SAMP_E_FORMAT;
            assert_status(samp_state_load(b, bytes, size), want);
            samp_free(b);
        }
        b = samp_init_watermark(&mark);
        for (int i = 0; i < 10; i++) assert_ok(samp_accept(b, 3));
        assert_ok(samp_state_load(b, bytes, size));
        static unsigned char again[40000];
        assert_ok(samp_state_save(b, again, sizeof again));
        assert_memory_equal(again, bytes, size);
        check_table(b);
        for (size_t i = 0; i < size; i++) {
            bytes[i] ^= 0x10;
            assert_status(samp_state_load(b, bytes, size), SAMP_E_FORMAT);
            bytes[i] ^= 0x10;
        }
        for (size_t i = 16; i + 8 < size; i++) { /* with a checksum that fits: refused, or loaded and usable */
            unsigned char was = bytes[i];
            bytes[i] ^= (unsigned char)(1u << i % 8);
            uint64_t sum = sampi_checksum(bytes, size - 8);
            for (int n = 0; n < 8; n++) bytes[size - 8 + (size_t)n] = (unsigned char)(sum >> 8 * n);
            if (samp_state_load(b, bytes, size) == SAMP_OK) {
                check_table(b);
                assert_ok(samp_accept(b, 1));
            }
            bytes[i] = was;
        }
        samp_free(a);
        samp_free(b);
    }
}

/* ------------------------------------------------------------------------------------------------- detectors */

/* Marked texts are found, by their key and no other, and unmarked ones are not; edited ones less. */
TEST(test_detects)
{
    static samp_token text[400], plain[400];
    for (int k = 0; k < N_KIND; k++) {
        samp_watermark mark = marked_with(kinds[k], 31337);
        if (kinds[k] == SAMP_WATERMARK_SBW_LEFTHASH)
            mark.context_width = 3; /* 40 contexts of one are soon all there */
        const uint64_t keys[3] = { 1, 31337, 2 };
        samp_watermark_result result, each[3], edited;
        samp_watermark_span span;
        write_text(&mark, 11, 1.0, text, 400);
        assert_ok(samp_watermark_detect(&mark, text, 400, &result));
        if (!(result.p_value < 1e-6)) test_fail(__FILE__, __LINE__, "kind %d: p = %g", k, result.p_value);
        assert_true(fabs(log(result.p_value) - result.ln_p) < 1e-9 * -result.ln_p);
        assert_ok(samp_watermark_detect_keys(&mark, keys, 3, text, 400, each));
        assert_memory_equal(&each[1], &result, sizeof result);
        assert_true(each[0].p_value > 1e-4 && each[2].p_value > 1e-4);
        source rng = source_stream(12);
        for (int i = 0; i < 400; i++) plain[i] = percent(&rng, 25) ? (samp_token)below(&rng, N) : text[i];
        assert_ok(samp_watermark_detect(&mark, plain, 400, &edited));
        assert_true(edited.ln_p > result.ln_p);
        for (int i = 0; i < 400; i++) plain[i] = (samp_token)below(&rng, N);
        assert_ok(samp_watermark_detect(&mark, plain, 400, &result));
        assert_true(result.p_value > 1e-4);
        memcpy(plain + 150, text + 150, 100 * sizeof *text); /* a marked piece in a text without */
        assert_ok(samp_watermark_find(&mark, plain, 400, 100, &span));
        if (!(span.p_value < 0.01 && span.begin > 110 && span.begin < 190))
            test_fail(__FILE__, __LINE__, "kind %d: %zu .. %zu, p = %g", k, span.begin, span.end, span.p_value);
        assert_true(span.end == span.begin + 100 && span.p_value >= span.result.p_value);
    }
}

/* The piece is that with the least p of all, by trying each. */
TEST(test_least_piece)
{
    source rng = source_stream(8);
    for (int round = 0; round < rounds(80); round++) {
        samp_watermark mark = marked_with(kinds[round % N_KIND], choose(&rng, 8));
        samp_token text[120];
        size_t n = 1 + (size_t)below(&rng, 120), window = 1 + (size_t)below(&rng, 130),
               wide = window < n ? window : n;
        for (size_t i = 0; i < n; i++) text[i] = (samp_token)below(&rng, 6);
        samp_watermark_span span;
        assert_ok(samp_watermark_find(&mark, text, n, window, &span));
        sampi_sampler t = sampi_mark_of(&mark);
        double *score = sampi_score_text(&t.u.mark, text, n), least = 0.0;
        for (size_t at = 0; at + wide <= n; at++) {
            samp_watermark_result result;
            double sum = 0.0;
            size_t count = 0;
            for (size_t i = at; i < at + wide; i++)
                if (score[i] >= 0.0) sum += score[i], count++;
            sampi_mark_result(&t.u.mark, sum, count, &result);
            if (result.ln_p < least) least = result.ln_p;
        }
        free(score);
        assert_true(fabs(least - span.result.ln_p) <= 1e-5 * (1.0 - least)); /* sums are compared in units of 2^-27 */
        assert_true(fabs(span.ln_p - fmin(0.0, least + log((double)(n - wide + 1)))) < 1e-5 * (1.0 - least));
        assert_true(span.end - span.begin == wide && span.end <= n);
    }
}

TEST(test_bad_texts)
{
    samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL, 1);
    samp_watermark_result result;
    samp_watermark_span span;
    const samp_token text[3] = { 1, -1, 2 };
    const uint64_t key = 3;
    assert_status(samp_watermark_detect(NULL, text, 1, &result), SAMP_E_NULL);
    assert_status(samp_watermark_detect(&mark, NULL, 1, &result), SAMP_E_NULL);
    assert_status(samp_watermark_detect(&mark, text, 1, NULL), SAMP_E_NULL);
    assert_status(samp_watermark_detect(&mark, text, 3, &result), SAMP_E_RANGE);
    assert_status(samp_watermark_detect(&mark, text, ((size_t)1 << 30) + 1, &result), SAMP_E_RANGE);
    assert_status(samp_watermark_detect_keys(&mark, NULL, 1, text, 1, &result), SAMP_E_NULL);
    assert_status(samp_watermark_detect_keys(&mark, &key, 1, text, 1, NULL), SAMP_E_NULL);
    assert_status(samp_watermark_detect_keys(&mark, &key, 1, text, 3, &result), SAMP_E_RANGE);
    assert_status(samp_watermark_find(&mark, text, 1, 0, &span), SAMP_E_RANGE);
    assert_status(samp_watermark_find(&mark, text, 1, 1, NULL), SAMP_E_NULL);
    assert_ok(samp_watermark_detect(&mark, NULL, 0, &result));
    assert_true(result.n_scored == 0 && result.p_value == 1.0 && result.ln_p == 0.0 && result.score == 0.0);
    assert_ok(samp_watermark_find(&mark, NULL, 0, 5, &span));
    assert_true(span.begin == 0 && span.end == 0 && span.p_value == 1.0);
    const samp_token same[5] = { 1, 1, 1, 1, 1 }; /* as in vLLM's tests: two contexts of one token */
    mark.context_width = 1;
    assert_ok(samp_watermark_detect(&mark, same, 5, &result));
    assert_num(result.n_scored, 2);
}

/* What all keys agree on is no evidence: behind token 0 lefthash has the seed 0, and so has selfhash at times at the
   text's begin. Of such texts nothing counts, or as much as the keys differ in. */
TEST(test_seeds_without_a_key)
{
    samp_watermark mark = marked_with(SAMP_WATERMARK_SBW_LEFTHASH, 3);
    samp_watermark_result result;
    const samp_token text[4] = { 5, 0, 7, 0 };
    assert_ok(samp_watermark_detect(&mark, text, 4, &result));
    assert_num(result.n_scored, 3); /* behind nothing, 5 and 7 */
    mark.key = 0;
    assert_ok(samp_watermark_detect(&mark, text, 4, &result));
    assert_num(result.n_scored, 0);
    assert_true(result.p_value == 1.0);
    double sum = 0.0;
    int n = 0, keys = 20000;
    for (int k = 0; k < keys; k++) { /* the first tokens' colours are as random as others' */
        mark = marked_with(SAMP_WATERMARK_SBW_SELFHASH, (uint64_t)k * 0x9E3779B97F4A7C15u + 1);
        assert_ok(samp_watermark_detect(&mark, text, 4, &result));
        sum += result.score;
        n += (int)result.n_scored;
    }
    assert_true(fabs(sum - 0.5 * n) < 5.0 * sqrt(0.25 * n) && n > 2 * keys);
}

/* ln Q and the binomial tail to 1e-11, from values of mpmath with 40 digits (a, x, ln Q), (n, k, p, ln P). */
TEST(test_tails)
{
    static const double gamma[][3] = {
#include "tests/data/watermark_gamma.h"
    };
    static const double binomial[][4] = {
#include "tests/data/watermark_binomial.h"
    };
    for (size_t i = 0; i < TEST_COUNT(gamma); i++) {
        double got = sampi_ln_gamma_tail(gamma[i][0], gamma[i][1]), want = gamma[i][2];
        if (!(fabs(got - want) <= 1e-11 * (1.0 - want)))
            test_fail(__FILE__, __LINE__, "Q(%g, %g): %.17g, not %.17g", gamma[i][0], gamma[i][1], got, want);
    }
    for (size_t i = 0; i < TEST_COUNT(binomial); i++) {
        const double *b = binomial[i];
        double got = sampi_ln_binomial_tail(b[0], b[1], b[2]);
        if (!(fabs(got - b[3]) <= 1e-11 * (1.0 - b[3])))
            test_fail(__FILE__, __LINE__, "B(%g, %g, %g): %.17g, not %.17g", b[0], b[1], b[2], got, b[3]);
    }
}

/* A million tokens, marked all: no overflow, no loss; p_value 0, its logarithm known. */
TEST(test_million_tokens)
{
    enum { MANY = 1000000 };
    samp_token *text = (samp_token *)malloc(MANY * sizeof *text);
    source rng = source_stream(4);
    for (int k = 0; k < N_KIND; k += 2) {
        samp_watermark mark = marked_with(kinds[k], 5);
        samp_watermark_result result;
        for (int i = 0; i < MANY; i++) text[i] = (samp_token)below(&rng, 100000);
        assert_ok(samp_watermark_detect(&mark, text, MANY, &result));
        assert_true(result.n_scored > (selects(kinds[k]) ? MANY - 10 : MANY / 2) && result.p_value > 1e-6);
    }
    sampi_sampler t;
    samp_watermark_result result;
    samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL, 5);
    t = sampi_mark_of(&mark);
    sampi_mark_result(&t.u.mark, 2e6, MANY, &result);
    assert_true(result.p_value == 0.0 && fabs(result.ln_p + 306860.0) < 20.0); /* n (ln 2 - 1) and a little */
    free(text);
}

/* Texts that no key has had a say in: p is uniform, at the low end above all. */
TEST(test_null)
{
    enum { TEXTS = 2000 };
    source rng = source_stream(13);
    for (int k = 0; k < N_KIND; k++) {
        long below_a[3] = { 0, 0, 0 };
        for (int i = 0; i < TEXTS; i++) {
            samp_watermark mark = marked_with(kinds[k], choose(&rng, 8));
            samp_token text[60];
            samp_watermark_result result;
            for (int t = 0; t < 60; t++) { /* some tokens are much more frequent than others */
                uint64_t a = below(&rng, 50), b = below(&rng, 50);
                text[t] = (samp_token)(a * b / 25);
            }
            assert_ok(samp_watermark_detect(&mark, text, 60, &result));
            below_a[0] += result.p_value <= 0.5;
            below_a[1] += result.p_value <= 0.1;
            below_a[2] += result.p_value <= 0.01;
        }
        /* five sigma; discrete scores make p larger, the approximation of two keys smaller by little here */
        if (below_a[0] > 1000 + 112 || below_a[1] > 200 + 67 || below_a[2] > 20 + 23 || below_a[1] < 80)
            test_fail(__FILE__, __LINE__, "kind %d: %ld %ld %ld", k, below_a[0], below_a[1], below_a[2]);
    }
}

/* Over keys a token has the model's probability. */
TEST(test_distribution_over_keys)
{
    enum { CELLS = 8 };
    static const float row[CELLS] = { 0.0f, 1.0f, -1.0f, 0.5f, 2.0f, -3.0f, 0.25f, 1.5f };
    const int n = rounds(40000);
    for (int k = 0; k < N_KIND; k++) {
        long seen[CELLS] = { 0 };
        real p[CELLS];
        if (!selects(kinds[k])) continue;
        for (int i = 0; i < CELLS; i++) p[i] = expl((real)row[i]);
        for (int i = 0; i < n; i++) {
            samp_watermark mark = marked_with(kinds[k], (uint64_t)i * 0x9E3779B97F4A7C15u);
            mark.scope = SAMP_WATERMARK_ALWAYS;
            own_sampler *s = samp_init_watermark(&mark);
            assert_ok(samp_set_rollback(s, 0));
            seen[samp_sample(s, row, CELLS)]++;
        }
        double tail = chi_square(seen, p, CELLS);
        if (tail < 1e-6) test_fail(__FILE__, __LINE__, "kind %d: %g", k, tail);
    }
}

/* ---------------------------------------------------------------------------------------------------- drafts */

/* A small model drafts with key A, the large one tests and adds tokens with key B: what is added is found with B. */
TEST(test_drafts)
{
    enum { TOKENS = 1200, AHEAD = 3 };
    for (int method = 0; method < 4; method++) {
        samp_relaxed relaxed = { 2, 0.5f, -1, -1, true };
        samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL_DUAL, 2026), one = mark;
        own_sampler *target = samp_init_watermark(&mark), *draft = samp_init_watermark_draft(&mark);
        static samp_token text[TOKENS + AHEAD + 1];
        source rng = source_stream(21);
        size_t n = 0, n_accepted = 0, n_added = 0;
        static samp_token added[TOKENS], their_context[TOKENS][4];
        while (n < TOKENS) {
            static float rows[(AHEAD + 1) * N], probs[AHEAD * N];
            samp_token tokens[AHEAD], out[AHEAD + 1];
            int32_t parent[AHEAD] = { -1, 0, 1 };
            samp_draft d;
            memset(&d, 0, sizeof d);
            for (int i = 0; i <= AHEAD; i++) test_logits(&rng, rows + i * N, N, 1.0);
            for (int i = 0; i < AHEAD; i++) {
                float small[N], max = -INFINITY, z = 0.0f;
                for (int t = 0; t < N; t++) small[t] = 0.7f * rows[i * N + t];
                for (int t = 0; t < N; t++) max = fmaxf(max, small[t]);
                for (int t = 0; t < N; t++) z += probs[i * N + t] = expf(small[t] - max);
                for (int t = 0; t < N; t++) probs[i * N + t] /= z * 1.000001f;
                tokens[i] = samp_sample(draft, small, N);
                assert_true(tokens[i] >= 0);
            }
            d.tokens = tokens;
            d.n = AHEAD;
            d.probs = probs;
            int32_t a = method == 0   ? samp_verify(target, rows, N, &d, SAMP_VERIFY_RATIO, out)
                        : method == 1 ? samp_verify_block(target, rows, N, &d, out)
                        : method == 2 ? samp_verify_tree(target, rows, N, &d, parent, SAMP_VERIFY_RATIO, out, NULL)
                                      : samp_verify_relaxed(target, rows, N, &d, SAMP_VERIFY_RATIO, &relaxed, out);
            assert_true(a >= 0 && a <= AHEAD);
            assert_ok(samp_rollback(draft, AHEAD - a));
            assert_ok(samp_accept(draft, out[a]));
            for (int32_t i = 0; i <= a; i++) text[n++] = out[i];
            n_accepted += (size_t)a;
            if (n > 4 && n_added < TOKENS) {
                added[n_added] = out[a];
                memcpy(their_context[n_added++], text + n - 5, sizeof their_context[0]);
            }
        }
        /* the whole text by the detector of both keys */
        samp_watermark_result result;
        assert_ok(samp_watermark_detect(&one, text, n, &result));
        assert_true(result.p_value < 1e-6);
        /* and what was added by B alone, which a text of A would not show */
        double sum[2] = { 0.0, 0.0 };
        for (size_t i = 0; i < n_added; i++)
            for (int key = 0; key < 2; key++) {
                sampi_words words;
                sampi_words_of(&words, sampi_mark_derive(key ? "key_b" : "key_a", 2026),
                               (const uint32_t *)their_context[i], 4);
                sum[key] += sampi_score_of(sampi_word(&words, added[i]));
            }
        const double tail_a = sampi_ln_gamma_tail((double)n_added, sum[0]);
        const double tail_b = sampi_ln_gamma_tail((double)n_added, sum[1]);
        if (!(tail_b < -20.0 && tail_a > -12.0 && n_accepted > n_added / 2))
            test_fail(__FILE__, __LINE__, "method %d: A %g, B %g, %zu accepted, %zu added", method, tail_a, tail_b,
                      n_accepted, n_added);
    }
}

/* The distribution of the ratio test with marks, over keys: the model's. */
TEST(test_drafts_distribution)
{
    enum { CELLS = 4 };
    static const float rows[2 * CELLS] = { 0.0f, 1.0f, -1.0f, 0.5f, 0.3f, 0.0f, 1.0f, -0.5f };
    static const float probs[CELLS] = { 0.55f, 0.1f, 0.25f, 0.1f };
    const int n = rounds(40000);
    for (int method = 0; method < 2; method++) {
        long seen[CELLS] = { 0 }, behind[CELLS] = { 0 };
        real p[CELLS], q[CELLS];
        for (int i = 0; i < CELLS; i++) p[i] = expl((real)rows[i]), q[i] = expl((real)rows[CELLS + i]);
        source rng = source_stream(30);
        for (int i = 0; i < n; i++) {
            samp_watermark mark = marked_with(SAMP_WATERMARK_GUMBEL_DUAL, choose(&rng, 8));
            own_sampler *s = samp_init_watermark(&mark);
            double u = uniform(&rng);
            samp_token token = u < 0.55 ? 0 : u < 0.65 ? 1 : u < 0.9 ? 2 : 3, out[2];
            samp_draft d;
            memset(&d, 0, sizeof d);
            d.tokens = &token;
            d.n = 1;
            d.probs = probs;
            int32_t a = method ? samp_verify_block(s, rows, CELLS, &d, out)
                               : samp_verify(s, rows, CELLS, &d, SAMP_VERIFY_RATIO, out);
            assert_true(a >= 0 && out[0] >= 0);
            seen[out[0]]++;
            if (a == 1) behind[out[1]]++;
        }
        double tail = chi_square(seen, p, CELLS), next = chi_square(behind, q, CELLS);
        if (tail < 1e-6 || next < 1e-6) test_fail(__FILE__, __LINE__, "method %d: %g %g", method, tail, next);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
