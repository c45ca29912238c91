/* c = a + b on every core. Each thread takes one contiguous part, the one that it wrote first (the inputs are made by the
 * same static schedule), so on a machine with several memories the data is near. After cpu_1_naive.c. Large outputs are
 * written by streaming stores, which is what makes the difference: memory, not arithmetic, is the limit. */
#include "bench/bench.h"
#include "common/streaming.h"

/* Starting the threads costs as much as this many elements (a few microseconds). */
enum { SERIAL_BELOW = 1 << 15 };

#define Real    float
#define NAME(f) f##_f32
#include "cpu_2_openmp.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_2_openmp.inc"

const Approach vector_add_cpu_2_openmp = {
    .idea = "every core, SIMD, streaming stores", .role = OPTIMIZED, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 }
};
