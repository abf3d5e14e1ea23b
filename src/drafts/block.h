/* ---- drafts: a block judged as a whole ----
   samp_verify_block. With p the model's and q the draft's probability of a token, r is the probability that the draft
   is kept up to here: each token multiplies r by p / q, but r never exceeds 1. Of two passes over the rows the first
   finds how much of the draft stays, the second draws the next token from max(r p - q, 0). On average it takes at
   least as many tokens as the ratio test, since a token that is less likely than in the draft may be made up for by a
   later one. The tokens that do not stay are taken back by life/rollback.h. */

/* What a block leaves of a row, max(r p - q, 0). With draft NULL: p. */
typedef struct sampi_rest {
    sampi_residual row;
    uint64_t r;
} sampi_rest;

/* As sampi_mass wants it. A weight has at most 41 bits. */
static uint64_t sampi_rest_mass(const void *draw, const samp_token_data *d)
{
    const sampi_rest *rest = (const sampi_rest *)draw;
    uint64_t w = sampi_mulhi(sampi_weight(rest->row.max, d->logit) << 1, rest->r), q = 0;
    if (rest->row.draft) q = sampi_draft_mass(rest->row.draft, d->id, rest->row.z);
    return w > q ? w - q : 0;
}

/* At most the sum of weights, so all that is made of it fits 64 bits. */
static uint64_t sampi_rest_total(const sampi_rest *rest, const samp_token_data_array *cur)
{
    uint64_t total = 0;
    for (size_t i = 0; i < cur->size; i++) total += sampi_rest_mass(rest, &cur->data[i]);
    return total;
}

/* The r of one token more: min(1, r w / q), rounded down. By long division, a bit at a time: once in a row. */
static uint64_t sampi_block_next(uint64_t r, uint64_t w, uint64_t q)
{
    sampi_u128 product = sampi_mul128(r, w), whole = sampi_mul128(SAMPI_BLOCK_ONE, q);
    bool less = product.hi != whole.hi ? product.hi < whole.hi : product.lo < whole.lo;
    if (!less) return r && w ? SAMPI_BLOCK_ONE : 0;
    uint64_t quotient = 0;
    for (int bit = 62; bit >= 0; bit--) { /* product < q 2^(bit + 1): nothing is lost */
        sampi_u128 part = sampi_mul128(q, (uint64_t)1 << bit);
        if (part.hi != product.hi ? part.hi > product.hi : part.lo > product.lo) continue;
        product = sampi_sub128(product, part);
        quotient |= (uint64_t)1 << bit;
    }
    return quotient;
}

/* u(i): 64 bits of the sampler that selects, at the block's first position. */
static uint64_t sampi_block_random(const sampi_sampler *s, uint64_t position, uint32_t attempt)
{
    uint64_t random[2];
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->draws | SAMPI_DRAWS_BLOCK);
    sampi_random_bits(s->seed, position, stream, attempt, random);
    return random[0];
}

/* In place of a draw: the draft's token is selected, if it is a candidate. Sets what h(n) and r(n + 1) are made of.
   The numbers u belong to the first position and not to the row's own: a row that is given back is sampled again by the
   next call, and a number that has had a say in the giving back would not be fair any more. */
static void sampi_block_weigh(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_test *test = s->draft->test;
    sampi_sums sums = sampi_sum(cur);
    sampi_rest rest = { { s->draft, sums.max, sums.z }, test->r };
    uint64_t total = sampi_rest_total(&rest, cur), all = total + sums.z - sampi_mulhi(sums.z << 1, test->r);
    if (test->n == 0) test->first = s->at_position;
    uint64_t u = sampi_block_random(s, test->first, test->n);
    /* S / (S + 1 - r) is total / all; no tokens at all are always kept */
    test->keeps = test->n == 0 || all == 0 || sampi_mulhi(u, all) < total;
    test->next_u = sampi_block_random(s, test->first, test->n + 1);
    test->next_r = 0;
    size_t i = sampi_find_drafted(cur, sums.max, s->draft->token);
    cur->selected = (int64_t)(i < cur->size ? i : sampi_argmax(cur));
    if (i == cur->size) return;
    uint64_t w = sampi_weight(sums.max, cur->data[i].logit);
    test->next_r = sampi_block_next(test->r, w, sampi_draft_mass(s->draft, s->draft->token, sums.z));
}

/* The first token in ascending id whose running sum of what is left exceeds floor(u R / 2^64), R the total. */
static void sampi_block_rest(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_sums sums = sampi_sum(cur);
    sampi_rest rest = { { s->draft, sums.max, sums.z }, s->draft->test->r };
    uint64_t total = sampi_rest_total(&rest, cur), u = sampi_block_random(s, s->at_position, 0);
    if (total == 0) {
        rest.row.draft = NULL;
        rest.r = SAMPI_BLOCK_ONE;
        total = sums.z;
    }
    cur->selected = (int64_t)sampi_find_rest(s, cur, sampi_rest_mass, &rest, sampi_mulhi(u, total));
}

