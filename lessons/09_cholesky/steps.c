/* A = L L' by a backend of the Gaussian-process library. The factorisation works in place, so run() copies A first: 2 n^2 elements moved
 * beside n^3/3 operations. Without it a second run would factor the first one's result. */
#include "lessons/09_cholesky/steps.h"
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"

typedef struct {
    GpContext *context;
    size_t n;
    void *a, *l;   /* n x n each */
} State;

const char *cholesky_probe(const Registered *entry) { return gp_backend_unavailable(entry->approach->backend); }

GpStatus cholesky_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "cholesky: state"));
    *state = s;
    s->n = c->n;
    TRY(gp_context_create_on_stream(&s->context, c->entry->approach->backend, c->precision == F32 ? GP_F32 : GP_F64, 0, c->stream));
    TRY(s->context->backend->alloc(s->context, &s->a, c->n * c->n, "cholesky: matrix"));
    TRY(s->context->backend->alloc(s->context, &s->l, c->n * c->n, "cholesky: factor"));
cleanup:
    return status;
}

GpStatus cholesky_upload(void *state, const Buffers *b)
{
    State *s = state;
    return s->context->backend->upload_native(s->context, s->a, b->in[0], b->in_bytes[0]);
}

GpStatus cholesky_run(void *state)
{
    GpStatus status = GP_OK;
    State *s = state;
    size_t failed_row = 0;
    TRY(s->context->backend->copy(s->context, s->l, s->a, s->n * s->n));
    TRY(s->context->backend->factor(s->context, s->n, s->l, s->n, &failed_row));
    if (failed_row) return fail(GP_NOT_POSITIVE_DEFINITE, "cholesky: the pivot of row %zu of %zu is not positive", failed_row - 1, s->n);
cleanup:
    return status;
}

GpStatus cholesky_download(void *state, const Buffers *b)
{
    State *s = state;
    return s->context->backend->download_native(s->context, b->out, s->l, b->out_bytes);
}

void cholesky_release(void *state)
{
    State *s = state;
    if (!s) return;
    if (s->context) {
        s->context->backend->release(s->context, s->l);
        s->context->backend->release(s->context, s->a);
    }
    gp_context_destroy(s->context);
    memory_free(s);
}
