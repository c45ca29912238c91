// C = A B with one thread an element of C: n multiplications and additions, 2n loads. Neighbouring threads take neighbouring rows, so that
// A's loads are coalesced and B's are the same address for a whole warp; still every element of A and B is read n times, mostly from the
// caches.
// 2 n^3 operations. Next: cuda_2_tiled.cu.
#include "common/cuda_steps.cuh"

enum { ROWS = 32, COLUMNS = 8 };

template <typename Real> __global__ void multiply(size_t n, const Real *A, const Real *B, Real *C)
{
    const size_t i = blockIdx.x * (size_t)ROWS + threadIdx.x, j = blockIdx.y * (size_t)COLUMNS + threadIdx.y;
    if (i >= n || j >= n) return;
    Real sum = 0;
    for (size_t k = 0; k < n; k++) sum += A[i + k * n] * B[k + j * n];
    C[i + j * n] = sum;
}

template <typename Real> static GpStatus run(void *state)
{
    DeviceArrays *s = (DeviceArrays *)state;
    const dim3 blocks((unsigned)((s->n + ROWS - 1) / ROWS), (unsigned)((s->n + COLUMNS - 1) / COLUMNS));
    multiply<Real><<<blocks, dim3(ROWS, COLUMNS), 0, s->stream>>>(s->n, (const Real *)s->in[0], (const Real *)s->in[1], (Real *)s->out);
    return CUDA(cudaGetLastError());
}

const Approach matmul_cuda_1_naive = { .idea = "one thread an element", .role = NAIVE, .where = ON_CUDA, .probe = arrays_probe,
    .allocate = arrays_allocate, .upload = arrays_upload, .run = { run<float>, run<double> }, .download = arrays_download,
    .release = arrays_release };
