/* test_fast.c - the fast path, samp_sample, gives exactly the token that the definition gives, the samplers applied one by
   one to the array of all candidates: for random chains and rows, on every instruction set, with one thread
   and two, wherever the row lies in memory, and with every single element of a row being the one that
   decides.

     SAMP_TEST_CASES   random chains, each with up to eight rows (default: see default_cases)
     SAMP_TEST_SEED    case i is made from seed + i: what a failure prints replays that one case
     SAMP_TEST_FULL    all of everything, not the part that make test plays
     SAMP_TEST_QUICK   fewer of everything
     SAMP_TEST_ISA     only this instruction set

   The name of a test as argument runs that one alone. With -DSAMP_TEST_PLAIN it needs no cmocka, and
   SAMP_TEST_STOP makes it stop at the first failed test. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap */
#endif
#define SAMPLING_GUMBEL
#define SAMPLING_CONSTRAINTS
#define SAMPI_LONG_LIST 5
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/case.h"
#include "tests/support/suite.h"

#include <pthread.h>

/* ----------------------------------------------------------------------------------------------- settings */

enum {
    LONGEST = 262144,
    MAX_STEPS = 8,
    MAX_FAILURES = 5 /* then a test gives up */
};

static uint64_t default_cases(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return cases(20000, 500);
#else
    return cases(100000, 500);
#endif
}

static bool begin(player *p, isa_list isa, size_t longest)
{
    watch_faults();
    real_rows_load(REAL_ROWS_PATH);
    if (isa.n > 0 && player_make(p, isa, longest)) return true;
    printf("nothing to play with\n");
    return false;
}

static bool end(player *p, bool good, const char *what)
{
    printf("  %s: %" PRIu64 " rows (%" PRIu64 " tokens),", what, p->n_rows, p->n_tokens);
    for (int i = 0; i < p->isa.n; i++) printf(" %s", p->isa.name[i]);
    if (p->n_steps || p->n_exact)
        printf("; %" PRIu64 " draws step by step, %" PRIu64 " exact sums", p->n_steps, p->n_exact);
    printf("%s\n", good ? "" : ": FAILED");
    fflush(stdout);
    alarm(0);
    player_free(p);
    return good;
}

/* ------------------------------------------------------------------------------------ random chains, rows */

/* Case `seed`, on this player's instruction sets. */
static bool one_case(player *p, uint64_t seed)
{
    source s = source_seed(seed);
    uint64_t size = below(&s, 1000);
    bool bigger = size < 4;
    size_t n = make_length(&s, p->longest);
    if (bigger) n = 4090 + below(&s, size == 0 ? 40000 : 4000);
    AT("SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=1", seed);
    p->report_len = 0;
    if (play(p, &s, n, bigger ? 2 : MAX_STEPS)) return true;
    printf("%s\n%s", at_work, p->report);
    return false;
}

static bool random_cases(player *p, uint64_t first, uint64_t n)
{
    int failures = 0;
    for (uint64_t i = 0; i < n && failures < MAX_FAILURES; i++) failures += !one_case(p, first + i);
    return failures == 0;
}

/* Two thirds of all cases: each on all instruction sets in turn. */
static bool random_chains(void)
{
    player p;
    uint64_t n = default_cases();
    if (!begin(&p, wanted_isa(), LONGEST)) return false;
    bool good = random_cases(&p, env_setting("SAMP_TEST_SEED", 1), n - n / 3);
    printf("  %" PRIu64 " chains\n", n - n / 3);
    return end(&p, good, "random chains");
}

/* More members than anything on the fast path may have room for. */
static bool chains_of_many_members(void)
{
    static const int members[] = { 24, 25, 26, 63, 64, 65, 66, 200, 256, 257, 300 };
    enum { N = 300 };
    player p;
    bool good = begin(&p, wanted_isa(), N);
    for (uint64_t i = 0; i < 6 * CASE_COUNT(members) && good; i++) {
        source s = source_seed(i);
        band b = { samp_chain_init(), { NULL }, true };
        AT("many members, case %d", (int)i);
        for (int k = 1; k < members[i % CASE_COUNT(members)]; k++) { /* those that leave much first */
            int kind = (int)below(&s, N_STAGES);
            bool mild = kind == SAMPI_LOGIT_BIAS || kind == SAMPI_PENALTIES || kind == SAMPI_TEMP ||
                        kind == SAMPI_SOFTMAX;
            if (mild || percent(&s, 5))
                samp_chain_add(b.steps, make_kind(&s, kind, N));
            else
                samp_chain_add(b.steps, samp_init_temp(percent(&s, 50) ? 1.01f : 0.99f));
        }
        samp_chain_add(b.steps, make_kind(&s, make_selector(&s), N));
        if (i % 3 == 2) samp_set_rng(b.steps, SAMP_RNG_MT19937);
        for (int k = 0; k < p.isa.n; k++) b.fast[k] = samp_clone(b.steps);
        good = play_rows(&p, &s, &b, N, 4);
        band_free(&p, &b);
    }
    return end(&p, good, "many members");
}

typedef struct worker {
    pthread_t thread;
    int number;
    player p;
    uint64_t first, n;
    bool good;
} worker;

static void *work(void *arg)
{
    worker *w = (worker *)arg;
    thread_number = w->number;
    w->good = random_cases(&w->p, w->first, w->n);
    return NULL;
}

static bool two_workers(isa_list one, uint64_t first, uint64_t n)
{
    worker w[2];
    bool good = true;
    memset(w, 0, sizeof w);
    for (int i = 0; i < 2; i++) {
        good &= begin(&w[i].p, one, LONGEST);
        w[i].number = i + 1;
        w[i].first = first + (i ? n / 2 : 0);
        w[i].n = i ? n - n / 2 : n / 2;
        if (pthread_create(&w[i].thread, NULL, work, &w[i])) return false;
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(w[i].thread, NULL);
        good &= w[i].good;
        good &= end(&w[i].p, w[i].good, "random chains, two threads");
    }
    return good;
}

/* The other third: two threads, each with its own cases, both on one instruction set. */
static bool random_chains_two_threads(void)
{
    isa_list isa = wanted_isa();
    uint64_t n = default_cases(), first = env_setting("SAMP_TEST_SEED", 1) + n - n / 3;
    bool good = true;
    n /= 3;
    for (int i = 0; i < isa.n && good; i++) {
        uint64_t part = n / (uint64_t)(isa.n - i);
        if (part) good = two_workers(isa_one(&isa, i), first, part);
        first += part;
        n -= part;
    }
    return good;
}

/* ------------------------------------------------------------------------------------ clones of one chain */

enum { CLONE_DRAWS = 8 };

typedef struct clone_worker {
    pthread_t thread;
    int number;
    samp_sampler *chain;
    const float *row;
    size_t n;
    samp_token token[CLONE_DRAWS];
} clone_worker;

static void *clone_work(void *arg)
{
    clone_worker *w = (clone_worker *)arg;
    thread_number = w->number;
    memcpy(at_work, at_work_of[0], sizeof at_work);
    for (int i = 0; i < CLONE_DRAWS; i++) w->token[i] = samp_sample(w->chain, w->row, w->n);
    return NULL;
}

static bool clones_case(player *p, uint64_t seed, const char *isa)
{
    source s = source_seed(~seed);
    clone_worker w[2];
    AT("clones of case %" PRIu64 ", %s", seed, isa);
    size_t n = make_length(&s, p->longest);
    samp_sampler *chain = make_chain(&s, n);
    samp_token want[CLONE_DRAWS];
    make_row(&s, p->row, n);
    samp_sample(chain, p->row, n); /* so that the original has its memory, which clones must not share */
    w[0].chain = samp_clone(chain);
    w[1].chain = samp_clone(w[0].chain);
    for (int i = 0; i < 2; i++) {
        w[i].row = p->row;
        w[i].n = n;
        w[i].number = i + 1;
        if (pthread_create(&w[i].thread, NULL, clone_work, &w[i])) return false;
    }
    for (int i = 0; i < CLONE_DRAWS; i++) want[i] = step(p, &chain, p->row, n, true);
    bool same = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(w[i].thread, NULL);
        same &= memcmp(want, w[i].token, sizeof want) == 0 && same_state(chain, w[i].chain);
        samp_free(w[i].chain);
    }
    p->n_rows++;
    p->n_tokens += want[0] >= 0;
    p->report_len = 0;
    if (!same) {
        report_case(p, chain, p->row, n);
        printf("clones in two threads differ, %s, SAMP_TEST_SEED=%" PRIu64 "\n%s", isa, seed, p->report);
    }
    samp_free(chain);
    return same;
}

/* Two threads at once on clones of one chain and the same row in memory. */
static bool clones_at_once(void)
{
    player p;
    isa_list isa = wanted_isa();
    uint64_t n = quick() ? 50 : 600, seed = env_setting("SAMP_TEST_SEED", 1);
    bool good = true;
    if (!begin(&p, isa, 5000)) return false;
    for (int k = 0; k < isa.n; k++) {
        isa_use(&isa, k);
        for (uint64_t i = 0; i < n && good; i++) good = clones_case(&p, seed + i, isa.name[k]);
    }
    return end(&p, good, "clones in two threads");
}

/* ---------------------------------------------------------------------------------------------- long rows */

/* Chains that go all ways through a row. */
static samp_sampler *long_chain(int i)
{
    samp_params p = samp_default_params();
    samp_sampler *chain = samp_chain_init();
    source s = source_seed((uint64_t)i);
    p.seed = (uint64_t)i;
    if (i == 0 || i == 1) {
        samp_free(chain);
        if (i) p.penalty_repeat = 1.1f;
        return samp_chain_from_params(&p, NULL);
    }
    if (i == 2) samp_chain_add(chain, samp_init_greedy());
    if (i == 3) samp_chain_add(chain, samp_init_temp(0.8f));
    if (i == 4) samp_chain_add(chain, samp_init_top_p(0.95f, 0));
    if (i == 5) samp_chain_add(chain, samp_init_min_p(0.05f, 0));
    if (i == 6) samp_chain_add(chain, samp_init_typical(0.9f, 0));
    if (i == 7) samp_chain_add(chain, samp_init_top_n_sigma(1.0f));
    if (i == 8) samp_chain_add(chain, samp_init_top_k(1000));
    if (i == 9) samp_chain_add(chain, samp_init_mirostat_v2(5, 5.0f, 0.1f));
    if (i == 10) samp_chain_add(chain, samp_init_xtc(0.5f, 0.1f, 0, 6));
    if (i == 11) samp_chain_add(chain, samp_init_adaptive_p(0.3f, 0.9f, 7));
    if (i == 12) samp_chain_add(chain, samp_init_tail_free(0.95f, 0));
    if (i == 13) samp_chain_add(chain, samp_init_mirostat(128256, 8, 5.0f, 0.1f, 100));
    if (i == 14) samp_chain_add(chain, samp_init_temp_ext(1.0f, 0.5f, 1.0f));
    if (i == 15) samp_chain_add(chain, make_custom(&s));
    if (i == 16) samp_chain_add(chain, samp_init_temp(1.5f)); /* what is divided already */
    if (i == 16) samp_chain_add(chain, samp_init_xtc(1.0f, 0.1f, 0, 6));
    if (i == 17) samp_chain_add(chain, samp_init_temp(0.0f));
    if (i == 18) samp_chain_add(chain, samp_init_p_less(1.0f, 0));
    if (i == 19) samp_chain_add(chain, samp_init_epsilon(9e-4f, 0));
    if (i == 20) samp_chain_add(chain, samp_init_eta(2e-3f, 0));
    if (i == 21) samp_chain_add(chain, samp_init_top_h(0.4f, 0));
    if (i == 22) samp_chain_add(chain, samp_init_min_k(3.0f));
    if (i == 23) samp_chain_add(chain, samp_init_log_softmax());
    if (i == 24) samp_chain_add(chain, samp_init_p_less_norm(1.0f, 0));
    if (i != 2 && i != 9 && i != 11 && i != 13) samp_chain_add(chain, samp_init_dist(9));
    return chain;
}

enum { N_LONG_CHAINS = 25 };

static const int long_kinds[] = { ROW_NORMAL, ROW_ZIPF,       ROW_PEAKED,     ROW_REAL,
                                  ROW_EQUAL,  ROW_TWO_VALUES, ROW_NEARLY_FLAT };

