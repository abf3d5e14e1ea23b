/* ---- kernels of llama.cpp's arithmetic, in vectors ----
   The two kernels of kernels/llama_cpp/contract.h, compiled once for each set of 8 or 16 lanes. They compute the
   exponential of glibc and musl, bit for bit: in double, rounded to float at the end. */

#if SAMPI_W > 4
/* Calls libm for the one number for which versions of libm differ. The test is an interval, not ==, because with == the
   compiler would compute the result itself. The function is not inlined, because it is rarely called. */
static SAMPI_CALLED void V(ask)(const float *l, float *e, int n)
{
    for (int k = 0; k < n; k++)
        if (l[k] >= SAMPI_EXPF_ODD && l[k] < SAMPI_EXPF_END) e[k] = expf(l[k]);
}

/* The published algorithm: e^x = 2^(n / 32) 2^(f / 32), n an integer and f in [-1/2, 1/2]; the first factor comes from
   a table, the second is a polynomial of f. All is computed in double and rounded to float at the end. For x below -104
   the result is 0. */
SAMPI_T static double V(expf)(const float *x, size_t n, float t, float max, float *e)
{
    SAMPI_TIDY
    const V(d) by = V(alld)(32.0 * SAMPI_LOG2E), shift = V(alld)(SAMPI_SHIFT), one = V(alld)(1.0);
    const V(d) c3 = V(alld)(SAMPI_EXPF_3), c2 = V(alld)(SAMPI_EXPF_2), c1 = V(alld)(SAMPI_EXPF_1);
    const V(f) low = V(all)(-FLT_MAX), odd = V(all)(SAMPI_EXPF_ODD), next = V(all)(SAMPI_EXPF_END);
    V(d) sum = V(alld)(0.0), d[4], s[4], f[4], y[4];
    V(f) l[2], rounded;
    V(m) asks[2];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        for (int k = 0; k < 2; k++) {
            V(f) finite = V(min)(V(max)(l[k] / V(all)(t), low), V(all)(FLT_MAX));
            if (t != 1.0f) l[k] = V(select)(V(ge)(l[k], low), finite, l[k]);
            l[k] = V(max)(l[k] - V(all)(max), V(all)(-110.0f));
            asks[k] = V(lt_and)(V(ge)(l[k], odd), l[k], next);
        }
        SAMPI_FOUR d[k] = V(widen)(l[k / 2], k % 2);
        SAMPI_FOUR s[k] = V(fmad)(d[k], by, shift);
        SAMPI_FOUR f[k] = V(fmad)(d[k], by, shift - s[k]);
        SAMPI_FOUR s[k] = (V(d))(V(lookup)(SAMPI_EXPF_TABLE, (V(q))s[k]) + ((V(q))s[k] << 47));
        SAMPI_FOUR y[k] = V(fmad)(c1, f[k], one);
        SAMPI_FOUR y[k] = V(fmad)(V(fmad)(c3, f[k], c2), f[k] * f[k], y[k]) * s[k];
        for (int k = 0; k < 2; k++) {
            rounded = V(narrow)(y[2 * k], y[2 * k + 1]);
            V(store)(e + i + SAMPI_W * k, rounded);
            sum += V(widen)(rounded, 0) + V(widen)(rounded, 1);
        }
        if (__builtin_expect(V(any)(asks[0] | asks[1]), 0)) V(ask)((const float *)l, e + i, 2 * SAMPI_W);
    }
    return V(hsum)(sum);
}

#endif

SAMPI_T static size_t V(add_terms)(const float *x, size_t n, const sampi_float_terms *c, float from, double *sum)
{
    SAMPI_TIDY
    const V(f) start = V(all)(from), half = V(all)(sampi_half_ulp(from)), max = V(all)(c->max), a = V(all)(c->a),
               b = V(all)(c->b), most = V(all)(c->most), none = V(all)(0.0f);
    V(f) part[4] = { none, none, none, none }, l, d, p;
    V(d) sums[2] = { V(alld)(0.0), V(alld)(0.0) };
    V(t) doubts = { 0 };
    for (size_t i = 0; i < n; i += SAMPI_W) {
        V(take)(x + i, n - i, 1, &l);
        V(near_exps)(&l, max, 1, &d, &p);
        p = V(keep)(V(ge)(most, l), p * V(fma)(-d, b, a));
        d = (start + p) - start;
        V(f) rest = p - d;
        V(m) doubt = V(ge)(V(fma)(p, V(all)(SAMPI_TERM_DOUBT), V(max)(rest, -rest)), half);
        doubts = V(tally)(doubts, doubt, V(ge)(V(all)(-1.0f), none));
        part[0] += d;
    }
    V(flush)(part, sums);
    *sum += V(hsum)(sums[0]);
    return V(total)(doubts);
}
