/* The steps that the gp_*.c files of this folder share: each names a backend of gp/, and these compute the likelihood and its gradient on it. */
#ifndef GP_LIKELIHOOD_STEPS_H
#define GP_LIKELIHOOD_STEPS_H
#include "bench/bench.h"

const char *gp_likelihood_probe(const Registered *entry);
GpStatus gp_likelihood_allocate(const Case *c, void **state);
GpStatus gp_likelihood_upload(void *state, const Buffers *b);
GpStatus gp_likelihood_run(void *state);
GpStatus gp_likelihood_download(void *state, const Buffers *b);
void gp_likelihood_release(void *state);

#endif
