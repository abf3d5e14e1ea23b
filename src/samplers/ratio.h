/* ---- the ratio test (Leviathan et al. 2023), in place of the draw ----
   It tests a draft's token of probability q in the draft and p here: accepted with min(1, p / q), else another one is
   drawn from the residual max(0, p - q). So what comes out has p's distribution; q = 0.6 and p = 0.3 is accepted half
   of the time. A token that is rejected has p < q, hence no residual, and is never drawn again: samp_verify need only
   compare tokens. */

#define SAMPI_DRAWS_RATIO 0x100 /* added to the sampler's number in the stream of its numbers */

/* A draw from the residual, or, with draft NULL, from p. */
typedef struct sampi_residual {
    const sampi_draft *draft;
    float max;
    uint64_t z; /* the sum of weights */
} sampi_residual;

/* q(id) in units of weight: floor(q z). A token that the draft doesn't name has q = 0. */
static uint64_t sampi_draft_mass(const sampi_draft *draft, samp_token id, uint64_t z)
{
    if (!draft->probs) return id == draft->token ? z : 0;
    size_t i = (size_t)id;
    if (draft->ids)
        for (i = 0; i < draft->n_top; i++)
            if (draft->ids[i] == id) break;
    if (i >= draft->n_top) return 0; /* dense: an id that a custom sampler made up */
    return draft->probs[i] < 1.0f ? sampi_mulhi(sampi_share(draft->probs[i]), z) : z; /* 1 has no share: 2^64 */
}

/* As sampi_mass wants it. */
static SAMPI_COLD uint64_t sampi_residual_mass(const void *draw, const samp_token_data *d)
{
    const sampi_residual *residual = (const sampi_residual *)draw;
    uint64_t w = sampi_weight(residual->max, d->logit), q = 0;
    if (residual->draft) q = sampi_draft_mass(residual->draft, d->id, residual->z);
    return w > q ? w - q : 0;
}

/* With r, v two 64-bit random numbers: accept the draft's token if floor(r q / 2^64) < w, which has probability
   min(1, w / q). Else the first token in ascending id whose running sum of residuals exceeds floor(v R / 2^64), R
   their total. Sets cur->selected and nothing else. The numbers are those of a stream of its own, so that they are
   independent of what the same position's plain draw would be. */
static SAMPI_COLD void sampi_draw_ratio(const sampi_sampler *s, samp_token_data_array *cur)
{
    uint64_t random[2], total = 0;
    sampi_sums sums = sampi_sum(cur);
    sampi_residual residual = { s->draft, sums.max, sums.z };
    uint32_t stream = sampi_stream(s, sampi_traits_of(s->kind)->draws | SAMPI_DRAWS_RATIO);
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
    if (total == 0) { /* the numbers of the draft sum to more than 1 */
        residual.draft = NULL;
        total = sums.z;
    }
    uint64_t at = sampi_mulhi(random[1], total);
    cur->selected = (int64_t)sampi_find_by_mass(cur, sampi_residual_mass, &residual, at);
}
