/* ---- operations that several sets share ----
   The operations of kernels/vectors.h that the file of an instruction set does not have, in the compiler's own vectors:
   first by the number of lanes, then for all sets, then for the sets whose comparisons give a vector. This file is
   compiled once for each set. */

/* ---- vectors of four ---- */
#if SAMPI_W == 4
SAMPI_OP V(f) V(rest)(const float *x, size_t left, size_t at) { (void)left, (void)at; return V(load)(x); }
SAMPI_OP void V(tidy)(char *unused) { (void)unused; }
SAMPI_OP uint64_t V(hsumq)(V(q) v) { return v[0] + v[1]; }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return (V(f))(((V(m))a & m) | ((V(m))b & ~m)); }
#if !SAMPI_SSE2 && !SAMPI_NEON
SAMPI_OP bool V(any)(V(m) m) { return (((V(q))m)[0] | ((V(q))m)[1]) != 0; }
SAMPI_OP V(q) V(even)(V(q) a, V(q) b) { return (a & V(allq)(0xFFFFFFFFu)) * (b & V(allq)(0xFFFFFFFFu)); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))(a != a) | (V(m))(b != b); }
/* Computes a >> n, an arithmetic shift, as ~(u >> n) with u = ~a, by a product. u has 26 bits. All but two of them fit
   a float, whose product with a power of two is cut off at the right bit. */
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n)
{
    V(i) u = ~a, none = (V(i))(n == 0), one = (V(i))(n == 1);
    V(f) power = (V(f))((V(alli)(127 + 2) - n) << 23), cut = __builtin_convertvector((V(m))(u >> 2), V(f)) * power;
    return ~(((V(i))__builtin_convertvector(cut, V(m)) & ~(none | one)) | (u >> 1 & one) | (u & none));
}
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b)
    { return V(max)(SAMPI_SHUFFLE(a, b, 0, 4, 1, 5), SAMPI_SHUFFLE(a, b, 2, 6, 3, 7)); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b)
    { return V(max)(SAMPI_SHUFFLE(a, b, 0, 1, 4, 5), SAMPI_SHUFFLE(a, b, 2, 3, 6, 7)); }
#endif
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i)
    { return (V(m))((V(alli)(mask[i / 32] >> (i % 32)) & (V(alli)(1) << V(loadi)(SAMPI_STEP))) != 0); }
SAMPI_OP V(q) V(spread)(V(m) m, int half)
    { return (V(q))(half ? SAMPI_SHUFFLE(m, m, 2, 2, 3, 3) : SAMPI_SHUFFLE(m, m, 0, 0, 1, 1)); }
SAMPI_OP V(f) V(field)(const V(f) * d, int w)
{
    return w ? SAMPI_SHUFFLE(SAMPI_SHUFFLE(d[0], d[1], 1, 1, 4, 4), SAMPI_SHUFFLE(d[1], d[2], 3, 3, 6, 6), 0, 2, 4, 6)
             : SAMPI_SHUFFLE(d[0], SAMPI_SHUFFLE(d[1], d[2], 2, 2, 5, 5), 0, 3, 4, 6);
}
SAMPI_OP V(f) V(zip)(V(f) a, V(f) b, int half)
    { return half ? SAMPI_SHUFFLE(a, b, 2, 6, 3, 7) : SAMPI_SHUFFLE(a, b, 0, 4, 1, 5); }
/* Each lane is written to the index of the next kept lane, and overwritten if it is not kept itself. */
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    size_t n = 0;
    for (int k = 0; k < 4; k++) {
        x_out[n] = v[k];
        id_out[n] = (int32_t)id[k];
        n += in[k] != 0;
    }
    return n;
}
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b) { (void)b; return a; }
#if !SAMPI_NEON
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return a * b + c; }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return a * b + c; }
/* Converts half floats. A half below 2^-14 is converted by subtracting 2^-14 again; exponent 31 (infinity, NaN) becomes
   255. */
SAMPI_OP V(f) V(f16)(const uint16_t *p)
{
    const V(i) bias = V(alli)(112u << 23), one = V(alli)(113u << 23);
    V(i) h = V(u16)(p), u = (h & 0x7FFF) << 13, tiny = (V(i))((V(f))(u + one) - (V(f))one);
    V(i) small = (V(i))(u < V(alli)(1u << 23)), special = (V(i))(u >= V(alli)(31u << 23));
    u = (tiny & small) | ((u + bias + (bias & special)) & ~small);
    return (V(f))(u | (h & 0x8000) << 16);
}
#endif
#endif

