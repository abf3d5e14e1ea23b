/* ---- typical: a selection by score, no sort ----
   A token's score is the distance of max - l (l: its logit) from the mean of max - l under p. typical keeps the tokens
   with the smallest scores. As the logit falls, the score falls until the mean is reached, then rises. So the kept
   tokens are an interval of logits, and the code has to find its two ends. It searches them among the row's largest
   logits (the head), or in a band: two intervals of logits around the ends that every 32nd token predicts. If both
   fail, it searches the whole row. The sampler's plan sums exactly, and takes 1.1 to 2.7 times as long on 128,256
   logits. Without the band, a row whose head is not enough takes 1.3 to 2.7 times as long. */

/* Moves to the front of d [n] the shortest prefix in the order o that has the mass `want` and at least min_keep tokens;
   returns the number of its tokens; 0 if d has less mass. It is a quickselect; after 64 rounds a heap sort ends it. */
static size_t sampi_row_prefix_by(const sampi_order *o, samp_token_data *d, size_t n, uint64_t want, size_t min_keep)
{
    size_t from = 0; /* the tokens before this index are in the prefix */
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

/* The band: the tokens whose scores are compared. Tokens with a logit below `low` are not kept. Tokens with a logit in
   [in_low, in_high), if this interval is not empty, are all kept; they are the inner part. The other tokens are the
   band. */
typedef struct sampi_band {
    float low, in_low, in_high;
} sampi_band;

/* Returns the band of all tokens with a logit from `low` on, without an inner part. */
static sampi_band sampi_row_band_above(float low)
{
    sampi_band band = { low, INFINITY, INFINITY };
    return band;
}

/* Is the inner part of the band (tokens that are kept without a comparison of scores) empty? */
static bool sampi_row_band_is_whole(const sampi_band *band) { return !(band->in_low < band->in_high); }

/* Tokens with their scores. The three arrays lie one behind the other in work->w, each with memory for 16 more
   elements. That memory has 12 (row->n + 128) bytes. With indices a token takes 16 bytes, so there is room for half of
   the row's tokens; without them a token takes 12 bytes. */
typedef struct sampi_scored {
    size_t n;
    uint64_t *w;    /* [n] weights */
    float *y;       /* [n] logits of the tokens; sampi_row_score_tokens replaces them by minus their scores */
    int32_t *place; /* [n] the index of each token in the row; NULL: the tokens are the whole row, in order */
} sampi_scored;

/* Lays out the arrays of sampi_scored for n tokens; with_places: with their indices in the row. */
static sampi_scored sampi_row_place_scored(const sampi_work *work, size_t n, bool with_places)
{
    sampi_scored t;
    t.n = n;
    t.w = work->w;
    t.y = (float *)(void *)(t.w + n + 16);
    t.place = with_places ? (int32_t *)(void *)(t.y + n + 16) : NULL;
    return t;
}

/* Collects the tokens of a compact row that are in the band. Returns the mass of those with a logit from in_high on. */
static uint64_t sampi_row_band_tokens(const sampi_row *row, float max, const sampi_band *band, const sampi_scored *t)
{
    const sampi_kernels *k = row->k;
    size_t n = k->collect(row->x, NULL, 0, row->n, band->low, band->in_low, t->y, t->place);
    size_t high = k->collect(row->x, NULL, 0, row->n, band->in_high, INFINITY, t->y + n, t->place + n);
    return k->weights(t->y + n, high, max, t->w + n, NULL);
}

/* Computes the weights of the tokens, and replaces their logits by minus their scores, rounded to f32. So the token
   with the greatest y comes first. */
static void sampi_row_score_tokens(const sampi_kernels *k, const sampi_scored *t, const sampi_order *o)
{
    k->weights(t->y, t->n, (float)o->max, t->w, NULL);
    for (size_t i = 0; i < t->n; i++) {
        samp_token_data token = { 0, t->y[i], 0.0f };
        t->y[i] = -sampi_finite((float)sampi_typical_score(o, &token));
    }
}

/* A cut by score: tokens with a y (minus the score) below it are removed. */
typedef struct sampi_score_cut {
    float at;              /* the largest y such that the tokens from it on have enough mass and are enough tokens */
    uint64_t over, upto;   /* the mass of tokens with y > at, and with y >= at */
    size_t n_over, n_upto; /* the numbers of these tokens */
} sampi_score_cut;

/* Finds the cut for the mass `want` and the cut for min_keep tokens, and returns the one with the smaller y: it
   satisfies both. */
static SAMPI_COLD sampi_score_cut sampi_row_cut_scores(const sampi_kernels *k, const sampi_scored *t, uint64_t want,
                                                   size_t min_keep)
{
    sampi_values values = { k, t->y, t->w, t->n, SAMPI_NO_SCORE };
    sampi_score_cut cut;
    float by_mass = sampi_find_value(&values, want ? want : 1, 0, 1);
    float by_count = min_keep ? sampi_find_nth(k, t->y, t->n, min_keep, SAMPI_NO_SCORE) : 0.0f;
    cut.at = by_mass < by_count ? by_mass : by_count;
    float above = sampi_next_up(cut.at);
    cut.over = k->mass(t->y, t->w, t->n, above);
    cut.upto = k->mass(t->y, t->w, t->n, cut.at);
    cut.n_over = k->count(t->y, t->n, above);
    cut.n_upto = k->count(t->y, t->n, cut.at);
    return cut;
}

/* Masks, in a compact row, the tokens whose y (minus the score) is below the cut. Of the tokens with y equal to the cut
   it masks all except the first that are wanted (for the mass `want` and min_keep). The caller then removes masked
   tokens. The scored tokens t are overwritten; the memory of work->w [n + 16] has in turn:

     score [n + 16], place [n + 16]   the scores and indices of the tokens up to the cut
     tied [n_tied]                    the indices of the tokens at the cut
     d [n_tied]                       the same as an array, written from its end on, because it overwrites the list */
static SAMPI_COLD void sampi_row_drop_scores(sampi_row *row, const sampi_order *o, const sampi_scored *t, float cut,
                                         uint64_t want, size_t min_keep)
{
    sampi_work *work = row->work;
    float *score = (float *)(void *)work->w; /* score and place take 8 (n + 16) bytes, as many as t->w */
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
    for (size_t i = sampi_row_prefix_by(o, d, n_tied, want, min_keep); i < n_tied; i++) work->x[d[i].id] = -INFINITY;
}

/* The result of a search in a band: the cut is found; the exact sums are needed to find it; it is not in this band. */
typedef enum sampi_found { SAMPI_FOUND, SAMPI_DOUBT, SAMPI_ELSEWHERE } sampi_found;

/* typical's parameters, and bounds of the row's sums. */
typedef struct sampi_typical {
    uint64_t share; /* the share of the mass that is kept */
    size_t min_keep;
    sampi_range range;
} sampi_typical;

/* Returns the order by score, for a mean in the middle between its two bounds. *off: the distance of the bounds from
   this mean, including the rounding of the divisions. */
static sampi_order sampi_row_typical_order(const sampi_range *range, double *off)
{
    double mean_lo = range->s_lo / range->z_hi, mean_hi = range->s_hi / range->z_lo;
    sampi_order order = { sampi_typical_score, range->max, 0.5 * (mean_lo + mean_hi) };
    *off = range->is_exact ? 0.0 : 0.5 * (mean_hi - mean_lo) + 1e-12 * mean_hi;
    return order;
}

/* Returns the score of the logit l with a sign: negative for logits above that of the mean. */
static double sampi_row_signed_score(const sampi_order *o, float l) { return o->max - (double)l - o->mean; }

/* Do the inner part and the removed part of a band fit the cut? The scores of logits in [in_low, in_high) must be less
   than `last`, the score of the last kept token, by the margin slack; those of logits below band->low must be greater
   by the margin apart. */
static bool sampi_row_band_holds(const sampi_band *band, const sampi_order *o, double last, double slack,
                                 double apart)
{
    if (!(last + apart < sampi_row_signed_score(o, sampi_next_down(band->low)))) return false;
    if (sampi_row_band_is_whole(band)) return true;
    double at_low = sampi_abs(sampi_row_signed_score(o, band->in_low));
    double at_high = sampi_abs(sampi_row_signed_score(o, sampi_next_down(band->in_high)));
    return at_low < last - slack && at_high < last - slack;
}

/* Returns how much of `want` is missing; 0 if nothing is. */
static uint64_t sampi_row_missing(uint64_t want, uint64_t have) { return want > have ? want - have : 0; }

/* Are the same tokens kept for every mean and every Z between the bounds? A different mean changes each score by at
   most half of `apart`. So no other token may have a score within `apart` of the last kept token's. And that token must
   be needed even for the smallest Z. */
static bool sampi_row_cut_is_sure(const sampi_kernels *k, const sampi_scored *t, const sampi_score_cut *cut,
                                  double apart, uint64_t want_lo, size_t min_keep)
{
    if (cut->n_upto - cut->n_over != 1) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at - apart)) != cut->n_upto) return false;
    if (k->count(t->y, t->n, sampi_float_up((double)cut->at + apart)) != cut->n_over) return false;
    return cut->over < want_lo || cut->n_upto == min_keep;
}

