/* Models with composite kernels, on every backend. */
#define _GNU_SOURCE
#include "common/memory.h"
#include "gp/gp.h"
#include "gp/table.h"
#include "gp/testing.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static GpKernel *kernel(const char *text, size_t d)
{
    GpKernel *k = NULL;
    check_ok(gp_kernel_parse(&k, text, d));
    return k;
}

static double eps_of(const GpContext *c) { return gp_context_precision(c) == GP_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

static void check_near(const GpContext *c, const char *what, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s %s, %s: %.15g, expected %.15g within %g", gp_context_backend(c),
                 gp_context_precision(c) == GP_F64 ? "float64" : "float32", what, got, expected, tolerance);
}

typedef struct { double lml, mean, variance; } Answer;

static Answer answer(GpContext *c, const GpKernel *k, const GpData *data, double noise, const double *point)
{
    Answer a;
    GpModel *m = NULL;
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    o.noise_variance = noise;
    check_ok(gp_fit(&m, c, k, data, &o));
    check_ok(gp_log_marginal_likelihood(m, &a.lml));
    check_ok(gp_predict(m, 1, point, 1, &a.mean, &a.variance, NULL));
    assert_true(gp_model_jitter(m) == 0);
    gp_model_destroy(m);
    return a;
}

/* ---- carbon dioxide at Mauna Loa with the kernel and values of GPML, section 5.4.3 ---- */

static const char co2_kernel[] = "4356*rbf(67) + 5.76*rbf(90)*periodic(1,1.3) + 0.4356*rq(0.78,1.2) + 0.0324*rbf(0.134) + white(0.0361)";

/* The likelihood comes from another implementation in float64. float32 can't hold this: a variance of 4,362 against a noise of 0.036 leaves
 * 521 x 4,362 x 6e-8 = 0.14 of rounding. */
static void check_co2(GpContext *c)
{
    GpTable t;
    GpModel *m = NULL;
    size_t time, co2;
    double lml;
    if (gp_context_precision(c) != GP_F64) return;
    check_ok(gp_table_read(&t, "gp/data/co2.csv"));
    check_ok(gp_table_column(&t, "t", &time));
    check_ok(gp_table_column(&t, "co2", &co2));
    assert_int_equal(t.rows, 521);
    double *y = t.value + co2 * t.rows;
    for (size_t i = 0; i < t.rows; i++) y[i] -= 339.8226647472809;
    const GpData data = { .n = t.rows, .d = 1, .x = t.value + time * t.rows, .ldx = t.rows, .y = y };
    GpKernel *k = kernel(co2_kernel, 1);
    check_ok(gp_fit(&m, c, k, &data, NULL));
    check_ok(gp_log_marginal_likelihood(m, &lml));
    check_near(c, "log marginal likelihood", lml, -117.0226373393, 1e-7);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_table_free(&t);
}

static void the_co2_model_has_the_known_likelihood(void **state)
{
    (void)state;
    on_each_usable_backend(check_co2);
}

/* ---- small data ---- */

enum { N = 12, D = 2 };
static double x[N * D], y[N];
static const double point[D] = { 0.3, 0.7 };

static GpData small_data(void)
{
    for (int i = 0; i < N; i++) {
        x[i] = sin(1.0 + i);
        x[i + N] = cos(2.0 * i);
        y[i] = x[i] * x[i + N] + 0.1 * sin(7.0 * i);
    }
    return (GpData){ .n = N, .d = D, .x = x, .ldx = N, .y = y };
}

/* One walks through the expression, the other is the rbf's own loop: they differ by rounding, K's condition being below 100. */
static void check_sum_of_halves(GpContext *c)
{
    const GpData data = small_data();
    GpKernel *whole = kernel("2*rbf(0.5,0.8)", D), *halves = kernel("1.5*rbf(0.5,0.8) + 0.5*rbf(0.5,0.8)", D);
    const Answer a = answer(c, whole, &data, 0.1, point), b = answer(c, halves, &data, 0.1, point);
    check_near(c, "likelihood", b.lml, a.lml, 1e4 * eps_of(c));
    check_near(c, "mean", b.mean, a.mean, 1e3 * eps_of(c));
    check_near(c, "variance", b.variance, a.variance, 1e3 * eps_of(c));
    gp_kernel_destroy(whole);
    gp_kernel_destroy(halves);
}

static void a_sum_of_two_halves_is_the_whole(void **state)
{
    (void)state;
    on_each_usable_backend(check_sum_of_halves);
}

/* White noise in the kernel is noise: it is in the likelihood, and not in the variance of f. */
static void check_white(GpContext *c)
{
    const GpData data = small_data();
    GpKernel *plain = kernel("2*rbf(0.5)", D), *noisy = kernel("2*rbf(0.5) + white(0.25)", D);
    const Answer a = answer(c, plain, &data, 0.25, point), b = answer(c, noisy, &data, 0, point);
    check_near(c, "likelihood", b.lml, a.lml, 1e4 * eps_of(c));
    check_near(c, "mean", b.mean, a.mean, 1e3 * eps_of(c));
    check_near(c, "variance", b.variance, a.variance, 1e3 * eps_of(c));
    gp_kernel_destroy(plain);
    gp_kernel_destroy(noisy);
}

static void white_in_the_kernel_is_noise(void **state)
{
    (void)state;
    on_each_usable_backend(check_white);
}

