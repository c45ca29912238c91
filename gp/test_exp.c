/* The vector exponential against long double expl, in units in the last place of the result. */
#include "gp/cpu_exp.h"
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COUNT = 1 << 20 };

/* The result is rounded twice, and the first rounding may be in units twice as large as the result's. */
static const double most_ulps = 1.1;

/* Evenly over [low, 0], then geometrically down to the smallest arguments, where exp is 1 or next to it. */
static double argument(size_t i, double low)
{
    return i < COUNT / 2 ? low * (double)i / (COUNT / 2 - 1) : low * pow(0.9999, (double)(i - COUNT / 2));
}

static double spacing_f64(double y) { return fmax(nextafter(y, INFINITY) - y, DBL_TRUE_MIN); }

static double spacing_f32(float y) { return fmax((double)(nextafterf(y, INFINITY) - y), (double)FLT_TRUE_MIN); }

static void f64_is_within_1_1_units_of_the_truth(void **state)
{
    (void)state;
    double *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y), worst = 0, where = 0;
    assert_true(x && y);
    for (size_t i = 0; i < COUNT; i++) x[i] = argument(i, -746);
#pragma omp simd
    for (size_t i = 0; i < COUNT; i++) y[i] = exp_nonpositive_f64(x[i]);
    for (size_t i = 0; i < COUNT; i++) {
        const long double truth = expl((long double)x[i]);
        const double error = (double)fabsl((long double)y[i] - truth) / spacing_f64((double)truth);
        if (!(error <= worst)) worst = error, where = x[i];
    }
    print_message("worst error %.3f units in the last place, at %.17g\n", worst, where);
    assert_true(worst <= most_ulps);
    free(x);
    free(y);
}

static void f32_is_within_1_1_units_of_the_truth(void **state)
{
    (void)state;
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    double worst = 0, where = 0;
    assert_true(x && y);
    for (size_t i = 0; i < COUNT; i++) x[i] = (float)argument(i, -104.5);
#pragma omp simd
    for (size_t i = 0; i < COUNT; i++) y[i] = exp_nonpositive_f32(x[i]);
    for (size_t i = 0; i < COUNT; i++) {
        const double truth = exp((double)x[i]), error = fabs((double)y[i] - truth) / spacing_f32((float)truth);
        if (!(error <= worst)) worst = error, where = (double)x[i];
    }
    print_message("worst error %.3f units in the last place, at %.9g\n", worst, where);
    assert_true(worst <= most_ulps);
    free(x);
    free(y);
}

static void the_ends_are_exact(void **state)
{
    (void)state;
    const double below[] = { -745.14, -746, -800, -1e3, -1e300, -INFINITY };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        assert_true(exp_nonpositive_f64(below[i]) == 0);
        assert_true(exp_nonpositive_f32((float)below[i]) == 0);
    }
    assert_true(exp_nonpositive_f64(0) == 1 && exp_nonpositive_f64(-0.0) == 1 && exp_nonpositive_f64(-DBL_TRUE_MIN) == 1);
    assert_true(exp_nonpositive_f32(0) == 1 && exp_nonpositive_f32(-0.0f) == 1 && exp_nonpositive_f32(-FLT_TRUE_MIN) == 1);
    assert_true(exp_nonpositive_f64(-745.13) == DBL_TRUE_MIN);
    assert_true(exp_nonpositive_f32(-103.9f) == FLT_TRUE_MIN);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    assert_true(isnan(exp_nonpositive_f64(NAN)) && isnan(exp_nonpositive_f32(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f64_is_within_1_1_units_of_the_truth),
        cmocka_unit_test(f32_is_within_1_1_units_of_the_truth),
        cmocka_unit_test(the_ends_are_exact),
        cmocka_unit_test(nan_stays_nan),
    };
    return cmocka_run_group_tests_name("gp/exp", tests, NULL, NULL);
}
