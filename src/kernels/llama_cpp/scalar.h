/* ---- kernels of llama.cpp's arithmetic, one element at a time ----
   The reference for the two kernels of kernels/llama_cpp/contract.h: they call libm's own expf for each element.
   add_terms has no estimate here: it returns that no term is certain, and its caller adds the terms one by one. */

static double sampi_expf_scalar(const float *x, size_t n, float t, float max, float *e)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        e[i] = expf((sampi_masked(x[i]) ? x[i] : sampi_finite(x[i] / t)) - max);
        sum += (double)e[i];
    }
    return sum;
}

static size_t sampi_add_terms_scalar(const float *x, size_t n, const sampi_float_terms *c, float from, double *sum)
{
    (void)x, (void)c, (void)from, (void)sum;
    return n; /* an estimate would take as long as libm */
}