/* A linear kernel is Bayesian linear regression (GPML 2.8 with the prior diag(1/2, 2, 2)): f = w' (1, x1, x2), and w has the covariance
 * (F' F / noise + diag(2, 1/2, 1/2))^-1, solved here by elimination. It must not be centred: the constant and the slopes mix. */
static void check_linear(GpContext *c)
{
    const GpData data = small_data();
    const double noise = 0.1, features[3] = { 1, point[0], point[1] };
    double A[3][5] = { { 2, 0, 0, 0, features[0] }, { 0, 0.5, 0, 0, features[1] }, { 0, 0, 0.5, 0, features[2] } };
    for (int i = 0; i < N; i++) {
        const double f[3] = { 1, x[i], x[i + N] };
        for (int r = 0; r < 3; r++) {
            for (int s = 0; s < 3; s++) A[r][s] += f[r] * f[s] / noise;
            A[r][3] += f[r] * y[i] / noise;
        }
    }
    for (int p = 0; p < 3; p++)
        for (int r = 0; r < 3; r++)
            for (int s = 4; r != p && s >= p; s--) A[r][s] -= A[r][p] / A[p][p] * A[p][s];
    double mean = 0, variance = 0;
    for (int r = 0; r < 3; r++) {
        mean += features[r] * A[r][3] / A[r][r];
        variance += features[r] * A[r][4] / A[r][r];
    }
    GpKernel *k = kernel("0.5 + linear(2)", D);
    const Answer a = answer(c, k, &data, noise, point);
    check_near(c, "mean", a.mean, mean, 2e3 * eps_of(c));          /* K has eigenvalues from 0.1 to about 20 */
    check_near(c, "variance", a.variance, variance, 2e3 * eps_of(c));
    gp_kernel_destroy(k);
}

static void a_linear_kernel_is_bayesian_linear_regression(void **state)
{
    (void)state;
    on_each_usable_backend(check_linear);
}

/* ---- the gradient of the likelihood ---- */

enum { MOST_PARAMETERS = 16 };

/* X = {1, 3, 5, 6, 7, 8}, y = x sin x, rbf of length 1 and variance 1, noise 1e-10: 50-digit arithmetic. */
static void check_known_gradient(GpContext *c)
{
    double six[6] = { 1, 3, 5, 6, 7, 8 }, values[6], gradient[2], of_noise, lml;
    for (int i = 0; i < 6; i++) values[i] = six[i] * sin(six[i]);
    const GpData data = { .n = 6, .d = 1, .x = six, .ldx = 6, .y = values };
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpKernel *k = kernel("1*rbf(1)", 1);
    GpModel *m = NULL;
    o.noise_variance = 1e-10;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_log_marginal_likelihood_gradient(m, o.noise_variance, gradient, &of_noise));
    check_ok(gp_log_marginal_likelihood(m, &lml));   /* the factor is still there */
    check_near(c, "likelihood", lml, -48.880209957440363599, 2e4 * eps_of(c));
    check_near(c, "d / dlog length", gradient[1], -2.136820493815, 1e5 * eps_of(c) + 1e-12);   /* sums of terms up to 100, condition 20 */
    check_near(c, "d / dlog variance", gradient[0], 41.250545928699, 1e5 * eps_of(c) + 1e-12);
    assert_true(fabs(of_noise) < 1e-6);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

static void the_gradient_has_the_known_value(void **state)
{
    (void)state;
    on_each_usable_backend(check_known_gradient);
}

static double likelihood(GpContext *c, const GpKernel *k, const GpData *data, double noise)
{
    const double middle[D] = { 0 };
    return answer(c, k, data, noise, middle).lml;
}

