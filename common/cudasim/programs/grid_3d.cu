// Three-dimensional grid and block over a volume, with pitch.
// prints: 4320 of 4320 right
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

struct Volume { int nx, ny, nz; };

__global__ void mark(int *v, Volume s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= s.nx || y >= s.ny || z >= s.nz) return;
    v[(z * s.ny + y) * s.nx + x] = x + 100 * y + 10000 * z;
}

int main()
{
    const Volume s = { 20, 18, 12 };
    const int n = s.nx * s.ny * s.nz;
    int *v, *host = new int[n];
    CHECK(cudaMalloc(&v, n * sizeof(int)));
    dim3 block(8, 4, 2);
    dim3 grid((s.nx + block.x - 1) / block.x, (s.ny + block.y - 1) / block.y, (s.nz + block.z - 1) / block.z);
    mark<<<grid, block>>>(v, s);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, v, n * sizeof(int), cudaMemcpyDeviceToHost));
    int right = 0;
    for (int z = 0; z < s.nz; z++)
        for (int y = 0; y < s.ny; y++)
            for (int x = 0; x < s.nx; x++) right += host[(z * s.ny + y) * s.nx + x] == x + 100 * y + 10000 * z;
    printf("%d of %d right\n", right, n);
    CHECK(cudaFree(v));
    delete[] host;
}
