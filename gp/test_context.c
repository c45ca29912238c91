/* Backends by name, and contexts on them. */
#include "gp/gp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_table_runs_from_the_plainest_to_the_fastest(void **state)
{
    (void)state;
    const char *expected[] = { "cpu/naive", "cpu/openmp", "cuda/naive", "cuda/optimized" };
    assert_int_equal(gp_backend_count(), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < gp_backend_count(); i++) assert_string_equal(gp_backend_name(i), expected[i]);
    assert_null(gp_backend_name(gp_backend_count()));
}

static void the_cpu_backends_work_everywhere(void **state)
{
    (void)state;
    assert_null(gp_backend_unavailable("cpu/naive"));
    assert_null(gp_backend_unavailable("cpu/openmp"));
    assert_null(gp_backend_unavailable("auto"));
}

static void an_unusable_backend_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < gp_backend_count(); i++) {
        const char *name = gp_backend_name(i), *reason = gp_backend_unavailable(name);
        GpContext *c = NULL;
        const GpStatus status = gp_context_create(&c, name, GP_F64, 0);
        assert_int_equal(status, reason ? GP_UNAVAILABLE : GP_OK);
        if (reason) {
            print_message("%s: %s\n", name, reason);
            assert_non_null(strstr(gp_message(), reason));
            assert_null(c);
        }
        gp_context_destroy(c);
    }
}

static void an_unknown_name_lists_those_that_exist(void **state)
{
    (void)state;
    GpContext *c = (GpContext *)&c;
    assert_int_equal(gp_context_create(&c, "gpu", GP_F64, 0), GP_BAD_ARGUMENT);
    assert_null(c);
    assert_non_null(strstr(gp_message(), "\"gpu\""));
    for (size_t i = 0; i < gp_backend_count(); i++) assert_non_null(strstr(gp_message(), gp_backend_name(i)));
    assert_string_equal(gp_backend_unavailable("gpu"), "unknown backend \"gpu\"");
    assert_non_null(gp_backend_unavailable(NULL));
}

static void auto_is_the_last_usable_one(void **state)
{
    (void)state;
    const char *last = NULL;
    GpContext *c = NULL;
    for (size_t i = 0; i < gp_backend_count(); i++)
        if (!gp_backend_unavailable(gp_backend_name(i))) last = gp_backend_name(i);
    assert_int_equal(gp_context_create(&c, "auto", GP_F32, 0), GP_OK);
    assert_string_equal(gp_context_backend(c), last);
    assert_int_equal(gp_context_precision(c), GP_F32);
    gp_context_destroy(c);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    GpContext *c = NULL;
    assert_int_equal(gp_context_create(NULL, "auto", GP_F64, 0), GP_BAD_ARGUMENT);
    assert_int_equal(gp_context_create(&c, NULL, GP_F64, 0), GP_BAD_ARGUMENT);
    assert_int_equal(gp_context_create(&c, "cpu/naive", (GpPrecision)7, 0), GP_BAD_ARGUMENT);
    assert_int_equal(gp_context_create(&c, "cpu/naive", GP_F64, -1), GP_BAD_ARGUMENT);
    assert_null(c);
    gp_context_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_runs_from_the_plainest_to_the_fastest),
        cmocka_unit_test(the_cpu_backends_work_everywhere),
        cmocka_unit_test(an_unusable_backend_says_why),
        cmocka_unit_test(an_unknown_name_lists_those_that_exist),
        cmocka_unit_test(auto_is_the_last_usable_one),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("gp/context", tests, NULL, NULL);
}
