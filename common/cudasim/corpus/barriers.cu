#include "corpus.h"

__global__ void guarded_barrier(float *x, int n)
{
    __shared__ float s[64];
    if (threadIdx.x < n) {
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();   // EXPECT barrier_in_if: barrier divergence
        x[threadIdx.x] = s[n - 1 - threadIdx.x];
    }
}

__global__ void early_exit(float *x, int n)
{
    __shared__ float s[64];
    if (threadIdx.x >= n) return;
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();   // EXPECT early_return: barrier divergence
    x[threadIdx.x] = s[n - 1 - threadIdx.x];
}

__global__ void two_barriers(float *x)
{
    if (threadIdx.x < 32)
        __syncthreads();   // EXPECT different_barriers: barrier divergence
    else
        __syncthreads();
    x[threadIdx.x] = 0;
}

__global__ void uneven_loop(float *x)
{
    for (int k = 0; k < 1 + (int)(threadIdx.x % 2); k++) {
        x[threadIdx.x] += k;
        __syncthreads();   // EXPECT uneven_loop: barrier divergence
    }
}

__global__ void even_loop(float *x, int turns)
{
    for (int k = 0; k < turns; k++) {
        x[threadIdx.x] += k;
        __syncthreads();
    }
}

__global__ void whole_block_returns(float *x)
{
    if (blockIdx.x == 1) return;
    __syncthreads();
    x[threadIdx.x] = 1;
}

__global__ void guarded_right(float *x, int n)
{
    __shared__ float s[64];
    if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n) x[threadIdx.x] = s[n - 1 - threadIdx.x];
}

__global__ void counts(int *out)
{
    const int c = __syncthreads_count(threadIdx.x % 2), all = __syncthreads_and(1), any = __syncthreads_or(threadIdx.x == 3);
    if (threadIdx.x == 0) *out = c + all + any;
}

__global__ void absent_lane(float *x)   // lanes 16 to 31 wait at the barrier; the mask names them
{
    float v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_down_sync(0xffffffffu, v, 1);   // EXPECT mask_names_absent_lanes: warp divergence, mask_names_absent_lanes: shuffle
    __syncthreads();
    x[threadIdx.x] = v;
}

__global__ void half_mask_right(float *x)
{
    float v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_down_sync(0xffffu, v, 1, 16);
    __syncthreads();
    x[threadIdx.x] = v;
}

__global__ void outside_mask(float *x)
{
    x[threadIdx.x] = __shfl_sync(0xffffu, threadIdx.x, 0);   // EXPECT caller_outside_mask: warp mask, caller_outside_mask: shuffle
}

__global__ void reads_absent(float *x)
{
    if (threadIdx.x < 8) x[threadIdx.x] = __shfl_sync(0xffu, (float)threadIdx.x, 20);   // EXPECT shuffle_from_absent_lane: shuffle
}

__global__ void partial_warp(float *x)   // 40 threads: the second warp has 8 lanes
{
    float v = 1;
    for (int d = 16; d > 0; d /= 2) {
        const float other = __shfl_xor_sync(threadIdx.x < 32 ? ~0u : 0xffu, v, threadIdx.x < 32 ? d : d % 8);
        v += other;
    }
    x[threadIdx.x] = v;
}

__global__ void votes(unsigned *out)
{
    const unsigned b = __ballot_sync(~0u, threadIdx.x < 5);
    const int any = __any_sync(~0u, threadIdx.x == 7), all = __all_sync(~0u, threadIdx.x < 32);
    if (threadIdx.x == 0) *out = b + any + all;
}

__global__ void active_lanes(unsigned *out)
{
    if (threadIdx.x % 3 == 0) out[threadIdx.x] = __activemask();
}

__global__ void endless(volatile float *x)
{
    while (x[0] > 0) x[1] = 1;   // EXPECT endless_loop: endless loop
}

__global__ void waits_for_thread(volatile int *flag)
{
    if (threadIdx.x == 0)
        while (*flag == 0) {}   // EXPECT spins_on_another_thread: endless loop
    else *flag = 1;
}

static void barrier_in_if() { float *x = device(64); guarded_barrier<<<1, 64>>>(x, 40); done(x); }
static void early_return() { float *x = device(64); early_exit<<<1, 64>>>(x, 40); done(x); }
static void different_barriers() { float *x = device(64); two_barriers<<<1, 64>>>(x); done(x); }
static void run_uneven_loop() { float *x = device(64); uneven_loop<<<1, 64>>>(x); done(x); }
static void right_even_loop() { float *x = device(64); even_loop<<<1, 64>>>(x, 3); done(x); }
static void right_whole_block_returns() { float *x = device(64); whole_block_returns<<<2, 64>>>(x); done(x); }
static void right_guard() { float *x = device(64); guarded_right<<<1, 64>>>(x, 40); done(x); }
static void right_counts() { int *x = (int *)device(1); counts<<<1, 64>>>(x); done(x); }
static void mask_names_absent_lanes() { float *x = device(32); absent_lane<<<1, 32>>>(x); done(x); }
static void right_half_mask() { float *x = device(32); half_mask_right<<<1, 32>>>(x); done(x); }
static void caller_outside_mask() { float *x = device(32); outside_mask<<<1, 32>>>(x); done(x); }
static void shuffle_from_absent_lane() { float *x = device(32); reads_absent<<<1, 32>>>(x); done(x); }
static void right_partial_warp() { float *x = device(40); partial_warp<<<1, 40>>>(x); done(x); }
static void right_votes() { unsigned *x = (unsigned *)device(1); votes<<<1, 32>>>(x); done(x); }
static void right_active_lanes() { unsigned *x = (unsigned *)device(32); active_lanes<<<1, 32>>>(x); done(x); }
static void endless_loop() { float *x = device(2); endless<<<1, 1>>>(x); done(); }
static void spins_on_another_thread() { int *x = (int *)device(1, 0); waits_for_thread<<<1, 2>>>(x); done(); }

static const Entry entries[] = {
    { "barrier_in_if", barrier_in_if }, { "early_return", early_return }, { "different_barriers", different_barriers },
    { "uneven_loop", run_uneven_loop }, { "right_even_loop", right_even_loop }, { "right_whole_block_returns", right_whole_block_returns },
    { "right_guard", right_guard }, { "right_counts", right_counts }, { "mask_names_absent_lanes", mask_names_absent_lanes },
    { "right_half_mask", right_half_mask }, { "caller_outside_mask", caller_outside_mask },
    { "shuffle_from_absent_lane", shuffle_from_absent_lane }, { "right_partial_warp", right_partial_warp }, { "right_votes", right_votes },
    { "right_active_lanes", right_active_lanes }, { "endless_loop", endless_loop }, { "spins_on_another_thread", spins_on_another_thread },
};
int main(int argc, char **argv) { return run_entry(entries, argc, argv); }
