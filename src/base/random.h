/* ===================================================================================================== >>rng
   Philox, the random source of all samplers except those in llama.cpp's arithmetic. The function computes 128 random
   bits from a key and a counter. It has no state, so a draw can be repeated, skipped, or made on another machine.
   sampi_random in core/streams.h makes the counter from a sampler's position. */

/* The generator Philox4x32-10: writes out [4] from counter [4] and key [2].
   Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3". */
SAMPI_INLINE void sampi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t x = (uint64_t)0xD2511F53u * a, y = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(y >> 32) ^ b ^ k0;
        c = (uint32_t)(x >> 32) ^ d ^ k1;
        b = (uint32_t)y;
        d = (uint32_t)x;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}