/* Central differences in the logarithm, with an error of about 1e-9 of the largest term. */
static void check_differences(GpContext *c, const char *text, const GpData *data, double noise)
{
    const double h = 1e-4, scale = 1e-5;
    double gradient[MOST_PARAMETERS], of_noise;
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpKernel *k = kernel(text, data->d);
    GpModel *m = NULL;
    o.noise_variance = noise;
    check_ok(gp_fit(&m, c, k, data, &o));
    check_ok(gp_log_marginal_likelihood_gradient(m, noise, gradient, &of_noise));
    for (size_t p = 0; p < gp_kernel_parameters(k); p++) {
        char name[48];
        const GpParameter start = gp_kernel_parameter(k, p, name, sizeof name);
        double side[2];
        for (int s = 0; s < 2; s++) {
            GpParameter moved = start;
            moved.value *= exp(s ? h : -h);
            check_ok(gp_kernel_set_parameter(k, p, moved));
            side[s] = likelihood(c, k, data, noise);
        }
        check_ok(gp_kernel_set_parameter(k, p, start));
        check_near(c, name, gradient[p], (side[1] - side[0]) / (2 * h), scale * (1 + fabs(gradient[p])));
    }
    if (noise > 0) {
        const double difference = (likelihood(c, k, data, noise * exp(h)) - likelihood(c, k, data, noise * exp(-h))) / (2 * h);
        check_near(c, "noise", of_noise, difference, scale * (1 + fabs(of_noise)));
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

static void check_gradients(GpContext *c)
{
    static const char *const texts[] = { "2*rbf(0.5,0.8)", "matern12(0.7) + 0.3*matern32(0.5,2)", "rq(0.8,1.5)*(0.5 + linear(2))^2",
                                         "1.5*matern52(1)[1]*periodic(1.3,0.9) + white(0.1)" };
    const GpData data = small_data();
    if (gp_context_precision(c) != GP_F64) return;   /* float32's own rounding is larger than what differences can show */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_differences(c, texts[i], &data, 0.2);
}

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    on_each_usable_backend(check_gradients);
}

/* ---- every backend against the plain one ---- */

/* A sum of all functions, and one more: their products, powers, columns and lengths. */
static const char *const every_function[] = {
    "2*rbf(0.5,0.8,1.1) + 0.5*matern32(0.3)[1] + white(0.05)",
    "matern12(0.7) + 0.3*matern52(0.5,2)[0,2] + 0.2*rq(0.8,1.5,1,2)",
    "rq(0.8,1.5)*(0.5 + linear(0.4))^2 + periodic(1.3,0.9)*matern32(1,2,3)",
    "0.1*linear(2)[1] + 3*periodic(0.7,2)[0,2]*rbf(2)[1] + (rbf(1) + matern12(2)[0])^3",
};
enum { POINTS = 700, COLUMNS = 3 };   /* several blocks of rows and columns, the last of each not full */

static GpData many_points(void)
{
    static double points[POINTS * COLUMNS], values[POINTS];
    for (int i = 0; i < POINTS; i++) {
        points[i] = sin(3.0 * i * i);
        points[i + POINTS] = cos(5.0 * i);
        points[i + 2 * POINTS] = sin(1.0 + 0.7 * i);
        values[i] = points[i] + 0.3 * sin(11.0 * i);
    }
    return (GpData){ .n = POINTS, .d = COLUMNS, .x = points, .ldx = POINTS, .y = values };
}

typedef struct { double lml, mean, variance, of_noise, gradient[MOST_PARAMETERS]; } Everything;

static Everything everything_of(GpContext *c, const GpKernel *k)
{
    const GpData data = many_points();
    const double z[COLUMNS] = { 0.3, 0.7, -0.2 };
    Everything e;
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpModel *m = NULL;
    o.noise_variance = 0.1;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_log_marginal_likelihood(m, &e.lml));
    check_ok(gp_log_marginal_likelihood_gradient(m, 0.1, e.gradient, &e.of_noise));
    check_ok(gp_predict(m, 1, z, 1, &e.mean, &e.variance, NULL));
    gp_model_destroy(m);
    return e;
}

static void compare_with(GpContext *c, const GpKernel *k, const Everything *plain)
{
    const Everything e = everything_of(c, k);
    /* K's eigenvalues lie between 0.1 and n times the variance of at most 20: condition 1.4e5; the sums have terms of size n */
    const double tolerance = 1.4e5 * POINTS * eps_of(c);
    check_near(c, "likelihood", e.lml, plain->lml, tolerance);
    check_near(c, "mean", e.mean, plain->mean, 1.4e5 * eps_of(c));
    check_near(c, "variance", e.variance, plain->variance, 1.4e5 * eps_of(c));
    check_near(c, "gradient of the noise", e.of_noise, plain->of_noise, tolerance);
    for (size_t p = 0; p < gp_kernel_parameters(k); p++) {
        char name[48];
        (void)gp_kernel_parameter(k, p, name, sizeof name);
        check_near(c, name, e.gradient[p], plain->gradient[p], tolerance);
    }
}

/* On a GPU the optimised backend compiles each expression; without NVRTC it walks through the nodes. */
static void backends_and_precisions_agree(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof every_function / sizeof *every_function; t++) {
        GpKernel *k = kernel(every_function[t], COLUMNS);
        GpContext *c = NULL;
        check_ok(gp_context_create(&c, "cpu/naive", GP_F64, 0));
        const Everything plain = everything_of(c, k);
        gp_context_destroy(c);
        for (size_t i = 0; i < gp_backend_count(); i++)
            for (int p = 0; p < 4; p++) {
                const char *name = gp_backend_name(i);
                if (gp_backend_unavailable(name) || (p >= 2 && strcmp(name, "cuda/optimized") != 0)) continue;
                if (p >= 2) setenv("GP_NVRTC", "off", 1);
                check_ok(gp_context_create(&c, name, p % 2 ? GP_F32 : GP_F64, 0));
                compare_with(c, k, &plain);
                gp_context_destroy(c);
                unsetenv("GP_NVRTC");
            }
        gp_kernel_destroy(k);
    }
}

/* ---- noise of each point ---- */

/* Points measured several times, each time with an error of its own, are one measurement: the mean weighted by 1 / noise, with the noise
 * 1 / sum(1 / noise). */
