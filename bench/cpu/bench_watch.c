/* bench_watch.c -- has a change made anything slower? This version of the library and another one, each compiled by itself
 * (watch_shim.c), by turns in one process on the same rows, after a check that both give the same results.
 *
 *     sh bench/cpu/watch.sh REVISION --passes        or make bench-watch REV=... ARGS="..."; bench/README.md
 *
 * The programs' rows, clock and rounds are those of bench.h. */

#include "bench/bench.h"
#include "watch.h"

static const char usage[] =
    "usage: bench_watch [options]           lists are separated by commas\n"
    "  --passes        the kernels, each over whole rows, in place of the cases\n"
    "  --case LIST     cases, batches or passes (all)\n"
    "  --n LIST        vocabulary sizes (128256)\n"
    "  --logits LIST   peaked, flat, real (cases: all, passes: peaked)\n"
    "  --isa LIST      instruction sets (cases: the best, passes: all that both versions have)\n"
    "  --rounds N      rounds (31)\n"
    "  --rows N        rows in rotation (24)\n"
    "  --limit PERCENT what may be slower by so much passes (5)\n"
    "  --csv FILE      write the figures there too\n";

enum {
    ROUND_US = 700,   /* least time of a round, each side: many short ones find the quiet moments */
    CASE_US = 400000, /* after that a slow case gets no more than nine rounds */
    LOOK_US = 500000, /* the check goes through the rows twice, but stops after so long */
    AGAIN = 2         /* so often is timed again what looks too slow: a neighbour on the machine does that too */
};

typedef struct setting {
    bench_options o;
    const watch_side *side[2]; /* the other version, this one */
    double limit;
    FILE *csv;
    int slower, different;
} setting;

/* What is timed: one thing, as both sides do it. */
typedef struct watched {
    const char *name, *isa, *logits;
    double (*round)(void *self, const bench_rows *rows);
    void *self[2];
    const bench_rows *rows;
} watched;

static void use_isa(const setting *s, const char *isa)
{
    for (int k = 0; k < 2; k++)
        if (!s->side[k]->use(isa)) bench_fail("this instruction set is not in both versions", isa);
}

/* ==== Timing =============================================================================================== */

/* Both sides by turns, and each time the other one first. */
static void time_both(const watched *w, int rounds, bench_series us[2])
{
    double start = bench_now();
    for (int round = 0; round < rounds && (round < 9 || bench_now() - start < CASE_US); round++)
        for (int turn = 0; turn < 2; turn++) {
            int k = (round + turn) % 2;
            bench_put(&us[k], w->round(w->self[k], w->rows));
        }
}

/* A change of the clock meets both sides of a round, so the rounds' own ratios tell more than the medians' ratio. */
static double median_ratio(const bench_series us[2])
{
    bench_series ratio = { { 0.0 }, 0 };
    for (int i = 0; i < us[0].n && i < us[1].n; i++) bench_put(&ratio, us[1].value[i] / us[0].value[i]);
    return bench_median(&ratio);
}

static void watch(setting *s, const watched *w)
{
    bench_series us[2];
    double ratio, least, worst = 1.0 + s->limit / 100.0;
    int tries = 0;
    memset(us, 0, sizeof us);
    do { /* later rounds add to those before: another program's can't make the least smaller */
        time_both(w, s->o.rounds, us);
        ratio = median_ratio(us), least = bench_least(&us[1]) / bench_least(&us[0]);
    } while (ratio > worst && least > worst && tries++ < AGAIN);
    bool slower = ratio > worst && least > worst;
    s->slower += slower;
    printf("%-15s %-8s %-7s %10.2f %10.2f %8.3f %8.3f%s\n", w->name, w->isa, w->logits, bench_median(&us[0]),
           bench_median(&us[1]), ratio, least,
           slower                         ? "  SLOWER"
           : ratio < 0.97 && least < 0.97 ? "  faster"
                                          : "");
    fflush(stdout);
    if (s->csv)
        fprintf(s->csv, "%s,%s,%s,%zu,%.3f,%.3f,%.4f,%.4f\n", w->name, w->isa, w->logits, w->rows->n,
                bench_median(&us[0]), bench_median(&us[1]), ratio, least);
}

