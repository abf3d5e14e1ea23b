/* bench.c -- the time of a token, for every sampler, instruction set, vocabulary and kind of logits.
 *
 *     cc -O2 -std=c11 -fopenmp -I. bench/cpu/bench.c -o bench -lm         or make bench
 *     ./bench --quick
 *     ./bench --case default,temp --n 128256 --logits peaked
 *
 * bench/README.md says how to read the table. */

#define SAMPLING_GUMBEL
#define SAMPLING_WATERMARK
#include "bench/bench.h"

static const char usage[] =
    "usage: bench [options]                 lists are separated by commas\n"
    "  --case LIST     cases (default: all)\n"
    "  --n LIST        vocabulary sizes (32000,128256,151936,262144)\n"
    "  --logits LIST   peaked, flat, real (all)\n"
    "  --isa LIST      scalar, avx2, avx512, neon (all that the machine has)\n"
    "  --rounds N      rounds of which the median is taken (7)\n"
    "  --rows N        rows in rotation (24)\n"
    "  --real FILE     real logits: f16, 32768 a row (tests/data/real_rows.f16)\n"
    "  --passes        what the kernels cost, each over whole rows, in place of the cases\n"
    "  --batches       batches of 1 to 32 rows on 1, 2, 4 ... threads, in place of the cases\n"
    "  --quick         128,256 tokens, peaked, the best instruction set, 3 rounds\n"
    "  --csv FILE      write the figures there too\n";

enum {
    BLOCK_US = 3000,   /* least time of a round */
    CASE_US = 1500000, /* after that a slow case gets no more than three rounds */
};

/* What is being timed with one instruction set. */
typedef struct contender {
    const char *isa;
    bench_ours ours;
    bench_series us;
    unsigned long allocations; /* during its timed rounds */
} contender;

typedef struct setting {
    bench_options o;
    const char *isa[BENCH_N_ISA]; /* those to time */
    int n_isa;
    double ghz;
    FILE *csv;
} setting;

static void use_isa(const char *name)
{
    if (!bench_isa_force(name)) bench_fail("this instruction set is not there", name);
}

static void pick_isas(setting *s)
{
    const char *best = bench_isa_now(), *wanted = s->o.quick && !s->o.isa ? best : s->o.isa;
    for (int i = 0; samp_isa_list(i); i++)
        if (bench_listed(wanted, samp_isa_list(i))) s->isa[s->n_isa++] = samp_isa_list(i);
    use_isa(NULL);
    if (s->n_isa == 0 && bench_listed(wanted, best)) s->isa[s->n_isa++] = best;
    if (s->n_isa == 0) bench_fail("none of these instruction sets is there", s->o.isa);
}

static void print_heading(const char *logits, size_t n, const bench_floor *floor)
{
    printf("\n%zu tokens, %s logits; max pass: %s\n", n, logits, floor->pass.name);
    printf("%-14s %-7s %10s %10s ", "case", "isa", "us/token", "least");
    printf("%8s %8s %8s %8s %7s\n", "GB/s", "cyc/log", "max us", "x max", "allocs");
}

static void print_line(const setting *s, const char *name, const char *logits, size_t n, const contender *c,
                       double floor_us)
{
    double us = bench_median(&c->us), least = bench_least(&c->us), gb_s = 4e-3 * (double)n / us;
    printf("%-14s %-7s %10.2f %10.2f %8.1f ", name, c->isa, us, least, gb_s);
    if (s->ghz > 0.0)
        printf("%8.3f ", us * 1e3 * s->ghz / (double)n);
    else
        printf("%8s ", "-");
    printf("%8.2f %8.2f %7lu\n", floor_us, us / floor_us, c->allocations);
    fflush(stdout);
    if (!s->csv) return;
    fprintf(s->csv, "%s,%zu,%s,%s,%.3f,%.3f,", name, n, logits, c->isa, us, least);
    fprintf(s->csv, "%.2f,%.3f,%.3f,%lu\n", gb_s, floor_us, us / floor_us, c->allocations);
}

