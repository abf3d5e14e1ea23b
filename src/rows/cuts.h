/* ---- truncations and temperatures on a row ----
   The fast functions of these samplers, which the table of kinds names. Each finds a threshold, not an order, and keeps
   the tokens whose logits reach it. If the threshold needs a sum over the row, an estimate of the sum is enough
   (sums.h), as long as its lower and its upper bound keep the same tokens; otherwise the sum is computed exactly.
   Samplers that keep the first tokens in order (a prefix) read the row's largest logits first, then a band of logits in
   which a sample of the row predicts the end of the prefix. typical.h and tail_free.h are rooms of their own.
   A sampler also has a plan, its form for slices and devices. A function's comment says how much longer the plan would
   take on a row. Without such a figure the plan reads the same and would be as fast (run/README.md, "Rows answer no
   plans"). */

/* ---- top_k, min_p ---- */

/* Restores the row `before` a cut that has left fewer than n tokens, if llama.cpp would keep n: masked tokens count in
   its arithmetic. */
static int sampi_row_keeps_masked(sampi_row *row, const sampi_row *before, const sampi_sampler *s, size_t n)
{
    if (!sampi_is_llama_cpp(s) || row->n >= n) return SAMP_OK;
    *row = *before;
    return SAMPI_DECLINED;
}

static int sampi_fast_top_k(sampi_row *row, sampi_sampler *s)
{
    const size_t k = (size_t)s->u.top_k.k;
    const sampi_row before = *row;
    if (k >= row->n) return sampi_is_llama_cpp(s) ? (int)SAMPI_DECLINED : SAMP_OK; /* llama.cpp sorts */
    if (!s->u.top_k.ties) {
        sampi_row_keep_first(row, k);
        return sampi_row_keeps_masked(row, &before, s, k);
    }
    sampi_row_gather_first(row, k);
    if (k < row->n) sampi_row_gather(row, sampi_find_nth(row->k, row->x, row->n, k, row->top));
    return SAMP_OK;
}

/* Checks the cut of a dense row. `before` is the row before the cut. If fewer than min_keep tokens remain, the row
   becomes the first min_keep tokens of `before` in order. A row that is still dense needs no count if min_keep is at
   most n / 128: at least an eighth of its lines have a token that reaches the floor. */
static void sampi_row_keep_at_least(sampi_row *row, const sampi_row *before, size_t min_keep)
{
    if (!sampi_row_is_compact(row) && row->n / 128 >= min_keep) return;
    sampi_row_compact(row); /* to count them */
    const size_t n = row->n;
    if (n >= min_keep) return;
    *row = *before;
    sampi_row_keep_first(row, min_keep);
    row->sorts = row->n > n;
}

/* Keeps the tokens that reach the floor, but at least the first min_keep (1 or more) in order. A dense row is cut first;
   the cut is undone if too few tokens remain, because counting them before would be a pass over the row. */
static void sampi_row_keep_from(sampi_row *row, float floor, size_t min_keep)
{
    if (!sampi_row_is_compact(row)) {
        sampi_row before = *row;
        sampi_row_raise_floor(row, sampi_row_unscale(row, floor));
        sampi_row_keep_at_least(row, &before, min_keep);
        return;
    }
    const size_t n = row->k->count(row->x, row->n, floor);
    if (n >= min_keep) {
        sampi_row_gather(row, floor);
        return;
    }
    sampi_row_keep_first(row, min_keep);
    row->sorts = row->n > n;
}

/* Applies min_p to a row. The floor is the row's maximum + ln p, so no sum is needed. */
static int sampi_fast_min_p(sampi_row *row, sampi_sampler *s)
{
    const sampi_row before = *row;
    const float max = sampi_row_max(row);
    const size_t min_keep = sampi_min_keep(s);
    float floor = sampi_float_up((double)max + sampi_ln(s->u.cut.p));
#ifndef SAMP_NO_MT19937
    if (sampi_is_llama_cpp(s)) floor = max + logf(s->u.cut.p);
#endif
    if (sampi_is_llama_cpp(s) && row->n < min_keep) return SAMPI_DECLINED;
    sampi_row_keep_from(row, floor, min_keep);
    return sampi_row_keeps_masked(row, &before, s, min_keep);
}

