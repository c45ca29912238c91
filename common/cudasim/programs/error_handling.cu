// Errors that are expected: asked for, named, and gone after cudaGetLastError.
// prints: no error, out of memory, invalid argument, no error
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void nothing() {}

int main()
{
    char *p = NULL;
    nothing<<<1, 1>>>();
    cudaError_t launch = cudaGetLastError();
    cudaError_t memory = cudaMalloc(&p, (size_t)1 << 50);
    cudaError_t same = cudaGetLastError();
    cudaError_t attribute = cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30);
    (void)cudaGetLastError();
    if (same != memory) printf("the error was lost; ");
    printf("%s, %s, %s, %s\n", cudaGetErrorString(launch), cudaGetErrorString(memory), cudaGetErrorString(attribute),
           cudaGetErrorString(cudaGetLastError()));
    return 0;
}
