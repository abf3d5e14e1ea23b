/* ==================================================================================================== >>math
   The arithmetic that DETERMINISM (in the header's first comment) promises: exp, ln, powers, the weight of a token, the
   envelope of a draw, and integers that have the order of the floats they encode. No function has a state. The
   functions use +, *, /, sqrt and fma of IEEE doubles and integers, and no libm for exp or ln, so they give the same
   bits on every machine. All code that decides a token computes with these functions. */

#define SAMPI_TEMP_MIN (1.0f / (1 << 20))
#define SAMPI_TEMP_MAX ((float)(1 << 20))
#define SAMPI_LOG2E    1.4426950408889634074
#define SAMPI_LN2      0.69314718055994530942
#define SAMPI_MAX_WEIGHT ((uint64_t)1 << 40) /* the weight of the maximum */
/* 2^52: for 0 <= x < 2^51, the low bits of the double x + 2^52 are round(x) */
#define SAMPI_INT 4503599627370496.0
/* 1.5 * 2^52: like SAMPI_INT for a signed x; round(x) is the difference from this constant's bits */
#define SAMPI_SHIFT 6755399441055744.0

/* Returns a + b rounded, and writes the exact rounding error to *error (Knuth's two-sum). */
static inline double sampi_two_sum(double a, double b, double *error)
{
    double sum = a + b, rest = sum - a;
    *error = (a - (sum - rest)) + (b - rest);
    return sum;
}

/* fma in software, for platforms whose fma is wrong in the last bits (mingw-w64; glibc on MIPS, at least under qemu) or
   unknown (compilers other than gcc and clang). It is compiled everywhere, so that a test can compare both. Method:
   Boldo and Melquiond 2008, "Emulation of a FMA and correctly rounded sums": an exact product, two exact sums, and
   rounding to odd before the last sum. The result is right as long as no part overflows or is subnormal. */
static inline double sampi_fma_by_parts(double a, double b, double c)
{
    double a_up = a * 134217729.0, b_up = b * 134217729.0, error, sum_error, rest; /* Dekker's split by 2^27 + 1 */
    double a1 = a_up - (a_up - a), a2 = a - a1, b1 = b_up - (b_up - b), b2 = b - b1;
    double product = a * b, product_error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
    double small = sampi_two_sum(c, product_error, &error), sum = sampi_two_sum(product, small, &sum_error);
    double z = sampi_two_sum(error, sum_error, &rest);
    uint64_t u = sampi_bits(z);
    if (rest != 0.0 && !(u & 1)) z = sampi_from_bits((rest > 0.0) == (z > 0.0) ? u + 1 : u - 1);
    return sum + z;
}

#if (defined(_WIN32) && !defined(__FMA__) && !defined(__aarch64__)) || \
    (defined(__mips__) && !defined(__FP_FAST_FMA)) || !SAMPI_GNU
#define SAMPI_FMA(a, b, c) sampi_fma_by_parts(a, b, c)
#else
#define SAMPI_FMA(a, b, c) fma(a, b, c)
#endif

/* Return product + x, with the product and the sum each rounded. On a GPU the sum is written as fma(product, 1, x),
   because ptxas (the assembler for NVIDIA's GPUs) would fuse a plain product and sum into one fma. */
#if defined(SAMPLING_GPU_H) && defined(_OPENMP)
static float sampi_add_to_product(float product, float x) { return fmaf(product, 1.0f, x); }
static double sampi_add_to_product64(double product, double x) { return fma(product, 1.0, x); }
#else /* a plain sum elsewhere, because some platforms' fma is not exact */
static float sampi_add_to_product(float product, float x) { return product + x; }
static double sampi_add_to_product64(double product, double x) { return product + x; }
#endif

/* The coefficients of sampi_exp2_poly, the polynomial that approximates 2^f for f in [-1/2, 1/2]. Its relative error is
   below 1e-12 (9.4e-13). Its value at 0 is 1, and its value at 1/2 is twice that at -1/2. So the pieces of 2^x for
   neighbouring integer parts of x meet, and a token's weight grows with its logit. */
#define SAMPI_E1 0.693147180546408
#define SAMPI_E2 0.24022650698085157
#define SAMPI_E3 0.05550410942820459
#define SAMPI_E4 0.009618128656145157
#define SAMPI_E5 0.0013333447517466927
#define SAMPI_E6 0.0001540377622604349
#define SAMPI_E7 1.5311115691643975e-05
#define SAMPI_E8 1.319342516676227e-06

