/* Two runs compared: which rows there are, what their verdicts add up to, and what is printed. */
#define _GNU_SOURCE
#include "bench/compare.h"
#include "common/random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 8, SAMPLES = 30 };

/* A run whose cells live in `cells`. */
typedef struct { Run run; Cell cells[MOST]; } Fake;

static void start(Fake *f, const char *header)
{
    memset(f, 0, sizeof *f);
    f->run.cells = f->cells;
    f->run.header = cJSON_Parse(header);
    assert_non_null(f->run.header);
}

static const char HERE[] = "{\"machine\":{\"cpu_model\":\"Fast CPU\",\"cpu_count\":8,\"gpu_name\":\"none\"}}";

static void finish(Fake *f)
{
    for (size_t i = 0; i < f->run.cell_count; i++) cell_free(&f->cells[i]);
    cJSON_Delete(f->run.header);
}

/* Samples around `time` with 1% of noise; 0: none. */
static Cell *add(Fake *f, const char *approach, CellState state, double time)
{
    assert_true(f->run.cell_count < MOST);
    Cell *c = &f->cells[f->run.cell_count++];
    *c = (Cell){ .problem = "reduction", .precision = "f32", .n = 1 << 20, .state = state, .work = { 1e6, 4e6 } };
    snprintf(c->approach, sizeof c->approach, "%s", approach);
    if (state != CELL_OK) snprintf(c->reason, sizeof c->reason, "reason of %s", approach);
    for (uint64_t i = 0; i < SAMPLES && time > 0; i++)
        assert_int_equal(samples_add(&c->times[TIME_KERNEL], time * (1 + 0.01 * random_normal(1, f->run.cell_count, i))), GP_OK);
    return c;
}

static CompareReport compare(const Fake *a, const Fake *b)
{
    const CompareOptions o = compare_defaults();
    CompareReport r;
    if (compare_runs(&a->run, &b->run, &o, &r) != GP_OK) fail_msg("%s", gp_message());
    return r;
}

