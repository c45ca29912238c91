// Vector add, as in everybody's first program.
// prints: 10000 of 10000 right
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

__global__ void vectorAdd(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main()
{
    const int n = 10000;
    const size_t size = n * sizeof(float);
    float *a = (float *)malloc(size), *b = (float *)malloc(size), *c = (float *)malloc(size);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    float *da = NULL, *db = NULL, *dc = NULL;
    CHECK(cudaMalloc((void **)&da, size));
    CHECK(cudaMalloc((void **)&db, size));
    CHECK(cudaMalloc((void **)&dc, size));
    CHECK(cudaMemcpy(da, a, size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, size, cudaMemcpyHostToDevice));
    int threadsPerBlock = 256, blocksPerGrid = (n + threadsPerBlock - 1) / threadsPerBlock;
    vectorAdd<<<blocksPerGrid, threadsPerBlock>>>(da, db, dc, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, dc, size, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < n; i++) right += c[i] == 3.0f * i;
    printf("%d of %d right\n", right, n);
    CHECK(cudaFree(da)); CHECK(cudaFree(db)); CHECK(cudaFree(dc));
    free(a); free(b); free(c);
    return 0;
}