static bool long_row(player *p, int i, int kind, size_t n, double scale, samp_rng_kind rng)
{
    band b = { long_chain(i), { NULL }, true };
    source s = source_seed(n + (uint64_t)i);
    AT("long row %zu, chain %d, kind %d, scale %g, random source %d", n, i, kind, scale, (int)rng);
    samp_set_rng(b.steps, rng);
    for (int j = 0; j < p->isa.n; j++) b.fast[j] = samp_clone(b.steps);
    for (size_t j = 0; j < n; j++) p->row[j] = make_logit(&s, kind, j, n, scale, 0.0);
    for (size_t j = 0; kind == ROW_REAL && real_rows && j < n; j++)
        p->row[j] = (j < REAL_WIDTH ? 1.0f : 0.75f) * real_logit(j % (3 * REAL_WIDTH));
    p->report_len = 0;
    bool good = true;
    for (int draw = 0; draw < (rng == SAMP_RNG_MT19937 ? 2 : 1) && good; draw++)
        good = play_row(p, &b, p->row, n, (unsigned)(n + (size_t)i) % 24, NAN);
    if (!good) printf("%s\n%s", at_work, p->report);
    band_free(p, &b);
    return good;
}

/* The same in llama.cpp's arithmetic, whose sums depend on length and order: chains that see the whole row. */
static bool long_rows_of_llama(void)
{
    player p;
    int failures = 0;
    if (!begin(&p, wanted_isa(), LONGEST)) return false;
    for (int i = 0; i < N_LONG_CHAINS; i++)
        for (size_t r = quickest() ? (size_t)i % CASE_COUNT(long_kinds) : 0;
             r < CASE_COUNT(long_kinds) && failures < MAX_FAILURES; r += quickest() ? CASE_COUNT(long_kinds) : 1)
            for (int scale = 0; scale < (quick() ? 1 : 3); scale++)
                failures += !long_row(&p, i, long_kinds[r], 8192 + (size_t)(1000 * scale) + 37 * r,
                                      scale == 0 ? 2.0 : 0.7 * scale, SAMP_RNG_MT19937);
    for (int i = 0; i < N_LONG_CHAINS && !quick(); i++)
        failures += !long_row(&p, i, ROW_PEAKED, 128256, 2.0, SAMP_RNG_MT19937);
    return end(&p, failures == 0, "long rows of llama.cpp");
}

/* ------------------------------------------------------------------- the two kernels of llama.cpp's arithmetic */

/* expf's kernels against libm: every stride-th float that is 0 or less, -infinity among them, and the one that libms
   differ in, at the end of each row. */
static bool expf_is_libms(void)
{
    enum { N = 1000 };
    static float x[N + 1], e[N + 1 + 32];
    isa_list isa = wanted_isa();
    const uint64_t full = env_setting("SAMP_TEST_FULL", 0), last = 0xFF800000u;
    const uint64_t stride = full > 1 ? 1 : full ? 31 : quick() ? 40009 : 1009;
    for (int k = 0; k < isa.n; k++) {
        for (uint64_t u = 0x80000000u; u <= last;) {
            size_t n = 0;
            for (; n < N && u <= last; n++, u += u + stride > last && u < last ? last - u : stride)
                x[n] = float_from((uint32_t)u);
            x[n++] = SAMPI_EXPF_ODD;
            isa.table[k]->expf(x, n, 0.0f, e);
            for (size_t i = 0; i < n; i++) {
                if (bits_of(e[i]) == bits_of(expf(x[i]))) continue;
                printf("%s: expf(%a) is %a, in libm %a\n", isa.name[k], (double)x[i], (double)e[i],
                       (double)expf(x[i]));
                return false;
            }
        }
    }
    printf("  expf as libm has it, every %" PRIu64 ". float\n", stride);
    return true;
}

/* With a maximum: the same as one by one. */
static bool expf_of_logits(void)
{
    isa_list isa = wanted_isa();
    float x[300], want[300 + 32], got[300 + 32];
    for (uint64_t seed = 1; seed <= (quick() ? 300 : 3000); seed++) {
        source s = source_seed(seed);
        size_t n = 1 + below(&s, 300);
        float max = -FLT_MAX;
        make_row(&s, x, n);
        for (size_t i = 0; i < n; i++)
            if (!(x[i] <= FLT_MAX)) x[i] = -1.0f;
        for (size_t i = 0; i < n; i++) max = fmaxf(max, x[i]);
        sampi_expf_scalar(x, n, max, want);
        for (int k = 0; k < isa.n; k++) {
            isa.table[k]->expf(x, n, max, got);
            if (memcmp(want, got, n * sizeof *want) == 0) continue;
            size_t i = 0;
            while (bits_of(want[i]) == bits_of(got[i])) i++;
            printf("%s: expf of %a - %a is %a, not %a\n", isa.name[k], (double)x[i], (double)max, (double)got[i],
                   (double)want[i]);
            printf("seed %" PRIu64 "\n", seed);
            return false;
        }
    }
    return true;
}

/* The float sum of squares by tiles against a loop: squares of any size, many that end half way between two sums. */
static bool squares_in_order(void)
{
    enum { N = 3000 };
    static float x[N];
    for (uint64_t seed = 1; seed <= (quick() ? 2000 : 20000); seed++) {
        source s = source_seed(seed);
        size_t n = 1 + below(&s, N);
        int kind = (int)below(&s, 4);
        float scale = PICK(&s, 1.0f, 1e-3f, 1e-7f, 1e-22f, 1e18f), mean = PICK(&s, 0.0f, 0.5f, -7.0f);
        for (size_t i = 0; i < n; i++) {
            double y = kind == 0 ? normal_fast(&s) : kind == 1 ? exp(-20.0 * coarse(&s)) : 1.0 + (double)below(&s, 9);
            if (kind == 3) y = below(&s, 300) ? ldexp(1.0 + coarse(&s), -12) : ldexp((double)(1 + below(&s, 64)), -12);
            x[i] = (float)y * scale;
        }
        float squares = 0.0f, loop = 0.0f;
        for (size_t i = 0; i < n; i++) {
            double d = (double)(x[i] - mean);
            loop = (float)((double)loop + sampi_round(d * d));
        }
        for (size_t i = 0; i < n; i += SAMPI_TILE)
            squares = sampi_llama_squares(x + i, n - i < SAMPI_TILE ? n - i : SAMPI_TILE, mean, squares);
        if (bits_of(squares) == bits_of(loop)) continue;
        printf("%zu squares sum to %a, not to %a, seed %" PRIu64 "\n", n, (double)loop, (double)squares, seed);
        return false;
    }
    return true;
}

/* All chains at all lengths, and those that sum over the row with all kinds of rows. */
static bool long_rows_of_every_chain(void)
{
    static const size_t length[] = { 32768, 128256, 151936, LONGEST };
    static const int summing[] = { 1, 4, 5, 6, 7, 9, 10, 14, 18, 19, 20 };
    player p;
    int failures = 0;
    size_t shape = 0, n_lengths = quick() ? 1 : CASE_COUNT(length), n_summing = quick() ? 0 : CASE_COUNT(summing);
    if (!begin(&p, wanted_isa(), LONGEST)) return false;
    for (size_t k = 0; k < n_lengths; k++)
        for (int i = 0; i < N_LONG_CHAINS && failures < MAX_FAILURES; i++)
            failures += !long_row(&p, i, long_kinds[shape++ % CASE_COUNT(long_kinds)], length[k], 2.0,
                                  SAMP_RNG_PHILOX);
    for (size_t k = 0; k < n_summing; k++)
        for (size_t r = 0; r < CASE_COUNT(long_kinds) && failures < MAX_FAILURES; r++)
            failures += !long_row(&p, summing[k], long_kinds[r], 32768 + r, k % 2 ? 1.0 : 0.5, SAMP_RNG_PHILOX);
    for (int i = 0; i < 2 * N_LONG_CHAINS && failures < MAX_FAILURES; i++) /* distances that no float has */
        failures += !long_row(&p, i / 2, i % 2 ? ROW_HUGE : ROW_DENORMAL, 5000 + (size_t)i, 2.0, SAMP_RNG_PHILOX);
    return end(&p, failures == 0, "long rows");
}

/* ------------------------------------------------------------------------------- every element decides, once
   Lanes and tails: a kernel that forgets an element does so at some place of some length. */

/* The lengths to go through, and which elements of a row: all of them up to length `dense`, then some and the
   tail. */
static size_t next_length(size_t n)
{
    static const size_t more[] = { 255, 256, 257, 511, 513, 1023, 1024, 1025, 2049, 4095, 4097 };
    const size_t step = n < 72 || env_setting("SAMP_TEST_FULL", 0) ? 1 : 3; /* behind four lines and more */
    if (n < (quick() ? 40 : 200)) return n + step;
    for (size_t i = 0; i < CASE_COUNT(more) && !quick(); i++)
        if (more[i] > n) return more[i];
    return 0;
}

static size_t next_element(size_t i, size_t n, size_t dense)
{
    size_t tail = 17, stride = n < 250 ? 9 : n / 5;
    if (n <= dense || i + tail >= n) return i + 1;
    return i + stride < n - tail ? i + stride : n - tail;
}

/* Draw with a chain whose samplers keep no state but the position, and compare. `want` is the token to
   expect; when it is DEFINED, the definition says it. */
enum { DEFINED = -1000 };

static bool expect(player *p, samp_sampler *chain, const float *row, size_t n, samp_token want, uint64_t position)
{
    samp_token_data_array cur;
    sampi_sampler *s = (sampi_sampler *)chain;
    /* a draw moves it on, and it is put back */
    bool moves = s->rng == SAMP_RNG_MT19937 || s->kind == SAMPI_MIROSTAT || s->kind == SAMPI_MIROSTAT_V2;
    samp_set_position(chain, position);
    if (moves) sampi_life_save_state(s);
    int status = candidates(&cur, p->work, row, n);
    samp_token steps = chosen(&cur, status ? status : sampi_life_apply_steps(s, &cur));
    const float mu = s->now.mu;
    placed at = place(&p->shelf, row, n, (unsigned)(p->n_rows % 24), p->n_rows % 2 ? NAN : FLT_MAX);
    bool good = want == DEFINED || steps == want;
    if (!good) report(p, "the definition gives %d, not %d\n", (int)steps, (int)want);
    p->n_rows++;
    p->n_tokens += steps >= 0;
    for (int i = 0; i < p->isa.n && good; i++) {
        isa_use(&p->isa, i);
        if (moves) sampi_life_restore_state(s);
        samp_set_position(chain, position);
        samp_token got = samp_draw(chain, at.row, n);
        good = got == steps && (got < 0 || bits_of(s->now.mu) == bits_of(mu));
        if (!good)
            report(p, "%s: samp_draw %d, by definition %d; mu %a, %a\n", p->isa.name[i], (int)got, (int)steps,
                   (double)s->now.mu, (double)mu);
    }
    if (good) return true;
    report_case(p, chain, row, n);
    printf("%s\n%s", at_work, p->report);
    p->report_len = 0;
    return false;
}

/* The token by definition; the chain stays where it is. */
static samp_token defined(player *p, const samp_sampler *chain, const float *row, size_t n)
{
    samp_sampler *copy = samp_clone(chain);
    samp_token token = step(p, &copy, row, n, false);
    samp_free(copy);
    return token;
}

static float *tail_at(float *row, size_t n, float x)
{
    for (size_t i = 1; i <= 4; i++) row[n - i] = x;
    return row;
}

/* Four logits of the tail rise from lo to hi: where the definition goes over to another token, draw on both sides, to the
   last bit; what estimates a sum must not decide there. *met counts these edges. */
static bool edge_of_draw(player *p, samp_sampler *chain, float *row, size_t n, float lo, float hi, int *met)
{
    samp_token at_lo = defined(p, chain, tail_at(row, n, lo), n);
    if (at_lo == defined(p, chain, tail_at(row, n, hi), n)) return true;
    for (float x; nextafterf(lo, hi) != hi;) {
        x = lo + 0.5f * (hi - lo);
        if (defined(p, chain, tail_at(row, n, x), n) == at_lo)
            lo = x;
        else
            hi = x;
    }
    bool good = true;
    ++*met;
    for (int k = 0; k < 3 && good; k++, lo = nextafterf(lo, -FLT_MAX), hi = nextafterf(hi, FLT_MAX))
        good = expect(p, chain, tail_at(row, n, lo), n, DEFINED, 0) &&
               expect(p, chain, tail_at(row, n, hi), n, DEFINED, 0);
    return good;
}

/* ---- quickselect's bad cases ---- */

enum { SPLITS = 1200 };

/* M. D. McIlroy's adversary (A Killer Adversary for Quicksort, 1999): values are made up while they are asked for, and a
   pivot is always one of the smallest. */
typedef struct adversary {
    int value[SPLITS], solid, candidate; /* value: SPLITS while there is none */
} adversary;

static bool is_less(adversary *a, int x, int y)
{
    if (x != y && a->value[x] == SPLITS && a->value[y] == SPLITS) a->value[x == a->candidate ? x : y] = a->solid++;
    if (a->value[x] == SPLITS)
        a->candidate = x;
    else if (a->value[y] == SPLITS)
        a->candidate = y;
    return a->value[x] < a->value[y];
}