static void print_heading(size_t n)
{
    printf("\n%zu tokens, microseconds a row\n", n);
    printf("%-15s %-8s %-7s %10s %10s %8s %8s\n", "", "isa", "logits", "old", "new", "ratio", "of least");
}

static void print_different(setting *s, const char *name, const char *isa, const char *logits, int row)
{
    printf("%-15s %-8s %-7s DIFFERENT RESULTS in row %d\n", name, isa, logits, row);
    s->different++;
}

/* ==== Passes ============================================================================================== */

typedef struct pass_job {
    const watch_side *side;
    int pass;
    const watch_row *row;
    const bench_rows *rows;
    watch_work work;
} pass_job;

static void run_pass(void *self, const float *row, size_t n)
{
    pass_job *job = (pass_job *)self;
    (void)n;
    job->side->run_pass(job->pass, &job->row[(size_t)(row - job->rows->data) / job->rows->stride], &job->work);
}

static double pass_round(void *self, const bench_rows *rows)
{
    bench_job job = { run_pass, self, 0 };
    return bench_round(&job, rows, ROUND_US);
}

static int descending(const void *a, const void *b) { return bench_compare(b, a); }

/* The element of a row below which all but `share` lie. */
static float value_at(const float *x, size_t n, double share)
{
    double *sorted = (double *)bench_alloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++) sorted[i] = (double)x[i];
    qsort(sorted, n, sizeof *sorted, descending);
    float value = (float)sorted[(size_t)(share * (double)n)];
    free(sorted);
    return value;
}

static void fill_line(watch_row *r)
{
    float *line = (float *)bench_alloc((r->n_line = (r->n + 4095) / 4096 * 256) * sizeof *line);
    int32_t *hit = (int32_t *)bench_alloc(r->n_line * sizeof *hit);
    for (size_t i = 0; i < r->n_line; i++) {
        line[i] = -INFINITY;
        for (size_t j = 16 * i; j < 16 * i + 16 && j < r->n; j++) line[i] = bench_max2(r->x[j], line[i]);
        hit[r->n_hit] = (int32_t)i;
        r->n_hit += line[i] >= r->high;
    }
    r->line = line, r->hit = hit;
}

static watch_row make_row(const float *x, size_t n, source *rng, const int32_t *id, const uint64_t *w)
{
    size_t words = (n + 31) / 32;
    watch_row r;
    memset(&r, 0, sizeof r);
    float *masked = (float *)bench_alloc(n * sizeof *masked);
    double *f64 = (double *)bench_alloc(n * sizeof *f64);
    uint16_t *f16 = (uint16_t *)bench_alloc(n * sizeof *f16), *bf16 = (uint16_t *)bench_alloc(n * sizeof *bf16);
    uint32_t *mask = (uint32_t *)bench_alloc(words * sizeof *mask);
    memset(mask, 0, words * sizeof *mask);
    r.x = x, r.n = n, r.max = bench_max_scalar(x, n);
    r.high = value_at(x, n, 0.001), r.low = value_at(x, n, 0.05);
    for (size_t i = 0; i < n; i++) {
        bool allowed = uniform(rng) < 0.98 || x[i] == r.max;
        mask[i / 32] |= (uint32_t)allowed << (i % 32);
        masked[i] = allowed ? x[i] : -INFINITY;
        f64[i] = (double)x[i], f16[i] = half_of((double)x[i]), bf16[i] = brain_of(x[i]);
    }
    r.masked = masked, r.f64 = f64, r.f16 = f16, r.bf16 = bf16, r.mask = mask, r.id = id, r.w = w;
    fill_line(&r);
    return r;
}

static void free_row(watch_row *r)
{
    const void *all[] = { r->masked, r->f64, r->f16, r->bf16, r->mask, r->line, r->hit };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free((void *)(uintptr_t)all[i]);
}

