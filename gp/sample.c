/* The whole covariance of f at some points, and samples of f there: mean + R e with R R' = covariance and e standard normal. */
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include "gp/mean.h"
#include <math.h>

/* Of the prediction points: z count x d, work n x count, mean count x targets, S count x count. */
typedef struct { GpContext *context; void *z, *work, *mean, *S; double *host; } Room;

static GpStatus make_room(Room *r, size_t count, size_t n, size_t d, size_t targets)
{
    const GpBackend *b = r->context->backend;
    GpStatus status = GP_OK;
    TRY(memory_alloc(&r->host, count, d * sizeof *r->host, "copy of the prediction points"));
    TRY(b->alloc(r->context, &r->z, count * d, "prediction points"));
    TRY(b->alloc(r->context, &r->S, count * count, "covariance of the prediction points"));
    if (n > 0) TRY(b->alloc(r->context, &r->work, n * count, "covariance with the prediction points"));
    if (n > 0) TRY(b->alloc(r->context, &r->mean, count * targets, "means"));
cleanup:
    return status;
}

static void leave_room(Room *r)
{
    void *const arrays[] = { r->z, r->work, r->mean, r->S };
    for (size_t i = 0; r->context && i < sizeof arrays / sizeof *arrays; i++) r->context->backend->release(r->context, arrays[i]);
    memory_free(r->host);
}

/* White noise is no part of f. */
static GpExpression latent(const GpExpression *k)
{
    GpExpression f = *k;
    for (int i = 0; i < f.nodes; i++)
        if (f.node[i].kind == GP_NODE_WHITE) f.parameter[f.node[i].parameter].value = 0;
    return f;
}

static GpStatus check_call(const char *name, size_t count, size_t d, const double *x, size_t ldx, const double *out, size_t ldout)
{
    if (!x || !out) return fail(GP_BAD_ARGUMENT, "%s: %s is NULL", name, x ? "the result" : "x");
    if (ldx < count || ldout < count)
        return fail(GP_BAD_ARGUMENT, "%s: a leading dimension is %zu, less than count = %zu; arrays are column-major", name,
                    ldx < count ? ldx : ldout, count);
    return gp_check_points(name, count, d, x, ldx);
}

/* S gets the lower triangle of the posterior covariance, r->mean the means, in the fitted units. */
static GpStatus posterior(GpModel *m, size_t count, const double *x, size_t ldx, Room *r)
{
    GpContext *c = m->context;
    const GpExpression f = latent(&m->kernel);
    GpStatus status = GP_OK;
    TRY(make_room(r, count, m->n, m->d, m->targets));
    gp_model_pack(m, 0, count, x, ldx, r->host);
    TRY(c->backend->upload(c, r->z, r->host, count * m->d));
    TRY(gp_device_predict(c, &m->kernel, m->n, m->x, m->factor, m->ld, m->targets, m->alpha, count, r->z, count, r->work, r->mean, NULL));
    TRY(c->backend->solve(c, m->n, m->factor, m->ld, 0, count, r->work, m->n));
    TRY(c->backend->covariance(c, &f, count, r->z, 0, GP_LOWER, r->S, count));
    TRY(c->backend->subtract_gram(c, m->n, count, r->work, m->n, r->S, count));
cleanup:
    return status;
}

/* The lower triangle of S, in double, with what the estimate of the mean adds. */
static GpStatus download_covariance(GpModel *m, Room *r, size_t count, double *packed)
{
    GpStatus status = GP_OK;
    double *s = NULL;
    TRY(r->context->backend->download(r->context, packed, r->S, count * count));
    if (!m || !m->mean_state) return GP_OK;
    const size_t q = m->mean_state->q;
    TRY(memory_alloc_uninitialised(&s, count, q * sizeof *s, "uncertainty of the mean"));
    TRY(gp_mean_uncertainty(m, count, r->host, r->z, r->work, r->mean, s));
    for (size_t j = 0; j < count; j++)
        for (size_t i = j; i < count; i++)
            for (size_t k = 0; k < q; k++) packed[i + j * count] += s[k + i * q] * s[k + j * q];
cleanup:
    memory_free(s);
    return status;
}

static GpStatus download_mean(const GpModel *m, Room *r, size_t count, double *mean)
{
    const GpStatus status = m->context->backend->download(m->context, mean, r->mean, count * m->targets);
    if (status == GP_OK) gp_model_restore_means(m, r->host, count, mean);
    return status;
}

GpStatus gp_predict_covariance(GpModel *m, size_t count, const double *x, size_t ldx, double *mean, double *covariance, size_t ldc)
{
    GpStatus status = GP_OK;
    Room r = { .context = m ? m->context : NULL };
    double *packed = NULL;
    if (!m) return fail(GP_BAD_ARGUMENT, "gp_predict_covariance: model is NULL");
    if (count == 0) return GP_OK;
    TRY(check_call("gp_predict_covariance", count, m->d, x, ldx, covariance, ldc));
    TRY(posterior(m, count, x, ldx, &r));
    if (mean) TRY(download_mean(m, &r, count, mean));
    TRY(memory_alloc_uninitialised(&packed, count, count * sizeof *packed, "copy of the covariance"));
    TRY(download_covariance(m, &r, count, packed));
    for (size_t s = 0; s < m->targets; s++, covariance += count * ldc)
        for (size_t j = 0; j < count; j++)
            for (size_t i = j; i < count; i++)
                covariance[i + j * ldc] = covariance[j + i * ldc] = packed[i + j * count] * m->y_scale[s] * m->y_scale[s];
cleanup:
    memory_free(packed);
    leave_room(&r);
    return status;
}

