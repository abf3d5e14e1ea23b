/* test_turns.c - samplers that share a grammar, in threads that take turns: one runs at a time, and in front of a random
   atomic operation another one goes on. So threads are cut where threads that run freely meet once in millions of steps,
   and what fails can be repeated exactly. Each mask is that of a sampler that shares nothing. SAMP_TEST_CASES=n plays n
   schedules of each grammar, or a few times n. */
#define _GNU_SOURCE
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include <stdint.h>
#include <ucontext.h>

static void take_turn(void);
#define SAMPI_INT_GET(p)            (take_turn(), *(p))
#define SAMPI_INT_PUT(p, x)         (take_turn(), (void)(*(p) = (x)))
#define SAMPI_INT_CAS(p, old, now)  (take_turn(), *(p) == (old) && (*(p) = (now), true))
#define SAMPI_INT_ADD(p, x)         (take_turn(), (*(p) += (x)) - (x))
#define SAMPI_INT_OR(p, x)          (take_turn(), (void)(*(p) |= (x)))
#define SAMPI_SIZE_GET(p)           (take_turn(), *(p))
#define SAMPI_SIZE_PUT(p, x)        (take_turn(), (void)(*(p) = (x)))
#define SAMPI_SIZE_CAS(p, old, now) (take_turn(), *(p) == (old) && (*(p) = (now), true))
#define SAMPI_SIZE_ADD(p, x)        (take_turn(), (*(p) += (x)) - (x))
#define SAMPI_PTR_GET(p)            (take_turn(), *(p))
#define SAMPI_PTR_PUT(p, x)         (take_turn(), (void)(*(p) = (x)))
#define SAMPI_PTR_CAS(p, old, now)  (take_turn(), *(p) == (old) && (*(p) = (now), true))
#include "sampling.h"

#include "tests/support/sharers.h"

enum { N_THREADS = 4, N_STACK = 1 << 18 };

/* The threads of one schedule: where each stands, and which one runs. */
static struct {
    ucontext_t thread[N_THREADS], end;
    char stack[N_THREADS][N_STACK];
    worker work[N_THREADS];
    bool done[N_THREADS];
    int runs;
    int64_t left;     /* how many operations are left of its turn */
    source order;     /* where the random turns come from */
    uint64_t longest; /* a turn has up to 2^longest operations */
    long n_turns;
} plan;

/* Chooses the thread that runs next, and for how many operations. */
static int choose_thread(void)
{
    int next = (int)below(&plan.order, N_THREADS);
    plan.left = (int64_t)below(&plan.order, (uint64_t)1 << below(&plan.order, plan.longest));
    while (plan.done[next]) next = (next + 1) % N_THREADS;
    plan.n_turns++;
    return plan.runs = next;
}

static void take_turn(void)
{
    const int before = plan.runs, next = --plan.left < 0 ? choose_thread() : before;
    if (next != before) swapcontext(&plan.thread[before], &plan.thread[next]);
}

static void begin_thread(int i)
{
    work(&plan.work[i]);
    plan.done[i] = true;
    for (int k = 0; k < N_THREADS; k++)
        if (!plan.done[k]) setcontext(&plan.thread[choose_thread()]);
    plan.left = INT64_MAX;
    setcontext(&plan.end);
}

static void make_thread(int i)
{
    plan.done[i] = false;
    getcontext(&plan.thread[i]);
    plan.thread[i].uc_stack.ss_sp = plan.stack[i];
    plan.thread[i].uc_stack.ss_size = N_STACK;
    makecontext(&plan.thread[i], (void (*)(void))begin_thread, 1, i);
}

/* Runs the threads that were made, until all have ended. */
static void run_threads(void) { swapcontext(&plan.end, &plan.thread[choose_thread()]); }

/* Plays one schedule. Returns how many calls found too little memory. */
static long play(size_t grammar, size_t limit, long n_steps, uint64_t stream, samp_grammar_usage *stats)
{
    long n_full = 0;
    samp_grammar *g = grammar_of(grammar);
    samp_sampler *first = samp_init_grammar(vocab_index, g);
    assert_ok(samp_set_grammar_limits(first, limit, 1 << 24));
    plan.order = source_stream(1000 + stream);
    for (int i = 0; i < N_THREADS; i++) {
        const worker one = { g, grammar_of(grammar), limit, N_THREADS * stream + (uint64_t)i, n_steps, 0, NULL };
        plan.work[i] = one;
        make_thread(i);
    }
    run_threads();
    assert_ok(samp_grammar_stats(first, stats));
    for (int i = 0; i < N_THREADS; i++) {
        if (plan.work[i].wrong)
            test_fail(__FILE__, __LINE__, "%s, %zu bytes, stream %llu: %s", shared[grammar].text, limit,
                      (unsigned long long)stream, plan.work[i].wrong);
        n_full += plan.work[i].n_full;
        samp_grammar_free(plan.work[i].own);
    }
    samp_free(first);
    samp_grammar_free(g);
    return n_full;
}

TEST(test_turns)
{
    static const struct {
        size_t grammar, limit;
        long times; /* how many schedules for each of grammar 5, whose steps take long */
    } of[] = { { 0, 140000, 5 }, { 0, 180000, 5 }, { 2, 140000, 5 }, { 3, 150000, 5 },
               { 4, 150000, 2 }, { 5, 250000, 1 }, { 5, 600000, 1 }, { 6, 150000, 5 } };
    enum { STEPS = 400 };
    plan.left = INT64_MAX;
    for (size_t i = 0; i < TEST_COUNT(of); i++) {
        const long n = of[i].times * (long)cases(160, 1);
        size_t n_renewals = 0;
        long n_full = 0;
        plan.n_turns = 0;
        for (long k = 0; k < n; k++) {
            samp_grammar_usage stats;
            plan.longest = 6 + (uint64_t)k % 6;
            n_full += play(of[i].grammar, of[i].limit, STEPS, (uint64_t)k * TEST_COUNT(of) + i, &stats);
            n_renewals += stats.n_renewals;
        }
        print_message("%.30s..., %zu bytes: %ld turns, %zu renewals, %ld of %ld calls found too little memory\n",
                      shared[of[i].grammar].text, of[i].limit, plan.n_turns, n_renewals, n_full,
                      n * N_THREADS * STEPS);
        assert_true(n_renewals > 0);
        assert_true(n_full * 4 <= n * N_THREADS * STEPS);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, make_index, free_index); }
