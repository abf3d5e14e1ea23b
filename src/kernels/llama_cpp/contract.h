/* ---- the kernel of llama.cpp's arithmetic ----
   One more kernel of every set, for llama.cpp's arithmetic (SAMP_RNG_MT19937). "Slack" is explained in
   kernels/contract.h: the elements that a kernel may overwrite beyond its result.

     expf:     writes to e [n] (slack 32) libm's expf of x - max, rounded to f32, and 0 for masked elements; no x may be
               above max. It may be called only if libm's expf is the one that the kernels have (sampi_try_expf). */

/* The expf of glibc and musl for x <= 0: a table of 2^(n / 32), and a polynomial. In the table, n is subtracted from
   the bits to which it is added later. With and without fma the result is the same float for all x but one; this was
   found by trying all x. */
#define SAMPI_EXPF_3   1.6938359250920212e-06
#define SAMPI_EXPF_2   0.00023459809789509004
#define SAMPI_EXPF_1   0.021660849396613134
#define SAMPI_EXPF_ODD (-63.0994606f)
#define SAMPI_EXPF_END (SAMPI_EXPF_ODD + 1e-5f) /* between these two numbers libm itself is called (V(ask)) */
static const uint64_t SAMPI_EXPF_TABLE[32] = {
    0x3FF0000000000000, 0x3FEFD9B0D3158574, 0x3FEFB5586CF9890F, 0x3FEF9301D0125B51, 0x3FEF72B83C7D517B,
    0x3FEF54873168B9AA, 0x3FEF387A6E756238, 0x3FEF1E9DF51FDEE1, 0x3FEF06FE0A31B715, 0x3FEEF1A7373AA9CB,
    0x3FEEDEA64C123422, 0x3FEECE086061892D, 0x3FEEBFDAD5362A27, 0x3FEEB42B569D4F82, 0x3FEEAB07DD485429,
    0x3FEEA47EB03A5585, 0x3FEEA09E667F3BCD, 0x3FEE9F75E8EC5F74, 0x3FEEA11473EB0187, 0x3FEEA589994CCE13,
    0x3FEEACE5422AA0DB, 0x3FEEB737B0CDC5E5, 0x3FEEC49182A3F090, 0x3FEED503B23E255D, 0x3FEEE89F995AD3AD,
    0x3FEEFF76F2FB5E47, 0x3FEF199BDD85529C, 0x3FEF3720DCEF9069, 0x3FEF5818DCFBA487, 0x3FEF7C97337B9B5F,
    0x3FEFA4AFA2A490DA, 0x3FEFD0765B6E4540,
};
