/* Leave-one-out, with a mean that is estimated anew without each point (Dubrule, Cross validation of kriging in a unique neighborhood, Mathematical
 * Geology 15, 1983): the formulas of GPML with K^-1 - W A^-1 W' (mean.h) for K^-1. GPML equation 5.12 needs the diagonal of K^-1 = L'^-1 L^-1, whose element i is the squared norm of column i of L^-1. The
 * columns are solved for some hundred at a time, each block only from its own first row on, above which L^-1 is zero: n^3/3 operations,
 * by the primitives that every backend has, and no second matrix. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/mean.h"
#include <math.h>
#include <string.h>

enum { COLUMNS = 256 };

typedef struct { void *columns, *norms; double *identity; } Room;

static GpStatus make_room(GpModel *m, size_t count, Room *r)
{
    const GpBackend *b = m->context->backend;
    GpStatus status = GP_OK;
    TRY(memory_alloc(&r->identity, m->n, count * sizeof *r->identity, "columns of the identity"));
    TRY(b->alloc(m->context, &r->columns, m->n * count, "columns of L^-1"));
    TRY(b->alloc(m->context, &r->norms, count, "norms of columns"));
cleanup:
    return status;
}

static void leave_room(GpModel *m, Room *r)
{
    memory_free(r->identity);
    m->context->backend->release(m->context, r->columns);
    m->context->backend->release(m->context, r->norms);
}

/* The diagonal of K^-1 from element `first` on, `count` of them. */
static GpStatus inverse_diagonal(GpModel *m, size_t first, size_t count, Room *r, double *diagonal)
{
    GpContext *c = m->context;
    const size_t rows = m->n - first, element = c->precision == GP_F64 ? sizeof(double) : sizeof(float);
    const char *block = (const char *)m->factor + (first + first * m->ld) * element;
    GpStatus status = GP_OK;
    memset(r->identity, 0, rows * count * sizeof *r->identity);
    for (size_t j = 0; j < count; j++) r->identity[j + j * rows] = 1;
    TRY(c->backend->upload(c, r->columns, r->identity, rows * count));
    TRY(c->backend->solve(c, rows, block, m->ld, 0, count, r->columns, rows));
    TRY(c->backend->column_norms(c, rows, count, r->columns, rows, r->norms));
    TRY(c->backend->download(c, diagonal, r->norms, count));
cleanup:
    return status;
}

/* Element i of y, of any target; in the fitted units: y_i - mean = alpha_i / K^-1_ii, variance = 1 / K^-1_ii. */
static void finish(const GpModel *m, size_t i, double weight, double inverse, double *mean, double *variance, double *log_density)
{
    const double log_2_pi = 1.8378770664093454835606594728112, residual = weight / inverse, scale = m->y_scale[i / m->n];
    const double y = m->y[i] + (m->mean_state ? m->mean_state->trend[i] : 0);
    if (mean) mean[i] = m->y_mean[i / m->n] + scale * (y - residual);
    if (variance) variance[i] = scale * scale / inverse;
    if (log_density) log_density[i] = -0.5 * (log_2_pi - log(inverse) + residual * residual * inverse) - log(scale);
}

GpStatus gp_leave_one_out(GpModel *m, double *mean, double *variance, double *log_density)
{
    GpStatus status = GP_OK;
    Room room = { .columns = NULL };
    double *alpha = NULL, diagonal[COLUMNS];
    if (!m) return fail(GP_BAD_ARGUMENT, "gp_leave_one_out: model is NULL");
    const size_t chunk = m->n < COLUMNS ? m->n : COLUMNS;
    TRY(memory_alloc_uninitialised(&alpha, m->n, m->targets * sizeof *alpha, "copy of alpha"));
    TRY(m->context->backend->download(m->context, alpha, m->alpha, m->n * m->targets));
    TRY(make_room(m, chunk, &room));
    for (size_t first = 0; first < m->n; first += chunk) {
        const size_t count = m->n - first < chunk ? m->n - first : chunk;
        TRY(inverse_diagonal(m, first, count, &room, diagonal));
        for (size_t j = 0; j < count; j++) {
            const double inverse = diagonal[j] - gp_mean_leverage(m, first + j);
            for (size_t i = first + j; i < m->n * m->targets; i += m->n) finish(m, i, alpha[i], inverse, mean, variance, log_density);
        }
    }
cleanup:
    leave_room(m, &room);
    memory_free(alpha);
    return status;
}
