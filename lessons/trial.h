/* For the tests of problems: one case with its arrays and its reference, an approach run on it, and the verdict. */
#ifndef TRIAL_H
#define TRIAL_H
#include "bench/bench.h"
#include "bench/verify.h"
#include "common/memory.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    const Problem *problem;
    Case c;
    Buffers b;
    double *reference;
} Trial;

static inline void must_work(GpStatus status)
{
    if (status != GP_OK) fail_msg("%s", gp_message());
}

static inline Trial trial_create(const Problem *p, int variant, size_t n, Precision precision)
{
    Trial t = { .problem = p, .c = { .n = n, .variant = variant, .precision = precision, .seed = 2026 + n } };
    p->shape(&t.c, &t.b);
    for (int i = 0; i < MAX_INPUTS; i++)
        if (t.b.in_bytes[i]) must_work(memory_alloc(&t.b.in[i], t.b.in_bytes[i], 1, "test input"));
    must_work(memory_alloc(&t.b.out, t.b.out_bytes, 1, "test output"));
    must_work(memory_alloc(&t.reference, p->reference_size(&t.c), sizeof *t.reference, "test reference"));
    poison(t.b.out, t.b.out_bytes);
    must_work(p->fill(&t.c, &t.b));
    must_work(p->reference(&t.c, &t.b, t.reference));
    return t;
}

static inline void trial_destroy(Trial *t)
{
    for (int i = 0; i < MAX_INPUTS; i++) memory_free(t->b.in[i]);
    memory_free(t->b.out);
    memory_free(t->reference);
}

/* Allocate, upload, run `runs` times, download, release. */
static inline GpStatus trial_run(Trial *t, const Approach *a, int runs)
{
    const Registered entry = { .definition = t->problem, .approach = a };
    Case c = t->c;
    void *state = NULL;
    c.entry = &entry;
    poison(t->b.out, t->b.out_bytes);
    GpStatus status = a->allocate(&c, &state);
    if (status == GP_OK) status = a->upload(state, &t->b);
    for (int i = 0; status == GP_OK && i < runs; i++) status = a->run[c.precision](state);
    if (status == GP_OK) status = a->download(state, &t->b);
    a->release(state);
    return status;
}

static inline void trial_expect(const Trial *t, int accepted, const char *what)
{
    const double error = t->problem->error(&t->c, &t->b, t->reference), tolerance = t->problem->tolerance(&t->c, &t->b, t->reference);
    if ((error <= tolerance) == accepted) return;
    fail_msg("%s, n = %zu, %s, variant %d: error %g, tolerance %g, should be %s", what, t->c.n, precision_name(t->c.precision),
             t->c.variant, error, tolerance, accepted ? "accepted" : "refused");
}

static inline void put(void *x, size_t i, Precision p, double value)
{
    if (p == F32) ((float *)x)[i] = (float)value;
    else ((double *)x)[i] = value;
}

/* x with 10 bits of mantissa kept, as TF32 and half precision have. */
static inline double ten_bits(double x)
{
    int exponent = 0;
    const double mantissa = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(mantissa, 11)), exponent - 11);
}

static inline void round_input(Trial *t, int which)
{
    const size_t count = t->b.in_bytes[which] / precision_bytes(t->c.precision);
    for (size_t i = 0; i < count; i++) put(t->b.in[which], i, t->c.precision, ten_bits(element(t->b.in[which], i, t->c.precision)));
}

#endif
