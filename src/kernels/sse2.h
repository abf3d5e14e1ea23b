/* ---- SSE2: 4 lanes ----
   The operations of kernels/vectors.h for which SSE2 has instructions of its own; kernels/shared.h has the others. */
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { return (V(m))_mm_cmpunord_ps(a, b); }
SAMPI_OP bool V(any)(V(m) m) { return _mm_movemask_ps((V(f))m) != 0; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return _mm_cvtps_pd(half ? _mm_movehl_ps(v, v) : (__m128)v); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return _mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b)); }
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) /* computed as ~(2 ~a 2^(31 - n) / 2^32) */
{
    V(q) two = (V(q))(~a + ~a), power = (V(q))V(trunc)((V(f))((V(alli)(158) - n) << 23));
    return ~(V(i))(V(even)(two, power) >> 32 | V(even)(two >> 32, power >> 32) >> 32 << 32);
}
SAMPI_OP V(i) V(u16)(const uint16_t *p)
    { return (V(i))_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p), _mm_setzero_si128()); }
