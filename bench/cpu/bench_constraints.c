/* bench_constraints.c -- what each constraint adds to a token: llama.cpp's default chain with it in front, beside the same
 * chain without, by turns; 128,256 tokens.
 *
 *     make bench-constraints
 *
 * The rows are normal logits with a peak, the vocabulary is made up: pieces of one to eight letters, half of them behind a
 * blank. A time is the least of many turns. */

#define SAMPLING_GRAMMAR
#define SAMPLING_CONSTRAINTS
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/source.h"

enum { N = 128256, ROWS = 16, TURNS = 100, WINDOW = 4096, FORCED = 1 << 20, MANY = 20000 };

static float *rows;
static char (*pieces)[10];
static samp_token *forced, many[MANY];

static const char *piece_bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    (void)vocab;
    *n = strlen(pieces[token]);
    return pieces[token];
}

static const samp_token eog[] = { 128001, 128009 };
static const samp_vocab vocab = { N, piece_bytes, NULL, NULL, eog, 2, 128001, 128009 };
static const char *const strings[] = { " a testament to", " shivers down",
                                       " ministrations",  " barely above a whisper",
                                       " tapestry of",    "Certainly! ",
                                       " delve into",     " in conclusion," };
static const samp_token words[] = { 11, 22, 33, 44, 55 };
static const samp_sequence sequences[] = { { words, 2, -1.0f }, { words + 1, 3, -INFINITY }, { words + 3, 1, 1.0f } };
static const samp_thinking span = { words, 1, words + 1, 2, NULL, 0 };

static samp_sampler *nothing(void) { return NULL; }
static samp_sampler *bias(void) { return samp_init_sequence_bias(sequences, 3); }
static samp_sampler *ban(void) { return samp_init_banned_strings(&vocab, strings, 8, 0); }
static samp_sampler *ban_case(void) { return samp_init_banned_strings(&vocab, strings, 8, SAMP_BAN_ANY_CASE); }
static samp_sampler *ban_rewind(void) { return samp_init_banned_strings(&vocab, strings, 8, SAMP_BAN_REWIND); }
static samp_sampler *ban_pattern(void)
{
    return samp_init_banned_pattern(&vocab, "eyes? (glint|full|gleam|sparkl|shin|a?glow)|It wasn't.*\\. It was .*\\.",
                                    0, NULL);
}
static samp_sampler *suppress(void) { return samp_init_suppressed_tokens(words, 5); }
static samp_sampler *suppress_many(void) { return samp_init_suppressed_tokens(many, MANY); }
static samp_sampler *least(void) { return samp_init_min_tokens(eog, 2, FORCED, 0); }
static samp_sampler *allow(void) { return samp_init_allowed_tokens(words, 5); }
static samp_sampler *allow_many(void) { return samp_init_allowed_tokens(many, MANY); }
static samp_sampler *prefix(void) { return samp_init_forced_prefix(forced, FORCED, 0); }
static samp_sampler *ends(void) { return samp_init_eog_bias(eog, 2, 1.0f); }
static samp_sampler *growing(void) { return samp_init_length_penalty(eog, 2, 0, 1.0001f, 0); }
static samp_sampler *ngram(void) { return samp_init_no_repeat_ngram(3, WINDOW); }
static samp_sampler *period(void) { return samp_init_loop_breaker(4, 128, 3, 512, 16, INFINITY); }
static samp_sampler *cusum(void) { return samp_init_loop_breaker_cusum(6, WINDOW, 0.25f, 15.0f, INFINITY); }
static samp_sampler *decay(void) { return samp_init_top_p_decay(0.9f, 0.9f, 0.3f, words, 5, 0); }
/* A budget with all that it may have; a schedule at its time, and one that waits; and what a chain with these and a loop
   breaker takes: what nothing forces in so many tokens. */
static const samp_loop loop = { 4, 128, 3, 512, 16 };
static samp_sampler *think_plan(void)
{
    samp_thinking_plan plan = { 0 };
    plan.soft = 1, plan.grace = 50, plan.total = FORCED, plan.note = words, plan.n_note = 5;
    plan.ramp = SAMP_RAMP_EXPONENTIAL, plan.bias = 10.0f;
    return samp_init_thinking(&vocab, &span, 1, FORCED, 0, &plan);
}
static samp_sampler *think_loop(void)
{
    samp_thinking_plan plan = { 0 };
    plan.loop = &loop;
    return samp_init_thinking(&vocab, &span, 1, FORCED, 0, &plan);
}
static samp_sampler *schedule(int32_t to, samp_sampler *member)
{
    samp_schedule when = { SAMP_TOKENS, 0, to, 0, SAMP_ANYWHERE, NULL, 0, 0, NULL, 0, NULL, NULL };
    return samp_init_schedule(&when, member);
}
static samp_sampler *scheduled(void) { return schedule(0, samp_init_eog_bias(eog, 2, 1.0f)); }
static samp_sampler *waiting(void) { return schedule(20, samp_init_eog_bias(eog, 2, 1.0f)); }
static samp_sampler *watch(void) { return samp_init_loop_watch(&loop); }
static samp_sampler *all_three(void)
{
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, samp_init_loop_breaker(4, 128, 3, 512, 16, INFINITY));
    samp_chain_add(chain, think_plan());
    samp_chain_add(chain, scheduled());
    return chain;
}
static samp_sampler *think(void) { return samp_init_thinking_budget(&vocab, &span, 1, FORCED, 0); }

