#define _GNU_SOURCE
#include "lessons/learn/grade.h"
#include "common/new_file.h"
#include "common/try.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One submission of one exercise. It lies in memory that the workers share with us. */
typedef struct {
    char student[256];
    int exercise;
    bool handed_in, done;
    CheckResult result;
} Row;

typedef struct { Row *row; size_t count, room; } Rows;

/* ---- who handed in what ---- */

static int is_student(const struct dirent *d) { return d->d_name[0] != '.' && strlen(d->d_name) < 200; }

static bool is_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* A link could name another student's file, or any file of this machine. */
static bool is_plain_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_size <= 1 << 20;
}

static void submission_path(const Course *course, const GradeOrder *o, const char *student, int exercise, char *path, size_t room)
{
    snprintf(path, room, "%s/%s/%s.cu", o->submissions, student, course->exercise[exercise].name);
}

/* Which exercises somebody has handed in: those are graded for everybody. */
static void find_exercises(const Course *course, const GradeOrder *o, struct dirent **student, int students, bool *wanted)
{
    char path[4096];
    for (int e = 0; e < course->exercises; e++) {
        wanted[e] = o->only == &course->exercise[e];
        for (int s = 0; s < students && !o->only && !wanted[e]; s++) {
            submission_path(course, o, student[s]->d_name, e, path, sizeof path);
            wanted[e] = access(path, F_OK) == 0;
        }
    }
}

static GpStatus find_rows(const Course *course, const GradeOrder *o, Rows *rows)
{
    GpStatus status = GP_OK;
    struct dirent **student = NULL;
    bool wanted[COURSE_EXERCISES];
    char path[4096];
    const int students = scandir(o->submissions, &student, is_student, alphasort);
    if (students < 0) return fail(GP_BAD_ARGUMENT, "%s: %s; name the folder that holds a folder for each student", o->submissions, strerror(errno));
    find_exercises(course, o, student, students, wanted);
    rows->room = (size_t)(students ? students : 1) * (size_t)course->exercises;
    rows->row = mmap(NULL, rows->room * sizeof(Row), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rows->row == MAP_FAILED) {
        rows->row = NULL;
        TRY(fail(GP_NO_MEMORY, "no memory for %zu rows", rows->room));
    }
    for (int s = 0; s < students; s++) {
        snprintf(path, sizeof path, "%s/%s", o->submissions, student[s]->d_name);
        if (!is_folder(path)) continue;
        for (int e = 0; e < course->exercises; e++) {
            if (!wanted[e]) continue;
            Row *r = &rows->row[rows->count++];
            snprintf(r->student, sizeof r->student, "%.199s", student[s]->d_name);
            r->exercise = e;
            submission_path(course, o, r->student, e, path, sizeof path);
            r->handed_in = is_plain_file(path);
        }
    }
    if (rows->count == 0)
        status = fail(GP_BAD_ARGUMENT, "%s: no student's folder in it holds an exercise's file, like ada/vector_add.cu", o->submissions);
cleanup:
    for (int s = 0; s < students; s++) free(student[s]);
    free(student);
    return status;
}

/* ---- grading ---- */

/* In a process of its own: whatever happens there, the other rows go on. */
static int grade_row(const Course *course, const GradeOrder *o, Row *r)
{
    char path[4096];
    submission_path(course, o, r->student, r->exercise, path, sizeof path);
    if (check_submission(course, &course->exercise[r->exercise], path, &o->check, &r->result) != GP_OK) {
        fprintf(stderr, "%s: %s: %s\n", r->student, course->exercise[r->exercise].name, gp_message());
        return 1;
    }
    r->done = true;
    return 0;
}

static GpStatus grade_rows(const Course *course, const GradeOrder *o, Rows *rows)
{
    size_t next = 0, ended = 0, begun = 0;
    bool troubled = false;
    const bool terminal = isatty(2);
    while (ended < rows->count) {
        for (; next < rows->count && begun - ended < (size_t)o->workers; next++) {
            if (!rows->row[next].handed_in) { begun++; ended++; continue; }
            fflush(NULL);
            const pid_t pid = fork();
            if (pid == 0) _exit(grade_row(course, o, &rows->row[next]));
            if (pid < 0) return fail(GP_IO, "no process can be started: %s", strerror(errno));
            begun++;
        }
        int status;
        if (begun > ended && wait(&status) > 0) {
            ended++;
            troubled |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        }
        if (terminal) fprintf(stderr, "\rgraded %zu of %zu ", ended, rows->count);
        if (troubled) {
            while (wait(NULL) > 0) {}
            return fail(GP_DEVICE, "a submission could not be judged; no file was written");
        }
    }
    if (terminal) fprintf(stderr, "\r%40s\r", "");
    return GP_OK;
}

/* ---- writing ---- */

