// Matrix product from tiles in shared memory; the tile is a template argument.
// prints: 4096 of 4096 right
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

template <int BLOCK> __global__ void MatrixMul(float *C, const float *A, const float *B, int wA, int wB)
{
    __shared__ float As[BLOCK][BLOCK];
    __shared__ float Bs[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * BLOCK + ty, col = blockIdx.x * BLOCK + tx;
    float sum = 0;
    for (int t = 0; t < wA / BLOCK; ++t) {
        As[ty][tx] = A[row * wA + t * BLOCK + tx];
        Bs[ty][tx] = B[(t * BLOCK + ty) * wB + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * wB + col] = sum;
}

int main()
{
    const int n = 64;
    static float a[n * n], b[n * n], c[n * n];
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, sizeof a)); CHECK(cudaMalloc(&dB, sizeof b)); CHECK(cudaMalloc(&dC, sizeof c));
    CHECK(cudaMemcpy(dA, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, b, sizeof b, cudaMemcpyHostToDevice));
    dim3 threads(16, 16), grid(n / threads.x, n / threads.y);
    MatrixMul<16><<<grid, threads>>>(dC, dA, dB, n, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, dC, sizeof c, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            right += c[i * n + j] == s;
        }
    printf("%d of %d right\n", right, n * n);
    CHECK(cudaFree(dA)); CHECK(cudaFree(dB)); CHECK(cudaFree(dC));
}
