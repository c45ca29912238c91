/* Exact Gaussian-process regression on any backend: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
 * algorithm 2.1. The steps stand here once: plan the memory, check the data, K = L L', alpha = L' \ (L \ y), predict in chunks.
 * Every number is computed by the backend's primitives (backend.h); the host checks, converts, centres and reports. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/mean.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double log_2_pi = 1.8378770664093454835606594728112;

static size_t targets_of(const GpData *data) { return data->targets ? data->targets : 1; }

static double epsilon_of(const GpContext *c) { return c->precision == GP_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

double gp_model_epsilon(const GpModel *m) { return epsilon_of(m->context); }

size_t gp_model_element(const GpModel *m) { return m->context->precision == GP_F64 ? sizeof(double) : sizeof(float); }

static double smallest_of(const GpContext *c) { return c->precision == GP_F64 ? DBL_MIN : (double)FLT_MIN; }

static double largest_of(const GpContext *c) { return c->precision == GP_F64 ? DBL_MAX : (double)FLT_MAX; }

static const char *precision_name(const GpContext *c) { return c->precision == GP_F64 ? "float64" : "float32"; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

GpFitOptions gp_fit_defaults(GpPrecision precision)
{
    return (GpFitOptions){ .noise_variance = 0, .max_jitter = precision == GP_F64 ? 1e-6 : 1e-4, .normalise_y = 0 };
}

/* ---- the prior ---- */

/* k(x, x) of row i of x, column-major; `same`: with its white noise, as on the diagonal of K. */
static double prior_variance(const GpExpression *k, const double *x, size_t ldx, size_t i, int same)
{
    double v;
    gp_expression_column_f64(k, 1, x + i, ldx, x + i, ldx, same ? 0 : GP_NO_ROW, &v);
    return v;
}

static double mean_diagonal_of(const GpExpression *k, const GpData *data)
{
    double sum = 0;
    for (size_t i = 0; data->point_noise && i < data->n; i++) sum += data->point_noise[i] / (double)data->n;
    if (gp_expression_is_stationary(k)) return sum + prior_variance(k, data->x, data->ldx, 0, 1);
    for (size_t i = 0; i < data->n; i++) sum += prior_variance(k, data->x, data->ldx, i, 1) / (double)data->n;
    return sum;
}

/* ---- memory plan ---- */

/* Sizes that overflow stay at the largest number: a plan that no machine can meet, not a small one that it seems to. */
static size_t times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static size_t plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* Columns begin on a boundary of 64 bytes in both precisions. */
static size_t leading_dimension(size_t n) { return n > SIZE_MAX - 15 ? SIZE_MAX : (n + 15) / 16 * 16; }

/* Predictions are made this many at a time: k(X, Z) of a chunk takes at most 512 MiB, and at most 4,096 points, beyond which
 * no backend gets faster; at least 32, so that the solve with L stays a matrix product. */
static size_t chunk_points(const GpContext *c, size_t n)
{
    const size_t bytes = (size_t)512 << 20, element = c->precision == GP_F64 ? sizeof(double) : sizeof(float);
    const size_t fitting = bytes / element / n;
    return fitting > 4096 ? 4096 : fitting < 32 ? 32 : fitting;
}

size_t gp_memory_needed(const GpContext *c, size_t n, size_t d)
{
    const size_t element = c->precision == GP_F64 ? sizeof(double) : sizeof(float);
    if (n == 0) return 0;
    const size_t chunk = chunk_points(c, n);
    size_t elements = times(n, leading_dimension(n));             /* factor        */
    elements = plus(elements, times(n, plus(d, 1)));              /* x, alpha      */
    elements = plus(elements, times(chunk, plus(n, plus(d, 2)))); /* one chunk     */
    const size_t bytes = times(elements, element);
    /* a backend need not survive being asked about sizes that can't exist */
    return bytes > SIZE_MAX / 4 ? SIZE_MAX : plus(bytes, c->backend->factor_workspace(c, n));
}

size_t gp_largest_n(const GpContext *c, size_t d, size_t bytes)
{
    size_t fits = 0, too_large = (size_t)1 << 32;
    while (too_large - fits > 1) {
        const size_t middle = fits + (too_large - fits) / 2;
        if (gp_memory_needed(c, middle, d) <= bytes) fits = middle;
        else too_large = middle;
    }
    return fits;
}

