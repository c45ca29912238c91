/* K = k(X, X) by a backend of the Gaussian-process library: X and K live in the backend's memory, the context's stream is the case's. */
#include "lessons/08_kernel_matrix/steps.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include "lessons/08_kernel_matrix/problem.h"

typedef struct {
    GpContext *context;
    GpExpression kernel;
    GpPart part;
    size_t n;
    void *x, *k;   /* n x d and n x n */
} State;

const char *kernel_matrix_probe(const Registered *entry) { return gp_backend_unavailable(entry->approach->backend); }

static GpStatus unit_kernel(GpExpression *k)
{
    double length[KERNEL_MATRIX_D];
    for (size_t j = 0; j < KERNEL_MATRIX_D; j++) length[j] = KERNEL_MATRIX_LENGTH;
    return gp_expression_rbf(k, 1, length, KERNEL_MATRIX_D);
}

GpStatus kernel_matrix_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "kernel matrix: state"));
    *state = s;
    TRY(unit_kernel(&s->kernel));
    s->part = c->variant == KERNEL_MATRIX_LOWER ? GP_LOWER : GP_FULL;
    s->n = c->n;
    TRY(gp_context_create_on_stream(&s->context, c->entry->approach->backend, c->precision == F32 ? GP_F32 : GP_F64, 0, c->stream));
    TRY(s->context->backend->alloc(s->context, &s->x, c->n * KERNEL_MATRIX_D, "kernel matrix: points"));
    TRY(s->context->backend->alloc(s->context, &s->k, c->n * c->n, "kernel matrix: matrix"));
cleanup:
    return status;
}

GpStatus kernel_matrix_upload(void *state, const Buffers *b)
{
    State *s = state;
    return s->context->backend->upload_native(s->context, s->x, b->in[0], b->in_bytes[0]);
}

GpStatus kernel_matrix_run(void *state)
{
    State *s = state;
    return s->context->backend->covariance(s->context, &s->kernel, s->n, s->x, 0, s->part, s->k, s->n);
}

GpStatus kernel_matrix_download(void *state, const Buffers *b)
{
    State *s = state;
    return s->context->backend->download_native(s->context, b->out, s->k, b->out_bytes);
}

void kernel_matrix_release(void *state)
{
    State *s = state;
    if (!s) return;
    if (s->context) {
        s->context->backend->release(s->context, s->k);
        s->context->backend->release(s->context, s->x);
    }
    gp_context_destroy(s->context);
    memory_free(s);
}