/* ---- top_p ----
   top_p keeps the nucleus: the shortest prefix with the share p of the mass (sampi_row_find_prefix). It finds the end
   of the nucleus in one of three ways:
     all    for a compact or short row: from the weights of all tokens;
     head   for a long row with a short nucleus: from the weights of the first tokens, a few times as many as the
            perplexity;
     wide   for a long row with a long nucleus, whose copy and weights would take the most time: from the exact sum of
            the tokens above a band of logits, and from the tokens of the band, which contains the end of the nucleus.
            For such a row of 128,256 logits the way `all` would take 1.8 to 5.8 times as long.
   The plan of top_p sums exactly: it takes 1.2 to 2.7 times as long on 128,256 logits, and 1.1 to 1.3 times on
   3,000. */

/* Returns a guess of the number of tokens in a nucleus: twice the perplexity e^H, but at least 24. */
static size_t sampi_row_top_p_guess(const sampi_range *range, size_t n)
{
    double entropy = sampi_entropy_of(range->z_hi, range->s_hi + range->s_lo, range->z_hi + range->z_lo);
    double guess = 2.0 * sampi_exp2(sampi_round(entropy * SAMPI_LOG2E));
    if (guess < 24.0) return 24;
    return guess < (double)n ? (size_t)guess : n;
}

/* Finds the nucleus in the way `head` (above); the row then consists of its first tokens, the head. prefix.n = 0: the
   nucleus is longer than the longest head that is tried; the row is unchanged, and *range may have become exact. */
static sampi_prefix sampi_row_top_p_head(sampi_row *row, sampi_range *range, uint64_t share, size_t min_keep)
{
    sampi_prefix prefix = { 0, 0.0f };
    uint64_t *w = row->work->w;
    size_t want = sampi_row_top_p_guess(range, row->n);
    for (want = want > min_keep ? want : min_keep; want < row->n / 64; want *= 4) {
        sampi_row head = *row;
        sampi_row_gather_first(&head, want);
        if (head.k->weights(head.x, head.n, range->max, w, NULL) < sampi_row_mass_hi(range, share)) continue;
        prefix = sampi_row_find_prefix(&head, w, sampi_row_mass_lo(range, share));
        if (!range->is_exact && prefix.n != sampi_row_find_prefix(&head, w, sampi_row_mass_hi(range, share)).n) {
            *range = sampi_row_exact(row, range->max, false);
            prefix = sampi_row_find_prefix(&head, w, sampi_row_mass_lo(range, share));
        }
        *row = head;
        break;
    }
    return prefix;
}

/* Guesses from every 32nd token where a long nucleus ends: its last element most likely lies in the band [low, high).
   To allow for the noise of the sample, the mass below `high` is an eighth more than the mass that top_p removes, and
   the mass below `low` is an eighth less. */
static bool sampi_row_top_p_band(const sampi_row *row, const sampi_range *range, uint64_t share, float *low,
                                 float *high)
{
    float *l = row->work->x;
    uint64_t *w = row->work->w, z = (uint64_t)range->z_lo;
    uint64_t left_out = (z - sampi_mulhi(share, z)) / 32, noise = left_out / 8;
    size_t n = 0;
    for (size_t i = 0; i < row->n; i += 32) l[n++] = sampi_row_logit_of(row, sampi_row_element_at(row, i));
    uint64_t all = row->k->weights(l, n, range->max, w, NULL);
    sampi_values sample = { row->k, l, w, n, range->max };
    if (all <= left_out + noise) return false;
    *high = sampi_row_unscale(row, sampi_find_value(&sample, all - left_out - noise, 0, 1 << 12));
    *low = sampi_row_unscale(row, sampi_find_value(&sample, all - left_out + noise, 0, 1 << 12));
    return true;
}