/* Keeps the typical tokens of a compact row if the cut lies in the band. If it lies elsewhere, or if the sums are not
   exact and leave a doubt (SAMPI_DOUBT), the row is unchanged. If the band has an inner part, the mass of that part is
   needed; the pass that computes this mass makes the sums exact. */
static sampi_found sampi_row_typical_cut(sampi_row *row, sampi_typical *typical, const sampi_band *band)
{
    const sampi_kernels *k = row->k;
    sampi_range *range = &typical->range;
    bool is_whole = sampi_row_band_is_whole(band);
    size_t n = row->n, n_inner = 0, min_keep = typical->min_keep;
    uint64_t inner = 0;
    if (!is_whole) {
        n_inner = sampi_row_count(row, band->in_low, band->in_high);
        n = k->count(row->x, n, band->low) - n_inner;
        if (n > row->n / 2) return SAMPI_ELSEWHERE; /* work->w has no memory for so many scored tokens */
        inner = sampi_row_exact_above(row, band->in_low, true, range);
    }
    uint64_t want_lo = sampi_mulhi(typical->share, sampi_row_z_lo(range)) + 1;
    uint64_t want = sampi_mulhi(typical->share, sampi_row_z_hi(range)) + 1;
    double off;
    sampi_order order = sampi_row_typical_order(range, &off);
    sampi_scored t = sampi_row_place_scored(row->work, n, !is_whole);
    if (is_whole)
        memcpy(t.y, row->x, n * sizeof *t.y);
    else
        inner -= sampi_row_band_tokens(row, range->max, band, &t);
    if (inner >= want && n_inner >= min_keep) return SAMPI_ELSEWHERE;
    want = sampi_row_missing(want, inner);
    min_keep = (size_t)sampi_row_missing(min_keep, n_inner);
    sampi_row_score_tokens(k, &t, &order);
    sampi_score_cut cut = sampi_row_cut_scores(k, &t, want, min_keep);
    if (cut.upto < want || cut.n_upto < min_keep) return SAMPI_ELSEWHERE;
    double last = -(double)cut.at, slack = 1e-7 * last + 1e-44; /* the largest kept score; its rounding to f32 */
    double apart = 2.0 * (off + slack);
    if (!sampi_row_band_holds(band, &order, last, slack, apart)) return SAMPI_ELSEWHERE;
    if (!range->is_exact && !sampi_row_cut_is_sure(k, &t, &cut, apart, want_lo, min_keep)) return SAMPI_DOUBT;
    sampi_row_drop_scores(row, &order, &t, cut.at, sampi_row_missing(want, cut.over),
                      (size_t)sampi_row_missing(min_keep, cut.n_over));
    sampi_row_gather(row, band->low);
    (void)sampi_row_scan(row); /* computes the maximum anew: its token may have been removed */
    return SAMPI_FOUND;
}

