/* The report: what it must say, what it must never show, and what it must survive. Runs are made in memory; pages and pictures
 * go to a temporary folder. */
#define _GNU_SOURCE
#include "bench/plot.h"
#include "bench/report.h"
#include "bench/report_html.h"
#include "bench/report_table.h"
#include "common/memory.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 64 };
typedef struct {
    char folder[64], html[128], plots[128], note[512], *path;
    Run run;
    Cell cells[MOST];
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    snprintf(f->folder, sizeof f->folder, "/tmp/test_report_XXXXXX");
    if (!mkdtemp(f->folder)) return -1;
    snprintf(f->html, sizeof f->html, "%s/page.html", f->folder);
    snprintf(f->plots, sizeof f->plots, "%s/plots", f->folder);
    f->path = strdup(getenv("PATH"));
    f->run.cells = f->cells;
    *state = f;
    return 0;
}

static void free_run(Run *run)
{
    for (size_t i = 0; i < run->cell_count; i++)
        for (int t = 0; t < TIMES; t++) free(run->cells[i].times[t].value);
    cJSON_Delete(run->header);
}

static int teardown(void **state)
{
    Fixture *f = *state;
    char command[128];
    setenv("PATH", f->path, 1);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    const int bad = system(command);
    free_run(&f->run);
    free(f->path);
    free(f);
    return bad;
}

/* make test installs gnuplot; where it may not (DEPS=skip), tests of pictures are skipped. */
static void skip_without_gnuplot(void)
{
    if (system("gnuplot --version >/dev/null 2>&1") != 0) skip();
}

static void set_time(Cell *c, Time t, double seconds)
{
    c->times[t] = (Samples){ .value = malloc(7 * sizeof(double)), .count = 7 };
    assert_non_null(c->times[t].value);
    for (int i = 0; i < 7; i++) c->times[t].value[i] = seconds;
}

/* A verified cell of vector_add in f32 with the same kernel time on every sample; end to end takes twice that. */
static Cell *add(Run *run, const char *approach, const char *where, size_t n, double seconds)
{
    assert_true(run->cell_count < MOST);
    Cell *c = &run->cells[run->cell_count++];
    *c = (Cell){ .n = n, .state = CELL_OK, .error = 1e-8, .tolerance = 1e-6, .work = { (double)n, 12 * (double)n } };
    snprintf(c->problem, sizeof c->problem, "vector_add");
    snprintf(c->approach, sizeof c->approach, "%s", approach);
    snprintf(c->where, sizeof c->where, "%s", where);
    snprintf(c->precision, sizeof c->precision, "f32");
    set_time(c, TIME_KERNEL, seconds);
    set_time(c, TIME_E2E, 2 * seconds);
    return c;
}

static void add_machine(Run *run, const char *cpu, const char *gpu)
{
    char text[256];
    snprintf(text, sizeof text, "{\"machine\":{\"cpu_model\":\"%s\",\"cpu_count\":4,\"gpu_name\":\"%s\"}}", cpu, gpu);
    run->header = cJSON_Parse(text);
    assert_non_null(run->header);
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    size_t size = 0;
    const ssize_t got = getdelim(&text, &size, '\0', f);
    fclose(f);
    if (got >= 0) return text;
    free(text);
    return strdup("");
}

static int page_has(const Fixture *f, const char *what)
{
    char *page = read_all(f->html);
    assert_non_null(page);
    const int has = strstr(page, what) != NULL;
    free(page);
    return has;
}

static int picture_exists(const Fixture *f, const char *name)
{
    char path[256];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s", f->plots, name);
    return stat(path, &s) == 0 && s.st_size > 100;
}

static void write_report(Fixture *f, const Run *reference)
{
    if (!f->run.header) add_machine(&f->run, "A CPU", "none");
    assert_int_equal(report_write(&f->run, reference, f->html, f->plots, f->note, sizeof f->note), GP_OK);
}

