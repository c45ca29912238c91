// The CUDA device as the harness sees it: events, graphs, pinned memory, and the measured ceilings. The roof kernels are
// the plainest that reach the ceiling; each roof is the best median of several launch shapes, so that no approach is compared
// with a badly tuned one. STREAM's triad (McCalpin 1995) moves three arrays, copy two, read and write one.
#include "bench/device.h"
#include "common/clock.h"
#include "common/cuda_memory.cuh"
#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- streams and batches ----

static const char *unavailable(void) { return cuda_unavailable(); }

static GpStatus facts(DeviceFacts *out)
{
    GpStatus status = GP_OK;
    cudaDeviceProp p;
    size_t total = 0;
    TRY(CUDA(cudaGetDeviceProperties(&p, 0)));
    snprintf(out->name, sizeof out->name, "%.127s", p.name);
    out->compute_capability = 10 * p.major + p.minor;
    out->multiprocessors = p.multiProcessorCount;
    out->l2_bytes = (size_t)p.l2CacheSize;
    TRY(CUDA(cudaMemGetInfo(&out->free_bytes, &total)));
    out->memory_bytes = total;
    TRY(CUDA(cudaRuntimeGetVersion(&out->runtime_version)));
    TRY(CUDA(cudaDriverGetVersion(&out->driver_version)));
cleanup:
    return status;
}

static GpStatus stream_create(void **stream) { return CUDA(cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking)); }
static void stream_destroy(void *stream) { (void)cudaStreamDestroy((cudaStream_t)stream); }
static GpStatus synchronize(void) { return CUDA(cudaDeviceSynchronize()); }


typedef struct { cudaEvent_t begin, end; } Events;

static GpStatus events_create(Events *e)
{
    GpStatus status = GP_OK;
    TRY(CUDA(cudaEventCreate(&e->begin)));
    TRY(CUDA(cudaEventCreate(&e->end)));
cleanup:
    return status;
}

static void events_destroy(Events *e)
{
    if (e->begin) (void)cudaEventDestroy(e->begin);
    if (e->end) (void)cudaEventDestroy(e->end);
}

// Waits for the whole device, not only for the stream: work that went elsewhere then shows in host_s.
static GpStatus events_read(Events *e, cudaStream_t stream, double started, double *device_s, double *host_s)
{
    GpStatus status = GP_OK;
    float ms = 0;
    TRY(CUDA(cudaEventRecord(e->end, stream)));
    TRY(CUDA(cudaDeviceSynchronize()));
    *host_s = clock_s() - started;
    TRY(CUDA(cudaEventElapsedTime(&ms, e->begin, e->end)));
    *device_s = 1e-3 * (double)ms;
cleanup:
    return status;
}

static GpStatus time_batch(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t batch, double *device_s,
                           double *host_s)
{
    GpStatus status = GP_OK;
    Events e = { NULL, NULL };
    double started = 0;
    TRY(events_create(&e));
    TRY(CUDA(cudaDeviceSynchronize()));
    started = clock_s();
    TRY(CUDA(cudaEventRecord(e.begin, (cudaStream_t)stream)));
    for (size_t i = 0; i < batch; i++) TRY(run(states[i % count]));
    TRY(events_read(&e, (cudaStream_t)stream, started, device_s, host_s));
cleanup:
    events_destroy(&e);
    return status;
}

// ---- graphs ----

// An approach that waits inside run breaks the capture: that is no error, it just can't be timed this way.
static GpStatus graph_create(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t calls, void **graph)
{
    GpStatus status = GP_OK;
    cudaStream_t s = (cudaStream_t)stream;
    cudaGraph_t captured = NULL;
    cudaGraphExec_t exec = NULL;
    cudaError_t ended = cudaSuccess;
    *graph = NULL;
    TRY(CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)));
    for (size_t i = 0; i < calls && status == GP_OK; i++) status = run(states[i % count]);
    ended = cudaStreamEndCapture(s, &captured);
    if (status != GP_OK || ended != cudaSuccess || !captured) {
        (void)cudaGetLastError();
        status = GP_UNAVAILABLE;
        goto cleanup;
    }
    TRY(CUDA(cudaGraphInstantiate(&exec, captured, 0)));
    TRY(CUDA(cudaGraphLaunch(exec, s)));   // the first launch uploads the graph
    TRY(CUDA(cudaStreamSynchronize(s)));
    *graph = (void *)exec;
