/* The comparisons that problems' `error` functions are made of. All are NaN-safe: whatever isn't finite comes out as NaN. */
#ifndef VERIFY_H
#define VERIFY_H
#include "bench/bench.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Element i of an array of either precision. */
static inline double element(const void *x, size_t i, Precision p) { return p == F32 ? (double)((const float *)x)[i] : ((const double *)x)[i]; }
/* Every byte 0xFF: NaN in both precisions. */
void poison(void *x, size_t bytes);
/* Whether all `count` elements are finite (OpenMP). */
int all_finite(const void *x, size_t count, Precision p);
/* ||out - reference||_2 / ||reference||_2 over all elements; NaN if any element of out is not finite. A reference of
 * zeros asks for zeros exactly. */
double relative_error(const void *out, const double *reference, size_t count, Precision p);
/* Positions for checking part of an m x n matrix, one random place in each cell of a grid of at most side x side cells,
 * the corners always among them, so that no block of m/side x n/side elements goes unseen. Returns how many; `row` and
 * `column` hold at least side * side. Depends on the seed alone. */
size_t sample_positions(size_t m, size_t n, size_t side, uint64_t seed, size_t *row, size_t *column);

#ifdef __cplusplus
}
#endif
#endif
