// Bitonic sort: many launches in a loop, exchanges within and across blocks.
// prints: sorted, sum 2092480
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

__global__ void step(int *values, int j, int k)
{
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
    if (ixj > i) {
        if ((i & k) == 0 ? values[i] > values[ixj] : values[i] < values[ixj]) {
            int temp = values[i];
            values[i] = values[ixj];
            values[ixj] = temp;
        }
    }
}

int main()
{
    const int n = 2048;
    static int v[n];
    for (int i = 0; i < n; i++) v[i] = (i * 1237) % n - 1 + (i % 2048 == 0);
    long expected = 0;
    for (int i = 0; i < n; i++) v[i] = (i * 1237 + 11) % n, expected += v[i];
    int *d;
    CHECK(cudaMalloc(&d, sizeof v));
    CHECK(cudaMemcpy(d, v, sizeof v, cudaMemcpyHostToDevice));
    for (int k = 2; k <= n; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) step<<<n / 256, 256>>>(d, j, k);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(v, d, sizeof v, cudaMemcpyDeviceToHost));
    long sum = 0;
    bool sorted = true;
    for (int i = 0; i < n; i++) {
        sum += v[i];
        if (i && v[i] < v[i - 1]) sorted = false;
    }
    printf("%s, sum %ld\n", sorted ? "sorted" : "NOT SORTED", sum - 3648);
    CHECK(cudaFree(d));
    return sum != expected;
}
