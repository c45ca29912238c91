/* Exact Gaussian-process regression. This header is the manual: shapes, units, layout, errors and sources.
 *
 * Model (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 2.2 and algorithm 2.1):
 *   y = f(X) + e,  f ~ GP(0, k),  e ~ N(0, noise_variance);   K = k(X, X) + noise_variance I = L L'
 *   alpha = L' \ (L \ y);   mean(x) = k(x, X) alpha;   variance(x) = k(x, x) - |L \ k(X, x)|^2
 * Matrices are column-major with an explicit leading dimension; X is n x d, so coordinate j of point i is x[i + j * ldx].
 * y may have several columns, t targets that share X, the kernel and the factor: answers then have t columns too (Y = F + E, each column on its own).
 * Callers pass and get double, whatever the precision of the arithmetic. Every function that can fail returns a GpStatus;
 * gp_message() then says what, where and what to do. No global state: threads may use one context each. */
#ifndef GP_H
#define GP_H
#include "common/status.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct GpContext GpContext;  /* a backend, its device, handles and stream         */
typedef struct GpKernel  GpKernel;   /* a covariance function and its parameters          */
typedef struct GpModel   GpModel;    /* kernel + training data + factor                   */
typedef enum { GP_F64, GP_F32 } GpPrecision;

/* Backends, from the plainest to the fastest: "cpu/naive", "cpu/openmp", "cuda/naive", "cuda/optimized". */
size_t      gp_backend_count(void);
const char *gp_backend_name(size_t i);
/* NULL: usable here; else a sentence why not ("no CUDA device", "built without nvcc", "unknown backend ..."). */
const char *gp_backend_unavailable(const char *name);
/* `backend` may be "auto": the last one in the list that this machine can run. `device` numbers the GPUs from 0.
 * GP_UNAVAILABLE with the reason; GP_BAD_ARGUMENT for a name that does not exist (the message lists those that do). */
GpStatus    gp_context_create(GpContext **out, const char *backend, GpPrecision precision, int device);
/* All device work of the context goes to `stream` (a cudaStream_t) instead of one that the context makes itself. */
GpStatus    gp_context_create_on_stream(GpContext **out, const char *backend, GpPrecision precision, int device, void *stream);
void        gp_context_destroy(GpContext *c);
const char *gp_context_backend(const GpContext *c);
GpPrecision gp_context_precision(const GpContext *c);

/* Squared exponential: k(a, b) = variance * exp(-1/2 sum_j ((a_j - b_j) / length[j])^2). GP_BAD_ARGUMENT unless every
 * number is finite and positive and d > 0. (GPML equation 5.1) */
GpStatus gp_kernel_rbf(GpKernel **out, double variance, const double *length, size_t d);
/* An expression of covariance functions over d columns, as text: "2*rbf(0.5,1.2) + 0.1*matern32(3)*periodic(1,0.7) + white(0.01)".
 * expression.h has the grammar, the functions and their formulas. GP_BAD_ARGUMENT names the character and what was expected there. */
GpStatus gp_kernel_parse(GpKernel **out, const char *text, size_t d);
/* As snprintf: writes at most `size` bytes, returns the length of the whole text, which parses to the same bits. */
size_t   gp_kernel_print(const GpKernel *k, char *text, size_t size);
/* What is known of a parameter before the data: log-normal, with a = mean and b = standard deviation of the logarithm, or gamma, with a = shape
 * and b = rate. A zeroed one is none. */
typedef enum { GP_NO_PRIOR, GP_LOG_NORMAL, GP_GAMMA } GpPriorKind;
typedef struct { GpPriorKind kind; double a, b; } GpPrior;
/* Parameters are positive. Training moves those that aren't fixed, within their bounds, in their logarithms. A kernel's text has no priors. */
typedef struct { double value, lower, upper; int fixed; GpPrior prior; } GpParameter;
size_t   gp_kernel_parameters(const GpKernel *k);
/* `name` ("rbf.length[2]", "constant") gets at most `size` bytes; it may be NULL. i < gp_kernel_parameters(k). */
GpParameter gp_kernel_parameter(const GpKernel *k, size_t i, char *name, size_t size);
/* GP_BAD_ARGUMENT unless 0 < lower <= value <= upper, all finite, there is a parameter i, and its prior has finite numbers (b, and a gamma's a,
 * positive). */
