/* The harness's side of Python approaches, against bench/testdata/fake.py, which misbehaves as the case's variant names. The
 * files need Python and no package. Run from the repository's root. */
#define _GNU_SOURCE
#include "bench/verify.h"
#include "bench/worker.h"
#include "common/clock.h"
#include "common/random.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 1000 };

static const char *const variants[] = {
    "right", "wrong", "two parts", "prints", "tells its process", "tells its cores", "refuses", "exhausts memory", "crashes",
    "is killed", "hangs", "raises", "writes garbage", "answers twice", "never ends a line", "negative seconds", "absurd seconds",
    "no seconds", "text for seconds", "too short", "too long", "another type", NULL
};

static void shape(const Case *c, Buffers *b)
{
    b->in_bytes[0] = b->in_bytes[1] = b->out_bytes = c->n * precision_bytes(c->precision);
}

static size_t parameters(const Case *c, Parameter *out)
{
    (void)c;
    out[0] = (Parameter){ "scale", 1.0 / 3.0 };
    return 1;
}

static const Problem problem = { .title = "c = a + b / 3", .variants = variants, .checks = 1, .shape = shape, .parameters = parameters };

static const Registered fake = { "fake", "bench/testdata/fake.py", &problem, &bench_worker };

static Case make_case(const char *variant, size_t n, Precision precision)
{
    Case c = { .n = n, .precision = precision, .entry = &fake };
    while (strcmp(variants[c.variant], variant) != 0) c.variant++;
    return c;
}

/* Arrays of a case, with the answer that is expected. */
typedef struct { Buffers b; double *expected; } Arrays;

static Arrays make_arrays(const Case *c, uint64_t seed)
{
    Arrays a = { .b = { .out = NULL } };
    shape(c, &a.b);
    for (size_t i = 0; i < 2; i++) {
        a.b.in[i] = malloc(a.b.in_bytes[i]);
        if (c->precision == F32) random_fill_f32(a.b.in[i], c->n, seed, i, 1, 2);
        else random_fill_f64(a.b.in[i], c->n, seed, i, 1, 2);
    }
    a.b.out = malloc(a.b.out_bytes);
    poison(a.b.out, a.b.out_bytes);
    a.expected = malloc(c->n * sizeof *a.expected);
    for (size_t i = 0; i < c->n; i++) a.expected[i] = element(a.b.in[0], i, c->precision) + element(a.b.in[1], i, c->precision) / 3;
    return a;
}

static void free_arrays(Arrays *a)
{
    free(a->b.in[0]);
    free(a->b.in[1]);
    free(a->b.out);
    free(a->expected);
}

/* All steps up to the first that fails, whose name goes to *step. */
static GpStatus all_steps(const Case *c, Arrays *a, const char **step)
{
    GpStatus status;
    void *state = NULL;
    double seconds = 0;
    *step = "allocate";
    status = bench_worker.allocate(c, &state);
    if (status == GP_OK) { *step = "upload"; status = bench_worker.upload(state, &a->b); }
    if (status == GP_OK) { *step = "run"; status = bench_worker.run[c->precision](state); }
    if (status == GP_OK) { *step = "timed_run"; status = bench_worker.timed_run(state, 2, &seconds); }
    if (status == GP_OK) { *step = "download"; status = bench_worker.download(state, &a->b); }
    if (status == GP_OK) *step = "none";
    bench_worker.release(state);
    return status;
}

static double error_of(const char *variant, size_t n, Precision precision)
{
    const Case c = make_case(variant, n, precision);
    const char *step;
    Arrays a = make_arrays(&c, 1);
    const GpStatus status = all_steps(&c, &a, &step);
    if (status != GP_OK) fail_msg("%s: %s", step, gp_message());
    const double error = relative_error(a.b.out, a.expected, n, precision);
    free_arrays(&a);
    return error;
}

static void the_answer_comes_back_in_both_precisions(void **unused)
{
    (void)unused;
    assert_true(error_of("right", N, F32) < 1e-6);
    assert_true(error_of("right", N, F64) < 1e-15);
    assert_true(error_of("right", 1, F32) < 1e-6);
    assert_true(error_of("right", 300001, F64) < 1e-15);   /* more than one part of the parallel copy */
}

static void results_in_parts_are_put_together(void **unused)
{
    (void)unused;
    assert_true(error_of("two parts", N, F64) < 1e-15);
}

static void a_wrong_answer_arrives_as_it_is(void **unused)
{
    (void)unused;
    assert_true(error_of("wrong", N, F64) > 1e-3);
}

static void printing_does_not_disturb_the_protocol(void **unused)
{
    (void)unused;
    assert_true(error_of("prints", N, F64) < 1e-15);
}

