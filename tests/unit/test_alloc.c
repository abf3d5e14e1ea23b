/* test_alloc.c - after the first call at a vocabulary size, or samp_reserve, sampling does not touch the
   heap: a million samples, on every instruction set, with an allocator that counts. Also counts malloc
   itself, where it can be replaced, so that nothing slips past SAMP_MALLOC.

     SAMP_TEST_QUICK   20,000 samples instead */
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "tests/support/heap.h"
#include "tests/support/test.h"

#include <stdlib.h>

static unsigned long raw_mallocs; /* malloc's own calls */

/* glibc lets a program bring its own malloc; the sanitizers and other C libraries have theirs. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_RAW 1
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    raw_mallocs++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    raw_mallocs++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    raw_mallocs++;
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t alignment, size_t n)
{
    raw_mallocs++;
    return __libc_memalign(alignment, n);
}
#else
#define COUNTS_RAW 0
#endif

/* ---- chains, rows ---- */

enum { SMALL = 200, N = SMALL, LARGE = 128256, N_ROWS = 6 };
#include "tests/support/makers.h"

static samp_sampler *from_params(int i)
{
    samp_params p = samp_default_params();
    p.seed = (uint64_t)i;
    if (i % 2) p.rng = SAMP_RNG_MT19937;
    if (i > 0) p.penalty_repeat = 1.1f, p.penalty_freq = 0.1f;
    if (i > 1) p.typ_p = 0.95f, p.xtc_probability = 0.5f, p.dynatemp_range = 0.3f, p.top_n_sigma = 2.0f;
    if (i > 2) p.min_keep = 10, p.tfs_z = 0.99f;
    return samp_chain_from_params(&p, NULL);
}

/* From parameters, some that reach further, and each sampler: before dist, or alone if it selects. (infill's time grows with
   the square of the row.) */
enum { N_OTHERS = 7, N_CHAINS = N_OTHERS + N_STAGES + N_SELECTORS };
static samp_sampler *make_chain(int i)
{
    switch (i) {
        case 0:
        case 1:
        case 2:
        case 3: return from_params(i);
        case 4: return new_chain(samp_init_top_k(1000), samp_init_dist(1));
        case 5: return new_chain(make_min_p(), new_chain(make_temp_ext(), make_dist()));
        case 6: return new_chain(make_custom(), make_dist());
        default: i -= N_OTHERS;
    }
    return i < N_STAGES ? chain_with((size_t)i) : selectors[i - N_STAGES]();
}

/* Rows of all shapes, so that what is rarely needed is needed: flat, tied, masked, peaked, bad. */
static void make_row(float *row, size_t n, int shape)
{
    source rng = source_stream((uint64_t)shape);
    if (shape == 2)
        test_logits_tied(&rng, row, n, 0.5, 4);
    else
        test_logits(&rng, row, n, shape == 0 ? 3.0 : shape == 1 ? 0.01 : 1.0);
    for (size_t i = 0; i < n && shape == 3; i++)
        if (i % 5) row[i] = -INFINITY;
    for (size_t i = 0; i < 20 && shape == 4; i++) row[below(&rng, n)] = 14.0f - (float)i / 4.0f;
    if (shape == 5) row[n - 1] = NAN;
}

/* Forces instruction set i; behind the last the best again. */
static bool use_isa(int i) { return samp_isa_force(samp_isa_list(i)) == SAMP_OK && samp_isa_list(i); }

/* ---- tests ---- */

/* `count` samples from each chain and row shape at one length, none of which may allocate; how many there
   were. */
static unsigned long sample_all(samp_sampler *const *chain, float (*row)[LARGE], size_t n, int count)
{
    unsigned long before = heap.mallocs + heap.frees, raw_before = raw_mallocs, samples = 0;
    for (int c = 0; c < N_CHAINS; c++) {
        for (int shape = 0; shape < N_ROWS; shape++) {
            for (int i = 0; i < count; i++, samples++) {
                samp_token token = samp_sample(chain[c], row[shape], n);
                if ((token < 0) != (shape == 5))
                    test_fail(__FILE__, __LINE__, "chain %d, row %d: %s", c, shape, test_status_name(token));
            }
            if (heap.mallocs + heap.frees != before || raw_mallocs != raw_before)
                test_fail(__FILE__, __LINE__,
                          "chain %d, row %d, n = %zu: %lu calls of SAMP_MALLOC and SAMP_FREE, %lu of malloc", c,
                          shape, n, heap.mallocs + heap.frees - before, raw_mallocs - raw_before);
        }
    }
    return samples;
}