SAMPI_INLINE double sampi_exp2_poly(double f)
{
    double p = SAMPI_E8;
    p = SAMPI_FMA(p, f, SAMPI_E7);
    p = SAMPI_FMA(p, f, SAMPI_E6);
    p = SAMPI_FMA(p, f, SAMPI_E5);
    p = SAMPI_FMA(p, f, SAMPI_E4);
    p = SAMPI_FMA(p, f, SAMPI_E3);
    p = SAMPI_FMA(p, f, SAMPI_E2);
    p = SAMPI_FMA(p, f, SAMPI_E1);
    return SAMPI_FMA(p, f, 1.0);
}

/* Returns 2^40 * exp(l - max) as a double. The difference l - max is at most 0 nats; it is clamped at -700. */
SAMPI_INLINE double sampi_exp(float max, float l)
{
    double d = (double)l - (double)max;
    d = d > -700.0 ? d : -700.0;
    double s = SAMPI_FMA(d, SAMPI_LOG2E, SAMPI_SHIFT); /* n = round(d / ln 2) in the low bits of s */
    double f = SAMPI_FMA(d, SAMPI_LOG2E, -(s - SAMPI_SHIFT));
    return sampi_exp2_poly(f) * sampi_from_bits((sampi_bits(s) + 1023 + 40) << 52);
}

/* Returns the weight of a token with logit l, an integer: round(2^40 * exp(l - max)). The weight is 2^40 for the
   maximum, 0 from about 28.4 nats below the maximum, and 0 for a masked token. */
SAMPI_INLINE uint64_t sampi_weight(float max, float l)
{
    return sampi_bits(SAMPI_FMA(1.0, sampi_exp(max, l), SAMPI_INT)) - sampi_bits(SAMPI_INT);
}

/* Returns an integer for each float, in the same order: a < b exactly if key(a) < key(b). Both zeros have the key 0.
   sampi_unkey is the inverse. */
static int32_t sampi_key(float x)
{
    uint32_t i, sign;
    memcpy(&i, &x, 4);
    sign = 0u - (i >> 31);
    return (int32_t)(((i & INT32_MAX) ^ sign) - sign); /* no branch, because signs are hard to predict */
}

/* Returns the key for sorting floats in descending order: the largest float has the smallest key. */
static uint32_t sampi_falling_key(float x) { return (uint32_t)INT32_MAX - (uint32_t)sampi_key(x); }

static float sampi_unkey(int32_t key)
{
    uint32_t sign = 0u - ((uint32_t)key >> 31), i = (((uint32_t)key ^ sign) - sign) | (sign & 0x80000000u);
    float x;
    memcpy(&x, &i, 4);
    return x;
}

/* Returns the smallest float that satisfies a monotone predicate `holds`: if x satisfies it, every larger float does.
   The search halves the interval between two keys (integers that order as their floats do, sampi_key). The float of
   `out` does not satisfy the predicate. The float of `in` does, or it is the result if no smaller float does. */
SAMPI_INLINE float sampi_least_in(bool (*holds)(const void *, float), const void *what, int64_t out, int64_t in)
{
    while (in - out > 1) {
        int64_t mid = (out + in) / 2;
        if (holds(what, sampi_unkey((int32_t)mid)))
            in = mid;
        else
            out = mid;
    }
    return sampi_unkey((int32_t)in);
}

#define SAMPI_NO_KEY ((int64_t)sampi_key(-FLT_MAX) - 1) /* one less than the key of -FLT_MAX, the smallest logit */

/* Returns the smallest float of all that satisfies the monotone predicate `holds`, or +infinity if no float does. The
   search starts at `guess`. */
static float sampi_least(bool (*holds)(const void *, float), const void *what, float guess)
{
    int64_t lo = SAMPI_NO_KEY, hi = sampi_key(INFINITY), at = sampi_key(guess);
    for (int64_t step = 2; step < 1 << 30; step *= 4) { /* the result is nearly always next to the guess */
        int64_t below = at - step, above = at + step;
        if (below > lo && !holds(what, sampi_unkey((int32_t)below))) lo = below;
        if (above < hi && above > lo && holds(what, sampi_unkey((int32_t)above))) hi = above;
    }
    return sampi_least_in(holds, what, lo, hi);
}

