/* Is run B slower than run A? Cells are matched by problem/variant, approach, precision and n, and their raw samples compared
 * (statistics.h). Where the work of a cell differs between the files, it is compared by throughput. */
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

/* MISSING: measured in A, not in B (gone, renamed, skipped, or without this time). ADDED: measured in B alone. BROKEN: right in A,
 * failed in B. NOTED: failed in one of the files without being right in A and failed in B: listed, and no more. */
typedef enum { ROW_COMPARED, ROW_MISSING, ROW_ADDED, ROW_BROKEN, ROW_NOTED } RowKind;
typedef struct {
    const Cell *a, *b;        /* they belong to the runs; NULL: not in that file */
    RowKind kind;
    int by_throughput;        /* 1: the work differs, and the ratio is of times per unit of work */
    Comparison comparison;    /* of ROW_COMPARED */
} CompareRow;

typedef struct {
    Time time;
    CompareRow *row;
    size_t rows, count[4];    /* count: of the compared rows by Verdict */
    size_t missing, added, broken, noted;
    /* 0 nothing slower; 1 something is; 2 a cell of A is missing from B, or nothing could be compared; 3 a cell is broken: the
     * highest wins. */
    int exit_code;
} CompareReport;

/* GP_BAD_ARGUMENT when the machines differ (the message says in what) and cross_machine is 0. */
GpStatus compare_runs(const Run *a, const Run *b, const CompareOptions *o, CompareReport *report);
/* A plain table within 100 columns, the worst first; of cells that are the same only how many. */
void compare_print(const CompareReport *report, FILE *f);
/* NULL is fine. */
void compare_free(CompareReport *report);
#endif
