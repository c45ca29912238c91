/* Fit and predict on every backend and precision that this machine can run. Reference values carry their source; everything else
 * is compared with a textbook implementation in long double at the end of the set-up part. Tolerances follow from the rounding
 * of the arithmetic under test, never from what was measured. */
#define _GNU_SOURCE
#include "common/random.h"
#include "gp/backend.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ---- set-up: one target is a backend and a precision ---- */

typedef struct {
    const char *backend;
    GpPrecision precision;
    GpContext *context;
} Target;

static int begin(void **state)
{
    Target *t = *state;
    t->context = NULL;
    if (gp_backend_unavailable(t->backend)) return 0;
    return gp_context_create(&t->context, t->backend, t->precision, 0) == GP_OK ? 0 : -1;
}

static int end(void **state)
{
    Target *t = *state;
    gp_context_destroy(t->context);
    return 0;
}

static GpContext *context_or_skip(void **state)
{
    const Target *t = *state;
    if (!t->context) {
        print_message("%s: %s\n", t->backend, gp_backend_unavailable(t->backend));
        skip();
    }
    return t->context;
}

static double eps_of(const GpContext *c) { return gp_context_precision(c) == GP_F64 ? DBL_EPSILON : (double)FLT_EPSILON; }

static void check_ok(GpStatus status)
{
    if (status != GP_OK) fail_msg("status %d: %s", (int)status, gp_message());
}

static void check_refused(GpStatus status, GpStatus expected, const char *says)
{
    if (status != expected) fail_msg("status %d (%s), expected %d", (int)status, gp_message(), (int)expected);
    if (!strstr(gp_message(), says)) fail_msg("\"%s\" lacks \"%s\"", gp_message(), says);
}

static void check_near(const char *what, size_t i, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%s[%zu] is %.17g, expected %.17g +- %.3g", what, i, got, expected, tolerance);
}

static GpKernel *rbf(double variance, double length, size_t d)
{
    double lengths[GP_MAX_DIMENSIONS];
    GpKernel *k = NULL;
    for (size_t j = 0; j < d; j++) lengths[j] = length;
    check_ok(gp_kernel_rbf(&k, variance, lengths, d));
    return k;
}

static GpFitOptions with_noise(const GpContext *c, double noise)
{
    GpFitOptions o = gp_fit_defaults(gp_context_precision(c));
    o.noise_variance = noise;
    return o;
}

/* Fits with an isotropic kernel; the data is packed (ldx = n). */
static GpModel *fitted(GpContext *c, double variance, double length, double noise, size_t n, size_t d, const double *x, const double *y)
{
    const GpData data = { .n = n, .d = d, .x = x, .ldx = n, .y = y };
    const GpFitOptions o = with_noise(c, noise);
    GpKernel *k = rbf(variance, length, d);
    GpModel *m = NULL;
    check_ok(gp_fit(&m, c, k, &data, &o));
    gp_kernel_destroy(k);
    return m;
}

/* ---- the textbook in long double ---- */

enum { MOST = 64 };

typedef struct {
    size_t n, d;
    const double *x;
    double variance, length;
    long double L[MOST][MOST], alpha[MOST];
    long double lml, alpha_norm, inverse_trace;
} Textbook;

static long double covariance(const Textbook *t, const double *a, size_t lda, const double *b, size_t ldb)
{
    long double sum = 0;
    for (size_t j = 0; j < t->d; j++) {
        const long double difference = ((long double)a[j * lda] - (long double)b[j * ldb]) / (long double)t->length;
        sum += difference * difference;
    }
    return (long double)t->variance * expl(-sum / 2);
}

static void forward(const Textbook *t, long double *b)
{
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= t->L[i][k] * b[k];
        b[i] /= t->L[i][i];
    }
}

static void backward(const Textbook *t, long double *b)
{
    for (size_t i = t->n; i-- > 0;) {
        for (size_t k = i + 1; k < t->n; k++) b[i] -= t->L[k][i] * b[k];
        b[i] /= t->L[i][i];
    }
}

static long double norm(size_t n, const long double *v)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrtl(sum);
}

static void textbook_fit(Textbook *t, const double *y, double noise)
{
    for (size_t i = 0; i < t->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double sum = covariance(t, t->x + i, t->n, t->x + j, t->n) + (i == j ? (long double)noise : 0);
            for (size_t k = 0; k < j; k++) sum -= t->L[i][k] * t->L[j][k];
            assert_true(i != j || sum > 0);
            t->L[i][j] = i == j ? sqrtl(sum) : sum / t->L[j][j];
        }
        t->alpha[i] = (long double)y[i];
    }
    forward(t, t->alpha);
    backward(t, t->alpha);
    t->lml = -0.5L * (long double)t->n * logl(2 * acosl(-1));
    t->inverse_trace = 0;
    for (size_t i = 0; i < t->n; i++) {
        long double column[MOST] = { 0 };
        column[i] = 1;
        forward(t, column);
        t->inverse_trace += norm(t->n, column) * norm(t->n, column);
        t->lml -= 0.5L * (long double)y[i] * t->alpha[i] + logl(t->L[i][i]);
    }
    t->alpha_norm = norm(t->n, t->alpha);
}

typedef struct {
    long double mean, variance, weight_norm, k_norm;
} Prediction;

static Prediction textbook_predict(const Textbook *t, const double *z, size_t ldz)
{
    long double k[MOST];
    Prediction p = { 0 };
    for (size_t i = 0; i < t->n; i++) {
        k[i] = covariance(t, t->x + i, t->n, z, ldz);
        p.mean += k[i] * t->alpha[i];
    }
    p.k_norm = norm(t->n, k);
    forward(t, k);
    p.variance = (long double)t->variance - norm(t->n, k) * norm(t->n, k);
    backward(t, k);
    p.weight_norm = norm(t->n, k); /* |K^-1 k| */
    return p;
}

