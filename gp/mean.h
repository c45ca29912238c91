/* A mean function with coefficients that are estimated with the model: h(x)' beta, h(x) = (1) or (1, x), by generalised least squares, which is
 * also the maximum of the likelihood (GPML, section 2.7, with a vague prior on beta):
 *     A = H' K^-1 H,  beta = A^-1 H' K^-1 y,  alpha = K^-1 (y - H beta)
 * A prediction's mean gains h(z)' beta, its variance r' A^-1 r with r = h(z) - H' K^-1 k(X, z) (GPML 2.42). Not installed. */
#ifndef GP_MEAN_H
#define GP_MEAN_H
#include "gp/model.h"

enum { GP_MAX_BASIS = 1 + GP_MAX_DIMENSIONS };

/* What a model keeps of its mean. Columns of x enter h centred and scaled, so that years around 2000 do as well as others. */
struct GpMeanState {
    size_t q;                             /* functions in h                                       */
    double centre[GP_MAX_DIMENSIONS], scale[GP_MAX_DIMENSIONS];
    double *H, *W, *trend;                /* n x q; K^-1 H, n x q; H beta, n x targets; on the host */
    void *device_W;
    double A[GP_MAX_BASIS * GP_MAX_BASIS]; /* its Cholesky factor, lower, q x q                   */
    double *beta;                         /* q x targets                                          */
};

/* GP_BAD_DATA: fewer points than functions, or a column that is constant. m->mean stays NULL for a zero mean. */
GpStatus gp_mean_create(GpModel *m, const GpData *data, GpMean mean);
void     gp_mean_destroy(GpModel *m);
/* After a fit: beta, m->alpha and m->y (the residual y - H beta) of the model with its mean. GP_BAD_DATA: a column is a combination of others. */
GpStatus gp_mean_estimate(GpModel *m);
/* h(z)' beta of `target` at point i of `z`, count x d, packed as the model takes it. */
double   gp_mean_at(const GpModel *m, size_t target, const double *z, size_t count, size_t i);
/* s (q x count) with s_i' s_j = r_i' A^-1 r_j at the points z, on the host as `packed` and in the backend as z (leading dimension count); work is
 * n x count, row count elements, both the backend's. */
GpStatus gp_mean_uncertainty(GpModel *m, size_t count, const double *packed, const void *z, void *work, void *row, double *s);
/* What the estimate of beta takes off element (i, i) of K^-1 where y_i is left out. */
double   gp_mean_leverage(const GpModel *m, size_t i);

#endif