/* Cuts in the way `wide` (above). The row stays dense (it is not copied), and its floor becomes the last logit of the
   nucleus; surplus tokens equal to this logit are masked by changes. Returns SAMPI_DECLINED, with nothing changed, if
   the end of the nucleus is not in the band. */
static SAMPI_COLD int sampi_row_top_p_wide(sampi_row *row, const sampi_range *range, uint64_t share, size_t min_keep)
{
    const sampi_kernels *k = row->k;
    sampi_work *work = row->work;
    float low, high, *x = work->x;
    sampi_pieces it;
    size_t m = 0;
    if (!sampi_row_top_p_band(row, range, share, &low, &high)) return SAMPI_DECLINED;
    sampi_sums sums = sampi_row_sums(row, range->max, high, false);
    uint64_t want = sampi_mass_of(share, sums.z);
    if (sums.above >= want) return SAMPI_DECLINED;

    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);)
        m += k->collect(it.x, NULL, (int32_t)it.at, it.n, low, high, x + m, work->id + m);
    if (m == 0) return SAMPI_DECLINED;
    k->scale(x, m, row->r, false, x);
    k->weights(x, m, range->max, work->w, NULL);
    sampi_row band = *row;
    sampi_row_set_tokens(&band, x, work->id, m);
    (void)sampi_row_scan(&band);
    sampi_prefix prefix = sampi_row_find_prefix(&band, work->w, want - sums.above);
    if (prefix.n == 0) return SAMPI_DECLINED;
    if (min_keep > 1 && prefix.n + sampi_row_count(row, high, INFINITY) < min_keep) return SAMPI_DECLINED;

    size_t over = k->count(x, m, prefix.last) - prefix.n;
    if (row->n_change + over > SAMPI_CHANGES) return SAMPI_DECLINED;
    for (size_t i = m; over > 0;) { /* masks the tokens of this value with the largest ids */
        i--;
        if (x[i] != prefix.last) continue;
        sampi_row_add_change(row, work->id[i], -INFINITY);
        over--;
    }
    row->floor = sampi_row_unscale(row, prefix.last);
    return SAMP_OK;
}

static int sampi_fast_top_p(sampi_row *row, sampi_sampler *s)
{
    uint64_t share = sampi_share(s->u.cut.p);
    size_t min_keep = s->u.cut.min_keep;
    sampi_prefix prefix = { 0, 0.0f };
    if (!sampi_row_is_compact(row) && row->n > SAMPI_SMALL) {
        sampi_range range;
        sampi_row_estimate(row, &range);
        prefix = sampi_row_top_p_head(row, &range, share, min_keep);
        if (!prefix.n && sampi_row_top_p_wide(row, &range, share, min_keep) == SAMP_OK) return SAMP_OK;
    }
    if (!prefix.n) {
        sampi_row_compact(row);
        uint64_t *w = row->work->w, z = row->k->weights(row->x, row->n, row->top, w, NULL);
        prefix = sampi_row_find_prefix(row, w, sampi_mass_of(share, z));
    }
    if (prefix.n < min_keep)
        sampi_row_keep_first(row, min_keep);
    else
        sampi_row_cut_at(row, prefix.last, prefix.n);
    return SAMP_OK;
}

/* ---- temp, temp_ext ---- */

/* Multiplies all logits by 1 / t. The elements of a dense row stay as they are, and its factor r becomes 1 / t. */
static int sampi_row_scale_row(sampi_row *row, float t)
{
    float r = 1.0f / t;
    if (!(t >= SAMPI_TEMP_MIN)) {
        sampi_row_keep_first(row, 1);
        return SAMP_OK;
    }
    if (row->r != 1.0f) sampi_row_compact(row); /* x * r * (1 / t) is rounded twice, x * (r / t) once */
    if (sampi_row_is_compact(row)) {
        row->k->scale(row->x, row->n, r, false, row->work->x);
        row->top = sampi_finite(row->top * r);
        return SAMP_OK;
    }
    /* if the product of an unmasked token may overflow, it has to be clamped, which only the steps do */
    float max = sampi_row_max(row);
    if (!(sampi_abs((double)max) < 1e37 && sampi_abs((double)(max * r)) < 1e37)) return SAMPI_DECLINED;
    row->r = r;
    return SAMP_OK;
}

