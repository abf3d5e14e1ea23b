/* ================================================================================================ >>dispatch
   Chooses the set of kernels that is used: one set for each instruction set. A table has all sets that are compiled,
   the best last. At the first use the last set whose instructions the CPU has is chosen, for the whole process. Before
   that, the arithmetic of every set that the CPU can run must give known results, because compiler flags may have
   changed it. If one set fails, no set is used, and samplers carry SAMP_E_UNSUPPORTED.

   The choice is a global (sampi_chosen). samp_isa_force may change it between any two tokens, because all sets give the
   same tokens. A draw uses the set with which it began (sampi_row_open_row). */

/* The initialiser of a set of kernels, by its instruction set. `long` names the set whose expf this set uses: sets of
   four lanes have no expf, because libm's is as fast. */
#define SAMPI_KERNELS(name, isa, long) \
    { \
        name, sampi_fetch_##isa, sampi_maxima_##isa, sampi_sweep_##isa, sampi_moments_##isa, sampi_fold_##isa, \
            sampi_collect_##isa, sampi_pick_##isa, sampi_count_##isa, sampi_weights_##isa, sampi_probs_##isa, \
            sampi_mass_##isa, sampi_sums_##isa, sampi_envelope_##isa, sampi_scale_##isa, sampi_adapt_##isa, \
            sampi_survey_##isa, \
            sampi_put_##isa SAMPI_KERNEL_EXPS(isa, long) SAMPI_KERNEL_RACE(isa) SAMPI_KERNEL_MARKS(isa) \
    }
#ifndef SAMP_NO_MT19937
#define SAMPI_KERNEL_EXPS(isa, long) , sampi_expf_##long
#else
#define SAMPI_KERNEL_EXPS(isa, long)
#endif
#ifdef SAMPLING_GUMBEL_DECLARED
#define SAMPI_KERNEL_RACE(isa) , sampi_race_##isa
#else
#define SAMPI_KERNEL_RACE(isa)
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
#define SAMPI_KERNEL_MARKS(isa) , sampi_marks_##isa, sampi_tint_##isa
#else
#define SAMPI_KERNEL_MARKS(isa)
#endif

/* All sets of kernels that are compiled. The best set is the last. */
static const sampi_kernels SAMPI_KERNEL_TABLE[] = {
    SAMPI_KERNELS("scalar", scalar, scalar),
#if SAMPI_GENERIC
    SAMPI_KERNELS("generic", generic, scalar),
#endif
#if SAMPI_SSE2
    SAMPI_KERNELS("sse2", sse2, scalar),
#endif
#if SAMPI_AVX2
    SAMPI_KERNELS("avx2", avx2, avx2),
#endif
#if SAMPI_AVX512
    SAMPI_KERNELS("avx512", avx512, avx512),
#endif
#if SAMPI_NEON
    SAMPI_KERNELS("neon", neon, scalar),
#endif
#if SAMPI_WASM
    SAMPI_KERNELS("wasm", wasm, scalar),
#endif
};
#define SAMPI_N_KERNELS ((int)(sizeof SAMPI_KERNEL_TABLE / sizeof SAMPI_KERNEL_TABLE[0]))

/* The set in use if no set may be used. Samplers then carry SAMP_E_UNSUPPORTED (samp_status), and the random-sample
   operator returns it. */
static const sampi_kernels SAMPI_REFUSED = SAMPI_KERNELS("none", scalar, scalar);

/* Does this CPU have all features that the set's macro SAMPI_T names, and does the operating system save its
   registers? */