/* ---- reference values ---- */

static const double six_x[] = { 1, 3, 5, 6, 7, 8 };

static void six_y(double *y)
{
    for (size_t i = 0; i < 6; i++) y[i] = six_x[i] * sin(six_x[i]);
}

/* 50-digit arithmetic; RBF of length 1 and variance 1, noise 1e-10. K is harmless: its condition number is about 20. */
static void agrees_with_50_digit_arithmetic(void **state)
{
    const double z[] = { 2, 4, 5.5, 6.5, 7.5 };
    const double means[] = { .985493274003, -2.442461146746, -3.933740392872, 1.398022255575, 7.070098171605 };
    const double deviations[] = { .587858384164, .512837177729, .118765690812, .098795554059, .122027109387 };
    GpContext *c = context_or_skip(state);
    const double tolerance = 200 * eps_of(c) + 1e-12; /* the means have 12 digits behind the point */
    double y[6], mean[5], variance[5], lml;
    size_t clamped = 7;
    six_y(y);
    GpModel *m = fitted(c, 1, 1, 1e-10, 6, 1, six_x, y);
    check_ok(gp_log_marginal_likelihood(m, &lml));
    check_near("log marginal likelihood", 0, lml, -48.880209957440363599, 50 * tolerance);
    check_ok(gp_predict(m, 5, z, 5, mean, variance, &clamped));
    for (size_t i = 0; i < 5; i++) {
        check_near("mean", i, mean[i], means[i], 10 * tolerance);
        check_near("std", i, sqrt(variance[i]), deviations[i], tolerance / deviations[i]);
    }
    assert_int_equal(clamped, 0);
    assert_true(gp_model_jitter(m) == 0);
    gp_model_destroy(m);
}

/* 100 points over 4 pi, variance 3.19, length 1.47, no noise: reference LAPACK stops at row 8 (from 0). In 60 digits the pivots of rows 6
 * to 12 are 1e-10, 6e-12, 3e-13, 2e-14, 2e-15, 1e-16 and 1e-17 of the variance. Up to row 6 no rounding of float64 can make one negative;
 * from row 11 on the pivot is rounding alone, negative in one of two rows, so that with 14 more rows no order of sums (another BLAS, a GPU)
 * is still lucky. The nearest duplicate is always the row before. */
static void check_stops_where_rounding_begins(int exactly_known)
{
    int row = -1, duplicate = -1;
    const char *at = strstr(gp_message(), "at row "), *nearest = strstr(gp_message(), "duplicate is row ");
    assert_non_null(at);
    assert_non_null(nearest);
    assert_int_equal(sscanf(at, "at row %d", &row), 1);
    assert_int_equal(sscanf(nearest, "duplicate is row %d", &duplicate), 1);
    assert_int_equal(duplicate, row - 1);
    if (exactly_known) assert_in_range(row, 7, 25);
    assert_non_null(strstr(nearest, "0.0863"));
}

