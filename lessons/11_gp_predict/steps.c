/* Fit and predict by a backend of the Gaussian-process library, on arrays that are already there: gp_device_fit and gp_device_predict. The
 * fit overwrites y by alpha, so that run() copies y first: n elements. */
#include "lessons/11_gp_predict/steps.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include "lessons/11_gp_predict/problem.h"

typedef struct {
    GpContext *context;
    Precision precision;
    GpPredictModel model;
    GpExpression kernel;
    GpFitOptions options;
    size_t n, m;
    void *x, *y, *z;                        /* n x d, n, m x d                     */
    void *k, *alpha, *work;                 /* n x n, n, n x m                     */
    void *mean, *explained;                 /* m each                              */
} State;

const char *gp_predict_probe(const Registered *entry) { return gp_backend_unavailable(entry->approach->backend); }

static GpStatus set_model(State *s, GpPredictModel model)
{
    double length[GP_MAX_DIMENSIONS];
    for (size_t j = 0; j < model.d; j++) length[j] = model.length;
    s->model = model;
    s->options = gp_fit_defaults(s->precision == F32 ? GP_F32 : GP_F64);
    s->options.noise_variance = model.noise;
    s->options.max_jitter = 0;              /* a jitter would answer another question */
    return gp_expression_rbf(&s->kernel, model.variance, length, model.d);
}

static GpStatus allocate_arrays(State *s)
{
    GpStatus status = GP_OK;
    const struct { void **array; size_t count; const char *what; } arrays[] = {
        { &s->x, s->n * s->model.d, "gp predict: points" }, { &s->y, s->n, "gp predict: values" },
        { &s->z, s->m * s->model.d, "gp predict: new points" }, { &s->k, s->n * s->n, "gp predict: kernel matrix" },
        { &s->alpha, s->n, "gp predict: alpha" }, { &s->work, s->n * s->m, "gp predict: covariances of the new points" },
        { &s->mean, s->m, "gp predict: means" }, { &s->explained, s->m, "gp predict: explained variances" },
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        TRY(s->context->backend->alloc(s->context, arrays[i].array, arrays[i].count, arrays[i].what));
cleanup:
    return status;
}

GpStatus gp_predict_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "gp predict: state"));
    *state = s;
    s->precision = c->precision;
    s->n = c->n;
    s->m = GP_PREDICT_M;
    TRY(set_model(s, gp_predict_model(c->variant)));
    TRY(gp_context_create_on_stream(&s->context, c->entry->approach->backend, c->precision == F32 ? GP_F32 : GP_F64, 0, c->stream));
    TRY(allocate_arrays(s));
cleanup:
    return status;
}

GpStatus gp_predict_upload(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    State *s = state;
    const GpBackend *backend = s->context->backend;
    TRY(backend->upload_native(s->context, s->x, b->in[0], b->in_bytes[0]));
    TRY(backend->upload_native(s->context, s->y, b->in[1], b->in_bytes[1]));
    TRY(backend->upload_native(s->context, s->z, b->in[2], b->in_bytes[2]));
cleanup:
    return status;
}

GpStatus gp_predict_run(void *state)
{
    GpStatus status = GP_OK;
    State *s = state;
    double jitter = 0;
    TRY(s->context->backend->copy(s->context, s->alpha, s->y, s->n));
    TRY(gp_device_fit(s->context, &s->kernel, s->n, s->x, NULL, s->model.variance + s->model.noise, &s->options, s->k, s->n, 1, s->alpha, &jitter));
    TRY(gp_device_predict(s->context, &s->kernel, s->n, s->x, s->k, s->n, 1, s->alpha, s->m, s->z, s->m, s->work, s->mean, s->explained));
cleanup:
    return status;
}

/* variance = k(z, z) - explained, in the case's precision; k(z, z) of this kernel is its variance. */
static void explained_to_variance(const State *s, void *explained)
{
    for (size_t j = 0; j < s->m; j++) {
        if (s->precision == F32) ((float *)explained)[j] = (float)s->model.variance - ((float *)explained)[j];
        else ((double *)explained)[j] = s->model.variance - ((double *)explained)[j];
    }
}

GpStatus gp_predict_download(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    State *s = state;
    const size_t bytes = s->m * precision_bytes(s->precision);
    char *variance = (char *)b->out + bytes;
    TRY(s->context->backend->download_native(s->context, b->out, s->mean, bytes));
    TRY(s->context->backend->download_native(s->context, variance, s->explained, bytes));
    explained_to_variance(s, variance);
cleanup:
    return status;
}

void gp_predict_release(void *state)
{
    State *s = state;
    if (!s) return;
    if (s->context) {
        void *const arrays[] = { s->x, s->y, s->z, s->k, s->alpha, s->work, s->mean, s->explained };
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) s->context->backend->release(s->context, arrays[i]);
    }
    gp_context_destroy(s->context);
    memory_free(s);
}