/* ---- samples ---- */

/* R, lower, in double on the host. `packed` holds the lower triangle of S, whose factor may need a jitter: S is singular to rounding where
 * points lie close, and more often than not. */
static GpStatus factor(GpContext *c, size_t count, void *S, double *packed)
{
    const double limit = gp_fit_defaults(c->precision).max_jitter, first = limit * 1e-8;
    GpStatus status = GP_OK;
    double mean = 0;
    size_t failed_row = 0;
    for (size_t i = 0; i < count; i++) mean += packed[i + i * count] / (double)count;
    for (double relative = 0;; relative = relative > 0 ? 10 * relative : first) {
        for (size_t i = 0; i < count && relative > 0; i++)
            packed[i + i * count] += (relative - (relative > first ? relative / 10 : 0)) * mean;
        TRY(c->backend->upload(c, S, packed, count * count));
        TRY(c->backend->factor(c, count, S, count, &failed_row));
        if (failed_row == 0) break;
        if (relative >= limit)
            return fail(GP_NOT_POSITIVE_DEFINITE,
                        "gp_sample: the covariance of the points fails at row %zu with jitter %g; take fewer points", failed_row - 1,
                        relative * mean);
    }
    TRY(c->backend->download(c, packed, S, count * count));
cleanup:
    return status;
}

/* What the samples are around, count x targets, and their scale in each target. */
typedef struct { size_t targets; const double *mean, *scale; } Around;

/* out = mean + scale R e, column by column */
static void draw(size_t count, const double *R, size_t samples, uint64_t seed, Around a, double *out, size_t ldout)
{
#pragma omp parallel for schedule(static)
    for (size_t s = 0; s < samples * a.targets; s++) {
        double *f = out + s * ldout;
        const size_t target = s % a.targets;
        for (size_t i = 0; i < count; i++) f[i] = a.mean ? a.mean[i + target * count] : 0;
        for (size_t j = 0; j < count; j++) {
            const double e = (a.scale ? a.scale[target] : 1) * random_normal(seed, s, j);
            for (size_t i = j; i < count; i++) f[i] += R[i + j * count] * e;
        }
    }
}

static GpStatus factor_and_draw(GpModel *m, Room *r, size_t count, size_t samples, uint64_t seed, Around around,
                                double *out, size_t ldout)
{
    GpStatus status = GP_OK;
    double *packed = NULL;
    TRY(memory_alloc_uninitialised(&packed, count, count * sizeof *packed, "copy of the covariance"));
    TRY(download_covariance(m, r, count, packed));
    for (size_t j = 1; j < count; j++)
        for (size_t i = 0; i < j; i++) packed[i + j * count] = 0;   /* whatever stood there */
    TRY(factor(r->context, count, r->S, packed));
    draw(count, packed, samples, seed, around, out, ldout);
cleanup:
    memory_free(packed);
    return status;
}

GpStatus gp_sample(GpModel *m, size_t count, const double *x, size_t ldx, size_t samples, uint64_t seed, double *out, size_t ldout)
{
    GpStatus status = GP_OK;
    Room r = { .context = m ? m->context : NULL };
    double *mean = NULL;
    if (!m) return fail(GP_BAD_ARGUMENT, "gp_sample: model is NULL");
    if (count == 0 || samples == 0) return GP_OK;
    TRY(check_call("gp_sample", count, m->d, x, ldx, out, ldout));
    TRY(memory_alloc_uninitialised(&mean, count, m->targets * sizeof *mean, "means"));
    TRY(posterior(m, count, x, ldx, &r));
    TRY(download_mean(m, &r, count, mean));
    TRY(factor_and_draw(m, &r, count, samples, seed, (Around){ m->targets, mean, m->y_scale }, out, ldout));
cleanup:
    memory_free(mean);
    leave_room(&r);
    return status;
}

GpStatus gp_sample_prior(GpContext *c, const GpKernel *k, size_t count, const double *x, size_t ldx, size_t samples, uint64_t seed,
                         double *out, size_t ldout)
{
    GpStatus status = GP_OK;
    Room r = { .context = c };
    if (!c || !k) return fail(GP_BAD_ARGUMENT, "gp_sample_prior: context or kernel is NULL");
    const size_t d = gp_kernel_dimensions(k);
    const GpExpression f = latent(&k->expression);
    if (count == 0 || samples == 0) return GP_OK;
    TRY(check_call("gp_sample_prior", count, d, x, ldx, out, ldout));
    TRY(make_room(&r, count, 0, d, 1));
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < count; i++) r.host[i + j * count] = x[i + j * ldx];
    TRY(c->backend->upload(c, r.z, r.host, count * d));
    TRY(c->backend->covariance(c, &f, count, r.z, 0, GP_LOWER, r.S, count));
    TRY(factor_and_draw(NULL, &r, count, samples, seed, (Around){ 1, NULL, NULL }, out, ldout));
cleanup:
    leave_room(&r);
    return status;
}
