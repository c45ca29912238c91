#include "corpus.h"

// ---- shared memory, one block ----

__global__ void reverse_right(float *x)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void reverse_wrong(float *x)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    s[threadIdx.x] += 1;   // EXPECT missing_barrier: race
    x[threadIdx.x] = s[255 - threadIdx.x];   // EXPECT missing_barrier: race
}

__global__ void reduce_right(const float *x, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

__global__ void reduce_warp_tail(volatile float *x, float *out)   // the old style, right before Volta
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] += s[threadIdx.x + 32];   // EXPECT warp_synchronous_tail: race
        s[threadIdx.x] += s[threadIdx.x + 16];   // EXPECT warp_synchronous_tail: race
    }
    if (threadIdx.x == 0) *out = s[0];
}

__global__ void reduce_warp_tail_right(const float *x, float *out)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] += s[threadIdx.x + 32];
        __syncwarp();
        for (int d = 16; d > 0; d /= 2) {
            const float v = threadIdx.x < d ? s[threadIdx.x + d] : 0;
            __syncwarp();
            s[threadIdx.x] += v;
            __syncwarp();
        }
    }
    if (threadIdx.x == 0) *out = s[0];
}

__global__ void second_use_wrong(const float *x, float *out)   // the array is used again before all have read it
{
    __shared__ float s[64];
    for (int turn = 0; turn < 2; turn++) {
        s[threadIdx.x] = x[threadIdx.x] + turn;   // EXPECT second_use: race
        __syncthreads();
        out[threadIdx.x] = s[63 - threadIdx.x];   // EXPECT second_use: race
    }
}

__global__ void second_use_right(const float *x, float *out)
{
    __shared__ float s[64];
    for (int turn = 0; turn < 2; turn++) {
        __syncthreads();
        s[threadIdx.x] = x[threadIdx.x] + turn;
        __syncthreads();
        out[threadIdx.x] = s[63 - threadIdx.x];
    }
}

__global__ void histogram_right(const int *x, int *out)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void histogram_plain(const int *x, int *out)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[x[threadIdx.x] & 15] += 1;   // EXPECT plain_histogram: race
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

__global__ void histogram_early(const int *x, int *out)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] & 15], 1);   // EXPECT merge_too_early: race
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void bytes_right(unsigned char *out)   // neighbouring bytes belong to different threads
{
    __shared__ unsigned char s[128];
    s[threadIdx.x] = (unsigned char)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
}

__global__ void reads_together(const float *x, float *out)   // many readers are no race
{
    __shared__ float s;
    if (threadIdx.x == 0) s = x[0];
    __syncthreads();
    out[threadIdx.x] = s;
}

__global__ void shuffle_is_no_barrier(float *out)
{
    __shared__ float s[32];
    s[threadIdx.x] = threadIdx.x;
    const float v = __shfl_xor_sync(~0u, 1.0f, 1);
    out[threadIdx.x] = s[31 - threadIdx.x] + v;   // EXPECT shuffle_instead_of_syncwarp: race
}

// ---- global memory ----

__global__ void shift_wrong(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) x[i] = x[i + 1];   // EXPECT in_place_shift: race
}

__global__ void shift_right(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) y[i] = x[i + 1];
}

__global__ void count_plain(int *count) { *count += 1; }   // EXPECT plain_counter: race
__global__ void count_atomic(int *count) { atomicAdd(count, 1); }

__global__ void last_block(const float *x, float *sums, unsigned *finished, float *out, int fence)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = x[blockIdx.x];
        if (fence) __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += sums[b];   // EXPECT last_block_without_fence: race
        *out = sum;
    }
}

__global__ void neighbours_blocks(float *x)   // a block writes, the next one reads, in one launch
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 2;   // EXPECT across_blocks: race
    __syncthreads();
    x[i] = x[(i + blockDim.x) % (gridDim.x * blockDim.x)];   // EXPECT across_blocks: race
}