static void new_inputs_replace_old_ones(void **unused)
{
    (void)unused;
    const Case c = make_case("right", N, F64);
    Arrays first = make_arrays(&c, 1), second = make_arrays(&c, 2);
    void *state = NULL;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_OK);
    for (int round = 0; round < 2; round++) {
        Arrays *a = round ? &second : &first;
        assert_int_equal(bench_worker.upload(state, &a->b), GP_OK);
        assert_int_equal(bench_worker.run[F64](state), GP_OK);
        assert_int_equal(bench_worker.download(state, &a->b), GP_OK);
        assert_true(relative_error(a->b.out, a->expected, N, F64) < 1e-15);
    }
    bench_worker.release(state);
    free_arrays(&first);
    free_arrays(&second);
}

static void reported_seconds_fit_what_the_host_saw(void **unused)
{
    (void)unused;
    const Case c = make_case("right", N, F64);
    Arrays a = make_arrays(&c, 1);
    void *state = NULL;
    double seconds = 0;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_OK);
    assert_int_equal(bench_worker.upload(state, &a.b), GP_OK);
    const double start = clock_s();
    assert_int_equal(bench_worker.timed_run(state, 100, &seconds), GP_OK);
    const double seen = clock_s() - start;
    assert_true(seconds > 0 && seconds < seen && seconds > seen / 10);
    bench_worker.release(state);
    free_arrays(&a);
}

/* What goes wrong, in which step it shows, and what is said about it. */
static void every_misbehaviour_costs_one_case_and_has_its_reason(void **unused)
{
    (void)unused;
    static const struct { const char *variant, *step; GpStatus status; const char *says; } cases[] = {
        { "refuses", "allocate", GP_UNAVAILABLE, "it does not feel like it" },
        { "exhausts memory", "allocate", GP_NO_MEMORY, "MemoryError: the device is full" },
        { "crashes", "run", GP_DEVICE, "exited with status 3; its last words: this is how it went wrong" },
        { "is killed", "run", GP_DEVICE, "ended by signal 9" },
        { "hangs", "run", GP_DEVICE, "no answer from the worker within 0.5 s" },
        { "raises", "run", GP_DEVICE, "ValueError: two lines" },
        { "writes garbage", "run", GP_DEVICE, "answered \"segmentation {fault}\"" },
        { "answers twice", "run", GP_DEVICE, "not the JSON line that was asked for" },
        { "never ends a line", "run", GP_DEVICE, "has no end" },
        { "negative seconds", "timed_run", GP_BAD_DATA, "reports -1 s" },
        { "absurd seconds", "timed_run", GP_BAD_DATA, "reports 1e+06 s" },
        { "no seconds", "timed_run", GP_DEVICE, "not the JSON line" },
        { "text for seconds", "timed_run", GP_DEVICE, "ValueError" },
        { "too short", "download", GP_DEVICE, "download gave 7992 bytes, the output has 8000" },
        { "too long", "download", GP_DEVICE, "download gave 8008 bytes, the output has 8000" },
        { "another type", "download", GP_DEVICE, "elements of type 'i'" },
    };
    assert_true(error_of("right", N, F64) < 1e-15);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case c = make_case(cases[i].variant, N, F64);
        Arrays a = make_arrays(&c, 1);
        const char *step;
        if (strcmp(cases[i].variant, "hangs") == 0) setenv("GPLAB_WORKER_LIMIT_S", "0.5", 1);
        const GpStatus status = all_steps(&c, &a, &step);
        unsetenv("GPLAB_WORKER_LIMIT_S");
        if (status != cases[i].status || strcmp(step, cases[i].step) != 0 || !strstr(gp_message(), cases[i].says))
            fail_msg("%s: status %d in %s: %s", cases[i].variant, status, step, gp_message());
        free_arrays(&a);
        assert_true(error_of("right", N, F64) < 1e-15);   /* the next case of the file is not harmed */
    }
}

static void steps_after_the_end_fail_at_once(void **unused)
{
    (void)unused;
    const Case c = make_case("crashes", N, F64);
    Arrays a = make_arrays(&c, 1);
    void *state = NULL;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_OK);
    assert_int_equal(bench_worker.upload(state, &a.b), GP_OK);
    assert_int_equal(bench_worker.run[F64](state), GP_DEVICE);
    assert_int_equal(bench_worker.run[F64](state), GP_DEVICE);
    assert_non_null(strstr(gp_message(), "has ended"));
    assert_int_equal(bench_worker.download(state, &a.b), GP_DEVICE);
    bench_worker.release(state);
    free_arrays(&a);
}

static void arrays_of_another_size_are_refused(void **unused)
{
    (void)unused;
    const Case c = make_case("right", N, F64), shorter = make_case("right", N - 1, F64);
    Arrays a = make_arrays(&shorter, 1);
    void *state = NULL;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_OK);
    assert_int_equal(bench_worker.upload(state, &a.b), GP_BAD_ARGUMENT);
    assert_int_equal(bench_worker.download(state, &a.b), GP_BAD_ARGUMENT);
    bench_worker.release(state);
    free_arrays(&a);
}

