/* shard_mpi.c - a vocabulary spread over the ranks of an MPI program: each holds a slice of every row's logits, and all
   get the token of one machine. What a tensor-parallel server needs of it are the two callbacks and sample_here; the
   rest compares and measures.

     mpirun -n 3 build/shard_mpi test            tokens and statuses against one machine, 0 differences
     mpirun -n 3 build/shard_mpi bench [n_vocab] bytes, rounds and time beside gathering whole rows; then how many tokens
                                                 took how many rounds

   Every rank makes the whole rows, so that each can tell what one machine would say; it hands only its slice on. */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLING_IMPLEMENTATION
#define SAMPLING_SHARDS
#include "sampling.h"
#include "tests/support/floats.h"
#include "tests/support/source.h"

/* ---- what carries messages ---- */

static void merge_op(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *n; i++) samp_shard_merge((char *)inout + i * size, (char *)in + i * size, (size_t)size);
}

/* What passes here is counted. */
typedef struct carrier {
    MPI_Op merge;
    size_t rounds, bytes;
} carrier;

/* A message is one element: MPI may cut an array of bytes anywhere. */
static int allreduce(void *user, void *bytes, size_t n, samp_merge merge)
{
    carrier *c = (carrier *)user;
    MPI_Datatype message;
    (void)merge; /* it is in merge_op */
    c->rounds++;
    c->bytes += n;
    MPI_Type_contiguous((int)n, MPI_BYTE, &message);
    MPI_Type_commit(&message);
    int failed = MPI_Allreduce(MPI_IN_PLACE, bytes, 1, message, c->merge, MPI_COMM_WORLD);
    MPI_Type_free(&message);
    return failed ? SAMP_E_DEVICE : SAMP_OK;
}

static int allgather(void *user, const void *bytes, size_t n, void *all)
{
    carrier *c = (carrier *)user;
    c->rounds++;
    c->bytes += n;
    int failed = MPI_Allgather(bytes, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, MPI_COMM_WORLD);
    return failed ? SAMP_E_DEVICE : SAMP_OK;
}

/* ---- rows, chains and slices ---- */

enum { ROWS = 128, KINDS = 4 };
static const char *const KIND_NAMES[KINDS] = { "real", "tail", "wide", "ties" };

static int rank, n_ranks;
static long differences;

