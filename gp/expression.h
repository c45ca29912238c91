/* Covariance expressions: sums, products and powers of covariance functions, as text and as plain data that every backend can walk.
 *
 *     2.0*rbf(0.5,1.2) + 0.1*matern32(3) * periodic(1,0.7) + white(0.01)
 *
 * r^2 = sum over the active dimensions of ((a_j - b_j) / length_j)^2; the numbers are those of GPML (Rasmussen and Williams 2006):
 *     2.0               a constant
 *     rbf(l...)         exp(-r^2 / 2)                                                             (4.9)
 *     matern12(l...)    exp(-r)                                                                   (4.14 with nu = 1/2)
 *     matern32(l...)    (1 + sqrt(3) r) exp(-sqrt(3) r)                                           (4.17)
 *     matern52(l...)    (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)                                 (4.17)
 *     rq(alpha, l...)   (1 + r^2 / (2 alpha))^-alpha, rational quadratic                          (4.19)
 *     periodic(p, l)    exp(-2 sum_j sin^2(pi (a_j - b_j) / p) / l^2): a product over dimensions   (4.31)
 *     linear(v)         v sum_j a_j b_j, the dot product                                          (4.1.2)
 *     white(v)          v for a training point with itself, else 0: noise, in no prediction of f
 * l... is one length for all active dimensions, or one for each. `rbf(0.5)[0,2]` is active in columns 0 and 2; without brackets all
 * are. `(...)^3` is a power by a whole number, so that it stays positive definite (Schur). A parameter is a positive number;
 * `0.5 in 1e-3..10` bounds it in training (the default is 1e-5 to 1e5), `0.5!` keeps it as it is. Training works on logarithms. */
#ifndef GP_EXPRESSION_H
#define GP_EXPRESSION_H
#include "gp/gp.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { GP_MAX_DIMENSIONS = 64, GP_MAX_NODES = 64, GP_MAX_PARAMETERS = 128, GP_MAX_DEPTH = 32, GP_MAX_POWER = 16, GP_NO_ROW = -1 };

typedef enum {
    GP_NODE_CONSTANT, GP_NODE_RBF, GP_NODE_MATERN12, GP_NODE_MATERN32, GP_NODE_MATERN52, GP_NODE_RATIONAL_QUADRATIC, GP_NODE_PERIODIC,
    GP_NODE_LINEAR, GP_NODE_WHITE, GP_NODE_SUM, GP_NODE_PRODUCT, GP_NODE_POWER
} GpNodeKind;

/* Nodes stand in postfix order: the right (or only) operand of node i is node i - 1, the left one is `left`. */
typedef struct {
    GpNodeKind kind;
    int left, power;
    int parameter, parameters;        /* its first parameter, and how many it has                                   */
    uint64_t dimensions;              /* bit j: column j is active                                                   */
} GpNode;

typedef struct {
    int d, nodes, parameters;
    GpNode node[GP_MAX_NODES];
    GpParameter parameter[GP_MAX_PARAMETERS];
} GpExpression;

/* variance exp(-1/2 sum_j ((a_j - b_j) inverse_length[j])^2): what backends have kernels of their own for, passed to device code by value.
 */
typedef struct {
    size_t d;
    double variance;
    double inverse_length[GP_MAX_DIMENSIONS];   /* 1 / length[j] */
} GpRbf;

/* GP_BAD_ARGUMENT: the character (from 1) and what was expected there. */
GpStatus gp_expression_parse(GpExpression *e, const char *text, size_t d);
/* As snprintf: writes at most `size` bytes, returns the length of the whole text. What is printed parses to the same bits. */
size_t   gp_expression_print(const GpExpression *e, char *text, size_t size);
/* "rbf.length", "rbf2.length[3]" (of the second rbf, column 3), "rq.alpha", "periodic.period", "constant", "white.variance" */
void     gp_expression_name(const GpExpression *e, int parameter, char *name, size_t size);
/* variance * rbf(length[0], ..., length[d-1]) */
GpStatus gp_expression_rbf(GpExpression *e, double variance, const double *length, size_t d);
/* 1: the expression is a constant times one rbf over all columns, and `k` is it. */
int      gp_expression_is_rbf(const GpExpression *e, GpRbf *k);
/* 1: it depends on differences alone, so that x may be shifted. */
int      gp_expression_is_stationary(const GpExpression *e);

/* out[i] = k(x_i, z) for i < rows. x is column-major with leading dimension ldx, z[j * ldz] is coordinate j. `same`: the row that is
 * the point z itself, for white; GP_NO_ROW: none. */
void gp_expression_column_f32(const GpExpression *e, size_t rows, const float *x, size_t ldx, const float *z, size_t ldz, ptrdiff_t same,
                              float *out);
void gp_expression_column_f64(const GpExpression *e, size_t rows, const double *x, size_t ldx, const double *z, size_t ldz, ptrdiff_t same,
                              double *out);
/* gradient[p] += sum_i weight[i] dk(x_i, z) / dlog parameter[p], for every p at once and in double. */
void gp_expression_gradient_f32(const GpExpression *e, size_t rows, const float *x, size_t ldx, const float *z, size_t ldz, ptrdiff_t same,
                                const float *weight, double *gradient);
void gp_expression_gradient_f64(const GpExpression *e, size_t rows, const double *x, size_t ldx, const double *z, size_t ldz,
                                ptrdiff_t same, const double *weight, double *gradient);

#ifdef __cplusplus
}
#endif
#endif
