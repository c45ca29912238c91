/* multiply: right approaches are accepted at awkward sizes, wrong answers are refused. */
#include "lessons/testing.h"

static void host_approaches_are_right_at_every_size(void **state)
{
    /* Around a warp, a block and a vector; primes; below and above the size from which large outputs are streamed. */
    static const size_t sizes[] = { 1, 2, 3, 31, 32, 33, 255, 257, 1000, 4099, 100003, (1u << 23) + 5 };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int p = 0; p < PRECISIONS; p++)
            for (uint64_t seed = 1; seed < (sizes[i] < 10000 ? 10 : 2); seed += 2)
                check_approaches(&multiply_problem, "multiply", sizes[i], (Precision)p, seed, SIZE_MAX);
}

static void leave_untouched(const InputSet *s, const InputSet *other)
{
    (void)other;
    poison(s->buffers.out, s->buffers.out_bytes);
}

static void forget_the_last_block(const InputSet *s, const InputSet *other)
{
    const size_t n = s->c.n, block = n < 256 ? n : n - n / 256 * 256;
    (void)other;
    for (size_t i = n - block; i < n; i++) set_element(s->buffers.out, i, s->c.precision, NAN);
}

static void forget_one(const InputSet *s, const InputSet *other)
{
    (void)other;
    set_element(s->buffers.out, s->c.n - 1, s->c.precision, NAN);
}

static void overflow_one(const InputSet *s, const InputSet *other)
{
    (void)other;
    set_element(s->buffers.out, s->c.n / 2, s->c.precision, INFINITY);
}

static void write_zeros(const InputSet *s, const InputSet *other)
{
    (void)other;
    memset(s->buffers.out, 0, s->buffers.out_bytes);
}

static void miss_two_units_in_one(const InputSet *s, const InputSet *other)
{
    const double right = element(s->buffers.out, s->c.n / 2, s->c.precision);
    (void)other;
    set_element(s->buffers.out, s->c.n / 2, s->c.precision, right * (1 + 2.5 * precision_epsilon(s->c.precision)));
}

static void shift_by_one(const InputSet *s, const InputSet *other)
{
    const size_t size = precision_bytes(s->c.precision);
    (void)other;
    memmove((char *)s->buffers.out + size, s->buffers.out, s->buffers.out_bytes - size);
}

static void read_one_input_shifted(const InputSet *s, const InputSet *other)
{
    const Buffers *b = &s->buffers;
    (void)other;
    for (size_t i = 0; i + 1 < s->c.n; i++)
        set_element(b->out, i, s->c.precision, element(b->in[0], i, s->c.precision) * element(b->in[1], i + 1, s->c.precision));
}

static void round_to(const InputSet *s, int bits)
{
    for (size_t i = 0; i < s->c.n; i++)
        set_element(s->buffers.out, i, s->c.precision, rounded(element(s->buffers.out, i, s->c.precision), bits));
}

static void round_to_half(const InputSet *s, const InputSet *other)
{
    (void)other;
    round_to(s, 11);
}

static void round_to_the_next_precision_below(const InputSet *s, const InputSet *other)
{
    (void)other;
    round_to(s, s->c.precision == F32 ? 16 : 24);
}

static void keep_the_answer_to_other_inputs(const InputSet *s, const InputSet *other)
{
    run_on(&multiply_cpu_1_naive, other);
    (void)s;
}

static void wrong_answers_are_refused(void **state)
{
    static const Wrong wrong[] = {
        { "nothing was written", leave_untouched },
        { "the last block was not written", forget_the_last_block },
        { "one element is NaN", forget_one },
        { "one element is infinite", overflow_one },
        { "all is zero", write_zeros },
        { "one element is 2 units off in the last place", miss_two_units_in_one },
        { "the result is shifted by one", shift_by_one },
        { "an input is read shifted by one", read_one_input_shifted },
        { "it is rounded to half", round_to_half },
        { "it is rounded to a lower precision", round_to_the_next_precision_below },
        { "it answers the previous inputs", keep_the_answer_to_other_inputs },
    };
    static const size_t sizes[] = { 33, 257, 1000, 4099 };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int p = 0; p < PRECISIONS; p++)
            check_refusals(&multiply_problem, "multiply", &multiply_cpu_1_naive, wrong, sizeof wrong / sizeof *wrong, sizes[i],
                           (Precision)p);
}

/* What the tolerance relies on. */
static void no_product_can_underflow(void **state)
{
    Inputs in;
    (void)state;
    make_inputs(&in, &multiply_problem, "multiply", 100003, F32, 5);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < in.set[0][0].c.n; i++) {
            const double x = fabs(element(in.set[0][0].buffers.in[k], i, F32));
            assert_true(x >= 0x1p-52 && x <= 1);
        }
    inputs_destroy(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_approaches_are_right_at_every_size),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(no_product_can_underflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
