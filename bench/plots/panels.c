/* panels.c - what every sampler does to one row: the story model's, behind "The old king had a".
 *
 *     cc -O2 -I. bench/plots/panels.c -o panels -lm && ./panels bench/data/tales.bin > samplers.dat        or make plots
 *
 * For each sampler a block for gnuplot: "sampler|its values", then a line a token, the likeliest first:
 * place, text, probability before, probability after; the last line is all other tokens. Where a sampler selects, after
 * is what it draws from, but for greedy's, dist's and gumbel's: those are what came out of many draws. */
#define SAMPLING_KV
#define SAMPLING_CONSTRAINTS
#define SAMPLING_GUMBEL
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "bench/demo/tales_model.h"

enum { SHOWN = 12, DRAWS = 20000 };

static tales_model m;
static int n;
static float *row; /* [n] */
static int *order; /* [n] tokens, the likeliest first */
static double *before, *after;

static int by_logit(const void *a, const void *b)
{
    float x = row[*(const int *)a], y = row[*(const int *)b];
    return (x < y) - (x > y);
}

static void fail(const char *what)
{
    fprintf(stderr, "panels: %s\n", what);
    exit(1);
}

static const char *token_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    return tales_piece(&m, token, n_bytes);
}

static samp_token_data_array candidates(void)
{
    samp_token_data *data = (samp_token_data *)malloc((size_t)n * sizeof *data);
    if (!data) fail("out of memory");
    for (int i = 0; i < n; i++) data[i] = (samp_token_data){ i, row[i], 0.0f };
    return (samp_token_data_array){ data, (size_t)n, -1, false };
}

static void softmax(const samp_token_data_array *cur, double *p)
{
    double sum = 0.0;
    float max = -INFINITY;
    for (int i = 0; i < n; i++) p[i] = 0.0;
    for (size_t i = 0; i < cur->size; i++) max = fmaxf(max, cur->data[i].logit);
    for (size_t i = 0; i < cur->size; i++) sum += p[cur->data[i].id] = exp((double)(cur->data[i].logit - max));
    for (int i = 0; i < n; i++) p[i] /= sum;
}

/* What the sampler makes of the row, or, if draws, how often it draws each token. */
static void panel(const char *title, samp_sampler *s, bool draws)
{
    for (int i = 0; i < n && draws; i++) after[i] = 0.0;
    if (samp_status(s, NULL)) fail(title);
    for (int k = 0; k < (draws ? DRAWS : 1); k++) {
        samp_token_data_array cur = candidates();
        if (samp_apply(s, &cur)) fail(title);
        if (draws)
            after[cur.data[cur.selected].id] += 1.0 / DRAWS;
        else
            softmax(&cur, after);
        free(cur.data);
    }
    printf("\"%s\"\n", title);
    double others = 1.0, others_after = 1.0;
    for (int i = 0; i < SHOWN; i++) {
        size_t length;
        const char *text = tales_piece(&m, order[i], &length);
        printf("%d \"%.*s\" %.5f %.5f\n", i, (int)length, text, before[order[i]], after[order[i]]);
        others -= before[order[i]];
        others_after -= after[order[i]];
    }
    printf("%d \"all others\" %.5f %.5f\n\n\n", SHOWN, others, fmax(0.0, others_after));
    samp_free(s);
}

/* Behind a text in which these of the likeliest tokens stood, one after the other. */
static samp_sampler *behind(samp_sampler *s, const char *places)
{
    for (; *places; places++) samp_accept(s, order[*places - 'a']);
    return s;
}

static samp_sampler *both(samp_sampler *first, samp_sampler *second)
{
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, first);
    samp_chain_add(chain, second);
    return chain;
}

/* Of those that mask and weigh tokens by what has been accepted, those that this row shows. */
static void constraint_panels(const samp_vocab *vocab)
{
    static const char *const strings[] = { " son", "great" };
    const samp_token very_long[] = { order[3], order[5] }, allowed[] = { order[1], order[2], order[10] };
    const samp_sequence sequence = { very_long, 2, 1.5f };
    panel("banned_strings|son, great", samp_init_banned_strings(vocab, strings, 2, 0), false);
    panel("no_repeat_ngram|2, behind very long ... very", behind(samp_init_no_repeat_ngram(2, 64), "dfbd"), false);
    panel("sequence_bias|very long +1.5, behind very", behind(samp_init_sequence_bias(&sequence, 1), "d"), false);
    panel("allowed_tokens|daughter, son, heart", samp_init_allowed_tokens(allowed, 3), false);
}

