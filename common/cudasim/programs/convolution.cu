// Two-dimensional convolution, mask in constant memory, two-dimensional tile with halo, macro launch.
// prints: 1600 of 1600 right
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

#define R 2
#define T 16
#define GRID(n) (((n) + T - 1) / T)
#define LAUNCH(kernel, w, h, ...) kernel<<<dim3(GRID(w), GRID(h)), dim3(T, T)>>>(__VA_ARGS__)
__constant__ float mask[2 * R + 1][2 * R + 1];

__device__ __forceinline__ int clampi(int v, int high) { return v < 0 ? 0 : v >= high ? high - 1 : v; }

__global__ void __launch_bounds__(T * T) convolve(const float *in, float *out, int w, int h)
{
    __shared__ float tile[T + 2 * R][T + 2 * R];
    const int x0 = blockIdx.x * T - R, y0 = blockIdx.y * T - R;
    for (int y = threadIdx.y; y < T + 2 * R; y += T)
        for (int x = threadIdx.x; x < T + 2 * R; x += T) tile[y][x] = in[clampi(y0 + y, h) * w + clampi(x0 + x, w)];
    __syncthreads();
    const int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int j = 0; j <= 2 * R; j++)
        for (int i = 0; i <= 2 * R; i++) sum += mask[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[y * w + x] = sum;
}

static int clampHost(int v, int high) { return v < 0 ? 0 : v >= high ? high - 1 : v; }

int main()
{
    const int w = 40, h = 40;
    float m[2 * R + 1][2 * R + 1], in[w * h], out[w * h], *d_in, *d_out;
    for (int j = 0; j < 5; j++) for (int i = 0; i < 5; i++) m[j][i] = i + 5 * j;
    for (int i = 0; i < w * h; i++) in[i] = i % 17;
    CHECK(cudaMemcpyToSymbol(mask, m, sizeof m));
    CHECK(cudaMalloc(&d_in, sizeof in)); CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    LAUNCH(convolve, w, h, d_in, d_out, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float s = 0;
            for (int j = -R; j <= R; j++) for (int i = -R; i <= R; i++) s += m[j + R][i + R] * in[clampHost(y + j, h) * w + clampHost(x + i, w)];
            right += out[y * w + x] == s;
        }
    printf("%d of %d right\n", right, w * h);
    CHECK(cudaFree(d_in)); CHECK(cudaFree(d_out));
}
