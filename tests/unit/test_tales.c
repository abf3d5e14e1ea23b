/* test_tales.c - the demo's model against its reference values, alone and under the library's greedy
   chain; and what its loader says of damaged files. Run from the repository's root. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#define SAMPLING_KV
#define SAMPLING_CONSTRAINTS
#include "sampling.h"
#include "bench/demo/tales_model.h"
#include "tests/support/test.h"

#include <unistd.h>

#define MODEL  "bench/data/tales.bin"
#define TEXT   "bench/data/tales_golden.txt"
#define LOGITS "bench/data/tales_golden.f32"

enum { N_GOLDEN = 3, N_GREEDY = 32, MAX_PROMPT = 32 };

typedef struct {
    char text[128];
    int32_t prompt[MAX_PROMPT], greedy[N_GREEDY];
    int n_prompt;
    float *logits; /* [n_vocab] at the prompt's last position */
} golden;

static tales_model model;
static golden goldens[N_GOLDEN];

/* Reads the ids up to the next tab or line end. -> ids [<= n_max]; returns how many */
static int read_ids(char **at, int32_t *ids, int n_max)
{
    int n = 0;
    while (n < n_max && **at != '\t' && **at != '\n' && **at) ids[n++] = (int32_t)strtol(*at, at, 10);
    if (**at) ++*at;
    return n;
}

static int setup(void **state)
{
    (void)state;
    char line[2048];
    int n = 0;
    const char *error = tales_load(&model, MODEL);
    FILE *text = fopen(TEXT, "r"), *logits = fopen(LOGITS, "rb");
    if (error || !text || !logits) {
        print_error("%s, %s, %s: cannot be read: run from the repository's root\n", MODEL, TEXT, LOGITS);
        return -1;
    }
    while (n < N_GOLDEN && fgets(line, sizeof line, text)) {
        if (line[0] == '#') continue;
        golden *g = &goldens[n++];
        char *at = line + strcspn(line, "\t");
        snprintf(g->text, sizeof g->text, "%.*s", (int)(at - line), line);
        at++;
        g->n_prompt = read_ids(&at, g->prompt, MAX_PROMPT);
        if (read_ids(&at, g->greedy, N_GREEDY) != N_GREEDY) return -1;
        size_t n_vocab = (size_t)model.n_vocab;
        g->logits = malloc(n_vocab * sizeof(float));
        if (!g->logits || fread(g->logits, sizeof(float), n_vocab, logits) != n_vocab) return -1;
    }
    fclose(text);
    fclose(logits);
    return n == N_GOLDEN ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < N_GOLDEN; i++) free(goldens[i].logits);
    tales_free(&model);
    return 0;
}

static const float *eval_prompt(const golden *g)
{
    const float *logits = NULL;
    for (int i = 0; i < g->n_prompt; i++) logits = tales_eval(&model, g->prompt[i], i);
    return logits;
}

TEST(test_tokenise)
{
    int32_t ids[MAX_PROMPT];
    for (const golden *g = goldens; g < goldens + N_GOLDEN; g++) {
        assert_num(tales_tokenise(&model, g->text, ids, MAX_PROMPT), g->n_prompt);
        for (int i = 0; i < g->n_prompt; i++) assert_num(ids[i], g->prompt[i]);
        assert_num(tales_tokenise(&model, g->text, ids, g->n_prompt), g->n_prompt);
        assert_num(tales_tokenise(&model, g->text, ids, g->n_prompt - 1), -1);
    }
    assert_num(tales_tokenise(&model, "", ids, MAX_PROMPT), 1);
    assert_num(tales_tokenise(&model, "", ids, 0), -1);
    assert_num(ids[0], TALES_BEGIN);
}

