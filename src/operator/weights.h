/* ================================================================================================ >>operator
   samp_random_sample, sampling as a tensor library's operator: one row, one random number and three settings come in,
   one index goes out. There is no sampler, no state, and no memory but the caller's workspace. By definition the row
   is ordered, running sums of its weights are taken, and the random number is looked up in them. The rooms of
   operator/ stand on base/, kernels/ and one check of rows/row.h.

   The order is never made. The value at which a count or a mass is reached is found digit by digit of its key
   (sampi_key: floats as integers in the same order), the highest digit first: each pass over the row sums how many
   elements and what mass fall on each digit. The maxima of the lines tell which tiles a pass may leave out. Ties of
   the value are then counted out by index. This room has the records and the weights.

   The one thing to know: weights are taken of (x - top) / temperature, rounded to f32 twice, as the operator is
   defined; that is monotone in x, so comparing x is enough everywhere else. */

#define SAMPI_DIGITS 2048 /* 11 bits, so three make a float; the sums of a pass are 32 KiB */

/* What falls on one digit in a pass: how many elements, and their weights' sum. Both are kept, whichever is searched,
   since the other one tells later how much lies above. */
typedef struct sampi_digit {
    uint64_t mass;
    size_t n;
} sampi_digit;

/* What was described. Never written after it was made, so threads may share it. */
struct samp_random_sample {
    samp_dtype result, probs;
    size_t n;
};

/* A row in which values are searched: the caller's, converted if need be, or the maxima of its lines. All functions
   here get it const; the only thing they write through it is digit. */
typedef struct sampi_ordered {
    const float *x; /* [n] no NaN */
    size_t n;
    const float *tile; /* [16 * ceil(n / 256)] maxima as the kernel gives them, or NULL */
    float top, temperature;
    sampi_digit *digit; /* [SAMPI_DIGITS] to work in */
} sampi_ordered;

/* Where a search stands or has ended: at this key, with so much strictly above it. */
typedef struct sampi_place {
    int32_t key;
    size_t n;
    uint64_t mass;
} sampi_place;

/* ---- weights ----
   The weight of an element, by the same two steps wherever it is taken: if two places rounded differently, the mass
   that was searched would not be the mass that is found. */

/* What exp is taken of, f32 after each of the two steps. */
static float sampi_op_scale(const sampi_ordered *row, float x) { return (x - row->top) / row->temperature; }

/* The weight of one element: where a search has ended, to count equal ones. The distance to the top is taken already,
   hence the 0. */
static uint64_t sampi_op_weight(const sampi_ordered *row, float x)
{
    return sampi_weight(0.0f, sampi_op_scale(row, x));
}

/* The same of a tile, or of what was collected from one: w [n + 16] of x [n], n <= 256. The kernel writes up to 16
   behind. Returns their sum. */
static uint64_t sampi_op_weights(const sampi_ordered *row, const float *x, size_t n, uint64_t *w)
{
    float y[SAMPI_TILE];
    if (n == SAMPI_TILE) /* a number that the compiler knows makes it use vectors */
        for (size_t i = 0; i < SAMPI_TILE; i++) y[i] = sampi_op_scale(row, x[i]);
    else
        for (size_t i = 0; i < n; i++) y[i] = sampi_op_scale(row, x[i]);
    return sampi_use()->weights(y, n, 0.0f, w, NULL);
}

/* The length of the tile that begins at `at`: the last one may be shorter. at < n. */
static size_t sampi_op_tile(const sampi_ordered *row, size_t at)
{
    return row->n - at < SAMPI_TILE ? row->n - at : SAMPI_TILE;
}

/* The mass of the whole row: for topp below 1, which is a share of it, and for topk = n. Reads only. */
static uint64_t sampi_op_total(const sampi_ordered *row)
{
    uint64_t w[SAMPI_TILE + 16], total = 0;
    for (size_t at = 0; at < row->n; at += SAMPI_TILE)
        total += sampi_op_weights(row, row->x + at, sampi_op_tile(row, at), w);
    return total;
}
