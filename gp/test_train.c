/* Training reaches known optima, keeps to its bounds, and says how it ended. */
#include "common/memory.h"
#include "gp/gp.h"
#include "gp/table.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void check_ok(GpStatus status)
{
    if (status != GP_OK) fail_msg("%s", gp_message());
}

static GpKernel *kernel(const char *text, size_t d)
{
    GpKernel *k = NULL;
    check_ok(gp_kernel_parse(&k, text, d));
    return k;
}

static GpContext *context(const char *backend)
{
    GpContext *c = NULL;
    check_ok(gp_context_create(&c, backend, GP_F64, 0));
    return c;
}

static void check_near(const char *what, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%s: %.12g, expected %.12g within %g", what, got, expected, tolerance);
}

static const double six_x[6] = { 1, 3, 5, 6, 7, 8 };
static double six_y[6];

static GpData six_points(void)
{
    for (int i = 0; i < 6; i++) six_y[i] = six_x[i] * sin(six_x[i]);
    return (GpData){ .n = 6, .d = 1, .x = six_x, .ldx = 6, .y = six_y };
}

static GpFitOptions with_noise(double noise)
{
    GpFitOptions o = gp_fit_defaults(GP_F64);
    o.noise_variance = noise;
    return o;
}

static double value(const GpKernel *k, size_t i) { return gp_kernel_parameter(k, i, NULL, 0).value; }

/* y = x sin x: variance 22.192697, length 1.675878, likelihood -14.523272133 (50-digit arithmetic). */
static void the_known_optimum_is_reached(void **state)
{
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(1e-10);
    (void)state;
    for (size_t b = 0; b < gp_backend_count(); b++) {
        if (gp_backend_unavailable(gp_backend_name(b))) continue;
        GpContext *c = context(gp_backend_name(b));
        GpKernel *k = kernel("1*rbf(1)", 1);
        GpTrainResult r;
        check_ok(gp_train(k, c, &data, &fit, NULL, &r));
        check_near("likelihood", r.lml, -14.523272133, 1e-8);
        check_near("variance", value(k, 0), 22.192697, 2e-3);   /* flat: the likelihood falls with the square of the distance */
        check_near("length", value(k, 1), 1.675878, 2e-5);
        assert_true(r.converged && r.at_bound == 0 && r.failed == 0 && !r.cancelled && r.evaluations > 5);
        assert_true(r.noise_variance == 1e-10);
        gp_kernel_destroy(k);
        gp_context_destroy(c);
    }
}

/* From the values of GPML, section 5.4.3, to scikit-learn's optimum of -115.05029783; its predictions are
 * 370.9115, 382.1204, 393.5973 in 2002, 2010, 2020, and the standard deviations, noise included, .2389, 1.3934, 3.3457. */
