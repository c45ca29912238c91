/* Medians, intervals and verdicts on samples whose truth is known. */
#include "bench/statistics.h"
#include "common/random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 400 };

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * (1 + fabs(expected)))) fail_msg("%.17g, expected %.17g", got, expected);
}

/* Times around 1 ms with lognormal noise that grow by `drift` from the first to the last. */
static void draw_times(double *x, size_t count, double noise, double drift, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 1e-3 * exp(noise * random_normal(seed, stream, i)) * (1 + drift * (double)i / (double)count);
}

/* ---- one set of samples ---- */

static void small_sets_have_the_known_summary(void **state)
{
    /* ranks and coverage: Conover, table A3 (binomial with p = 1/2) */
    const struct { double x[11]; size_t count; double median, low, high, coverage, mad; size_t outliers; } cases[] = {
        { { 7 }, 1, 7, 7, 7, 0, 0, 0 },
        { { 3, 1 }, 2, 2, 1, 3, 0.5, 1, 0 },
        { { 5, 1, 4, 2, 3 }, 5, 3, 1, 5, 0.9375, 1, 0 },
        { { 6, 5, 4, 3, 2, 1 }, 6, 3.5, 1, 6, 0.96875, 1.5, 0 },
        { { 9, 1, 8, 2, 7, 3, 6, 4, 5 }, 9, 5, 2, 8, 1 - 2 * 10.0 / 512, 2, 0 },
        { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, 10, 5.5, 2, 9, 1 - 2 * 11.0 / 1024, 2.5, 0 },
        { { 1, 2, 3, 4, 100, 5, 6, 7, 8, 9, 10 }, 11, 6, 2, 10, 1 - 2 * 12.0 / 2048, 3, 1 },
        { { 2, 2, 2, 2, 2, 2 }, 6, 2, 2, 2, 0.96875, 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Summary s = summarise(cases[i].x, cases[i].count);
        assert_int_equal(s.count, cases[i].count);
        assert_near(s.median, cases[i].median);
        assert_near(s.low, cases[i].low);
        assert_near(s.high, cases[i].high);
        assert_near(s.coverage, cases[i].coverage);
        assert_near(s.mad, cases[i].mad);
        assert_int_equal(s.outliers, cases[i].outliers);
    }
}

static void no_samples_give_nan_everywhere(void **state)
{
    (void)state;
    const Summary s = summarise(NULL, 0);
    const double all[] = { s.median, s.low, s.high, s.coverage, s.min, s.max, s.mad, s.drift };
    assert_int_equal(s.count, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_true(isnan(all[i]));
    assert_true(isinf(relative_half_width(&s)));
}

static void a_sample_that_is_not_finite_is_never_averaged_away(void **state)
{
    const double bad[] = { NAN, INFINITY, -INFINITY };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const double x[] = { 1, 2, 3, bad[i], 4, 5, 6, 7 };
        const Summary s = summarise(x, 8);
        const double all[] = { s.median, s.low, s.high, s.min, s.max, s.mad, s.drift };
        assert_int_equal(s.count, 8);
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) assert_true(isnan(all[k]));
        assert_true(isinf(relative_half_width(&s)));
    }
}

static void samples_are_left_in_their_order(void **state)
{
    double x[] = { 3, 1, 2, 9, 8, 7, 0.5 };
    const double before[] = { 3, 1, 2, 9, 8, 7, 0.5 };
    (void)state;
    (void)summarise(x, 7);
    (void)compare_samples(x, 7, 1, x, 7, 1, 0.02, 1);
    assert_memory_equal(x, before, sizeof x);
}

static void drift_is_the_second_half_over_the_first(void **state)
{
    const double x[] = { 1, 2, 3, 3, 4, 5 }, one[] = { 1 };
    (void)state;
    assert_near(summarise(x, 6).drift, 1);
    assert_near(summarise(x, 5).drift, 1);   /* {1, 2} against {3, 3, 4}: 3 / 1.5 - 1 */
    assert_true(isnan(summarise(one, 1).drift));
}

static void the_half_width_is_infinite_under_six_samples(void **state)
{
    const double x[] = { 99, 101, 100, 100, 100, 100 };
    (void)state;
    const Summary five = summarise(x, 5), six = summarise(x, 6);
    assert_true(isinf(relative_half_width(&five)));
    assert_near(relative_half_width(&six), 0.01);
}