/* Room for a row, and for what a kernel writes behind its result. */
static watch_work make_work(size_t n)
{
    watch_work work;
    size_t room = n + 4096;
    memset(&work, 0, sizeof work);
    work.x = (float *)bench_alloc(room * sizeof *work.x);
    work.id = (int32_t *)bench_alloc(room * sizeof *work.id);
    work.w = (uint64_t *)bench_alloc(room * sizeof *work.w);
    memset(work.x, 0, room * sizeof *work.x), memset(work.id, 0, room * sizeof *work.id);
    memset(work.w, 0, room * sizeof *work.w);
    return work;
}

static bool same_work(const watch_work *a, const watch_work *b)
{
    bool same = a->number == b->number;
    for (int i = 0; i < 2; i++)
        same = same && a->size[i] == b->size[i] && (!a->size[i] || !memcmp(a->part[i], b->part[i], a->size[i]));
    for (int i = 0; i < 3; i++) same = same && fabs(a->value[i] - b->value[i]) <= 1e-5 * (fabs(a->value[i]) + 1.0);
    return same;
}

static int pass_of(const watch_side *side, const char *name)
{
    for (int i = 0; side->pass(i); i++)
        if (!strcmp(side->pass(i), name)) return i;
    return -1;
}

static void watch_pass(setting *s, int i, const char *isa, const char *logits, const watch_row *row,
                       const bench_rows *rows, watch_work *work)
{
    const char *name = s->side[1]->pass(i);
    pass_job job[2];
    watched w = { name, isa, logits, pass_round, { &job[0], &job[1] }, rows };
    if (pass_of(s->side[0], name) < 0) return;
    for (int k = 0; k < 2; k++) {
        pass_job own = { s->side[k], pass_of(s->side[k], name), row, rows, work[k] };
        job[k] = own;
    }
    for (int r = 0; r < rows->count; r++) {
        for (int k = 0; k < 2; k++) run_pass(&job[k], bench_row(rows, r), rows->n);
        if (same_work(&job[0].work, &job[1].work)) continue;
        print_different(s, name, isa, logits, r);
        return;
    }
    job[0].work = job[1].work; /* both write to the same place now, so its address makes no difference */
    watch(s, &w);
}

static void watch_passes(setting *s, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, s->o.rows, s->o.real);
    source rng = source_at(5);
    watch_row *row = (watch_row *)bench_alloc((size_t)rows.count * sizeof *row);
    watch_work work[2] = { make_work(n), make_work(n) };
    int32_t *id = (int32_t *)bench_alloc(n * sizeof *id); /* these two, as in a workspace, are in a near cache */
    uint64_t *w = (uint64_t *)bench_alloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++) id[i] = (int32_t)(2 * i), w[i] = splitmix64(&rng.state) >> 24;
    for (int i = 0; i < rows.count; i++) row[i] = make_row(bench_row(&rows, i), n, &rng, id, w);
    print_heading(n);
    for (int k = 0; s->side[1]->isa(k); k++) {
        const char *isa = s->side[1]->isa(k);
        if (!bench_listed(s->o.isa, isa) || !s->side[0]->use(isa)) continue;
        use_isa(s, isa);
        for (int i = 0; s->side[1]->pass(i); i++)
            if (bench_listed(s->o.cases, s->side[1]->pass(i)))
                watch_pass(s, i, isa, bench_logits_name[kind], row, &rows, work);
        use_isa(s, NULL);
    }
    for (int i = 0; i < rows.count; i++) free_row(&row[i]);
    for (int k = 0; k < 2; k++) free(work[k].x), free(work[k].id), free(work[k].w);
    free(row), free(id), free(w);
    free(rows.data);
}

/* ==== Cases =============================================================================================== */

typedef struct chain_job {
    const watch_side *side;
    void *chain; /* or a batch */
    int rotations;
    uint32_t sum;
} chain_job;

static void run_chain(void *self, const float *row, size_t n)
{
    chain_job *job = (chain_job *)self;
    job->sum += (uint32_t)job->side->sample(job->chain, row, n);
}