/* Every byte has a token, and the pieces of a text are the text. */
TEST(test_tokenise_bytes)
{
    char text[256], back[256];
    int32_t ids[256];
    for (int i = 0; i < 255; i++) text[i] = (char)(255 - i);
    text[255] = 0;
    size_t n_back = 0, length;
    int n = tales_tokenise(&model, text, ids, 256);
    assert_true(n > 1);
    for (int i = 0; i < n; i++) {
        const char *piece = tales_piece(&model, ids[i], &length);
        assert_true(n_back + length < sizeof back);
        memcpy(back + n_back, piece, length);
        n_back += length;
    }
    back[n_back] = 0;
    assert_text(back, text);
}

TEST(test_logits_golden)
{
    for (const golden *g = goldens; g < goldens + N_GOLDEN; g++) {
        const float *logits = eval_prompt(g);
        double largest = 0.0;
        for (int i = 0; i < model.n_vocab; i++) largest = fmax(largest, fabs((double)g->logits[i]));
        for (int i = 0; i < model.n_vocab; i++) assert_near(logits[i], g->logits[i], 1e-5 * largest);
    }
}

/* A text that begins at position 0 owes nothing to the one before. */
TEST(test_new_text)
{
    float first[2048];
    assert_true(model.n_vocab <= 2048);
    memcpy(first, eval_prompt(&goldens[0]), (size_t)model.n_vocab * sizeof(float));
    eval_prompt(&goldens[1]);
    assert_memory_equal(eval_prompt(&goldens[0]), first, (size_t)model.n_vocab * sizeof(float));
}

TEST(test_eval_range)
{
    assert_null(tales_eval(&model, -1, 0));
    assert_null(tales_eval(&model, model.n_vocab, 0));
    assert_null(tales_eval(&model, 0, -1));
    assert_null(tales_eval(&model, 0, model.n_ctx));
    assert_non_null(tales_eval(&model, model.n_vocab - 1, model.n_ctx - 1));
}

static samp_token first_largest(const float *logits, int n)
{
    samp_token best = 0;
    for (samp_token i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

TEST(test_greedy_alone)
{
    for (const golden *g = goldens; g < goldens + N_GOLDEN; g++) {
        const float *logits = eval_prompt(g);
        for (int i = 0; i < N_GREEDY; i++) {
            samp_token token = first_largest(logits, model.n_vocab);
            assert_num(token, g->greedy[i]);
            logits = tales_eval(&model, token, g->n_prompt + i);
        }
    }
}

/* All 96 tokens again, chosen by a chain. */
static void check_greedy(samp_sampler *chain)
{
    for (const golden *g = goldens; g < goldens + N_GOLDEN; g++) {
        const float *logits = eval_prompt(g);
        for (int i = 0; i < N_GREEDY; i++) {
            samp_token token = samp_sample(chain, logits, (size_t)model.n_vocab);
            assert_num(token, g->greedy[i]);
            logits = tales_eval(&model, token, g->n_prompt + i);
        }
    }
    samp_free(chain);
}

TEST(test_greedy_chain)
{
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_greedy()));
    check_greedy(chain);
}

TEST(test_greedy_params)
{
    samp_params params = samp_default_params();
    params.temp = 0.0f;
    for (int rng = SAMP_RNG_PHILOX; rng <= SAMP_RNG_MT19937; rng++) {
        params.rng = (samp_rng_kind)rng;
        check_greedy(samp_chain_from_params(&params, NULL));
    }
}

/* ---- thinking, with made-up tags ---- */

/* The end of a paragraph ends its line. */
static const char *line_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = 1;
    return token == TALES_END ? "\n" : tales_piece(&model, token, n);
}

/* Bytes of a character still to come behind a token: of a text that may be no UTF-8 at all. */
static int still_missing(int missing, samp_token token)
{
    size_t n;
    const char *bytes = line_bytes(NULL, token, &n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c & 0xc0) == 0x80)
            missing -= missing > 0;
        else
            missing = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0;
    }
    return missing;
}