/* Check one case with every instruction set, then time them all and the floor by turns. */
static void run_case(const setting *s, const bench_case *c, const bench_rows *rows, const char *logits,
                     bench_floor *floor)
{
    contender contenders[BENCH_N_ISA];
    bench_series floor_us = { { 0.0 }, 0 };
    bench_job floor_job = bench_floor_job(floor);
    samp_token *token = bench_alloc((size_t)rows->count * sizeof *token);
    samp_sampler *chain = bench_make_chain(c, rows->n, SAMP_RNG_PHILOX);
    int n_tokens = bench_define(chain, rows, token);
    memset(contenders, 0, sizeof contenders);
    for (int k = 0; k < s->n_isa; k++) {
        contenders[k].isa = s->isa[k];
        contenders[k].ours.chain = bench_clone(chain, rows->n);
        use_isa(s->isa[k]);
        bench_verify(c, chain, rows, token, n_tokens);
    }
    double start = bench_now();
    for (int round = 0; round < s->o.rounds && (round < 3 || bench_now() - start < CASE_US); round++) {
        for (int k = 0; k < s->n_isa; k++) {
            bench_job job = { bench_run_ours, &contenders[k].ours, c->rotations };
            unsigned long before = bench_allocations;
            use_isa(s->isa[k]);
            bench_put(&contenders[k].us, bench_round(&job, rows, BLOCK_US));
            contenders[k].allocations += bench_allocations - before;
        }
        bench_put(&floor_us, bench_round(&floor_job, rows, BLOCK_US));
    }
    use_isa(NULL);
    for (int k = 0; k < s->n_isa; k++) {
        if (contenders[k].ours.failed) bench_fail("samp_sample failed while it was timed", c->name);
        print_line(s, c->name, logits, rows->n, &contenders[k], bench_median(&floor_us));
        samp_free(contenders[k].ours.chain);
    }
    samp_free(chain);
    free(token);
}

/* The same for a batch; its times are those of a row. */
static void run_batch(const setting *s, const bench_batch_case *c, const bench_rows *rows, const char *logits,
                      bench_floor *floor)
{
    contender contenders[BENCH_N_ISA];
    bench_series floor_us = { { 0.0 }, 0 };
    bench_job floor_job = bench_floor_job(floor);
    bench_batch batch = bench_make_batch(c, rows);
    memset(contenders, 0, sizeof contenders);
    for (int k = 0; k < s->n_isa; k++) {
        contenders[k].isa = s->isa[k];
        use_isa(s->isa[k]);
        bench_verify_batch(&batch);
    }
    bench_run_batch(&batch); /* takes its workspaces */
    double start = bench_now();
    for (int round = 0; round < s->o.rounds && (round < 3 || bench_now() - start < CASE_US); round++) {
        for (int k = 0; k < s->n_isa; k++) {
            unsigned long before = bench_allocations;
            use_isa(s->isa[k]);
            bench_put(&contenders[k].us, bench_batch_round(&batch, BLOCK_US));
            contenders[k].allocations += bench_allocations - before;
        }
        bench_put(&floor_us, bench_round(&floor_job, rows, BLOCK_US));
    }
    use_isa(NULL);
    if (batch.failed) bench_fail("samp_sample_batch failed while it was timed", c->name);
    for (int k = 0; k < s->n_isa; k++)
        print_line(s, c->name, logits, rows->n, &contenders[k], bench_median(&floor_us));
    bench_free_batch(&batch);
}

static void run_batches(const setting *s, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, BENCH_BATCH_ROWS, s->o.real);
    bench_floor floor = bench_pick_floor(&rows);
    for (int i = 0; i < BENCH_N_BATCHES; i++)
        if (bench_listed(s->o.cases, bench_batch_cases[i].name))
            run_batch(s, &bench_batch_cases[i], &rows, bench_logits_name[kind], &floor);
    free(rows.data);
}

/* ==== Batches by size and threads ==========================================================================
 * The default chain on 1 to 32 rows at once, on 1, 2, 4 ... threads, by turns. A time is that of a row, and of the fastest
 * rotation through all 32 rows: a batch waits for its slowest thread, so what another program takes is in all of them. */

enum { MAX_SIZES = 64, ROTATIONS = 5 };