static void a_smooth_kernel_without_noise_needs_a_little_jitter(void **state)
{
    GpContext *c = context_or_skip(state);
    double x[100], y[100], mean[100], variance[100];
    for (size_t i = 0; i < 100; i++) {
        x[i] = 4 * acos(-1) * (double)i / 99;
        y[i] = sin(x[i]);
    }
    const GpData data = { .n = 100, .d = 1, .x = x, .ldx = 100, .y = y };
    GpFitOptions strict = with_noise(c, 0);
    strict.max_jitter = 0;
    GpKernel *k = rbf(3.19, 1.47, 1);
    GpModel *m = (GpModel *)&data;
    const GpStatus status = gp_fit(&m, c, k, &data, &strict);
    check_refused(status, GP_NOT_POSITIVE_DEFINITE, "at row ");
    assert_null(m);
    check_stops_where_rounding_begins(gp_context_precision(c) == GP_F64);

    m = fitted(c, 3.19, 1.47, 0, 100, 1, x, y);
    const double relative = gp_model_jitter(m) / 3.19;
    if (!(relative >= 9.9 * eps_of(c) && relative <= 1001 * eps_of(c))) fail_msg("relative jitter %g", relative);
    check_ok(gp_predict(m, 100, x, 100, mean, variance, NULL));
    for (size_t i = 0; i < 100; i++) check_near("mean", i, mean[i], y[i], 1e-2);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

/* Two points that the kernel cannot tell apart share the noise: variance 1e-10 / 2, a deviation of 7.07e-6. */
static void two_indistinguishable_points_share_the_noise(void **state)
{
    const double x[] = { 1, 2, 2, 2 }, y[] = { 0, 0 };
    const GpData data = { .n = 2, .d = 2, .x = x, .ldx = 2, .y = y };
    GpContext *c = context_or_skip(state);
    GpFitOptions o = with_noise(c, 1e-10);
    GpKernel *k = rbf(1, 1e9, 2);
    GpModel *m = NULL;
    double mean[2], variance[2];
    o.normalise_y = 1;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_predict(m, 2, x, 2, mean, variance, NULL));
    const double jitter = gp_model_jitter(m); /* float32 can't add 1e-10 to 1 */
    assert_true(gp_context_precision(c) == GP_F64 ? jitter == 0 : jitter > 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(mean[i] == 0);
        check_near("variance", i, variance[i], (1e-10 + jitter) / 2, 4 * eps_of(c));
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

/* ---- identities ---- */

static void copies_of_a_point_equal_their_mean_with_less_noise(void **state)
{
    enum { POINTS = 5, COPIES = 3, N = POINTS * COPIES };
    GpContext *c = context_or_skip(state);
    double x[POINTS], y[POINTS] = { 0 }, many_x[N], many_y[N], z[9], mean[9], variance[9], many_mean[9], many_variance[9];
    for (size_t i = 0; i < N; i++) {
        x[i % POINTS] = many_x[i] = (double)(i % POINTS) * 0.75;
        many_y[i] = random_normal(11, 0, i);
        y[i % POINTS] += many_y[i] / COPIES;
    }
    for (size_t i = 0; i < 9; i++) z[i] = 0.5 * (double)i - 0.3;
    GpModel *few = fitted(c, 1.5, 1, 0.3 / COPIES, POINTS, 1, x, y), *many = fitted(c, 1.5, 1, 0.3, N, 1, many_x, many_y);
    check_ok(gp_predict(few, 9, z, 9, mean, variance, NULL));
    check_ok(gp_predict(many, 9, z, 9, many_mean, many_variance, NULL));
    for (size_t i = 0; i < 9; i++) {
        check_near("mean", i, many_mean[i], mean[i], 500 * eps_of(c));
        check_near("variance", i, many_variance[i], variance[i], 500 * eps_of(c));
    }
    gp_model_destroy(few);
    gp_model_destroy(many);
}

static void predict_returns_the_prior_far_from_data(void **state)
{
    const double z[] = { 1e3, -1e6, 1e300 };
    GpContext *c = context_or_skip(state);
    double y[6], mean[3], variance[3];
    six_y(y);
    GpModel *m = fitted(c, 2.25, 1, 1e-2, 6, 1, six_x, y);
    check_ok(gp_predict(m, 3, z, 3, mean, variance, NULL));
    for (size_t i = 0; i < 3; i++) assert_true(mean[i] == 0 && variance[i] == 2.25);
    gp_model_destroy(m);
}

static void normalised_predictions_return_to_the_mean_of_y(void **state)
{
    const double y[] = { 101, 102, 100, 104, 98, 95 }, far = 1e3; /* mean 100, variance 50/6 */
    const GpData data = { .n = 6, .d = 1, .x = six_x, .ldx = 6, .y = y };
    GpContext *c = context_or_skip(state);
    GpFitOptions o = with_noise(c, 1e-2);
    GpKernel *k = rbf(1, 1, 1);
    GpModel *m = NULL;
    double mean, variance;
    o.normalise_y = 1;
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_predict(m, 1, &far, 1, &mean, &variance, NULL));
    check_near("mean", 0, mean, 100, 1e-12);
    check_near("variance", 0, variance, 50.0 / 6, 1e-13);
    gp_model_destroy(m);
    gp_kernel_destroy(k);
}

/* Only distances count, and they are taken of centred data. */
static void an_offset_of_x_changes_nothing(void **state)
{
    GpContext *c = context_or_skip(state);
    double y[6], x[6], mean, variance, moved_mean, moved_variance;
    const double z = 4.25, offset = 0x1p40, moved_z = z + offset; /* exact sums; in float32, all points would be equal */
    six_y(y);
    for (size_t i = 0; i < 6; i++) x[i] = six_x[i] + offset;
    GpModel *m = fitted(c, 1, 1, 1e-6, 6, 1, six_x, y), *moved = fitted(c, 1, 1, 1e-6, 6, 1, x, y);
    check_ok(gp_predict(m, 1, &z, 1, &mean, &variance, NULL));
    check_ok(gp_predict(moved, 1, &moved_z, 1, &moved_mean, &moved_variance, NULL));
    check_near("mean", 0, moved_mean, mean, 2000 * eps_of(c));
    check_near("variance", 0, moved_variance, variance, 200 * eps_of(c));
    gp_model_destroy(m);
    gp_model_destroy(moved);
}

/* Units do not matter: x and lengths in other units change nothing, y scales the mean and the variance. */
static void units_from_1e_minus_8_to_1e8_change_nothing(void **state)
{
    const double scales[] = { 1e-8, 1, 1e8 };
    GpContext *c = context_or_skip(state);
    double y[6], expected_mean, expected_variance, z = 4.25;
    six_y(y);
    GpModel *m = fitted(c, 1, 1, 1e-4, 6, 1, six_x, y);
    check_ok(gp_predict(m, 1, &z, 1, &expected_mean, &expected_variance, NULL));
    gp_model_destroy(m);
    for (size_t a = 0; a < 3; a++) {
        for (size_t b = 0; b < 3; b++) {
            const double sx = scales[a], sy = scales[b], scaled_z = z * sx;
            double x[6], scaled_y[6], mean, variance;
            for (size_t i = 0; i < 6; i++) {
                x[i] = six_x[i] * sx;
                scaled_y[i] = y[i] * sy;
            }
            m = fitted(c, sy * sy, sx, 1e-4 * sy * sy, 6, 1, x, scaled_y);
            assert_true(gp_model_jitter(m) == 0);
            check_ok(gp_predict(m, 1, &scaled_z, 1, &mean, &variance, NULL));
            check_near("mean", 3 * a + b, mean / sy, expected_mean, 2000 * eps_of(c));
            check_near("variance", 3 * a + b, variance / (sy * sy), expected_variance, 200 * eps_of(c));
            gp_model_destroy(m);
        }
    }
}

static void chunks_and_leading_dimensions_change_nothing(void **state)
{
    enum { N = 3, COUNT = 9001, LD = 9050 }; /* three chunks of at most 4,096 */
    const double x[] = { 0.1, 0.5, 0.8, 0, -1, -99, 0.3, 0.4, 0.9, 0, -1, -99 }, y[] = { 1, -2, 3 };
    const GpData data = { .n = N, .d = 2, .x = x, .ldx = 6, .y = y };
    GpContext *c = context_or_skip(state);
    const GpFitOptions o = with_noise(c, 0.01);
    GpKernel *k = rbf(1, 0.5, 2);
    GpModel *m = NULL;
    double *z = malloc(2 * LD * sizeof *z), *mean = malloc(COUNT * sizeof *mean), *variance = malloc(COUNT * sizeof *variance);
    assert_true(z && mean && variance);
    random_fill_f64(z, 2 * LD, 5, 0, 0, 1);
    check_ok(gp_fit(&m, c, k, &data, &o));
    check_ok(gp_predict(m, COUNT, z, LD, mean, variance, NULL));
    for (size_t i = 0; i < COUNT; i += 500) {
        const double point[] = { z[i], z[i + LD] };
        double one_mean, one_variance, only_mean;
        check_ok(gp_predict(m, 1, point, 1, &one_mean, &one_variance, NULL));
        check_ok(gp_predict(m, 1, point, 1, &only_mean, NULL, NULL));
        check_near("mean", i, mean[i], one_mean, 100 * eps_of(c));
        check_near("mean without variance", i, only_mean, one_mean, 0);
        check_near("variance", i, variance[i], one_variance, 100 * eps_of(c));
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    free(z);
    free(mean);
    free(variance);
}

/* ---- against long double, from easy to terrible ---- */

/* First-order perturbation: the arithmetic factors K + E with |E| <= n (d + 8) eps variance (as in model.c), and every answer
 * moves by E times what the textbook knows exactly: |alpha|, |K^-1 k|, trace K^-1. Where E could make K singular, that says nothing;
 * then only the failure contract is checked. */
static void compare_with_textbook(GpContext *c, size_t n, size_t d, double length, double noise)
{
    static Textbook t;
    double x[MOST * 4], y[MOST], z[20 * 4], mean[20], variance[20], lml;
    const double v = 2;
    random_fill_f64(x, n * d, 3, n, 0, 1);
    random_fill_f64(z, 20 * d, 4, n, -0.2, 1.2);
    for (size_t i = 0; i < n; i++) y[i] = sin(5 * x[i]) + random_normal(6, n, i) * sqrt(noise);
    GpModel *m = fitted(c, v, length, noise, n, d, x, y);
    const double added = noise + gp_model_jitter(m);
    t = (Textbook){ .n = n, .d = d, .x = x, .variance = v, .length = length };
    textbook_fit(&t, y, added);
    const double perturbation = (double)n * (double)(d + 8) * eps_of(c) * v;
    const int meaningful = perturbation < 0.5 * added;
    check_ok(gp_log_marginal_likelihood(m, &lml));
    assert_true(isfinite(lml));
    if (meaningful)
        check_near("log marginal likelihood", n, lml, (double)t.lml,
                   perturbation * (double)(t.alpha_norm * t.alpha_norm + t.inverse_trace) + eps_of(c) * fabs((double)t.lml));
    check_ok(gp_predict(m, 20, z, 20, mean, variance, NULL));
    for (size_t i = 0; i < 20; i++) {
        const Prediction p = textbook_predict(&t, z + i, 20);
        const double entry = (double)(d + 8) * eps_of(c) * (double)p.k_norm;
        assert_true(isfinite(mean[i]) && variance[i] >= 0 && variance[i] <= v);
        if (!meaningful) continue;
        check_near("mean", i, mean[i], (double)p.mean, (perturbation * (double)p.weight_norm + entry) * (double)t.alpha_norm);
        check_near("variance", i, variance[i], (double)p.variance,
                   (perturbation * (double)p.weight_norm + 2 * entry) * (double)p.weight_norm + 4 * eps_of(c) * v);
    }
    gp_model_destroy(m);
}

static void agrees_with_the_textbook_from_easy_to_terrible(void **state)
{
    const double lengths[] = { 0.3, 1, 3 }, noises[] = { 1, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10 };
    const size_t sizes[] = { 1, 2, 17, 64 }, dimensions[] = { 1, 3, 4 };
    GpContext *c = context_or_skip(state);
    for (size_t n = 0; n < 4; n++)
        for (size_t d = 0; d < 3; d++)
            for (size_t l = 0; l < 3; l++)
                for (size_t s = 0; s < 7; s++) compare_with_textbook(c, sizes[n], dimensions[d], lengths[l], noises[s]);
}

/* The blocked factors and solves of the faster backends only begin beyond a few hundred points. */
static void agrees_with_cpu_naive_beyond_one_block(void **state)
{
    enum { N = 1100, D = 3, M = 300 };
    GpContext *c = context_or_skip(state), *naive = NULL;
    double *x = malloc(N * D * sizeof *x), *y = malloc(N * sizeof *y), *z = malloc(M * D * sizeof *z), *out = malloc(4 * M * sizeof *out);
    double lml, naive_lml;
    assert_true(x && y && z && out);
    check_ok(gp_context_create(&naive, "cpu/naive", GP_F64, 0));
    random_fill_f64(x, N * D, 21, 0, 0, 3);
    random_fill_f64(z, M * D, 21, 1, 0, 3);
    for (size_t i = 0; i < N; i++) y[i] = sin(x[i]) + random_normal(21, 2, i) * 0.3;
    GpModel *m = fitted(c, 1, 1, 0.1, N, D, x, y), *reference = fitted(naive, 1, 1, 0.1, N, D, x, y);
    check_ok(gp_predict(m, M, z, M, out, out + M, NULL));
    check_ok(gp_predict(reference, M, z, M, out + 2 * M, out + 3 * M, NULL));
    for (size_t i = 0; i < M; i++) {
        check_near("mean", i, out[i], out[i + 2 * M], 10 * N * eps_of(c));
        check_near("variance", i, out[i + M], out[i + 3 * M], 10 * N * eps_of(c));
    }
    check_ok(gp_log_marginal_likelihood(m, &lml));
    check_ok(gp_log_marginal_likelihood(reference, &naive_lml));
    check_near("log marginal likelihood", 0, lml, naive_lml, N * eps_of(c) * fabs(naive_lml));
    gp_model_destroy(m);
    gp_model_destroy(reference);
    gp_context_destroy(naive);
    free(x);
    free(y);
    free(z);
    free(out);
}

/* ---- degenerate but legal ---- */

/* k = 2, noise 0.5: mean 2 / 2.5 y, variance 2 - 4 / 2.5. */
static void one_point_works(void **state)
{
    const double x = 3, y = 5;
    GpContext *c = context_or_skip(state);
    double mean, variance, lml;
    GpModel *m = fitted(c, 2, 1, 0.5, 1, 1, &x, &y);
    check_ok(gp_predict(m, 1, &x, 1, &mean, &variance, NULL));
    check_near("mean", 0, mean, 4, 20 * eps_of(c));
    check_near("variance", 0, variance, 0.4, 10 * eps_of(c));
    check_ok(gp_log_marginal_likelihood(m, &lml));
    check_near("log marginal likelihood", 0, lml, -0.5 * (25 / 2.5 + log(2.5) + log(2 * acos(-1))), 50 * eps_of(c));
    gp_model_destroy(m);
}

static void no_points_to_predict_is_fine(void **state)
{
    GpContext *c = context_or_skip(state);
    double y[6];
    size_t clamped = 7;
    six_y(y);
    GpModel *m = fitted(c, 1, 1, 0.1, 6, 1, six_x, y);
    check_ok(gp_predict(m, 0, NULL, 0, NULL, NULL, &clamped));
    assert_int_equal(clamped, 0);
    gp_model_destroy(m);
}

/* 0.1 summed six times and divided by 6 is not 0.1: the deviation must not be that rounding. */
static void a_constant_y_is_not_scaled(void **state)
{
    const double constants[] = { 0, 0.1, -3e8, 1e-8 };
    GpContext *c = context_or_skip(state);
    GpKernel *k = rbf(1, 1, 1);
    for (size_t s = 0; s < 4; s++) {
        const double z[] = { 4, 1e3 };
        double y[6], mean[2], variance[2];
        const GpData data = { .n = 6, .d = 1, .x = six_x, .ldx = 6, .y = y };
        GpFitOptions o = with_noise(c, 0.01);
        GpModel *m = NULL;
        o.normalise_y = 1;
        for (size_t i = 0; i < 6; i++) y[i] = constants[s];
        check_ok(gp_fit(&m, c, k, &data, &o));
        check_ok(gp_predict(m, 2, z, 2, mean, variance, NULL));
        assert_true(mean[0] == constants[s] && mean[1] == constants[s]);
        assert_true(variance[1] == 1);
        gp_model_destroy(m);
    }
    gp_kernel_destroy(k);
}

/* Three equal columns and no noise: jitter, reported, and no NaN. */
static void equal_columns_and_rows_need_jitter_and_give_numbers(void **state)
{
    enum { N = 200 };
    GpContext *c = context_or_skip(state);
    double x[3 * N], y[N], mean[N], variance[N], lml;
    size_t clamped;
    for (size_t i = 0; i < N; i++) {
        x[i] = x[i + N] = x[i + 2 * N] = random_uniform(9, 0, i % 190); /* the last ten rows repeat the first ten */
        y[i] = sin(6 * x[i]);
    }
    GpModel *m = fitted(c, 1, 1, 0, N, 3, x, y);
    const double relative = gp_model_jitter(m);
    assert_true(relative >= 9.9 * eps_of(c) && relative <= gp_fit_defaults(gp_context_precision(c)).max_jitter);
    check_ok(gp_predict(m, N, x, N, mean, variance, &clamped));
    check_ok(gp_log_marginal_likelihood(m, &lml));
    assert_true(isfinite(lml) && clamped <= N);
    for (size_t i = 0; i < N; i++) {
        check_near("mean", i, mean[i], y[i], 1e-2);
        assert_true(variance[i] >= 0 && variance[i] <= 1e-2);
    }
    gp_model_destroy(m);
}

static void a_duplicate_is_named_when_jitter_is_forbidden(void **state)
{
    const double x[] = { 0, 10, 20, 30, 10 }, y[] = { 1, 2, 3, 4, 5 };
    const GpData data = { .n = 5, .d = 1, .x = x, .ldx = 5, .y = y };
    GpContext *c = context_or_skip(state);
    GpFitOptions strict = with_noise(c, 0);
    GpKernel *k = rbf(1, 1, 1);
    GpModel *m = (GpModel *)&data;
    strict.max_jitter = 0;
    check_refused(gp_fit(&m, c, k, &data, &strict), GP_NOT_POSITIVE_DEFINITE, "at row 4 (from 0)");
    assert_null(m);
    assert_non_null(strstr(gp_message(), "nearest duplicate is row 1, 0 length scales away"));
    gp_kernel_destroy(k);
}

static void jitter_never_exceeds_its_limit(void **state)
{
    const double x[] = { 1, 1 }, y[] = { 1, 1 };
    const GpData data = { .n = 2, .d = 1, .x = x, .ldx = 2, .y = y };
    GpContext *c = context_or_skip(state);
    GpFitOptions o = with_noise(c, 0);
    GpKernel *k = rbf(4, 1, 1);
    GpModel *m = NULL;
    o.max_jitter = 3 * eps_of(c); /* less than the first step: it is the only one tried */
    check_ok(gp_fit(&m, c, k, &data, &o));
    assert_true(gp_model_jitter(m) == 4 * o.max_jitter);
    gp_model_destroy(m);
    o.max_jitter = eps_of(c) / 16; /* too little to change the diagonal */
    check_refused(gp_fit(&m, c, k, &data, &o), GP_NOT_POSITIVE_DEFINITE, "duplicate is row 0");
    gp_kernel_destroy(k);
}

/* ---- refused ---- */

static void values_that_are_not_finite_are_refused_with_their_index(void **state)
{
    const double bad[] = { NAN, INFINITY, -INFINITY };
    GpContext *c = context_or_skip(state);
    GpKernel *k = rbf(1, 1, 2);
    for (size_t b = 0; b < 3; b++) {
        double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, y[] = { 1, 2, 3, 4, 5, 6 }, mean[6];
        const GpData data = { .n = 6, .d = 2, .x = x, .ldx = 6, .y = y };
        const GpFitOptions o = with_noise(c, 0.1);
        GpModel *m = NULL;
        check_ok(gp_fit(&m, c, k, &data, &o));
        x[6 + 3] = bad[b];
        check_refused(gp_predict(m, 6, x, 6, mean, NULL, NULL), GP_BAD_DATA, "row 3, column 1");
        gp_model_destroy(m);
        check_refused(gp_fit(&m, c, k, &data, &o), GP_BAD_DATA, "row 3, column 1");
        assert_null(m);
        x[6 + 3] = 10;
        for (size_t i = 4; i < 6; i++) y[i] = bad[b];
        check_refused(gp_fit(&m, c, k, &data, &o), GP_BAD_DATA, "y[4]");
        assert_null(m);
    }
    gp_kernel_destroy(k);
}

static void bad_arguments_are_refused_by_name(void **state)
{
    const double x[12] = { 0, 1, 2, 3, 4, 5 }, y[6] = { 0 };
    GpContext *c = context_or_skip(state);
    const GpFitOptions fine = with_noise(c, 0.1);
    GpFitOptions negative = fine, not_a_number = fine, bad_jitter = fine;
    negative.noise_variance = -1;
    not_a_number.noise_variance = NAN;
    bad_jitter.max_jitter = INFINITY;
    const struct {
        GpData data;
        const GpFitOptions *options;
        const char *says;
    } cases[] = {
        { { 0, 1, x, 6, y, NULL, 1 }, &fine, "n is 0" },
        { { 6, 0, x, 6, y, NULL, 1 }, &fine, "d is 0" },
        { { 6, 2, x, 6, y, NULL, 1 }, &fine, "2 dimensions and the kernel 1" },
        { { 6, GP_MAX_DIMENSIONS + 1, x, 6, y, NULL, 1 }, &fine, "from 1 to 64" },
        { { 6, 1, x, 5, y, NULL, 1 }, &fine, "ldx is 5, less than n = 6" },
        { { 6, 1, NULL, 6, y, NULL, 1 }, &fine, "x is NULL" },
        { { 6, 1, x, 6, NULL, NULL, 1 }, &fine, "y is NULL" },
        { { 6, 1, x, 6, y, NULL, 1 }, &negative, "noise_variance is -1" },
        { { 6, 1, x, 6, y, NULL, 1 }, &not_a_number, "noise_variance is nan" },
        { { 6, 1, x, 6, y, NULL, 1 }, &bad_jitter, "max_jitter is inf" },
    };
    GpKernel *k = rbf(1, 1, 1);
    GpModel *m = (GpModel *)&cases;
    double mean[6];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_refused(gp_fit(&m, c, k, &cases[i].data, cases[i].options), GP_BAD_ARGUMENT, cases[i].says);
        assert_null(m);
    }
    check_refused(gp_fit(&m, NULL, k, &cases[7].data, &fine), GP_BAD_ARGUMENT, "NULL");
    check_refused(gp_fit(&m, c, NULL, &cases[7].data, &fine), GP_BAD_ARGUMENT, "NULL");
    check_refused(gp_fit(&m, c, k, NULL, &fine), GP_BAD_ARGUMENT, "NULL");
    m = fitted(c, 1, 1, 0.1, 6, 1, x, y);
    check_refused(gp_predict(m, 6, x, 5, mean, NULL, NULL), GP_BAD_ARGUMENT, "ldx is 5, less than count = 6");
    check_refused(gp_predict(m, 6, NULL, 6, mean, NULL, NULL), GP_BAD_ARGUMENT, "x is NULL");
    check_refused(gp_predict(m, 6, x, 6, NULL, NULL, NULL), GP_BAD_ARGUMENT, "mean is NULL");
    check_refused(gp_log_marginal_likelihood(m, NULL), GP_BAD_ARGUMENT, "NULL");
    gp_model_destroy(m);
    gp_model_destroy(NULL);
    gp_kernel_destroy(k);
}

/* What the precision can't hold is refused instead of becoming 0, infinity or NaN. */
static void values_beyond_the_precision_are_refused(void **state)
{
    const struct {
        GpPrecision precision;
        double variance, length, noise, y;
        GpStatus status;
        const char *says;
    } cases[] = {
        { GP_F32, 1e39, 1, 0, 1, GP_BAD_ARGUMENT, "constant = 1e+39" },
        { GP_F32, 1e-39, 1, 0, 1, GP_BAD_ARGUMENT, "constant = 1e-39" },
        { GP_F32, 1, 1, 1e39, 1, GP_BAD_ARGUMENT, "noise 1e+39" },
        { GP_F32, 1, 1e39, 0, 1, GP_BAD_ARGUMENT, "rbf.length = 1e+39" },
        { GP_F32, 1, 1e-39, 0, 1, GP_BAD_ARGUMENT, "rbf.length = 1e-39" },
        { GP_F32, 1, 1, 0, 1e39, GP_BAD_DATA, "y[0] = 1e+39" },
        { GP_F64, 1e308, 1, 1e308, 1, GP_BAD_ARGUMENT, "noise 1e+308" },
        { GP_F64, 1e-309, 1, 0, 1, GP_BAD_ARGUMENT, "constant = 1e-309" },
        { GP_F64, 1, 1e308, 0, 1, GP_BAD_ARGUMENT, "rbf.length = 1e+308" },
    };
    GpContext *c = context_or_skip(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].precision != gp_context_precision(c)) continue;
        const double x = 1;
        const GpData data = { .n = 1, .d = 1, .x = &x, .ldx = 1, .y = &cases[i].y };
        const GpFitOptions o = with_noise(c, cases[i].noise);
        GpKernel *k = rbf(cases[i].variance, cases[i].length, 1);
        GpModel *m = NULL;
        check_refused(gp_fit(&m, c, k, &data, &o), cases[i].status, cases[i].says);
        assert_null(m);
        gp_kernel_destroy(k);
    }
}