static samp_thinking_plan any_plan(source *rng, int32_t budget, const samp_token *note, size_t n_note,
                                   const samp_loop *loop)
{
    samp_thinking_plan plan;
    memset(&plan, 0, sizeof plan);
    if (below(rng, 2))
        plan.soft_ratio = (float)uniform(rng);
    else
        plan.soft = (int32_t)below(rng, (uint64_t)budget + 2);
    plan.grace = (int32_t)below(rng, 20);
    if (below(rng, 3) == 0) plan.total = 1 + (int32_t)below(rng, 120);
    if (below(rng, 2)) plan.note = note, plan.n_note = n_note;
    plan.ramp = (samp_ramp)below(rng, 3);
    plan.bias = (float)(20.0 * uniform(rng));
    if (below(rng, 3) == 0) plan.loop = loop;
    return plan;
}

/* Random budgets on the model: a span has never more tokens than its hard end and the grace, but for a character that is
   not whole; its end is never broken, nor is the note; behind the last span nothing is forced. Now and then it is ended
   by hand, and a copy that goes on from saved bytes says the same. */
TEST(test_thinking)
{
    enum { TAG = 32, LONG = 150 };
    samp_token start[TAG], end[TAG], note[TAG];
    const int n_start = tales_tokenise(&model, "<think>", start, TAG),
              n_end = tales_tokenise(&model, "</think>", end, TAG);
    int n_note = tales_tokenise(&model, "I should answer now.", note, TAG - 1);
    note[n_note++] = TALES_END;
    const samp_vocab vocab = { model.n_vocab, line_bytes, NULL, NULL, NULL, 0, -1, -1 };
    const samp_thinking span = { start + 1, (size_t)n_start - 1, end + 1, (size_t)n_end - 1, NULL, 0 };
    const samp_loop loop = { 1, 32, 3, 100, 1 };
    const samp_logit_bias more_lines = { TALES_END, 4.0f };
    size_t seen[6] = { 0 };
    for (uint64_t i = 0; i < cases(1000, 3); i++) {
        source rng = source_stream(i);
        const int32_t budget = (int32_t)below(&rng, 90), by_hand = below(&rng, 5) ? -1 : (int32_t)below(&rng, 40);
        const samp_thinking_plan plan = any_plan(&rng, budget, note + 1, (size_t)n_note - 1, &loop);
        samp_sampler *chain = new_chain(samp_init_thinking(&vocab, &span, 1, budget, -1, &plan),
                                        samp_init_logit_bias(model.n_vocab, 1, &more_lines),
                                        samp_init_temp(below(&rng, 2) ? 0.8f : 2.5f), samp_init_dist(i)),
                     *copy;
        const float *logits = tales_eval(&model, TALES_BEGIN, 0);
        int pos = 1, spent = 0;
        for (int spans = 0; spans < 2 && pos < model.n_ctx - LONG; spans++) {
            for (int k = 1; k < n_start; k++) {
                assert_ok(samp_accept(chain, start[k]));
                logits = tales_eval(&model, start[k], pos++);
            }
            int left = plan.total ? plan.total - spent : budget, u = 0, missing = 0, at = 0, forced = 0;
            const int hard = left < 0 ? 0 : left < budget ? left : budget;
            while (samp_thinking_now(chain) != SAMP_THINKING_NOT) {
                unsigned char bytes[1 << 14];
                int stage = samp_thinking_now(chain);
                if (by_hand == u && stage != SAMP_THINKING_ENDS) {
                    assert_ok(samp_thinking_end(chain));
                    stage = samp_thinking_now(chain);
                }
                seen[stage]++;
                if (stage == SAMP_THINKING_ENDS) {
                    if (!forced++) assert_true(missing == 0 || u >= hard + 4);
                } else {
                    assert_true(u < (hard ? hard + plan.grace : 0) + (missing ? 4 : 0));
                    assert_num(forced, 0); /* an end that is forced is forced to its end */
                }
                copy = samp_clone(chain);
                size_t size = samp_state_size(chain);
                assert_true(size <= sizeof bytes);
                assert_ok(samp_state_save(chain, bytes, size));
                assert_ok(samp_accept(copy, 5)); /* it has seen something else */
                assert_ok(samp_state_load(copy, bytes, size));
                samp_token token = samp_sample(chain, logits, (size_t)model.n_vocab);
                assert_num(samp_sample(copy, logits, (size_t)model.n_vocab), token);
                samp_free(copy);
                assert_true(token >= 0);
                if (stage == SAMP_THINKING_NOTE) assert_num(token, note[1 + at++]);
                missing = still_missing(missing, token);
                u++;
                logits = tales_eval(&model, token, pos++);
                if (samp_thinking_now(chain) == SAMP_THINKING_NOT) { /* by itself too */
                    samp_token last[TAG];
                    assert_num(samp_prev(chain, last, (size_t)n_end - 1), n_end - 1);
                    assert_memory_equal(last, end + 1, ((size_t)n_end - 1) * sizeof *last);
                }
            }
            assert_true(at == 0 || at == n_note - 1 || by_hand >= 0); /* all of the note, or nothing */
            spent += u;
            assert_num(samp_thinking_used(chain), spent);
        }
        samp_free(chain);
    }
    if (quick()) return;
    for (int stage = SAMP_THINKING_OPEN; stage <= SAMP_THINKING_ENDS; stage++) assert_true(seen[stage] > 20);
}

