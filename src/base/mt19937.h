/* ---- mt19937 ----
   The random source of llama.cpp's arithmetic (SAMP_RNG_MT19937): C++'s std::mt19937, and libstdc++'s uniform floats
   and doubles made from it. The state of a generator takes 2.5 KB; the sampler that draws owns it. Each number changes
   it, so callers must draw exactly as often as libstdc++ does. The state can also run backwards, to take back draws
   (sampi_mt_back). */

/* mt19937 (Matsumoto and Nishimura 1998), seeded and read as std::mt19937. */
typedef struct sampi_mt {
    uint32_t state[624];
    uint32_t next;  /* the index in `state` of the next output; at 624, new words must be made first */
    uint64_t drawn; /* the number of outputs since the seed, for sampi_mt_back */
} sampi_mt;

/* Seeds the state as std::mt19937's constructor does. */
static SAMPI_CALLED void sampi_mt_seed(sampi_mt *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < 624; i++) mt->state[i] = 1812433253u * (mt->state[i - 1] ^ (mt->state[i - 1] >> 30)) + i;
    mt->next = 624;
    mt->drawn = 0;
}

/* Returns the next output. When the 624 words are used up, the function makes 624 new ones first. */
static uint32_t sampi_mt_next(sampi_mt *mt)
{
    if (mt->next == 624) {
        for (uint32_t i = 0; i < 624; i++) {
            uint32_t y = (mt->state[i] & 0x80000000u) | (mt->state[(i + 1) % 624] & 0x7FFFFFFFu);
            mt->state[i] = mt->state[(i + 397) % 624] ^ (y >> 1) ^ ((y & 1) ? 0x9908B0DFu : 0u);
        }
        mt->next = 0;
    }
    uint32_t y = mt->state[mt->next++];
    mt->drawn++;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

/* Takes the generator back to the state in which `drawn` outputs had been taken; `drawn` must not be above mt->drawn.
   The function undoes blocks of 624 words, one block after the other. Each word of this block yields a value y, and a
   word of the earlier block is put together from the top bit of one y and the lower 31 bits of the y before it. The
   first block is made from the seed, because only one bit of its first word is left. */
static SAMPI_COLD void sampi_mt_back(sampi_mt *mt, uint64_t drawn, uint32_t seed)
{
    uint64_t blocks = (drawn + 623) / 624;
    if (drawn == mt->drawn) return;
    for (uint64_t n = (mt->drawn + 623) / 624; blocks && n > blocks; n--)
        for (uint32_t i = 625, y = 0; i-- > 0;) {
            uint32_t x = mt->state[i ? i - 1 : 623] ^ mt->state[i < 228 ? i + 396 : i - 228];
            /* the value y of the word before word i */
            uint32_t before = x >> 31 ? (x ^ 0x9908B0DFu) << 1 | 1 : x << 1;
            if (i < 624) mt->state[i] = (y & 0x80000000u) | (before & 0x7FFFFFFFu);
            y = before;
        }
    if (blocks == 0) sampi_mt_seed(mt, seed);
    mt->next = (uint32_t)(drawn + 624 - 624 * blocks);
    mt->drawn = drawn;
}

/* Return what libstdc++'s std::uniform_real_distribution<double>(0, 1) and <float>(0, 1) return with std::mt19937. */
static double sampi_mt_double(sampi_mt *mt)
{
    double low = sampi_mt_next(mt), high = sampi_round((double)sampi_mt_next(mt) * 4294967296.0);
    double u = (low + high) / 18446744073709551616.0;
    return u < 1.0 ? u : 0.9999999999999999;
}

static float sampi_mt_float(sampi_mt *mt)
{
    float u = (float)sampi_mt_next(mt) / 4294967296.0f;
    return u < 1.0f ? u : 0.99999994f;
}
