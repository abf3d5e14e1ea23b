/* ================================================================================================== >>passes
   The kernels in vectors, written once and compiled for each instruction set. kernels/contract.h has the contract of
   each kernel, kernels/vectors.h the operations of which kernels consist. Loops take four vectors at a time and apply
   each operation to all four (SAMPI_FOUR), so that no operation waits for the result of the one before it. The end of a
   row is filled up with masked elements to four vectors. A new kernel needs a line in the contract, a reference in
   kernels/scalar.h, a function here, a member of sampi_kernels and a name in SAMPI_KERNELS. */

/* Returns the end of a row, filled up with masked elements (-infinity). The function is not inlined, because it is much
   code. */
SAMPI_T static SAMPI_CALLED const float *V(pad)(const float *x, size_t left, float *room, size_t all)
{
    for (size_t at = 0; at < all; at += SAMPI_W) V(store)(room + at, V(all)(-INFINITY));
    memcpy(room, x, left * sizeof *x);
    return room;
}

/* The first line of each kernel. With it, the upper halves of the vector registers are zero when the kernel returns:
   otherwise the program's own SSE code runs 20 times slower on Intel's CPUs. Clang does this itself. gcc does it only
   at -O2, and not before calls that are a function's last step. */
#define SAMPI_TIDY __attribute__((cleanup(V(tidy)), unused)) char tidy;

/* Loads the next `count` vectors of a row; the end of the row is filled up with masked elements. */
SAMPI_OP void V(take)(const float *x, size_t left, int count, V(f) * v)
{
    float room[4 * SAMPI_W];
    bool is_end = __builtin_expect(left < (size_t)(SAMPI_W * count), 0);
    if (is_end && SAMPI_W == 4) x = V(pad)(x, left, room, 4 * SAMPI_W);
    if (is_end) /* not in the loop: clang does not move this test out */
        SAMPI_UPTO v[k] = V(rest)(x + SAMPI_W * k, left, SAMPI_W * k);
    else
        SAMPI_UPTO v[k] = V(load)(x + SAMPI_W * k);
}

/* Prefetches the memory for a later step of four vectors, once for each 64 bytes, the line of most caches. */
SAMPI_OP void V(ahead)(const float *x)
{
    for (size_t k = 0; k < 16 * SAMPI_W; k += 64) __builtin_prefetch((const void *)((uintptr_t)x + SAMPI_AHEAD + k));
}

SAMPI_OP size_t V(fetch_as)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out)
{
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        if (SAMPI_W > 4 && dtype == SAMP_F64) V(ahead)((const float *)((const double *)x + at + i));
        V(store)(out + i, V(row)(x, dtype, mask, at + i));
    }
    return i + (i < n ? sampi_fetch_scalar(x, dtype, mask, at + i, n - i, out + i) : 0);
}

SAMPI_T static size_t V(fetch)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at, size_t n, float *out)
{
    SAMPI_TIDY
    if (dtype == SAMPI_CANDIDATE) return V(fetch_as)(x, SAMPI_CANDIDATE, NULL, at, n, out);
    /* a copy of the code without a mask is 1.5 times as fast */
    if (!mask && SAMPI_W == 8) SAMPI_BY_DTYPE(V(fetch_as), x, dtype, NULL, at, n, out)
    SAMPI_BY_DTYPE(V(fetch_as), x, dtype, mask, at, n, out)
}

/* Returns the maxima of 2 SAMPI_W elements from i on: lane k has the maximum of two of them. With 16 lanes each half of
   the lanes belongs to one line of 16 elements. */
SAMPI_OP V(f) V(both)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, V(m) * nan)
{
    if (dtype == SAMP_BF16) { /* the even and the odd elements, each in the upper half of a lane */
        const float *p = (const float *)(const void *)((const uint16_t *)x + i);
        V(i) pairs = (V(i))V(apart)(p, 32);
        V(f) even = (V(f))(pairs << 16), odd = (V(f))(pairs & V(alli)(0xFFFF0000u));
        *nan |= V(unord)(even, odd);
        return V(max)(even, odd);
    }
    V(f) a = V(part)(x, dtype, mask, i, 0), b = V(part)(x, dtype, mask, i, SAMPI_W == 4 ? 4 : 8);
    *nan |= V(unord)(a, b);
    return V(max)(a, b);
}

/* Writes the maxima of the tiles' lines to line [16 * tiles], SAMPI_W lines at a time. */
SAMPI_OP void V(lines)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t tiles, float *line, V(f) * max,
                       V(m) * nan)
{
    /* the number of vectors to fold, and of elements in all of them */
    enum { rows = SAMPI_W == 4 ? 4 : 8, step = SAMPI_W * SAMPI_LINE };
    V(f) top = *max;
    V(m) bad = *nan; /* local copies, so that they stay in registers */
    for (const float *end = line + SAMPI_LINE * tiles; line < end; line += SAMPI_W) {
        V(f) v[4] = { top, top, top, top };
        SAMPI_UNROLL_8 for (int k = 0; k < rows; k++)
        {
            size_t at = (size_t)(SAMPI_W == 16 ? k + (k & 4) : k) * SAMPI_LINE;
            V(f) one = V(both)(x, dtype, mask, at, &bad);
            if (SAMPI_W == 4) one = V(max)(one, V(both)(x, dtype, mask, at + 8, &bad));
            v[k / 2] = k % 2 ? V(fold1)(v[k / 2], one) : one;
        }
        v[0] = V(fold3)(V(fold2)(v[0], v[1]), V(fold2)(v[2], v[3]));
        V(store)(line, v[0]);
        top = V(max)(top, v[0]);
        x = (const char *)x + step * SAMPI_SIZE_OF(dtype);
        mask = mask ? mask + step / 32 : NULL;
    }
    *max = top;
    *nan = bad;
}

