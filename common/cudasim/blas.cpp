// cuBLAS and cuSOLVER over CBLAS and LAPACKE. Every array is checked to be device memory of the size that the call will touch.
#include "sim.h"
#include "include/cusolverDn.h"
#include <algorithm>
#include <cblas.h>
#include <lapacke.h>

struct CudasimBlas { cudaStream_t stream; };
struct CudasimSolver { cudaStream_t stream; };
struct CudasimSolverParams {};

namespace sim {

template <typename F> static void enqueue(cudaStream_t s, F f)
{
    const Operation o = { [](void *p) { (*(F *)p)(); }, &f, [](const void *p) -> void * { return new F(*(const F *)p); }, [](void *p) { delete (F *)p; } };
    if (!capture(s, o)) f();
}

// Columns of `rows` elements from p on, `columns` of them, ld apart.
template <typename T> static bool is_matrix(const char *call, const char *name, const T *p, int64_t rows, int64_t columns, int64_t ld, const void *at)
{
    const uintptr_t a = (uintptr_t)p;
    if (rows <= 0 || columns <= 0) return true;
    const size_t n = (size_t)((columns - 1) * ld + rows) * sizeof(T);
    const Allocation *m = allocation_of(a);
    if (m && m->live && a + n <= m->base + m->bytes) return true;
    report(ERROR, "library call", at, NULL, std::string(call) + ": " + name + " needs " + std::to_string(n) + " bytes of device memory, and is " + describe(a));
    return false;
}

template <typename T> static void wrote(T *p, int64_t rows, int64_t columns, int64_t ld)
{
    for (int64_t j = 0; j < columns && rows > 0; j++) shadow_written((uintptr_t)(p + j * ld), (size_t)rows * sizeof(T));
}

static CBLAS_TRANSPOSE of(cublasOperation_t op) { return op == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; }
static CBLAS_UPLO of(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper; }
static CBLAS_SIDE of(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight; }
static CBLAS_DIAG of(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit; }
static cublasStatus_t failed() { set_error(cudaErrorInvalidValue); return CUBLAS_STATUS_INVALID_VALUE; }

} // namespace sim

