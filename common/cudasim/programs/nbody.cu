// N-body: tiles of bodies in dynamic shared memory, float4 positions, rsqrtf.
// prints: momentum below 1e-3: yes
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

struct Body { float4 position; float3 velocity; };

__device__ float3 interaction(float4 bi, float4 bj, float3 ai)
{
    float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
    float d2 = r.x * r.x + r.y * r.y + r.z * r.z + 1e-2f, inv = rsqrtf(d2), s = bj.w * inv * inv * inv;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__global__ void forces(const float4 *x, float4 *a, int n)
{
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 mine = x[i];
    float3 acc = { 0.0f, 0.0f, 0.0f };
    for (int first = 0; first < n; first += blockDim.x) {
        tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) acc = interaction(mine, tile[j], acc);
        __syncthreads();
    }
    a[i] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

int main()
{
    const int n = 256, p = 64;
    float4 x[n], a[n], *dx, *da;
    for (int i = 0; i < n; i++) x[i] = make_float4((i * 37 % 101) / 101.0f, (i * 53 % 103) / 103.0f, (i * 71 % 107) / 107.0f, 1.0f / n);
    CHECK(cudaMalloc(&dx, sizeof x)); CHECK(cudaMalloc(&da, sizeof a));
    CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    forces<<<n / p, p, p * sizeof(float4)>>>(dx, da, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(a, da, sizeof a, cudaMemcpyDeviceToHost));
    double sum = 0, size = 0;
    for (int i = 0; i < n; i++) sum += a[i].x / n, size += fabs(a[i].x) / n;
    printf("momentum below 1e-3: %s\n", fabs(sum) < 1e-3 * size ? "yes" : "no");
    CHECK(cudaFree(dx)); CHECK(cudaFree(da));
}