static void weights_that_overflow_are_refused(void **state)
{
    GpContext *c = context_or_skip(state);
    const double x = 1, y = gp_context_precision(c) == GP_F64 ? 1e300 : 1e30;
    const double variance = gp_context_precision(c) == GP_F64 ? 1e-20 : 1e-12;
    const GpData data = { .n = 1, .d = 1, .x = &x, .ldx = 1, .y = &y };
    GpKernel *k = rbf(variance, 1, 1);
    GpModel *m = NULL;
    check_refused(gp_fit(&m, c, k, &data, NULL), GP_BAD_DATA, "weight 0 overflows");
    assert_null(m);
    gp_kernel_destroy(k);
}

/* x and y hold one number each: refused before they are read. */
static void sizes_that_do_not_fit_are_refused_before_anything_is_touched(void **state)
{
    const size_t sizes[] = { (size_t)100 * 1000 * 1000, (size_t)1 << 32, SIZE_MAX / 2, SIZE_MAX };
    const double one = 1;
    GpContext *c = context_or_skip(state);
    GpKernel *k = rbf(1, 1, 1);
    size_t available = 0;
    check_ok(c->backend->memory_free(c, &available));
    if (available == 0) skip(); /* a system that doesn't say how much is free */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const GpData data = { .n = sizes[i], .d = 1, .x = &one, .ldx = SIZE_MAX, .y = &one };
        GpModel *m = NULL;
        check_refused(gp_fit(&m, c, k, &data, NULL), GP_NO_MEMORY, "the largest n that fits is ");
        assert_null(m);
    }
    gp_kernel_destroy(k);
}

