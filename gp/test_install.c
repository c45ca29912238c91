/* The installed library is enough for somebody else's program: its header alone, shared and static. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_install_XXXXXX";

static const char program[] =
    "#include <gp.h>\n"
    "#include <stdio.h>\n"
    "int main(void)\n"
    "{\n"
    "    const double x[] = { 0, 1, 2 }, y[] = { 0, 1, 0 }, z = 1;\n"
    "    const GpData data = { .n = 3, .d = 1, .x = x, .ldx = 3, .y = y };\n"
    "    GpContext *c; GpKernel *k; GpModel *m; double mean;\n"
    "    if (gp_context_create(&c, \"cpu/openmp\", GP_F64, 0) || gp_kernel_parse(&k, \"1*rbf(1)\", 1) || gp_fit(&m, c, k, &data, NULL) ||\n"
    "        gp_predict(m, 1, &z, 1, &mean, NULL, NULL)) { puts(gp_message()); return 1; }\n"
    "    printf(\"%.3f\\n\", mean);\n"
    "    gp_model_destroy(m); gp_kernel_destroy(k); gp_context_destroy(c);\n"
    "    return 0;\n"
    "}\n";

static int run(const char *line)
{
    char command[2048];
    snprintf(command, sizeof command, "T=%s; { %s; } >$T/log 2>&1 || { cat $T/log; false; }", folder, line);
    return system(command);
}

static void write_program(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/p.c", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(program, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void a_program_needs_the_installed_files_alone(void **state)
{
    (void)state;
    if (!getenv("BUILD")) skip();   /* make test says which build to install */
    write_program();
    assert_int_equal(run("make -s --no-print-directory install PREFIX=$T/usr BUILD=$BUILD"), 0);
    if (run("nm -D $T/usr/lib/libgp.so | grep -q __asan") == 0) skip();   /* wants a program that is built so too */
    assert_int_equal(run("cd $T && cc -Wall -Wextra -pedantic -std=c11 -Iusr/include p.c -Lusr/lib -lgp -o p && test "
                         "\"$(LD_LIBRARY_PATH=usr/lib:$LD_LIBRARY_PATH ./p)\" = 1.000"),
                     0);
    assert_int_equal(
        run("cd $T && libs=$(sed -n 's/^Libs.private: //p' usr/lib/pkgconfig/gp.pc) && cc -Iusr/include p.c usr/lib/libgp.a $libs -o s && "
            "test \"$(./s)\" = 1.000"),
        0);
    assert_int_equal(run("c++ -std=c++17 -fsyntax-only -x c++ $T/usr/include/gp.h || ! command -v c++"), 0);
    assert_int_equal(run("test -z \"$(nm -D --defined-only $T/usr/lib/libgp.so | grep -v ' gp_')\""), 0);   /* no name but ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_program_needs_the_installed_files_alone) };
    char command[64];
    if (!mkdtemp(folder)) return 1;
    const int failures = cmocka_run_group_tests_name("install", tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failures : 1;
}
