/* ---- min_k (Ding et al. 2026) ----
   The sampler min_k keeps the first k tokens in order of logits l_1 >= l_2 >= ..., where k has the largest quotient
   (l_k - l_k+1) / k. For 5, 4.9, 2, 1 the quotients are 0.1, 1.45, 0.33, so it keeps two. */
#ifndef SAMPI_PLANS

/* Returns (l_i - l_i+1) / i, the fall of the logit after the i-th token, divided by i. */
static double sampi_mean_drop(float l, float next, size_t i) { return ((double)l - (double)next) / (double)i; }

/* Returns how many of n tokens min_k keeps, if the largest logit is max and the smallest low. `cliff` is the number of
   tokens before the steepest fall. The result is larger if the logits are flat. */
static size_t sampi_min_k_keeps(size_t cliff, double tau, float max, float low, size_t n)
{
    double flat = tau / ((double)max - (double)low + 0.0); /* + 0.0, because -0 - 0 is -0 */
    if (!(flat > (double)cliff)) return cliff;             /* also true for 0 / 0 */
    return flat < (double)n ? (size_t)flat : n;
}

/* Returns how many tokens min_k keeps of an array, which becomes sorted. *steepest gets the largest quotient (l_k -
   l_k+1) / k, or -1 if the logits are so flat that more tokens are kept. */
static SAMPI_COLD size_t sampi_min_k_size(samp_token_data_array *cur, size_t n, double tau, double *steepest,
                                          samp_token_data *to)
{
    const samp_token_data *d = cur->data;
    size_t cliff = 1;
    *steepest = 0.0;
    sampi_sort_all(cur, to);
    for (size_t i = 1; i < n; i++) {
        double fall = sampi_mean_drop(d[i - 1].logit, d[i].logit, i);
        if (!(fall > *steepest)) continue;
        *steepest = fall;
        cliff = i;
    }
    size_t keep = sampi_min_k_keeps(cliff, tau, d[0].logit, d[n - 1].logit, n);
    if (keep != cliff) *steepest = -1.0;
    return keep;
}

static SAMPI_COLD int sampi_min_k_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    double steepest;
    size_t n = sampi_unmasked(cur);
    n = sampi_min_k_size(cur, n, (double)s->u.cut.p, &steepest, s->at_memory);
    sampi_cut_to_first(cur, n, s->at_memory);
    return SAMP_OK;
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_min_k(float tau) { return sampi_init_cut(SAMPI_MIN_K, tau, 0); }

static const sampi_field SAMPI_MIN_K_FIELDS[] = {
    SAMPI_FIELD(FLOAT, min_k, cut.p, -1, -FLT_MAX, FLT_MAX, 0, "tau"),
};

static SAMPI_COLD bool sampi_min_k_is_off(const sampi_sampler *s) { return s->u.cut.p < 0.0f; }

#define SAMPI_MIN_K_ROW \
    "min-k", 0, 'g', "min_k;min-k", SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED, \
        SAMPI_FIELDS_OF(SAMPI_MIN_K_FIELDS), sampi_min_k_is_off, &SAMPI_NO_HOOKS, sampi_min_k_apply, \
        sampi_fast_beginning, SAMPI_BY_LLAMA_CPP(sampi_min_k_apply)

#else /* the plan */

/* The plan of top_h and min_k. They need the first tokens in order, token after token, and executors have a question
   for that. */
static int SAMPI_ON(plan_beginning)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    return SAMPI_ON(keep_beginning)(row, s);
}

#endif
