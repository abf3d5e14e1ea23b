/* ---- AVX-512: 16 lanes ----
   The operations of kernels/vectors.h for which AVX-512 has instructions of its own; kernels/shared.h has the others. A
   comparison gives an integer of 16 bits, one for each lane; in other sets it gives a vector of 0 and -1. */
SAMPI_OP V(m) V(ge)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
SAMPI_OP V(m) V(lt_and)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_cmp_ps_mask(m, a, b, _CMP_LT_OQ); }
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
SAMPI_OP V(t) V(tally)(V(t) n, V(m) a, V(m) b) { return n + (V(t))__builtin_popcount(_mm512_kunpackw(a, b)); }
SAMPI_OP V(t) V(tally4)(V(t) n, const V(m) * in)
{
    uint64_t bits = _mm512_kunpackd(_mm512_kunpackw(in[0], in[1]), _mm512_kunpackw(in[2], in[3]));
    return n + (V(t))__builtin_popcountll(bits);
}
SAMPI_OP size_t V(total)(V(t) n) { return n; }
SAMPI_OP V(f) V(rest)(const float *x, size_t left, size_t at)
    { return _mm512_mask_loadu_ps(V(all)(-INFINITY), (__mmask16)((((uint64_t)1 << left) - 1) >> at), x); }
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i) { return (V(m))(mask[i / 32] >> (i % 32)); }
SAMPI_OP bool V(any)(V(m) m) { return m != 0; }
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm512_mask_mov_ps(b, m, a); }
/* The mask is copied to a register of its own: if it is shifted in place, gcc's code reads memory 8 % slower. */
SAMPI_OP V(q) V(loadq_where)(V(m) m, int half, const uint64_t *p)
{
    uint32_t in = half ? m >> 8 : m;
    __asm__("" : "+r"(in));
    return (V(q))_mm512_maskz_loadu_epi64((__mmask8)in, p);
}
SAMPI_OP V(q) V(add_where)(V(q) sum, V(m) m, int half, V(q) v)
    { return (V(q))_mm512_mask_add_epi64((__m512i)sum, (__mmask8)(half ? m >> 8 : m), (__m512i)sum, (__m512i)v); }
SAMPI_OP V(i) V(sub_where)(V(i) sum, V(m) m, V(i) v)
    { return (V(i))_mm512_mask_sub_epi32((__m512i)sum, m, (__m512i)sum, (__m512i)v); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return SAMPI_X86(cvtps_pd, half ? SAMPI_X86(extractf32x8_ps, v, 1) : SAMPI_X86(extractf32x8_ps, v, 0)); }
/* permutes take indices modulo the number of lanes; the last five values are in d [2] */
SAMPI_OP V(f) V(field)(const V(f) * d, int w)
{
    V(i) at = V(loadi)(SAMPI_STEP) * V(alli)(3) + V(alli)((uint32_t)w);
    V(f) first = SAMPI_X86(permutex2var_ps, d[0], (V(raw))at, d[1]);
    return _mm512_mask_permutexvar_ps(first, 0xF800, (V(raw))at, d[2]);
}
SAMPI_OP V(q) V(lookup)(const uint64_t *table, V(q) at)
{
    V(raw) t[4], in = (V(raw))at;
    for (int k = 0; k < 4; k++) t[k] = (V(raw))V(loadq)(table + 8 * k);
    __mmask8 upper = _mm512_test_epi64_mask(in, (V(raw))V(allq)(16));
    V(raw) low = SAMPI_X86(permutex2var_epi64, t[0], in, t[1]), high = SAMPI_X86(permutex2var_epi64, t[2], in, t[3]);
    return (V(q))_mm512_mask_mov_epi64(low, upper, high);
}
SAMPI_OP void V(place)(samp_token_data *d, V(f) l, V(f) p, bool with_p)
{
    static const uint16_t logits[3] = { 0x2492, 0x9249, 0x4924 }, rest[3] = { 0x4924, 0x2492, 0x9249 };
    SAMPI_UNROLL_4 for (int k = 0; k < 3; k++)
    {
        /* this product and shift divide by 3 */
        V(i) at = (V(loadi)(SAMPI_STEP) + V(alli)(16 * (uint32_t)k)) * V(alli)(171) >> 9;
        V(raw) from = _mm512_mask_add_epi32((V(raw))at, rest[k], (V(raw))at, (V(raw))V(alli)(16));
        __mmask16 in = (__mmask16)(with_p ? logits[k] | rest[k] : logits[k]);
        _mm512_mask_storeu_ps((float *)(void *)d + 16 * k, in, SAMPI_X86(permutex2var_ps, l, from, p));
    }
}
SAMPI_OP uint64_t V(hsumq)(V(q) v)
{
    __m512i all = (__m512i)v, turned = SAMPI_X86(shuffle_i64x2, all, all, 0x4E);
    return sampi_hsumq_avx2((sampi_q_avx2)SAMPI_X86(extracti64x4_epi64, _mm512_add_epi64(all, turned), 0));
}
SAMPI_OP V(f) V(join)(__m256 a, __m256 b) { return SAMPI_X86(insertf32x8, _mm512_castps256_ps512(a), b, 1); }
SAMPI_OP V(f) V(apart)(const float *p, size_t at) { return V(join)(_mm256_loadu_ps(p), _mm256_loadu_ps(p + at)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return V(join)(SAMPI_X86(cvtpd_ps, a), SAMPI_X86(cvtpd_ps, b)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) { return V(join)(sampi_f16_avx2(p), sampi_f16_avx2(p + 8)); }
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    _mm512_storeu_ps(x_out, _mm512_maskz_compress_ps(in, v));
    _mm512_storeu_si512((void *)id_out, _mm512_maskz_compress_epi32(in, (__m512i)id));
    return (size_t)__builtin_popcount(in);
}
SAMPI_OP V(f) V(part)(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i, size_t at)
{
    V(f) v = V(join)(sampi_row_avx2(x, dtype, NULL, i + at), sampi_row_avx2(x, dtype, NULL, i + at + 64));
    if (!mask) return v;
    uint32_t bits = (mask[i / 32] >> i % 32 & 0xFFFF) | mask[(i + 64) / 32] >> i % 32 << 16; /* bits of two lines */
    return V(select)((V(m))_pext_u32(bits, 0xFF00FFu << at), v, V(all)(-INFINITY));
}
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b)
    { return V(max)(SAMPI_X86(shuffle_f32x4, a, b, 0x88), SAMPI_X86(shuffle_f32x4, a, b, 0xDD)); }
