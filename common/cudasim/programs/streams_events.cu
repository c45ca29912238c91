// Streams, pinned memory, asynchronous copies, events.
// prints: 8000 of 8000 right, time is positive
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

__global__ void scale(float *x, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

int main()
{
    const int streams = 4, part = 2000;
    cudaStream_t stream[streams];
    cudaEvent_t start, stop;
    float *host, *device, ms = 0;
    CHECK(cudaMallocHost(&host, streams * part * sizeof(float)));
    CHECK(cudaMalloc(&device, streams * part * sizeof(float)));
    for (int i = 0; i < streams * part; i++) host[i] = i;
    CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop));
    for (int s = 0; s < streams; s++) CHECK(cudaStreamCreate(&stream[s]));
    CHECK(cudaEventRecord(start, 0));
    for (int s = 0; s < streams; s++) {
        float *h = host + s * part, *d = device + s * part;
        CHECK(cudaMemcpyAsync(d, h, part * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
        scale<<<(part + 255) / 256, 256, 0, stream[s]>>>(d, part, 2.0f);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(h, d, part * sizeof(float), cudaMemcpyDeviceToHost, stream[s]));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    int right = 0;
    for (int i = 0; i < streams * part; i++) right += host[i] == 2.0f * i;
    printf("%d of %d right, time is %s\n", right, streams * part, ms > 0 ? "positive" : "NOT POSITIVE");
    for (int s = 0; s < streams; s++) CHECK(cudaStreamDestroy(stream[s]));
    CHECK(cudaEventDestroy(start)); CHECK(cudaEventDestroy(stop));
    CHECK(cudaFreeHost(host)); CHECK(cudaFree(device));
}
