/* ---- top_k ----
   The sampler top_k keeps the first k tokens in order: of the logits 4, 2, 2, 1, k = 2 keeps 4 and the 2 with the
   smaller id. With `ties` it also keeps all tokens whose logits equal the last one, here both tokens with 2. */
#ifndef SAMPI_PLANS

/* top_k needs no probabilities, so it does not set p. */
static int sampi_top_k_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k, n = sampi_unmasked(cur);
    if (k > n) k = n;
    if (s->u.top_k.ties) {
        sampi_sort(&SAMPI_BY_LOGIT, cur, 0, k, s->at_memory);
        sampi_keep_above(cur, (double)cur->data[k - 1].logit, k, s->at_memory);
        k = cur->size;
    }
    sampi_cut_to_first(cur, k, s->at_memory);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* In llama.cpp's arithmetic, masked tokens may be among the k. */
static int sampi_llama_top_k(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k;
    if (s->u.top_k.ties) return sampi_top_k_apply(s, cur);
    sampi_cut_to_first(cur, k < cur->size ? k : cur->size, s->at_memory);
    return SAMP_OK;
}
#endif

static SAMPI_COLD samp_sampler *sampi_init_top_k(int32_t k, int32_t ties)
{
    sampi_sampler t = sampi_blank(SAMPI_TOP_K);
    t.u.top_k.k = k;
    t.u.top_k.ties = ties;
    return sampi_init(&t);
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_top_k(int32_t k) { return sampi_init_top_k(k, 0); }
SAMP_API SAMPI_COLD samp_sampler *samp_init_top_k_ties(int32_t k) { return sampi_init_top_k(k, 1); }

static const sampi_field SAMPI_TOP_K_FIELDS[] = {
    SAMPI_FIELD(INT32, top_k, top_k.k, 40, INT32_MIN, INT32_MAX, 0, "k"),
    SAMPI_FIELD(INT32, top_k_ties, top_k.ties, 0, 0, 1, SAMPI_LATER | SAMPI_IF_ABOVE_0, "ties"),
};

static SAMPI_COLD bool sampi_top_k_is_off(const sampi_sampler *s) { return s->u.top_k.k <= 0; }

#define SAMPI_TOP_K_ROW \
    "top-k", 0, 'k', "top_k;top-k", \
        SAMPI_KEEPS_P | SAMPI_DROPS | SAMPI_SORTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_TOP_K_FIELDS), sampi_top_k_is_off, &SAMPI_NO_HOOKS, sampi_top_k_apply, \
        sampi_fast_top_k, SAMPI_BY_LLAMA_CPP(sampi_llama_top_k)

#else /* the plan */

static int SAMPI_ON(plan_top_k)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    return SAMPI_ON(keep_first)(row, (size_t)s->u.top_k.k, s->u.top_k.ties != 0);
}

#endif
