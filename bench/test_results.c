/* Results files: what is written reads back equal, whatever stops the writer leaves a valid file, and no garbage gets past the reader. */
#define _GNU_SOURCE
#include "bench/results.h"
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_results_XXXXXX";
static char path[64], csv[64];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/x.jsonl", folder);
    snprintf(csv, sizeof csv, "%s/x.csv", folder);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(csv);
    return 0;
}

static int teardown(void **state)
{
    (void)fresh(state);
    return rmdir(folder);
}

/* ---- files and cells ---- */

#define HEADER "{\"type\":\"header\",\"schema\":1}\n"

static void put(const char *text, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static size_t file_size(const char *name)
{
    struct stat s;
    return stat(name, &s) == 0 ? (size_t)s.st_size : 0;
}

static char *get(const char *name)
{
    char *text = calloc(1, file_size(name) + 1);
    FILE *f = fopen(name, "rb");
    assert_non_null(text);
    assert_non_null(f);
    assert_int_equal(fread(text, 1, file_size(name), f), file_size(name));
    fclose(f);
    return text;
}

static Run read_run(void)
{
    Run run;
    if (results_read(&run, path) != GP_OK) fail_msg("%s", gp_message());
    return run;
}

static ResultsWriter *create(void)
{
    ResultsWriter *w = NULL;
    cJSON *header = cJSON_Parse("{\"type\":\"header\",\"schema\":1,\"machine\":{\"cpu_model\":\"x\"},\"options\":{\"half_width\":0.05}}");
    const GpStatus status = results_create(&w, path, header);
    cJSON_Delete(header);
    if (status != GP_OK) fail_msg("%s", gp_message());
    return w;
}

static Cell cell(const char *approach, CellState state, int round)
{
    Cell c = { .problem = "kernel_matrix", .variant = "lower", .file = "lessons/x.c", .role = "naive", .where = "cpu", .precision = "f64",
               .idea = "one \"row\"\tat a time", .n = 4096, .round = round, .state = state,
               .error = 1.0 / 3e15, .tolerance = 1e-14, .work = { 1e12 / 7, 3e9 }, .fits_cache = 1, .throttled = 2, .sm_clock_hz = 1.98e9 };
    snprintf(c.approach, sizeof c.approach, "%s", approach);
    if (state != CELL_OK) snprintf(c.reason, sizeof c.reason, "because %d", round);
    return c;
}

static void add_times(Cell *c, Time t, double value, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_int_equal(samples_add(&c->times[t], value), GP_OK);
}

/* Writes and frees it. */
static void write_cell(ResultsWriter *w, Cell c)
{
    if (results_write_cell(w, &c) != GP_OK) fail_msg("%s", gp_message());
    cell_free(&c);
}

/* ---- writing and reading back ---- */

static int same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void what_is_written_reads_back_equal(void **state)
{
    /* 1 + eps is where cJSON's own printing stops at 15 digits */
    const double values[] = { 1.0 / 3, 1 + 0x1p-52, 0x1p-1022, 1.7976931348623157e308, 5.0e-324, 0, NAN, 123456789.123456789 };
    Cell c = cell("cpu/naive", CELL_OK, 0);
    const Roof roof = { "cuda", "triad", 4.1e12 / 3 };
    ResultsWriter *w = create();
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(samples_add(&c.times[TIME_KERNEL], values[i]), GP_OK);
        assert_int_equal(samples_add(&c.times[TIME_FIRST], values[7 - i]), GP_OK);
    }
    assert_int_equal(results_write_roof(w, &roof), GP_OK);
    assert_int_equal(results_write_cell(w, &c), GP_OK);
    assert_int_equal(results_close(w), GP_OK);
    Run run = read_run();
    assert_int_equal(run.truncated, 0);
    assert_int_equal(run.cell_count, 1);
    assert_true(run_roof(&run, "cuda", "triad") == roof.rate);
    assert_true(run_roof(&run, "cuda", "copy") == 0);
    const Cell *back = &run.cells[0];
    assert_string_equal(back->idea, c.idea);
    assert_string_equal(back->variant, c.variant);
    assert_string_equal(back->file, c.file);
    assert_int_equal(back->n, c.n);
    assert_true(back->error == c.error && back->tolerance == c.tolerance);
    assert_true(back->work.flops == c.work.flops && back->work.bytes == c.work.bytes);
    assert_true(back->fits_cache && !back->cold && !back->graph && !back->above_roof);
    assert_true(back->throttled == 2 && back->sm_clock_hz == c.sm_clock_hz);
    for (int t = 0; t < TIMES; t++) {
        assert_int_equal(back->times[t].count, c.times[t].count);
        for (size_t i = 0; i < c.times[t].count; i++) assert_true(same_number(back->times[t].value[i], c.times[t].value[i]));
    }
    assert_ptr_equal(run_find(&run, &c), back);
    c.n++;
    assert_null(run_find(&run, &c));
    run_free(&run);
    cell_free(&c);
}

