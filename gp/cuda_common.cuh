// What both CUDA backends do alike: device memory, copies with and without conversion, the stream. Included by each backend once;
// everything is static, so that a backend shows its whole table at its end. Every entry that touches the device first makes the
// context's device this thread's: a thread may hold contexts on several.
#pragma once
#include "common/cuda_memory.cuh"
#include "common/memory.h"
#include "gp/backend.h"
#include "gp/cuda_compiled.h"
#include "gp/cuda_expression.cuh"
#include <float.h>
#include <stdlib.h>

static inline size_t element_bytes(const GpContext *c) { return c->precision == GP_F64 ? sizeof(double) : sizeof(float); }
static inline cudaStream_t stream_of(const GpContext *c) { return (cudaStream_t)c->stream; }
static inline unsigned blocks_of(size_t n, unsigned threads) { return (unsigned)((n + threads - 1) / threads); }

static inline GpStatus use_device(const GpContext *c) { return CUDA(cudaSetDevice(c->device)); }

static GpStatus device_memory_free(GpContext *c, size_t *bytes)
{
    GpStatus status = GP_OK;
    size_t total = 0;
    TRY(use_device(c));
    TRY(CUDA(cudaMemGetInfo(bytes, &total)));
cleanup:
    return status;
}

static GpStatus array_alloc(GpContext *c, void **array, size_t count, const char *what)
{
    const GpStatus status = use_device(c);
    *array = NULL;
    if (status != GP_OK) return status;
    if (count > SIZE_MAX / element_bytes(c))
        return fail(GP_NO_MEMORY, "%s: %zu elements are more than any memory holds; use a smaller n", what, count);
    return device_alloc(array, count * element_bytes(c), what);
}

static void array_release(GpContext *c, void *array)
{
    if (array && use_device(c) == GP_OK) device_free(array);
}

static GpStatus upload_native(GpContext *c, void *array, const void *host, size_t bytes)
{
    GpStatus status = GP_OK;
    TRY(use_device(c));
    TRY(CUDA(cudaMemcpyAsync(array, host, bytes, cudaMemcpyHostToDevice, stream_of(c))));
    TRY(CUDA(cudaStreamSynchronize(stream_of(c))));
cleanup:
    return status;
}

static GpStatus download_native(GpContext *c, void *host, const void *array, size_t bytes)
{
    GpStatus status = GP_OK;
    TRY(use_device(c));
    TRY(CUDA(cudaMemcpyAsync(host, array, bytes, cudaMemcpyDeviceToHost, stream_of(c))));
    TRY(CUDA(cudaStreamSynchronize(stream_of(c))));
cleanup:
    return status;
}

// float32 goes through a host copy: half the bytes cross the bus, and rounding happens once, here.
static GpStatus upload(GpContext *c, void *array, const double *host, size_t count)
{
    GpStatus status = GP_OK;
    float *narrow = NULL;
    if (count == 0) return GP_OK;
    if (c->precision == GP_F64) return upload_native(c, array, host, count * sizeof(double));
    TRY(memory_alloc_uninitialised(&narrow, count, sizeof *narrow, "float32 copy of an upload"));
    for (size_t i = 0; i < count; i++) narrow[i] = (float)host[i];
    TRY(upload_native(c, array, narrow, count * sizeof *narrow));
cleanup:
    memory_free(narrow);
    return status;
}

static GpStatus download(GpContext *c, double *host, const void *array, size_t count)
{
    GpStatus status = GP_OK;
    float *narrow = NULL;
    if (count == 0) return GP_OK;
    if (c->precision == GP_F64) return download_native(c, host, array, count * sizeof(double));
    TRY(memory_alloc_uninitialised(&narrow, count, sizeof *narrow, "float32 copy of a download"));
    TRY(download_native(c, narrow, array, count * sizeof *narrow));
    for (size_t i = 0; i < count; i++) host[i] = (double)narrow[i];
cleanup:
    memory_free(narrow);
    return status;
}

