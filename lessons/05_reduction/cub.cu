// NVIDIA's CUB: cub::DeviceReduce::Sum, which every CUDA installation brings. Its order of additions is fixed for one card, not documented.
#include "common/cuda_steps.cuh"
#include <cub/device/device_reduce.cuh>

template <typename Real> static cudaError_t sum(DeviceArrays *s, size_t *bytes)
{
    return cub::DeviceReduce::Sum(s->workspace, *bytes, (const Real *)s->in[0], (Real *)s->out, (long long)s->n, s->stream);
}

static GpStatus allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    DeviceArrays *s = NULL;
    TRY(arrays_allocate(c, state));
    s = (DeviceArrays *)*state;
    // Without a workspace, the call asks for its size.
    TRY(CUDA(c->precision == F32 ? sum<float>(s, &s->workspace_bytes) : sum<double>(s, &s->workspace_bytes)));
    TRY(device_alloc(&s->workspace, s->workspace_bytes, "CUB's workspace"));
cleanup:
    return status;
}

template <typename Real> static GpStatus run(void *state)
{
    DeviceArrays *s = (DeviceArrays *)state;
    return CUDA(sum<Real>(s, &s->workspace_bytes));
}

const Approach reduction_cub = { .idea = "cub::DeviceReduce::Sum", .role = LIBRARY, .where = ON_CUDA, .probe = arrays_probe,
    .allocate = allocate, .upload = arrays_upload, .run = { run<float>, run<double> }, .download = arrays_download,
    .release = arrays_release };
