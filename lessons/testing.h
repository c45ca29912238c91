/* What the tests of the problems share: right approaches must be accepted on awkward sizes, wrong outputs refused. Inputs,
 * references and tolerances come from bench/inputs.c, as in a real run. */
#ifndef TESTING_H
#define TESTING_H
#include "bench/inputs.h"
#include "bench/verify.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* after what it needs */

/* An approach that works on the host's arrays in place, so that a HostState is all that it needs. */
static inline int runs_in_place(const Registered *r, const char *problem, Precision p)
{
    return strcmp(r->problem, problem) == 0 && r->approach && r->approach->where == ON_HOST && !r->approach->allocate &&
           r->approach->run[p];
}

static inline int accepted(const Problem *problem, const InputSet *set)
{
    return problem->error(&set->c, &set->buffers, set->reference) <= set->tolerance;
}

static inline void run_on(const Approach *approach, const InputSet *set)
{
    HostState state = { .c = set->c, .buffers = &set->buffers };
    poison(set->buffers.out, set->buffers.out_bytes);
    assert_int_equal(approach->run[set->c.precision](&state), GP_OK);
}

static inline void make_inputs(Inputs *in, const Problem *problem, const char *name, size_t n, Precision p, uint64_t seed)
{
    const Case c = { .n = n, .precision = p };
    const uint64_t seeds[SETS] = { seed, seed + 1 };
    if (inputs_create(in, problem, name, &c, seeds) != GP_OK) fail_msg("%s", gp_message());
}

/* Every host approach on both input sets of one size; naive ones only up to `largest_naive`. */
static inline void check_approaches(const Problem *problem, const char *name, size_t n, Precision p, uint64_t seed, size_t largest_naive)
{
    Inputs in;
    size_t ran = 0;
    make_inputs(&in, problem, name, n, p, seed);
    for (size_t i = 0; i < registry_size; i++) {
        if (!runs_in_place(&registry[i], name, p) || (registry[i].approach->role == NAIVE && n > largest_naive)) continue;
        for (int s = 0; s < SETS; s++)
            for (int k = 0; k < problem->checks; k++) {
                const InputSet *set = &in.set[s][k];
                run_on(registry[i].approach, set);
                if (!accepted(problem, set))
                    fail_msg("%s, n = %zu, %s, seed %d, check %d: error %g, tolerance %g", registry[i].file, n, precision_name(p),
                             (int)seed + s, k, problem->error(&set->c, &set->buffers, set->reference), set->tolerance);
            }
        ran++;
    }
    assert_true(ran > 0);
    inputs_destroy(&in);
}

static inline void set_element(void *x, size_t i, Precision p, double value)
{
    if (p == F32) ((float *)x)[i] = (float)value;
    else ((double *)x)[i] = value;
}

/* x with a mantissa of `bits` bits: 11 is TF32 and half, 24 float. */
static inline double rounded(double x, int bits)
{
    int exponent;
    const double mantissa = frexp(x, &exponent);
    return ldexp(rint(ldexp(mantissa, bits)), exponent - bits);
}

/* A wrong answer: turns the right one that stands in set->buffers.out into one that must be refused. `other` is the second set. */
typedef struct {
    const char *name;
    void (*spoil)(const InputSet *set, const InputSet *other);
} Wrong;

/* The right answer of `approach` is accepted; spoilt in each way, it is refused by at least one of the problem's checks. */
static inline void check_refusals(const Problem *problem, const char *name, const Approach *approach, const Wrong *wrong, size_t count,
                                  size_t n, Precision p)
{
    Inputs in;
    make_inputs(&in, problem, name, n, p, 77);
    for (size_t w = 0; w < count; w++) {
        int refused = 0;
        for (int k = 0; k < problem->checks; k++) {
            const InputSet *set = &in.set[0][k];
            run_on(approach, set);
            assert_true(accepted(problem, set));
            wrong[w].spoil(set, &in.set[1][k]);
            refused += !accepted(problem, set);
        }
        if (!refused) fail_msg("%s, n = %zu, %s: accepted although %s", name, n, precision_name(p), wrong[w].name);
    }
    inputs_destroy(&in);
}
#endif
