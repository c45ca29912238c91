// One launch: the block that finishes last adds up, by a fence and an atomic counter.
// prints: sum 524800
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

__device__ unsigned int count = 0;
__shared__ bool isLastBlockDone;

__global__ void sum(const float *array, unsigned int N, volatile float *result)
{
    __shared__ float part[128];
    float mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) mine += array[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        result[blockIdx.x] = part[0];
        __threadfence();
        unsigned int value = atomicInc(&count, gridDim.x);
        isLastBlockDone = (value == (gridDim.x - 1));
    }
    __syncthreads();
    if (isLastBlockDone && threadIdx.x == 0) {
        float total = 0;
        for (unsigned b = 0; b < gridDim.x; b++) total += result[b];
        result[0] = total;
        count = 0;
    }
}

int main()
{
    const unsigned n = 1024;
    float x[n], total, *dx, *dr;
    for (unsigned i = 0; i < n; i++) x[i] = i + 1;
    CHECK(cudaMalloc(&dx, sizeof x)); CHECK(cudaMalloc(&dr, 4 * sizeof(float)));
    CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    sum<<<4, 128>>>(dx, n, dr);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&total, dr, sizeof total, cudaMemcpyDeviceToHost));
    printf("sum %g\n", total);
    CHECK(cudaFree(dx)); CHECK(cudaFree(dr));
}
