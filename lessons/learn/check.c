#define _GNU_SOURCE
#include "lessons/learn/check.h"
#include "common/try.h"
#include "lessons/learn/judge.h"
#include "lessons/learn/process.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const CriterionInfo criteria[CRITERIA] = {
    [COMPILES] = { "compiles", 10, "the file compiles and defines the function that was asked for" },
    [CORRECT] = { "correct", 50, "right for every size, in the first call and in the last; a share of the marks for a share of the sizes" },
    [RACES] = { "races", 15, "no races, no barrier that not all threads reach, no value read before it was written" },
    [BOUNDS] = { "bounds", 15, "no access outside an allocation" },
    [QUALITY] = { "quality", 10, "what the exercise asks for besides: coalescing, few bytes moved, memory freed" },
};

double check_marks(const CheckResult *r)
{
    double sum = 0;
    for (int i = 0; i < CRITERIA; i++) sum += r->marks[i];
    return sum;
}

static void lose(CheckResult *r, Criterion c, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void lose(CheckResult *r, Criterion c, const char *format, ...)
{
    const size_t used = strlen(r->why[c]);
    va_list list;
    if (used + 3 >= CHECK_TEXT) return;
    if (used) memcpy(r->why[c] + used, "; ", 3);
    const size_t begin = used ? used + 2 : 0;
    va_start(list, format);
    vsnprintf(r->why[c] + begin, CHECK_TEXT - begin, format, list);
    va_end(list);
}

/* ---- a folder for one check ---- */

typedef struct {
    const Course *course;
    const CourseExercise *e;
    const CheckOptions *options;
    const char *file;
    char source[PATH_MAX], source_folder[PATH_MAX], tools[PATH_MAX], folder[PATH_MAX], program[PATH_MAX + 16], input[PATH_MAX + 16],
        output[PATH_MAX + 16], report[PATH_MAX + 16];
    CheckResult *result;
} Check;

static GpStatus open_check(Check *k)
{
    const char *tmp = getenv("TMPDIR");
    if (!realpath(k->file, k->source)) return fail(GP_IO, "%s: %s", k->file, strerror(errno));
    if (!realpath(k->options->tools, k->tools)) return fail(GP_IO, "%s: %s", k->options->tools, strerror(errno));
    snprintf(k->source_folder, sizeof k->source_folder, "%.*s", (int)(strrchr(k->source, '/') + 1 - k->source), k->source);
    snprintf(k->folder, sizeof k->folder, "%s/learn.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(k->folder)) return fail(GP_IO, "%s: no folder can be made: %s", k->folder, strerror(errno));
    snprintf(k->program, sizeof k->program, "%s/program", k->folder);
    snprintf(k->input, sizeof k->input, "%s/case", k->folder);
    snprintf(k->output, sizeof k->output, "%s/result", k->folder);
    snprintf(k->report, sizeof k->report, "%s/report", k->folder);
    return GP_OK;
}

static void close_check(Check *k)
{
    const char *const files[] = { k->program, k->input, k->output, k->report };
    if (!k->folder[0]) return;
    for (int i = 0; i < 4; i++) unlink(files[i]);
    rmdir(k->folder);
}

static int open_new(const char *path, mode_t mode)
{
    unlink(path);
    return open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_TRUNC, mode);
}

/* ---- the source ---- */

/* The code without comments and without what stands between quotes. */
static char *code_of(const char *file)
{
    char *text = read_text(file), *to = text;
    if (!text) return NULL;
    for (const char *p = text; *p;) {
        if (p[0] == '/' && p[1] == '/') while (*p && *p != '\n') p++;
        else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
            *to++ = ' ';
        } else if (*p == '"' || *p == '\'') {
            const char quote = *p++;
            while (*p && *p != quote && *p != '\n') p += p[0] == '\\' && p[1] ? 2 : 1;
            if (*p == quote) p++;
        } else *to++ = *p++;
    }
    *to = 0;
    return text;
}

