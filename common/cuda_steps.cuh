// The steps that most CUDA approaches share: device copies of the problem's arrays, moved on the case's stream. An approach then shows its
// kernel, its launch and its registration.
#pragma once
#include "bench/bench.h"
#include "common/cuda_memory.cuh"
#include <stdlib.h>

typedef struct {
    size_t n;
    cudaStream_t stream;
    void *in[MAX_INPUTS], *out;
    size_t in_bytes[MAX_INPUTS], out_bytes;
    void *workspace;                 // an approach's own, freed here
    size_t workspace_bytes;
} DeviceArrays;

static inline const char *arrays_probe(const Registered *entry)
{
    (void)entry;
    return cuda_unavailable();
}

static inline GpStatus arrays_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    Buffers shape = {};
    DeviceArrays *a = (DeviceArrays *)calloc(1, sizeof *a);
    if (!a) return fail(GP_NO_MEMORY, "no host memory for an approach's state");
    *state = a;
    a->n = c->n;
    a->stream = (cudaStream_t)c->stream;
    c->entry->definition->shape(c, &shape);
    for (int i = 0; i < MAX_INPUTS; i++) {
        a->in_bytes[i] = shape.in_bytes[i];
        if (shape.in_bytes[i]) TRY(device_alloc(&a->in[i], shape.in_bytes[i], "an input"));
    }
    a->out_bytes = shape.out_bytes;
    TRY(device_alloc(&a->out, shape.out_bytes, "the output"));
cleanup:
    return status;
}

static inline GpStatus arrays_upload(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    DeviceArrays *a = (DeviceArrays *)state;
    for (int i = 0; i < MAX_INPUTS; i++)
        if (a->in_bytes[i]) TRY(CUDA(cudaMemcpyAsync(a->in[i], b->in[i], a->in_bytes[i], cudaMemcpyHostToDevice, a->stream)));
    TRY(CUDA(cudaStreamSynchronize(a->stream)));
cleanup:
    return status;
}

static inline GpStatus arrays_download(void *state, const Buffers *b)
{
    GpStatus status = GP_OK;
    DeviceArrays *a = (DeviceArrays *)state;
    TRY(CUDA(cudaMemcpyAsync(b->out, a->out, a->out_bytes, cudaMemcpyDeviceToHost, a->stream)));
    TRY(CUDA(cudaStreamSynchronize(a->stream)));
cleanup:
    return status;
}

static inline void arrays_release(void *state)
{
    DeviceArrays *a = (DeviceArrays *)state;
    if (!a) return;
    for (int i = 0; i < MAX_INPUTS; i++) device_free(a->in[i]);
    device_free(a->out);
    device_free(a->workspace);
    free(a);
}
