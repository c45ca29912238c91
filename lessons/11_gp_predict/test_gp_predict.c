/* The GP regression problem takes right answers of every size and refuses those of code with one mistake. */
#define _GNU_SOURCE
#include "gp/backend.h"
#include "lessons/11_gp_predict/problem.h"
#include "lessons/testing.h"
#include <stdlib.h>
#include <unistd.h>

enum { SEED = 2026 };
enum { LARGEST_NAIVE = GP_PREDICT_CO2_N }; /* the naive backend takes most of the time at 1,000 */

static void check_every_size(Where where)
{
    /* The references of primes take n^3/3 operations in long double; 1023 = 3 * 11 * 31 is a grid. Co2 has its own n alone. */
    static const size_t sizes[] = { 1, 2, 31, 33, 63, 65, 127, 129, 255, 257, 500, GP_PREDICT_CO2_N, 1023 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_approaches(&gp_predict_problem, where, sizes[i], SEED, LARGEST_NAIVE);
}

static void host_approaches_are_right(void **state)
{
    (void)state;
    check_every_size(ON_HOST);
}

static void cuda_approaches_are_right(void **state)
{
    (void)state;
    skip_without_cuda();
    check_every_size(ON_CUDA);
}

/* ---- code with one mistake ---- */

typedef struct {
    const char *name;
    double length, noise;       /* factors of the right ones                                           */
    size_t dropped;             /* this many elements in the middle of alpha are zero                   */
    size_t missing;             /* training points that the fit doesn't see, the last ones             */
    int tf32;                   /* alpha is rounded like TF32                                           */
    int f32_sees;               /* float32 refuses it too: by one of these                              */
} Mistake;

/* In float64 every mistake is far outside of what rounding does. In float32 rounding alone moves the means by up to 3e-4 (synthetic,
 * n = 500) and 1.2e-2 (CO2, where the noise is 3e-4 of the variance): a smaller mistake is not one that float32 can show. */
enum { NOWHERE, IN_SYNTHETIC, IN_BOTH };

static const Mistake mistakes[] = {
    { .name = "32 of alpha dropped", .length = 1, .noise = 1, .dropped = 32, .f32_sees = IN_BOTH },
    { .name = "1 of alpha dropped", .length = 1, .noise = 1, .dropped = 1, .f32_sees = IN_BOTH },
    { .name = "length off by 1%", .length = 1.01, .noise = 1, .f32_sees = IN_BOTH },
    { .name = "length off by 0.1%", .length = 1.001, .noise = 1, .f32_sees = IN_SYNTHETIC },
    { .name = "noise omitted", .length = 1, .noise = 0, .f32_sees = IN_BOTH },
    { .name = "noise ten times as large", .length = 1, .noise = 10, .f32_sees = IN_BOTH },
    { .name = "noise off by 0.1%", .length = 1, .noise = 1.001 },
    { .name = "32 points forgotten", .length = 1, .noise = 1, .missing = 32, .f32_sees = IN_SYNTHETIC },
    { .name = "last point forgotten", .length = 1, .noise = 1, .missing = 1 },
    { .name = "alpha in TF32", .length = 1, .noise = 1, .tf32 = 1, .f32_sees = IN_BOTH },
};

static void round_to_tf32(GpContext *c, void *array, size_t n)
{
    double *host = test_malloc(n * sizeof *host);
    must_work(c->backend->download(c, host, array, n));
    for (size_t i = 0; i < n; i++) host[i] = rounded(host[i], TF32_BITS);
    must_work(c->backend->upload(c, array, host, n));
    test_free(host);
}

static GpStatus predict_wrongly(const Trial *t, const Mistake *wrong)
{
    GpStatus status = GP_OK;
    const GpPredictModel m = gp_predict_model(t->c.variant);
    const size_t all = t->c.n, n = all - wrong->missing, bytes = precision_bytes(t->c.precision);
    GpFitOptions options = { .noise_variance = m.noise * wrong->noise };
    GpExpression kernel;
    double length[GP_MAX_DIMENSIONS];
    GpContext *c = NULL;
    const GpBackend *backend;
    void *x = NULL, *z = NULL, *K = NULL, *alpha = NULL, *work = NULL, *mean = NULL, *explained = NULL, *zeros = NULL;
    double jitter;
    for (size_t j = 0; j < m.d; j++) length[j] = m.length * wrong->length;
    must_work(gp_expression_rbf(&kernel, m.variance, length, m.d));
    must_work(gp_context_create(&c, "cpu/openmp", t->c.precision == F32 ? GP_F32 : GP_F64, 0));
    backend = c->backend;
    must_work(memory_alloc(&zeros, n, bytes, "zeros"));
    must_work(backend->alloc(c, &x, n * m.d, "x"));
    must_work(backend->alloc(c, &z, GP_PREDICT_M * m.d, "z"));
    must_work(backend->alloc(c, &K, n * n, "K"));
    must_work(backend->alloc(c, &alpha, n, "alpha"));
    must_work(backend->alloc(c, &work, n * GP_PREDICT_M, "work"));
    must_work(backend->alloc(c, &mean, GP_PREDICT_M, "mean"));
    must_work(backend->alloc(c, &explained, GP_PREDICT_M, "explained"));
    for (size_t j = 0; j < m.d; j++)
        must_work(backend->upload_native(c, (char *)x + j * n * bytes, (char *)t->b.in[0] + j * all * bytes, n * bytes));
    must_work(backend->upload_native(c, alpha, t->b.in[1], n * bytes));
    must_work(backend->upload_native(c, z, t->b.in[2], t->b.in_bytes[2]));
    status = gp_device_fit(c, &kernel, n, x, NULL, m.variance + options.noise_variance, &options, K, n, 1, alpha, &jitter);
    if (status == GP_OK) {
        must_work(backend->upload_native(c, (char *)alpha + n / 2 * bytes, zeros, wrong->dropped * bytes));
        if (wrong->tf32) round_to_tf32(c, alpha, n);
        must_work(gp_device_predict(c, &kernel, n, x, K, n, 1, alpha, GP_PREDICT_M, z, GP_PREDICT_M, work, mean, explained));
        must_work(backend->download_native(c, t->b.out, mean, GP_PREDICT_M * bytes));
        must_work(backend->download_native(c, (char *)t->b.out + GP_PREDICT_M * bytes, explained, GP_PREDICT_M * bytes));
        for (size_t j = GP_PREDICT_M; j < 2 * GP_PREDICT_M; j++) set_out(t, j, m.variance - get_out(t, j));
    }
    void *const arrays[] = { x, z, K, alpha, work, mean, explained };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) backend->release(c, arrays[i]);
    gp_context_destroy(c);
    memory_free(zeros);
    return status;
}