static void check_repeated_measurements(GpContext *c)
{
    enum { PLACES = 5, TIMES = 3 };
    const double places[PLACES] = { 0, 0.7, 1.1, 2, 2.6 }, z = 1.5;
    double many_x[PLACES * TIMES], many_y[PLACES * TIMES], many_noise[PLACES * TIMES], one_y[PLACES], one_noise[PLACES];
    GpKernel *k = kernel("2*matern52(0.8)", 1);
    GpModel *many = NULL, *one = NULL;
    double mean[2], variance[2];
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    for (int i = 0; i < PLACES; i++) {
        double weights = 0, sum = 0;
        for (int t = 0; t < TIMES; t++) {
            const int j = i + t * PLACES;
            many_x[j] = places[i];
            many_noise[j] = 0.05 + 0.1 * t + 0.03 * i;
            many_y[j] = sin(2 * places[i]) + 0.2 * cos(5.0 * j);
            weights += 1 / many_noise[j];
            sum += many_y[j] / many_noise[j];
        }
        one_y[i] = sum / weights;
        one_noise[i] = 1 / weights;
    }
    const GpData all = { .n = PLACES * TIMES, .d = 1, .x = many_x, .ldx = PLACES * TIMES, .y = many_y, .point_noise = many_noise };
    const GpData joined = { .n = PLACES, .d = 1, .x = places, .ldx = PLACES, .y = one_y, .point_noise = one_noise };
    check_ok(gp_fit(&many, c, k, &all, &o));
    check_ok(gp_fit(&one, c, k, &joined, &o));
    check_ok(gp_predict(many, 1, &z, 1, &mean[0], &variance[0], NULL));
    check_ok(gp_predict(one, 1, &z, 1, &mean[1], &variance[1], NULL));
    check_near(c, "mean", mean[0], mean[1], 1e3 * eps_of(c));   /* K's condition is below 15 * 2 / 0.05 = 600 */
    check_near(c, "variance", variance[0], variance[1], 1e3 * eps_of(c));
    gp_model_destroy(many);
    gp_model_destroy(one);
    gp_kernel_destroy(k);
}

static void repeated_measurements_are_one_with_less_noise(void **state)
{
    (void)state;
    on_each_usable_backend(check_repeated_measurements);
}

/* The same noise everywhere is noise_variance, in the likelihood, its gradient and leave-one-out. */
static void check_equal_noise(GpContext *c)
{
    GpData data = small_data();
    double noise[N], lml[2], gradient[2][2], density[2][N];
    GpKernel *k = kernel("2*rbf(0.5)", D);
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    for (int i = 0; i < N; i++) noise[i] = 0.2;
    for (int which = 0; which < 2; which++) {
        GpModel *m = NULL;
        data.point_noise = which ? noise : NULL;
        o.noise_variance = which ? 0.1 : 0.3;
        check_ok(gp_fit(&m, c, k, &data, &o));
        check_ok(gp_log_marginal_likelihood(m, &lml[which]));
        check_ok(gp_log_marginal_likelihood_gradient(m, o.noise_variance, gradient[which], NULL));
        check_ok(gp_leave_one_out(m, NULL, NULL, density[which]));
        gp_model_destroy(m);
    }
    check_near(c, "likelihood", lml[1], lml[0], 1e4 * eps_of(c));
    for (int p = 0; p < 2; p++) check_near(c, "gradient", gradient[1][p], gradient[0][p], 1e4 * eps_of(c));
    for (int i = 0; i < N; i++) check_near(c, "leave one out", density[1][i], density[0][i], 1e4 * eps_of(c));
    gp_kernel_destroy(k);
}

static void equal_noise_of_points_is_the_noise_variance(void **state)
{
    (void)state;
    on_each_usable_backend(check_equal_noise);
}

/* Of a point that is known to be bad, training learns little: the others' optimum is reached. */
static void training_knows_the_noise_of_points(void **state)
{
    GpData data = small_data();
    double noise[N] = { 0 }, values[N];
    GpContext *c = NULL;
    GpTrainResult with, without;
    GpFitOptions o = gp_fit_defaults(GP_F64);
    (void)state;
    memcpy(values, data.y, sizeof values);
    values[0] = 1e3;
    noise[0] = 1e12;
    o.noise_variance = 0.01;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    GpKernel *k = kernel("1*rbf(1)", D), *other = kernel("1*rbf(1)", D);
    const GpData bad = { .n = N, .d = D, .x = data.x, .ldx = N, .y = values, .point_noise = noise };
    const GpData rest = { .n = N - 1, .d = D, .x = data.x + 1, .ldx = N, .y = data.y + 1 };
    check_ok(gp_train(k, c, &bad, &o, NULL, &with));
    check_ok(gp_train(other, c, &rest, &o, NULL, &without));
    for (size_t p = 0; p < 2; p++)
        check_near(c, "parameter", gp_kernel_parameter(k, p, NULL, 0).value, gp_kernel_parameter(other, p, NULL, 0).value, 1e-3);
    gp_kernel_destroy(k);
    gp_kernel_destroy(other);
    gp_context_destroy(c);
}

