// Softmax of rows: a block a row, maximum and sum by shuffles and shared memory.
// prints: rows that sum to 1: 20 of 20
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

#include <cfloat>
__device__ float warpMax(float v) { for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o)); return v; }
__device__ float warpSum(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o); return v; }

__global__ void softmax(const float *__restrict__ in, float *__restrict__ out, int columns)
{
    __shared__ float shared[32];
    const float *row = in + blockIdx.x * (size_t)columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float m = -FLT_MAX;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) m = max(m, row[j]);
    m = warpMax(m);
    if (lane == 0) shared[warp] = m;
    __syncthreads();
    m = warpMax(lane < warps ? shared[lane] : -FLT_MAX);
    __syncthreads();
    float sum = 0.f;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) sum += __expf(row[j] - m);
    sum = warpSum(sum);
    if (lane == 0) shared[warp] = sum;
    __syncthreads();
    sum = warpSum(lane < warps ? shared[lane] : 0.f);
    for (int j = threadIdx.x; j < columns; j += blockDim.x) out[blockIdx.x * (size_t)columns + j] = __expf(row[j] - m) / sum;
}

int main()
{
    const int rows = 20, columns = 300;
    static float in[rows * columns], out[rows * columns];
    float *d_in, *d_out;
    for (int i = 0; i < rows * columns; i++) in[i] = (i * 31 % 97) / 10.0f;
    CHECK(cudaMalloc(&d_in, sizeof in)); CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    softmax<<<rows, 128>>>(d_in, d_out, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < rows; i++) {
        double s = 0;
        for (int j = 0; j < columns; j++) s += out[i * columns + j];
        right += fabs(s - 1) < 1e-5;
    }
    printf("rows that sum to 1: %d of %d\n", right, rows);
    CHECK(cudaFree(d_in)); CHECK(cudaFree(d_out));
}
