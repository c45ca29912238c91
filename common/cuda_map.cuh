// c[i] = op(a[i], b[i]) at the speed of memory, for lessons 01 and 02, which differ in one operator.
//
// Idea: three arrays pass through once, so only bytes count. Each thread moves 16 bytes at a time (one LDG.E.128 instead of four
// loads) and has UNROLL pairs of loads in flight before it needs the first, so that the memory system always has work. The
// streaming hints (__ldcs, __stcs) say that nothing is used twice, so that the L2 keeps nothing.
#pragma once
#include "common/cuda_steps.cuh"
#include "common/cuda_vector.cuh"

enum { MAP_THREADS = 256, MAP_UNROLL = 4 };

template <class Op> __device__ inline float4 apply(Op op, float4 a, float4 b)
{
    return make_float4(op(a.x, b.x), op(a.y, b.y), op(a.z, b.z), op(a.w, b.w));
}

template <class Op> __device__ inline double2 apply(Op op, double2 a, double2 b) { return make_double2(op(a.x, b.x), op(a.y, b.y)); }

// A block takes MAP_UNROLL * MAP_THREADS neighbouring vectors; the last block's threads also take the few elements behind the last vector.
template <typename Real, class Op>
__global__ void __launch_bounds__(MAP_THREADS) map_vectors(size_t n, const Real *a, const Real *b, Real *c, Op op)
{
    typedef typename Vector<Real>::Type V;
    const size_t width = sizeof(V) / sizeof(Real), vectors = n / width;
    const size_t first = blockIdx.x * (size_t)(MAP_UNROLL * MAP_THREADS) + threadIdx.x;
    const V *va = (const V *)a, *vb = (const V *)b;
    V *vc = (V *)c;
    V x[MAP_UNROLL], y[MAP_UNROLL];
#pragma unroll
    for (int k = 0; k < MAP_UNROLL; k++)
        if (first + k * MAP_THREADS < vectors) {
            x[k] = __ldcs(va + first + k * MAP_THREADS);
            y[k] = __ldcs(vb + first + k * MAP_THREADS);
        }
#pragma unroll
    for (int k = 0; k < MAP_UNROLL; k++)
        if (first + k * MAP_THREADS < vectors) __stcs(vc + first + k * MAP_THREADS, apply(op, x[k], y[k]));
    const size_t i = vectors * width + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && i < n) c[i] = op(a[i], b[i]);
}

// cudaMalloc aligns to 256 bytes, so the arrays of an approach always allow 16-byte accesses.
template <typename Real, class Op> static GpStatus map_run(void *state, Op op)
{
    DeviceArrays *s = (DeviceArrays *)state;
    const size_t per_block = (size_t)MAP_UNROLL * MAP_THREADS * 16 / sizeof(Real);
    const unsigned blocks = (unsigned)((s->n + per_block - 1) / per_block);
    map_vectors<Real><<<blocks, MAP_THREADS, 0, s->stream>>>(s->n, (const Real *)s->in[0], (const Real *)s->in[1], (Real *)s->out, op);
    return CUDA(cudaGetLastError());
}
