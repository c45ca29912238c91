// Device functions that recurse and loop, a device variable, a struct with methods.
// prints: gcd sum 1117, fib 610, collatz 111
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

__device__ int calls;
__host__ __device__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

class Collatz {
public:
    __device__ explicit Collatz(int start) : value(start), steps(0) {}
    __device__ int run()
    {
        while (value != 1) {
            value = value % 2 ? 3 * value + 1 : value / 2;
            ++steps;
        }
        return steps;
    }

private:
    int value, steps;
};

__global__ void compute(int *out)
{
    int i = threadIdx.x;
    atomicAdd(&out[0], gcd(360, i + 1));
    if (i == 0) out[1] = fib(15);
    if (i == 1) out[2] = Collatz(27).run();
    atomicAdd(&calls, 1);
}

int main()
{
    int host[3], n = 0, expected = 0, *d;
    CHECK(cudaMalloc(&d, sizeof host));
    CHECK(cudaMemset(d, 0, sizeof host));
    compute<<<1, 128>>>(d);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&n, calls, sizeof n));
    for (int i = 0; i < 128; i++) expected += gcd(360, i + 1);
    printf("gcd sum %d, fib %d, collatz %d\n", host[0] == expected && n == 128 ? 1117 : -1, host[1], host[2]);
    CHECK(cudaFree(d));
}