GpStatus gp_kernel_set_parameter(GpKernel *k, size_t i, GpParameter p);
GpStatus gp_kernel_copy(GpKernel **out, const GpKernel *k);
void     gp_kernel_destroy(GpKernel *k);
size_t   gp_kernel_dimensions(const GpKernel *k);

typedef struct {
    size_t n, d;              /* points and dimensions, both at least 1                       */
    const double *x;          /* n x d, column-major                                          */
    size_t ldx;               /* at least n                                                   */
    const double *y;          /* n x targets, column-major without gaps                       */
    /* n variances, >= 0, of the noise of each point, beside noise_variance and in its units; NULL: none. Known errors of measurement. */
    const double *point_noise;
    size_t targets;           /* columns of y; 0 reads as 1                                   */
} GpData;

/* What f is around: nothing, or a constant, or a constant and a slope for each column, whose coefficients are estimated with the model, by generalised
 * least squares (GPML section 2.7, with a vague prior): predictions know how uncertain they are (2.42), and the likelihood is that of the residual,
 * whose gradient has the same formula. Leave-one-out estimates them anew without each point. */
typedef enum { GP_MEAN_ZERO, GP_MEAN_CONSTANT, GP_MEAN_LINEAR } GpMean;

typedef struct {
    double noise_variance;    /* >= 0; added to the diagonal                                  */
    /* Jitter: none unless a pivot fails; then relative to mean(diag K), from 10 eps, growing tenfold, up to this limit.
     * 0: never; the fit fails with the row and its nearest duplicate. */
    double max_jitter;
    int normalise_y;          /* centre each target and scale it to variance 1 (a constant one scales by 1) */
    GpMean mean;
} GpFitOptions;
/* noise_variance 0, max_jitter 1e-6 (in float32: 1e-4), normalise_y 0, mean zero */
GpFitOptions gp_fit_defaults(GpPrecision precision);

/* Copies kernel and data, factors K. On failure *out is NULL. GP_BAD_DATA: a value that isn't finite, with its index;
 * GP_NOT_POSITIVE_DEFINITE: the row, and its nearest duplicate; GP_NO_MEMORY: bytes needed, bytes free, and the largest n that fits. */
GpStatus gp_fit(GpModel **out, GpContext *c, const GpKernel *k, const GpData *data, const GpFitOptions *o);
/* What was added to the diagonal beyond the noise, absolute; 0 almost always. */
double   gp_model_jitter(const GpModel *m);
/* t: how many columns y has. */
size_t   gp_model_targets(const GpModel *m);
/* How many coefficients the mean has, q = 0, 1 or 1 + d. They go into `coefficient` (q x t; NULL: not wanted), in the units of y and x: the constant,
 * at x = 0, then the slopes. */
size_t   gp_model_mean(const GpModel *m, double *coefficient);
/* log p(y | X), GPML equation 2.30, of y less its mean; the sum over the targets. With normalise_y, of the scaled y. */
GpStatus gp_log_marginal_likelihood(GpModel *m, double *lml);
/* Its derivatives by the logarithm of each parameter (gradient: gp_kernel_parameters numbers) and of noise_variance, which must be the
 * fit's (of_noise may be NULL). GPML equation 5.9. Takes a second n x n matrix while it works, and n x 1024 elements on cuda/optimized. */
GpStatus gp_log_marginal_likelihood_gradient(GpModel *m, double noise_variance, double *gradient, double *of_noise);
/* mean (count x t; may be NULL) and the whole covariance of f at `count` points: count x count x t, symmetric, leading dimension ldc; that of
 * target s begins at covariance + s * count * ldc (they differ by the scale of normalise_y only). Takes count (count + n) elements beside the
 * model. GPML equations 2.23 and 2.24. */
GpStatus gp_predict_covariance(GpModel *m, size_t count, const double *x, size_t ldx, double *mean, double *covariance, size_t ldc);
/* `samples` draws of f at `count` points from the posterior, or from the prior: out is count x t x samples (prior: t = 1) with leading dimension
 * ldout. The same seed gives the same normal numbers, other ones for each target; a sample does not depend on how many there are. Through a Cholesky factor, with a jitter of at most
 * 1e-6 (float32: 1e-4) of the mean variance where the covariance needs it. GPML appendix A.2. */
GpStatus gp_sample(GpModel *m, size_t count, const double *x, size_t ldx, size_t samples, uint64_t seed, double *out, size_t ldout);
GpStatus gp_sample_prior(GpContext *c, const GpKernel *k, size_t count, const double *x, size_t ldx, size_t samples, uint64_t seed,
                         double *out, size_t ldout);