typedef struct batch_size {
    int n_rows, n_threads;
    double us;
} batch_size;

/* In batches of so many rows, each row once. Microseconds a row. */
static double time_rotation(bench_batch *b, const batch_size *size)
{
    int32_t index[BENCH_BATCH_ROWS];
    samp_token token[BENCH_BATCH_ROWS];
    samp_logits logits = b->logits;
    double start = bench_now();
    logits.n_rows = (size_t)size->n_rows;
    logits.n_threads = size->n_threads;
    logits.row_index = index;
    for (int at = 0; at < BENCH_BATCH_ROWS; at += size->n_rows) {
        for (int i = 0; i < size->n_rows; i++) index[i] = at + i;
        b->failed += samp_sample_batch(b->chain, &logits, token) != SAMP_OK;
        b->sum += (uint32_t)token[0];
    }
    return (bench_now() - start) / BENCH_BATCH_ROWS;
}

static void run_sizes(const setting *s, bench_logits kind, size_t n)
{
    static const bench_batch_case plain = { "sizes", SAMP_F32, 1.0, 1 };
    batch_size size[MAX_SIZES];
    int n_cores = (int)sysconf(_SC_NPROCESSORS_ONLN), count = 0;
    bench_rows rows = bench_make_rows(kind, n, BENCH_BATCH_ROWS, s->o.real);
    bench_batch batch = bench_make_batch(&plain, &rows);
    bench_verify_batch(&batch);
    for (int threads = 1; threads <= n_cores; threads *= 2)
        for (int k = 1; k <= BENCH_BATCH_ROWS && count < MAX_SIZES; k *= 2)
            size[count++] = (batch_size){ k, threads, INFINITY };
    for (int round = 0; round < s->o.rounds * ROTATIONS; round++)
        for (int i = 0; i < count; i++) size[i].us = fmin(size[i].us, time_rotation(&batch, &size[i]));
    printf("\n%zu tokens, %s logits, %s; the default chain\n%6s %8s %9s %12s\n", n, bench_logits_name[kind],
           bench_isa_now(), "rows", "threads", "us/row", "rows/s");
    if (s->csv) fputs("rows,threads,us,rows_per_s\n", s->csv);
    for (const batch_size *z = size; z < size + count; z++) {
        printf("%6d %8d %9.2f %12.0f\n", z->n_rows, z->n_threads, z->us, 1e6 / z->us);
        if (s->csv) fprintf(s->csv, "%d,%d,%.3f,%.0f\n", z->n_rows, z->n_threads, z->us, 1e6 / z->us);
    }
    if (batch.failed) bench_fail("samp_sample_batch failed while it was timed", NULL);
    bench_free_batch(&batch);
    free(rows.data);
}

/* ==== What the kernels cost ================================================================================
 * A case is at least the passes that it takes, so these tell where a time comes from. */

static const char *const pass_name[] = { "maxima",       "moments", "envelope", "sweep",      "sum of Z",
                                         "Z and spread", "weights", "probs",    "maxima f16", "maxima bf16" };
enum { N_PASSES = sizeof pass_name / sizeof *pass_name };

typedef struct pass_job {
    sampi_work *work;
    int pass;
    uint32_t sum; /* so that no compiler leaves a call out */
} pass_job;

static void run_pass(void *self, const float *row, size_t n)
{
    pass_job *job = self;
    const sampi_kernels *k = sampi_use();
    sampi_work *work = job->work;
    sampi_sums sums = { 20.0f, 0, 0, 0, 0 }; /* above every row's maximum */
    double z = 0.0, moment[3] = { 0.0, 0.0, 0.0 }, *e = (double *)(void *)work->w;
    switch (job->pass) {
        case 0: z = (double)k->maxima(row, SAMP_F32, NULL, n, work->line); break;
        case 1: k->moments(row, n, 0.0f, moment); break;
        case 2: k->envelope(row, n, 1.25f, 20.0f, -FLT_MAX, work->sum); break;
        case 3: k->sweep(row, n, 1.25f, 20.0f, &z, &moment[0]); break;
        case 4: k->sums(row, n, 1.25f, 20.0f, INFINITY, false, &sums); break;
        case 5: k->sums(row, n, 1.25f, 20.0f, INFINITY, true, &sums); break;
        case 6: k->weights(row, n, 20.0f, work->w, NULL); break;
        case 7: /* e comes with the weights */
            z = (double)k->weights(row, n, 20.0f, NULL, e);
            k->probs(row, e, n, 20.0f, z, work->x);
            break;
        case 8: z = (double)k->maxima(row, SAMP_F16, NULL, n, work->line); break;
        default: z = (double)k->maxima(row, SAMP_BF16, NULL, n, work->line); break;
    }
    job->sum += (uint32_t)(sums.z >> 40) + (z > moment[0]);
}

