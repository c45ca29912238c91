#include "gp/mean.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <string.h>

static size_t functions_of(GpMean mean, size_t d) { return mean == GP_MEAN_ZERO ? 0 : mean == GP_MEAN_CONSTANT ? 1 : 1 + d; }

static double function_of(const struct GpMeanState *s, size_t k, double coordinate)
{
    return k == 0 ? 1 : (coordinate - s->centre[k - 1]) / s->scale[k - 1];
}

GpStatus gp_mean_create(GpModel *m, const GpData *data, GpMean mean)
{
    GpStatus status = GP_OK;
    struct GpMeanState *s = NULL;
    const size_t n = data->n, q = functions_of(mean, data->d);
    if (q == 0) return GP_OK;
    if (n < q) return fail(GP_BAD_DATA, "gp_fit: a mean with %zu coefficients needs as many points, there are %zu; choose a simpler mean", q, n);
    TRY(memory_alloc(&s, 1, sizeof *s, "mean function"));
    m->mean_state = s;
    s->q = q;
    for (size_t j = 0; j + 1 < q; j++) {
        const double *column = data->x + j * data->ldx;
        double low = column[0], high = column[0];
        for (size_t i = 0; i < n; i++) {
            low = fmin(low, column[i]);
            high = fmax(high, column[i]);
        }
        s->centre[j] = low / 2 + high / 2;
        s->scale[j] = high / 2 - low / 2;
        if (!(s->scale[j] > 0)) return fail(GP_BAD_DATA, "gp_fit: column %zu (from 0) is constant, and a linear mean can't use it; leave it out", j);
    }
    TRY(memory_alloc(&s->H, n, q * sizeof *s->H, "functions of the mean"));
    TRY(memory_alloc(&s->W, n, q * sizeof *s->W, "weights of the mean"));
    TRY(memory_alloc(&s->trend, n, m->targets * sizeof *s->trend, "the mean at the points"));
    TRY(memory_alloc(&s->beta, q, m->targets * sizeof *s->beta, "coefficients of the mean"));
    TRY(m->context->backend->alloc(m->context, &s->device_W, n * q, "weights of the mean"));
    for (size_t k = 0; k < q; k++)
        for (size_t i = 0; i < n; i++) s->H[i + k * n] = function_of(s, k, k ? data->x[i + (k - 1) * data->ldx] : 0);
cleanup:
    return status;
}

