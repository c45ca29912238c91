// Checked CUDA calls: TRY(CUDA(cudaMemcpy(...))), and after every launch TRY(CUDA(cudaGetLastError())).
#pragma once
#include "common/try.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

static inline GpStatus cuda_status(cudaError_t e, const char *what, const char *file, int line)
{
    if (e == cudaSuccess) return GP_OK;
    return fail(e == cudaErrorMemoryAllocation ? GP_NO_MEMORY : GP_DEVICE, "%s:%d: %s: %s", file, line, what, cudaGetErrorString(e));
}

static inline GpStatus cublas_status(cublasStatus_t e, const char *what, const char *file, int line)
{
    if (e == CUBLAS_STATUS_SUCCESS) return GP_OK;
    return fail(e == CUBLAS_STATUS_ALLOC_FAILED ? GP_NO_MEMORY : GP_DEVICE, "%s:%d: %s: %s", file, line, what, cublasGetStatusString(e));
}

static inline GpStatus cusolver_status(cusolverStatus_t e, const char *what, const char *file, int line)
{
    if (e == CUSOLVER_STATUS_SUCCESS) return GP_OK;
    return fail(e == CUSOLVER_STATUS_ALLOC_FAILED ? GP_NO_MEMORY : GP_DEVICE, "%s:%d: %s: cuSOLVER status %d", file, line, what, (int)e);
}

#define CUDA(call) cuda_status((call), #call, __FILE__, __LINE__)
#define CUBLAS(call) cublas_status((call), #call, __FILE__, __LINE__)
#define CUSOLVER(call) cusolver_status((call), #call, __FILE__, __LINE__)
