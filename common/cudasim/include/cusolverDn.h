/* cuSOLVER's Cholesky over LAPACK: what this project calls. */
#ifndef CUDASIM_CUSOLVER_DN_H
#define CUDASIM_CUSOLVER_DN_H
#include "cublas_v2.h"

typedef struct CudasimSolver *cusolverDnHandle_t;
typedef struct CudasimSolverParams *cusolverDnParams_t;
typedef enum { CUSOLVER_STATUS_SUCCESS = 0, CUSOLVER_STATUS_NOT_INITIALIZED = 1, CUSOLVER_STATUS_ALLOC_FAILED = 2, CUSOLVER_STATUS_INVALID_VALUE = 3,
               CUSOLVER_STATUS_EXECUTION_FAILED = 6 } cusolverStatus_t;

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *h);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t s);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t p);
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t n, cudaDataType, const void *A, int64_t lda,
                                             cudaDataType, size_t *device_bytes, size_t *host_bytes);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t n, cudaDataType, void *A, int64_t lda, cudaDataType,
                                  void *device_work, size_t device_bytes, void *host_work, size_t host_bytes, int *info);
}
#endif
