/* Covariance functions: their parameters, checked once here, so that nothing behind this file meets a bad one. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/model.h"
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
    TRY(gp_expression_rbf(&k->expression, variance, length, d));
    *out = k;
    k = NULL;
cleanup:
    memory_free(k);
    return status;
}

GpStatus gp_kernel_parse(GpKernel **out, const char *text, size_t d)
{
    GpStatus status = GP_OK;
    GpKernel *k = NULL;
    if (!out) return fail(GP_BAD_ARGUMENT, "gp_kernel_parse: out is NULL");
    *out = NULL;
    if (!text) return fail(GP_BAD_ARGUMENT, "gp_kernel_parse: text is NULL");
    TRY(memory_alloc(&k, 1, sizeof *k, "kernel"));
    TRY(gp_expression_parse(&k->expression, text, d));
    *out = k;
    k = NULL;
cleanup:
    memory_free(k);
    return status;
}

size_t gp_kernel_print(const GpKernel *k, char *text, size_t size) { return gp_expression_print(&k->expression, text, size); }

size_t gp_kernel_parameters(const GpKernel *k) { return (size_t)k->expression.parameters; }

GpParameter gp_kernel_parameter(const GpKernel *k, size_t i, char *name, size_t size)
{
    if (i >= gp_kernel_parameters(k)) return (GpParameter){ .value = NAN };
    if (name) gp_expression_name(&k->expression, (int)i, name, size);
    return k->expression.parameter[i];
}

int gp_prior_is_sound(const GpPrior *p)
{
    if (p->kind == GP_NO_PRIOR) return 1;
    if (p->kind != GP_LOG_NORMAL && p->kind != GP_GAMMA) return 0;
    return isfinite(p->a) && isfinite(p->b) && p->b > 0 && (p->kind == GP_LOG_NORMAL || p->a > 0);
}

GpStatus gp_kernel_set_parameter(GpKernel *k, size_t i, GpParameter p)
{
    if (!k || i >= gp_kernel_parameters(k))
        return fail(GP_BAD_ARGUMENT, "gp_kernel_set_parameter: there is no parameter %zu; there are %zu", i,
                    k ? gp_kernel_parameters(k) : 0);
    if (!(p.lower > 0 && p.lower <= p.value && p.value <= p.upper && isfinite(p.upper)))
        return fail(GP_BAD_ARGUMENT, "gp_kernel_set_parameter: value %g, bounds %g to %g; they must be positive, finite and in this order",
                    p.value, p.lower, p.upper);
    if (!gp_prior_is_sound(&p.prior))
        return fail(GP_BAD_ARGUMENT, "gp_kernel_set_parameter: a prior with a = %g, b = %g; they must be finite, b and a gamma's a positive",
                    p.prior.a, p.prior.b);
    p.fixed = p.fixed != 0;   /* as the text has it */
    k->expression.parameter[i] = p;
    return GP_OK;
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

size_t gp_kernel_dimensions(const GpKernel *k) { return (size_t)k->expression.d; }
