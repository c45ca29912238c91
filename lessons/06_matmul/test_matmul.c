/* matmul: right approaches are accepted at awkward sizes, wrong products are refused. */
#include "lessons/testing.h"
#include <omp.h>

enum { LARGEST_NAIVE = 300 }; /* the naive loops take seconds at 1,000 */

static void check_every_size(Where where)
{
    /* Around register tiles, blocks and the depth of a slab; primes. */
    static const size_t sizes[] = { 1,   2,   3,   12,  13,  31,  32,  33,  63,  64,   65,  127,
                                    129, 191, 193, 255, 256, 257, 479, 513, 1000, 1021, 1537 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 1; seed < (where == ON_CUDA && is_simulated() ? sizes[i] < 130 ? 2 : 0 : sizes[i] < 100 ? 20 : sizes[i] < 500 ? 4 : 2); seed += 2)
            check_approaches(&matmul_problem, where, sizes[i], seed, LARGEST_NAIVE);
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

enum { A, B }; /* the inputs */
static double entry_in(const Trial *t, int which, size_t i, size_t j) { return get_in(t, which, i + j * t->c.n); }
static double entry(const Trial *t, size_t i, size_t j) { return get_out(t, i + j * t->c.n); }
static void set_entry(const Trial *t, size_t i, size_t j, double value) { set_out(t, i + j * t->c.n, value); }

static void forget_one(const Trial *t) { set_entry(t, t->c.n / 3, t->c.n / 2, NAN); }
static void overflow_one(const Trial *t) { set_entry(t, t->c.n / 3, t->c.n / 2, INFINITY); }

static void forget_the_last_tile(const Trial *t)
{
    const size_t n = t->c.n, tile = n < 16 ? n : 16;
    for (size_t j = n - tile; j < n; j++)
        for (size_t i = n - tile; i < n; i++) set_entry(t, i, j, NAN);
}

/* By a hundredth of its typical size, anywhere. */
static void miss_a_little_in_one(const Trial *t)
{
    const size_t i = 2 * t->c.n / 3, j = t->c.n / 5;
    set_entry(t, i, j, entry(t, i, j) + 0.01 * sqrt((double)t->c.n) / 3);
}

static void transpose(const Trial *t)
{
    for (size_t j = 0; j < t->c.n; j++)
        for (size_t i = 0; i < j; i++) {
            const double upper = entry(t, i, j);
            set_entry(t, i, j, entry(t, j, i));
            set_entry(t, j, i, upper);
        }
}

static void swap_two_columns(const Trial *t)
{
    const size_t j = t->c.n / 2;
    for (size_t i = 0; i < t->c.n; i++) {
        const double left = entry(t, i, j);
        set_entry(t, i, j, entry(t, i, j + 1));
        set_entry(t, i, j + 1, left);
    }
}

/* Adds `times` the rank-one term of index k to rows first.. of C. */
static void add_term(const Trial *t, size_t k, double times, size_t first)
{
    for (size_t j = 0; j < t->c.n; j++)
        for (size_t i = first; i < t->c.n; i++) set_entry(t, i, j, entry(t, i, j) + times * entry_in(t, A, i, k) * entry_in(t, B, k, j));
}

static void stop_one_k_short(const Trial *t) { add_term(t, t->c.n - 1, -1, 0); }
static void count_one_k_twice(const Trial *t) { add_term(t, 0, 1, 0); }
static void stop_one_k_short_in_the_last_row(const Trial *t) { add_term(t, t->c.n - 1, -1, t->c.n - 1); }

/* The product of inputs with fewer bits, otherwise exact: what tensor cores do to float32 unless told not to. */
static void multiply_rounded(const Trial *t, int bits)
{
#pragma omp parallel for schedule(static)
    for (size_t j = 0; j < t->c.n; j++)
        for (size_t i = 0; i < t->c.n; i++) {
            double sum = 0;
            for (size_t k = 0; k < t->c.n; k++) sum += rounded(entry_in(t, A, i, k), bits) * rounded(entry_in(t, B, k, j), bits);
            set_entry(t, i, j, sum);
        }
}

static void use_tf32(const Trial *t) { multiply_rounded(t, TF32_BITS); }
static void use_a_lower_precision(const Trial *t) { multiply_rounded(t, t->c.precision == F32 ? 16 : FLOAT_BITS); }

static const Wrong wrong[] = {
    { "nothing was written", write_nothing },
    { "all is zero", write_zeros },
    { "one entry is NaN", forget_one },
    { "one entry is infinite", overflow_one },
    { "the last tile was not written", forget_the_last_tile },
    { "one entry is 1% off", miss_a_little_in_one },
    { "it is shifted by one entry", shift_by_one },
    { "it is transposed", transpose },
    { "two columns are swapped", swap_two_columns },
    { "the k loop is one short", stop_one_k_short },
    { "one k counts twice", count_one_k_twice },
    { "the k loop is one short in one row", stop_one_k_short_in_the_last_row },
    { "inputs were rounded to TF32", use_tf32 },
    { "inputs were rounded to a lower precision", use_a_lower_precision },
};

static void wrong_products_are_refused(void **state)
{
    static const size_t sizes[] = { 13, 33, 64, 100, 257 }; /* from 65 on, not every entry is sampled */
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int p = 0; p < PRECISIONS; p++) {
            Trial t = trial_create(&matmul_problem, 0, sizes[i], (Precision)p, 77);
            check_refusals(&t, &matmul_cpu_1_naive, wrong, sizeof wrong / sizeof *wrong);
            trial_destroy(&t);
        }
}

