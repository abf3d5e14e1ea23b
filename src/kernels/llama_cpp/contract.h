/* ---- kernels of llama.cpp's arithmetic ----
   Two more kernels of every set (SAMP_RNG_MT19937), and what they share. Slack and masked mean here what they mean in
   kernels/contract.h.

     expf      e [n] (slack 32) = libm's expf of sampi_finite(x / t) - max, rounded to f32, none above max; masked: 0.
               Returns an estimate of their sum, off by n 2^-53 of it at most. Only where libm's is the one that the
               kernels have (sampi_expf_of).
     climb     what the terms e^(x - c->max) (c->a + c->b (c->max - x)) of the elements not above c->most, as libm makes
               them, add to the f32 sum `from` if each is added to that: *sum grows by these steps (estimates from 2^24
               ulps of `from` on, else exact). Returns for how many terms it is in doubt. */

/* Half an ulp of a float sum; 0, which every term reaches, where it is so small that this is none. */
static float sampi_half_ulp(float sum)
{
    uint32_t u;
    memcpy(&u, &sum, 4);
    u = u >> 23 & 255;
    return sampi_float_of(u > 24 ? (u - 24) << 23 : 0);
}

/* The terms of climb: e^(x - max) is a = 1 and b = 0, -p ln p is ln(sum) / sum and 1 / sum. */
typedef struct sampi_climb {
    float max, most, a, b;
    float sum; /* of e^(x - max), for p; 0: the terms are no shares of an entropy */
} sampi_climb;

/* expf as glibc and musl have it, for x <= 0: 2^(n / 32) less n in the bits that n is added to, and a polynomial. It
   gives the same float with fma and without for all x but one, found by trying all. */
#define SAMPI_EXPF_3   1.6938359250920212e-06
#define SAMPI_EXPF_2   0.00023459809789509004
#define SAMPI_EXPF_1   0.021660849396613134
#define SAMPI_EXPF_ODD (-63.0994606f)
#define SAMPI_EXPF_END (SAMPI_EXPF_ODD + 1e-5f) /* it is asked for between these: see ask */
static const uint64_t SAMPI_EXPF_TABLE[32] = {
    0x3FF0000000000000, 0x3FEFD9B0D3158574, 0x3FEFB5586CF9890F, 0x3FEF9301D0125B51, 0x3FEF72B83C7D517B,
    0x3FEF54873168B9AA, 0x3FEF387A6E756238, 0x3FEF1E9DF51FDEE1, 0x3FEF06FE0A31B715, 0x3FEEF1A7373AA9CB,
    0x3FEEDEA64C123422, 0x3FEECE086061892D, 0x3FEEBFDAD5362A27, 0x3FEEB42B569D4F82, 0x3FEEAB07DD485429,
    0x3FEEA47EB03A5585, 0x3FEEA09E667F3BCD, 0x3FEE9F75E8EC5F74, 0x3FEEA11473EB0187, 0x3FEEA589994CCE13,
    0x3FEEACE5422AA0DB, 0x3FEEB737B0CDC5E5, 0x3FEEC49182A3F090, 0x3FEED503B23E255D, 0x3FEEE89F995AD3AD,
    0x3FEEFF76F2FB5E47, 0x3FEF199BDD85529C, 0x3FEF3720DCEF9069, 0x3FEF5818DCFBA487, 0x3FEF7C97337B9B5F,
    0x3FEFA4AFA2A490DA, 0x3FEFD0765B6E4540,
};

/* How far, of itself, climb's estimate of a term may lie from libm's, down to e^-32: that of e^x by 2e-6, most of which
   is the rounding of a product where there is no fma, that of a share by a few roundings more. */
#define SAMPI_CLIMB_DOUBT 3e-6f
