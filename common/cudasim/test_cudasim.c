/* The simulator against a corpus of right and wrong kernels: each wrong one is named with its kind and line, nothing else is said, and of the right
 * ones nothing; the programs in programs/ print what they say they do; what is not supported stops the compiler. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_cudasim_XXXXXX";

typedef struct { int code; char output[4096]; } Run;

/* A shell command, and the beginning of what it prints. */
__attribute__((format(printf, 1, 2))) static Run run(const char *format, ...)
{
    char command[1024], rest[256];
    Run r = { -1, "" };
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    FILE *f = popen(command, "r");
    if (!f) fail_msg("can't run %s", command);
    r.output[fread(r.output, 1, sizeof r.output - 1, f)] = 0;
    while (fread(rest, 1, sizeof rest, f) > 0) {}
    const int status = pclose(f);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return r;
}

static void must(Run r)
{
    if (r.code != 0) fail_msg("exit code %d: %s", r.code, r.output);
}

static cJSON *read_report(void)
{
    const Run r = run("wc -c <%s/report && test -s %s/report", folder, folder);
    char path[256];
    const size_t size = (size_t)atol(r.output);
    char *text = calloc(size + 1, 1);
    if (r.code != 0 || !text) return NULL;
    snprintf(path, sizeof path, "%s/report", folder);
    FILE *f = fopen(path, "r");
    const size_t got = f ? fread(text, 1, size, f) : 0;
    if (f) fclose(f);
    remove(path);
    cJSON *report = got == size ? cJSON_Parse(text) : NULL;
    free(text);
    return report;
}

enum { MOST = 200 };
typedef struct { char entry[64], kind[64]; int line, found; } Expectation;
static Expectation expected[MOST];
static int expectations;

/* "// EXPECT entry: kind, entry: kind" at the end of a line */
static void read_expectations(const char *file)
{
    char line[1024];
    FILE *f = fopen(file, "r");
    if (!f) fail_msg("can't read %s", file);
    expectations = 0;
    for (int number = 1; fgets(line, sizeof line, f); number++) {
        const char *mark = strstr(line, "// EXPECT ");
        if (!mark) continue;
        for (char *item = strtok(line + (mark - line) + 10, ",\n"); item; item = strtok(NULL, ",\n")) {
            Expectation *e = &expected[expectations++];
            assert_true(expectations < MOST);
            *e = (Expectation){ .line = number };
            assert_int_equal(sscanf(item, " %63[^:]: %63[^,\n]", e->entry, e->kind), 2);
        }
    }
    fclose(f);
}

static void check_entry(const char *file, const char *program, const char *entry)
{
    Run r = run("CUDASIM=check CUDASIM_REPORT=json CUDASIM_LIMIT=0.5 CUDASIM_OUTPUT=%s/report %s %s >/dev/null 2>&1", folder, program, entry);
    cJSON *report = read_report();
    const cJSON *finding;
    if (!report) fail_msg("%s %s: no report, exit code %d", file, entry, r.code);
    cJSON_ArrayForEach(finding, cJSON_GetObjectItem(report, "findings")) {
        const char *kind = cJSON_GetObjectItem(finding, "kind")->valuestring;
        const int line = cJSON_GetObjectItem(finding, "line")->valueint;
        int known = 0;
        for (int i = 0; i < expectations; i++)
            if (strcmp(expected[i].entry, entry) == 0 && strcmp(expected[i].kind, kind) == 0 && expected[i].line == line)
                known = expected[i].found = 1;
        if (!known) fail_msg("%s %s: false alarm at line %d: %s: %s", file, entry, line, kind, cJSON_GetObjectItem(finding, "text")->valuestring);
    }
    cJSON_Delete(report);
}

/* All entries of a file, compiled once; `least` guards against an empty one. */
static void check_corpus(const char *name, int least)
{
    char file[256], program[256], list[4096], *rest = list;
    int entries = 0;
    snprintf(file, sizeof file, "common/cudasim/corpus/%s.cu", name);
    snprintf(program, sizeof program, "%s/%s", folder, name);
    must(run("$CUDASIM_CLI compile %s -o %s 2>&1", file, program));
    read_expectations(file);
    const Run listed = run("%s", program);
    must(listed);
    snprintf(list, sizeof list, "%s", listed.output);
    for (char *entry; (entry = strsep(&rest, "\n")) != NULL;) {
        if (!*entry) continue;
        check_entry(file, program, entry);
        entries++;
    }
    for (int i = 0; i < expectations; i++)
        if (!expected[i].found) fail_msg("%s:%d: missed: %s in %s", file, expected[i].line, expected[i].kind, expected[i].entry);
    assert_in_range(entries, least, MOST);
}

static void races_are_found_and_only_those(void **state) { (void)state; check_corpus("races", 21); }
static void barriers_and_warps_are_watched(void **state) { (void)state; check_corpus("barriers", 17); }
static void memory_is_watched(void **state) { (void)state; check_corpus("memory", 25); }
static void launches_and_slow_accesses_are_reported(void **state) { (void)state; check_corpus("launches", 16); }

