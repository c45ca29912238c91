/* Measuring: from a table of approaches to lines in a results file. The rules it keeps stand in docs/measuring.md. */
#ifndef MEASURE_H
#define MEASURE_H
#include "bench/device.h"
#include "bench/results.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_SIZES = 64 };

typedef struct {
    /* What: extended regular expressions over "problem/variant" and the approach's name (NULL: all). */
    const char *problem_filter, *approach_filter;
    size_t sizes[MAX_SIZES], size_count;  /* none: the problem's own quick or full list */
    int full;
    int precisions[PRECISIONS];           /* which, nonzero */
    int steps;                            /* also approaches of role STEP */
    int times[TIMES];                     /* which; kernel is always taken */
    /* How long. */
    double half_width;                    /* stop a cell's samples at +- this share of the median, 0.01 */
    double visit_s;                       /* or at this many seconds in one visit for each time, labelled unconverged */
    double run_s;                         /* skip a cell whose single run is predicted to take longer than this */
    int rounds;
    uint64_t seed;
    int first_calls;                      /* start a fresh process to time the first call */
    int cold;                             /* rotate inputs over three times the last-level cache */
} MeasureOptions;

MeasureOptions measure_defaults(int full);

/* What is to be measured, and everything a visit needs to know of its surroundings. */
typedef struct {
    const Registered *table;
    size_t table_count;
    const RegisteredDevice *devices;
    size_t device_count;
    MeasureOptions options;
    ResultsWriter *writer;
    const Run *previous;                  /* visits that are already in the file (resume), or NULL */
    int retry_skipped;                    /* 1: resumed with other options, which may allow what the file's did not */
    Roof *roofs;
    size_t roof_count;
    volatile const int *cancelled;        /* set by a signal handler: stop after the line being written */
    const char *program;                  /* path of this program, for first calls; NULL: none */
    int quiet;
} Session;

/* Runs every visit of every cell. GP_CANCELLED when it was stopped; GP_DEVICE when a device was lost (its message says so; the
 * visit that lost it is in the file, so that resuming goes on behind it). *failed counts cells that failed. */
GpStatus measure(Session *s, size_t *failed);

/* One cold call in this process: allocate, upload, run, wait, download, on freshly made inputs; the error of its answer, and what is allowed. */
GpStatus measure_first_call(const Registered *entry, const RegisteredDevice *devices, size_t device_count, const Case *c, double *seconds,
                            double *error, double *tolerance);

/* Bytes of the last-level cache; 0 unknown. */
size_t last_level_cache(void);
/* One line per registered approach and what stands against it here. */
void list_approaches(const Registered *table, size_t count);

#ifdef __cplusplus
}
#endif
#endif
