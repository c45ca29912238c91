#define _GNU_SOURCE
#include "common/blas_core.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/random.h"
#include "common/try.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void a_failure_keeps_its_message_and_may_quote_the_last_one(void **state)
{
    (void)state;
    assert_int_equal((fail)(GP_IO, "a %d", 3), GP_IO);
    assert_string_equal(gp_message(), "a 3");
    assert_int_equal((fail)(GP_BAD_DATA, "outer: %s", gp_message()), GP_BAD_DATA);
    assert_string_equal(gp_message(), "outer: a 3");
}

static void *fail_elsewhere(void *unused)
{
    (fail)(GP_IO, "another thread");
    return unused;
}

static void messages_belong_to_their_thread(void **state)
{
    (void)state;
    pthread_t thread;
    (fail)(GP_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(gp_message(), "mine");
}

static void memory_is_aligned_zeroed_and_refused_in_words_when_it_cannot_be(void **state)
{
    (void)state;
    double *x = NULL;
    assert_int_equal(memory_alloc(&x, 1000, sizeof *x, "x"), GP_OK);
    assert_int_equal((uintptr_t)x % 64, 0);
    for (int i = 0; i < 1000; i++) assert_true(x[i] == 0);
    memory_free(x);
    assert_int_equal(memory_alloc(&x, 0, 8, "nothing"), GP_OK);
    assert_non_null(x);
    memory_free(x);
    memory_free(NULL);
    assert_int_equal(memory_alloc(&x, SIZE_MAX / 4, 8, "the matrix"), GP_NO_MEMORY);
    assert_null(x);
    assert_non_null(strstr(gp_message(), "the matrix"));
    assert_int_equal(memory_alloc_uninitialised(&x, (size_t)1 << 60, 1, "the matrix"), GP_NO_MEMORY);
    assert_true(memory_available() > 0);
}

static void a_core_older_than_the_instructions_is_replaced(void **state)
{
    (void)state;
    assert_string_equal(blas_core_for("Prescott", 1, 1), "SkylakeX");
    assert_string_equal(blas_core_for("Prescott", 0, 1), "Haswell");
    assert_null(blas_core_for("Prescott", 0, 0));
    assert_null(blas_core_for("SapphireRapids", 1, 1));
    assert_null(blas_core_for("Zen", 0, 1));
}

/* Known answer of Philox4x32-10 for a zero counter and key, from Random123's own kat_vectors. */
static void random_numbers_are_philox(void **state)
{
    (void)state;
    assert_int_equal(random_bits(0, 0, 0), (uint64_t)0x6627e8d5 | (uint64_t)0xe169c58d << 32);
}

static void random_arrays_do_not_depend_on_who_fills_them(void **state)
{
    (void)state;
    enum { N = 10000 };
    static double d[N];
    static float f[N];
    double sum = 0, squares = 0;
    random_fill_f64(d, N, 42, 1, -1, 1);
    random_fill_f32(f, N, 42, 1, -1, 1);
    for (size_t i = 0; i < N; i++) {
        assert_true(d[i] == -1 + 2 * random_uniform(42, 1, i));
        assert_true(d[i] >= -1 && d[i] < 1 && f[i] < 1 && fabs((double)f[i] - d[i]) < 1e-7);
        sum += d[i];
        squares += d[i] * d[i];
    }
    assert_true(fabs(sum / N) < 5 / sqrt(3.0 * N)); /* five standard errors */
    assert_true(fabs(squares / N - 1.0 / 3) < 0.02);
}

static void normal_numbers_have_mean_zero_and_variance_one(void **state)
{
    (void)state;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 100000; i++) {
        const double z = random_normal(3, 9, i);
        assert_true(isfinite(z));
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / 1e5) < 5 / sqrt(1e5));
    assert_true(fabs(squares / 1e5 - 1) < 5 * sqrt(2 / 1e5));
}

static void a_permutation_holds_every_index_once(void **state)
{
    (void)state;
    size_t order[1000];
    unsigned char seen[1000] = { 0 };
    random_permutation(order, 1000, 5, 1);
    size_t fixed = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(order[i] < 1000 && !seen[order[i]]);
        seen[order[i]] = 1;
        fixed += order[i] == i;
    }
    assert_true(fixed < 20);
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    double before = clock_s();
    for (int i = 0; i < 1000; i++) {
        const double now = clock_s();
        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_resolution_s() > 0 && clock_resolution_s() < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_keeps_its_message_and_may_quote_the_last_one),
        cmocka_unit_test(messages_belong_to_their_thread),
        cmocka_unit_test(memory_is_aligned_zeroed_and_refused_in_words_when_it_cannot_be),
        cmocka_unit_test(a_core_older_than_the_instructions_is_replaced),
        cmocka_unit_test(random_numbers_are_philox),
        cmocka_unit_test(random_arrays_do_not_depend_on_who_fills_them),
        cmocka_unit_test(normal_numbers_have_mean_zero_and_variance_one),
        cmocka_unit_test(a_permutation_holds_every_index_once),
        cmocka_unit_test(the_clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