static double normal(uint64_t seed, uint64_t i) { return 10 + random_normal(seed, 0, i); }
static double lognormal(uint64_t seed, uint64_t i) { return exp(random_normal(seed, 0, i)); }
/* Two narrow peaks at 1 and 2, the left one with weight 0.6: P(x <= m) = 0.6 F((m - 1) / 0.1) = 1/2 at F^-1(5/6) = 0.96742 sigma. */
static double bimodal(uint64_t seed, uint64_t i) { return (random_uniform(seed, 1, i) < 0.6 ? 1 : 2) + 0.1 * random_normal(seed, 0, i); }

static void the_interval_covers_the_true_median(void **state)
{
    const struct { const char *name; double (*sample)(uint64_t, uint64_t); double median; } cases[] = {
        { "normal", normal, 10 }, { "lognormal", lognormal, 1 }, { "bimodal", bimodal, 1 + 0.1 * 0.967421566101701 },
    };
    const size_t counts[] = { 6, 10, 25, 100, 301 };
    enum { RUNS = 2000 };
    double x[MOST];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            int covered = 0;
            double claimed = 0;
            for (uint64_t run = 0; run < RUNS; run++) {
                for (size_t i = 0; i < counts[j]; i++) x[i] = cases[k].sample(1000 * counts[j] + run, i);
                const Summary s = summarise(x, counts[j]);
                covered += s.low <= cases[k].median && cases[k].median <= s.high;
                claimed = s.coverage;
            }
            const double share = (double)covered / RUNS;
            if (!(claimed >= 0.95 && share >= 0.94 && share >= claimed - 0.015 && share <= claimed + 0.015))
                fail_msg("%s, %zu samples: %.4f covered, %.4f claimed", cases[k].name, counts[j], share, claimed);
        }
}

static void many_samples_do_not_underflow(void **state)
{
    enum { COUNT = 5000 };
    static double x[COUNT];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) x[i] = (double)(i + 1);
    const Summary s = summarise(x, COUNT);   /* normal approximation: 2500.5 -+ 1.96 sqrt(5000) / 2 */
    assert_true(s.coverage >= 0.95 && s.coverage < 0.953);
    assert_true(fabs(s.low - 2431.2) <= 1.5 && fabs(s.high - 2569.8) <= 1.5);
}

/* ---- two sets ---- */

static void the_same_code_twice_is_the_same(void **state)
{
    double a[MOST], b[MOST];
    int count[4] = { 0 };
    (void)state;
    for (uint64_t run = 0; run < 200; run++) {
        const double noise = 0.01 + 0.04 * random_uniform(7, run, 0), drift = 0.02 * random_uniform(7, run, 3);
        const size_t n = 10 + (size_t)(191 * random_uniform(7, run, 1)), m = 10 + (size_t)(191 * random_uniform(7, run, 2));
        draw_times(a, n, noise, drift, run, 1);
        draw_times(b, m, noise, drift, run, 2);
        count[compare_samples(a, n, 1, b, m, 1, 0.02, run).verdict]++;
    }
    if (count[SAME] < 190)
        fail_msg("SAME in %d of 200 (%d faster, %d slower, %d unsure)", count[SAME], count[FASTER], count[SLOWER], count[UNSURE]);
}

/* However few or noisy the samples: at most 5% and the chance of 400 draws. */
static void the_same_code_is_hardly_ever_called_slower_or_faster(void **state)
{
    const size_t counts[] = { 1, 2, 3, 4, 5, 6, 7, 10, 20, 50 };
    double a[MOST], b[MOST];
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int noisy = 0; noisy < 2; noisy++) {
            int wrong = 0;
            for (uint64_t run = 0; run < 200; run++) {
                draw_times(a, counts[k], noisy ? 0.2 : 0.03, 0, run, 3 + 2 * k);
                draw_times(b, counts[k], noisy ? 0.2 : 0.03, 0, run, 4 + 2 * k);
                const Verdict v = compare_samples(a, counts[k], 1, b, counts[k], 1, 0.02, run).verdict;
                wrong += v == SLOWER || v == FASTER;
            }
            if (wrong > 18) fail_msg("%zu samples: %d of 200 called faster or slower", counts[k], wrong);
        }
}

