/* The textbook, word for word: Gaussian-process regression in plain loops on one core, no library, no blocking, no vectors by
 * hand. It is what every faster backend is compared with. Rasmussen and Williams, Gaussian Processes for Machine Learning
 * (2006): equation 5.1 (covariance), section 2.2 and appendix A.4 (Cholesky); Golub and Van Loan, Matrix Computations,
 * algorithm 4.2.1 (the factor). cpu_naive.inc has the loops. */
#include "gp/cpu_arrays.h"
#include <tgmath.h>

#define Real    float
#define NAME(f) f##_f32
#include "gp/cpu_naive.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "gp/cpu_naive.inc"
#undef Real
#undef NAME

static GpStatus covariance(GpContext *c, const GpExpression *k, size_t n, const void *x, double diagonal, GpPart part, void *K, size_t ld)
{
    if (c->precision == GP_F64) covariance_f64(k, n, x, diagonal, part, K, ld);
    else covariance_f32(k, n, x, diagonal, part, K, ld);
    return GP_OK;
}

static GpStatus cross_covariance(GpContext *c, const GpExpression *k, size_t n, const void *x, size_t m, const void *z, size_t ldz, void *C,
                                 size_t ldc)
{
    if (c->precision == GP_F64) cross_covariance_f64(k, n, x, m, z, ldz, C, ldc);
    else cross_covariance_f32(k, n, x, m, z, ldz, C, ldc);
    return GP_OK;
}

static GpStatus factor(GpContext *c, size_t n, void *L, size_t ld, size_t *failed_row)
{
    *failed_row = c->precision == GP_F64 ? factor_f64(n, L, ld) : factor_f32(n, L, ld);
    return GP_OK;
}

static GpStatus inverse(GpContext *c, size_t n, void *L, size_t ld)
{
    if (c->precision == GP_F64) inverse_f64(n, L, ld);
    else inverse_f32(n, L, ld);
    return GP_OK;
}

static GpStatus gradient(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *K_inverse, size_t ld, const void *alpha,
                         double *out, double *diagonal)
{
    *diagonal = 0;
    for (int p = 0; p < k->parameters; p++) out[p] = 0;
    if (c->precision == GP_F64) gradient_f64(k, n, x, K_inverse, ld, alpha, out, diagonal);
    else gradient_f32(k, n, x, K_inverse, ld, alpha, out, diagonal);
    return GP_OK;
}

static GpStatus solve(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb)
{
    if (c->precision == GP_F64) solve_f64(n, L, ld, transpose, m, B, ldb);
    else solve_f32(n, L, ld, transpose, m, B, ldb);
    return GP_OK;
}

static GpStatus subtract_gram(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds)
{
    if (c->precision == GP_F64) subtract_gram_f64(n, m, V, ldv, S, lds);
    else subtract_gram_f32(n, m, V, ldv, S, lds);
    return GP_OK;
}

static GpStatus transposed_product(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    if (c->precision == GP_F64) transposed_product_f64(n, m, C, ldc, a, out);
    else transposed_product_f32(n, m, C, ldc, a, out);
    return GP_OK;
}

static GpStatus column_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    if (c->precision == GP_F64) column_norms_f64(n, m, C, ldc, out);
    else column_norms_f32(n, m, C, ldc, out);
    return GP_OK;
}

extern const GpBackend gp_backend_cpu_naive;
const GpBackend gp_backend_cpu_naive = {
    .name = "cpu/naive",
    .unavailable = cpu_always_usable,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .memory_free = cpu_memory_free,
    .factor_workspace = cpu_no_workspace,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_upload,
    .download = cpu_download,
    .upload_native = cpu_upload_native,
    .download_native = cpu_download_native,
    .copy = cpu_copy,
    .covariance = covariance,
    .cross_covariance = cross_covariance,
    .factor = factor, .inverse = inverse, .gradient = gradient,
    .solve = solve,
    .transposed_product = transposed_product,
    .column_norms = column_norms,
    .subtract_gram = subtract_gram,
    .add_diagonal = cpu_add_diagonal,
    .log_determinant = cpu_log_determinant,
};
