/* Every allocation of the library fails in turn. This file's memory functions stand in front of common/memory.c: the linker takes
 * these and leaves the archive's out. Each failure must come back as GP_NO_MEMORY with nothing left behind. */
#include "common/memory.h"
#include "common/try.h"
#include "gp/gp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t asked, fail_at, live; /* allocations so far, which one fails (0: none), not freed yet */

GpStatus memory_alloc_uninitialised(void *out, size_t count, size_t size, const char *what)
{
    void **slot = out;
    *slot = NULL;
    if (++asked == fail_at) return (fail)(GP_NO_MEMORY, "%s: refused by the test", what); /* cmocka has a macro of this name */
    *slot = malloc(count * size + 1);
    assert_non_null(*slot);
    memset(*slot, 0xFF, count * size);
    live++;
    return GP_OK;
}

GpStatus memory_alloc(void *out, size_t count, size_t size, const char *what)
{
    const GpStatus status = memory_alloc_uninitialised(out, count, size, what);
    if (status == GP_OK) memset(*(void **)out, 0, count * size);
    return status;
}

void memory_free(void *p)
{
    if (p) live--;
    free(p);
}

size_t memory_available(void) { return 0; }

static const double x[] = { 1, 3, 5, 6, 7, 8 }, y[] = { 1, -1, 2, 0, 1, 3 }, one = 1;

/* Everything that a caller does, from the context to the second, larger prediction. */
static GpStatus whole_life(const char *backend, GpPrecision precision)
{
    const GpData data = { .n = 6, .d = 1, .x = x, .ldx = 6, .y = y };
    GpStatus status = GP_OK;
    GpContext *c = NULL;
    GpKernel *k = NULL, *copy = NULL;
    GpModel *m = NULL;
    double mean[6], variance[6], lml;
    TRY(gp_context_create(&c, backend, precision, 0));
    TRY(gp_kernel_rbf(&k, 1, &one, 1));
    TRY(gp_kernel_copy(&copy, k));
    TRY(gp_fit(&m, c, copy, &data, NULL));
    TRY(gp_predict(m, 2, x, 2, mean, variance, NULL));
    TRY(gp_predict(m, 6, x, 6, mean, variance, NULL));
    TRY(gp_log_marginal_likelihood(m, &lml));
cleanup:
    if (status != GP_OK && fail_at == 0) print_message("%s\n", gp_message());
    gp_model_destroy(m);
    gp_kernel_destroy(copy);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    return status;
}

/* A fit that must fail, because two rows are equal: its message needs memory, too. */
static GpStatus failing_fit(const char *backend, GpPrecision precision)
{
    const double twice[] = { 1, 1 };
    const GpData data = { .n = 2, .d = 1, .x = twice, .ldx = 2, .y = y };
    const GpFitOptions strict = { .noise_variance = 0, .max_jitter = 0 };
    GpStatus status = GP_OK;
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *m = NULL;
    TRY(gp_context_create(&c, backend, precision, 0));
    TRY(gp_kernel_rbf(&k, 1, &one, 1));
    TRY(gp_fit(&m, c, k, &data, &strict));
cleanup:
    assert_null(m);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    return status;
}

static void fail_each_in_turn(GpStatus (*life)(const char *, GpPrecision), GpStatus at_last)
{
    for (size_t b = 0; b < gp_backend_count(); b++) {
        const char *name = gp_backend_name(b);
        if (gp_backend_unavailable(name)) {
            print_message("%s skipped: %s\n", name, gp_backend_unavailable(name));
            continue;
        }
        for (int precision = GP_F64; precision <= GP_F32; precision++) {
            for (fail_at = 1;; fail_at++) {
                asked = live = 0;
                const GpStatus status = life(name, (GpPrecision)precision);
                assert_int_equal(live, 0);
                if (asked < fail_at) {
                    assert_int_equal(status, at_last);
                    break;
                }
                assert_int_equal(status, GP_NO_MEMORY);
                assert_non_null(strstr(gp_message(), "refused by the test"));
            }
            print_message("%s %s: %zu allocations failed in turn\n", name, precision == GP_F64 ? "f64" : "f32", fail_at - 1);
            assert_true(fail_at > 5);
        }
    }
}

static void fit_and_predict_survive_every_refused_allocation(void **state)
{
    (void)state;
    fail_each_in_turn(whole_life, GP_OK);
}

static void a_failing_fit_survives_every_refused_allocation(void **state)
{
    (void)state;
    fail_each_in_turn(failing_fit, GP_NOT_POSITIVE_DEFINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_and_predict_survive_every_refused_allocation),
        cmocka_unit_test(a_failing_fit_survives_every_refused_allocation),
    };
    return cmocka_run_group_tests_name("gp/allocation", tests, NULL, NULL);
}
