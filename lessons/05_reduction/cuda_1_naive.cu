// Sum the first way one thinks of: the threads of a block add in pairs at growing distance in shared memory, and further launches of the
// same kernel add the blocks' sums, until one is left. Half of the threads idle in the first step, three quarters in the second; the
// modulo keeps whole warps divergent. Moves n elements (and n/256 sums twice). Next: cuda_2_warp.cu.
#include "common/cuda_steps.cuh"

enum { THREADS = 256 };

template <typename Real> __global__ void sum_block(size_t n, const Real *x, Real *sums)
{
    __shared__ Real part[THREADS];
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : Real(0);
    __syncthreads();
    for (unsigned distance = 1; distance < THREADS; distance *= 2) {
        if (threadIdx.x % (2 * distance) == 0) part[threadIdx.x] += part[threadIdx.x + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

static size_t blocks_for(size_t n) { return (n + THREADS - 1) / THREADS; }

// Two arrays of partial sums, used in turn: n/256, then n/256^2 elements, ...
static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = arrays_allocate(c, state);
    if (status != GP_OK) return status;
    DeviceArrays *s = (DeviceArrays *)*state;
    s->workspace_bytes = 2 * blocks_for(c->n) * precision_bytes(c->precision);
    return device_alloc(&s->workspace, s->workspace_bytes, "partial sums");
}

template <typename Real> static GpStatus run(void *state)
{
    GpStatus status = GP_OK;
    DeviceArrays *s = (DeviceArrays *)state;
    const Real *from = (const Real *)s->in[0];
    Real *half[2] = { (Real *)s->workspace, (Real *)s->workspace + blocks_for(s->n) };
    size_t n = s->n;
    for (int turn = 0;; turn ^= 1) {
        const size_t blocks = blocks_for(n);
        Real *to = blocks == 1 ? (Real *)s->out : half[turn];
        sum_block<Real><<<(unsigned)blocks, THREADS, 0, s->stream>>>(n, from, to);
        TRY(CUDA(cudaGetLastError()));
        if (blocks == 1) break;
        from = to;
        n = blocks;
    }
cleanup:
    return status;
}

const Approach reduction_cuda_1_naive = { .idea = "interleaved pairs in shared memory", .role = NAIVE, .where = ON_CUDA,
    .probe = arrays_probe, .allocate = allocate, .upload = arrays_upload, .run = { run<float>, run<double> }, .download = arrays_download,
    .release = arrays_release };