static double chain_round(void *self, const bench_rows *rows)
{
    bench_job job = { run_chain, self, ((chain_job *)self)->rotations };
    return bench_round(&job, rows, ROUND_US);
}

/* The first row in which tokens differ, or -1. */
static int compare_chains(const setting *s, const int at[2], const bench_rows *rows)
{
    void *chain[2] = { s->side[0]->make(at[0], rows->n), s->side[1]->make(at[1], rows->n) };
    double start = bench_now();
    int different = -1;
    for (int i = 0; i < 2 * rows->count && different < 0 && (i < 2 || bench_now() - start < LOOK_US); i++) {
        const float *row = bench_row(rows, i % rows->count);
        if (s->side[0]->sample(chain[0], row, rows->n) != s->side[1]->sample(chain[1], row, rows->n)) different = i;
    }
    for (int k = 0; k < 2; k++) s->side[k]->free(chain[k]);
    return different;
}

static int find(const char *(*name)(int), const char *wanted)
{
    for (int i = 0; name(i); i++)
        if (!strcmp(name(i), wanted)) return i;
    return -1;
}

static void watch_chain(setting *s, int i, const char *isa, const char *logits, const bench_rows *rows)
{
    const char *name = s->side[1]->chain(i);
    int at[2] = { find(s->side[0]->chain, name), i };
    chain_job job[2];
    watched w = { name, isa, logits, chain_round, { &job[0], &job[1] }, rows };
    if (at[0] < 0) return; /* a new case */
    int different = compare_chains(s, at, rows);
    if (different >= 0) {
        print_different(s, name, isa, logits, different);
        return;
    }
    for (int k = 0; k < 2; k++) {
        chain_job own = { s->side[k], s->side[k]->make(at[k], rows->n), s->side[k]->rotations(at[k]), 0 };
        job[k] = own;
    }
    watch(s, &w);
    for (int k = 0; k < 2; k++) s->side[k]->free(job[k].chain);
}

/* The fastest call of a round, as of one row. */
static double batch_round(void *self, const bench_rows *rows)
{
    chain_job *job = (chain_job *)self;
    double begin = bench_cpu(), least = INFINITY;
    for (int calls = 0; calls < 3 || bench_cpu() - begin < ROUND_US; calls++) {
        double start = bench_cpu();
        job->sum += job->side->run_batch(job->chain);
        double us = bench_cpu() - start;
        least = us < least ? us : least;
    }
    return least / rows->count;
}

static watch_batch make_batch(bench_logits kind, size_t n, const char *real)
{
    bench_rows rows = bench_make_rows(kind, n, BENCH_BATCH_ROWS, real);
    size_t total = (size_t)rows.count * rows.stride;
    watch_batch b = { rows.data, NULL, NULL, n, rows.stride, rows.count };
    b.f16 = (uint16_t *)bench_alloc(total * sizeof *b.f16), b.bf16 = (uint16_t *)bench_alloc(total * sizeof *b.bf16);
    for (size_t i = 0; i < total; i++) b.f16[i] = half_of((double)rows.data[i]), b.bf16[i] = brain_of(rows.data[i]);
    return b;
}

static void time_batch(setting *s, int i, const char *isa, const char *logits, const watch_batch *batch)
{
    bench_rows rows = { batch->f32, batch->n, batch->stride, batch->count };
    const char *name = s->side[1]->batch(i);
    int at = find(s->side[0]->batch, name);
    if (at < 0 || !strcmp(name, "batch32")) return; /* that one is batch32_1t on more threads */
    void *old = s->side[0]->make_batch(at, batch), *own = s->side[1]->make_batch(i, batch);
    chain_job job[2] = { { s->side[0], old, 0, 0 }, { s->side[1], own, 0, 0 } };
    watched w = { name, isa, logits, batch_round, { &job[0], &job[1] }, &rows };
    for (int k = 0; k < 3; k++)
        if (s->side[0]->run_batch(old) != s->side[1]->run_batch(own)) {
            print_different(s, name, isa, logits, k);
            return;
        }
    watch(s, &w);
}

