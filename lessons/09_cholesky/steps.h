/* The steps that the gp_*.c files of this folder share: each names a backend of gp/, and these call its factor(). */
#ifndef CHOLESKY_STEPS_H
#define CHOLESKY_STEPS_H
#include "bench/bench.h"

const char *cholesky_probe(const Registered *entry);
GpStatus cholesky_allocate(const Case *c, void **state);
GpStatus cholesky_upload(void *state, const Buffers *b);
GpStatus cholesky_run(void *state);
GpStatus cholesky_download(void *state, const Buffers *b);
void cholesky_release(void *state);

#endif
