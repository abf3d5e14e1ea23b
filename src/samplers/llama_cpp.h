/* =================================================================================================== >>llama
   Samplers in llama.cpp's arithmetic (SAMP_RNG_MT19937): they compute or draw as llama.cpp 0.5 does on x86-64, so that
   a seed gives llama.cpp's tokens. In this arithmetic sampi_life_run calls the function apply_llama in place of
   apply, with the same arguments and meaning. Each function is in its sampler's file, beside the function in the
   library's own (canonical) arithmetic; this file has what they share.

   This arithmetic differs from the canonical one: it has float sums in array order, libm's float functions, and no
   fused multiply-add (sampi_roundf keeps products rounded). Masked tokens stay in the array, with p = 0, and count for
   min_keep and n. Random numbers come one after another from the sampler's own std::mt19937 (part 0), which each draw
   advances; sampi_life_restore_state can take it back.

   The order of additions is part of the result: a sum over a sorted array differs from the sum over the array as it
   came. So an array is sorted where llama.cpp sorts it, and nowhere else. Exponentials of long arrays are computed by
   tiles, with libm's results (kernels/llama_cpp/). */

/* The numbers from which probabilities follow: the maximum, and the sum of e^(l - max) in array order. With them, p of
   a logit can be computed even after the array's logits have changed, as long as the old logit was kept. */
typedef struct sampi_llama_sums {
    float max, sum;
} sampi_llama_sums;

/* Returns the probability of a logit. Where llama.cpp reads a stored p, the library computes it again, by the same
   expression of the same floats. */
static float sampi_llama_p(const sampi_llama_sums *sums, float l) { return expf(l - sums->max) / sums->sum; }

/* Returns 1 if libm's expf has the results of the kernels' expf, else -1, by 2048 arguments. Another algorithm of libm
   would differ for a few of these arguments, and one that rounds e^x correctly for the first eight. */
static SAMPI_COLD int sampi_try_expf(const sampi_kernels *k)
{
    static const float near_the_middle[8] = { -9.63555503e-05f, -0.00162497989f, -0.00327691319f, -0.00585649349f,
                                              -0.0109626632f,   -0.0179022551f,  -0.0352634974f,  -0.0572585091f };
    float x[SAMPI_TILE], e[SAMPI_TILE + 32];
    for (int tile = 0; tile < 8; tile++) {
        for (int i = 0; i < SAMPI_TILE; i++) x[i] = -0.00831f * (float)(i * 8 + tile);
        if (tile == 0) memcpy(x, near_the_middle, sizeof near_the_middle);
        k->expf(x, SAMPI_TILE, 0.0f, e);
        for (int i = 0; i < SAMPI_TILE; i++)
            if (e[i] != expf(x[i])) return -1;
    }
    return 1;
}

/* Writes e^(l - max) of the candidates from index `at` on, those of a tile (256), to e [SAMPI_TILE + 32], as libm's
   expf gives them. False: all of them are masked, so e is 0. */
static bool sampi_llama_exps(const samp_token_data_array *cur, size_t at, float max, float *e)
{
    static int vectors_agree; /* 1: the vectors' expf is libm's; -1: it is not; 0: not tried yet */
    const sampi_kernels *k = sampi_use();
    float x[SAMPI_TILE];
    const size_t n = sampi_copy_logits(cur, at, x);
    const float top = sampi_max_of(x, n);
    int agree = k->expf == sampi_expf_scalar ? 1 : SAMPI_INT_GET(&vectors_agree);
    if (agree == 0) SAMPI_INT_PUT(&vectors_agree, agree = sampi_try_expf(k));
    if (sampi_masked(top))
        memset(e, 0, n * sizeof *e);
    else
        (agree > 0 && top <= max ? k->expf : sampi_expf_scalar)(x, n, max, e);
    return !sampi_masked(top);
}

/* Sets p of the candidates from index `at` on, those of a tile, to e divided by a sum. */
static void sampi_llama_put(samp_token_data_array *cur, size_t at, const float *e, double sum)
{
    float x[SAMPI_TILE];
    const size_t n = sampi_copy_logits(cur, at, x);
    sampi_use()->put(cur->data + at, n, x, e, sum);
}

/* Returns the sums of an array, without writing p. As in llama.cpp, data [0] is the maximum if `sorted` is set.
   adaptive_p calls this function, because its p holds the old logits then. */
static sampi_llama_sums sampi_llama_sum(const samp_token_data_array *cur)
{
    sampi_llama_sums sums = { cur->data[sampi_argmax(cur)].logit, 0.0f };
    float e[SAMPI_TILE + 32];
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        const size_t n = sampi_llama_exps(cur, at, sums.max, e) ? sampi_tile_of(cur, at) : 0;
        for (size_t i = 0; i < n; i++) sums.sum += e[i];
    }
    return sums;
}

/* Sets p of all candidates, from such sums. A float divided by a float is rounded to the same float if it is divided as
   doubles, as the kernel does. */
static void sampi_llama_set_p(samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    float e[SAMPI_TILE + 32];
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        (void)sampi_llama_exps(cur, at, sums->max, e);
        sampi_llama_put(cur, at, e, (double)sums->sum);
    }
}

/* Does what llama_sampler_softmax_impl does: sets p of all candidates, after sorting them if `sort`. Most samplers of
   this arithmetic begin with this call, as llama.cpp's do. So p is also written by samplers that leave it in the
   canonical arithmetic (temp_ext). */
static sampi_llama_sums sampi_llama_softmax(const sampi_sampler *s, samp_token_data_array *cur, bool sort)
{
    if (sort) sampi_sort_all(cur, s->at_memory);
    sampi_llama_sums sums = sampi_llama_sum(cur);
    sampi_llama_set_p(cur, &sums);
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
static SAMPI_HOT void sampi_llama_divide(samp_token_data_array *cur, double sum)
{
    float e[SAMPI_TILE];
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        const size_t n = sampi_tile_of(cur, at);
        for (size_t i = 0; i < n; i++) e[i] = cur->data[at + i].p;
        if (sampi_max_of(e, n) > 0.0f) sampi_llama_put(cur, at, e, sum);
    }
}

/* Returns the entropy of the array, from p after the softmax, for typical and temp_ext. A token with p = 0 adds 0, where
   llama.cpp's entropy is NaN. */
static float sampi_llama_entropy(const samp_token_data_array *cur)
{
    float entropy = 0.0f;
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].p > 0.0f) entropy += -sampi_roundf(cur->data[i].p * logf(cur->data[i].p));
    return entropy;
}

/* Makes the cut of top_p and typical: keeps the candidates up to the first, in this order, at which the sum of p
   reaches top_p's share or exceeds typical's; all candidates if it never does. They are sorted and get p only so
   far. */
static void sampi_llama_keep_share(const sampi_sampler *s, samp_token_data_array *cur, const sampi_order *order,
                                   const sampi_llama_sums *sums)
{
    const float share = s->u.cut.p;
    float run = 0.0f;
    for (size_t i = 0, k = 0; i < cur->size; i++) {
        if (i == k) k = sampi_sort_further(order, cur, k, cur->size, s->at_memory);
        run += cur->data[i].p = sampi_llama_p(sums, cur->data[i].logit);
        if (i + 1 >= s->u.cut.min_keep && (order->score ? run > share : run >= share)) cur->size = i + 1;
    }
    cur->sorted = !order->score;
}
