/* ---- is an array good? ----
   The check of an array of candidates before any sampler reads it. This file comes before kernels/dispatch.h, which
   tries each instruction set with this check. */

/* Checks an array of candidates with the kernels k: at least one candidate must not be masked, and no logit may be NaN
   or +infinity. The function reads all candidates and writes nothing. */
static int sampi_check_with(const sampi_kernels *k, const samp_token_data_array *cur)
{
    float line[SAMPI_TILE / SAMPI_LINE], max;
    if (!cur->data) return SAMP_E_NULL;
    if (cur->size == 0) return SAMP_E_EMPTY;
    if (cur->size > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    bool any = false;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) {
        size_t n = cur->size - at < SAMPI_TILE ? cur->size - at : SAMPI_TILE;
        (void)k->survey(cur->data + at, n, NULL, line, &max);
        if (!(max <= FLT_MAX)) return SAMP_E_NAN;
        any |= max >= -FLT_MAX;
    }
    return any ? SAMP_OK : SAMP_E_EMPTY;
}
