/* The inputs that all approaches of one (problem, variant, n, precision) share in one round: two sets from two seeds, so
 * that a stale answer is a wrong answer, each with the problem's check sets, their references and tolerances. */
#ifndef INPUTS_H
#define INPUTS_H
#include "bench/bench.h"

enum { MAX_CHECKS = 4, SETS = 2 };

typedef struct {
    Case c;                  /* what the buffers were made from */
    Buffers buffers;         /* `out` is shared by all sets of the group */
    double *reference, tolerance;
} InputSet;

typedef struct {
    const Problem *problem;
    const char *name;        /* "kernel_matrix" */
    InputSet set[SETS][MAX_CHECKS];
    size_t working_set;      /* bytes of one set's arrays, and of the workspace */
} Inputs;

/* GP_NO_MEMORY before anything is allocated when it won't fit. */
GpStatus inputs_create(Inputs *in, const Problem *problem, const char *name, const Case *c, const uint64_t seeds[SETS]);
/* set[0][0] alone, from the case's own seed: all that a first call needs. */
GpStatus inputs_create_one(Inputs *in, const Problem *problem, const char *name, const Case *c);
void inputs_destroy(Inputs *in);
/* Room for another set of arrays like `like`, in plain memory: inputs copied, output poisoned. */
GpStatus buffers_copy(Buffers *out, const Buffers *like);
void buffers_free(Buffers *b);
#endif