static void exchange(int *d, size_t i, size_t j)
{
    int x = d[i];
    d[i] = d[j];
    d[j] = x;
}

/* sampi_partition of the adversary's values. */
static size_t ask_adversary(adversary *a, int *d, size_t n)
{
    size_t mid = n / 2, last = n - 1, i = 0, j = n;
    if (is_less(a, d[mid], d[0])) exchange(d, mid, 0);
    if (is_less(a, d[last], d[mid])) {
        exchange(d, last, mid);
        if (is_less(a, d[mid], d[0])) exchange(d, mid, 0);
    }
    int pivot = d[mid];
    exchange(d, 0, mid);
    for (;; i++) {
        do j--;
        while (is_less(a, pivot, d[j]));
        while (is_less(a, d[i], pivot)) i++;
        if (i >= j) return j + 1;
        exchange(d, i, j);
    }
}

/* Logits of which sampi_partition splits off two at a time, so closely together that their distances from a mean are the
   same float. */
static void bad_row(float *row)
{
    adversary a = { { 0 }, 0, 0 };
    int d[SPLITS];
    for (int i = 0; i < SPLITS; i++) d[i] = i, a.value[i] = SPLITS;
    for (size_t from = 0; SPLITS - from > 16;) from += ask_adversary(&a, d + from, SPLITS - from);
    for (int i = 0; i < SPLITS; i++) row[i] = -(float)(1 + a.value[i]) * 0x1p-40f;
}

/* typical: quickselect gives up behind 64 partitions, and what is left is sorted. */
static bool typical_gives_up_quickselect(void)
{
    static samp_token_data d[SPLITS];
    player p;
    if (!begin(&p, wanted_isa(), 1 + SPLITS)) return false;
    bad_row(p.row + 1);
    size_t from = 0;
    for (int i = 0; i < SPLITS; i++) d[i] = (samp_token_data){ i, p.row[1 + i], 0.0f };
    for (int depth = 0; depth < 65 && SPLITS - from > 16; depth++)
        from += sampi_partition(&SAMPI_BY_LOGIT, d + from, SPLITS - from);
    bool good = SPLITS - from > 16;
    if (!good) report(&p, "the row is no bad one\n");
    for (float share = 0.96f; share < 1.0f && good; share += 0.004f) {
        p.row[0] = 10.0f; /* the mean is far from the others */
        samp_sampler *chain = chain_of(samp_init_typical(share, 0), samp_init_dist(5), NULL);
        for (uint64_t at = 0; at < 20 && good; at++) good = expect(&p, chain, p.row, 1 + SPLITS, DEFINED, at);
        samp_free(chain);
    }
    return end(&p, good, "typical without quickselect");
}

static const sampi_order *sorted_by;

static int in_order(const void *a, const void *b)
{
    const samp_token_data *x = a, *y = b;
    return sampi_before(sorted_by, x, y) ? -1 : sampi_before(sorted_by, y, x) ? 1 : 0;
}

/* An array that is sorted further on demand is qsort's as far as it is sorted: by logits and by scores, with many ties,
   masked candidates and ids in any order, with memory to sort in and without. */
static bool sorts_go_further(void)
{
    enum { N = 20000 };
    static samp_token_data want[N], got[N], memory[N];
    const sampi_order by_score = { sampi_typical_score, 3.0, 2.0 };
    for (uint64_t seed = 0; seed < 240; seed++) {
        source s = source_seed(seed);
        size_t n = 1 + below(&s, seed % 3 ? N : 600), k = 0;
        double grid = seed % 5 == 0 ? 0.5 : 0x1p-20;
        for (size_t i = 0; i < n; i++) {
            want[i] = (samp_token_data){ (samp_token)i, (float)(floor(normal(&s) / grid) * grid), (float)i };
            if (seed % 4 == 0 && below(&s, 3)) want[i].logit = -INFINITY;
        }
        for (size_t i = n; seed % 2 && i > 1; i--) sampi_swap(&want[i - 1], &want[below(&s, i)]);
        sorted_by = seed % 7 < 3 ? &by_score : &SAMPI_BY_LOGIT;
        memcpy(got, want, n * sizeof *got);
        qsort(want, n, sizeof *want, in_order);
        samp_token_data_array cur = { got, n, -1, false };
        while (k < n) {
            size_t most = below(&s, 4) ? n : k + 1 + below(&s, n - k);
            k = sampi_sort_further(sorted_by, &cur, k, most, seed % 11 < 6 ? memory : NULL);
            if (memcmp(got, want, k * sizeof *got) == 0 && cur.sorted == (k == n && !sorted_by->score)) continue;
            printf("seed %" PRIu64 ": %zu of %zu candidates are not in order\n", seed, k, n);
            return false;
        }
    }
    return true;
}

/* How many tokens a sampler leaves of a row, by its definition. */
static size_t left_by(player *p, const samp_sampler *sampler, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *s = samp_clone(sampler);
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)s, &cur);
    samp_free(s);
    return cur.size;
}

static size_t left_by_mirostat(player *p, float tau, const float *row, size_t n)
{
    samp_sampler *s = samp_init_mirostat_v2(1, tau, 0.1f);
    size_t left = left_by(p, s, row, n);
    samp_free(s);
    return left;
}

/* mirostat in llama.cpp's arithmetic estimates the sum of what is kept behind the head: all of it, or a part. */
static bool mirostat_at_the_edge(void)
{
    enum { N = 9000, N_HEAD = 600 };
    player p;
    bool good = true;
    int met = 0, parts = 0, rows = quickest() ? 8 : quick() ? 30 : 80;
    if (!begin(&p, wanted_isa(), N)) return false;
    for (int i = 0; i < rows && good; i++) {
        source s = source_seed((uint64_t)i);
        float tau = i % 4 < 2 ? (i % 2 ? 7.1f : 20.0f) : i % 2 ? 6.6f : 8.6f; /* all are kept, or a part */
        samp_sampler *chain = i % 2 ? samp_init_mirostat(N, (uint64_t)i, tau, 0.1f, 100)
                                    : samp_init_mirostat_v2((uint64_t)i, tau, 0.1f);
        samp_set_rng(chain, SAMP_RNG_MT19937);
        AT("mirostat at the edge of a draw, row %d", i);
        for (size_t j = 0; j < N; j++)
            p.row[j] = (float)(j < N_HEAD ? 3.0 + 0.5 * normal_fast(&s) : normal_fast(&s) - 2.0);
        good = edge_of_draw(&p, chain, p.row, N, -8.0f, 2.4f, &met);
        size_t left = left_by(&p, chain, p.row, N);
        parts += left > N_HEAD && left < N;
        samp_free(chain);
    }
    if (good && (met < rows / 5 || parts < rows / 3)) printf("only %d edges, %d parts\n", met, parts), good = false;
    return end(&p, good, "mirostat at the edge of a draw");
}

/* mirostat_v2 cuts at a logit that depends on the row's sum: where one token more is left, to the last bit of tau, an
   estimate of the sum leaves it open which it is. */
static bool mirostat_cuts_at_the_edge(void)
{
    enum { N = 9000 };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), N)) return false;
    for (int i = 0; i < (quick() ? 8 : 40) && good; i++) {
        source s = source_seed((uint64_t)i);
        normal_row(&s, p.row, N, i % 2 ? 2.0 : 1.0);
        float lo = 5.5f + 0.05f * (float)(i % 16), hi = lo + 0.05f;
        size_t left = left_by_mirostat(&p, lo, p.row, N);
        AT("mirostat_v2's cut at the edge, row %d", i);
        if (left == left_by_mirostat(&p, hi, p.row, N)) printf("no edge in row %d\n", i), good = false;
        while (good && nextafterf(lo, hi) != hi) {
            float mid = lo + 0.5f * (hi - lo);
            if (left_by_mirostat(&p, mid, p.row, N) == left)
                lo = mid;
            else
                hi = mid;
        }
        for (int k = 0; k < 4 && good; k++, lo = nextafterf(lo, 0.0f), hi = nextafterf(hi, FLT_MAX)) {
            samp_sampler *below = samp_init_mirostat_v2(1, lo, 0.1f), *above = samp_init_mirostat_v2(1, hi, 0.1f);
            good = expect(&p, below, p.row, N, DEFINED, (uint64_t)k) &&
                   expect(&p, above, p.row, N, DEFINED, (uint64_t)k);
            samp_free(below);
            samp_free(above);
        }
    }
    return end(&p, good, "mirostat_v2's cut at the edge");
}

/* mu follows the sum of what is kept, of which an estimate tells mu's last bit seldom where eta is 1. Half of the tokens
   lie so low that they are kept or not, as tau wants it, and still count in that sum. */
static bool mirostat_learns_to_the_last_bit(void)
{
    enum { N = 9000 };
    player p;
    bool good = true;
    int met[3] = { 0, 0, 0 };
    if (!begin(&p, wanted_isa(), N)) return false;
    for (int i = 0; i < (quick() ? 40 : 150) && good; i++) {
        source s = source_seed((uint64_t)i);
        float tau = (float)(5.0 + 35.0 * uniform(&s)), eta = i % 4 ? 1.0f : 0.1f;
        samp_sampler *chain = i % 3 ? samp_init_mirostat_v2((uint64_t)i, tau, eta)
                                    : samp_init_mirostat(N, (uint64_t)i, 0.25f * tau, eta, 100);
        AT("mirostat's mu, row %d", i);
        for (size_t j = 0; j < N; j++) p.row[j] = (float)(j % 2 ? normal_fast(&s) : -14.0 - 4.0 * uniform(&s));
        if (i % 5 == 0) p.row[i] = -INFINITY;
        size_t left = left_by(&p, chain, p.row, N);
        met[left < N / 4 ? 0 : left < N - 1 ? 1 : 2]++;
        for (uint64_t position = 0; position < 4 && good; position++)
            good = expect(&p, chain, p.row, N, DEFINED, position);
        samp_free(chain);
    }
    if (good && (met[0] < 4 || met[1] < 4 || met[2] < 4))
        printf("rows left: %d, %d, %d\n", met[0], met[1], met[2]), good = false;
    return end(&p, good, "mirostat's mu to the last bit");
}

/* Chains in which the largest logit decides alone. */
static samp_sampler *max_chain(int i)
{
    switch (i) {
        case 0: return chain_of(samp_init_greedy(), NULL, NULL);
        case 1: return chain_of(samp_init_top_k(1), samp_init_dist(1), NULL);
        case 2: return chain_of(samp_init_temp(0.0f), samp_init_dist(1), NULL);
        case 3: return chain_of(samp_init_top_p(1.4e-45f, 0), samp_init_dist(1), NULL);
        case 4: return chain_of(samp_init_min_p(1.0f, 0), samp_init_dist(1), NULL);
        case 5: return chain_of(samp_init_top_n_sigma(1e-6f), samp_init_temp(2.0f), samp_init_dist(1));
        default: return chain_of(samp_init_temp(0.7f), samp_init_greedy(), NULL);
    }
}
enum { N_MAX_CHAINS = 7 };

/* Chains that see the whole row, or a good part of it, before they draw. */
static samp_sampler *whole_chain(int i)
{
    switch (i) {
        case 0: return chain_of(samp_init_dist(2), NULL, NULL);
        case 1: return chain_of(samp_init_temp(0.8f), samp_init_dist(2), NULL);
        case 2: return chain_of(samp_init_typical(0.95f, 0), samp_init_dist(2), NULL);
        case 3: return chain_of(samp_init_top_p(0.999f, 0), samp_init_temp(1.5f), samp_init_dist(2));
        case 4: return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_dist(2), NULL);
        case 5: return chain_of(samp_init_xtc(1.0f, 0.01f, 0, 3), samp_init_dist(2), NULL);
        case 6: return chain_of(samp_init_top_k(7), samp_init_dist(2), NULL);
        case 7: return chain_of(samp_init_min_p(0.02f, 0), samp_init_dist(2), NULL);
        case 8: return chain_of(samp_init_top_n_sigma(1.5f), samp_init_dist(2), NULL);
        case 9: return chain_of(samp_init_tail_free(0.9f, 0), samp_init_dist(2), NULL);
        case 10: return chain_of(samp_init_softmax(), samp_init_dist(2), NULL);
        default: return chain_of(samp_init_top_p(0.9f, 0), samp_init_min_p(0.1f, 0), samp_init_dist(2));
    }
}
enum { N_WHOLE_CHAINS = 12 };

/* In longer rows only every `part`th chain meets an element, another one at the next. */
static int every(size_t n, int part) { return n <= 72 ? 1 : part; }
static int some(size_t n, size_t i, int part) { return n <= 72 ? 0 : (int)((n + i) % (size_t)part); }