static void the_largest_n_is_the_largest_that_fits(void **state)
{
    GpContext *c = context_or_skip(state);
    const size_t bytes[] = { 0, 1000, 1000 * 1000, (size_t)1 << 30, (size_t)1 << 40 };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const size_t n = gp_largest_n(c, 8, bytes[i]);
        assert_true(n == 0 || gp_memory_needed(c, n, 8) <= bytes[i]);
        assert_true(gp_memory_needed(c, n + 1, 8) > bytes[i]);
    }
    assert_true(gp_memory_needed(c, 50000, 8) >= (size_t)50000 * 50000 * (gp_context_precision(c) == GP_F64 ? 8 : 4));
    assert_true(gp_memory_needed(c, (size_t)1 << 32, 8) == SIZE_MAX); /* n^2 is 2^64: it wraps to 0 */
    assert_true(gp_memory_needed(c, SIZE_MAX, 8) == SIZE_MAX);
}

/* Three columns at the largest leading dimension: element 2 * ld has an index beyond 32 bits. The pages between are never touched. */
static void a_matrix_beyond_32_bit_indices_is_addressed(void **state)
{
    enum { N = 3 };
    GpContext *c = context_or_skip(state);
    const int wide = gp_context_precision(c) == GP_F64;
    const size_t size = wide ? sizeof(double) : sizeof(float), lds[] = { N, INT_MAX }, bytes = (2 * lds[1] + N) * size;
    const double length = 1;
    GpExpression k;
    double x[N] = { 0, 1, 2.5 }, packed[N] = { 0 }, factor[2][N * N] = { { 0 } }, solved[2][N];
    size_t failed_row = 7;
    if (strncmp(((Target *)*state)->backend, "cpu/", 4) != 0) skip(); /* device memory has no untouched pages */
    char *K = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (K == MAP_FAILED) skip();
    check_ok(gp_expression_rbf(&k, 1, &length, 1));
    for (size_t t = 0; t < 2; t++) {
        double b[N] = { 1, 2, 3 };
        check_ok(c->backend->upload(c, packed, x, N));
        check_ok(c->backend->covariance(c, &k, N, packed, 0.1, GP_FULL, K, lds[t]));
        check_ok(c->backend->factor(c, N, K, lds[t], &failed_row));
        assert_int_equal(failed_row, 0);
        check_ok(c->backend->upload(c, packed, b, N));
        check_ok(c->backend->solve(c, N, K, lds[t], 1, 1, packed, N));
        check_ok(c->backend->download(c, solved[t], packed, N));
        for (size_t j = 0; j < N; j++) check_ok(c->backend->download(c, factor[t] + j * N, K + j * lds[t] * size, N));
    }
    for (size_t i = 0; i < N; i++) check_near("solution", i, solved[1][i], solved[0][i], 0);
    for (size_t i = 0; i < N * N; i++) check_near("factor", i, factor[1][i], factor[0][i], 0);
    munmap(K, bytes);
}

