/* The sum of x on every core, after cpu_1_naive.c. Many accumulators instead of one, so that additions needn't wait for each
 * other and fill the vector registers; blocks whose sums are added in their own order, so that the answer is the same bit
 * for bit on every run and for every number of threads (an OpenMP `reduction` clause adds in order of arrival). Sums of
 * sums also round less: the error grows with the longest chain, not with n. Reads each element once, near the thread that
 * wrote it first. */
#include "bench/bench.h"

enum {
    LANES = 64,         /* accumulators: 8 AVX registers of float32, enough for 2 additions a cycle of latency 4 */
    MOST_BLOCKS = 1024, /* several for each core of a large machine, and a stack array */
    SHORTEST_BLOCK = 1 << 12,
    SERIAL_BELOW = 1 << 16 /* starting the threads costs as much as this many additions */
};

static size_t block_length(size_t n)
{
    const size_t even = (n + MOST_BLOCKS - 1) / MOST_BLOCKS, whole_lanes = (even + LANES - 1) / LANES * LANES;
    return whole_lanes > SHORTEST_BLOCK ? whole_lanes : SHORTEST_BLOCK;
}

#define Real    float
#define NAME(f) f##_f32
#include "cpu_2_openmp.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_2_openmp.inc"

const Approach reduction_cpu_2_openmp = {
    .idea = "every core, 64 accumulators, fixed order", .role = OPTIMIZED, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 }
};
