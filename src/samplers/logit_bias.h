/* ================================================================================================== >>logits
   Samplers that change the logits of a few tokens: logit_bias, penalties, dry. Each sampler has a list of tokens,
   changes their logits, and leaves the array unsorted. The lists of penalties and dry are sorted, because sampi_patch
   relies on it. A masked token stays masked; a result that overflows becomes +-FLT_MAX.

   Each sampler has these functions: `build` fills its arrays when it is made; `reset` and `accept` change its window of
   tokens, and nothing else does; `apply` changes an array of candidates; `change` returns the new logit of one token.
   The executors for rows and for the GPU use the lists and `change` too, so a token's new logit is computed in one way
   only.

   logit_bias adds biases to logits, entry by entry. Biases 1.5 and -0.5 of one token change its logit from 2 to 3. The
   sampler's part 0 is a copy of the caller's list. */

/* Checks each entry in order, because the first bad one is reported. A bias of +infinity gives SAMP_E_NAN, as NaN does;
   -infinity bans the token. */
static SAMPI_COLD void sampi_logit_bias_prepare(sampi_sampler *t, bool make)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)t->from;
    int32_t n = t->u.bias.n, n_vocab = t->u.bias.n_vocab;
    (void)make;
    sampi_require(t, n == 0 || bias, SAMP_E_NULL, "logit_bias");
    sampi_require(t, n == 0 || n_vocab > 0, SAMP_E_RANGE, "n_vocab");
    for (int32_t i = 0; i < n && !t->status; i++) {
        sampi_require(t, bias[i].bias == bias[i].bias, SAMP_E_NAN, "logit_bias");
        sampi_require(t, bias[i].token >= 0 && bias[i].token < n_vocab, SAMP_E_RANGE, "logit_bias");
        sampi_require(t, bias[i].bias <= FLT_MAX, SAMP_E_NAN, "logit_bias");
    }
    t->part_size[0] = (size_t)n * sizeof *bias;
}

/* Returns the new logit of a token that was not masked. */
static float sampi_bias_change(float l, float bias) { return sampi_masked(bias) ? bias : sampi_finite(l + bias); }

/* Applies logit_bias. It does not use sampi_patch, because a token may be in the list twice. Then both biases are added
   in the list's order, and each sum is rounded. */
static int sampi_logit_bias_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        size_t at = sampi_find_candidate(cur, bias[i].token);
        if (at == cur->size || sampi_masked(cur->data[at].logit)) continue;
        cur->data[at].logit = sampi_bias_change(cur->data[at].logit, bias[i].bias);
    }
    cur->sorted = false;
    return SAMP_OK;
}

/* Adds the entries to the fingerprint, which is a hash of the settings. Common code calls this function as logit_bias's
   hook `settings`. The number of entries is in the fingerprint already, as a field. */
static SAMPI_COLD void sampi_logit_bias_settings(const sampi_sampler *s, uint64_t *hash)
{
    const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
    for (int32_t i = 0; i < s->u.bias.n; i++) {
        sampi_mix(hash, (uint32_t)bias[i].token);
        sampi_mix_float(hash, bias[i].bias);
    }
}

/* The caller's list must live until sampi_init returns: prepare checks it, build copies it. */
SAMP_API SAMPI_COLD samp_sampler *samp_init_logit_bias(int32_t n_vocab, int32_t n, const samp_logit_bias *bias)
{
    sampi_sampler t = sampi_blank(SAMPI_LOGIT_BIAS);
    t.u.bias.n_vocab = n_vocab;
    t.u.bias.n = n;
    t.from = bias;
    return sampi_init(&t);
}

static SAMPI_COLD void sampi_logit_bias_params(sampi_sampler *t, const samp_params *p) { t->from = p->logit_bias; }

static const sampi_field SAMPI_LOGIT_BIAS_FIELDS[] = {
    SAMPI_FIELD(INT32, n_vocab, bias.n_vocab, 0, INT32_MIN, INT32_MAX, 0, NULL),
    SAMPI_FIELD(INT32, n_logit_bias, bias.n, 0, 0, INT32_MAX, 0, "n"),
};

static SAMPI_COLD bool sampi_logit_bias_is_off(const sampi_sampler *s) { return s->u.bias.n == 0; }

SAMPI_HOOKS(LOGIT_BIAS, sampi_logit_bias_params, sampi_logit_bias_prepare, sampi_list_copy, sampi_logit_bias_settings,
            NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY);

#define SAMPI_LOGIT_BIAS_ROW \
    "logit-bias", 0, 0, "", \
        SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_ONLY_EDITS | SAMPI_VIEW_MASKED | SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_LOGIT_BIAS_FIELDS), sampi_logit_bias_is_off, &SAMPI_LOGIT_BIAS_HOOKS, \
        sampi_logit_bias_apply, sampi_fast_logit_bias, SAMPI_BY_LLAMA_CPP(sampi_logit_bias_apply)
