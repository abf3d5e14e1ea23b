/* test_canary.c - the trial of a device (the canary, gpu/canary.h), on kernels that run on the host. It must pass with
   right kernels, and its rows must need every pass. If a kernel is broken (tests/tools/broken.py puts the breaks into the
   header, each with a number), the context must say CPU and give the right tokens.

     test_canary           the kernels as they are
     test_canary N         kernel N is broken; exits with 0 if the context has noticed
     test_canary N blind   the same without the trial; exits with 3 if tokens are wrong */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* alarm */
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static int mutant; /* 0: no kernel is broken */
#define MUTANT(n) (mutant == (n))
static bool blind;
static void run_teams(const void *args, uint32_t n);
#define SAMPI_HOST_TEAMS(a, n) run_teams((a), (n))
#define SAMPI_GPU_TRUSTS(gpu)  (blind || (gpu)->mode == SAMPI_GPU_ON_CPU)
#define SAMPLING_GUMBEL
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"

/* The passes that ran. Teams on the host do not wait, so each launch is one pass of each row. */
static unsigned passes_seen;

static void run_teams(const void *args, uint32_t n)
{
    const sampi_gpu_args *a = (const sampi_gpu_args *)args;
    for (uint32_t r = 0; r < a->n_rows; r++)
        if (a->result[r].batch != a->batch) passes_seen |= 1u << a->state[r].pass;
    for (uint32_t team = 0; team < n; team++) sampi_gpu_team(a, team);
}

enum { ROWS = 6, N = 9000, BATCHES = 2 };
static float logits[ROWS * N];

/* Compares batches of other rows than the trial's, on the context and on the CPU. */
static bool same_tokens(samp_gpu *gpu)
{
    samp_sampler *rows[ROWS], *alike[ROWS];
    samp_logits l = { logits, SAMP_F32, ROWS, N, 0, NULL, NULL, 0, NULL, 1, NULL };
    bool same = true;
    for (int i = 0; i < ROWS * N; i++) logits[i] = 6.0f * (float)((unsigned)i * 2654435761u >> 8) / (float)(1 << 24);
    for (int r = 0; r < ROWS; r++) {
        samp_params p = samp_default_params();
        p.seed = (uint64_t)r;
        if (r == 1) p.top_k = 0;
        if (r == 2) p.top_k = 0, p.min_p = 0.0f, p.top_p = 0.5f;
        if (r == 3) p.mirostat = 2, p.n_vocab = N;
        if (r == 4) p.top_k = 0, p.typ_p = 0.5f;
        if (r == 5) p.penalty_last_n = 64, p.penalty_repeat = 1.3f;
        rows[r] = samp_chain_from_params(&p, NULL);
        alike[r] = samp_clone(rows[r]);
    }
    for (int batch = 0; batch < BATCHES; batch++) {
        samp_token got[ROWS], want[ROWS];
        const bool sampled = samp_gpu_sample_batch(gpu, rows, &l, got) == SAMP_OK;
        if (samp_sample_batch(alike, &l, want) != SAMP_OK) return false;
        same = same && sampled && !memcmp(got, want, sizeof got);
    }
    for (int r = 0; r < ROWS; r++) samp_free(rows[r]), samp_free(alike[r]);
    return same;
}

static int failed(const char *what)
{
    printf("test_canary: mutant %d: %s\n", mutant, what);
    return 1;
}

int main(int argc, char **argv)
{
    /* The context believes that logits and tokens are on the device: on the CPU it must then fetch its rows. */
    const samp_gpu_config config = { SAMP_GPU_HOST, ROWS, N, SAMP_F32, true, true, 0, false };
    int status = SAMP_OK;
    char plan[200];
    alarm(60);
    mutant = argc > 1 ? atoi(argv[1]) : 0;
    blind = argc > 2;
    samp_gpu *gpu = samp_gpu_init(&config, &status);
    if (!gpu) return failed(samp_strerror(status));
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, samp_init_greedy());
    samp_gpu_plan(gpu, chain, plan, sizeof plan);
    samp_free(chain);
    const bool cpu = !strcmp(samp_gpu_device_name(gpu), "cpu"), same = same_tokens(gpu);
    const unsigned all = (1u << SAMPI_PASS_NONE) - 1;
    if (!mutant && passes_seen != all)
        return printf("passes %x of %x\n", passes_seen, all), failed("passes are missing");
    if (!mutant && (cpu || strcmp(plan, "device: greedy") != 0)) return failed(plan);
    if (!mutant) return same ? 0 : failed("other tokens");
    if (blind) return same ? 0 : 3;
    if (!cpu || strncmp(plan, "cpu (the device ", 16) != 0) return failed("not noticed");
    if (samp_gpu_perf(gpu).n_cpu != ROWS * BATCHES) return failed("not on the CPU");
    samp_gpu *second = samp_gpu_init(&config, &status); /* uses the verdict that exists */
    if (!second || strcmp(samp_gpu_device_name(second), "cpu") != 0) return failed("the second context");
    samp_gpu_free(second);
    printf("%s\n", plan);
    samp_gpu_free(gpu);
    return same ? 0 : failed("other tokens, on the CPU");
}
