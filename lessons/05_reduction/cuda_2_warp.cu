// Sum at the speed of memory, and bitwise the same on every run. A fixed number of blocks strides over x with 16-byte loads, several in
// flight, each thread adding into registers of its own; then warps add by shuffles, blocks in shared memory, and the block that finishes
// last adds the blocks' sums in the order of their numbers. Which block is last changes nothing, since it always adds the same numbers in
// the same order: no floating-point atomics. Moves n elements; the read roof is the ceiling. Before: cuda_1_naive.cu.
// Method: M. Harris, "Optimizing Parallel Reduction in CUDA", NVIDIA 2007; the last block: CUDA C++ Programming Guide, "Memory Fence
// Functions".
#include "common/cuda_steps.cuh"
#include "common/cuda_vector.cuh"

enum { THREADS = 512, UNROLL = 4, BLOCKS_PER_SM = 4 };
static const size_t MOST_BLOCKS = 4096;

__device__ inline float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ inline double total(double2 v) { return v.x + v.y; }

template <typename Real> __device__ Real warp_sum(Real v)
{
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_down_sync(0xffffffffu, v, distance);
    return v;
}

// The sum over the block's threads, in thread 0.
template <typename Real> __device__ Real block_sum(Real v)
{
    __shared__ Real warps[THREADS / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    __syncthreads();   // the array may still be in use by the block's first sum
    if (lane == 0) warps[warp] = v;
    __syncthreads();
    v = threadIdx.x < THREADS / 32 ? warps[lane] : Real(0);
    return warp == 0 ? warp_sum(v) : Real(0);
}

// Every thread's share of x: UNROLL independent sums, so that no addition waits for the one before it.
template <typename Real> __device__ Real thread_sum(size_t n, const Real *x)
{
    typedef typename Vector<Real>::Type V;
    const size_t width = sizeof(V) / sizeof(Real), vectors = n / width, stride = gridDim.x * (size_t)THREADS;
    const size_t thread = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const V *v = (const V *)x;
    Real sum[UNROLL] = {};
    size_t i = thread;
    for (; i + (UNROLL - 1) * stride < vectors; i += UNROLL * stride) {
        V loaded[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) loaded[k] = __ldcs(v + i + k * stride);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) sum[k] += total(loaded[k]);
    }
    for (; i < vectors; i += stride) sum[0] += total(__ldcs(v + i));
    if (thread < n - vectors * width) sum[0] += x[vectors * width + thread];
#pragma unroll
    for (int half = UNROLL / 2; half > 0; half /= 2)
#pragma unroll
        for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    return sum[0];
}

// `finished` counts the blocks that have stored their sum; it is 0 before and after.
template <typename Real>
__global__ void __launch_bounds__(THREADS) sum_all(size_t n, const Real *x, Real *sums, unsigned *finished, Real *out)
{
    __shared__ bool last;
    const Real mine = block_sum(thread_sum(n, x));
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence();   // the sum is visible before the count says so
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    Real v = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) v += __ldcg(sums + i);   // past the L1, which may be stale
    v = block_sum(v);
    if (threadIdx.x == 0) {
        *out = v;
        *finished = 0;
    }
}

// Workspace: one sum a block, then the counter.
static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    DeviceArrays *s = NULL;
    const size_t bytes = MOST_BLOCKS * sizeof(double);
    TRY(arrays_allocate(c, state));
    s = (DeviceArrays *)*state;
    TRY(device_alloc(&s->workspace, bytes + sizeof(unsigned), "partial sums"));
    TRY(CUDA(cudaMemset((char *)s->workspace + bytes, 0, sizeof(unsigned))));
    s->workspace_bytes = bytes;
cleanup:
    return status;
}

// As many blocks as the card holds at once, fewer where n is small; the number depends on the card and n alone.
static unsigned blocks_for(size_t n, int sms, size_t width)
{
    const size_t useful = (n / width + THREADS * UNROLL - 1) / (THREADS * UNROLL), most = (size_t)sms * BLOCKS_PER_SM;
    const size_t blocks = useful < most ? useful : most;
    return (unsigned)(blocks == 0 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks);
}

template <typename Real> static GpStatus run(void *state)
{
    GpStatus status = GP_OK;
    DeviceArrays *s = (DeviceArrays *)state;
    int sms = 0;
    TRY(CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0)));
    sum_all<Real><<<blocks_for(s->n, sms, 16 / sizeof(Real)), THREADS, 0, s->stream>>>(
        s->n, (const Real *)s->in[0], (Real *)s->workspace, (unsigned *)((char *)s->workspace + s->workspace_bytes), (Real *)s->out);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

const Approach reduction_cuda_2_warp = { .idea = "registers, shuffles, the last block adds up", .role = OPTIMIZED, .where = ON_CUDA,
    .probe = arrays_probe, .allocate = allocate, .upload = arrays_upload, .run = { run<float>, run<double> }, .download = arrays_download,
    .release = arrays_release };
