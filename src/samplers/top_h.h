/* ---- top_h (Baghaei Potraghloo et al. 2025) ----
   The sampler top_h keeps the longest prefix in order whose own entropy is at most alpha H, where H is the entropy of
   the row. For p = 0.5, 0.3, 0.15, 0.05 H is 1.14; the first two tokens have 0.66, the first three 0.99, so alpha 0.6
   keeps two. Only as many candidates as necessary are sorted. */

/* Returns the length of the longest prefix whose own entropy (of renormalised probabilities) is at most `most`, but at
   least 1. *over gets the entropy with one more token, if there is one. */
static SAMPI_COLD size_t sampi_top_h_size(samp_token_data_array *cur, size_t n, float max, double most, double *over,
                                          samp_token_data *to)
{
    uint64_t w[SAMPI_TILE + 16];
    float x[SAMPI_TILE];
    sampi_sums sums = { max, 0, 0, 0, 0 };
    size_t k = 0; /* the first k candidates are in order */
    for (size_t i = 0; i < n; i++) {
        size_t at = i % SAMPI_TILE;
        if (i == k) k = sampi_sort_further(&SAMPI_BY_LOGIT, cur, k, n, to);
        if (at == 0) sampi_use()->weights(x, sampi_copy_logits(cur, i, x), max, w, NULL);
        sums.z += w[at];
        sums.s += sampi_weighted(w[at], max, x[at]);
        *over = sampi_entropy(&sums);
        if (i > 0 && *over > most) return i;
    }
    *over = INFINITY;
    return n;
}

static SAMPI_COLD int sampi_top_h_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    double over;
    size_t keep = sampi_top_h_size(cur, sums.n, sums.max, (double)s->u.cut.p * sampi_entropy(&sums), &over,
                                   s->at_memory);
    if (keep < s->u.cut.min_keep) keep = s->u.cut.min_keep;
    sampi_cut_to_first(cur, keep < sums.n ? keep : sums.n, s->at_memory);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_h(float alpha, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TOP_H, alpha, min_keep);
}

SAMPI_CUT_FIELDS(TOP_H, top_h, 1, 0, SAMPI_OPEN, "alpha");

#define SAMPI_TOP_H_ROW \
    "top-h", 0, 'b', "top_h;top-h", SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
        SAMPI_FIELDS_OF(SAMPI_TOP_H_FIELDS), sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_top_h_apply, \
        sampi_fast_beginning, SAMPI_BY_LLAMA_CPP(sampi_top_h_apply)