static void *take(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

/* Row r of a kind: real logits; a long tail; wide; multiples of 1/16, so that many tie. */
static void make_row(float *x, size_t n, int kind, uint64_t r)
{
    source s = source_seed(r * KINDS + (uint64_t)kind);
    for (size_t i = 0; i < n; i++) {
        if (kind == 0 && real_rows) x[i] = real_rows[r % REAL_ROWS][(i + 977 * r) % REAL_WIDTH];
        if (kind == 1) x[i] = (float)(12.0 - 2.0 * log(1.0 + (double)n * coarse(&s)));
        if (kind == 2 || (kind == 0 && !real_rows)) x[i] = (float)(2.0 * normal_fast(&s));
        if (kind == 3) x[i] = floorf((float)(32.0 * normal_fast(&s))) / 16.0f;
    }
}

typedef struct chain_kind {
    const char *name, *order;
    float top_p, typ_p, min_p;
    int32_t top_k, mirostat;
} chain_kind;

static const chain_kind CHAINS[] = {
    { "default", NULL, 0.95f, 1.0f, 0.05f, 40, 0 },
    { "top_p 0.95", "penalties;temperature;top_p", 0.95f, 1.0f, 0.0f, 0, 0 },
    { "min_p 0.02", NULL, 1.0f, 1.0f, 0.02f, 0, 0 },
    { "temperature", NULL, 1.0f, 1.0f, 0.0f, 0, 0 },
    { "top_n_sigma", "penalties;top_n_sigma;temperature", 1.0f, 1.0f, 0.0f, 0, 0 },
    { "p_less", "penalties;p_less;temperature", 1.0f, 1.0f, 0.0f, 0, 0 },
    { "typical 0.9", NULL, 1.0f, 0.9f, 0.0f, 0, 0 },
    { "mirostat_v2", NULL, 1.0f, 1.0f, 0.0f, 0, 2 },
};
enum { N_CHAINS = sizeof CHAINS / sizeof CHAINS[0] };

static samp_sampler *make_chain(const chain_kind *kind, uint64_t seed)
{
    samp_params p = samp_default_params();
    p.seed = seed;
    p.top_k = kind->top_k;
    p.top_p = kind->top_p;
    p.typ_p = kind->typ_p;
    p.min_p = kind->min_p;
    p.mirostat = kind->mirostat;
    p.penalty_repeat = 1.1f;
    if (kind->order) p.order = kind->order;
    if (kind->order && strstr(kind->order, "sigma")) p.top_n_sigma = 1.0f;
    if (kind->order && strstr(kind->order, "p_less")) p.p_less = 1.0f;
    return samp_chain_from_params(&p, NULL);
}

/* Where the slice of rank p begins: even slices, or the first one has most and those from the third on have nothing. */
static size_t begin_of(size_t n_vocab, bool even, int p)
{
    if (even || p == 0) return n_vocab * (size_t)p / (size_t)n_ranks;
    return p == 1 && n_ranks > 1 ? n_vocab / 4 * 3 : n_vocab;
}

/* One batch on this rank. */
static int sample_here(samp_shard *shard, const samp_ranks *ranks, samp_sampler *const *chains, const float *slice,
                       size_t n_rows, size_t length, size_t stride, samp_token *out)
{
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    logits.data = slice;
    logits.n_rows = n_rows;
    logits.n_vocab = length;
    logits.stride = stride;
    return samp_sample_sharded(shard, ranks, chains, &logits, out);
}

/* ---- test ---- */

static void must_be(const char *what, long got, long want)
{
    if (got == want) return;
    differences++;
    if (differences < 10) fprintf(stderr, "rank %d: %s: %ld, must be %ld\n", rank, what, got, want);
}

/* Batches of every chain and kind of row, by both callbacks: this rank's tokens are those of one machine. */
static long test_tokens(size_t n_vocab, bool even, bool reduces, carrier *c)
{
    static const size_t sizes[] = { 1, 3, 17, 64 };
    samp_sampler *one[ROWS], *here[ROWS];
    samp_token want[ROWS], got[ROWS];
    size_t first = begin_of(n_vocab, even, rank), length = begin_of(n_vocab, even, rank + 1) - first;
    long tokens = 0;
    samp_shard *shard = samp_shard_init(n_vocab, first, length, (uint32_t)n_ranks, NULL);
    samp_ranks ranks = { reduces ? allreduce : NULL, reduces ? NULL : allgather, c };
    float *x = (float *)take(ROWS * n_vocab * sizeof *x);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (size_t r = 0; r < sizes[k]; r++) {
            one[r] = make_chain(&CHAINS[(r + k) % N_CHAINS], r);
            here[r] = samp_clone(one[r]);
            make_row(x + r * n_vocab, n_vocab, (int)((r / N_CHAINS + k) % KINDS), r);
        }
        samp_logits whole;
        memset(&whole, 0, sizeof whole);
        whole.data = x;
        whole.n_rows = sizes[k];
        whole.n_vocab = n_vocab;
        for (int step = 0; step < 3; step++) {
            must_be("samp_sample_batch", samp_sample_batch(one, &whole, want), SAMP_OK);
            int status = sample_here(shard, &ranks, here, x + first, sizes[k], length, n_vocab, got);
            must_be("samp_sample_sharded", status, SAMP_OK);
            for (size_t r = 0; r < sizes[k]; r++) must_be("a token", got[r], want[r]);
            tokens += (long)sizes[k];
        }
        for (size_t r = 0; r < sizes[k]; r++) {
            must_be("a position", (long)samp_get_position(here[r]), (long)samp_get_position(one[r]));
            samp_free(one[r]);
            samp_free(here[r]);
        }
    }
    samp_shard_free(shard);
    free(x);
    return tokens;
}

