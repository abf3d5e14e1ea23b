/* case.h - a chain and its rows of logits, played by two executors that must agree.

   The definition of a token is the array of all candidates, taken through the samplers one by one
   (sampi_life_apply_steps). What users call, samp_sample, samp_draw and samp_apply, may go any other way to the same
   token. A case is a chain and a handful of rows, made from random numbers (test_fast.c) or from a fuzzer's bytes
   (fuzz/fuzz_chain.c); play() takes it through the definition and, with every instruction set, through
   samp_sample, and compares each token or status, and the state that the samplers are left in.

   Rows lie where a kernel that reads beyond them is found out: against a page that can't be read, or between
   numbers that would change the token. Include after sampling.h with its implementation, with _DEFAULT_SOURCE
   defined. */
#ifndef CASE_H
#define CASE_H

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32 /* windows.h defines small, near and far */
__declspec(dllimport) void *__stdcall VirtualAlloc(void *, size_t, unsigned long, unsigned long);
__declspec(dllimport) int __stdcall VirtualProtect(void *, size_t, unsigned long, unsigned long *);
__declspec(dllimport) int __stdcall VirtualFree(void *, size_t, unsigned long);
#else
#include <sys/mman.h>
#endif

#if defined(__x86_64__) && !defined(__AVX__)
#include <cpuid.h>
#endif
#include "floats.h"
#include "source.h"

#define CASE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ----------------------------------------------------------------------------------------------------- dtypes */

static inline size_t dtype_size(samp_dtype dtype) { return dtype == SAMP_F32 ? 4 : dtype == SAMP_F64 ? 8 : 2; }

/* data [i] = x; of f64 `noise` beside it, in [-1, 1], so that there is something to round. */
static inline void dtype_put(samp_dtype dtype, void *data, size_t i, float x, double noise)
{
    if (dtype == SAMP_F32) ((float *)data)[i] = x;
    if (dtype == SAMP_F64) ((double *)data)[i] = isfinite(x) ? (double)x * (1.0 + noise * 6e-8) : (double)x;
    if (dtype == SAMP_F16) ((uint16_t *)data)[i] = half_of((double)x);
    if (dtype == SAMP_BF16) ((uint16_t *)data)[i] = brain_of(x);
}

static inline float dtype_get(samp_dtype dtype, const void *data, size_t i)
{
    if (dtype == SAMP_F16) return float_of_half(((const uint16_t *)data)[i]);
    if (dtype == SAMP_BF16) return float_of_brain(((const uint16_t *)data)[i]);
    return dtype == SAMP_F64 ? (float)((const double *)data)[i] : ((const float *)data)[i];
}

/* ------------------------------------------------------------------------------------------ instruction sets */

enum { ISA_MAX = SAMPI_N_KERNELS };

typedef const sampi_kernels *isa_table;

typedef struct isa_list {
    int n;
    const char *name[ISA_MAX];
    isa_table table[ISA_MAX];
} isa_list;

__attribute__((unused)) static isa_list isa_all(void)
{
    isa_list list = { 0, { NULL }, { NULL } };
    for (const char *name; (name = samp_isa_list(list.n)) != NULL; list.n++) {
        samp_isa_force(name);
        list.name[list.n] = name;
        list.table[list.n] = __atomic_load_n(&sampi_chosen, __ATOMIC_ACQUIRE);
    }
    samp_isa_force(NULL);
    return list;
}

__attribute__((unused)) static isa_list isa_one(const isa_list *from, int i)
{
    isa_list one = { 1, { from->name[i] }, { from->table[i] } };
    return one;
}

/* What samp_isa_force does, but for asking the CPU, which takes a virtual machine 20 us each time. */
static void isa_use(const isa_list *list, int i)
{
    __atomic_store_n(&sampi_chosen, list->table[i], __ATOMIC_RELEASE);
}

/* Are the upper halves of the vector registers zero, as far as the CPU tells (XINUSE)? They must be where a call
   returns: with anything there, a program's SSE code crawls on some CPUs. One that is compiled for AVX has none, and
   where its functions clean up is the compiler's affair. */
static bool uppers_zero(void)
{
#if defined(__x86_64__) && !defined(__AVX__)
    static int tells = -1;
    unsigned a, b, c, d;
    if (tells < 0) tells = __get_cpuid_count(0xD, 1, &a, &b, &c, &d) && (a & 4);
    if (!tells) return true;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return !(a & (1u << 2 | 1u << 6)); /* of ymm, of zmm0 to zmm15 */
#else
    return true;
#endif
}

/* ----------------------------------------------------------------------------------------------- choices */

static float pick_float(source *s, const float *from, size_t n) { return from[below(s, n)]; }
#define PICK(s, ...) pick_float(s, (const float[]){ __VA_ARGS__ }, sizeof(float[]){ __VA_ARGS__ } / sizeof(float))

/* --------------------------------------------------------------------------------------- where rows are kept
   [guard page][pages][guard page] */

enum { SHELF_PAGE = 65536, SHELF_MARGIN = 64 }; /* a multiple of every page size; floats of poison on either side */

typedef struct shelf {
    char *map;
    size_t size; /* without the guards */
} shelf;

/* n bytes to read and write, or NULL; then some of them to be left alone; and back. */
#ifdef _WIN32
static void *pages_make(size_t n) { return VirtualAlloc(NULL, n, 0x3000, 4); }
static bool pages_guard(void *at, size_t n) { return VirtualProtect(at, n, 1, &(unsigned long){ 0 }) != 0; }
static void pages_free(void *at, size_t n) { (void)n, VirtualFree(at, 0, 0x8000); }
#else
static void *pages_make(size_t n)
{
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}
static bool pages_guard(void *at, size_t n) { return mprotect(at, n, PROT_NONE) == 0; }
static void pages_free(void *at, size_t n) { munmap(at, n); }
#endif

static bool shelf_make(shelf *h, size_t n_floats)
{
    size_t need = (n_floats + 3 * SHELF_MARGIN) * sizeof(float);
    h->size = (need + SHELF_PAGE - 1) / SHELF_PAGE * SHELF_PAGE;
    h->map = (char *)pages_make(h->size + 2 * SHELF_PAGE);
    return h->map && pages_guard(h->map, SHELF_PAGE) && pages_guard(h->map + SHELF_PAGE + h->size, SHELF_PAGE);
}

static void shelf_free(shelf *h) { pages_free(h->map, h->size + 2 * SHELF_PAGE); }

/* A row on the shelf. */
typedef struct placed {
    float *row;
    size_t n, before, behind; /* poisoned floats around it */
    float poison;
} placed;

/* `where` says how: 0 ends at the guard, 1 begins at the guard, else 64-byte aligned plus where % 16 floats.
   */
