/* Expressions compiled for the GPU: needs NVRTC, but no GPU; what the kernels compute is test_composite's. */
#define _GNU_SOURCE
#include "common/status.h"
#include "gp/cuda_compiled.h"
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_cuda_compiled_XXXXXX";

static GpExpression expression(const char *text, size_t d)
{
    GpExpression e;
    if (gp_expression_parse(&e, text, d) != GP_OK) fail_msg("%s", gp_message());
    return e;
}

/* Skips the test where there is no NVRTC. */
static void *compiled(const GpExpression *e, GpPrecision p, size_t *size)
{
    char *source = gp_compiled_source(e, p);
    void *cubin = NULL;
    assert_non_null(source);
    const GpStatus status = gp_compiled_cubin(source, 9, 0, &cubin, size);
    free(source);
    if (status == GP_UNAVAILABLE && strstr(gp_message(), "no NVRTC")) skip();
    if (status != GP_OK) fail_msg("%s", gp_message());
    return cubin;
}

static void numbers_are_what_device_code_needs(void **state)
{
    const GpExpression e = expression("3*rbf(2,4)*periodic(5,0.5) + rq(0.8,2)*matern12(1e-39) + linear(7) + white(0.1)", 2);
    const double expected[] = { 3, 0.5, 0.25, 0.2, 8, 0.8, 0.5, 3.4e38, 7, 0.1 };
    (void)state;
    assert_int_equal(e.parameters, 10);
    for (int p = 0; p < 10; p++)
        if (fabs(gp_device_number(&e, p, 3.4e38) - expected[p]) > 1e-15 * expected[p]) fail_msg("number %d", p);
}

static void every_function_compiles_in_both_precisions(void **state)
{
    const GpExpression e = expression("2*rbf(1,2,3) + matern12(1)*matern32(2) + matern52(1)[1]*rq(0.8,1.2) + periodic(1,0.7)^2*linear(2) "
                                      "+ white(0.1)", 3);
    (void)state;
    for (int p = 0; p < 2; p++) {
        size_t size = 0;
        char *cubin = compiled(&e, p ? GP_F32 : GP_F64, &size);
        assert_true(size > 1000 && memcmp(cubin, "\177ELF", 4) == 0);
        free(cubin);
    }
}

/* The one file of the cache, and its path; 0: there is none. */
static ino_t cached_file(char *path, size_t size)
{
    struct stat file = { .st_ino = 0 };
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        if (entry->d_name[0] == '.') continue;
        assert_true(file.st_ino == 0);   /* one file, and nothing temporary beside it */
        snprintf(path, size, "%s/%s", folder, entry->d_name);
        assert_int_equal(stat(path, &file), 0);
    }
    if (d) closedir(d);
    return file.st_ino;
}

static void empty_the_cache(void)
{
    char path[512];
    if (cached_file(path, sizeof path)) assert_int_equal(unlink(path), 0);
}

static void change_byte(const char *path, long from_end)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, from_end, SEEK_END), 0);
    const int byte = fgetc(f);
    assert_int_equal(fseek(f, from_end, SEEK_END), 0);
    fputc(byte ^ 1, f);
    assert_int_equal(fclose(f), 0);
}

static void machine_code_is_kept_and_a_damaged_file_replaced(void **state)
{
    GpExpression e = expression("2*rbf(1)", 1);
    char path[512];
    size_t size = 0, again = 0;
    (void)state;
    if (getenv("GP_CACHE") == NULL || rmdir(folder) != 0) fail();   /* the folder is made where it is missing */
    char *first = compiled(&e, GP_F64, &size);
    const ino_t kept = cached_file(path, sizeof path);
    assert_true(kept != 0);

    e.parameter[1].value = 3;   /* parameters are no part of the key */
    free(compiled(&e, GP_F64, &again));
    assert_true(cached_file(path, sizeof path) == kept);

    for (int damage = 0; damage < 3; damage++) {
        const ino_t before = cached_file(path, sizeof path);
        if (damage == 0) change_byte(path, -100);                   /* the code    */
        else if (damage == 1) change_byte(path, -(long)size - 50);  /* the key     */
        else assert_int_equal(truncate(path, 1000), 0);
        char *second = compiled(&e, GP_F64, &again);
        assert_true(again == size && memcmp(first, second, size) == 0);
        assert_true(cached_file(path, sizeof path) != before);   /* a new file in its place */
        free(second);
        second = compiled(&e, GP_F64, &again);   /* from the new file */
        assert_true(again == size && memcmp(first, second, size) == 0);
        free(second);
    }
    free(first);
    empty_the_cache();
}

static void settings_turn_the_cache_and_the_compiler_off(void **state)
{
    const GpExpression e = expression("2*rbf(1)", 1);
    char path[512], *source = gp_compiled_source(&e, GP_F32);
    void *cubin = NULL;
    size_t size = 0;
    (void)state;
    setenv("GP_CACHE", "off", 1);
    free(compiled(&e, GP_F32, &size));
    setenv("GP_CACHE", folder, 1);
    assert_true(cached_file(path, sizeof path) == 0 && access("off", F_OK) != 0);
    setenv("GP_NVRTC", "off", 1);
    assert_int_equal(gp_compiled_cubin(source, 9, 0, &cubin, &size), GP_UNAVAILABLE);
    assert_non_null(strstr(gp_message(), "GP_NVRTC"));
    unsetenv("GP_NVRTC");
    free(source);
}

static void what_cannot_be_compiled_says_so(void **state)
{
    void *cubin = NULL;
    size_t size = 0;
    (void)state;
    const GpStatus status = gp_compiled_cubin("nonsense", 9, 0, &cubin, &size);
    assert_int_equal(status, GP_UNAVAILABLE);
    if (strstr(gp_message(), "no NVRTC")) skip();
    assert_non_null(strstr(gp_message(), "nonsense"));
    assert_null(cubin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_what_device_code_needs),
        cmocka_unit_test(machine_code_is_kept_and_a_damaged_file_replaced),
        cmocka_unit_test(settings_turn_the_cache_and_the_compiler_off),
        cmocka_unit_test(what_cannot_be_compiled_says_so),
        cmocka_unit_test(every_function_compiles_in_both_precisions),
    };
    if (!mkdtemp(folder)) return 1;
    setenv("GP_CACHE", folder, 1);
    const int failed = cmocka_run_group_tests_name("cuda_compiled", tests, NULL, NULL);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 ? 1 : failed;
}
