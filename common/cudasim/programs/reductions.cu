// The seven reductions of the well-known talk, and one by shuffles; template block size in the last ones.
// prints: 0:8390656 1:8390656 2:8390656 3:8390656 4:8390656 5:8390656 6:8390656 7:8390656
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t e = (call);                                                                        \
        if (e != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));                 \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

__global__ void reduce0(int *in, int *out)   // interleaved, divergent
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce1(int *in, int *out)   // interleaved, strided index
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        int index = 2 * s * tid;
        if (index < blockDim.x) sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce2(int *in, int *out)   // sequential addresses
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce3(int *in, int *out)   // first add while loading
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

template <unsigned blockSize> __device__ void warpReduce(int *sdata, unsigned tid)
{
    int v = sdata[tid];
    if (blockSize >= 64) v += sdata[tid + 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (tid == 0) sdata[0] = v;
}

__global__ void reduce4(int *in, int *out)   // the last warp by itself
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) warpReduce<256>(sdata, tid);
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

template <unsigned blockSize> __global__ void reduce5(int *in, int *out)   // unrolled
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockSize];
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

template <unsigned blockSize> __global__ void reduce6(int *in, int *out, unsigned n)   // many elements a thread
{
    extern __shared__ int sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid, gridSize = blockSize * 2 * gridDim.x;
    int sum = 0;
    while (i < n) { sum += in[i] + in[i + blockSize]; i += gridSize; }
    sdata[tid] = sum;
    __syncthreads();
    if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce7(const int *in, int *out, int n)   // shuffles only, then an atomic
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, sum);
}

int main()
{
    const int n = 4096, block = 256;
    int in[n], partial[n / block], *d_in, *d_out;
    for (int i = 0; i < n; i++) in[i] = i + 1;
    CHECK(cudaMalloc(&d_in, sizeof in)); CHECK(cudaMalloc(&d_out, sizeof partial));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    for (int which = 0; which < 8; which++) {
        const int shared = block * sizeof(int);
        int blocks = which < 3 ? n / block : n / block / 2;
        CHECK(cudaMemset(d_out, 0, sizeof partial));
        switch (which) {
        case 0: reduce0<<<blocks, block, shared>>>(d_in, d_out); break;
        case 1: reduce1<<<blocks, block, shared>>>(d_in, d_out); break;
        case 2: reduce2<<<blocks, block, shared>>>(d_in, d_out); break;
        case 3: reduce3<<<blocks, block, shared>>>(d_in, d_out); break;
        case 4: reduce4<<<blocks, block, shared>>>(d_in, d_out); break;
        case 5: reduce5<block><<<blocks, block, shared>>>(d_in, d_out); break;
        case 6: reduce6<block><<<blocks = 4, block, shared>>>(d_in, d_out, n); break;
        case 7: reduce7<<<blocks = 1, block>>>(d_in, d_out, n); break;
        }
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(partial, d_out, sizeof partial, cudaMemcpyDeviceToHost));
        int sum = 0;
        for (int b = 0; b < blocks; b++) sum += partial[b];
        printf("%s%d:%d", which ? " " : "", which, sum);
    }
    printf("\n");
    CHECK(cudaFree(d_in)); CHECK(cudaFree(d_out));
}
