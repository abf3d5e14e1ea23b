/* test_stacks.c - functions of a warp that take stack, one after the other, for the interpreter of PTX (ptx.h). gcc's
   functions take their stack from a word that the warp's lanes share, in lockstep; so lanes that diverge must join where
   a stack is taken or released, or a late lane would release a stack that the first ones have taken for the next
   function, and its variables would be overwritten. `make test-gpu-ptx` runs it with lanes that diverge in many ways. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define KEPT __attribute__((noinline, noclone))

enum { ROUNDS = 60 };

typedef struct pair {
    uint64_t a, b;
} pair;

#pragma omp declare target
/* The names begin like those of the library's functions, whose lanes the interpreter lets diverge. */
KEPT static void sampi_test_fill(pair *p, uint64_t x)
{
    p->a = x * 6364136223846793005u + 1442695040888963407u;
    p->b = p->a >> 7 ^ x;
}

KEPT static uint64_t sampi_test_one(uint64_t x)
{
    pair p[3];
    for (uint64_t i = 0; i < 3; i++) sampi_test_fill(&p[i], x + i);
    return p[0].a ^ p[1].b ^ p[2].a;
}

KEPT static uint64_t sampi_test_other(uint64_t x)
{
    pair p, q;
    sampi_test_fill(&p, ~x);
    sampi_test_fill(&q, p.a);
    return p.b + q.a + sampi_test_one(q.b);
}

KEPT static uint64_t sampi_test_rounds(uint64_t x)
{
    for (int i = 0; i < ROUNDS; i++) x = sampi_test_one(x) ^ sampi_test_other(x + 1);
    return x;
}
#pragma omp end declare target

int main(void)
{
    uint64_t there = 0;
    if (omp_get_num_devices() == 0) return printf("no device\n"), 77;
#pragma omp target map(tofrom : there) thread_limit(1)
#pragma omp teams num_teams(1)
    there = sampi_test_rounds(7);
    if (there == sampi_test_rounds(7)) return 0;
    printf("test_stacks: another result than the host's\n");
    return 1;
}