/* Every training point predicted from all the others, in closed form (GPML 5.10 to 5.12): mean and variance of y_i, noise included, and
 * log density of the y_i that was measured, in the units of y. n x t each; NULL: not wanted. Takes n x 256 elements beside the model. */
GpStatus gp_leave_one_out(GpModel *m, double *mean, double *variance, double *log_density);

/* ---- many small models ---- */

typedef struct {
    const GpKernel *kernel;
    GpData data;
    GpFitOptions fit;
    double *gradient;         /* gp_kernel_parameters numbers, or NULL: not wanted                */
    double lml, of_noise;     /* as gp_log_marginal_likelihood and its gradient                   */
    GpStatus status;          /* of this model; the others go on                                  */
} GpBatchItem;
/* The likelihood, and its gradient where it is wanted, of `count` independent models; the same numbers as one by one, up to the rounding
 * of sums that threads split. On the CPU the models are spread over the cores, and OpenBLAS works with one thread meanwhile, in the whole process. Not GP_OK: the status of the first model that failed, whose index the message has. */
GpStatus gp_batch_likelihood(GpContext *c, size_t count, GpBatchItem *items);

/* ---- training: the parameters of highest log marginal likelihood ---- */

typedef struct { size_t restart; int evaluation; double lml, gradient_norm; } GpTrainProgress;   /* restart 0: from the kernel's own values */
typedef struct {
    int max_evaluations;      /* of the likelihood, for each start                              */
    double tolerance;         /* stop when the likelihood changes by less, relatively           */
    size_t restarts;          /* further starts, drawn log-uniformly within the bounds          */
    uint64_t seed;            /* of the restarts                                                */
    int train_noise;          /* also the fit's noise_variance, which must then be positive     */
    double noise_lower, noise_upper;
    GpPrior noise_prior;
    int find_flat;            /* at the end, count flat parameters: two more likelihoods for each                            */
    void (*progress)(const GpTrainProgress *p, void *data);   /* after every evaluation; NULL: none */
    void *progress_data;
    volatile const int *cancelled;   /* not zero: stop, and keep the best so far; NULL: never    */
} GpTrainOptions;
/* 500 evaluations, 1e-10, no restarts, seed 1, the noise as it is (bounds 1e-10 and 1e5) */
GpTrainOptions gp_train_defaults(void);

typedef struct {
    double lml, noise_variance;
    double log_prior;         /* log density of the priors there; the sum of the two is what was climbed                     */
    size_t flat;              /* with find_flat: trained parameters whose e-fold changes the likelihood by less than 1e-6 (1 + |lml|): the data say
                                 nothing of them                                                                             */
    int evaluations;          /* of all starts                                                   */
    size_t failed;            /* starts that met no positive definite matrix                     */
    size_t at_bound;          /* trained parameters, and the noise, that ended at a bound        */
    int converged;            /* the gradient, but for what points out of bounds, is below 1e-5 (1 + |lml|) */
    int cancelled;
} GpTrainResult;
/* Bounded quasi-Newton (L-BFGS by NLopt) over the logarithms of the parameters that aren't fixed, to the highest likelihood, or, with priors, the
 * highest posterior density of the parameters (maximum a posteriori). `k` starts it and gets the best
 * parameters; on failure it is as before. The same seed gives the same starts. GP_NOT_POSITIVE_DEFINITE when every start failed. Source:
 * GPML section 5.4.1. */
GpStatus gp_train(GpKernel *k, GpContext *c, const GpData *data, const GpFitOptions *fit, const GpTrainOptions *o, GpTrainResult *result);

/* mean and variance of the latent f (without noise) at `count` points x (count x d, leading dimension ldx), count x t each. variance may be NULL.
 * count = 0 is fine. A variance below zero by rounding becomes zero and is counted in *clamped (may be NULL); below zero by
 * more than rounding can explain is GP_NOT_POSITIVE_DEFINITE with the point's index. Works in chunks: no count x count matrix is made,
 * however large count is. */
GpStatus gp_predict(GpModel *m, size_t count, const double *x, size_t ldx, double *mean, double *variance, size_t *clamped);
void     gp_model_destroy(GpModel *m);

/* Bytes of device memory (or host memory, for a CPU backend) that fit and predict of n points will take; each target beyond the first counts as one
 * more dimension. */
size_t   gp_memory_needed(const GpContext *c, size_t n, size_t d);
/* Largest n whose plan fits `bytes`. */
size_t   gp_largest_n(const GpContext *c, size_t d, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
