/* CUB's sum over a device array, as a plain loop. */
#ifndef CUDASIM_CUB_DEVICE_REDUCE_CUH
#define CUDASIM_CUB_DEVICE_REDUCE_CUH
#include "cuda_runtime.h"

namespace cub {
template <typename Real> __attribute__((no_sanitize("thread"))) void cudasim_sum(size_t n, const Real *in, Real *out)
{
    /* pairs, as a tree would: a plain float sum of millions would be no answer */
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)in[i];
    *out = (Real)sum;
}

template <typename Real> __global__ void cudasim_sum_kernel(size_t n, const Real *in, Real *out) { cudasim_sum(n, in, out); *out = *out; }

struct DeviceReduce {
    template <typename Real, typename Count>
    static cudaError_t Sum(void *workspace, size_t &bytes, const Real *in, Real *out, Count n, cudaStream_t stream = 0)
    {
        if (!workspace) {
            bytes = 256;
            return cudaSuccess;
        }
        cudasim_sum_kernel<Real><<<1, 1, 0, stream>>>((size_t)n, in, out);
        return cudaPeekAtLastError();
    }
};
} // namespace cub
#endif