/* llama.cpp divides by t. */
static int sampi_fast_temp(sampi_row *row, sampi_sampler *s)
{
    const float t = s->u.temp.t;
    if (!sampi_is_llama_cpp(s)) return sampi_row_scale_row(row, t);
    if (sampi_row_is_compact(row) || row->r != 1.0f || !(t > 0.0f)) return SAMPI_DECLINED;
    row->r = t;
    row->divided = true;
    return SAMP_OK;
}

/* Applies temp_ext to a row. The temperature is a float that is computed from the entropy, so an estimate is not
   enough. The entropy is that of the unmasked tokens, so a row with a floor becomes compact first. */
static int sampi_fast_temp_ext(sampi_row *row, sampi_sampler *s)
{
    if (!(s->u.temp.delta > 0.0f)) return sampi_fast_temp(row, s);
    if (sampi_is_llama_cpp(s)) return SAMPI_DECLINED;
    if (row->floor > -FLT_MAX) sampi_row_compact(row);
    sampi_sums sums = sampi_row_sums(row, sampi_row_max(row), -FLT_MAX, true);
    if (sums.n <= 1) return SAMP_OK;
    return sampi_row_scale_row(row, sampi_dynamic_temp(&s->u.temp, &sums));
}

/* Applies smoothing or log_softmax to a row. All logits change, so a dense row is copied first. */
static SAMPI_COLD int sampi_fast_smoothing(sampi_row *row, sampi_sampler *s)
{
    if (!sampi_row_is_compact(row)) sampi_row_flatten(row);
    uint64_t z = s->kind == SAMPI_LOG_SOFTMAX ? sampi_row_sums(row, row->top, -FLT_MAX, false).z : 0;
    sampi_smooth(s, row->top, z, (void *)(uintptr_t)row->x, sizeof(float), row->n);
    return sampi_row_scan(row);
}

/* ---- top_n_sigma ---- */

/* Keeps the tokens whose logits reach a threshold, which lies between lo and hi. False, with nothing changed: a logit
   lies between lo and hi too, so the result depends on the threshold. */
static SAMPI_COLD bool sampi_row_keep_between(sampi_row *row, double lo, double hi)
{
    float floor = sampi_row_unscale(row, sampi_float_up(lo)), sure = sampi_row_unscale(row, sampi_float_up(hi));
    if (sampi_row_is_compact(row)) {
        if (sampi_row_count(row, floor, sure) > 0) return false;
        sampi_row_gather(row, floor);
        return true;
    }
    sampi_row before = *row;
    sampi_row_raise_floor(row, floor);
    if (floor >= sure) return true;
    if (sampi_row_is_compact(row)) { /* all its tokens reach lo; do all reach hi? */
        if (row->k->count(row->x, row->n, sampi_float_up(hi)) == row->n) return true;
    } else if (sampi_row_count(row, floor, sure) == 0) {
        return true;
    }
    *row = before;
    return false;
}

/* Returns the mean of 16 elements. It is so close to the mean of the row that the squares of distances from it can be
   added without a loss of precision. */
static float sampi_row_sigma_pivot(const sampi_row *row)
{
    double sum = 0.0;
    int n = 0;
    for (size_t i = 0; i < row->n && n < 16; i += 1 + row->n / 16) {
        float x = sampi_row_element_at(row, i);
        if (!(sampi_abs((double)x) <= (double)FLT_MAX)) continue;
        sum += (double)x;
        n++;
    }
    return n ? (float)(sum / n) : 0.0f;
}

/* Applies top_n_sigma to a row. Sums in floats give bounds of sigma, and these give two bounds of the threshold. The
   sampler's plan takes 18 to 30 times as long on 128,256 logits, because it asks for the exact sigma, in integers of
   128 bits. */
