/* What the tests of the lessons share: every approach that can run here must be right at awkward sizes, and wrong answers must be refused.
 * Inputs, references and tolerances come from bench/inputs.c, and an approach is driven as bench/visit.c drives it, without the clock. */
#ifndef TESTING_H
#define TESTING_H
#include "bench/device.h"
#include "bench/inputs.h"
#include "bench/verify.h"
#include "common/memory.h"
#include "common/try.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* after what it needs */

enum { REFUSED, ACCEPTED };
enum { TF32_BITS = 11, FLOAT_BITS = 24 }; /* of a mantissa, the leading one included; half has as many as TF32 */

static inline void must_work(GpStatus status)
{
    if (status != GP_OK) fail_msg("%s", gp_message());
}

/* ---- a case and its verdict ---- */

/* One size of a problem. `c`, `b`, `reference` and `tolerance` are those of the set that trial_look chose; `other` is the same check from
 * the other seed, whose answer is a wrong one here. All sets write to one `out`, as in a real run. */
typedef struct {
    const Problem *problem;
    Case c;
    Buffers b, other;
    double *reference, tolerance;
    Inputs inputs;                 /* owns the arrays */
} Trial;

static inline void trial_look(Trial *t, int set, int check)
{
    const InputSet *s = &t->inputs.set[set][check];
    t->c = s->c;
    t->b = s->buffers;
    t->other = t->inputs.set[1 - set][check].buffers;
    t->reference = s->reference;
    t->tolerance = s->tolerance;
}

/* Inputs from `seed` and from seed + 1; looks at check 0 of the first. */
static inline Trial trial_create(const Problem *problem, int variant, size_t n, Precision p, uint64_t seed)
{
    Trial t = { .problem = problem };
    const Case c = { .n = n, .variant = variant, .precision = p };
    must_work(inputs_create(&t.inputs, problem, problem->title, &c, (const uint64_t[SETS]){ seed, seed + 1 }));
    trial_look(&t, 0, 0);
    return t;
}

static inline void trial_destroy(Trial *t) { inputs_destroy(&t->inputs); }

/* Accepted is what the harness accepts: NaN, where an element isn't finite, is not. */
static inline double trial_error(const Trial *t) { return t->problem->error(&t->c, &t->b, t->reference); }
static inline int trial_accepts(const Trial *t) { return trial_error(t) <= t->tolerance; }

static inline void trial_expect(const Trial *t, int verdict, const char *what)
{
    if (trial_accepts(t) == verdict) return;
    fail_msg("%s: %s, n = %zu, %s, variant %d, seed %d, check %d: error %g, tolerance %g, should be %s", t->problem->title, what, t->c.n,
             precision_name(t->c.precision), t->c.variant, (int)t->c.seed, t->c.check, trial_error(t), t->tolerance,
             verdict == ACCEPTED ? "accepted" : "refused");
}

/* ---- running an approach ---- */

/* The device that such approaches run on; NULL for the host. */
static inline const Device *device_of(Where where)
{
    for (size_t i = 0; i < devices_size; i++)
        if (devices[i].device->where == where) return devices[i].device;
    return NULL;
}

static inline const Registered *entry_of(const Approach *approach)
{
    for (size_t i = 0; i < registry_size; i++)
        if (registry[i].approach == approach) return &registry[i];
    fail_msg("\"%s\" is not in the registry", approach->idea);
    return NULL;
}

/* An approach with what it allocated for one size, on a stream of its own where it runs on a device. */
typedef struct {
    const Approach *approach;
    const Device *device;
    HostState host;                /* its case; the whole state of an approach without `allocate` */
    void *own;                     /* the state of one with it */
} Runner;

static inline void *runner_state(Runner *r) { return r->approach->allocate ? r->own : &r->host; }

static inline GpStatus runner_open(Runner *r, const Approach *approach, const Case *c)
{
    GpStatus status = GP_OK;
    *r = (Runner){ .approach = approach, .device = device_of(approach->where), .host = { .c = *c } };
    r->host.c.entry = entry_of(approach);
    if (r->device) TRY(r->device->stream_create(&r->host.c.stream));
    if (approach->allocate) TRY(approach->allocate(&r->host.c, &r->own));
cleanup:
    return status;
}

static inline GpStatus runner_upload(Runner *r, const Buffers *b)
{
    r->host.buffers = b;
    return r->approach->upload ? r->approach->upload(runner_state(r), b) : GP_OK;
}

