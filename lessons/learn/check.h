/* Checks one submission: compiles it, runs it on every size of its exercise, each in a fresh process, judges what comes out, reads the simulator's diagnosis,
 * and gives marks. The runner shows the first thing that is wrong; the grader explains every lost mark. */
#ifndef LEARN_CHECK_H
#define LEARN_CHECK_H
#include "lessons/learn/course.h"
#include "lessons/learn/diagnosis.h"

/* What counts, and how much of 100. Without a right answer there is nothing to be safe or good: the last three are then lost too. */
typedef enum { COMPILES, CORRECT, RACES, BOUNDS, QUALITY, CRITERIA } Criterion;
typedef struct { const char *name; int marks; const char *meaning; } CriterionInfo;
extern const CriterionInfo criteria[CRITERIA];

/* Also the exit codes of `learn check`. */
typedef enum { PASSED = 0, FAILED = 1, NOT_BUILT = 3, TIMED_OUT = 4, SKIPPED = 5 } Outcome;

enum { CHECK_TEXT = 2048 };

typedef struct {
    Outcome outcome;
    double marks[CRITERIA];
    char why[CRITERIA][CHECK_TEXT];   /* of each lost mark; empty: nothing lost */
    int cases, right;
    Diagnosis diagnosis;              /* of the largest case that ran */
    double gpu_time_s;                /* of the largest case; 0: not run on a GPU */
    char largest[128];
} CheckResult;

typedef struct {
    const char *tools;                /* the build folder: cudasim, driver and call objects */
    uint64_t seed;
    bool sandboxed, on_gpu;           /* on_gpu: compiled by nvcc too and run there */
    bool all_cases;                   /* go on after the first wrong one, for partial marks */
} CheckOptions;

/* GP_OK when the submission could be judged, however bad it is; anything else is this machine's trouble. */
GpStatus check_submission(const Course *course, const CourseExercise *e, const char *file, const CheckOptions *options, CheckResult *result);
double check_marks(const CheckResult *r);
#endif