static void the_co2_model_is_trained_to_the_known_optimum(void **state)
{
    const double mean_co2 = 339.8226647472809, when[] = { 2002, 2010, 2020 }, co2[] = { 370.9115, 382.1204, 393.5973 };
    const double deviation[] = { .2389, 1.3934, 3.3457 };
    double mean[3], variance[3];
    GpContext *c = context("cpu/openmp");
    GpKernel *k = kernel("4356*rbf(67) + 5.76*rbf(90)*periodic(1!,1.3) + 0.4356*rq(0.78,1.2) + 0.0324*rbf(0.134) + white(0.0361)", 1);
    GpModel *m = NULL;
    GpTable t;
    GpTrainResult r;
    (void)state;
    check_ok(gp_table_read(&t, "gp/data/co2.csv"));
    double *y = t.value + 3 * t.rows;
    for (size_t i = 0; i < t.rows; i++) y[i] -= mean_co2;
    const GpData data = { .n = t.rows, .d = 1, .x = t.value + 2 * t.rows, .ldx = t.rows, .y = y };
    check_ok(gp_train(k, c, &data, NULL, NULL, &r));
    if (!(r.lml >= -115.0503)) fail_msg("likelihood %.9g, the optimum is -115.05029783", r.lml);
    assert_true(r.converged);
    assert_true(value(k, 4) == 1);   /* the fixed period: a year */
    check_ok(gp_fit(&m, c, k, &data, NULL));
    check_ok(gp_predict(m, 3, when, 3, mean, variance, NULL));
    const double noise = value(k, 11);
    for (int i = 0; i < 3; i++) {   /* the optimum is flat: the prediction of 2020 moves in its fourth digit behind the point */
        check_near("mean", mean[i] + mean_co2, co2[i], 2e-3);
        check_near("deviation", sqrt(variance[i] + noise), deviation[i], 2e-3);
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_table_free(&t);
    gp_context_destroy(c);
}

static void bounds_hold_and_are_counted(void **state)
{
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(1e-10);
    GpContext *c = context("cpu/openmp");
    GpKernel *k = kernel("1 in 0.5..10*rbf(1 in 0.2..1.2)", 1);
    GpTrainResult r;
    (void)state;
    check_ok(gp_train(k, c, &data, &fit, NULL, &r));
    assert_true(value(k, 0) == 10 && value(k, 1) == 1.2);
    assert_int_equal(r.at_bound, 2);
    assert_true(r.converged);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* Data with noise of variance 0.04 around a sine. */
static void noise_is_trained_too(void **state)
{
    enum { N = 200 };
    double x[N], y[N];
    GpContext *c = context("cpu/openmp");
    GpKernel *k = kernel("1*rbf(1)", 1);
    GpTrainOptions o = gp_train_defaults();
    GpTrainResult r;
    const GpFitOptions fit = with_noise(1);
    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = 0.05 * i;
        y[i] = sin(x[i]) + 0.2 * sqrt(2) * sin(1000.0 * i * i);   /* a sine of something wild has a variance of 1/2 */
    }
    const GpData data = { .n = N, .d = 1, .x = x, .ldx = N, .y = y };
    o.train_noise = 1;
    check_ok(gp_train(k, c, &data, &fit, &o, &r));
    check_near("noise variance", r.noise_variance, 0.04, 0.01);   /* +-10% is one standard deviation of it */
    assert_true(r.converged);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

static void restarts_find_what_one_start_misses_and_repeat_themselves(void **state)
{
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(1e-10);
    GpContext *c = context("cpu/openmp");
    GpTrainOptions o = gp_train_defaults();
    GpTrainResult one, many, again;
    GpKernel *k = kernel("1*rbf(0.05 in 0.01..100)", 1), *l = kernel("1*rbf(0.05 in 0.01..100)", 1),
             *n = kernel("1*rbf(0.05 in 0.01..100)", 1); /* a start on a plateau: K = I */
    (void)state;
    check_ok(gp_train(k, c, &data, &fit, &o, &one));
    assert_true(one.lml < -17);
    o.restarts = 8;
    check_ok(gp_train(l, c, &data, &fit, &o, &many));
    check_near("likelihood", many.lml, -14.523272133, 1e-7);
    check_ok(gp_train(n, c, &data, &fit, &o, &again));
    assert_true(again.lml == many.lml && value(l, 0) == value(n, 0) && value(l, 1) == value(n, 1) && again.evaluations == many.evaluations);
    gp_kernel_destroy(k);
    gp_kernel_destroy(l);
    gp_kernel_destroy(n);
    gp_context_destroy(c);
}

static int calls, enough;
static double last_lml;
static void count(const GpTrainProgress *p, void *data)
{
    calls++;
    assert_int_equal(p->evaluation, calls);
    assert_true(data == &enough && isfinite(p->gradient_norm));
    if (p->lml > last_lml) last_lml = p->lml;
    if (calls == 3) enough = 1;
}

static void it_can_be_watched_and_stopped_with_the_best_so_far(void **state)
{
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(1e-10);
    GpContext *c = context("cpu/openmp");
    GpKernel *k = kernel("1*rbf(1)", 1);
    GpTrainOptions o = gp_train_defaults();
    GpTrainResult r;
    (void)state;
    calls = enough = 0;
    last_lml = -INFINITY;
    o.progress = count;
    o.progress_data = &enough;
    o.cancelled = &enough;
    check_ok(gp_train(k, c, &data, &fit, &o, &r));
    assert_true(r.cancelled && !r.converged);
    assert_int_equal(r.evaluations, 3);
    assert_true(r.lml == last_lml && r.lml > -48.88);
    assert_true(value(k, 0) != 1);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

static void what_cannot_be_trained_is_refused_and_changes_nothing(void **state)
{
    const double same[] = { 1, 1, 2 }, values[] = { 1, 2, 3 };
    const GpData twins = { .n = 3, .d = 1, .x = same, .ldx = 3, .y = values }, data = six_points();
    GpContext *c = context("cpu/openmp");
    GpFitOptions strict = with_noise(0);
    GpKernel *k = kernel("1*rbf(1)", 1), *fixed = kernel("1!*rbf(1!)", 1);
    GpTrainOptions o = gp_train_defaults();
    (void)state;
    strict.max_jitter = 0;
    assert_int_equal(gp_train(k, c, &twins, &strict, NULL, NULL), GP_NOT_POSITIVE_DEFINITE);
    assert_non_null(strstr(gp_message(), "no start met a positive definite matrix"));
    assert_true(value(k, 0) == 1 && value(k, 1) == 1);
    assert_int_equal(gp_train(fixed, c, &data, NULL, NULL, NULL), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "nothing to train"));
    o.train_noise = 1;
    assert_int_equal(gp_train(k, c, &data, NULL, &o, NULL), GP_BAD_ARGUMENT);   /* a noise of 0 has no logarithm */
    o = gp_train_defaults();
    o.max_evaluations = 0;
    assert_int_equal(gp_train(k, c, &data, NULL, &o, NULL), GP_BAD_ARGUMENT);
    o = gp_train_defaults();
    o.tolerance = NAN;
    assert_int_equal(gp_train(k, c, &data, NULL, &o, NULL), GP_BAD_ARGUMENT);
    assert_int_equal(gp_train(NULL, c, &data, NULL, NULL, NULL), GP_BAD_ARGUMENT);
    gp_kernel_destroy(k);
    gp_kernel_destroy(fixed);
    gp_context_destroy(c);
}

/* Pairs of measurements at two places, far from zero: raw and normalised, the likelihood has different tops (a normalised y has mean 0), and both
 * are reached from the same start. */
static void raw_and_normalised_targets_have_their_own_optimum(void **state)
{
    const double where[] = { 20, 20, 140, 140 }, what[] = { 740, 680, 1260, 1200 };
    const GpData data = { .n = 4, .d = 1, .x = where, .ldx = 4, .y = what };
    GpContext *c = context("cpu/openmp");
    double length[2];
    (void)state;
    for (int normalised = 0; normalised < 2; normalised++) {
        const double scale = normalised ? 1 : 1e6;
        GpKernel *k = NULL;
        GpFitOptions fit = with_noise(0.01 * scale);
        GpTrainOptions o = gp_train_defaults();
        GpTrainResult r;
        char text[64];
        fit.normalise_y = normalised;
        o.train_noise = 1;
        snprintf(text, sizeof text, "%g in 1e-3..1e9*rbf(100 in 1..1e4)", scale);
        check_ok(gp_kernel_parse(&k, text, 1));
        check_ok(gp_train(k, c, &data, &fit, &o, &r));
        assert_true(r.converged);
        fit.noise_variance = r.noise_variance;
        length[normalised] = value(k, 1);
        for (size_t p = 0; p < 2; p++)
            for (int side = -1; side <= 1; side += 2) {
                GpParameter kept = gp_kernel_parameter(k, p, NULL, 0), moved = kept;
                GpModel *m = NULL;
                double lml;
                moved.value *= 1 + 0.02 * side;
                if (moved.value < moved.lower || moved.value > moved.upper) continue;
                check_ok(gp_kernel_set_parameter(k, p, moved));
                check_ok(gp_fit(&m, c, k, &data, &fit));
                check_ok(gp_log_marginal_likelihood(m, &lml));
                assert_true(lml <= r.lml + 1e-9 * fabs(r.lml));
                gp_model_destroy(m);
                check_ok(gp_kernel_set_parameter(k, p, kept));
            }
        gp_kernel_destroy(k);
    }
    assert_true(fabs(length[0] / length[1] - 1) > 0.05);
    gp_context_destroy(c);
}

/* Matern 1/2 has no slope at distance 0, but its derivative by the length is 0 there: on the diagonal, and between equal points. */
static void a_matern_12_gradient_is_finite_at_distance_0(void **state)
{
    const double x[] = { 1, 3, 5, 6, 8, 3 };
    double y[6];
    (void)state;
    for (int i = 0; i < 6; i++) y[i] = x[i] * sin(x[i]);
    const GpData data = { .n = 6, .d = 1, .x = x, .ldx = 6, .y = y };
    const GpFitOptions fit = with_noise(0.1);
    for (size_t b = 0; b < gp_backend_count(); b++) {
        if (gp_backend_unavailable(gp_backend_name(b))) continue;
        GpContext *c = context(gp_backend_name(b));
        GpKernel *k = NULL;
        GpModel *m = NULL;
        double gradient[2], side[2];
        check_ok(gp_kernel_parse(&k, "2*matern12(1.5)", 1));
        check_ok(gp_fit(&m, c, k, &data, &fit));
        check_ok(gp_log_marginal_likelihood_gradient(m, 0.1, gradient, NULL));
        gp_model_destroy(m);
        for (int s = 0; s < 2; s++) {
            GpParameter p = { .value = 1.5 * exp(s ? 1e-4 : -1e-4), .lower = 1e-5, .upper = 1e5 };
            check_ok(gp_kernel_set_parameter(k, 1, p));
            check_ok(gp_fit(&m, c, k, &data, &fit));
            check_ok(gp_log_marginal_likelihood(m, &side[s]));
            gp_model_destroy(m);
        }
        check_near("d / dlog length", gradient[1], (side[1] - side[0]) / 2e-4, 1e-6);
        gp_kernel_destroy(k);
        gp_context_destroy(c);
    }
}

/* ---- priors, and parameters of which the data say nothing ---- */

static double likelihood_at(GpContext *c, GpKernel *k, const GpData *data, const GpFitOptions *fit, size_t p, double v)
{
    GpParameter moved = gp_kernel_parameter(k, p, NULL, 0);
    const GpParameter kept = moved;
    GpModel *m = NULL;
    double lml;
    moved.value = v;
    check_ok(gp_kernel_set_parameter(k, p, moved));
    check_ok(gp_fit(&m, c, k, data, fit));
    check_ok(gp_log_marginal_likelihood(m, &lml));
    gp_model_destroy(m);
    check_ok(gp_kernel_set_parameter(k, p, kept));
    return lml;
}

static double density(const GpPrior *p, double v)
{
    const double z = (log(v) - p->a) / p->b;
    if (p->kind == GP_LOG_NORMAL) return -z * z / 2 - log(v * p->b * sqrt(2 * acos(-1)));
    return log(pow(p->b, p->a) * pow(v, p->a - 1) * exp(-p->b * v) / tgamma(p->a));
}

static void set_prior(GpKernel *k, size_t i, GpPrior prior)
{
    GpParameter p = gp_kernel_parameter(k, i, NULL, 0);
    p.prior = prior;
    check_ok(gp_kernel_set_parameter(k, i, p));
}

/* The trained length is where likelihood times prior is highest: lower on both sides; and the result tells both apart. */
static void priors_move_the_optimum_to_that_of_the_posterior(void **state)
{
    const GpPrior priors[] = { { GP_LOG_NORMAL, 0, 0.05 }, { GP_LOG_NORMAL, 1, 2 }, { GP_GAMMA, 3, 4 }, { GP_GAMMA, 2, 20 } };
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(0.01);
    GpContext *c = context("cpu/openmp");
    double plain = 0;
    (void)state;
    for (int i = -1; i < 4; i++) {
        GpKernel *k = NULL;
        GpTrainResult r;
        check_ok(gp_kernel_parse(&k, "20!*rbf(1)", 1));
        if (i >= 0) set_prior(k, 1, priors[i]);
        check_ok(gp_train(k, c, &data, &fit, NULL, &r));
        const double length = value(k, 1);
        assert_true(r.converged);
        check_near("likelihood", r.lml, likelihood_at(c, k, &data, &fit, 1, length), 1e-9 * fabs(r.lml));
        check_near("prior", r.log_prior, i < 0 ? 0 : density(&priors[i], length), 1e-9);
        if (i < 0) plain = length;
        else assert_true(fabs(length - plain) > 1e-3);
        for (int side = -1; side <= 1 && i >= 0; side += 2) {
            const double moved = length * (1 + 0.01 * side);
            assert_true(likelihood_at(c, k, &data, &fit, 1, moved) + density(&priors[i], moved) < r.lml + r.log_prior);
        }
        gp_kernel_destroy(k);
    }
    gp_context_destroy(c);
}

static void a_prior_holds_the_noise_too(void **state)
{
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(0.1);
    GpContext *c = context("cpu/openmp");
    GpKernel *k = NULL;
    GpTrainOptions o = gp_train_defaults();
    GpTrainResult r;
    (void)state;
    o.train_noise = 1;
    o.noise_prior = (GpPrior){ GP_LOG_NORMAL, log(0.5), 1e-3 };
    check_ok(gp_kernel_parse(&k, "1*rbf(1)", 1));
    check_ok(gp_train(k, c, &data, &fit, &o, &r));
    check_near("noise", r.noise_variance, 0.5, 5e-3);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

static void unsound_priors_are_refused(void **state)
{
    const GpPrior wrong[] = { { GP_LOG_NORMAL, 0, 0 }, { GP_LOG_NORMAL, NAN, 1 }, { GP_GAMMA, 0, 1 }, { GP_GAMMA, 1, INFINITY }, { (GpPriorKind)7, 1, 1 } };
    const GpData data = six_points();
    const GpFitOptions fit = with_noise(0.1);
    GpContext *c = context("cpu/openmp");
    GpKernel *k = NULL;
    (void)state;
    check_ok(gp_kernel_parse(&k, "1*rbf(1)", 1));
    for (int i = 0; i < 5; i++) {
        GpParameter p = gp_kernel_parameter(k, 0, NULL, 0);
        GpTrainOptions o = gp_train_defaults();
        p.prior = o.noise_prior = wrong[i];
        assert_int_equal(gp_kernel_set_parameter(k, 0, p), GP_BAD_ARGUMENT);
        assert_int_equal(gp_train(k, c, &data, &fit, &o, NULL), GP_BAD_ARGUMENT);
        assert_non_null(strstr(gp_message(), "prior"));
    }
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* A column in which all points are equal says nothing of its length. */
static void a_parameter_that_the_data_say_nothing_of_is_counted(void **state)
{
    double x[12];
    GpData data = six_points();
    const GpFitOptions fit = with_noise(0.01);
    GpContext *c = context("cpu/openmp");
    (void)state;
    for (int i = 0; i < 12; i++) x[i] = i < 6 ? six_x[i] : 3;
    data.x = x;
    data.d = 2;
    for (int asked = 0; asked < 2; asked++) {
        GpKernel *k = NULL;
        GpTrainOptions o = gp_train_defaults();
        GpTrainResult r;
        o.find_flat = asked;
        check_ok(gp_kernel_parse(&k, "1*rbf(1,1)", 2));
        check_ok(gp_train(k, c, &data, &fit, &o, &r));
        assert_int_equal(r.flat, asked);
        gp_kernel_destroy(k);
    }
    gp_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_known_optimum_is_reached),
        cmocka_unit_test(the_co2_model_is_trained_to_the_known_optimum),
        cmocka_unit_test(bounds_hold_and_are_counted),
        cmocka_unit_test(noise_is_trained_too),
        cmocka_unit_test(restarts_find_what_one_start_misses_and_repeat_themselves),
        cmocka_unit_test(it_can_be_watched_and_stopped_with_the_best_so_far),
        cmocka_unit_test(what_cannot_be_trained_is_refused_and_changes_nothing),
        cmocka_unit_test(raw_and_normalised_targets_have_their_own_optimum),
        cmocka_unit_test(a_matern_12_gradient_is_finite_at_distance_0),
        cmocka_unit_test(priors_move_the_optimum_to_that_of_the_posterior),
        cmocka_unit_test(a_prior_holds_the_noise_too),
        cmocka_unit_test(unsound_priors_are_refused),
        cmocka_unit_test(a_parameter_that_the_data_say_nothing_of_is_counted),
    };
    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
