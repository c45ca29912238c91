/* The two references of the likelihood and its gradient agree with each other and with known values. */
#include "common/random.h"
#include "lessons/12_gp_likelihood/problem.h"
#include "lessons/testing.h"

enum { MOST = 512 };

/* A product grid of the sizes g with random coordinates, in random order. */
static size_t grid_create(const size_t g[GP_PREDICT_D], long double *x, long double *y, size_t *order)
{
    size_t n = 1;
    for (size_t j = 0; j < GP_PREDICT_D; j++) n *= g[j];
    random_permutation(order, n, 1, 0);
    for (size_t r = 0; r < n; r++) {
        for (size_t j = 0, rest = order[r]; j < GP_PREDICT_D; rest /= g[j], j++)
            x[r + j * n] = (long double)random_uniform(2, j, rest % g[j]);
        y[r] = (long double)random_normal(3, 0, r);
    }
    return n;
}

static void references_agree_on_product_grids(void **state)
{
    static const size_t grids[][GP_PREDICT_D] = { { 1, 1, 1, 1, 1, 1, 1, 1 }, { 2, 1, 1, 1, 1, 1, 1, 1 }, { 31, 1, 1, 1, 1, 1, 1, 1 },
                                                  { 3, 2, 2, 2, 2, 1, 1, 1 }, { 1, 1, 5, 1, 4, 1, 3, 2 }, { 2, 2, 2, 2, 2, 2, 2, 2 } };
    static long double x[MOST * GP_PREDICT_D], y[MOST];
    static size_t order[MOST];
    (void)state;
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        const size_t n = grid_create(grids[k], x, y, order);
        GpLikelihoodAnswer product, dense;
        must_work(gp_likelihood_product(gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC), n, x, y, grids[k], order, &product));
        must_work(gp_likelihood_dense(GP_LIKELIHOOD_SYNTHETIC, gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC), n, x, y, &dense));
        for (size_t i = 0; i < gp_likelihood_count(GP_LIKELIHOOD_SYNTHETIC); i++) {
            if (fabs(product.value[i] - dense.value[i]) > 1e-14 * dense.rounding[i])
                fail_msg("grid %zu, number %zu: %.17g and %.17g", k, i, product.value[i], dense.value[i]);
            if (fabs(product.rounding[i] / dense.rounding[i] - 1) > 1e-9)
                fail_msg("grid %zu, rounding %zu: %g and %g", k, i, product.rounding[i], dense.rounding[i]);
        }
    }
}

/* Central differences of the likelihood itself, through the dense reference at points that are scaled: length j times exp(h) is column j times
 * exp(-h). */
static void derivatives_are_those_of_the_likelihood(void **state)
{
    static const size_t g[GP_PREDICT_D] = { 3, 2, 2, 1, 2, 1, 1, 2 };
    static long double x[MOST * GP_PREDICT_D], y[MOST];
    static size_t order[MOST];
    const size_t n = grid_create(g, x, y, order);
    const long double h = 1e-5L;
    GpLikelihoodAnswer middle, side[2];
    (void)state;
    must_work(gp_likelihood_dense(GP_LIKELIHOOD_SYNTHETIC, gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC), n, x, y, &middle));
    for (size_t j = 0; j < GP_PREDICT_D; j++) {
        for (int s = 0; s < 2; s++) {
            const long double scale = expl(s ? -h : h);
            for (size_t i = 0; i < n; i++) x[i + j * n] *= scale;
            must_work(gp_likelihood_dense(GP_LIKELIHOOD_SYNTHETIC, gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC), n, x, y, &side[s]));
            for (size_t i = 0; i < n; i++) x[i + j * n] /= scale;
        }
        const double difference = (side[1].value[0] - side[0].value[0]) / (2 * (double)h);
        if (fabs(difference - middle.value[2 + j]) > 1e-7 * (1 + fabs(difference)))
            fail_msg("length %zu: %.12g, by differences %.12g", j, middle.value[2 + j], difference);
    }
}

/* GPML's model of the CO2 data: -117.0226373393 (50-digit arithmetic); y is that of the file less its mean. */
static void co2_has_the_known_likelihood(void **state)
{
    (void)state;
    Trial t = trial_create(&gp_likelihood_problem, GP_LIKELIHOOD_CO2, GP_PREDICT_CO2_N, F64, 2026);
    if (!(fabs(t.reference[0] + 117.0226373393) < 1e-7)) fail_msg("%.13g", t.reference[0]);   /* t itself has 1e-13 of rounding */
    trial_destroy(&t);
}

static void points_off_the_grid_are_an_error(void **state)
{
    static const size_t g[GP_PREDICT_D] = { 3, 2, 2, 1, 1, 1, 1, 1 };
    static long double x[MOST * GP_PREDICT_D], y[MOST];
    static size_t order[MOST];
    const size_t n = grid_create(g, x, y, order);
    GpLikelihoodAnswer a;
    (void)state;
    x[7] += 1e-9L;
    assert_int_equal(gp_likelihood_product(gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC), n, x, y, g, order, &a), GP_BAD_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_agree_on_product_grids),
        cmocka_unit_test(derivatives_are_those_of_the_likelihood),
        cmocka_unit_test(co2_has_the_known_likelihood),
        cmocka_unit_test(points_off_the_grid_are_an_error),
    };
    return cmocka_run_group_tests_name("gp likelihood reference", tests, NULL, NULL);
}