/* What goes wrong on one rank is told on all, and no chain has moved. */
static void test_failures(carrier *c)
{
    enum { N = 5000 };
    static const char *const what[] = { "NaN in a slice", "another seed", "slices that overlap",
                                        "another n_rows", "no data",      "another position" };
    static const int want[] = { SAMP_OK, SAMP_E_FORMAT, SAMP_E_RANGE, SAMP_E_RANGE, SAMP_E_NULL, SAMP_E_FORMAT };
    samp_ranks ranks = { allreduce, NULL, c };
    float *x = (float *)take(2 * N * sizeof *x);
    for (int i = 0; i < (int)(sizeof want / sizeof want[0]); i++) {
        bool mine = rank == n_ranks - 1;
        size_t first = begin_of(N, true, rank), end = begin_of(N, true, rank + 1);
        samp_token out[2] = { -100, -100 };
        samp_sampler *chains[2] = { make_chain(&CHAINS[0], 1), make_chain(&CHAINS[1], i == 1 && mine ? 3 : 2) };
        for (int r = 0; r < 2; r++) make_row(x + r * N, N, 2, (uint64_t)r);
        if (i == 0 && mine) x[first] = NAN;
        if (i == 2 && mine && n_ranks > 1) first--;
        if (i == 5 && mine) samp_set_position(chains[0], 9);
        samp_shard *shard = samp_shard_init(N, first, end - first, (uint32_t)n_ranks, NULL);
        int status = sample_here(shard, &ranks, chains, i == 4 && mine ? NULL : x + first, i == 3 && mine ? 1 : 2,
                                 end - first, N, out);
        must_be(what[i], status, n_ranks > 1 || i == 0 || i == 4 ? want[i] : SAMP_OK);
        if (i == 0) {
            must_be("the row with NaN", out[0], SAMP_E_NAN);
            must_be("the row beside it", out[1] >= 0, 1);
        } else if (n_ranks > 1) {
            must_be("the rows' status", out[0], want[i]);
            must_be("a chain's position", (long)samp_get_position(chains[1]), 0);
        }
        samp_shard_free(shard);
        for (int r = 0; r < 2; r++) samp_free(chains[r]);
    }
    free(x);
}

static int test(carrier *c)
{
    static const size_t vocabularies[] = { 7, 1000, 32768, 128256 };
    long tokens = 0, all = 0;
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++)
        for (int how = 0; how < 3; how++) tokens += test_tokens(vocabularies[i], how != 1, how != 2, c);
    test_failures(c);
    MPI_Allreduce(&differences, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("shard_mpi: %d ranks, %ld tokens on each, %ld differences\n", n_ranks, tokens, all);
    return all != 0;
}

/* ---- bench ---- */

typedef struct bench {
    size_t n_vocab, n_rows, first, length;
    float *whole, *slice, *parts; /* [n_rows x n_vocab], [n_rows x length], the slices of all ranks */
    samp_sampler *chain[ROWS];
    samp_token out[ROWS];
    samp_shard *shard;
    samp_ranks ranks;
} bench;

/* What servers do: every rank gets all rows, and samples them. */
static void gather_rows(bench *b)
{
    size_t block = b->n_rows * b->length;
    MPI_Allgather(b->slice, (int)block, MPI_FLOAT, b->parts, (int)block, MPI_FLOAT, MPI_COMM_WORLD);
    for (int p = 0; p < n_ranks; p++)
        for (size_t r = 0; r < b->n_rows; r++)
            memcpy(b->whole + r * b->n_vocab + (size_t)p * b->length, b->parts + (size_t)p * block + r * b->length,
                   b->length * sizeof(float));
    samp_logits logits;
    memset(&logits, 0, sizeof logits);
    logits.data = b->whole;
    logits.n_rows = b->n_rows;
    logits.n_vocab = b->n_vocab;
    samp_sample_batch(b->chain, &logits, b->out);
}

