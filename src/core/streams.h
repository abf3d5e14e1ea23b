/* ---- random numbers of a sampler ----
   The random numbers of all samplers that draw: xtc, the samplers of >>selection, and their forms on rows, slices and a
   device. Nothing is stored: the numbers are a function of the seed and the position. So apply can be repeated, and a
   row's token is the same in any batch. */

/* Writes 128 random bits to r, a function of (seed, position, stream, attempt). The function is inlined, because on a
   GPU each lane has its own counter, which must stay in registers. sampi_random_bits returns the same bits and is not
   inlined. */
SAMPI_INLINE void sampi_random_of(uint64_t seed, uint64_t position, uint32_t stream, uint32_t attempt, uint64_t r[2])
{
    uint32_t out[4], key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), stream, attempt };
    sampi_philox(counter, key, out);
    r[0] = (uint64_t)out[1] << 32 | out[0];
    r[1] = (uint64_t)out[3] << 32 | out[2];
}
static SAMPI_CALLED void sampi_random_bits(uint64_t seed, uint64_t position, uint32_t stream, uint32_t attempt,
                                           uint64_t r[2])
{
    sampi_random_of(seed, position, stream, attempt, r);
}

SAMP_API uint64_t samp_child_seed(uint64_t seed, uint64_t i)
{
    uint64_t r[2];
    sampi_random_bits(seed, i, UINT32_MAX, 0, r);
    return r[0];
}

/* Returns the number of a sampler's stream of random numbers. It is made of the kind of sampler and its ordinal among
   the samplers of this kind, so two samplers of a chain never share a stream. */
static uint32_t sampi_stream(const sampi_sampler *s, uint32_t kind) { return kind << 16 | s->at_ordinal; }

/* Writes the sampler's random bits at its position to r. `attempt` is 0 for the first two numbers; a draw that needs
   more numbers counts it up. */
static void sampi_random(const sampi_sampler *s, uint32_t attempt, uint64_t r[2])
{
    sampi_random_bits(s->seed, s->at_position, sampi_stream(s, sampi_traits_of(s->kind)->stream), attempt, r);
}
