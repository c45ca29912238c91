/* The course as the folders and their manifests have it: lessons/NN_name/manifest.json. One manifest serves the runner and the grader:
 *   title, question, able      what the lesson is called, asks, and what its reader can do afterwards
 *   problem                    the harness's problem, for `learn run`; absent: none
 *   exercises                  each with
 *     name                     exercise/NAME.cu is the starter, NAME_check.c its judge, NAME_call.cu the call, solution/NAME.cu a solution
 *     task                     one sentence
 *     starter                  what the message of the untouched starter holds
 *     forbid                   kinds of cudasim's findings that cost quality: "coalescing", "bank conflicts", "leak", "unchecked launch", ...
 *     allow                    kinds that cost nothing here: an exercise about a launch that is refused
 *     most_moved               bytes that kernels may move, as a multiple of the bytes of all arrays; absent: any
 *     host_writes              true: the answer need not come from a kernel
 *     uses                     words that the code must hold, comments apart
 *     mutants                  edits of the solution that must lose: name, find, replace, loses
 *     right                    edits of the solution that must lose nothing: name, find, replace
 * hints.md holds a heading "## NAME" and below it a numbered list, one hint each. */
#ifndef LEARN_COURSE_H
#define LEARN_COURSE_H
#include "common/status.h"
#include "lessons/learn/exercise.h"
#include <stdbool.h>

enum { COURSE_LESSONS = 32, COURSE_EXERCISES = 64, COURSE_PATH = 512, COURSE_WORDS = 8, COURSE_EDITS = 24 };

typedef struct { const char *name, *find, *replace, *loses; } Edit;   /* loses: NULL for a right answer */

typedef struct {
    const char *name, *task, *starter;
    const char *forbid[COURSE_WORDS], *allow[COURSE_WORDS], *uses[COURSE_WORDS];
    double most_moved;
    bool host_writes;
    Edit edits[COURSE_EDITS];
    int edit_count;
    int lesson;                        /* index */
    const Exercise *judge;
} CourseExercise;

typedef struct {
    char id[COURSE_PATH];              /* "01_vector_add" */
    const char *title, *question, *able, *problem;
    int first, count;                  /* its exercises */
    void *json;
} CourseLesson;

typedef struct {
    CourseLesson lesson[COURSE_LESSONS];
    CourseExercise exercise[COURSE_EXERCISES];
    int lessons, exercises;
} Course;

/* Reads the manifests below lessons/, in order. GP_BAD_DATA names file and entry. */
GpStatus course_read(Course *course);
void course_destroy(Course *course);

/* Finds "05", "5", "05_reduction", "reduction": -1 and a message if there is none. */
int course_find_lesson(const Course *course, const char *name);
/* Finds an exercise by its name, or the first of a lesson: -1 and a message. */
int course_find_exercise(const Course *course, const char *name);

/* lessons/01_vector_add/exercise/<format>, at most COURSE_PATH bytes. */
void course_path(const Course *course, const CourseExercise *e, char *path, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Whole text of a file, to be freed; NULL and a message. */
char *read_text(const char *path);
/* The number of hints of an exercise, and the n-th, from 0; to be freed. */
int course_hints(const Course *course, const CourseExercise *e);
char *course_hint(const Course *course, const CourseExercise *e, int n);

/* Generated from the folders. */
typedef struct { const char *name; const Exercise *exercise; } RegisteredExercise;
extern const RegisteredExercise registered_exercises[];
extern const size_t registered_exercises_size;
#endif
