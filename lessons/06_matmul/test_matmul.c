/* matmul: right approaches are accepted at awkward sizes, wrong products are refused. */
#include "lessons/testing.h"
#include <omp.h>

enum { LARGEST_NAIVE = 300 }; /* the naive loops take seconds at 1,000 */

static void host_approaches_are_right_at_every_size(void **state)
{
    /* Around register tiles, blocks and the depth of a slab; primes. */
    static const size_t sizes[] = { 1, 2, 3, 12, 13, 31, 32, 33, 64, 65, 191, 193, 255, 256, 257, 479, 513, 1000, 1021, 1537 };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int p = 0; p < PRECISIONS; p++)
            for (uint64_t seed = 1; seed < (sizes[i] < 100 ? 20 : sizes[i] < 500 ? 4 : 2); seed += 2)
                check_approaches(&matmul_problem, "matmul", sizes[i], (Precision)p, seed, LARGEST_NAIVE);
}

static double entry(const void *x, size_t i, size_t j, const InputSet *s) { return element(x, i + j * s->c.n, s->c.precision); }
static void set_entry(const InputSet *s, size_t i, size_t j, double value)
{
    set_element(s->buffers.out, i + j * s->c.n, s->c.precision, value);
}

static void leave_untouched(const InputSet *s, const InputSet *o)
{
    (void)o;
    poison(s->buffers.out, s->buffers.out_bytes);
}
static void write_zeros(const InputSet *s, const InputSet *o)
{
    (void)o;
    memset(s->buffers.out, 0, s->buffers.out_bytes);
}
static void forget_one(const InputSet *s, const InputSet *o)
{
    (void)o;
    set_entry(s, s->c.n / 3, s->c.n / 2, NAN);
}
static void overflow_one(const InputSet *s, const InputSet *o)
{
    (void)o;
    set_entry(s, s->c.n / 3, s->c.n / 2, INFINITY);
}
static void keep_the_answer_to_other_inputs(const InputSet *s, const InputSet *o)
{
    (void)s;
    run_on(&matmul_cpu_1_naive, o);
}

static void forget_the_last_tile(const InputSet *s, const InputSet *o)
{
    const size_t n = s->c.n, tile = n < 16 ? n : 16;
    (void)o;
    for (size_t j = n - tile; j < n; j++)
        for (size_t i = n - tile; i < n; i++) set_entry(s, i, j, NAN);
}

/* By a hundredth of its typical size, anywhere. */
static void miss_a_little_in_one(const InputSet *s, const InputSet *o)
{
    const size_t i = 2 * s->c.n / 3, j = s->c.n / 5;
    (void)o;
    set_entry(s, i, j, entry(s->buffers.out, i, j, s) + 0.01 * sqrt((double)s->c.n) / 3);
}

static void shift_by_one(const InputSet *s, const InputSet *o)
{
    const size_t size = precision_bytes(s->c.precision);
    (void)o;
    memmove((char *)s->buffers.out + size, s->buffers.out, s->buffers.out_bytes - size);
}

static void transpose(const InputSet *s, const InputSet *o)
{
    (void)o;
    for (size_t j = 0; j < s->c.n; j++)
        for (size_t i = 0; i < j; i++) {
            const double upper = entry(s->buffers.out, i, j, s), lower = entry(s->buffers.out, j, i, s);
            set_entry(s, i, j, lower);
            set_entry(s, j, i, upper);
        }
}

static void swap_two_columns(const InputSet *s, const InputSet *o)
{
    const size_t j = s->c.n / 2;
    (void)o;
    for (size_t i = 0; i < s->c.n; i++) {
        const double left = entry(s->buffers.out, i, j, s);
        set_entry(s, i, j, entry(s->buffers.out, i, j + 1, s));
        set_entry(s, i, j + 1, left);
    }
}

/* Adds `times` the rank-one term of index k to rows first.. of C. */
static void add_term(const InputSet *s, size_t k, double times, size_t first)
{
    for (size_t j = 0; j < s->c.n; j++)
        for (size_t i = first; i < s->c.n; i++)
            set_entry(s, i, j,
                      entry(s->buffers.out, i, j, s) + times * entry(s->buffers.in[0], i, k, s) * entry(s->buffers.in[1], k, j, s));
}

