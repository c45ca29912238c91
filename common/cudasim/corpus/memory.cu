#include "corpus.h"

__device__ float table[16];
__constant__ float weights[4];

__global__ void add_one(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
__global__ void one_too_far(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = 1;   // EXPECT one_too_far: out of bounds
}
__global__ void before_begin(float *x)
{
    x[(int)threadIdx.x - 1] = 1;   // EXPECT before_the_beginning: out of bounds
}
__global__ void vector_tail(const float4 *x, float *out, int n)
{
    const float4 v = x[threadIdx.x];   // EXPECT vector_load_past_the_end: out of bounds
    if (4 * threadIdx.x < n) out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void read_all(const float *x, float *out) { out[threadIdx.x] = x[threadIdx.x]; }   // EXPECT uninitialised_global: uninitialised read
__global__ void shared_unset(float *out)
{
    __shared__ float s[64];
    if (threadIdx.x < 32) s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];   // EXPECT uninitialised_shared: uninitialised read
}
__global__ void shared_over(float *out)
{
    __shared__ float s[64];
    s[threadIdx.x + 1] = 1;   // EXPECT shared_array_overrun: out of bounds
    out[threadIdx.x] = 1;
}
__global__ void dynamic_over(float *out)
{
    extern __shared__ float s[];
    s[threadIdx.x] = 1;   // EXPECT dynamic_shared_too_small: out of bounds
    out[threadIdx.x] = s[threadIdx.x];   // EXPECT dynamic_shared_too_small: out of bounds
}
__global__ void dynamic_right(float *out)
{
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void through(float *p) { p[threadIdx.x] = 1; }   // EXPECT host_pointer: host pointer, null_pointer: null pointer
__global__ void use_after(float *p) { p[threadIdx.x] = 1; }   // EXPECT use_after_free: use after free
__global__ void use_symbols(float *out) { out[threadIdx.x] = table[threadIdx.x] + weights[threadIdx.x % 4]; }
__global__ void local_arrays(float *out, int n)
{
    float mine[16];
    for (int i = 0; i < 16; i++) mine[i] = i * n;
    float sum = 0;
    for (int i = 0; i < 16; i++) sum += mine[(i * 7) % 16];
    out[threadIdx.x] = sum;
}
struct Parameters { float scale[8]; int n; };
__global__ void by_value(Parameters p, float *out)
{
    float sum = 0;
    for (int i = 0; i < p.n; i++) sum += p.scale[i];
    out[threadIdx.x] = sum;
}

static void right_add() { float *x = device(1000); add_one<<<4, 256>>>(x, 1000); done(x); }
static void run_one_too_far() { float *x = device(1000); one_too_far<<<4, 256>>>(x, 1000); done(x); }
static void before_the_beginning() { float *x = device(64); before_begin<<<1, 64>>>(x + 0); done(); (void)x; }
static void vector_load_past_the_end()
{
    float *x = device(127), *out = device(32);
    vector_tail<<<1, 32>>>((const float4 *)x, out, 127);
    done(x, out);
}
static void uninitialised_global()
{
    float *x = NULL, *out = device(64);
    if (cudaMalloc(&x, 64 * sizeof *x) != cudaSuccess) exit(9);
    read_all<<<1, 64>>>(x, out);
    done(x, out);
}
static void right_memset()
{
    float *x = NULL, *out = device(64);
    if (cudaMalloc(&x, 64 * sizeof *x) != cudaSuccess || cudaMemset(x, 0, 64 * sizeof *x) != cudaSuccess) exit(9);
    read_all<<<1, 64>>>(x, out);
    done(x, out);
}
static void uninitialised_shared() { float *x = device(64); shared_unset<<<1, 64>>>(x); done(x); }
static void shared_array_overrun() { float *x = device(64); shared_over<<<1, 64>>>(x); done(x); }
static void dynamic_shared_too_small() { float *x = device(64); dynamic_over<<<1, 64, 32 * sizeof(float)>>>(x); done(x); }
static void right_dynamic() { float *x = device(64); dynamic_right<<<1, 64, 64 * sizeof(float)>>>(x); done(x); }
static void host_pointer()
{
    float *host = (float *)malloc(64 * sizeof *host);
    through<<<1, 64>>>(host);
    done();
    free(host);
}
static void null_pointer() { through<<<1, 64>>>(NULL); done(); }
static void use_after_free()
{
    float *x = device(64);
    (void)cudaFree(x);
    use_after<<<1, 64>>>(x);
    done();
}
static void double_free()
{
    float *x = device(64);
    (void)cudaFree(x);
    (void)cudaFree(x);   // EXPECT double_free: double free
}
static void free_of_the_middle()
{
    float *x = device(64);
    (void)cudaFree(x + 1);   // EXPECT free_of_the_middle: free
    (void)cudaFree(x);
}
static void leak()
{
    float *x = NULL;
    if (cudaMalloc(&x, 256) != cudaSuccess) exit(9);   // EXPECT leak: leak
}
static void wrong_direction()
{
    float host[64], *x = device(64);
    (void)cudaMemcpy(x, host, sizeof host, cudaMemcpyDeviceToHost);   // EXPECT wrong_direction: copy
    (void)cudaFree(x);
}
static void swapped_arguments()
{
    float host[64], *x = device(64);
    (void)cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToDevice);   // EXPECT swapped_arguments: copy
    (void)cudaFree(x);
}
static void too_much()
{
    float host[65] = { 0 }, *x = device(64);
    (void)cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);   // EXPECT copy_too_much: copy
    (void)cudaFree(x);
}
static void right_copies()
{
    float host[64] = { 0 }, *x = device(64), *y = device(64);
    if (cudaMemcpy(y, x, sizeof host, cudaMemcpyDeviceToDevice) != cudaSuccess || cudaMemcpy(host, y, sizeof host, cudaMemcpyDefault) != cudaSuccess) exit(9);
    done(x, y);
}
static void device_pointer_on_host()
{
    float *x = device(64);
    x[3] = 1;   // EXPECT device_pointer_on_host: device pointer
    (void)cudaFree(x);
}
static void right_managed()
{
    float *x = NULL;
    if (cudaMallocManaged(&x, 64 * sizeof *x) != cudaSuccess) exit(9);
    for (int i = 0; i < 64; i++) x[i] = i;
    add_one<<<1, 64>>>(x, 64);
    if (cudaDeviceSynchronize() == cudaSuccess) printf("%g\n", x[3]);
    done(x);
}
static void right_symbols()
{
    const float t[16] = { 1 }, w[4] = { 2 };
    float *out = device(16);
    if (cudaMemcpyToSymbol(table, t, sizeof t) != cudaSuccess || cudaMemcpyToSymbol(weights, w, sizeof w) != cudaSuccess) exit(9);
    use_symbols<<<1, 16>>>(out);
    done(out);
}
static void right_local() { float *x = device(64); local_arrays<<<1, 64>>>(x, 3); done(x); }
static void right_by_value()
{
    Parameters p = { { 1, 2, 3 }, 3 };
    float *x = device(64);
    by_value<<<1, 64>>>(p, x);
    done(x);
}

static const Entry entries[] = {
    { "right_add", right_add }, { "one_too_far", run_one_too_far }, { "before_the_beginning", before_the_beginning },
    { "vector_load_past_the_end", vector_load_past_the_end }, { "uninitialised_global", uninitialised_global }, { "right_memset", right_memset },
    { "uninitialised_shared", uninitialised_shared }, { "shared_array_overrun", shared_array_overrun },
    { "dynamic_shared_too_small", dynamic_shared_too_small }, { "right_dynamic", right_dynamic }, { "host_pointer", host_pointer },
    { "null_pointer", null_pointer }, { "use_after_free", use_after_free }, { "double_free", double_free },
    { "free_of_the_middle", free_of_the_middle }, { "leak", leak }, { "wrong_direction", wrong_direction },
    { "swapped_arguments", swapped_arguments }, { "copy_too_much", too_much }, { "right_copies", right_copies },
    { "device_pointer_on_host", device_pointer_on_host }, { "right_managed", right_managed }, { "right_symbols", right_symbols },
    { "right_local", right_local }, { "right_by_value", right_by_value },
};
int main(int argc, char **argv) { return run_entry(entries, argc, argv); }
