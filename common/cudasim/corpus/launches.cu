#include "corpus.h"

__global__ void fill(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void columns(const float *x, float *out)   // a warp reads down a row-major matrix of 32 columns
{
    out[threadIdx.x] = x[threadIdx.x * 32];   // EXPECT strided_load: coalescing
}
__global__ void rows(const float *x, float *out) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void shifted(const float *x, float *out) { out[threadIdx.x] = x[threadIdx.x + 1]; }
__global__ void strided_store(float *out) { out[threadIdx.x * 16] = 1; }   // EXPECT strided_store: coalescing
__global__ void transpose_banks(const float *x, float *out)
{
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];   // EXPECT column_of_a_tile: bank conflicts
}
__global__ void transpose_padded(const float *x, float *out)
{
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void doubles_right(double *out)
{
    __shared__ double s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void broadcast(const float *x, float *out) { out[threadIdx.x] = x[0]; }
__global__ void one_counter(int *c)
{
    atomicAdd(c, 1);   // EXPECT contended_atomic: atomics contention
}
__global__ void own_counters(int *c) { atomicAdd(&c[threadIdx.x], 1); }
__global__ void order_dependent(int *out)   // whoever comes last stays: no race for the detector, for they are atomic
{
    atomicExch(out, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}

static void too_many_threads() { float *x = device(4096); fill<<<1, 2048>>>(x); done(x); }   // EXPECT too_many_threads: launch refused
static void empty_grid() { float *x = device(64); fill<<<0, 64>>>(x); done(x); }   // EXPECT empty_grid: launch refused
static void too_much_shared() { float *x = device(64); fill<<<1, 64, 100000>>>(x); done(x); }   // EXPECT too_much_shared: launch refused
static void right_fill() { float *x = device(64); fill<<<1, 64>>>(x); done(x); }
static void unchecked()
{
    float *x = device(64);
    fill<<<1, 64>>>(x);   // EXPECT unchecked_launch: unchecked launch
    (void)cudaDeviceSynchronize();
    (void)cudaFree(x);
}
static void strided_load() { float *x = device(1024), *out = device(32); columns<<<1, 32>>>(x, out); done(x, out); }
static void right_rows() { float *x = device(64), *out = device(64); rows<<<1, 64>>>(x, out); done(x, out); }
static void right_shifted() { float *x = device(65), *out = device(64); shifted<<<1, 64>>>(x, out); done(x, out); }
static void run_strided_store() { float *x = device(1024); strided_store<<<1, 64>>>(x); done(x); }
static void column_of_a_tile() { float *x = device(1024), *out = device(1024); transpose_banks<<<1, dim3(32, 32)>>>(x, out); done(x, out); }
static void right_padded_tile() { float *x = device(1024), *out = device(1024); transpose_padded<<<1, dim3(32, 32)>>>(x, out); done(x, out); }
static void right_doubles() { double *x = (double *)device(128); doubles_right<<<1, 64>>>(x); done(x); }
static void right_broadcast() { float *x = device(1), *out = device(64); broadcast<<<1, 64>>>(x, out); done(x, out); }
static void contended_atomic() { int *c = (int *)device(1, 0); one_counter<<<4, 256>>>(c); done(c); }
static void right_own_counters() { int *c = (int *)device(64, 0); own_counters<<<4, 64>>>(c); done(c); }
static void order_dependent_result()
{
    int *c = (int *)device(1, 0), last = 0;
    order_dependent<<<4, 8>>>(c);
    if (cudaMemcpy(&last, c, sizeof last, cudaMemcpyDeviceToHost) == cudaSuccess) printf("last: %d\n", last);
    done(c);
}

static const Entry entries[] = {
    { "too_many_threads", too_many_threads }, { "empty_grid", empty_grid }, { "too_much_shared", too_much_shared }, { "right_fill", right_fill },
    { "unchecked_launch", unchecked }, { "strided_load", strided_load }, { "right_rows", right_rows }, { "right_shifted", right_shifted },
    { "strided_store", run_strided_store }, { "column_of_a_tile", column_of_a_tile }, { "right_padded_tile", right_padded_tile },
    { "right_doubles", right_doubles }, { "right_broadcast", right_broadcast }, { "contended_atomic", contended_atomic },
    { "right_own_counters", right_own_counters }, { "right_order_dependent", order_dependent_result },
};
int main(int argc, char **argv) { return run_entry(entries, argc, argv); }