/* Microseconds of the slowest rank, the best of some. */
static double best_of(bench *b, bool gathers)
{
    double best = 1e30;
    for (int i = 0; i < 12; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), took, slowest;
        if (gathers)
            gather_rows(b);
        else
            sample_here(b->shard, &b->ranks, b->chain, b->slice, b->n_rows, b->length, 0, b->out);
        took = MPI_Wtime() - start;
        MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (slowest < best) best = slowest;
    }
    return best * 1e6;
}

static void bench_case(size_t n_vocab, size_t n_rows, const chain_kind *kind, int row_kind, carrier *c)
{
    bench b;
    memset(&b, 0, sizeof b);
    b.length = n_vocab / (size_t)n_ranks;
    b.n_vocab = b.length * (size_t)n_ranks;
    b.n_rows = n_rows;
    b.first = b.length * (size_t)rank;
    b.whole = (float *)take(n_rows * b.n_vocab * sizeof(float));
    b.parts = (float *)take(n_rows * b.n_vocab * sizeof(float));
    b.slice = (float *)take(n_rows * b.length * sizeof(float));
    for (size_t r = 0; r < n_rows; r++) {
        make_row(b.whole, b.n_vocab, row_kind, r);
        memcpy(b.slice + r * b.length, b.whole + b.first, b.length * sizeof(float));
        b.chain[r] = make_chain(kind, r);
    }
    b.shard = samp_shard_init(b.n_vocab, b.first, b.length, (uint32_t)n_ranks, NULL);
    b.ranks.allreduce = allreduce;
    b.ranks.user = c;
    double gathered = best_of(&b, true), sharded = best_of(&b, false);
    c->rounds = c->bytes = 0;
    sample_here(b.shard, &b.ranks, b.chain, b.slice, n_rows, b.length, 0, b.out);
    if (rank == 0)
        printf("%-12s %-5s %4zu %7zu %9.1f KB %9.0f us   %11.1f KB %9.0f us %7.1fx\n", kind->name,
               KIND_NAMES[row_kind], n_rows, c->rounds, (double)c->bytes / (double)n_rows / 1000.0, sharded,
               (double)(b.n_vocab - b.length) * 4.0 / 1000.0, gathered, gathered / sharded);
    for (size_t r = 0; r < n_rows; r++) samp_free(b.chain[r]);
    samp_shard_free(b.shard);
    free(b.whole);
    free(b.parts);
    free(b.slice);
}

/* How many tokens of rows one by one took so many rounds, and the most bytes that one of them took. */
static void bench_rounds(size_t n_vocab, carrier *c)
{
    enum { TOKENS = 16, MOST = 8 };
    size_t first = begin_of(n_vocab, true, rank), length = begin_of(n_vocab, true, rank + 1) - first;
    size_t all = 0, within = 0;
    float *x = (float *)take(n_vocab * sizeof *x);
    samp_shard *shard = samp_shard_init(n_vocab, first, length, (uint32_t)n_ranks, NULL);
    samp_ranks ranks = { allreduce, NULL, c };
    if (rank == 0) printf("\ntokens, one by one, by rounds:%17s2     3     4     5     6     7   most bytes\n", "");
    for (int k = 0; k < N_CHAINS * KINDS; k++) {
        size_t count[MOST + 1] = { 0 }, most = 0;
        samp_token out;
        for (uint64_t r = 0; r < TOKENS; r++) {
            samp_sampler *chain = make_chain(&CHAINS[k / KINDS], r);
            make_row(x, n_vocab, k % KINDS, r);
            c->rounds = c->bytes = 0;
            must_be("samp_sample_sharded", sample_here(shard, &ranks, &chain, x + first, 1, length, 0, &out),
                    SAMP_OK);
            count[c->rounds < MOST ? c->rounds : MOST]++;
            within += c->rounds <= 3;
            all++;
            if (c->bytes > most) most = c->bytes;
            samp_free(chain);
        }
        if (rank == 0) printf("%-12s %-27s", CHAINS[k / KINDS].name, KIND_NAMES[k % KINDS]);
        for (int i = 2; i < MOST && rank == 0; i++) printf(" %5zu", count[i]);
        if (rank == 0) printf(" %12zu\n", most);
    }
    if (rank == 0) printf("%.1f %% of %zu tokens took 3 rounds at most\n", 100.0 * (double)within / (double)all, all);
    samp_shard_free(shard);
    free(x);
}