static const struct {
    const char *name;
    samp_sampler *(*make)(void);
} kinds[] = { { "nothing", nothing },
              { "sequence_bias, 3 sequences", bias },
              { "banned_strings, 8", ban },
              { "banned_strings, 8, any case", ban_case },
              { "banned_strings, 8, rewind", ban_rewind },
              { "banned_pattern", ban_pattern },
              { "suppressed_tokens, 5", suppress },
              { "suppressed_tokens, 20,000", suppress_many },
              { "min_tokens", least },
              { "allowed_tokens, 5", allow },
              { "allowed_tokens, 20,000", allow_many },
              { "forced_prefix", prefix },
              { "eog_bias", ends },
              { "length_penalty", growing },
              { "no_repeat_ngram, last 4096", ngram },
              { "loop_breaker, last 512", period },
              { "loop_breaker_cusum, last 4096", cusum },
              { "top_p_decay", decay },
              { "thinking_budget", think },
              { "thinking, with a ramp", think_plan },
              { "thinking, a loop of 512 ends it", think_loop },
              { "loop_watch, last 512", watch },
              { "schedule of eog_bias, its time", scheduled },
              { "schedule of eog_bias, waiting", waiting },
              { "budget, schedule, loop breaker", all_three } };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void make_world(void)
{
    source s = source_seed(1);
    rows = malloc((size_t)ROWS * N * sizeof *rows);
    pieces = malloc(N * sizeof *pieces);
    forced = malloc(FORCED * sizeof *forced);
    if (!rows || !pieces || !forced) exit(1);
    for (size_t i = 0; i < (size_t)ROWS * N; i++)
        rows[i] = (float)(below(&s, 20) ? 2.2 * normal(&s) : 8.0 * normal(&s));
    for (int t = 0; t < N; t++) {
        int n = 1 + (int)below(&s, 8), at = 0;
        if (below(&s, 2)) pieces[t][at++] = ' ';
        for (; n > 0; n--) pieces[t][at++] = "etaoinshrdlcumwfgypbvk"[below(&s, 1 + below(&s, 22))];
        pieces[t][at] = 0;
    }
    for (int i = 0; i < FORCED; i++) forced[i] = (samp_token)below(&s, N);
    for (int i = 0; i < MANY; i++) many[i] = (samp_token)below(&s, N);
}

/* Microseconds a token; below 0: there was none. */
static double time_rows(samp_sampler *chain)
{
    double start = now();
    for (int r = 0; r < ROWS; r++)
        if (samp_sample(chain, rows + (size_t)r * N, N) < 0) return -1.0;
    return (now() - start) / ROWS;
}

int main(void)
{
    static samp_sampler *chain[N_KINDS];
    static double least_us[N_KINDS], made_us[N_KINDS];
    make_world();
    for (int c = 0; c < N_KINDS; c++) {
        double start = now();
        samp_sampler *one = kinds[c].make();
        made_us[c] = now() - start;
        samp_params p = samp_default_params();
        samp_sampler *usual = samp_chain_from_params(&p, NULL);
        chain[c] = samp_chain_init();
        if (one) samp_chain_add(chain[c], one);
        samp_chain_add(chain[c], usual);
        source s = source_seed(3);
        for (int i = 0; i < WINDOW; i++) samp_accept(chain[c], (samp_token)below(&s, N)); /* full windows */
        least_us[c] = 1e9;
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int c = 0; c < N_KINDS; c++) {
            double us = time_rows(chain[c]); /* once for the caches, which the chain before has filled */
            us = fmin(us, time_rows(chain[c]));
            if (us < 0.0) return printf("%s failed\n", kinds[c].name), 1;
            least_us[c] = fmin(least_us[c], us);
        }
    printf("%d tokens, %s; the default chain, and what a constraint in front of it adds\n\n", N, samp_isa_name());
    printf("%-32s %9s %9s %12s\n", "", "us/token", "adds us", "made in us");
    for (int c = 0; c < N_KINDS; c++)
        printf("%-32s %9.2f %9.2f %12.0f\n", kinds[c].name, least_us[c], least_us[c] - least_us[0], made_us[c]);
    for (int c = 0; c < N_KINDS; c++) samp_free(chain[c]);
    free(rows);
    free(pieces);
    free(forced);
    return 0;
}
