/* One visit to one cell.
 *
 * Verified before timing on input set 0 and after it on input set 1, each after a run on the other set, so that neither a
 * stale output, nor one that is right on the first call only, nor a kernel that does nothing can pass. Kernel times come
 * from the host's clock around a batch (ON_HOST), from events on the stream (ON_CUDA) or from the worker (ON_WORKER); the
 * last two are checked against the host's clock, which sees work that a wrong stream or a missing wait would hide. */
#define _GNU_SOURCE
#include "bench/visit.h"
#include "bench/nvml.h"
#include "bench/statistics.h"
#include "bench/text.h"
#include "bench/verify.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_ROTATED = 64,          /* copies of the inputs for cold timing */
    FEWEST_SAMPLES = 10,       /* before the interval may end the sampling */
    MOST_SAMPLES = 100
};
static const double ROTATED_BYTES_LIMIT = 4e9;  /* for all copies together */
static const double CACHE_MULTIPLE = 3;         /* "cold": the copies hold this many times the last-level cache */
static const double CLOCK_MULTIPLE = 1000;      /* a host sample lasts this many times the clock's resolution */
static const double EVENT_SAMPLE_S = 500e-6;    /* a device sample: 1,000 times the events' resolution of about 0.5 us */
static const double GRAPH_BELOW_S = 20e-6;      /* shorter calls are launched through a graph */

/* An approach with what it made of one set of arrays. */
typedef struct {
    const Approach *approach;
    HostState host;            /* the state of an approach without `allocate` */
    void *own;                 /* the state of one with it */
    Buffers arrays;            /* a rotated host approach's own arrays */
} Runner;

static void *runner_state(Runner *r) { return r->approach->allocate ? r->own : &r->host; }

static GpStatus runner_create(Runner *r, const Case *c)
{
    *r = (Runner){ .approach = c->entry->approach, .host = { .c = *c } };
    return r->approach->allocate ? r->approach->allocate(c, &r->own) : GP_OK;
}

static GpStatus runner_upload(Runner *r, const Buffers *b)
{
    r->host.buffers = b;
    return r->approach->upload ? r->approach->upload(runner_state(r), b) : GP_OK;
}

static GpStatus runner_run(Runner *r) { return r->approach->run[r->host.c.precision](runner_state(r)); }

static GpStatus runner_download(Runner *r, const Buffers *b)
{
    return r->approach->download ? r->approach->download(runner_state(r), b) : GP_OK;
}

static void runner_destroy(Runner *r)
{
    if (r->approach && r->approach->release) r->approach->release(r->own);
    r->own = NULL;
    buffers_free(&r->arrays);
}

typedef struct {
    Cell *cell;
    const Registered *entry;
    const Approach *approach;
    const Inputs *in;
    const VisitOptions *o;
    Case c;
    Runner runner[MAX_ROTATED];
    size_t runners;
    NvmlState *nvml;
    Samples clocks;
} Visit;

static GpStatus wait_for_device(const Visit *v) { return v->o->device ? v->o->device->synchronize() : GP_OK; }

static int stopped(const Visit *v) { return v->o->cancelled && *v->o->cancelled; }

/* ---- verification ---- */

static GpStatus upload_and_run(Visit *v, int set, int check)
{
    GpStatus status = GP_OK;
    TRY(runner_upload(&v->runner[0], &v->in->set[set][check].buffers));
    TRY(runner_run(&v->runner[0]));
    TRY(wait_for_device(v));
cleanup:
    return status;
}

/* Runs all checks of a set; GP_BAD_DATA with the error if one is wrong. The cell keeps the largest error of check 0 (the data that is
 * timed). */
static GpStatus verify_set(Visit *v, int set, const char *when)
{
    GpStatus status = GP_OK;
    for (int k = 0; k < v->in->problem->checks; k++) {
        const InputSet *s = &v->in->set[set][k];
        poison(s->buffers.out, s->buffers.out_bytes);
        TRY(upload_and_run(v, set, k));
        TRY(runner_download(&v->runner[0], &s->buffers));
        const double error = v->in->problem->error(&s->c, &s->buffers, s->reference);
        if (k == 0 && !(error <= v->cell->error)) v->cell->error = error;
        if (k == 0) v->cell->tolerance = s->tolerance;
        if (!(error <= s->tolerance)) {
            v->cell->error = error;
            v->cell->tolerance = s->tolerance;
            return fail(GP_BAD_DATA, "wrong answer %s: error %.3g, at most %.3g can be rounding%s", when, error, s->tolerance,
                        isfinite(error) ? "" : " (an element was not written or is not finite)");
        }
    }
cleanup:
    return status;
}

