// z = x + y: the five steps of every GPU program.

__global__ void add(const float *x, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

void vector_add(const float *x, const float *y, float *z, int n)
{
    const size_t bytes = n * sizeof(float);
    const int threads = 256, blocks = (n + threads - 1) / threads;
    float *d_x, *d_y, *d_z;
    if (n == 0) return;   // a grid of no blocks is an error
    cudaMalloc(&d_x, bytes);
    cudaMalloc(&d_y, bytes);
    cudaMalloc(&d_z, bytes);
    cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice);
    add<<<blocks, threads>>>(d_x, d_y, d_z, n);
    cudaMemcpy(z, d_z, bytes, cudaMemcpyDeviceToHost);   // waits for the kernel
    cudaFree(d_x);
    cudaFree(d_y);
    cudaFree(d_z);
}
