/* C = A B by OpenBLAS: cblas_sgemm and cblas_dgemm on its own threads. */
#include "bench/bench.h"
#include <cblas.h>

/* The problem refuses an n that doesn't fit OpenBLAS's int. */
static GpStatus run_f32(void *state)
{
    const HostState *s = state;
    const Buffers *b = s->buffers;
    const blasint n = (blasint)s->c.n;
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, b->in[0], n, b->in[1], n, 0, b->out, n);
    return GP_OK;
}

static GpStatus run_f64(void *state)
{
    const HostState *s = state;
    const Buffers *b = s->buffers;
    const blasint n = (blasint)s->c.n;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, b->in[0], n, b->in[1], n, 0, b->out, n);
    return GP_OK;
}

const Approach matmul_openblas = {
    .idea = "cblas_sgemm, cblas_dgemm", .role = LIBRARY, .where = ON_HOST, .run = { [F32] = run_f32, [F64] = run_f64 }
};
