/* Gaussian-process regression: fit n points, predict mean and variance at m = 1000 others (Rasmussen and Williams, Gaussian
 * Processes for Machine Learning, 2006, algorithm 2.1). Inputs: X (n x d, column-major), y (n), Z (m x d). Output: m means, then m
 * variances of the latent function, k(z, z) - k(z, X) (K + noise I)^-1 k(X, z), not clamped at zero. The hyperparameters are given.
 *   synthetic: d = 8. The points are a product grid with random coordinates in random order, so that an independent exact reference
 *              is cheap at every n (reference.inc). Approaches get points like any others. A grid needs an n without a prime factor
 *              above 64; other n are random points, up to 2048.
 *   co2:       the 521 monthly means of Mauna Loa (gp/data/README.md) in random order, t and y centred; Z are random times from
 *              1958 to 2010, eight years beyond the data.
 *
 * Error: ||mean - reference|| / ||reference|| over the m points, or the same of the variances brought to the scale of the means
 * (multiplied by the ratio of what rounding may do to each), whichever is larger. */
#include "lessons/11_gp_predict/problem.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_DENSE = 2048 };
enum { POINTS, ORDER, NOISE, TESTS, COORDINATES };   /* streams of random numbers; COORDINATES + j for dimension j */
#define CO2_FILE "gp/data/co2.csv"
static const double CO2_FROM = 1958, CO2_TO = 2010, CO2_CENTRE = 1980;
static const size_t LARGEST_N = (size_t)1 << 28;   /* n * n * 8 bytes still fits a size_t */

/* co2: the maximum of the marginal likelihood of these 521 points for this model (Nelder-Mead from 24 starts; ppmv^2, years, ppmv^2):
 * -log p = 710.61. The short length follows the seasons. */
GpPredictModel gp_predict_model(int variant)
{
    return variant == GP_PREDICT_CO2 ? (GpPredictModel){ .d = 1, .variance = 167.93, .length = 0.29481, .noise = 0.05078 }
                                     : (GpPredictModel){ .d = GP_PREDICT_D, .variance = 1, .length = 1, .noise = 0.1 };
}

static const size_t *sizes(int variant, int full)
{
    static const size_t co2[] = { GP_PREDICT_CO2_N, 0 }, quick[] = { 500, 1000, 2000, 0 };
    static const size_t all[] = { 500, 1000, 2000, 4000, 10000, 20000, 40000, 0 };
    return variant == GP_PREDICT_CO2 ? co2 : full ? all : quick;
}

/* Primes from the largest down, each to the smallest factor so far. */
int gp_predict_grid(size_t n, size_t g[GP_PREDICT_D])
{
    size_t prime[64], primes = 0;
    int small = 1;
    for (size_t j = 0; j < GP_PREDICT_D; j++) g[j] = 1;
    for (size_t p = 2; n > 1; p++) {
        if (p * p > n) p = n;
        for (; n % p == 0; n /= p) prime[primes++] = p;
    }
    while (primes > 0) {
        size_t smallest = 0;
        for (size_t j = 1; j < GP_PREDICT_D; j++)
            if (g[j] < g[smallest]) smallest = j;
        g[smallest] *= prime[--primes];
    }
    for (size_t j = 0; j < GP_PREDICT_D; j++) small = small && g[j] <= GP_PREDICT_FACTOR;
    return small;
}

static int synthetic_possible(size_t n)
{
    size_t g[GP_PREDICT_D];
    return n >= 1 && (n <= LARGEST_DENSE || gp_predict_grid(n, g));
}

static const char *refuse(const Case *c)
{
    static _Thread_local char why[160];
    size_t away = 0;
    if (c->variant == GP_PREDICT_CO2) {
        snprintf(why, sizeof why, "the co2 data have %d months; ask for n = %d", GP_PREDICT_CO2_N, GP_PREDICT_CO2_N);
        return c->n == GP_PREDICT_CO2_N ? NULL : why;
    }
    if (c->n > LARGEST_N) return "the matrix has more bytes than any machine has; ask for n of at most 2^28";
    while (!synthetic_possible(c->n - away) && !synthetic_possible(c->n + away)) away++;
    snprintf(why, sizeof why, "n = %zu has a prime factor above %d, for which there is no exact reference; ask for n = %zu", c->n,
             GP_PREDICT_FACTOR, synthetic_possible(c->n - away) ? c->n - away : c->n + away);
    return away ? why : NULL;
}

static void shape(const Case *c, Buffers *b)
{
    const size_t d = gp_predict_model(c->variant).d, bytes = precision_bytes(c->precision);
    b->in_bytes[0] = c->n * d * bytes;
    b->in_bytes[1] = c->n * bytes;
    b->in_bytes[2] = GP_PREDICT_M * d * bytes;
    b->out_bytes = (size_t)2 * GP_PREDICT_M * bytes;
    b->workspace_bytes = (c->n + GP_PREDICT_M) * c->n * bytes;   /* K and k(X, Z) */
}

