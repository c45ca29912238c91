/* C = A B on one core: the definition, three loops, one dot product an entry. It walks along rows of the column-major A, so
 * each step of the inner loop touches another cache line, and each addition waits for the one before. */
#include "bench/bench.h"

#define Real    float
#define NAME(f) f##_f32
#include "cpu_1_naive.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_1_naive.inc"

const Approach matmul_cpu_1_naive = { .idea = "three loops", .role = NAIVE, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 } };