/* ---- the variance's failure contract, on a backend that lies ---- */

static double lie;

static GpStatus lying_norms(GpContext *c, size_t n, size_t m, const void *C, size_t ldc, void *out)
{
    (void)n, (void)C, (void)ldc;
    for (size_t j = 0; j < m; j++) {
        if (gp_context_precision(c) == GP_F64) ((double *)out)[j] = j == 1 ? lie : 0.5;
        else ((float *)out)[j] = j == 1 ? (float)lie : 0.5f;
    }
    return GP_OK;
}

static void variances_below_zero_are_clamped_and_counted_or_refused(void **state)
{
    const struct {
        double explained;
        GpStatus status;
    } cases[] = {
        { 1, GP_OK },
        { 1 + 3 * 0x1p-23, GP_OK },
        { 1.1, GP_NOT_POSITIVE_DEFINITE },
        { NAN, GP_NOT_POSITIVE_DEFINITE },
    };
    Target naive = { "cpu/naive", ((Target *)*state)->precision, NULL };
    void *pointer = &naive;
    double y[6], mean[6], variance[6];
    assert_int_equal(begin(&pointer), 0);
    GpBackend liar = *naive.context->backend;
    const GpBackend *honest = naive.context->backend;
    liar.column_norms = lying_norms;
    naive.context->backend = &liar;
    six_y(y);
    /* float64 gets noise so small that rounding by 3 units of float32 is possible */
    GpModel *m = fitted(naive.context, 1, 1, naive.precision == GP_F64 ? 1e-8 : 0.1, 6, 1, six_x, y);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t clamped = 7;
        lie = cases[i].explained;
        const GpStatus status = gp_predict(m, 6, six_x, 6, mean, variance, &clamped);
        if (cases[i].status == GP_OK) {
            check_ok(status);
            assert_true(variance[1] == 0 && variance[0] == 0.5);
            assert_int_equal(clamped, lie > 1);
        } else {
            check_refused(status, cases[i].status, "point 1 ");
        }
    }
    gp_model_destroy(m);
    naive.context->backend = honest;
    end(&pointer);
}