static void noise_that_is_no_variance_is_refused_with_its_index(void **state)
{
    const double wrong[] = { -1e-9, NAN, INFINITY };
    GpData data = small_data();
    double noise[N] = { 0 };
    GpContext *c = NULL;
    GpModel *m = NULL;
    GpKernel *k = kernel("1*rbf(1)", D);
    (void)state;
    data.point_noise = noise;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    for (int i = 0; i < 3; i++) {
        noise[7] = wrong[i];
        assert_int_equal(gp_fit(&m, c, k, &data, NULL), GP_BAD_DATA);
        assert_non_null(strstr(gp_message(), "point_noise[7]"));
    }
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* ---- mean functions ---- */

/* A constant with a vague prior of variance V is the kernel plus V, and slopes with one are the kernel plus V linear, as V grows (GPML 2.7): here V
 * is 1e6 times what there is, which leaves a difference of 1e-6; in float32 the kernels with V would round y away. */
static void check_vague_prior(GpContext *c)
{
    static const char *const vague[] = { NULL, "2*rbf(0.5) + 1e6", "2*rbf(0.5) + 1e6 + linear(1e6)" };
    enum { COUNT = 3 };
    const double z[COUNT * D] = { 0.3, 5, -1, 0.7, -4, 0.2 };
    GpData data = small_data();
    double values[N], mean[2][COUNT], covariance[2][COUNT * COUNT], variance[COUNT];
    if (gp_context_precision(c) != GP_F64) return;
    for (int i = 0; i < N; i++) values[i] = data.y[i] + 3 - 2 * x[i] + x[i + N];
    data.y = values;
    for (int which = 1; which <= 2; which++) {
        for (int side = 0; side < 2; side++) {
            GpKernel *k = kernel(side ? vague[which] : "2*rbf(0.5)", D);
            GpFitOptions o = gp_fit_defaults(GP_F64);
            GpModel *m = NULL;
            o.noise_variance = 0.1;
            o.mean = side ? GP_MEAN_ZERO : (GpMean)which;
            check_ok(gp_fit(&m, c, k, &data, &o));
            check_ok(gp_predict_covariance(m, COUNT, z, COUNT, mean[side], covariance[side], COUNT));
            if (!side) check_ok(gp_predict(m, COUNT, z, COUNT, mean[1], variance, NULL));
            for (int i = 0; i < COUNT && !side; i++) {
                check_near(c, "mean, alone", mean[1][i], mean[0][i], 1e-12);
                check_near(c, "variance, alone", variance[i], covariance[0][i + i * COUNT], 1e-11);
            }
            gp_model_destroy(m);
            gp_kernel_destroy(k);
        }
        for (int i = 0; i < COUNT; i++) check_near(c, "mean", mean[0][i], mean[1][i], 1e-4);
        for (int i = 0; i < COUNT * COUNT; i++) check_near(c, "covariance", covariance[0][i], covariance[1][i], 1e-4);
    }
}

static void a_mean_is_the_limit_of_a_vague_prior(void **state)
{
    (void)state;
    on_each_usable_backend(check_vague_prior);
}

/* y on a plane: the coefficients are the plane's, also where x lies far from zero and y is normalised, and nothing is left for the kernel. */
static void check_plane(GpContext *c)
{
    const double far[D] = { 2003, -7 };
    GpData data = small_data();
    double moved[N * D], values[N], coefficient[1 + D], mean;
    GpKernel *k = kernel("2*rbf(0.5)", D);
    for (int i = 0; i < N; i++) {
        moved[i] = x[i] + 2000;
        moved[i + N] = x[i + N] * 1e-3;
        values[i] = 10 + 3 * moved[i] - 500 * moved[i + N];
    }
    data.x = moved;
    data.y = values;
    for (int normalise = 0; normalise < 2; normalise++) {
        GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
        GpModel *m = NULL;
        o.noise_variance = 0.1;
        o.mean = GP_MEAN_LINEAR;
        o.normalise_y = normalise;
        check_ok(gp_fit(&m, c, k, &data, &o));
        assert_int_equal(gp_model_mean(m, NULL), 1 + D);
        assert_int_equal(gp_model_mean(m, coefficient), 1 + D);
        check_near(c, "slope", coefficient[1], 3, 1e4 * eps_of(c));
        check_near(c, "slope", coefficient[2], -500, 1e7 * eps_of(c));   /* its column is a thousandth */
        check_near(c, "constant", coefficient[0], 10, 2e7 * eps_of(c));
        check_ok(gp_predict(m, 1, far, 1, &mean, NULL, NULL));
        check_near(c, "mean", mean, 10 + 3 * 2003 + 500 * 7, 1e8 * eps_of(c));
        gp_model_destroy(m);
    }
    gp_kernel_destroy(k);
}

static void a_plane_is_found_exactly(void **state)
{
    (void)state;
    on_each_usable_backend(check_plane);
}

/* Left out one at a time, with the coefficients estimated anew: the same as n fits; and the likelihood's gradient, by differences. */
static void check_mean_without_each_point(GpContext *c)
{
    GpData data = small_data();
    double mean[N], variance[N], density[N], gradient[2];
    GpKernel *k = kernel("2*rbf(0.5)", D);
    if (gp_context_precision(c) != GP_F64) return;
    for (int which = 1; which <= 2; which++) {
        GpFitOptions o = gp_fit_defaults(GP_F64);
        GpModel *m = NULL;
        double lml[2];
        o.noise_variance = 0.1;
        o.mean = (GpMean)which;
        check_ok(gp_fit(&m, c, k, &data, &o));
        check_ok(gp_leave_one_out(m, mean, variance, density));
        check_ok(gp_log_marginal_likelihood_gradient(m, 0.1, gradient, NULL));
        gp_model_destroy(m);
        for (int out = 0; out < N; out++) {
            double rest_x[(N - 1) * D], rest_y[N - 1], z[D], expected, latent;
            for (int i = 0, j = 0; i < N; i++) {
                if (i == out) continue;
                rest_y[j] = data.y[i];
                for (int t = 0; t < D; t++) rest_x[j + t * (N - 1)] = x[i + t * N];
                j++;
            }
            for (int t = 0; t < D; t++) z[t] = x[out + t * N];
            const GpData rest = { .n = N - 1, .d = D, .x = rest_x, .ldx = N - 1, .y = rest_y };
            check_ok(gp_fit(&m, c, k, &rest, &o));
            check_ok(gp_predict(m, 1, z, 1, &expected, &latent, NULL));
            gp_model_destroy(m);
            check_near(c, "left-out mean", mean[out], expected, 1e-11);
            check_near(c, "left-out variance", variance[out], latent + 0.1, 1e-11);
        }
        for (int p = 0; p < 2; p++) {
            const GpParameter start = gp_kernel_parameter(k, (size_t)p, NULL, 0);
            for (int side = 0; side < 2; side++) {
                GpParameter moved = start;
                moved.value *= exp(side ? 1e-4 : -1e-4);
                check_ok(gp_kernel_set_parameter(k, (size_t)p, moved));
                check_ok(gp_fit(&m, c, k, &data, &o));
                check_ok(gp_log_marginal_likelihood(m, &lml[side]));
                gp_model_destroy(m);
            }
            check_ok(gp_kernel_set_parameter(k, (size_t)p, start));
            check_near(c, "gradient", gradient[p], (lml[1] - lml[0]) / 2e-4, 1e-6);
        }
    }
    gp_kernel_destroy(k);
}

static void a_mean_is_estimated_anew_without_each_point(void **state)
{
    (void)state;
    on_each_usable_backend(check_mean_without_each_point);
}

static void means_that_the_data_cannot_tell_apart_are_refused(void **state)
{
    GpData data = small_data();
    double changed[N * D];
    GpContext *c = NULL;
    GpModel *m = NULL;
    GpFitOptions o = gp_fit_defaults(GP_F64);
    GpKernel *k = kernel("2*rbf(0.5)", D);
    (void)state;
    o.noise_variance = 0.1;
    o.mean = GP_MEAN_LINEAR;
    data.x = changed;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    for (int i = 0; i < N; i++) {
        changed[i] = x[i];
        changed[i + N] = 5;
    }
    assert_int_equal(gp_fit(&m, c, k, &data, &o), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "column 1 (from 0) is constant"));
    for (int i = 0; i < N; i++) changed[i + N] = 3 - 2 * x[i];
    assert_int_equal(gp_fit(&m, c, k, &data, &o), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "column 1 (from 0) is a combination of others"));
    data.n = 2;
    assert_int_equal(gp_fit(&m, c, k, &data, &o), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "3 coefficients"));
    o.mean = (GpMean)9;
    assert_int_equal(gp_fit(&m, c, k, &data, &o), GP_BAD_ARGUMENT);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* ---- leave-one-out ---- */

