/* The sum of x on one core: one loop, one accumulator. Each addition waits for the one before it (4 cycles), and C forbids
 * the compiler to reorder them, so it runs at a fraction of what memory delivers; its rounding error grows as sqrt(n). */
#include "bench/bench.h"

#define Real    float
#define NAME(f) f##_f32
#include "cpu_1_naive.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_1_naive.inc"

const Approach reduction_cpu_1_naive = {
    .idea = "one loop, one accumulator", .role = NAIVE, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 }
};