static int sampi_fast_top_n_sigma(sampi_row *row, sampi_sampler *s)
{
    double moment[3] = { 0.0, 0.0, 0.0 };
    sampi_pieces it;
    if (row->r != 1.0f || row->n_change) sampi_row_compact(row);
    float pivot = sampi_row_sigma_pivot(row);
    for (sampi_row_start(&it, row); sampi_row_next_piece(&it);) {
        double part[3];
        row->k->moments(it.x, it.n, pivot, part);
        for (int j = 0; j < 3; j++) moment[j] += part[j];
    }
    double mean = moment[1] / moment[0], square = moment[2] / moment[0];
    if (!(square > 1e-24 && square < 1e30)) return SAMPI_DECLINED; /* sums in floats may overflow or underflow */
    /* Each f32 sum has at most 16 terms a lane of a vector, so its relative error is below 20 * 2^-24 = 1.2e-6. That is
       the error of the mean square. The mean is at most the root of the mean square, so the error of its square is at
       most twice that much: 3.6e-6 of the mean square together. */
    double error = 4e-6 * square, variance = square - sampi_round(mean * mean);
    double high = sqrt((variance > 0.0 ? variance : 0.0) + error);
    double low = variance > error ? sqrt(variance - error) : 0.0;
    double slack = 1e-9 * sqrt(square) + 1e-30; /* for the rounding of doubles, here and in the definition */
    high = sampi_round(s->u.cut.p * (high + slack));
    low = low > slack ? sampi_round(s->u.cut.p * (low - slack)) : 0.0;
    return sampi_row_keep_between(row, (double)row->top - high, (double)row->top - low) ? SAMP_OK
                                                                                        : (int)SAMPI_DECLINED;
}

/* ---- top_a, p_less, p_less_norm, epsilon, eta ---- */

/* Replaces s in *range by the sum of the squares of the weights. While z is an estimate, and few tokens are within
   10 nats of the maximum, only the squares of these tokens are added: no other token has a weight above e^-10, so the
   sum of the others' squares is below e^-10 z, which is added to the upper bound. */
static SAMPI_COLD void sampi_row_range_squares(const sampi_row *row, sampi_range *range)
{
    sampi_row head = *row;
    uint64_t w[SAMPI_TILE + 16], sum = 0;
    sampi_pieces it;
    if (!range->is_exact)
        sampi_row_raise_floor(&head, sampi_row_unscale(row, sampi_float_up((double)range->max - 10.0)));
    bool is_part = !range->is_exact && sampi_row_is_compact(&head);
    head.floor = -FLT_MAX;
    for (sampi_row_start(&it, &head); sampi_row_next_logits(&it);) {
        head.k->weights(it.x, it.n, range->max, w, NULL);
        sum += sampi_squares(w, it.n);
    }
    range->s_lo = (double)sum;
    range->s_hi = range->s_lo + (is_part ? 4.6e-5 * range->z_hi : 0.0);
}

/* Returns the upper bound (high) or the lower bound of the floor. The floor rises with z and falls with s; for top_a
   and the kinds that need squares (p_less, p_less_norm) it falls with z and rises with s. n: as in sampi_sums_floor. */
static SAMPI_COLD double sampi_row_floor_end(const sampi_sampler *s, const sampi_range *range, size_t n, bool high)
{
    if (s->kind == SAMPI_TOP_A || sampi_needs_squares(s->kind)) high = !high;
    return sampi_sums_floor(s->kind, sampi_ln(s->u.cut.p), range->max, (double)n, high ? range->z_hi : range->z_lo,
                            high ? range->s_lo : range->s_hi);
}

/* Applies top_a, p_less, p_less_norm, epsilon or eta to a row: each keeps the tokens above a floor that depends on
   sums. If the lower and the upper bound of the floor keep different tokens, the sums are computed exactly; for a
   compact row they always are. The samplers' plans sum exactly, and take 1.6 to 2.8 times as long on 128,256 logits;
   the plan of p_less, which squares all weights, takes up to 6.8 times as long. On flat rows the estimate is not enough
   for eta and p_less, and the plan takes 0.94 to 0.98 times as long. */
