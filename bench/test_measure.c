/* A whole session on fake approaches: rounds, refusals, interruption and resuming, and times that can't be true. */
#define _GNU_SOURCE
#include "bench/measure.h"
#include "bench/statistics.h"
#include "bench/test_fakes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static volatile int stop;
static int calls, stop_at;
static GpStatus right(void *state)
{
    if (++calls == stop_at) stop = 1;
    add(state, ((HostState *)state)->c.n);
    return GP_OK;
}
static GpStatus slow(void *state)
{
    const double until = clock_s() + 2e-6 * (double)((HostState *)state)->c.n;
    while (clock_s() < until) {}
    return right(state);
}

static const Approach plain = { .role = NAIVE, .where = ON_HOST, .run = { [F64] = right } };
static const Approach patient = { .role = OPTIMIZED, .where = ON_HOST, .run = { [F64] = slow } };
static const Approach on_device = { .role = NAIVE,
                                    .where = ON_CUDA,
                                    .allocate = own_allocate,
                                    .upload = own_upload,
                                    .run = { [F64] = own_run },
                                    .download = own_download,
                                    .release = own_release };
static const char *no_device(const Registered *entry)
{
    (void)entry;
    return "no CUDA device";
}
static const Approach nowhere = { .role = NAIVE, .where = ON_CUDA, .probe = no_device, .run = { [F64] = right } };
static const Registered table[] = {
    { "sum_of_two", "lessons/99_fake/cpu_1_naive.c", &sum_of_two, &plain },
    { "sum_of_two", "lessons/99_fake/cpu_2_patient.c", &sum_of_two, &patient },
    { "sum_of_two", "lessons/99_fake/cuda_1_naive.cu", &sum_of_two, &nowhere },
};
static const Registered device_table[] = { { "sum_of_two", "lessons/99_fake/cuda_1_naive.cu", &sum_of_two, &on_device } };
static const char *always_usable(void) { return NULL; }
static GpStatus fake_facts(DeviceFacts *f) { *f = (DeviceFacts){ .l2_bytes = 1000 }; return GP_OK; }

static char path[] = "/tmp/test_measure_XXXXXX";

static Session session(const Registered *approaches, size_t count)
{
    Session s = { .table = approaches, .table_count = count, .options = measure_defaults(0), .cancelled = &stop, .quiet = 1 };
    cJSON *header = cJSON_Parse("{\"type\":\"header\",\"schema\":1}");
    s.options.visit_s = 0.01;
    s.options.precisions[F32] = 0;
    s.options.sizes[0] = 1000;
    s.options.size_count = 1;
    stop = calls = stop_at = 0;
    unlink(path);
    assert_int_equal(results_create(&s.writer, path, header), GP_OK);
    cJSON_Delete(header);
    return s;
}

static Run finish_and_read(Session *s)
{
    Run run = { .path = "" };
    assert_int_equal(results_close(s->writer), GP_OK);
    if (results_read(&run, path) != GP_OK) fail_msg("%s", gp_message());
    return run;
}

static const Cell *cell_of(const Run *run, const char *approach)
{
    for (size_t i = 0; i < run->cell_count; i++)
        if (strcmp(run->cells[i].approach, approach) == 0) return &run->cells[i];
    return NULL;
}

static void every_cell_is_visited_in_every_round_and_what_is_missing_says_why(void **state)
{
    (void)state;
    size_t failed = 1;
    Session s = session(table, 3);
    assert_int_equal(measure(&s, &failed), GP_OK);
    Run run = finish_and_read(&s);
    assert_int_equal(failed, 0);
    assert_int_equal(run.cell_count, 3);
    const Cell *naive = cell_of(&run, "cpu/naive"), *missing = cell_of(&run, "cuda/naive");
    assert_non_null(naive);
    assert_int_equal(naive->state, CELL_OK);
    assert_int_equal(naive->round, s.options.rounds);
    assert_non_null(missing);
    assert_int_equal(missing->state, CELL_SKIPPED);
    assert_string_equal(missing->reason, "no CUDA device");
    run_free(&run);
}

