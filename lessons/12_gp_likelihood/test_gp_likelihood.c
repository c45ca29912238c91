/* The likelihood problem takes right answers of every size and refuses those of code with one mistake. */
#include "gp/backend.h"
#include "lessons/12_gp_likelihood/problem.h"
#include "lessons/testing.h"

enum { SEED = 2026, LARGEST_NAIVE = 500, SYNTHETIC_NUMBERS = 11 };

static void check_every_size(Where where)
{
    static const size_t sizes[] = { 1, 2, 31, 33, 63, 64, 126, 129, 255, 500, 513, GP_PREDICT_CO2_N, 1024, 1100 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_approaches(&gp_likelihood_problem, where, sizes[i], SEED, LARGEST_NAIVE);
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

/* ---- right answers, spoilt ---- */

static void negate_the_gradient(const Trial *t)
{
    for (size_t i = 1; i < SYNTHETIC_NUMBERS; i++) set_out(t, i, -get_out(t, i));
}
static void double_the_gradient(const Trial *t)
{
    for (size_t i = 1; i < SYNTHETIC_NUMBERS; i++) set_out(t, i, 2 * get_out(t, i));
}
static void differentiate_by_the_parameters(const Trial *t)
{
    for (size_t j = 0; j < GP_PREDICT_D; j++) set_out(t, 2 + j, get_out(t, 2 + j) / (0.7 + 0.1 * (double)j));
}
static void forget_a_parameter(const Trial *t) { set_out(t, 3, 0); }
static void swap_two_lengths(const Trial *t)
{
    const double first = get_out(t, 2);
    set_out(t, 2, get_out(t, 3));
    set_out(t, 3, first);
}
static void forget_2_pi(const Trial *t) { set_out(t, 0, get_out(t, 0) + (double)t->c.n / 2 * log(2 * acos(-1))); }
static void return_per_point(const Trial *t) { set_out(t, 0, get_out(t, 0) / (double)t->c.n); }
static void count_the_diagonal_twice(const Trial *t) { set_out(t, 1, get_out(t, 1) + get_out(t, SYNTHETIC_NUMBERS - 1)); }

static void wrong_outputs_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "gradient of the other sign", negate_the_gradient }, { "gradient without its 1/2", double_the_gradient },
        { "by the parameters, not their logarithms", differentiate_by_the_parameters }, { "a parameter forgotten", forget_a_parameter },
        { "two lengths swapped", swap_two_lengths }, { "without log 2 pi", forget_2_pi }, { "likelihood per point", return_per_point },
        { "the variance with the noise", count_the_diagonal_twice }, { "noise unwritten", forget_the_last },
    };
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&gp_likelihood_problem, GP_LIKELIHOOD_SYNTHETIC, 1024, (Precision)p, SEED);
        check_refusals(&t, &gp_likelihood_gp_cpu_openmp, wrong, sizeof wrong / sizeof *wrong);
        trial_destroy(&t);
    }
}

static void tf32_inputs_are_refused(void **state)
{
    (void)state;
    Trial t = trial_create(&gp_likelihood_problem, GP_LIKELIHOOD_SYNTHETIC, 500, F64, SEED);
    round_in(&t, 0, FLOAT_BITS);
    must_work(trial_run(&t, &gp_likelihood_gp_cpu_openmp));
    trial_expect(&t, REFUSED, "X in float32");
    trial_destroy(&t);
}

static void float32_answers_are_refused_in_float64(void **state)
{
    (void)state;
    for (int variant = 0; gp_likelihood_problem.variants[variant]; variant++) {
        Trial t = trial_create(&gp_likelihood_problem, variant, variant == GP_LIKELIHOOD_CO2 ? GP_PREDICT_CO2_N : 500, F64, SEED);
        must_work(trial_run(&t, &gp_likelihood_gp_cpu_openmp));
        trial_expect(&t, ACCEPTED, "no mistake");
        round_out(&t, FLOAT_BITS);
        trial_expect(&t, REFUSED, "float32 results");
        trial_destroy(&t);
    }
}

/* ---- sizes and parameters ---- */

static void the_kernels_text_has_the_references_numbers(void **state)
{
    (void)state;
    GpExpression e;
    must_work(gp_expression_parse(&e, gp_likelihood_kernel(GP_LIKELIHOOD_SYNTHETIC), GP_PREDICT_D));
    assert_int_equal(e.parameters + 2, gp_likelihood_count(GP_LIKELIHOOD_SYNTHETIC));
    for (int p = 0; p < e.parameters; p++) assert_true(e.parameter[p].value == gp_likelihood_parameters(GP_LIKELIHOOD_SYNTHETIC)[p]);
    must_work(gp_expression_parse(&e, gp_likelihood_kernel(GP_LIKELIHOOD_CO2), 1));
    assert_int_equal(e.parameters + 1, gp_likelihood_count(GP_LIKELIHOOD_CO2));
    for (int p = 0; p < e.parameters; p++) assert_true(e.parameter[p].value == gp_likelihood_parameters(GP_LIKELIHOOD_CO2)[p]);
}

static void a_size_without_reference_is_refused_with_the_nearest_that_has_one(void **state)
{
    (void)state;
    static const struct { size_t n; int variant; Precision precision; const char *says; } cases[] = {
        { 4001, GP_LIKELIHOOD_SYNTHETIC, F32, "ask for n = 4000" }, { 40000, GP_LIKELIHOOD_SYNTHETIC, F64, NULL },
        { 67, GP_LIKELIHOOD_SYNTHETIC, F64, "ask for n = 66" },     { 521, GP_LIKELIHOOD_CO2, F64, NULL },
        { 521, GP_LIKELIHOOD_CO2, F32, "ask for f64" },             { 500, GP_LIKELIHOOD_CO2, F64, "ask for n = 521" },
        { ((size_t)1 << 28) + 1, GP_LIKELIHOOD_SYNTHETIC, F64, "2^28" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Case c = { .n = cases[k].n, .variant = cases[k].variant, .precision = cases[k].precision };
        const char *why = gp_likelihood_problem.refuse(&c);
        if (!cases[k].says) assert_null(why);
        else assert_true(why && strstr(why, cases[k].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
        cmocka_unit_test(wrong_outputs_are_refused),
        cmocka_unit_test(tf32_inputs_are_refused),
        cmocka_unit_test(float32_answers_are_refused_in_float64),
        cmocka_unit_test(the_kernels_text_has_the_references_numbers),
        cmocka_unit_test(a_size_without_reference_is_refused_with_the_nearest_that_has_one),
    };
    return cmocka_run_group_tests_name("gp likelihood", tests, NULL, NULL);
}