static placed place(const shelf *h, const float *row, size_t n, unsigned where, float poison)
{
    float *first = (float *)(void *)(h->map + SHELF_PAGE), *end = first + h->size / sizeof(float);
    placed at = { first, n, 0, SHELF_MARGIN, poison };
    if (where == 0)
        at.row = end - n, at.before = SHELF_MARGIN, at.behind = 0;
    else if (where > 1)
        at.row = first + SHELF_MARGIN + where % 16, at.before = SHELF_MARGIN;
    for (size_t i = 1; i <= at.before; i++) at.row[-(ptrdiff_t)i] = poison;
    for (size_t i = 0; i < at.behind; i++) at.row[n + i] = poison;
    memcpy(at.row, row, n * sizeof *row);
    return at;
}

/* Nothing on or around the row has been written to. */
static bool untouched(const placed *at, const float *row)
{
    bool same = memcmp(at->row, row, at->n * sizeof *row) == 0;
    for (size_t i = 1; i <= at->before; i++) same &= bits_of(at->row[-(ptrdiff_t)i]) == bits_of(at->poison);
    for (size_t i = 0; i < at->behind; i++) same &= bits_of(at->row[at->n + i]) == bits_of(at->poison);
    return same;
}

/* --------------------------------------------------------------------------------------------------- rows */

enum row_kind {
    ROW_NORMAL,
    ROW_ZIPF,
    ROW_PEAKED,
    ROW_NEARLY_FLAT,
    ROW_EQUAL,
    ROW_TWO_VALUES,
    ROW_LADDER,
    ROW_CLUSTER,
    ROW_REAL,
    ROW_HUGE,
    ROW_DENORMAL,
    ROW_ANY_BITS,
    N_ROW_KINDS
};

/* One logit. a, b: two numbers that the whole row shares. */
static float make_logit(source *s, int kind, size_t i, size_t n, double a, double b)
{
    switch (kind) {
        case ROW_NORMAL: return (float)(a * normal_fast(s) + b);
        case ROW_ZIPF: return (float)(b + 12.0 - (1.0 + a / 40.0) * log(1.0 + coarse(s) * (double)n));
        case ROW_PEAKED:
            return (float)(below(s, 20) ? -1.0 + 2.2 * normal_fast(s) : 12.0 - 2.0 * log(1.0 + 60.0 * coarse(s)));
        case ROW_NEARLY_FLAT: return (float)(b + 1e-4 * a * normal_fast(s));
        case ROW_EQUAL: return (float)b;
        case ROW_TWO_VALUES: return (float)(below(s, 2) ? b : b - 0.1 * a);
        case ROW_LADDER: return (float)(b - 0.05 * a * (double)i);
        case ROW_CLUSTER: return (float)(below(s, n) < 8 ? b + 0.02 * normal_fast(s) : b - a + 0.1 * normal_fast(s));
        case ROW_HUGE:
            switch (below(s, 6)) {
                case 0: return FLT_MAX;
                case 1: return -FLT_MAX;
                case 2: return (float)(1e30 * normal_fast(s));
                case 3: return -1e30f;
                default: return (float)(a * normal_fast(s));
            }
        case ROW_DENORMAL: return float_from((uint32_t)choose(s, 8) & (below(s, 4) ? 0x807FFFFFu : 0x80000003u));
        default: {
            float x = float_from((uint32_t)choose(s, 4));
            return x <= FLT_MAX ? x : (float)normal_fast(s);
        }
    }
}

static int compare_floats(const void *x, const void *y)
{
    float a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return a < b ? -1 : a > b;
}

/* Make values tie: multiples of a step, or of f16's precision. */
static void round_row(source *s, float *row, size_t n)
{
    float step = PICK(s, 0.5f, 0.125f, 1.0f, 0.0f);
    for (size_t i = 0; i < n; i++) {
        if (step > 0.0f && fabsf(row[i]) < 1e6f) row[i] = floorf(row[i] / step + 0.5f) * step;
        if (step == 0.0f && fabsf(row[i]) < 1e30f) row[i] = float_from((bits_of(row[i]) + 0x1000u) & ~0x1FFFu);
    }
}

/* Mask a share of the tokens, or all but one. */
static void mask_row(source *s, float *row, size_t n)
{
    float mask = PICK(s, -INFINITY, -INFINITY, -INFINITY, -1e30f, -FLT_MAX);
    unsigned share = (unsigned)PICK(s, 1.0f, 20.0f, 50.0f, 90.0f, 99.0f, 100.0f);
    size_t kept = below(s, n);
    for (size_t i = 0; i < n; i++)
        if (i != kept && percent(s, share)) row[i] = mask;
}

/* What no row should hold, at any place; or nothing but masks. */
static void spoil_row(source *s, float *row, size_t n)
{
    unsigned how = (unsigned)below(s, 6);
    float bad = how < 2 ? NAN : how < 4 ? INFINITY : -INFINITY;
    if (how == 1) bad = -bad;
    for (size_t i = 0; i < n && how >= 4; i++) row[i] = bad;
    row[below(s, n)] = bad;
    if (how == 5) row[below(s, n)] = NAN;
}

/* row [n], n >= 1, of any shape. */
static void make_row(source *from, float *row, size_t n)
{
    int kind = (int)below(from, N_ROW_KINDS);
    double a = PICK(from, 0.01f, 0.1f, 0.5f, 1.0f, 1.0f, 2.0f, 2.0f, 3.0f, 3.0f, 5.0f, 10.0f, 100.0f);
    double b = PICK(from, 0.0f, 0.0f, 0.0f, 5.0f, -7.5f, 40.0f, -1000.0f, 1000.0f);
    unsigned after = (unsigned)below(from, 100);
    source s = kind == ROW_ANY_BITS && from->bytes ? *from : split(from);
    if (kind == ROW_REAL && real_rows) {
        const float *real = real_rows[below(&s, REAL_ROWS)];
        size_t start = below(&s, REAL_WIDTH);
        for (size_t i = 0; i < n; i++) row[i] = real[(start + i) % REAL_WIDTH];
    } else {
        for (size_t i = 0; i < n; i++) row[i] = make_logit(&s, kind, i, n, a, b);
    }
    if (after < 15) round_row(&s, row, n);
    if (after >= 12 && after < 30) mask_row(&s, row, n);
    if (after >= 25 && after < 40) qsort(row, n, sizeof *row, compare_floats);
    for (size_t i = 0; after >= 33 && after < 40 && i < n / 2; i++) {
        float t = row[i];
        row[i] = row[n - 1 - i];
        row[n - 1 - i] = t;
    }
    if (after >= 40 && after < 50) row[below(&s, n)] += (float)(a * 3.0);
    if (after >= 50 && after < 55) row[below(&s, n)] = -0.0f, row[below(&s, n)] = 0.0f;
    if (after >= 97) spoil_row(&s, row, n);
    if (kind == ROW_ANY_BITS && from->bytes) *from = s;
}

__attribute__((unused)) static void normal_row(source *s, float *row, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) row[i] = (float)(scale * normal_fast(s));
}