/* The element at i is the largest, ties for it, is the only one, or is no number. */
static bool element_decides(player *p, samp_sampler *const max[], samp_sampler *const whole[], size_t n, size_t i)
{
    source s = source_seed(n * 4096 + i);
    float *row = p->row;
    samp_token token = (samp_token)i;
    bool good = true;
    AT("element %zu of %zu", i, n);
    normal_row(&s, row, n, 1.0);
    float before = row[i];
    row[i] = 4.0f;
    for (int k = some(n, i, 2); k < N_MAX_CHAINS && good; k += every(n, 2))
        good = expect(p, max[k], row, n, token, i);
    size_t j = i + 1 + (i + 1 < n ? below(&s, n - i - 1) : 0);
    if (j < n) row[j] = 4.0f;
    int k = (int)((n + i) % N_MAX_CHAINS);
    if (k != 4 && k != 5) good = good && expect(p, max[k], row, n, token, i); /* these keep all that tie */
    row[i] = NAN;
    good = good && expect(p, max[(i + n) % N_MAX_CHAINS], row, n, SAMP_E_NAN, i);
    good = good && expect(p, whole[(i + n) % N_WHOLE_CHAINS], row, n, SAMP_E_NAN, i);
    row[i] = INFINITY;
    good = good && expect(p, max[i % N_MAX_CHAINS], row, n, SAMP_E_NAN, i);
    good = good && expect(p, whole[i % N_WHOLE_CHAINS], row, n, SAMP_E_NAN, i);
    if (j < n) row[j] = -1.0f;
    row[i] = before + 1.5f;
    for (int c = some(n, i, 3); c < N_WHOLE_CHAINS && good; c += every(n, 3))
        good = expect(p, whole[c], row, n, DEFINED, i);
    for (size_t m = 0; m < n; m++) row[m] = m == i ? before : -INFINITY;
    good = good && expect(p, max[(i + n) % N_MAX_CHAINS], row, n, token, i);
    good = good && expect(p, whole[(i + n) % N_WHOLE_CHAINS], row, n, token, i);
    row[i] = -INFINITY;
    return good && expect(p, max[i % N_MAX_CHAINS], row, n, SAMP_E_EMPTY, i) &&
           expect(p, whole[i % N_WHOLE_CHAINS], row, n, SAMP_E_EMPTY, i);
}

static bool every_element_decides(void)
{
    player p;
    samp_sampler *max[N_MAX_CHAINS], *whole[N_WHOLE_CHAINS];
    bool good = true;
    if (!begin(&p, wanted_isa(), 8192)) return false;
    for (int k = 0; k < N_MAX_CHAINS; k++) max[k] = max_chain(k);
    for (int k = 0; k < N_WHOLE_CHAINS; k++) whole[k] = whole_chain(k);
    for (size_t n = 1; n && good; n = next_length(n))
        for (size_t i = 0; i < n && good; i = next_element(i, n, 200)) good = element_decides(&p, max, whole, n, i);
    for (int k = 0; k < N_MAX_CHAINS; k++) samp_free(max[k]);
    for (int k = 0; k < N_WHOLE_CHAINS; k++) samp_free(whole[k]);
    return end(&p, good, "every element decides");
}

/* ---- ways that few rows go ---- */

/* Two samplers of the kind that takes a row as the first one has left it: divided, in order, cut, with a floor. */
static samp_sampler *rare_chain(int i, size_t n)
{
    switch (i) {
        case 0: return chain_of(samp_init_temp(0.7f), samp_init_temp(1.2f), samp_init_dist(1));
        case 1: return chain_of(samp_init_temp(0.7f), samp_init_top_n_sigma(1.0f), samp_init_dist(1));
        case 2: return chain_of(samp_init_temp(0.8f), samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_dist(1));
        case 3: return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_top_p(0.9f, 0), samp_init_dist(1));
        case 4: return chain_of(samp_init_temp_ext(0.5f, 0.5f, 1.0f), samp_init_dist(1), NULL); /* from 0 on */
        case 5: return chain_of(samp_init_temp(0.0f), samp_init_temp(0.8f), samp_init_dist(1));
        case 6: return chain_of(samp_init_top_p(0.9f, 0), samp_init_temp(0.0f), samp_init_dist(1));
        case 7: return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_temp(0.0f), samp_init_dist(1));
        case 8: return chain_of(samp_init_typical(0.2f, 0), samp_init_dist(1), NULL);
        case 9: return chain_of(samp_init_typical(0.99f, 0), samp_init_dist(1), NULL);
        case 10: return chain_of(samp_init_typical(0.5f, n / 2), samp_init_dist(1), NULL);
        case 11: return chain_of(samp_init_typical(0.01f, n / 3), samp_init_dist(1), NULL);
        case 12: return chain_of(samp_init_xtc(1.0f, 1e-4f, 0, 1), samp_init_dist(1), NULL);
        case 13: return chain_of(samp_init_xtc(1.0f, 1e-5f, n - 2, 1), samp_init_dist(1), NULL);
        case 14: return chain_of(samp_init_temp(0.8f), samp_init_adaptive_p(0.3f, 0.9f, 1), NULL);
        case 15: return chain_of(samp_init_top_n_sigma(1.0f), samp_init_adaptive_p(0.1f, 0.9f, 1), NULL);
        case 16: return chain_of(samp_init_mirostat((int32_t)n, 1, 20.0f, 0.1f, 100), NULL, NULL);
        case 17: return chain_of(samp_init_mirostat_v2(1, 20.0f, 0.1f), NULL, NULL);
        case 18: return chain_of(samp_init_mirostat_v2(1, 1e-3f, 0.1f), NULL, NULL);
        case 19: return chain_of(samp_init_temp(0.6f), samp_init_mirostat_v2(1, 3.0f, 0.1f), NULL);
        case 20: return chain_of(samp_init_typical(0.9f, 0), samp_init_typical(0.9f, 0), samp_init_dist(1));
        case 21: return chain_of(samp_init_top_p(0.99f, 0), samp_init_xtc(1.0f, 1e-3f, 0, 1), samp_init_dist(1));
        case 22: return chain_of(samp_init_top_p(0.999f, n / 2), samp_init_min_p(0.01f, n / 4), samp_init_dist(1));
        case 23: return chain_of(samp_init_top_n_sigma(2.0f), samp_init_top_n_sigma(1.0f), samp_init_dist(1));
        case 24: return chain_of(samp_init_softmax(), samp_init_temp(0.7f), samp_init_dist(1));
        case 25: return chain_of(samp_init_top_k((int32_t)n / 2), samp_init_typical(0.95f, 0), samp_init_dist(1));
        default: return chain_of(samp_init_top_h(0.4f, n / 2), samp_init_eta(1e-3f, n / 4), samp_init_dist(1));
    }
}
enum { N_RARE_CHAINS = 27, N_RARE_ROWS = 9 };

/* Rows of which a head, a threshold or an estimate tells little; with and without the first token, or with one alone. */
static void rare_row(float *row, size_t n, int kind)
{
    source s = source_seed(n + (uint64_t)kind);
    static const double sigma[N_RARE_ROWS] = { 2.0, 0.05, 0.0, 0.7, 4.0, 2.0, 0.5, 1.0, 1.0 };
    normal_row(&s, row, n, sigma[kind]);
    for (size_t i = 0; i < n; i++) {
        if (kind == 3) row[i] = (float)(floor(row[i] * 4.0) / 4.0);
        if (kind == 5) row[i] = i % 3 ? row[i] : -INFINITY;
        if (kind == 7) row[i] = i == n / 2 ? 1.0f : -INFINITY;
        if (kind == 8) row[i] = i % 2 ? row[i] - 80.0f : row[i];
    }
    if (kind == 6) row[0] = -INFINITY;
}

static bool ways_that_few_rows_go(void)
{
    player p;
    const size_t n = 16000; /* long enough for a head of it to be worth its while */
    bool good = true;
    if (!begin(&p, wanted_isa(), n)) return false;
    for (int i = 0; i < N_RARE_CHAINS && good; i++)
        for (int kind = 0; kind < N_RARE_ROWS && good; kind++)
            for (int rng = 0; rng < 2 && good; rng++) {
                band b = { rare_chain(i, n), { NULL }, true };
                AT("rare chain %d, row %d, random source %d", i, kind, rng);
                rare_row(p.row, n, kind);
                samp_set_rng(b.steps, (samp_rng_kind)rng);
                for (int j = 0; j < p.isa.n; j++) b.fast[j] = samp_clone(b.steps);
                good = play_row(&p, &b, p.row, n, (unsigned)i % 24, NAN);
                if (!good) printf("%s\n%s", at_work, p.report);
                band_free(&p, &b);
            }
    return end(&p, good, "ways that few rows go");
}

/* ---- cuts ---- */

enum cut_kind {
    CUT_TOP_P,
    CUT_TYPICAL,
    CUT_TAIL_FREE,
    CUT_TOP_H,
    CUT_MIN_P,
    CUT_TOP_A,
    CUT_P_LESS,
    CUT_P_LESS_NORM,
    CUT_EPSILON,
    CUT_ETA,
    CUT_XTC,
    CUT_SIGMA,
    CUT_MIN_K,
    N_CUTS
};
static const char *const cut_name[N_CUTS] = { "top_p", "typical",     "tail_free",   "top_h",   "min_p",
                                              "top_a", "p_less",      "p_less_norm", "epsilon", "eta",
                                              "xtc",   "top_n_sigma", "min_k" };

static samp_sampler *make_cut(int kind, float x)
{
    switch (kind) {
        case CUT_TOP_P: return samp_init_top_p(x, 0);
        case CUT_TYPICAL: return samp_init_typical(x, 0);
        case CUT_TAIL_FREE: return samp_init_tail_free(x, 0);
        case CUT_TOP_H: return samp_init_top_h(x, 0);
        case CUT_MIN_K: return samp_init_min_k(x);
        case CUT_MIN_P: return samp_init_min_p(x, 0);
        case CUT_TOP_A: return samp_init_top_a(x, 0);
        case CUT_P_LESS: return samp_init_p_less(x, 0);
        case CUT_P_LESS_NORM: return samp_init_p_less_norm(x, 0);
        case CUT_EPSILON: return samp_init_epsilon(x, 0);
        case CUT_ETA: return samp_init_eta(x, 0);
        case CUT_XTC: return samp_init_xtc(1.0f, x, 0, 5);
        default: return samp_init_top_n_sigma(x);
    }
}

static const float JUST_BELOW_1 = 0.99999994f;

/* Where each element of a row stands, by the definition of the cut. */
typedef struct standing {
    double at[8192]; /* the parameter at which element id leaves or comes, roughly; 0: it never does */
} standing;

/* p of the sorted prefix up to and with the element: top_p, typical. */
static void stand_by_mass(player *p, standing *st, int kind, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *cut = make_cut(kind, JUST_BELOW_1);
    double sum = 0.0;
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)cut, &cur);
    for (size_t i = 0; i < cur.size; i++) {
        sum += (double)cur.data[i].p;
        st->at[cur.data[i].id] = sum;
    }
    samp_free(cut);
}

static void stand_by_tail(player *p, standing *st, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *softmax = samp_init_softmax();
    double sum = 0.0, run = 0.0;
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)softmax, &cur);
    samp_free(softmax);
    const samp_token_data *d = cur.data;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i + 2 < n; i++) {
            double a = fabs((double)d[i].p + (double)d[i + 2].p - 2.0 * (double)d[i + 1].p);
            if (pass == 0)
                sum += a;
            else
                st->at[d[i].id] = (run += a) / sum;
        }
    }
}

/* top_h: the entropy of the sorted prefix up to and with the element, over that of the row. */
static void stand_by_entropy(player *p, standing *st, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *softmax = samp_init_softmax();
    double sum = 0.0, mean = 0.0, entropy = 0.0;
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)softmax, &cur);
    samp_free(softmax);
    for (size_t i = 0; i < n; i++) {
        double x = (double)cur.data[i].p;
        sum += x;
        mean -= x > 0.0 ? x * log(x) : 0.0;
        st->at[cur.data[i].id] = entropy = mean / sum + log(sum);
    }
    for (size_t i = 0; i < n; i++) st->at[i] /= entropy;
}

/* min_k: what makes the number for flat rows the element's place, if that is behind the cliff. */
static void stand_by_place(player *p, standing *st, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *cut = samp_init_min_k(0.0f);
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)cut, &cur);
    samp_free(cut);
    const double range = (double)cur.data[0].logit - (double)cur.data[n - 1].logit; /* cut off, but all in order */
    for (size_t i = cur.size; i < n; i++) st->at[cur.data[i].id] = (double)(i + 1) * range;
}

/* What the cuts by one element compare it with: the standard deviation, the sum of p^2, what
   p_less_norm makes of that, e^H. */
