/* Training by a backend of the Gaussian-process library: gp_train from the start, on data that it uploads itself, n (d + 1) numbers. */
#include "lessons/13_gp_train/steps.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/gp.h"
#include "lessons/13_gp_train/problem.h"

typedef struct {
    GpContext *context;
    GpKernel *start, *trained;
    GpTrainResult result;
    Precision precision;
    int variant;
    size_t n, d;
    double *x, *y;
} State;

const char *gp_train_probe(const Registered *entry) { return gp_backend_unavailable(entry->approach->backend); }

GpStatus gp_train_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "gp train: state"));
    *state = s;
    s->precision = c->precision;
    s->variant = c->variant;
    s->n = c->n;
    s->d = c->variant == GP_LIKELIHOOD_CO2 ? 1 : GP_PREDICT_D;
    TRY(memory_alloc(&s->x, s->n * s->d, sizeof *s->x, "gp train: points"));
    TRY(memory_alloc(&s->y, s->n, sizeof *s->y, "gp train: values"));
    TRY(gp_context_create_on_stream(&s->context, c->entry->approach->backend, c->precision == F32 ? GP_F32 : GP_F64, 0, c->stream));
    TRY(gp_kernel_parse(&s->start, gp_train_kernel(c->variant), s->d));
cleanup:
    return status;
}

GpStatus gp_train_upload(void *state, const Buffers *b)
{
    State *s = state;
    for (size_t i = 0; i < s->n * s->d; i++) s->x[i] = element(b->in[0], i, s->precision);
    for (size_t i = 0; i < s->n; i++) s->y[i] = element(b->in[1], i, s->precision);
    return GP_OK;
}

GpStatus gp_train_run(void *state)
{
    GpStatus status = GP_OK;
    State *s = state;
    const GpData data = { .n = s->n, .d = s->d, .x = s->x, .ldx = s->n, .y = s->y };
    GpFitOptions fit = gp_fit_defaults(gp_context_precision(s->context));
    GpTrainOptions options = gp_train_defaults();
    fit.noise_variance = gp_train_noise(s->variant);
    options.train_noise = fit.noise_variance > 0;
    gp_kernel_destroy(s->trained);
    s->trained = NULL;
    TRY(gp_kernel_copy(&s->trained, s->start));
    TRY(gp_train(s->trained, s->context, &data, &fit, &options, &s->result));
cleanup:
    return status;
}

static void store(const State *s, const Buffers *b, size_t i, double value)
{
    if (s->precision == F32) ((float *)b->out)[i] = (float)value;
    else ((double *)b->out)[i] = value;
}

GpStatus gp_train_download(void *state, const Buffers *b)
{
    const State *s = state;
    const size_t parameters = gp_kernel_parameters(s->trained);
    store(s, b, 0, s->result.lml);
    for (size_t p = 0; p < parameters; p++) store(s, b, 1 + p, gp_kernel_parameter(s->trained, p, NULL, 0).value);
    if (gp_train_noise(s->variant) > 0) store(s, b, 1 + parameters, s->result.noise_variance);
    return GP_OK;
}

void gp_train_release(void *state)
{
    State *s = state;
    if (!s) return;
    gp_kernel_destroy(s->start);
    gp_kernel_destroy(s->trained);
    gp_context_destroy(s->context);
    memory_free(s->x);
    memory_free(s->y);
    memory_free(s);
}