__global__ void same_slot(float *out) { out[threadIdx.x / 2] = threadIdx.x; }   // EXPECT two_writers: race

template <void (*K)(float *)> static void on_one(int threads)
{
    float *x = device(256);
    K<<<1, threads>>>(x);
    done(x);
}
template <void (*K)(const float *, float *)> static void on_two(int threads)
{
    float *x = device(256), *out = device(256);
    K<<<1, threads>>>(x, out);
    done(x, out);
}
template <void (*K)(const int *, int *)> static void on_ints()
{
    int *x = (int *)device(256), *out = (int *)device(16, 0), host[256];
    for (int i = 0; i < 256; i++) host[i] = i;
    if (cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess) exit(9);
    K<<<1, 256>>>(x, out);
    done(x, out);
}
static void right_reverse() { on_one<reverse_right>(256); }
static void missing_barrier() { on_one<reverse_wrong>(256); }
static void right_reduce() { on_two<reduce_right>(256); }
static void warp_synchronous_tail()
{
    float *x = device(64), *out = device(1);
    reduce_warp_tail<<<1, 64>>>(x, out);
    done(x, out);
}
static void right_warp_tail() { on_two<reduce_warp_tail_right>(64); }
static void second_use() { on_two<second_use_wrong>(64); }
static void right_second_use() { on_two<second_use_right>(64); }
static void right_histogram() { on_ints<histogram_right>(); }
static void plain_histogram() { on_ints<histogram_plain>(); }
static void merge_too_early() { on_ints<histogram_early>(); }
static void right_bytes()
{
    unsigned char *out = (unsigned char *)device(32);
    bytes_right<<<1, 128>>>(out);
    done(out);
}
static void right_readers() { on_two<reads_together>(256); }
static void shuffle_instead_of_syncwarp() { on_one<shuffle_is_no_barrier>(32); }
static void in_place_shift()
{
    float *x = device(1000);
    shift_wrong<<<4, 256>>>(x, 1000);
    done(x);
}
static void right_shift()
{
    float *x = device(1000), *y = device(1000);
    shift_right<<<4, 256>>>(x, y, 1000);
    done(x, y);
}
static void plain_counter()
{
    int *c = (int *)device(1, 0);
    count_plain<<<2, 64>>>(c);
    done(c);
}
static void right_counter()
{
    int *c = (int *)device(1, 0);
    count_atomic<<<2, 4>>>(c);
    done(c);
}
static void add_up(int fence)
{
    float *x = device(8), *sums = device(8), *rest = device(2, 0);
    last_block<<<8, 32>>>(x, sums, (unsigned *)rest, rest + 1, fence);
    done(x, sums, rest);
}
static void right_last_block() { add_up(1); }
static void last_block_without_fence() { add_up(0); }
static void across_blocks()
{
    float *x = device(256);
    neighbours_blocks<<<4, 64>>>(x);
    done(x);
}
static void two_writers() { on_one<same_slot>(128); }

static const Entry entries[] = {
    { "right_reverse", right_reverse }, { "missing_barrier", missing_barrier }, { "right_reduce", right_reduce },
    { "warp_synchronous_tail", warp_synchronous_tail }, { "right_warp_tail", right_warp_tail }, { "second_use", second_use },
    { "right_second_use", right_second_use }, { "right_histogram", right_histogram }, { "plain_histogram", plain_histogram },
    { "merge_too_early", merge_too_early }, { "right_bytes", right_bytes }, { "right_readers", right_readers },
    { "shuffle_instead_of_syncwarp", shuffle_instead_of_syncwarp }, { "in_place_shift", in_place_shift }, { "right_shift", right_shift },
    { "plain_counter", plain_counter }, { "right_counter", right_counter }, { "right_last_block", right_last_block },
    { "last_block_without_fence", last_block_without_fence }, { "across_blocks", across_blocks }, { "two_writers", two_writers },
};
int main(int argc, char **argv) { return run_entry(entries, argc, argv); }
