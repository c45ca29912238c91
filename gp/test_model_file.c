/* Model files: every digit comes back, and what was cut, edited or is newer is refused with its line. */
#define _GNU_SOURCE
#include "gp/model_file.h"
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

static char folder[] = "/tmp/test_model_file_XXXXXX", path[64];

static double x[] = { 0.1, -3e-300, 7, 1.0 / 3, 2, 1e300 }, y[] = { -0.0, 5e-324, M_PI };
static char *names[] = { "first one", "b,\"quoted\"" };

static GpModelFile small(void)
{
    return (GpModelFile){ .kernel = "2*rbf(0.1,3 in 1e-3..10)", .target = "y value", .column = names, .precision = GP_F32, .noise = 0.1,
                          .max_jitter = 1e-6, .lml = -12.5, .normalise = 1, .mean = GP_MEAN_LINEAR, .n = 3, .d = 2, .x = x, .y = y };
}

static void write_small(void)
{
    const GpModelFile m = small();
    if (gp_model_file_write(path, &m) != GP_OK) fail_msg("%s", gp_message());
}

static void every_digit_comes_back(void **state)
{
    GpModelFile back;
    (void)state;
    write_small();
    if (gp_model_file_read(&back, path) != GP_OK) fail_msg("%s", gp_message());
    assert_string_equal(back.kernel, "2*rbf(0.1,3 in 1e-3..10)");
    assert_string_equal(back.target, "y value");
    assert_string_equal(back.column[0], names[0]);
    assert_string_equal(back.column[1], names[1]);
    assert_true(back.n == 3 && back.d == 2 && back.precision == GP_F32 && back.normalise == 1 && back.mean == GP_MEAN_LINEAR);
    assert_true(back.noise == 0.1 && back.max_jitter == 1e-6 && back.lml == -12.5);
    assert_memory_equal(back.x, x, sizeof x);
    assert_memory_equal(back.y, y, sizeof y);
    gp_model_file_free(&back);
}

static char *contents(size_t *size)
{
    struct stat file;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &file), 0);
    char *text = test_malloc((size_t)file.st_size + 1);
    *size = fread(text, 1, (size_t)file.st_size, f);
    text[*size] = '\0';
    fclose(f);
    return text;
}

static void put(const char *text, size_t size)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void expect_refused(const char *what, const char *says)
{
    GpModelFile m;
    const GpStatus status = gp_model_file_read(&m, path);
    if (status != GP_BAD_DATA || !strstr(gp_message(), says) || !strstr(gp_message(), path) || strchr(gp_message(), '\n'))
        fail_msg("%s: status %d, \"%s\", expected \"%s\"", what, (int)status, gp_message(), says);
    assert_true(m.x == NULL && m.kernel == NULL);
}

static void every_cut_is_seen(void **state)
{
    size_t size;
    (void)state;
    write_small();
    char *text = contents(&size);
    for (size_t length = 0; length < size; length++) {
        put(text, length);
        GpModelFile m;
        if (gp_model_file_read(&m, path) != GP_BAD_DATA) fail_msg("%zu of %zu bytes were taken for a model", length, size);
    }
    put(text, size / 2);
    expect_refused("half", "line");
    test_free(text);
}

static void every_changed_byte_is_seen(void **state)
{
    size_t size;
    (void)state;
    write_small();
    char *text = contents(&size);
    for (size_t i = 0; i < size; i++) {
        text[i] ^= 1;
        put(text, size);
        GpModelFile m;
        if (gp_model_file_read(&m, path) != GP_BAD_DATA) fail_msg("byte %zu, '%c', was changed and not seen", i, text[i]);
        text[i] ^= 1;
    }
    test_free(text);
}

static void what_is_wrong_is_said(void **state)
{
    const struct { const char *from, *to, *says; } cases[] = {
        { "gp model 1", "gp model 2", "newer version, 2" }, { "gp model 1", "hello", "no model file" },
        { "points 3", "points 900000000000", "more points than the file has room for" }, { "points 3", "points -1", "'points ...' expected" }, { "points 3", "points 0", "no columns or no points" },
        { "noise 0x1.9", "noise nan 0x1.9", "not a finite number" }, { "precision f32", "precision f16", "neither f32 nor f64" },
        { "mean linear", "mean cubic", "none of zero, constant, linear" }, { "target ", "tarmac ", "'target ...' expected" }, { "lml -0x1.9", "lml -0x1.8", "checksum differs" },
    };
    size_t size;
    (void)state;
    write_small();
    char *text = contents(&size);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *at = strstr(text, cases[k].from), *changed = NULL;
        assert_non_null(at);
        const int length = asprintf(&changed, "%.*s%s%s", (int)(at - text), text, cases[k].to, at + strlen(cases[k].from));
        put(changed, (size_t)length);
        expect_refused(cases[k].to, cases[k].says);
        free(changed);
    }
    test_free(text);
}

static void nothing_is_left_of_a_file_that_cannot_be_written(void **state)
{
    GpModelFile m = small(), back;
    char *bad[] = { "with\nbreak", "b" };
    (void)state;
    assert_int_equal(gp_model_file_write("/nonexistent/m.gp", &m), GP_IO);
    assert_non_null(strstr(gp_message(), "/nonexistent/m.gp"));
    assert_int_equal(gp_model_file_write(folder, &m), GP_IO);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(gp_model_file_write("/dev/full", &m), GP_IO);
        assert_non_null(strstr(gp_message(), "No space"));
    }
    write_small();
    m.column = bad;
    assert_int_equal(gp_model_file_write(path, &m), GP_BAD_ARGUMENT);   /* and the old one is still there */
    assert_int_equal(gp_model_file_read(&back, path), GP_OK);
    gp_model_file_free(&back);
    assert_int_equal(gp_model_file_read(&back, "/nonexistent/m.gp"), GP_IO);
    assert_int_equal(gp_model_file_read(&back, folder), GP_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_digit_comes_back),
        cmocka_unit_test(every_cut_is_seen),
        cmocka_unit_test(every_changed_byte_is_seen),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(nothing_is_left_of_a_file_that_cannot_be_written),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/m.gp", folder);
    const int failed = cmocka_run_group_tests_name("model file", tests, NULL, NULL);
    (void)unlink(path);
    return rmdir(folder) != 0 ? 1 : failed;   /* not empty: a temporary was left */
}