/* Tiles without an allowed token are skipped. A tile with a mask, or at the end of the row, is converted to floats
   first. So are tiles of those dtypes for which that is faster. */
SAMPI_T static float V(maxima)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n, float *line)
{
    SAMPI_TIDY
    const bool direct = dtype == SAMP_F32 || dtype == SAMP_BF16 || (dtype == SAMP_F16 ? SAMPI_FUSED : SAMPI_W == 8);
    V(f) max = V(all)(-INFINITY);
    V(m) nan = V(unord)(max, max);
    float room[SAMPI_TILE];
    for (size_t i = 0, tiles; i < n; i += tiles * SAMPI_TILE, line += tiles * SAMPI_LINE) {
        const void *at = (const char *)x + i * SAMPI_SIZE_OF(dtype);
        size_t whole = (n - i) / SAMPI_TILE;
        int kind = !whole ? 3 : mask ? sampi_mask_kind(mask + i / 32, SAMPI_TILE / 32) : 2;
        tiles = kind == 2 && direct && !mask ? whole : 1;
        if (kind == 0) {
            for (int k = 0; k < SAMPI_LINE; k += SAMPI_W) V(store)(line + k, V(all)(-INFINITY));
        } else if (kind == 1 && dtype == SAMP_F32) {
            V(lines)(at, SAMP_F32, mask + i / 32, 1, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_BF16) {
            V(lines)(at, SAMP_BF16, NULL, tiles, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_F16 && SAMPI_FUSED) {
            V(lines)(at, SAMP_F16, NULL, tiles, line, &max, &nan);
        } else if (kind == 2 && dtype == SAMP_F64 && SAMPI_W == 8) {
            V(lines)(at, SAMP_F64, NULL, tiles, line, &max, &nan);
        } else {
            if (!whole) V(pad)(room, 0, room, SAMPI_TILE);
            if (kind != 2 || dtype != SAMP_F32)
                V(fetch)(x, dtype, mask, i, whole ? SAMPI_TILE : n - i, room), at = room;
            V(lines)(at, SAMP_F32, NULL, tiles, line, &max, &nan);
        }
    }
    return V(any)(nan) ? NAN : V(hmax)(max);
}

/* Computes for up to four vectors of logits l: d = l - max, and p = e^d with a relative error of about 1e-6. */
SAMPI_OP void V(near_exps)(const V(f) * l, V(f) max, int count, V(f) * d, V(f) * p)
{
    static const float factor[5] = { SAMPI_F4, SAMPI_F3, SAMPI_F2, SAMPI_F1, 1.0f };
    const V(f) log2e = V(all)((float)SAMPI_LOG2E),
               round = V(all)(12582912.0f); /* 1.5 * 2^23: a sum with it has the rounded integer in its low bits */
    V(f) t[4], f[4];
    SAMPI_UPTO d[k] = V(max)(V(all)(SAMPI_LEAST_D), l[k] - max);
    SAMPI_UPTO t[k] = V(fma)(d[k], log2e, round);
    SAMPI_UPTO f[k] = V(fma)(d[k], log2e, round - t[k]);
    SAMPI_UPTO p[k] = V(all)(SAMPI_F5);
    SAMPI_UNROLL_8 for (int c = 0; c < 5; c++) SAMPI_UPTO p[k] = V(fma)(p[k], f[k], V(all)(factor[c]));
    SAMPI_UPTO p[k] = (V(f))((V(i))p[k] + ((V(i))t[k] << 23));
}

/* V(fills) says when float sums must be added to doubles: after every 16 terms. V(flush) adds them, two vectors for
   each sum, and sets them to 0. */
SAMPI_OP bool V(fills)(size_t i) { return i % (32 * SAMPI_W) == 28 * SAMPI_W; }
SAMPI_OP void V(flush)(V(f) * part, V(d) * sum)
{
    for (int k = 0; k < 2; k++) {
        V(f) both = part[2 * k] + part[2 * k + 1];
        sum[k] += V(widen)(both, 0) + V(widen)(both, 1);
        part[2 * k] = part[2 * k + 1] = V(all)(0.0f);
    }
}

SAMPI_T static void V(sweep)(const float *x, size_t n, float r, float max, double *z, double *s)
{
    SAMPI_TIDY
    const V(f) vr = V(all)(r), vmax = V(all)(max), none = V(all)(0.0f);
    V(f) l[4], d[4], p[4], part[4] = { none, none, none, none };
    V(d) sum[2] = { V(alld)(0.0), V(alld)(0.0) };
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, l);
        V(ahead)(x + i);
        SAMPI_FOUR l[k] = V(stay)(l[k] * vr);
        V(near_exps)(l, vmax, 4, d, p);
        SAMPI_FOUR part[k % 2] += p[k];
        SAMPI_FOUR part[2 + k % 2] = V(fma)(-p[k], d[k], part[2 + k % 2]);
        if (V(fills)(i)) V(flush)(part, sum);
    }
    V(flush)(part, sum);
    *z = V(hsum)(sum[0]);
    *s = V(hsum)(sum[1]);
}

