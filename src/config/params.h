/* ================================================================================================== >>params
   Samplers from their numbers, and chains from samp_params. A constructor writes its arguments into a blank record of
   its kind; sampi_init (core/making.h) checks the record by the table of fields and moves it to the heap. From
   parameters a record is filled by the same table, so samp_check_params asks the same questions without the heap. This
   room has the checks that the table cannot express; the constructors and the chains follow in the next rooms.

   The one thing to know: a constructor reports no error. It notes the error in the record, the sampler made of it
   carries it, and the chain that the sampler joins carries it too; what carries an error is never applied. */

/* ---- what the ranges of the fields don't say: arrays, windows, breakers ----
   The prepare hooks. sampi_prepare calls them for a record whose fields are within their ranges, so sizes are not
   negative here; they write the record's part sizes and status (dry its window too), and read what the caller's
   pointers lead to. */

/* Each entry, in order, as the first bad one decides. +infinity is SAMP_E_NAN like NaN: no number to add. Masking
   by -infinity is what the sampler is for. */
static SAMPI_COLD void sampi_logit_bias_prepare(sampi_sampler *t, bool make)
{
    const samp_logit_bias *bias = t->u.bias.from;
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

/* The parts have room for a full window and as many different tokens: accept may not allocate, as it may not fail. */
static SAMPI_COLD void sampi_penalties_prepare(sampi_sampler *t, bool make)
{
    size_t n = (size_t)t->u.penalties.last_n;
    (void)make;
    t->u.penalties.ring.cap = (uint32_t)n;
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
}

/* The window is the smaller of last_n and n_ctx_train; what is off needs neither breakers nor a vocabulary. Each
   breaker has a tail for each of its proper suffixes (sampi_dry_build fills them), and heads are counted by a walk
   over the vocabulary, only if a sampler is to be made. */
static SAMPI_COLD void sampi_dry_prepare(sampi_sampler *t, bool make)
{
    const char *const *breaker = t->u.dry.from;
    if (t->u.dry.last_n < 0 || t->u.dry.last_n > t->u.dry.n_ctx_train) t->u.dry.last_n = t->u.dry.n_ctx_train;
    if (sampi_is_off(t)) t->u.dry.n_from = 0;
    size_t n = (size_t)t->u.dry.last_n, n_breakers = t->u.dry.n_from;
    sampi_require(t, n_breakers == 0 || breaker, SAMP_E_NULL, "dry_breakers");
    for (size_t b = 0; b < n_breakers && !t->status; b++) {
        sampi_require(t, breaker[b] != NULL, SAMP_E_NULL, "dry_breakers");
        sampi_require(t, t->status || breaker[b][0], SAMP_E_RANGE, "dry_breakers");
    }
    sampi_require(t, n_breakers == 0 || (t->u.dry.vocab && t->u.dry.vocab->token_bytes), SAMP_E_NULL, "vocab");
    if (t->status) return;
    t->u.dry.ring.cap = (uint32_t)n;
    t->u.dry.n_tails = 0;
    for (size_t b = 0; b < n_breakers; b++) t->u.dry.n_tails += sampi_breaker_length(breaker[b]) - 1;
    if (t->u.dry.vocab) t->u.dry.spelt = *t->u.dry.vocab;
    const sampi_sampler *like = t->u.dry.like;
    if (like && !sampi_dry_has_breakers(like, t)) like = t->u.dry.like = NULL;
    if (make && n_breakers)
        t->u.dry.n_heads = like ? like->u.dry.n_heads : sampi_dry_heads(t->u.dry.vocab, breaker, n_breakers, NULL);
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
    t->part_size[2] = n * sizeof(int32_t);
    t->part_size[3] = t->u.dry.n_tails * sizeof(sampi_tail) + t->u.dry.n_heads * sizeof(sampi_head) +
                      n_breakers * sizeof(sampi_breaker);
}
