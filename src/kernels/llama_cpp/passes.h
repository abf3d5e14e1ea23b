/* ---- the kernel of llama.cpp's arithmetic, in vectors ----
   The kernel of kernels/llama_cpp/contract.h, compiled once for each set of 8 or 16 lanes. It computes the exponential
   of glibc and musl, bit for bit: in double, rounded to float at the end. */

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
SAMPI_T static void V(expf)(const float *x, size_t n, float max, float *e)
{
    SAMPI_TIDY
    const V(d) by = V(alld)(32.0 * SAMPI_LOG2E), shift = V(alld)(SAMPI_SHIFT), one = V(alld)(1.0);
    const V(d) c3 = V(alld)(SAMPI_EXPF_3), c2 = V(alld)(SAMPI_EXPF_2), c1 = V(alld)(SAMPI_EXPF_1);
    const V(f) odd = V(all)(SAMPI_EXPF_ODD), next = V(all)(SAMPI_EXPF_END);
    V(d) d[4], s[4], f[4], y[4];
    V(f) l[2];
    V(m) asks[2];
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        for (int k = 0; k < 2; k++) {
            l[k] = V(max)(l[k] - V(all)(max), V(all)(-110.0f));
            asks[k] = V(lt_and)(V(ge)(l[k], odd), l[k], next);
        }
        SAMPI_FOUR d[k] = V(widen)(l[k / 2], k % 2);
        SAMPI_FOUR s[k] = V(fmad)(d[k], by, shift);
        SAMPI_FOUR f[k] = V(fmad)(d[k], by, shift - s[k]);
        SAMPI_FOUR s[k] = (V(d))(V(lookup)(SAMPI_EXPF_TABLE, (V(q))s[k]) + ((V(q))s[k] << 47));
        SAMPI_FOUR y[k] = V(fmad)(c1, f[k], one);
        SAMPI_FOUR y[k] = V(fmad)(V(fmad)(c3, f[k], c2), f[k] * f[k], y[k]) * s[k];
        for (int k = 0; k < 2; k++) V(store)(e + i + SAMPI_W * k, V(narrow)(y[2 * k], y[2 * k + 1]));
        if (__builtin_expect(V(any)(asks[0] | asks[1]), 0)) V(ask)((const float *)l, e + i, 2 * SAMPI_W);
    }
}

#endif
