/* Many small models in one call give the numbers of one call each, to rounding, and one that fails does not stop the others. */
#include "common/random.h"
#include "gp/gp.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MODELS = 40, MOST = 60, D = 2, PARAMETERS = 3 };
static double x[MODELS][MOST * D], y[MODELS][MOST], gradient[MODELS][PARAMETERS];

static void check_ok(GpStatus status)
{
    if (status != GP_OK) fail_msg("%s", gp_message());
}

/* Sizes from 1 to MOST. */
static void fill(GpBatchItem *items, const GpKernel *k, GpPrecision p)
{
    for (size_t i = 0; i < MODELS; i++) {
        const size_t n = 1 + i * (MOST - 1) / (MODELS - 1);
        random_fill_f64(x[i], n * D, 1, i, 0, 1);
        random_fill_f64(y[i], n, 2, i, -1, 1);
        items[i] = (GpBatchItem){ .kernel = k, .data = { .n = n, .d = D, .x = x[i], .ldx = n, .y = y[i] }, .fit = gp_fit_defaults(p),
                                  .gradient = i % 3 ? gradient[i] : NULL };
        items[i].fit.noise_variance = 0.1 + 0.01 * (double)i;
    }
}

static void a_batch_gives_the_numbers_of_single_calls(void **state)
{
    (void)state;
    for (size_t b = 0; b < gp_backend_count(); b++)
        for (int p = 0; p < 2; p++) {
            GpContext *c = NULL;
            GpKernel *k = NULL;
            GpBatchItem items[MODELS];
            if (gp_backend_unavailable(gp_backend_name(b))) continue;
            check_ok(gp_context_create(&c, gp_backend_name(b), p ? GP_F32 : GP_F64, 0));
            check_ok(gp_kernel_parse(&k, "1.5*rbf(0.5,0.7)", D));
            fill(items, k, p ? GP_F32 : GP_F64);
            check_ok(gp_batch_likelihood(c, MODELS, items));
            for (size_t i = 0; i < MODELS; i++) {
                GpModel *m = NULL;
                double lml, alone[PARAMETERS], of_noise;
                check_ok(gp_fit(&m, c, k, &items[i].data, &items[i].fit));
                check_ok(gp_log_marginal_likelihood(m, &lml));
                check_ok(gp_log_marginal_likelihood_gradient(m, items[i].fit.noise_variance, alone, &of_noise));
                /* OpenBLAS splits sums by its threads; K's condition is below 1.5 * MOST / 0.1 */
                const double tolerance = 900 * MOST * (p ? 1.2e-7 : 2.3e-16);
                assert_true(items[i].status == GP_OK && fabs(items[i].lml - lml) <= tolerance);
                for (int q = 0; q < PARAMETERS && i % 3; q++) assert_true(fabs(alone[q] - gradient[i][q]) <= tolerance);
                if (i % 3) assert_true(fabs(of_noise - items[i].of_noise) <= tolerance);
                gp_model_destroy(m);
            }
            gp_kernel_destroy(k);
            gp_context_destroy(c);
        }
}

static void a_model_that_fails_is_named_and_stops_no_other(void **state)
{
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpBatchItem items[MODELS];
    (void)state;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    check_ok(gp_kernel_parse(&k, "1.5*rbf(0.5,0.7)", D));
    fill(items, k, GP_F64);
    for (size_t i = 0; i < MODELS; i++) items[i].lml = NAN;
    y[17][2] = NAN;
    assert_int_equal(gp_batch_likelihood(c, MODELS, items), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "model 17: "));
    assert_non_null(strstr(gp_message(), "y[2]"));
    for (size_t i = 0; i < MODELS; i++) {
        assert_int_equal(items[i].status, i == 17 ? GP_BAD_DATA : GP_OK);
        assert_true(i == 17 || isfinite(items[i].lml));
    }
    check_ok(gp_batch_likelihood(c, 0, NULL));
    assert_int_equal(gp_batch_likelihood(NULL, 1, items), GP_BAD_ARGUMENT);
    assert_int_equal(gp_batch_likelihood(c, 1, NULL), GP_BAD_ARGUMENT);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_gives_the_numbers_of_single_calls),
        cmocka_unit_test(a_model_that_fails_is_named_and_stops_no_other),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