typedef struct row_sums {
    double sigma, chance, norm, perplexity;
} row_sums;

static row_sums sums_of(const samp_token_data_array *cur)
{
    const double n = (double)cur->size;
    row_sums sums = { 0.0, 0.0, 0.0, 0.0 };
    double mean = 0.0, left = 0.0;
    for (size_t i = 0; i < cur->size; i++) mean += (double)cur->data[i].logit / n;
    for (size_t i = 0; i < cur->size; i++) {
        double p = (double)cur->data[i].p, off = (double)cur->data[i].logit - mean;
        sums.sigma += off * off / n;
        sums.chance += p * p;
        left += cur->data[i].logit >= -FLT_MAX;
        if (p > 0.0) sums.perplexity -= p * log(p);
    }
    sums.sigma = sqrt(sums.sigma);
    sums.norm = (left * sums.chance - 1.0) / fmax(left - 1.0, 1.0);
    sums.perplexity = exp(sums.perplexity);
    return sums;
}

static double stands_at(int kind, const row_sums *sums, const samp_token_data *first, const samp_token_data *d)
{
    double down = (double)first->logit - (double)d->logit, p = (double)d->p, x;
    switch (kind) {
        case CUT_MIN_P: return exp(-down);
        case CUT_TOP_A: x = p / ((double)first->p * (double)first->p); break;
        case CUT_P_LESS: x = p / sums->chance; break;
        case CUT_P_LESS_NORM: x = sums->norm > 0.0 ? p / sums->norm : 1.0; break;
        case CUT_ETA: x = fmax(p, p * sums->perplexity * p * sums->perplexity); break;
        case CUT_SIGMA: return down / sums->sigma;
        default: return p;
    }
    return x < 1.0 ? x : 0.0; /* it is never cut */
}

static void stand_alone(player *p, standing *st, int kind, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *softmax = samp_init_softmax();
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)softmax, &cur);
    samp_free(softmax);
    const row_sums sums = sums_of(&cur);
    for (size_t i = 0; i < n; i++) st->at[cur.data[i].id] = stands_at(kind, &sums, &cur.data[0], &cur.data[i]);
}

/* Which elements a cut leaves, as one number. */
static uint64_t kept(player *p, int kind, float x, const float *row, size_t n)
{
    samp_token_data_array cur;
    samp_sampler *cut = make_cut(kind, x);
    uint64_t sum = 0;
    candidates(&cur, p->work, row, n);
    sampi_life_apply_steps((sampi_sampler *)cut, &cur);
    for (size_t i = 0; i < cur.size; i++)
        if (cur.data[i].logit >= -FLT_MAX) sum += mixed((uint64_t)cur.data[i].id + 1);
    samp_free(cut);
    return sum;
}

/* The two neighbouring parameters between which the cut changes, at most `reach` floats from x: by bisection.
   */
static bool find_edge_near(player *p, int kind, float x, uint32_t reach, const float *row, size_t n, float edge[2])
{
    float top = kind == CUT_XTC ? 0.5f : kind >= CUT_SIGMA ? FLT_MAX : kind < CUT_MIN_P ? JUST_BELOW_1 : 1.0f;
    uint32_t a = bits_of(x) - reach, b = bits_of(x) + reach;
    if (b > bits_of(top)) b = bits_of(top);
    if (a >= b) return false;
    uint64_t with_a = kept(p, kind, float_from(a), row, n);
    if (with_a == kept(p, kind, float_from(b), row, n)) return false;
    while (b - a > 1) {
        uint32_t mid = a + (b - a) / 2;
        if (kept(p, kind, float_from(mid), row, n) == with_a)
            a = mid;
        else
            b = mid;
    }
    edge[0] = float_from(a);
    edge[1] = float_from(b);
    return true;
}

static bool find_edge(player *p, int kind, double x, const float *row, size_t n, float edge[2])
{
    if (!(x > 1e-30 && x < (double)FLT_MAX)) return false;
    for (uint32_t reach = 4; reach <= 1024; reach *= 16)
        if (find_edge_near(p, kind, (float)x, reach, row, n, edge)) return true;
    return false;
}

/* Does samp_draw cut where the definition cuts? Three ways to see what was kept: draw evenly; draw; take the
   last. */
static bool cut_agrees(player *p, int kind, float x, const float *row, size_t n, size_t i)
{
    samp_sampler *chain;
    switch ((n + i) % 3) {
        case 0: chain = chain_of(make_cut(kind, x), samp_init_temp(1048576.0f), samp_init_dist(6)); break;
        case 1: chain = chain_of(make_cut(kind, x), samp_init_dist(6), NULL); break;
        default: chain = chain_of(make_cut(kind, x), samp_init_xtc(1.0f, 0.0f, 0, 7), samp_init_greedy());
    }
    bool good = expect(p, chain, row, n, DEFINED, i) && expect(p, chain, row, n, DEFINED, i + 1);
    samp_free(chain);
    return good;
}

static bool element_at_the_cut(player *p, int kind, const standing *st, const float *row, size_t n, size_t i,
                               uint64_t *edges)
{
    float edge[2];
    AT("%s cuts at element %zu of %zu", cut_name[kind], i, n);
    if (!find_edge(p, kind, st->at[i], row, n, edge)) return true;
    ++*edges;
    return cut_agrees(p, kind, edge[0], row, n, i) && cut_agrees(p, kind, edge[1], row, n, i);
}

/* For every element of every length, the two parameters between which the cut passes it. */
static bool every_element_at_the_cut(void)
{
    static standing st;
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 8192)) return false;
    float *row = (float *)malloc(8192 * sizeof *row);
    uint64_t edges = 0, tried = 0;
    for (size_t n = 2; n && row && good; n = next_length(n)) {
        source s = source_seed(n);
        normal_row(&s, row, n, n % 3 ? 1.0 : 2.5);
        for (int kind = some(n, 0, 2); kind < N_CUTS && good; kind += every(n, 2)) {
            memset(&st, 0, sizeof st);
            if (kind == CUT_TOP_P || kind == CUT_TYPICAL)
                stand_by_mass(&p, &st, kind, row, n);
            else if (kind == CUT_TAIL_FREE)
                stand_by_tail(&p, &st, row, n);
            else if (kind == CUT_TOP_H)
                stand_by_entropy(&p, &st, row, n);
            else if (kind == CUT_MIN_K)
                stand_by_place(&p, &st, row, n);
            else
                stand_alone(&p, &st, kind, row, n);
            for (size_t i = 0; i < n && good; i = next_element(i, n, 72)) {
                tried += st.at[i] > 0.0;
                good = element_at_the_cut(&p, kind, &st, row, n, i, &edges);
            }
        }
    }
    free(row);
    printf("  %" PRIu64 " edges found for %" PRIu64 " elements\n", edges, tried);
    return end(&p, good && edges * 5 > tried * 4, "every element at the cut");
}

/* ---- the same where sums are estimated: long rows, few tokens that matter, far from zero, a temperature ---- */

static void peaked_row(source *s, float *row, size_t n, size_t n_top)
{
    float middle = PICK(s, -1000.0f, 1000.0f, -200.0f, 0.0f, 30.0f), step = PICK(s, 0.125f, 0.125f, 0.001f);
    float below_it = PICK(s, 8.0f, 15.0f, 40.0f);
    for (size_t i = 0; i < n; i++) row[i] = middle - below_it - 0.25f * (float)below(s, 8);
    for (size_t i = 0; i < n_top; i++) row[below(s, n)] = middle + step * (float)((int)below(s, 9) - 4);
}

/* The cut at one of the tokens that matter; `scaled` is the row behind the temperature. *edges counts those found. */
static bool estimate_at_the_cut(player *p, int kind, float t, const float *row, const float *scaled, size_t n,
                                source *s, uint64_t *edges)
{
    static standing st;
    float edge[2];
    size_t i = 0;
    memset(&st, 0, sizeof st);
    if (kind == CUT_TOP_P || kind == CUT_TYPICAL)
        stand_by_mass(p, &st, kind, scaled, n);
    else if (kind == CUT_TAIL_FREE)
        stand_by_tail(p, &st, scaled, n);
    else if (kind == CUT_TOP_H)
        stand_by_entropy(p, &st, scaled, n);
    else if (kind == CUT_MIN_K)
        stand_by_place(p, &st, scaled, n);
    else
        stand_alone(p, &st, kind, scaled, n);
    for (int tries = 0; tries < 2000 && !(st.at[i] > 0.005 && st.at[i] < 0.99); tries++) i = below(s, n);
    if (!find_edge(p, kind, st.at[i], scaled, n, edge)) return true;
    ++*edges;
    AT("%s behind temp %.9g cuts at element %zu of %zu", cut_name[kind], (double)t, i, n);
    for (int k = 0; k < 4; k++) {
        samp_sampler *chain = chain_of(samp_init_temp(t), make_cut(kind, edge[k % 2]), NULL);
        if (k < 2) samp_chain_add(chain, samp_init_xtc(1.0f, 0.0f, 0, 7));
        samp_chain_add(chain, k < 2 ? samp_init_greedy() : samp_init_dist(6));
        bool good = expect(p, chain, row, n, DEFINED, i);
        samp_free(chain);
        if (!good) return false;
    }
    return true;
}

static bool estimates_at_the_cut(void)
{
    player p;
    bool good = true;
    uint64_t edges[N_CUTS] = { 0 };
    if (!begin(&p, wanted_isa(), 8192)) return false;
    float *row = (float *)malloc(2 * 8192 * sizeof *row), *scaled = row + 8192;
    for (uint64_t k = 0; k < (uint64_t)rounds(72) && row && good; k++) {
        source s = source_seed(k);
        size_t n = 4097 + below(&s, 4000);
        float t = k % 4 ? (float)(0.2 + coarse(&s)) : 1.0f;
        peaked_row(&s, row, n, 10 + below(&s, 90));
        for (size_t i = 0; i < n; i++) scaled[i] = row[i] * (1.0f / t); /* as temp has it */
        for (int kind = 0; kind < N_CUTS && good; kind++)
            good = estimate_at_the_cut(&p, kind, t, row, scaled, n, &s, &edges[kind]);
    }
    free(row);
    for (int kind = 0; kind < N_CUTS; kind++) { /* one that met no edge has shown nothing */
        printf("  %s: %" PRIu64 " edges%s", cut_name[kind], edges[kind], kind + 1 < N_CUTS ? "," : "\n");
        good = good && edges[kind] > 0;
    }
    return end(&p, good, "estimates at the cut");
}

/* A long row of few different logits: cuts end among thousands of equal ones. With 1280 changed logits, more than a row
   has room for, behind which it goes on as an array; and cuts that keep nearly all. Both random sources. */
static samp_sampler *biases(size_t n, int32_t from)
{
    samp_logit_bias list[256];
    for (int32_t i = 0; i < 256; i++) list[i].token = from + i, list[i].bias = 0.25f * (float)(1 + i % 4);
    return samp_init_logit_bias((int32_t)n, 256, list);
}

static bool ties_in_long_rows(void)
{
    enum { LONG = 40000 };
    static const size_t keeps[] = { 0, 1000, 15000, LONG - 1, LONG };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), LONG)) return false;
    source rng = source_stream(4711);
    for (size_t turn = 0; turn < 60 && good; turn++) {
        const size_t keep = keeps[turn / 2 % 5];
        const float share = 0.02f + 0.016f * (float)turn;
        for (size_t i = 0; i < LONG; i++) p.row[i] = -0.25f * (float)below(&rng, turn % 3 ? 8 : 2);
        p.row[5] = 0.5f;
        p.row[10000] = p.row[20000] = 0.375f;
        samp_sampler *cut = turn % 6 < 2   ? samp_init_top_p(share, keep)
                            : turn % 6 < 4 ? samp_init_typical(share, keep)
                                           : samp_init_xtc(1.0f, 0.00002f, keep ? keep : 1, 3);
        samp_sampler *chain = samp_chain_init();
        for (int32_t i = 0; turn % 12 >= 8 && i < 5; i++) (void)samp_chain_add(chain, biases(LONG, 300 * i));
        good = samp_chain_add(chain, cut) == SAMP_OK && samp_chain_add(chain, samp_init_dist(turn)) == SAMP_OK;
        if (turn % 2) samp_set_rng(chain, SAMP_RNG_MT19937);
        good = good && expect(&p, chain, p.row, LONG, DEFINED, turn);
        samp_free(chain);
    }
    return end(&p, good, "long ties");
}

