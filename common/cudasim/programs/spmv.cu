// Sparse matrix times vector in CSR form, a warp a row.
// prints: 500 of 500 right
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

__global__ void spmv_csr_vector(int rows, const int *__restrict__ ptr, const int *__restrict__ indices, const float *__restrict__ data,
                                const float *__restrict__ x, float *__restrict__ y)
{
    const int thread = blockDim.x * blockIdx.x + threadIdx.x, row = thread / 32, lane = thread & 31;
    if (row >= rows) return;
    float sum = 0;
    for (int jj = ptr[row] + lane; jj < ptr[row + 1]; jj += 32) sum += data[jj] * __ldg(&x[indices[jj]]);
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (lane == 0) y[row] = sum;
}

template <class T> T *upload(const T *host, int n)
{
    T *d;
    CHECK(cudaMalloc(&d, n * sizeof(T)));
    CHECK(cudaMemcpy(d, host, n * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main()
{
    const int rows = 500;
    static int ptr[rows + 1], indices[rows * 40];
    static float data[rows * 40], x[rows], y[rows];
    for (int i = 0, k = 0; i < rows; i++) {
        x[i] = i % 9;
        ptr[i] = k;
        for (int e = 0; e < i % 40; e++, k++) indices[k] = (i * 3 + e * 11) % rows, data[k] = e % 5;
        ptr[i + 1] = k;
    }
    int *d_ptr = upload(ptr, rows + 1), *d_indices = upload(indices, ptr[rows]);
    float *d_data = upload(data, ptr[rows]), *d_x = upload(x, rows), *d_y = NULL;
    CHECK(cudaMalloc(&d_y, sizeof y));
    spmv_csr_vector<<<(rows * 32 + 127) / 128, 128>>>(rows, d_ptr, d_indices, d_data, d_x, d_y);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y, d_y, sizeof y, cudaMemcpyDeviceToHost));
    int right = 0;
    for (int i = 0; i < rows; i++) {
        float s = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++) s += data[k] * x[indices[k]];
        right += s == y[i];
    }
    printf("%d of %d right\n", right, rows);
    CHECK(cudaFree(d_ptr)); CHECK(cudaFree(d_indices)); CHECK(cudaFree(d_data)); CHECK(cudaFree(d_x)); CHECK(cudaFree(d_y));
}
