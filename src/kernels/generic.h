/* ---- any other target: 4 lanes ----
   The operations of kernels/vectors.h in the compiler's own vectors (gcc's and clang's extension), for machines without
   a file of their own here, such as RISC-V; kernels/shared.h has the other operations. */

/* These loops go over the lanes: the compiler makes one instruction of each loop, if the machine has one. */
SAMPI_OP V(f) V(max)(V(f) a, V(f) b) { for (int k = 0; k < 4; k++) b[k] = a[k] > b[k] ? a[k] : b[k]; return b; }
SAMPI_OP V(f) V(min)(V(f) a, V(f) b) { for (int k = 0; k < 4; k++) b[k] = a[k] < b[k] ? a[k] : b[k]; return b; }
SAMPI_OP V(d) V(maxd)(V(d) a, V(d) b) { for (int k = 0; k < 2; k++) b[k] = a[k] > b[k] ? a[k] : b[k]; return b; }
SAMPI_OP V(d) V(widen)(V(f) v, int half) { return SAMPI_VECTOR(V(d), v[half ? 2 : 0], v[half ? 3 : 1]); }
SAMPI_OP V(f) V(narrow)(V(d) a, V(d) b)
    { return SAMPI_VECTOR(V(f), (float)a[0], (float)a[1], (float)b[0], (float)b[1]); }
SAMPI_OP V(i) V(trunc)(V(f) v) /* in C, converting a number that does not fit is undefined */
{
    V(m) in = (V(m))(v < 2147483648.0f);
    return (V(i))__builtin_convertvector((V(f))((V(m))v & in), V(m)) | ((V(i))~in & 0x80000000u);
}
SAMPI_OP V(i) V(u16)(const uint16_t *p) { return SAMPI_VECTOR(V(i), p[0], p[1], p[2], p[3]); }
