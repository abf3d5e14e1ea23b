/* ---- sums over a row: estimated with bounds, or exact ----
   Samplers need Z, the sum of all weights w, and S, the sum of w (max - l). A sampi_range has a lower and an upper
   bound of each; the bounds are equal if the sum is exact. An estimate takes one pass in floats, and half the time of
   an exact sum. Samplers compute the exact sum only if the two bounds lead to different tokens. The room also finds the
   shortest prefix of a compact row with a given mass. */

/* Returns the exact sums of a row; the member `above` is the mass of the elements from `floor` on. For 128k tokens this
   pass takes 35 us, and an estimate 15 us. */
static sampi_sums sampi_row_sums(const sampi_row *row, float max, float floor, bool with_s)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    sampi_pieces it;
    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);)
        row->k->sums(it.x, it.n, row->r, max, floor, with_s, &sums);
    return sums;
}

/* Lower and upper bounds of a row's sums. The two are equal if the sums are exact. */
typedef struct sampi_range {
    float max;         /* the row's largest logit */
    double z_lo, z_hi; /* bounds of Z (the sum of the weights), in units of 2^-40 */
    double s_lo, s_hi; /* bounds of S (the sum of w (max - l)), in units of 2^-40 */
    uint64_t z;        /* Z itself, if is_exact */
    bool is_exact;
} sampi_range;

/* Sets *range to the exact Z and S; range->max must be set. Returns the mass of the elements from `floor` on. */
static SAMPI_CALLED uint64_t sampi_row_exact_above(const sampi_row *row, float floor, bool with_s, sampi_range *range)
{
    sampi_sums sums = sampi_row_sums(row, range->max, floor, with_s);
    range->z_lo = range->z_hi = (double)sums.z;
    range->s_lo = range->s_hi = (double)sums.s;
    range->z = sums.z;
    range->is_exact = true;
    return sums.above;
}

/* Returns the exact range of a row: after an estimate whose two bounds led to different tokens, and for compact rows
   (sampi_row_range_of). Counts the exact sums of dense rows in perf.n_exact. */
static SAMPI_CALLED sampi_range sampi_row_exact(const sampi_row *row, float max, bool with_s)
{
    sampi_range range = { max, 0.0, 0.0, 0.0, 0.0, 0, false };
    if (!sampi_row_is_compact(row)) row->perf->n_exact++; /* compact rows are never estimated */
    (void)sampi_row_exact_above(row, row->floor, with_s, &range);
    return range;
}

/* Computes bounds of the exact sums of n weights from the estimates z and s of the kernel sweep.
   Let d = max - l be a token's distance from the maximum, in nats, and m = s / z the mean of d under p. Sweep computes
   each e^-d with a relative error of at most ROUNDING + SLOPE d (SAMPI_SWEEP_...). So the relative error of z is
   ROUNDING + SLOPE m; m is an estimate itself, so the code allows 8 nats more. In s each error is multiplied by d once
   more, and the mean of d^2 may be much larger than m^2; but sweep clamps d to 86, so the mean of d^2 is at most 86 m.
   ROUNDING is 13 times SLOPE, so the error of s is at most SLOPE z (86 + 13) m; the code's factor
   4 (1 + m) (13 + m + 8) is above 99 m for every m.
   The exact sums are sums of integers. Each weight is rounded by at most half a unit, and exp has a relative error
   below 1e-11. No weight is farther than 28 nats from the maximum, so this makes s differ by less than 64 times as much
   as z. */
static void sampi_row_widen(sampi_range *range, double z, double s, size_t n)
{
    double off = SAMPI_SWEEP_ROUNDING + SAMPI_SWEEP_SLOPE * (s / z + 8.0);
    double z_err = z * off, s_err = (s + z) * 4.0 * off, unit = (double)SAMPI_MAX_WEIGHT;
    double slack = (double)n + 1.0 + 1e-11 * ((z + z_err) * unit);
    range->z_lo = (z - z_err) * unit - slack;
    range->z_hi = (z + z_err) * unit + slack;
    range->s_lo = (s - s_err) * unit - 64.0 * slack;
    range->s_hi = (s + s_err) * unit + 64.0 * slack;
    if (range->z_lo < unit) range->z_lo = unit; /* Z is at least the weight of the first token, 2^40 */
    if (range->s_lo < 0.0) range->s_lo = 0.0;
    range->z = 0;
    range->is_exact = false;
}

/* Estimates the sums of a dense row in one pass, and sets *range to their bounds. The exact sums would fit 64 bits,
   because a row has at most 2^22 weights of at most 2^40. */
static void sampi_row_estimate(const sampi_row *row, sampi_range *range)
{
    double z = 0.0, s = 0.0;
    sampi_pieces it;
    range->max = sampi_row_max(row);
    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);) {
        double part_z, part_s;
        row->k->sweep(it.x, it.n, row->r, range->max, &part_z, &part_s);
        z += part_z;
        s += part_s;
    }
    sampi_row_widen(range, z, s, row->n);
}

/* Computes the range of a row: an estimate for a dense row of more than SAMPI_SMALL tokens. A shorter row becomes
   compact (copied) first, and a compact row is summed exactly. S is computed exactly only if with_s. */
static void sampi_row_range_of(sampi_row *row, sampi_range *range, bool with_s)
{
    if (!sampi_row_is_compact(row) && row->n > SAMPI_SMALL) {
        sampi_row_estimate(row, range);
        return;
    }
    sampi_row_compact(row);
    *range = sampi_row_exact(row, row->top, with_s);
}

/* Return the bounds of Z as integers, and (sampi_row_mass_lo, sampi_row_mass_hi) the bounds of a share of Z. A double
   cannot hold every Z above 2^53, so an exact Z is in a member of its own. The cast rounds down, so the upper bound
   is one more. */
static uint64_t sampi_row_z_lo(const sampi_range *range)
{
    return range->is_exact ? range->z : (uint64_t)range->z_lo;
}

static uint64_t sampi_row_z_hi(const sampi_range *range)
{
    return range->is_exact ? range->z : (uint64_t)range->z_hi + 1;
}

static uint64_t sampi_row_mass_lo(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_row_z_lo(range));
}

static uint64_t sampi_row_mass_hi(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_row_z_hi(range));
}

/* A prefix of a compact row: the first n tokens in order. */
typedef struct sampi_prefix {
    size_t n;
    float last; /* the logit of the prefix's last token */
} sampi_prefix;

/* Returns the shortest prefix with the mass `want`; w [n] are the weights of the row's tokens. n = 0: the whole row has
   less mass. Tokens with the same logit as the last one have the same weight; the prefix has as many of them as are
   needed. */
static sampi_prefix sampi_row_find_prefix(const sampi_row *row, const uint64_t *w, uint64_t want)
{
    const sampi_kernels *k = row->k;
    sampi_values values = { k, row->x, w, row->n, row->top };
    sampi_prefix prefix = { 0, 0.0f };
    size_t i = 0;
    if (want == 0) want = 1;
    if (k->mass(row->x, w, row->n, -FLT_MAX) < want) return prefix;
    prefix.last = sampi_find_value(&values, want, 0, 1) + 0.0f;
    while (row->x[i] != prefix.last) i++;
    float above = sampi_next_up(prefix.last);
    uint64_t missing = want - k->mass(row->x, w, row->n, above);
    prefix.n = k->count(row->x, row->n, above) + (size_t)((missing + w[i] - 1) / w[i]);
    return prefix;
}
