/* ---- elements of a row, and bytes ----
   How the library reads bytes from outside. The elements of a row of logits (f16, bf16, f64) become f32, and the mask
   is applied. The 64-bit words of saved states and messages have their least significant byte first, on any machine.
   Checksums detect damage and distinguish settings. All functions are pure, and none depends on a sampler. */

/* sampi_float_of returns the float that has these 32 bits. The two functions below return the float that a bf16 or an
   IEEE half represents. All conversions are exact. */
static float sampi_float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static float sampi_bf16_to_f32(uint16_t h) { return sampi_float_of((uint32_t)h << 16); }
static float sampi_f16_to_f32(uint16_t h)
{
    int32_t low = h & 0x7FFF; /* exponent 31 (infinity, NaN) becomes 255; below 2^-14, `low` counts units of 2^-24 */
    uint32_t u = ((uint32_t)low << 13) + ((uint32_t)(low < 0x7C00 ? 112 : 224) << 23);
    float x = low < 0x400 ? (float)low * (1.0f / (1 << 24)) : sampi_float_of(u);
    return x * (float)(1 - 2 * (h >> 15)); /* a product, not a branch, because signs are hard to predict */
}

#ifdef SAMPLING_KV_DECLARED
/* Returns the nearest half, ties to even. NaN stays NaN. */
static uint16_t sampi_f32_to_f16(float x)
{
    uint32_t u, sign, shift = 13, rest;
    memcpy(&u, &x, 4);
    sign = u >> 16 & 0x8000u;
    u &= 0x7FFFFFFFu;
    if (u > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
    if (u >= 0x47800000u) return (uint16_t)(sign | 0x7C00u); /* x is at least 2^16: infinity */
    if (u < 0x33000000u) return (uint16_t)sign;              /* x is less than half of the smallest half: 0 */
    if (u < 0x38800000u) {                                   /* the half is subnormal: a count of units of 2^-24 */
        shift = 126 - (u >> 23);
        u = (u & 0x7FFFFFu) | 0x800000u;
    } else {
        u -= 112u << 23;
    }
    rest = u & (((uint32_t)1 << shift) - 1);
    u >>= shift;
    u += rest > (uint32_t)1 << (shift - 1) || (rest == (uint32_t)1 << (shift - 1) && (u & 1));
    return (uint16_t)(sign | u); /* if the rounding carries, the exponent grows by 1, which is right */
}
#endif

/* The dtype of a row whose elements are candidates {id, logit, p}. An element's value is the candidate's logit. */
#define SAMPI_CANDIDATE ((samp_dtype)15)

/* Returns the logit of element i of a row as the caller gave it, or -infinity if bit i of the mask is 0. */
static float sampi_element(const void *x, samp_dtype dtype, const uint32_t *mask, size_t i)
{
    if (mask && !(mask[i / 32] >> (i % 32) & 1u)) return -INFINITY;
    if (dtype == SAMPI_CANDIDATE) return ((const samp_token_data *)x)[i].logit;
    if (dtype == SAMP_F16) return sampi_f16_to_f32(((const uint16_t *)x)[i]);
    if (dtype == SAMP_BF16) return sampi_bf16_to_f32(((const uint16_t *)x)[i]);
    return dtype == SAMP_F64 ? (float)((const double *)x)[i] : ((const float *)x)[i];
}

/* Says which bits of `words` words of a mask are set: 0 if no bit is (kernels skip these tokens), 2 if all are (kernels
   read them as if there were no mask), 1 otherwise (kernels test each token). Most masks are uniform over long
   stretches. `words` is even and not 0. */
static inline int sampi_mask_kind(const uint32_t *mask, size_t words)
{
    uint64_t any = 0, all = ~(uint64_t)0, two;
    for (size_t i = 0; i < words; i += 2) {
        memcpy(&two, mask + i, 8);
        any |= two;
        all &= two;
    }
    return all == ~(uint64_t)0 ? 2 : any != 0;
}

/* Calls f with the dtype as a constant. f is inlined, so each dtype gets code of its own. */
#define SAMPI_BY_DTYPE(f, x, dtype, ...) \
    switch (dtype) { \
        case SAMP_F16: return f(x, SAMP_F16, __VA_ARGS__); \
        case SAMP_BF16: return f(x, SAMP_BF16, __VA_ARGS__); \
        case SAMP_F64: return f(x, SAMP_F64, __VA_ARGS__); \
        default: return f(x, SAMP_F32, __VA_ARGS__); \
    }
#define SAMPI_SIZE_OF(dtype) ((size_t)((dtype) == SAMP_F64 ? 8 : (dtype) == SAMP_F32 ? 4 : 2))

/* Returns x with its bytes in little-endian order, which is the order of stored words. A second call undoes the
   first. */
static uint64_t sampi_little(uint64_t x)
{
#if SAMPI_BIG_ENDIAN
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

/* A checksum of 64 bits that detects damage. Each word of eight bytes goes through a bijection, so a change within one
   word always changes the checksum. */
#define SAMPI_CHECKSUM_START 0x9E3779B97F4A7C15u

static uint64_t sampi_checksum_word(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0xD1342543DE82EF95u;
    /* without this step, two changed bits of the next word could cancel a change of this word */
    return (h ^ h >> 29) * 0x9E3779B97F4A7C15u;
}

static uint64_t sampi_checksum(const void *bytes, size_t n)
{
    const char *p = (const char *)bytes;
    uint64_t h = SAMPI_CHECKSUM_START ^ n;
    for (size_t at = 0; at < n; at += 8) {
        uint64_t x = 0;
        memcpy(&x, p + at, n - at < 8 ? n - at : 8);
        h = sampi_checksum_word(h, sampi_little(x));
    }
    return h;
}

/* Adds a number to a fingerprint, a hash of settings. The fingerprint is a chain of checksums of 16 bytes, so the order
   of the numbers matters, and adding a 0 changes it too. */
static void sampi_mix(uint64_t *hash, uint64_t x)
{
    *hash = sampi_checksum_word(sampi_checksum_word(SAMPI_CHECKSUM_START ^ 16, *hash), x);
}

/* Adds a float to a hash. A float is added as the bits of a double, so -0 and 0 differ. A text is added as its
   checksum. */
static void sampi_mix_float(uint64_t *hash, float x) { sampi_mix(hash, sampi_bits((double)x)); }
static void sampi_mix_text(uint64_t *hash, const char *text) { sampi_mix(hash, sampi_checksum(text, strlen(text))); }

static bool sampi_masked(float l) { return l == -INFINITY; }

static float sampi_finite(float l) { return l > FLT_MAX ? FLT_MAX : l < -FLT_MAX ? -FLT_MAX : l; }
