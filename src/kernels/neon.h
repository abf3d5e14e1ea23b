/* ---- NEON: 4 lanes, arm64 ----
   The operations of kernels/vectors.h for which NEON has instructions of its own; kernels/shared.h has the others. */
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return vmaxq_f32(a, b); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return vminq_f32(a, b); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return vmaxq_f64(a, b); }
SAMPI_OP V(f) V(fma)(V(f) a, V(f) b, V(f) c) { return vfmaq_f32(c, a, b); }
SAMPI_OP V(d) V(fmad)(V(d) a, V(d) b, V(d) c) { return vfmaq_f64(c, a, b); }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return half ? vcvt_high_f64_f32(v) : vcvt_f64_f32(vget_low_f32(v)); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return vcvt_high_f32_f64(vcvt_f32_f64(a), b); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return vcvtq_u32_f32(v); }
SAMPI_OP V(q) V(even)(V(q) a, V(q) b) { return (V(q))vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b)); }
SAMPI_OP V(i) V(sra)(V(i) a, V(i) n) { return (V(i))vshlq_s32((V(m))a, vnegq_s32((V(m))n)); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return vmovl_u16(vld1_u16(p)); }
SAMPI_OP V(f) V(f16)(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
/* maxima keep a NaN, so it is found later */
SAMPI_OP V(m) V(unord)(V(f) a, V(f) b) { (void)a, (void)b; return vdupq_n_s32(0); }
SAMPI_OP bool V(any)(V(m) m) { return vmaxvq_u32((V(i))m) != 0; }
SAMPI_OP V(f) V(fold1)(V(f) a, V(f) b) { return vpmaxq_f32(a, b); }
SAMPI_OP V(f) V(fold2)(V(f) a, V(f) b) { return vpmaxq_f32(a, b); }