cleanup:
    if (captured) (void)cudaGraphDestroy(captured);
    return status;
}

static GpStatus graph_time(void *stream, void *graph, size_t launches, double *device_s, double *host_s)
{
    GpStatus status = GP_OK;
    Events e = { NULL, NULL };
    double started = 0;
    TRY(events_create(&e));
    TRY(CUDA(cudaDeviceSynchronize()));
    started = clock_s();
    TRY(CUDA(cudaEventRecord(e.begin, (cudaStream_t)stream)));
    for (size_t i = 0; i < launches; i++) TRY(CUDA(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream)));
    TRY(events_read(&e, (cudaStream_t)stream, started, device_s, host_s));
cleanup:
    events_destroy(&e);
    return status;
}

static void graph_destroy(void *graph) { (void)cudaGraphExecDestroy((cudaGraphExec_t)graph); }

static GpStatus host_alloc(void **p, size_t bytes)
{
    const cudaError_t e = cudaHostAlloc(p, bytes ? bytes : 1, cudaHostAllocDefault);
    (void)cudaGetLastError();
    if (e == cudaErrorMemoryAllocation)
        return fail(GP_NO_MEMORY, "%.3g GB of pinned host memory refused; use a smaller n", (double)bytes / 1e9);
    return CUDA(e);
}

static void host_free(void *p) { (void)cudaFreeHost(p); }

// ---- roofs ----

enum { ROOF_THREADS = 256, ROOF_REPEATS = 9 };
static const size_t ROOF_BYTES = (size_t)1 << 30;   // per array; far above any L2

// Each block takes a contiguous run of UNROLL x 256 vectors, all loads before the first use.
template <int UNROLL> __global__ void copy_kernel(size_t n, const float4 *a, float4 *c)
{
    const size_t first = blockIdx.x * (size_t)(UNROLL * ROOF_THREADS) + threadIdx.x;
    float4 v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) if (first + k * ROOF_THREADS < n) v[k] = __ldcs(a + first + k * ROOF_THREADS);
#pragma unroll
    for (int k = 0; k < UNROLL; k++) if (first + k * ROOF_THREADS < n) __stcs(c + first + k * ROOF_THREADS, v[k]);
}

template <int UNROLL> __global__ void triad_kernel(size_t n, const float4 *a, const float4 *b, float4 *c)
{
    const size_t first = blockIdx.x * (size_t)(UNROLL * ROOF_THREADS) + threadIdx.x;
    float4 u[UNROLL], v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) if (first + k * ROOF_THREADS < n) {
        u[k] = __ldcs(a + first + k * ROOF_THREADS);
        v[k] = __ldcs(b + first + k * ROOF_THREADS);
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++) if (first + k * ROOF_THREADS < n)
            __stcs(c + first + k * ROOF_THREADS,
                   make_float4(u[k].x + 0.5f * v[k].x, u[k].y + 0.5f * v[k].y, u[k].z + 0.5f * v[k].z, u[k].w + 0.5f * v[k].w));
}