/* RFC 4180; and a cell that a spreadsheet would take for a formula gets a space in front. */
static void write_cell(FILE *f, const char *text)
{
    fprintf(f, "\"%s", text[0] && strchr("=+-@\t\r", text[0]) ? " " : "");
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text == '\n' ? ' ' : *text, f);
    }
    fputc('"', f);
}

static const char *state_of(const Row *r)
{
    if (!r->handed_in) return "missing";
    switch (r->result.outcome) {
    case PASSED: return "passed";
    case NOT_BUILT: return "does not compile";
    case TIMED_OUT: return "timed out";
    default: return "failed";
    }
}

static void reasons(const Row *r, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    if (!r->handed_in) snprintf(text, room, "no plain file of this name was handed in");
    for (int c = 0; c < CRITERIA && r->handed_in && used < room; c++)
        if (r->result.why[c][0])
            used += (size_t)snprintf(text + used, room - used, "%s%s -%g: %s", used ? " | " : "", criteria[c].name, criteria[c].marks - r->result.marks[c],
                                     r->result.why[c]);
}

static GpStatus write_csv(const Course *course, const Rows *rows, const char *path)
{
    GpStatus status = GP_OK;
    NewFile n = { 0 };
    char text[CRITERIA * (CHECK_TEXT + 64)];
    TRY(new_file_open(&n, path));
    fprintf(n.f, "student,exercise,state,marks,sizes_right,sizes");
    for (int c = 0; c < CRITERIA; c++) fprintf(n.f, ",%s", criteria[c].name);
    fprintf(n.f, ",lost\n");
    for (size_t i = 0; i < rows->count; i++) {
        const Row *r = &rows->row[i];
        write_cell(n.f, r->student);
        fprintf(n.f, ",%s,%s,%g,%d,%d", course->exercise[r->exercise].name, state_of(r), check_marks(&r->result), r->result.right, r->result.cases);
        for (int c = 0; c < CRITERIA; c++) fprintf(n.f, ",%g", r->result.marks[c]);
        reasons(r, text, sizeof text);
        fputc(',', n.f);
        write_cell(n.f, text);
        fputc('\n', n.f);
    }
    TRY(new_file_keep(&n));
cleanup:
    new_file_drop(&n);
    return status;
}

static cJSON *row_json(const Course *course, const Row *r)
{
    cJSON *o = cJSON_CreateObject(), *lost = cJSON_AddArrayToObject(o, "lost");
    cJSON_AddStringToObject(o, "student", r->student);
    cJSON_AddStringToObject(o, "exercise", course->exercise[r->exercise].name);
    cJSON_AddStringToObject(o, "state", state_of(r));
    cJSON_AddNumberToObject(o, "marks", check_marks(&r->result));
    cJSON_AddNumberToObject(o, "sizes_right", r->result.right);
    cJSON_AddNumberToObject(o, "sizes", r->result.cases);
    for (int c = 0; c < CRITERIA; c++) {
        if (!r->result.why[c][0]) continue;
        cJSON *l = cJSON_CreateObject();
        cJSON_AddStringToObject(l, "criterion", criteria[c].name);
        cJSON_AddNumberToObject(l, "marks", criteria[c].marks - r->result.marks[c]);
        cJSON_AddStringToObject(l, "why", r->result.why[c]);
        cJSON_AddItemToArray(lost, l);
    }
    return o;
}

static GpStatus write_json(const Course *course, const Rows *rows, const char *path)
{
    GpStatus status = GP_OK;
    NewFile n = { 0 };
    cJSON *all = cJSON_CreateArray();
    char *text = NULL;
    for (size_t i = 0; i < rows->count; i++) cJSON_AddItemToArray(all, row_json(course, &rows->row[i]));
    text = cJSON_Print(all);
    TRY(text ? GP_OK : fail(GP_NO_MEMORY, "no memory for %s", path));
    TRY(new_file_open(&n, path));
    fprintf(n.f, "%s\n", text);
    TRY(new_file_keep(&n));
cleanup:
    new_file_drop(&n);
    cJSON_Delete(all);
    free(text);
    return status;
}

GpStatus grade(const Course *course, const GradeOrder *order)
{
    GpStatus status = GP_OK;
    Rows rows = { 0 };
    size_t passed = 0;
    TRY(find_rows(course, order, &rows));
    TRY(grade_rows(course, order, &rows));
    TRY(write_csv(course, &rows, order->csv));
    if (order->json) TRY(write_json(course, &rows, order->json));
    for (size_t i = 0; i < rows.count; i++) passed += rows.row[i].result.outcome == PASSED && rows.row[i].handed_in;
    printf("%zu of %zu passed; %s has every mark and why it was lost\n", passed, rows.count, order->csv);
cleanup:
    if (rows.row) munmap(rows.row, rows.room * sizeof(Row));
    return status;
}
