/* What passes between the judge and the program that a submission is linked into. The judge writes a file with one CallHeader and the inputs; the
 * program calls the submission and writes back, for its first and its last call, one CallResult and all arrays. The program never sees what is
 * expected: the judge works that out elsewhere, so no submission can print its way to a pass. */
#ifndef LEARN_CALL_H
#define LEARN_CALL_H
#include <stddef.h>
#include <stdint.h>

enum { CALL_SIZES = 3, CALL_SCALARS = 4, CALL_ARRAYS = 8, CALL_MAGIC = 0x4c4c4143, CALL_FD = 3 };

typedef enum { IN, OUT, IN_OUT } Direction;      /* OUT arrays are filled with NaN before the call */
typedef enum { ON_DEVICE, ON_HOST } Memory;

typedef struct {
    uint64_t magic, n[CALL_SIZES], arrays;
    double scalar[CALL_SCALARS];
    struct { uint64_t bytes, direction, memory; } array[CALL_ARRAYS];
} CallHeader;

typedef struct {
    uint64_t magic;
    int64_t cuda_error;          /* what the launch or a kernel left behind; 0: nothing */
    double time_s;               /* of one call, best of ten; 0 on the simulator, which is never timed */
    char cuda_message[104];
} CallResult;

#ifdef __cplusplus
/* What an exercise's call file gets: sizes, scalars, and pointers to the arrays, on the device or on the host as the exercise says. */
typedef struct {
    size_t n[CALL_SIZES];
    double scalar[CALL_SCALARS];
    void *array[CALL_ARRAYS];
} Call;
static inline float *floats(const Call *c, int i) { return (float *)c->array[i]; }
static inline double *doubles(const Call *c, int i) { return (double *)c->array[i]; }
static inline int *ints(const Call *c, int i) { return (int *)c->array[i]; }

/* Each exercise has one: calls the learner's function. */
void exercise_call(const Call *c);
#endif
#endif