/* A run foreseen as short may turn out long: a matrix whose columns all fall into one set of the cache is such a surprise. The first run of a
 * device or a framework is long for other reasons, so that theirs is repeated before it counts. It leaves an answer that is wrong for set 0. */
static GpStatus run_within_the_limit(Visit *v)
{
    GpStatus status = GP_OK;
    char took[32];
    double run_s = INFINITY;
    for (int tries = v->approach->where == ON_HOST ? 1 : 2; tries > 0 && run_s > v->o->options->run_s; tries--) {
        const double start = clock_s();
        TRY(upload_and_run(v, 1, 0));
        run_s = clock_s() - start;
    }
    if (run_s <= v->o->options->run_s) return GP_OK;
    text_time(run_s, took, sizeof took);
    status = fail(GP_UNAVAILABLE, "one run took %s; --max-run raises the limit of %g s", took, v->o->options->run_s);
cleanup:
    return status;
}

static GpStatus verify_before(Visit *v)
{
    GpStatus status = GP_OK;
    TRY(run_within_the_limit(v));
    TRY(verify_set(v, 0, "before timing"));
cleanup:
    return status;
}

/* ---- sampling ---- */

static int enough(const Visit *v, const Samples *s, double started_s)
{
    const MeasureOptions *o = v->o->options;
    if (s->count == 0) return 0;                                /* never zero samples */
    if (s->count >= MOST_SAMPLES || stopped(v) || clock_s() - started_s > o->visit_s) return 1;
    if (s->count < FEWEST_SAMPLES || s->count % 5) return 0;
    const Summary summary = summarise(s->value, s->count);
    return relative_half_width(&summary) <= o->half_width;
}

static void note_clock(Visit *v)
{
    double hz = 0;
    int throttled = 0;
    if (!v->nvml || !nvml_clock(v->nvml, &hz, &throttled)) return;
    if (hz > 0) (void)samples_add(&v->clocks, hz);
    v->cell->throttled += throttled != 0;
}

/* Seconds per call of a batch on the host, calls going round the runners. */
static GpStatus host_batch(Visit *v, size_t batch, size_t *turn, double *seconds)
{
    GpStatus status = GP_OK;
    const double start = clock_s();
    for (size_t i = 0; i < batch; i++) {
        TRY(runner_run(&v->runner[*turn]));
        *turn = (*turn + 1) % v->runners;
    }
    *seconds = clock_s() - start;
cleanup:
    return status;
}

static GpStatus time_on_host(Visit *v)
{
    GpStatus status = GP_OK;
    Samples *samples = &v->cell->times[TIME_KERNEL];
    const double shortest = CLOCK_MULTIPLE * clock_resolution_s();
    size_t batch = 1, turn = 0;
    double seconds = 0;
    for (;;) {                                                  /* grow the batch; also the warm-up */
        TRY(host_batch(v, batch, &turn, &seconds));
        if (seconds >= shortest || batch >= (size_t)1 << 30) break;
        const double factor = seconds > 0 ? 1.2 * shortest / seconds : 100;
        batch = (size_t)ceil((double)batch * (factor < 2 ? 2 : factor > 100 ? 100 : factor));
    }
    const double start = clock_s();
    if (seconds > v->o->options->visit_s / 2) TRY(samples_add(samples, seconds / (double)batch)); /* too slow to throw away */
    while (!enough(v, samples, start)) {
        TRY(host_batch(v, batch, &turn, &seconds));
        TRY(samples_add(samples, seconds / (double)batch));
    }
cleanup:
    return status;
}

/* The host saw the device busy long after the stream's last event: the kernel time would miss that work. */
static GpStatus check_covered(double device_s, double host_s, size_t calls)
{
    const double unseen = host_s - device_s;
    if (!(device_s > 0) || unseen > 0.5 * device_s + 2e-3 + 20e-6 * (double)calls)
        return fail(GP_BAD_DATA,
                    "the timer missed work: %.3g s on the stream, %.3g s until the device was idle; put all work on the case's stream",
                    device_s, host_s);
    return GP_OK;
}

