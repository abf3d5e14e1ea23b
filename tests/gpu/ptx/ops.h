/* ops.h - the instructions that compute one lane's result from its operands A, B, C alone. Names are those of PTX; a
   last part of i means all integer types of its kind, * means all types. Registers may hold anything above their type's
   width, so an operation that depends on the width casts first. */
#ifndef OPS_H
#define OPS_H

#define SETP(X, T, V) \
    X(eq_##T, "setp.eq." #T, 2, V(T, A) == V(T, B)) \
    X(ne_##T, "setp.ne." #T, 2, V(T, A) != V(T, B)) \
    X(lt_##T, "setp.lt." #T, 2, V(T, A) < V(T, B)) \
    X(le_##T, "setp.le." #T, 2, V(T, A) <= V(T, B)) \
    X(gt_##T, "setp.gt." #T, 2, V(T, A) > V(T, B)) \
    X(ge_##T, "setp.ge." #T, 2, V(T, A) >= V(T, B))

/* For f32 and f64. ne is false for NaN; comparisons that end in u are true for NaN. */
#define SETP_FLOAT(X, T) \
    X(eq_##T, "setp.eq." #T, 2, VALUE_##T(A) == VALUE_##T(B)) \
    X(ne_##T, "setp.ne." #T, 2, VALUE_##T(A) < VALUE_##T(B) || VALUE_##T(A) > VALUE_##T(B)) \
    X(lt_##T, "setp.lt." #T, 2, VALUE_##T(A) < VALUE_##T(B)) \
    X(le_##T, "setp.le." #T, 2, VALUE_##T(A) <= VALUE_##T(B)) \
    X(gt_##T, "setp.gt." #T, 2, VALUE_##T(A) > VALUE_##T(B)) \
    X(ge_##T, "setp.ge." #T, 2, VALUE_##T(A) >= VALUE_##T(B)) \
    X(equ_##T, "setp.equ." #T, 2, !(VALUE_##T(A) < VALUE_##T(B) || VALUE_##T(A) > VALUE_##T(B))) \
    X(neu_##T, "setp.neu." #T, 2, VALUE_##T(A) != VALUE_##T(B)) \
    X(ltu_##T, "setp.ltu." #T, 2, !(VALUE_##T(A) >= VALUE_##T(B))) \
    X(leu_##T, "setp.leu." #T, 2, !(VALUE_##T(A) > VALUE_##T(B))) \
    X(gtu_##T, "setp.gtu." #T, 2, !(VALUE_##T(A) <= VALUE_##T(B))) \
    X(geu_##T, "setp.geu." #T, 2, !(VALUE_##T(A) < VALUE_##T(B))) \
    X(num_##T, "setp.num." #T, 2, VALUE_##T(A) == VALUE_##T(A) && VALUE_##T(B) == VALUE_##T(B)) \
    X(nan_##T, "setp.nan." #T, 2, VALUE_##T(A) != VALUE_##T(A) || VALUE_##T(B) != VALUE_##T(B))

/* Sets all bits, or none. A float's comparison is false for NaN, that of ne too. */
#define SET(X, T, V) \
    X(set_eq_##T, "set.u32.eq." #T, 2, V(T, A) == V(T, B) ? UINT32_MAX : 0) \
    X(set_ne_##T, "set.u32.ne." #T, 2, V(T, A) < V(T, B) || V(T, A) > V(T, B) ? UINT32_MAX : 0) \
    X(set_lt_##T, "set.u32.lt." #T, 2, V(T, A) < V(T, B) ? UINT32_MAX : 0) \
    X(set_le_##T, "set.u32.le." #T, 2, V(T, A) <= V(T, B) ? UINT32_MAX : 0) \
    X(set_gt_##T, "set.u32.gt." #T, 2, V(T, A) > V(T, B) ? UINT32_MAX : 0) \
    X(set_ge_##T, "set.u32.ge." #T, 2, V(T, A) >= V(T, B) ? UINT32_MAX : 0)
#define VALUE(T, X) VALUE_##T(X)

#define INTEGER(X, T) \
    SETP(X, T, AS) \
    SET(X, T, AS) \
    X(div_##T, "div." #T, 2, (u64)divide_##T((T)A, (T)B, false)) \
    X(rem_##T, "rem." #T, 2, (u64)divide_##T((T)A, (T)B, true)) \
    X(min_##T, "min." #T, 2, (u64)((T)A < (T)B ? (T)A : (T)B)) \
    X(max_##T, "max." #T, 2, (u64)((T)A > (T)B ? (T)A : (T)B)) \
    X(shr_##T, "shr." #T, 2, \
      (u64)((T)A >> ((u32)B < sizeof(T) * 8 ? (u32)B : sizeof(T) * 8 - 1) >> \
            ((T)-1 > 0 && (u32)B >= sizeof(T) * 8)))

#define FLOATING(X, T) \
    SETP_FLOAT(X, T) \
    SET(X, T, VALUE) \
    X(add_##T, "add." #T, 2, BITS_##T(VALUE_##T(A) + VALUE_##T(B))) \
    X(sub_##T, "sub." #T, 2, BITS_##T(VALUE_##T(A) - VALUE_##T(B))) \
    X(mul_##T, "mul." #T, 2, BITS_##T(VALUE_##T(A) * VALUE_##T(B))) \
    X(addrn_##T, "add.rn." #T, 2, BITS_##T(VALUE_##T(A) + VALUE_##T(B))) \
    X(subrn_##T, "sub.rn." #T, 2, BITS_##T(VALUE_##T(A) - VALUE_##T(B))) \
    X(mulrn_##T, "mul.rn." #T, 2, BITS_##T(VALUE_##T(A) * VALUE_##T(B))) \
    X(div_##T, "div.rn." #T, 2, BITS_##T(VALUE_##T(A) / VALUE_##T(B))) \
    X(rcp_##T, "rcp.rn." #T, 1, BITS_##T(1 / VALUE_##T(A))) \
    X(min_##T, "min." #T, 2, BITS_##T(least_##T(VALUE_##T(A), VALUE_##T(B)))) \
    X(max_##T, "max." #T, 2, BITS_##T(-least_##T(-VALUE_##T(A), -VALUE_##T(B))))

#define OPS(X) \
    X(mov, "mov.*", 1, A) \
    X(selp, "selp.*", 3, C & 1 ? A : B) \
    X(add, "add.i", 2, A + B) \
    X(sub, "sub.i", 2, A - B) \
    X(mul, "mul.lo.i", 2, A *B) \
    X(mad, "mad.lo.i", 3, A *B + C) \
    X(vadd, "vadd.u32.u32.u32.add", 3, A + B + C) \
    X(vsub, "vsub.u32.u32.u32.add", 3, A - B + C) \
    X(brev, "brev.b32", 1, reversed((u32)A)) \
    X(clz32, "clz.b32", 1, (u32)A ? (u64)__builtin_clz((u32)A) : 32) \
    X(clz64, "clz.b64", 1, A ? (u64)__builtin_clzll(A) : 64) \
    X(popc32, "popc.b32", 1, (u64)__builtin_popcount((u32)A)) \
    X(popc64, "popc.b64", 1, (u64)__builtin_popcountll(A)) \
    X(neg, "neg.i", 1, -A) \
    X(and, "and.*", 2, A &B) \
    X(or, "or.*", 2, A | B) \
    X(xor, "xor.*", 2, A ^ B) \
    X(not, "not.i", 1, ~A) \
    X(notp, "not.pred", 1, ~A & 1) \
    X(cnot, "cnot.b32", 1, !(u32)A) \
    X(shl16, "shl.b16", 2, (u32)B < 16 ? A << (B & 15) : 0) \
    X(shl32, "shl.b32", 2, (u32)B < 32 ? A << (B & 31) : 0) \
    X(shl64, "shl.b64", 2, (u32)B < 64 ? A << (B & 63) : 0) \
    X(mulhi_u32, "mul.hi.u32", 2, (u64)(u32)A *(u32)B >> 32) \
    X(mulhi_u64, "mul.hi.u64", 2, high_u64(A, B)) \
    X(mulw_u32, "mul.wide.u32", 2, (u64)(u32)A *(u32)B) \
    X(mulw_s32, "mul.wide.s32", 2, (u64)((s64)(s32)A * (s32)B)) \
    X(madw_u32, "mad.wide.u32", 3, (u64)(u32)A *(u32)B + C) \
    INTEGER(X, u16) \
    INTEGER(X, u32) \
    INTEGER(X, u64) \
    INTEGER(X, s16) \
    INTEGER(X, s32) \
    INTEGER(X, s64) \
    FLOATING(X, f32) \
    FLOATING(X, f64) \
    X(max_nan_f32, "max.NaN.f32", 2, \
      VALUE_f32(A) != VALUE_f32(A)   ? BITS_f32(VALUE_f32(A)) \
      : VALUE_f32(B) != VALUE_f32(B) ? BITS_f32(VALUE_f32(B)) \
                                     : BITS_f32(-least_f32(-VALUE_f32(A), -VALUE_f32(B)))) \
    X(neg_f32, "neg.f32", 1, A ^ 0x80000000u) \
    X(neg_f64, "neg.f64", 1, A ^ (u64)1 << 63) \
    X(abs_f32, "abs.f32", 1, A & 0x7FFFFFFF) \
    X(abs_f64, "abs.f64", 1, A & ~((u64)1 << 63)) \
    X(fma_f32, "fma.rn.f32", 3, BITS_f32(fmaf(VALUE_f32(A), VALUE_f32(B), VALUE_f32(C)))) \
    X(fma_f64, "fma.rn.f64", 3, BITS_f64(fma(VALUE_f64(A), VALUE_f64(B), VALUE_f64(C)))) \
    X(sqrt_f32, "sqrt.rn.f32", 1, BITS_f32(sqrtf(VALUE_f32(A)))) \
    X(sqrt_f64, "sqrt.rn.f64", 1, BITS_f64(sqrt(VALUE_f64(A)))) \
    X(cvt_u8, "cvt.i.u8", 1, (u8)A) \
    X(cvt_u16, "cvt.i.u16", 1, (u16)A) \
    X(cvt_u32, "cvt.i.u32", 1, (u32)A) \
    X(cvt_u64, "cvt.i.u64", 1, A) \
    X(cvt_s8, "cvt.i.s8", 1, (u64)(s64)(s8)A) \
    X(cvt_s16, "cvt.i.s16", 1, (u64)(s64)(s16)A) \
    X(cvt_s32, "cvt.i.s32", 1, (u64)(s64)(s32)A) \
    X(cvt_f64_f32, "cvt.f64.f32", 1, BITS_f64((double)VALUE_f32(A))) \
    X(cvt_f32_f64, "cvt.rn.f32.f64", 1, BITS_f32((float)VALUE_f64(A))) \
    X(cvt_f32_s32, "cvt.rn.f32.s32", 1, BITS_f32((float)(s32)A)) \
    X(cvt_f32_u32, "cvt.rn.f32.u32", 1, BITS_f32((float)(u32)A)) \
    X(cvt_f32_s64, "cvt.rn.f32.s64", 1, BITS_f32((float)(s64)A)) \
    X(cvt_f32_u64, "cvt.rn.f32.u64", 1, BITS_f32((float)A)) \
    X(cvt_f64_s32, "cvt.rn.f64.s32", 1, BITS_f64((double)(s32)A)) \
    X(cvt_f64_u32, "cvt.rn.f64.u32", 1, BITS_f64((double)(u32)A)) \
    X(cvt_f64_s64, "cvt.rn.f64.s64", 1, BITS_f64((double)(s64)A)) \
    X(cvt_f64_u64, "cvt.rn.f64.u64", 1, BITS_f64((double)A)) \
    X(cvt_s32_f32, "cvt.rzi.s32.f32", 1, (u64)saturated(VALUE_f32(A), -2147483648.0, 2147483647.0)) \
    X(cvt_s32_f64, "cvt.rzi.s32.f64", 1, (u64)saturated(VALUE_f64(A), -2147483648.0, 2147483647.0)) \
    X(cvt_u32_f32, "cvt.rzi.u32.f32", 1, (u64)saturated(VALUE_f32(A), 0.0, 4294967295.0)) \
    X(cvt_u32_f64, "cvt.rzi.u32.f64", 1, (u64)saturated(VALUE_f64(A), 0.0, 4294967295.0)) \
    X(cvt_u64_f64, "cvt.rzi.u64.f64", 1, saturated_u64(VALUE_f64(A)))

/* The other instructions; run.c has a case for each. */
enum {
    OP_ret,
    OP_exit,
    OP_trap,
    OP_bra,
    OP_call,
    OP_ld,
    OP_st,
    OP_special, /* mov from %tid or another special register; offset says which */
    OP_local,   /* cvta.local */
    OP_shared,  /* cvta.shared */
    OP_unpack,
    OP_pack,
    OP_fence,
    OP_bar_sync,
    OP_bar_arrive,
    OP_warp_sync,
    OP_shfl_idx,
    OP_shfl_bfly,
    OP_vote,
    OP_atom_add,
    OP_atom_exch,
    OP_atom_cas,
    OP_atom_and,
    OP_atom_or,
    OP_atom_xor,
#define X(id, name, n, expr) OP_##id,
    OPS(X)
#undef X
        N_OPS
};

enum { TID_X, TID_Y, TID_Z, NTID_X, NTID_Y, NTID_Z, CTAID_X, NCTAID_X, LANEID, N_SPECIALS };
enum { BUILTIN_NONE, BUILTIN_MALLOC, BUILTIN_FREE, BUILTIN_VPRINTF };

#endif