SAMPI_T static void V(moments)(const float *x, size_t n, float pivot, double *moment)
{
    SAMPI_TIDY
    const V(f) vp = V(all)(pivot), low = V(all)(-FLT_MAX), none = V(all)(0.0f);
    V(f) v[4], part[4] = { none, none, none, none };
    V(d) sum[2] = { V(alld)(0.0), V(alld)(0.0) };
    V(t) count = { 0 };
    V(m) in[4];
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, v);
        SAMPI_FOUR
        {
            in[k] = V(ge)(v[k], low);
            if (k % 2) count = V(tally)(count, in[k - 1], in[k]);
            v[k] = V(keep)(in[k], v[k] - vp);
            part[k % 2] += v[k];
            part[2 + k % 2] = V(fma)(v[k], v[k], part[2 + k % 2]);
        }
        if (V(fills)(i)) V(flush)(part, sum);
    }
    V(flush)(part, sum);
    moment[0] = (double)V(total)(count);
    moment[1] = V(hsum)(sum[0]);
    moment[2] = V(hsum)(sum[1]);
}

SAMPI_T static void V(fold)(const float *line, size_t n, float *out, size_t m)
{
    SAMPI_TIDY
    for (size_t j = 0; j < m; j += SAMPI_W) {
        V(f) v = V(load)(line + j);
        for (size_t i = j + m; i < n; i += m) v = V(max)(v, V(load)(line + i));
        V(store)(out + j, v);
    }
}

/* The kernel collect for the SAMPI_W elements from `at` on. */
SAMPI_OP size_t V(collect_at)(const float *x, const int32_t *id, int32_t base, size_t at, V(f) lo, V(f) hi,
                              float *x_out, int32_t *id_out)
{
    V(f) v = V(load)(x + at);
    V(i) token = id ? V(loadi)(id + at) : V(loadi)(SAMPI_STEP) + V(alli)((uint32_t)base + (uint32_t)at);
    return V(pack)(v, token, V(lt_and)(V(ge)(v, lo), v, hi), x_out, id_out);
}

SAMPI_T static size_t V(collect)(const float *x, const int32_t *id, int32_t base, size_t n, float floor, float below,
                                 float *x_out, int32_t *id_out)
{
    SAMPI_TIDY
    const V(f) lo = V(all)(floor), hi = V(all)(below);
    size_t kept = 0, i = 0;
    for (size_t end;;) {
        /* mostly no element is kept; more branches could not be predicted */
        for (; i + 4 * SAMPI_W <= n; i += 4 * SAMPI_W) {
            V(m) in[4];
            SAMPI_FOUR in[k] = V(ge)(V(load)(x + i + SAMPI_W * k), lo);
            if (V(any)((in[0] | in[1]) | (in[2] | in[3]))) break;
        }
        end = i + 4 * SAMPI_W <= n ? i + 4 * SAMPI_W : n - n % SAMPI_W;
        if (i == end) break;
        for (; i < end; i += SAMPI_W) kept += V(collect_at)(x, id, base, i, lo, hi, x_out + kept, id_out + kept);
    }
    return kept + sampi_collect_scalar(x + i, id ? id + i : NULL, base + (int32_t)i, n - i, floor, below,
                                       x_out + kept, id_out + kept);
}

SAMPI_T static size_t V(pick)(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                              int32_t *id_out)
{
    SAMPI_TIDY
    enum { parts = SAMPI_LINE / SAMPI_W };
    const V(f) lo = V(all)(floor);
    const V(i) step = V(loadi)(SAMPI_STEP);
    V(f) v[parts];
    size_t kept = 0;
    for (size_t h = 0; h < m; h++) {
        size_t i = (size_t)line[h] * SAMPI_LINE;
        __builtin_prefetch(x + (size_t)line[h + 8 < m ? h + 8 : h] * SAMPI_LINE);
        V(take)(x + i, n - i, parts, v);
        SAMPI_UNROLL_4 for (int k = 0; k < parts; k++, i += SAMPI_W)
            kept += V(pack)(v[k], step + V(alli)((uint32_t)i), V(ge)(v[k], lo), x_out + kept, id_out + kept);
    }
    return kept;
}

SAMPI_T static size_t V(count)(const float *x, size_t n, float floor)
{
    SAMPI_TIDY
    const V(f) lo = V(all)(floor);
    V(t) count = { 0 };
    V(f) v[4];
    V(m) in[4];
    for (size_t i = 0; i < n; i += 4 * SAMPI_W) {
        V(take)(x + i, n - i, 4, v);
        SAMPI_FOUR in[k] = V(ge)(v[k], lo);
        count = V(tally4)(count, in);
    }
    return V(total)(count);
}

