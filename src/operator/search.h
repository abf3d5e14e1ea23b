/* ---- operator: the search for a value ----
   Finds the element at which, counted from the largest, a number of elements or a mass is reached. sampi_op_find is a
   radix search over keys, which are integers that order as the floats do. sampi_op_digits makes a histogram of the keys
   in the present range by their next digit, sampi_op_descend chooses a digit, and the next round searches the keys with
   that digit. sampi_op_nth then turns the value into an index. The search writes only to the histogram in the
   workspace. */

/* Are all elements of the tile that begins at `at` below the floor? A tile has 16 lines of 16 elements, so its maxima
   are 16 floats. Without maxima the answer is no. */
static bool sampi_op_skips(const sampi_ordered *row, size_t at, float floor)
{
    if (!row->tile) return false;
    const float *line = row->tile + at / 16;
    float max = line[0];
    for (int j = 1; j < 16; j++) max = line[j] > max ? line[j] : max;
    return max < floor;
}

/* Adds up, in row->digit, the number and the mass of the elements with keys lo .. lo + span, for each digit (key - lo)
   >> shift. Keys are subtracted as unsigned numbers: the difference is below 2^32 whatever the signs of the floats. */
static void sampi_op_digits(const sampi_ordered *row, int32_t lo, uint32_t span, int shift)
{
    uint64_t w[SAMPI_TILE + 16];
    float x[SAMPI_TILE + 16], floor = sampi_unkey(lo);
    int32_t id[SAMPI_TILE + 16];
    uint32_t digit[SAMPI_TILE + 16];
    memset(row->digit, 0, SAMPI_DIGITS * sizeof *row->digit);
    for (size_t at = 0; at < row->n; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, floor)) continue;
        size_t reaching = sampi_use()->collect(row->x + at, NULL, 0, sampi_op_tile(row, at), floor, INFINITY, x, id);
        size_t n = 0;
        /* no branch: an element above the span is overwritten by the next one */
        for (size_t i = 0; i < reaching; i++) {
            uint32_t off = (uint32_t)sampi_key(x[i]) - (uint32_t)lo;
            x[n] = x[i];
            digit[n] = off >> shift;
            n += off <= span;
        }
        (void)sampi_op_weights(row, x, n, w);
        for (size_t i = 0; i < n; i++) {
            row->digit[digit[i]].n++;
            row->digit[digit[i]].mass += w[i];
        }
    }
}

/* Goes from the last (highest) digit down, adding the digits' numbers and masses to *at, to the digit with which the
   number (or the mass) reaches `required`. Writes it to *digit; *at then has the sums above it. Returns false if all
   digits together are not enough. */
static bool sampi_op_descend(const sampi_ordered *row, uint32_t last, uint64_t required, bool by_mass,
                             sampi_place *at, uint32_t *digit)
{
    for (uint32_t i = last + 1; i > 0; i--) {
        const sampi_digit *d = &row->digit[i - 1];
        uint64_t reached = by_mass ? at->mass + d->mass : at->n + d->n;
        if (reached >= required) {
            *digit = i - 1;
            return true;
        }
        at->n += d->n;
        at->mass += d->mass;
    }
    return false;
}

/* Finds the largest value x such that at least `required` elements are >= x (by_mass: such that these elements have at
   least that mass). By number it finds the k-th largest element, by mass the sampled one. Returns false if all elements
   from `floor` up are not enough; then *at has their number and mass. The search takes at most three passes, because a
   float has 32 bits and a digit 11. */
static bool sampi_op_find(const sampi_ordered *row, float floor, uint64_t required, bool by_mass, sampi_place *at)
{
    uint32_t span = (uint32_t)sampi_key(row->top) - (uint32_t)sampi_key(floor);
    int shift;
    at->key = sampi_key(floor);
    at->n = 0;
    at->mass = 0;
    do { /* the key is in [at->key, at->key + span]; at->n and at->mass count the elements above this range */
        uint32_t digit = 0;
        shift = 0;
        while (span >> shift >= SAMPI_DIGITS) shift++;
        sampi_op_digits(row, at->key, span, shift);
        if (!sampi_op_descend(row, span >> shift, required, by_mass, at, &digit)) return false;
        at->key = (int32_t)((uint32_t)at->key + (digit << shift));
        span = ((uint32_t)1 << shift) - 1;
    } while (shift > 0);
    return true;
}

/* Returns the index of the nth (1 = first) element equal to x. At least nth such elements must exist, or the loop would
   not end. x is the value that a search has found; for the argmax it is the maximum, and nth is 1. */
static size_t sampi_op_nth(const sampi_ordered *row, float x, uint64_t nth)
{
    for (size_t at = 0;; at += SAMPI_TILE) {
        if (sampi_op_skips(row, at, x)) continue;
        for (size_t i = at; i < at + SAMPI_TILE && i < row->n; i++) {
            if (row->x[i] != x) continue;
            nth--;
            if (nth == 0) return i;
        }
    }
}

/* Returns the mass of the k largest elements. Raises *floor, so that all of these elements are >= *floor, except
   elements of weight 0. The maxima of lines, a sixteenth of the row, are searched first: if k maxima are not below a
   value, then k elements are not. Of the elements equal to the k-th largest, only those among the k count. */
static uint64_t sampi_op_mass_of(const sampi_ordered *row, size_t k, float *floor)
{
    sampi_ordered maxima = *row;
    sampi_place at;
    maxima.x = row->tile;
    maxima.n = 16 * ((row->n + SAMPI_TILE - 1) / SAMPI_TILE);
    maxima.tile = NULL;
    if (sampi_op_find(&maxima, *floor, k, false, &at)) *floor = sampi_unkey(at.key);
    if (!sampi_op_find(row, *floor, k, false, &at)) return at.mass;
    *floor = sampi_unkey(at.key);
    return at.mass + (k - at.n) * sampi_op_weight(row, *floor);
}

/* Returns the sampled index: the first at which the running sum of weights reaches the share `random` of the first k's
   mass, but at most random * topp of the row's mass. random, topp and temperature are above 0 (otherwise the caller
   takes the argmax). The search finds a value; the equal elements that are needed to reach the required mass are then
   counted. Their weight is not 0, because the search has found mass at the value. */
static size_t sampi_op_sample(const sampi_ordered *row, float random, float topp, size_t topk)
{
    /* below this floor weights are 0, because e^-28.4 rounds to 0 in units of 2^-40 */
    float floor = row->top - 29.0f * row->temperature;
    sampi_place at;
    uint64_t total = topp < 1.0f || topk == row->n ? sampi_op_total(row) : 0;
    uint64_t top_mass = topk < row->n ? sampi_op_mass_of(row, topk, &floor) : total;
    uint64_t required = sampi_mass_of(sampi_share((double)random), top_mass);
    if (topp < 1.0f) {
        uint64_t nucleus = sampi_mass_of(sampi_share((double)random * (double)topp), total);
        if (nucleus < required) required = nucleus;
    }
    if (required == 0) required = 1;
    sampi_op_find(row, floor, required, true, &at); /* always found, because required <= top_mass */
    float x = sampi_unkey(at.key);
    uint64_t w = sampi_op_weight(row, x);
    return sampi_op_nth(row, x, (required - at.mass + w - 1) / w);
}
