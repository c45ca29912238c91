/* Numbers of the GP regression problem, and its references. */
#ifndef GP_PREDICT_PROBLEM_H
#define GP_PREDICT_PROBLEM_H
#include "bench/bench.h"

enum { GP_PREDICT_SYNTHETIC, GP_PREDICT_CO2 };   /* variants */
enum { GP_PREDICT_D = 8, GP_PREDICT_M = 1000, GP_PREDICT_CO2_N = 521, GP_PREDICT_FACTOR = 64 };

/* The model of a variant: d dimensions, k(a, b) = variance exp(-|a - b|^2 / (2 length^2)), noise variance on the diagonal. */
typedef struct { size_t d; double variance, length, noise; } GpPredictModel;
GpPredictModel gp_predict_model(int variant);

/* An instance in long double: X n x d, y n, Z m x d, column-major. */
typedef struct {
    GpPredictModel model;
    size_t n, m;
    long double *x, *y, *z;
} GpPredictData;

/* mean and variance at the m points, and the two sizes of rounding errors that the tolerance is made of: root sums of squares over the m
 * points, in units of eps (reference.inc says how). */
typedef struct { double *mean, *variance, mean_rounding, variance_rounding; } GpPredictAnswer;

/* X (n x d) and y of a variant, in the case's precision, and the order in which X has the points of its grid (the caller frees it). */
GpStatus gp_predict_fill(const Case *c, void *x, void *y);
GpStatus gp_predict_order(const Case *c, size_t **order);
/* Factors of n as equal as they come: g[0] * ... * g[7] = n. 1 if all are at most GP_PREDICT_FACTOR, else 0. */
int gp_predict_grid(size_t n, size_t g[GP_PREDICT_D]);
/* Any points: a Cholesky factor in long double, n^3/3. */
GpStatus gp_predict_dense(const GpPredictData *p, GpPredictAnswer *a);
/* Points on a product grid of the sizes g; row r of X is the grid's point order[r]. GP_BAD_DATA if X isn't such a grid. */
GpStatus gp_predict_product(const GpPredictData *p, const size_t g[GP_PREDICT_D], const size_t *order, GpPredictAnswer *a);

#endif
