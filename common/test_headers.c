/* Every public header compiles alone, as C11 and as C++17. */
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void compiles_alone(const char *compiler, const char *flags, const char *pattern)
{
    glob_t found;
    char command[1024];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", compiler);
    if (system(command) != 0) skip();
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strstr(found.gl_pathv[i], "test_")) continue;
        snprintf(command, sizeof command, "echo '#include \"%s\"' | %s %s -Wall -Wextra -fsyntax-only -fopenmp -I. -I%s -",
                 found.gl_pathv[i], compiler, flags, getenv("BUILD") ? getenv("BUILD") : "build");
        if (system(command) != 0) fail_msg("%s does not compile alone with %s", found.gl_pathv[i], compiler);
    }
    globfree(&found);
}

static void every_header_compiles_alone_as_c(void **state)
{
    const char *const folders[] = { "common/*.h", "gp/*.h", "bench/*.h" };
    (void)state;
    for (size_t i = 0; i < 3; i++) compiles_alone("cc", "-std=c11 -x c", folders[i]);
}

static void headers_that_cuda_code_includes_compile_as_cpp(void **state)
{
    const char *const headers[] = { "common/*.h", "gp/gp.h", "gp/backend.h", "bench/bench.h", "bench/device.h" };
    (void)state;
    for (size_t i = 0; i < 5; i++) compiles_alone("c++", "-std=c++17 -x c++", headers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_header_compiles_alone_as_c),
        cmocka_unit_test(headers_that_cuda_code_includes_compile_as_cpp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