static void all_panels(void)
{
    const samp_token end[] = { TALES_END };
    samp_vocab vocab = { n, token_bytes, NULL, NULL, end, 1, TALES_END, -1 };
    samp_logit_bias bias[] = { { order[3], 2.0f }, { order[0], -INFINITY } };
    panel("logit_bias|very +2, great -inf", samp_init_logit_bias(n, 2, bias), false);
    panel("penalties|repeat 1.5, behind great, son", behind(samp_init_penalties(64, 1.5f, 0.0f, 0.0f), "ac"), false);
    panel("dry|1.5, behind son great ... son",
          behind(samp_init_dry(NULL, 4096, 1.5f, 1.75f, 1, -1, NULL, 0), "cafec"), false);
    panel("top_n_sigma|0.9", samp_init_top_n_sigma(0.9f), false);
    panel("top_k|5", samp_init_top_k(5), false);
    panel("tail_free|0.8", samp_init_tail_free(0.8f, 0), false);
    panel("typical|0.5", samp_init_typical(0.5f, 0), false);
    panel("top_p|0.6", samp_init_top_p(0.6f, 0), false);
    panel("min_p|0.2", samp_init_min_p(0.2f, 0), false);
    panel("top_a|0.8", samp_init_top_a(0.8f, 0), false);
    panel("p_less|1", samp_init_p_less(1.0f, 0), false);
    panel("p_less_norm|1", samp_init_p_less_norm(1.0f, 0), false);
    panel("epsilon|0.05", samp_init_epsilon(0.05f, 0), false);
    panel("eta|0.05", samp_init_eta(0.05f, 0), false);
    panel("top_h|0.5", samp_init_top_h(0.5f, 0), false);
    panel("min_k|3", samp_init_min_k(3.0f), false);
    panel("xtc|probability 1, threshold 0.1", samp_init_xtc(1.0f, 0.1f, 0, 0), false);
    panel("infill|behind top_k 5", both(samp_init_top_k(5), samp_init_infill(&vocab)), false);
    panel("temp|0.5", samp_init_temp(0.5f), false);
    panel("temp_ext|0.7, range 0.6", samp_init_temp_ext(0.7f, 0.6f, 1.0f), false);
    panel("smoothing|factor 0.5, curve 1", samp_init_smoothing(0.5f, 1.0f), false);
    panel("log_softmax|it only shifts", samp_init_log_softmax(), false);
    panel("softmax|it only sorts", samp_init_softmax(), false);
    panel("greedy|", samp_init_greedy(), true);
    panel("dist|20,000 draws", samp_init_dist(1), true);
    panel("gumbel|20,000 draws", samp_init_gumbel(1), true);
    panel("mirostat|tau 2.5", samp_init_mirostat(n, 1, 2.5f, 0.1f, 100), false);
    panel("mirostat_v2|tau 1.5", samp_init_mirostat_v2(1, 1.5f, 0.1f), false);
    panel("adaptive_p|0.1, behind min_p 0.05", both(samp_init_min_p(0.05f, 0), samp_init_adaptive_p(0.1f, 0.9f, 1)),
          false);
    samp_watermark mark = samp_default_watermark(SAMP_WATERMARK_SBW_LEFTHASH);
    mark.key = 1;
    panel("watermark|SBW lefthash, behind very", behind(samp_init_watermark(&mark), "d"), false);
    constraint_panels(&vocab);
}

int main(int argc, char **argv)
{
    samp_token ids[64];
    const char *error = tales_load(&m, argc > 1 ? argv[1] : "bench/data/tales.bin");
    if (error) fail(error);
    n = m.n_vocab;
    row = (float *)malloc((size_t)n * sizeof *row);
    order = (int *)malloc((size_t)n * sizeof *order);
    before = (double *)malloc(2 * (size_t)n * sizeof *before);
    if (!row || !order || !before) fail("out of memory");
    after = before + n;
    int n_prompt = tales_tokenise(&m, "The old king had a", ids, 64);
    for (int i = 0; i < n_prompt; i++) memcpy(row, tales_eval(&m, ids[i], i), (size_t)n * sizeof *row);
    for (int i = 0; i < n; i++) order[i] = i;
    qsort(order, (size_t)n, sizeof *order, by_logit);
    samp_token_data_array cur = candidates();
    softmax(&cur, before);
    free(cur.data);
    all_panels();
    free(row);
    free(order);
    free(before);
    tales_free(&m);
    return 0;
}