static GpStatus check_memory(GpContext *c, size_t n, size_t d)
{
    GpStatus status = GP_OK;
    const size_t needed = gp_memory_needed(c, n, d);
    size_t available = 0;
    TRY(c->backend->memory_free(c, &available));
    if (available > 0 && needed > available) /* 0: the system doesn't say */
        return fail(GP_NO_MEMORY,
                    "gp_fit: n = %zu in %s on %s needs %.4g GB (%zu bytes), %.4g GB (%zu bytes) are free; the largest n that fits is %zu",
                    n, precision_name(c), c->backend->name, (double)needed / 1e9, needed, (double)available / 1e9, available,
                    gp_largest_n(c, d, available));
cleanup:
    return status;
}

/* ---- checks ---- */

static GpStatus check_arguments(const GpContext *c, const GpKernel *k, const GpData *data, const GpFitOptions *o)
{
    if (!c || !k || !data) return fail(GP_BAD_ARGUMENT, "gp_fit: context, kernel or data is NULL");
    if (!data->x || !data->y) return fail(GP_BAD_ARGUMENT, "gp_fit: %s is NULL", data->x ? "y" : "x");
    if (data->n == 0) return fail(GP_BAD_ARGUMENT, "gp_fit: n is 0; give at least one point");
    if (data->d == 0 || data->d > GP_MAX_DIMENSIONS)
        return fail(GP_BAD_ARGUMENT, "gp_fit: d is %zu, it must be from 1 to %d; leave out dimensions", data->d, GP_MAX_DIMENSIONS);
    if (data->d != gp_kernel_dimensions(k))
        return fail(GP_BAD_ARGUMENT, "gp_fit: x has %zu dimensions and the kernel %zu; give one length for each", data->d,
                    gp_kernel_dimensions(k));
    if (data->ldx < data->n) return fail(GP_BAD_ARGUMENT, "gp_fit: ldx is %zu, less than n = %zu; x is column-major", data->ldx, data->n);
    if (!(o->noise_variance >= 0 && isfinite(o->noise_variance)))
        return fail(GP_BAD_ARGUMENT, "gp_fit: noise_variance is %g; it must be finite and not negative", o->noise_variance);
    if (o->mean != GP_MEAN_ZERO && o->mean != GP_MEAN_CONSTANT && o->mean != GP_MEAN_LINEAR)
        return fail(GP_BAD_ARGUMENT, "gp_fit: mean is %d; it is one of GP_MEAN_ZERO, GP_MEAN_CONSTANT, GP_MEAN_LINEAR", (int)o->mean);
    if (!(o->max_jitter >= 0 && isfinite(o->max_jitter)))
        return fail(GP_BAD_ARGUMENT, "gp_fit: max_jitter is %g; it must be finite and not negative", o->max_jitter);
    return GP_OK;
}

/* Parameters that float32 would turn into 0 or infinity, they or their inverse, would come back as NaN without a word. `variance`: what
 * the kernel puts on the diagonal. */
static GpStatus check_range(const GpContext *c, const GpExpression *k, double variance, double noise)
{
    const double low = smallest_of(c), high = largest_of(c);
    for (int i = 0; i < k->parameters; i++) {
        const double value = k->parameter[i].value;
        char name[48];
        gp_expression_name(k, i, name, sizeof name);
        const int divides = strstr(name, "length") || strstr(name, "period") || strstr(name, "alpha");
        if (!(value >= low && value <= high) || (divides && !(1 / value >= low && 1 / value <= high)))
            return fail(GP_BAD_ARGUMENT, "gp_fit: %s = %g%s is outside %s (%.3g to %.3g); rescale %s", name, value,
                        divides ? " or its inverse" : "", precision_name(c), low, high, divides ? "x" : "y");
    }
    if (!(variance + noise <= high))
        return fail(GP_BAD_ARGUMENT, "gp_fit: variance %g + noise %g is outside %s (at most %.3g); rescale y", variance, noise,
                    precision_name(c), high);
    return GP_OK;
}

GpStatus gp_check_points(const char *where, size_t n, size_t d, const double *x, size_t ldx)
{
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < n; i++)
            if (!isfinite(x[i + j * ldx]))
                return fail(GP_BAD_DATA, "%s: x at row %zu, column %zu (from 0) is %g; remove the point or fill it in", where, i, j,
                            x[i + j * ldx]);
    return GP_OK;
}

/* ---- preparing the data ---- */

static double mean_of(size_t n, const double *v)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += v[i] / (double)n; /* the sum of large values would overflow */
    return mean;
}

