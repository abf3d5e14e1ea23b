/* ---- sums over a row: estimated with bounds, or exact ----
   A sampi_range has bounds of Z (and of S, the sum of w (max - l)): two ends, equal if exact. Estimates come from one
   pass in floats and cost half as much; samplers compute the exact sum only if the ends do not decide. The room also
   finds the shortest prefix of a compact row with a given mass. */

/* Returns the exact sums of a row; `above` is the mass of the elements from `floor` on. For 128k tokens the pass takes
   35 us, an estimate 15. */
static sampi_sums sampi_row_sums(const sampi_row *row, float max, float floor, bool with_s)
{
    sampi_sums sums = { max, 0, 0, 0, 0 };
    sampi_pieces it;
    for (sampi_start(&it, row); sampi_next_piece(&it);) row->k->sums(it.x, it.n, row->r, max, floor, with_s, &sums);
    return sums;
}

/* Bounds of a row's sums: both ends, equal if exact. */
typedef struct sampi_range {
    float max;
    double z_lo, z_hi; /* Z in units of 2^-40 */
    double s_lo, s_hi;
    uint64_t z; /* exact, if is_exact */
    bool is_exact;
} sampi_range;

/* Sets *range to the exact Z and S; range->max must be set. Returns the mass from `floor` on. */
static SAMPI_CALLED uint64_t sampi_exact_above(const sampi_row *row, float floor, bool with_s, sampi_range *range)
{
    sampi_sums sums = sampi_row_sums(row, range->max, floor, with_s);
    range->z_lo = range->z_hi = (double)sums.z;
    range->s_lo = range->s_hi = (double)sums.s;
    range->z = sums.z;
    range->is_exact = true;
    return sums.above;
}

/* Returns the exact range, after an estimate that did not decide, and for compact rows (sampi_range_of). It counts in
   n_exact. */
static SAMPI_CALLED sampi_range sampi_exact(const sampi_row *row, float max, bool with_s)
{
    sampi_range range;
    if (!sampi_is_compact(row)) row->perf->n_exact++; /* a compact row had no estimate before */
    range.max = max;
    (void)sampi_exact_above(row, row->floor, with_s, &range);
    return range;
}

/* Makes bounds of the exact sums of n weights from sweep's estimates z and s.
   Let d be a token's distance from max, and m = s / z its mean under p. Sweep computes each e^-d with a relative error
   of at most ROUNDING + SLOPE d. So the error of z is ROUNDING + SLOPE m; m is an estimate itself, so 8 nats more are
   allowed. In s the errors are weighted with d once more, and the mean of d^2 may be much larger than m^2; but sweep
   clamps d to 86, so it is at most 86 m. ROUNDING is 13 times SLOPE, so the error is at most SLOPE z (86 + 13) m; the
   code's 4 (1 + m) (13 + m + 8) is above 99 m for every m.
   The exact sums are sums of integers: each weight is rounded by half a unit, and exp has a relative error below 1e-11;
   no weight is farther than 28 nats from the maximum, so s is off by less than 64 times that. */
static void sampi_widen(sampi_range *range, double z, double s, size_t n)
{
    double off = SAMPI_SWEEP_ROUNDING + SAMPI_SWEEP_SLOPE * (s / z + 8.0);
    double z_err = z * off, s_err = (s + z) * 4.0 * off, unit = (double)SAMPI_ONE;
    double slack = (double)n + 1.0 + 1e-11 * ((z + z_err) * unit);
    range->z_lo = (z - z_err) * unit - slack;
    range->z_hi = (z + z_err) * unit + slack;
    range->s_lo = (s - s_err) * unit - 64.0 * slack;
    range->s_hi = (s + s_err) * unit + 64.0 * slack;
    if (range->z_lo < unit) range->z_lo = unit; /* the maximum has a whole weight */
    if (range->s_lo < 0.0) range->s_lo = 0.0;
    range->z = 0;
    range->is_exact = false;
}

/* Estimates the sums of a dense row in one pass. They fit 64 bits: a row has at most 2^22 weights of at most 2^40. */
static void sampi_estimate(const sampi_row *row, sampi_range *range)
{
    double z = 0.0, s = 0.0;
    sampi_pieces it;
    range->max = sampi_row_max(row);
    for (sampi_start(&it, row); sampi_next_piece(&it);) {
        double part_z, part_s;
        row->k->sweep(it.x, it.n, row->r, range->max, &part_z, &part_s);
        z += part_z;
        s += part_s;
    }
    sampi_widen(range, z, s, row->n);
}

/* Computes the range of a row: an estimate for a long dense row. A short row becomes compact first. A compact row is
   summed exactly, S only if with_s. */
static void sampi_range_of(sampi_row *row, sampi_range *range, bool with_s)
{
    if (!sampi_is_compact(row) && row->n > SAMPI_SMALL) {
        sampi_estimate(row, range);
        return;
    }
    sampi_compact(row);
    *range = sampi_exact(row, row->top, with_s);
}

/* Bounds of Z as integers, and of the mass that is a share of it. A double cannot hold an exact Z above 2^53, so an
   exact Z has a member of its own. The cast rounds down, so the upper bound is one more. */
static uint64_t sampi_z_lo(const sampi_range *range) { return range->is_exact ? range->z : (uint64_t)range->z_lo; }

static uint64_t sampi_z_hi(const sampi_range *range)
{
    return range->is_exact ? range->z : (uint64_t)range->z_hi + 1;
}

static uint64_t sampi_mass_lo(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_z_lo(range));
}

static uint64_t sampi_mass_hi(const sampi_range *range, uint64_t share)
{
    return sampi_mass_of(share, sampi_z_hi(range));
}

/* A prefix in order of a compact row: its length, and the logit of its last token. */
typedef struct sampi_prefix {
    size_t n;
    float last;
} sampi_prefix;

/* Returns the shortest prefix with the mass `want`; w [n] are the row's weights. n = 0: the whole row has less. Of the
   tokens equal to the last one, which have equal weights, it has as many as are needed. */
static sampi_prefix sampi_find_prefix(const sampi_row *row, const uint64_t *w, uint64_t want)
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