/* Mostly short, where lanes and tails are, and next to the sizes of blocks. */
static size_t make_length(source *s, size_t longest)
{
    unsigned how = (unsigned)below(s, 100);
    size_t n;
    if (how < 50)
        n = 1 + below(s, 300);
    else if (how < 70)
        n = 1 + below(s, 40);
    else if (how < 95)
        n = (size_t)PICK(s, 16.0f, 64.0f, 256.0f) * (1 + below(s, how < 90 ? 4 : 20)) + below(s, 3) - 1;
    else
        n = (size_t)exp(coarse(s) * log(5000.0)) + below(s, 2);
    return n < longest ? (n ? n : 1) : longest;
}

/* ------------------------------------------------------------------------------------ samplers of the user's
   They stand between the built-in ones, and do to the array whatever a user's sampler might do. */

enum custom_kind {
    CUSTOM_NOTHING,
    CUSTOM_MASK,    /* a quarter of the ids */
    CUSTOM_REVERSE, /* the array */
    CUSTOM_SHUFFLE,
    CUSTOM_SHRINK, /* to half its size */
    CUSTOM_FAIL,   /* always, or after an odd token */
    CUSTOM_SPY,    /* masks one candidate, which depends on everything that can be seen in the array */
    CUSTOM_SORT,
    CUSTOM_RAISE, /* every third logit, and one that may have been masked */
    CUSTOM_SELECT,
    CUSTOM_SPOIL, /* NaN or infinity */
    CUSTOM_LAST,  /* less of the last accepted token */
    N_CUSTOM
};

typedef struct custom {
    int kind;
    uint32_t arg;
    samp_token last;
} custom;

static uint64_t custom_look(const samp_token_data_array *cur)
{
    uint64_t h = mixed(cur->size * 4 + (cur->sorted ? 1 : 0) + ((uint64_t)cur->selected << 32));
    for (size_t i = 0; i < cur->size; i++) {
        const samp_token_data *d = &cur->data[i];
        h = mixed(h + (uint32_t)d->id + ((uint64_t)bits_of(d->logit) << 32)) ^ bits_of(d->p);
    }
    return h;
}