static void numbers_that_are_not_finite_are_null_and_read_as_nan(void **state)
{
    ResultsWriter *w = create();
    Cell c = cell("cpu/naive", CELL_FAILED, 0);
    (void)state;
    c.error = NAN;
    c.tolerance = INFINITY;
    c.work.flops = -INFINITY;
    write_cell(w, c);
    assert_int_equal(results_close(w), GP_OK);
    char *text = get(path);
    assert_non_null(strstr(text, "\"error\":null,\"tolerance\":null,\"flops\":null"));
    free(text);
    Run run = read_run();
    assert_true(isnan(run.cells[0].error) && isnan(run.cells[0].tolerance) && isnan(run.cells[0].work.flops));
    run_free(&run);
}

static void an_existing_file_is_never_overwritten(void **state)
{
    ResultsWriter *w = NULL;
    cJSON *header = cJSON_Parse(HEADER);
    (void)state;
    put("precious", 8);
    assert_int_equal(results_create(&w, path, header), GP_IO);
    assert_null(w);
    assert_non_null(strstr(gp_message(), path));
    assert_non_null(strstr(gp_message(), "exists"));
    assert_int_equal(file_size(path), 8);
    cJSON_Delete(header);
}

static void a_path_that_cannot_be_written_says_why(void **state)
{
    const struct { const char *path, *why; } cases[] = {
        { "/nonexistent/x.jsonl", "No such file" }, { "/proc/x.jsonl", "" }, { "", "No such file" },
    };
    cJSON *header = cJSON_Parse(HEADER);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ResultsWriter *w = NULL;
        Run run = { .header = NULL };
        assert_int_equal(results_create(&w, cases[i].path, header), GP_IO);
        assert_non_null(strstr(gp_message(), cases[i].path));
        assert_non_null(strstr(gp_message(), cases[i].why));
        assert_null(w);
        assert_int_equal(results_resume(&w, cases[i].path), GP_IO);
        assert_null(w);
        assert_int_equal(results_write_csv(&run, cases[i].path), GP_IO);
        assert_non_null(strstr(gp_message(), cases[i].path));
    }
    cJSON_Delete(header);
}

/* A limit on the size of files stands for a full disk: write() stops in the middle of a line, then refuses. */
static void limit_file_size(size_t bytes, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    const struct rlimit limit = { bytes, before->rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_keeps_every_whole_line(void **state)
{
    ResultsWriter *w = create();
    struct rlimit before;
    char message[512];
    (void)state;
    write_cell(w, cell("cpu/naive", CELL_OK, 0));
    const size_t whole = file_size(path);
    Cell next = cell("cpu/openmp", CELL_OK, 0);
    limit_file_size(whole + 50, &before);
    const GpStatus status = results_write_cell(w, &next);
    snprintf(message, sizeof message, "%s", gp_message());
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, GP_IO);
    assert_non_null(strstr(message, path));
    assert_non_null(strstr(message, "too large"));
    assert_int_equal(file_size(path), whole);
    write_cell(w, next);   /* room again */
    assert_int_equal(results_close(w), GP_OK);
    Run run = read_run();
    assert_int_equal(run.cell_count, 2);
    run_free(&run);
}

static void a_header_that_cannot_be_written_leaves_no_file(void **state)
{
    ResultsWriter *w = NULL;
    struct rlimit before;
    cJSON *header = cJSON_Parse(HEADER);
    (void)state;
    limit_file_size(5, &before);
    const GpStatus status = results_create(&w, path, header);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, GP_IO);
    assert_null(w);
    assert_int_equal(access(path, F_OK), -1);
    cJSON_Delete(header);
}