/* sampi_envelope returns an upper bound q in [1, 2^26] of the weight w of a token with logit l: q * 2^14 >= w. Let x =
   (max - l) / ln 2, with the integer part n and the fraction f. Then q is the chord 2^-n (1 - f / 2) in units of 2^-26,
   rounded up. The chord lies above 2^-x by at most 6.2 %. x is computed 2^-20 (relative) too small, which covers the
   rounding of both f32 steps. If x is 64 or more, or the token is masked, q is 0, because w is 0 there. */
#define SAMPI_ENVELOPE_UNIT 48408768.0f   /* log2 e (1 - 2^-20), in units of 2^-25 */
#define SAMPI_FAR           2147483648.0f /* 64 octaves (x = 64) in units of 2^-25 */

SAMPI_INLINE float sampi_octaves(float max, float l) { return (max - l) * SAMPI_ENVELOPE_UNIT; }

SAMPI_INLINE uint32_t sampi_envelope(float max, float l)
{
    float x = sampi_octaves(max, l);
    if (!(x < SAMPI_FAR)) return 0;
    uint32_t i = (uint32_t)(int32_t)x, n = i >> 25;
    return ((((uint32_t)1 << 26) - 1 - (i & 0x1FFFFFFu)) >> (n < 31 ? n : 31)) + 1;
}

/* Is the envelope of the logit x * r not 0? `what` points to two floats { r, max }. */
static bool sampi_is_near(const void *what, float x)
{
    const float *of = (const float *)what;
    return sampi_octaves(of[1], sampi_roundf(x * of[0])) < SAMPI_FAR;
}

/* Returns the smallest x >= floor such that the envelope of the logit x * r is not 0. Kernels skip all logits below
   it. */
static SAMPI_CALLED float sampi_envelope_floor(float r, float max, float floor)
{
    const float of[2] = { r, max };
    if (floor > -FLT_MAX && sampi_is_near(of, floor)) return floor;
    float least = sampi_least(sampi_is_near, of, (max - SAMPI_FAR / SAMPI_ENVELOPE_UNIT) / r);
    return least > floor ? least : floor;
}

/* Returns the logit that the sampler adaptive_p (llama.cpp's, which prefers tokens whose probability is near a target)
   gives a token of probability p. `aim` is the target. The curve is llama.cpp's: width 0.3, peak 5, steepness 10. */
static float sampi_adaptive_p_logit(float p, float aim)
{
    float x = sampi_roundf(fabsf(p - aim) * (1.0f / 0.3f));
    return 5.0f - x * 10.0f * x / (1.0f + x);
}

/* Returns 2^t with a relative error of 1e-12. t is clamped to [-1000, 1000]. */
static double sampi_exp2(double t)
{
    t = t < 1000.0 ? (t > -1000.0 ? t : -1000.0) : 1000.0;
    double s = t + SAMPI_SHIFT;
    return sampi_exp2_poly(t - (s - SAMPI_SHIFT)) * sampi_from_bits((sampi_bits(s) + 1023) << 52);
}

/* Returns ln x for a normal x > 0, with an error of 1e-15. With x = 2^n m, m in [1/sqrt 2, sqrt 2], and s = (m - 1) /
   (m + 1), ln x = n ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...). */
static double sampi_ln(double x)
{
    uint64_t u = sampi_bits(x);
    double n = (double)((int)(u >> 52) - 1023);
    double m = sampi_from_bits((u & 0xFFFFFFFFFFFFFu) | ((uint64_t)1023 << 52));
    if (m > 1.4142135623730951) m *= 0.5, n += 1.0;
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 19.0;
    for (int k = 17; k >= 3; k -= 2) p = SAMPI_FMA(p, z, 1.0 / k);
    return SAMPI_FMA(n, SAMPI_LN2, SAMPI_FMA(s * z * 2.0, p, s * 2.0));
}

static double sampi_log2(double x) { return sampi_round(sampi_ln(x) * SAMPI_LOG2E); }

/* Returns x^y for x >= 0; 0^0 is 1. */
static double sampi_pow(double x, double y)
{
    if (y == 0.0) return 1.0;
    if (x <= 0.0) return 0.0;
    return sampi_exp2(sampi_round(y * sampi_log2(x)));
}

/* Returns x^n for n >= 0, by repeated squaring. */
static double sampi_powi(double x, int32_t n)
{
    double r = 1.0;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}