template <int UNROLL> __global__ void write_kernel(size_t n, float4 *c, float value)
{
    const size_t first = blockIdx.x * (size_t)(UNROLL * ROOF_THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        if (first + k * ROOF_THREADS < n) __stcs(c + first + k * ROOF_THREADS, make_float4(value, value, value, value));
}

// Reads everything and keeps one number per block, which no compiler can drop.
template <int UNROLL> __global__ void read_kernel(size_t n, const float4 *a, float *sink)
{
    float sum = 0;
    for (size_t first = blockIdx.x * (size_t)(UNROLL * ROOF_THREADS) + threadIdx.x; first < n;
         first += gridDim.x * (size_t)(UNROLL * ROOF_THREADS)) {
        float4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            v[k] = first + k * ROOF_THREADS < n ? __ldcs(a + first + k * ROOF_THREADS) : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    if (sum == -1.25f) sink[blockIdx.x] = sum;
}

enum RoofKind { ROOF_COPY, ROOF_TRIAD, ROOF_READ, ROOF_WRITE };
static const double ROOF_ARRAYS[] = { 2, 3, 1, 1 };

template <int UNROLL> static void roof_launch(RoofKind kind, size_t n, float4 *a, float4 *b, float4 *c, int blocks_per_sm, int sms)
{
    const unsigned grid = (unsigned)((n + UNROLL * ROOF_THREADS - 1) / (UNROLL * ROOF_THREADS));
    if (kind == ROOF_COPY) copy_kernel<UNROLL><<<grid, ROOF_THREADS>>>(n, a, c);
    else if (kind == ROOF_TRIAD) triad_kernel<UNROLL><<<grid, ROOF_THREADS>>>(n, a, b, c);
    else if (kind == ROOF_WRITE) write_kernel<UNROLL><<<grid, ROOF_THREADS>>>(n, c, 1.0f);
    else read_kernel<UNROLL><<<(unsigned)(blocks_per_sm * sms), ROOF_THREADS>>>(n, a, (float *)c);
}

// Median seconds of `repeats` timings of one launch function, after a warm-up.
template <class Launch> static GpStatus median_time(Launch launch, int repeats, double *median)
{
    GpStatus status = GP_OK;
    Events e = { NULL, NULL };
    double seconds[ROOF_REPEATS], host_s = 0;
    TRY(events_create(&e));
    for (int i = -1; i < repeats; i++) {
        double s = 0;
        TRY(CUDA(cudaEventRecord(e.begin, 0)));
        TRY(launch());
        TRY(events_read(&e, 0, clock_s(), &s, &host_s));
        if (i >= 0) seconds[i] = s;
    }
    std::sort(seconds, seconds + repeats);
    *median = seconds[repeats / 2];
cleanup:
    events_destroy(&e);
    return status;
}

static GpStatus memory_roof(RoofKind kind, double *rate)
{
    GpStatus status = GP_OK;
    void *array[3] = { NULL, NULL, NULL };
    const size_t n = ROOF_BYTES / sizeof(float4);
    double seconds = 0;
    int sms = 0;
    *rate = 0;
    TRY(CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0)));
    for (int i = 0; i < 3; i++) {
        TRY(device_alloc(&array[i], ROOF_BYTES, "a roof's array"));
        TRY(CUDA(cudaMemset(array[i], 0x3f, ROOF_BYTES)));   // 0.747...: neither zero nor NaN
    }
    for (int unroll = 1; unroll <= 8; unroll *= 2) {
        auto launch = [&]() {
            float4 *a = (float4 *)array[0], *b = (float4 *)array[1], *c = (float4 *)array[2];
            if (unroll == 1) roof_launch<1>(kind, n, a, b, c, 8, sms);
            else if (unroll == 2) roof_launch<2>(kind, n, a, b, c, 8, sms);
            else if (unroll == 4) roof_launch<4>(kind, n, a, b, c, 8, sms);
            else roof_launch<8>(kind, n, a, b, c, 8, sms);
            return CUDA(cudaGetLastError());
        };
        TRY(median_time(launch, ROOF_REPEATS, &seconds));
        *rate = std::max(*rate, ROOF_ARRAYS[kind] * (double)ROOF_BYTES / seconds);
    }
    if (kind == ROOF_COPY) {
        TRY(median_time([&]() { return CUDA(cudaMemcpyAsync(array[2], array[0], ROOF_BYTES, cudaMemcpyDeviceToDevice, 0)); }, ROOF_REPEATS,
                        &seconds));
        *rate = std::max(*rate, 2 * (double)ROOF_BYTES / seconds);
    }
    if (kind == ROOF_WRITE) {
        TRY(median_time([&]() { return CUDA(cudaMemsetAsync(array[2], 0x3f, ROOF_BYTES, 0)); }, ROOF_REPEATS, &seconds));
        *rate = std::max(*rate, (double)ROOF_BYTES / seconds);
    }
cleanup:
    for (int i = 0; i < 3; i++) device_free(array[i]);
    return status;
}

