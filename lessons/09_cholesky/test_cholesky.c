/* The Cholesky problem takes right factors of every size and refuses wrong ones. */
#include "lessons/09_cholesky/problem.h"
#include "lessons/trial.h"

static const Approach *const approaches[] = { &cholesky_gp_cpu_naive, &cholesky_gp_cpu_openmp };
static const size_t sizes[] = { 1, 2, 31, 33, 257, 521, 1000 };
enum { APPROACHES = sizeof approaches / sizeof *approaches, SIZES = sizeof sizes / sizeof *sizes };

static void right_factors_are_accepted(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < SIZES; k++)
        for (int p = 0; p < PRECISIONS; p++) {
            Trial t = trial_create(&cholesky_problem, 0, sizes[k], (Precision)p);
            for (size_t a = 0; a < APPROACHES; a++) {
                must_work(trial_run(&t, approaches[a], 1));
                trial_expect(&t, 1, approaches[a]->backend);
            }
            trial_destroy(&t);
        }
}

static void a_second_run_factors_the_same_matrix(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < APPROACHES; a++) {
        Trial t = trial_create(&cholesky_problem, 0, 100, F64);
        must_work(trial_run(&t, approaches[a], 3));
        trial_expect(&t, 1, approaches[a]->backend);
        trial_destroy(&t);
    }
}

static void an_indefinite_matrix_is_an_error_that_names_the_row(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < APPROACHES; a++) {
        Trial t = trial_create(&cholesky_problem, 0, 100, F64);
        put(t.b.in[0], 41 + 41 * t.c.n, F64, -1);
        assert_int_equal(trial_run(&t, approaches[a], 1), GP_NOT_POSITIVE_DEFINITE);
        assert_non_null(strstr(gp_message(), "row 41 "));
        trial_destroy(&t);
    }
}

static void leave_last_pivot_unwritten(Trial *t) { put(t->b.out, t->c.n * t->c.n - 1, t->c.precision, NAN); }
static void leave_block_unwritten(Trial *t)
{
    for (size_t j = 32; j < 64; j++)
        for (size_t i = 64; i < 96; i++) put(t->b.out, i + j * t->c.n, t->c.precision, NAN);
}
static void zero_block(Trial *t)
{
    for (size_t j = 32; j < 64; j++)
        for (size_t i = 64; i < 96; i++) put(t->b.out, i + j * t->c.n, t->c.precision, 0);
}
static void return_the_matrix(Trial *t) { memcpy(t->b.out, t->b.in[0], t->b.out_bytes); }
static void transpose(Trial *t)
{
    const size_t n = t->c.n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++) {
            const double below = element(t->b.out, i + j * n, t->c.precision);
            put(t->b.out, i + j * n, t->c.precision, element(t->b.out, j + i * n, t->c.precision));
            put(t->b.out, j + i * n, t->c.precision, below);
        }
}
static void shift_by_a_column(Trial *t)
{
    const size_t column = t->b.out_bytes / t->c.n;
    memmove((char *)t->b.out + column, t->b.out, t->b.out_bytes - column);
}
static void negate_a_column(Trial *t)   /* L L' is still A */
{
    for (size_t i = 5; i < t->c.n; i++) put(t->b.out, i + 5 * t->c.n, t->c.precision, -element(t->b.out, i + 5 * t->c.n, t->c.precision));
}
static void change_one_element(Trial *t)
{
    const size_t at = t->c.n - 1 + 77 * t->c.n;
    put(t->b.out, at, t->c.precision, element(t->b.out, at, t->c.precision) + 1e-3);
}
static void keep_ten_bits(Trial *t)
{
    for (size_t i = 0; i < t->c.n * t->c.n; i++) put(t->b.out, i, t->c.precision, ten_bits(element(t->b.out, i, t->c.precision)));
}
static void forget_the_root(Trial *t)
{
    const size_t last = t->c.n * t->c.n - 1;
    put(t->b.out, last, t->c.precision, pow(element(t->b.out, last, t->c.precision), 2));
}

static void wrong_factors_are_refused(void **unused)
{
    static const struct { const char *name; void (*spoil)(Trial *); } mistakes[] = {
        { "last pivot unwritten", leave_last_pivot_unwritten }, { "a block unwritten", leave_block_unwritten },
        { "a block of zeros", zero_block }, { "the matrix itself", return_the_matrix }, { "transposed", transpose },
        { "a column too far", shift_by_a_column }, { "a negative pivot", negate_a_column }, { "one element changed", change_one_element },
        { "10 bits kept", keep_ten_bits }, { "the last root forgotten", forget_the_root },
    };
    (void)unused;
    for (int p = 0; p < PRECISIONS; p++)
        for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
            Trial t = trial_create(&cholesky_problem, 0, 521, (Precision)p);
            must_work(trial_run(&t, &cholesky_gp_cpu_openmp, 1));
            mistakes[k].spoil(&t);
            trial_expect(&t, 0, mistakes[k].name);
            trial_destroy(&t);
        }
}

static void tf32_inputs_are_refused(void **unused)
{
    (void)unused;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&cholesky_problem, 0, 2048, (Precision)p);
        round_input(&t, 0);
        must_work(trial_run(&t, &cholesky_gp_cpu_openmp, 1));
        trial_expect(&t, 0, "inputs of 10 bits");
        trial_destroy(&t);
    }
}

static void float32_factors_are_refused_in_float64(void **unused)
{
    (void)unused;
    Trial t = trial_create(&cholesky_problem, 0, 521, F64);
    must_work(trial_run(&t, &cholesky_gp_cpu_openmp, 1));
    for (size_t i = 0; i < t.c.n * t.c.n; i++) put(t.b.out, i, F64, (double)(float)element(t.b.out, i, F64));
    trial_expect(&t, 0, "float32 results");
    trial_destroy(&t);
}

static void nobody_looks_above_the_diagonal(void **unused)
{
    (void)unused;
    Trial t = trial_create(&cholesky_problem, 0, 257, F64);
    must_work(trial_run(&t, &cholesky_gp_cpu_openmp, 1));
    for (size_t j = 1; j < t.c.n; j++)
        for (size_t i = 0; i < j; i++) put(t.b.out, i + j * t.c.n, F64, NAN);
    trial_expect(&t, 1, "poison above the diagonal");
    trial_destroy(&t);
}

static void the_matrix_is_symmetric_with_the_stated_diagonal(void **unused)
{
    (void)unused;
    Trial t = trial_create(&cholesky_problem, 0, 129, F64);
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
        cmocka_unit_test(right_factors_are_accepted),
        cmocka_unit_test(a_second_run_factors_the_same_matrix),
        cmocka_unit_test(an_indefinite_matrix_is_an_error_that_names_the_row),
        cmocka_unit_test(wrong_factors_are_refused),
        cmocka_unit_test(tf32_inputs_are_refused),
        cmocka_unit_test(float32_factors_are_refused_in_float64),
        cmocka_unit_test(nobody_looks_above_the_diagonal),
        cmocka_unit_test(the_matrix_is_symmetric_with_the_stated_diagonal),
    };
    return cmocka_run_group_tests_name("cholesky", tests, NULL, NULL);
}