static void a_size_beyond_memory_is_refused_with_both_numbers(void **unused)
{
    (void)unused;
    const Case c = make_case("right", (size_t)1 << 45, F64);
    void *state = NULL;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_NO_MEMORY);
    assert_non_null(strstr(gp_message(), "GB are free"));
    bench_worker.release(state);
}

static void release_accepts_null(void **unused)
{
    (void)unused;
    bench_worker.release(NULL);
}

/* First element of the answer to a variant that tells something there. */
static double told(const char *variant)
{
    const Case c = make_case(variant, N, F64);
    const char *step;
    Arrays a = make_arrays(&c, 1);
    const GpStatus status = all_steps(&c, &a, &step);
    if (status != GP_OK) fail_msg("%s: %s", step, gp_message());
    const double value = ((double *)a.b.out)[0];
    free_arrays(&a);
    return value;
}

static void a_good_process_serves_the_next_case_and_a_bad_one_does_not(void **unused)
{
    (void)unused;
    const double first = told("tells its process");
    assert_true(told("tells its process") == first);
    const Case c = make_case("raises", N, F64);
    Arrays a = make_arrays(&c, 1);
    const char *step;
    assert_int_equal(all_steps(&c, &a, &step), GP_DEVICE);
    free_arrays(&a);
    assert_true(told("tells its process") != first);
}

static void a_process_that_died_while_waiting_is_replaced(void **unused)
{
    (void)unused;
    const pid_t waiting = (pid_t)told("tells its process");
    kill(waiting, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)waiting, &info, WEXITED | WNOWAIT), 0);
    assert_true(error_of("right", N, F64) < 1e-15);
}

static void two_cases_of_a_file_can_be_open_at_once(void **unused)
{
    (void)unused;
    const Case c = make_case("right", N, F64);
    void *first = NULL, *second = NULL;
    assert_int_equal(bench_worker.allocate(&c, &first), GP_OK);
    assert_int_equal(bench_worker.allocate(&c, &second), GP_OK);
    bench_worker.release(first);
    bench_worker.release(second);
}

static void a_worker_gets_all_cores_even_if_this_thread_is_bound(void **unused)
{
    (void)unused;
    bench_worker_stop_idle();
    const double cores = told("tells its cores");
    assert_true(cores == (double)sysconf(_SC_NPROCESSORS_ONLN) || !getenv("OMP_PROC_BIND"));
}

/* Each file's probe, once: the answer is kept. */
static void a_probe_says_in_a_sentence_why_not(void **unused)
{
    (void)unused;
    static const struct { const char *file, *says; } cases[] = {
        { "bench/testdata/no_module.py", "has no module gplab_module_that_nobody_has" },
        { "bench/testdata/no_device.py", "the toaster sees no bread" },
        { "bench/testdata/damaged.py", "SyntaxError" },
        { "bench/testdata/absent.py", "FileNotFoundError" },
        { "bench/testdata/slow_import.py", "no answer from the worker within 1 s" },
    };
    setenv("GPLAB_WORKER_LIMIT_S", "1", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strstr(cases[i].says, "1 s") == NULL) setenv("GPLAB_WORKER_LIMIT_S", "60", 1);
        else setenv("GPLAB_WORKER_LIMIT_S", "1", 1);
        const Registered entry = { "fake", cases[i].file, &problem, &bench_worker };
        const char *reason = bench_worker.probe(&entry);
        if (!reason || !strstr(reason, cases[i].says) || strchr(reason, '\n'))
            fail_msg("%s: %s", cases[i].file, reason ? reason : "(can run)");
        const double start = clock_s();
        assert_ptr_equal(bench_worker.probe(&entry), reason);
        assert_true(clock_s() - start < 0.01);
        assert_string_equal(bench_worker_idea(&entry), bench_worker.idea);
    }
    unsetenv("GPLAB_WORKER_LIMIT_S");
}

static void a_usable_file_passes_its_probe_and_tells_its_idea(void **unused)
{
    (void)unused;
    assert_null(bench_worker.probe(&fake));
    assert_string_equal(bench_worker_idea(&fake), "a loop, and mischief");
}

static void a_missing_python_is_a_reason(void **unused)
{
    (void)unused;
    const Registered entry = { "fake", "bench/testdata/any.py", &problem, &bench_worker };
    setenv("GPLAB_PYTHON", "/no/such/python", 1);
    const char *reason = bench_worker.probe(&entry);
    unsetenv("GPLAB_PYTHON");
    assert_non_null(reason);
    assert_non_null(strstr(reason, "cannot start /no/such/python"));
}

