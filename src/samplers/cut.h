/* ============================================================================================== >>truncation
   Samplers that remove tokens, over the array: this room and the next ones down to xtc. Each room has sampi_..._apply,
   which the table of kinds names, and the arithmetic of the threshold, which rows, slices and the GPU use too.
   sampi_run calls apply after sampi_check, and never for a sampler that is off: so the parameters are in range and the
   row has a maximum. apply changes the array, not the sampler, and leaves at least one token.

   Whether a token stays depends on its logit and on sums over the row, never on its index in the array: so rows may
   find the same tokens in another way. apply first computes the threshold (an integer mass, or a double), then >>array
   cuts.

   Many of these samplers cut by one number, u.cut.p, which has another meaning in each. This room has their common
   functions. */

static SAMPI_COLD bool sampi_off_at_0(const sampi_sampler *s) { return s->u.cut.p == 0.0f; }
static SAMPI_COLD bool sampi_off_at_1(const sampi_sampler *s) { return s->u.cut.p == 1.0f; }

static SAMPI_COLD samp_sampler *sampi_init_cut(sampi_kind kind, float p, size_t min_keep)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.cut.p = p;
    t.u.cut.min_keep = min_keep;
    return sampi_init(&t);
}
