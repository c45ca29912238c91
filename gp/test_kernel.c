/* Kernels: what is refused and with which words, and that copies are independent. */
#include "gp/backend.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double ones[GP_MAX_DIMENSIONS + 1];

static void bad_parameters_are_refused_by_name(void **state)
{
    (void)state;
    const double zero = 0, negative = -1, nan = NAN, infinite = INFINITY, tiny = 1e-310, fine = 1;
    const struct {
        double variance;
        const double *length;
        size_t d;
        const char *says;
    } cases[] = {
        { 1, &fine, 0, "d is 0" },
        { 1, NULL, 1, "length is NULL" },
        { 0, &fine, 1, "variance is 0" },
        { -2, &fine, 1, "variance is -2" },
        { NAN, &fine, 1, "variance is nan" },
        { INFINITY, &fine, 1, "variance is inf" },
        { 1, &zero, 1, "length[0] is 0" },
        { 1, &negative, 1, "length[0] is -1" },
        { 1, &nan, 1, "length[0] is nan" },
        { 1, &infinite, 1, "length[0] is inf" },
        { 1, &tiny, 1, "1 / length overflows" },
        { 1, ones, GP_MAX_DIMENSIONS + 1, "d is 65, the limit is 64" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        GpKernel *k = (GpKernel *)&ones;
        assert_int_equal(gp_kernel_rbf(&k, cases[i].variance, cases[i].length, cases[i].d), GP_BAD_ARGUMENT);
        assert_null(k);
        if (!strstr(gp_message(), cases[i].says)) fail_msg("\"%s\" lacks \"%s\"", gp_message(), cases[i].says);
    }
    assert_int_equal(gp_kernel_rbf(NULL, 1, &fine, 1), GP_BAD_ARGUMENT);
}

static void the_most_dimensions_are_accepted(void **state)
{
    (void)state;
    GpKernel *k = NULL;
    assert_int_equal(gp_kernel_rbf(&k, 1, ones, GP_MAX_DIMENSIONS), GP_OK);
    assert_int_equal(gp_kernel_dimensions(k), GP_MAX_DIMENSIONS);
    gp_kernel_destroy(k);
}

static void a_copy_outlives_its_original(void **state)
{
    (void)state;
    const double length[] = { 0.5, 4 };
    GpKernel *k = NULL, *copy = NULL;
    assert_int_equal(gp_kernel_rbf(&k, 3, length, 2), GP_OK);
    assert_int_equal(gp_kernel_copy(&copy, k), GP_OK);
    gp_kernel_destroy(k);
    assert_int_equal(gp_kernel_dimensions(copy), 2);
    char text[64];
    (void)gp_kernel_print(copy, text, sizeof text);
    assert_string_equal(text, "3*rbf(0.5,4)");
    gp_kernel_destroy(copy);
}

static void null_is_refused_or_harmless(void **state)
{
    (void)state;
    GpKernel *copy = NULL;
    assert_int_equal(gp_kernel_copy(&copy, NULL), GP_BAD_ARGUMENT);
    gp_kernel_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters_are_refused_by_name),
        cmocka_unit_test(the_most_dimensions_are_accepted),
        cmocka_unit_test(a_copy_outlives_its_original),
        cmocka_unit_test(null_is_refused_or_harmless),
    };
    for (size_t j = 0; j <= GP_MAX_DIMENSIONS; j++) ones[j] = 1;
    return cmocka_run_group_tests_name("gp/kernel", tests, NULL, NULL);
}
