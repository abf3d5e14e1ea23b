/* bench.c - what watermarks promise, measured on the story model (bench/demo/): `make bench-watermark`. Four tables, as
   Markdown, for src/watermark/README.md, and the figures of a picture:

     null     p of texts without the mark, over keys: Kolmogorov-Smirnov of p, randomised where scores are discrete, and the
              share of p <= a
     power    tokens until p < 1e-6, for temperatures and behind top_k 40
     edits    p of 400 tokens of which some are other tokens
     keys     chi-square of the token drawn over keys, against the model's probabilities

   Usage: bench MODEL [small|full] [curves.csv]. small: a hundredth of it, without the power, as a test. It
   fails if p is not what it says. */
#define SAMPLING_KV
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include "bench/demo/tales_model.h"
#include "tests/support/source.h"

enum { N_KIND = 5, LONGEST = 800, N_SHAPE = 4 };
static const char *const names[N_KIND] = { "Gumbel", "dual key", "SBW selfhash", "SBW lefthash", "SynthID" };
static const samp_watermark_kind kinds[N_KIND] = { SAMP_WATERMARK_GUMBEL, SAMP_WATERMARK_GUMBEL_DUAL,
                                                   SAMP_WATERMARK_SBW_SELFHASH, SAMP_WATERMARK_SBW_LEFTHASH,
                                                   SAMP_WATERMARK_SYNTHID };
static const struct {
    const char *name;
    float temp;
    int32_t top_k;
} shapes[N_SHAPE] = { { "0.6", 0.6f, 0 }, { "0.8", 0.8f, 0 }, { "1.0", 1.0f, 0 }, { "0.8, top_k 40", 0.8f, 40 } };

static tales_model model;
static bool failed;

/* The chain of a shape, with a mark or without: SBW first, what selects last. */
static samp_sampler *make_chain(const samp_watermark *mark, int shape, uint64_t seed)
{
    const bool is_sbw = mark &&
                        (mark->kind == SAMP_WATERMARK_SBW_SELFHASH || mark->kind == SAMP_WATERMARK_SBW_LEFTHASH);
    samp_sampler *chain = samp_chain_init();
    if (is_sbw) samp_chain_add(chain, samp_init_watermark(mark));
    if (shapes[shape].top_k) samp_chain_add(chain, samp_init_top_k(shapes[shape].top_k));
    samp_chain_add(chain, samp_init_temp(shapes[shape].temp));
    samp_chain_add(chain, mark && !is_sbw ? samp_init_watermark(mark) : samp_init_dist(seed));
    return chain;
}