/* A constant y is recognised by comparing, not by its deviation, which rounding makes tiny instead of zero. */
static void mean_and_deviation(size_t n, const double *y, double *mean, double *deviation)
{
    double largest = 0, sum = 0, low = y[0], high = y[0];
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    *mean = low == high ? low : mean_of(n, y);
    *deviation = 1;
    if (low == high) return;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i] - *mean));
    for (size_t i = 0; i < n; i++) sum += (y[i] - *mean) / largest * ((y[i] - *mean) / largest);
    *deviation = largest * sqrt(sum / (double)n);
}

static void pack(double *to, size_t n, size_t d, const double *x, size_t ldx, const double *centre)
{
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < n; i++) to[i + j * n] = x[i + j * ldx] - centre[j];
}

void gp_model_pack(const GpModel *m, size_t first, size_t count, const double *x, size_t ldx, double *to)
{
    pack(to, count, m->d, x + first, ldx, m->centre);
}

static GpStatus upload_points(GpModel *m, const GpData *data)
{
    GpStatus status = GP_OK;
    double *host = NULL;
    TRY(memory_alloc_uninitialised(&host, data->n, data->d * sizeof *host, "copy of x"));
    /* Where only differences matter, the arithmetic gets the digits in which the points differ: in float32, years around 2,000 keep
     * their days. */
    for (size_t j = 0; j < data->d && gp_expression_is_stationary(&m->kernel); j++)
        m->centre[j] = mean_of(data->n, data->x + j * data->ldx);
    pack(host, data->n, data->d, data->x, data->ldx, m->centre);
    TRY(m->context->backend->upload(m->context, m->x, host, data->n * data->d));
cleanup:
    memory_free(host);
    return status;
}

static GpStatus upload_targets(GpModel *m, const GpData *data)
{
    const double largest = largest_of(m->context);
    for (size_t i = 0; i < m->n * m->targets; i++) {
        m->y[i] = (data->y[i] - m->y_mean[i / m->n]) / m->y_scale[i / m->n];
        if (!(fabs(m->y[i]) <= largest))
            return fail(GP_BAD_DATA, "gp_fit: y[%zu] = %g is outside %s; rescale y or set normalise_y", i, data->y[i],
                        precision_name(m->context));
    }
    return m->context->backend->upload(m->context, m->alpha, m->y, m->n * m->targets);
}

/* alpha is downloaded once: to see that it is finite, and for y' alpha in double. */
static GpStatus finish_weights(GpModel *m)
{
    GpStatus status = GP_OK;
    double *alpha = NULL;
    TRY(memory_alloc_uninitialised(&alpha, m->n, m->targets * sizeof *alpha, "copy of alpha"));
    TRY(m->context->backend->download(m->context, alpha, m->alpha, m->n * m->targets));
    m->quadratic = 0;
    for (size_t i = 0; i < m->n * m->targets; i++) {
        if (!isfinite(alpha[i])) {
            status = fail(GP_BAD_DATA, "gp_fit: weight %zu overflows %s; rescale y, set normalise_y or add noise", i,
                          precision_name(m->context));
            goto cleanup;
        }
        m->quadratic += m->y[i] * alpha[i];
    }
cleanup:
    memory_free(alpha);
    return status;
}

/* ---- the factor ---- */

/* A pivot fails because its row is, to rounding, a combination of rows before it; usually of one that lies very near. `scale` of each
 * column: 1 / length of an rbf, 1 for any other kernel. */
static size_t nearest_before(size_t n, size_t d, const double *x, const double *scale, size_t row, double *distance)
{
    double nearest = INFINITY;
    size_t neighbour = 0;
    for (size_t i = 0; i < row; i++) {
        double sum = 0;
        for (size_t t = 0; t < d; t++) {
            const double difference = (x[i + t * n] - x[row + t * n]) * scale[t];
            sum += difference * difference;
        }
        if (sum < nearest) {
            nearest = sum;
            neighbour = i;
        }
    }
    *distance = sqrt(nearest);
    return neighbour;
}

