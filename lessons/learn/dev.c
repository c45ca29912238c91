#define _GNU_SOURCE
#include "lessons/learn/dev.h"
#include "common/new_file.h"
#include "common/try.h"
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const Course *course;
    const CourseExercise *e;
    const CheckOptions *options;
    char folder[64];
    int complaints, checked;
    CheckResult result;
} Dev;

static void complain(Dev *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(Dev *d, const char *format, ...)
{
    char text[2 * CHECK_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("%s: %s: %s\n", d->course->lesson[d->e->lesson].id, d->e->name, text);
    d->complaints++;
}

static bool judge(Dev *d, const char *path, bool all)
{
    CheckOptions options = *d->options;
    options.all_cases = all;
    d->checked++;
    if (check_submission(d->course, d->e, path, &options, &d->result) == GP_OK) return true;
    complain(d, "%s: %s", path, gp_message());
    return false;
}

static void all_reasons(const CheckResult *r, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int c = 0; c < CRITERIA && used < room; c++)
        if (r->why[c][0]) used += (size_t)snprintf(text + used, room - used, "[%s] %.300s ", criteria[c].name, r->why[c]);
}

static void starter_fails_as_it_should(Dev *d)
{
    char path[COURSE_PATH], why[CHECK_TEXT];
    course_path(d->course, d->e, path, "%s.cu", d->e->name);
    if (!judge(d, path, false)) return;
    all_reasons(&d->result, why, sizeof why);
    if (d->result.outcome == PASSED) complain(d, "the starter passes");
    else if (d->result.outcome == NOT_BUILT) complain(d, "the starter does not compile: %s", why);
    else if (!strstr(why, d->e->starter)) complain(d, "the starter should say \"%s\" and says: %s", d->e->starter, why);
}

static void must_pass(Dev *d, const char *path, const char *name)
{
    char why[CHECK_TEXT];
    if (!judge(d, path, true) || d->result.outcome == PASSED) return;
    all_reasons(&d->result, why, sizeof why);
    complain(d, "%s should pass: %s", name, why);
}

/* solution/NAME.cu and solution/NAME_another.cu. */
static void solutions_pass(Dev *d)
{
    char path[COURSE_PATH];
    glob_t files = { 0 };
    course_path(d->course, d->e, path, "solution/%s.cu", d->e->name);
    if (access(path, R_OK) != 0) complain(d, "%s is missing", path);
    else must_pass(d, path, path);
    course_path(d->course, d->e, path, "solution/%s_*.cu", d->e->name);
    if (glob(path, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++) must_pass(d, files.gl_pathv[i], files.gl_pathv[i]);
    globfree(&files);
}

/* The text with every `find` replaced; NULL if there is none. */
static char *edited(const char *text, const Edit *edit)
{
    char *out = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&out, &length);
    int found = 0;
    for (const char *at; f && (at = strstr(text, edit->find)); text = at + strlen(edit->find), found++)
        fprintf(f, "%.*s%s", (int)(at - text), text, edit->replace);
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    if (found) return out;
    free(out);
    return NULL;
}

static Criterion criterion_named(const char *name)
{
    int c = 0;
    while (c < CRITERIA && strcmp(criteria[c].name, name) != 0) c++;
    return (Criterion)c;
}

static void mutant_loses(Dev *d, const Edit *edit, const char *path)
{
    const Criterion c = criterion_named(edit->loses);
    char why[CHECK_TEXT];
    if (c == CRITERIA) { complain(d, "mutant \"%s\": there is no criterion \"%s\"", edit->name, edit->loses); return; }
    if (!judge(d, path, true)) return;
    all_reasons(&d->result, why, sizeof why);
    if (d->result.outcome == PASSED) complain(d, "mutant \"%s\" passes", edit->name);
    else if (d->result.marks[c] >= criteria[c].marks) complain(d, "mutant \"%s\" should lose %s and loses: %s", edit->name, edit->loses, why);
}

static void edits_do_as_they_say(Dev *d)
{
    char solution[COURSE_PATH], path[sizeof d->folder + COURSE_PATH];
    course_path(d->course, d->e, solution, "solution/%s.cu", d->e->name);
    char *text = read_text(solution);
    for (int i = 0; i < d->e->edit_count && text; i++) {
        const Edit *edit = &d->e->edits[i];
        char *mutant = edited(text, edit);
        snprintf(path, sizeof path, "%s/%s.cu", d->folder, d->e->name);
        FILE *f = mutant ? fopen(path, "w") : NULL;
        if (!mutant) complain(d, "\"%s\": the solution does not hold \"%s\"", edit->name, edit->find);
        else if (!f || fputs(mutant, f) < 0 || fclose(f) != 0) complain(d, "%s: can't be written", path);
        else if (edit->loses) mutant_loses(d, edit, path);
        else must_pass(d, path, edit->name);
        free(mutant);
        unlink(path);
    }
    free(text);
}

static int check_exercise(const Course *course, const CourseExercise *e, const CheckOptions *options)
{
    Dev d = { .course = course, .e = e, .options = options, .folder = "/tmp/learn.dev.XXXXXX" };
    if (!mkdtemp(d.folder)) { complain(&d, "%s: %s", d.folder, strerror(errno)); return 1; }
    if (course_hints(course, e) < 2) complain(&d, "hints.md has fewer than 2 numbered hints below \"## %s\"", e->name);
    starter_fails_as_it_should(&d);
    solutions_pass(&d);
    edits_do_as_they_say(&d);
    rmdir(d.folder);
    printf("%s %-24s %d submissions, %d complaints\n", course->lesson[e->lesson].id, e->name, d.checked, d.complaints);
    return d.complaints;
}

/* Files of the exercise folders that belong to no exercise of the manifests. */
static int stray_files(const Course *course)
{
    int stray = 0;
    glob_t files = { 0 };
    glob("lessons/[0-9]*/exercise/*", 0, NULL, &files);
    glob("lessons/[0-9]*/exercise/solution/*", GLOB_APPEND, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1;
        bool known = strcmp(name, "hints.md") == 0 || strcmp(name, "solution") == 0;
        for (int e = 0; e < course->exercises && !known; e++) {
            const size_t n = strlen(course->exercise[e].name);
            known = strncmp(name, course->exercise[e].name, n) == 0 && (name[n] == '.' || name[n] == '_');
        }
        if (!known) {
            printf("%s: no manifest speaks of this file\n", files.gl_pathv[i]);
            stray++;
        }
    }
    globfree(&files);
    return stray;
}

GpStatus dev_check(const Course *course, const CourseExercise *only, const CheckOptions *options, int workers)
{
    int bad = only ? 0 : stray_files(course), running = 0, status;
    for (int i = 0; i < course->exercises; i++) {
        if (only && only != &course->exercise[i]) continue;
        if (running == workers && wait(&status) > 0) {
            running--;
            bad += status != 0;
        }
        fflush(NULL);
        const pid_t pid = fork();
        if (pid == 0) {
            const int complaints = check_exercise(course, &course->exercise[i], options);
            fflush(NULL);
            _exit(complaints != 0);
        }
        if (pid < 0) return fail(GP_IO, "no process can be started: %s", strerror(errno));
        running++;
    }
    while (wait(&status) > 0) bad += status != 0;
    return bad ? fail(GP_BAD_DATA, "%d of the course's exercises are not as their manifests say", bad) : GP_OK;
}

/* ---- a new exercise ---- */

static const char starter_text[] =
    "// Say in a few lines what is asked for, what lies where, and which sizes may come.\n\n"
    "__global__ void scale(float a, const float *x, float *y, size_t n)\n{\n    // TODO: element i of y is a times element i of x\n}\n\n"
    "// x and y lie in device memory.\nvoid @NAME@(float a, const float *x, float *y, size_t n)\n{\n    // TODO: launch scale\n}\n";
static const char solution_text[] =
    "__global__ void scale(float a, const float *x, float *y, size_t n)\n{\n    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i];\n}\n\n"
    "void @NAME@(float a, const float *x, float *y, size_t n)\n{\n    if (n > 0) scale<<<(n + 255) / 256, 256>>>(a, x, y, n);\n}\n";
static const char call_text[] =
    "#include \"lessons/learn/call.h\"\n\nvoid @NAME@(float a, const float *x, float *y, size_t n);\n\n"
    "void exercise_call(const Call *c) { @NAME@((float)c->scalar[0], floats(c, 0), floats(c, 1), c->n[0]); }\n";
static const char check_text[] =
    "#include \"common/random.h\"\n#include \"lessons/learn/exercise.h\"\n\n"
    "static void shape(ExerciseCase *c)\n{\n    c->scalar[0] = 1.5;\n    c->arrays = 2;\n"
    "    c->array[0] = (ExerciseArray){ .name = \"x\", .type = F32, .direction = IN, .memory = ON_DEVICE, .count = c->n[0] };\n"
    "    c->array[1] = (ExerciseArray){ .name = \"y\", .type = F32, .direction = OUT, .memory = ON_DEVICE, .count = c->n[0] };\n}\n\n"
    "static void fill(const ExerciseCase *c, uint64_t seed, void *const *data) { random_fill_f32(data[0], c->n[0], seed, 0, -1, 1); }\n\n"
    "/* One rounded product: half a unit in the last place. */\n"
    "static void expect(const ExerciseCase *c, void *const *data, double *const *expected, double *const *bound)\n{\n"
    "    const float *x = data[0];\n    for (size_t i = 0; i < c->n[0]; i++) {\n        expected[1][i] = c->scalar[0] * x[i];\n"
    "        bound[1][i] = 0.5 * FLT_EPSILON * fabs(expected[1][i]) + FLT_TRUE_MIN;\n    }\n}\n\n"
    "const Exercise exercise_@NAME@ = {\n"
    "    .sizes = { { 0 }, { 1 }, { 2 }, { 3 }, { 31 }, { 32 }, { 33 }, { 255 }, { 257 }, { 1000 }, { 4099 }, { 100003 } },\n"
    "    .cases = 12, .size_names = { \"n\" }, .shape = shape, .fill = fill, .expect = expect,\n};\n";
static const char manifest_text[] =
    "    {\n      \"name\": \"@NAME@\",\n      \"task\": \"y = a x, element by element.\",\n      \"starter\": \"was never written\",\n"
    "      \"forbid\": [\"coalescing\"],\n      \"mutants\": [\n"
    "        { \"name\": \"no bound\", \"find\": \"if (i < n) \", \"replace\": \"\", \"loses\": \"bounds\" }\n      ],\n      \"right\": []\n    }\n";

static void print_named(FILE *f, const char *text, const char *name)
{
    for (const char *at; (at = strstr(text, "@NAME@")); text = at + strlen("@NAME@")) fprintf(f, "%.*s%s", (int)(at - text), text, name);
    fputs(text, f);
}

static GpStatus write_new(const char *path, const char *text, const char *name)
{
    GpStatus status = GP_OK;
    NewFile n = { 0 };
    if (access(path, F_OK) == 0) return fail(GP_BAD_ARGUMENT, "%s is there already; choose another name", path);
    TRY(new_file_open(&n, path));
    print_named(n.f, text, name);
    TRY(new_file_keep(&n));
    printf("wrote %s\n", path);
cleanup:
    new_file_drop(&n);
    return status;
}

GpStatus dev_new_exercise(const Course *course, int lesson, const char *name)
{
    GpStatus status = GP_OK;
    const CourseExercise e = { .name = name, .lesson = lesson };
    static const struct { const char *format, *text; } files[] = {
        { "%s.cu", starter_text }, { "%s_call.cu", call_text }, { "%s_check.c", check_text }, { "solution/%s.cu", solution_text } };
    char path[COURSE_PATH];
    if (!isalpha((unsigned char)name[0]) || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] || strlen(name) > 40)
        return fail(GP_BAD_ARGUMENT, "'%s' must be the name of a C function in small letters, at most 40 of them", name);
    for (int i = 0; i < course->exercises; i++)
        if (strcmp(course->exercise[i].name, name) == 0)
            return fail(GP_BAD_ARGUMENT, "lesson %s has an exercise '%s' already", course->lesson[course->exercise[i].lesson].id, name);
    course_path(course, &e, path, "%s", "solution");
    char *slash = strrchr(path, '/');
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
    mkdir(path, 0777);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        course_path(course, &e, path, files[i].format, name);
#pragma GCC diagnostic pop
        TRY(write_new(path, files[i].text, name));
    }
    course_path(course, &e, path, "hints.md");
    FILE *hints = fopen(path, "a");
    if (!hints) return fail(GP_IO, "%s: %s", path, strerror(errno));
    fprintf(hints, "\n## %s\n1. The first hint says where to look.\n2. The second says what to write.\n", name);
    fclose(hints);
    printf("added two hints to %s\n\nAdd this to \"exercises\" in lessons/%s/manifest.json, then run make learn and ./learn dev check %s:\n\n", path,
           course->lesson[lesson].id, name);
    print_named(stdout, manifest_text, name);
cleanup:
    return status;
}
