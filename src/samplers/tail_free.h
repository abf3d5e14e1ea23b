/* ---- tail_free (Bricken 2019) ----
   Tail-free sampling sorts the probabilities p_i. a_i = |p_i - 2 p_i+1 + p_i+2| is how much their curve bends at i.
   Divided by their sum, the a_i are a distribution. The cut is made at the first i at which the running sum of the a_i
   exceeds the parameter z: the tail after it is flat. For p = 0.5, 0.3, 0.1, 0.06, 0.04: a = 0, 0.16, 0.02, so z = 0.95
   keeps two. All numbers are in units of weight. If the sum of the a_i is below 1e-6, all a_i count the same, as in the
   original implementation. */
#ifndef SAMPI_PLANS

/* Returns the bend a_i = |w_i - 2 w_i+1 + w_i+2| of three neighbours' weights; w points to w_i. */
static uint64_t sampi_bend(const uint64_t *w)
{
    uint64_t ends = w[0] + w[2], middle = 2 * w[1];
    return ends > middle ? ends - middle : middle - ends;
}

/* Is the sum of the bends a_i below 1e-6 in units of probability? z is the sum of weights. */
static SAMPI_CALLED bool sampi_tail_is_flat(uint64_t total, uint64_t z)
{
    return (double)total * 1000000.0 < (double)z;
}

/* The place of a loop over the bends a_i of a sorted array. w [0 .. 2] are the weights at i, i + 1 and i + 2, so each
   weight is computed once. */
typedef struct sampi_bends {
    const samp_token_data *d;
    float max;
    size_t i;
    uint64_t w[3];
} sampi_bends;

/* Begins a loop over the bends a_i. The array must be sorted, have at least two candidates, and not change during the
   loop. */
static SAMPI_COLD void sampi_bends_begin(sampi_bends *bends, const samp_token_data_array *cur, float max)
{
    bends->d = cur->data;
    bends->max = max;
    bends->i = 0;
    for (int k = 0; k < 2; k++) bends->w[k] = sampi_weight(max, cur->data[k].logit);
}

/* Returns a_i, and advances to i + 1. The array must have a candidate i + 2. */
static SAMPI_COLD uint64_t sampi_bends_next(sampi_bends *bends)
{
    uint64_t *w = bends->w;
    w[2] = sampi_weight(bends->max, bends->d[bends->i++ + 2].logit);
    uint64_t bend = sampi_bend(w);
    w[0] = w[1];
    w[1] = w[2];
    return bend;
}

/* Returns how many tokens of the row stay: those before the cut, at least min_keep. If the running sum of bends never
   exceeds the share, all stay. */
static size_t sampi_tail_free_size(const samp_token_data_array *cur, const sampi_sums *sums, uint64_t share,
                                   size_t min_keep)
{
    uint64_t total = 0, run = 0;
    size_t last = sums->n - 2; /* the a_i are 0 .. last - 1 */
    sampi_bends bends;
    sampi_bends_begin(&bends, cur, sums->max);
    while (bends.i < last) total += sampi_bends_next(&bends);
    bool flat = sampi_tail_is_flat(total, sums->z);
    uint64_t limit = sampi_mulhi(share, flat ? last : total);
    sampi_bends_begin(&bends, cur, sums->max);
    for (size_t i = 0; i < last; i++) {
        run += flat ? 1 : sampi_bends_next(&bends);
        if (run <= limit) continue;
        size_t keep = i > min_keep ? i : min_keep;
        return keep < sums->n ? keep : sums->n;
    }
    return sums->n;
}

/* p is set before the cut, so it is the probability among all tokens. */
static SAMPI_COLD int sampi_tail_free_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_sort_all(cur, s->at_memory);
    sampi_set_p(cur, &sums);
    if (sums.n <= 2) return SAMP_OK; /* two tokens have no bend; masked tokens stay too */
    size_t min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    cur->size = sampi_tail_free_size(cur, &sums, sampi_share(s->u.cut.p), min_keep);
    return SAMP_OK;
}

#ifndef SAMP_NO_MT19937
/* Returns the bend |p_i - 2 p_i+1 + p_i+2| from p, as the difference of two rounded differences. */
static float sampi_llama_bend(const samp_token_data *d) { return fabsf((d[0].p - d[1].p) - (d[1].p - d[2].p)); }

/* Applies tail_free as llama.cpp did before it removed the sampler: with float sums, and with equal bends if their sum
   is below 1e-6. */
static SAMPI_COLD int sampi_llama_tail_free(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = cur->size, min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    if (n <= 2) return SAMP_OK;
    sampi_llama_softmax(s, cur, true);
    float sum = 0.0f, run = 0.0f;
    for (size_t i = 0; i + 2 < n; i++) sum += sampi_llama_bend(&cur->data[i]);
    for (size_t i = 0; i + 2 < n; i++) {
        run += sum > 1e-6f ? sampi_llama_bend(&cur->data[i]) / sum : 1.0f / (float)(n - 2);
        if (!(run > s->u.cut.p)) continue;
        size_t keep = i > min_keep ? i : min_keep;
        cur->size = keep < n ? keep : n;
        break;
    }
    return SAMP_OK;
}
#endif

SAMP_API SAMPI_COLD samp_sampler *samp_init_tail_free(float z, size_t min_keep)
{
    return sampi_init_cut(SAMPI_TAIL_FREE, z, min_keep);
}

SAMPI_CUT_FIELDS(TAIL_FREE, tfs_z, 1, 0, SAMPI_OPEN, "z");

#define SAMPI_TAIL_FREE_ROW \
    "tail-free", 0, 'f', "tfs_z;tail_free;tail-free;tfs", \
        SAMPI_DROPS_FAST | SAMPI_SORTS | SAMPI_IF_ON | SAMPI_VIEW_SORTED, SAMPI_FIELDS_OF(SAMPI_TAIL_FREE_FIELDS), \
        sampi_off_at_1, &SAMPI_NO_HOOKS, sampi_tail_free_apply, sampi_fast_tail_free, \
        SAMPI_BY_LLAMA_CPP(sampi_llama_tail_free)

#else /* the plan */

/* The plan of tail_free. The bends need all weights in order, and executors have a question for that. */
static int SAMPI_ON(plan_tail_free)(SAMPI_ON(row) * row, SAMPI_ON(step) * s) { return SAMPI_ON(keep_tail)(row, s); }

#endif