void gp_mean_destroy(GpModel *m)
{
    struct GpMeanState *s = m->mean_state;
    if (!s) return;
    memory_free(s->H);
    memory_free(s->W);
    memory_free(s->trend);
    memory_free(s->beta);
    m->context->backend->release(m->context, s->device_W);
    memory_free(s);
    m->mean_state = NULL;
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* A = R R', in place; a pivot that rounding explains is a function that the others contain. */
static GpStatus factor_small(struct GpMeanState *s, double epsilon, size_t n)
{
    const size_t q = s->q;
    for (size_t j = 0; j < q; j++) {
        const double whole = s->A[j + j * q];
        for (size_t k = 0; k < j; k++) s->A[j + j * q] -= s->A[j + k * q] * s->A[j + k * q];
        if (!(s->A[j + j * q] > 10 * (double)n * epsilon * whole))
            return fail(GP_BAD_DATA, "gp_fit: column %zu (from 0) is a combination of others, and a linear mean can't tell them apart; leave it out",
                        j - (j > 0));
        s->A[j + j * q] = sqrt(s->A[j + j * q]);
        for (size_t i = j + 1; i < q; i++) {
            for (size_t k = 0; k < j; k++) s->A[i + j * q] -= s->A[i + k * q] * s->A[j + k * q];
            s->A[i + j * q] /= s->A[j + j * q];
        }
    }
    return GP_OK;
}

/* v = R \ v */
static void solve_small(const struct GpMeanState *s, double *v)
{
    for (size_t i = 0; i < s->q; i++) {
        for (size_t k = 0; k < i; k++) v[i] -= s->A[i + k * s->q] * v[k];
        v[i] /= s->A[i + i * s->q];
    }
}

/* v = R' \ v */
static void solve_small_transposed(const struct GpMeanState *s, double *v)
{
    for (size_t i = s->q; i-- > 0;) {
        for (size_t k = i + 1; k < s->q; k++) v[i] -= s->A[k + i * s->q] * v[k];
        v[i] /= s->A[i + i * s->q];
    }
}

/* beta = A^-1 W' y of one target; takes the mean out of y and alpha. */
static void estimate_target(struct GpMeanState *s, size_t n, double *y, double *alpha, double *beta, double *trend)
{
    for (size_t k = 0; k < s->q; k++) beta[k] = dot(n, s->W + k * n, y);
    solve_small(s, beta);
    solve_small_transposed(s, beta);
    memset(trend, 0, n * sizeof *trend);
    for (size_t k = 0; k < s->q; k++)
        for (size_t i = 0; i < n; i++) {
            trend[i] += s->H[i + k * n] * beta[k];
            alpha[i] -= s->W[i + k * n] * beta[k];
        }
    for (size_t i = 0; i < n; i++) y[i] -= trend[i];
}

GpStatus gp_mean_estimate(GpModel *m)
{
    GpStatus status = GP_OK;
    struct GpMeanState *s = m->mean_state;
    GpContext *c = m->context;
    const GpBackend *b = c->backend;
    const size_t n = m->n, q = s->q;
    double *alpha = NULL;
    TRY(memory_alloc_uninitialised(&alpha, n, m->targets * sizeof *alpha, "copy of alpha"));
    TRY(b->upload(c, s->device_W, s->H, n * q));
    TRY(b->solve(c, n, m->factor, m->ld, 0, q, s->device_W, n));
    TRY(b->solve(c, n, m->factor, m->ld, 1, q, s->device_W, n));
    TRY(b->download(c, s->W, s->device_W, n * q));
    TRY(b->download(c, alpha, m->alpha, n * m->targets));
    for (size_t k = 0; k < q; k++)
        for (size_t i = k; i < q; i++) s->A[i + k * q] = dot(n, s->H + i * n, s->W + k * n);
    TRY(factor_small(s, gp_model_epsilon(m), n));
    for (size_t t = 0; t < m->targets; t++) estimate_target(s, n, m->y + t * n, alpha + t * n, s->beta + t * q, s->trend + t * n);
    TRY(b->upload(c, m->alpha, alpha, n * m->targets));
cleanup:
    memory_free(alpha);
    return status;
}

double gp_mean_at(const GpModel *m, size_t target, const double *z, size_t count, size_t i)
{
    const struct GpMeanState *s = m->mean_state;
    double sum = 0;
    for (size_t k = 0; s && k < s->q; k++)
        sum += s->beta[k + target * s->q] * function_of(s, k, k ? z[i + (k - 1) * count] + m->centre[k - 1] : 0);
    return sum;
}

GpStatus gp_mean_uncertainty(GpModel *m, size_t count, const double *packed, const void *z, void *work, void *row, double *out)
{
    GpStatus status = GP_OK;
    const struct GpMeanState *s = m->mean_state;
    GpContext *c = m->context;
    const size_t q = s->q, element = c->precision == GP_F64 ? sizeof(double) : sizeof(float);
    double *explained = NULL;
    TRY(memory_alloc_uninitialised(&explained, count, sizeof *explained, "share of the mean"));
    TRY(c->backend->cross_covariance(c, &m->kernel, m->n, m->x, count, z, count, work, m->n));
    for (size_t k = 0; k < q; k++) {
        TRY(c->backend->transposed_product(c, m->n, count, work, m->n, (const char *)s->device_W + k * m->n * element, row));
        TRY(c->backend->download(c, explained, row, count));
        for (size_t i = 0; i < count; i++)
            out[k + i * q] = function_of(s, k, k ? packed[i + (k - 1) * count] + m->centre[k - 1] : 0) - explained[i];
    }
    for (size_t i = 0; i < count; i++) solve_small(s, out + i * q);
cleanup:
    memory_free(explained);
    return status;
}

double gp_mean_leverage(const GpModel *m, size_t i)
{
    const struct GpMeanState *s = m->mean_state;
    double row[GP_MAX_BASIS];
    if (!s) return 0;
    for (size_t k = 0; k < s->q; k++) row[k] = s->W[i + k * m->n];
    solve_small(s, row);
    return dot(s->q, row, row);
}

size_t gp_model_mean(const GpModel *m, double *coefficient)
{
    const struct GpMeanState *s = m->mean_state;
    if (!s) return 0;
    if (!coefficient) return s->q;
    for (size_t t = 0; t < m->targets; t++, coefficient += s->q) {
        const double *beta = s->beta + t * s->q;
        coefficient[0] = m->y_mean[t] + m->y_scale[t] * beta[0];
        for (size_t k = 1; k < s->q; k++) {
            coefficient[k] = m->y_scale[t] * beta[k] / s->scale[k - 1];
            coefficient[0] -= coefficient[k] * s->centre[k - 1];
        }
    }
    return s->q;
}