/* Every point left out in turn and predicted from a fit of the others. */
static void check_refits(GpContext *c, GpKernel *k, const GpData *data, GpFitOptions o, const double *mean, const double *variance,
                         const double *density, double tolerance)
{
    for (size_t left = 0; left < data->n; left++) {
        double fewer[N * D], values[N], alone[D], m_alone, v_alone;
        size_t n = 0;
        for (size_t i = 0; i < data->n; i++) {
            if (i == left) continue;
            for (size_t j = 0; j < D; j++) fewer[n + j * (data->n - 1)] = data->x[i + j * data->ldx];
            values[n++] = data->y[i];
        }
        for (size_t j = 0; j < D; j++) alone[j] = data->x[left + j * data->ldx];
        const GpData rest = { .n = n, .d = D, .x = fewer, .ldx = n, .y = values };
        GpModel *m = NULL;
        check_ok(gp_fit(&m, c, k, &rest, &o));
        check_ok(gp_predict(m, 1, alone, 1, &m_alone, &v_alone, NULL));
        v_alone += o.noise_variance;
        check_near(c, "left-out mean", mean[left], m_alone, tolerance);
        check_near(c, "left-out variance", variance[left], v_alone, tolerance);
        const double z = data->y[left] - m_alone;
        check_near(c, "log density", density[left], -0.5 * (log(2 * acos(-1) * v_alone) + z * z / v_alone), 20 * tolerance);
        gp_model_destroy(m);
    }
}

static void check_leave_one_out(GpContext *c)
{
    const GpData data = small_data();
    double mean[N], variance[N], density[N];
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpKernel *k = kernel("2*rbf(0.5,0.8)", D);
    GpModel *m = NULL;
    o.noise_variance = 0.1;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_leave_one_out(m, mean, variance, density));
    check_refits(c, k, &data, o, mean, variance, density, 500 * eps_of(c));   /* a condition below 100 */
    check_ok(gp_leave_one_out(m, NULL, NULL, NULL));
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

/* On GPUs too: their backends have all that it takes. */
static void leave_one_out_equals_refits(void **state)
{
    (void)state;
    on_each_usable_backend(check_leave_one_out);
}

