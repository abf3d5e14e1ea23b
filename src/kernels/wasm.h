/* ---- WebAssembly's SIMD: 4 lanes ----
   The operations of kernels/vectors.h for which WebAssembly has instructions of its own; kernels/shared.h has the
   others. */
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { return (V(f))wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { return (V(d))wasm_f64x2_pmax((v128_t)b, (v128_t)a); }
SAMPI_OP V(d) V(widen)(V(f) v, int half)
    { return (V(d))wasm_f64x2_promote_low_f32x4((v128_t)(half ? SAMPI_SHUFFLE(v, v, 2, 3, 2, 3) : v)); }
SAMPI_OP V(f) V(low)(V(d) v) { return (V(f))wasm_f32x4_demote_f64x2_zero((v128_t)v); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b) { return SAMPI_SHUFFLE(V(low)(a), V(low)(b), 0, 1, 4, 5); }
SAMPI_OP V(i) V(trunc)(V(f) v) { return (V(i))wasm_u32x4_trunc_sat_f32x4((v128_t)v); }
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return (V(i))wasm_u32x4_load16x4(p); }
