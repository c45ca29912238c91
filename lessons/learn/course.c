#define _GNU_SOURCE
#include "lessons/learn/course.h"
#include "common/try.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 1 << 12;
    if (!f) {
        fail(GP_IO, "%s: can't be read", path);
        return NULL;
    }
    for (size_t n = 1; n > 0;) {
        char *more = realloc(text, room *= 2);
        if (!more) break;
        text = more;
        n = fread(text + used, 1, room - used - 1, f);
        used += n;
    }
    fclose(f);
    if (text) text[used] = 0;
    else fail(GP_NO_MEMORY, "%s: no memory", path);
    return text;
}

/* ---- the manifest ---- */

static const char *text_of(const cJSON *o, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

static GpStatus read_words(const char *file, const cJSON *o, const char *key, const char **words)
{
    int n = 0;
    const cJSON *word;
    cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(o, key)) {
        if (!cJSON_IsString(word) || n == COURSE_WORDS - 1) return fail(GP_BAD_DATA, "%s: \"%s\" must be at most %d words", file, key, COURSE_WORDS - 1);
        words[n++] = word->valuestring;
    }
    return GP_OK;
}

static GpStatus read_edits(const char *file, const cJSON *o, const char *key, bool wrong, CourseExercise *e)
{
    const cJSON *edit;
    cJSON_ArrayForEach(edit, cJSON_GetObjectItemCaseSensitive(o, key)) {
        const Edit read = { text_of(edit, "name"), text_of(edit, "find"), text_of(edit, "replace"), text_of(edit, "loses") };
        if (!read.name || !read.find || !read.replace || wrong != (read.loses != NULL) || e->edit_count == COURSE_EDITS)
            return fail(GP_BAD_DATA, "%s: %s: \"%s\": each needs name, find, replace%s, and there may be %d", file, e->name, key,
                        wrong ? ", loses" : "", COURSE_EDITS);
        e->edits[e->edit_count++] = read;
    }
    return GP_OK;
}

static const Exercise *judge_of(const char *name)
{
    for (size_t i = 0; i < registered_exercises_size; i++)
        if (strcmp(registered_exercises[i].name, name) == 0) return registered_exercises[i].exercise;
    return NULL;
}

static GpStatus read_exercise(const char *file, const cJSON *o, int lesson, CourseExercise *e)
{
    GpStatus status = GP_OK;
    const cJSON *moved = cJSON_GetObjectItemCaseSensitive(o, "most_moved");
    *e = (CourseExercise){ .name = text_of(o, "name"), .task = text_of(o, "task"), .starter = text_of(o, "starter"), .lesson = lesson,
                           .most_moved = cJSON_IsNumber(moved) ? moved->valuedouble : 0,
                           .host_writes = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "host_writes")) };
    if (!e->name || !e->task || !e->starter) return fail(GP_BAD_DATA, "%s: an exercise needs \"name\", \"task\" and \"starter\"", file);
    e->judge = judge_of(e->name);
    if (!e->judge) return fail(GP_BAD_DATA, "%s: exercise/%s_check.c is missing, or learn was built before it: run make learn", file, e->name);
    TRY(read_words(file, o, "forbid", e->forbid));
    TRY(read_words(file, o, "allow", e->allow));
    TRY(read_words(file, o, "uses", e->uses));
    TRY(read_edits(file, o, "mutants", true, e));
    TRY(read_edits(file, o, "right", false, e));
cleanup:
    return status;
}

static GpStatus read_manifest(const char *file, Course *c)
{
    GpStatus status = GP_OK;
    CourseLesson *l = &c->lesson[c->lessons];
    const cJSON *o;
    char *text = read_text(file);
    if (!text) return GP_IO;
    l->json = cJSON_Parse(text);
    free(text);
    if (!l->json) return fail(GP_BAD_DATA, "%s: not JSON, near: %.40s", file, cJSON_GetErrorPtr() ? cJSON_GetErrorPtr() : "its end");
    snprintf(l->id, sizeof l->id, "%.*s", (int)(strrchr(file, '/') - file - (long)strlen("lessons/")), file + strlen("lessons/"));
    l->title = text_of(l->json, "title");
    l->question = text_of(l->json, "question");
    l->able = text_of(l->json, "able");
    l->problem = text_of(l->json, "problem");
    if (!l->title || !l->question || !l->able) return fail(GP_BAD_DATA, "%s: needs \"title\", \"question\" and \"able\"", file);
    l->first = c->exercises;
    cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(l->json, "exercises")) {
        if (c->exercises == COURSE_EXERCISES) return fail(GP_BAD_DATA, "%s: more than %d exercises", file, COURSE_EXERCISES);
        TRY(read_exercise(file, o, c->lessons, &c->exercise[c->exercises]));
        c->exercises++;
        l->count++;
    }
    c->lessons++;