/* Values can be right by luck: another order of threads shows what depends on it. */
static void shuffling_shows_what_depends_on_the_order(void **state)
{
    (void)state;
    int different = 0;
    must(run("$CUDASIM_CLI compile common/cudasim/corpus/launches.cu -o %s/order", folder));
    const Run first = run("CUDASIM=check %s/order right_order_dependent", folder);
    must(first);
    for (int seed = 1; seed <= 4; seed++) {
        const Run r = run("CUDASIM=check CUDASIM_SEED=%d %s/order right_order_dependent", seed, folder), again =
            run("CUDASIM=check CUDASIM_SEED=%d %s/order right_order_dependent", seed, folder);
        must(r);
        assert_string_equal(r.output, again.output);
        different += strcmp(r.output, first.output) != 0;
    }
    assert_true(different > 0);
}

/* Every program prints the line that its first comment promises, in any order of its threads, diagnosed and fast, and nothing is found. */
static void check_program(const char *file)
{
    char promise[256] = "", line[256];
    FILE *f = fopen(file, "r");
    if (!f) fail_msg("can't read %s", file);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "// prints: ", 11) == 0) snprintf(promise, sizeof promise, "%s", line + 11);
    fclose(f);
    if (!*promise) fail_msg("%s: no line '// prints: ...'", file);
    must(run("$CUDASIM_CLI compile %s -o %s/program 2>&1", file, folder));
    for (int seed = 0; seed < 3; seed++) {
        const Run r = run("CUDASIM=check CUDASIM_SEED=%d %s/program 2>%s/findings", seed, folder, folder);
        const Run found = run("cat %s/findings", folder);
        if (r.code != 0 || strcmp(r.output, promise) != 0 || strstr(found.output, ": error: "))
            fail_msg("%s, seed %d: exit code %d, printed '%s' instead of '%s'; %s", file, seed, r.code, r.output, promise, found.output);
    }
    const Run fast = run("CUDASIM=fast %s/program", folder);
    if (strcmp(fast.output, promise) != 0) fail_msg("%s, fast: printed '%s' instead of '%s'", file, fast.output, promise);
}

static void programs_run_as_on_a_gpu(void **state)
{
    (void)state;
    glob_t g;
    assert_int_equal(glob("common/cudasim/programs/*.cu", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) check_program(g.gl_pathv[i]);
    assert_in_range(g.gl_pathc, 25, 1000);
    globfree(&g);
}

static void what_is_not_supported_stops_the_compiler_with_name_and_line(void **state)
{
    (void)state;
    static const struct { const char *code, *says; } cases[] = {
        { "__global__ void k(int *x) { asm(\"mov.u32 %%0, %%laneid;\" : \"=r\"(x[0])); }", ":3:" },
        { "__global__ void k(int *x) { asm(\"mov.u32 %%0, %%laneid;\" : \"=r\"(x[0])); }", "inline PTX (asm) is not supported" },
        { "__global__ void c(int *x) {}\n__global__ void k(int *x) { c<<<1, 1>>>(x); }", ":4: error: cudasim: a launch inside a kernel" },
        { "#include <mma.h>", "tensor cores (mma.h): not supported" },
        { "__global__ void k(cudaTextureObject_t t, float *x) { x[0] = tex2D<float>(t, 0, 0); }", "textures are not supported" },
        { "#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_grid().sync(); }", "a barrier over the grid" },
        { "__global__ void k() { __shared__ float s[2] = { 1, 2 }; }", "can't have an initial value" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/bad.cu", folder);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "// line 1\n#include <cuda_runtime.h>\n");
        fprintf(f, cases[i].code, 0);
        fprintf(f, "\nint main() {}\n");
        fclose(f);
        const Run r = run("$CUDASIM_CLI run %s 2>&1", path);
        if (r.code == 0 || !strstr(r.output, cases[i].says) || !strstr(r.output, "bad.cu"))
            fail_msg("case %zu: exit code %d, '%s', should say '%s'", i, r.code, r.output, cases[i].says);
    }
}

static void wrong_calls_of_the_command_get_one_line(void **state)
{
    (void)state;
    static const struct { const char *arguments, *says; } cases[] = {
        { "frobnicate", "there is no command 'frobnicate'" },
        { "run", "which file?" },
        { "run /nonexistent.cu", "can't read /nonexistent.cu" },
        { "run a.cu b.cu", "one file at a time" },
        { "run --sped 3 a.cu", "there is no option '--sped'" },
        { "compile common/cudasim/corpus/races.cu", "compile needs -o" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Run r = run("$CUDASIM_CLI %s 2>&1", cases[i].arguments);
        if (r.code != 2 || !strstr(r.output, cases[i].says)) fail_msg("'%s': exit code %d, '%s'", cases[i].arguments, r.code, r.output);
    }
    Run card = run("CUDASIM_CARD=h9000 CUDASIM=check %s/order right_order_dependent 2>&1", folder);
    assert_true(card.code == 2 && strstr(card.output, "there is no card 'h9000'; choose one of h200, a100, rtx4090, t4"));
}

static int make_folder(void **state)
{
    (void)state;
    unsetenv("CUDASIM");
    unsetenv("CUDASIM_SAMPLE");
    return !getenv("CUDASIM_CLI") || !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    return run("rm -rf %s", folder).code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(races_are_found_and_only_those),
        cmocka_unit_test(barriers_and_warps_are_watched),
        cmocka_unit_test(memory_is_watched),
        cmocka_unit_test(launches_and_slow_accesses_are_reported),
        cmocka_unit_test(shuffling_shows_what_depends_on_the_order),
        cmocka_unit_test(programs_run_as_on_a_gpu),
        cmocka_unit_test(what_is_not_supported_stops_the_compiler_with_name_and_line),
        cmocka_unit_test(wrong_calls_of_the_command_get_one_line),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
