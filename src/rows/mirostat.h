/* ---- mirostat on a row ----
   Version 2 keeps logits above a floor that depends on Z, the sum of the weights. An estimate of Z is enough if its
   lower and its upper bound keep the same tokens. Version 1 computes the exponent of Zipf's law from the first m tokens
   of the row (m <= 128; with a larger m it runs step by step). Both versions draw as dist does, and then change mu; if
   the bounds of Z give different mu, Z is summed exactly. The samplers' plans sum exactly, before and after the draw:
   on 128,256 logits the plan of version 2 takes 1.7 to 2.7 times as long as this code, and that of version 1 1.5 times
   if it keeps all tokens. */

/* Draws among the kept tokens, and changes mu by the surprise of the drawn token. range: bounds of the sum of the kept
   tokens' weights, which mostly give the same mu; if they do not, or if range is NULL, the sum is computed exactly. */
static SAMPI_CALLED int sampi_row_mirostat_draw(sampi_row *row, sampi_sampler *s, const sampi_range *range)
{
    sampi_range exact;
    int status = sampi_fast_dist(row, s);
    if (status) return status;
    if (!range) {
        exact.max = sampi_row_max(row);
        exact.z_lo = exact.z_hi = (double)sampi_row_sums(row, exact.max, row->floor, false).above;
        range = &exact;
    }
    float l = sampi_row_logit_of(row, sampi_row_present(row, sampi_row_find_id(row, row->token)));
    double d = (double)range->max - (double)l;
    float mu = sampi_mirostat_mu(&s->u.mirostat, s->now.mu, d, range->z_lo);
    if (mu != sampi_mirostat_mu(&s->u.mirostat, s->now.mu, d, range->z_hi))
        mu = sampi_mirostat_mu(&s->u.mirostat, s->now.mu, d, sampi_row_exact(row, range->max, false).z_lo);
    s->now.mu = mu;
    return SAMP_OK;
}

/* Applies mirostat_v2 to a row. The floor is a function of Z: with both bounds of Z the same tokens must remain. */
static int sampi_fast_mirostat_v2(sampi_row *row, sampi_sampler *s)
{
    sampi_range range;
    double lo;
    sampi_row_range_of(row, &range, false);
    for (;;) {
        double hi = sampi_surprise_floor(s->now.mu, range.max, range.z_hi), max = (double)range.max;
        lo = sampi_surprise_floor(s->now.mu, range.max, range.z_lo);
        if (lo > max) { /* not even the largest logit reaches the floor, so only the first token is kept */
            sampi_row_keep_first(row, 1);
            row->sorts = true;
            break;
        }
        if (hi <= max && sampi_row_keep_between(row, lo, hi)) break;
        if (range.is_exact) return SAMPI_DECLINED;
        range = sampi_row_exact(row, range.max, false);
    }
    bool is_all = lo < (double)range.max - 29.0; /* true: the removed tokens have weight 0 */
    return sampi_row_mirostat_draw(row, s, is_all ? &range : NULL);
}

#define SAMPI_ZIPF_MAX 128 /* the largest m (tokens) that this code takes; llama.cpp's default is 100 */

/* Returns the sums of Zipf's exponent over the tokens of a compact row (head). It sorts their logits first; for so few,
   an insertion sort is the fastest. */
static SAMPI_HOT sampi_zipf sampi_row_zipf(const sampi_row *head)
{
    float l[SAMPI_ZIPF_MAX];
    sampi_zipf zipf = { 0.0, 0.0 };
    for (size_t i = 0; i < head->n; i++) {
        size_t j = i;
        for (; j > 0 && l[j - 1] < head->x[i]; j--) l[j] = l[j - 1];
        l[j] = head->x[i];
    }
    for (size_t i = 0; i + 1 < head->n; i++) sampi_zipf_add(&zipf, i, l[i], l[i + 1]);
    return zipf;
}

/* Applies mirostat (version 1) to a row. The number of tokens to keep depends on the first m logits and on the number
   of tokens. If all tokens are kept, the row stays as it is. */
static int sampi_fast_mirostat(sampi_row *row, sampi_sampler *s)
{
    if (s->u.mirostat.m > SAMPI_ZIPF_MAX || sampi_row_is_compact(row) || row->n_change) return SAMPI_DECLINED;
    size_t n = sampi_row_count(row, -FLT_MAX, INFINITY);
    sampi_row head = *row;
    sampi_row_keep_first(&head, (size_t)s->u.mirostat.m);
    sampi_zipf zipf = sampi_row_zipf(&head);
    size_t keep = sampi_zipf_size(&zipf, s->u.mirostat.n_vocab, s->now.mu, n);
    sampi_range range;
    if (keep < n)
        sampi_row_keep_first(row, keep);
    else
        sampi_row_range_of(row, &range, false);
    return sampi_row_mirostat_draw(row, s, keep < n ? NULL : &range);
}
