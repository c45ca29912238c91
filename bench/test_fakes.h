/* What the harness's own tests measure: a problem that depends on no lesson, an approach with a state as on a device, and a
 * device that is the host with a clock that the test sets. Included once by each test program. */
#ifndef TEST_FAKES_H
#define TEST_FAKES_H
#include "bench/device.h"
#include "bench/verify.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <pthread.h>
#include <string.h>

enum { N = 100000, BLOCK = 256 };

/* ---- the problem ---- */

static size_t fake_workspace;

static inline void shape(const Case *c, Buffers *b)
{
    const size_t bytes = c->n * precision_bytes(c->precision);
    *b = (Buffers){ .in_bytes = { bytes, bytes }, .out_bytes = bytes, .workspace_bytes = fake_workspace };
}

static inline GpStatus fill(const Case *c, const Buffers *b)
{
    for (int i = 0; i < 2; i++) random_fill_f64(b->in[i], c->n, c->seed, (uint64_t)i, 0.5, 1.5);
    return GP_OK;
}

static inline size_t reference_size(const Case *c) { return c->n; }

static inline GpStatus reference(const Case *c, const Buffers *b, double *r)
{
    for (size_t i = 0; i < c->n; i++) r[i] = element(b->in[0], i, c->precision) + element(b->in[1], i, c->precision);
    return GP_OK;
}

static inline double error_of(const Case *c, const Buffers *b, const double *r) { return relative_error(b->out, r, c->n, c->precision); }
static inline double tolerance(const Case *c, const Buffers *b, const double *r)
{
    (void)b;
    (void)r;
    return precision_epsilon(c->precision);
}
static inline Work work(const Case *c) { return (Work){ (double)c->n, 3 * (double)c->n * (double)precision_bytes(c->precision) }; }
static inline const size_t *sizes(int variant, int full) { static const size_t s[] = { N, 0 }; (void)variant; (void)full; return s; }

static const Problem sum_of_two = { .title = "c = a + b", .n_means = "elements", .checks = 1, .sizes = sizes, .shape = shape, .fill = fill,
    .reference_size = reference_size, .reference = reference, .error = error_of, .tolerance = tolerance, .work = work };

static inline void add(const HostState *s, size_t n)
{
    const double *a = s->buffers->in[0], *b = s->buffers->in[1];
    double *c = s->buffers->out;
    for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

/* ---- kernels with a state of their own, as on a device ---- */

typedef struct { const Buffers *b, *started_with; double *out; pthread_t thread; int running; size_t uploads, done, n; } Own;

static inline GpStatus own_allocate(const Case *c, void **state)
{
    GpStatus status = GP_OK;
    Own *own = NULL;
    TRY(memory_alloc(&own, 1, sizeof *own, "state"));
    *state = own;
    own->n = c->n;
    TRY(memory_alloc(&own->out, c->n, sizeof(double), "out"));
    poison(own->out, c->n * sizeof(double));
cleanup:
    return status;
}

static inline GpStatus own_upload(void *state, const Buffers *b) { ((Own *)state)->b = b; ((Own *)state)->uploads++; return GP_OK; }

static inline GpStatus own_run(void *state)
{
    Own *own = state;
    for (size_t i = 0; i < own->n; i++) own->out[i] = ((const double *)own->b->in[0])[i] + ((const double *)own->b->in[1])[i];
    return GP_OK;
}

static inline GpStatus finish(Own *own)
{
    if (own->running) pthread_join(own->thread, NULL);
    own->running = 0;
    return GP_OK;
}

static inline GpStatus own_download(void *state, const Buffers *b)
{
    memcpy(b->out, ((Own *)state)->out, ((Own *)state)->n * sizeof(double));
    return GP_OK;
}
static inline GpStatus own_join_and_download(void *state, const Buffers *b) { finish(state); return own_download(state, b); }
static inline void own_release(void *state)
{
    if (!state) return;
    finish(state);
    memory_free(((Own *)state)->out);
    memory_free(state);
}

/* ---- a device that is the host, with a clock that the test sets ---- */

static double device_factor; /* reported device seconds = host seconds times this */
static inline GpStatus fake_stream_create(void **s) { *s = &device_factor; return GP_OK; }
static inline void fake_stream_destroy(void *s) { (void)s; }
static inline GpStatus fake_synchronize(void) { return GP_OK; }
static inline GpStatus fake_time(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t batch, double *device_s,
                                 double *host_s)
{
    GpStatus status = GP_OK;
    (void)stream;
    const double start = clock_s();
    for (size_t i = 0; i < batch; i++) TRY(run(states[i % count]));
    *host_s = clock_s() - start;
    *device_s = *host_s * device_factor;
cleanup:
    return status;
}
static inline GpStatus no_graph(void *stream, GpStatus (*run)(void *), void **states, size_t count, size_t batch, void **graph)
{
    (void)stream; (void)run; (void)states; (void)count; (void)batch;
    *graph = NULL;
    return GP_UNAVAILABLE;
}
static inline GpStatus fake_host_alloc(void **p, size_t bytes) { return memory_alloc(p, bytes, 1, "pinned"); }
static const Device fake_device = { .name = "fake",
                                    .where = ON_CUDA,
                                    .stream_create = fake_stream_create,
                                    .stream_destroy = fake_stream_destroy,
                                    .synchronize = fake_synchronize,
                                    .time_batch = fake_time,
                                    .graph_create = no_graph,
                                    .host_alloc = fake_host_alloc,
                                    .host_free = memory_free };

#define IN_PLACE(f) ((Approach){ .role = NAIVE, .where = ON_HOST, .run = { [F64] = f } })
#define WITH_STATE(at, f, get)                                                                                                             \
    ((Approach){ .role = NAIVE,                                                                                                            \
                 .where = at,                                                                                                              \
                 .allocate = own_allocate,                                                                                                 \
                 .upload = own_upload,                                                                                                     \
                 .run = { [F64] = f },                                                                                                     \
                 .download = get,                                                                                                          \
                 .release = own_release })
#endif
