/* suite.h - the frame of the programs that play cases (case.h): which instruction sets are wanted, where a program was
   when it read beyond a row or did not end, and a main that runs tests by name. A test is a function that returns
   whether it is good; the program lists them in SUITE(X) and ends with SUITE_MAIN, or has a main of its own that
   returns suite_run. With SAMP_TEST_PLAIN defined it needs no cmocka, for machines and copies that have none. */
#ifndef SUITE_H
#define SUITE_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef SAMP_TEST_PLAIN
#include "test.h"
#endif

#ifdef _WIN32 /* nothing watches the time there, and names are no patterns */
#define SIGBUS  SIGSEGV
#define SIGALRM SIGTERM
static void alarm(unsigned seconds) { (void)seconds; }
#define fnmatch(pattern, name, flags) strcmp(pattern, name)
#else
#include <fnmatch.h>
#endif

/* Are all instruction sets of the CPU, asked another way than the library does, among those to play with? */
static bool has_all(const isa_list *all)
{
    const char *wanted[4] = { "scalar" };
    int n = 1;
#if defined(__x86_64__) && !defined(SAMP_NO_SIMD) && !defined(_WIN32)
#if !defined(SAMP_NO_SSE2)
    wanted[n++] = "sse2";
#endif
#if !defined(SAMP_NO_AVX2)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (avx2) wanted[n++] = "avx2";
#if !defined(SAMP_NO_AVX512)
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        wanted[n++] = "avx512";
#endif
#endif
#elif defined(__aarch64__) && !defined(SAMP_NO_SIMD) && !defined(SAMP_NO_NEON)
    wanted[n++] = "neon";
#endif
    for (int i = 0, k; i < n; i++) {
        for (k = 0; k < all->n && strcmp(all->name[k], wanted[i]) != 0;) k++;
        if (k < all->n) continue;
        printf("this CPU has %s, which nothing would be played with\n", wanted[i]);
        return false;
    }
    return true;
}

/* SAMP_TEST_ISA: only this instruction set. Otherwise all of the CPU's; a library that does not find them must not pass
   with what is left. */
__attribute__((unused)) static isa_list wanted_isa(void)
{
    isa_list all = isa_all(), one;
    if (!has_all(&all)) exit(1);
    const char *only = getenv("SAMP_TEST_ISA");
    if (!only || !*only) return all;
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.name[i], only)) return isa_one(&all, i);
    printf("this machine has no %s\n", only);
    memset(&one, 0, sizeof one);
    return one;
}

/* What each thread is at: a read beyond a row, or a loop without end, ends the program, but not without saying where. */
enum { AT_THREADS = 3, AT_SECONDS = 100 };
static char at_work_of[AT_THREADS][200];
static _Thread_local int thread_number; /* 0: main */
#define at_work at_work_of[thread_number]
#define AT(...) (snprintf(at_work, sizeof at_work, __VA_ARGS__), alarm(AT_SECONDS))

static void on_fault(int signal)
{
    const char *text = signal == SIGALRM ? "too long in: " : "memory fault in: ";
    for (int i = 0; i < AT_THREADS; i++) {
        if (signal != SIGALRM && i != thread_number) continue;
        if (write(2, text, strlen(text)) < 0 || write(2, at_work_of[i], strlen(at_work_of[i])) < 0) break;
        if (write(2, "\n", 1) < 0) break;
    }
    _exit(1);
}

__attribute__((unused)) static void watch_faults(void)
{
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    signal(SIGILL, on_fault);
    signal(SIGALRM, on_fault);
}

/* With an argument the tests of that name or pattern alone; SAMP_TEST_STOP: up to the first that fails. */
#ifdef SAMP_TEST_PLAIN
static int n_ran, n_failed, n_not_run;

/* What a test returns that is not for this machine: no failure, but the last line tells how many there were. */
__attribute__((unused)) static bool not_run(const char *why)
{
    printf("  NOT RUN: %s\n", why);
    n_not_run++;
    return true;
}

__attribute__((unused)) static void suite_test(const char *pattern, const char *name, bool (*test)(void))
{
    if (fnmatch(pattern, name, 0) != 0 || (n_failed && env_setting("SAMP_TEST_STOP", 0))) return;
    printf("%s\n", name), fflush(stdout);
    n_failed += !test(), n_ran++;
}
#define SUITE_TEST(name) suite_test(argc > 1 ? argv[1] : "*", #name, name);
#define SUITE_RUN \
    static int suite_run(int argc, char **argv) \
    { \
        SUITE(SUITE_TEST) \
        if (!n_ran) printf("no test is named %s\n", argc > 1 ? argv[1] : ""); \
        printf("[==========] %d of %d failed, %d not run\n", n_failed, n_ran, n_not_run); \
        return n_failed || !n_ran; \
    }
#else
#define SUITE_TEST(name) \
    static void test_##name(void **state) \
    { \
        (void)state; \
        assert_true(name()); \
    }
#define SUITE_ADD(name) test_add(#name, test_##name, NULL, NULL, 0);
#define SUITE_RUN \
    SUITE(SUITE_TEST) \
    static int suite_run(int argc, char **argv) \
    { \
        SUITE(SUITE_ADD) \
        return test_main(argc, argv, NULL, NULL); \
    }
#endif
#define SUITE_MAIN \
    SUITE_RUN \
    int main(int argc, char **argv) { return suite_run(argc, argv); }

#endif /* SUITE_H */
