/* =================================================================================================== >>llama
   Samplers in llama.cpp's arithmetic (SAMP_RNG_MT19937): those that compute or draw differently from the canonical
   ones, as llama.cpp 0.5 does on x86-64, so that a seed gives its tokens. sampi_run calls a row's apply_llama in place
   of apply; arguments and meaning are the same. Each stands in its sampler's room, beside the canonical one; here is
   what they share.

   The differences: float sums in array order, libm's float functions, no fused multiply-add (sampi_roundf keeps
   products apart). Masked tokens stay in the array, with p = 0, and count for min_keep and n. Random numbers come one
   after the other from the sampler's own std::mt19937 (its part 0), which a draw moves on; sampi_restore_state can move
   it back.

   The order of additions is part of the result: a sum over a sorted array is another one than over the same array as it
   came. So an array is sorted here where llama.cpp sorts it, no sooner. samp_sample comes here with what
   rows/llama_cpp/ has left of the row. */

/* What makes probabilities: the maximum, and the sum of e^(l - max) in the order of the array. Those of the logits
   as they were: one that has been kept aside still has its p by them. */
typedef struct sampi_llama_sums {
    float max, sum;
} sampi_llama_sums;

/* The probability of a logit. Recomputed wherever llama.cpp would read p: it is the same expression of the same
   floats. */
static float sampi_llama_p(const sampi_llama_sums *sums, float l) { return expf(l - sums->max) / sums->sum; }

/* By data [0] if the array says that it is sorted, as llama.cpp has it, else by the maximum. Reads only.
   adaptive_p needs it without p, which holds the old logits then. */
static sampi_llama_sums sampi_llama_sum(const samp_token_data_array *cur)
{
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += expf(cur->data[i].logit - sums.max);
    return sums;
}

/* llama_sampler_softmax_impl: p of all, after sorting or without. Most samplers here begin with it, as llama.cpp's
   do, so p is written also where the canonical one leaves it (temp_ext). */
static sampi_llama_sums sampi_llama_softmax(samp_token_data_array *cur, bool sort)
{
    if (sort) sampi_sort_all(cur);
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    for (size_t i = 0; i < cur->size; i++) sums.sum += cur->data[i].p = expf(cur->data[i].logit - sums.max);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p /= sums.sum;
    return sums;
}

/* The first maximum in the order of the array, whatever its id. For greedy and for temperature 0; sampi_argmax
   would take the smaller id of equal ones. */
static size_t sampi_llama_argmax(const samp_token_data_array *cur)
{
    size_t best = 0;
    for (size_t i = 1; i < cur->size; i++)
        if (cur->data[i].logit > cur->data[best].logit) best = i;
    return best;
}

/* The other softmax, of dist and the end of temp_ext: p holds e^(l - max) rounded to float already, the sum is
   double. */
static void sampi_llama_divide(samp_token_data_array *cur, double sum)
{
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = (float)((double)cur->data[i].p / sum);
}

/* Of p as it stands: in typical and temp_ext, after the softmax. A p of 0 has no part in it (llama.cpp's entropy
   is NaN then). */
static float sampi_llama_share(float p) { return p > 0.0f ? -sampi_roundf(p * logf(p)) : 0.0f; }

static float sampi_llama_entropy(const samp_token_data_array *cur)
{
    float entropy = 0.0f;
    for (size_t i = 0; i < cur->size; i++) entropy += sampi_llama_share(cur->data[i].p);
    return entropy;
}

/* The cut of top_p and typical: keep what comes before the sum of p reaches `share` (or, if it must exceed it, does
   that), and the one that does it; all if none does. */
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