/* Guesses the band of a long compact row from the scores of every 32nd token. The band lies between the ends of two
   shares of the mass: the wanted share plus and minus 1/64 of the total at the first try, 1/16 at the second and 1/4 at
   the third. */
static sampi_band sampi_row_typical_guess(const sampi_row *row, const sampi_typical *typical, int tries)
{
    const sampi_range *range = &typical->range;
    sampi_order order = { sampi_typical_score, range->max, range->s_lo / range->z_lo };
    sampi_scored t = sampi_row_place_scored(row->work, (row->n + 31) / 32, false);
    int shift = 6 - 2 * tries;
    for (size_t i = 0; i < t.n; i++) t.y[i] = row->x[32 * i];
    sampi_row_score_tokens(row->k, &t, &order);
    uint64_t all = row->k->mass(t.y, t.w, t.n, -FLT_MAX), part = sampi_mulhi(typical->share, all), off = all >> shift;
    size_t rank = typical->min_keep / 32, more = t.n >> shift;
    double far_end = -(double)sampi_row_cut_scores(row->k, &t, part + off, rank ? rank + more : 0).at;
    double near_end = -(double)sampi_row_cut_scores(row->k, &t, sampi_row_missing(part, off),
                                                    (size_t)sampi_row_missing(rank, more))
                           .at;
    double middle = order.max - order.mean;
    double slack = 1e-6 * (order.mean + near_end); /* so that all tokens with the score of the cut are in the band */
    if (!(near_end > slack)) return sampi_row_band_above(-FLT_MAX);
    sampi_band band;
    band.low = sampi_float_up(middle - far_end - slack);
    band.in_low = sampi_float_up(middle - near_end + slack);
    band.in_high = sampi_float_up(middle + near_end - slack);
    return band;
}