/* n tokens of a story; where the model's context is full, or a story ends, another one begins in the same text. */
static void write_story(samp_sampler *chain, samp_token *text, int n)
{
    const float *logits = NULL;
    for (int i = 0, at = 0; i < n; i++, at++) {
        if (!logits || at == model.n_ctx || text[i - 1] == TALES_END) {
            at = 0;
            logits = tales_eval(&model, TALES_BEGIN, at++);
        }
        text[i] = samp_sample(chain, logits, (size_t)model.n_vocab);
        if (text[i] < 0) exit(2);
        logits = at < model.n_ctx ? tales_eval(&model, text[i], at) : NULL;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- null ---- */

/* P(D sqrt(n) >= x) of Kolmogorov's distribution. */
static double kolmogorov(double x)
{
    double sum = 0.0;
    if (x < 0.2) return 1.0;
    for (int k = 1; k < 100; k++) sum += (k % 2 ? 2.0 : -2.0) * exp(-2.0 * k * k * x * x);
    return sum < 0.0 ? 0.0 : sum > 1.0 ? 1.0 : sum;
}

/* p between this score and the next smaller one, by chance: uniform where scores are discrete and p is exact. */
static double randomised(const samp_watermark *mark, const samp_watermark_result *result, double u)
{
    sampi_sampler t = sampi_mark_of(mark);
    samp_watermark_result above;
    double sum = result->score;
    if (mark->kind <= SAMP_WATERMARK_GUMBEL_DUAL) return result->p_value;
    if (mark->kind == SAMP_WATERMARK_SYNTHID) sum = floor(sum * (double)result->n_scored * mark->depth + 0.5);
    double trials = (double)result->n_scored * (mark->kind == SAMP_WATERMARK_SYNTHID ? mark->depth : 1);
    if (sum >= trials) return u * result->p_value;
    sampi_mark_result(&t.u.mark, sum + 1.0, result->n_scored, &above);
    return above.p_value + u * (result->p_value - above.p_value);
}

static void null(int n_texts, int n_keys)
{
    enum { TOKENS = 200 };
    const int n = n_texts * n_keys;
    samp_token(*text)[TOKENS] = malloc((size_t)n_texts * sizeof *text);
    double *p = malloc((size_t)n * sizeof *p);
    source rng = source_stream(1);
    for (int i = 0; i < n_texts; i++) {
        samp_sampler *chain = make_chain(NULL, i % N_SHAPE, (uint64_t)i);
        write_story(chain, text[i], TOKENS);
        samp_free(chain);
    }
    printf("%d pairs of a text without a mark (%d stories of %d tokens) and a random key:\n\n", n, n_texts,
           (int)TOKENS);
    printf("| kind | KS: D sqrt(n) | its p | p <= 0.1 | p <= 0.01 | p <= 0.001 | tokens that count "
           "|\n|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < N_KIND; k++) {
        double d = 0.0, scored = 0.0, share[3] = { 0.0, 0.0, 0.0 };
        for (int i = 0; i < n; i++) {
            samp_watermark mark = samp_default_watermark(kinds[k]);
            samp_watermark_result result;
            mark.key = choose(&rng, 8);
            if (samp_watermark_detect(&mark, text[i / n_keys], TOKENS, &result)) exit(2);
            for (int a = 0; a < 3; a++) share[a] += result.p_value <= pow(10.0, -1 - a);
            scored += (double)result.n_scored;
            p[i] = randomised(&mark, &result, uniform(&rng));
        }
        qsort(p, (size_t)n, sizeof *p, by_size);
        for (int i = 0; i < n; i++) d = fmax(d, fmax((i + 1.0) / n - p[i], p[i] - (double)i / n));
        d *= sqrt((double)n);
        printf("| %s | %.2f | %.2f | %.4f | %.4f | %.5f | %.0f |\n", names[k], d, kolmogorov(d), share[0] / n,
               share[1] / n, share[2] / n, scored / n);
        for (int a = 0; a < 3; a++) { /* five sigma; two keys are approximate */
            double want = n * pow(10.0, -1 - a);
            if (share[a] > want * (k == 1 ? 1.2 : 1.0) + 5.0 * sqrt(want) + 1.0) failed = true;
        }
        if (kolmogorov(d) < 1e-5 && k != 1) failed = true;
    }
    printf("\n");
    free(text);
    free(p);
}

/* ---- power ---- */

/* ln p of the first i tokens, for all i: by the detector's own scores. */
static void curve_of(const samp_watermark *mark, const samp_token *text, int n, double *ln_p)
{
    sampi_sampler t = sampi_mark_of(mark);
    double *score = sampi_score_text(&t.u.mark, text, (size_t)n), sum = 0.0;
    size_t count = 0;
    for (int i = 0; i < n; i++) {
        samp_watermark_result result;
        if (score[i] >= 0.0) sum += score[i], count++;
        sampi_mark_result(&t.u.mark, sum, count, &result);
        ln_p[i] = result.ln_p;
    }
    SAMP_FREE(score);
}

static double median_curve[N_KIND][LONGEST]; /* -log10 p at temperature 0.8 */

static void power(int n_texts)
{
    double *all = malloc((size_t)n_texts * LONGEST * sizeof *all), *needed = malloc((size_t)n_texts * sizeof *needed);
    printf("Tokens from which on p stays below 1e-6, in the median and of nine texts in ten (%d stories each, at "
           "most %d tokens):\n\n",
           n_texts, (int)LONGEST);
    printf("| kind | temperature 0.6 | 0.8 | 1.0 | 0.8 behind top_k 40 |\n|---|---|---|---|---|\n");
    for (int k = 0; k < N_KIND; k++) {
        printf("| %s |", names[k]);
        for (int shape = 0; shape < N_SHAPE; shape++) {
            for (int i = 0; i < n_texts; i++) {
                samp_token text[LONGEST];
                samp_watermark mark = samp_default_watermark(kinds[k]);
                mark.key = samp_child_seed(2026, (uint64_t)(i * N_SHAPE + shape));
                mark.seed = (uint64_t)i;
                samp_sampler *chain = make_chain(&mark, shape, mark.seed);
                write_story(chain, text, LONGEST);
                samp_free(chain);
                curve_of(&mark, text, LONGEST, all + (size_t)i * LONGEST);
                int at = LONGEST; /* from here on p stays below */
                while (at > 0 && all[(size_t)i * LONGEST + (size_t)at - 1] < -6.0 * log(10.0)) at--;
                needed[i] = at + 1;
            }
            qsort(needed, (size_t)n_texts, sizeof *needed, by_size);
            double middle = needed[n_texts / 2], most = needed[n_texts * 9 / 10];
            printf(middle > LONGEST ? " more than %.0f," : " %.0f,", middle > LONGEST ? LONGEST : middle);
            printf(most > LONGEST ? " more than %.0f |" : " %.0f |", most > LONGEST ? LONGEST : most);
            for (int at = 0; shape == 1 && at < LONGEST; at++) {
                for (int i = 0; i < n_texts; i++) needed[i] = all[(size_t)i * LONGEST + (size_t)at];
                qsort(needed, (size_t)n_texts, sizeof *needed, by_size);
                median_curve[k][at] = -needed[n_texts / 2] / log(10.0);
            }
            if (kinds[k] == SAMP_WATERMARK_GUMBEL && shape == 2 && middle > 200) failed = true;
        }
        printf("\n");
    }
    printf("\n");
    free(all);
    free(needed);
}

/* ---- edits ---- */

static void edits(int n_texts)
{
    enum { TOKENS = 400 };
    static const int percents[] = { 0, 10, 20, 30 };
    samp_token(*story)[TOKENS] = malloc((size_t)n_texts * sizeof *story);
    double *p = malloc((size_t)n_texts * sizeof *p);
    source rng = source_stream(3);
    printf("Median of log10 p of %d tokens at temperature 0.8, of which so many are other ones (%d stories):\n\n",
           (int)TOKENS, n_texts);
    printf("| kind | none | 10 %% | 20 %% | 30 %% |\n|---|---|---|---|---|\n");
    for (int k = 0; k < N_KIND; k++) {
        printf("| %s |", names[k]);
        for (int i = 0; i < n_texts; i++) {
            samp_watermark mark = samp_default_watermark(kinds[k]);
            mark.key = samp_child_seed(7, (uint64_t)i);
            mark.seed = (uint64_t)i;
            samp_sampler *chain = make_chain(&mark, 1, mark.seed);
            write_story(chain, story[i], TOKENS);
            samp_free(chain);
        }
        for (int e = 0; e < 4; e++) {
            for (int i = 0; i < n_texts; i++) {
                samp_token text[TOKENS];
                samp_watermark_result result;
                samp_watermark mark = samp_default_watermark(kinds[k]);
                mark.key = samp_child_seed(7, (uint64_t)i);
                memcpy(text, story[i], sizeof text);
                for (int at = 0; at < TOKENS; at++)
                    if (percent(&rng, (unsigned)percents[e]))
                        text[at] = (samp_token)below(&rng, (uint64_t)model.n_vocab);
                if (samp_watermark_detect(&mark, text, TOKENS, &result)) exit(2);
                p[i] = result.ln_p / log(10.0);
            }
            qsort(p, (size_t)n_texts, sizeof *p, by_size);
            printf(" %.1f |", p[n_texts / 2]);
        }
        printf("\n");
    }
    printf("\n");
    free(story);
    free(p);
}

/* ---- keys ---- */

/* Wilson and Hilferty: chi-square of k degrees as a normal variable, and its upper tail. */
static double chi_square_p(double x, double k)
{
    double z = (cbrt(x / k) - (1.0 - 2.0 / (9.0 * k))) / sqrt(2.0 / (9.0 * k));
    return 0.5 * erfc(z / sqrt(2.0));
}

static void keys(int n_keys)
{
    enum { CELLS = 64 };
    float row[CELLS];
    double weight[CELLS], sum = 0.0;
    const float *logits = tales_eval(&model, TALES_BEGIN, 0);
    samp_token_data *data = malloc((size_t)model.n_vocab * sizeof *data);
    samp_token_data_array cur = { data, (size_t)model.n_vocab, -1, false };
    samp_sampler *best = samp_init_top_k(CELLS);
    for (int i = 0; i < model.n_vocab; i++) data[i].id = i, data[i].logit = logits[i], data[i].p = 0.0f;
    if (samp_apply(best, &cur)) exit(2);
    samp_free(best);
    for (int i = 0; i < CELLS; i++) row[i] = data[i].logit;
    for (int i = 0; i < CELLS; i++) sum += weight[i] = exp((double)row[i] - (double)row[0]);
    printf(
        "The first token of a story, over %d keys, against the model's probabilities (its %d likeliest tokens):\n\n",
        n_keys, (int)CELLS);
    printf("| kind | chi-square | degrees | its p |\n|---|---|---|---|\n");
    for (int k = 0; k < N_KIND; k++) {
        long seen[CELLS] = { 0 };
        double x = 0.0, pool = 0.0, pool_seen = 0.0;
        int cells = 0;
        if (kinds[k] == SAMP_WATERMARK_SBW_SELFHASH || kinds[k] == SAMP_WATERMARK_SBW_LEFTHASH) continue;
        for (int i = 0; i < n_keys; i++) {
            samp_watermark mark = samp_default_watermark(kinds[k]);
            mark.scope = SAMP_WATERMARK_ALWAYS;
            mark.key = samp_child_seed(99, (uint64_t)i);
            mark.seed = (uint64_t)i;
            samp_sampler *s = samp_init_watermark(&mark);
            samp_set_rollback(s, 0);
            samp_token token = samp_sample(s, row, CELLS);
            if (token < 0) exit(2);
            seen[token]++;
            samp_free(s);
        }
        for (int i = 0; i < CELLS; i++) {
            double want = weight[i] / sum * n_keys;
            if (want < 10.0) {
                pool += want;
                pool_seen += (double)seen[i];
                continue;
            }
            x += ((double)seen[i] - want) * ((double)seen[i] - want) / want;
            cells++;
        }
        if (pool >= 10.0) x += (pool_seen - pool) * (pool_seen - pool) / pool, cells++;
        double p = chi_square_p(x, cells - 1);
        printf("| %s | %.1f | %d | %.2f |\n", names[k], x, cells - 1, p);
        if (p < 1e-6) failed = true;
    }
    printf("\n");
    free(data);
}

/* ---- the picture: bench/plots/watermark.gp draws it ---- */

static bool write_curves(const char *path)
{
    enum { SHOWN = 300 };
    FILE *to = fopen(path, "w");
    if (!to) return false;
    fprintf(to, "kind,tokens,p_exponent\n");
    for (int k = 0; k < N_KIND; k++)
        for (int i = 4; i < SHOWN; i += 5) fprintf(to, "%s,%d,%.2f\n", names[k], i + 1, median_curve[k][i]);
    return fclose(to) == 0;
}

int main(int argc, char **argv)
{
    const bool small = argc > 2 && !strcmp(argv[2], "small");
    const char *error = argc > 1 ? tales_load(&model, argv[1]) : "which model?";
    if (error) {
        fprintf(stderr, "bench: %s\n", error);
        return 2;
    }
    null(small ? 8 : 200, small ? 50 : 100);
    if (!small) power(40);
    edits(small ? 1 : 20);
    keys(small ? 20000 : 200000);
    if (argc > 3 && !write_curves(argv[3])) return 2;
    tales_free(&model);
    if (failed) fprintf(stderr, "bench: not what is promised\n");
    return failed;
}
