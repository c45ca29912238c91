/* The kernel-matrix problem takes right matrices of every size and refuses wrong ones. */
#include "lessons/08_kernel_matrix/problem.h"
#include "lessons/testing.h"

static void check_every_size(Where where)
{
    static const size_t sizes[] = { 1, 2, 31, 32, 33, 63, 65, 127, 129, 255, 257, 521, 1009 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_approaches(&kernel_matrix_problem, where, sizes[i], 2026, SIZE_MAX);
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

static void square_every_element(const Trial *t)   /* exp(-|a - b|^2 / l^2), the 2 forgotten */
{
    for (size_t i = 0; i < out_count(t); i++) set_out(t, i, pow(get_out(t, i), 2));
}
static void add_jitter(const Trial *t)
{
    for (size_t i = 0; i < t->c.n; i++) set_out(t, i + i * t->c.n, 1 + 1e-5);
}

static void wrong_matrices_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "last element unwritten", forget_the_last }, { "a block unwritten", leave_block_unwritten },
        { "a block of zeros", zero_block }, { "zeros", write_zeros }, { "a column too far", shift_by_a_column },
        { "a row too far", shift_by_one }, { "the factor 2 forgotten", square_every_element }, { "jitter on the diagonal", add_jitter },
    };
    (void)state;
    for (int p = 0; p < PRECISIONS; p++)
        for (int variant = 0; kernel_matrix_problem.variants[variant]; variant++) {
            Trial t = trial_create(&kernel_matrix_problem, variant, 257, (Precision)p, 2026);
            check_refusals(&t, &kernel_matrix_gp_cpu_openmp, wrong, sizeof wrong / sizeof *wrong);
            trial_destroy(&t);
        }
}

static void transpose_points(const Trial *t)
{
    const size_t n = t->c.n, bytes = t->b.in_bytes[0];
    void *kept = test_malloc(bytes);
    memcpy(kept, t->b.in[0], bytes);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < KERNEL_MATRIX_D; j++) set_in(t, 0, j + i * KERNEL_MATRIX_D, element(kept, i + j * n, t->c.precision));
    test_free(kept);
}

static void points_read_by_rows_are_refused(void **state)
{
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, (Precision)p, 2026);
        transpose_points(&t);
        must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp));
        trial_expect(&t, REFUSED, "points read by rows");
        trial_destroy(&t);
    }
}

static void tf32_inputs_are_refused(void **state)
{
    (void)state;
    for (int p = 0; p < PRECISIONS; p++) {
        Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, (Precision)p, 2026);
        round_in(&t, 0, TF32_BITS);
        must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp));
        trial_expect(&t, REFUSED, "inputs in TF32");
        trial_destroy(&t);
    }
}

static void float32_arithmetic_is_refused_in_float64(void **state)
{
    (void)state;
    Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 257, F64, 2026);
    must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp));
    round_out(&t, FLOAT_BITS);
    trial_expect(&t, REFUSED, "float32 results");
    trial_destroy(&t);
}

static void nobody_looks_above_the_diagonal_in_lower(void **state)
{
    (void)state;
    for (int variant = 0; kernel_matrix_problem.variants[variant]; variant++) {
        Trial t = trial_create(&kernel_matrix_problem, variant, 257, F64, 2026);
        must_work(trial_run(&t, &kernel_matrix_gp_cpu_openmp));
        poison_above_the_diagonal(&t);
        trial_expect(&t, variant == KERNEL_MATRIX_LOWER ? ACCEPTED : REFUSED, "poison above the diagonal");
        trial_destroy(&t);
    }
}

static void two_known_points_give_the_known_value(void **state)
{
    (void)state;
    Trial t = trial_create(&kernel_matrix_problem, KERNEL_MATRIX_FULL, 2, F64, 2026);
    for (size_t j = 0; j < KERNEL_MATRIX_D; j++) {   /* squared distance 8 * 0.25 = 2: exp(-1) */
        set_in(&t, 0, 2 * j, 0.25);
        set_in(&t, 0, 2 * j + 1, 0.75);
    }
    must_work(kernel_matrix_problem.reference(&t.c, &t.b, t.reference));
    assert_true(fabs(t.reference[1] - 0.36787944117144232160) < 1e-16);
    assert_true(t.reference[0] == 1);
    trial_destroy(&t);
}

static void a_size_beyond_every_memory_is_refused(void **state)
{
    (void)state;
    assert_non_null(kernel_matrix_problem.refuse(&(Case){ .n = ((size_t)1 << 28) + 1 }));
    assert_null(kernel_matrix_problem.refuse(&(Case){ .n = 65536 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
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