/* Computes e^d of the logits in l [count / 2], half a vector at a time, where d = l - max is clamped: sampi_exp without
   its factor 2^40. Returns the lanes whose result is not certain without an fma: f, the fraction of the exponent, is so
   near to 1/2 or -1/2 that it may be the other one. */
SAMPI_OP V(q) V(exp)(const V(f) * l, V(d) max, int count, V(d) * d, V(d) * e)
{
    static const double factor[8] = { SAMPI_E7, SAMPI_E6, SAMPI_E5, SAMPI_E4, SAMPI_E3, SAMPI_E2, SAMPI_E1, 1.0 };
    const V(d) log2e = V(alld)(SAMPI_LOG2E), shift = V(alld)(SAMPI_SHIFT);
    V(d) s[4], f[4];
    V(q) doubt = V(allq)(0);
    SAMPI_UPTO d[k] = V(maxd)(V(widen)(l[k / 2], k % 2) - max, V(alld)(-700.0));
    SAMPI_UPTO s[k] = V(fmad)(d[k], log2e, shift);
    SAMPI_UPTO f[k] = V(fmad)(d[k], log2e, shift - s[k]);
    SAMPI_UPTO e[k] = V(alld)(SAMPI_E8);
    SAMPI_UNROLL_8 for (int c = 0; c < 8; c++) SAMPI_UPTO e[k] = V(fmad)(e[k], f[k], V(alld)(factor[c]));
    SAMPI_UPTO e[k] = (V(d))((V(q))e[k] + ((V(q))s[k] << 52));
    if (!SAMPI_FUSED) SAMPI_UPTO doubt |= (V(q))(f[k] * f[k] > V(alld)(0.2499999999));
    return doubt;
}

/* Returns the lanes in which the nearest integer n of y = 2^40 e^d is not certain. If product and sum are rounded
   separately, the error of y is below 2^-49 y + 2^-14. (An fma has a relative error of 2^-53, the eight fmas of the
   polynomial together five of these; d log2 e, which is below 64, adds another 2^-53 where y is small.) So n is certain
   unless y is that near to the middle between two integers. */
SAMPI_OP V(q) V(unsure)(V(d) y, V(d) n)
{
    V(d) off = y - n;
    return (V(q))(off * off > V(alld)(0.2499) - y * V(alld)(1.0 / ((uint64_t)1 << 49)));
}

/* Computes the results for the logits in l again, one by one. */
SAMPI_T static SAMPI_CALLED void V(redo)(const V(f) * l, float max, int count, V(d) * e, V(d) * w, V(d) * s)
{
    for (int i = 0; i < count * (SAMPI_W / 2); i++) {
        int k = i / (SAMPI_W / 2), lane = i % (SAMPI_W / 2);
        float x = l[i / SAMPI_W][i % SAMPI_W];
        uint64_t weight = sampi_weight(max, x);
        e[k][lane] = sampi_exp(max, x) / (double)SAMPI_MAX_WEIGHT;
        w[k][lane] = SAMPI_INT + (double)weight;
        s[k][lane] = SAMPI_INT + (double)sampi_weighted(weight, max, x);
    }
}

/* Computes e^d and w = sampi_weight of the logits l [count / 2], half a vector at a time, and s = sampi_weighted if
   with_s. All results are doubles; w and s have SAMPI_INT added. */
SAMPI_OP void V(exact)(const V(f) * l, float max, int count, bool with_s, V(d) * e, V(d) * w, V(d) * s)
{
    const V(d) one = V(alld)(SAMPI_INT), scale = V(alld)((double)SAMPI_MAX_WEIGHT);
    V(d) d[4];
    V(q) doubt = V(exp)(l, V(alld)((double)max), count, d, e);
    SAMPI_UPTO w[k] = V(fmad)(e[k], scale, one);
    if (with_s) SAMPI_UPTO s[k] = V(fmad)(one - w[k], d[k], one);
    if (!SAMPI_FUSED) SAMPI_UPTO doubt |= V(unsure)(e[k] * scale, w[k] - one);
    if (!SAMPI_FUSED && with_s) SAMPI_UPTO doubt |= V(unsure)((one - w[k]) * d[k], s[k] - one);
    if (V(doubtful)(doubt)) V(redo)(l, max, count, e, w, s);
}
/* Returns the integer in a double to which SAMPI_INT has been added. */
SAMPI_OP V(q) V(whole)(V(d) w) { return (V(q))w - (V(q))V(alld)(SAMPI_INT); }

SAMPI_T static uint64_t V(weights)(const float *x, size_t n, float max, uint64_t *out, double *e_out)
{
    SAMPI_TIDY
    V(f) l[2];
    V(d) e[4], w[4], s[4];
    V(q) v[4], sum = V(allq)(0);
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        V(take)(x + i, n - i, 2, l);
        V(exact)(l, max, 4, false, e, w, s);
        /* without this, gcc delays the computation past the store */
        if (SAMPI_W == 16) SAMPI_FOUR SAMPI_OPAQUE(w[k]);
        SAMPI_FOUR sum += v[k] = V(whole)(w[k]);
        const bool is_half = SAMPI_W == 16 && n - i <= SAMPI_W;
        if (out) SAMPI_FOUR if (k < 2 || !is_half) V(storeq)(out + i + SAMPI_W / 2 * k, v[k]);
        if (e_out) SAMPI_FOUR if (k < 2 || !is_half) V(storeq)((uint64_t *)e_out + i + SAMPI_W / 2 * k, (V(q))e[k]);
    }
    return V(hsumq)(sum);
}

