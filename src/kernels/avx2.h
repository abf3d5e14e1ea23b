/* ---- AVX2: 8 lanes ----
   The operations of kernels/vectors.h for which AVX2 has instructions of its own; kernels/shared.h has the others. */
SAMPI_OP uint64_t V(hsumq)(V(q) v) /* the last addition is in 128 bits, because gcc may split v after tidy */
{
    __m128i sum = _mm_add_epi64(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
    return (uint64_t)sum[0] + (uint64_t)sum[1];
}
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) /* stay: without it clang 14 converts the mask to 16-bit numbers */
    { return (V(m))V(stay)(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) /* stay: without it clang 14 compares half floats one by one */
    { return V(stay)(_mm256_cvtph_ps(*(const V(half) *)(const void *)p)); }
SAMPI_OP bool V(any)(V(m) m) { return _mm256_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(q) V(lookup)(const uint64_t *table, V(q) at)
    { for (int k = 0; k < SAMPI_W / 2; k++) at[k] = table[at[k] % 32]; return at; }
/* a lane's mask bit is in its upper bit, which is the only bit that select reads */
SAMPI_OP V(m) V(allowed)(const uint32_t *mask, size_t i)
{
    static const int32_t left[32] = { 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                      15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0 };
    return (V(m))(V(alli)(mask[i / 32]) << V(loadi)(left + i % 32));
}
SAMPI_OP V(f) V(select)(V(m) m, V(f) a, V(f) b) { return _mm256_blendv_ps(b, a, (V(f))m); }
SAMPI_OP V(f) V(rest)(const float *x, size_t left, size_t at)
{
    V(m) in = (V(m))(V(loadi)(SAMPI_STEP) + V(alli)((uint32_t)at)) < (V(m))V(alli)((uint32_t)left);
    return V(select)(in, (V(f))_mm256_maskload_ps(x, (__m256i)in), V(all)(-INFINITY));
}
SAMPI_OP V(q) V(spread)(V(m) m, int half)
{
    __m256i v = (__m256i)m;
    return (V(q))_mm256_cvtepi32_epi64(half ? _mm256_extracti128_si256(v, 1) : _mm256_castsi256_si128(v));
}
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return _mm256_cvtps_pd(half ? _mm256_extractf128_ps(v, 1) : _mm256_castps256_ps128(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a)), _mm256_cvtpd_ps(b), 1); }
SAMPI_OP size_t V(pack)(V(f) v, V(i) id, V(m) in, float *x_out, int32_t *id_out)
{
    /* one bit for each kept lane; next, the kept lanes' indices, one in each byte */
    unsigned bits = (unsigned)_mm256_movemask_ps((V(f))in);
    uint64_t lanes = _pext_u64(0x0706050403020100u, _pdep_u64(bits, 0x0101010101010101u) * 0xFF);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
    _mm256_storeu_ps(x_out, _mm256_permutevar8x32_ps(v, order));
    _mm256_storeu_si256((__m256i *)(void *)id_out, _mm256_permutevar8x32_epi32((__m256i)id, order));
    return (size_t)__builtin_popcount(bits);
}
SAMPI_OP V(f) V(field)(const V(f) * d, int w)
{
    static const int32_t third[10] = { -1, 0, 0, -1, 0, 0, -1, 0, 0, -1 };
    V(f) v = V(select)((V(m))V(loadi)(third + (8 - w) % 3), d[1], d[0]);
    v = V(select)((V(m))V(loadi)(third + (16 - w) % 3), d[2], v);
    return _mm256_permutevar8x32_ps(v, (__m256i)(V(loadi)(SAMPI_STEP) * 3 + (uint32_t)w));
}
SAMPI_OP V(f) V(zip)(V(f) a, V(f) b, int half)
{
    if (half) return SAMPI_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    return SAMPI_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
SAMPI_OP V(f) V(fold3)(V(f) a, V(f) b)
    { return V(max)(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)); }