static GpStatus fail_at_row(GpContext *c, const GpExpression *k, size_t n, const void *x, size_t row, double jitter)
{
    GpStatus status = GP_OK;
    GpRbf scale = { .d = 0 };
    double *host = NULL, distance = 0;
    const size_t d = (size_t)k->d;
    const int is_rbf = gp_expression_is_rbf(k, &scale);
    for (size_t t = 0; t < d && !is_rbf; t++) scale.inverse_length[t] = 1;
    TRY(memory_alloc_uninitialised(&host, n, d * sizeof *host, "copy of x"));
    TRY(c->backend->download(c, host, x, n * d));
    const size_t neighbour = nearest_before(n, d, host, scale.inverse_length, row, &distance);
    if (row == 0)
        status =
            fail(GP_NOT_POSITIVE_DEFINITE, "gp_fit: row 0 has a variance that is not positive with jitter %g; check the kernel", jitter);
    else
        status = fail(GP_NOT_POSITIVE_DEFINITE,
                      "gp_fit: K is not positive definite at row %zu (from 0) with jitter %g; its nearest duplicate is row %zu, %g%s away; "
                      "remove one of them, add noise or raise max_jitter",
                      row, jitter, neighbour, distance, is_rbf ? " length scales" : "");
cleanup:
    memory_free(host);
    return status;
}

GpStatus gp_device_fit(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *point_noise, double mean_diagonal,
                       const GpFitOptions *o, void *K, size_t ld, size_t targets, void *alpha, double *jitter)
{
    const GpBackend *b = c->backend;
    double relative = 0;
    size_t failed_row = 0;
    GpStatus status = GP_OK;
    for (;;) {
        *jitter = relative * mean_diagonal;
        TRY(b->covariance(c, k, n, x, o->noise_variance + *jitter, GP_LOWER, K, ld));
        if (point_noise) TRY(b->add_diagonal(c, n, point_noise, K, ld));
        TRY(b->factor(c, n, K, ld, &failed_row));
        if (failed_row == 0) break;
        if (relative >= o->max_jitter) return fail_at_row(c, k, n, x, failed_row - 1, *jitter);
        relative = fmin(relative == 0 ? 10 * epsilon_of(c) : 10 * relative, o->max_jitter);
    }
    TRY(b->solve(c, n, K, ld, 0, targets, alpha, n));
    TRY(b->solve(c, n, K, ld, 1, targets, alpha, n));
cleanup:
    return status;
}

static GpStatus allocate_model(GpModel *m, int has_point_noise)
{
    const GpBackend *b = m->context->backend;
    GpStatus status = GP_OK;
    TRY(b->alloc(m->context, &m->x, m->n * m->d, "training points"));
    TRY(b->alloc(m->context, &m->alpha, m->n * m->targets, "weights"));
    TRY(b->alloc(m->context, &m->factor, m->n * m->ld, "covariance matrix"));
    if (has_point_noise) TRY(b->alloc(m->context, &m->point_noise, m->n, "noise of each point"));
cleanup:
    return status;
}

/* What each target is centred on and scaled by. */
static GpStatus choose_units(GpModel *m, const GpData *data, const GpFitOptions *o)
{
    GpStatus status = GP_OK;
    TRY(memory_alloc(&m->y, m->n, m->targets * sizeof *m->y, "copy of y"));
    TRY(memory_alloc(&m->y_mean, m->targets, sizeof *m->y_mean, "means of y"));
    TRY(memory_alloc(&m->y_scale, m->targets, sizeof *m->y_scale, "scales of y"));
    for (size_t s = 0; s < m->targets; s++) {
        const double *y = data->y + s * m->n;
        m->y_scale[s] = 1;
        if (o->normalise_y) mean_and_deviation(m->n, y, &m->y_mean[s], &m->y_scale[s]);
        else if (o->mean != GP_MEAN_ZERO) m->y_mean[s] = mean_of(m->n, y);   /* the mean finds the rest of it */
    }
cleanup:
    return status;
}

static GpStatus check_values(const GpContext *c, const GpData *data)
{
    for (size_t i = 0; i < data->n * targets_of(data); i++)
        if (!isfinite(data->y[i]))
            return i < data->n
                       ? fail(GP_BAD_DATA, "gp_fit: y[%zu] (from 0) is %g; remove the point or fill it in", i, data->y[i])
                       : fail(GP_BAD_DATA, "gp_fit: y[%zu] of target %zu (from 0) is %g; remove the point or fill it in", i % data->n,
                              i / data->n, data->y[i]);
    for (size_t i = 0; data->point_noise && i < data->n; i++)
        if (!(data->point_noise[i] >= 0 && data->point_noise[i] <= largest_of(c)))
            return fail(GP_BAD_DATA, "gp_fit: point_noise[%zu] (from 0) is %g; a variance is finite and not negative", i, data->point_noise[i]);
    return GP_OK;
}