static int sampi_fast_by_sums(sampi_row *row, sampi_sampler *s)
{
    sampi_range range;
    sampi_row_range_of(row, &range, s->kind == SAMPI_ETA);
    sampi_row before = *row;
    size_t n = s->kind == SAMPI_P_LESS_NORM ? sampi_row_count(row, -FLT_MAX, INFINITY) : 0;
    for (;;) {
        if (sampi_needs_squares(s->kind)) sampi_row_range_squares(row, &range);
        double high = sampi_row_floor_end(s, &range, n, true);
        if (sampi_row_is_compact(row)) {
            sampi_row_keep_from(row, sampi_float_up(high), sampi_min_keep(s));
            return SAMP_OK;
        }
        if (sampi_row_keep_between(row, sampi_row_floor_end(s, &range, n, false), high)) break;
        range = sampi_row_exact(row, range.max, s->kind == SAMPI_ETA);
    }
    sampi_row_keep_at_least(row, &before, sampi_min_keep(s));
    return SAMP_OK;
}

/* ---- top_h, min_k ----
   Both samplers need sorted tokens. For a long row the first tokens in order are mostly enough to find how many are
   kept, so that few tokens are sorted. If they are not enough, more tokens are tried, and at last the whole row. */

/* Returns how many tokens top_h keeps; 0 if the first tokens, cur, are not enough to know. The number must be the same
   for the lower and the upper bound of the row's entropy; otherwise *range is made exact. */
static SAMPI_COLD size_t sampi_row_top_h_try(const sampi_row *row, samp_token_data_array *cur, double alpha,
                                         sampi_range *range)
{
    for (;;) {
        double over, low = sampi_entropy_of(range->z_lo, range->s_lo, range->z_hi);
        double high = sampi_entropy_of(range->z_hi, range->s_hi, range->z_lo);
        size_t keep = sampi_top_h_size(cur, cur->size, range->max, alpha * low, &over, NULL);
        if (range->is_exact || over > alpha * high) return keep < cur->size || cur->size == row->n ? keep : 0;
        *range = sampi_row_exact(row, range->max, true);
    }
}

/* Returns how many tokens min_k keeps; 0 if the first tokens, cur, are not enough to know. They are enough on two
   conditions. No logit of the row may be so far below them that the fall to it could be steeper than the steepest fall
   among them. And they may not be flat, with a number that depends on the range of the logits: the range of the whole
   row is at least theirs, so the row is not flat either. */
static SAMPI_COLD size_t sampi_row_min_k_try(const sampi_row *row, samp_token_data_array *cur, double tau)
{
    double steepest;
    size_t n = cur->size, keep = sampi_min_k_size(cur, n, tau, &steepest, NULL);
    double fall = sampi_round(0.999 * (steepest * (double)n)); /* 0.999 allows for rounding */
    float lowest = sampi_float_up((double)cur->data[n - 1].logit - fall);
    if (n == row->n) return keep;
    return steepest < 0.0 || sampi_row_count(row, -FLT_MAX, sampi_row_unscale(row, lowest)) > 0 ? 0 : keep;
}

static SAMPI_COLD int sampi_fast_beginning(sampi_row *row, sampi_sampler *s)
{
    size_t keep = 0, min_keep = s->u.cut.min_keep;
    double p = (double)s->u.cut.p;
    bool is_top_h = s->kind == SAMPI_TOP_H;
    sampi_range range;
    if (is_top_h) sampi_row_range_of(row, &range, true);
    for (size_t want = is_top_h ? 16 : 64; !keep; want *= 8) {
        if (want < min_keep) want = min_keep;
        if (want >= row->n / 8) sampi_row_compact(row);
        sampi_row head = *row;
        sampi_row_gather_first(&head, want);
        samp_token_data_array cur = sampi_row_array(&head);
        keep = is_top_h ? sampi_row_top_h_try(row, &cur, p, &range) : sampi_row_min_k_try(row, &cur, p);
        if (keep) *row = head;
    }
    sampi_row_keep_first(row, keep > min_keep ? keep : min_keep);
    return SAMP_OK;
}