/* ---- every test on every target ---- */

static const struct {
    const char *name;
    CMUnitTestFunction run;
} behaviours[] = {
#define BEHAVIOUR(f)                                                                                                                       \
    {                                                                                                                                      \
#f, f                                                                                                                              \
    }
    BEHAVIOUR(agrees_with_50_digit_arithmetic),
    BEHAVIOUR(a_smooth_kernel_without_noise_needs_a_little_jitter),
    BEHAVIOUR(two_indistinguishable_points_share_the_noise),
    BEHAVIOUR(copies_of_a_point_equal_their_mean_with_less_noise),
    BEHAVIOUR(predict_returns_the_prior_far_from_data),
    BEHAVIOUR(normalised_predictions_return_to_the_mean_of_y),
    BEHAVIOUR(an_offset_of_x_changes_nothing),
    BEHAVIOUR(units_from_1e_minus_8_to_1e8_change_nothing),
    BEHAVIOUR(chunks_and_leading_dimensions_change_nothing),
    BEHAVIOUR(agrees_with_the_textbook_from_easy_to_terrible),
    BEHAVIOUR(agrees_with_cpu_naive_beyond_one_block),
    BEHAVIOUR(one_point_works),
    BEHAVIOUR(no_points_to_predict_is_fine),
    BEHAVIOUR(a_constant_y_is_not_scaled),
    BEHAVIOUR(equal_columns_and_rows_need_jitter_and_give_numbers),
    BEHAVIOUR(a_duplicate_is_named_when_jitter_is_forbidden),
    BEHAVIOUR(jitter_never_exceeds_its_limit),
    BEHAVIOUR(values_that_are_not_finite_are_refused_with_their_index),
    BEHAVIOUR(bad_arguments_are_refused_by_name),
    BEHAVIOUR(values_beyond_the_precision_are_refused),
    BEHAVIOUR(weights_that_overflow_are_refused),
    BEHAVIOUR(sizes_that_do_not_fit_are_refused_before_anything_is_touched),
    BEHAVIOUR(the_largest_n_is_the_largest_that_fits),
    BEHAVIOUR(a_matrix_beyond_32_bit_indices_is_addressed),
    BEHAVIOUR(variances_below_zero_are_clamped_and_counted_or_refused),
};

enum { BEHAVIOURS = sizeof behaviours / sizeof *behaviours, MOST_TARGETS = 32 };

int main(void)
{
    static Target targets[MOST_TARGETS];
    static struct CMUnitTest tests[MOST_TARGETS * BEHAVIOURS];
    static char names[MOST_TARGETS * BEHAVIOURS][128];
    size_t count = 0;
    for (size_t t = 0; t < 2 * gp_backend_count() && t < MOST_TARGETS; t++) {
        targets[t] = (Target){ .backend = gp_backend_name(t / 2), .precision = t % 2 ? GP_F32 : GP_F64 };
        for (size_t b = 0; b < BEHAVIOURS; b++) {
            snprintf(names[count], sizeof names[count], "%s %s: %s", targets[t].backend, t % 2 ? "f32" : "f64", behaviours[b].name);
            tests[count] = (struct CMUnitTest){ names[count], behaviours[b].run, begin, end, &targets[t] };
            count++;
        }
    }
    return _cmocka_run_group_tests("gp/model", tests, count, NULL, NULL);
}
