/* Models with composite kernels, on every backend that can evaluate them. */
#include "common/memory.h"
#include "gp/gp.h"
#include "gp/table.h"
#include <float.h>
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

/* Calls `check` with a context of each CPU backend in each precision. */
static void on_each_cpu_backend(void (*check)(GpContext *c))
{
    for (size_t i = 0; i < gp_backend_count(); i++) {
        if (strncmp(gp_backend_name(i), "cpu/", 4) != 0) continue;
        for (int p = 0; p < 2; p++) {
            GpContext *c = NULL;
            check_ok(gp_context_create(&c, gp_backend_name(i), p ? GP_F32 : GP_F64, 0));
            check(c);
            gp_context_destroy(c);
        }
    }
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
    on_each_cpu_backend(check_co2);
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
    on_each_cpu_backend(check_sum_of_halves);
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
    on_each_cpu_backend(check_white);
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
    on_each_cpu_backend(check_linear);
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

/* Until their kernels are written, the CUDA backends say what they can do. */
static void a_backend_without_the_kernel_says_so(void **state)
{
    const GpData data = small_data();
    int asked = 0;
    (void)state;
    for (size_t i = 0; i < gp_backend_count(); i++) {
        GpContext *c = NULL;
        GpModel *m = NULL;
        if (strncmp(gp_backend_name(i), "cuda/", 5) != 0 || gp_backend_unavailable(gp_backend_name(i))) continue;
        check_ok(gp_context_create(&c, gp_backend_name(i), GP_F64, 0));
        GpKernel *k = kernel("matern32(1)", D);
        assert_int_equal(gp_fit(&m, c, k, &data, NULL), GP_UNAVAILABLE);
        assert_non_null(strstr(gp_message(), "rbf"));
        gp_kernel_destroy(k);
        gp_context_destroy(c);
        asked++;
    }
    if (!asked) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_co2_model_has_the_known_likelihood),
        cmocka_unit_test(a_sum_of_two_halves_is_the_whole),
        cmocka_unit_test(white_in_the_kernel_is_noise),
        cmocka_unit_test(a_linear_kernel_is_bayesian_linear_regression),
        cmocka_unit_test(parameters_can_be_read_and_set),
        cmocka_unit_test(a_wrong_text_gives_no_kernel),
        cmocka_unit_test(a_backend_without_the_kernel_says_so),
    };
    return cmocka_run_group_tests_name("composite", tests, NULL, NULL);
}
