/* ---- the draw ----
   Draws a token with probability w / Z by rejection, where w is a token's weight and Z the sum of weights: proposes a
   token by an upper bound q of its weight (the envelope), and accepts it by the weight w. q is computed by integer
   arithmetic from a linear function of the logit. So it is cheap, and its sums are exact. It is at most 6.2 % above w,
   so 4 % of the proposals are rejected. So the draw needs one exp for each proposal instead of one for each token. The
   executor for rows draws in the same way. dist only draws; mirostat and adaptive_p end with a draw. If there is a
   draft token, its test replaces the draw.

   llama.cpp draws in another way: a std::mt19937 of the sampler (its part 0) gives the random numbers, and a running
   sum in array order decides. */

/* Draws with two 64-bit random numbers r and v; Q is the sum of the envelopes q. The function proposes the first token,
   in ascending id, whose running sum of q exceeds floor(r Q / 2^64). It accepts the token if floor(v (2^14 q) / 2^64) <
   w; otherwise it tries again with the random numbers of the next attempt. So token i has the probability q_i / Q * w_i
   / (2^14 q_i), proportional to w_i. The function only sets cur->selected. */
static void sampi_draw_envelope(const sampi_sampler *s, samp_token_data_array *cur)
{
    float max = cur->data[sampi_argmax(cur)].logit;
    uint64_t total = 0, random[2];
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) total += sampi_envelope_of_tile(cur, at, max);
    for (uint32_t attempt = 0;; attempt++) {
        sampi_random(s, attempt, random);
        size_t i = sampi_find(cur, max, sampi_mulhi(random[0], total));
        float l = cur->data[i].logit;
        cur->selected = (int64_t)i;
        if (sampi_mulhi(random[1], (uint64_t)sampi_envelope(max, l) << 14) < sampi_weight(max, l)) return;
    }
}

/* Draws, or tests the draft token if there is one. */
static void sampi_draw(const sampi_sampler *s, samp_token_data_array *cur)
{
    if (s->draft && s->draft->draw)
        s->draft->draw(s, cur);
    else if (s->draft)
        sampi_draw_ratio(s, cur);
    else
        sampi_draw_envelope(s, cur);
}

/* Draws, sets p of all candidates if anybody can read it, and returns the sums from which p follows. */
static sampi_sums sampi_select(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_draw(s, cur);
    sampi_sums sums = sampi_sum(cur);
    if (!s->at_end) sampi_set_p(cur, &sums);
    return sums;
}

#ifndef SAMP_NO_MT19937
/* Selects the first candidate in array order at which the sum of p reaches the share u of the total. The terms are
   floats, their sums doubles; if `sets_p`, p is divided by the total at the end. The sums after every `len` candidates
   are kept, so that the second walk begins near the selected one. */
static SAMPI_HOT void sampi_llama_choose(samp_token_data_array *cur, double u, bool sets_p)
{
    const float max = cur->data[sampi_argmax(cur)].logit;
    const size_t len = (cur->size / (64 * SAMPI_TILE) + 1) * SAMPI_TILE;
    double sum = 0.0, run = 0.0, upto[65];
    float e[SAMPI_TILE + 32];
    size_t chosen = 0;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        const size_t n = sampi_tile_of(cur, at);
        samp_token_data *d = cur->data + at;
        if (sampi_llama_exps(cur, at, max, e))
            for (size_t i = 0; i < n; i++) sum += (double)(d[i].p = e[i]);
        else
            for (size_t i = 0; i < n; i++) d[i].p = 0.0f;
        upto[at / len] = sum;
    }
    for (; chosen + len < cur->size && upto[chosen / len] < u * sum; chosen += len) run = upto[chosen / len];
    for (; chosen + 1 < cur->size; chosen++) {
        run += (double)cur->data[chosen].p;
        if (run >= u * sum) break;
    }
    if (sets_p) sampi_llama_divide(cur, sum);
    cur->selected = (int64_t)chosen;
}

/* Does what std::discrete_distribution does with the probabilities, for mirostat and adaptive_p: returns the first i at
   which the running sum of p / sum reaches u. If there is a single candidate, no random number is drawn. */
static size_t sampi_llama_discrete(sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    float e[SAMPI_TILE + 32];
    double sum = 0.0, run = 0.0;
    if (cur->size < 2) return 0;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        const size_t n = sampi_llama_exps(cur, at, sums->max, e) ? sampi_tile_of(cur, at) : 0;
        for (size_t i = 0; i < n; i++) sum += (double)(e[i] / sums->sum);
    }
    double u = sampi_mt_double(sampi_mt_of(s));
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        (void)sampi_llama_exps(cur, at, sums->max, e);
        for (size_t i = 0; i < sampi_tile_of(cur, at); i++) {
            run += (double)(e[i] / sums->sum) / sum;
            if (run >= u) return at + i;
        }
    }
    return cur->size - 1;
}
#endif
