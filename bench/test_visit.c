/* Wrong kernels must be refused, each for its own reason, and right ones accepted: the list at the end of the harness's
 * design, run through the same visit() that measures real approaches. The problem is c = a + b with its own definition here, so
 * that these tests depend on no lesson. */
#define _GNU_SOURCE
#include "bench/visit.h"
#include "bench/nvml.h"
#include "bench/test_fakes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a management library of our own, in place of bench/nvml.c: the clock of a card that always throttles ---- */

struct NvmlState { int nothing; };
static struct NvmlState always_throttled;
NvmlState *nvml_open(unsigned device) { return device == 0 ? &always_throttled : NULL; }
void nvml_close(NvmlState *s) { (void)s; }
int nvml_facts(NvmlState *s, NvmlFacts *f) { (void)s; memset(f, 0, sizeof *f); return 0; }
int nvml_clock(NvmlState *s, double *hz, int *throttled) { (void)s; *hz = 345e6; *throttled = 1; return 1; }

/* ---- kernels on the host's arrays ---- */

static int calls;
static GpStatus right(void *state) { add(state, N); return GP_OK; }
static GpStatus does_nothing(void *state) { (void)state; return GP_OK; }
static GpStatus all_but_the_last_block(void *state) { add(state, N - BLOCK); return GP_OK; }
static GpStatus first_call_only(void *state) { if (calls++ == 0) add(state, N); return GP_OK; }
static GpStatus wrong_after_ten_calls(void *state)
{
    if (calls++ < 10) add(state, N);
    else ((double *)((HostState *)state)->buffers->out)[7] = 0;
    return GP_OK;
}
static GpStatus one_nan(void *state)
{
    add(state, N);
    ((double *)((HostState *)state)->buffers->out)[N / 2] = strtod("nan", NULL);
    return GP_OK;
}
static GpStatus one_element_off(void *state)
{
    add(state, N);
    ((double *)((HostState *)state)->buffers->out)[N - 1] *= 1.001;
    return GP_OK;
}
static GpStatus fails(void *state) { (void)state; return (fail)(GP_DEVICE, "the card is on fire"); }
static GpStatus slow(void *state) { usleep(80000); return right(state); }
static GpStatus in_float32(void *state)
{
    const HostState *s = state;
    for (size_t i = 0; i < N; i++)
        ((double *)s->buffers->out)[i] = (double)((float)((double *)s->buffers->in[0])[i] + (float)((double *)s->buffers->in[1])[i]);
    return GP_OK;
}

/* ---- kernels with a state of their own, as on a device ---- */

/* Computes once and then always answers with that. */
static GpStatus own_run_once(void *state) { return ((Own *)state)->uploads == 1 ? own_run(state) : GP_OK; }

/* Works on the inputs of the moment it was started, as a kernel would. */
static void *later(void *state)
{
    Own *own = state, started = *own;
    started.b = own->started_with;
    usleep(30000);
    (void)own_run(&started);
    return NULL;
}

/* Starts the work and returns; a second start waits for the first. */
static GpStatus own_start(void *state)
{
    Own *own = state;
    finish(own);
    own->started_with = own->b;
    own->running = pthread_create(&own->thread, NULL, later, own) == 0;
    return GP_OK;
}

/* Starts the work once for each upload, and lets download wait for it: right answers, in no time. */
static GpStatus own_start_and_hide(void *state)
{
    Own *own = state;
    if (own->done == own->uploads) return GP_OK;
    own->done = own->uploads;
    return own_start(state);
}

/* ---- running one ---- */

