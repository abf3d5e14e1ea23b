/* ============================================================================================== >>truncation
   Samplers that remove tokens from the array: they are in this file and the next ones down to xtc. Each file has the
   function sampi_..._apply, which the table of kinds names, and the arithmetic of the threshold, which the executors
   for rows, slices and the GPU use too. sampi_life_run calls an apply function after sampi_check, and never for a
   sampler that is off. So the parameters are in range and the row has a maximum. The function changes the array, not
   the sampler, and leaves at least one token.

   Whether a token stays depends on its logit and on sums over the row, never on its index in the array. So the executor
   for rows may find the same tokens in another way. An apply function first computes the threshold (an integer sum of
   weights, or a double); functions of >>array then cut.

   Many of these samplers cut by one parameter, u.cut.p, which has another meaning in each sampler. This file has their
   common functions. */

static SAMPI_COLD bool sampi_off_at_0(const sampi_sampler *s) { return s->u.cut.p == 0.0f; }
static SAMPI_COLD bool sampi_off_at_1(const sampi_sampler *s) { return s->u.cut.p == 1.0f; }

static SAMPI_COLD samp_sampler *sampi_init_cut(sampi_kind kind, float p, size_t min_keep)
{
    sampi_sampler t = sampi_blank(kind);
    t.u.cut.p = p;
    t.u.cut.min_keep = min_keep;
    return sampi_init(&t);
}

/* Makes the list of fields of a sampler that cuts by one parameter from `lo` to 1, with a min_keep. */
#define SAMPI_CUT_FIELDS(id, param, usual, lo, how, label) \
    static const sampi_field SAMPI_##id##_FIELDS[] = { SAMPI_FIELD(FLOAT, param, cut.p, usual, lo, 1, how, label), \
                                                       SAMPI_MIN_KEEP(cut.min_keep) }
