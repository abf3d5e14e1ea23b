/* ---- softmax ----
   The sampler softmax sorts the candidates and sets p: logits 1 and 0 get p = 0.73 and 0.27. */
#ifndef SAMPI_PLANS

/* softmax is for users who need p and the order, but no token: it selects nothing. */
static int sampi_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_sort_all(cur, s->at_memory);
    sampi_set_p(cur, &sums);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* The sampler softmax in llama.cpp's arithmetic. Other samplers call sampi_llama_softmax. */
static int sampi_llama_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_softmax(s, cur, true);
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_softmax(void) { return sampi_init_plain(SAMPI_SOFTMAX, 0); }

#define SAMPI_SOFTMAX_ROW \
    "softmax", 0, 0, "", SAMPI_ONLY_SHOWS | SAMPI_SORTS | SAMPI_MASKS_NONE | SAMPI_VIEW_SORTED, SAMPI_NO_FIELDS, \
        NULL, &SAMPI_NO_HOOKS, sampi_softmax_apply, NULL, SAMPI_BY_LLAMA_CPP(sampi_llama_softmax_apply)

#else /* the plan */

static int SAMPI_ON(plan_softmax)(SAMPI_ON(row) * row, SAMPI_ON(step) * s)
{
    sampi_sums sums;
    const int known = SAMPI_ON(sums)(row, s, SAMPI_THEN_NOTHING, &sums);
    return known == SAMPI_KNOWN ? SAMPI_ON(show)(row, SAMPI_SHOWS_ORDER | SAMPI_SHOWS_P) : known;
}

#endif