/* Into a poisoned b->out. Runs follow each other without a wait, as in a timed batch; each must find the inputs as they were uploaded. */
static inline GpStatus runner_answer(Runner *r, const Buffers *b, int runs)
{
    GpStatus status = GP_OK;
    poison(b->out, b->out_bytes);
    for (int i = 0; i < runs; i++) TRY(r->approach->run[r->host.c.precision](runner_state(r)));
    if (r->device) TRY(r->device->synchronize());
    if (r->approach->download) TRY(r->approach->download(runner_state(r), b));
cleanup:
    return status;
}

static inline void runner_close(Runner *r)
{
    if (r->approach->release) r->approach->release(r->own);
    if (r->host.c.stream) r->device->stream_destroy(r->host.c.stream);
}

/* All steps once: t->b.out holds the answer. */
static inline GpStatus trial_run(const Trial *t, const Approach *approach)
{
    GpStatus status = GP_OK;
    Runner r;
    TRY(runner_open(&r, approach, &t->c));
    TRY(runner_upload(&r, &t->b));
    TRY(runner_answer(&r, &t->b, 1));
cleanup:
    runner_close(&r);
    return status;
}

/* ---- right answers ---- */

static inline int is_here(Where where)
{
    const Device *d = device_of(where);
    return where == ON_HOST || (d && !(d->unavailable && d->unavailable()));
}

/* As bench/measure.c decides it, for one kind and precision. The probe comes last: a worker's would start Python. */
static inline int can_run(const Registered *r, Where where, Precision p)
{
    const Approach *a = r->approach;
    return a && a->where == where && a->run[p] && is_here(where) && !(a->probe && a->probe(r));
}

/* CUDA code runs on the simulator (common/cudasim). */
static inline int is_simulated(void)
{
    const Device *d = device_of(ON_CUDA);
    DeviceFacts facts;
    return d && d->facts(&facts) == GP_OK && strstr(facts.name, "simulated");
}

/* There every load and store is checked: plain kernels take a microsecond for some ten operations; tuned ones for hundreds, where a library does most
 * of them. Beyond these sizes only a GPU is asked. */
static inline int is_too_long_here(const Registered *r, const Case *c)
{
    const double limit = r->approach->role == NAIVE ? 6e6 : 2e8;
    if (r->approach->where != ON_CUDA || !is_simulated()) return 0;
    const Work w = r->definition->work(c);
    return w.flops > 0 ? w.flops + w.bytes > limit : c->n > 60;   /* training has no fixed work: dozens of likelihoods */
}

/* Opens the tests of CUDA approaches: past it, none that ran is a failure. */
static inline void skip_without_cuda(void)
{
    if (!is_here(ON_CUDA)) skip();
}

/* One state for both seeds: the answer left from the first is wrong for the second, and what an approach before it left in memory is the
 * second's. One run for the first seed, two in a row for the second, so that a run which spoils what the next one needs shows as well. */
static inline void check_approach(Trial *t, const Registered *entry)
{
    Runner r;
    trial_look(t, 0, 0);
    must_work(runner_open(&r, entry->approach, &t->c));
    for (int set = 0; set < SETS; set++)
        for (int check = 0; check < t->problem->checks; check++) {
            trial_look(t, set, check);
            must_work(runner_upload(&r, &t->b));
            must_work(runner_answer(&r, &t->b, 1 + set));
            trial_expect(t, ACCEPTED, entry->file);
        }
    runner_close(&r);
}

/* Every approach of the problem on host or device, in every variant that has this n and both precisions. Naive ones on the host are
 * left out where n is above `largest_naive`: they would take seconds. */
static inline void check_approaches(const Problem *problem, Where where, size_t n, uint64_t seed, size_t largest_naive)
{
    size_t cases = 0;
    for (int variant = 0; variant == 0 || (problem->variants && problem->variants[variant]); variant++)
        for (int p = 0; p < PRECISIONS; p++) {
            size_t ran = 0;
            if (problem->refuse && problem->refuse(&(Case){ .n = n, .variant = variant, .precision = (Precision)p })) continue;
            Trial t = trial_create(problem, variant, n, (Precision)p, seed);
            for (size_t i = 0; i < registry_size; i++) {
                if (registry[i].definition != problem || !can_run(&registry[i], where, (Precision)p)) continue;
                if (where == ON_HOST && registry[i].approach->role == NAIVE && n > largest_naive) continue;
                ran++;
                if (!is_too_long_here(&registry[i], &t.c)) check_approach(&t, &registry[i]);
            }
            if (ran == 0) fail_msg("%s, n = %zu, %s: no approach ran", problem->title, n, precision_name((Precision)p));
            trial_destroy(&t);
            cases++;
        }
    if (cases == 0) fail_msg("%s: no variant has n = %zu", problem->title, n);
}

/* ---- wrong answers ---- */

