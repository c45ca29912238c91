/* Results files: JSON lines. Line 1 is the header (schema, environment), then lines of type "roof" and "cell", appended
 * and flushed one by one: a crash or Ctrl-C loses at most the line being written. A line of type "part" says that the run was
 * resumed with other options: those of the cells after it. A cell is measured in several visits
 * (rounds); each visit is one line, and the reader merges the lines of one cell. SI units stand in the names. */
#ifndef RESULTS_H
#define RESULTS_H
#include "bench/bench.h"
#include <cjson/cJSON.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { RESULTS_SCHEMA = 1 };

typedef struct { double *value; size_t count; } Samples;
/* OK: verified before and after timing. FAILED: a wrong answer or an error; it has no times. SKIPPED: could not or was not run. */
typedef enum { CELL_OK, CELL_FAILED, CELL_SKIPPED } CellState;

/* Times of one cell, in seconds per call. e2e = upload + run + wait + download, from and to pinned host memory (on the
 * CPU: plain memory); e2e_pageable the same from ordinary memory; upload and download are its parts. */
typedef enum { TIME_KERNEL, TIME_E2E, TIME_E2E_PAGEABLE, TIME_UPLOAD, TIME_DOWNLOAD, TIME_FIRST, TIMES } Time;
const char *time_name(Time t);           /* "kernel_s", "e2e_s", "e2e_pageable_s", "upload_s", "download_s", "first_s" */

typedef struct {
    char problem[48], variant[24], approach[48], file[128], role[12], where[8], precision[8], idea[96];
    size_t n;
    int round;                           /* of this visit; after merging, how many visits */
    CellState state;
    char reason[512];                    /* why FAILED or SKIPPED; else empty */
    double error, tolerance;             /* the worst of all verifications */
    Work work;
    Samples times[TIMES];                /* all raw samples, in order */
    int unconverged;                     /* the time cap came before +-1% */
    int cold;                            /* 1: inputs rotated over at least three times the last-level cache */
    int fits_cache;                      /* 1: one working set fits the last-level cache */
    int graph;                           /* 1: launched through a CUDA graph */
    size_t throttled;                    /* samples taken while the device reported throttling; kept */
    double sm_clock_hz;                  /* median while timing; 0 unknown */
    int above_roof;                      /* 1: faster than the measured roof allows although the data does not fit a cache */
} Cell;

typedef struct { char device[8], name[32]; double rate; } Roof;   /* device "cpu" or "cuda"; bytes/s or flop/s */

typedef struct {
    char path[1024];
    cJSON *header;                       /* the whole header object */
    cJSON *part;                         /* the last line of type "part"; NULL: none */
    Roof *roofs; size_t roof_count;
    Cell *cells; size_t cell_count;      /* merged, in order of first appearance */
    int truncated;                       /* the last line was cut off and ignored */
} Run;

/* Reads a file; merges visits; a last line without newline that does not parse is ignored and noted in `truncated`. Anything else
 * that is damaged is GP_BAD_DATA with file and line number; another schema says which and what to do. */
GpStatus results_read(Run *run, const char *path);
void run_free(Run *run);
void cell_free(Cell *cell);              /* the samples */
/* Appends samples to one of a cell's times. */
GpStatus samples_add(Samples *s, double value);

/* The key that identifies a cell: problem[/variant] approach precision n; never NULL; writes at most size bytes. */
void cell_key(const Cell *c, char *key, size_t size);
/* "reduction" or "kernel_matrix/lower" */
void cell_problem(const Cell *c, char *name, size_t size);
const Cell *run_find(const Run *run, const Cell *like);
/* Roof by device and name; 0 if it was not measured. */
double run_roof(const Run *run, const char *device, const char *name);

typedef struct ResultsWriter ResultsWriter;
/* Creates the file (GP_IO if it exists or cannot be written) and writes the header line; or, with `resume`, opens an existing one,
 * which must be readable, for appending, after cutting off an incomplete last line. The header object stays the caller's.
 * The file is locked: a second writer gets GP_IO. A write that fails leaves the whole lines before it. */
GpStatus results_create(ResultsWriter **out, const char *path, const cJSON *header);
GpStatus results_resume(ResultsWriter **out, const char *path);
GpStatus results_write_cell(ResultsWriter *w, const Cell *c);
GpStatus results_write_roof(ResultsWriter *w, const Roof *r);
/* From here on other options: when it began, the command and the options are those of `header`, a header as for results_create. */
GpStatus results_write_part(ResultsWriter *w, const cJSON *header);
GpStatus results_close(ResultsWriter *w);

/* One row per cell and time: problem,variant,approach,precision,n,state,time,count,median,low,high,min,max,mad,... with a header;
 * times in seconds; one row without a time, with its reason, for a cell that failed or was skipped. The file is whole or not there. */
GpStatus results_write_csv(const Run *run, const char *path);

#ifdef __cplusplus
}
#endif
#endif
