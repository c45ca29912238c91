// Inclusive and exclusive prefix sums in one block: Hillis-Steele with two buffers, and Blelloch.
// prints: 512 of 512 right
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

__global__ void inclusive(const int *in, int *out, int n)
{
    extern __shared__ int temp[];
    int t = threadIdx.x, pout = 0, pin = 1;
    temp[pout * n + t] = in[t];
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (t >= offset) temp[pout * n + t] = temp[pin * n + t] + temp[pin * n + t - offset];
        else temp[pout * n + t] = temp[pin * n + t];
        __syncthreads();
    }
    out[t] = temp[pout * n + t];
}

__global__ void exclusive(const int *in, int *out, int n)
{
    extern __shared__ int temp[];
    int t = threadIdx.x, offset = 1;
    temp[2 * t] = in[2 * t];
    temp[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) temp[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1, v = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += v;
        }
    }
    __syncthreads();
    out[2 * t] = temp[2 * t];
    out[2 * t + 1] = temp[2 * t + 1];
}

int main()
{
    const int n = 256;
    int in[n], a[n], b[n], *d_in, *d_out;
    for (int i = 0; i < n; i++) in[i] = (i * 7) % 11;
    CHECK(cudaMalloc(&d_in, sizeof in)); CHECK(cudaMalloc(&d_out, sizeof in));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    inclusive<<<1, n, 2 * n * sizeof(int)>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(a, d_out, sizeof a, cudaMemcpyDeviceToHost));
    exclusive<<<1, n / 2, n * sizeof(int)>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(b, d_out, sizeof b, cudaMemcpyDeviceToHost));
    int right = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        right += b[i] == sum;
        sum += in[i];
        right += a[i] == sum;
    }
    printf("%d of %d right\n", right, 2 * n);
    CHECK(cudaFree(d_in)); CHECK(cudaFree(d_out));
}