static void stop_one_k_short(const InputSet *s, const InputSet *o)
{
    (void)o;
    add_term(s, s->c.n - 1, -1, 0);
}
static void count_one_k_twice(const InputSet *s, const InputSet *o)
{
    (void)o;
    add_term(s, 0, 1, 0);
}
static void stop_one_k_short_in_the_last_row(const InputSet *s, const InputSet *o)
{
    (void)o;
    add_term(s, s->c.n - 1, -1, s->c.n - 1);
}

/* The product of inputs with fewer bits, otherwise exact: what tensor cores do to float32 unless told not to. */
static void multiply_rounded(const InputSet *s, int bits)
{
#pragma omp parallel for schedule(static)
    for (size_t j = 0; j < s->c.n; j++)
        for (size_t i = 0; i < s->c.n; i++) {
            double sum = 0;
            for (size_t k = 0; k < s->c.n; k++)
                sum += rounded(entry(s->buffers.in[0], i, k, s), bits) * rounded(entry(s->buffers.in[1], k, j, s), bits);
            set_entry(s, i, j, sum);
        }
}

static void use_tf32(const InputSet *s, const InputSet *o)
{
    (void)o;
    multiply_rounded(s, 11);
}
static void use_a_lower_precision(const InputSet *s, const InputSet *o)
{
    (void)o;
    multiply_rounded(s, s->c.precision == F32 ? 16 : 24);
}

static const Wrong wrong[] = {
    { "nothing was written", leave_untouched },
    { "all is zero", write_zeros },
    { "one entry is NaN", forget_one },
    { "one entry is infinite", overflow_one },
    { "it answers the previous inputs", keep_the_answer_to_other_inputs },
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
        for (int p = 0; p < PRECISIONS; p++)
            check_refusals(&matmul_problem, "matmul", &matmul_cpu_1_naive, wrong, sizeof wrong / sizeof *wrong, sizes[i], (Precision)p);
}

/* TF32's error doesn't grow with n, the tolerance does: at n = 16384 they must still be far apart. */
static void tf32_is_refused_at_the_largest_size(void **state)
{
    Inputs in;
    (void)state;
    make_inputs(&in, &matmul_problem, "matmul", 128, F32, 4);
    const InputSet *s = &in.set[0][0];
    multiply_rounded(s, 11);
    Case largest = s->c;
    largest.n = 16384;
    assert_true(matmul_problem.error(&s->c, &s->buffers, s->reference) > 5 * matmul_problem.tolerance(&largest, &s->buffers, s->reference));
    inputs_destroy(&in);
}

/* k from the last to the first, and even k before odd ones, in float32 throughout. */
static void other_orders_are_accepted(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        Inputs in;
        make_inputs(&in, &matmul_problem, "matmul", 257, F32, 8);
        const InputSet *s = &in.set[0][0];
        const size_t n = s->c.n;
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++) {
                float sum = 0;
                for (size_t t = 0; t < n; t++) {
                    const size_t k = order ? (t < (n + 1) / 2 ? 2 * t : 2 * (t - (n + 1) / 2) + 1) : n - 1 - t;
                    const float product = (float)(entry(s->buffers.in[0], i, k, s) * entry(s->buffers.in[1], k, j, s));
                    sum += product;
                }
                set_entry(s, i, j, (double)sum);
            }
        assert_true(accepted(&matmul_problem, s));
        inputs_destroy(&in);
    }
}

static void openmp_gives_the_same_bits_for_every_number_of_threads(void **state)
{
    static double alone[257 * 257];
    const int threads = omp_get_max_threads();
    Inputs in;
    (void)state;
    make_inputs(&in, &matmul_problem, "matmul", 257, F64, 6);
    const InputSet *s = &in.set[0][0];
    for (int t = 1; t <= 5; t++) {
        omp_set_num_threads(t);
        run_on(&matmul_cpu_2_openmp, s);
        if (t == 1) memcpy(alone, s->buffers.out, sizeof alone);
        else assert_memory_equal(alone, s->buffers.out, sizeof alone);
    }
    omp_set_num_threads(threads);
    inputs_destroy(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right_at_every_size),
        cmocka_unit_test(wrong_products_are_refused),
        cmocka_unit_test(tf32_is_refused_at_the_largest_size),
        cmocka_unit_test(other_orders_are_accepted),
        cmocka_unit_test(openmp_gives_the_same_bits_for_every_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
