/* CUDA's runtime on a CPU: what a .cu file sees instead of NVIDIA's header when cudasim compiles it. Types, host functions and device functions
 * have CUDA's names, arguments and errors; ../README.md says what is missing. The translator (../translate.cpp) has removed what C++ can't parse. */
#ifndef CUDASIM_CUDA_RUNTIME_H
#define CUDASIM_CUDA_RUNTIME_H
#include <assert.h>
#include <cmath>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cudasim/vector_types.h"

#define CUDART_VERSION 13000

/* ---- host functions ---- */

enum cudaError {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9, cudaErrorInvalidSymbol = 13, cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidMemcpyDirection = 21, cudaErrorStubLibrary = 34, cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600, cudaErrorIllegalAddress = 700, cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702, cudaErrorAssert = 710, cudaErrorLaunchFailure = 719, cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900, cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2 } cudaDataType;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10, cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
       cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4,
       cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaCpuDeviceId = -1 };
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

typedef struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem;
    int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], maxThreadsPerMultiProcessor,
        maxBlocksPerMultiProcessor, regsPerBlock, regsPerMultiprocessor, l2CacheSize, memoryBusWidth, concurrentKernels, unifiedAddressing,
        managedMemory, concurrentManagedAccess, canMapHostMemory, cooperativeLaunch, asyncEngineCount, ECCEnabled, integrated, pciBusID, pciDeviceID;
} cudaDeviceProp;

extern "C" {
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t e);
const char *cudaGetErrorName(cudaError_t e);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, int device, cudaStream_t stream = 0);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
/* `space`: 0 device, 1 managed, 2 pinned host memory */
cudaError_t cudasim_malloc(void **p, size_t bytes, int space);
cudaError_t cudasim_symbol_copy(const void *symbol, size_t symbol_bytes, size_t offset, void *other, size_t bytes, int to_symbol);
cudaError_t cudasim_allow_shared(enum cudaFuncAttribute attribute, int bytes);
int cudasim_blocks_per_sm(int threads, size_t shared);
}
template <typename T> CUDASIM_INLINE cudaError_t cudaMalloc(T **p, size_t bytes) { return cudasim_malloc((void **)p, bytes, 0); }
template <typename T> CUDASIM_INLINE cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = cudaMemAttachGlobal) { return cudasim_malloc((void **)p, bytes, 1); }
template <typename T> CUDASIM_INLINE cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0) { return cudasim_malloc((void **)p, bytes, 2); }
template <typename T> CUDASIM_INLINE cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned) { return cudasim_malloc((void **)p, bytes, 2); }
template <typename T> CUDASIM_INLINE cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned) { *device = (T *)host; return cudaSuccess; }
template <typename T> CUDASIM_INLINE cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudasim_malloc((void **)p, *pitch * height, 0);
}
template <typename T> CUDASIM_INLINE cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t) { return cudasim_malloc((void **)p, bytes, 0); }
inline cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
template <typename T>
CUDASIM_INLINE cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    return cudasim_symbol_copy(&symbol, sizeof symbol, offset, (void *)from, bytes, 1);
}
template <typename T>
CUDASIM_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    return cudasim_symbol_copy(&symbol, sizeof symbol, offset, to, bytes, 0);
}
template <typename T> CUDASIM_INLINE cudaError_t cudaGetSymbolAddress(void **p, const T &symbol) { *p = (void *)&symbol; return cudaSuccess; }
template <typename F> cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute attribute, int value) { return cudasim_allow_shared(attribute, value); }
template <typename F> cudaError_t cudaFuncSetCacheConfig(F *, cudaFuncCache) { return cudaSuccess; }
template <typename F> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *, int threads, size_t shared)
{
    *blocks = cudasim_blocks_per_sm(threads, shared);
    return cudaSuccess;
}
template <typename F> cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F *, size_t = 0, int = 0)
{
    int sms = 0;
    cudaError_t e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    *block = 1024;
    *grid = 2 * sms;
    return e;
}

#include "cudasim/launch.h"
#include "cudasim/device_functions.h"
#include "cudasim/unsupported.h"
#endif