/* TF32's error doesn't grow with n, the tolerance does: at n = 16384 they must still be far apart. */
static void tf32_is_refused_at_the_largest_size(void **state)
{
    (void)state;
    Trial t = trial_create(&matmul_problem, 0, 128, F32, 4);
    use_tf32(&t);
    Case largest = t.c;
    largest.n = 16384;
    assert_true(trial_error(&t) > 5 * matmul_problem.tolerance(&largest, &t.b, t.reference));
    trial_destroy(&t);
}

/* k from the last to the first, and even k before odd ones, in float32 throughout. */
static void other_orders_are_accepted(void **state)
{
    (void)state;
    Trial t = trial_create(&matmul_problem, 0, 257, F32, 8);
    const size_t n = t.c.n, even = (n + 1) / 2;
    for (int order = 0; order < 2; order++) {
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++) {
                float sum = 0;
                for (size_t s = 0; s < n; s++) {
                    const size_t k = order == 0 ? n - 1 - s : s < even ? 2 * s : 2 * (s - even) + 1;
                    const float product = (float)(entry_in(&t, A, i, k) * entry_in(&t, B, k, j));
                    sum += product;
                }
                set_entry(&t, i, j, (double)sum);
            }
        trial_expect(&t, ACCEPTED, "another order");
    }
    trial_destroy(&t);
}

static void openmp_gives_the_same_bits_for_every_number_of_threads(void **state)
{
    static double alone[257 * 257];
    const int threads = omp_get_max_threads();
    (void)state;
    Trial t = trial_create(&matmul_problem, 0, 257, F64, 6);
    for (int k = 1; k <= 5; k++) {
        omp_set_num_threads(k);
        must_work(trial_run(&t, &matmul_cpu_2_openmp));
        if (k == 1) memcpy(alone, t.b.out, sizeof alone);
        else assert_memory_equal(alone, t.b.out, sizeof alone);
    }
    omp_set_num_threads(threads);
    trial_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
        cmocka_unit_test(wrong_products_are_refused),
        cmocka_unit_test(tf32_is_refused_at_the_largest_size),
        cmocka_unit_test(other_orders_are_accepted),
        cmocka_unit_test(openmp_gives_the_same_bits_for_every_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