static int custom_compare(const void *a, const void *b)
{
    const samp_token_data *x = (const samp_token_data *)a, *y = (const samp_token_data *)b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void custom_swap(samp_token_data *a, samp_token_data *b)
{
    samp_token_data t = *a;
    *a = *b;
    *b = t;
}

/* Another order of the same candidates; what was selected stays selected. */
static void custom_reorder(const custom *c, samp_token_data_array *cur)
{
    samp_token chosen = cur->selected >= 0 && (size_t)cur->selected < cur->size ? cur->data[cur->selected].id : -1;
    source s = source_seed(c->arg);
    for (size_t i = 0; c->kind == CUSTOM_REVERSE && i < cur->size / 2; i++)
        custom_swap(&cur->data[i], &cur->data[cur->size - 1 - i]);
    for (size_t i = cur->size; c->kind == CUSTOM_SHUFFLE && i > 1; i--)
        custom_swap(&cur->data[i - 1], &cur->data[below(&s, i)]);
    if (c->kind == CUSTOM_SORT) qsort(cur->data, cur->size, sizeof *cur->data, custom_compare);
    cur->sorted = c->kind == CUSTOM_SORT;
    for (size_t i = 0; i < cur->size && chosen >= 0; i++)
        if (cur->data[i].id == chosen) cur->selected = (int64_t)i;
}

static void custom_change(const custom *c, samp_token_data_array *cur)
{
    for (size_t i = 0; i < cur->size; i++) {
        samp_token_data *d = &cur->data[i];
        if (c->kind == CUSTOM_MASK && mixed((uint32_t)d->id + c->arg) % 4 == 0) d->logit = -INFINITY;
        if (c->kind == CUSTOM_RAISE && d->id % 3 == 0) d->logit += 0.5f;
        if (c->kind == CUSTOM_RAISE && d->id == (samp_token)(c->arg % 64)) d->logit = 1.0f;
        if (c->kind == CUSTOM_LAST && d->id == c->last) d->logit -= 3.0f, d->p = 0.0f;
    }
    cur->sorted = false;
}

static int custom_apply(samp_sampler *s, samp_token_data_array *cur)
{
    const custom *c = (const custom *)s->ctx;
    if (!c || cur->size == 0) return SAMP_OK;
    switch (c->kind) {
        case CUSTOM_REVERSE:
        case CUSTOM_SHUFFLE:
        case CUSTOM_SORT: custom_reorder(c, cur); return SAMP_OK;
        case CUSTOM_MASK:
        case CUSTOM_RAISE:
        case CUSTOM_LAST: custom_change(c, cur); return SAMP_OK;
        case CUSTOM_SHRINK:
            cur->size = (cur->size + c->arg % 2) / 2;
            if (cur->selected >= (int64_t)cur->size) cur->selected = -1;
            return SAMP_OK;
        case CUSTOM_FAIL: return c->arg % 4 && c->last % 2 == 0 ? SAMP_OK : -1 - (int)(c->arg % 11);
        case CUSTOM_SELECT: cur->selected = (int64_t)(c->arg % cur->size); return SAMP_OK;
        case CUSTOM_SPOIL: cur->data[c->arg % cur->size].logit = c->arg % 3 ? NAN : INFINITY; return SAMP_OK;
        case CUSTOM_SPY:
            cur->data[custom_look(cur) % cur->size].logit = -INFINITY;
            cur->sorted = false;
            return SAMP_OK;
        default: return SAMP_OK;
    }
}

static int custom_accept(samp_sampler *s, samp_token token)
{
    custom *c = (custom *)s->ctx;
    if (!c) return SAMP_OK;
    c->last = token;
    return c->kind == CUSTOM_FAIL && c->arg % 5 == 0 ? SAMP_E_FULL : SAMP_OK;
}

static void custom_reset(samp_sampler *s)
{
    if (s->ctx) ((custom *)s->ctx)->last = -1;
}

static samp_sampler *custom_clone(const samp_sampler *s);
static void custom_free(samp_sampler *s) { free(s->ctx); }

static const samp_sampler_i custom_iface = { NULL,         custom_accept, custom_apply, custom_reset,
                                             custom_clone, custom_free,   NULL,         NULL };
static const samp_sampler_i custom_plain = { NULL, NULL, custom_apply, NULL, NULL, NULL, NULL, NULL };

static samp_sampler *custom_make(custom c)
{
    if (c.kind == CUSTOM_NOTHING) return samp_init_custom(&custom_plain, NULL);
    custom *ctx = (custom *)malloc(sizeof *ctx);
    if (!ctx) return NULL;
    *ctx = c;
    return samp_init_custom(&custom_iface, ctx);
}

static samp_sampler *custom_clone(const samp_sampler *s) { return custom_make(*(const custom *)s->ctx); }

/* -------------------------------------------------------------------------------------- built-in samplers */

/* The library's own kinds, SAMPI_..., of which the first N_STAGES do not select, and all N_KINDS are made here. */
enum { N_STAGES = SAMPI_GREEDY, N_KINDS = SAMPI_CHAIN };

static const char *text_bytes(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    static const char letters[] = "abc\nd:efab\n\n*";
    (void)vocab;
    *n_bytes = token < 1 ? 0 : 1 + (size_t)token % 2;
    return &letters[(size_t)token % (sizeof letters - 3)];
}
static const samp_vocab text_vocab = { 48, text_bytes, NULL, NULL, NULL, 0, -1, -1 };
static const samp_token hole_ends[] = { 0, 5 };
static const samp_vocab hole_vocab = { 1 << 22, text_bytes, NULL, NULL, hole_ends, 2, 0, -1 };

/* In (0, 1], mostly large or mostly small, with 1 and the neighbours of 0 and 1 among them. */
static float make_share(source *s, bool large)
{
    double u = coarse(s) + 1.0 / 65536.0;
    if (percent(s, 50)) return (float)(large ? 1.0 - 0.999 * u * u : u * u * u);
    if (percent(s, 40)) return large ? PICK(s, 0.95f, 0.9f, 0.99f, 0.999f) : PICK(s, 0.05f, 0.01f, 0.1f, 0.001f);
    return PICK(s, 0.5f, 0.3f, 0.999999f, 0.99999994f, 0.99999988f, 1.0f, 1e-12f, 1e-30f, 5.96046448e-8f,
                1.17549435e-38f, 1.4e-45f);
}

/* Mostly as used: small; sometimes off. */
static float make_cutoff(source *s)
{
    return percent(s, 5) ? 0.0f : percent(s, 50) ? PICK(s, 3e-4f, 9e-4f, 4e-3f, 1e-5f) : make_share(s, false);
}

static size_t make_min_keep(source *s, size_t n)
{
    if (percent(s, 60)) return 0;
    switch (below(s, 8)) {
        case 0: return 1;
        case 1: return n - 1;
        case 2: return n;
        case 3: return n + 1;
        case 4: return SIZE_MAX;
        case 5: return 1 + below(s, n);
        default: return 2 + below(s, 8);
    }
}

static int32_t make_k(source *s, size_t n)
{
    switch (below(s, 8)) {
        case 0: return (int32_t)PICK(s, 0.0f, -1.0f, 1.0f, 2.0f);
        case 1: return (int32_t)n - 1 + (int32_t)below(s, 3);
        case 2: return INT32_MAX - (int32_t)below(s, 2);
        case 3: return (int32_t)PICK(s, 2.0f, 3.0f, 40.0f, 64.0f, 100.0f, 1000.0f);
        case 4: return 2 + (int32_t)below(s, 64);
        default: return 1 + (int32_t)below(s, n);
    }
}

static float make_temp(source *s)
{
    if (percent(s, 60)) return (float)(0.1 + 2.0 * coarse(s));
    return PICK(s, 0.8f, 0.5f, 1.5f, 1.0f, 0.0f, 9.53674316e-7f, 1048576.0f, 0.99999994f, 1.00000012f, 2.0f, 0.01f,
                0.25f, 10.0f, 100.0f, 0.7f);
}

static samp_sampler *make_bias(source *s, size_t n)
{
    samp_logit_bias bias[300];
    bool many = percent(s, 10);
    size_t count = many ? 1 + below(s, CASE_COUNT(bias)) : below(s, 7);
    float same = PICK(s, -INFINITY, -INFINITY, 2.0f, -5.0f);
    for (size_t i = 0; i < count; i++) {
        bias[i].token = (samp_token)below(s, n + (percent(s, 10) ? 100 : 0));
        bias[i].bias = many ? same
                            : PICK(s, -INFINITY, 0.0f, 1.0f, -1.0f, 5.0f, -5.0f, 100.0f, -100.0f, 1e30f, -1e30f,
                                   FLT_MAX, -FLT_MAX, 0.001f);
    }
    return samp_init_logit_bias((int32_t)n + 100, (int32_t)count, bias);
}

static samp_sampler *make_penalties(source *s)
{
    int32_t last_n = (int32_t)PICK(s, 64.0f, 64.0f, 0.0f, 1.0f, 2.0f, 8.0f, 300.0f);
    float repeat = PICK(s, 1.1f, 1.3f, 1.0f, 0.5f, 2.0f, 1e-30f, 1e30f, FLT_MAX);
    float freq = PICK(s, 0.0f, 0.1f, 1.0f, -0.5f, 1e38f, -1e38f);
    return samp_init_penalties(last_n, repeat, freq, PICK(s, 0.0f, 0.5f, -1.0f, 1e38f));
}

static samp_sampler *make_dry(source *s)
{
    static const char *const breakers[] = { "\n", ":", "ab", "\n\n" };
    float multiplier = PICK(s, 0.8f, 5.0f, 0.0f, 0.1f, 1e38f), base = PICK(s, 1.75f, 1.0f, 4.0f, 1e30f);
    int32_t allowed = (int32_t)PICK(s, 1.0f, 0.0f, 2.0f, 5.0f);
    int32_t last_n = (int32_t)PICK(s, -1.0f, 64.0f, 4.0f, 0.0f);
    return samp_init_dry(&text_vocab, 128, multiplier, base, allowed, last_n, breakers, below(s, 5));
}

static samp_sampler *make_mirostat(source *s, int kind, size_t n)
{
    float tau = PICK(s, 5.0f, 3.0f, 1.0f, 0.5f, 0.0f, 20.0f, 1e30f), eta = PICK(s, 0.1f, 0.5f, 1.0f, 0.0f, 100.0f);
    int32_t m = (int32_t)PICK(s, 100.0f, 2.0f, 3.0f, 10.0f, 10000.0f);
    uint64_t seed = choose(s, 2);
    if (kind == SAMPI_MIROSTAT_V2) return samp_init_mirostat_v2(seed, tau, eta);
    return samp_init_mirostat(percent(s, 80) ? (int32_t)n : 1 + (int32_t)below(s, 1000), seed, tau, eta, m);
}

static samp_sampler *make_xtc(source *s, size_t n, bool has_exempt)
{
    float p = PICK(s, 1.0f, 0.5f, 0.9f, 0.1f, 0.0f, 1e-30f, 0.99999994f);
    float t = percent(s, 60) ? (float)(0.6 * coarse(s) * coarse(s))
                             : PICK(s, 0.1f, 0.0f, 0.3f, 0.5f, 0.50000006f, 1e-12f);
    size_t min_keep = make_min_keep(s, n);
    if (!has_exempt) return samp_init_xtc(p, t, min_keep, choose(s, 2));
    samp_token exempt[5];
    for (size_t i = 0; i < 5; i++) exempt[i] = (samp_token)below(s, n + 3);
    return samp_init_xtc_except(p, t, min_keep, choose(s, 2), exempt, 1 + below(s, 5));
}

static float make_top_h(source *s) { return percent(s, 40) ? 0.4f : make_share(s, true); }

static float make_min_k(source *s) { return PICK(s, 3.0f, 0.0f, -1.0f, 1.0f, 30.0f, 1000.0f, 1e-30f, FLT_MAX); }

static samp_sampler *make_smoothing(source *s)
{
    float factor = PICK(s, 0.3f, 0.1f, 1.0f, 4.0f, 0.0f, 1000.0f, 1e-30f);
    return samp_init_smoothing(factor, PICK(s, 1.0f, 1.5f, 2.0f, 3.0f, 10.0f, 1.0000001f));
}

static samp_sampler *make_adaptive_p(source *s)
{
    float target = PICK(s, 0.5f, 0.1f, 0.0f, 1.0f, -1.0f, 0.9f), decay = PICK(s, 0.9f, 0.0f, 0.5f, 0.99f);
    return samp_init_adaptive_p(target, decay, choose(s, 2));
}

#ifdef SAMPLING_WATERMARK_DECLARED
#include "random_watermark.h"
#endif
#ifndef CASE_WATERMARKS /* percent of the samplers, where the part is there */
#define CASE_WATERMARKS 5
#endif

/* A sampler of a kind whose parameters are numbers alone, by its row in the table: the default, an end of the range, or
   anything between. */
static samp_sampler *make_by_fields(source *s, int kind, size_t n)
{
    sampi_sampler t = sampi_blank((sampi_kind)kind);
    const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
    if (traits->stream) t.seed = choose(s, 2);
    for (size_t i = 0; i < traits->n_fields; i++) {
        const sampi_field *f = &traits->field[i];
        const double lo = f->lo < -100.0 ? -100.0 : f->lo, hi = f->hi > 100.0 ? 100.0 : f->hi;
        const double x = percent(s, 70) ? lo + (hi - lo) * coarse(s) : percent(s, 50) ? f->usual : hi;
        void *at = (char *)&t + f->at;
        if (f->type == SAMPI_SIZE)
            *(size_t *)at = make_min_keep(s, n);
        else if (f->type == SAMPI_INT32)
            *(int32_t *)at = (int32_t)x;
        else
            *(float *)at = (float)x;
    }
    return sampi_init(&t);
}

/* A text, which may be shorter than a case, and may have a token that no row has. */
static samp_sampler *make_replay(source *s, size_t n)
{
    samp_token text[8];
    const size_t length = percent(s, 80) ? 8 : below(s, 8);
    for (size_t i = 0; i < length; i++) text[i] = (samp_token)below(s, percent(s, 98) ? n : 2 * n);
    return samp_init_replay(text, length);
}

/* A sampler for a vocabulary of about n tokens: the numbers of some kinds are those at which they do the most. */
static samp_sampler *make_kind(source *s, int kind, size_t n)
{
    float p = kind >= SAMPI_TAIL_FREE && kind <= SAMPI_MIN_P ? make_share(s, kind != SAMPI_MIN_P) : 0.0f, t;
    switch ((sampi_kind)kind) {
        case SAMPI_LOGIT_BIAS: return make_bias(s, n);
        case SAMPI_PENALTIES: return make_penalties(s);
        case SAMPI_DRY: return make_dry(s);
        case SAMPI_TOP_N_SIGMA:
            return samp_init_top_n_sigma(percent(s, 50)
                                             ? (float)(4.0 * coarse(s))
                                             : PICK(s, 1.0f, 2.0f, 0.5f, -1.0f, 0.0f, 1e-6f, 100.0f, FLT_MAX));
        case SAMPI_TOP_K: return percent(s, 25) ? samp_init_top_k_ties(make_k(s, n)) : samp_init_top_k(make_k(s, n));
        case SAMPI_TAIL_FREE: return samp_init_tail_free(p, make_min_keep(s, n));
        case SAMPI_TYPICAL: return samp_init_typical(p, make_min_keep(s, n));
        case SAMPI_TOP_P: return samp_init_top_p(p, make_min_keep(s, n));
        case SAMPI_MIN_P: return samp_init_min_p(percent(s, 5) ? 0.0f : p, make_min_keep(s, n));
        case SAMPI_TOP_A: return samp_init_top_a(make_cutoff(s), make_min_keep(s, n));
        case SAMPI_P_LESS: return samp_init_p_less(percent(s, 50) ? 1.0f : make_share(s, false), make_min_keep(s, n));
        case SAMPI_P_LESS_NORM:
            return samp_init_p_less_norm(percent(s, 50) ? 1.0f : make_share(s, false), make_min_keep(s, n));
        case SAMPI_EPSILON: return samp_init_epsilon(make_cutoff(s), make_min_keep(s, n));
        case SAMPI_ETA: return samp_init_eta(make_cutoff(s), make_min_keep(s, n));
        case SAMPI_TOP_H: return samp_init_top_h(make_top_h(s), make_min_keep(s, n));
        case SAMPI_MIN_K: return samp_init_min_k(make_min_k(s));
        case SAMPI_XTC: return make_xtc(s, n, false);
        case SAMPI_XTC_EXCEPT: return make_xtc(s, n, true);
        case SAMPI_INFILL:
            return n > 4096 ? samp_init_softmax() : samp_init_infill(&hole_vocab); /* it takes n^2 steps */
        case SAMPI_TEMP: return samp_init_temp(make_temp(s));
        case SAMPI_TEMP_EXT:
            t = make_temp(s);
            p = percent(s, 50) ? (float)coarse(s) : PICK(s, 0.0f, 0.1f, 2.0f, 1048576.0f, 1.0f);
            return samp_init_temp_ext(t, p, PICK(s, 1.0f, 0.5f, 2.0f, 0.0f, 1000.0f));
        case SAMPI_SMOOTHING: return make_smoothing(s);
        case SAMPI_GUMBEL:
#ifdef SAMPLING_GUMBEL_DECLARED
            return samp_init_gumbel(choose(s, 2));
#endif
        case SAMPI_REPLAY: return make_replay(s, n);
        case SAMPI_MIROSTAT:
        case SAMPI_MIROSTAT_V2: return make_mirostat(s, kind, n);
        case SAMPI_ADAPTIVE_P: return make_adaptive_p(s);
        case SAMPI_WATERMARK:
        case SAMPI_SYNTHID:
        case SAMPI_SBW:
#ifdef SAMPLING_WATERMARK_DECLARED
            return make_watermark(s, kind != SAMPI_SBW);
#endif
        case SAMPI_CONSTRAINT:
        case SAMPI_TOP_P_DECAY:
        case SAMPI_TIMESTAMPS:
        case SAMPI_RAS:
        case SAMPI_DIST:
        case SAMPI_CHAIN:
        case SAMPI_CUSTOM:
        case SAMPI_GRAMMAR:
        case SAMPI_N_KINDS: break;
        default: return make_by_fields(s, kind, n);
    }
    return samp_init_dist(choose(s, 2) * (percent(s, 50) ? 1 : 0x9e3779b97f4a7c15u));
}

static samp_sampler *make_custom(source *s)
{
    custom c = { (int)below(s, N_CUSTOM), (uint32_t)choose(s, 4), -1 };
    if ((c.kind == CUSTOM_FAIL || c.kind == CUSTOM_SPOIL) && percent(s, 60)) c.kind = CUSTOM_MASK;
    return custom_make(c);
}

#ifdef SAMPLING_CONSTRAINTS_DECLARED
#include "random_constraint.h"
#ifndef CASE_CONSTRAINT
#define CASE_CONSTRAINT make_constraint
#endif
#define ADD_CONSTRAINT(chain, s, n, share) \
    if (percent(s, share)) samp_chain_add(chain, CASE_CONSTRAINT(s, n))
#else
#define ADD_CONSTRAINT(chain, s, n, share) ((void)0)
#endif

/* ------------------------------------------------------------------------------------------------- chains */

/* A device with short lists leaves their rows to the CPU: if all chains had one, most of what its tests play were. */
static bool is_rare(int kind) { return kind == SAMPI_TOP_H || kind == SAMPI_MIN_K; }

static int make_stage(source *s)
{
#ifdef SAMPLING_WATERMARK_DECLARED
    if (percent(s, CASE_WATERMARKS)) return SAMPI_SBW;
#endif
    int kind = (int)below(s, percent(s, 95) ? N_STAGES : N_KINDS);
    return is_rare(kind) && percent(s, 70) ? SAMPI_TOP_K : kind;
}

/* Most chains select with dist. */
static int make_selector(source *s)
{
#ifdef SAMPLING_WATERMARK_DECLARED
    if (percent(s, 2 * CASE_WATERMARKS)) return SAMPI_WATERMARK;
#endif
    if (percent(s, 3)) return SAMPI_REPLAY;
    return percent(s, 60) ? SAMPI_DIST : N_STAGES + (int)below(s, N_KINDS - N_STAGES);
}

/* A chain to which anything can be added in any order: under MT19937 what selects may stand in front of others. */
static samp_sampler *open_chain(void)
{
    samp_sampler *chain = samp_chain_init();
    samp_set_rng(chain, SAMP_RNG_MT19937);
    return chain;
}

/* All of it is there: as it is drawn from. */
static samp_sampler *close_chain(samp_sampler *chain)
{
    samp_set_rng(chain, SAMP_RNG_PHILOX);
    return chain;
}

/* Any samplers in any order, some of them again, chains in chains. */
static samp_sampler *make_wild_chain(source *s, size_t n, int depth)
{
    samp_sampler *chain = open_chain();
    size_t count = below(s, depth ? 4 : 8);
    bool customs = percent(s, 25);
    for (size_t i = 0; i < count; i++) {
        ADD_CONSTRAINT(chain, s, n, 15);
        if (depth < 2 && percent(s, 8))
            samp_chain_add(chain, make_wild_chain(s, n, depth + 1));
        else if (customs && percent(s, 25))
            samp_chain_add(chain, make_custom(s));
        else
            samp_chain_add(chain, make_kind(s, make_stage(s), n));
    }
    if (depth ? percent(s, 30) : percent(s, 93)) samp_chain_add(chain, make_kind(s, make_selector(s), n));
    return close_chain(chain);
}

/* Some of the usual samplers in the usual order. */
static samp_sampler *make_usual_chain(source *s, size_t n)
{
    int usual[SAMPI_N_KINDS] = { SAMPI_LOGIT_BIAS, SAMPI_LOG_SOFTMAX }, n_usual = 2;
    for (int kind = 0; kind < SAMPI_N_KINDS; kind++) {
        const sampi_traits *traits = sampi_traits_of((sampi_kind)kind);
        if (traits->letter && !(traits->flags & SAMPI_IF_NAMED)) usual[n_usual++] = kind;
    }
    samp_sampler *chain = samp_chain_init();
    unsigned share = (unsigned)PICK(s, 8.0f, 20.0f, 40.0f, 70.0f);
    bool temp_first = percent(s, 25), customs = percent(s, 10);
    if (temp_first) samp_chain_add(chain, make_kind(s, SAMPI_TEMP, n));
    for (int i = 0; i < n_usual; i++) {
        ADD_CONSTRAINT(chain, s, n, i ? 2 : 15);
#ifdef SAMPLING_WATERMARK_DECLARED
        if (i == 0 && percent(s, CASE_WATERMARKS)) samp_chain_add(chain, make_kind(s, SAMPI_SBW, n));
#endif
        if (percent(s, is_rare(usual[i]) ? share / 4 : share)) samp_chain_add(chain, make_kind(s, usual[i], n));
        if (customs && percent(s, 15)) samp_chain_add(chain, make_custom(s));
    }
    if (!temp_first && percent(s, 50)) samp_chain_add(chain, make_kind(s, SAMPI_TEMP, n));
    samp_chain_add(chain, make_kind(s, make_selector(s), n));
    return chain;
}

/* As most programs make theirs. */
static samp_sampler *make_params_chain(source *s, size_t n)
{
    static const char *const orders[] = { NULL, NULL, NULL, "kpmt", "tkp", "eskypmxt", "xt", "mt", "" };
    samp_params p = samp_default_params();
    p.seed = choose(s, 2);
    p.n_vocab = (int32_t)n;
    if (percent(s, 40)) p.top_k = make_k(s, n), p.top_k_ties = percent(s, 25);
    if (percent(s, 40)) p.top_p = make_share(s, true);
    if (percent(s, 40)) p.min_p = make_share(s, false);
    if (percent(s, 20)) p.typ_p = make_share(s, true);
    if (percent(s, 10)) p.tfs_z = make_share(s, true);
    if (percent(s, 20)) p.top_n_sigma = (float)(3.0 * coarse(s));
    if (percent(s, 10)) p.p_less = make_share(s, false);
    if (percent(s, 10)) p.p_less_norm = make_share(s, false);
    if (percent(s, 10)) p.epsilon_cutoff = make_cutoff(s);
    if (percent(s, 10)) p.eta_cutoff = make_cutoff(s);
    if (percent(s, 4)) p.top_h = make_top_h(s);
    if (percent(s, 4)) p.min_k = make_min_k(s);
    if (percent(s, 10)) p.smoothing_factor = (float)coarse(s), p.smoothing_curve = PICK(s, 1.0f, 2.5f, 4.0f);
    if (percent(s, 20)) p.xtc_probability = (float)coarse(s);
    if (percent(s, 60)) p.temp = make_temp(s);
    if (percent(s, 10)) p.dynatemp_range = (float)coarse(s);
    if (percent(s, 40)) p.penalty_repeat = 1.1f;
    if (percent(s, 20)) p.min_keep = make_min_keep(s, n);
    if (percent(s, 10)) p.adaptive_target = (float)coarse(s);
    if (percent(s, 10)) p.mirostat = 1 + (int)below(s, 2);
    p.order = orders[below(s, CASE_COUNT(orders))];
    return samp_chain_from_params(&p, NULL);
}

/* Up to three samplers; NULL: none. */
__attribute__((unused)) static samp_sampler *chain_of(samp_sampler *a, samp_sampler *b, samp_sampler *c)
{
    samp_sampler *chain = samp_chain_init();
    if (a) samp_chain_add(chain, a);
    if (b) samp_chain_add(chain, b);
    if (c) samp_chain_add(chain, c);
    return chain;
}

/* Rows of two tokens with a mass, 2^40 and that of `second`, and a share of their sum that rounded down is 2^40 - 1, or
   2^40: a prefix of that share is the first token alone, by one unit, or must have the second one too. */
typedef struct unit_cut {
    float second, share;
} unit_cut;
enum { N_UNIT_CUTS = 6 }; /* even ones leave one token, odd ones two */
static const unit_cut UNIT_CUTS[N_UNIT_CUTS] = {
    { -0x1.05b07p-1f, 0x1.4008cap-1f }, { -0x1.0d2d6p-1f, 0x1.41c936p-1f }, { -0x1.1e7c1p-1f, 0x1.45cf2ap-1f },
    { -0x1.2aeb8p-1f, 0x1.48ad6p-1f },  { -0x1.6f2cap-1f, 0x1.580d48p-1f }, { -0x1.73254p-1f, 0x1.58ed12p-1f }
};

/* Such a row, the second token's place before or behind the first one's; the others, if any, weigh nothing. Returns the
   cut, by turns with each sampler that takes a share. */
__attribute__((unused)) static samp_sampler *unit_row(size_t turn, float *row, size_t n)
{
    const unit_cut *cut = &UNIT_CUTS[turn % N_UNIT_CUTS];
    size_t first = turn * 7919 % n, second = turn / 2 % 2 ? (first + 1) % n : (first + n - 1) % n;
    for (size_t i = 0; i < n; i++) row[i] = -90.0f - (float)(i % 7);
    row[first] = 0.0f;
    row[second] = cut->second;
    return turn / 3 % 2 ? samp_init_top_p(cut->share, turn / 6 % 2) : samp_init_typical(cut->share, turn / 6 % 2);
}

static samp_sampler *make_chain(source *s, size_t n)
{
    unsigned how = (unsigned)below(s, 100);
    samp_sampler *chain;
    if (how < 45)
        chain = make_usual_chain(s, n);
    else if (how < 55)
        chain = make_params_chain(s, n);
    else if (how < 60)
        chain = percent(s, 90) ? make_kind(s, (int)below(s, N_KINDS), n) : make_custom(s);
    else
        chain = make_wild_chain(s, n, 0);
    if (percent(s, 1)) samp_chain_add(chain, samp_init_top_p(2.0f, 0)); /* a chain that carries an error */
    if (percent(s, 30)) samp_set_rng(chain, SAMP_RNG_MT19937);
    return chain;
}

/* -------------------------------------------------------------------------------------------- the players */

enum { REPORT_SIZE = 6000 };

typedef struct player {
    isa_list isa;          /* the instruction sets to play with */
    size_t longest;        /* rows have at most that many tokens */
    samp_token_data *work; /* [longest] */
    float *row;            /* [longest] */
    shelf shelf;
    uint64_t n_rows, n_tokens; /* compared so far; of them, those that gave a token, not a status */
    uint64_t n_steps, n_exact; /* how often the fast side went step by step, or took an exact sum to be sure */
    char report[REPORT_SIZE];  /* what differed */
    size_t report_len;
} player;

__attribute__((unused)) static bool player_make(player *p, isa_list isa, size_t longest)
{
    memset(p, 0, sizeof *p);
    p->isa = isa;
    p->longest = longest;
    p->work = (samp_token_data *)malloc(longest * sizeof *p->work);
    p->row = (float *)malloc(longest * sizeof *p->row);
    return p->work && p->row && shelf_make(&p->shelf, longest);
}

__attribute__((unused)) static void player_free(player *p)
{
    shelf_free(&p->shelf);
    free(p->work);
    free(p->row);
}

__attribute__((format(printf, 2, 3))) static void report(player *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(p->report + p->report_len, REPORT_SIZE - p->report_len, format, args);
    va_end(args);
    if (n > 0) p->report_len += (size_t)n;
    if (p->report_len >= REPORT_SIZE) p->report_len = REPORT_SIZE - 1;
}

/* What was played: the chain, and the row if it is short. */
static void report_case(player *p, const samp_sampler *chain, const float *row, size_t n)
{
    char text[1500];
    samp_describe(chain, text, sizeof text);
    report(p, "  %s\n  position %" PRIu64 ", n = %zu", text, samp_get_position(chain), n);
    if (n > 40) n = 0;
    for (size_t i = 0; i < n; i++) report(p, "%s %.9g", i ? "," : ", row", (double)row[i]);
    report(p, "\n");
}

/* Fill the array of candidates; what the definition says of bad rows. */
static int candidates(samp_token_data_array *cur, samp_token_data *data, const float *row, size_t n)
{
    bool any = false, bad = false;
    for (size_t i = 0; i < n; i++) {
        samp_token_data d = { (samp_token)i, row[i] + 0.0f, 0.0f };
        data[i] = d;
        bad |= !(row[i] <= FLT_MAX);
        any |= row[i] >= -FLT_MAX;
    }
    cur->data = data;
    cur->size = n;
    cur->selected = -1;
    cur->sorted = false;
    return bad ? SAMP_E_NAN : any ? SAMP_OK : SAMP_E_EMPTY;
}

/* The token, or the status, that an apply has led to. */
static samp_token chosen(const samp_token_data_array *cur, int status)
{
    if (status) return status;
    if (cur->selected < 0 || (size_t)cur->selected >= cur->size) return SAMP_E_UNSUPPORTED;
    const samp_token_data *d = &cur->data[cur->selected];
    return d->logit >= -FLT_MAX ? d->id : SAMP_E_EMPTY;
}

/* The definition. *chain moves on only if there is a token, and all accept it; *cur is what the samplers have left.
   (A refusal is told to it once more: what a custom sampler has made of the token is its own affair.) */
static samp_token step_to(player *p, samp_sampler **chain, const float *row, size_t n, bool accepts,
                          samp_token_data_array *cur)
{
    int status = samp_status(*chain, NULL);
    if (status) return status;
    if (n == 0) return SAMP_E_EMPTY;
    if ((status = candidates(cur, p->work, row, n))) return status;
    samp_sampler *next = samp_clone(*chain);
    status = sampi_life_apply_steps((sampi_sampler *)next, cur);
    const samp_token given = sampi_row_replayed(
        (sampi_sampler *)next); /* comes also if the samplers have removed it */
    samp_token token = status || given < 0 ? chosen(cur, status) : (size_t)given < n ? given : SAMP_E_RANGE;
    if (token >= 0 && accepts && (status = samp_accept(next, token))) {
        samp_accept(*chain, token);
        token = status;
    }
    samp_free(token >= 0 ? *chain : next);
    if (token >= 0) *chain = next;
    return token;
}

static samp_token step(player *p, samp_sampler **chain, const float *row, size_t n, bool accepts)
{
    samp_token_data_array cur;
    return step_to(p, chain, row, n, accepts, &cur);
}

/* Are two samplers in the same state, to the last bit? Knows the implementation's records. */
static bool same_state(const samp_sampler *a, const samp_sampler *b)
{
    const sampi_sampler *x = (const sampi_sampler *)a, *y = (const sampi_sampler *)b;
    if (x->kind != y->kind) return false;
    if (sampi_is_custom(x)) return true; /* their clones start anew */
    if (x->position != y->position || x->perf.n_accept != y->perf.n_accept) return false;
    if (bits_of(x->now.mu) != bits_of(y->now.mu) || x->now.pending != y->now.pending) return false;
    if (bits_of(x->now.pending_p) != bits_of(y->now.pending_p)) return false;
    if (x->kind == SAMPI_ADAPTIVE_P && (bits_of(x->u.adaptive.sum) != bits_of(y->u.adaptive.sum) ||
                                        bits_of(x->u.adaptive.total) != bits_of(y->u.adaptive.total)))
        return false;
#ifdef SAMPLING_CONSTRAINTS_DECLARED
    if (x->kind == SAMPI_CONSTRAINT && memcmp(&x->u.constraint.at, &y->u.constraint.at, 6 * 4) != 0)
        return false; /* up to sum */
    if (x->kind == SAMPI_TOP_P_DECAY && bits_of(x->u.decay.p) != bits_of(y->u.decay.p)) return false;
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
    if (x->kind == SAMPI_WATERMARK || x->kind == SAMPI_SYNTHID || x->kind == SAMPI_SBW) {
        const sampi_watermark *m = &x->u.mark, *o = &y->u.mark;
        if (m->count != o->count || m->generated != o->generated || m->ring.size != o->ring.size) return false;
        for (uint32_t i = 1; i <= m->ring.size; i++)
            if (sampi_mark_back(x, i) != sampi_mark_back(y, i)) return false;
    }
#endif
    if (sampi_has_mt(x) && sampi_mt_of(x)->drawn != sampi_mt_of(y)->drawn) return false;
    for (int32_t i = 0; i < samp_chain_n(a); i++)
        if (!same_state(samp_chain_get(a, i), samp_chain_get(b, i))) return false;
    samp_token prev_a[64], prev_b[64];
    size_t n = samp_prev(a, prev_a, 64);
    return n == samp_prev(b, prev_b, 64) && memcmp(prev_a, prev_b, n * sizeof *prev_a) == 0;
}

/* A band: the chain by definition, and one copy for each instruction set. */
typedef struct band {
    samp_sampler *steps, *fast[ISA_MAX];
    bool accepts; /* samp_sample, not samp_draw */
} band;

/* One row for all. False: they differ, and the report says how. */
static bool play_row(player *p, band *b, const float *row, size_t n, unsigned where, float poison)
{
    samp_token want = step(p, &b->steps, row, n, b->accepts);
    placed at = place(&p->shelf, row, n, where, poison);
    p->n_rows++;
    p->n_tokens += want >= 0;
    for (int i = 0; i < p->isa.n; i++) {
        isa_use(&p->isa, i);
        samp_token got = b->accepts ? samp_sample(b->fast[i], at.row, n) : samp_draw(b->fast[i], at.row, n);
        bool tidy = uppers_zero(), token = got == want, state = same_state(b->steps, b->fast[i]);
        bool clean = untouched(&at, row);
        if (token && state && clean && tidy) continue;
        report(p, "%s: %s %d, by definition %d%s%s%s; row placed by %u\n", p->isa.name[i],
               b->accepts ? "samp_sample" : "samp_draw", (int)got, (int)want, state ? "" : "; other state",
               clean ? "" : "; the row or its surroundings were written to", tidy ? "" : "; upper halves left",
               where);
        report_case(p, b->steps, row, n);
        return false;
    }
    return true;
}

static void band_free(player *p, band *b)
{
    for (int i = 0; i < p->isa.n; i++) {
        samp_perf_data perf = samp_perf(b->fast[i]);
        p->n_steps += perf.n_steps;
        p->n_exact += perf.n_exact;
        samp_free(b->fast[i]);
    }
    samp_free(b->steps);
}

static void band_accept(band *b, int n_fast, samp_token token)
{
    samp_accept(b->steps, token);
    for (int i = 0; i < n_fast; i++) samp_accept(b->fast[i], token);
}

/* What may happen between two draws. */
static void band_event(source *s, band *b, int n_fast, size_t n)
{
    unsigned event = (unsigned)below(s, 100);
    uint64_t position = (uint64_t)PICK(s, 0.0f, 1.0f, 4294967296.0f, 1e18f) - below(s, 2);
    if (event < 12) band_accept(b, n_fast, (samp_token)below(s, n));
    if (event >= 12 && event < 16) samp_reset(b->steps);
    if (event >= 16 && event < 20) samp_set_position(b->steps, position);
    for (int i = 0; i < n_fast; i++) {
        if (event >= 12 && event < 16) samp_reset(b->fast[i]);
        if (event >= 16 && event < 20) samp_set_position(b->fast[i], position);
        if (event >= 20 && event < 23) samp_reserve(b->fast[i], n);
        if (event < 23 || event >= 28) continue;
        samp_sampler *copy = samp_clone(b->fast[i]);
        samp_free(b->fast[i]);
        b->fast[i] = copy;
    }
    b->accepts = event < 80;
}

/* The rows of a case, over one chain. */
static bool play_rows(player *p, source *s, band *b, size_t n, int steps)
{
    bool same = true;
    for (int i = 0; i < steps && same; i++) {
        if (i == 0 || percent(s, 40)) {
            const size_t other = i > 0 && percent(s, 30) ? make_length(s, p->longest) : n;
            if (!sampi_life_is_short((const sampi_sampler *)b->steps, other)) n = other;
            make_row(s, p->row, n);
        }
        float poison = PICK(s, FLT_MAX, NAN, INFINITY, 1e9f, 0.0f);
        same = play_row(p, b, p->row, n, (unsigned)below(s, 24), poison);
        if (i + 1 < steps && same) band_event(s, b, p->isa.n, n);
        if (!same) report(p, "  row %d of %d\n", i + 1, steps);
    }
    return same;
}

/* One case: a chain with a past, and up to eight rows of about n tokens. */
__attribute__((unused)) static bool play(player *p, source *s, size_t n, int max_steps)
{
    band b = { make_chain(s, n), { NULL }, percent(s, 80) };
    int steps = percent(s, 50) ? 1 : 1 + (int)below(s, (uint64_t)max_steps);
    size_t prompt = percent(s, 40) ? below(s, 24) : 0;
    for (size_t i = 0; i < prompt; i++)
        samp_accept(b.steps, (samp_token)below(s, n < 4 ? n : percent(s, 50) ? 4 : n));
    for (int i = 0; i < p->isa.n; i++) b.fast[i] = samp_clone(b.steps);
    bool same = play_rows(p, s, &b, n, steps);
    band_free(p, &b);
    return same;
}

#endif /* CASE_H */