/* Each run has two rounds, and the machine is up to 10% slower in some: within a round the noise is 1%. */
static void rounds_that_disagree_are_not_taken_for_a_change_of_the_code(void **state)
{
    enum { ROUND = 40 };
    const double rounds[][4] = { { 1, 1.1, 1.08, 1.1 }, { 1.1, 1, 1.1, 1.09 }, { 1, 1, 1, 1.1 }, { 1, 1.1, 1.1, 1 } };   /* of A, A, B, B */
    (void)state;
    for (size_t k = 0; k < sizeof rounds / sizeof *rounds; k++) {
        double x[2][2 * ROUND];
        for (size_t i = 0; i < 4 * ROUND; i++)
            x[i / ROUND / 2][i % (2 * ROUND)] = rounds[k][i / ROUND] * exp(0.01 * random_normal(k, 21, i));
        for (int back = 0; back < 2; back++) {
            const Comparison c = compare_samples(x[back], 2 * ROUND, 1, x[1 - back], 2 * ROUND, 1, 0.02, 1);
            if (c.verdict == SLOWER || c.verdict == FASTER) fail_msg("case %zu: %s, %g to %g", k, verdict_name(c.verdict), c.low, c.high);
        }
    }
}

static void a_slow_down_of_5_percent_under_1_percent_of_noise_is_slower(void **state)
{
    const size_t counts[] = { 10, 30, 100 };
    double a[MOST], b[MOST];
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (uint64_t run = 0; run < 50; run++) {
            draw_times(a, counts[k], 0.01, 0, run, 11);
            draw_times(b, counts[k], 0.01, 0, run, 12);
            for (size_t i = 0; i < counts[k]; i++) b[i] *= 1.05;
            const Comparison c = compare_samples(a, counts[k], 1, b, counts[k], 1, 0.02, run);
            const Comparison back = compare_samples(b, counts[k], 1, a, counts[k], 1, 0.02, run);
            assert_int_equal(c.verdict, SLOWER);
            assert_int_equal(back.verdict, FASTER);
            assert_true(c.low <= c.ratio && c.ratio <= c.high && fabs(c.ratio - 1.05) < 0.03);
        }
}

static void twice_the_work_in_1_8_times_the_time_is_faster(void **state)
{
    double a[50], b[50];
    (void)state;
    draw_times(a, 50, 0.01, 0, 5, 1);
    draw_times(b, 50, 0.01, 0, 5, 2);
    for (size_t i = 0; i < 50; i++) b[i] *= 1.8;
    const Comparison c = compare_samples(a, 50, 1e9, b, 50, 2e9, 0.02, 1);
    assert_int_equal(c.verdict, FASTER);
    assert_true(fabs(c.ratio - 0.9) < 0.02);
    assert_int_equal(compare_samples(a, 50, 1, b, 50, 1, 0.02, 1).verdict, SLOWER);
}

static void verdicts_follow_from_effect_and_interval(void **state)
{
    const struct { double a[8]; size_t count_a; double b[8]; size_t count_b; double effect; Verdict verdict; } cases[] = {
        { { 1, 1, 1, 1, 1, 1 }, 6, { 1, 1, 1, 1, 1, 1 }, 6, 0.02, SAME },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 1, 1, 1, 1, 1, 1 }, 6, 0, SAME },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 1.01, 1.01, 1.01, 1.01, 1.01, 1.01 }, 6, 0.02, SAME },       /* real, and too small to matter */
        { { 1, 1, 1, 1, 1, 1 }, 6, { 1.01, 1.01, 1.01, 1.01, 1.01, 1.01 }, 6, 0.005, SLOWER },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 1.08, 1.08, 1.08, 1.08, 1.08, 1.08 }, 6, 0.1, SAME },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 0.9, 0.9, 0.9, 0.9, 0.9, 0.9 }, 6, 0.02, FASTER },
        { { 1, 2, 1, 2, 1, 2 }, 6, { 1, 2, 1, 2, 1, 2 }, 6, 0.02, UNSURE },                      /* too noisy */
        { { 1, 1.1, 1.2, 1.3 }, 4, { 2, 2.1, 2.2, 2.3 }, 4, 0.02, SLOWER },                      /* four against four, disjoint */
        { { 1, 1.1, 1.2, 2.05 }, 4, { 2, 2.1, 2.2, 2.3 }, 4, 0.02, UNSURE },                     /* not disjoint */
        { { 1, 1, 1 }, 3, { 5, 5, 5, 5, 5, 5 }, 6, 0.02, UNSURE },                               /* too few to say anything */
        { { 1 }, 1, { 1 }, 1, 0.02, UNSURE },
        { { 1, 1, 1, 1, 1, NAN }, 6, { 2, 2, 2, 2, 2, 2 }, 6, 0.02, UNSURE },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 2, 2, INFINITY, 2, 2, 2 }, 6, 0.02, UNSURE },
        { { 0, 0, 0, 0, 0, 0 }, 6, { 2, 2, 2, 2, 2, 2 }, 6, 0.02, UNSURE },
        { { 1, 1, 1, 1, 1, 1 }, 6, { 0 }, 0, 0.02, UNSURE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Comparison c = compare_samples(cases[i].a, cases[i].count_a, 1, cases[i].b, cases[i].count_b, 1, cases[i].effect, 1);
        if (c.verdict != cases[i].verdict)
            fail_msg("case %zu: %s, expected %s", i, verdict_name(c.verdict), verdict_name(cases[i].verdict));
    }
}

