/* The steps that the gp_*.c files of this folder share: each names a backend of gp/, and these call fit and predict on it. */
#ifndef GP_PREDICT_STEPS_H
#define GP_PREDICT_STEPS_H
#include "bench/bench.h"

const char *gp_predict_probe(const Registered *entry);
GpStatus gp_predict_allocate(const Case *c, void **state);
GpStatus gp_predict_upload(void *state, const Buffers *b);
GpStatus gp_predict_run(void *state);
GpStatus gp_predict_download(void *state, const Buffers *b);
void gp_predict_release(void *state);

#endif