/* The constants of the formula: what a round costs, empty, and a byte more in it; what gathering a byte costs. */
static void bench_carrier(carrier *c)
{
    static const size_t sizes[] = { 16, 64, 1024, 16384 };
    unsigned char *bytes = (unsigned char *)take(1 << 20);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        double best = 1e30, gather = 1e30;
        size_t n = SAMPI_SHARD_HEAD + sampi_parcel_size(SAMPI_PARCEL_HIST, sizes[k]);
        memset(bytes, 0, n);
        sampi_wire_put(bytes, SAMPI_SHARD_MAGIC, 4);
        sampi_wire_put(bytes + SAMPI_AT_FORMAT, SAMPI_SHARD_FORMAT, 4);
        sampi_wire_put(bytes + SAMPI_AT_PARCELS, 1, 4);
        sampi_parcel p = sampi_new_parcel(bytes + SAMPI_SHARD_HEAD, SAMPI_PARCEL_HIST, 0, sizes[k]);
        sampi_set_entries(&p, sizes[k]);
        unsigned char *all = (unsigned char *)take(n * (size_t)n_ranks);
        for (int i = 0; i < 200; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime(), took;
            allreduce(c, bytes, n, samp_shard_merge);
            took = MPI_Wtime() - start;
            if (took < best) best = took;
            MPI_Barrier(MPI_COMM_WORLD);
            start = MPI_Wtime();
            allgather(c, bytes, n, all);
            took = MPI_Wtime() - start;
            if (took < gather) gather = took;
        }
        if (rank == 0)
            printf("a round of %6zu bytes: allreduce %7.1f us, allgather %7.1f us\n", n, best * 1e6, gather * 1e6);
        free(all);
    }
    free(bytes);
}

static int run_bench(size_t n_vocab, carrier *c)
{
    static const size_t sizes[] = { 1, 8, 64 };
    if (rank == 0)
        printf("%d ranks, %zu tokens; a row's bytes are those that a rank sends, or takes in from the others\n"
               "%-12s %-5s %4s %7s %12s %12s   %14s %12s %8s\n",
               n_ranks, n_vocab, "chain", "rows", "n", "rounds", "a row", "time", "gathered", "time", "faster");
    for (int k = 0; k < N_CHAINS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int row_kind = 0; row_kind < 3; row_kind += 2)
                bench_case(n_vocab, sizes[i], &CHAINS[k], row_kind, c);
    bench_rounds(n_vocab, c);
    bench_carrier(c);
    return 0;
}

int main(int argc, char **argv)
{
    carrier c = { MPI_OP_NULL, 0, 0 };
    int failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Op_create(merge_op, 1, &c.merge);
    real_rows_load(REAL_ROWS_PATH);
    if (argc > 1 && !strcmp(argv[1], "bench"))
        failed = run_bench(argc > 2 ? strtoull(argv[2], NULL, 0) : 128256, &c);
    else
        failed = test(&c);
    MPI_Op_free(&c.merge);
    MPI_Finalize();
    return failed;
}
