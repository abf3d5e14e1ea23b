/* ---- top_h (Baghaei Potraghloo et al. 2025) and min_k (Ding et al. 2026) ----
   Both keep a beginning of the order by logit. top_h: the longest whose own entropy is at most alpha H; p = 0.5, 0.3,
   0.15, 0.05 has H = 1.14, its first two 0.66, its first three 0.99, so alpha 0.6 keeps two. min_k: up to the largest
   (l_k - l_k+1) / k; logits 5, 4.9, 2, 1 have 0.1, 1.45, 0.33, so it keeps two. Only as many candidates are sorted as
   are needed. */

/* The longest beginning whose own entropy, its probabilities made to sum to 1, is at most `most`; the first token at
   least. *over: the entropy with one token more, if there is one. */
static SAMPI_COLD size_t sampi_top_h_size(samp_token_data_array *cur, size_t n, float max, double most, double *over)
{
    uint64_t w[SAMPI_TILE + 16];
    float x[SAMPI_TILE];
    sampi_sums sums = { max, 0, 0, 0, 0 };
    size_t k = 0; /* so many are in order */
    for (size_t i = 0; i < n; i++) {
        size_t at = i % SAMPI_TILE;
        if (i == k) k = i ? 8 * i : SAMPI_TILE, sampi_sort(&SAMPI_BY_LOGIT, cur, k < n ? k : n);
        if (at == 0) sampi_use()->weights(x, sampi_copy_logits(cur, i, x), max, w, NULL);
        sums.z += w[at];
        sums.s += sampi_weighted(w[at], max, x[at]);
        *over = sampi_entropy(&sums);
        if (i > 0 && *over > most) return i;
    }
    *over = INFINITY;
    return n;
}

/* How far the logit falls behind place i, divided by i. */
static double sampi_fall_behind(float l, float next, size_t i) { return ((double)l - (double)next) / (double)i; }

/* What min_k keeps of n tokens, from the largest logit to the smallest: up to the cliff, or more if they are flat. */
static size_t sampi_min_k_keeps(size_t cliff, double tau, float max, float low, size_t n)
{
    double flat = tau / ((double)max - (double)low + 0.0); /* -0 - 0 is -0 */
    if (!(flat > (double)cliff)) return cliff;             /* 0 / 0, too */
    return flat < (double)n ? (size_t)flat : n;
}

/* The cliff: behind which place the logit falls most, the fall divided by the place; the first such one. *steepest:
   that quotient; or -1, where the row is so flat that more are kept. The array becomes sorted. */
static SAMPI_COLD size_t sampi_min_k_size(samp_token_data_array *cur, size_t n, double tau, double *steepest)
{
    const samp_token_data *d = cur->data;
    size_t cliff = 1;
    *steepest = 0.0;
    sampi_sort_all(cur);
    for (size_t i = 1; i < n; i++) {
        double fall = sampi_fall_behind(d[i - 1].logit, d[i].logit, i);
        if (!(fall > *steepest)) continue;
        *steepest = fall;
        cliff = i;
    }
    size_t keep = sampi_min_k_keeps(cliff, tau, d[0].logit, d[n - 1].logit, n);
    if (keep != cliff) *steepest = -1.0;
    return keep;
}

/* Of both. */
static SAMPI_COLD int sampi_beginning_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    double p = (double)s->u.cut.p, over;
    size_t keep = s->kind == SAMPI_MIN_K ? sampi_min_k_size(cur, sums.n, p, &over)
                                         : sampi_top_h_size(cur, sums.n, sums.max, p * sampi_entropy(&sums), &over);
    if (keep < s->u.cut.min_keep) keep = s->u.cut.min_keep;
    sampi_cut_to_first(cur, keep < sums.n ? keep : sums.n);
    return SAMP_OK;
}

static const sampi_field SAMPI_TOP_H_FIELDS[] = {
    SAMPI_FIELD(FLOAT, top_h, cut.p, 1, 0, 1, SAMPI_OPEN, "alpha"),
    SAMPI_MIN_KEEP(cut.min_keep),
};

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_TOP_H_ROW                                                                                              \
    "top-h", 0, 'b', "top_h;top-h", SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED,     \
        SAMPI_FIELDS_OF(SAMPI_TOP_H_FIELDS), sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_beginning_apply,                 \
        sampi_fast_beginning, SAMPI_BY_LLAMA_CPP(sampi_beginning_apply, NULL)

static const sampi_field SAMPI_MIN_K_FIELDS[] = {
    SAMPI_FIELD(FLOAT, min_k, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "tau"),
};

static SAMPI_COLD bool sampi_min_k_is_off(const sampi_sampler *s) { return s->u.cut.p < 0.0f; }

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_MIN_K_ROW                                                                                              \
    "min-k", 0, 'g', "min_k;min-k", SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED,     \
        SAMPI_FIELDS_OF(SAMPI_MIN_K_FIELDS), sampi_min_k_is_off, &SAMPI_NO_HOOKS, sampi_beginning_apply,             \
        sampi_fast_beginning, SAMPI_BY_LLAMA_CPP(sampi_beginning_apply, NULL)
