/* Training: from given parameters to those of the highest log marginal likelihood (Rasmussen and Williams, Gaussian Processes for Machine
 * Learning, 2006, section 5.4.1). Inputs: X (n x d, column-major), y (n), those of lesson 12. Output: the likelihood reached, then the
 * parameters it was reached with, in the order of the kernel's text, the noise variance last where it stands beside the kernel.
 *   synthetic: 1 rbf(1, ..., 1) in 8 dimensions and noise of variance 0.1: 10 parameters
 *   co2:       the five terms of GPML, section 5.4.3, from the book's values, the period fixed at a year: 11 parameters of 12
 *
 * Error: how far the likelihood at the returned parameters, computed exactly, lies below the exact optimum, or how far the likelihood that is
 * claimed is from it, whichever is larger; relative to the optimum. A higher optimum is no error. */
#include "lessons/13_gp_train/problem.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <nlopt.h>
#include <string.h>

const char *gp_train_kernel(int variant)
{
    return variant == GP_LIKELIHOOD_CO2
               ? "4356*rbf(67) + 5.76*rbf(90)*periodic(1!,1.3) + 0.4356*rq(0.78,1.2) + 0.0324*rbf(0.134) + white(0.0361)"
               : "1*rbf(1,1,1,1,1,1,1,1)";
}

double gp_train_noise(int variant) { return variant == GP_LIKELIHOOD_CO2 ? 0 : 0.1; }

static const size_t *sizes(int variant, int full)
{
    static const size_t months[] = { GP_PREDICT_CO2_N, 0 }, quick[] = { 200, 0 }, all[] = { 200, 500, 1000, 2000, 4000, 10000, 0 };
    return variant == GP_LIKELIHOOD_CO2 ? months : full ? all : quick;
}

static const char *refuse(const Case *c) { return gp_likelihood_problem.refuse(c); }

static void shape(const Case *c, Buffers *b) { gp_likelihood_problem.shape(c, b); }

static size_t parameters(const Case *c, Parameter *out)
{
    out[0] = (Parameter){ "d", c->variant == GP_LIKELIHOOD_CO2 ? 1 : GP_PREDICT_D };
    out[1] = (Parameter){ "noise", gp_train_noise(c->variant) };
    return 2;
}

static GpStatus fill(const Case *c, const Buffers *b) { return gp_predict_fill(c, b->in[0], b->in[1]); }

/* ---- the exact optimum ---- */

enum { OPTIMUM, ROUNDING, REFERENCE_SIZE };
enum { TRAINED = GP_PREDICT_D + 2 };   /* of the synthetic kernel: variance, lengths, noise */

static size_t reference_size(const Case *c)
{
    (void)c;
    return REFERENCE_SIZE;
}

/* The inputs in long double, and the grid that the synthetic ones are on. */
typedef struct { const Case *c; long double *x, *y; size_t g[GP_PREDICT_D], *order; GpLikelihoodAnswer answer; GpStatus status; } Exact;

static GpStatus exact_create(Exact *e, const Case *c, const Buffers *b)
{
    GpStatus status = GP_OK;
    const size_t count = b->in_bytes[0] / precision_bytes(c->precision);
    *e = (Exact){ .c = c };
    TRY(memory_alloc_uninitialised(&e->x, count, sizeof *e->x, "gp train: inputs in long double"));
    TRY(memory_alloc_uninitialised(&e->y, c->n, sizeof *e->y, "gp train: inputs in long double"));
    for (size_t i = 0; i < count; i++) e->x[i] = (long double)element(b->in[0], i, c->precision);
    for (size_t i = 0; i < c->n; i++) e->y[i] = (long double)element(b->in[1], i, c->precision);
    (void)gp_predict_grid(c->n, e->g);
    TRY(gp_predict_order(c, &e->order));
cleanup:
    return status;
}

static void exact_destroy(Exact *e)
{
    memory_free(e->x);
    memory_free(e->y);
    memory_free(e->order);
}

static GpStatus exact_likelihood(Exact *e, const double *parameter, double *value)
{
    if (e->c->variant == GP_LIKELIHOOD_CO2) return gp_likelihood_dense_value(e->c->variant, parameter, e->c->n, e->x, e->y, value);
    const GpStatus status = gp_likelihood_product(parameter, e->c->n, e->x, e->y, e->g, e->order, &e->answer);
    *value = e->answer.value[0];
    return status;
}