static void unknown_work_gives_no_verdict(void **state)
{
    const double x[] = { 1, 1, 1, 1, 1, 1 }, bad[] = { 0, NAN, INFINITY, -1 };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(compare_samples(x, 6, bad[i], x, 6, 1, 0.02, 1).verdict, UNSURE);
        assert_int_equal(compare_samples(x, 6, 1, x, 6, bad[i], 0.02, 1).verdict, UNSURE);
    }
}

/* Of 1, 2, ..., count against constant ones, the ratio is the bootstrap's median itself. For an odd count it is at most j with the
 * probability that Binomial(count, j / count) is (count + 1) / 2 or more; the even one comes from 400,000 simulated draws. */
static void the_bootstrap_has_the_exact_quantiles(void **state)
{
    const struct { size_t count; double low, high; } cases[] = { { 7, 2, 6 }, { 10, 3, 8 }, { 11, 3, 9 } };
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        double ones[MOST], x[MOST];
        for (size_t i = 0; i < cases[k].count; i++) {
            ones[i] = 1;
            x[i] = (double)(cases[k].count - i);
        }
        const Comparison c = compare_samples(ones, cases[k].count, 1, x, cases[k].count, 1, 0.02, 3);
        assert_near(c.ratio, 0.5 * (double)(cases[k].count + 1));
        assert_near(c.low, cases[k].low);
        assert_near(c.high, cases[k].high);
    }
}

static void a_comparison_depends_on_its_seed_alone(void **state)
{
    double a[40], b[40];
    (void)state;
    draw_times(a, 40, 0.1, 0, 1, 1);
    draw_times(b, 40, 0.1, 0, 1, 2);
    const Comparison one = compare_samples(a, 40, 1, b, 40, 1, 0.02, 9), two = compare_samples(a, 40, 1, b, 40, 1, 0.02, 9);
    assert_true(one.low == two.low && one.high == two.high && one.ratio == two.ratio);
    assert_true(one.low < one.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sets_have_the_known_summary),
        cmocka_unit_test(no_samples_give_nan_everywhere),
        cmocka_unit_test(a_sample_that_is_not_finite_is_never_averaged_away),
        cmocka_unit_test(samples_are_left_in_their_order),
        cmocka_unit_test(drift_is_the_second_half_over_the_first),
        cmocka_unit_test(the_half_width_is_infinite_under_six_samples),
        cmocka_unit_test(the_interval_covers_the_true_median),
        cmocka_unit_test(many_samples_do_not_underflow),
        cmocka_unit_test(the_same_code_twice_is_the_same),
        cmocka_unit_test(the_same_code_is_hardly_ever_called_slower_or_faster),
        cmocka_unit_test(rounds_that_disagree_are_not_taken_for_a_change_of_the_code),
        cmocka_unit_test(a_slow_down_of_5_percent_under_1_percent_of_noise_is_slower),
        cmocka_unit_test(twice_the_work_in_1_8_times_the_time_is_faster),
        cmocka_unit_test(verdicts_follow_from_effect_and_interval),
        cmocka_unit_test(unknown_work_gives_no_verdict),
        cmocka_unit_test(the_bootstrap_has_the_exact_quantiles),
        cmocka_unit_test(a_comparison_depends_on_its_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
