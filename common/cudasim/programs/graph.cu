// A captured graph of two kernels and a copy, replayed.
// prints: 2048 of 2048 right, graph replayed 3 times
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

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

int main()
{
    const int n = 2048;
    float x[n], y[n], *dx, *dy;
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    CHECK(cudaMalloc(&dx, sizeof x)); CHECK(cudaMalloc(&dy, sizeof y));
    CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    saxpy<<<4, 128, 0, stream>>>(n, 2.0f, dx, dy);
    saxpy<<<4, 128, 0, stream>>>(n, -1.0f, dx, dy);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int k = 0; k < 3; k++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < n; i++) right += y[i] == 1 + 3.0f * i;
    printf("%d of %d right, graph replayed 3 times\n", right, n);
    CHECK(cudaGraphExecDestroy(exec)); CHECK(cudaGraphDestroy(graph)); CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(dx)); CHECK(cudaFree(dy));
}
