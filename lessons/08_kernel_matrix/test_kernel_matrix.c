/* The kernel-matrix problem takes right matrices of every size and refuses wrong ones. */
#include "lessons/08_kernel_matrix/problem.h"
#include "lessons/trial.h"

static const Approach *const approaches[] = { &kernel_matrix_gp_cpu_naive, &kernel_matrix_gp_cpu_openmp };
static const size_t sizes[] = { 1, 2, 31, 33, 257, 521 };
enum { APPROACHES = sizeof approaches / sizeof *approaches, SIZES = sizeof sizes / sizeof *sizes };

static void right_matrices_are_accepted(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < SIZES; k++)
        for (int p = 0; p < PRECISIONS; p++)
            for (int variant = 0; kernel_matrix_problem.variants[variant]; variant++) {
                Trial t = trial_create(&kernel_matrix_problem, variant, sizes[k], (Precision)p);
                for (size_t a = 0; a < APPROACHES; a++) {
                    must_work(trial_run(&t, approaches[a], 2));
                    trial_expect(&t, 1, approaches[a]->backend);
                }
                trial_destroy(&t);
            }
}

static void leave_last_element_unwritten(Trial *t) { put(t->b.out, t->c.n * t->c.n - 1, t->c.precision, NAN); }
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
static void zero_everything(Trial *t) { memset(t->b.out, 0, t->b.out_bytes); }
static void shift_by_a_column(Trial *t)
{
    const size_t column = t->b.out_bytes / t->c.n;
    memmove((char *)t->b.out + column, t->b.out, t->b.out_bytes - column);
}
static void shift_by_a_row(Trial *t)
{
    const size_t bytes = precision_bytes(t->c.precision);
    memmove((char *)t->b.out + bytes, t->b.out, t->b.out_bytes - bytes);
}
static void square_every_element(Trial *t)   /* exp(-|a - b|^2 / l^2), the 2 forgotten */
{
    for (size_t i = 0; i < t->c.n * t->c.n; i++) put(t->b.out, i, t->c.precision, pow(element(t->b.out, i, t->c.precision), 2));
}
static void add_jitter(Trial *t)
{
    for (size_t i = 0; i < t->c.n; i++) put(t->b.out, i + i * t->c.n, t->c.precision, 1 + 1e-5);
}

static void wrong_matrices_are_refused(void **unused)
{
    static const struct { const char *name; void (*spoil)(Trial *); } mistakes[] = {
        { "last element unwritten", leave_last_element_unwritten }, { "a block unwritten", leave_block_unwritten },
        { "a block of zeros", zero_block }, { "zeros", zero_everything }, { "a column too far", shift_by_a_column },
        { "a row too far", shift_by_a_row }, { "the factor 2 forgotten", square_every_element }, { "jitter on the diagonal", add_jitter },
    };
    (void)unused;
    for (int p = 0; p < PRECISIONS; p++)
        for (int variant = 0; kernel_matrix_problem.variants[variant]; variant++)
            for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
                Trial t = trial_create(&kernel_matrix_problem, variant, 257, (Precision)p);
                must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp, 1));
                mistakes[k].spoil(&t);
                trial_expect(&t, 0, mistakes[k].name);
                trial_destroy(&t);
            }
}

static void run_on_transposed_points(Trial *t)
{
    const size_t n = t->c.n, bytes = t->b.in_bytes[0];
    char *kept = test_malloc(bytes);
    memcpy(kept, t->b.in[0], bytes);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < KERNEL_MATRIX_D; j++)
            put(t->b.in[0], j + i * KERNEL_MATRIX_D, t->c.precision, element(kept, i + j * n, t->c.precision));
    must_work(trial_run(t, &kernel_matrix_gp_cpu_openmp, 1));
    test_free(kept);
}

static void points_read_by_rows_are_refused(void **unused)
{
    (void)unused;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, (Precision)p);
        run_on_transposed_points(&t);
        trial_expect(&t, 0, "points read by rows");
        trial_destroy(&t);
    }
}

static void tf32_inputs_are_refused(void **unused)
{
    (void)unused;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, (Precision)p);
        round_input(&t, 0);
        must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp, 1));
        trial_expect(&t, 0, "inputs of 10 bits");
        trial_destroy(&t);
    }
}

static void float32_arithmetic_is_refused_in_float64(void **unused)
{
    (void)unused;
    Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, F64);
    must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp, 1));
    for (size_t i = 0; i < t.c.n * t.c.n; i++) put(t.b.out, i, F64, (double)(float)element(t.b.out, i, F64));
    trial_expect(&t, 0, "float32 results");
    trial_destroy(&t);
}

static void nobody_looks_above_the_diagonal_in_lower(void **unused)
{
    (void)unused;
    for (int variant = 0; kernel_matrix_problem.variants[variant]; variant++) {
        Trial t = trial_create(&kernel_matrix_problem, variant, 257, F64);
        must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp, 1));
        for (size_t j = 1; j < t.c.n; j++)
            for (size_t i = 0; i < j; i++) put(t.b.out, i + j * t.c.n, F64, NAN);
        trial_expect(&t, variant == KERNEL_MATRIX_LOWER, "poison above the diagonal");
        trial_destroy(&t);
    }
}

static void two_known_points_give_the_known_value(void **unused)
{
    (void)unused;
    Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 2, F64);
    double *x = t.b.in[0];
    for (size_t j = 0; j < KERNEL_MATRIX_D; j++) {   /* squared distance 8 * 0.25 = 2: exp(-1) */
        x[2 * j] = 0.25;
        x[2 * j + 1] = 0.75;
    }
    must_work(kernel_matrix_problem.reference(&t.c, &t.b, t.reference));
    assert_true(fabs(t.reference[1] - 0.36787944117144232160) < 1e-16);
    assert_true(t.reference[0] == 1);
    trial_destroy(&t);
}

static void a_size_beyond_every_memory_is_refused(void **unused)
{
    (void)unused;
    assert_non_null(kernel_matrix_problem.refuse(&(Case){ .n = ((size_t)1 << 28) + 1 }));
    assert_null(kernel_matrix_problem.refuse(&(Case){ .n = 65536 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_matrices_are_accepted),
        cmocka_unit_test(wrong_matrices_are_refused),
        cmocka_unit_test(points_read_by_rows_are_refused),
        cmocka_unit_test(tf32_inputs_are_refused),
        cmocka_unit_test(float32_arithmetic_is_refused_in_float64),
        cmocka_unit_test(nobody_looks_above_the_diagonal_in_lower),
        cmocka_unit_test(two_known_points_give_the_known_value),
        cmocka_unit_test(a_size_beyond_every_memory_is_refused),
    };
    return cmocka_run_group_tests_name("kernel matrix", tests, NULL, NULL);
}
