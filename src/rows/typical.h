/* ---- typical: a selection by score, no sort ----
   A token's score is the distance of max - l from its mean; the tokens with the smallest scores are kept. With a
   falling logit the score falls down to the mean, then rises. So the kept tokens are an interval of logits, whose two
   ends have to be found: in the row's head, or in a band around the ends that every 32nd token predicts, or in the
   whole row. Its plan, which sums exactly, takes 1.1 to 2.7 times as long on 128,256 logits. Without the band a row
   whose head is not enough takes 1.3 to 2.7 times as long. */

/* Moves the first tokens of d [n], in the order o, that have the mass `want`, but at least min_keep, to the front;
   returns their number; 0 if d has less mass. Quickselect, whose bad cases end in a sort. */
static size_t sampi_prefix_by(const sampi_order *o, samp_token_data *d, size_t n, uint64_t want, size_t min_keep)
{
    size_t from = 0; /* the tokens before it are in */
    for (int depth = 64; n - from > 16; depth--) {
        if (depth == 0) {
            sampi_heap_sort(o, d + from, n - from);
            break;
        }
        size_t m = from + sampi_partition(o, d + from, n - from);
        samp_token_data_array part = { d + from, m - from, -1, false };
        uint64_t mass = sampi_sum_to(&part, (float)o->max).z;
        if (mass >= want && m >= min_keep) {
            n = m;
        } else {
            want -= mass < want ? mass : want;
            from = m;
        }
    }
    sampi_insertion_sort(o, d + from, n - from);
    for (size_t i = from; i < n; i++) {
        uint64_t w = sampi_weight((float)o->max, d[i].logit);
        want -= w < want ? w : want;
        if (want == 0 && i + 1 >= min_keep) return i + 1;
    }
    return 0;
}

/* The band: the tokens among which the cut is searched. No token below `low` is kept; all tokens of [in_low, in_high)
   are kept, if that is not empty; the others are the band. */
typedef struct sampi_band {
    float low, in_low, in_high;
} sampi_band;

static sampi_band sampi_band_above(float low)
{
    sampi_band band = { low, INFINITY, INFINITY };
    return band;
}

static bool sampi_band_is_whole(const sampi_band *band) { return !(band->in_low < band->in_high); }

/* Tokens with their scores, in the memory of w: weights, then logits (later minus their scores), then indices in the
   row, each with slack 16. With indices a token takes 16 bytes of the 12 (row->n + 128), so they are enough for half of
   the row's tokens. Without (place NULL: the whole row, in order) a token takes 12 bytes. */
typedef struct sampi_scored {
    size_t n;
    uint64_t *w;
    float *y;
    int32_t *place;
} sampi_scored;

static sampi_scored sampi_place_scored(const sampi_work *work, size_t n, bool with_places)
{
    sampi_scored t;
    t.n = n;
    t.w = work->w;
    t.y = (float *)(void *)(t.w + n + 16);
    t.place = with_places ? (int32_t *)(void *)(t.y + n + 16) : NULL;
    return t;
}

/* Collects the band's tokens of a compact row. Returns the mass of the tokens from in_high on. */
static uint64_t sampi_band_tokens(const sampi_row *row, float max, const sampi_band *band, const sampi_scored *t)
{
    const sampi_kernels *k = row->k;
    size_t n = k->collect(row->x, NULL, 0, row->n, band->low, band->in_low, t->y, t->place);
    size_t high = k->collect(row->x, NULL, 0, row->n, band->in_high, INFINITY, t->y + n, t->place + n);
    return k->weights(t->y + n, high, max, t->w + n, NULL);
}

/* Computes weights, and replaces logits by minus their scores, rounded to f32: so the greater comes first. */
static void sampi_score_tokens(const sampi_kernels *k, const sampi_scored *t, const sampi_order *o)
{
    k->weights(t->y, t->n, (float)o->max, t->w, NULL);
    for (size_t i = 0; i < t->n; i++) {
        samp_token_data token = { 0, t->y[i], 0.0f };
        t->y[i] = -sampi_finite((float)sampi_typical_score(o, &token));
    }
}