static GpStatus time_on_device(Visit *v)
{
    GpStatus status = GP_OK;
    const Device *d = v->o->device;
    GpStatus (*run)(void *) = v->approach->run[v->c.precision];
    Samples *samples = &v->cell->times[TIME_KERNEL];
    void *states[MAX_ROTATED], *graph = NULL;
    double device_s = 0, host_s = 0;
    size_t batch = 1, calls;
    for (size_t i = 0; i < v->runners; i++) states[i] = runner_state(&v->runner[i]);
    for (;;) {
        TRY(d->time_batch(v->c.stream, run, states, v->runners, batch, &device_s, &host_s));
        if (device_s >= EVENT_SAMPLE_S || batch >= 4096) break;
        batch = device_s * 8 < EVENT_SAMPLE_S ? batch * 4 : batch * 2;
    }
    calls = batch;
    if (device_s / (double)batch < GRAPH_BELOW_S) {
        const GpStatus captured = d->graph_create(v->c.stream, run, states, v->runners, batch, &graph);
        v->cell->graph = captured == GP_OK;
        if (captured != GP_OK && captured != GP_UNAVAILABLE) { status = captured; goto cleanup; }
    }
    const double start = clock_s();
    if (device_s > v->o->options->visit_s / 2) TRY(samples_add(samples, device_s / (double)batch));
    while (!enough(v, samples, start)) {
        if (graph) TRY(d->graph_time(v->c.stream, graph, 1, &device_s, &host_s));
        else TRY(d->time_batch(v->c.stream, run, states, v->runners, batch, &device_s, &host_s));
        TRY(check_covered(device_s, host_s, calls));
        TRY(samples_add(samples, device_s / (double)calls));
        if (samples->count % 10 == 1) note_clock(v);
    }
cleanup:
    if (graph) d->graph_destroy(graph);
    return status;
}

/* A worker reports its own seconds: they must fit into what the host's clock saw, and explain most of it. */
static GpStatus time_on_worker(Visit *v)
{
    GpStatus status = GP_OK;
    Samples *samples = &v->cell->times[TIME_KERNEL];
    size_t batch = 1;
    double reported = 0;
    for (;;) {
        TRY(v->approach->timed_run(runner_state(&v->runner[0]), batch, &reported));
        if (reported >= EVENT_SAMPLE_S || batch >= 4096) break;
        batch *= 4;
    }
    const double start = clock_s();
    if (reported > v->o->options->visit_s / 2) TRY(samples_add(samples, reported / (double)batch));
    while (!enough(v, samples, start)) {
        const double before = clock_s();
        TRY(v->approach->timed_run(runner_state(&v->runner[0]), batch, &reported));
        const double seen = clock_s() - before;
        if (!(reported > 0) || reported > seen || seen - reported > reported + 20e-3 + 100e-6 * (double)batch) {
            status = fail(GP_BAD_DATA, "the worker reports %.3g s where the host saw %.3g s", reported, seen);
            goto cleanup;
        }
        TRY(samples_add(samples, reported / (double)batch));
        if (samples->count % 10 == 1) note_clock(v);
    }
cleanup:
    return status;
}

/* Upload, run, wait, download by the host's clock; `parts`: also into the cell's upload and download times. */
static GpStatus time_end_to_end(Visit *v, const Buffers *b, Time which, int parts)
{
    GpStatus status = GP_OK;
    Cell *cell = v->cell;
    const double started = clock_s();
    int warm = 0;
    while (!enough(v, &cell->times[which], started)) {
        const double t0 = clock_s();
        TRY(runner_upload(&v->runner[0], b));
        const double t1 = clock_s();
        TRY(runner_run(&v->runner[0]));
        TRY(wait_for_device(v));
        const double t2 = clock_s();
        TRY(runner_download(&v->runner[0], b));
        const double t3 = clock_s();
        if (!warm && t3 - t0 < v->o->options->visit_s / 2) { warm = 1; continue; }
        TRY(samples_add(&cell->times[which], t3 - t0));
        if (parts) {
            TRY(samples_add(&cell->times[TIME_UPLOAD], t1 - t0));
            TRY(samples_add(&cell->times[TIME_DOWNLOAD], t3 - t2));
        }
    }
cleanup:
    return status;
}

