/* ================================================================================================== >>logits
   Samplers that change logits of a few tokens: logit_bias, penalties, dry. Each keeps a short list of tokens, changes
   their logits, and leaves the array unsorted. A token that is masked stays masked (only a bias of -infinity masks
   more), and what overflows becomes +-FLT_MAX, so that a row of numbers stays one.

   Of each sampler: build fills its parts once, when it is made (the constructor's pointers are gone afterwards);
   reset and accept are the only ones that change its window of tokens; apply does the step on an array; change is the
   new logit of one token. The fast path and the GPU take the lists and the changes from here (sampi_penalties_list,
   sampi_dry_list, sampi_bias_change, ...), so a token's new logit is computed in one way only.

   The one thing to know: the lists are sorted by token, and sampi_patch relies on it. */

/* ---- logit_bias: part 0 is the list, as given ---- */

/* Copy the caller's list, which need not live any longer; its checks were the constructor's. */
static SAMPI_COLD void sampi_logit_bias_build(sampi_sampler *s)
{
    if (s->u.bias.n) memcpy(sampi_part(s, 0), s->u.bias.from, s->part_size[0]);
    s->u.bias.from = NULL;
}

/* The new logit of a token that was not masked. */
static float sampi_bias_change(float l, float bias) { return sampi_masked(bias) ? bias : sampi_finite(l + bias); }

/* Not by sampi_patch: a token may be there twice, then both biases are added, in the list's order, rounding each. */
static int sampi_logit_bias_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        size_t at = sampi_find_candidate(cur, bias[i].token);
        if (at == cur->size || sampi_masked(cur->data[at].logit)) continue;
        cur->data[at].logit = sampi_bias_change(cur->data[at].logit, bias[i].bias);
    }
    cur->sorted = false;
    return SAMP_OK;
}