static size_t allocations, fails_at;
static void *failing_malloc(size_t size) { return ++allocations == fails_at ? NULL : malloc(size); }

static void without_memory_a_line_is_written_whole_or_not_at_all(void **state)
{
    cJSON_Hooks hooks = { failing_malloc, free };
    ResultsWriter *w = create();
    Cell c = cell("cpu/naive", CELL_OK, 0);
    GpStatus status = GP_NO_MEMORY;
    (void)state;
    add_times(&c, TIME_KERNEL, 1e-3, 5);
    const size_t whole = file_size(path);
    cJSON_InitHooks(&hooks);
    for (fails_at = 1; status != GP_OK && fails_at < 1000; fails_at++) {
        allocations = 0;
        status = results_write_cell(w, &c);
        if (status == GP_OK) break;
        assert_int_equal(status, GP_NO_MEMORY);
        assert_int_equal(file_size(path), whole);
    }
    assert_true(fails_at > 50 && fails_at < 1000);
    fails_at = 0;
    assert_int_equal(results_close(w), GP_OK);
    Run run = read_run();
    assert_int_equal(run.cells[0].times[TIME_KERNEL].count, 5);
    run_free(&run);
    for (fails_at = 1; fails_at < 150; fails_at++) {   /* and reading neither crashes nor leaks */
        allocations = 0;
        if (results_read(&run, path) == GP_OK) run_free(&run);
    }
    cJSON_InitHooks(NULL);
    cell_free(&c);
}

/* ---- interrupted and resumed ---- */

static void a_cut_last_line_is_ignored_and_resuming_removes_it(void **state)
{
    ResultsWriter *w = create();
    (void)state;
    write_cell(w, cell("cpu/naive", CELL_OK, 0));
    const size_t whole = file_size(path);
    write_cell(w, cell("cpu/openmp", CELL_OK, 0));
    assert_int_equal(results_close(w), GP_OK);
    const size_t end = file_size(path);
    char *text = get(path);
    for (size_t cut = whole + 1; cut < end - 1; cut += 7) {
        put(text, cut);
        Run run = read_run();
        assert_int_equal(run.truncated, 1);
        assert_int_equal(run.cell_count, 1);
        run_free(&run);
        assert_int_equal(results_resume(&w, path), GP_OK);
        assert_int_equal(file_size(path), whole);
        write_cell(w, cell("cuda/naive", CELL_OK, 0));
        assert_int_equal(results_close(w), GP_OK);
        run = read_run();
        assert_int_equal(run.truncated, 0);
        assert_int_equal(run.cell_count, 2);
        assert_string_equal(run.cells[1].approach, "cuda/naive");
        run_free(&run);
    }
    free(text);
}

/* It was counted as measured when the file was read, so resuming must not remove it. */
static void a_last_line_that_lacks_its_newline_alone_stays(void **state)
{
    ResultsWriter *w = create();
    (void)state;
    write_cell(w, cell("cpu/naive", CELL_OK, 0));
    assert_int_equal(results_close(w), GP_OK);
    assert_int_equal(truncate(path, (off_t)file_size(path) - 1), 0);
    Run run = read_run();
    assert_int_equal(run.truncated, 0);
    assert_int_equal(run.cell_count, 1);
    run_free(&run);
    assert_int_equal(results_resume(&w, path), GP_OK);
    write_cell(w, cell("cpu/openmp", CELL_OK, 0));
    assert_int_equal(results_close(w), GP_OK);
    run = read_run();
    assert_int_equal(run.cell_count, 2);
    run_free(&run);
}