GpStatus gp_model_create(GpModel **out, GpContext *c, const GpKernel *k, const GpData *data, const GpFitOptions *o)
{
    GpStatus status = GP_OK;
    GpModel *m = NULL;
    TRY(check_arguments(c, k, data, o));
    TRY(check_memory(c, data->n, data->d + targets_of(data) - 1));   /* a target is as long as a column of x, there and in predictions */
    TRY(gp_check_points("gp_fit", data->n, data->d, data->x, data->ldx));
    TRY(check_values(c, data));
    TRY(memory_alloc(&m, 1, sizeof *m, "model"));
    m->context = c;
    m->kernel = k->expression;
    m->n = data->n;
    m->d = data->d;
    m->ld = leading_dimension(data->n);
    m->targets = targets_of(data);
    TRY(choose_units(m, data, o));
    TRY(gp_mean_create(m, data, o->mean));
    TRY(allocate_model(m, data->point_noise != NULL));
    TRY(upload_points(m, data));
    if (data->point_noise) TRY(c->backend->upload(c, m->point_noise, data->point_noise, m->n));
    *out = m;
cleanup:
    if (status != GP_OK) gp_model_destroy(m);
    return status;
}

GpStatus gp_model_refit(GpModel *m, const GpData *data, const GpFitOptions *o)
{
    GpStatus status = GP_OK;
    const double with_white = prior_variance(&m->kernel, data->x, data->ldx, 0, 1);
    m->noise = o->noise_variance + with_white - prior_variance(&m->kernel, data->x, data->ldx, 0, 0);
    TRY(check_range(m->context, &m->kernel, with_white, o->noise_variance));
    TRY(upload_targets(m, data));
    TRY(gp_device_fit(m->context, &m->kernel, m->n, m->x, m->point_noise, mean_diagonal_of(&m->kernel, data) + o->noise_variance, o,
                      m->factor, m->ld, m->targets, m->alpha, &m->jitter));
    if (m->mean_state) TRY(gp_mean_estimate(m));
    TRY(finish_weights(m));
cleanup:
    return status;
}

GpStatus gp_fit(GpModel **out, GpContext *c, const GpKernel *k, const GpData *data, const GpFitOptions *options)
{
    GpStatus status = GP_OK;
    GpModel *m = NULL;
    if (!out) return fail(GP_BAD_ARGUMENT, "gp_fit: out is NULL");
    *out = NULL;
    const GpFitOptions o = options ? *options : gp_fit_defaults(c ? c->precision : GP_F64);
    TRY(gp_model_create(&m, c, k, data, &o));
    TRY(gp_model_refit(m, data, &o));
    *out = m;
    m = NULL;
cleanup:
    gp_model_destroy(m);
    return status;
}

double gp_model_jitter(const GpModel *m) { return m->jitter; }

size_t gp_model_targets(const GpModel *m) { return m->targets; }

GpStatus gp_log_marginal_likelihood(GpModel *m, double *lml)
{
    GpStatus status = GP_OK;
    double log_determinant = 0;
    if (!m || !lml) return fail(GP_BAD_ARGUMENT, "gp_log_marginal_likelihood: model or lml is NULL");
    TRY(m->context->backend->log_determinant(m->context, m->n, m->factor, m->ld, &log_determinant));
    *lml = -0.5 * (m->quadratic + (double)m->targets * (log_determinant + (double)m->n * log_2_pi));
cleanup:
    return status;
}

GpStatus gp_model_gradient(GpModel *m, void *matrix, double noise_variance, double *gradient, double *of_noise)
{
    GpStatus status = GP_OK;
    const GpBackend *b = m->context->backend;
    const size_t column = m->n * gp_model_element(m);
    double diagonal = 0, of_target[GP_MAX_PARAMETERS];
    memset(gradient, 0, (size_t)m->kernel.parameters * sizeof *gradient);
    *of_noise = 0;
    TRY(b->inverse(m->context, m->n, matrix, m->ld));
    for (size_t s = 0; s < m->targets; s++) {   /* a pass over the pairs for each: n^2 beside the n^3 of the inverse */
        const char *alpha = (const char *)m->alpha + s * column;
        TRY(b->gradient(m->context, &m->kernel, m->n, m->x, matrix, m->ld, alpha, of_target, &diagonal));
        for (int p = 0; p < m->kernel.parameters; p++) gradient[p] += of_target[p];
        *of_noise += noise_variance * diagonal;
    }
cleanup:
    return status;
}

