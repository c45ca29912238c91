/* cuBLAS's names over the CPU's BLAS: what this project calls. Pointers are those of the simulated device and are checked. */
#ifndef CUDASIM_CUBLAS_V2_H
#define CUDASIM_CUBLAS_V2_H
#include "cuda_runtime.h"

typedef struct CudasimBlas *cublasHandle_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t *h);
cublasStatus_t cublasDestroy(cublasHandle_t h);
cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s);
const char *cublasGetStatusString(cublasStatus_t s);

#define CUDASIM_BLAS(P, T)                                                                                                                          \
    cublasStatus_t cublas##P##gemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const T *alpha, const T *A, int lda,   \
                                   const T *B, int ldb, const T *beta, T *C, int ldc);                                                              \
    cublasStatus_t cublas##P##gemm_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t m, int64_t n, int64_t k, const T *alpha,         \
                                      const T *A, int64_t lda, const T *B, int64_t ldb, const T *beta, T *C, int64_t ldc);                          \
    cublasStatus_t cublas##P##gemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t m, int64_t n, int64_t k,           \
                                                    const T *alpha, const T *A, int64_t lda, long long stride_a, const T *B, int64_t ldb,           \
                                                    long long stride_b, const T *beta, T *C, int64_t ldc, long long stride_c, int64_t count);       \
    cublasStatus_t cublas##P##syrk_64(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int64_t n, int64_t k, const T *alpha, const T *A,         \
                                      int64_t lda, const T *beta, T *C, int64_t ldc);                                                               \
    cublasStatus_t cublas##P##trsm_64(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int64_t m,            \
                                      int64_t n, const T *alpha, const T *A, int64_t lda, T *B, int64_t ldb);                                       \
    cublasStatus_t cublas##P##trsv_64(cublasHandle_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t, int64_t n, const T *A, int64_t lda,     \
                                      T *x, int64_t incx);                                                                                         \
    cublasStatus_t cublas##P##gemv_64(cublasHandle_t, cublasOperation_t, int64_t m, int64_t n, const T *alpha, const T *A, int64_t lda, const T *x,  \
                                      int64_t incx, const T *beta, T *y, int64_t incy);
CUDASIM_BLAS(S, float)
CUDASIM_BLAS(D, double)
#undef CUDASIM_BLAS
}
#endif