/* Computes the floats q nearest to the quotients of a and b (half a vector each) by one divisor. `low` and `high` are
   inverses of the divisor, one a little too small and one a little too large, so a quotient lies between the products
   with them. Nearly always both products round to the same float; a division would take many times as long. Returns
   whether the result of any lane is not certain. */
SAMPI_OP bool V(by_inverse)(V(d) a, V(d) b, V(d) low, V(d) high, V(f) * q)
{
    *q = V(narrow)(a * low, b * low);
    return V(any)(V(lt_and)(V(ge)(*q, V(all)(0.0f)), *q, V(narrow)(a * high, b * high)));
}

/* Without fma the relative error of e^d is below 2^-43, hence the wider interval `off`. */
SAMPI_T static void V(probs)(const float *x, const double *e, size_t n, float max, double z, float *p)
{
    SAMPI_TIDY
    const double off = 1.0 / ((uint64_t)1 << (SAMPI_FUSED ? 50 : 42)), by = z / (double)SAMPI_MAX_WEIGHT;
    const V(d) low = V(alld)((1.0 - off) / by), high = V(alld)((1.0 + off) / by);
    V(f) q;
    for (size_t i = 0; i < n; i += SAMPI_W) {
        if (!V(by_inverse)(V(loadd)(e + i), V(loadd)(e + i + SAMPI_W / 2), low, high, &q))
            V(store)(p + i, q);
        else
            sampi_probs_scalar(x + i, e + i, n - i < SAMPI_W ? n - i : SAMPI_W, max, z, p + i);
    }
}

SAMPI_T static uint64_t V(mass)(const float *x, const uint64_t *w, size_t n, float floor)
{
    SAMPI_TIDY
    const V(f) lo = V(all)(floor);
    V(q) sum = V(allq)(0);
    V(f) v;
    for (size_t i = 0; i < n; i += SAMPI_W) {
        V(take)(x + i, n - i, 1, &v);
        for (int k = 0; k < 2; k++) sum += V(loadq_where)(V(ge)(v, lo), k, w + i + SAMPI_W / 2 * k);
    }
    return V(hsumq)(sum);
}

/* The kernel sums, `count` halves of a vector at a time. */
SAMPI_OP void V(sums_as)(const float *x, size_t n, float r, float max, float floor, int count, bool with_s,
                         bool with_above, sampi_sums *sums)
{
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), lo = V(all)(floor);
    const size_t step = (size_t)count * (SAMPI_W / 2);
    V(q) z = V(allq)(0), s = z, above = z;
    V(t) present = { 0 }, reach = { 0 };
    const V(m) none = V(ge)(V(all)(-1.0f), V(all)(0.0f));
    V(f) x2[2], l[2];
    V(d) e[4], w[4], ws[4];
    for (size_t i = 0; i < n; i += step) {
        V(take)(x + i, n - i, count / 2, x2);
        V(m) here[2] = { none, none }, in[2] = { none, none };
        for (int k = 0; k < count / 2; k++) here[k] = V(ge)(x2[k], low), in[k] = V(ge)(x2[k], lo), l[k] = x2[k] * vr;
        present = V(tally)(present, here[0], here[1]);
        V(exact)(l, max, count, with_s, e, w, ws);
        SAMPI_UPTO z += (V(q))w[k];
        if (with_s) SAMPI_UPTO s += (V(q))ws[k];
        if (!with_above) continue;
        reach = V(tally)(reach, in[0], in[1]);
        SAMPI_UPTO above = V(add_where)(above, in[k / 2], k % 2, (V(q))w[k]);
    }
    /* the sums are of the bits of doubles, each too large by the bits of SAMPI_INT, modulo 2^64 */
    const uint64_t large = (n + step - 1) / step * step * sampi_bits(SAMPI_INT);
    uint64_t mass = V(hsumq)(z) - large;
    sums->n += V(total)(present);
    sums->z += mass;
    sums->s += with_s ? V(hsumq)(s) - large : 0;
    if (with_above)
        sums->above += V(hsumq)(above) - V(total)(reach) * sampi_bits(SAMPI_INT);
    else if (floor <= -FLT_MAX)
        sums->above += mass;
}

SAMPI_T static void V(sums)(const float *x, size_t n, float r, float max, float floor, bool with_s, sampi_sums *sums)
{
    SAMPI_TIDY
    /* with another floor all elements are above it, or none is */
    const bool splits = floor > -FLT_MAX && floor < INFINITY;
    if (!SAMPI_FUSED) /* one copy of the code for all cases, because it is long without fma */
        V(sums_as)(x, n, r, max, floor, 4, with_s, true, sums);
    else if (with_s)
        V(sums_as)(x, n, r, max, floor, 4, true, splits, sums);
    else if (splits && SAMPI_W == 8)
        V(sums_as)(x, n, r, max, floor, 2, false, true, sums); /* count is 2: for 4 there are not enough registers */
    else
        V(sums_as)(x, n, r, max, floor, 4, false, splits, sums);
}

