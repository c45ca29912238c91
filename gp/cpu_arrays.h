/* What both CPU backends share: arrays in host memory, and the precision they hold. */
#ifndef GP_CPU_ARRAYS_H
#define GP_CPU_ARRAYS_H
#include "gp/backend.h"
#ifdef __cplusplus
extern "C" {
#endif

const char *cpu_always_usable(void);
GpStatus cpu_create(GpContext *c);
void cpu_destroy(GpContext *c);
GpStatus cpu_memory_free(GpContext *c, size_t *bytes);
size_t cpu_no_workspace(const GpContext *c, size_t n);
GpStatus cpu_alloc(GpContext *c, void **array, size_t count, const char *what);
void cpu_release(GpContext *c, void *array);
GpStatus cpu_upload(GpContext *c, void *array, const double *host, size_t count);
GpStatus cpu_download(GpContext *c, double *host, const void *array, size_t count);
GpStatus cpu_upload_native(GpContext *c, void *array, const void *host, size_t bytes);
GpStatus cpu_download_native(GpContext *c, void *host, const void *array, size_t bytes);
GpStatus cpu_copy(GpContext *c, void *to, const void *from, size_t count);
GpStatus cpu_add_diagonal(GpContext *c, size_t n, const void *values, void *K, size_t ld);
GpStatus cpu_log_determinant(GpContext *c, size_t n, const void *L, size_t ld, double *value);

#ifdef __cplusplus
}
#endif
#endif
