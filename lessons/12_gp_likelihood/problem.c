/* The log marginal likelihood of a Gaussian process and its gradient: one step of training (Rasmussen and Williams, Gaussian Processes for
 * Machine Learning, 2006, equations 2.30 and 5.9). Inputs: X (n x d, column-major), y (n), as in lesson 11; the parameters are given.
 * Output: log p(y | X), its derivatives by the logarithm of every parameter, in the order of the kernel's text, and, where the noise variance
 * stands beside the kernel, by its logarithm.
 *   synthetic: 1.3 rbf(0.7, 0.8, ..., 1.4) in 8 dimensions and noise of variance 0.1, on lesson 11's product grids: 11 numbers
 *   co2:       the five terms of GPML, section 5.4.3, with the book's values, on the 521 monthly means of Mauna Loa: 13 numbers
 *
 * Error: each number's distance from the reference, brought to the scale of the likelihood (multiplied by the ratio of what rounding may do to
 * each), and the largest of them divided by the likelihood. */
#include "lessons/12_gp_likelihood/problem.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double FIRST_LENGTH = 0.7, LENGTH_STEP = 0.1;
static const double synthetic[] = { 1.3, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 0.1 };
static const size_t LARGEST_N = (size_t)1 << 28;   /* n * n * 8 bytes still fits a size_t */

/* GPML's table of section 5.4.3: 66^2, 67; 2.4^2, 90, 1.3 (a year's period); 0.66^2, 1.2, 0.78; 0.18^2, 1.6 months; 0.19^2. */
enum { CO2_PARAMETERS = 12 };
static const double co2[CO2_PARAMETERS] = { 4356, 67, 5.76, 90, 1, 1.3, 0.4356, 0.78, 1.2, 0.0324, 0.134, 0.0361 };

const char *gp_likelihood_kernel(int variant)
{
    return variant == GP_LIKELIHOOD_CO2
               ? "4356*rbf(67) + 5.76*rbf(90)*periodic(1,1.3) + 0.4356*rq(0.78,1.2) + 0.0324*rbf(0.134) + white(0.0361)"
               : "1.3*rbf(0.7,0.8,0.9,1,1.1,1.2,1.3,1.4)";
}

double gp_likelihood_noise(int variant) { return variant == GP_LIKELIHOOD_CO2 ? 0 : synthetic[1 + GP_PREDICT_D]; }

const double *gp_likelihood_parameters(int variant) { return variant == GP_LIKELIHOOD_CO2 ? co2 : synthetic; }

size_t gp_likelihood_count(int variant) { return 1 + (variant == GP_LIKELIHOOD_CO2 ? CO2_PARAMETERS : 1 + GP_PREDICT_D + 1); }

static size_t columns(int variant) { return variant == GP_LIKELIHOOD_CO2 ? 1 : GP_PREDICT_D; }

static const size_t *sizes(int variant, int full)
{
    static const size_t months[] = { GP_PREDICT_CO2_N, 0 }, quick[] = { 500, 1000, 0 };
    static const size_t all[] = { 500, 1000, 2000, 4000, 10000, 20000, 40000, 0 };
    return variant == GP_LIKELIHOOD_CO2 ? months : full ? all : quick;
}

static int on_a_grid(size_t n)
{
    size_t g[GP_PREDICT_D];
    return n >= 1 && gp_predict_grid(n, g);
}

static const char *refuse(const Case *c)
{
    static _Thread_local char why[160];
    size_t away = 0;
    if (c->variant == GP_LIKELIHOOD_CO2) {
        snprintf(why, sizeof why, "the co2 data have %d months; ask for n = %d", GP_PREDICT_CO2_N, GP_PREDICT_CO2_N);
        if (c->n != GP_PREDICT_CO2_N) return why;
        return c->precision == F32 ? "the condition of this matrix is 6e7, beyond what float32 can factor; ask for f64" : NULL;
    }
    if (c->n > LARGEST_N) return "the matrix has more bytes than any machine has; ask for n of at most 2^28";
    while (!on_a_grid(c->n - away) && !on_a_grid(c->n + away)) away++;
    snprintf(why, sizeof why, "n = %zu has a prime factor above %d, for which there is no exact reference; ask for n = %zu", c->n,
             GP_PREDICT_FACTOR, on_a_grid(c->n - away) ? c->n - away : c->n + away);
    return away ? why : NULL;
}