/* Several blocks of columns; y scaled, so that means, variances and densities come back in its units. */
static void leave_one_out_works_in_blocks_and_in_the_units_of_y(void **state)
{
    enum { MANY = 600 };
    static double points[MANY], values[MANY], scaled[MANY], mean[2][MANY], variance[2][MANY], density[2][MANY];
    GpContext *c = NULL;
    GpKernel *k = kernel("1*rbf(0.5)", 1);
    GpFitOptions o = gp_fit_defaults(GP_F64);
    (void)state;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    o.noise_variance = 0.05;
    o.normalise_y = 1;
    for (int i = 0; i < MANY; i++) {
        points[i] = 10.0 * i / MANY;
        values[i] = sin(points[i]) + 0.2 * sin(31.0 * i);
        scaled[i] = 1000 + 50 * values[i];
    }
    for (int s = 0; s < 2; s++) {
        GpModel *m = NULL;
        const GpData data = { .n = MANY, .d = 1, .x = points, .ldx = MANY, .y = s ? scaled : values };
        check_ok(gp_fit(&m, c, k, &data, &o));
        check_ok(gp_leave_one_out(m, mean[s], variance[s], density[s]));
        gp_model_destroy(m);
    }
    double inside = 0;
    for (int i = 0; i < MANY; i++) {
        check_near(c, "mean", mean[1][i], 1000 + 50 * mean[0][i], 1e-8);
        check_near(c, "variance", variance[1][i], 2500 * variance[0][i], 1e-8);
        check_near(c, "log density", density[1][i], density[0][i] - log(50), 1e-9);
        inside += fabs(values[i] - mean[0][i]) < 3 * sqrt(variance[0][i]);
    }
    assert_true(inside > 0.95 * MANY);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* ---- covariances and samples ---- */

/* A new point that is measured shrinks the variance of the others by exactly what the covariance says (Schur complement): so
 * every element follows from variances of models with one point more. */
static void check_covariance(GpContext *c)
{
    enum { M = 3, LD = 5 };
    const GpData data = small_data();
    const double points[M * D] = { 0.3, -0.4, 0.9, 0.7, 0.1, -0.8 }, noise = 0.1, tolerance = 2000 * eps_of(c);
    double mean[M], variance[M], mean_alone[M], S[M * LD];
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpKernel *k = kernel("2*rbf(0.5,0.8)", D);
    GpModel *m = NULL;
    o.noise_variance = noise;
    o.normalise_y = 0;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_predict(m, M, points, M, mean_alone, variance, NULL));
    check_ok(gp_predict_covariance(m, M, points, M, mean, S, LD));
    for (int j = 0; j < M; j++) {
        check_near(c, "mean", mean[j], mean_alone[j], tolerance);
        check_near(c, "variance", S[j + j * LD], variance[j], tolerance);
        double more[(N + 1) * D], values[N + 1] = { 0 }, after[M], ignored[M];
        for (int t = 0; t < D; t++) {
            memcpy(more + t * (N + 1), x + t * N, N * sizeof *x);
            more[N + t * (N + 1)] = points[j + t * M];
        }
        const GpData larger = { .n = N + 1, .d = D, .x = more, .ldx = N + 1, .y = values };
        GpModel *with = NULL;
        check_ok(gp_fit(&with, c, k, &larger, &o));
        check_ok(gp_predict(with, M, points, M, ignored, after, NULL));
        for (int i = 0; i < M; i++) {
            check_near(c, "symmetry", S[i + j * LD], S[j + i * LD], 0);
            check_near(c, "covariance squared", S[i + j * LD] * S[i + j * LD], (variance[i] - after[i]) * (variance[j] + noise),
                       4 * tolerance);
        }
        gp_model_destroy(with);
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

static void covariances_follow_from_variances(void **state)
{
    (void)state;
    on_each_usable_backend(check_covariance);
}

/* Of 40,000 samples the mean is within 4 / 200 deviations, an element of the covariance within 4 sqrt(2) / 200 of the variances. */
static void check_moments(const GpContext *c, const double *samples, int count, const double *mean, const double *S, int lds)
{
    enum { MANY = 40000 };
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            double sum_i = 0, products = 0;
            for (int s = 0; s < MANY; s++) {
                sum_i += samples[i + s * count] - mean[i];
                products += (samples[i + s * count] - mean[i]) * (samples[j + s * count] - mean[j]);
            }
            const double size = sqrt(S[i + i * lds] * S[j + j * lds]);
            check_near(c, "mean of samples", sum_i / MANY, 0, 0.02 * sqrt(S[i + i * lds]));
            check_near(c, "covariance of samples", products / MANY, S[i + j * lds], 0.03 * size);
        }
}

static void check_samples(GpContext *c)
{
    enum { M = 3, MANY = 40000 };
    static double samples[M * MANY], again[M * 2], other[M * 2];
    const GpData data = small_data();
    const double points[M * D] = { 0.3, -0.4, 0.9, 0.7, 0.1, -0.8 }, zero[M] = { 0 };
    double mean[M], S[M * M], prior[M * M];
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    GpKernel *k = kernel("2*rbf(0.5,0.8)", D);
    GpModel *m = NULL;
    o.noise_variance = 0.1;
    o.normalise_y = 1;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_predict_covariance(m, M, points, M, mean, S, M));
    check_ok(gp_sample(m, M, points, M, MANY, 7, samples, M));
    check_moments(c, samples, M, mean, S, M);
    check_ok(gp_sample(m, M, points, M, 2, 7, again, M));
    assert_memory_equal(again, samples, sizeof again);   /* the first two of many */
    check_ok(gp_sample(m, M, points, M, 2, 8, other, M));
    assert_memory_not_equal(other, samples, sizeof other);
    check_ok(gp_sample_prior(c, k, M, points, M, MANY, 9, samples, M));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            const double u = (points[i] - points[j]) / 0.5, v = (points[i + M] - points[j + M]) / 0.8;
            prior[i + j * M] = 2 * exp(-(u * u + v * v) / 2);
        }
    check_moments(c, samples, M, zero, prior, M);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

static void samples_have_the_mean_and_covariance_of_the_model(void **state)
{
    (void)state;
    on_each_usable_backend(check_samples);
}

/* 300 points on a line of 3 length scales: the covariance is singular to rounding, and the samples are smooth all the same. White noise is
 * no part of f. */