/* What a pass over the rows has found. */
typedef struct sampi_block {
    size_t rows;     /* sampled; the chain has accepted as many tokens */
    size_t kept;     /* tokens that stay, */
    uint64_t kept_r; /* and their r */
    samp_token last; /* of the last row, or the status that ended the rows */
    bool waited;     /* a rewinding ban would have been noted: which of them stay is known only now */
} sampi_block;

/* Rows 0 .. n_rows - 1, until the rest has no chance; or, with `again`, those that stay. Where nothing was drawn
   (greedy, a custom sampler) p is all on one token: it stays, and the draft ends with it if it is another. So it does
   where something else than the draw has had the last word. Changes the chain, which goes as if all of the draft were
   right. */
static sampi_block sampi_block_pass(sampi_sampler *s, const float *logits, size_t n_vocab, const samp_draft *draft,
                                    size_t n_rows, bool again)
{
    sampi_block block = { 0, 0, SAMPI_BLOCK_ONE, 0, false };
    sampi_test test;
    memset(&test, 0, sizeof test);
    test.r = SAMPI_BLOCK_ONE;
    while (block.rows < n_rows && test.r) {
        sampi_draft row = sampi_draft_row(draft, block.rows, n_vocab);
        row.test = &test;
        row.draw = sampi_block_weigh;
        row.waited = again ? NULL : &test.waited;
        uint64_t u = test.next_u;
        test.n = (uint32_t)block.rows;
        test.keeps = true;
        test.next_r = test.r;
        test.next_u = 0;
        sampi_set_draft(s, &row);
        block.last = samp_sample(&s->base, logits + block.rows * n_vocab, n_vocab);
        if (block.last < 0) {
            test.next_u = u;
            break;
        }
        if (test.keeps) block.kept = block.rows, block.kept_r = test.r;
        block.rows++;
        test.r = test.next_r;
        if (block.last != row.token) break;
    }
    sampi_set_draft(s, NULL);
    if (test.next_u >> 1 < test.r) block.kept = block.rows; /* h(n) = r(n) */
    block.waited = test.waited;
    return block;
}

/* What must be there before the first token is accepted, since it may have to go again: records, in a sampler that
   keeps some, and ways back in those of the user's. */
static int sampi_check_block(sampi_sampler *s, const samp_draft *draft)
{
    if (!draft->n) return SAMP_OK;
    if (s->owner) return SAMP_E_RANGE;
    if (draft->n > (size_t)s->past.depth) return SAMP_E_FULL;
    int32_t n_back = 0;
    int status = sampi_rollback_custom(s, 0, SAMPI_BACK_ASK, &n_back);
    return status || sampi_past_ready(s) ? status : (int)SAMP_E_NOMEM;
}

/* The chain has gone through the rows; it goes back to where the block ends, and on from there. Three ends: a token
   from the rest of a row, one that is there already, and an ordinary draw. A record that an earlier draw has opened is
   written anew, so that the block does not take that draw back. */
SAMP_API int32_t samp_verify_block(samp_sampler *sampler, const float *logits, size_t n_vocab,
                                   const samp_draft *draft, samp_token *out)
{
    sampi_sampler *s = (sampi_sampler *)sampler;
    int status = s && logits && draft && out ? samp_status(sampler, NULL) : SAMP_E_NULL;
    if (!status) status = sampi_check_draft(draft, n_vocab, SAMP_VERIFY_RATIO);
    if (!status && !sampi_set_draft(s, NULL)) status = SAMP_E_UNSUPPORTED;
    if (!status) status = sampi_check_block(s, draft);
    if (status) return status;
    s->past.open = false;
    sampi_block block = sampi_block_pass(s, logits, n_vocab, draft, draft->n, false);
    size_t a = block.kept, back = block.waited ? block.rows : block.rows - a;
    const float *next = logits + a * n_vocab;
    if (back && (status = samp_rollback(sampler, (int32_t)back))) return status;
    if (block.waited) (void)sampi_block_pass(s, logits, n_vocab, draft, a, true);
    if (a < block.rows) {
        sampi_test test;
        memset(&test, 0, sizeof test);
        test.r = block.kept_r;
        sampi_draft row = sampi_draft_row(draft, a, n_vocab);
        row.test = &test;
        row.draw = sampi_block_rest;
        sampi_set_draft(s, &row);
        block.last = samp_sample(sampler, next, n_vocab);
        sampi_set_draft(s, NULL);
    } else if (a && block.last >= 0 && block.last != draft->tokens[a - 1]) {
        a--; /* the last row's token is there already, and is not the draft's */
    } else if (a == draft->n) {
        block.last = sampi_sample_behind(s, next, n_vocab, true);
    }
    for (size_t i = 0; i < a; i++) out[i] = draft->tokens[i];
    out[a] = block.last;
    for (size_t i = a + 1; i <= draft->n; i++) out[i] = -1;
    return a == 0 && out[0] < 0 ? out[0] : (int32_t)a;
}