/* Shares that end one unit below a prefix. */
static bool cuts_to_the_unit(void)
{
    static const size_t lengths[] = { 2, 40, 5000, 20000 };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 20000)) return false;
    for (size_t turn = 0; turn < 48 && good; turn++) {
        size_t n = lengths[turn / 12];
        samp_sampler *cut = unit_row(turn, p.row, n);
        good = left_by(&p, cut, p.row, n) == 1 + turn % 2;
        if (!good) report(&p, "another number is left\n");
        samp_sampler *chain = chain_of(cut, samp_init_dist(turn), NULL);
        for (uint64_t at = 0; at < 8 && good; at++) good = expect(&p, chain, p.row, n, DEFINED, at);
        samp_free(chain);
    }
    return end(&p, good, "cuts to the unit");
}

/* p_less where most squares are those of a long tail just too far down to be looked at: two tokens above it, and the cut
   at the second. */
static bool p_less_has_a_tail(void)
{
    enum { N = 100000 };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), N)) return false;
    float *row = (float *)malloc(N * sizeof *row), edge[2];
    for (int k = 0; k < (quickest() ? 1 : 6) && row && good; k++) {
        source s = source_seed((uint64_t)k);
        double z = 0.0, squares = 0.0;
        for (size_t i = 0; i < N; i++) row[i] = -10.1f - 0.001f * (float)below(&s, 100);
        row[17 + k] = -1.9f - 0.1f * (float)k;
        row[777 * k] = 0.0f;
        for (size_t i = 0; i < N; i++) z += exp((double)row[i]), squares += exp(2.0 * (double)row[i]);
        AT("p_less behind whose cut there is a tail, %d", k);
        good = find_edge(&p, CUT_P_LESS, exp((double)row[17 + k]) * z / squares, row, N, edge);
        for (size_t i = 0; i < 6 && good; i++) good = cut_agrees(&p, CUT_P_LESS, edge[i % 2], row, N, i);
    }
    free(row);
    return end(&p, good, "p_less has a tail");
}

/* min_k's cliff at any place, steeper by little than the row's first fall, or less steep; and another, deeper one at the
   row's end, which only those that look there see. */
static bool min_k_finds_the_steepest_fall(void)
{
    enum { N = 9000 };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), N)) return false;
    float *row = (float *)malloc(N * sizeof *row);
    for (uint64_t k = 0; k < (uint64_t)rounds(200) && row && good; k++) {
        source s = source_seed(k);
        size_t n = 2000 + below(&s, N - 2000), at = 1 + below(&s, k % 4 ? 100 : n - 2);
        float first = (float)(0.01 + coarse(&s)), l = PICK(&s, 0.0f, 100.0f, -1000.0f);
        float steeper = PICK(&s, 1.0f, 1.00001f, 0.99999f, 1.5f, 0.9999999f),
              last = PICK(&s, 0.0f, 1.0f, 1.001f, 0.999f);
        for (size_t i = 0; i < n; i++) {
            row[i] = l;
            l -= i == 0        ? first
                 : i + 1 == at ? first * steeper * (float)at
                 : i + 2 == n  ? first * last * (float)(i + 1)
                               : first / 1e4f;
        }
        for (size_t i = 1; i < n; i++) {
            size_t j = mixed(k * N + i) % (i + 1);
            float x = row[i];
            row[i] = row[j];
            row[j] = x;
        }
        AT("min_k with a cliff behind %zu of %zu", at, n);
        for (size_t i = 0; i < 3 && good; i++) good = cut_agrees(&p, CUT_MIN_K, 0.0f, row, n, i);
        for (size_t i = 0; i < 3 && good; i++) good = cut_agrees(&p, CUT_MIN_K, 3.0f, row, n, i);
    }
    free(row);
    return end(&p, good, "min_k finds the steepest fall");
}

/* Masses that meet the cut exactly: m tokens of the same weight among others that weigh nothing. */
static samp_sampler *equal_cut(int kind, int32_t m, int32_t k)
{
    float share = (float)k / (float)m;
    switch (kind) {
        case 0: return samp_init_top_p(share, 0);
        case 1: return samp_init_typical(share, 0);
        case 2: return samp_init_xtc(1.0f, 1.0f / (float)m, 0, 5);
        case 3: return samp_init_min_p(1.0f, (size_t)k);
        case 4: return samp_init_top_k(k);
        case 5: return samp_init_tail_free(share, 0);
        default:
            return samp_init_mirostat_v2(6, 0.5f * log2f((float)m), 0.0f); /* mu = log2 m, the surprise of each */
    }
}
enum { N_EQUAL_CUTS = 7 };

static void equal_row(source *s, float *row, size_t n, int32_t m, float apart)
{
    for (size_t i = 0; i < n; i++) row[i] = -apart - (float)normal_fast(s);
    for (int32_t i = 0; i < m;) {
        size_t at = below(s, n);
        if (row[at] == 1.5f) continue;
        row[at] = 1.5f;
        i++;
    }
}

static bool cuts_at_equality(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 8192)) return false;
    for (size_t n = 2; n && good; n = next_length(n)) {
        for (int i = 0; i < 4 * N_EQUAL_CUTS && good; i++) {
            source s = source_seed(n * 64 + (uint64_t)i);
            int32_t m = 2;
            while (below(&s, 3) && (size_t)m * 2 <= n) m *= 2;
            int kind = i % N_EQUAL_CUTS, flat = kind == 5 && (size_t)m + 2 <= n ? 2 : 0; /* tail_free counts n - 2 */
            int32_t k = 1 + (int32_t)below(&s, (uint64_t)m);
            equal_row(&s, p.row, n, m + flat, i % 3 ? 90.0f : INFINITY);
            samp_sampler *chain = chain_of(equal_cut(kind, m, k), samp_init_dist(6), NULL);
            AT("%d of %d equal tokens among %zu", (int)k, (int)m, n);
            for (uint64_t at = 0; at < 4 && good; at++) good = expect(&p, chain, p.row, n, DEFINED, at);
            samp_free(chain);
        }
    }
    return end(&p, good, "cuts at equality");
}

/* ---- long rows of which the cut keeps many: narrowed down, not sorted ---- */

enum flat_kind { FLAT_NORMAL, FLAT_TIES, FLAT_TWO_VALUES, FLAT_EQUAL, FLAT_FEW_LIKELY, FLAT_MASKED, N_FLAT_KINDS };

static void flat_row(source *s, float *row, size_t n, int kind)
{
    float scale = PICK(s, 1.0f, 0.3f, 2.0f, 0.01f), middle = PICK(s, 0.0f, 0.0f, 12.5f, -300.0f, 1e6f);
    for (size_t i = 0; i < n; i++) {
        float x = scale * (float)normal_fast(s);
        if (kind == FLAT_TIES) x = floorf(x * 8.0f) * 0.125f; /* many tokens at either end of what is kept */
        if (kind == FLAT_TWO_VALUES) x = below(s, 3) ? 0.0f : scale;
        if (kind == FLAT_EQUAL) x = 0.0f;
        if (kind == FLAT_FEW_LIKELY && below(s, n) < 40) x += 8.0f;
        row[i] = kind == FLAT_MASKED && below(s, 2) ? -INFINITY : middle + x;
    }
}

/* What comes before the cut: the row stays as it is, is scaled, has changes, or is gathered already. */
static samp_sampler *before_cut(source *s, size_t n)
{
    samp_logit_bias bias[3];
    for (int i = 0; i < 3; i++) bias[i].token = (samp_token)below(s, n), bias[i].bias = i ? 1.0f : -INFINITY;
    switch (below(s, 5)) {
        case 0: return samp_init_temp((float)(0.5 + coarse(s)));
        case 1: return samp_init_logit_bias((int32_t)n, 3, bias);
        case 2: return samp_init_top_k((int32_t)(n / 4 + below(s, n)));
        case 3: return samp_init_min_p(1e-6f, 0);
        default: return samp_init_top_k(0);
    }
}

static bool flat_case(player *p, uint64_t seed, int kind)
{
    source s = source_seed(seed);
    size_t n = percent(&s, 25) ? 4097 + below(&s, 12000) : 16385 + below(&s, 20000);
    size_t min_keep = percent(&s, 60) ? 0 : percent(&s, 70) ? 1 + below(&s, n + 2) : SIZE_MAX;
    float x = percent(&s, 50) ? (float)coarse(&s) + 1e-6f
                              : PICK(&s, 0.9f, 0.95f, 0.99f, 0.9999f, JUST_BELOW_1, 1e-30f);
    int row_kind = (int)(seed % N_FLAT_KINDS);
    samp_sampler *cut = kind == CUT_TYPICAL ? samp_init_typical(x, min_keep) : samp_init_tail_free(x, min_keep);
    samp_sampler *chain = chain_of(before_cut(&s, n), cut, NULL);
    AT("%s of a flat row, seed %" PRIu64, cut_name[kind], seed);
    if (seed % 3) { /* an even draw, or the last in order of what is left */
        samp_chain_add(chain, samp_init_temp(1048576.0f));
        samp_chain_add(chain, samp_init_dist(6));
    } else {
        samp_chain_add(chain, samp_init_xtc(1.0f, 0.0f, 0, 7));
        samp_chain_add(chain, samp_init_greedy());
    }
    flat_row(&s, p->row, n, row_kind);
    bool good = expect(p, chain, p->row, n, DEFINED, seed);
    for (uint64_t at = 1; at < 4 && seed % 3 && good; at++) good = expect(p, chain, p->row, n, DEFINED, seed + at);
    samp_free(chain);
    return good;
}

static bool flat_rows_in_typical_and_tail_free(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), LONGEST)) return false;
    for (uint64_t seed = 0; seed < amount(120, quickest() ? 3 : 12) && good; seed++)
        good = flat_case(&p, seed, CUT_TYPICAL) && flat_case(&p, seed, CUT_TAIL_FREE);
    return end(&p, good, "flat rows");
}

/* ---- ranks ---- */

/* Element i is the last of k, the first behind, or ties with a neighbour there. */
static bool element_at_rank(player *p, float *row, size_t n, size_t i)
{
    source s = source_seed(n * 8192 + i);
    int32_t k = 1 + (int32_t)below(&s, n < 40 ? n : 40);
    AT("top_k %d at element %zu of %zu", (int)k, i, n);
    normal_row(&s, row, n, 1.0);
    for (int32_t above = 0; above < k - 1; above++) row[below(&s, n)] = 5.0f + (float)above / 64.0f;
    row[i] = 4.5f;
    if (i % 2 && i + 1 < n) row[i + 1 + below(&s, n - i - 1)] = 4.5f;
    if (i % 4 == 3 && i) row[below(&s, i)] = 4.5f;
    samp_sampler *chain = i % 2 ? chain_of(samp_init_top_k(k), samp_init_temp(1048576.0f), samp_init_dist(8))
                                : chain_of(samp_init_top_k(k), samp_init_xtc(1.0f, 0.0f, 0, 7), samp_init_greedy());
    bool good = expect(p, chain, row, n, DEFINED, i) && expect(p, chain, row, n, DEFINED, i + 1);
    samp_free(chain);
    return good;
}

static bool every_element_at_rank_k(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 8192)) return false;
    for (size_t n = 1; n && good; n = next_length(n))
        for (size_t i = 0; i < n && good; i = next_element(i, n, 200)) good = element_at_rank(&p, p.row, n, i);
    return end(&p, good, "every element at rank k");
}

/* ---- samplers with a state ---- */

/* Chains that remember. Element i is the token to punish or to prefer. */
static samp_sampler *stateful_chain(int kind, size_t n, size_t i)
{
    samp_logit_bias bias = { (samp_token)i, kind == 0 ? 8.0f : -INFINITY };
    switch (kind) {
        case 0:
        case 1: return chain_of(samp_init_logit_bias((int32_t)n, 1, &bias), samp_init_dist(9), NULL);
        case 2: return chain_of(samp_init_penalties(8, 1.5f, 0.5f, 0.5f), samp_init_greedy(), NULL);
        case 3: return chain_of(samp_init_penalties(8, 3.0f, 0.0f, 0.0f), samp_init_top_k(3), samp_init_dist(9));
        case 4: return chain_of(samp_init_dry(NULL, 64, 2.0f, 1.75f, 0, -1, NULL, 0), samp_init_dist(9), NULL);
        case 5: return chain_of(samp_init_mirostat_v2(9, 2.0f, 0.5f), NULL, NULL);
        case 6: return chain_of(samp_init_mirostat((int32_t)n, 9, 2.0f, 0.5f, 10), NULL, NULL);
        default: return chain_of(samp_init_adaptive_p(0.4f, 0.5f, 9), NULL, NULL);
    }
}
enum { N_STATEFUL = 8 };

