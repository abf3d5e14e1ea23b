/* walk.c - texts with each kind of watermark, printed for tests/watermark/reference.py, which computes them a second time.
   Vocabularies are small, so that contexts repeat, and so are histories. Usage: walk [texts of each kind] [seed] */
#define SAMPLING_WATERMARK
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/source.h"

enum { MOST = 24, TOKENS = 50 };

static samp_watermark any_mark(source *s, samp_watermark_kind kind)
{
    samp_watermark mark = samp_default_watermark(kind);
    const bool is_self = kind == SAMP_WATERMARK_SBW_SELFHASH;
    mark.key = below(s, 4) ? choose(s, 8) : below(s, 100);
    mark.context_width = below(s, 2) ? 1 + (int32_t)below(s, 3) : 1 + (int32_t)below(s, is_self ? 4 : 11);
    mark.scope = (samp_watermark_scope)below(s, 3);
    mark.history = below(s, 2) ? 1 + (int32_t)below(s, 30) : 8192;
    mark.alpha = (double)below(s, 11) / 10.0;
    mark.depth = below(s, 2) ? 32 : 1 + (int32_t)below(s, 32);
    mark.gamma = (double)(1 + below(s, 19)) / 20.0;
    mark.delta = (float)(1 + below(s, 50)) / 8.0f;
    mark.seed = choose(s, 8);
    return mark;
}

static void print_logits(const float *l, int n)
{
    for (int i = 0; i < n; i++) printf(" %.9g", (double)l[i]);
}

static void walk(source *s, samp_watermark_kind kind)
{
    samp_watermark mark = any_mark(s, kind);
    samp_sampler *sampler = samp_init_watermark(&mark);
    sampi_sampler *inside = (sampi_sampler *)sampler;
    const int n = 2 + (int)below(s, MOST - 1), n_prompt = (int)below(s, 20);
    samp_token text[TOKENS];
    if (samp_status(sampler, NULL)) exit(2);
    printf("T %d %llu %d %d %d %.17g %d %.17g %.9g", (int)kind, (unsigned long long)mark.key, (int)mark.context_width,
           (int)mark.scope, (int)mark.history, mark.alpha, (int)mark.depth, mark.gamma, (double)mark.delta);
    for (int i = 0; i < n_prompt; i++) {
        samp_token token = (samp_token)below(s, (uint64_t)n);
        samp_accept(sampler, token);
        printf(" %d", (int)token);
    }
    printf("\n");
    for (int at = 0; at < TOKENS; at++) {
        float l[MOST];
        uint32_t context[64];
        samp_token_data data[MOST];
        samp_token_data_array cur = { data, (size_t)n, -1, false };
        sampi_mark_context(inside, 0, context);
        const bool is_marked = !sampi_mark_is_repeated(inside, context);
        for (int i = 0; i < n; i++) l[i] = (float)((int)below(s, 200) - 100) / 16.0f;
        for (int i = 0; i < n; i++) data[i].id = i, data[i].logit = l[i], data[i].p = 0.0f;
        if (kind <= SAMP_WATERMARK_GUMBEL_DUAL) {
            inside->at_position = inside->position;
            inside->at_ordinal = 0;
            bool is_b = kind == SAMP_WATERMARK_GUMBEL_DUAL && sampi_mark_key(inside, false) == inside->u.mark.key[1];
            text[at] = samp_sample(sampler, l, (size_t)n);
            printf("D %d %d %d", is_marked, is_b, (int)text[at]);
            print_logits(l, n);
        } else {
            if (samp_apply(sampler, &cur)) exit(2);
            float after[MOST];
            for (int i = 0; i < n; i++) after[data[i].id] = data[i].logit;
            text[at] = cur.selected >= 0 ? data[cur.selected].id : (samp_token)below(s, (uint64_t)n);
            samp_accept(sampler, text[at]);
            printf("L %d", is_marked);
            print_logits(l, n);
            printf(" /");
            print_logits(after, n);
            printf(" %d", (int)text[at]);
        }
        printf("\n");
    }
    samp_watermark_result result;
    if (samp_watermark_detect(&mark, text, TOKENS, &result)) exit(2);
    printf("R %zu %.17g %.17g\n", result.n_scored, result.score, result.ln_p);
    samp_free(sampler);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 8;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    for (int i = 0; i < n; i++)
        for (int kind = SAMP_WATERMARK_GUMBEL; kind <= SAMP_WATERMARK_SYNTHID; kind++) {
            source s = source_stream(seed * 1000003 + (uint64_t)(5 * i + kind));
            walk(&s, (samp_watermark_kind)kind);
        }
    return 0;
}