static void samples_of_close_points_are_smooth(void **state)
{
    enum { MANY = 300 };
    double points[MANY], sample[MANY], steps = 0;
    GpContext *c = NULL;
    GpKernel *k = kernel("1*rbf(1) + white(0.5)", 1);
    (void)state;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    for (int i = 0; i < MANY; i++) points[i] = 0.01 * i;
    check_ok(gp_sample_prior(c, k, MANY, points, MANY, 1, 3, sample, MANY));
    for (int i = 1; i < MANY; i++) steps = fmax(steps, fabs(sample[i] - sample[i - 1]));
    assert_true(steps < 0.05 && steps > 1e-4);   /* a slope of 1 a length scale, seldom above 4, and the root of the jitter */
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

static void wrong_calls_of_samples_are_refused(void **state)
{
    const GpData data = small_data();
    const double bad[] = { 1, NAN, 0, 0 };
    double out[4], S[4];
    GpContext *c = NULL;
    GpKernel *k = kernel("2*rbf(0.5)", D);
    GpModel *m = NULL;
    GpFitOptions o = gp_fit_defaults(GP_F64);
    (void)state;
    o.noise_variance = 0.1;
    check_ok(gp_context_create(&c, "cpu/openmp", GP_F64, 0));
    check_ok(gp_fit(&m, c, k, &data, &o));
    assert_int_equal(gp_sample(m, 2, bad, 2, 1, 1, out, 2), GP_BAD_DATA);
    assert_non_null(strstr(gp_message(), "row 1, column 0"));
    assert_int_equal(gp_sample(m, 2, x, 1, 1, 1, out, 2), GP_BAD_ARGUMENT);
    assert_int_equal(gp_predict_covariance(m, 2, x, 2, NULL, S, 1), GP_BAD_ARGUMENT);
    assert_int_equal(gp_predict_covariance(NULL, 2, x, 2, NULL, S, 2), GP_BAD_ARGUMENT);
    assert_int_equal(gp_sample_prior(c, NULL, 2, x, 2, 1, 1, out, 2), GP_BAD_ARGUMENT);
    check_ok(gp_sample(m, 0, x, 2, 1, 1, out, 2));
    check_ok(gp_sample(m, 2, x, 2, 0, 1, out, 2));
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
}

/* ---- parameters ---- */

static void parameters_can_be_read_and_set(void **state)
{
    GpKernel *k = kernel("2*rbf(0.5,0.8 in 0.1..1)", D);
    char name[48], text[64];
    (void)state;
    assert_int_equal(gp_kernel_parameters(k), 3);
    GpParameter p = gp_kernel_parameter(k, 2, name, sizeof name);
    assert_string_equal(name, "rbf.length[1]");
    assert_true(p.value == 0.8 && p.lower == 0.1 && p.upper == 1 && !p.fixed);
    p.value = 0.25;
    p.fixed = 1;
    check_ok(gp_kernel_set_parameter(k, 2, p));
    assert_true(gp_kernel_print(k, text, sizeof text) < sizeof text);
    assert_string_equal(text, "2*rbf(0.5,0.25! in 0.1..1)");
    p.value = 2;
    assert_int_equal(gp_kernel_set_parameter(k, 2, p), GP_BAD_ARGUMENT);
    assert_int_equal(gp_kernel_set_parameter(k, 3, p), GP_BAD_ARGUMENT);
    assert_non_null(strstr(gp_message(), "there are 3"));
    assert_true(isnan(gp_kernel_parameter(k, 3, name, sizeof name).value));
    gp_kernel_destroy(k);
}

static void a_wrong_text_gives_no_kernel(void **state)
{
    GpKernel *k = (GpKernel *)&k;
    (void)state;
    assert_int_equal(gp_kernel_parse(&k, "rbf(", 1), GP_BAD_ARGUMENT);
    assert_null(k);
    assert_int_equal(gp_kernel_parse(&k, NULL, 1), GP_BAD_ARGUMENT);
    assert_int_equal(gp_kernel_parse(NULL, "rbf(1)", 1), GP_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_co2_model_has_the_known_likelihood),
        cmocka_unit_test(a_sum_of_two_halves_is_the_whole),
        cmocka_unit_test(white_in_the_kernel_is_noise),
        cmocka_unit_test(a_linear_kernel_is_bayesian_linear_regression),
        cmocka_unit_test(the_gradient_has_the_known_value),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(backends_and_precisions_agree),
        cmocka_unit_test(repeated_measurements_are_one_with_less_noise),
        cmocka_unit_test(equal_noise_of_points_is_the_noise_variance),
        cmocka_unit_test(training_knows_the_noise_of_points),
        cmocka_unit_test(noise_that_is_no_variance_is_refused_with_its_index),
        cmocka_unit_test(a_mean_is_the_limit_of_a_vague_prior),
        cmocka_unit_test(a_plane_is_found_exactly),
        cmocka_unit_test(a_mean_is_estimated_anew_without_each_point),
        cmocka_unit_test(means_that_the_data_cannot_tell_apart_are_refused),
        cmocka_unit_test(leave_one_out_equals_refits),
        cmocka_unit_test(leave_one_out_works_in_blocks_and_in_the_units_of_y),
        cmocka_unit_test(covariances_follow_from_variances),
        cmocka_unit_test(samples_have_the_mean_and_covariance_of_the_model),
        cmocka_unit_test(samples_of_close_points_are_smooth),
        cmocka_unit_test(wrong_calls_of_samples_are_refused),
        cmocka_unit_test(parameters_can_be_read_and_set),
        cmocka_unit_test(a_wrong_text_gives_no_kernel),
    };
    return cmocka_run_group_tests_name("composite", tests, NULL, NULL);
}
