// NVIDIA's cuBLAS, in its default math mode: float32 is float32 (no TF32), float64 uses the double-precision tensor cores.
#include "common/cuda_steps.cuh"

typedef struct { void *arrays; size_t n; cublasHandle_t handle; } State;

static void release(void *state)
{
    State *s = (State *)state;
    if (!s) return;
    if (s->handle) (void)cublasDestroy(s->handle);
    arrays_release(s->arrays);
    free(s);
}

static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    State *s = (State *)calloc(1, sizeof *s);
    if (!s) return fail(GP_NO_MEMORY, "no host memory for an approach's state");
    *state = s;
    s->n = c->n;
    TRY(arrays_allocate(c, &s->arrays));
    TRY(CUBLAS(cublasCreate(&s->handle)));
    TRY(CUBLAS(cublasSetStream(s->handle, (cudaStream_t)c->stream)));
cleanup:
    return status;
}

static GpStatus upload(void *state, const Buffers *b) { return arrays_upload(((State *)state)->arrays, b); }
static GpStatus download(void *state, const Buffers *b) { return arrays_download(((State *)state)->arrays, b); }

static GpStatus run_f32(void *state)
{
    State *s = (State *)state;
    const DeviceArrays *a = (const DeviceArrays *)s->arrays;
    const int64_t n = (int64_t)s->n;
    const float one = 1, zero = 0, *A = (const float *)a->in[0], *B = (const float *)a->in[1];
    return CUBLAS(cublasSgemm_64(s->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, A, n, B, n, &zero, (float *)a->out, n));
}

static GpStatus run_f64(void *state)
{
    State *s = (State *)state;
    const DeviceArrays *a = (const DeviceArrays *)s->arrays;
    const int64_t n = (int64_t)s->n;
    const double one = 1, zero = 0, *A = (const double *)a->in[0], *B = (const double *)a->in[1];
    return CUBLAS(cublasDgemm_64(s->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, A, n, B, n, &zero, (double *)a->out, n));
}

const Approach matmul_cublas = { .idea = "cublasSgemm, cublasDgemm", .role = LIBRARY, .where = ON_CUDA, .probe = arrays_probe,
    .allocate = allocate, .upload = upload, .run = { run_f32, run_f64 }, .download = download, .release = release };
