/* ---- infill ----
   llama.cpp's sampler for text that fills a gap, in llama.cpp's arithmetic (sums of floats, in order) with both random
   sources. An example: if one of four candidates ends the text and has p = 0.1, 3 * 4 * 0.1 = 1.2 exceeds the others'
   0.9, so only this candidate stays. The contract in api/samplers.h has the other rules. */

/* Returns a token's text, which is empty if the vocabulary does not contain the token. */
static SAMPI_COLD const char *sampi_piece_of(const samp_vocab *vocab, samp_token token, size_t *n)
{
    *n = 0;
    return token >= 0 && token < vocab->n_vocab ? vocab->token_bytes(vocab, token, n) : NULL;
}

static SAMPI_COLD bool sampi_is_eog(const samp_vocab *vocab, samp_token token)
{
    for (size_t i = 0; i < vocab->n_eog; i++)
        if (vocab->eog[i] == token) return true;
    return false;
}

/* Merges each candidate with all candidates whose text begins with its own. The more likely of the two gets the sum of
   both p; the other gets p = 0 and is masked. */
static SAMPI_COLD void sampi_infill_merge(const samp_vocab *vocab, samp_token_data_array *cur)
{
    samp_token_data *d = cur->data;
    for (size_t i = 0; i < cur->size; i++) {
        size_t n, m;
        const char *text = sampi_piece_of(vocab, d[i].id, &n);
        for (size_t k = 0; n && k < cur->size && !sampi_masked(d[i].logit); k++) {
            if (i == k || sampi_masked(d[k].logit)) continue;
            const char *other = sampi_piece_of(vocab, d[k].id, &m);
            if (m < n || memcmp(text, other, n) != 0) continue;
            size_t to = d[k].p > d[i].p ? k : i, from = to ^ i ^ k;
            d[to].p += d[from].p;
            d[from].logit = -INFINITY;
            d[from].p = 0.0f;
        }
    }
}

/* Keeps the tokens that end the text, and other tokens with p of at least `least`. Returns the number of the other
   tokens. If it is 0, p is not normalised. In llama.cpp's arithmetic (llama) a token that ends the text stays even if
   it has been merged into another token. */
static SAMPI_COLD size_t sampi_infill_keep(const samp_vocab *vocab, samp_token_data_array *cur, float least,
                                           bool llama)
{
    samp_token_data *d = cur->data;
    size_t kept = 0, others = 0;
    float sum = 0.0f;
    for (size_t i = 0; i < cur->size; i++) {
        bool end = sampi_is_eog(vocab, d[i].id);
        if (end ? !llama && sampi_masked(d[i].logit) : d[i].p < least) continue;
        others += !end;
        sum += d[i].p;
        d[kept++] = d[i];
    }
    for (size_t i = 0; i < kept && (others || least > 1.0f); i++) d[i].p /= sum;
    cur->size = kept;
    return others;
}

static SAMPI_COLD int sampi_infill_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_vocab *vocab = s->u.infill.vocab;
    const sampi_traits *softmax = sampi_traits_of(SAMPI_SOFTMAX);
    const bool llama = sampi_is_llama_cpp(s); /* llama.cpp counts masked tokens too */
    float sum[2] = { 0.0f, 0.0f }, n = 0.0f;
    sampi_apply_of(softmax, llama)(s, cur);
    for (size_t i = 0; i < cur->size; i++) {
        sum[sampi_is_eog(vocab, cur->data[i].id)] += cur->data[i].p;
        n += (float)(llama || !sampi_masked(cur->data[i].logit));
    }
    bool end = 3.0f * sum[1] * n > sum[0];
    if (!end) sampi_infill_merge(vocab, cur);
    size_t others = sampi_infill_keep(vocab, cur, end ? 2.0f : 0.2f, llama);
    if (others) {
        sampi_infill_keep(vocab, cur, (float)(1.0 / (double)(others + 1)), llama);
    } else if (!end) {
        cur->size = 1;
        cur->data[0].id = vocab->eot >= 0 ? vocab->eot : vocab->eos;
        cur->data[0].logit = 1.0f;
    }
    return SAMP_OK;
}

/* Checks the vocabulary: it must have texts, and a token that ends a text. */
static SAMPI_COLD void sampi_infill_prepare(sampi_sampler *t, bool make)
{
    const samp_vocab *v = t->u.infill.vocab;
    (void)make;
    bool there = v && v->token_bytes && (v->eog || !v->n_eog);
    sampi_require(t, there && (v->eot & v->eos) >= 0, there ? SAMP_E_RANGE : SAMP_E_NULL, "vocab");
}

SAMP_API SAMPI_COLD samp_sampler *samp_init_infill(const samp_vocab *vocab)
{
    sampi_sampler t = sampi_blank(SAMPI_INFILL);
    t.u.infill.vocab = vocab;
    return sampi_init(&t);
}

static SAMPI_COLD void sampi_infill_params(sampi_sampler *t, const samp_params *p) { t->u.infill.vocab = p->vocab; }

SAMPI_HOOKS(INFILL, sampi_infill_params, sampi_infill_prepare, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            SAMPI_BYTES_ONLY);

#define SAMPI_INFILL_ROW \
    "infill", 0, 'i', "infill", SAMPI_IF_NAMED, SAMPI_NO_FIELDS, NULL, &SAMPI_INFILL_HOOKS, sampi_infill_apply, \
        NULL, SAMPI_BY_LLAMA_CPP(sampi_infill_apply)
