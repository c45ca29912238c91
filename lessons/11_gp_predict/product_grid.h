/* On a product grid K = variance K_1 x .. x K_8 is a Kronecker product of small matrices, one a dimension (Saatci, Scalable Inference for
 * Structured Gaussian Process Models, PhD thesis, Cambridge, 2011, chapter 5). With K_j = Q_j D_j Q_j' from Jacobi's method,
 * K + noise I = Q (D + noise I) Q', where Q and D are Kronecker products too and are never formed. All in long double. */
#ifndef PRODUCT_GRID_H
#define PRODUCT_GRID_H
#include "lessons/11_gp_predict/problem.h"

/* n points in GP_PREDICT_D dimensions, column-major, their values, and variance exp(-1/2 sum_j ((a_j - b_j) / length_j)^2) */
typedef struct {
    size_t n;
    const long double *x, *y;
    double variance, length[GP_PREDICT_D], noise;
} GpGridData;

/* K_j of one dimension: g coordinates, g x g column-major eigenvectors, g eigenvalues. */
typedef struct { size_t g; long double *coordinate, *vectors, *values; } GpDimension;

/* alpha = (K + noise I)^-1 y in the grid's order; inverse: the eigenvalues of (K + noise I)^-1, and their squares. Index i of the grid stands
 * for i mod g[0] in dimension 0, i / g[0] mod g[1] in dimension 1, ... */
typedef struct { GpDimension dimension[GP_PREDICT_D]; long double *alpha, *inverse, *inverse_squared; } GpProduct;

/* Row r of X is the grid's point order[r]. GP_BAD_DATA if X isn't such a grid. `s` must be zero; destroy it after a failure too. */
GpStatus gp_product_create(GpProduct *s, const GpGridData *p, const size_t g[GP_PREDICT_D], const size_t *order);
/* t = Q' t (transposed) or Q t, n numbers in the grid's order: n sum(g) operations. */
void gp_product_apply(const GpProduct *s, size_t n, long double *t, int transposed);
void gp_product_destroy(GpProduct *s);

#endif
