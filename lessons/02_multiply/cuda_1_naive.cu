// Elementwise product the obvious way: one thread an element. Neighbouring threads read neighbouring elements, so the loads are
// coalesced and even this version is near the roof for large n; what is left is one 4- or 8-byte access a thread where 16 bytes would do.
// Moves 3 n elements, computes n operations. Next: cuda_2_vectorized.cu.
#include "common/cuda_steps.cuh"

enum { THREADS = 256 };

template <typename Real> __global__ void multiply(size_t n, const Real *a, const Real *b, Real *c)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] * b[i];
}

template <typename Real> static GpStatus run(void *state)
{
    DeviceArrays *s = (DeviceArrays *)state;
    const unsigned blocks = (unsigned)((s->n + THREADS - 1) / THREADS);
    multiply<Real><<<blocks, THREADS, 0, s->stream>>>(s->n, (const Real *)s->in[0], (const Real *)s->in[1], (Real *)s->out);
    return CUDA(cudaGetLastError());
}

const Approach multiply_cuda_1_naive = { .idea = "one thread an element", .role = NAIVE, .where = ON_CUDA, .probe = arrays_probe,
    .allocate = arrays_allocate, .upload = arrays_upload, .run = { run<float>, run<double> }, .download = arrays_download,
    .release = arrays_release };