/* A cut by score. */
typedef struct sampi_score_cut {
    float at;            /* the largest y that holds enough mass, and enough tokens, together with what is above it */
    uint64_t over, upto; /* the mass of tokens with y > at, and with y >= at */
    size_t n_over, n_upto;
} sampi_score_cut;

/* Finds a cut for the mass and one for min_keep; the farther of the two satisfies both. */
static SAMPI_COLD sampi_score_cut sampi_cut_scores(const sampi_kernels *k, const sampi_scored *t, uint64_t want,
                                                   size_t min_keep)
{
    sampi_values values = { k, t->y, t->w, t->n, 0.0f };
    sampi_score_cut cut;
    float by_mass = sampi_find_value(&values, want ? want : 1, 0, 1);
    float by_count = min_keep ? sampi_find_nth(k, t->y, t->n, min_keep, 0.0f) : 0.0f;
    cut.at = by_mass < by_count ? by_mass : by_count;
    float above = sampi_next_up(cut.at);
    cut.over = k->mass(t->y, t->w, t->n, above);
    cut.upto = k->mass(t->y, t->w, t->n, cut.at);
    cut.n_over = k->count(t->y, t->n, above);
    cut.n_upto = k->count(t->y, t->n, cut.at);
    return cut;
}

/* Removes from a compact row the tokens behind the cut, and of those at the cut all except the first that are wanted.
   The tokens that stay unmasked in x are kept. The scored tokens are used up: the memory of w becomes scores and
   indices of the tokens behind the cut, then a list of those at the cut, then these as an array of tokens, whose ids
   are indices. The array is written from its end, because it grows over the list. */
static SAMPI_COLD void sampi_drop_scores(sampi_row *row, const sampi_order *o, const sampi_scored *t, float cut,
                                         uint64_t want, size_t min_keep)
{
    sampi_work *work = row->work;
    float *score = (float *)(void *)work->w; /* 8 (n + 16) bytes with place, as many as w has */
    int32_t *place = (int32_t *)(void *)(score + t->n + 16), *tied = (int32_t *)(void *)work->w;
    samp_token_data *d = (samp_token_data *)(void *)work->w;
    size_t n_tied = 0;
    row->k->scale(t->y, t->n, -1.0f, false, t->y);
    size_t n = row->k->collect(t->y, t->place, 0, t->n, -cut, INFINITY, score, place);
    for (size_t i = 0; i < n; i++) {
        if (score[i] > -cut)
            work->x[place[i]] = -INFINITY;
        else
            place[n_tied++] = place[i];
    }
    memmove(tied, place, n_tied * sizeof *tied);
    for (size_t i = n_tied; i > 0; i--) {
        int32_t at = tied[i - 1];
        d[i - 1].id = at;
        d[i - 1].logit = row->x[at] + 0.0f;
        d[i - 1].p = 0.0f;
    }
    for (size_t i = sampi_prefix_by(o, d, n_tied, want, min_keep); i < n_tied; i++) work->x[d[i].id] = -INFINITY;
}

/* The result of a search in a band: found; the exact sums are needed; or the cut is not in this band. */
typedef enum sampi_found { SAMPI_FOUND, SAMPI_DOUBT, SAMPI_ELSEWHERE } sampi_found;

/* typical's parameters, and the range of the row's sums. */
typedef struct sampi_typical {
    uint64_t share;
    size_t min_keep;
    sampi_range range;
} sampi_typical;

/* Returns the order by score, with the mean in the middle of its range; *off: the distance of the range's ends from it,
   with the rounding of the divisions. */
static sampi_order sampi_typical_order(const sampi_range *range, double *off)
{
    double mean_lo = range->s_lo / range->z_hi, mean_hi = range->s_hi / range->z_lo;
    sampi_order order = { sampi_typical_score, range->max, 0.5 * (mean_lo + mean_hi) };
    *off = range->is_exact ? 0.0 : 0.5 * (mean_hi - mean_lo) + 1e-12 * mean_hi;
    return order;
}

/* Returns a score with its sign: negative above the mean's logit. */
static double sampi_signed_score(const sampi_order *o, float l) { return o->max - (double)l - o->mean; }

