/* c = a * b on one core: one loop, nothing else. Moves three arrays, and a fourth in secret: a store reads its line first. */
#include "bench/bench.h"

#define Real    float
#define NAME(f) f##_f32
#include "cpu_1_naive.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_1_naive.inc"

const Approach multiply_cpu_1_naive = { .idea = "one loop", .role = NAIVE, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 } };
