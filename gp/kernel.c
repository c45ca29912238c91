/* Covariance functions: their parameters, checked once here, so that nothing behind this file meets a bad one. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/backend.h"
#include <math.h>

static GpStatus check_rbf(double variance, const double *length, size_t d)
{
    if (d == 0) return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: d is 0; give one length for each dimension");
    if (d > GP_MAX_DIMENSIONS)
        return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: d is %zu, the limit is %d; leave out dimensions", d, GP_MAX_DIMENSIONS);
    if (!length) return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: length is NULL; give %zu numbers", d);
    if (!(variance > 0 && isfinite(variance)))
        return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: variance is %g; it must be finite and positive", variance);
    for (size_t j = 0; j < d; j++) {
        if (!(length[j] > 0 && isfinite(length[j])))
            return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: length[%zu] is %g; it must be finite and positive", j, length[j]);
        if (!isfinite(1 / length[j])) /* only below 5.6e-309 */
            return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: length[%zu] is %g, and 1 / length overflows; rescale x", j, length[j]);
    }
    return GP_OK;
}

GpStatus gp_kernel_rbf(GpKernel **out, double variance, const double *length, size_t d)
{
    GpStatus status = GP_OK;
    GpKernel *k = NULL;
    if (!out) return fail(GP_BAD_ARGUMENT, "gp_kernel_rbf: out is NULL");
    *out = NULL;
    TRY(check_rbf(variance, length, d));
    TRY(memory_alloc(&k, 1, sizeof *k, "kernel"));
    k->rbf.d = d;
    k->rbf.variance = variance;
    for (size_t j = 0; j < d; j++) k->rbf.inverse_length[j] = 1 / length[j];
    *out = k;
cleanup:
    return status;
}

GpStatus gp_kernel_copy(GpKernel **out, const GpKernel *k)
{
    if (!out) return fail(GP_BAD_ARGUMENT, "gp_kernel_copy: out is NULL");
    *out = NULL;
    if (!k) return fail(GP_BAD_ARGUMENT, "gp_kernel_copy: k is NULL");
    const GpStatus status = memory_alloc(out, 1, sizeof **out, "kernel");
    if (status == GP_OK) **out = *k;
    return status;
}

void gp_kernel_destroy(GpKernel *k) { memory_free(k); }

size_t gp_kernel_dimensions(const GpKernel *k) { return k->rbf.d; }
