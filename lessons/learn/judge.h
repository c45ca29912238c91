/* Writes a case for a submission to solve and judges what it left, in a process that the submission never enters. */
#ifndef LEARN_JUDGE_H
#define LEARN_JUDGE_H
#include "lessons/learn/exercise.h"
#include "common/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { JUDGE_TEXT = 512 };

typedef struct {
    const Exercise *exercise;
    ExerciseCase shape;
    void *data[CALL_ARRAYS];                              /* the inputs */
    double *expected[CALL_ARRAYS], *bound[CALL_ARRAYS];   /* of what comes out */
    double bytes_out_on_device, bytes_on_device;          /* what kernels must write at least; all arrays there */
} JudgedCase;

/* Case `index` of the exercise, filled from a seed. */
GpStatus judge_case_create(JudgedCase *c, const Exercise *e, size_t index, uint64_t seed);
void judge_case_destroy(JudgedCase *c);
/* "n = 33". */
void judge_case_name(const JudgedCase *c, char *name, size_t room);
/* The file for the driver. GP_IO. */
GpStatus judge_case_write(const JudgedCase *c, const char *path);

typedef struct { bool right; char why[JUDGE_TEXT]; double time_s; } Judgement;

/* Reads the file that the driver wrote. `right` only if both of its calls ended without an error, every element is finite where it should be and within its
 * bound, no input was changed and no guard zone was touched; otherwise `why` says what is wrong first. */
GpStatus judge_result(const JudgedCase *c, const char *path, Judgement *j);
#endif
