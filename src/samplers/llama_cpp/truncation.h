/* ---- truncation, in llama.cpp's arithmetic ----
   The samplers that drop candidates, as apply_llama of the table's rows. Each may write the candidates, the size and
   `sorted`, as its twin in >>truncation does. Example of a difference: top_p adds the floats p_0 + p_1 + ... in order
   until the sum reaches p, where the canonical one compares integers. */

/* Mean and deviation in two passes of float sums; the square is added in double and rounded each time, as C++ does
   with std::pow's double. */
static SAMPI_COLD int sampi_llama_top_n_sigma(sampi_sampler *s, samp_token_data_array *cur)
{
    float max = -INFINITY, sum = 0.0f, squares = 0.0f, count = 0.0f;
    if (cur->size < 2) return SAMP_OK;
    for (size_t i = 0; i < cur->size; i++) {
        float l = cur->data[i].logit;
        if (sampi_masked(l)) continue;
        if (l > max) max = l;
        sum += l;
        count += 1.0f;
    }
    float mean = sum / count;
    for (size_t i = 0; i < cur->size; i++) {
        if (sampi_masked(cur->data[i].logit)) continue;
        double x = (double)(cur->data[i].logit - mean);
        squares = (float)((double)squares + sampi_round(x * x));
    }
    float sigma = (float)sqrt((double)(squares / count)), floor = max - sampi_roundf(s->u.cut.p * sigma);
    for (size_t i = 0; i < cur->size; i++)
        if (cur->data[i].logit < floor) cur->data[i].logit = -INFINITY;
    return SAMP_OK;
}

/* Masked tokens count here, and may be among the k. */
static int sampi_llama_top_k(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t k = (size_t)s->u.top_k.k;
    if (s->u.top_k.ties) return sampi_top_k_apply(s, cur);
    sampi_cut_to_first(cur, k < cur->size ? k : cur->size);
    return SAMP_OK;
}

/* |p_i - 2 p_i+1 + p_i+2| as the difference of two rounded differences; tail_free's second derivative, from p as
   it stands. */
static float sampi_llama_bend(const samp_token_data *d) { return fabsf((d[0].p - d[1].p) - (d[1].p - d[2].p)); }

/* As llama.cpp did it before it dropped the sampler: sums in float, and all bends equal where they sum to nearly
   nothing. */
static SAMPI_COLD int sampi_llama_tail_free(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t n = cur->size, min_keep = s->u.cut.min_keep ? s->u.cut.min_keep : 1;
    if (n <= 2) return SAMP_OK;
    sampi_llama_softmax(cur, true);
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

/* How far the surprise of a p is from the entropy. A p of 0 comes last (in llama.cpp it is NaN, and the order
   garbage). */
static float sampi_llama_score(float p, float entropy) { return p > 0.0f ? fabsf(-logf(p) - entropy) : INFINITY; }

/* For sampi_sort: the score stands where p does. */
static double sampi_llama_typical_score(const sampi_order *order, const samp_token_data *d)
{
    (void)order;
    return (double)d->p;
}

/* Sort by score. sums: what p comes from. */
static void sampi_llama_sort_by_score(samp_token_data_array *cur, const sampi_llama_sums *sums, float entropy)
{
    sampi_order by_score = { sampi_llama_typical_score, 0.0, 0.0 };
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_score(cur->data[i].p, entropy);
    sampi_sort(&by_score, cur, cur->size);
    for (size_t i = 0; i < cur->size; i++) cur->data[i].p = sampi_llama_p(sums, cur->data[i].logit);
}

/* The running sum is in the order of the scores, and must exceed the share. */
static SAMPI_COLD int sampi_llama_typical(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_sums sums = sampi_llama_softmax(cur, true);
    sampi_llama_sort_by_score(cur, &sums, sampi_llama_entropy(cur));
    sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
    return SAMP_OK;
}

/* Sums before it sorts, so p may differ from typical's in the last bits. */
static int sampi_llama_top_p(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_llama_softmax(cur, false);
    sampi_sort_all(cur);
    sampi_llama_keep_share(cur, s->u.cut.p, false, s->u.cut.min_keep);
    return SAMP_OK;
}

/* The cut is by logit, as in the canonical arithmetic, with logf's last bit and a sum in float. */
static int sampi_llama_min_p(sampi_sampler *s, samp_token_data_array *cur)
{
    float floor = cur->data[sampi_argmax(cur)].logit + logf(s->u.cut.p);
    sampi_keep_above(cur, floor, s->u.cut.min_keep);
    return SAMP_OK;
}

/* No peer's arithmetic to keep but the others' here: p is a float, the prefix ends before the first below a p_max^2. */
static SAMPI_COLD int sampi_llama_top_a(sampi_sampler *s, samp_token_data_array *cur)
{
    size_t kept = 1;
    sampi_llama_softmax(cur, true);
    float floor = sampi_roundf(s->u.cut.p * cur->data[0].p) * cur->data[0].p;
    while (kept < cur->size && (cur->data[kept].p >= floor || kept < s->u.cut.min_keep)) kept++;
    cur->size = kept;
    return SAMP_OK;
}

/* Of a sorted array with p. What is dropped is its beginning, so it is still sorted. */
static SAMPI_COLD void sampi_llama_xtc_cut(const sampi_sampler *s, samp_token_data_array *cur)
{
    size_t above = 0;
    while (above < cur->size && cur->data[above].p >= s->u.xtc.t && !sampi_masked(cur->data[above].logit)) above++;
    if (above < 2 || cur->size - (above - 1) < s->u.xtc.min_keep) return;
    cur->size -= above - 1;
    memmove(cur->data, cur->data + (above - 1), cur->size * sizeof *cur->data);
}

/* Its number is drawn before anything else, and even if p is 1: one output of the mt19937 each time there is a
   choice. */
static SAMPI_COLD int sampi_llama_xtc(sampi_sampler *s, samp_token_data_array *cur)
{
    if (cur->size < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    sampi_llama_softmax(cur, true);
    sampi_llama_xtc_cut(s, cur);
    return SAMP_OK;
}
