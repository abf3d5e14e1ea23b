/* cuda_interop.cu - logits of a CUDA program: allocated with cudaMalloc, written by a CUDA kernel, sampled in place by
   sampling_gpu.h (cuda_interop.c), and compared with the CPU. CUDA is initialised first: libgomp then works in its
   context, so that both use the same device addresses. Exits with 77 if there is no device. */
#include <cstdio>
#include <vector>

extern "C" int sample_on_device(const float *device_logits, int n_rows, int n_vocab, int *tokens);
extern "C" int sample_on_cpu(const float *logits, int n_rows, int n_vocab, int *tokens);

__global__ void make_logits(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (float)(((unsigned)i * 2654435761u >> 8) % 20011u) * 0.0007f;
}

int main()
{
    const int n_rows = 4, n_vocab = 32003, n = n_rows * n_vocab;
    int count = 0, there[n_rows], here[n_rows];
    float *x = nullptr;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        std::printf("no device\n");
        return 77;
    }
    if (cudaSetDevice(0) != cudaSuccess || cudaFree(0) != cudaSuccess) return 1; /* libgomp takes this context */
    if (cudaMalloc(&x, n * sizeof *x) != cudaSuccess) return 1;
    make_logits<<<(n + 255) / 256, 256>>>(x, n);
    std::vector<float> copy(n);
    if (cudaMemcpy(copy.data(), x, n * sizeof *x, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    int status = sample_on_device(x, n_rows, n_vocab, there);
    if (!status) status = sample_on_cpu(copy.data(), n_rows, n_vocab, here);
    if (status) std::printf("status %d\n", status);
    for (int r = 0; r < n_rows && !status; r++) {
        std::printf("row %d: %d on the device, %d on the CPU\n", r, there[r], here[r]);
        if (there[r] != here[r] || there[r] < 0) status = 1;
    }
    cudaFree(x);
    return status ? 1 : 0;
}