/* What tales_load says of the first n bytes of the model, one of them changed (at < 0: none). */
static const char *load_damaged(const uint8_t *bytes, size_t n, long at, uint8_t value)
{
    static char path[64];
    tales_model damaged;
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/test_tales_XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    assert_non_null(f);
    assert_num(fwrite(bytes, 1, n, f), n);
    if (at >= 0) {
        assert_num(fseek(f, at, SEEK_SET), 0);
        assert_num(fputc(value, f), value);
    }
    assert_num(fclose(f), 0);
    const char *error = tales_load(&damaged, path);
    unlink(path);
    if (!error) tales_free(&damaged);
    return error;
}

TEST(test_load_errors)
{
    enum { N_VOCAB = 8, DIM = 12, HEADS = 20, PIECES = 36, FIRST_PIECE = 40 }; /* offsets in the file */
    FILE *f = fopen(MODEL, "rb");
    static uint8_t bytes[4 << 20];
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n < sizeof bytes);

    tales_model none;
    assert_non_null(tales_load(&none, "bench/data/no such file"));
    assert_non_null(tales_load(&none, "bench"));
    assert_null(load_damaged(bytes, n, -1, 0));
    assert_text(load_damaged(bytes, 0, -1, 0), "not a tales model (wrong magic)");
    assert_text(load_damaged(bytes, n, 0, 't'), "not a tales model (wrong magic)");
    assert_text(load_damaged(bytes, FIRST_PIECE - 1, -1, 0), "truncated in the header");
    assert_text(load_damaged(bytes, FIRST_PIECE + 100, -1, 0), "truncated in the vocabulary");
    assert_text(load_damaged(bytes, n / 2, -1, 0), "truncated in the weights");
    assert_text(load_damaged(bytes, n - 1, -1, 0), "truncated in the weights");
    assert_text(load_damaged(bytes, n + 1, -1, 0), "longer than its header says");
    assert_text(load_damaged(bytes, n, N_VOCAB + 3, 0xff), "a size in the header is out of range");
    assert_text(load_damaged(bytes, n, DIM, 0), "a size in the header is out of range");
    assert_text(load_damaged(bytes, n, HEADS, 3), "the sizes in the header do not fit together");
    assert_text(load_damaged(bytes, n, PIECES + 1, 1), "the vocabulary is damaged");
    assert_text(load_damaged(bytes, n, FIRST_PIECE + 10145, 200), "the vocabulary is damaged");
}

int main(int argc, char **argv) { return test_main(argc, argv, setup, teardown); }
