/* Every core and its vector units: the covariance in loops that the compiler vectorises (cpu_openmp.inc, with the exponential of
 * cpu_exp.h), the factor and the solves in LAPACK and BLAS (here OpenBLAS, which blocks them for the caches and runs its own
 * threads). Only the lower triangle is ever computed. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/cpu_arrays.h"
#include "gp/cpu_exp.h"
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <tgmath.h>

/* A block of ROWS x 8 dimensions of doubles takes 32 KiB, about one first-level cache. */
enum { ROWS = 512, PANEL = 32 };
/* Up to this many points one thread does it: others would hardly have started, and afterwards spin for work against OpenBLAS's own threads, which
 * made runs of 18 ms take up to 200. */
enum { ALONE = 256 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#define Real    float
#define NAME(f) f##_f32
#include "gp/cpu_openmp.inc"
#undef Real
#undef NAME
#define Real    double
#define NAME(f) f##_f64
#include "gp/cpu_openmp.inc"
#undef Real
#undef NAME

/* BLAS takes sizes as int; what it indexes with them is 64-bit inside, so n^2 may well be larger than an int. */
static GpStatus check_sizes(size_t n, size_t m, size_t ld)
{
    const size_t largest = n > m ? (n > ld ? n : ld) : (m > ld ? m : ld);
    if (largest <= INT_MAX) return GP_OK;
    return fail(GP_BAD_ARGUMENT, "cpu/openmp: size %zu; BLAS takes at most %d, use fewer points", largest, INT_MAX);
}

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
    GpStatus status = GP_OK;
    lapack_int info = 0;
    TRY(check_sizes(n, n, ld));
    info = c->precision == GP_F64 ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, L, (lapack_int)ld)
                                  : LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, L, (lapack_int)ld);
    if (info < 0) return fail(GP_DEVICE, "cpu/openmp: LAPACK refused argument %d of potrf (a bug here)", (int)-info);
    *failed_row = (size_t)info;
    if (info == 0) *failed_row = c->precision == GP_F64 ? first_bad_pivot_f64(n, L, ld) : first_bad_pivot_f32(n, L, ld);
cleanup:
    return status;
}

static GpStatus inverse(GpContext *c, size_t n, void *L, size_t ld)
{
    GpStatus status = GP_OK;
    lapack_int info = 0;
    TRY(check_sizes(n, n, ld));
    info = c->precision == GP_F64 ? LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, L, (lapack_int)ld)
                                  : LAPACKE_spotri_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, L, (lapack_int)ld);
    if (info != 0) return fail(GP_DEVICE, "cpu/openmp: LAPACK's potri says %d (a bug here)", (int)info);
cleanup:
    return status;
}

static GpStatus gradient(GpContext *c, const GpExpression *k, size_t n, const void *x, const void *K_inverse, size_t ld, const void *alpha,
                         double *out, double *diagonal)
{
    GpStatus status = GP_OK;
    const size_t panels = (n + PANEL - 1) / PANEL;
    double(*partial)[GP_MAX_PARAMETERS + 1] = NULL;
    TRY(memory_alloc(&partial, panels, sizeof *partial, "partial sums of the gradient"));
    if (c->precision == GP_F64) gradient_panels_f64(k, n, x, K_inverse, ld, alpha, partial);
    else gradient_panels_f32(k, n, x, K_inverse, ld, alpha, partial);
    *diagonal = 0;
    for (int p = 0; p < k->parameters; p++) out[p] = 0;
    for (size_t i = 0; i < panels; i++) {
        *diagonal += partial[i][GP_MAX_PARAMETERS];
        for (int p = 0; p < k->parameters; p++) out[p] += partial[i][p];
    }
cleanup:
    memory_free(partial);
    return status;
}

static GpStatus solve(GpContext *c, size_t n, const void *L, size_t ld, int transpose, size_t m, void *B, size_t ldb)
{
    const CBLAS_TRANSPOSE side = transpose ? CblasTrans : CblasNoTrans;
    GpStatus status = GP_OK;
    TRY(check_sizes(n, m, ld > ldb ? ld : ldb));
    if (c->precision == GP_F64)
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, side, CblasNonUnit, (int)n, (int)m, 1, L, (int)ld, B, (int)ldb);
    else cblas_strsm(CblasColMajor, CblasLeft, CblasLower, side, CblasNonUnit, (int)n, (int)m, 1, L, (int)ld, B, (int)ldb);
cleanup:
    return status;
}

static GpStatus subtract_gram(GpContext *c, size_t n, size_t m, const void *V, size_t ldv, void *S, size_t lds)
{
    GpStatus status = GP_OK;
    TRY(check_sizes(n, m, ldv > lds ? ldv : lds));
    if (c->precision == GP_F64) cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)m, (int)n, -1, V, (int)ldv, 1, S, (int)lds);
    else cblas_ssyrk(CblasColMajor, CblasLower, CblasTrans, (int)m, (int)n, -1, V, (int)ldv, 1, S, (int)lds);
cleanup:
    return status;
}

static GpStatus transposed_product(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, const void *a, void *out)
{
    GpStatus status = GP_OK;
    TRY(check_sizes(n, m, ldc));
    if (c->precision == GP_F64) cblas_dgemv(CblasColMajor, CblasTrans, (int)n, (int)m, 1, C, (int)ldc, a, 1, 0, out, 1);
    else cblas_sgemv(CblasColMajor, CblasTrans, (int)n, (int)m, 1, C, (int)ldc, a, 1, 0, out, 1);
cleanup:
    return status;
}

static GpStatus column_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    if (c->precision == GP_F64) column_norms_f64(n, m, C, ldc, out);
    else column_norms_f32(n, m, C, ldc, out);
    return GP_OK;
}

extern const GpBackend gp_backend_cpu_openmp;
const GpBackend gp_backend_cpu_openmp = {
    .name = "cpu/openmp",
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
