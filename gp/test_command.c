/* The command as a person meets it: what it says, how it exits, what it leaves behind. The program's path comes in GP_CLI. */
#define _GNU_SOURCE
#include "gp/gp.h"
#include "gp/model_file.h"
#include "gp/table.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_command_XXXXXX", output[65536];

/* Runs a line of sh with G, the program, and T, the folder; its exit code. */
static int run(const char *line)
{
    char command[4096];
    snprintf(command, sizeof command, "G=%s; T=%s; { %s; } 2>&1", getenv("GP_CLI"), folder, line);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = '\0';
    const int state = pclose(f);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

static void expect(const char *line, int code, const char *says)
{
    const int got = run(line);
    if (got != code || !strstr(output, says))
        fail_msg("%s\n  exit %d, expected %d with \"%s\"; it said:\n%s", line, got, code, says, output);
}

/* One line, and no file besides those that were there. */
static void expect_mistake(const char *line, int code, const char *says)
{
    char count[64];
    run("ls $T | wc -l");
    snprintf(count, sizeof count, "%.63s", output);
    expect(line, code, says);
    const char *end = strchr(output, '\n');
    if (!end || end[1] != '\0') fail_msg("%s: not one line:\n%s", line, output);
    run("ls $T | wc -l");
    if (strcmp(output, count) != 0) fail_msg("%s: something was left behind", line);
}

static int prepare(void **state)
{
    (void)state;
    return run("printf 'a,b,y\\n' > $T/t.csv; for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo \"$i,$((i * i % 7)),$((i * 2 + i % 3))\"; done >> $T/t.csv;"
               "printf 'y,b,a\\n0,1,2.5\\n0,2,3.5\\n' > $T/new.csv; : > $T/empty.csv; printf 'a,b,y\\n' > $T/header.csv;"
               "printf 'a,b,y\\n1,2\\n' > $T/ragged.csv; printf 'a,b,y\\n1,2,x\\n' > $T/text.csv; printf '1,2,3\\n4,5,6\\n' > $T/names.csv;"
               "printf '\\357\\273\\277\"a\",b,\"y\"\\r\\n1,2,3\\r\\n\\r\\n2,3,5\\r\\n4,4,4\\r\\n' > $T/windows.csv;"
               "$G fit $T/t.csv --target y --kernel '1*rbf(2,3)' --noise 0.1 -o $T/m.gp && head -c 300 $T/m.gp > $T/cut.gp;"
               "sed 's/gp model 1/gp model 7/' $T/m.gp > $T/newer.gp; sed 's/^noise .*/noise 0x1p+2/' $T/m.gp > $T/edited.gp");
}

static void mistakes_get_one_clear_line_and_leave_nothing(void **state)
{
    static const struct { const char *line; int code; const char *says; } cases[] = {
        { "$G nonsense", 2, "unknown verb 'nonsense'" },
        { "$G fit", 2, "takes 1 file" },
        { "$G fit $T/t.csv -o $T/x.gp", 2, "--target NAME is missing" },
        { "$G fit $T/t.csv --target y", 2, "-o FILE is missing" },
        { "$G fit $T/t.csv --target y --samples 3 -o $T/x.gp", 2, "--samples is no option of gp fit" },
        { "$G fit $T/t.csv --target y --restarts many -o $T/x.gp", 2, "--restarts needs a number" },
        { "$G fit $T/t.csv --target y --noise -1 -o $T/x.gp", 2, "--noise needs a number" },
        { "$G fit $T/t.csv --target y --nonsense -o $T/x.gp", 2, "unknown option '--nonsense'" },
        { "$G fit $T/t.csv --target y --precision f16 -o $T/x.gp", 2, "f64 or f32" },
        { "$G fit $T/t.csv --target y --mean cubic -o $T/x.gp", 2, "zero, constant or linear" },
        { "$G fit $T/t.csv --target y --backend abacus -o $T/x.gp", 2, "abacus" },
        { "$G fit $T/t.csv --target y --no-train -o $T/x.gp", 2, "--no-train without --noise" },
        { "$G fit $T/t.csv --target z -o $T/x.gp", 2, "a, b, y" },
        { "$G fit $T/t.csv --target y --features a,c -o $T/x.gp", 2, "'c'" },
        { "$G fit $T/t.csv --target y --features a,y -o $T/x.gp", 2, "is the target" },
        { "$G fit $T/t.csv --target y --kernel '2*rbg(1)' -o $T/x.gp", 2, "character 3" },
        { "$G fit $T/t.csv --target y -o $T/t.csv", 2, "overwrite its own input" },
        { "$G fit $T/t.csv --target y -o /nonexistent/x.gp", 1, "/nonexistent/x.gp" },
        { "$G fit $T/t.csv --target y --quiet -o /dev/full", 1, "No space" },
        { "$G fit $T/missing.csv --target y -o $T/x.gp", 1, "missing.csv" },
        { "$G fit $T/empty.csv --target y -o $T/x.gp", 1, "empty.csv" },
        { "$G fit $T/header.csv --target y -o $T/x.gp", 1, "no row below it" },
        { "$G fit $T/ragged.csv --target y -o $T/x.gp", 1, "line 2" },
        { "$G fit $T/text.csv --target y -o $T/x.gp", 1, "line 2" },
        { "$G fit $T/names.csv --target y -o $T/x.gp", 1, "add a header line" },
        { "$G predict $T/m.gp -o $T/x.csv", 2, "takes 2 files" },
        { "$G predict $T/m.gp $T/t.csv -o $T/m.gp", 2, "overwrite its own input" },
        { "$G predict $T/t.csv $T/t.csv -o $T/x.csv", 1, "no model file" },
        { "$G predict $T/cut.gp $T/t.csv -o $T/x.csv", 1, "cut off" },
        { "$G predict $T/newer.gp $T/t.csv -o $T/x.csv", 1, "newer version, 7" },
        { "$G predict $T/edited.gp $T/t.csv -o $T/x.csv", 1, "checksum differs" },
        { "$G predict $T/m.gp $T/text.csv -o $T/x.csv", 1, "line 2" },
        { "printf 'a\\n1\\n' | $G predict $T/m.gp /dev/stdin -o $T/x.csv", 2, "'b'" },
        { "$G predict $T/m.gp $T/new.csv -o /dev/full", 1, "No space" },
        { "$G predict $T/m.gp $T/new.csv --json -o -", 2, "both write" },
        { "$G plot $T/m.gp -o $T/x.svg", 2, "--x NAME" },
        { "$G plot $T/m.gp --x c -o $T/x.svg", 2, "'c'" },
        { "$G plot $T/m.gp --x a -o $T/x.gif", 2, ".svg or .png" },
        { "mkdir -p $T/bin; PATH=$T/bin $G plot $T/m.gp --x a -o $T/x.svg; code=$?; rmdir $T/bin; exit $code", 1, "gnuplot is not installed" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_mistake(cases[i].line, cases[i].code, cases[i].says);
}

static void help_fits_a_screen(void **state)
{
    int lines = 0;
    (void)state;
    expect("$G help", 0, "gp predict MODEL TABLE");
    for (const char *c = output; *c; c++) lines += *c == '\n';
    assert_in_range(lines, 10, 26);
    expect("$G fit --help", 0, "--kernel");
    expect("$G", 2, "gp fit");
    expect("$G --version", 0, "gp ");
}

/* Through the files: the same bits as the library's own answer. */
static void predictions_are_the_librarys_to_the_last_bit(void **state)
{
    const double lengths[] = { 2, 3 };
    const double at[] = { 2.5, 3.5, 1, 2 };   /* a, b of the two rows, whose columns stand in another order */
    double mean[2], variance[2];
    char path[64];
    GpTable t, got;
    GpContext *c = NULL;
    GpKernel *k = NULL;
    GpModel *m = NULL;
    GpFitOptions o = gp_fit_defaults(GP_F64);
    (void)state;
    o.noise_variance = 0.1;
    expect("$G fit $T/t.csv --target y --kernel '1*rbf(2,3)' --noise 0.1 --no-train --backend cpu/naive -o $T/exact.gp && "
           "$G predict $T/exact.gp $T/new.csv --std --backend cpu/naive -o $T/exact.csv", 0, "2 rows");
    snprintf(path, sizeof path, "%s/t.csv", folder);
    assert_int_equal(gp_table_read(&t, path), GP_OK);
    snprintf(path, sizeof path, "%s/exact.csv", folder);
    assert_int_equal(gp_table_read(&got, path), GP_OK);
    const GpData data = { .n = t.rows, .d = 2, .x = t.value, .ldx = t.rows, .y = t.value + 2 * t.rows };
    assert_int_equal(gp_context_create(&c, "cpu/naive", GP_F64, 0), GP_OK);
    assert_int_equal(gp_kernel_rbf(&k, 1, lengths, 2), GP_OK);
    assert_int_equal(gp_fit(&m, c, k, &data, &o), GP_OK);
    assert_int_equal(gp_predict(m, 2, at, 2, mean, variance, NULL), GP_OK);
    assert_true(got.rows == 2 && got.columns == 5);
    for (size_t i = 0; i < 2; i++) {
        assert_true(got.value[i] == at[i] && got.value[i + 2] == at[i + 2]);
        assert_true(got.value[i + 4] == mean[i] && got.value[i + 6] == sqrt(variance[i]));
        assert_true(got.value[i + 8] == sqrt(variance[i] + 0.1));
    }
    gp_model_destroy(m);
    gp_kernel_destroy(k);
    gp_context_destroy(c);
    gp_table_free(&t);
    gp_table_free(&got);
}

static void every_verb_works_and_speaks_json(void **state)
{
    (void)state;
    expect("$G fit $T/t.csv --target y -o $T/w.gp", 0, "saved: ");
    assert_non_null(strstr(output, "noise variance"));
    expect("$G fit $T/windows.csv --target y --features a --noise 0.1 -o $T/w2.gp", 0, "3 points, 1 column");
    expect("$G fit $T/t.csv --target y --mean linear --kernel '1*rbf(1)' -o $T/lin.gp", 0, " a ");
    expect("$G predict $T/lin.gp $T/new.csv -o -", 0, "a,b,mean\n2.5,1,");
    expect("$G fit $T/t.csv --target y --json -o $T/w.gp", 0, "\"converged\":true");
    expect("$G predict $T/w.gp $T/new.csv --json -o $T/p.csv", 0, "\"rows\":2");
    expect("$G predict $T/w.gp $T/new.csv --cov -o -", 0, "a,b,mean,cov1,cov2\n2.5,1,");
    expect("$G predict $T/w.gp $T/new.csv --std -o - | head -n 1", 0, "a,b,mean,std,std_y\n");
    expect("$G sample $T/w.gp $T/new.csv --samples 2 --seed 5 -o - > $T/s1; $G sample $T/w.gp $T/new.csv --samples 2 --seed 5 -o - > $T/s2; "
           "cmp $T/s1 $T/s2 && head -n 1 $T/s1", 0, "a,b,sample1,sample2");
    expect("$G loo $T/w.gp --json -o $T/l.csv && head -n 1 $T/l.csv", 0, "\"rmse\":");
    assert_non_null(strstr(output, "a,b,y,mean,std,log_density"));
    expect("$G info --size 1000 --columns 3 --json", 0, "\"largest_n\":");
    expect("$G info --size 1000", 0, "they fit");
    if (system("gnuplot --version > /dev/null 2>&1") == 0) {
        expect("$G plot $T/w.gp --x a -o $T/p.svg && head -c 200 $T/p.svg", 0, "<?xml");
        expect("$G plot $T/w2.gp --json -o $T/p.png && head -c 4 $T/p.png", 0, "PNG");
    }
}

static void the_regression_example_works_on_a_table(void **state)
{
    (void)state;
    expect("E=$(dirname $G)/gp/examples/regression; $E $T/t.csv $T/new.csv y", 0, "RMSE");
    expect("E=$(dirname $G)/gp/examples/regression; $E $T/t.csv $T/new.csv z", 1, "a, b, y");
    expect("E=$(dirname $G)/gp/examples/regression; $E $T/t.csv", 2, "takes TRAIN.csv TEST.csv");
}

/* Endless restarts, stopped by Ctrl-C: the best so far is saved, and the exit code says that it was stopped. */
static void an_interrupted_fit_saves_the_best_so_far(void **state)
{
    (void)state;
    expect("timeout -s INT 2 $G fit $T/t.csv --target y --restarts 100000000 -o $T/i.gp; code=$?; $G loo $T/i.gp; echo exit $code", 0,
           "the best so far is saved");
    assert_non_null(strstr(output, "leave one out of 12"));
    assert_true(strstr(output, "exit 124") || strstr(output, "exit 130"));
}

int main(void)
{
    setenv("CUDASIM", "off", 1);   /* as a user has it */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_get_one_clear_line_and_leave_nothing),
        cmocka_unit_test(help_fits_a_screen),
        cmocka_unit_test(predictions_are_the_librarys_to_the_last_bit),
        cmocka_unit_test(every_verb_works_and_speaks_json),
        cmocka_unit_test(the_regression_example_works_on_a_table),
        cmocka_unit_test(an_interrupted_fit_saves_the_best_so_far),
    };
    if (!getenv("GP_CLI") || !mkdtemp(folder)) {
        fprintf(stderr, "test_command: set GP_CLI to the program (make test does)\n");
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("command", tests, prepare, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 ? 1 : failed;
}
