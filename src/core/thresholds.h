/* ---- thresholds without a sort ----
   The room finds the k-th largest of some numbers, or the value at which a mass is reached. It bisects over the keys of
   floats (integers in the same order), with one counting pass for each halving. */

static float sampi_next_up(float x) { return sampi_unkey(sampi_key(x) + 1); }
static float sampi_next_down(float x) { return sampi_unkey(sampi_key(x) - 1); }

/* Returns the smallest float that is at least t. */
static float sampi_float_up(double t)
{
    if (t <= -(double)FLT_MAX) return -FLT_MAX;
    float f = (float)t;
    return (double)f < t ? sampi_next_up(f) : f;
}

static int32_t sampi_middle(int32_t lo, int32_t hi) { return (int32_t)(((int64_t)lo + hi) >> 1); }

/* The numbers of a search. */
typedef struct sampi_values {
    const sampi_kernels *k;
    const float *x;    /* [n] the numbers */
    const uint64_t *w; /* [n] the weights of the numbers; NULL: each weight is 1 */
    size_t n;
    float top; /* the largest of the numbers, or any larger value; SAMPI_NO_SCORE */
} sampi_values;

#define SAMPI_NO_SCORE 0.0f /* `top` of numbers that are minus scores, whose keys lie far apart just below 0 */

/* Returns the sum of the weights of the numbers that are at least `floor`. */
static uint64_t sampi_mass_above(const sampi_values *values, float floor)
{
    return values->w ? values->k->mass(values->x, values->w, values->n, floor)
                     : values->k->count(values->x, values->n, floor);
}

/* Memory for the numbers to which a search has been narrowed. */
typedef struct sampi_narrowed {
    float x[SAMPI_TILE + 16];
    int32_t at[SAMPI_TILE + 16]; /* [i]: the index of x [i] among all numbers */
    uint64_t w[SAMPI_TILE + 16];
} sampi_narrowed;

/* Narrows a search to the numbers in [low, high), if they are at most SAMPI_TILE. Returns the mass of the numbers from
   `high` on, which are then no longer among the values; 0 if the search is not narrowed. */
static uint64_t sampi_narrow_search(sampi_values *values, float low, float high, sampi_narrowed *to)
{
    const sampi_kernels *k = values->k;
    if (k->count(values->x, values->n, low) - k->count(values->x, values->n, high) > SAMPI_TILE) return 0;
    uint64_t beyond = sampi_mass_above(values, high);
    values->n = k->collect(values->x, NULL, 0, values->n, low, high, to->x, to->at);
    values->x = to->x;
    if (!values->w) return beyond;
    for (size_t i = 0; i < values->n; i++) to->w[i] = values->w[to->at[i]];
    values->w = to->w;
    return beyond;
}

/* Returns the largest value such that the numbers at or above it have at least the mass `want`; -FLT_MAX if all numbers
   together have less. Bisects the keys. The result may be smaller in two cases: if the mass at or above it is at most
   `enough`, or if it is less than `fine` keys below the largest such value. The search starts at `top` with strides
   that double, because the result is rarely far below `top`; among scores the first one is large. */
static float sampi_find_value(const sampi_values *all, uint64_t want, uint64_t enough, int32_t fine)
{
    const int32_t lowest = sampi_key(-FLT_MAX);
    int32_t low = sampi_key(all->top), high = low + 1; /* the numbers from `high` on have less mass than `want` */
    int32_t stride = all->top == SAMPI_NO_SCORE ? 1 << 28 : 1 << 16;
    sampi_values values = *all;
    sampi_narrowed narrowed;
    uint64_t mass = sampi_mass_above(&values, values.top), beyond = 0;
    while (mass < want) {
        if (low == lowest) return -FLT_MAX;
        high = low;
        low = (int64_t)low - lowest > stride ? low - stride : lowest;
        if (stride < 1 << 28) stride *= 2;
        mass = sampi_mass_above(&values, sampi_unkey(low));
    }
    for (int tries = 0; (int64_t)high - low > fine && mass > enough; tries++) {
        int32_t middle = sampi_middle(low, high);
        if (values.n > 2 * SAMPI_TILE && tries % 4 == 3)
            beyond = sampi_narrow_search(&values, sampi_unkey(low), sampi_unkey(high), &narrowed);
        uint64_t mass_middle = beyond + sampi_mass_above(&values, sampi_unkey(middle));
        if (mass_middle < want) {
            high = middle;
        } else {
            low = middle;
            mass = mass_middle;
        }
    }
    return sampi_unkey(low);
}

/* Returns the largest value that at least `want` of the numbers x [n] reach: the want-th largest of them. */
static float sampi_find_nth(const sampi_kernels *k, const float *x, size_t n, size_t want, float top)
{
    sampi_values values = { k, x, NULL, n, top };
    return sampi_find_value(&values, want, 0, 1);
}
