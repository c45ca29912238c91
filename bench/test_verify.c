#define _GNU_SOURCE
#include "bench/verify.h"
#include "common/random.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 1000 };

static void poison_is_nan_in_both_precisions_to_the_last_byte(void **state)
{
    (void)state;
    float f[N];
    double d[N];
    poison(f, sizeof f);
    poison(d, sizeof d);
    for (size_t i = 0; i < N; i++) assert_true(isnan(f[i]) && isnan(d[i]));
    assert_false(all_finite(f, N, F32));
    memset(d, 0, sizeof d);
    assert_true(all_finite(d, N, F64));
    d[N - 1] = INFINITY;
    assert_false(all_finite(d, N, F64));
}

/* 1,000 float sums near 3e5: each is off by up to half a unit in the last place, 0.016. An absolute bound of 1e-3 would refuse them. */
static void a_correct_float32_sum_around_3e5_is_accepted(void **state)
{
    (void)state;
    float sums[N];
    double reference[N], worst = 0;
    for (size_t i = 0; i < N; i++) {
        reference[i] = 3e5 + 100 * random_uniform(1, 0, i);
        sums[i] = (float)reference[i];
        worst = fmax(worst, fabs((double)sums[i] - reference[i]));
    }
    assert_true(worst > 1e-3);
    assert_true(relative_error(sums, reference, N, F32) <= (double)FLT_EPSILON);
}

static void the_error_is_nan_when_anything_is_not_finite(void **state)
{
    (void)state;
    double out[N], reference[N];
    for (size_t i = 0; i < N; i++) out[i] = reference[i] = 1 + (double)i;
    assert_true(relative_error(out, reference, N, F64) == 0);
    out[0] = NAN;
    assert_true(isnan(relative_error(out, reference, N, F64)));
    out[0] = -INFINITY;
    assert_true(isnan(relative_error(out, reference, N, F64)));
}

static void a_reference_of_zeros_asks_for_zeros(void **state)
{
    (void)state;
    double out[N] = { 0 };
    const double reference[N] = { 0 };
    assert_true(relative_error(out, reference, N, F64) == 0);
    out[17] = 1e-300;
    assert_false(relative_error(out, reference, N, F64) <= 1);
}

static void sampled_positions_reach_every_block_and_the_corners(void **state)
{
    (void)state;
    const struct {
        size_t m, n, side;
    } cases[] = { { 1, 1, 8 }, { 2, 3, 8 }, { 8, 8, 8 }, { 1000, 777, 8 }, { 33, 1, 8 }, { 1 << 20, 1 << 20, 8 } };
    size_t row[64], column[64];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t m = cases[c].m, n = cases[c].n, side = cases[c].side;
        const size_t count = sample_positions(m, n, side, 7 + c, row, column);
        const size_t rows = m < side ? m : side, columns = n < side ? n : side;
        int corners = 0;
        assert_int_equal(count, rows * columns);
        for (size_t k = 0; k < count; k++) {
            assert_true(row[k] < m && column[k] < n);
            corners |= row[k] == 0 && column[k] == 0 ? 1 : 0;
            corners |= row[k] == m - 1 && column[k] == n - 1 ? 2 : 0;
            corners |= row[k] == m - 1 && column[k] == 0 ? 4 : 0;
            corners |= row[k] == 0 && column[k] == n - 1 ? 8 : 0;
            /* block (i, j) of the grid holds sample k */
            if (m % side == 0) assert_int_equal(row[k] / (m / side), k % rows);
        }
        assert_int_equal(corners, 15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poison_is_nan_in_both_precisions_to_the_last_byte),
        cmocka_unit_test(a_correct_float32_sum_around_3e5_is_accepted),
        cmocka_unit_test(the_error_is_nan_when_anything_is_not_finite),
        cmocka_unit_test(a_reference_of_zeros_asks_for_zeros),
        cmocka_unit_test(sampled_positions_reach_every_block_and_the_corners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