/* ---- xtc ---- */

/* The tokens of a compact row that reach xtc's threshold. */
typedef struct sampi_reach {
    size_t n, last; /* their number; the index of the last of them in order */
    bool is_sure;   /* both bounds of the threshold give the same tokens */
} sampi_reach;

/* Finds the tokens whose weights w reach the threshold, a mass between mass_lo and mass_hi. A compact row is sorted by
   id, so of equal logits the later one is the last in order. */
static sampi_reach sampi_row_xtc_find_reaching(const sampi_row *row, const uint64_t *w, uint64_t mass_lo,
                                           uint64_t mass_hi)
{
    sampi_reach reach = { 0, 0, true };
    for (size_t i = 0; i < row->n; i++) {
        if (w[i] < mass_lo) continue;
        if (w[i] < mass_hi) reach.is_sure = false;
        if (reach.n++ == 0 || row->x[i] <= row->x[reach.last]) reach.last = i;
    }
    return reach;
}

/* Applies xtc to a row: removes all tokens whose probability reaches the threshold t, except the least probable of them
   and exempt ones. In a dense row they are searched among the largest logits, in a compact copy: a weight w >= t Z is
   at least t 2^40, because Z is at least one whole weight (2^40); the margin of 1e-6 nats is far above the rounding of
   ln and w. The sampler's plan sums exactly, and takes 1.3 to 1.6 times as long on 128,256 logits. */
static int sampi_fast_xtc(sampi_row *row, sampi_sampler *s)
{
    uint64_t random[2], share = sampi_share(s->u.xtc.t), *w = row->work->w;
    size_t min_keep = s->u.xtc.min_keep;
    sampi_range range;
    if (row->n < 2) return SAMP_OK;
    sampi_random(s, 0, random);
    if (s->u.xtc.p < 1.0f && random[0] >= sampi_share(s->u.xtc.p)) return SAMP_OK;
    if (!(s->u.xtc.t > 1e-3f)) return SAMPI_DECLINED; /* thousands of tokens might reach the threshold t */
    sampi_row_range_of(row, &range, false);
    sampi_row head = *row;
    if (!sampi_row_is_compact(row)) {
        double floor = (double)range.max + sampi_ln(s->u.xtc.t) - 1e-6;
        sampi_row_gather(&head, sampi_row_unscale(row, sampi_float_up(floor)));
    }
    head.k->weights(head.x, head.n, range.max, w, NULL);
    sampi_reach reach = sampi_row_xtc_find_reaching(&head, w, sampi_row_mass_lo(&range, share),
                                                    sampi_row_mass_hi(&range, share));
    if (!reach.is_sure) {
        range = sampi_row_exact(row, range.max, false);
        reach = sampi_row_xtc_find_reaching(&head, w, sampi_row_mass_lo(&range, share),
                                            sampi_row_mass_hi(&range, share));
    }
    if (reach.n < 2) return SAMP_OK;
    if (!sampi_row_has_room(row, reach.n)) return SAMPI_DECLINED;
    size_t n = min_keep > 1 ? sampi_row_count(row, -FLT_MAX, INFINITY) : row->n, spared = 1;
    uint64_t mass = sampi_row_mass_lo(&range, share);
    for (size_t i = 0; i < head.n && s->part_size[1]; i++) {
        samp_token token = row->array ? row->array->data[head.id[i]].id : head.id[i];
        if (w[i] < mass || i == reach.last || !sampi_xtc_spares(s, token)) continue;
        w[i] = 0; /* below the mass, so that it stays */
        spared++;
    }
    if (reach.n == spared || n - (reach.n - spared) < min_keep) return SAMP_OK;
    for (size_t i = 0; i < head.n; i++)
        if (w[i] >= mass && i != reach.last)
            sampi_row_set_element(row, sampi_row_find_id(row, head.id[i]), -INFINITY);
    return sampi_row_end_changes(row, true);
}