static void expect_mistakes_refused(int variant, size_t n)
{
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&gp_predict_problem, variant, n, (Precision)p, SEED);
        must_work(predict_wrongly(&t, &(Mistake){ .length = 1, .noise = 1 }));
        trial_expect(&t, ACCEPTED, "no mistake");
        for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
            if (p == F32 && mistakes[k].f32_sees < (variant == GP_PREDICT_CO2 ? IN_BOTH : IN_SYNTHETIC)) continue;
            if (predict_wrongly(&t, &mistakes[k]) == GP_OK) trial_expect(&t, REFUSED, mistakes[k].name);   /* K may have no factor then */
        }
        trial_destroy(&t);
    }
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    expect_mistakes_refused(GP_PREDICT_SYNTHETIC, 500);
    expect_mistakes_refused(GP_PREDICT_SYNTHETIC, 2000);
}

static void mistakes_with_co2_are_refused(void **state)
{
    (void)state;
    expect_mistakes_refused(GP_PREDICT_CO2, GP_PREDICT_CO2_N);
}

/* ---- right answers, spoilt ---- */

static void leave_last_mean_unwritten(const Trial *t) { set_out(t, GP_PREDICT_M - 1, NAN); }
static void zero_the_last_block(const Trial *t)
{
    for (size_t j = GP_PREDICT_M - 8; j < GP_PREDICT_M; j++) set_out(t, j, 0);
}
static void return_explained(const Trial *t)
{
    for (size_t j = GP_PREDICT_M; j < 2 * GP_PREDICT_M; j++) set_out(t, j, gp_predict_model(t->c.variant).variance - get_out(t, j));
}
static void return_deviations(const Trial *t)
{
    for (size_t j = GP_PREDICT_M; j < 2 * GP_PREDICT_M; j++) set_out(t, j, sqrt(get_out(t, j)));
}
static void add_noise_to_the_variance(const Trial *t)
{
    for (size_t j = GP_PREDICT_M; j < 2 * GP_PREDICT_M; j++) set_out(t, j, get_out(t, j) + gp_predict_model(t->c.variant).noise);
}
static void shift_the_means_by_one(const Trial *t)
{
    const size_t bytes = precision_bytes(t->c.precision);
    memmove((char *)t->b.out + bytes, t->b.out, (GP_PREDICT_M - 1) * bytes);
}
static void swap_halves(const Trial *t)
{
    for (size_t j = 0; j < GP_PREDICT_M; j++) {
        const double mean = get_out(t, j);
        set_out(t, j, get_out(t, j + GP_PREDICT_M));
        set_out(t, j + GP_PREDICT_M, mean);
    }
}

