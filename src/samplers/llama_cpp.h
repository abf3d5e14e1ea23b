/* =================================================================================================== >>llama
   Samplers in llama.cpp's arithmetic (SAMP_RNG_MT19937): they compute or draw as llama.cpp 0.5 does on x86-64, so that
   a seed gives llama.cpp's tokens. In this arithmetic sampi_run calls the function apply_llama in place of apply, with
   the same arguments and meaning. Each function is in its sampler's file, beside the function in the library's own
   (canonical) arithmetic; this file has what they share.

   This arithmetic differs from the canonical one: it has float sums in array order, libm's float functions, and no
   fused multiply-add (sampi_roundf keeps products rounded). Masked tokens stay in the array, with p = 0, and count for
   min_keep and n. Random numbers come one after another from the sampler's own std::mt19937 (part 0), which each draw
   advances; sampi_restore_state can take it back.

   The order of additions is part of the result: a sum over a sorted array differs from the sum over the array as it
   came. So an array is sorted where llama.cpp sorts it, and nowhere else. When samp_sample calls these functions, the
   array has the tokens that rows/llama_cpp/ has left of the row. */

/* The numbers from which probabilities follow: the maximum, and the sum of e^(l - max) in array order. With them, p of
   a logit can be computed even after the array's logits have changed, as long as the old logit was kept. */
typedef struct sampi_llama_sums {
    float max, sum;
} sampi_llama_sums;

/* Returns the probability of a logit. Where llama.cpp reads a stored p, the library computes it again, by the same
   expression of the same floats. */
static float sampi_llama_p(const sampi_llama_sums *sums, float l) { return expf(l - sums->max) / sums->sum; }

/* Returns the sums of an array, without writing p. As in llama.cpp, data [0] is the maximum if `sorted` is set.
   adaptive_p calls this function, because its p holds the old logits then. */
static sampi_llama_sums sampi_llama_sum(const samp_token_data_array *cur)
{
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += expf(cur->data[i].logit - sums.max);
    return sums;
}

/* Does what llama_sampler_softmax_impl does: sets p of all candidates, after sorting them if `sort`. Most samplers of
   this arithmetic begin with this call, as llama.cpp's do. So p is also written by samplers that leave it in the
   canonical arithmetic (temp_ext). */
static sampi_llama_sums sampi_llama_softmax(const sampi_sampler *s, samp_token_data_array *cur, bool sort)
{
    if (sort) sampi_sort_all(cur, s->at_memory);
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += cur->data[i].p = expf(cur->data[i].logit - sums.max);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p /= sums.sum;
    return sums;
}

/* Returns the index of the first maximum in array order, whatever its id, for greedy and temperature 0. (sampi_argmax
   takes the smallest id of equal logits.) */
static size_t sampi_llama_argmax(const samp_token_data_array *cur)
{
    float x[SAMPI_TILE], max = -INFINITY;
    size_t best = 0;
    for (size_t at = 0, n; at < cur->size; at += n) {
        n = sampi_copy_logits(cur, at, x);
        const float top = sampi_max_of(x, n);
        if (!(top > max)) continue;
        max = top;
        for (best = at; cur->data[best].logit != top;) best++;
    }
    return best;
}

/* Makes the other softmax of llama.cpp, which dist and the end of temp_ext use: p already is e^(l - max) rounded to
   float, and is divided by a sum that is a double. */
static void sampi_llama_divide(samp_token_data_array *cur, double sum)
{
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = (float)((double)cur->data[i].p / sum);
}

/* sampi_llama_share returns -p ln p, a token's term of the entropy. It is 0 for p = 0, where llama.cpp's entropy is
   NaN.
   sampi_llama_entropy returns the entropy of the array, from p after the softmax, for typical and temp_ext. */
static float sampi_llama_share(float p) { return p > 0.0f ? -sampi_roundf(p * logf(p)) : 0.0f; }

static float sampi_llama_entropy(const samp_token_data_array *cur)
{
    float entropy = 0.0f;
    for (size_t i = 0; i < cur->size; i++) entropy += sampi_llama_share(cur->data[i].p);
    return entropy;
}

/* Makes the cut of top_p and typical: keeps the candidates up to the first at which the sum of p reaches `share` (or
   exceeds it, if `exceed`), and all candidates if it never does. */
static void sampi_llama_keep_share(samp_token_data_array *cur, float share, bool exceed, size_t min_keep)
{
    float run = 0.0f;
    for (size_t i = 0; i < cur->size; i++) {
        run += cur->data[i].p;
        bool enough = exceed ? run > share : run >= share;
        if (!enough || i + 1 < min_keep) continue;
        cur->size = i + 1;
        return;
    }
}
