/* One visit to one cell: verify, time, verify again. */
#ifndef VISIT_H
#define VISIT_H
#include "bench/inputs.h"
#include "bench/measure.h"

/* Pinned copies of a group's first input set, made by the first visit that needs them and kept for the group. */
typedef struct { const Device *device; Buffers buffers; } Pinned;
void pinned_free(Pinned *p);

typedef struct {
    const Device *device;      /* for ON_CUDA approaches, else NULL */
    size_t cache_bytes;        /* last-level cache of where the approach runs; 0 unknown */
    const MeasureOptions *options;
    volatile const int *cancelled;
} VisitOptions;

/* Fills everything of the cell but its names; never leaves times in a cell that is not CELL_OK. *device_lost: the device is gone. */
void visit(Cell *cell, const Registered *entry, const Inputs *in, Pinned *pinned, const VisitOptions *o, int *device_lost);
#endif