cleanup:
    return status;
}

GpStatus course_read(Course *course)
{
    GpStatus status = GP_OK;
    glob_t files = { 0 };
    memset(course, 0, sizeof *course);
    if (glob("lessons/[0-9][0-9]_*/manifest.json", 0, NULL, &files) != 0) return fail(GP_IO, "no lessons/*/manifest.json here");
    for (size_t i = 0; i < files.gl_pathc && i < COURSE_LESSONS; i++) TRY(read_manifest(files.gl_pathv[i], course));
cleanup:
    globfree(&files);
    if (status != GP_OK) course_destroy(course);
    return status;
}

void course_destroy(Course *course)
{
    if (!course) return;
    for (int i = 0; i < COURSE_LESSONS; i++) cJSON_Delete(course->lesson[i].json);
    memset(course, 0, sizeof *course);
}

/* ---- finding ---- */

int course_find_lesson(const Course *course, const char *name)
{
    for (int i = 0; i < course->lessons; i++) {
        const char *id = course->lesson[i].id;
        const bool is_number = isdigit((unsigned char)name[0]) && atoi(name) == atoi(id) && name[strspn(name, "0123456789")] == 0;
        if (is_number || strcmp(name, id) == 0 || strcmp(name, id + 3) == 0) return i;
    }
    fail(GP_BAD_ARGUMENT, "there is no lesson '%s'; ./learn list shows them", name);
    return -1;
}

int course_find_exercise(const Course *course, const char *name)
{
    for (int i = 0; i < course->exercises; i++)
        if (strcmp(course->exercise[i].name, name) == 0) return i;
    const int lesson = course_find_lesson(course, name);
    if (lesson < 0) {
        fail(GP_BAD_ARGUMENT, "there is no lesson or exercise '%s'; ./learn list shows them", name);
        return -1;
    }
    if (course->lesson[lesson].count > 0) return course->lesson[lesson].first;
    fail(GP_BAD_ARGUMENT, "lesson %s has no exercise", course->lesson[lesson].id);
    return -1;
}

void course_path(const Course *course, const CourseExercise *e, char *path, const char *format, ...)
{
    va_list list;
    const int n = snprintf(path, COURSE_PATH, "lessons/%s/exercise/", course->lesson[e->lesson].id);
    va_start(list, format);
    vsnprintf(path + n, (size_t)(COURSE_PATH - n), format, list);
    va_end(list);
}

/* ---- hints ---- */

static const char *line_after(const char *p)
{
    p = strchr(p, '\n');
    return p ? p + 1 : NULL;
}

/* Where hint n of a text begins and where it ends; false: there is none. */
static bool find_hint(const char *text, const char *name, int n, const char **begin, const char **end)
{
    bool inside = false;
    int next = 0;
    *begin = NULL;
    for (const char *p = text; p; p = line_after(p)) {
        const bool heading = strncmp(p, "## ", 3) == 0, numbered = isdigit((unsigned char)p[0]) && p[strspn(p, "0123456789")] == '.';
        if (*begin && (heading || numbered)) return *end = p, true;
        if (heading) inside = strncmp(p + 3, name, strlen(name)) == 0 && strchr("\r\n", p[3 + strlen(name)]) != NULL;
        if (inside && numbered && next++ == n) *begin = p;
    }
    *end = text + strlen(text);
    return *begin != NULL;
}

char *course_hint(const Course *course, const CourseExercise *e, int n)
{
    char path[COURSE_PATH];
    const char *begin, *end;
    course_path(course, e, path, "hints.md");
    char *text = read_text(path), *hint = NULL;
    if (text && find_hint(text, e->name, n, &begin, &end)) hint = strndup(begin, (size_t)(end - begin));
    free(text);
    return hint;
}

int course_hints(const Course *course, const CourseExercise *e)
{
    int n = 0;
    for (char *h; (h = course_hint(course, e, n)); n++) free(h);
    return n;
}
