#define _GNU_SOURCE
#include "bench/sizes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROOM = 8 };

static void sizes_are_read_sorted_and_without_repeats(void **state)
{
    (void)state;
    const struct { const char *text; size_t count, sizes[ROOM]; } cases[] = {
        { "1000", 1, { 1000 } },
        { "2000,500,2000", 2, { 500, 2000 } },
        { "2^10", 1, { 1024 } },
        { "1e6", 1, { 1000000 } },
        { "2^4:2^10:4", 4, { 16, 64, 256, 1024 } },
        { "1:8", 4, { 1, 2, 4, 8 } },
        { "7,2^3:2^4,3", 4, { 3, 7, 8, 16 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t sizes[ROOM], count = 0;
        assert_int_equal(sizes_parse(cases[i].text, sizes, ROOM, &count), GP_OK);
        assert_int_equal(count, cases[i].count);
        assert_memory_equal(sizes, cases[i].sizes, count * sizeof *sizes);
    }
}

static void bad_sizes_are_refused_with_the_reason(void **state)
{
    (void)state;
    const struct { const char *text, *because; } cases[] = {
        { "0", "too small" },       { "-5", "too small" },      { "abc", "not a number" },
        { "", "not a number" },     { "12x", "not a number" },  { "2^", "not a number" },
        { "2^x", "not a number" },  { "1.5", "not a whole" },   { "1e300", "larger than" },
        { "nan", "not a number" },  { "inf", "not a number" },  { "1:2:3:4", "range" },
        { "1:10:1", "factor" },     { "1:10:-2", "factor" },    { "10:1", "ends before" },
        { "1,,2", "not a number" }, { "1:512:2", "more than" }, { "99999999999999999999", "larger than" },
        { "2^64", "larger than" },  { " ", "not a number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t sizes[ROOM], count = 0;
        assert_int_equal(sizes_parse(cases[i].text, sizes, ROOM, &count), GP_BAD_ARGUMENT);
        if (!strstr(gp_message(), cases[i].because)) fail_msg("\"%s\": %s", cases[i].text, gp_message());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_sorted_and_without_repeats),
        cmocka_unit_test(bad_sizes_are_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
