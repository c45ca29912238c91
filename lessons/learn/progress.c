#include "lessons/learn/progress.h"
#include "common/new_file.h"
#include "common/try.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file[] = "work/progress";

static GpStatus make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? GP_OK : fail(GP_IO, "%s: can't be made: %s", path, strerror(errno));
}

GpStatus progress_read(const Course *course, Progress *p)
{
    char name[COURSE_PATH], state[16];
    int hints;
    memset(p, 0, sizeof *p);
    FILE *f = fopen(file, "r");
    if (!f) return errno == ENOENT ? GP_OK : fail(GP_IO, "%s: %s", file, strerror(errno));
    while (fscanf(f, "%255s %15s %d hints", name, state, &hints) == 3)
        for (int i = 0; i < course->exercises; i++)
            if (strcmp(course->exercise[i].name, name) == 0)
                p->exercise[i] = (ExerciseProgress){ strcmp(state, "passed") == 0, hints };
    const bool whole = feof(f);
    fclose(f);
    return whole ? GP_OK : fail(GP_BAD_DATA, "%s: a line is not like \"vector_add passed 2 hints\"; put it right or delete the file", file);
}

GpStatus progress_write(const Course *course, const Progress *p)
{
    GpStatus status = GP_OK;
    NewFile n = { 0 };
    TRY(make_folder("work"));
    TRY(new_file_open(&n, file));
    for (int i = 0; i < course->exercises; i++)
        if (p->exercise[i].passed || p->exercise[i].hints)
            fprintf(n.f, "%s %s %d hints\n", course->exercise[i].name, p->exercise[i].passed ? "passed" : "open", p->exercise[i].hints);
    TRY(new_file_keep(&n));
cleanup:
    new_file_drop(&n);
    return status;
}

void progress_path(const Course *course, const CourseExercise *e, char *path)
{
    snprintf(path, COURSE_PATH, "work/%s/%s.cu", course->lesson[e->lesson].id, e->name);
}

static GpStatus copy_starter(const Course *course, const CourseExercise *e, const char *path)
{
    GpStatus status = GP_OK;
    NewFile n = { 0 };
    char starter[COURSE_PATH];
    course_path(course, e, starter, "%s.cu", e->name);
    char *text = read_text(starter);
    if (!text) return GP_IO;
    TRY(new_file_open(&n, path));
    fputs(text, n.f);
    TRY(new_file_keep(&n));
cleanup:
    new_file_drop(&n);
    free(text);
    return status;
}

GpStatus progress_open(const Course *course, const CourseExercise *e)
{
    GpStatus status = GP_OK;
    char path[COURSE_PATH], folder[COURSE_PATH];
    progress_path(course, e, path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    TRY(make_folder("work"));
    TRY(make_folder(folder));
    if (access(path, F_OK) != 0) TRY(copy_starter(course, e, path));
cleanup:
    return status;
}

GpStatus progress_reset(const Course *course, const CourseExercise *e)
{
    char path[COURSE_PATH], old[COURSE_PATH + 8];
    progress_path(course, e, path);
    snprintf(old, sizeof old, "%s.old", path);
    if (access(path, F_OK) == 0 && rename(path, old) != 0) return fail(GP_IO, "%s: can't be kept as %s: %s", path, old, strerror(errno));
    return progress_open(course, e);
}

int progress_next(const Course *course, const Progress *p)
{
    for (int i = 0; i < course->exercises; i++)
        if (!p->exercise[i].passed) return i;
    return -1;
}