/* Computes the envelope q only for elements from sampi_envelope_floor on, because it is 0 below. */
SAMPI_T static void V(envelope)(const float *x, size_t n, float r, float max, float floor, uint64_t *tile)
{
    SAMPI_TIDY
    const V(f) vr = V(all)(r), vmax = V(all)(max), lo = V(all)(sampi_envelope_floor(r, max, floor));
    float room[SAMPI_TILE];
    for (size_t i = 0; i < n; i += SAMPI_TILE, tile++) {
        const float *at = n - i < SAMPI_TILE ? V(pad)(x + i, n - i, room, SAMPI_TILE) : x + i;
        V(i) sum[2] = { V(alli)(0), V(alli)(0) };
        V(f) v[4], t[4];
        for (const float *end = at + SAMPI_TILE; at < end; at += 4 * SAMPI_W) {
            SAMPI_FOUR v[k] = V(load)(at + SAMPI_W * k);
            V(ahead)(at);
            SAMPI_FOUR t[k] = V(stay)(v[k] * vr);
            SAMPI_FOUR t[k] = (vmax - t[k]) * V(all)(SAMPI_ENVELOPE_UNIT);
            SAMPI_FOUR sum[k % 2] = V(sub_where)(sum[k % 2], V(ge)(v[k], lo), V(chord)(V(trunc)(t[k])));
        }
        /* pairs are added in 64 bits, because with four lanes the sum of both may not fit 32 bits */
        *tile = V(hsumq)(V(pairs)(sum[0]) + V(pairs)(sum[1]));
    }
}

SAMPI_T static void V(scale)(const float *x, size_t n, float r, bool divided, float *out)
{
    SAMPI_TIDY
    const V(f) vr = V(all)(r), low = V(all)(-FLT_MAX), high = V(all)(FLT_MAX);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        V(f) v = V(load)(x + i), l = SAMPI_LLAMA_CPP && divided ? v / vr : v * vr;
        V(store)(out + i, V(select)(V(ge)(v, low), V(min)(V(max)(l, low), high), v));
    }
    sampi_scale_scalar(x + i, n - i, r, divided, out + i);
}

SAMPI_T static void V(adapt)(float *e, size_t n, float sum, float aim)
{
    SAMPI_TIDY
    const V(f) vsum = V(all)(sum), va = V(all)(aim), one = V(all)(1.0f);
    for (size_t i = 0; i < n; i += SAMPI_W) {
        V(f) x = V(load)(e + i);
        if (SAMPI_LLAMA_CPP && sum != 1.0f) x = x / vsum;
        x = V(max)(x - va, va - x) * V(all)(1.0f / 0.3f);
        x = V(stay)(x);
        V(store)(e + i, V(all)(5.0f) - x * V(all)(10.0f) * x / (one + x));
    }
}

/* Ids are tested tile by tile. Nearly always each id is one more than the id before it; only in other tiles are
   neighbours compared one by one. Eight tiles of logits are copied at a time, so that their maxima are computed while
   they are in cache. */
SAMPI_T static bool V(survey)(const samp_token_data *d, size_t n, float *x, float *line, float *top)
{
    SAMPI_TIDY
    enum { most = 8 * SAMPI_TILE };
    V(i) next = V(loadi)(SAMPI_STEP) + V(alli)(n ? (uint32_t)d->id : 0), other = V(alli)(0);
    V(f) v[3];
    float buf[most], max;
    size_t i = 0;
    *top = -INFINITY;
    for (size_t at = 0, len; at < n; at += len) {
        float *l = buf;
        if (x) l = x + at;
        len = n - at < most ? n - at : (size_t)most;
        for (; i + SAMPI_W <= at + len; i += SAMPI_W) {
            V(threes)(d + i, v);
            other |= (V(i))V(field)(v, 0) ^ next;
            next += V(alli)(SAMPI_W);
            V(store)(l + (i - at), V(field)(v, 1));
        }
        (void)sampi_fetch_scalar(d, SAMPI_CANDIDATE, NULL, i, at + len - i, l + (i - at));
        max = V(maxima)(l, SAMP_F32, NULL, len, line + at / SAMPI_LINE);
        if (max > *top || max != max) *top = max; /* *top stays a NaN once it is one */
    }
    if (i == 0 || V(hsumq)(V(pairs)(other)) != 0 || d[i - 1].id < 0) i = 1; /* no id has been tested */
    return n == 0 || (d->id >= 0 && sampi_ascends(d + i - 1, n - i + 1));
}

SAMPI_T static void V(put)(samp_token_data *d, size_t n, const float *l, const float *p, double sum)
{
    SAMPI_TIDY
    const double off = 1.0 / ((uint64_t)1 << 50);
    const V(d) low = V(alld)((1.0 - off) / sum), high = V(alld)((1.0 + off) / sum);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        V(f) a = V(load)(l + i), b = p ? V(load)(p + i) : a;
        V(d) first = V(widen)(b, 0), second = V(widen)(b, 1);
        if (SAMPI_LLAMA_CPP && p && sum != 1.0 && (SAMPI_W == 4 || V(by_inverse)(first, second, low, high, &b)))
            b = V(narrow)(first / V(alld)(sum), second / V(alld)(sum));
        V(place)(d + i, a, b, p != NULL);
    }
    sampi_put_scalar(d + i, n - i, l + i, p ? p + i : NULL, sum);
}

