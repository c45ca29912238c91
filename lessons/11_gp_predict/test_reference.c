/* The two references agree with each other and with values from 50-digit arithmetic. */
#include "common/random.h"
#include "lessons/11_gp_predict/problem.h"
#include "lessons/testing.h"

static GpPredictData data_create(size_t n, size_t m, GpPredictModel model)
{
    GpPredictData p = { .model = model, .n = n, .m = m };
    must_work(memory_alloc(&p.x, n * model.d, sizeof *p.x, "x"));
    must_work(memory_alloc(&p.y, n, sizeof *p.y, "y"));
    must_work(memory_alloc(&p.z, m * model.d, sizeof *p.z, "z"));
    return p;
}

static void data_destroy(GpPredictData *p)
{
    memory_free(p->x);
    memory_free(p->y);
    memory_free(p->z);
}

static GpPredictAnswer answer_create(size_t m)
{
    GpPredictAnswer a = { .mean = NULL };
    must_work(memory_alloc(&a.mean, m, sizeof *a.mean, "mean"));
    must_work(memory_alloc(&a.variance, m, sizeof *a.variance, "variance"));
    return a;
}

static void answer_destroy(GpPredictAnswer *a)
{
    memory_free(a->mean);
    memory_free(a->variance);
}

/* X = {1, 3, 5, 6, 7, 8}, y = x sin x, length 1, variance 1, noise 1e-10; mean and standard deviation in 50 digits. */
static void dense_reference_gives_the_known_values(void **state)
{
    static const long double x[] = { 1, 3, 5, 6, 7, 8 }, z[] = { 2, 4, 5.5L, 6.5L, 7.5L };
    static const double mean[] = { .985493274003, -2.442461146746, -3.933740392872, 1.398022255575, 7.070098171605 };
    static const double deviation[] = { .587858384164, .512837177729, .118765690812, .098795554059, .122027109387 };
    (void)state;
    GpPredictData p = data_create(6, 5, (GpPredictModel){ .d = 1, .variance = 1, .length = 1, .noise = 1e-10 });
    GpPredictAnswer a = answer_create(p.m);
    for (size_t i = 0; i < p.n; i++) {
        p.x[i] = x[i];
        p.y[i] = x[i] * sinl(x[i]);
    }
    for (size_t j = 0; j < p.m; j++) p.z[j] = z[j];
    must_work(gp_predict_dense(&p, &a));
    for (size_t j = 0; j < p.m; j++) {
        assert_true(fabs(a.mean[j] - mean[j]) < 1e-12);
        assert_true(fabs(sqrt(a.variance[j]) - deviation[j]) < 1e-12);
    }
    answer_destroy(&a);
    data_destroy(&p);
}

/* A product grid of the sizes g with random coordinates, in random order. */
static GpPredictData grid_create(const size_t g[GP_PREDICT_D], size_t m, GpPredictModel model, size_t *order)
{
    size_t n = 1;
    for (size_t j = 0; j < GP_PREDICT_D; j++) n *= g[j];
    GpPredictData p = data_create(n, m, model);
    random_permutation(order, n, 1, 0);
    for (size_t r = 0; r < n; r++) {
        for (size_t j = 0, rest = order[r]; j < GP_PREDICT_D; rest /= g[j], j++)
            p.x[r + j * n] = (long double)random_uniform(2, j, rest % g[j]);
        p.y[r] = (long double)random_normal(3, 0, r);
    }
    for (size_t i = 0; i < m * GP_PREDICT_D; i++) p.z[i] = (long double)random_uniform(4, 0, i);
    return p;
}

static double distance(const double *a, const double *b, size_t count)
{
    double largest = 0, scale = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a[i] - b[i]));
        scale = fmax(scale, fabs(b[i]));
    }
    return largest / scale;
}

static void references_agree_on_product_grids(void **state)
{
    static const struct { size_t g[GP_PREDICT_D]; double variance, length, noise; } cases[] = {
        { { 1, 1, 1, 1, 1, 1, 1, 1 }, 1, 1, 0.01 },    { { 2, 1, 1, 1, 1, 1, 1, 1 }, 1, 1, 0.01 },
        { { 31, 1, 1, 1, 1, 1, 1, 1 }, 1, 1, 0.01 },   { { 3, 2, 2, 2, 2, 1, 1, 1 }, 1, 1, 0.01 },
        { { 2, 2, 2, 2, 2, 2, 2, 2 }, 1, 1, 0.01 },    { { 1, 1, 5, 1, 4, 1, 3, 2 }, 1, 1, 0.01 },
        { { 5, 5, 5, 2, 2, 1, 1, 1 }, 2.5, 0.7, 0.1 }, { { 64, 1, 1, 1, 1, 1, 1, 4 }, 1, 0.3, 0.01 },
    };
    enum { M = 40, MOST = 512 };
    size_t order[MOST];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const GpPredictModel model = { GP_PREDICT_D, cases[k].variance, cases[k].length, cases[k].noise };
        GpPredictData p = grid_create(cases[k].g, M, model, order);
        GpPredictAnswer product = answer_create(M), dense = answer_create(M);
        must_work(gp_predict_product(&p, cases[k].g, order, &product));
        must_work(gp_predict_dense(&p, &dense));
        assert_true(distance(product.mean, dense.mean, M) < 4e-15);
        assert_true(distance(product.variance, dense.variance, M) < 4e-15);
        assert_true(fabs(product.mean_rounding / dense.mean_rounding - 1) < 1e-12);
        assert_true(fabs(product.variance_rounding / dense.variance_rounding - 1) < 1e-12);
        answer_destroy(&product);
        answer_destroy(&dense);
        data_destroy(&p);
    }
}

static void points_off_the_grid_are_an_error(void **state)
{
    const size_t g[GP_PREDICT_D] = { 3, 2, 2, 1, 1, 1, 1, 1 };
    size_t order[12];
    (void)state;
    GpPredictData p = grid_create(g, 1, (GpPredictModel){ GP_PREDICT_D, 1, 1, 0.01 }, order);
    GpPredictAnswer a = answer_create(1);
    p.x[7] += 1e-9L;
    assert_int_equal(gp_predict_product(&p, g, order, &a), GP_BAD_DATA);
    answer_destroy(&a);
    data_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_reference_gives_the_known_values),
        cmocka_unit_test(references_agree_on_product_grids),
        cmocka_unit_test(points_off_the_grid_are_an_error),
    };
    return cmocka_run_group_tests_name("gp predict reference", tests, NULL, NULL);
}
