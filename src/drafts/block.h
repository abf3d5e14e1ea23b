/* ---- drafts: a block judged as a whole ----
   samp_verify_block tests a whole block of draft tokens. p is the model's probability of a token, q the draft's. r is
   the probability that the draft is kept up to a token: each token multiplies r by p / q, but r never exceeds 1. The
   first pass over the rows finds how much of the draft is kept; then the next token is drawn from max(r p - q, 0). On
   average the test accepts at least as many tokens as the ratio test, because a later token can make up for one that is
   less likely than in the draft. A rollback (life/rollback.h) takes back the tokens that are not kept. */

/* The residual of a row, max(r p - q, 0), from which the next token is drawn. If draft is NULL, it is p. */
typedef struct sampi_rest {
    sampi_residual row;
    uint64_t r;
} sampi_rest;

/* Returns a candidate's mass in the residual. A weight has at most 41 bits, so the shift is safe. */
static uint64_t sampi_rest_mass(const void *draw, const samp_token_data *d)
{
    const sampi_rest *rest = (const sampi_rest *)draw;
    uint64_t w = sampi_mulhi(sampi_weight(rest->row.max, d->logit) << 1, rest->r), q = 0;
    if (rest->row.draft) q = sampi_draft_mass(rest->row.draft, d->id, rest->row.z);
    return w > q ? w - q : 0;
}

/* Returns the mass of the whole residual. It is at most the sum of weights, so products with it fit 64 bits. */
static uint64_t sampi_rest_total(const sampi_rest *rest, const samp_token_data_array *cur)
{
    uint64_t total = 0;
    for (size_t i = 0; i < cur->size; i++) total += sampi_rest_mass(rest, &cur->data[i]);
    return total;
}

/* Returns r after one more token: min(1, r w / q), rounded down. It is computed by a long division, bit by bit, once
   for each row. */
static uint64_t sampi_block_next(uint64_t r, uint64_t w, uint64_t q)
{
    sampi_u128 product = sampi_mul128(r, w), whole = sampi_mul128(SAMPI_BLOCK_ONE, q);
    bool less = product.hi != whole.hi ? product.hi < whole.hi : product.lo < whole.lo;
    if (!less) return r && w ? SAMPI_BLOCK_ONE : 0;
    uint64_t quotient = 0;
    for (int bit = 62; bit >= 0; bit--) { /* product < q 2^(bit + 1), so no bit is lost */
        sampi_u128 part = sampi_mul128(q, (uint64_t)1 << bit);
        if (part.hi != product.hi ? part.hi > product.hi : part.lo > product.lo) continue;
        product = sampi_sub128(product, part);
        quotient |= (uint64_t)1 << bit;
    }
    return quotient;
}

/* Returns the random number u(i): 64 bits from a stream of the sampler that selects, at the given position. */
static uint64_t sampi_block_random(const sampi_sampler *s, uint64_t position, uint32_t attempt)
{
    uint64_t random[2];
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->stream | SAMPI_DRAWS_BLOCK);
    sampi_random_bits(s->seed, position, stream, attempt, random);
    return random[0];
}

/* Replaces a draw: selects the draft token, if it is a candidate, decides by u(n) < h(n) whether the first n tokens may
   be kept, and computes r(n + 1). The random numbers u are those of the block's first position, not of the row's own. A
   row that is taken back is sampled again by the next call, and a number that decided to take it back would bias that
   draw. */
static void sampi_block_test(const sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_test *test = s->draft->test;
    sampi_sums sums = sampi_sum(cur);
    sampi_rest rest = { { s->draft, sums.max, sums.z }, test->r };
    uint64_t total = sampi_rest_total(&rest, cur), all = total + sums.z - sampi_mulhi(sums.z << 1, test->r);
    if (test->n == 0) test->first = s->at_position;
    uint64_t u = sampi_block_random(s, test->first, test->n);
    /* h(n) = S / (S + 1 - r), where S is the residual's sum, is total / all; the empty draft is always kept */
    test->keeps = test->n == 0 || all == 0 || sampi_mulhi(u, all) < total;
    test->next_u = sampi_block_random(s, test->first, test->n + 1);
    test->next_r = 0;
    size_t i = sampi_find_drafted(cur, sums.max, s->draft->token);
    cur->selected = (int64_t)(i < cur->size ? i : sampi_argmax(cur));
    if (i == cur->size) return;
    uint64_t w = sampi_weight(sums.max, cur->data[i].logit);
    test->next_r = sampi_block_next(test->r, w, sampi_draft_mass(s->draft, s->draft->token, sums.z));
}

/* Draws from the residual: selects the first token, in ascending id, whose running sum exceeds floor(u R / 2^64), where
   R is the residual's total mass. */
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

/* The result of a pass over the rows of a draft. */
typedef struct sampi_block {
    size_t rows;     /* the number of rows sampled; the chain has accepted as many tokens */
    size_t kept;     /* the number of tokens that are kept */
    uint64_t kept_r; /* r after the tokens that are kept */
    samp_token last; /* the token of the last row, or the status that ended the pass */
    bool waited;     /* a rewinding ban was held back, because it was not known which tokens are kept */
} sampi_block;

/* Samples rows 0 .. n_rows - 1 as if the whole draft were right, until no later token can be kept. If `again` is true,
   this is a second pass over the kept rows, in which rewinding bans are noted. A row whose token was not drawn (greedy,
   a custom sampler) has p = 1 for its token: its token is kept, and the draft ends there if its own token is a
   different one. The same holds if anything after the draw changed the selection. Afterwards the chain has accepted the
   tokens. */
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
        row.draw = sampi_block_test;
        row.waited = again ? NULL : &test.waited;
        uint64_t u = test.next_u;
        test.n = (uint32_t)block.rows;
        test.keeps = true;
        test.next_r = test.r;
        test.next_u = 0;
        sampi_set_draft(s, &row);
        block.last = sampi_sample_drafted(s, logits + block.rows * n_vocab, n_vocab, draft, block.rows);
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

/* Checks, before the first token is accepted, that all tokens can be taken back: rollback has enough records, and
   custom samplers have a rollback function. */
static int sampi_check_block(sampi_sampler *s, const samp_draft *draft)
{
    if (!draft->n) return SAMP_OK;
    if (s->owner) return SAMP_E_RANGE;
    if (draft->n > (size_t)s->past.depth) return SAMP_E_FULL;
    int32_t n_back = 0;
    int status = sampi_rollback_custom(s, 0, SAMPI_BACK_ASK, &n_back);
    return status || sampi_past_ready(s) ? status : (int)SAMP_E_NOMEM;
}

/* The first pass accepts the whole draft; then the chain goes back to the end of the kept tokens. The next token is
   drawn from the residual of a row, or is the last row's own token, or comes from an ordinary draw after the whole
   draft. A rollback's record that an earlier draw has opened is written again, so that the block does not take that
   draw back. */
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
        block.last = sampi_sample_drafted(s, next, n_vocab, draft, a);
        sampi_set_draft(s, NULL);
    } else if (a && block.last >= 0 && block.last != draft->tokens[a - 1]) {
        a--; /* the last row's token is the next token already, and is not the draft's */
    } else if (a == draft->n) {
        block.last = sampi_sample_after_draft(s, next, n_vocab, draft, a, true);
    }
    for (size_t i = 0; i < a; i++) out[i] = draft->tokens[i];
    out[a] = block.last;
    for (size_t i = a + 1; i <= draft->n; i++) out[i] = -1;
    return a == 0 && out[0] < 0 ? out[0] : (int32_t)a;
}
