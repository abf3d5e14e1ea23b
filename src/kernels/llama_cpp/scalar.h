/* ---- the kernel of llama.cpp's arithmetic, one element at a time ----
   The reference for the kernel of kernels/llama_cpp/contract.h: it calls libm's own expf for each element. */

static void sampi_expf_scalar(const float *x, size_t n, float max, float *e)
{
    for (size_t i = 0; i < n; i++) e[i] = expf(x[i] - max);
}