/* A host approach that returns early leaves its work to the download. */
static GpStatus check_finished(const Visit *v)
{
    const Samples *d = &v->cell->times[TIME_DOWNLOAD], *k = &v->cell->times[TIME_KERNEL];
    if (v->approach->where != ON_HOST || d->count == 0 || k->count == 0) return GP_OK;
    const double download = summarise(d->value, d->count).min, kernel = summarise(k->value, k->count).min;
    const double copy = 1e-3 + (double)v->in->set[0][0].buffers.out_bytes / 0.25e9;
    if (download > copy + 10 * kernel)
        return fail(GP_BAD_DATA, "run returns before its work is finished: %.3g s in run, %.3g s in download", kernel, download);
    return GP_OK;
}

/* ---- arrays ---- */

static GpStatus pinned_make(Pinned *p, const Device *d, const Buffers *like)
{
    GpStatus status = GP_OK;
    if (p->device) return GP_OK;
    p->device = d;
    p->buffers = *like;
    memset(p->buffers.in, 0, sizeof p->buffers.in);
    p->buffers.out = NULL;
    for (int i = 0; i < MAX_INPUTS; i++)
        if (like->in_bytes[i]) {
            TRY(d->host_alloc(&p->buffers.in[i], like->in_bytes[i]));
            memcpy(p->buffers.in[i], like->in[i], like->in_bytes[i]);
        }
    TRY(d->host_alloc(&p->buffers.out, like->out_bytes));
cleanup:
    if (status != GP_OK) pinned_free(p);
    return status;
}

void pinned_free(Pinned *p)
{
    if (!p->device) return;
    for (int i = 0; i < MAX_INPUTS; i++)
        if (p->buffers.in[i]) p->device->host_free(p->buffers.in[i]);
    if (p->buffers.out) p->device->host_free(p->buffers.out);
    *p = (Pinned){ .device = NULL };
}

/* How many copies of the arrays "cold" takes: their sum must be at least three times the cache. */
static size_t copies_for_cold(const Visit *v)
{
    const double set = (double)v->in->working_set, cache = (double)v->o->cache_bytes;
    if (!v->o->options->cold || cache == 0 || set == 0 || v->approach->where == ON_WORKER) return 1;
    double copies = ceil(CACHE_MULTIPLE * cache / set);
    if (copies > MAX_ROTATED) copies = MAX_ROTATED;
    while (copies > 1 && copies * set > ROTATED_BYTES_LIMIT) copies--;
    return (size_t)copies;
}

/* Every runner gets the timed inputs; runners 1.. of an approach that works in place get arrays of their own. Each runs once, since the
 * first run on fresh memory pays for its pages. Where that would take longer than a visit there are fewer: the row isn't marked cold. */
static GpStatus spread_inputs(Visit *v)
{
    GpStatus status = GP_OK;
    const Buffers *b = &v->in->set[0][0].buffers;
    const size_t copies = copies_for_cold(v);
    const double start = clock_s();
    TRY(runner_upload(&v->runner[0], b));
    while (v->runners < copies && clock_s() - start < v->o->options->visit_s) {
        Runner *r = &v->runner[v->runners];
        v->runners++;
        TRY(runner_create(r, &v->c));
        if (!v->approach->allocate) TRY(buffers_copy(&r->arrays, b));
        TRY(runner_upload(r, v->approach->allocate ? b : &r->arrays));
        TRY(runner_run(r));
    }
    TRY(wait_for_device(v));
    v->cell->fits_cache = v->o->cache_bytes > 0 && v->in->working_set <= v->o->cache_bytes;
    v->cell->cold = (double)v->runners * (double)v->in->working_set >= CACHE_MULTIPLE * (double)v->o->cache_bytes;
cleanup:
    return status;
}

static void drop_extra_runners(Visit *v)
{
    while (v->runners > 1) runner_destroy(&v->runner[--v->runners]);
}

/* ---- the visit ---- */

static GpStatus take_times(Visit *v, Pinned *pinned)
{
    GpStatus status = GP_OK;
    const MeasureOptions *o = v->o->options;
    const Buffers *plain = &v->in->set[0][0].buffers;
    TRY(spread_inputs(v));
    if (v->approach->where == ON_HOST) TRY(time_on_host(v));
    else if (v->approach->where == ON_CUDA) TRY(time_on_device(v));
    else TRY(time_on_worker(v));
    drop_extra_runners(v);
    if (v->approach->where == ON_CUDA) {
        if (o->times[TIME_E2E]) {
            TRY(pinned_make(pinned, v->o->device, plain));
            TRY(time_end_to_end(v, &pinned->buffers, TIME_E2E, 1));
        }
        if (o->times[TIME_E2E_PAGEABLE]) TRY(time_end_to_end(v, plain, TIME_E2E_PAGEABLE, 0));
    } else if (o->times[TIME_E2E]) {
        TRY(time_end_to_end(v, plain, TIME_E2E, 1));
    }
    TRY(check_finished(v));
cleanup:
    return status;
}

