/* The ceilings of this machine, measured: what no correct result can beat by more than the measurement's own uncertainty. */
#ifndef ROOF_H
#define ROOF_H
#include "bench/device.h"
#include "bench/results.h"

enum { MAX_ROOFS = 32 };

/* All roofs of the CPU and of every usable device. `roofs` holds MAX_ROOFS; *count is set. `quiet` suppresses progress on stderr. */
GpStatus roofs_measure(const RegisteredDevice *table, size_t table_count, int quiet, volatile const int *cancelled, Roof *roofs,
                       size_t *count);
/* One of the CPU's: "copy", "triad", "read", "write" in bytes/s with all threads, "matmul_f32", "matmul_f64" in flop/s by
 * OpenBLAS or by multiply-adds in registers, whichever is faster. */
GpStatus cpu_roof(int i, const char **name, double *rate);
#endif
