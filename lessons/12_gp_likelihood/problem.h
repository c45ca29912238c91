/* Numbers of the likelihood problem, and its references. */
#ifndef GP_LIKELIHOOD_PROBLEM_H
#define GP_LIKELIHOOD_PROBLEM_H
#include "lessons/11_gp_predict/product_grid.h"

enum { GP_LIKELIHOOD_SYNTHETIC = GP_PREDICT_SYNTHETIC, GP_LIKELIHOOD_CO2 = GP_PREDICT_CO2 };   /* variants */
enum { GP_LIKELIHOOD_MOST = 16 };                                                             /* numbers in an answer */

/* The kernel as gp_expression_parse takes it, and the noise variance beside it (0: it is in the kernel). Nothing is trained here. */
const char *gp_likelihood_kernel(int variant);
double gp_likelihood_noise(int variant);
/* The values of the parameters in the order of the text, the noise last: gp_likelihood_count - 1 of them. */
const double *gp_likelihood_parameters(int variant);
/* How many numbers are asked for: the likelihood, its derivative by the logarithm of each parameter of the kernel, in the order of the text,
 * and by that of the noise variance where it stands beside the kernel. */
size_t gp_likelihood_count(int variant);

/* The answer, and what rounding may do to each number, in units of eps (reference.inc says how). */
typedef struct { double value[GP_LIKELIHOOD_MOST], rounding[GP_LIKELIHOOD_MOST]; } GpLikelihoodAnswer;

/* synthetic, at any parameters (in the order of gp_likelihood_parameters), on a product grid of the sizes g; row r of X is the grid's point
 * order[r] */
GpStatus gp_likelihood_product(const double *parameter, size_t n, const long double *x, const long double *y, const size_t g[GP_PREDICT_D],
                               const size_t *order, GpLikelihoodAnswer *a);
/* Either variant, any parameters and points, by a Cholesky factor in long double: about 3 n^3 operations. */
GpStatus gp_likelihood_dense(int variant, const double *parameter, size_t n, const long double *x, const long double *y, GpLikelihoodAnswer *a);

/* The likelihood alone: n^3/3. */
GpStatus gp_likelihood_dense_value(int variant, const double *parameter, size_t n, const long double *x, const long double *y, double *value);

#endif
