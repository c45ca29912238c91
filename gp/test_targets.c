/* Several targets: a model of t columns of y says what t models of one column say, on every backend. */
#include "gp/testing.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { N = 37, D = 2, T = 3, M = 5, SAMPLES = 4, PARAMETERS = 6, Q = 1 + D };

static double x[N * D], y[N * T], z[M * D];

static int make_data(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = sin(1.0 + 3 * i);
        x[i + N] = cos(2.0 * i);
        y[i] = sin(3 * x[i]) + x[i + N];
        y[i + N] = 100 + 20 * x[i] * x[i + N];   /* another scale, and far from zero */
        y[i + 2 * N] = 1e-3 * cos(5.0 * i);
    }
    for (int i = 0; i < M * D; i++) z[i] = 0.9 * sin(7.0 * i);
    return 0;
}

typedef struct {
    double lml, gradient[PARAMETERS], of_noise, coefficient[Q * T];
    double mean[M * T], variance[M * T], mean_again[M * T], covariance[M * M * T], samples[M * T * SAMPLES * T];
    double left_mean[N * T], left_variance[N * T], left_density[N * T];
} Answers;

static void ask(GpContext *c, const GpKernel *k, const double *targets, size_t count, size_t samples, const GpFitOptions *o, Answers *a)
{
    GpModel *m = NULL;
    const GpData data = { .n = N, .d = D, .x = x, .ldx = N, .y = targets, .targets = count };
    check_ok(gp_fit(&m, c, k, &data, o));
    assert_int_equal(gp_model_targets(m), count ? count : 1);
    check_ok(gp_log_marginal_likelihood(m, &a->lml));
    check_ok(gp_log_marginal_likelihood_gradient(m, o->noise_variance, a->gradient, &a->of_noise));
    check_ok(gp_predict(m, M, z, M, a->mean, a->variance, NULL));
    check_ok(gp_predict_covariance(m, M, z, M, a->mean_again, a->covariance, M));
    check_ok(gp_sample(m, M, z, M, samples, 9, a->samples, M));
    check_ok(gp_leave_one_out(m, a->left_mean, a->left_variance, a->left_density));
    gp_model_mean(m, a->coefficient);
    gp_model_destroy(m);
}

/* Columns that are solved together and alone differ by rounding: of the factor's, times the condition of K, here at most 1e3. */
static void check_near(const GpContext *c, const char *what, size_t count, const double *got, const double *expected)
{
    const double eps = gp_context_precision(c) == GP_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - expected[i]) <= 1e3 * eps * largest))
            fail_msg("%s %s[%zu]: %.15g, alone %.15g", gp_context_backend(c), what, i, got[i], expected[i]);
}

static void compare(GpContext *c, const GpFitOptions *o)
{
    static Answers together, alone;
    double lml = 0, gradient[PARAMETERS] = { 0 }, of_noise = 0;
    GpKernel *k = NULL;
    check_ok(gp_kernel_parse(&k, "2*rbf(0.7,1.1) + 0.5*matern32(2,2)", D));
    const size_t parameters = gp_kernel_parameters(k), q = o->mean == GP_MEAN_LINEAR ? Q : o->mean == GP_MEAN_CONSTANT ? 1 : 0;
    assert_int_equal(parameters, PARAMETERS);
    ask(c, k, y, T, SAMPLES, o, &together);
    for (size_t s = 0; s < T; s++) {
        ask(c, k, y + s * N, s ? 1 : 0, SAMPLES * T, o, &alone);
        check_near(c, "mean", M, together.mean + s * M, alone.mean);
        check_near(c, "variance", M, together.variance + s * M, alone.variance);
        check_near(c, "mean with covariance", M, together.mean_again + s * M, alone.mean);
        check_near(c, "covariance", M * M, together.covariance + s * M * M, alone.covariance);
        check_near(c, "left-out mean", N, together.left_mean + s * N, alone.left_mean);
        check_near(c, "left-out variance", N, together.left_variance + s * N, alone.left_variance);
        check_near(c, "left-out density", N, together.left_density + s * N, alone.left_density);
        check_near(c, "coefficients of the mean", q, together.coefficient + s * q, alone.coefficient);
        for (size_t i = 0; i < SAMPLES; i++)   /* the normal numbers of sample i are those of the (i T + s)-th of one target */
            check_near(c, "sample", M, together.samples + (i * T + s) * M, alone.samples + (i * T + s) * M);
        lml += alone.lml;
        of_noise += alone.of_noise;
        for (size_t p = 0; p < parameters; p++) gradient[p] += alone.gradient[p];
    }
    check_near(c, "likelihood", 1, &together.lml, &lml);
    check_near(c, "gradient of the noise", 1, &together.of_noise, &of_noise);
    check_near(c, "gradient", parameters, together.gradient, gradient);
    gp_kernel_destroy(k);
}

static void compare_all(GpContext *c)
{
    for (int normalise = 0; normalise < 2; normalise++)
        for (int mean = GP_MEAN_ZERO; mean <= GP_MEAN_LINEAR; mean++) {
            GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
            o.noise_variance = 0.05;
            o.normalise_y = normalise;
            o.mean = (GpMean)mean;
            compare(c, &o);
        }
}

static void targets_together_are_as_alone(void **state)
{
    (void)state;
    on_each_usable_backend(compare_all);
}

/* A target twice has the optimum of the target once, and twice its likelihood. */
static void check_training(GpContext *c)
{
    double twice[2 * N];
    GpTrainResult once, both;
    GpKernel *k = NULL, *copy = NULL;
    GpTrainOptions t = gp_train_defaults();
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    if (gp_context_precision(c) != GP_F64) return;
    memcpy(twice, y, N * sizeof *y);
    memcpy(twice + N, y, N * sizeof *y);
    o.noise_variance = 0.01;
    check_ok(gp_kernel_parse(&k, "1*rbf(1,1)", D));
    check_ok(gp_kernel_copy(&copy, k));
    const GpData data = { .n = N, .d = D, .x = x, .ldx = N, .y = twice }, doubled = { .n = N, .d = D, .x = x, .ldx = N, .y = twice, .targets = 2 };
    check_ok(gp_train(k, c, &data, &o, &t, &once));
    check_ok(gp_train(copy, c, &doubled, &o, &t, &both));
    if (!(fabs(both.lml - 2 * once.lml) <= 1e-6 * fabs(both.lml)))
        fail_msg("%s: %.12g, twice %.12g", gp_context_backend(c), both.lml, once.lml);
    gp_kernel_destroy(k);
    gp_kernel_destroy(copy);
}

static void a_target_twice_trains_to_the_same_optimum(void **state)
{
    (void)state;
    on_each_usable_backend(check_training);
}

static void a_value_that_is_not_finite_is_named_with_its_target(void **state)
{
    (void)state;
    double bad[N * T];
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *m = NULL;
    memcpy(bad, y, sizeof bad);
    bad[4 + N] = NAN;
    const GpData data = { .n = N, .d = D, .x = x, .ldx = N, .y = bad, .targets = T };
    check_ok(gp_context_create(&c, "cpu/naive", GP_F64, 0));
    check_ok(gp_kernel_parse(&k, "rbf(1,1)", D));
    assert_int_equal(gp_fit(&m, c, k, &data, NULL), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "y[4] of target 1 "));
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_together_are_as_alone),
        cmocka_unit_test(a_target_twice_trains_to_the_same_optimum),
        cmocka_unit_test(a_value_that_is_not_finite_is_named_with_its_target),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
