/* The four nouns of the suite: Problem, Approach, Case (what is asked of an approach) and, in results.h, Cell (what was
 * measured). A folder under lessons/ is a problem, a file in it is an approach; the registry is generated from the files. */
#ifndef BENCH_H
#define BENCH_H
#include "common/status.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum { F32, F64, PRECISIONS } Precision;
/* What a file is for. `make bench` runs all but STEP; a lesson runs every step of its ladder. */
typedef enum { NAIVE, STEP, OPTIMIZED, LIBRARY } Role;
/* Who reads the clock: ON_HOST by the host's clock around run(); ON_CUDA by events on Case.stream, since run() may return
 * before the work is done; ON_WORKER by another process that times itself and reports. */
typedef enum { ON_HOST, ON_CUDA, ON_WORKER } Where;

typedef struct Registered Registered;

/* One instance of a problem. Everything in the inputs follows from these fields. */
typedef struct {
    size_t n;                /* the size; a problem's header says of what                                              */
    int variant;             /* index into Problem.variants; 0 where there are none                                    */
    int check;               /* which of Problem.checks input sets; 0 is the one that is timed                         */
    Precision precision;
    uint64_t seed;
    const Registered *entry; /* the approach that runs it; NULL while inputs and references are made                   */
    void *stream;            /* a cudaStream_t for ON_CUDA approaches, who must put all their work on it; else NULL    */
} Case;

enum { MAX_INPUTS = 4 };
/* Host arrays of one case, owned by the harness, in the case's precision. Poisoned outputs hold NaN. */
typedef struct {
    void *in[MAX_INPUTS];
    size_t in_bytes[MAX_INPUTS]; /* 0: unused */
    void *out;
    size_t out_bytes;
    size_t workspace_bytes; /* what any solution keeps beside the arrays, a GP its kernel matrix; only its size: nothing is allocated */
} Buffers;

/* What any solution must at least do: operations of the standard algorithm, and each input read once, each output written once. */
typedef struct { double flops, bytes; } Work;

/* A number a solution needs beside n and the arrays (d, m, a length scale); workers get them by name. */
typedef struct { const char *name; double value; } Parameter;

typedef struct {
    const char *title;              /* "c = a + b" */
    const char *n_means;            /* "elements", "rows": the axis label of the plots */
    const char *const *variants;    /* NULL, or names ending in NULL, e.g. {"full", "lower", NULL} */
    int checks;                     /* input sets that each verification runs (at least 1) */
    /* Ascending, ending in 0: of the default run on a CPU and of the full grid (make bench FULL=1). */
    const size_t *(*sizes)(int variant, int full);
    /* Optional: NULL when this n is possible, else what is wrong with it and what to ask for. */
    const char *(*refuse)(const Case *c);
    /* Bytes of each array and of the workspace. */
    void (*shape)(const Case *c, Buffers *b);
    /* Optional: fills `out` with up to 8 numbers, returns how many. */
    size_t (*parameters)(const Case *c, Parameter *out);
    /* Writes the inputs, from c->seed and c->check; random, non-zero, by OpenMP loops (first touch). */
    GpStatus (*fill)(const Case *c, const Buffers *b);
    /* Optional, with `reference`: the doubles that it writes. NULL where `error` computes what it needs from the inputs. */
    size_t (*reference_size)(const Case *c);
    /* The answer, or samples of it, in higher precision and by another algorithm than the approaches'; computed once per
     * inputs and used for every approach. */
    GpStatus (*reference)(const Case *c, const Buffers *b, double *reference);
    /* How wrong b->out is, in the problem's own scale (its header says which): NaN or anything not finite if any element
     * was left unwritten. The harness accepts only `error <= tolerance`. */
    double (*error)(const Case *c, const Buffers *b, const double *reference);
    /* The largest error that rounding alone can explain; the derivation stands beside it. */
    double (*tolerance)(const Case *c, const Buffers *b, const double *reference);
    Work (*work)(const Case *c);
} Problem;

/* Five steps, the five of every GPU program. An approach with no `allocate` works on the host's arrays in place: its run
 * gets a HostState and needs none of the other four. */
typedef struct {
    const char *idea;               /* one line for tables */
    Role role;
    Where where;
    const char *backend;            /* a backend of gp/ that a thin file stands for, e.g. "cuda/optimized"; else NULL */
    /* NULL when this machine can run it, else a sentence why not. NULL pointer: always can. */
    const char *(*probe)(const Registered *entry);
    GpStatus (*allocate)(const Case *c, void **state);
    GpStatus (*upload)(void *state, const Buffers *b);
    GpStatus (*run[PRECISIONS])(void *state);
    GpStatus (*download)(void *state, const Buffers *b);
    void (*release)(void *state);   /* accepts what a failed allocate left behind, and NULL */
    /* ON_WORKER only: runs `batch` times and reports the seconds of all of them on the device. */
    GpStatus (*timed_run)(void *state, size_t batch, double *seconds);
} Approach;

typedef struct { Case c; const Buffers *buffers; } HostState;

/* One row of the generated table. */
struct Registered {
    const char *problem;            /* "reduction"; the folder without its number */
    const char *file;               /* "lessons/05_reduction/cuda_2_shared.cu" */
    const Problem *definition;
    const Approach *approach;
};
extern const Registered registry[];
extern const size_t registry_size;

/* The name in tables: by role, "cpu/naive", "cpu/openmp", "cuda/naive", "cuda/optimized"; a step by its file
 * ("cuda/3_shared"), a library or worker by its file ("cublas", "torch"). Writes at most `size` bytes. */
void approach_name(const Registered *entry, char *name, size_t size);
const char *precision_name(Precision p);
/* Unit roundoff times 2: FLT_EPSILON or DBL_EPSILON. */
double precision_epsilon(Precision p);
size_t precision_bytes(Precision p);

#include "registry.h" /* generated: one extern per file, so that a .cu definition is never internal */
#ifdef __cplusplus
}
#endif
#endif
