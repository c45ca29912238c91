/* The Cholesky problem takes right factors of every size and refuses wrong ones. */
#include "lessons/09_cholesky/problem.h"
#include "lessons/testing.h"

static void check_every_size(Where where)
{
    static const size_t sizes[] = { 1, 2, 31, 32, 33, 63, 65, 100, 127, 129, 255, 257, 521, 1000, 1009 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_approaches(&cholesky_problem, where, sizes[i], 2026, SIZE_MAX);
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

static void an_indefinite_matrix_is_an_error_that_names_the_row(void **state)
{
    static const Approach *const approaches[] = { &cholesky_gp_cpu_naive, &cholesky_gp_cpu_openmp };
    (void)state;
    Trial t = trial_create(&cholesky_problem, 0, 100, F64, 2026);
    set_in(&t, 0, 41 + 41 * t.c.n, -1);
    for (size_t a = 0; a < sizeof approaches / sizeof *approaches; a++) {
        assert_int_equal(trial_run(&t, approaches[a]), GP_NOT_POSITIVE_DEFINITE);
        assert_non_null(strstr(gp_message(), "row 41 "));
    }
    trial_destroy(&t);
}

static void return_the_matrix(const Trial *t) { memcpy(t->b.out, t->b.in[0], t->b.out_bytes); }
static void transpose(const Trial *t)
{
    const size_t n = t->c.n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++) {
            const double below = get_out(t, i + j * n);
            set_out(t, i + j * n, get_out(t, j + i * n));
            set_out(t, j + i * n, below);
        }
}
static void negate_a_column(const Trial *t)   /* L L' is still A */
{
    for (size_t i = 5; i < t->c.n; i++) set_out(t, i + 5 * t->c.n, -get_out(t, i + 5 * t->c.n));
}
static void change_one_element(const Trial *t)
{
    const size_t at = t->c.n - 1 + 77 * t->c.n;
    set_out(t, at, get_out(t, at) + 1e-3);
}
static void keep_the_bits_of_tf32(const Trial *t) { round_out(t, TF32_BITS); }
static void forget_the_root(const Trial *t)
{
    const size_t last = out_count(t) - 1;
    set_out(t, last, pow(get_out(t, last), 2));
}

static void wrong_factors_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "last pivot unwritten", forget_the_last }, { "a block unwritten", leave_block_unwritten },
        { "a block of zeros", zero_block }, { "the matrix itself", return_the_matrix }, { "transposed", transpose },
        { "a column too far", shift_by_a_column }, { "a negative pivot", negate_a_column }, { "one element changed", change_one_element },
        { "rounded to TF32", keep_the_bits_of_tf32 }, { "the last root forgotten", forget_the_root },
    };
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&cholesky_problem, 0, 521, (Precision)p, 2026);
        check_refusals(&t, &cholesky_gp_cpu_openmp, wrong, sizeof wrong / sizeof *wrong);
        trial_destroy(&t);
    }
}

static void tf32_inputs_are_refused(void **state)
{
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&cholesky_problem, 0, 2048, (Precision)p, 2026);
        round_in(&t, 0, TF32_BITS);
        must_work(trial_run(&t, &cholesky_gp_cpu_openmp));
        trial_expect(&t, REFUSED, "inputs in TF32");
        trial_destroy(&t);
    }
}

static void float32_factors_are_refused_in_float64(void **state)
{
    (void)state;
    Trial t = trial_create(&cholesky_problem, 0, 521, F64, 2026);
    must_work(trial_run(&t, &cholesky_gp_cpu_openmp));
    round_out(&t, FLOAT_BITS);
    trial_expect(&t, REFUSED, "float32 results");
    trial_destroy(&t);
}

static void nobody_looks_above_the_diagonal(void **state)
{
    (void)state;
    Trial t = trial_create(&cholesky_problem, 0, 257, F64, 2026);
    must_work(trial_run(&t, &cholesky_gp_cpu_openmp));
    poison_above_the_diagonal(&t);
    trial_expect(&t, ACCEPTED, "poison above the diagonal");
    trial_destroy(&t);
}

static void the_matrix_is_symmetric_with_the_stated_diagonal(void **state)
{
    (void)state;
    Trial t = trial_create(&cholesky_problem, 0, 129, F64, 2026);
    const double *A = t.b.in[0];
    for (size_t j = 0; j < t.c.n; j++) {
        assert_true(A[j + j * t.c.n] == 1 + CHOLESKY_NOISE);
        for (size_t i = j + 1; i < t.c.n; i++) {
            assert_true(A[i + j * t.c.n] == A[j + i * t.c.n]);
            assert_true(A[i + j * t.c.n] > exp(-4) && A[i + j * t.c.n] < 1);
        }
    }
    trial_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
        cmocka_unit_test(an_indefinite_matrix_is_an_error_that_names_the_row),
        cmocka_unit_test(wrong_factors_are_refused),
        cmocka_unit_test(tf32_inputs_are_refused),
        cmocka_unit_test(float32_factors_are_refused_in_float64),
        cmocka_unit_test(nobody_looks_above_the_diagonal),
        cmocka_unit_test(the_matrix_is_symmetric_with_the_stated_diagonal),
    };
    return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