static void wrong_outputs_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "last mean unwritten", leave_last_mean_unwritten }, { "last variance unwritten", forget_the_last },
        { "last means zero", zero_the_last_block }, { "explained instead of variance", return_explained },
        { "deviations instead of variances", return_deviations }, { "variance with noise", add_noise_to_the_variance },
        { "a point too far", shift_the_means_by_one }, { "mean and variance swapped", swap_halves },
    };
    (void)state;
    for (int variant = 0; gp_predict_problem.variants[variant]; variant++)
        for (int p = 0; p < PRECISIONS; p++) {
            Trial t = trial_create(&gp_predict_problem, variant, variant == GP_PREDICT_CO2 ? GP_PREDICT_CO2_N : 500, (Precision)p, SEED);
            check_refusals(&t, &gp_predict_gp_cpu_openmp, wrong, sizeof wrong / sizeof *wrong);
            trial_destroy(&t);
        }
}

static void tf32_inputs_are_refused(void **state)
{
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&gp_predict_problem, GP_PREDICT_SYNTHETIC, 500, (Precision)p, SEED);
        round_in(&t, 0, TF32_BITS);
        must_work(trial_run(&t, &gp_predict_gp_cpu_openmp));
        trial_expect(&t, REFUSED, "X in TF32");
        trial_destroy(&t);
    }
}

static void float32_answers_are_refused_in_float64(void **state)
{
    (void)state;
    Trial t = trial_create(&gp_predict_problem, GP_PREDICT_SYNTHETIC, 500, F64, SEED);
    must_work(trial_run(&t, &gp_predict_gp_cpu_openmp));
    round_out(&t, FLOAT_BITS);
    trial_expect(&t, REFUSED, "float32 results");
    trial_destroy(&t);
}

/* ---- sizes and data ---- */

static void every_size_of_the_grid_has_a_product_grid(void **state)
{
    static const size_t odd[] = { 1, 2, 31, 64, 3721, 30030 };
    size_t g[GP_PREDICT_D];
    (void)state;
    for (const size_t *n = gp_predict_problem.sizes(GP_PREDICT_SYNTHETIC, 1); *n; n++) {
        assert_true(gp_predict_grid(*n, g));
        size_t product = 1;
        for (size_t j = 0; j < GP_PREDICT_D; j++) product *= g[j];
        assert_int_equal(product, *n);
        assert_in_range(g[0], 1, 8);   /* as equal as they come: no dimension takes it all */
    }
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) assert_true(gp_predict_grid(odd[k], g));
    assert_false(gp_predict_grid(67, g));
    assert_false(gp_predict_grid(2 * 4001, g));
}

