/* For those who write lessons: does every exercise do what its manifest says, and the skeleton of a new one. */
#ifndef LEARN_DEV_H
#define LEARN_DEV_H
#include "lessons/learn/check.h"

/* Of every exercise, or of `only`: the starter compiles and fails with its message, solutions and other right answers pass, each mutant loses what it must,
 * there are hints, and no file is there that nobody uses. Prints a line for each; GP_BAD_DATA if anything is not so. */
GpStatus dev_check(const Course *course, const CourseExercise *only, const CheckOptions *options, int workers);
/* Writes starter, judge, call, solution and hints of a new exercise that compile and can be filled in, and says what to add to the manifest. Overwrites nothing. */
GpStatus dev_new_exercise(const Course *course, int lesson, const char *name);
#endif