static bool element_with_state(player *p, int kind, size_t n, size_t i)
{
    source s = source_seed(n * 16384 + i);
    band b = { stateful_chain(kind, n, i), { NULL }, true };
    bool good = true;
    AT("chain %d with a state, element %zu of %zu", kind, i, n);
    normal_row(&s, p->row, n, 1.0);
    p->row[i] = 3.0f;
    samp_accept(b.steps, (samp_token)i);
    samp_accept(b.steps, (samp_token)i);
    for (int k = 0; k < p->isa.n; k++) b.fast[k] = samp_clone(b.steps);
    p->report_len = 0;
    for (int step = 0; step < 2 && good; step++) good = play_row(p, &b, p->row, n, (unsigned)((n + i) % 24), FLT_MAX);
    if (!good) printf("%s\n%s", at_work, p->report);
    band_free(p, &b);
    return good;
}

static bool every_element_with_state(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 8192)) return false;
    for (size_t n = 1; n && good; n = next_length(n))
        for (size_t i = 0; i < n && good; i = next_element(i, n, 72))
            for (int k = some(n, i, 2); k < N_STATEFUL && good; k += every(n, 2))
                good = element_with_state(&p, k, n, i);
    return end(&p, good, "every element, samplers with a state");
}

/* --------------------------------------------------------------------------------------- rows that once differed
   Cut down to what matters. */

enum { N_DIFFERED = 12, DIFFERED_SIZE = 6 };

static samp_sampler *chain_that_differed(int i)
{
    samp_logit_bias down = { 0, -FLT_MAX };
    switch (i) {
        case 0: return chain_of(samp_init_temp_ext(1.0f, 0.5f, 1.0f), samp_init_dist(2), NULL);
        case 1: return chain_of(samp_init_min_p(0.84f, SIZE_MAX), samp_init_dist(1), NULL);
        case 2: return chain_of(samp_init_temp(1.14352f), samp_init_greedy(), NULL);
        case 3: return chain_of(samp_init_temp(0.8f), samp_init_dist(1), NULL);
        case 4:
            return chain_of(samp_init_temp(1.5328f), samp_init_mirostat(6, 7435427668501660610u, 5.0f, 0.1f, 100),
                            NULL);
        case 5: return chain_of(samp_init_logit_bias(6, 1, &down), samp_init_temp(0.335809f), samp_init_dist(1));
        case 6: return chain_of(samp_init_top_n_sigma(3.15033f), samp_init_dist(13955464081715396488u), NULL);
        case 7: return chain_of(samp_init_temp_ext(1.5f, 0.0f, 1.0f), samp_init_greedy(), samp_init_softmax());
        case 8: return chain_of(samp_init_temp(1.67681f), samp_init_top_k(3), samp_init_adaptive_p(0.4f, 0.9f, 1));
        case 9: return chain_of(samp_init_temp(0.5f), samp_init_adaptive_p(0.0f, 0.9f, 1), NULL);
        case 10: return chain_of(samp_init_top_n_sigma(0.201843f), samp_init_dist(1), NULL);
        default: return chain_of(samp_init_temp(9.53674316e-7f), samp_init_xtc(1.0f, 0.0f, 3, 1), samp_init_dist(1));
    }
}

static bool rows_that_once_differed(void)
{
    static const float row[][DIFFERED_SIZE] = {
        { -0.4f, -0.4f, 1.1f, 1.2f, INFINITY, 0.0f },
        { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f },
        { -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX },
        { -FLT_MAX, 0.0f, 0.0f, -INFINITY, -INFINITY, -INFINITY },
        { FLT_MAX, -FLT_MAX, FLT_MAX, 1e38f, -1e38f, 0.0f },
        { 0.0f, 1.4805095e-25f, -INFINITY, -INFINITY, -INFINITY, -INFINITY },
        { 0.0f, -0.0f, 0.0f, -1.08398031e-38f, 1.4e-45f, -1.4e-45f },
        { -FLT_MAX, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY },
    };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 64)) return false;
    for (int i = 0; i < N_DIFFERED; i++) {
        for (size_t r = 0; r < CASE_COUNT(row); r++) {
            for (size_t n = 1; n <= DIFFERED_SIZE; n++) {
                band b = { chain_that_differed(i), { NULL }, true };
                for (int k = 0; k < p.isa.n; k++) b.fast[k] = samp_clone(b.steps);
                AT("chain %d that once differed, row %zu of %zu", i, r, n);
                for (int step = 0; step < 4 && good; step++) good = play_row(&p, &b, row[r], n, (unsigned)n, NAN);
                if (!good) printf("%s\n%s", at_work, p.report);
                band_free(&p, &b);
            }
        }
    }
    return end(&p, good, "rows that once differed");
}

/* ---- what a custom sampler in the middle is shown ---- */

static struct {
    uint64_t look[ISA_MAX + 1]; /* everything in the array, as one number; the definition's first */
    int n;
} shown;

static int show_apply(samp_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    if (shown.n <= ISA_MAX) shown.look[shown.n] = custom_look(cur);
    shown.n++;
    return SAMP_OK;
}
static const samp_sampler_i show_iface = { NULL, NULL, show_apply, NULL, NULL, NULL, NULL, NULL };

/* Samplers before it, most of them of the sorts after which the array is known though it was not there; none that
   learns from a draw. */
static samp_sampler *shown_chain(source *s, size_t n)
{
    static const int usual[] = { SAMPI_LOGIT_BIAS, SAMPI_PENALTIES, SAMPI_DRY,   SAMPI_TOP_N_SIGMA,
                                 SAMPI_TOP_K,      SAMPI_TOP_K,     SAMPI_MIN_P, SAMPI_TEMP,
                                 SAMPI_TEMP_EXT,   SAMPI_MIN_P,     SAMPI_TOP_K, SAMPI_TEMP };
    samp_sampler *chain = open_chain();
    for (size_t count = 1 + below(s, 4); count > 0; count--) {
        int kind = percent(s, 88) ? usual[below(s, CASE_COUNT(usual))] : (int)below(s, SAMPI_MIROSTAT);
        samp_sampler *one = make_kind(s, kind, n);
        bool nested = percent(s, 10) && kind < N_STAGES; /* a chain takes none behind what selects */
        samp_chain_add(chain, nested ? chain_of(one, make_kind(s, SAMPI_TEMP, n), NULL) : one);
    }
    samp_chain_add(chain, samp_init_custom(&show_iface, NULL));
    if (percent(s, 30)) samp_chain_add(chain, make_kind(s, (int)below(s, N_STAGES), n));
    if (percent(s, 95)) samp_chain_add(chain, make_kind(s, percent(s, 80) ? SAMPI_DIST : SAMPI_GREEDY, n));
    return close_chain(chain);
}

static bool shown_case(player *p, uint64_t seed)
{
    source s = source_seed(seed);
    size_t n = percent(&s, 97) ? make_length(&s, 3000) : 4097 + below(&s, 3000);
    samp_sampler *chain = shown_chain(&s, n);
    if (seed % 3 == 0) samp_set_rng(chain, SAMP_RNG_MT19937);
    AT("what a custom sampler is shown, seed %" PRIu64, seed);
    for (size_t i = below(&s, 20); i > 0; i--) samp_accept(chain, (samp_token)below(&s, n < 8 ? n : 8));
    make_row(&s, p->row, n);
    if (percent(&s, 10)) p->row[below(&s, n)] = PICK(&s, 0.0f, -0.0f, -1.4e-45f, 1.4e-45f);
    shown.n = 0;
    bool good = expect(p, chain, p->row, n, DEFINED, seed);
    bool same = shown.n == 0 || shown.n == 1 + p->isa.n;
    for (int i = 1; i < shown.n && same; i++) same = shown.look[i] == shown.look[0];
    if (good && !same) {
        report_case(p, chain, p->row, n);
        printf("shown another array, or not as often: %d times\n%s\n%s", shown.n, at_work, p->report);
        p->report_len = 0;
    }
    samp_free(chain);
    return good && same;
}

/* The array of all candidates was not even made: its end is as it was. */
static bool shown_without_array(void)
{
    enum { N = 4000 };
    static float row[N];
    bool good = true;
    for (int i = 0; i < 4; i++) {
        samp_sampler *chain = chain_of(samp_init_temp(0.7f), i % 2 ? samp_init_min_p(0.5f, 1) : samp_init_top_k(5),
                                       samp_init_custom(&show_iface, NULL));
        source s = source_seed(5);
        samp_chain_add(chain, samp_init_dist(6));
        samp_set_rng(chain, i < 2 ? SAMP_RNG_PHILOX : SAMP_RNG_MT19937);
        normal_row(&s, row, N, 2.0);
        good &= samp_reserve(chain, N) == SAMP_OK;
        samp_token_data *last = &((sampi_sampler *)chain)->work.candidate[N - 1];
        last->id = -7;
        good &= samp_draw(chain, row, N) >= 0 && last->id == -7;
        samp_free(chain);
    }
    return good;
}

/* Masking more tokens than a row has room for changes, where its logits are its own: all maxima but one, at temperature
   0, and all that xtc takes away. */
static bool many_masked(player *p)
{
    enum { N = 20000 };
    bool good = true;
    for (int i = 0; i < 2 && good; i++) {
        samp_sampler *chain = chain_of(samp_init_temp(0.5f),
                                       i ? samp_init_xtc(1.0f, 2e-4f, 0, 3) : samp_init_temp(0.0f),
                                       i ? samp_init_dist(6) : samp_init_top_k(N + 1));
        samp_set_rng(chain, SAMP_RNG_MT19937);
        if (!i) {
            samp_chain_add(chain, samp_init_custom(&show_iface, NULL));
            samp_chain_add(chain, samp_init_greedy());
        }
        for (size_t j = 0; j < N; j++) p->row[j] = !i ? 2.0f : j % 16 > 3 || j >= 6400 ? 0.0f : 5.0f;
        for (size_t j = 7; i && j < N; j += 64) p->row[j] = 3.0f;
        AT("many masked tokens, %d", i);
        shown.n = 0;
        for (unsigned at = 0; at < 3 && good; at++) good = expect(p, chain, p->row, N, DEFINED, at);
        for (int k = 1; k < shown.n && shown.n <= ISA_MAX; k++) good &= shown.look[k] == shown.look[0];
        samp_free(chain);
    }
    return good;
}

/* A sampler that is off checks the array all the same: also one behind what the user's sampler has spoilt. */
static bool off_behind_custom(player *p)
{
    custom spoil = { CUSTOM_SPOIL, 1, -1 };
    samp_sampler *chain = chain_of(samp_init_top_k(5), samp_init_dist(6), custom_make(spoil));
    source s = source_seed(7);
    samp_chain_add(chain, samp_init_temp(1.0f));
    normal_row(&s, p->row, 300, 2.0);
    AT("an array with a NaN before a sampler that is off");
    bool good = expect(p, chain, p->row, 300, SAMP_E_NAN, 1);
    samp_free(chain);
    return good;
}

static bool custom_is_shown_the_same(void)
{
    player p;
    if (!begin(&p, wanted_isa(), LONGEST)) return false;
    bool good = shown_without_array();
    if (!good) printf("the array of all candidates was made\n");
    good = good && many_masked(&p) && off_behind_custom(&p);
    for (uint64_t seed = 1; seed <= (quick() ? 500 : 10000) && good; seed++) good = shown_case(&p, seed);
    return end(&p, good, "a custom sampler is shown the same");
}

/* ------------------------------------------------------------------------------------- arguments, changes */

/* The length is no part of a chain: rows grow and shrink, and no old row shows through. */
static bool rows_change_their_length(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 5000)) return false;
    for (int k = 0; k < N_WHOLE_CHAINS && good; k++) {
        band b = { whole_chain(k), { NULL }, true };
        source s = source_seed((uint64_t)k);
        for (int i = 0; i < p.isa.n; i++) b.fast[i] = samp_clone(b.steps);
        for (size_t n = 4097; n > 0 && good; n = n * 2 / 3) {
            for (size_t m = 0; m < 2 && good; m++) { /* a long row, then a short one */
                size_t length = m ? n % 61 + 1 : n;
                AT("lengths change, chain %d, now %zu", k, length);
                normal_row(&s, p.row, length, m ? 0.1 : 4.0);
                p.report_len = 0;
                good = play_row(&p, &b, p.row, length, (unsigned)n % 24, INFINITY);
                if (!good) printf("%s\n%s", at_work, p.report);
            }
        }
        band_free(&p, &b);
    }
    return end(&p, good, "lengths change");
}

/* ---- the sums that a draw proposes by, where an element is so far down that it has no part in them ---- */