GpStatus gp_log_marginal_likelihood_gradient(GpModel *m, double noise_variance, double *gradient, double *of_noise)
{
    GpStatus status = GP_OK;
    void *copy = NULL;
    double ignored;
    if (!m || !gradient) return fail(GP_BAD_ARGUMENT, "gp_log_marginal_likelihood_gradient: model or gradient is NULL");
    TRY(m->context->backend->alloc(m->context, &copy, m->n * m->ld, "copy of the factor"));
    TRY(m->context->backend->copy(m->context, copy, m->factor, m->n * m->ld));
    TRY(gp_model_gradient(m, copy, noise_variance, gradient, of_noise ? of_noise : &ignored));
cleanup:
    if (m) m->context->backend->release(m->context, copy);
    return status;
}

/* ---- prediction ---- */

GpStatus gp_device_predict(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *L, size_t ld, size_t targets,
                           const void *alpha, size_t m, const void *z, size_t ldz, void *work, void *mean, void *explained)
{
    const GpBackend *b = c->backend;
    const size_t element = c->precision == GP_F64 ? sizeof(double) : sizeof(float);
    GpStatus status = GP_OK;
    TRY(b->cross_covariance(c, k, n, x, m, z, ldz, work, n));
    for (size_t s = 0; s < targets; s++)
        TRY(b->transposed_product(c, n, m, work, n, (const char *)alpha + s * n * element, (char *)mean + s * m * element));
    if (!explained) return GP_OK;
    TRY(b->solve(c, n, L, ld, 0, m, work, n));
    TRY(b->column_norms(c, n, m, work, n, explained));
cleanup:
    return status;
}

static void release_room(GpModel *m)
{
    const GpBackend *b = m->context->backend;
    b->release(m->context, m->z);
    b->release(m->context, m->work);
    b->release(m->context, m->mean);
    b->release(m->context, m->explained);
    m->z = m->work = m->mean = m->explained = NULL;
    m->room = 0;
}

/* Kept from one call to the next: allocating on a GPU waits for the device. */
static GpStatus make_room(GpModel *m, size_t points)
{
    const GpBackend *b = m->context->backend;
    GpStatus status = GP_OK;
    if (points <= m->room) return GP_OK;
    release_room(m);
    TRY(b->alloc(m->context, &m->z, points * m->d, "prediction points"));
    TRY(b->alloc(m->context, &m->work, points * m->n, "covariance with the prediction points"));
    TRY(b->alloc(m->context, &m->mean, points * m->targets, "means"));
    TRY(b->alloc(m->context, &m->explained, points, "explained variances"));
    m->room = points;
cleanup:
    if (status != GP_OK) release_room(m);
    return status;
}

/* How far |L \ k|^2 can rise above k(z, z) by rounding: the factor is that of K + E, |E| <= n (d + 8) eps k(z, z) (entries to
 * (d + 8) eps; Higham, Accuracy and Stability of Numerical Algorithms, 2002, theorem 10.3, without its pessimistic second n), and
 * E enters as w' E w with w = K^-1 k, |w|^2 <= k(z, z) / (noise + jitter). Never more than k(z, z) itself: that is no variance. */
static double rounding_bound(const GpModel *m, double v)
{
    const double least = m->noise + m->jitter;
    const double relative = epsilon_of(m->context) * (double)m->n * (double)(m->d + 8);
    return v * (least > 0 ? fmin(1, relative * (1 + v / least)) : 1);
}

/* explained[] becomes the variance, in place, in the units of the fitted y; z: the points, centred, count x d. */
static GpStatus finish_variances(const GpModel *m, size_t first, size_t count, const double *z, double *variance, size_t *clamped)
{
    const int constant = gp_expression_is_stationary(&m->kernel);
    double prior = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !constant) prior = prior_variance(&m->kernel, z, count, i, 0);
        const double latent = prior - variance[i], bound = rounding_bound(m, prior);
        if (!(latent >= -bound))
            return fail(GP_NOT_POSITIVE_DEFINITE,
                        "gp_predict: the variance at point %zu is %g, and rounding explains no more than %g; add noise", first + i, latent,
                        -bound);
        if (latent < 0) (*clamped)++;
        variance[i] = fmax(latent, 0);
    }
    return GP_OK;
}

