// Two arrays of different types in one dynamic shared allocation.
// prints: ints 2016 doubles 2016
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

extern __shared__ unsigned char raw[];

__global__ void two_arrays(int *out_i, double *out_d, int n)
{
    double *d = (double *)raw;
    int *i = (int *)&d[n];
    d[threadIdx.x] = threadIdx.x;
    i[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        int a = 0;
        double b = 0;
        for (int k = 0; k < n; k++) a += i[k], b += d[k];
        *out_i = a;
        *out_d = b;
    }
}

int main()
{
    const int n = 64;
    int a, *da;
    double b, *db;
    CHECK(cudaMalloc(&da, sizeof a)); CHECK(cudaMalloc(&db, sizeof b));
    two_arrays<<<1, n, n * (sizeof(double) + sizeof(int))>>>(da, db, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&a, da, sizeof a, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&b, db, sizeof b, cudaMemcpyDeviceToHost));
    printf("ints %d doubles %g\n", a, b);
    CHECK(cudaFree(da)); CHECK(cudaFree(db));
}
