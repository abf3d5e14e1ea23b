/* ---- selection, in llama.cpp's arithmetic ----
   softmax, greedy, dist, the mirostats and adaptive_p. They write cur->selected, which sampi_check_selected looks at
   afterwards, take their random numbers from part 0 of their sampler, and change s->now as the canonical ones do. dist,
   say, takes one double u of std::mt19937, and the first candidate in array order at which the running sum of e^(l -
   max) reaches u of the total. */

/* The softmax sampler; sampi_llama_softmax is what others build on. */
static int sampi_llama_softmax_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    sampi_llama_softmax(cur, true);
    return SAMP_OK;
}

/* Not sampi_greedy_apply: of equal logits llama.cpp takes the one that comes first. */
static int sampi_llama_greedy(sampi_sampler *s, samp_token_data_array *cur)
{
    (void)s;
    cur->selected = (int64_t)sampi_llama_argmax(cur);
    return SAMP_OK;
}

/* The first in array order at which the sum of p reaches u of the total. The sums are double, of floats; p is divided
   in the end. */
static void sampi_llama_choose(samp_token_data_array *cur, double u)
{
    samp_token_data *d = cur->data;
    float max = d[sampi_argmax(cur)].logit;
    double sum = 0.0, run = 0.0;
    for (size_t i = 0; i < cur->size; i++) {
        d[i].p = expf(d[i].logit - max);
        sum += (double)d[i].p;
    }
    size_t chosen = 0;
    for (; chosen + 1 < cur->size; chosen++) {
        run += (double)d[chosen].p;
        if (run >= u * sum) break;
    }
    sampi_llama_divide(cur, sum);
    cur->selected = (int64_t)chosen;
}

static int sampi_llama_dist(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_choose(cur, sampi_mt_double(sampi_mt_of(s)));
    return SAMP_OK;
}

/* std::discrete_distribution over the probabilities, for mirostat and adaptive_p: the first i whose running sum of
   p / sum reaches u. A single candidate takes no random number. */
static size_t sampi_llama_discrete(sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    double sum = 0.0, run = 0.0;
    if (cur->size < 2) return 0;
    for (size_t i = 0; i < cur->size; i++) sum += (double)sampi_llama_p(sums, cur->data[i].logit);
    double u = sampi_mt_double(sampi_mt_of(s));
    for (size_t i = 0; i + 1 < cur->size; i++) {
        run += (double)sampi_llama_p(sums, cur->data[i].logit) / sum;
        if (run >= u) return i;
    }
    return cur->size - 1;
}

/* mu moves against the error of the surprise. */
static void sampi_llama_follow(sampi_sampler *s, float p)
{
    s->now.mu -= sampi_roundf(s->u.mirostat.eta * (-log2f(p) - s->u.mirostat.tau));
}

/* The end of both mirostats, after their cuts: draw, and move mu. p is made anew, of what the cut has left, so the
   surprise is that among these. */
static int sampi_llama_mirostat_select(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
    sampi_llama_follow(s, cur->data[cur->selected].p);
    return SAMP_OK;
}

/* How many to keep. All in float, by libm: N^-e and the powers are what the token depends on, so nothing may be
   rearranged here. */
static size_t sampi_llama_zipf(const sampi_sampler *s, const samp_token_data_array *cur, const sampi_llama_sums *sums)
{
    float tb = 0.0f, tt = 0.0f, p = sampi_llama_p(sums, cur->data[0].logit);
    for (size_t i = 0; i + 1 < cur->size && i + 1 < (size_t)s->u.mirostat.m; i++) {
        float next = sampi_llama_p(sums, cur->data[i + 1].logit);
        float t = logf((float)(i + 2) / (float)(i + 1)), b = logf(p / next);
        tb += sampi_roundf(t * b);
        tt += sampi_roundf(t * t);
        p = next;
    }
    float zipf = tb / tt, e = zipf - 1.0f;
    float k = powf(sampi_roundf(e * powf(2.0f, s->now.mu)) / (1.0f - powf((float)s->u.mirostat.n_vocab, -e)),
                   1.0f / zipf);
    return k >= 1.0f && k < 2147483648.0f ? (size_t)k : 1; /* NaN and overflow count as 1 */
}

/* Is the surprise of a logit within mu? */
static bool sampi_llama_is_within(const sampi_sampler *s, const sampi_llama_sums *sums, float l)
{
    return !(-log2f(sampi_llama_p(sums, l)) > s->now.mu);
}

/* How many are, which is the beginning of a sorted array; one token stays in any case. */
static size_t sampi_llama_within(const sampi_sampler *s, const samp_token_data_array *cur,
                                 const sampi_llama_sums *sums)
{
    size_t n = 0;
    while (n < cur->size && sampi_llama_is_within(s, sums, cur->data[n].logit)) n++;
    return n ? n : 1;
}

static int sampi_llama_mirostat(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    size_t keep = (s->kind == SAMPI_MIROSTAT ? sampi_llama_zipf : sampi_llama_within)(s, cur, &sums);
    cur->size = keep < cur->size ? keep : cur->size;
    return sampi_llama_mirostat_select(s, cur);
}

/* llama.cpp trusts `sorted` in the second softmax too, although the map is not monotone: the first token stands for
   the maximum, which shows in the last bits of p. */
static SAMPI_COLD int sampi_llama_adaptive_p(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, false);
    if (s->u.adaptive.target < 0.0f) {
        cur->selected = (int64_t)sampi_llama_discrete(s, cur, &sums);
        return SAMP_OK;
    }
    sampi_adapt(s, cur);
    sampi_llama_sums adapted = sampi_llama_sum(cur);
    cur->selected = (int64_t)sampi_llama_discrete(s, cur, &adapted);
    const samp_token_data *chosen = &cur->data[cur->selected];
    s->now.pending = chosen->id;
    s->now.pending_p = sampi_llama_p(&sums, chosen->p); /* p is the old logit still */
    sampi_llama_softmax(cur, false);
    cur->sorted = false;
    return SAMP_OK;
}