using namespace sim;

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t *h)
{
    if (wait_for_device() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
    *h = new CudasimBlas();
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t h)
{
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s)
{
    h->stream = s;
    return CUBLAS_STATUS_SUCCESS;
}
const char *cublasGetStatusString(cublasStatus_t s)
{
    return s == CUBLAS_STATUS_SUCCESS ? "success" : s == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed to the function"
                                                                                        : "the library was not initialized";
}

#define BLAS(P, p, T)                                                                                                                                    \
    cublasStatus_t cublas##P##gemm_64(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int64_t m, int64_t n, int64_t k, const T *alpha,      \
                                      const T *A, int64_t lda, const T *B, int64_t ldb, const T *beta, T *C, int64_t ldc)                                \
    {                                                                                                                                                    \
        const void *at = CUDASIM_CALLER;                                                                                                                 \
        const bool nta = ta == CUBLAS_OP_N, ntb = tb == CUBLAS_OP_N;                                                                                      \
        if (!is_matrix("cublas" #P "gemm", "A", A, nta ? m : k, nta ? k : m, lda, at) ||                                                                   \
            !is_matrix("cublas" #P "gemm", "B", B, ntb ? k : n, ntb ? n : k, ldb, at) || !is_matrix("cublas" #P "gemm", "C", C, m, n, ldc, at))            \
            return failed();                                                                                                                             \
        enqueue(h->stream, [=, alpha = *alpha, beta = *beta]() {                                                                                         \
            cblas_##p##gemm(CblasColMajor, of(ta), of(tb), (int)m, (int)n, (int)k, alpha, A, (int)lda, B, (int)ldb, beta, C, (int)ldc);                   \
            wrote(C, m, n, ldc);                                                                                                                         \
        });                                                                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                    \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha, const T *A, int lda, \
                                   const T *B, int ldb, const T *beta, T *C, int ldc)                                                                    \
    {                                                                                                                                                    \
        return cublas##P##gemm_64(h, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                                                               \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##gemmStridedBatched_64(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int64_t m, int64_t n, int64_t k,        \
                                                    const T *alpha, const T *A, int64_t lda, long long stride_a, const T *B, int64_t ldb,                \
                                                    long long stride_b, const T *beta, T *C, int64_t ldc, long long stride_c, int64_t count)             \
    {                                                                                                                                                    \
        cublasStatus_t status = CUBLAS_STATUS_SUCCESS;                                                                                                   \
        for (int64_t i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; i++)                                                                            \
            status = cublas##P##gemm_64(h, ta, tb, m, n, k, alpha, A + i * stride_a, lda, B + i * stride_b, ldb, beta, C + i * stride_c, ldc);            \
        return status;                                                                                                                                   \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##syrk_64(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, int64_t n, int64_t k, const T *alpha, const T *A,    \
                                      int64_t lda, const T *beta, T *C, int64_t ldc)                                                                     \
    {                                                                                                                                                    \
        const void *at = CUDASIM_CALLER;                                                                                                                 \
        const bool plain = op == CUBLAS_OP_N;                                                                                                            \
        if (!is_matrix("cublas" #P "syrk", "A", A, plain ? n : k, plain ? k : n, lda, at) || !is_matrix("cublas" #P "syrk", "C", C, n, n, ldc, at))        \
            return failed();                                                                                                                             \
        enqueue(h->stream, [=, alpha = *alpha, beta = *beta]() {                                                                                         \
            cblas_##p##syrk(CblasColMajor, of(fill), of(op), (int)n, (int)k, alpha, A, (int)lda, beta, C, (int)ldc);                                      \
        });                                                                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                    \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##trsm_64(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag,        \
                                      int64_t m, int64_t n, const T *alpha, const T *A, int64_t lda, T *B, int64_t ldb)                                  \
    {                                                                                                                                                    \
        const void *at = CUDASIM_CALLER;                                                                                                                 \
        const int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;                                                                                          \
        if (!is_matrix("cublas" #P "trsm", "A", A, order, order, lda, at) || !is_matrix("cublas" #P "trsm", "B", B, m, n, ldb, at)) return failed();      \
        enqueue(h->stream, [=, alpha = *alpha]() {                                                                                                       \
            cblas_##p##trsm(CblasColMajor, of(side), of(fill), of(op), of(diag), (int)m, (int)n, alpha, A, (int)lda, B, (int)ldb);                        \
        });                                                                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                    \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##trsv_64(cublasHandle_t h, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diag, int64_t n, const T *A,        \
                                      int64_t lda, T *x, int64_t incx)                                                                                   \
    {                                                                                                                                                    \
        const void *at = CUDASIM_CALLER;                                                                                                                 \
        if (!is_matrix("cublas" #P "trsv", "A", A, n, n, lda, at) || !is_matrix("cublas" #P "trsv", "x", x, 1, n, incx, at)) return failed();             \
        enqueue(h->stream, [=]() { cblas_##p##trsv(CblasColMajor, of(fill), of(op), of(diag), (int)n, A, (int)lda, x, (int)incx); });                     \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                    \
    }                                                                                                                                                    \
    cublasStatus_t cublas##P##gemv_64(cublasHandle_t h, cublasOperation_t op, int64_t m, int64_t n, const T *alpha, const T *A, int64_t lda, const T *x,  \
                                      int64_t incx, const T *beta, T *y, int64_t incy)                                                                   \
    {                                                                                                                                                    \
        const void *at = CUDASIM_CALLER;                                                                                                                 \
        const bool plain = op == CUBLAS_OP_N;                                                                                                            \
        if (!is_matrix("cublas" #P "gemv", "A", A, m, n, lda, at) || !is_matrix("cublas" #P "gemv", "x", x, 1, plain ? n : m, incx, at) ||               \
            !is_matrix("cublas" #P "gemv", "y", y, 1, plain ? m : n, incy, at))                                                                           \
            return failed();                                                                                                                             \
        enqueue(h->stream, [=, alpha = *alpha, beta = *beta]() {                                                                                         \
            cblas_##p##gemv(CblasColMajor, of(op), (int)m, (int)n, alpha, A, (int)lda, x, (int)incx, beta, y, (int)incy);                                 \
            wrote(y, 1, plain ? m : n, incy);                                                                                                            \
        });                                                                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                                                    \
    }
BLAS(S, s, float)
BLAS(D, d, double)
#undef BLAS

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *h)
{
    if (wait_for_device() != cudaSuccess) return CUSOLVER_STATUS_NOT_INITIALIZED;
    *h = new CudasimSolver();
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h)
{
    delete h;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t s)
{
    h->stream = s;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p)
{
    *p = new CudasimSolverParams();
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t p)
{
    delete p;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t,
                                             cudaDataType, size_t *device_bytes, size_t *host_bytes)
{
    *device_bytes = 256;   // LAPACK needs none
    *host_bytes = 0;
    return CUSOLVER_STATUS_SUCCESS;
}

} // extern "C"

template <typename T> static cusolverStatus_t potrf(cudaStream_t s, cublasFillMode_t fill, int64_t n, T *A, int64_t lda, int *info, const void *at,
                                                    int (*lapack)(int, char, int, T *, int))
{
    if (!is_matrix("cusolverDnXpotrf", "A", A, n, n, lda, at) || !is_matrix("cusolverDnXpotrf", "info", info, 1, 1, 1, at)) {
        set_error(cudaErrorInvalidValue);
        return CUSOLVER_STATUS_INVALID_VALUE;
    }
    enqueue(s, [=]() {
        *info = lapack(LAPACK_COL_MAJOR, fill == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U', (int)n, A, (int)lda);
        wrote(info, 1, 1, 1);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

// LAPACKE's own functions refuse a NaN before they begin; these go on, as cuSOLVER does.
static int spotrf(int layout, char fill, int n, float *A, int lda) { return (int)LAPACKE_spotrf_work(layout, fill, n, A, lda); }
static int dpotrf(int layout, char fill, int n, double *A, int lda) { return (int)LAPACKE_dpotrf_work(layout, fill, n, A, lda); }

extern "C" cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t h, cusolverDnParams_t, cublasFillMode_t fill, int64_t n, cudaDataType type, void *A,
                                             int64_t lda, cudaDataType, void *, size_t, void *, size_t, int *info)
{
    if (type == CUDA_R_32F) return potrf(h->stream, fill, n, (float *)A, lda, info, CUDASIM_CALLER, spotrf);
    return potrf(h->stream, fill, n, (double *)A, lda, info, CUDASIM_CALLER, dpotrf);
}