static bool envelopes_agree(void)
{
    enum { N = 1500, N_TILES = (N + SAMPI_TILE - 1) / SAMPI_TILE };
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), N)) return false;
    for (uint64_t seed = 0; seed < 200 && good; seed++) {
        source s = source_seed(seed);
        float depth = seed % 4 ? 60.0f : 20.0f, r = seed % 3 ? 1.0f : 0.7f, floor = seed % 5 ? -FLT_MAX : -depth / 2;
        uint64_t want[N_TILES], got[N_TILES];
        for (size_t i = 0; i < N; i++) p.row[i] = below(&s, 50) ? -depth * (float)uniform(&s) : -INFINITY;
        p.row[seed] = 0.0f;
        sampi_envelope_scalar(p.row, N, r, 0.0f, floor, want);
        for (int i = 0; i < p.isa.n && good; i++) {
            isa_use(&p.isa, i);
            sampi_use()->envelope(p.row, N, r, 0.0f, floor, got);
            good = memcmp(want, got, sizeof want) == 0;
            if (!good) printf("  envelope: %s gives other sums (seed %" PRIu64 ")\n", p.isa.name[i], seed);
        }
        p.n_rows++;
    }
    return end(&p, good, "envelopes agree");
}

/* gumbel's noise, of ids in a row and of a list's, of every length: who comes below a bound. A list ends at its end. */
static bool noise_of_every_length(void)
{
    enum { N = 100 };
    isa_list isa = wanted_isa();
    source s = source_seed(1);
    for (size_t n = 1; n <= 4 * N; n++) {
        uint32_t counter[4] = { (uint32_t)choose(&s, 4), (uint32_t)choose(&s, 4), (uint32_t)choose(&s, 4), 0 };
        uint32_t key[2] = { (uint32_t)choose(&s, 4), (uint32_t)choose(&s, 4) }, out[4];
        uint32_t most = n % 3 ? (uint32_t)choose(&s, 4) >> below(&s, 8) : UINT32_MAX;
        int32_t id[N], want[N], hit[N], base = (int32_t)below(&s, 1 << 20), *list = n % 2 ? id : NULL;
        size_t len = 1 + (n - 1) / 4, hits = 0;
        for (size_t i = 0; i < len; i++) {
            counter[3] = (uint32_t)(id[i] = list ? (int32_t)below(&s, 1 << 22) : base + (int32_t)i);
            sampi_philox(counter, key, out);
            if (UINT32_MAX - out[1] <= most) want[hits++] = (int32_t)i;
        }
        for (int k = 0; k < isa.n; k++) {
            size_t got = isa.table[k]->race(counter, key, list, base, len, most, hit);
            if (got == hits && memcmp(hit, want, hits * sizeof *hit) == 0) continue;
            printf("%s: %zu of %zu come below %" PRIu32 ", not %zu\n", isa.name[k], got, len, most, hits);
            return false;
        }
    }
    return true;
}

/* What never reaches a kernel: no row, no tokens, too many. */
static bool bad_calls_are_refused(void)
{
    player p;
    bool good = true;
    if (!begin(&p, wanted_isa(), 64)) return false;
    for (int i = 0; i < p.isa.n; i++) {
        samp_sampler *chain = whole_chain(1);
        isa_use(&p.isa, i);
        normal_row(&(source){ 1, NULL, 0 }, p.row, 64, 1.0);
        good &= samp_sample(chain, p.row, 0) == SAMP_E_EMPTY && samp_sample(chain, NULL, 1) == SAMP_E_NULL;
        good &= samp_sample(NULL, p.row, 1) == SAMP_E_NULL;
        good &= samp_sample(chain, p.row, SAMP_MAX_VOCAB + 1) == SAMP_E_RANGE;
        good &= samp_sample(chain, p.row, SIZE_MAX) == SAMP_E_RANGE;
        good &= samp_get_position(chain) == 0 && samp_sample(chain, p.row, 64) >= 0;
        samp_free(chain);
        p.n_rows += 6;
    }
    return end(&p, good, "bad calls");
}

/* ---------------------------------------------------------------------------------------- arrays (samp_apply)
   An array of candidates after samp_apply is what the steps make of it, to the last bit, and so is the state. */

enum { ARRAY_LONGEST = 40000 };

/* Candidates for these logits, in one of the ways in which they come: mostly by id, without gaps or with some. */
static void make_array(source *s, const float *row, size_t n, samp_token_data_array *cur)
{
    unsigned how = (unsigned)below(s, 100), gap = how < 50 ? 0 : how < 80 ? 1 : 1000;
    samp_token id = how < 45 ? 0 : (samp_token)below(s, 50);
    bool has_p = percent(s, 30);
    for (size_t i = 0; i < n; i++) {
        samp_token_data d = { id, row[i], has_p ? (float)coarse(s) : 0.0f };
        cur->data[i] = d;
        id += 1 + (samp_token)below(s, gap + 1);
    }
    cur->size = n;
    cur->selected = percent(s, 80) ? -1 : (int64_t)below(s, n);
    cur->sorted = false;
    if (how >= 96) qsort(cur->data, n, sizeof *cur->data, custom_compare), cur->sorted = how >= 98;
    for (size_t i = n; how >= 93 && how < 96 && i > 1; i--) custom_swap(&cur->data[i - 1], &cur->data[below(s, i)]);
    if (how == 92) custom_swap(&cur->data[below(s, n)], &cur->data[below(s, n)]);
}

static bool same_array(const samp_token_data_array *a, const samp_token_data_array *b)
{
    if (a->size != b->size || a->selected != b->selected || a->sorted != b->sorted) return false;
    return memcmp(a->data, b->data, a->size * sizeof *a->data) == 0;
}

static void report_array(player *p, const char *name, const samp_token_data_array *cur)
{
    report(p, "  %s: size %zu, selected %d, sorted %d;", name, cur->size, (int)cur->selected, (int)cur->sorted);
    for (size_t i = 0; i < cur->size && i < 6; i++)
        report(p, " %d %.9g %.9g,", (int)cur->data[i].id, (double)cur->data[i].logit, (double)cur->data[i].p);
    report(p, "\n");
}

/* One array through both; `given` [n] is left as it is. */
static bool play_array(player *p, band *b, shelf *h, const samp_token_data_array *given, unsigned where)
{
    samp_token_data_array steps = *given;
    steps.data = p->work;
    memcpy(p->work, given->data, given->size * sizeof *given->data);
    int want = sampi_life_apply_steps((sampi_sampler *)b->steps, &steps);
    p->n_rows++;
    p->n_tokens += want == SAMP_OK;
    for (int i = 0; i < p->isa.n; i++) {
        samp_token_data_array cur = *given;
        placed at = place(h, (const float *)(const void *)given->data, 3 * given->size, where, NAN);
        cur.data = (samp_token_data *)(void *)at.row;
        isa_use(&p->isa, i);
        int got = samp_apply(b->fast[i], &cur);
        bool tidy = uppers_zero(), state = same_state(b->steps, b->fast[i]);
        bool same = want != SAMP_OK || same_array(&steps, &cur);
        samp_perf_data perf = samp_perf(b->fast[i]);
        if (got == want && state && same && tidy && perf.n_sample + perf.n_steps + perf.n_exact == 0) continue;
        report(p, "%s: samp_apply %d, by definition %d%s%s\n", p->isa.name[i], got, want,
               state ? "" : "; other state", tidy ? "" : "; upper halves left");
        report_array(p, "given", given);
        report_array(p, "by definition", &steps);
        report_array(p, "samp_apply", &cur);
        report_case(p, b->steps, p->row, given->size);
        return false;
    }
    return true;
}

static bool one_array(player *p, shelf *h, samp_token_data *room, uint64_t seed)
{
    source s = source_seed(seed);
    size_t n = SAMPI_SHORT_ARRAY - 2 + make_length(&s, below(&s, 50) ? 1500 : ARRAY_LONGEST - SAMPI_SHORT_ARRAY);
    samp_token_data_array given = { room, 0, -1, false };
    bool same = true;
    AT("SAMP_TEST_SEED=%" PRIu64 " SAMP_TEST_CASES=1", seed);
    p->report_len = 0;
    band b = { make_chain(&s, n), { NULL }, true };
    for (size_t i = percent(&s, 40) ? below(&s, 24) : 0; i > 0; i--) samp_accept(b.steps, (samp_token)below(&s, n));
    for (int i = 0; i < p->isa.n; i++) b.fast[i] = samp_clone(b.steps);
    for (int step = 0; step < 3 && same; step++) {
        make_row(&s, p->row, n);
        make_array(&s, p->row, n, &given);
        same = play_array(p, &b, h, &given, (unsigned)below(&s, 24));
        if (step < 2 && same) band_accept(&b, p->isa.n, (samp_token)below(&s, n));
    }
    band_free(p, &b);
    if (!same) printf("%s\n%s", at_work, p->report);
    return same;
}

static bool apply_gives_what_the_steps_give(void)
{
    player p;
    shelf h;
    int failures = 0;
    uint64_t n = default_cases() / 4, first = env_setting("SAMP_TEST_SEED", 1);
    samp_token_data *room = (samp_token_data *)malloc(ARRAY_LONGEST * sizeof *room);
    if (!begin(&p, wanted_isa(), ARRAY_LONGEST) || !shelf_make(&h, 3 * ARRAY_LONGEST) || !room) return false;
    for (uint64_t i = 0; i < n + !n && failures < MAX_FAILURES; i++) failures += !one_array(&p, &h, room, first + i);
    shelf_free(&h);
    free(room);
    return end(&p, failures == 0, "samp_apply");
}

/* llama.cpp's xtc, of which p stays to be seen: its threshold is the p of a token, and as many as are left, or one more,
   are to be kept. */
static bool xtc_of_llama_on_arrays(void)
{
    enum { LENGTH = SAMPI_SHORT_ARRAY + 300 };
    samp_token_data room[LENGTH], order[LENGTH];
    samp_token_data_array given = { room, LENGTH, -1, false };
    player p;
    shelf h;
    bool same = true;
    if (!begin(&p, wanted_isa(), LENGTH) || !shelf_make(&h, 3 * LENGTH)) return false;
    for (unsigned round = 0; round < 60 && same; round++) {
        source s = source_seed(round);
        samp_token_data_array sorted = { order, LENGTH, -1, false };
        samp_sampler *softmax = samp_init_softmax();
        size_t above = 1 + below(&s, 4);
        for (int i = 0; i < LENGTH; i++) {
            samp_token_data d = { 2 * i, i % 3 ? -1.0f - (float)coarse(&s) : i % 2 ? 0.0f : -0.0f, 0.5f };
            room[i] = d;
        }
        for (int i = 0; i < 6; i++) room[below(&s, LENGTH)].logit = 4.0f + (float)below(&s, 3);
        memcpy(order, room, sizeof order);
        same = softmax && samp_set_rng(softmax, SAMP_RNG_MT19937) == SAMP_OK &&
               samp_apply(softmax, &sorted) == SAMP_OK;
        float t = order[above].p;
        for (; above < LENGTH && order[above].p >= t;) above++;
        size_t left = LENGTH - (above - 1);
        band b = { samp_init_xtc(1.0f, t, round % 3 ? left - 1 + round % 3 : 0, round), { NULL }, true };
        same = same && b.steps && samp_set_rng(b.steps, SAMP_RNG_MT19937) == SAMP_OK;
        for (int i = 0; i < p.isa.n && same; i++) b.fast[i] = samp_clone(b.steps);
        same = same && play_array(&p, &b, &h, &given, (unsigned)below(&s, 24));
        if (!same) printf("round %u\n%s", round, p.report);
        samp_free(softmax);
        band_free(&p, &b);
    }
    shelf_free(&h);
    return end(&p, same, "xtc of llama.cpp on arrays");
}

/* --------------------------------------------------------------------------------------------------- main */

#define SUITE(X) \
    X(bad_calls_are_refused) \
    X(noise_of_every_length) \
    X(envelopes_agree) \
    X(every_element_decides) \
    X(every_element_at_the_cut) \
    X(estimates_at_the_cut) \
    X(min_k_finds_the_steepest_fall) \
    X(p_less_has_a_tail) \
    X(cuts_to_the_unit) \
    X(ties_in_long_rows) \
    X(cuts_at_equality) \
    X(flat_rows_in_typical_and_tail_free) \
    X(every_element_at_rank_k) \
    X(every_element_with_state) \
    X(rows_that_once_differed) \
    X(custom_is_shown_the_same) \
    X(rows_change_their_length) \
    X(apply_gives_what_the_steps_give) \
    X(xtc_of_llama_on_arrays) \
    X(chains_of_many_members) \
    X(random_chains) \
    X(random_chains_two_threads) \
    X(clones_at_once) \
    X(long_rows_of_every_chain) \
    X(long_rows_of_llama) \
    X(ways_that_few_rows_go) \
    X(typical_gives_up_quickselect) \
    X(sorts_go_further) \
    X(mirostat_cuts_at_the_edge) \
    X(mirostat_learns_to_the_last_bit) \
    X(mirostat_at_the_edge) X(expf_is_libms) X(expf_of_logits) X(squares_in_order)

SUITE_MAIN
