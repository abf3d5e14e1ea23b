/* ---- the candidate at a mass ----
   The search that all draws share. Each candidate has a mass, an integer. The search finds the first candidate, in
   ascending id, at which the running sum of masses exceeds a random number: with masses 2, 5, 3 and the number 6 it
   finds the second. A function computes the masses: for a draw they are envelopes (upper bounds of weights), after a
   rejected draft token the residual max(0, p - q). */

/* Returns the mass of a candidate in a draw. `draw` points to the function's own data. */
typedef uint64_t (*sampi_mass)(const void *draw, const samp_token_data *candidate);

/* Adds up the masses of the candidates with ids lo .. hi, in sum [256], by the digit (id - lo) >> shift. */
static void sampi_sum_digits(const samp_token_data_array *cur, sampi_mass mass, const void *draw, int64_t lo,
                             int64_t hi, int shift, uint64_t *sum)
{
    const samp_token_data *d = cur->data;
    memset(sum, 0, 256 * sizeof *sum);
    for (size_t i = 0; i < cur->size; i++)
        if (d[i].id >= lo && d[i].id <= hi) sum[(d[i].id - lo) >> shift] += mass(draw, &d[i]);
}

/* Returns the index of the first candidate, in ascending id, whose running sum of masses exceeds t; t must be below the
   total. The array may be in any order: the function does not sort it by id, but searches the id digit by digit, 8 bits
   at a time, the highest first, in at most four passes. */
static size_t sampi_find_by_mass(const samp_token_data_array *cur, sampi_mass mass, const void *draw, uint64_t t)
{
    const samp_token_data *d = cur->data;
    int64_t lo = d[0].id, hi = d[0].id;
    int shift = 0;
    for (size_t i = 1; i < cur->size; i++) {
        if (d[i].id < lo) lo = d[i].id;
        if (d[i].id > hi) hi = d[i].id;
    }
    while ((hi - lo) >> shift > 255) shift += 8;
    for (; shift >= 0; shift -= 8) { /* the id is in [lo, hi]; t counts from lo */
        uint64_t sum[256];
        int digit = 0;
        sampi_sum_digits(cur, mass, draw, lo, hi, shift, sum);
        while (sum[digit] <= t) {
            t -= sum[digit];
            digit++;
        }
        lo += (int64_t)digit << shift;
        hi = lo + ((int64_t)1 << shift) - 1;
    }
    for (size_t i = 0;; i++) { /* a user's array may have an id twice: then its sum is of both masses */
        if (d[i].id != lo) continue;
        uint64_t m = mass(draw, &d[i]);
        if (t < m) return i;
        t -= m;
    }
}

/* Returns the envelope of a candidate as its mass. An envelope is an upper bound of the candidate's weight. */
static uint64_t sampi_envelope_mass(const void *max, const samp_token_data *d)
{
    return sampi_envelope(*(const float *)max, d->logit);
}

/* Returns the sum of the envelopes of a tile, which begins at the candidate `at`. */
static uint64_t sampi_envelope_of_tile(const samp_token_data_array *cur, size_t at, float max)
{
    float x[SAMPI_TILE];
    uint64_t sum = 0;
    sampi_use()->envelope(x, sampi_copy_logits(cur, at, x), 1.0f, max, -FLT_MAX, &sum);
    return sum;
}

/* Returns the candidate that a draw proposes: the first at which the running sum of envelopes exceeds t. If the ids of
   an array ascend, whole tiles are passed over. */
static size_t sampi_find(const samp_token_data_array *cur, float max, uint64_t t)
{
    if (!sampi_ascends(cur->data, cur->size)) return sampi_find_by_mass(cur, sampi_envelope_mass, &max, t);
    for (size_t at = 0;; at += SAMPI_TILE) {
        const uint64_t sum = sampi_envelope_of_tile(cur, at, max);
        for (size_t i = at; t < sum; i++) {
            const uint64_t mass = sampi_envelope(max, cur->data[i].logit);
            if (t < mass) return i;
            t -= mass;
        }
        t -= sum;
    }
}
