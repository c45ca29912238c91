/* What the learner has done, in one plain file, work/progress: a line for each exercise, "vector_add passed 2 hints". Their files lie beside it:
 * work/01_vector_add/vector_add.cu, copied from the starter when the exercise is opened. */
#ifndef LEARN_PROGRESS_H
#define LEARN_PROGRESS_H
#include "lessons/learn/course.h"

typedef struct { bool passed; int hints; } ExerciseProgress;
typedef struct { ExerciseProgress exercise[COURSE_EXERCISES]; } Progress;

/* A file that does not exist yet is an empty one; lines about exercises that no longer exist are left alone. */
GpStatus progress_read(const Course *course, Progress *p);
/* Whole or not at all. */
GpStatus progress_write(const Course *course, const Progress *p);
/* The learner's file. */
void progress_path(const Course *course, const CourseExercise *e, char *path);
/* Copies the starter there, unless there is one. */
GpStatus progress_open(const Course *course, const CourseExercise *e);
/* Puts the starter back; the old file stays beside it as NAME.cu.old. */
GpStatus progress_reset(const Course *course, const CourseExercise *e);
/* The first exercise that is not passed; -1: all are. */
int progress_next(const Course *course, const Progress *p);
#endif