static SAMPI_COLD bool sampi_cpu_has(const char *name)
{
#if SAMPI_AVX2 || SAMPI_AVX512
    const unsigned basic = 1u << 12 | 1u << 23 | 1u << 27 | 1u << 28 |
                           1u << 29;                                   /* leaf 1 ecx: fma popcnt osxsave avx f16c */
    const unsigned avx2 = 1u << 3 | 1u << 5 | 1u << 8;                 /* leaf 7 ebx: bmi avx2 bmi2 */
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* leaf 7 ebx: f dq bw vl */
    unsigned a, b, c, d, low, high;
    if (strcmp(name, "avx2") != 0 && strcmp(name, "avx512") != 0)
        return true; /* the compiler may use these sets anyway */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* xmm ymm, opmask zmm */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & avx2) != avx2 || (low & 0x06) != 0x06) return false;
    return !strcmp(name, "avx2") || ((b & avx512) == avx512 && (low & 0xE6) == 0xE6);
#else
    (void)name;
    return true;
#endif
}

/* Fills a row for the test of a set's arithmetic. The row makes the kernels take all their paths: a whole tile, a
   shorter one, weights of all sizes, masked tokens. Element 100 has the bits `odd`. The values are volatile, or the
   compiler could compute the test's result itself, without the effect of its flags. */
#define SAMPI_TRY 300
static SAMPI_COLD void sampi_try_row(float *x, uint32_t odd)
{
    volatile float first = 1.5f;
    volatile uint32_t bits[3] = { 0xFF800000u, odd, 0xFF800000u };
    for (int i = 0; i < SAMPI_TRY; i++) x[i] = first - (float)(i * 37 % SAMPI_TRY) * 0.09375f;
    for (int i = 0; i < 3; i++) x[99 + i] = sampi_float_of(bits[i]);
}

/* Does the set find a NaN in rows of each dtype, with a mask and without, and in an array of candidates? The test
   checks bits, because with some flags comparisons do not see a NaN. */
static SAMPI_COLD bool sampi_sees_nan(const sampi_kernels *k)
{
    const volatile uint64_t nan[4] = { 0x7FC00000u, 0x7E00u, 0x7FC0u, 0x7FF8000000000000u };
    uint64_t row[SAMPI_TRY];
    uint32_t mask[SAMPI_TRY / 32 + 1], bits;
    float line[2 * SAMPI_LINE], max;
    bool seen = true;
    memset(mask, 0xFF, sizeof mask);
    for (int i = 0; i < 8; i++) {
        uint64_t odd = nan[i / 2];
        uint32_t word = (uint32_t)odd;
        uint16_t half = (uint16_t)odd;
        size_t size = SAMPI_SIZE_OF(i / 2);
        memset(row, 0, sizeof row);
        memcpy((char *)row + 100 * size, size == 8 ? (void *)&odd : size == 4 ? (void *)&word : (void *)&half, size);
        max = k->maxima(row, (samp_dtype)(i / 2), i % 2 ? mask : NULL, SAMPI_TRY, line);
        memcpy(&bits, &max, 4);
        seen &= (bits & 0x7FFFFFFFu) > 0x7F800000u;
    }
    samp_token_data one = { 0, sampi_float_of((uint32_t)nan[0]), 0.0f };
    samp_token_data_array cur = { &one, 1, -1, false };
    return seen && sampi_check_with(k, &cur) == SAMP_E_NAN;
}

/* Returns a hash of results that are defined to the last bit. The hash is SAMPI_TRIED if the arithmetic is right. The
   arithmetic is wrong with compiler flags that have no macro, an fma that rounds twice, or another rounding mode than
   to nearest. */
#define SAMPI_TRIED 0x8F963966C95D40A1u