static void a_log_axis_gets_only_what_it_can_show(void **state)
{
    (void)state;
    static const struct {
        double x, y;
        int fine;
    } cases[] = {
        { 1, 1, 1 }, { 0, 1, 0 }, { 1, 0, 0 }, { 1, -1, 0 }, { 1, NAN, 0 }, { NAN, 1, 0 }, { 1, INFINITY, 0 }, { 1e-300, 1e300, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_int_equal(plot_can_draw(cases[i].x, cases[i].y), cases[i].fine);
    Range r = RANGE_EMPTY;
    const double values[] = { 0, NAN, -3, INFINITY, 5 };
    for (int i = 0; i < 5; i++) range_add(&r, values[i]);
    assert_true(r.low == 5 && r.high == 5);
    r = range_padded(r);
    assert_true(r.low < 5 && r.high > 5);
    r = range_padded(RANGE_EMPTY);
    assert_true(r.low > 0 && r.high > r.low);
}

static void an_interval_that_reaches_zero_is_cut_at_its_point(void **state)
{
    (void)state;
    double low = 0, high = NAN;
    plot_clip(2, &low, &high);
    assert_true(low == 2 && high == 2);
    low = 1, high = 3;
    plot_clip(2, &low, &high);
    assert_true(low == 1 && high == 3);
}

static void three_points_one_of_them_zero_are_drawn(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    const double seconds[] = { 1e-3, 0, 3e-3 };
    for (size_t i = 0; i < 3; i++) add(&f->run, "cpu/naive", "cpu", (size_t)1 << (10 + i), seconds[i]);
    write_report(f, NULL);
    assert_string_equal(f->note, "");
    assert_true(picture_exists(f, "vector_add_time.svg"));
    assert_true(picture_exists(f, "vector_add_time.png"));
}

static void hard_data_leaves_no_complaint(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    add(&f->run, "cpu/naive", "cpu", 1024, 1e-3)->error = 0; /* one point, no error */
    add(&f->run, "cuda/naive", "cuda", 1024, NAN);
    Cell *c = add(&f->run, "quo\"te\\n'", "worker", 1024, 1e-3);
    c->work = (Work){ 0, 0 };
    c->error = NAN;
    c->times[TIME_KERNEL].value[0] = INFINITY;
    write_report(f, NULL);
    assert_string_equal(f->note, "");
    assert_true(picture_exists(f, "vector_add_bars.svg"));
    assert_true(picture_exists(f, "vector_add_accuracy.svg"));
}

static void text_from_outside_is_escaped(void **state)
{
    Fixture *f = *state;
    add_machine(&f->run, "<script>alert(1)</script>", "a & b");
    Cell *c = add(&f->run, "<b>bold</b>", "cpu", 1024, 1e-3);
    c->state = CELL_FAILED;
    snprintf(c->reason, sizeof c->reason, "<img src=x> & \"more\" 'quotes'");
    write_report(f, NULL);
    assert_false(page_has(f, "<script"));
    assert_false(page_has(f, "<b>bold"));
    assert_false(page_has(f, "<img"));
    assert_true(page_has(f, "&lt;img src=x&gt; &amp; &quot;more&quot; &#39;quotes&#39;"));
}

static void a_failed_cell_shows_its_error_and_never_a_time(void **state)
{
    Fixture *f = *state;
    add(&f->run, "cpu/naive", "cpu", 1024, 1e-3);
    Cell *c = add(&f->run, "cuda/naive", "cuda", 1024, 0.0321);
    c->state = CELL_FAILED;
    c->error = 0.75;
    snprintf(c->reason, sizeof c->reason, "wrong in the last block");
    write_report(f, NULL);
    assert_true(page_has(f, "FAILED"));
    assert_true(page_has(f, "wrong in the last block"));
    assert_true(page_has(f, "0.75"));
    assert_false(page_has(f, "32.1 ms"));
    assert_false(page_has(f, "64.2 ms"));
    assert_false(page_has(f, "best GPU</b></span>"));
}

static void kernel_time_is_not_shown_without_end_to_end_time(void **state)
{
    Fixture *f = *state;
    add(&f->run, "cpu/naive", "cpu", 1024, 0.0321)->times[TIME_E2E].count = 0;
    write_report(f, NULL);
    assert_false(page_has(f, "32.1 ms"));
    assert_true(page_has(f, "neither is shown alone"));
}

static void the_answer_comes_first_and_compares_the_best_of_both(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    add_machine(&f->run, "Some CPU", "Some GPU");
    add(&f->run, "cpu/naive", "cpu", 1024, 0.8);
    add(&f->run, "cpu/openmp", "cpu", 1024, 0.08);
    add(&f->run, "cuda/naive", "cuda", 1024, 0.04);
    add(&f->run, "cuda/optimized", "cuda", 1024, 0.02);
    add(&f->run, "cuda/optimized", "cuda", 2048, 0.03); /* no CPU row to compare with */
    write_report(f, NULL);
    assert_true(page_has(f, "On this machine (CPU: Some CPU, 4 logical CPUs; GPU: Some GPU)"));
    assert_true(page_has(f, "the best GPU approach is <b>4.00×</b> the best CPU approach end to end and <b>4.00×</b> in kernel time"));
    assert_true(page_has(f, "<td class=soft>40.0×</td>")); /* against naive, in its labelled column */
    assert_true(picture_exists(f, "overview.svg"));
}

static void without_gnuplot_the_page_has_its_tables_and_a_note(void **state)
{
    Fixture *f = *state;
    add(&f->run, "cpu/naive", "cpu", 1024, 0.0321);
    setenv("PATH", f->folder, 1);
    write_report(f, NULL);
    assert_non_null(strstr(f->note, "gnuplot"));
    assert_null(strchr(f->note, '\n'));
    assert_true(page_has(f, "gnuplot cannot be started"));
    assert_true(page_has(f, "32.1 ms"));
    assert_false(page_has(f, "<figure>"));
}

static void a_failing_gnuplot_is_noticed_by_its_exit_code(void **state)
{
    Fixture *f = *state;
    char path[128];
    add(&f->run, "cpu/naive", "cpu", 1024, 0.0321);
    snprintf(path, sizeof path, "%s/gnuplot", f->folder);
    FILE *fake = fopen(path, "w");
    assert_non_null(fake);
    /* Its files look whole, so that only the exit code tells. */
    fputs("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\n"
          "while read -r set output file; do\n"
          "[ \"$output\" = output ] && [ \"$file\" ] && file=${file%\\\"} && echo 'some lines of a picture </svg>IEND' > \"${file#\\\"}\"\n"
          "done < \"$1\"\necho no more colours\nexit 3\n",
          fake);
    assert_int_equal(fclose(fake), 0);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("PATH", f->folder, 1);
    write_report(f, NULL);
    assert_non_null(strstr(f->note, "exit code 3: no more colours"));
    assert_true(page_has(f, "no more colours"));
    assert_true(page_has(f, "32.1 ms"));
    assert_false(page_has(f, "<figure>"));
}

static void an_empty_run_gives_a_page(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    write_report(f, NULL);
    assert_string_equal(f->note, "");
    assert_true(page_has(f, "The run has no measurements"));
    assert_true(page_has(f, "</html>"));
}

/* A run with a GPU, of another machine. */
static void make_reference(Run *run, Cell *cells)
{
    *run = (Run){ .cells = cells };
    add_machine(run, "Far CPU", "Far GPU");
    add(run, "cpu/openmp", "cpu", 1024, 0.08);
    add(run, "cuda/optimized", "cuda", 1024, 0.02);
}

static void without_gpu_rows_the_reference_is_shown_as_another_machines(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    Run reference;
    Cell cells[MOST];
    make_reference(&reference, cells);
    add(&f->run, "cpu/naive", "cpu", 1024, 0.0321);
    Cell *c = add(&f->run, "cuda/naive", "cuda", 1024, 1);
    c->state = CELL_SKIPPED;
    snprintf(c->reason, sizeof c->reason, "no CUDA device");
    write_report(f, &reference);
    assert_true(page_has(f, "no GPU approach has a time: no CUDA device"));
    assert_true(page_has(f, "On <b>another machine</b> (CPU: Far CPU, 4 logical CPUs; GPU: Far GPU)"));
    assert_true(page_has(f, "Another machine’s results: Far GPU"));
    char path[256];
    snprintf(path, sizeof path, "%s/reference_vector_add_time.svg", f->plots);
    char *svg = read_all(path);
    assert_non_null(svg);
    assert_non_null(strstr(svg, "another machine: Far GPU, Far CPU"));
    free(svg);
    free_run(&reference);
}

static void with_gpu_rows_of_its_own_the_reference_is_left_out(void **state)
{
    Fixture *f = *state;
    Run reference;
    Cell cells[MOST];
    make_reference(&reference, cells);
    add(&f->run, "cuda/naive", "cuda", 1024, 1);
    write_report(f, &reference);
    assert_false(page_has(f, "Far"));
    free_run(&reference);
}

static void the_page_loads_nothing_and_its_ids_are_unique(void **state)
{
    skip_without_gnuplot();
    Fixture *f = *state;
    for (size_t n = 1024; n <= 4096; n *= 2) {
        add(&f->run, "cpu/naive", "cpu", n, 1e-3);
        set_time(add(&f->run, "cuda/naive", "cuda", n, 1e-3), TIME_UPLOAD, 1e-4);
        set_time(&f->run.cells[f->run.cell_count - 1], TIME_DOWNLOAD, 1e-4);
    }
    write_report(f, NULL);
    assert_true(picture_exists(f, "vector_add_parts.svg"));
    static const char *const outside[] = { "<script", "<link", "<iframe", "src=", "@import", "url(http" };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) assert_false(page_has(f, outside[i]));
    char *page = read_all(f->html), id[120];
    assert_non_null(page);
    int found = 0;
    for (char *at = page; (at = strstr(at, " id=")) != NULL; at++, found++) {
        const size_t length = strcspn(at + 5, "'\"") + 6; /* with both quotes */
        snprintf(id, sizeof id, " id=%.*s", (int)length, at + 4);
        assert_null(strstr(at + 1, id));
    }
    assert_true(found > 20);
    free(page);
}

static void the_crossover_lies_between_the_sizes_where_the_lead_changes(void **state)
{
    Fixture *f = *state;
    static const struct {
        double gpu[3];
        CrossKind kind;
        double n;
    } cases[] = {
        /* times of the GPU at 1000, 4000, 16000; the CPU takes 1 */
        { { 2, 0.25, 0.25 }, CROSS_AT, 1587.4010519681994 }, /* 1000 * 4^(1/3) */
        { { 0.5, 0.5, 0.5 }, CROSS_GPU_ALWAYS, 0 },
        { { 2, 2, 2 }, CROSS_CPU_ALWAYS, 0 },
        { { 0.5, 2, 0.5 }, CROSS_AT, 8000 },
        { { 0.5, 0.5, 2 }, CROSS_CPU_ALWAYS, 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Run run = { .cells = f->cells };
        Table t;
        for (size_t i = 0; i < 3; i++) {
            add(&run, "cpu/openmp", "cpu", (size_t)1000 << (2 * i), 1);
            add(&run, "cuda/naive", "cuda", (size_t)1000 << (2 * i), cases[k].gpu[i]);
        }
        assert_int_equal(table_make(&t, &run), GP_OK);
        const Crossover c = table_crossover(&t, &t.problems[0], "f32", TIME_E2E);
        assert_int_equal(c.kind, cases[k].kind);
        if (c.kind == CROSS_AT) assert_true(fabs(c.n - cases[k].n) < 1e-6 * cases[k].n);
        table_free(&t);
        free_run(&run);
    }
}

static void a_share_is_of_the_roof_that_limits_the_problem(void **state)
{
    Fixture *f = *state;
    static const struct {
        const char *problem, *precision, *roof;
        Work work;
        double share;
    } cases[] = {
        { "vector_add", "f32", "triad", { 1e9, 12e9 }, 0.6 },
        { "reduction", "f32", "read", { 1e9, 4e9 }, 0.1 },
        { "kernel_matrix", "f64", "write", { 1e9, 8e9 }, 0.8 },
        { "matmul", "f64", "matmul_f64", { 1e12, 1e9 }, 0.5 }, { "gp_train", "f64", NULL, { 0, 0 }, NAN },
    };
    Roof roofs[] = { { "cpu", "triad", 20e9 },
                     { "cpu", "read", 40e9 },
                     { "cpu", "write", 10e9 },
                     { "cpu", "matmul_f32", 4e12 },
                     { "cpu", "matmul_f64", 2e12 } };
    f->run.roofs = roofs;
    f->run.roof_count = sizeof roofs / sizeof *roofs;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Cell *c = add(&f->run, "cpu/openmp", "cpu", 1024, 1);
        snprintf(c->problem, sizeof c->problem, "%s", cases[k].problem);
        snprintf(c->precision, sizeof c->precision, "%s", cases[k].precision);
        c->work = cases[k].work;
    }
    Table t;
    assert_int_equal(table_make(&t, &f->run), GP_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (!cases[k].roof) {
            assert_true(t.rows[k].roof == NULL && isnan(t.rows[k].share));
            continue;
        }
        assert_string_equal(t.rows[k].roof, cases[k].roof);
        assert_true(fabs(t.rows[k].share - cases[k].share) < 1e-12);
    }
    table_free(&t);
}

static void a_place_that_cannot_be_written_is_refused(void **state)
{
    Fixture *f = *state;
    char inside[160];
    snprintf(inside, sizeof inside, "%s/plots", f->html); /* a folder inside a file */
    FILE *file = fopen(f->html, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(report_write(&f->run, NULL, f->html, inside, f->note, sizeof f->note), GP_IO);
    assert_non_null(strstr(gp_message(), inside));
    assert_int_equal(report_write(&f->run, NULL, inside, f->plots, f->note, sizeof f->note), GP_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_axis_gets_only_what_it_can_show),
        cmocka_unit_test(an_interval_that_reaches_zero_is_cut_at_its_point),
        cmocka_unit_test_setup_teardown(three_points_one_of_them_zero_are_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(hard_data_leaves_no_complaint, setup, teardown),
        cmocka_unit_test_setup_teardown(text_from_outside_is_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_cell_shows_its_error_and_never_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(kernel_time_is_not_shown_without_end_to_end_time, setup, teardown),
        cmocka_unit_test_setup_teardown(the_answer_comes_first_and_compares_the_best_of_both, setup, teardown),
        cmocka_unit_test_setup_teardown(without_gnuplot_the_page_has_its_tables_and_a_note, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failing_gnuplot_is_noticed_by_its_exit_code, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_run_gives_a_page, setup, teardown),
        cmocka_unit_test_setup_teardown(without_gpu_rows_the_reference_is_shown_as_another_machines, setup, teardown),
        cmocka_unit_test_setup_teardown(with_gpu_rows_of_its_own_the_reference_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_page_loads_nothing_and_its_ids_are_unique, setup, teardown),
        cmocka_unit_test_setup_teardown(the_crossover_lies_between_the_sizes_where_the_lead_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_share_is_of_the_roof_that_limits_the_problem, setup, teardown),
        cmocka_unit_test_setup_teardown(a_place_that_cannot_be_written_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