static void forget_times(Cell *cell)
{
    for (int t = 0; t < TIMES; t++) {
        memory_free(cell->times[t].value);
        cell->times[t] = (Samples){ .value = NULL };
    }
}

static void conclude(Visit *v, GpStatus status)
{
    Cell *cell = v->cell;
    if (status == GP_OK) {
        const Samples *k = &cell->times[TIME_KERNEL];
        const Summary summary = summarise(k->value, k->count);
        cell->state = CELL_OK;
        cell->unconverged = !(relative_half_width(&summary) <= v->o->options->half_width);
        cell->sm_clock_hz = v->clocks.count ? summarise(v->clocks.value, v->clocks.count).median : 0;
        return;
    }
    forget_times(cell);
    cell->state = status == GP_NO_MEMORY || status == GP_UNAVAILABLE || status == GP_CANCELLED ? CELL_SKIPPED : CELL_FAILED;
    snprintf(cell->reason, sizeof cell->reason, "%s", gp_message());
}

void visit(Cell *cell, const Registered *entry, const Inputs *in, Pinned *pinned, const VisitOptions *o, int *device_lost)
{
    GpStatus status = GP_OK;
    Visit *v = NULL;
    *device_lost = 0;
    if ((status = memory_alloc(&v, 1, sizeof *v, "a visit")) != GP_OK) {
        cell->state = CELL_SKIPPED;
        snprintf(cell->reason, sizeof cell->reason, "%s", gp_message());
        return;
    }
    *v = (Visit){ .cell = cell, .entry = entry, .approach = entry->approach, .in = in, .o = o, .c = in->set[0][0].c };
    v->c.entry = entry;
    cell->work = in->problem->work(&in->set[0][0].c);
    cell->error = 0;
    if (v->approach->where != ON_HOST) v->nvml = nvml_open(0);
    if (o->device) TRY(o->device->stream_create(&v->c.stream));
    v->runners = 1;
    TRY(runner_create(&v->runner[0], &v->c));
    TRY(verify_before(v));
    TRY(take_times(v, pinned));
    if (stopped(v)) { status = fail(GP_CANCELLED, "interrupted"); goto cleanup; }
    TRY(verify_set(v, 1, "after timing"));
cleanup:
    conclude(v, status);
    while (v->runners > 0) runner_destroy(&v->runner[--v->runners]);
    if (o->device) {
        if (v->c.stream) o->device->stream_destroy(v->c.stream);
        *device_lost = o->device->synchronize() != GP_OK;
    }
    nvml_close(v->nvml);
    memory_free(v->clocks.value);
    memory_free(v);
}

GpStatus measure_first_call(const Registered *entry, const RegisteredDevice *table, size_t table_count, const Case *c, double *seconds, double *error,
                            double *tolerance)
{
    GpStatus status = GP_OK;
    const Device *device = NULL;
    Runner runner = { .approach = NULL };
    Inputs in;
    Case own = *c;
    TRY(inputs_create_one(&in, entry->definition, entry->problem, c));
    own.entry = entry;
    for (size_t i = 0; i < table_count; i++)
        if (table[i].device->where == entry->approach->where) device = table[i].device;
    const double start = clock_s();
    if (device) TRY(device->stream_create(&own.stream));
    TRY(runner_create(&runner, &own));
    TRY(runner_upload(&runner, &in.set[0][0].buffers));
    TRY(runner_run(&runner));
    if (device) TRY(device->synchronize());
    TRY(runner_download(&runner, &in.set[0][0].buffers));
    *seconds = clock_s() - start;
    *error = entry->definition->error(&in.set[0][0].c, &in.set[0][0].buffers, in.set[0][0].reference);
    *tolerance = in.set[0][0].tolerance;
cleanup:
    runner_destroy(&runner);
    inputs_destroy(&in);
    return status;
}