static void run_passes(const setting *s, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, s->o.rows, s->o.real);
    bench_floor floor = bench_pick_floor(&rows);
    bench_job floor_job = bench_floor_job(&floor);
    sampi_sampler *owner = (sampi_sampler *)samp_init_greedy();
    if (!owner || samp_reserve(&owner->base, n)) bench_fail("out of memory", NULL);
    print_heading(bench_logits_name[kind], n, &floor);
    for (int pass = 0; pass < N_PASSES; pass++)
        for (int k = 0; k < s->n_isa; k++) {
            pass_job own = { &owner->work, pass, 0 };
            bench_job job = { run_pass, &own, 0 };
            contender c = { .isa = s->isa[k] };
            bench_series floor_us = { { 0.0 }, 0 };
            use_isa(s->isa[k]);
            for (int round = 0; round < s->o.rounds; round++) {
                bench_put(&c.us, bench_round(&job, &rows, BLOCK_US));
                bench_put(&floor_us, bench_round(&floor_job, &rows, BLOCK_US));
            }
            print_line(s, pass_name[pass], bench_logits_name[kind], n, &c, bench_median(&floor_us));
        }
    use_isa(NULL);
    samp_free(&owner->base);
    free(rows.data);
}

static void run_rows(const setting *s, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, s->o.rows, s->o.real);
    bench_floor floor = bench_pick_floor(&rows);
    print_heading(bench_logits_name[kind], n, &floor);
    for (int i = 0; i < BENCH_N_CASES; i++)
        if (bench_listed(s->o.cases, bench_cases[i].name))
            run_case(s, &bench_cases[i], &rows, bench_logits_name[kind], &floor);
    free(rows.data);
    if (bench_batch_listed(s->o.cases)) run_batches(s, kind, n);
}

int main(int argc, char **argv)
{
    static setting s;
    double start = bench_now(), cpu = bench_cpu();
    s.o = bench_parse(argc, argv, usage);
    if (s.o.library || s.o.all) bench_fail("unknown argument", s.o.library ? s.o.library : "--all");
    if (s.o.quick && !s.o.logits) s.o.logits = "peaked";
    if (s.o.quick) s.o.rounds = 3;
    const char *sizes = s.o.sizes ? s.o.sizes : s.o.quick ? "128256" : "32000,128256,151936,262144";
    bench_check_list(s.o.cases, "--case", bench_case_at);
    bench_check_list(s.o.logits, "--logits", bench_logits_at);
    if (s.o.csv && !(s.csv = fopen(s.o.csv, "w"))) bench_fail("cannot write", s.o.csv);
    if (s.csv && !s.o.batches)
        fputs("case,n_vocab,logits,isa,us,least_us,gb_s,floor_us,floor_ratio,allocations\n", s.csv);
    pick_isas(&s);
    s.ghz = bench_ghz();
    bench_print_machine(&s.o, s.ghz);
    for (size_t n; (n = bench_next_size(&sizes)) > 0;)
        for (bench_logits kind = PEAKED; kind < N_LOGITS; kind++)
            if (bench_listed(s.o.logits, bench_logits_name[kind]))
                (s.o.batches ? run_sizes : s.o.passes ? run_passes : run_rows)(&s, kind, n);
    bench_print_quiet(start, cpu);
    if (s.csv && fclose(s.csv)) bench_fail("cannot write", s.o.csv);
    return 0;
}