static Cell visit_with(const Approach *a, const Device *device)
{
    const Registered entry = { "sum_of_two", "test/fake.c", &sum_of_two, a };
    const Case c = { .n = N, .precision = F64 };
    MeasureOptions options = measure_defaults(0);
    Inputs in;
    Pinned pinned = { .device = NULL };
    Cell cell = { .n = N };
    int lost = 0;
    options.visit_s = 0.05;
    options.run_s = 0.2;
    calls = 0;
    assert_int_equal(inputs_create(&in, &sum_of_two, "sum_of_two", &c, (const uint64_t[SETS]){ 1, 2 }), GP_OK);
    const VisitOptions o = { device, 1 << 20, &options, NULL };
    visit(&cell, &entry, &in, &pinned, &o, &lost);
    pinned_free(&pinned);
    inputs_destroy(&in);
    return cell;
}

static void assert_refused(const char *name, Cell cell, const char *because)
{
    if (cell.state != CELL_FAILED || !strstr(cell.reason, because))
        fail_msg("%s: state %d, reason \"%s\", expected a refusal with \"%s\"", name, (int)cell.state, cell.reason, because);
    for (int t = 0; t < TIMES; t++) assert_int_equal(cell.times[t].count, 0); /* no verification, no time */
    cell_free(&cell);
}

static void assert_accepted(const char *name, Cell cell)
{
    if (cell.state != CELL_OK) fail_msg("%s: refused: %s", name, cell.reason);
    assert_true(cell.times[TIME_KERNEL].count > 0);
    assert_true(cell.times[TIME_E2E].count > 0);
    assert_true(cell.error <= cell.tolerance);
    cell_free(&cell);
}

static void a_right_kernel_is_accepted_with_its_times(void **state)
{
    (void)state;
    const Approach plain = IN_PLACE(right), own = WITH_STATE(ON_HOST, own_run, own_download);
    assert_accepted("in place", visit_with(&plain, NULL));
    assert_accepted("with a state", visit_with(&own, NULL));
}