static void watch_cases(setting *s, bench_logits kind, size_t n)
{
    bench_rows rows = bench_make_rows(kind, n, s->o.rows, s->o.real);
    watch_batch batch = make_batch(kind, n, s->o.real);
    const char *best = NULL, *logits = bench_logits_name[kind];
    for (int k = 0; s->side[0]->isa(k); k++)
        if (find(s->side[1]->isa, s->side[0]->isa(k)) >= 0) best = s->side[0]->isa(k);
    print_heading(n);
    for (int k = 0; s->side[1]->isa(k); k++) {
        const char *isa = s->side[1]->isa(k);
        if (!bench_listed(s->o.isa ? s->o.isa : best, isa) || !s->side[0]->use(isa)) continue;
        use_isa(s, isa);
        for (int i = 0; s->side[1]->chain(i); i++)
            if (bench_listed(s->o.cases, s->side[1]->chain(i))) watch_chain(s, i, isa, logits, &rows);
        for (int i = 0; s->side[1]->batch(i); i++)
            if (bench_listed(s->o.cases, s->side[1]->batch(i))) time_batch(s, i, isa, logits, &batch);
        use_isa(s, NULL);
    }
    free(rows.data);
    free(batch.f32), free(batch.f16), free(batch.bf16);
}

static const char *name_at(int i)
{
    for (int k = 0; k < 3; k++) {
        const char *(*name)(int) = k == 0 ? watch_new.chain : k == 1 ? watch_new.batch : watch_new.pass;
        int n = 0;
        while (name(n)) n++;
        if (i < n) return name(i);
        i -= n;
    }
    return NULL;
}

/* Takes --limit out of the arguments, and --rounds if there is none; bench_parse knows the others. */
static void parse(setting *s, int argc, char **argv)
{
    char **rest = (char **)bench_alloc(((size_t)argc + 2) * sizeof *rest);
    static char rounds[] = "--rounds", usual[] = "31";
    int n = 0;
    s->limit = 5.0;
    rest[n++] = argv[0], rest[n++] = rounds, rest[n++] = usual;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--limit") && i + 1 < argc)
            s->limit = atof(argv[++i]);
        else
            rest[n++] = argv[i];
    s->o = bench_parse(n, rest, usage);
    free(rest);
    if (s->o.library || s->o.all || s->o.quick) bench_fail("unknown argument", NULL);
    bench_check_list(s->o.cases, "--case", name_at);
    bench_check_list(s->o.logits, "--logits", bench_logits_at);
    if (s->o.passes && !s->o.logits) s->o.logits = "peaked";
}

int main(int argc, char **argv)
{
    static setting s;
    double start = bench_now(), cpu = bench_cpu();
    parse(&s, argc, argv);
    s.side[0] = &watch_old, s.side[1] = &watch_new;
    if (s.o.csv && !(s.csv = fopen(s.o.csv, "w"))) bench_fail("cannot write", s.o.csv);
    if (s.csv) fputs("name,isa,logits,n_vocab,old_us,new_us,ratio,least_ratio\n", s.csv);
    const char *sizes = s.o.sizes ? s.o.sizes : "128256";
    bench_print_machine(&s.o, bench_ghz());
    for (size_t n; (n = bench_next_size(&sizes)) > 0;)
        for (bench_logits kind = PEAKED; kind < N_LOGITS; kind++)
            if (bench_listed(s.o.logits, bench_logits_name[kind]))
                (s.o.passes ? watch_passes : watch_cases)(&s, kind, n);
    bench_print_quiet(start, cpu);
    if (s.csv && fclose(s.csv)) bench_fail("cannot write", s.o.csv);
    if (s.different) printf("%d DIFFERENT RESULTS\n", s.different);
    if (s.slower) printf("%d slower by more than %g %%\n", s.slower, s.limit);
    if (!s.slower && !s.different) printf("nothing is slower by more than %g %%\n", s.limit);
    return s.slower || s.different;
}
