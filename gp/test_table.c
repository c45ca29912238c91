/* CSV files as people have them, and as they should not be. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "gp/table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/test_table_XXXXXX";

static void write_file(const char *text, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static GpStatus read_text(GpTable *t, const char *text)
{
    write_file(text, strlen(text));
    return gp_table_read(t, path);
}

static void good_files_are_read(void **state)
{
    static const char *const same[] = {
        "a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "\xEF\xBB\xBF" "a,b\n1,2\n3,4\n", "\n\na,b\n\n1,2\n\n3,4\n\n\n",
        "\"a\",\"b\"\n\"1\",2\n3,\"4\"\n", " a , b \n 1\t,\t2\n3 , 4\n", "a,b\n1e0,+2\n0x3,4.0\n", "a,b\r1,2\r3,4\r",
    };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        GpTable t;
        if (read_text(&t, same[i]) != GP_OK) fail_msg("file %zu: %s", i, gp_message());
        assert_int_equal(t.rows, 2);
        assert_int_equal(t.columns, 2);
        assert_string_equal(t.name[0], "a");
        assert_string_equal(t.name[1], "b");
        const double expected[] = { 1, 3, 2, 4 };   /* column-major */
        assert_memory_equal(t.value, expected, sizeof expected);
        gp_table_free(&t);
    }
}

static void quoted_names_may_hold_commas_quotes_and_line_breaks(void **state)
{
    GpTable t;
    size_t j = 9;
    (void)state;
    assert_int_equal(read_text(&t, "\"x, in m\",\"say \"\"y\"\"\",\"two\nlines\"\n1,2,3\n"), GP_OK);
    assert_string_equal(t.name[0], "x, in m");
    assert_string_equal(t.name[1], "say \"y\"");
    assert_int_equal(gp_table_column(&t, "two\nlines", &j), GP_OK);
    assert_int_equal(j, 2);
    gp_table_free(&t);
}

static void bad_files_are_refused_with_line_and_column(void **state)
{
    static const struct { const char *text, *says; } cases[] = {
        { "", "the file is empty" },
        { "\n\n", "the file is empty" },
        { "a,b\n", "no row below" },
        { "1,2\n3,4\n", "line 1: '1' is a number where a column's name belongs" },
        { "a,\n1,2\n", "line 1: column 2 has no name" },
        { "a,b,a\n1,2,3\n", "line 1: two columns are called 'a'" },
        { "a,b\n1,2\n3\n", "line 3: 1 fields where the header has 2" },
        { "a,b\n1,2\n3,4,5\n", "line 3: more than the 2 fields" },
        { "a,b\n1,2\n\n3,x\n", "line 4, column 'b': 'x' is not a number" },
        { "a,b\n1,2 3\n", "line 2, column 'b': '2 3' is not a number" },
        { "a,b\n1,\n", "line 2, column 'b': a value is missing" },
        { "a,b\n1,\"\"\n", "line 2, column 'b': a value is missing" },
        { "a,b\n1,nan\n", "line 2, column 'b': 'nan' is not finite" },
        { "a,b\n1e999,2\n", "line 2, column 'a': '1e999' is not finite" },
        { "a,b\n1,2\"3\n", "line 2: a quote inside a field" },
        { "a,b\n1,\"2\n", "a quote is opened and never closed" },
        { "a;b\n1;2\n", "line 2, column 'a;b': '1;2' is not a number" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GpTable t;
        assert_int_equal(read_text(&t, cases[i].text), GP_BAD_DATA);
        if (!strstr(gp_message(), cases[i].says) || !strstr(gp_message(), path)) fail_msg("case %zu: %s", i, gp_message());
        assert_int_equal(t.rows + t.columns, 0);
        assert_null(t.value);
        gp_table_free(&t);
    }
}

static void a_zero_byte_is_no_number(void **state)
{
    static const char text[] = "a,b\n1,2\0003\n";
    GpTable t;
    (void)state;
    write_file(text, sizeof text - 1);
    assert_int_equal(gp_table_read(&t, path), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "line 2, column 'b'"));
}

static void a_missing_file_and_a_folder_are_errors_that_name_them(void **state)
{
    GpTable t;
    (void)state;
    assert_int_equal(gp_table_read(&t, "/nonexistent/x.csv"), GP_IO);
    assert_non_null(strstr(gp_message(), "/nonexistent/x.csv"));
    assert_int_equal(gp_table_read(&t, "/tmp"), GP_IO);
    assert_non_null(strstr(gp_message(), "/tmp"));
}

static void an_unknown_column_lists_those_that_there_are(void **state)
{
    GpTable t;
    size_t j;
    (void)state;
    assert_int_equal(read_text(&t, "year,co2\n1,2\n"), GP_OK);
    assert_int_equal(gp_table_column(&t, "CO2", &j), GP_BAD_ARGUMENT);
    assert_string_equal(gp_message(), "there is no column 'CO2'; there are: year, co2");
    gp_table_free(&t);
}

static void a_million_columns_and_many_rows_are_read(void **state)
{
    enum { MANY = 1000000 };
    GpTable t;
    size_t j = 0;
    (void)state;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < MANY; i++) fprintf(f, "%sc%d", i ? "," : "", i);
    for (int i = 0; i < MANY; i++) fprintf(f, "%s%d", i ? "," : "\n", i);
    assert_int_equal(fclose(f), 0);
    if (gp_table_read(&t, path) != GP_OK) fail_msg("%s", gp_message());
    assert_int_equal(t.columns, MANY);
    assert_int_equal(gp_table_column(&t, "c999999", &j), GP_OK);
    assert_true(t.value[j] == MANY - 1);
    gp_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_read),
        cmocka_unit_test(quoted_names_may_hold_commas_quotes_and_line_breaks),
        cmocka_unit_test(bad_files_are_refused_with_line_and_column),
        cmocka_unit_test(a_zero_byte_is_no_number),
        cmocka_unit_test(a_missing_file_and_a_folder_are_errors_that_name_them),
        cmocka_unit_test(an_unknown_column_lists_those_that_there_are),
        cmocka_unit_test(a_million_columns_and_many_rows_are_read),
    };
    const int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    const int failures = cmocka_run_group_tests_name("table", tests, NULL, NULL);
    unlink(path);
    return failures;
}