static GpStatus check_words(Check *k)
{
    char *code = code_of(k->file);
    if (!code) return GP_IO;
    for (int i = 0; k->e->uses[i]; i++)
        if (!strstr(code, k->e->uses[i])) lose(k->result, QUALITY, "%s is not used, and this exercise is about it", k->e->uses[i]);
    free(code);
    return GP_OK;
}

/* ---- compiling ---- */

/* The compiler's first error with the line it means, without our folders. */
static void first_error(const Check *k, const char *text, char *why, size_t room)
{
    const char *error = strstr(text, "error:"), *undefined = strstr(text, "undefined reference to"), *twice = strstr(text, "multiple definition of");
    if (!error && undefined) {
        const int n = (int)strcspn(undefined, "\n");
        snprintf(why, room, "%.*s: the function that is asked for is missing, or its arguments are not those of the starter", n, undefined);
        return;
    }
    if (!error && twice) {
        snprintf(why, room, "%.*s: leave it out, it belongs to the checker", (int)strcspn(twice, ";\n"), twice);
        return;
    }
    const char *begin = error ? error : text;
    while (begin > text && begin[-1] != '\n') begin--;
    const char *end = begin;
    for (int lines = 0; *end && lines < 3; end++) lines += *end == '\n';
    const size_t skip = strncmp(begin, k->source_folder, strlen(k->source_folder)) == 0 ? strlen(k->source_folder) : 0;
    snprintf(why, room, "%.*s", (int)(end - begin - (long)skip), begin + skip);
    for (size_t n = strlen(why); n && isspace((unsigned char)why[n - 1]);) why[--n] = 0;
}

static const char *cause(ProcessEnd end)
{
    switch (end) {
    case OUT_OF_TIME: return "it took too long";
    case OUT_OF_MEMORY: return "it used too much memory";
    case TOO_MANY_PROCESSES: return "it started too many processes";
    default: return "it crashed";
    }
}

/* Quotes a path for the shell. */
static void quote(const char *path, char *to, size_t room)
{
    size_t n = 0;
    to[n++] = '\'';
    for (; *path && n + 6 < room; path++) {
        if (*path == '\'') { memcpy(to + n, "'\\''", 4); n += 4; }
        else to[n++] = *path;
    }
    to[n++] = '\'';
    to[n] = 0;
}

enum { MOST_VISIBLE = 12 };

/* The script writes the program to file descriptor 3: a sandboxed compiler has nowhere else to put it. */
static GpStatus compile_with(Check *k, const char *script, const char *const *visible)
{
    GpStatus status = GP_OK;
    const char *const argv[] = { "/bin/bash", "-c", script, NULL };
    ProcessResult *r = malloc(sizeof *r);
    const int program = open_new(k->program, 0700);
    if (!r || program < 0) {
        status = fail(GP_IO, "%s: can't be written", k->program);
        goto cleanup;
    }
    const ProcessOrder order = { .argv = argv, .fd = { program, -1 }, .visible = visible, .seconds = 120, .cpu_seconds = 60,
                                 .memory_bytes = (size_t)2 << 30, .file_bytes = 1 << 28, .processes = 64, .sandboxed = k->options->sandboxed };
    TRY(process_run(&order, r));
    if (r->end != ENDED) lose(k->result, COMPILES, "the compiler was stopped: %s", cause(r->end));
    else if (r->code != 0) first_error(k, r->text, k->result->why[COMPILES], CHECK_TEXT);
    if (r->end != ENDED || r->code != 0) k->result->outcome = r->end == OUT_OF_TIME ? TIMED_OUT : NOT_BUILT;
cleanup:
    if (program >= 0) close(program);
    free(r);
    return status;
}