/* Tries to find the cut among the largest logits of a dense row (the head), which succeeds if few tokens are near the
   mean. At first the head has the tokens up to twice the mean below the maximum: all others are less typical than the
   token of the maximum itself. Then it grows, up to 65 times the mean. False: the row is unchanged, and its sums may
   have become exact. */
static bool sampi_row_typical_head(sampi_row *row, sampi_typical *typical)
{
    sampi_range *range = &typical->range;
    size_t many = 2 * typical->min_keep + 64;
    float first = many < row->n / 16 ? sampi_row_logit_of(row, sampi_row_bound(row, many)) : -INFINITY;
    for (double reach = 1.0; reach <= 64.0; reach *= 2.0) {
        double mean = range->s_hi / range->z_lo;
        float low = sampi_float_up((double)range->max - (1.0 + reach) * mean - 1e-3);
        if (typical->min_keep > 1 && low < first) { /* try first with 2 min_keep + 64 tokens: they may be enough */
            low = first;
            first = -INFINITY;
        }
        sampi_band band = sampi_row_band_above(low);
        sampi_row head = *row;
        sampi_row_gather(&head, sampi_row_unscale(row, low));
        if (head.n > 4 * SAMPI_SMALL) return false;
        sampi_found found = sampi_row_typical_cut(&head, typical, &band);
        if (found == SAMPI_DOUBT) {
            *range = sampi_row_exact(row, range->max, true);
            found = sampi_row_typical_cut(&head, typical, &band);
        }
        if (found == SAMPI_FOUND) {
            *row = head;
            return true;
        }
    }
    return false;
}

/* Applies typical to a row. For a long row it first tries the head, with estimated sums; then the row becomes compact,
   and its sums are exact. There it tries three guessed bands, each wider than the one before; at last all tokens get a
   score. */
static int sampi_fast_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_typical typical;
    typical.share = sampi_share(s->u.cut.p);
    typical.min_keep = s->u.cut.min_keep;
    sampi_row_range_of(row, &typical.range, true);
    if (!sampi_row_is_compact(row)) {
        if (sampi_row_typical_head(row, &typical)) return SAMP_OK;
        if (!typical.range.is_exact) row->perf->n_exact++; /* one of the passes below computes the exact sums */
        sampi_row_compact(row);
    }
    if (typical.min_keep > row->n) typical.min_keep = row->n;
    if (row->n > 4 * SAMPI_SMALL) {
        for (int tries = 0; tries < 3; tries++) {
            sampi_band band = sampi_row_typical_guess(row, &typical, tries);
            if (sampi_row_typical_cut(row, &typical, &band) == SAMPI_FOUND) return SAMP_OK;
        }
    }
    sampi_band all = sampi_row_band_above(-FLT_MAX); /* all tokens: with exact sums the cut is among them */
    if (!typical.range.is_exact) typical.range = sampi_row_exact(row, typical.range.max, true);
    (void)sampi_row_typical_cut(row, &typical, &all);
    return SAMP_OK;
}
