/* Is run B slower than run A? Cells are matched by problem/variant, approach, precision and n. */
#ifndef COMPARE_H
#define COMPARE_H
#include "bench/results.h"
#include "bench/statistics.h"
#include <stdio.h>

typedef struct {
    Time time;                /* TIME_KERNEL or TIME_E2E                             */
    double effect;            /* smaller changes are SAME, 0.02                      */
    int cross_machine;        /* compare results of different machines all the same  */
    uint64_t seed;            /* of the bootstrap                                    */
} CompareOptions;
CompareOptions compare_defaults(void);

/* MISSING: measured in A, not in B. ADDED: only in B. BROKEN: right in A, failed in B. */
typedef enum { ROW_COMPARED, ROW_MISSING, ROW_ADDED, ROW_BROKEN } RowKind;
typedef struct { const Cell *a, *b; RowKind kind; Comparison comparison; } CompareRow;   /* cells belong to the runs */

typedef struct {
    CompareRow *row;
    size_t rows, count[4];    /* count: of the compared rows by Verdict */
    size_t missing, added, broken;
    /* 0 nothing slower; 1 something is; 2 a cell of A is missing from B, or nothing could be compared; 3 a cell is broken. The highest wins. */
    int exit_code;
} CompareReport;

/* GP_BAD_ARGUMENT when the machines differ (the message says in what) and cross_machine is 0. */
GpStatus compare_runs(const Run *a, const Run *b, const CompareOptions *o, CompareReport *report);
/* A plain table within 100 columns. */
void compare_print(const CompareReport *report, FILE *f);
void compare_free(CompareReport *report);
#endif