/* Of the build folder and the sources a compiler sees no more than it needs: neither judges nor solutions. */
static GpStatus compile_for_simulator(Check *k)
{
    char script[6 * PATH_MAX], source[PATH_MAX + 8], tools[PATH_MAX + 8], folder[PATH_MAX + 8], headers[PATH_MAX], file[5][PATH_MAX + COURSE_PATH];
    const char *lesson = k->course->lesson[k->e->lesson].id;
    quote(strrchr(k->source, '/') + 1, source, sizeof source);
    quote(k->source_folder, folder, sizeof folder);
    quote(k->tools, tools, sizeof tools);
    snprintf(file[0], sizeof *file, "%s/cudasim", k->tools);
    snprintf(file[1], sizeof *file, "%s/cudasim_translate", k->tools);
    snprintf(file[2], sizeof *file, "%s/libcudasim.a", k->tools);
    snprintf(file[3], sizeof *file, "%s/lessons/%s/exercise/%s_call.sim.o", k->tools, lesson, k->e->name);
    snprintf(file[4], sizeof *file, "%s/lessons/learn/driver.sim.o", k->tools);
    if (!realpath("common/cudasim/include", headers)) return fail(GP_IO, "common/cudasim/include: %s", strerror(errno));
    snprintf(script, sizeof script,
             "t=$(mktemp -d) && trap 'rm -rf $t' EXIT && cd %s && %s/cudasim compile %s %s/lessons/%s/exercise/%s_call.sim.o %s/lessons/learn/driver.sim.o "
             "-o $t/p && cat $t/p >&3", folder, tools, source, tools, lesson, k->e->name, tools);
    const char *const visible[MOST_VISIBLE] = { k->source_folder, headers, file[0], file[1], file[2], file[3], file[4] };
    return compile_with(k, script, visible);
}

static GpStatus compile_for_gpu(Check *k)
{
    char script[6 * PATH_MAX], source[PATH_MAX + 8], root[PATH_MAX], quoted_root[PATH_MAX + 8], file[3][PATH_MAX + COURSE_PATH];
    const char *lesson = k->course->lesson[k->e->lesson].id;
    if (!realpath(".", root)) return fail(GP_IO, "this folder: %s", strerror(errno));
    quote(k->source, source, sizeof source);
    quote(root, quoted_root, sizeof quoted_root);
    snprintf(file[0], sizeof *file, "%s/lessons/learn/call.h", root);
    snprintf(file[1], sizeof *file, "%s/lessons/learn/driver.cu", root);
    snprintf(file[2], sizeof *file, "%s/lessons/%s/exercise/%s_call.cu", root, lesson, k->e->name);
    snprintf(script, sizeof script,
             "t=$(mktemp -d) && trap 'rm -rf $t' EXIT && cd %s && PATH=$PATH:/usr/local/cuda/bin nvcc -std=c++17 -O3 -arch=native -I. -o $t/p %s "
             "lessons/%s/exercise/%s_call.cu lessons/learn/driver.cu && cat $t/p >&3", quoted_root, source, lesson, k->e->name);
    const char *const visible[MOST_VISIBLE] = { k->source_folder, file[0], file[1], file[2] };
    return compile_with(k, script, visible);
}

/* ---- running ---- */

/* Runs the program on one case; what it says of the answer and of the kernels. */
static GpStatus run_case(Check *k, const JudgedCase *c, bool diagnosed, Judgement *j, Diagnosis *d, ProcessResult *r)
{
    GpStatus status = GP_OK;
    char argument[PATH_MAX + 16];
    const char *const argv[] = { k->program, argument, NULL };
    const char *const environment[] = { "CUDASIM=check", "CUDASIM_REPORT=json", "CUDASIM_OUTPUT=/dev/fd/4", "CUDASIM_LIMIT=4", "CUDASIM_SEED=7", NULL };
    const char *const visible[] = { k->program, k->input, k->source_folder, NULL };
    const int output = open_new(k->output, 0600), report = open_new(k->report, 0600);
    snprintf(argument, sizeof argument, "%s", k->input);
    if (output < 0 || report < 0) { status = fail(GP_IO, "%s: can't be written", k->output); goto cleanup; }
    TRY(judge_case_write(c, k->input));
    const ProcessOrder order = { .argv = argv, .environment = diagnosed ? environment : NULL, .fd = { output, report }, .visible = visible,
                                 .seconds = 60, .cpu_seconds = 20, .memory_bytes = (size_t)2 << 30, .file_bytes = 1 << 28, .processes = 32,
                                 .sandboxed = k->options->sandboxed };
    TRY(process_run(&order, r));
    TRY(judge_result(c, k->output, j));
    if (diagnosed && diagnosis_read(d, k->report, k->source_folder) != GP_OK) memset(d, 0, sizeof *d);
cleanup:
    if (output >= 0) close(output);
    if (report >= 0) close(report);
    return status;
}

