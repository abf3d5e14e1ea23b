/* fuzz_llama.c - a chain behind llama.cpp's interface (on the made-up llama.cpp) and its twin behind ours: a fuzzer's bytes
   are the chain, the rows and the calls. Both select the same token, leave the same array and are in the same state; an
   array that samp_apply refuses has nothing selected. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_LLAMA
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/made_up_llama.h"
#include "fuzz.h"

enum { N = 6 };

static samp_token_data_array array_of(samp_token_data *data, const float *row)
{
    for (int i = 0; i < N; i++) data[i].id = i, data[i].logit = row[i], data[i].p = 0.0f;
    samp_token_data_array cur = { data, N, -1, false };
    return cur;
}

static void apply_both(struct llama_sampler *s, samp_sampler *twin, const float *row)
{
    samp_token_data a[N], b[N];
    samp_token_data_array x = array_of(a, row), y = array_of(b, row);
    ((const layout_6 *)(const void *)s->iface)->apply(s, &x);
    int status = samp_apply(twin, &y);
    if (status)
        MUST(x.selected == -1);
    else
        MUST(x.size == y.size && x.selected == y.selected && x.sorted == y.sorted &&
             !memcmp(a, b, x.size * sizeof *a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source rng = source_bytes(data, size);
    float row[N];
    struct llama_context context = { &words, row };
    samp_sampler *twin = make_chain(&rng, N);
    struct llama_sampler *s = samp_llama_init(samp_clone(twin));
    MUST(s);
    for (int i = 0; i < 24 && rng.left > 0; i++) {
        const layout_6 *f = (const layout_6 *)(const void *)s->iface;
        samp_token token = (samp_token)below(&rng, N + 2) - 1;
        make_row(&rng, row, N);
        switch (below(&rng, 6)) {
            case 0: f->accept(s, token), samp_accept(twin, token); break;
            case 1: f->reset(s), samp_reset(twin); break;
            case 2: {
                struct llama_sampler *copy = f->clone(s);
                MUST(copy);
                llama_free(s);
                s = copy;
                samp_sampler *other = samp_clone(twin); /* a custom sampler's clone starts anew */
                samp_free(twin);
                twin = other;
                break;
            }
            case 3: MUST(samp_llama_sample(samp_llama_chain(s), &context, -1) == samp_sample(twin, row, N)); break;
            default: apply_both(s, twin, row); break;
        }
        MUST(same_state(samp_llama_chain(s), twin));
        MUST(!strcmp(((const layout_6 *)(const void *)s->iface)->name(s), samp_name(twin)));
    }
    llama_free(s);
    samp_free(twin);
    MUST(n_samplers == 0);
    return 0;
}
