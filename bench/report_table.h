/* What the page and the pictures are made from: one row per cell with its summaries, rate and share of the roof, and the
 * questions that both ask (which approach is best, at which size can CPU and GPU be compared, where do they cross). */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H
#include "bench/results.h"
#include "bench/statistics.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Colour (0xRRGGBB), gnuplot dash type (1 to 5) and point type of an approach: the same everywhere. */
typedef struct {
    unsigned colour;
    int dash, point, order;
} Look;

typedef struct {
    const Cell *cell;
    char problem[80];    /* "kernel_matrix/lower" */
    int gpu;             /* runs on a GPU */
    int timed;           /* verified, with both a kernel and an end-to-end time: neither is shown without the other */
    Summary time[TIMES]; /* count 0 unless timed */
    int by_bytes;        /* moving bytes limits it on this device, not arithmetic */
    double rate;         /* of the kernel: bytes/s if by_bytes, else flop/s; NaN unknown */
    double share;        /* rate over `roof`; NaN unknown */
    const char *roof;    /* "triad", "matmul_f64", ...; NULL unknown */
    Look look;
} Row;

typedef struct {
    char name[80];
    size_t n_count;
    size_t *n;
    char precision[4][8];
    size_t precision_count;
} ProblemSizes;

typedef struct {
    const Run *run;
    char cpu[160], gpu[160]; /* names for sentences; gpu "" when the header has none */
    Row *rows;
    size_t count;
    ProblemSizes *problems; /* in order of first appearance */
    size_t problem_count;
    int has_gpu, has_cpu; /* a timed row of that kind exists */
} Table;

/* Of a run that must outlive the table. table_free accepts a table of zeros. */
GpStatus table_make(Table *t, const Run *run);
void table_free(Table *t);

Look look_of(const char *approach);
int on_gpu(const Cell *c);

typedef enum { DEVICE_CPU, DEVICE_GPU, DEVICE_ANY } DeviceKind;
/* The timed row of least median; NULL if there is none. */
const Row *table_best(const Table *t, const char *problem, const char *precision, size_t n, DeviceKind kind, Time time);
const Row *table_row(const Table *t, const char *problem, const char *precision, size_t n, const char *approach);
/* Largest n at which a CPU and a GPU row are both timed; 0 if none. */
size_t table_common_n(const Table *t, const char *problem, const char *precision);
/* The n to show: the common one, else the largest timed one; 0 if none. */
size_t table_shown_n(const Table *t, const char *problem, const char *precision);

/* Largest n at which cpu/naive is timed; 0 if none. */
size_t table_naive_n(const Table *t, const char *problem, const char *precision);

typedef enum { CROSS_NONE, CROSS_GPU_ALWAYS, CROSS_CPU_ALWAYS, CROSS_AT } CrossKind;
typedef struct {
    CrossKind kind;
    double n;
} Crossover;
/* Size from which the best GPU approach stays ahead of the best CPU one: between two measured sizes, by a straight line through
 * the logarithms of n and of the ratio. CROSS_NONE: nothing to compare. */
Crossover table_crossover(const Table *t, const ProblemSizes *p, const char *precision, Time time);

/* The value at `path` ("gpu.name") of a header, as text; 0 when it isn't there. */
int header_text(const cJSON *header, const char *path, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