/* `spoil` turns the right answer that stands in t->b.out into one that must be refused. */
typedef struct {
    const char *name;
    void (*spoil)(const Trial *t);
} Wrong;

/* The right answer of `approach` is accepted; spoilt in any of the ways it is refused, by at least one of the problem's checks; so is the
 * right answer to the other seed's inputs, as a kernel that does nothing leaves it. */
static inline void check_refusals(Trial *t, const Approach *approach, const Wrong *wrong, size_t count)
{
    void *right[MAX_CHECKS];
    int stale_refused = 0;
    for (int check = 0; check < t->problem->checks; check++) {
        must_work(memory_alloc(&right[check], t->b.out_bytes, 1, "a right answer"));
        trial_look(t, 1, check);
        must_work(trial_run(t, approach));
        trial_look(t, 0, check);
        stale_refused += !trial_accepts(t);
        must_work(trial_run(t, approach));
        trial_expect(t, ACCEPTED, "not yet spoilt");
        memcpy(right[check], t->b.out, t->b.out_bytes);
    }
    if (!stale_refused) fail_msg("%s, n = %zu: the answer to other inputs is accepted", t->problem->title, t->c.n);
    for (size_t w = 0; w < count; w++) {
        int refused = 0;
        for (int check = 0; check < t->problem->checks; check++) {
            trial_look(t, 0, check);
            memcpy(t->b.out, right[check], t->b.out_bytes);
            wrong[w].spoil(t);
            refused += !trial_accepts(t);
        }
        if (!refused) trial_expect(t, REFUSED, wrong[w].name);
    }
    for (int check = 0; check < t->problem->checks; check++) memory_free(right[check]);
}

static inline void set_element(void *x, size_t i, Precision p, double value)
{
    if (p == F32) ((float *)x)[i] = (float)value;
    else ((double *)x)[i] = value;
}

static inline double get_in(const Trial *t, int which, size_t i) { return element(t->b.in[which], i, t->c.precision); }
static inline double get_out(const Trial *t, size_t i) { return element(t->b.out, i, t->c.precision); }
static inline void set_in(const Trial *t, int which, size_t i, double value) { set_element(t->b.in[which], i, t->c.precision, value); }
static inline void set_out(const Trial *t, size_t i, double value) { set_element(t->b.out, i, t->c.precision, value); }
static inline size_t out_count(const Trial *t) { return t->b.out_bytes / precision_bytes(t->c.precision); }

/* x with a mantissa of `bits` bits. */
static inline double rounded(double x, int bits)
{
    int exponent;
    const double mantissa = frexp(x, &exponent);
    return ldexp(rint(ldexp(mantissa, bits)), exponent - bits);
}

static inline void round_in(const Trial *t, int which, int bits)
{
    const size_t count = t->b.in_bytes[which] / precision_bytes(t->c.precision);
    for (size_t i = 0; i < count; i++) set_in(t, which, i, rounded(get_in(t, which, i), bits));
}

static inline void round_out(const Trial *t, int bits)
{
    for (size_t i = 0; i < out_count(t); i++) set_out(t, i, rounded(get_out(t, i), bits));
}

/* Moved by `count` elements towards the end; the first ones stay. */
static inline void shift_out(const Trial *t, size_t count)
{
    const size_t bytes = count * precision_bytes(t->c.precision);
    memmove((char *)t->b.out + bytes, t->b.out, t->b.out_bytes - bytes);
}

/* Mistakes that several problems must refuse. */
static inline void write_nothing(const Trial *t) { poison(t->b.out, t->b.out_bytes); }
static inline void write_zeros(const Trial *t) { memset(t->b.out, 0, t->b.out_bytes); }
static inline void forget_the_last(const Trial *t) { set_out(t, out_count(t) - 1, NAN); }
static inline void shift_by_one(const Trial *t) { shift_out(t, 1); }

/* The same for answers that are n x n matrices; the block is below the diagonal, of n > 95. */
static inline void set_block(const Trial *t, double value)
{
    for (size_t j = 32; j < 64; j++)
        for (size_t i = 64; i < 96; i++) set_out(t, i + j * t->c.n, value);
}

static inline void leave_block_unwritten(const Trial *t) { set_block(t, NAN); }
static inline void zero_block(const Trial *t) { set_block(t, 0); }
static inline void shift_by_a_column(const Trial *t) { shift_out(t, t->c.n); }

static inline void poison_above_the_diagonal(const Trial *t)
{
    for (size_t j = 1; j < t->c.n; j++)
        for (size_t i = 0; i < j; i++) set_out(t, i + j * t->c.n, NAN);
}

#endif
