/* One step of training by a backend of the Gaussian-process library, on arrays that are already there: fit, log determinant, inverse, gradient.
 * The fit overwrites y by alpha, so that run() copies y first: n elements. */
#include "lessons/12_gp_likelihood/steps.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include "lessons/12_gp_likelihood/problem.h"
#include <math.h>

typedef struct {
    GpContext *context;
    Precision precision;
    GpExpression kernel;
    GpFitOptions options;
    size_t n, d;
    double *values, *weights;               /* y and alpha on the host, n each              */
    void *x, *y, *k, *alpha;                /* n x d, n, n x n, n                           */
    double answer[GP_LIKELIHOOD_MOST];
    size_t answers;
} State;

const char *gp_likelihood_probe(const Registered *entry) { return gp_backend_unavailable(entry->approach->backend); }

static GpStatus allocate_arrays(State *s)
{
    GpStatus status = GP_OK;
    const GpBackend *b = s->context->backend;
    TRY(b->alloc(s->context, &s->x, s->n * s->d, "gp likelihood: points"));
    TRY(b->alloc(s->context, &s->y, s->n, "gp likelihood: values"));
    TRY(b->alloc(s->context, &s->k, s->n * s->n, "gp likelihood: kernel matrix"));
    TRY(b->alloc(s->context, &s->alpha, s->n, "gp likelihood: alpha"));
    TRY(memory_alloc(&s->values, s->n, sizeof *s->values, "gp likelihood: copy of y"));
    TRY(memory_alloc(&s->weights, s->n, sizeof *s->weights, "gp likelihood: copy of alpha"));
cleanup:
    return status;
}

GpStatus gp_likelihood_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "gp likelihood: state"));
    *state = s;
    s->precision = c->precision;
    s->n = c->n;
    s->d = c->variant == GP_LIKELIHOOD_CO2 ? 1 : GP_PREDICT_D;
    s->answers = gp_likelihood_count(c->variant);
    s->options = gp_fit_defaults(c->precision == F32 ? GP_F32 : GP_F64);
    s->options.noise_variance = gp_likelihood_noise(c->variant);
    s->options.max_jitter = 0;              /* a jitter would answer another question */
    TRY(gp_expression_parse(&s->kernel, gp_likelihood_kernel(c->variant), s->d));
    TRY(gp_context_create_on_stream(&s->context, c->entry->approach->backend, c->precision == F32 ? GP_F32 : GP_F64, 0, c->stream));
    TRY(allocate_arrays(s));
cleanup:
    return status;
}

GpStatus gp_likelihood_upload(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    State *s = state;
    const GpBackend *backend = s->context->backend;
    for (size_t i = 0; i < s->n; i++) s->values[i] = element(b->in[1], i, s->precision);
    TRY(backend->upload_native(s->context, s->x, b->in[0], b->in_bytes[0]));
    TRY(backend->upload_native(s->context, s->y, b->in[1], b->in_bytes[1]));
cleanup:
    return status;
}

static double likelihood_of(const State *s, double log_determinant)
{
    double quadratic = 0;
    for (size_t i = 0; i < s->n; i++) quadratic += s->values[i] * s->weights[i];
    return -0.5 * (quadratic + log_determinant + (double)s->n * log(2 * acos(-1)));
}

GpStatus gp_likelihood_run(void *state)
{
    GpStatus status = GP_OK;
    State *s = state;
    GpContext *c = s->context;
    const GpBackend *b = c->backend;
    double jitter = 0, log_determinant = 0, diagonal = 0;
    TRY(b->copy(c, s->alpha, s->y, s->n));
    TRY(gp_device_fit(c, &s->kernel, s->n, s->x, NULL, 1, &s->options, s->k, s->n, 1, s->alpha, &jitter));
    TRY(b->log_determinant(c, s->n, s->k, s->n, &log_determinant));
    TRY(b->download(c, s->weights, s->alpha, s->n));
    TRY(b->inverse(c, s->n, s->k, s->n));
    TRY(b->gradient(c, &s->kernel, s->n, s->x, s->k, s->n, s->alpha, s->answer + 1, &diagonal));
    s->answer[0] = likelihood_of(s, log_determinant);
    if (s->options.noise_variance > 0) s->answer[s->answers - 1] = s->options.noise_variance * diagonal;
cleanup:
    return status;
}

GpStatus gp_likelihood_download(void *state, const Buffers *b)
{
    const State *s = state;
    for (size_t i = 0; i < s->answers; i++) {
        if (s->precision == F32) ((float *)b->out)[i] = (float)s->answer[i];
        else ((double *)b->out)[i] = s->answer[i];
    }
    return GP_OK;
}

void gp_likelihood_release(void *state)
{
    State *s = state;
    if (!s) return;
    if (s->context) {
        void *const arrays[] = { s->x, s->y, s->k, s->alpha };
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) s->context->backend->release(s->context, arrays[i]);
    }
    gp_context_destroy(s->context);
    memory_free(s->values);
    memory_free(s->weights);
    memory_free(s);
}