static SAMPI_COLD uint64_t sampi_try(const sampi_kernels *k)
{
    float x[SAMPI_TRY], p[SAMPI_TRY + SAMPI_LINE];
    double e[SAMPI_TRY + SAMPI_LINE];
    uint64_t w[SAMPI_TRY + SAMPI_LINE], tile[2], total, hash = 0;
    sampi_sums sums = { 1.5f, 0, 0, 0, 0 };
    double z, s;
    sampi_try_row(x, 0);
    total = k->weights(x, SAMPI_TRY, 1.5f, w, e);
    k->probs(x, e, SAMPI_TRY, 1.5f, 3e12, p);
    k->sums(x, SAMPI_TRY, 0.75f, 1.125f, -5.0f, true, &sums);
    k->envelope(x, SAMPI_TRY, 0.75f, 1.125f, -20.0f, tile);
    k->sweep(x, SAMPI_TRY, 1.0f, 1.5f, &z, &s);
    for (int i = 0; i < SAMPI_TRY; i++) {
        double y = 1.0 + (double)w[i] / (double)SAMPI_MAX_WEIGHT, power = sampi_masked(x[i]) ? 1.0 : (double)x[i];
        sampi_mix(&hash, w[i] ^ sampi_bits((double)p[i]));
        sampi_mix(&hash, sampi_bits(sampi_pow(y, power)) ^ sampi_bits(SAMPI_FMA(y, y, -(y * y))));
    }
    sampi_mix(&hash, tile[0] ^ tile[1] << 32 ^ (fabs(z * (double)SAMPI_MAX_WEIGHT / (double)total - 1.0) < 2e-6));
    sampi_mix(&hash, sums.z ^ sums.s << 1 ^ sums.above << 2 ^ sums.n);
    return hash;
}

/* Do all sets that this CPU can run give the right results? If one does not, no set is used, because a flag that breaks
   one set may have broken more than this test sees. The test takes some ten microseconds for each set. */
static SAMPI_COLD bool sampi_all_sound(void)
{
    for (int i = 0; i < SAMPI_N_KERNELS; i++) {
        const sampi_kernels *k = &SAMPI_KERNEL_TABLE[i];
        if (sampi_cpu_has(k->name) && (sampi_try(k) != SAMPI_TRIED || !sampi_sees_nan(k))) return false;
    }
    return true;
}

/* The kernels in use, a global; NULL until the first use. Threads that choose at the same time choose the same set. */
static const sampi_kernels *sampi_chosen;

static SAMPI_COLD const sampi_kernels *sampi_choose(void)
{
    const sampi_kernels *best = &SAMPI_REFUSED;
    bool sound = sampi_all_sound();
    for (int i = 0; i < SAMPI_N_KERNELS && sound; i++)
        if (sampi_cpu_has(SAMPI_KERNEL_TABLE[i].name)) best = &SAMPI_KERNEL_TABLE[i];
    SAMPI_STORE(&sampi_chosen, best);
    return best;
}

/* Returns the kernels in use. After the first use the function takes a load and a branch. */
static const sampi_kernels *sampi_use(void)
{
    const sampi_kernels *k = SAMPI_LOAD(&sampi_chosen);
    return k ? k : sampi_choose();
}

/* Returns SAMP_OK, or SAMP_E_UNSUPPORTED if no set of kernels may be used. */
static int sampi_use_status(void) { return sampi_use() == &SAMPI_REFUSED ? SAMP_E_UNSUPPORTED : SAMP_OK; }

SAMP_API SAMPI_COLD const char *samp_isa_name(void) { return sampi_use()->name; }

SAMP_API SAMPI_COLD const char *samp_isa_list(int i)
{
    if (!sampi_all_sound()) return NULL;
    for (int k = 0; k < SAMPI_N_KERNELS; k++)
        if (sampi_cpu_has(SAMPI_KERNEL_TABLE[k].name) && i-- == 0) return SAMPI_KERNEL_TABLE[k].name;
    return NULL;
}

/* With the name NULL the choice is cleared, and the next use makes it again. */
SAMP_API SAMPI_COLD int samp_isa_force(const char *name)
{
    if (!name) {
        SAMPI_STORE(&sampi_chosen, (const sampi_kernels *)NULL);
        return SAMP_OK;
    }
    for (int i = 0; i < SAMPI_N_KERNELS; i++) {
        if (strcmp(SAMPI_KERNEL_TABLE[i].name, name) != 0 || !sampi_cpu_has(name) || !sampi_all_sound()) continue;
        SAMPI_STORE(&sampi_chosen, &SAMPI_KERNEL_TABLE[i]);
        return SAMP_OK;
    }
    return SAMP_E_UNSUPPORTED;
}
