/* micro.c -- what a launch, a fence, a copy and an instruction that is run for the first time cost under gcc's OpenMP on
 * an NVIDIA GPU: the numbers of the model of time (tests/gpu/ptx/time.c) that only a device can tell. `make gpu` builds
 * it, tests/gpu/experiment.sh runs it. Times are medians in us; exits with 77 if there is no device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COPY omp_target_memcpy
#define ROOM omp_target_alloc

enum { ROUNDS = 200 };
static double us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static int by_size(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
#define TIME(what, ...) do { static double t_[ROUNDS]; for (int i_ = -20; i_ < ROUNDS; i_++) { double s_ = us(); __VA_ARGS__; \
    if (i_ >= 0) t_[i_] = us() - s_; } qsort(t_, ROUNDS, sizeof *t_, by_size); \
    printf("%-64s %7.1f us (fastest %.1f, 9 of 10 %.1f)\n", what, t_[ROUNDS / 2], t_[0], t_[ROUNDS * 9 / 10]); fflush(stdout); } while (0)

#pragma omp declare target
static uint64_t *out;   /* device memory */
static uint64_t *there; /* host memory that the device can write, or NULL */
static uint64_t seed;   /* not known to the compiler */
static inline uint64_t cycles(void)
{
    uint64_t x = 0;
    if (__builtin_acc_on_device(5)) __asm__ volatile("mov.u64 %0, %%clock64;" : "=r"(x)::"memory");
    return x;
}
static inline uint32_t sm(void)
{
    uint32_t x = 0;
    if (__builtin_acc_on_device(5)) __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(x));
    return x;
}
static inline void fence_sys(void) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
static inline void fence_gpu(void)
{
    if (__builtin_acc_on_device(5)) __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
}
/* 1024 steps of a chain, some 3,000 instructions (48 KB), not a loop */
#define M1(k) x = x * 3 + (k); x ^= x >> 7;
#define M4(k) M1(k) M1((k) + 1) M1((k) + 2) M1((k) + 3)
#define M16(k) M4(k) M4((k) + 4) M4((k) + 8) M4((k) + 12)
#define M64(k) M16(k) M16((k) + 16) M16((k) + 32) M16((k) + 48)
#define M256(k) M64(k) M64((k) + 64) M64((k) + 128) M64((k) + 192)
static __attribute__((noinline, noclone)) uint32_t long_code(uint32_t x)
{
    M256(0) M256(256) M256(512) M256(768)
    return x;
}
#pragma omp end declare target

#define PRAGMA(x) _Pragma(#x)
#define EMPTY(n) static void empty_##n(void) { PRAGMA(omp target thread_limit(1)) PRAGMA(omp teams num_teams(n)) { } }
static void write_there(void)
{
#pragma omp target thread_limit(1)
#pragma omp teams num_teams(132)
    if (omp_get_team_num() == 0) there[0]++;
}
static void many_warps(void)
{
#pragma omp target thread_limit(8)
#pragma omp teams num_teams(132)
    {
#pragma omp parallel num_threads(8)
        if (seed) out[omp_get_thread_num()] = seed;
    }
}
EMPTY(1) EMPTY(32) EMPTY(66) EMPTY(132) EMPTY(264) EMPTY(528) EMPTY(1024)

int main(void)
{
    uint64_t word[512] = { 0 }, *device = ROOM(sizeof word, 0), *keep = ROOM(256, 0);
    const int host = omp_get_initial_device();
    if (omp_get_num_devices() < 1 || !device) return puts("no device"), 77;
    out = device;
#pragma omp target update to(out)
    for (double s = us(); us() - s < 3e5;) empty_132(); /* clocks */
    TIME("empty kernel, 1 team of one warp", empty_1());
    TIME("empty kernel, 32 teams", empty_32());
    TIME("empty kernel, 66 teams", empty_66());
    TIME("empty kernel, 132 teams", empty_132());
    TIME("empty kernel, 264 teams", empty_264());
    TIME("empty kernel, 528 teams", empty_528());
    TIME("empty kernel, 1024 teams", empty_1024());
    TIME("132 teams of 8 warps, one parallel in each", many_warps());
    TIME("copy of 64 bytes to the device", COPY(device, word, 64, 0, 0, 0, host));
    TIME("copy of 64 bytes from the device, pageable memory", COPY(word, device, 64, 0, 0, host, 0));
    TIME("copy of 20 KB from the device, pageable memory", { static uint64_t big[2560]; static uint64_t *from; if (!from) from = ROOM(sizeof big, 0); COPY(big, from, sizeof big, 0, 0, host, 0); });
    TIME("copy in, 132 teams, copy out", { COPY(device, word, 64, 0, 0, 0, host); empty_132(); COPY(word, device, 64, 0, 0, host, 0); });

    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY);
    int (*reg)(void *, size_t, unsigned) = NULL;
    if (cuda) *(void **)&reg = dlsym(cuda, "cuMemHostRegister_v2");
    uint64_t *page = aligned_alloc(4096, 4096);
    memset(page, 0, 4096);
    if (reg && reg(page, 4096, 2 /* DEVICEMAP */) == 0) {
        TIME("copy of 64 bytes from the device, registered memory", COPY(page, device, 64, 0, 0, host, 0));
        there = page; /* the same address on both sides (unified addressing) */
#pragma omp target update to(there)
        uint64_t n = 0;
        TIME("132 teams, the first one writes to registered host memory", write_there(); n++);
        printf("  host memory has %llu of %llu\n", (unsigned long long)page[0], (unsigned long long)n);
    } else puts("no cuMemHostRegister");

    /* fences: one warp alone, then all 1024 teams at once; cycles each */
    for (int all = 0; all < 2; all++) {
#pragma omp target thread_limit(1)
#pragma omp teams num_teams(1024)
        if (all || omp_get_team_num() == 0) {
            const uint64_t a = cycles();
            for (int i = 0; i < 16; i++) out[256 + (omp_get_team_num() & 63)] = (uint64_t)i, fence_sys();
            const uint64_t b = cycles();
            for (int i = 0; i < 16; i++) out[256 + (omp_get_team_num() & 63)] = (uint64_t)i, fence_gpu();
            const uint64_t c = cycles();
            if (omp_get_team_num() == 0) out[0] = b - a, out[1] = c - b;
        }
        COPY(word, device, 64, 0, 0, host, 0);
        printf("a store and a fence, %s: of the system %.0f cycles, of the device %.0f\n", all ? "1024 teams at once" : "one warp",
               (double)word[0] / 16, (double)word[1] / 16);
    }
    /* instruction fetch: team 0 runs long_code twice in each launch; which SM, and cycles */
    for (int launch = 0; launch < 6; launch++) {
#pragma omp target thread_limit(1)
#pragma omp teams num_teams(132)
        {
            const uint32_t team = (uint32_t)omp_get_team_num();
            if (team == (uint32_t)(seed + 0)) {
                const uint64_t a = cycles();
                uint32_t x = long_code((uint32_t)seed);
                const uint64_t b = cycles();
                x = long_code(x);
                const uint64_t c = cycles();
                out[0] = b - a, out[1] = c - b, out[2] = sm(), out[3] = x;
            }
        }
        COPY(word, device, 64, 0, 0, host, 0);
        printf("launch %d: 1024 steps of straight code on SM %llu: first %llu cycles, again %llu\n", launch, (unsigned long long)word[2],
               (unsigned long long)word[0], (unsigned long long)word[1]);
        if (launch == 2) {
            seed = 70; /* another team, so mostly another SM */
#pragma omp target update to(seed)
        }
    }
    omp_target_free(keep, 0);
    return 0;
}