/* Are the scores in [in_low, in_high) less than that of the last kept token, and those below `low` greater, by the
   margins? */
static bool sampi_band_holds(const sampi_band *band, const sampi_order *o, double last, double slack, double apart)
{
    if (!(last + apart < sampi_signed_score(o, sampi_next_down(band->low)))) return false;
    if (sampi_band_is_whole(band)) return true;
    double at_low = sampi_abs(sampi_signed_score(o, band->in_low));
    double at_high = sampi_abs(sampi_signed_score(o, sampi_next_down(band->in_high)));
    return at_low < last - slack && at_high < last - slack;
}

static uint64_t sampi_missing(uint64_t want, uint64_t have) { return want > have ? want - have : 0; }

/* Is the choice the same for every mean and Z in the range? The mean changes each score by at most half of `apart`: so
   no other score may be that close to the last one's, and the last token must be needed even for the smallest Z. */
static bool sampi_cut_is_sure(const sampi_kernels *k, const sampi_scored *t, const sampi_score_cut *cut, double apart,
                              uint64_t want_lo, size_t min_keep)
{
    if (cut->n_upto - cut->n_over != 1) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at - apart)) != cut->n_upto) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at + apart)) != cut->n_over) return false;
    return cut->over < want_lo || cut->n_upto == min_keep;
}

/* Keeps the typical tokens of a compact row, if the cut lies in the band. If it lies elsewhere, or the range is not
   exact and does not decide, no token has changed. A band with an inner part needs the mass of that part: the pass for
   it makes the range exact. */
static sampi_found sampi_typical_cut(sampi_row *row, sampi_typical *typical, const sampi_band *band)
{
    const sampi_kernels *k = row->k;
    sampi_range *range = &typical->range;
    bool is_whole = sampi_band_is_whole(band);
    size_t n = row->n, n_inner = 0, min_keep = typical->min_keep;
    uint64_t inner = 0;
    if (!is_whole) {
        n_inner = sampi_row_count(row, band->in_low, band->in_high);
        n = k->count(row->x, n, band->low) - n_inner;
        if (n > row->n / 2) return SAMPI_ELSEWHERE; /* there is no memory for more */
        inner = sampi_exact_above(row, band->in_low, true, range);
    }
    uint64_t want_lo = sampi_mulhi(typical->share, sampi_z_lo(range)) + 1;
    uint64_t want = sampi_mulhi(typical->share, sampi_z_hi(range)) + 1;
    double off;
    sampi_order order = sampi_typical_order(range, &off);
    sampi_scored t = sampi_place_scored(row->work, n, !is_whole);
    if (is_whole)
        memcpy(t.y, row->x, n * sizeof *t.y);
    else
        inner -= sampi_band_tokens(row, range->max, band, &t);
    if (inner >= want && n_inner >= min_keep) return SAMPI_ELSEWHERE;
    want = sampi_missing(want, inner);
    min_keep = (size_t)sampi_missing(min_keep, n_inner);
    sampi_score_tokens(k, &t, &order);
    sampi_score_cut cut = sampi_cut_scores(k, &t, want, min_keep);
    if (cut.upto < want || cut.n_upto < min_keep) return SAMPI_ELSEWHERE;
    double last = -(double)cut.at, slack = 1e-7 * last + 1e-44; /* last: its score; slack: the rounding to f32 */
    double apart = 2.0 * (off + slack);
    if (!sampi_band_holds(band, &order, last, slack, apart)) return SAMPI_ELSEWHERE;
    if (!range->is_exact && !sampi_cut_is_sure(k, &t, &cut, apart, want_lo, min_keep)) return SAMPI_DOUBT;
    sampi_drop_scores(row, &order, &t, cut.at, sampi_missing(want, cut.over),
                      (size_t)sampi_missing(min_keep, cut.n_over));
    sampi_gather(row, band->low);
    (void)sampi_scan(row); /* the maximum may have been removed */
    return SAMPI_FOUND;
}

/* Guesses the band of a long compact row from the scores of every 32nd token: between the ends of shares that are
   larger and smaller than wanted by 1/64, 1/16, 1/4 of the total, wider at each try. */
