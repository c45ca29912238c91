/* The steps that the gp_*.c files of this folder share: each names a backend of gp/, and these call its covariance(). */
#ifndef KERNEL_MATRIX_STEPS_H
#define KERNEL_MATRIX_STEPS_H
#include "bench/bench.h"

const char *kernel_matrix_probe(const Registered *entry);
GpStatus kernel_matrix_allocate(const Case *c, void **state);
GpStatus kernel_matrix_upload(void *state, const Buffers *b);
GpStatus kernel_matrix_run(void *state);
GpStatus kernel_matrix_download(void *state, const Buffers *b);
void kernel_matrix_release(void *state);

#endif
