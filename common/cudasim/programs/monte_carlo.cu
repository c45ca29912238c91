// Monte Carlo pi with a hand-written generator a thread, warps adding up by shuffles.
// prints: inside 50271 of 64000
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

__device__ unsigned xorshift(unsigned &s)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

__global__ void sample(int tries, unsigned long long *inside)
{
    unsigned s = 2463534242u + 747796405u * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 20; k++) xorshift(s);
    int hits = 0;
    for (int k = 0; k < tries; k++) {
        unsigned long long x = xorshift(s) >> 16, y = xorshift(s) >> 16;
        hits += x * x + y * y < 65536ull * 65536ull;
    }
    for (int d = 16; d > 0; d >>= 1) hits += __shfl_xor_sync(0xffffffffu, hits, d);
    if (threadIdx.x % 32 == 0) atomicAdd(inside, (unsigned long long)hits);
}

int main()
{
    unsigned long long host = 0, *inside;
    CHECK(cudaMalloc(&inside, sizeof *inside));
    CHECK(cudaMemset(inside, 0, sizeof *inside));
    sample<<<10, 64>>>(100, inside);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&host, inside, sizeof host, cudaMemcpyDeviceToHost));
    printf("inside %llu of %d\n", host, 64000);
    CHECK(cudaFree(inside));
}