static void an_interrupted_run_leaves_a_valid_file_that_resuming_completes(void **state)
{
    (void)state;
    size_t failed = 0;
    Run before = { .path = "" };
    Session s = session(table, 3);
    stop_at = 5;
    assert_int_equal(measure(&s, &failed), GP_CANCELLED);
    Run partial = finish_and_read(&s);
    assert_true(partial.cell_count < 3 || cell_of(&partial, "cpu/naive")->round < s.options.rounds);
    run_free(&partial);
    stop = stop_at = 0;
    assert_int_equal(results_read(&before, path), GP_OK);
    s.previous = &before;
    assert_int_equal(results_resume(&s.writer, path), GP_OK);
    assert_int_equal(measure(&s, &failed), GP_OK);
    Run whole = finish_and_read(&s);
    assert_int_equal(whole.cell_count, 3);
    assert_int_equal(cell_of(&whole, "cpu/naive")->round, s.options.rounds);
    assert_int_equal(cell_of(&whole, "cpu/openmp")->round, s.options.rounds);
    run_free(&before);
    run_free(&whole);
}

static void a_run_too_long_to_wait_for_is_foreseen_from_the_size_before(void **state)
{
    (void)state;
    size_t failed = 0;
    Session s = session(table, 3);
    s.options.sizes[1] = 1000000;
    s.options.size_count = 2;
    s.options.run_s = 0.2;
    const double start = clock_s();
    assert_int_equal(measure(&s, &failed), GP_OK);
    assert_true(clock_s() - start < 2);
    Run run = finish_and_read(&s);
    int seen = 0;
    for (size_t i = 0; i < run.cell_count; i++)
        if (run.cells[i].n == 1000000 && strcmp(run.cells[i].approach, "cpu/openmp") == 0) {
            assert_int_equal(run.cells[i].state, CELL_SKIPPED);
            assert_non_null(strstr(run.cells[i].reason, "--max-run"));
            seen = 1;
        }
    assert_true(seen);
    run_free(&run);
}

static void a_filter_that_matches_nothing_is_the_callers_mistake(void **state)
{
    (void)state;
    size_t failed = 0;
    const struct { const char *problem, *approach; } cases[] = { { "nonsense", NULL }, { NULL, "nonsense" }, { "(", NULL }, { NULL, "[" } };
    for (size_t i = 0; i < 4; i++) {
        Session s = session(table, 3);
        s.options.problem_filter = cases[i].problem;
        s.options.approach_filter = cases[i].approach;
        assert_int_equal(measure(&s, &failed), GP_BAD_ARGUMENT);
        assert_int_equal(results_close(s.writer), GP_OK);
    }
}

/* 51 TB/s on a roof of 1 TB/s: the device's clock runs slow, too little for the host's clock to notice. */
static void a_time_above_the_measured_roof_is_an_error_unless_the_data_fits_the_cache(void **state)
{
    (void)state;
    size_t failed = 0;
    Roof roof = { "cuda", "triad", 1e12 };
    Device device = fake_device;
    const RegisteredDevice one = { "cuda", &device };
    device.facts = fake_facts;
    device.unavailable = always_usable;
    for (int fits = 0; fits < 2; fits++) {
        Session s = session(device_table, 1);
        s.options.sizes[0] = fits ? 10 : 1000;
        s.devices = &one;
        s.device_count = 1;
        s.roofs = &roof;
        s.roof_count = 1;
        device_factor = 1e-3;
        assert_int_equal(measure(&s, &failed), GP_OK);
        Run run = finish_and_read(&s);
        assert_int_equal(run.cell_count, 1);
        if (fits) {
            assert_int_equal(run.cells[0].state, CELL_OK);
            assert_int_equal(run.cells[0].fits_cache, 1);
        } else {
            assert_int_equal(failed, 1);
            assert_int_equal(run.cells[0].state, CELL_FAILED);
            assert_non_null(strstr(run.cells[0].reason, "impossible time"));
            assert_int_equal(run.cells[0].times[TIME_KERNEL].count, 0);
        }
        run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_visited_in_every_round_and_what_is_missing_says_why),
        cmocka_unit_test(an_interrupted_run_leaves_a_valid_file_that_resuming_completes),
        cmocka_unit_test(a_run_too_long_to_wait_for_is_foreseen_from_the_size_before),
        cmocka_unit_test(a_filter_that_matches_nothing_is_the_callers_mistake),
        cmocka_unit_test(a_time_above_the_measured_roof_is_an_error_unless_the_data_fits_the_cache),
    };
    const int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failures;
}
