/* The steps that the gp_*.c files of this folder share: each names a backend of gp/, and these train on it. */
#ifndef GP_TRAIN_STEPS_H
#define GP_TRAIN_STEPS_H
#include "bench/bench.h"

const char *gp_train_probe(const Registered *entry);
GpStatus gp_train_allocate(const Case *c, void **state);
GpStatus gp_train_upload(void *state, const Buffers *b);
GpStatus gp_train_run(void *state);
GpStatus gp_train_download(void *state, const Buffers *b);
void gp_train_release(void *state);

#endif