static void a_killed_writer_leaves_at_most_one_cut_line(void **state)
{
    (void)state;
    for (unsigned delay_us = 2000; delay_us < 40000; delay_us *= 2) {
        ResultsWriter *w = create();
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            Cell c = cell("cpu/naive", CELL_OK, 0);
            add_times(&c, TIME_KERNEL, 1e-3 / 3, 100);
            for (c.n = 1;; c.n++)
                if (results_write_cell(w, &c) != GP_OK) _exit(1);
        }
        assert_int_equal(results_close(w), GP_OK);
        usleep(delay_us);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        Run run = read_run();
        const size_t count = run.cell_count;
        run_free(&run);
        assert_int_equal(results_resume(&w, path), GP_OK);
        assert_int_equal(results_close(w), GP_OK);
        run = read_run();
        assert_int_equal(run.truncated, 0);
        assert_int_equal(run.cell_count, count);
        run_free(&run);
        (void)unlink(path);
    }
}

static void nothing_is_cut_off_a_file_that_is_not_a_results_file(void **state)
{
    const char *const cases[] = { "int main(void)\n{\n}\nno newline", "", "{\"type\":\"header\",\"sch", "{}",
                                  HEADER "{\"type\":\"tree\"}\n{\"ty" };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ResultsWriter *w = NULL;
        put(cases[i], strlen(cases[i]));
        assert_int_equal(results_resume(&w, path), GP_BAD_DATA);
        assert_null(w);
        char *text = get(path);
        assert_string_equal(text, cases[i]);
        free(text);
    }
}

static void a_second_writer_is_refused(void **state)
{
    ResultsWriter *one = create(), *two = NULL;
    (void)state;
    assert_int_equal(results_resume(&two, path), GP_IO);
    assert_null(two);
    assert_non_null(strstr(gp_message(), "another run"));
    assert_int_equal(results_close(one), GP_OK);
    assert_int_equal(results_resume(&two, path), GP_OK);
    assert_int_equal(results_close(two), GP_OK);
    assert_int_equal(results_close(NULL), GP_OK);
}

/* ---- visits ---- */

typedef struct { CellState state; double error; size_t samples; } Visit;
typedef struct {
    const char *name;
    Visit visit[3];
    size_t visits;
    CellState state;      /* from here on: what comes out */
    double error;
    size_t samples;
    const char *reason;
} Merge;