static double climb(unsigned variables, const double *logarithm, double *gradient, void *exact)
{
    Exact *e = exact;
    double parameter[TRAINED], value = 0;
    for (unsigned i = 0; i < variables; i++) parameter[i] = exp(logarithm[i]);
    if (e->status == GP_OK) e->status = exact_likelihood(e, parameter, &value);
    if (gradient) memcpy(gradient, e->answer.value + 1, variables * sizeof *gradient);
    return value;
}

/* NLopt's climb on the exact likelihood of the grid, until it no longer moves. */
static GpStatus synthetic_optimum(Exact *e, double *optimum)
{
    double logarithm[TRAINED] = { 0 };
    nlopt_opt optimiser = nlopt_create(NLOPT_LD_LBFGS, TRAINED);
    if (!optimiser) return fail(GP_NO_MEMORY, "gp train: no memory for the reference's optimiser");
    logarithm[TRAINED - 1] = log(gp_train_noise(e->c->variant));
    nlopt_set_max_objective(optimiser, climb, e);
    nlopt_set_lower_bounds1(optimiser, log(1e-5));
    nlopt_set_upper_bounds1(optimiser, log(1e5));
    nlopt_set_ftol_rel(optimiser, 1e-15);
    nlopt_set_maxeval(optimiser, 1000);
    (void)nlopt_optimize(optimiser, logarithm, optimum);   /* at the top rounding ends the line search: no failure */
    nlopt_destroy(optimiser);
    return e->status;
}

/* co2: scikit-learn's optimum, and ours, from the book's start. */
static GpStatus reference(const Case *c, const Buffers *b, double *expected)
{
    GpStatus status = GP_OK;
    Exact e;
    TRY(exact_create(&e, c, b));
    expected[OPTIMUM] = -115.05029783;
    expected[ROUNDING] = 0;
    if (c->variant == GP_LIKELIHOOD_SYNTHETIC) {
        TRY(synthetic_optimum(&e, &expected[OPTIMUM]));
        expected[ROUNDING] = e.answer.rounding[0];
    }
cleanup:
    exact_destroy(&e);
    return status;
}

/* An optimiser that stops when a step gains less than 1e-9 of the likelihood, as ours and scikit-learn's do, has at most a few hundred such
 * steps to go. A line search compares likelihoods that are each wrong by up to lesson 12's tolerance, and stops where gains drown in that. */
static double tolerance(const Case *c, const Buffers *b, const double *expected)
{
    (void)b;
    return 5e-7 + 4 * precision_epsilon(c->precision) * expected[ROUNDING] / fabs(expected[OPTIMUM]);
}

static double error(const Case *c, const Buffers *b, const double *expected)
{
    Exact e;
    double parameter[GP_LIKELIHOOD_MOST], exact = NAN;
    const double claimed = element(b->out, 0, c->precision);
    for (size_t i = 0; i + 1 < gp_likelihood_count(c->variant); i++) {
        parameter[i] = element(b->out, i + 1, c->precision);
        if (!(parameter[i] > 0 && isfinite(parameter[i]))) return NAN;
    }
    if (exact_create(&e, c, b) != GP_OK || exact_likelihood(&e, parameter, &exact) != GP_OK) exact = NAN;
    exact_destroy(&e);
    if (!isfinite(exact) || !isfinite(claimed)) return NAN;
    return fmax(fmax(0, expected[OPTIMUM] - exact), fabs(claimed - exact)) / fabs(expected[OPTIMUM]);
}

/* How many likelihoods it takes is the optimiser's affair: no count of operations or bytes belongs to the problem, and no roof. */
static Work work(const Case *c)
{
    (void)c;
    return (Work){ .flops = 0, .bytes = 0 };
}

static const char *const variants[] = { "synthetic", "co2", NULL };

const Problem gp_train_problem = {
    .title = "GP training to the highest likelihood", .n_means = "training points", .variants = variants, .checks = 1, .sizes = sizes,
    .refuse = refuse, .shape = shape, .parameters = parameters, .fill = fill, .reference_size = reference_size, .reference = reference,
    .error = error, .tolerance = tolerance, .work = work,
};
