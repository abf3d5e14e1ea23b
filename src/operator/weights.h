/* ================================================================================================ >>operator
   samp_random_sample, sampling as the operator of a tensor library: it computes an index from a row, a random number
   and three settings. It has no sampler, no state, and no memory except the caller's workspace. By definition the row
   is sorted, running sums of its weights are computed, and the random number is looked up in them.

   The row is never sorted. A radix search finds the value at which a number of elements or a mass is reached, digit by
   digit of its key (sampi_key: floats as integers in the same order), the highest digit first: each pass over the row
   adds up the number and the mass of the elements with each digit. The maxima of lines show which tiles a pass may
   skip. Elements equal to the value are then counted by index.

   Weights are computed from (x - top) / temperature, rounded to f32 twice, as the operator is defined. A weight never
   falls as x grows, so all other comparisons are of x itself. */

/* the number of values of a digit of 11 bits, so a float has three digits; the sums of a pass take 32 KiB */
#define SAMPI_DIGITS 2048

/* The elements with one digit in a pass: their number and the sum of their weights. Both are kept, although only one of
   them is searched for, because the other says later how much is above. */
typedef struct sampi_digit {
    uint64_t mass;
    size_t n;
} sampi_digit;

/* An operator: the arguments of samp_random_sample_init. It never changes, so threads may share it. */
struct samp_random_sample {
    samp_dtype result, probs;
    size_t n;
};

/* A row that is searched: the caller's row, converted to f32 if necessary, or the maxima of its lines. Functions write
   only to `digit`. */
typedef struct sampi_ordered {
    const float *x; /* [n] the elements, without NaN */
    size_t n;
    const float *tile; /* [16 * ceil(n / 256)] the maxima of lines, which a kernel has written, or NULL */
    float top, temperature;
    sampi_digit *digit; /* [SAMPI_DIGITS] the sums of a pass, in the workspace */
} sampi_ordered;

/* The state or result of a search: a key, and the number and mass of the elements strictly above it. */
typedef struct sampi_place {
    int32_t key;
    size_t n;
    uint64_t mass;
} sampi_place;

/* ---- weights ----
   The weight of an element is computed by the same two steps everywhere: with different roundings a search would look
   for a mass that does not exist. */

/* Returns the argument of exp, (x - top) / temperature, rounded to f32 after each of the two steps. */
static float sampi_op_scale(const sampi_ordered *row, float x) { return (x - row->top) / row->temperature; }

/* Returns the weight of one element, with which equal elements are counted after a search. sampi_op_scale has
   subtracted the maximum, so the maximum here is 0. */
static uint64_t sampi_op_weight(const sampi_ordered *row, float x)
{
    return sampi_weight(0.0f, sampi_op_scale(row, x));
}

/* Computes the weights w [n + 16] of x [n], n <= 256, which are a tile or elements collected from one. The kernel
   writes up to 16 weights beyond n. Returns the sum of the weights. */
static uint64_t sampi_op_weights(const sampi_ordered *row, const float *x, size_t n, uint64_t *w)
{
    float y[SAMPI_TILE];
    if (n == SAMPI_TILE) /* a constant count makes the compiler use vectors */
        for (size_t i = 0; i < SAMPI_TILE; i++) y[i] = sampi_op_scale(row, x[i]);
    else
        for (size_t i = 0; i < n; i++) y[i] = sampi_op_scale(row, x[i]);
    return sampi_use()->weights(y, n, 0.0f, w, NULL);
}

/* Returns the length of the tile that begins at `at` < n. The last tile may be shorter than SAMPI_TILE. */
static size_t sampi_op_tile(const sampi_ordered *row, size_t at)
{
    return row->n - at < SAMPI_TILE ? row->n - at : SAMPI_TILE;
}

/* Returns the mass of the whole row. topp below 1 is a share of it, and with topk = n it is the mass of the first k. */
static uint64_t sampi_op_total(const sampi_ordered *row)
{
    uint64_t w[SAMPI_TILE + 16], total = 0;
    for (size_t at = 0; at < row->n; at += SAMPI_TILE)
        total += sampi_op_weights(row, row->x + at, sampi_op_tile(row, at), w);
    return total;
}
