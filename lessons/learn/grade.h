/* Grading a folder of submissions: a folder for each student, in it one file an exercise, student/vector_add.cu. */
#ifndef LEARN_GRADE_H
#define LEARN_GRADE_H
#include "lessons/learn/check.h"

typedef struct {
    const char *submissions;          /* the folder */
    const char *csv, *json;           /* what is written; json NULL: none */
    const CourseExercise *only;       /* NULL: every exercise that some student has handed in */
    CheckOptions check;
    int workers;                      /* processes at a time */
} GradeOrder;

/* Every student gets a row for each exercise, also for a missing file. The same submissions give the same file, byte for byte, however many workers. A row
 * names every lost mark. GP_BAD_ARGUMENT for a folder that isn't there or is empty. */
GpStatus grade(const Course *course, const GradeOrder *order);
#endif