static void something_else_than_python_is_a_reason(void **unused)
{
    (void)unused;
    const Registered entry = { "fake", "bench/testdata/other.py", &problem, &bench_worker };
    setenv("GPLAB_PYTHON", "/bin/echo", 1);
    const char *reason = bench_worker.probe(&entry);
    unsetenv("GPLAB_PYTHON");
    assert_non_null(reason);
}

static void a_file_may_have_the_name_of_the_module_it_uses(void **unused)
{
    (void)unused;
    const Registered entry = { "fake", "bench/testdata/colorsys.py", &problem, &bench_worker };
    const char *reason = bench_worker.probe(&entry);
    if (reason) fail_msg("%s", reason);
    Case c = make_case("right", N, F64);
    c.entry = &entry;
    Arrays a = make_arrays(&c, 1);
    void *state = NULL;
    assert_int_equal(bench_worker.allocate(&c, &state), GP_OK);
    assert_int_equal(bench_worker.upload(state, &a.b), GP_OK);
    assert_int_equal(bench_worker.run[F64](state), GP_OK);
    bench_worker.release(state);
    free_arrays(&a);
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

static void nothing_is_left_behind(void **unused)
{
    (void)unused;
    static const char *const some[] = { "right", "crashes", "refuses", "raises" };
    bench_worker_stop_idle();
    const size_t before = open_files();
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const Case c = make_case(some[i], N, F64);
        const char *step;
        Arrays a = make_arrays(&c, 1);
        (void)all_steps(&c, &a, &step);
        free_arrays(&a);
    }
    bench_worker_stop_idle();
    assert_int_equal(open_files(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);   /* no child, not even a dead one */
    assert_int_equal(errno, ECHILD);
}

/* The harness of the next test, a program of its own: tells its worker's pid on standard output and lets it hang. */
static int be_a_harness_to_be_killed(void)
{
    const double pid = told("tells its process");
    const Case c = make_case("hangs", N, F64);
    Arrays a = make_arrays(&c, 1);
    const char *step;
    if (write(1, &pid, sizeof pid) != sizeof pid) return 1;
    (void)all_steps(&c, &a, &step);
    return 2;
}

static void a_worker_dies_with_a_killed_harness(void **unused)
{
    (void)unused;
    int out[2], how = 0;
    bench_worker_stop_idle();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);   /* the orphan comes to us */
    assert_int_equal(pipe(out), 0);
    const pid_t harness = fork();
    if (harness == 0) {
        dup2(out[1], 1);
        execl("/proc/self/exe", "test_worker", "harness", (char *)NULL);
        _exit(3);
    }
    double pid = 0;
    close(out[1]);
    const ssize_t got_bytes = read(out[0], &pid, sizeof pid);
    nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    kill(harness, SIGKILL);
    assert_int_equal(waitpid(harness, &how, 0), harness);
    assert_int_equal(got_bytes, sizeof pid);
    pid_t got = 0;
    for (double end = clock_s() + 5; got == 0 && clock_s() < end;) {
        got = waitpid((pid_t)pid, &how, WNOHANG);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    if (got == 0) kill((pid_t)pid, SIGKILL);
    assert_int_equal(got, (pid_t)pid);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    close(out[0]);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "harness") == 0) return be_a_harness_to_be_killed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_comes_back_in_both_precisions),
        cmocka_unit_test(results_in_parts_are_put_together),
        cmocka_unit_test(a_wrong_answer_arrives_as_it_is),
        cmocka_unit_test(printing_does_not_disturb_the_protocol),
        cmocka_unit_test(new_inputs_replace_old_ones),
        cmocka_unit_test(reported_seconds_fit_what_the_host_saw),
        cmocka_unit_test(every_misbehaviour_costs_one_case_and_has_its_reason),
        cmocka_unit_test(steps_after_the_end_fail_at_once),
        cmocka_unit_test(arrays_of_another_size_are_refused),
        cmocka_unit_test(a_size_beyond_memory_is_refused_with_both_numbers),
        cmocka_unit_test(release_accepts_null),
        cmocka_unit_test(a_good_process_serves_the_next_case_and_a_bad_one_does_not),
        cmocka_unit_test(a_process_that_died_while_waiting_is_replaced),
        cmocka_unit_test(two_cases_of_a_file_can_be_open_at_once),
        cmocka_unit_test(a_worker_gets_all_cores_even_if_this_thread_is_bound),
        cmocka_unit_test(a_probe_says_in_a_sentence_why_not),
        cmocka_unit_test(a_usable_file_passes_its_probe_and_tells_its_idea),
        cmocka_unit_test(a_missing_python_is_a_reason),
        cmocka_unit_test(something_else_than_python_is_a_reason),
        cmocka_unit_test(a_file_may_have_the_name_of_the_module_it_uses),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(a_worker_dies_with_a_killed_harness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