static size_t parameters(const Case *c, Parameter *out)
{
    const GpPredictModel m = gp_predict_model(c->variant);
    out[0] = (Parameter){ "m", GP_PREDICT_M };
    out[1] = (Parameter){ "d", (double)m.d };
    out[2] = (Parameter){ "variance", m.variance };
    out[3] = (Parameter){ "length", m.length };
    out[4] = (Parameter){ "noise", m.noise };
    return 5;
}

/* ---- inputs ---- */

static void store(void *x, size_t i, Precision p, double value)
{
    if (p == F32) ((float *)x)[i] = (float)value;
    else ((double *)x)[i] = value;
}

GpStatus gp_predict_order(const Case *c, size_t **order)
{
    GpStatus status = memory_alloc(order, c->n, sizeof **order, "gp predict: order of the points");
    if (status == GP_OK) random_permutation(*order, c->n, c->seed, ORDER);
    return status;
}

/* Row r of X is point order[r] of the grid; index j of point p is p / (g[0] .. g[j-1]) mod g[j]. Without a grid the points are random. */
static GpStatus fill_synthetic(const Case *c, void *x, void *y)
{
    GpStatus status = GP_OK;
    size_t g[GP_PREDICT_D], *order = NULL;
    const int grid = gp_predict_grid(c->n, g);
    TRY(gp_predict_order(c, &order));
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < c->n; r++) {
        double sum = 0;
        for (size_t j = 0, rest = order[r]; j < GP_PREDICT_D; rest /= g[j], j++) {
            const double at = grid ? random_uniform(c->seed, COORDINATES + j, rest % g[j])
                                   : random_uniform(c->seed, POINTS, r * GP_PREDICT_D + j);
            store(x, r + j * c->n, c->precision, at);
            sum += at;
        }
        store(y, r, c->precision, sin(sum) + 0.1 * random_normal(c->seed, NOISE, r));
    }
cleanup:
    memory_free(order);
    return status;
}

/* t and co2 of every row: columns 3 and 4 of year,month,t,co2. */
static GpStatus read_co2(double t[GP_PREDICT_CO2_N], double y[GP_PREDICT_CO2_N])
{
    GpStatus status = GP_OK;
    char line[128];
    FILE *f = fopen(CO2_FILE, "r");
    if (!f) return fail(GP_IO, "gp predict: cannot open %s; run from the repository's root", CO2_FILE);
    if (!fgets(line, sizeof line, f) || strcmp(line, "year,month,t,co2\n") != 0)
        status = fail(GP_BAD_DATA, "gp predict: %s, line 1: the header is not year,month,t,co2; restore the file", CO2_FILE);
    for (int i = 0; status == GP_OK && i < GP_PREDICT_CO2_N; i++)
        if (!fgets(line, sizeof line, f) || sscanf(line, "%*d,%*d,%lf,%lf", &t[i], &y[i]) != 2 || !isfinite(t[i]) || !isfinite(y[i]))
            status = fail(GP_BAD_DATA, "gp predict: %s, line %d: not year,month,t,co2 in numbers; restore the file", CO2_FILE, i + 2);
    if (status == GP_OK && fgets(line, sizeof line, f))
        status = fail(GP_BAD_DATA, "gp predict: %s has more than %d rows; restore the file", CO2_FILE, GP_PREDICT_CO2_N);
    fclose(f);
    return status;
}

/* Times are centred so that float32 keeps them to a minute instead of an hour. */
static GpStatus fill_co2(const Case *c, void *x, void *y)
{
    GpStatus status = GP_OK;
    double t[GP_PREDICT_CO2_N], co2[GP_PREDICT_CO2_N], mean = 0;
    size_t *order = NULL;
    TRY(read_co2(t, co2));
    TRY(gp_predict_order(c, &order));
    for (size_t i = 0; i < GP_PREDICT_CO2_N; i++) mean += co2[i] / GP_PREDICT_CO2_N;
    for (size_t r = 0; r < GP_PREDICT_CO2_N; r++) {
        store(x, r, c->precision, t[order[r]] - CO2_CENTRE);
        store(y, r, c->precision, co2[order[r]] - mean);
    }
cleanup:
    memory_free(order);
    return status;
}

GpStatus gp_predict_fill(const Case *c, void *x, void *y)
{
    return c->variant == GP_PREDICT_CO2 ? fill_co2(c, x, y) : fill_synthetic(c, x, y);
}

static GpStatus fill(const Case *c, const Buffers *b)
{
    const size_t count = GP_PREDICT_M * gp_predict_model(c->variant).d;
    for (size_t i = 0; i < count; i++) {
        const double u = random_uniform(c->seed, TESTS, i);
        store(b->in[2], i, c->precision, c->variant == GP_PREDICT_CO2 ? CO2_FROM + (CO2_TO - CO2_FROM) * u - CO2_CENTRE : u);
    }
    return gp_predict_fill(c, b->in[0], b->in[1]);
}

