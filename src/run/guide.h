/* ---- classifier-free guidance ----
   samp_guide: the logits of two rows become those of one, which is as far from the second as `scale` says. Both rows
   are read by tiles of 256 with the sums of the kernels, which are exact; so the result is the same on every machine. */

/* Adds up a row: *all = ln of the sum of e^l. Returns a status. */
static int sampi_guide_sum(const float *x, size_t n, double *all)
{
    const sampi_kernels *k = sampi_use();
    sampi_sums sums = { -INFINITY, 0, 0, 0, 0 };
    float line[SAMPI_TILE / SAMPI_LINE];
    for (size_t at = 0; at < n; at += SAMPI_TILE) {
        float top = k->maxima(x + at, SAMP_F32, NULL, n - at < SAMPI_TILE ? n - at : SAMPI_TILE, line);
        if (!(top <= FLT_MAX)) return SAMP_E_NAN;
        if (top > sums.max) sums.max = top;
    }
    if (sampi_masked(sums.max)) return SAMP_E_EMPTY;
    for (size_t at = 0; at < n; at += SAMPI_TILE)
        k->sums(x + at, n - at < SAMPI_TILE ? n - at : SAMPI_TILE, 1.0f, sums.max, INFINITY, false, &sums);
    *all = sampi_log_sum(sums.max, sums.z);
    return SAMP_OK;
}

SAMP_API SAMPI_HOT int samp_guide(const float *cond, const float *uncond, size_t n, float scale, float *out)
{
    double all, all_uncond, s = (double)scale;
    if (!cond || !uncond || !out) return SAMP_E_NULL;
    if (n == 0) return SAMP_E_EMPTY;
    if (n > SAMP_MAX_VOCAB) return SAMP_E_RANGE;
    if (!(fabsf(scale) <= FLT_MAX)) return SAMP_E_NAN;
    int status = sampi_use_status();
    if (!status) status = sampi_guide_sum(cond, n, &all);
    if (!status) status = sampi_guide_sum(uncond, n, &all_uncond);
    if (status) return status;
    for (size_t i = 0; i < n; i++) {
        const double c = (double)cond[i] - all, u = (double)uncond[i] - all_uncond;
        const float guided = sampi_finite((float)(u + sampi_round(s * (c - u))));
        out[i] = sampi_masked(cond[i]) ? -INFINITY : sampi_masked(uncond[i]) ? (float)c : guided;
    }
    return SAMP_OK;
}
