// Vector add at the speed of memory: 16 bytes a load, eight loads in flight a thread, nothing kept in the cache. The kernel
// stands in common/cuda_map.cuh, where lessons 01 and 02 share it. Before: cuda_1_naive.cu.
// Moves 3 n elements, computes n operations: the triad roof is the ceiling.
#include "common/cuda_map.cuh"

struct Sum {
    template <typename Real> __device__ Real operator()(Real a, Real b) const { return a + b; }
};

template <typename Real> static GpStatus run(void *state) { return map_run<Real>(state, Sum()); }

const Approach vector_add_cuda_2_vectorized = { .idea = "16-byte accesses, eight loads in flight", .role = OPTIMIZED, .where = ON_CUDA,
    .probe = arrays_probe, .allocate = arrays_allocate, .upload = arrays_upload, .run = { run<float>, run<double> },
    .download = arrays_download, .release = arrays_release };
