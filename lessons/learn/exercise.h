/* An exercise as its judge knows it: which arrays the learner's function gets, how they are filled, and what must come out. One file,
 * lessons/NN_x/exercise/NAME_check.c, defines `exercise_NAME`; NAME_call.cu beside it calls the learner's function. */
#ifndef LEARN_EXERCISE_H
#define LEARN_EXERCISE_H
#include "lessons/learn/call.h"
#include <float.h>
#include <math.h>

typedef enum { F32, F64, I32 } ElementType;

typedef struct {
    const char *name;            /* as the learner's function calls it */
    ElementType type;
    Direction direction;
    Memory memory;
    size_t count;                /* elements */
    size_t rows;                 /* of a column-major matrix; 0: a vector */
} ExerciseArray;

typedef struct {
    size_t n[CALL_SIZES];        /* as the exercise lists them, unused ones 0 */
    double scalar[CALL_SCALARS];
    ExerciseArray array[CALL_ARRAYS];
    int arrays;
} ExerciseCase;

enum { EXERCISE_CASES = 24 };

typedef struct {
    size_t sizes[EXERCISE_CASES][CALL_SIZES];
    size_t cases;
    const char *size_names[CALL_SIZES];     /* "n", "rows", ...: for messages; NULL behind the last */
    /* Fills in scalars and arrays for c->n. */
    void (*shape)(ExerciseCase *c);
    /* Writes data[a] for every array that goes in; values depend on the position, so that a wrong index shows. */
    void (*fill)(const ExerciseCase *c, uint64_t seed, void *const *data);
    /* From the inputs alone, in float64: expected[a][i] and the largest difference that rounding explains, bound[a][i], for every array that comes out.
     * A bound of 0 asks for equality. */
    void (*expect)(const ExerciseCase *c, void *const *data, double *const *expected, double *const *bound);
} Exercise;

static inline size_t element_bytes(ElementType t) { return t == F64 ? 8 : 4; }
#endif