static sampi_band sampi_typical_guess(const sampi_row *row, const sampi_typical *typical, int tries)
{
    const sampi_range *range = &typical->range;
    sampi_order order = { sampi_typical_score, range->max, range->s_lo / range->z_lo };
    sampi_scored t = sampi_place_scored(row->work, (row->n + 31) / 32, false);
    int shift = 6 - 2 * tries;
    for (size_t i = 0; i < t.n; i++) t.y[i] = row->x[32 * i];
    sampi_score_tokens(row->k, &t, &order);
    uint64_t all = row->k->mass(t.y, t.w, t.n, -FLT_MAX), part = sampi_mulhi(typical->share, all), off = all >> shift;
    size_t rank = typical->min_keep / 32, more = t.n >> shift;
    double far_end = -(double)sampi_cut_scores(row->k, &t, part + off, rank ? rank + more : 0).at;
    double near_end =
        -(double)sampi_cut_scores(row->k, &t, sampi_missing(part, off), (size_t)sampi_missing(rank, more)).at;
    double middle = order.max - order.mean;
    double slack = 1e-6 * (order.mean + near_end); /* tokens that tie at the cut are in the band */
    if (!(near_end > slack)) return sampi_band_above(-FLT_MAX);
    sampi_band band;
    band.low = sampi_float_up(middle - far_end - slack);
    band.in_low = sampi_float_up(middle - near_end + slack);
    band.in_high = sampi_float_up(middle + near_end - slack);
    return band;
}

/* Tries the head of a row in which few tokens are near the mean: tokens farther below the maximum than twice the mean
   are less typical than the maximum itself, and so on. */
static bool sampi_typical_head(sampi_row *row, sampi_typical *typical)
{
    sampi_range *range = &typical->range;
    size_t many = 2 * typical->min_keep + 64;
    float first = many < row->n / 16 ? sampi_logit_of(row, sampi_row_bound(row, many)) : -INFINITY;
    for (double reach = 1.0; reach <= 64.0; reach *= 2.0) {
        double mean = range->s_hi / range->z_lo;
        float low = sampi_float_up((double)range->max - (1.0 + reach) * mean - 1e-3);
        if (typical->min_keep > 1 && low < first) { /* the first min_keep may be enough, and far fewer */
            low = first;
            first = -INFINITY;
        }
        sampi_band band = sampi_band_above(low);
        sampi_row head = *row;
        sampi_gather(&head, sampi_unscale(row, low));
        if (head.n > 4 * SAMPI_SMALL) return false;
        sampi_found found = sampi_typical_cut(&head, typical, &band);
        if (found == SAMPI_DOUBT) {
            *range = sampi_exact(row, range->max, true);
            found = sampi_typical_cut(&head, typical, &band);
        }
        if (found == SAMPI_FOUND) {
            *row = head;
            return true;
        }
    }
    return false;
}

/* typical on a row. For a long row it tries first its head with an estimate, then the whole row, compact, with exact
   sums. There a band is guessed, and widened, before all tokens get a score. */
static int sampi_fast_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_typical typical;
    typical.share = sampi_share(s->u.cut.p);
    typical.min_keep = s->u.cut.min_keep;
    sampi_range_of(row, &typical.range, true);
    if (!sampi_is_compact(row)) {
        if (sampi_typical_head(row, &typical)) return SAMP_OK;
        if (!typical.range.is_exact) row->perf->n_exact++; /* one of the passes below makes it exact */
        sampi_compact(row);
    }
    if (typical.min_keep > row->n) typical.min_keep = row->n;
    if (row->n > 4 * SAMPI_SMALL) {
        for (int tries = 0; tries < 3; tries++) {
            sampi_band band = sampi_typical_guess(row, &typical, tries);
            if (sampi_typical_cut(row, &typical, &band) == SAMPI_FOUND) return SAMP_OK;
        }
    }
    sampi_band all = sampi_band_above(-FLT_MAX); /* with an exact range the cut must lie in it */
    if (!typical.range.is_exact) typical.range = sampi_exact(row, typical.range.max, true);
    (void)sampi_typical_cut(row, &typical, &all);
    return SAMP_OK;
}
