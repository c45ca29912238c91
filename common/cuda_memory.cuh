// Device memory for approaches and backends: refused with the numbers when it doesn't fit, and poisoned with NaN, so that
// a kernel that does nothing can't find an earlier kernel's right answer in recycled memory.
#pragma once
#include "common/cuda_try.cuh"
#include <stddef.h>

static inline GpStatus device_alloc(void **p, size_t bytes, const char *what)
{
    size_t available = 0, total = 0;
    *p = NULL;
    if (bytes == 0) bytes = 1;
    const cudaError_t e = cudaMalloc(p, bytes);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        return fail(GP_NO_MEMORY, "%s: needs %.3g GB of device memory, %.3g GB of %.3g GB are free; use a smaller n", what,
                    (double)bytes / 1e9, (double)available / 1e9, (double)total / 1e9);
    }
    GpStatus status = CUDA(e);
    if (status == GP_OK) status = CUDA(cudaMemset(*p, 0xFF, bytes));
    // The fill runs on the default stream, which a non-blocking stream does not wait for: an upload could come first and be overwritten.
    if (status == GP_OK) status = CUDA(cudaStreamSynchronize(cudaStreamLegacy));
    return status;
}

static inline void device_free(void *p) { (void)cudaFree(p); }

// NULL when there is a usable device, else why not; the answer of the first call is kept for the process.
static inline const char *cuda_unavailable(void)
{
    static thread_local int asked = 0;
    static thread_local const char *reason = NULL;
    int count = 0, driver = 0;
    if (!asked) {
        const cudaError_t e = cudaGetDeviceCount(&count);
        (void)cudaDriverGetVersion(&driver);   // 0 without a driver
        (void)cudaGetLastError();
        reason = e == cudaSuccess && count > 0                               ? NULL
                 : driver == 0 || e == cudaErrorNoDevice || e == cudaSuccess ? "no CUDA device"
                 : e == cudaErrorInsufficientDriver ? "the NVIDIA driver is older than the CUDA toolkit of this build; update it"
                                                    : cudaGetErrorString(e);
        asked = 1;
    }
    return reason;
}