/* ---- for every set ---- */
SAMPI_OP V(f) V(keep)(V(m) m, V(f) v) { return V(select)(m, v, V(all)(0.0f)); }
SAMPI_OP V(i) V(chord)(V(i) k) { return V(sra)((k & V(alli)(0x1FFFFFF)) ^ V(alli)(~0x3FFFFFFu), k >> 25); }
SAMPI_OP V(q) V(pairs)(V(i) v) { return ((V(q))v & V(allq)(0xFFFFFFFFu)) + ((V(q))v >> 32); }
SAMPI_OP bool V(doubtful)(V(q) m) { return !SAMPI_FUSED && __builtin_expect(V(hsumq)(m) != 0, 0); }
SAMPI_OP double V(hsum)(V(d) v) { double sum = 0.0; SAMPI_HALF sum += v[k]; return sum; }
SAMPI_OP float V(hmax)(V(f) v) /* a NaN stays; NEON's kernels find it only here */
    { float max = v[0]; for (int k = 1; k < SAMPI_W; k++) max = v[k] > max || v[k] != v[k] ? v[k] : max; return max; }
SAMPI_OP void V(threes)(const samp_token_data *x, V(f) * d)
{
    const float *at = (const float *)(const void *)x;
    /* without stay, gcc loads each vector twice */
    for (int k = 0; k < 3; k++) d[k] = V(stay)(V(load)(at + SAMPI_W * k));
}
SAMPI_OP V(f) V(plain)(const void *x, samp_dtype dtype, size_t i)
{
    const uint16_t *half = (const uint16_t *)x + i;
    const double *wide = (const double *)x + i;
    if (dtype == SAMPI_CANDIDATE) {
        V(f) d[3];
        V(threes)((const samp_token_data *)x + i, d);
        return V(field)(d, 1);
    }
    if (dtype == SAMP_F16) return V(f16)(half);
    if (dtype == SAMP_BF16) return (V(f))(V(u16)(half) << 16);
    if (dtype == SAMP_F64) return V(narrow)(V(loadd)(wide), V(loadd)(wide + SAMPI_W / 2));
    return V(load)((const float *)x + i);
}
SAMPI_OP V(f) V(row)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    V(f) v = V(plain)(x, dtype, i);
    return mask ? V(select)(V(allowed)(mask, i), v, V(all)(-INFINITY)) : v;
}

/* ---- where a comparison gives a vector: all lanes 0 or -1 ---- */
#if SAMPI_W < 16
SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return (V(m))(a >= b); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return m & (V(m))(a < b); }
SAMPI_OP V(q) V(loadq_where)(V(m) m, int half, const uint64_t *p) { return V(loadq)(p) & V(spread)(m, half); }
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v) { return sum + (v & V(spread)(m, half)); }
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v) { return sum - (v & (V(i))m); }
SAMPI_OP V(f) V(part)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, size_t at)
    { return V(row)(x, dtype, mask, i + at); }
SAMPI_OP V(f) V(apart)(const float *p, size_t at) { (void)at; return V(load)(p); }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) a, V(m) b) { return n - ((V(i))a + (V(i))b); }
SAMPI_OP V(t) V(tally4)(V(t) n, const V(m) * in) { return V(tally)(V(tally)(n, in[0], in[1]), in[2], in[3]); }
SAMPI_OP size_t V(total)(V(t) n) { return (size_t)V(hsumq)(V(pairs)(n)); }
SAMPI_OP void V(place)(samp_token_data *d, V(f) l, V(f) p, bool with_p)
{
    const V(f) both[2] = { V(zip)(l, p, 0), V(zip)(l, p, 1) };
    if (with_p) {
        SAMPI_UNROLL_8 for (int k = 0; k < SAMPI_W; k++) memcpy(&d[k].logit, (const char *)both + 8 * k, 8);
    } else {
        SAMPI_UNROLL_8 for (int k = 0; k < SAMPI_W; k++) d[k].logit = l[k];
    }
}
#endif
/* clang-format on */