/* The caller frees it. */
static char *printed(const CompareReport *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    compare_print(r, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* ---- one pair of cells ---- */

enum { ABSENT = 3, NO_TIME };   /* beside CellState: not in the file; right, and without the compared time */

static void add_as(Fake *f, int what, double time)
{
    if (what == ABSENT) return;
    add(f, "cuda/optimized", what == NO_TIME ? CELL_OK : (CellState)what, what == CELL_OK ? time : 0);
}

static void each_pair_of_states_has_its_row_and_exit_code(void **state)
{
    /* rows: beside one good pair that is the same in both files; -1: none */
    const struct { int a, b; double times; int kind, exit_code; } cases[] = {
        { CELL_OK, CELL_OK, 1, ROW_COMPARED, 0 },
        { CELL_OK, CELL_OK, 1.3, ROW_COMPARED, 1 },
        { CELL_OK, CELL_OK, 0.7, ROW_COMPARED, 0 },
        { CELL_OK, CELL_FAILED, 1, ROW_BROKEN, 3 },
        { CELL_OK, CELL_SKIPPED, 1, ROW_MISSING, 2 },
        { CELL_OK, ABSENT, 1, ROW_MISSING, 2 },
        { CELL_OK, NO_TIME, 1, ROW_MISSING, 2 },
        { NO_TIME, CELL_OK, 1, ROW_ADDED, 0 },
        { NO_TIME, CELL_FAILED, 1, ROW_BROKEN, 3 },
        { NO_TIME, NO_TIME, 1, -1, 0 },
        { ABSENT, CELL_OK, 1, ROW_ADDED, 0 },
        { CELL_SKIPPED, CELL_OK, 1, ROW_ADDED, 0 },
        { CELL_SKIPPED, CELL_SKIPPED, 1, -1, 0 },
        { CELL_SKIPPED, ABSENT, 1, -1, 0 },
        { ABSENT, CELL_SKIPPED, 1, -1, 0 },
        { CELL_FAILED, CELL_OK, 1, ROW_NOTED, 0 },
        { CELL_FAILED, CELL_FAILED, 1, ROW_NOTED, 0 },
        { CELL_FAILED, CELL_SKIPPED, 1, ROW_NOTED, 0 },
        { CELL_FAILED, ABSENT, 1, ROW_NOTED, 0 },
        { CELL_SKIPPED, CELL_FAILED, 1, ROW_NOTED, 0 },
        { ABSENT, CELL_FAILED, 1, ROW_NOTED, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fake a, b;
        start(&a, HERE);
        start(&b, HERE);
        add_as(&a, cases[i].a, 1e-3);
        add_as(&b, cases[i].b, 1e-3 * cases[i].times);
        add(&a, "cpu/naive", CELL_OK, 1);
        add(&b, "cpu/naive", CELL_OK, 1);
        CompareReport r = compare(&a, &b);
        int kind = -1;
        for (size_t k = 0; k < r.rows; k++) {
            const Cell *c = r.row[k].a ? r.row[k].a : r.row[k].b;
            if (strcmp(c->approach, "cuda/optimized") == 0) kind = (int)r.row[k].kind;
        }
        if (kind != cases[i].kind || r.exit_code != cases[i].exit_code) fail_msg("case %zu: row %d, exit code %d", i, kind, r.exit_code);
        assert_int_equal(r.missing, kind == ROW_MISSING);
        assert_int_equal(r.added, kind == ROW_ADDED);
        assert_int_equal(r.broken, kind == ROW_BROKEN);
        assert_int_equal(r.noted, kind == ROW_NOTED);
        compare_free(&r);
        finish(&a);
        finish(&b);
    }
}

static void cells_are_matched_by_their_whole_key(void **state)
{
    (void)state;
    for (int field = 0; field < 5; field++) {
        Fake a, b;
        start(&a, HERE);
        start(&b, HERE);
        add(&a, "cpu/naive", CELL_OK, 1);
        Cell *c = add(&b, "cpu/naive", CELL_OK, 1);
        if (field == 0) snprintf(c->problem, sizeof c->problem, "multiply");
        if (field == 1) snprintf(c->variant, sizeof c->variant, "lower");
        if (field == 2) snprintf(c->approach, sizeof c->approach, "cpu/openmp");
        if (field == 3) snprintf(c->precision, sizeof c->precision, "f64");
        if (field == 4) c->n++;
        CompareReport r = compare(&a, &b);
        assert_int_equal(r.missing, 1);
        assert_int_equal(r.added, 1);
        assert_int_equal(r.exit_code, 2);
        compare_free(&r);
        finish(&a);
        finish(&b);
    }
}

/* ---- whole runs ---- */

static void the_worst_finding_is_the_exit_code(void **state)
{
    const struct { int slower, missing, broken, exit_code; } cases[] = {
        { 0, 0, 0, 0 }, { 1, 0, 0, 1 }, { 1, 1, 0, 2 }, { 0, 1, 0, 2 }, { 1, 1, 1, 3 }, { 0, 0, 1, 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fake a, b;
        start(&a, HERE);
        start(&b, HERE);
        add(&a, "one", CELL_OK, 1);
        add(&b, "one", CELL_OK, cases[i].slower ? 1.2 : 1);
        add(&a, "two", CELL_OK, 1);
        add(&b, cases[i].missing ? "due" : "two", CELL_OK, 1);
        add(&a, "three", CELL_OK, 1);
        add(&b, "three", cases[i].broken ? CELL_FAILED : CELL_OK, cases[i].broken ? 0 : 1);
        CompareReport r = compare(&a, &b);
        if (r.exit_code != cases[i].exit_code) fail_msg("case %zu: exit code %d", i, r.exit_code);
        compare_free(&r);
        finish(&a);
        finish(&b);
    }
}

static void nothing_in_common_is_a_mistake_that_is_said(void **state)
{
    Fake a, b;
    (void)state;
    start(&a, HERE);
    start(&b, HERE);
    add(&b, "cpu/naive", CELL_OK, 1);
    CompareReport r = compare(&a, &b);
    char *text = printed(&r);
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(text, "nothing to compare"));
    free(text);
    compare_free(&r);
    finish(&a);
    finish(&b);
}

static void another_machine_is_refused_saying_what_differs(void **state)
{
    static const struct { const char *header, *says; } cases[] = {
        { "{\"machine\":{\"cpu_model\":\"Slow CPU\",\"cpu_count\":8,\"gpu_name\":\"none\"}}",
          "cpu_model is \"Fast CPU\" in A and \"Slow CPU\" in B" },
        { "{\"machine\":{\"cpu_model\":\"Fast CPU\",\"cpu_count\":4,\"gpu_name\":\"none\"}}", "cpu_count is 8 in A and 4 in B" },
        { "{\"machine\":{\"cpu_model\":\"Fast CPU\",\"cpu_count\":4,\"gpu_name\":\"H\"}}",
          "4 in B, gpu_name is \"none\" in A and \"H\" in B" },
        { "{\"machine\":{\"cpu_model\":\"Fast CPU\",\"cpu_count\":8}}", "gpu_name is \"none\" in A and unknown in B" },
        { "{\"machine\":[]}", "cpu_count is 8 in A and unknown in B" },
        { "{}", "cpu_model is \"Fast CPU\" in A and unknown in B" },
    };
    CompareOptions o = compare_defaults();
    Fake a;
    (void)state;
    start(&a, HERE);
    add(&a, "cpu/naive", CELL_OK, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fake b;
        CompareReport r;
        start(&b, cases[i].header);
        add(&b, "cpu/naive", CELL_OK, 1);
        o.cross_machine = 0;
        assert_int_equal(compare_runs(&a.run, &b.run, &o, &r), GP_BAD_ARGUMENT);
        if (!strstr(gp_message(), cases[i].says) || !strstr(gp_message(), "--cross-machine")) fail_msg("case %zu: \"%s\"", i, gp_message());
        compare_free(&r);
        o.cross_machine = 1;
        assert_int_equal(compare_runs(&a.run, &b.run, &o, &r), GP_OK);
        assert_int_equal(r.exit_code, 0);
        compare_free(&r);
        finish(&b);
    }
    finish(&a);
}

static void changed_work_is_compared_by_throughput(void **state)
{
    const struct { Work b; double time; Verdict verdict; int by_throughput; } cases[] = {
        { { 1e6, 4e6 }, 1.8, SLOWER, 0 },
        { { 2e6, 8e6 }, 1.8, FASTER, 1 },      /* twice the work in 1.8 times the time */
        { { 2e6, 8e6 }, 2, SAME, 1 },
        { { 1e6, 8e6 }, 1.8, FASTER, 1 },      /* twice the bytes alone */
        { { 0, 8e6 }, 1.8, FASTER, 1 },
        { { NAN, NAN }, 1.8, SLOWER, 0 },      /* not known: as it stands */
        { { 0, 0 }, 1.8, SLOWER, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fake a, b;
        start(&a, HERE);
        start(&b, HERE);
        add(&a, "cpu/naive", CELL_OK, 1);
        add(&b, "cpu/naive", CELL_OK, cases[i].time)->work = cases[i].b;
        CompareReport r = compare(&a, &b);
        const CompareRow *row = &r.row[0];
        if (row->comparison.verdict != cases[i].verdict || row->by_throughput != cases[i].by_throughput)
            fail_msg("case %zu: %s, by throughput %d", i, verdict_name(row->comparison.verdict), row->by_throughput);
        char *text = printed(&r);
        assert_int_equal(strstr(text, "the work differs") != NULL, cases[i].by_throughput && cases[i].verdict != SAME);
        free(text);
        compare_free(&r);
        finish(&a);
        finish(&b);
    }
}

static void the_time_that_is_asked_for_is_compared(void **state)
{
    CompareOptions o = compare_defaults();
    CompareReport r;
    Fake a, b;
    (void)state;
    start(&a, HERE);
    start(&b, HERE);
    Cell *x = add(&a, "cpu/naive", CELL_OK, 1), *y = add(&b, "cpu/naive", CELL_OK, 2);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(samples_add(&x->times[TIME_E2E], 4), GP_OK);
        assert_int_equal(samples_add(&y->times[TIME_E2E], 3), GP_OK);
    }
    o.time = TIME_E2E;
    assert_int_equal(compare_runs(&a.run, &b.run, &o, &r), GP_OK);
    assert_int_equal(r.count[FASTER], 1);
    assert_true(fabs(r.row[0].comparison.ratio - 0.75) < 1e-12);
    char *text = printed(&r);
    assert_non_null(strstr(text, "e2e_s"));
    free(text);
    compare_free(&r);
    compare_free(NULL);
    finish(&a);
    finish(&b);
}

/* ---- the table ---- */

static void the_table_shows_what_changed_and_counts_what_did_not(void **state)
{
    Fake a, b;
    (void)state;
    start(&a, HERE);
    start(&b, HERE);
    add(&a, "same", CELL_OK, 1);
    add(&b, "same", CELL_OK, 1);
    add(&a, "quick", CELL_OK, 2e-3);
    add(&b, "quick", CELL_OK, 1e-3);
    add(&a, "slow", CELL_OK, 2.5e-6);
    add(&b, "slow", CELL_OK, 5e-6);
    add(&a, "gone", CELL_OK, 1);
    add(&a, "wrong", CELL_OK, 1);
    add(&b, "wrong", CELL_FAILED, 0);
    CompareReport r = compare(&a, &b);
    char *text = printed(&r);
    const char *const order[] = {
        "BROKEN  reduction           wrong", "reason of wrong", "MISSING reduction           gone", "is not there in B",
        "SLOWER  reduction           slow", " us ", "FASTER  reduction           quick", "1 same, 1 faster, 1 slower, 0 unsure",
    };
    const char *at = text;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *found = strstr(at, order[i]);
        if (!found) fail_msg("\"%s\" is missing, or in another place:\n%s", order[i], text);
        at = found;
    }
    assert_null(strstr(text, "SAME"));
    assert_null(strchr(text, '\x1b'));
    free(text);
    compare_free(&r);
    finish(&a);
    finish(&b);
}

static void lines_fit_100_columns_whatever_the_names_and_numbers(void **state)
{
    const double times[] = { 1e-12, 9.9996e-4, 0.99996, 86400, 1e-3, 1e-3 };
    Fake a, b;
    (void)state;
    start(&a, HERE);
    start(&b, HERE);
    for (int i = 0; i < 6; i++) {
        char name[48];
        snprintf(name, sizeof name, "a_rather_long_approach_\x1b[2Jwith_number_%d", i);
        Cell *x = add(&a, name, CELL_OK, times[i]), *y = add(&b, name, i == 4 ? CELL_FAILED : CELL_OK, i == 4 ? 0 : times[5 - i]);
        snprintf(x->problem, sizeof x->problem, "%s", "a_problem_with_a_name_that_goes_on_and_on");
        snprintf(x->variant, sizeof x->variant, "%s", "both_triangles");
        snprintf(y->problem, sizeof y->problem, "%s", x->problem);
        snprintf(y->variant, sizeof y->variant, "%s", x->variant);
        x->n = y->n = 4294967296;
        memset(y->reason, i % 2 ? 'x' : '\t', sizeof y->reason - 1);
    }
    CompareReport r = compare(&a, &b);
    char *text = printed(&r);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 100) fail_msg("%zu columns: %s", strcspn(line, "\n"), line);
    for (const char *c = text; *c; c++) assert_true(*c == '\n' || (*c >= ' ' && *c < 127));
    assert_non_null(strstr(text, "triangles"));   /* names keep both their ends */
    assert_non_null(strstr(text, "_3"));
    free(text);
    compare_free(&r);
    finish(&a);
    finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_of_states_has_its_row_and_exit_code),
        cmocka_unit_test(cells_are_matched_by_their_whole_key),
        cmocka_unit_test(the_worst_finding_is_the_exit_code),
        cmocka_unit_test(nothing_in_common_is_a_mistake_that_is_said),
        cmocka_unit_test(another_machine_is_refused_saying_what_differs),
        cmocka_unit_test(changed_work_is_compared_by_throughput),
        cmocka_unit_test(the_time_that_is_asked_for_is_compared),
        cmocka_unit_test(the_table_shows_what_changed_and_counts_what_did_not),
        cmocka_unit_test(lines_fit_100_columns_whatever_the_names_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