typedef struct { const char *kind; Criterion criterion; } KindInfo;

/* Kinds of findings and what they cost; what is not here and an error costs the right answer. */
static const KindInfo kinds[] = {
    { "race", RACES }, { "barrier divergence", RACES }, { "warp divergence", RACES }, { "warp mask", RACES }, { "shuffle", RACES },
    { "uninitialised read", RACES }, { "out of bounds", BOUNDS }, { "use after free", BOUNDS }, { "null pointer", BOUNDS }, { "host pointer", BOUNDS },
    { "device pointer", BOUNDS }, { "copy", BOUNDS }, { "shared memory", BOUNDS },
};

static Criterion criterion_of(const Finding *f)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, f->kind) == 0) return kinds[i].criterion;
    return CORRECT;
}

static bool holds(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

/* Adds what has not been said yet: the same line at the next size is no news. */
static void lose_once(CheckResult *r, Criterion c, const char *name, const Finding *f)
{
    char said[256 + 40];
    snprintf(said, sizeof said, "%s: %s:", f->at, f->kind);
    if (!strstr(r->why[c], said)) lose(r, c, "%s %s (%s)", said, f->text, name);
}

/* False: an error of the program itself, so that the case can't count as right. */
static bool read_findings(Check *k, const Diagnosis *d, const char *name)
{
    bool fine = true;
    for (int i = 0; i < d->findings; i++) {
        const Finding *f = &d->finding[i];
        const Criterion c = criterion_of(f);
        if (holds(k->e->allow, f->kind)) continue;
        if (holds(k->e->forbid, f->kind)) lose_once(k->result, QUALITY, name, f);
        else if (f->error && c != CORRECT) lose_once(k->result, c, name, f);
        else if (f->error) {
            lose_once(k->result, CORRECT, name, f);
            fine = false;
        }
    }
    return fine;
}

/* Kernels must have touched the data: both calls write all outputs, and read at least 0.4 of what there is (a triangle of a matrix is half). */
static bool is_from_kernels(const JudgedCase *c, const CourseExercise *e, const Diagnosis *d)
{
    double in = 0, out = 0;
    for (int i = 0; i < c->shape.arrays; i++) {
        const ExerciseArray *a = &c->shape.array[i];
        *(a->direction == IN ? &in : &out) += (double)(a->count * element_bytes(a->type));
    }
    if (e->host_writes) return true;
    return in + out == 0 || (d->launches > 0 && d->written_bytes >= 2 * c->bytes_out_on_device && d->written_bytes + d->read_bytes >= 0.4 * 2 * (in + out));
}

static GpStatus judge_one(Check *k, size_t index, bool diagnosed, bool *right)
{
    GpStatus status = GP_OK;
    JudgedCase c = { 0 };
    Judgement j;
    Diagnosis d = { 0 };
    char name[128];
    CheckResult *r = k->result;
    ProcessResult *p = malloc(sizeof *p);
    if (!p) return fail(GP_NO_MEMORY, "no memory");
    TRY(judge_case_create(&c, k->e->judge, index, k->options->seed));
    judge_case_name(&c, name, sizeof name);
    TRY(run_case(k, &c, diagnosed, &j, &d, p));
    *right = j.right;
    if (diagnosed && d.complete) r->diagnosis = d;
    const bool clean = read_findings(k, &d, name);
    if (p->end == OUT_OF_TIME) r->outcome = TIMED_OUT;
    if (p->end != ENDED) {
        *right = false;
        if (clean) lose(r, CORRECT, "%s: %s", name, p->end == CRASHED ? "the program crashed" : cause(p->end));
    } else if (!j.right) {
        if (clean || strcmp(j.why, "the program ended before it had a result") != 0) lose(r, CORRECT, "%s: %s", name, j.why);
    } else if (!clean) {
        *right = false;
    } else if (diagnosed && !is_from_kernels(&c, k->e, &d)) {
        *right = false;
        lose(r, CORRECT, "%s: the numbers are right, but no kernel worked them out", name);
    }
    if (*right) {
        snprintf(r->largest, sizeof r->largest, "%s", name);
        if (!diagnosed) r->gpu_time_s = j.time_s;
        if (diagnosed && k->e->most_moved > 0 && index + 1 == k->e->judge->cases && d.moved_bytes > k->e->most_moved * 2 * c.bytes_on_device)
            lose(r, QUALITY, "%s: kernels moved %.3g bytes a call; %.3g are enough (%.1f times the arrays)", name, d.moved_bytes / 2,
                 k->e->most_moved * c.bytes_on_device, k->e->most_moved);
    }
cleanup:
    judge_case_destroy(&c);
    free(p);
    return status;
}

/* All sizes, or as far as the first wrong one. */
static GpStatus judge_all(Check *k, bool diagnosed)
{
    GpStatus status = GP_OK;
    CheckResult *r = k->result;
    r->cases = (int)k->e->judge->cases;
    r->right = 0;
    for (size_t i = 0; i < k->e->judge->cases; i++) {
        bool right = false;
        TRY(judge_one(k, i, diagnosed, &right));
        r->right += right;
        const bool lost = r->why[CORRECT][0] || r->why[RACES][0] || r->why[BOUNDS][0];
        if ((lost && !k->options->all_cases) || r->outcome == TIMED_OUT) break;
    }
cleanup:
    return status;
}

static void give_marks(CheckResult *r)
{
    const bool built = !r->why[COMPILES][0];
    const double share = built && r->cases ? (double)r->right / r->cases : 0;
    r->marks[COMPILES] = built ? criteria[COMPILES].marks : 0;
    r->marks[CORRECT] = r->why[CORRECT][0] || share < 1 ? floor(criteria[CORRECT].marks * share) : criteria[CORRECT].marks;
    for (int c = RACES; c < CRITERIA; c++) {
        r->marks[c] = share > 0 && !r->why[c][0] ? criteria[c].marks : 0;
        if (built && share == 0 && !r->why[c][0]) lose(r, (Criterion)c, "counts from the first right answer on");
    }
    for (int c = CORRECT; c < CRITERIA && !built; c++) lose(r, (Criterion)c, "it does not compile");
    if (r->outcome == PASSED && check_marks(r) < 100) r->outcome = FAILED;
}

GpStatus check_submission(const Course *course, const CourseExercise *e, const char *file, const CheckOptions *options, CheckResult *result)
{
    GpStatus status = GP_OK;
    Check *k = calloc(1, sizeof *k);
    memset(result, 0, sizeof *result);
    if (!k) return fail(GP_NO_MEMORY, "no memory");
    *k = (Check){ .course = course, .e = e, .options = options, .file = file, .result = result };
    TRY(open_check(k));
    TRY(compile_for_simulator(k));
    if (result->outcome == PASSED) {
        TRY(judge_all(k, true));
        TRY(check_words(k));
    }
    if (result->outcome == PASSED && options->on_gpu && result->right == result->cases) {
        TRY(compile_for_gpu(k));
        if (result->outcome == PASSED) TRY(judge_all(k, false));
    }
    give_marks(result);
cleanup:
    close_check(k);
    free(k);
    return status;
}