static void make_all(samp_sampler **chain)
{
    for (int c = 0; c < N_CHAINS; c++) {
        chain[c] = make_chain(c);
        assert_non_null(chain[c]);
    }
}

static float (*make_rows(size_t n))[LARGE]
{
    float(*row)[LARGE] = (float(*)[LARGE])malloc(N_ROWS * sizeof *row);
    assert_non_null(row);
    for (int shape = 0; shape < N_ROWS; shape++) make_row(row[shape], n, shape);
    return row;
}

static void free_all(samp_sampler **chain, float (*row)[LARGE])
{
    for (int c = 0; c < N_CHAINS; c++) samp_free(chain[c]);
    free(row);
}

/* The first call takes memory, and the calls after it, of the same size or smaller, none. */
TEST(a_million_samples)
{
    samp_sampler *chain[N_CHAINS];
    float(*row)[LARGE] = make_rows(SMALL);
    unsigned long total = 0, wanted = quick() ? 20000 : 1000000;
    make_all(chain);
    for (int c = 0; c < N_CHAINS; c++) {
        unsigned long before = heap.mallocs;
        assert_true(samp_sample(chain[c], row[0], SMALL) >= 0);
        assert_true(heap.mallocs > before);
    }
    while (total < wanted)
        for (int isa = 0; use_isa(isa); isa++)
            for (size_t n = SMALL; n > 8; n = n * 2 / 3) {
                for (int shape = 0; shape < N_ROWS; shape++) make_row(row[shape], n, shape);
                total += sample_all(chain, row, n, 20);
            }
    print_message("%lu samples, no allocation%s\n", total, COUNTS_RAW ? "" : " through SAMP_MALLOC");
    free_all(chain, row);
}

/* After samp_reserve not even the first call; and clones need their own. */
TEST(long_rows_after_reserve)
{
    samp_sampler *chain[N_CHAINS];
    float(*row)[LARGE] = make_rows(LARGE);
    unsigned long total = 0;
    make_all(chain);
    for (int c = 0; c < N_CHAINS; c++) {
        assert_ok(samp_reserve(chain[c], LARGE));
        unsigned long before = heap.mallocs;
        assert_ok(samp_reserve(chain[c], LARGE));
        assert_ok(samp_reserve(chain[c], 1));
        assert_num(heap.mallocs, before);
    }
    for (int isa = 0; use_isa(isa); isa++) total += sample_all(chain, row, LARGE, 1);
    print_message("%lu samples of %d tokens, no allocation\n", total, (int)LARGE);
    for (int c = 0; c < N_CHAINS; c++) {
        own_sampler *copy = samp_clone(chain[c]);
        unsigned long before = heap.mallocs;
        assert_true(samp_sample(copy, row[0], 100) >= 0);
        assert_true(heap.mallocs > before);
    }
    free_all(chain, row);
}

/* The rest of the API that runs between two tokens. */
TEST(nor_does_anything_between_two_tokens)
{
    samp_sampler *chain[N_CHAINS];
    float(*row)[LARGE] = make_rows(SMALL);
    samp_token_data data[SMALL];
    char text[2000];
    samp_token prev[8];
    make_all(chain);
    for (int c = 0; c < N_CHAINS; c++) {
        assert_true(samp_sample(chain[c], row[0], SMALL) >= 0);
        unsigned long before = heap.mallocs + heap.frees, raw_before = raw_mallocs;
        for (int i = 0; i < 300; i++) {
            samp_token_data_array cur = test_array(data, row[i % N_ROWS], SMALL);
            samp_draw(chain[c], row[i % N_ROWS], SMALL);
            samp_apply(chain[c], &cur);
            samp_accept(chain[c], i % SMALL);
            samp_set_position(chain[c], (uint64_t)i << 31);
            samp_describe(chain[c], text, sizeof text);
            samp_prev(chain[c], prev, 8);
            samp_perf(chain[c]);
            if (i % 100 == 99) samp_reset(chain[c]);
        }
        assert_num(heap.mallocs + heap.frees, before);
        assert_num(raw_mallocs, raw_before);
    }
    free_all(chain, row);
}

/* What samp_reserve takes grows with the vocabulary, and with nothing else. */
TEST(the_workspace_is_bounded)
{
    for (size_t n = 1; n <= 262144; n = n < 1000 ? n * 10 : n * 4) {
        own_sampler *chain = from_params(3);
        size_t before = heap.bytes;
        assert_ok(samp_reserve(chain, n));
        size_t bytes = heap.bytes - before;
        if (n > 10000) print_message("n_vocab %zu: %zu bytes, %.2f per token\n", n, bytes, (double)bytes / (double)n);
        assert_true(bytes <= 32 * n + 65536);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
