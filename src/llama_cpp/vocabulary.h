/* ---- llama.cpp: a model's vocabulary ----
   samp_llama_vocab_init makes a samp_vocab from a llama_vocab, in one block of memory: the struct, the offset of each
   token's text, the tokens that end a generation, and the bytes of all texts. llama.cpp does the tokenising. */

typedef struct sampi_llama_vocab {
    samp_vocab base; /* must be the first member: users hold a pointer to it; its `user` is the llama_vocab */
    size_t *at;      /* [n_vocab + 1] the text of token t is bytes [at [t]] to bytes [at [t + 1] - 1] */
    char *bytes;
} sampi_llama_vocab;

static const char *sampi_llama_piece(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    const sampi_llama_vocab *v = (const sampi_llama_vocab *)vocab;
    *n_bytes = v->at[token + 1] - v->at[token];
    return v->bytes + v->at[token];
}

/* Tokenises a text. If the array is too small, llama.cpp writes nothing and returns the number of tokens as a negative
   number. The function first tries the array `few` on the stack. It is large enough for every breaker of dry (a text at
   which a repetition ends), so a failed allocation cannot lose a breaker, which would change the sampler. If `special`
   is true, names of control tokens in the text become control tokens. */
static int32_t sampi_llama_tokens(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out,
                                  int32_t n_max, bool special)
{
    const struct llama_vocab *from = (const struct llama_vocab *)vocab->user;
    samp_token few[2 * SAMPI_BREAKER_MAX], *all = few;
    int32_t n = samp_llama_fn_tokenize(from, text, (int32_t)n_bytes, few, 2 * SAMPI_BREAKER_MAX, false, special);
    if (n < 0) {
        all = (samp_token *)SAMP_MALLOC((size_t)-n * sizeof *all);
        n = all ? samp_llama_fn_tokenize(from, text, (int32_t)n_bytes, all, -n, false, special) : 0;
    }
    if (n > n_max) n = n_max;
    if (n > 0) memcpy(out, all, (size_t)n * sizeof *out);
    if (all != few) SAMP_FREE(all);
    return n;
}

static int32_t sampi_llama_tokenize(const samp_vocab *vocab, const char *text, size_t n_bytes, samp_token *out,
                                    int32_t n_max)
{
    return sampi_llama_tokens(vocab, text, n_bytes, out, n_max, false);
}

/* Walks over the tokens twice: first to count the bytes of their texts, then to copy the texts. */
SAMP_API SAMPI_COLD samp_vocab *samp_llama_vocab_init(const struct llama_vocab *vocab)
{
    if (!vocab) return NULL;
    samp_token n = samp_llama_fn_n_vocab(vocab);
    size_t n_bytes = 0, n_eog = 0;
    for (samp_token t = 0; t < n; t++) {
        n_bytes += (size_t)-samp_llama_fn_piece(vocab, t, NULL, 0, 0, false);
        n_eog += samp_llama_fn_is_eog(vocab, t);
    }
    size_t at = sizeof(sampi_llama_vocab), eog = at + ((size_t)n + 1) * sizeof(size_t);
    char *block = (char *)SAMP_MALLOC(eog + n_eog * sizeof(samp_token) + n_bytes);
    if (!block) return NULL;
    sampi_llama_vocab *v = (sampi_llama_vocab *)(void *)block;
    samp_token *ends = (samp_token *)(void *)(block + eog);
    samp_vocab base = { n,     sampi_llama_piece,        sampi_llama_tokenize,    (void *)(uintptr_t)vocab, ends,
                        n_eog, samp_llama_fn_eos(vocab), samp_llama_fn_eot(vocab) };
    v->base = base;
    v->at = (size_t *)(void *)(block + at);
    v->bytes = block + eog + n_eog * sizeof(samp_token);
    v->at[0] = 0;
    for (samp_token t = 0; t < n; t++) {
        int32_t room = (int32_t)(n_bytes - v->at[t]);
        v->at[t + 1] = v->at[t] + (size_t)samp_llama_fn_piece(vocab, t, v->bytes + v->at[t], room, 0, false);
        if (samp_llama_fn_is_eog(vocab, t)) *ends++ = t;
    }
    return &v->base;
}

SAMP_API void samp_llama_vocab_free(samp_vocab *vocab) { SAMP_FREE(vocab); }