static void visits_to_one_cell_are_merged(void **state)
{
    const Merge cases[] = {
        { "appended", { { CELL_OK, 1, 4 }, { CELL_OK, 3, 5 }, { CELL_OK, 2, 6 } }, 3, CELL_OK, 3, 15, "" },
        { "a failure last", { { CELL_OK, 1, 4 }, { CELL_OK, 1, 4 }, { CELL_FAILED, 9, 0 } }, 3, CELL_FAILED, 9, 0, "because 2" },
        { "a failure first", { { CELL_FAILED, 9, 0 }, { CELL_OK, 1, 4 } }, 2, CELL_FAILED, 9, 0, "because 0" },
        { "two failures: the first says why", { { CELL_FAILED, 2, 0 }, { CELL_FAILED, 5, 0 } }, 2, CELL_FAILED, 5, 0, "because 0" },
        { "a failure with times", { { CELL_FAILED, 2, 7 } }, 1, CELL_FAILED, 2, 0, "because 0" },
        { "NaN is the worst error", { { CELL_FAILED, NAN, 0 }, { CELL_OK, 1, 4 } }, 2, CELL_FAILED, NAN, 0, "because 0" },
        { "NaN is the worst error, last", { { CELL_OK, 1, 4 }, { CELL_FAILED, NAN, 0 } }, 2, CELL_FAILED, NAN, 0, "because 1" },
        { "skipped and right", { { CELL_SKIPPED, NAN, 0 }, { CELL_OK, 1, 4 }, { CELL_SKIPPED, NAN, 0 } }, 3, CELL_OK, 1, 4, "" },
        { "skipped and failed", { { CELL_SKIPPED, NAN, 0 }, { CELL_FAILED, 8, 0 } }, 2, CELL_FAILED, 8, 0, "because 1" },
        { "all skipped", { { CELL_SKIPPED, NAN, 0 }, { CELL_SKIPPED, NAN, 0 } }, 2, CELL_SKIPPED, NAN, 0, "because 0" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Merge *m = &cases[i];
        ResultsWriter *w = create();
        for (size_t v = 0; v < m->visits; v++) {
            Cell c = cell("cpu/naive", m->visit[v].state, (int)v);
            c.error = m->visit[v].error;
            if (c.state == CELL_SKIPPED) c.work = (Work){ 0, 0 };
            add_times(&c, TIME_KERNEL, (double)(v + 1), m->visit[v].samples);
            write_cell(w, c);
            write_cell(w, cell("another", CELL_SKIPPED, (int)v));   /* visits of other cells lie between */
        }
        assert_int_equal(results_close(w), GP_OK);
        Run run = read_run();
        assert_int_equal(run.cell_count, 2);
        const Cell *c = &run.cells[0];
        const Samples *k = &c->times[TIME_KERNEL];
        if (c->state != m->state || !same_number(c->error, m->error) || k->count != m->samples || strcmp(c->reason, m->reason) != 0)
            fail_msg("%s: state %d, error %g, %zu samples, \"%s\"", m->name, (int)c->state, c->error, k->count, c->reason);
        assert_int_equal(c->round, m->visits);
        assert_true(m->state == CELL_SKIPPED || c->work.flops > 0);   /* not those of a skipped visit */
        for (size_t j = 1; j < k->count; j++) assert_true(k->value[j] >= k->value[j - 1]);
        run_free(&run);
        (void)unlink(path);
    }
}

static void convergence_is_that_of_all_visits_together(void **state)
{
    /* the header asks for +-5%: 5 samples are too few; 10 of one value are enough; two visits that disagree are not */
    const struct { double time[2]; size_t samples; int flag, unconverged; } cases[] = {
        { { 1, 1 }, 5, 1, 0 }, { { 1, 2 }, 8, 0, 1 },
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ResultsWriter *w = create();
        for (int v = 0; v < 2; v++) {
            Cell c = cell("cpu/naive", CELL_OK, v);
            c.unconverged = cases[i].flag;
            add_times(&c, TIME_KERNEL, cases[i].time[v], cases[i].samples);
            write_cell(w, c);
        }
        assert_int_equal(results_close(w), GP_OK);
        Run run = read_run();
        assert_int_equal(run.cells[0].unconverged, cases[i].unconverged);
        run_free(&run);
        (void)unlink(path);
    }
}

/* ---- garbage ---- */

#define FIELDS_AFTER_N \
    "\"round\":0,\"file\":\"f\",\"role\":\"r\",\"where\":\"cpu\",\"idea\":\"i\",\"reason\":\"\",\"error\":0,\"tolerance\":1," \
    "\"flops\":1,\"bytes\":1,\"unconverged\":false,\"cold\":false,\"fits_cache\":false,\"graph\":false,\"above_roof\":false," \
    "\"throttled\":0,\"sm_clock_hz\":0"
#define CELL_WITH(n, rest) \
    "{\"type\":\"cell\",\"problem\":\"p\",\"variant\":\"\",\"approach\":\"a\",\"precision\":\"f32\",\"n\":" n "," rest "}\n"
#define GOOD CELL_WITH("10", "\"state\":\"ok\"," FIELDS_AFTER_N)

static void garbage_is_refused_with_file_line_and_remedy(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "line 1: the file is empty" },
        { "\n", "line 1: not JSON" },
        { "rubbish\n", "line 1: not JSON" },
        { "\x7f" "ELF\x02\x01\x01\xff\xfe", "line 1: not JSON" },
        { "{\"type\":\"header\",\"schema\":1", "line 1: not JSON" },
        { "[]\n", "line 1: not a JSON object" },
        { "null\n", "line 1: not a JSON object" },
        { "{}\n", "line 1: \"type\" is missing" },
        { GOOD, "line 1: a results file begins with a header" },
        { "{\"type\":\"header\"}\n", "line 1: \"schema\" is missing" },
        { "{\"type\":\"header\",\"schema\":\"1\"}\n", "line 1: \"schema\" is missing or is no number" },
        { "{\"type\":\"header\",\"schema\":1,\"schema\":2}\n", "line 1: \"schema\" stands there twice" },
        { "{\"type\":\"header\",\"schema\":7,\"a\":1,\"a\":1}\n",
          "schema 7, and this program reads 1; it is older than the file: update it" },
        { HEADER "rubbish\n", "line 2: not JSON" },
        { HEADER "\n" GOOD, "line 2: not JSON" },
        { HEADER HEADER, "line 2: \"type\" is none of cell, roof, part" },
        { HEADER "{\"type\":\"tree\"}\n", "line 2: \"type\" is none of cell, roof, part" },
        { HEADER "{\"type\":\"part\"}\n", "line 2: a part without options" },
        { HEADER "{\"type\":3}\n", "line 2: \"type\" is missing or is no text" },
        { HEADER "{\"type\":\"cell\"}\n", "line 2: \"problem\" is missing" },
        { HEADER GOOD "{\"type\":\"roof\",\"device\":\"cpu\",\"name\":\"triad\"}\n", "line 3: \"rate\" is missing" },
        { HEADER "{\"type\":\"roof\",\"device\":\"cpu\",\"name\":\"triad\",\"rate\":-1}\n", "line 2: \"rate\"" },
        { HEADER "{\"type\":\"roof\",\"device\":\"cpu\",\"name\":\"triad\",\"rate\":1e999}\n", "line 2: \"rate\"" },
        { HEADER "{\"type\":\"roof\",\"device\":\"a processor\",\"name\":\"triad\",\"rate\":1}\n", "line 2: \"device\" is too long" },
        { HEADER GOOD CELL_WITH("-10", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 3: \"n\" is missing or is no whole number from 1" },
        { HEADER CELL_WITH("0", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 2: \"n\"" },
        { HEADER CELL_WITH("1.5", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 2: \"n\"" },
        { HEADER CELL_WITH("null", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 2: \"n\"" },
        { HEADER CELL_WITH("\"10\"", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 2: \"n\"" },
        { HEADER CELL_WITH("1e300", "\"state\":\"ok\"," FIELDS_AFTER_N), "line 2: \"n\"" },
        { HEADER CELL_WITH("1", "\"state\":\"fine\"," FIELDS_AFTER_N), "line 2: \"state\" is none of ok, failed, skipped" },
        { HEADER CELL_WITH("1", "\"state\":\"ok\",\"n\":2," FIELDS_AFTER_N), "line 2: \"n\" stands there twice" },
        { HEADER "{\"a\\u001b[2J\\n\":1,\"a\\u001b[2J\\n\":1}\n", "line 2: \"a?[2J?\" stands there twice" },
        { HEADER CELL_WITH("1", "\"state\":\"ok\",\"kernel_s\":1," FIELDS_AFTER_N), "line 2: \"kernel_s\" is no list of times" },
        { HEADER CELL_WITH("1", "\"state\":\"ok\",\"e2e_s\":[1,\"2\"]," FIELDS_AFTER_N), "line 2: \"e2e_s\" is no list of times" },
        { HEADER CELL_WITH("1", "\"state\":\"ok\",\"e2e_s\":[-1]," FIELDS_AFTER_N), "line 2: \"e2e_s\" is no list of times" },
        { HEADER CELL_WITH("1", "\"state\":\"ok\",\"e2e_s\":[1e999]," FIELDS_AFTER_N), "line 2: \"e2e_s\" is no list of times" },
        { HEADER "{\"type\":\"roof\",\"device\":\"cpu\",\"name\":\"x\",\"rate\":1}{}\n", "line 2: not JSON" },
        { HEADER "{\"type\":\"roof\",\"device\":\"cpu\",\"name\":\"x\",\"rate\":1} x\n", "line 2: not JSON" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run run;
        put(cases[i].text, strlen(cases[i].text));
        if (results_read(&run, path) != GP_BAD_DATA) fail_msg("case %zu was accepted: %s", i, cases[i].text);
        const char *m = gp_message();
        if (!strstr(m, cases[i].says)) fail_msg("case %zu: \"%s\" does not say \"%s\"", i, m, cases[i].says);
        if (strncmp(m, path, strlen(path)) != 0 || strchr(m, '\n')) fail_msg("\"%s\"", m);
        if (!strstr(m, "measure again") && !strstr(m, "update it")) fail_msg("\"%s\" has no remedy", m);
        assert_null(run.header);
        assert_int_equal(run.cell_count, 0);
    }
    put(HEADER GOOD, strlen(HEADER GOOD));   /* the table's good line is good */
    Run run = read_run();
    assert_int_equal(run.cell_count, 1);
    run_free(&run);
}

static void every_field_of_a_cell_is_needed(void **state)
{
    ResultsWriter *w = create();
    size_t fields = 0;
    (void)state;
    write_cell(w, cell("cpu/naive", CELL_OK, 0));
    assert_int_equal(results_close(w), GP_OK);
    char *text = get(path);
    for (int wrong = 0; wrong < 2; wrong++) {   /* left out, and of a type that no field has */
        for (size_t i = 0;; i++) {
            Run run;
            cJSON *o = cJSON_Parse(strchr(text, '\n') + 1), *field = cJSON_GetArrayItem(o, (int)i);
            char name[32], line[4096];
            if (!field) { cJSON_Delete(o); fields = i; break; }
            snprintf(name, sizeof name, "\"%s\" is", field->string);
            if (wrong) assert_true(cJSON_ReplaceItemInObject(o, field->string, cJSON_CreateObject()));
            else cJSON_DeleteItemFromArray(o, (int)i);
            char *printed = cJSON_PrintUnformatted(o);
            snprintf(line, sizeof line, HEADER "%s\n", printed);
            put(line, strlen(line));
            if (results_read(&run, path) != GP_BAD_DATA) fail_msg("accepted without a right %s", name);
            if (!strstr(gp_message(), name)) fail_msg("\"%s\" does not say %s", gp_message(), name);
            cJSON_free(printed);
            cJSON_Delete(o);
        }
    }
    assert_int_equal(fields, 24);
    free(text);
}

static char *repeat(const char *before, const char *part, size_t count, const char *after)
{
    const size_t head = strlen(before), length = strlen(part);
    char *text = malloc(head + count * length + strlen(after) + 1);
    assert_non_null(text);
    memcpy(text, before, head);
    for (size_t i = 0; i < count; i++) memcpy(text + head + i * length, part, length);
    memcpy(text + head + count * length, after, strlen(after) + 1);
    return text;
}

static void large_garbage_is_refused_in_bounded_time(void **state)
{
    const struct { const char *before, *part; size_t count; const char *after, *says; } cases[] = {
        { HEADER, "[", 1000000, "\n", "line 2: not JSON" },
        { HEADER "{\"type\":", "{\"a\":", 1000000, "\n", "line 2: not JSON" },
        { HEADER "{\"type\":\"", "x", 1000000, "\"}\n", "line 2: \"type\" is too long" },
        { HEADER "{\"type\":\"cell\"", ",\"a\":1", 1000000, "}\n", "line 2: \"a\" stands there twice" },
        { HEADER "{\"type\":\"cell\",\"x\":[0", ",0", 9000000, "]}\n", "line 2: longer" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run run;
        char *text = repeat(cases[i].before, cases[i].part, cases[i].count, cases[i].after);
        put(text, strlen(text));
        free(text);
        assert_int_equal(results_read(&run, path), GP_BAD_DATA);
        if (!strstr(gp_message(), cases[i].says)) fail_msg("case %zu: \"%s\"", i, gp_message());
    }
}

static void a_line_of_countless_fields_is_refused(void **state)
{
    enum { FIELDS = 300 };
    char text[64 + 16 * FIELDS] = HEADER "{\"type\":\"cell\"";
    size_t length = strlen(text);
    Run run;
    (void)state;
    for (int i = 0; i < FIELDS; i++) length += (size_t)snprintf(text + length, sizeof text - length, ",\"f%d\":1", i);
    length += (size_t)snprintf(text + length, sizeof text - length, "}\n");
    put(text, length);
    assert_int_equal(results_read(&run, path), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "line 2: more fields"));
}

static void bytes_of_zero_at_the_end_are_a_cut_line(void **state)
{
    static const char text[] = HEADER GOOD "\0\0\0\0\0\0\0";   /* what some file systems leave after a power cut */
    (void)state;
    put(text, sizeof text - 1);
    Run run = read_run();
    assert_int_equal(run.cell_count, 1);
    assert_int_equal(run.truncated, 1);
    run_free(&run);
}

static void what_is_no_file_is_refused(void **state)
{
    const char *const cases[] = { "/tmp", "/dev/zero", "/nonexistent/x.jsonl" };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        Run run;
        assert_int_equal(results_read(&run, cases[i]), GP_IO);
        assert_non_null(strstr(gp_message(), cases[i]));
        assert_non_null(strstr(gp_message(), "give a results file"));
    }
}

/* ---- CSV ---- */

static void csv_has_one_row_for_each_time_and_a_reason_where_there_is_none(void **state)
{
    ResultsWriter *w = create();
    Cell c = cell("cpu/naive", CELL_OK, 0), bad = cell("say \"a,b\"", CELL_FAILED, 0);
    (void)state;
    add_times(&c, TIME_KERNEL, 0.25, 6);
    add_times(&c, TIME_FIRST, 2, 1);
    bad.error = NAN;
    write_cell(w, c);
    write_cell(w, bad);
    assert_int_equal(results_close(w), GP_OK);
    Run run = read_run();
    assert_int_equal(results_write_csv(&run, csv), GP_OK);
    char *text = get(csv);
    assert_string_equal(text,
        "problem,variant,approach,precision,n,state,time,count,median,low,high,min,max,mad,outliers,drift,"
        "error,tolerance,flops,bytes,unconverged,reason\n"
        "kernel_matrix,lower,cpu/naive,f64,4096,ok,kernel_s,6,0.25,0.25,0.25,0.25,0.25,0,0,0,3.33333333e-16,1e-14,1.42857143e+11,3e+09,0,\n"
        "kernel_matrix,lower,cpu/naive,f64,4096,ok,first_s,1,2,2,2,2,2,0,0,,3.33333333e-16,1e-14,1.42857143e+11,3e+09,0,\n"
        "kernel_matrix,lower,\"say \"\"a,b\"\"\",f64,4096,failed,,0,,,,,,,,,,1e-14,1.42857143e+11,3e+09,0,because 0\n");
    free(text);
    run_free(&run);
}

static void a_csv_that_cannot_be_finished_leaves_the_old_one(void **state)
{
    ResultsWriter *w = create();
    struct rlimit before;
    char part[80];
    (void)state;
    write_cell(w, cell("cpu/naive", CELL_SKIPPED, 0));
    assert_int_equal(results_close(w), GP_OK);
    Run run = read_run();
    assert_int_equal(results_write_csv(&run, csv), GP_OK);
    char *old = get(csv);
    limit_file_size(20, &before);
    const GpStatus status = results_write_csv(&run, csv);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, GP_IO);
    char *now = get(csv);
    assert_string_equal(now, old);
    snprintf(part, sizeof part, "%s.part", csv);
    assert_int_equal(access(part, F_OK), -1);
    free(old);
    free(now);
    run_free(&run);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, fresh)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_reads_back_equal),
        TEST(numbers_that_are_not_finite_are_null_and_read_as_nan),
        TEST(an_existing_file_is_never_overwritten),
        TEST(a_path_that_cannot_be_written_says_why),
        TEST(a_full_disk_keeps_every_whole_line),
        TEST(a_header_that_cannot_be_written_leaves_no_file),
        TEST(without_memory_a_line_is_written_whole_or_not_at_all),
        TEST(a_cut_last_line_is_ignored_and_resuming_removes_it),
        TEST(a_last_line_that_lacks_its_newline_alone_stays),
        TEST(a_killed_writer_leaves_at_most_one_cut_line),
        TEST(nothing_is_cut_off_a_file_that_is_not_a_results_file),
        TEST(a_second_writer_is_refused),
        TEST(visits_to_one_cell_are_merged),
        TEST(convergence_is_that_of_all_visits_together),
        TEST(garbage_is_refused_with_file_line_and_remedy),
        TEST(every_field_of_a_cell_is_needed),
        TEST(large_garbage_is_refused_in_bounded_time),
        TEST(a_line_of_countless_fields_is_refused),
        TEST(bytes_of_zero_at_the_end_are_a_cut_line),
        TEST(what_is_no_file_is_refused),
        TEST(csv_has_one_row_for_each_time_and_a_reason_where_there_is_none),
        TEST(a_csv_that_cannot_be_finished_leaves_the_old_one),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
