/* A device's clock and ceilings, for the harness. One Device per kind, at the end of its own file; the generated table
 * `devices` lists them. Streams, events and graphs are the device's own objects behind void pointers. */
#ifndef DEVICE_H
#define DEVICE_H
#include "bench/bench.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char name[128];              /* "NVIDIA H200" */
    int compute_capability;      /* 90 */
    int multiprocessors;
    size_t memory_bytes, free_bytes, l2_bytes;
    int runtime_version, driver_version; /* 13000 */
} DeviceFacts;

typedef struct {
    const char *name;            /* "cuda" */
    Where where;
    const char *(*unavailable)(void); /* NULL when usable; else "no CUDA device" or what is wrong with the driver */
    GpStatus (*facts)(DeviceFacts *out);
    GpStatus (*stream_create)(void **stream);
    void (*stream_destroy)(void *stream);
    GpStatus (*synchronize)(void);        /* everything on the device, not just one stream */
    /* Seconds between two events around `batch` calls of run(state) for state = states[i mod count], and the host's
     * seconds from the first call until the whole device is idle, which must not be much larger. */
    GpStatus (*time_batch)(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t batch,
                           double *device_s, double *host_s);
    /* A graph of one call for each state, for launches too short to time one by one. GP_UNAVAILABLE when the approach
     * cannot be captured (it waits inside run). */
    GpStatus (*graph_create)(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t calls, void **graph);
    GpStatus (*graph_time)(void *stream, void *graph, size_t launches, double *device_s, double *host_s);
    void (*graph_destroy)(void *graph);
    GpStatus (*host_alloc)(void **p, size_t bytes);  /* pinned */
    void (*host_free)(void *p);
    /* Measured ceiling number `i`: its name ("copy", "triad", "read", "write" in bytes/s; "matmul_f32", "matmul_f64" in
     * flop/s; "h2d_pinned", ... in bytes/s). GP_BAD_ARGUMENT past the last. */
    GpStatus (*roof)(int i, const char **name, double *rate);
} Device;

/* Generated: one entry per kind. */
typedef struct { const char *name; const Device *device; } RegisteredDevice;
extern const RegisteredDevice devices[];
extern const size_t devices_size;

#ifdef __cplusplus
}
#endif
#endif
