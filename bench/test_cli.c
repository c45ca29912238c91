/* The command as a person meets it: what it says and how it exits. The program's path comes in BENCH_CLI. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_cli_XXXXXX", output[1 << 16];

/* Runs a shell line with $B the program and $T a scratch folder; returns the exit code, leaves what it printed in `output`. */
static int run(const char *line)
{
    char command[2048];
    snprintf(command, sizeof command, "B=%s; T=%s; { %s; } 2>&1", getenv("BENCH_CLI"), folder, line);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = '\0';
    const int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect(const char *line, int code, const char *says)
{
    const int got = run(line);
    if (got != code || !strstr(output, says))
        fail_msg("%s\n  exit %d, expected %d with \"%s\"; it said:\n%s", line, got, code, says, output);
}

static void mistakes_get_one_clear_line_and_exit_2(void **state)
{
    (void)state;
    const struct { const char *line, *says; } cases[] = {
        { "$B", "bench run" },
        { "$B nonsense", "unknown command 'nonsense'" },
        { "$B run --nonsense", "unknown option" },
        { "$B run -f nonsense -o $T/a.jsonl --no-roof", "no problem matches" },
        { "$B run --approach nonsense -o $T/b.jsonl --no-roof", "no approach matches" },
        { "$B run -n 0", "too small" },
        { "$B run -n -4", "too small" },
        { "$B run -n many", "not a number" },
        { "$B run -n 2^60", "larger than" },
        { "$B run --precision f16", "f32 or f64" },
        { "$B run --time lunch", "none of kernel" },
        { "$B run --rounds 0", "needs a number from 1" },
        { "$B run --ci nan", "needs a number" },
        { "$B run -o /nonexistent/x.jsonl --no-roof", "/nonexistent/x.jsonl" },
        { "$B run --resume $T/missing.jsonl", "missing.jsonl" },
        { "$B report $T/missing.jsonl", "missing.jsonl" },
        { "$B report", "takes 1 file name" },
        { "$B compare $T/missing.jsonl $T/missing.jsonl", "missing.jsonl" },
        { "echo rubbish > $T/rubbish.jsonl; $B report $T/rubbish.jsonl", "line 1" },
        { ": > $T/empty.jsonl; $B report $T/empty.jsonl", "empty.jsonl" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(cases[i].line, 2, cases[i].says);
}

static void a_size_beyond_memory_is_a_row_with_the_numbers(void **state)
{
    (void)state;
    expect("$B run -f vector_add --approach cpu/naive --precision f64 -n 2^40 --no-roof --no-report -o $T/big.jsonl", 0,
           "GB of host memory");
}

static void the_users_choice_of_a_blas_core_stands(void **state)
{
    (void)state;
    expect("OPENBLAS_CORETYPE=Prescott $B env | grep blas_core", 0, "Prescott");
    expect("$B env | grep -c 'blas_core.*Prescott'; env | grep -c CORETYPE", 1, "0\n0");
}

static void a_run_can_be_reported_compared_with_itself_and_exported(void **state)
{
    (void)state;
    expect("$B run -f 'vector_add|reduction' --approach cpu -n 1000,4000 --rounds 1 --no-roof -o $T/run.jsonl", 0, "run.html");
    expect("$B compare $T/run.jsonl $T/run.jsonl", 0, "");
    expect("$B report $T/run.jsonl --csv $T/run.csv && head -n 1 $T/run.csv", 0, "problem,");
    expect("$B run -f vector_add --approach cpu -n 1000 --rounds 1 --no-roof -o $T/run.jsonl", 2, "run.jsonl");   /* never overwritten */
}

static void without_gnuplot_the_page_is_written_and_says_so(void **state)
{
    (void)state;
    expect("mkdir $T/bin; ln -s $(command -v sh) $T/bin/sh; $B run -f vector_add --approach cpu -n 1000,4000 --rounds 1 --no-roof "
           "--no-report -o $T/np.jsonl; "
           "PATH=$T/bin $B report $T/np.jsonl; test -s $T/np.html",
           0, "gnuplot");
}

static void an_unwritable_results_folder_is_said_before_measuring(void **state)
{
    (void)state;
    if (geteuid() == 0) expect("cd /proc && $B run -f vector_add", 2, "results");
    else expect("mkdir -m 500 $T/locked; cd $T/locked && $B run -f vector_add", 2, "results");
}

static void interrupting_leaves_a_file_that_resume_completes(void **state)
{
    (void)state;
    static const char part[] = "$B run -f 'vector_add|multiply' --approach cpu -n 2^10:2^20:4 --max-time 0.03 --no-roof --no-report";
    char line[1024];
    snprintf(line, sizeof line, "%s -o $T/int.jsonl & P=$!; sleep 0.7; kill -INT $P; wait $P", part);
    expect(line, 130, "--resume");
    expect("$B run --no-roof --no-report --resume $T/int.jsonl", 0, "results:");
    snprintf(line, sizeof line,
             "%s -o $T/kill.jsonl & P=$!; sleep 0.7; kill -KILL $P; wait $P; $B run --no-roof --no-report --resume $T/kill.jsonl", part);
    expect(line, 0, "results:");
    /* the options of the file, not the default ones: 2 problems x 2 approaches x 2 precisions x 6 sizes, measured in both rounds */
    expect("$B report $T/kill.jsonl --csv $T/kill.csv >$T/log && grep -c ',kernel_s,' $T/kill.csv", 0, "48\n");
    expect("$B run --resume $T/int.jsonl -o $T/x.jsonl", 2, "leave -o out");
    /* what took too long for the file's options is tried again with others */
    expect("$B run -f matmul --approach cpu/naive --precision f64 -n 300 --max-run 0.001 --rounds 1 --no-roof --no-report -o $T/long.jsonl", 0,
           "one run took");
    expect("$B run --resume $T/long.jsonl -f matmul --approach cpu/naive --precision f64 -n 300 --rounds 1 --no-roof --no-report; "
           "$B report $T/long.jsonl --csv $T/long.csv >$T/log && grep -c ',kernel_s,' $T/long.csv", 0, "1\n");
    expect("$B run --resume $T/kill.jsonl -f vector_add --approach cpu -n 1003 --rounds 1 --no-roof --no-report; $B report $T/kill.jsonl "
           "--csv $T/kill.csv "
           ">$T/log && grep -c ',kernel_s,' $T/kill.csv",
           0, "52\n");
    expect("$B run --resume $T/kill.jsonl --no-roof --no-report && grep -c part $T/kill.jsonl", 0,
           "1\n"); /* goes on with the last options: nothing to do */
    expect("sed 's/\"commit\":\"/&x/' $T/int.jsonl >$T/other.jsonl; $B run --resume $T/other.jsonl", 2, "commit is");
    expect("sed 's/\"cpu_count\":/&9/' $T/int.jsonl >$T/other.jsonl; $B run --resume $T/other.jsonl", 2, "cpu_count is");
    expect("sed '1s/\"visit_s\":/\"visits\":/' $T/int.jsonl >$T/other.jsonl; $B run --resume $T/other.jsonl", 2,
           "options are not complete");
}

static void list_and_env_speak(void **state)
{
    (void)state;
    expect("$B list", 0, "lessons/01_vector_add/cpu_1_naive.c");
    expect("$B env", 0, "cpu_model");
    expect("$B --help", 0, "bench compare");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_get_one_clear_line_and_exit_2),
        cmocka_unit_test(a_size_beyond_memory_is_a_row_with_the_numbers),
        cmocka_unit_test(the_users_choice_of_a_blas_core_stands),
        cmocka_unit_test(a_run_can_be_reported_compared_with_itself_and_exported),
        cmocka_unit_test(without_gnuplot_the_page_is_written_and_says_so),
        cmocka_unit_test(an_unwritable_results_folder_is_said_before_measuring),
        cmocka_unit_test(interrupting_leaves_a_file_that_resume_completes),
        cmocka_unit_test(list_and_env_speak),
    };
    if (!getenv("BENCH_CLI") || !mkdtemp(folder)) {
        fprintf(stderr, "test_cli: set BENCH_CLI to the program (make test does)\n");
        return 1;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failures : 1;
}
