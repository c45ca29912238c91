/* vector_add: right approaches are accepted at awkward sizes, wrong answers are refused. */
#include "lessons/testing.h"

static void check_every_size(Where where)
{
    /* Around a warp, a block and a vector; primes; below and above the size from which large outputs are streamed. */
    static const size_t sizes[] = { 1, 2, 3, 31, 32, 33, 63, 65, 127, 129, 255, 257, 1000, 4099, 100003, (1u << 23) + 5 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t seed = 1; seed < (sizes[i] < 10000 ? 10 : 2); seed += 2)
            check_approaches(&vector_add_problem, where, sizes[i], seed, SIZE_MAX);
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

static void forget_the_last_block(const Trial *t)
{
    const size_t n = t->c.n, block = n < 256 ? n : n - n / 256 * 256;
    for (size_t i = n - block; i < n; i++) set_out(t, i, NAN);
}

static void overflow_one(const Trial *t) { set_out(t, t->c.n / 2, INFINITY); }

static void miss_two_units_in_one(const Trial *t)
{
    set_out(t, t->c.n / 2, get_out(t, t->c.n / 2) * (1 + 2.5 * precision_epsilon(t->c.precision)));
}

static void read_one_input_shifted(const Trial *t)
{
    for (size_t i = 0; i + 1 < t->c.n; i++) set_out(t, i, get_in(t, 0, i) + get_in(t, 1, i + 1));
}

static void round_to_half(const Trial *t) { round_out(t, TF32_BITS); }
static void round_to_the_next_precision_below(const Trial *t) { round_out(t, t->c.precision == F32 ? 16 : FLOAT_BITS); }

static void wrong_answers_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "nothing was written", write_nothing },
        { "the last block was not written", forget_the_last_block },
        { "one element is NaN", forget_the_last },
        { "one element is infinite", overflow_one },
        { "all is zero", write_zeros },
        { "one element is 2 units off in the last place", miss_two_units_in_one },
        { "the result is shifted by one", shift_by_one },
        { "an input is read shifted by one", read_one_input_shifted },
        { "it is rounded to half", round_to_half },
        { "it is rounded to a lower precision", round_to_the_next_precision_below },
    };
    static const size_t sizes[] = { 33, 257, 1000, 4099 };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int p = 0; p < PRECISIONS; p++) {
            Trial t = trial_create(&vector_add_problem, 0, sizes[i], (Precision)p, 77);
            check_refusals(&t, &vector_add_cpu_1_naive, wrong, sizeof wrong / sizeof *wrong);
            trial_destroy(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right),
        cmocka_unit_test(cuda_approaches_are_right),
        cmocka_unit_test(wrong_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
