// Lesson 01: z = x + y on the GPU.
//
// x, y and z lie in host memory and hold n floats each. A GPU program has five steps; write them below:
//   1. allocate memory on the device             cudaMalloc
//   2. copy x and y there                        cudaMemcpy, cudaMemcpyHostToDevice
//   3. launch enough threads, one an element     kernel<<<blocks, threads>>>(...)
//   4. copy z back                               cudaMemcpy, cudaMemcpyDeviceToHost
//   5. free the memory                           cudaFree
// n may be 0, and need not be a multiple of the block size.

__global__ void add(const float *x, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // TODO: element i of z, if there is one
}

void vector_add(const float *x, const float *y, float *z, int n)
{
    // TODO: the five steps
}
