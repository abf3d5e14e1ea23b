/* test_tales.c - the demo's model against its reference values, alone and under the library's greedy
   chain; and what its loader says of damaged files. Run from the repository's root. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#define SAMPLING_KV
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

static void test_tokenise(void **state)
{
    (void)state;
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
static void test_tokenise_bytes(void **state)
{
    (void)state;
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

static void test_logits_golden(void **state)
{
    (void)state;
    for (const golden *g = goldens; g < goldens + N_GOLDEN; g++) {
        const float *logits = eval_prompt(g);
        double largest = 0.0;
        for (int i = 0; i < model.n_vocab; i++) largest = fmax(largest, fabs((double)g->logits[i]));
        for (int i = 0; i < model.n_vocab; i++) assert_near(logits[i], g->logits[i], 1e-5 * largest);
    }
}

/* A text that begins at position 0 owes nothing to the one before. */
static void test_new_text(void **state)
{
    (void)state;
    float first[2048];
    assert_true(model.n_vocab <= 2048);
    memcpy(first, eval_prompt(&goldens[0]), (size_t)model.n_vocab * sizeof(float));
    eval_prompt(&goldens[1]);
    assert_memory_equal(eval_prompt(&goldens[0]), first, (size_t)model.n_vocab * sizeof(float));
}

static void test_eval_range(void **state)
{
    (void)state;
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

static void test_greedy_alone(void **state)
{
    (void)state;
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

static void test_greedy_chain(void **state)
{
    (void)state;
    samp_sampler *chain = samp_chain_init();
    assert_ok(samp_chain_add(chain, samp_init_greedy()));
    check_greedy(chain);
}

static void test_greedy_params(void **state)
{
    (void)state;
    samp_params params = samp_default_params();
    params.temp = 0.0f;
    for (int rng = SAMP_RNG_PHILOX; rng <= SAMP_RNG_MT19937; rng++) {
        params.rng = (samp_rng_kind)rng;
        check_greedy(samp_chain_from_params(&params, NULL));
    }
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

static void test_load_errors(void **state)
{
    (void)state;
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenise),      cmocka_unit_test(test_tokenise_bytes),
        cmocka_unit_test(test_logits_golden), cmocka_unit_test(test_new_text),
        cmocka_unit_test(test_eval_range),    cmocka_unit_test(test_greedy_alone),
        cmocka_unit_test(test_greedy_chain),  cmocka_unit_test(test_greedy_params),
        cmocka_unit_test(test_load_errors),
    };
    return test_run(argc, argv, tests, setup, teardown);
}
