/* ---- the draw ----
   One token with probability w / Z by rejection: propose by the envelope q, accept by the weight w. q is integer
   arithmetic on a linear function of the logit: cheap, exact to sum, and at most 6.2 % above w, so 4 % of the
   proposals fail. So one exp a proposal is taken instead of one for every token. Rows draw the same way. dist is the
   draw and nothing else; mirostat and adaptive_p end in it. For a row of a draft its test takes the draw's place. */

/* With r, v two 64-bit random numbers and Q the sum of q: propose the first token in ascending id whose running sum
   of q exceeds floor(r Q / 2^64); accept it if floor(v (2^14 q) / 2^64) < w, else try again with the next attempt's
   numbers. So token i comes with probability q_i / Q * w_i / (2^14 q_i), proportional to w_i. Sets cur->selected and
   nothing else. */
static void sampi_draw_envelope(const sampi_sampler *s, samp_token_data_array *cur)
{
    float max = cur->data[sampi_argmax(cur)].logit;
    uint64_t total = 0, random[2];
    for (size_t i = 0; i < cur->size; i++) total += sampi_envelope(max, cur->data[i].logit);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        size_t i = sampi_find(cur, max, sampi_mulhi(random[0], total));
        float l = cur->data[i].logit;
        cur->selected = (int64_t)i;
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return;
    }
}

/* The one or the other. */
static void sampi_draw(const sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->draft && s->draft->draw)
        s->draft->draw(s, cur);
    else if (s->draft)
        sampi_draw_ratio(s, cur);
    else
        sampi_draw_envelope(s, cur);
}

/* Draw, leave p, and return the sums that p comes from. */
static sampi_sums sampi_select(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_draw(s, cur);
    sampi_sums sums = sampi_sum(cur);
    sampi_set_p(cur, &sums);
    return sums;
}

/* All of it is the draw; adaptive_p with a target below 0 is the same. */
static int sampi_dist_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_select(s, cur);
    return SAMP_OK;
}

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_DIST_ROW                                                                                               \
    "dist", 1, 0, "",                                                                                                \
        SAMPI_SELECTS | SAMPI_TAKES_FLOOR | SAMPI_VIEW_SORTED | SAMPI_LLAMA_DIVIDED | SAMPI_LLAMA_BY_ORDER,          \
        SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, sampi_dist_apply, sampi_fast_dist,                                   \
        SAMPI_BY_LLAMA_CPP(sampi_llama_dist, sampi_fast_llama_dist)