#if defined(SAMPLING_GUMBEL_DECLARED) || defined(SAMPLING_WATERMARK_DECLARED)
/* Computes the ten rounds of sampi_philox for counters whose four words are in a, b, c and d, four vectors of each.
   Each word is in the lower half of a lane of 64 bits. */
SAMPI_OP void V(rounds)(V(q) * a, V(q) * b, V(q) * c, V(q) * d, const uint32_t *key)
{
    uint32_t k0 = key[0], k1 = key[1];
    SAMPI_UNROLL_10 for (int round = 0; round < 10; round++)
    {
        V(q) x[4], y[4];
        SAMPI_FOUR x[k] = V(even)(a[k], V(allq)(0xD2511F53u)), y[k] = V(even)(c[k], V(allq)(0xCD9E8D57u));
        SAMPI_FOUR a[k] = y[k] >> 32 ^ (b[k] ^ V(allq)(k0)), c[k] = x[k] >> 32 ^ (d[k] ^ V(allq)(k1));
        SAMPI_FOUR b[k] = y[k], d[k] = x[k];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}
#endif

#ifdef SAMPLING_GUMBEL_DECLARED
/* Computes h, the random word of the race, for 2 SAMPI_W ids by sampi_philox. The compiler removes the computations
   that are equal for all ids or not used. Each word is in the lower half of 64 bits. */
SAMPI_OP void V(noise)(const uint32_t *counter, const uint32_t *key, const V(i) * id, V(i) * h)
{
    V(q) a[4], b[4], c[4], d[4];
    SAMPI_FOUR a[k] = V(allq)(counter[0]), b[k] = V(allq)(counter[1]), c[k] = V(allq)(counter[2]);
    SAMPI_FOUR d[k] = (V(q))id[k / 2] >> (k % 2 ? 32 : 0);
    V(rounds)(a, b, c, d, key);
    for (int k = 0; k < 2; k++) h[k] = (V(i))((b[2 * k] & V(allq)(0xFFFFFFFFu)) | b[2 * k + 1] << 32);
}

/* In most steps no id is a hit. */
SAMPI_T static size_t V(race)(const uint32_t *counter, const uint32_t *key, const int32_t *id, int32_t base, size_t n,
                              uint32_t most, int32_t *hit)
{
    SAMPI_TIDY
    size_t hits = 0;
    for (size_t i = 0; i < n; i += 2 * SAMPI_W) {
        int32_t room[2 * SAMPI_W] = { 0 };
        const size_t len = n - i < 2 * SAMPI_W ? n - i : 2 * SAMPI_W;
        const int32_t *at = id && len == 2 * SAMPI_W ? id + i : room;
        V(i) ids[2], h[2];
        if (id && at == room) memcpy(room, id + i, len * sizeof *id);
        for (int k = 0; k < 2; k++) {
            V(i) next = V(loadi)(SAMPI_STEP) + V(alli)((uint32_t)base + (uint32_t)i + (uint32_t)(SAMPI_W * k));
            ids[k] = id ? V(loadi)(at + SAMPI_W * k) : next;
        }
        V(noise)(counter, key, ids, h);
        V(i) in = (V(i))(h[0] >= V(alli)(~most)) | (V(i))(h[1] >= V(alli)(~most));
        if (!V(hsumq)(V(pairs)(in))) continue;
        for (size_t k = 0; k < len; k++)
            if (h[k / SAMPI_W][k % SAMPI_W] >= ~most) hit[hits++] = (int32_t)(i + k);
    }
    return hits;
}
#endif

#ifdef SAMPLING_WATERMARK_DECLARED
/* Computes the four random words of 2 SAMPI_W groups of four ids; the first group is `from`. word [w] has word w of one
   group in each lane. Unlike V(noise), the group is the counter's first number, and all four words are used. */
SAMPI_OP void V(words)(const uint32_t *counter, const uint32_t *key, uint32_t from, V(i) word[4][2])
{
    V(q) a[4], b[4], c[4], d[4];
    SAMPI_FOUR
    {
        V(i) four = V(loadi)(SAMPI_STEP) + V(alli)(from + (uint32_t)(k / 2 * SAMPI_W));
        a[k] = (V(q))four >> (k % 2 ? 32 : 0);
        b[k] = V(allq)(counter[0]), c[k] = V(allq)(counter[1]), d[k] = V(allq)(counter[2]);
    }
    V(rounds)(a, b, c, d, key);
    const V(q) low = V(allq)(0xFFFFFFFFu);
    for (int k = 0; k < 2; k++) {
        word[0][k] = (V(i))((a[2 * k] & low) | a[2 * k + 1] << 32);
        word[1][k] = (V(i))((b[2 * k] & low) | b[2 * k + 1] << 32);
        word[2][k] = (V(i))((c[2 * k] & low) | c[2 * k + 1] << 32);
        word[3][k] = (V(i))((d[2 * k] & low) | d[2 * k + 1] << 32);
    }
}

/* In most steps no id is a hit. */
SAMPI_T static size_t V(marks)(const uint32_t *counter, const uint32_t *key, uint32_t from, size_t n, uint32_t least,
                               int32_t *hit)
{
    SAMPI_TIDY
    size_t hits = 0;
    for (size_t i = 0; i < n; i += 8 * SAMPI_W) {
        const size_t len = n - i < 8 * SAMPI_W ? n - i : 8 * SAMPI_W;
        V(i) word[4][2], in = V(alli)(0);
        V(words)(counter, key, from + (uint32_t)(i / 4), word);
        for (int w = 0; w < 4; w++)
            for (int k = 0; k < 2; k++) in |= (V(i))(word[w][k] >= V(alli)(least));
        if (!V(hsumq)(V(pairs)(in))) continue;
        for (size_t k = 0; k < len; k++)
            if (word[k % 4][k / 4 / SAMPI_W][k / 4 % SAMPI_W] >= least) hit[hits++] = (int32_t)(i + k);
    }
    return hits;
}

/* Returns the seeds of half the lanes. Their hashes are in the lower halves (up 0) or in the upper halves of 64
   bits. */
SAMPI_OP V(q) V(seeds)(const sampi_colours *c, V(i) hash, int up)
{
    const V(raw) h = (V(raw))(up ? (V(q))hash : (V(q))hash << 32) >> 32;
    V(q) least = V(allq)(c->key) * (V(q))h * (V(q))h;
    for (uint32_t i = 0; i < c->n; i++) {
        const V(q) next = V(allq)(c->product[i]) * (V(q))h;
        const V(q) is_less = (V(q))((V(raw))next < (V(raw))least);
        least = (next & is_less) | (least & ~is_less);
    }
    return least;
}

/* Returns sampi_colour_hash of the id in each lane. */
SAMPI_OP V(i) V(hashes)(V(i) id)
{
    typedef int32_t V(signed) __attribute__((vector_size(4 * SAMPI_W)));
    V(i) i = id + V(alli)(1);
    i -= i << 6;
    i ^= (V(i))((V(signed))i >> 17);
    i -= i << 9;
    i ^= i << 4;
    i -= i << 3;
    i ^= i << 10;
    return i ^ (V(i))((V(signed))i >> 15);
}

/* Returns, for half the lanes, a lane with all bits 1 if its token is green, else 0. Each lane has its own Philox key,
   `seed`. */
SAMPI_OP V(q) V(greens)(V(q) seed, V(q) id, uint32_t below)
{
    V(q) a = id >> 2, b = V(allq)(0), c = b, d = b, k0 = seed, k1 = seed >> 32;
    SAMPI_UNROLL_10 for (int round = 0; round < 10; round++)
    {
        V(q) x = V(even)(a, V(allq)(0xD2511F53u)), y = V(even)(c, V(allq)(0xCD9E8D57u));
        a = y >> 32 ^ (b ^ k0), c = x >> 32 ^ (d ^ k1);
        b = y, d = x;
        k0 += V(allq)(0x9E3779B9u);
        k1 += V(allq)(0xBB67AE85u);
    }
    const V(q) is_odd = (V(q))((id & V(allq)(1)) == V(allq)(1)), is_upper = (V(q))((id & V(allq)(2)) == V(allq)(2));
    const V(q) low = (b & is_odd) | (a & ~is_odd), high = (d & is_odd) | (c & ~is_odd);
    const V(q) word = ((high & is_upper) | (low & ~is_upper)) & V(allq)(0x7FFFFFFFu);
    return (V(q))((V(raw))word < (V(raw))V(allq)(below));
}

SAMPI_T static void V(tint)(const sampi_colours *colours, uint32_t from, size_t n, float delta, float *x)
{
    SAMPI_TIDY
    const V(q) lower = V(allq)(0xFFFFFFFFu);
    size_t i = 0;
    for (; i + SAMPI_W <= n; i += SAMPI_W) {
        const V(i) id = V(loadi)(SAMPI_STEP) + V(alli)(from + (uint32_t)i);
        const V(i) hash = colours->is_self ? V(hashes)(id) : id;
        const V(q) first = colours->is_self ? V(seeds)(colours, hash, 0) : V(allq)(colours->seed);
        const V(q) second = colours->is_self ? V(seeds)(colours, hash, 1) : V(allq)(colours->seed);
        const V(q) even = V(greens)(first, (V(q))id & lower, colours->below);
        const V(q) odd = V(greens)(second, (V(q))id >> 32, colours->below);
        const V(f) old = V(load)(x + i);
        V(f) next = V(max)(V(min)(old + V(all)(delta), V(all)(FLT_MAX)), V(all)(-FLT_MAX));
        const V(i) green = (V(i))((even & lower) | (odd & ~lower)) & (V(i))(old >= V(all)(-FLT_MAX));
        V(store)(x + i, (V(f))(((V(i))next & green) | ((V(i))old & ~green)));
    }
    sampi_tint_scalar(colours, from + (uint32_t)i, n - i, delta, x + i);
}
#endif