static GpStatus array_copy(GpContext *c, void *to, const void *from, size_t count)
{
    const GpStatus status = use_device(c);
    return status == GP_OK ? CUDA(cudaMemcpyAsync(to, from, count * element_bytes(c), cudaMemcpyDeviceToDevice, stream_of(c))) : status;
}

template <typename Real> static __global__ void add_to_diagonal(size_t n, const Real *values, Real *K, size_t ld)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) K[i + i * ld] += values[i];
}

static GpStatus add_diagonal(GpContext *c, size_t n, const void *values, void *K, size_t ld)
{
    GpStatus status = GP_OK;
    TRY(use_device(c));
    if (c->precision == GP_F64)
        add_to_diagonal<double><<<blocks_of(n, 256), 256, 0, stream_of(c)>>>(n, (const double *)values, (double *)K, ld);
    else add_to_diagonal<float><<<blocks_of(n, 256), 256, 0, stream_of(c)>>>(n, (const float *)values, (float *)K, ld);
    TRY(CUDA(cudaGetLastError()));
cleanup:
    return status;
}

// The device of the context becomes this thread's; a stream is made where the caller gave none (*made says so).
static GpStatus open_device(GpContext *c, int *made)
{
    GpStatus status = GP_OK;
    int count = 0;
    *made = 0;
    TRY(CUDA(cudaGetDeviceCount(&count)));
    if (c->device < 0 || c->device >= count)
        return fail(GP_BAD_ARGUMENT, "device %d: this machine has %d GPUs, numbered from 0; choose one of them", c->device, count);
    TRY(use_device(c));
    if (c->stream) return GP_OK;
    TRY(CUDA(cudaStreamCreateWithFlags((cudaStream_t *)&c->stream, cudaStreamNonBlocking)));
    *made = 1;
cleanup:
    return status;
}

static void close_device(GpContext *c, int made)
{
    if (made && c->stream) (void)cudaStreamDestroy(stream_of(c));
    if (made) c->stream = NULL;
}

static_assert((int)expression::MAX_NODES == GP_MAX_NODES && (int)expression::MAX_PARAMETERS == GP_MAX_PARAMETERS &&
                  (int)expression::MAX_COLUMNS == GP_MAX_DIMENSIONS && (int)expression::RBF == GP_NODE_RBF &&
                  (int)expression::POWER == GP_NODE_POWER,
              "cuda_expression.cuh and expression.h differ");

static inline double largest_number(float) { return FLT_MAX; }
static inline double largest_number(double) { return DBL_MAX; }

// Any expression, for device code that looks at its nodes while it runs; passed by value.
template <typename Real> static expression::WalkedExpression<Real> walked_of(const GpExpression *e)
{
    expression::WalkedExpression<Real> w = {};
    w.d = e->d;
    w.count = e->nodes;
    w.numbers = e->parameters;
    for (int k = 0; k < e->nodes; k++) {
        const GpNode *node = &e->node[k];
        w.all[k] = { (unsigned char)node->kind,      (unsigned char)node->left,       (unsigned char)node->power,
                     (unsigned char)node->parameter, (unsigned char)node->parameters, node->dimensions };
    }
    for (int p = 0; p < e->parameters; p++) w.number[p] = (Real)gp_device_number(e, p, largest_number(Real()));
    return w;
}

// A constant times one rbf, which both backends have kernels of their own for.
template <typename Real> struct Rbf {
    int d;
    Real variance, inverse_length[GP_MAX_DIMENSIONS];
};

template <typename Real> static Rbf<Real> rbf_of(const GpRbf *k)
{
    Rbf<Real> r;
    r.d = (int)k->d;
    r.variance = (Real)k->variance;
    for (size_t j = 0; j < GP_MAX_DIMENSIONS; j++) r.inverse_length[j] = j < k->d ? (Real)k->inverse_length[j] : Real(0);
    return r;
}