// Not zeros, not one value: real data costs power, and power costs clock.
template <typename Real> __global__ void fill_kernel(size_t n, Real *x)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) x[i] = (Real)((double)((i * 2654435761u) & 0xffffff) / 16777216.0 - 0.5);
}

static cublasStatus_t gemm(cublasHandle_t h, int n, const float *a, const float *b, float *c)
{
    const float one = 1, zero = 0;
    return cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}

static cublasStatus_t gemm(cublasHandle_t h, int n, const double *a, const double *b, double *c)
{
    const double one = 1, zero = 0;
    return cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}

template <typename Real> static GpStatus matmul_roof(double *rate)
{
    GpStatus status = GP_OK;
    void *a = NULL, *b = NULL, *c = NULL;
    cublasHandle_t handle = NULL;
    double seconds = 0;
    *rate = 0;
    TRY(CUBLAS(cublasCreate(&handle)));
    for (int n = 4096; n <= 16384; n *= 2) {
        const size_t count = (size_t)n * (size_t)n;
        TRY(device_alloc(&a, count * sizeof(Real), "a roof's matrix"));
        TRY(device_alloc(&b, count * sizeof(Real), "a roof's matrix"));
        TRY(device_alloc(&c, count * sizeof(Real), "a roof's matrix"));
        fill_kernel<Real><<<(unsigned)((count + 255) / 256), 256>>>(count, (Real *)a);
        fill_kernel<Real><<<(unsigned)((count + 255) / 256), 256>>>(count, (Real *)b);
        TRY(CUDA(cudaGetLastError()));
        TRY(median_time([&]() { return CUBLAS(gemm(handle, n, (const Real *)a, (const Real *)b, (Real *)c)); }, n > 8192 ? 3 : 5,
                        &seconds));
        *rate = std::max(*rate, 2.0 * n * (double)n * n / seconds);
        device_free(a), device_free(b), device_free(c);
        a = b = c = NULL;
        if (seconds > 1) break;   // a card with slow double precision
    }
cleanup:
    device_free(a), device_free(b), device_free(c);
    if (handle) (void)cublasDestroy(handle);
    return status;
}

static GpStatus transfer_roof(int to_device, int pinned, double *rate)
{
    GpStatus status = GP_OK;
    const size_t bytes = (size_t)1 << 28;
    void *host = NULL, *device = NULL;
    double seconds = 0;
    TRY(device_alloc(&device, bytes, "a roof's array"));
    if (pinned) TRY(host_alloc(&host, bytes));
    else if (!(host = malloc(bytes))) { status = fail(GP_NO_MEMORY, "256 MB of host memory refused"); goto cleanup; }
    memset(host, 0x3f, bytes);
    TRY(median_time([&]() {
        return CUDA(to_device ? cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0)
                              : cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0));
    }, 5, &seconds));
    *rate = (double)bytes / seconds;
cleanup:
    if (pinned && host) host_free(host);
    else free(host);
    device_free(device);
    return status;
}

static GpStatus roof(int i, const char **name, double *rate)
{
    static const char *const names[] = { "copy",       "triad",      "read",       "write",        "matmul_f32",
                                         "matmul_f64", "h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable" };
    *name = i >= 0 && i < 10 ? names[i] : "";
    if (i >= 0 && i < 4) return memory_roof((RoofKind)i, rate);
    if (i == 4) return matmul_roof<float>(rate);
    if (i == 5) return matmul_roof<double>(rate);
    if (i >= 6 && i < 10) return transfer_roof(i % 2 == 0, i < 8, rate);
    return fail(GP_BAD_ARGUMENT, "roof %d: there are 10", i);
}

// extern "C": a namespace-scope const is otherwise internal in C++.
extern "C" const Device bench_device_cuda = {
    .name = "cuda", .where = ON_CUDA, .unavailable = unavailable, .facts = facts, .stream_create = stream_create,
    .stream_destroy = stream_destroy, .synchronize = synchronize, .time_batch = time_batch, .graph_create = graph_create,
    .graph_time = graph_time, .graph_destroy = graph_destroy, .host_alloc = host_alloc, .host_free = host_free, .roof = roof,
};