static void wrong_kernels_are_refused(void **state)
{
    (void)state;
    const struct { const char *name; GpStatus (*run)(void *); const char *because; } cases[] = {
        { "does nothing", does_nothing, "not written" },
        { "all but the last block", all_but_the_last_block, "not written" },
        { "right on the first call only", first_call_only, "not written" },
        { "wrong after ten calls", wrong_after_ten_calls, "after timing" },
        { "one NaN", one_nan, "not finite" },
        { "one element off by a thousandth", one_element_off, "wrong answer" },
        { "float32 passing as float64", in_float32, "wrong answer" },
        { "an error in run", fails, "the card is on fire" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Approach a = IN_PLACE(cases[i].run);
        assert_refused(cases[i].name, visit_with(&a, NULL), cases[i].because);
    }
}

static void a_stale_answer_of_the_same_buffers_is_refused(void **state)
{
    (void)state;
    const Approach a = WITH_STATE(ON_HOST, own_run_once, own_download);
    assert_refused("computes once", visit_with(&a, NULL), "wrong answer");
}

static void work_that_goes_on_after_run_is_refused(void **state)
{
    (void)state;
    const Approach unfinished = WITH_STATE(ON_HOST, own_start, own_download),
                   hidden = WITH_STATE(ON_HOST, own_start_and_hide, own_join_and_download);
    assert_refused("download does not wait", visit_with(&unfinished, NULL), "wrong answer");
    assert_refused("download waits", visit_with(&hidden, NULL), "before its work is finished");
}

static void a_device_timer_that_misses_work_is_refused(void **state)
{
    (void)state;
    const Approach a = WITH_STATE(ON_CUDA, own_run, own_download);
    device_factor = 0.01;
    assert_refused("1% of the work on the stream", visit_with(&a, &fake_device), "the timer missed work");
    device_factor = 0;
    assert_refused("no time at all", visit_with(&a, &fake_device), "the timer missed work");
}

static void a_card_that_always_throttles_still_yields_samples_that_are_flagged(void **state)
{
    (void)state;
    const Approach a = WITH_STATE(ON_CUDA, own_run, own_download);
    device_factor = 1;
    const double start = clock_s();
    Cell cell = visit_with(&a, &fake_device);
    assert_true(clock_s() - start < 10);
    assert_int_equal(cell.state, CELL_OK);
    assert_true(cell.throttled > 0);
    assert_true(cell.sm_clock_hz == 345e6);
    assert_true(cell.times[TIME_KERNEL].count > 0);
    cell_free(&cell);
}

static void a_slow_kernel_gets_at_least_one_sample_and_the_label_unconverged(void **state)
{
    (void)state;
    const Approach a = IN_PLACE(slow);
    Cell cell = visit_with(&a, NULL);
    assert_int_equal(cell.state, CELL_OK);
    assert_true(cell.times[TIME_KERNEL].count >= 1 && cell.times[TIME_E2E].count >= 1);
    assert_true(cell.unconverged);
    cell_free(&cell);
}

static GpStatus very_slow(void *state) { usleep(300000); calls++; return right(state); }

static void a_run_longer_than_the_limit_is_skipped_after_one(void **state)
{
    (void)state;
    const Approach a = IN_PLACE(very_slow);
    Cell cell = visit_with(&a, NULL);
    assert_int_equal(cell.state, CELL_SKIPPED);
    assert_non_null(strstr(cell.reason, "one run took"));
    assert_non_null(strstr(cell.reason, "--max-run raises the limit of 0.2 s"));
    assert_int_equal(calls, 1);
    cell_free(&cell);
}

static GpStatus slow_at_first(void *state)
{
    if (calls++ == 0) usleep(300000);   /* a library's start */
    return own_run(state);
}
static GpStatus always_slow(void *state)
{
    calls++;
    usleep(300000);
    return own_run(state);
}

static void a_devices_first_run_does_not_count_for_the_limit_but_its_second_does(void **state)
{
    (void)state;
    device_factor = 1;
    const Approach first = WITH_STATE(ON_CUDA, slow_at_first, own_download), always = WITH_STATE(ON_CUDA, always_slow, own_download);
    Cell cell = visit_with(&first, &fake_device);
    assert_int_equal(cell.state, CELL_OK);
    cell_free(&cell);
    cell = visit_with(&always, &fake_device);
    assert_int_equal(cell.state, CELL_SKIPPED);
    assert_int_equal(calls, 2);
    cell_free(&cell);
}

static size_t allocations;
static GpStatus counting_allocate(const Case *c, void **state) { allocations++; return own_allocate(c, state); }

/* The arrays alone are 2.3 times the cache of 1 MiB: cold takes two of them. With the workspace one run passes through three. */
static void a_workspace_counts_as_memory_passed_through(void **state)
{
    (void)state;
    Approach a = WITH_STATE(ON_HOST, own_run, own_download);
    a.allocate = counting_allocate;
    for (int with = 0; with < 2; with++) {
        fake_workspace = with ? (size_t)1 << 20 : 0;
        allocations = 0;
        Cell cell = visit_with(&a, NULL);
        assert_int_equal(cell.state, CELL_OK);
        assert_int_equal(cell.cold, 1);
        assert_int_equal(allocations, with ? 1 : 2);
        cell_free(&cell);
    }
    fake_workspace = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_is_accepted_with_its_times),
        cmocka_unit_test(wrong_kernels_are_refused),
        cmocka_unit_test(a_stale_answer_of_the_same_buffers_is_refused),
        cmocka_unit_test(work_that_goes_on_after_run_is_refused),
        cmocka_unit_test(a_device_timer_that_misses_work_is_refused),
        cmocka_unit_test(a_card_that_always_throttles_still_yields_samples_that_are_flagged),
        cmocka_unit_test(a_run_longer_than_the_limit_is_skipped_after_one),
        cmocka_unit_test(a_devices_first_run_does_not_count_for_the_limit_but_its_second_does),
        cmocka_unit_test(a_workspace_counts_as_memory_passed_through),
        cmocka_unit_test(a_slow_kernel_gets_at_least_one_sample_and_the_label_unconverged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
