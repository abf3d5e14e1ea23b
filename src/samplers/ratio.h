/* ---- the ratio test (Leviathan et al. 2023), in place of the draw ----
   Tests a draft token that has the probability q in the draft and p in the row: accepts it with probability min(1, p /
   q), and otherwise draws another token from the residual max(0, p - q). So the result has the distribution p. With q =
   0.6 and p = 0.3 the token is accepted half of the time. A rejected token has p < q, so its residual is 0 and it is
   never drawn. So samp_verify sees by comparing tokens whether the draft token was accepted. */

#define SAMPI_DRAWS_RATIO 0x100 /* a flag in the number of the sampler's stream of random numbers */

/* The data of a draw from the residual max(0, p - q), or from p if draft is NULL. */
typedef struct sampi_residual {
    const sampi_draft *draft;
    float max;
    uint64_t z; /* the sum of weights */
} sampi_residual;

/* Returns q of a token in units of weight: floor(q z). A token that the draft does not name has q = 0. */
static uint64_t sampi_draft_mass(const sampi_draft *draft, samp_token id, uint64_t z)
{
    if (!draft->probs) return id == draft->token ? z : 0;
    size_t i = (size_t)id;
    if (draft->ids)
        for (i = 0; i < draft->n_top; i++)
            if (draft->ids[i] == id) break;
    if (i >= draft->n_top) return 0; /* without ids: an id that a custom sampler invented */
    /* q = 1 has no share, because that would be 2^64 */
    return draft->probs[i] < 1.0f ? sampi_mulhi(sampi_share(draft->probs[i]), z) : z;
}

/* Returns the residual of a candidate, its weight minus that in the draft, as its mass in the draw. */
static SAMPI_COLD uint64_t sampi_residual_mass(const void *draw, const samp_token_data *d)
{
    const sampi_residual *residual = (const sampi_residual *)draw;
    uint64_t w = sampi_weight(residual->max, d->logit), q = 0;
    if (residual->draft) q = sampi_draft_mass(residual->draft, d->id, residual->z);
    return w > q ? w - q : 0;
}

/* Tests the draft token with two 64-bit random numbers r and v: accepts the draft's token if floor(r q / 2^64) < w,
   which has the probability min(1, w / q). Otherwise it selects the first token, in ascending id, whose running sum of
   residuals exceeds floor(v R / 2^64), where R is their total. The function only sets cur->selected. The numbers come
   from a stream of their own, so they are independent of an ordinary draw at the same position. */
static SAMPI_COLD void sampi_draw_ratio(const sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2], total = 0;
    sampi_sums sums = sampi_sum(cur);
    sampi_residual residual = { s->draft, sums.max, sums.z };
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->stream | SAMPI_DRAWS_RATIO);
    sampi_random_bits(s->seed, s->at_position, stream, 0, random);
    for (size_t i = 0; i < cur->size; i++) {
        const samp_token_data *d = &cur->data[i];
        if (d->id == s->draft->token) {
            uint64_t q = sampi_draft_mass(s->draft, d->id, sums.z);
            if (sampi_mulhi(random[0], q) < sampi_weight(sums.max, d->logit)) {
                cur->selected = (int64_t)i;
                return;
            }
        }
        total += sampi_residual_mass(&residual, d);
    }
    if (total == 0) { /* the draft's probabilities add up to more than 1 */
        residual.draft = NULL;
        total = sums.z;
    }
    uint64_t at = sampi_mulhi(random[1], total);
    cur->selected = (int64_t)sampi_find_by_mass(cur, sampi_residual_mass, &residual, at);
}
