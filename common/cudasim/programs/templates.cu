// Kernel templates over the type and a functor, deduced from the arguments.
// prints: int 285 float 285 double 285 unsigned 285
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

struct Square { template <class T> __host__ __device__ T operator()(T v) const { return v * v; } };

template <typename T, typename F> __global__ void apply(T *x, size_t n, F f)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = f(x[i]);
}

template <typename T> T squares()
{
    T host[10], *d, sum = 0;
    for (int i = 0; i < 10; i++) host[i] = (T)i;
    CHECK(cudaMalloc(&d, sizeof host));
    CHECK(cudaMemcpy(d, host, sizeof host, cudaMemcpyHostToDevice));
    apply<<<1, 32>>>(d, 10, Square());
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    for (T v : host) sum += v;
    CHECK(cudaFree(d));
    return sum;
}

int main() { printf("int %d float %g double %g unsigned %u\n", squares<int>(), squares<float>(), squares<double>(), squares<unsigned>()); }
