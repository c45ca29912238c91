/* Arrays in host memory for the CPU backends. An upload is a copy, with a conversion in float32. */
#include "gp/cpu_arrays.h"
#include "common/memory.h"
#include <math.h>
#include <string.h>

static size_t element_size(const GpContext *c) { return c->precision == GP_F64 ? sizeof(double) : sizeof(float); }

const char *cpu_always_usable(void) { return NULL; }

GpStatus cpu_create(GpContext *c)
{
    (void)c;
    return GP_OK;
}

void cpu_destroy(GpContext *c) { (void)c; }

GpStatus cpu_memory_free(GpContext *c, size_t *bytes)
{
    (void)c;
    *bytes = memory_available();
    return GP_OK;
}

size_t cpu_no_workspace(const GpContext *c, size_t n)
{
    (void)c;
    (void)n;
    return 0;
}

GpStatus cpu_alloc(GpContext *c, void **array, size_t count, const char *what)
{
    return memory_alloc_uninitialised(array, count, element_size(c), what);
}

void cpu_release(GpContext *c, void *array)
{
    (void)c;
    memory_free(array);
}

GpStatus cpu_upload(GpContext *c, void *array, const double *host, size_t count)
{
    float *narrow = array;
    if (c->precision == GP_F64) return cpu_upload_native(c, array, host, count * sizeof(double));
    for (size_t i = 0; i < count; i++) narrow[i] = (float)host[i];
    return GP_OK;
}

GpStatus cpu_download(GpContext *c, double *host, const void *array, size_t count)
{
    const float *narrow = array;
    if (c->precision == GP_F64) return cpu_download_native(c, host, array, count * sizeof(double));
    for (size_t i = 0; i < count; i++) host[i] = (double)narrow[i];
    return GP_OK;
}

GpStatus cpu_upload_native(GpContext *c, void *array, const void *host, size_t bytes)
{
    (void)c;
    memcpy(array, host, bytes);
    return GP_OK;
}

GpStatus cpu_download_native(GpContext *c, void *host, const void *array, size_t bytes)
{
    (void)c;
    memcpy(host, array, bytes);
    return GP_OK;
}

GpStatus cpu_copy(GpContext *c, void *to, const void *from, size_t count)
{
    memcpy(to, from, count * element_size(c));
    return GP_OK;
}

GpStatus cpu_add_diagonal(GpContext *c, size_t n, const void *values, void *K, size_t ld)
{
    for (size_t i = 0; i < n; i++) {
        if (c->precision == GP_F64) ((double *)K)[i + i * ld] += ((const double *)values)[i];
        else ((float *)K)[i + i * ld] += ((const float *)values)[i];
    }
    return GP_OK;
}

GpStatus cpu_log_determinant(GpContext *c, size_t n, const void *L, size_t ld, double *value)
{
    const double *wide = L;
    const float *narrow = L;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(c->precision == GP_F64 ? wide[i + i * ld] : (double)narrow[i + i * ld]);
    *value = 2 * sum;
    return GP_OK;
}