static void a_size_without_reference_is_refused_with_the_nearest_that_has_one(void **state)
{
    (void)state;
    static const struct { size_t n; int variant; const char *says; } cases[] = {
        { 2039, GP_PREDICT_SYNTHETIC, NULL }, { 4001, GP_PREDICT_SYNTHETIC, "ask for n = 4000" }, { 40000, GP_PREDICT_SYNTHETIC, NULL },
        { 2063, GP_PREDICT_SYNTHETIC, "ask for n = 2064" }, { 521, GP_PREDICT_CO2, NULL }, { 500, GP_PREDICT_CO2, "ask for n = 521" },
        { ((size_t)1 << 28) + 1, GP_PREDICT_SYNTHETIC, "2^28" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *why = gp_predict_problem.refuse(&(Case){ .n = cases[k].n, .variant = cases[k].variant });
        if (!cases[k].says) assert_null(why);
        else assert_true(why && strstr(why, cases[k].says));
    }
}

/* Without references, which for co2 take longer than all that is asked here. */
static Buffers inputs_create_alone(const Case *c)
{
    Buffers b = { .out = NULL };
    gp_predict_problem.shape(c, &b);
    for (int i = 0; i < 3; i++) must_work(memory_alloc(&b.in[i], b.in_bytes[i], 1, "an input"));
    must_work(gp_predict_problem.fill(c, &b));
    return b;
}

static void another_seed_gives_other_inputs(void **state)
{
    (void)state;
    for (int variant = 0; gp_predict_problem.variants[variant]; variant++) {
        Buffers one = inputs_create_alone(&(Case){ .n = GP_PREDICT_CO2_N, .variant = variant, .precision = F64, .seed = SEED });
        Buffers other = inputs_create_alone(&(Case){ .n = GP_PREDICT_CO2_N, .variant = variant, .precision = F64, .seed = SEED + 1 });
        for (int i = 0; i < 3; i++) assert_memory_not_equal(one.in[i], other.in[i], one.in_bytes[i]);
        buffers_free(&one);
        buffers_free(&other);
    }
}

static const Case co2 = { .n = GP_PREDICT_CO2_N, .variant = GP_PREDICT_CO2, .precision = F64, .seed = SEED };

static void co2_is_the_centred_series(void **state)
{
    (void)state;
    Buffers b = inputs_create_alone(&co2);
    const double *time = b.in[0], *y = b.in[1];
    double sum = 0, first = INFINITY, first_y = 0, last = -INFINITY;
    for (size_t i = 0; i < GP_PREDICT_CO2_N; i++) {
        sum += y[i];
        if (time[i] < first) {
            first = time[i];
            first_y = y[i];
        }
        if (time[i] > last) last = time[i];
    }
    assert_true(fabs(sum) < 1e-9);
    assert_true(first == 1958.25 - 1980 && last == 2002.0 - 1980);
    assert_true(fabs(first_y - (316.1 - 339.8226647472809)) < 1e-10);
    buffers_free(&b);
}

static void a_missing_data_file_is_a_clear_error(void **state)
{
    (void)state;
    char *here = getcwd(NULL, 0);
    Buffers b = inputs_create_alone(&co2);
    assert_non_null(here);
    assert_int_equal(chdir("/"), 0);
    const GpStatus status = gp_predict_problem.fill(&co2, &b);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(status, GP_IO);
    assert_non_null(strstr(gp_message(), "gp/data/co2.csv"));
    buffers_free(&b);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(mistakes_with_co2_are_refused),
        cmocka_unit_test(wrong_outputs_are_refused),
        cmocka_unit_test(tf32_inputs_are_refused),
        cmocka_unit_test(float32_answers_are_refused_in_float64),
        cmocka_unit_test(every_size_of_the_grid_has_a_product_grid),
        cmocka_unit_test(a_size_without_reference_is_refused_with_the_nearest_that_has_one),
        cmocka_unit_test(another_seed_gives_other_inputs),
        cmocka_unit_test(co2_is_the_centred_series),
        cmocka_unit_test(a_missing_data_file_is_a_clear_error),
    };
    return cmocka_run_group_tests_name("gp predict", tests, NULL, NULL);
}