/* ---- the exact answer and its distance ---- */

/* The reference's numbers: m means, m variances, then what rounding may do to each, as a root sum of squares in units of eps. */
enum { MEAN = 0, VARIANCE = GP_PREDICT_M, MEAN_ROUNDING = 2 * GP_PREDICT_M, VARIANCE_ROUNDING, REFERENCE_SIZE };

static size_t reference_size(const Case *c)
{
    (void)c;
    return REFERENCE_SIZE;
}

static GpStatus widen(long double **out, const void *x, size_t count, Precision p)
{
    GpStatus status = memory_alloc_uninitialised(out, count, sizeof **out, "gp predict: inputs in long double");
    for (size_t i = 0; status == GP_OK && i < count; i++) (*out)[i] = (long double)element(x, i, p);
    return status;
}

static GpStatus reference(const Case *c, const Buffers *b, double *expected)
{
    GpStatus status = GP_OK;
    size_t g[GP_PREDICT_D], *order = NULL;
    GpPredictData p = { .model = gp_predict_model(c->variant), .n = c->n, .m = GP_PREDICT_M };
    GpPredictAnswer a = { .mean = expected + MEAN, .variance = expected + VARIANCE };
    TRY(widen(&p.x, b->in[0], p.n * p.model.d, c->precision));
    TRY(widen(&p.y, b->in[1], p.n, c->precision));
    TRY(widen(&p.z, b->in[2], p.m * p.model.d, c->precision));
    TRY(gp_predict_order(c, &order));
    if (c->variant == GP_PREDICT_SYNTHETIC && gp_predict_grid(c->n, g)) TRY(gp_predict_product(&p, g, order, &a));
    else TRY(gp_predict_dense(&p, &a));
    expected[MEAN_ROUNDING] = a.mean_rounding;
    expected[VARIANCE_ROUNDING] = a.variance_rounding;
cleanup:
    memory_free(p.x);
    memory_free(p.y);
    memory_free(p.z);
    memory_free(order);
    return status;
}

static double norm(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* Relative change of the means, or of the variances, that rounding can explain: the sizes of reference.inc in the norm over all m
 * points. Those are what independent roundings typically add up to, in units of eps = 2u; 4 pays for the constants that the
 * derivation leaves out (a solve has errors of its own, K a few u from exp). At n = 1, where nothing averages out, right code has come
 * to 0.26 of it; from n = 500 on the CPU backends stay between 0.008 and 0.05. */
static double rounding(const Case *c, const double *expected, int which, int size)
{
    const double constants = 4;
    return constants * precision_epsilon(c->precision) * expected[size] / norm(expected + which, GP_PREDICT_M);
}

static double tolerance(const Case *c, const Buffers *b, const double *expected)
{
    (void)b;
    return rounding(c, expected, MEAN, MEAN_ROUNDING);
}

static double error(const Case *c, const Buffers *b, const double *expected)
{
    const char *out = b->out;
    const size_t half = GP_PREDICT_M * precision_bytes(c->precision);
    const double mean = relative_error(out, expected + MEAN, GP_PREDICT_M, c->precision);
    const double variance = relative_error(out + half, expected + VARIANCE, GP_PREDICT_M, c->precision);
    const double scale = rounding(c, expected, MEAN, MEAN_ROUNDING) / rounding(c, expected, VARIANCE, VARIANCE_ROUNDING);
    return isfinite(mean) && isfinite(variance) ? fmax(mean, variance * scale) : NAN;
}

/* The lower triangle of K, its factor, two solves for alpha, k(X, Z), the means, L \ k(X, Z) and its column norms; exp counts as 1. */
static Work work(const Case *c)
{
    const double n = (double)c->n, m = GP_PREDICT_M, d = (double)gp_predict_model(c->variant).d;
    const double flops = n * n / 2 * (3 * d + 1) + n * n * n / 3 + 2 * n * n + n * m * (3 * d + 1) + 2 * n * m + n * n * m + 2 * n * m;
    return (Work){ .flops = flops, .bytes = (n * d + n + m * d + 2 * m) * (double)precision_bytes(c->precision) };
}

static const char *const variants[] = { "synthetic", "co2", NULL };

const Problem gp_predict_problem = {
    .title = "GP regression: fit n points, predict 1000", .n_means = "training points", .variants = variants, .checks = 1, .sizes = sizes,
    .refuse = refuse, .shape = shape, .parameters = parameters, .fill = fill, .reference_size = reference_size, .reference = reference,
    .error = error, .tolerance = tolerance, .work = work,
};

#include "lessons/11_gp_predict/product_grid.inc"
#include "lessons/11_gp_predict/reference.inc"
