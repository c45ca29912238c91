// A = L L' by NVIDIA's library: cusolverDnXpotrf, the 64-bit interface of cuSOLVER. The factorisation works in place, so run() copies A
// first, as the other approaches do. Workspaces are made in allocate(); the library's verdict (`info`) stays on the device until
// download() reads it, so that run() waits for nothing.
#include "bench/bench.h"
#include "common/cuda_memory.cuh"
#include "common/memory.h"
#include "common/try.h"
#include <stdint.h>

typedef struct {
    cudaStream_t stream;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    cudaDataType type;
    size_t n, bytes;                             // rows; bytes of the matrix
    void *a, *l, *device_work, *host_work;
    size_t device_work_bytes, host_work_bytes;
    int *info;
} State;

static const char *probe(const Registered *entry)
{
    (void)entry;
    return cuda_unavailable();
}

static GpStatus allocate_workspaces(State *s)
{
    GpStatus status = GP_OK;
    const int64_t n = (int64_t)s->n;
    TRY(CUSOLVER(cusolverDnXpotrf_bufferSize(s->handle, s->params, CUBLAS_FILL_MODE_LOWER, n, s->type, s->l, n, s->type,
                                             &s->device_work_bytes, &s->host_work_bytes)));
    TRY(device_alloc(&s->device_work, s->device_work_bytes, "cholesky: workspace"));
    TRY(memory_alloc(&s->host_work, s->host_work_bytes, 1, "cholesky: workspace"));
cleanup:
    return status;
}

static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = NULL;
    TRY(memory_alloc(&s, 1, sizeof *s, "cholesky: state"));
    *state = s;
    s->stream = (cudaStream_t)c->stream;
    s->type = c->precision == F32 ? CUDA_R_32F : CUDA_R_64F;
    s->n = c->n;
    s->bytes = c->n * c->n * precision_bytes(c->precision);
    TRY(CUSOLVER(cusolverDnCreate(&s->handle)));
    TRY(CUSOLVER(cusolverDnSetStream(s->handle, s->stream)));
    TRY(CUSOLVER(cusolverDnCreateParams(&s->params)));
    TRY(device_alloc(&s->a, s->bytes, "cholesky: matrix"));
    TRY(device_alloc(&s->l, s->bytes, "cholesky: factor"));
    TRY(device_alloc((void **)&s->info, sizeof *s->info, "cholesky: info"));
    TRY(allocate_workspaces(s));
cleanup:
    return status;
}

static GpStatus upload(void *state, const Buffers *b)
{
    State *s = (State *)state;
    GpStatus status = CUDA(cudaMemcpyAsync(s->a, b->in[0], s->bytes, cudaMemcpyHostToDevice, s->stream));
    return status == GP_OK ? CUDA(cudaStreamSynchronize(s->stream)) : status;
}

static GpStatus run(void *state)
{
    GpStatus status = GP_OK;
    State *s = (State *)state;
    const int64_t n = (int64_t)s->n;
    TRY(CUDA(cudaMemcpyAsync(s->l, s->a, s->bytes, cudaMemcpyDeviceToDevice, s->stream)));
    TRY(CUSOLVER(cusolverDnXpotrf(s->handle, s->params, CUBLAS_FILL_MODE_LOWER, n, s->type, s->l, n, s->type, s->device_work,
                                  s->device_work_bytes, s->host_work, s->host_work_bytes, s->info)));
cleanup:
    return status;
}

// info < 0: argument number -info is wrong, our mistake; info > 0: the leading minor of that order is not positive definite.
static GpStatus download(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    State *s = (State *)state;
    int info = 0;
    TRY(CUDA(cudaMemcpyAsync(&info, s->info, sizeof info, cudaMemcpyDeviceToHost, s->stream)));
    TRY(CUDA(cudaMemcpyAsync(b->out, s->l, s->bytes, cudaMemcpyDeviceToHost, s->stream)));
    TRY(CUDA(cudaStreamSynchronize(s->stream)));
    if (info < 0) return fail(GP_DEVICE, "cholesky: cusolverDnXpotrf refused its argument %d", -info);
    if (info > 0) return fail(GP_NOT_POSITIVE_DEFINITE, "cholesky: the pivot of row %d of %zu is not positive", info - 1, s->n);
cleanup:
    return status;
}

static void release(void *state)
{
    State *s = (State *)state;
    if (!s) return;
    device_free(s->info);
    device_free(s->device_work);
    device_free(s->l);
    device_free(s->a);
    if (s->params) (void)cusolverDnDestroyParams(s->params);
    if (s->handle) (void)cusolverDnDestroy(s->handle);
    memory_free(s->host_work);
    memory_free(s);
}

const Approach cholesky_cusolver = {
    .idea = "cuSOLVER's Xpotrf",
    .role = LIBRARY,
    .where = ON_CUDA,
   
    .probe = probe,
    .allocate = allocate,
    .upload = upload,
    .run = { run, run },
    .download = download,
    .release = release,
    .timed_run = NULL,
};
