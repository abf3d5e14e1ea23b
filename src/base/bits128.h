/* ---- integers of 128 bits ----
   Sums, differences and products of 128 bits, and their conversion to double. Some exact values do not fit 64 bits:
   variances (top_n_sigma), shares of a mass (top_p), squares. Products use the compiler's 128-bit type where it has
   one, and two halves of 64 bits elsewhere. */

/* An unsigned integer of 128 bits as two halves, because not every target has such a type. Sums wrap around. */
typedef struct sampi_u128 {
    uint64_t hi, lo;
} sampi_u128;

/* Returns a * b from four products of 32 bits. sampi_mul128 calls this function where the compiler has no 128-bit
   integer. It is compiled everywhere, so that a test can compare both ways. None of the sums can overflow. */
static inline sampi_u128 sampi_mul128_by_halves(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32); /* neither this line nor the next can overflow */
    uint64_t other = a0 * b1 + (uint32_t)cross;
    sampi_u128 product = { a1 * b1 + (cross >> 32) + (other >> 32), other << 32 | (uint32_t)low };
    return product;
}

static inline sampi_u128 sampi_mul128(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__) && !defined(SAMPI_PORTABLE_128)
    __extension__ typedef unsigned __int128 wide;
    wide x = (wide)a * b;
    sampi_u128 product = { (uint64_t)(x >> 64), (uint64_t)x };
    return product;
#else
    return sampi_mul128_by_halves(a, b);
#endif
}

static inline sampi_u128 sampi_add128(sampi_u128 a, sampi_u128 b)
{
    sampi_u128 sum = { a.hi + b.hi, a.lo + b.lo };
    sum.hi += sum.lo < a.lo;
    return sum;
}

static inline sampi_u128 sampi_sub128(sampi_u128 a, sampi_u128 b)
{
    sampi_u128 rest = { a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };
    return rest;
}

/* Returns the number of leading zero bits of x. x must not be 0. */
static inline int sampi_leading_zeros(uint64_t x)
{
#if SAMPI_GNU
    return __builtin_clzll(x);
#else
    int n = 0;
    while (!(x >> (63 - n))) n++;
    return n;
#endif
}

/* Returns the double nearest to x, ties to even. The conversion rounds the upper 64 bits of x. The last of these bits
   is set if any lower bit of x is set, so that a value just above a tie is rounded up. */
static inline double sampi_double_of_128(sampi_u128 x)
{
    if (x.hi == 0) return (double)x.lo;
    int empty = sampi_leading_zeros(x.hi);
    uint64_t top = empty ? x.hi << empty | x.lo >> (64 - empty) : x.hi;
    top |= (x.lo << empty) != 0;
    return (double)top * sampi_from_bits((uint64_t)(1023 + 64 - empty) << 52);
}

static uint64_t sampi_mulhi(uint64_t a, uint64_t b) { return sampi_mul128(a, b).hi; }

/* sampi_share returns the probability p in [0, 1) as an integer P = p * 2^64.
   sampi_mass_of returns the smallest integer that is at least the share P of the sum z: ceil(P * z / 2^64). */
static uint64_t sampi_share(double p) { return (uint64_t)(p * 18446744073709551616.0); }
static uint64_t sampi_mass_of(uint64_t share, uint64_t z)
{
    sampi_u128 x = sampi_mul128(share, z);
    return x.hi + (x.lo != 0);
}
