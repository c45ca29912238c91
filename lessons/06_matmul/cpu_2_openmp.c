/* C = A B on every core, blocked for each level of memory (Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34, 2008; the names MR, NR, KC, MC are theirs). After cpu_1_naive.c.
 *
 *   for each slab of KC columns of A and rows of B:
 *     copy the slab into strips, so that the inner loop reads consecutive addresses      (packing, 1/n of the work)
 *     for each block of MC rows and some columns of C:                                   (shared out among the threads)
 *       for each strip of NR columns, each strip of MR rows:
 *         an MR x NR tile of C, held in registers, += strip of A times strip of B
 *
 * Written with GCC's and clang's vector types, no intrinsics: the compiler picks the instructions. Each entry of C is summed
 * in one fixed order, so the answer doesn't depend on the number of threads. */
#include "bench/bench.h"
#include "common/memory.h"
#include "common/try.h"
#include <omp.h>

/* gcc in its C11 mode never fuses a * b + c into one instruction; fused it is twice as fast and rounds once less. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("fp-contract=fast")
#endif

/* The tile of sums must fit the vector registers beside a column of A: 24 of 32 with AVX-512, 12 of 16 with AVX. */
#ifdef __AVX512F__
enum { VECTOR_BYTES = 64, VECTORS = 2, NR = 12 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32, VECTORS = 2, NR = 6 };
#else
enum { VECTOR_BYTES = 16, VECTORS = 2, NR = 6 };
#endif
enum {
    DEPTH_BYTES = 2048,      /* KC elements: a strip of B, KC x NR, is 24 kB or 12 kB, in the first-level cache */
    BLOCK_BYTES = 400 << 10, /* a block of A, MC x KC, in the second-level cache */
    WIDEST_BLOCK = 480,      /* columns of C for one block of A */
    BLOCKS_PER_THREAD = 4,   /* at least, so that no thread idles for long at the end of a slab */
    SERIAL_BELOW = 64
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Columns in a block: many, to use a block of A often; fewer where threads would have nothing to do. */
static size_t block_width(size_t n, size_t rows)
{
    const size_t down = (n + rows - 1) / rows, threads = (size_t)omp_get_max_threads();
    size_t strips = WIDEST_BLOCK / NR;
    while (strips > 1 && down * ((n + strips * NR - 1) / (strips * NR)) < BLOCKS_PER_THREAD * threads) strips /= 2;
    return strips * NR;
}

#define Real    float
#define NAME(f) f##_f32
#include "cpu_2_openmp.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "cpu_2_openmp.inc"

const Approach matmul_cpu_2_openmp = {
    .idea = "packed blocks, register tiles, every core", .role = OPTIMIZED, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 }
};
