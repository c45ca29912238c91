// Histogram: atomics in shared memory, merged by atomics in global memory.
// prints: 64 of 64 right
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

#define BINS 64

__global__ void histogram(const unsigned char *data, int n, unsigned int *bins)
{
    __shared__ unsigned int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i] % BINS], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

int main()
{
    const int n = 20000;
    static unsigned char data[n];
    unsigned int bins[BINS], expected[BINS] = { 0 }, *d_bins, state = 1;
    unsigned char *d_data;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = state >> 24;
        expected[data[i] % BINS]++;
    }
    CHECK(cudaMalloc(&d_data, n)); CHECK(cudaMalloc(&d_bins, sizeof bins));
    CHECK(cudaMemcpy(d_data, data, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_bins, 0, sizeof bins));
    histogram<<<8, 128>>>(d_data, n, d_bins);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(bins, d_bins, sizeof bins, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int b = 0; b < BINS; b++) right += bins[b] == expected[b];
    printf("%d of %d right\n", right, BINS);
    CHECK(cudaFree(d_data)); CHECK(cudaFree(d_bins));
}