static void shape(const Case *c, Buffers *b)
{
    const size_t bytes = precision_bytes(c->precision);
    b->in_bytes[0] = c->n * columns(c->variant) * bytes;
    b->in_bytes[1] = c->n * bytes;
    b->out_bytes = gp_likelihood_count(c->variant) * bytes;
    b->workspace_bytes = c->n * c->n * bytes;   /* K, its factor and its inverse, in one place */
}

/* Workers get the synthetic kernel's; those of co2 they write as their users would. */
static size_t parameters(const Case *c, Parameter *out)
{
    out[0] = (Parameter){ "d", (double)columns(c->variant) };
    out[1] = (Parameter){ "variance", synthetic[0] };
    out[2] = (Parameter){ "length", FIRST_LENGTH };
    out[3] = (Parameter){ "length_step", LENGTH_STEP };
    out[4] = (Parameter){ "noise", gp_likelihood_noise(c->variant) };
    return 5;
}

static GpStatus fill(const Case *c, const Buffers *b) { return gp_predict_fill(c, b->in[0], b->in[1]); }

/* ---- the exact answer and its distance ---- */

static size_t reference_size(const Case *c)
{
    (void)c;
    return 2 * GP_LIKELIHOOD_MOST;   /* the values, then what rounding may do to each */
}

static GpStatus widen(long double **out, const void *x, size_t count, Precision p)
{
    GpStatus status = memory_alloc_uninitialised(out, count, sizeof **out, "gp likelihood: inputs in long double");
    for (size_t i = 0; status == GP_OK && i < count; i++) (*out)[i] = (long double)element(x, i, p);
    return status;
}

static GpStatus reference(const Case *c, const Buffers *b, double *expected)
{
    GpStatus status = GP_OK;
    size_t g[GP_PREDICT_D], *order = NULL;
    long double *x = NULL, *y = NULL;
    GpLikelihoodAnswer a = { .value = { 0 } };
    TRY(widen(&x, b->in[0], c->n * columns(c->variant), c->precision));
    TRY(widen(&y, b->in[1], c->n, c->precision));
    if (c->variant == GP_LIKELIHOOD_CO2) {
        TRY(gp_likelihood_dense(c->variant, co2, c->n, x, y, &a));
    } else {
        TRY(gp_predict_order(c, &order));
        (void)gp_predict_grid(c->n, g);
        TRY(gp_likelihood_product(synthetic, c->n, x, y, g, order, &a));
    }
    memcpy(expected, a.value, sizeof a.value);
    memcpy(expected + GP_LIKELIHOOD_MOST, a.rounding, sizeof a.rounding);
cleanup:
    memory_free(x);
    memory_free(y);
    memory_free(order);
    return status;
}

/* Relative change of the likelihood that rounding can explain: the sizes of reference.inc are what independent roundings typically add up to,
 * in units of eps = 2u; 4 pays for the constants that the derivation leaves out. */
static double tolerance(const Case *c, const Buffers *b, const double *expected)
{
    (void)b;
    return 4 * precision_epsilon(c->precision) * expected[GP_LIKELIHOOD_MOST] / fabs(expected[0]);
}

static double error(const Case *c, const Buffers *b, const double *expected)
{
    const double *size = expected + GP_LIKELIHOOD_MOST;
    double largest = 0;
    for (size_t i = 0; i < gp_likelihood_count(c->variant); i++) {
        const double distance = fabs(element(b->out, i, c->precision) - expected[i]) * size[0] / size[i];
        if (!(distance <= largest)) largest = distance;   /* a NaN stays */
        if (isnan(largest)) return NAN;
    }
    return largest / fabs(expected[0]);
}

/* n^3/3 for the factor, twice that for the inverse; a covariance takes 3 d + 1 operations, and its derivatives as many again. */
static Work work(const Case *c)
{
    const double n = (double)c->n, d = (double)columns(c->variant);
    return (Work){ .flops = n * n * n + n * n * (3 * d + 1) + 4 * n * n, .bytes = (n * d + n) * (double)precision_bytes(c->precision) };
}

static const char *const variants[] = { "synthetic", "co2", NULL };

const Problem gp_likelihood_problem = {
    .title = "GP likelihood and gradient", .n_means = "training points", .variants = variants, .checks = 1, .sizes = sizes,
    .refuse = refuse, .shape = shape, .parameters = parameters, .fill = fill, .reference_size = reference_size, .reference = reference,
    .error = error, .tolerance = tolerance, .work = work,
};

#include "lessons/12_gp_likelihood/reference.inc"
