/* The training problem takes the optimum from every approach and refuses what is below it, or not what it says. */
#include "gp/gp.h"
#include "lessons/13_gp_train/problem.h"
#include "lessons/testing.h"

enum { SEED = 2026, LARGEST_NAIVE = 200, PARAMETERS = GP_PREDICT_D + 2 };

static void check_every_size(Where where)
{
    static const size_t sizes[] = { 60, 200, 500, GP_PREDICT_CO2_N };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_approaches(&gp_train_problem, where, sizes[i], SEED, LARGEST_NAIVE);
}

static void host_approaches_reach_the_optimum(void **state)
{
    (void)state;
    check_every_size(ON_HOST);
}

static void cuda_approaches_reach_the_optimum(void **state)
{
    (void)state;
    skip_without_cuda();
    check_every_size(ON_CUDA);
}

/* ---- right answers, spoilt ---- */

static void return_the_start(const Trial *t)
{
    for (size_t j = 1; j < PARAMETERS; j++) set_out(t, j, 1);
    set_out(t, PARAMETERS, 0.1);
}
static void stop_early(const Trial *t)
{
    for (size_t j = 1; j <= PARAMETERS; j++) set_out(t, j, get_out(t, j) * 1.2);
}
static void swap_variance_and_noise(const Trial *t)
{
    const double variance = get_out(t, 1);
    set_out(t, 1, get_out(t, PARAMETERS));
    set_out(t, PARAMETERS, variance);
}
static void return_the_deviation_of_the_noise(const Trial *t) { set_out(t, PARAMETERS, sqrt(get_out(t, PARAMETERS))); }
static void return_logarithms(const Trial *t)
{
    for (size_t j = 1; j <= PARAMETERS; j++) set_out(t, j, log(get_out(t, j)));
}
static void claim_more(const Trial *t) { set_out(t, 0, get_out(t, 0) + 0.01 * fabs(get_out(t, 0))); }
static void claim_the_negative(const Trial *t) { set_out(t, 0, -get_out(t, 0)); }

static void wrong_outputs_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "untrained", return_the_start }, { "stopped early", stop_early }, { "variance and noise swapped", swap_variance_and_noise },
        { "the noise's deviation", return_the_deviation_of_the_noise }, { "logarithms", return_logarithms },
        { "a likelihood that is not there", claim_more }, { "the negative likelihood", claim_the_negative },
        { "noise unwritten", forget_the_last },
    };
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&gp_train_problem, GP_LIKELIHOOD_SYNTHETIC, 500, (Precision)p, SEED);
        check_refusals(&t, &gp_train_gp_cpu_openmp, wrong, sizeof wrong / sizeof *wrong);
        trial_destroy(&t);
    }
}

/* In float64 a step of 1% in one length is seen; co2's likelihood is flat in others, but not in its noise. */
static void a_parameter_that_is_off_is_seen(void **state)
{
    (void)state;
    Trial t = trial_create(&gp_train_problem, GP_LIKELIHOOD_SYNTHETIC, 500, F64, SEED);
    must_work(trial_run(&t, &gp_train_gp_cpu_openmp));
    set_out(&t, 2, get_out(&t, 2) * 1.01);
    trial_expect(&t, REFUSED, "a length off by 1%");
    trial_destroy(&t);
    t = trial_create(&gp_train_problem, GP_LIKELIHOOD_CO2, GP_PREDICT_CO2_N, F64, SEED);
    must_work(trial_run(&t, &gp_train_gp_cpu_openmp));
    trial_expect(&t, ACCEPTED, "no mistake");
    set_out(&t, 12, get_out(&t, 12) * 1.01);
    trial_expect(&t, REFUSED, "noise off by 1%");
    trial_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_reach_the_optimum),
        cmocka_unit_test(cuda_approaches_reach_the_optimum),
        cmocka_unit_test(wrong_outputs_are_refused),
        cmocka_unit_test(a_parameter_that_is_off_is_seen),
    };
    return cmocka_run_group_tests_name("gp train", tests, NULL, NULL);
}