void gp_model_restore_means(const GpModel *m, const double *z, size_t count, double *mean)
{
    for (size_t s = 0; s < m->targets; s++)
        for (size_t i = 0; i < count; i++) {
            double *f = &mean[i + s * count];
            *f = m->y_mean[s] + m->y_scale[s] * (*f + gp_mean_at(m, s, z, count, i));
        }
}

static GpStatus add_uncertainty_of_mean(GpModel *m, size_t count, const double *host, double *variance)
{
    GpStatus status = GP_OK;
    const size_t q = m->mean_state->q;
    double *s = NULL;
    TRY(memory_alloc_uninitialised(&s, count, q * sizeof *s, "uncertainty of the mean"));
    TRY(gp_mean_uncertainty(m, count, host, m->z, m->work, m->mean, s));
    for (size_t i = 0; i < count * q; i++) variance[i / q] += s[i] * s[i];
cleanup:
    memory_free(s);
    return status;
}

/* Points first .. first + count of the caller's arrays, which have `all` points. `host` holds count x d, `means` count x targets. */
static GpStatus predict_chunk(GpModel *m, size_t first, size_t count, size_t all, const double *x, size_t ldx, double *host, double *means,
                              double *mean, double *variance, size_t *clamped)
{
    GpContext *c = m->context;
    GpStatus status = GP_OK;
    gp_model_pack(m, first, count, x, ldx, host);
    TRY(c->backend->upload(c, m->z, host, count * m->d));
    TRY(gp_device_predict(c, &m->kernel, m->n, m->x, m->factor, m->ld, m->targets, m->alpha, count, m->z, count, m->work, m->mean,
                          variance ? m->explained : NULL));
    TRY(c->backend->download(c, means, m->mean, count * m->targets));
    gp_model_restore_means(m, host, count, means);
    for (size_t s = 0; s < m->targets; s++) memcpy(mean + first + s * all, means + s * count, count * sizeof *mean);
    if (!variance) return GP_OK;
    TRY(c->backend->download(c, variance + first, m->explained, count));
    TRY(finish_variances(m, first, count, host, variance + first, clamped));
    if (m->mean_state) TRY(add_uncertainty_of_mean(m, count, host, variance + first));
    for (size_t s = m->targets; s-- > 0;)   /* the first last: the others are made from it */
        for (size_t i = first; i < first + count; i++) variance[i + s * all] = variance[i] * m->y_scale[s] * m->y_scale[s];
cleanup:
    return status;
}

GpStatus gp_predict(GpModel *m, size_t count, const double *x, size_t ldx, double *mean, double *variance, size_t *clamped)
{
    GpStatus status = GP_OK;
    double *host = NULL, *means = NULL;
    size_t below_zero = 0;
    if (clamped) *clamped = 0;
    if (!m) return fail(GP_BAD_ARGUMENT, "gp_predict: model is NULL");
    if (count == 0) return GP_OK;
    if (!x || !mean) return fail(GP_BAD_ARGUMENT, "gp_predict: %s is NULL", x ? "mean" : "x");
    if (ldx < count) return fail(GP_BAD_ARGUMENT, "gp_predict: ldx is %zu, less than count = %zu; x is column-major", ldx, count);
    TRY(gp_check_points("gp_predict", count, m->d, x, ldx));

    const size_t chunk = smaller(count, chunk_points(m->context, m->n));
    TRY(memory_alloc_uninitialised(&host, chunk, m->d * sizeof *host, "copy of the prediction points"));
    TRY(memory_alloc_uninitialised(&means, chunk, m->targets * sizeof *means, "means"));
    TRY(make_room(m, chunk));
    for (size_t first = 0; first < count; first += chunk)
        TRY(predict_chunk(m, first, smaller(chunk, count - first), count, x, ldx, host, means, mean, variance, &below_zero));
    if (clamped) *clamped = below_zero;
cleanup:
    memory_free(host);
    memory_free(means);
    return status;
}

void gp_model_destroy(GpModel *m)
{
    if (!m) return;
    release_room(m);
    m->context->backend->release(m->context, m->x);
    m->context->backend->release(m->context, m->alpha);
    m->context->backend->release(m->context, m->factor);
    m->context->backend->release(m->context, m->point_noise);
    gp_mean_destroy(m);
    memory_free(m->y);
    memory_free(m->y_mean);
    memory_free(m->y_scale);
    memory_free(m);
}
