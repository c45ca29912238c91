/* What a learner sees: colours on a terminal only (and never with NO_COLOR), one screen an answer. */
#ifndef LEARN_SCREEN_H
#define LEARN_SCREEN_H
#include "lessons/learn/check.h"
#include "lessons/learn/progress.h"

typedef enum { PLAIN, GREEN, RED, DIM, BOLD } Colour;
/* The code that begins a colour, or "". */
const char *colour(Colour c);

void screen_bar(const Course *course, const Progress *p);
void screen_list(const Course *course, const Progress *p);
/* The lesson, the task, the file to edit, the command to run. */
void screen_exercise(const Course *course, const CourseExercise *e);
/* Passed, or the first thing that is wrong and what to do next. `hints` have been shown. */
void screen_result(const Course *course, const CourseExercise *e, const char *file, const CheckResult *r, int hints);
#endif
