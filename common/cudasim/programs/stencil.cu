// One-dimensional stencil with a halo in shared memory and coefficients in constant memory.
// prints: 2000 of 2000 right
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

#define RADIUS 3
#define BLOCK 128
__constant__ int coefficient[2 * RADIUS + 1];

__global__ void stencil_1d(const int *in, int *out, int n)
{
    __shared__ int temp[BLOCK + 2 * RADIUS];
    int g = threadIdx.x + blockIdx.x * blockDim.x, l = threadIdx.x + RADIUS;
    temp[l] = g < n ? in[g] : 0;
    if (threadIdx.x < RADIUS) {
        temp[l - RADIUS] = g >= RADIUS && g - RADIUS < n ? in[g - RADIUS] : 0;
        temp[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0;
    }
    __syncthreads();
    if (g >= n) return;
    int result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++) result += coefficient[offset + RADIUS] * temp[l + offset];
    out[g] = result;
}

int main()
{
    const int n = 2000, c[2 * RADIUS + 1] = { 1, 2, 3, 4, 3, 2, 1 };
    int in[n], out[n], *d_in, *d_out;
    for (int i = 0; i < n; i++) in[i] = i % 13;
    CHECK(cudaMemcpyToSymbol(coefficient, c, sizeof c));
    CHECK(cudaMalloc(&d_in, sizeof in)); CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    stencil_1d<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int k = -RADIUS; k <= RADIUS; k++) s += c[k + RADIUS] * (i + k >= 0 && i + k < n ? in[i + k] : 0);
        right += out[i] == s;
    }
    printf("%d of %d right\n", right, n);
    CHECK(cudaFree(d_in)); CHECK(cudaFree(d_out));
}
